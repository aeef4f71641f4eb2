"""What an event costs: epsilon, delta and rho.

In order: the exact curve where there is one (Gaussians alone, one pure release), dp_accounting's
privacy loss distributions, dp_accounting's Renyi accountant. Everything here prices *one* event
whose parts were fixed before the first output. It is no filter: releases chosen after seeing
earlier ones are counted by a ledger.
"""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import final

from dp_accounting import DpEvent, PrivacyAccountant, dp_event

from skdp.exceptions import UnsupportedEventError
from skdp.privacy.composition import Parts
from skdp.privacy.events import accountant_event, precision_delta_of

__all__ = ["EventCurve", "delta_of", "epsilon_of", "rho_of"]

# Convolution by FFT was seen to lose up to 1e-13 of delta, on the wrong side.
_CONVOLUTION_ERROR = 1e-12


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
    >>> fit = PureReleaseDpEvent(0.5, 0.0, 1.0, "l2", "replace-one", 2.0)
    >>> round(epsilon_of(dp_event.SelfComposedDpEvent(fit, 20), 1e-6), 3)
    9.987
    """
    return EventCurve(event).epsilon_at(delta)


def rho_of(event: DpEvent) -> float:
    """Return the rho of zero-concentrated DP: D_a(P || Q) <= rho a for every order a > 1.

    Gaussian: mu^2 / 2. Pure: see `pure_rho` in `pure_curve`. Parts add up. Where the event has a
    finite-precision delta, the claim is delta-approximate zCDP with that delta.

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
    parts = Parts.of(accountant_event(event))
    others = [_zcdp_rho(part) * count for part, count in parts.others]
    return math.fsum([parts.rho, *others])


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
        return min(1.0, self._distribution_delta(epsilon) + self._precision)

    def epsilon_at(self, delta: float) -> float:
        """Least epsilon proved at `delta`; see `epsilon_of`."""
        if not 0 <= delta <= 1:
            raise ValueError(f"delta must be in [0, 1], got {delta!r}.")
        left = delta - self._precision
        return math.inf if left < 0 else self._distribution_epsilon(left)

    @cached_property
    def _precision(self) -> float:
        return precision_delta_of(self.event)

    @cached_property
    def _parts(self) -> "Parts":
        return Parts.of(accountant_event(self.event))

    @cached_property
    def _accountant(self) -> PrivacyAccountant:
        return self._parts.accountant()

    def _distribution_delta(self, epsilon: float) -> float:
        exact = self._parts.exact_delta(epsilon)
        if exact is not None:
            return exact
        added = self._parts.added_delta(epsilon)
        convolved = float(self._accountant.get_delta(epsilon))
        return min(added, max(convolved, 0.0) + _CONVOLUTION_ERROR)

    def _distribution_epsilon(self, delta: float) -> float:
        exact = self._parts.exact_epsilon(delta)
        if exact is not None:
            return exact
        added = self._parts.added_epsilon(delta)
        if delta <= _CONVOLUTION_ERROR:
            return added
        return min(added, float(self._accountant.get_epsilon(delta - _CONVOLUTION_ERROR)))


def _zcdp_rho(event: DpEvent) -> float:
    match event:
        case dp_event.ZCDpEvent(xi=0):
            return float(event.rho)
    raise UnsupportedEventError(f"No rho is known for {type(event).__name__}.")
