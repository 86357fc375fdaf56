"""Hierarchies that list every value with its labels: rows of a file, or a tree."""

from __future__ import annotations

import csv
import os
from abc import abstractmethod
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePath
from typing import Any

from indistinct.errors import HierarchyError
from indistinct.hierarchy.hierarchy import Hierarchy, Texts, UnknownValues, checked_top, is_suppression, nest, top_name
from indistinct.showing.words import counted

MOST_MISTAKES = 20
"""Of more mistakes in a list of labels the others are counted."""

ListedRow = tuple[str | None, ...]


def levels(
    source: str | os.PathLike[str] | Iterable[Sequence[str | None]],
    *,
    top: str | None = None,
    names: Sequence[str] | None = None,
    delimiter: str | None = None,
) -> Levels:
    """Return the hierarchy of a CSV file or of rows: each starts with a value and ends with the top.

    A file has no header; its delimiter, ``;`` or ``,``, is found out unless given, and it is read once, here.
    A row that starts with an empty cell gives the labels of a missing value. ``top`` adds one more level with that
    single label, as Sweeney does; ``names`` names all levels, the values first.

    >>> race = levels([["asian", "person"], ["black", "person"], ["white", "person"]], top="*")
    >>> race.label("white", 1), race.label("white", 2), race.height
    ('person', '*', 2)
    """
    if isinstance(source, (str, os.PathLike)):
        return read_levels(Path(source), os.fspath(source), top=top, names=names, delimiter=delimiter)
    if delimiter is not None:
        raise HierarchyError("a delimiter is for files; rows have none")
    if not isinstance(source, Iterable):
        raise HierarchyError(f"levels() takes the path of a CSV file, or rows of labels, not a {type(source).__name__}")
    rows = list(source)
    where = [f"row {number}" for number in range(1, len(rows) + 1)]
    return Levels(checked_rows("levels", rows, where, top), top, _checked_names(names))


def read_levels(
    path: Path,
    source: str,
    *,
    top: str | None = None,
    names: Sequence[str] | None = None,
    delimiter: str | None = None,
) -> Levels:
    """Return the hierarchy of the file at ``path``, under the name that a specification gives it."""
    if delimiter is not None and (not isinstance(delimiter, str) or len(delimiter) != 1 or delimiter in '"\r\n'):
        raise HierarchyError(f"delimiter must be one character such as ';', got {delimiter!r}")
    numbered = read_rows(path, delimiter)
    where = [f"line {line}" for line, _ in numbered]
    rows = checked_rows(path.name, [row for _, row in numbered], where, top, is_file=True)
    return Levels(rows, top, _checked_names(names), source, delimiter)


def tree(nodes: Mapping[str, Any], *, top: str | None = None, names: Sequence[str] | None = None) -> Tree:
    """Return the hierarchy of a nested mapping with one root, its values in lists, all at the same depth.

    ``top`` adds one more level above the root; ``names`` names all levels, the values first.

    >>> job = tree({"*": {"white-collar": ["clerk", "manager"], "blue-collar": ["welder"]}})
    >>> job.label("welder", 1), job.height
    ('blue-collar', 2)
    """
    if not isinstance(nodes, Mapping) or len(nodes) != 1:
        found = f"{len(nodes)} labels" if isinstance(nodes, Mapping) else f"a {type(nodes).__name__}"
        raise HierarchyError(f'tree: a tree is a mapping with one root, got {found}; put all under a label such as "*"')
    paths: list[Sequence[Any]] = []
    mistakes: list[str] = []
    for path, mistake in _leaves_of((), nodes):
        paths.append(path)
        mistakes += [f"{_place(path)}: {mistake}"] * bool(mistake)
    deepest = max(map(len, paths))
    mistakes += [
        f"{_place(path)} is at depth {len(path) - 1} where the deepest value is at {deepest - 1}; "
        f"repeat its label on the way: {{{path[-1]!r}: [{path[-1]!r}]}}"
        for path in paths
        if len(path) < deepest
    ]
    if mistakes:
        raise refusal("tree", mistakes)
    rows = checked_rows("tree", [path[::-1] for path in paths], [_place(path) for path in paths], top)
    return Tree(rows, top, _checked_names(names))


