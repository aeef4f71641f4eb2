"""What an event costs: epsilon, delta and rho.

The exact curve where there is one (Gaussians alone, one pure release); else the least of all that
is proved at the point that is asked for: privacy losses convolved on a grid, Renyi divergences at
whole orders, the sum of pure guarantees; dp_accounting's Renyi accountant where nothing else has a
bound. All of them are of the complete event. Releases from one sample are composed first, then
subsampled once: to amplify them one by one would pretend that each saw a sample of its own.

Everything here prices *one* event whose parts were fixed before the first output. It is no
filter: releases chosen after seeing earlier ones are counted by a ledger.
"""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import final

from dp_accounting import DpEvent

from skdp.privacy.composition import ROUGH, Bound, Parts
from skdp.privacy.events import precision_delta_of

__all__ = ["EventCurve", "delta_of", "epsilon_of", "rho_of", "rough_epsilon_of"]


def delta_of(event: DpEvent, epsilon: float) -> float:
    """Return the least delta proved for an event at `epsilon`.

    Parameters
    ----------
    event : DpEvent
        Ours, dp_accounting's, or a composition; its parts fixed before its first output.
    epsilon : float
        At least 0; may be infinite.

    Returns
    -------
    float
        In [0, 1], finite precision included.

    Raises
    ------
    UnsupportedEventError
        If no accountant has a sound bound for the event.

    Examples
    --------
    >>> from skdp.privacy.events import GaussianReleaseDpEvent
    >>> event = GaussianReleaseDpEvent(1.0, "l2", "replace-one", 4.2247)
    >>> delta_of(event, 1.0) <= 1e-6
    True
    """
    return EventCurve(event).delta_at(epsilon)


def epsilon_of(event: DpEvent, delta: float) -> float:
    """Return the least epsilon proved for an event at `delta`.

    Parameters
    ----------
    event : DpEvent
        As for `delta_of`.
    delta : float
        In [0, 1]. What finite precision costs is taken off first.

    Returns
    -------
    float
        At least 0; infinite where there is no bound.

    Raises
    ------
    UnsupportedEventError
        If no accountant has a sound bound for the event.

    Examples
    --------
    >>> from skdp.privacy.events import PureReleaseDpEvent
    >>> from dp_accounting import dp_event
    >>> fit = PureReleaseDpEvent(0.5, 0.0, 1.0, "l2", "replace-one", 2.0)
    >>> round(epsilon_of(dp_event.SelfComposedDpEvent(fit, 20), 1e-6), 3)
    9.987
    """
    return EventCurve(event).epsilon_at(delta)


def rho_of(event: DpEvent) -> float:
    """Return the rho of zero-concentrated DP: D_a(P || Q) <= rho a for every order a > 1.

    Gaussian: mu^2 / 2. Pure: see `pure_rho` in `pure_curve`. Bounded range: epsilon^2 / 8 a pick.
    Parts add up; a sample has the rho of what is done to it, since sampling amplifies some orders
    only. Where the event has a finite-precision delta, the claim is delta-approximate zCDP with
    that delta.

    Raises
    ------
    UnsupportedEventError
        If a part of the event has no known rho.

    References
    ----------
    Bun and Steinke (2016), Concentrated differential privacy, Propositions 6 and 8.

    Examples
    --------
    >>> from skdp.privacy.events import GaussianReleaseDpEvent
    >>> round(rho_of(GaussianReleaseDpEvent(1.0, "l2", "replace-one", 2.0)), 9)
    0.125
    """
    return Parts.of(event).rho


def rough_epsilon_of(event: DpEvent, delta: float) -> float:
    """Return `epsilon_of` to two digits or more in a fraction of the time, for a first search.

    Examples
    --------
    >>> from dp_accounting import dp_event
    >>> step = dp_event.PoissonSampledDpEvent(0.01, dp_event.GaussianDpEvent(1.0))
    >>> round(rough_epsilon_of(dp_event.SelfComposedDpEvent(step, 1000), 1e-5), 1)
    1.8
    """
    return EventCurve(event)._least_epsilon(delta, ROUGH)


@final
@dataclass(frozen=True)
class EventCurve:
    """The privacy curve of an event; the convolution is done once for all its points.

    Attributes
    ----------
    event : DpEvent
        As for `delta_of`.

    Examples
    --------
    >>> from skdp.privacy.events import PureReleaseDpEvent
    >>> curve = EventCurve(PureReleaseDpEvent(1.0, 0.0, 1.0, "l1", "zero-out", 1.0))
    >>> round(curve.delta_at(0.5), 3), round(curve.epsilon_at(0.1), 3)
    (0.288, 0.853)
    """

    event: DpEvent

    def __reduce__(self) -> tuple[type["EventCurve"], tuple[DpEvent]]:
        return EventCurve, (self.event,)

    def delta_at(self, epsilon: float) -> float:
        """Least delta proved at `epsilon`; see `delta_of`."""
        if math.isnan(epsilon) or epsilon < 0:
            raise ValueError(f"epsilon must be at least 0, got {epsilon!r}.")
        least = min(bound.delta_at(epsilon) for bound in self._bounds(1))
        return min(1.0, least + self._precision)

    def epsilon_at(self, delta: float) -> float:
        """Least epsilon proved at `delta`; see `epsilon_of`."""
        return self._least_epsilon(delta, 1)

    def _least_epsilon(self, delta: float, coarseness: int) -> float:
        if not 0 <= delta <= 1:
            raise ValueError(f"delta must be in [0, 1], got {delta!r}.")
        left = delta - self._precision
        if left < 0:
            return math.inf
        return min(bound.epsilon_at(left) for bound in self._bounds(coarseness))

    @cached_property
    def _precision(self) -> float:
        return precision_delta_of(self.event)

    @cached_property
    def _parts(self) -> Parts:
        return Parts.of(self.event)

    def _bounds(self, coarseness: int) -> tuple[Bound, ...]:
        return self._parts.bounds(coarseness)
