"""Lossy join: two tables instead of one, quasi-identifiers as they are and sensitive values apart, linked by class."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from indistinct.algorithms.base import Algorithm, Task
from indistinct.algorithms.partition import together
from indistinct.errors import PolicyError
from indistinct.recoding import SUPPRESSED, Classes, Pieces, Recoding
from indistinct.watch import Watch


@dataclass(frozen=True, slots=True)
class LossyJoin:
    """Releases a table of quasi-identifiers and one of sensitive values, which only the class of a row links.

    The classes are the groups of any other algorithm (``grouping``, by name or as it is), top-down by default. Rows
    with the same quasi-identifier stay in one class: divided between two, they would link to the values of both, which
    fewer than k people may share. Groups that share a quasi-identifier therefore become one class.

    Source: Wong et al. 2007, section 5; docs/papers.md on Theorem 1.
    """

    name: ClassVar[str] = "lossy-join"

    grouping: str | Algorithm = "top-down"

    def __post_init__(self) -> None:
        self._algorithm()

    def _algorithm(self) -> Algorithm:
        from indistinct.algorithms import algorithm_named  # which itself needs this module

        if self.grouping in (LossyJoin.name, "anatomy", "mu-argus") or isinstance(self.grouping, LossyJoin):
            raise PolicyError("grouping: must be an algorithm that groups rows safely, such as 'top-down' or 'regroup'")
        return algorithm_named(self.grouping) if isinstance(self.grouping, str) else self.grouping

    def run(self, task: Task, watch: Watch) -> Classes:
        """Give the classes."""
        found = self._algorithm().run(task, watch)
        pieces = _as_pieces(found) if isinstance(found, Recoding) else found.pieces
        return Classes.of_pieces(task.frequencies, together(task, pieces))


def _as_pieces(recoding: Recoding) -> Pieces:
    """Give the groups of a full-domain recoding as pieces."""
    _, group_of = recoding.frequencies.roll_up(recoding.node)
    return Pieces.whole(recoding.frequencies, np.where(recoding.is_suppressed[group_of], SUPPRESSED, group_of))
