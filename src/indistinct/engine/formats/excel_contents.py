"""What a workbook holds beside the cells of one sheet: further sheets, names, comments, properties, hidden parts.

A workbook is a zip of XML files. What is written here is known: all that a workbook of ours says, with cells of every
kind, is collected once, and whatever else a file says is a stowaway. Only cells, the name of the sheet, the time and
the version of the library may differ.
"""

from __future__ import annotations

import datetime
import io
import re
import zipfile
import zlib
from functools import cache
from pathlib import Path
from typing import Any
from xml.etree import ElementTree  # nosec B405 # see where it is parsed

from indistinct.errors import TableError

SHEET, BOOK, TIMES, LIBRARY = "xl/worksheets/sheet1.xml", "xl/workbook.xml", "docProps/core.xml", "docProps/app.xml"
FREE = {
    (BOOK, "sheet", "name"): re.compile(r".{1,31}", re.DOTALL),
    (TIMES, "created", None): re.compile(r"[\d:TZ.-]{10,30}"),
    (TIMES, "modified", None): re.compile(r"[\d:TZ.-]{10,30}"),
    (LIBRARY, "Application", None): re.compile(r"[A-Za-z /]{1,60}([\d.]{1,12})?"),
    (LIBRARY, "AppVersion", None): re.compile(r"[\d.]{1,12}"),
    (SHEET, "row", "r"): re.compile(r"\d{1,7}"),
    (SHEET, "c", "r"): re.compile(r"[A-Z]{1,3}\d{1,7}"),
    (SHEET, "c", "s"): re.compile(r"\d"),
    (SHEET, "v", None): re.compile(r".*", re.DOTALL),
    (SHEET, "t", None): re.compile(r".*", re.DOTALL),
    ("xl/styles.xml", "numFmts", "count"): re.compile(r"\d"),
    ("xl/styles.xml", "cellXfs", "count"): re.compile(r"\d"),
    ("xl/styles.xml", "numFmt", "numFmtId"): re.compile(r"16\d"),
    ("xl/styles.xml", "xf", "numFmtId"): re.compile(r"0|14|22|16\d"),
}
"""Where something may stand that differs from file to file: member, element, attribute (None for its text)."""
LOCAL_HEADER, LOCAL_LENGTHS, CENTRAL_HEADER, END_RECORD = 30, 26, 46, 22
"""Bytes of the records of a zip without names, and where the lengths of a part's name and extra bytes stand."""
SIZES_FOLLOW = 8
"""The flag of a part whose sizes stand behind it; parts of ours have them in front."""
Said = tuple[str, str, str | None, str]
"""Member, element, attribute or None for text, and what is said there."""


def hidden_in_excel(openpyxl: Any, path: Path) -> list[str]:
    """Say in words what a workbook holds beside the cells of one sheet; it was opened before and is a whole one."""
    try:
        with zipfile.ZipFile(path) as file:
            names = file.namelist()
            told = [file.comment, *(part for entry in file.infolist() for part in (entry.comment, entry.extra))]
            members = {name: file.read(name) for name in names}
            has_gaps = _has_gaps(path, file)
        said = {one for name, content in members.items() for one in _statements(name, content)}
    except (OSError, ValueError, zipfile.BadZipFile, zlib.error, ElementTree.ParseError, RuntimeError):
        raise TableError(f"{path.name}: is not a whole Excel workbook") from None
    known_names, known = _of_ours(openpyxl)
    found = []
    if set(names) - known_names or len(set(names)) < len(names):
        found.append("further parts: sheets, comments, pictures, strings that no cell has, or properties")
    if has_gaps or any(told) or any(re.search(rb"<!|.<\?", content) for content in members.values()):
        found.append("remarks between its parts")
    if any(name in known_names and not _is_known(one, known) for one in said for name in one[:1]):
        found.append("names, formats, properties or hidden rows and columns that a released sheet does not have")
    if SHEET in members and not _is_plain_grid(members[SHEET]):
        found.append("cells that readers do not all see")
    return found


