"""Measuring: CPU and wall time, best of several; peak memory of a process; the yardstick that compares machines."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

T = TypeVar("T")

LONG_SECONDS = 20.0
"""A run this long is not repeated."""


@dataclass(frozen=True)
class Time:
    """CPU and wall seconds of the best of several runs."""

    cpu: float
    wall: float
    runs: int

    def to_dict(self) -> dict[str, Any]:
        """Return the figures by name."""
        return {"cpu_seconds": self.cpu, "wall_seconds": self.wall, "runs": self.runs}


class Repeating:
    """Whether work is measured several times; a quick run, whose figures mean nothing, does it once."""

    is_off = False


def best_of(work: Callable[[], T], *, fewest: int = 3, most: int = 15, enough_seconds: float = 2.0) -> tuple[T, Time]:
    """Run some work several times and give its last result and the least CPU time, with the least wall time.

    The first of several runs warms caches and compiled code up and is not counted. With ``fewest`` 0 and no seconds
    there is one run only.
    """
    if Repeating.is_off:
        fewest, most, enough_seconds = 0, 0, 0.0
    cpus: list[float] = []
    walls: list[float] = []
    started = time.perf_counter()
    while len(cpus) <= most:
        cpu, wall = time.process_time(), time.perf_counter()
        result = work()
        cpus.append(time.process_time() - cpu)
        walls.append(time.perf_counter() - wall)
        is_enough = time.perf_counter() - started > enough_seconds
        if is_enough and (len(cpus) > fewest or walls[-1] > LONG_SECONDS):
            break
    counted = slice(1, None) if len(cpus) > 1 else slice(None)
    return result, Time(min(cpus[counted]), min(walls[counted]), len(cpus[counted]))


def yardstick(numbers: int = 20_000_000) -> float:
    """Return the CPU seconds that ``numpy.sort`` takes for 20 million random uint64 (seed 0), best of five.

    NumPy sorts with vectors where the processor has the instructions that it asks for, and takes five times as long
    where not (1.37 s on an AMD EPYC, busy or idle, 0.25 s on an Intel Xeon): who scales by it must not scale up.
    """
    random = np.random.default_rng(0).integers(0, 2**64, numbers, dtype=np.uint64)
    seconds = []
    for _ in range(5):
        started = time.process_time()
        np.sort(random)
        seconds.append(time.process_time() - started)
    return min(seconds)


@dataclass(frozen=True)
class Finished:
    """A process that has ended: its time, the peak of its memory, and what it printed."""

    code: int
    wall: float
    cpu: float
    peak_bytes: int
    output: str
    errors: str


LAUNCHER = """
import json, os, subprocess, sys, time
limit, report, log, errors, *command = sys.argv[1:]
started = time.perf_counter()
with open(log, "wb") as output, open(errors, "wb") as wrong:
    process = subprocess.Popen(command, stdout=output, stderr=wrong)
    while True:
        ended, status, usage = os.wait4(process.pid, os.WNOHANG)
        wall = time.perf_counter() - started
        if ended:
            break
        if wall > float(limit):
            process.kill()
        time.sleep(0.005)
with open(report, "w") as file:
    json.dump([os.waitstatus_to_exitcode(status), wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024], file)
"""
"""Starts a command from a small process: on Linux a process's peak memory counts what its parent held when it began."""


def run(
    command: Sequence[str], *, log: Path, environment: dict[str, str] | None = None, limit: float = 480
) -> Finished:
    """Run a command and measure it; it is ended when the limit of seconds has passed."""
    errors, report = (log.with_name(f"{log.name}.{ending}") for ending in ("errors", "json"))
    launch = [sys.executable, "-S", "-c", LAUNCHER, str(limit), str(report), str(log), str(errors), *command]
    subprocess.run(launch, env=os.environ | (environment or {}), check=True)
    code, wall, cpu, peak = json.loads(report.read_text("utf-8"))
    return Finished(code, wall, cpu, peak, *(path.read_text("utf-8", "replace") for path in (log, errors)))


def machine() -> dict[str, Any]:
    """Describe the machine, as far as it matters for the figures."""
    model = "unknown"
    try:
        lines = Path("/proc/cpuinfo").read_text("utf-8").splitlines()
        model = next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), model)
    except OSError:
        pass
    return {"cores": os.cpu_count(), "processor": model, "load_at_start": round(os.getloadavg()[0], 1)}
