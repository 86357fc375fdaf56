"""Kernels that other kernels call: compiled as far as LLVM's own language, and linked into those that call them.

numba compiles every function to machine code of its own, with two wrappers by which Python may call it, and then once
more into each function that calls it. A kernel that is called from kernels alone needs neither: its code is made, and
made fast, once for each kernel that Python calls, as a part of it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib import import_module  # numba tells no types of what is used here
from inspect import signature
from typing import Any

from indistinct.kernels.own_memory import runtime


@cache
def part_type(function: Callable[..., Any], allocates: bool) -> Any:
    """Return what a function is to numba in a kernel that calls it."""
    from numba import types

    return types.Dispatcher(_keep(Part(function, allocates)))


def whole_library(name: str) -> Any:
    """Return a library of numba's for a kernel and all of its parts: they are linked, and then optimized once."""
    from numba.core.registry import cpu_target

    _, whole = _libraries()
    return whole(cpu_target.target_context.codegen(), name)


class Part:
    """A function that is compiled for each kind of arguments with which kernels call it, and never runs by itself.

    It has what numba asks of a dispatcher when one function calls another.
    """

    _can_compile = True

    def __init__(self, function: Callable[..., Any], allocates: bool) -> None:
        self._function = function
        self._allocates = allocates
        self._made: dict[tuple[Any, ...], tuple[Any, object]] = {}
        """By the types of arguments: the signature, and the key by which numba knows the code."""

    @property
    def nopython_signatures(self) -> list[Any]:
        """The kinds of arguments for which there is code."""
        return [signature for signature, _ in self._made.values()]

    @property
    def is_compiling(self) -> bool:
        """No kernel calls itself."""
        return False

    def _get_dispatcher_for_current_target(self) -> Part:
        return self

    def get_call_template(self, given: Any, named: Any) -> Any:
        """Return how a call is typed; numbers that are written in it count as any number, else each would be
        compiled.
        """
        from numba.core.compiler_lock import global_compiler_lock

        typing, types = import_module("numba.core.typing"), import_module("numba.core.types")
        written = signature(self._function)
        kinds = tuple(map(types.unliteral, written.bind(*given, **named).args))
        with global_compiler_lock:
            if kinds not in self._made:
                self._made[kinds] = self._compile(kinds)
        name = self._function.__name__
        template = typing.make_concrete_template(f"CallTemplate({name})", name, self.nopython_signatures)
        return template, written, kinds, {}

    def get_overload(self, asked: Any) -> object:
        """Return the key of the code for a signature."""
        kinds, _ = import_module("numba.core.sigutils").normalize_signature(asked)
        return self._made[tuple(kinds)][1]

    def _compile(self, kinds: tuple[Any, ...]) -> tuple[Any, object]:
        from numba.core.registry import cpu_target

        compiler: Any = import_module("numba.core.compiler")
        typing, target = cpu_target.typing_context, cpu_target.target_context
        flags = compiler.Flags()
        flags.no_cpython_wrapper = flags.no_cfunc_wrapper = flags.no_compile = True
        flags.nrt = self._allocates
        part, _ = _libraries()
        library = part(target.codegen(), self._function.__qualname__)
        made = compiler.compile_extra(typing, target, self._function, kinds, None, flags, {}, library=library)
        key = _Key()
        target.insert_user_function(key, made.fndesc, [library])
        return made.signature, key


class _Key:
    """Something that is itself alone."""


_kept: list[Part] = []


def _keep(part: Part) -> Part:
    """Let a part live: numba's types only refer to it."""
    _kept.append(part)
    return part


@cache
def _libraries() -> tuple[Any, Any]:
    """Return the kinds of libraries: that of a part, which is only linked, and that of a whole kernel."""
    from llvmlite import binding

    codegen: Any = import_module("numba.core.codegen")

    class PartLibrary(codegen.JITCodeLibrary):  # type: ignore[misc]
        def _optimize_functions(self, module: Any) -> None:
            module.data_layout = self._codegen._data_layout

        def _optimize_final_module(self) -> None:
            """Leave it to the whole."""

        def _finalize_final_module(self) -> None:
            """Load no code."""
            self._finalized = True

    class WholeLibrary(PartLibrary):
        def _optimize_final_module(self) -> None:
            self._final_module.link_in(binding.parse_assembly(runtime()))
            codegen.JITCodeLibrary._optimize_final_module(self)

    return PartLibrary, WholeLibrary
