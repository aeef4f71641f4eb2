"""Which column of zeros and ones stands for which category."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, final

import numpy as np
import numpy.typing as npt
from scipy import sparse

from skdp.mechanisms.stable_histogram import Category
from skdp.preprocessing.categories import Column, categories_as_array

__all__ = ["INFREQUENT", "OneHotLayout"]

#: What scikit-learn calls the column of all other categories.
INFREQUENT = "infrequent_sklearn"


@final
@dataclass(frozen=True)
class OneHotLayout:
    """The columns of some features, in order.

    Attributes
    ----------
    kept : tuple of tuples of categories
        Of each feature.
    rest : bool
        Whether each feature has a column for all other categories, after these.
    drop_first : bool
        Whether the first column of each feature that has two or more is left out.

    Examples
    --------
    >>> layout = OneHotLayout((("a", "b"), (None,)), rest=True, drop_first=False)
    >>> layout.encode([["b", "zzz"], [None, None]], float).toarray()
    array([[0., 1., 0., 1., 0.],
           [0., 0., 1., 1., 0.]])
    >>> list(layout.names(["x", "y"]))
    ['x_a', 'x_b', 'x_infrequent_sklearn', 'y_nan', 'y_infrequent_sklearn']
    """

    kept: tuple[tuple[Category, ...], ...]
    rest: bool
    drop_first: bool

    @property
    def widths(self) -> tuple[int, ...]:
        """Number of columns of each feature, before one is dropped."""
        return tuple(len(own) + self.rest for own in self.kept)

    @property
    def drop_idx(self) -> npt.NDArray[Any] | None:
        """Which column of each feature is left out."""
        if not self.drop_first:
            return None
        return np.array([0 if width > 1 else None for width in self.widths], dtype=object)

    @cached_property
    def shown(self) -> npt.NDArray[np.intp]:
        """Places of the columns that are not left out."""
        first = [start for start, width in zip(self._starts, self.widths, strict=True) if width > 1]
        every = np.arange(sum(self.widths))
        return np.setdiff1d(every, first) if self.drop_first else every

    def encode(self, columns: Sequence[Column], dtype: Any) -> Any:
        """Return zeros and ones, CSR, of the categories of each feature."""
        found = [
            start + self._codes(column, own)
            for start, column, own in zip(self._starts, columns, self.kept, strict=True)
        ]
        places = np.ma.stack(found)
        hit = ~np.ma.getmaskarray(places)
        rows = np.broadcast_to(np.arange(places.shape[1]), places.shape)[hit]
        ones = np.ones(rows.size, dtype=dtype)
        shape = (places.shape[1], sum(self.widths))
        return sparse.coo_matrix((ones, (rows, places.data[hit])), shape=shape).tocsr()[
            :, self.shown
        ]

    def decode(self, X: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """Return categories, missing ones and such as were not kept as None."""
        whole = np.zeros((len(X), sum(self.widths)))
        whole[:, self.shown] = X
        read = np.full((len(X), len(self.kept)), None, dtype=object)
        for place, (start, width) in enumerate(zip(self._starts, self.widths, strict=True)):
            own = np.array([*self.kept[place], *[INFREQUENT] * self.rest], dtype=object)
            block = whole[:, start : start + width]
            hit = block.any(axis=1)
            read[hit, place] = own[block[hit].argmax(axis=1)] if width else None
            if self.drop_first and width > 1:
                read[~hit, place] = own[0]
        return read

    def names(self, features: Iterable[str]) -> npt.NDArray[Any]:
        """Return the names of the columns that are shown."""
        rest = [INFREQUENT] * self.rest
        names = [
            f"{feature}_{category}"
            for feature, own in zip(features, self.kept, strict=True)
            for category in (*categories_as_array(own).tolist(), *rest)
        ]
        return np.array(names, dtype=object)[self.shown]

    @property
    def _starts(self) -> list[int]:
        return [sum(self.widths[:place]) for place in range(len(self.kept))]

    def _codes(self, column: Column, own: tuple[Category, ...]) -> Any:
        """Return places within a feature, masked where there is none."""
        place = {category: i for i, category in enumerate(own)}
        found = (place.get(category, len(own)) for category in column)
        codes = np.fromiter(found, dtype=np.int64, count=len(column))
        return np.ma.array(codes, mask=(codes == len(own)) & (not self.rest))
