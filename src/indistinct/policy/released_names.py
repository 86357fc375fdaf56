"""Released names: what columns are called in a release, and which column of the policy stands behind a name.

Everything in the project speaks of a column by the name that it has in the policy. Only a release itself, on its way
out and when it is opened again, has the names that a policy gives with ``rename``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from indistinct.engine.plans import CLASS, HISTORY, KEY, PROFILE, ROW, STATE
from indistinct.engine.plans import PERSON as WHOSE
from indistinct.errors import PolicyError
from indistinct.policy.person import PSEUDONYM

if TYPE_CHECKING:
    from indistinct.policy.column import Column

RESERVED = (CLASS, PSEUDONYM, KEY, STATE, HISTORY, WHOSE, ROW, PROFILE)
"""Columns that releases and ledgers have of their own."""
KEPT = ("quasi", "sensitive", "other")


def check_new_name(name: Any, role: str) -> None:
    """Raise if a column cannot be called so in any release."""
    if name is None:
        return
    if role not in KEPT:
        told = "pseudonyms stand under its own" if role == "identifier" else "it is not released"
        raise PolicyError(f"rename: only a released column has another name; its role is {role}, and {told}")
    if not isinstance(name, str) or not name.strip():
        raise PolicyError("rename: must be a name, such as 'birth_year'; leave it out to keep the column's own")
    if name != name.strip() or not name.isprintable():
        raise PolicyError(
            "rename: a name neither begins nor ends with a blank, and has no line breaks or other signs that do not "
            "print, since files and their readers change those"
        )
    if name.lower() in RESERVED:
        raise PolicyError(f"rename: {name!r} is a column that releases have of their own; choose another name")


def name_mistakes(columns: Mapping[str, Column], person: Sequence[str]) -> list[str]:
    """List the new names that could be taken for another column; names are compared without case, as in SQL."""
    mistakes = []
    taken: dict[str, str] = {}
    for name, column in columns.items():
        new = getattr(column, "rename", None)
        if not isinstance(new, str):
            continue
        place = f"columns.{name}.rename"
        if new == name:
            mistakes.append(f"{place}: the column is called {new!r} already; leave it out")
        others = {other: own for other, own in columns.items() if other != name and other.lower() == new.lower()}
        mistakes += [
            f"{place}: {new!r} is the name of another column, {other!r}, which is {_whereabouts(own)}; choose another"
            for other, own in others.items()
            if own.role != "drop"
        ]
        if not others and any(one.lower() == new.lower() for one in person):
            mistakes.append(f"{place}: {new!r} is the name of the column that says whose row it is; choose another")
        if new.lower() in taken:
            mistakes.append(
                f"{place}: {taken[new.lower()]!r} has this name in the release already, and names that differ only in "
                "case are one in SQL; choose another"
            )
        taken.setdefault(new.lower(), name)
    return mistakes


def _whereabouts(column: Column) -> str:
    return "an identifier" if column.role == "identifier" else "released as well"


def named_as_in_policy(names: Sequence[str], renamed: Mapping[str, str], *, is_release: bool = True) -> dict[str, str]:
    """Return for each column of a table, by its name, the column of the policy; ``renamed`` has the new name of some.

    What is no release may be the original, whose columns have their own names. In a release a column that should
    have another name, and has not, is no column of the policy.

    >>> named_as_in_policy(["year", "sex"], {"birth": "year"})
    {'year': 'birth', 'sex': 'sex'}
    >>> named_as_in_policy(["birth"], {"birth": "year"})
    {'birth': 'birth (not renamed)'}
    >>> named_as_in_policy(["birth"], {"birth": "year"}, is_release=False)
    {'birth': 'birth'}
    """
    wanted = renamed if is_release else {name: new for name, new in renamed.items() if name not in names}
    own = {new: name for name, new in wanted.items()}
    left = {name.lower() for name in wanted}
    found: dict[str, str] = {}
    for name in names:
        goal = own.get(name, name)
        while name not in own and goal.lower() in left:
            goal = not_renamed(goal)
        left.add(goal.lower())
        found[name] = goal
    return found


def own_name(name: str, renamed: Mapping[str, str]) -> str:
    """Return the column of the policy that somebody means by a name: the policy's own, or the new one.

    >>> own_name("year", {"birth": "year"}), own_name("birth", {"birth": "year"}), own_name("sex", {"birth": "year"})
    ('birth', 'birth', 'sex')
    """
    return next((own for own, new in renamed.items() if new == name), name)


def not_renamed(name: str) -> str:
    """Return what to call a column of a release that has its own name instead of its new one."""
    return f"{name} (not renamed)"
