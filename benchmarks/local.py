"""What generalizing cell by cell gains: every algorithm × k on Adult, CUP and a million made-up rows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

import indistinct as ix
from benchmarks import adult, data, measuring
from benchmarks.data import Counted
from benchmarks.setting import Figures, Setting, say
from indistinct.counting import FrequencyList, encode_eligible
from indistinct.recoding import LocalRecoding, Recoding
from indistinct.registry import MEASURES
from indistinct.search import Algorithm, Task

KS = (2, 5, 10, 25, 100, 300, 1000)
SHOWN = ("ncp", "precision", "entropy", "discernibility", "average-group-size")
LARGE_ROWS = 1_000_000
LARGE_KS = (5, 25)
"""At which ks an algorithm runs on a million rows that takes half a minute there."""
SLOW = ("k-similar", "regroup", "regroup, ranges")
NOT_SAFE = "µ-Argus (not safe)"

ALGORITHMS: dict[str, Algorithm] = {
    "lattice (ncp)": ix.Lattice(measure="ncp"),
    "datafly": ix.Datafly(),
    "mondrian": ix.Mondrian(),
    "mondrian relaxed": ix.Mondrian(strict=False),
    "k-similar": ix.KSimilar(),
    "top-down": ix.TopDown(),
    "regroup": ix.Regroup(),
    NOT_SAFE: ix.MuArgus(),
    "mondrian, ranges": ix.Mondrian(labels="ranges"),
    "regroup, ranges": ix.Regroup(labels="ranges"),
}


def run_local(setting: Setting) -> list[Figures]:
    """Measure every algorithm at every k; nothing may be suppressed but by Datafly, which stops at k rows."""
    found = []
    warm: set[str] = set()
    for table, frequencies, columns in _tables(setting):
        is_large = frequencies.rows >= LARGE_ROWS
        for k in KS[:1] if setting.is_quick else KS:
            policy = ix.Policy(columns=columns, privacy=[ix.KAnonymity(k)])
            for name, algorithm in ALGORITHMS.items():
                if is_large and name in SLOW and k not in LARGE_KS:
                    continue
                time_limit = 0.2 if setting.is_quick and name in SLOW else None
                if name not in warm and not setting.is_quick:
                    algorithm.run(Task.of(frequencies.afresh(), policy), ix.Watch(time_limit))  # compiles
                    warm.add(name)
                one = {"table": table, "k": k, "algorithm": name}
                one |= _measured(frequencies, policy, algorithm, time_limit)
                if name != NOT_SAFE and one["smallest_group"] < k:
                    raise AssertionError(f"{table}: {name} left a group of {one['smallest_group']} where k is {k}")
                found.append(one)
                say(f"  {table}, k = {k}, {name}: ncp {one['ncp']:.4f}, {one['cpu_seconds']:.2f} s CPU")
    return found


def _tables(setting: Setting) -> Iterator[tuple[str, FrequencyList, dict[str, Any]]]:
    rows = setting.adult
    for columns in setting.few((9, 8)):
        some = rows.first(columns)
        yield f"Adult, {columns} columns", Counted.of(some).frequencies, dict(data.policy(some, 2, 0.0).columns)
    if setting.is_quick:
        return
    cup = _cup()
    if cup is None:
        say("  CUP is not there: put it below $INDISTINCT_DATA to measure it")
    else:
        yield "CUP", *cup
    large = data.population(rows, setting.sized(LARGE_ROWS))
    policy = data.policy(large, 2, 0.0)
    yield f"made-up population, {len(large):,} rows", Counted.of(large).frequencies, dict(policy.columns)


def _cup() -> tuple[FrequencyList, dict[str, Any]] | None:
    """Return CUP's 63,441 rows, if they are at hand."""
    found = adult.cup()
    if found is None:
        return None
    place, names = found
    columns = {name: ix.quasi(ix.levels(place / f"cup_hierarchy_{name}.csv")) for name in names}
    from indistinct.engine import open_table

    with open_table(place / "cup.csv", delimiter=";") as rows:
        policy = ix.Policy(columns=columns, privacy=[ix.KAnonymity(2)])
        return FrequencyList.count(encode_eligible(rows, policy), policy), columns


def _measured(frequencies: FrequencyList, policy: ix.Policy, algorithm: Algorithm, time_limit: float | None) -> Figures:
    """Run one algorithm, once if that takes long, and count its groups anew."""
    recoding, time = measuring.best_of(
        lambda: algorithm.run(Task.of(frequencies.afresh(), policy), ix.Watch(time_limit)),
        fewest=0,
        most=3,
        enough_seconds=0 if time_limit else 0.3,
    )
    return {
        "rows": frequencies.rows,
        "tuples": len(frequencies.base),
        **time.to_dict(),
        "suppressed": recoding.suppressed_rows,
        "groups": recoding.released_groups,
        "smallest_group": _smallest(recoding),
        "is_proven": recoding.is_proven,
        "gap": recoding.gap,
        **{measure: MEASURES[measure]().value(recoding) for measure in SHOWN},
    }


def _smallest(recoding: Recoding) -> int:
    """Count the rows of each released tuple of labels from the pieces, and give the fewest."""
    if not isinstance(recoding, LocalRecoding):
        return int(recoding.released_sizes.min())
    texts = [
        np.array([hash(text) for text in labels.texts])[codes]
        for labels, codes in zip(recoding.labels, recoding.codes, strict=True)
    ]
    _, same = np.unique(np.stack(texts), axis=1, return_inverse=True)
    released = recoding.pieces.groups >= 0
    return int(np.bincount(same.ravel()[recoding.pieces.groups[released]], recoding.pieces.rows[released]).min())
