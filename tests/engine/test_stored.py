"""Tables that are read once: every later question is answered without the file."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pytest

import indistinct as ix
from indistinct.engine import open_table
from indistinct.engine.duckdb import rows as duck_rows
from indistinct.engine.duckdb.rows import DuckRows
from indistinct.linkage import read_once
from indistinct.release.released_tables import ReleasedTables

TABLE = pa.table({"zip": ["02138", "02139", None, "02138"], "ill": ["flu", "?", "gout", "flu"]})
POLICY = ix.Policy(
    columns={"zip": ix.quasi(ix.prefix()), "ill": ix.sensitive(missing=["?"])}, privacy=[ix.KAnonymity(2)]
)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    pyarrow.csv.write_csv(TABLE, tmp_path / "table.csv")
    return tmp_path / "table.csv"


def test_stored_rows_need_no_file(path: Path) -> None:
    with open_table(path) as given, given.as_stored() as rows:
        path.unlink()
        assert rows.texts(["zip", "ill"]).read_all().to_pydict() == TABLE.to_pydict()
        assert rows.count() == 4
        with rows.encode(["zip"]) as encoded:
            assert encoded.values["zip"] == ("02138", "02139", None)


def test_large_tables_are_not_copied(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(duck_rows, "MOST_STORED", 7)
    with open_table(path) as given, given.as_stored() as rows:
        assert isinstance(rows, DuckRows)
        assert isinstance(given, DuckRows)
        assert rows.source.relation == given.source.relation


def test_a_table_is_read_as_declared_once(path: Path) -> None:
    with read_once(path, POLICY) as rows:
        path.unlink()
        assert rows.unreadable == {}
        with rows.encode(["ill"]) as encoded:
            assert encoded.values["ill"] == ("flu", "gout", None)
        with read_once(rows, POLICY) as again:
            assert again is rows


def test_released_tables_are_read_once(path: Path) -> None:
    with ReleasedTables.of(path, POLICY).read_once() as released:
        path.unlink()
        for _ in range(2):
            with released.only_rows() as rows:
                assert rows.count() == 4
        with ReleasedTables.of(released, POLICY).only_rows() as again:
            assert again is rows
