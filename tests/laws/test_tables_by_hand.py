"""Several tables by hand: every check of five people in its order and its words, and what each change does to them."""

from __future__ import annotations

import json
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import indistinct as ix
from indistinct.proof import tables_verdict
from indistinct.proof.checks import Check, Recount
from indistinct.proof.stated_tables import several_tables_mistakes, stated_rows_checks
from indistinct.proof.statements import mistakes_of_tables

AGES = ix.levels([["31", "30s"], ["32", "30s"], ["45", "40s"], ["46", "40s"]], top="*")


def policy(people: dict[str, Any] | None = None, **more: Any) -> ix.Policy:
    columns = {"age": ix.quasi(AGES), "note": ix.other(missing=["?"])} if people is None else people
    return ix.Policy(
        tables={
            "people": ix.LinkedTable(columns, key="id"),
            "visits": ix.LinkedTable({"ward": ix.quasi()}, key="visit", references={"id": "people"}),
            "drugs": ix.LinkedTable({"drug": ix.quasi()}, references={"visit": "visits"}),
        },
        privacy=[ix.KAnonymity(2)],
        person="id",
        **({"max_suppression": 0.5} | more),
    )


def table(**columns: list[str] | str) -> pa.Table:
    return pa.table({name: pa.array(list(cells), pa.string()) for name, cells in columns.items()})


def name(number: int) -> str:
    return f"{number:032x}"


POLICY = policy()
ORIGINAL = {
    "people": table(id="abcde", age=["31", "32", "45", "46", "45"], note="nnmmx"),
    "visits": table(visit="123", id="abe", ward=["eye", "eye", "ear"]),
    "drugs": table(visit="123", drug="xxy"),
}
"""Two profiles of two, and one person alone, who is not released."""
RELEASED = {
    "people": table(age=["30s", "30s", "40s", "40s"], note="nnmm", pseudonym=[name(n) for n in (1, 2, 3, 4)]),
    "visits": table(visit=[name(11), name(12)], ward=["eye", "eye"], pseudonym=[name(1), name(2)]),
    "drugs": table(visit=[name(11), name(12)], drug="xx"),
}
DIGITS = "32 hexadecimal digits in every row"
K = "people: k-anonymity (k = 2) on all tables"
ALONE = [
    ("tables", "3 tables"),
    ("people: columns", "3 columns, no identifier"),
    ("visits: columns", "3 columns, no identifier"),
    ("drugs: columns", "2 columns, no identifier"),
    ("people: pseudonyms in pseudonym", DIGITS),
    ("people: missing cells in note", "no cell shows a code that means missing"),
    ("visits: pseudonyms in visit", DIGITS),
    ("visits: pseudonyms in pseudonym", DIGITS),
    ("drugs: pseudonyms in visit", DIGITS),
    ("references", "every reference leads to a row of the same person"),
    (K, "2 profiles, the smallest of 2 people"),
]
PROVED = [
    *((f"{name}: truthful", f"each of {n} rows generalizes a row of its own of the original") for name, n in
      (("people", 4), ("visits", 2), ("drugs", 2))),
    ("suppression limit", "3 of 11 rows of all tables suppressed, 5 allowed"),
    ("least suppression", "3 rows suppressed, as many as must be at this generalization"),
    ("linked rows", "the rows of each pseudonym are all rows of a person of her own"),
]  # fmt: skip


def with_cell(part: str, column: str, row: int, cell: str) -> dict[str, pa.Table]:
    """Return the released tables with one other cell."""
    cells = RELEASED[part][column].to_pylist()
    cells[row] = cell
    place = RELEASED[part].column_names.index(column)
    return RELEASED | {part: RELEASED[part].set_column(place, column, pa.array(cells, pa.string()))}


def failing(tables: Any, asked: ix.Policy = POLICY, **how: Any) -> dict[str, str]:
    return {check.name: check.detail for check in ix.verify(tables, asked, **how).checks if not check.passed}


