"""``indistinct best-tables``: every k-anonymous table of greatest precision, to choose one from."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from indistinct.cli import show
from indistinct.cli.options import AsJson, PolicyPath, Reading, Table, TimeLimit, option
from indistinct.errors import OutputError
from indistinct.showing.numbers import figure
from indistinct.showing.words import counted

if TYPE_CHECKING:
    from indistinct.release import Release


def best_tables(
    policy_path: PolicyPath,
    table: Table,
    output: Annotated[
        Path | None, option("The folder of the release that --choose picks.", "--output", "-o", metavar="FOLDER")
    ] = None,
    choose: Annotated[int | None, option("Which of the tables to write, by its number.", min=1)] = None,
    *,
    reading: Reading,
    time_limit: TimeLimit = None,
    as_json: AsJson = False,
) -> None:
    """List every k-anonymous table of greatest precision, cell by cell, for some 15 to 20 rows (Sweeney 2002).

    Let one of them leave the house: two together say more than k-anonymity allows.
    """
    from indistinct.pipeline import best_tables as find
    from indistinct.policy.files.policy_file import read_policy

    if (output is None) != (choose is None):
        raise OutputError("say which table goes where: --choose NUMBER and --output FOLDER belong together")
    policy = read_policy(policy_path)
    with ExitStack() as opened:
        with show.progress(time_limit) as watch:
            found = find(table, policy, watch=watch, **reading.arguments())
        for release in found:
            opened.enter_context(release)
        if output is not None and choose is not None:
            if choose > len(found):
                raise OutputError(f"--choose {choose}: there are {counted(len(found), 'table')}")
            found[choose - 1].write(output)
        if as_json:
            written = None if output is None else str(output)
            show.document({"tables": [_describe(release) for release in found], "chosen": choose, "folder": written})
            return
        _print_tables(found)
    show.say("let only one of them leave the house: two together say more than k-anonymity allows")
    if output is not None:
        show.say(f"table {choose} was written to {output}", show.GOOD)
        show.next_steps(["verify", policy_path, output])


def _describe(release: Release) -> dict[str, Any]:
    """Return one of the tables as JSON takes it."""
    return {
        "precision": release.measures["precision"],
        "suppressed": release.suppressed,
        "rows": [{name: None if cell is None else str(cell) for name, cell in row.items()} for row in _rows(release)],
    }


def _rows(release: Release) -> list[dict[str, Any]]:
    """Return the rows of a release of a file, sorted, so that tables can be compared by eye."""
    rows: list[dict[str, Any]] = release.table.to_pylist()
    return sorted(rows, key=lambda row: [str(cell) for cell in row.values()])


def _print_tables(found: list[Release]) -> None:
    for number, release in enumerate(found, 1):
        precision = figure(release.measures["precision"])
        made = show.table(f"Table {number} of {len(found)}, precision {precision}", *release.table.column_names)
        for row in _rows(release):
            made.add_row(*("" if cell is None else str(cell) for cell in row.values()))
        show.out().print(made)
