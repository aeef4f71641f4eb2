"""What a pipeline makes sure of before its first step spends, and undoes if a later one fails."""

import math
from collections.abc import Iterator
from contextlib import contextmanager
from numbers import Real
from typing import Any

from sklearn.base import BaseEstimator, is_classifier
from sklearn.feature_extraction import FeatureHasher
from sklearn.feature_extraction.text import HashingVectorizer
from sklearn.frozen import FrozenEstimator
from sklearn.impute import MissingIndicator, SimpleImputer
from sklearn.preprocessing import (
    Binarizer,
    FunctionTransformer,
    Normalizer,
    OneHotEncoder,
    OrdinalEncoder,
)
from sklearn.utils import check_array, check_consistent_length, get_tags

from skdp._admission import (
    admit_groups,
    admit_labels,
    admit_targets,
    admit_weights,
    quote_free,
)
from skdp.pipeline.data_independent import DATA_INDEPENDENT
from skdp.pipeline.rehearsal import n_rows_of
from skdp.pipeline.verdicts import StepCheck

__all__ = ["refuse_partial_maps", "refuse_unusable_targets", "undone_on_failure"]

#: Of the steps that learn nothing, those that return finite numbers for all finite rows, as far as
#: what they are told to fill in is finite.
_TOTAL = (
    Binarizer,
    FeatureHasher,
    HashingVectorizer,
    MissingIndicator,
    Normalizer,
    OneHotEncoder,
    OrdinalEncoder,
    SimpleImputer,
)


def refuse_partial_maps(pipeline: Any, found: list[tuple[Any, StepCheck]]) -> None:
    """Refuse steps that may turn what a private step made into something a later one refuses.

    A fit that failed for one row, when others have spent, would tell of it. What comes before the
    first private step is looked at by that one, before it spends; steps of skdp return finite
    numbers.
    """
    first = next((name for name, _ in pipeline.steps if _is_private(name, found)), None)
    begun = False
    for step, check in found:
        begun = begun or check.name.split("__")[0] == first
        if begun and not _is_total(step):
            raise ValueError(
                f"Step {check.name!r} ({check.class_name}) comes after or beside a private step, "
                "and might make numbers of some rows that are not finite, which a later step "
                "would refuse when the budget is spent. Put it before the first private step."
            )


def _is_private(name: str, found: list[tuple[Any, StepCheck]]) -> bool:
    return any(c.kind == "private" and c.name.split("__")[0] == name for _, c in found)


def _is_total(step: Any) -> bool:
    inner = step.estimator if isinstance(step, FrozenEstimator) else step
    if type(inner).__module__.startswith("skdp."):
        return True
    if type(inner) is FunctionTransformer:
        return inner.func is None
    if type(inner) not in _TOTAL:
        # Somebody vouched for what is frozen; for what learns nothing nobody can.
        return inner is not step and type(inner) not in DATA_INDEPENDENT
    filled_in = [getattr(inner, name, None) for name in ("unknown_value", "fill_value")]
    return not any(isinstance(value, Real) and not math.isfinite(value) for value in filled_in)


def refuse_iterators(X: Any) -> None:
    """Refuse rows that can be read once only: steps are tried on them before any is paid for."""
    if isinstance(X, Iterator):
        raise TypeError(
            f"X is read more than once, which a {type(X).__name__} cannot be. Pass a list, an "
            "array, a DataFrame, or a corpus of skdp.embedding."
        )


def refuse_unusable_targets(pipeline: Any, X: Any, y: Any) -> None:
    """Refuse targets that the last step would refuse when others have spent."""
    last = pipeline.steps[-1][1]
    if not isinstance(last, BaseEstimator):
        return
    if y is None:
        if get_tags(last).target_tags.required:
            raise ValueError(
                f"{type(last).__name__} requires y to be passed, but the target y is None."
            )
        return
    quote_free(lambda: check_consistent_length(X, y), "y")
    if is_classifier(last) and hasattr(last, "classes"):
        admit_labels(admit_targets(last, y, y_numeric=False), last.classes)
    elif getattr(last, "_estimator_type", None) == "regressor":
        quote_free(lambda: check_array(y, ensure_2d=False, dtype="numeric"), "y")


def refuse_unusable_metadata(X: Any, params: dict[str, Any]) -> None:
    """Refuse weights and groups that the step they are for would refuse when others have spent."""
    for name, value in params.items():
        kind = name.rpartition("__")[2]
        if kind == "sample_weight" and value is not None:
            admit_weights(value, X)
        elif kind == "groups" and value is not None:
            admit_groups(value, n_rows_of(X))


@contextmanager
def undone_on_failure(pipeline: Any) -> Iterator[None]:
    """Leave a pipeline and all within it as they were if what is done inside raises."""
    within = [part for part in pipeline.get_params(deep=True).values() if hasattr(part, "__dict__")]
    parts = [part for part in (pipeline, *within) if isinstance(part, BaseEstimator)]
    before = [(part, vars(part).copy()) for part in parts]
    try:
        yield
    except BaseException:
        for part, state in before:
            vars(part).clear()
            vars(part).update(state)
        raise
