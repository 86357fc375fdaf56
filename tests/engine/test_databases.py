"""Each database gives the same release as DuckDB, through one body of tests."""

from __future__ import annotations

import datetime
import functools
import random
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

import indistinct as ix
from helpers import postgres, sqlite
from helpers.profiles import cases, examples
from indistinct.cli import app
from indistinct.counting import FrequencyList, encode_eligible
from indistinct.engine import open_table
from indistinct.engine.plans import OPERATORS
from indistinct.engine.postgres.session import PostgresSession
from indistinct.engine.sql import keyed
from indistinct.engine.sql.database_rows import DatabaseRows
from indistinct.engine.sql.dialect import eligible
from indistinct.engine.sqlite.session import SQLiteSession
from indistinct.errors import TableError
from indistinct.progress import Watch
from indistinct.randomness import Draws
from indistinct.recoding import FullDomainRecoding
from indistinct.search import Task
from laws.test_conformance import (
    ALGORITHMS_TO_CHECK,
    MODELS_TO_CHECK,
    ONE_COLUMN,
    QUICK,
    TABLE,
    check_release,
    policy_for,
)
from laws.test_engine_laws import (
    CELLS,
    NAMES,
    TYPED,
    TYPED_CONDITIONS,
    check_recoding,
    check_sizes_and_differences,
    holds,
)

MOMENT = datetime.datetime(2020, 1, 2, 3, 4, 5, 600000)
ALL_TYPES = pa.table(
    {
        "flag": [True, False, None],
        "small": pa.array([1, -2, None], pa.int8()),
        "large": pa.array([2**62, 0, None], pa.int64()),
        "day": [datetime.date(2020, 1, 2), datetime.date(1, 2, 3), None],
        "moment": pa.array([MOMENT, MOMENT.replace(microsecond=0), None], pa.timestamp("us")),
        "instant": pa.array([MOMENT, MOMENT.replace(microsecond=0), None], pa.timestamp("us", "UTC")),
        "double": [1e15, 0.1 + 0.2, float("nan")],
        "round": [39.0, -0.0, 1e-5],
        "float": pa.array([16777216.5, 0.1, None], pa.float32()),
        "money": pa.array([Decimal("1.50"), Decimal("0.00"), None], pa.decimal128(38, 10)),
        "text": ["Ünï", "", None],
    }
)


@pytest.fixture(params=["postgres", "sqlite"])
def save(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[pa.Table], str]:
    """Return what stores a table in a database and returns its address."""
    if request.param == "sqlite":
        return lambda table: sqlite.save(tmp_path, table)
    url = request.getfixturevalue("postgres_server")
    return lambda table: postgres.save(url, table)


@pytest.fixture
def save_in_postgres(postgres_server: str) -> Callable[[pa.Table], str]:
    """Return what stores a table in PostgreSQL, which has types that others lack."""
    return lambda table: postgres.save(postgres_server, table)


# Cells and conditions.


def test_cells_have_the_same_text_as_in_duckdb(save_in_postgres: Any) -> None:
    names, address = ALL_TYPES.column_names, save_in_postgres(ALL_TYPES)
    odd = f"{address}&options=-cTimeZone%3DAmerica/New_York%20-cDateStyle%3DGerman%20-cextra_float_digits%3D-3"
    with open_table(ALL_TYPES) as expected, open_table(odd) as found:
        assert found.encode(names).values == expected.encode(names).values
        assert found.texts(names).read_all().to_pydict() == expected.texts(names).read_all().to_pydict()
        assert found.difference(expected, names) == 0
        assert expected.difference(found, names) == 0


def test_cells_of_a_database_with_few_types_have_the_same_text_as_in_duckdb(tmp_path: Path) -> None:
    table = ALL_TYPES.select(["small", "large", "double", "text"])
    with open_table(table) as expected, open_table(sqlite.save(tmp_path, table)) as found:
        assert found.encode(table.column_names).values == expected.encode(table.column_names).values
        assert found.texts(table.column_names).read_all() == expected.texts(table.column_names).read_all()
        assert found.difference(expected, table.column_names) == 0
        assert expected.difference(found, table.column_names) == 0


