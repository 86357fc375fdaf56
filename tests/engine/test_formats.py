"""File formats: each is one file and one line, and everything that reads, writes or lists formats knows it."""

from __future__ import annotations

import ast
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from typer.testing import CliRunner

import indistinct as ix
from indistinct.cli import app
from indistinct.engine import formats, open_table
from indistinct.engine.formats import FORMATS, FileFormat, format_of, format_to_write, load_format, name_formats
from indistinct.engine.spark.opening import open_in_spark
from indistinct.errors import OutputError, TableError

POLICY = """version = 1
algorithm = "lattice"

[columns]
zip = { role = "quasi", hierarchy = { prefix = { length = 5, keep = [4, 3, 2] } } }
illness = { role = "other" }

[[privacy]]
model = "k-anonymity"
k = 2
"""
PEOPLE: list[dict[str, str | None]] = [
    {"zip": "02138", "illness": "flu"},
    {"zip": "02139", "illness": None},
    {"zip": "02141", "illness": 'a "cold" and more'},
    {"zip": "02142", "illness": "Übelkeit, {nested}"},
]


KNOWN = "CSV, TSV, Parquet, Arrow, DuckDB (file.duckdb::table), JSON lines, Excel, Stata, SPSS"


def exercise() -> tuple[str, str, str]:
    """Return the exercise of CONTRIBUTING: where its file belongs, the file, and the line."""
    page = Path(__file__).parents[2].joinpath("CONTRIBUTING.md").read_text("utf-8")
    part = page.partition("## Adding a file format")[2].partition("\n## ")[0]
    (place,) = re.findall(r"The file is\s+`src/indistinct/(\S+)\.py`", part)
    source, line = re.findall(r"```py\n(.*?)```", part, re.DOTALL)
    return place, source, line


@pytest.fixture
def fixed_width(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FileFormat]:
    """Do the exercise: put the file beside the others, and add the line."""
    place, source, line = exercise()
    folder, _, module = place.rpartition("/")
    assert folder == "engine/formats"
    home = tmp_path / "beside the others"
    home.mkdir()
    (home / f"{module}.py").write_text(source)
    monkeypatch.setattr(formats, "__path__", [*formats.__path__, str(home)])
    ((kind, where),) = ast.literal_eval(f"{{{line}}}").items()
    monkeypatch.setitem(FORMATS, kind, where)
    yield load_format(kind)
    sys.modules.pop(f"indistinct.engine.formats.{module}", None)


def write_people(path: Path) -> Path:
    lines = [("zip", "illness"), *((person["zip"], person["illness"] or "") for person in PEOPLE)]
    path.write_text("".join(f"{zip_:8}{illness}".rstrip() + "\n" for zip_, illness in lines), "utf-8")
    return path


def in_any_order(people: list[dict[str, str | None]]) -> list[str]:
    """Return people as sorted text: a release has its rows in an order of its own."""
    return sorted(map(json.dumps, people))


def read_people(path: Path) -> list[str]:
    head, *lines = path.read_text("utf-8").splitlines()
    start = head.index("illness")
    return in_any_order([{"zip": line[:start].strip(), "illness": line[start:].strip() or None} for line in lines])


@pytest.mark.parametrize("kind", FORMATS)
def test_a_format_stands_in_the_table_under_its_own_kind(kind: str) -> None:
    assert load_format(kind).kind == kind
    assert format_to_write(kind).kind == (load_format(kind).written_as or kind)


def test_no_two_formats_share_a_suffix() -> None:
    suffixes = [suffix for kind in FORMATS for suffix in load_format(kind).suffixes]
    assert len(set(suffixes)) == len(suffixes)
    assert all(suffix.startswith(".") and suffix == suffix.lower() for suffix in suffixes)


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("t.csv", "csv"),
        ("t.TSV", "csv"),
        ("t.csv.gz", "csv"),
        ("t.dat", "csv"),
        ("t", "csv"),
        ("t.parquet", "parquet"),
        ("t.pq", "parquet"),
        ("t.arrow", "ipc"),
        ("t.Feather", "ipc"),
        ("t.ipc", "ipc"),
        ("t.duckdb", "database"),
        ("t.db", "database"),
        ("t.ddb", "database"),
        ("t.jsonl", "json-lines"),
        ("t.XLSX", "excel"),
        ("t.dta", "stata"),
        ("t.sav", "spss"),
        ("t.sas7bdat", "sas"),
        ("t.xpt", "sas"),
    ],
)
def test_the_suffix_tells_the_format(name: str, kind: str) -> None:
    assert format_of(Path(name)).kind == kind


