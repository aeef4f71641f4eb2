"""Grid search and randomised search on private rows."""

from numbers import Integral, Real

import numpy as np
from sklearn.base import MetaEstimatorMixin, clone, is_classifier
from sklearn.model_selection import ParameterGrid, ParameterSampler
from sklearn.utils import get_tags
from sklearn.utils.metaestimators import available_if

from skdp._admission import (
    HasMethods,
    Interval,
    StrOptions,
    admit_labels,
    admit_training,
    check_is_fitted,
    fit_context,
)
from skdp._estimator import PrivateEstimator
from skdp._random import NumpyGenerator
from skdp.model_selection.candidates import Candidates, private_steps, quiet, stand_in
from skdp.model_selection.strategies import ExponentialChoice, Plan, RandomTrials
from skdp.privacy import Neighbours, PrivacyStatement
from skdp.privacy.statement import noise_source
from skdp.privacy.trial_laws import TrialLaw

__all__ = ["PrivateGridSearchCV", "PrivateRandomizedSearchCV"]

_SHAPES = {"logarithmic": 0.0, "geometric": 1.0, "poisson": np.inf}


def _has(name):
    return lambda search: hasattr(getattr(search, "best_estimator_", search.estimator), name)


class _PrivateSearch(MetaEstimatorMixin, PrivateEstimator):
    """What both searches share: plan, spend once, run, release the winner."""

    _parameter_constraints = {  # noqa: RUF012  (scikit-learn's convention)
        "estimator": [HasMethods(["fit", "predict"])],
        "strategy": [StrOptions({"random", "exponential"})],
        "epsilon": [Interval(Real, 0, None, closed="neither")],
        "delta": [Interval(Real, 0, 1, closed="left")],
        "n_trials": [Interval(Real, 1, 1e4, closed="right")],
        "trials": [StrOptions(set(_SHAPES))],
        "held_out": [Interval(Real, 0, 1, closed="neither")],
        "error_bound": [Interval(Real, 0, None, closed="neither")],
        "n_jobs": [None, Integral],
        "verbose": ["verbose"],
        "ledger": [None, HasMethods("spend")],
        "random_state": ["random_state", NumpyGenerator],
    }

    @fit_context(prefer_skip_nested_validation=False)
    def fit(self, X, y=None):
        """Spend once, fit candidates, release the winner.

        Parameters
        ----------
        X : {array-like, CSR matrix} of shape (n_samples, n_features)
            Private rows.
        y : array-like of shape (n_samples,)
            Private labels or numbers.

        Returns
        -------
        self
        """
        classifies = is_classifier(self.estimator)
        names = getattr(X, "columns", None)
        index = names if hasattr(X, "iloc") else None
        X, y = admit_training(self, X, y, y_numeric=not classifies)
        classes = None
        if classifies:
            classes, places = admit_labels(y, self._declared_classes())
            y = classes[places]
        if index is not None:
            import pandas as pd

            X = pd.DataFrame(X, columns=index)
        rng = self._random_source(stacklevel=4)
        strategy = self._strategy()
        candidates, plan = self._plan(X, classes, strategy, rng)
        statement = self._statement(strategy, plan)
        self._warn_of_large_delta(X.shape[0], stacklevel=4)
        if self.ledger is not None:
            self.ledger.spend(statement, purpose=f"{type(self).__name__}.fit")
        self._store(strategy.run(plan, (X, y), rng), candidates, statement, classes)
        return self

    def _strategy(self):
        if self.strategy == "exponential":
            return ExponentialChoice()
        return RandomTrials(TrialLaw(self._number("n_trials"), _SHAPES[self.trials]))

    def _declared_classes(self):
        steps = private_steps(self.estimator)
        return getattr(steps[-1], "classes", None)

    def _plan(self, X, classes, strategy, rng):
        """Fix everything from public facts; every candidate is tried on rows of zeros."""
        candidates = Candidates(self.estimator, self._params(rng), classes)
        n, n_candidates = X.shape[0], len(candidates.models)
        n_held_out = max(1, round(self._number("held_out") * n))
        n_training = strategy.n_training(n, n_held_out, n_candidates)
        if n_training < 2:
            raise ValueError(
                f"n_samples={n} rows leave {n_training} for each fit; at least 2 are needed. Take "
                "fewer candidates, hold out less, or choose strategy='random'."
            )
        trial = strategy.fit_budget(self._budget(), n_candidates)
        candidates.with_budget(trial)
        with quiet():
            stand_ins, neighbours = candidates.tried(*stand_in(X, classes, n_training))
        if neighbours is Neighbours.ADD_OR_REMOVE_ONE:
            raise ValueError(
                "Rows are split by their place, so that their number has to be public: choose "
                "estimators of relation replace-one or zero-out."
            )
        points = self._absolute_points() if classes is None else np.equal
        plan = Plan(
            candidates.models,
            stand_ins,
            trial,
            neighbours,
            n,
            n_held_out,
            n_training,
            points,
            self.n_jobs,
        )
        return candidates, plan

    def _absolute_points(self):
        bound = self._number("error_bound")
        return lambda predicted, y: 1 - np.minimum(np.abs(predicted - y) / bound, 1.0)

    def _statement(self, strategy, plan):
        from skdp.privacy.accounting import EventCurve

        return PrivacyStatement(
            curve=EventCurve(strategy.event(self._budget(), plan.fit_budget, plan.neighbours)),
            budget=self._budget(),
            neighbours=plan.neighbours,
            theorem=strategy.theorem,
            assumptions=(
                "The number of rows, the columns and the classes are public, and so is how X is "
                "stored.",
                "The candidates were not chosen by looking at this data.",
                "Only the winner leaves: how long the search took, how much memory it used and how "
                "many fits there were stay unknown.",
                "The split into parts follows the places of rows, never their values.",
            ),
            noise=noise_source(seeded=self.random_state is not None),
            verified=all(
                step.privacy_.verified for m in plan.stand_ins for step in private_steps(m)
            ),
        )

    def _store(self, winner, candidates, statement, classes):
        self.best_estimator_ = winner.model
        for step in private_steps(winner.model):
            # It was one of several trials: what holds for it is what the search promises.
            step.set_params(random_state=None)
            step.privacy_ = statement
        self.best_params_ = clone(candidates.params[winner.place], safe=False)
        self.best_score_ = winner.score
        self.cv_results_ = {
            "params": [self.best_params_],
            "mean_test_score": np.array([winner.score]),
            "rank_test_score": np.array([1], dtype=np.int32),
            **{
                f"param_{key}": np.ma.MaskedArray([value], dtype=object)
                for key, value in self.best_params_.items()
            },
        }
        self.best_index_ = 0
        self.multimetric_ = False
        self.privacy_ = statement
        if classes is not None:
            self.classes_ = classes

    @available_if(_has("predict"))
    def predict(self, X):
        """Predict with the winner."""
        return self._winner().predict(X)

    @available_if(_has("predict_proba"))
    def predict_proba(self, X):
        """Return the winner's probabilities."""
        return self._winner().predict_proba(X)

    @available_if(_has("predict_log_proba"))
    def predict_log_proba(self, X):
        """Return the winner's log probabilities."""
        return self._winner().predict_log_proba(X)

    @available_if(_has("decision_function"))
    def decision_function(self, X):
        """Return the winner's decision function."""
        return self._winner().decision_function(X)

    @available_if(_has("score"))
    def score(self, X, y=None):
        """Return the winner's own score on rows; no noise is added, nothing is charged."""
        return self._winner().score(X, y)

    def _winner(self):
        check_is_fitted(self)
        return self.best_estimator_

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        inner = get_tags(self.estimator)
        tags.estimator_type = inner.estimator_type
        tags.classifier_tags = inner.classifier_tags
        tags.regressor_tags = inner.regressor_tags
        tags.input_tags.sparse = inner.input_tags.sparse
        tags.target_tags.required = True
        return tags


