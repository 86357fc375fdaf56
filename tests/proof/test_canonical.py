"""verify --canonical: nothing is in a released file but its rows; every bit more is seen, and our own files pass."""

from __future__ import annotations

import datetime
import json
import os
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet
import pytest
from typer.testing import CliRunner

import indistinct as ix
from indistinct.cli import app
from indistinct.engine import open_table
from indistinct.engine.duckdb import DuckRows
from indistinct.engine.duckdb.session import Session
from indistinct.engine.duckdb.source import DuckSource
from indistinct.engine.duckdb.table_files import Origin, write_file
from indistinct.engine.formats import FORMATS, load_format
from indistinct.release.manifest import file_digest

ROWS = 40
TEXTS = ['a "quoted", one', "two\nlines", " blanks ", "ü", "'", "# no remark", None]
TABLE = pa.table(
    {
        "age": [str(20 + number % 4) for number in range(ROWS)],
        "note": [TEXTS[number % 7] for number in range(ROWS)],
        "cost": [None if number % 5 == 0 else number / 3 for number in range(ROWS)],
        "visits": list(range(ROWS)),
        "day": [datetime.date(2024, 1, 1) + datetime.timedelta(days=number) for number in range(ROWS)],
        "is_in": [number % 2 == 0 for number in range(ROWS)],
    }
)
POLICY = ix.Policy(
    columns={
        "age": ix.quasi(ix.intervals(10)),
        "note": ix.sensitive(),
        **{name: ix.other() for name in ("cost", "visits", "day", "is_in")},
    },
    privacy=[ix.KAnonymity(2)],
)
CANONICAL = [kind for kind in FORMATS if load_format(kind).is_canonical]


def release(kind: str, folder: Path, table: pa.Table = TABLE, policy: ix.Policy = POLICY, **how: str) -> Path:
    """Write a release of a table that came in a file of this kind; give the released file."""
    form = load_format(kind)
    given = folder / f"given{form.suffixes[0]}"
    with open_table(table) as rows:
        assert isinstance(rows, DuckRows)
        write_file(rows.source, folder, "given", Origin(kind, delimiter=";"))
    with ix.anonymize(given, policy, **how) as made:
        written = made.write(folder / "out")
    return next(path for path in written.iterdir() if path.name != "manifest.json")


def canonical(folder: Path, policy: ix.Policy = POLICY) -> ix.Verdict:
    return ix.verify(folder, policy, canonical=True)


def failed(verdict: ix.Verdict) -> dict[str, str]:
    return {check.name: check.detail for check in verdict.checks if not check.passed}


def change(file: Path, turn: Callable[[bytes], bytes]) -> None:
    """Change a released file, and its digest in the manifest with it."""
    before = file.read_bytes()
    file.write_bytes(turn(before))
    assert file.read_bytes() != before
    restate(file)


def restate(file: Path) -> None:
    manifest = file.parent / "manifest.json"
    said = json.loads(manifest.read_text("utf-8"))
    said["files"][file.name] = file_digest(file)
    manifest.write_text(json.dumps(said, indent=2, ensure_ascii=False) + "\n", "utf-8")


@pytest.mark.parametrize("kind", CANONICAL)
def test_what_we_write_is_canonical(kind: str, tmp_path: Path) -> None:
    verdict = canonical(release(kind, tmp_path).parent)
    assert verdict.passed
    assert "canonical" in [check.name for check in verdict.checks]
    assert not any(one.id == "files.canonical" for one in verdict.not_checked)


@pytest.mark.parametrize("has_missing", [False, True])
def test_bytes_of_a_parquet_file_follow_from_rows_however_they_lie_in_memory(has_missing: bool, tmp_path: Path) -> None:
    """Cells of short lists are small numbers in memory; whether one is missing is known of some columns beforehand."""
    with closing(Session("many rows", threads=2)) as session:
        text = f"CASE WHEN i % 3 > 0 OR NOT {has_missing} THEN 'v' || (i % 7) END"
        session.execute(f"CREATE TABLE plain AS SELECT {text} AS a, i // 2 AS b FROM range(150000) AS numbers(i)")
        session.execute("CREATE TYPE few AS ENUM (SELECT DISTINCT a FROM plain WHERE a IS NOT NULL)")
        session.execute("CREATE TABLE small AS SELECT a::few AS a, b FROM plain")
        session.execute("CREATE VIEW shown AS SELECT a::VARCHAR AS a, b FROM small")
        files = [tmp_path / f"{name}.parquet" for name in ("plain", "shown", "file")]
        for name, path in zip(("plain", "shown", "again"), files, strict=True):
            if name == "again":
                session.execute(f"CREATE VIEW again AS SELECT * FROM read_parquet('{files[1]}')")
            assert write_file(DuckSource(session, name), tmp_path, path.stem, Origin("parquet")) == path
    assert len({path.read_bytes() for path in files}) == 1


def test_formats_are_canonical_or_said_not_to_be() -> None:
    assert CANONICAL == ["csv", "parquet", "ipc", "json-lines"]


def test_of_other_formats_it_cannot_be_said(tmp_path: Path) -> None:
    verdict = canonical(release("database", tmp_path).parent)
    assert verdict.passed
    assert "table.duckdb: such files are written otherwise each time" in " ".join(map(str, verdict.not_checked))


def test_a_frame_has_no_bytes(tmp_path: Path) -> None:
    with ix.anonymize(TABLE, POLICY) as made:
        verdict = ix.verify(made.table, POLICY, canonical=True)
    assert verdict.passed
    assert "only a file has bytes" in str(verdict.not_checked[-1])