@pytest.mark.slow
def test_every_check_in_its_order_and_words() -> None:
    found = ix.verify(RELEASED, POLICY)
    assert [(check.name, check.detail) for check in found.checks] == ALONE
    assert (found.passed, found.rows, found.groups, found.smallest_group, found.noun) == (True, 8, 2, 2, "profile")
    assert found.not_checked == ()
    unwritten = ix.verify(RELEASED, POLICY, canonical=True)
    assert unwritten.checks[0] == Check("canonical", True, "no file to compare")
    (unsaid,) = unwritten.not_checked
    assert all(f"{part}: only a file has bytes to compare" in unsaid for part in RELEASED)
    with_original = ix.verify(RELEASED, POLICY, original=ORIGINAL)
    assert [(check.name, check.detail) for check in with_original.checks] == ALONE + PROVED
    assert with_original.passed


@pytest.mark.slow
def test_what_the_caller_says_was_suppressed() -> None:
    assert ix.verify(RELEASED, POLICY, suppressed=3).checks[-1] == Check(
        "suppression limit", True, "3 of 11 rows of all tables suppressed, 5 allowed"
    )
    assert failing(RELEASED, suppressed=9) == {"suppression limit": "9 of 17 rows of all tables suppressed, 8 allowed"}
    claimed = failing(RELEASED, suppressed=2, original=ORIGINAL)
    assert claimed == {"suppressed rows": "the release says 2, but 3 rows are missing from it"}
    unlimited = policy(max_suppression=None)
    assert "suppression limit" not in {check.name for check in ix.verify(RELEASED, unlimited, suppressed=9).checks}
    assert failing(RELEASED, policy(max_suppression=0.1), original=ORIGINAL) == {
        "suppression limit": "3 of 11 rows of all tables suppressed, 1 allowed"
    }


@pytest.mark.parametrize(
    ("tables", "wrong"),
    [
        (with_cell("drugs", "visit", 0, name(99)), "1 row of drugs lead nowhere"),
        (with_cell("visits", "visit", 1, name(11)), "1 row of visits have a key that another row has"),
        (with_cell("visits", "pseudonym", 1, name(9)), "1 row of visits are of people who are not in people"),
    ],
)
def test_references(tables: dict[str, pa.Table], wrong: str) -> None:
    assert wrong in failing(tables)["references"]


@pytest.mark.slow
def test_what_cells_may_be() -> None:
    assert failing(with_cell("people", "note", 0, "?")) == {
        "people: missing cells in note": "1 cell shows a code that means missing, instead of none"
    }
    assert "people: pseudonyms in pseudonym" in failing(with_cell("people", "pseudonym", 3, "Ann"))
    assert failing(with_cell("people", "age", 3, "*")) == {K: "2 of 3 profiles fail, 2 people in them"}
    coded = policy({"age": ix.quasi(AGES, missing=["40s"]), "note": ix.other()})
    assert failing(RELEASED, coded) == {}  # a label is no cell of the original
    levels = policy({"age": ix.quasi(AGES, min_level=1), "note": ix.other()})
    assert "people: level of age" in failing(with_cell("people", "age", 3, "46"), levels)


def test_readers_who_would_not_agree_are_named() -> None:
    mixed = RELEASED["people"].set_column(0, "age", pa.array(["30s", "30s", "", None], pa.string()))
    told = "'age': null beside empty text or no number; here they are one value, to other readers several"
    assert failing(RELEASED | {"people": mixed}) == {"missing cells": told}


def test_tables_and_columns_that_are_others() -> None:
    less = {part: rows for part, rows in RELEASED.items() if part != "drugs"}
    found = ix.verify(less, POLICY)
    assert [(check.name, check.passed, check.detail) for check in found.checks] == [
        ("tables", False, "'drugs' is missing"),
        ("people: columns", True, "3 columns, no identifier"),
        ("visits: columns", True, "3 columns, no identifier"),
    ]
    assert (found.rows, found.groups, found.smallest_group) == (6, 0, 0)
    more = failing(RELEASED | {"more": RELEASED["drugs"]}, canonical=True)
    assert more == {"tables": "'more' is not in the policy"}
    named = RELEASED | {"people": RELEASED["people"].append_column("id", pa.array(list("abcd")))}
    assert failing(named, original=ORIGINAL) == {"people: columns": "identifier 'id' is left in"}
    short = RELEASED | {"people": RELEASED["people"].drop_columns("note")}
    assert failing(short) == {"people: columns": "'note' is missing"}
    nobody = {part: rows.slice(0, 0) for part, rows in RELEASED.items()}
    empty = ix.verify(nobody, POLICY)
    assert [(check.name, check.detail) for check in empty.checks if not check.passed] == [
        ("rows", "the tables have no rows")
    ]
    assert (empty.rows, empty.groups, empty.smallest_group) == (0, 0, 0)


