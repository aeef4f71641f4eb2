"""Which steps of a pipeline may be fitted on private rows: from parameters alone."""

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field
from typing import Any, NoReturn, final

import numpy as np
from sklearn.compose import ColumnTransformer, make_column_selector
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import FeatureUnion, Pipeline

from skdp.exceptions import LeakyPipelineError
from skdp.pipeline.budgeted import budget_prefix
from skdp.pipeline.data_independent import DATA_INDEPENDENT, Problem
from skdp.pipeline.promises import RowByRow
from skdp.pipeline.refused import UNKNOWN, refusal_of
from skdp.pipeline.verdicts import Kind, PipelineCheck, StepCheck

__all__ = ["check_private_pipeline", "walked"]

_NOTHING = (None, "passthrough", "drop")
_VOUCHED = "Step {!r} learned nothing from private rows and maps each row by itself."


def check_private_pipeline(pipeline: Any, *, public: Collection[str] = ()) -> PipelineCheck:
    """Check that nothing of private rows leaves a pipeline but through a private step.

    Looks at classes and parameters alone; no row is needed. Each step learns nothing from rows (by
    a maintained list of exact classes and parameters), or is private, or is refused.

    Parameters
    ----------
    pipeline : Pipeline, ColumnTransformer, FeatureUnion or estimator
        Fitted or not. Nested as deeply as you like.
    public : collection of str, default=()
        Names of steps that learn nothing from private rows and map each row by itself, which you
        vouch for; outer__inner for a step within another. For classes that are not on the list, for
        functions, and for a :class:`~sklearn.frozen.FrozenEstimator` around something that was
        fitted on public data. A class that is known to learn from rows, or to do so with the
        parameters that it has, is refused all the same: freeze one that was fitted elsewhere.

    Returns
    -------
    PipelineCheck
        Prints as one line for each step.

    Raises
    ------
    LeakyPipelineError
        Names the first step that is refused, why, and what to use instead.
    ValueError
        If `public` names a step that does not exist or needs no voucher.

    Notes
    -----
    *Guarantees.* Steps after the first may be given what earlier ones made of the rows: each row is
    mapped by itself, by means of parameters and of what was released, so that neighbours stay
    neighbours. The storage of the table (columns, their types, dense or sparse) is assumed to be
    public, so read a file with declared types: a reader that infers them lets one cell decide.

    Examples
    --------
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import Normalizer, StandardScaler
    >>> from skdp.linear_model import PrivateElasticNetClassifier
    >>> from skdp.pipeline import check_private_pipeline
    >>> model = PrivateElasticNetClassifier(classes=[0, 1])
    >>> print(check_private_pipeline(make_pipeline(Normalizer(), model)))
    normalizer (Normalizer): data-independent. Each row is divided by its own norm.
    privateelasticnetclassifier (PrivateElasticNetClassifier): private. It spends a budget.
    >>> check_private_pipeline(make_pipeline(StandardScaler(), model))
    Traceback (most recent call last):
    ...
    skdp.exceptions.LeakyPipelineError: Step 'standardscaler' (StandardScaler) is refused: ...
    """
    return PipelineCheck(tuple(check for _, check in walked(pipeline, public)))


def walked(
    pipeline: Any, public: Collection[str] = (), *, fitted: bool = False
) -> list[tuple[Any, StepCheck]]:
    """Return the innermost steps, each with what was found out; raise for one that leaks.

    With `fitted`, those that a column transformer fitted in the place of its own.
    """
    if isinstance(public, str):
        raise TypeError(f"public must be a collection of names, got the string {public!r}.")
    walk = _Walk(frozenset(public), fitted)
    found = list(walk.of("", pipeline))
    idle = sorted(walk.public - walk.used)
    if idle:
        raise ValueError(
            f"public={idle} names no step that needs a voucher. Steps: "
            f"{[check.name for _, check in found]}."
        )
    return found


Found = Iterator[tuple[Any, StepCheck]]


