"""The texts of a number: how the cells of a column of numbers may write one that is given as text."""

from __future__ import annotations

import re
from collections.abc import Iterable
from decimal import Decimal, InvalidOperation, localcontext

import numpy as np

MOST_DIGITS = 38
"""Decimals have at most so many digits, before and after the point."""


def cell_texts(texts: Iterable[str], *, are_numbers: bool) -> tuple[str, ...]:
    """Return all texts that cells equal to one of these may have; in a column of numbers they are compared as numbers.

    A float writes 999 as 999.0, and a decimal with two places as 999.00. In a column of texts, 999 and 999.0 differ.

    >>> cell_texts(["999", "?"], are_numbers=False)
    ('999', '?')
    >>> cell_texts(["999"], are_numbers=True)[:3]
    ('999', '999.0', '999.00')
    """
    if not are_numbers:
        return tuple(dict.fromkeys(texts))
    return tuple(dict.fromkeys(form for text in texts for form in (text, *_forms(text))))


def are_whole(texts: Iterable[str | None]) -> bool | None:
    """Return whether texts that are plain numbers are all whole ones; None if some are no plain numbers.

    >>> are_whole(["1200", None]), are_whole(["12.5", "-3"]), are_whole([">=90"]), are_whole([None])
    (True, False, None, None)
    """
    present = [text for text in texts if text is not None]
    if not present or not all(re.fullmatch(r"-?[0-9]{1,15}([.][0-9]{1,15})?", text) for text in present):
        return None
    return not any("." in text for text in present)


def _forms(text: str) -> Iterable[str]:
    """Return the texts that columns of numbers write for a number; none if it is no number."""
    try:
        number = Decimal(text.strip())
    except InvalidOperation:
        return
    if not number.is_finite():
        return
    with np.errstate(over="ignore"):  # too large for a column of such numbers: infinite, and equal to nothing
        floats = [repr(float(number)), repr(float(str(np.float32(float(number)))))]
    yield from (form for form in floats if Decimal(form) == number)
    if not number:
        yield "-0.0"
    with localcontext(prec=3 * MOST_DIGITS):
        for places in range(MOST_DIGITS + 1 if abs(number) < Decimal(10) ** MOST_DIGITS else 0):
            written = number.quantize(Decimal(1).scaleb(-places))
            if written == number:
                yield format(written if number else abs(written), "f")
