"""The lowest bit of a word, compiled. Imported lazily: it needs numba."""

from typing import Any

from numba.core.cgutils import false_bit
from numba.extending import intrinsic

__all__ = ["lowest_bit"]


def _lowest_bit(typing_context: Any, word: Any) -> Any:
    """Place of the lowest bit that is 1, of the type of the word; its width where there is none."""
    return word(word), _emit


def _emit(context: Any, builder: Any, signature: Any, arguments: list[Any]) -> Any:
    return builder.cttz(arguments[0], false_bit)


lowest_bit = intrinsic(_lowest_bit)
