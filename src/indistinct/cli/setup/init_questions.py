"""The questions of ``init --ask``, one after the other on stderr, and its summary of what columns are, by role."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import typer

from indistinct.cli import show
from indistinct.errors import PolicyError
from indistinct.showing.numbers import figure
from indistinct.showing.words import counted

if TYPE_CHECKING:
    from indistinct.pipeline.suggesting import Answers, Decision, Way
    from indistinct.profiling import ColumnProfile, Profile
    from indistinct.progress import Watch

ROLES = {
    "identifier": "names or numbers people: never released",
    "quasi": "others may know it: generalized",
    "sensitive": "nobody should learn it: released, and each group has several values",
    "other": "neither: released as it is",
    "drop": "not released, for the reason beside it",
}
FEW_COLUMNS = 12
"""No more are all shown in full."""
MOST_TRIES = 5


def ask(found: Profile, k: int, watch: Watch) -> Answers:
    """Ask the five questions, each with its ways and their costs; what is answered with nothing is the first way."""
    from indistinct.pipeline.suggesting import Answers, five_decisions

    answers = Answers(k=k)
    for number, decision in enumerate(five_decisions(found, k, watch), 1):
        show.say("")
        show.say(f"{number} of 5. {decision.question}")
        for place, way in enumerate(decision.ways, 1):
            show.say(f"  {place}  {way.words}{_cost(way, decision)}")
        answers = answers.with_one(decision, _answer(decision))
    return answers


def _answer(decision: Decision) -> Way:
    """Return the way that is chosen; what cannot be read is asked again, a few times."""
    for _ in range(MOST_TRIES):
        typed = typer.prompt("  number, or columns with commas between", default="1", err=True)
        try:
            return decision.read(typed)
        except PolicyError as error:
            show.say(f"  {error}", show.BAD)
    raise PolicyError(f"{decision.question} {MOST_TRIES} answers could not be read; see init --help")


def _cost(way: Way, decision: Decision) -> str:
    """Say what a way costs."""
    if way.loss is None:
        return ""
    return f": loses about {100 * way.loss:.0f} % ({decision.rows:,} rows tried)"


def summarize(found: Profile, *, is_whole: bool) -> None:
    """Tell on stderr which columns have each role, then the doubtful ones; all on request, or if they are few."""
    size = f"{counted(found.rows, 'row')}, {counted(len(found.columns), 'column')}"
    if len(found.columns) <= FEW_COLUMNS:
        _tell(found.columns, size)
        return
    show.say(size)
    for role, meaning in ROLES.items():
        names = [column.name for column in found.columns if column.role == role]
        if names:
            show.say(f"{len(names)} {role} ({meaning}): {', '.join(names)}")
    columns = [column for column in found.columns if is_whole or column.is_unsure or column.role == "drop"]
    if not columns:
        return
    left = len(found.columns) - len(columns)
    _tell(columns, f"{len(columns)} in doubt; --all shows the other {left}" if left else "all columns")


def _tell(columns: Sequence[ColumnProfile], title: str) -> None:
    """Print some columns, each with its reason; those that have one role for one reason together."""
    alike: dict[tuple[str, str], list[ColumnProfile]] = {}
    for column in columns:
        alike.setdefault((column.role, column.reason), []).append(column)
    show.say(f"{title}:")
    for (role, reason), some in alike.items():
        distinct, missing = ([getattr(one, what) for one in some] for what in ("distinct", "missing"))
        gaps = f", {_from_to(missing)} missing" if any(missing) else ""
        values = "value" if distinct == [1] else "values"
        show.say(f"  {', '.join(one.name for one in some)}: {role}, {_from_to(distinct)} {values}{gaps}", show.ACCENT)
        show.indent(reason)


def _from_to(numbers: Sequence[int]) -> str:
    """Return the smallest and the largest of some numbers.

    >>> _from_to([3, 3]), _from_to([4, 3])
    ('3', '3-4')
    """
    low, high = figure(min(numbers)), figure(max(numbers))
    return low if low == high else f"{low}-{high}"