def test_columns_of_different_types_compare_by_their_texts(save: Any) -> None:
    mine = pa.table({"a": [1.5, 1e16, None], "b": [1, 2, 3]})
    theirs = pa.table({"a": ["1.5", "1e+16", ""], "b": ["1", "2", "4"]})
    with open_table(save(mine)) as first, open_table(save(theirs)) as second:
        assert first.difference(second, ["a", "b"]) == 1
        assert second.difference(first, ["a"]) == 0


def test_conditions_hold_as_in_python(save: Any) -> None:
    """All operators with all values on all cells, in one query."""
    cells = sorted({"", "a", "b", "10", "9", "9.0", "-3", "2020-01-02", "1999-12-31", "Ünï", "nan", "9d", "2020"})
    cells += ["1e999", "1e-999", "2021-02-29"]
    values: list[Any] = ["a", "10", "Ünï", "", 9, 10, -3, 9.5, 2**40, datetime.date(2020, 1, 2)]
    asked = [(operator, [value] if operator.endswith("in") else value) for operator in OPERATORS for value in values]
    with open_table(save(pa.table({"x": cells}))) as table:
        assert isinstance(table, DatabaseRows)
        claims = [eligible([("x", operator, value)], table.source.cell) for operator, value in asked]
        listed = ", ".join(f"coalesce({sql}, false) AS c{number}" for number, sql in enumerate(claims))
        found = table.source.arrow(f"SELECT x0, {listed} FROM {table.source.relation}")
    for number, (operator, value) in enumerate(asked, 1):
        for cell, claim in zip(found[0].to_pylist(), found[number].to_pylist(), strict=True):
            if not str(cell).startswith("1e"):
                assert claim == holds(cell, operator, value), (cell, operator, value)


def test_conditions_on_odd_texts(save: Any) -> None:
    texts = [" 1 ", "1_000", "1d", ".5", "5.", "-inf", "2020", "2020/1/2", "2020-01/02", "2020-01-02 03:04"]
    texts += [" 2020-1-2", "2020-01-02T03:04:05Z", "2020-13-01", "2020-02-30", "0x10", "+5", "2020-01-02T05:04:05+02"]
    asked: list[tuple[str, str, Any]] = [("s", "<", 2000), ("s", ">", datetime.date(2019, 1, 1))]
    asked += [("s", ">=", datetime.datetime(2020, 1, 2, 3)), ("s", "in", [5, 0.5, "1d"])]
    odd = save(pa.table({"s": texts}))
    with open_table(pa.table({"s": texts})) as expected, open_table(odd) as found:
        for condition in asked:
            assert found.encode(["s"], [condition]).values == expected.encode(["s"], [condition]).values, condition


def test_conditions_on_typed_columns(save_in_postgres: Any) -> None:
    with open_table(save_in_postgres(TYPED)) as table:
        assert isinstance(table, DatabaseRows)
        for *condition, expected_rows in TYPED_CONDITIONS:
            encoded = table.encode(["n"], [tuple(condition)])  # type: ignore[list-item]
            assert encoded.rows_with("n", range(len(encoded.values["n"]))) == expected_rows, condition


@pytest.mark.parametrize("condition", [("x", "~", 1), ("x", "==", None), ("x", "in", "ab")])
def test_conditions_that_make_no_sense_are_refused(save: Any, condition: Any) -> None:
    with open_table(save(pa.table({"x": ["a"]}))) as table, pytest.raises(TableError):
        table.encode(["x"], [condition])


def test_texts_do_not_order_numbers_that_a_server_writes_in_its_own_way(save_in_postgres: Any) -> None:
    with open_table(save_in_postgres(pa.table({"f": [1.5]}))) as table, pytest.raises(TableError):
        table.encode(["f"], [("f", "<", "1.5")])


