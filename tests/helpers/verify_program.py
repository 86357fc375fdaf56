"""verify.py as releases carry it, loaded as a module."""

from __future__ import annotations

import importlib.util
import tempfile
from functools import cache
from pathlib import Path
from types import ModuleType

from indistinct.release.manifest import verifier_text

_FOLDER = tempfile.TemporaryDirectory(prefix="verify-py-")


@cache
def verify_program() -> ModuleType:
    """Return the program, which knows its own text by the file that it was loaded from."""
    path = Path(_FOLDER.name) / "verify.py"
    path.write_text(verifier_text(), "utf-8")
    spec = importlib.util.spec_from_file_location("verify_py", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
