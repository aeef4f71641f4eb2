"""Looking at a ledger: what is left, what was spent, whether it was changed."""

import functools
import math
import os
from collections.abc import Mapping
from contextvars import ContextVar
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, final

from skdp.exceptions import LedgerTamperedError, PrivacyError
from skdp.privacy.budget import Neighbours, PrivacyBudget
from skdp.privacy.ledger import Spending
from skdp.privacy.ledger_bundles import (
    left_in_bundle,
    refuse_beside_bundles,
    refuse_cheap_slices,
)
from skdp.privacy.ledger_connections import place_of
from skdp.privacy.ledger_entries import Release, price_in, priced_again
from skdp.privacy.ledger_filters import FREE, Price
from skdp.privacy.ledger_store import LedgerStore, Mark, Record
from skdp.privacy.ledger_terms import LedgerTerms, total_of
from skdp.privacy.ledger_views import LedgerSpending, as_frame, as_json, epsilon_if_fixed
from skdp.privacy.statement import PrivacyStatement

if TYPE_CHECKING:
    import pandas as pd
    from dp_accounting import DpEvent

__all__ = ["FORMAT", "OPEN", "Label", "LedgerReader"]

#: Of headers and entries; another one is refused.
FORMAT = 2


@final
@dataclass
class Label:
    """The experiment whose name is written down, shared by a ledger and its open bundle."""

    name: str | None = None


#: The handles of the bundles that are open in this thread or task, by address and identity.
OPEN: ContextVar["Mapping[tuple[str, str], LedgerReader]"] = ContextVar(
    "skdp_bundles", default=MappingProxyType({})
)


