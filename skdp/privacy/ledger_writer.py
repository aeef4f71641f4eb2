"""Entering releases in a ledger, each before it is made."""

import functools
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from skdp.exceptions import BudgetExceededError, PrivacyError
from skdp.privacy.budget import Neighbours, PrivacyBudget
from skdp.privacy.ledger_bundles import place_in_bundle
from skdp.privacy.ledger_connections import Session
from skdp.privacy.ledger_entries import Release, now, printable, public_parameters
from skdp.privacy.ledger_filters import FREE, Price
from skdp.privacy.ledger_reader import LedgerReader
from skdp.privacy.ledger_terms import total_of
from skdp.privacy.statement import PrivacyStatement

if TYPE_CHECKING:
    from dp_accounting import DpEvent

__all__ = ["LedgerWriter"]


class LedgerWriter(LedgerReader):
    """Charges releases, or takes them from a bundle that was paid for."""

    def spend(
        self,
        statement: PrivacyStatement,
        *,
        purpose: str,
        parameters: Mapping[str, Any] | None = None,
    ) -> None:
        """Charge a release before it is made, or raise and charge nothing.

        Parameters
        ----------
        statement : PrivacyStatement
            What will be promised.
        purpose : str
            What it is for; what stands before a dot is written down as the estimator.
        parameters : mapping or None, default=None
            Public parameters, to be written down: numbers and words as they are, arrays by their
            shape, everything else by its class.

        Raises
        ------
        BudgetExceededError
            If what remains does not cover it.
        UnsupportedEventError
            If the ledger's filter has no price for it.
        ValueError
            If the relation or the unit is not the ledger's.
        """
        body = {
            "estimator": purpose.partition(".")[0],
            "parameters": public_parameters(parameters),
        }
        self._charge(Release.of(statement, self.neighbours), purpose, body)

    def cover(self, statement: PrivacyStatement, *, purpose: str, assumption: str) -> None:
        """Enter, at no cost, a release that an earlier entry covers under an assumption."""
        release = Release.of(statement, self.neighbours)
        self._terms.refuse_others(release.neighbours, release.unit, purpose)
        body = {**release.body(), "status": "covered", "assumption": assumption}
        self._append(body, FREE, purpose, release.budget)

    def spend_budget(
        self,
        budget: PrivacyBudget,
        *,
        purpose: str,
        neighbours: Neighbours | str,
        unit: str = "row",
    ) -> None:
        """Charge a release of another library of which only (epsilon, delta) is known.

        Parameters
        ----------
        budget : PrivacyBudget
            What it promises.
        purpose : str
            What it is for.
        neighbours : Neighbours or str
            The relation of its promise.
        unit : str, default="row"
            The unit of its promise.
        """
        self._charge(Release.of(budget, Neighbours(neighbours), unit), purpose, {})

    def spend_event(self, event: "DpEvent", *, purpose: str, unit: str = "row") -> None:
        """Charge a release of another library whose event is known, such as of Opacus."""
        self._charge(Release.of(event, self.neighbours, unit), purpose, {})

    def refuse_unaffordable(
        self, releases: "Iterable[DpEvent | PrivacyStatement]", *, purpose: str
    ) -> None:
        """Raise `BudgetExceededError` if releases could not all be made now; enter nothing."""
        asked = [Release.of(release, self.neighbours) for release in releases]
        prices = [release.price(self._terms, purpose) for release in asked]
        price = functools.reduce(Price.plus, prices, FREE)
        if not self._terms.admits(before := self._total(), price):
            raise BudgetExceededError(f"{purpose} {self._terms.refusal(before, price, None)}")

    def _charge(self, release: Release, purpose: str, details: dict[str, Any]) -> None:
        body = {**release.body(), **details, "status": "spent"}
        if (bundle := self._bundle) is None:
            price = release.price(self._terms, purpose)
            self._append(body, price, purpose, release.budget)
        elif release.event is None:
            raise PrivacyError(f"{purpose} tells no event, and a bundle is of events.")
        else:
            self._terms.refuse_others(release.neighbours, release.unit, purpose)
            self._append(body, FREE, purpose, release.budget, bundle)

    def _append(
        self,
        body: dict[str, Any],
        price: Price,
        purpose: str,
        asked: PrivacyBudget | None,
        bundle: str | None = None,
    ) -> None:
        told = {"purpose": purpose, "time": now(), "experiment": self._label.name}
        cost = {"cost": str(price.cost), "charged_delta": str(price.delta)}
        entry = printable({"bundle": bundle, **body, **told, **cost})

        def charged(
            session: Session, state: dict[str, Any]
        ) -> tuple[dict[str, Any], str | None, dict[str, Any]]:
            before = total_of(state)
            if not self._terms.admits(before, price):
                said = self._terms.refusal(before, price, asked)
                raise BudgetExceededError(f"{purpose} {said}")
            total, found_by = before.plus(price), entry["bundle"]
            if bundle is not None:
                found_by = place_in_bundle(session, bundle, body, purpose)
            return entry, found_by, {"cost": str(total.cost), "delta": str(total.delta)}

        self._remember(self._store.append(self._header, self._seen, charged))
