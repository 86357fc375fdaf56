"""Several tables by hand: every check of five people in its order and its words, and what each change does to them."""

from __future__ import annotations

import json
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest

import indistinct as ix
from indistinct.proof.checks import Check
from indistinct.proof.judges import several_tables
from indistinct.release.released_tables import Claims

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
ALONE = [
    ("tables.names", None),
    *(("cells.columns", name) for name in ("people", "visits", "drugs")),
    ("cells.pseudonyms", "people"),
    ("cells.codes", "people"),
    *[("cells.pseudonyms", "visits")] * 2,
    ("cells.pseudonyms", "drugs"),
    ("tables.references", None),
    ("people.model.k-anonymity", None),
]
"""The checks of the tables alone, with the table that each is of."""
PROVED = [
    *(("truth.rows", name) for name in ("people", "visits", "drugs")),
    *((one, None) for one in ("suppression.limit", "suppression.least", "truth.linked_rows")),
]


def with_cell(part: str, column: str, row: int, cell: str) -> dict[str, pa.Table]:
    """Return the released tables with one other cell."""
    cells = RELEASED[part][column].to_pylist()
    cells[row] = cell
    place = RELEASED[part].column_names.index(column)
    return RELEASED | {part: RELEASED[part].set_column(place, column, pa.array(cells, pa.string()))}


def failing(tables: Any, asked: ix.Policy = POLICY, **how: Any) -> dict[str, Any]:
    """Return the checks that fail by their ids, with the numbers of each."""
    return {check.id: dict(check.numbers) for check in ix.verify(tables, asked, **how).checks if not check.passed}


def ids(found: ix.Verdict) -> list[tuple[str, str | None]]:
    return [(check.id, check.numbers.get("table")) for check in found.checks]


@pytest.mark.slow
def test_every_check_in_its_order_and_words() -> None:
    found = ix.verify(RELEASED, POLICY)
    assert ids(found) == ALONE
    numbers = {check.id: check.numbers for check in found.checks}
    assert numbers["tables.names"] == {"tables": 3}
    assert [numbers["people.model.k-anonymity"][name] for name in ("groups", "smallest", "unit")] == [2, 2, "person"]
    assert (found.passed, found.rows, found.groups, found.smallest_group, found.noun) == (True, 8, 2, 2, "profile")
    assert found.not_checked == ()
    unwritten = ix.verify(RELEASED, POLICY, canonical=True)
    assert unwritten.checks[-1] == Check("files.canonical", True, {"same": [], "order": [], "differing": []})
    (unsaid,) = unwritten.not_checked
    assert unsaid.numbers["no_files"] == list(RELEASED)
    with_original = ix.verify(RELEASED, POLICY, original=ORIGINAL)
    assert ids(with_original) == ALONE + PROVED
    assert with_original.passed
    least = {"how": "exact", "suppressed": 3, "required": 3}
    assert {check.id: check.numbers for check in with_original.checks}["suppression.least"] == least


@pytest.mark.slow
def test_what_the_caller_says_was_suppressed() -> None:
    def limit(suppressed: int, rows: int, allowed: int) -> dict[str, int]:
        return {"suppressed": suppressed, "rows": rows, "allowed": allowed}

    said = ix.verify(RELEASED, POLICY, suppressed=3).checks[-1]
    assert said == Check("suppression.limit", True, limit(3, 11, 5))
    assert failing(RELEASED, suppressed=9) == {"suppression.limit": limit(9, 17, 8)}
    claimed = failing(RELEASED, suppressed=2, original=ORIGINAL)
    assert claimed == {"suppression.stated": {"stated": 2, "suppressed": 3}}
    unlimited = ix.verify(RELEASED, policy(max_suppression=None), suppressed=9)
    assert "suppression.limit" not in {check.id for check in unlimited.checks}
    strict = failing(RELEASED, policy(max_suppression=0.1), original=ORIGINAL)
    assert strict == {"suppression.limit": limit(3, 11, 1)}


@pytest.mark.parametrize(
    ("tables", "wrong"),
    [
        (with_cell("drugs", "visit", 0, name(99)), ("drugs", "dangling")),
        (with_cell("visits", "visit", 1, name(11)), ("visits", "repeated")),
        (with_cell("visits", "pseudonym", 1, name(9)), ("visits", "unlisted")),
    ],
)
def test_references(tables: dict[str, pa.Table], wrong: tuple[str, str]) -> None:
    part, what = wrong
    assert failing(tables)["tables.references"]["wrong"][part][what] == 1


