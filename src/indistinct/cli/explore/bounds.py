"""``indistinct bounds``: answers that hold for every table that a release could stem from."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from indistinct.cli import show
from indistinct.cli.options import AsJson, Reading, ReleasePath, argument, option
from indistinct.showing.numbers import figure

if TYPE_CHECKING:
    from indistinct.data_utility.sound_answers import SoundBounds


def bounds(
    release: ReleasePath,
    query: Annotated[
        str,
        argument(
            "QUERY", "count, mean(age), rate(ill=flu) or linear(paid ~ age); then 'where sex=f and age>=65', 'by sex'."
        ),
    ],
    policy: Annotated[
        Path | None, option("The policy, where labels do not say what they cover.", metavar="POLICY")
    ] = None,
    between: Annotated[
        list[str] | None,
        option("What is possible at all, as age=0:120 or sex=f,m; may be repeated.", metavar="COLUMN=…"),
    ] = None,
    whole: Annotated[list[str] | None, option("A column of whole numbers.", metavar="COLUMN")] = None,
    *,
    with_left_out: Annotated[
        bool, option("Count the rows that were left out, each as anything.", "--with-left-out")
    ] = False,
    reading: Reading,
    as_json: AsJson = False,
) -> None:
    """Answer a question by an interval that is right whatever the original was.

    Needs the release alone: whoever was given it can ask.
    """
    from indistinct.data_utility.sound_answers import bounds as asked

    ends = dict(_between(one) for one in between or ())
    found = asked(
        release, query, policy, between=ends, whole=whole or (), with_left_out=with_left_out, **reading.arguments()
    )
    show.either(found, _show, as_json)


def _between(text: str) -> tuple[str, tuple[float, float] | list[str]]:
    """Return a column with the least and the greatest number, or all values, that are possible there."""
    from indistinct.errors import PolicyError

    name, _, said = text.partition("=")
    least, is_range, most = said.partition(":")
    values = [one.strip() for one in said.split(",")]
    try:
        found = float(least), float(most or "nan")
    except ValueError:
        is_range = ""
    if not name or not all(values) or (is_range and not found[0] < found[1]):
        raise PolicyError("--between: write it as COLUMN=LEAST:GREATEST or COLUMN=VALUE,VALUE, as age=0:120 or sex=f,m")
    return name, found if is_range else values


def _show(found: SoundBounds) -> None:
    heads = ("least", "greatest", "width")
    made = show.table(found.query, "of", *heads, "", right=heads)
    for one in (*found.answers, *found.differences):
        notes = [] if one.is_tight else ["not tight"]
        notes += ["or undefined"] if one.may_be_undefined else []
        if one.reached is not None:
            notes.append("some tables reach " + " and ".join(map(figure, one.reached)))
        made.add_row(one.group or "all rows", figure(one.low), figure(one.high), figure(one.width), ", ".join(notes))
    show.out().print(made)
    show.say(f"right for every table that these {found.rows:,} rows could stem from", show.GOOD)
    if found.is_wide:
        show.say("note: some of these bounds are wider than any table reaches, as far as a search found", "yellow")
    if found.left_out:
        show.say(f"note: it says nothing of {found.left_out:,} rows that were left out", "yellow")
