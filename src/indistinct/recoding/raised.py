"""Raised recodings: groups carry labels of their own, some of them wider than they must be, as chance would have it."""

from __future__ import annotations

from dataclasses import dataclass

from indistinct.recoding.drawn import TOLD
from indistinct.recoding.local import LocalRecoding


@dataclass(frozen=True, slots=True, eq=False)
class RaisedRecoding(LocalRecoding):
    """A local recoding of which nobody may learn which labels were raised.

    So it says nothing of its own quality but what the released cells say anyway: not how far it is from the best, and
    no measure that compares with the values below the labels.
    """

    def tells_measure(self, name: str) -> bool:
        """Only what follows from the released cells is told."""
        return name in TOLD
