"""The decorator of all kernels: compiled once, kept in numba's cache, and typed as the function that is written."""

from __future__ import annotations

from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any, TypeVar, cast

from numba import njit

Function = TypeVar("Function", bound=Callable[..., Any])

SOURCES = sha256(b"".join(path.read_bytes() for path in sorted(Path(__file__).parent.glob("*.py")))).hexdigest()


def kernel(function: Function) -> Function:
    """Compile a function of arrays when it is first called; type checkers see its own signature.

    The machine code is kept on disk, and the function runs without the interpreter's lock. With
    ``NUMBA_DISABLE_JIT=1`` the function stays as it is.

    numba compiles a function anew when its own file has changed. A kernel holds the code of those that it calls from
    other files as well, so here a change of any kernel counts.
    """
    compiled = njit(cache=True, nogil=True)(function)
    kept = getattr(getattr(compiled, "_cache", None), "_cache_file", None)
    if kept is not None:
        kept._source_stamp = (kept._source_stamp, SOURCES)
    return cast(Function, compiled)
