"""Peers: packages of PyPI on the same table, each in a process of its own, in an environment made for them."""

from __future__ import annotations

import csv
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import indistinct as ix
from benchmarks import adult, measuring
from benchmarks.adult import Rows
from benchmarks.data import policy

PACKAGES = ("anjana", "pycanon", "anonypy", "openmed")
LIMIT_SECONDS = 120.0
SMALL = (1000, 4)
"""Rows and columns for a package that visits every node in Python: all of Adult would take it half a day."""

COMMON = """
import json, sys, time, warnings
warnings.simplefilter("ignore")
import numpy as np, pandas as pd
table = pd.read_csv(sys.argv[1], dtype=str)
columns, k, limit = list(table.columns), int(sys.argv[3]), float(sys.argv[4])
hierarchies = json.load(open(sys.argv[2]))
def measure(work):
    cpu, wall = time.process_time(), time.perf_counter()
    result = work()
    return result, {"cpu_seconds": time.process_time() - cpu, "wall_seconds": time.perf_counter() - wall}
"""

ANJANA = (
    COMMON
    + """
from importlib.metadata import version
from anjana.anonymity import k_anonymity
levels = {c: {n: np.array([row[n] for row in rows]) for n in range(len(rows[0]))} for c, rows in hierarchies.items()}
result, taken = measure(lambda: k_anonymity(table, [], columns, k, 100 * limit, levels))
result[columns].to_csv(sys.argv[5], index=False)
print(json.dumps(taken | {"package": "anjana " + version("anjana"), "released": len(result)}))
"""
)

PYCANON = (
    COMMON
    + """
from importlib.metadata import version
from pycanon.anonymity import k_anonymity
result, taken = measure(lambda: k_anonymity(table, columns))
print(json.dumps(taken | {"package": "pycanon " + version("pycanon"), "k": int(result)}))
"""
)

ANONYPY = (
    COMMON
    + """
from importlib.metadata import version
import anonypy
table["age"] = table["age"].astype(int)
for column in columns:
    if column != "age":
        table[column] = table[column].astype("category")
table["number"] = 1
made = anonypy.Preserver(table, columns, "number")
result, taken = measure(lambda: made.anonymize_k_anonymity(k=k))
print(json.dumps(taken | {"package": "anonypy " + version("anonypy"), "groups": len(result)}))
"""
)

OPENMED = (
    COMMON
    + """
from importlib.metadata import version
from openmed.risk.kanon import enforce_kanon
def level(rows, n):
    return {row[m]: row[max(m, n)] for row in rows for m in range(len(row))}
levels = {
    c: [{"name": "0"}, *({"name": str(n), "values": level(rows, n)} for n in range(1, len(rows[0])))]
    for c, rows in hierarchies.items() if c in columns
}
records = table.to_dict("records")
result, taken = measure(
    lambda: enforce_kanon(records, columns, target_k=k, suppression_rate=limit, hierarchies=levels)
)
pd.DataFrame(result["records"])[columns].to_csv(sys.argv[5], index=False)
print(json.dumps(taken | {"package": "openmed " + version("openmed"), "released": result["released_count"]}))
"""
)


def measured(table: Rows, k: int, max_suppression: float, cache: Path, *, is_quick: bool) -> list[dict[str, Any]]:
    """Return the figures of this package and of the peers, on the same rows and, where they take one, the same
    policy.
    """
    path, hierarchies = cache / "peers.csv", cache / "peers.json"
    _write(table, path)
    hierarchies.write_text(json.dumps({column: adult.hierarchy(column) for column in table.columns}), "utf-8")
    rows, columns = SMALL
    small, small_path = table.first(columns).head(rows), cache / "peers-small.csv"
    _write(small, small_path)
    found = _own(table, path, k, max_suppression, runs=0 if is_quick else 4)
    beside = _own(small, small_path, k, max_suppression, runs=0 if is_quick else 4)[0]
    beside["job"] += f", {rows:,} rows × {columns}"
    python = None if is_quick else _environment(cache)
    if python is None:
        missing = "NOT MEASURED: " + ("a quick run installs nothing" if is_quick else "pip could not install them")
        return [*found, beside, *({"package": package, "said": missing} for package in PACKAGES)]
    for package, job, program in (
        ("anjana", "k-anonymity, greedy", ANJANA),
        ("pycanon", "counts k", PYCANON),
        ("anonypy", "Mondrian (other groups, other labels)", ANONYPY),
        ("openmed", f"k-anonymity, every node, {rows:,} rows × {columns}", OPENMED),
    ):
        given = (small, small_path) if package == "openmed" else (table, path)
        if package == "openmed":
            found.append(beside)
        found.append(_peer((package, job, program), *given, [str(hierarchies), str(k), str(max_suppression)]))
    return found


