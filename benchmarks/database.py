"""PostgreSQL beside itself: a release that stays on the server, and the GROUP BY and CREATE TABLE AS of its columns.

CPU seconds are those of this process and of all processes of the server. The server is one of this run alone.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import indistinct as ix
from benchmarks import tables
from benchmarks.setting import Figures, Setting, say
from benchmarks.spark import PEOPLE, policy_of_people

ROWS = 10_000_000
RUNS = 1
GOAL = 2.0
COLUMNS = "age, zip, sex, job"
FLOOR = (
    f"CREATE TEMPORARY TABLE counted AS SELECT {COLUMNS}, count(*) AS n FROM public.people GROUP BY {COLUMNS}",
    f"CREATE TABLE public.copied AS SELECT {COLUMNS}, cost FROM public.people",
)
"""What the server itself takes for the least that a release is: its tuples counted, its columns written."""
GUARANTEED = (
    FLOOR[0],
    f"CREATE TABLE public.copied AS SELECT {COLUMNS}, cost FROM public.people ORDER BY gen_random_uuid()",
    f"CREATE TEMPORARY TABLE recounted AS SELECT {COLUMNS}, count(*) AS n FROM public.copied GROUP BY {COLUMNS}",
)
"""The same in an order that nobody can foretell, and counted again: what the guarantee costs without a label."""


def run_database(setting: Setting) -> list[Figures]:
    """The same table in a server of its own: the floor, a release there, and one that becomes a table there."""
    from helpers import postgres

    if postgres.programs() is None:
        return [{"said": "the server of PostgreSQL is not installed"}]
    with postgres.server() as server:
        rows = setting.sized(ROWS)
        _fill(server, rows, setting.folder)
        address = f"{server.url}/postgres?table=public.people"
        jobs: dict[str, Callable[[], Any]] = {
            "floor": lambda: postgres.run(server.url, *FLOOR, "DROP TABLE public.copied"),
            "guaranteed": lambda: postgres.run(server.url, *GUARANTEED, "DROP TABLE public.copied"),
            "release": lambda: _release(address, goal=None),
            "publish": lambda: _release(address, goal="public.released"),
        }
        best = dict.fromkeys(jobs, float("inf"))
        for _ in range(1 if setting.is_quick else RUNS):  # in turn, so that other work meets all of them
            for name, job in jobs.items():
                with _cpu_seconds(server.process) as taken:
                    job()
                best[name] = min(best[name], taken[0])
        floor = best["floor"]
        found = [
            {"job": name, "rows": rows, "cpu_seconds": round(seconds, 2), "times_floor": round(seconds / floor, 2)}
            for name, seconds in best.items()
        ]
        say(f"  {rows:,} rows in PostgreSQL: {best}")
        return found


def section(found: list[Figures]) -> str:
    """Return the section of the page."""
    if "said" in found[0]:
        return ""
    names = {
        "floor": "its own",
        "guaranteed": "… in random order, counted again",
        "release": "count, recode, recount",
        "publish": "… and publish, recounted there",
    }
    rows = [[names[one["job"]], f"{one['cpu_seconds']:.1f}", _times(one)] for one in found]
    text = f"""{found[0]["rows"]:,} rows × 5 on a server: *its own* is GROUP BY and CREATE TABLE AS of the same columns.
CPU seconds of the server, with its workers, and of Python. The goal is {GOAL:g} times, which the random order
and one recount alone exceed, as plain statements."""
    return tables.section(
        "PostgreSQL beside itself", "database", text, tables.table(["job", "CPU s", "times its own"], rows)
    )


def _times(one: Figures) -> str:
    return f"{one['times_floor']:.1f}{tables.mark(one['times_floor'] / GOAL)}"


def _release(address: str, goal: str | None) -> None:
    with ix.anonymize(address, policy_of_people()) as release:
        if goal is not None:
            release.publish(goal, replace=True)


def _fill(server: Any, rows: int, folder: Path) -> None:
    import duckdb
    import psycopg

    path = folder / "people.csv"
    try:
        with duckdb.connect() as connection:
            connection.execute(f"COPY ({PEOPLE.format(rows=rows)}) TO '{path}' (FORMAT csv, HEADER false)")
        with psycopg.connect(f"{server.url}/postgres") as connection, path.open("rb") as file:
            connection.execute("CREATE TABLE public.people (age int, zip text, sex text, job text, cost int)")
            with connection.cursor().copy("COPY public.people FROM STDIN (FORMAT csv)") as copy:
                while block := file.read(1 << 20):
                    copy.write(block)
        with psycopg.connect(f"{server.url}/postgres", autocommit=True) as connection:
            connection.execute("VACUUM (ANALYZE, FREEZE) public.people")
    finally:
        path.unlink(missing_ok=True)


@contextmanager
def _cpu_seconds(server: int) -> Iterator[list[float]]:
    """Fill in the CPU seconds of this process and of the server's, whose backends have ended by then."""
    taken: list[float] = []
    before = time.process_time() + _seconds_of(server)
    yield taken
    for _ in range(200):  # a backend is counted once its parent has seen its end
        if _backends(server) == 0:
            break
        time.sleep(0.05)
    taken.append(time.process_time() + _seconds_of(server) - before)


def _seconds_of(process: int) -> float:
    """Return the CPU seconds of a process, of the children that ended, and of those that still run."""
    while True:
        try:
            own = [_ticks(child, children=False) for child in _children(process)]
            return sum(own, _ticks(process, children=True)) / os.sysconf("SC_CLK_TCK")
        except (FileNotFoundError, ProcessLookupError):  # a child ended just now: its parent has its time
            Path(f"/proc/{process}/stat").stat()


def _backends(server: int) -> int:
    """Return how many backends serve a client, or help one that does."""
    titles = []
    for child in _children(server):
        with suppress(FileNotFoundError, ProcessLookupError):  # it has just ended
            titles.append(Path(f"/proc/{child}/cmdline").read_bytes())
    return sum(b"127.0.0.1" in title or b"parallel worker" in title for title in titles)


def _children(process: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{process}/task/{process}/children").read_text("ascii").split()]


def _ticks(process: int, *, children: bool) -> int:
    fields = Path(f"/proc/{process}/stat").read_text("utf-8").rpartition(")")[2].split()
    return sum(map(int, fields[11 : 15 if children else 13]))


sys.path.append(str(Path(__file__).resolve().parent.parent / "tests"))
