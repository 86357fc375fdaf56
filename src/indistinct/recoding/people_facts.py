"""What a recoding does to people, where a person may have several rows: whom it releases, and who loses rows."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

import numpy as np

from indistinct.counting.membership import NOWHERE, People, RowTree

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
    smallest_profile: int | None = None
    """The fewest people who share a profile, where pseudonyms link the rows of a person."""

    @classmethod
    def of(
        cls, entries: Entries, pieces: Pieces, *, is_linked: bool = False, tree: RowTree | None = None
    ) -> PeopleFacts:
        """Count people by which rows of whom go where; the entries say whose they are."""
        assert entries.persons is not None  # nobody asks where each row is of somebody else
        eligible = int(entries.persons.max(initial=-1)) + 1
        goes = pieces.rows > 0
        persons = entries.persons[pieces.tuples]
        is_kept, is_lost = goes & pieces.is_released, goes & ~pieces.is_released
        groups, numbers = np.unique(pieces.groups[is_kept], return_inverse=True)
        people = People(persons[is_kept], numbers.ravel(), rows=pieces.rows[is_kept])
        sizes = people.sizes(len(groups))
        if tree is not None:  # entries are whole, and stand in their own order
            people = People(persons, np.where(is_kept, pieces.groups, NOWHERE), rows=pieces.rows, tree=tree)
        released = len(np.unique(persons[is_kept]))
        return cls(
            eligible=eligible,
            released=released,
            lost_rows=len(np.unique(persons[is_lost])),
            lost_all_rows=eligible - released,
            smallest_group=int(sizes.min(initial=eligible)),
            smallest_profile=_smallest_profile(people, eligible) if is_linked else None,
        )

    def to_dict(self) -> dict[str, int]:
        """Return the counts as a manifest says them."""
        return {name: number for name, number in asdict(self).items() if number is not None}


def _smallest_profile(people: People, eligible: int) -> int:
    """Return the fewest people who have as many rows in the same groups."""
    _, class_of = people.by_profile()
    return int(np.bincount(class_of[class_of >= 0]).min(initial=eligible))
