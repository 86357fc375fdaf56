"""A memory limit holds for the list of tuples too: it is refused before it is made, or DuckDB has that much less."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import indistinct as ix
from helpers.profiles import examples
from indistinct.counting import frequency_list
from indistinct.engine import Encoded, open_table
from indistinct.engine.duckdb import rows as duckdb_encoded
from indistinct.errors import TableError
from indistinct.search.full_domain.best_node import branch_and_bound

POLICY = ix.Policy(
    columns={"age": ix.quasi(ix.intervals(5, 20)), "zip": ix.quasi(ix.prefix())}, privacy=[ix.KAnonymity(2)]
)


def table_of(rows: int, seed: int = 0) -> pa.Table:
    random = np.random.default_rng(seed)
    return pa.table(
        {"age": random.integers(20, 60, rows).astype(str), "zip": random.integers(1000, 1020, rows).astype(str)}
    )


@pytest.fixture
def small_tables_count(monkeypatch):
    """Small tables are treated as tables of many rows are."""
    monkeypatch.setattr(duckdb_encoded, "MANY_ROWS", 0)
    monkeypatch.setattr(duckdb_encoded, "MIN_ROOM", 0)
    monkeypatch.setattr(duckdb_encoded, "PROCESS", 0)


def engine_memory(rows):
    ((found,),) = rows.source.session.fetch("SELECT current_setting('memory_limit')")
    return found


@examples(20, opens_tables=True)
@given(st.integers(0, 10**6), st.integers(1, 300))
def test_tuples_that_duckdb_merges_are_those_that_are_merged_here(seed, rows):
    with pytest.MonkeyPatch.context() as patch, open_table(table_of(rows, seed)) as opened:
        patch.setattr(duckdb_encoded, "MANY_ROWS", 0)
        encoded = opened.encode(["age", "zip"])
        random = np.random.default_rng(seed)
        ways = [
            {name: random.integers(0, len(encoded.values[name]), len(encoded.values[name])) for name in some}
            for some in ([], ["age"], ["zip"], ["age", "zip"])
        ]
        for way in ways:
            found, expected = (count(["age", "zip"], way) for count in (encoded.count_merged, by_hand(encoded)))
            assert tuples_of(found) == tuples_of(expected)
        estimates = encoded.tuples_at(["age", "zip"], ways)
        counted = [len(encoded.count_merged(["age", "zip"], way).counts) for way in ways]
        assert all(abs(one - other) <= 3 + other / 5 for one, other in zip(estimates, counted, strict=True))


def by_hand(encoded):
    return lambda columns, way: Encoded.count_merged(encoded, columns, way)


def tuples_of(counts):
    return sorted(zip(*(codes.tolist() for codes in counts.codes), counts.counts.tolist(), strict=True))


def test_a_list_that_would_not_fit_is_refused_before_it_is_made(small_tables_count, monkeypatch):
    monkeypatch.setattr(frequency_list, "BYTES_OF_TUPLE", 5_000_000)
    monkeypatch.setattr(duckdb_encoded.DuckEncoded, "count_by", lambda *_: pytest.fail("it was made"))
    table = table_of(200)
    with pytest.raises(TableError) as refused:
        ix.anonymize(table, POLICY, memory_limit="400MB")
    told = str(refused.value)
    for words in ("distinct tuples", "memory limit of 0.4 GB", "Allow 1.", "--memory", "--max-tuples"):
        assert words in told
    cells = {str(cell) for column in table.columns for cell in column.to_pylist()}
    assert not cells & set(told.replace(",", " ").split())


def test_what_the_list_takes_is_not_the_engines(small_tables_count):
    with open_table(table_of(100), memory_limit="1GiB") as rows:
        assert engine_memory(rows) == "1.0 GiB"
        rows.encode(["age", "zip"]).make_room(["age", "zip"], {}, 5 * 2**20)
        engine, unit = engine_memory(rows).split()
        assert unit == "MiB"
        assert 500 <= float(engine) <= 650, "some hundred tuples, each of 5 MiB, lie beside it"


def test_the_allowed_memory_that_is_named_is_enough(small_tables_count, monkeypatch):
    monkeypatch.setattr(frequency_list, "BYTES_OF_TUPLE", 5_000_000)
    with pytest.raises(TableError) as refused:
        ix.anonymize(table_of(200), POLICY, memory_limit="400MB")
    enough = str(refused.value).partition("Allow ")[2].split()[0]
    with ix.anonymize(table_of(200), POLICY, memory_limit=f"{enough}GB") as release:
        assert release.verify().passed


def test_a_list_that_is_cut_fits(small_tables_count, monkeypatch):
    monkeypatch.setattr(frequency_list, "BYTES_OF_TUPLE", 5_000_000)
    with ix.anonymize(table_of(200), POLICY, memory_limit="400MB", max_tuples=20) as release:
        assert release.verify().passed


def test_every_thread_of_a_search_is_thought_of():
    assert branch_and_bound.MOST_THREADS == frequency_list.SEARCHING_THREADS


def test_nothing_is_refused_where_nobody_set_a_limit(small_tables_count, monkeypatch):
    monkeypatch.setattr(frequency_list, "BYTES_OF_TUPLE", 10**15)
    with ix.anonymize(table_of(50), POLICY) as release:
        assert release.verify().passed
