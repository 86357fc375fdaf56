"""The decorator of all kernels: interpreted where little is to be done, else compiled once and kept on disk."""

from __future__ import annotations

import gc
import os
import secrets
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import cache, update_wrapper
from hashlib import sha256
from itertools import count
from pathlib import Path
from typing import Any, TypeVar, overload

import numpy as np

from indistinct.kernels.linked_parts import part_type
from indistinct.kernels.machine_code import Kind, find_code, flatten, make_code

Function = TypeVar("Function", bound=Callable[..., Any])

FEW_ROWS = 1000
"""From so many rows on a kernel is compiled at once."""
PLAIN_SECONDS = 0.25
"""When interpreted kernels have taken so much processor time all kernels are compiled: to load numba takes as long."""


@overload
def kernel(function: Function) -> Function: ...
@overload
def kernel(*, rows: str = ..., few: int = ..., allocates: bool = ...) -> Callable[[Function], Function]: ...
def kernel(
    function: Function | None = None, *, rows: str | None = None, few: int = FEW_ROWS, allocates: bool = False
) -> Any:
    """Compile a function of arrays when it is first called; type checkers see its own signature.

    The machine code is kept on disk, and the function runs without the interpreter's lock. With
    ``NUMBA_DISABLE_JIT=1`` the function stays as it is.

    A kernel whose time grows with a number of rows names the parameter that has them, or tells their number:
    ``@kernel(rows="keys")``. Where these are ``few`` it runs as it is written, so that nobody waits for numba because
    of a small table. Both ways give the same, number by number.

    A kernel makes no array, unless it says ``allocates=True``. Its code is kept so that it runs without numba, where
    that can be done (``machine_code.py``). To call it so takes some microseconds more; so after many calls it is called
    as numba does, and if it names its rows, as soon as another kernel needs numba anyway.

    A kernel that another one calls is compiled as a part of that (``linked_parts.py``).

    numba compiles a function anew when its own file has changed. A kernel holds the code of those that it calls, so
    here a change of any kernel counts.

    Of several processes that need a kernel which nobody has compiled, such as workers of Spark, one compiles it and
    the others wait for it.
    """

    def make(written: Callable[..., Any]) -> Any:
        if os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0"):
            return written
        place = None if rows is None else written.__code__.co_varnames.index(rows)
        return Kernel(written, place, few, allocates)

    return make if function is None else make(function)


class Kernel:
    """A function that is compiled when that pays."""

    def __init__(self, function: Callable[..., Any], place: int | None, few: int, allocates: bool = False) -> None:
        update_wrapper(self, function)
        self._function = function
        self._place = place
        """Which argument has the rows; None if it is not known, and nothing but compiled code will do."""
        self._few = few
        self._allocates = allocates
        self._budget = Budget() if place is None else WithoutNumba.budget
        self._codes: dict[Kind, Callable[[list[Any]], Any] | None] = {}
        """What runs without numba, by the types of arguments; None where a type is not served."""
        self._compiled: Any = None
        self._run: Callable[..., Any] = self._choose

    def __call__(self, *given: Any) -> Any:
        return self._run(*given)

    @property
    def stats(self) -> Any:
        """What numba says of its cache; from now on the kernel runs under numba."""
        self._run = compiled = self._compile()
        return compiled.stats

    @property
    def _numba_type_(self) -> Any:
        """What it is to numba in a kernel that calls it: a part of that."""
        _name_functions_apart()
        return part_type(self._function, self._allocates)

    def _choose(self, *given: Any) -> Any:
        if _interpreter.is_busy:  # called by a kernel that runs as it is written
            return self._function(*given)
        is_at_hand = WithoutNumba.is_used or Interpreter.is_slow
        if is_at_hand or self._place is None or _number(given[self._place]) > self._few:
            return self._run_compiled(given)
        return _interpreter.run(self._function, given)

    def _run_compiled(self, given: tuple[Any, ...]) -> Any:
        """Run the machine code by itself if that can be done, else under numba, which is loaded for it."""
        if self._budget.calls_left > 0:
            kind, words = flatten(given)
            if kind is not None:
                if kind not in self._codes:
                    self._codes[kind] = self._machine_code(kind, given)
                if (code := self._codes[kind]) is not None:
                    self._budget.calls_left -= 1
                    WithoutNumba.is_used = True
                    return code(words)
        WithoutNumba.budget.calls_left = 0  # numba is here
        Interpreter.is_slow = True
        self._run = self._compile()
        return self._run(*given)

    def _machine_code(self, kind: Kind, given: tuple[Any, ...]) -> Callable[[list[Any]], Any] | None:
        """Return what runs the code for arguments of some types, from the disk or compiled by one process at a time."""
        found = find_code(self._function, kind, _sources())
        if found is None:
            from numba.core.compiler_lock import global_compiler_lock

            with global_compiler_lock, _lock(self._function.__code__.co_filename):
                found = find_code(self._function, kind, _sources())
                if found is None:
                    _tell()
                    _name_functions_apart()
                    with _without_collecting():
                        found = make_code(self._function, given, _sources(), self._allocates)
        return None if found is None else found.load(kind)

    def _compile(self) -> Any:
        if self._compiled is None:
            self._compiled = _dispatcher(self._function, self._allocates)
        return self._compiled


