"""Lower bounds on epsilon and delta from counts, valid with a stated probability.

An event is chosen first; then it happens k times in n releases on D and k' times in n' on D'.
Clopper and Pearson (1934): with probability 1 - a, p >= B(a; k, n - k + 1), the a-quantile of a
beta law, and likewise above. Both bounds together fail with probability `error_rate` at most.
"""

import math
from dataclasses import dataclass

from scipy.special import betaincinv


def at_least(hits, trials, error_rate):
    """Lower confidence bound on the probability of an event seen `hits` times."""
    if hits == 0:
        return 0.0
    return float(betaincinv(hits, trials - hits + 1, error_rate))


def at_most(hits, trials, error_rate):
    """Upper confidence bound on the probability of an event seen `hits` times."""
    return 1.0 - at_least(trials - hits, trials, error_rate)


@dataclass(frozen=True)
class Counts:
    """How often an event happened on D, where it is likelier, and on D'.

    Every method holds for the true value with probability 1 - `error_rate` at least, also both
    together, since they rest on the same two confidence bounds.
    """

    hits: int
    trials: int
    hits_other: int
    trials_other: int
    error_rate: float

    @property
    def probability(self):
        """Lower bound on the probability on D."""
        return at_least(self.hits, self.trials, self.error_rate / 2)

    @property
    def other_probability(self):
        """Upper bound on the probability on D'."""
        return at_most(self.hits_other, self.trials_other, self.error_rate / 2)

    def epsilon(self, delta=0.0):
        """Every (epsilon, delta)-guarantee has at least this epsilon; 0 if nothing is shown.

        From P(S) <= e^epsilon P'(S) + delta for the event and, the other way round, for its
        complement.
        """
        likely, unlikely = self.probability, self.other_probability
        return max(
            0.0,
            _log_ratio(likely - delta, unlikely),
            _log_ratio(1 - unlikely - delta, 1 - likely),
        )

    def delta(self, epsilon):
        """Every (epsilon, delta)-guarantee has at least this delta; 0 if nothing is shown."""
        likely, unlikely, factor = self.probability, self.other_probability, math.exp(epsilon)
        return max(0.0, likely - factor * unlikely, 1 - unlikely - factor * (1 - likely))


def _log_ratio(numerator, denominator):
    if numerator <= 0:
        return -math.inf
    return math.log(numerator / denominator) if denominator > 0 else math.inf
