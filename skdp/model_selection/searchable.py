"""What can be searched: private estimators, and pipelines of which they are steps."""

from numbers import Integral

from sklearn.base import is_classifier
from sklearn.pipeline import Pipeline

from skdp._estimator import PrivateEstimator
from skdp.pipeline.fit_conditions import refuse_partial_maps
from skdp.pipeline.walk import check_private_pipeline, walked

__all__ = [
    "before_private",
    "declared_groups",
    "is_pipeline",
    "parts_of",
    "private_steps",
    "public_randomness",
    "spenders",
    "vouched_for",
]


def private_steps(model):
    """Return the steps that spend a budget, or refuse a model that is not private."""
    if is_pipeline(model):
        found = _check(model).private
        steps = [step for _, step in model.steps if isinstance(step, PrivateEstimator)]
        if len(found) != len(steps):
            raise TypeError(
                "A private step within another step cannot be searched. Put private steps in the "
                "pipeline itself."
            )
        refuse_partial_maps(model, walked(model, getattr(model, "public", ())))
    else:
        steps = [model] if isinstance(model, PrivateEstimator) else []
    if not steps or not all(map(_is_ours, steps)):
        raise TypeError(
            f"{type(model).__name__} is not a private estimator of skdp, nor a pipeline in which "
            "one is a step: each of its fits would publish what it learned."
        )
    for step in steps:
        _refuse_unsearchable(step)
    if is_classifier(steps[-1]) and not hasattr(steps[-1], "classes"):
        raise TypeError(
            f"{type(steps[-1]).__name__} takes no classes, so that a part of the rows in which one "
            "is absent would be refused after the budget was spent."
        )
    return steps


def spenders(model):
    """Return those that have a budget and a ledger of their own: a pipeline, or its steps."""
    return [model] if hasattr(model, "ledger") else private_steps(model)


def before_private(model):
    """Return what a pipeline does before its first private step, as a pipeline, or None."""
    if not is_pipeline(model):
        return None
    first = next(i for i, (_, step) in enumerate(model.steps) if isinstance(step, PrivateEstimator))
    return Pipeline(model.steps[:first]) if first else None


def vouched_for(model):
    """Return what a statement must say of steps that learn nothing by somebody's word."""
    return _check(model).assumptions if is_pipeline(model) else ()


def declared_groups(estimator):
    """Return the number of groups that was declared, or None."""
    counts = {getattr(step, "n_groups", None) for step in private_steps(estimator)} - {None}
    if len(counts) > 1:
        raise ValueError("The steps declare different numbers of groups. Declare one n_groups.")
    return int(counts.pop()) if counts else None


def parts_of(model):
    """Return all estimators within a model."""
    return [part for part in model.get_params(deep=True).values() if hasattr(part, "fit")]


def public_randomness(model):
    """Return the names of the seeds, not yet integers, of parts that are not of this package.

    What is of it draws noise, from bits of its own, and is never seeded here.
    """
    params = {"": model, **model.get_params(deep=True)}
    named = ((*name.rpartition("__")[::2], value) for name, value in params.items())
    return [
        f"{owner}__{last}"
        for owner, last, value in named
        if last == "random_state"
        and owner
        and not isinstance(value, Integral)
        and not type(params[owner]).__module__.startswith("skdp.")
    ]


def is_pipeline(model):
    """Whether a model has steps."""
    return isinstance(model, Pipeline)


def _check(pipeline):
    return check_private_pipeline(pipeline, public=getattr(pipeline, "public", ()))


def _refuse_unsearchable(step):
    if hasattr(step, "held_out"):
        raise TypeError("A search within a search is not supported.")
    if getattr(getattr(step, "noise_schedule", None), "private", False):
        raise ValueError(
            "Every fit of a search would ask the same private validation records: use public ones, "
            "or a schedule that is fixed beforehand."
        )


def _is_ours(step):
    """A subclass may do anything with the rows."""
    return type(step).__module__.startswith("skdp.") and hasattr(step, "epsilon")
