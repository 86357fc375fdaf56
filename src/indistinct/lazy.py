"""What loads when it is first asked for: modules, and packages whose stub is the one list of their names.

Type checkers and editors read ``__init__.pyi`` as it stands. The package reads the same file when it is imported, so
each name is written in one place only. Its ``__init__.py`` says

    __all__, __dir__, __getattr__ = names_of_stub(__name__, __file__)
"""

from __future__ import annotations

import ast
import os
import sys
from collections.abc import Callable
from importlib import import_module
from typing import Any


def names_of_stub(package: str, file: str) -> tuple[list[str], Callable[[], list[str]], Callable[[str], Any]]:
    """Return what a package needs to offer the names of its stub: ``__all__``, ``__dir__`` and ``__getattr__``."""
    homes, own = _names_in_stub(package, file)
    names = sorted([*homes, *own], key=lambda name: (0 if name.isupper() else 1 if name[0].isupper() else 2, name))

    def load(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        home = homes[name]
        value = import_module(f"{package}.{name}") if home == package else getattr(import_module(home), name)
        setattr(sys.modules[package], name, value)
        return value

    return names, lambda: names, load


class LazyModule:
    """A module that is imported when something of it is first asked for."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, name: str) -> Any:
        value = getattr(import_module(self._name), name)
        setattr(self, name, value)  # found at once from now on
        return value


def lazy_module(name: str) -> Any:
    """Return a module that is imported when something of it is first asked for: a policy is read without NumPy.

    Type checkers see the module itself where it stands in the other branch of ``if TYPE_CHECKING``.
    """
    return LazyModule(name)


def _names_in_stub(package: str, file: str) -> tuple[dict[str, str], list[str]]:
    """Return the module of each name that a stub imports, the package for a submodule, and the names of its own."""
    loader: Any = sys.modules[package].__loader__
    stub = ast.parse(loader.get_data(os.path.join(os.path.dirname(file), "__init__.pyi")))
    homes = {
        alias.name: str(node.module)
        for node in stub.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
        if alias.asname == alias.name  # what a stub gives on; the rest it needs for itself
    }
    own = [
        node.target.id for node in stub.body if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)
    ]
    return homes, own
