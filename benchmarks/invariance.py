"""m-invariance: what one table loses, in a first release and in one that keeps to it."""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pyarrow as pa

import indistinct as ix
from benchmarks.adult import COLUMNS, Rows
from benchmarks.data import hierarchy_of
from benchmarks.setting import Figures, Setting, say

QUASI, SENSITIVE = 7, "occupation"
MS = (2, 3, 4, 6)
FIRST, SHARE_GONE, SHARE_NEW = 8_000, 0.1, 0.2
"""People of the first of two releases; so many of them are gone in the second, and so many are new."""


def run_invariance(setting: Setting) -> list[Figures]:
    """Adult at several m, and two releases of some of its people under a ledger."""
    rows = setting.adult
    table, columns = _table(rows), {name: ix.quasi(hierarchy_of(name)) for name in rows.columns[:QUASI]}
    columns |= {SENSITIVE: ix.sensitive(), "person": ix.identifier()}
    policies = {m: ix.Policy(columns, [ix.MInvariance(m)], 1.0, algorithm="m-invariance") for m in MS}
    with ix.anonymize(table.slice(0, 2_000), policies[2]):
        pass  # compiles
    found = []
    for m in MS[:1] if setting.is_quick else MS:
        started = time.process_time()
        with ix.anonymize(table, policies[m]) as release:
            found.append(_figures("whole", m, release, started))
    order = np.random.default_rng(0).permutation(len(table))
    first = min(FIRST, len(table) // 2)
    gone, new = int(SHARE_GONE * first), int(SHARE_NEW * first)
    with TemporaryDirectory() as folder, ix.Ledger.create(Path(folder) / "ledger.db") as ledger:
        for name, people in (("first", order[:first]), ("second", order[gone : first + new])):
            started = time.process_time()
            some = table.take(np.sort(people))
            with ledger.anonymize(some, policies[3], recipient="R", key="person", again="consistent") as release:
                found.append(_figures(name, 3, release, started))
    return found


def _table(rows: Rows) -> pa.Table:
    names = [*rows.columns[:QUASI], SENSITIVE]
    places = [rows.columns.index(name) for name in names]
    cells = [np.array(rows.values(place))[rows.codes[place]] for place in places]
    return pa.table(dict(zip(names, map(pa.array, cells), strict=True)) | {"person": list(map(str, range(len(rows))))})


def _check_balance(table: pa.Table, m: int) -> None:
    """Raise unless each combination of labels has m values or more, each equally often."""
    groups: dict[tuple[str, ...], Counter[str]] = defaultdict(Counter)
    for *labels, value in zip(*(table[name].to_pylist() for name in (*COLUMNS[:QUASI], SENSITIVE)), strict=True):
        groups[tuple(labels)][value] += 1
    if any(len(values) < m or len(set(values.values())) > 1 for values in groups.values()):
        raise AssertionError(f"m = {m}: a group is not balanced")


def _figures(name: str, m: int, release: ix.Release, started: float) -> Figures:
    one: Figures = {
        "release": name,
        "m": m,
        "rows": len(release.table) + release.suppressed,
        "ncp": float(release.measures["ncp"]),
        "suppressed": release.suppressed,
        "cpu_seconds": time.process_time() - started,
    }
    _check_balance(release.table, m)
    say(f"  {name}, m = {m}: ncp {one['ncp']:.4f}, {one['suppressed']} suppressed, {one['cpu_seconds']:.2f} CPU s")
    return one


def section(figures: list[Figures]) -> str:
    """Give the chapter of the page."""
    if not figures:
        return ""
    lines = [
        "## m-invariance",
        f"`python -m benchmarks invariance`: Adult, seven quasi columns, {SENSITIVE} sensitive, one table, the whole",
        "`ix.anonymize` with its recount. *First* and *second* are two releases of some of these people under a",
        "ledger: a tenth of the first ones are gone in the second, and a fifth as many are new. Suppressed rows count",
        "as 1 in NCP. The values of every group were counted anew from the released cells.",
        "",
        "| release | m | rows | NCP | suppressed | CPU s |",
        "| --- | ---: | ---: | ---: | ---: | ---: |",
    ]
    for one in figures:
        shown = f"| {one['release']} | {one['m']} | {one['rows']:,} | {one['ncp']:.2%} | {one['suppressed']:,} "
        lines.append(f"{shown}| {one['cpu_seconds']:.1f} |")
    return "\n".join([*lines, ""])
