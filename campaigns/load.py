"""Load: releases of all kinds, one after the other in one process, which must not grow.

    python -m campaigns load --inputs 1000 --seed 0
    python -m campaigns load --minutes 10            a day in ten minutes: a random mix, as much as the time allows

Memory, objects of Python, threads and open files are measured after every few releases. After a warm-up, none of them
may rise with the number of releases; nothing may be left in the temporary folder.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import os
import random
import resource
import shutil
import statistics
import tempfile
import threading
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import indistinct as ix
from campaigns.running import Options, Outcome

EVERY = 20
"""Releases between two measurements."""
KEPT = 8
"""Releases that somebody holds on to without closing them."""
TABS = 5
PER_LEDGER = 12
"""Entries after which a ledger is put away: each release is checked against all before it."""
TOLERANCE = {"bytes of memory": 24_000.0, "objects of Python": 4.0, "threads": 0.01, "open files": 0.01}
"""How much each may rise for one release, in the mean; memory is never quite steady."""


@dataclass
class Office:
    """What releases share: the folder, the ledger of the day, the releases that are kept, the tabs."""

    folder: Path
    kept: deque[Any] = field(default_factory=lambda: deque(maxlen=KEPT))
    ledger: Any = None
    entered: int = 0
    ledgers: int = 0

    @contextlib.contextmanager
    def place(self) -> Iterator[Path]:
        """Return a folder for one case."""
        made = Path(tempfile.mkdtemp(dir=self.folder))
        try:
            yield made
        finally:
            shutil.rmtree(made)


def run(options: Options, leak: Callable[[], object] | None = None) -> Outcome:
    """Make releases and watch the process; ``leak`` is called with each, to see that growth is found."""
    outcome = Outcome(options)
    folder = Path(tempfile.mkdtemp(prefix="load-"))
    before, tempfile.tempdir = tempfile.tempdir, str(folder)
    office = Office(folder)
    measured: list[dict[str, float]] = []
    every = int(options.more.get("every", EVERY))
    try:
        for case in options.cases():
            dice = options.dice(case)
            kind = dice.choices(list(KINDS), [weight for weight, _ in KINDS.values()])[0]
            try:
                KINDS[kind][1](office, dice)
            except Exception as error:
                outcome.add(case, f"{kind}: {type(error).__name__}: {error}")
            if leak is not None:
                leak()
            outcome.figures[kind] += 1
            outcome.cases += 1
            if outcome.cases % every == 0:
                measured.append(measure())
        _put_away(office)
        left = [path.name for path in folder.iterdir()]
        if [name for name in left if not name.startswith("indistinct-")] or len(left) > 1:  # one is the engine's
            outcome.add(outcome.cases, f"left in the temporary folder: {sorted(left)[:5]}")
    finally:
        tempfile.tempdir = before
        shutil.rmtree(folder, ignore_errors=True)
    for what in growing(measured, every):
        outcome.add(outcome.cases, what)
    outcome.notes |= described(measured)
    return outcome


def measure() -> dict[str, float]:
    """Return what the process holds, after what nobody uses was collected."""
    gc.collect()
    with contextlib.suppress(OSError, AttributeError):  # what the C library keeps for later is no growth
        ctypes.CDLL(None).malloc_trim(0)
    pages = int(Path("/proc/self/statm").read_text("ascii").split()[1])
    return {
        "bytes of memory": pages * resource.getpagesize(),
        "objects of Python": len(gc.get_objects()),
        "threads": len(os.listdir("/proc/self/task")),
        "open files": len(os.listdir("/proc/self/fd")),
    }


def growing(measured: list[dict[str, float]], every: int) -> list[str]:
    """Find what rises with the number of releases: the last third against the one before it, by their medians.

    >>> steady = [{name: 1000.0 for name in TOLERANCE}] * 9
    >>> growing(steady, 20)
    []
    >>> growing([one | {"threads": 1000.0 + place} for place, one in enumerate(steady)], 20)
    ['threads rise by 0.05 for each release']
    """
    third = len(measured) // 3
    found = []
    for name, most in TOLERANCE.items() if third else ():
        values = [one[name] for one in measured[-2 * third :]]
        early, late = values[:third], values[third:]
        rise = (statistics.median(late) - statistics.median(early)) / (third * every)
        if rise > most:
            found.append(f"{name} rise by {rise:,.2f} for each release")
    return found


def described(measured: list[dict[str, float]]) -> dict[str, str]:
    """Return what was measured after the warm-up, and at the end."""
    if not measured:
        return {}
    first, last = measured[len(measured) // 3], measured[-1]
    return {f"{name}, after a third and at the end": f"{first[name]:,.0f} and {last[name]:,.0f}" for name in TOLERANCE}


def _table(dice: random.Random, rows: int = 60) -> Any:
    import pyarrow as pa

    return pa.table(
        {
            "name": [f"person {dice.random()}" for _ in range(rows)],
            "age": [dice.randrange(20, 60) for _ in range(rows)],
            "zip": [str(dice.randrange(10000, 10100)) for _ in range(rows)],
            "ill": [dice.choice(["flu", "gout", "cold", "cough"]) for _ in range(rows)],
        }
    )


def _policy(k: int = 3, **more: Any) -> ix.Policy:
    columns = {
        "name": ix.identifier(),
        "age": ix.quasi(ix.intervals(10, 20)),
        "zip": ix.quasi(ix.prefix(5)),
        "ill": ix.sensitive(),
    }
    return ix.Policy(columns=columns, privacy=[ix.KAnonymity(k)], **more)


def _frame(office: Office, dice: random.Random) -> None:
    table = _table(dice)
    kind = dice.choice(["arrow", "pandas", "polars"])
    given = table if kind == "arrow" else table.to_pandas() if kind == "pandas" else _polars(table)
    with ix.anonymize(given, _policy()) as release:
        assert len(release.table) > 0


def _polars(table: Any) -> Any:
    import polars

    return polars.from_arrow(table)


def _file(office: Office, dice: random.Random) -> None:
    import pyarrow.csv
    import pyarrow.parquet

    with office.place() as place:
        if dice.random() < 0.5:
            path = place / "people.csv"
            pyarrow.csv.write_csv(_table(dice), path)
        else:
            path = place / "people.parquet"
            pyarrow.parquet.write_table(_table(dice), path)
        with ix.anonymize(path, _policy()) as release:
            release.write(place / "out")
        assert ix.verify(place / "out", _policy(), original=path).passed


def _kept(office: Office, dice: random.Random) -> None:
    office.kept.append(ix.anonymize(_table(dice), _policy()))  # the oldest is forgotten, not closed


def _with_ledger(office: Office, dice: random.Random) -> None:
    if office.ledger is None or office.entered >= PER_LEDGER:
        _put_away(office, keep_releases=True)
        office.ledgers += 1
        office.ledger = ix.Ledger.create(office.folder / f"ledger-{office.ledgers}.db")
    office.entered += 1
    with office.ledger.anonymize(_table(dice, 30), _policy(), recipient="R", again="consistent") as release:
        assert release.entry == office.entered


def _put_away(office: Office, *, keep_releases: bool = False) -> None:
    """Close what is open for longer than one release."""
    if office.ledger is not None:
        office.ledger.close()
        (office.folder / f"ledger-{office.ledgers}.db").unlink()
        shutil.rmtree(office.folder / f"ledger-{office.ledgers}.db.store")
    office.ledger, office.entered = None, 0
    if not keep_releases:
        office.kept.clear()
        gc.collect()


def _two_tables(office: Office, dice: random.Random) -> None:
    policy = ix.Policy(columns=_policy().columns, privacy=[ix.LDiversity(2, "distinct")], max_suppression=0.2)
    with office.place() as place, ix.anonymize(_table(dice), policy, algorithm="anatomy") as release:
        release.write(place / "out")


def _local(office: Office, dice: random.Random) -> None:
    with ix.anonymize(_table(dice), _policy(), algorithm=dice.choice(["mondrian", "regroup", "datafly"])) as release:
        release.verify()


def _failure(office: Office, dice: random.Random) -> None:
    """Ask for what cannot be: too large a k, a column that is not there, a target that is taken."""
    which = dice.randrange(3)
    try:
        if which == 0:
            ix.anonymize(_table(dice, 10), _policy(11))
        elif which == 1:
            ix.anonymize(_table(dice).drop_columns(["zip"]), _policy())
        else:
            with office.place() as place, ix.anonymize(_table(dice), _policy()) as release:
                (place / "taken").write_text("taken", "utf-8")
                release.write(place)
    except ix.IndistinctError:
        return
    raise AssertionError("what cannot be was done")


def _tabs(office: Office, dice: random.Random) -> None:
    """Let five stewards work in the studio at once, each in a thread, as tabs do."""
    from indistinct.studio.work import Work

    start = threading.Barrier(TABS)

    def steward(number: int) -> None:
        with office.place() as place:
            work = Work(folder=place)
            try:
                start.wait()
                work.open_example(("hospital", "samarati")[number % 2])
                work.anonymize()
                assert work.release is not None
                work.write(str(place / "out"))
            finally:
                work.close()

    with ThreadPoolExecutor(TABS) as tabs:
        list(tabs.map(steward, range(TABS)))


KINDS: dict[str, tuple[float, Callable[[Office, random.Random], None]]] = {
    "releases of frames": (6, _frame),
    "releases of files, written and verified": (3, _file),
    "releases that are kept and forgotten": (3, _kept),
    "releases with the ledger": (2, _with_ledger),
    "releases of two tables": (2, _two_tables),
    "releases by other algorithms": (2, _local),
    "failures": (3, _failure),
    "five studio tabs at once": (0.4, _tabs),
}
"""What a case may be, how often, and what it does."""
