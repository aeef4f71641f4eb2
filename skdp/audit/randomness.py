"""The same noise must never appear twice: in copies, in other processes, in other classes."""

import pickle
from dataclasses import dataclass
from multiprocessing import get_all_start_methods, get_context
from typing import Any, final

import numpy as np
from joblib import Parallel, delayed
from numpy.typing import NDArray
from sklearn.base import clone as _clone

from skdp.audit.alike_classes import alike_classes
from skdp.audit.claims import Claim
from skdp.audit.fits import call_fit, fresh
from skdp.audit.observation import Everything, rows_of, stacked
from skdp.audit.repeats import (
    CHANCE,
    Variants,
    chance_of_arrangement,
    fits_to_exclude,
)

__all__ = ["RandomnessAudit", "audit_randomness"]

#: Fits to compare with, made where outputs are equal: they show whether noise has many values.
_REFERENCE = 200
#: Rows at which a model without coefficients is asked.
_ROWS = 20


def clone(estimator: Any) -> Any:
    """Return an unfitted copy, of what is no estimator of scikit-learn as well."""
    return _clone(estimator, safe=False)


@final
@dataclass(frozen=True)
class RandomnessAudit:
    """Where noise was seen twice.

    Attributes
    ----------
    n_fits : dict of str to int
        Fits made in each way.
    repeated : tuple of str
        Sentences; empty if nothing was seen that happens less than once in a million times to
        honest noise, whatever its law.
    unclear : tuple of str
        Sentences on outputs that were equal, as they may be: of noise that has few values, or
        decides nothing on such data.
    """

    n_fits: dict[str, int]
    repeated: tuple[str, ...]
    unclear: tuple[str, ...] = ()

    @property
    def accuses(self) -> bool:
        """Whether any noise was seen twice."""
        return bool(self.repeated)

    def sentence(self) -> str:
        """Say in one sentence what was found."""
        ways = ", ".join(f"{way} ({n})" for way, n in self.n_fits.items())
        if self.repeated:
            return f"Fits: {ways}. Noise was seen twice: {'; '.join(self.repeated)}."
        if self.unclear:
            return f"Fits: {ways}. This audit cannot tell: {'; '.join(self.unclear)}."
        return f"Fits: {ways}. No noise was seen twice."

    def __str__(self) -> str:
        return self.sentence()


