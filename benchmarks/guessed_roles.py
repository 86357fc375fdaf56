"""How right the guesses of ``init`` are on the tables from which its lists of words were made.

What it should answer stands in ``init_answers.csv``, a line for each column, with the reason in a few words. Where two
answers can be defended both stand there, the better one first: ``quasi/sensitive``. The strict score counts the first
alone. Hierarchies are those of quasi columns: numbers (intervals of any kind), kinds (suppressed, or grouped by a known
classification), codes (their beginnings), dates, ranges (neighbours are joined). ``person`` marks the column that says
whose rows these are, or any of several.

Roles follow four questions. Does it name or number a person, a row, or lead to a door or a mailbox? Identifier. May
a neighbour, an employer or a register know it, or was it to be seen? Quasi. Would it harm somebody if it were known:
health, money, belief, offences, marks? Sensitive. Else other: weights, constants, laboratory and computed figures.
"""

from __future__ import annotations

import csv
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa

import indistinct as ix
from benchmarks.made_tables import MADE
from benchmarks.public_tables import PUBLIC
from benchmarks.setting import Figures
from indistinct.profiling import ColumnProfile

KINDS = {
    "intervals": "numbers",
    "rounding": "numbers",
    "suppress": "kinds",
    "levels": "ranges",
    "prefix": "codes",
    "dates": "dates",
}
"""Which kind of answer a hierarchy is; those of the catalogue are kinds, and codes as well."""
ANSWERS_FILE = Path(__file__).with_name("init_answers.csv")
SETS = ("tuned", "held out", "tried", "seen", "unseen", "last", "fresh")
"""The sets of tables in the order in which they came."""


def roles_of_known_tables(folder: Path) -> Figures:
    """Count the roles that are right, also strictly, over all tables with answers."""
    found = []
    for name in ANSWERS:
        table = MADE[name]() if name in MADE else PUBLIC[name].table(folder)
        found.append(judged_table(table, ANSWERS[name]))
    counted = ("columns", "roles_right", "roles_right_strictly", "released_identifiers")
    return {"tables": len(found), **{what: sum(one[what] for one in found) for what in counted}}


@dataclass(frozen=True)
class Answer:
    """What a column is: the roles and the kinds of hierarchy that can be defended, the best first."""

    roles: tuple[str, ...]
    kinds: tuple[str, ...]


@dataclass(frozen=True)
class Answers:
    """What a table is: its set, what each column is, and the columns of which any may name its people."""

    group: str
    columns: dict[str, Answer] = field(default_factory=dict)
    people: list[str] = field(default_factory=list)


def read_answers() -> dict[str, Answers]:
    """Return the answers of every table."""
    found: dict[str, Answers] = {}
    with ANSWERS_FILE.open(encoding="utf-8", newline="") as file:
        for line in csv.DictReader(file):
            table = found.setdefault(line["table"], Answers(line["set"]))
            kinds = tuple(filter(None, line["hierarchies"].split("/")))
            table.columns[line["column"]] = one = Answer(tuple(line["roles"].split("/")), kinds)
            assert line["set"] in SETS, line
            assert line["why"], line
            assert bool(kinds) == ("quasi" in one.roles), line
            table.people.extend([line["column"]] if line["person"] else [])
    return found


ANSWERS = read_answers()


def judged_table(table: pa.Table, answers: Answers) -> Figures:
    """Count the roles and hierarchies that are right, also strictly, and the identifiers that would be released."""
    wanted = answers.columns
    guessed = ix.profile(table)
    assert set(wanted) == {column.name for column in guessed.columns}
    roles = [(column, wanted[column.name]) for column in guessed.columns]
    with_hierarchy = [
        (column, one)
        for column, one in roles
        if one.roles[0] == "quasi" and not (column.role != "quasi" and column.role in one.roles)
    ]
    return {
        "rows": table.num_rows,
        "columns": len(roles),
        "roles_right": sum(column.role in one.roles for column, one in roles),
        "roles_right_strictly": sum(column.role == one.roles[0] for column, one in roles),
        "hierarchies": len(with_hierarchy),
        "hierarchies_right": sum(_is_right(column, one) for column, one in with_hierarchy),
        "released_identifiers": sum(one.roles == ("identifier",) and c.role != "identifier" for c, one in roles),
        "is_person_right": not guessed.names and guessed.person in (answers.people or [None]),
    }


def _is_right(column: ColumnProfile, one: Answer) -> bool:
    if column.hierarchy is None:
        return False
    kind = KINDS.get(column.hierarchy.kind)
    return kind in one.kinds if kind else bool({"kinds", "codes"} & set(one.kinds))
