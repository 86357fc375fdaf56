"""Labels as numbers and weights: against sums over all values, one by one, and what a recipient can read alone."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest
from hypothesis import given
from hypothesis import strategies as st

import indistinct as ix
from helpers.commands import answer, run
from helpers.profiles import examples
from indistinct.data_utility.decode import decode
from indistinct.data_utility.decode.number_columns import ROUNDS, SHAPE
from indistinct.errors import OutputError

SPANS = st.lists(st.tuples(st.integers(0, 9), st.integers(0, 4)), min_size=1, max_size=12)


def weights_one_by_one(cells, sure=0.0):
    """Return the weight of each value in each cell, cells being lists of values, by plain loops.

    ``sure`` is the share of a cell that is known to have its first value, and as much its last.
    """

    def with_ends(own):
        share = sure if len(own) > 1 else 0.0
        return {v: (1 - 2 * share) * one + share * ((v == min(own)) + (v == max(own))) for v, one in own.items()}

    weight = [{value: 1 / len(cell) for value in cell} for cell in cells]
    for _ in range(ROUNDS + 1):
        mass = Counter()
        for own in weight:
            mass.update(with_ends(own))
        weight = [{value: mass[value] / sum(map(mass.get, own)) for value in own} for own in weight]
    return [
        with_ends({value: (1 - SHAPE) / len(own) + SHAPE * shaped for value, shaped in own.items()}) for own in weight
    ]


def as_policy(**hierarchies):
    return ix.Policy({name: ix.quasi(one) for name, one in hierarchies.items()}, [ix.KAnonymity(1)])


@pytest.mark.slow
@examples(60)
@given(SPANS, st.sampled_from([0, 0.2, 0.5]))
def test_numbers_are_spread_as_sums_over_all_values_say(spans, sure):
    spans = [*((low, low + more) for low, more in spans), (0, 0), (1, 1)]  # so that the lattice is of whole numbers
    labels = [f"[{low}, {high}]" if high > low else str(low) for low, high in spans]
    column = decode(pa.table({"n": labels}), policy=as_policy(n=ix.intervals(5))).columns["n"]
    column = replace(column, ends=np.where(column.high > column.low, sure, 0.0))
    expected = weights_one_by_one([range(low, high + 1) for low, high in spans], sure)
    found = column.masses(np.arange(0.5, 14))[column.codes]
    for own, wanted, mean in zip(found, expected, column.mean[column.codes], strict=True):
        assert math.isclose(mean, sum(value * weight for value, weight in wanted.items()), abs_tol=1e-6)
        for value in range(14):
            assert math.isclose(own[value], wanted.get(value, 0), abs_tol=1e-6)


@examples(60)
@given(st.lists(st.sets(st.sampled_from("abcd"), min_size=1), min_size=1, max_size=12))
def test_categories_are_weighed_as_sums_over_all_values_say(cells):
    labels = [f"{{{', '.join(sorted(cell))}}}" if len(cell) > 1 else min(cell) for cell in cells]
    column = decode(pa.table({"c": labels}), policy=as_policy(c=ix.suppress())).columns["c"]
    for label, wanted in zip(labels, weights_one_by_one(cells), strict=True):
        assert column.weights(label) == pytest.approx(wanted)


def test_ends_of_a_range_count_as_often_as_groups_carry_it():
    ages = pa.table({"age": ["20", "31", "33", "41"], "sex": ["f", "f", "m", "m"]})
    release = ix.anonymize(ages, as_policy_of_two(), algorithm=ix.Regroup(labels="ranges", measure="loss"))
    column = decode(release).columns["age"]
    assert column.mean.tolist() == [25.5, 37.0]
    assert column.masses(np.array([20.5, 30.5]))[0] == pytest.approx([0.5, 0, 0.5])  # two rows: one at each end


def as_policy_of_two():
    return ix.Policy({"age": ix.quasi(ix.intervals(10)), "sex": ix.quasi(ix.suppress())}, [ix.KAnonymity(2)])


def test_an_untouched_table_decodes_to_itself():
    table = pa.table({"age": [20, 31, None], "sex": ["f", None, "m"], "paid": [1.5, 2.25, 3.0]})
    policy = ix.Policy(
        {"age": ix.quasi(ix.intervals(10)), "sex": ix.quasi(ix.suppress()), "paid": ix.other()}, [ix.KAnonymity(1)]
    )
    assert decode(table, "spread", policy=policy).to_pydict() == table.to_pydict()
    assert decode(table, "draw", policy=policy).to_pydict() == table.to_pydict()
    assert decode(table, policy=policy).missing_rows(["age"]).tolist() == [False, False, True]


def test_bounds_are_those_of_the_label():
    table = pa.table(
        {"age": ["20-29", "<20", ">=90", "*", None], "day": ["2020-02", "2020-Q3", "2020", "*", "2021-05-06"]}
    )
    policy = as_policy(age=ix.intervals(10, low=20, high=90), day=ix.dates("month", "quarter", "year"))
    found = decode(table, "bounds", policy=policy).to_pydict()
    assert found["age_low"] == [20, None, 90, None, None]
    assert found["age_high"] == [29, 19, None, None, None]
    assert [str(day) for day in found["day_low"]] == ["2020-02-01", "2020-07-01", "2020-01-01", "None", "2021-05-06"]
    assert [str(day) for day in found["day_high"]] == ["2020-02-29", "2020-09-30", "2020-12-31", "None", "2021-05-06"]


def test_bounds_stand_beside_labels_and_exact_columns_stay_as_they_are():
    table = pa.table({"age": ["20-29", "41"], "paid": [1.5, 2.0]})
    found = decode(table, "bounds", policy=as_policy(age=ix.intervals(10))).to_pydict()
    assert found["age"] == ["20-29", "41"]
    assert found["paid"] == [1.5, 2.0]
    assert list(found) == ["age", "age_low", "age_high", "age_middle", "paid"]


def test_a_column_that_would_stand_there_twice_is_refused():
    table = pa.table({"age": ["20-29", "41"], "age_low": ["x", "y"]})
    with pytest.raises(ix.PolicyError, match="age_low"):
        decode(table, "bounds", policy=as_policy(age=ix.intervals(10)))


@pytest.mark.parametrize(("file", "how"), [("numbers.parquet", "bounds"), ("numbers.csv", "spread")])
def test_the_command_writes_what_decode_gives(tmp_path, file, how):
    table = pa.table({"age": [20, 20, 31, 31, 90], "sex": ["f", "f", "m", "m", "m"]})
    policy = ix.Policy(
        {"age": ix.quasi(ix.intervals(10)), "sex": ix.quasi(ix.suppress())}, [ix.KAnonymity(2)], max_suppression=0.5
    )
    ix.anonymize(table, policy).write(tmp_path / "release")
    place = tmp_path / file
    said = answer("decode", tmp_path / "release", "-o", place, "--how", how)
    wanted = ix.decode(tmp_path / "release", how)
    found = pyarrow.parquet.read_table(place) if file.endswith("parquet") else pyarrow.csv.read_csv(place)
    assert found.to_pydict() == wanted.to_pydict()
    assert (said["rows"], said["columns"]) == (wanted.num_rows, wanted.column_names)
    assert run("decode", tmp_path / "release", "-o", place).exit_code == OutputError.exit_code  # it is there already


def test_a_decoded_release_says_how_many_rows_a_complete_case_analysis_would_drop():
    table = pa.table({"age": ["20", "30", "*", None]})
    assert "1 released row (25" in decode(table, policy=as_policy(age=ix.intervals(10))).notes[0]
    assert decode(table.slice(0, 2), policy=as_policy(age=ix.intervals(10))).notes == ()


def test_a_suppressed_cell_is_spread_over_the_column_and_a_missing_one_stays_missing():
    table = pa.table({"age": ["20", "30", "*", None]})
    found = decode(table, policy=as_policy(age=ix.intervals(10)))
    assert found.suppressed_rows(["age"]).tolist() == [False, False, True, False]
    assert found.missing_rows(["age"]).tolist() == [False, False, False, True]
    column = found.columns["age"]
    assert column.mean[column.codes][:3].tolist() == [20, 30, 25]
    assert column.missing[column.codes].tolist() == [0, 0, 1 / 3, 1]
    assert np.isnan(column.mean[column.codes][3])


def test_rows_that_were_left_blank_say_nothing():
    table = pa.table({"age": [20, 20, 90], "sex": ["f", "f", "m"]})
    policy = ix.Policy(
        {"age": ix.quasi(ix.intervals(10)), "sex": ix.quasi(ix.suppress())},
        [ix.KAnonymity(1)],
        suppressed_rows="blank",
    )
    blank = pa.table({"age": ["20", "20", None], "sex": ["f", "f", None]})
    assert decode(table, policy=policy).suppressed_rows(["age", "sex"]).sum() == 0
    assert decode(blank, policy=policy).suppressed_rows(["age", "sex"]).tolist() == [False, False, True]


def test_a_folder_alone_is_enough_where_labels_say_what_they_cover(tmp_path):
    rng = np.random.default_rng(1)
    table = pa.table({"age": rng.integers(20, 60, 60), "job": rng.choice(list("abcd"), 60)})
    policy = ix.Policy({"age": ix.quasi(ix.intervals(10)), "job": ix.quasi(ix.suppress())}, [ix.KAnonymity(5)])
    release = ix.anonymize(table, policy, algorithm=ix.Regroup(labels="ranges", measure="loss"))
    release.write(tmp_path / "release")
    alone, known = decode(tmp_path / "release"), decode(tmp_path / "release", policy=policy)
    for name in ("age", "job"):
        assert alone.columns[name].kind == known.columns[name].kind
        bins: Any = np.arange(20.5, 60) if name == "age" else list("abcd")
        one, other = (found.columns[name].masses(bins) for found in (alone, known))
        assert np.allclose(one, other)


def test_draws_follow_the_weights():
    table = pa.table({"n": ["[0, 3]"] * 4000 + ["1"] * 4000, "c": ["{a, b}"] * 4000 + ["a"] * 4000})
    found = decode(table, policy=as_policy(n=ix.intervals(5), c=ix.suppress()))
    drawn = decode(table, "draw", policy=as_policy(n=ix.intervals(5), c=ix.suppress()), seed=3).slice(0, 4000)
    shares = np.bincount(np.array(drawn["n"]).astype(int), minlength=4) / 4000
    assert shares == pytest.approx(found.columns["n"].masses(np.array([0.5, 1.5, 2.5]))[1], abs=0.03)
    drawn_categories = Counter(drawn["c"].to_pylist())
    assert drawn_categories["a"] / 4000 == pytest.approx(found.columns["c"].weights("{a, b}")["a"], abs=0.03)
