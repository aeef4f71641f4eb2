"""What is public about a table, written down by hand, and an encoding that uses nothing else."""

from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, final

import numpy as np
import numpy.typing as npt

Matrix = npt.NDArray[np.float64]

# Keeps the computed norm of a clipped row at or below the bound, whatever the rounding.
_ROUNDING_MARGIN = 1e-12


def _finite(values: Any, name: str) -> Matrix:
    """Return a column as finite float64, or refuse it without quoting a cell."""
    try:
        numbers = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        numbers = np.array([np.nan])
    if not np.isfinite(numbers).all():
        raise ValueError(f"Column {name!r} must hold finite numbers only.")
    return numbers


@dataclass(frozen=True)
class Column(ABC):
    """A column of a table with its public domain.

    Parameters
    ----------
    name : str
        Name of the column.
    source : str
        Where the domain is documented.
    """

    name: str
    source: str

    @property
    @abstractmethod
    def feature_names(self) -> tuple[str, ...]:
        """Names of the features that the column becomes."""

    @abstractmethod
    def features(self, values: Any) -> Matrix:
        """Encode values of shape (n,) as (n, len(feature_names)), each entry in [-1, 1]."""


@dataclass(frozen=True)
class RangeColumn(Column):
    """A numeric column with a public range; values outside of it are clipped.

    Parameters
    ----------
    low, high : float
        The range.
    """

    low: float
    high: float

    def clipped(self, values: Any) -> Matrix:
        """Return the values, moved to the nearer end of the range when outside."""
        return np.clip(_finite(values, self.name), self.low, self.high)


@final
@dataclass(frozen=True)
class LinearColumn(RangeColumn):
    """``u = 2 (x - low) / (high - low) - 1``, in [-1, 1]."""

    @property
    def feature_names(self) -> tuple[str, ...]:
        return (self.name,)

    def features(self, values: Any) -> Matrix:
        return (2 * (self.clipped(values) - self.low) / (self.high - self.low) - 1)[:, None]


@final
@dataclass(frozen=True)
class QuadraticColumn(RangeColumn):
    """``u`` as in `LinearColumn`, and ``2 u^2 - 1``: an effect that peaks inside of the range."""

    @property
    def feature_names(self) -> tuple[str, ...]:
        return (self.name, f"{self.name}^2")

    def features(self, values: Any) -> Matrix:
        u = LinearColumn(self.name, self.source, self.low, self.high).features(values)
        return np.hstack([u, 2 * u**2 - 1])


@final
@dataclass(frozen=True)
class LogColumn(RangeColumn):
    """``log(1 + x - low) / log(1 + high - low)``, in [0, 1]: for amounts of money, mostly 0."""

    @property
    def feature_names(self) -> tuple[str, ...]:
        return (self.name,)

    def features(self, values: Any) -> Matrix:
        share: Matrix = np.log1p(self.clipped(values) - self.low) / np.log1p(self.high - self.low)
        return share[:, None]


@final
@dataclass(frozen=True)
class CategoryColumn(Column):
    """One indicator for each declared category but the first, which is the reference.

    A missing or undeclared value is all zeros, as is the reference.

    Parameters
    ----------
    categories : tuple of str
        All categories, in the order of the documentation.
    """

    categories: tuple[str, ...]

    @property
    def feature_names(self) -> tuple[str, ...]:
        return tuple(f"{self.name}={category}" for category in self.categories[1:])

    def features(self, values: Any) -> Matrix:
        place = {category: i for i, category in enumerate(self.categories)}
        places = [place.get(value, 0) for value in np.asarray(values, dtype=object)]
        indicators: Matrix = np.eye(len(self.categories))[:, 1:]
        return indicators[places]


@final
@dataclass(frozen=True)
class PublicSchema:
    """The public facts about a table, and an encoding whose rows have norm at most 1.

    Parameters
    ----------
    columns : tuple of Column
        All columns but the target.
    target : str
        Name of the target column.
    classes : tuple of str
        Every label the target can take.
    encoded : tuple of str
        Columns that `encode` uses by default.
    scale : float
        Public number that the features of a row are divided by before the row is clipped.
    """

    columns: tuple[Column, ...]
    target: str
    classes: tuple[str, ...]
    encoded: tuple[str, ...]
    scale: float

    @property
    def ranges(self) -> Mapping[str, tuple[float, float]]:
        """Range (low, high) of each numeric column."""
        return {c.name: (c.low, c.high) for c in self.columns if isinstance(c, RangeColumn)}

    @property
    def categories(self) -> Mapping[str, tuple[str, ...]]:
        """Categories of each other column, for ``OneHotEncoder(categories=...)``."""
        return {c.name: c.categories for c in self.columns if isinstance(c, CategoryColumn)}

    def feature_names(self, columns: Collection[str] | None = None) -> tuple[str, ...]:
        """Names of the features that `encode` makes of these columns."""
        return tuple(name for c in self._chosen(columns) for name in c.feature_names)

    def encode(self, frame: Any, columns: Collection[str] | None = None) -> Matrix:
        """Encode rows as numbers, each row by itself and by public facts alone.

        Each column becomes features in [-1, 1]; a row is divided by `scale` and, when it is then
        longer than 1, scaled down to norm 1.

        Parameters
        ----------
        frame : DataFrame of shape (n_samples, any)
            pandas or polars.
        columns : collection of str, default=None
            Columns to use, a choice that must not be made by looking at private rows. None uses
            `encoded`.

        Returns
        -------
        ndarray of shape (n_samples, len(feature_names(columns)))
            float64; every row has Euclidean norm at most 1.

        Raises
        ------
        ValueError
            A column is unknown or absent, or a numeric one holds something else than finite
            numbers. The message quotes no cell.
        """
        chosen = self._chosen(columns)
        absent = [c.name for c in chosen if c.name not in frame.columns]
        if absent:
            raise ValueError(f"The frame lacks the columns {absent}.")
        features = np.hstack([c.features(frame[c.name]) for c in chosen]) / self.scale
        norms: Matrix = np.linalg.norm(features, axis=1, keepdims=True)
        rows: Matrix = features / np.maximum(1.0, norms * (1 + _ROUNDING_MARGIN))
        return rows

    def _chosen(self, names: Collection[str] | None) -> tuple[Column, ...]:
        wanted = self.encoded if names is None else names
        unknown = set(wanted) - {c.name for c in self.columns}
        if unknown or not wanted:
            known = [c.name for c in self.columns]
            raise ValueError(f"columns must be some of {known}, got {sorted(wanted)}.")
        return tuple(c for c in self.columns if c.name in wanted)
