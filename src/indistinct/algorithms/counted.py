"""What a search asks of a counter, and its answer as numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Protocol

from indistinct.counting import FrequencyList, IntArray, Node
from indistinct.recoding import LabelValues, Outcome


class Source(Protocol):
    """Groups at a node, from which groups at any node above can be counted."""

    @property
    def node(self) -> Node:
        """The node of the groups."""

    @property
    def sizes(self) -> IntArray:
        """The rows of each group."""


class Counter(Protocol):
    """Answers for the nodes of one task."""

    base: Source

    def outcome(self, node: Node, source: Source) -> Outcome:
        """Give what a measure may ask of a node, with the least suppression that satisfies the policy.

        Of a node that suppresses too many rows it need only be right that they are too many.
        """

    def reduce_source(self, node: Node, source: Source) -> Source:
        """Give the groups at a node as a source for the nodes above it."""


@dataclass(frozen=True, slots=True)
class Counted:
    """An outcome as numbers."""

    local: ClassVar[None] = None

    frequencies: FrequencyList
    node: Node
    rows: int
    suppressed_rows: int
    kept_by_suppressed: float
    suppressed_groups: int = 0
    released_groups: int = 0
    suppressed_squares: float = 0.0
    released_squares: float = 0.0

    def over_suppressed(self, values: LabelValues) -> float:
        """Sum a number per label over all cells of suppressed rows; done beforehand, for the measure of the search."""
        return self.kept_by_suppressed
