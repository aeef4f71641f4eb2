"""What a fit promised, under which assumptions, with which noise."""

import json
from dataclasses import dataclass, field
from html import escape
from typing import TYPE_CHECKING, Any, Protocol, final

from skdp.privacy.budget import FINITE_PRECISION, Neighbours, PrivacyBudget

if TYPE_CHECKING:
    from dp_accounting import DpEvent

__all__ = ["SEEDED_NOISE", "SYSTEM_NOISE", "PrivacyStatement", "StatedCurve", "noise_source"]

SYSTEM_NOISE = (
    "AES-256 keystream keyed by the operating system; the guarantee holds against whoever "
    "cannot tell this keystream from true randomness (computational)"
)
UNVERIFIED = "unverified declaration"
SEEDED_NOISE = "seeded for tests: no guarantee against whoever knows the seed"

_PRECISION_IN_WORDS = (
    "Delta was asked to be 0; what is stated is what the finite precision of a computer leaves."
)


def noise_source(*, seeded: bool) -> str:
    """Return the words for the noise of a statement.

    Examples
    --------
    >>> noise_source(seeded=True)
    'seeded for tests: no guarantee against whoever knows the seed'
    """
    return SEEDED_NOISE if seeded else SYSTEM_NOISE


def rounded_up(number: float, digits: int) -> str:
    """Return a number in so many significant digits, never less than it is.

    Examples
    --------
    >>> rounded_up(1.2341e-6, 3), rounded_up(1e-6, 3)
    ('1.24e-06', '1e-06')
    """
    text = f"{number:.{digits}g}"
    # More by at least half a unit of the last digit, so that rounding leads up.
    return text if float(text) >= number else f"{number * (1 + 5 * 10.0**-digits):.{digits}g}"


class StatedCurve(Protocol):
    """What a statement rests on: a mechanism, or the curve of an event."""

    def delta_at(self, epsilon: float) -> float:
        """Least delta proved at `epsilon`, finite precision included."""

    def epsilon_at(self, delta: float) -> float:
        """Least epsilon proved at `delta`; infinite where there is none."""

    @property
    def event(self) -> "DpEvent":
        """What was run."""