def _peer(asked: tuple[str, str, str], table: Rows, path: Path, settings: list[str]) -> dict[str, Any]:
    """Run one package on a table that lies at a path, and give its figures, or why there are none."""
    package, job, program = asked
    output, log = path.with_name(f"{package}.csv"), path.with_name(f"{package}.log")
    output.unlink(missing_ok=True)
    command = [str(_python(path.parent)), "-c", program, str(path), *settings, str(output)]
    done = measuring.run(command, log=log, limit=LIMIT_SECONDS)
    one: dict[str, Any] = {"package": package, "job": job, "rows": len(table)}
    if done.code == 0:
        one |= json.loads(done.output.splitlines()[-1])
        return one | ({"precision": precision(table, output)} if output.exists() else {})
    if done.wall > LIMIT_SECONDS:
        return one | {"said": f"stopped after {LIMIT_SECONDS:.0f} s"}
    return one | {"said": f"failed: {(done.errors.strip().splitlines() or ['?'])[-1][:160]}"}


def precision(table: Rows, released: Path) -> float:
    """Return Sweeney's precision of a full-domain release; a suppressed row has lost all."""
    with open(released, encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    kept = 0.0
    for column in table.columns:
        listed = adult.hierarchy(column)
        labels = {row[column] for row in rows}
        level = next(n for n in range(len(listed[0])) if labels <= {row[n] for row in listed})
        kept += len(rows) * (1 - level / (len(listed[0]) - 1))
    return kept / (len(table) * len(table.columns))


def _own(table: Rows, path: Path, k: int, max_suppression: float, runs: int) -> list[dict[str, Any]]:
    """Measure this package: the optimum, and the recount of a table."""
    import pandas

    frame = pandas.read_csv(path, dtype=str)
    asked = policy(table, k, max_suppression)

    def anonymize() -> tuple[int, float]:
        with ix.anonymize(frame, asked) as release:
            return len(release.table), release.measures["precision"]

    (released, prec), taken = measuring.best_of(anonymize, fewest=runs, enough_seconds=0)
    verdict, counting = measuring.best_of(lambda: ix.verify(frame, asked), fewest=runs, enough_seconds=0)
    name = f"indistinct {ix.__version__}"
    return [
        {"package": name, "job": "k-anonymity, optimal, verified", "rows": len(table)}
        | taken.to_dict()
        | {"released": released, "precision": prec},
        {"package": name, "job": "counts k", "rows": len(table)} | counting.to_dict() | {"k": verdict.smallest_group},
    ]


def _write(table: Rows, path: Path) -> None:
    values = [table.values(column) for column in range(len(table.columns))]
    with open(path, "w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(table.columns)
        writer.writerows(
            [own[code] for own, code in zip(values, row, strict=True)] for row in zip(*table.codes, strict=True)
        )


def _python(cache: Path) -> Path:
    return cache / "-".join(["peers", *PACKAGES]) / "bin" / "python"


def _environment(cache: Path) -> Path | None:
    """Return a Python that has the peers, made once; None, with a loud line, if they cannot be installed."""
    python = _python(cache)
    folder = python.parent.parent
    if python.exists():
        return python
    print("  making an environment for the peers", file=sys.stderr)
    try:
        subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
        subprocess.run([str(python), "-m", "pip", "install", "-q", *PACKAGES], check=True, timeout=300)
    except (OSError, subprocess.SubprocessError) as error:
        import shutil

        shutil.rmtree(folder, ignore_errors=True)
        print(f"  NOT MEASURED: {', '.join(PACKAGES)}: {error}", file=sys.stderr)
        return None
    return python
