"""What both private searches do: plan, spend once, run, release the winner."""

from numbers import Integral, Real

import numpy as np
from sklearn.base import MetaEstimatorMixin, clone, is_classifier
from sklearn.utils import get_tags
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping

from skdp._admission import HasMethods, Interval, StrOptions, admit_labels, fit_context
from skdp._estimator import PrivateEstimator
from skdp._random import NumpyGenerator
from skdp.model_selection.admission import admitted, refuse_inadmissible
from skdp.model_selection.candidates import Candidates
from skdp.model_selection.metadata import Metadata, Units, routed
from skdp.model_selection.plan import Parts, Plan, Rows
from skdp.model_selection.searchable import declared_groups, private_steps, vouched_for
from skdp.model_selection.stand_in import stand_in_for
from skdp.model_selection.strategies import ExponentialChoice, RandomTrials
from skdp.model_selection.winner_methods import WinnerMethodsMixin
from skdp.pipeline.rehearsal import n_rows_of
from skdp.privacy import Neighbours, PrivacyStatement
from skdp.privacy.statement import noise_source
from skdp.privacy.trial_laws import TrialLaw

_SHAPES = {"logarithmic": 0.0, "geometric": 1.0, "poisson": np.inf}


class PrivateSearch(WinnerMethodsMixin, MetaEstimatorMixin, PrivateEstimator):
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

    def __init__(
        self,
        estimator,
        *,
        epsilon,
        delta,
        strategy,
        trials,
        n_trials,
        held_out,
        error_bound,
        n_jobs,
        verbose,
        ledger,
        random_state,
    ):
        self.estimator = estimator
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

    @fit_context(prefer_skip_nested_validation=False)
    def fit(self, X, y=None, **params):
        """Spend once, fit candidates, release the winner.

        Parameters
        ----------
        X : {array-like, CSR matrix} of shape (n_samples, n_features)
            Private rows, as numbers; of a pipeline, whatever its first steps take, such as a frame
            with texts or a list of texts.
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
        X, y = admitted(self, X, y, y_numeric=not classifies)
        classes = None
        if classifies:
            classes, places = admit_labels(y, self._declared_classes())
            y = classes[places]
        metadata = Metadata.admit(routed(self, params), X)
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
        """Fix everything from public facts; every candidate is tried on stand-in rows."""
        params = self._params(rng)
        n = metadata.n_units(n_rows_of(X), declared_groups(self.estimator))
        n_held_out = max(1, round(self._number("held_out") * n))
        n_training = strategy.n_training(n, n_held_out, max(1, len(params)))
        if n_training < 2:
            raise ValueError(
                f"n_samples={n} rows or groups leave {n_training} for each fit; at least 2 are "
                "needed. Take fewer candidates, hold out less, or choose strategy='random'."
            )
        candidates = Candidates(self.estimator, params, classes, n_training, rng)
        units = Units.of(n, metadata, candidates.rows_per_group)
        stand_in = stand_in_for(candidates.models, X, classes, n_training, metadata)
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

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        inner = get_tags(self.estimator)
        tags.estimator_type = inner.estimator_type
        tags.classifier_tags = inner.classifier_tags
        tags.regressor_tags = inner.regressor_tags
        tags.input_tags.sparse = inner.input_tags.sparse
        tags.target_tags.required = True
        return tags


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
            f"Fits protect {', '.join(sorted({statement.unit for statement in statements}))}, and "
            f"the unit here is a {unit}, not all the same. Pass groups= to every private step, or "
            "to none; steps that read documents cannot be searched."
        )
    return relation
