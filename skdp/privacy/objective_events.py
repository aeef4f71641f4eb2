"""The minimiser of an objective that was tilted by noise, as an event."""

from typing import Any

import attr
from dp_accounting import DpEvent

from skdp._validation import is_real
from skdp.privacy.budget import Neighbours
from skdp.privacy.event_fields import positive_field, probability_field, whole_field
from skdp.privacy.objective_curve import ObjectiveCurve

__all__ = ["ObjectivePerturbationDpEvent"]


def _finite_field(_: Any, attribute: Any, value: float) -> None:
    if not is_real(value) or not 0 <= value < float("inf"):
        raise ValueError(f"{attribute.name} must be a finite number of at least 0, got {value!r}.")


@attr.s(frozen=True, slots=True, auto_attribs=True)
class ObjectivePerturbationDpEvent(DpEvent):  # type: ignore[misc]
    """A minimiser of ``F(w) + <b, w>``, b Gaussian, itself released with a little Gaussian noise.

    Attributes
    ----------
    sensitivity : float
        How far one unit moves the summed gradient at any w, in the L2 norm.
    neighbours : Neighbours or str
        The relation under which it holds.
    noise_std : float
        Standard deviation of b on one coordinate.
    branches : int
        Vertices, besides 0, of the set of derivatives of one record.
    log_determinant : float
        Bound on the logarithm of the ratio of the two Jacobians.
    second_mu : float
        Sensitivity over standard deviation of the noise on the minimiser.
    delta : float, default=0.0
        What finite precision adds to delta at every epsilon.

    Examples
    --------
    >>> from skdp.privacy.accounting import epsilon_of
    >>> event = ObjectivePerturbationDpEvent(2.0, "replace-one", 10.0, 1, 0.1, 0.001)
    >>> round(epsilon_of(event, 1e-6), 3)
    0.936
    """

    sensitivity: float = attr.ib(validator=positive_field)
    neighbours: Neighbours = attr.ib(converter=Neighbours)
    noise_std: float = attr.ib(validator=positive_field)
    branches: int = attr.ib(validator=whole_field)
    log_determinant: float = attr.ib(validator=_finite_field)
    second_mu: float = attr.ib(validator=_finite_field)
    delta: float = attr.ib(default=0.0, validator=probability_field)

    @property
    def curve(self) -> ObjectiveCurve:
        """The privacy curve, without the delta of finite precision."""
        mu = self.sensitivity / self.noise_std * (1 + 2.0**-50)
        return ObjectiveCurve(mu, int(self.branches), self.log_determinant, self.second_mu)
