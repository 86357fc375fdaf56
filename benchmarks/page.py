"""The page in docs: a table for each part, drawn from results.json alone."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks import (
    analyses,
    arx,
    clinic,
    database,
    effort,
    guessing,
    histories,
    init,
    invariance,
    known,
    ledger,
    local_page,
    models,
    nist,
    people,
    private,
    review,
    rounds,
    sharpening,
    spark,
    start,
    target,
    wide,
    wong_page,
)
from benchmarks.tables import filled, fraction, mark, seconds, section, table
from indistinct.showing.chart import Chart, Line

Figures = dict[str, Any]
AXES = {
    "rows": ("Adult-like rows, 9 columns, k = 5", "rows"),
    "columns": ("Adult, 30,162 rows, k = 5", "columns"),
    "k": ("Adult, 30,162 rows, 9 columns", "k"),
}
TABLES = {"adult": "Adult", "synthetic": "population", "wide-adult": "Adult"}


def write(content: dict[str, Any], folder: Path) -> None:
    """Write benchmarks.md and its charts."""
    figures = {name: part["figures"] for name, part in content["parts"].items() if part.get("figures")}
    drawn = _charts(figures.get("growth", []), folder)
    makers = {
        "adult": lambda _: _beside_arx(figures),
        "anytime": _anytime,
        "wide": wide.section,
        "growth": lambda _: _growth(drawn),
        "frontier": _frontier,
        "large": _large,
        "huge": _huge,
        "database": database.section,
        "spark": spark.section,
        "start": start.section,
        "round": rounds.section,
        "peers": _peers,
        "local": lambda own: local_page.section(own, folder),
        "effort": effort.section,
        "target": target.section,
        "models": models.section,
        "known": known.section,
        "invariance": invariance.section,
        "private": private.section,
        "people": people.section,
        "tables": clinic.section,
        "ledger": ledger.section,
        "link": _link,
        "sharpening": sharpening.section,
        "guessing": guessing.section,
        "init": init.section,
        "nist": nist.section,
        "bounds": analyses.section_of_bounds,
        "visits": analyses.section_of_visits,
        "histories": histories.section,
        "review": review.section,
    }
    made = [make(figures[name]) for name, make in makers.items() if name in figures]
    text = "\n".join([_head(content), *made, _missed(figures)])
    (folder / "benchmarks.md").write_text(text, "utf-8")
    wong_page.write(content, folder)


def _head(content: dict[str, Any]) -> str:
    parts = content["parts"].values()
    yardsticks = [part["yardstick_seconds"] for part in parts]
    machines = " or ".join(
        sorted({f"{part['machine']['cores']} cores, {part['machine']['processor']}" for part in parts})
    )
    busy = sum(part["machine"]["load_at_start"] > BUSY for part in parts)
    warning = "**A quick run on tiny made-up tables: the figures mean nothing.**\n\n" if content.get("is_quick") else ""
    said = [
        """**Times** are CPU seconds of all threads, best of several runs, with compiled kernels. *Search* is from the
        counted table to the proven optimum.""",
        f"""**Machine:** {machines}. {busy} of {len(parts)} parts begun above a load of {BUSY:g}.""",
        f"""**ARX:** {arx.NOTE}. The yardstick is `numpy.sort` of 20 million numbers: {min(yardsticks):.2f} to
        {max(yardsticks):.2f} s here. ARX was not run here: its times are multiplied by our yardstick over
        {arx.YARDSTICK} s, never up.""",
        """**Goals:** ✗ is missed, ≈ within 15 %, all others are met.""",
        """**Checks:** for each optimum beside ARX other code counts all nodes, or rules out all cheaper ones; NumPy
        recounts the suppressed rows.""",
    ]
    listed = "\n".join(filled(f"- {one}").replace("\n", "\n  ") for one in said)
    return f"""# Benchmarks

{warning}`python -m benchmarks [part …]` measures, and writes this page and
`benchmarks/results.json`, which has more figures. Sections begin with their parts; `wong` has
[its own page](wong.md). [README](../benchmarks/README.md) says where the tables come from.

