"""What makes a naive count in a file of SQLite lie, or a run on it fail: none of it makes a release that is not one."""

from __future__ import annotations

import signal
import sqlite3
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest

import indistinct as ix
from helpers import sqlite
from indistinct.engine import open_table
from indistinct.engine.sql.database_rows import DatabaseRows
from indistinct.errors import TableError

K2 = [ix.KAnonymity(2)]
POLICY = ix.Policy(
    {"a": ix.quasi(ix.suppress()), "b": ix.sensitive(rename="B b"), "n": ix.other()}, K2, max_suppression=1
)
GIVEN = pa.table({"a": ["x", "x", "y"], "b": ["1", "", None], "n": [1, 2, 3]})
PLAIN = ix.Policy({"a": ix.quasi(ix.suppress())}, K2, max_suppression=2)


def made(folder: Path, *statements: str) -> str:
    """Run statements in a file of its own, and return the address of its table ``t``."""
    address = f"sqlite:///{folder}/made.db?table=t"
    sqlite.run(address, *statements)
    return address


def naive(address: str, columns: str, table: str = "t") -> list[int]:
    """Return the sizes of the groups that the file's own GROUP BY makes."""
    return sorted(n for (n,) in sqlite.run(address, f"SELECT count(*) FROM {table} GROUP BY {columns}"))


def tables_in(address: str) -> list[str]:
    return [name for (name,) in sqlite.run(address, "SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY 1")]


def test_collations_merge_no_values(tmp_path: Path) -> None:
    address = made(
        tmp_path,
        "CREATE TABLE t (a TEXT COLLATE NOCASE, b CHAR(6) COLLATE RTRIM)",
        "INSERT INTO t VALUES ('Bern', 'ab'), ('BERN', 'ab  '), ('Chur', 'c'), ('Chur', 'c')",
    )
    assert naive(address, "a") == naive(address, "b") == [2, 2]
    with open_table(address) as rows:
        for column in ("a", "b"):
            assert sorted(rows.sizes_by([column])) == [1, 1, 2]
        assert rows.alone_by(["a"]) == 2
    policy = ix.Policy({"a": ix.quasi(ix.suppress()), "b": ix.drop()}, K2, max_suppression=2)
    with ix.anonymize(address, policy) as release:
        assert sorted(release.table["a"].to_pylist()) in (["Chur", "Chur"], ["*"] * 4)
        release.publish("out")
    assert min(naive(address, "a", "out")) >= 2


def test_numbers_and_texts_side_by_side_are_what_they_say(tmp_path: Path) -> None:
    address = made(
        tmp_path,
        "CREATE TABLE t (a, d DECIMAL(6, 2), f REAL)",
        "INSERT INTO t VALUES (1, 1.50, 0.1 + 0.2), ('1', 2.00, 9e999), (2, 2, NULL)",
        "INSERT INTO t VALUES (2.0, '2.0', -0.0), ('z', 7, 1e15)",
    )
    assert naive(address, "a") == [1, 1, 1, 2]
    with open_table(address) as rows:
        values = rows.encode(["a", "d", "f"]).values
        assert values["a"] == ("1", "2", "2.0", "z")
        assert values["d"] == ("1.5", "2", "7")
        assert values["f"] == ("0.0", "0.30000000000000004", "1000000000000000.0", "inf", None)
        texts = rows.texts(["a", "d", "f"]).read_all().to_pydict()
        assert {name: set(own) for name, own in texts.items()} == {name: set(own) for name, own in values.items()}
        assert rows.to_native()["d"].to_pylist() == ["1.5", "2", "2", "2", "7"]  # type: ignore[attr-defined]
        assert sorted(rows.sizes_by(["d"])) == [1, 1, 3]
        assert rows.encode(["a"], [("d", "==", 2)]).rows == 3
    policy = ix.Policy({"a": ix.quasi(ix.suppress()), "d": ix.drop(), "f": ix.drop()}, K2, max_suppression=3)
    with ix.anonymize(address, policy) as release:
        release.publish("out")
        assert release.table["a"].to_pylist() == ["1", "1"]
    assert naive(address, "a", "out") == [2]  # for whoever counts there


