"""The parts of the benchmark: each measures some jobs and gives their figures as plain dictionaries."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory

import indistinct as ix
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
    limits,
    link,
    local,
    measuring,
    models,
    nist,
    peers,
    people,
    private,
    proof,
    review,
    rounds,
    sharpening,
    spark,
    start,
    target,
    wong,
)
from benchmarks.adult import Rows
from benchmarks.data import Counted, policy, population, wide, write_csv, write_policy
from benchmarks.setting import LIMIT, Figures, K, Setting, run_command, say
from benchmarks.wide import run_wide
from indistinct.quality import measure_named
from indistinct.search.full_domain.lattice import Optimum, Search

MEASURES = ("precision", "loss", "discernibility")
PROOF_SECONDS = 240.0


def run_adult(setting: Setting) -> list[Figures]:
    """The jobs on Adult."""
    counted = Counted.of(setting.searched)
    ks, measures = {k for _, k, _ in arx.ADULT}, {measure for measure, _, _ in arx.ADULT}
    exhaustive = proof.Exhaustive.of(counted, ks, measures)
    found = []
    for (measure, k, limit), arx_seconds in arx.ADULT.items():
        one = _job(setting, "adult", counted, measure, k, limit, arx_seconds)
        one |= {"checked": exhaustive.check(one.pop("optimum"), k, limit, measure)}
        found.append(_said(one))
    return found


def run_synthetic(setting: Setting) -> list[Figures]:
    """The jobs on synthetic populations."""
    found = []
    for rows in sorted({rows for rows, _ in arx.SYNTHETIC}):
        counted = Counted.of(population(setting.searched, setting.sized(rows)))
        measures = [measure for own, measure in arx.SYNTHETIC if own == rows]
        jobs = [_job(setting, "synthetic", counted, m, K, LIMIT, arx.SYNTHETIC[rows, m]) for m in measures]
        say(f"  counting every node of {rows:,} rows")
        exhaustive = proof.Exhaustive.of(counted, [K], measures)
        for one in jobs:
            one |= {"checked": exhaustive.check(one.pop("optimum"), K, LIMIT, one["measure"])}
            found.append(_said(one))
    return found


def run_wide_adult(setting: Setting) -> list[Figures]:
    """The jobs on Adult with further columns."""
    found = []
    for columns, arx_seconds in arx.WIDE.items():
        if setting.is_quick and columns > min(arx.WIDE):
            break
        counted = Counted.of(wide(setting.adult, columns))
        one = _job(setting, "wide-adult", counted, "precision", K, LIMIT, arx_seconds)
        optimum = one.pop("optimum")
        if columns == min(arx.WIDE) and not setting.is_quick:
            say("  counting every node")
            one["checked"] = proof.Exhaustive.of(counted, [K], ["precision"]).check(optimum, K, LIMIT, "precision")
        else:
            say("  ruling out every cheaper node")
            one["checked"] = proof.rule_out(counted.task(K, LIMIT), optimum, "precision", PROOF_SECONDS)
        found.append(_said(one))
    return found


def run_growth(setting: Setting) -> list[Figures]:
    """How the cost grows with rows, columns and k, for three measures."""
    found: list[Figures] = []

    def add(axis: str, at: int, counted: Counted, k: int) -> None:
        for measure in MEASURES:
            one = _job(setting, "growth", counted, measure, k, LIMIT, None)
            one.pop("optimum")
            found.append(_said(one | {"axis": axis, "at": at}))

    for rows in (10_000, 30_000, 100_000, 300_000, 1_000_000, 3_000_000, 10_000_000):
        if setting.is_quick and rows > 100_000:
            break
        add("rows", rows, Counted.of(population(setting.adult, setting.sized(rows))), K)
    for columns in range(3, 7 if setting.is_quick else 13):
        table = setting.adult.first(columns) if columns <= 9 else wide(setting.adult, columns)
        add("columns", columns, Counted.of(table), K)
    counted = Counted.of(setting.adult)
    for k in (2, 5, 10, 20, 50, 100, 200, 500, 1000):
        if setting.is_quick and k > 5:
            break
        add("k", k, counted, k)
    return found


def run_frontier(setting: Setting) -> list[Figures]:
    """The whole trade-off on Adult, and whether it agrees with anonymize at every k."""
    counted = Counted.of(setting.searched)
    from indistinct.search.full_domain.frontier import DEFAULT_KS, sweep

    ks = [k for k in DEFAULT_KS if k <= len(setting.adult)]
    swept, taken = measuring.best_of(
        lambda: sweep(counted.task(K, LIMIT), ix.Watch(), ks, MEASURES),
        fewest=0 if setting.is_quick else 2,
        enough_seconds=0,
    )
    agreed = 0
    for k in ks if not setting.is_quick else ks[:3]:
        for limit in (0.0, 0.02, 0.05):
            for measure in MEASURES:
                optimum = Search(counted.task(k, limit), ix.Watch()).optimum(measure_named(measure))
                assert optimum is not None, "the top of Adult's lattice is one group"
                proof.Exhaustive(swept).check(optimum, k, limit, measure)
                agreed += 1
    one = _table(counted) | {"ks": len(ks), "measures": len(MEASURES), "agreed": agreed} | taken.to_dict()
    say(f"  frontier of {one['nodes']:,} nodes x {len(ks)} ks: {taken.cpu:.2f} s CPU, {agreed} optima agree")
    return [one]


def run_peers(setting: Setting) -> list[Figures]:
    """Other packages on the same table, and this one beside them, from a pandas frame to a pandas frame."""
    found = peers.measured(setting.adult, K, LIMIT, setting.folder, is_quick=setting.is_quick)
    for one in found:
        say(f"  {one['package']}: {one.get('said') or format(one['cpu_seconds'], '.2f') + ' s CPU'}")
    return found


def run_large(setting: Setting) -> list[Figures]:
    """From CSV files of 1 and 5 million rows to verified CSV releases, as a user runs it; stages of the larger one."""
    sizes = (5_000_000,) if setting.is_quick else (1_000_000, 5_000_000)
    found = [_from_file_to_file(setting, setting.sized(rows)) for rows in sizes]
    rows = found[-1]["rows"]
    table, made = setting.folder / f"population-{rows}.csv", population(setting.adult, rows)
    arx_seconds = arx.LOAD_5M + arx.SYNTHETIC[5_000_000, "precision"]
    found[-1] |= _beside(setting, "large", found[-1]["cpu_seconds"], arx_seconds, LIMIT) | {
        "stages": _stages(setting, table, made),
        "floor": _floor(setting, table),
    }
    if not setting.is_quick:
        for one in found:
            (setting.folder / f"population-{one['rows']}.csv").unlink(missing_ok=True)
    return found


def _from_file_to_file(setting: Setting, rows: int) -> Figures:
    """The best of several runs on a table of so many rows, whose answer is that of the search."""
    table, policy_path = setting.folder / f"population-{rows}.csv", setting.folder / "policy.toml"
    made = population(setting.adult, rows)
    if not table.exists():
        say(f"  writing {table.name}")
        write_csv(made, table)
    write_policy(made, K, LIMIT, policy_path)
    # as after an installation, Python keeps the bytecode of modules; the first run makes it
    environment = {"PYTHONDONTWRITEBYTECODE": ""}
    environment |= {} if setting.is_quick else {"PYTHONPYCACHEPREFIX": str(setting.folder / "bytecode")}
    runs: list[Figures] = []
    for _ in range(1 if setting.is_quick else 4 if rows <= 1_000_000 else 2):
        with TemporaryDirectory(dir=setting.folder) as name:
            scratch = Path(name)
            command = ["anonymize", str(policy_path), str(table), "-o", str(scratch / "release"), "--json"]
            done = run_command(command, scratch / "log", environment)
        document = json.loads(done.output)
        runs.append(
            {
                "rows": rows,
                "columns": len(made.columns),
                "file_bytes": table.stat().st_size,
                "cpu_seconds": done.cpu,
                "wall_seconds": done.wall,
                "peak_bytes": done.peak_bytes,
                "is_verified": document["verdict"]["passed"],
                "node": list(document["node"].values()),
                "suppressed": document["suppressed"],
            }
        )
    best = min(runs, key=lambda one: float(one["cpu_seconds"]))
    optimum = Search(Counted.of(made).task(K, LIMIT), ix.Watch()).optimum(measure_named("precision"))
    if optimum is None or list(optimum.recoding.node) != best["node"] or not best["is_verified"]:
        raise proof.WrongOptimumError("the release is not that of the search")
    peak = best["peak_bytes"] / 1e9
    say(f"  {rows:,} rows: {best['wall_seconds']:.1f} s, {best['cpu_seconds']:.1f} s CPU, {peak:.2f} GB")
    return best


PARTS = {
    "adult": run_adult,
    "synthetic": run_synthetic,
    "wide-adult": run_wide_adult,
    "wide": run_wide,
    "anytime": limits.run_anytime,
    "growth": run_growth,
    "frontier": run_frontier,
    "peers": run_peers,
    "large": run_large,
    "huge": limits.run_huge,
    "database": database.run_database,
    "spark": spark.run_spark,
    "link": link.run_link,
    "start": start.run_start,
    "round": rounds.run_round,
    "wong": wong.run_wong,
    "ledger": ledger.run_ledger,
    "local": local.run_local,
    "people": people.run_people,
    "private": private.run_private,
    "known": known.run_known,
    "effort": effort.run_effort,
    "target": target.run_target,
    "invariance": invariance.run_invariance,
    "models": models.run_models,
    "sharpening": sharpening.run_sharpening,
    "guessing": guessing.run_guessing,
    "init": init.run,
    "histories": histories.run_histories,
    "review": review.run_review,
    "tables": clinic.run_tables,
    "nist": nist.run_nist,
    "bounds": analyses.run_bounds,
    "visits": analyses.run_visits,
}


def _job(
    setting: Setting, part: str, counted: Counted, measure: str, k: int, limit: float, arx_seconds: float | None
) -> Figures:
    """Search for one optimum several times; the answer itself stands under ``optimum``."""
    scale = measure_named(measure)

    def work() -> tuple[Search, Optimum]:
        search = Search(counted.task(k, limit), ix.Watch())
        optimum = search.optimum(scale)
        assert optimum is not None, "the top of the lattice is one group"
        return search, optimum

    least = (0, 0.0) if setting.is_quick else (3, 2.0)
    (search, optimum), taken = measuring.best_of(work, fewest=least[0], enough_seconds=least[1])
    if not optimum.proven_or_not().is_proven:
        raise proof.WrongOptimumError("the search does not claim to be done")
    proof.recount(counted, optimum, k)
    return (
        _table(counted)
        | {"measure": measure, "k": k, "max_suppression": limit}
        | taken.to_dict()
        | {
            "counted_nodes": search.checks,
            "node": list(optimum.recoding.node),
            "loss": optimum.loss,
            "suppressed": optimum.recoding.suppressed_rows,
        }
        | ({} if arx_seconds is None else _beside(setting, part, taken.cpu, arx_seconds, limit))
        | {"optimum": optimum}
    )


def _table(counted: Counted) -> Figures:
    return {
        "rows": len(counted.rows),
        "columns": len(counted.rows.columns),
        "tuples": len(counted.frequencies.base),
        "nodes": proof.nodes(counted),
    }


def _beside(setting: Setting, part: str, cpu: float, arx_seconds: float, limit: float) -> Figures:
    """Compare with ARX's CPU seconds as this machine would take them."""
    scaled = setting.scaled(arx_seconds)
    goal = arx.goal(part, limit)
    return {
        "arx_cpu_seconds": arx_seconds,
        "arx_cpu_seconds_here": scaled,
        "share_of_arx": cpu / scaled,
        "goal": goal,
        "is_reached": cpu / scaled <= goal,
    }


