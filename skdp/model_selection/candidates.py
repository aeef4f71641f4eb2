"""Candidates of a private search: checked, given a budget, tried on stand-in rows."""

import warnings
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone

from skdp._random import RandomSource
from skdp.exceptions import PrivacyError
from skdp.model_selection.searchable import (
    is_pipeline,
    parts_of,
    private_steps,
    public_randomness,
    spenders,
)
from skdp.pipeline.refusals import quoting_nothing
from skdp.pipeline.rehearsal import Rehearsal, Spent
from skdp.pipeline.statements import with_fixed_pairs
from skdp.privacy import PrivacyBudget

__all__ = ["Candidates", "Tried", "quiet"]

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
#: With it a fit is tried that refuses to go without a delta.
_SOME_DELTA = 1e-6


class Tried(NamedTuple):
    """A candidate that was fitted on stand-in rows: a function of public facts and noise.

    Attributes
    ----------
    model : estimator
        Fitted.
    statements : list of PrivacyStatement
        What each step promised.
    fixed : list of PrivacyStatement
        The same, as far as it will hold for other rows.
    """

    model: Any
    statements: list[Any]
    fixed: list[Any]

    @property
    def event(self):
        """What a fit is, whatever the rows."""
        return _together(self.fixed)

    @property
    def precision(self):
        """What finite precision adds to delta."""
        from skdp.privacy.events import precision_delta_of

        return precision_delta_of(_together(self.statements))

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
    rng : RandomSource or None, default=None
        Bits of the search for steps that draw public random numbers; None is the system. A seeded
        one seeds the fits on stand-in rows, for tests.

    Raises
    ------
    ValueError, TypeError
        If a candidate is not private or a parameter is the search's own affair.
    """

    def __init__(self, estimator, params, classes, n_groups, rng=None):
        if not params:
            raise ValueError("There is no candidate: the grid is empty.")
        self.params = params
        self._estimator = estimator
        self._classes = classes
        self._n_groups = n_groups
        self._rng = RandomSource.from_system() if rng is None else rng
        self._seed = self._number() if self._rng.seeded else None
        self.models = [self._candidate(chosen) for chosen in params]

    def _candidate(self, chosen):
        for name in chosen:
            last = name.rpartition("__")[2]
            if last in _RESERVED:
                raise ValueError(f"{name!r} cannot be searched: {_RESERVED[last]}.")
        model = clone(self._estimator).set_params(**clone(chosen, safe=False))
        for step in private_steps(model):
            self._prepare(step)
        for spender in spenders(model):
            spender.set_params(ledger=None)
        self._fix_public_randomness(model)
        return model

    def _fix_public_randomness(self, model):
        """Let all fits of a candidate draw the same public numbers, and no shared generator.

        The state of numpy's own generator would count the trials afterwards, and what the winner
        drew would tell which of them it was.
        """
        names = public_randomness(model)
        model.set_params(**{name: self._number() for name in names})

    def _number(self):
        return int(self._rng.words(1)[0] >> np.uint64(33))

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
            those = spenders(model)
            for spender in those:
                spender.set_params(epsilon=budget.epsilon / len(those))
                if "delta" in spender.get_params():
                    spender.set_params(delta=budget.delta / len(those))

    def rehearsed(self, budget, stand_in):
        """Return the event of each fit with this budget, which is not run where that is enough."""
        self.with_budget(budget)
        ends = (None if is_pipeline(model) else 1 for model in self.models)
        return [
            self._fit(model, stand_in, end).event
            for model, end in zip(self.models, ends, strict=True)
        ]

    def tried(self, budget, stand_in):
        """Fit each with this budget on stand-in rows: what would be refused later is refused here.

        Returns
        -------
        list of Tried
        """
        self.with_budget(budget)
        try:
            tried = [self._fit(model, stand_in) for model in self.models]
        except ValueError:
            if budget.delta > 0 or not self._need_delta(budget, stand_in):
                raise
            tried = None
        if tried is None:  # outside of `except`, so that it does not speak of a fit's own delta
            names = ", ".join(type(step).__name__ for step in private_steps(self._estimator))
            raise ValueError(
                f"A fit of {names} needs a delta above 0, and delta of the search is 0. The search "
                "divides its own epsilon and delta among its fits, whatever those of the "
                "estimator: set delta of the search above 0, well below 1 / n_samples."
            )
        _refuse_several_relations(tried)
        return tried

    def _need_delta(self, budget, stand_in):
        """Whether fits that were refused without a delta are not refused with one."""
        self.with_budget(PrivacyBudget(budget.epsilon, _SOME_DELTA))
        try:
            for model in self.models:
                self._fit(model, stand_in)
        except ValueError:
            return False
        finally:
            self.with_budget(budget)
        return True

    def _fit(self, model, stand_in, end=None):
        ledger, model = Rehearsal(end), clone(model)
        steps = private_steps(model)
        for spender in spenders(model):
            spender.set_params(ledger=ledger)
        for i, step in enumerate(steps):
            step.set_params(random_state=None if self._seed is None else self._seed + i)
        try:
            with quiet():
                quoting_nothing(
                    lambda: model.fit(stand_in.X, stand_in.y, **stand_in.metadata), parts_of(model)
                )
        except Spent:
            pass
        for spender in spenders(model):
            spender.set_params(ledger=None)
        if len(ledger.statements) != len(steps):
            raise PrivacyError("A private step spent nothing, or more than once.")
        statements = ledger.statements
        return Tried(model, statements, with_fixed_pairs(steps, statements))


def _together(statements):
    from dp_accounting import dp_event

    events = [statement.event for statement in statements]
    return events[0] if len(events) == 1 else dp_event.ComposedDpEvent(events)


def _refuse_several_relations(tried):
    relations = {statement.neighbours for one in tried for statement in one.statements}
    if len(relations) > 1:
        names = ", ".join(sorted(relation.value for relation in relations))
        raise ValueError(f"The fits differ in their neighbouring relation ({names}).")


def quiet():
    """Return a context in which nothing warns: how often would tell the number of trials."""
    return warnings.catch_warnings(action="ignore")
