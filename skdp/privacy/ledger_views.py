"""A ledger's entries as a table, as JSON, and what they would come to had they been fixed."""

import json
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from skdp.exceptions import UnsupportedEventError
from skdp.privacy.budget import PrivacyBudget
from skdp.privacy.ledger_entries import price_in
from skdp.privacy.ledger_filters import FREE
from skdp.privacy.ledger_store import Record
from skdp.privacy.ledger_terms import LedgerTerms

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["LedgerSpending", "as_frame", "as_json", "epsilon_if_fixed"]

_COLUMNS = (
    "time", "status", "experiment", "purpose", "estimator", "parameters", "epsilon", "delta",
    "neighbours", "unit", "share", "bundle", "assumption", "theorem", "noise", "event", "hash",
)  # fmt: skip


class LedgerSpending(NamedTuple):
    """What is promised for all entries, and what they come to.

    Attributes
    ----------
    guarantee : PrivacyBudget
        The cap: what is promised, whatever was and will be spent.
    share : float
        Of what the filter counts, spent and reserved so far.
    n_entries : int
        Number of entries.
    epsilon_if_fixed : float or None
        What a privacy loss distribution would say at the cap's delta, had all releases been fixed
        before the first. It is no guarantee. None where the events do not tell.
    """

    guarantee: PrivacyBudget
    share: float
    n_entries: int
    epsilon_if_fixed: float | None


def as_frame(records: Sequence[Record], terms: LedgerTerms) -> "pd.DataFrame":
    """Return one row for each entry; `share` is what it and all before it came to."""
    import pandas as pd

    total, rows = FREE, []
    for record in records:
        total = total.plus(price_in(record.body))
        written = record.body.get("parameters")
        parameters = json.dumps(written, sort_keys=True) if written else None
        share = terms.share(total)
        row = {**record.body, "parameters": parameters, "share": share, "hash": record.hash}
        rows.append(row)
    index = pd.RangeIndex(1, len(rows) + 1, name="entry")
    return pd.DataFrame(rows, columns=list(_COLUMNS), index=index)


def as_json(header: dict[str, Any], records: Sequence[Record], indent: int | None) -> str:
    """Return all of it, hashes included."""
    entries = [{**record.body, "hash": record.hash} for record in records]
    return json.dumps({"ledger": header, "entries": entries}, indent=indent, allow_nan=False)


def epsilon_if_fixed(records: Sequence[Record], terms: LedgerTerms) -> float | None:
    """Return epsilon at the cap's delta of all events composed; None where an event is missing."""
    from dp_accounting import dp_event

    from skdp.privacy.accounting import epsilon_of
    from skdp.privacy.event_dicts import event_from_dict

    charged = [r.body for r in records if price_in(r.body) != FREE]
    if not charged:
        return 0.0
    if any(body["event"] is None or body["unit"] != terms.unit for body in charged):
        return None
    counts = Counter(json.dumps(body["event"], sort_keys=True) for body in charged)
    events = [
        dp_event.SelfComposedDpEvent(event_from_dict(json.loads(text)), count)
        for text, count in counts.items()
    ]
    try:
        return float(epsilon_of(dp_event.ComposedDpEvent(events), terms.filter.cap.delta))
    except UnsupportedEventError:
        return None
