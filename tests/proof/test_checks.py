"""The checks that all forms of release share: what each counts on a few rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import indistinct as ix
from indistinct.counting import Groups
from indistinct.engine import open_table
from indistinct.policy import Policy
from indistinct.policy.released_names import not_renamed
from indistinct.proof import checks as shared
from indistinct.proof import known_columns
from indistinct.proof.checks import Check, Recount, knows_few
from indistinct.proof.known_columns import CodedTuples, KnownColumns
from indistinct.proof.people_recount import NOT_COUNTED
from indistinct.proof.verdict import Verdict
from proof.test_statements import AGES, POLICY

Cell = str | None


def table(**columns: Sequence[Cell]) -> pa.Table:
    return pa.table({name: pa.array(cells, pa.string()) for name, cells in columns.items()})


def numbers(*values: int) -> Any:
    return np.array(values, np.int64)


def test_the_smallest_of_counted_groups() -> None:
    assert Recount((), numbers(3, 2), 5).smallest == 2
    assert Recount((), numbers(), 0).smallest == 0
    assert Recount((), numbers(), 4).smallest == 0


def test_columns_that_should_not_be_there() -> None:
    policy = Policy(
        {"name": ix.identifier(), "age": ix.quasi(rename="years"), "ill": ix.sensitive(), "gone": ix.drop()},
        [ix.KAnonymity(2)],
    )

    def wrong(*columns: str, expected: Sequence[str] = ("age", "ill")) -> dict[str, Any]:
        check = shared.columns_check(columns, expected, policy)
        return {} if check.passed else {name: found for name, found in check.numbers.items() if found}

    assert shared.columns_check(("age", "ill"), ("age", "ill"), policy) == Check("cells.columns", True, {"columns": 2})
    assert wrong("age", "ill", "name") == {"identifiers": ["name"]}
    assert wrong("age", "ill", "town") == {"unknown": ["town"]}
    assert wrong("age") == {"missing": ["ill"]}
    assert wrong("age", "ill", expected=("age",)) == {"elsewhere": ["ill"]}
    assert wrong("age", "name", expected=("age", "name")) == {}
    assert wrong("ill") == {"missing": ["age"], "renamed": {"age": "years"}}
    assert wrong("age", "ill", not_renamed("age")) == {"to_rename": {"age": "years"}}


def test_limits_and_claims() -> None:
    assert shared.limit_checks(replace(POLICY, max_suppression=None), 5, 10) == []
    limit = {"suppressed": 5, "rows": 10, "allowed": 5}
    assert shared.limit_checks(POLICY, 5, 10) == [Check("suppression.limit", True, limit)]
    assert not shared.limit_checks(POLICY, 6, 10)[0].passed
    assert shared.claim_checks(None, 3) == shared.claim_checks(3, 3) == []
    assert shared.claim_checks(2, 3) == [Check("suppression.stated", False, {"stated": 2, "suppressed": 3})]


def test_a_model_on_counted_groups() -> None:
    groups = Groups.of_sizes([1, 2, 4])
    on_work = {"terms": {"k": 1}, "on": "work", "groups": 3, "noun": "group", "unit": "row", "smallest": 1}
    assert shared.model_check(ix.KAnonymity(1, "work"), groups, "work") == Check("model.k-anonymity", True, on_work)
    failing = {
        "terms": {"k": 3},
        "on": "all",
        "groups": 3,
        "noun": "class",
        "unit": "person",
        "failing": 2,
        "inside": 3,
    }
    found = shared.model_check(ix.KAnonymity(3), groups, "all", "class", "person")
    assert found == Check("model.k-anonymity", False, failing)
    assert found.in_people().id == "people.model.k-anonymity"
    assert found.of_table("stays").numbers == {"table": "stays", **failing}


def test_cells_that_cannot_be_read() -> None:
    def said(found: Mapping[str, int] | None, claimed: Mapping[str, int] | None) -> list[Check]:
        return shared.unreadable_checks(SimpleNamespace(unreadable=found), claimed)  # type: ignore[arg-type]

    assert said({}, {}) == said({}, None) == []
    wrong = [Check("truth.unreadable", False, {"found": {}, "stated": {"age": 3}})]
    assert said({}, {"age": 3}) == said(None, {"age": 3}) == wrong
    assert (
        said({"age": 2}, None)
        == said({"age": 2}, {"age": 2})
        == [Check("truth.unreadable", True, {"found": {"age": 2}})]
    )
    assert not said({"age": 2}, {})[0].passed


def test_cells_of_released_tables() -> None:
    policy = Policy(
        {
            "id": ix.identifier(pseudonym=True),
            "age": ix.quasi(AGES, min_level=1),
            "ill": ix.sensitive(missing=["9"]),
            "note": ix.other(),
        },
        [ix.KAnonymity(1)],
        suppressed_rows="blank",
    )
    with open_table(table(id=["0" * 32, "f" * 32], age=["1-2", None], ill=["a", None], note=["n", None])) as rows:
        assert shared.pseudonym_checks(rows, policy) == [Check("cells.pseudonyms", True, {"column": "id", "wrong": 0})]
        assert shared.level_checks(rows, policy) == [
            Check("cells.level", True, {"column": "age", "level": 1, "finer": 0})
        ]
        recoded = Policy({"sex": ix.quasi(), "age": ix.sensitive(recode=AGES, recode_level=2)}, [ix.KAnonymity(1)])
        assert [check.passed for check in shared.level_checks(rows, recoded)] == [True]
        assert shared.code_checks(rows, policy, ["ill", "note"]) == [
            Check("cells.codes", True, {"column": "ill", "cells": 0})
        ]
        assert shared.count_blank_rows(rows, policy) == 1
        assert shared.count_blank_rows(rows, replace(policy, suppressed_rows="remove")) == 0
    with open_table(table(id=["Ann", None, "0" * 33], age=["1", "2", "*"], ill=["9", "9", "a"])) as rows:
        assert shared.pseudonym_checks(rows, policy) == [Check("cells.pseudonyms", False, {"column": "id", "wrong": 3})]
        assert [check.passed for check in shared.level_checks(rows, recoded)] == [False]
        assert shared.level_checks(rows, policy)[0].numbers["finer"] == 2
        assert shared.code_checks(rows, policy, ["ill"]) == [Check("cells.codes", False, {"column": "ill", "cells": 2})]
        assert shared.count_blank_rows(rows, policy) == 0
    with open_table(table(sex=["f"])) as rows:
        assert shared.pseudonym_checks(rows, policy) == shared.level_checks(rows, policy) == []
        assert shared.code_checks(rows, policy, ["ill"]) == []


def test_groups_with_their_sensitive_values() -> None:
    policy = Policy({"age": ix.quasi(), "ill": ix.sensitive(AGES), "job": ix.sensitive()}, [ix.LDiversity(1)])
    with open_table(table(age=["x", "y", "y", "y"], ill=["1", "2", "2", "3"], job=["a", "b", "c", "c"])) as rows:
        groups = shared.counted_groups(rows, ["age"], policy, ix.LDiversity(1))
        assert sorted(groups.sizes.tolist()) == [1, 3]
        ill, job = groups.tallies["ill"], groups.tallies["job"]
        assert sorted(map(sorted, ill.dense(2).tolist())) == [[0, 0, 1], [0, 1, 2]]
        assert ill.texts == ("1", "2", "3")
        assert ill.hierarchy is not None
        assert job.hierarchy is None
        assert shared.counted_groups(rows, ["age"], policy, ix.LDiversity(1, column="job")).tallies.keys() == {"job"}
        assert len(shared.counted_groups(rows, ["age"], policy, ix.KAnonymity(1))) == 0
        by_tree = ix.TCloseness(1, "hierarchical", column="job")
        groups = shared.counted_groups(rows, ["age"], policy, by_tree)
        with pytest.raises(ix.PolicyError, match="needs a hierarchy"):
            by_tree.satisfied(groups)


# Few known columns


def test_groups_by_some_columns() -> None:
    """a: 0 0 1 1, b: 0 1 0 1, of 1, 2, 3 and 4 rows."""
    tuples = CodedTuples(("a", "b"), np.array([[0, 0, 1, 1], [0, 1, 0, 1]]), numbers(1, 2, 3, 4))
    assert tuples.sizes_by(["a"]).tolist() == [3, 7]
    assert tuples.sizes_by(["b"]).tolist() == [4, 6]
    assert tuples.sizes_by(["a", "b"]).tolist() == [1, 2, 3, 4]
    people = replace(tuples, persons=numbers(0, 0, 1, 2))
    assert people.sizes_by(["a"]).tolist() == [1, 2]
    assert people.sizes_by(["b"]).tolist() == [2, 2]
    with open_table(table(a=["x", "x", "y"], b=["p", "q", "p"], who=["ann", "bob", "ann"])) as rows:
        counted = CodedTuples.of(rows, ["a", "b"], ["who"])
        assert counted.persons is not None
        assert len(set(counted.persons.tolist())) == 2
        assert sorted(counted.sizes_by(["a"]).tolist()) == [1, 2]
        assert sorted(counted.sizes_by(["b"]).tolist()) == [1, 1]
        assert CodedTuples.of(rows, ["a"]).persons is None
        assert sorted(CodedTuples.of(rows, ["a"]).counts.tolist()) == [1, 2]


def test_many_combinations_are_numbered_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = np.array([[0, 3, 1, 3], [2, 0, 2, 0], [1, 1, 0, 1]])
    for most in (1 << 20, 1):
        monkeypatch.setattr(known_columns, "MOST_PLACES", most)
        found = known_columns._combination_numbers(list(rows))
        assert [(found == one).sum() for one in found] == [1, 2, 1, 2]
    monkeypatch.setattr(known_columns, "MOST_PLACES", 1)
    wide = known_columns._combination_numbers([np.arange(40), np.arange(40), np.arange(40)])
    assert sorted(wide.tolist()) == list(range(40))


def test_what_few_known_columns_find() -> None:
    tuples = CodedTuples(("a", "b", "c"), np.array([[0, 0, 1, 1], [0, 1, 0, 1], [0, 0, 0, 1]]), numbers(1, 2, 3, 4))
    model = ix.KAnonymity(4, known=1)
    found = KnownColumns.count(model, "all", ("a", "b", "c"), tuples)
    assert found == KnownColumns("all", 1, 3, 3, smallest=3, where=("a",), failing_sets=1, failing_groups=1)
    check = found.check(model)
    assert (check.id, check.passed, check.numbers["terms"]) == ("model.k-anonymity", False, {"k": 4, "known": 1})
    counted = ("sets", "known", "smallest", "failing_sets", "failing", "where")
    assert [check.numbers[name] for name in counted] == [3, 1, 3, 1, 1, ["a"]]
    assert found.to_dict() == {"on": "all", "known": 1, "columns": 3, "sets": 3, "smallest": 3}
    two = KnownColumns.count(ix.KAnonymity(1, known=2), "all", ("a", "b", "c"), tuples, "person")
    assert (two.sets, two.smallest, two.where, two.failing_sets) == (3, 1, ("a", "b"), 0)
    assert two.check(ix.KAnonymity(1, known=2)).passed
    one_set = KnownColumns.count(ix.KAnonymity(1, known=3), "all", ("a", "b", "c"), tuples)
    assert (one_set.sets, one_set.known, one_set.smallest) == (1, 3, 1)
    later = KnownColumns.count(model, "all", ("c", "b", "a"), tuples)
    assert (later.smallest, later.where) == (3, ("a",))
    tied = KnownColumns.count(model, "all", ("b", "c"), tuples)
    assert (tied.smallest, tied.where) == (4, ("b",))
    none = CodedTuples(("a", "b"), np.zeros((2, 0), np.int64), numbers())
    assert KnownColumns.count(model, "all", ("a", "b"), none).smallest == 0
    many = KnownColumns.count(ix.KAnonymity(5, known=2), "all", ("a", "b", "c"), tuples)
    assert (many.failing_sets, many.failing_groups) == (3, 10)
    assert knows_few(model, ["a", "b"])
    assert not knows_few(model, ["a"])
    assert not knows_few(ix.KAnonymity(2), ["a", "b"])


# The verdict itself


def test_a_verdict_as_json_and_in_words() -> None:
    good, bad = Check("cells.columns", True, {"columns": 3}), Check("cells.rows", False)
    found = Verdict((good,), 1234, 1, 1)
    assert found.passed
    assert str(found).startswith("passed: 1,234 rows, 1 group, smallest 1\n✓ ")
    found.raise_if_failed()
    failed = replace(found, checks=(good, bad))
    assert str(failed).startswith("FAILED")
    with pytest.raises(ix.VerificationError, match=f"^the release does not verify: {bad.name}: {bad.detail}$"):
        failed.raise_if_failed()
    shown = {"name": good.name, "detail": good.detail, "id": "cells.columns", "passed": True, "numbers": {"columns": 3}}
    assert found.to_dict() == {"passed": True, "rows": 1234, "groups": 1, "smallest_group": 1, "checks": [shown]}
    known = KnownColumns("all", 1, 3, 3, 3, ("a",), 0, 0)
    more = replace(found, noun="class", groups=2, known=(known,), not_checked=(shared.NotChecked("truth"),))
    assert "2 classes" in str(more)
    assert str(more).splitlines()[-1] == f"– not checked: {more.not_checked[0]}"
    assert replace(more, known=(known, replace(known, on="work"))).known_in_words == (
        f"{known.in_words} on all; {known.in_words} on work"
    )
    assert more.to_dict()["known"] == [known.to_dict()]
    assert more.to_statement().to_dict()["checks"] == [good.to_dict()]
    people = Check("people.stated", True)
    assert replace(found, checks=(good, NOT_COUNTED)).with_people([people, good]).checks == (good, people)
    assert found.with_people([]) is found
