"""Ranges and sets as labels: how they are written, and what they cover when they are read again.

``[17, 25]`` is the range of all values from 17 to 25, ``{Divorced, Widowed}`` a set. A value that itself has a comma,
a bracket or a quotation mark is put in quotation marks, which are doubled inside. A missing value is named in words.
"""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import dataclass

OR_MISSING = " or missing"
MARKS = frozenset(',"[]{}')


@dataclass(frozen=True, slots=True)
class Cover:
    """What a label says: two ends of a range or the members of a set, and whether a missing value is covered too."""

    values: tuple[str, ...]
    is_range: bool
    or_missing: bool


def range_label(low: str | None, high: str | None, or_missing: bool = False) -> str:
    """Write the range between two values.

    >>> range_label("17", "25"), range_label("17", "25", or_missing=True)
    ('[17, 25]', '[17, 25] or missing')
    """
    ends = [low or "", high or ""] if low != high else [low or ""]
    return f"[{', '.join(map(_quote_value, ends))}]{OR_MISSING if or_missing else ''}"


def set_label(values: Sequence[str | None]) -> str:
    """Write the set of some values; None stands for a missing one.

    >>> set_label(["a", "b, c", None])
    '{a, "b, c"} or missing'
    """
    present = [_quote_value(value) for value in values if value is not None]
    return f"{{{', '.join(present)}}}{OR_MISSING if None in values else ''}"


def read_label(text: str) -> Cover | None:
    """Read a range or a set; None if the text is neither.

    >>> read_label('{a, "b, c"} or missing')
    Cover(values=('a', 'b, c'), is_range=False, or_missing=True)
    >>> read_label("[17, 25]").is_range, read_label("17-25")
    (True, None)
    """
    body = text.removesuffix(OR_MISSING)
    if len(body) < 2 or (body[0], body[-1]) not in (("[", "]"), ("{", "}")):
        return None
    try:
        (values,) = csv.reader([body[1:-1]], skipinitialspace=True, strict=True)
    except (csv.Error, ValueError):
        return None
    is_range = body[0] == "["
    if not values or (is_range and len(values) > 2):
        return None
    return Cover(tuple(values), is_range, body != text)


def _quote_value(value: str) -> str:
    if not MARKS & set(value) and value == value.strip() and value:
        return value
    return '"' + value.replace('"', '""') + '"'
