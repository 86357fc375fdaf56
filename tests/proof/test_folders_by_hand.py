"""Release folders by hand: every check of each form of release in its order, and what a change does."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import indistinct as ix
from indistinct.engine import open_table
from indistinct.proof.checks import Check
from indistinct.proof.people_recount import count_people, pseudonym_people_checks, stated_people_checks
from indistinct.release.manifest import Facts, StatedPeople
from proof.test_verdict_by_hand import AGES, COLUMNS, ORIGINAL, POLICY, table

TWICE = table(id=list("aabbccdd"), age=list("11111111"), sex=list("mmmmffff"), ill=list("xyxyxyxy"))
ODD = table(id=list("abcdef"), age=[*"11233", "?"], sex=list("mmmfff"), ill=list("xyzxyz"))
FORMS: dict[str, tuple[ix.Policy, pa.Table]] = {
    "one table": (POLICY, ORIGINAL),
    "two tables": (
        replace(POLICY, privacy=(ix.LDiversity(2),), algorithm="anatomy", max_suppression=None),
        ORIGINAL,
    ),
    "pseudonyms": (replace(POLICY, person={"column": "id", "release": "pseudonym"}), TWICE),
    "people": (replace(POLICY, person="id"), TWICE),
    "unreadable": (replace(POLICY, columns=COLUMNS | {"age": ix.quasi(AGES, unreadable="missing")}), ODD),
    "cell by cell": (replace(POLICY, algorithm="mondrian", max_suppression=None), ORIGINAL),
}
K, IN_PEOPLE = "model.k-anonymity", "people.model.k-anonymity"
STATED = ["manifest.search", "manifest.statements"]
ALONE = {
    "one table": ["manifest.files", "cells.columns", K, *STATED, "suppression.limit"],
    "two tables": ["manifest.files", *["cells.columns"] * 2, "classes.sizes", "model.l-diversity", *STATED],
    "pseudonyms": [
        *("manifest.files", "cells.columns", "cells.pseudonyms", IN_PEOPLE, K),
        *(*STATED, "suppression.limit"),
    ],
}
ONE_TO_ONE = ["truth.rows", "suppression.limit", "suppression.least"]
PROVED = {
    "one table": [*ONE_TO_ONE, "manifest.measures"],
    "two tables": ["truth.rows", "manifest.measures"],
    "pseudonyms": [*ONE_TO_ONE, "truth.linked_rows", "manifest.measures"],
    "people": [*ONE_TO_ONE, IN_PEOPLE, "manifest.measures"],
    "unreadable": ["truth.unreadable", *ONE_TO_ONE, "manifest.measures"],
    "cell by cell": ["truth.rows", "suppression.least", "manifest.measures"],
}
"""What is proved of each with the original, in its order."""


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Return a release of each form, made once; whoever changes one brings it back."""
    place = tmp_path_factory.mktemp("folders")
    made = {}
    for name, (policy, original) in FORMS.items():
        with ix.anonymize(original, policy) as release:
            made[name] = release.write(place / name)
    return made


@pytest.fixture
def saying(folders: dict[str, Path]) -> Iterator[Any]:
    """Return what has a manifest say something else, until the test ends."""
    before = {name: (folder / "manifest.json").read_text("utf-8") for name, folder in folders.items()}

    def change(form: str, **said: Any) -> Path:
        told = json.loads(before[form]) | said
        (folders[form] / "manifest.json").write_text(json.dumps(told, indent=2, ensure_ascii=False) + "\n", "utf-8")
        return folders[form]

    yield change
    for name, text in before.items():
        (folders[name] / "manifest.json").write_text(text, "utf-8")


def told(verdict: ix.Verdict) -> list[str]:
    assert verdict.passed, str(verdict)
    return [check.id for check in verdict.checks]


def wrong(verdict: ix.Verdict) -> dict[str, Any]:
    """Return the checks that fail by their ids, with the numbers of each."""
    return {check.id: dict(check.numbers) for check in verdict.checks if not check.passed}


