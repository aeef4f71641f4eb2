"""Record and replay of searches: only releases see rows, and each moves by its bound."""

import math

import numpy as np
import pytest
from scipy import sparse
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer

from skdp.linear_model import PrivateElasticNet, PrivateElasticNetClassifier, SparseDPSGDClassifier
from skdp.model_selection import PrivateGridSearchCV, plan, strategies
from skdp.model_selection.metadata import Units
from skdp.pipeline import make_private_pipeline
from skdp.preprocessing import PrivateStandardScaler
from tests.support.private_sgd import reference_steps
from tests.support.replay import fit_trace, violations

N, D = 60, 3
STRATEGIES = ("random", "exponential")


@pytest.fixture(autouse=True)
def _recorded_loop():
    with reference_steps():
        yield


class Called(PrivateGridSearchCV):
    """Takes weights and groups by their places, as replay gives them."""

    def fit(self, X, y, sample_weight=None, groups=None):
        super().fit(X, y, sample_weight=sample_weight, groups=groups)
        if math.isnan(self.best_score_):  # no number equals it
            self.best_score_, self.cv_results_ = None, {"params": self.cv_results_["params"]}
        if hasattr(self.best_estimator_, "steps"):
            self.best_estimator_ = [step for _, step in self.best_estimator_.steps]
        return self


def rows(seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(N, D)), np.arange(N) % 2


def pairs(places=(0, 7, 31)):
    """Tables in which a row changes: each in turn has another place in the split."""
    X, y = rows()
    for row in places:
        other, labels = X.copy(), y.copy()
        other[row], labels[row] = -9.0, 1 - y[row]
        yield (X, y), (other, labels)


def classifier(**given):
    return PrivateElasticNetClassifier(classes=[0, 1], **given)


def search(model, grid, **given):
    given = {"epsilon": 3.0, "random_state": 3, "n_trials": 4.0, **given}
    return Called(model, grid, **given)


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("delta", [0.0, 1e-4])
@pytest.mark.parametrize("storage", [np.asarray, sparse.csr_array])
def test_a_row_shows_in_nothing_but_the_releases(strategy, delta, storage):
    model = search(classifier(), {"alpha": [0.1, 1.0]}, strategy=strategy, delta=delta)
    for (X, y), (other, labels) in pairs():
        assert violations(model, (storage(X), y), (storage(other), labels)) == []


@pytest.mark.parametrize(
    ("model", "grid"),
    [
        (make_pipeline(Normalizer(), classifier()), {"privateelasticnetclassifier__alpha": [1.0]}),
        (
            make_private_pipeline(
                PrivateStandardScaler((-5.0, 5.0), neighbours="replace-one"), classifier()
            ),
            {"privateelasticnetclassifier__alpha": [0.5, 1.0]},
        ),
        pytest.param(
            SparseDPSGDClassifier(classes=[0, 1], sampling="fixed_size", n_epochs=1, batch_size=9),
            {"max_grad_norm": [0.5, 1.0]},
            marks=pytest.mark.slow,
        ),
    ],
    ids=["pipeline", "private pipeline", "sgd"],
)
def test_nor_in_searches_of_pipelines_and_of_trained_models(model, grid):
    for first, second in pairs():
        assert violations(search(model, grid, delta=1e-4), first, second) == []


def test_nor_in_a_regression():
    model = search(PrivateElasticNet(), {"alpha": [0.1, 1.0]}, error_bound=2.0)
    X, y = rows()
    other = 1.0 * y
    other[7] = 1e9
    assert violations(model, (X, 1.0 * y), (X, other)) == []


# ------------------------------------------------------------------------------ weights and groups

G, M = 20, 2


def grouped_pair(last=5):
    """The group that comes last has three rows, or others, or none."""
    X, y = rows()
    groups = np.repeat(np.arange(G), 3)
    rest = groups < G - 1
    other = np.vstack([X[rest], np.full((last, D), -9.0)])
    labels = np.append(y[rest], np.ones(last, dtype=int))
    names = np.append(groups[rest], np.full(last, G - 1))
    return (X, y, None, groups), (other, labels, None, names)


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("last", [0, 1, 5])
@pytest.mark.parametrize("seed", range(2))
def test_a_group_shows_in_nothing_but_the_releases(strategy, last, seed):
    model = search(
        classifier(max_rows_per_group=M, n_groups=G),
        {"alpha": [1.0, 2.0]},
        strategy=strategy,
        random_state=seed,
    )
    assert violations(model, *grouped_pair(last)) == []


def test_nor_does_a_weight():
    model = search(classifier(max_sample_weight=2.0), {"alpha": [1.0, 2.0]})
    (X, y), (other, labels) = next(pairs())
    weights = np.linspace(0.1, 2.0, N)
    heavy = np.where(np.arange(N) == 0, 1e6, weights)
    assert violations(model, (X, y, weights), (other, labels, heavy)) == []


class TestPlantedBugs:
    """What replay must see."""

    def found(self, **given):
        model = search(classifier(), {"alpha": [0.1, 1.0]}, **given)
        return [s for pair in pairs(range(0, N, 6)) for s in violations(model, *pair)]

    def test_without_a_bug_there_is_nothing(self):
        assert self.found() == []

    def test_a_score_that_is_not_released(self, monkeypatch):
        true = strategies.RandomTrials.run

        def exact(self, given, data, rng):
            won = true(self, given, data, rng)
            return strategies.Winner(won.place, won.model, given.score(won.model, data))

        monkeypatch.setattr(strategies.RandomTrials, "run", exact)
        model = search(classifier(), {"alpha": [0.1, 1.0]})
        X, y = rows()
        found = [
            sentence
            for row in range(0, N, 4)
            for sentence in violations(model, (X, y), (X, np.where(np.arange(N) == row, 1 - y, y)))
        ]
        assert "attribute best_score_ changed" in found

    def test_points_that_are_not_bounded(self, monkeypatch):
        true = plan.Plan.score
        monkeypatch.setattr(plan.Plan, "score", lambda self, *given: 5 * true(self, *given))
        assert any("input moved" in s for s in self.found())

    def test_scores_on_the_rows_of_fits(self, monkeypatch):
        """Both releases pay for a row that is in one of them."""
        monkeypatch.setattr(Units, "counted", lambda self, units: (np.arange(N), 1))
        model = search(classifier(), {"alpha": [1.0, 2.0]})
        X, y = rows()
        moved = [
            moved_in(model, (X, y), (X, np.where(np.arange(N) == row, 1 - y, y)))
            for row in range(0, N, 6)
        ]
        assert {"fit", "score"} in moved


def moved_in(model, data, neighbour):
    """Return which kinds of releases a pair of data sets moves, stand-in rows left out."""
    recorded = fit_trace(model, data)
    replayed = fit_trace(model, neighbour, recorded.outputs)
    return {
        "score" if mechanism.size == 1 else "fit"
        for mechanism, first, second in zip(
            recorded.mechanisms, recorded.inputs, replayed.inputs, strict=True
        )
        if not np.array_equal(first, second)
    }


def test_a_group_moves_fits_or_scores_never_both():
    model = search(classifier(max_rows_per_group=M, n_groups=G), {"alpha": [1.0, 2.0]})
    kinds = [moved_in(model.set_params(random_state=seed), *grouped_pair(3)) for seed in range(12)]
    assert all(len(kind) <= 1 for kind in kinds)
    assert {"fit"} in kinds
    assert {"score"} in kinds
