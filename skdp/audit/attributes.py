"""What a fitted model says of its data beside its noisy numbers: attributes, warnings, errors."""

import math
import warnings
from dataclasses import dataclass
from typing import Any, final

from skdp.audit.claims import Claim
from skdp.audit.counts import EventCounts
from skdp.audit.fits import NoFitError, fresh
from skdp.audit.replay import same

__all__ = ["AttributeAudit", "audit_attributes"]

_SCREENED = 10
_SIZES = (10, 20, 50, 100, 200, 500, 1000, 2000)


@final
@dataclass(frozen=True)
class AttributeAudit:
    """What was the same in all fits on one data set, and another in all fits on its neighbour.

    Attributes
    ----------
    findings : tuple of str
        Sentences; empty if nothing was.
    n_fits : int
        Fits on either data set.
    n_names : int
        Attributes that were compared, among which `confidence` is shared.
    claim : Claim
        What is claimed.
    confidence : float
        Of `epsilon`.
    distance : int
        How many neighbours apart the data sets are; `epsilon` is of one record.
    """

    findings: tuple[str, ...]
    n_fits: int
    n_names: int
    claim: Claim
    confidence: float
    distance: int = 1

    @property
    def accuses(self) -> bool:
        """Whether what was found shows more than is claimed; two values of a noisy bit do not."""
        return self.claim.epsilon is not None and self.epsilon > self.claim.epsilon

    @property
    def epsilon(self) -> float:
        """With probability `confidence`, no smaller epsilon is true; 0 if nothing was found."""
        if not self.findings:
            return 0.0
        return _shown(self.n_fits, self.n_names, self.confidence, self.claim.delta, self.distance)

    def sentence(self) -> str:
        """Say in one sentence what was found."""
        if not self.findings:
            return f"In {self.n_fits} fits on either data set, only noisy attributes differ."
        verdict = "the claim of {} is FALSE" if self.accuses else "no contradiction to {}"
        return (
            f"{'; '.join(self.findings)}: in all of {self.n_fits} fits on either data set, which "
            f"shows an epsilon of at least {self.epsilon:.3g} with confidence "
            f"{self.confidence:g}: {verdict.format(self.claim)}."
        )

    def __str__(self) -> str:
        return self.sentence()


def audit_attributes(
    estimator: Any,
    data: Any,
    neighbour: Any,
    *,
    n_fits: int | None = None,
    epsilon: float | None = None,
    delta: float | None = None,
    distance: int = 1,
    confidence: float = 0.95,
) -> AttributeAudit:
    """Find attributes, warnings and errors that tell two data sets apart without any noise.

    For any library; `record_and_replay` decides it for estimators of skdp by two fits.

    Parameters
    ----------
    estimator : estimator
        Copied for each fit.
    data, neighbour : tuple or dict
        Arguments of `fit` for neighbouring data sets, of which the number of rows is public
        unless they differ in it.
    n_fits : int, default=None
        On either data set. None makes 10, and where these find something as many more as can
        contradict the claim, at most 2,000.
    epsilon, delta : float, default=None
        What is claimed; None reads the parameters of the estimator.
    distance : int, default=1
        How many neighbours apart the data sets are; what is shown is of one record.
    confidence : float, default=0.95
        In (0, 1).

    Raises
    ------
    RuntimeError
        If no fit on either data set succeeded.

    Examples
    --------
    >>> from sklearn.linear_model import Ridge
    >>> from skdp.audit import audit_attributes
    >>> X = [[1.0], [2.0]]
    >>> audit_attributes(Ridge(), (X, [0.0, 1.0]), (X, [0.0, 2.0]), n_fits=2).findings
    ('coef_ differs',)
    """
    claim = Claim.of(estimator, epsilon, delta)
    claim.at_distance(distance)
    first: list[dict[str, Any]] = []
    second: list[dict[str, Any]] = []

    def found_in(number: int) -> tuple[list[str], list[str]]:
        for traces, given in ((first, data), (second, neighbour)):
            traces += [_traces(estimator, given) for _ in range(number - len(traces))]
        names = sorted({name for trace in (*first, *second) for name in trace})
        return names, [sentence for name in names if (sentence := _told(name, first, second))]

    names, found = found_in(_SCREENED if n_fits is None else n_fits)
    raised = [trace["the error raised"] for trace in (*first, *second)]
    if all(raised):
        raise NoFitError(f"No fit succeeded; the first raised {raised[0]}.")
    if found and n_fits is None and claim.epsilon is not None:
        needed = (
            n
            for n in _SIZES
            if _shown(n, len(names), confidence, claim.delta, distance) > claim.epsilon
        )
        names, found = found_in(next(needed, _SIZES[-1]))
    return AttributeAudit(tuple(found), len(first), len(names), claim, confidence, distance)


def _shown(n_fits: int, n_names: int, confidence: float, delta: float, distance: int) -> float:
    """Return the bound if an attribute had one value on D and another on D', every time.

    The first fits say which values; the others count.
    """
    counted = n_fits - 1
    if counted < 1:
        return 0.0
    error_rate = (1 - confidence) / max(1, n_names)
    return EventCounts(counted, counted, 0, counted, error_rate).epsilon(delta, distance)


def _traces(estimator: Any, data: Any) -> dict[str, Any]:
    """Return everything that one fit leaves, by name."""
    model = fresh(estimator)
    parameters = vars(model).copy()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            model.fit(**data) if isinstance(data, dict) else model.fit(*data)
            error = None
        except Exception as raised:
            error = f"{type(raised).__name__}: {raised}"
    left = {
        name: value
        for name, value in vars(model).items()
        if name not in parameters or not _equal(parameters[name], value)
    }
    told = sorted(f"{w.category.__name__}: {w.message}" for w in caught)
    return {**left, "what was warned of": told, "the error raised": error}


_ABSENT = object()


def _told(name: str, first: list[dict[str, Any]], second: list[dict[str, Any]]) -> str | None:
    one, other = ([trace.get(name, _ABSENT) for trace in some] for some in (first, second))
    constant = all(_equal(some[0], value) for some in (one, other) for value in some[1:])
    return f"{name} differs" if constant and not _equal(one[0], other[0]) else None


def _equal(first: Any, second: Any) -> bool:
    if isinstance(first, float) and isinstance(second, float):
        return first == second or (math.isnan(first) and math.isnan(second))
    try:
        return same(first, second)
    except (TypeError, ValueError):
        return repr(first) == repr(second)
