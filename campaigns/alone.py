"""verify.py beside ``indistinct verify``: random releases, sound and with a fault planted, judged by both.

What verify.py refuses the package must refuse; what the package refuses verify.py must refuse, too. Of statements in a
manifest alone it may say that it cannot tell.
"""

from __future__ import annotations

import csv
import io
import json
import random
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import indistinct as ix
from campaigns.random_cases import Case, draw_case
from campaigns.recount import REFUSED, policy_of, table_of
from campaigns.running import Options, Outcome
from indistinct.release.alone import recount_alone
from indistinct.release.manifest import MANIFEST, file_digest

UNDECIDED = "????"
"""How verify.py begins a line on what only the package can tell."""


def run(options: Options) -> Outcome:
    """Judge one release after the other, each as it is and with one fault."""
    outcome = Outcome(options)
    with tempfile.TemporaryDirectory(prefix="campaign-") as folder:
        for number in options.cases():
            dice = options.dice(number)
            case = replace(draw_case(dice), kind="csv")
            outcome.cases += 1
            place = Path(folder) / "release"
            if not write_release(case, Path(folder), place):
                outcome.figures[REFUSED] += 1
                continue
            for name, plant in (("as they are", None), draw_fault(dice, place)):
                if plant is not None:
                    plant(place, dice)
                ours, alone = judge_by_both(place)
                outcome.figures[f"releases {name}"] += 1
                found = [line for line in alone if not line.startswith(UNDECIDED)]
                outcome.figures["found by both"] += bool(ours and found)
                told = alone if all(one.startswith("manifest.") for one in ours) else found
                if (found and not ours) or (ours and not told):
                    outcome.add(number, f"{name}, {case.algorithm}: verify finds {ours}, verify.py {alone}")
            shutil.rmtree(place)
    return outcome


def write_release(case: Case, folder: Path, place: Path) -> bool:
    """Write the release of a case; tell whether there is one."""
    try:
        with table_of(case, folder) as table, ix.anonymize(table, policy_of(case), seed=case.seed) as release:
            release.write(place)
    except ix.IndistinctError:
        return False
    return True


def judge_by_both(place: Path) -> tuple[list[str], list[str]]:
    """Return what each of the two finds wrong with a release folder, and what verify.py cannot tell."""
    try:
        ours = [check.id for check in ix.verify(place).checks if not check.passed]
    except ix.IndistinctError as error:
        ours = [type(error).__name__]
    try:
        alone = [line for line in recount_alone.verify(place).lines if line.startswith(("FAILED", UNDECIDED))]
    except (OSError, ValueError, LookupError, TypeError, AttributeError, ArithmeticError) as error:
        alone = [type(error).__name__]
    return ours, alone


# Faults. Each changes a release; where only its text changes, the manifest is told the new digest.

Rows = list[dict[str, str]]
Plant = Callable[[Path, random.Random], None]


def change_table(change: Callable[[Rows, random.Random], Rows], *, table: str | None = None) -> Plant:
    """Return what changes the rows of a table, and its digest in the manifest."""

    def plant(place: Path, dice: random.Random) -> None:
        said = json.loads((place / MANIFEST).read_text("utf-8"))
        name = next((name for name in said["files"] if Path(name).stem == table), next(iter(said["files"])))
        with (place / name).open(encoding="utf-8", newline="") as lines:
            rows = change(list(csv.DictReader(lines)), dice)
        text = io.StringIO()
        writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
        (place / name).write_text(text.getvalue(), "utf-8", newline="")
        said["files"][name] = file_digest(place / name)
        (place / MANIFEST).write_text(json.dumps(said), "utf-8")

    return plant


def change_manifest(change: Callable[[dict[str, Any]], object]) -> Plant:
    """Return what changes the statements of a manifest."""

    def plant(place: Path, _: random.Random) -> None:
        said = json.loads((place / MANIFEST).read_text("utf-8"))
        change(said)
        (place / MANIFEST).write_text(json.dumps(said), "utf-8")

    return plant


def _drop_row(rows: Rows, dice: random.Random) -> Rows:
    rows.pop(dice.randrange(len(rows)))
    return rows or [{"nothing": ""}]


def _exchange_cell(rows: Rows, dice: random.Random) -> Rows:
    """Return a row the cell of another, in one column."""
    one, other, column = dice.choice(rows), dice.choice(rows), dice.choice(list(rows[0]))
    one[column] = other[column]
    return rows


def _ask_more(said: dict[str, Any]) -> None:
    """State a policy that asks for more than was asked."""
    for terms in said["policy"]["privacy"]:
        for name, step in (("k", 1), ("l", 1), ("p", 1), ("m", 1), ("at_most", -0.1), ("t", -0.1), ("beta", -0.3)):
            if name in terms:
                terms[name] = max(terms[name] + step, 0.01)


FAULTS: dict[str, Plant] = {
    "with a row left out": change_table(_drop_row),
    "with a row twice": change_table(lambda rows, dice: [*rows, dict(dice.choice(rows))]),
    "with a cell exchanged": change_table(_exchange_cell),
    "with a sensitive cell exchanged": change_table(_exchange_cell, table="sensitive"),
    "with a column more": change_table(lambda rows, _: [{**row, "name": "x"} for row in rows]),
    "with a column less": change_table(lambda rows, _: [dict(list(row.items())[1:]) for row in rows]),
    "with another text": lambda place, _: next(place.glob("*.csv")).write_bytes(b"a\n1\n"),
    "with a file more": lambda place, _: (place / "private.csv").write_text("name\nAnn\n", "utf-8"),
    "that state more rows": change_manifest(lambda said: said.update(released=said["released"] + 1)),
    "that state more groups": change_manifest(lambda said: said.update(groups=said["groups"] + 1)),
    "that state larger groups": change_manifest(lambda said: said.update(smallest_group=said["smallest_group"] + 1)),
    "that state more of their models": change_manifest(_ask_more),
}


def draw_fault(dice: random.Random, place: Path) -> tuple[str, Plant]:
    """Return one of the faults that a release can have."""
    has_values = (place / "sensitive.csv").exists()
    names = [name for name in FAULTS if has_values or not name.endswith("sensitive cell exchanged")]
    name = dice.choice(names)
    return name, FAULTS[name]
