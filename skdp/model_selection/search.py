"""Grid search and randomised search on private rows."""

from numbers import Integral, Real

import numpy as np
from sklearn.base import MetaEstimatorMixin, clone, is_classifier
from sklearn.model_selection import ParameterGrid, ParameterSampler
from sklearn.utils import get_tags
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping
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
from skdp.model_selection.candidates import (
    Candidates,
    declared_groups,
    private_steps,
    refuse_inadmissible,
    vouched_for,
)
from skdp.model_selection.metadata import Metadata, Units, routed
from skdp.model_selection.plan import Parts, Plan, Rows
from skdp.model_selection.rehearsal import StandIn
from skdp.model_selection.strategies import ExponentialChoice, RandomTrials
from skdp.privacy import Neighbours, PrivacyStatement
from skdp.privacy.statement import noise_source
from skdp.privacy.trial_laws import TrialLaw

__all__ = ["PrivateGridSearchCV", "PrivateRandomizedSearchCV"]

_SHAPES = {"logarithmic": 0.0, "geometric": 1.0, "poisson": np.inf}


def _has(name):
    return lambda search: hasattr(getattr(search, "best_estimator_", search.estimator), name)


def _relation(offer, unit):
    """Return the relation that all fits share, or refuse."""
    statements = [statement for one in offer.tried for statement in one.statements]
    relation = statements[0].neighbours
    if relation is Neighbours.ADD_OR_REMOVE_ONE:
        raise ValueError(
            "Rows are split by their place, so that their number has to be public: choose "
            "estimators of relation replace-one or zero-out."
        )
    if any(statement.unit != unit for statement in statements):
        raise ValueError(
            f"Fits protect rows, or groups of them, and not all the same: the unit here is a {unit}"
            ". Pass groups= to every private step, or to none."
        )
    return relation


