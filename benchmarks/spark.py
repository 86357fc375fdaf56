"""DuckDB beside Spark on one machine: count, search, recode and verify, and what the driver holds as rows grow.

``python -m benchmarks.spark TABLE ENGINE`` runs one job, with ENGINE duckdb or a master of Spark such as local[2], and
prints its figures as JSON.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import indistinct as ix
from benchmarks import measuring, tables
from benchmarks.setting import Figures, Setting, say

ROWS = (1_000_000, 10_000_000, 50_000_000)
ENGINES = ("duckdb", "local[1]", "local[2]")
MEMORY = "2GB"
HOURS = 3600.0
QUASI = ("age", "zip", "sex", "job")
STAGES = {"count": "count", "search": "search", "release": "recode", "verify": "verify"}
PEOPLE = """
SELECT (20 + hash(i * 7 + 1) % 60)::INTEGER AS age, printf('%05d', (hash(i * 13 + 5) % 100) * 97) AS zip,
       CASE WHEN hash(i * 3) % 2 = 0 THEN 'm' ELSE 'f' END AS sex, 'o' || (hash(i * 11 + 3) % 14) AS job,
       (hash(i * 17) % 1000)::INTEGER AS cost
FROM range({rows}) AS numbers(i)
"""
"""At most 168,000 distinct tuples, however many rows: what the driver holds must not grow with the rows."""


def run_spark(setting: Setting) -> list[Figures]:
    """Each number of rows on each engine, in a process of its own."""
    import duckdb

    from indistinct.engine.spark.session import java_is_there

    if not _has_pyspark() or not java_is_there():
        return [{"said": "pyspark or Java is not installed"}]
    found = []
    for rows in ROWS[:1] if setting.is_quick else ROWS:
        with TemporaryDirectory(dir=setting.folder) as folder:
            table = Path(folder) / "people.parquet"
            with duckdb.connect(config={"memory_limit": MEMORY}) as connection:
                connection.execute(f"COPY ({PEOPLE.format(rows=setting.sized(rows))}) TO '{table}' (FORMAT parquet)")
            for engine in ENGINES[:1] if setting.is_quick else ENGINES:  # tests run a job in a Spark of theirs
                command = [sys.executable, "-m", "benchmarks.spark", str(table), engine]
                done = measuring.run(command, log=Path(folder) / "log", limit=HOURS)
                if done.code:
                    raise SystemExit(f"{engine} left with {done.code}:\n{done.errors}")
                found.append({"rows": setting.sized(rows)} | json.loads(done.output.splitlines()[-1]))
                say(f"  {rows:,} rows, {engine}: {found[-1]['stages']}")
    if len({json.dumps([one["node"], one["suppressed"]]) for one in found if one["rows"] == found[0]["rows"]}) > 1:
        raise SystemExit("the engines do not agree")
    return found


def policy_of_people() -> ix.Policy:
    """Return the policy of these tables."""
    return ix.Policy(
        columns={
            "age": ix.quasi(ix.intervals(5, 10, 20)),
            "zip": ix.quasi(ix.prefix()),
            "sex": ix.quasi(ix.suppress()),
            "job": ix.quasi(ix.suppress()),
            "cost": ix.other(),
        },
        privacy=[ix.KAnonymity(20)],
        max_suppression=0.02,
    )


def job(table: str, engine: str) -> Figures:
    """Release one table and give the times of the stages and the peaks of memory."""
    policy = policy_of_people()
    reading: dict[str, Any] = {"memory_limit": MEMORY}
    if engine != "duckdb":
        reading |= {"engine": "spark", "master": engine}
    marks: list[tuple[str, float, float]] = []

    def mark(stage: str, *_: object) -> None:
        if stage in (*STAGES, "end") and (not marks or marks[-1][0] != stage):
            marks.append((stage, time.perf_counter(), _cpu_seconds(engine)))

    from indistinct.engine import open_table

    with open_table(table, **reading) as rows, ix.anonymize(rows, policy, watch=ix.Watch(progress=mark)) as release:
        mark("end")
        figures = {
            "engine": engine,
            "tuples": len(release.recoding.frequencies.base),
            "node": list((release.node or {}).values()),
            "suppressed": release.suppressed,
            "stages": {
                STAGES[stage]: {"wall_seconds": round(later[1] - wall, 2), "cpu_seconds": round(later[2] - cpu, 2)}
                for (stage, wall, cpu), later in pairwise(marks)
            },
            "driver_bytes": _peak_bytes(os.getpid()),
        }
        if engine != "duckdb":
            figures["java_bytes"] = _peak_bytes(_java())
            figures["recount"] = {
                "own": _seconds_for(lambda: release.verify(), engine),
                "floor": _seconds_for(lambda: release.table.groupBy(*QUASI).count().toArrow(), engine),
            }
    return figures


def _seconds_for(work: Callable[[], object], engine: str) -> float:
    """Return the CPU seconds of some work, the best of two."""
    found = []
    for _ in range(2):
        before = _cpu_seconds(engine)
        work()
        found.append(_cpu_seconds(engine) - before)
    return round(min(found), 2)


def _has_pyspark() -> bool:
    from importlib.util import find_spec

    return find_spec("pyspark") is not None


def _cpu_seconds(engine: str) -> float:
    """Return the CPU seconds of this process and, for Spark, of its Java."""
    return time.process_time() + (0.0 if engine == "duckdb" else _ticks(_java()) / os.sysconf("SC_CLK_TCK"))


def _java() -> int:
    """Return the number of the process in which driver and executor run."""
    from pyspark import SparkContext

    context: Any = SparkContext._active_spark_context
    return int(context._jvm.java.lang.ProcessHandle.current().pid())


def _ticks(process: int) -> int:
    fields = Path(f"/proc/{process}/stat").read_text("utf-8").rpartition(")")[2].split()
    return int(fields[11]) + int(fields[12])


def _peak_bytes(process: int) -> int:
    lines = Path(f"/proc/{process}/status").read_text("utf-8").splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM"))


def section(figures: list[Figures]) -> str:
    """Return the section of the page."""
    if "said" in figures[0]:
        return ""
    heads = ["rows", "engine", "CPU s", "Python MB", "Java MB"]
    rows = [
        [
            f"{one['rows']:,}",
            one["engine"].replace("duckdb", "DuckDB").replace("local", "Spark local"),
            f"{sum(stage['cpu_seconds'] for stage in one['stages'].values()):.1f}",
            f"{one['driver_bytes'] / 1e6:,.0f}",
            f"{one['java_bytes'] / 1e6:,.0f}" if "java_bytes" in one else "",
        ]
        for one in figures
        if one["engine"] != "local[1]"
    ]
    recounts = "".join(
        f" At {one['rows']:,} rows a recount is {one['recount']['own'] / one['recount']['floor']:.1f} times a GROUP BY."
        for one in figures
        if one["engine"] == "local[2]" and "recount" in one
    )
    text = f"""from Parquet to a verified release on one machine, k = 20, at most
{max(one["tuples"] for one in figures):,} distinct tuples, {MEMORY} for DuckDB or for Java's heap. Both
engines make the same release. CPU seconds are of all processes; about 20 of Spark's are Java's compilation. Spark's
Python is the driver, which does not grow with the rows.{recounts}"""
    return tables.section("Spark beside DuckDB", "spark", text, tables.table(heads, rows))


if __name__ == "__main__":
    print(json.dumps(job(*sys.argv[1:])))