_COMMON = """
    epsilon : float, default=1.0
        Privacy loss of the whole search. More than 15 is planned as 15.
    delta : float, default=0.0
        Of the whole search, in [0, 1).
    strategy : {"random", "exponential"}, default="random"
        "random" fits a random number of candidates, drawn with replacement, on all rows that are
        not held out; each costs about half of epsilon, however many candidates there are.
        "exponential" fits each candidate once, on rows of its own, with all of epsilon.
    trials : {"logarithmic", "geometric", "poisson"}, default="logarithmic"
        The law of the number of trials, for "random".
    n_trials : float, default=10.0
        Its mean, above 1.
    held_out : float, default=0.2
        Share of the rows that are kept for scores.
    error_bound : float, default=1.0
        For a regressor, the error from which on a row earns nothing. A classifier scores accuracy.
    n_jobs : int or None, default=None
        Number of threads.
    verbose : int, default=0
        Accepted and without effect: progress would show how many trials there were.
    ledger : Ledger or None, default=None
        Where each search spends, once, before it looks at the rows.
    random_state : None, int, RandomState or Generator, default=None
        For tests only: it warns.

    Attributes
    ----------
    best_estimator_ : estimator
        The winner as it was fitted for its trial; nothing is fitted again.
    best_params_ : dict
        Its parameters.
    best_score_ : float
        Its noisy score, too high by the luck of the best; NaN for "exponential", which releases
        none.
    cv_results_ : dict
        Of the winner alone.
    classes_ : ndarray of shape (n_classes,)
        Of a classifier.
    n_features_in_ : int
        Number of features.
    privacy_ : PrivacyStatement
        What the whole search promised.

    Notes
    -----
    *Guarantees.* (epsilon, delta)-differential privacy of the winner, its parameters and its score,
    under the relation of the estimator (replace-one or zero-out). For "random", a trial is
    (e, d)-DP: fit and noisy score see disjoint rows. So it is within d of an e-DP trial (Kairouz,
    Oh and Viswanath 2015), and the best of K trials within d E[K] of the best of such trials, which
    is (2 + shape) e-DP, or follows the Renyi curve of Papernot and Steinke (2022), whichever is
    less; delta is (1 + exp(epsilon)) d E[K] and what the curve takes. Public: the number of rows,
    the columns, the classes, the candidates, all parameters. No trial is ever shown; whoever can
    measure how long the search took could guess their number, which the guarantee does not cover.

    References
    ----------
    Papernot and Steinke (2022), Hyperparameter tuning with Renyi differential privacy, Theorems 2
    and 6. Chaudhuri, Monteleoni and Sarwate (2011), Differentially private empirical risk
    minimization, section 6.
"""


