"""ReleasedTables: the table or the two tables that a recipient holds, and what they say of themselves.

A release reaches those who judge it in many kinds: as a Release that was just made, as the folder that it was written
to, as one table of any kind, or as two. Here all of them become one value, and nobody else asks which it was.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeGuard

import pyarrow as pa

from indistinct.engine import Rows, is_address, open_table, use_table
from indistinct.engine.formats import FileReading, format_of, load_format
from indistinct.errors import TableError
from indistinct.policy import Policy
from indistinct.policy.released_names import named_as_in_policy
from indistinct.policy.stated_policy import policy_digest
from indistinct.recoding.classes import LINK
from indistinct.release.forms import Form, form_of
from indistinct.release.manifest import (
    CROISSANT,
    MANIFEST,
    RO_CRATE,
    SIGNATURE,
    SIGNATURE_BYTES,
    VERIFIER,
    Facts,
    Manifest,
    file_digest,
    has_manifest,
    is_known_verifier,
    read_manifest,
)
from indistinct.release.on_server import manifest_in
from indistinct.showing.words import counted

if TYPE_CHECKING:
    import pyarrow as pa


class HoldsReleasedTables(Protocol):
    """Whatever made a release and still holds its rows, such as a Release."""

    def released_tables(self) -> ReleasedTables:
        """Return the released tables as a recipient will hold them."""


def holds_released_tables(release: object) -> TypeGuard[HoldsReleasedTables]:
    """Return by its class: the frames of Spark Connect themselves have an attribute of every name."""
    return hasattr(type(release), "released_tables")


@dataclass(frozen=True, slots=True)
class Claims:
    """What a release says of itself that its recount needs; None where nothing says it."""

    suppressed: int | None = None
    node: Mapping[str, int] | None = None
    """The level of each column: a hint, which is not believed."""
    is_local: bool | None = None
    """Cells were generalized one by one."""
    unreadable: Mapping[str, int] | None = None
    """How many cells of each column could not be read."""
    policy_sha256: str | None = None

    @classmethod
    def of(cls, said: Facts) -> Claims:
        """Return what is claimed by all that a release says; of drawn rows it is not said what was left out."""
        if said.drawn is not None:
            return cls(None, said.node, said.node is None, None, said.policy_sha256)
        return cls(said.suppressed, said.node, said.node is None, said.unreadable or {}, said.policy_sha256)


@dataclass(frozen=True, slots=True, eq=False)
class ReleasedTables:
    """The tables of a release by name, ``table`` or ``quasi`` and ``sensitive``, before they are opened.

    >>> import pyarrow as pa
    >>> released = ReleasedTables.of({"quasi": pa.table({"age": [30]}), "sensitive": pa.table({"ill": ["flu"]})})
    >>> released.form.generalizes
    False
    >>> with released.rows() as tables:
    ...     {name: list(rows.columns()) for name, rows in tables.items()}
    {'quasi': ['age'], 'sensitive': ['ill']}
    """

    sources: Mapping[str, Any]
    """The tables of any kind; rows that are open already belong to the caller and stay open."""
    claims: Claims = field(default_factory=Claims)
    """What a recount needs of what the release says of itself; nothing for tables without a manifest."""
    saying: Callable[[], Facts] | None = None
    """All that a release says of itself that was not written yet, measured when it is asked for."""
    manifest: Manifest | None = None
    folder: Path | None = None
    """The release folder, if it is one."""
    reading: Mapping[str, Any] = field(default_factory=dict)
    """How the engine is to read them."""

    form: Form = None  # type: ignore[assignment]
    """Which tables they are; by their names, if nobody says it."""
    renamed: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """The columns of each table that have another name here than in the policy, with that name."""
    is_release: bool = False
    """It says itself, or it is claimed, that it is a release, and not a table that has its own names still."""

    held: Mapping[str, Rows] = field(default_factory=dict)
    """Tables that are open already, under the names of the policy; whoever opened them closes them."""

    def __post_init__(self) -> None:
        if self.form is None:
            object.__setattr__(self, "form", form_of(self.sources))

    @classmethod
    def of(
        cls, release: Any, policy: Policy | None = None, *, is_release: bool = False, **reading: Any
    ) -> ReleasedTables:
        """Take a Release, a release folder, tables by name (``{"quasi": …, "sensitive": …}``) or one of any kind.

        Rows that are opened have the names of the ``policy``, or of the one that a folder states. ``is_release`` claims
        that they are no original, whatever they are. ``reading`` goes to the engine. A folder says itself how its
        tables are written, so a delimiter and an encoding are for other tables.
        """
        found = cls._take(release, reading, None if policy is None else policy.form)
        return found if policy is None else found.named_by(policy, is_release=is_release)

    @classmethod
    def _take(cls, release: Any, reading: Mapping[str, Any], form: Form | None) -> ReleasedTables:
        if isinstance(release, ReleasedTables):
            return release
        if holds_released_tables(release):
            return release.released_tables()
        if has_manifest(release):
            folder = Path(release)
            said = read_manifest(folder)
            paths = said.table_files(folder)
            for path in paths.values():
                if path.parent != folder or not path.exists():
                    raise TableError(f"{folder}: the manifest's table {path.name!r} is not there")
            own = {**reading, "delimiter": None, "encoding": None, "sheet": None}
            return cls(
                paths,
                Claims.of(said),
                manifest=said,
                folder=folder,
                reading=own,
                form=said.shape,
                renamed={name: said.policy.renamed_in(name) for name in paths},
                is_release=True,
            )
        if isinstance(release, str) and is_address(release) and (said_there := _said_on_server(release)) is not None:
            renamed = {name: said_there.policy.renamed_in(name) for name in ("table",)}
            return cls({"table": release}, Claims.of(said_there), reading=reading, renamed=renamed, is_release=True)
        if not isinstance(release, Mapping):
            return cls({"table": release}, reading=reading)
        return cls(release, reading=reading, form=form_of(release) if form is None else form.of_tables(release))

    def named_by(self, policy: Policy, *, is_release: bool = False) -> ReleasedTables:
        """Return the same tables, to be opened under the names of a policy.

        A release that was made for another policy, as it says, keeps to the names that it states. ``is_release``
        claims that the tables are no original, whatever they are.
        """
        policy.form.refuse_tables_of(self.form)
        renamed = {name: policy.renamed_in(name) for name in self.sources}
        if renamed != self.renamed and not self.is_of(policy):
            renamed = dict(self.renamed)
        found = replace(self, renamed=renamed, is_release=self.is_release or is_release)
        is_same = (found.renamed, found.is_release) == (self.renamed, self.is_release)
        return found if is_same else replace(found, held={})

    @property
    def said(self) -> Facts | None:
        """What the release says of itself; None for tables without a manifest."""
        return self.manifest or (None if self.saying is None else self.saying())

    def is_as_stated(self) -> bool:
        """Return whether the files of a release folder have the digests that its manifest states."""
        assert self.manifest is not None  # a folder has one
        stated = self.manifest.files
        return all(file_digest(path) == stated[path.name] for path in self.sources.values())

    def strange_contents(self) -> list[str]:
        """Say what a release folder holds that is no row of its tables; nothing for other releases."""
        if self.folder is None or self.manifest is None:
            return []
        found = _strange_contents(self.folder, self.sources, self.manifest.verifier)
        for name, path in self.sources.items():
            if not path.is_symlink():
                found += _strange_writing(path, FileReading(delimiter=self._reading_of(name).get("delimiter")))
        if any((self.folder / name).exists() for name in (CROISSANT, RO_CRATE)):
            from indistinct.release.catalogue_records import strange_records

            found += strange_records(self.folder, self.manifest)
        return found

    def is_of(self, policy: Policy) -> bool:
        """Return whether the release was made for a policy, as it says; True if it says nothing."""
        return self.claims.policy_sha256 is None or self.claims.policy_sha256 == policy_digest(policy)

    @contextmanager
    def rows(self) -> Iterator[dict[str, Rows]]:
        """Return the rows of each table for the time of the block; those that were open before stay open."""
        with ExitStack() as stack:
            yield {name: stack.enter_context(self._open_one(name)) for name in self.sources}

    @contextmanager
    def read_once(self) -> Iterator[ReleasedTables]:
        """Return the same tables, which are read once however often their rows are asked for in the block."""
        with ExitStack() as stack:
            opened = {name: stack.enter_context(self._open_one(name)) for name in self.sources}
            yield replace(self, held={name: stack.enter_context(rows.as_stored()) for name, rows in opened.items()})

    @contextmanager
    def _open_one(self, name: str) -> Iterator[Rows]:
        """Return the rows of one table for the time of the block, under the names of the policy."""
        if name in self.held:
            yield self.held[name]
            return
        with (
            use_table(self._source_of(name), **self._reading_of(name)) as given,
            under_own_names(given, self.renamed.get(name, {}), is_release=self.is_release) as rows,
        ):
            yield rows

    def _source_of(self, name: str) -> Any:
        """Return a table as it was given; JSON lines without a row name no column, but their manifest does."""
        source = self.sources[name]
        if self.manifest is None or not isinstance(source, Path) or not source.is_file() or source.stat().st_size:
            return source
        return pa.schema([(column, pa.string()) for column in self.manifest.tables[name].columns]).empty_table()

    def _reading_of(self, name: str) -> Mapping[str, Any]:
        """Return how the engine is to read one of the tables: a folder says of each how it is written."""
        if self.manifest is None:
            return self.reading
        own = self.manifest.tables.get(name)
        return {**self.reading, "delimiter": None if own is None else own.delimiter}

    @contextmanager
    def only_rows(self) -> Iterator[Rows]:
        """Return the rows of a release of one table for the time of the block; raise a TableError if it has two."""
        if len(self.sources) > 1:
            where = self.folder or "the release"
            raise TableError(
                f"{where} holds {len(self.sources)} tables; only a release of one table has generalized cells"
            )
        with self._open_one(self.form.first) as rows:
            yield rows

    @contextmanager
    def sensitive_rows(self) -> Iterator[Rows]:
        """Return the rows with the sensitive columns of a release of one table or two, for the time of the block."""
        with self._open_one(self.form.last) as rows:
            yield rows

    def join(self) -> pa.Table:
        """Return the join of two tables by their class, as Arrow text: each person beside each value of the class.

        That is all that a recipient can make of them. Source: Wong et al. 2007, Table 7.
        """
        if self.form.generalizes:
            raise TableError("only a release of two tables is joined by its classes; this one has no class_id")
        with self.rows() as tables:
            first, second = (rows.texts(list(rows.columns())).read_all() for rows in tables.values())
        return first.join(second, LINK, join_type="inner")

    @contextmanager
    def quasi_rows(self) -> Iterator[Rows]:
        """Return the rows with the quasi columns for the time of the block."""
        with self._open_one(self.form.first) as rows:
            yield rows


@contextmanager
def under_own_names(rows: Rows, renamed: Mapping[str, str], *, is_release: bool = False) -> Iterator[Rows]:
    """Return rows under the names that columns have in a policy, where they have those of a release."""
    names = named_as_in_policy(rows.columns(), renamed, is_release=is_release) if renamed else {}
    if all(name == own for name, own in names.items()):
        yield rows
        return
    with rows.with_names(names) as found:
        yield found


def _said_on_server(address: str) -> Manifest | None:
    """Return the manifest of a release of one table that a server holds, if the table there is one."""
    with open_table(address) as rows:
        said = manifest_in(getattr(rows, "remark", None))
    return None if said is None or not said.shape.takes(["table"]) else said


def _strange_contents(folder: Path, tables: Mapping[str, Path], verifier: str | None = None) -> list[str]:
    """Say what a release folder holds that none of ours has: other files, links elsewhere, more than rows in a file.

    ``tables`` are those that its manifest lists, by what they are; a name of a file could tell something, too.
    ``verifier`` is the digest of the program for recipients, if the release says that it carries one.
    """
    listed = {MANIFEST, SIGNATURE, *(path.name for path in tables.values()), *([] if verifier is None else [VERIFIER])}
    listed |= {CROISSANT, RO_CRATE}  # whose contents follow from the manifest, or are refused
    others = [place for place in folder.iterdir() if place.name not in listed]
    linked = [name for name in sorted(listed) if (folder / name).is_symlink()]
    found = [f"{counted(len(others), 'file', 'files')} that the manifest does not list"] if others else []
    found += [f"{name} is a link to another place" for name in linked]
    if odd := sum(path.name != f"{part}{path.suffix}" for part, path in tables.items()):
        found.append(f"{counted(odd, 'table')} under a name that none of ours has")
    if (folder / SIGNATURE).exists() and not _is_signature(folder / SIGNATURE):
        found.append(f"{SIGNATURE} is no signature")
    if verifier is not None and _digest(folder / VERIFIER) != verifier:
        found.append(f"{VERIFIER} is not the program that the manifest names")
    elif verifier is not None and not is_known_verifier(verifier):
        found.append(f"{VERIFIER} is not the program of this version")
    return found


def _strange_writing(path: Path, reading: FileReading) -> list[str]:
    """Say what a table of a release holds beside its rows."""
    form = load_format("parquet") if path.is_dir() else format_of(path)
    found = strange_parts(path) if path.is_dir() else []
    return found + [f"{path.name} holds {what}" for what in form.hidden_content(path, reading)]


def _is_signature(path: Path) -> bool:
    return path.is_file() and path.stat().st_size == SIGNATURE_BYTES


def _digest(path: Path) -> str | None:
    return file_digest(path) if path.is_file() else None


def strange_parts(folder: Path, columns: Iterable[str] = ()) -> list[str]:
    """Say what in a folder of Parquet files some readers take for rows and others do not.

    The engine reads ``*.parquet``, other readers everything that begins neither with a dot nor with an underline.
    ``columns`` are those inside the files: a folder named for one of them, ``sex=m``, would have two answers.
    """
    places = sorted(place for place in folder.rglob("*") if place.is_symlink() or not place.is_dir())
    own = [place for place in places if place.name.endswith(".parquet") and not place.name.startswith((".", "_"))]
    inside = {column.lower() for column in columns}
    folders = {part for place in places for part in place.relative_to(folder).parts[:-1]}
    named = [part for part in folders if part.partition("=")[0].lower() in inside and "=" in part]
    strange = len(places) - len(own)
    found = [f"{folder.name} holds {counted(strange, 'file', 'files')} beside its Parquet files"] if strange else []
    found += [f"{folder.name} holds links to other places"] if any(place.is_symlink() for place in own) else []
    found += [f"{folder.name} has folders named for columns that stand in the files as well"] if named else []
    return found
