"""One person, many rows: what the elastic nets promise to a group."""

import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn import config_context
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, GroupKFold
from sklearn.pipeline import make_pipeline

from skdp.linear_model import (
    PrivateElasticNet,
    PrivateElasticNetClassifier,
    SparseDPSGDClassifier,
    StableSGDClassifier,
    StableSGDRegressor,
)
from skdp.meta import StabilityOutputPerturbation
from skdp.neural_network import PrivateMLPClassifier
from skdp.preprocessing import RowNormClipper
from skdp.privacy import InMemoryLedger, Neighbours
from skdp.records.groups import GroupSlots
from skdp.stability import ExampleDropout, ParameterStability
from skdp.stability.erm import GradientDiameterBound
from skdp.training import PoissonSampler, ValidationDecay
from tests.support.private_sgd import reference_steps
from tests.support.replay import violations

G, M = 8, 3
rng = np.random.default_rng(5)
GROUPS = np.repeat(np.arange(G), 4)
X = rng.normal(size=(4 * G, 2))
Y = np.arange(4 * G) % 2


def model(**parameters):
    given = {"alpha": 2.0, "classes": (0, 1), "max_rows_per_group": M, "n_groups": G}
    return PrivateElasticNetClassifier(**{**given, **parameters})


def replaced_and_removed(container):
    """A group of one row becomes one of five opposed rows, or leaves."""
    kept = np.flatnonzero((GROUPS != 0) | (np.arange(4 * G) == 0))
    others = np.flatnonzero(GROUPS != 0)
    five = np.concatenate([others, np.zeros(5, dtype=int)])
    X_five = np.vstack([X[others], np.tile(-X[:1], (5, 1))])
    yield (
        (container(X[kept]), Y[kept], None, GROUPS[kept]),
        (
            container(X_five),
            np.append(Y[others], [1] * 5),
            None,
            GROUPS[five],
        ),
    )
    yield (container(X), Y, None, GROUPS), (container(X[others]), Y[others], None, GROUPS[others])


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize(
    "estimator", [model(), model(loss="huber_hinge"), model(fit_intercept=False)]
)
def test_a_whole_group_replaced_or_removed_differs_in_the_release_alone(estimator, container):
    for data, neighbour in replaced_and_removed(container):
        assert violations(estimator, data, neighbour) == []


def worst_pair():
    """All M rows of a group turn around; a Huber hinge attains m D / (n l2) exactly."""
    rows = np.zeros((G * M, 1))
    rows[:M] = 1.0
    y = np.ones(G * M, dtype=int)
    groups = np.repeat(np.arange(G), M)
    y_other = np.where(groups == 0, 0, 1)
    return (rows, y, None, groups), (rows, y_other, None, groups)


WORST = {"loss": "huber_hinge", "alpha": 8.0, "l1_ratio": 0.0, "fit_intercept": False}


def test_the_worst_pair_keeps_the_bound():
    assert violations(model(**WORST), *worst_pair()) == []


def test_a_sensitivity_of_one_row_is_seen(monkeypatch):
    true = GradientDiameterBound.distance
    monkeypatch.setattr(GradientDiameterBound, "distance", lambda *a: true(*a) / M)
    assert any(
        "moved by 2.9" in s or "moved by 3.0" in s
        for s in violations(model(**WORST), *worst_pair())
    )


def test_a_divisor_of_the_rows_kept_is_seen(monkeypatch):
    def kept_only(self, values):
        return values[self.rows]

    monkeypatch.setattr(GroupSlots, "table", kept_only)
    monkeypatch.setattr(GroupSlots, "column", lambda self, values, empty: values[self.rows])
    monkeypatch.setattr(GroupSlots, "weights", lambda self, weights: np.ones(len(self.rows)))
    _, (data, neighbour) = replaced_and_removed(np.asarray)
    assert violations(model(), data, neighbour) != []


