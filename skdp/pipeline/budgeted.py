"""Steps that spend a budget: where their `epsilon`, `delta` and `ledger` are."""

from collections.abc import Iterator, Sequence
from typing import Any

from skdp._sgd.settings import SAMPLERS
from skdp.decomposition import PrivatePCA
from skdp.embedding import PrivateCBOW
from skdp.feature_selection import PrivateSelectKBest
from skdp.linear_model import (
    StableSGDClassifier,
    StableSGDRegressor,
)
from skdp.meta import StabilityOutputPerturbation
from skdp.preprocessing import (
    PrivateImputer,
    PrivateMinMaxScaler,
    PrivateQuantileClipper,
    PrivateStandardScaler,
)
from skdp.privacy import Neighbours

__all__ = [
    "budget_prefix",
    "n_fixed_beforehand",
    "relation_of",
    "set_budget",
    "shared_unit",
    "take_ledger_out",
    "unit_of",
]

_OWN = "skdp."
#: As many columns leave them as their parameters and the columns that come in say.
_FIXED_WIDTH = (
    PrivateCBOW,
    PrivateImputer,
    PrivateMinMaxScaler,
    PrivatePCA,
    PrivateQuantileClipper,
    PrivateSelectKBest,
    PrivateStandardScaler,
)
#: Without a parameter for it, these are of one relation.
_REPLACE_ONE = (
    PrivateSelectKBest,
    StabilityOutputPerturbation,
    StableSGDClassifier,
    StableSGDRegressor,
)


def budget_prefix(step: Any) -> str | None:
    """Return what stands before `epsilon` in a private step's parameters; None for other steps.

    An estimator of this package, exactly: a subclass may do anything with the rows.

    Examples
    --------
    >>> from skdp.decomposition import PrivatePCA
    >>> from skdp.feature_selection import PrivateSelectFromModel
    >>> from skdp.linear_model import PrivateElasticNetClassifier
    >>> budget_prefix(PrivatePCA()), budget_prefix("passthrough")
    ('', None)
    >>> budget_prefix(PrivateSelectFromModel(PrivateElasticNetClassifier()))
    'estimator__'
    """
    if isinstance(step, type) or not type(step).__module__.startswith(_OWN):
        return None
    if not hasattr(step, "get_params"):
        return None
    names = step.get_params(deep=True)
    for prefix in ("", "estimator__"):
        if {f"{prefix}epsilon", f"{prefix}ledger"} <= set(names):
            return _inner_is_own(step, prefix)
    return None


def _inner_is_own(step: Any, prefix: str) -> str | None:
    if not prefix:
        return prefix
    return prefix if type(step.estimator).__module__.startswith(_OWN) else None


def n_fixed_beforehand(steps: Sequence[Any]) -> int:
    """Return how many steps, from the first on, have noise that was fixed before the first ran.

    Noise depends on the number of columns. How many columns leave a step such as an encoder is part
    of what it releases, so only budgets of later steps are fixed.

    Examples
    --------
    >>> from skdp.preprocessing import PrivateOneHotEncoder
    >>> n_fixed_beforehand([PrivateStandardScaler(), PrivateOneHotEncoder(), PrivatePCA()])
    2
    """
    for place, step in enumerate(steps):
        if type(step) not in _FIXED_WIDTH:
            return place + 1
    return len(steps)


def set_budget(step: Any, epsilon: float, delta: float, ledger: Any) -> None:
    """Set the budget of a private step, and where it spends."""
    prefix = budget_prefix(step) or ""
    names = step.get_params(deep=True)
    given = {"epsilon": epsilon, "delta": delta, "ledger": ledger}
    step.set_params(**{prefix + k: v for k, v in given.items() if f"{prefix}{k}" in names})


def relation_of(step: Any) -> Neighbours | None:
    """Return the neighbouring relation of a private step, where its parameters tell.

    Examples
    --------
    >>> from skdp.decomposition import PrivatePCA
    >>> relation_of(PrivatePCA(neighbours="replace-one")).value
    'replace-one'
    """
    inner = step if budget_prefix(step) == "" else step.estimator
    if isinstance(inner, _REPLACE_ONE):
        return Neighbours.REPLACE_ONE
    stated = getattr(inner, "neighbours", None)
    if stated in {member.value for member in Neighbours} | set(Neighbours):
        return Neighbours(stated)
    sampling: Any = getattr(inner, "sampling", None)
    if isinstance(sampling, str) and sampling in SAMPLERS:
        make: Any = SAMPLERS[sampling]
        sampling = make(1, 2)
    relation = getattr(sampling, "neighbours", None)
    return relation if isinstance(relation, Neighbours) else None


def unit_of(step: Any) -> str:
    """Return what a private step protects: a row, a group of rows, a document or an example.

    Examples
    --------
    >>> unit_of(PrivatePCA()), unit_of(PrivateCBOW())
    ('row', 'document')
    """
    inner = step if budget_prefix(step) == "" else step.estimator
    stated = getattr(inner, "unit", None)
    if isinstance(stated, str):
        return stated
    return "row" if getattr(inner, "max_rows_per_group", None) is None else "group"


def shared_unit(named: Sequence[tuple[str, str]]) -> str:
    """Return the unit of a whole, or refuse units that do not agree.

    A pipeline maps row by row, so that where a step reads documents each of its rows is one.

    Parameters
    ----------
    named : sequence of (str, str)
        The name of each step, and its unit.

    Examples
    --------
    >>> shared_unit([("words", "document"), ("model", "row")]), shared_unit([("model", "group")])
    ('document', 'group')
    """
    units = {unit for _, unit in named}
    if units <= {"row", "document"}:
        return "document" if "document" in units else "row"
    if len(units) == 1:
        return units.pop()
    told = "; ".join(f"{name}: {unit}" for name, unit in named)
    raise ValueError(
        f"Guarantees for different units do not add up. Steps: {told}. Set max_rows_per_group of "
        "all steps or of none, and unit='document' of a step that reads documents: an example is "
        "less than a row."
    )


def take_ledger_out(pipeline: Any, ledger: Any) -> None:
    """Leave no reference to a fit's own ledger in the steps of a pipeline."""
    for step in _own_and_fitted(pipeline):
        for part in (step, getattr(step, "estimator", None), getattr(step, "estimator_", None)):
            if part is not None and getattr(part, "ledger", None) is ledger:
                part.ledger = None


def _own_and_fitted(step: Any) -> Iterator[Any]:
    """Yield all steps, those that a column transformer fitted in their stead too."""
    containers = ("steps", "transformers", "transformers_", "transformer_list")
    held = [part[1] for name in containers for part in getattr(step, name, None) or ()]
    yield step
    for part in (*held, getattr(step, "remainder", None)):
        if hasattr(part, "get_params"):
            yield from _own_and_fitted(part)
