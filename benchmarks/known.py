"""Few known columns: the search and Regroup where nobody knows more than m columns, beside listing the sets by hand."""

from __future__ import annotations

import time
from dataclasses import replace
from itertools import combinations

import indistinct as ix
from benchmarks import measuring, tables
from benchmarks.data import Counted, policy
from benchmarks.setting import LIMIT, Figures, K, Setting, say
from benchmarks.wide import CpuWatch
from benchmarks.wide_tables import accounts
from indistinct.engine import open_table
from indistinct.pipeline.stages import count
from indistinct.search import Task

SECONDS = 30.0


def run_known(setting: Setting) -> list[Figures]:
    """Adult with two and three known columns, natively and listed; and 24 columns with three, stopped after a while."""
    plain = Counted.of(setting.adult).task(K, LIMIT)
    small = replace(plain, policy=ix.Policy(policy(setting.adult, K, LIMIT).columns, [ix.KAnonymity(K)], LIMIT))
    ways = ("known", "listed", "regroup")
    found = [_measured("Adult", small, known, way) for known in setting.few((2, 3)) for way in ways]
    made = accounts(300 if setting.is_quick else 30_000)
    with count({"table": open_table(made.table)}, made.policy(K, LIMIT), ix.Watch()) as counted:
        wide = counted.task
    return [*found, _measured(made.name, wide, 3, "known", 0.2 if setting.is_quick else SECONDS)]


def _measured(name: str, plain: Task, known: int, way: str, seconds: float | None = None) -> Figures:
    """Search once to compile, and once more, afresh, by the clock."""
    asked = replace(plain.policy, privacy=[ix.KAnonymity(K, known=known)])
    if way == "listed":
        sets = {str(number): own for number, own in enumerate(combinations(asked.quasi, known))}
        asked = replace(asked, privacy=[ix.KAnonymity(K)], quasi_identifiers=sets)
    task = Task.of(plain.frequencies, asked)
    algorithm = ix.Regroup() if way == "regroup" else ix.Lattice()
    if not measuring.Repeating.is_off:
        algorithm.run(task, ix.Watch(time_limit=0.5 if seconds else None))
    watch, cpu = CpuWatch(time_limit=seconds), time.process_time()
    watch.start()
    recoding = algorithm.run(Task.of(task.frequencies.afresh(), asked), watch)
    one = {
        "table": name,
        "columns": len(asked.quasi),
        "known": known,
        "way": way,
        "cpu_seconds": time.process_time() - cpu,
        "precision": ix.Precision().value(recoding),
        "ncp": ix.NCP().loss(recoding),
        "suppressed": recoding.suppressed_rows,
        "gap": recoding.gap,
    }
    say(f"  {name}, known = {known}, {way}: {one['cpu_seconds']:.2f} CPU s, precision {one['precision']:.4f}")
    return one


def section(figures: list[Figures]) -> str:
    """Return the section of the page."""
    text = f"""k = 5, 2 % suppressed, [`known = m`](models.md#known-columns). *listed* names all sets of m columns
as quasi-identifiers; *regroup* is local and suppresses nothing. The search was stopped after {SECONDS:.0f} CPU s."""
    heads = ["table, columns", "m", "by", "CPU s", "NCP", "gap"]
    rows = [
        [
            f"{one['table']}, {one['columns']}",
            one["known"],
            one["way"],
            f"{one['cpu_seconds']:.2f}",
            f"{one['ncp']:.4f}",
            "" if one["gap"] is None else "proven" if not one["gap"] else f"{one['gap']:.3f}",
        ]
        for one in figures
    ]
    return tables.section("Few known columns", "known", text, tables.table(heads, rows))
