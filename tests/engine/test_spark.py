"""Spark gives the same release as DuckDB: same cells, same counts, same recoding; and computing again changes nothing.

One body for both engines: test_engine.py runs on Spark as well; laws and conformance are imported from there.
"""

from __future__ import annotations

import datetime
import functools
import json
import os
import random
import signal
import subprocess
import sys
from collections import Counter
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

import indistinct as ix
from helpers.profiles import cases, examples
from indistinct.cli import app
from indistinct.counting import FrequencyList, encode_eligible
from indistinct.engine import ClassPlan, LocalPlan, Plan, open_table
from indistinct.engine.plans import OPERATORS
from indistinct.engine.spark import SparkRows, session
from indistinct.engine.sql import keyed
from indistinct.engine.sql.dialect import eligible
from indistinct.errors import MissingExtraError, OutputError, TableError
from indistinct.examples import save_examples
from indistinct.pipeline import in_fragments as fragments
from indistinct.progress import Watch
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
from laws.test_people import VISITS, visits_policy
from laws.test_start_node import policy_of as bottom_policy_of
from laws.test_start_node import table_of as bottom_table_of

MOMENT = datetime.datetime(2020, 1, 2, 3, 4, 5, 600000)
ALL_TYPES = pa.table(
    {
        "flag": [True, False, None],
        "small": pa.array([1, -2, None], pa.int8()),
        "large": pa.array([2**62, 0, None], pa.int64()),
        "day": [datetime.date(2020, 1, 2), datetime.date(1, 2, 3), None],
        "instant": pa.array([MOMENT, MOMENT.replace(microsecond=0), None], pa.timestamp("us", "UTC")),
        "double": [1e16, 0.1 + 0.2, float("nan")],
        "round": [39.0, -0.0, 1e-5],
        "float": pa.array([16777216.5, 0.1, None], pa.float32()),
        "money": pa.array([Decimal("1.50"), Decimal("0.00"), None], pa.decimal128(38, 10)),
        "text": ["Ünï", "", None],
        "nothing": pa.nulls(3),
    }
)


def frame_of(session: Any, table: pa.Table) -> Any:
    return session.createDataFrame(table)


# Cells.


def test_cells_have_the_same_text_as_in_duckdb(spark: Any) -> None:
    names = ALL_TYPES.column_names
    before = spark.conf.get("spark.sql.session.timeZone")
    spark.conf.set("spark.sql.session.timeZone", "America/New_York")
    try:
        with open_table(ALL_TYPES) as expected, open_table(frame_of(spark, ALL_TYPES)) as found:
            assert found.encode(names).values == expected.encode(names).values
            assert found.texts(names).read_all().to_pydict() == expected.texts(names).read_all().to_pydict()
            assert found.difference(expected, names) == 0
            assert expected.difference(found, names) == 0
    finally:
        spark.conf.set("spark.sql.session.timeZone", before)


def test_columns_of_different_types_compare_by_their_texts(spark: Any) -> None:
    mine = pa.table({"a": [1.5, 1e16, None], "b": [1, 2, 3]})
    theirs = pa.table({"a": ["1.5", "1e+16", ""], "b": ["1", "2", "4"]})
    with open_table(frame_of(spark, mine)) as first, open_table(frame_of(spark, theirs)) as second:
        assert first.difference(second, ["a", "b"]) == 1
        assert second.difference(first, ["a"]) == 0


def test_times_without_a_zone_have_the_same_text(spark: Any) -> None:
    frame = spark.sql("SELECT TIMESTAMP_NTZ '2020-01-02 03:04:05.6' AS moment, 'Aa' COLLATE UTF8_LCASE AS word")
    with open_table(pa.table({"moment": [MOMENT]})) as expected, open_table(frame) as found:
        assert found.encode(["moment", "word"]).values == expected.encode(["moment"]).values | {"word": ("Aa",)}


@pytest.mark.parametrize("sql", ["array(1)", "X'00'", "map('a', 1)", "named_struct('a', 1)", "INTERVAL '1' YEAR"])
def test_cells_that_have_no_common_text_are_refused(spark: Any, sql: str) -> None:
    with (
        open_table(spark.sql(f"SELECT {sql} AS odd, 1 AS ok")) as found,
        pytest.raises(TableError, match="column 'odd' holds binary or nested cells"),
    ):
        found.encode(["odd"])


# Laws that hold on every engine.


