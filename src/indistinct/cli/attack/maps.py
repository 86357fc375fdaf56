"""``indistinct attack maps``: how the rows of a release map to the people of a population."""

from __future__ import annotations

from typing import Annotated

import typer

from indistinct.cli import show
from indistinct.cli.attack.link import read_pairs
from indistinct.cli.options import AsJson, PolicyPath, Reading, ReleasePath
from indistinct.showing.numbers import figure


def maps(
    policy_path: PolicyPath,
    release: ReleasePath,
    population: Annotated[
        str,
        typer.Argument(metavar="POPULATION", help="A table of all people who could be meant.", show_default=False),
    ],
    on: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMN[=COLUMN]",
            help="A column to compare; after = its name in the population. Else all quasi columns of the same name.",
        ),
    ] = None,
    key: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN[=COLUMN]",
            help="The column of a draft that says whom a row is about; after = its name in the population.",
        ),
    ] = None,
    *,
    reading: Reading,
    as_json: AsJson = False,
) -> None:
    """Return how many people of a population each row fits: nobody, at least k, or only the wrong ones.

    Exit code 0 also with findings.
    """
    from indistinct.attacks.linking.maps import maps as map_rows
    from indistinct.policy.files.policy_file import read_policy

    report = map_rows(
        release,
        population,
        read_policy(policy_path),
        on=None if on is None else read_pairs(on),
        key=None if key is None else next(iter(read_pairs([key]).items())),
        **reading.arguments(),
    )
    if as_json:
        show.document(report.to_dict())
        return
    found = [
        ("rows", report.rows),
        ("people", report.people),
        ("every row surely fits", f"{figure(report.k)} people or more"),
        ("rows that fit nobody", report.null_rows),
    ]
    if report.right_rows is not None and report.wrong_rows is not None:
        found += [
            ("rows that fit their own person", report.right_rows),
            ("rows that fit others only", report.wrong_rows),
        ]
    show.out().print(show.facts(found))
    names = [name for name, holds in (("null-map", report.is_null_map), ("wrong-map", report.is_wrong_map)) if holds]
    show.say(f"the release is a {' and a '.join(names or [f'{report.k}-map'])}", "" if report.k else show.BAD)
    for note in report.notes:
        show.say(f"note: {note}", show.QUIET)
