"""Files in DuckDB: how the contents of one become rows of a session, and how rows are written to one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from indistinct.engine.duckdb import distinct_lines
from indistinct.engine.duckdb.dialect import literal, quote
from indistinct.engine.duckdb.distinct_lines import NO_CELL, Repeats, StoredRows, WeightedRows
from indistinct.engine.duckdb.session import NO_MEMORY, Session, escape_pattern
from indistinct.engine.duckdb.source import DuckSource
from indistinct.engine.formats import Contents, format_to_write
from indistinct.engine.formats.delimited_text import BUFFER_BYTES, TextFile
from indistinct.engine.formats.duckdb_database import DatabaseTable
from indistinct.engine.formats.parquet import ParquetFiles
from indistinct.engine.rows import check_names
from indistinct.errors import OutputError, TableError

Typed = Mapping[str, str]
"""The columns that kept their own type, with the name that each had in the table that came in."""
Restore = Callable[[pa.Table, Typed], object]
"""Makes the kind of table that came in."""
DAY = 86_400_000_000
"""Microseconds."""
INTERVAL = "INTERVAL"
"""DuckDB's name of the type."""
NANOSECONDS = {"s": 1_000_000_000, "ms": 1_000_000, "us": 1000, "ns": 1}
"""What the units of Arrow and Polars count."""


def restore_as_arrow(table: pa.Table, typed: Typed) -> pa.Table:
    """Return the rows as an Arrow table in the types of DuckDB, as is done for files."""
    return table


def restore_arrow(schema: pa.Schema) -> Restore:
    """Return how to make an Arrow table whose kept columns have the types of ``schema``."""

    def restore(table: pa.Table, typed: Typed) -> pa.Table:
        return in_own_types(table, typed, schema)

    return restore


def in_own_types(table: pa.Table, typed: Typed, schema: pa.Schema) -> pa.Table:
    """Return a table whose kept columns have the type they came with, where the cells allow it."""
    if any(pa.types.is_duration(own.type) for own in schema):
        table = with_durations(table)
    for position, name in enumerate(table.column_names):
        if name not in typed:
            continue
        own = schema.field(typed[name]).type
        column = table[name]
        try:
            column = column.dictionary_encode().cast(own) if pa.types.is_dictionary(own) else column.cast(own)
        except (pa.ArrowException, TypeError):
            continue
        table = table.set_column(position, name, column)
    return table


@dataclass(frozen=True, slots=True)
class Origin:
    """The kind of table that came in, how it is given back, and what its file said beyond its rows."""

    kind: str
    restore: Restore = restore_as_arrow
    delimiter: str | None = None
    table: str = "release"
    notes: tuple[str, ...] = ()
    """What the caller should know of how the file was read, or will be written."""
    came_as: Mapping[str, str] = field(default_factory=dict)
    """The columns that have another name than in the table that came in, with that name."""
    repeats: Repeats | None = None
    """How the rows of one relation repeat; relations made of it have none."""

    def with_names(self, names: Mapping[str, str]) -> Origin:
        """Return the origin of a table of which each column has a new name."""
        came = {new: self.came_as.get(name, name) for name, new in names.items()}
        return replace(self, came_as={new: name for new, name in came.items() if new != name})

    def to_native(self, table: pa.Table, typed: frozenset[str]) -> object:
        """Make the kind of table that came in, of which some columns kept their own type."""
        return self.restore(table, {name: self.came_as.get(name, name) for name in typed})


def as_duckdb_reads_it(table: pa.Table) -> pa.Table:
    """Return a table whose spans of time are counted in microseconds, and whose halves of floats are whole ones.

    DuckDB would count spans so itself, but refuses tables in which a missing one is the least number that there is. It
    knows no numbers of 16 bits.
    """
    for position, own in enumerate(table.schema):
        if pa.types.is_duration(own.type):
            table = table.set_column(position, own.name, table[own.name].cast(pa.duration("us"), safe=False))
        elif pa.types.is_float16(own.type):
            table = table.set_column(position, own.name, table[own.name].cast(pa.float32()))
    return table