def test_conditions_hold_as_in_python(spark: Any) -> None:
    """All operators with all values on all cells, in one job."""
    cells = sorted({"", "a", "b", "10", "9", "9.0", "-3", "2020-01-02", "1999-12-31", "Ünï", "nan", "9d", "2020"})
    values: list[Any] = ["a", "10", "Ünï", "", 9, 10, -3, 9.5, 2**40, datetime.date(2020, 1, 2)]
    asked = [(operator, [value] if operator.endswith("in") else value) for operator in OPERATORS for value in values]
    with open_table(frame_of(spark, pa.table({"x": cells}))) as table:
        assert isinstance(table, SparkRows)
        claims = [eligible([("x", operator, value)], table.source.cell) for operator, value in asked]
        found = table.source.frame.selectExpr("x0", *(f"coalesce({sql}, false)" for sql in claims)).toArrow()
    for number, (operator, value) in enumerate(asked, 1):
        for cell, claim in zip(found[0].to_pylist(), found[number].to_pylist(), strict=True):
            assert claim == holds(cell, operator, value), (cell, operator, value)


def test_conditions_on_typed_columns_and_on_odd_texts(spark: Any) -> None:
    texts = [
        " 1 ",
        "1_000",
        "1d",
        ".5",
        "5.",
        "-inf",
        "2020",
        "2020/1/2",
        "2020-01/02",
        "2020-01-02 03:04",
        " 2020-1-2",
    ]
    texts += ["2020-01-02T03:04:05Z", "2020-13-01", "0x10", "+5"]
    asked: list[tuple[str, str, Any]] = [("s", "<", 2000), ("s", ">", datetime.date(2019, 1, 1))]
    asked += [("s", ">=", datetime.datetime(2020, 1, 2, 3)), ("s", "in", [5, 0.5, "1d"])]
    with open_table(pa.table({"s": texts})) as expected, open_table(frame_of(spark, pa.table({"s": texts}))) as found:
        for condition in asked:
            assert found.encode(["s"], [condition]).values == expected.encode(["s"], [condition]).values, condition
    with open_table(frame_of(spark, TYPED)) as table:
        assert isinstance(table, SparkRows)
        claims = [eligible([condition[:3]], table.source.cell) for condition in TYPED_CONDITIONS]
        answers = table.source.frame.selectExpr(*(f"coalesce({sql}, false)" for sql in claims)).toArrow()
    for (*condition, expected_rows), answer in zip(TYPED_CONDITIONS, answers.columns, strict=True):
        assert [row for row, holds_there in enumerate(answer.to_pylist(), 1) if holds_there] == expected_rows, condition


@pytest.mark.parametrize("condition", [("x", "~", 1), ("x", "==", None), ("x", "in", "ab"), ("f", "<", "1.5")])
def test_conditions_that_make_no_sense_are_refused(spark: Any, condition: Any) -> None:
    with open_table(frame_of(spark, pa.table({"x": ["a"], "f": [1.5]}))) as table, pytest.raises(TableError):
        table.encode(["x"], [condition])


LARGER_TABLES = st.lists(st.tuples(CELLS, CELLS, CELLS), min_size=8, max_size=60)


