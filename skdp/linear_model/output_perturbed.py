"""The recipe that private linear models share: admit, plan, spend, solve, release once."""

import copy
import warnings
from abc import ABCMeta
from numbers import Real

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.pipeline import Pipeline
from sklearn.utils.extmath import safe_sparse_dot

from skdp._admission import (
    Interval,
    StrOptions,
    admit_new_rows,
    admit_weights,
    check_is_fitted,
)
from skdp._random import RandomSource
from skdp.exceptions import PrivacyLeakWarning
from skdp.objectives import ElasticNet
from skdp.preprocessing import RowNormClipper
from skdp.privacy import PrivacyBudget, PrivacyStatement
from skdp.privacy.statement import noise_source
from skdp.records import InMemoryRecords, clip_rows
from skdp.stability.domain import Domain
from skdp.stability.erm import GradientDiameterBound, PublishedBound
from skdp.stability.noise import NOISE_RULES
from skdp.stability.output_perturbation import OutputPerturbationPlan, planned_penalty
from skdp.stability.selection import WeightThreshold

BOUNDS = {"tight": GradientDiameterBound(), "paper": PublishedBound()}
SEED_WARNING = (
    "random_state is set: whoever knows it can subtract the noise. Use it for tests; leave it None "
    "for a release."
)


