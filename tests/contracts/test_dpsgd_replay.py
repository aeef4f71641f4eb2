"""Record and replay of estimators that release in every step, for every sampler and selector."""

import itertools

import numpy as np
import pytest
import scipy.sparse as sp

from skdp.linear_model import SparseDPSGDClassifier, SparseDPSGDRegressor
from skdp.privacy import Neighbours
from skdp.training import PoissonSampler, ShuffledBatches
from skdp.training.optimizers import Optimizer
from tests.support.private_sgd import null_record, reference_steps
from tests.support.replay import violations

N, D = 12, 5
SELECTORS = {
    "none": {"selector": None},
    "gaussian": {"selector": "gaussian", "n_selected": 2},
    "gaussian, refined": {"selector": "gaussian", "n_selected": 2, "selected_grad_norm": 0.4},
    "exponential": {"selector": "exponential", "n_selected": 2},
    "noisy max": {"selector": "noisy_max", "n_selected": 2},
    "permute and flip": {"selector": "permute_and_flip"},
    "sparse vector": {"selector": "sparse_vector", "n_selected": 2},
    "adafest": {"selector": "adafest", "n_selected": 2},
}
ZERO_OUT = ("poisson", "shuffled", "full")
KINDS = ("random", "own feature", "huge", "not finite", "empty", "alone")
SEED = 11


@pytest.fixture(autouse=True)
def _recorded_loop():
    with reference_steps():
        yield


def rows_of(kind, rng):
    X = np.where(rng.random((N, D)) < 0.5, rng.normal(size=(N, D)), 0.0)
    if kind == "own feature":
        X[1:, 0], X[0] = 0.0, 0.0
        X[0, 0] = 50.0
    if kind == "huge":
        X[0] = 1e200
    if kind == "not finite":
        X[0] = np.array([1.7e308, -1.7e308, 1.7e308, 1e-308, 3.0])
    if kind == "empty":
        X[0] = 0.0
    if kind == "alone":
        X[1:] = 0.0
    return X


def pair(kind, seed=0):
    rng = np.random.default_rng(seed)
    X, y = rows_of(kind, rng), rng.integers(2, size=N)
    X_other, y_other = X.copy(), y.copy()
    X_other[0], y_other[0] = -3 * rng.normal(size=D), 1 - y[0]
    return (X, y), (X_other, y_other)


def make(**parameters):
    given = {"epsilon": 2.0, "delta": 1e-3, "n_epochs": 2, "classes": (0, 1), "random_state": SEED}
    if not {"batch_size", "sampling"} & set(parameters):
        given["batch_size"] = 5
    return SparseDPSGDClassifier(**{**given, **parameters})


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("sampling", ZERO_OUT)
@pytest.mark.parametrize("selector", SELECTORS.values(), ids=SELECTORS)
def test_a_null_record_shows_in_nothing_but_the_releases(sampling, selector, sparse):
    for kind in KINDS:
        (X, y), _ = pair(kind)
        data = (sp.csr_matrix(X) if sparse else X, y)
        size = {} if sampling == "full" else {"batch_size": 5}
        model = make(sampling=sampling, **size, **selector)
        assert violations(model, data, data, around_neighbour=null_record) == [], kind


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize(
    ("sampling", "selector"),
    [
        ("fixed_size", "none"),
        ("fixed_size", "gaussian"),
        ("fixed_size", "gaussian, refined"),
        (PoissonSampler(5 / N, 5.0, Neighbours.REPLACE_ONE), "none"),
        *itertools.product([ShuffledBatches(5, N, Neighbours.REPLACE_ONE)], SELECTORS),
    ],
)
def test_a_replaced_record_shows_in_nothing_but_the_releases(sampling, selector, sparse):
    for kind in KINDS:
        first, second = pair(kind)
        if sparse:
            first, second = ((sp.csr_matrix(X), y) for X, y in (first, second))
        model = make(sampling=sampling, **SELECTORS[selector])
        if isinstance(sampling, str):
            model.set_params(batch_size=5)
        assert violations(model, first, second) == [], kind