@final
@dataclass
class _Walk:
    public: frozenset[str]
    fitted: bool
    used: set[str] = field(default_factory=set)

    def of(self, name: str, step: Any) -> Found:
        """Yield the innermost steps of one step."""
        if step is None or (isinstance(step, str) and step in _NOTHING):
            return
        _refuse_replaced_methods(name, step)
        container = self._containers().get(type(step))
        if container is not None:
            yield from container(name, step)
        elif _is_private_pipeline(step):
            yield from self._private_pipeline(name, step)
        elif budget_prefix(step) is not None:
            yield self._found(name, step, "private", "It spends a budget.")
        else:
            yield self._leaf(name, step)

    def _containers(self) -> dict[type, Callable[[str, Any], Found]]:
        return {
            Pipeline: self._pipeline,
            ColumnTransformer: self._columns,
            FeatureUnion: self._union,
            FrozenEstimator: self._frozen,
        }

    def _pipeline(self, name: str, step: Any) -> Found:
        if step.memory is not None:
            _refuse(
                name,
                step,
                Problem(
                    "memory keeps private rows on a disk, and how fast it answers tells whether "
                    "rows are the same as before",
                    "leave memory at None",
                ),
            )
        if step.transform_input is not None:
            _refuse(
                name,
                step,
                Problem(
                    "transform_input passes further rows to a step, which nothing here counts",
                    "leave transform_input at None",
                ),
            )
        _refuse_timings(name, step)
        yield from self._each(name, step.steps)

    def _private_pipeline(self, name: str, step: Any) -> Found:
        inner = list(self._pipeline(name, step))
        if name:
            yield self._found(name, step, "private", "It spends one budget on all of its steps.")
        else:
            yield from inner

    def _columns(self, name: str, step: Any) -> Found:
        _refuse_timings(name, step)
        branches = [(key, branch) for key, branch, c in step.transformers if not _is_empty(c)]
        branches.append(("remainder", step.remainder))
        for key, _, columns in step.transformers:
            if callable(columns) and type(columns) is not make_column_selector:
                _refuse(
                    _within(name, key),
                    step,
                    Problem(
                        "a callable that chooses columns sees the rows",
                        "name the columns, or use make_column_selector, which sees names and types",
                    ),
                )
        found = list(self._each(name, self._fitted_in(step, branches)))
        _refuse_workers(name, step, found)
        if step.sparse_threshold != 0 and not all(_only_dense(b) for _, b in branches):
            _refuse(
                name,
                step,
                Problem(
                    "sparse_threshold lets the number of non-zero cells, and so one row, decide "
                    "whether its output is dense or sparse",
                    "set sparse_threshold=0, or let every branch end in an encoder with "
                    "sparse_output=False or a PublicRangeScaler",
                ),
            )
        yield from found

    def _fitted_in(self, step: Any, branches: list[tuple[str, Any]]) -> list[tuple[str, Any]]:
        """Return the branches, those that were fitted in the place of their prototypes."""
        made = {key: branch for key, branch, _ in getattr(step, "transformers_", ())}
        return [
            (key, made.get(key, branch) if self.fitted and not isinstance(branch, str) else branch)
            for key, branch in branches
        ]

    def _union(self, name: str, step: Any) -> Found:
        _refuse_timings(name, step)
        found = list(self._each(name, step.transformer_list))
        _refuse_workers(name, step, found)
        yield from found

    def _each(self, name: str, steps: Any) -> Found:
        for key, step in steps:
            yield from self.of(_within(name, key), step)

    def _frozen(self, name: str, step: Any) -> Found:
        inner = step.estimator
        if hasattr(inner, "privacy_") and budget_prefix(inner) is not None:
            yield self._found(
                name, step, "released before", "It was fitted privately and paid for earlier."
            )
        elif type(inner) in DATA_INDEPENDENT and not self._is_vouched(name):
            _, check = self._leaf(name, inner)
            yield step, check
        elif self._is_vouched(name):
            yield self._vouched(name, step)
        else:
            _refuse(
                name,
                step,
                Problem(
                    f"it is frozen, and what its {type(inner).__name__} has learned may be from "
                    "private rows",
                    f"if it was fitted on public data alone, say so: public=[{name!r}]",
                ),
            )

    def _leaf(self, name: str, step: Any) -> tuple[Any, StepCheck]:
        entry = DATA_INDEPENDENT.get(type(step))
        if entry is None:
            return self._unlisted(name, step)
        problem = next(entry.problems(step), None)
        if problem is None:
            return self._listed(name, step, entry.reason)
        if getattr(step, "func", None) is not None and self._is_vouched(name):
            return self._vouched(name, step)
        raise _refused(name, step, problem)

    def _listed(self, name: str, step: Any, reason: str) -> tuple[Any, StepCheck]:
        if any(isinstance(value, RowByRow) for value in vars(step).values()):
            return self._found(name, step, "vouched for", _VOUCHED.format(name))
        return self._found(name, step, "data-independent", reason)

    def _unlisted(self, name: str, step: Any) -> tuple[Any, StepCheck]:
        refusal = refusal_of(step)
        if refusal is None and self._is_vouched(name):
            return self._vouched(name, step)
        refusal = refusal or UNKNOWN
        raise _refused(name, step, Problem(refusal.why, refusal.instead))

    def _is_vouched(self, name: str) -> bool:
        return name in self.public

    def _vouched(self, name: str, step: Any) -> tuple[Any, StepCheck]:
        self.used.add(name)
        return self._found(name, step, "vouched for", _VOUCHED.format(name))

    def _found(self, name: str, step: Any, kind: Kind, reason: str) -> tuple[Any, StepCheck]:
        return step, StepCheck(name or type(step).__name__, type(step).__name__, kind, reason)


