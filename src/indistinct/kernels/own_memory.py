"""The memory of kernels that make arrays: from the C library, so that their machine code needs nothing of numba's.

numba's code asks a runtime of numba's for memory. Here these few functions are part of the code itself, as LLVM's own
language, and an array that a kernel gives is NumPy's from then on: its memory goes with the array.
"""

from __future__ import annotations

import ctypes
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

REFERENCES, DATA, SIZE = 0, 3, 4
"""Which words of its head tell how many arrays share some memory, where it begins, and its bytes: as numba has it."""
HEAD_BYTES = 48
PLAIN_ALIGNMENT = 32


@cache
def runtime() -> str:
    """Return the functions that numba's code asks for memory by, and gives it back by, in LLVM's language."""
    from llvmlite import ir

    byte, word, short = ir.IntType(8), ir.IntType(64), ir.IntType(32)
    pointer = byte.as_pointer()
    module = ir.Module("own_memory")
    allocate = ir.Function(module, ir.FunctionType(pointer, [word]), "malloc")
    release = ir.Function(module, ir.FunctionType(ir.VoidType(), [pointer]), "free")

    def define(name: str, gives: Any, takes: list[Any]) -> Any:
        made = ir.Function(module, ir.FunctionType(gives, takes), name)
        made.linkage = "linkonce_odr"  # it goes where nobody calls it
        return made

    for name in ("NRT_MemInfo_alloc", "NRT_MemInfo_alloc_safe"):
        for ending, takes in (("", [word]), ("_aligned", [word, short])):
            function = define(name + ending, pointer, takes)
            build = ir.IRBuilder(function.append_basic_block())
            size = function.args[0]
            align = build.zext(function.args[1], word) if ending else word(PLAIN_ALIGNMENT)
            head = build.call(allocate, [build.add(size, build.add(align, word(HEAD_BYTES)))])
            with build.if_then(build.icmp_unsigned("==", head, pointer(None)), likely=False):
                build.ret(head)
            words = build.bitcast(head, word.as_pointer())
            end = build.add(build.ptrtoint(head, word), build.add(align, word(HEAD_BYTES - 1)))
            data = build.and_(end, build.sub(word(0), align))
            for place, value in ((REFERENCES, word(1)), (1, word(0)), (2, word(0)), (DATA, data), (SIZE, size)):
                build.store(value, build.gep(words, [word(place)]))
            build.ret(head)
    function = define("NRT_MemInfo_call_dtor", ir.VoidType(), [pointer])
    build = ir.IRBuilder(function.append_basic_block())
    build.call(release, [function.args[0]])
    build.ret_void()
    return str(module)


class OwnMemory:
    """Memory that a kernel's code has made: NumPy keeps this as long as an array lies in it."""

    __slots__ = ("__array_interface__", "_head")

    def __init__(self, head: int, interface: dict[str, Any]) -> None:
        self._head = head
        self.__array_interface__ = interface

    def __del__(self) -> None:
        references = ctypes.c_int64.from_address(self._head)
        references.value -= 1
        if not references.value:
            _free()(self._head)


def as_array(kind: str, words: tuple[int, ...]) -> NDArray[Any]:
    """Return what numba calls an array as NumPy's: head, owner, cells, bytes of each, place, shape and strides."""
    head, data, both = words[0], words[4], words[5:]
    half = len(both) // 2
    interface = {"version": 3, "typestr": kind, "data": (data, False), "shape": both[:half], "strides": both[half:]}
    if head:
        return np.asarray(OwnMemory(head, interface))
    return np.array(_Borrowed(interface))


class _Borrowed:
    """Memory of an argument, of which a kernel gives a part."""

    def __init__(self, interface: dict[str, Any]) -> None:
        self.__array_interface__ = interface


@cache
def _free() -> Any:
    free = ctypes.CDLL(None).free
    free.argtypes, free.restype = [ctypes.c_void_p], None
    return free