{listed}
"""


BUSY = 2.0
"""Processes that wanted a core, above which two cores are shared with other work."""


def _beside_arx(figures: dict[str, list[Figures]]) -> str:
    """Show the exact optimum: one line per table, measure and k, one column per limit."""
    jobs: dict[tuple[str, str, str, int], dict[float, Figures]] = {}
    for part, name in TABLES.items():
        for one in figures.get(part, []):
            job = (name, f"{one['rows']:,} × {one['columns']}", one["measure"], one["k"])
            jobs.setdefault(job, {})[one["max_suppression"]] = one
    limits = sorted({limit for of_job in jobs.values() for limit in of_job if limit != 0.05})
    rows = [
        [" ".join(job[:2]), f"{job[2]}, {job[3]}"] + [_beside(own[limit]) if limit in own else "" for limit in limits]
        for job, own in jobs.items()
    ]
    heads = ["table", "measure, k", *(f"{limit:.0%}" for limit in limits)]
    text = """CPU seconds of our search by the limit on suppressed rows, its share of ARX's, and whether the goal
is met: half of ARX's time at 0 %, a thirtieth on the population, else a tenth."""
    return section("The exact optimum, beside ARX", "adult synthetic wide-adult", text, table(heads, rows))


def _beside(one: Figures) -> str:
    share = one["share_of_arx"]
    return f"{seconds(one['cpu_seconds'])} ({fraction(share)}{mark(share / one['goal'])})"


def _anytime(figures: list[Figures]) -> str:
    heads = ["time limit", "CPU s", "nodes counted", "loss found", "loss at least"]
    rows = [
        [
            f"{one['time_limit']:g} s" if one["time_limit"] else "none",
            seconds(one["cpu_seconds"]),
            f"{one['checks']:,}",
            f"{one['loss']:.4f}",
            f"{one['bound']:.4f}",
        ]
        for one in figures
    ]
    text = f"""Adult with {figures[0]["columns"]} columns, {figures[0]["nodes"]:,} nodes, precision, k = 5, 2 %
suppressed. It returns its best node and a lower bound."""
    return section("A search that is stopped", "anytime", text, table(heads, rows))


def _growth(drawn: Sequence[str]) -> str:
    text = """the search sees distinct tuples, not rows; each column multiplies the nodes by its levels, and the
nodes that must be counted grow far more slowly."""
    pictures = "\n".join(f"![CPU seconds of the search]({name})" for name in drawn)
    return section("How the cost grows", "growth", text, pictures)


def _frontier(figures: list[Figures]) -> str:
    one = figures[0]
    text = f"""`indistinct frontier` on Adult, {one["nodes"]:,} nodes × {one["ks"]} ks × {one["measures"]} measures,
takes **{seconds(one["cpu_seconds"])} s** CPU. Compared with `anonymize`, {one["agreed"]} optima are the same."""
    return section("The whole trade-off", "frontier", text)


def _large(figures: list[Figures]) -> str:
    """Show the way from file to file, and the stages of the last table."""
    heads = ["rows", "file", "CPU s", "wall s", "peak memory", "share of ARX", "goal"]
    rows = [
        [
            f"{one['rows']:,} × {one['columns']}",
            f"{one['file_bytes'] / 1e6:,.0f} MB",
            seconds(one["cpu_seconds"]),
            seconds(one["wall_seconds"]),
            f"{one['peak_bytes'] / 1e9:.2f} GB",
            *([fraction(one["share_of_arx"]), f"1/{1 / one['goal']:.0f}{mark(one['share_of_arx'] / one['goal'])}"]
              if "goal" in one else ["", ""]),
        ]
        for one in figures
    ]  # fmt: skip
    last = figures[-1]
    stages = ", ".join(f"{one['stage']} {seconds(one['cpu_seconds'])}" for one in last["stages"])
    floor = ", ".join(f"{name} {seconds(one['cpu_seconds'])}" for name, one in last["floor"].items())
    text = f"""the whole command `indistinct anonymize`, from a CSV file to a verified CSV release. ARX's time has
no writing and no recount in it; its heap is {arx.PEAK_5M / 1e9:.1f} GB."""
    after = f"CPU seconds by stage of the last line: {stages}. DuckDB alone: {floor}."
    return section("From file to file", "large", text, table(heads, rows), filled(after))


