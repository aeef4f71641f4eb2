"""The table of audits has a row for every estimator that learns from private rows."""

import csv
import importlib
import inspect
from pathlib import Path

RESULTS = Path(__file__).parents[2] / "benchmarks" / "results" / "audits"
PACKAGES = (
    "linear_model",
    "preprocessing",
    "decomposition",
    "feature_selection",
    "meta",
    "model_selection",
    "neural_network",
    "embedding",
    "pipeline",
)
#: They learn nothing from rows.
PUBLIC = {"PublicRangeScaler", "RowNormClipper"}


def test_every_estimator_that_is_exported_was_audited_and_none_was_accused():
    exported = {
        name
        for package in PACKAGES
        for module in [importlib.import_module(f"skdp.{package}")]
        for name in module.__all__
        if inspect.isclass(getattr(module, name)) and hasattr(getattr(module, name), "fit")
    }
    rows = [row for path in RESULTS.glob("*.csv") for row in csv.DictReader(path.open(newline=""))]
    ours = [row for row in rows if row["library"] == "skdp"]
    assert exported - {row["estimator"].split("(")[0] for row in ours} == PUBLIC
    assert sum(row["accuses"] == "True" for row in ours) <= len(ours) // 20