def test_columns_are_called_what_the_policy_calls_them() -> None:
    named = policy({"age": ix.quasi(AGES, rename="years"), "note": ix.other()})
    years = RELEASED["people"].rename_columns(["years", "note", "pseudonym"])
    assert failing(RELEASED | {"people": years}, named) == {}
    assert failing(RELEASED, named)["people: columns"].startswith("'age' should be called 'years'")


@pytest.mark.slow
def test_what_is_not_true_of_the_originals() -> None:
    wards = RELEASED | {"visits": RELEASED["visits"].set_column(1, "ward", pa.array(["ear", "ear"]))}
    assert list(failing(wards, original=ORIGINAL)) == ["visits: truthful"]
    fewer = {part: rows.slice(0, {"people": 2}.get(part, 2)) for part, rows in RELEASED.items()}
    assert failing(fewer, policy(max_suppression=0.9), original=ORIGINAL) == {
        "least suppression": "5 rows suppressed, but 3 must be at this generalization"
    }
    assert list(failing(RELEASED, policy(max_suppression=0.1), original=ORIGINAL)) == ["suppression limit"]
    assert [tables_verdict._limit_checks(POLICY, gone, 11)[0].passed for gone in (5, 6)] == [True, False]
    with pytest.raises(ix.PolicyError):
        ix.verify(RELEASED, POLICY, original=ORIGINAL | {"people": ORIGINAL["people"].drop_columns("note")})
    with pytest.raises(ix.PolicyError, match="drugs"):
        ix.verify(RELEASED, POLICY, original={name: rows for name, rows in ORIGINAL.items() if name != "drugs"})
    with pytest.raises(ix.TableError, match="give each by name: people, visits, drugs"):
        ix.verify(RELEASED, POLICY, original=ORIGINAL["people"])


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    with ix.anonymize(ORIGINAL, POLICY) as release:
        return release.write(tmp_path_factory.mktemp("made") / "out")


@pytest.mark.slow
def test_a_folder_of_several_tables(folder: Path) -> None:
    said = json.loads((folder / "manifest.json").read_text())
    gone = 11 - sum(part["released"] for part in said["linked_tables"].values())
    found = ix.verify(folder, POLICY)
    assert found.passed
    names = ["file", "policy", *(name for name, _ in ALONE), "search", "manifest", "suppression limit"]
    assert [check.name for check in found.checks] == names
    assert found.checks[-1].detail == f"{gone} of 11 rows of all tables suppressed, 5 allowed"
    assert "the measures precision" in found.not_checked[0]
    assert found.checks[0].detail == "the tables are those of the manifest"
    counted = Recount(found.checks, np.full(found.groups, found.smallest_group), found.rows, "profile")

    def mistakes(**changed: Any) -> list[str]:
        recount = [check for check in found.checks if check.name not in ("file", "policy", "search", "manifest")]
        return mistakes_of_tables(said | changed, POLICY, counted, recount)

    assert mistakes() == []
    odd = [one | {"detail": "Ann has it"} for one in said["verdict"]["checks"]]
    assert mistakes(verdict=said["verdict"] | {"checks": odd}) == ["verdict has a check that comes out otherwise"]
    assert mistakes(linked_tables={}) == ["linked_tables are not those of the policy"]
    assert mistakes(heights={"age": 1})[0] == "heights is not of the quasi columns"
    assert mistakes(about={"title": "x"}) == ["about is not said of such a release"]
    assert mistakes(verdict=said["verdict"] | {"rows": 9}) == ["verdict.rows is 8, as is counted, not what it says"]
    with pytest.raises(ix.TableError, match="give the policy of all of them"):
        ix.verify(folder)
    with pytest.raises(ix.TableError, match="give the policy of all of them"):
        ix.verify(folder, ix.Policy({"age": ix.quasi(AGES)}, [ix.KAnonymity(2)]))
    another = ix.Policy(tables=POLICY.tables, privacy=[ix.KAnonymity(1)], person="id", max_suppression=0.5)
    assert set(failing(folder, another)) == {"policy"}
    canonical = {check.name: check.passed for check in ix.verify(folder, POLICY, canonical=True).checks}
    assert canonical["canonical"]
    assert "canonical" not in names


