"""Which mechanism picks the k best features: the names of the ``mechanism`` parameter."""

import functools
import math
from collections.abc import Callable, Mapping
from contextlib import suppress
from types import MappingProxyType

from scipy.special import ndtri

from skdp.feature_selection.scores import FeatureScore
from skdp.mechanisms import ExponentialTopK, GaussianTopK
from skdp.mechanisms.additive import EPSILON_CAP
from skdp.privacy import Neighbours, PrivacyBudget, Sensitivity

TopK = ExponentialTopK | GaussianTopK
TopKRule = Callable[[FeatureScore, int, PrivacyBudget], TopK]


def exponential(score: FeatureScore, k: int, budget: PrivacyBudget) -> ExponentialTopK:
    """Gumbel noise on each score; of the L2 and the Linf bound the one that needs less of it."""
    eta = _eta(score.n_features, k, _capped(budget))
    bounds = (score.sensitivity("linf"), score.sensitivity("l2"))
    made = [ExponentialTopK(bound, score.n_features, k, eta=eta) for bound in bounds]
    return min(made, key=lambda mechanism: mechanism.noise_scale)


def _capped(budget: PrivacyBudget) -> PrivacyBudget:
    return PrivacyBudget(min(budget.epsilon, EPSILON_CAP), budget.delta)


@functools.lru_cache(maxsize=256)  # public facts in, public facts out
def _eta(size: int, k: int, budget: PrivacyBudget) -> float:
    """Return the longest range of one pick of which k keep the budget."""
    from dp_accounting import DpEvent

    from skdp.privacy.calibration import calibrate

    def event(noise: float) -> DpEvent:
        unit = Sensitivity(1.0, "linf", Neighbours.REPLACE_ONE)
        return ExponentialTopK(unit, size, k, eta=1 / noise).event

    pure = budget.epsilon / k
    if budget.delta > 0:
        return 1 / calibrate(event, budget, bracket=(0.1 / pure, 1 / pure))
    # What finite precision adds to the range of a pick depends on k alone.
    eta = pure - 2 * (float(event(1 / pure).epsilon) - pure)
    if eta <= 0:
        raise ValueError(f"epsilon is too small for {k} picks in double precision. Raise it.")
    return eta


def gaussian(score: FeatureScore, k: int, budget: PrivacyBudget) -> GaussianTopK:
    """Gaussian noise on each score, at a cost that does not depend on k; needs delta > 0."""
    if budget.delta == 0:
        raise ValueError(
            "Gaussian noise gives no guarantee with delta=0. Set delta, to 1e-6 say, or "
            "mechanism='exponential'."
        )
    return _gaussian(score.sensitivity("l2"), score.n_features, k, _capped(budget))


@functools.lru_cache(maxsize=256)
def _gaussian(exact: Sensitivity, size: int, k: int, budget: PrivacyBudget) -> GaussianTopK:
    """Return the mechanism of least noise for scores that move by `exact` before rounding."""
    from dp_accounting import DpEvent

    from skdp.privacy.calibration import calibrate

    def mechanism(noise: float) -> GaussianTopK:
        noise_std = noise * exact.value
        grid = GaussianTopK(exact, size, k, noise_std=noise_std).grid
        # Each score is rounded to the grid, by half of it, with either data set.
        moved = exact.value + math.sqrt(size) * grid * (1 + 2.0**-20)
        bound = Sensitivity(moved, "l2", exact.neighbours)
        return GaussianTopK(bound, size, k, noise_std=noise_std)

    def event(noise: float) -> DpEvent:
        return mechanism(noise).event

    return mechanism(calibrate(event, budget, bracket=(0.1, 1.0)))


def least_noise(score: FeatureScore, k: int, budget: PrivacyBudget) -> TopK:
    """Return the mechanism whose noise hides less, by `noise_floor`; public facts alone."""
    candidates: list[TopK] = [exponential(score, k, budget)]
    with suppress(ValueError):
        candidates.append(gaussian(score, k, budget))
    return min(candidates, key=noise_floor)


def noise_floor(mechanism: TopK) -> float:
    """Return about the k-th largest of the noises alone, in the units of the scores."""
    share = mechanism.n_selected / mechanism.size
    if isinstance(mechanism, GaussianTopK):
        return float(0.0 - ndtri(share / 2)) * mechanism.noise_std
    return math.log(1 / share) * mechanism.noise_scale


MECHANISMS: Mapping[str, TopKRule] = MappingProxyType(
    {"auto": least_noise, "exponential": exponential, "gaussian": gaussian}
)
