"""Sharpening: what attacks find out about the cells of local releases, and what it costs to keep them uncertain."""

from __future__ import annotations

import csv
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import indistinct as ix
from benchmarks import adult, data, measuring, tables
from benchmarks.setting import Figures, K, Setting, say
from indistinct.engine import open_table
from indistinct.pipeline.stages import count
from indistinct.search import Task

RANDOM_RAISE = 0.1
KS = (2, 5, 10)
RUNS = 3
"""Chance raises labels, so with raised labels the NCP is the mean of so many runs."""
ALGORITHMS: dict[str, Any] = {
    "regroup": lambda random_raise: ix.Regroup(random_raise=random_raise),
    "mondrian": lambda random_raise: ix.Mondrian(random_raise=random_raise),
}
PERSON = "person"
PEOPLE_PER_ROW = 2 / 3
"""Neither table says whose rows are whose, so chance gives them to so many people."""
ATTACKS = {"downcoding": ix.attacks.downcoding, "refinement": ix.attacks.refinement}


class Asked(NamedTuple):
    """What is asked of a table."""

    title: str
    k: int
    policy: ix.Policy


class Place(NamedTuple):
    """A table, where it lies and how it is read, its quasi columns, and which of them is sensitive in some rows."""

    table: str
    path: Path
    columns: dict[str, Any]
    sensitive: str
    reading: dict[str, Any]


def run_sharpening(setting: Setting) -> list[Figures]:
    """Measure the NCP of local releases with and without raised labels, and attack those of k = 5."""
    found = []
    for place in _tables(setting):
        everything = list(_asked(place, setting))
        for asked in everything[-1:] if setting.is_quick else everything:
            with (
                open_table(place.path, **place.reading) as rows,
                count({"table": rows}, asked.policy, ix.Watch()) as counted,
            ):
                frequencies = counted.task.frequencies
                for name, make in ALGORITHMS.items():
                    plain = 0.0
                    for random_raise in (0.0, RANDOM_RAISE):
                        policy = replace(asked.policy, algorithm=name, options={"random_raise": random_raise})
                        one = _measured(
                            frequencies,
                            policy,
                            make(random_raise),
                            RUNS if random_raise and not setting.is_quick else 1,
                        )
                        plain = plain or one["ncp"]
                        one |= {
                            "table": place.table,
                            "algorithm": name,
                            "asked": asked.title,
                            "random_raise": random_raise,
                        }
                        one["cost"] = one["ncp"] / plain - 1 if plain else 0.0
                        if asked.k == K:
                            one["attacks"] = _attacked(place.path, policy, place.reading)
                        found.append(one)
                        what = f"{place.table}, {name}, {asked.title}, random_raise {random_raise}"
                        say(f"  {what}: ncp {one['ncp']:.4f}, {one['cost']:+.1%}")
    return found


def _asked(place: Place, setting: Setting) -> Iterator[Asked]:
    """Return k-anonymity for several k; then, for one of them, models of a sensitive column, and people."""
    columns = place.columns | {PERSON: ix.identifier()}
    for k in KS[1:2] if setting.is_quick else KS:
        yield Asked(f"k = {k}", k, ix.Policy(columns=columns, privacy=[ix.KAnonymity(k)], one_row_per_person=True))
    ill = columns | {place.sensitive: ix.sensitive()}
    for model, title in ((ix.LDiversity(3), "l = 3"), (ix.TCloseness(0.3), "t = 0.3")):
        privacy = [ix.KAnonymity(K), model]
        yield Asked(f"k = {K}, {title}", K, ix.Policy(columns=ill, privacy=privacy, one_row_per_person=True))
    yield Asked(f"k = {K} people", K, ix.Policy(columns=columns, privacy=[ix.KAnonymity(K)], person=PERSON))
    diverse = [ix.KAnonymity(K), ix.LDiversity(2)]
    yield Asked(f"k = {K} people, l = 2", K, ix.Policy(columns=ill, privacy=diverse, person=PERSON))


