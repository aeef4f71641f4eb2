"""What "auto" means: settings of a run from public facts alone.

Found by trying settings on public data sets (benchmarks/README.md says which); what follows is
arithmetic on n, epsilon and delta. The noise of the mean gradient over a whole run has standard
deviation tau = sigma C / (b sqrt(T)), about C / (n mu) for the mu of the budget. The product
travel = learning rate times T is what accuracy depends on, and it should fall as tau rises;
T itself hardly matters, so it is the least with which single steps stay stable: for rows of norm 1
with a constant column, gradient descent is so up to the reciprocal of the loss's smoothness.

A selection has to tell informative coordinates from noise in each step anew, so it wants few steps
on many records: as many as let a coordinate of 0.004 of the mean gradient pass the largest noise of
the others, n mu > sqrt(T) sqrt(2 log(size / k)) / 0.004, and ten at least.
"""

import math
from dataclasses import dataclass
from typing import final

from skdp.privacy.gaussian_curve import gaussian_mu

__all__ = ["PublicFacts", "run_mu"]

_TRAVEL, _EXPONENT, _LONGEST_TRAVEL = 2.0, -0.8, 4000.0
_FEWEST_STEPS, _MOST_STEPS = 50, 1000
_SELECTING_STEPS, _DETECTED = 10, 0.004
#: Mechanisms whose noise grows with the number of coordinates can tell a few at best.
_MOST_PICKS = 20
#: Without amplification large batches are better, and many steps buy nothing.
_SHUFFLED_BATCHES, _MOST_SHUFFLED_STEPS = 4, 200
#: Batches are so large that the noise multiplier is about 2: then sampling costs 7 % of noise.
_RATE_PER_MU = 1.9
_LARGEST_EPSILON = 40.0


@final
@dataclass(frozen=True)
class PublicFacts:
    """What is known before the data is looked at.

    Attributes
    ----------
    n_records : int
        Number of records, as far as it is public.
    size : int
        Number of parameters.
    epsilon, delta : float
        The budget.
    n_runs : int
        Number of runs that share the budget.
    max_grad_norm : float
        Norm to which gradients are clipped.
    smoothness : float
        Bound on the second derivative of the loss with respect to the scores.
    selects : bool, default=False
        Whether each step selects coordinates.
    noise_grows : bool, default=False
        Whether the noise of the selection grows with their number.
    amplified : bool, default=True
        Whether chance hides which step saw a record; shuffled batches do not.
    scores_have_units : bool, default=False
        Whether scores are in the units of a label. Then a clip that is lowered to the size of
        residuals also lowers the noise; otherwise the learning rate makes up for it.

    Examples
    --------
    >>> facts = PublicFacts(10_000, 50, 1.0, 1e-6, 1, 1.0, smoothness=0.25)
    >>> facts.n_steps(), round(facts.sampling_rate(), 3)
    (251, 0.028)
    """

    n_records: int
    size: int
    epsilon: float
    delta: float
    n_runs: int
    max_grad_norm: float
    smoothness: float
    selects: bool = False
    noise_grows: bool = False
    amplified: bool = True
    scores_have_units: bool = False

    def n_steps(self) -> int:
        """Number of steps of a run."""
        if self.noise_grows:
            return _SELECTING_STEPS
        most = _MOST_STEPS if self.amplified else _MOST_SHUFFLED_STEPS
        travel = self._travel(1 / (self.n_records * self._mu))
        steps = math.ceil(travel / self._longest_step)
        dense = min(max(steps, _FEWEST_STEPS), most)
        return min(max(self._detecting_steps(), _SELECTING_STEPS), dense) if self.selects else dense

    def sampling_rate(self) -> float:
        """Expected share of the records that takes part in a step."""
        if not self.amplified:
            return 1.0 if self.selects else 1 / _SHUFFLED_BATCHES
        steps = self.n_steps()
        least = _SELECTING_STEPS if self.selects else 5
        return min(1.0, max(_RATE_PER_MU * self._mu / math.sqrt(steps), least / steps))

    def batch_size(self, n_epochs: float | None = None) -> int:
        """Expected batch size; for so many epochs, where they are given."""
        rate = self.sampling_rate() if n_epochs is None else min(1.0, n_epochs / self.n_steps())
        return max(1, round(rate * self.n_records))

    def learning_rate(self, noise_multiplier: float, batch_size: float, n_steps: int) -> float:
        """Step size for the mean gradient."""
        noise = noise_multiplier / (batch_size * math.sqrt(n_steps))
        rate = min(self._travel(noise) / n_steps, self._longest_step)
        return rate if self.scores_have_units else rate / self.max_grad_norm

    def n_selected(self) -> int:
        """Number of coordinates of an update, where some are selected."""
        root = min(self.size, math.ceil(math.sqrt(self.size)))
        return min(root, _MOST_PICKS) if self.noise_grows else root

    def selection_share(self) -> float:
        """Share of a step's budget that pays for the selection."""
        return 0.7

    def _detecting_steps(self) -> int:
        height = math.sqrt(2 * math.log(max(2.0, self.size / self.n_selected())))
        return math.floor((_DETECTED * self.n_records * self._mu / height) ** 2)

    @property
    def _longest_step(self) -> float:
        return 1 / self.smoothness

    @property
    def _mu(self) -> float:
        """Of the Gaussian release that one run may be as telling as."""
        return run_mu(self.epsilon, self.delta, self.n_runs)

    def _travel(self, noise: float) -> float:
        return min(float(_TRAVEL * noise**_EXPONENT), _LONGEST_TRAVEL)


def run_mu(epsilon: float, delta: float, n_runs: int) -> float:
    """Return the mu of the Gaussian release that each of some runs may be as telling as."""
    return gaussian_mu(min(epsilon, _LARGEST_EPSILON), delta) / math.sqrt(n_runs)
