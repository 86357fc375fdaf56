"""Foreign recount: random tables released by every algorithm and model, and recounted from the text of the release.

The recount stands in ``foreign.py`` and imports nothing of the package. A case that fails is made smaller row by row,
and kept with its policy and what was released.
"""

from __future__ import annotations

import csv
import io
import json
import shutil
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet

import indistinct as ix
from campaigns import foreign
from campaigns.foreign_models import Row
from campaigns.random_cases import TWO_TABLES, Case, draw_case
from campaigns.running import Options, Outcome
from indistinct.registry import MODELS

ATTEMPTS = 60
"""How often a failing case is tried with fewer rows."""
REFUSED = "refused, or no release found"
PROVED = 6
"""Of so many releases one is also verified with its original, which must pass."""


def run(options: Options) -> Outcome:
    """Release, recount and judge one random table after the other."""
    outcome = Outcome(options)
    with tempfile.TemporaryDirectory(prefix="campaign-") as folder:
        for number in options.cases():
            case = draw_case(options.dice(number))
            outcome.cases += 1
            faults, released = judge(case, Path(folder), is_proved=number % PROVED == 0)
            _count(outcome, case, released)
            if faults and faults[0].startswith("refused"):
                continue
            if faults:
                small = shrink(case, lambda one: _fails(one, Path(folder)))
                again, shown = judge(small, Path(folder), is_proved=True)
                content: dict[str, bytes | str] = {f"{name}.csv": text for name, text in (shown or released).items()}
                content |= {"case.json": json.dumps(asdict(small), indent=1), "faults.txt": "\n".join(again or faults)}
                outcome.add(
                    number, f"{case.algorithm}, {[m['model'] for m in case.claim['models']]}: {faults}", content
                )
    outcome.figures = Counter(dict(sorted(outcome.figures.items(), key=_place)))
    return outcome


def _place(figure: tuple[str, int]) -> tuple[int, str]:
    """Put totals first, then what tables had, then algorithms and models by name."""
    name, _ = figure
    first = ["released tables", "rows recounted", REFUSED]
    return (first.index(name), "") if name in first else (3 + name.startswith(("algorithm", "model")), name)


def _fails(case: Case, folder: Path) -> bool:
    faults, _ = judge(case, folder, is_proved=True)
    return bool(faults) and not faults[0].startswith("refused")


def _count(outcome: Outcome, case: Case, released: dict[str, str]) -> None:
    """Count what was tried and what became of it."""
    if not released:
        outcome.figures[REFUSED] += 1
        return
    rows = len(foreign.read(released.get("table") or released["quasi"]))
    outcome.figures["released tables"] += 1
    outcome.figures["rows recounted"] += rows
    seen = {
        "with missing cells": any("" in row.values() for row in case.rows),
        "with several quasi-identifiers": len(case.claim["sets"]) > 1,
        "with filters": bool(case.claim["eligible"]),
        "with rows suppressed": rows < len(foreign.eligible_rows(case.rows, case.claim)),
        "counted in people": bool(case.claim.get("person")),
        "with pseudonyms": bool(case.claim.get("pseudonym")),
    }
    outcome.figures.update([name for name, is_so in seen.items() if is_so])
    outcome.figures.update(
        [f"algorithm {case.algorithm}", *(f"model {_name(model)}" for model in case.claim["models"])]
    )


def _name(model: dict[str, Any]) -> str:
    kind = model.get("kind") or model.get("distance")
    return f"{model['model']} ({kind})" if kind else str(model["model"])


def judge(case: Case, folder: Path, *, is_proved: bool = False) -> tuple[list[str], dict[str, str]]:
    """Release a case and give what is wrong with the release, and its text; of a refusal, that it was one."""
    try:
        policy = policy_of(case)
        with table_of(case, folder) as table:
            release = ix.anonymize(table, policy, seed=case.seed)
            with release:
                texts = _texts(release, case.kind, folder)
                proof = release.verify(table) if is_proved else None
    except ix.IndistinctError as error:
        return [f"refused: {type(error).__name__}"], {}
    except Exception as error:
        return [f"unexpected {type(error).__name__}: {error}"], {}
    faults = recount(case, texts)
    if proof is not None and not proof.passed:
        faults.append(f"our own proof fails: {[check.name for check in proof.checks if not check.passed]}")
    return faults, texts


def recount(case: Case, texts: dict[str, str]) -> list[str]:
    """Recount the text of a release against the claim, with the limit in rows."""
    rows = len(foreign.eligible_rows(case.rows, case.claim))
    limit: int | None = None if case.algorithm == "datafly" else 0
    if case.max_suppression is not None:
        share = case.max_suppression
        limit = int(share * rows + 1e-9) if isinstance(share, float) else share
    if case.algorithm in ("mingen", "mu-argus"):
        limit = 0
    claim = case.claim | {"limit": limit}
    read = {name: foreign.read(text) for name, text in texts.items()}
    if case.algorithm in TWO_TABLES:
        return foreign.judge_two(read["quasi"], read["sensitive"], case.rows, claim)
    return foreign.judge_one(read["table"], case.rows, claim)


