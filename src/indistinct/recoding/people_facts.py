"""What a recoding does to people, where a person may have several rows: whom it releases, and who loses rows."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

import numpy as np

from indistinct.counting.membership import People

if TYPE_CHECKING:
    from indistinct.counting.frequency_list import Entries
    from indistinct.recoding.recoding import Pieces


@dataclass(frozen=True, slots=True)
class PeopleFacts:
    """How many people a release is about, and how many of them it leaves out, wholly or in part."""

    eligible: int
    released: int
    """People with at least one released row."""
    lost_rows: int
    """People with at least one suppressed row."""
    lost_all_rows: int
    """People of whom nothing is released; they are among those who lost rows."""
    smallest_group: int
    """The different people in the released group that has fewest."""

    @classmethod
    def of(cls, entries: Entries, pieces: Pieces) -> PeopleFacts | None:
        """Count people by which rows of whom go where; None where each row is of somebody else."""
        if entries.persons is None:
            return None
        eligible = int(entries.persons.max(initial=-1)) + 1
        goes = pieces.rows > 0
        persons = entries.persons[pieces.tuples]
        is_kept, is_lost = goes & pieces.is_released, goes & ~pieces.is_released
        groups, numbers = np.unique(pieces.groups[is_kept], return_inverse=True)
        sizes = People(persons[is_kept], numbers.ravel()).sizes(len(groups))
        released = len(np.unique(persons[is_kept]))
        return cls(
            eligible=eligible,
            released=released,
            lost_rows=len(np.unique(persons[is_lost])),
            lost_all_rows=eligible - released,
            smallest_group=int(sizes.min(initial=eligible)),
        )

    def to_dict(self) -> dict[str, int]:
        """Give the counts as a manifest says them."""
        return asdict(self)
