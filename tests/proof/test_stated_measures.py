"""The measures that a release states: worked out anew from table and original, a false one fails, ours all pass."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from campaigns.random_cases import draw_case
from campaigns.recount import policy_of, table_of

import indistinct as ix
from helpers.profiles import scaled
from indistinct.registry import MEASURES

PEOPLE = 24
TABLE = pa.table(
    {
        "name": [f"n{row % PEOPLE}" for row in range(30)],
        "age": [[21, 22, 27, 34, 35, 58][row % 6] for row in range(30)],
        "zip": [["1011", "1012", "1021", "2011"][row * 7 % 4] for row in range(30)],
        "ill": [["flu", "cough", "angina"][row % 3] for row in range(30)],
    }
)
COLUMNS = {
    "name": ix.identifier(),
    "age": ix.quasi(ix.intervals(5, 10, 20, top="*"), weight=2.0),
    "zip": ix.quasi(ix.prefix(4)),
    "ill": ix.sensitive(),
}


def made(algorithm: str, **more: Any) -> ix.Policy:
    """Return a policy for the table."""
    given = {"privacy": [ix.KAnonymity(3)], "max_suppression": 0.4, "one_row_per_person": "person" not in more}
    return ix.Policy(columns=COLUMNS, algorithm=algorithm, **(given | more))


FORMS = {
    "by column": made("lattice"),
    "cell by cell": made("regroup", options={"labels": "ranges"}),
    "cells left blank": made(
        "mu-argus", max_suppression=None, options={"recoded": {"zip": 2}}, privacy=[ix.KAnonymity(4)]
    ),
    "two tables": made("anatomy", privacy=[ix.LDiversity(2)]),
    "blank rows": made("datafly", suppressed_rows="blank", max_suppression=0.6, privacy=[ix.KAnonymity(4)]),
    "people": made("lattice", person="name"),
    "pseudonyms": made("lattice", person={"column": "name", "release": "pseudonym"}, privacy=[ix.KAnonymity(2)]),
}


@pytest.mark.slow
@pytest.mark.parametrize("form", FORMS)
def test_every_false_measure_fails_with_the_original(form):
    policy = FORMS[form]
    with ix.anonymize(TABLE, policy) as release:
        ours = release.verify(TABLE)
        assert ours.passed, ours
        assert next(check.numbers for check in ours.checks if check.id == "manifest.measures")["checked"] == 11
        tables = release.released_tables()
        assert set(tables.said.measures) == set(MEASURES)
        false = {name: figure + 1e-3 for name, figure in tables.said.measures.items()}
        (failed,) = (check for check in judged(tables, policy, measures=false).checks if not check.passed)
        assert (failed.id, failed.numbers) == ("manifest.measures", {"wrong": list(false)})


def judged(tables: Any, policy: ix.Policy, **claims: Any) -> ix.Verdict:
    """Judge a release that says something else of itself, with its original."""
    said = tables.said.model_copy(update=claims)
    return ix.verify(replace(tables, saying=lambda: said), policy, original=TABLE)


def test_false_mean_levels_and_heights_fail_with_the_original():
    with ix.anonymize(TABLE, FORMS["cell by cell"]) as release:
        tables = release.released_tables()
        for claim in ("mean_levels", "heights"):
            false = {name: number + 1 for name, number in getattr(tables.said, claim).items()}
            verdict = judged(tables, FORMS["cell by cell"], **{claim: false})
            assert not verdict.passed, claim


@pytest.mark.slow
def test_what_follows_from_the_groups_is_checked_without_the_original(tmp_path):
    folder = ix.anonymize(TABLE, FORMS["by column"]).write(tmp_path / "release")
    said = json.loads((folder / "manifest.json").read_text("utf-8"))
    passing = []
    for name, figure in said["measures"].items():
        change(folder, said | {"measures": said["measures"] | {name: figure + 1e-3}})
        for policy in (FORMS["by column"], None):
            passing += [name] if ix.verify(folder, policy).passed else []
    assert passing == ["loss", "loss", "ncp", "ncp", "entropy", "entropy"]
    change(folder, said)
    assert ix.verify(folder, FORMS["by column"]).not_checked[-1].numbers["measures"] == ["loss", "ncp", "entropy"]
    proved = ix.verify(folder, FORMS["by column"], original=TABLE)
    assert proved.passed
    assert proved.not_checked[-1].numbers["measures"] == []


def change(folder: Path, said: Mapping[str, Any]) -> None:
    """Write a manifest anew."""
    (folder / "manifest.json").write_text(json.dumps(said, indent=2, ensure_ascii=False) + "\n", "utf-8")


def test_a_measure_of_another_package_is_named_as_not_checked(tmp_path):
    folder = ix.anonymize(TABLE, FORMS["by column"]).write(tmp_path / "release")
    said = json.loads((folder / "manifest.json").read_text("utf-8"))
    change(folder, said | {"measures": said["measures"] | {"my-measure": 0.5}})
    verdict = ix.verify(folder, FORMS["by column"], original=TABLE)
    assert verdict.passed
    assert verdict.not_checked[-1].numbers["other_measures"] == 1
    change(folder, said | {"measures": said["measures"] | {"Ann has the flu": 0.5}})
    with pytest.raises(ix.TableError, match=r"\(measures\)"):
        ix.verify(folder, FORMS["by column"])


@pytest.mark.slow
def test_measures_of_random_releases_by_all_algorithms_are_those_that_are_stated(tmp_path):
    """Two ways to the same figures that share no code; a campaign of thousands does the same."""
    judged_releases = 0
    for number in range(scaled(50, opens_tables=True)):
        case = draw_case(random.Random(f"measures {number}"))
        try:
            policy = policy_of(case)
            with table_of(case, tmp_path) as table, ix.anonymize(table, policy, seed=case.seed) as release:
                verdict = release.verify(table)
        except ix.IndistinctError:
            continue
        (found,) = (check for check in verdict.checks if check.id == "manifest.measures")
        assert verdict.passed, (number, case.algorithm, found, verdict)
        judged_releases += 1
    assert judged_releases
