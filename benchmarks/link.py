"""Linking a million released rows with a million people, as they are and generalized in several ways."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pyarrow as pa

import indistinct as ix
from benchmarks.setting import LIMIT, Figures, K, Setting, say

ROWS = 1_000_000
RELEASES: dict[str, Any] = {
    "as it is": None,
    "lattice": ix.Lattice(),
    "mondrian": ix.Mondrian(),
    "mondrian, ranges": ix.Mondrian(labels="ranges"),
}
DAYS, ZIPS, RACES = 29_000, 2_000, 5


def run_link(setting: Setting) -> list[Figures]:
    """Link releases of people, half of whom stand in a voter list of as many."""
    rows = setting.sized(ROWS)
    voters = _people(rows, seed=0)
    known = np.random.default_rng(2).permutation(rows)[: rows // 2]
    private = pa.concat_tables([voters.take(pa.array(known)), _people(rows - len(known), seed=1)])
    found = []
    for name, algorithm in setting.few(RELEASES.items(), 2):
        release = private if algorithm is None else ix.anonymize(private, _policy(), algorithm=algorithm)
        cpu, wall = time.process_time(), time.perf_counter()
        report = ix.attacks.link(release, voters, _policy())
        one = _figures(name, report) | {
            "cpu_seconds": time.process_time() - cpu,
            "wall_seconds": time.perf_counter() - wall,
        }
        say(f"  {name}: {one['groups']:,} groups, {one['cpu_seconds']:.1f} s CPU, {one['one_to_one']:,} one to one")
        found.append(one)
    return found


def _figures(name: str, report: ix.attacks.LinkReport) -> Figures:
    """Return what was found; the pairs who fit must be as many from both sides."""
    pairs = [
        sum(number * size for number, size in side.items()) for side in (report.people_of_rows, report.rows_of_people)
    ]
    if pairs[0] != pairs[1]:
        raise SystemExit(f"{name}: {pairs[0]:,} people fit rows, but {pairs[1]:,} rows fit people")
    return {
        "release": name,
        "rows": report.rows,
        "people": report.people,
        "groups": report.groups,
        "pairs": pairs[0],
        "one_to_one": report.one_to_one,
        "unique_rows": report.unique_rows,
        "expected_matches": report.expected_matches,
    }


def _people(rows: int, seed: int) -> pa.Table:
    """Make people up: birth dates, ZIP codes of which some are crowded, sex, race and age."""
    rng = np.random.default_rng(seed)
    days = np.datetime_as_string(np.datetime64("1930-01-01") + np.arange(DAYS))
    zips = np.array([f"{number:05d}" for number in range(1000, 1000 + ZIPS)])
    return pa.table(
        {
            "birth": pa.array(days[rng.integers(0, DAYS, rows)]),
            "zip": pa.array(zips[(rng.random(rows) ** 2 * ZIPS).astype(np.int64)]),
            "sex": pa.array(np.array(["f", "m"])[rng.integers(0, 2, rows)]),
            "race": pa.array(np.array(list("abcde"))[np.minimum(rng.geometric(0.5, rows) - 1, RACES - 1)]),
            "age": pa.array(rng.integers(18, 90, rows).astype(np.str_)),
        }
    )


def _policy() -> ix.Policy:
    return ix.Policy(
        columns={
            "birth": ix.quasi(ix.dates("month", "year", "5 years", "10 years")),
            "zip": ix.quasi(ix.prefix(5)),
            "sex": ix.quasi(ix.suppress()),
            "race": ix.quasi(ix.suppress()),
            "age": ix.quasi(ix.intervals(5, 10, 20)),
        },
        privacy=[ix.KAnonymity(K)],
        max_suppression=LIMIT,
    )
