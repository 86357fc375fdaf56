"""Whoever forges a manifest is found out: every statement of it is changed or left out, one at a time.

What may still pass is what docs/guarantees.md says that follows from nothing at hand. The changes know nothing of what
a manifest means.
"""

from __future__ import annotations

import json
import random
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pytest
from campaigns.changed_statements import forged

import indistinct as ix
from helpers.profiles import PROFILE, scaled
from indistinct.proof.stated_verdict import implied_terms

TABLE = pa.table(
    {
        "who": [f"p{row // 2}" for row in range(24)],
        "age": [str(20 + row * 7 % 20) for row in range(24)],
        "sex": ["m", "f"] * 12,
        "day": [f"2020-03-{1 + row % 28:02}" for row in range(24)],
        "ill": ["flu", "gout", "cold", "none"] * 6,
    }
)
AGES = ix.intervals(5, 10)
COLUMNS = {"who": ix.identifier(), "age": ix.quasi(AGES), "sex": ix.quasi(ix.suppress()), "day": ix.other()}
POLICY = ix.Policy(COLUMNS | {"ill": ix.sensitive()}, [ix.KAnonymity(2)], max_suppression=0.5, one_row_per_person=True)
OF_PEOPLE = replace(POLICY, one_row_per_person=False, person="who")
MOVED = COLUMNS | {"day": ix.other(shift=9), "ill": ix.sensitive()}
DEMANDED = {"age": ix.quasi(AGES, min_level=1), "ill": ix.sensitive(missing=["none"])}
LINKED = ix.Policy(
    tables={
        "people": ix.LinkedTable({"sex": ix.quasi(ix.suppress())}, key="who"),
        "stays": ix.LinkedTable({"ill": ix.quasi(ix.suppress())}, references={"who": "people"}),
    },
    privacy=[ix.KAnonymity(2)],
    person="who",
)
TABLES = {
    "people": TABLE.select(["who", "sex"])
    .slice(0, 12)
    .set_column(0, "who", pa.array([f"p{row}" for row in range(12)])),
    "stays": TABLE.select(["who", "ill"]),
}
POLICIES: dict[str, Any] = {
    "text": replace(POLICY, about={"title": "A ward"}),
    "demanded": replace(POLICY, columns=COLUMNS | DEMANDED),
    "models": replace(POLICY, privacy=(ix.AlphaK({"flu": 0.9}, 2), ix.KAnonymity(2, known=1))),
    "two tables": replace(POLICY, privacy=(ix.LDiversity(2),), algorithm="anatomy"),
    "cell by cell": replace(POLICY, algorithm="mondrian", options={"random_raise": 0.2}),
    "people": replace(OF_PEOPLE, privacy=(ix.KAnonymity(2), ix.AlphaK(0.9, 2))),
    "moved": replace(OF_PEOPLE, columns=MOVED, person={"column": "who", "release": "pseudonym"}, max_suppression=0.9),
    "several": LINKED,
}


UNCHECKED = [
    (r"about(\.\w+)?", "(?!None|0|{}|\\[).*"),  # the holder's own words, or none
    ("made_by", "(?!drop|None|0|'').*"),
    (r"gap|bound.*|is_proven", ".*"),
    (r"measures(\.(loss|ncp|entropy))?", "(?!drop|{}|None|\\[|.*Ann).*"),  # the original tells
    ("(policy.)?algorithm", "(?!drop|None|0|''|.* ).*"),  # of another package, or not the one of the policy
    (r"limits.*|options.*|pseudonym_salt", ".*"),
    (r"drawn.candidates|people(\.\w+)?|mean_levels.*", "[0-9.-]+"),
    ("unreadable.*", ".*"),
    (r"tables\.\w+\.columns", r"\[.*\]"),  # the same columns in another order
]
"""Where a change may pass, and which: nothing at hand tells that it is one."""
OF_SEVERAL = (r"measures\.[\w-]+", "[0-9.-]+")
"""Measures of several tables are not worked out anew."""


def judge(folder: Path, policy: Any, original: Any = None) -> bool:
    """Return whether a release passes; a manifest that cannot be read does not."""
    try:
        return ix.verify(folder, policy, original=original).passed
    except ix.IndistinctError:
        return False


@pytest.mark.slow
@pytest.mark.parametrize("kind", POLICIES)
def test_no_forged_manifest_passes(kind: str, tmp_path: Path) -> None:
    policy, folder, table = POLICIES[kind], tmp_path / "release", TABLES if kind == "several" else TABLE
    if kind == "text":
        table = tmp_path / "table.csv"
        pa.csv.write_csv(TABLE, table)
    with ix.anonymize(table, policy) as release:
        release.write(folder)
    path = folder / "manifest.json"
    said = json.loads(path.read_text("utf-8"))
    assert said["format"] == 3
    everything = list(forged(said))
    left_out = [one for one in everything if one[0] == "drop" and "." not in one[1]]
    drawn = random.Random(16).sample(everything, min(len(everything), scaled(40)))
    some = [*random.Random(16).sample(left_out, 4), *drawn]
    for what, where, made in everything if PROFILE == "thorough" else some:
        path.write_text(json.dumps(made, indent=2, ensure_ascii=False) + "\n", "utf-8")
        if judge(folder, policy):
            allowed = [*UNCHECKED, OF_SEVERAL] if kind == "several" else UNCHECKED
            assert any(re.fullmatch(at, where) and re.fullmatch(done, what) for at, done in allowed), (what, where)
    path.write_text(json.dumps(said, indent=2, ensure_ascii=False) + "\n", "utf-8")
    assert judge(folder, policy, table)
    if kind != "several":
        found = ix.verify(folder)
        assert found.passed, str(found)
    if kind == "models":  # a release that says that it failed fails also where nobody can check why
        said["unsafe"], said["verdict"]["passed"] = True, False
        numbers = said["verdict"]["checks"][1]["numbers"]
        del numbers["smallest"]
        said["verdict"]["checks"][1] |= {"passed": False, "numbers": numbers | {"failing": 1, "inside": 3}}
        path.write_text(json.dumps(said), "utf-8")
        assert [check.id for check in ix.verify(folder).checks if not check.passed] == ["manifest.unsafe"]


def test_a_sign_of_truth_is_no_number_of_known_columns(tmp_path: Path) -> None:
    with ix.anonymize(TABLE, POLICIES["models"]) as release:
        release.write(tmp_path / "release")
    path = tmp_path / "release" / "manifest.json"
    said = json.loads(path.read_text("utf-8"))
    assert said["verdict"]["known"][0]["known"] == 1
    said["verdict"]["known"][0]["known"] = True
    path.write_text(json.dumps(said, indent=2) + "\n", "utf-8")
    assert not judge(tmp_path / "release", POLICIES["models"])


def test_what_a_model_of_people_implies_of_their_rows() -> None:
    known = {"model": "k-anonymity", "k": 2, "known": 1}
    assert implied_terms(known) == known
    assert implied_terms({"model": "of others"}) == {"model": "of others"}
    assert implied_terms({"model": "alpha-k", "alpha": [0.5], "k": 3}) == ix.KAnonymity(3).terms()
