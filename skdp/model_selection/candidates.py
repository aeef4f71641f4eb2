"""Candidates of a private search: checked, given a budget, tried on stand-in rows."""

import warnings
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from sklearn.base import clone, is_classifier
from sklearn.pipeline import Pipeline

from skdp._estimator import PrivateEstimator
from skdp.exceptions import PrivacyError
from skdp.model_selection.rehearsal import RehearsalLedger, Spent

__all__ = [
    "Candidates",
    "Tried",
    "declared_groups",
    "private_steps",
    "quiet",
    "refuse_inadmissible",
    "vouched_for",
]

#: What the search itself decides, or would spend or tell beside it.
_RESERVED = {
    "classes": "the search passes the classes of y to every fit",
    "delta": "the search divides its own",
    "epsilon": "the search divides its own",
    "ledger": "the search spends once, for all fits",
    "memory": "it would keep private rows on a disk",
    "n_groups": "the search counts the groups of each part",
    "n_jobs": "the search runs the fits",
    "neighbours": "all fits share one relation",
    "random_state": "it would repeat noise",
    "sampling": "all fits share one relation",
    "verbose": "it would show fits that are not released",
    "warm_start": "fits have to be independent",
}


class Tried(NamedTuple):
    """A candidate that was fitted on stand-in rows: a function of public facts and noise."""

    model: Any
    statements: list[Any]

    @property
    def event(self):
        """What a fit is."""
        from dp_accounting import dp_event

        events = [statement.event for statement in self.statements]
        return events[0] if len(events) == 1 else dp_event.ComposedDpEvent(events)

    def keeps(self, budget):
        """Whether the fit spent no more than its share."""
        asked = [statement.budget for statement in self.statements]
        room = 1 + 1e-9
        if (
            sum(part.epsilon for part in asked) <= budget.epsilon * room
            and sum(part.delta for part in asked) <= budget.delta * room
        ):
            return True
        from skdp.privacy.accounting import epsilon_of

        return epsilon_of(self.event, budget.delta) <= budget.epsilon * room


class Candidates:
    """Unfitted models, one for each choice of parameters.

    Parameters
    ----------
    estimator : estimator
        A private estimator, or a pipeline with at least one private step.
    params : list of dict
        One for each candidate; public.
    classes : ndarray or None
        Of a classifier.
    n_groups : int or None
        Number of groups of a fit, where these are protected.
    seed : int or None, default=None
        Of the fits on stand-in rows, for tests.

    Raises
    ------
    ValueError, TypeError
        If a candidate is not private or a parameter is the search's own affair.
    """

    def __init__(self, estimator, params, classes, n_groups, seed=None):
        if not params:
            raise ValueError("There is no candidate: the grid is empty.")
        self.params = params
        self._estimator = estimator
        self._classes = classes
        self._n_groups = n_groups
        self._seed = seed
        self.models = [self._candidate(chosen) for chosen in params]

    def _candidate(self, chosen):
        for name in chosen:
            last = name.rpartition("__")[2]
            if last in _RESERVED:
                raise ValueError(f"{name!r} cannot be searched: {_RESERVED[last]}.")
        model = clone(self._estimator).set_params(**clone(chosen, safe=False))
        for step in private_steps(model):
            self._prepare(step)
        for spender in _spenders(model):
            spender.set_params(ledger=None)
        return model

    def _prepare(self, step):
        names = step.get_params(deep=False)
        fixed = {"ledger": None, "random_state": None, "warm_start": False, "verbose": 0}
        if self._classes is not None:
            fixed["classes"] = list(self._classes)
        if names.get("max_rows_per_group") is not None:
            fixed["n_groups"] = self._n_groups
        step.set_params(**{name: value for name, value in fixed.items() if name in names})

    @property
    def rows_per_group(self):
        """Most rows that any fit takes of a group; 1 where rows are the unit."""
        steps = (step for model in self.models for step in private_steps(model))
        return max(int(getattr(step, "max_rows_per_group", None) or 1) for step in steps)

    def with_budget(self, budget):
        """Give every fit this (epsilon, delta), in equal shares where a pipeline has several."""
        for model in self.models:
            spenders = _spenders(model)
            for spender in spenders:
                spender.set_params(epsilon=budget.epsilon / len(spenders))
                if "delta" in spender.get_params():
                    spender.set_params(delta=budget.delta / len(spenders))

    def rehearsed(self, stand_in):
        """Return the event of each candidate's fit, which is not run where that is enough."""
        return [self._fit(m, stand_in, stops=not _is_pipeline(m)).event for m in self.models]

    def tried(self, stand_in):
        """Fit each candidate on stand-in rows: whatever would be refused later is refused here."""
        tried = [self._fit(model, stand_in, stops=False) for model in self.models]
        relations = {statement.neighbours for one in tried for statement in one.statements}
        if len(relations) > 1:
            names = ", ".join(sorted(relation.value for relation in relations))
            raise ValueError(f"The fits differ in their neighbouring relation ({names}).")
        return tried

    def _fit(self, model, stand_in, *, stops):
        ledger, model = RehearsalLedger(stops=stops), clone(model)
        spenders = _spenders(model)
        for spender in spenders:
            spender.set_params(ledger=ledger)
        for i, step in enumerate(private_steps(model)):
            step.set_params(random_state=None if self._seed is None else self._seed + i)
        try:
            with quiet():
                model.fit(stand_in.X, stand_in.y, **stand_in.metadata)
        except Spent:
            pass
        for spender in spenders:
            spender.set_params(ledger=None)
        if len(ledger.statements) != len(private_steps(model)):
            raise PrivacyError("A private step spent nothing, or more than once.")
        return Tried(model, ledger.statements)


