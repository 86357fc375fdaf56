"""Words for messages."""

from __future__ import annotations

from collections.abc import Iterable


def counted(number: int, one: str, many: str | None = None) -> str:
    """Give a number with the words that fit it; the plural has an s if it is not given.

    >>> counted(1, "row"), counted(2000, "row"), counted(3, "value has", "values have")
    ('1 row', '2,000 rows', '3 values have')
    """
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def shorten(name: str, longest: int) -> str:
    """Give a name, cut if it has too many letters.

    >>> shorten("samarati", 8), shorten("samarati (preference peak)", 20)
    ('samarati', 'samarati (preferenc…')
    """
    return name if len(name) <= longest else f"{name[: longest - 1]}…"


def list_names(names: Iterable[str]) -> str:
    """Give names with commas between them, or say that there are none.

    >>> list_names(["a", "b"]), list_names([])
    ('a, b', 'nothing')
    """
    return ", ".join(names) or "nothing"