@pytest.mark.slow
@pytest.mark.parametrize("form", ALONE)
def test_a_folder_by_itself_and_with_its_policy(folders: dict[str, Path], form: str) -> None:
    assert told(ix.verify(folders[form])) == ALONE[form]
    first, *others = ALONE[form]
    assert told(ix.verify(folders[form], FORMS[form][0])) == [first, "manifest.policy", *others]


@pytest.mark.slow
@pytest.mark.parametrize("form", FORMS)
def test_a_folder_with_its_original(folders: dict[str, Path], form: str) -> None:
    policy, original = FORMS[form]
    proved = told(ix.verify(folders[form], policy, original=original))
    assert proved[-len(PROVED[form]) :] == PROVED[form]
    assert proved[-len(PROVED[form]) - 1] == "manifest.statements"


@pytest.mark.slow
def test_files_and_policies_that_are_others(folders: dict[str, Path], saying: Any) -> None:
    for form, tables in (("one table", 1), ("two tables", 2)):
        files = json.loads((folders[form] / "manifest.json").read_text("utf-8"))["files"]
        found = wrong(ix.verify(saying(form, files=dict.fromkeys(files, "0" * 64))))
        assert found == {"manifest.files": {"tables": tables, "changed": True, "strange": []}}
        saying(form)
        stricter = replace(FORMS[form][0], privacy=(ix.KAnonymity(2),), suppressed_rows="blank", max_suppression=0.5)
        judged = ix.verify(folders[form], stricter, suppressed=2)
        assert "manifest.policy" in wrong(judged)
        assert "manifest.statements" not in wrong(judged)  # what another policy would leave open is not held against it
        limit = {"suppressed": 2, "rows": 8 if tables == 2 else 6, "allowed": 4 if tables == 2 else 3}
        assert judged.checks[-1].numbers == limit  # two tables have no blank rows
    (folders["one table"] / "more").write_text("x")
    strange = wrong(ix.verify(folders["one table"]))["manifest.files"]
    (folders["one table"] / "more").unlink()
    assert (strange["changed"], len(strange["strange"])) == (False, 1)


def test_what_is_said_of_unreadable_cells_is_counted_with_the_original(saying: Any) -> None:
    policy, original = FORMS["unreadable"]
    for said in ({"age": 2}, None):
        folder = saying("unreadable", **({"unreadable": said} if said else {}))
        if said is None:
            text = json.loads((folder / "manifest.json").read_text("utf-8"))
            del text["unreadable"]
            (folder / "manifest.json").write_text(json.dumps(text), "utf-8")
        found = wrong(ix.verify(folder, policy, original=original))
        assert found["truth.unreadable"] == {"found": {"age": 1}, "stated": said or {}}


@pytest.mark.slow
def test_figures_and_people_are_worked_out_only_for_what_is_true(folders: dict[str, Path], saying: Any) -> None:
    policy, original = FORMS["one table"]
    said = json.loads((folders["one table"] / "manifest.json").read_text("utf-8"))
    false = ix.verify(saying("one table", eligible=9), policy, original=original)
    assert wrong(false) == {"manifest.statements": {"wrong": ["eligible"]}}
    assert "manifest.measures" not in {check.id for check in false.checks}
    assert false.not_checked[-1].numbers["measures"] == ["loss", "ncp", "entropy"]
    saying("one table", measures=said["measures"] | {"loss": 0.9})
    assert set(wrong(ix.verify(folders["one table"], policy, original=original))) == {"manifest.measures"}
    saying("one table")
    others = original.set_column(3, "ill", pa.array(list("xyzxyy")))
    untrue = ix.verify(folders["one table"], policy, original=others)
    assert set(wrong(untrue)) == {"truth.rows"}
    assert "manifest.measures" not in {check.id for check in untrue.checks}
    proved = ix.verify(folders["one table"], policy, original=original)
    assert proved.not_checked[-1].numbers["measures"] == []
    assert "suppressed" not in proved.not_checked[-1].numbers["statements"]
    alone = ix.verify(folders["one table"], policy).not_checked[-1].numbers
    assert {"suppressed", "node"} <= set(alone["statements"])


