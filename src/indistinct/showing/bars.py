"""Bars: several figures of the same few things, one panel for each, drawn as SVG; no drawing library is needed."""

from __future__ import annotations

import math
from dataclasses import dataclass
from html import escape

from indistinct.showing.chart import FAINT, FONT, GRID, INK, PALETTE, Axis, number, svg_path, svg_text
from indistinct.showing.words import list_names, shorten

LEAST, USUAL, DOUBTFUL = PALETTE[0], PALETTE[5], PALETTE[1]
"""The colours of the least figure, of others, and of those in doubt; they differ in a grey print as well."""
TOP, MARGIN, GAP = 44, 24, 16
HEAD, ROW, FOOT = 34, 30, 34
"""The height of a panel's title, of each of its rows and of its axis, in pixels."""
THICKNESS = 16
NARROWEST = 150
"""The least pixels of a panel, which also has room for its title; those that do not fit beside the others go below."""
BOLD_LETTER = 7.5
LETTER = 8.3
"""The width of a letter of a name, about, and on the safe side."""
LONGEST = 30
"""Letters of a name that are shown; a longer one is cut."""
CLOSEST = 1e-6
"""Smaller figures are drawn at this place of a logarithmic axis."""


@dataclass(frozen=True, slots=True)
class Panel:
    """One figure of everything that is compared, by its place; None where there is none.

    Figures are drawn as bars from 0, or as dots on a logarithmic axis, which has no 0 for a bar to start at.
    """

    title: str
    values: tuple[float | None, ...]
    is_log: bool = False

    def axis(self) -> Axis:
        """Return the axis that holds all figures."""
        known = [value for value in self.values if value is not None]
        if self.is_log:
            reach = [max(value, CLOSEST) * factor for value in known for factor in (1 / 1.3, 1.3)]
            return Axis.over(reach, is_log=True, most=4)
        return Axis.over([0.0, *(known if any(known) else [1.0])], most=4)

    def least(self) -> float | None:
        """Return the least figure; None if all are the same."""
        known = {number(value) for value in self.values if value is not None}
        return min(value for value in self.values if value is not None) if len(known) > 1 else None


