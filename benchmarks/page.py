"""The page in docs: what was measured beside ARX, and how the cost grows, drawn from results.json alone."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from benchmarks import (
    arx,
    clinic,
    effort,
    guessing,
    init,
    invariance,
    known,
    ledger,
    local_page,
    models,
    people,
    private,
    sharpening,
    spark,
    wide,
    wong_page,
)
from benchmarks.start import RUNS
from indistinct.showing.chart import Chart, Line

Figures = dict[str, Any]
CLOSE = 0.15
"""A goal met or missed by less than this is not safely either."""
AXES = {
    "rows": ("Adult-like rows, 9 columns, k = 5", "rows"),
    "columns": ("Adult, 30,162 rows, k = 5", "columns"),
    "k": ("Adult, 30,162 rows, 9 columns", "k"),
}


def write(content: dict[str, Any], folder: Path) -> None:
    """Write benchmarks.md and its charts."""
    drawn = _charts(_figures(content, "growth"), folder)
    sections = [_head(content), _beside_arx(content), _anytime(content), wide.section(_figures(content, "wide"))]
    sections += [_large(content), _huge(content)]
    sections += [
        spark.section(_figures(content, "spark"), content["parts"].get("spark", {}).get("note", "")),
        _frontier(content),
        _link(content),
        _peers(content),
    ]
    note = content["parts"].get("local", {}).get("note", "")
    sections += [local_page.section(_figures(content, "local"), folder, note)]
    sections += [effort.section(_figures(content, "effort")), invariance.section(_figures(content, "invariance"))]
    sections += [people.section(_figures(content, "people"))]
    sections += [private.section(_figures(content, "private")), known.section(_figures(content, "known"))]
    sections += [models.section(_figures(content, "models"))]
    sections += [sharpening.section(_figures(content, "sharpening"))]
    sections += [guessing.section(_figures(content, "guessing"))]
    guessed = _figures(content, "init")
    note = content["parts"].get("init", {}).get("note", "")
    sections += [init.chapter(guessed, note)] if guessed else []
    sections += [clinic.section(_figures(content, "tables"))]
    sections += [_growth(content, drawn), _start(content), _queries(content), _ledger(content), _bounds(content)]
    (folder / "benchmarks.md").write_text("\n".join(section for section in sections if section), "utf-8")
    wong_page.write(content, folder)


def _head(content: dict[str, Any]) -> str:
    parts = content["parts"].values()
    yardsticks = [part["yardstick_seconds"] for part in parts]
    machine = next((part["machine"] for part in parts), {"cores": "?", "processor": "?"})
    busy = [f"{name} {part['machine']['load_at_start']}" for name, part in content["parts"].items()]
    warning = "**A quick run on tiny made-up tables: the figures mean nothing.**\n\n" if content.get("is_quick") else ""
    return f"""# Benchmarks

{warning}Made by `python -m benchmarks`; the figures stand in `benchmarks/results.json`. One part alone:
`python -m benchmarks adult`.

All times are CPU seconds of the whole process, all threads together, best of several runs, wall time beside them.
Kernels are compiled before, as ARX's are. The search is measured alone, from the counted table to the proven optimum,
with nothing kept from one run to the next; reading and counting the file is loading.

- **Yardstick:** `numpy.sort` on 20 million random uint64 (seed 0), best of five, took {min(yardsticks):.3f} to
  {max(yardsticks):.3f} s here, measured before each part.
- **ARX:** {arx.NOTE}.
  It was not run here. *ARX here* is that figure times our yardstick over {arx.YARDSTICK} s, as if all its work
  scaled like sorting; where sorting takes longer, the figure itself.
- **Machine:** {machine["cores"]} cores ({machine["processor"]}), shared with other work: load when each part began:
  {", ".join(busy)}.
- **Noise:** between runs on this machine shares moved by up to a third. A goal that is met or missed by less than
  15 % is marked ≈: it is not safely either.
