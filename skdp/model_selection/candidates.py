"""Candidates of a private search: checked, given a budget, tried on stand-in rows."""

import warnings

import numpy as np
from scipy import sparse
from sklearn.base import clone, is_classifier
from sklearn.pipeline import Pipeline

from skdp._estimator import PrivateEstimator

__all__ = ["Candidates", "stand_in"]

#: What the search itself decides, or would spend or tell beside it.
_RESERVED = {
    "classes": "the search passes the classes of y to every fit",
    "delta": "the search divides its own",
    "epsilon": "the search divides its own",
    "ledger": "the search spends once, for all fits",
    "memory": "it would keep private rows on a disk",
    "n_jobs": "the search runs the fits",
    "neighbours": "all fits share one relation",
    "random_state": "it would repeat noise",
    "sampling": "all fits share one relation",
    "verbose": "it would show fits that are not released",
    "warm_start": "fits have to be independent",
}


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

    Raises
    ------
    ValueError, TypeError
        If a candidate is not private or a parameter is the search's own affair.
    """

    def __init__(self, estimator, params, classes):
        if not params:
            raise ValueError("There is no candidate: the grid is empty.")
        self.params = params
        self._estimator = estimator
        self._classes = classes
        self.models = [self._candidate(chosen) for chosen in params]

    def _candidate(self, chosen):
        for name in chosen:
            last = name.rpartition("__")[2]
            if last in _RESERVED:
                raise ValueError(f"{name!r} cannot be searched: {_RESERVED[last]}.")
        model = clone(self._estimator).set_params(**clone(chosen, safe=False))
        steps = private_steps(model)
        for step in steps:
            if hasattr(step, "classes") and self._classes is not None:
                step.set_params(classes=list(self._classes))
            step.set_params(ledger=None, random_state=None)
            if "warm_start" in step.get_params():
                step.set_params(warm_start=False)
            if "verbose" in step.get_params():
                step.set_params(verbose=0)
        return model

    def with_budget(self, budget):
        """Give every fit this (epsilon, delta), in equal shares where a pipeline has several."""
        for model in self.models:
            steps = private_steps(model)
            for step in steps:
                step.set_params(epsilon=budget.epsilon / len(steps))
                if "delta" in step.get_params():
                    step.set_params(delta=budget.delta / len(steps))

    def tried(self, X, y):
        """Fit each candidate on stand-in rows: whatever would be refused later is refused here.

        Returns
        -------
        models : list of estimators
            Fitted, each a function of public facts and noise.
        neighbours : Neighbours
            The relation that all share.
        """
        models = [clone(model).fit(X, y) for model in self.models]
        relations = {step.privacy_.neighbours for m in models for step in private_steps(m)}
        if len(relations) > 1:
            names = ", ".join(sorted(relation.value for relation in relations))
            raise ValueError(f"The fits differ in their neighbouring relation ({names}).")
        return models, relations.pop()


def private_steps(model):
    """Return the steps that spend a budget, or refuse a model that is not private."""
    if isinstance(model, Pipeline) and not isinstance(model, PrivateEstimator):
        from skdp.pipeline.walk import check_private_pipeline

        found = check_private_pipeline(model).private
        steps = [step for _, step in model.steps if isinstance(step, PrivateEstimator)]
        if len(found) != len(steps):
            raise TypeError(
                "A private step within another step cannot be searched. Put private steps in the "
                "pipeline itself."
            )
    else:
        steps = [model] if isinstance(model, PrivateEstimator) else []
    if not steps or not all(map(_is_ours, steps)):
        raise TypeError(
            f"{type(model).__name__} is not a private estimator of skdp, nor a pipeline in which "
            "one is a step: each of its fits would publish what it learned."
        )
    if any(hasattr(step, "held_out") for step in steps):
        raise TypeError("A search within a search is not supported.")
    if is_classifier(steps[-1]) and not hasattr(steps[-1], "classes"):
        raise TypeError(
            f"{type(steps[-1]).__name__} takes no classes, so that a part of the rows in which one "
            "is absent would be refused after the budget was spent."
        )
    return steps


def _is_ours(step):
    """A subclass may do anything with the rows."""
    return type(step).__module__.startswith("skdp.") and hasattr(step, "epsilon")


def stand_in(X, classes, n):
    """Return n rows of zeros with the columns and storage of X, and labels that hold each class."""
    if hasattr(X, "columns"):
        import pandas as pd

        rows = pd.DataFrame(np.zeros((n, X.shape[1])), columns=X.columns)
    elif sparse.issparse(X):
        rows = sparse.csr_array((n, X.shape[1]), dtype=X.dtype)
        rows = rows if isinstance(X, sparse.sparray) else sparse.csr_matrix(rows)
    else:
        rows = np.zeros((n, X.shape[1]), dtype=X.dtype)
    return rows, np.zeros(n) if classes is None else classes[np.arange(n) % len(classes)]


def quiet():
    """Return a context in which nothing warns: how often would tell the number of trials."""
    return warnings.catch_warnings(action="ignore")
