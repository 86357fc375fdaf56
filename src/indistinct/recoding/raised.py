"""Raised recodings: groups carry labels of their own, some of them wider than they must be, as chance would have it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from indistinct.recoding.drawn import TOLD
from indistinct.recoding.local import LocalRecoding


@dataclass(frozen=True, slots=True, eq=False)
class RaisedRecoding(LocalRecoding):
    """A local recoding of which nobody may learn which labels were raised.

    So it says nothing of its own quality but what the released cells say anyway: not how far it is from the best, no
    measure that compares with the values below the labels, and not that time was up, which it never is for a table
    that is left as it is.
    """

    takes_bound: ClassVar[bool] = False

    def tells_measure(self, name: str) -> bool:
        """Only what follows from the released cells is told."""
        return name in TOLD

    @property
    def states_cut_short(self) -> bool:
        """A release says nothing of whether a time limit ended the algorithm."""
        return False
