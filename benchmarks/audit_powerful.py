"""What cases with worst-case pairs by theory, and with controls, have in common.

Deltas are 0.1 where nothing forbids it: noise comes from the same formulas as for a small delta,
and few fits show what there is. In the control of a case some of the noise is missing; an audit
that does not find it out has too little power.
"""

from typing import Any

from sklearn.base import clone

from benchmarks.audit_cases import Case, one_line
from skdp.audit import NeighbouringPair

BUDGET = {"epsilon": 3.0, "delta": 0.1}


def with_control(
    model: Any,
    pair: NeighbouringPair,
    n_fits: int,
    theory: float | None,
    control: Any,
    noise_share: float,
    control_fits: int,
) -> Case:
    """Return a case, with an estimator of less noise, or with an epsilon of so much, as control."""
    if isinstance(control, float):
        control = clone(model).set_params(epsilon=control)
    return Case(
        "skdp", one_line(model), model, pair, n_fits, True, theory, control, noise_share,
        control_fits,
    )  # fmt: skip


def first_number(outputs: Any) -> Any:
    """Return the first number that a release shows, behind two columns."""
    return outputs[:, 2]