def with_durations(table: pa.Table) -> pa.Table:
    """Return a table whose spans of time are durations again, unless one of them counts months."""
    for position, own in enumerate(table.schema):
        if own.type != pa.month_day_nano_interval():
            continue
        spans = table[own.name].to_pylist()
        if any(span is not None and span.months for span in spans):
            continue
        micros = [None if span is None else span.days * DAY + span.nanoseconds // 1000 for span in spans]
        table = table.set_column(position, own.name, pa.array(micros, pa.duration("us")))
    return table


def numbers_as_spans(relation: str, units: Mapping[str, str]) -> str:
    """Return the SQL of rows in which numbers of some columns are spans of time, each counted in a unit."""
    cells = ", ".join(
        f"to_microseconds(({quote(name)}::HUGEINT * {int(NANOSECONDS[unit])} // 1000)::BIGINT) AS {quote(name)}"
        for name, unit in units.items()
    )
    return f"SELECT * {f'REPLACE ({cells}) ' if cells else ''}FROM {relation}"


def spans_as_text(relation: str, types: Mapping[str, str]) -> str:
    """Return the SQL of rows in which spans of time are text."""
    cells = ", ".join(f"{quote(name)}::VARCHAR AS {quote(name)}" for name, kind in types.items() if kind == INTERVAL)
    return f"SELECT * {f'REPLACE ({cells}) ' if cells else ''}FROM {relation}"


def plain_spans(session: Session, relation: str, types: Mapping[str, str]) -> list[str]:
    """Return the columns of spans of time of which none counts days or months: as durations they are the same text."""
    names = [name for name, kind in types.items() if kind == INTERVAL]
    if not names:
        return []
    are_plain: tuple[Any, ...] = session.fetch(
        "SELECT "
        + ", ".join(f"coalesce(bool_and({_text(name)} = {_plain_text(name)}), true)" for name in names)
        + f" FROM {relation}"
    )[0]
    return [name for name, is_plain in zip(names, are_plain, strict=True) if is_plain]


def _text(name: str) -> str:
    return f"{quote(name)}::VARCHAR"


def _plain_text(name: str) -> str:
    return f"to_microseconds(epoch_us({quote(name)}))::VARCHAR"


LINES_AT_ONCE = 8192
"""So many lines are written together; their text stays in the processor's cache."""


def open_contents(session: Session, kind: str, contents: Contents) -> tuple[str, Origin]:
    """Return the table, view or scan of a session that has the rows of a file, and where they came from."""
    held = contents.rows
    if isinstance(held, DatabaseTable):
        relation, name = _open_database(session, held)
        return relation, Origin(kind, table=name)
    check_names(session.name, held.column_names if isinstance(held, pa.Table) else held.names)
    if isinstance(held, TextFile):
        view = session.create_view(scan_text(held))
        return view, Origin(kind, delimiter=held.delimiter, repeats=RepeatedLines(view, session, held))
    if isinstance(held, ParquetFiles):
        return session.create_view(_scan_parquet(held)), Origin(kind)
    restore = restore_arrow(held.schema)
    relation = session.register(as_duckdb_reads_it(held))
    return relation, Origin(kind, restore, contents.delimiter, contents.table, contents.notes)


def scan_text(layout: TextFile) -> str:
    """Return the SQL that reads every cell of delimited text as text, exactly as it stands.

    Types are never guessed: ``01234`` stays a ZIP code and ``NO`` stays Norway.
    """
    types = ", ".join(f"'c{position}': 'VARCHAR'" for position in range(len(layout.names)))
    line_end = "" if layout.line_end is None else f", new_line = {literal(layout.line_end)}"
    return f"SELECT {_cells(layout)} FROM {_read(layout, types, f'{_delimiter_options(layout)}{line_end}')}"


def scan_lines(layout: TextFile) -> str:
    """Return the SQL that reads every line as one cell, ``line``; an empty one is null."""
    return _read(layout, "'line': 'VARCHAR'", f"delim = {literal(NO_CELL)}, quote = '', escape = ''")


def scan_counted(layout: TextFile, path: Path, number: str) -> str:
    """Return the SQL that reads lines of a file from another one, where a number stands before each."""
    types = ", ".join(["'n': 'BIGINT'", *(f"'c{position}': 'VARCHAR'" for position in range(len(layout.names)))])
    read = _read(replace(layout, path=path, blank_lines=0), types, _delimiter_options(layout), header=False)
    return f"SELECT n AS {quote(number)}, {_cells(layout)} FROM {read}"


def _cells(layout: TextFile) -> str:
    return ", ".join(f"c{position} AS {quote(name)}" for position, name in enumerate(layout.names))


def _delimiter_options(layout: TextFile) -> str:
    return f"delim = {literal(layout.delimiter)}, quote = '\"', escape = '\"'"


def _read(layout: TextFile, types: str, cells: str, *, header: bool = True) -> str:
    return (
        f"read_csv({literal(escape_pattern(layout.path))}, auto_detect = false, header = {str(header).lower()}, "
        f"{cells}, columns = {{{types}}}, skip = {layout.blank_lines}, strict_mode = true, null_padding = false, "
        f"compression = 'none', buffer_size = {BUFFER_BYTES})"
    )


@dataclass(slots=True)
class RepeatedLines:
    """The lines of a text file, which are its rows unless a cell holds a line break."""

    relation: str
    session: Session
    layout: TextFile
    _made: list[WeightedRows | None] = field(default_factory=list)

    def distinct_rows(self, columns: Sequence[str] | None = None) -> WeightedRows | None:
        """Return the distinct rows with all their columns."""
        if not self._made:
            is_small = self.layout.path.stat().st_size < distinct_lines.SAMPLED_ROWS
            # an empty line may be a row, or a name several lines
            is_other = len(self.layout.names) == 1 or self.layout.line_end is not None
            self._made.append(None)  # also of a file that is not in order: whoever parses it says what is wrong
            with suppress(TableError):
                self._made[0] = None if is_small or is_other else self._read()
        return self._made[0]

    def _read(self) -> WeightedRows | None:
        counted = partial(scan_counted, self.layout)
        return distinct_lines.read_distinct_lines(self.session, self.layout, scan_lines(self.layout), counted)


def _open_database(session: Session, held: DatabaseTable) -> tuple[str, str]:
    """Return the SQL name of a table of a database, and its name there."""
    database = session.attach(held.path, "(READ_ONLY)")
    tables = session.fetch(
        "SELECT table_schema, table_name FROM information_schema.tables WHERE table_catalog = ? ORDER BY ALL",
        [database],
    )
    found = [pair for pair in tables if held.name in (None, pair[1], f"{pair[0]}.{pair[1]}")]
    if len(found) != 1:
        names, file = ", ".join(name for _, name in tables) or "none", held.path.name
        raise TableError(f"{file}: say which table as {file}::table; it has {names}")
    schema, name = found[0]
    return f"{database}.{quote(schema)}.{quote(name)}", name


def _scan_parquet(held: ParquetFiles) -> str:
    place = held.place if held.what == "pattern" else escape_pattern(Path(held.place))
    pattern = f"{place}/**/*.parquet" if held.what == "folder" else place
    partitions = "hive_partitioning = false" if held.what == "file" else "hive_types_autocast = false"
    return f"SELECT * FROM read_parquet({literal(pattern)}, {partitions})"


def write_file(source: DuckSource, folder: Path, name: str, origin: Origin) -> Path:
    """Write all rows to a file of this name and of the kind that came in, and return its path."""
    form = format_to_write(origin.kind)
    path = Path(folder) / f"{name}{form.suffixes[0]}"
    try:
        if form.most_rows is not None and source.rows_of(source.relation) > form.most_rows:
            raise TableError(f"{path.name}: a file of {form.name} has room for {form.most_rows:,} rows")
        if form.kind in WRITERS:
            WRITERS[form.kind](source, path, origin)
        else:
            rows = _stream_with_durations(source) if form.kind == "ipc" else source.session.stream(_every(source))
            form.write(rows, path, origin.table)
    except (OSError, TableError) as error:
        if str(error).startswith(f"{path.name}: "):  # what the format cannot keep
            raise OutputError(str(error)) from None
        reason = f"cannot be written to {path.parent}; check the folder and the free space"
        raise OutputError(f"{path.name}: {NO_MEMORY if NO_MEMORY in str(error) else reason}") from None
    return path


def _every(source: DuckSource) -> str:
    return f"SELECT * FROM {source.relation}"


def _stream_with_durations(source: DuckSource) -> pa.RecordBatchReader:
    """Return all rows as a stream in which spans of time without days and months are durations."""
    spans = plain_spans(source.session, source.relation, source.types)
    rows = source.session.stream(_every(source))

    def convert(table: pa.Table) -> pa.Table:
        made = with_durations(table.select(spans))
        for name in spans:
            table = table.set_column(table.column_names.index(name), name, made[name])
        return table

    def batches() -> Iterator[pa.RecordBatch]:
        for batch in rows:
            yield from convert(pa.Table.from_batches([batch])).to_batches()

    return pa.RecordBatchReader.from_batches(convert(pa.Table.from_batches([], rows.schema)).schema, batches())


def _write_text(source: DuckSource, path: Path, origin: Origin) -> None:
    """Write delimited text; where rows repeat, each line is made once."""
    delimiter, repeats = origin.delimiter or ",", source.repeats
    if not (isinstance(repeats, StoredRows) and repeats.line and _write_lines(source, repeats, path, delimiter)):
        _copy_text(source, _every(source), path, delimiter)


def _copy_text(source: DuckSource, query: str, path: Path, delimiter: str) -> None:
    """Write the rows of a query with all columns of a source.

    A lone column writes missing as ``""``, because readers skip empty lines.
    """
    first, *others = map(quote, source.types)
    cells = "*" if others else f"coalesce({first}::VARCHAR, '') AS {first}"
    source.session.execute(
        f"COPY (SELECT {cells} FROM ({query})) TO {literal(str(path))} "
        f"(FORMAT csv, HEADER true, DELIMITER {literal(delimiter)}, QUOTE '\"', ESCAPE '\"', NULLSTR '')"
    )


def _write_lines(source: DuckSource, repeats: StoredRows, path: Path, delimiter: str) -> bool:
    """Write rows that repeat by their lines, of which there is one of each kind; False if a cell holds a line break."""
    session = source.session
    draft = session.folder / f"{session.fresh('kinds')}.csv"
    try:
        _copy_text(source, repeats.kinds(), draft, delimiter)
        header, *lines = draft.read_bytes().splitlines(keepends=True)
    finally:
        draft.unlink(missing_ok=True)
    ((number,),) = session.fetch(f"SELECT max({repeats.line}) + 1 FROM {repeats.stored}")
    if len(lines) != number or any(b"\r" in line for line in (header, *lines)):
        return False
    texts = np.array(lines, np.object_)
    with path.open("wb") as file:
        file.write(header)
        for batch in session.stream(f"SELECT {repeats.line} FROM {repeats.stored}", LINES_AT_ONCE):
            file.write(b"".join(texts[np.from_dlpack(batch.column(0))].tolist()))
    return True


def _write_parquet(source: DuckSource, path: Path, origin: Origin) -> None:
    """Write a file whose bytes follow from its rows alone.

    DuckDB declares that a column is never missing where it happens to know that: of rows in a file it does, of the
    same rows under an ENUM it does not. So rows are joined by none of a table of which it knows that cells may be
    missing. Spans of time are text: Parquet's own type counts whole milliseconds, none below zero, and most
    readers give it as bytes.
    """
    session, rows = source.session, spans_as_text(source.relation, source.types)
    none = session.fresh("none")
    try:
        session.execute(f"CREATE TABLE {none} AS SELECT * FROM ({rows}) LIMIT 0")
        session.execute(f"INSERT INTO {none} DEFAULT VALUES; DELETE FROM {none}")
        every = f"SELECT * FROM ({rows}) UNION ALL SELECT * FROM {none}"
        session.execute(f"COPY ({every}) TO {literal(str(path))} (FORMAT parquet, COMPRESSION zstd)")
    finally:
        session.drop(none)


def _write_json(source: DuckSource, path: Path, origin: Origin) -> None:
    source.session.execute(f"COPY ({_every(source)}) TO {literal(str(path))} (FORMAT json)")


def _write_database(source: DuckSource, path: Path, origin: Origin) -> None:
    session = source.session
    path.unlink(missing_ok=True)
    database = session.attach(path)
    try:
        session.execute(f"CREATE TABLE {database}.{quote(origin.table)} AS {_every(source)}")
    finally:
        session.detach(database)


WRITERS: dict[str, Callable[[DuckSource, Path, Origin], None]] = {
    "csv": _write_text,
    "parquet": _write_parquet,
    "json-lines": _write_json,
    "database": _write_database,
}
"""What DuckDB writes by itself; other formats take Arrow."""
