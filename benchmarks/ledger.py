"""Releasing again and again with a ledger: how long a release of a million rows is checked against earlier ones."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import indistinct as ix
from benchmarks import tables
from benchmarks.setting import Figures, Setting, say
from indistinct.progress import Watch

ROWS = 1_000_000
EARLIER = 10
NEW_EACH_TIME = 0.01
"""The share of people who come in between two releases."""
PEOPLE = """
SELECT 'p' || i AS name, (20 + hash(i * 7 + 1) % 60)::INTEGER AS age,
       printf('%05d', (hash(i * 13 + 5) % 50) * 7) AS zip,
       CASE WHEN hash(i * 3) % 2 = 0 THEN 'm' ELSE 'f' END AS sex, 'i' || (hash(i * 17) % 40) AS illness
FROM range({rows}) AS numbers(i)
"""


def run_ledger(setting: Setting) -> list[Figures]:
    """Release a growing table once and ten times more, each time to somebody else, and keep to what was released."""
    import duckdb

    rows = setting.sized(ROWS)
    policy = ix.Policy(
        columns={
            "name": ix.identifier(),
            "age": ix.quasi(ix.intervals(5, 10, 20)),
            "zip": ix.quasi(ix.prefix(5)),
            "sex": ix.quasi(ix.suppress()),
            "illness": ix.sensitive(),
        },
        privacy=[ix.KAnonymity(5), ix.LDiversity(2)],
        max_suppression=0.05,
    )
    found: list[Figures] = []
    with TemporaryDirectory(dir=setting.folder) as folder:
        scratch = Path(folder)
        with ix.Ledger.create(scratch / "ledger.db") as ledger:
            for earlier in range(2 if setting.is_quick else EARLIER + 1):
                number = int(rows * (1 + NEW_EACH_TIME * earlier))
                table = scratch / "people.parquet"
                duckdb.sql(PEOPLE.format(rows=number)).write_parquet(str(table))
                stages, progress = _clock()
                cpu, wall = time.process_time(), time.perf_counter()
                release = ledger.anonymize(
                    table, policy, recipient=f"recipient {earlier}", again="consistent", watch=Watch(progress=progress)
                )
                one: Figures = {
                    "rows": number,
                    "earlier": earlier,
                    "cpu_seconds": time.process_time() - cpu,
                    "wall_seconds": time.perf_counter() - wall,
                    "check_wall_seconds": stages()["ledger"][0],
                    "check_cpu_seconds": stages()["ledger"][1],
                    "suppressed": release.suppressed,
                    "smallest_cell": ledger.entries[-1].details["smallest_cell"],
                    "cells": ledger.entries[-1].details["cells"],
                }
                release.close()
                say(
                    f"  {number:,} rows against {earlier} earlier releases: check {one['check_wall_seconds']:.1f} s, "
                    f"in all {one['wall_seconds']:.1f} s wall, {one['cpu_seconds']:.1f} s CPU"
                )
                found.append(one)
    return found


Clock = tuple[float, float]
"""Wall and CPU seconds."""


def _clock() -> tuple[Callable[[], dict[str, Clock]], Callable[[str, Any, Any], None]]:
    """Return what sums the wall and CPU seconds of each stage, and what is told when one begins."""
    began: list[tuple[str, Clock]] = []

    def now() -> Clock:
        return time.perf_counter(), time.process_time()

    def progress(stage: str, done: Any, total: Any) -> None:
        if not began or began[-1][0] != stage:
            began.append((stage, now()))

    def stages() -> dict[str, Clock]:
        ends = [at for _, at in began[1:]] + [now()]
        sums: dict[str, Clock] = {}
        for (stage, start), end in zip(began, ends, strict=True):
            wall, cpu = sums.get(stage, (0.0, 0.0))
            sums[stage] = wall + end[0] - start[0], cpu + end[1] - start[1]
        return sums

    return stages, progress


def section(figures: list[Figures]) -> str:
    """Return the section of the page: the first releases, and the last."""
    shown = figures if len(figures) < 4 else [*figures[:2], figures[len(figures) // 2], figures[-1]]
    text = """people who grow by 1 % from one release to the next, each release to another recipient, 5-anonymity
and 2-diversity, `again="consistent"`. *Check* joins a release with all earlier ones; *in all* is from Parquet to
the entry."""
    heads = ["rows", "earlier releases", "check: CPU s", "in all: CPU s", "cells", "smallest"]
    rows = [
        [
            f"{one['rows']:,}",
            one["earlier"],
            f"{one['check_cpu_seconds']:.1f}",
            f"{one['cpu_seconds']:.1f}",
            f"{one['cells']:,}",
            f"{one['smallest_cell']:,}",
        ]
        for one in shown
    ]
    return tables.section("Releasing again with a ledger", "ledger", text, tables.table(heads, rows))
