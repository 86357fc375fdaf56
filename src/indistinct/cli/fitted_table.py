"""FittedTable: a table that cuts no word, however narrow the screen is; what does not fit is shown row by row."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions, RenderResult

UNLIMITED = 10_000


class FittedTable(Table):
    """A table whose columns are never narrower than their longest word.

    What is left of the width goes to the columns that could use it. Where even the longest words do not fit side by
    side, every row is a block of its own, a line for each column.
    """

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        wide = options.update(max_width=UNLIMITED)
        needs = [self._need(console, wide, place) for place in range(len(self.columns))]
        most, least = [need.maximum for need in needs], [need.minimum for need in needs]
        between = Table.__rich_measure__(self, console, wide).maximum - sum(most)
        room = options.max_width - between
        if sum(most) > room and sum(least) > room:
            yield from self._blocks()
            return
        if sum(most) > room:
            for column, width in zip(self.columns, share_room(least, most, room), strict=True):
                column.width = width
        yield from super().__rich_console__(console, options)

    def _need(self, console: Console, options: ConsoleOptions, place: int) -> Measurement:
        """Return the longest word and the longest line of a column."""
        column = self.columns[place]
        found = [Measurement.get(console, options, cell) for cell in (column.header, *column.cells)]
        return Measurement(max(one.minimum for one in found), max(one.maximum for one in found))

    def _blocks(self) -> RenderResult:
        if self.title:
            yield Text(str(self.title), style="bold")
        heads = [str(column.header) for column in self.columns]
        for number, cells in enumerate(zip(*(column.cells for column in self.columns), strict=True)):
            block = Table.grid(padding=(0, 2))
            block.add_column(style=self.header_style)
            block.add_column(style=self.rows[number].style or "")
            for head, cell in zip(heads, cells, strict=True):
                block.add_row(f"  {head}", cell)
            yield block
            yield Text("")


def share_room(least: list[int], most: list[int], room: int) -> list[int]:
    """Return widths that lie between least and most and take all the room there is, each its share of what it lacks.

    >>> share_room([3, 5, 4], [3, 45, 14], 37)
    [3, 25, 9]
    """
    spare, lacking = room - sum(least), sum(most) - sum(least)
    widths = [low + (high - low) * spare // lacking for low, high in zip(least, most, strict=True)]
    for place in range(len(widths)):
        widths[place] += min(room - sum(widths), most[place] - widths[place])
    return widths
