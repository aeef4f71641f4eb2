"""Errors and warnings that skdp raises."""

from sklearn.exceptions import NotFittedError

__all__ = [
    "BudgetExceededError",
    "CertificationError",
    "LeakyPipelineError",
    "LedgerTamperedError",
    "LittleToLearnWarning",
    "NotFittedError",
    "PrivacyError",
    "PrivacyLeakWarning",
    "UnknownStabilityError",
    "UnsupportedEventError",
]


class PrivacyError(Exception):
    """A privacy guarantee cannot be given; nothing was spent or released."""


class BudgetExceededError(PrivacyError):
    """The ledger cannot afford the release that was asked for."""


class CertificationError(PrivacyError, ValueError):
    """The tolerance cannot be certified at these public parameters.

    Raised from public facts alone (tolerance, penalty, shape), before the data is read.
    """


class LeakyPipelineError(PrivacyError, ValueError):
    """A step of a pipeline would publish what it learned from private rows.

    Raised before any row is looked at.

    Attributes
    ----------
    step : str
        Name of the step, outer__inner within another.
    why : str
        What it would publish.
    instead : str
        What to use or to set instead.
    """

    def __init__(self, step: str, class_name: str, why: str, instead: str) -> None:
        super().__init__(step, class_name, why, instead)
        self.step = step
        self.why = why
        self.instead = instead

    def __str__(self) -> str:
        step, class_name, why, instead = self.args
        return f"Step {step!r} ({class_name}) is refused: {why}. Instead: {instead}."


class LedgerTamperedError(PrivacyError):
    """Entries of a ledger were changed, removed or added outside it."""


class UnsupportedEventError(PrivacyError):
    """No accountant knows a sound bound for this event."""


class UnknownStabilityError(PrivacyError, ValueError):
    """No worst-case stability bound is known for this estimator or parameter."""


class LittleToLearnWarning(UserWarning):
    """Rows and budget are too few to learn from; it follows from public facts alone."""


class PrivacyLeakWarning(UserWarning):
    """The guarantee does not hold for whoever knows what the warning names."""
