"""Witness: a place elsewhere in which the head of a ledger is noted after each entry: a file, a git work tree, a URL.

Whoever can write to a ledger's database can cut off its last entries, roll it back, or compute all hashes anew. A head
that was noted where they cannot change it shows that: on another drive, in the history of a repository, on a server
that only ever appends.
"""

from __future__ import annotations

import contextlib
import http.client
import os
import subprocess  # nosec B404 # git is called with fixed arguments and without a shell
from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import urlsplit

from indistinct.atomic_files import OWNER_ONLY, flush
from indistinct.errors import LedgerError
from indistinct.ledger.store.entry import DIGEST
from indistinct.proof.checks import Check
from indistinct.showing.words import counted

GIT = "git:"
"""How a witness begins that is a file in a git work tree."""
PATIENCE = 20
"""Seconds that git, or a server, may take."""
MOST_BYTES = 1 << 26
"""What a server may answer at most: half a million heads."""
LOCAL_HOSTS = ("localhost", "127.0.0.1", "::1")


def witness_at(place: str | os.PathLike[str]) -> Witness:
    """Return the witness at a place: the path of a file, ``git:`` and the path of one in a work tree, or a URL.

    >>> witness_at("https://example.org/heads").place
    'https://example.org/heads'
    """
    text = os.fspath(place)
    if text.startswith(GIT):
        return GitWitness(text.removeprefix(GIT))
    return UrlWitness(text) if "://" in text else FileWitness(text)


class Witness(ABC):
    """The heads of one ledger, a line each: the number of an entry and its hash; the start has the number 0."""

    place: str
    """Where it is, as the ledger remembers it."""

    @abstractmethod
    def refuse_occupied(self) -> None:
        """Raise a LedgerError if something is noted there already, or nothing can be."""

    @abstractmethod
    def begin(self, start: str) -> None:
        """Note the start of an empty ledger; what is there already is never replaced."""

    @abstractmethod
    def refuse_unwritable(self) -> None:
        """Raise a LedgerError if nothing can be noted now: asked before an entry, which then stands in any case."""

    @abstractmethod
    def note(self, number: int, head: str) -> None:
        """Note the head after an entry; if that fails at this moment, ``check`` tells of an entry since."""

    @abstractmethod
    def lines(self) -> list[str]:
        """Return what was noted, line by line; raise an OSError or UnicodeError if it cannot be read."""

    def heads(self) -> list[tuple[int, str]]:
        """Return what was noted; raise a LedgerError if it cannot be read."""
        try:
            lines = self.lines()
        except (OSError, UnicodeError):
            raise LedgerError(
                f"the witness {self.place} cannot be read; without it nobody sees what was cut off"
            ) from None
        heads = []
        for line in lines:
            number, _, head = line.partition(" ")
            if not (number.isascii() and number.isdecimal() and len(number) < 19) or not DIGEST.fullmatch(head):
                raise LedgerError(f"the witness {self.place} has a line that is no head; restore it from a backup")
            heads.append((int(number), head))
        return heads

    def check(self, hashes: Sequence[str], start: str) -> Check:
        """Check that every head that was noted stands in the chain, at its place."""
        chain = [start, *hashes]
        heads = self.heads()
        wrong = [number for number, head in heads if number >= len(chain) or chain[number] != head]
        if not heads:
            return Check("witness", False, "it notes nothing, not even the start of the ledger")
        if wrong:
            detail = f"entry {wrong[0]} is not what was noted: entries were removed, changed or exchanged since"
            return Check("witness", False, detail if wrong[0] else "this is another ledger than the one that was noted")
        last = max(number for number, _ in heads)
        since = f", {counted(len(hashes) - last, 'entry', 'entries')} since" if last < len(hashes) else ""
        return Check("witness", True, f"{counted(len(heads), 'head')} noted elsewhere, all in the chain{since}")


