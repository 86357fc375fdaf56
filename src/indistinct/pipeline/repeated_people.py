"""Tables whose people repeat: refused, unless the policy says whose rows they are or that nobody has several."""

from __future__ import annotations

from collections.abc import Sequence

from indistinct.engine import Rows
from indistinct.errors import PolicyError
from indistinct.policy import Policy
from indistinct.policy.column_names import NAMESAKES, names_people, number_people


def refuse_repeated_people(rows: Rows, policy: Policy) -> None:
    """Raise if eligible rows seem to be of the same people, of whom the policy says nothing.

    Looked at are identifiers whose name says that they number people, and all that name people together.
    """
    if policy.person_columns or policy.one_row_per_person:
        return
    kinds = {name: names_people(name) for name in policy.with_role("identifier") if not name.startswith(".")}
    conditions = [condition.as_triple() for condition in policy.eligible]
    numbers = [name for name, kind in kinds.items() if kind == "number"]
    mistakes = []
    for name in numbers:
        present, distinct = rows.repeats_of([name], conditions)
        if number_people(present, distinct):
            mistakes.append(_several_rows([name], present, distinct))
    names = [name for name, kind in kinds.items() if kind == "name"]
    if names and not numbers:
        present, distinct = rows.repeats_of(names, conditions)
        if present - distinct > NAMESAKES * present:
            mistakes.append(_several_rows(names, present, distinct))
    if mistakes:
        raise PolicyError(mistakes)


def _several_rows(names: Sequence[str], present: int, distinct: int) -> str:
    """Say that some people seem to have several rows, and what to do."""
    person = repr(names[0]) if len(names) == 1 else f"[{', '.join(map(repr, names))}]"
    said = "is" if len(names) == 1 else "are together"
    return (
        f"person: {', '.join(map(repr, names))} {said} the same in several rows ({distinct} different in {present}), "
        f"so people seem to have several; say person = {person} and people are counted, or one_row_per_person = true "
        "if every row is of somebody else"
    )