class PrivateGridSearchCV(_PrivateSearch):  # noqa: D101  (built below)
    __doc__ = f"""Grid search that pays for its choice.

    Parameters
    ----------
    estimator : estimator
        A private estimator of skdp, or a pipeline with one. Its budget, ledger and seed are set by
        the search.
    param_grid : dict or list of dict
        Public, as for :class:`sklearn.model_selection.GridSearchCV`.{_COMMON}
    Examples
    --------
    >>> import numpy as np
    >>> from skdp.linear_model import PrivateElasticNetClassifier
    >>> from skdp.model_selection import PrivateGridSearchCV
    >>> X = np.repeat([[1.0, 0.0], [0.0, 1.0]], 300, axis=0)
    >>> y = np.repeat([0, 1], 300)
    >>> model = PrivateElasticNetClassifier(classes=[0, 1])
    >>> search = PrivateGridSearchCV(model, {{"alpha": [0.01, 0.1, 1.0]}}, epsilon=2.0).fit(X, y)
    >>> search.privacy_
    PrivacyStatement(epsilon=2, delta=..., neighbours=replace-one, unit=row)
    >>> len(search.cv_results_["params"])
    1
    """

    _parameter_constraints = {  # noqa: RUF012
        **_PrivateSearch._parameter_constraints,
        "param_grid": [dict, list],
    }

    def __init__(
        self,
        estimator,
        param_grid,
        *,
        epsilon=1.0,
        delta=0.0,
        strategy="random",
        trials="logarithmic",
        n_trials=10.0,
        held_out=0.2,
        error_bound=1.0,
        n_jobs=None,
        verbose=0,
        ledger=None,
        random_state=None,
    ):
        self.estimator = estimator
        self.param_grid = param_grid
        self.epsilon = epsilon
        self.delta = delta
        self.strategy = strategy
        self.trials = trials
        self.n_trials = n_trials
        self.held_out = held_out
        self.error_bound = error_bound
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.ledger = ledger
        self.random_state = random_state

    def _params(self, rng):
        return list(ParameterGrid(self.param_grid))


class PrivateRandomizedSearchCV(_PrivateSearch):  # noqa: D101  (built below)
    __doc__ = f"""Search among candidates drawn from public distributions that pays for its choice.

    Parameters
    ----------
    estimator : estimator
        A private estimator of skdp, or a pipeline with one.
    param_distributions : dict or list of dict
        Public, as for :class:`sklearn.model_selection.RandomizedSearchCV`.
    n_iter : int, default=10
        Number of candidates that are drawn, without looking at the rows. It is public, and not the
        number of trials.{_COMMON}
    Examples
    --------
    >>> import numpy as np
    >>> from scipy.stats import loguniform
    >>> from skdp.linear_model import PrivateElasticNetClassifier
    >>> from skdp.model_selection import PrivateRandomizedSearchCV
    >>> X, y = np.repeat([[1.0, 0.0], [0.0, 1.0]], 300, axis=0), np.repeat([0, 1], 300)
    >>> model = PrivateElasticNetClassifier(classes=[0, 1])
    >>> search = PrivateRandomizedSearchCV(model, {{"alpha": loguniform(1e-3, 1)}}).fit(X, y)
    >>> sorted(search.best_params_)
    ['alpha']
    """

    _parameter_constraints = {  # noqa: RUF012
        **_PrivateSearch._parameter_constraints,
        "param_distributions": [dict, list],
        "n_iter": [Interval(Integral, 1, None, closed="left")],
    }

    def __init__(
        self,
        estimator,
        param_distributions,
        *,
        n_iter=10,
        epsilon=1.0,
        delta=0.0,
        strategy="random",
        trials="logarithmic",
        n_trials=10.0,
        held_out=0.2,
        error_bound=1.0,
        n_jobs=None,
        verbose=0,
        ledger=None,
        random_state=None,
    ):
        self.estimator = estimator
        self.param_distributions = param_distributions
        self.n_iter = n_iter
        self.epsilon = epsilon
        self.delta = delta
        self.strategy = strategy
        self.trials = trials
        self.n_trials = n_trials
        self.held_out = held_out
        self.error_bound = error_bound
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.ledger = ledger
        self.random_state = random_state

    def _params(self, rng):
        seed = int(rng.words(1)[0] >> 33)
        return list(ParameterSampler(self.param_distributions, int(self.n_iter), random_state=seed))
