"""The decorator of all kernels: compiled once, kept in numba's cache, and typed as the function that is written."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from hashlib import sha256
from pathlib import Path
from typing import Any, TypeVar, cast

from numba import njit
from numba.core.compiler_lock import global_compiler_lock

Function = TypeVar("Function", bound=Callable[..., Any])

SOURCES = sha256(b"".join(path.read_bytes() for path in sorted(Path(__file__).parent.glob("*.py")))).hexdigest()


def kernel(function: Function) -> Function:
    """Compile a function of arrays when it is first called; type checkers see its own signature.

    The machine code is kept on disk, and the function runs without the interpreter's lock. With
    ``NUMBA_DISABLE_JIT=1`` the function stays as it is.

    numba compiles a function anew when its own file has changed. A kernel holds the code of those that it calls from
    other files as well, so here a change of any kernel counts.

    Of several processes that need a kernel which nobody has compiled, such as workers of Spark, one compiles it and
    the others wait for it.
    """
    compiled = njit(cache=True, nogil=True)(function)
    kept = getattr(getattr(compiled, "_cache", None), "_cache_file", None)
    if kept is not None:
        kept._source_stamp = (kept._source_stamp, SOURCES)
        vars(compiled)["compile"] = _one_process_at_a_time(compiled.compile, function.__code__.co_filename)
    return cast(Function, compiled)


_held: set[str] = set()
"""Files whose kernels this process compiles; who holds the compiler's lock may change it."""


def _one_process_at_a_time(compile_it: Callable[..., Any], file: str) -> Callable[..., Any]:
    """Return what looks into the cache and compiles, for one process at a time."""

    def compile_alone(signature: object) -> Any:
        # Files are locked in the order in which kernels call each other, so no two processes wait for each other.
        with global_compiler_lock, _lock(file):
            return compile_it(signature)

    return compile_alone


@contextmanager
def _lock(file: str) -> Iterator[None]:
    """Lock a source file for the time of the block, where the system can; the system unlocks it if a process dies."""
    with ExitStack() as stack:
        if file not in _held and sys.platform != "win32":
            import fcntl

            with suppress(OSError):
                fcntl.flock(stack.enter_context(open(file, "rb")), fcntl.LOCK_EX)
            _held.add(file)
            stack.callback(_held.discard, file)
        yield
