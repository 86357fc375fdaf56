"""Witness: a file elsewhere in which the head of a ledger is noted after each entry.

Whoever can write to a ledger's database can cut off its last entries, roll it back, or compute all hashes anew. A head
that was noted where they cannot change it shows that: on another drive, or in a file that only lets lines be appended.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Sequence
from pathlib import Path

from indistinct.atomic_files import OWNER_ONLY, flush
from indistinct.errors import LedgerError
from indistinct.ledger.store.entry import DIGEST, AuditCheck
from indistinct.showing.words import counted


class Witness:
    """The heads of one ledger, a line each: the number of an entry and its hash; the start has the number 0."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path).absolute()

    def refuse_occupied(self) -> None:
        """Raise a LedgerError if the file is there already."""
        if self.path.exists():
            raise LedgerError(f"{self.path} is there already; name a new file for the witness")

    def begin(self, start: str) -> None:
        """Note the start of an empty ledger; a file that is there already is never replaced."""
        try:
            handle = os.open(self.path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, OWNER_ONLY)
        except FileExistsError:
            raise LedgerError(f"{self.path} is there already; name a new file for the witness") from None
        except OSError as error:
            raise LedgerError(f"cannot write the witness {self.path}: {error.strerror}") from None
        os.close(handle)
        self.note(0, start)

    def refuse_unwritable(self) -> None:
        """Raise a LedgerError if nothing can be noted now: asked before an entry, which then stands in any case."""
        if not os.access(self.path, os.W_OK):
            raise LedgerError(f"the witness {self.path} cannot be written, so no entry is made; bring it back")

    def note(self, number: int, head: str) -> None:
        """Note the head after an entry; if that fails at this moment, ``check`` counts an entry since."""
        with contextlib.suppress(OSError):
            with self.path.open("a", encoding="ascii") as file:
                file.write(f"{number} {head}\n")
            flush(self.path)

    def heads(self) -> list[tuple[int, str]]:
        """Return what was noted; raise a LedgerError if it cannot be read."""
        try:
            lines = self.path.read_text("ascii").splitlines()
        except (OSError, UnicodeError):
            raise LedgerError(
                f"the witness {self.path} cannot be read; without it nobody sees what was cut off"
            ) from None
        heads = []
        for line in lines:
            number, _, head = line.partition(" ")
            if not (number.isascii() and number.isdecimal() and len(number) < 19) or not DIGEST.fullmatch(head):
                raise LedgerError(f"the witness {self.path} has a line that is no head; restore it from a backup")
            heads.append((int(number), head))
        return heads

    def check(self, hashes: Sequence[str], start: str) -> AuditCheck:
        """Check that every head that was noted stands in the chain, at its place."""
        chain = [start, *hashes]
        heads = self.heads()
        wrong = [number for number, head in heads if number >= len(chain) or chain[number] != head]
        if not heads:
            return AuditCheck("witness", False, "it notes nothing, not even the start of the ledger")
        if wrong:
            detail = f"entry {wrong[0]} is not what was noted: entries were removed, changed or exchanged since"
            return AuditCheck(
                "witness", False, detail if wrong[0] else "this is another ledger than the one that was noted"
            )
        last = max(number for number, _ in heads)
        since = f", {counted(len(hashes) - last, 'entry', 'entries')} since" if last < len(hashes) else ""
        return AuditCheck("witness", True, f"{counted(len(heads), 'head')} noted elsewhere, all in the chain{since}")