def _within(outer: str, inner: str) -> str:
    return f"{outer}__{inner}" if outer else inner


def _refuse(name: str, step: Any, problem: Problem) -> NoReturn:
    raise _refused(name, step, problem)


def _refused(name: str, step: Any, problem: Problem) -> LeakyPipelineError:
    kind = type(step).__name__
    return LeakyPipelineError(name or kind, kind, problem.why, problem.instead)


def _is_empty(columns: Any) -> bool:
    """Whether a choice of columns is none, so that scikit-learn does not fit the branch."""
    if isinstance(columns, str) or not hasattr(columns, "__len__"):
        return False
    chosen = list(columns)
    return not chosen or (all(isinstance(c, bool | np.bool_) for c in chosen) and not any(chosen))


def _refuse_replaced_methods(name: str, step: Any) -> None:
    """A class says what a step does only as long as the step uses its methods."""
    own = vars(step) if hasattr(step, "__dict__") else {}
    replaced = sorted(key for key in own if callable(getattr(type(step), key, None)))
    if replaced:
        _refuse(
            name,
            step,
            Problem(
                f"{replaced} of this object are not those of its class, and may do anything",
                "make a new object of the class",
            ),
        )


def _refuse_timings(name: str, step: Any) -> None:
    if step.verbose:
        _refuse(
            name,
            step,
            Problem(
                "verbose prints how long each step took, which depends on the rows",
                "leave verbose at False",
            ),
        )


def _refuse_workers(name: str, step: Any, found: list[tuple[Any, StepCheck]]) -> None:
    if step.n_jobs not in (None, 1) and any(check.kind == "private" for _, check in found):
        _refuse(
            name,
            step,
            Problem(
                "n_jobs fits private steps in several processes at once, where one pipeline cannot "
                "count them in order",
                "leave n_jobs at None",
            ),
        )


def _only_dense(step: Any) -> bool:
    """Whether the output is certainly dense, whatever the input."""
    if isinstance(step, str):
        return step == "drop"
    if type(step) is Pipeline:
        return bool(step.steps) and _only_dense(step.steps[-1][1])
    entry = DATA_INDEPENDENT.get(type(step))
    return entry is not None and entry.only_dense(step)


def _is_private_pipeline(step: Any) -> bool:
    return type(step).__module__.startswith("skdp.") and isinstance(step, Pipeline)
