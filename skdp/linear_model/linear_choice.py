"""Which mechanism a private linear model is fitted by: a rule of public facts alone.

With n rows, d columns, and mu the Gaussian that a budget allows (Dong, Roth and Su 2022), a mean
over all rows is known to 1 / (n mu) of what a row may add to it. Everything here is in terms of
that *signal*, n mu.

* In d dimensions noise on a mean gradient has length sqrt(d) / (n mu), its signal at most about a
  half. Below ``2 sqrt(d)`` the direction of the first step is noise; a regression, where a wrong
  direction costs more than a right one brings, needs three times as much.
* The second moment of d columns has noise of d^1/2 / (n mu) in its largest eigenvalue and rows in
  units of their spread have eigenvalues of 1/d, so from ``d^1.5`` on it is known, and descent in
  its coordinates needs few steps (`skdp.training.descent`). From 300 times that on a regression is
  solved from moments alone: noise no longer matters, and one pass over the rows is enough.
"""

import math
from dataclasses import dataclass
from typing import final

from skdp.training.descent import FARTHEST, DescentFacts

__all__ = ["LinearChoice", "LinearFacts"]

_LEARNABLE, _LEARNABLE_LABELS, _FEWEST_LABELS = 2.0, 6.0, 18.0
_MOMENTS = 300.0
#: Sparse rows of more columns get noise where it is read.
_LAZY_COLUMNS = 2**16
#: Sparse rows of up to so many columns are treated as dense ones: then they can be centred.
DENSE_COLUMNS = 512


@final
@dataclass(frozen=True)
class LinearChoice:
    """What was chosen before the data was looked at.

    Attributes
    ----------
    mechanism : str
        "descent", "ridge", "sparse_dpsgd" or "baseline".
    reason : str
        Why, in a sentence.
    signal : float
        n mu.
    settings : tuple of (str, float or bool)
        What follows for the descent; empty for other mechanisms.
    """

    mechanism: str
    reason: str
    signal: float
    settings: tuple[tuple[str, float | bool], ...] = ()

    def __str__(self) -> str:
        told = [f"{self.mechanism}: {self.reason}"]
        told += [f"  {name}: {_worded(value)}" for name, value in self.settings]
        return "\n".join(told)


@final
@dataclass(frozen=True)
class LinearFacts:
    """Public facts of a linear model to be fitted.

    Attributes
    ----------
    descent : DescentFacts
        Of the data, the budget and the loss.
    mechanism : str
        "auto", or what the user asked for.

    Examples
    --------
    >>> from skdp.privacy import Neighbours
    >>> facts = DescentFacts(20, 5, 1, 0.1, 1e-6, Neighbours.ZERO_OUT, 0.25, False, False)
    >>> LinearFacts(facts, "auto").choice.mechanism
    'baseline'
    """

    descent: DescentFacts
    mechanism: str

    @property
    def least_signal(self) -> float:
        """Signal below which nothing can be learnt."""
        root = math.sqrt(self.descent.n_features)
        if self.descent.has_labels:
            return max(_LEARNABLE_LABELS * root, _FEWEST_LABELS)
        return _LEARNABLE * root

    @property
    def choice(self) -> LinearChoice:
        """What the rule says."""
        chosen, reason = self._chosen
        signal = self.descent.signal
        if chosen != "descent":
            return LinearChoice(chosen, reason, signal)
        facts = self.descent
        settings = (
            ("whitened", facts.whitens),
            ("n_steps", facts.n_steps),
            ("sampling_rate", facts.sampling_rate),
            ("learning_rate", facts.learning_rate),
            ("max_grad_norm", facts.clip),
            *((("farther_if_uneven", FARTHEST),) if facts.balances else ()),
        )
        return LinearChoice(chosen, reason, signal, settings)

    @property
    def _chosen(self) -> tuple[str, str]:
        facts, signal = self.descent, self.descent.signal
        if self.mechanism != "auto":
            return self.mechanism, "it was asked for."
        told = f"n mu = {signal:.3g} for {facts.n_features} columns"
        if signal < self.least_signal:
            return "baseline", f"{told} is below {self.least_signal:.3g}, too little to learn from."
        if facts.is_sparse and facts.n_features > _LAZY_COLUMNS:
            return "sparse_dpsgd", f"{told}, sparse: noise is drawn where it is read."
        if facts.has_labels and not facts.is_sparse and self._moments_suffice:
            return "ridge", f"{told} makes the noise of moments negligible."
        return "descent", f"{told} is enough, and it was best wherever it was measured."

    @property
    def _moments_suffice(self) -> bool:
        return self.descent.signal > _MOMENTS * math.sqrt(self.descent.n_features) ** 3


def _worded(value: float | bool) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:.4g}"