- **Checks:** *Every node*: the whole lattice was counted, without pruning but with the same counting kernels, and the
  best node is the same one. *Every cheaper node*: each node whose levels alone cost less than the optimum was ruled out
  by rolling groups up, which shares no kernel with the search, using only that suppression never rises on the way up.
  The rows that an optimum suppresses are also recounted from the table by NumPy; under *How the cost grows* that is the
  only check. If anything differs, the run fails.
"""


def _beside_arx(content: dict[str, Any]) -> str:
    jobs = [(part, one) for part in ("adult", "synthetic", "wide-adult") for one in _figures(content, part)]
    rows = [
        (
            f"{_named(part)} {one['rows']:,} × {one['columns']}, {one['measure']}, k={one['k']}, {_share(one)}",
            f"{one['arx_cpu_seconds']:g}",
            _seconds(one["arx_cpu_seconds_here"]),
            f"**{_seconds(one['cpu_seconds'])}**",
            _seconds(one["wall_seconds"]),
            _fraction(one["share_of_arx"]),
            _goal(one),
            f"{one['counted_nodes']:,} of {one['nodes']:,}",
            one["checked"],
        )
        for part, one in jobs
    ]
    heads = ("job", "ARX", "ARX here", "ours", "wall", "share", "goal", "nodes counted", "checked")
    return f"## The exact optimum, beside ARX\n\n{_table(heads, rows)}\n" if rows else ""


def _large(content: dict[str, Any]) -> str:
    rows = [
        (
            f"{one['rows']:,} × {one['columns']} from CSV, {one['file_bytes'] / 1e6:,.0f} MB, to verified CSV",
            f"{one['arx_cpu_seconds']:g} (load + search)" if "stages" in one else "–",
            _seconds(one["arx_cpu_seconds_here"]) if "stages" in one else "–",
            f"**{_seconds(one['cpu_seconds'])}**",
            _seconds(one["wall_seconds"]),
            _fraction(one["share_of_arx"]) if "stages" in one else "–",
            _goal(one) if "stages" in one else "–",
            f"{one['peak_bytes'] / 1e9:.2f} GB"
            + (f" (ARX's heap: {arx.PEAK_5M / 1e9:.1f} GB)" if "stages" in one else ""),
        )
        for one in _figures(content, "large")
    ]
    heads = ("job", "ARX", "ARX here", "ours", "wall", "share", "goal", "peak memory")
    if not rows:
        return ""
    stages = [
        (one["stage"], _seconds(one["cpu_seconds"]), _seconds(one["wall_seconds"]))
        for one in _figures(content, "large")[-1]["stages"]
    ] + [
        (f"DuckDB alone: {name}", _seconds(one["cpu_seconds"]), _seconds(one["wall_seconds"]))
        for name, one in _figures(content, "large")[-1]["floor"].items()
    ]
    return f"""## From file to file

{_table(heads, rows)}

The whole command `indistinct anonymize`, start of Python included: read, count, search, recode, shuffle, recount,
write, read what was written, recount that; bytecode and kernels are there from a run before, as after an installation.
ARX's figure has no writing and no recount in it. Stage by stage for the larger file, in one process, and what DuckDB
alone takes to read all cells of it, to write them and to read them back:

{_table(("stage", "CPU", "wall"), stages)}
"""


def _anytime(content: dict[str, Any]) -> str:
    figures = _figures(content, "anytime")
    if not figures:
        return ""
    rows = [
        (
            f"{one['time_limit']:g} s" if one["time_limit"] else "none",
            _seconds(one["cpu_seconds"]),
            f"{one['checks']:,}",
            f"{one['loss']:.4f}",
            f"{one['bound']:.4f}",
        )
        for one in figures
    ]
    one = figures[0]
    return f"""## A large lattice, for as long as one likes

Adult with {one["columns"]} columns, {one["nodes"]:,} nodes, precision, k=5, 2 %. A stopped search gives its best
node and a loss that no node can be below; where both are equal the optimum is proven.

