"""Plain writing: whether text is written as releases here write it, so that nothing hides between its cells.

Readers of text forgive much: blank lines, quotation marks that need not be there, blanks between the parts of an
object, a number of fifty digits. The rows are the same, and the rest can say something. ``verify --canonical`` writes
whole files anew; what is found here needs no second writing, and does not follow from versions.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterable, Iterator
from decimal import Decimal
from typing import BinaryIO

import numpy as np

BLOCK = 1 << 17
"""So many bytes are looked at together, which stay in the processor's cache."""
LINE_END = ord("\n")
QUOTE = ord('"')
QUOTED = re.compile(rb'"[^"]*(?:""[^"]*)*"')

BYTE_ORDER_MARK = "a byte order mark"
OTHER_ENDS = "line ends of another kind"
BLANK_LINES = "blank lines"
NO_END = "a last line without its end"
QUOTATION = "quotation marks where none are needed"
DELIMITERS = "delimiters beyond the last column"
OTHER_KEYS = "keys that differ from line to line"
OTHER_JSON = "objects with blanks, escapes or numbers in another writing"
MIXED_KINDS = "columns with cells of several kinds"

TEXT = r'"(?:[^"\\\x00-\x1f]|\\["\\bfnrt]|\\u00[01][0-9A-F])*"'
CELL = re.compile(rf"({TEXT}):({TEXT}|-?[0-9][0-9.e-]*|true|false|null)(?:,(?=\")|$)")


def delimited_oddities(file: BinaryIO, delimiter: str) -> list[str]:
    """Say in words what delimited text has that none of ours has: cells are quoted here only if they must be.

    >>> import io
    >>> delimited_oddities(io.BytesIO(b'age,ill\\n30,"a, b"\\n40,""\\n'), ",")
    []
    >>> delimited_oddities(io.BytesIO(b'age,ill\\n30,"flu"\\n\\n40,flu'), ",")
    ['a last line without its end', 'blank lines', 'quotation marks where none are needed']
    """
    mark = delimiter.encode()
    needs_quotes = re.compile(re.escape(mark) + rb'|["\r\n#]')
    beside_text = re.compile(rb'"(?!MARK|\n|\Z)|(?<!MARK)(?<!\n)(?<!\A)"'.replace(b"MARK", re.escape(mark)))
    found, ends, delimiters, in_header, last = set(), 0, 0, 0, b"\n"
    for block in _whole_lines(file):
        plain = block
        if b'"' in block:
            plain = QUOTED.sub(b'"', block)
            cells = (quoted.group()[1:-1] for quoted in QUOTED.finditer(block))
            if beside_text.search(plain) or any(cell and not needs_quotes.search(cell) for cell in cells):
                found.add(QUOTATION)
        if not ends:
            in_header = plain.partition(b"\n")[0].count(mark)
            found |= {BYTE_ORDER_MARK} if block.startswith(codecs.BOM_UTF8) else set()
        found |= {OTHER_ENDS} if b"\r" in plain else set()
        letters = np.frombuffer(plain, np.uint8)
        is_end = letters == LINE_END
        found |= {BLANK_LINES} if is_end[0] or (is_end[1:] & is_end[:-1]).any() else set()
        ends, last = ends + int(np.count_nonzero(is_end)), plain[-1:]
        delimiters += int(np.count_nonzero(letters == mark[0])) if len(mark) == 1 else plain.count(mark)
    found |= {NO_END} if last != b"\n" else set()
    found |= {DELIMITERS} if delimiters > in_header * (ends + (last != b"\n")) else set()
    return sorted(found)


def _whole_lines(file: BinaryIO) -> Iterator[bytes]:
    """Return a file in blocks that end where a line ends outside of quotation marks; each byte is looked at once."""
    pieces: list[bytes] = []
    is_quoted = False
    while block := file.read(BLOCK):
        end = _last_line_end(block, is_quoted)
        is_quoted ^= block.count(b'"') % 2 == 1
        if end:
            yield b"".join((*pieces, block[:end]))
            pieces.clear()
        pieces.append(block[end:])
    if rest := b"".join(pieces):
        yield rest


def _last_line_end(block: bytes, is_quoted: bool) -> int:
    r"""Return where the last line ends that ends outside of quotation marks; ``is_quoted`` says how the block begins.

    >>> _last_line_end(b'1\n2,"3\n4', False), _last_line_end(b'1\n2,"3\n4', True)
    (2, 7)
    """
    end = block.rfind(b"\n") + 1
    if is_quoted == block.count(b'"', 0, end) % 2:
        return end
    letters = np.frombuffer(block, np.uint8)
    is_inside = np.logical_xor.accumulate(letters == QUOTE) != is_quoted
    ends = np.flatnonzero((letters == LINE_END) & ~is_inside)
    return int(ends[-1]) + 1 if ends.size else 0


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

    >>> [_number_text(text, "number") for text in ("1.50", "15e-1", "1e21", "0.0000001", "-0.0")]
    ['1.5', '1.5', '1e21', '1e-7', '-0.0']
    """
    try:
        if kind == "whole":
            return str(int(cell))
        sign, whole_digits, exponent = Decimal(repr(float(cell))).as_tuple()
    except (ValueError, TypeError):
        return None
    if not isinstance(exponent, int):  # too large, and so infinite
        return None
    digits = "".join(map(str, whole_digits)).rstrip("0") or "0"
    exponent += len(whole_digits) - len(digits)
    place = len(digits) + exponent - 1  # of the first digit: 0 for ones, 1 for tens
    if digits == "0":
        text = "0.0"
    elif not -7 < place < 21:
        text = digits[0] + (f".{digits[1:]}" if len(digits) > 1 else "") + f"e{place}"
    elif exponent >= 0:
        text = f"{digits}{'0' * exponent}.0"
    elif place >= 0:
        text = f"{digits[: place + 1]}.{digits[place + 1 :]}"
    else:
        text = f"0.{'0' * (-place - 1)}{digits}"
    return f"-{text}" if sign else text
