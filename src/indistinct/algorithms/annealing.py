"""anneal_groups(): Regroup's groups, bettered for as long as it is allowed.

Groups are taken apart and put together anew as before. What costs more is kept, too, with a chance that falls with what
it costs and with the time that has passed: so the search leaves dead ends. The best groups that were met are given.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from indistinct.errors import PolicyError
from indistinct.kernels import parcel_groups, regrouping
from indistinct.kernels.box_costs import Prices
from indistinct.kernels.parcel_groups import ROWS, SIZE, Groups, Loose
from indistinct.kernels.regrouping import Work
from indistinct.watch import Watch

WARM, COLD = 0.2, 0.003
"""What costs this share of an average group more is kept with a chance of 1 / e, at first and in the end."""
REACH = 1.6
"""Groups that cost so many times the average are always taken apart, cheaper ones less often."""
MOST_TRIES = 1_000
"""With a time limit alone, each parcel is tried at most so often: small tables need no longer."""
TIME = 0.85
"""The share of a time limit after which it ends: the bound wants some of it, too."""
STEP = 7
"""A pass comes to every seventh parcel."""


def check_effort(effort: object) -> None:
    """Refuse an effort that is no number of tries."""
    if isinstance(effort, bool) or not isinstance(effort, int) or effort < 0:
        raise PolicyError(f"effort: must be a whole number, 0 or more, got {effort!r}")


@dataclass(frozen=True, slots=True)
class Annealing:
    """How long groups are bettered: so many tries for each parcel, or until most of the time limit has passed."""

    tries: int

    @classmethod
    def of(cls, effort: int, watch: Watch) -> Annealing | None:
        """Give what was asked for: an effort, or a time limit; None if neither was."""
        tries = effort or (MOST_TRIES if watch.time_limit is not None else 0)
        return cls(tries) if tries else None

    def run(self, k: int, loose: Loose, groups: Groups, prices: Prices, work: Work, watch: Watch) -> None:
        """Better the groups in place."""
        parcels, rows = len(groups.parcels), max(1, int(groups.parcels[:, SIZE].sum()))
        total = least = parcel_groups.refresh(k, loose.ranks, groups, prices)
        best = _copy(groups)
        each = total / max(1, int((groups.facts[:, ROWS] > 0).sum()))
        passes = STEP * self.tries
        for number in range(passes):
            watch.report("anneal", number, passes)
            share = watch.share_of_time() / TIME
            if least <= 0.0 or share >= 1.0 or watch.time_is_up():
                break
            progress = max(number / passes, share)
            pace = np.array([REACH * total / rows, each * WARM * (COLD / WARM) ** progress])
            regrouping.regroup(np.array([number % STEP, parcels, STEP]), k, pace, loose, groups, prices, work)
            total = parcel_groups.refresh(k, loose.ranks, groups, prices)
            if total < least:
                least, best = total, _copy(groups)
        for now, then in zip(groups, best, strict=True):
            now[:] = then


def _copy(groups: Groups) -> Groups:
    return Groups(*(part.copy() for part in groups))
