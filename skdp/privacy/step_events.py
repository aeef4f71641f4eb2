"""What a step does beside adding noise: it selects coordinates."""

from enum import Enum

import attr
from dp_accounting import DpEvent

from skdp.privacy.budget import Neighbours
from skdp.privacy.event_fields import positive_field, probability_field, whole_field

__all__ = ["SelectionDpEvent", "SelectionKind"]


class SelectionKind(Enum):
    """What is known of one pick.

    Attributes
    ----------
    BOUNDED_RANGE
        For each ordered pair of neighbours all losses lie in an interval of length epsilon. The
        exponential mechanism, and Gumbel noise added once to all scores of which the k largest
        are reported in order: exactly k picks by peeling (Durfee and Rogers, 2019).
    PURE
        The pick is epsilon-DP and nothing more is proved: noisy maximum with Laplace noise,
        permute-and-flip, a whole sparse vector of total epsilon (as one pick).
    """

    BOUNDED_RANGE = "bounded-range"
    PURE = "pure"


@attr.s(frozen=True, slots=True, auto_attribs=True)
class SelectionDpEvent(DpEvent):  # type: ignore[misc]
    """Some picks of coordinates from one sample, one after the other, each seeing the last.

    Bounded-range picks are priced by the greatest privacy curve that any adaptive sequence of
    them can reach together with what follows them in the same composition (Dong, Durfee and
    Rogers, 2020, for picks alone), and by their Renyi divergence, at most a epsilon^2 / 8 at
    order a (Cesar and Rogers, 2021). Pure picks have the pair of randomised response (Kairouz,
    Oh and Viswanath, 2015). A selection and the noise of the same step see the same sample: they
    are composed first, in the order in which they are listed, and subsampled once.

    Attributes
    ----------
    picks : int
        Number of coordinates, at least 1.
    kind : SelectionKind or str
        "bounded-range" or "pure".
    epsilon : float
        Of one pick: the length of its range (eta), or its epsilon.
    neighbours : Neighbours or str
        The relation under which it holds.
    delta : float, default=0.0
        What finite precision adds to delta at every epsilon, over all picks.

    Examples
    --------
    >>> from skdp.privacy.accounting import epsilon_of
    >>> picks = SelectionDpEvent(20, "bounded-range", 0.1, "zero-out")
    >>> round(epsilon_of(picks, 1e-5), 3)
    0.818
    """

    picks: int = attr.ib(validator=whole_field)
    kind: SelectionKind = attr.ib(converter=SelectionKind)
    epsilon: float = attr.ib(validator=positive_field)
    neighbours: Neighbours = attr.ib(converter=Neighbours)
    delta: float = attr.ib(default=0.0, validator=probability_field)
