"""Processes that write to one ledger at once, or are killed while they do; run as a program, which may fork safely.

    python ledger_writers.py together URL STORE WRITERS EACH     every writer enters so many releases
    python ledger_writers.py killed URL STORE TIMES SEED         a writer is killed so many times, at random moments

Both print one line for each entry that a writer was told stands: its number and its hash.
"""

from __future__ import annotations

import os
import random
import signal
import sys
import time
from pathlib import Path

from indistinct.ledger.entry import Draft, Entry
from indistinct.ledger.store import HeadMoved, Store

FILE_BYTES = 20_000
AT_A_TIME = 5


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


def forked(url: str, folder: str, recipient: str, times: int | None = None) -> int:
    """Start a writer as a process of its own and give its id."""
    process = os.fork()
    if process:
        return process
    code = 1
    try:
        write_on(url, folder, recipient, times)
        code = 0
    finally:
        os._exit(code)  # the parent's exit handlers are not ours


def together(url: str, folder: str, writers: int, each: int) -> int:
    """Let several writers write at once; give how many of them failed."""
    processes = [forked(url, folder, f"writer {number}", each) for number in range(writers)]
    return sum(os.waitpid(process, 0)[1] != 0 for process in processes)


def killed(url: str, folder: str, times: int, seed: int) -> int:
    """Kill writers, several at a time, each at a moment of its own; give how many of them ended before that."""
    chance = random.Random(seed)
    usual = seconds_for_one_each(url, folder)
    ended = 0
    for _ in range(times // AT_A_TIME):
        processes = [forked(url, folder, "the killed") for _ in range(AT_A_TIME)]
        for process in processes:
            time.sleep(chance.uniform(0, usual / 2))
            os.kill(process, signal.SIGKILL)
            ended += os.waitpid(process, 0)[1] != signal.SIGKILL
    return ended


def seconds_for_one_each(url: str, folder: str) -> float:
    """Give how long it takes here until as many writers, from their start, have entered one release each."""
    started = time.monotonic()
    together(url, folder, AT_A_TIME, 1)
    return time.monotonic() - started


if __name__ == "__main__":
    what, url, folder, first, second = sys.argv[1:]
    failed = {"together": together, "killed": killed}[what](url, folder, int(first), int(second))
    raise SystemExit(1 if failed else 0)
