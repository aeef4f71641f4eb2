"""What a pipeline makes sure of before its first step spends, and undoes if a later one fails."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from sklearn.base import BaseEstimator, is_classifier
from sklearn.utils import check_array, check_consistent_length, get_tags

from skdp._admission import admit_labels, admit_targets, quote_free

__all__ = ["refuse_unusable_targets", "undone_on_failure"]


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