@dataclass(frozen=True, slots=True)
class Bars:
    """A picture with one row for each name, and one panel beside the other for each figure."""

    title: str
    names: tuple[str, ...]
    panels: tuple[Panel, ...]
    subtitle: str = ""
    notes: tuple[str, ...] = ()
    """What to write beside each name in place of figures, empty where there are some."""
    doubtful: frozenset[int] = frozenset()
    """The places of those whose figures do not count: drawn hollow, and never as the least."""
    doubt: str = ""
    """What a hollow bar means."""

    def svg(self, width: int = 1060) -> str:
        """Return the picture as an SVG document, as high as it must be."""
        left = MARGIN + LETTER * max([len(shorten(name, LONGEST)) for name in self.names], default=0) + 14
        needed = max([NARROWEST, *(BOLD_LETTER * len(panel.title) for panel in self.panels)]) + GAP
        most = max(1, int((width - left - MARGIN + GAP) // needed))
        across = math.ceil(len(self.panels) / math.ceil(len(self.panels) / most)) if self.panels else 1
        bands = [self.panels[start : start + across] for start in range(0, len(self.panels), across)]
        room = (width - left - MARGIN - GAP * (across - 1)) / across
        top = TOP + (22 if self.subtitle else 0)
        high = HEAD + ROW * len(self.names) + FOOT
        height = top + high * len(bands) + MARGIN + (14 if self.panels else 0)
        said = f"{self.title}: {list_names([panel.title for panel in self.panels])} of {list_names(self.names)}"
        parts = [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
            f'role="img" font-family="{FONT}" font-size="14" fill="{INK}">',
            f"<title>{escape(self.title)}</title><desc>{escape(said)}</desc>",
            f'<rect width="{width}" height="{height}" fill="#ffffff"/>',
            svg_text(MARGIN, 32, self.title, size=18, weight="600"),
            svg_text(MARGIN, 54, self.subtitle, size=13, fill=FAINT) if self.subtitle else "",
        ]
        for band, panels in enumerate(bands):
            at = top + band * high
            parts += self._names(left, at + HEAD, width)
            for position, panel in enumerate(panels):
                parts += self._panel(panel, left + position * (room + GAP), at, room)
        parts += self._legend(left, height - MARGIN + 4)
        return "\n".join([part for part in parts if part] + ["</svg>"]) + "\n"

    def _names(self, left: float, top: float, width: int) -> list[str]:
        """Write the names, a faint line below each, and what stands in place of figures."""
        parts = []
        for row, name in enumerate(self.names):
            middle = top + ROW * (row + 0.5)
            parts.append(svg_path([(MARGIN, top + ROW * (row + 1)), (width - MARGIN, top + ROW * (row + 1))], GRID, 1))
            parts.append(svg_text(left - 14, middle + 5, shorten(name, LONGEST), anchor="end"))
            if row < len(self.notes) and self.notes[row]:
                parts.append(svg_text(left + 7, middle + 5, self.notes[row], size=13, fill=FAINT))
        return parts

    def _panel(self, panel: Panel, left: float, top: float, room: float) -> list[str]:
        """Draw one panel: its title, its axis, and a bar or a dot with its figure for each row."""
        axis, least = panel.axis(), self._certain(panel).least()
        first, last = top + HEAD, top + HEAD + ROW * len(self.names)
        longest = max([len(number(value)) for value in panel.values if value is not None], default=0)
        length = room - LETTER * longest - 10  # the figures stand at the ends of the bars
        parts = [svg_text(left, top + HEAD - 12, panel.title, weight="600")]
        free = left - 100.0
        for tick in axis.ticks:
            at, half = left + axis.share(tick) * length, LETTER * len(number(tick)) / 2
            parts.append(svg_path([(at, first), (at, last)], GRID, 1))
            if at - half >= free:
                parts.append(svg_text(at, last + 18, number(tick), anchor="middle", size=12, fill=FAINT))
                free = at + half + 4
        parts.append(svg_path([(left, first), (left, last)], FAINT, 1.5))
        for row, value in enumerate(panel.values):
            if value is None:
                continue
            is_doubtful = row in self.doubtful
            is_least = not is_doubtful and least is not None and number(value) == number(least)
            colour = DOUBTFUL if is_doubtful else LEAST if is_least else USUAL
            inside = f'fill="{"#ffffff" if is_doubtful else colour}" stroke="{colour}" stroke-width="1.5"'
            middle = first + ROW * (row + 0.5)
            end = left + axis.share(max(value, CLOSEST) if panel.is_log else value) * length
            if panel.is_log:
                parts.append(f'<circle cx="{end:.1f}" cy="{middle:.1f}" r="6" {inside}/>')
            elif end - left >= 0.05:
                parts.append(
                    f'<rect x="{left:.1f}" y="{middle - THICKNESS / 2:.1f}" width="{end - left:.1f}" '
                    f'height="{THICKNESS}" {inside}/>'
                )
            weight = "600" if is_least else "400"
            parts.append(svg_text(end + (11 if panel.is_log else 7), middle + 5, number(value), size=13, weight=weight))
        return parts

    def _certain(self, panel: Panel) -> Panel:
        """Return a panel without the figures in doubt."""
        values = [None if row in self.doubtful else value for row, value in enumerate(panel.values)]
        return Panel(panel.title, tuple(values), panel.is_log)

    def _legend(self, left: float, at: float) -> list[str]:
        """Say what the colours mean, for those that occur."""
        if not self.panels:
            return []
        meanings = [(LEAST, LEAST, "least")] if any(self._certain(p).least() is not None for p in self.panels) else []
        meanings += [(DOUBTFUL, "#ffffff", self.doubt)] if self.doubtful and self.doubt else []
        parts = []
        for colour, inside, meaning in meanings:
            parts.append(
                f'<rect x="{left:.1f}" y="{at - 11:.1f}" width="12" height="12" fill="{inside}" '
                f'stroke="{colour}" stroke-width="1.5"/>'
            )
            parts.append(svg_text(left + 20, at, meaning, size=13, fill=FAINT))
            left += 20 + LETTER * len(meaning) + 24
        return parts
