"""Bulk: one decision about many columns at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from indistinct.errors import IndistinctError
from indistinct.policy import Role
from indistinct.studio.drafts import KINDS, HierarchyDraft
from indistinct.studio.settings import Spec
from indistinct.studio.work import Work

AS_COLUMN = "as column "
"""Before the name of a column whose hierarchy others take over."""
BY_HAND = ("tree", "levels", "top_bottom")
"""Kinds that need labels or bounds of their own for each column."""


@dataclass(frozen=True, slots=True)
class Change:
    """What is decided about all chosen columns; nothing stays as it is."""

    role: Role | None = None
    hierarchy: str = ""
    """A kind of hierarchy, or the column whose hierarchy is taken over."""
    weight: float | None = None


def hierarchy_choices(work: Work) -> dict[str, str]:
    """Return the hierarchies that can be set for many columns, with what they are called."""
    kinds = {kind: words for kind, words in KINDS.items() if kind not in BY_HAND}
    quasi = [name for name, choice in work.columns.items() if choice.role == "quasi" and choice.hierarchy]
    return kinds | {f"{AS_COLUMN}{name}": f"as {name} has it" for name in quasi}


def change_columns(work: Work, names: Sequence[str], change: Change) -> list[str]:
    """Decide the same about several columns; give what could not be done for some of them, which stay as they were."""
    refused = []
    for name in names:
        spec: Spec | None = None
        if change.hierarchy:
            try:
                spec = fitting_spec(work, name, change.hierarchy)
            except IndistinctError as error:
                refused.append(f"{name} keeps its hierarchy: {error}")
        if change.role is not None:
            work.set_role(name, change.role)
        if spec is not None:
            work.columns[name].hierarchy = spec
        if change.weight is not None:
            work.columns[name].weight = change.weight
    return refused


def fitting_spec(work: Work, name: str, wanted: str) -> Spec:
    """Return a hierarchy of a kind, or like that of another column, for the values of a column; raise if none fits."""
    if wanted.startswith(AS_COLUMN):
        spec: Spec = dict(work.columns[wanted.removeprefix(AS_COLUMN)].hierarchy or {"keep": True})
    else:
        draft = HierarchyDraft.of({"keep": True}, work.values(name))
        draft.kind = wanted
        spec = draft.spec()
    work.preview(name, spec)
    return spec
