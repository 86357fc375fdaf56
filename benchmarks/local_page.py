"""The section on local recoding: a chart for each data set, and one table of them all, drawn from the figures alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from benchmarks.tables import section as section_of
from benchmarks.tables import table
from indistinct.showing.chart import Chart, Line

Figures = dict[str, Any]

SHOWN_K = 5
"""The k of the table; the charts have them all."""
FILES = {"Adult, 9": "adult", "Adult, 8": "adult-8", "CUP": "cup", "made-up": "population"}
"""How the name of a table begins, and the name of its chart."""
TEXT = """NCP and CPU seconds at k = 5; the charts have more ks. NCP is the average share of a column's values under
the released label. Nothing is suppressed, save up to k rows by Datafly. Lattice is the best full-domain release.
*Ranges* releases ranges and sets. Every group was counted anew. Releases of µ-Argus are not k-anonymous. Several
processes ran side by side."""


def section(figures: list[Figures], folder: Path) -> str:
    """Return the section of the page, and draw its charts."""
    names = list(dict.fromkeys(one["table"] for one in figures))
    pictures = [_drawn(name, [one for one in figures if one["table"] == name], folder) for name in names]
    shown = {(one["algorithm"], one["table"]): one for one in figures if one["k"] == SHOWN_K}
    tabled = [name for name in names if "8 columns" not in name]
    rows = [
        [algorithm, *(_cell(shown.get((algorithm, name))) for name in tabled)]
        for algorithm in dict.fromkeys(algorithm for algorithm, _ in shown)
    ]
    gaps = [one["gap"] for (algorithm, _), one in shown.items() if algorithm == "k-similar" and one["gap"]]
    after = f"k-Similar's loss of precision is at most {max(gaps):.4f} above the least one." if gaps else ""
    heads = ["algorithm", *tabled]
    return section_of("Cell by cell", "local", TEXT, table(heads, rows), after, "\n".join(pictures))


def _cell(one: Figures | None) -> str:
    return "–" if one is None else f"{one['ncp']:.2%}, {one['cpu_seconds']:.2f}"


def _drawn(name: str, figures: list[Figures], folder: Path) -> str:
    """Draw NCP over k, for the algorithms that keep their promise."""
    file = f"benchmark-local-{next(file for start, file in FILES.items() if name.startswith(start))}.svg"
    by_algorithm: dict[str, list[tuple[float, float]]] = {}
    for one in figures:
        if not one["algorithm"].startswith("µ"):
            by_algorithm.setdefault(one["algorithm"], []).append((float(one["k"]), 100 * one["ncp"]))
    lines = tuple(Line(algorithm, tuple(sorted(points))) for algorithm, points in by_algorithm.items())
    chart = Chart(f"What is lost: {name}", "k", "ncp in percent", lines, True, True, "algorithm")
    (folder / file).write_text(chart.svg(), "utf-8")
    return f"![NCP at each k: {name}]({file})"
