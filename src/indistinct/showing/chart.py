"""Chart: a small line chart, drawn as SVG for files and as text for terminals; no drawing library is needed."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from html import escape
from itertools import pairwise

from indistinct.showing.words import list_names

PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
"""Okabe and Ito's colours, which people with any colour vision can tell apart; without yellow, too light for a line."""
SHAPES = ("circle", "square", "triangle", "diamond")
"""Marks differ as well, so that a grey print can be read."""
CORNERS = {
    "square": ((-4.0, -4.0), (4.0, -4.0), (4.0, 4.0), (-4.0, 4.0)),
    "triangle": ((0.0, -5.5), (5.0, 4.0), (-5.0, 4.0)),
    "diamond": ((0.0, -5.5), (5.5, 0.0), (0.0, 5.5), (-5.5, 0.0)),
}
FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'DejaVu Sans', sans-serif"
INK, FAINT, GRID = "#1a1a1a", "#595959", "#e3e3e3"
TOP, BOTTOM, LEFT, RIGHT = 58, 62, 92, 28
"""The margins of the drawing, in pixels; the legend comes on top of the right one."""
BRAILLE = ((0x01, 0x08), (0x02, 0x10), (0x04, 0x20), (0x40, 0x80))
"""The bit of each dot of a braille character, by row and column."""

Piece = tuple[str, int | None]
"""Some text, and the number of the line it belongs to, None for axes."""


@dataclass(frozen=True, slots=True)
class Line:
    """A named line through points (x, y), x rising."""

    name: str
    points: tuple[tuple[float, float], ...]


@dataclass(frozen=True, slots=True)
class Axis:
    """A range of numbers that ends at ticks, and where each of them lies in it."""

    low: float
    high: float
    is_log: bool
    ticks: tuple[float, ...]

    @classmethod
    def over(cls, numbers: Sequence[float], is_log: bool = False, most: int = 7) -> Axis:
        """Return an axis that holds all numbers, with at most about ``most`` ticks.

        >>> Axis.over([0.31, 0.62]).ticks
        (0.3, 0.4, 0.5, 0.6, 0.7)
        >>> Axis.over([2, 100], is_log=True).ticks
        (2.0, 5.0, 10.0, 20.0, 50.0, 100.0)
        """
        low, high = (min(numbers), max(numbers)) if numbers else (1.0, 10.0)
        if is_log:
            ticks = _log_ticks(low, high, most)
            return cls(min(low, ticks[0]), max(high, ticks[-1]), True, ticks)
        ticks = _linear_ticks(low, high, most)
        return cls(ticks[0], ticks[-1], False, ticks)

    def share(self, number: float) -> float:
        """Return where a number lies: 0 at the axis's start, 1 at its end."""
        low, high, at = (math.log(n) if self.is_log else n for n in (self.low, self.high, number))
        return (at - low) / (high - low) if high > low else 0.5


