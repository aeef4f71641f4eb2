"""The same noise must never appear twice: in copies, in other processes, in other classes."""

import pickle
from dataclasses import dataclass
from multiprocessing import get_all_start_methods, get_context
from typing import Any, final

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray
from sklearn.base import clone

from skdp.audit.fits import call_fit, fresh
from skdp.audit.observation import Everything

__all__ = ["RandomnessAudit", "audit_randomness"]

_RELATIVE = 1e-9


@final
@dataclass(frozen=True)
class RandomnessAudit:
    """Where noise was seen twice.

    Attributes
    ----------
    n_fits : dict of str to int
        Fits made in each way.
    repeated : tuple of str
        Sentences; empty if all noise was new.
    """

    n_fits: dict[str, int]
    repeated: tuple[str, ...]

    @property
    def accuses(self) -> bool:
        """Whether any noise was seen twice."""
        return bool(self.repeated)

    def sentence(self) -> str:
        """Say in one sentence what was found."""
        ways = ", ".join(f"{way} ({n})" for way, n in self.n_fits.items())
        if self.repeated:
            return f"Fits: {ways}. Noise was seen twice: {'; '.join(self.repeated)}."
        return f"Fits: {ways}. No noise was seen twice."

    def __str__(self) -> str:
        return self.sentence()


def audit_randomness(
    estimator: Any, data: Any, *, release: Any = None, n_fits: int = 4
) -> RandomnessAudit:
    """Fit in this process, in copies, in forked and in fresh processes; compare all outputs.

    Also compares the rows of `coef_` with each other: on rows of zeros nothing but noise
    separates the classes, and diffprivlib 0.6.6 adds the same noise to every class under
    ``n_jobs=2``.

    Parameters
    ----------
    estimator : estimator
        Its seeds are taken out; `n_jobs`, if it has one, is tried at its value and at 2.
    data : tuple or dict
        Arguments of `fit`, on which outputs are never the same by chance; empty rows are best.
    release : callable, default=None
        Maps a fitted model to the noisy numbers; None takes all that vary.
    n_fits : int, default=4
        In each of the ways.

    Returns
    -------
    RandomnessAudit
        What was seen twice.

    Examples
    --------
    >>> from skdp.audit import audit_randomness
    >>> from skdp.linear_model import PrivateRidge
    >>> audit_randomness(PrivateRidge(), ([[0.5], [1.0]], [0.1, 1.0]), n_fits=2).accuses
    False
    """
    unfitted, observe = fresh(estimator), release or Everything(None)
    found: dict[str, list[Any]] = {
        "one after the other": [_fitted(clone(unfitted), data, observe) for _ in range(n_fits)],
        "cloned": [_fitted(clone(clone(unfitted)), data, observe) for _ in range(n_fits)],
    }
    pickled = _pickled(unfitted)
    if pickled is not None:
        copies = [pickle.loads(pickled) for _ in range(n_fits)]
        found["pickled"] = [_fitted(copy, data, observe) for copy in copies]
        found["in two processes"] = _in_processes(unfitted, data, observe, n_fits)
        if "fork" in get_all_start_methods():
            found["forked"] = _forked(pickled, data, observe, n_fits)
    if hasattr(unfitted, "n_jobs"):
        parallel = clone(unfitted).set_params(n_jobs=2)
        found["n_jobs=2"] = [_fitted(clone(parallel), data, observe) for _ in range(n_fits)]
    repeated = [*_repeated(found), *_alike_classes(unfitted, data)]
    return RandomnessAudit({way: len(some) for way, some in found.items()}, tuple(repeated))


def _pickled(estimator: Any) -> bytes | None:
    try:
        return pickle.dumps(estimator)
    except Exception:  # it stays in this process then, which is safe
        return None


def _fitted(model: Any, data: Any, observe: Any) -> NDArray[np.float64]:
    return np.ravel(np.asarray(observe(call_fit(model, data)), dtype=float))


def _from_bytes(pickled: bytes, data: Any, observe: Any) -> NDArray[np.float64]:
    return _fitted(pickle.loads(pickled), data, observe)


def _in_processes(unfitted: Any, data: Any, observe: Any, n: int) -> list[Any]:
    """Leave the copying to joblib, which also knows classes of a notebook."""
    calls = (delayed(_fitted)(unfitted, data, observe) for _ in range(n))
    return list(Parallel(n_jobs=2)(calls))


def _forked(pickled: bytes, data: Any, observe: Any, n: int) -> list[Any]:
    """Children of one process that has drawn already: a generator kept there is theirs as well."""
    _from_bytes(pickled, data, observe)
    context = get_context("fork")
    answers = context.SimpleQueue()
    children = [
        context.Process(target=_answer, args=(answers, pickled, data, observe)) for _ in range(n)
    ]
    for child in children:
        child.start()
    found = [answers.get() for _ in children]
    for child in children:
        child.join()
    for outcome in found:
        if isinstance(outcome, Exception):
            raise outcome
    return found


def _answer(answers: Any, pickled: bytes, data: Any, observe: Any) -> None:
    try:
        answers.put(_from_bytes(pickled, data, observe))
    except Exception as error:
        answers.put(error)


def _repeated(found: dict[str, list[Any]]) -> list[str]:
    outputs = [(way, output) for way, some in found.items() for output in some]
    every = [output for _, output in outputs]
    if len({len(output) for output in every}) != 1:
        return []
    # Numbers that never vary are public facts, unless all of them are: noise is missing then.
    table = np.array(every)
    varies = (table != table[0]).any(axis=0)
    if not varies.any():
        return ["all outputs of all fits are the same"]
    table = table[:, varies]
    sentences = []
    for place, (way, _) in enumerate(outputs):
        for earlier in range(place):
            if np.array_equal(table[place], table[earlier]):
                sentences.append(f"{way} as in: {outputs[earlier][0]}")
                break
    return sentences


def _alike_classes(estimator: Any, data: Any) -> list[str]:
    """Rows of `coef_` that agree on empty rows; two of two classes mirror each other by right."""
    parallel = [None, 2] if hasattr(estimator, "n_jobs") else [None]
    sentences = []
    for n_jobs in parallel:
        model = clone(estimator)
        if n_jobs is not None:
            model.set_params(n_jobs=n_jobs)
        coef = getattr(call_fit(model, _emptied(data)), "coef_", None)
        if coef is None or np.ndim(coef) != 2 or len(coef) < 3:
            continue
        scale = float(np.abs(coef).max())
        pairs = [(i, j) for i in range(len(coef)) for j in range(i)]
        alike = [p for p in pairs if np.abs(coef[p[0]] - coef[p[1]]).max() <= _RELATIVE * scale]
        if alike and scale > 0:
            told = "" if n_jobs is None else f" with n_jobs={n_jobs}"
            sentences.append(f"{len(alike)} pairs of classes have the same noise{told}")
    return sentences


def _emptied(data: Any) -> Any:
    if isinstance(data, dict):
        return {
            **data,
            "X": data["X"] * 0 if not isinstance(data["X"], list) else _zeros(data["X"]),
        }
    X = data[0]
    return (_zeros(X) if isinstance(X, list) else X * 0, *data[1:])


def _zeros(X: Any) -> NDArray[np.float64]:
    return np.zeros(np.shape(X))
