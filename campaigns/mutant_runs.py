"""Runs of tests against mutants: one warm process has loaded all tests, and each mutant lives in a fork of it.

Once, every test runs as it is, and the lines that it reaches are noted. A mutant then meets only the tests that reach
its statement, quickest first and the last to catch a neighbour before them, until one fails.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import itertools
import os
import resource
import select
import signal
import sys
import time
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import _lru_cache_wrapper
from pathlib import Path
from typing import Any

import coverage
import pytest
from _pytest.runner import runtestprotocol

from campaigns.mutating import Live, Mutant, live_functions, plant

EXPENSIVE = {"browser", "spark", "window"}
"""Fixtures and parameters that start other programs; no mutant is met there."""
SERVERS = {"postgres_server", "postgres_url", "postgresql"}
"""Those that share one server; mutants are met there if somebody asks for it."""
LONGEST_TEST = 1.5
"""Seconds of processor time from which a test is left out."""
PATIENCE, GRACE = 15.0, 10.0
"""A test that takes so many times as long as it did, and so many seconds more, hangs."""
MORE_MEMORY = 8 << 30
PR_SET_PDEATHSIG = 1
"""Of Linux: the signal that a process gets when its parent ends."""
KILLED, HUNG, SURVIVED, UNREACHED, UNPLANTED = "killed", "hung", "survived", "unreached", "unplanted"


@dataclass
class Fate:
    """What became of a mutant, and which test ended it."""

    mutant: Mutant
    fate: str
    test: str = ""
    tests: int = 0
    """How many ran."""


@dataclass
class Reached:
    """The tests that can be run, how long each takes, and which of them reach a line."""

    seconds: list[float] = field(default_factory=list)
    by_line: dict[str, dict[int, set[int]]] = field(default_factory=lambda: defaultdict(lambda: defaultdict(set)))
    """Numbers of tests by file below the package, and line."""

    def tests_of(self, mutant: Mutant) -> list[int]:
        """Return the tests that reach a mutant's statement, quickest first."""
        lines = self.by_line.get(mutant.file, {})
        found = set().union(*(lines.get(line, set()) for line in mutant.lines))
        return sorted(found, key=lambda number: self.seconds[number])


