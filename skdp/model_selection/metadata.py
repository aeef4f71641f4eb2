"""What goes with the rows of a search: weights, and the group of each row."""

from dataclasses import dataclass
from typing import Any, final

import numpy as np
from sklearn import get_config

from skdp._admission import admit_groups, admit_weights
from skdp.pipeline.rehearsal import n_rows_of
from skdp.records.groups import GroupSlots

__all__ = ["Metadata", "Units", "routed"]

_KNOWN = ("sample_weight", "groups")


@final
@dataclass(frozen=True)
class Metadata:
    """Arguments of `fit` by the names that the estimator takes them by, admitted.

    Attributes
    ----------
    weights, groups : dict of ndarray
        One value a row; all of `groups` are the same.
    places : ndarray or None
        Place of each row's group in the order of their first rows; None where rows are the unit.
    n_found : int
        Number of groups that have rows.
    """

    weights: dict[str, Any]
    groups: dict[str, Any]
    places: Any
    n_found: int

    @classmethod
    def admit(cls, params, X):
        """Return what may be passed on, or refuse."""
        given = {name: value for name, value in params.items() if value is not None}
        for name in given:
            if _last(name) not in _KNOWN:
                raise TypeError(
                    f"fit got {name!r}; a search passes on sample_weight and groups and nothing "
                    "else, because it would not know how to divide it."
                )
        weights = {
            name: admit_weights(value, X)
            for name, value in given.items()
            if _last(name) == "sample_weight"
        }
        groups = {name: value for name, value in given.items() if _last(name) == "groups"}
        found = [admit_groups(value, n_rows_of(X)) for value in groups.values()]
        for places, _ in found[1:]:
            if not np.array_equal(places, found[0][0]):
                raise ValueError("groups= is given twice, and not the same.")
        named = {name: np.asarray(value) for name, value in groups.items()}
        return cls(weights, named, *(found[0] if found else (None, 0)))

    def of(self, rows):
        """Return the arguments for some rows."""
        return {name: value[rows] for name, value in (*self.weights.items(), *self.groups.items())}

    def stand_in(self, n):
        """Return the arguments for n stand-in rows."""
        return {
            **{name: np.ones(n) for name in self.weights},
            **{name: np.arange(n) for name in self.groups},
        }

    def n_units(self, n_rows, n_groups):
        """Return the public number of units; `n_groups` is declared, or None."""
        if self.places is None:
            return n_rows
        n = self.n_found if n_groups is None else n_groups
        if self.n_found > n:
            raise ValueError(f"groups= holds more than the declared n_groups={n} groups.")
        return n

    def refuse_unusable(self, rows):
        """Refuse a part on which no model can be fitted, before anything is spent."""
        if len(rows) < 2:
            raise ValueError("The groups have so few rows that a part of them has less than 2.")
        if any(not (value[rows] > 0).any() for value in self.weights.values()):
            raise ValueError("sample_weight is 0 so often that a part has no other weights.")


def _last(name):
    return name.rpartition("__")[2]


def routed(search, params):
    """Return what the estimator of a search is to be given."""
    if not get_config()["enable_metadata_routing"]:
        return params
    from sklearn.utils.metadata_routing import process_routing

    return process_routing(search, "fit", **params).estimator.fit


@final
@dataclass(frozen=True)
class Units:
    """The rows of a search as units: each by itself, or groups with the rows that count.

    Attributes
    ----------
    n : int
        Number of units, public.
    slots : GroupSlots or None
        Rows that count of each group; None where a unit is a row.
    places : ndarray or None
        As of `Metadata`.
    """

    n: int
    slots: GroupSlots | None = None
    places: Any = None

    @classmethod
    def of(cls, n, metadata, per_group):
        """Return n units of rows, which are groups where the metadata names these."""
        if metadata.places is None:
            return cls(n)
        slots = GroupSlots.first_rows(metadata.places, n_groups=n, per_group=per_group)
        return cls(n, slots, metadata.places)

    @property
    def assumptions(self):
        """Return what a statement says of them."""
        if self.slots is None:
            return (
                "The number of rows, the columns and the classes are public, and so is how X is "
                "stored.",
                "The split into parts follows the places of rows, never their values.",
            )
        return (
            "The number of groups (declared, or taken from groups=), the columns and the classes "
            "are public, and so is how X is stored. How many rows a group has is private.",
            "All rows of one unit have the same name in groups=, and neither the names nor the "
            "order of a group's rows depend on other groups. The order of the groups, by their "
            "first rows, is public.",
            "The split takes groups as wholes, by their places, never by values. In a score each "
            f"counts its first {self.slots.per_group} rows.",
        )

    def rows(self, units):
        """Return all rows of some units."""
        return units if self.slots is None else np.flatnonzero(np.isin(self.places, units))

    def counted(self, units):
        """Return the rows of some units that count in a score, and how many may count of each."""
        if self.slots is None:
            return units, 1
        there = np.isin(self.places[self.slots.rows], units)
        return np.sort(self.slots.rows[there]), self.slots.per_group