{_table(("time limit", "CPU", "nodes counted", "loss found", "loss at least"), rows)}
"""


def _huge(content: dict[str, Any]) -> str:
    rows = [
        (
            f"{one['rows']:,}",
            f"{one['file_bytes'] / 1e6:,.0f} MB",
            f"`{one['memory_limit']}`",
            f"{one['max_tuples']:,}" if one.get("max_tuples") else "",
            f"{one['peak_bytes'] / 1e9:.2f} GB",
            _seconds(one["cpu_seconds"]),
            _seconds(one["wall_seconds"]),
        )
        for one in _figures(content, "huge")
    ]
    if not rows:
        return ""
    note = content["parts"]["huge"].get("note", "")
    return f"""## Limited memory

Six columns, nearly all rows distinct, from Parquet to verified Parquet. The limit is for the whole process, with the
list of distinct tuples and the search; where these would not fit, the command says so before it counts them, and
`--max-tuples` generalizes columns until they do.{f" {note}" if note else ""}

{_table(("rows", "file", "`--memory`", "`--max-tuples`", "peak", "CPU", "wall"), rows)}
"""


def _frontier(content: dict[str, Any]) -> str:
    for one in _figures(content, "frontier"):
        return f"""## The whole trade-off

`indistinct frontier` on Adult, {one["nodes"]:,} nodes × {one["ks"]} ks × {one["measures"]} measures:
**{_seconds(one["cpu_seconds"])} s** CPU, {_seconds(one["wall_seconds"])} s wall. {one["agreed"]} optima (every k, three
limits, three measures) are those of the search that `anonymize` runs.
"""
    return ""


def _link(content: dict[str, Any]) -> str:
    figures = _figures(content, "link")
    if not figures:
        return ""
    heads = ("release", "groups", "people who fit rows, pairs", "one to one", "right guesses", "CPU s", "wall s")
    rows = [
        (
            one["release"],
            f"{one['groups']:,}",
            f"{one['pairs']:,}",
            f"{one['one_to_one']:,}",
            f"{one['expected_matches']:,.0f}",
            f"{one['cpu_seconds']:.1f}",
            f"{one['wall_seconds']:.1f}",
        )
        for one in figures
    ]
    return f"""## Linking with a voter list

`attacks.link` on birth date, ZIP, sex, race and age: {figures[0]["rows"]:,} made-up rows, half of whose people stand
among the {figures[0]["people"]:,} of a voter list. Times are from the two tables to the report. Pairs are counted from
both sides, and must agree.

{_table(heads, rows)}
"""


def _peers(content: dict[str, Any]) -> str:
    rows = []
    for one in _figures(content, "peers"):
        facts = [f"precision {one['precision']:.4f}"] if "precision" in one else []
        facts += [f"{one['released']:,} rows released"] if "released" in one else []
        facts += [f"smallest group {one['k']}"] if "k" in one else []
        facts += [f"{one['groups']:,} rows of groups"] if "groups" in one else []
        times = [_seconds(one[name]) if name in one else "–" for name in ("cpu_seconds", "wall_seconds")]
        rows.append((one["package"], one.get("job", ""), *times, one.get("said") or ", ".join(facts)))
    if not rows:
        return ""
    heads = ("package", "job", "CPU", "wall", "result")
    return f"""## Packages of PyPI

Adult, {_figures(content, "peers")[0]["rows"]:,} rows × 9 unless the job says otherwise, k=5, 2 %,
from a pandas frame in memory to a pandas frame.
Ours is the best of several runs after a first one; the others ran once, in a process of their own, imports not counted.

