"""``indistinct recoding``: the recoding of a release as a file, for apply or for other systems."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from indistinct.cli import show
from indistinct.cli.options import AsJson, PolicyPath, Reading, argument, option
from indistinct.cli.paths import refuse_place

KINDS = (".json", ".csv", ".sql")


def recoding(
    policy_path: PolicyPath,
    release: Annotated[Path, argument("RELEASE", "A folder that anonymize wrote, or a saved recoding.")],
    output: Annotated[Path, option("Where to write it: .json, .sql or .csv.", "--output", "-o", metavar="FILE")],
    values: Annotated[
        str | None,
        option(
            "Also map the values of this table; .sql and .csv need it where hierarchies list no values. The file is "
            "then as private as the table.",
            metavar="TABLE",
        ),
    ] = None,
    table: Annotated[str, option("What the table is called in .sql.")] = "table",
    replace: Annotated[bool, option("Replace the file.", "--replace")] = False,
    *,
    reading: Reading,
    as_json: AsJson = False,
) -> None:
    """Write the recoding of a release: .json for apply, or a mapping for other systems as SQL (CASE) or CSV.

    What a mapping makes is not counted, so it is no release.
    """
    from indistinct.atomic_files import write_whole
    from indistinct.pipeline.applying import mapping_of, saved_recoding_of
    from indistinct.policy.files.policy_file import read_policy

    refuse_place(output, "a recoding", KINDS, replace=replace)
    policy = read_policy(policy_path)
    saved = saved_recoding_of(release, policy)
    if output.suffix == ".json":
        saved.write(output)
    else:
        mapping = mapping_of(saved, policy, values, **reading.arguments())
        write_whole(output, mapping.sql(table) if output.suffix == ".sql" else mapping.csv())
    number = None if saved.groups is None else len(saved.groups)
    if as_json:
        show.document({"written": str(output), "levels": saved.levels, "groups": number, "name": saved.name})
        return
    what = "the level of each column" if number is None else f"the labels of {number:,} groups"
    show.say(f"{what} written to {output}", show.GOOD)
    if output.suffix != ".json":
        show.say("what a mapping makes is not counted: release rows with apply", "yellow")
