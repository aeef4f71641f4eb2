"""Attack on whole fits: the likelihood ratio of everything that was released, part after part.

A fit on D is recorded, and replayed on its neighbour with the same releases. The ratio of the two
densities of the transcript follows from how far each input moved, and delta(epsilon) is the mean of
max(0, 1 - e^(epsilon - ratio)) over fits on D: what no counting attack can exceed.
"""

import math

import numpy as np
import pytest

from skdp.linear_model import PrivateLinearClassifier, PrivateLinearRegressor
from skdp.mechanisms.label_moments import LabelMoments
from skdp.mechanisms.row_statistics import RowStatistics
from skdp.privacy import Sensitivity
from skdp.training import descent
from tests.support.replay import fit_trace

EPSILON, DELTA = 1.0, 0.3
#: Seeds are fixed. Terms are in [0, 1]: of fresh draws their mean is off by more than the margin
#: at most once in a million times.
DRAWS = 60
MARGIN = math.sqrt(math.log(1e6) / (2 * DRAWS))


@pytest.fixture(autouse=True)
def _few_steps(monkeypatch):
    monkeypatch.setattr(descent, "_FEWEST_STEPS", 6)


def pair(relation, regression):
    """Rows near the origin, and one at the edge whose label the others contradict."""
    rng = np.random.default_rng(0)
    X = 0.05 * rng.normal(size=(6, 2))
    X[0], y = (9.0, 0.0), np.array([1.0, 0, 0, 1, 0, 1])
    if regression:
        y = 2 * y - 1
    if relation == "add-or-remove-one":
        return (X, y), (X[1:], y[1:])
    other, labels = X.copy(), y.copy()
    other[0], labels[0] = (-9.0, 0.0), y[0]
    return (X, y), (other, labels)


def model(relation, regression):
    given = {
        "epsilon": EPSILON,
        "delta": DELTA,
        "mechanism": "descent",
        "neighbours": relation,
        "expected_samples": 100 if relation == "add-or-remove-one" else None,
    }
    if regression:
        return PrivateLinearRegressor(**given)
    return PrivateLinearClassifier(classes=[0, 1], **given)


def shown(relation, regression=False, draws=DRAWS):
    """Mean of max(0, 1 - e^(epsilon - ratio)) over fits."""
    data, neighbour = pair(relation, regression)
    estimator, terms = model(relation, regression), []
    for seed in range(draws):
        estimator.set_params(random_state=seed)
        first = fit_trace(estimator, data)
        second = fit_trace(estimator, neighbour, first.outputs)
        ratio = 0.0
        for mechanism, one, other, out in zip(
            first.mechanisms, first.inputs, second.inputs, first.outputs, strict=True
        ):
            out = np.asarray(out).ravel()
            away = ((out - other.ravel()) ** 2).sum() - ((out - one.ravel()) ** 2).sum()
            ratio += away / (2 * mechanism.noise_scale**2)
        terms.append(max(0.0, -math.expm1(min(0.0, EPSILON - ratio))))
    return float(np.mean(terms))


@pytest.mark.parametrize("regression", [False, True])
@pytest.mark.parametrize("relation", ["add-or-remove-one", "replace-one"])
def test_the_best_attack_comes_near_the_claim_and_not_above_it(relation, regression):
    assert 0.3 * DELTA < shown(relation, regression) <= DELTA + MARGIN


@pytest.mark.slow
@pytest.mark.parametrize("regression", [False, True])
@pytest.mark.parametrize("relation", ["add-or-remove-one", "replace-one"])
def test_many_fits_show_no_more(relation, regression):
    margin = math.sqrt(math.log(1e6) / (2 * 2000))
    assert shown(relation, regression, 2000) <= DELTA + margin


@pytest.mark.parametrize("planted", ["statistics", "moments", "gradients"])
def test_noise_for_less_than_the_sensitivity_is_accused(planted, monkeypatch):
    def share(cls, factor):
        true = cls.sensitivity.fget
        monkeypatch.setattr(
            cls,
            "sensitivity",
            property(lambda self: Sensitivity(true(self).value * factor, "l2", self.neighbours)),
        )

    if planted == "statistics":
        share(RowStatistics, 0.1)
    elif planted == "moments":
        monkeypatch.setattr(descent, "_WHITENED", 0.0)
        share(LabelMoments, 0.1)
    else:
        true = descent.GlmGradients.clipped_sum

        def wide(self, values, scale, rows, *, max_norm, grid):
            return true(self, values, scale, rows, max_norm=4 * max_norm, grid=grid)

        monkeypatch.setattr(descent.GlmGradients, "clipped_sum", wide)
    assert shown("add-or-remove-one") > DELTA + MARGIN
