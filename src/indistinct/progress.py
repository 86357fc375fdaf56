"""Watch: carries a time limit, cancellation and progress from whoever waits to whoever works."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from indistinct.errors import InterruptedSearchError, PolicyError

_compiling = [0.0]
"""The seconds that kernels took to be compiled in this process: they come once, and no search is to blame for them."""


def leave_out(seconds: float) -> None:
    """Say that kernels were compiled for so long: searches that end by themselves end later by that."""
    _compiling[0] += seconds


@dataclass(slots=True)
class Watch:
    """What a long computation asks now and then: may I go on, and who wants to know how far I am?

    >>> seen = []
    >>> watch = Watch(progress=lambda stage, done, total: seen.append((stage, done, total)))
    >>> watch.report("count", 3, 10)
    >>> seen
    [('count', 3, 10)]
    """

    time_limit: float | None = None
    """Seconds that a search may take. It then gives its best answer so far and says that it is not proven."""
    progress: Callable[[str, int | None, int | None], None] | None = None
    """Called with the stage, the work done and the work in all (None where unknown)."""
    is_cancelled: Callable[[], bool] | None = None
    """Asked now and then; True stops the search at once."""
    ends_after: float | None = None
    """Seconds after which a search ends where nobody set a time limit; what it does before does not depend on it."""
    _started: float = field(default_factory=time.monotonic, repr=False)
    _compiled: float = field(default_factory=lambda: _compiling[0], repr=False)

    def __post_init__(self) -> None:
        if self.time_limit is not None and not 0 <= self.time_limit < math.inf:
            raise PolicyError(f"a time limit is a number of seconds, got {self.time_limit}; leave it out for none")

    def report(self, stage: str, done: int | None = None, total: int | None = None) -> None:
        """Tell whoever shows progress how far the work is."""
        if self.progress is not None:
            self.progress(stage, done, total)

    def start(self) -> None:
        """Start the clock of the time limit anew."""
        self._started = time.monotonic()

    def ending_after(self, seconds: float) -> Watch:
        """Return a watch for a search that begins now and ends after so many seconds, unless a limit is set already."""
        if self.time_limit is not None or self.ends_after is not None:
            return self
        return replace(self, ends_after=seconds, _started=time.monotonic(), _compiled=_compiling[0])

    def share_of_time(self) -> float:
        """Return how much of the time limit has passed, 1 for all of it; 0 where there is none."""
        if self.time_limit is None:
            return 0.0
        return self._seconds_passed() / self.time_limit if self.time_limit > 0 else 1.0

    def part(self, share: float) -> Watch:
        """Return a watch for this share of the time that is left."""
        passed = self._seconds_passed()
        if self.time_limit is not None:
            return replace(self, time_limit=passed + share * max(0.0, self.time_limit - passed))
        if self.ends_after is not None:
            return replace(self, ends_after=passed + share * max(0.0, self.ends_after - passed))
        return self

    def time_is_up(self) -> bool:
        """Return whether the time limit has passed; raise if the work was cancelled."""
        if self.is_cancelled is not None and self.is_cancelled():
            raise InterruptedSearchError("cancelled; nothing was written")
        limit = self.ends_after if self.time_limit is None else self.time_limit
        return limit is not None and self._seconds_passed() >= limit

    def _seconds_passed(self) -> float:
        """Return the seconds since the start; where nobody set a limit, without those of compiling kernels."""
        left_out = 0.0 if self.time_limit is not None else _compiling[0] - self._compiled
        return time.monotonic() - self._started - left_out
