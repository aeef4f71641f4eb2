"""A hint to load memory before it is needed. Imported lazily: it needs numba.

A pass over places in random order spends most of its time on waiting for memory, for the processor
looks only a few places ahead. Where the places are known, they can be asked for early.
"""

from typing import Any

from numba.core import types
from numba.core.cgutils import int32_t, intp_t, ir, voidptr_t
from numba.extending import intrinsic
from numba.np.arrayobj import make_array

__all__ = ["prefetch"]

_FOR_WRITING, _KEEP, _DATA = 1, 3, 1


def _prefetch(typing_context: Any, array: Any, index: Any) -> Any:
    """Begin to load ``array[index]``, or the front of that row, without waiting for it.

    The array is C-contiguous and the index unsigned. Nothing happens if there is no such place.
    """
    return types.void(array, index), _emit


def _emit(context: Any, builder: Any, signature: Any, arguments: list[Any]) -> Any:
    array = make_array(signature.args[0])(context, builder, arguments[0])
    index = context.cast(builder, arguments[1], signature.args[1], types.uintp)
    offset = builder.mul(index, builder.extract_value(array.strides, 0))
    address = builder.add(builder.ptrtoint(array.data, intp_t), offset)
    kind = ir.FunctionType(ir.VoidType(), [voidptr_t, int32_t, int32_t, int32_t])
    hint = builder.module.declare_intrinsic("llvm.prefetch", [voidptr_t], kind)
    flags = [int32_t(flag) for flag in (_FOR_WRITING, _KEEP, _DATA)]
    builder.call(hint, [builder.inttoptr(address, voidptr_t), *flags])
    return context.get_dummy_value()


prefetch = intrinsic(_prefetch)
