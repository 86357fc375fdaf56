"""The review of a ledger with many small releases: what it costs, and whether a planted weakness raises its notice."""

from __future__ import annotations

import random
import time
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow as pa

import indistinct as ix
from benchmarks import tables as shown
from benchmarks.setting import Figures, Setting, say

JOBS = ((100, 20), (400, 20), (400, 1))
"""Releases, and the sources that they are of."""
QUICK = ((6, 2),)
PEOPLE = 60
ILLNESSES = "abcdef"
GOAL_SECONDS = 3600
"""In which 1,000 releases are to be reviewed."""
PLANTED = (["ab", "cd"], ["ac", "bd"])
"""Who shares an age in two releases that undo each other: together they tell all four people apart."""


def people(source: int) -> pa.Table:
    """Draw the people of a source."""
    draw = random.Random(source)
    columns: Mapping[str, list[str]] = {
        "name": [f"s{source}p{person}" for person in range(PEOPLE)],
        "age": [str(draw.randrange(20, 60)) for _ in range(PEOPLE)],
        "zip": [str(draw.randrange(100, 130)) for _ in range(PEOPLE)],
        "illness": [draw.choice(ILLNESSES) for _ in range(PEOPLE)],
    }
    return pa.table(columns)


def policy() -> ix.Policy:
    """Return what is asked of every release."""
    columns = {
        "name": ix.identifier(),
        "age": ix.quasi(ix.intervals(5, 10, 20)),
        "zip": ix.quasi(ix.prefix(3)),
        "illness": ix.sensitive(),
    }
    return ix.Policy(columns, [ix.KAnonymity(3), ix.LDiversity(2)], max_suppression=0.1)


def plant(ledger: ix.Ledger, folder: Path, pairs: list[str]) -> int:
    """Enter a release of four people that was made without the ledger; return its number."""
    age = {name: 20 + 10 * number for number, pair in enumerate(pairs) for name in pair}
    table = pa.table({"name": list("abcd"), "age": [age[name] for name in "abcd"]})
    own = ix.Policy({"name": ix.identifier(), "age": ix.quasi(ix.intervals(10, 100))}, [ix.KAnonymity(2)])
    with ix.anonymize(table, own) as release:
        release.write(folder)
    return ledger.add(folder, own, table, recipient="planted", source="planted")[0].number


def run_review(setting: Setting) -> list[Figures]:
    """Review ledgers of made-up releases, in each of which two were planted that undo each other."""
    return [_run_job(setting, *job) for job in (QUICK if setting.is_quick else JOBS)]


def _run_job(setting: Setting, releases: int, sources: int) -> Figures:
    tables = [people(source) for source in range(sources)]
    planted: list[int] = []
    with TemporaryDirectory(dir=setting.folder) as folder, ix.Ledger.create(Path(folder) / "ledger.db") as ledger:
        for number in range(releases):
            if number in (releases // 3, 2 * releases // 3):
                planted.append(plant(ledger, Path(folder) / f"planted-{number}", PLANTED[len(planted)]))
                continue
            source = number % sources
            ledger.anonymize(
                tables[source], policy(), recipient=f"r{number % 7}", source=f"s{source}", again="consistent"
            ).close()
        cpu, wall = time.process_time(), time.perf_counter()
        found = ix.review_ledger(ledger)
        one: Figures = {
            "releases": releases,
            "sources": sources,
            "cpu_seconds": time.process_time() - cpu,
            "wall_seconds": time.perf_counter() - wall,
            "notices": len(found.notices),
            "is_exact": [(one.kind, list(one.entries)) for one in found.notices] == [("joined", planted)],
        }
    say(
        f"  {releases:,} releases of {sources} sources: {one['cpu_seconds']:.1f} s CPU, {one['wall_seconds']:.1f} s "
        f"wall; {'just the planted pair was found' if one['is_exact'] else 'OTHER NOTICES THAN PLANTED'}"
    )
    return one


def section(figures: list[Figures]) -> str:
    """Return the section of the page."""
    text = f"""a ledger of made-up releases of {PEOPLE} people each (3-anonymity, 2-diversity), recounted, attacked and
joined by `indistinct review`. Two of each ledger undo each other and were added without it. The last column is what
1,000 releases would take if each took as long; the goal is {GOAL_SECONDS:,} s on two cores."""
    heads = ["releases", "sources", "CPU s", "only the planted pair", "1,000 releases: CPU s"]
    rows = [
        [
            f"{one['releases']:,}",
            one["sources"],
            f"{one['cpu_seconds']:.1f}",
            "yes" if one["is_exact"] else "no",
            f"{1000 * one['cpu_seconds'] / one['releases']:,.0f}",
        ]
        for one in figures
    ]
    return shown.section("Review of a ledger", "review", text, shown.table(heads, rows))
