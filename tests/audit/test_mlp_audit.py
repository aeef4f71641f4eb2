"""Attacks on a private network: is the record there that pulls all layers?

The attacker knows all other records and sees the releases of a step that takes every record, in
the direction of the canary's gradient; its sum is the likelihood ratio, so the claim is attained.
"""

import numpy as np
import pytest

from skdp._random import RandomSource
from skdp.objectives import Multinomial
from skdp.privacy import PrivacyBudget
from skdp.training import AllCoordinates, ConstantNoise, FullBatch, TrainingPlan
from skdp.training.gradients import Batch
from skdp.training.mlp_activations import ACTIVATIONS
from skdp.training.mlp_gradients import MlpGradients
from skdp.training.mlp_network import Network
from tests.support.attack import ERROR_RATE, accuses
from tests.support.lower_bound import Counts
from tests.support.private_sgd import null_network_record

N, EPSILON, DELTA, CLIP = 6, 1.0, 0.2, 0.01
rng = np.random.default_rng(3)
X, y = rng.normal(size=(N, 4)), rng.integers(3, size=N)
NETWORK = Network((4, 3, 3, 3), ACTIVATIONS["tanh"])
PARAMETERS = NETWORK.initial(RandomSource.from_seed(0))


def planned():
    size = NETWORK.n_parameters
    plan = TrainingPlan(FullBatch(N), AllCoordinates(), ConstantNoise(), CLIP, 1, size)
    return plan.calibrated(PrivacyBudget(EPSILON, DELTA))


def audit(draws):
    """Count how often the released sum lies on the canary's side of the middle."""
    step = next(planned().steps())
    rows = np.arange(N)
    batch = Batch(MlpGradients(X, y, Multinomial(3), NETWORK), PARAMETERS, 1.0, rows)
    there = batch.clipped_sum(max_norm=CLIP, grid=step.noise.grid)
    with null_network_record():
        gone = batch.clipped_sum(max_norm=CLIP, grid=step.noise.grid)
    # For (epsilon, delta) the best threshold of a Gaussian pair is where the loss is epsilon.
    direction = there - gone
    mu = np.linalg.norm(direction) / step.noise.noise_std
    threshold = (there + gone) @ direction / 2 + EPSILON / mu**2 * (direction @ direction)
    source = RandomSource.from_seed(5)
    hits = []
    for value in (there, gone):
        releases = np.array([step.noise.release(value, source) for _ in range(draws)])
        hits.append(int((releases @ direction > threshold).sum()))
    return Counts(hits[0], draws, hits[1], draws, ERROR_RATE)


def test_no_attack_on_a_step_shows_more_than_is_claimed_and_it_comes_near():
    counts = audit(4000)
    assert not accuses(counts, EPSILON, DELTA)
    assert counts.delta(EPSILON) > 0.4 * DELTA


def test_each_layer_clipped_alone_and_charged_once_is_accused(monkeypatch):
    def layer_by_layer(self, rows, outputs, errors, limit):
        gone = ~np.isfinite(self._squared_gradients(rows, outputs, errors))
        for place, delta in enumerate(errors):
            entering = (
                self._squared_norms[rows] if place == 0 else (outputs[place] ** 2).sum(axis=1)
            )
            norms = np.sqrt((entering + 1) * (delta**2).sum(axis=1))
            errors[place] = delta * np.where(gone, 0, np.minimum(1, limit / norms))[:, None]

    monkeypatch.setattr(MlpGradients, "_clip", layer_by_layer)
    assert accuses(audit(4000), EPSILON, DELTA)


@pytest.mark.slow
def test_no_attack_shows_more_in_many_draws():
    counts = audit(100_000)
    assert not accuses(counts, EPSILON, DELTA)
    # The confidence bounds take an eighth of it.
    assert counts.delta(EPSILON) > 0.85 * DELTA