class Budget:
    """How often a kernel may still be called without numba in this process: some 15 µs more than under numba each."""

    calls_left = 50_000
    """To load numba takes as long as all of these."""


class WithoutNumba:
    """Whether a kernel was called without numba; kernels that name their rows, of which many calls are expected,
    share a budget, and are called as numba does as soon as it is loaded."""

    is_used = False
    budget = Budget()


class Interpreter(threading.local):
    """Runs kernels as they are written, each thread its own, until all of that was slow."""

    is_slow = False
    """In all threads: from now on kernels are compiled."""
    seconds = 0.0
    is_busy = False

    def run(self, function: Callable[..., Any], given: tuple[Any, ...]) -> Any:
        """Call a kernel as it is written; those that it calls run in the same way."""
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


def _number(rows: Any) -> int:
    """Return a number of rows: of an array, or as it is told."""
    return rows.shape[0] if isinstance(rows, np.ndarray) else int(rows)


_tellers: list[Callable[[], None]] = []


@contextmanager
def telling_of_compilation(tell: Callable[[], None]) -> Iterator[None]:
    """Call ``tell``, once, if a kernel must be compiled during the block: none is in the cache, and somebody waits."""
    _tellers.append(tell)
    try:
        yield
    finally:
        with suppress(ValueError):
            _tellers.remove(tell)


def _tell() -> None:
    while _tellers:
        _tellers.pop()()


def _dispatcher(function: Callable[..., Any], allocates: bool) -> Any:
    """Return a function as numba compiles it: when it is called, from the cache, or by one process at a time."""
    from numba import njit

    _name_functions_apart()
    options: dict[str, Any] = {"no_cfunc_wrapper": True, "_nrt": allocates}
    compiled: Any = njit(cache=True, nogil=True, **options)(function)
    kept = getattr(compiled._cache, "_cache_file", None)
    if kept is not None:
        kept._source_stamp = (kept._source_stamp, _sources())
    vars(compiled)["compile"] = _one_process_at_a_time(compiled.compile, function.__code__.co_filename)
    compile_it = compiled._compiler.compile

    def tell_and_compile(*given: Any) -> Any:
        _tell()
        return compile_it(*given)

    compiled._compiler.compile = tell_and_compile
    return compiled


@cache
def _name_functions_apart() -> None:
    """Let numba number the functions of this process, and of each that is forked, as no other process does.

    A compiled function is known to the linker by its name, its types and that number, which begins at 1 in every
    process. Of two functions of numba's own that are named alike, such as those that sort by other keys, one that comes
    from the cache would be taken for one that was compiled here: kernels then give wrong numbers, or do not end.
    """
    from numba.core.bytecode import FunctionIdentity

    def begin_elsewhere() -> None:
        FunctionIdentity._unique_ids = count(secrets.randbits(62))

    begin_elsewhere()
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=begin_elsewhere)


@cache
def _sources() -> str:
    files = sorted(Path(__file__).parent.glob("*.py"))
    return sha256(b"".join(path.read_bytes() for path in files)).hexdigest()


_held: set[str] = set()
"""Files whose kernels this process compiles; who holds the compiler's lock may change it."""


def _one_process_at_a_time(compile_it: Callable[..., Any], file: str) -> Callable[..., Any]:
    """Return what looks into the cache and compiles, for one process at a time."""
    from numba.core.compiler_lock import global_compiler_lock

    def compile_alone(signature: object) -> Any:
        # Files are locked in the order in which kernels call each other, so no two processes wait for each other.
        with global_compiler_lock, _lock(file), _without_collecting():
            return compile_it(signature)

    return compile_alone


@contextmanager
def _without_collecting() -> Iterator[None]:
    """Look for no garbage during the block: what a compiler makes is little of it, and looking takes a tenth more."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


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