def policy_of(case: Case) -> ix.Policy:
    """Return the policy of a case."""
    claim, columns = case.claim, {"name": ix.identifier()}
    for name, one in claim["quasi"].items():
        more: dict[str, Any] = {"missing": claim["codes"][name]} if name in claim["codes"] else {}
        if one.get("least"):
            more["min_level"] = one["least"]
        columns[name] = ix.quasi(_hierarchy_of(one), **more)
    for name in claim["sensitive"]:
        is_asked = any(m.get("chains") and m.get("column") == name for m in claim["models"])
        chains = [list(chain) for chain in claim["chains"][name].values()]
        columns[name] = ix.sensitive(ix.levels(chains)) if is_asked else ix.sensitive()
    columns |= {name: ix.other() for name in claim["other"]}
    person: Any = claim.get("person")
    if claim.get("pseudonym"):
        person = {"column": person, "release": "pseudonym"}
    return ix.Policy(
        columns=columns,
        privacy=[_model_of(model, claim) for model in claim["models"]],
        max_suppression=case.max_suppression,
        suppressed_rows=case.suppressed_rows,
        quasi_identifiers=claim["sets"] if len(claim["sets"]) > 1 else None,
        eligible=[ix.where(*condition) for condition in claim["eligible"]],
        algorithm=case.algorithm,
        options=case.options,
        person=person,
        one_row_per_person=person is None,
    )


def _model_of(model: dict[str, Any], claim: dict[str, Any]) -> Any:
    given = {name: value for name, value in model.items() if name not in ("model", "chains")}
    if model["model"] == "k-map":
        people = claim["population"]
        given["population"] = pa.table({name: [one[name] for one in people] for name in people[0]})
    return MODELS.make(model["model"], **given)


def _hierarchy_of(one: dict[str, Any]) -> ix.Hierarchy:
    if one["kind"] == "listed":
        return ix.levels([list(chain) for chain in one["chains"].values()])
    if one["kind"] == "prefix":
        return ix.prefix(one["length"])
    if one["kind"] == "intervals":
        return ix.intervals(*one["widths"])
    return ix.suppress() if one["kind"] == "suppress" else ix.keep()


@contextmanager
def table_of(case: Case, folder: Path) -> Iterator[Any]:
    """Return the table of a case as a file or a frame of its kind; columns are numbers where ``typed`` asks for it."""
    names = list(case.rows[0])
    if case.kind == "csv":
        path = folder / "table.csv"
        path.write_text(_csv(case.rows), "utf-8")
        yield path
        path.unlink()
        return
    cells: dict[str, list[Any]] = {name: [row[name] or None for row in case.rows] for name in names}
    if case.kind == "typed":
        for name in names:
            if all(cell is None or (cell.isdecimal() and str(int(cell)) == cell) for cell in cells[name]):
                cells[name] = [None if cell is None else int(cell) for cell in cells[name]]
    table = pa.table({name: pa.array(cells[name], None if any(cells[name]) else pa.string()) for name in names})
    if case.kind == "pandas":
        yield table.to_pandas()
    elif case.kind == "parquet":
        path = folder / "table.parquet"
        pyarrow.parquet.write_table(table, path)
        yield path
        path.unlink()
    else:
        yield table


def _texts(release: ix.Release, kind: str, folder: Path) -> dict[str, str]:
    """Return the tables of a release as CSV: from the files that it writes, if it came as one, else from their
    cells.
    """
    if kind in ("csv", "parquet"):
        place = release.write(folder / "release")
        try:
            files = [path for path in place.iterdir() if path.name != "manifest.json"]
            return {path.stem: _text_of_file(path) for path in files}
        finally:
            shutil.rmtree(place)
    tables = release.tables
    if kind == "pandas":
        tables = {name: pa.Table.from_pandas(table, preserve_index=False) for name, table in tables.items()}
    return {name: _text_of_table(table) for name, table in tables.items()}


def _text_of_file(path: Path) -> str:
    if path.suffix == ".csv":
        return path.read_text("utf-8")
    return _text_of_table(pyarrow.parquet.read_table(path))


def _text_of_table(table: pa.Table) -> str:
    return _csv([{name: "" if cell is None else str(cell) for name, cell in row.items()} for row in table.to_pylist()])


def _csv(rows: list[Row]) -> str:
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]) if rows else [], lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def shrink(case: Case, fails: Callable[[Case], bool]) -> Case:
    """Return a case with fewer rows that still fails: halves, quarters, in the end single rows are left out."""
    tries, size = ATTEMPTS, len(case.rows) // 2
    while size and tries:
        start = 0
        while start < len(case.rows) and tries:
            fewer = replace(case, rows=case.rows[:start] + case.rows[start + size :])
            tries -= 1
            if fewer.rows and fails(fewer):
                case = fewer
            else:
                start += size
        size //= 2
    return case
