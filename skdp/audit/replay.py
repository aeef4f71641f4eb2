"""Record and replay: fit on D and on a neighbour D' with the mechanisms' outputs frozen.

All private data reaches a release through `Mechanism.release`. When its outputs are the same in
both fits, everything else that leaves a fit must be the same too, and each input may have moved
by its declared sensitivity at most (the technique of Cebere et al. 2026). For estimators of skdp;
`audit_attributes` looks at others.
"""

import copy
import warnings
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from typing import Any, final

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, clone

from skdp.mechanisms import Mechanism
from skdp.mechanisms.stable_histogram import KeyedCounts
from skdp.mechanisms.statistics import SparseSum
from skdp.stability.objective_perturbation import RecordsToTilt

__all__ = [
    "RecordingLedger",
    "ReplayAudit",
    "Trace",
    "fit_trace",
    "frozen_releases",
    "record_and_replay",
    "recorded",
    "same",
    "violations",
]


@final
@dataclass
class Trace:
    """What left one fit, apart from the frozen outputs."""

    mechanisms: list[Any] = field(default_factory=list)
    inputs: list[Any] = field(default_factory=list)
    outputs: list[Any] = field(default_factory=list)
    values: list[Any] = field(default_factory=list)
    spent: list[Any] = field(default_factory=list)
    warnings: list[Any] = field(default_factory=list)
    error: tuple[type, str] | None = None
    attributes: dict[str, Any] = field(default_factory=dict)


@final
class RecordingLedger:
    """A ledger that only remembers."""

    def __init__(self) -> None:
        self.spent: list[Any] = []

    def __sklearn_clone__(self) -> "RecordingLedger":
        return self

    def spend(self, statement: Any, *, purpose: str, parameters: Any = None) -> None:
        """Remember a release."""
        self.spent.append((purpose, statement.to_dict()))

    def cover(self, statement: Any, *, purpose: str, assumption: str) -> None:
        """Remember a release that an earlier one has paid for."""
        self.spent.append((purpose, statement.to_dict(), assumption))


@contextmanager
def frozen_releases(trace: Trace, outputs: list[Any] | None = None) -> Iterator[None]:
    """Write each release into `trace`; with `outputs`, answer with those instead of fresh noise."""
    original = Mechanism.release

    def release(self: Any, value: Any, rng: Any) -> Any:
        place = len(trace.inputs)
        trace.mechanisms.append(self)
        given = original(self, value, rng) if outputs is None else outputs[place]
        trace.values.append(value)
        trace.inputs.append(_dense(value, given))
        trace.outputs.append(copy.deepcopy(given))
        return copy.deepcopy(given)

    Mechanism.release = release  # type: ignore[method-assign]
    try:
        yield
    finally:
        Mechanism.release = original  # type: ignore[method-assign]


def _dense(value: Any, output: Any) -> Any:
    """Return a released value as an array; sums of tests have few coordinates.

    Of an objective that is tilted, what may differ between neighbours is its summed gradient at
    the w that came out and is frozen.
    """
    if isinstance(value, KeyedCounts):
        return value
    if isinstance(value, RecordsToTilt):
        return value.summed_gradient(output)
    exact = value.toarray() if isinstance(value, SparseSum) else value
    return np.array(exact, dtype=np.float64, copy=True)


def recorded(estimator: Any, data: tuple[Any, ...]) -> tuple[Any, NDArray[np.float64]]:
    """Fit and return the mechanism of the one release, and the exact value it was given."""
    trace = Trace()
    with frozen_releases(trace):
        estimator.fit(*data)
    if len(trace.inputs) != 1:
        raise ValueError(f"a fit makes {len(trace.inputs)} releases by mechanisms of skdp")
    return trace.mechanisms[0], trace.inputs[0]


def fit_trace(estimator: Any, data: tuple[Any, ...], outputs: list[Any] | None = None) -> Trace:
    """Fit a clone on `data` (the arguments of fit) and return what left it."""
    trace, ledger = Trace(), RecordingLedger()
    estimator = clone(estimator)
    if "ledger" in estimator.get_params():
        estimator.set_params(ledger=ledger)
    with frozen_releases(trace, outputs), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            estimator.fit(*data)
        except Exception as error:
            trace.error = (type(error), str(error))
    trace.spent = ledger.spent
    trace.warnings = [(w.category, str(w.message)) for w in caught]
    parameters = estimator.get_params(deep=False)
    trace.attributes = {k: v for k, v in vars(estimator).items() if k not in parameters}
    return trace


def _distance(norm: str, first: Any, second: Any) -> float:
    """Return the distance between two inputs in the norm of the mechanism."""
    moved = np.abs(first - second).ravel()
    return float({"l1": moved.sum(), "l2": np.sqrt((moved**2).sum()), "linf": moved.max()}[norm])


def _aligned(first: Any, second: Any) -> tuple[Any, Any]:
    """Return two inputs as arrays whose coordinates stand for the same."""
    if not isinstance(first, KeyedCounts):
        return first, second
    keys = KeyedCounts({**first.counts, **second.counts}).keys
    return first.at(keys), second.at(keys)