def _said(one: Figures) -> Figures:
    beside = f", ARX / {1 / one['share_of_arx']:.1f}" if "share_of_arx" in one else ""
    say(
        f"  {one['rows']:,} x {one['columns']}, {one['measure']}, k = {one['k']}, {one['max_suppression']:.0%}: "
        f"{one['cpu_seconds']:.3f} s CPU{beside}; {one.get('checked', 'recounted')}"
    )
    return one


def _stages(setting: Setting, table: Path, made: Rows) -> list[Figures]:
    """Measure each stage of the way from file to file, in this process; counting includes reading."""
    marks: list[tuple[str, float, float]] = []

    def mark(stage: str, *_: object) -> None:
        if not marks or marks[-1][0] != stage:
            marks.append((stage, time.process_time(), time.perf_counter()))

    with TemporaryDirectory(dir=setting.folder) as folder:
        mark("open")
        with ix.anonymize(table, policy(made, K, LIMIT), watch=ix.Watch(progress=mark)) as release:
            mark("write and recount")
            release.write(Path(folder) / "release")
        mark("end")
    return [
        {"stage": stage, "cpu_seconds": later[1] - cpu, "wall_seconds": later[2] - wall}
        for (stage, cpu, wall), later in pairwise(marks)
    ]


def _floor(setting: Setting, table: Path) -> Figures:
    """Measure what DuckDB takes to read the file once, to write it once and to read that, and nothing else."""
    import duckdb

    with duckdb.connect() as connection, TemporaryDirectory(dir=setting.folder) as folder:
        connection.execute("SET VARIABLE source = ?", [str(table)])
        source = "FROM read_csv(getvariable('source'), all_varchar = true)"
        columns = ", ".join(f'max("{name}")' for name in setting.adult.columns)
        _, read = measuring.best_of(lambda: connection.execute(f"SELECT {columns} {source}").fetchall(), fewest=1)
        connection.execute(f"CREATE TABLE rows AS {source}")
        written = f"COPY rows TO '{folder}/rows.csv'"
        _, copied = measuring.best_of(lambda: connection.execute(written).fetchall(), fewest=1)
        connection.execute("SET VARIABLE source = ?", [f"{folder}/rows.csv"])
        _, again = measuring.best_of(lambda: connection.execute(f"SELECT {columns} {source}").fetchall(), fewest=1)
    return {"read": read.to_dict(), "write": copied.to_dict(), "read back": again.to_dict()}


def chosen(names: list[str]) -> Iterator[str]:
    """Return the parts that were asked for, in their order; all if none was."""
    yield from (name for name in PARTS if not names or name in names)
