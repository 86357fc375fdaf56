"""What analyses still give: NIST's national2019 by its k-marginal score, and a regression on Adult."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import indistinct as ix
from benchmarks import adult, tables
from benchmarks.adult import Rows
from benchmarks.data import hierarchy_of
from benchmarks.setting import Figures, Setting, say

COLUMNS = ("AGEP", "SEX", "MSP", "RAC1P", "HOUSING_TYPE", "OWN_RENT", "EDU", "PINCP_DECILE", "DVET", "DEYE")
"""The ten columns of NIST's k-anonymity entry; all of them are quasi."""
KS = (6, 20, 100)
FORMULA = "salary-class ~ age + sex + race + marital-status + workclass + education"
WAYS = {
    "Regroup, ranges": ix.Regroup(labels="ranges"),
    "Regroup, hierarchy labels": ix.Regroup(),
    "Mondrian": ix.Mondrian(),
}


def run_nist(setting: Setting) -> list[Figures]:
    """Score releases of national2019, if it is there, and compare a regression on releases of Adult."""
    place = adult.folder()
    path = None if place is None else place.parent / "nist" / "national2019.parquet"
    found = []
    if setting.is_quick:
        found = [_scored("made-up rows", _table(setting.adult), _columns(setting.adult), 2, "Regroup, ranges")]
    elif path is not None and path.is_file():
        found = _national(path)
    else:
        say("  national2019 is left out: put it below $INDISTINCT_DATA/nist to measure it")
    made = _table(setting.adult)
    columns = _columns(setting.adult) | {"salary-class": ix.sensitive()}
    return found + [_regressed(made, columns, k, way) for k in setting.few((5, 20)) for way in setting.few(WAYS)]


def _national(path: Path) -> list[Figures]:
    table = pq.read_table(path, columns=list(COLUMNS))
    columns = {name: ix.quasi(ix.intervals(5) if name == "AGEP" else ix.suppress()) for name in COLUMNS}
    return [_scored("national2019", table, columns, k, "Regroup, ranges") for k in KS]


def _columns(rows: Rows) -> dict[str, Any]:
    return {name: ix.quasi(hierarchy_of(name)) for name in rows.columns}


def _table(rows: Rows) -> pa.Table:
    """Return the rows as texts."""
    return pa.table(
        {name: np.array(rows.values(place), object)[rows.codes[place]] for place, name in enumerate(rows.columns)}
    )


def _scored(name: str, table: pa.Table, columns: dict[str, Any], k: int, way: str) -> Figures:
    """Make a release, and compare its pairs of columns, and its people who were unique, with the original."""
    policy, cpu = ix.Policy(columns, [ix.KAnonymity(k)]), time.process_time()
    release = ix.anonymize(table, policy, algorithm=WAYS[way])
    cpu = time.process_time() - cpu
    found = ix.utility(release, table).marginals
    one = {
        "table": name,
        "k": k,
        "way": way,
        "rows": release.facts.released,
        "eligible": release.facts.eligible,
        "k_marginal": found.k_marginal,
        "of_marginals": found.k_marginal_of_marginals,
        "sub_sample": found.sub_sample_equivalent,
        "uniques": _uniques(table, table),
        "uniques_left": _uniques(table, release.table),
        "cpu_seconds": cpu,
    }
    say(f"  {name}, k = {k}: k-marginal {found.score_in_words}, {one['uniques_left']} uniques left, {cpu:.1f} CPU s")
    return one


def _uniques(original: pa.Table, release: pa.Table) -> int:
    """Count the people who are alone in the original by all columns and stand in a table exactly as they are."""
    names = original.column_names
    texts = [pa.table({name: table[name].cast(pa.string()) for name in names}) for table in (original, release)]
    counted = texts[0].group_by(names).aggregate([([], "count_all")])
    alone = {tuple(row.values())[:-1] for row in counted.to_pylist() if row["count_all"] == 1}
    return len(alone & {tuple(row.values()) for row in texts[1].to_pylist()})


def _regressed(table: pa.Table, columns: dict[str, Any], k: int, way: str) -> Figures:
    """Make a release of Adult, and compare a logistic regression with that of the original."""
    release = ix.anonymize(table, ix.Policy(columns, [ix.KAnonymity(k)]), algorithm=WAYS[way])
    found = ix.utility(release, table, regressions=[FORMULA])
    (one,) = found.regressions
    say(f"  Adult, k = {k}, {way}: {one.in_words}")
    return {
        "table": "Adult",
        "k": k,
        "way": way,
        "overlap": one.overlap,
        "disjoint": one.disjoint,
        "coefficients": len(one.coefficients) - 1,
        "significances_kept": one.significances_kept,
        "k_marginal": found.marginals.k_marginal,
    }


def section(figures: list[Figures]) -> str:
    """Return the section of the page."""
    overlaps: dict[str, list[str]] = {}
    for one in figures:
        if "overlap" in one:
            overlaps.setdefault(one["way"], []).append(f"{one['overlap']:.3f}")
    said = ", ".join(f"{way} {'/'.join(own)}" for way, own in overlaps.items())
    text = f"""NIST's k-marginal score (1,000 is the same table; ages in 20 bins of equal frequency, the 45 pairs of ten
columns, all quasi) and the rows of the original that would score as much; [others](comparison.md). Overlap of 95 %
intervals of `{FORMULA}` on Adult, k = 5/20: {said} ([utility](utility.md))."""
    scored = [
        [
            one["table"],
            one["k"],
            f"{one['rows']:,} of {one['eligible']:,}",
            f"{one['k_marginal']:.0f}",
            f"{one['of_marginals']:.0f}",
            f"{one['sub_sample']:.0%}",
            f"{one['uniques_left']:,} of {one['uniques']:,}",
            f"{one['cpu_seconds']:.1f}",
        ]
        for one in figures
        if "sub_sample" in one
    ]
    heads = ["table", "k", "rows", "k-marginal", "marginals alone", "as a sample of", "unique people left", "CPU s"]
    table = tables.table(heads, scored) if scored else ""
    return tables.section("What analyses still give", "nist", text, table)
