"""Columns that tell others: by hand, against a brute force that shares no code, and in attack, check, risk and init."""

from __future__ import annotations

import math
import random
from collections import Counter
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import indistinct as ix
from helpers.profiles import examples
from indistinct.engine import use_table
from indistinct.linkage import explained_by, find_dependencies, tells_some_value
from indistinct.profiling import profile

DISTRICTS = [f"25-{number:05}" for number in range(503, 513)]


def survey(rows: int = 400) -> pa.Table:
    """Districts, each with a density of its own, and ages."""
    place = [row * 7 % len(DISTRICTS) for row in range(rows)]
    return pa.table(
        {
            "district": [DISTRICTS[one] for one in place],
            "age": [str(20 + row % 40) for row in range(rows)],
            "crowd": [f"{100.25 + 37.5 * one}" for one in place],
        }
    )


POLICY = ix.Policy(
    columns={"district": ix.quasi(ix.suppress()), "age": ix.quasi(ix.intervals(5, 10, 20)), "crowd": ix.other()},
    privacy=[ix.KAnonymity(30)],
)


def brute_explained(codes: list[int], others: list[int]) -> tuple[float, bool]:
    """Guess each row from all others, one by one."""
    most = max(Counter(others).values())
    mistakes = len(others) - most
    if mistakes < max(1, 0.01 * len(others)):
        return 0.0, False
    wrong = 0
    for row, code in enumerate(codes):
        seen = Counter(others[one] for one in range(len(codes)) if one != row and codes[one] == code)
        best = [value for value, number in seen.items() if number == max(seen.values())]
        wrong += best != [others[row]]
    is_exact = all(
        others[one] == others[two] for one in range(len(codes)) for two in range(one) if codes[one] == codes[two]
    )
    return max(0.0, 1 - wrong / mistakes), is_exact


PAIRS = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 4)), min_size=1, max_size=25)


@examples(100)
@given(PAIRS)
def test_what_a_column_explains_is_what_guessing_row_by_row_explains(pairs: list[tuple[int, int]]) -> None:
    codes, others = [one for one, _ in pairs], [other for _, other in pairs]
    explained, is_exact = explained_by(np.array(codes, np.int32), np.array(others, np.int32))
    wanted, wanted_exact = brute_explained(codes, others)
    assert abs(explained - wanted) < 1e-12
    if wanted > 0:
        assert is_exact == wanted_exact


@examples(100)
@given(PAIRS)
def test_a_column_tells_some_value_if_it_explains_who_has_it(pairs: list[tuple[int, int]]) -> None:
    codes, others = [one for one, _ in pairs], [other for _, other in pairs]
    wanted = any(
        brute_explained(codes, [int(other == value) for other in others])[0] >= 0.9 - 1e-12 for value in set(others)
    )
    assert tells_some_value(np.array(codes, np.int32), np.array(others, np.int32)) == wanted


def test_a_weight_that_tells_who_lives_in_no_house_does_not_leave() -> None:
    """As the weights of households in the American Community Survey: 0 where people live in a home or a barrack."""
    chance = random.Random(5)
    kinds = [chance.choice(["house"] * 18 + ["home", "barrack"]) for _ in range(600)]
    weights = [str(100 * chance.randint(3, 12)) if kind == "house" else "0" for kind in kinds]
    ages = [str(chance.randint(18, 80)) for _ in kinds]
    found = profile(pa.table({"age": ages, "housing_type": kinds, "WGTP": weights}))
    roles = {column.name: column.role for column in found.columns}
    assert roles["housing_type"] == roles["WGTP"] == "quasi"
    alike = [str(100 * chance.randint(3, 12)) for _ in kinds]
    found = profile(pa.table({"age": ages, "housing_type": kinds, "WGTP": alike}))
    assert {column.name: column.role for column in found.columns}["WGTP"] == "other"


def brute_crowds(release: pa.Table, told: dict[Any, Any]) -> Counter[tuple[Any, ...]]:
    """Count rows by labels and told district."""
    rows = release.to_pylist()
    return Counter((row["district"], row["age"], told[str(row["crowd"])]) for row in rows)


def test_the_attack_counts_whom_a_told_district_leaves_alone() -> None:
    private = survey()
    with ix.anonymize(private, POLICY, algorithm=ix.Chosen({"district": 1, "age": 1})) as release:
        report = ix.attacks.dependencies(release, POLICY, original=private)
        told = dict(zip(private["crowd"].to_pylist(), private["district"].to_pylist(), strict=True))
        crowds = brute_crowds(release.table, told)
        blind = ix.attacks.dependencies(release, POLICY)
    assert [(one.column, one.tells, one.is_exact) for one in report.columns] == [("crowd", ("district",), True)]
    assert report.alone == sum(size for size in crowds.values() if size == 1)
    assert report.below_k == sum(size for size in crowds.values() if size < 30) > 0
    assert report.is_broken
    assert report.to_dict()["columns"][0]["below_k"] == report.below_k
    assert not blind.columns
    assert "give the original" in blind.notes[0]


