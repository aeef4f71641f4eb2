"""Releases that are fixed before the first of them is made, paid for as one."""

import hashlib
import json
import math
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from skdp.exceptions import LedgerTamperedError, PrivacyError, UnsupportedEventError
from skdp.privacy.budget import FINITE_PRECISION, PrivacyBudget
from skdp.privacy.ledger_connections import Session
from skdp.privacy.ledger_entries import Release, price_of_kinds, printable
from skdp.privacy.ledger_filters import Price, exact
from skdp.privacy.ledger_store import Record
from skdp.privacy.ledger_terms import LedgerTerms
from skdp.privacy.statement import rounded_up

if TYPE_CHECKING:
    from dp_accounting import DpEvent

__all__ = [
    "NotReservedError",
    "left_in_bundle",
    "place_in_bundle",
    "refuse_beside_bundles",
    "refuse_cheap_slices",
    "reservation",
    "reserved_events",
]

_PROTECTED = ("unit", "neighbours")


class NotReservedError(PrivacyError):
    """A release is not among those that its bundle was reserved for, or was made already."""


# Order and omissions may depend on outcomes: with fixed pairs all that is left, run in any order,
# has the same law of total loss, and dropping some of it processes less. So may what others release
# in between: a release is a draw from its pair, processed, and these draws might all be made when
# the bundle is reserved.


def reservation(
    asked: Sequence[Any], delta: float | None, terms: LedgerTerms
) -> tuple[dict[str, Any], Price]:
    """Return what is written for a bundle, and its price.

    With a delta the price is that of (epsilon, delta), with the least epsilon that privacy loss
    distributions prove; delta is at least the releases' own. Without one it is the sum of the
    releases' own prices, and with "basic" the sum of their deltas is taken.
    """
    if not asked:
        raise ValueError("A bundle needs at least one release.")
    releases = [Release.of(release, terms.neighbours) for release in asked]
    for release in releases:
        terms.refuse_others(release.neighbours, release.unit, "A release of the bundle")
    unit = _unit_of(releases)
    whole = _composed([release.event for release in releases])
    if delta is None and terms.filter.name == "basic":
        delta = _sum_of_deltas(releases)
    if delta is None:
        body = Release(whole, None, terms.neighbours, unit).body()
        body = {**body, "slice_delta": None, "promises": _promises(releases)}
        return body, price_of_kinds(body, terms)
    promised = _sums_of_promises(releases, terms)
    budget = _slice(whole, delta, promised, terms)
    body = Release(whole, budget, terms.neighbours, unit).body()
    body = {**body, "slice_delta": delta, "slice_promised": promised}
    return body, terms.price(None, budget, unit)


def _promises(releases: Sequence[Release]) -> list[list[float] | None]:
    """Return what each kind of event promises, in the order of `_composed`; None where unknown."""
    from skdp.privacy.event_dicts import event_to_dict

    known: dict[str, list[float] | None] = {}
    for release in releases:
        # Equal events keep what any of them promises.
        key, budget = key_of(event_to_dict(release.event)), release.budget
        pair = None if budget is None else [budget.epsilon, budget.delta]
        known[key] = known.get(key) or pair
    return list(known.values())


def _composed(events: "Sequence[DpEvent | None]") -> "DpEvent":
    """Return all of them, equal ones together: a search has few kinds of fits."""
    from dp_accounting import dp_event

    from skdp.privacy.event_dicts import event_to_dict

    kinds = {key_of(event_to_dict(event)): event for event in events}
    counts = Counter(key_of(event_to_dict(event)) for event in events)
    return dp_event.ComposedDpEvent(
        [dp_event.SelfComposedDpEvent(event, counts[key]) for key, event in kinds.items()]
    )


def _slice(
    whole: "DpEvent", delta: float, promised: Sequence[float] | None, terms: LedgerTerms
) -> PrivacyBudget:
    """Return the least epsilon proved at a delta: by loss distributions, or as the plain sum."""
    from skdp.privacy.accounting import EventCurve
    from skdp.privacy.events import precision_delta_of, relation_of

    if not 0 <= delta < 1:
        raise ValueError(f"delta must be in [0, 1), got {delta!r}.")
    if relation_of(whole) not in (terms.neighbours, None):
        raise ValueError(f"This ledger counts {terms.neighbours.value} guarantees.")
    counted = [(precision_delta_of(kind.event), kind.count) for kind in whole.events]
    own = _upwards(sum((exact(each) * count for each, count in counted), Fraction(0)))
    if delta == 0 and own > FINITE_PRECISION:
        raise ValueError(
            f"The releases of this bundle have a delta of {rounded_up(own, 3)} together, which is "
            "more than what finite precision leaves of pure ones. Give the bundle a delta of at "
            f"least that: delta={rounded_up(own, 3)}."
        )
    proved_at = max(delta, own)
    # The same with the sum of binary numbers, so that nothing is taken for more than nothing.
    epsilon = EventCurve(whole).epsilon_at(precision_delta_of(whole) + (proved_at - own))
    proved = max(epsilon, math.ulp(0.0)) * (1 + 2.0**-40)
    if promised is not None and exact(promised[1]) <= exact(proved_at):
        proved = min(proved, promised[0])
    if math.isinf(proved):
        raise UnsupportedEventError(
            f"No epsilon is proved for the releases of this bundle at a delta of {proved_at:g}. "
            "Give the bundle a greater delta."
        )
    # Of pure statements finite precision is beside a basic ledger's sum, as without a bundle.
    beside = terms.filter.name == "basic" and promised is not None and promised[1] == delta == 0
    return PrivacyBudget(proved, 0.0 if beside else proved_at)


