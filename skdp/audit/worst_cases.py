"""All worst-case pairs of an estimator at once, with a bound that holds for the best of them."""

from dataclasses import dataclass, field
from typing import Any, final

from skdp.audit.canaries import NeighbouringPair, worst_case_neighbours
from skdp.audit.claims import Claim
from skdp.audit.fits import NoFitError
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
    failed : dict of str to str
        By name of the pair, what was raised by all fits on either data set, of which nothing is
        shown then.
    """

    audits: dict[str, EpsilonAudit]
    controls: dict[str, EpsilonAudit]
    confidence: float
    failed: dict[str, str] = field(default_factory=dict)

    @property
    def best(self) -> str:
        """Name of the pair that showed the largest epsilon of one record; accused ones first."""

        def shown(name: str) -> tuple[bool, float]:
            return self.audits[name].accuses, self.audits[name].epsilon

        return max(self.audits, key=shown)

    @property
    def epsilon(self) -> float:
        """The largest epsilon that was shown of one record, at any pair."""
        return max(audit.epsilon for audit in self.audits.values())

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
        for name, error in self.failed.items():
            words += f' All fits of "{name}" raised: {error}.'
        if self.has_power is None:
            return words
        if self.has_power:
            return f"{words} Data sets that differ in many records were told apart, as they must."
        return f"{words} Not even data sets that differ in many records were told apart: no power."

    def plot(self, ax: Any = None) -> Any:
        """Draw the scores of the best pair; return the matplotlib axes."""
        return self.audits[self.best].plot(ax)

    def __str__(self) -> str:
        return self.sentence()


def audit_worst_cases(
    estimator: Any,
    pairs: list[NeighbouringPair] | None = None,
    *,
    relation: Any = None,
    n_rows: int = 10,
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
    relation : Neighbours or str, default=None
        What neighbours are, for these; None reads it.
    n_rows : int, default=10
        How many rows, or documents, they have: at least those that an estimator asks for.
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

    Raises
    ------
    RuntimeError
        If no fit on any of the data sets succeeded; from what the last one raised.

    Examples
    --------
    >>> from skdp.audit import audit_worst_cases
    >>> from skdp.linear_model import PrivateElasticNetClassifier
    >>> model = PrivateElasticNetClassifier(alpha=8.0, classes=[0, 1])
    >>> audit_worst_cases(model, n_fits=30, controls=False).accuses
    False
    """
    if pairs is None:
        pairs = worst_case_neighbours(estimator, relation=relation, n_rows=n_rows)
    options: dict[str, Any] = {
        "n_fits": n_fits, "epsilon": epsilon, "delta": delta, "n_jobs": n_jobs,
        "random_state": random_state, "progress": progress,
    }  # fmt: skip
    audits: dict[str, EpsilonAudit] = {}
    failed: dict[str, str] = {}
    for pair in pairs:
        try:
            audits[pair.name] = audit_epsilon(
                estimator,
                pair.data,
                pair.neighbour,
                event=pair.event,
                release=pair.release,
                distance=pair.distance,
                confidence=1 - (1 - confidence) / len(pairs),
                **options,
            )
        except NoFitError as error:
            failed[pair.name] = str(error.__cause__)
            if len(failed) == len(pairs):
                raise
    found: dict[str, EpsilonAudit] = {}
    if controls and Claim.of(estimator, epsilon, delta).epsilon is not None:
        found = {
            pair.name: audit_epsilon(
                estimator, pair.data, pair.far, confidence=confidence, **options
            )
            for pair in pairs
            if pair.far is not None and pair.name in audits
        }
    return WorstCaseAudit(audits, found, confidence, failed)
