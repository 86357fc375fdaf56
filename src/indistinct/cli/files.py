"""Files that a command writes beside a release: refused before the work begins, and written whole or not at all."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Sequence
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


def write_whole(path: Path, write: Callable[[Path], object]) -> None:
    """Let a file be written under another name, and give it its own when it is whole."""
    partial: Path | None = None
    try:
        handle, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".partial", dir=path.absolute().parent)
        os.close(handle)
        partial = Path(name)
        write(partial)
        partial.chmod(0o644)
        os.replace(partial, path)
    except OSError as error:
        raise OutputError(f"cannot write {path}: {error.strerror or error}; nothing was written") from None
    finally:
        if partial is not None:
            partial.unlink(missing_ok=True)
