"""Processes that write to one ledger at once, or are killed while they do; run as a program, which may fork safely.

    python ledger_writers.py together URL STORE WRITERS EACH     every writer enters so many releases
    python ledger_writers.py killed URL STORE TIMES SEED         a writer is killed so many times, at random moments
    python ledger_writers.py made URL STORE WRITERS SEED         every writer tries to make the ledger, once
    python ledger_writers.py unmade URL STORE TIMES SEED         a writer is killed while it makes the ledger

The first two print one line for each entry that a writer was told stands: its number and its hash. The others print one
line for each ledger that a writer was told it made: 0 and its head.
"""

from __future__ import annotations

import os
import random
import signal
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path

from indistinct.errors import LedgerError
from indistinct.ledger.store.entry import Draft, Entry
from indistinct.ledger.store.store import HeadMoved, Store

FILE_BYTES = 20_000
AT_A_TIME = 5
SECONDS_TO_MAKE = 0.1


def write_files(folder: Path) -> None:
    """Write what a release would: its table, its manifest and a private file."""
    (folder / "release").mkdir()
    (folder / "release" / "table.csv").write_bytes(os.urandom(FILE_BYTES))
    (folder / "release" / "manifest.json").write_text("{}", "utf-8")
    (folder / "rows.parquet").write_bytes(os.urandom(FILE_BYTES))


def enter(store: Store, recipient: str) -> Entry:
    """Enter a release, again and again until nobody else was quicker."""
    head = store.head
    with store.stage(write_files) as staged:
        while True:
            draft = Draft(recipient=recipient, manifest={}, policy="", files=staged.digests, place=staged.place)
            try:
                return store.append(draft, head)
            except HeadMoved as moved:
                head = moved.head


def write_on(url: str, folder: str, recipient: str, times: int | None = None) -> None:
    """Enter releases, for ever or so many times, and tell about each that stands with one write."""
    store = Store(url, folder=folder)
    while times is None or times > 0:
        entry = enter(store, recipient)
        os.write(sys.stdout.fileno(), f"{entry.number} {entry.hash}\n".encode())
        times = None if times is None else times - 1


def make(url: str, folder: str) -> None:
    """Make the ledger, unless somebody else was quicker."""
    try:
        head = Store.create(url, folder=folder).head
    except LedgerError as error:
        if "already" not in str(error):
            raise
    else:
        os.write(sys.stdout.fileno(), f"0 {head}\n".encode())


def forked(act: Callable[..., None], *arguments: object) -> int:
    """Start a writer as a process of its own and give its id."""
    process = os.fork()
    if process:
        return process
    code = 1
    try:
        act(*arguments)
        code = 0
    except Exception:
        traceback.print_exc()
    finally:
        os._exit(code)  # the parent's exit handlers are not ours


def together(url: str, folder: str, writers: int, each: int) -> int:
    """Let several writers write at once; give how many of them failed."""
    processes = [forked(write_on, url, folder, f"writer {number}", each) for number in range(writers)]
    return sum(os.waitpid(process, 0)[1] != 0 for process in processes)


def killed(url: str, folder: str, times: int, seed: int) -> int:
    """Kill writers, several at a time, each at a moment of its own; give how many of them ended before that."""
    chance = random.Random(seed)
    usual = seconds_for_one_each(url, folder)
    ended = 0
    for _ in range(times // AT_A_TIME):
        processes = [forked(write_on, url, folder, "the killed") for _ in range(AT_A_TIME)]
        for process in processes:
            time.sleep(chance.uniform(0, usual / 2))
            os.kill(process, signal.SIGKILL)
            ended += os.waitpid(process, 0)[1] != signal.SIGKILL
    return ended


def made(url: str, folder: str, writers: int, seed: int) -> int:
    """Let several writers make the ledger at once; give how many of them failed."""
    processes = [forked(make, url, folder) for _ in range(writers)]
    return sum(os.waitpid(process, 0)[1] != 0 for process in processes)


def unmade(url: str, folder: str, times: int, seed: int) -> int:
    """Kill writers while they make the ledger; give how many of them failed before that."""
    chance = random.Random(seed)
    failed = 0
    for _ in range(times):
        process = forked(make, url, folder)
        time.sleep(chance.uniform(0, SECONDS_TO_MAKE))
        os.kill(process, signal.SIGKILL)
        failed += os.waitpid(process, 0)[1] not in (0, signal.SIGKILL)
    return failed


def seconds_for_one_each(url: str, folder: str) -> float:
    """Return how long it takes here until as many writers, from their start, have entered one release each."""
    started = time.monotonic()
    together(url, folder, AT_A_TIME, 1)
    return time.monotonic() - started


if __name__ == "__main__":
    what, url, folder, first, second = sys.argv[1:]
    failed = {"together": together, "killed": killed, "made": made, "unmade": unmade}[what](
        url, folder, int(first), int(second)
    )
    raise SystemExit(1 if failed else 0)
