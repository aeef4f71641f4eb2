"""Counting what is spent on one data set by anybody, in any process, on any day."""

import json
import math
import os
import uuid
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Self, final
from weakref import WeakValueDictionary

from skdp.exceptions import (
    BudgetExceededError,
    LedgerTamperedError,
    PrivacyError,
    UnsupportedEventError,
)
from skdp.privacy.budget import Neighbours, PrivacyBudget
from skdp.privacy.ledger import Spending
from skdp.privacy.ledger_filters import (
    FREE,
    BasicFilter,
    GaussianSumFilter,
    LedgerFilter,
    Price,
    RenyiOrderFilter,
)
from skdp.privacy.ledger_store import LedgerStore, Record
from skdp.privacy.statement import PrivacyStatement

if TYPE_CHECKING:
    import pandas as pd
    from dp_accounting import DpEvent

__all__ = ["LedgerSpending", "PrivacyLedger"]

_FORMAT = 1
_HANDLES: "WeakValueDictionary[tuple[str, str], PrivacyLedger]" = WeakValueDictionary()
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


@final
class PrivacyLedger:
    """A cap on all that is released about one data set, kept in an SQLite file.

    Made by `create` and `open`. Every estimator takes it, or its path, as `ledger`. Clones,
    copies, pickles, threads, forks and other processes spend from the same file, one at a time.
    A release is entered before the data is touched: what fails afterwards stays spent.

    Notes
    -----
    *Guarantees.* Releases are chosen after seeing earlier ones, so that privacy loss distributions
    of what happened to be chosen prove nothing about all of them. A filter does, and is fixed when
    the ledger is created:

    - "renyi": divergences of one order add up to at most what (epsilon, delta - slack) needs at
      that order; deltas of entries add up to at most `slack`. An entry without Renyi divergences
      counts as randomised response with its epsilon.
    - "gaussian": sums of mu^2; refuses anything but Gaussian noise.
    - "basic": sums of epsilon and of delta. Finite-precision deltas of pure releases are beside it.

    The chain of hashes shows changes by accident or by those who do not recompute it. Whoever may
    write to the file can replace all of it; note down `seal` elsewhere to notice that too.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> from skdp.linear_model import PrivateElasticNetClassifier
    >>> X, y = np.eye(10, 3), np.arange(10) % 2
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = f"{folder.name}/patients.db"
    >>> ledger = PrivacyLedger.create(path, epsilon=1.5, delta=1e-5, filter="basic")
    >>> model = PrivateElasticNetClassifier(epsilon=1.0, delta=1e-6, classes=[0, 1], ledger=path)
    >>> _ = model.fit(X, y)
    >>> ledger.remaining()
    Spending(epsilon=0.5, delta=9e-06)
    >>> model.fit(X, y)
    Traceback (most recent call last):
    ...
    skdp.exceptions.BudgetExceededError: ...
    >>> folder.cleanup()
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self._store = LedgerStore(_absolute(path))
        self._header = self._store.header()
        if self._header.get("format") != _FORMAT:
            raise PrivacyError(f"{self.path} is a ledger of another version of skdp.")
        self._filter = _filter_of(self._header)
        self._limit = self._filter.limit
        self._bundle: str | None = None
        self._experiment: str | None = None

    @classmethod
    def create(
        cls,
        path: str | os.PathLike[str],
        epsilon: float,
        delta: float = 0.0,
        *,
        neighbours: Neighbours | str = Neighbours.REPLACE_ONE,
        unit: str = "row",
        rows_per_unit: int | None = None,
        dataset: str = "",
        filter: str = "renyi",
        slack: float | None = None,
        order: int | None = None,
    ) -> Self:
        """Make a ledger in a new file.

        Parameters
        ----------
        path : str or path
            A file that does not exist yet.
        epsilon : float
            The cap on epsilon, above 0.
        delta : float, default=0.0
            The cap on delta, in [0, 1); above 0 unless `filter` is "basic".
        neighbours : Neighbours or str, default="replace-one"
            The relation that all releases must share.
        unit : str, default="row"
            Whom the cap protects, such as "patient". Others than the releases' own are refused,
            unless `rows_per_unit` says how they convert.
        rows_per_unit : int or None, default=None
            The most rows that one unit has in the data. Releases that are private for each row are
            then charged by group privacy: k epsilon and delta (1 + e^epsilon + ... + e^((k-1)
            epsilon)).
        dataset : str, default=""
            What the data is.
        filter : {"renyi", "gaussian", "basic"}, default="renyi"
            How releases are counted; never changed afterwards.
        slack : float or None, default=None
            Part of delta that is set aside for the deltas of entries; None takes a tenth. Without
            effect with "basic".
        order : int or None, default=None
            The order of "renyi"; None takes the one that affords the most Gaussian releases.

        Returns
        -------
        PrivacyLedger

        Raises
        ------
        FileExistsError
            If there is such a file.
        ValueError
            If a parameter is out of its range.
        """
        cap = PrivacyBudget(epsilon, delta)
        header = {
            "format": _FORMAT,
            "id": uuid.uuid4().hex,
            "created": _now(),
            "epsilon": float(epsilon),
            "delta": float(delta),
            "neighbours": Neighbours(neighbours).value,
            "unit": unit,
            "rows_per_unit": _whole_or_none(rows_per_unit),
            "dataset": dataset,
            **_filter_fields(filter, cap, slack, order),
        }
        _ = _filter_of(header).limit
        LedgerStore(_absolute(path)).create(header, {"cost": "0", "delta": "0"})
        return cls.open(path)

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> Self:
        """Return the ledger of a file; one object for a file in a process.

        Raises
        ------
        FileNotFoundError
            If there is none.
        PrivacyError
            If the file is something else.
        """
        fresh = cls(path)
        fresh._store.head()
        return _HANDLES.setdefault((fresh.path, fresh._header["id"]), fresh)

    @property
    def path(self) -> str:
        """Absolute path of the file."""
        return self._store.path

    @property
    def cap(self) -> PrivacyBudget:
        """What all releases together promise."""
        return self._filter.cap

    @property
    def neighbours(self) -> Neighbours:
        """The relation that the cap refers to."""
        return self._filter.neighbours

    @property
    def unit(self) -> str:
        """Whom the cap protects."""
        return str(self._header["unit"])

    @property
    def description(self) -> dict[str, Any]:
        """What was fixed at creation."""
        return dict(self._header)

    @property
    def theorem(self) -> str:
        """Why the cap holds."""
        return self._filter.theorem

    @property
    def seal(self) -> str:
        """The hash of the last entry, which depends on all; to be noted down elsewhere."""
        return self._store.head().hash

    @property
    def share(self) -> float:
        """Share of what the filter counts that is spent or reserved, the greater of its two."""
        return self._share(self._total(self._store.head().state))

    def spent(self) -> LedgerSpending:
        """Return the cap, which is the guarantee, and what the entries come to."""
        records = self._store.records()
        return LedgerSpending(self.cap, self.share, len(records), self._if_fixed(records))

    def remaining(self) -> Spending:
        """Return what one more release may ask for at most.

        Epsilon is that of a pure release ("gaussian": of a Gaussian one at the cap's delta); delta
        is what is left for the deltas of entries.
        """
        return self._filter.left(self._total(self._store.head().state))

    def spend(
        self,
        statement: PrivacyStatement,
        *,
        purpose: str,
        estimator: str | None = None,
        parameters: dict[str, Any] | None = None,
    ) -> None:
        """Charge a release before it is made, or raise and charge nothing.

        Parameters
        ----------
        statement : PrivacyStatement
            What will be promised.
        purpose : str
            What it is for.
        estimator : str or None, default=None
            Its class; None takes what stands before the dot of the purpose.
        parameters : dict or None, default=None
            Public parameters to be written down.

        Raises
        ------
        BudgetExceededError
            If what remains does not cover it.
        UnsupportedEventError
            If the ledger's filter has no price for it.
        ValueError
            If the relation or the unit is not the ledger's.
        """
        self._refuse_other_promises(statement, purpose)
        body = {
            **self._described(statement, purpose),
            "estimator": estimator or purpose.partition(".")[0],
            "parameters": {key: repr(value) for key, value in (parameters or {}).items()},
        }
        if self._bundle is not None:
            self._take_from_bundle(self._bundle, body)
            return
        price = self._price(statement)
        self._append({**body, "status": "spent"}, price, purpose)

    def cover(self, statement: PrivacyStatement, *, purpose: str, assumption: str) -> None:
        """Enter, at no cost, a release that an earlier entry covers under an assumption."""
        self._refuse_other_promises(statement, purpose)
        body = self._described(statement, purpose)
        self._append({**body, "status": "covered", "assumption": assumption}, FREE, purpose)

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
        relation = Neighbours(neighbours)
        self._refuse(relation, unit, purpose)
        body = {
            "purpose": purpose, "epsilon": budget.epsilon, "delta": budget.delta,
            "neighbours": relation.value, "unit": unit, "status": "spent", "event": None,
        }  # fmt: skip
        self._append(body, self._filter.of_budget(self._for_unit(budget, unit)), purpose)

    def spend_event(self, event: "DpEvent", *, purpose: str) -> None:
        """Charge a release of another library whose event is known, such as of Opacus."""
        from skdp.privacy.event_dicts import event_to_dict

        self._refuse(self.neighbours, "row", purpose)
        body = {
            "purpose": purpose, "neighbours": self.neighbours.value, "unit": "row",
            "status": "spent", "event": event_to_dict(event),
        }  # fmt: skip
        self._append(body, self._event_price(event, None), purpose)

    def can_afford(self, release: "DpEvent | PrivacyStatement | PrivacyBudget") -> bool:
        """Whether a release would be admitted now; another process may be faster."""
        if isinstance(release, PrivacyStatement):
            self._refuse_other_promises(release, "The release")
        total = self._total(self._store.head().state)
        return total.plus(self._price(release)).within(self._limit)

    @contextmanager
    def bundle(
        self,
        events: Iterable["DpEvent | PrivacyStatement"],
        *,
        delta: float | None = None,
        purpose: str = "bundle",
    ) -> Iterator[Self]:
        """Reserve for releases that are fixed before the first of them is made.

        Inside, estimators that are given this ledger take their releases from the bundle, in any
        order, and others are refused. What is not taken stays spent.

        Parameters
        ----------
        events : iterable of DpEvent or PrivacyStatement
            The releases.
        delta : float or None, default=None
            Delta of the slice at whose least proved epsilon (privacy loss distributions) the bundle
            is charged. None takes the sum of the statements' deltas with "basic", and with "renyi"
            and "gaussian" charges the bundle's own divergence.
        purpose : str, default="bundle"
            What it is for.

        Yields
        ------
        PrivacyLedger
            This ledger.
        """
        # Order and omissions may depend on outcomes: with fixed pairs all that is left, run in any
        # order, has the same law of total loss, and dropping some of it processes less.
        if self._bundle is not None:
            raise PrivacyError("Bundles do not nest.")
        releases = list(events)
        if not releases:
            raise ValueError("A bundle needs at least one release.")
        body, price = self._reservation(releases, delta)
        identity = uuid.uuid4().hex
        body = {**body, "purpose": purpose, "status": "reserved", "bundle": identity}
        self._append(body, price, purpose)
        self._bundle = identity
        try:
            yield self
        finally:
            self._bundle = None

    @contextmanager
    def experiment(self, name: str) -> Iterator[Self]:
        """Write `name` beside all that is entered inside, by workers that start inside too."""
        before, self._experiment = self._experiment, name
        try:
            yield self
        finally:
            self._experiment = before

    def history(self) -> "pd.DataFrame":
        """Return all entries, oldest first, one row each; `share` is what all before came to."""
        import pandas as pd

        total, rows = FREE, []
        for record in self._store.records():
            total = total.plus(_price_in(record.body))
            share = self._share(total)
            rows.append({**record.body, "share": share, "hash": record.hash})
        index = pd.RangeIndex(1, len(rows) + 1, name="entry")
        return pd.DataFrame(rows, columns=list(_COLUMNS), index=index)

    def export_json(self, *, indent: int | None = 2) -> str:
        """Return all of the ledger as JSON text, hashes included."""
        entries = [{**record.body, "hash": record.hash} for record in self._store.records()]
        whole = {"ledger": self._header, "entries": entries}
        return json.dumps(whole, indent=indent, allow_nan=False)

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
        head = self._store.check_chain()
        records = self._store.records()[: head.number]
        total = FREE
        for record in records:
            price = _price_in(record.body)
            if not math.isclose(price.cost, self._recomputed(record.body), rel_tol=1e-6):
                raise LedgerTamperedError(f"Entry {record.number} was charged another price.")
            total = total.plus(price)
        if total != self._total(head.state) or not total.within(self._limit):
            raise LedgerTamperedError(f"The totals of {self.path} do not fit its entries.")
        if seal is not None and seal not in {record.hash for record in records}:
            raise LedgerTamperedError(f"{self.path} is not a continuation of what was noted down.")
        return head.number

    def write_html(self, path: str | os.PathLike[str]) -> None:
        """Write the history as a page: a table and a curve of what is spent."""
        from skdp.privacy.ledger_html import page

        Path(path).write_text(page(self), encoding="utf-8")

    def _repr_html_(self) -> str:
        from skdp.privacy.ledger_html import view

        return view(self)

    def _append(self, body: dict[str, Any], price: Price, purpose: str) -> None:
        entry = {
            **body,
            "time": _now(),
            "experiment": self._experiment,
            "cost": str(price.cost),
            "charged_delta": str(price.delta),
        }

        def charged(state: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
            before = self._total(state)
            total = before.plus(price)
            if price != FREE and not total.within(self._limit):
                raise BudgetExceededError(self._refusal(before, price, entry, purpose))
            return entry, {**state, "cost": str(total.cost), "delta": str(total.delta)}

        self._same_file()
        self._store.append(charged)

    def _take_from_bundle(self, identity: str, body: dict[str, Any]) -> None:
        entry = {
            **body, "time": _now(), "experiment": self._experiment, "status": "spent",
            "bundle": identity, "cost": "0", "charged_delta": "0",
        }  # fmt: skip

        def taken(state: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
            if self._left_in_bundle(identity)[_key(body["event"])] < 1:
                raise PrivacyError(
                    f"{body['purpose']} is not among the releases that this bundle was reserved "
                    "for, or was made already. Nothing was spent."
                )
            return entry, state

        self._same_file()
        self._store.append(taken)

    def _left_in_bundle(self, identity: str) -> "Counter[str]":
        left: Counter[str] = Counter()
        for body in self._store.bodies_of_bundle(identity):
            if body["status"] == "reserved":
                left.update(_key(event) for event in body["events"])
            else:
                left[_key(body["event"])] -= 1
        return left

    def _reservation(
        self, releases: list[Any], delta: float | None
    ) -> tuple[dict[str, Any], Price]:
        from dp_accounting import dp_event

        from skdp.privacy.event_dicts import event_to_dict

        for release in releases:
            if isinstance(release, PrivacyStatement):
                self._refuse_other_promises(release, "A release of the bundle")
            else:
                self._refuse(self.neighbours, "row", "A release of the bundle")
        events = [_event(release) for release in releases]
        whole = dp_event.ComposedDpEvent(events)
        if delta is None and self._filter.name == "basic":
            if not all(isinstance(release, PrivacyStatement) for release in releases):
                raise ValueError("State the delta of a bundle of events, or give statements.")
            delta = math.fsum(release.budget.delta for release in releases)
        body = {
            "events": [event_to_dict(event) for event in events],
            "event": event_to_dict(whole),
            "slice_delta": delta,
            "neighbours": self.neighbours.value,
            "unit": "row",
        }
        if delta is None:
            return body, self._event_price(whole, None)
        budget = self._slice(whole, delta)
        body |= {"epsilon": budget.epsilon, "delta": budget.delta}
        return body, self._slice_price(budget)

    def _slice(self, whole: "DpEvent", delta: float) -> PrivacyBudget:
        from skdp.privacy.accounting import EventCurve
        from skdp.privacy.events import precision_delta_of, relation_of

        if relation_of(whole) not in (self.neighbours, None):
            raise ValueError(f"This ledger counts {self.neighbours.value} guarantees.")
        # Pure releases at delta = 0: as without a bundle, finite precision is beside the sum.
        epsilon = EventCurve(whole).epsilon_at(delta or precision_delta_of(whole))
        return PrivacyBudget(max(epsilon, math.ulp(0.0)) * (1 + 2.0**-40), delta)

    def _slice_price(self, budget: PrivacyBudget) -> Price:
        return self._filter.of_budget(self._for_unit(budget, "row"))

    def _price(self, release: Any) -> Price:
        if isinstance(release, PrivacyBudget):
            return self._filter.of_budget(release)
        if not isinstance(release, PrivacyStatement):
            return self._event_price(release, None)
        return self._event_price(release.event, release.budget, converted=release.unit != self.unit)

    def _event_price(
        self, event: "DpEvent", budget: PrivacyBudget | None, *, converted: bool | None = None
    ) -> Price:
        rows = self._header["rows_per_unit"] or 1
        by_group = rows > 1 and (self.unit != "row" if converted is None else converted)
        if not by_group:
            return self._filter.of_event(event, budget)
        if budget is None:
            raise UnsupportedEventError("Group privacy is charged for (epsilon, delta) alone.")
        return self._filter.of_budget(_for_group(budget, rows))

    def _for_unit(self, budget: PrivacyBudget, unit: str) -> PrivacyBudget:
        rows = self._header["rows_per_unit"]
        return budget if unit == self.unit or rows is None else _for_group(budget, rows)

    def _recomputed(self, body: dict[str, Any]) -> Fraction:
        from skdp.privacy.event_dicts import event_from_dict

        if body["status"] == "covered" or (body.get("bundle") and body["status"] == "spent"):
            return FREE.cost
        pair = None
        if body.get("epsilon") is not None:
            pair = PrivacyBudget(body["epsilon"], body["delta"])
        if body["event"] is None or body.get("slice_delta") is not None:
            if pair is None:
                raise LedgerTamperedError("An entry has neither an event nor a budget.")
            return self._filter.of_budget(self._for_unit(pair, body["unit"])).cost
        event = event_from_dict(body["event"])
        return self._event_price(event, pair, converted=body["unit"] != self.unit).cost

    def _described(self, statement: PrivacyStatement, purpose: str) -> dict[str, Any]:
        from skdp.privacy.event_dicts import event_to_dict

        return {
            "purpose": purpose,
            "epsilon": statement.budget.epsilon,
            "delta": statement.budget.delta,
            "neighbours": statement.neighbours.value,
            "unit": statement.unit,
            "theorem": statement.theorem,
            "noise": statement.noise,
            "event": event_to_dict(statement.event),
        }

    def _refuse_other_promises(self, statement: PrivacyStatement, purpose: str) -> None:
        self._refuse(statement.neighbours, statement.unit, purpose)

    def _refuse(self, neighbours: Neighbours, unit: str, purpose: str) -> None:
        if neighbours is not self.neighbours:
            raise ValueError(
                f"This ledger counts {self.neighbours.value} guarantees; {purpose} is stated for "
                f"{neighbours.value}, which do not add up. Choose an estimator, or its "
                "sampling, of the ledger's relation."
            )
        rows = self._header["rows_per_unit"]
        if unit != self.unit and not (unit == "row" and rows is not None):
            raise ValueError(
                f"This ledger protects each {self.unit}; {purpose} protects each {unit}. If "
                f"no {self.unit} has more than k rows, create the ledger with rows_per_unit=k."
            )

    def _refusal(self, before: Price, price: Price, entry: dict[str, Any], purpose: str) -> str:
        left, asked = self._filter.left(before), entry.get("epsilon")
        words = "" if asked is None else f"epsilon = {asked:g}, delta = {entry['delta']:g}, "
        return (
            f"{purpose} asks for {words}which costs {float(price.cost):.6g} "
            f"{self._filter.currency} and a delta of {float(price.delta):.3g}. Left are "
            f"{float(self._limit.cost - before.cost):.6g} of {float(self._limit.cost):.6g} "
            f"{self._filter.currency}, enough for epsilon = {left.epsilon:.4g}, and a delta of "
            f"{left.delta:.3g}; the cap is {self.cap.epsilon:g}, {self.cap.delta:g}. Nothing was "
            "spent."
        )

    def _total(self, state: dict[str, Any]) -> Price:
        return Price(Fraction(state["cost"]), Fraction(state["delta"]))

    def _share(self, total: Price) -> float:
        shares = [total.cost / self._limit.cost]
        if self._limit.delta:
            shares.append(total.delta / self._limit.delta)
        return float(max(shares))

    def _if_fixed(self, records: list[Record]) -> float | None:
        from dp_accounting import dp_event

        from skdp.privacy.accounting import epsilon_of
        from skdp.privacy.event_dicts import event_from_dict

        charged = [r.body for r in records if _price_in(r.body) != FREE]
        if not charged:
            return 0.0
        if any(body["event"] is None for body in charged):
            return None
        counts = Counter(json.dumps(body["event"], sort_keys=True) for body in charged)
        events = [
            dp_event.SelfComposedDpEvent(event_from_dict(json.loads(text)), count)
            for text, count in counts.items()
        ]
        try:
            return float(epsilon_of(dp_event.ComposedDpEvent(events), self.cap.delta))
        except UnsupportedEventError:
            return None

    def _same_file(self) -> None:
        if self._store.header()["id"] != self._header["id"]:
            raise PrivacyError(f"Another ledger is at {self.path} now; open it anew.")

    def __sklearn_clone__(self) -> Self:
        return self

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return _unpickled, (self.path, self._header["id"], self._bundle, self._experiment)

    def __repr__(self) -> str:
        cap = self.cap
        return (
            f"PrivacyLedger({self.path!r}: {cap.epsilon:g}, {cap.delta:g}, "
            f"{self.neighbours.value}, unit={self.unit}, filter={self._filter.name})"
        )


def _unpickled(
    path: str, identity: str, bundle: str | None, experiment: str | None
) -> PrivacyLedger:
    """Return a handle of its own: a worker serves several callers, one after another."""
    ledger = PrivacyLedger(path)
    if ledger._header["id"] != identity:
        raise PrivacyError(f"Another ledger is at {path} now.")
    ledger._bundle, ledger._experiment = bundle, experiment
    return ledger


def _absolute(path: str | os.PathLike[str]) -> str:
    if "://" in str(path):
        raise ValueError(f"A ledger is a file on disk; {path} is the address of a server.")
    return str(Path(path).expanduser().resolve())


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def _whole_or_none(number: int | None) -> int | None:
    if number is not None and (isinstance(number, bool) or int(number) != number or number < 1):
        raise ValueError(f"rows_per_unit must be a whole number of at least 1, got {number!r}.")
    return None if number is None else int(number)


def _filter_fields(
    name: str, cap: PrivacyBudget, slack: float | None, order: int | None
) -> dict[str, Any]:
    if name not in ("renyi", "gaussian", "basic"):
        raise ValueError(f"filter must be 'renyi', 'gaussian' or 'basic', got {name!r}.")
    if name == "basic":
        return {"filter": name, "slack": 0.0, "order": None}
    if cap.delta == 0:
        raise ValueError(f"filter={name!r} needs a delta above 0; with 0, take filter='basic'.")
    slack = cap.delta / 10 if slack is None else float(slack)
    if not 0 < slack < cap.delta:
        raise ValueError(f"slack must be above 0 and below delta, got {slack!r}.")
    if name == "renyi" and order is None:
        order = RenyiOrderFilter.best_order(cap, slack)
    return {"filter": name, "slack": slack, "order": order if name == "renyi" else None}


def _filter_of(header: dict[str, Any]) -> LedgerFilter:
    cap = PrivacyBudget(header["epsilon"], header["delta"])
    shared = (cap, Neighbours(header["neighbours"]), float(header["slack"]))
    match header["filter"]:
        case "basic":
            return BasicFilter(*shared)
        case "gaussian":
            return GaussianSumFilter(*shared)
    return RenyiOrderFilter(*shared, _known_order(header["order"]))


def _known_order(order: int) -> int:
    from skdp.privacy.renyi import ORDERS

    if order not in ORDERS:
        raise ValueError(f"order must be among the orders computed, got {order!r}.")
    return int(order)


def _for_group(budget: PrivacyBudget, rows: int) -> PrivacyBudget:
    """Return k epsilon and delta (1 + ... + e^((k-1) epsilon)), for k rows of one unit."""
    if rows == 1:
        return budget
    if budget.delta == 0:
        return PrivacyBudget(float(rows * Fraction(repr(budget.epsilon))), 0.0)
    if (rows - 1) * budget.epsilon > 500:
        raise UnsupportedEventError("Group privacy of so many rows says nothing.")
    delta = budget.delta * math.fsum(math.exp(k * budget.epsilon) for k in range(rows))
    if delta >= 1:
        raise UnsupportedEventError("Group privacy of so many rows says nothing.")
    return PrivacyBudget(rows * budget.epsilon, delta * (1 + 2.0**-40))


def _price_in(body: dict[str, Any]) -> Price:
    return Price(Fraction(body["cost"]), Fraction(body["charged_delta"]))


def _event(release: Any) -> Any:
    return release.event if isinstance(release, PrivacyStatement) else release


def _key(event: dict[str, Any]) -> str:
    return json.dumps(event, sort_keys=True)