def audit_randomness(
    estimator: Any,
    data: Any,
    *,
    release: Any = None,
    n_fits: int = 4,
    epsilon: float | None = None,
    delta: float | None = None,
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
        Arguments of `fit`, on which outputs are never the same by chance; empty rows are best. Of
        documents, a list that can be read again.
    release : callable, default=None
        Maps a fitted model to the noisy numbers; None takes all attributes, and the answers at some
        rows of a model without `coef_`.
    n_fits : int, default=4
        In each of the ways; fewer than 4 can seldom be conclusive. 200 more are made where outputs
        are equal.
    epsilon, delta : float, default=None
        What is claimed, for estimators whose outputs never vary at all; None reads the parameters
        of the estimator, and takes epsilon = 1 where nothing is claimed.

    Returns
    -------
    RandomnessAudit
        What was seen twice.

    Notes
    -----
    Equal outputs are a fault only if honest noise makes them less than once in a million times.
    Equal ones within one of the ways, and none among 200 further fits in this process, are a matter
    of counting arrangements. Where all outputs are the same, each of some data sets that differ in
    one row, or in one document, is fitted twice: outputs that repeat themselves, and are others for
    each of the data sets, follow that row without noise.

    Such data sets are two neighbours apart at most: 17 of them refute epsilon = 1, and a hundred,
    as many as are tried, refute up to 2.2. Documents are sets of the words in
    `data` of which something is learnt, of as many as have votes, or of two and more of them: then
    five words are enough for epsilon = 1, and seven for any. Where the
    unit is an example, two documents of two words are four neighbours apart: 68 pairs of words of
    the vocabulary refute epsilon = 1, for which 13 words are needed, and more than 1.1 is not
    refuted. With fewer words, or a larger epsilon, the audit says that it cannot tell.

    Examples
    --------
    >>> from skdp.audit import audit_randomness
    >>> from skdp.linear_model import PrivateRidge
    >>> audit_randomness(PrivateRidge(), ([[0.5], [1.0]], [0.1, 1.0]), n_fits=2).accuses
    False
    """
    if n_fits < 2:
        raise ValueError(f"n_fits must be at least 2, got {n_fits!r}.")
    claim = Claim.of(estimator, epsilon, delta)
    unfitted, observe = fresh(estimator), release or Everything(rows_of(data, _ROWS))
    found = _in_all_ways(unfitted, data, observe, n_fits)
    repeated, unclear = _judged(found, unfitted, data, observe, claim)
    alike, perhaps = alike_classes(unfitted, data)
    ways = {way: len(some) for way, some in found.items()}
    return RandomnessAudit(ways, (*repeated, *alike), (*unclear, *perhaps))


def _in_all_ways(unfitted: Any, data: Any, observe: Any, n_fits: int) -> dict[str, list[Any]]:
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
    if "n_jobs" in _parameters(unfitted):
        parallel = clone(unfitted).set_params(n_jobs=2)
        found["n_jobs=2"] = [_fitted(clone(parallel), data, observe) for _ in range(n_fits)]
    return found


def _parameters(estimator: Any) -> Any:
    return estimator.get_params(deep=False) if hasattr(estimator, "get_params") else {}


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


def _judged(
    found: dict[str, list[Any]], unfitted: Any, data: Any, observe: Any, claim: Claim
) -> tuple[list[str], list[str]]:
    """Return sentences on equal outputs: on those that are no chance, and on the others."""
    outputs = dict(zip(found, _as_keys(*found.values()), strict=True))
    every = [output for some in outputs.values() for output in some]
    if len(set(every)) == 1:
        said = "all outputs of all fits are the same"
        if _follows_a_row(unfitted, data, observe, claim):
            return [f"{said}, and follow one row of the data without any noise"], []
        return [], [f"{said}, so noise is missing, or decides nothing on such data"]
    sentences = _equal_outputs(outputs)
    if not sentences:
        return [], []
    more = [_fitted(clone(unfitted), data, observe) for _ in range(_REFERENCE)]
    *tested, reference = _as_keys(*found.values(), more)
    tested.append([output for some in tested for output in some])
    chance = min(chance_of_arrangement(some, reference) for some in tested) * len(tested)
    if chance <= CHANCE:
        return sentences, []
    return [], [f"{said}, as outputs with few values often are" for said in sentences]


def _as_keys(*lists: list[Any]) -> list[list[bytes]]:
    return [[(row + 0.0).tobytes() for row in table] for table in stacked(*lists)]


def _equal_outputs(outputs: dict[str, list[bytes]]) -> list[str]:
    """Say where outputs of an earlier way, or earlier ones of the same, came again."""
    sentences: dict[str, None] = {}
    seen: dict[bytes, str] = {}
    for way, some in outputs.items():
        for output in some:
            if output in seen:
                sentences[f"{way} as in: {seen[output]}"] = None
            seen.setdefault(output, way)
    return list(sentences)


def _follows_a_row(unfitted: Any, data: Any, observe: Any, claim: Claim) -> bool:
    """Whether outputs repeat themselves on data sets with different ones that are neighbours."""
    seen = set()
    try:
        variants = Variants.of(unfitted)
        number = fits_to_exclude(claim, variants.distance)
        if number is None:
            return False
        for given in variants.made_of(data, number):
            twice = [_fitted(clone(unfitted), given, observe) for _ in range(2)]
            (one,), (other,) = _as_keys(*([output] for output in twice))
            if one != other or one in seen:
                return False
            seen.add(one)
    except Exception:  # such rows are not what it takes: nothing is shown
        return False
    return True
