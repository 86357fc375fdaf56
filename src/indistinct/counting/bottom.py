"""The bottom of the lattice: columns are generalized before counting where the list of tuples would be too long.

Counted are then the tuples at a node as low as can be, and the search starts from there. The engine gives each tuple
with one value for each label; what is above the bottom follows from any value under a label.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from indistinct.array_types import IntArray
from indistinct.counting.groups import Node
from indistinct.errors import InfeasibleError
from indistinct.hierarchy import CompiledHierarchy

if TYPE_CHECKING:
    from indistinct.engine import Encoded


def lowest_bottom(encoded: Encoded, hierarchies: Mapping[str, CompiledHierarchy], asked: Sequence[str]) -> Node:
    """Return a node at which the table has no more tuples than may come to the driver; none just below it would do.

    ``asked`` are further columns that are counted as they are. Columns are raised one level at a time, each time the
    one that leaves fewest tuples, and then lowered again where that was not needed.
    """
    most = encoded.max_tuples
    heights = [hierarchy.height for hierarchy in hierarchies.values()]
    node: Node = (0,) * len(heights)

    def tuples_at(nodes: Sequence[Node]) -> list[int]:
        return encoded.tuples_at((*hierarchies, *asked), [merged_codes(hierarchies, node) for node in nodes])

    if most is None or tuples_at([node])[0] <= most:
        return node
    while True:
        higher = [_move_level(node, column, 1) for column, height in enumerate(heights) if node[column] < height]
        if not higher:
            raise InfeasibleError(
                f"even with every column at the top of its hierarchy the table has more than {most} combinations of "
                "quasi and sensitive values; raise max_tuples, or add levels"
            )
        tuples, node = min(zip(tuples_at(higher), higher, strict=True))
        if tuples <= most:
            break
    while lower := [_move_level(node, column, -1) for column, level in enumerate(node) if level > 0]:
        fitting = [found for found in zip(tuples_at(lower), lower, strict=True) if found[0] <= most]
        if not fitting:
            break
        node = min(fitting)[1]
    return node


def merged_codes(hierarchies: Mapping[str, CompiledHierarchy], node: Node) -> dict[str, IntArray]:
    """Return for each column above level 0 the first value that has the same label, by the codes of the values."""
    merged = {}
    for (name, hierarchy), level in zip(hierarchies.items(), node, strict=True):
        if level:
            _, first, label = np.unique(hierarchy.maps[level], return_index=True, return_inverse=True)
            merged[name] = first[label].astype(np.int64)
    return merged


def _move_level(node: Node, column: int, step: int) -> Node:
    return (*node[:column], node[column] + step, *node[column + 1 :])