{_table(heads, rows)}
"""


def _growth(content: dict[str, Any], drawn: Sequence[str]) -> str:
    if not drawn:
        return ""
    figures = _figures(content, "growth")
    rows = []
    for axis, (title, _) in AXES.items():
        for at in sorted({one["at"] for one in figures if one["axis"] == axis}):
            own = {one["measure"]: one for one in figures if (one["axis"], one["at"]) == (axis, at)}
            first = next(iter(own.values()))
            cells = [f"{_seconds(one['cpu_seconds'])} ({one['counted_nodes']:,})" for one in own.values()]
            rows.append((title, f"{axis} {at:,}", f"{first['tuples']:,}", f"{first['nodes']:,}", *cells))
    measures = list(dict.fromkeys(one["measure"] for one in figures))
    heads = ("table", "at", "tuples", "nodes", *(f"{measure}: CPU (nodes counted)" for measure in measures))
    pictures = "\n".join(f"![CPU seconds of the search over {name}]({name})" for name in drawn)
    return f"""## How the cost grows

{pictures}

- **Rows:** the search never sees rows, only distinct tuples, and most nodes are counted from shorter lists; so its time
  grows with the tuples, and more rows also make more nodes pass, which ends the search sooner.
- **Columns:** the lattice multiplies by a hierarchy's levels with each column; the nodes that must be counted grow far
  more slowly.
- **k:** a larger k moves the optimum up, where lists are short.

<details><summary>The figures</summary>

{_table(heads, rows)}

</details>
"""


def _start(content: dict[str, Any]) -> str:
    names = {
        "--help": "`indistinct --help`",
        "schema": "`indistinct schema`",
        "eleven rows": "`indistinct anonymize`, eleven rows: kernels run as they are written, numba is not loaded",
    }
    for run in RUNS:
        told = run.replace(", sensitive", " and models of sensitive values")
        names[f"{run}, shipped"] = f"the same with {told}, 30,000 × 9, kernels that came with the package"
        names[f"{run}, first"] = f"the same with {told}, 30,000 × 9, nothing compiled yet: kernels are"
        names[f"{run}, again"] = f"the same with {told}, 30,000 × 9, later runs"
    rows = [
        (
            names[one["run"]],
            _seconds(one["cpu_seconds"]),
            _seconds(one["wall_seconds"]),
            f"{one['peak_bytes'] / 1e6:.0f} MB",
        )
        for one in _figures(content, "start")
    ]
    note = content["parts"].get("start", {}).get("note", "")
    told = f"{note}\n\n" if note else ""
    return f"## Start\n\n{told}{_table(('run', 'CPU', 'wall', 'peak memory'), rows)}\n" if rows else ""


def _queries(content: dict[str, Any]) -> str:
    if not _figures(content, "wong"):
        return ""
    return """## Queries

How far COUNT(*) queries go wrong on releases of one and of two tables, the experiment of Wong et al. 2007, has a
[page of its own](wong.md).
"""


def _ledger(content: dict[str, Any]) -> str:
    figures = _figures(content, "ledger")
    return ledger.section(figures) if figures else ""


def _bounds(content: dict[str, Any]) -> str:
    """Say which goals are missed, and by what they are bound."""
    missed = []
    for part in ("adult", "synthetic", "wide-adult"):
        for one in _figures(content, part):
            if not one["is_reached"]:
                job = (
                    f"{_named(part)} {one['rows']:,} × {one['columns']}, {one['measure']}, k={one['k']}, {_share(one)}"
                )
                each = 1e6 * one["cpu_seconds"] / one["counted_nodes"]
                missed.append(
                    f"- {job}: {_fraction(one['share_of_arx'])} instead of {_fraction(one['goal'])}; "
                    f"{one['counted_nodes']:,} nodes counted at {each:,.0f} µs each, {one['tuples']:,} tuples"
                )
    for one in _figures(content, "large"):
        if not one.get("is_reached", True):
            read, copied = (one["floor"][verb]["cpu_seconds"] for verb in ("read", "write"))
            missed.append(
                f"- {one['rows']:,} rows from file to file: {one['share_of_arx']:.2f} times ARX's load plus search "
                f"instead of 1/{1 / one['goal']:.0f}. DuckDB alone takes {_seconds(read)} s CPU to read this file once "
                f"and {_seconds(copied)} s to write it; read, write, read back: {_seconds(2 * read + copied)} s, "
                f"the goal is {_seconds(one['arx_cpu_seconds_here'] * one['goal'])} s"
            )
    listed = "\n".join(missed) or "Every goal is reached."
    return f"""## What is out of reach, and what bounds it

