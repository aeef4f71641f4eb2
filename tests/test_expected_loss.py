"""What a plan says that a private fit will lose, before it is made."""

import math
import warnings

import numpy as np
import pytest
from scipy.special import expit, log_expit

from skdp.exceptions import CertificationError
from skdp.linear_model import PrivateElasticNetClassifier
from skdp.objectives import Huber, HuberHinge, Logistic, Multinomial, Squared
from skdp.reporting import draw_expected_loss
from skdp.stability.tradeoff import plan


def test_the_planned_penalty_is_that_of_the_estimator():
    X, y = np.eye(60, 4), np.arange(60) % 3
    for n_classes, loss in ((2, Logistic()), (3, Multinomial(3))):
        model = PrivateElasticNetClassifier(epsilon=2.0, classes=range(n_classes))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.fit(X, y % n_classes)
        assert plan(60, 4, 2.0, loss=loss).alpha == model.alpha_


def test_the_parts_add_up_in_the_table_too():
    expected = plan(5000, 20, 1.0, delta=1e-6)
    frame = expected.to_frame()
    assert list(frame.columns) == [
        "regularisation", "optimisation", "generalisation", "privacy", "total",
    ]  # fmt: skip
    np.testing.assert_allclose(frame.iloc[:, :4].sum(axis=1), frame["total"])
    assert frame.loc[expected.alpha, "total"] == pytest.approx(expected.chosen.total)
    assert str(expected).count("<- planned") == 1


def test_more_penalty_costs_bias_and_saves_noise():
    frame = plan(5000, 20, 1.0).to_frame()
    assert (np.diff(frame["regularisation"]) > 0).all()
    for falls in ("optimisation", "privacy"):
        assert (np.diff(frame[falls]) < 0).all()
    assert (np.diff(frame["generalisation"]) <= 0).all()


@pytest.mark.parametrize("facts", [{"epsilon": 3.0}, {"n_samples": 50_000}])
def test_more_data_or_budget_is_expected_to_lose_less(facts):
    base = {"n_samples": 5000, "n_features": 20, "epsilon": 1.0}
    assert plan(**{**base, **facts}).chosen.total < plan(**base).chosen.total


def test_a_wide_table_of_few_records_is_said_to_be_hopeless():
    hopeless, fine = plan(38, 3051, 1.0), plan(10**6, 50, 1.0)
    assert hopeless.kept < 0.05
    assert fine.kept > 0.8
    assert f"{hopeless.kept:.0%} is left" in str(hopeless)


@pytest.mark.parametrize(
    ("loss", "most"),
    [
        (Logistic(), math.log(2)),
        (Multinomial(5), math.log(5)),
        (Squared(3.0), 4.5),
        (HuberHinge(), 1.0),
        (Huber(), math.inf),
    ],
)
def test_nobody_gains_more_than_the_loss_of_a_model_that_says_nothing(loss, most):
    expected = plan(10**5, 3, 1.0, loss=loss, reference_norm=1e6)
    assert 0 < expected.gain <= most
    assert expected.gain >= plan(10**5, 3, 1.0, loss=loss, reference_norm=0.1).gain


def test_the_bias_is_that_of_a_path_that_ends_at_the_reference_norm():
    """Far below the bend the energy is t B^2, so the integral is l2 B^2 / 2."""
    expected = plan(10**6, 3, 1.0, alpha=1e-4, l1_ratio=0.0, reference_norm=4.0)
    assert expected.chosen.regularisation == pytest.approx(1e-4 * 16 / 2, rel=0.02)


def test_the_optimisation_part_bounds_what_a_certified_point_misses():
    """l2/2 (w - w*)^2 at a subgradient of norm tol: tol^2 / (2 l2)."""
    expected = plan(1000, 3, 1.0, alpha=0.1, l1_ratio=0.5, tol=1e-3)
    assert expected.chosen.optimisation == pytest.approx(1e-6 / (2 * 0.05))


TILTED = {"perturbation": "objective", "delta": 1e-6}


