"""How kernels are compiled, and under which name their machine code is kept. Needs numba."""

import functools
import hashlib
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar, cast

import numba

__all__ = ["compiled", "inner", "stamped"]

if numba.version_info.short < (0, 61):
    raise ImportError("numba 0.60 confuses tuples of arrays of different types: 0.61 is needed.")

F = TypeVar("F", bound=Callable[..., Any])
#: The package, and the folder that holds it.
PACKAGE, ROOT = __name__.split(".")[0], Path(__file__).parents[2]
IMPORT = re.compile(rf"^\s*from ({PACKAGE}[\w.]*) import (\([^)]*\)|.*)", re.MULTILINE)


def compiled(function: F) -> F:
    """Compile on first use; IEEE arithmetic in the order that is written, divisions unchecked.

    The machine code is kept on disk, where that is possible.
    """
    options = {"nogil": True, "error_model": "numpy"}
    try:
        return cast(F, numba.njit(cache=True, **options)(stamped(function)))
    except RuntimeError:  # nowhere to write
        return cast(F, numba.njit(**options)(function))


def inner(function: F) -> F:
    """Compile as a part of a `compiled` function, in less time. Called by Python, it crashes."""
    options = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}
    return cast(F, numba.njit(nogil=True, error_model="numpy", **options)(function))


def stamped(function: F) -> F:
    """Put a digest of all that a function may use into the name under which it is kept.

    Numba looks for changes in the file of a function, not in those of the functions and constants
    that it uses: an upgrade that corrects the clipping would leave the old clipping in use.
    """
    function.__qualname__ += "_" + digest(function.__module__)
    return function


@functools.cache
def digest(module: str) -> str:
    """Digest of the sources of a module and of the modules of the package that it imports."""
    pending, sources = [module], {}
    while pending:
        name = pending.pop()
        path = _path(name)
        if name not in sources and path is not None:
            sources[name] = path.read_bytes()
            pending += _imports(sources[name])
    return hashlib.sha256(b"\0".join(sources[name] for name in sorted(sources))).hexdigest()[:16]


def _path(name: str) -> Path | None:
    stem = ROOT.joinpath(*name.split("."))
    files = (stem.with_suffix(".py"), stem / "__init__.py")
    return next((path for path in files if path.is_file()), None)


def _imports(source: bytes) -> Iterator[str]:
    """Names of modules of the package, and of what may be one."""
    for module, names in IMPORT.findall(source.decode()):
        yield module
        yield from (f"{module}.{name}" for name in re.findall(r"\w+", names))
