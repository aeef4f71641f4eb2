"""The bits of a word, compiled. Imported lazily: it needs numba."""

from typing import Any

from numba.core.cgutils import false_bit
from numba.extending import intrinsic

__all__ = ["count_bits", "lowest_bit"]


def _lowest_bit(typing_context: Any, word: Any) -> Any:
    """Place of the lowest bit that is 1, of the type of the word; its width where there is none."""
    return word(word), _emit_lowest


def _emit_lowest(context: Any, builder: Any, signature: Any, arguments: list[Any]) -> Any:
    return builder.cttz(arguments[0], false_bit)


def _count_bits(typing_context: Any, word: Any) -> Any:
    """How many bits are 1, of the type of the word."""
    return word(word), _emit_count


def _emit_count(context: Any, builder: Any, signature: Any, arguments: list[Any]) -> Any:
    return builder.ctpop(arguments[0])


lowest_bit, count_bits = intrinsic(_lowest_bit), intrinsic(_count_bits)