def test_whole_numbers_beyond_floats_stay_apart(tmp_path: Path) -> None:
    address = made(
        tmp_path, "CREATE TABLE t (a NUMERIC)", f"INSERT INTO t VALUES ({2**53}), ({2**53 + 1}), ({2**53 + 1}), (0.5)"
    )
    with open_table(address) as rows:
        assert sorted(rows.sizes_by(["a"])) == [1, 1, 2]


@pytest.mark.parametrize("cell", ["x'00ff'", "CAST(x'610062' AS TEXT)"])
def test_bytes_and_texts_that_are_cut_off_are_refused(tmp_path: Path, cell: str) -> None:
    address = made(tmp_path, "CREATE TABLE t (a, b)", f"INSERT INTO t VALUES ({cell}, 1), ('z', 1)")
    with open_table(address) as rows:
        assert rows.encode(["b"]).rows == 2
        with pytest.raises(TableError, match="column 'a' holds"):
            rows.encode(["a"])


def test_texts_that_are_no_utf8_are_refused_and_not_quoted(tmp_path: Path) -> None:
    address = made(tmp_path, "CREATE TABLE t (a)", "INSERT INTO t VALUES (CAST(x'736563726574ff' AS TEXT))")
    with open_table(address) as rows, pytest.raises(TableError) as caught:
        rows.encode(["a"])
    assert "secret" not in str(caught.value)


def test_one_state_is_counted_released_and_recounted(tmp_path: Path) -> None:
    start = ("CREATE TABLE t (a TEXT)", "INSERT INTO t VALUES ('x'), ('x'), ('y'), ('y')")
    address = made(tmp_path, "PRAGMA journal_mode = WAL", *start)
    with open_table(address) as rows:
        before = rows.encode(["a"]).rows
        sqlite.run(address, "DELETE FROM t WHERE a = 'y'", "INSERT INTO t VALUES ('z')")
        assert rows.count() == before == 4
        with ix.anonymize(rows, PLAIN) as release:
            assert sorted(release.table["a"].to_pylist()) == ["x", "x", "y", "y"]
            sqlite.run(address, "DROP TABLE t")
            with pytest.raises(ix.OutputError, match="nothing was written"):
                release.publish("out")
            assert sorted(release.table["a"].to_pylist()) == ["x", "x", "y", "y"]
    assert tables_in(address) == []
    with pytest.raises(TableError, match="no such table"):
        open_table(address)
    other = made(tmp_path, "PRAGMA journal_mode = DELETE", *start)
    with open_table(other), pytest.raises(sqlite3.OperationalError, match="locked"):  # its own: writers wait
        sqlite.run(other, "DELETE FROM t")


def test_a_view_whose_rows_change_is_refused(tmp_path: Path) -> None:
    address = made(
        tmp_path,
        "CREATE VIEW t AS WITH RECURSIVE s (n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM s "
        "LIMIT 100 + abs(random()) % 30000) SELECT n % 3 AS a FROM s",
    )
    with pytest.raises(TableError, match="changed"), ix.anonymize(address, PLAIN) as release:
        release.verify()


