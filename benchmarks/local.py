"""What generalizing cell by cell gains: every algorithm × k on Adult, CUP and a million made-up rows."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import indistinct as ix
from benchmarks import adult, data, measuring
from benchmarks.data import Counted
from benchmarks.setting import Figures, Setting, say
from indistinct.algorithms import Algorithm, Task
from indistinct.frequency import FrequencyList
from indistinct.quality import MEASURES
from indistinct.recoding import AnyRecoding, LocalRecoding
from indistinct.report.chart import Chart, Line

KS = (2, 5, 10, 25, 100)
SHOWN = ("ncp", "precision", "entropy", "discernibility", "average-group-size")
LARGE_ROWS = 1_000_000
LARGE_KS = (5, 25)

ALGORITHMS: dict[str, Algorithm] = {
    "lattice (ncp)": ix.Lattice(measure="ncp"),
    "datafly": ix.Datafly(),
    "mondrian": ix.Mondrian(),
    "mondrian relaxed": ix.Mondrian(strict=False),
    "k-similar": ix.KSimilar(),
    "top-down": ix.TopDown(),
    "regroup": ix.Regroup(),
    "µ-Argus (not safe)": ix.MuArgus(),
    "mondrian, ranges": ix.Mondrian(labels="ranges"),
    "regroup, ranges": ix.Regroup(labels="ranges"),
}
LARGE = ("datafly", "mondrian", "k-similar", "regroup", "mondrian, ranges", "regroup, ranges")


def run_local(setting: Setting) -> list[Figures]:
    """Measure every algorithm at every k; nothing may be suppressed but by Datafly, which stops at k rows."""
    found = []
    for table, frequencies, columns in _tables(setting):
        is_large = table.startswith("made-up")
        for k in LARGE_KS if is_large else KS:
            for name in LARGE if is_large else ALGORITHMS:
                one = _measured(table, frequencies, columns, k, name, is_large)
                if one is not None:
                    found.append(one)
                    say(f"  {table}, k = {k}, {name}: ncp {one['ncp']:.4f}, {one['cpu_seconds']:.2f} s CPU")
    return found


def _tables(setting: Setting) -> Iterator[tuple[str, FrequencyList, dict[str, Any]]]:
    rows = setting.adult
    for columns in (9, 8):
        some = rows.first(columns)
        yield f"Adult, {columns} columns", Counted.of(some).frequencies, dict(data.policy(some, 2, 0.0).columns)
    cup = _cup()
    if cup is None:
        say("  CUP is not there: put it below $INDISTINCT_DATA to measure it")
    elif not setting.is_quick:
        yield "CUP", *cup
    large = data.population(rows, setting.sized(LARGE_ROWS))
    policy = data.policy(large, 2, 0.0)
    yield f"made-up population, {len(large):,} rows", Counted.of(large).frequencies, dict(policy.columns)


def _cup() -> tuple[FrequencyList, dict[str, Any]] | None:
    """Give CUP's 63,441 rows, if they are at hand."""
    folder = adult.folder()
    if folder is None or not (folder.parent / "cup" / "cup.csv").is_file():
        return None
    place = folder.parent / "cup"
    with open(place / "cup.csv", encoding="utf-8", newline="") as file:
        names = next(csv.reader(file, delimiter=";"))
    columns = {name: ix.quasi(ix.levels(place / f"cup_hierarchy_{name}.csv")) for name in names}
    from indistinct.engine import open_table

    with open_table(place / "cup.csv", delimiter=";") as rows:
        return FrequencyList.count(rows, ix.Policy(columns=columns, privacy=[ix.KAnonymity(2)])), columns


def _measured(
    table: str, frequencies: FrequencyList, columns: dict[str, Any], k: int, name: str, is_large: bool
) -> Figures | None:
    """Run one algorithm, and count its groups anew."""
    policy = ix.Policy(columns=columns, privacy=[ix.KAnonymity(k)])
    algorithm = ALGORITHMS[name]

    def work() -> AnyRecoding:
        return algorithm.run(Task.of(frequencies.afresh(), policy), ix.Watch())

    work()  # compiles
    recoding, time = measuring.best_of(work, fewest=1 if is_large else 2, most=3)
    smallest = _smallest(recoding)
    if name not in ("µ-Argus (not safe)",) and smallest < k:
        raise AssertionError(f"{table}: {name} left a group of {smallest} where k is {k}")
    return {
        "table": table,
        "rows": frequencies.rows,
        "tuples": len(frequencies.base),
        "k": k,
        "algorithm": name,
        **time.to_dict(),
        "suppressed": recoding.suppressed_rows,
        "groups": recoding.released_groups,
        "smallest_group": smallest,
        "is_proven": recoding.is_proven,
        "gap": recoding.gap,
        **{measure: MEASURES[measure]().value(recoding) for measure in SHOWN},
    }


def _smallest(recoding: AnyRecoding) -> int:
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


def section(figures: list[Figures], folder: Path) -> str:
    """Give the part of the page that shows the figures, and draw its charts."""
    if not figures:
        return ""
    parts = [
        """## Cell by cell

What local algorithms gain over full-domain ones, and what they cost. *ncp* is the average over cells of the share of
their column's ground values under the released label: 0 leaves all cells as they are. Nothing is suppressed, save by
Datafly. Lattice is the best of all full-domain releases. With *ranges*, labels are ranges of numbers and sets of values
instead of labels of the hierarchies. Every group was counted anew from the rows that went to it. µ-Argus is shown for
comparison: its releases are not k-anonymous.
"""
    ]
    for table in dict.fromkeys(one["table"] for one in figures):
        own = [one for one in figures if one["table"] == table]
        ks = sorted({one["k"] for one in own})
        name = f"benchmark-local-{table.split(',')[0].split()[0].lower()}{_columns_in(table)}.svg"
        algorithms = dict.fromkeys(one["algorithm"] for one in own)
        lines = []
        for algorithm in algorithms:
            points = sorted((float(one["k"]), 100 * one["ncp"]) for one in own if one["algorithm"] == algorithm)
            if not algorithm.startswith("µ"):
                lines.append(Line(algorithm, tuple(points)))
        chart = Chart(f"What is lost: {table}", "k", "ncp in percent", tuple(lines), True, True, "algorithm")
        (folder / name).write_text(chart.svg(), "utf-8")
        rows = []
        for algorithm in algorithms:
            at = {one["k"]: one for one in own if one["algorithm"] == algorithm}
            rows.append(
                [algorithm]
                + [
                    f"{100 * at[k]['ncp']:.2f} % · {at[k]['precision']:.3f} · {at[k]['cpu_seconds']:.2f} s"
                    if k in at
                    else "–"
                    for k in ks
                ]
            )
        first = own[0]
        parts.append(
            f"### {table}\n\n{first['rows']:,} rows, {first['tuples']:,} distinct tuples. Each cell: ncp · precision · "
            f"CPU seconds.\n\n![What each algorithm loses at each k]({name})\n\n"
            f"{table_of(['algorithm', *(f'k = {k}' for k in ks)], rows)}\n"
        )
    return "\n".join(parts)


def _columns_in(table: str) -> str:
    """Give the number of columns that a table's name states, if it does."""
    return "".join(character for character in table if character.isdigit())[:1] if "columns" in table else ""


def table_of(heads: list[str], rows: list[list[str]]) -> str:
    """Give a table as Markdown writes it."""
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
