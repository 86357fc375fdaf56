"""Words for messages."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

FEW = 6
"""So many cells are told as they are; of more only those that say something."""
EVERYTHING = "*"
"""The label of a suppressed cell, unless a hierarchy has another."""


def counted(number: int, one: str, many: str | None = None) -> str:
    """Return a number with the words that fit it; the plural has an s if it is not given.

    >>> counted(1, "row"), counted(2000, "row"), counted(3, "value has", "values have")
    ('1 row', '2,000 rows', '3 values have')
    """
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def shorten(name: str, longest: int) -> str:
    """Return a name, cut if it has too many letters.

    >>> shorten("samarati", 8), shorten("samarati (preference peak)", 20)
    ('samarati', 'samarati (preferenc…')
    """
    return name if len(name) <= longest else f"{name[: longest - 1]}…"


def list_names(names: Iterable[str]) -> str:
    """Return names with commas between them, or say that there are none.

    >>> list_names(["a", "b"]), list_names([])
    ('a, b', 'nothing')
    """
    return ", ".join(names) or "nothing"


def cells_in_words(cells: Mapping[str, str | None], missing: str = "missing", first: str | None = None) -> str:
    """Return the cells of a group by column; of many a few that are not suppressed, and how many others there are.

    >>> cells_in_words({"sex": "f", "age": None})
    'sex f, age missing'
    >>> cells_in_words({f"c{place}": "*" if place < 3 else str(place) for place in range(12)}, first="c11")
    'c11 11, c3 3, c4 4, c5 5, c6 6, c7 7, 3 more columns, and * in 3'
    """
    if len(cells) <= FEW:
        return ", ".join(f"{name} {missing if label is None else label}" for name, label in cells.items())
    telling = [name for name, label in cells.items() if label != EVERYTHING and name != first]
    shown = ([first] if first in cells else []) + telling
    said = [f"{name} {missing if cells[name] is None else cells[name]}" for name in shown[:FEW] if name is not None]
    if len(shown) > FEW:
        said.append(counted(len(shown) - FEW, "more column"))
    if hidden := len(cells) - len(shown):
        said.append(f"{'and ' if said else ''}{EVERYTHING} in {hidden if said else f'all {hidden} columns'}")
    return ", ".join(said)


def term_words(value: object) -> str:
    """Return a term of a model; of limits of single values how many there are.

    >>> term_words(5), term_words([0.8, 0.8]), term_words({"flu": 0.5, "gout": 0.8})
    ('5', '0.8 for each of 2 values', '0.5 to 0.8 for each of 2 values')
    """
    if not isinstance(value, Mapping | list | tuple):
        return str(value)
    limits = [*value.values()] if isinstance(value, Mapping) else [*value]
    low, high = min(limits), max(limits)
    return f"{low if low == high else f'{low} to {high}'} for each of {counted(len(limits), 'value')}"
