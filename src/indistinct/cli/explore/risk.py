"""``indistinct risk``: how exposed the people of a table are, and by which columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from indistinct.cli import show
from indistinct.cli.options import AsJson, Reading, option
from indistinct.cli.paths import Tables, only_table, tables_given
from indistinct.showing.numbers import figure, percent
from indistinct.showing.words import counted

if TYPE_CHECKING:
    from rich.table import Table as Shown

    from indistinct.disclosure_risk import Risk, RowRisk, Unicity
    from indistinct.policy import Policy

SHOWN = 6
"""Columns of a set that are named."""
SETS = 40
"""Sets of columns that are listed."""
SIZES = (1, 2, 3, 5, 10, 20, 50, 100, 1000)
"""Where the bars of the distribution of group sizes begin."""


def risk(
    tables: Tables,
    quasi: Annotated[
        list[str] | None,
        option("A column that others may know. Else the policy's, or those that look so.", metavar="COLUMN"),
    ] = None,
    policy: Annotated[Path | None, option("A policy file, for its quasi columns.", metavar="POLICY")] = None,
    person: Annotated[
        list[str] | None,
        option("A column that says whose row it is: count people. Else the policy's.", metavar="COLUMN"),
    ] = None,
    population: Annotated[
        str | None, option("How many people the table was drawn from, or a table of them.", metavar="NUMBER|TABLE")
    ] = None,
    weights: Annotated[
        str | None, option("A column that says for how many people each row stands.", metavar="COLUMN")
    ] = None,
    threshold: Annotated[
        float, option("Count records with a larger chance to be found as at risk.", min=0, max=1)
    ] = 0.2,
    most: Annotated[int, option("The most columns of a set that is looked at.", min=0)] = 3,
    nearly: Annotated[float, option("The share of rows alone that is nearly all.", min=0, max=1)] = 0.95,
    row: Annotated[
        int | None, option("Why is this row at risk, and what would help? Shows its cells.", min=1, metavar="NUMBER")
    ] = None,
    *,
    reading: Reading,
    as_json: AsJson = False,
) -> None:
    """Show how exposed the people of a table are to somebody who knows some of its columns.

    Works on a private table, before anything is done to it, and on a release.
    """
    from indistinct.disclosure_risk import risk as measured
    from indistinct.policy.files.policy_file import read_policy

    asked = None if policy is None else read_policy(policy)
    given = only_table(tables) if asked is None else tables_given(asked, tables)
    if row is not None:
        others = {"--quasi": quasi, "--person": person, "--population": population, "--weights": weights}
        _explain(given, asked, row, others, reading, as_json)
        return
    with show.progress() as watch:
        found = measured(
            given,
            quasi,
            policy=asked,
            person=person,
            population=int(population) if population is not None and population.isdecimal() else population,
            weights=weights,
            threshold=threshold,
            most=most,
            nearly=nearly,
            watch=watch,
            **reading.arguments(),
        )
    show.either(found, _show, as_json)


def _explain(
    table: Any, policy: Policy | None, row: int, others: Mapping[str, object], reading: Reading, as_json: bool
) -> None:
    """Show why one row is at risk; without a policy, by the one that the table's profile suggests."""
    from indistinct.disclosure_risk import explain_row
    from indistinct.errors import PolicyError
    from indistinct.pipeline.suggesting import suggested_policy
    from indistinct.profiling import profile

    if said := [name for name, value in others.items() if value]:
        raise PolicyError(f"{' and '.join(said)}: not with --row; a policy says what is asked of a row, see --policy")
    with show.progress() as watch:
        if policy is None:
            policy = suggested_policy(profile(table, watch=watch, **reading.arguments()), diverse=False)
        found = explain_row(table, policy, row, **reading.arguments())
    show.either(found, _show_row, as_json)


def _show_row(found: RowRisk) -> None:
    from indistinct.disclosure_risk import in_words
    from indistinct.hierarchy import label_text

    console = show.out()
    heads = (f"{found.noun} that share it",)
    made = show.table(f"Row {found.row}", "column", "cell", *heads, right=heads)
    for name, cell in found.cells.items():
        made.add_row(name, label_text(cell), figure(found.shares[name]))
    console.print(made)
    if found.singled_out_by:
        made = show.table("What singles it out", "columns", *heads, right=heads)
        for one in found.singled_out_by:
            made.add_row(", ".join(one.columns), figure(one.size))
        console.print(made)
    if found.remedies:
        made = show.table("What would help", "column", "level", "is", "cell", *heads, right=heads)
        for place, remedy in enumerate(found.remedies):
            if place:
                made.add_section()
            for step in remedy.steps:
                made.add_row(step.column, str(step.level), step.level_name, label_text(step.label), figure(remedy.size))
        console.print(made)
    first, *_ = in_words(found)
    show.say(first, show.BAD if found.is_at_risk else show.GOOD)
    for note in found.notes:
        show.say(f"note: {note}", show.QUIET)