class OutputPerturbedLinearModel(BaseEstimator, metaclass=ABCMeta):
    """Linear model whose exact minimiser is released once with noise.

    A subclass turns y into targets and names the loss; everything else is here.
    """

    _parameter_constraints = {  # noqa: RUF012  (scikit-learn's convention)
        "epsilon": [Interval(Real, 0, None, closed="neither")],
        "delta": [Interval(Real, 0, 1, closed="left")],
        "alpha": [StrOptions({"auto"}), Interval(Real, 0, None, closed="neither")],
        "l1_ratio": [Interval(Real, 0, 1, closed="both")],
        "row_norm": [Interval(Real, 0, None, closed="neither")],
        "fit_intercept": ["boolean"],
        "intercept_scaling": [Interval(Real, 0, None, closed="neither")],
        "noise": [StrOptions(set(NOISE_RULES))],
        "bound": [StrOptions(set(BOUNDS))],
        "threshold": [None, StrOptions({"auto"}), Interval(Real, 0, None, closed="left")],
        "max_sample_weight": [Interval(Real, 0, None, closed="neither")],
        "tol": [Interval(Real, 0, None, closed="neither")],
        "ledger": "no_validation",
        "random_state": ["random_state"],
    }

    def _record_weights(self, sample_weight, X):
        """Return weights clipped to the public bound; None stands for ones."""
        if sample_weight is None and self.max_sample_weight >= 1:
            return None
        return np.minimum(admit_weights(sample_weight, X), self.max_sample_weight)

    def _fit_release(self, X, targets, weights, *, loss, max_weight, assumptions):
        """Plan, spend, solve, release: once the budget is spent there is no other outcome."""
        plan = self._plan(loss, self._domain(X.shape, max_weight))
        statement = self._statement(plan, assumptions)
        rng = RandomSource.for_state(self.random_state)
        if rng.seeded:
            warnings.warn(SEED_WARNING, PrivacyLeakWarning, stacklevel=4)
        if self.ledger is not None:
            self.ledger.spend(statement, purpose=f"{type(self).__name__}.fit")
        constant = self.intercept_scaling if self.fit_intercept else None
        records = InMemoryRecords(clip_rows(X, self.row_norm), targets, weights, constant)
        released = plan.mechanism.release(plan.minimiser(records), rng)
        self._store(plan, statement, released)

    def _domain(self, shape, max_weight):
        return Domain(
            n_samples=shape[0],
            n_features=shape[1],
            row_norm=self.row_norm,
            intercept_scaling=self.intercept_scaling if self.fit_intercept else None,
            max_weight=max_weight,
        )

    def _plan(self, loss, domain):
        """Fix everything that depends on public facts alone."""
        if self.l1_ratio == 1:
            raise ValueError(
                "l1_ratio=1 leaves no strong convexity, so one record can move the minimiser by "
                "any amount and no noise is enough. Set l1_ratio below 1."
            )
        budget = PrivacyBudget(self.epsilon, self.delta)
        rules = {"tol": self.tol, "bound": BOUNDS[self.bound], "noise": NOISE_RULES[self.noise]}
        if self.alpha == "auto":
            penalty = planned_penalty(loss, self.l1_ratio, domain, budget, **rules)
        else:
            penalty = ElasticNet(alpha=self.alpha, l1_ratio=self.l1_ratio)
        return OutputPerturbationPlan.for_penalty(loss, penalty, domain, budget, **rules)

    def _statement(self, plan, assumptions):
        return PrivacyStatement(
            curve=plan.mechanism,
            budget=PrivacyBudget(self.epsilon, self.delta),
            neighbours=plan.sensitivity.neighbours,
            theorem=f"{BOUNDS[self.bound].theorem}. {plan.mechanism.theorem}",
            assumptions=(*self._shared_assumptions(), *assumptions),
            noise=noise_source(seeded=self.random_state is not None),
        )

    def _shared_assumptions(self):
        return (
            "The number of rows and the columns are public.",
            f"Each row is clipped to Euclidean norm {self.row_norm:g}, a bound that was declared, "
            "not computed from the data.",
            "No parameter of the model was chosen by looking at this data.",
        )

    def _store(self, plan, statement, released):
        released = released.reshape(plan.problem.objective.loss.n_outputs, -1)
        self._mechanism = plan.mechanism
        self.privacy_ = statement
        self.sensitivity_ = plan.mechanism.total_sensitivity
        self.noise_scale_ = plan.mechanism.noise_scale
        self.alpha_ = plan.problem.objective.penalty.alpha
        features = released[:, : self.n_features_in_]
        rule = WeightThreshold.named(self.threshold, plan.mechanism, features.size)
        self.threshold_ = rule.value
        self.coef_ = rule.apply(features)
        self.intercept_ = (
            released[:, -1] * self.intercept_scaling
            if self.fit_intercept
            else np.zeros(len(released))
        )

    def _scores(self, X):
        """Scores of clipped rows, shape (n_samples, n_outputs)."""
        rows = clip_rows(admit_new_rows(self, X), self.row_norm)
        return (
            safe_sparse_dot(rows, np.atleast_2d(self.coef_).T, dense_output=True) + self.intercept_
        )

    def get_support(self, indices=False):
        """Return which features have a released weight other than zero.

        Parameters
        ----------
        indices : bool, default=False
            Return the places of the features instead of a mask.

        Returns
        -------
        ndarray of shape (n_features,) of bool, or of int
            A function of the released weights alone, so it costs no budget.
        """
        check_is_fitted(self)
        mask = np.any(np.atleast_2d(self.coef_) != 0, axis=0)
        return np.flatnonzero(mask) if indices else mask

    def flip_probability(self, weight):
        """Return the probability that noise flips the decision on a feature.

        The decision is whether the feature is kept. Without noise a feature of weight 0 is
        dropped and any other is kept; the released one is kept when its noisy weight reaches
        ``threshold_`` in absolute value.

        Parameters
        ----------
        weight : float or array-like
            Hypothetical or released weight; never a non-private one.

        Returns
        -------
        ndarray
            Probabilities, in the shape of `weight`.
        """
        check_is_fitted(self)
        return WeightThreshold(self.threshold_).flip_probability(weight, self._mechanism)

    def _as_pipeline(self, model):
        """Return a plain pipeline that clips rows and applies `model`, which gets our weights."""
        clipper = RowNormClipper(row_norm=self.row_norm)
        for step in (clipper, model):
            step.n_features_in_ = self.n_features_in_
            if hasattr(self, "feature_names_in_"):
                step.feature_names_in_ = self.feature_names_in_
        model.coef_, model.intercept_ = self.coef_.copy(), copy.copy(self.intercept_)
        return Pipeline([("clip", clipper), ("model", model)])

    def __getstate__(self):
        """Leave the seed out of what a fitted model is saved, copied or shown as."""
        state = super().__getstate__()
        return {**state, "random_state": None} if "privacy_" in state else state

    def __repr__(self, N_CHAR_MAX=700):
        return super(OutputPerturbedLinearModel, copy.copy(self)).__repr__(N_CHAR_MAX)

    def _html_repr(self):
        return super(OutputPerturbedLinearModel, copy.copy(self))._html_repr()

    def _get_params_html(self, *args, **kwargs):
        return super(OutputPerturbedLinearModel, copy.copy(self))._get_params_html(*args, **kwargs)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
