"""The decorator of all kernels: interpreted where little is to be done, otherwise compiled by numba and cached on disk.

numba is used by its documented API alone, and imported only when something must be compiled.
"""

from __future__ import annotations

import os
import re
import stat
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache, update_wrapper
from hashlib import sha256
from pathlib import Path
from typing import Any, TypeVar, overload

import numpy as np

from indistinct.progress import leave_out

Function = TypeVar("Function", bound=Callable[..., Any])

FEW_ROWS = 1000
"""A kernel with more rows than this is compiled at once."""
PLAIN_SECONDS = 0.25
"""Once interpreted kernels have taken this much processor time in a thread, kernels are compiled."""
NUMPY_DIVIDES: dict[str, Any] = {"error_model": "numpy"}
"""Compiled divisions by zero do not raise, as NumPy's do not; no kernel makes any. Where a function may raise, numba
counts references to all of its arrays."""
IMPORTED = re.compile(rb"^from (indistinct\.[\w.]+) import", re.MULTILINE)


@overload
def kernel(function: Function) -> Function: ...
@overload
def kernel(*, rows: str = ..., few: int = ...) -> Callable[[Function], Function]: ...
def kernel(function: Function | None = None, *, rows: str | None = None, few: int = FEW_ROWS) -> Any:
    """Return a function of arrays that is compiled when it is first needed; type checkers see its own signature.

    A kernel whose time grows with a number of rows names the parameter that holds them, or their number:
    ``@kernel(rows="keys")``. It runs interpreted while there are at most ``few`` rows, so that nobody waits for numba
    because of a small table. Both ways return the same, number by number. A kernel that names no rows is always
    compiled when Python calls it.

    Kernels may call kernels, of other files too. The compiled code runs without the interpreter's lock. With
    ``NUMBA_DISABLE_JIT=1`` the function stays as it is.
    """

    def make(written: Callable[..., Any]) -> Any:
        if os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0"):
            return written
        return Kernel(written, None if rows is None else written.__code__.co_varnames.index(rows), few)

    return make if function is None else make(function)


class Kernel:
    """A function that is compiled when that pays."""

    def __init__(self, function: Callable[..., Any], place: int | None, few: int) -> None:
        update_wrapper(self, function)
        self._function = function
        self._place = place
        """Which argument holds the rows; None if that is not known."""
        self._few = few
        self._run: Callable[..., Any] = self._choose
        _kernels.append(self)
        _unregistered.append(self)

    def __call__(self, *given: Any) -> Any:
        return self._run(*given)

    @property
    def signatures(self) -> list[Any]:
        """The types of arguments for which Python's calls have been compiled, or loaded from the cache, by now."""
        return list(getattr(self._run, "signatures", ()))

    @property
    def cache_folder(self) -> Path | None:
        """The folder where numba keeps its code; None if it is compiled in every process."""
        path = self._compile().stats.cache_path
        return None if path is None else Path(path)

    def implementation(self, *types: Any) -> Callable[..., Any]:
        """Return the function that is compiled for arguments of some types: for all of them as it is written."""
        return self._function

    def _choose(self, *given: Any) -> Any:
        if _interpreter.is_busy:  # called by a kernel that is interpreted
            return self._function(*given)
        rows = None if self._place is None else given[self._place]
        number = len(rows) if isinstance(rows, np.ndarray) else rows
        if Interpreter.is_slow or number is None or number > self._few:
            Interpreter.is_slow = True  # numba is loaded now, so nothing is gained by interpreting others
            return self._compile()(*given)
        return _interpreter.run(self._function, *given)

    def _compile(self) -> Any:
        """Return the function as numba calls it; from now on it is called so."""
        with _lock:
            if self._run == self._choose:
                self._run = _compile(self._function)
        return self._run


_kernels: list[Kernel] = []
"""All kernels of the modules that are imported by now."""
_unregistered: list[Kernel] = []
"""Those of which numba does not know yet that kernels may call them."""
_lock = threading.RLock()


class Interpreter(threading.local):
    """Runs kernels as Python, each thread for itself, until that has taken too long."""

    is_slow = False
    """In all threads: from now on kernels are compiled."""
    seconds = 0.0
    is_busy = False

    def run(self, function: Callable[..., Any], *given: Any) -> Any:
        """Call a kernel as Python; the kernels that it calls run in the same way."""
        started = time.thread_time()
        self.is_busy = True
        try:
            with np.errstate(over="ignore"):  # hashing wraps around
                return function(*given)
        finally:
            self.is_busy = False
            self.seconds += time.thread_time() - started
            if self.seconds > PLAIN_SECONDS:
                Interpreter.is_slow = True


