"""``indistinct decode``: the labels of a release as numbers that pandas, R and any statistics program take."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from indistinct.atomic_files import write_whole
from indistinct.cli import show
from indistinct.cli.options import AsJson, Reading, ReleasePath, option
from indistinct.cli.paths import refuse_place

if TYPE_CHECKING:
    import pyarrow as pa


def decode(
    release: ReleasePath,
    output: Annotated[Path, option("Written there: .parquet or .csv.", "--output", "-o", metavar="FILE")],
    how: Annotated[
        str,
        option(
            "bounds: lowest, highest and middle beside each label; spread: means, and weights of categories; middle: "
            "middles and likeliest values; draw: one value for each cell."
        ),
    ] = "bounds",
    policy: Annotated[
        Path | None, option("The policy, where labels do not say what they cover.", metavar="POLICY")
    ] = None,
    seed: Annotated[int, option("Draws other values.", min=0)] = 0,
    replace: Annotated[bool, option("Replace the file if it exists.", "--replace")] = False,
    *,
    reading: Reading,
    as_json: AsJson = False,
) -> None:
    """Write a release with numbers in place of ranges.

    Made of the labels alone: whoever has the release can make it, or make it again to check it.
    """
    from indistinct.data_utility.decode import decode as decoded_of

    refuse_place(output, "a table", [".parquet", ".csv"], replace=replace)
    decoded = decoded_of(release, policy=policy, **reading.arguments())
    table = decoded.table(how, seed=seed)
    write_whole(output, lambda place: _write(table, place, output.suffix))
    if as_json:
        said = {"written": str(output), "rows": len(decoded), "columns": table.column_names, "how": how}
        show.document(said | {"notes": list(decoded.notes)})
        return
    show.say(f"{len(decoded):,} rows, {len(table.column_names)} columns: {', '.join(table.column_names)}")
    for note in decoded.notes:
        show.say(f"note: {note}", "yellow")
    show.say(f"written to {output}", show.GOOD)


def _write(table: pa.Table, place: Path, kind: str) -> None:
    if kind == ".csv":
        import pyarrow.csv

        pyarrow.csv.write_csv(table, place)
    else:
        import pyarrow.parquet

        pyarrow.parquet.write_table(table, place)
