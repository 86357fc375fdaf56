"""Words for messages."""

from __future__ import annotations


def counted(number: int, one: str, many: str | None = None) -> str:
    """Give a number with the words that fit it; the plural has an s if it is not given.

    >>> counted(1, "row"), counted(2000, "row"), counted(3, "value has", "values have")
    ('1 row', '2,000 rows', '3 values have')
    """
    return f"{number:,} {one if number == 1 else many or one + 's'}"