def test_frames_are_written_as_parquet() -> None:
    assert {format_to_write(kind).kind for kind in ("arrow", "pandas", "polars", "polars-lazy", "duckdb")} == {
        "parquet"
    }


@pytest.mark.slow
def test_adding_a_format_is_one_file_and_one_line(fixed_width: FileFormat, tmp_path: Path) -> None:
    """The exercise of CONTRIBUTING, done: then everything knows the format."""
    table = write_people(tmp_path / "people.fwf")
    policy = ix.parse_policy(POLICY)
    with open_table(table) as rows:
        assert (rows.kind, rows.columns(), rows.count()) == ("fixed-width", ("zip", "illness"), 4)
        assert pa.table(rows.to_native()).to_pylist() == PEOPLE

    with ix.anonymize(table, policy) as release:
        release.write(tmp_path / "release")
    assert ix.verify(tmp_path / "release", policy, original=table).passed
    written = tmp_path / "release" / "table.fwf"
    labels = ["0213*", "0213*", "0214*", "0214*"]
    assert read_people(written) == in_any_order(
        [person | {"zip": label} for person, label in zip(PEOPLE, labels, strict=True)]
    )
    assert not ix.verify(table, policy).passed

    (tmp_path / "policy.toml").write_text(POLICY)
    for arguments in (
        ["anonymize", str(tmp_path / "policy.toml"), str(table), "-o", str(tmp_path / "by command")],
        ["verify", str(tmp_path / "policy.toml"), str(tmp_path / "by command")],
    ):
        run = CliRunner().invoke(app, arguments)
        assert run.exit_code == 0, run.output
    assert read_people(tmp_path / "by command" / "table.fwf") == read_people(written)


def test_errors_list_the_formats_that_there_are(fixed_width: FileFormat, tmp_path: Path) -> None:
    assert name_formats() == f"{KNOWN}, SAS or fixed-width text"
    with pytest.raises(TableError) as caught:
        open_table(7)
    assert f"give a path to {name_formats()}, a pandas" in str(caught.value)
    unknown = tmp_path / "people.table"
    unknown.write_bytes(b"PK\x03\x04\0\0SECRET")
    with pytest.raises(TableError) as caught:
        open_table(unknown)
    assert str(caught.value).endswith(f"give {name_formats()}")
    assert "SECRET" not in str(caught.value)
    with pytest.raises(TableError, match="Spark reads Parquet files"):
        open_in_spark("people.fwf", "spark")


def test_a_format_of_its_own_fails_as_the_others_do(fixed_width: FileFormat, tmp_path: Path) -> None:
    broken = tmp_path / "broken.fwf"
    broken.write_bytes(b"zip\n\xff SECRET\n")
    with pytest.raises(TableError, match=r"broken\.fwf") as caught, open_table(broken) as rows:
        rows.to_native()
    assert "SECRET" not in str(caught.value)
    with (
        open_table(write_people(tmp_path / "people.fwf")) as rows,
        pytest.raises(OutputError, match=r"table\.fwf: cannot be written"),
    ):
        rows.write(tmp_path / "missing")


def test_without_its_line_a_format_is_not_known(tmp_path: Path) -> None:
    assert name_formats() == f"{KNOWN} or SAS"
    assert format_of(tmp_path / "people.fwf").kind == "csv"


@pytest.mark.parametrize("command", ["check", "solutions"])
def test_the_help_of_commands_names_every_format(command: str) -> None:
    told = CliRunner().invoke(app, [command, "--help"], env={"COLUMNS": "200", "TERMINAL_WIDTH": "200"}).stdout
    words = " ".join(told.replace("│", " ").split())
    assert f"The private table: {name_formats()}, or a table of PostgreSQL" in words
