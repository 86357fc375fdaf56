"""Rows of labels read from a file, and the check that they are a hierarchy, with every mistake at once."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from indistinct.errors import HierarchyError
from indistinct.hierarchy.hierarchy import checked_top
from indistinct.showing.words import counted

MOST_MISTAKES = 20

Row = tuple[str | None, ...]


def read_rows(path: Path, delimiter: str | None) -> list[tuple[int, list[str]]]:
    """Return the rows of a CSV file, each with its line; the delimiter is found out unless given.

    A delimiter that splits all lines alike is the one, the semicolon before the comma; of a file with gaps, the one
    that splits more of them, so that the complaints fit what was meant.
    """
    try:
        with open(path, encoding="utf-8-sig", newline="") as file:
            lines = list(file)
        readings = _readings(lines, [delimiter] if delimiter else [";", ","])
    except OSError as error:
        raise HierarchyError(f"{path.name}: cannot be read: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise HierarchyError(f"{path.name}: is not UTF-8; save it as UTF-8") from error
    except ValueError:
        raise HierarchyError("the path of the hierarchy holds a NUL character") from None
    if not readings:
        raise HierarchyError(f"{path.name}: is not a CSV file; check its quotes, or give its delimiter")
    return max(readings, key=lambda reading: sum(len(row) > 1 for _, row in reading))


def _readings(lines: Sequence[str], delimiters: Sequence[str]) -> list[list[tuple[int, list[str]]]]:
    """Return what the lines say by each delimiter, or by the first alone that splits all of them alike."""
    readings = []
    for delimiter in delimiters:
        reader = csv.reader(lines, delimiter=delimiter, strict=True)
        try:
            reading = [(reader.line_num, row) for row in reader if row]
        except csv.Error:
            continue
        widths = {len(row) for _, row in reading}
        if len(widths) == 1 and widths != {1}:
            return [reading]
        readings.append(reading)
    return readings


def checked_rows(
    origin: str, rows: Sequence[Sequence[Any]], where: Sequence[str], top: str | None, *, is_file: bool = False
) -> tuple[Row, ...]:
    """Return the rows with missing values as None, or refuse them with every mistake that they hold.

    Of a file no cell is quoted: it may be a table of people that was taken for a hierarchy.
    """
    checked_top(top)
    if not rows:
        raise HierarchyError(f"{origin}: is empty; list at least one value with its labels")
    whole, places, mistakes = _complete_rows(rows, where, top)
    mistakes += _repeated_values(whole, places, is_file)
    mistakes += _torn_labels(whole, places, is_file)
    mistakes += _several_tops(whole, top, is_file)
    if mistakes:
        raise refusal(origin, mistakes)
    return tuple(whole)


def _complete_rows(
    rows: Sequence[Sequence[Any]], where: Sequence[str], top: str | None
) -> tuple[list[Row], list[str], list[str]]:
    """Return the rows without gaps, their places, and what is wrong with the others."""
    whole: list[Row] = []
    places: list[str] = []
    mistakes: list[str] = []
    widths = Counter(map(len, filter(_is_row, rows)))
    width = widths.most_common(1)[0][0] if widths else 0
    for row, place in zip(rows, where, strict=True):
        is_full = _is_row(row) and len(row) == width and all(cell and type(cell) is str for cell in row)
        mistake = "" if is_full else _gap(row, width, top)
        if mistake:
            mistakes.append(f"{place}: {mistake}")
        else:
            whole.append(tuple(row) if is_full else tuple(cell or None for cell in row))
            places.append(place)
    return whole, places, mistakes


def _is_row(row: object) -> bool:
    return isinstance(row, (list, tuple)) and len(row) > 0


def _gap(row: Sequence[Any], width: int, top: str | None) -> str:
    """Say what keeps a row from giving a label at every level, if anything; a missing value may lack the first."""
    if not _is_row(row):
        return f"a row is a list of labels, not a {type(row).__name__}"
    if len(row) != width:
        cells = counted(len(row), "cell", "cells")
        return f"has {cells} where the others have {width}; give every level a label, if need be by repeating one"
    for level, cell in enumerate(row):
        if cell is not None and not isinstance(cell, str):
            return f"the cell at level {level} is a {type(cell).__name__}, not text; write it in quotes"
    filled = [level for level, cell in enumerate(row) if cell]
    first = 0 if row[0] else min(filled, default=width - (top is None))
    gaps = [level for level in range(first, width) if level not in filled]
    return f"the cell at level {gaps[0]} is empty; fill it, if need be by repeating a label" if gaps else ""


def _repeated_values(rows: Sequence[Row], places: Sequence[str], is_file: bool) -> list[str]:
    first: dict[str | None, str] = {}
    mistakes = []
    for row, place in zip(rows, places, strict=True):
        if row[0] in first:
            name = "the missing value" if row[0] is None else "its value" if is_file else repr(row[0])
            mistakes.append(f"{place}: {name} is listed again (first: {first[row[0]]}); keep one")
        first.setdefault(row[0], place)
    return mistakes


def _torn_labels(rows: Sequence[Row], places: Sequence[str], is_file: bool) -> list[str]:
    mistakes = []
    for level in range(1, len(rows[0]) - 1 if rows else 0):
        first: dict[str | None, tuple[str | None, str]] = {}
        reported = set()
        for row, place in zip(rows, places, strict=True):
            label, parent = row[level], row[level + 1]
            known, known_place = first.setdefault(label, (parent, place))
            if parent != known and (label, parent) not in reported:
                reported.add((label, parent))
                told = f"{label!r} at level {level} goes to {parent!r}, but to {known!r} before"
                if is_file:
                    told = f"the label at level {level} goes to another one than before"
                mistakes.append(f"{place}: {told} ({known_place}); a label has one parent: rename one of them")
    return mistakes


def _several_tops(rows: Sequence[Row], top: str | None, is_file: bool) -> list[str]:
    tops = list(dict.fromkeys(row[-1] for row in rows))
    if top is None and len(tops) > 1:
        examples = "" if is_file else f", {' and '.join(repr(label) for label in tops[:2])} among them"
        return [
            f"the last level has {len(tops)} labels{examples}; "
            'end every row with the same label, or add a suppressed top with top="*"'
        ]
    if top is not None and tops == [top] and len(rows[0]) > 1:
        return [f"every row already ends with {top!r}; leave top out"]
    return []


def refusal(origin: str, mistakes: Sequence[str]) -> HierarchyError:
    """Return the error that lists the mistakes, up to a readable number."""
    if len(mistakes) == 1:
        return HierarchyError(f"{origin}: {mistakes[0]}")
    listed = list(mistakes[:MOST_MISTAKES])
    if len(mistakes) > MOST_MISTAKES:
        listed.append(f"and {len(mistakes) - MOST_MISTAKES} more")
    return HierarchyError(f"{origin}: {len(mistakes)} mistakes" + "".join(f"\n  {mistake}" for mistake in listed))
