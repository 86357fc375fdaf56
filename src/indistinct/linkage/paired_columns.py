"""Column pairs: by which columns a release and another table are compared, and how their labels are read."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from indistinct.errors import PolicyError
from indistinct.hierarchy import Hierarchy, keep
from indistinct.policy import Policy
from indistinct.policy.released_names import own_name


def hierarchy_of(policy: Policy, name: str) -> Hierarchy:
    """Return the hierarchy of a released column; others than quasi columns are released as they are, or recoded."""
    column = policy.columns.get(name)
    if column is None:
        return keep()
    return column.hierarchy if column.role == "quasi" else column.recode or keep()


def column_pairs(
    on: Mapping[str, str] | Iterable[str] | None, ours: Sequence[str], theirs: Sequence[str], policy: Policy
) -> dict[str, str]:
    """Return the columns to link by: a column of the release and one of the other table each."""
    if on is None:
        by_name = {plain_name(name): name for name in theirs}
        called = [(name, _names_of(policy, name)) for name in policy.quasi if name in ours]
        same = {
            name: next(by_name[plain_name(one)] for one in names if plain_name(one) in by_name)
            for name, names in called
            if any(plain_name(one) in by_name for one in names)
        }
        if not same:
            raise PolicyError(
                "on: no quasi column of the release has the name of a column of the other table; say which belong "
                'together, such as on={"DateOfBirth": "DOB"}'
            )
        return same
    if isinstance(on, str):
        raise PolicyError("on: must list columns, or map columns of the release to columns of the other table")
    given = dict(on) if isinstance(on, Mapping) else {name: name for name in on}
    pairs = {own_name(name, policy.renamed): theirs for name, theirs in given.items()}
    mistakes = [f"on: the release has no column {name!r}" for name in pairs if name not in ours]
    mistakes += [f"on: the other table has no column {name!r}" for name in pairs.values() if name not in theirs]
    mistakes += [
        f"on: column {name!r} of the other table is named twice"
        for name in set(pairs.values())
        if list(pairs.values()).count(name) > 1
    ]
    if not pairs:
        mistakes.append("on: name at least one column to link by")
    if mistakes:
        raise PolicyError(mistakes)
    return pairs


def _names_of(policy: Policy, name: str) -> tuple[str, ...]:
    """Return what a column is called in the policy, in the release, and in its own one of several tables."""
    own = policy.form.own_name(name)
    return name, own, policy.renamed.get(name, own)


def plain_name(name: str) -> str:
    """Return a column's name without capitals and marks.

    >>> plain_name("Date_of Birth") == plain_name("DateOfBirth")
    True
    """
    return "".join(character for character in name.casefold() if character.isalnum())
