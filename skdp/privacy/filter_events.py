"""What an adaptive run costs when a filter has stopped it in time."""

from typing import Any

import attr
from dp_accounting import DpEvent

from skdp.privacy.budget import Neighbours
from skdp.privacy.event_fields import positive_field, probability_field
from skdp.privacy.renyi import ORDERS

__all__ = ["RenyiBoundDpEvent"]


def _known_order(_: Any, __: Any, value: int) -> None:
    if value not in ORDERS:
        raise ValueError(f"order must be one of the orders that are computed, got {value!r}.")


@attr.s(frozen=True, slots=True, auto_attribs=True)
class RenyiBoundDpEvent(DpEvent):  # type: ignore[misc]
    """Releases whose Renyi divergence of one order is bounded, whatever was released.

    The order and the bound are fixed before the first release. Of other orders nothing is known
    but that divergences grow with the order (van Erven and Harremoes, 2014, Theorem 3).

    Attributes
    ----------
    order : int
        A whole number of at least 2 at which divergences are computed.
    divergence : float
        Bound on both divergences of that order.
    neighbours : Neighbours or str
        The relation under which it holds.
    delta : float, default=0.0
        What finite precision adds to delta at every epsilon.

    Examples
    --------
    >>> from skdp.privacy.accounting import epsilon_of
    >>> round(epsilon_of(RenyiBoundDpEvent(16, 0.5, "zero-out"), 1e-5), 3)
    1.018
    """

    order: int = attr.ib(validator=_known_order)
    divergence: float = attr.ib(validator=positive_field)
    neighbours: Neighbours = attr.ib(converter=Neighbours)
    delta: float = attr.ib(default=0.0, validator=probability_field)
