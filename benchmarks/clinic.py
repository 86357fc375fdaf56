"""Three tables that belong together: profiles of 70,000 patients over their visits and what was prescribed there."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pyarrow as pa

import indistinct as ix
from benchmarks import measuring, tables, visits
from benchmarks.setting import Figures, K, Setting, say
from indistinct.registry import MEASURES

OF_PATIENT = ("race", "gender", "age")
OF_VISIT = ("admission", "discharge", "specialty")
DRUGS = ("insulin", "metformin", "heparin", "statin", "steroid")
ALGORITHMS = ("lattice", "samarati", "datafly")
SUPPRESSION = 0.6
"""The share of the rows of all tables that may be suppressed."""
GOAL = 60.0
"""The seconds that a release of three tables may take."""


def clinic(patients: int, rows: int, seed: int = 14) -> dict[str, pa.Table]:
    """Return patients, their visits and about as many prescriptions, each at one visit."""
    rng = np.random.default_rng(seed)
    table = visits.visits(patients, rows)
    _, first = np.unique(table["patient"].to_numpy(), return_index=True)
    visit = np.repeat(np.arange(rows), rng.poisson(1.0, rows))
    drug = rng.choice(len(DRUGS), len(visit), p=[0.5, 0.2, 0.15, 0.1, 0.05])
    days = np.datetime64("2008-01-01") + rng.integers(0, 3650, rows)
    return {
        "patients": table.select(["patient", *OF_PATIENT]).take(pa.array(first)),
        "visits": table.select(["visit", "patient", *OF_VISIT]).append_column("day", pa.array(days)),
        "drugs": pa.table({"visit": visit, "drug": np.array(DRUGS)[drug], "number": np.arange(len(visit))}),
    }


def policy() -> ix.Policy:
    """Return the policy: seven quasi columns in three tables, and a date that moves."""
    quasi = {name: ix.quasi(ix.suppress()) for name in (*OF_PATIENT, *OF_VISIT, "drug")}
    of_visit = {**{name: quasi[name] for name in OF_VISIT}, "day": ix.other(shift=365)}
    return ix.Policy(
        tables={
            "patients": ix.LinkedTable({name: quasi[name] for name in OF_PATIENT}, key="patient"),
            "visits": ix.LinkedTable(of_visit, key="visit", references={"patient": "patients"}),
            "drugs": ix.LinkedTable({"drug": quasi["drug"], "number": ix.other()}, references={"visit": "visits"}),
        },
        privacy=[ix.KAnonymity(K)],
        person="patient",
        max_suppression=SUPPRESSION,
    )


def run_tables(setting: Setting) -> list[Figures]:
    """Release the tables with each algorithm, prove them, and count anew who shares a tree."""
    rows = setting.sized(visits.VISITS)
    tables = clinic(rows * visits.PATIENTS // visits.VISITS, rows)
    found = []
    for name in setting.few(ALGORITHMS):
        release, taken = measuring.best_of(
            lambda name=name: ix.anonymize(tables, policy(), algorithm=name),  # type: ignore[misc]
            fewest=0,
            enough_seconds=0,
        )
        with release:
            verdict, proved = measuring.best_of(lambda: release.verify(original=tables), fewest=0, enough_seconds=0)  # noqa: B023
            verdict.raise_if_failed()
            profiles = Counter(_trees(release))
            one = {
                "k": K,
                "algorithm": name,
                "tables": {table: content.num_rows for table, content in tables.items()},
                **taken.to_dict(),
                "proof_cpu_seconds": proved.cpu,
                "people": tables["patients"].num_rows,
                "released_people": sum(profiles.values()),
                "released_rows": release.facts.released,
                "profiles": len(profiles),
                "smallest_profile": min(profiles.values()),
                "precision": MEASURES["precision"]().value(release.recoding),
                "node": dict(release.node or {}),
            }
        if one["smallest_profile"] < K:
            raise AssertionError(f"{name} left a tree that {one['smallest_profile']} people share")
        found.append(one)
        say(f"  {name}, three tables: {one['cpu_seconds']:.1f} s CPU, {one['released_people']:,} people released")
    return found


def _trees(release: Any) -> list[Any]:
    """Join the released tables in plain Python: the tree of each pseudonym."""
    drugs: dict[str, list[str]] = {}
    for visit, drug in zip(*_cells(release.tables["drugs"], "visit", "drug"), strict=True):
        drugs.setdefault(visit, []).append(drug)
    stays: dict[str, list[Any]] = {}
    for row in zip(*_cells(release.tables["visits"], "pseudonym", "visit", *OF_VISIT), strict=True):
        stays.setdefault(row[0], []).append((*map(str, row[2:]), tuple(sorted(drugs.get(row[1], [])))))
    people = zip(*_cells(release.tables["patients"], "pseudonym", *OF_PATIENT), strict=True)
    return [(row[1:], tuple(sorted(stays.get(row[0], [])))) for row in people]


def _cells(table: pa.Table, *names: str) -> list[list[Any]]:
    return [table[name].to_pylist() for name in names]


def section(figures: list[Figures]) -> str:
    """Return the section of the page."""
    one = figures[0]
    counts = ", ".join(f"{rows:,} {name}" for name, rows in one["tables"].items())
    text = f"""{counts}, made up. Seven quasi columns, k = {one["k"]}, at most {100 * SUPPRESSION:.0f} % of all rows
suppressed; the day of a visit moves by up to 365 days. CPU seconds are of `ix.anonymize` (the goal is {GOAL:g}) and
of `verify` with the originals. Plain Python joins the released tables
and counts who shares a profile: {min(one["smallest_profile"] for one in figures)} people at least."""
    heads = [
        "algorithm",
        "CPU s",
        "verify: CPU s",
        "people kept",
        "rows kept",
        "profiles",
    ]
    rows = [
        [
            one["algorithm"],
            f"{one['cpu_seconds']:.1f}{tables.mark(one['cpu_seconds'] / GOAL)}",
            f"{one['proof_cpu_seconds']:.1f}",
            f"{one['released_people']:,}",
            f"{one['released_rows']:,}",
            f"{one['profiles']:,}",
        ]
        for one in figures
    ]
    return tables.section("Tables that belong together", "tables", text, tables.table(heads, rows))