{listed}

{NOTES}"""


NOTES = """What bounds them. Each call of a kernel was timed in one separate profile, precision, best node within 2 %:

| job | share of time in kernels | a tuple, addressed places | a tuple, hashed places |
| --- | --- | --- | --- |
| Adult, k=100, 0 % | 27 % | 3.4 ns | 13 ns |
| Adult, k=5, 2 % | 48 % | 3.5 ns | 14 ns |
| 500 k rows | 82 % | 3.3 ns | 14 ns |
| 1 M rows | 84 % | 3.4 ns | 15 ns |
| 5 M rows | 89 % | 4.4 ns | 20 ns |

- **No suppression on Adult.** Few nodes are counted, and three quarters of the time is Python: choosing, splitting and
  queueing boxes; a quarter of it is made anew for each search (16 % the counter's arrays, 9 % tables of labels).
- **From 500 k rows.** The time is kernels: passes over long lists, since the optimum lies low in the lattice. An
  addressed place costs hardly more in a list 24 times as long, so these passes are bound by instructions rather than by
  memory; hashed ones cost four times as much and half as much again on the longest lists, where the table no longer
  fits the second cache. Fewer or shorter passes would help; how far hashing is bound by cache misses is not known.
- **From file to file.** See the stages above. Lines are grouped as they stand, different ones are parsed, and what was
  written is read and recounted in the same way, which ARX's figure does not have in it. Rows that do not repeat are
  parsed twice to encode them (values, then codes), and once more when they are recounted.
- Threads, which are used from 100,000 tuples on, save wall time, not CPU time.
- Instructions and cache misses were not measured: `perf stat` finds no hardware counters on this virtual machine.
"""


def _charts(figures: list[Figures], folder: Path) -> list[str]:
    """Draw one chart per axis, and give their names."""
    drawn = []
    for axis, (title, label) in AXES.items():
        lines = []
        for measure in dict.fromkeys(one["measure"] for one in figures if one["axis"] == axis):
            own = [one for one in figures if one["axis"] == axis and one["measure"] == measure]
            lines.append(Line(measure, tuple(sorted((float(one["at"]), one["cpu_seconds"]) for one in own))))
        if lines:
            name = f"benchmark-{axis}.svg"
            heading = f"The proven optimum: {title}, 2 % suppressed"
            chart = Chart(heading, label, "CPU seconds", tuple(lines), axis != "columns", True, "measure")
            (folder / name).write_text(chart.svg(), "utf-8")
            drawn.append(name)
    return drawn


def _figures(content: dict[str, Any], part: str) -> list[Figures]:
    found: list[Figures] = content["parts"].get(part, {}).get("figures", [])
    return found


def _named(part: str) -> str:
    return {"adult": "Adult", "synthetic": "synthetic population", "wide-adult": "wide Adult"}[part]


def _fraction(share: float) -> str:
    """Return a share of ARX's time as people say it.

    >>> _fraction(0.054), _fraction(2.26)
    ('1/18.5', '2.3 times')
    """
    return f"{share:.1f} times" if share > 1 else f"1/{1 / share:.3g}"


def _goal(one: Figures) -> str:
    """Return a goal and whether it is reached; what lies close to it is neither."""
    is_close = abs(one["share_of_arx"] / one["goal"] - 1) < CLOSE
    return f"{_fraction(one['goal'])} {'≈' if is_close else '✓' if one['is_reached'] else '✗'}"


def _share(one: Figures) -> str:
    return f"{100 * one['max_suppression']:g} %"


def _seconds(seconds: float) -> str:
    return f"{seconds:.3f}" if seconds < 1 else f"{seconds:.2f}" if seconds < 10 else f"{seconds:.1f}"


def _table(heads: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join(f"| {' | '.join(str(cell) for cell in line)} |" for line in lines)
