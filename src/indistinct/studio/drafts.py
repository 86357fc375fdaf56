"""Drafts of hierarchies: what stands in the form of the builder, and the specification that a policy file takes."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from indistinct.errors import HierarchyError
from indistinct.hierarchy.catalogue import CATALOGUE

Nodes = dict[str, Any]
"""A tree as ``tree`` takes it: one root, labels as keys, values in lists."""

KINDS = {
    "intervals": "Intervals of numbers",
    "rounding": "Rounded numbers",
    "top_bottom": "Top and bottom coding",
    "dates": "Dates",
    "prefix": "Leading characters of codes",
    "tree": "Tree of labels",
    "levels": "Labels from a CSV file",
    "suppress": "Kept or suppressed",
    "keep": "Never generalized",
    "countries": "Countries",
    "us_states": "States of the US",
    "us_zip": "ZIP codes, by HIPAA",
    "nuts": "Regions of Europe (NUTS)",
    "icd10": "Diagnoses (ICD-10)",
    "icd10_cm": "Diagnoses (ICD-10-CM)",
    "icd9": "Diagnoses (ICD-9-CM)",
    "isco": "Occupations (ISCO-08)",
    "nace": "Industries (NACE)",
    "naics": "Industries (NAICS)",
    "education": "Education (ISCED)",
    "age": "Ages, by HIPAA",
}
LISTED = ("tree", "levels")
"""Kinds whose top, if it is not the last of their labels, is an option of its own."""
OPEN = ("-", "–", "—")
"""How a bound that is not there is written."""
DATE_LEVELS = ("day", "month", "quarter", "year", "5 years", "10 years", "20 years", "50 years", "100 years")
DATE_FORMATS = {
    "": "as ISO writes them: 1964-09-27",
    "%m/%d/%Y": "9/27/1964",
    "%d/%m/%Y": "27/9/1964",
    "%d.%m.%Y": "27.9.1964",
    "%Y/%m/%d": "1964/9/27",
    "%m/%d/%y": "9/27/64",
    "%d.%m.%y": "27.9.64",
}


@dataclass(slots=True)
class HierarchyDraft:
    """The form of the builder: each kind has its own fields, and all are kept while the kind is changed."""

    kind: str
    numbers: str = "5, 10, 20"
    """Widths of intervals, or units to round to; the cut points of a level of intervals stand in brackets."""
    low: str = ""
    """Values below are not told apart: one number for intervals, one for each level of top and bottom coding."""
    high: str = ""
    length: str = ""
    kept: str = ""
    """How many leading characters are kept at each level; nothing for one fewer at each."""
    levels: list[str] = field(default_factory=lambda: ["month", "year", "10 years"])
    format: str = ""
    latest: int | None = None
    tree: str = ""
    """Labels, one to a line, each indented below its parent."""
    rows: str = ""
    """Lines of a CSV file: a value and its labels."""
    label: str = "*"
    has_top: bool = True
    more: dict[str, Any] = field(default_factory=dict)
    """Options that the form has no field for; they stay as they were."""

    @classmethod
    def of(cls, spec: Mapping[str, Any], values: Sequence[str | None]) -> HierarchyDraft:
        """Fill in the form from a specification; what it does not say comes from the values at hand."""
        ((kind, body),) = spec.items()
        made = cls(kind, tree=_flat_tree(values), rows=_listed_values(values))
        made.length = str(max((len(value) for value in values if value is not None), default=5))
        if kind not in KINDS:
            made.more = dict(spec)
            return made
        options = _options(kind, body)
        made.has_top = options.get("top", True) is not False
        if not made.has_top and kind not in LISTED:
            del options["top"]
        if kind in ("intervals", "rounding"):
            made.numbers = _join_numbers(options.pop({"intervals": "widths", "rounding": "units"}[kind]))
            made.low, made.high = (str(options.pop(bound, "")) for bound in ("low", "high"))
        elif kind == "top_bottom":
            made.low, made.high = _join_bounds(options.pop("bounds"))
        elif kind == "prefix":
            made.length = str(options.pop("length", None) or made.length)
            made.kept = _join_numbers(options.pop("keep", None) or [])
        elif kind == "dates":
            made.levels, written = list(options.pop("levels")), options.pop("format", "")
            made.format, made.latest = written if isinstance(written, str) else "", options.pop("latest", None)
        elif kind == "tree":
            made.tree = tree_lines(options.pop("nodes"))
        elif kind == "levels":
            made.rows = _csv(options.pop("source"))
        elif kind == "suppress":
            made.label = options.pop("label", "*")
        made.more = options
        return made

    def spec(self) -> dict[str, Any]:
        """Return the specification; raise if a field cannot be read."""
        top: dict[str, Any] = {} if self.has_top else {"top": False}
        if self.kind == "intervals":
            bounds = {
                name: _one_number(text) for name, text in (("low", self.low), ("high", self.high)) if text.strip()
            }
            return _spec("intervals", "widths", _widths(self.numbers), bounds | top | self.more)
        if self.kind == "top_bottom":
            return _spec("top_bottom", "bounds", _bounds(self.low, self.high), top | self.more)
        if self.kind == "rounding":
            return _spec("rounding", "units", _numbers(self.numbers), top | self.more)
        if self.kind == "prefix":
            kept = {"keep": _numbers(self.kept)} if self.kept.strip() else {}
            return _spec("prefix", "length", _whole(self.length), kept | top | self.more)
        if self.kind == "dates":
            given: dict[str, Any] = {"format": self.format} if self.format else {}
            given |= {"latest": self.latest} if self.latest and "%y" in self.format else {}
            ordered = [level for level in DATE_LEVELS if level in self.levels]
            return _spec("dates", "levels", ordered, given | top | self.more)
        if self.kind == "tree":
            return _spec("tree", "nodes", read_tree(self.tree), self.more)
        if self.kind == "levels":
            return _spec("levels", "source", _read_csv(self.rows), self.more)
        if self.kind == "suppress":
            return {"suppress": self.label or "*"}
        if self.kind in CATALOGUE:
            return {self.kind: top | self.more or True}
        return {"keep": True} if self.kind == "keep" else dict(self.more)


def _spec(kind: str, main: str, value: Any, others: Mapping[str, Any]) -> dict[str, Any]:
    return {kind: {main: value, **others}} if others else {kind: value}


def _options(kind: str, body: Any) -> dict[str, Any]:
    """Return the options of a specification by name, also of a short one."""
    from indistinct.hierarchy import FORMS

    if body is True:
        return {}
    is_long = isinstance(body, Mapping) and not (kind == "tree" and len(body) == 1)
    return dict(body) if is_long else {FORMS[kind].option_names[0]: body}


def _numbers(text: str) -> list[int | float]:
    """Read numbers with commas between them.

    >>> _numbers("5, 10 20.5")
    [5, 10, 20.5]
    """
    words = text.replace(",", " ").replace(";", " ").split()
    try:
        return [int(word) if word.lstrip("-").isdecimal() else float(word) for word in words]
    except ValueError:
        raise HierarchyError("write numbers with commas between them, such as 5, 10, 20") from None


def _widths(text: str) -> list[Any]:
    """Read the widths of intervals, or the cut points of each level in brackets.

    >>> _widths("5, 10"), _widths("[18, 40, 65], [40]")
    ([5, 10], [[18, 40, 65], [40]])
    """
    levels = re.findall(r"\[([^\[\]]*)\]|([^\s,;\[\]]+)", text)
    return [_numbers(cuts) if cuts else _one_number(width) for cuts, width in levels]


def _one_number(text: str) -> int | float:
    numbers = _numbers(text)
    if len(numbers) != 1:
        raise HierarchyError("write one number, such as 90")
    return numbers[0]


def _bounds(lowest: str, highest: str) -> list[list[Any]]:
    """Read the lowest and the highest value that each level shows; no value, or a dash, leaves that side open.

    >>> _bounds("", "90, 80"), _bounds("18, -", "90, 80")
    ([[False, 90], [False, 80]], [[18, 90], [False, 80]])
    """
    sides = [[_read_bound(word) for word in re.split(r"[\s,;]+", side.strip()) if word] for side in (lowest, highest)]
    height = max(map(len, sides))
    if not height:
        raise HierarchyError("give the highest value that is shown, such as 90, or the lowest; one for each level")
    filled = [side or [False] * height for side in sides]
    if len(filled[0]) != len(filled[1]):
        raise HierarchyError("give as many lowest as highest values, one for each level, and - where a side is open")
    return [list(pair) for pair in zip(*filled, strict=True)]


def _read_bound(word: str) -> Any:
    return False if word in OPEN else _one_number(word)


def _join_bounds(bounds: Any) -> tuple[str, str]:
    sides = [
        ["-" if bound is None or bound is False else str(bound) for bound in side] for side in zip(*bounds, strict=True)
    ]
    low, high = ("" if set(side) == {"-"} else ", ".join(side) for side in sides)
    return low, high


def _whole(text: str) -> int:
    if not text.strip().isdecimal():
        raise HierarchyError("the length must be a whole number, such as 5")
    return int(text)


def _join_numbers(numbers: Any) -> str:
    return ", ".join(map(str, numbers if isinstance(numbers, Sequence) else [numbers]))


def _flat_tree(values: Sequence[str | None]) -> str:
    """Return a tree of all values right below the top, to begin with."""
    known = [value for value in values[:500] if value is not None]
    return tree_lines({"*": known}) if known else "*"


def _listed_values(values: Sequence[str | None]) -> str:
    return _csv([[value, "*"] for value in values[:500] if value is not None])


def _csv(rows: Any) -> str:
    if isinstance(rows, str):
        return ""
    file = io.StringIO()
    csv.writer(file, lineterminator="\n").writerows([["" if c is None else c for c in row] for row in rows])
    return file.getvalue()


def _read_csv(text: str) -> list[list[str]]:
    """Read lines of values and labels, with commas or semicolons between them."""
    lines = [line for line in text.splitlines() if line.strip()]
    delimiter = ";" if lines and lines[0].count(";") > lines[0].count(",") else ","
    rows = [[cell.strip() for cell in row] for row in csv.reader(lines, delimiter=delimiter)]
    if not rows:
        raise HierarchyError("give one line for each value: the value, then its label at each level")
    return rows


def tree_lines(nodes: Mapping[str, Any]) -> str:
    """Return a tree as lines of text, each label indented below its parent.

    >>> print(tree_lines({"*": {"manual": ["welder"], "office": ["clerk"]}}))
    *
      manual
        welder
      office
        clerk
    """

    def lines(below: Any, depth: int) -> list[str]:
        if isinstance(below, Mapping):
            return [line for key in below for line in ["  " * depth + str(key), *lines(below[key], depth + 1)]]
        return ["  " * depth + str(value) for value in below]

    return "\n".join(lines(nodes, 0))


def read_tree(text: str) -> Nodes:
    """Read a tree from lines of text; the inverse of ``tree_lines``.

    >>> read_tree("*\\n  manual\\n    welder\\n  office\\n    clerk")
    {'*': {'manual': ['welder'], 'office': ['clerk']}}
    """
    nested: Nodes = {}
    for number, (*above, label) in enumerate(paths(text), start=1):
        below = nested
        for name in above:
            below = below[name]
        if above and label in below:
            raise HierarchyError(f"label {number}: it stands twice below the same parent")
        below[label] = {}
    if sum(len(path) == 1 for path in paths(text)) != 1:
        raise HierarchyError("a tree has one line at the left, its top; indent all others below it")
    return {top: _content(below) for top, below in nested.items()}


def _content(below: Nodes) -> Any:
    """Return what is below a label as ``tree`` takes it."""
    return {label: _content(further) for label, further in below.items()} if any(below.values()) else list(below)


def move_label(text: str, path: Sequence[str], goal: Sequence[str]) -> str:
    """Return a tree in which a label, with all below it, stands below another one; paths lead there from the top.

    >>> tree = "*\\n  manual\\n    welder\\n  office\\n    clerk"
    >>> print(move_label(tree, ["*", "manual", "welder"], ["*", "office"]))
    *
      manual
      office
        clerk
        welder
    """
    if list(goal[: len(path)]) == list(path) or list(path[:-1]) == list(goal):
        return text
    lines = paths(text)
    taken = [line for line in lines if line[: len(path)] == tuple(path)]
    left = [line for line in lines if line not in taken]
    if not taken or tuple(goal) not in left:
        return text
    last = max(place for place, line in enumerate(left) if line[: len(goal)] == tuple(goal))
    put = [(*goal, *line[len(path) - 1 :]) for line in taken]
    return _text([*left[: last + 1], *put, *left[last + 1 :]])


def with_label(text: str, parent: Sequence[str], label: str) -> str:
    """Return a tree with a new label below another one.

    >>> print(with_label("*\\n  welder", ["*"], "manual"))
    *
      welder
      manual
    """
    lines, made = paths(text), (*parent, label.strip())
    if not label.strip() or made in lines or tuple(parent) not in lines:
        return text
    last = max(place for place, line in enumerate(lines) if line[: len(parent)] == tuple(parent))
    return _text([*lines[: last + 1], made, *lines[last + 1 :]])


def without_label(text: str, path: Sequence[str]) -> str:
    """Return a tree without a label; what stood below it goes up to its parent."""
    if len(path) < 2:
        return text
    place = len(path) - 1
    lines = [line for line in paths(text) if line != tuple(path)]
    return _text([(*line[:place], *line[place + 1 :]) if line[: place + 1] == tuple(path) else line for line in lines])


def paths(text: str) -> list[tuple[str, ...]]:
    """Return the path of each line of a tree."""
    found: list[tuple[str, ...]] = []
    above: list[tuple[int, tuple[str, ...]]] = [(-1, ())]
    for line in text.splitlines():
        if line.strip():
            indent = len(line.expandtabs(2)) - len(line.expandtabs(2).lstrip())
            while above[-1][0] >= indent:
                above.pop()
            path = (*above[-1][1], line.strip())
            above.append((indent, path))
            found.append(path)
    return found


def _text(lines: Sequence[tuple[str, ...]]) -> str:
    return "\n".join("  " * (len(line) - 1) + line[-1] for line in lines)
