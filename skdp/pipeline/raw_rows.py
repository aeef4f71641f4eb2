"""Do the steps of a pipeline take its rows? Asked before the first of them spends.

Each path to a private step, and each branch beside one, is gone by itself, and ended where a step
would spend: nothing that is computed with noise is looked at, which nobody has paid for.
"""

import math
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NoReturn, final

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import FeatureUnion, Pipeline

from skdp.pipeline.refusals import quoting_nothing
from skdp.pipeline.rehearsal import Rehearsal, Spent
from skdp.pipeline.verdicts import StepCheck
from skdp.preprocessing import PrivateImputer

__all__ = ["admit", "paths"]

_CONTAINERS = {ColumnTransformer: "transformers", FeatureUnion: "transformer_list"}
#: Nobody's name for a step.
_END = "end of what is given raw rows"


def paths(steps: list[tuple[str, Any]], found: list[tuple[Any, StepCheck]]) -> list[Any]:
    """Return unfitted pipelines, each of which ends at one step that is given raw rows.

    Parameters
    ----------
    steps : list of (str, estimator)
        Of a checked pipeline, not fitted; they are cloned.
    found : list of (estimator, StepCheck)
        What was found out about them.

    Returns
    -------
    list of Pipeline
        One, where the first private step is a step of the pipeline itself.
    """
    private = {id(step) for step, check in found if check.kind == "private"}
    return [clone(path) for path in _Paths(private).of_pipeline(steps, followed=False)]


def admit(path: Any, rehearsal: Rehearsal, X: Any, y: Any, params: Mapping[str, Any]) -> None:
    """Go a path as far as its private step would spend, in `rehearsal`, or a step refuses."""
    parts = [part for part in path.get_params(deep=True).values() if hasattr(part, "fit")]
    rehearsal.statements.clear()
    try:
        with warnings.catch_warnings(action="ignore"):
            quoting_nothing(lambda: path.fit(X, y, **params), parts)
    except Spent:
        pass


@final
@dataclass(frozen=True)
class _Paths:
    private: set[int]

    def of_pipeline(self, steps: list[tuple[str, Any]], *, followed: bool) -> Iterator[Any]:
        """Yield pipelines of all names, which `fit` routes by, that end in the first private."""
        first = next(place for place, (_, step) in enumerate(steps) if self._has_private(step))
        (name, step), later = steps[first], steps[first + 1 :]
        followed = followed or bool(later)
        end = _End(numbers=followed, missing=bool(later) and _fills(later[0][1]))
        ends = [(_END, end)] if _parts(step) else []
        for one in self._of(step, followed=followed):
            yield Pipeline([*steps[:first], (name, one), *ends, *later])

    def _of(self, step: Any, *, followed: bool) -> Iterator[Any]:
        if not self._has_private(step) or id(step) in self.private:
            yield step
        elif type(step) is Pipeline:
            yield from self.of_pipeline(step.steps, followed=followed)
        else:
            yield from self._of_container(step, followed=followed)

    def _of_container(self, container: Any, *, followed: bool) -> Iterator[Any]:
        """Yield containers of one branch each: the others are dropped."""
        field = _CONTAINERS[type(container)]
        branches = list(getattr(container, field))
        dropped = [(key, "drop", *columns) for key, _, *columns in branches]
        for place, (key, branch, *columns) in enumerate(branches):
            for one in self._of(branch, followed=followed):
                kept = [*dropped[:place], (key, one, *columns), *dropped[place + 1 :]]
                yield _like(container, {field: kept}, "drop")
        rest = getattr(container, "remainder", None)
        if rest is not None:
            for one in self._of(rest, followed=followed):
                yield _like(container, {field: dropped}, one)

    def _has_private(self, step: Any) -> bool:
        return id(step) in self.private or any(map(self._has_private, _parts(step)))


def _parts(step: Any) -> list[Any]:
    """Return the branches or steps of a container of scikit-learn."""
    if type(step) is Pipeline:
        return [part for _, part in step.steps]
    if type(step) not in _CONTAINERS:
        return []
    branches = [branch for _, branch, *_ in getattr(step, _CONTAINERS[type(step)])]
    return [*branches, getattr(step, "remainder", None)]


def _like(container: Any, branches: dict[str, Any], remainder: Any) -> Any:
    given = {"remainder": remainder} if hasattr(container, "remainder") else {}
    return clone(container).set_params(**branches, **given)


def _fills(step: Any) -> bool:
    """Whether a step takes missing numbers and leaves none."""
    if type(step) is SimpleImputer:
        return isinstance(step.missing_values, float) and math.isnan(step.missing_values)
    return type(step) is PrivateImputer


class _End(TransformerMixin, BaseEstimator):
    """Stands behind a container, and looks at what its public branches return."""

    def __init__(self, numbers: bool = True, missing: bool = False) -> None:
        self.numbers = numbers
        self.missing = missing

    def fit(self, X: Any, y: Any = None) -> NoReturn:
        """Refuse rows that some later step might refuse, or end the fit."""
        if self.numbers and not _are_numbers(X, missing=self.missing):
            raise ValueError(
                "A branch beside a private step returns values that are no finite numbers for some "
                "rows, which a later step might refuse when the budget is spent. Clip, fill in or "
                "encode them in that branch."
            )
        raise Spent

    def transform(self, X: Any) -> Any:
        """Is never reached."""
        return X


def _are_numbers(values: Any, *, missing: bool) -> bool:
    try:
        if hasattr(values, "iloc"):
            numbers = values.to_numpy(dtype=float, na_value=np.nan)
        else:
            entries = values.data if sparse.issparse(values) else values
            numbers = np.asarray(entries, dtype=float)
    except (TypeError, ValueError, OverflowError):
        return False
    return not np.isinf(numbers).any() if missing else bool(np.isfinite(numbers).all())