def _tables(setting: Setting) -> Iterator[Place]:
    """Return Adult's nine columns, and CUP if it is at hand; no cell of theirs is missing."""
    rows = setting.adult
    columns = {name: replace(one, missing="refuse") for name, one in data.policy(rows, K, 0.0).columns.items()}
    path = _with_people(
        data.write_csv(rows, setting.folder / "sharpening.csv"), setting.folder / "sharpening-people.csv"
    )
    sensitive = "occupation" if "occupation" in columns else next(iter(columns))
    yield Place("Adult", path, columns, sensitive, {})
    found = adult.cup()
    if setting.is_quick or found is None:
        say("  CUP is left out: put it below $INDISTINCT_DATA to measure it")
        return
    source, names = found
    listed = {name: ix.quasi(ix.levels(source / f"cup_hierarchy_{name}.csv"), missing="refuse") for name in names}
    path = _with_people(source / "cup.csv", setting.folder / "sharpening-cup.csv", ";")
    yield Place("CUP", path, listed, "INCOME", {"delimiter": ";"})


def _with_people(path: Path, goal: Path, delimiter: str = ",") -> Path:
    """Write a table once more, with a column that says whose row each is."""
    with open(path, encoding="utf-8", newline="") as file:
        head, *rows = csv.reader(file, delimiter=delimiter)
    persons = np.random.default_rng(1).integers(0, max(1, int(PEOPLE_PER_ROW * len(rows))), len(rows))
    with open(goal, "w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, delimiter=delimiter)
        writer.writerow([*head, PERSON])
        writer.writerows([*row, person] for row, person in zip(rows, persons.tolist(), strict=True))
    return goal


def _measured(frequencies: Any, policy: ix.Policy, algorithm: Any, runs: int) -> Figures:
    """Run an algorithm, once more to compile if it matters, and give what its labels lose."""
    losses, seconds = [], []
    if not measuring.Repeating.is_off:
        algorithm.run(Task.of(frequencies.afresh(), policy), ix.Watch(time_limit=0.5))
    for _ in range(runs):
        cpu = time.process_time()
        recoding = algorithm.run(Task.of(frequencies.afresh(), policy), ix.Watch())
        seconds.append(time.process_time() - cpu)
        losses.append(ix.NCP().loss(recoding))
    return {"ncp": sum(losses) / runs, "groups": recoding.released_groups, "cpu_seconds": min(seconds)}


def _attacked(path: Path, policy: ix.Policy, reading: dict[str, Any]) -> Figures:
    """Make a release and try both attacks on it."""
    found = {}
    with ix.anonymize(path, policy, **reading) as release:
        for name, attack in ATTACKS.items():
            cpu = time.process_time()
            report = attack(release, policy, most=0)
            found[name] = {
                "generalized": report.generalized_cells,
                "sharpened": report.sharpened_cells,
                "smallest_crowd": report.smallest_crowd,
                "unsolved": getattr(report, "unsolved", 0),
                "cpu_seconds": time.process_time() - cpu,
            }
    return found


def section(figures: list[Figures]) -> str:
    """Return the section of the page: one line per table and model, both algorithms beside each other."""
    raised = [one for one in figures if one["random_raise"]]
    most = max((found["sharpened"] for one in raised for found in one.get("attacks", {}).values()), default=0)
    text = f"""how many generalized cells of local releases an [attack](attacks.md#what-makes-a-cell-sharpenable)
sharpens, downcoding or refinement, whichever sharpens more. By how much
[`random_raise`](attacks.md#labels-that-cannot-be-sharpened) at 0.1, with which they sharpen {most}, raises NCP: the
mean of three runs (k = 2 and 10: `results.json`). Occupation (Adult) and INCOME (CUP)
are sensitive. Chance gave people 1.5 rows on average."""
    algorithms = list(dict.fromkeys(one["algorithm"] for one in figures))
    jobs = dict.fromkeys((one["table"], one["asked"]) for one in figures)
    rows = [[*job, *(cell for name in algorithms for cell in _cells(figures, *job, name))] for job in jobs]
    rows = [row for row in rows if row[2]] or rows
    heads = ["table", "asked for"]
    heads += [head for name in algorithms for head in (f"{name}: sharpened", "NCP raised by")]
    return tables.section("Sharpening", "sharpening", text, tables.table(heads, rows))


def _cells(figures: list[Figures], table: str, asked: str, algorithm: str) -> list[str]:
    """Return the most cells that an attack sharpened without random raises, and what those cost."""
    own = [one for one in figures if (one["table"], one["asked"], one["algorithm"]) == (table, asked, algorithm)]
    own.sort(key=lambda one: float(one["random_raise"]))
    most = [max((found["sharpened"] for found in one.get("attacks", {}).values()), default=None) for one in own]
    sharpened = "" if most[0] is None else f"{most[0]:,}"
    return [sharpened, f"{own[-1]['cost']:.1%}"]