@pytest.mark.parametrize(
    "parameters",
    [
        {"optimizer": "adam"},
        {"optimizer": "adam", "selector": "gaussian", "n_selected": 2},
        {"alpha": 0.2, "selector": "exponential", "n_selected": 2},
        {"alpha": 0.2, "average": False},
        {"fit_intercept": False},
        {"loss": "huber_hinge"},
        {"loss": "squared_hinge"},
        {"max_grad_norm": 0.1},
        {"classes": (0, 1, 2), "selector": "gaussian", "n_selected": 3},
        {"classes": (0, 1, 2), "selector": "adafest", "n_selected": 3},
    ],
)
def test_other_options_show_nothing_either(parameters):
    for kind, sparse in itertools.product(KINDS, (False, True)):
        (X, y), _ = pair(kind)
        data = (sp.csr_matrix(X) if sparse else X, y)
        assert violations(make(**parameters), data, data, around_neighbour=null_record) == []


def test_nor_do_regression_blocks_or_float32():
    (X, y), _ = pair("own feature")
    regression = SparseDPSGDRegressor(
        epsilon=2.0, delta=1e-3, n_epochs=2, batch_size=5, random_state=SEED
    )
    data = (X.astype(np.float32), 1e6 * y)
    assert violations(regression, data, data, around_neighbour=null_record) == []
    blocks = np.arange(N) % 3
    for selector in SELECTORS.values():
        model = make(batch_size="auto", **selector)
        data = (sp.csr_matrix(X), y, blocks)
        assert violations(model, data, data, around_neighbour=null_record) == []


class TestPlantedBugs:
    """What replay must see."""

    def found(self, **parameters):
        (X, y), _ = pair("own feature")
        return violations(make(**parameters), (X, y), (X, y), around_neighbour=null_record)

    def test_without_a_bug_there_is_nothing(self):
        assert self.found() == []

    def test_gradients_that_are_not_clipped(self, monkeypatch):
        from skdp.training.glm import GlmGradients

        true = GlmGradients.clipped_sum

        def unclipped(self, *args, max_norm, grid):
            return true(self, *args, max_norm=100 * max_norm, grid=grid)

        monkeypatch.setattr(GlmGradients, "clipped_sum", unclipped)
        assert any("input moved" in sentence for sentence in self.found())

    def test_a_second_clip_that_is_forgotten(self, monkeypatch):
        from skdp.training.glm import GlmGradients

        true = GlmGradients.restricted_sum

        def unclipped(self, *args, max_norm, grid):
            return true(self, *args, max_norm=100 * max_norm, grid=grid)

        monkeypatch.setattr(GlmGradients, "restricted_sum", unclipped)
        found = self.found(selector="gaussian", n_selected=4, selected_grad_norm=0.1)
        assert any("input moved" in sentence for sentence in found)

    def test_division_by_the_drawn_batch_size(self, monkeypatch):
        """Under add-or-remove-one a record that is gone also leaves the size of the batch."""
        from skdp.training.steps import DenseStep

        true = DenseStep.release

        def divided(self, batch, rng):
            gone = getattr(batch.gradients, "nulled", False)
            drawn = batch.rows[batch.rows != 0] if gone else batch.rows
            return true(self, batch, rng) / max(1, len(drawn))

        monkeypatch.setattr(DenseStep, "release", divided)
        assert "attribute coef_ changed" in self.removed()

    def removed(self):
        from contextlib import contextmanager

        from skdp.training.glm import GlmGradients

        @contextmanager
        def gone():
            GlmGradients.nulled = True
            try:
                with null_record():
                    yield
            finally:
                del GlmGradients.nulled

        (X, y), _ = pair("own feature")
        sampling = PoissonSampler(0.5, 6.0, Neighbours.ADD_OR_REMOVE_ONE)
        model = make(sampling=sampling)
        return violations(model, (X, y), (X, y), around_neighbour=gone)

    def test_without_it_a_removed_record_shows_in_nothing(self):
        assert self.removed() == []

    def test_a_step_size_taken_from_the_gradient(self, monkeypatch):
        true = Optimizer.apply

        def greedy(self, total):
            if not isinstance(total, np.ndarray):
                return true(self, total)
            return true(self, total * self._peek)

        from skdp.training import private_loop as module

        run = module.dpsgd

        def peeking(plan, gradients, optimizer, rng, progress=None):
            total = gradients.clipped_sum(
                optimizer.values, 1.0, np.arange(N), max_norm=1.0, grid=2.0**-20
            )
            optimizer._peek = float(np.abs(total).sum())
            return run(plan, gradients, optimizer, rng, progress)

        monkeypatch.setattr(Optimizer, "apply", greedy)
        monkeypatch.setattr("skdp.training.linear_run.dpsgd", peeking)
        assert "attribute coef_ changed" in self.found()
