"""Start: short commands, and first and later runs on a larger table, for which kernels are compiled once."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import indistinct as ix
from benchmarks import tables
from benchmarks.data import policy, population, write_csv
from benchmarks.setting import LIMIT, Figures, K, Setting, run_command, say
from indistinct.examples import save_examples

ROWS = 30_000
SENSITIVE = "occupation"
RUNS = {
    "lattice": ("k", "lattice"),
    "mondrian": ("k", "mondrian"),
    "regroup": ("k", "regroup"),
    "lattice, sensitive": ("values", "lattice"),
    "regroup, sensitive": ("values", "regroup"),
    "m-invariance": ("m", "m-invariance"),
}
"""By name: which policy, and which algorithm; nothing is compiled for one that was for another."""


def policies(setting: Setting) -> dict[str, ix.Policy]:
    """Return a policy of k-anonymity, one with entropy l-diversity and t-closeness besides, and one of m-invariance."""
    of_all = policy(population(setting.adult, setting.sized(ROWS)), K, LIMIT)
    columns = {**of_all.columns, SENSITIVE: ix.sensitive()}
    spread = [ix.KAnonymity(K), ix.LDiversity(3, kind="entropy"), ix.TCloseness(0.4)]
    return {
        "k": of_all,
        "values": ix.Policy(columns=columns, privacy=spread, max_suppression=LIMIT),
        "m": ix.Policy(columns=columns, privacy=[ix.MInvariance(3)], max_suppression=LIMIT),
    }


def run_start(setting: Setting) -> list[Figures]:
    """Short commands, and first and later runs on a larger table; with a table of nobody's, once each, if quick."""
    found: list[Figures] = []
    with TemporaryDirectory(dir=setting.folder) as folder:
        scratch = Path(folder)
        save_examples(scratch)
        write_csv(population(setting.adult, setting.sized(ROWS)), scratch / "adult.csv")
        for name, made in policies(setting).items():
            (scratch / f"{name}.toml").write_text(ix.policy_toml(made), "utf-8")
        # As after an installation: Python keeps the bytecode of modules, and numba has compiled nothing yet. A quick
        # run need not compile.
        environment = {"PYTHONDONTWRITEBYTECODE": ""}
        environment |= {} if setting.is_quick else {"PYTHONPYCACHEPREFIX": str(scratch / "bytecode")}

        def release(name: str, table: str, algorithm: str) -> list[str]:
            paths = str(scratch / f"{name}.toml"), str(scratch / f"{table}.csv")
            return ["anonymize", *paths, "--algorithm", algorithm, "-o", str(scratch / name), "--replace"]

        def add(run: str, command: list[str], times: int, more: dict[str, str]) -> None:
            runs = [run_command(command, scratch / "log", environment | more) for _ in range(times)]
            best = min(runs, key=lambda one: one.cpu)
            found.append(
                {"run": run, "cpu_seconds": best.cpu, "wall_seconds": best.wall, "peak_bytes": best.peak_bytes}
            )
            say(f"  {run}: {best.cpu:.2f} s CPU, {best.wall:.2f} s")

        again = 1 if setting.is_quick else 5
        small = release("samarati", "samarati", "lattice")
        short = (("--help", ["--help"]), ("schema", ["schema"]), ("eleven rows", small))
        for run, command in setting.few(short):
            if not setting.is_quick:
                run_command(command, scratch / "log", environment)
            add(run, command, again, {})
        for run, (name, algorithm) in setting.few(tuple(RUNS.items())):
            command = release(name, "adult", algorithm)
            here = {"NUMBA_CACHE_DIR": str(scratch / run)} if not setting.is_quick else {}
            add(f"{run}, first", command, 1, here)
            if setting.is_quick:
                break
            add(f"{run}, again", command, min(again, 2), here)
    return found


def section(figures: list[Figures]) -> str:
    """Return the section of the page."""
    found = {one["run"]: one for one in figures}
    rows = [
        [
            run,
            *(tables.seconds(found[name]["cpu_seconds"]) if name in found else "" for name in names),
        ]
        for run, names in ((run, (f"{run}, first", f"{run}, again")) for run in RUNS)
    ]
    short = [[run, "", tables.seconds(one["cpu_seconds"])] for run, one in found.items() if "," not in run]
    text = f"""whole commands, on Adult with {ROWS:,} rows × 9 or on eleven rows, which compile nothing. *First*
compiles the kernels; later runs read them from numba's cache."""
    heads = ["run", "first: CPU s", "later: CPU s"]
    return tables.section("Start", "start", text, tables.table(heads, [*short, *rows]))
