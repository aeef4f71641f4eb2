"""Pairs of neighbouring data sets that are as far apart as a model can be pulled by one record."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from skdp.audit.events import Event
from skdp.audit.facts import Facts, has_no_constant, reader
from skdp.audit.pairs import NeighbouringPair
from skdp.audit.range_canaries import of_ranges
from skdp.audit.word_canaries import of_documents, reads_documents, refuse_documents
from skdp.privacy import Neighbours

__all__ = ["NeighbouringPair", "worst_case_neighbours"]

Array = NDArray[np.float64]
_FAR_OUTSIDE = 1e6
_SATURATED = 4.0
_SMALL = 0.05


def worst_case_neighbours(
    estimator: Any, *, relation: Any = None, n_rows: int = 10
) -> list[NeighbouringPair]:
    """Return pairs of data sets, one record apart, that make faults of private models show.

    A generic distinguisher on ordinary data misses real faults: an intercept without penalty, a
    row longer than the bound, a curvature that was bounded wrongly.

    Parameters
    ----------
    estimator : estimator
        A classifier, a regressor or a transformer. Its parameters `row_norm` (or `data_norm`),
        `classes`, `y_bound`, `bounds`, `neighbours` and `fit_intercept` are read where it has them.
        One that reads documents, by its tags, gets documents of words of its `vocabulary`, or of
        its `candidates`, of which two are nobody else's; so does a pipeline with such a step, with
        labels if its last step is a classifier or a regressor.
    relation : Neighbours or str, default=None
        What neighbours are; None reads it, and takes replace-one where nothing is said. For
        estimators that read documents somebody must say it.
    n_rows : int, default=10
        Rows of the larger data set; at least 4. Estimators that descend in many steps show most
        with a few dozen.

    Returns
    -------
    list of NeighbouringPair
        To be handed to `audit_epsilon` one by one, or all to `audit_worst_cases`.

    Raises
    ------
    ValueError
        Where something is within the estimator that reads documents, and nobody knows what its
        rows are; or where somebody must say the relation.

    Notes
    -----
    Word vectors move away from numbers that training begins with. To see how far, the audit fits
    once more from the same seed, so give it a `random_state`: without one, the raw vectors are
    seen, of which the beginning hides nearly all.

    Examples
    --------
    >>> from skdp.audit import worst_case_neighbours
    >>> from skdp.linear_model import PrivateRidge
    >>> [pair.name for pair in worst_case_neighbours(PrivateRidge())][:2]
    ['another label', 'row turned round']
    """
    if n_rows < 4:
        raise ValueError(f"n_rows must be at least 4, got {n_rows!r}.")
    if reads_documents(estimator):
        return list(of_documents(estimator, relation, n_rows))
    refuse_documents(estimator)
    facts = Facts.of(estimator, relation, n_rows)
    if facts.kind == "transformer" and facts.bounds is not None:
        return list(of_ranges(facts))
    intercept = reader(estimator)("fit_intercept")
    has_intercept = bool(intercept is None or intercept)
    pairs = list(_of_linear_models(facts, has_intercept))
    if facts.relation is not Neighbours.REPLACE_ONE:
        pairs += _null(facts, has_no_constant(estimator), *pairs[0].data)
    return pairs


def _of_linear_models(facts: Facts, has_intercept: bool) -> Iterator[NeighbouringPair]:
    n, norm, (low, high) = facts.n_rows, facts.row_norm, facts.labels
    y = np.resize(np.array([high, low]), n)
    X = np.zeros((n, 2))
    X[0, 0] = norm
    turned, longer, far_away = X.copy(), X.copy(), X.copy()
    turned[0, 0] = -norm
    longer[0, 0], far_away[0, 0] = _FAR_OUTSIDE * norm, -_FAR_OUTSIDE * norm
    reversed_rows = np.zeros((n, 2))
    reversed_rows[1:, 0] = -norm
    far = facts.data(reversed_rows, _all_but_one(facts))

    def pair(name: str, why: str, first: Any, second: Any, **more: Any) -> NeighbouringPair:
        return _related(facts, name, why, first, second, **more)

    label = y.copy()
    label[0] = low
    yield pair(
        "another label",
        "a sensitivity that is too small; noise that is missing",
        (X, y),
        (X, label),
        far=far,
    )
    yield pair(
        "row turned round",
        "a sensitivity that is too small",
        (X, y),
        (turned, y),
        far=far,
    )
    yield pair("row far outside", "rows that are not clipped", (longer, y), (far_away, y))
    rare, usual = np.zeros((n, 2)), np.zeros((n, 2))
    rare[:, 0] = usual[:, 0] = norm
    rare[0] = 0.0, norm
    yield pair(
        "a feature nobody else has",
        "features that appear or are named only where somebody has them",
        (rare, y),
        (usual, y),
    )
    if has_intercept and facts.kind != "transformer":
        blank, ones = np.zeros((n, 2)), _all_but_one(facts)
        other = ones.copy()
        other[1] = low
        yield pair(
            "label without a row",
            "an intercept that is not noisy, or moves further than the rest",
            (blank, ones),
            (blank, other),
        )
        yield _saturated(facts)
    if facts.kind != "transformer":
        yield _curved(facts, has_intercept)
        yield _clipped(facts)


def _all_but_one(facts: Facts) -> NDArray[Any]:
    y = np.full(facts.n_rows, facts.labels[-1])
    y[0] = facts.labels[0]
    return y


def _related(
    facts: Facts,
    name: str,
    why: str,
    first: Any,
    second: Any,
    **more: Any,
) -> NeighbouringPair:
    """Under replace-one a pair; otherwise two steps: a row goes, another one comes."""
    distance = 1 if facts.relation is Neighbours.REPLACE_ONE else 2
    return NeighbouringPair(name, facts.data(*first), facts.data(*second), why, distance, **more)


def _saturated(facts: Facts) -> NeighbouringPair:
    """All other records are far from the boundary where this one is on it.

    With an intercept that is not penalised nothing but this record curves the objective there,
    and the density of the minimiser is as large as that curvature (objective perturbation).
    """
    X = np.zeros((facts.n_rows, 1))
    X[:] = facts.row_norm
    turned = X.copy()
    turned[0] = -facts.row_norm
    y = _all_but_one(facts)
    return _related(
        facts,
        "the only row near the boundary",
        "an objective that is perturbed, with an intercept that is not penalised",
        (turned, y),
        (X, y),
        event=Event(_far_but_near, 0.0, "others beyond 7.5, this row within 4 of the boundary"),
        release=_Margins(np.array([[facts.row_norm], [-facts.row_norm]])),
    )


def _curved(facts: Facts, has_intercept: bool) -> NeighbouringPair:
    """One long row among empty ones: alone it curves the objective at 0.

    As far as its logistic loss is curved at all, which is where its margin is less than 4.
    """
    long_rows = facts.row_norm > 10
    X, y = np.zeros((facts.n_rows, 1)), np.resize(np.array(facts.labels), facts.n_rows)
    long = X.copy()
    long[0] = facts.row_norm
    return _related(
        facts,
        "one long row among empty ones",
        "an objective that is perturbed, with a curvature bounded too low",
        (long, y),
        (X, y),
        **_within(_SATURATED / facts.row_norm) if long_rows and not has_intercept else {},
    )


def _clipped(facts: Facts) -> NeighbouringPair:
    """Where the clipped gradient of one record stays as long as it is, step after step.

    Losses of numbers: its column is empty elsewhere, and its label far from all others. Losses of
    classes: others contradict it, or, where it is replaced, balance each other, so that either
    label of it is wrong enough.
    """
    n, norm, (low, high) = facts.n_rows, facts.row_norm, facts.labels
    removed = facts.relation is Neighbours.ADD_OR_REMOVE_ONE
    sign = np.resize([1.0, 1.0, -1.0, -1.0], n)
    if facts.kind == "regressor":
        X, y, name = np.zeros((n, 2)), np.full(n, (low + high) / 2), "a column of its own"
        X[:, 0] = _SMALL * norm * sign
        X[0], y[0] = (0.0, norm), high
    else:
        X = norm * sign[:, None]
        y = np.where(sign > 0, high, low) if removed else np.resize([high, low], n)
        y[0] = low if removed else high
        name = "label against all others" if removed else "label among equals"
    why = "gradients that are clipped too wide, or noise that is missing, over many steps"
    if removed:
        return NeighbouringPair(f"{name}, removed", facts.data(X, y), facts.data(X[1:], y[1:]), why)
    other = y.copy()
    other[0] = low
    return _related(facts, name, why, (X, y), (X, other))


def _within(weight: float) -> dict[str, Any]:
    event = Event(_near_zero, -weight, f"weight within {weight:g} of 0")
    return {"event": event, "release": _Weights()}


def _null(facts: Facts, no_constant: bool, X: Array, y: NDArray[Any]) -> Iterator[NeighbouringPair]:
    """A row that is there against one that is not: a true pair without a constant column."""
    if facts.relation is Neighbours.ADD_OR_REMOVE_ONE:
        yield NeighbouringPair(
            "row removed",
            facts.data(X, y),
            facts.data(X[1:], y[1:]),
            "the number of rows, or noise that is missing",
        )
    elif no_constant and facts.kind != "transformer":
        # To a transformer a row of zeros is a row like any other: it counts in means and quantiles.
        empty = np.zeros_like(X)
        yield NeighbouringPair(
            "row nulled", facts.data(X, y), facts.data(empty, y), "noise that is missing"
        )


@final
@dataclass(frozen=True)
class _Margins:
    """Decisions at some rows, divided among as many columns as the model has."""

    rows: Array

    def __call__(self, model: Any) -> Array:
        found = model.decision_function(self.rows) if hasattr(model, "decision_function") else None
        if found is None:
            found = model.predict(self.rows)
        return np.asarray(found, dtype=float).reshape(len(self.rows), -1)[:, -1]


@final
@dataclass(frozen=True)
class _Weights:
    """The coefficients."""

    def __call__(self, model: Any) -> Array:
        shown = model.coef_ if hasattr(model, "coef_") else model.components_
        return np.ravel(np.asarray(shown, dtype=float))


def _far_but_near(outputs: Array) -> Array:
    others, own = np.abs(outputs[:, 2]), np.abs(outputs[:, 3])
    return np.minimum(others - 7.5, 4.0 - own)


def _near_zero(outputs: Array) -> Array:
    return -np.abs(outputs[:, 2])
