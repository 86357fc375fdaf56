"""A table counted: its frequency list, the groups at a node, and the lowest node that can be told apart."""

from __future__ import annotations

from indistinct.counting.bottom import Node
from indistinct.counting.frequency_list import FrequencyList, Sensitive, kernels_are_compiled
from indistinct.counting.groups import CountedCrowd, Crowd, Groups, IntArray, Layout, Tally, UIntArray

__all__ = [
    "CountedCrowd",
    "Crowd",
    "FrequencyList",
    "Groups",
    "IntArray",
    "Layout",
    "Node",
    "Sensitive",
    "Tally",
    "UIntArray",
    "kernels_are_compiled",
]
