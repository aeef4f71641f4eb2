"""Errors and warnings that skdp raises."""

from sklearn.exceptions import NotFittedError

__all__ = [
    "BudgetExceededError",
    "CertificationError",
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


class UnsupportedEventError(PrivacyError):
    """No accountant knows a sound bound for this event."""


class UnknownStabilityError(PrivacyError, ValueError):
    """No worst-case stability bound is known for this estimator or parameter."""


class PrivacyLeakWarning(UserWarning):
    """The guarantee does not hold for whoever knows what the warning names."""
