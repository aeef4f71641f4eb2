"""Clipped gradients of a neural network, summed without forming any of them."""

import math
from typing import Any, NoReturn, final

import numpy as np
import numpy.typing as npt
from scipy import sparse

from skdp.mechanisms.statistics import SparseSum
from skdp.objectives.losses import Loss
from skdp.training.gradients import Array, Rows
from skdp.training.mlp_network import Floats, Layer, Network
from skdp.training.mlp_rounding import UNIT_ROUNDOFF, record_norm

__all__ = ["MlpGradients", "block_size", "summation_depth"]

#: Values of the widest layer that are kept for one block of records.
_ELEMENTS = 2**21
_FEWEST_ROWS, _MOST_ROWS = 64, 4096
_HALF_ULP = {np.dtype(np.float64): UNIT_ROUNDOFF, np.dtype(np.float32): 2.0**-24}


def block_size(network: Network) -> int:
    """Number of records that are treated at a time."""
    return min(max(_ELEMENTS // max(network.sizes), _FEWEST_ROWS), _MOST_ROWS)


def summation_depth(network: Network, n_records: int) -> int:
    """Most roundings that a term of a sum over so many records goes through."""
    rows = block_size(network)
    return min(rows, n_records) + math.ceil(n_records / rows) + 2


@final
class MlpGradients:
    r"""``clip(gradient of loss(network(x_i), y_i))`` of records in memory, all layers at once.

    The gradient of a record in a layer is the outer product of what enters the layer and of the
    errors at its units, so with biases its squared norm is
    :math:`\sum_l (\|a_l\|^2 + 1) \|\delta_l\|^2` (Goodfellow, 2015, Efficient per-example gradient
    computations). The sum of gradients, each times its own factor, is one matrix product a layer.

    Parameters
    ----------
    X : ndarray (C order) or canonical CSR matrix of shape (n_records, n_features)
        Finite float64 or float32. Outputs and errors are computed in that type. Kept, not copied.
    targets : array-like of shape (n_records,)
        As the loss wants them.
    loss : Loss
        Of the scores.
    network : Network
        With ``sizes[0] = n_features`` and ``sizes[-1] = loss.n_outputs``.
    empty : ndarray of int or None, default=None
        Records that have a place in batches and no gradient.

    Attributes
    ----------
    n_records : int
    size : int
        Number of parameters, in the order of `Network`.

    Notes
    -----
    *Guarantees.* For zero-out and replace-one neighbours, whose batches have the same shape:

    1. What a batch computes for one record (outputs, errors, norm, factor) is a function of that
       record, its place and the parameters, bit for bit: rows are cut into blocks by place, no row
       is dropped or moved because of its values, and an element of a matrix product is computed
       from its row and its column alone, in an order that shapes decide.
    2. Whatever is not finite makes its record's factor and errors 0, before rows are summed.
    3. The vector that a record adds, in exact arithmetic, has a norm of at most L of
       `mlp_rounding`. With u the unit roundoff of the type of X and w the widest layer, a squared
       norm of w values is off by a factor 1 - (w + 16) u at most and by w times the smallest normal
       number, which are made up for; squared norms of rows of X are summed in float64. Squares,
       factors and scaled errors are float64 from there on. The matrix product over records is in
       float64, too, where products of float32 values are exact.
    4. So sums on the grid move by at most `max_norm` (`mlp_rounding`), in floating point; by at
       most m times that where a neighbour nulls or replaces m records.

    A record that is added moves the places of others, which may change their bits: no guarantee
    for add-or-remove-one.

    Examples
    --------
    >>> import numpy as np
    >>> from skdp.objectives import Logistic
    >>> from skdp.training.mlp_activations import ACTIVATIONS
    >>> network = Network((2, 3, 1), ACTIVATIONS["tanh"])
    >>> gradients = MlpGradients(np.eye(2), [1.0, -1.0], Logistic(), network)
    >>> values, rows = np.full(network.n_parameters, 0.1), np.array([0])
    >>> total = gradients.clipped_sum(values, 1.0, rows, max_norm=0.1, grid=2.0**-30)
    >>> float(np.linalg.norm(total).round(3))
    0.1
    """

    def __init__(
        self,
        X: Any,
        targets: npt.ArrayLike,
        loss: Loss,
        network: Network,
        empty: Rows | None = None,
    ) -> None:
        if X.dtype not in _HALF_ULP or X.shape[1] != network.sizes[0]:
            raise ValueError(
                f"X must hold floats in {network.sizes[0]} columns, got {X.dtype} in {X.shape[1]}."
            )
        if loss.n_outputs != network.sizes[-1]:
            raise ValueError("The loss and the network have different numbers of outputs.")
        self.n_records, self.size = int(X.shape[0]), network.n_parameters
        self._X, self._loss, self._network = X, loss, network
        self._targets = np.asarray(targets, dtype=X.dtype)
        self._squared_norms = _squared_norms_of_rows(X)
        if empty is not None:
            self._squared_norms[empty] = np.inf
        self._block = block_size(network)
        widest = max(network.sizes[1:])
        self._rounding = 1 + (widest + 16) * _HALF_ULP[X.dtype] * 2
        self._underflow = widest * float(np.finfo(X.dtype).tiny)

    def clipped_sum(
        self, values: Array, scale: float, rows: Rows, *, max_norm: float, grid: float
    ) -> Array:
        """Sum of the gradients of some records; see the class for how exact it is."""
        depth = summation_depth(self._network, len(rows))
        limit = record_norm(max_norm, grid, self.size, len(rows), depth)
        layers = self._network.layers((scale * values).astype(self._X.dtype))
        total = np.zeros(self.size)
        sums = self._network.layers(total)
        with np.errstate(all="ignore"):
            for start in range(0, len(rows), self._block):
                self._add(rows[start : start + self._block], layers, limit, sums)
        return total

    def contribution_map(self, rows: Rows, *, max_norm: float, grid: float) -> SparseSum:
        """Refuse: every record touches every coordinate."""
        self._refuse()

    def restricted_sum(
        self,
        values: Array,
        scale: float,
        rows: Rows,
        selected: Rows,
        *,
        max_norm: float,
        grid: float,
    ) -> Array:
        """Refuse: there is no selection for networks."""
        self._refuse()

    def _refuse(self) -> NoReturn:
        raise NotImplementedError("Coordinates are selected for linear models alone.")

    def _add(self, rows: Rows, layers: list[Layer], limit: float, sums: list[Layer]) -> None:
        outputs = self._network.outputs(layers, self._X[rows])
        slopes = self._slopes(outputs.pop(), rows)
        errors = self._network.errors(layers, [*outputs, slopes], slopes)
        self._clip(rows, outputs, errors, limit)
        for (weights, biases), entering, delta in zip(sums, outputs, errors, strict=True):
            weights += entering.T.astype(np.float64, copy=False) @ delta
            biases += delta.sum(axis=0)

    def _slopes(self, scores: Floats, rows: Rows) -> Floats:
        flat = scores.ravel() if self._loss.n_outputs == 1 else scores
        slopes: Floats = self._loss.derivative(flat, self._targets[rows]).reshape(scores.shape)
        return slopes

    def _clip(self, rows: Rows, outputs: list[Any], errors: list[Floats], limit: float) -> None:
        """Scale the errors of each record, in float64, in place of the given ones."""
        squares = self._squared_gradients(rows, outputs, errors)
        factors = np.minimum(limit / np.sqrt(squares), 1.0)
        lost = np.flatnonzero(~np.isfinite(squares))
        factors[lost] = 0.0
        for place, delta in enumerate(errors):
            delta[lost] = 0.0
            errors[place] = delta * factors[:, None]
            outputs[place] = _without_rows(outputs[place], lost)

    def _squared_gradients(self, rows: Rows, outputs: list[Any], errors: list[Floats]) -> Array:
        """Upper bounds on the squared norm of each record's whole gradient."""
        entering: Array = self._squared_norms[rows]
        total = np.zeros(len(rows))
        for place, delta in enumerate(errors):
            if place > 0:
                entering = self._squared_norms_bound(outputs[place])
            total += (entering + 1) * self._squared_norms_bound(delta)
        return total

    def _squared_norms_bound(self, values: Floats) -> Array:
        squares = np.einsum("ij,ij->i", values, values).astype(np.float64)
        bound: Array = squares * self._rounding + self._underflow
        return bound


def _without_rows(values: Any, lost: Rows) -> Any:
    """Set rows to 0, in place: 0 times what is not finite would be NaN, and NaN takes all with it.

    `values` was made for this batch, be it a selection of rows of X.
    """
    if not len(lost):
        return values
    if sparse.issparse(values):
        for row in lost:
            values.data[values.indptr[row] : values.indptr[row + 1]] = 0.0
    else:
        values[lost] = 0.0
    return values


def _squared_norms_of_rows(X: Any) -> Array:
    """Upper bounds on the squared norm of each row."""
    n_records, n_features = X.shape
    squares = np.zeros(n_records)
    with np.errstate(all="ignore"):
        if sparse.issparse(X):
            values = np.square(X.data[: X.indptr[-1]], dtype=np.float64)
            filled = np.flatnonzero(np.diff(X.indptr))
            squares[filled] = np.add.reduceat(values, X.indptr[filled]) if len(filled) else 0.0
        else:
            rows = max(1, _ELEMENTS // n_features)
            for start in range(0, n_records, rows):
                block = X[start : start + rows].astype(np.float64, copy=False)
                squares[start : start + rows] = np.einsum("ij,ij->i", block, block)
    bound: Array = squares * (1 + 2 * (n_features + 16) * UNIT_ROUNDOFF)
    bound += n_features * np.finfo(np.float64).tiny
    return bound