@pytest.mark.parametrize("neighbours", ["replace-one", "zero-out"])
def test_the_planned_penalty_of_a_tilted_objective_is_that_of_the_estimator(neighbours):
    X, y = np.eye(60, 4), np.arange(60) % 2
    given = {"perturbation": "objective", "neighbours": neighbours}
    model = PrivateElasticNetClassifier(epsilon=2.0, classes=[0, 1], **given)
    assert plan(60, 4, 2.0, **given).alpha == model.fit(X, y).alpha_


def test_a_tilt_is_expected_to_lose_less_and_one_for_a_null_still_less():
    losses = [
        plan(5000, 20, 1.0, **given).chosen.total
        for given in ({"delta": 1e-6}, TILTED, {**TILTED, "neighbours": "zero-out"})
    ]
    assert losses[2] < losses[1] < losses[0] / 2


def test_penalties_for_which_no_tilt_is_enough_lose_everything():
    frame = plan(5000, 20, 0.5, **TILTED).to_frame()
    assert np.isinf(frame["total"].iloc[0])
    assert np.isfinite(frame["total"].iloc[4:]).all()
    with pytest.raises(ValueError, match="leaves nothing of epsilon"):
        plan(5000, 20, 0.5, alpha=1e-7, **TILTED)


@pytest.mark.parametrize(
    ("given", "match"),
    [
        ({**TILTED, "loss": HuberHinge()}, "twice differentiable"),
        ({"perturbation": "input"}, "perturbation must be"),
        ({"neighbours": "zero-out"}, "replace-one"),
        ({**TILTED, "neighbours": "add-or-remove-one"}, "private"),
        ({**TILTED, "noise": "laplace"}, "noise"),
    ],
)
def test_tilts_and_relations_without_a_theorem_are_refused(given, match):
    with pytest.raises(ValueError, match=match):
        plan(5000, 20, 1.0, **given)


@pytest.mark.parametrize(
    ("given", "factor", "seeds"),
    [({}, 4, 5), ({**TILTED, "neighbours": "zero-out"}, 8, 1)],
    ids=["output", "objective"],
)
def test_what_is_expected_is_of_the_size_of_what_is_measured(given, factor, seeds):
    """Logistic data whose best model has the reference norm; within a factor of 4, or 8."""
    rng = np.random.default_rng(0)
    n, d, w = 12_000, 20, np.zeros(20)
    w[0] = 10.0
    X = rng.normal(size=(n, d))
    X /= np.linalg.norm(X, axis=1)[:, None]
    y = (rng.random(n) < expit(X @ w)).astype(int)
    half = n // 2

    def loss(model):
        scores = model.decision_function(X[half:])
        return -log_expit(np.where(y[half:] == 1, scores, -scores)).mean()

    best = -log_expit(np.where(y[half:] == 1, X[half:] @ w, -X[half:] @ w)).mean()
    for epsilon in (0.3, 1.0, 5.0):
        expected = plan(half, d, epsilon, reference_norm=10.0, **given).chosen.total
        model = PrivateElasticNetClassifier(epsilon=epsilon, classes=[0, 1], **given)
        fits = (model.set_params(random_state=s).fit(X[:half], y[:half]) for s in range(seeds))
        measured = np.mean([loss(fitted) for fitted in fits]) - best
        assert expected / factor < measured < factor * expected


def test_what_no_fit_can_do_is_refused():
    with pytest.raises(CertificationError):
        plan(1000, 3, 1.0, alpha=1e-3, tol=1e-16)
    with pytest.raises(ValueError, match="reference_norm"):
        plan(1000, 3, 1.0, reference_norm=-1.0)
    with pytest.raises(ValueError, match="epsilon"):
        plan(1000, 3, 0.0)


def test_the_figure_is_written(tmp_path):
    draw_expected_loss(plan(5000, 20, 1.0), tmp_path / "figure.svg", "What it costs")
    assert (tmp_path / "figure.svg").stat().st_size > 5000
