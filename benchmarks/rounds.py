"""Round: what a first user waits for: each command from a table to a report on its release, by init's own policy."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow as pa
import pyarrow.csv

import indistinct as ix
from benchmarks import measuring, round_tables, tables
from benchmarks.data import wide, write_csv
from benchmarks.setting import Figures, Setting, say

LIMIT_SECONDS = 240.0
"""A command that takes longer is ended."""
FEWEST, MOST = 100.0, 3
"""A command that took so many seconds is not repeated; others are run so often, and the best counts."""
PEOPLE_ARE_EXPOSED = 6
"""What attack and report leave with if an attack finds people: they are done all the same."""
COMMANDS = ("init", "check", "anonymize", "verify", "attack", "report", "compare")
QUICK_COMMANDS = 2
"""So many are run if quick: to start them takes a second each."""


@dataclass(frozen=True)
class RoundTable:
    """A table of the benchmark."""

    name: str
    make: Callable[[Setting, Path], object]
    is_exact: bool = False
    """Its amounts are sensitive as they are, each with l-diversity; else its policy is init's."""


def _adult(setting: Setting, path: Path) -> None:
    write_csv(wide(setting.adult, 13), path)


def _made(make: Callable[[int], pa.Table], rows: int) -> Callable[[Setting, Path], object]:
    return lambda setting, path: pyarrow.csv.write_csv(make(setting.sized(rows)), path)


TABLES = (
    RoundTable("adult", _adult),
    RoundTable("stays", _made(round_tables.stays, round_tables.STAYS)),
    RoundTable("earnings", _made(round_tables.earnings, round_tables.EARNERS)),
    RoundTable("exact earnings", _made(round_tables.earnings, round_tables.EARNERS), is_exact=True),
)


def run_round(setting: Setting) -> list[Figures]:
    """Run every command on every table; on the first one, which is small, if quick."""
    found: list[Figures] = []
    with TemporaryDirectory(dir=setting.folder) as folder:
        for one in setting.few(TABLES):
            found += _run_table(setting, one, Path(folder))
    return found


def _run_table(setting: Setting, one: RoundTable, folder: Path) -> list[Figures]:
    table, policy, release = (str(folder / name) for name in ("table.csv", "policy.toml", "release"))
    one.make(setting, Path(table))
    arguments = {
        "init": ["init", table, "-o", policy],
        "check": ["check", policy, table],
        "anonymize": ["anonymize", policy, table, "-o", release, "--replace"],
        "verify": ["verify", policy, release, "--original", table],
        "attack": ["attack", "all", policy, release, "--original", table],
        "report": ["report", policy, release, "--original", table, "-o", str(folder / "report.html"), "--replace"],
        "compare": ["compare", policy, table],
    }
    found: list[Figures] = []
    for command in setting.few(COMMANDS, QUICK_COMMANDS):
        figures = _best(one.name, command, arguments[command], folder, again=1 if setting.is_quick else MOST)
        found.append({"table": one.name, "command": command, **figures})
        say(f"  {one.name}, {command}: {figures['cpu_seconds']:.1f} s CPU, {figures['wall_seconds']:.1f} s")
        if command == "init" and one.is_exact:
            exact = _with_exact_amounts(ix.read_policy(policy))
            Path(policy).write_text(ix.policy_toml(exact), "utf-8")
    return found


def _best(table: str, command: str, arguments: list[str], folder: Path, again: int) -> Figures:
    """Run a command several times and return the figures of the quickest; init replaces no policy."""
    runs = []
    for _ in range(again):
        if command == "init":
            Path(arguments[arguments.index("-o") + 1]).unlink(missing_ok=True)
        done = measuring.run([sys.executable, "-m", "indistinct", *arguments], log=folder / "log", limit=LIMIT_SECONDS)
        if done.code not in (0, PEOPLE_ARE_EXPOSED) and done.wall < LIMIT_SECONDS:
            raise SystemExit(f"indistinct {command} on {table} left with {done.code}:\n{done.output}{done.errors}")
        runs.append(done)
        if done.wall > FEWEST:
            break
    best = min(runs, key=lambda one: one.cpu)
    figures = {"cpu_seconds": best.cpu, "wall_seconds": min(one.wall for one in runs), "runs": len(runs)}
    return figures | {"is_ended": best.wall >= LIMIT_SECONDS, "peak_bytes": best.peak_bytes}


def _with_exact_amounts(policy: ix.Policy) -> ix.Policy:
    """Return the policy with every amount sensitive as it is, and l-diversity of each."""
    amounts = [name for name in round_tables.MONEY if name in policy.columns]
    columns = {**policy.columns, **{name: ix.sensitive() for name in amounts}}
    privacy = [ix.KAnonymity(5), *(ix.LDiversity(2, column=name) for name in amounts)]
    return replace(policy, columns=columns, privacy=tuple(privacy))


def section(figures: list[Figures]) -> str:
    """Return the section of the page."""
    found = {(one["table"], one["command"]): one for one in figures}
    rows = [
        [name, *(_shown(found.get((name, command))) for command in COMMANDS)]
        for name in dict.fromkeys(one["table"] for one in figures)
    ]
    text = f"""whole commands by the policy that `init` writes: Adult with 13 columns; made-up stays in hospitals,
{round_tables.STAYS:,} × 50; made-up earnings, {round_tables.EARNERS:,} × 27, by `init`'s policy and with seven exact
amounts that are sensitive. CPU seconds, and wall seconds behind the stroke, best of {MOST};
`verify`, `attack all` and `report` are given the original."""
    return tables.section("A whole round", "round", text, tables.table(["table", *COMMANDS], rows))


def _shown(one: Figures | None) -> str:
    if one is None:
        return ""
    if one["is_ended"]:
        return f"> {LIMIT_SECONDS:.0f}"
    return f"{tables.seconds(one['cpu_seconds'])} / {tables.seconds(one['wall_seconds'])}"
