"""A pipeline is paid for as a whole from a ledger on disk, or refused before a row is seen."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

from skdp.exceptions import BudgetExceededError
from skdp.linear_model import PrivateElasticNetClassifier, SparseDPSGDClassifier
from skdp.model_selection import PrivateGridSearchCV
from skdp.pipeline import make_private_pipeline
from skdp.preprocessing import PrivateOneHotEncoder, PrivateQuantileClipper
from skdp.privacy import InMemoryLedger, PrivacyLedger

X = np.eye(200, 3)
Y = np.arange(200) % 2


@pytest.fixture
def path(tmp_path):
    return str(tmp_path / "ledger.db")


def scaled(ledger, epsilon=1.0, delta=1e-6, **parameters):
    return make_private_pipeline(
        PrivateQuantileClipper((0.0, 1.0), neighbours="replace-one"),
        PrivateElasticNetClassifier(classes=[0, 1]),
        epsilon=epsilon,
        delta=delta,
        ledger=ledger,
        **parameters,
    )


def test_it_enters_as_one_bundle_at_no_more_than_its_sums(path):
    ledger = PrivacyLedger.create(path, 1.5, 1e-5, filter="basic")
    scaled(path).fit(X, Y)
    entries = ledger.history()
    assert entries["status"].tolist() == ["reserved", "spent", "spent"]
    assert entries["purpose"].str.contains("pipeline", case=False).all()
    assert 1.5 - ledger.remaining().epsilon <= 1.0
    assert ledger.verify() == 3
    with pytest.raises(BudgetExceededError):
        scaled(path).fit(X, Y)
    assert len(ledger.history()) == 3


@pytest.mark.parametrize("name", ["basic", "renyi", "zcdp", "gaussian"])
@pytest.mark.parametrize("fits", [True, False], ids=["affordable", "too much"])
def test_every_filter_pays_for_all_steps_or_refuses_all(path, name, fits):
    most = 8.0 if name == "zcdp" else 3.0  # two releases of 0.75 have a rho of 0.54
    cap = most if fits else 0.9
    relation = "zero-out" if name == "gaussian" else "replace-one"
    ledger = PrivacyLedger.create(path, cap, 1e-5, filter=name, neighbours=relation)
    if name == "gaussian":
        from skdp.decomposition import PrivatePCA
        from skdp.linear_model import PrivateRidge

        steps = (PrivatePCA(2, neighbours="zero-out"), PrivateRidge(neighbours="zero-out"))
        model = make_private_pipeline(*steps, epsilon=1.5, delta=2e-6, ledger=ledger)
    else:
        model = scaled(ledger, epsilon=1.5)
    if fits:
        model.fit(X, Y)
        assert ledger.history()["status"].tolist() == ["reserved", "spent", "spent"]
    else:
        with pytest.raises(BudgetExceededError, match="Nothing was spent"):
            model.fit(X, Y)
        assert len(ledger.history()) == 0
    assert ledger.verify() in (0, 3)


@pytest.mark.parametrize("split", ["sums", "gaussian"])
def test_a_ledger_in_memory_refuses_all_steps_at_once(split):
    ledger = InMemoryLedger(0.5, 1e-5)
    with pytest.raises(BudgetExceededError, match="Nothing was spent"):
        scaled(ledger, split=split).fit(X, Y)
    assert ledger.history() == ()


def test_within_the_callers_own_bundle_steps_are_taken_from_that(path):
    ledger = PrivacyLedger.create(path, 5.0, 1e-5, filter="basic")
    free = scaled(PrivacyLedger.create(path + "2", 5.0, 1e-5, filter="basic")).fit(X, Y)
    model = clone(free).set_params(ledger=ledger)
    parts = [step.privacy_ for step in free]
    with ledger.bundle([*parts, *parts], purpose="twice"):
        model.fit(X, Y)
        model.fit(X, Y)
    assert ledger.history()["status"].tolist() == ["reserved"] + 4 * ["spent"]
    assert ledger.verify() == 5


def test_a_step_whose_width_is_released_is_not_bundled_but_refused_in_time(path):
    frame = pd.DataFrame({"a": pd.Categorical(["x", "y"] * 100)})
    steps = (PrivateOneHotEncoder(), SparseDPSGDClassifier(classes=[0, 1], sampling="poisson"))
    ledger = PrivacyLedger.create(path, 2.0, 1e-4, neighbours="zero-out", filter="basic")
    model = make_private_pipeline(*steps, epsilon=1.5, delta=1e-5, ledger=path)
    model.fit(frame, Y)
    assert ledger.history()["status"].tolist() == ["spent", "spent"]
    with pytest.raises(BudgetExceededError, match="Nothing was spent"):
        model.fit(frame, Y)
    assert ledger.verify() == 2


@pytest.mark.parametrize("n_jobs", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_a_grid_search_over_a_pipeline_pays_for_every_fit(path, n_jobs):
    ledger = PrivacyLedger.create(path, 100.0, 1e-3, filter="basic")
    grid = {"privateelasticnetclassifier__alpha": [0.1, 1.0]}
    search = GridSearchCV(scaled(path), grid, cv=2, n_jobs=n_jobs, error_score="raise").fit(X, Y)
    assert search.best_estimator_.privacy_.epsilon == 1.0
    counts = ledger.history()["status"].value_counts()
    assert counts.to_dict() == {"spent": 10, "reserved": 5}
    assert 0 < 100 - ledger.remaining().epsilon <= 5
    assert ledger.verify() == 15


def test_a_private_search_takes_a_path_and_spends_once(path):
    ledger = PrivacyLedger.create(path, 1.0, 1e-5, filter="basic")
    model = PrivateElasticNetClassifier(classes=[0, 1])
    search = PrivateGridSearchCV(model, {"alpha": [0.1, 1.0]}, epsilon=1.0, ledger=path)
    search.fit(X, Y)
    assert ledger.remaining().epsilon == 0
    assert '"param_grid": {"alpha": [0.1, 1.0]}' in ledger.history()["parameters"][1]
    with pytest.raises(BudgetExceededError):
        search.fit(X, Y)


@pytest.mark.parametrize("name", ["renyi", "zcdp"])
def test_a_step_with_no_price_but_its_promise_is_reserved_at_that(path, name):
    ledger = PrivacyLedger.create(path, 10.0, 1e-5, filter=name, slack=5e-6)
    steps = (
        PrivateQuantileClipper((0.0, 1.0), neighbours="replace-one"),
        SparseDPSGDClassifier(classes=[0, 1], sampling="fixed_size"),
    )
    model = make_private_pipeline(*steps, epsilon=1.0, delta=1e-6, ledger=ledger).fit(X, Y)
    assert ledger.history()["status"].tolist() == ["reserved", "spent", "spent"]
    assert ledger.verify() == 3
    reserved, other = ledger.share, PrivacyLedger.create(f"{path}2", 10.0, 1e-5, filter=name,
                                                         slack=5e-6)  # fmt: skip
    for step in model:
        other.spend(step.privacy_, purpose="step")
    assert other.share == pytest.approx(reserved)