@pytest.mark.parametrize("seed", range(3))
def test_columns_that_are_drawn_by_chance_tell_nothing(seed: int) -> None:
    draw = np.random.default_rng(seed)
    names = {"district": list(DISTRICTS), "crowd": [str(place) for place in range(9)]}
    cells = {name: draw.choice(values, 600).tolist() for name, values in names.items()}
    private = pa.table({**cells, "age": [str(age) for age in draw.integers(20, 60, 600)]}).select(survey().column_names)
    with ix.anonymize(private, POLICY, algorithm=ix.Chosen({"district": 1, "age": 1})) as release:
        report = ix.attacks.dependencies(release, POLICY, original=private)
    assert (report.columns, report.below_k, report.is_broken) == ((), 0, False)


def test_rows_that_kept_their_value_teach_what_the_others_hide() -> None:
    release = pa.table(
        {
            "district": [*DISTRICTS[:2] * 6, *["*"] * 4],
            "age": ["20-39"] * 16,
            "crowd": ["1.5", "2.5"] * 8,
        }
    )
    report = ix.attacks.dependencies(release, POLICY)
    assert [(one.column, one.tells) for one in report.columns] == [("crowd", ("district",))]
    assert report.below_k == 16  # groups of 6, 6, 2 and 2


@pytest.mark.slow
def test_all_attacks_check_risk_and_init_know_of_it() -> None:
    private = survey()
    with ix.anonymize(private, POLICY, algorithm=ix.Chosen({"district": 1, "age": 1})) as release:
        found = ix.attacks.run(release, POLICY, original=private)
    assert next(one for one in found.outcomes if one.attack == "dependencies").severity == "broken"
    checked = ix.check(private, POLICY)
    assert [one.sentence for one in checked.dependencies] == ["crowd tells district"]
    assert checked.to_dict()["dependencies"][0]["column"] == "crowd"
    assert "crowd tells district" in ix.risk(private, policy=POLICY).notes
    finer = private.set_column(
        2, "crowd", pa.array([f"{cell}{row % 3}" for row, cell in enumerate(private["crowd"].to_pylist())])
    )
    (crowd,) = (one for one in profile(finer).columns if one.name == "crowd")
    assert crowd.role == "quasi"
    assert "it determines district" in crowd.reason


@pytest.mark.parametrize("is_twin", [True, False])
def test_an_unknown_column_that_is_one_to_one_with_a_sensitive_one_is_sensitive(is_twin: bool) -> None:
    draw = np.random.default_rng(3)
    drinks = draw.integers(0, 30, 400)
    table = pa.table(
        {
            "age": [str(age) for age in draw.integers(20, 60, 400)],
            "i1": [str(number if is_twin else number // 3) for number in drinks],
            "drinks": [str(number) for number in drinks],
        }
    )
    found = profile(table)
    roles = {column.name: column.role for column in found.columns}
    others = {"drinks": "sensitive", "i1": "sensitive"} if is_twin else {"drinks": "drop", "i1": "quasi"}
    assert roles == {"age": "quasi", **others}
    assert not found.dependencies  # what tells is dropped, and what is one to one is a secret too
    if is_twin:
        (twin,) = (column for column in found.columns if column.name == "i1")
        assert (twin.hierarchy, twin.reason) == (None, "one to one with drinks, which is sensitive")


def test_numbers_computed_from_others_tell_them() -> None:
    """A logarithm and a square tell what they were computed from, also where every row has a number of its own."""
    chance = random.Random(8)
    spent = [round(chance.lognormvariate(6, 1), 2) for _ in range(200)]
    table = pa.table(
        {
            "spent": [str(one) for one in spent],
            "logged": [str(math.log(one)) for one in spent],
            "owed": [str(-one) if row % 20 else None for row, one in enumerate(spent)],
            "other": [str(chance.random()) for _ in spent],
            "nearly": [str(one if row % 7 else one + 500) for row, one in enumerate(spent)],
        }
    )
    with use_table(table) as rows:
        found = find_dependencies(rows, ["logged", "owed", "other", "nearly"], ["spent"])
    assert [(one.column, one.explained, one.is_exact) for one in found] == [("logged", 1.0, True), ("owed", 1.0, True)]
    guessed = profile(
        table.append_column("sex", pa.array(["m", "f"] * 100)).rename_columns(
            ["age", "logged", "owed", "other", "nearly", "sex"]
        )
    )
    telling = {column.name: column.role for column in guessed.columns if "it determines age" in column.reason}
    assert telling == {"logged": "quasi", "owed": "quasi"}


def test_few_numbers_that_rise_with_others_tell_nothing_by_that() -> None:
    table = pa.table({"a": [str(row) for row in range(19)], "b": [str(row * row) for row in range(19)]})
    with use_table(table) as rows:
        assert find_dependencies(rows, ["a"], ["b"]) == []
