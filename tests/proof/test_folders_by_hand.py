"""Release folders by hand: every check of each form of release, in its order and its words, and what a change does."""

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
from indistinct.proof.people_recount import count_people, pseudonym_people_checks, stated_people_checks
from proof.test_verdict_by_hand import AGES, COLUMNS, ORIGINAL, POLICY, table

TWICE = table(id=list("aabbccdd"), age=list("11111111"), sex=list("mmmmffff"), ill=list("xyxyxyxy"))
ODD = table(id=list("abcdef"), age=[*"11233", "?"], sex=list("mmmfff"), ill=list("xyzxyz"))
K = "k-anonymity (k = 2) on quasi-identifier"
IS_FILE = ("file", "the table is the one of the manifest")
ARE_FILES = ("file", "the tables are those of the manifest")
IS_POLICY = ("policy", "the release was made for this policy")
COUNTS = ("manifest", "the table has the counts of the manifest")
BLIND = ("search", "blind: it saw no sensitive value; not randomised")
FIGURES = ("measures", "11 figures are what the table and the original give")
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
ALONE: dict[str, list[tuple[str, str]]] = {
    "one table": [
        IS_FILE,
        ("columns", "3 columns, no identifier"),
        (K, "2 groups, the smallest of 3 rows"),
        BLIND,
        COUNTS,
        ("suppression limit", "0 of 6 rows suppressed, 3 allowed"),
    ],
    "two tables": [
        ARE_FILES,
        ("columns", "quasi table: 3 columns, no identifier; sensitive table: 2 columns, no identifier"),
        ("classes", "3 classes; each has as many rows in both tables"),
        ("l-diversity (l = 2) on the classes", "3 classes, the smallest of 2 rows"),
        ("search", "not blind: it saw sensitive values; randomised"),
        COUNTS,
    ],
    "pseudonyms": [
        IS_FILE,
        ("columns", "4 columns, no identifier"),
        ("pseudonyms in pseudonym", "32 hexadecimal digits in every row"),
        (f"people: {K}", "2 profiles, the smallest of 2 people"),
        (K, "2 groups, the smallest of 4 rows"),
        BLIND,
        COUNTS,
        ("suppression limit", "0 of 8 rows suppressed, 4 allowed"),
    ],
}
PROVED: dict[str, list[tuple[str, str]]] = {
    "one table": [
        ("truthful", "each of 6 rows generalizes a row of its own of the original"),
        ("suppression limit", "0 of 6 rows suppressed, 3 allowed"),
        ("least suppression", "0 rows suppressed, as many as must be at this generalization"),
        FIGURES,
    ],
    "two tables": [
        ("truthful", "each class has quasi-identifiers of the original, and sensitive values that can be theirs"),
        FIGURES,
    ],
    "pseudonyms": [
        ("truthful", "each of 8 rows generalizes a row of its own of the original"),
        ("suppression limit", "0 of 8 rows suppressed, 4 allowed"),
        ("least suppression", "0 rows suppressed, as many as must be at this generalization"),
        ("linked rows", "the rows of each pseudonym are all rows of a person of her own"),
        FIGURES,
    ],
    "people": [
        ("truthful", "each of 8 rows generalizes a row of its own of the original"),
        ("suppression limit", "0 of 8 rows suppressed, 4 allowed"),
        ("least suppression", "0 rows suppressed, as many as must be at this generalization"),
        (f"people: {K}", "2 groups, the smallest of 2 people"),
        FIGURES,
    ],
    "unreadable": [
        ("unreadable cells", "1 in 'age', dealt with as the policy says"),
        ("truthful", "each of 4 rows generalizes a row of its own of the original"),
        ("suppression limit", "2 of 6 rows suppressed, 3 allowed"),
        ("least suppression", "2 rows suppressed, as many as must be at this generalization"),
        FIGURES,
    ],
    "cell by cell": [
        ("truthful", "each of 6 rows generalizes a row of its own of the original, cell by cell"),
        ("least suppression", "not proved cell by cell: 0 of 6 rows missing, and the policy sets no limit"),
        FIGURES,
    ],
}


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