class _PrivateSearch(MetaEstimatorMixin, PrivateEstimator):
    """What both searches share: plan, spend once, run, release the winner."""

    _parameter_constraints = {  # noqa: RUF012  (scikit-learn's convention)
        "estimator": [HasMethods(["fit", "predict"])],
        "strategy": [StrOptions({"random", "exponential"})],
        "epsilon": [Interval(Real, 0, None, closed="neither")],
        "delta": [Interval(Real, 0, 1, closed="left")],
        "n_trials": [Interval(Real, 1, 1e4, closed="right")],
        "trials": [StrOptions({"auto", *_SHAPES})],
        "held_out": [Interval(Real, 0, 1, closed="neither")],
        "error_bound": [Interval(Real, 0, None, closed="neither")],
        "n_jobs": [None, Integral],
        "verbose": ["verbose"],
        "ledger": [None, HasMethods("spend")],
        "random_state": ["random_state", NumpyGenerator],
    }

    @fit_context(prefer_skip_nested_validation=False)
    def fit(self, X, y=None, **params):
        """Spend once, fit candidates, release the winner.

        Parameters
        ----------
        X : {array-like, CSR matrix} of shape (n_samples, n_features)
            Private rows.
        y : array-like of shape (n_samples,)
            Private labels or numbers.
        **params : dict
            `sample_weight` and `groups`, as :class:`sklearn.model_selection.GridSearchCV` passes
            them on: by their names to an estimator, as ``step__groups`` to a pipeline, or by
            metadata routing where that is enabled. Weights count in fits, not in scores.

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
        metadata = Metadata.admit(routed(self, params), X)
        if index is not None:
            import pandas as pd

            X = pd.DataFrame(X, columns=index)
        rng = self._random_source(stacklevel=4)
        strategy = self._strategy()
        candidates, plan, units = self._plan(X, classes, metadata, strategy, rng)
        rows = Rows(X, y, metadata, units)
        refuse_inadmissible(plan, rows)
        statement = self._statement(strategy, plan, units)
        self._warn_of_large_delta(units.n, stacklevel=4)
        self._spend(statement)
        self._store(strategy.run(plan, rows, rng), candidates, statement, classes)
        return self

    def get_metadata_routing(self):
        """Return where metadata goes: to the fits of the estimator."""
        fits = MethodMapping().add(caller="fit", callee="fit")
        return MetadataRouter(owner=self).add(estimator=self.estimator, method_mapping=fits)

    def _strategy(self):
        if self.strategy == "exponential":
            return ExponentialChoice()
        trials = self.trials
        if trials == "auto":
            trials = "poisson" if self._number("delta") > 0 else "logarithmic"
        return RandomTrials(TrialLaw(self._number("n_trials"), _SHAPES[trials]))

    def _declared_classes(self):
        steps = private_steps(self.estimator)
        return getattr(steps[-1], "classes", None)

    def _plan(self, X, classes, metadata, strategy, rng):
        """Fix everything from public facts; every candidate is tried on rows of zeros."""
        params = self._params(rng)
        n = metadata.n_units(X.shape[0], declared_groups(self.estimator))
        n_held_out = max(1, round(self._number("held_out") * n))
        n_training = strategy.n_training(n, n_held_out, max(1, len(params)))
        if n_training < 2:
            raise ValueError(
                f"n_samples={n} rows or groups leave {n_training} for each fit; at least 2 are "
                "needed. Take fewer candidates, hold out less, or choose strategy='random'."
            )
        seed = int(rng.words(1)[0] >> 33) if rng.seeded else None
        candidates = Candidates(self.estimator, params, classes, n_training, seed)
        units = Units.of(n, metadata, candidates.rows_per_group)
        stand_in = StandIn.of(X, classes, n_training, metadata)
        offer = strategy.offer(self._budget(), candidates, stand_in)
        n_parts = strategy.n_parts(len(candidates.models))
        plan = Plan(
            candidates.models,
            offer,
            _relation(offer, "row" if units.slots is None else "group"),
            Parts.drawn(n, n_held_out, n_training, n_parts, rng),
            self._absolute_points() if classes is None else np.equal,
            self.n_jobs,
        )
        return candidates, plan, units

    def _absolute_points(self):
        bound = self._number("error_bound")
        return lambda predicted, y: 1 - np.minimum(np.abs(predicted - y) / bound, 1.0)

    def _statement(self, strategy, plan, units):
        from skdp.privacy.accounting import EventCurve

        return PrivacyStatement(
            curve=EventCurve(plan.offer.event),
            budget=self._budget(),
            neighbours=plan.neighbours,
            theorem=strategy.theorem,
            assumptions=(
                *units.assumptions,
                "The candidates were not chosen by looking at this data.",
                "Only the winner leaves: how long the search took, how much memory it used and how "
                "many fits there were stay unknown.",
                *dict.fromkeys(fact for m in plan.models for fact in vouched_for(m)),
            ),
            noise=noise_source(seeded=self.random_state is not None),
            unit="row" if units.slots is None else "group",
            verified=all(s.verified for one in plan.offer.tried for s in one.statements),
        )

    def _store(self, winner, candidates, statement, classes):
        self.best_estimator_ = winner.model
        for step in private_steps(winner.model):
            step.set_params(random_state=None)
        # It was one of several trials: what holds for it is what the search promises.
        for part in (winner.model, *private_steps(winner.model)):
            if hasattr(part, "privacy_"):
                part.privacy_ = statement
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
    trials : {"auto", "logarithmic", "geometric", "poisson"}, default="auto"
        The law of the number of trials, for "random". "auto" is "poisson" with delta above 0, and
        "logarithmic" for 0, which Poisson has no guarantee for. Of the laws of one mean,
        "logarithmic" is often 1, where the search is a random choice; "poisson" hardly ever.
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
    under the relation and for the unit (row, or group) of the estimator, replace-one or zero-out.
    For "random", fit and noisy score of a trial see disjoint units, so that it costs the greater of
    the two. Where delta is above 0, a trial is priced by the Renyi divergences of what the fits
    are, the greatest of the candidates' at each order, and of its score, by Theorems 2 and 6 of
    Papernot and Steinke (2022). Where that is not less, or no divergence is known, it is
    priced by its (e, d): within d of an e-DP trial (Kairouz, Oh and Viswanath 2015), so that the
    best of K trials is within d E[K] of the best of such trials, which is (2 + shape) e-DP, or
    follows a Renyi curve; delta is (1 + exp(epsilon)) d E[K] and what the curve takes. Public: the
    number of units, the columns, the classes, the candidates, all parameters. No trial is ever
    shown; whoever can measure how long the search took could guess their number, which the
    guarantee does not cover.

    A fit that fails on some rows counts as one that has seen none: an error would tell that its
    candidate was drawn. What can be refused without looking at a trial is refused before anything
    is spent.

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
        trials="auto",
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
        trials="auto",
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
