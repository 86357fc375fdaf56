"""JSON lines: an object of named cells on every line, and whether they are written as releases are."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Callable, Iterable, Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa

from indistinct.engine.formats.delimited_text import BLANK_LINES, BYTE_ORDER_MARK, NO_END, OTHER_ENDS
from indistinct.engine.formats.file_format import COMPRESSED, Contents, FileFormat, FileReading, open_packed
from indistinct.engine.formats.typed_columns import arrow_column
from indistinct.errors import TableError

OTHER_KEYS = "keys that differ from line to line"
OTHER_JSON = "objects with blanks, escapes or numbers in another writing"
MIXED_KINDS = "columns with cells of several kinds"

TEXT = r'"(?:[^"\\\x00-\x1f]|\\["\\bfnrt]|\\u00[01][0-9A-F])*"'
CELL = re.compile(rf"({TEXT}):({TEXT}|-?[0-9][0-9.e-]*|true|false|null)(?:,(?=\")|$)")


class JsonLines(FileFormat):
    """An object on every line; a key that a line lacks is a missing cell. Texts stay texts, numbers numbers."""

    kind = "json-lines"
    name = "JSON lines"
    suffixes = (".jsonl", ".ndjson")
    is_text = True
    is_canonical = True

    def open(self, path: Path, reading: FileReading, scratch: Callable[[], Path]) -> Contents:
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
        table = pa.table(
            {name: arrow_column([*cells, *[None] * (rows - len(cells))]) for name, cells in columns.items()}
        )
        return Contents(table)

    def hidden_content(self, path: Path, reading: FileReading) -> list[str]:
        with path.open("rb") as file:
            return json_oddities(file)


def _add_row(columns: dict[str, list[object]], rows: int, cells: Mapping[str, object]) -> None:
    """Put the cells of a row below those of the rows before it."""
    for name, cell in cells.items():
        column = columns.setdefault(name, [])
        column += [None] * (rows - len(column))
        column.append(cell)


def _cells_of(line: str, name: str, number: int) -> dict[str, Any]:
    """Return the cells of a line by their names; say on which line something is wrong, and quote nothing of it."""
    try:
        pairs = json.loads(line, object_pairs_hook=_JsonObject, parse_constant=_refuse_constant)
    except (ValueError, RecursionError):
        raise TableError(f"{name}: line {number} is not JSON; a line is cut off, or holds no whole object") from None
    if not isinstance(pairs, _JsonObject):
        raise TableError(f'{name}: line {number} is not an object such as {{"age": 39}}; one is needed on every line')
    if len(dict(pairs)) < len(pairs):
        raise TableError(f"{name}: line {number} gives a key twice; give each once")
    for key, cell in pairs:
        if isinstance(cell, list):  # of an array, or of an object as pairs
            raise TableError(f"{name}: line {number}: {key!r} holds nested cells; turn them into text, or leave it out")
    return dict(pairs)


class _JsonObject(list[tuple[str, Any]]):
    """The pairs of a JSON object, of which a dictionary would lose repeated keys."""


def _refuse_constant(constant: str) -> object:
    raise ValueError(constant)


def json_oddities(lines: Iterable[bytes]) -> list[str]:
    """Say in words what JSON lines have that none of ours have: they can all be read, and each holds an object.

    >>> json_oddities([b'{"age":30,"ill":"flu"}\\n', b'{"age":null,"ill":"a \\\\"b"}\\n'])
    []
    >>> json_oddities([b'{"age":30,"ill":"flu"}\\n', b'{"ill":"flu","age":1}\\n', b'{"age": 1,"ill":"flu"}\\n'])
    ['keys that differ from line to line', 'objects with blanks, escapes or numbers in another writing']
    """
    found: set[str] = set()
    keys: list[str] | None = None
    kinds: list[set[str]] = []
    for line in lines:
        text = line.decode("utf-8", "replace")
        if text.startswith("\ufeff"):
            found.add(BYTE_ORDER_MARK)
        if not text.endswith("\n"):
            found.add(NO_END)
        if not text.strip():
            found.add(BLANK_LINES)
            continue
        if "\r" in text:
            found.add(OTHER_ENDS)
        cells = CELL.findall(text.strip("\r\n\ufeff")[1:-1])
        if "{" + ",".join(f"{key}:{cell}" for key, cell in cells) + "}" != text.strip("\r\n\ufeff"):
            found.add(OTHER_JSON)
            continue
        if keys is None:
            keys = [key for key, _ in cells]
            kinds = [set() for _ in keys]
        if keys != [key for key, _ in cells]:
            found.add(OTHER_KEYS)
            continue
        for (_, cell), known in zip(cells, kinds, strict=True):
            kind = _kind(cell)
            known |= {kind} if kind else set()
            if kind in ("whole", "number") and cell != _number_text(cell, kind):
                found.add(OTHER_JSON)
    found |= {MIXED_KINDS} if any(len(known) > 1 for known in kinds) else set()
    return sorted(found)


def _kind(cell: str) -> str | None:
    """Return what kind of cell this is; None for a missing one."""
    if cell == "null":
        return None
    if cell[0] == '"' or cell[0] in "tf":
        return "text" if cell[0] == '"' else "truth"
    return "number" if "." in cell or "e" in cell else "whole"


def _number_text(cell: str, kind: str) -> str | None:
    """Return the one writing of a number; None if it is none.

    Floating numbers have the fewest digits that tell them apart, a point, and an exponent only where there would be
    more than 21 digits before the point, or six zeros behind it.

    >>> [_number_text(text, "number") for text in ("1.50", "15e-1", "1e21", "0.0000001", "-0.0", "1.25e+16")]
    ['1.5', '1.5', '1e21', '1e-7', '-0.0', '12500000000000000.0']
    """
    try:
        number = int(cell) if kind == "whole" else float(cell)
    except ValueError:
        return None
    if kind == "whole" or (number and not 1e-6 <= abs(number) < 1e21):
        return re.sub(r"e[+]?(-?)0*", r"e\1", repr(number))
    text = format(Decimal(repr(number)), "f")
    return text if "." in text else f"{text}.0"
