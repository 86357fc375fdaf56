"""Job: one piece of long work in a thread of its own, which tells how far it is and can be cancelled."""

from __future__ import annotations

import atexit
import threading
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

from indistinct.errors import IndistinctError, InterruptedSearchError
from indistinct.progress import Watch

STAGES = {
    "open": "Opening the table",
    "profile": "Looking at the columns",
    "compile": "Preparing the search",
    "count": "Counting the table",
    "search": "Searching",
    "sweep": "Working out every combination of levels",
    "release": "Making the release",
    "verify": "Recounting the release",
    "ledger": "Comparing with earlier releases",
    "queries": "Asking queries",
    "dependencies": "Looking for columns that tell others",
    "weigh": "Trying what protection costs",
    "questions": "Trying what answers cost",
    "mix": "Improving groups",
    "height": "Searching",
    "combinations": "Looking for few columns that single people out",
    "utility": "Measuring utility",
    "risk": "Measuring risk",
    "write": "Writing",
}


PATIENCE = 2.0
"""Seconds that the end of the program waits for a job that was asked to stop."""


class Job:
    """Work that runs beside the pages; whoever shows it asks for its state now and then."""

    def __init__(self, title: str, work: Callable[[Watch], Any]) -> None:
        self.title = title
        self.stage = ""
        self.done: int | None = None
        self.total: int | None = None
        self.error: str | None = None
        self.is_cancelled = False
        self.is_running = True
        self.is_told = False
        """Somebody has seen how it ended."""
        self.started = time.monotonic()
        self.seconds = 0.0
        self._work = work
        self._thread = threading.Thread(target=self._run, name=f"studio: {title}", daemon=True)

    def start(self) -> Job:
        """Begin."""
        _running.add(self)
        self._thread.start()
        return self

    def cancel(self) -> None:
        """Ask the work to stop; it does so at its next step."""
        self.is_cancelled = True

    def wait(self, seconds: float | None = None) -> Job:
        """Wait until the work has ended."""
        self._thread.join(seconds)
        return self

    @property
    def progress(self) -> str:
        """What is being done, in words."""
        before, _, last = self.stage.rpartition(": ")
        stage = STAGES.get(last, f"{last[:1].upper()}{last[1:]}")
        words = f"{before}: {stage.lower()}" if before else stage or self.title
        return f"{words} ({self.done:,} of {self.total:,})" if self.done is not None and self.total else words

    @property
    def share(self) -> float | None:
        """How much of the present step is done, 0 to 1; None if it cannot be told."""
        return self.done / self.total if self.done is not None and self.total else None

    def _report(self, stage: str, done: int | None, total: int | None) -> None:
        self.stage, self.done, self.total = stage, done, total
        if self.is_cancelled:
            raise InterruptedSearchError("cancelled; nothing was changed")

    def _run(self) -> None:
        try:
            self._work(Watch(progress=self._report, is_cancelled=lambda: self.is_cancelled))
        except Exception as error:
            self.error = error_text(error)
        finally:
            self.seconds = time.monotonic() - self.started
            self.is_running = False
            _running.discard(self)


_running: set[Job] = set()
"""Jobs that have begun and not ended."""


@atexit.register
def end_jobs() -> None:
    """Ask what still runs to stop when the program ends, so that it lets go of its tables; nobody waits for long.

    A thread that is cut off holds what it had, also connections, which DuckDB then says were leaked.
    """
    for job in list(_running):
        job.cancel()
    for job in list(_running):
        job.wait(PATIENCE)


def error_text(error: Exception) -> str:
    """Say what went wrong, without quoting a cell: only our own errors promise that they quote none."""
    if isinstance(error, IndistinctError):
        return str(error)
    place = traceback.extract_tb(error.__traceback__)[-1]
    return (
        f"unexpected {type(error).__name__} at {Path(place.filename).name}, line {place.lineno}. "
        "This is a mistake of indistinct: please report it"
    )
