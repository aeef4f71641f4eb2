"""Attacks on a release: which of two neighbouring data sets was it made from?

Two fits through the recorder give the mechanism and the exact values a and b that it was handed on
D and D'. Record and replay shows that a fit's only output that depends on the data is
``mechanism.release`` of that value, so sampling releases alone audits the whole fit, a thousand
times faster. (`tests/audit/test_end_to_end.py` really fits.)

An event is a threshold on a statistic, by default the log-likelihood ratio of the noise that the
mechanism claims. The threshold comes from a simulation of that noise in floating point, before
anything is sampled from the mechanism.
"""

from dataclasses import dataclass

import numpy as np

from skdp._random import RandomSource
from skdp.mechanisms import GaussianMechanism, L2LaplaceMechanism, LaplaceMechanism
from tests.support.lower_bound import Counts
from tests.support.neighbours import recorded

#: How often one audit may accuse an innocent. Fewer than 200 audits are made in a run, slow ones
#: counted, so that all of them together raise a false alarm at most once in a million runs.
ERROR_RATE = 5e-9
#: For planning, where nothing can be shown at `ERROR_RATE`.
LAX = 0.2
PILOT = 10_000

#: (noise, delta). A large delta, so that a few hundred draws can measure it.
NOISES = [("laplace", 0.0), ("l2_laplace", 0.0), ("gaussian", 0.3)]


def gain_for(epsilon, delta):
    """Show epsilon for pure noise and delta, at the epsilon claimed, for the other one."""
    if delta == 0:
        return lambda counts: counts.epsilon()
    return lambda counts: counts.delta(epsilon)


def accuses(counts, epsilon, delta):
    """Whether more has been shown than the (epsilon, delta) that is claimed."""
    return counts.epsilon(delta) > epsilon or counts.delta(epsilon) > delta


def l1_ratio(outputs, first, second):
    """Log-likelihood ratio of coordinate Laplace noise, times its scale."""
    return np.abs(outputs - second).sum(axis=1) - np.abs(outputs - first).sum(axis=1)


def l2_ratio(outputs, first, second):
    """Log-likelihood ratio of spherical Laplace noise, times its scale."""
    return np.linalg.norm(outputs - second, axis=1) - np.linalg.norm(outputs - first, axis=1)


def inner_product(outputs, first, second):
    """Log-likelihood ratio of Gaussian noise, times its variance."""
    return (outputs - (first + second) / 2) @ (first - second)


RATIOS = {
    LaplaceMechanism: l1_ratio,
    L2LaplaceMechanism: l2_ratio,
    GaussianMechanism: inner_product,
}


def _laplace(rng, scale, shape):
    return rng.laplace(scale=scale, size=shape)


def _spherical_laplace(rng, scale, shape):
    direction = rng.normal(size=shape)
    direction /= np.linalg.norm(direction, axis=1, keepdims=True)
    return direction * rng.gamma(shape[1], scale, size=(shape[0], 1))


def _gaussian(rng, scale, shape):
    return rng.normal(scale=scale, size=shape)


SIMULATIONS = {
    LaplaceMechanism: _laplace,
    L2LaplaceMechanism: _spherical_laplace,
    GaussianMechanism: _gaussian,
}


@dataclass(frozen=True)
class Attack:
    """The event ``statistic(output, a, b) >= threshold``, likelier on D than on D'."""

    mechanism: object
    first: np.ndarray
    second: np.ndarray
    statistic: object
    threshold: float

    def counts(self, outputs, outputs_other):
        """Count the event in outputs of either data set, each of shape (trials, size)."""
        hits, hits_other = (
            int((self.statistic(o, self.first, self.second) >= self.threshold).sum())
            for o in (outputs, outputs_other)
        )
        return Counts(hits, len(outputs), hits_other, len(outputs_other), ERROR_RATE)

    def sample(self, draws, seed=None):
        """Return `draws` releases of either value, shape (draws, size) each."""
        rng = RandomSource.for_state(seed)
        return tuple(
            np.array([self.mechanism.release(value, rng) for _ in range(draws)])
            for value in (self.first, self.second)
        )

    def audit(self, draws, seed=None):
        """Sample as many releases of either value and count."""
        return self.counts(*self.sample(draws, seed))


def values_of(estimator, data, neighbour):
    """Return the mechanism and the flattened exact values of fits on two data sets."""
    mechanism, first = recorded(estimator, data)
    other, second = recorded(estimator, neighbour)
    assert other == mechanism
    return mechanism, first.ravel(), second.ravel()


def likelihood_attack(estimator, pair, *, draws, gain, noise_share=1.0):
    """Plan the likelihood-ratio event for which `gain` is largest, as simulated.

    Parameters
    ----------
    gain : callable
        Maps `Counts` to what is to be shown, such as ``lambda counts: counts.epsilon()``.
    noise_share : float
        Plan for this share of the mechanism's noise.
    """
    mechanism, first, second = values_of(estimator, *pair)
    statistic, simulation = RATIOS[type(mechanism)], SIMULATIONS[type(mechanism)]
    noise = simulation(
        np.random.default_rng(0), noise_share * mechanism.noise_scale, (PILOT, mechanism.size)
    )
    scores, scores_other = (statistic(value + noise, first, second) for value in (first, second))
    # Laplace scores have an atom at either end, which rounding must not push across.
    slack = 1e-6 * np.abs(statistic(first[None], first, second)[0])
    candidates = np.quantile(scores, np.linspace(0.01, 0.99, 50)) - slack

    def simulated(threshold):
        shares = [float((s >= threshold).mean()) * draws for s in (scores, scores_other)]
        return [
            gain(Counts(shares[0], draws, shares[1], draws, error_rate))
            for error_rate in (ERROR_RATE, LAX)
        ]

    return Attack(mechanism, first, second, statistic, float(max(candidates, key=simulated)))


def class_difference_attack(estimator, pair):
    """Plan the event that the first and last class's rows differ as on D rather than on D'.

    Noise that is the same for every class cancels in the difference.
    """
    mechanism, first, second = values_of(estimator, *pair)
    n_classes = len(estimator.classes)
    shape = (-1, n_classes, mechanism.size // n_classes)

    def difference(outputs):
        rows = outputs.reshape(shape)
        return rows[:, 0] - rows[:, -1]

    def statistic(outputs, first, second):
        return l2_ratio(difference(outputs), difference(first), difference(second))

    return Attack(mechanism, first, second, statistic, 0.0)
