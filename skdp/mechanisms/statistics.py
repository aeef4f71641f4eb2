"""What goes into a selection and what comes out: vectors given by a few coordinates."""

from dataclasses import dataclass
from typing import Self, final

import numpy as np
import numpy.typing as npt

from skdp._validation import positive_integer

__all__ = ["Selection", "SparseSum"]

Floats = npt.NDArray[np.float64]
Indices = npt.NDArray[np.int64]


@final
@dataclass(frozen=True, eq=False)
class SparseSum:
    """A vector of `size` coordinates that is zero but for those listed.

    A listed coordinate may be zero, too: which coordinates are listed is private, and no
    mechanism shows it.

    Parameters
    ----------
    indices : array-like of int, shape (s,)
        Strictly increasing, from 0 to `size` - 1.
    values : array-like of float, shape (s,)
        The coordinates there.
    size : int
        Length of the vector.

    Raises
    ------
    ValueError
        If the two arrays do not belong together or an index is out of range or order.

    Examples
    --------
    >>> SparseSum([1, 3], [2.0, -1.0], 5).toarray()
    array([ 0.,  2.,  0., -1.,  0.])
    """

    indices: Indices
    values: Floats
    size: int

    def __post_init__(self) -> None:
        positive_integer(size=self.size)
        object.__setattr__(self, "size", int(self.size))
        object.__setattr__(self, "indices", _increasing(self.indices))
        object.__setattr__(self, "values", _aligned(self.values, self.indices))
        if self.indices.size and not 0 <= self.indices[0] <= self.indices[-1] < self.size:
            raise ValueError(f"indices must be from 0 to {self.size - 1}.")

    @classmethod
    def from_dense(cls, array: npt.ArrayLike) -> Self:
        """Return the sum that lists the non-zero coordinates of `array`, in C order."""
        flat = np.asarray(array, dtype=np.float64).ravel()
        indices = np.flatnonzero(flat)
        return cls(indices, flat[indices], flat.size)

    def toarray(self) -> Floats:
        """Return the vector itself, shape (size,)."""
        dense = np.zeros(self.size)
        dense[self.indices] = self.values
        return dense

    def copy(self) -> Self:
        """Return a sum that shares no memory with this one."""
        return type(self)(self.indices.copy(), self.values.copy(), self.size)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, SparseSum):
            return NotImplemented
        return (
            self.size == other.size
            and np.array_equal(self.indices, other.indices)
            and np.array_equal(self.values, other.values)
        )

    __hash__ = None  # type: ignore[assignment]


@final
@dataclass(frozen=True, eq=False)
class Selection:
    """The coordinates that a mechanism selected.

    Parameters
    ----------
    indices : array-like of int, shape (k,)
        Strictly increasing.
    values : array-like of float, shape (k,), or None
        Released values there, where the mechanism releases any.

    Examples
    --------
    >>> len(Selection([2, 7], None))
    2
    """

    indices: Indices
    values: Floats | None

    def __post_init__(self) -> None:
        object.__setattr__(self, "indices", _increasing(self.indices))
        if self.values is not None:
            object.__setattr__(self, "values", _aligned(self.values, self.indices))

    @classmethod
    def sorted(cls, indices: Indices, values: Floats | None = None) -> Self:
        """Return the selection of distinct `indices` in any order."""
        order = np.argsort(indices)
        return cls(indices[order], None if values is None else values[order])

    def copy(self) -> Self:
        """Return a selection that shares no memory with this one."""
        return type(self)(self.indices.copy(), None if self.values is None else self.values.copy())

    def __len__(self) -> int:
        return self.indices.size

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Selection):
            return NotImplemented
        if self.values is None or other.values is None:
            same = self.values is other.values
        else:
            same = np.array_equal(self.values, other.values)
        return same and np.array_equal(self.indices, other.indices)

    __hash__ = None  # type: ignore[assignment]


def _increasing(indices: npt.ArrayLike) -> Indices:
    array = np.asarray(indices)
    if array.size == 0:
        array = array.astype(np.int64)
    if array.ndim != 1 or array.dtype.kind not in "iu" or np.any(array[1:] <= array[:-1]):
        raise ValueError("indices must be strictly increasing whole numbers.")
    return array.astype(np.int64, copy=False)


def _aligned(values: npt.ArrayLike, indices: Indices) -> Floats:
    array = np.asarray(values, dtype=np.float64)
    if array.shape != indices.shape:
        raise ValueError(f"values must have {indices.size} elements, got {array.size}.")
    return array
