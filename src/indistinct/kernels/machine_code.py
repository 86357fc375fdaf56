"""Machine code of kernels: kept on disk beside numba's cache, and run without numba.

To load numba takes longer than to search a million rows. The code of a kernel needs none of it: LLVM, which comes with
numba, loads the code, and the kernel is called as numba would call it, with the address and the shape of each array.
Arrays that it makes lie in memory of the C library (``own_memory.py``).
"""

from __future__ import annotations

import ctypes
import json
import os
import struct
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cache, partial
from hashlib import sha256
from importlib import import_module
from importlib.util import find_spec
from itertools import accumulate
from operator import itemgetter
from pathlib import Path
from platform import machine
from tempfile import NamedTemporaryFile
from typing import Any, NamedTuple

import numpy as np

from indistinct.kernels.linked_parts import whole_library
from indistinct.kernels.own_memory import as_array
from indistinct.kernels.shipped_code import is_served, shipped_for, shipped_path

Function = Callable[..., Any]
Kind = tuple[Any, ...]

SHIP = "INDISTINCT_SHIP_KERNELS"
"""Names a folder to which all that is compiled goes, to come with the package: ``scripts/compile_kernels.py``."""

ROWS_FIRST, COLUMNS_FIRST, OWN_DATA, WRITABLE = 1, 2, 4, 1024
"""NumPy's flags of an array: how its cells lie, which is both ways if it has one row; who owns its memory; and whether
it may be changed."""
NOT_ASKED = ~(OWN_DATA | COLUMNS_FIRST)
"""No kernel asks for these if cells lie row by row."""
NUMBERS = {"int64": "q", "float64": "d", "bool": "?"}
"""What a kernel may give, beside nothing, arrays and tuples of these: by numba's name, and by that of ``struct``."""
LETTERS = {int: "q", np.int64: "q", float: "d", np.float64: "d", bool: "?", np.bool_: "?"}
"""Numbers that a kernel may be given."""
LLVM_TYPES = {"q": "i64", "d": "double", "?": "i8"}
C_TYPES: dict[str, Any] = {
    "i64": ctypes.c_int64,
    "double": ctypes.c_double,
    "i8": ctypes.c_int8,
    "ptr": ctypes.c_void_p,
}
SUCCEEDED = (0, -2)
"""What numba's functions give that give something, or nothing; all else is an error."""
C_LIBRARY = ("malloc", "free", "memcmp", "memcpy", "memmove", "memset")
INSTRUCTIONS = (
    "abs assume copysign ctlz ctpop cttz exp fabs floor fshl fshr lifetime log masked mem sadd smax smin smul sqrt ssub"
    " uadd umax umin umul usub vector x86.atomic"
)
HARMLESS = tuple(f"llvm.{name}" for name in INSTRUCTIONS.split())
"""What else code may call: what LLVM makes instructions of, or calls of the C library."""


class MachineCode(NamedTuple):
    """The code of one kernel for arguments of some types."""

    name: str
    """What the function is called in it."""
    returns: Any
    """What it gives: nothing, a letter of ``NUMBERS``, an array's type and dimensions, or a list of these."""
    code: bytes

    def to_bytes(self, made_for: str) -> bytes:
        """Return the code with what is to be known of it, as ``read_code`` takes it."""
        about = {"name": self.name, "returns": self.returns, "made_for": made_for}
        about["digest"] = sha256(self.code).hexdigest()
        return json.dumps(about).encode() + b"\n" + self.code

    def load(self, kind: Kind) -> Callable[[Sequence[Any]], Any]:
        """Return what runs it; arguments are given as ``flatten`` gives them."""
        address = _load_function(self.name, self.code)
        # a Python integer, given as an address, need not be made an object first
        types = [C_TYPES[one] for one in _llvm_types(kind)]
        run = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p, *types)(address)
        form = _letters(self.returns).replace("?", "?0q")  # whatever stands after it begins at a word
        told, unpack = struct.calcsize(form), struct.Struct(form).unpack_from
        result = ctypes.c_char * (told + 8)
        name, read = self.name, _reader(self.returns)

        def call(words: Sequence[Any]) -> Any:
            found = result()  # each thread has its own
            address = ctypes.addressof(found)
            if run(address, address + told, *words) not in SUCCEEDED:
                raise RuntimeError(f"the machine code of {name} failed")
            return read(unpack(found))

        return call


def _letters(returns: Any) -> str:
    """Return the words of what a kernel gives, a letter of ``struct`` each."""
    if returns is None or isinstance(returns, str):
        return returns or ""
    if isinstance(returns[0], int):
        return "q" * (5 + 2 * returns[0])
    return "".join(map(_letters, returns))


