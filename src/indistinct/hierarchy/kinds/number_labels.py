"""Hierarchies of numbers: intervals, rounding, and top and bottom coding, all in exact arithmetic."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from decimal import ROUND_FLOOR, Context, Decimal
from functools import partial
from itertools import pairwise
from numbers import Integral, Real
from typing import Any

from indistinct.errors import HierarchyError
from indistinct.hierarchy.hierarchy import (
    MOST_DIGITS,
    Computed,
    Texts,
    UnknownValues,
    checked_top,
    each_once,
    read_number,
    top_name,
    top_option,
)
from indistinct.showing.words import counted

# Wide enough for every product of an accepted value and an accepted scale: nothing is ever rounded.
EXACT = Context(prec=4 * MOST_DIGITS)
Number = int | float | Decimal
Edges = tuple[int | None, int | None]


def intervals(
    *widths: Number | Sequence[Number],
    origin: Number = 0,
    low: Number | None = None,
    high: Number | None = None,
    top: str | None = "*",
) -> Intervals:
    """Return the hierarchy of ever wider intervals; each level is a width or a list of cut points.

    Each width is a multiple of the one before, counted from ``origin``; cut points are some of the boundaries of
    the level below, and only cut points follow cut points. Numbers written without a decimal point mean whole
    numbers, labelled ``20-24``; any other, also ``5.0``, means all numbers, labelled ``[20, 25)``. Values below
    ``low`` are labelled ``<low`` and values from ``high`` on ``>=high`` at every level above 0; intervals that
    reach across these bounds are cut there, so that the bounds need not be boundaries of the levels.

    >>> [intervals(5, 10, 20).label("39", level) for level in range(5)]
    ['39', '35-39', '30-39', '20-39', '*']
    >>> [intervals(5, 20, low=18, high=90).label(age, 2) for age in ("17", "19", "89", "93")]
    ['<18', '18-19', '80-89', '>=90']
    >>> [intervals([18, 40, 65], [40]).label("39", level) for level in range(4)]
    ['39', '18-39', '<40', '*']
    >>> intervals(0.1, 0.5).label("0.3", 1)
    '[0.3, 0.4)'
    """
    written = [origin, *(bound for bound in (low, high) if bound is not None)]
    levels: list[Decimal | tuple[Decimal, ...]] = []
    for width in widths:
        if isinstance(width, Sequence) and not isinstance(width, str):
            levels.append(tuple(exact(cut, "a cut point") for cut in width))
            written += width
        else:
            levels.append(exact(width, "a width"))
            written.append(width)
    return Intervals(
        tuple(levels),
        exact(origin, "origin"),
        None if low is None else exact(low, "low"),
        None if high is None else exact(high, "high"),
        all(map(is_written_whole, written)),
        checked_top(top),
    )


def rounding(*units: Number, top: str | None = "*") -> Rounding:
    """Return the hierarchy that rounds to the nearest multiple of ever larger units, halves up.

    Each level rounds the label of the level below, so that a label has one parent: with units 10 and 100, 45
    becomes 50 and then 100.

    >>> [rounding(10, 100).label("45", level) for level in range(4)]
    ['45', '50', '100', '*']
    """
    return Rounding(tuple(exact(unit, "a unit") for unit in units), checked_top(top))


def top_bottom(*bounds: tuple[Number | None, Number | None], top: str | None = "*") -> TopBottom:
    """Return the hierarchy that hides extreme values: each level is a pair of bounds, None for an open one.

    A value below the first is labelled ``<20``, one above the second ``>80``, and the others stay as they are.
    Each pair lies inside the one before.

    >>> [top_bottom((20, 80), (30, 70)).label("75", level) for level in range(4)]
    ['75', '75', '>70', '*']
    """
    for pair in bounds:
        if not isinstance(pair, (tuple, list)) or len(pair) != 2:
            raise HierarchyError(f"top_bottom: bounds come in pairs (bottom, top), got {pair!r}")
    return TopBottom(
        tuple(
            (
                None if bottom is None else exact(bottom, "a bound"),
                None if above is None else exact(above, "a bound"),
            )
            for bottom, above in bounds
        ),
        checked_top(top),
    )


@dataclass(frozen=True, slots=True, repr=False)
class Intervals(Computed):
    """Intervals of numbers; see ``intervals``."""

    kind = "intervals"
    main_option = "widths"

    widths: tuple[Decimal | tuple[Decimal, ...], ...]
    origin: Decimal
    low: Decimal | None
    high: Decimal | None
    is_whole: bool
    top: str | None

    def __post_init__(self) -> None:
        if not self.widths:
            raise HierarchyError("intervals: give at least one width, or list of cut points")
        if self.low is not None and self.high is not None and self.low >= self.high:
            raise HierarchyError(f"intervals: low {plain(self.low)} must lie below high {plain(self.high)}")
        for level in self.widths:
            if isinstance(level, tuple):
                if not level or any(after <= before for before, after in pairwise(level)):
                    raise HierarchyError("intervals: cut points must be one number or more, in rising order")
            elif level <= 0:
                raise HierarchyError(f"intervals: a width must be above 0, got {plain(level)}")
        for below, above in pairwise(self.widths):
            self._check_nesting(below, above)

    def _check_nesting(self, below: Decimal | tuple[Decimal, ...], above: Decimal | tuple[Decimal, ...]) -> None:
        if isinstance(above, tuple):
            strays = [cut for cut in above if not self._is_boundary(cut, below)]
            if strays:
                raise HierarchyError(f"intervals: the cut point {plain(strays[0])} is no boundary of the level below")
            if above == below:
                raise HierarchyError("intervals: a level must be coarser than the one below; leave out some cut points")
        elif isinstance(below, tuple):
            raise HierarchyError("intervals: a width cannot follow cut points; give cut points there, too")
        elif above <= below or not _is_multiple(above, below):
            raise HierarchyError(
                f"intervals: width {plain(above)} is no multiple of {plain(below)}; each width must be a "
                "multiple of the one before"
            )

    def _is_boundary(self, cut: Decimal, level: Decimal | tuple[Decimal, ...]) -> bool:
        if isinstance(level, tuple):
            return cut in level
        return _is_multiple(cut, level, self.origin)

    @property
    def level_names(self) -> tuple[str, ...]:
        """The width of each level, or the number of its ranges."""
        names = (
            f"{len(level) + 1} ranges" if isinstance(level, tuple) else f"{plain(level)} wide" for level in self.widths
        )
        return ("value", *names, *top_name(self.top))

    def options(self) -> dict[str, Any]:
        """Return the widths and every option that differs from its default."""
        write = partial(writable, whole=self.is_whole)
        given: dict[str, Any] = {
            "widths": [list(map(write, level)) if isinstance(level, tuple) else write(level) for level in self.widths]
        }
        bounds = {"origin": self.origin or None, "low": self.low, "high": self.high}
        given |= {name: write(bound) for name, bound in bounds.items() if bound is not None}
        return given | top_option(self.top)

    def climb(self, values: Texts) -> list[Texts]:
        """Return the interval of each value at each level."""
        places = self._places()
        numbers = read_numbers(values, whole=self.is_whole)
        # An interval is known by a number inside it, so that each level is found from the level below.
        inside = [None if number is None else floor_scaled(number, 10**places) for number in numbers]
        columns: list[Texts] = []
        for level in self.widths:
            find = self._finder(level, places)
            inside = each_once(partial(_representative, find), inside)
            columns.append(each_once(partial(self._label, places, find), inside))
        return columns

    def _places(self) -> int:
        widths = [cut for level in self.widths for cut in (level if isinstance(level, tuple) else (level,))]
        bounds = [bound for bound in (self.origin, self.low, self.high) if bound is not None]
        return decimal_places([*widths, *bounds])

    def _finder(self, level: Decimal | tuple[Decimal, ...], places: int) -> Callable[[int], Edges]:
        """Return the function from a scaled number to the edges of its interval, None for an open edge."""
        scale = 10**places
        low = None if self.low is None else floor_scaled(self.low, scale)
        high = None if self.high is None else floor_scaled(self.high, scale)
        if isinstance(level, tuple):
            find = partial(_between_cuts, [floor_scaled(cut, scale) for cut in level])
        else:
            find = partial(_of_width, floor_scaled(level, scale), floor_scaled(self.origin, scale))

        def edges_of_clipped(number: int) -> Edges:
            if low is not None and number < low:
                return None, low
            if high is not None and number >= high:
                return high, None
            start, end = find(number)
            if low is not None and (start is None or start < low):
                start = low
            if high is not None and (end is None or end > high):
                end = high
            return start, end

        return edges_of_clipped

    def _label(self, places: int, find: Callable[[int], Edges], number: int) -> str:
        start, end = find(number)
        if start is None:
            return f"<{plain(end or 0, places)}"
        if end is None:
            return f">={plain(start, places)}"
        if not self.is_whole:
            return f"[{plain(start, places)}, {plain(end, places)})"
        return f"{start}-{end - 1}" if start >= 0 else f"{start} to {end - 1}"


@dataclass(frozen=True, slots=True, repr=False)
class Rounding(Computed):
    """Rounded numbers; see ``rounding``."""

    kind = "rounding"
    main_option = "units"

    units: tuple[Decimal, ...]
    top: str | None

    def __post_init__(self) -> None:
        if not self.units:
            raise HierarchyError("rounding: give at least one unit")
        if self.units[0] <= 0 or any(after <= before for before, after in pairwise(self.units)):
            raise HierarchyError("rounding: units must be above 0 and rise from level to level")

    @property
    def level_names(self) -> tuple[str, ...]:
        """The unit of each level."""
        return ("value", *(f"nearest {plain(unit)}" for unit in self.units), *top_name(self.top))

    def options(self) -> dict[str, Any]:
        """Return the units and every option that differs from its default."""
        return {"units": [_shortest(unit) for unit in self.units]} | top_option(self.top)

    def climb(self, values: Texts) -> list[Texts]:
        """Return each value rounded at each level, from the label of the level below."""
        places = decimal_places(self.units)
        # In halves of the last decimal place, the middle between two multiples is a whole number.
        rounded = each_once(partial(floor_scaled, scale=2 * 10**places), read_numbers(values))
        columns: list[Texts] = []
        for unit in self.units:
            rounded = each_once(partial(_nearest, 2 * floor_scaled(unit, 10**places)), rounded)
            columns.append(each_once(lambda number: plain(number // 2, places), rounded))
        return columns


@dataclass(frozen=True, slots=True, repr=False)
class TopBottom(Computed):
    """Extreme values hidden; see ``top_bottom``."""

    kind = "top_bottom"
    main_option = "bounds"

    bounds: tuple[tuple[Decimal | None, Decimal | None], ...]
    top: str | None

    def __post_init__(self) -> None:
        if not self.bounds or any(pair == (None, None) for pair in self.bounds):
            raise HierarchyError("top_bottom: give at least one pair of bounds, and at least one bound in each")
        if any(bottom is not None and above is not None and bottom > above for bottom, above in self.bounds):
            raise HierarchyError("top_bottom: the bottom must not lie above the top")
        for outer, inner in pairwise(self.bounds):
            if inner == outer or not _lies_inside(inner, outer):
                raise HierarchyError("top_bottom: each pair of bounds must lie inside the one before")

    @property
    def level_names(self) -> tuple[str, ...]:
        """The bounds of each level."""
        return ("value", *(_range_name(*pair) for pair in self.bounds), *top_name(self.top))

    def options(self) -> dict[str, Any]:
        """Return the bounds, False for an open one, and every option that differs from its default."""
        bounds = [[False if bound is None else _shortest(bound) for bound in pair] for pair in self.bounds]
        return {"bounds": bounds} | top_option(self.top)

    def climb(self, values: Texts) -> list[Texts]:
        """Return each value, or the bound that it lies beyond, at each level."""
        numbers = read_numbers(values)
        columns: list[Texts] = []
        for bottom, above in self.bounds:
            column = list(values)
            for code, number in enumerate(numbers):
                if number is not None and bottom is not None and number < bottom:
                    column[code] = f"<{plain(bottom)}"
                elif number is not None and above is not None and number > above:
                    column[code] = f">{plain(above)}"
            columns.append(column)
        return columns


def _between_cuts(cuts: Sequence[int], number: int) -> Edges:
    position = bisect_right(cuts, number)
    return (cuts[position - 1] if position else None), (cuts[position] if position < len(cuts) else None)


def _of_width(width: int, origin: int, number: int) -> Edges:
    start = number - (number - origin) % width
    return start, start + width


def _is_multiple(number: Decimal, unit: Decimal, origin: Decimal = Decimal(0)) -> bool:
    scale = 10 ** decimal_places([number, unit, origin])
    return (floor_scaled(number, scale) - floor_scaled(origin, scale)) % floor_scaled(unit, scale) == 0


def _representative(find: Callable[[int], Edges], number: int) -> int:
    """Return the number that stands for the interval of ``number``: the lowest, or else the highest."""
    start, end = find(number)
    return start if start is not None else (end or 0) - 1


def _nearest(unit: int, number: int) -> int:
    return (2 * number + unit) // (2 * unit) * unit


def _lies_inside(inner: tuple[Decimal | None, Decimal | None], outer: tuple[Decimal | None, Decimal | None]) -> bool:
    bottom_fits = outer[0] is None or (inner[0] is not None and inner[0] >= outer[0])
    top_fits = outer[1] is None or (inner[1] is not None and inner[1] <= outer[1])
    return bottom_fits and top_fits


def _range_name(bottom: Decimal | None, above: Decimal | None) -> str:
    if bottom is None:
        return f"up to {plain(above or Decimal(0))}"
    return f"from {plain(bottom)}" if above is None else f"{plain(bottom)} to {plain(above)}"


def _shortest(number: Decimal) -> Any:
    return writable(number, whole=number == number.to_integral_value())


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


def read_numbers(values: Texts, *, whole: bool = False) -> list[Decimal | int | None]:
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
