"""JSON lines: an object of named cells on every line."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pyarrow as pa

from indistinct.engine.duckdb.origin import Origin, restore_arrow
from indistinct.engine.duckdb.session import Session, literal
from indistinct.engine.duckdb.source import DuckSource
from indistinct.engine.formats.file_format import COMPRESSED, FileFormat, Reading, open_packed
from indistinct.engine.formats.plain_writing import json_oddities
from indistinct.engine.formats.typed_columns import arrow_column
from indistinct.engine.rows import check_names
from indistinct.errors import TableError


class JsonLines(FileFormat):
    """An object on every line; a key that a line lacks is a missing cell. Texts stay texts, numbers numbers."""

    kind = "json-lines"
    name = "JSON lines"
    suffixes = (".jsonl", ".ndjson")
    is_text = True
    is_canonical = True

    def open(self, path: Path, session: Session, reading: Reading) -> tuple[str, Origin]:
        columns: dict[str, list[object]] = {}
        rows = 0
        try:
            is_packed = path.suffix.lower() in COMPRESSED
            with open_packed(path) if is_packed else path.open("rb") as file:
                text = io.TextIOWrapper(file, encoding=reading.encoding or "utf-8-sig")
                for number, line in enumerate(text, start=1):
                    if line.strip():
                        _add_row(columns, rows, _cells_of(line, path.name, number))
                        rows += 1
        except LookupError:
            raise TableError(f"{path.name}: no encoding is called {reading.encoding!r}") from None
        except UnicodeError:  # UTF-16 without its mark is one, and no UnicodeDecodeError
            named = reading.encoding or "UTF-8"
            raise TableError(f"{path.name}: is not {named}; say encoding='latin-1' or --encoding latin-1") from None
        except OSError as error:
            raise TableError(f"{path.name}: cannot be read ({type(error).__name__})") from None
        if not columns:
            raise TableError(f"{path.name}: holds no JSON object; a table needs at least one line")
        check_names(session.name, list(columns))
        table = pa.table(
            {name: arrow_column([*cells, *[None] * (rows - len(cells))]) for name, cells in columns.items()}
        )
        return session.register(table), Origin(self.kind, restore_arrow(table.schema))

    def hidden_content(self, path: Path, reading: Reading) -> list[str]:
        with path.open("rb") as file:
            return json_oddities(file)

    def write(self, source: DuckSource, path: Path, origin: Origin) -> None:
        target = literal(str(path))
        source.session.execute(f"COPY (SELECT * FROM {source.relation}) TO {target} (FORMAT json)")


def _add_row(columns: dict[str, list[object]], rows: int, cells: dict[str, Any]) -> None:
    """Put the cells of a row below those of the rows before it."""
    for name, cell in cells.items():
        column = columns.setdefault(name, [])
        column += [None] * (rows - len(column))
        column.append(cell)


def _cells_of(line: str, name: str, number: int) -> dict[str, Any]:
    """Return the cells of a line by their names; say on which line something is wrong, and quote nothing of it."""
    try:
        pairs = json.loads(line, object_pairs_hook=_Pairs, parse_constant=_refuse_constant)
    except (ValueError, RecursionError):
        raise TableError(f"{name}: line {number} is not JSON; a line is cut off, or holds no whole object") from None
    if not isinstance(pairs, _Pairs):
        raise TableError(f'{name}: line {number} is not an object such as {{"age": 39}}; one is needed on every line')
    if len(dict(pairs)) < len(pairs):
        raise TableError(f"{name}: line {number} gives a key twice; give each once")
    for key, cell in pairs:
        if isinstance(cell, list):  # of an array, or of an object as pairs
            raise TableError(f"{name}: line {number}: {key!r} holds nested cells; turn them into text, or leave it out")
    return dict(pairs)


class _Pairs(list[tuple[str, Any]]):
    """The pairs of a JSON object, of which a dictionary would lose repeated keys."""


def _refuse_constant(constant: str) -> object:
    raise ValueError(constant)