def _show(found: Risk) -> None:
    console = show.out()
    console.print(_risks(found))
    console.print(_sizes(found))
    if found.unique or found.nearly_unique:
        console.print(_combinations(found))
    if found.unicity is not None:
        console.print(_unicity(found.unicity))
    if found.safe_harbor:
        console.print(_safe_harbor(found))
    share = percent(found.uniques / max(1, found.records))
    one, many = ("row stands", "rows stand") if found.people is None else ("person stands", "people stand")
    show.say(
        f"{counted(found.uniques, one, many)} alone ({share})",
        show.BAD if found.uniques else show.GOOD,
    )
    if found.estimate is not None:
        show.say(
            f"of {found.estimate.population:,} people about {found.estimate.population_uniques:,.0f} stand alone "
            f"({found.estimate.chosen}; {_estimators(found)})"
        )
    for note in found.notes:
        show.say(f"note: {note}", show.QUIET)


def _estimators(found: Risk) -> str:
    """Return what each estimator says."""
    uniques = {} if found.estimate is None else found.estimate.uniques
    return ", ".join(f"{name} {'none' if value is None else f'{value:,.0f}'}" for name, value in uniques.items())


def _risks(found: Risk) -> Shown:
    """Return the risks by three kinds of adversary."""
    records = "records" if found.people is None else "people"
    heads = ("highest", "average", f"{records} above {found.threshold:g}")
    made = show.table(found.title, "risk", *heads, "the adversary", right=heads)
    lines = [("prosecutor", found.prosecutor, "knows that somebody is in the table")]
    if found.journalist is not None:
        lines.append(("journalist", found.journalist, "does not know it"))
    for name, exposure, who in lines:
        figures = (figure(exposure.highest), figure(exposure.average), percent(exposure.at_risk))
        made.add_row(name, *figures, who + (", estimated" if name == "journalist" and found.is_estimated else ""))
    made.add_row("marketer", "", figure(found.marketer), "", "wants as many as possible")
    return made


def _sizes(found: Risk) -> Shown:
    """Return how many groups there are of each size, and the rows or people in them; who is in several counts in
    each.
    """
    heads = (f"{found.noun} in a group", "groups", found.noun)
    made = show.table("Group sizes", *heads, right=heads)
    for start, end in zip(SIZES, [*SIZES[1:], None], strict=True):
        inside = {size: number for size, number in found.sizes.items() if size >= start and (end is None or size < end)}
        if inside:
            name = f"{start} or more" if end is None else str(start) if end == start + 1 else f"{start}-{end - 1}"
            rows = sum(size * number for size, number in inside.items())
            made.add_row(name, figure(sum(inside.values())), figure(rows))
    return made


def _combinations(found: Risk) -> Shown:
    """Return the smallest sets of columns that identify."""
    heads = (f"{found.noun} alone", "share")
    made = show.table("Columns that identify", "columns", *heads, right=heads)
    sets = (*found.unique, *found.nearly_unique)
    for one in sets[:SETS]:
        made.add_row(", ".join(one.columns), figure(one.alone), percent(one.share))
    if len(sets) > SETS:
        made.add_row(f"… {len(sets) - SETS:,} more (--json has them all)", "", "", style=show.QUIET)
    return made


def _unicity(found: Unicity) -> Shown:
    """Return how many rows stand alone to whoever knows any few cells."""
    heads = ("cells known" if found.unit == "rows" else "columns known", f"{found.unit} alone", "at worst")
    made = show.table(f"Any few of all {len(found.columns)} columns", *heads, "by", right=heads)
    for one in found.known:
        made.add_row(figure(one.cells), percent(one.mean), percent(one.worst), _few(one.columns))
    return made


def _few(columns: Sequence[str]) -> str:
    """Name some columns, and say how many more there are."""
    return (
        ", ".join(columns) if len(columns) <= SHOWN else f"{', '.join(columns[:SHOWN])} and {len(columns) - SHOWN} more"
    )


def _safe_harbor(found: Risk) -> Shown:
    """Return the columns that look like identifiers of HIPAA Safe Harbor."""
    made = show.table("HIPAA Safe Harbor lists", "column", "", "as", "because")
    for one in found.safe_harbor:
        made.add_row(one.column, one.letter, one.meaning, one.reason)
    return made
