"""The place of a file that a command writes beside a release: refused before the work begins."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from indistinct.errors import OutputError


def refuse_place(path: Path, what: str, kinds: Sequence[str], *, replace: bool) -> None:
    """Raise if nothing can be written at this place; asked before the work begins."""
    if path.suffix not in kinds:
        listed = f"{', '.join(kinds[:-1])} or {kinds[-1]}" if len(kinds) > 1 else kinds[0]
        raise OutputError(f"{path.name}: {what} is written as {listed}")
    if path.is_dir():
        raise OutputError(f"{path} is a folder; name a file")
    if path.exists() and not replace:
        raise OutputError(f"{path} exists already; name another file, or say --replace")
    parent = path.absolute().parent
    if not parent.is_dir() or not os.access(parent, os.W_OK | os.X_OK):
        raise OutputError(f"{parent} is no folder that can be written to; name a file elsewhere")
