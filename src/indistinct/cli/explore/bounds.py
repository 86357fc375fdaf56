"""``indistinct bounds``: answers that hold for every table that a release could stem from."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from indistinct.cli import show
from indistinct.cli.options import AsJson, Reading, ReleasePath
from indistinct.showing.numbers import figure

if TYPE_CHECKING:
    pass

if TYPE_CHECKING:
    from indistinct.data_utility.sound_answers import SoundBounds


def bounds(
    release: ReleasePath,
    query: Annotated[
        str,
        typer.Argument(
            metavar="QUERY",
            help="count, mean(age), rate(ill=flu) or linear(paid ~ age); then 'where sex=f and age>=65', 'by sex'.",
            show_default=False,
        ),
    ],
    policy: Annotated[
        Path | None, typer.Option(metavar="POLICY", help="The policy, where labels do not say what they cover.")
    ] = None,
    between: Annotated[
        list[str] | None,
        typer.Option(metavar="COLUMN=LEAST:GREATEST", help="The numbers that are possible at all; may be repeated."),
    ] = None,
    whole: Annotated[list[str] | None, typer.Option(metavar="COLUMN", help="A column of whole numbers.")] = None,
    *,
    reading: Reading,
    as_json: AsJson = False,
) -> None:
    """Answer a question by an interval that is right whatever the original was.

    Needs the release alone: whoever was given it can ask.
    """
    from indistinct.data_utility.sound_answers import bounds as asked

    ends = dict(_between(one) for one in between or ())
    found = asked(release, query, policy, between=ends, whole=whole or (), **reading.arguments())
    show.either(found, _show, as_json)


def _between(text: str) -> tuple[str, tuple[float, float]]:
    """Return a column with the least and the greatest number that are possible there."""
    from indistinct.errors import PolicyError

    name, _, ends = text.rpartition("=")
    least, _, most = ends.partition(":")
    try:
        found = float(least), float(most)
    except ValueError:
        found = (0.0, 0.0)
    if not name or found[0] >= found[1]:
        raise PolicyError("--between: write it as COLUMN=LEAST:GREATEST, as age=0:120")
    return name, found


def _show(found: SoundBounds) -> None:
    heads = ("least", "greatest", "width")
    made = show.table(found.query, "of", *heads, "", right=heads)
    for one in (*found.answers, *found.differences):
        notes = [] if one.is_tight else ["not tight"]
        notes += ["or no row at all"] if one.may_be_undefined else []
        made.add_row(one.group or "all rows", figure(one.low), figure(one.high), figure(one.width), ", ".join(notes))
    show.out().print(made)
    show.say(f"right for every table that these {found.rows:,} rows could stem from", show.GOOD)
    if found.left_out:
        show.say(f"note: it says nothing of {found.left_out:,} rows that were left out", "yellow")