def _has_gaps(path: Path, file: zipfile.ZipFile) -> bool:
    """Return whether bytes stand before, between or behind the parts of a zip, which readers pass over."""
    at = 0
    with path.open("rb") as content:
        for entry in sorted(file.infolist(), key=lambda entry: entry.header_offset):
            if entry.header_offset != at or entry.flag_bits & SIZES_FOLLOW:
                return True
            content.seek(at + LOCAL_LENGTHS)
            name, extra = (int.from_bytes(content.read(2), "little") for _ in range(2))
            at += LOCAL_HEADER + name + extra + entry.compress_size
    listed = sum(CENTRAL_HEADER + len(entry.orig_filename.encode()) for entry in file.infolist())
    return at != file.start_dir or path.stat().st_size != at + listed + END_RECORD


def _is_known(one: Said, known: frozenset[Said]) -> bool:
    free = FREE.get(one[:3])
    return one in known if free is None else free.fullmatch(one[3]) is not None


def _statements(member: str, content: bytes) -> set[Said]:
    """Return everything that a part of a workbook says: each element, its attributes and its text."""
    found: set[Said] = set()
    for element in _elements(content):
        name = _plain(element.tag)
        found.add((member, name, "", ""))
        found |= {(member, name, _plain(key), value) for key, value in element.attrib.items()}
        found |= {(member, name, None, text) for text in (element.text,) if text and text.strip()}
        found |= {(member, name, "after", text) for text in (element.tail,) if text and text.strip()}
    return found


def _elements(content: bytes) -> list[ElementTree.Element]:
    """Return all elements of a part; of one with declarations or remarks none, which is told by itself."""
    if b"<!" in content:
        return []
    return list(ElementTree.fromstring(content).iter())  # nosec B314 # without declarations there is no entity


def _plain(name: str) -> str:
    return name.rpartition("}")[2]


def _is_plain_grid(content: bytes) -> bool:
    """Return whether rows and cells stand in their order, each once, and each cell says one thing."""
    before = 0
    for row in _elements(content):
        if _plain(row.tag) != "row":
            continue
        number = row.get("r", "0")
        if not number.isdecimal() or int(number) != before + 1:
            return False
        before, last = int(number), 0
        for cell in row:
            letters, digits = re.fullmatch(r"([A-Z]*)(\d*)", cell.get("r", "")) is not None, cell.get("r", "")
            place = _column_number(digits.rstrip("0123456789")) if letters else 0
            inside = ["v"] if cell.get("t") != "inlineStr" else ["is"]
            children = [_plain(child.tag) for child in cell]
            is_single = children == inside and all(len(child) <= 1 for child in cell)
            is_single &= all(_keeps_blanks_as_needed(text) for text in cell.iter())
            if place <= last or not digits.endswith(number) or not is_single:
                return False
            last = place
    return True


def _keeps_blanks_as_needed(text: ElementTree.Element) -> bool:
    """Return whether blanks are said to be kept where, and only where, the library says so: around a text."""
    written = text.text or ""
    needs = _plain(text.tag) == "t" and written.strip() not in ("", written)
    return needs == any(_plain(key) == "space" for key in text.attrib)


def _column_number(letters: str) -> int:
    number = 0
    for letter in letters:
        number = number * 26 + ord(letter) - ord("A") + 1
    return number


@cache
def _of_ours(openpyxl: Any) -> tuple[frozenset[str], frozenset[Said]]:
    """Return the parts of workbooks as they are written here, and all that they say."""
    said: set[Said] = set()
    names: set[str] = set()
    day = datetime.datetime(2001, 2, 3, 4, 5)
    for cells in (
        ["text", " text", 1, 1.5, True],
        ["text", day],
        ["text", day.date()],
        ["text", day, day.date(), day.time()],
    ):
        book = openpyxl.Workbook(write_only=True)
        sheet = book.create_sheet("Sheet1")
        sheet.append(cells)
        content = io.BytesIO()
        book.save(content)
        with zipfile.ZipFile(content) as file:
            names |= set(file.namelist())
            said |= {one for name in file.namelist() for one in _statements(name, file.read(name))}
    return frozenset(names), frozenset(said)
