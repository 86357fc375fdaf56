"""Store: the entries of a ledger in its database, and their files beside it; append-only, for several writers.

    store = Store.create("releases.db")
    with store.stage(write_files) as staged:
        entry = store.append(Draft(…, place=staged.place, files=staged.digests), expected_head=head)

An entry is whole or it is not there: its files are on the disk under their final name before the one transaction that
enters it, and that transaction commits only on top of the head that the release was checked against.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import secrets
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection, insert, select
from sqlalchemy.exc import IntegrityError

from indistinct.errors import LedgerError, VerificationError
from indistinct.ledger.store.database import ENTRIES, META, BrokenOffError, Database, new_sqlite
from indistinct.ledger.store.entry import DIGEST, Draft, Entry, Unreadable, chain_findings, digest, from_row, to_row
from indistinct.ledger.store.entry_files import LEFT_OVER_AFTER, Files, Staged
from indistinct.ledger.store.spending import Spending
from indistinct.ledger.store.witness import Witness

if TYPE_CHECKING:
    from indistinct.ledger.store.audit import Audit

FORMAT = 1
"""The form of the tables; a ledger of a later one is not touched."""
SECRET_BYTES = 32


class HeadMoved(Exception):
    """Another release was entered since the head that an entry was to follow; ``head`` is the one now."""

    def __init__(self, head: str) -> None:
        super().__init__("another release was entered in the meantime")
        self.head = head


class Store:
    """The entries of one ledger and their files.

    ``url`` is the path of a SQLite file, or ``postgresql://…``. ``folder`` is where the files are, if they have moved
    since the ledger was made.
    """

    def __init__(self, url: str | os.PathLike[str], *, folder: str | os.PathLike[str] | None = None) -> None:
        self._database = Database(url)
        try:
            meta = self._meta()
        except BaseException:
            self._database.close()
            raise
        self._secret = bytes.fromhex(meta["secret"])
        self.files = Files(_folder(self._database.path, folder or meta.get("folder")))
        self.witness = Witness(meta["witness"]) if "witness" in meta else None
        self.budget = Spending.of_budget(*(_number(meta.get(name)) for name in ("epsilon", "delta")))
        """What the releases of each source may spend together under differential privacy; None if nothing was said."""

    @classmethod
    def create(
        cls,
        url: str | os.PathLike[str],
        *,
        folder: str | os.PathLike[str] | None = None,
        witness: str | os.PathLike[str] | None = None,
        budget: Spending | None = None,
    ) -> Store:
        """Make an empty ledger; its files go to ``folder``, for a SQLite file by default to ``<file>.store`` beside it.

        What is there already is never replaced. A ledger in PostgreSQL needs a folder that all its writers reach. Every
        head is noted in the file ``witness``, which lies where those who write to the ledger cannot change it.
        """
        database = Database(url)
        noted = None if witness is None else Witness(witness)
        if noted is not None:
            noted.refuse_occupied()
        try:
            files = Files(_folder(database.path, folder))
            with contextlib.ExitStack() as stack:
                new = database if database.path is None else stack.enter_context(_new_database(database.path, files))
                with new.writing() as connection:
                    if new is database and database.meta() is not None:
                        raise LedgerError(f"{database.name} holds a ledger already")
                    new.make_tables(connection)
                    connection.execute(insert(META), _new_meta(None if folder is None else files.folder, noted, budget))
                    files.create()
        finally:
            database.close()
        made = cls(url)
        if noted is not None:
            try:
                noted.begin(made.start)
            except LedgerError:
                made.close()
                raise
        return made

    @property
    def name(self) -> str:
        """Where the ledger is, as it may be shown: without a password."""
        return self._database.name

    @property
    def secret(self) -> bytes:
        """The key under which row keys are digested; it never leaves the ledger."""
        return self._secret

    @property
    def start(self) -> str:
        """What the first entry names as the one before it; another secret would be another ledger."""
        return digest({"ledger": FORMAT, "secret_sha256": hashlib.sha256(self._secret).hexdigest()})

    @property
    def head(self) -> str:
        """The hash of the last entry, or the start of an empty ledger."""
        with self._database.reading() as connection:
            return self._last(connection)[1]

    def entries(self, source: str | None = None, after: int = 0) -> list[Entry]:
        """Return the entries in their order: of one source or of all, after a number or from the first.

        Raises a VerificationError if the chain is broken from there on: whoever decides by earlier releases must know
        that they are what they were.
        """
        rows = self._rows(after)
        if after == 0 and self.witness is not None:
            noted = self.witness.check([row.hash for row in rows], self.start)
            if not noted.passed:
                raise VerificationError(f"the ledger {self.name}: witness: {noted.detail}; restore it from a backup")
        entries = [row for row in rows if isinstance(row, Entry)]
        if findings := chain_findings(rows, self._hash_of(after), first=after + 1):
            more = f", and {len(findings) - 1} more" if len(findings) > 1 else ""
            raise VerificationError(
                f"the ledger {self.name} was changed: {findings[0]}{more}; see: indistinct ledger verify"
            )
        return [entry for entry in entries if source in (None, entry.source)]

    def entry(self, number: int) -> Entry:
        """Return one entry; raise a VerificationError if it is not what was entered."""
        with self._database.reading() as connection:
            row = connection.execute(select(ENTRIES).where(ENTRIES.c.number == number)).mappings().first()
            last = self._last(connection)[0]
        if row is None:
            there = f"it has 1 to {last}" if last else "it is empty"
            raise LedgerError(f"the ledger {self.name} has no entry {number}; {there}")
        entry = from_row(row)
        if isinstance(entry, Unreadable):
            raise VerificationError(f"entry {number} cannot be read: {entry.reason}")
        if entry.computed_hash != entry.hash:
            raise VerificationError(f"entry {number} was changed: its hash is not that of what it says")
        return entry

    @contextlib.contextmanager
    def stage(self, write: Callable[[Path], Any]) -> Iterator[Staged]:
        """Have the files of an entry written to the store; ``append`` the entry inside the block.

        ``write`` gets an empty private folder. What belongs to the release goes to its subfolder ``release``. The files
        are removed if the block raises, unless the entry stands by then.
        """
        staged = self.files.stage(write)
        try:
            self.files.adopt(staged)
            yield staged
        except BaseException:
            with contextlib.suppress(LedgerError, OSError):
                self._discard(staged)
            raise

    def append(self, draft: Draft, expected_head: str) -> Entry:
        """Enter a release after ``expected_head``, whole or not at all; raise ``HeadMoved`` if that is not the last.

        Its files must have been staged. If the connection breaks at the very end, it is looked up whether the entry
        stands; the error says so if nobody can tell.
        """
        if self.witness is not None:
            self.witness.refuse_unwritable()
        entry: Entry | None = None
        try:
            with self._database.writing() as connection:
                number, head = self._last(connection)
                if head != expected_head:
                    raise HeadMoved(head)
                if not self.files.holds(draft.place):
                    raise LedgerError("the files of the release are no longer in the store; make the release again")
                entry = Entry.following(draft, number + 1, head)
                connection.execute(insert(ENTRIES), to_row(entry))
        except IntegrityError:  # a writer that does not take the lock was quicker
            raise HeadMoved(self.head) from None
        except BrokenOffError:
            if entry is None or not self._stands(entry):
                raise
        if self.witness is not None:
            self.witness.note(entry.number, entry.hash)
        return entry

    def verify(self, head: str | None = None, witness: str | os.PathLike[str] | None = None) -> Audit:
        """Check the whole chain and every stored file; ``head`` is a hash that was noted elsewhere.

        So are the heads at ``witness``, by default the one that the ledger was made with.

        Whoever can write to the database can also compute all hashes anew, or remove the last entries. Only a head that
        was noted where they cannot change it shows that.
        """
        from indistinct.ledger.store.audit import audit

        if head is not None and not DIGEST.fullmatch(head):
            raise LedgerError("a head has 64 hexadecimal digits; indistinct ledger list shows it")
        noted = self.witness if witness is None else Witness(witness)
        return audit(self._rows(), self.start, self.files, head, noted, self._database.strange_parts())

    def sweep(self, older_than: float = LEFT_OVER_AFTER) -> int:
        """Remove the folders of the store that no entry refers to and give their number.

        They were left by writers that were stopped in between. Those younger than ``older_than`` seconds may still be
        in use. Nothing is removed if the chain is broken, since the folders may be those of changed entries.
        """
        with self._database.writing():
            places = {entry.place for entry in self.entries()}
            try:
                aside = [self.files.put_aside(folder) for folder in self.files.left_over(places, older_than)]
            except OSError as error:
                raise LedgerError(f"cannot sweep the store {self.files.folder}: {error.strerror}") from None
        for folder in aside:
            shutil.rmtree(folder, ignore_errors=True)
        return len(aside)

    def close(self) -> None:
        """Let go of the database."""
        self._database.close()

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _meta(self) -> dict[str, str]:
        """Read what the ledger says of itself; refuse what is no ledger or is of a later form."""
        meta = self._database.meta()
        if meta is None:
            raise LedgerError(f"{self.name} is no ledger; make one with: indistinct ledger init")
        if meta.get("format") != str(FORMAT):
            raise LedgerError(
                f"the ledger {self.name} has form {meta.get('format')}, and this version knows {FORMAT}; "
                "install the version of indistinct that made it, or a later one"
            )
        if strange := [name for name, value in meta.items() if not _is_plain(name) or not _is_plain(value)]:
            raise VerificationError(
                f"the ledger {self.name} says of itself what none says ({len(strange)} lines are no texts); "
                "restore it from a backup"
            )
        if not DIGEST.fullmatch(meta.get("secret", "")):
            raise VerificationError(f"the ledger {self.name} has lost its secret; restore it from a backup")
        return meta

    def _last(self, connection: Connection) -> tuple[int, str]:
        """Return the number and the hash of the last entry: 0 and the start for an empty ledger."""
        last = select(ENTRIES.c.number, ENTRIES.c.hash).order_by(ENTRIES.c.number.desc()).limit(1)
        row = connection.execute(last).first()
        if row is None:
            return 0, self.start
        if type(row.number) is not int or not isinstance(row.hash, str):
            raise VerificationError(
                f"the ledger {self.name} was changed: its last entry has no number or no hash; "
                "see: indistinct ledger verify"
            )
        return row.number, row.hash

    def _rows(self, after: int = 0) -> list[Entry | Unreadable]:
        with self._database.reading() as connection:
            asked = select(ENTRIES).order_by(ENTRIES.c.number)  # from the first on: also those that have no number
            rows = connection.execute(asked.where(ENTRIES.c.number > after) if after else asked)
            return [from_row(row) for row in rows.mappings()]

    def _hash_of(self, number: int) -> str:
        return self.start if number == 0 else self.entry(number).hash

    def _stands(self, entry: Entry) -> bool:
        """Return whether an entry was committed before the connection broke."""
        try:
            with self._database.reading() as connection:
                return (
                    connection.execute(select(ENTRIES.c.number).where(ENTRIES.c.hash == entry.hash)).first() is not None
                )
        except LedgerError:
            raise LedgerError(
                f"the server of the ledger {self.name} broke off while entry {entry.number} was committed, and does "
                "not answer: the entry may stand or not. When it runs again, indistinct ledger list shows it, and "
                "ledger export gives its release"
            ) from None

    def _discard(self, staged: Staged) -> None:
        """Remove staged files unless an entry refers to them."""
        with self._database.writing() as connection:
            if connection.execute(select(ENTRIES.c.number).where(ENTRIES.c.place == staged.place)).first():
                return
            aside = self.files.put_aside(self.files.folder / staged.place)
        shutil.rmtree(aside, ignore_errors=True)


@contextlib.contextmanager
def _new_database(path: Path, files: Files) -> Iterator[Database]:
    """Return a new SQLite database that gets its name at the end; take the store away again if that fails."""
    if path.exists():
        raise LedgerError(f"{path} is there already; name a new file for the ledger")
    was_there = files.folder.exists()
    try:
        with new_sqlite(path) as database:
            yield database
    except BaseException:
        if not was_there and not path.exists():
            with contextlib.suppress(OSError):
                files.folder.rmdir()
        raise


def _folder(path: Path | None, given: str | os.PathLike[str] | None) -> Path:
    """Return the folder of the files of a ledger."""
    if given is not None:
        return Path(given).absolute()
    if path is None:
        raise LedgerError("a ledger in PostgreSQL needs a folder for its files, which all its writers reach: --store")
    return path.with_name(f"{path.name}.store")


def _new_meta(folder: Path | None, witness: Witness | None, budget: Spending | None) -> list[dict[str, str]]:
    """Return the rows that describe a new ledger."""
    said = {"format": str(FORMAT), "secret": secrets.token_hex(SECRET_BYTES)}
    if budget is not None:
        said |= {name: repr(value) for name, value in budget.to_dict().items()}
    if witness is not None:
        said["witness"] = str(witness.path)
    if folder is not None:  # else it is beside the file, wherever that is moved
        said["folder"] = str(folder)
    return [{"name": name, "value": value} for name, value in said.items()]


def _number(text: str | None) -> float | None:
    """Read a number of what a ledger says of itself."""
    try:
        return None if text is None else float(text)
    except ValueError:
        raise LedgerError("the ledger's budget is no number; it was changed from outside") from None


def _is_plain(said: object) -> bool:
    """Return whether this is a text that a ledger says of itself."""
    return isinstance(said, str) and "\0" not in said
