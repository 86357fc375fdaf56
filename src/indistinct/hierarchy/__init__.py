"""Hierarchies: what each value is called at each level of generality."""

from indistinct.hierarchy.compiled import CompiledHierarchy, UnknownValues
from indistinct.hierarchy.hierarchy import Hierarchy
from indistinct.hierarchy.kinds.dates import dates
from indistinct.hierarchy.kinds.listed import levels, tree
from indistinct.hierarchy.kinds.number_labels import intervals, rounding, top_bottom
from indistinct.hierarchy.kinds.text_labels import keep, prefix, suppress
from indistinct.hierarchy.spec import from_spec

__all__ = [
    "CompiledHierarchy",
    "Hierarchy",
    "UnknownValues",
    "dates",
    "from_spec",
    "intervals",
    "keep",
    "levels",
    "prefix",
    "rounding",
    "suppress",
    "top_bottom",
    "tree",
]
