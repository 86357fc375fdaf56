"""What a recipient finds in a release folder beside the rows that are counted: verify refuses all of it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

import indistinct as ix
from indistinct.engine import open_table
from indistinct.engine.formats import FileReading, load_format
from indistinct.release.manifest import file_digest
from indistinct.search.two_tables.anatomy import Anatomy

POLICY = ix.Policy(columns={"sex": ix.quasi(ix.suppress()), "ill": ix.other()}, privacy=[ix.KAnonymity(2)])
TABLE = pa.table({"sex": ["m", "m", "f", "f"], "ill": ["flu", "", None, "cough"]})


def written(folder: Path, kind: str) -> Path:
    """Write a release of a table of this kind, and give its folder."""
    source: Any = TABLE
    if kind == "database":
        source = folder / "private.duckdb"
        with duckdb.connect(str(source)) as database:
            database.register("given", TABLE)
            database.execute("CREATE TABLE people AS SELECT * FROM given")
    elif kind == "ipc":
        source = folder / "private.arrow"
        with pa.ipc.new_file(str(source), TABLE.schema) as file:
            file.write_table(TABLE)
    elif kind == "csv":
        source = folder / "private.csv"
        source.write_text("sex,ill\nm,flu\nm,\nf,\nf,cough\n")
    with ix.anonymize(source, POLICY) as release:
        return release.write(folder / "release")


def state_anew(folder: Path) -> None:
    """Let the manifest state the digests of the tables as they are now, as a cheating holder would."""
    place = folder / "manifest.json"
    said = json.loads(place.read_text())
    said["files"] = {name: file_digest(folder / name) for name in said["files"]}
    place.write_text(json.dumps(said))


def what_fails(folder: Path) -> dict[str, str]:
    return {check.name: check.detail for check in ix.verify(folder, POLICY).checks if not check.passed}


@pytest.mark.parametrize("kind", ["csv", "parquet", "ipc", "database"])
def test_a_release_of_ours_holds_nothing_strange(tmp_path: Path, kind: str) -> None:
    assert what_fails(written(tmp_path, kind)) == {}


@pytest.mark.parametrize("name", ["private.csv", ".hidden", "release.html"])
def test_a_further_file_is_refused(tmp_path: Path, name: str) -> None:
    folder = written(tmp_path, "csv")
    (folder / name).write_text("name,sex\nAnn,f\n")
    assert "1 file that the manifest does not list" in what_fails(folder)["file"]


def test_a_further_folder_is_refused(tmp_path: Path) -> None:
    folder = written(tmp_path, "csv")
    (folder / "more").mkdir()
    assert "does not list" in what_fails(folder)["file"]


@pytest.mark.parametrize("name", ["table.csv", "manifest.json"])
def test_a_link_to_another_place_is_refused(tmp_path: Path, name: str) -> None:
    folder = written(tmp_path, "csv")
    (folder / name).rename(tmp_path / name)
    (folder / name).symlink_to(tmp_path / name)
    assert f"{name} is a link to another place" in what_fails(folder)["file"]


def add_metadata(path: Path) -> None:
    table = pyarrow.parquet.read_table(path)
    pyarrow.parquet.write_table(table.replace_schema_metadata({"note": "Ann is row 3"}), path)


def name_another_writer(path: Path) -> None:
    content = path.read_bytes()
    assert content.count(b"DuckDB version") == 1
    path.write_bytes(content.replace(b"DuckDB version", b"Ann has it yes"))


def add_bytes(path: Path) -> None:
    with path.open("ab") as file:
        file.write(b"Ann has it")


def add_arrow_metadata(path: Path) -> None:
    with pa.ipc.open_file(str(path)) as file:
        table = file.read_all()
    with pa.ipc.new_file(str(path), table.schema.with_metadata({"note": "Ann is row 3"})) as out:
        out.write_table(table.replace_schema_metadata({"note": "Ann is row 3"}))


def add_unused_values(path: Path) -> None:
    with pa.ipc.open_file(str(path)) as file:
        table = file.read_all()
    indices = pa.array([0, 0, 1, 1], pa.int8())
    table = table.set_column(0, "sex", pa.DictionaryArray.from_arrays(indices, pa.array(["m", "f", "Ann"])))
    with pa.ipc.new_file(str(path), table.schema) as out:
        out.write_table(table)


def run(*statements: str) -> Callable[[Path], None]:
    def change(path: Path) -> None:
        with duckdb.connect(str(path)) as database:
            for statement in statements:
                database.execute(statement)

    return change


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "change", "found"),
    [
        ("parquet", add_metadata, "table.parquet holds metadata of its own"),
        ("parquet", name_another_writer, "table.parquet holds the name of another program"),
        ("database", add_bytes, "room that no row uses"),
        (
            "database",
            run(
                "INSERT INTO people SELECT '*', 'Ann' FROM range(9)",
                "CHECKPOINT",
                "DELETE FROM people WHERE ill = 'Ann'",
            ),
            "room that no row uses",
        ),
        ("ipc", add_arrow_metadata, "table.arrow holds metadata of its own"),
        ("ipc", add_unused_values, "values of column 'sex' that no row has"),
        ("database", run("CREATE MACRO private() AS 'Ann'"), "macros"),
        ("database", run("CREATE TYPE private AS ENUM ('Ann')"), "types"),
        ("database", run("COMMENT ON TABLE people IS 'Ann'"), "a comment on the table"),
        ("database", run("COMMENT ON COLUMN people.ill IS 'Ann'"), "comments on columns"),
        ("database", run("ALTER TABLE people ALTER ill SET DEFAULT 'Ann'"), "default values"),
        (
            "database",
            run("ALTER TABLE people ALTER sex TYPE ENUM ('m', 'f', '*', 'Ann')"),
            "columns that list their values",
        ),
        ("database", run("CREATE SEQUENCE private START 1973"), "sequences"),
    ],
)
def test_what_a_file_holds_beside_its_rows_is_refused(
    tmp_path: Path, kind: str, change: Callable[[Path], None], found: str
) -> None:
    """The manifest states the digest of the changed file, so it is not the digest that tells."""
    folder = written(tmp_path, kind)
    (table,) = (path for path in folder.iterdir() if path.name != "manifest.json")
    change(table)
    state_anew(folder)
    failed = what_fails(folder)
    assert found in failed["file"]
    assert "Ann" not in failed["file"]


@pytest.mark.parametrize("what", ["VIEW", "TABLE"])
def test_a_database_with_another_table_or_view_is_refused(tmp_path: Path, what: str) -> None:
    folder = written(tmp_path, "database")
    run(f"CREATE {what} private AS SELECT 'Ann' AS name")(folder / "table.duckdb")
    state_anew(folder)
    with pytest.raises(ix.TableError, match="say which table"):
        ix.verify(folder, POLICY)
    found = load_format("database").hidden_content(folder / "table.duckdb", FileReading())
    assert found[0] == {"VIEW": "views", "TABLE": "further tables"}[what]
    assert set(found[1:]) <= {"room that no row uses, in which removed rows can lie"}


@pytest.mark.parametrize("name", ["more.pq", "more.PARQUET", "more.csv", "more.parquet.gz"])
def test_files_that_only_some_readers_take_for_rows_are_refused(tmp_path: Path, name: str) -> None:
    """pyarrow reads every file of a folder, the engine those that end in .parquet."""
    pyarrow.parquet.write_table(TABLE.select(["sex", "ill"]), tmp_path / "part.parquet")
    assert ix.verify(tmp_path, POLICY).passed
    pyarrow.parquet.write_table(TABLE.slice(0, 1), tmp_path / name)
    assert "beside its Parquet files" in what_fails(tmp_path)["file"]


def test_a_folder_named_for_a_column_that_the_files_have_is_refused(tmp_path: Path) -> None:
    (tmp_path / "sex=m").mkdir()
    pyarrow.parquet.write_table(TABLE, tmp_path / "sex=m" / "part.parquet")
    assert "folders named for columns" in what_fails(tmp_path)["file"]


@pytest.mark.parametrize(
    "cells", [pa.array(["", None, "m", "m"]), pa.array([float("nan"), None, 1.0, 1.0], from_pandas=False)]
)
def test_two_forms_of_missing_are_refused(tmp_path: Path, cells: pa.Array) -> None:
    """To verify they are one group of two, to a recipient two of one."""
    pyarrow.parquet.write_table(pa.table({"sex": cells, "ill": ["flu"] * 4}), tmp_path / "table.parquet")
    verdict = ix.verify(tmp_path / "table.parquet", POLICY)
    assert [check.name for check in verdict.checks if not check.passed] == ["missing cells"]
    with open_table(tmp_path / "table.parquet") as rows:
        assert rows.mixed_missing(rows.columns()) == ("sex",)


@pytest.mark.parametrize("cells", [["", ""], [None, None], ["", "m"], [None, "m"], ["m", "f"]])
def test_one_form_of_missing_passes(cells: list[str | None]) -> None:
    with open_table(pa.table({"sex": pa.array(cells, pa.string()), "age": [1, None]})) as rows:
        assert rows.mixed_missing(rows.columns()) == ()


def test_our_own_releases_write_one_form_of_missing(tmp_path: Path) -> None:
    """The table has null and empty text."""
    with open_table(TABLE) as rows:
        assert rows.mixed_missing(rows.columns()) == ("ill",)
    with open_table(written(tmp_path, "parquet") / "table.parquet") as rows:
        assert rows.mixed_missing(rows.columns()) == ()


# Two tables: the order of rows and the names of classes tell nothing.

APART = ix.Policy(
    columns={"who": ix.quasi(ix.suppress()), "ill": ix.sensitive()}, privacy=[ix.LDiversity(2)], algorithm="anatomy"
)


def two_tables() -> dict[str, pa.Table]:
    table = pa.table(
        {"who": [f"p{n}" for n in range(300)], "ill": [("flu", "cough", "ache")[n % 3] for n in range(300)]}
    )
    with ix.anonymize(table, APART, algorithm=Anatomy()) as release:
        return dict(release.tables)


def failed_of(tables: dict[str, pa.Table]) -> dict[str, str]:
    return {check.name: check.detail for check in ix.verify(tables, APART).checks if not check.passed}


def test_the_order_of_two_tables_tells_nothing() -> None:
    tables = two_tables()
    assert failed_of(tables) == {}
    sorted_ones = {name: table.sort_by("class_id") for name, table in tables.items()}
    assert "same places" in failed_of(sorted_ones)["order"]
    one_sorted = tables | {"sensitive": tables["sensitive"].sort_by("class_id")}
    assert "the sensitive table has rows of a class together" in failed_of(one_sorted)["order"]
    order = np.random.default_rng(1).permutation(300)
    same_order = {name: table.take(order) for name, table in sorted_ones.items()}
    assert failed_of(same_order)["order"].startswith("both tables have rows of a class at the same places, so")


@pytest.mark.slow
@pytest.mark.parametrize("name", ["Ann", "01", "19730315", " 1", "-1", "9" * 40, "²"])
def test_classes_are_numbers(name: str) -> None:
    tables = {
        part: table.set_column(
            0, "class_id", pa.array([name if n == 1 else str(n) for n in table["class_id"].to_pylist()])
        )
        for part, table in two_tables().items()
    }
    failed = failed_of(tables)
    assert "must be numbers of at most 4 digits" in failed["classes"]
    assert "Ann" not in failed["classes"]
