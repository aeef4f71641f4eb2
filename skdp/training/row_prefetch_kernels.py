"""A hint to the processor: rows of a random batch are in memory by the time they are needed.

It halves the time of an epoch of random rows. Imported lazily: it needs numba.
"""

from typing import Any, cast

import numba
import numpy as np
import numpy.typing as npt
from llvmlite import ir
from numba.extending import intrinsic

from skdp.training.compiled_kernels import inner

Integers = npt.NDArray[np.int64]
#: Rows ahead: of values; of the parameters of a sparse row, whose columns are there by then.
ROWS_AHEAD, COLUMNS_AHEAD = 4, 2
#: Bytes that one hint brings.
LINE = 64


@inner
def read_ahead(X: Any, rows: Integers, t: int) -> None:
    """Ask for the row that a loop over `rows` will need some time after row `t`."""
    n_features = X.shape[1]
    first = rows[min(t + ROWS_AHEAD, rows.size - 1)] * n_features
    ask_for_run(X, first, first + n_features)


@inner
def read_ahead_sparse(matrix: Any, values: Any, n_outputs: int, rows: Integers, t: int) -> None:
    """Ask for a row of ``matrix = (data, indices, indptr)``, and for the parameters of a nearer."""
    data, indices, indptr = matrix
    far = rows[min(t + ROWS_AHEAD, rows.size - 1)]
    ask_for_run(data, indptr[far], indptr[far + 1])
    ask_for_run(indices, indptr[far], indptr[far + 1])
    near = rows[min(t + COLUMNS_AHEAD, rows.size - 1)]
    for entry in range(indptr[near], indptr[near + 1]):
        _ask_for(values, indices[entry] * n_outputs)


@inner
def ask_for_run(array: Any, start: int, stop: int) -> None:
    """Ask for the elements from `start` to `stop`."""
    for position in range(start, stop, LINE // array.itemsize):
        _ask_for(array, position)


def _hint(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    stored = context.make_array(signature.args[0])(context, builder, arguments[0])
    byte, word = ir.IntType(8).as_pointer(), ir.IntType(32)
    address = builder.bitcast(builder.gep(stored.data, [arguments[1]]), byte)
    kind = ir.FunctionType(ir.VoidType(), [byte, word, word, word])
    hint = builder.module.declare_intrinsic("llvm.prefetch", [byte], kind)
    to_read, keep, data = word(0), word(3), word(1)
    builder.call(hint, [address, to_read, keep, data])
    return context.get_dummy_value()


def _typed(typing_context: Any, array: Any, offset: Any) -> Any:
    return numba.types.void(array, numba.types.intp), _hint


_ask_for: Any = cast(Any, intrinsic)(_typed)
