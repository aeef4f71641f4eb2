"""What stable SGD computes: every route the same steps, roundings within what is counted."""

import itertools

import numpy as np
import pytest
from scipy import sparse

from skdp._random import RandomSource
from skdp.objectives import Huber, HuberHinge, Logistic, Multinomial, Squared, SquaredHinge
from skdp.objectives.nonsmooth import Absolute
from skdp.objectives.piecewise_linear import Hinge
from skdp.stability import (
    Ball,
    ConstantStep,
    Domain,
    ExampleDropout,
    InverseSquareRootStep,
    InverseStep,
    LastIterate,
    SomePasses,
    StableRun,
    UniformAverage,
    WholeSpace,
    sgd_bounds,
    sgd_sensitivity,
)
from skdp.training import stable_descent
from skdp.training.stable_descent import Descent, descend
from tests.support.stable_sgd import Linear, in_ball, reference, run_of

LOSSES = (
    Logistic(), HuberHinge(), SquaredHinge(), Huber(), Squared(2.0), Multinomial(3), Hinge(),
    Absolute(),
)  # fmt: skip


def descent_of(run):
    last = isinstance(run.averaging, LastIterate)
    averaging = None if last else run.averaging.weights(run.n_steps)
    return Descent(run.loss, run.sizes, averaging, run.batch_size, run.l1, run.l2,
                   run.projection.radius, run.domain.intercept_scaling)  # fmt: skip


def data_of(run, rng):
    n, d = run.domain.n_samples, run.domain.n_features
    X = in_ball(rng.normal(size=(n, d)) * (rng.random((n, d)) < 0.6))
    if run.loss.n_outputs > 1:
        return X, rng.integers(3, size=n)
    return X, rng.choice([-1.0, 1.0], size=n)


@pytest.fixture(params=["compiled", "numpy"])
def route(request, monkeypatch):
    if request.param == "numpy":
        monkeypatch.setattr(
            stable_descent, "_runner", lambda descent, X: stable_descent._NumpyRunner(descent, X)
        )
    return request.param


CHOICES = list(
    itertools.product(
        (1, 4),
        (0.0, 0.05),
        (0.0, 0.3),
        (LastIterate(), UniformAverage()),
        (WholeSpace(), Ball(0.4)),
        (None, 0.7),
    )
)


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: type(loss).__name__)
def test_every_route_makes_the_steps_of_the_formula(loss, container, route):
    rng = np.random.default_rng(0)
    for b, l1, l2, averaging, projection, constant in CHOICES[:: 1 if route == "compiled" else 5]:
        run = run_of(
            loss, InverseSquareRootStep(0.4, cap=9.0), n=13, d=5, batch_size=b, l1=l1, l2=l2,
            averaging=averaging, projection=projection, constant=constant, max_weight=2.0,
        )  # fmt: skip
        X, y = data_of(run, rng)
        weights = rng.uniform(0, 2, size=13)
        passes = list(run.passes(RandomSource.from_seed(1)))
        found = descend(descent_of(run), container(X), y, weights, passes)
        np.testing.assert_allclose(found, reference(run, X, y, passes, weights), atol=1e-14)


def test_float32_rows_are_computed_in_float64(route):
    run = run_of(Logistic(), ConstantStep(0.4), n=13, d=5, constant=1.0)
    X, y = data_of(run, np.random.default_rng(2))
    passes = list(run.passes(RandomSource.from_seed(1)))
    found = descend(descent_of(run), X.astype(np.float32), y, None, passes)
    expected = reference(run, X.astype(np.float32).astype(np.float64), y, passes)
    np.testing.assert_allclose(found, expected, atol=1e-14)


