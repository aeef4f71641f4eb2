"""The unit of privacy: a row, or a group of rows such as all those of one person."""

from numbers import Integral

from skdp._admission import Interval, admit_groups
from skdp.records.groups import GroupSlots

#: Constraints of the parameters, for scikit-learn's validation.
GROUP_CONSTRAINTS = {
    "max_rows_per_group": [Interval(Integral, 1, None, closed="left"), None],
    "n_groups": [Interval(Integral, 1, None, closed="left"), None],
}


class GroupedRowsMixin:
    """Estimator with `max_rows_per_group` and `n_groups`, whose `fit` takes `groups`."""

    def _refuse_ambiguous_unit(self, groups):
        """Refuse a fit of which one may believe that it protects another unit than it does."""
        if self.max_rows_per_group is None and groups is not None:
            raise ValueError(
                "groups= was given, but max_rows_per_group is None, which protects single rows. "
                "Set max_rows_per_group, or leave groups out."
            )
        if self.max_rows_per_group is None and self.n_groups is not None:
            raise ValueError(
                f"n_groups={self.n_groups!r} counts groups, but max_rows_per_group is None, which "
                "protects single rows. Set max_rows_per_group, or leave n_groups None."
            )
        if self.max_rows_per_group is not None and groups is None:
            raise ValueError(
                f"max_rows_per_group={self.max_rows_per_group!r} protects groups, but fit was "
                "given none. Pass groups=, one group for each row; inside a Pipeline or a search "
                "ask for it: set_config(enable_metadata_routing=True) and "
                "set_fit_request(groups=True)."
            )

    def _slots(self, groups, n_rows):
        """Return the slots of the groups, None where rows are the unit."""
        self._refuse_ambiguous_unit(groups)
        if groups is None:
            return None
        places, n_found = admit_groups(groups, n_rows)
        n_groups = n_found if self.n_groups is None else int(self.n_groups)
        if n_found > n_groups:
            raise ValueError(f"groups= holds more than the declared n_groups={n_groups} groups.")
        per_group = int(self.max_rows_per_group)
        return GroupSlots.first_rows(places, n_groups=n_groups, per_group=per_group)

    def _unit_facts(self, slots):
        """Return the unit of the promise, and what is assumed of it."""
        if slots is None:
            return "row", (
                "The number of rows and the columns are public, and so is how X is stored "
                "(float32 or float64, dense or sparse).",
            )
        declared = (
            "The number of groups was declared; a group without rows counts as one."
            if self.n_groups is not None
            else "The number of groups was taken from groups= and is assumed to be public."
        )
        return "group", (
            declared,
            f"Each group adds its first {slots.per_group} rows, in the order given, and sums are "
            f"divided by a public number of groups times {slots.per_group}. How many rows a group "
            "has is private.",
            "All rows of one unit have the same name in groups=, and neither the names nor the "
            "order of a group's rows depend on other groups.",
            "The columns are public, and so is how X is stored (float32 or float64, dense or "
            "sparse).",
        )