def told(verdict: ix.Verdict) -> list[tuple[str, str]]:
    assert verdict.passed, str(verdict)
    return [(check.name, check.detail) for check in verdict.checks]


def wrong(verdict: ix.Verdict) -> dict[str, str]:
    return {check.name: check.detail for check in verdict.checks if not check.passed}


@pytest.mark.parametrize("form", ALONE)
def test_a_folder_by_itself_and_with_its_policy(folders: dict[str, Path], form: str) -> None:
    assert told(ix.verify(folders[form])) == ALONE[form]
    first, *others = ALONE[form]
    assert told(ix.verify(folders[form], FORMS[form][0])) == [first, IS_POLICY, *others]


@pytest.mark.slow
@pytest.mark.parametrize("form", FORMS)
def test_a_folder_with_its_original(folders: dict[str, Path], form: str) -> None:
    policy, original = FORMS[form]
    proved = told(ix.verify(folders[form], policy, original=original))
    assert proved[-len(PROVED[form]) :] == PROVED[form]
    assert proved[-len(PROVED[form]) - 1] == COUNTS


def test_files_and_policies_that_are_others(folders: dict[str, Path], saying: Any) -> None:
    for form, words in (
        ("one table", "the table was changed after the manifest"),
        ("two tables", "a table was changed after the manifest"),
    ):
        files = json.loads((folders[form] / "manifest.json").read_text("utf-8"))["files"]
        assert wrong(ix.verify(saying(form, files=dict.fromkeys(files, "0" * 64)))) == {"file": words}
        saying(form)
        stricter = replace(FORMS[form][0], privacy=(ix.KAnonymity(2),), suppressed_rows="blank", max_suppression=0.5)
        judged = ix.verify(folders[form], stricter, suppressed=2)
        assert wrong(judged)["policy"] == "the release was made for another policy"
        assert "manifest" not in wrong(judged)  # what another policy would leave open is not held against it
        limit = "2 of 8 rows suppressed, 4 allowed" if form == "two tables" else "2 of 6 rows suppressed, 3 allowed"
        assert judged.checks[-1].detail == limit  # two tables have no blank rows
    (folders["one table"] / "more").write_text("x")
    strange = wrong(ix.verify(folders["one table"]))["file"]
    (folders["one table"] / "more").unlink()
    assert strange.startswith("the table is the one of the manifest; the folder holds what no release has: ")


def test_what_is_said_of_unreadable_cells_is_counted_with_the_original(saying: Any) -> None:
    policy, original = FORMS["unreadable"]
    for said, words in (({"age": 2}, "2 in 'age'"), ({}, "none")):
        found = wrong(ix.verify(saying("unreadable", unreadable=said), policy, original=original))
        assert found["unreadable cells"] == f"the release says {words}, but there are 1 in 'age'"


@pytest.mark.slow
def test_figures_and_people_are_worked_out_only_for_what_is_true(folders: dict[str, Path], saying: Any) -> None:
    policy, original = FORMS["one table"]
    said = json.loads((folders["one table"] / "manifest.json").read_text("utf-8"))
    false = ix.verify(saying("one table", eligible=9), policy, original=original)
    assert wrong(false) == {"manifest": "eligible is not released and suppressed together"}
    assert "measures" not in {check.name for check in false.checks}
    assert "the measures loss, ncp, entropy" in false.not_checked[-1]
    saying("one table", measures=said["measures"] | {"loss": 0.9})
    assert set(wrong(ix.verify(folders["one table"], policy, original=original))) == {"measures"}
    saying("one table")
    others = original.set_column(3, "ill", pa.array(list("xyzxyy")))
    untrue = ix.verify(folders["one table"], policy, original=others)
    assert (set(wrong(untrue)), "measures" in {check.name for check in untrue.checks}) == ({"truthful"}, False)
    proved = ix.verify(folders["one table"], policy, original=original)
    assert "measures" not in proved.not_checked[-1]
    assert "how many rows were suppressed" not in proved.not_checked[-1]
    alone = ix.verify(folders["one table"], policy)
    assert alone.not_checked[-1].endswith(
        "the measures loss, ncp, entropy, how many rows were suppressed, the level of each column"
    )