class FileWitness(Witness):
    """Heads in a file."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path).absolute()
        self.place = str(self.path)

    def refuse_occupied(self) -> None:
        if self.path.exists():
            raise LedgerError(f"{self.path} is there already; name a new file for the witness")

    def begin(self, start: str) -> None:
        try:
            handle = os.open(self.path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, OWNER_ONLY)
        except FileExistsError:
            raise LedgerError(f"{self.path} is there already; name a new file for the witness") from None
        except OSError as error:
            raise LedgerError(f"cannot write the witness {self.path}: {error.strerror}") from None
        os.close(handle)
        self.note(0, start)

    def refuse_unwritable(self) -> None:
        if not os.access(self.path, os.W_OK):
            raise LedgerError(f"the witness {self.path} cannot be written, so no entry is made; bring it back")

    def note(self, number: int, head: str) -> None:
        with contextlib.suppress(OSError):
            with self.path.open("a", encoding="ascii") as file:
                file.write(f"{number} {head}\n")
            flush(self.path)

    def lines(self) -> list[str]:
        return self.path.read_text("ascii").splitlines()


class GitWitness(FileWitness):
    """Heads in a file of a git work tree, a commit each: what its history ever said must stand in the chain.

    The history is kept by whoever pulls it; push it where those who write to the ledger cannot rewrite it.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        super().__init__(path)
        self.place = f"{GIT}{self.path}"

    def refuse_occupied(self) -> None:
        super().refuse_occupied()
        try:
            inside = self._git("rev-parse", "--is-inside-work-tree").strip()
        except OSError:
            inside = "false"
        if inside != "true":
            raise LedgerError(f"{self.path.parent} is in no git work tree, or git is not installed; run git init there")

    def note(self, number: int, head: str) -> None:
        super().note(number, head)
        with contextlib.suppress(OSError):
            self._git("add", "--", self.path.name)
            message = f"Note head {number}" if number else "Note the start of a ledger"
            self._git("commit", "--quiet", "--no-verify", "--message", message, "--only", "--", self.path.name)

    def lines(self) -> list[str]:
        """Return every line that the file has, or had in any commit."""
        told = self._git(
            "log", "--patch", "--no-color", "--no-ext-diff", "--format=", "--reverse", "--", self.path.name
        )
        ever = [line[1:] for line in told.splitlines() if line.startswith("+") and not line.startswith("+++")]
        return list(dict.fromkeys([*ever, *super().lines()]))

    def _git(self, *words: str) -> str:
        """Return what git says of the work tree; raise an OSError if it fails, takes too long or is not there."""
        own = ["user.name=indistinct", "user.email=indistinct@localhost", "commit.gpgsign=false"]
        told = ["git", "-C", str(self.path.parent), *(part for said in own for part in ("-c", said)), *words]
        try:
            done = subprocess.run(  # nosec B603 # no shell, and the only path given follows "-C" or "--"
                told,
                capture_output=True,
                text=True,
                timeout=PATIENCE,
                check=True,
                env={**os.environ, "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C"},
            )
        except subprocess.SubprocessError:
            raise OSError(f"git {words[0]} failed in {self.path.parent}") from None
        return done.stdout


class UrlWitness(Witness):
    """Heads at a URL that answers GET with all lines, and appends the line of a POST; https, or this machine.

    The server must never let a line be changed or removed: it is the witness, and whoever can change it is none.
    """

    def __init__(self, url: str) -> None:
        try:
            parts = urlsplit(url)
        except ValueError:
            raise LedgerError("the URL of the witness cannot be read; say https://example.org/heads") from None
        is_local = parts.hostname in LOCAL_HOSTS
        if parts.scheme != "https" and not (parts.scheme == "http" and is_local):
            raise LedgerError("a witness at a URL needs https, or http on this machine: https://example.org/heads")
        if parts.username or parts.password or not parts.hostname:
            raise LedgerError("the URL of a witness names a host, and no user or password: the ledger remembers it")
        self.place = url
        self._parts = parts

    def refuse_occupied(self) -> None:
        status, text = self._ask("GET")
        if status != http.client.NOT_FOUND and text.strip():
            raise LedgerError(f"{self.place} has noted something already; name another URL for the witness")

    def begin(self, start: str) -> None:
        status, _ = self._ask("POST", f"0 {start}\n")
        if status >= http.client.MULTIPLE_CHOICES:
            raise LedgerError(f"the witness {self.place} does not take heads: it answers {status} to a POST")

    def refuse_unwritable(self) -> None:
        status, _ = self._ask("GET")
        if status != http.client.OK:
            raise LedgerError(f"the witness {self.place} answers {status}, so no entry is made; bring it back")

    def note(self, number: int, head: str) -> None:
        with contextlib.suppress(LedgerError):
            self._ask("POST", f"{number} {head}\n")

    def lines(self) -> list[str]:
        status, text = self._ask("GET")
        if status != http.client.OK:
            raise OSError(f"it answers {status}")
        return text.splitlines()

    def _ask(self, method: str, line: str = "") -> tuple[int, str]:
        """Return the status and the text of an answer, without following it elsewhere; a LedgerError if none comes."""
        parts = self._parts
        kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
        try:
            connection = kind(parts.hostname or "", parts.port, timeout=PATIENCE)
            with contextlib.closing(connection):
                path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
                connection.request(method, path, line.encode("ascii"), {"Content-Type": "text/plain"})
                answer = connection.getresponse()
                body = answer.read(MOST_BYTES + 1)
        except (OSError, ValueError, http.client.HTTPException) as error:
            reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
            raise LedgerError(f"the witness {self.place} does not answer: {reason}") from None
        if len(body) > MOST_BYTES:
            raise LedgerError(f"the witness {self.place} answers more than heads take")
        return answer.status, body.decode("ascii", "replace")
