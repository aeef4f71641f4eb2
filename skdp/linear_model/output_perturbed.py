"""The recipe that private linear models share: admit, plan, spend, solve, release once."""

from abc import ABCMeta
from numbers import Real

import numpy as np

from skdp._admission import (
    HasMethods,
    Interval,
    StrOptions,
    admit_weights,
)
from skdp._estimator import PrivateEstimator
from skdp._groups import GroupedRowsMixin
from skdp._random import NumpyGenerator
from skdp.linear_model.clipped_rows import ClippedRowsMixin, clipped_rows
from skdp.linear_model.perturbations import BOUNDS, PERTURBATIONS
from skdp.linear_model.support import ThresholdedWeightsMixin
from skdp.privacy import Neighbours, PrivacyStatement
from skdp.privacy.statement import noise_source
from skdp.records import InMemoryRecords
from skdp.stability.domain import Domain
from skdp.stability.noise import NOISE_RULES

#: Scales beyond these have no use, and their powers would leave the range of float64.
SCALE = Interval(Real, 1e-30, 1e30, closed="both")
ROWS_ARE_PUBLIC = (
    "The number of rows and the columns are public, and so is how X is stored (float32 or "
    "float64, dense or sparse).",
)

NULLED = (
    "A neighbour has one {unit} replaced by a null, which adds nothing to the objective, not even "
    "the constant column."
)


def weight_assumptions(sample_weight):
    """Return what weights that were passed add to the assumptions of a statement."""
    if sample_weight is None:
        return ()
    return ("That not all sample weights are 0 is public.",)


def released_once(
    estimator, mechanism, theorem, sensitivity, assumptions, *, verified=True, unit=None
):
    """Return the statement of a model whose coefficients one draw of noise covers.

    `unit` is what one record is and what is assumed of it; None is a row.
    """
    unit, unit_facts = ("row", ROWS_ARE_PUBLIC) if unit is None else unit
    shared = (
        *unit_facts,
        f"Each row is clipped to Euclidean norm {estimator._number('row_norm')}, a bound that was "
        "declared, not computed from the data.",
        "No parameter of the model was chosen by looking at this data.",
    )
    return PrivacyStatement(
        curve=mechanism,
        budget=estimator._budget(),
        neighbours=sensitivity.neighbours,
        theorem=f"{theorem}. {mechanism.theorem}",
        assumptions=(*(shared if verified else ()), *assumptions),
        noise=noise_source(seeded=estimator.random_state is not None),
        unit=unit,
        verified=verified,
    )


class OutputPerturbedLinearModel(
    ClippedRowsMixin,
    ThresholdedWeightsMixin,
    GroupedRowsMixin,
    PrivateEstimator,
    metaclass=ABCMeta,
):
    """Linear model whose exact minimiser is released once with noise.

    A subclass turns y into targets and names the loss; everything else is here.
    """

    _parameter_constraints = {  # noqa: RUF012  (scikit-learn's convention)
        "epsilon": [Interval(Real, 0, None, closed="neither")],
        "delta": [Interval(Real, 0, 1, closed="left")],
        "alpha": [StrOptions({"auto"}), SCALE],
        "l1_ratio": [Interval(Real, 0, 1, closed="both")],
        "row_norm": [SCALE],
        "fit_intercept": ["boolean"],
        "intercept_scaling": [SCALE],
        "noise": [StrOptions(set(NOISE_RULES))],
        "bound": [StrOptions(set(BOUNDS))],
        "perturbation": [StrOptions(set(PERTURBATIONS))],
        "neighbours": [StrOptions({"replace-one", "zero-out"}), Neighbours],
        "threshold": [None, StrOptions({"auto"}), Interval(Real, 0, None, closed="left")],
        "max_sample_weight": [SCALE],
        "tol": [SCALE],
        "ledger": [None, HasMethods("spend")],
        "random_state": ["random_state", NumpyGenerator],
    }

    def _record_weights(self, sample_weight, X):
        """Return weights clipped to the public bound; None stands for ones."""
        limit = self._number("max_sample_weight")
        if sample_weight is None and limit >= 1:
            return None
        return np.minimum(admit_weights(sample_weight, X), limit)

    def _fit_release(self, X, targets, weights, *, loss, max_weight, assumptions, slots=None):
        """Plan, spend, solve, release: once the budget is spent there is no other outcome.

        With `slots`, kept rows move into a table of public size, whose empty slots weigh nothing.
        """
        rows_per_unit = 1 if slots is None else slots.per_group
        if slots is not None:
            X, targets, weights = slots.data(X, targets, weights)
        plan = self._plan(loss, self._domain(X.shape, max_weight, rows_per_unit))
        objective = plan.problem.objective
        n_weights = objective.loss.n_outputs * plan.problem.n_features
        rule = self._weight_threshold(plan.mechanism, n_weights)
        statement = self._statement(plan, assumptions, self._unit_facts(slots))
        self._warn_of_large_delta(X.shape[0] // rows_per_unit, stacklevel=5)
        rng = self._random_source(stacklevel=5)
        self._spend(statement)
        records = InMemoryRecords(clipped_rows(self, X), targets, weights, self._constant())
        self._store(plan, rule, statement, plan.released(records, rng))

    def _constant(self):
        return self._number("intercept_scaling") if self.fit_intercept else None

    def _domain(self, shape, max_weight, rows_per_unit=1):
        return Domain(
            n_samples=shape[0],
            n_features=shape[1],
            row_norm=self._number("row_norm"),
            intercept_scaling=self._constant(),
            max_weight=float(max_weight),
            rows_per_unit=rows_per_unit,
            neighbours=self._relation(),
        )

    def _relation(self):
        """Return the neighbouring relation; models without the parameter have one."""
        return Neighbours(getattr(self, "neighbours", Neighbours.REPLACE_ONE))

    def _plan(self, loss, domain):
        """Fix everything that depends on public facts alone."""
        if self._number("l1_ratio") == 1:
            raise ValueError(
                "l1_ratio=1 leaves no strong convexity, so one record can move the minimiser by "
                "any amount and no noise is enough. Set l1_ratio below 1."
            )
        return PERTURBATIONS[self.perturbation].plan(self, loss, domain)

    def _statement(self, plan, assumptions, unit):
        theorem = PERTURBATIONS[self.perturbation].theorem(self)
        sensitivity = plan.mechanism.sensitivity
        if sensitivity.neighbours is Neighbours.ZERO_OUT:
            assumptions = (NULLED.format(unit=unit[0]), *assumptions)
        return released_once(self, plan.mechanism, theorem, sensitivity, assumptions, unit=unit)

    def _store(self, plan, rule, statement, released):
        released = released.reshape(plan.problem.objective.loss.n_outputs, -1)
        self._mechanism = plan.mechanism
        self.privacy_ = statement
        self.sensitivity_ = plan.mechanism.total_sensitivity
        self.noise_scale_ = plan.mechanism.noise_scale
        self.alpha_ = plan.problem.objective.penalty.alpha
        self.threshold_ = rule.value
        self.coef_ = rule.apply(released[:, : self.n_features_in_])
        self.intercept_ = (
            released[:, -1] * self._constant() if self.fit_intercept else np.zeros(len(released))
        )

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
