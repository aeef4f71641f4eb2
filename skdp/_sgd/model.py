"""The recipe of estimators that are trained privately, step by step."""

from abc import ABCMeta, abstractmethod
from dataclasses import dataclass, field, replace
from numbers import Integral, Real
from typing import NamedTuple

import numpy as np
from scipy import sparse

from skdp._admission import HasMethods, Interval, StrOptions, admit_blocks, admit_training
from skdp._estimator import PrivateEstimator
from skdp._groups import GROUP_CONSTRAINTS, GroupedRowsMixin
from skdp._random import NumpyGenerator
from skdp._sgd.settings import SAMPLERS
from skdp.exceptions import BudgetExceededError
from skdp.objectives import Loss
from skdp.privacy import PrivacyStatement
from skdp.privacy.statement import noise_source
from skdp.records import canonical_rows
from skdp.training import NoiseSchedule, RoundRobinBlocks, Sampler
from skdp.training.progress import progress_bar
from skdp.training.run import TrainingRun

DISJOINT = "No record is in two chunks."
DECLARED_BEFOREHAND = "All runs over the same records were charged at the first call."
#: Parameters that later calls of `partial_fit` may change.
_FREE = {"ledger", "random_state", "verbose"}


@dataclass(frozen=True)
class Chunks:
    """What `partial_fit` remembers from one call to the next."""

    run: TrainingRun
    statement: PrivacyStatement
    classes: object
    parameters: dict[str, object]
    n_calls: int
    paid_by: object = field(compare=False, repr=False)


class Task(NamedTuple):
    """What is to be learnt.

    Attributes
    ----------
    targets : ndarray of shape (n_samples,)
        As `loss` wants them.
    loss : Loss
    classes : ndarray or None
        The set of classes, where there is one.
    assumptions : tuple of str
        What a statement must say of them.
    """

    targets: object
    loss: Loss
    classes: object
    assumptions: tuple[str, ...]