@pytest.mark.parametrize(
    "turn",
    [
        lambda text: text.replace(b"ge;", b'ge";', 1).replace(b"age", b'"age', 1),
        lambda text: text.replace(b"\n", b"\n\n", 1),
        lambda text: text + b"\n",
        lambda text: text[:-1],
        lambda text: b"\xef\xbb\xbf" + text,
        lambda text: text.replace(b";true\n", b';"true"\n', 1),
        lambda text: text.replace(b";;", b';"";', 1),
    ],
    ids=["quoted name", "blank line", "line at the end", "no end", "byte order mark", "quoted cell", "quoted missing"],
)
def test_what_text_carries_beside_its_rows_is_seen(turn: Callable[[bytes], bytes], tmp_path: Path) -> None:
    file = release("csv", tmp_path)
    change(file, turn)
    assert "canonical" in failed(canonical(file.parent))


def test_line_ends_are_seen(tmp_path: Path) -> None:
    table = TABLE.drop_columns("note")  # a cell with a line break would be another one
    policy = ix.Policy(columns={name: POLICY.columns[name] for name in table.column_names}, privacy=[ix.KAnonymity(2)])
    file = release("csv", tmp_path, table, policy)
    change(file, lambda text: text.replace(b"\n", b"\r\n"))
    assert "canonical" in failed(canonical(file.parent, policy))


@pytest.mark.parametrize(
    "turn",
    [lambda text: text.replace(b'":', b'": ', 1), lambda text: text.replace("ü".encode(), b"\\u00fc", 1)],
    ids=["blank", "escape"],
)
def test_what_json_carries_beside_its_rows_is_seen(turn: Callable[[bytes], bytes], tmp_path: Path) -> None:
    file = release("json-lines", tmp_path)
    change(file, turn)
    assert "canonical" in failed(canonical(file.parent))


def test_how_a_parquet_file_is_packed_is_seen(tmp_path: Path) -> None:
    file = release("parquet", tmp_path)
    table = pyarrow.parquet.read_table(file)
    pyarrow.parquet.write_table(table.replace_schema_metadata(None), file, row_group_size=7, store_schema=False)
    restate(file)
    assert ix.verify(file.parent, POLICY).passed
    assert set(failed(canonical(file.parent))) == {"canonical"}


def test_the_parts_of_an_arrow_file_are_seen(tmp_path: Path) -> None:
    file = release("ipc", tmp_path)
    with pa.memory_map(str(file)) as opened:
        table = pa.ipc.open_file(opened).read_all().combine_chunks()
    again = file.with_name("again")
    with pa.ipc.new_file(str(again), table.schema) as target:
        target.write_table(table, max_chunksize=7)
    os.replace(again, file)
    restate(file)
    assert ix.verify(file.parent, POLICY).passed
    assert set(failed(canonical(file.parent))) == {"canonical"}


def test_the_order_of_columns_is_seen(tmp_path: Path) -> None:
    file = release("csv", tmp_path)
    with open_table(file, delimiter=";") as rows:
        assert isinstance(rows, DuckRows)
        turned = rows.derive(['"note"', '"age"', "cost", "visits", "day", "is_in"], rows.source.relation, frozenset())
        turned.write(tmp_path)
    os.replace(tmp_path / "table.csv", file)
    restate(file)
    assert ix.verify(file.parent, POLICY).passed
    assert "stand in another order" in failed(canonical(file.parent))["canonical"]


def test_blanks_in_a_manifest_are_seen(tmp_path: Path) -> None:
    manifest = release("csv", tmp_path).parent / "manifest.json"
    manifest.write_text(manifest.read_text("utf-8").replace('": ', '":  ', 1), "utf-8")
    assert ix.verify(manifest.parent, POLICY).passed
    assert "manifest.json holds more" in failed(canonical(manifest.parent))["canonical"]


def test_names_of_the_release_are_those_of_the_file(tmp_path: Path) -> None:
    columns = {"age": ix.quasi(ix.intervals(10), rename="years"), "note": ix.sensitive()}
    policy = ix.Policy(columns=columns, privacy=[ix.KAnonymity(2)])
    assert canonical(release("csv", tmp_path, TABLE.select(["age", "note"]), policy).parent, policy).passed


def test_two_tables_are_canonical_each(tmp_path: Path) -> None:
    policy = ix.Policy(
        columns={"age": ix.quasi(ix.intervals(10)), "note": ix.sensitive()},
        privacy=[ix.LDiversity(2)],
    )
    file = release("csv", tmp_path, TABLE.select(["age", "note"]), policy, algorithm="anatomy")
    assert canonical(file.parent, policy).passed
    change(file.parent / "sensitive.csv", lambda text: text + b"\n")
    assert "sensitive.csv holds more" in failed(canonical(file.parent, policy))["canonical"]


def test_the_command_compares_on_request(tmp_path: Path) -> None:
    file = release("csv", tmp_path)
    change(file, lambda text: text.replace(b";;", b';"";', 1))
    assert CliRunner().invoke(app, ["verify", str(file.parent)]).exit_code == 0
    done = CliRunner().invoke(app, ["verify", str(file.parent), "--canonical", "--json"])
    assert done.exit_code == 4
    assert [check["name"] for check in json.loads(done.stdout)["checks"] if not check["passed"]] == ["canonical"]