def _reader(returns: Any) -> Callable[[Sequence[Any]], Any]:
    """Return what makes Python's objects of those words."""
    if returns is None:
        return lambda _: None
    if isinstance(returns, str):
        return itemgetter(0)
    if isinstance(returns[0], int):
        return partial(as_array, returns[1])
    if all(isinstance(one, str) for one in returns):
        return tuple
    ends = list(accumulate(len(_letters(one)) for one in returns))
    parts = [(slice(*ends), _reader(one)) for *ends, one in zip([0, *ends], ends, returns, strict=False)]
    return lambda words: tuple([read(words[span]) for span, read in parts])


def find_code(function: Function, kind: Kind, sources: str) -> MachineCode | None:
    """Return the machine code of a function for arguments of some types, from the disk; None if it is not there."""
    if not is_possible():
        return None
    if is_served():
        path = shipped_path(_name(function), _kind_text(kind))
        if (found := read_code(path, shipped_for(sources))) is not None:
            return found
    for path in _paths(function, kind):
        if (found := read_code(path, _made_for(sources))) is not None:
            return found
    return None


def read_code(path: Path, made_for: str) -> MachineCode | None:
    """Read code from a file; None if it is not there, not whole, or made for something else."""
    with suppress(OSError, ValueError, KeyError, TypeError):
        header, _, code = path.read_bytes().partition(b"\n")
        about = json.loads(header)
        if about["made_for"] == made_for and about["digest"] == sha256(code).hexdigest():
            return MachineCode(about["name"], about["returns"], code)
    return None


def make_code(function: Function, given: Sequence[Any], sources: str, allocates: bool = False) -> MachineCode | None:
    """Compile a function for the types of some arguments and keep its code; None if it can only run under numba."""
    kind, _ = flatten(given)
    made = _compile(function, given, kind, allocates) if is_possible() and kind is not None else None
    if made is None or kind is None:
        return None
    for path in _paths(function, kind):
        with suppress(OSError):
            _write(path, made.to_bytes(_made_for(sources)))
            break
    if (folder := os.environ.get(SHIP)) is not None:
        _write(Path(folder) / shipped_path(_name(function), _kind_text(kind)).name, made.to_bytes(shipped_for(sources)))
    return made


def flatten(given: Sequence[Any]) -> tuple[Kind | None, list[Any]]:
    """Return the types of arguments, None if no code is kept for them; and what code is given for them, a word each."""
    kinds: list[Any] = []
    words: list[Any] = []
    for one in given:
        if type(one) is np.ndarray:
            flags = one.flags.num
            kinds.append((one.dtype, one.ndim, flags & (NOT_ASKED if flags & ROWS_FIRST else ~OWN_DATA)))
            words += 0, 0, one.size, one.itemsize, _address_of(one, flags), *one.shape, *one.strides
        elif (letter := LETTERS.get(type(one))) is not None:
            kinds.append(letter)
            words.append(int(one) if letter == "?" else one)
        elif isinstance(one, tuple):
            kind, some = flatten(one)
            if kind is None:
                return None, []
            kinds.append(kind)
            words += some
        else:
            return None, []
    return tuple(kinds), words


def _address_of(array: Any, flags: int) -> int:
    """Return where the cells of an array begin; NumPy itself takes seven times as long to say it, each call again."""
    if flags & WRITABLE and flags & ROWS_FIRST and array.size:
        return ctypes.addressof(ctypes.c_char.from_buffer(array))
    return int(array.__array_interface__["data"][0])


@cache
def is_possible() -> bool:
    """Return whether code can be kept here: elsewhere it has not been tried."""
    return sys.platform == "linux" and machine() == "x86_64" and sys.byteorder == "little"


def _llvm_types(kind: Kind) -> list[str]:
    """Return LLVM's type of each of those words."""
    found: list[str] = []
    for one in kind:
        if isinstance(one, str):
            found.append(LLVM_TYPES[one])
        elif isinstance(one[0], np.dtype):
            found += ["ptr", "ptr", "i64", "i64", "ptr", *["i64"] * (2 * one[1])]
        else:
            found += _llvm_types(one)
    return found


