"""What rows are seen from in training: around a centre, along all directions or a few."""

from dataclasses import dataclass
from typing import Any, final

import numpy as np

from skdp.records.row_blocks import BLOCK_ROWS
from skdp.training.gradients import Array
from skdp.training.mlp_network import Network

__all__ = ["Frame", "less"]


@final
@dataclass(frozen=True, eq=False)
class Frame:
    """Released numbers that rows are seen from: ``components (x - centre)``.

    Attributes
    ----------
    centre : ndarray of shape (n_features,)
        The origin.
    components : ndarray of shape (n_components, n_features) or None
        Orthonormal rows; None for all of the space, in its own axes.
    """

    centre: Array
    components: Array | None

    def rows(self, X: Any, scale: float) -> Any:
        """Return the rows within, times `scale`, in the type of X.

        Each is a function of that row and its place alone.
        """
        if self.components is None:
            return less(X, self.centre, scale)
        found = np.empty((X.shape[0], len(self.components)), X.dtype)
        axes = np.ascontiguousarray(self.components.T, dtype=X.dtype)
        with np.errstate(all="ignore"):
            for start in range(0, X.shape[0], BLOCK_ROWS):
                block = less(X[start : start + BLOCK_ROWS], self.centre, scale) @ axes
                found[start : start + BLOCK_ROWS] = np.nan_to_num(block, copy=False)
        return found

    def network(self, network: Network) -> Network:
        """Return the network of the same layers for rows within."""
        if self.components is None:
            return network
        return Network((len(self.components), *network.sizes[1:]), network.activation)

    def entered(self, network: Network, flat: Array) -> Array:
        """Return the parameters for rows within that give what `flat` gives for rows as they came.

        That is so of parameters that `left` returned; others lose what lies outside.
        """
        moved = network.seen_from(flat, self.centre)
        return moved if self.components is None else network.turned(moved, self.components)

    def left(self, network: Network, flat: Array) -> Array:
        """Return the parameters for rows as they came; `network` and `flat` are those within."""
        if self.components is None:
            return network.seen_from(flat, -self.centre)
        outside = Network((self.components.shape[1], *network.sizes[1:]), network.activation)
        return outside.seen_from(network.turned(flat, self.components.T), -self.centre)


def less(X: Any, centre: Array, scale: float = 1.0) -> Any:
    """Return ``scale (X - centre)`` in the type of X; each row is a function of that row alone.

    Examples
    --------
    >>> less(np.array([[3.0, 4.0]]), np.array([1.0, 0.0]), 2.0)
    array([[4., 8.]])
    """
    with np.errstate(all="ignore"):
        moved = X - centre.astype(X.dtype)
        moved *= X.dtype.type(scale)
        # What overflows is no better than the largest number.
        return np.nan_to_num(moved, copy=False)