def test_groups_of_one_row_give_the_fit_of_rows():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        rows = PrivateElasticNetClassifier(random_state=0).fit(X, Y)
        names = [f"p{i}" for i in rng.permutation(len(X))]
        one = PrivateElasticNetClassifier(random_state=0, max_rows_per_group=1)
        one.fit(X, Y, groups=names)
    assert np.array_equal(rows.coef_, one.coef_)
    assert rows.privacy_.unit == "row"
    assert one.privacy_.unit == "group"


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_steps_of_groups_of_one_row_are_those_of_rows(container):
    """By the compiled loops, too."""
    rows = dpsgd(n_groups=None).fit(container(X), Y)
    names = [f"p{i}" for i in rng.permutation(len(X))]
    one = dpsgd(n_groups=None, max_rows_per_group=1).fit(container(X), Y, groups=names)
    assert np.array_equal(rows.coef_, one.coef_)
    assert (rows.batch_size_, rows.noise_multiplier_) == (one.batch_size_, one.noise_multiplier_)


def test_the_compiled_loop_makes_the_steps_of_the_reference_on_groups():
    def coef():
        return dpsgd(max_rows_per_group=M).fit(X, Y, groups=GROUPS).coef_

    with reference_steps():
        slow = coef()
    assert np.array_equal(coef(), slow)


def dpsgd(**parameters):
    given = {"epsilon": 3.0, "delta": 1e-3, "classes": (0, 1), "n_groups": G, "random_state": 0}
    return SparseDPSGDClassifier(**{**given, **parameters})


def test_noise_of_a_mean_over_groups_does_not_grow_with_their_rows():
    """Sums have m times the sensitivity and are divided by m times as much."""
    noise = {}
    for m in (1, 4):
        fitted = dpsgd(max_rows_per_group=m).fit(X, Y, groups=GROUPS)
        noise[m] = fitted.noise_multiplier_ / fitted.batch_size_
        assert fitted.batch_size_ % m == 0
    assert noise[4] == pytest.approx(noise[1], rel=1e-3)


@pytest.mark.parametrize("m", [1, 2, 4])
def test_a_release_of_m_rows_is_as_long_as_that_of_one_row_times_m(m):
    """Bounds of stable SGD are chained; those of minimisers and steps are sums."""
    given = {"alpha": 2.0, "max_rows_per_group": m, "n_groups": G}
    for cls in (PrivateElasticNet, StableSGDRegressor):
        one = cls(alpha=2.0).fit(np.zeros((m * G, 2)), np.zeros(m * G))
        many = cls(**given).fit(X, 1.0 * Y, groups=GROUPS)
        close = pytest.approx(m * one.sensitivity_.value, rel=1e-3)
        assert many.sensitivity_.value == close


def test_the_statement_names_the_group_and_its_facts():
    text = "\n".join(model(n_groups=None).fit(X, Y, groups=GROUPS).privacy_.assumptions)
    assert "taken from groups=" in text
    assert "number of groups times 3" in text
    assert "number of rows and" not in text
    fitted = PrivateElasticNet(max_rows_per_group=2).fit(X, Y * 1.0, groups=GROUPS)
    assert fitted.privacy_.unit == "group"
    stepwise = dpsgd(max_rows_per_group=2).fit(X, Y, groups=GROUPS).privacy_
    text = "\n".join(stepwise.assumptions)
    assert stepwise.unit == "group"
    assert "all rows of one group replaced by null rows" in text
    assert "number of groups times 2" in text
    assert "number of rows is public" not in text
    assert "whole groups of at most 2 rows" in stepwise.theorem
    network = PrivateMLPClassifier(delta=1e-3, classes=(0, 1), max_rows_per_group=2, n_groups=G)
    assert "order of the groups" in "".join(network.fit(X, Y, groups=GROUPS).privacy_.assumptions)


