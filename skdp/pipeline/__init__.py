"""Pipelines that can be fitted on private rows: checked steps, one budget."""

from skdp.pipeline.private_pipeline import PrivatePipeline, make_private_pipeline
from skdp.pipeline.promises import RowByRow
from skdp.pipeline.statements import pipeline_statement
from skdp.pipeline.verdicts import PipelineCheck, StepCheck
from skdp.pipeline.walk import check_private_pipeline

__all__ = [
    "PipelineCheck",
    "PrivatePipeline",
    "RowByRow",
    "StepCheck",
    "check_private_pipeline",
    "make_private_pipeline",
    "pipeline_statement",
]
