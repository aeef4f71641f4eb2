"""Record and replay: fit on D and on a neighbour D' with the mechanisms' outputs frozen.

All private data reaches a release through `Mechanism.release`. When its outputs are the same in
both fits, everything else that leaves a fit must be the same too, and each input may have moved
by its declared sensitivity at most (the technique of Cebere et al. 2026).
"""

import copy
import warnings
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field

import numpy as np
from sklearn.base import BaseEstimator, clone

from skdp.mechanisms import Mechanism
from skdp.mechanisms.statistics import SparseSum


@dataclass
class Trace:
    """What left one fit, apart from the frozen outputs."""

    mechanisms: list = field(default_factory=list)
    inputs: list = field(default_factory=list)
    outputs: list = field(default_factory=list)
    spent: list = field(default_factory=list)
    warnings: list = field(default_factory=list)
    error: tuple | None = None
    attributes: dict = field(default_factory=dict)


class RecordingLedger:
    """A ledger that only remembers."""

    def __init__(self):
        self.spent = []

    def __sklearn_clone__(self):
        return self

    def spend(self, statement, *, purpose):
        self.spent.append((purpose, statement.to_dict()))

    def cover(self, statement, *, purpose, assumption):
        self.spent.append((purpose, statement.to_dict(), assumption))


@contextmanager
def frozen_releases(trace, outputs=None):
    """Write each release into `trace`; with `outputs`, answer with those instead of fresh noise."""
    original = Mechanism.release

    def release(self, value, rng):
        place = len(trace.inputs)
        trace.mechanisms.append(self)
        trace.inputs.append(_dense(value))
        given = original(self, value, rng) if outputs is None else outputs[place]
        trace.outputs.append(copy.deepcopy(given))
        return copy.deepcopy(given)

    Mechanism.release = release
    try:
        yield
    finally:
        Mechanism.release = original


def _dense(value):
    """Return a released value as an array; sums of tests have few coordinates."""
    exact = value.toarray() if isinstance(value, SparseSum) else value
    return np.array(exact, dtype=np.float64, copy=True)


def fit_trace(estimator, data, outputs=None):
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


def distance(norm, first, second):
    """Return the distance between two inputs in the norm of the mechanism."""
    moved = np.abs(first - second).ravel()
    return {"l1": moved.sum(), "l2": np.sqrt((moved**2).sum()), "linf": moved.max()}[norm]


def same(first, second):
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
        return first.to_dict() == second.to_dict()
    return type(first) is type(second) and first == second


def violations(estimator, data, neighbour, *, around_neighbour=nullcontext):
    """Return sentences on how a pair of neighbouring data sets can be told apart; [] for none.

    `around_neighbour` is a context for the second fit, such as one that nulls a record.
    """
    recorded = fit_trace(estimator, data)
    with around_neighbour():
        replayed = fit_trace(estimator, neighbour, recorded.outputs)
    # An admissible fit has no outcome but the release; and two refusals would compare as equal.
    found = [f"the fit raised {trace.error}" for trace in (recorded, replayed) if trace.error]
    if len(recorded.inputs) != len(replayed.inputs):
        return [*found, f"{len(recorded.inputs)} releases became {len(replayed.inputs)}"]
    calls = zip(
        recorded.mechanisms, replayed.mechanisms, recorded.inputs, replayed.inputs, strict=True
    )
    for mechanism, other, first, second in calls:
        if mechanism != other:
            found.append(f"{mechanism} became {other}")
        if first.shape != second.shape:
            found.append("the shape of a released value changed")
            continue
        moved = distance(mechanism.required_norm, first, second)
        if moved > mechanism.sensitivity.value:
            found.append(f"an input moved by {moved / mechanism.sensitivity.value:.3f} x its bound")
    found.extend(
        f"{name} changed"
        for name in ("spent", "warnings", "error")
        if getattr(recorded, name) != getattr(replayed, name)
    )
    names = set(recorded.attributes) | set(replayed.attributes)
    for name in sorted(names):
        if name not in recorded.attributes or name not in replayed.attributes:
            found.append(f"attribute {name} appears in one fit only")
        elif not same(recorded.attributes[name], replayed.attributes[name]):
            found.append(f"attribute {name} changed")
    return found
