"""The part of the page on local recoding: a chart and a table for each data set, drawn from the figures alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from indistinct.showing.chart import Chart, Line

Figures = dict[str, Any]

SHOWN_K = 5
"""The k at which every measure is shown."""
FILES = {"Adult, 9": "adult", "Adult, 8": "adult-8", "CUP": "cup", "made-up": "population"}
"""How the name of a table begins, and the name of its chart."""
NOTE = """## Cell by cell

What local algorithms gain over full-domain ones, and what they cost. *ncp* is the average over cells of the share of
their column's ground values under the released label: 0 leaves all cells as they are. Nothing is suppressed, save by
Datafly, which may leave out k rows. Lattice is the best of all full-domain releases, by ncp. k-Similar seeks the
greatest precision; these tables are too large to prove it, and *gap* says by how much its loss of precision can exceed
the least one. MinGen at cell level, which tries harder on smaller tables, lost as much on Adult and CUP at k = 5.
With *ranges*, labels are ranges of numbers and sets of values instead of labels of the hierarchies. Every group was
counted anew from the rows that went to it. µ-Argus is shown for comparison: its releases are not k-anonymous.

Each cell of a table: ncp · precision · CPU seconds. – was not measured in this run.
"""


def section(figures: list[Figures], folder: Path, note: str = "") -> str:
    """Return the part of the page that shows the figures, and draw its charts."""
    if not figures:
        return ""
    tables = dict.fromkeys(one["table"] for one in figures)
    shown = [_shown(name, [one for one in figures if one["table"] == name], folder) for name in tables]
    return "\n".join([NOTE, *([f"{note}\n"] if note else []), *shown])


def _shown(table: str, figures: list[Figures], folder: Path) -> str:
    """Show one table's figures."""
    drawn = f"benchmark-local-{next(name for start, name in FILES.items() if table.startswith(start))}.svg"
    (folder / drawn).write_text(_chart(table, figures).svg(), "utf-8")
    by_k = _by_algorithm(figures)
    ks = sorted({one["k"] for one in figures})
    rows = [[name, *(_cell(at[k]) if k in at else "–" for k in ks)] for name, at in by_k.items()]
    first = figures[0]
    return f"""### {table}

{first["rows"]:,} rows, {first["tuples"]:,} distinct tuples.

![What each algorithm loses at each k]({drawn})

{_table(["algorithm", *(f"k = {k}" for k in ks)], rows)}

<details><summary>Every measure at k = {SHOWN_K}</summary>

{_every_measure(by_k)}

</details>
"""


def _chart(table: str, figures: list[Figures]) -> Chart:
    """Draw ncp over k, for the algorithms that keep their promise."""
    lines = [
        Line(name, tuple(sorted((float(k), 100 * one["ncp"]) for k, one in at.items())))
        for name, at in _by_algorithm(figures).items()
        if not name.startswith("µ")
    ]
    return Chart(f"What is lost: {table}", "k", "ncp in percent", tuple(lines), True, True, "algorithm")


def _by_algorithm(figures: list[Figures]) -> dict[str, dict[int, Figures]]:
    found: dict[str, dict[int, Figures]] = {}
    for one in figures:
        found.setdefault(one["algorithm"], {})[one["k"]] = one
    return found


def _cell(one: Figures) -> str:
    return f"{100 * one['ncp']:.2f} % · {one['precision']:.3f} · {one['cpu_seconds']:.2f} s"


def _every_measure(by_k: dict[str, dict[int, Figures]]) -> str:
    """Return a line for each algorithm that ran at the k which is shown."""
    heads = ["algorithm", "ncp", "precision", "gap", "entropy", "discernibility", "average group", "smallest", "groups"]
    heads += ["suppressed", "CPU", "wall"]
    rows = [
        [
            name,
            f"{100 * one['ncp']:.2f} %",
            f"{one['precision']:.4f}",
            f"{one['gap']:.4f}" if one["gap"] else "",
            f"{one['entropy']:.4f}",
            f"{one['discernibility']:,.0f}",
            f"{one['average-group-size']:.2f}",
            f"{one['smallest_group']:,}",
            f"{one['groups']:,}",
            f"{one['suppressed']:,}",
            f"{one['cpu_seconds']:.2f} s",
            f"{one['wall_seconds']:.2f} s",
        ]
        for name, at in by_k.items()
        for k, one in at.items()
        if k == SHOWN_K
    ]
    return _table(heads, rows)


def _table(heads: list[str], rows: list[list[str]]) -> str:
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