def _huge(figures: list[Figures]) -> str:
    heads = ["rows", "file", "`--memory`", "`--max-tuples`", "peak", "CPU s", "wall s"]
    rows = [
        [
            f"{one['rows']:,}",
            f"{one['file_bytes'] / 1e6:,.0f} MB",
            f"`{one['memory_limit']}`",
            f"{one['max_tuples']:,}" if one.get("max_tuples") else "",
            f"{one['peak_bytes'] / 1e9:.2f} GB",
            seconds(one["cpu_seconds"]),
            seconds(one["wall_seconds"]),
        ]
        for one in figures
    ]
    text = (
        "six columns, nearly all rows distinct, from Parquet to verified Parquet. The limit is for the whole process."
    )
    return section("Limited memory", "huge", text, table(heads, rows))


def _link(figures: list[Figures]) -> str:
    heads = ["release", "groups", "pairs that fit", "one to one", "right guesses", "CPU s"]
    rows = [
        [
            one["release"],
            f"{one['groups']:,}",
            f"{one['pairs']:,}",
            f"{one['one_to_one']:,}",
            f"{one['expected_matches']:,.0f}",
            seconds(one["cpu_seconds"]),
        ]
        for one in figures
    ]
    text = f"""`attacks.link` on birth date, ZIP, sex, race and age: {figures[0]["rows"]:,} made-up rows, half of
whose people stand among the {figures[0]["people"]:,} of a voter list. Pairs are counted from both sides, and agree."""
    return section("Linking with a voter list", "link", text, table(heads, rows))


def _peers(figures: list[Figures]) -> str:
    rows = []
    for one in figures:
        facts = [f"precision {one['precision']:.4f}"] if "precision" in one else []
        facts += [f"{one['released']:,} rows released"] if "released" in one else []
        facts += [f"smallest group {one['k']}"] if "k" in one else []
        facts += [f"{one['groups']:,} rows of groups"] if "groups" in one else []
        cpu = seconds(one["cpu_seconds"]) if "cpu_seconds" in one else "–"
        rows.append([one["package"], one.get("job", ""), cpu, one.get("said") or ", ".join(facts)])
    text = f"""Adult, {figures[0]["rows"]:,} rows × 9 unless the job says otherwise, k = 5, 2 % suppressed, from a
pandas frame to a pandas frame. The others ran once."""
    return section("Packages of PyPI", "peers", text, table(["package", "job", "CPU s", "result"], rows))


def _missed(figures: dict[str, list[Figures]]) -> str:
    """Say what bounds the goals that are missed."""
    floor = ""
    for one in figures.get("large", []):
        if not one.get("is_reached", True):
            alone = sum(stage["cpu_seconds"] for stage in one["floor"].values())
            floor = (
                f"\n- **From file to file:** the goal is {seconds(one['arx_cpu_seconds_here'] * one['goal'])} s, and "
                f"DuckDB alone takes {seconds(alone)} s to read, write and read back."
            )
    return f"## What bounds the goals that are missed\n\n{BOUNDS}{floor}\n"


BOUNDS = """By one profile, for precision:

- **Adult at 0 %:** 27 % of the time is in kernels; the rest is Python that chooses and queues parts of the lattice.
- **500,000 rows and more:** 82 to 89 % is in kernels: passes over long lists, 3.3 to 4.4 ns a tuple with an
  addressed place, 14 to 20 ns with a hashed one, because the optimum lies low in the lattice."""


def _charts(figures: list[Figures], folder: Path) -> list[str]:
    """Draw one chart per axis, and return their names."""
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