class LedgerReader:
    """What a ledger tells; nothing here enters anything."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._store = LedgerStore(place_of(path))
        self._header, head = self._store.opened()
        if self._header.get("format") != FORMAT:
            raise PrivacyError(f"{self.path} is a ledger of another version of skdp.")
        self._terms = LedgerTerms.of(self._header)
        self._seen = head.mark
        self._reserved: str | None = None
        self._label = Label()

    @property
    def path(self) -> str:
        """Absolute path of the file, or the address on a server."""
        return self._store.place.address

    @property
    def cap(self) -> PrivacyBudget:
        """What all releases together promise."""
        return self._terms.filter.cap

    @property
    def neighbours(self) -> Neighbours:
        """The relation that the cap refers to."""
        return self._terms.neighbours

    @property
    def unit(self) -> str:
        """Whom the cap protects."""
        return self._terms.unit

    @property
    def description(self) -> dict[str, Any]:
        """What was fixed at creation."""
        return dict(self._header)

    @property
    def theorem(self) -> str:
        """Why the cap holds."""
        return self._terms.filter.theorem

    @property
    def seal(self) -> str:
        """The hash of the last entry, which depends on all; to be noted down elsewhere."""
        _ = self._total()
        return self._seen.hash

    @property
    def share(self) -> float:
        """Share of what the filter counts that is spent or reserved, the greater of its two."""
        return self._terms.share(self._total())

    @property
    def in_bundle(self) -> bool:
        """Whether what is spent here and now has to be among what was reserved."""
        return self._bundle is not None

    def spent(self) -> LedgerSpending:
        """Return the cap, which is the guarantee, and what the entries come to."""
        (records, total), terms = self._all(), self._terms
        fixed = epsilon_if_fixed(records, terms)
        return LedgerSpending(self.cap, terms.share(total), len(records), fixed)

    def remaining(self) -> Spending:
        """Return what one more release may ask for at most.

        Epsilon is that of a pure release ("gaussian": of a Gaussian one at the cap's delta); delta
        is what is left for the deltas of entries.
        """
        return self._terms.left(self._total())

    def can_afford(
        self, release: "DpEvent | PrivacyStatement | PrivacyBudget", *, unit: str = "row"
    ) -> bool:
        """Whether a release would be admitted now; another process may be faster.

        Within a bundle: whether the release is among what was reserved and is left of it, which is
        what `spend` asks there. `remaining` tells of the whole ledger, there too.

        Parameters
        ----------
        release : DpEvent, PrivacyStatement or PrivacyBudget
            What would be spent.
        unit : str, default="row"
            Whom an event or a budget protects; a statement says so itself.
        """
        asked = Release.of(release, self.neighbours, unit)
        if (bundle := self._bundle) is not None:
            return self._left_in(bundle, asked) > 0
        price = asked.price(self._terms, "The release")
        return self._terms.admits(self._total(), price)

    def _left_in(self, bundle: str, asked: Release) -> int:
        self._terms.refuse_others(asked.neighbours, asked.unit, "The release")
        if asked.event is None:
            return 0
        question = functools.partial(left_in_bundle, identity=bundle, body=asked.body())
        return int(self._store.asked(self._header, self._seen, question))

    def history(self) -> "pd.DataFrame":
        """Return all entries, oldest first, one row each; `share` is what all so far came to."""
        return as_frame(self._all()[0], self._terms)

    def export_json(self, *, indent: int | None = 2) -> str:
        """Return all of the ledger as JSON text, hashes included."""
        return as_json(self._header, self._all()[0], indent)

    def verify(self, *, seal: str | None = None) -> int:
        """Recompute hashes, totals and the prices of all events; may take minutes.

        Parameters
        ----------
        seal : str or None, default=None
            A `seal` noted down earlier: it must be that of one of the entries.

        Returns
        -------
        int
            The number of entries.

        Raises
        ------
        LedgerTamperedError
            If anything does not fit.
        """
        records, stored = self._all()
        for record in records:
            charged, again = price_in(record.body), priced_again(record.body, self._terms)
            if min(charged) < 0 or not all(map(_close, charged, again)):
                raise LedgerTamperedError(f"Entry {record.number} was charged another price.")
        refuse_beside_bundles(records)
        refuse_cheap_slices(records, self._terms)
        total = _sum(records)
        if total != stored or not total.within(self._terms.filter.limit):
            raise LedgerTamperedError(f"The totals of {self.path} do not fit its entries.")
        if seal is not None and seal not in {record.hash for record in records}:
            raise LedgerTamperedError(f"{self.path} is not a continuation of what was noted down.")
        return len(records)

    def write_html(self, path: str | os.PathLike[str]) -> None:
        """Write the history as a page: a table and a curve of what is spent."""
        from skdp.privacy.ledger_html import page

        Path(path).write_text(page(self), encoding="utf-8", errors="xmlcharrefreplace")

    def _repr_html_(self) -> str:
        from skdp.privacy.ledger_html import view

        return view(self)

    def __repr__(self) -> str:
        cap = self.cap
        return (
            f"PrivacyLedger({self.path!r}: {cap.epsilon:g}, {cap.delta:g}, "
            f"{self.neighbours.value}, unit={self.unit}, filter={self._terms.filter.name})"
        )

    @property
    def _bundle(self) -> str | None:
        """What this handle, or the block that this thread or task is in, spends from."""
        if self._reserved is not None:
            return self._reserved
        block = OPEN.get().get(self._key)
        return None if block is None else block._reserved

    @property
    def _key(self) -> tuple[str, str]:
        return self.path, self._header["id"]

    def _total(self) -> Price:
        head = self._store.head(self._header, self._seen)
        self._remember(head.mark)
        return total_of(head.state)

    def _all(self) -> tuple[list[Record], Price]:
        head, records = self._store.records(self._header, self._seen)
        self._remember(head.mark)
        return records, total_of(head.state)

    def _remember(self, mark: Mark) -> None:
        if mark.number > self._seen.number:
            self._seen = mark


def _sum(records: list[Record]) -> Price:
    total = FREE
    for record in records:
        total = total.plus(price_in(record.body))
    return total


def _close(one: Fraction, other: Fraction) -> bool:
    # Special functions differ in their last digits from machine to machine.
    return math.isclose(one, other, rel_tol=1e-6)
