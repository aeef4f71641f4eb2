"""Steps that spend a budget: where their `epsilon`, `delta` and `ledger` are."""

from typing import Any

from skdp._sgd.settings import SAMPLERS
from skdp.linear_model import PrivateElasticNet, PrivateElasticNetClassifier
from skdp.privacy import Neighbours

__all__ = ["budget_prefix", "relation_of", "set_budget"]

_OWN = "skdp."


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
    if isinstance(inner, PrivateElasticNetClassifier | PrivateElasticNet):
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
