"""Wide tables: what the search finds in one, ten and sixty CPU seconds, how far it can be from the optimum, whether ten
minutes prove it, and a plain local search with as much CPU time beside it."""

from __future__ import annotations

import csv
import math
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

import indistinct as ix
from benchmarks import adult, tables
from benchmarks.setting import Figures, K, Setting, say
from benchmarks.wide_spike import plain_search
from benchmarks.wide_tables import Wide, accounts, survey
from indistinct.engine import open_table
from indistinct.pipeline.stages import count
from indistinct.quality import measure_named
from indistinct.search import Task
from indistinct.search.full_domain.lattice import Search

MEASURES = ("precision", "loss")
LIMITS = (0.02, 1.0)
SECONDS = (1.0, 10.0)
BOUND_SECONDS = 60.0
"""How long the search goes on for the sake of its bound, on the tables that are made up."""
PROOF_SECONDS = 600.0
"""How long the survey is searched at most, where it is not proven before."""
MADE_UP = ("survey", "accounts")
COMPARED_SECONDS = 10.0
"""How long the plain local search is given."""


@dataclass(slots=True)
class CpuWatch(ix.Watch):
    """Counts the CPU time of all threads in place of what the clock shows, which a busy machine makes worthless."""

    def start(self) -> None:
        self._started = time.process_time()

    def share_of_time(self) -> float:
        return (time.process_time() - self._started) / self.time_limit if self.time_limit else 0.0

    def time_is_up(self) -> bool:
        return self.time_limit is not None and time.process_time() - self._started >= self.time_limit


def run_wide(setting: Setting) -> list[Figures]:
    """The search on tables of 16 and 24 columns, and on a real one where that lies at hand, stopped after a while."""
    found = []
    for made in _tables(setting):
        seconds = (*SECONDS, BOUND_SECONDS) if made.name in MADE_UP else SECONDS
        for measure in setting.few(MEASURES):
            for limit in LIMITS:
                task = _task(made, limit)
                if not setting.is_quick:
                    _found(task, measure, 2.0)  # compiles what is not compiled
                jobs = [_found(task, measure, 0.05 if setting.is_quick else most) for most in seconds]
                if made.name == "survey" and jobs[-1]["gap"] > 0 and not setting.is_quick:
                    jobs.append(_found(task, measure, PROOF_SECONDS))
                most = 0.05 if setting.is_quick else COMPARED_SECONDS
                plain = plain_search(_afresh(task), measure_named(measure), most)
                one = _described(made, task) | {"measure": measure, "k": K, "max_suppression": limit, "found": jobs}
                one |= {"plain": {"loss": plain.loss, "best_after": plain.seconds, "seconds": most}}
                found.append(one)
                losses = ", ".join(f"{job['seconds']:g} s {job['loss']:.4f} - {job['gap']:.4f}" for job in jobs)
                say(f"  {made.name}, {measure}, {limit:.0%}: {losses}; plain {plain.loss:.4f}")
    return found


def _tables(setting: Setting) -> Iterator[Wide]:
    if setting.is_quick:
        yield survey(300)
        return
    yield survey()
    yield accounts()
    real = _donors()
    if real is None:
        say("  NOT MEASURED: the donors of the KDD Cup 1998; set INDISTINCT_DATA to the folder above cup/")
    else:
        yield real


def _donors() -> Wide | None:
    """The donors of the KDD Cup 1998 with their hierarchies, if the files lie beside Adult's."""
    found = adult.cup()
    if found is None:
        return None
    place, _ = found
    with open(place / "cup.csv", encoding="utf-8", newline="") as file:
        records = list(csv.DictReader(file, delimiter=";"))
    columns = {name: [record[name] for record in records] for name in records[0]}
    hierarchies = {name: ix.levels(_listed(place / f"cup_hierarchy_{name}.csv")) for name in columns}
    return Wide("donors (KDD Cup 1998)", pa.table(columns), hierarchies)


def _listed(path: Path) -> list[list[str]]:
    with open(path, encoding="utf-8", newline="") as file:
        return list(csv.reader(file, delimiter=";"))


def _task(made: Wide, limit: float) -> Task:
    with count({"table": open_table(made.table)}, made.policy(K, limit), ix.Watch()) as counted:
        return counted.task


def _afresh(task: Task) -> Task:
    """Return the task with nothing worked out beforehand."""
    return Task.of(task.frequencies.afresh(), task.policy)


def _found(task: Task, measure: str, seconds: float) -> Figures:
    """Search for so many CPU seconds."""
    watch = CpuWatch(time_limit=seconds)
    search = Search(_afresh(task), watch)
    cpu, wall, begun = time.process_time(), time.perf_counter(), time.monotonic()
    watch.start()
    optimum = search.optimum(measure_named(measure))
    assert optimum is not None, "the top of the lattice is one group"
    assert search.found_at is not None
    return {
        "seconds": seconds,
        "wall_seconds": time.perf_counter() - wall,
        "cpu_seconds": time.process_time() - cpu,
        "best_after": search.found_at - begun,
        "loss": optimum.loss,
        "gap": optimum.proven_or_not().gap,
        "node": list(optimum.recoding.node),
        "suppressed": optimum.recoding.suppressed_rows,
        "checks": search.checks,
    }


def _described(made: Wide, task: Task) -> Figures:
    return {
        "table": made.name,
        "rows": task.frequencies.rows,
        "columns": len(task.frequencies.columns),
        "tuples": len(task.frequencies.base),
        "nodes": math.prod(height + 1 for height in task.frequencies.heights),
    }


def section(figures: list[Figures]) -> str:
    """Write the section of the page."""
    of_table = {one["table"]: one for one in figures}
    sizes = "; ".join(
        f"{name}: {one['rows']:,} × {one['columns']}, {float(one['nodes']):.0e} nodes" for name, one in of_table.items()
    )
    text = f"""{sizes}. k = 5, 2 % suppressed. Each cell is the loss found and the stated gap.
*Longest* allows up to {PROOF_SECONDS:g} s. *Plain* is the local search in `benchmarks/wide_spike.py` with
{COMPARED_SECONDS:g} s."""
    heads = ["table", "measure", "1 s", "longest", "plain"]
    rows = [
        [
            one["table"].split(" (")[0],
            one["measure"],
            *map(_cell, [one["found"][0], one["found"][-1]]),
            f"{one['plain']['loss']:.4f}",
        ]
        for one in figures
        if one["max_suppression"] < 1
    ]
    return tables.section("Wide tables", "wide", text, tables.table(heads, rows))


def _cell(job: Figures) -> str:
    return f"{job['loss']:.4f}, {'proven' if job['gap'] == 0 else format(job['gap'], '.3f')}"
