"""m-invariance: what one table loses, in a first release and in one that keeps to it."""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pyarrow as pa

import indistinct as ix
from benchmarks import tables
from benchmarks.adult import COLUMNS, Rows
from benchmarks.data import hierarchy_of
from benchmarks.setting import Figures, Setting, say

QUASI, SENSITIVE = 7, "occupation"
CASES = ((SENSITIVE, 2), (SENSITIVE, 3), (SENSITIVE, 4), (SENSITIVE, 6), ("education", 3), ("marital-status", 2))
"""Sensitive columns and m; of the first columns of Adult, the others are quasi-identifying."""
FIRST, SHARE_GONE, SHARE_NEW = 8_000, 0.1, 0.2
"""People of the first of two releases; so many of them are gone in the second, and so many are new."""


def run_invariance(setting: Setting) -> list[Figures]:
    """Adult with several sensitive columns and m, and two releases of some of its people under a ledger."""
    found = []
    for number, (sensitive, m) in enumerate(CASES[:1] if setting.is_quick else CASES):
        table, policy = _table(setting.adult, sensitive), _policy(sensitive, m)
        if number == 0 and not setting.is_quick:
            with ix.anonymize(table.slice(0, 2_000), policy):
                pass  # compiles
        started = time.process_time()
        with ix.anonymize(table, policy) as release:
            found.append(_figures("whole", sensitive, m, release, time.process_time() - started))
    table, policy = _table(setting.adult, SENSITIVE), _policy(SENSITIVE, 3)
    order = np.random.default_rng(0).permutation(len(table))
    first = min(FIRST, len(table) // 2)
    gone, new = int(SHARE_GONE * first), int(SHARE_NEW * first)
    with TemporaryDirectory() as folder, ix.Ledger.create(Path(folder) / "ledger.db") as ledger:
        for name, people in (("first", order[:first]), ("second", order[gone : first + new])):
            started, some = time.process_time(), table.take(np.sort(people))
            terms = {"recipient": "R", "key": "person", "again": "consistent"}
            with ledger.anonymize(some, policy, **terms) as release:
                found.append(_figures(name, SENSITIVE, 3, release, time.process_time() - started))
    return found


def _policy(sensitive: str, m: int) -> ix.Policy:
    columns = {name: ix.quasi(hierarchy_of(name)) for name in COLUMNS[:QUASI] if name != sensitive}
    columns |= {sensitive: ix.sensitive(), "person": ix.identifier()}
    return ix.Policy(columns, [ix.MInvariance(m)], 1.0, algorithm="m-invariance")


def _table(rows: Rows, sensitive: str) -> pa.Table:
    names = [*(name for name in rows.columns[:QUASI] if name != sensitive), sensitive]
    places = [rows.columns.index(name) for name in names]
    cells = [np.array(rows.values(place))[rows.codes[place]] for place in places]
    return pa.table(dict(zip(names, map(pa.array, cells), strict=True)) | {"person": list(map(str, range(len(rows))))})


def _check_balance(table: pa.Table, sensitive: str, m: int) -> None:
    """Raise unless each combination of labels has m values or more, each equally often."""
    groups: dict[tuple[str, ...], Counter[str]] = defaultdict(Counter)
    names = [*(name for name in COLUMNS[:QUASI] if name != sensitive), sensitive]
    for *labels, value in zip(*(table[name].to_pylist() for name in names), strict=True):
        groups[tuple(labels)][value] += 1
    if any(len(values) < m or len(set(values.values())) > 1 for values in groups.values()):
        raise AssertionError(f"m = {m}: a group is not balanced")


def _figures(name: str, sensitive: str, m: int, release: ix.Release, seconds: float) -> Figures:
    one: Figures = {
        "release": name,
        "sensitive": sensitive,
        "m": m,
        "rows": len(release.table) + release.suppressed,
        "ncp": float(release.measures["ncp"]),
        "stated": float(release.facts.bound["ncp"]),
        "suppressed": release.suppressed,
        "cpu_seconds": seconds,
    }
    _check_balance(release.table, sensitive, m)
    say(
        f"  {name}, {sensitive}, m = {m}: ncp {one['ncp']:.4f}, at least {one['stated']:.4f}, {one['suppressed']} "
        f"suppressed, {seconds:.2f} CPU s"
    )
    return one


def section(figures: list[Figures]) -> str:
    """Return the section of the page."""
    first = next((one["rows"] for one in figures if one["release"] == "first"), 0)
    text = f"""Adult, seven quasi columns, one release of all {figures[0]["rows"]:,} rows; *first* (of {first:,}) and
*second* are two releases under a ledger, between which a tenth of the people leave and a fifth as many come. Every
group was counted anew. No release has an NCP below *bound*, as each states."""
    heads = ["release", "sensitive", "m", "NCP", "bound", "suppressed", "CPU s"]
    rows = [
        [
            one["release"],
            one["sensitive"],
            one["m"],
            f"{one['ncp']:.2%}",
            f"{one['stated']:.2%}",
            f"{one['suppressed']:,}",
            f"{one['cpu_seconds']:.1f}",
        ]
        for one in figures
    ]
    return tables.section("m-invariance", "invariance", text, tables.table(heads, rows))
