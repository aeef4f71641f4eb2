"""All worst-case pairs of an estimator at once, with a bound that holds for the best of them."""

from dataclasses import dataclass
from typing import Any, final

from skdp.audit.canaries import NeighbouringPair, worst_case_neighbours
from skdp.audit.claims import Claim
from skdp.audit.lower_bound import EpsilonAudit, audit_epsilon

__all__ = ["WorstCaseAudit", "audit_worst_cases"]


@final
@dataclass(frozen=True)
class WorstCaseAudit:
    """What was shown of several pairs.

    Attributes
    ----------
    audits : dict of str to EpsilonAudit
        By name of the pair; together they hold with `confidence`.
    controls : dict of str to EpsilonAudit
        Of pairs that are no neighbours, where more than the claim must be shown.
    confidence : float
        Of all statements together.
    """

    audits: dict[str, EpsilonAudit]
    controls: dict[str, EpsilonAudit]
    confidence: float

    @property
    def best(self) -> str:
        """Name of the pair that showed the largest share of what is claimed of it."""
        return max(self.audits, key=self._shown)

    @property
    def epsilon(self) -> float:
        """The largest epsilon that was shown of one record, at any pair.

        What is shown of data sets two records apart is divided by two.
        """
        return max(map(self._shown, self.audits))

    @property
    def accuses(self) -> bool:
        """Whether more was shown than is claimed, at any pair."""
        return any(audit.accuses for audit in self.audits.values())

    @property
    def has_power(self) -> bool | None:
        """Whether a control was found out; None without controls."""
        if not self.controls:
            return None
        return any(audit.accuses for audit in self.controls.values())

    def sentence(self) -> str:
        """Say what was found."""
        words = f'Of {len(self.audits)} pairs, "{self.best}" shows most. '
        words += self.audits[self.best].sentence()
        if self.has_power is None:
            return words
        if self.has_power:
            return f"{words} Data sets that differ in many records were told apart, as they must."
        return f"{words} Not even data sets that differ in many records were told apart: no power."

    def plot(self, ax: Any = None) -> Any:
        """Draw the scores of the best pair; return the matplotlib axes."""
        return self.audits[self.best].plot(ax)

    def _shown(self, name: str) -> float:
        audit = self.audits[name]
        return audit.epsilon / audit.distance

    def __str__(self) -> str:
        return self.sentence()


def audit_worst_cases(
    estimator: Any,
    pairs: list[NeighbouringPair] | None = None,
    *,
    n_fits: int = 500,
    controls: bool = True,
    epsilon: float | None = None,
    delta: float | None = None,
    confidence: float = 0.95,
    n_jobs: int | None = None,
    random_state: int | None = None,
    progress: bool = False,
) -> WorstCaseAudit:
    """Run `audit_epsilon` for each worst-case pair; the confidence is shared among them.

    Parameters
    ----------
    estimator : estimator
        As for `audit_epsilon`.
    pairs : list of NeighbouringPair, default=None
        None takes those of `worst_case_neighbours`.
    n_fits : int, default=500
        Fits on either data set of a pair.
    controls : bool, default=True
        Whether to audit pairs, too, that must be told apart.
    epsilon, delta, confidence, n_jobs, random_state, progress
        As for `audit_epsilon`.

    Returns
    -------
    WorstCaseAudit
        All results, and the best.

    Examples
    --------
    >>> from skdp.audit import audit_worst_cases
    >>> from skdp.linear_model import PrivateElasticNetClassifier
    >>> model = PrivateElasticNetClassifier(alpha=8.0, classes=[0, 1])
    >>> audit_worst_cases(model, n_fits=30, controls=False).accuses
    False
    """
    pairs = worst_case_neighbours(estimator) if pairs is None else pairs
    options: dict[str, Any] = {
        "n_fits": n_fits, "epsilon": epsilon, "delta": delta, "n_jobs": n_jobs,
        "random_state": random_state, "progress": progress,
    }  # fmt: skip
    audits = {
        pair.name: audit_epsilon(
            estimator,
            pair.data,
            pair.neighbour,
            event=pair.event,
            release=pair.release,
            distance=pair.distance,
            confidence=1 - (1 - confidence) / len(pairs),
            **options,
        )
        for pair in pairs
    }
    found: dict[str, EpsilonAudit] = {}
    if controls and Claim.of(estimator, epsilon, delta).epsilon is not None:
        found = {
            pair.name: audit_epsilon(
                estimator, pair.data, pair.far, confidence=confidence, **options
            )
            for pair in pairs
            if pair.far is not None
        }
    return WorstCaseAudit(audits, found, confidence)
