"""Product of two vectors, several numbers at once, compiled. Imported lazily: it needs numba.

A compiler that keeps the order of additions takes one number at a time, unless it is told so.
"""

from typing import Any

from llvmlite import ir
from numba.core import cgutils, types
from numba.core.errors import TypingError
from numba.extending import intrinsic
from numba.np.arrayobj import make_array

__all__ = ["dot"]

_LANES, _SUMS = 4, 4
_TOGETHER = _LANES * _SUMS
_VECTOR = types.Array(types.float64, 1, "C")


def _dot(typing_context: Any, first: Any, second: Any) -> Any:
    """Product of two contiguous vectors of float64, of equal lengths, as sixteen partial sums."""
    if first != _VECTOR or second != _VECTOR:
        raise TypingError(f"dot takes two contiguous vectors of float64, got {first}, {second}.")
    return types.float64(first, second), _emit


def _emit(context: Any, builder: Any, signature: Any, arguments: list[Any]) -> Any:
    first, second = (
        make_array(kind)(context, builder, argument)
        for kind, argument in zip(signature.args, arguments, strict=True)
    )
    number, size = ir.DoubleType(), first.nitems
    lanes, integer = ir.VectorType(number, _LANES), size.type
    sums = [
        cgutils.alloca_once_value(builder, ir.Constant(lanes, [0.0] * _LANES)) for _ in range(_SUMS)
    ]
    rest = cgutils.alloca_once_value(builder, number(0.0))

    def read(vector: Any, at: Any, kind: Any) -> Any:
        place = builder.bitcast(builder.gep(vector.data, [at]), kind.as_pointer())
        return builder.load(place, align=8)

    def add_product(to: Any, at: Any, kind: Any) -> None:
        product = builder.fmul(read(first, at, kind), read(second, at, kind))
        builder.store(builder.fadd(builder.load(to), product), to)

    def in_steps(start: Any, stop: Any, step: int) -> Any:
        return cgutils.for_range_slice(builder, start, stop, integer(step))

    def multiple(step: int) -> Any:
        return builder.sub(size, builder.urem(size, integer(step)))

    with in_steps(integer(0), multiple(_TOGETHER), _TOGETHER) as (at, _):
        for place, to in enumerate(sums):
            add_product(to, builder.add(at, integer(place * _LANES)), lanes)
    with in_steps(multiple(_TOGETHER), multiple(_LANES), _LANES) as (at, _):
        add_product(sums[0], at, lanes)
    with in_steps(multiple(_LANES), size, 1) as (at, _):
        add_product(rest, at, number)
    totals = [builder.load(one) for one in sums]
    while len(totals) > 1:
        totals = [builder.fadd(*pair) for pair in zip(totals[::2], totals[1::2], strict=True)]
    parts = [builder.extract_element(totals[0], ir.IntType(32)(lane)) for lane in range(_LANES)]
    while len(parts) > 1:
        parts = [builder.fadd(*pair) for pair in zip(parts[::2], parts[1::2], strict=True)]
    return builder.fadd(parts[0], builder.load(rest))


dot = intrinsic(_dot)
