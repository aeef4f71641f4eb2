"""Which coordinates of a gradient are released, and how a step's budget is split between both.

A step has one noise multiplier s, that of the Gaussian of equal rho = 1 / (2 s^2) under unit
sensitivity. A share of rho goes to the selection, the rest to the noise on what was selected.
"""

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import final

from scipy.optimize import brentq
from scipy.special import ndtri

from skdp._validation import is_real, positive, positive_integer
from skdp.mechanisms.exponential_selection import ExponentialTopK
from skdp.mechanisms.gaussian_selection import GaussianThreshold, GaussianTopK
from skdp.mechanisms.grid_gaussian import GridGaussianMechanism
from skdp.mechanisms.noisy_max import NoisyMaxTopK, PermuteAndFlip
from skdp.mechanisms.sparse_vector import SparseVectorTechnique
from skdp.mechanisms.sparse_vector_rules import OptimalThreshold
from skdp.privacy.budget import Sensitivity
from skdp.training.sampling import Sampler
from skdp.training.steps import DenseStep, RefinedStep, Step, SurvivorsStep, TopKStep

__all__ = [
    "AllCoordinates",
    "CoordinateSelector",
    "ExponentialSelector",
    "GaussianSelector",
    "NoisyMaxSelector",
    "PermuteAndFlipSelector",
    "SparseVectorSelector",
    "SurvivorSelector",
]

#: Sums of scores are taken on a grid this much finer than the noise or the clipping norm.
_FINENESS = 2.0**-24


@dataclass(frozen=True)
class CoordinateSelector(ABC):
    """Makes the step of a training run from its public facts."""

    @abstractmethod
    def step(self, sampler: Sampler, max_norm: float, size: int, multiplier: float) -> Step:
        """Return the step for gradients clipped to `max_norm`, of `size` coordinates."""

    @property
    def selects(self) -> bool:
        """Whether an update has fewer coordinates than the gradient."""
        return True


@final
@dataclass(frozen=True)
class AllCoordinates(CoordinateSelector):
    """No selection: noise on every coordinate.

    Examples
    --------
    >>> AllCoordinates().selects
    False
    """

    @property
    def selects(self) -> bool:
        return False

    def step(self, sampler: Sampler, max_norm: float, size: int, multiplier: float) -> Step:
        return DenseStep(max_norm, _noise(sampler, max_norm, size, multiplier))


@dataclass(frozen=True)
class _TopK(CoordinateSelector):
    """The `n_selected` largest coordinates, by a mechanism that a subclass names.

    Attributes
    ----------
    n_selected : int
        How many; all of them where there are fewer.
    share : float
        Share of rho that pays for the selection, in (0, 1).
    selected_norm : float or None
        Norm to which each record's gradient is clipped once more on what was selected, None for
        the norm of the whole gradient. A smaller one means less noise.
    """

    n_selected: int
    share: float = 0.5
    selected_norm: float | None = None

    def __post_init__(self) -> None:
        positive_integer(n_selected=self.n_selected)
        if not is_real(self.share) or not 0 < self.share < 1:
            raise ValueError(f"share must be between 0 and 1, got {self.share!r}.")
        if self.selected_norm is not None:
            positive(selected_norm=self.selected_norm)

    def _refined(
        self,
        selection: "ExponentialTopK | NoisyMaxTopK | PermuteAndFlip | SparseVectorTechnique",
        sampler: Sampler,
        max_norm: float,
        multiplier: float,
    ) -> Step:
        norm = max_norm if self.selected_norm is None else self.selected_norm
        k = min(self.n_selected, selection.size)
        noise = _noise(sampler, norm, k, multiplier / math.sqrt(1 - self.share))
        return RefinedStep(max_norm, selection, _power_of_two(max_norm * _FINENESS), norm, noise)

    def _rho(self, sampler: Sampler, multiplier: float) -> float:
        """What the selection may cost."""
        mu = sampler.sensitivity(1.0).value / multiplier
        return self.share * mu**2 / 2


@final
@dataclass(frozen=True)
class GaussianSelector(CoordinateSelector):
    """Gaussian noise on all coordinates, in law, and the largest are kept.

    Attributes
    ----------
    n_selected : int
        How many; the cost does not depend on it.
    share : float or None, default=None
        None: the noisy values are the update themselves, since they are paid for. Otherwise
        that share of rho pays for the selection and a second release gives the values.
    selected_norm : float or None, default=None
        As for the other selectors; needs a share.

    References
    ----------
    Balle and Wang (2018), Theorem 8; the choice is post-processing.

    Examples
    --------
    >>> GaussianSelector(100).selects
    True
    """

    n_selected: int
    share: float | None = None
    selected_norm: float | None = None

    def __post_init__(self) -> None:
        positive_integer(n_selected=self.n_selected)
        if self.share is not None and not 0 < self.share < 1:
            raise ValueError(f"share must be None or between 0 and 1, got {self.share!r}.")
        if self.selected_norm is not None:
            positive(selected_norm=self.selected_norm)
            if self.share is None:
                raise ValueError("selected_norm needs a second release, that is, a share.")

    def step(self, sampler: Sampler, max_norm: float, size: int, multiplier: float) -> Step:
        k, sensitivity = min(self.n_selected, size), sampler.sensitivity(max_norm)
        if self.share is None:
            return TopKStep(
                max_norm, GaussianTopK(sensitivity, size, k, noise_std=multiplier * max_norm)
            )
        std = multiplier / math.sqrt(self.share) * max_norm
        selection = GaussianTopK(sensitivity, size, k, noise_std=std)
        norm = max_norm if self.selected_norm is None else self.selected_norm
        noise = _noise(sampler, norm, k, multiplier / math.sqrt(1 - self.share))
        return RefinedStep(max_norm, selection, selection.grid, norm, noise)


