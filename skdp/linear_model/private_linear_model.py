"""The recipe of linear models that plan themselves: admit, choose, spend, release."""

import warnings
from abc import ABCMeta, abstractmethod
from dataclasses import replace
from numbers import Integral, Real
from typing import NamedTuple

import numpy as np
from scipy import sparse

from skdp._admission import HasMethods, Interval, StrOptions, check_is_fitted
from skdp._estimator import PrivateEstimator
from skdp._random import NumpyGenerator
from skdp.exceptions import LittleToLearnWarning, PrivacyError
from skdp.linear_model.clipped_rows import ClippedRowsMixin
from skdp.linear_model.linear_choice import DENSE_COLUMNS, LinearFacts
from skdp.linear_model.output_perturbed import SCALE
from skdp.linear_model.ridge_model import COLUMNS, RELATION_FACTS
from skdp.objectives import Loss
from skdp.privacy import Neighbours, PrivacyStatement
from skdp.privacy.statement import noise_source
from skdp.records import canonical_rows
from skdp.training.automatic import PublicFacts
from skdp.training.descent import DescentFacts, DescentRun, LinearModel
from skdp.training.iterate_noise import NoisyWeights, iterate_deviation
from skdp.training.optimizers import Descent
from skdp.training.poisson_sampling import PoissonSampler
from skdp.training.standardise import unit_rows

EXPECTED = (
    "All settings follow from expected_samples={}, a constant that nobody computed from the data."
)


class LinearTask(NamedTuple):
    """What is to be learnt.

    Attributes
    ----------
    targets : ndarray of shape (n_samples,)
        As `loss` wants them.
    labels : ndarray of shape (n_samples,) or None
        Labels of a regression, in [-1, 1].
    loss : Loss
    places : ndarray of shape (n_samples,) or None
        Place of each row's class.
    assumption : str
        What a statement must say of labels.
    """

    targets: object
    labels: object
    loss: Loss
    places: object
    assumption: str


class _Charging:
    """The ledger of an inner estimator: hands its statement on before it touches the rows."""

    def __init__(self, charge):
        self._charge = charge

    def spend(self, statement, *, purpose, parameters=None):
        self._charge(statement)

    def cover(self, statement, *, purpose, assumption):
        raise PrivacyError("A single fit covers nothing.")


