"""Numbers read and written exactly, so that widths of 0.1 never drift."""

from __future__ import annotations

import re
from collections.abc import Iterable
from decimal import ROUND_FLOOR, Context, Decimal
from numbers import Integral, Real
from typing import Any

from indistinct.errors import HierarchyError
from indistinct.hierarchy.compiled import Labels, UnknownValues
from indistinct.showing.words import counted

NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
MOST_DIGITS = 400

# Wide enough for every product of an accepted value and an accepted scale: nothing is ever rounded.
EXACT = Context(prec=4 * MOST_DIGITS)


def exact(number: object, name: str) -> Decimal:
    """Return a number that was given to a builder, as it is written, or refuse it.

    >>> exact(0.1, "width"), exact(5, "width")
    (Decimal('0.1'), Decimal('5'))
    """
    is_number = isinstance(number, (Real, Decimal)) and not isinstance(number, bool)
    found = read_number(str(number)) if is_number else None
    if found is None:
        raise HierarchyError(f"{name} must be a number, got {number!r}")
    return Decimal(found)


def is_written_whole(number: object) -> bool:
    """Return whether a number was written without a decimal point.

    >>> is_written_whole(5), is_written_whole(5.0)
    (True, False)
    """
    return isinstance(number, Integral)


def read_number(text: str) -> Decimal | int | None:
    """Return the number that a text says, or None; spaces around it do not matter.

    >>> read_number(" 39"), read_number("39.0"), read_number("1e3"), read_number("abc")
    (39, Decimal('39.0'), Decimal('1E+3'), None)
    """
    text = text.strip()
    if len(text) > MOST_DIGITS or not text.isascii():
        return None
    if text.removeprefix("-").isdecimal():
        return int(text)
    if not NUMBER.fullmatch(text):
        return None
    number = Decimal(text)
    return number if -MOST_DIGITS < number.adjusted() < MOST_DIGITS else None


def read_numbers(values: Labels, *, whole: bool = False) -> list[Decimal | int | None]:
    """Return the number of each value, None for a missing one, and refuse values that are none.

    >>> read_numbers(["39", None, "40.0"], whole=True)
    [39, None, 40]
    """
    numbers: list[Decimal | int | None] = []
    unreadable, broken = [], []
    for code, value in enumerate(values):
        number = None if value is None else read_number(value)
        if number is None and value is not None:
            unreadable.append(code)
        elif whole and isinstance(number, Decimal):
            if number != number.to_integral_value():
                broken.append(code)
            number = int(number)
        numbers.append(number)
    if unreadable:
        raise UnknownValues(
            f"{counted(len(unreadable), 'value is not a number', 'values are not numbers')}; "
            "correct the table, or list the values with levels()",
            unreadable,
        )
    if broken:
        raise UnknownValues(
            f"{counted(len(broken), 'value is not a whole number', 'values are not whole numbers')}; "
            "write the widths with a decimal point, such as 5.0, for intervals of any number",
            broken,
        )
    return numbers


def decimal_places(numbers: Iterable[Decimal]) -> int:
    """Return how many decimal places write all the numbers exactly; none for whole numbers, also for tens.

    >>> decimal_places([Decimal("0.25"), Decimal("10")]), decimal_places([Decimal("100")])
    (2, 0)
    """
    exponents = (number.normalize(EXACT).as_tuple().exponent for number in numbers)
    return max([0, *(-exponent for exponent in exponents if isinstance(exponent, int))])


def floor_scaled(number: Decimal | int, scale: int) -> int:
    """Return the largest whole number that is not above ``number * scale``.

    >>> floor_scaled(Decimal("-0.25"), 10)
    -3
    """
    if isinstance(number, int):
        return number * scale
    return int(EXACT.multiply(number, Decimal(scale)).to_integral_value(ROUND_FLOOR, EXACT))


def plain(number: Decimal | int, places: int = 0) -> str:
    """Return the number, divided by ten to the power of ``places``, without exponent or idle zeros.

    >>> plain(250, 2), plain(Decimal("1E+3"))
    ('2.5', '1000')
    """
    text = format(EXACT.scaleb(Decimal(number), -places), "f")
    return text.rstrip("0").rstrip(".") if "." in text else text


def writable(number: Decimal, *, whole: bool) -> Any:
    """Return the number as TOML writes it: an int, a float that says the same, or else a text.

    >>> writable(Decimal(5), whole=True), writable(Decimal("0.1"), whole=False)
    (5, 0.1)
    """
    if whole:
        return int(number)
    return float(number) if Decimal(repr(float(number))) == number else plain(number)