@final
@dataclass(frozen=True)
class ExponentialSelector(_TopK):
    """The exponential mechanism, k times, by one draw of Gumbel noise.

    Examples
    --------
    >>> ExponentialSelector(8, share=0.3).n_selected
    8
    """

    def step(self, sampler: Sampler, max_norm: float, size: int, multiplier: float) -> Step:
        k, sensitivity = min(self.n_selected, size), sampler.sensitivity(max_norm)
        eta = math.sqrt(8 * self._rho(sampler, multiplier) / k)
        selection = ExponentialTopK(sensitivity, size, k, eta=eta)
        return self._refined(selection, sampler, max_norm, multiplier)


@final
@dataclass(frozen=True)
class NoisyMaxSelector(_TopK):
    """Report noisy max with Laplace noise, k times.

    Examples
    --------
    >>> NoisyMaxSelector(4).share
    0.5
    """

    def step(self, sampler: Sampler, max_norm: float, size: int, multiplier: float) -> Step:
        k, sensitivity = min(self.n_selected, size), sampler.sensitivity(max_norm)
        epsilon = _pure_epsilon(self._rho(sampler, multiplier) / k)
        selection = NoisyMaxTopK(sensitivity, size, k, epsilon=epsilon)
        return self._refined(selection, sampler, max_norm, multiplier)


@final
@dataclass(frozen=True)
class PermuteAndFlipSelector(_TopK):
    """Permute-and-flip: the best mechanism for a single coordinate.

    Examples
    --------
    >>> PermuteAndFlipSelector().n_selected
    1
    """

    n_selected: int = 1

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.n_selected != 1:
            raise ValueError(
                f"Permute-and-flip selects one coordinate, got n_selected={self.n_selected}."
            )

    def step(self, sampler: Sampler, max_norm: float, size: int, multiplier: float) -> Step:
        epsilon = _pure_epsilon(self._rho(sampler, multiplier))
        selection = PermuteAndFlip(sampler.sensitivity(max_norm), size, epsilon=epsilon)
        return self._refined(selection, sampler, max_norm, multiplier)


@final
@dataclass(frozen=True)
class SparseVectorSelector(_TopK):
    """The sparse vector technique: the first coordinates, in random order, above a threshold.

    Attributes
    ----------
    threshold : float or None, default=None
        In the units of the summed gradient. None takes the one that noise alone passes about
        half as often as coordinates may be selected.

    Examples
    --------
    >>> SparseVectorSelector(4).threshold is None
    True
    """

    threshold: float | None = None

    def step(self, sampler: Sampler, max_norm: float, size: int, multiplier: float) -> Step:
        k, sensitivity = min(self.n_selected, size), sampler.sensitivity(max_norm)
        epsilon = _pure_epsilon(self._rho(sampler, multiplier))
        threshold = self.threshold
        if threshold is None:
            threshold = _quiet_laplace(sensitivity, size, k, epsilon)
        selection = SparseVectorTechnique(
            sensitivity, size, k, epsilon=epsilon, threshold=threshold
        )
        return self._refined(selection, sampler, max_norm, multiplier)


@final
@dataclass(frozen=True)
class SurvivorSelector(_TopK):
    """DP-AdaFEST: coordinates touched by so many records of a batch that noise cannot explain it.

    Attributes
    ----------
    n_selected : int
        Expected number of coordinates that survive by noise alone; sets the threshold.
    map_norm : float, default=1.0
        Norm to which each record's 0/1 vector of touched coordinates is scaled down.

    References
    ----------
    Ghazi et al. (2023), Sparsity-preserving differentially private training of large embedding
    models, Algorithm 1.

    Examples
    --------
    >>> SurvivorSelector(10).map_norm
    1.0
    """

    map_norm: float = 1.0

    def step(self, sampler: Sampler, max_norm: float, size: int, multiplier: float) -> Step:
        std = multiplier / math.sqrt(self.share) * self.map_norm
        threshold = _quiet_gaussian(size, self.n_selected, std)
        selection = GaussianThreshold(
            sampler.sensitivity(self.map_norm), size, noise_std=std, threshold=threshold
        )
        norm = max_norm if self.selected_norm is None else self.selected_norm
        noise = _noise(sampler, norm, size, multiplier / math.sqrt(1 - self.share))
        return SurvivorsStep(self.map_norm, selection, norm, noise)


def _noise(
    sampler: Sampler, max_norm: float, size: int, multiplier: float
) -> GridGaussianMechanism:
    sensitivity: Sensitivity = sampler.sensitivity(max_norm)
    return GridGaussianMechanism(sensitivity, size, noise_std=multiplier * max_norm)


def _quiet_laplace(sensitivity: Sensitivity, size: int, k: int, epsilon: float) -> float:
    """Return the threshold that the noise of k / 2 coordinates is expected to pass."""
    scale = OptimalThreshold(sensitivity.value, k, epsilon, 0.0).query_scale
    return max(0.0, scale * math.log(size / k))


def _quiet_gaussian(size: int, k: int, std: float) -> float:
    """Return the threshold that the noise of k coordinates is expected to pass."""
    return float(max(0.0, -ndtri(min(k / size, 0.5))) * std)


def _power_of_two(value: float) -> float:
    return 2.0 ** math.floor(math.log2(value))


def _pure_epsilon(rho: float) -> float:
    """Solve epsilon tanh(epsilon / 2) = rho, the cost of a pure release."""
    top = rho + 2 * math.sqrt(rho) + 1
    return float(brentq(lambda epsilon: epsilon * math.tanh(epsilon / 2) - rho, 0.0, top))