def test_people_who_are_said_to_be_more_are_counted_with_the_original(folders: dict[str, Path], saying: Any) -> None:
    policy, original = FORMS["people"]
    people = json.loads((folders["people"] / "manifest.json").read_text("utf-8"))["people"]
    more = people | {"eligible": 5, "released": 5}
    found = wrong(ix.verify(saying("people", people=more), policy, original=original))
    assert set(found) == {"stated people"}


def test_people_of_rows_that_say_whose_they_are_are_counted_in_groups() -> None:
    """Everybody has two rows in two groups, so groups of two people have four rows and profiles are shared by four."""
    rows = table(id=list("aabbccdd"), age=list("12121212"), sex=["m"] * 8, ill=list("xxyyxxyy"))
    policy = replace(POLICY, person="id", privacy=(ix.KAnonymity(4), ix.TCloseness(0.1)))
    with open_table(rows) as released:
        by_group = [check.detail for check in count_people(released, policy, ("id",))]
        linked = replace(policy, person={"column": "id", "release": "pseudonym"})
        by_profile = [check.detail for check in count_people(released, linked, ("id",))]
        few = replace(policy, privacy=(ix.KAnonymity(4, known=1),))
        (by_column,) = count_people(released, few, ("id",))
    assert by_column.detail == "any one of 2 quasi columns is shared by at least 4 people; 2 sets of columns counted"
    assert by_group == ["2 groups, the smallest of 4 people"] * 2
    assert by_profile == ["1 profile, the smallest of 4 people"] * 2
    with open_table(table(id=list("aabbc"), age=list("12121"), sex=["m"] * 5, ill=["x"] * 5)) as released:
        (uneven,) = count_people(released, replace(linked, privacy=(ix.KAnonymity(1),)), ("id",))
    assert uneven.detail == "2 profiles, the smallest of 1 person"


def test_people_who_are_stated_are_those_of_the_pseudonyms() -> None:
    policy = FORMS["pseudonyms"][0]
    rows = table(age=["1"] * 8, sex=list("mmmmffff"), ill=list("xyxyxyxy"), pseudonym=[who * 32 for who in "aabbccdd"])
    people = {"eligible": 4, "released": 4, "smallest_group": 2, "smallest_profile": 2}
    with open_table(rows) as released, open_table(TWICE) as source:

        def said(**changed: int) -> list[str]:
            given = {"people": people | changed}
            found = [*pseudonym_people_checks(given, released, policy), *stated_people_checks(given, source, policy)]
            return [check.detail for check in found]

        assert said() == []
        for name, right in people.items():
            assert said(**{name: 1}) == [f"{name} is {right}, not what is stated"]
        assert stated_people_checks({"people": {}, "drawn": {}}, source, policy) == []
        for nothing in ({}, {"people": 5}):
            assert pseudonym_people_checks(nothing, released, policy) == []


def test_exchanged_pseudonyms_are_found_with_the_original() -> None:
    policy = FORMS["pseudonyms"][0]
    rows = table(age=["1"] * 8, sex=list("mmmmffff"), ill=list("xyxyxyxy"), pseudonym=[who * 32 for who in "aabbccdd"])
    assert wrong(ix.verify(rows, policy, original=TWICE)) == {}
    exchanged = rows.set_column(2, "ill", pa.array(list("xxyyxyxy")))  # the same rows, under other pseudonyms
    assert set(wrong(ix.verify(exchanged, policy, original=TWICE))) == {"linked rows"}
    unnamed = rows.set_column(3, "pseudonym", pa.array([None, *(who * 32 for who in "abbccdd")]))
    assert wrong(ix.verify(unnamed, policy))["pseudonyms in pseudonym"] == "1 values are none"
    short = rows.set_column(3, "pseudonym", pa.array(["Ann"] * 8))
    assert wrong(ix.verify(short, policy))["pseudonyms in pseudonym"] == "1 values are none"
    assert "columns" in wrong(ix.verify(rows.drop_columns(["pseudonym"]), policy))
