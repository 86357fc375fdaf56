"""Hierarchies: what each value is called at each level of generality."""

from indistinct.hierarchy.dates import dates
from indistinct.hierarchy.hierarchy import CompiledHierarchy, Hierarchy, UnknownValues
from indistinct.hierarchy.listed import levels, tree
from indistinct.hierarchy.numbers import intervals, rounding, top_bottom
from indistinct.hierarchy.spec import from_spec
from indistinct.hierarchy.text import keep, prefix, suppress

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