@dataclass(frozen=True, slots=True, repr=False)
class Listed(Hierarchy):
    """A checked list of values with their labels: what ``levels`` and ``tree`` have in common."""

    rows: tuple[ListedRow, ...]
    top: str | None
    names: tuple[str, ...] | None
    _row_of: dict[str | None, ListedRow] = field(init=False, compare=False)

    def __post_init__(self) -> None:
        width = len(self.rows[0])
        row_of = {row[0]: row for row in self.rows}
        if width > 1 or self.top is not None:
            last = self.rows[0][-1] if self.top is None else None
            row_of.setdefault(None, (*[None] * (width - 1), last))
        object.__setattr__(self, "_row_of", row_of)
        levels_needed = width + (self.top is not None)
        if self.names is not None and len(self.names) != levels_needed:
            raise HierarchyError(f"{self.kind}: {len(self.names)} names for {levels_needed} levels; name every level")

    @property
    def level_names(self) -> tuple[str, ...]:
        """The given names, or numbers."""
        if self.names is not None:
            return self.names
        plain = ["value", *(f"level {level}" for level in range(1, len(self.rows[0])))]
        if self.top is None and len(plain) > 1 and is_suppression([self.rows[0][-1]]):
            plain[-1] = "suppressed"
        return (*plain, *top_name(self.top))

    def climb(self, values: Texts) -> list[Texts]:
        """Return the listed labels of the values; a missing value that is not listed goes straight to the top."""
        unknown = [code for code, value in enumerate(values) if value not in self._row_of]
        if unknown:
            raise UnknownValues(
                f"{counted(len(unknown), 'value has', 'values have')} no label; "
                f"list every value in {self._place_to_list()}, or correct the table",
                unknown,
            )
        rows = [self._row_of[value] for value in values]
        return [[row[level] for row in rows] for level in range(1, len(self.rows[0]))]

    def all_labels(self, level: int) -> frozenset[str | None]:
        """Return the labels from a level on."""
        return frozenset(label for row in self.rows for label in row[level:])

    def lists_just(self, values: Texts) -> bool:
        """Return whether these values are listed and no others; missing ones do not matter."""
        return set(self._listed_values()) - {None} == set(values) - {None}

    def options(self) -> dict[str, Any]:
        """Return the list itself and every option that was given."""
        given: dict[str, Any] = {self.main_option: self._spec_list()}
        if self.top is not None:
            given["top"] = self.top
        if self.names is not None:
            given["names"] = list(self.names)
        return given

    def __repr__(self) -> str:
        return f"{self.kind}(<{counted(len(self.rows), 'value', 'values')}, height {self.height}>)"

    @abstractmethod
    def _spec_list(self) -> Any:
        """Return the list as a specification writes it."""

    @abstractmethod
    def _place_to_list(self) -> str:
        """Say where a value is added."""

    def _listed_values(self) -> Texts:
        return [row[0] for row in self.rows]

    def _content(self) -> Any:
        return [self.rows, self.top, self.names]

    def _domain(self, values: Texts) -> Texts:
        """Return the listed values, and a missing one that is at hand but not listed."""
        return list(dict.fromkeys([*self._listed_values(), *values]))


@dataclass(frozen=True, slots=True, repr=False)
class Levels(Listed):
    """Rows of labels; see ``levels``."""

    kind = "levels"
    main_option = "source"

    source: str | None = None
    delimiter: str | None = None

    def options(self) -> dict[str, Any]:
        """Return the name of the file or the rows, and every option that was given."""
        given = Listed.options(self)
        return given if self.delimiter is None else given | {"delimiter": self.delimiter}

    def __repr__(self) -> str:
        return Listed.__repr__(self) if self.source is None else f"levels({self.source!r})"

    def _spec_list(self) -> Any:
        return _texts(self.rows) if self.source is None else self.source

    def _place_to_list(self) -> str:
        return "the rows of levels()" if self.source is None else PurePath(self.source).name