@pytest.mark.slow
def test_a_folder_of_several_tables_and_their_originals(folder: Path) -> None:
    good = (folder / "manifest.json").read_text()
    proved = ix.verify(folder, POLICY, original=ORIGINAL)
    assert [check.name for check in proved.checks][-8:] == ["search", "manifest", *(name for name, _ in PROVED)]
    suppressed = "how many rows were suppressed"
    assert [suppressed in ix.verify(folder, POLICY).not_checked[0], suppressed in proved.not_checked[0]] == [
        True,
        False,
    ]
    said = json.loads(good)
    drugs = said["linked_tables"]["drugs"]
    more = {what: drugs[what] + 1 for what in ("eligible", "suppressed")}
    said |= {what: said[what] + 1 for what in more} | {"linked_tables": said["linked_tables"] | {"drugs": drugs | more}}
    said["verdict"]["checks"][-1]["detail"] = f"{said['suppressed']} of 12 rows of all tables suppressed, 6 allowed"
    try:
        (folder / "manifest.json").write_text(json.dumps(said))
        assert set(failing(folder, original=ORIGINAL)) == {"suppressed rows", "stated rows"}
        elsewhere = json.loads(good)
        elsewhere["node"]["people.age"] += 1
        (folder / "manifest.json").write_text(json.dumps(elsewhere))
        found = failing(folder, original=ORIGINAL)
        assert set(found) == {"people: levels", "manifest"}
        assert found["manifest"] == "level_names of 'people.age' is not what its hierarchy calls the level"
        (folder / "manifest.json").write_text(good)
        others = ORIGINAL | {"visits": ORIGINAL["visits"].set_column(2, "ward", pa.array(["nose"] * 3))}
        assert set(failing(folder, original=others)) == {"visits: truthful"}
        (folder / "manifest.json").write_text(json.dumps(said | {"remark": 1}))
        assert set(failing(folder, original=ORIGINAL)) == {"suppressed rows", "manifest"}
    finally:
        (folder / "manifest.json").write_text(good)


def test_what_is_said_of_each_table_goes_together() -> None:
    asked = ix.Policy(
        tables={
            "people": ix.LinkedTable({"born": ix.other(shift=ix.DateShift(30))}, key="id"),
            "drugs": ix.LinkedTable({"drug": ix.quasi()}, references={"id": "people"}),
        },
        privacy=[ix.KAnonymity(2)],
        person="id",
    )
    columns = {name: list(part.policy.released_columns) for name, part in asked.parts.items()}
    good: dict[str, dict[str, Any]] = {
        name: {"columns": its, "eligible": 3, "released": 2, "suppressed": 1} for name, its in columns.items()
    }
    good["people"]["delimiter"] = ","
    said: dict[str, Any] = {
        "linked_tables": good,
        "files": {"people.csv": "", "drugs.parquet": ""},
        "eligible": 6,
        "released": 4,
        "suppressed": 2,
        "smallest_group": 2,
        "dates_moved": {"days": 30},
        "people": dict.fromkeys(("eligible", "released", "smallest_group", "smallest_profile"), 2)
        | dict.fromkeys(("lost_rows", "lost_all_rows"), 0),
    }

    def mistakes(table: str = "people", without: str = "", **changed: Any) -> list[str]:
        own = {name: value for name, value in (good[table] | changed).items() if name != without}
        return several_tables_mistakes(said | {"linked_tables": good | {table: own}}, asked)

    assert mistakes() == mistakes(delimiter=";") == []
    assert mistakes("drugs", delimiter=";") == ["delimiter is said of text alone"]
    assert mistakes(without="delimiter") == ["linked_tables: that of 'people' lacks its delimiter"]
    assert mistakes(without="columns") == ["linked_tables: the columns of 'people' are others"]
    wrong = ["linked_tables: the numbers of 'people' do not go together"]
    assert mistakes(eligible=4) == mistakes(without="released") == wrong
    moved = ["dates_moved is not what the policy declares"]
    assert several_tables_mistakes(said | {"dates_moved": {"days": 31}}, asked) == moved
    assert several_tables_mistakes({**said, "people": {}}, asked) == ["people: a number is missing"]
    unsaid = {name: value for name, value in said.items() if name != "people"}
    assert several_tables_mistakes(unsaid, asked) == ["people: a number is missing"]
    assert stated_rows_checks(said, {"people": 3, "drugs": 3, "more": 9}, 2) == []
    (check,) = stated_rows_checks(said, {"people": 3, "drugs": 4}, 5)
    assert check.detail == "drugs has 4 eligible rows, not what is stated; 5 people are eligible, not what is stated"


