"""concept_tree(): a hierarchy of concepts out of their ancestors: a concept has many parents, a label has one."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence

from indistinct.hierarchy import Hierarchy, levels

MOST_LEVELS = 6
"""Of a deeper tree these many depths are kept, evenly."""
TOP = "*"

Ancestry = tuple[str, str, int]
"""An ancestor, its descendant, and the steps between them at the least."""


def concept_tree(ancestry: Iterable[Ancestry], concepts: Sequence[str]) -> Hierarchy | None:
    """Return the hierarchy of some concepts; None if no two of them, or too little, have an ancestor in common.

    ``ancestry`` has the ancestors of the concepts and those of their ancestors. A concept stays below one of its
    nearest ancestors: that which has the fewest of the concepts below it, but more than one. So labels are true, and
    each has one parent. A concept without ancestors stands for itself.

    >>> flu = [("2", "1", 1), ("2", "3", 1), ("9", "2", 1), ("9", "1", 2), ("9", "3", 2), ("9", "4", 1)]
    >>> concept_tree(flu, ["1", "3", "4"]).table(["1", "3", "4"])
    [['1', '2', '*'], ['3', '2', '*'], ['4', '4', '*']]
    """
    nearest = _nearest_ancestors(ancestry, set(concepts))
    paths = {concept: _path(concept, nearest) for concept in concepts}
    depth = max((len(path) for path in paths.values()), default=0)
    columns: list[list[str]] = []
    for lowest in range(depth - 1, 0, -1):  # what a concept is called if no label is deeper than this
        labels = [path[min(len(path), lowest) - 1] for path in paths.values()]
        if len(set(labels)) < len(set(columns[-1] if columns else concepts)) and len(set(labels)) > 1:
            columns.append(labels)
    if not columns:
        return None
    if len(columns) > MOST_LEVELS:
        columns = [columns[place * (len(columns) - 1) // (MOST_LEVELS - 1)] for place in range(MOST_LEVELS)]
    return levels([list(row) for row in zip(paths, *columns, strict=True)], top=TOP)


def _nearest_ancestors(ancestry: Iterable[Ancestry], concepts: set[str]) -> dict[str, str]:
    """Return the parent of each concept and ancestor that has one."""
    above: dict[str, dict[str, int]] = defaultdict(dict)
    for ancestor, descendant, steps in ancestry:
        if ancestor != descendant:
            above[descendant][ancestor] = min(steps, above[descendant].get(ancestor, steps))
    below = Counter(ancestor for concept in concepts for ancestor in above.get(concept, ()))
    parents = {}
    for descendant, found in above.items():
        upward = {one: steps for one, steps in found.items() if descendant not in above.get(one, ())}
        least = min(upward.values(), default=0)
        nearest = [one for one, steps in upward.items() if steps == least]
        if nearest:
            parents[descendant] = min(nearest, key=lambda one: (below[one] < 2, below[one], one))
    return parents


def _path(concept: str, parents: dict[str, str]) -> list[str]:
    """Return the concept and what is above it, the root first; a ring, which no vocabulary has, ends it."""
    path = [concept]
    while (parent := parents.get(path[-1])) is not None and parent not in path:
        path.append(parent)
    return path[::-1]
