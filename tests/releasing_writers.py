"""Processes that make whole releases with one ledger and are killed while they do; run as a program, which may fork.

    python releasing_writers.py LEDGER FOLDER TIMES SEED

Each process releases the same small table over and over, to folders of its own, until it is killed at a random moment.
One line is printed for each release that was finished: the folder and the number of its entry.
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


def main(url: str, folder: str, times: str, seed: str) -> None:
    """Start and kill processes, one after the other."""
    dice = random.Random(int(seed))
    for turn in range(int(times)):
        process = os.fork()
        if process == 0:
            try:
                release_on(url, Path(folder), turn)
            finally:
                os._exit(1)
        time.sleep(dice.uniform(0.3, 1.2))
        os.kill(process, signal.SIGKILL)
        os.waitpid(process, 0)


if __name__ == "__main__":
    main(*sys.argv[1:])