@dataclass(frozen=True, slots=True, repr=False)
class Tree(Listed):
    """A tree of labels; see ``tree``."""

    kind = "tree"
    main_option = "nodes"

    def _spec_list(self) -> Any:
        return _unfold(nest(row[::-1] for row in _texts(self.rows)), len(self.rows[0]))

    def _place_to_list(self) -> str:
        return "the tree"


def _texts(rows: Iterable[ListedRow]) -> list[list[str]]:
    return [[cell or "" for cell in row] for row in rows]


def _unfold(nodes: dict[Any, Any], depth: int) -> Any:
    """Return nested dictionaries with the values in lists, as ``tree`` reads them."""
    if depth == 1:
        return {label: [] for label in nodes}
    return {label: list(below) if depth == 2 else _unfold(below, depth - 1) for label, below in nodes.items()}


def _leaves_of(path: Sequence[Any], below: Any) -> Iterator[tuple[Sequence[Any], str]]:
    """Yield the path from the root to each value, with what is wrong there, if anything."""
    if isinstance(below, Mapping) and below:
        for label, further in below.items():
            yield from _leaves_of((*path, label), further)
    elif isinstance(below, (list, tuple)) and below:
        for value in below:
            is_nested = isinstance(value, (Mapping, list, tuple))
            yield (
                ((*path, str(type(value).__name__)), "a list holds values only") if is_nested else ((*path, value), "")
            )
    elif below is None or isinstance(below, (Mapping, list, tuple)):
        yield path, ""
    else:
        yield path, f"needs a mapping or a list below it, not a {type(below).__name__}; put it in [ ]"


def _place(path: Sequence[Any]) -> str:
    return " > ".join(repr(label) for label in path)


def _checked_names(names: Sequence[str] | None) -> tuple[str, ...] | None:
    if names is None:
        return None
    if not isinstance(names, (list, tuple)) or not all(isinstance(name, str) and name for name in names):
        raise HierarchyError(f"names must list one name for each level, got {names!r}")
    return tuple(names)


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
) -> tuple[ListedRow, ...]:
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
) -> tuple[list[ListedRow], list[str], list[str]]:
    """Return the rows without gaps, their places, and what is wrong with the others."""
    whole: list[ListedRow] = []
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


def _repeated_values(rows: Sequence[ListedRow], places: Sequence[str], is_file: bool) -> list[str]:
    first: dict[str | None, str] = {}
    mistakes = []
    for row, place in zip(rows, places, strict=True):
        if row[0] in first:
            name = "the missing value" if row[0] is None else "its value" if is_file else repr(row[0])
            mistakes.append(f"{place}: {name} is listed again (first: {first[row[0]]}); keep one")
        first.setdefault(row[0], place)
    return mistakes


def _torn_labels(rows: Sequence[ListedRow], places: Sequence[str], is_file: bool) -> list[str]:
    mistakes = []
    for level in range(1, len(rows[0]) - 1 if rows else 0):
        first: dict[str | None, tuple[str | None, str]] = {}
        reported = set()
        for row, place in zip(rows, places, strict=True):
            label, parent = row[level], row[level + 1]
            known, known_place = first.setdefault(label, (parent, place))
            if parent != known and (label, parent) not in reported:
                reported.add((label, parent))
                wrong = f"{label!r} at level {level} goes to {parent!r}, but to {known!r} before"
                if is_file:
                    wrong = f"the label at level {level} goes to another one than before"
                mistakes.append(f"{place}: {wrong} ({known_place}); a label has one parent: rename one of them")
    return mistakes


def _several_tops(rows: Sequence[ListedRow], top: str | None, is_file: bool) -> list[str]:
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