def _sums_of_promises(releases: Sequence[Release], terms: LedgerTerms) -> list[float] | None:
    """Return the sums of epsilon and of delta that are promised; None where some promise none."""
    known = [(r.event, r.budget) for r in releases if r.event is not None and r.budget is not None]
    if len(known) < len(releases):
        return None
    budgets = [terms.filter.promised(event, budget) for event, budget in known]
    return [_sum_of([b.epsilon for b in budgets]), _sum_of([b.delta for b in budgets])]


def refuse_cheap_slices(records: Sequence[Record], terms: LedgerTerms) -> None:
    """Refuse slices that are charged at less than what is proved for what they were reserved for.

    What statements promised is taken as it was written, as that of any other entry.
    """
    from skdp.privacy.event_dicts import event_from_dict

    proved: dict[str, PrivacyBudget] = {}
    for record in records:
        body = record.body
        if body.get("slice_delta") is None:
            continue
        delta, promised = body["slice_delta"], body.get("slice_promised")
        key = json.dumps([body["event"], delta, promised], sort_keys=True)
        try:
            if key not in proved:
                proved[key] = _slice(event_from_dict(body["event"]), delta, promised, terms)
        except (ValueError, UnsupportedEventError) as error:
            raise LedgerTamperedError(f"Entry {record.number} is no slice: {error}") from None
        again = proved[key]
        # Computers differ in the last digits of a loss distribution.
        if body["epsilon"] < again.epsilon * (1 - 1e-6) or body["delta"] < again.delta:
            raise LedgerTamperedError(
                f"Entry {record.number} is charged at less than what is proved for its releases."
            )


def reserved_events(body: dict[str, Any]) -> "Counter[str]":
    """Return how often each event was reserved."""
    return Counter({key_of(kind["event"]): kind["count"] for kind in body["event"]["events"]})


def place_in_bundle(session: Session, identity: str, body: dict[str, Any], purpose: str) -> str:
    """Return what a release is found by within its bundle, or refuse it if none of it is left."""
    if left_in_bundle(session, identity, body) < 1:
        raise NotReservedError(
            f"{purpose} is not among the releases that this bundle was reserved for, or was made "
            "already. Nothing was spent."
        )
    return f"{identity}:{key_of(body['event'])}"


def left_in_bundle(session: Session, identity: str, body: dict[str, Any]) -> int:
    """Return how often a release can still be taken from a bundle."""
    row = session.execute("SELECT body FROM entries WHERE bundle = ?", (identity,)).fetchone()
    if row is None or not _protects_alike(reserved := json.loads(row[0]), body):
        return 0
    key = key_of(body["event"])
    found = session.execute("SELECT count(*) FROM entries WHERE bundle = ?", (f"{identity}:{key}",))
    return reserved_events(reserved)[key] - int(found.fetchone()[0])


def _protects_alike(reserved: dict[str, Any], body: dict[str, Any]) -> bool:
    """Whether a release protects whom its bundle was priced for: of rows, a unit has several."""
    return all(printable(reserved[fact]) == printable(body[fact]) for fact in _PROTECTED)


def refuse_beside_bundles(records: Sequence[Record]) -> None:
    """Refuse entries of bundles that were not reserved for them."""
    left: dict[str, Counter[str]] = {}
    reserved: dict[str, dict[str, Any]] = {}
    for record in records:
        bundle, body = body_bundle(record.body), record.body
        if record.bundle != bundle:
            raise LedgerTamperedError(f"Entry {record.number} was moved to another bundle.")
        if bundle is None:
            continue
        identity, _, key = bundle.partition(":")
        if body["status"] == "reserved":
            left[identity], reserved[identity] = reserved_events(body), body
        elif left.get(identity, Counter())[key] < 1 or not _protects_alike(
            reserved[identity], body
        ):
            raise LedgerTamperedError(f"Entry {record.number} was not reserved by its bundle.")
        else:
            left[identity][key] -= 1


def body_bundle(body: dict[str, Any]) -> str | None:
    """Return what an entry is found by."""
    identity: str | None = body.get("bundle")
    if identity is None or body["status"] == "reserved":
        return identity
    return f"{identity}:{key_of(body['event'])}"


def key_of(event: dict[str, Any]) -> str:
    """Return a short name of an event, the same for equal ones."""
    return hashlib.sha256(json.dumps(event, sort_keys=True).encode()).hexdigest()


def _unit_of(releases: Sequence[Release]) -> str:
    if any(release.event is None for release in releases):
        raise TypeError("A bundle is of events or statements; of budgets nothing is composed.")
    if len({release.unit for release in releases}) > 1:
        raise ValueError("The releases of a bundle have to protect the same unit.")
    return releases[0].unit


def _sum_of_deltas(releases: Sequence[Release]) -> float:
    if any(release.budget is None for release in releases):
        raise ValueError("State the delta of a bundle of events, or give statements.")
    return _sum_of([r.budget.delta for r in releases if r.budget is not None])


def _sum_of(numbers: Sequence[float]) -> float:
    """Return the sum of numbers as they are written, rounded upwards."""
    return _upwards(sum(map(exact, numbers), Fraction(0)))


def _upwards(number: Fraction) -> float:
    """Return a number that is no less, and as it is written the same where it can be."""
    rounded = float(number)
    return rounded if exact(rounded) >= number else math.nextafter(rounded, math.inf)
