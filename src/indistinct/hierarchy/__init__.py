"""Hierarchies: what each value is called at each level of generality."""

from indistinct.hierarchy.compiled_hierarchy import CompiledHierarchy, UnknownValues
from indistinct.hierarchy.dates import dates
from indistinct.hierarchy.hierarchy import Hierarchy
from indistinct.hierarchy.listed import levels, tree
from indistinct.hierarchy.number_labels import intervals, rounding, top_bottom
from indistinct.hierarchy.spec import from_spec
from indistinct.hierarchy.text_labels import keep, prefix, suppress

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