def test_a_table_without_rows_is_counted(save: Any) -> None:
    with open_table(save(pa.table({"x": pa.array([], pa.string()), "n": pa.array([], pa.int64())}))) as table:
        with table.encode(["x", "n"]) as encoded:
            assert encoded.rows == 0
            assert len(encoded.count_by(["n"]).counts) == 0
        assert table.values_by(["x"], "n").counts.tolist() == []


# Laws that hold on every engine.

LARGER_TABLES = st.lists(st.tuples(CELLS, CELLS, CELLS), min_size=8, max_size=60)


@pytest.fixture(params=["few tuples", "many tuples"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Counting and recoding with the tuples on the driver, and without them."""
    if request.param == "many tuples":
        monkeypatch.setattr(keyed, "FEW_TUPLES", 0)
    return str(request.param)


def test_recoding_and_differences_agree_with_plain_python(save: Any, way: str) -> None:
    def open_rows(table: pa.Table) -> Any:
        return open_table(save(table))

    @examples(5, database=None)
    @given(LARGER_TABLES, LARGER_TABLES, st.lists(st.sampled_from(NAMES), unique=True), st.integers(0), st.booleans())
    def check(mine: Any, theirs: Any, columns: list[str], seed: int, blank: bool) -> None:
        check_sizes_and_differences(open_rows, mine, theirs, columns)
        check_recoding(open_rows, mine, random.Random(seed), blank)

    check()


def test_counts_are_those_of_duckdb(save: Any, way: str) -> None:
    generator = np.random.default_rng(1)
    table = pa.table({name: generator.integers(0, 9, 500).astype(str) for name in "abc"})
    with open_table(table) as expected, open_table(save(table)) as found:
        for columns in (["a", "b", "c"], ["c", "a"], []):
            counts = []
            for engine in (expected, found):
                encoded = engine.encode(["a", "b", "c"], [("a", "!=", "3")])
                counted = encoded.count_by(columns)
                codes = zip(*(code.tolist() for code in counted.codes), strict=True) if columns else [()]
                counts.append(dict(zip(codes, counted.counts.tolist(), strict=True)))
            assert counts[0] == counts[1]
        for groups in (["a", "b"], []):
            values = [engine.values_by(groups, "c") for engine in (expected, found)]
            assert values[0].texts == values[1].texts
            triples = [
                sorted(zip(v.groups.tolist(), v.values.tolist(), v.counts.tolist(), strict=True)) for v in values
            ]
            assert triples[0] == triples[1]


POLICY = ix.Policy(
    {"age": ix.quasi(ix.intervals(10, 20)), "town": ix.quasi(ix.prefix(keep=[1])), "ill": ix.sensitive()},
    [ix.KAnonymity(2)],
    max_suppression=2,
)
PEOPLE = pa.table(
    {
        "age": [23, 24, 31, 33, 38, 39, 41, 44, None, 58],
        "town": ["Bern", "Bern", "Basel", "Basel", "Biel", "Biel", "Chur", "Chur", "Bern", ""],
        "ill": ["flu", "gout", "flu", "cough", "flu", "gout", "cough", "flu", None, "gout"],
    }
)


@pytest.mark.parametrize("algorithm", ["lattice", "mondrian", "regroup"])
def test_a_release_is_made_on_the_server_written_and_proved(save: Any, way: str, algorithm: str, tmp_path: Any) -> None:
    address = save(PEOPLE)
    with (
        ix.anonymize(address, POLICY, algorithm=algorithm) as release,
        ix.anonymize(PEOPLE, POLICY, algorithm=algorithm) as expected,
    ):
        assert release.facts.model_copy(update={"limits": None}) == expected.facts
        assert sorted(release.table.to_pylist(), key=str) == sorted(expected.table.to_pylist(), key=str)
        release.write(tmp_path / "out")
        assert release.verify(original=address).passed
    assert ix.verify(tmp_path / "out", POLICY, original=address).passed
    assert ix.verify(tmp_path / "out", POLICY, original=PEOPLE).passed
    other = PEOPLE.set_column(0, "age", pa.array([95] * 10))
    assert not ix.verify(tmp_path / "out", POLICY, original=save(other)).passed


# Conformance: every algorithm × model.


@functools.cache
def counted_in_duckdb(model: str) -> FrequencyList:
    with open_table(TABLE) as table:
        return FrequencyList.count(encode_eligible(table, policy_for(model)), policy_for(model))


@pytest.fixture(scope="module", params=["postgres", "sqlite"])
def counted_on_server(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Return the list of each model as a database counts it; once for all models that ask about the same columns."""
    known: dict[Any, FrequencyList] = {}
    if request.param == "sqlite":
        address = sqlite.save(tmp_path_factory.mktemp("files"), TABLE)
    else:
        address = postgres.save(request.getfixturevalue("postgres_server"), TABLE)

    def count(model: str) -> FrequencyList:
        policy = policy_for(model)
        if policy.asked_sensitive not in known:
            with open_table(address) as table:
                known[policy.asked_sensitive] = FrequencyList.count(encode_eligible(table, policy), policy)
        return known[policy.asked_sensitive]

    return count


@pytest.mark.slow
@pytest.mark.parametrize("name", cases([*QUICK, *ONE_COLUMN], "datafly", "regroup", "mondrian relaxed", "anatomy"))
def test_every_algorithm_gives_the_same_recoding_for_every_model(name: str, counted_on_server: Any) -> None:
    for model in MODELS_TO_CHECK:
        policy = policy_for(model)
        answers = []
        for frequencies in (counted_in_duckdb(model), counted_on_server(model)):
            try:
                task = replace(Task.of(frequencies, policy), draws=Draws.of_seed("7", b"test"))
                answers.append(answer(ALGORITHMS_TO_CHECK[name].run(task, Watch())))
            except (ix.InfeasibleError, ix.PolicyError) as error:
                answers.append(str(error))
        assert answers[0] == answers[1], model


def answer(recoding: Any) -> Any:
    """Return all that a recoding says, in a form that compares."""
    if isinstance(recoding, FullDomainRecoding):
        return recoding.node, recoding.groups.keys.tolist(), recoding.is_suppressed.tolist()
    pieces = recoding.pieces
    labels = [column.texts for column in getattr(recoding, "labels", ())]
    codes = [column.tolist() for column in getattr(recoding, "codes", ())]
    return pieces.tuples.tolist(), pieces.rows.tolist(), pieces.groups.tolist(), labels, codes


RELEASED = {
    "lattice for precision": "k-anonymity",
    "datafly": "l-diversity",
    "regroup": "k-anonymity",
    "mondrian relaxed": "alpha-k",
    "k-similar": "k-anonymity",
    "lossy-join": "alpha-k",
}
"""One release for each way in which rows are recoded, and the model that it satisfies."""


@pytest.mark.slow
@pytest.mark.parametrize("name", cases(RELEASED, "datafly", "regroup", "lossy-join"))
def test_every_kind_of_recoding_is_released_written_and_proved(save: Any, name: str, tmp_path: Path) -> None:
    check_release(save(TABLE), RELEASED[name], name, tmp_path / "out")


SQLGLOT = {"PostgresSession": "postgres", "SQLiteSession": "sqlite"}


def test_every_statement_is_sql_of_its_dialect(save: Any, way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another parser reads all that is said for a release, its proof and its publication."""
    sqlglot = pytest.importorskip("sqlglot", reason="the extra dev has sqlglot")
    said: list[tuple[str, str]] = []
    for session in (PostgresSession, SQLiteSession):
        for verb in ("execute", "fetch", "stream", "store", "arrow"):
            own = getattr(session, verb)

            def listen(self: Any, sql: str, *values: Any, own: Any = own) -> Any:
                said.append((SQLGLOT[type(self).__name__], sql))
                return own(self, sql, *values)

            monkeypatch.setattr(session, verb, listen)
    address = save(PEOPLE)
    with open_table(address) as rows:
        rows.repeats_of(["age", "town"], [("age", ">", 25), ("ill", "in", ["flu", 3]), ("town", "present", None)])
        rows.formula_cells(["town"])
        labels = {"ill": dict.fromkeys(("flu", "gout", "cough", None), "x")}
        with (
            open_table(PEOPLE) as other,
            rows.with_labels(labels).with_pseudonyms(["town"], b"key", "who") as mine,
            other.with_pseudonyms(["town"], b"key", "who") as theirs,
        ):
            assert mine.difference(theirs, ["who"]) == 0
    for algorithm in ("lattice", "mondrian"):
        with ix.anonymize(address, POLICY, algorithm=algorithm) as release:
            release.verify(original=address)
            release.publish(address.replace("people", f"of_{algorithm}"))
    for dialect, sql in dict.fromkeys(said):
        if not sql.startswith(("SAVEPOINT", "ROLLBACK TO", "BEGIN ISOLATION", "CREATE TRIGGER")):
            found = sqlglot.parse_one(sql.replace("%s", "NULL").replace(" ON COMMIT DROP", ""), read=dialect)
            assert found.key != "command", sql
    assert len(said) > 50


def test_what_only_duckdb_does_is_refused_by_name(save: Any, tmp_path: Path) -> None:
    address = save(pa.table({"a": ["x", "x"], "d": ["2020-01-01", "2020-01-02"], "n": [1.0, 2.0], "p": ["1", "2"]}))
    columns = {"a": ix.quasi(ix.suppress()), "p": ix.identifier(), "n": ix.drop(), "d": ix.drop()}
    plain = ix.Policy(columns, [ix.KAnonymity(2)])
    with pytest.raises(TableError, match="holds have no order"):
        ix.anonymize(address, plain, seed=7)
    with ix.Ledger.create(tmp_path / "ledger.db") as ledger, pytest.raises(TableError, match="ledger"):
        ledger.anonymize(address, plain, recipient="public", folder=tmp_path / "out")
    noisy = ix.Policy({**columns, "n": ix.other(perturb=ix.Microaggregation(2))}, [ix.KAnonymity(2)])
    with pytest.raises(TableError, match="numbers are not perturbed"):
        ix.anonymize(address, noisy)


# Addresses and passwords.


def test_commands_take_the_address_but_no_password_in_it(save: Any, tmp_path: Path) -> None:
    address = save(PEOPLE)
    policy = tmp_path / "policy.toml"
    policy.write_text(
        'version = 1\nmax_suppression = 2\nprivacy = [{ model = "k-anonymity", k = 2 }]\n'
        '[columns]\nage = { role = "quasi", hierarchy = { intervals = [10, 20] } }\n'
        'town = { role = "quasi", hierarchy = { prefix = { keep = [1] } } }\nill = { role = "sensitive" }\n'
    )
    run = CliRunner().invoke
    made = run(app, ["anonymize", str(policy), address, "-o", str(tmp_path / "out"), "--json"])
    assert made.exit_code == 0, made.output
    assert run(app, ["verify", str(policy), str(tmp_path / "out"), "--original", address]).exit_code == 0
    assert run(app, ["check", str(policy), address]).exit_code == 0
    assert run(app, ["risk", address, "--policy", str(policy), "--json"]).exit_code == 0
    assert run(app, ["attack", "all", str(policy), str(tmp_path / "out"), "--original", address]).exit_code in (0, 6)
    suggested = run(app, ["init", address, "-o", str(tmp_path / "first.toml")])
    assert suggested.exit_code == 0, suggested.output
    if address.startswith("sqlite"):
        return
    told = run(app, ["check", str(policy), address.replace("@", ":hush@")])
    assert told.exit_code == TableError.exit_code
    assert "PGPASSWORD" in told.output
    assert "hush" not in told.output
