"""The recipe of linear models trained by SGD without noise and released once with noise."""

import math
from abc import ABCMeta
from dataclasses import replace
from numbers import Integral, Real

import numpy as np

from skdp._admission import Interval, StrOptions
from skdp._groups import GROUP_CONSTRAINTS
from skdp.linear_model.clipped_rows import clipped_rows
from skdp.linear_model.output_perturbed import (
    SCALE,
    OutputPerturbedLinearModel,
    released_once,
)
from skdp.stability.noise import NOISE_RULES
from skdp.stability.sgd_choices import (
    Averaging,
    Ball,
    EveryPass,
    LastIterate,
    Participation,
    Projection,
    SuffixAverage,
    UniformAverage,
    WholeSpace,
)
from skdp.stability.sgd_plan import StableSGDPlan, planned_strong_convexity
from skdp.stability.sgd_run import StableRun
from skdp.stability.sgd_steps import (
    ConstantStep,
    InverseSquareRootStep,
    InverseStep,
    OptimalStep,
    StepSizes,
)
from skdp.training.stable_descent import Descent, descend

#: Schedules without a parameter, and those that need `eta0`.
SCHEDULES = {"inverse": InverseStep, "optimal": OptimalStep}
SCALED_SCHEDULES = {"constant": ConstantStep, "invscaling": InverseSquareRootStep}
AVERAGES = {False: LastIterate, True: UniformAverage, "suffix": SuffixAverage}