def private_steps(model):
    """Return the steps that spend a budget, or refuse a model that is not private."""
    from skdp.pipeline.fit_conditions import refuse_partial_maps
    from skdp.pipeline.walk import walked

    if _is_pipeline(model):
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


def vouched_for(model):
    """Return what a statement must say of steps that learn nothing by somebody's word."""
    return _check(model).assumptions if _is_pipeline(model) else ()


def declared_groups(estimator):
    """Return the number of groups that was declared, or None."""
    counts = {getattr(step, "n_groups", None) for step in private_steps(estimator)} - {None}
    if len(counts) > 1:
        raise ValueError("The steps declare different numbers of groups. Declare one n_groups.")
    return int(counts.pop()) if counts else None


def refuse_inadmissible(plan, rows):
    """Refuse rows that a fit or a score would refuse later, when the budget was spent.

    Steps before the first private one learn nothing from rows, so that those of the stand-in
    candidates do what those of the trials will.
    """
    for part in plan.parts.training:
        rows.metadata.refuse_unusable(rows.units.rows(part))
    for one in plan.offer.tried:
        before = _before_private(one.model)
        if before is not None and not _all_finite(before.transform(rows.X)):
            raise ValueError(
                "A step before the first private one returns values that are no finite numbers "
                "for some rows. Clip or map them to a declared range there."
            )


def _before_private(model):
    if not _is_pipeline(model):
        return None
    first = next(i for i, (_, step) in enumerate(model.steps) if isinstance(step, PrivateEstimator))
    return Pipeline(model.steps[:first]) if first else None


def _all_finite(values):
    try:
        entries = values.data if sparse.issparse(values) else np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        return False
    return bool(np.isfinite(entries).all())


def _spenders(model):
    """Return those that have a budget and a ledger of their own: a pipeline, or its steps."""
    return [model] if hasattr(model, "ledger") else private_steps(model)


def _is_pipeline(model):
    return isinstance(model, Pipeline)


def _check(pipeline):
    from skdp.pipeline.walk import check_private_pipeline

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


def quiet():
    """Return a context in which nothing warns: how often would tell the number of trials."""
    return warnings.catch_warnings(action="ignore")
