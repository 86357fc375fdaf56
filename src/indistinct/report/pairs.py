"""Pairs: named rows with one bar or two each, before and after, drawn as SVG; no drawing library is needed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from indistinct.showing.chart import FAINT, FONT, INK, PALETTE, svg_path, svg_text
from indistinct.showing.words import shorten

BEFORE, AFTER = "#8c8c8c", PALETTE[0]
"""The colours of the first and of the second bar; they differ in a grey print as well."""
TOP, FOOT = 34, 8
ROW, THICKNESS = 24, 13
PAIR_ROW, PAIR_THICKNESS = 34, 12
LETTER = 9.0
"""The width of a letter, about, and on the safe side."""
LONGEST = 26
"""Letters of a name that are shown; a longer one is cut."""


@dataclass(frozen=True, slots=True)
class Pairs:
    """Some rows with a name and a number each, or two numbers to be compared.

    Bars say their number and, if ``totals`` says what is 100 %, their share, which is then also their length.
    """

    title: str
    names: tuple[str, ...]
    after: tuple[float, ...]
    before: tuple[float, ...] | None = None
    totals: tuple[float, float] | None = None
    """What is 100 % of the first and of the second bars."""
    legend: tuple[str, str] = ("before", "after")
    is_before_alone: bool = False
    """The only bars are those of the private table: drawn in its colour."""

    def svg(self, width: int = 460) -> str:
        """Return the picture as an SVG document, as high as it must be."""
        row = ROW if self.before is None else PAIR_ROW
        height = TOP + (22 if self.before is not None else 0) + row * len(self.names) + FOOT
        parts = [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
            f'role="img" font-family="{FONT}" font-size="13" fill="{INK}">',
            f"<title>{escape(self.title)}</title><desc>{escape(self._describe())}</desc>",
            svg_text(0, 18, self.title, size=14, weight="600"),
        ]
        top = TOP
        if self.before is not None:
            parts += self._legend()
            top += 22
        left = min(LETTER * max([len(shorten(name, LONGEST)) for name in self.names], default=0), 0.45 * width) + 10
        room = width - left - LETTER * self._longest_figure() - 10
        for place, name in enumerate(self.names):
            middle = top + row * (place + 0.5)
            parts.append(svg_text(left - 10, middle + 4.5, shorten(name, LONGEST), anchor="end", size=13))
            parts += self._row(place, left, middle, room)
        parts.append(svg_path([(left, top), (left, top + row * len(self.names))], FAINT, 1))
        return "\n".join([*parts, "</svg>"]) + "\n"

    def _row(self, place: int, left: float, middle: float, room: float) -> list[str]:
        """Draw the bars of one row, each with its figure at its end."""
        if self.before is None:
            colour = BEFORE if self.is_before_alone else AFTER
            return self._bar(self.after[place], 1, left, middle, room, THICKNESS, colour)
        half = PAIR_THICKNESS / 2 + 1
        return [
            *self._bar(self.before[place], 0, left, middle - half, room, PAIR_THICKNESS, BEFORE),
            *self._bar(self.after[place], 1, left, middle + half, room, PAIR_THICKNESS, AFTER),
        ]

    def _bar(
        self, value: float, series: int, left: float, middle: float, room: float, thickness: int, colour: str
    ) -> list[str]:
        length = self._share(value, series) / self._greatest() * room
        parts = []
        if length >= 0.05:
            parts.append(
                f'<rect x="{left:.1f}" y="{middle - thickness / 2:.1f}" width="{max(length, 1):.1f}" '
                f'height="{thickness}" rx="1.5" fill="{colour}"/>'
            )
        return [*parts, svg_text(left + length + 6, middle + 4.5, self._figure(value, series), size=12, fill=FAINT)]

    def _share(self, value: float, series: int) -> float:
        return value if self.totals is None else value / max(1, self.totals[series])

    def _greatest(self) -> float:
        shares = [self._share(value, 1) for value in self.after]
        shares += [self._share(value, 0) for value in self.before or ()]
        return max(shares, default=0) or 1

    def _figure(self, value: float, series: int) -> str:
        """Return the number of a bar, and its share if there is a total."""
        written = f"{value:,.0f}"
        return written if self.totals is None or not value else f"{written} · {100 * self._share(value, series):.1f} %"

    def _longest_figure(self) -> int:
        return max(
            [len(self._figure(value, 1)) for value in self.after]
            + [len(self._figure(value, 0)) for value in self.before or ()],
            default=0,
        )

    def _legend(self) -> list[str]:
        """Say what the two colours mean."""
        parts, left = [], 0.0
        for colour, meaning in zip((BEFORE, AFTER), self.legend, strict=True):
            parts.append(f'<rect x="{left:.1f}" y="{TOP - 6}" width="12" height="12" rx="1.5" fill="{colour}"/>')
            parts.append(svg_text(left + 18, TOP + 4.5, meaning, size=12, fill=FAINT))
            left += 18 + LETTER * len(meaning) + 20
        return parts

    def _describe(self) -> str:
        """Return the whole picture in words, for those who cannot see it."""
        rows = []
        for place, name in enumerate(self.names):
            figure = self._figure(self.after[place], 1)
            if self.before is not None:
                figure = f"{self.legend[0]} {self._figure(self.before[place], 0)}, {self.legend[1]} {figure}"
            rows.append(f"{name}: {figure}")
        return "; ".join(rows) or "nothing"


def visible_names(labels: Sequence[str]) -> tuple[str, ...]:
    """Return labels as names of rows, with what cannot be seen made visible.

    >>> visible_names(["a", " ", ""])
    ('a', '(blank)', '(blank)')
    """
    return tuple(label if label.strip() else "(blank)" for label in labels)
