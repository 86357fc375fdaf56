"""``indistinct hierarchy``: the catalogue, listed, drawn and written, and hierarchies made of a table's own values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from indistinct.atomic_files import OWNER_ONLY, write_whole
from indistinct.cli import show
from indistinct.cli.command import CommandLine
from indistinct.cli.options import AsJson, Reading, Table, argument, option
from indistinct.cli.paths import refuse_place
from indistinct.errors import HierarchyError, PolicyError
from indistinct.showing.words import counted

if TYPE_CHECKING:
    from indistinct.hierarchy import Hierarchy

app = CommandLine(name="hierarchy", help="Show known hierarchies, or make one of the data.", no_args_is_help=True)

MAKERS = {
    "frequency": ("by_frequency", "shares"),
    "target": ("by_target", "parts"),
    "depth": ("equal_depth", "parts"),
    "prefix": ("balanced_prefixes", "parts"),
}
"""What a hierarchy of the data goes by: the function that makes it, and what says how coarse its levels are."""
Counted = dict[tuple[str | None, ...], int]
"""The rows of each combination of values."""


@dataclass(frozen=True, slots=True)
class Showing:
    """How a hierarchy is shown, and where it is written."""

    output: Annotated[
        Path | None,
        option("Write it as CSV, which levels reads.", "--output", "-o", metavar="FILE", show_default=False),
    ] = None
    most: Annotated[int, option("The most labels to show below another.", min=1)] = 20
    replace: Annotated[bool, option("Overwrite FILE.")] = False

    def refuse_place(self) -> None:
        """Raise if no hierarchy can be written where it should be."""
        if self.output is not None:
            refuse_place(self.output, "a hierarchy", [".csv"], replace=self.replace)

    def give(self, made: Hierarchy, as_json: bool, values: list[str] | None = None) -> None:
        """Draw a hierarchy, or print it as JSON, and write it if there is a place for it."""
        at_hand = sorted(set(values)) if values is not None and made.kind == "intervals" else None
        output = self.output
        if output is not None:
            write_whole(output, lambda path: made.write_csv(path, at_hand), mode=OWNER_ONLY)
        if as_json:
            written = None if output is None else str(output)
            show.document({"levels": list(made.level_names), "rows": made.table(at_hand), "written": written})
            return
        typer.echo(made.draw(at_hand, most=self.most))
        if output is not None:
            show.say(f'written; in a policy file: hierarchy = {{ levels = "{output.name}" }}', show.QUIET)


@app.callback()
def hierarchy() -> None:
    """Show known hierarchies, or make one of the data."""


@app.command("list")
def list_all(as_json: AsJson = False) -> None:
    """List the hierarchies that need not be written, with their levels and editions."""
    from indistinct.hierarchy.catalogue import CATALOGUE

    if as_json:
        show.document(
            {
                name: {"levels": list(kind.all_levels), "edition": kind.edition, "source": kind.source}
                for name, kind in CATALOGUE.items()
            }
        )
        return
    made = show.table("hierarchies of known codes", "name", "levels", "edition")
    for name, kind in CATALOGUE.items():
        made.add_row(name, ", ".join(kind.all_levels), kind.edition)
    show.out().print(made)
    show.say('in a policy file: hierarchy = { countries = true }, or { icd10 = ["block", "chapter"] }', show.QUIET)


@app.command("show")
def show_one(
    name: Annotated[str, argument("NAME", "One that `hierarchy list` names.")],
    levels: Annotated[
        list[str] | None, option("A level, finest first; repeat it.", "--level", show_default=False)
    ] = None,
    table: Annotated[str | None, option("Show it for the values of this table's column.", show_default=False)] = None,
    column: Annotated[str | None, option("The column of TABLE.", show_default=False)] = None,
    *,
    showing: Showing,
    reading: Reading,
    as_json: AsJson = False,
) -> None:
    """Draw a known hierarchy as a tree, or write it as CSV; for all its codes, or for a table's values.

    Values of the table that are no such codes go straight to the top of what is written, to be mended there.
    """
    from indistinct.hierarchy import levels as listed
    from indistinct.hierarchy.catalogue import CATALOGUE

    showing.refuse_place()
    if name not in CATALOGUE:
        raise HierarchyError(f"there is no hierarchy {name!r}; there are {', '.join(CATALOGUE)}")
    if (table is None) != (column is None):
        raise PolicyError("--table and --column: give both, or neither")
    made: Hierarchy = CATALOGUE[name].of(levels or (), "*")
    if table is not None and column is not None:
        texts = sorted(value for (value,) in _counts(table, [column], reading) if value is not None)
        known = [text for text in texts if CATALOGUE[name].of((), "*").path(text) is not None]
        unknown = [text for text in texts if text not in set(known)]
        made = listed([*made.table(known), *([text, *["*"] * (made.height or 1)] for text in unknown)])
        if unknown:
            show.say(f"{counted(len(unknown), 'value is', 'values are')} no such code, and stand below * alone")
    showing.give(made, as_json)


@app.command("from-data")
def from_data(
    table: Table,
    column: Annotated[str, argument("COLUMN", "The column to generalize.")],
    by: Annotated[str, option("frequency, target, depth (of numbers) or prefix.")] = "frequency",
    target: Annotated[
        str | None, option("The column that values are compared by, with --by target.", show_default=False)
    ] = None,
    parts: Annotated[
        str | None, option("Groups at each level, finest first: 16,8,4; shares of rows by frequency: 0.05,0.2.")
    ] = None,
    *,
    showing: Showing,
    reading: Reading,
    as_json: AsJson = False,
) -> None:
    """Make a hierarchy of a column's own values, and show it before it is used.

    What is written, and the labels of a release that uses it, tell something about the private table.
    """
    showing.refuse_place()
    if by not in MAKERS:
        raise PolicyError(f"--by: got {by!r}; there are {', '.join(MAKERS)}")
    if (by == "target") != (target is not None):
        raise PolicyError("--target: names the column that values are compared by, with --by target")
    found = _counts(table, [column] if target is None else [column, target], reading)
    made = _make(by, found, None if parts is None else _numbers(parts, by))
    showing.give(made, as_json, [value for value, *_ in found if value is not None])
    if not as_json:
        if made.kind == "intervals":
            show.say(f"in a policy file: hierarchy = {made.spec()}".replace("'intervals':", "intervals ="), show.QUIET)
        show.say("it tells of the private table which values are rare or alike, or where its numbers lie", show.QUIET)


def _make(by: str, found: Counted, sizes: Sequence[float] | None) -> Hierarchy:
    """Make a hierarchy of what was counted, as coarse as its sizes say, if any are said."""
    from indistinct import hierarchies

    name, coarseness = MAKERS[by]
    values: Any = found if by == "target" else {value: n for (value,), n in found.items() if value is not None}
    made: Hierarchy = getattr(hierarchies, name)(values, **({} if sizes is None else {coarseness: sizes}))
    return made


def _counts(table: str, columns: list[str], reading: Reading) -> Counted:
    """Count the rows of each value, or combination of values, of a table."""
    from indistinct.engine import use_table
    from indistinct.errors import TableError

    with use_table(table, **reading.arguments()) as rows:
        missing = [name for name in columns if name not in rows.columns()]
        if missing:
            raise TableError(f"{rows.name}: has no column {missing[0]!r}; it has {', '.join(rows.columns())}")
        with rows.encode(columns) as encoded:
            counts = encoded.count_by(columns)
            values = [encoded.values[name] for name in columns]
    codes = zip(*(column.tolist() for column in counts.codes), strict=True)
    return {
        tuple(values[place][code] for place, code in enumerate(row)): int(number)
        for row, number in zip(codes, counts.counts.tolist(), strict=True)
    }


def _numbers(text: str, by: str) -> list[int] | list[float]:
    try:
        words = text.split(",")
        return [float(word) for word in words] if by == "frequency" else [int(word) for word in words]
    except ValueError:
        raise PolicyError(f"--parts: lists numbers with commas between them, such as 16,8,4; got {text!r}") from None
