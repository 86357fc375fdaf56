"""The verdict by hand: what a recount and a proof count on a few rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

import indistinct as ix
from indistinct.counting import encode_eligible
from indistinct.engine import open_table
from indistinct.proof import canonical, stated_measures
from indistinct.proof.checks import Check, unchecked_signature
from indistinct.proof.people_recount import NOT_COUNTED
from indistinct.proof.stated_measures import TOLERANCE, Bounds, Sense, _Figures, _Senses, _Totals
from indistinct.proof.truth import one_table
from indistinct.proof.truth.one_table import prove_cell_by_cell
from indistinct.release.manifest import Facts, StatedDraws

Cell = str | None
AGES = ix.levels([["1", "1-2", "*"], ["2", "1-2", "*"], ["3", "3-4", "*"], ["4", "3-4", "*"]])
COLUMNS = {
    "id": ix.identifier(),
    "age": ix.quasi(AGES),
    "sex": ix.quasi(ix.suppress()),
    "ill": ix.sensitive(),
}
POLICY = ix.Policy(COLUMNS, [ix.KAnonymity(2)], max_suppression=0.5)


def table(**columns: Sequence[Cell]) -> pa.Table:
    return pa.table({name: pa.array(cells, pa.string()) for name, cells in columns.items()})


ORIGINAL = table(id=list("abcdef"), age=list("112334"), sex=list("mmmfff"), ill=list("xyzxyz"))
BY_COLUMN = table(age=["1-2"] * 3 + ["3-4"] * 3, sex=list("mmmfff"), ill=list("xyzxyz"))


def judged(released: Any, policy: ix.Policy = POLICY, **more: Any) -> dict[str, tuple[bool, Any]]:
    """Return each check of a table by its id: whether it passed, and its numbers."""
    return {check.id: (check.passed, dict(check.numbers)) for check in ix.verify(released, policy, **more).checks}


def failing(released: Any, policy: ix.Policy = POLICY, **more: Any) -> dict[str, Any]:
    return {name: numbers for name, (passed, numbers) in judged(released, policy, **more).items() if not passed}


def limit(suppressed: int, rows: int, allowed: int) -> dict[str, int]:
    return {"suppressed": suppressed, "rows": rows, "allowed": allowed}


FALSE_ROW = {"truth.rows": {"rows": 1}}


# From the cells alone


def test_every_check_of_a_good_table() -> None:
    found = judged(BY_COLUMN, suppressed=0)
    assert list(found) == ["cells.columns", "model.k-anonymity", "suppression.limit"]
    assert found["cells.columns"] == (True, {"columns": 3})
    assert [found["model.k-anonymity"][1][name] for name in ("terms", "groups", "smallest")] == [{"k": 2}, 2, 3]
    assert found["suppression.limit"] == (True, limit(0, 6, 3))
    assert "suppression.limit" not in judged(BY_COLUMN)
    assert failing(BY_COLUMN, suppressed=7) == {"suppression.limit": limit(7, 13, 6)}
    blank = replace(POLICY, suppressed_rows="blank")
    assert failing(BY_COLUMN, blank, suppressed=4) == {"suppression.limit": limit(4, 6, 3)}


def test_tables_that_lack_something() -> None:
    found = ix.verify(BY_COLUMN.drop_columns(["sex"]), POLICY)
    assert [check.numbers["missing"] for check in found.checks] == [["sex"]]
    assert (found.rows, found.groups, found.smallest_group) == (6, 0, 0)
    assert failing(BY_COLUMN.slice(0, 0)) == {"cells.rows": {}}
    of_ill = replace(POLICY, privacy=(ix.LDiversity(2),))
    unasked = failing(BY_COLUMN.drop_columns(["ill"]), of_ill)
    assert unasked["cells.columns"]["missing"] == ["ill"]
    assert unasked["model.l-diversity"]["why"] == "no sensitive column"
    left_in = failing(ORIGINAL.drop_columns(["ill"]))["cells.columns"]
    assert (left_in["identifiers"], left_in["missing"]) == (["id"], ["ill"])


def test_people_are_counted_where_something_tells_them() -> None:
    of_people = replace(POLICY, person="id")
    assert judged(BY_COLUMN, of_people)[NOT_COUNTED.id] == (True, {})
    diverse = replace(of_people, privacy=(ix.LDiversity(2),))
    alike = BY_COLUMN.set_column(2, "ill", pa.array(["x"] * 6))
    assert set(failing(alike, diverse)) == {"model.l-diversity"}
    close = replace(of_people, privacy=(ix.KAnonymity(2), ix.TCloseness(0.1)))
    assert [name for name in judged(alike, close) if "closeness" in name] == []  # of rows it implies nothing
    of_rows = replace(POLICY, privacy=(ix.AlphaK(0.5, 2), ix.TCloseness(0.1)))
    assert list(judged(BY_COLUMN, of_rows)) == ["cells.columns", "model.alpha-k", "model.t-closeness"]
    assert len(failing(alike, of_rows)) == 1
    frequent = replace(of_people, privacy=(ix.AlphaK(0.5, 2),))
    assert "model.k-anonymity" in judged(BY_COLUMN, frequent)
    assert "model.k-anonymity" in failing(BY_COLUMN.slice(0, 4), frequent)


def test_only_what_the_policy_asks_for_is_looked_at() -> None:
    coded = replace(POLICY, columns=COLUMNS | {"age": ix.quasi(AGES, missing=["3-4"])})
    assert failing(BY_COLUMN, coded) == {}  # a label is no cell of the original
    told = replace(POLICY, columns=COLUMNS | {"ill": ix.sensitive(missing=["z"])})
    assert failing(BY_COLUMN, told) == {"cells.codes": {"column": "ill", "cells": 2}}
    named = judged(BY_COLUMN.append_column("pseudonym", pa.array(["a" * 32] * 6)))
    assert list(named) == ["cells.columns", "model.k-anonymity"]
    few = ix.verify(BY_COLUMN, replace(POLICY, privacy=(ix.KAnonymity(2, known=1),)))
    assert few.passed
    assert [one.known for one in few.known] == [1]


def test_columns_are_called_what_the_policy_calls_them() -> None:
    named = replace(POLICY, columns=COLUMNS | {"sex": ix.quasi(ix.suppress(), rename="gender")})
    assert failing(BY_COLUMN.rename_columns(["age", "gender", "ill"]), named) == {}
    assert failing(BY_COLUMN, named)["cells.columns"]["to_rename"] == {"sex": "gender"}


def test_people_of_a_population_are_counted_under_the_labels() -> None:
    people = table(age=list("1123"), sex=list("mmmf"))
    passed, numbers = judged(BY_COLUMN, replace(POLICY, privacy=(ix.KMap(1, people),)))["model.k-map"]
    assert (passed, numbers["groups"], numbers["smallest"]) == (True, 2, 3)
    (found,) = failing(BY_COLUMN, replace(POLICY, privacy=(ix.KMap(2, people),))).values()
    assert [found[name] for name in ("failing", "groups", "inside")] == [1, 2, 3]


def test_of_drawn_rows_nobody_says_how_many_had_to_go() -> None:
    drawn = ix.Policy(
        {"age": ix.quasi(AGES), "sex": ix.quasi(ix.suppress())}, [ix.DifferentialPrivacy(5.0, 0.1)], algorithm="safepub"
    )
    original = ORIGINAL.select(["age", "sex"])
    assert "suppression.least" not in judged(BY_COLUMN.select(["age", "sex"]), drawn, original=original)


def test_what_is_asked_of_several_tables_or_without_a_policy_is_refused() -> None:
    with pytest.raises(ix.PolicyError, match="its policy is needed"):
        ix.verify(BY_COLUMN, original=ORIGINAL)
    with pytest.raises(ix.TableError, match="only a release folder"):
        ix.verify(BY_COLUMN)
    nowhere: Any = SimpleNamespace(folder=None)
    assert unchecked_signature(nowhere, None) == []
    with pytest.raises(ix.TableError, match="give the release folder, not a table without one"):
        ix.verify(BY_COLUMN, POLICY, key="steward.pub")
    parts = {"people": ix.LinkedTable({"age": ix.quasi(AGES)}, key="id"), "stays": ix.LinkedTable({"ward": ix.quasi()})}
    linked = ix.Policy(tables=parts, privacy=[ix.KAnonymity(2)], person="id")
    with pytest.raises(ix.TableError, match=r"original: the policy describes several tables; .* people, stays"):
        ix.verify({"people": BY_COLUMN, "stays": BY_COLUMN}, linked, original=ORIGINAL)


def test_a_verdict_in_a_notebook() -> None:
    shown = ix.verify(BY_COLUMN, POLICY)._repr_html_()
    assert "✓ passed" in shown
    assert "in the smallest" in shown
    shown = ix.verify(BY_COLUMN.slice(0, 4), POLICY)._repr_html_()
    assert "✗ FAILED: do not hand this table out" in shown
    assert "✓" in shown


# With the original


def test_a_table_of_one_level_a_column_is_proved_word_for_word() -> None:
    proved = judged(BY_COLUMN, original=ORIGINAL, suppressed=0, node={"age": 1, "sex": 0})
    assert list(proved.items())[2:] == [
        ("truth.rows", (True, {"rows": 6, "cell_by_cell": False, "perturbed": []})),
        ("suppression.limit", (True, limit(0, 6, 3))),
        ("suppression.least", (True, {"how": "exact", "suppressed": 0, "required": 0})),
    ]
    fewer = judged(BY_COLUMN.slice(0, 3), original=ORIGINAL, suppressed=1)
    assert fewer["suppression.stated"] == (False, {"stated": 1, "suppressed": 3})
    assert fewer["suppression.limit"] == (True, limit(3, 6, 3))
    assert fewer["suppression.least"][0] is False
    assert "suppression.stated" not in judged(BY_COLUMN.slice(0, 3), original=ORIGINAL)


def test_levels_that_labels_do_not_have() -> None:
    wrong: dict[str, Any] = {"truth.levels": {}}
    assert failing(BY_COLUMN, original=ORIGINAL, node={"age": 2, "sex": 0}) == wrong
    assert failing(BY_COLUMN, original=ORIGINAL, node={"age": 1}) == wrong
    assert failing(BY_COLUMN, original=ORIGINAL, node={"age": 1, "sex": 0}, is_local=False) == {}


@pytest.mark.slow
def test_labels_of_two_levels_that_read_the_same_are_both_tried() -> None:
    """What is a at level 1 is b at level 2, and the other way round."""
    turned = ix.levels([["1", "a", "b", "*"], ["2", "b", "a", "*"]])
    policy = ix.Policy({"x": ix.quasi(turned)}, [ix.KAnonymity(1)])
    original = table(x=["1", "1", "1", "2"])
    for cells, level in ((["a", "a", "a", "b"], 1), (["b", "b", "b", "a"], 2)):
        for hint in (None, {"x": 1}, {"x": 2}):
            found = failing(table(x=cells), policy, original=original, node=hint, is_local=False)
            assert set(found) == (set() if hint in (None, {"x": level}) else {"truth.levels"})
    for hint in ({"x": 1}, {"x": 2}):  # both are true of two people
        assert failing(table(x=["a", "b"]), policy, original=table(x=["1", "2"]), node=hint, is_local=False) == {}
    assert failing(table(x=["a", "a", "b"]), policy, original=table(x=["1", "2", "2"]), is_local=False) == {}
    assert failing(table(x=["b", "b"]), policy, original=table(x=["1", "2"]), is_local=False) == FALSE_ROW
    for cells in (["a"] * 4, ["b"] * 4):  # one row is false at one of the levels, three at the other
        assert failing(table(x=cells), policy, original=original, is_local=False) == FALSE_ROW
    false = failing(table(x=["a", "a", "b", "b"]), policy, original=original, is_local=False)
    assert false == FALSE_ROW
    lost = failing(table(x=["a", "1", "b", "b"]), policy, original=original, is_local=False)
    assert lost == {"truth.rows": {"columns": ["x"]}}


def test_rows_that_are_none_of_the_original_are_counted() -> None:
    elsewhere = BY_COLUMN.set_column(0, "age", pa.array(["1-2"] * 2 + ["3-4"] * 4))
    assert failing(elsewhere, original=ORIGINAL, is_local=False)["truth.rows"] == {"rows": 1}
    exchanged = BY_COLUMN.set_column(1, "sex", pa.array(list("fffmmm")))
    assert failing(exchanged, original=ORIGINAL, is_local=False)["truth.rows"] == {"rows": 6}


def test_what_is_perturbed_is_held_against_the_original() -> None:
    policy = ix.Policy(
        {"sex": ix.quasi(ix.suppress()), "pay": ix.other(perturb=ix.Microaggregation(2))}, [ix.KAnonymity(2)]
    )
    original = table(sex=list("mmff"), pay=["10", "20", "30", "50"])
    means = original.set_column(1, "pay", pa.array([15.0, 15.0, 40.0, 40.0]))
    proved = judged(means, policy, original=original, is_local=False)
    assert proved["truth.rows"][1]["perturbed"] == ["pay"]
    assert failing(means, policy, original=original, is_local=False) == {}
    assert failing(original, policy, original=original, is_local=False) != {}
    assert failing(original.set_column(1, "pay", pa.array([10.0, 20.0, 30.0, 50.0])), policy) != {}
    assert failing(means, policy) == {}


def test_a_table_of_which_nothing_says_how_it_was_made_may_be_proved_cell_by_cell() -> None:
    mixed = table(age=["1", "1", "1-2", "3", "3", "3-4"], sex=list("mmmfff"), ill=list("xyzxyz"))
    loose = replace(POLICY, privacy=(ix.KAnonymity(1),))
    assert judged(mixed, loose, original=ORIGINAL)["truth.rows"][1]["cell_by_cell"] is True
    assert "truth.rows" in failing(mixed, loose, original=ORIGINAL, is_local=False)
    assert failing(mixed, loose, original=ORIGINAL, is_local=True) == {}
    assert "truth.rows" in judged(mixed, loose, original=ORIGINAL, is_local=True)
    assert judged(BY_COLUMN, original=ORIGINAL)["truth.rows"][1]["cell_by_cell"] is False


@pytest.mark.slow
def test_rows_that_were_left_blank() -> None:
    blank = replace(POLICY, suppressed_rows="blank")
    rows = table(age=["1-2"] * 3 + [None] * 3, sex=["m"] * 3 + [None] * 3, ill=list("xyzxyz"))
    found = judged(rows, blank, original=ORIGINAL, suppressed=3, node={"age": 1, "sex": 0}, is_local=False)
    assert found["truth.rows"] == (True, {"rows": 6, "cell_by_cell": False, "perturbed": []})
    assert found["suppression.limit"] == (True, limit(3, 6, 3))
    assert failing(rows, blank, original=ORIGINAL, suppressed=2)["suppression.stated"]["stated"] == 2
    other = rows.set_column(2, "ill", pa.array(list("xyzxyy")))
    assert "truth.rows" in failing(other, blank, original=ORIGINAL)
    assert failing(other, blank, original=ORIGINAL, is_local=False) == FALSE_ROW
    elsewhere = table(age=["1-2"] * 4 + [None] * 2, sex=[*"mmmf", None, None], ill=list("xyzxyz"))
    alone = replace(blank, privacy=(ix.KAnonymity(1),))
    assert failing(elsewhere, alone, original=ORIGINAL, is_local=False) == FALSE_ROW
    bare = replace(blank, columns={name: column for name, column in COLUMNS.items() if name != "ill"})
    only = failing(rows.drop_columns("ill"), bare, original=ORIGINAL.drop_columns("ill"), is_local=False)
    assert set(only) == {"suppression.least"}
    one = table(age=["1-2"] * 3 + ["3-4"] * 2 + [None], sex=[*"mmmff", None], ill=list("xyzxyz"))
    loose = replace(blank, privacy=(ix.KAnonymity(1),))
    assert set(failing(one, loose, original=ORIGINAL, is_local=False)) == {"suppression.least"}
    half = table(age=["1-2"] * 3 + ["3-4"] * 2 + [None], sex=list("mmmfff"), ill=list("xyzxyz"))
    assert failing(half, loose, original=ORIGINAL, is_local=False) == {"truth.rows": {"columns": ["age"]}}
    by_nature = ORIGINAL.set_column(1, "age", pa.array([*"11233", None])).set_column(
        2, "sex", pa.array([*"mmmff", None])
    )
    assert failing(rows, blank, original=by_nature, is_local=False)["truth.rows"] == {"blank": 3}
    some = table(age=["1-2"] * 3 + ["3-4", "3-4", None], sex=[*"mmmff", None], ill=list("xyzxyz"))
    assert failing(some, replace(blank, privacy=(ix.KAnonymity(1),)), original=by_nature, suppressed=0) == {}


def test_nothing_is_proved_of_a_table_without_rows_or_columns() -> None:
    assert "truth.rows" not in judged(BY_COLUMN.slice(0, 0), original=ORIGINAL)
    assert "truth.rows" not in judged(BY_COLUMN.drop_columns(["sex"]), original=ORIGINAL)
    with pytest.raises(ix.PolicyError, match=r"columns\.ill: the table has no such column"):
        ix.verify(BY_COLUMN, POLICY, original=ORIGINAL.drop_columns(["ill"]), is_local=False)


def test_the_original_at_a_node_holds_what_is_asked_for() -> None:
    with open_table(ORIGINAL) as source, encode_eligible(source, POLICY, POLICY.quasi) as encoded:
        hierarchies = {name: POLICY.columns[name].compile(encoded.values[name]) for name in POLICY.quasi}
        plan = one_table._generalization((1, 0), POLICY, hierarchies, encoded, ("id",))
        assert plan.columns == ("age", "sex", "ill", "id")
        assert plan.kept == {"sex"}
        assert not plan.blank
        assert set(plan.maps) == {"age", "sex"}
        assert [len(rows) for rows in plan.suppressed.values()] == [0, 0]
    assert one_table._told_by(POLICY, 0) == ["age", "sex", "ill"]
    assert one_table._told_by(POLICY, 2) == ["ill"]


def test_cells_one_by_one_and_how_many_people_are_behind_them() -> None:
    of_people = replace(POLICY, person="id")
    rows = table(age=["1-2"] * 4, sex=["m"] * 4, ill=list("xyxy"))
    twice = table(id=list("aabb"), age=list("1122"), sex=list("mmmm"), ill=list("xyxy"))
    with open_table(rows) as released, open_table(twice) as source:
        told = {check.id: (check.passed, check.numbers) for check in prove_cell_by_cell(released, source, of_people, 0)}
        assert told["people.groups"] == (True, {"groups": 1, "smallest": 2})
        assert "truth.linked_rows" not in told
        missing = {"how": "not proved", "suppressed": 0, "eligible": 4}
        assert told["suppression.least"] == (True, {**missing, "allowed": 2})
        three = replace(of_people, privacy=(ix.KAnonymity(3),), max_suppression=None)
        told = {check.id: (check.passed, check.numbers) for check in prove_cell_by_cell(released, source, three, 0)}
        assert told["people.groups"] == (False, {"groups": 1, "failing": 1, "least": 3})
        assert told["suppression.least"] == (True, {**missing, "allowed": None})
        false = replace(of_people, columns=COLUMNS | {"ill": ix.other()})
        assert prove_cell_by_cell(released, source, false, 0)[0].passed
    few = replace(of_people, privacy=(ix.KAnonymity(2, known=1),))  # which asks nothing of groups
    with open_table(rows) as released, open_table(twice.set_column(0, "id", pa.array(["a"] * 4))) as source:
        told = {check.id: (check.passed, check.numbers) for check in prove_cell_by_cell(released, source, few, 0)}
        assert told["people.groups"] == (True, {"groups": 1, "smallest": 1})
    with open_table(rows.set_column(2, "ill", pa.array(list("xyzz")))) as released, open_table(twice) as source:
        assert prove_cell_by_cell(released, source, of_people, 0) == [Check("truth.rows", False, {"rows": 2})]


def test_rows_under_a_pseudonym_are_not_compared_cell_by_cell() -> None:
    linked = replace(POLICY, person={"column": "id", "release": "pseudonym"})
    rows = table(age=["1-2"] * 4, sex=["m"] * 4, ill=list("xyxy"), pseudonym=["a" * 32] * 2 + ["b" * 32] * 2)
    twice = table(id=list("aabb"), age=list("1122"), sex=list("mmmm"), ill=list("xyxy"))
    with open_table(rows) as released, open_table(twice) as source:
        *_, people, last = prove_cell_by_cell(released, source, linked, 0)
    assert people.passed
    assert last == Check("truth.linked_rows", True, {"why": "cell by cell"})


def test_readers_who_would_not_agree_are_named(tmp_path: Path) -> None:
    pyarrow.parquet.write_table(BY_COLUMN, tmp_path / "part.parquet")
    assert failing(str(tmp_path)) == {}
    (unsaid,) = ix.verify(str(tmp_path), POLICY, canonical=True).not_checked
    assert (unsaid.id, unsaid.numbers["no_files"]) == ("files.canonical", ["table"])
    mixed = BY_COLUMN.set_column(2, "ill", pa.array(["x", "", None, "x", "y", "z"]))
    pyarrow.parquet.write_table(mixed, tmp_path / "part.parquet")
    assert failing(tmp_path) == failing(mixed) == {"cells.missing": {"columns": ["ill"]}}
    (tmp_path / "more.csv").write_text("age\n1\n")
    assert "files.readers" in failing(tmp_path)
    with open_table(mixed) as rows:
        assert failing(rows) == {}


def test_a_file_of_the_same_length_may_be_written_otherwise(tmp_path: Path) -> None:
    pyarrow.parquet.write_table(ORIGINAL, tmp_path / "t.parquet")
    with ix.anonymize(tmp_path / "t.parquet", POLICY) as made:
        made.write(tmp_path / "out")
    same = {"same": ["table.parquet", "manifest.json"], "order": [], "differing": []}
    assert judged(tmp_path / "out", canonical=True)["files.canonical"] == (True, same)
    path = tmp_path / "out" / "table.parquet"
    content = path.read_bytes()
    path.write_bytes(content.replace(b"DuckDB version v", b"DuckDB version 9"))
    assert failing(tmp_path / "out", canonical=True)["files.canonical"]["differing"] == ["table.parquet"]


def test_columns_stand_in_the_order_of_the_policy() -> None:
    def has_order(*columns: str) -> bool:
        rows: Any = SimpleNamespace(columns=lambda: columns)
        return canonical._has_order(rows, POLICY)

    assert has_order("age", "sex", "ill", "pseudonym")
    assert has_order("age", "ill")
    assert not has_order("sex", "age", "ill")


@dataclass(frozen=True)
class Written:
    """A release whose rows are written as the same bytes each time."""

    renamed: dict[str, Any]

    @contextmanager
    def rows(self) -> Iterator[dict[str, Any]]:
        def write(folder: Path) -> Path:
            (folder / "again").write_bytes(b"ab")
            return folder / "again"

        yield {"table": SimpleNamespace(write=write)}


def test_a_file_with_more_at_its_end_is_written_otherwise(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(canonical, "BLOCK", 1)
    released: Any = Written({})
    for content in (b"ab", b"abc", b"a", b"ax"):
        (tmp_path / "table").write_bytes(content)
        assert canonical.is_written_anew(tmp_path / "table", released, "table") is (content == b"ab")


# The figures of a manifest


def test_bounds_hold_what_lies_between_them() -> None:
    assert [Bounds(1.0, 2.0).allow(said) for said in (0.9, 1.0, 1.5, 2.0, 2.1)] == [False, True, True, True, False]
    assert Bounds(1e12, 1e12).allow(1e12 + 100)
    assert not Bounds(1e12, 1e12).allow(1e12 + 10_000)
    assert not Bounds(0.0, 0.0).allow(1e-6)
    assert Bounds(0.0, 0.0).allow(TOLERANCE)
    assert Bounds(0.0, 0.0).allow(-TOLERANCE)
    assert (Bounds(1.0, 1.0).are_one, Bounds(1.0, 1.1).are_one) == (True, False)
    assert stated_measures._from_one(Bounds(0.25, 0.5)) == Bounds(0.5, 0.75)
    assert stated_measures._plus(Bounds(1, 2), 3, [1, 2]) == Bounds(4, 8)


DRAWN = StatedDraws(epsilon=1.0, epsilon_of_levels=0.1, delta=0.1, sampled=0.5, k=2, candidates=1)


USUAL: dict[str, Any] = {"measures": {}, "released": 6, "suppressed": 0, "algorithm": "lattice"}
USUAL |= dict.fromkeys(["node", "mean_levels", "level_names", "drawn", "based"])


def facts(**said: Any) -> Facts:
    """Return what a release says of itself, as little as is asked for."""
    return Facts.model_construct(**(USUAL | said))


NUMBERS = ix.intervals(2, top="*").compile(("1", "2", "3", "9"))
ROWS = np.array([4, 3, 2, 1], np.int64)


def reader(level: int | None, algorithm: str = "regroup", values: Any = NUMBERS, rows: Any = ROWS) -> _Senses:
    return _Senses(values, rows, level, algorithm)


def test_what_a_label_can_mean() -> None:
    """Level 1 has 0-1, 2-3 and 8-9; 1 has four rows, 2 three, 3 two and 9 one."""
    (label,) = {text for text in NUMBERS.labels[1] if text and "2" in text}
    assert list(reader(1).readings(label)) == [Sense(1, 2, 5)]
    assert list(reader(0).readings(label)) == []
    assert Sense(0, 1, 3) in list(reader(None).readings("2"))
    assert list(reader(1).readings(None)) == []
    assert list(reader(None).readings(None)) == [Sense(2, 4, 10)]
    assert list(reader(None).readings("{1, 9}")) == [Sense(2, 2, 5)]
    assert list(reader(None).readings("{1, 7}")) == [Sense(0, 1, 4)]  # a label of earlier rows, of which 7 is gone
    assert list(reader(None).readings("nonsense")) == []
    assert list(reader(None).readings("[2, 3]")) == [Sense(1, 2, 5)]
    assert list(reader(None).readings("[2, 9]")) == [Sense(2, 3, 6)]
    assert list(reader(None).readings("[2, 9] or missing")) == [Sense(2, 3, 6)]  # of earlier rows, too
    assert list(reader(1).readings("[2, 3]")) == []


def test_ranges_and_sets_may_cover_missing_cells() -> None:
    values = ix.intervals(2, top="*").compile(("1", "2", "3", None))
    of = reader(None, values=values, rows=np.array([4, 3, 2, 1], np.int64))
    assert {(found.leaves, found.rows) for found in of.readings("[1, 3] or missing")} == {(4, 10)}
    assert {(found.leaves, found.rows) for found in of.readings("[1, 3]")} == {(3, 9)}
    assert {(found.leaves, found.rows) for found in of.readings("{1, 3} or missing")} == {(3, 7)}
    unordered = ix.suppress().compile(("f", "m"))
    assert list(reader(None, values=unordered, rows=ROWS[:2]).readings("[f, m]")) == []


def test_a_blank_cell_means_all_or_missing() -> None:
    values = ix.suppress().compile(("m", None))
    rows = np.array([3, 2], np.int64)
    assert Sense(0, 1, 2) in list(reader(None, values=values, rows=rows).readings(None))
    blanked = list(reader(None, "mu-argus", values, rows).readings(None))
    assert Sense(1, 2, 5) in blanked
    assert Sense(0, 1, 2) in blanked
    assert Sense(1, 2, 5) not in list(reader(None, values=values, rows=rows).readings(None))


def test_what_a_column_keeps() -> None:
    column = reader(1).column(2.0, dict.fromkeys(NUMBERS.labels[1], 1), _Totals(10, np.array([3])))
    assert (column.weight, column.height, column.levels) == (2.0, 2, Bounds(1.0, 1.0))
    assert column.kept["precision"] == Bounds(1.5, 1.5)
    assert column.whole["precision"] == column.whole["ncp"] == 10.0
    none = reader(1).column(1.0, {}, _Totals(10, np.zeros(0, np.int64)))
    assert none.levels == Bounds(0.0, 0.0)


def test_levels_that_are_not_those_of_the_hierarchy() -> None:
    def wrong(**said: Any) -> list[str]:
        given = facts(**({"node": {"a": 1}, "heights": {"a": 2}} | said))
        return stated_measures._level_mistakes(given, "a", NUMBERS, Bounds(1.0, 1.0))

    assert wrong() == []
    assert wrong(heights={"a": 3}) == ["heights.a"]
    assert wrong(level_names={"a": NUMBERS.level_names[1]}) == []
    assert wrong(level_names={"a": "x"}) == ["level_names.a"]
    assert wrong(node=None, mean_levels={"a": 1.0}) == []
    assert wrong(node=None, mean_levels={"a": 0.9}) == ["mean_levels.a"]


def test_suppressed_rows_are_no_group() -> None:
    sizes = np.array([3, 2, 2], np.int64)
    assert stated_measures.without_blank(sizes, 2).tolist() == [3, 2]
    assert stated_measures.without_blank(sizes, 0).tolist() == [3, 2, 2]
    assert stated_measures.without_blank(sizes, 9).tolist() == [3, 2, 2]
    with open_table(table(a=["x", "x", None, None])) as rows:
        assert stated_measures._released_labels(rows, "a", 1) == {"x": 2, None: 1}
        assert stated_measures._released_labels(rows, "a", 2) == {"x": 2}
        assert stated_measures._released_labels(rows, "a", 0) == {"x": 2, None: 2}


def test_measures_that_are_not_what_they_are_said_to_be() -> None:
    figures = {"loss": Bounds(0.5, 0.5), "ncp": Bounds(0.1, 0.2)}
    assert stated_measures.mistaken_measures({"loss": 0.5, "ncp": 0.15, "own": 9.0}, figures) == []
    assert stated_measures.mistaken_measures({"loss": 0.6, "ncp": 0.3}, figures) == ["loss", "ncp"]


def test_figures_that_follow_from_statements_by_hand() -> None:
    """Ages stand at 1 of 2 and sexes at 0 of 1; groups of 2 and 3, and one of six rows is suppressed."""
    said = {"node": {"age": 1, "sex": 0}, "heights": {"age": 2, "sex": 1}, "released": 5, "suppressed": 1}
    told = stated_measures.measures_from_statements(facts(**said), POLICY, np.array([2, 3], np.int64))
    assert {name: round(bounds.low, 6) for name, bounds in told.items()} == {
        "precision": round((5 * 0.5 + 5 * 1) / 12, 6),
        "discernibility": 4 + 9 + 6,
        "average-group-size": 2.5,
        "distinct-tuples": 2.0,
        "completeness": round(5 / 6, 6),
        "absolute-distance": 1.0,
        "accuracy": round(1 - 1 / 3, 6),
        "relative-distance": 0.5,
    }
    assert all(bounds.are_one for bounds in told.values())
    drawn = stated_measures.measures_from_statements(facts(**said, drawn=DRAWN), POLICY, np.array([2, 3], np.int64))
    assert set(drawn) == {"precision", "discernibility", "average-group-size", "distinct-tuples"}
    local = {**said, "node": None, "mean_levels": {"age": 1.5, "sex": 0.5}}
    told = stated_measures.measures_from_statements(
        facts(**local), POLICY, np.array([1, 2, 3], np.int64)
    )  # one row is blank
    assert told["distinct-tuples"] == Bounds(2.0, 2.0)
    assert told["absolute-distance"] == Bounds(2.0, 2.0)
    assert round(told["precision"].low, 6) == round((5 * 0.25 + 5 * 0.5) / 12, 6)


def test_figures_that_lie_between_two_bounds() -> None:
    """Labels of several levels read the same in a column: it stands between 1 and 2 of 2, the other at 0 of 1."""

    def column(weight: float, height: int, levels: Bounds, kept: Bounds) -> _Figures:
        names = ("precision", "loss", "ncp", "entropy")
        return _Figures(weight, height, levels, dict.fromkeys(names, kept), dict.fromkeys(names, 4.0))

    columns = [column(3.0, 2, Bounds(1.0, 2.0), Bounds(1.0, 3.0)), column(1.0, 1, Bounds(0.0, 0.0), Bounds(4.0, 4.0))]
    found = stated_measures._all_figures(_Totals(4, np.array([3, 1])), columns)
    assert found["loss"] == found["ncp"] == found["entropy"] == Bounds(1 - 13 / 16, 1 - 7 / 16)
    assert found["precision"] == Bounds(7 / 16, 13 / 16)
    assert found["absolute-distance"] == Bounds(1.0, 2.0)
    assert [round(end, 9) for end in found["accuracy"]] == [round(1 / 3, 9), round(2 / 3, 9)]
    assert found["relative-distance"] == Bounds(1.5, 3.0)
    assert found["discernibility"] == Bounds(10.0, 10.0)
    blank = [column(1.0, 2, Bounds(0.0, 0.0), Bounds(4.0, 4.0)), column(1.0, 0, Bounds(1.0, 1.0), Bounds(0.0, 0.0))]
    assert stated_measures._all_figures(_Totals(4, np.array([4])), blank)["accuracy"] == Bounds(1.0, 1.0)
    weightless = [column(0.0, 1, Bounds(1.0, 1.0), Bounds(0.0, 0.0))]
    assert stated_measures._all_figures(_Totals(1, np.array([1])), weightless)["relative-distance"] == Bounds(0.0, 0.0)
    free = [column(0.0, 0, Bounds(0.0, 0.0), Bounds(0.0, 0.0))]
    nothing = stated_measures._all_figures(_Totals(1, np.array([1])), free)
    assert nothing["loss"] == nothing["relative-distance"] == Bounds(0.0, 0.0)
    one = stated_measures._all_figures(_Totals(1, np.array([1])), [column(1.0, 1, Bounds(1.0, 1.0), Bounds(0.0, 0.0))])
    assert one["accuracy"] == Bounds(0.0, 0.0)
    assert nothing["average-group-size"] == nothing["completeness"] == Bounds(1.0, 1.0)
    tiny = [_Figures(0.5, 1, Bounds(1.0, 1.0), {"loss": Bounds(0.25, 0.25)}, {"loss": 1.0})]
    assert stated_measures._lost_share(tiny, "loss") == Bounds(0.75, 0.75)


def test_what_one_cell_keeps_under_a_label() -> None:
    keeping = stated_measures._cell_measures(NUMBERS, 10)
    label = Sense(1, 2, 5)
    assert NUMBERS.domain_size == 4
    assert {name: keep(label) for name, keep in keeping.items()} == {
        "precision": 0.5,
        "loss": 1 - 1 / 3,
        "ncp": 0.5,
        "entropy": 1.0,
    }
    kept = stated_measures._cell_measures(ix.keep().compile(("a", "b")), 2)
    assert kept["precision"](Sense(1, 2, 2)) == 0.0  # of a blank cell in a column without levels
    one = stated_measures._cell_measures(ix.suppress().compile(("a",)), 0)
    assert [one[name](Sense(1, 1, 0)) for name in ("precision", "loss", "ncp", "entropy")] == [
        0.0,
        1.0,
        1.0,
        0.0,
    ]
    two = stated_measures._cell_measures(ix.suppress().compile(("a", "b")), 2)
    assert [two[name](Sense(1, 2, 2)) for name in ("loss", "ncp")] == [0.0, 0.0]


def test_the_levels_that_a_cell_may_have() -> None:
    assert {reading.level for reading in reader(None).readings("1")} == {0}
    assert list(reader(1).readings("1")) == []
    column = reader(None).column(1.0, {"1": 1, "*": 1}, _Totals(10, np.array([1])))
    assert column.levels == Bounds(2.0, 2.0), "of one released row"


def test_blank_rows_are_missing_cell_by_cell_as_well() -> None:
    blank = replace(POLICY, suppressed_rows="blank")
    rows = table(age=["1-2"] * 2 + ["3-4"] * 2 + [None] * 2, sex=[*"mmff", None, None], ill=list("xyxyzz"))
    with open_table(rows) as released, open_table(ORIGINAL) as source:
        told = {check.id: check.numbers for check in prove_cell_by_cell(released, source, blank, 2)}
        assert told["suppression.limit"] == limit(2, 6, 3)
        assert "suppression.stated" not in told
    with (
        open_table(rows) as released,
        open_table(ORIGINAL.drop_columns("ill")) as source,
        pytest.raises(ix.PolicyError),
    ):
        prove_cell_by_cell(released, source, blank, 2)


def test_figures_are_compared_with_their_levels() -> None:
    with open_table(BY_COLUMN) as released, open_table(ORIGINAL) as source:

        def found(**changed: Any) -> tuple[bool, dict[str, Any]]:
            said = {"measures": {"precision": 0.75}, "node": {"age": 1, "sex": 0}, "heights": {"age": 2, "sex": 1}}
            told = facts(**{"suppressed": 0, **said, **changed})
            check = stated_measures.measures_check(told, released, source, POLICY, np.array([3, 3], np.int64))
            assert check is not None
            return check.passed, dict(check.numbers)

        assert found() == (True, {"checked": 1, "bounded": []})
        assert found(measures={"precision": 0.75, "own": 9.0}) == found()
        assert found(heights={"age": 2, "sex": 2}) == (False, {"wrong": ["heights.sex"]})
        assert found(measures={"precision": 0.5}) == (False, {"wrong": ["precision"]})
        means = {"age": 1.0, "sex": 0.0}
        assert found(node=None, mean_levels=means) == found()
        assert found(node=None, mean_levels=means | {"sex": 1.0}) == (False, {"wrong": ["mean_levels.sex"]})


def test_figures_of_labels_that_read_the_same_are_bounded() -> None:
    policy = ix.Policy({"x": ix.quasi(ix.levels([["1", "a", "b"], ["2", "b", "a"]], top="*"))}, [ix.KAnonymity(1)])
    said = {"node": None, "mean_levels": {"x": 1.5}, "heights": {"x": 3}, "suppressed": 0}
    with open_table(table(x=["a", "b"])) as released, open_table(table(x=["1", "2"])) as source:
        told = facts(**said, measures={"precision": 0.5, "distinct-tuples": 2.0})
        sizes = np.array([1, 1], np.int64)
        check = stated_measures.measures_check(told, released, source, policy, sizes)
        for precision, is_right in ((2 / 3, True), (1 / 3, False)):
            own = {"node": {"x": 1}, "mean_levels": None, "measures": {"precision": precision}}
            at_one = facts(**{**said, **own})
            found = stated_measures.measures_check(at_one, released, source, policy, sizes)
            assert found is not None
            assert found.passed is is_right
    assert check == Check("manifest.measures", True, {"checked": 2, "bounded": ["precision"]})


def test_rows_that_are_blank_by_nature_are_a_group() -> None:
    """Two people have told neither age nor sex; else their rows would be two that were suppressed and left blank."""
    blank = replace(POLICY, suppressed_rows="blank")
    rows = table(age=["1-2"] * 3 + ["3-4"] * 2 + [None] * 2, sex=[*"mmmff", None, None], ill=list("xyzxyzz"))
    original = table(id=list("abcdefg"), age=[*"11233", None, None], sex=[*"mmmff", None, None], ill=list("xyzxyzz"))
    sizes = np.array([3, 2, 2], np.int64)
    said = {"node": {"age": 1, "sex": 0}, "heights": {"age": 2, "sex": 1}}
    with open_table(rows) as released, open_table(original) as source:
        for suppressed, groups in ((0, 3.0), (2, 2.0)):
            told = facts(**said, suppressed=suppressed, measures={"distinct-tuples": groups})
            check = stated_measures.measures_check(told, released, source, blank, sizes)
            assert check is not None
            assert check.passed, check.detail


def test_figures_are_not_compared_where_they_begin_elsewhere() -> None:
    for said in ({"based": True}, {"drawn": DRAWN}):
        nothing: Any = None
        assert stated_measures.measures_check(facts(**said), nothing, nothing, POLICY, nothing) is None