def test_people_who_are_said_to_be_more_are_counted_with_the_original(folders: dict[str, Path], saying: Any) -> None:
    policy, original = FORMS["people"]
    people = json.loads((folders["people"] / "manifest.json").read_text("utf-8"))["people"]
    more = people | {"eligible": 5, "released": 5}
    found = wrong(ix.verify(saying("people", people=more), policy, original=original))
    assert set(found) == {"manifest.people"}


def shared(check: Check) -> tuple[str, int, int]:
    """Return what shares its people, how many there are, and the people of the smallest."""
    return check.numbers["noun"], check.numbers["groups"], check.numbers["smallest"]


def test_people_of_rows_that_say_whose_they_are_are_counted_in_groups() -> None:
    """Everybody has two rows in two groups, so groups of two people have four rows and profiles are shared by four."""
    rows = table(id=list("aabbccdd"), age=list("12121212"), sex=["m"] * 8, ill=list("xxyyxxyy"))
    policy = replace(POLICY, person="id", privacy=(ix.KAnonymity(4), ix.TCloseness(0.1)))
    with open_table(rows) as released:
        by_group = [shared(check) for check in count_people(released, policy, ("id",))]
        linked = replace(policy, person={"column": "id", "release": "pseudonym"})
        by_profile = [shared(check) for check in count_people(released, linked, ("id",))]
        few = replace(policy, privacy=(ix.KAnonymity(4, known=1),))
        (by_column,) = count_people(released, few, ("id",))
    assert [by_column.numbers[name] for name in ("known", "columns", "sets", "smallest")] == [1, 2, 2, 4]
    assert by_group == [("group", 2, 4)] * 2
    assert by_profile == [("profile", 1, 4)] * 2
    with open_table(table(id=list("aabbc"), age=list("12121"), sex=["m"] * 5, ill=["x"] * 5)) as released:
        (uneven,) = count_people(released, replace(linked, privacy=(ix.KAnonymity(1),)), ("id",))
    assert shared(uneven) == ("profile", 2, 1)


def test_people_who_are_stated_are_those_of_the_pseudonyms() -> None:
    policy = FORMS["pseudonyms"][0]
    rows = table(age=["1"] * 8, sex=list("mmmmffff"), ill=list("xyxyxyxy"), pseudonym=[who * 32 for who in "aabbccdd"])
    people = {"eligible": 4, "released": 4, "smallest_group": 2, "smallest_profile": 2}
    with open_table(rows) as released, open_table(TWICE) as source:

        def said(**changed: int) -> list[dict[str, Any]]:
            stated = StatedPeople(lost_rows=0, lost_all_rows=0, **(people | changed))
            given = Facts.model_construct(people=stated, drawn=None)
            found = [*pseudonym_people_checks(given, released, policy), *stated_people_checks(given, source, policy)]
            return [dict(check.numbers) for check in found]

        assert said() == []
        for name, right in people.items():
            assert said(**{name: 1}) == [{name: right}]
        assert pseudonym_people_checks(Facts.model_construct(people=None), released, policy) == []


def test_exchanged_pseudonyms_are_found_with_the_original() -> None:
    policy = FORMS["pseudonyms"][0]
    rows = table(age=["1"] * 8, sex=list("mmmmffff"), ill=list("xyxyxyxy"), pseudonym=[who * 32 for who in "aabbccdd"])
    assert wrong(ix.verify(rows, policy, original=TWICE)) == {}
    exchanged = rows.set_column(2, "ill", pa.array(list("xxyyxyxy")))  # the same rows, under other pseudonyms
    assert set(wrong(ix.verify(exchanged, policy, original=TWICE))) == {"truth.linked_rows"}
    unnamed = rows.set_column(3, "pseudonym", pa.array([None, *(who * 32 for who in "abbccdd")]))
    assert wrong(ix.verify(unnamed, policy))["cells.pseudonyms"] == {"column": "pseudonym", "wrong": 1}
    short = rows.set_column(3, "pseudonym", pa.array(["Ann"] * 8))
    assert wrong(ix.verify(short, policy))["cells.pseudonyms"] == {"column": "pseudonym", "wrong": 1}
    assert "cells.columns" in wrong(ix.verify(rows.drop_columns(["pseudonym"]), policy))