@pytest.mark.slow
def test_what_cells_may_be() -> None:
    coded = {"cells.codes": {"table": "people", "column": "note", "cells": 1}}
    assert failing(with_cell("people", "note", 0, "?")) == coded
    assert failing(with_cell("people", "pseudonym", 3, "Ann"))["cells.pseudonyms"]["table"] == "people"
    (alone,) = failing(with_cell("people", "age", 3, "*")).values()
    assert [alone[name] for name in ("failing", "groups", "inside")] == [2, 3, 2]
    labelled = policy({"age": ix.quasi(AGES, missing=["40s"]), "note": ix.other()})
    assert failing(RELEASED, labelled) == {}  # a label is no cell of the original
    levels = policy({"age": ix.quasi(AGES, min_level=1), "note": ix.other()})
    assert "cells.level" in failing(with_cell("people", "age", 3, "46"), levels)


def test_readers_who_would_not_agree_are_named() -> None:
    mixed = RELEASED["people"].set_column(0, "age", pa.array(["30s", "30s", "", None], pa.string()))
    assert failing(RELEASED | {"people": mixed}) == {"cells.missing": {"columns": ["age"]}}


def test_tables_and_columns_that_are_others() -> None:
    less = {part: rows for part, rows in RELEASED.items() if part != "drugs"}
    found = ix.verify(less, POLICY)
    assert ids(found) == [("tables.names", None), ("cells.columns", "people"), ("cells.columns", "visits")]
    assert found.checks[0].numbers == {"missing": ["drugs"], "unknown": []}
    assert (found.rows, found.groups, found.smallest_group) == (6, 0, 0)
    more = failing(RELEASED | {"more": RELEASED["drugs"]}, canonical=True)
    assert more == {"tables.names": {"missing": [], "unknown": ["more"]}}
    named = RELEASED | {"people": RELEASED["people"].append_column("id", pa.array(list("abcd")))}
    (found_named,) = failing(named, original=ORIGINAL).values()
    assert (found_named["table"], found_named["identifiers"]) == ("people", ["id"])
    short = RELEASED | {"people": RELEASED["people"].drop_columns("note")}
    assert failing(short)["cells.columns"]["missing"] == ["note"]
    nobody = {part: rows.slice(0, 0) for part, rows in RELEASED.items()}
    empty = ix.verify(nobody, POLICY)
    assert [check.id for check in empty.checks if not check.passed] == ["cells.rows"]
    assert (empty.rows, empty.groups, empty.smallest_group) == (0, 0, 0)


def test_columns_are_called_what_the_policy_calls_them() -> None:
    named = policy({"age": ix.quasi(AGES, rename="years"), "note": ix.other()})
    years = RELEASED["people"].rename_columns(["years", "note", "pseudonym"])
    assert failing(RELEASED | {"people": years}, named) == {}
    assert failing(RELEASED, named)["cells.columns"]["to_rename"] == {"age": "years"}


@pytest.mark.slow
def test_what_is_not_true_of_the_originals() -> None:
    wards = RELEASED | {"visits": RELEASED["visits"].set_column(1, "ward", pa.array(["ear", "ear"]))}
    assert [found["table"] for found in failing(wards, original=ORIGINAL).values()] == ["visits"]
    fewer = {part: rows.slice(0, {"people": 2}.get(part, 2)) for part, rows in RELEASED.items()}
    assert failing(fewer, policy(max_suppression=0.9), original=ORIGINAL) == {
        "suppression.least": {"how": "exact", "suppressed": 5, "required": 3}
    }
    assert list(failing(RELEASED, policy(max_suppression=0.1), original=ORIGINAL)) == ["suppression.limit"]
    with pytest.raises(ix.PolicyError):
        ix.verify(RELEASED, POLICY, original=ORIGINAL | {"people": ORIGINAL["people"].drop_columns("note")})
    with pytest.raises(ix.PolicyError, match="drugs"):
        ix.verify(RELEASED, POLICY, original={name: rows for name, rows in ORIGINAL.items() if name != "drugs"})
    with pytest.raises(ix.TableError, match="give each by its name: people, visits, drugs"):
        ix.verify(RELEASED, POLICY, original=ORIGINAL["people"])


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    with ix.anonymize(ORIGINAL, POLICY) as release:
        return release.write(tmp_path_factory.mktemp("made") / "out")