class PrivateSGD(GroupedRowsMixin, PrivateEstimator, metaclass=ABCMeta):
    """Estimator whose fitted attributes are the outcome of a private training run.

    A subclass turns y into targets and names the loss, plans the run and trains, stores and hands
    back parameters; charges, statements and chunks are here.
    """

    _parameter_constraints = {  # noqa: RUF012  (scikit-learn's convention)
        "epsilon": [Interval(Real, 0, None, closed="neither")],
        "delta": [Interval(Real, 0, 1, closed="left")],
        "n_epochs": [StrOptions({"auto"}), Interval(Real, 0, 1e9, closed="neither")],
        "batch_size": [StrOptions({"auto"}), Interval(Integral, 1, None, closed="left")],
        "sampling": [StrOptions(set(SAMPLERS)), Sampler],
        "learning_rate": [StrOptions({"auto"}), Interval(Real, 1e-12, 1e12, closed="both")],
        "alpha": [Interval(Real, 0, 1e12, closed="both")],
        "average": ["boolean"],
        "noise_schedule": [NoiseSchedule, None],
        "chunks": [StrOptions({"disjoint", "same"})],
        "n_partial_fits": [Interval(Integral, 1, None, closed="left")],
        **GROUP_CONSTRAINTS,
        "ledger": [HasMethods(["spend", "cover"]), None],
        "random_state": ["random_state", NumpyGenerator],
        "verbose": ["verbose"],
    }

    @abstractmethod
    def _task(self, y, classes):
        """Return the `Task`; refuse labels that are inadmissible."""

    @abstractmethod
    def _run(self, shape, task, *, is_sparse, sampler, n_runs, rows_per_group):
        """Return the calibrated `TrainingRun` for records of this shape and storage, both public.

        With `rows_per_group`, records are groups of so many rows at most.
        """

    @abstractmethod
    def _released(self, run, X, task, start, rng, progress):
        """Return the released parameters, flat; `start` is where to begin, None for afresh."""

    @abstractmethod
    def _store(self, run, statement, classes, released):
        """Set the fitted attributes."""

    @abstractmethod
    def _flat_parameters(self):
        """Return the released parameters as `_released` returned them."""

    def _assumed_of_storage(self, run, is_sparse):
        """Return what is assumed of how these rows are treated."""
        return ()

    def _refuse_other_storage(self, run, is_sparse):
        """Refuse a chunk that is stored in a way that a run does not take."""

    def _first_classes(self, classes):
        """Return the classes of a first chunk, which is not to say which there are, and why."""
        return classes, ()

    def _in_slots(self, run, X, task, slots):
        """Return run, rows and task where a record is a group with these rows."""
        return run.over(slots), X, task

    def _fit(self, X, y, blocks, groups):
        X, y = self._admit(X, y)
        task = self._task(y, None)
        slots = self._slots(groups, len(y))
        if slots is not None and blocks is not None:
            raise ValueError(
                "blocks= and groups= are given: a group may have rows in several blocks, and would "
                "pay in each of them. Pass one of the two."
            )
        sampler = None if blocks is None else self._block_sampler(blocks, len(y))
        run = self._planned(X, task, sampler=sampler, slots=slots)
        run.refuse_large_size()
        statement = self._statement(run, sparse.issparse(X), task.assumptions, slots)
        rng = self._random_source(stacklevel=5)
        self._spend(statement)
        if slots is not None:
            run, X, task = self._in_slots(run, X, task, slots)
        released = self._train(run, X, task, None, rng)
        vars(self).pop("_chunks", None)
        self._store(run, statement, task.classes, released)

    def _partial_fit(self, X, y, classes):
        if self.max_rows_per_group is not None:
            raise ValueError(
                f"max_rows_per_group={self.max_rows_per_group!r} protects groups, of which "
                "partial_fit knows nothing: a group might have rows in several chunks. Call "
                "fit(X, y, groups=...)."
            )
        self._refuse_ambiguous_unit(None)
        before = getattr(self, "_chunks", None)
        if before is not None:
            self._refuse_further_call(before)
        if before is None:
            classes, known = self._first_classes(classes)
        X, y = self._admit(X, y, reset=before is None, min_samples=1)
        if before is not None:
            self._refuse_other_classes(classes, before.classes)
            self._refuse_other_storage(before.run, sparse.issparse(X))
            classes = before.classes
        task = self._task(y, classes)
        if before is None:
            run = self._planned(X, task, n_runs=self._n_runs())
            run.refuse_large_size()
            assumptions = (*task.assumptions, *known, *self._sharing())
            statement = self._statement(run, sparse.issparse(X), assumptions)
        else:
            run = self._next_run(before, X.shape[0])
            statement = before.statement
        rng = self._random_source(stacklevel=5)
        for _ in range(0 if before is None else before.n_calls):
            rng.spawn()  # a seed must not draw the noise of the call before once more
        self._charge(before, statement)
        start = None if before is None else self._flat_parameters()
        released = self._train(run, X, task, start, rng.spawn())
        self._store(run, statement, task.classes, released)
        self._chunks = Chunks(
            run=run if before is None else before.run,
            statement=statement,
            classes=task.classes,
            parameters=self._fixed_parameters(),
            n_calls=1 if before is None else before.n_calls + 1,
            paid_by=self.ledger,
        )

    def _admit(self, X, y, **how):
        X, y = admit_training(self, X, y, y_numeric=self._y_numeric, **how)
        return canonical_rows(X), y

    def _planned(self, X, task, *, sampler=None, n_runs=1, slots=None):
        run = self._run(
            (X.shape[0] if slots is None else slots.n_groups, X.shape[1]),
            task,
            is_sparse=sparse.issparse(X),
            sampler=sampler,
            n_runs=n_runs,
            rows_per_group=None if slots is None else slots.per_group,
        )
        self._warn_of_large_delta(run.plan.sampler.public_size, stacklevel=6)
        return run

    def _block_sampler(self, blocks, n_records):
        if self.batch_size != "auto" or self.sampling != "poisson":
            raise ValueError(
                "blocks take turns whole: leave batch_size and sampling at their defaults."
            )
        places, n_blocks = admit_blocks(blocks, n_records)
        return RoundRobinBlocks(places, n_blocks)

    def _statement(self, run, is_sparse, assumptions, slots=None):
        from skdp.privacy.accounting import EventCurve

        stored = self._assumed_of_storage(run, is_sparse)
        return PrivacyStatement(
            curve=EventCurve(run.plan.event),
            budget=self._budget(),
            neighbours=run.plan.sampler.neighbours,
            theorem=run.plan.theorem,
            assumptions=(*self._shared_assumptions(run, slots), *assumptions, *stored),
            noise=noise_source(seeded=self.random_state is not None),
            unit="row" if slots is None else "group",
        )

    def _shared_assumptions(self, run, slots):
        noise, relation = run.plan.noise, run.plan.sampler.neighbours.value
        if slots is None:
            unit = (*RELATION_FACTS[relation], COLUMNS_ARE_PUBLIC)
        else:
            unit = (GROUP_RELATION_FACTS[relation], *self._unit_facts(slots)[1])
        return (
            *unit,
            f"Each row's gradient, intercept included, is clipped to Euclidean norm "
            f"{run.plan.max_grad_norm}, a declared bound.",
            "No parameter of the model was chosen by looking at this data.",
            *((noise.assumption,) if noise.adaptive else ()),
        )

    def _n_runs(self):
        if self.chunks == "same":
            return self.n_partial_fits
        if self.n_partial_fits != 1:
            raise ValueError(
                f"n_partial_fits={self.n_partial_fits} is for chunks='same'; disjoint chunks may "
                "be any number."
            )
        return 1

    def _sharing(self):
        if self.chunks == "disjoint":
            return (f"{DISJOINT} The user vouches for it; n_samples refers to a chunk.",)
        return (f"At most {self.n_partial_fits} calls of partial_fit share this budget.",)

    def _refuse_further_call(self, before):
        if before.parameters != self._fixed_parameters():
            raise ValueError(
                "Parameters were changed after the first call of partial_fit, which fixed the "
                "noise. Make a new estimator."
            )
        if self.chunks == "same" and before.n_calls >= self.n_partial_fits:
            raise BudgetExceededError(
                f"{before.n_calls} of n_partial_fits={self.n_partial_fits} calls were made; "
                "epsilon and delta are used up. Nothing was read or released."
            )

    def _next_run(self, before, n_records):
        if self.chunks == "same":
            before.run.plan.sampler.admit(n_records)
        run = before.run.for_records(n_records)
        run.refuse_inexact_sums()
        self._warn_of_large_delta(run.plan.sampler.public_size, stacklevel=6)
        return run

    def _refuse_other_classes(self, given, known):
        if given is not None and not np.array_equal(np.unique(given), known):
            raise ValueError(
                f"classes={given!r} is not what the first call of partial_fit was given, {known!r}."
            )

    def _charge(self, before, statement):
        if self.ledger is None:
            return
        purpose = f"{type(self).__name__}.partial_fit"
        if before is None or before.paid_by is not self.ledger:
            self._spend(statement, "partial_fit")
        else:
            covered = DISJOINT if self.chunks == "disjoint" else DECLARED_BEFOREHAND
            self.ledger.cover(statement, purpose=purpose, assumption=covered)

    def _fixed_parameters(self):
        params = self.get_params(deep=False)
        return {k: _comparable(v) for k, v in params.items() if k not in _FREE}

    def _train(self, run, X, task, start, rng):
        with progress_bar(run.plan, self._number("delta"), self.verbose) as progress:
            return self._released(run, X, task, start, rng, progress)

    def _store_facts(self, run, statement, classes):
        """Set the fitted attributes that do not depend on the data."""
        plan = run.plan
        self.privacy_ = statement
        self.noise_multiplier_ = plan.noise.level
        self.n_steps_ = plan.n_steps
        self.batch_size_ = plan.sampler.divisor
        self.learning_rate_ = run.learning_rate
        if classes is not None:
            self.classes_ = classes

    def __getstate__(self):
        """Leave seed and ledger out of what a fitted model is saved or copied as."""
        state = super().__getstate__()
        if "_chunks" in state:
            state = {**state, "_chunks": replace(state["_chunks"], paid_by=None)}
        return state

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


COLUMNS_ARE_PUBLIC = (
    "The columns are public, and so is how X is stored (float32 or float64, dense or sparse)."
)
GROUP_RELATION_FACTS = {
    "zero-out": (
        "A neighbour has all rows of one group replaced by null rows, whose gradients are zero, "
        "intercept included."
    ),
    "replace-one": "A neighbour has the rows of one group replaced by any others.",
}
RELATION_FACTS = {
    "zero-out": (
        "The number of rows is public; a neighbour has one row replaced by a null row, whose "
        "gradient is zero, intercept included.",
    ),
    "replace-one": (
        "The number of rows is public; a neighbour has one row replaced by any other.",
    ),
    "add-or-remove-one": (
        "The number of rows is private: sampling probability, expected batch size, number of "
        "steps and all settings are constants that nobody computed from it.",
    ),
}


def _comparable(value):
    if isinstance(value, np.ndarray):
        return tuple(np.asarray(value).ravel().tolist())
    if isinstance(value, tuple | list):
        return tuple(map(_comparable, value))
    return id(value) if hasattr(value, "shape") else value  # tables have no truth value