def test_without_numba_the_plain_route_is_taken(monkeypatch):
    import builtins

    original = builtins.__import__

    def refuse(name, *args, **kwargs):
        if name == "skdp.training.stable_loss_kernels":
            raise ImportError(name)
        return original(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", refuse)
    run = run_of(Logistic(), ConstantStep(0.4), n=5)
    runner = stable_descent._runner(descent_of(run), np.zeros((5, 2)))
    assert type(runner) is stable_descent._NumpyRunner


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: type(loss).__name__)
def test_roundings_stay_within_what_the_sensitivity_counts(loss, container):
    """Against the same steps in extended precision; half of what is counted is for one run."""
    rng = np.random.default_rng(3)
    for averaging, l1, projection in (
        (LastIterate(), 0.0, WholeSpace()),
        (LastIterate(), 0.01, WholeSpace()),
        (UniformAverage(), 0.0, WholeSpace()),
        (UniformAverage(), 0.01, Ball(0.5)),
    ):
        run = run_of(
            loss, InverseStep(cap=0.3), n=200, d=30, n_passes=2, batch_size=3, l1=l1, l2=0.05,
            averaging=averaging, projection=projection, constant=1.0,
        )  # fmt: skip
        X, y = data_of(run, rng)
        passes = list(run.passes(RandomSource.from_seed(1)))
        found = descend(descent_of(run), container(X), y, None, passes)
        exact = reference(run, X, y, passes, dtype=np.longdouble)
        off = float(np.sqrt(((found - exact) ** 2).sum()))
        steps = sgd_bounds._Steps.of(run)
        kick = sgd_bounds.weights_of_kicks(steps.contraction, averaging.weights(run.n_steps))
        counted = sgd_bounds._of_rounding(run, steps, kick, sgd_bounds.iterate_radii(run))
        assert 0 < off <= counted / 2
        assert counted < 1e-6 * sgd_sensitivity(run).value


class TestParticipation:
    def test_some_passes_are_that_many_for_each_record(self):
        mask = SomePasses(0.3).mask(50, 7, RandomSource.from_seed(0))
        assert mask.shape == (7, 50)
        assert (mask.sum(axis=0) == 3).all()
        assert len({tuple(column) for column in mask.T}) > 10

    def test_some_passes_cost_only_the_most_expensive_of_them(self):
        """ceil(s k) 2 eta G / b for constant steps, attained."""
        choices = {"n_passes": 5, "batch_size": 3, "participation": SomePasses(0.5)}
        claimed = sgd_sensitivity(run_of(Linear(), ConstantStep(0.5), **choices)).value
        assert claimed == pytest.approx(3 * 2 * 0.5 / 3, rel=1e-5)
        X = np.zeros((12, 1))
        X[0] = 1.0
        run = run_of(Linear(), ConstantStep(0.5), d=1, **choices)
        outcomes = [
            descend(descent_of(run), sign * X, np.ones(12), None,
                    run.passes(RandomSource.from_seed(4)))
            for sign in (1, -1)
        ]  # fmt: skip
        assert abs(outcomes[0] - outcomes[1]).max() == pytest.approx(claimed, rel=1e-5)

    def test_dropout_keeps_steps_and_divisor(self):
        run = run_of(Logistic(), ConstantStep(0.5), n=1000, batch_size=10, n_passes=2,
                     participation=ExampleDropout(0.2))  # fmt: skip
        passes = list(run.passes(RandomSource.from_seed(0)))
        assert [len(p.offsets) - 1 for p in passes] == [100, 100]
        for p in passes:
            assert len(p.rows) == p.offsets[-1] == len(set(p.rows.tolist()))
            assert 130 < len(p.rows) < 270  # 5.5 standard deviations: 4e-8

    def test_the_chance_to_count_at_all(self):
        assert ExampleDropout(0.1).chance(3) == pytest.approx(1 - 0.9**3)
        assert ExampleDropout(1.0).chance(3) == SomePasses(0.1).chance(3) == 1


def test_passes_are_permutations_fresh_or_fixed():
    for reshuffle in (True, False):
        run = run_of(Logistic(), ConstantStep(0.5), n=30, n_passes=2, reshuffle=reshuffle)
        first, second = run.passes(RandomSource.from_seed(0))
        assert sorted(first.rows) == sorted(second.rows) == list(range(30))
        assert (list(first.rows) == list(second.rows)) is not reshuffle


def test_the_order_has_nothing_to_do_with_the_records():
    run = StableRun(Logistic(), Domain(20, 3, 1.0), ConstantStep(0.5), 1)
    (first,), (second,) = (list(run.passes(RandomSource.from_seed(5))) for _ in range(2))
    assert (first.rows == second.rows).all()
    (other,) = run.passes(RandomSource.from_system())
    assert (first.rows != other.rows).any()


def test_a_batch_larger_than_the_data_is_refused():
    with pytest.raises(ValueError, match="batch_size=5 is larger"):
        StableRun(Logistic(), Domain(4, 3, 1.0), ConstantStep(0.5), 1, batch_size=5)
