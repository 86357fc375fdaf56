"""Processes that make whole releases with one ledger and are killed while they do; run as a program, which may fork.

    python releasing_writers.py LEDGER FOLDER TIMES SEED

Each process releases the same small table over and over, to folders of its own, until it is killed at a random moment.
On a busy machine more are started until one has finished a release. One line is printed for each release that was
finished: the folder and the number of its entry.
"""

from __future__ import annotations

import os
import random
import signal
import sys
import time
from pathlib import Path

import pyarrow as pa

import indistinct as ix
from indistinct.ledger.ledger import Ledger

TOLD = ".told"
"""There when a release was finished and told about."""
MOST = 5
"""How many times as many processes are started at the most."""


def release_on(url: str, folder: Path, turn: int) -> None:
    """Make releases until somebody stops it."""
    table = pa.table({"name": list("abcdefgh"), "age": ["1", "2"] * 4, "ill": ["flu", "gout"] * 4})
    policy = ix.Policy(
        columns={"name": ix.identifier(), "age": ix.quasi(ix.suppress()), "ill": ix.sensitive()},
        privacy=[ix.KAnonymity(2)],
    )
    ledger = Ledger(url)
    number = 0
    while True:
        number += 1
        goal = folder / f"{turn}-{number}"
        with ledger.anonymize(table, policy, recipient="R", folder=goal, threads=1) as release:
            os.write(sys.stdout.fileno(), f"{goal.name} {release.entry}\n".encode())
        if turn:
            (folder / TOLD).touch()


def started(url: str, folder: str, turn: int) -> int:
    """Start a process that makes releases and give its id."""
    process = os.fork()
    if process:
        return process
    try:
        release_on(url, Path(folder), turn)
    finally:
        os._exit(1)


def stop(process: int) -> None:
    """Kill a process without a warning."""
    os.kill(process, signal.SIGKILL)
    os.waitpid(process, 0)


def seconds_of_one(url: str, folder: str) -> float:
    """Measure how long a process takes until its first release is there."""
    begin = time.monotonic()
    process = started(url, folder, 0)
    while not (Path(folder) / "0-1").exists():
        time.sleep(0.005)
    stop(process)
    return time.monotonic() - begin


def main(url: str, folder: str, times: str, seed: str) -> None:
    """Start and kill processes, one after the other, most of them in the middle of a release."""
    dice = random.Random(int(seed))
    whole = seconds_of_one(url, folder)
    for turn in range(1, MOST * int(times) + 1):
        if turn > int(times) and (Path(folder) / TOLD).exists():
            break
        process = started(url, folder, turn)
        time.sleep(dice.uniform(0.4, 1.6) * whole)
        stop(process)


if __name__ == "__main__":
    main(*sys.argv[1:])