class StableSGDModel(OutputPerturbedLinearModel, metaclass=ABCMeta):
    """Linear model that is the outcome of stable SGD.

    A subclass turns y into targets and names the loss; plan, charge, run and release are here.
    """

    _parameter_constraints = {  # noqa: RUF012  (scikit-learn's convention)
        **{
            name: allowed
            for name, allowed in OutputPerturbedLinearModel._parameter_constraints.items()
            if name not in ("bound", "tol")
        },
        "alpha": [StrOptions({"auto"}), Interval(Real, 0, 1e30, closed="both")],
        "n_epochs": [Interval(Integral, 1, None, closed="left")],
        "batch_size": [Interval(Integral, 1, None, closed="left")],
        "learning_rate": [StrOptions({*SCHEDULES, *SCALED_SCHEDULES}), StepSizes],
        "eta0": [SCALE, None],
        "average": ["boolean", StrOptions({"suffix"}), Averaging],
        "projection": [StrOptions({"auto"}), SCALE, Projection, None],
        "participation": [Participation, None],
        **GROUP_CONSTRAINTS,
    }

    def _fit_release(self, X, targets, weights, *, loss, max_weight, assumptions, slots=None):
        """Plan, spend, run, release: once the budget is spent there is no other outcome."""
        rows_per_unit = 1 if slots is None else slots.per_group
        if slots is not None:
            self._refuse_groups_that_sit_out()
            X, targets, weights = slots.data(X, targets, weights)
        plan = self._plan(loss, self._domain(X.shape, max_weight, rows_per_unit))
        n_weights = loss.n_outputs * plan.run.domain.n_features
        rule = self._weight_threshold(plan.mechanism, n_weights)
        statement = self._statement(plan, assumptions, self._unit_facts(slots))
        self._warn_of_large_delta(X.shape[0] // rows_per_unit, stacklevel=5)
        rng = self._random_source(stacklevel=5)
        self._spend(statement)
        passes = plan.run.passes(rng)
        outcome = descend(self._descent(plan.run), clipped_rows(self, X), targets, weights, passes)
        self._store(plan, rule, statement, plan.mechanism.release(outcome, rng))

    def _plan(self, loss, domain):
        """Fix everything that depends on public facts alone."""
        run = StableRun(
            loss,
            domain,
            self._steps(),
            n_passes=int(self.n_epochs),
            batch_size=self._batch_size(domain),
            averaging=self._averaging(),
            participation=EveryPass() if self.participation is None else self.participation,
        )
        l1, l2 = self._penalty(run)
        run = replace(run, l1=l1, l2=l2, projection=self._ball(loss, domain, l2))
        return StableSGDPlan.for_run(run, self._budget(), NOISE_RULES[self.noise])

    def _batch_size(self, domain):
        if self.batch_size > domain.n_samples:
            raise ValueError(
                f"batch_size={self.batch_size} is larger than the number of rows, "
                f"{domain.n_samples}."
            )
        return int(self.batch_size)

    def _steps(self):
        name = self.learning_rate
        if isinstance(name, StepSizes) or name in SCHEDULES:
            if self.eta0 is not None:
                raise ValueError(
                    "eta0 is set, but only learning_rate='constant' and 'invscaling' use it."
                )
            return name if isinstance(name, StepSizes) else SCHEDULES[name]()
        if self.eta0 is None:
            raise ValueError(
                f"learning_rate={name!r} needs eta0, and the noise is proportional to it. Set eta0."
            )
        return SCALED_SCHEDULES[name](self._number("eta0"))

    def _averaging(self):
        average = self.average
        return average if isinstance(average, Averaging) else AVERAGES[average]()

    def _penalty(self, run):
        """Return l1 and l2. "auto" is 0 where the schedule does not divide by it."""
        l1_ratio = self._number("l1_ratio")
        if self.alpha != "auto":
            alpha = self._number("alpha")
            if run.steps.needs_penalty and alpha * (1 - l1_ratio) == 0:
                raise ValueError(
                    f"learning_rate={self.learning_rate!r} divides by the L2 penalty, alpha * (1 - "
                    f"l1_ratio), which is 0 with alpha={self.alpha!r} and l1_ratio="
                    f"{self.l1_ratio!r}. Set alpha above 0 and l1_ratio below 1, or "
                    "learning_rate='constant' and eta0."
                )
            return alpha * l1_ratio, alpha * (1 - l1_ratio)
        if not run.steps.needs_penalty:
            if l1_ratio > 0:
                raise ValueError(
                    "l1_ratio is set, but alpha='auto' is 0 for a schedule that does not divide by "
                    "it. Set alpha."
                )
            return 0.0, 0.0
        if l1_ratio == 1:
            raise ValueError(
                "alpha='auto' chooses the L2 penalty, which l1_ratio=1 does without. Set l1_ratio "
                "below 1."
            )
        rule = NOISE_RULES[self.noise]
        l2 = planned_strong_convexity(run.loss, run.domain, run.n_steps, self._budget(), rule)
        return l2 * l1_ratio / (1 - l1_ratio), l2

    def _ball(self, loss, domain, l2):
        if isinstance(self.projection, Projection):
            return self.projection
        if self.projection is None:
            return WholeSpace()
        if self.projection != "auto":
            return Ball(self._number("projection"))
        return minimiser_ball(loss, domain, l2)

    def _descent(self, run):
        last = isinstance(run.averaging, LastIterate)
        return Descent(
            loss=run.loss,
            sizes=run.sizes,
            averaging=None if last else run.averaging.weights(run.n_steps),
            batch_size=run.batch_size,
            l1=run.l1,
            l2=run.l2,
            radius=run.projection.radius,
            constant=run.domain.intercept_scaling,
        )

    def _refuse_groups_that_sit_out(self):
        participation = EveryPass() if self.participation is None else self.participation
        if participation.chance(int(self.n_epochs)) < 1:
            raise ValueError(
                f"{type(participation).__name__} counts with the chance that a row sits out all "
                "passes, and the rows of a group sit out one by one: no bound is proved for groups."
                " Leave participation None, or max_rows_per_group."
            )

    def _statement(self, plan, assumptions, unit):
        return released_once(
            self, plan.curve, plan.theorem, plan.sensitivity, assumptions, unit=unit
        )

    def _store(self, plan, rule, statement, released):
        self._mechanism = plan.mechanism
        self.privacy_ = statement
        self.sensitivity_ = plan.mechanism.total_sensitivity
        self.noise_scale_ = plan.mechanism.noise_scale
        self.alpha_ = plan.run.l1 + plan.run.l2
        self.radius_ = plan.run.projection.radius
        self.n_steps_ = plan.run.n_steps
        self.threshold_ = rule.value
        self.coef_ = rule.apply(released[:, : self.n_features_in_])
        self.intercept_ = (
            released[:, -1] * self._constant() if self.fit_intercept else np.zeros(len(released))
        )


def minimiser_ball(loss, domain, l2):
    """Return the ball that holds the minimiser for losses whose slope it must bound, else none."""
    if math.isfinite(loss.gradient_bound(domain.kappa, math.inf)) or l2 == 0:
        return WholeSpace()
    return Ball(loss.minimiser_radius(domain.kappa, domain.max_weight, l2))