def same(first: Any, second: Any) -> bool:
    """Whether two fitted attributes are equal, arrays bit for bit."""
    if isinstance(first, np.ndarray):
        return (
            isinstance(second, np.ndarray)
            and first.dtype == second.dtype
            and np.array_equal(first, second)
        )
    if isinstance(first, list) and isinstance(second, list):
        return len(first) == len(second) and all(map(same, first, second))
    if isinstance(first, BaseEstimator):
        one, other = vars(first), getattr(second, "__dict__", {})
        alike = type(first) is type(second) and one.keys() == other.keys()
        return alike and all(same(one[name], other[name]) for name in one)
    if hasattr(first, "to_dict"):
        return bool(first.to_dict() == second.to_dict())
    return type(first) is type(second) and bool(first == second)


def violations(
    estimator: Any,
    data: tuple[Any, ...],
    neighbour: tuple[Any, ...],
    *,
    around_neighbour: Callable[[], AbstractContextManager[Any]] = nullcontext,
) -> list[str]:
    """Return sentences on how a pair of neighbouring data sets can be told apart; [] for none.

    `around_neighbour` is a context for the second fit, such as one that nulls a record.
    """
    recording = fit_trace(estimator, data)
    with around_neighbour():
        replayed = fit_trace(estimator, neighbour, recording.outputs)
    # An admissible fit has no outcome but the release; and two refusals would compare as equal.
    found = [f"the fit raised {trace.error}" for trace in (recording, replayed) if trace.error]
    if len(recording.inputs) != len(replayed.inputs):
        return [*found, f"{len(recording.inputs)} releases became {len(replayed.inputs)}"]
    calls = zip(
        recording.mechanisms, replayed.mechanisms, recording.inputs, replayed.inputs, strict=True
    )
    for mechanism, other, first, second in calls:
        if mechanism != other:
            found.append(f"{mechanism} became {other}")
        first, second = _aligned(first, second)
        if first.shape != second.shape:
            found.append("the shape of a released value changed")
            continue
        moved = _distance(mechanism.required_norm, first, second)
        if moved > mechanism.sensitivity.value:
            found.append(f"an input moved by {moved / mechanism.sensitivity.value:.3f} x its bound")
    found.extend(
        f"{name} changed"
        for name in ("spent", "warnings", "error")
        if getattr(recording, name) != getattr(replayed, name)
    )
    return found + _changed_attributes(recording.attributes, replayed.attributes)


def _changed_attributes(first: dict[str, Any], second: dict[str, Any]) -> list[str]:
    found = []
    for name in sorted(set(first) | set(second)):
        if name not in first or name not in second:
            found.append(f"attribute {name} appears in one fit only")
        elif not same(first[name], second[name]):
            found.append(f"attribute {name} changed")
    return found


@final
@dataclass(frozen=True)
class ReplayAudit:
    """What told two neighbouring data sets apart although all noise was the same.

    Attributes
    ----------
    findings : tuple of str
        Sentences; empty if nothing did.
    n_releases : int
        How many releases the fit made.
    """

    findings: tuple[str, ...]
    n_releases: int

    @property
    def accuses(self) -> bool:
        """Whether anything was found."""
        return bool(self.findings)

    def sentence(self) -> str:
        """Say in one sentence what was found."""
        if self.findings:
            return f"With all releases frozen, the data sets differ: {'; '.join(self.findings)}."
        return (
            f"With all releases frozen ({self.n_releases}), nothing else that leaves a fit "
            "differs, and no released value moved further than is declared."
        )

    def __str__(self) -> str:
        return self.sentence()


def record_and_replay(
    estimator: Any, data: tuple[Any, ...], neighbour: tuple[Any, ...]
) -> ReplayAudit:
    """Compare two fits of an estimator of skdp whose releases are frozen; two fits, no chance.

    Parameters
    ----------
    estimator : estimator of skdp
        Cloned.
    data, neighbour : tuple
        Arguments of `fit` for neighbouring data sets, under the relation of the estimator.

    Returns
    -------
    ReplayAudit
        What differs: inputs beyond their sensitivity, attributes, warnings, errors, spending.

    Raises
    ------
    ValueError
        If the estimator releases nothing by a mechanism of skdp.

    References
    ----------
    Cebere et al. (2026), Re:cord-play.

    Examples
    --------
    >>> from skdp.audit import record_and_replay
    >>> from skdp.linear_model import PrivateRidge
    >>> model = PrivateRidge(neighbours="replace-one")
    >>> first, second = ([[0.5], [1.0]], [0.1, 1.0]), ([[0.5], [-1.0]], [0.1, 1.0])
    >>> record_and_replay(model, first, second).findings
    ()
    """
    found = violations(estimator, data, neighbour)
    trace = fit_trace(estimator, data)
    if not trace.inputs and trace.error is None:
        raise ValueError(
            f"{type(estimator).__name__} releases nothing by a mechanism of skdp, so its noise "
            "cannot be frozen. audit_attributes is for other estimators."
        )
    return ReplayAudit(tuple(found), len(trace.inputs))