class PrivateLinearModel(ClippedRowsMixin, PrivateEstimator, metaclass=ABCMeta):
    """Linear model whose mechanism and settings follow from public facts."""

    _parameter_constraints = {  # noqa: RUF012  (scikit-learn's convention)
        "epsilon": [Interval(Real, 0, None, closed="neither")],
        "delta": [Interval(Real, 0, 1, closed="neither")],
        "row_norm": [SCALE],
        "neighbours": [
            StrOptions({"zero-out", "add-or-remove-one", "replace-one"}),
            Neighbours,
        ],
        "expected_samples": [Interval(Integral, 1, 2**53, closed="both"), None],
        "ledger": [None, HasMethods("spend")],
        "random_state": ["random_state", NumpyGenerator],
    }

    @abstractmethod
    def _baseline(self, facts):
        """Return the calibrated release of what is predicted without columns."""

    @abstractmethod
    def _sparse_model(self, sampler):
        """Return the model of sparse rows, in units of their bounds, for this sampler."""

    @abstractmethod
    def _store(self, model, facts):
        """Set the attributes of a `LinearModel` that was fitted by what `facts` say."""

    def _fit_task(self, X, task, y):
        X = canonical_rows(X)
        if sparse.issparse(X) and X.shape[1] <= DENSE_COLUMNS:
            X = X.toarray()
        facts = LinearFacts(self._facts(X, task), self.mechanism)
        choice = facts.choice
        if facts.descent.neighbours is not Neighbours.ADD_OR_REMOVE_ONE:
            self._warn_of_large_delta(X.shape[0], stacklevel=5)
        self._warn_of_baseline(choice, stacklevel=5)
        model = getattr(self, f"_by_{choice.mechanism}")(X, task, y, facts)
        self.choice_ = choice
        self._store(model, facts)

    def _facts(self, X, task):
        relation, expected = Neighbours(self.neighbours), self.expected_samples
        private = relation is Neighbours.ADD_OR_REMOVE_ONE
        if private and expected is None:
            raise ValueError(
                "neighbours='add-or-remove-one' keeps the number of rows private: set "
                "expected_samples to about as many as there may be, a number known beforehand."
            )
        if expected is not None and not private:
            raise ValueError(
                f"expected_samples is set, but neighbours={relation.value!r} takes the number of "
                "rows as public, and uses it."
            )
        return DescentFacts(
            n_records=int(expected) if private else X.shape[0],
            n_features=X.shape[1],
            n_outputs=task.loss.n_outputs,
            epsilon=self._number("epsilon"),
            delta=self._number("delta"),
            neighbours=relation,
            smoothness=float(task.loss.smoothness),
            has_labels=task.labels is not None,
            is_sparse=sparse.issparse(X),
        )

    def _warn_of_baseline(self, choice, stacklevel):
        if choice.mechanism == "baseline" and self.mechanism == "auto":
            warnings.warn(
                f"{choice.reason} The budget is spent on the labels alone. More rows or a larger "
                "epsilon would help; mechanism='descent' uses the columns all the same.",
                LittleToLearnWarning,
                stacklevel=stacklevel + 1,
            )

    def _by_descent(self, X, task, y, facts):
        from skdp.privacy.accounting import EventCurve

        run = DescentRun.planned(facts.descent, self._budget(), self._number("row_norm"))
        run.refuse_large_size()
        rng = self._announced(task, facts, EventCurve(run.plan.event), run.plan.theorem)
        return run.train(
            unit_rows(X, run.preparation.row_norm), task.targets, task.labels, task.loss, rng
        ).in_units_of(run.preparation.row_norm)

    def _by_baseline(self, X, task, y, facts):
        release = self._baseline(facts.descent)
        theorem = f"{release.theorem}. {release.mechanism.theorem}"
        rng = self._announced(task, facts, release.mechanism, theorem)
        known = task.places if task.labels is None else task.labels
        intercept = release.intercepts(known, rng)
        return LinearModel(np.zeros((X.shape[1], len(intercept))), intercept)

    def _by_sparse_dpsgd(self, X, task, y, facts):
        """Hand rows in units of their bound to the estimator that is made for sparse ones."""
        row_norm = self._number("row_norm")
        model = self._sparse_model(self._sampler(facts.descent))
        model.set_params(random_state=self.random_state)
        clipped = f"Each row is clipped to Euclidean norm {row_norm}, a declared bound."
        self._fit_inner(model, unit_rows(X, row_norm), y, facts, clipped)
        coef, intercept = np.atleast_2d(model.coef_).T / row_norm, np.atleast_1d(model.intercept_)
        return LinearModel(coef, intercept, _noisy(model))

    def _fit_inner(self, model, X, y, facts, *further):
        """Fit another estimator, and state and charge what it promises as this one's own."""
        private = facts.descent.neighbours is Neighbours.ADD_OR_REMOVE_ONE
        expected = (EXPECTED.format(self.expected_samples),) if private else ()

        def charge(statement):
            assumptions = (*statement.assumptions, *expected, *further)
            self.privacy_ = replace(statement, assumptions=assumptions)
            self._spend(self.privacy_)

        model.set_params(ledger=_Charging(charge)).fit(X, y)

    def _sampler(self, facts):
        size = (facts.n_features + 1) * facts.n_outputs
        public = PublicFacts(
            facts.n_records, size, facts.epsilon, facts.delta, 1, 0.5, facts.smoothness
        )
        batch = public.batch_size()
        return PoissonSampler(batch / facts.n_records, batch, facts.neighbours)

    def _announced(self, task, facts, curve, theorem):
        """State, charge and return the source of randomness: what follows has no other outcome."""
        relation = facts.descent.neighbours
        private = relation is Neighbours.ADD_OR_REMOVE_ONE
        statement = PrivacyStatement(
            curve=curve,
            budget=self._budget(),
            neighbours=relation,
            theorem=theorem,
            assumptions=(
                RELATION_FACTS[relation],
                *((EXPECTED.format(self.expected_samples),) if private else ()),
                COLUMNS,
                f"Each row is clipped to Euclidean norm {self._number('row_norm')}, a bound that "
                "was declared, not computed from the data.",
                task.assumption,
                "No parameter of the model was chosen by looking at this data.",
            ),
            noise=noise_source(seeded=self.random_state is not None),
        )
        rng = self._random_source(stacklevel=7)
        self._spend(statement)
        self.privacy_ = statement
        return rng

    def explain_choice(self):
        """Return in words which mechanism fitted the model, and why; all of it is public.

        Returns
        -------
        str
            The mechanism, the reason and the settings.
        """
        check_is_fitted(self)
        return str(self.choice_)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def _noisy(model):
    """Return how noisy the mean of SGD's iterates is, for rows of norm at most 1."""
    n_steps = model.n_steps_
    descent = Descent(
        learning_rates=np.full(n_steps, model.learning_rate_),
        divisor=model.batch_size_,
        decay=0.0,
        n_free=0,
        average_from=n_steps // 2,
    )
    noise = model.noise_multiplier_ * model.max_grad_norm
    return NoisyWeights(iterate_deviation(descent, noise), 1.0)