@final
@dataclass(frozen=True)
class PrivacyStatement:
    """P[M(D) in S] <= e^epsilon P[M(D') in S] + delta for all neighbours D, D' and sets S.

    Made from public facts alone, before the data is looked at; costs microseconds, since
    everything but the pair itself is computed when it is asked for.

    Parameters
    ----------
    curve : StatedCurve
        The mechanism that was run, or any object with its `delta_at`, `epsilon_at`, `event`.
    budget : PrivacyBudget
        What was asked for.
    neighbours : Neighbours
        The relation between D and D'.
    theorem : str
        The theorem that the guarantee rests on, with its source.
    assumptions : tuple of str
        What must be true for it to hold, in plain sentences.
    noise : str
        Where the randomness came from; see `noise_source`. Never a seed.
    unit : str, default="row"
        What one record is.
    verified : bool, default=True
        Whether the sensitivity was proved here. Otherwise it rests on what the user declared of a
        model fitted elsewhere, and the line that names epsilon says so.

    Attributes
    ----------
    delta : float
        The requested delta; for a request of 0, the tiny delta that finite precision leaves.

    Raises
    ------
    ValueError
        If the curve does not keep the budget.

    Examples
    --------
    >>> from dp_accounting import GaussianDpEvent
    >>> from skdp.privacy import Neighbours, PrivacyBudget
    >>> from skdp.privacy.accounting import EventCurve
    >>> statement = PrivacyStatement(
    ...     curve=EventCurve(GaussianDpEvent(4.2247)),
    ...     budget=PrivacyBudget(1.0, 1e-6),
    ...     neighbours=Neighbours.ADD_OR_REMOVE_ONE,
    ...     theorem="Balle and Wang (2018), Theorem 8",
    ...     assumptions=("The number of columns is public.",),
    ...     noise=noise_source(seeded=False),
    ... )
    >>> statement
    PrivacyStatement(epsilon=1, delta=1e-06, neighbours=add-or-remove-one, unit=row)
    >>> round(statement.epsilon_at(1e-9), 3)
    1.318
    """

    curve: StatedCurve
    budget: PrivacyBudget
    neighbours: Neighbours
    theorem: str
    assumptions: tuple[str, ...]
    noise: str
    unit: str = "row"
    verified: bool = True
    delta: float = field(init=False)

    def __post_init__(self) -> None:
        proved = self.curve.delta_at(self.budget.epsilon)
        if proved > (self.budget.delta or FINITE_PRECISION):
            raise ValueError(
                f"The mechanism has delta = {proved:g} at epsilon = {self.budget.epsilon:g}; "
                f"it cannot be stated as delta = {self.budget.delta:g}."
            )
        object.__setattr__(self, "delta", self.budget.delta or proved)

    @property
    def epsilon(self) -> float:
        """The requested epsilon."""
        return self.budget.epsilon

    @property
    def event(self) -> "DpEvent":
        """What was run, for an accountant. Imports dp_accounting on first use."""
        return self.curve.event

    def delta_at(self, epsilon: float) -> float:
        """Return the least delta proved at another epsilon."""
        return self.curve.delta_at(epsilon)

    def epsilon_at(self, delta: float) -> float:
        """Return the least epsilon proved at another delta; infinite where there is none."""
        return self.curve.epsilon_at(delta)

    def explain(self) -> str:
        """Say in plain words what is promised to one person, and what is not.

        Returns
        -------
        str
            The pair, what attacks can achieve, how far a belief can move, what the promise rests
            on, and what it does not cover; lines of at most 88 characters.
        """
        from skdp.privacy.meaning import meaning_in_words, not_promised_in_words, paragraphs

        meaning = meaning_in_words(
            self.curve, self.delta, neighbours=self.neighbours, unit=self.unit
        )
        return paragraphs(
            self.headline, meaning, self._basis(), not_promised_in_words(self.epsilon, self.unit)
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the statement as plain dicts, lists, strings and numbers."""
        from skdp.privacy.event_dicts import event_to_dict

        return {
            "epsilon": self.epsilon,
            "delta": self.delta,
            "requested_delta": self.budget.delta,
            "neighbours": self.neighbours.value,
            "unit": self.unit,
            "verified": self.verified,
            "theorem": self.theorem,
            "assumptions": list(self.assumptions),
            "noise": self.noise,
            "event": event_to_dict(self.event),
        }

    @classmethod
    def from_dict(cls, fields: dict[str, Any]) -> "PrivacyStatement":
        """Return the statement that `to_dict` wrote, if its event proves its pair.

        It says what the document says. That a fit was run so, it cannot show: whoever may change
        the document may change its event, its assumptions and its noise with it.

        Parameters
        ----------
        fields : dict
            As from `to_dict`, or read from the text of `to_json`. `delta` is computed anew.

        Returns
        -------
        PrivacyStatement
            Its curve is that of the event.

        Raises
        ------
        ValueError
            If a field is missing or of another kind, the event is of another neighbouring relation,
            or the event does not prove the pair. The last may happen near epsilon = 38 and beyond,
            where a mechanism's own curve can lie a little below that of its event.
        UnsupportedEventError
            If the event is unknown, or no accountant has a bound for it.

        Examples
        --------
        >>> import json
        >>> from dp_accounting import GaussianDpEvent
        >>> from skdp.privacy import Neighbours, PrivacyBudget
        >>> from skdp.privacy.accounting import EventCurve
        >>> statement = PrivacyStatement(
        ...     curve=EventCurve(GaussianDpEvent(4.2247)),
        ...     budget=PrivacyBudget(1.0, 1e-6),
        ...     neighbours=Neighbours.ADD_OR_REMOVE_ONE,
        ...     theorem="Balle and Wang (2018), Theorem 8",
        ...     assumptions=(),
        ...     noise=noise_source(seeded=False),
        ... )
        >>> fields = json.loads(statement.to_json())
        >>> PrivacyStatement.from_dict(fields)
        PrivacyStatement(epsilon=1, delta=1e-06, neighbours=add-or-remove-one, unit=row)
        >>> PrivacyStatement.from_dict({**fields, "epsilon": 0.5})
        Traceback (most recent call last):
        ...
        ValueError: The event of this document has delta = 0.00189 at epsilon = 0.5, not 1e-06...
        """
        from skdp.privacy.statement_fields import read_fields

        return cls(**read_fields(fields))

    def to_json(self, *, indent: int | None = 2) -> str:
        """Return `to_dict` as JSON text."""
        return json.dumps(self.to_dict(), indent=indent, allow_nan=False)

    def __repr__(self) -> str:
        return (
            f"PrivacyStatement(epsilon={rounded_up(self.epsilon, 6)}, "
            f"delta={rounded_up(self.delta, 3)}, neighbours={self.neighbours.value}, "
            f"unit={self.unit}{'' if self.verified else ', ' + UNVERIFIED})"
        )

    def _repr_html_(self) -> str:
        items = "".join(f"<li>{escape(assumption)}</li>" for assumption in self.assumptions)
        return (
            f"<details><summary><b>{escape(self.headline)}</b></summary>"
            f"<p>{escape(self.theorem)}</p><ul>{items}</ul><p>Noise: {escape(self.noise)}</p>"
            "</details>"
        )

    @property
    def headline(self) -> str:
        """The pair, the relation and the unit in one line, with a caveat where there is one."""
        pair = f"epsilon = {rounded_up(self.epsilon, 6)}, delta = {rounded_up(self.delta, 3)}"
        caveat = "" if self.verified else f"; {UNVERIFIED}"
        caveat += "; NOISE SEEDED FOR TESTS" if self.noise == SEEDED_NOISE else ""
        return f"{pair}, for each {self.unit} ({self.neighbours.value}){caveat}"

    def _basis(self) -> str:
        from skdp.privacy.meaning import bullets

        precision = () if self.budget.delta else (_PRECISION_IN_WORDS,)
        noise = f"Noise: {self.noise}."
        return bullets(
            "What it rests on", (f"Theorem: {self.theorem}", *self.assumptions, *precision, noise)
        )
