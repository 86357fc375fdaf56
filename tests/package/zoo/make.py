"""Make the releases and ledgers of a zoo with the version of indistinct that is installed: see README.md.

    python tests/zoo/make.py tests/zoo/0.1.0

The folder holds the tables and the policies already; whatever this makes must not be there yet.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import indistinct as ix

PARQUET = {"every-hierarchy", "anatomy"}
"""Policies whose releases are made from a Parquet table, and are Parquet themselves."""
UNSAFE = {"mu-argus"}


def main(folder: Path) -> None:
    """Make all of it, and note what this version finds in it."""
    (folder / "releases").mkdir()
    found: dict[str, Any] = {"version": ix.__version__, "policies": {}, "releases": {}}
    parquet = as_parquet(folder / "patients.csv")
    for path in sorted((folder / "policies").glob("*.toml")):
        policy = ix.read_policy(path)
        found["policies"][path.stem] = {
            "quasi": list(policy.quasi),
            "algorithm": policy.algorithm,
            "models": [repr(model) for model in policy.privacy],
            "hierarchies": {name: policy.columns[name].hierarchy.digest() for name in policy.quasi},
        }
        table = parquet if path.stem in PARQUET else folder / "patients.csv"
        goal = folder / "releases" / path.stem
        with ix.anonymize(table, policy, allow_unsafe=path.stem in UNSAFE) as release:
            release.write(goal, allow_unsafe=path.stem in UNSAFE)
            found["releases"][path.stem] = described(release)
    parquet.unlink()
    found["ledger"] = make_ledger(folder)
    (folder / "found.json").write_text(json.dumps(found, indent=1, sort_keys=True) + "\n", "utf-8")


def as_parquet(source: Path) -> Path:
    """Return the table as a Parquet file beside it, with numbers as numbers; to be removed again."""
    import pyarrow.csv
    import pyarrow.parquet

    text = pyarrow.csv.ConvertOptions(column_types={"zip": "string"}, strings_can_be_null=True)
    goal = source.with_suffix(".parquet")
    pyarrow.parquet.write_table(pyarrow.csv.read_csv(source, convert_options=text), goal)
    return goal


def described(release: ix.Release) -> dict[str, Any]:
    """Return what the release says of itself and its recount."""
    return {
        "node": None if release.node is None else dict(release.node),
        "suppressed": release.suppressed,
        "passed": release.verdict.passed,
        "rows": release.verdict.rows,
        "groups": release.verdict.groups,
        "measures": {name: round(float(value), 9) for name, value in release.measures.items()},
    }


def make_ledger(folder: Path) -> dict[str, Any]:
    """Make a ledger with a release, a consistent one, one of other people and one that was added; give its head."""
    place = folder / "ledger"
    place.mkdir()
    url, table, policies = str(place / "ward.db"), folder / "patients.csv", folder / "policies"

    def run(*arguments: Any) -> None:
        program = [str(Path(sys.executable).with_name("indistinct")), *map(str, arguments)]
        subprocess.run(program, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    run("ledger", "init", url)
    given = ("--ledger", url, "--recipient")
    out = folder / "given"
    plain, local, strict = (policies / f"{name}.toml" for name in ("k-anonymity", "mondrian", "models"))
    run("anonymize", plain, table, "-o", out, *given, "University", "--purpose", "a study")
    run("anonymize", local, table, "-o", out, "--replace", *given, "Registry", "--again", "consistent")
    run("anonymize", strict, table, "-o", out, "--replace", *given, "public", "--source", "another ward")
    run("ledger", "add", plain, folder / "releases" / "k-anonymity", "--original", table, *given, "Ministry")
    shutil.rmtree(out)
    with ix.Ledger(url) as ledger:
        ledger.verify(ledger.head).raise_if_failed()
        return {"head": ledger.head, "recipients": [entry.recipient for entry in ledger.entries]}


if __name__ == "__main__":
    main(Path(sys.argv[1]))
