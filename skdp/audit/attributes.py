"""What a fitted model says of its data beside its noisy numbers: attributes, warnings, errors."""

import math
import warnings
from dataclasses import dataclass
from typing import Any, final

from skdp.audit.counts import EventCounts
from skdp.audit.fits import fresh
from skdp.audit.replay import same

__all__ = ["AttributeAudit", "audit_attributes"]


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
    confidence : float
        Of `epsilon`.
    """

    findings: tuple[str, ...]
    n_fits: int
    confidence: float

    @property
    def accuses(self) -> bool:
        """Whether anything was found: no noise separates what it tells apart."""
        return bool(self.findings)

    @property
    def epsilon(self) -> float:
        """With probability `confidence`, no smaller epsilon is true; 0 if nothing was found."""
        if not self.findings:
            return 0.0
        return EventCounts(self.n_fits, self.n_fits, 0, self.n_fits, 1 - self.confidence).epsilon()

    def sentence(self) -> str:
        """Say in one sentence what was found."""
        if not self.findings:
            return f"In {self.n_fits} fits on either data set, only noisy attributes differ."
        return (
            f"{'; '.join(self.findings)}: in all of {self.n_fits} fits on either data set, which "
            f"shows an epsilon of at least {self.epsilon:.3g} with confidence {self.confidence:g}."
        )

    def __str__(self) -> str:
        return self.sentence()


def audit_attributes(
    estimator: Any, data: Any, neighbour: Any, *, n_fits: int = 10, confidence: float = 0.95
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
    n_fits : int, default=10
        On either data set.
    confidence : float, default=0.95
        In (0, 1).

    Examples
    --------
    >>> from sklearn.linear_model import Ridge
    >>> from skdp.audit import audit_attributes
    >>> X = [[1.0], [2.0]]
    >>> audit_attributes(Ridge(), (X, [0.0, 1.0]), (X, [0.0, 2.0]), n_fits=2).findings
    ('coef_ differs',)
    """
    first, second = (
        [_traces(estimator, given) for _ in range(n_fits)] for given in (data, neighbour)
    )
    names = sorted({name for trace in (*first, *second) for name in trace})
    found = [sentence for name in names if (sentence := _told(name, first, second))]
    return AttributeAudit(tuple(found), n_fits, confidence)


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