_interpreter = Interpreter()


def all_kernels() -> list[Kernel]:
    """Return all kernels of the modules that are imported by now."""
    return list(_kernels)


_reports: list[Callable[[], None]] = []


@contextmanager
def reporting_compilation(report: Callable[[], None]) -> Iterator[None]:
    """Call ``report``, once, if a kernel must be compiled during the block; a kernel from the cache is not reported."""
    _reports.append(report)
    try:
        yield
    finally:
        with suppress(ValueError):
            _reports.remove(report)


def _compile(function: Callable[..., Any]) -> Any:
    """Return a function that numba compiles at its first call, or takes from the cache."""
    from numba import njit

    _listen()
    _register_parts()
    with suppress(RuntimeError):  # there is no folder that numba may write to
        cached: Any = njit(cache=True, nogil=True, **NUMPY_DIVIDES)(function)
        folder = Path(cached.stats.cache_path)  # numba reads nothing from it before the first call
        if is_private(folder, Path(function.__code__.co_filename).parent):
            return cached
        _warn(folder)
    return njit(nogil=True, **NUMPY_DIVIDES)(function)


@cache
def _listen() -> None:
    """Let numba say when it begins to compile a kernel, and when it has."""
    from numba.core import event

    begun: list[float] = []

    class Compilation(event.Listener):
        """Reports the first compilation of a kernel, and how long all of them take."""

        def on_start(self, event: Any) -> None:
            """Report it to whoever waits, unless numba compiles a function that is not ours."""
            begun.append(time.monotonic())
            if event.data["dispatcher"].py_func in {one._function for one in _kernels}:
                while _reports:
                    _reports.pop()()

        def on_end(self, event: Any) -> None:
            """Leave its time out of searches; a kernel that is compiled within another's time counts once."""
            started = begun.pop()
            if not begun:
                leave_out(time.monotonic() - started)

    register: Any = event.register
    register("numba:compile", Compilation())


def _register_parts() -> None:
    """Let numba compile calls of kernels in kernels, and name each kernel by its sources.

    numba compares the file of a kernel with its cache, and no other file. But a kernel contains the code of those that
    it calls, and constants, of other files. So its name carries a digest of all of these files: numba names the files
    of its cache, and what it links, by the names of functions.
    """
    from numba import extending

    options: Any = {"forceinline": True, **NUMPY_DIVIDES}
    while _unregistered:
        part = _unregistered.pop()
        function = part._function
        function.__qualname__ += f"_{_digest(function.__code__.co_filename)[:16]}"
        extending.overload(part, strict=False, jit_options=options)(part.implementation)


@cache
def _digest(file: str) -> str:
    """Return a digest of a kernel's source and of the modules of ours that it imports."""
    source = Path(file).read_bytes()
    others = [_digest(str(sys.modules[name.decode()].__file__)) for name in IMPORTED.findall(source)]
    return sha256(source + "".join(others).encode()).hexdigest()


@cache
def is_private(folder: Path, sources: Path) -> bool:
    """Return whether nobody can put code into a cache folder but root, this user, and who may change the sources.

    numba unpickles what lies there. So the folder and each file in it, and every folder above it, belong to one of
    these users, and others may not write there; only folders above may have the sticky bit instead, as ``/tmp`` has.
    """
    if not hasattr(os, "getuid"):
        return True  # on Windows, folders of a user are closed to others
    folder, sources = folder.resolve(), sources.resolve()
    source = sources.stat()
    users = {0, os.getuid(), source.st_uid}
    for place in (folder, *folder.parents):
        if place == sources:
            break
        found = place.stat()
        is_beside = place.parent == sources
        is_sticky = place != folder and found.st_mode & stat.S_ISVTX
        if found.st_uid not in users or (_writers(found, source, is_beside) and not is_sticky):
            return False
    files = [path.lstat() for path in folder.glob("*.nb[ci]")]  # others may write to a link, so none is followed
    is_beside = folder.parent == sources
    return all(file.st_uid in users and not _writers(file, source, is_beside) for file in files)


def _writers(found: os.stat_result, source: os.stat_result, is_beside: bool) -> int:
    """Return the bits by which others may write there; who may write to the sources can do no more beside them."""
    writers = found.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    return writers & ~source.st_mode if is_beside and found.st_gid == source.st_gid else writers


@cache
def _warn(folder: Path) -> None:
    """Warn, once, that nothing is read from a folder."""
    warnings.warn(
        f"kernels are compiled anew in every process: other users may write to {folder}, from which numba would load "
        "code; set NUMBA_CACHE_DIR to a folder of your own",
        RuntimeWarning,
        stacklevel=2,
    )