@dataclass(frozen=True, slots=True)
class Chart:
    """Some lines over one pair of axes. Numbers on a logarithmic axis must be positive."""

    title: str
    x_label: str
    y_label: str
    lines: tuple[Line, ...]
    is_log_x: bool = False
    is_log_y: bool = False
    legend: str = ""
    """What the lines' names mean."""
    chosen: tuple[float, float] | None = None
    """A point to be ringed."""
    chosen_name: str = ""
    is_whole_x: bool = False
    """The numbers of the horizontal axis count something, so nothing lies between whole ones."""

    def axes(self) -> tuple[Axis, Axis]:
        """Return the axes that hold every point."""
        points = [point for line in self.lines for point in line.points]
        points += [] if self.chosen is None else [self.chosen]
        x, y = [point[0] for point in points], [point[1] for point in points]
        across = Axis.over(x, self.is_log_x, 9)
        if self.is_whole_x:
            across = replace(across, ticks=tuple(tick for tick in across.ticks if tick.is_integer()))
        return across, Axis.over(y, self.is_log_y)

    def svg(self, width: int = 900, height: int = 500) -> str:
        """Return the chart as an SVG document."""
        x, y = self.axes()
        room = max(7.2 * len(self.legend) + 4, 44 + 7.5 * max([len(line.name) for line in self.lines], default=0))
        right, bottom = width - RIGHT - room, height - BOTTOM

        def place(point: tuple[float, float]) -> tuple[float, float]:
            return LEFT + x.share(point[0]) * (right - LEFT), bottom - y.share(point[1]) * (bottom - TOP)

        names = list_names(line.name for line in self.lines)
        said = f"{self.title}: {self.y_label} over {self.x_label}, one line each for {names}"
        if self.chosen is not None:
            said += f"; {self.chosen_name} at {number(self.chosen[0])} and {number(self.chosen[1])}"
        parts = [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
            f'role="img" font-family="{FONT}" font-size="14" fill="{INK}">',
            f"<title>{escape(self.title)}</title><desc>{escape(said)}</desc>",
            f'<rect width="{width}" height="{height}" fill="#ffffff"/>',
            svg_text(LEFT, 32, self.title, size=18, weight="600"),
        ]
        for tick in y.ticks:
            _, at = place((x.low, tick))
            parts.append(svg_path([(LEFT, at), (right, at)], GRID, 1))
            parts.append(svg_text(LEFT - 10, at + 5, number(tick), anchor="end", fill=FAINT))
        for tick in x.ticks:
            at, _ = place((tick, y.low))
            parts.append(svg_path([(at, bottom), (at, bottom + 6)], FAINT, 1))
            parts.append(svg_text(at, bottom + 23, number(tick), anchor="middle", fill=FAINT))
        parts.append(svg_path([(LEFT, bottom), (right, bottom)], FAINT, 1.5))
        parts.append(svg_text((LEFT + right) / 2, height - 14, self.x_label, anchor="middle"))
        middle = (TOP + bottom) / 2
        turn = f"rotate(-90 {24:.1f} {middle:.1f})"
        parts.append(svg_text(24, middle, self.y_label, anchor="middle", transform=turn))
        parts.append(svg_text(right + 22, TOP + 13, self.legend, size=13, fill=FAINT))
        for position, line in enumerate(self.lines):
            colour = PALETTE[position % len(PALETTE)]
            dots = [place(point) for point in line.points]
            dashes = "" if position < len(PALETTE) else "7 4"
            thickness = 2.2 + 0.6 * (len(self.lines) - 1 - position)  # a line below others shows at their sides
            parts.append(svg_path(dots, colour, thickness, dashes))
            if len(dots) <= 40:
                parts += [_mark(dot, position, colour) for dot in dots]
            at = TOP + 10 + 26 * (position + bool(self.legend))
            parts.append(svg_path([(right + 22, at), (right + 48, at)], colour, 2.5, dashes))
            parts.append(_mark((right + 35, at), position, colour))
            parts.append(svg_text(right + 56, at + 5, line.name))
        parts += [] if self.chosen is None else self._ring(place(self.chosen), right)
        return "\n".join([*parts, "</svg>"]) + "\n"

    def _ring(self, at: tuple[float, float], right: float) -> list[str]:
        """Draw a ring around the chosen point, with its name on the side that has room."""
        (x, y), room = at, 8 * len(self.chosen_name) + 20
        side, anchor = (16, "start") if x + room < right else (-16, "end")
        return [
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="10" fill="none" stroke="{INK}" stroke-width="2.5"/>',
            svg_text(
                x + side,
                y - 12,
                self.chosen_name,
                anchor=anchor,
                weight="600",
                paint_order="stroke",  # white around the letters, which stand on lines
                stroke="#ffffff",
                stroke_width="4",
            ),
        ]

    def text(self, width: int = 76, height: int = 14) -> list[list[Piece]]:
        """Return the chart as lines of text: braille dots between the axes, and each line's name at its end."""
        x, y = self.axes()
        labels = {round((1 - y.share(tick)) * (height - 1)): number(tick) for tick in y.ticks}
        margin = max(map(len, labels.values())) + 2
        columns = max(8, width - margin - 2 - max([len(line.name) for line in self.lines], default=0))
        dots = [[0] * columns for _ in range(height)]
        owner: list[list[int | None]] = [[None] * columns for _ in range(height)]
        names: dict[int, int] = {}
        for position, line in enumerate(self.lines):
            places = [
                (round(x.share(a) * (2 * columns - 1)), round((1 - y.share(b)) * (4 * height - 1)))
                for a, b in line.points
            ]
            for across, down in _walk(places):
                dots[down // 4][across // 2] |= BRAILLE[down % 4][across % 2]
                owner[down // 4][across // 2] = position
            if places:
                wanted = places[-1][1] // 4
                free = [row for row in range(height) if row not in names]
                if free:
                    names[min(free, key=lambda row: abs(row - wanted))] = position
        drawn: list[list[Piece]] = []
        for row in range(height):
            pieces: list[Piece] = [(f"{labels.get(row, ''):>{margin - 1}} {'┤' if row in labels else '│'}", None)]
            pieces += [(chr(0x2800 + dot) if dot else " ", who) for dot, who in zip(dots[row], owner[row], strict=True)]
            if row in names:
                pieces.append((f" {self.lines[names[row]].name}", names[row]))
            drawn.append(pieces)
        drawn.append([(f"{'':{margin}}└{'─' * columns}", None)])
        drawn.append([(f"{'':{margin}} {_tick_line(x, columns)}", None)])
        return drawn


def number(value: float) -> str:
    """Return a number of an axis, short.

    >>> number(0.25), number(2000), number(7_220_555), number(30_000), number(0)
    ('0.25', '2,000', '7.22 M', '30 k', '0')
    """
    for size, sign in ((1e9, " G"), (1e6, " M"), (1e4, " k")):
        if abs(value) >= size:
            return f"{value / (1e3 if size == 1e4 else size):.3g}{sign}"
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def _linear_ticks(low: float, high: float, most: int) -> tuple[float, ...]:
    """Return round numbers at equal distances, from at or below the lowest to at or above the highest number."""
    if high <= low:
        low, high = low - (abs(low) or 1.0) / 10, high + (abs(high) or 1.0) / 10
    rough = (high - low) / (most - 1)
    scale = 10.0 ** math.floor(math.log10(rough))
    step = next(scale * factor for factor in (1, 2, 5, 10) if scale * factor >= rough * (1 - 1e-9))
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return tuple(float(f"{n * step:.12g}") for n in range(first, last + 1))


def _log_ticks(low: float, high: float, most: int) -> tuple[float, ...]:
    """Return the round numbers between the lowest and the highest one; around them if there are too few."""
    exponents = range(math.floor(math.log10(low)) - 1, math.ceil(math.log10(high)) + 2)
    for factors in ((1, 2, 5), (1, 3), (1,)):
        ticks = [float(f"{factor * 10.0**exponent:.12g}") for exponent in exponents for factor in factors]
        inside = [tick for tick in ticks if low <= tick <= high]
        if len(inside) <= most:
            break
    if len(inside) >= 2:
        return tuple(inside)
    return max(tick for tick in ticks if tick <= low), min(tick for tick in ticks if tick > high)


def _walk(places: Sequence[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Return every dot on the straight lines between places."""
    yield from places[:1]
    for (a, b), (c, d) in pairwise(places):
        steps = max(abs(c - a), abs(d - b), 1)
        for step in range(1, steps + 1):
            yield round(a + (c - a) * step / steps), round(b + (d - b) * step / steps)


def _tick_line(axis: Axis, columns: int) -> str:
    """Write an axis's ticks below it, as many as there is room for."""
    written = [" "] * columns
    free = 0
    for tick in axis.ticks:
        label = number(tick)
        start = max(0, min(columns - len(label), round(axis.share(tick) * (columns - 1)) - len(label) // 2))
        if start >= free:
            written[start : start + len(label)] = label
            free = start + len(label) + 1
    return "".join(written).rstrip()


def svg_text(
    x: float,
    y: float,
    text: str,
    *,
    anchor: str = "start",
    size: int = 14,
    weight: str = "400",
    fill: str = INK,
    **more: str,
) -> str:
    """Write a text as SVG, with more attributes if need be: ``stroke_width`` is written ``stroke-width``."""
    attributes = "".join(f' {name.replace("_", "-")}="{value}"' for name, value in more.items())
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{size}" font-weight="{weight}" '
        f'fill="{fill}"{attributes}>{escape(text)}</text>'
    )


def svg_path(points: Sequence[tuple[float, float]], colour: str, width: float, dashes: str = "") -> str:
    """Write a line through some points as SVG."""
    if not points:
        return ""
    steps = " L".join(f"{x:.1f} {y:.1f}" for x, y in points)
    dashed = f' stroke-dasharray="{dashes}"' if dashes else ""
    return f'<path d="M{steps}" fill="none" stroke="{colour}" stroke-width="{width}" stroke-linejoin="round"{dashed}/>'


def _mark(at: tuple[float, float], position: int, colour: str) -> str:
    """Draw the mark of a line: its shape tells lines apart without colour."""
    (x, y), shape = at, SHAPES[position % len(SHAPES)]
    style = f'fill="{colour}" stroke="#ffffff" stroke-width="1.2"'
    if shape == "circle":
        return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4.5" {style}/>'
    points = " ".join(f"{x + a:.1f},{y + b:.1f}" for a, b in CORNERS[shape])
    return f'<polygon points="{points}" {style}/>'