@pytest.mark.slow
def test_a_folder_of_several_tables(folder: Path) -> None:
    said = json.loads((folder / "manifest.json").read_text())
    gone = 11 - sum(part["released"] for part in said["tables"].values())
    found = ix.verify(folder, POLICY)
    assert found.passed
    names = ["manifest.files", "manifest.policy", *(one for one, _ in ALONE)]
    names += ["manifest.search", "manifest.statements", "suppression.limit"]
    assert [check.id for check in found.checks] == names
    assert found.checks[-1].numbers == {"suppressed": gone, "rows": 11, "allowed": 5}
    assert "precision" in found.not_checked[0].numbers["measures"]
    assert found.checks[0].numbers["tables"] == 3
    with pytest.raises(ix.TableError, match="give the policy of all of them"):
        ix.verify(folder)
    with pytest.raises(ix.TableError, match="give the policy of all of them"):
        ix.verify(folder, ix.Policy({"age": ix.quasi(AGES)}, [ix.KAnonymity(2)]))
    another = ix.Policy(tables=POLICY.tables, privacy=[ix.KAnonymity(1)], person="id", max_suppression=0.5)
    assert set(failing(folder, another)) == {"manifest.policy"}
    canonical = {check.id: check.passed for check in ix.verify(folder, POLICY, canonical=True).checks}
    assert canonical["files.canonical"]


@pytest.mark.slow
def test_a_folder_of_several_tables_and_their_originals(folder: Path) -> None:
    good = (folder / "manifest.json").read_text()
    proved = ix.verify(folder, POLICY, original=ORIGINAL)
    assert ids(proved)[-8:] == [("manifest.search", None), ("manifest.statements", None), *PROVED]
    alone = ix.verify(folder, POLICY)
    assert ["suppressed" in one.not_checked[0].numbers["statements"] for one in (alone, proved)] == [True, False]
    said = json.loads(good)
    drugs = said["tables"]["drugs"]
    more = {what: drugs[what] + 1 for what in ("eligible", "suppressed")}
    said |= {what: said[what] + 1 for what in more} | {"tables": said["tables"] | {"drugs": drugs | more}}
    said["verdict"]["checks"][-1]["numbers"] |= {"suppressed": said["suppressed"], "rows": 12, "allowed": 6}
    try:
        (folder / "manifest.json").write_text(json.dumps(said))
        assert set(failing(folder, original=ORIGINAL)) == {"suppression.stated", "manifest.rows"}
        elsewhere = json.loads(good)
        elsewhere["node"]["people.age"] += 1
        (folder / "manifest.json").write_text(json.dumps(elsewhere))
        found = failing(folder, original=ORIGINAL)
        assert set(found) == {"truth.levels", "manifest.statements"}
        assert "level_names" in found["manifest.statements"]["wrong"]
        (folder / "manifest.json").write_text(good)
        others = ORIGINAL | {"visits": ORIGINAL["visits"].set_column(2, "ward", pa.array(["nose"] * 3))}
        assert set(failing(folder, original=others)) == {"truth.rows"}
    finally:
        (folder / "manifest.json").write_text(good)


def test_cells_that_cannot_be_read_are_counted_by_table() -> None:
    originals: Any = {
        "people": SimpleNamespace(unreadable={"age": 2}),
        "drugs": SimpleNamespace(unreadable=None),
    }

    def checks(claimed: dict[str, int] | None) -> list[tuple[str, bool]]:
        found = several_tables._unreadable_checks(originals, claimed)
        return [(check.numbers["table"], check.passed) for check in found]

    assert checks(None) == checks({"people.age": 2}) == [("people", True)]
    assert checks({}) == [("people", False)]
    assert checks({"people.age": 2, "drugs.drug": 1}) == [("people", True), ("drugs", False)]


def test_tables_of_spark_are_refused_beside_others(monkeypatch: pytest.MonkeyPatch) -> None:
    spark: Any = {"people": SimpleNamespace(kind="arrow"), "drugs": SimpleNamespace(kind="spark")}
    why = "drugs: several tables that belong together are not supported in Spark"
    with pytest.raises(ix.TableError, match=why):
        several_tables.JUDGE(SimpleNamespace(), spark, POLICY, Claims()).recount()  # type: ignore[arg-type]
    monkeypatch.setattr(several_tables, "use_table", lambda rows: nullcontext(rows))
    with pytest.raises(ix.TableError, match=why), several_tables._open_originals(spark, POLICY, {}):
        pass
