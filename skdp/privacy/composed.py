"""What several fits promise together, when which fits there are was fixed beforehand."""

import math
from collections.abc import Iterable
from typing import Any

from skdp.privacy.budget import PrivacyBudget
from skdp.privacy.statement import SEEDED_NOISE, PrivacyStatement

__all__ = ["composed_statement"]

FIXED_BEFOREHAND = (
    "Which fits there are, in which order and with which parameters, was fixed before the first of "
    "them was run."
)


def composed_statement(
    statements: Iterable[PrivacyStatement], *, delta: float | None = None
) -> PrivacyStatement:
    """State what several releases from the same rows promise together.

    Parameters
    ----------
    statements : iterable of PrivacyStatement
        One for each release, all of one neighbouring relation and unit.
    delta : float or None, default=None
        The delta to state; None takes the sum of theirs.

    Returns
    -------
    PrivacyStatement
        With the least epsilon that is proved at this delta.

    Raises
    ------
    ValueError
        If there is no statement, relations or units differ, or no epsilon is proved at `delta`.
    UnsupportedEventError
        If no accountant has a sound bound for the releases together.

    Notes
    -----
    *Guarantees.* Privacy loss distributions compose over releases that each may depend on the
    outputs of the earlier ones, as long as the pair of distributions that bounds each was fixed in
    advance (Zhu, Dong and Wang 2022, on adaptive composition of dominating pairs).
    The fits of a pipeline are such a sequence: their noise follows from parameters and public
    shapes. A fit that was decided on, or whose budget was chosen, after seeing an earlier outcome
    is not, and there only the sums of a :class:`~skdp.privacy.InMemoryLedger` hold.

    The rows of a later fit may be computed from those of an earlier one row by row, by means of
    what was released: neighbours then stay neighbours.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp.decomposition import PrivatePCA
    >>> from skdp.privacy import composed_statement
    >>> X = np.eye(20, 4)
    >>> fits = [PrivatePCA(2, epsilon=1.0, delta=1e-6).fit(X) for _ in range(2)]
    >>> together = composed_statement([fit.privacy_ for fit in fits])
    >>> round(together.epsilon, 2), together.delta
    (1.4, 2e-06)
    """
    from dp_accounting import dp_event

    from skdp.privacy.accounting import EventCurve

    parts = tuple(statements)
    _refuse_what_does_not_add_up(parts)
    if delta is None:
        delta = math.fsum(part.delta for part in parts)
    curve = EventCurve(dp_event.ComposedDpEvent([part.event for part in parts]))
    seeded = [part.noise for part in parts if part.noise == SEEDED_NOISE]
    return PrivacyStatement(
        curve=curve,
        budget=PrivacyBudget(_least_epsilon(curve, delta), delta),
        neighbours=parts[0].neighbours,
        theorem="Composition of privacy losses (Zhu, Dong and Wang 2022) of: "
        + "; ".join(dict.fromkeys(part.theorem for part in parts)),
        assumptions=(*dict.fromkeys(a for p in parts for a in p.assumptions), FIXED_BEFOREHAND),
        noise=seeded[0] if seeded else parts[0].noise,
        unit=parts[0].unit,
        verified=all(part.verified for part in parts),
    )


def _refuse_what_does_not_add_up(parts: tuple[PrivacyStatement, ...]) -> None:
    if not parts:
        raise ValueError("There is no privacy statement to compose.")
    relations = {part.neighbours.value for part in parts}
    if len(relations) > 1:
        raise ValueError(
            f"Guarantees for different neighbouring relations ({', '.join(sorted(relations))}) do "
            "not add up. Choose estimators, or their neighbours or sampling, of one relation."
        )
    units = {part.unit for part in parts}
    if len(units) > 1:
        raise ValueError(f"Guarantees for different units ({', '.join(sorted(units))}) do not add.")


def _least_epsilon(curve: Any, delta: float) -> float:
    """Return the least epsilon at which the curve is at most `delta`, rounded upwards."""
    epsilon = max(float(curve.epsilon_at(delta)), math.ulp(0.0))
    if epsilon == math.inf:
        raise ValueError(f"No epsilon is proved at delta={delta!r}.")
    step = 2.0**-50
    while curve.delta_at(epsilon) > delta:
        epsilon *= 1 + step
        step *= 2
    return epsilon