@pytest.fixture(params=["few tuples", "many tuples"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Counting and recoding with the tuples on the driver, and without them."""
    if request.param == "many tuples":
        monkeypatch.setattr(keyed, "FEW_TUPLES", 0)
    return str(request.param)


def test_recoding_and_differences_agree_with_plain_python(spark: Any, way: str) -> None:
    def open_rows(table: pa.Table) -> Any:
        return open_table(frame_of(spark, table))

    @examples(2, database=None)
    @given(LARGER_TABLES, LARGER_TABLES, st.lists(st.sampled_from(NAMES), unique=True), st.integers(0), st.booleans())
    def check(mine: Any, theirs: Any, columns: list[str], seed: int, blank: bool) -> None:
        check_sizes_and_differences(open_rows, mine, theirs, columns)
        check_recoding(open_rows, mine, random.Random(seed), blank)

    check()


def test_counts_are_those_of_duckdb(spark: Any, way: str) -> None:
    generator = np.random.default_rng(1)
    table = pa.table({name: generator.integers(0, 9, 500).astype(str) for name in "abc"})
    with open_table(table) as expected, open_table(frame_of(spark, table)) as found:
        for columns in (["a", "b", "c"], ["c", "a"], []):
            counts = []
            for engine in (expected, found):
                encoded = engine.encode(["a", "b", "c"], [("a", "!=", "3")])
                counted = encoded.count_by(columns)
                codes = zip(*(code.tolist() for code in counted.codes), strict=True) if columns else [()]
                counts.append(dict(zip(codes, counted.counts.tolist(), strict=True)))
            assert counts[0] == counts[1]
        values = [engine.values_by(["a", "b"], "c") for engine in (expected, found)]
        assert values[0].texts == values[1].texts
        triples = [sorted(zip(v.groups.tolist(), v.values.tolist(), v.counts.tolist(), strict=True)) for v in values]
        assert triples[0] == triples[1]


def test_too_many_tuples_are_generalized_before_they_are_counted(spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Spark finds the same bottom and the same answer as DuckDB, though the tuples never come to the driver."""
    table, policy = bottom_table_of(300, 2), bottom_policy_of(ix.AlphaK(0.7, 3))
    with ix.anonymize(table, policy, max_tuples=60) as expected:
        facts = expected.facts
    monkeypatch.setattr(keyed, "FEW_TUPLES", 0)
    frame = frame_of(spark, table)
    with ix.anonymize(frame, policy, max_tuples=60) as release:
        assert release.facts == facts
        assert any(facts.start_node.values())
        assert ix.verify(release.table, policy, original=table).passed


@pytest.mark.parametrize("name", cases(["regroup", "mondrian relaxed", "top-down"], "regroup"))
def test_local_algorithms_work_in_fragments(spark: Any, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """More tuples than the driver takes: executors recode them part by part, and the whole is proved."""
    table, policy = bottom_table_of(600, 2), bottom_policy_of(ix.AlphaK(0.7, 3))
    with ix.anonymize(table, policy, algorithm=ALGORITHMS_TO_CHECK[name]) as whole:  # first: it compiles kernels
        least = whole.measures["precision"] - 0.2
    monkeypatch.setattr(keyed, "FEW_TUPLES", 0)
    monkeypatch.setattr(fragments, "ROWS_PER_K", 20)
    with ix.anonymize(frame_of(spark, table), policy, algorithm=ALGORITHMS_TO_CHECK[name], max_tuples=150) as release:
        facts = release.facts
        assert any(facts.start_node.values())
        assert facts.node is None
        assert facts.is_proven is None
        verdict = ix.verify(release.table, policy, original=table)
        assert verdict.passed, str(verdict)
        assert (verdict.rows, verdict.groups) == (facts.released, facts.groups)
    assert least <= facts.measures["precision"] <= 1, "cuts cost little"


def test_a_worker_that_is_killed_while_it_recodes_a_fragment_changes_nothing(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fired = str(tmp_path / "fired")

    class Fatal:
        """Mondrian, in a process that dies the first time."""

        name = "mondrian"
        works_in_fragments = True

        def run(self, task: Any, watch: Any) -> Any:
            if not os.path.exists(fired):
                open(fired, "w").close()
                os.kill(os.getpid(), signal.SIGKILL)
            return ix.Mondrian().run(task, watch)

    table, policy = bottom_table_of(600, 3), bottom_policy_of()
    ix.anonymize(table, policy, algorithm=ix.Mondrian()).close()  # so that kernels lie compiled
    monkeypatch.setattr(keyed, "FEW_TUPLES", 0)
    monkeypatch.setattr(fragments, "ROWS_PER_K", 20)
    with ix.anonymize(frame_of(spark, table), policy, algorithm=Fatal(), max_tuples=150) as release:
        assert Path(fired).exists()
        assert release.facts.released + release.suppressed == 600
        assert ix.verify(release.table, policy, original=table).passed


def test_rows_like_tuples_are_found_as_in_duckdb(spark: Any) -> None:
    table = pa.table({"a": ["x", "y", "x", "x", None], "b": ["1", "2", "1", "1", "3"], "c": [1.5, 2.0, None, 4.0, 5.0]})
    found = []
    for either in (table, frame_of(spark, table)):
        with open_table(either) as opened:
            encoded = opened.encode(["a", "b"])
            found.append(encoded.rows_like({"b": [0, 2], "a": [0, 2]}, ["c"], limit=2).to_pydict())
    assert found[0] == found[1]


def test_a_table_without_rows_goes_through_every_verb(spark: Any, tmp_path: Path) -> None:
    with open_table(spark.createDataFrame([], "a bigint, b string")) as table:
        encoded = table.encode(["a"])
        assert encoded.values == {"a": ()}
        assert encoded.rows == 0
        assert encoded.count_by(["a"]).counts.tolist() == encoded.count_by([]).counts.tolist() == []
        assert table.sizes_by(["a"]).tolist() == table.sizes_by([]).tolist() == []
        assert table.values_by(["a"], "b").texts == table.values_by([], "b").texts == ()
        plan = Plan(("a", "b"), {"a": np.array([], np.int64)}, {"a": ()}, frozenset({"a"}))
        with encoded.recode(plan) as released:
            assert released.count() == 0
            assert released.difference(table, ["a", "b"]) == 0
            released.write(tmp_path)


# Conformance: every algorithm × model.


@functools.cache
@functools.cache
def counted_in_duckdb(model: str) -> FrequencyList:
    with open_table(TABLE) as table:
        return FrequencyList.count(encode_eligible(table, policy_for(model)), policy_for(model))


@pytest.fixture(scope="module")
def counted_in_spark(spark: Any) -> Any:
    """Return the list of each model as Spark counts it; once for all models that ask about the same columns."""
    known: dict[Any, FrequencyList] = {}

    def count(model: str) -> FrequencyList:
        policy = policy_for(model)
        if policy.asked_sensitive not in known:
            with open_table(frame_of(spark, TABLE)) as table:
                known[policy.asked_sensitive] = FrequencyList.count(encode_eligible(table, policy), policy)
        return known[policy.asked_sensitive]

    return count


def answer(recoding: Any) -> Any:
    """Return all that a recoding says, in a form that compares."""
    if isinstance(recoding, FullDomainRecoding):
        return recoding.node, recoding.groups.keys.tolist(), recoding.is_suppressed.tolist()
    pieces = recoding.pieces
    labels = [column.texts for column in getattr(recoding, "labels", ())]
    codes = [column.tolist() for column in getattr(recoding, "codes", ())]
    return pieces.tuples.tolist(), pieces.rows.tolist(), pieces.groups.tolist(), labels, codes


@pytest.mark.parametrize("name", cases([*QUICK, *ONE_COLUMN], "datafly", "regroup", "mondrian relaxed", "anatomy"))
def test_every_algorithm_gives_the_same_recoding_for_every_model(name: str, counted_in_spark: Any) -> None:
    for model in MODELS_TO_CHECK:
        policy = policy_for(model)
        answers = []
        for frequencies in (counted_in_duckdb(model), counted_in_spark(model)):
            try:
                answers.append(answer(ALGORITHMS_TO_CHECK[name].run(Task.of(frequencies, policy), Watch())))
            except (ix.InfeasibleError, ix.PolicyError) as error:
                answers.append(str(error))
        assert answers[0] == answers[1], model


RELEASED = {
    "lattice for precision": "k-anonymity",
    "datafly": "l-diversity",
    "regroup": "k-anonymity",
    "mondrian relaxed": "alpha-k",
    "k-similar": "k-anonymity",
    "lossy-join": "alpha-k",
}
"""One release for each way in which rows are recoded, and the model that it satisfies."""


@pytest.mark.parametrize("name", cases(RELEASED, "datafly", "regroup", "lossy-join"))
def test_every_kind_of_recoding_is_released_written_and_proved(spark: Any, name: str, tmp_path: Path) -> None:
    check_release(frame_of(spark, TABLE), RELEASED[name], name, tmp_path / "out", engine=spark)


def test_new_names_leave_spark_and_are_found_again(spark: Any, tmp_path: Path) -> None:
    given = pa.table({"age": ["31", "34", "52", "58"], "ill": ["flu", "flu", "gout", "flu"]})
    columns = {"age": ix.quasi(ix.intervals(20), rename="ages"), "ill": ix.sensitive(rename="why")}
    policy = ix.Policy(columns, [ix.KAnonymity(2)])
    frame = frame_of(spark, given)
    with ix.anonymize(frame, policy) as release:
        assert release.table.columns == ["ages", "why"]
        release.write(tmp_path / "out")
    assert ix.verify(tmp_path / "out", policy, original=frame, engine=spark).passed
    assert ix.verify(tmp_path / "out", policy, original=given).passed


# Computing again changes nothing.


def restless(session: Any, table: pa.Table) -> Any:
    """Return a frame whose rows come in another order each time that Spark computes it."""

    def shuffled(batches: Any) -> Any:
        import os

        for batch in batches:
            order = sorted(range(batch.num_rows), key=lambda _: os.urandom(8))
            yield batch.take(pa.array(order))

    frame = frame_of(session, table)
    return frame.mapInArrow(shuffled, frame.schema)


PEOPLE = pa.table(
    {
        "age": [str(20 + number % 3) for number in range(60)],
        "visit": [str(number) for number in range(60)],
        "illness": ["flu" if number % 2 else "cold" for number in range(60)],
    }
)


def rows_in_order(frame: Any) -> list[Any]:
    return list(zip(*(column.to_pylist() for column in frame.toArrow().columns), strict=True))


def test_rows_keep_their_place_when_spark_computes_them_again(spark: Any) -> None:
    """Neither the order of rows nor the group that a row of a divided tuple goes to may change with a retry."""
    with open_table(restless(spark, PEOPLE)) as table:
        encoded = table.encode(["age"])
        values = encoded.values
        plan = Plan(("age", "visit"), {"age": np.zeros(3, int)}, {"age": ("*",)})
        local = LocalPlan(
            columns=("age", "visit"),
            tuples={"age": np.array([0, 0, 1, 2, 2])},
            rows=np.array([8, 12, 20, 15, 5]),
            groups=np.array([0, 1, 1, 1, -1]),
            labels={"age": ("low", "high")},
            codes={"age": np.array([0, 1])},
        )
        assert values["age"] == ("20", "21", "22")
        orders = []
        for made in (plan, plan, local):
            released = encoded.recode(made)
            frame: Any = released.to_native()
            before = rows_in_order(frame)
            released.close()  # lets go of what was stored: the next action computes it again
            assert rows_in_order(frame) == before
            orders.append(before)
        assert Counter(orders[0]) == Counter(orders[1])
        assert orders[0] != orders[1], "two releases have two orders"
        assert Counter(age for age, _ in orders[2]) == {"low": 8, "high": 47}
        low = {visit for age, visit in orders[2] if age == "low"}
        assert low <= {visit for age, visit, _ in zip(*PEOPLE.to_pydict().values(), strict=True) if age == "20"}
        assert low != {str(3 * number) for number in range(8)}, "the first rows of the source would tell something"


def test_both_tables_of_a_release_put_a_row_into_the_same_class(spark: Any) -> None:
    plan = ClassPlan(
        tables={"quasi": ("age", "visit"), "sensitive": ("illness",)},
        tuples={"age": np.array([0, 0, 1, 2]), "illness": np.array([0, 0, 0, 1])},
        rows=np.array([4, 6, 10, 10]),
        groups=np.array([0, 1, 1, -1]),
        link="class",
    )
    wide = PEOPLE.filter(pa.array([(n % 3, n % 2) in {(0, 0), (1, 0), (2, 1)} for n in range(60)]))
    with open_table(restless(spark, wide)) as table:
        encoded = table.encode(["age", "illness"])
        divided = encoded.divide(plan)
        quasi, sensitive = (rows_in_order(divided[name].to_native()) for name in ("quasi", "sensitive"))
        for part in divided.values():
            part.close()
        assert rows_in_order(divided["quasi"].to_native()) == quasi
    assert sorted(Counter(name for name, *_ in quasi).values()) == [4, 16]
    assert Counter(name for name, *_ in quasi) == Counter(name for name, _ in sensitive)
    assert {name for name, *_ in quasi} == {1, 2}
    assert {age for _, age, _ in quasi} == {"20", "21"}


def test_a_python_worker_that_is_killed_in_the_middle_changes_nothing(spark: Any, tmp_path: Path) -> None:
    """The task is tried again; the release is complete and verified."""
    table = pa.concat_tables([TABLE] * 20)
    armed, fired = str(tmp_path / "armed"), str(tmp_path / "fired")

    def fatal(batches: Any) -> Any:
        for batch in batches:
            yield batch.slice(0, batch.num_rows // 2)
            if os.path.exists(armed):
                os.rename(armed, fired)
                os.kill(os.getpid(), signal.SIGKILL)
            yield batch.slice(batch.num_rows // 2)

    source = frame_of(spark, table).repartition(2)
    frame = source.mapInArrow(fatal, source.schema)
    policy = policy_for("k-anonymity")

    def progress(stage: str, done: int | None, total: int | None) -> None:
        if stage == "release":
            Path(armed).touch()

    with ix.anonymize(frame, policy, watch=Watch(progress=progress)) as release:
        assert Path(fired).exists(), "a worker was killed while rows were recoded"
        assert release.facts.released + release.suppressed == len(table)
        verdict = ix.verify(release.table, policy, original=table)
        assert verdict.passed, str(verdict)


def test_a_table_that_changes_between_count_and_recode_is_not_released(spark: Any, tmp_path: Path) -> None:
    path = tmp_path / "people.parquet"
    pyarrow.parquet.write_table(PEOPLE, path)
    with open_table(path, engine=spark) as table:
        encoded = table.encode(["age"])
        pyarrow.parquet.write_table(PEOPLE.slice(0, 50), path)
        spark.catalog.refreshByPath(str(path))
        with pytest.raises(TableError, match="changed while it was read"):
            encoded.recode(Plan(("age",), {"age": np.zeros(3, int)}, {"age": ("*",)}))


# Spark Connect.

CONNECTED = """
import sys, warnings
warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas")
import pyarrow.parquet, indistinct as ix
from pyspark.sql import SparkSession
from indistinct.engine import open_table
from indistinct.policy.files.policy_file import read_policy
address, folder = sys.argv[1:]
session = SparkSession.builder.remote(address).getOrCreate()
frame = session.createDataFrame(pyarrow.parquet.read_table(f"{folder}/people.parquet"))
assert "connect" in type(frame).__module__
policy = read_policy(f"{folder}/hospital.toml")
with ix.anonymize(frame, policy, algorithm="regroup") as release:
    assert type(release.table) is type(frame)
    assert ix.verify(release.table, policy, original=frame).passed
print("released", release.facts.released)

def killed(batches):
    import os, signal
    os.kill(os.getpid(), signal.SIGKILL)
    yield from batches

try:
    open_table(frame.mapInArrow(killed, frame.schema)).count()
except ix.TableError as error:
    print(error)
"""


def test_frames_of_spark_connect_are_released_as_well(spark: Any, tmp_path: Path) -> None:
    """In a process of its own, since a process has classic frames or those of Connect."""
    save_examples(tmp_path)
    pyarrow.parquet.write_table(TABLE.drop_columns("visits"), tmp_path / "people.parquet")
    address = f"sc://127.0.0.1:{spark.conf.get('spark.connect.grpc.binding.port')}"
    done = subprocess.run(
        [sys.executable, "-c", CONNECTED, address, str(tmp_path)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert "released 12" in done.stdout
    assert "the spark table: a Python process of Spark ended in the middle" in done.stdout


def test_a_python_process_that_is_killed_is_reported_as_such(spark: Any) -> None:
    def killed(batches: Any) -> Any:
        os.kill(os.getpid(), signal.SIGKILL)
        yield from batches

    frame = spark.range(3)
    with pytest.raises(TableError, match="a Python process of Spark ended in the middle"):
        open_table(frame.mapInArrow(killed, frame.schema)).count()


# The driver.


def test_nothing_as_large_as_the_rows_comes_to_the_driver(spark: Any) -> None:
    """The rows take far more than the 2 MB that the driver of these tests accepts."""
    frame = spark.range(40_000).selectExpr(
        "CAST(id % 50 AS STRING) AS age", "sha2(CAST(id AS STRING), 512) AS note", "CAST(id % 3 AS STRING) AS illness"
    )
    with pytest.raises(TableError, match=r"spark\.driver\.maxResultSize"):
        open_table(frame).head(40_000)
    policy = ix.Policy(
        columns={"age": ix.quasi(ix.intervals(10, 20)), "note": ix.other(), "illness": ix.sensitive()},
        privacy=[ix.KAnonymity(1000)],
    )
    with ix.anonymize(frame, policy) as release:
        assert release.facts.released == 40_000
        assert ix.verify(release.table, policy, original=frame).passed


# Files, tables and the command line.


def test_a_failed_write_leaves_nothing(spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    policy = policy_for("k-anonymity")
    with ix.anonymize(frame_of(spark, TABLE), policy) as release:
        monkeypatch.setattr("indistinct.engine.spark.rows.pyarrow.parquet.read_metadata", lambda part: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            release.write(tmp_path / "deep" / "out")
        monkeypatch.undo()
        monkeypatch.setattr(SparkRows, "count", lambda self: 7)
        with pytest.raises(OutputError, match="storage that all machines share"):
            release.write(tmp_path / "deep" / "out")
        assert list(tmp_path.iterdir()) == []
        with pytest.raises(OutputError, match="mounted as a folder"):
            release.write("s3://bucket/out")


def test_the_command_line_releases_a_folder_with_spark(spark: Any, tmp_path: Path) -> None:
    save_examples(tmp_path)
    pyarrow.parquet.write_to_dataset(TABLE.drop_columns("visits"), tmp_path / "people", partition_cols=["Gender"])
    policy, out = tmp_path / "hospital.toml", tmp_path / "out"
    run = functools.partial(CliRunner().invoke, app)
    done = run(["anonymize", str(policy), str(tmp_path / "people"), "-o", str(out), "--engine", "spark", "--json"])
    assert done.exit_code == 0, done.output
    manifest = json.loads((out / "manifest.json").read_text("utf-8"))
    assert list(manifest["files"]) == ["table.parquet"]
    assert [place.suffix for place in (out / "table.parquet").iterdir()] == [".parquet"]
    for engine in (["--engine", "spark"], []):
        done = run(["verify", str(policy), str(out), "--original", str(tmp_path / "people"), *engine])
        assert done.exit_code == 0, done.output
    (out / "table.parquet" / "more.parquet").write_bytes(b"")
    assert run(["verify", str(policy), str(out), "--engine", "spark"]).exit_code != 0


def test_the_job_of_the_benchmark_gives_the_same_on_both_engines(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2]))
    from benchmarks.spark import PEOPLE, STAGES, job

    table = tmp_path / "people.parquet"
    with duckdb.connect() as connection:
        connection.execute(f"COPY ({PEOPLE.format(rows=300)}) TO '{table}' (FORMAT parquet)")
    own, sparks = job(str(table), "duckdb"), job(str(table), "local[2,4]")
    assert [own[name] for name in ("node", "suppressed", "tuples")] == [
        sparks[name] for name in ("node", "suppressed", "tuples")
    ]
    for one in (own, sparks):
        assert set(one["stages"]) == set(STAGES.values())
        assert one["driver_bytes"] > 1e6
    assert sparks["java_bytes"] > 1e6


def test_tables_of_the_catalog_are_opened_by_name(spark: Any, tmp_path: Path) -> None:
    frame_of(spark, TABLE).createOrReplaceTempView("patients")
    with open_table("patients", engine="spark") as table:
        assert table.count() == 12
    with pytest.raises(TableError, match="no such file or table"):
        open_table("nobody", engine=spark)
    with pytest.raises(TableError, match="no such file or table"):
        open_table(tmp_path / "nothing.parquet", engine=spark)
    with pytest.raises(TableError, match="Spark reads Parquet"):
        open_table(tmp_path / "people.csv", engine="spark")
    with pytest.raises(TableError, match="no engine 'pandas'"):
        open_table("patients", engine="pandas")


def test_partition_folders_stay_text(spark: Any, tmp_path: Path) -> None:
    pyarrow.parquet.write_to_dataset(pa.table({"zip": ["01234"], "n": [1]}), tmp_path / "parts", partition_cols=["zip"])
    with open_table(tmp_path / "parts", engine=spark) as table:
        assert table.encode(["zip"]).values == {"zip": ("01234",)}
    assert spark.conf.get("spark.sql.sources.partitionColumnTypeInference.enabled") == "true"


def test_errors_name_columns_and_rows_but_no_cell(spark: Any) -> None:
    policy = ix.Policy(columns={"age": ix.quasi(ix.intervals(5))}, privacy=[ix.KAnonymity(2)])
    frame = frame_of(spark, pa.table({"age": ["1", "secret", "2"]}))
    with pytest.raises(ix.PolicyError, match=r"data rows 2") as raised:
        ix.anonymize(frame, policy)
    assert "secret" not in str(raised.value)
    broken = frame.selectExpr("CAST(age AS INT) AS age")
    with pytest.raises(TableError, match="CAST_INVALID_INPUT") as told:
        ix.anonymize(broken, policy)
    assert "secret" not in str(told.value)


def test_codes_that_mean_missing_are_missing_in_spark_as_they_are_in_duckdb(spark: Any) -> None:
    table = pa.table(
        {
            "age": ["34", "36", "999", "n/a", "?", "35"],
            "size": pa.array([999.0, 1.5, 999.0, 1.5, 1.5, 999.0]),
            "paid": pa.array(["9.99", "1.50", "9.99", "2.00", "2.50", None]).cast(pa.decimal128(9, 2)),
            "visits": pa.array([999, 1, 2, 3, 4, 5]),
        }
    )
    age = ix.quasi(ix.intervals(5, 10), missing=["999", "?"], unreadable="missing")
    columns = {"age": age, "size": ix.quasi(missing=["999"]), "paid": ix.sensitive(missing=["9.990"])}
    policy = ix.Policy(
        columns={**columns, "visits": ix.other(missing=["999.0"])}, privacy=[ix.KAnonymity(1)], max_suppression=0
    )
    here, there = ix.anonymize(table, policy), ix.anonymize(frame_of(spark, table), policy)
    assert sorted(map(str, there.table.toArrow().to_pylist())) == sorted(map(str, here.table.to_pylist()))
    assert here.facts.unreadable == there.facts.unreadable == {"age": 1}
    assert there.verify(frame_of(spark, table)).passed
    left_out = ix.Policy(
        columns={**policy.columns, "age": ix.quasi(ix.intervals(5), unreadable="suppress")}, privacy=[ix.KAnonymity(1)]
    )
    assert ix.anonymize(frame_of(spark, table), left_out).facts.released == 4


def test_recoded_columns_are_the_same_in_spark_as_in_duckdb(spark: Any) -> None:
    table = pa.table(
        {
            "zip": ["1"] * 4,
            "cost": [1234.5, 1249.0, None, 80.0],
            "visits": pa.array([12, 27, 31, None], pa.int32()),
            "paid": pa.array(["9.99", "1.50", "9.99", None]).cast(pa.decimal128(9, 2)),
            "seen": ["1964-09-27", "", "1964-10-01", "1964-09-27"],
        }
    )
    columns = {
        "zip": ix.quasi(),
        "cost": ix.other(recode=ix.rounding(100)),
        "visits": ix.other(recode=ix.rounding(10)),
        "paid": ix.sensitive(recode=ix.intervals(5.0)),
        "seen": ix.other(recode=ix.dates("month")),
    }
    policy = ix.Policy(columns=columns, privacy=[ix.KAnonymity(2)])
    here, there = ix.anonymize(table, policy), ix.anonymize(frame_of(spark, table), policy)
    assert sorted(map(str, there.table.toArrow().to_pylist())) == sorted(map(str, here.table.to_pylist()))
    assert there.verify(frame_of(spark, table)).passed


def test_few_known_columns_give_the_same_release_in_spark_as_in_duckdb(spark: Any) -> None:
    rows = [(str(row % 2), str(row % 3), str(row * row % 5)) for row in range(60)] + [("0", "0", "2")]
    people = pa.table({name: list(cells) for name, cells in zip("abc", zip(*rows, strict=True), strict=True)})
    frame = frame_of(spark, people)
    columns = {name: ix.quasi(ix.suppress()) for name in "abc"}
    policy = ix.Policy(columns=columns, privacy=[ix.KAnonymity(4, known=2)], max_suppression=1)
    ours, theirs = ix.anonymize(people, policy), ix.anonymize(frame, policy)
    assert theirs.node == ours.node
    assert theirs.facts.suppressed == ours.facts.suppressed
    assert sorted(map(str, theirs.table.toArrow().to_pylist())) == sorted(map(str, ours.table.to_pylist()))


def test_rows_are_drawn_in_spark_and_floating_numbers_refused(spark: Any) -> None:
    people = pa.table({"age": [20 + row % 3 for row in range(300)], "sex": ["fm"[row % 2] for row in range(300)]})
    columns = {"age": ix.quasi(ix.intervals(10)), "sex": ix.quasi(ix.suppress())}
    policy = ix.Policy(columns=columns, privacy=[ix.DifferentialPrivacy(3.0, 0.3)], algorithm="safepub")
    made = ix.anonymize(frame_of(spark, people), policy)
    assert 0 < made.facts.released == made.table.count()
    assert {field.dataType.simpleString() for field in made.table.schema} == {"string"}
    assert made.verify(frame_of(spark, people)).passed
    floating = people.set_column(0, "age", people["age"].cast("double"))
    with pytest.raises(ix.PolicyError, match="cells of floating numbers"):
        ix.anonymize(frame_of(spark, floating), policy)


# What is missing is said.


def test_without_java_or_pyspark_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", "/nowhere")
    assert not session.java_is_there()
    fake = type("SparkSession", (), {"getActiveSession": staticmethod(lambda: None)})
    monkeypatch.setattr(session, "_session_class", lambda: fake)
    with pytest.raises(MissingExtraError, match="Java 17"):
        open_table("people", engine="spark")
    monkeypatch.undo()
    monkeypatch.setitem(sys.modules, "pyspark.sql", None)
    with pytest.raises(MissingExtraError, match=r'pip install "indistinct\[spark\]"'):
        open_table("people", engine="spark")


def test_memory_is_said_as_java_takes_it() -> None:
    with pytest.raises(TableError, match="'much' is not understood"):
        session._java_size("much")


@pytest.mark.parametrize("algorithm", cases(["lattice", "mondrian"], "mondrian"))
def test_people_are_counted_as_duckdb_counts_them(spark, algorithm):
    policy = visits_policy(2, algorithm=algorithm)
    here = ix.anonymize(VISITS, policy)
    there = ix.anonymize(spark.createDataFrame(VISITS.to_pandas()), policy)
    assert Counter(map(str, there.table.toArrow().to_pylist())) == Counter(map(str, here.table.to_pylist()))
    assert [check for check in there.verdict.checks if check.name.startswith("people")]
    assert there.verify(VISITS).passed