@pytest.mark.parametrize(
    ("parameters", "groups", "error"),
    [
        ({"max_rows_per_group": None, "n_groups": None}, GROUPS, "max_rows_per_group is None"),
        ({"max_rows_per_group": None}, None, "counts groups"),
        ({}, None, "protects groups"),
        ({}, GROUPS[:-1], "one group for each"),
        ({"n_groups": G - 1}, GROUPS, "more than the declared"),
        ({}, GROUPS + 0.5, "all integers or all strings"),
        ({}, ["a", 1] * (2 * G), "all integers or all strings"),
        ({}, ["a", None] * (2 * G), "all integers or all strings"),
    ],
)
def test_what_leaves_the_unit_unclear_is_refused(parameters, groups, error):
    with pytest.raises((ValueError, TypeError), match=error):
        model(**parameters).fit(X, Y, groups=groups)


@pytest.mark.parametrize(
    ("estimator", "arguments", "error"),
    [
        (dpsgd(max_rows_per_group=M), {"blocks": GROUPS % 2}, "rows in several blocks"),
        (
            dpsgd(
                max_rows_per_group=M,
                sampling=PoissonSampler(0.5, 4.0, Neighbours.ADD_OR_REMOVE_ONE),
            ),
            {},
            "may come or go",
        ),
        (dpsgd(max_rows_per_group=M, batch_size=G + 1), {}, "of groups"),
        (
            StableSGDClassifier(
                learning_rate="constant",
                eta0=0.1,
                participation=ExampleDropout(0.5),
                max_rows_per_group=M,
            ),
            {},
            "sit out one by one",
        ),
        (
            StabilityOutputPerturbation(
                LogisticRegression(C=0.01),
                stability=ParameterStability(l2=0.1),
                max_rows_per_group=M,
            ),
            {},
            "a whole group moves it",
        ),
        (
            StabilityOutputPerturbation(
                LogisticRegression(C=0.01), n_samples=4 * G, max_rows_per_group=M
            ),
            {},
            "Leave n_samples None",
        ),
        (
            PrivateMLPClassifier(
                delta=1e-3,
                noise_schedule=ValidationDecay(private=True),
                sampling="shuffled",
                max_rows_per_group=M,
            ),
            {"X_val": X[:4], "y_val": Y[:4]},
            "protected row by row",
        ),
    ],
    ids=["blocks", "coming", "batch", "dropout", "declared", "n_samples", "validation"],
)
def test_what_has_no_proof_for_groups_is_refused(estimator, arguments, error):
    ledger = InMemoryLedger(10.0, 1e-2)
    with pytest.raises(ValueError, match=error):
        estimator.set_params(ledger=ledger).fit(X, Y, groups=GROUPS, **arguments)
    assert ledger.history() == ()


def test_a_frozen_model_knows_nothing_of_groups():
    frozen = FrozenEstimator(LogisticRegression(C=0.01, tol=1e-9, solver="liblinear").fit(X, Y))
    with pytest.raises(ValueError, match="a whole group moves it"):
        StabilityOutputPerturbation(frozen, n_samples=4 * G, max_rows_per_group=M).fit()


def test_chunks_of_groups_are_refused():
    with pytest.raises(ValueError, match="rows in several chunks"):
        dpsgd(max_rows_per_group=M).partial_fit(X, Y)
    with pytest.raises(ValueError, match="counts groups"):
        dpsgd().partial_fit(X, Y)


def test_groups_travel_through_pipelines_and_searches():
    with config_context(enable_metadata_routing=True):
        pipeline = make_pipeline(RowNormClipper(), model().set_fit_request(groups=True))
        assert pipeline.fit(X, Y, groups=GROUPS)[-1].privacy_.unit == "group"
        grid = {"privateelasticnetclassifier__alpha": [1.0, 2.0]}
        search = GridSearchCV(pipeline, grid, cv=GroupKFold(2), error_score="raise")
        assert search.fit(X, Y, groups=GROUPS).best_estimator_[-1].privacy_.unit == "group"
