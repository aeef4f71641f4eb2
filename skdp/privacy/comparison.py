"""What different accountants say of the same noise."""

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, final

from skdp._validation import positive, positive_integer
from skdp.privacy.reproductions import (
    bun_steinke_epsilon,
    moments_accountant_epsilon,
    sampling_estimate_epsilon,
    strong_composition_epsilon,
)

if TYPE_CHECKING:
    from dp_accounting import DpEvent

__all__ = ["AccountantRow", "compare_accountants"]


@final
@dataclass(frozen=True)
class AccountantRow:
    """What one accountant says.

    Attributes
    ----------
    accountant : str
        Its name.
    batches : str
        "poisson" or "shuffled": what it is about.
    epsilon : float
        What it says.
    certified : bool
        Whether the library states it as a guarantee (zero-out), for these batches.
    """

    accountant: str
    batches: str
    epsilon: float
    certified: bool


def compare_accountants(
    rate: float, multiplier: float, epochs: int, delta: float
) -> tuple[AccountantRow, ...]:
    """Return what accountants say of DP-SGD with constant noise, for zero-out neighbours.

    An epoch makes 1 / q steps, rounded.

    Parameters
    ----------
    rate : float
        q, the share of the records in a batch, in (0, 1).
    multiplier : float
        sigma, standard deviation of the noise over the norm to which gradients are clipped.
    epochs : int
        Number of epochs.
    delta : float
        In (0, 1).

    Returns
    -------
    tuple of AccountantRow
        Guarantees first.

    References
    ----------
    Yu et al. (2019), Differentially private model publishing for deep learning, Figure 2, with
    exact accounts beside.

    Examples
    --------
    >>> rows = compare_accountants(0.01, 6.0, 100, 1e-5)
    >>> [(row.accountant, round(row.epsilon, 3)) for row in rows if row.certified]
    [('Poisson, exact (PLD)', 0.601), ('Poisson, Renyi', 0.659), ('shuffled, exact', 8.004)]
    """
    from skdp.privacy.accounting import epsilon_of
    from skdp.privacy.gaussian_curve import gaussian_epsilon

    positive(multiplier=multiplier)
    positive_integer(epochs=epochs)
    for name, value in {"rate": rate, "delta": delta}.items():
        if not 0 < value < 1:
            raise ValueError(f"{name} must be in (0, 1), got {value!r}.")
    n_steps = round(epochs / rate)
    rho = epochs / (2 * multiplier**2)
    run = _poisson(rate, multiplier, n_steps)
    said = (
        ("Poisson, exact (PLD)", "poisson", epsilon_of(run, delta), True),
        ("Poisson, Renyi", "poisson", _renyi_epsilon(run, delta), True),
        ("shuffled, exact", "shuffled", gaussian_epsilon(math.sqrt(2 * rho), delta), True),
        ("shuffled, zCDP (2016)", "shuffled", bun_steinke_epsilon(rho, delta), False),
        (
            "Poisson, zCDP estimate",
            "poisson",
            sampling_estimate_epsilon([(rate, multiplier, n_steps)], delta),
            False,
        ),
        (
            "Poisson, moments",
            "poisson",
            moments_accountant_epsilon(rate, multiplier, n_steps, delta),
            False,
        ),
        (
            "Poisson, strong comp.",
            "poisson",
            strong_composition_epsilon(rate, multiplier, n_steps, delta),
            False,
        ),
    )
    return tuple(AccountantRow(*row) for row in said)


def _poisson(rate: float, multiplier: float, n_steps: int) -> "DpEvent":
    from dp_accounting import dp_event

    from skdp.privacy.events import GaussianReleaseDpEvent

    step = GaussianReleaseDpEvent(1.0, "l2", "zero-out", multiplier)
    return dp_event.SelfComposedDpEvent(dp_event.PoissonSampledDpEvent(rate, step), n_steps)


def _renyi_epsilon(run: "DpEvent", delta: float) -> float:
    from skdp.privacy.composition import Parts
    from skdp.privacy.renyi import RenyiCurve

    divergences = Parts.of(run).renyi()
    return math.inf if divergences is None else RenyiCurve(divergences).epsilon_at(delta)
