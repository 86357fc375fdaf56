"""No value leaves by an unmended policy that fewer than k people have, whatever columns are called."""

from __future__ import annotations

import random
from collections import defaultdict
from itertools import combinations
from typing import Any

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

import indistinct as ix
from helpers.profiles import examples
from indistinct.pipeline.suggesting import suggested_policy
from indistinct.profiling import profile

K = 3
NAMES = ["income", "weight", "x17", "illness", "diagnosis", "score", "fnlwgt", "zip", "sex"]


def people_of_each(labels: list[Any], whose: list[Any]) -> dict[Any, int]:
    """Count the different people of each label by plain Python; a missing cell is no label."""
    people = defaultdict(set)
    for label, person in zip(labels, whose, strict=True):
        if label is not None:
            people[label].add(person)
    return {label: len(some) for label, some in people.items()}


def as_it_leaves(policy: ix.Policy, table: pa.Table) -> dict[str, list[str | None]]:
    """Return the columns that are not generalized, as the policy releases their cells."""
    found = {}
    for name, column in policy.columns.items():
        if column.role not in ("sensitive", "other"):
            continue
        cells = table[name].to_pylist()
        if column.recode is not None:
            gone = {*column.missing_codes}
            if column.unreadable == "missing":
                gone |= set(column.recode.unreadable([cell for cell in cells if cell is not None]))
            cells = column.recode_values([None if cell in gone else cell for cell in cells])
        found[name] = cells
    return found


@st.composite
def tables(draw: st.DrawFn) -> tuple[pa.Table, list[int]]:
    rows = draw(st.integers(4, 120))
    names = draw(st.lists(st.sampled_from(NAMES), min_size=2, max_size=6, unique=True))
    chance = random.Random(draw(st.integers(0, 10**6)))
    columns: dict[str, Any] = {}
    for name in names:
        kind = draw(st.sampled_from(["few", "skewed", "whole", "real", "texts", "unique"]))
        made = {
            "few": lambda: chance.choice("abc"),
            "skewed": lambda: chance.choice(["no"] * 30 + ["yes", "perhaps"]),
            "whole": lambda: str(int(chance.expovariate(0.01))),
            "real": lambda: f"{chance.gauss(10, 3):.2f}",
            "texts": lambda: f"value {chance.randint(1, 12)}",
            "unique": lambda: f"T{chance.randint(0, 10**9)}",
        }[kind]
        cells = [made() if chance.random() > 0.1 else None for _ in range(rows)]
        columns[name] = pa.array(cells, pa.string())
    whose = [chance.randint(0, rows // 2) for _ in range(rows)] if draw(st.booleans()) else list(range(rows))
    if len(set(whose)) < rows:
        columns["patient_id"] = pa.array([f"P{one}" for one in whose], pa.string())
    return pa.table(columns), whose


@examples(150, opens_tables=True)
@given(tables())
def test_no_value_leaves_that_fewer_than_k_people_have(made: tuple[pa.Table, list[int]]) -> None:
    table, whose = made
    found = profile(table, K)
    if found.person is None:
        whose = list(range(table.num_rows))
    policy = suggested_policy(found, K, diverse=False)
    leaving = as_it_leaves(policy, table)
    small = len(set(whose)) < 10 * K
    for name, labels in leaving.items():
        is_number = [cell is None or cell.replace(".", "").isdigit() for cell in table[name].to_pylist()]
        if small and policy.columns[name].role == "sensitive" and not all(is_number):
            continue  # texts of so few people stay, and the reason says so
        people = people_of_each(labels, whose)
        assert len(people) <= 1 or min(people.values()) >= K, (name, people)
    others = [name for name in leaving if policy.columns[name].role == "other"]
    for some in (*combinations(others, 2), *combinations(others, 3)):
        rows = zip(*(leaving[name] for name in some), strict=True)
        labels = [None if None in row else row for row in rows]
        distinct = min(len(people_of_each(leaving[name], whose)) for name in some)
        assert distinct <= 1 or min(people_of_each(labels, whose).values(), default=K) >= K, some


def test_exact_numbers_of_a_sensitive_column_are_recoded_to_intervals() -> None:
    incomes = [str(1000 + 37 * number) for number in range(200)]
    found = profile(pa.table({"sex": ["f", "m"] * 100, "income": incomes}))
    column = found.columns[1]
    assert (column.role, column.is_unsure, column.recode_level) == ("sensitive", True, 1)
    assert column.recode is not None
    labels = [row[0] for row in zip(*column.recode.climb(incomes)[:1], strict=True)]
    assert min(people_of_each(labels, list(range(200))).values()) >= 5
    assert len(set(labels)) == 20


def test_a_rare_illness_is_left_out_and_the_others_stay() -> None:
    ill = ["flu"] * 40 + ["cough"] * 30 + ["gout"] * 2 + ["mumps"] * 4
    found = profile(pa.table({"sex": ["f", "m"] * 38, "illness": ill}))
    policy = suggested_policy(found, diverse=False)
    leaving = as_it_leaves(policy, pa.table({"sex": ["f", "m"] * 38, "illness": ill}))["illness"]
    assert people_of_each(leaving, list(range(76))) == {"flu": 40, "cough": 30}
    assert leaving.count(None) == 6


def test_a_weight_of_its_own_for_every_row_does_not_leave_exactly() -> None:
    chance = random.Random(4)
    weights = [str(chance.randint(10_000, 900_000)) for _ in range(300)]
    table = pa.table({"age": [str(chance.randint(18, 80)) for _ in range(300)], "fnlwgt": weights})
    policy = suggested_policy(profile(table), diverse=False)
    with ix.anonymize(table, policy) as release:
        released = release.table["fnlwgt"].to_pylist()
    assert min(people_of_each(released, list(range(len(released)))).values()) >= 5
    assert not set(released) & set(weights)


def test_texts_of_which_most_are_rare_are_dropped() -> None:
    table = pa.table({"sex": ["f", "m"] * 50, "diagnosis": [f"case {number // 2}" for number in range(100)]})
    column = profile(table).columns[1]
    assert (column.role, column.recode, column.is_unsure) == ("drop", None, True)