def test_a_release_becomes_a_table_that_proves_itself_and_alone_is_replaced(tmp_path: Path) -> None:
    address = sqlite.save(tmp_path, GIVEN)
    goal = address.replace("=people", "=released")
    sqlite.run(address, "CREATE TABLE kept (a)", "CREATE VIEW seen AS SELECT 1 AS a")
    with ix.anonymize(address, POLICY) as release:
        assert release.publish(goal) == "main.released"
        assert release.table.column_names == ["a", "B b", "n"]
        with pytest.raises(ix.OutputError, match="there already"):
            release.publish("main.released")
        assert release.publish("released", replace=True)
        for wrong in (address, "kept", "seen", "PEOPLE", goal.replace(".db", ".other")):
            with pytest.raises(ix.OutputError):
                release.publish(wrong, replace=True)
        assert release.verify(original=address).passed
    assert ix.verify(goal, POLICY).passed
    assert ix.verify(goal, POLICY, original=address).passed
    assert sqlite.run(address, "SELECT a, n FROM released ORDER BY n") == [("x", 1), ("x", 2)]
    assert tables_in(address) == ["kept", "people", "released"]
    sqlite.run(address, "INSERT INTO released VALUES ('x', '', 3)")
    assert not ix.verify(goal, POLICY, original=address).passed
    sqlite.run(address, "DROP TABLE released", "CREATE TABLE released (private)")
    with ix.anonymize(address, POLICY) as release, pytest.raises(ix.OutputError, match="there already"):
        release.publish(goal, replace=True)  # what was said went with the table


def test_two_tables_become_two_tables(tmp_path: Path) -> None:
    address = sqlite.save(tmp_path, pa.table({"a": ["x", "x", "y", "y"], "b": ["1", "2", "1", "2"]}))
    policy = ix.Policy({"a": ix.quasi(ix.suppress()), "b": ix.sensitive()}, [ix.LDiversity(2)], algorithm="anatomy")
    with ix.anonymize(address, policy) as release:
        release.publish("out")
    given = {name: address.replace("=people", f"=out_{name}") for name in ("quasi", "sensitive")}
    assert ix.verify(given, policy, original=address).passed


def test_a_disk_that_is_full_leaves_nothing(tmp_path: Path) -> None:
    table = pa.table({"a": [f"{n % 50:0200}" for n in range(2000)]})
    address = sqlite.save(tmp_path, table)
    with ix.anonymize(address, PLAIN) as release:
        (rows,) = release.parts.values()
        assert isinstance(rows, DatabaseRows)
        ((pages,),) = sqlite.run(address, "PRAGMA page_count")
        rows.source.session.execute(f"PRAGMA main.max_page_count = {pages + 9}")
        with pytest.raises(ix.OutputError, match="disk is full"):
            release.publish("out")
    assert tables_in(address) == ["people"]
    assert naive(address, "a", "people") == [40] * 50


@pytest.mark.slow
def test_a_run_that_is_killed_leaves_the_file_as_it_was(tmp_path: Path) -> None:
    address = sqlite.save(tmp_path, GIVEN)
    script = (
        "import os, signal, sys, indistinct as ix\n"
        "from indistinct.engine.sql.session import DatabaseSession\n"
        "from indistinct.engine.sqlite.session import SQLiteSession\n"
        "SQLiteSession.remark = lambda self, *said: os.kill(os.getpid(), signal.SIGKILL)\n"  # recounted, not named
        "policy = ix.Policy({'a': ix.quasi(ix.suppress()), 'b': ix.drop(), 'n': ix.drop()}, [ix.KAnonymity(2)], "
        "max_suppression=1)\n"
        "ix.anonymize(sys.argv[1], policy).publish('out')\n"
    )
    done = subprocess.run([sys.executable, "-c", script, address], check=False, capture_output=True)
    assert done.returncode == -signal.SIGKILL, done.stderr
    assert tables_in(address) == ["people"]
    assert sqlite.run(address, "PRAGMA integrity_check") == [("ok",)]
    with ix.anonymize(address, POLICY) as release:
        assert release.publish("out")


@pytest.mark.parametrize(
    "address", ["sqlite://x/y.db?table=t", "sqlite:///?table=t", "sqlite:///no/such.db?table=t", "sqlite:///x.db"]
)
def test_addresses_of_no_table_are_refused(address: str) -> None:
    with pytest.raises(TableError):
        open_table(address)


def test_what_is_no_database_is_refused(tmp_path: Path) -> None:
    (tmp_path / "made.db").write_text("name,secret\n" * 200, "utf-8")
    with pytest.raises(TableError, match="no database of SQLite"):
        open_table(f"sqlite:///{tmp_path}/made.db?table=t")
    assert not (tmp_path / "other.db").exists()