def test_people_are_taken_out_until_nobody_more_must_go() -> None:
    """A model of somebody else may fail anew when others are gone: here the smallest group, while there are three."""

    def holds(groups: Any) -> Any:
        there = groups.sizes > 0
        return groups.sizes > (groups.sizes[there].min() if there.sum() > 1 else 0)

    theirs: Any = SimpleNamespace(
        profiles=lambda *_: np.array([0, 1, 1, 2, 2, 2, 2]), number=7, rows_of=lambda chosen: int(chosen.sum())
    )
    asked: Any = SimpleNamespace(privacy=[SimpleNamespace(holds=holds)])
    found = tables_verdict._least_suppression_check(theirs, asked, None, 3)  # type: ignore[arg-type]
    assert found.passed, found


def test_counts_of_a_manifest_and_what_is_wrong_already() -> None:
    counted = ({"people": 4, "drugs": 2}, 4, np.array([2, 2]))
    said = {
        "released": 6,
        "groups": 2,
        "smallest_group": 2,
        "people": {"released": 4},
        "linked_tables": {"people": {"released": 4}, "drugs": {"released": 2}},
    }

    def check(wrong: tuple[str, ...] = (), **changed: Any) -> Check:
        return tables_verdict._manifest_check(said | changed, *counted, wrong)

    assert check() == Check("manifest", True, "the tables have the counts of the manifest")
    assert check(("it is odd", "and more"), groups=9) == Check("manifest", False, "it is odd; and more")
    assert check(released=7, groups=3).detail == "released is 6, not 7; groups is 2, not 3"
    assert check(people=3).detail == check(people={}).detail == "people is 4, not None"
    assert check(linked_tables=[]).detail == "rows of people is 4, not None; rows of drugs is 2, not None"
    assert check(linked_tables={"people": 4, "drugs": {"released": 2}}).detail == "rows of people is 4, not None"
    nobody = tables_verdict._manifest_check(said | {"smallest_group": 0}, {}, 0, np.zeros(0, np.int64), ())
    assert "smallest_group" not in nobody.detail


def test_cells_that_cannot_be_read_are_counted_by_table() -> None:
    originals: Any = {
        "people": SimpleNamespace(unreadable={"age": 2}),
        "drugs": SimpleNamespace(unreadable=None),
    }

    def checks(said: dict[str, Any]) -> list[tuple[str, bool]]:
        return [(check.name, check.passed) for check in tables_verdict._unreadable_checks(originals, said)]

    assert checks({}) == [("people: unreadable cells", True)]
    assert checks({"unreadable": {"people.age": 2}}) == [("people: unreadable cells", True)]
    assert checks({"node": None}) == [("people: unreadable cells", False)]
    both = {"people.age": 2, "drugs.drug": 1}
    assert checks({"unreadable": both}) == [("people: unreadable cells", True), ("drugs: unreadable cells", False)]


def test_tables_of_spark_are_refused_beside_others(monkeypatch: pytest.MonkeyPatch) -> None:
    spark: Any = {"people": SimpleNamespace(kind="arrow"), "drugs": SimpleNamespace(kind="spark")}
    with pytest.raises(ix.TableError, match="drugs: several tables that belong together are not supported in Spark"):
        tables_verdict.refuse_other_engines(spark)
    with pytest.raises(ix.TableError, match="not supported in Spark"):
        tables_verdict.judge_tables((SimpleNamespace(), spark), POLICY, None, None)  # type: ignore[arg-type]
    monkeypatch.setattr(tables_verdict, "use_table", lambda rows: nullcontext(rows))
    with (
        pytest.raises(ix.TableError, match="not supported in Spark"),
        tables_verdict._open_originals(spark, POLICY, {}),
    ):
        pass