class MutantRuns:
    """A plugin of pytest: in the place of running the tests, it gives them to a campaign."""

    def __init__(
        self,
        package: Path,
        rooms: list[Path],
        campaign: Callable[[MutantRuns], None],
        *,
        with_slow: bool = True,
        with_servers: bool = False,
    ) -> None:
        self.package, self.rooms, self.campaign, self.with_slow = package, rooms, campaign, with_slow
        self.avoided = EXPENSIVE if with_servers else EXPENSIVE | SERVERS
        self.items: list[pytest.Item] = []
        self.reached = Reached()
        self.left_out: list[str] = []
        self._live: Live = {}
        self._caches: list[Any] = []
        self._first: dict[tuple[str, str], list[int]] = defaultdict(list)
        """The tests that caught mutants of a function, the latest first."""
        self._steady: dict[int, bool] = {}

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Leave out what starts other programs; laws do not look for the smallest example when they fail."""
        from hypothesis import Phase, settings

        def is_cheap(item: pytest.Item) -> bool:
            given = getattr(getattr(item, "callspec", None), "params", {}).values()
            asked = {*getattr(item, "fixturenames", ()), *(value for value in given if isinstance(value, str))}
            return not asked & self.avoided and (self.with_slow or item.get_closest_marker("slow") is None)

        items[:] = [item for item in items if is_cheap(item)]
        for item in items:
            law = getattr(item, "obj", None)
            used = getattr(law, "_hypothesis_internal_use_settings", None)
            if used is not None:
                law._hypothesis_internal_use_settings = settings(used, phases=(Phase.explicit, Phase.generate))

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        """Note what tests reach, then let the campaign plant its mutants."""
        self.items = list(session.items)
        self._note_lines()
        gc.unfreeze()  # what somebody froze is not listed
        self._live = live_functions(self.package)
        self._caches = [value for value in gc.get_objects() if _is_cache(value)]
        gc.collect()
        gc.freeze()  # forks share what is not touched
        try:
            self.campaign(self)
        finally:
            gc.unfreeze()
        return True

    def fate_of(self, mutant: Mutant, seconds: float) -> Fate:
        """Plant a mutant in a fork and run the tests that reach it, until one fails or so much time has passed."""
        tests = [number for number in self.reached.tests_of(mutant) if self._steady.get(number, True)]
        if not tests:
            return Fate(mutant, UNREACHED)
        caught = self._first[mutant.file, mutant.function]
        tests = [number for number in caught if number in tests] + [number for number in tests if number not in caught]
        spent = itertools.accumulate(self.reached.seconds[number] for number in tests)
        tests = [number for number, so_far in zip(tests, spent, strict=True) if so_far <= seconds] or tests[:1]
        fate = self._forked(mutant, tests)
        while fate.test and not self._is_steady(tests[fate.tests - 1]):
            tests.remove(tests[fate.tests - 1])
            if not tests:
                return Fate(mutant, UNREACHED)
            fate = self._forked(mutant, tests)
        if fate.test:
            number = tests[fate.tests - 1]
            caught[:] = [number, *(other for other in caught if other != number)][:5]
        return fate

    def _is_steady(self, number: int) -> bool:
        """Return whether a test passes in a fork where nothing is planted; else its failures say nothing of mutants."""
        if number not in self._steady:
            self._steady[number] = self._forked(None, [number]).fate == SURVIVED
            if not self._steady[number]:
                self.left_out.append(self.items[number].nodeid)
        return self._steady[number]

    def _forked(self, mutant: Mutant | None, tests: list[int]) -> Fate:
        """Run tests in a fork, which tells of each that passed; give what became of the mutant."""
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(reading)
            self._run_in_fork(mutant, tests, writing)
        os.close(writing)
        done = 0
        try:
            while True:
                limit = GRACE + PATIENCE * (self.reached.seconds[tests[done]] if done < len(tests) else 1.0)
                ready, _, _ = select.select([reading], [], [], limit * _crowd())
                told = os.read(reading, 1) if ready else b"h"
                if told == b"+":
                    done += 1
                    continue
                fate = {b"h": HUNG, b"-": KILLED, b"p": UNPLANTED, b".": SURVIVED}.get(told, KILLED)
                at = self.items[tests[done]].nodeid if done < len(tests) and fate in (KILLED, HUNG) else ""
                return Fate(mutant, fate, at, min(done + 1, len(tests)))  # type: ignore[arg-type]
        finally:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(child, signal.SIGKILL)
            with contextlib.suppress(ProcessLookupError):
                os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            os.close(reading)

    def _run_in_fork(self, mutant: Mutant | None, tests: list[int], writing: int) -> None:
        """Plant, run and tell; never come back."""
        try:
            os.setsid()
            _end_with_parent()
            silence = os.open(os.devnull, os.O_RDWR)
            for stream in (0, 1, 2):
                os.dup2(silence, stream)
            pages = int(Path("/proc/self/statm").read_text("ascii").split()[0])
            most = pages * resource.getpagesize() + MORE_MEMORY
            resource.setrlimit(resource.RLIMIT_AS, (most, most))
            for cached in self._caches:
                cached.cache_clear()
            if mutant is not None and not plant(mutant, self.package, self._live):
                os.write(writing, b"p")
                os._exit(0)
            items = [self.items[number] for number in tests]
            for place, number in enumerate(tests):
                following = _following(items, place) or _following(self.items, number)
                os.write(writing, b"+" if _passes(self.items[number], following) else b"-")
            os.write(writing, b".")
        except BaseException:
            os.write(writing, b"-")
        finally:
            os._exit(0)

    def _note_lines(self) -> None:
        """Run every test once, and note its time and the lines that it reaches; the steady ones are kept."""
        include = [f"{room}/*" if room.is_dir() else str(room) for room in self.rooms]
        watched = coverage.Coverage(data_file=None, include=include, config_file=False)
        watched.start()
        number_of: dict[str, int] = {}
        passed: list[pytest.Item] = []
        for place, item in enumerate(self.items):
            watched.switch_context(str(place))
            following = _following(self.items, place)
            is_good, took = _timed(item, following)
            if is_good and took > LONGEST_TEST:  # the first to ask for a kernel or a module waits for it
                is_good, took = _timed(item, following)
            if is_good and took <= LONGEST_TEST:
                number_of[str(place)] = len(passed)
                passed.append(item)
                self.reached.seconds.append(took)
            else:
                self.left_out.append(item.nodeid)
        watched.stop()
        self.items = passed
        data = watched.get_data()
        for file in data.measured_files():
            lines = self.reached.by_line[Path(file).relative_to(self.package).as_posix()]
            for line, contexts in data.contexts_by_lineno(file).items():
                lines[line].update(number_of[name] for name in contexts if name in number_of)


def _end_with_parent() -> None:
    """Let this fork be killed when the process ends that made it: a mutant may run for ever."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def _crowd() -> float:
    """Return how many processes share a processor now, at least 1: who waits for it does not hang."""
    return max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1))


def _is_cache(value: object) -> bool:
    return type(value) is _lru_cache_wrapper and str(value.__module__).startswith("indistinct")


def _following(items: list[pytest.Item], place: int) -> pytest.Item | None:
    """Return the test that comes next, after the last the first: what all of them share is kept for the forks."""
    return items[(place + 1) % len(items)] if len(items) > 1 else None


def _timed(item: pytest.Item, following: pytest.Item | None) -> tuple[bool, float]:
    """Run one test, and tell whether it passed and how much processor time it took."""
    before = time.process_time()
    is_good = _passes(item, following)
    return is_good, time.process_time() - before


def _passes(item: pytest.Item, following: pytest.Item | None) -> bool:
    """Run one test with its fixtures, and tell whether it passed or was skipped."""
    example = getattr(item, "dtest", None)
    if example is not None:  # an example clears its names when it has run
        names = vars(item).setdefault("names_before", dict(example.globs))
        example.globs = dict(names)
    return not any(report.failed for report in runtestprotocol(item, log=False, nextitem=following))


def run_tests(runs: MutantRuns, tests: list[str], root: Path) -> None:
    """Collect tests and hand them to the plugin; raise if they cannot be collected."""
    options = [
        "-q",
        "-p",
        "no:cacheprovider",
        "-p",
        "no:xdist",
        "-p",
        "no:cov",
        "--rootdir",
        str(root),
        "-c",
        str(root / "pyproject.toml"),
    ]
    code = pytest.main([*options, *tests], plugins=[runs])
    if code not in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED):
        raise RuntimeError(f"the tests could not be collected: pytest left with {code!r}")
