"""Counting what is spent on one data set by anybody, in any process, on any day."""

import os
import uuid
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Self, final
from weakref import WeakValueDictionary

from skdp.exceptions import PrivacyError
from skdp.privacy.budget import Neighbours, PrivacyBudget
from skdp.privacy.ledger import Ledger
from skdp.privacy.ledger_bundles import reservation
from skdp.privacy.ledger_connections import place_of
from skdp.privacy.ledger_entries import now, printable
from skdp.privacy.ledger_reader import FORMAT, OPEN
from skdp.privacy.ledger_store import LedgerStore, Mark
from skdp.privacy.ledger_terms import LedgerTerms, filter_fields, rows_of
from skdp.privacy.ledger_views import LedgerSpending
from skdp.privacy.ledger_writer import LedgerWriter
from skdp.privacy.statement import PrivacyStatement

if TYPE_CHECKING:
    from dp_accounting import DpEvent

__all__ = ["LedgerSpending", "PrivacyLedger", "as_ledger"]

_HANDLES: "WeakValueDictionary[tuple[str, str], PrivacyLedger]" = WeakValueDictionary()


@final
class PrivacyLedger(LedgerWriter):
    """A cap on all that is released about one data set, in a file or on a PostgreSQL server.

    Made by `create` and `open`. Every estimator takes it, or its path, as `ledger`. Clones,
    copies, pickles, threads, forks and other processes spend from the same place, one at a time.
    A release is entered before the data is touched: what fails afterwards stays spent.

    Notes
    -----
    *Guarantees.* Releases are chosen after seeing earlier ones, so that privacy loss distributions
    of what happened to be chosen prove nothing about all of them. A filter does, and is fixed when
    the ledger is created:

    - "renyi": divergences of one order add up to at most what (epsilon, delta - slack) needs at
      that order; deltas of entries add up to at most `slack`. An entry without Renyi divergences
      counts as randomised response with its epsilon; so does one that costs less so.
    - "zcdp": the same at every order, against the curve rho a: rhos of entries add up to at most
      the rho that implies (epsilon, delta - slack). Proves an epsilon at every delta, and admits no
      more than "renyi" at the best order, much less where rows are sampled: under the cap (3, 1e-6)
      2 plans of DP-SGD that promise (0.41, 1e-8) each instead of 63, 36 pure releases of epsilon
      0.1 instead of 40, and of Gaussian noise as much (the user guide has a table).
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
        """Make a ledger in a new file, or on a server.

        Parameters
        ----------
        path : str or path
            A file that does not exist yet, on a disk of this machine. Or the address of a
            PostgreSQL server, "postgresql://user@host/database?ledger=NAME", without a password.
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
            The most rows that one unit, other than "row", has in the data. Releases that are
            private for each row are then charged by group privacy: k epsilon and delta (1 +
            e^epsilon + ... + e^((k-1) epsilon)).
        dataset : str, default=""
            What the data is.
        filter : {"renyi", "zcdp", "gaussian", "basic"}, default="renyi"
            How releases are counted; never changed afterwards.
        slack : float or None, default=None
            Part of delta that is set aside for the deltas of entries; None takes a tenth. Without
            effect with "basic".
        order : int or None, default=None
            The order of "renyi", a whole number from 2 to 64 or one of 72, 80, 96, 112, 128, 160,
            192, 256, 384, 512, 768, 1024; never changed afterwards. None takes the one that affords
            the most Gaussian releases.

        Returns
        -------
        PrivacyLedger

        Raises
        ------
        FileExistsError
            If there is one already.
        ValueError
            If a parameter is out of its range.
        """
        cap = PrivacyBudget(epsilon, delta)
        header = {
            "format": FORMAT,
            "id": uuid.uuid4().hex,
            "created": now(),
            "epsilon": float(epsilon),
            "delta": float(delta),
            "neighbours": Neighbours(neighbours).value,
            "unit": unit,
            "rows_per_unit": rows_of(unit, rows_per_unit),
            "dataset": printable(dataset),
            **filter_fields(filter, cap, slack, order),
        }
        _ = LedgerTerms.of(header).filter.limit
        LedgerStore(place_of(path)).create(header, {"cost": "0", "delta": "0"})
        return cls.open(path)

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> Self:
        """Return the ledger at a path or address; one object for each in a process.

        Raises
        ------
        FileNotFoundError
            If there is none.
        PrivacyError
            If something else is there, or it was changed since this process saw it.
        """
        fresh = cls(path)
        known = _HANDLES.setdefault((fresh.path, fresh._header["id"]), fresh)
        known._total()
        return known

    def reserve(
        self,
        releases: "Iterable[DpEvent | PrivacyStatement]",
        *,
        delta: float | None = None,
        purpose: str = "bundle",
    ) -> Self:
        """Pay for releases that are fixed before the first of them is made.

        Parameters
        ----------
        releases : iterable of DpEvent or PrivacyStatement
            The releases.
        delta : float or None, default=None
            Delta of the slice at whose least proved epsilon (privacy loss distributions) the bundle
            is charged; charged is at least what the releases have themselves. 0 is for pure ones
            alone. None takes the sum of the statements' deltas with "basic", and otherwise charges
            the sum of what the releases would cost one by one.
        purpose : str, default="bundle"
            What it is for.

        Returns
        -------
        PrivacyLedger
            A handle that spends from what is reserved, in any order, each release once, and refuses
            others. What is not taken stays spent.
        """
        if self._bundle is not None:
            raise PrivacyError("Bundles do not nest.")
        body, price = reservation(list(releases), delta, self._terms)
        identity = uuid.uuid4().hex
        body = {**body, "status": "reserved", "bundle": identity}
        asked = None if body["epsilon"] is None else PrivacyBudget(body["epsilon"], body["delta"])
        self._append(body, price, purpose, asked)
        reserved = _bound(*self._key, self._seen, identity, None)
        reserved._label = self._label
        return reserved

    @contextmanager
    def bundle(
        self,
        releases: "Iterable[DpEvent | PrivacyStatement]",
        *,
        delta: float | None = None,
        purpose: str = "bundle",
    ) -> Iterator[Self]:
        """Pay for releases that are fixed, and take them from what was reserved inside the block.

        The block is that of the thread or asyncio task that enters it: there, estimators that are
        given this ledger take their releases from the bundle, and others are refused. Other threads
        meanwhile spend from the ledger as if there was no bundle. Parameters are those of
        `reserve`.

        Yields
        ------
        PrivacyLedger
            A handle that spends from the bundle in every thread and process, for workers. After the
            block it spends from the ledger again, in workers never. In the block, clones and copies
            of the ledger are this handle, so that the estimator that a `GridSearchCV` clones takes
            it to its workers.
        """
        reserved = self.reserve(releases, delta=delta, purpose=purpose)
        OPEN.set(MappingProxyType({**OPEN.get(), self._key: reserved}))
        try:
            yield reserved
        finally:
            # Closed wherever a copy of this context still leads to it.
            reserved._reserved = None
            others = {k: block for k, block in OPEN.get().items() if block is not reserved}
            OPEN.set(MappingProxyType(others))

    @contextmanager
    def experiment(self, name: str) -> Iterator[Self]:
        """Write `name` beside all that is entered inside, by workers that start inside too."""
        before, self._label.name = self._label.name, name
        try:
            yield self
        finally:
            self._label.name = before

    def __sklearn_clone__(self) -> "PrivacyLedger":
        return self._here

    def __copy__(self) -> "PrivacyLedger":
        return self._here

    def __deepcopy__(self, memo: dict[int, Any]) -> "PrivacyLedger":
        return self._here

    def __reduce__(self) -> tuple[Any, ...]:
        return _bound, (*self._key, self._seen, self._bundle, self._label.name)

    @property
    def _here(self) -> "PrivacyLedger":
        """The handle of the block that this thread or task is in, or this one."""
        block = OPEN.get().get(self._key) if self._reserved is None else None
        return block if isinstance(block, PrivacyLedger) else self


def as_ledger(given: Any) -> Ledger | None:
    """Return the ledger that a parameter names: itself, or the one at a path or address."""
    return PrivacyLedger.open(given) if isinstance(given, str | os.PathLike) else given


def _bound(
    path: str, identity: str, seen: Mark, bundle: str | None, experiment: str | None
) -> PrivacyLedger:
    """Return a handle of its own: a worker serves several callers, one after another."""
    ledger = PrivacyLedger(path)
    if ledger._header["id"] != identity:
        raise PrivacyError(f"Another ledger is at {path} now.")
    ledger._seen, ledger._reserved, ledger._label.name = seen, bundle, experiment
    return ledger
