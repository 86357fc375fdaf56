"""Snowflake and BigQuery, played by DuckDB from what sqlglot reads in their statements: same releases."""

from __future__ import annotations

import datetime
import re
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

import indistinct as ix
from engine.test_databases import PEOPLE, POLICY
from helpers.warehouses import Played
from indistinct.engine import open_table
from indistinct.engine.warehouse.session import DIALECTS
from indistinct.errors import TableError


@pytest.fixture(params=sorted(DIALECTS))
def played(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Played:
    """Return a warehouse with nothing in it."""
    made = Played(request.param)
    monkeypatch.setattr(type(DIALECTS[request.param]), "connect", lambda self, address: made.session())
    return made


@pytest.mark.parametrize("algorithm", ["lattice", "regroup"])
def test_a_release_is_that_of_duckdb_and_becomes_a_table_that_is_proved(played: Played, algorithm: str) -> None:
    address = played.save(PEOPLE)
    goal = address.replace("people", "released")
    with (
        ix.anonymize(address, POLICY, algorithm=algorithm) as release,
        ix.anonymize(PEOPLE, POLICY, algorithm=algorithm) as expected,
    ):
        assert sorted(release.table.to_pylist(), key=str) == sorted(expected.table.to_pylist(), key=str)
        assert played.said[-1].endswith(f"ORDER BY {DIALECTS[played.dialect].random_key}")  # stored rows have no order
        assert release.publish(goal) == "med.released"
        with pytest.raises(ix.OutputError, match="there already"):
            release.publish(goal)
        assert release.publish(goal, replace=True)
        with pytest.raises(ix.OutputError, match="there already"):
            release.publish(address, replace=True)
    assert ix.verify(goal, POLICY, original=address).passed
    played.duck.execute("UPDATE med.released SET town = 'Bern'")
    assert not ix.verify(goal, POLICY, original=address).passed
    assert played.tables() == {"people", "released"}
    assert all("public" not in sql for sql in played.said)


def test_cells_and_conditions_are_those_of_duckdb(played: Played) -> None:
    table = pa.table(
        {
            "whole": pa.array([1, -2, None], pa.int64()),
            "flag": [True, False, None],
            "day": [datetime.date(2020, 1, 2), datetime.date(1999, 12, 31), None],
            "money": pa.array([Decimal("1.50"), Decimal("0.00"), None], pa.decimal128(10, 2)),
            "text": ["it's \\ a\n`t`", "", None],
            "number": ["1_000", "1d", " .5 "],
        }
    )
    names = table.column_names
    with open_table(table) as expected, open_table(played.save(table)) as found:
        assert found.encode(names).values == expected.encode(names).values
        texts = [rows.texts(names).read_all().to_pylist() for rows in (found, expected)]
        assert sorted(texts[0], key=str) == sorted(texts[1], key=str)
        assert found.difference(expected, names) == expected.difference(found, names) == 0
        for condition in [
            ("number", ">", 0.1),
            ("money", "==", 1.5),
            ("day", "<", datetime.date(2020, 1, 1)),
            ("text", "==", "it's \\ a\n`t`"),
            ("whole", "in", [1, 7]),
        ]:
            assert found.encode(names, [condition]).values == expected.encode(names, [condition]).values, condition
        labels: Any = {"whole": {"1": "10", "-2": "20", None: None}}
        with expected.with_labels(labels) as mine, found.with_labels(labels) as theirs:
            assert theirs.difference(mine, ["whole"]) == mine.difference(theirs, ["whole"]) == 0


def test_what_a_warehouse_does_not_write_as_it_is_cannot_be_compared(played: Played) -> None:
    table = pa.table({"f": [0.1 + 0.2, 0.3, float("nan")], "b": [b"x", b"y", b"z"], "a": ["x", "x", "x"]})
    with open_table(played.save(table)) as rows:
        for column in "fb":
            with pytest.raises(TableError, match="holds"):
                rows.encode([column])
        with pytest.raises(TableError, match="holds texts"):
            rows.encode(["a"], [("a", "<", datetime.date(2020, 1, 1))])
    policy = ix.Policy({"a": ix.quasi(ix.suppress()), "f": ix.other(), "b": ix.drop()}, [ix.KAnonymity(3)])
    with ix.anonymize(played.save(table), policy) as release:
        assert sorted(map(str, release.table["f"].to_pylist())) == ["0.3", "0.30000000000000004", "None"]


@pytest.mark.parametrize("statement", ["COMMENT|ALTER TABLE .* SET", r"ALTER TABLE .* RENAME", r"CREATE TABLE"])
def test_a_statement_that_fails_leaves_no_table(played: Played, statement: str) -> None:
    with ix.anonymize(played.save(PEOPLE), POLICY) as release:
        played.faults.append(statement)
        with pytest.raises(ix.OutputError, match="nothing was written") as caught:
            release.publish("med.released")
        assert "private" not in str(caught.value)
    assert played.tables() == {"people"}


def test_a_table_that_could_not_be_dropped_is_named(played: Played) -> None:
    with ix.anonymize(played.save(PEOPLE), POLICY) as release:
        played.faults += ["ALTER TABLE .* RENAME", 'DROP TABLE IF EXISTS [`"]med']
        with pytest.raises(ix.OutputError, match=r"med\.indistinct_\w+ could not be dropped"):
            release.publish("med.released")
        assert len([name for name in played.tables() if re.fullmatch("indistinct_[0-9a-f]{16}", name)]) == 1


def test_two_tables_are_refused_there_and_written_to_a_folder(played: Played, tmp_path: Any) -> None:
    policy = ix.Policy({"a": ix.quasi(ix.suppress()), "b": ix.sensitive()}, [ix.LDiversity(2)], algorithm="anatomy")
    address = played.save(pa.table({"a": ["x", "x", "y", "y"], "b": ["1", "2", "1", "2"]}))
    with ix.anonymize(address, policy) as release:
        with pytest.raises(ix.OutputError, match="at once"):
            release.publish("med.released")
        release.write(tmp_path / "out")
    assert ix.verify(tmp_path / "out", policy, original=address).passed
    assert played.tables() == {"people"}


def test_a_password_is_shown_nowhere(played: Played) -> None:
    address = played.save(PEOPLE).replace("ann@", "ann:hush@")
    with ix.anonymize(f"{address}&token=hush", POLICY) as release:
        assert "hush" not in f"{release.facts} {release.table}"
    with pytest.raises(TableError) as caught:
        open_table(address.replace("med.people", "med.nothing"))
    assert "hush" not in str(caught.value)
    with pytest.raises(TableError, match=re.escape("schema.name")):
        open_table(address.replace("med.people", "people"))
