"""The table of audits has a row for every estimator that learns from private rows."""

import importlib
import inspect
from pathlib import Path

import pandas as pd

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


def test_every_control_was_found_out():
    rows = pd.concat([pd.read_csv(path) for path in RESULTS.glob("*.csv")])
    controls = rows[rows["noise_share"].notna()]
    assert len(controls) > 20
    assert (controls["noise_share"] < 1).all()
    assert controls["control_accused"].astype(bool).all()


def test_every_estimator_that_is_exported_was_audited_and_no_more_is_accused_than_by_chance():
    exported = {
        name
        for package in PACKAGES
        for module in [importlib.import_module(f"skdp.{package}")]
        for name in module.__all__
        if inspect.isclass(getattr(module, name)) and hasattr(getattr(module, name), "fit")
    }
    rows = pd.concat([pd.read_csv(path) for path in RESULTS.glob("*.csv")])
    ours = rows[rows["library"] == "skdp"]
    assert exported - set(ours["estimator"].str.split("(").str[0]) == PUBLIC
    # Each row is wrong with probability 5 %.
    assert ours["accuses"].fillna(False).astype(bool).sum() <= len(ours) // 20
