"""How far one record moves a trained model."""

from skdp.stability.declared import DeclaredStability, ParameterStability, UniformStability
from skdp.stability.domain import Domain
from skdp.stability.erm import (
    GradientDiameterBound,
    MinimiserBound,
    PublishedBound,
    minimiser_sensitivity,
)
from skdp.stability.records import ProvedBound, RefusedModel, StabilityRecord
from skdp.stability.registry import stability_registry
from skdp.stability.sgd_bounds import sgd_sensitivity
from skdp.stability.sgd_choices import (
    Averaging,
    Ball,
    EveryPass,
    ExampleDropout,
    GradientUpdate,
    LastIterate,
    Participation,
    Projection,
    ProximalUpdate,
    SomePasses,
    SuffixAverage,
    UniformAverage,
    UpdateRule,
    WholeSpace,
)
from skdp.stability.sgd_run import StableRun
from skdp.stability.sgd_steps import (
    ConstantStep,
    InverseSquareRootStep,
    InverseStep,
    OptimalStep,
    StepSizes,
)

__all__ = [
    "Averaging",
    "Ball",
    "ConstantStep",
    "DeclaredStability",
    "Domain",
    "EveryPass",
    "ExampleDropout",
    "GradientDiameterBound",
    "GradientUpdate",
    "InverseSquareRootStep",
    "InverseStep",
    "LastIterate",
    "MinimiserBound",
    "OptimalStep",
    "ParameterStability",
    "Participation",
    "Projection",
    "ProvedBound",
    "ProximalUpdate",
    "PublishedBound",
    "RefusedModel",
    "SomePasses",
    "StabilityRecord",
    "StableRun",
    "StepSizes",
    "SuffixAverage",
    "UniformAverage",
    "UniformStability",
    "UpdateRule",
    "WholeSpace",
    "minimiser_sensitivity",
    "sgd_sensitivity",
    "stability_registry",
]
