"""What a report shows, as texts and numbers, before any markup."""

import math
import unicodedata
from collections.abc import Mapping
from enum import Enum
from typing import Any

from skdp.privacy.meaning import FALSE_POSITIVE_RATES, percent_up
from skdp.privacy.statement import SEEDED_NOISE, PrivacyStatement
from skdp.privacy.trade_off import attack_power

__all__ = ["AUTHORITY", "alerts", "budget_left", "declared", "powers", "visible"]

AUTHORITY = (
    "This repeats what a statement says. It does not prove that the model was fitted so: a "
    "statement that was changed by hand looks the same."
)
_SEEDED = "The noise was seeded: there is no guarantee against whoever knows the seed."
_UNVERIFIED = "The sensitivity was declared by the user, not proved: the guarantee rests on that."
_SECRET = ("random_state", "seed", "ledger")
_LONGEST = 120
_SHARE = " (a share of the whole)"
# Characters that reorder what stands around them, so that a text reads as another one.
_REORDERING = frozenset(
    map(chr, (0x061C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A)))
)


def visible(text: str) -> str:
    """Return a text without what cannot be shown, or changes how the rest is read.

    Examples
    --------
    >>> visible("epsilon" + chr(0x202E) + chr(0))
    'epsilon\ufffd\ufffd'
    """
    return "".join("\ufffd" if _hidden(character) else character for character in text)


def alerts(statement: PrivacyStatement) -> list[str]:
    """Return what a reader must see first."""
    seeded = SEEDED_NOISE in statement.noise
    return [_SEEDED] * seeded + [_UNVERIFIED] * (not statement.verified)


def powers(statement: PrivacyStatement) -> list[tuple[str, str]]:
    """Return rates of false alarms, and of what is found at most."""
    return [
        (percent_up(rate), percent_up(attack_power(statement, rate)))
        for rate in FALSE_POSITIVE_RATES
    ]


def declared(estimator: Any) -> list[tuple[str, str]]:
    """Return the class and the public parameters of an estimator; no seed and no ledger.

    Budgets of what stands within an estimator that has one for all of it are shown as shares where
    a fit has set them, and not at all where they are not used.
    """
    parameters = estimator.get_params(deep=True)
    shown = [
        (name, _shown(value) + _SHARE * _is_inner_budget(name, parameters))
        for name, value in sorted(parameters.items())
        if not any(secret in name for secret in _SECRET)
        and not (_is_inner_budget(name, parameters) and not _sets_shares(estimator))
    ]
    return [("class", type(estimator).__name__), *shown]


def _is_inner_budget(name: str, parameters: Mapping[str, Any]) -> bool:
    inner, _, last = name.rpartition("__")
    budgeted = {"epsilon", "ledger", f"{inner}__ledger"} <= set(parameters)
    return last in ("epsilon", "delta") and bool(inner) and budgeted


def _sets_shares(estimator: Any) -> bool:
    return hasattr(estimator, "steps") and hasattr(estimator, "privacy_")


def budget_left(ledger: Any) -> list[tuple[str, str]]:
    """Return what is left in a ledger, rounded down."""
    left = ledger.remaining()
    return [
        ("epsilon left", _rounded_down(left.epsilon)),
        ("delta left", _rounded_down(left.delta)),
        ("releases entered", f"{len(ledger.history())}"),
    ]


def _hidden(character: str) -> bool:
    if character in "\n\t":
        return False
    return unicodedata.category(character) in ("Cc", "Cs") or character in _REORDERING


def _shown(value: Any) -> str:
    """Plain values as they are; of others, which may hold rows, the class alone."""
    if _plain(value):
        text = repr(value)
        return text if len(text) <= _LONGEST else text[:_LONGEST] + " ..."
    return type(value).__name__


def _plain(value: Any) -> bool:
    if isinstance(value, dict):
        return all(_plain(part) for pair in value.items() for part in pair)
    if isinstance(value, list | tuple):
        return all(map(_plain, value))
    return value is None or isinstance(value, bool | int | float | str | Enum)


def _rounded_down(number: float) -> str:
    text = f"{number:.6g}"
    if float(text) <= number or not math.isfinite(number):
        return text
    return f"{number * (1 - 5e-6):.6g}"
