"""How far it goes: a lattice of 21 million nodes, stopped at any time, and a table of 100 million rows."""

from __future__ import annotations

import math
import os
import time
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.data import Counted, wide
from benchmarks.setting import LIMIT, Figures, K, Setting, run_command, say
from indistinct.progress import Watch
from indistinct.quality import Precision
from indistinct.search.full_domain.lattice import Search

COLUMNS = 15
HUGE = ((20_000_000, "3GB", None), (100_000_000, "4GB", 20_000_000))
"""Rows, the memory of the whole process, and the tuples that are counted at most; the larger table is left out where
the machine is busy."""
POLICY = """version = 1
max_suppression = 0.02
[columns]
age = { role = "quasi", hierarchy = { intervals = [5, 10, 20] } }
zip = { role = "quasi", hierarchy = { prefix = 5 } }
sex = { role = "quasi", hierarchy = { suppress = "*" } }
country = { role = "quasi", hierarchy = { suppress = "*" } }
job = { role = "quasi", hierarchy = { suppress = "*" } }
cost = { role = "other" }
[[privacy]]
model = "k-anonymity"
k = 5
"""
PEOPLE = """
SELECT (20 + hash(i * 7 + 1) % 60)::INTEGER AS age, printf('%05d', (hash(i * 13 + 5) % 2000) * 7) AS zip,
       CASE WHEN hash(i * 3) % 2 = 0 THEN 'm' ELSE 'f' END AS sex, 'c' || (hash(i * 5 + 2) % 30) AS country,
       'o' || (hash(i * 11 + 3) % 14) AS job, (hash(i * 17) % 1000)::INTEGER AS cost
FROM range({rows}) AS numbers(i)
"""
"""Rows that are nearly all distinct: the hardest case for a list of distinct tuples."""


def run_anytime(setting: Setting) -> list[Figures]:
    """The search on Adult with six more columns, stopped after some time and not stopped at all."""
    counted = Counted.of(wide(setting.adult, 10 if setting.is_quick else COLUMNS))
    task = counted.task(K, LIMIT)
    found = []
    for limit in (0.01, None) if setting.is_quick else (1.0, 5.0, None):
        search = Search(task, Watch(time_limit=limit))
        cpu, wall = time.process_time(), time.perf_counter()
        optimum = search.optimum(Precision())
        assert optimum is not None  # all in one group is always possible here
        one: Figures = {
            "time_limit": limit,
            "columns": len(counted.rows.columns),
            "nodes": math.prod(height + 1 for height in task.frequencies.heights),
            "tuples": len(task.frequencies.base),
            "cpu_seconds": time.process_time() - cpu,
            "wall_seconds": time.perf_counter() - wall,
            "checks": search.checks,
            "loss": optimum.loss,
            "bound": optimum.bound,
        }
        say(f"  limit {limit}: {one['wall_seconds']:.1f} s, loss {optimum.loss:.4f}, at least {optimum.bound:.4f}")
        found.append(one)
    return found


def run_huge(setting: Setting) -> list[Figures]:
    """Tables of 20 and 100 million rows and six columns, from Parquet to verified Parquet, with limited memory."""
    found = []
    for rows, memory, most in HUGE:
        if found and (os.getloadavg()[0] > (os.cpu_count() or 1) or setting.is_quick):
            say(f"  {rows:,} rows are left out: the machine is busy")
            continue
        found.append(_from_parquet_to_parquet(setting, setting.sized(rows), memory, most))
    return found


def _from_parquet_to_parquet(setting: Setting, rows: int, memory: str, most: int | None) -> Figures:
    import duckdb

    with TemporaryDirectory(dir=setting.folder) as folder:
        scratch = Path(folder)
        table, policy = scratch / "people.parquet", scratch / "policy.toml"
        policy.write_text(POLICY, "utf-8")
        say(f"  making {rows:,} rows")
        with duckdb.connect(config={"memory_limit": memory}) as connection:
            connection.execute(f"COPY ({PEOPLE.format(rows=rows)}) TO '{table}' (FORMAT parquet)")
        command = ["anonymize", str(policy), str(table), "-o", str(scratch / "out"), "--memory", memory, "--json"]
        command += [] if most is None else ["--max-tuples", str(most)]
        done = run_command(command, scratch / "log")
        one: Figures = {
            "rows": rows,
            "memory_limit": memory,
            "max_tuples": most,
            "file_bytes": table.stat().st_size,
            "cpu_seconds": done.cpu,
            "wall_seconds": done.wall,
            "peak_bytes": done.peak_bytes,
        }
    say(f"  {rows:,} rows: {done.wall:.0f} s, {done.cpu:.0f} s CPU, {done.peak_bytes / 1e9:.1f} GB")
    return one