def _paths(function: Function, kind: Kind) -> list[Path]:
    """Return where the code may lie, the best place first: numba's rules."""
    name = sha256(f"{_kind_text(kind)} {_processor()}".encode()).hexdigest()[:16]
    file = f"{_name(function)}-{name}.code"
    if folder := os.environ.get("NUMBA_CACHE_DIR"):
        return [Path(folder) / "indistinct" / file]
    home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return [Path(function.__code__.co_filename).parent / "__pycache__" / file, home / "indistinct" / file]


def _name(function: Function) -> str:
    return f"{function.__module__.rpartition('.')[2]}.{function.__qualname__}"


def _kind_text(kind: Kind) -> str:
    """Return the types of arguments as text that is the same in every process."""
    parts = []
    for one in kind:
        if isinstance(one, str):
            parts.append(one)
        else:
            parts.append(f"{one[0].str}{one[1:]}" if isinstance(one[0], np.dtype) else f"({_kind_text(one)})")
    return ",".join(parts)


@cache
def _made_for(sources: str) -> str:
    """Return what code depends on beside the types: the kernels' sources, this processor, numba and LLVM."""
    stamps = []
    for package in ("numba", "llvmlite"):
        found = find_spec(package)
        status = os.stat(found.origin) if found is not None and found.origin else None
        stamps.append((package, status and (status.st_mtime_ns, status.st_size)))
    return sha256(repr((sources, _processor(), stamps, sys.version)).encode()).hexdigest()


@cache
def _processor() -> str:
    from llvmlite import binding

    return f"{binding.get_host_cpu_name()} {binding.get_host_cpu_features().flatten()}"


def _compile(function: Function, given: Sequence[Any], kind: Kind, allocates: bool) -> MachineCode | None:
    """Compile a function; None if its code would need anything that is not there without numba."""
    from numba import typeof
    from numba.core import errors
    from numba.core.compiler_lock import global_compiler_lock
    from numba.core.registry import cpu_target

    compiler: Any = import_module("numba.core.compiler")  # of which numba tells no types
    typing, target = cpu_target.typing_context, cpu_target.target_context
    typing.refresh()
    target.refresh()
    flags = compiler.Flags()
    flags.no_cpython_wrapper = flags.no_cfunc_wrapper = flags.no_compile = True
    flags.nrt = allocates
    kinds = tuple(map(typeof, given))
    try:
        whole = whole_library(function.__qualname__)
        with global_compiler_lock:
            made = compiler.compile_extra(typing, target, function, kinds, None, flags, {}, library=whole)
            whole.finalize()
    except errors.NumbaError:  # such as one that allocates, which takes numba's runtime
        return None
    library, name, returned = made.library, made.fndesc.llvm_func_name, made.signature.return_type
    called = [one.name for one in library._final_module.functions if one.is_declaration]
    needs_nothing = all(one in C_LIBRARY or one.startswith(HARMLESS) for one in called)
    arguments = [str(one.type) for one in library.get_function(name).arguments]
    arguments = ["ptr" if one.endswith("*") else one for one in arguments]  # older LLVM says what is there
    is_called_so = arguments == ["ptr", "ptr", *_llvm_types(kind)]
    try:
        returns = _describe(returned)
    except KeyError:
        return None
    if not needs_nothing or not is_called_so or "??" in _letters(returns):  # two share a word
        return None
    return MachineCode(name, returns, library._codegen._tm.emit_object(library._final_module))


def _describe(kind: Any) -> Any:
    """Say what a kernel gives, by numba's type."""
    if str(kind) == "none":
        return None
    if hasattr(kind, "types"):
        return [_describe(one) for one in kind.types]
    if hasattr(kind, "ndim"):
        from numba.np.numpy_support import as_dtype

        return [kind.ndim, as_dtype(kind.dtype).str]
    return NUMBERS[str(kind)]


def _write(path: Path, content: bytes) -> None:
    """Write a file whole or not at all."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with NamedTemporaryFile(dir=path.parent, delete=False) as file:
        try:
            file.write(content)
            file.close()
            os.replace(file.name, path)
        except BaseException:
            os.unlink(file.name)
            raise


_engines: list[Any] = []
"""Own the code that was loaded, each its own: names in one say nothing of names in another."""


def _load_function(name: str, code: bytes) -> int:
    """Return the address of a function whose code LLVM has loaded."""
    from llvmlite import binding

    binding.initialize_native_target()
    binding.initialize_native_asmprinter()
    target = binding.Target.from_default_triple().create_target_machine(jit=True)
    engine = binding.create_mcjit_compiler(binding.parse_assembly(""), target)
    engine.add_object_file(binding.ObjectFileRef.from_data(code))
    engine.finalize_object()
    _engines.append(engine)
    return int(engine.get_function_address(name))
