"""What all parts of the benchmark share: the rows of Adult, how large jobs are, how commands are run."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from benchmarks import adult, arx, measuring
from benchmarks.adult import Rows

K, LIMIT = 5, 0.02
"""What a job asks for if nothing else is said: 5-anonymity, at most 2 % of the rows suppressed."""
Figures = dict[str, Any]
FEW_COLUMNS = 6
Job = TypeVar("Job")


@dataclass
class Setting:
    """What all parts share: the rows of Adult, how large jobs are, where files may lie."""

    is_quick: bool
    folder: Path
    yardstick: float
    source: str = ""
    _adult: Rows | None = field(default=None, repr=False)

    @property
    def adult(self) -> Rows:
        """Adult, or made-up rows in a quick run."""
        if self._adult is None and self.is_quick:
            self._adult, self.source = adult.made_up(200), "made-up rows"
        elif self._adult is None:
            self._adult, self.source = adult.load(self.folder)
        assert self._adult is not None  # set above
        return self._adult

    @property
    def searched(self) -> Rows:
        """Adult where every node of its lattice is counted: 720 in a quick run, of its first columns."""
        return self.adult.first(FEW_COLUMNS) if self.is_quick else self.adult

    def few(self, jobs: Iterable[Job], number: int = 1) -> list[Job]:
        """Return all of some jobs; in a quick run the first ones, which the same code measures as the others."""
        return list(jobs)[:number] if self.is_quick else list(jobs)

    def sized(self, rows: int) -> int:
        """Return the number of rows of a job, which is small in a quick run."""
        return max(200, rows // 5000) if self.is_quick else rows

    def scaled(self, arx_seconds: float) -> float:
        """Return ARX's CPU seconds as this machine would take them, but no more than were measured.

        Where the yardstick takes longer, NumPy sorts in another way there; other work may be as fast.
        """
        return arx_seconds * min(1.0, self.yardstick / arx.YARDSTICK)


def say(text: str) -> None:
    """Return how far the run is."""
    print(text, file=sys.stderr, flush=True)


def run_command(arguments: list[str], log: Path, environment: dict[str, str] | None = None) -> measuring.Finished:
    """Run the command line and measure it; a failure ends the benchmark."""
    done = measuring.run([sys.executable, "-m", "indistinct", *arguments], log=log, environment=environment)
    if done.code:
        raise SystemExit(f"indistinct {arguments[0]} left with {done.code}:\n{done.output}{done.errors}")
    return done
