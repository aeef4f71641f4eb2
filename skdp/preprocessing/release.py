"""One release of a transformer: stated, paid for, and only then computed."""

from numbers import Real
from typing import Any

from skdp._admission import HasMethods, Interval, StrOptions
from skdp._random import NumpyGenerator
from skdp.privacy import Neighbours, PrivacyStatement
from skdp.privacy.statement import noise_source

__all__ = ["FACTS", "PAID_CONSTRAINTS", "paid_release"]

PAID_CONSTRAINTS = {
    "epsilon": [Interval(Real, 0, None, closed="neither")],
    "delta": [Interval(Real, 0, 1, closed="left")],
    "neighbours": [StrOptions({member.value for member in Neighbours}), Neighbours],
    "ledger": [None, HasMethods("spend")],
    "random_state": ["random_state", NumpyGenerator],
}
#: What every release here rests on.
FACTS = (
    "The columns are public, and so is how X is stored.",
    "No parameter was chosen by looking at this data.",
)


def paid_release(
    transformer: Any, mechanism: Any, value: Any, *, n_rows: int, facts: Any, depth: int = 0
) -> Any:
    """Spend, release `value()`, and leave what was promised on the transformer.

    Parameters
    ----------
    transformer : PrivateEstimator
        Whose budget, ledger and randomness are used.
    mechanism : Mechanism
        Calibrated from public facts.
    value : callable
        Computes the statistic; called after everything is paid for.
    n_rows : int
        Of the data; warned about where it is public.
    facts : tuple of str
        What the guarantee rests on beside `FACTS`.
    depth : int, default=0
        How many calls lie between `fit` and this one.

    Returns
    -------
    object
        What the mechanism released.
    """
    from skdp.privacy.accounting import EventCurve

    relation = mechanism.sensitivity.neighbours
    statement = PrivacyStatement(
        curve=EventCurve(mechanism.event),
        budget=transformer._budget(),
        neighbours=relation,
        theorem=mechanism.theorem,
        assumptions=(FACTS[0], *facts, FACTS[1]),
        noise=noise_source(seeded=transformer.random_state is not None),
    )
    known = None if relation is Neighbours.ADD_OR_REMOVE_ONE else n_rows
    above = depth + 5  # the caller of fit, which two decorators are around
    transformer._warn_of_large_delta(known, stacklevel=above)
    rng = transformer._random_source(stacklevel=above)
    transformer._spend(statement)
    released = mechanism.release(value(), rng)
    transformer.privacy_ = statement
    transformer.sensitivity_ = mechanism.sensitivity
    transformer.noise_scale_ = mechanism.noise_scale
    return released
