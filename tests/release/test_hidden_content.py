"""What a file of a release holds beside its rows: readers of the format find it, so verify refuses it."""

from __future__ import annotations

import io
import json
import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import indistinct as ix
from indistinct.engine.formats import FileReading, delimited_text, load_format
from indistinct.release.manifest import file_digest

pandas = pytest.importorskip("pandas")
pyreadstat = pytest.importorskip("pyreadstat")
openpyxl = pytest.importorskip("openpyxl")
pa = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")

FRAME = pandas.DataFrame(
    {
        "age": ["20", "30", "40"] * 4,
        "zip": ["1000"] * 6 + ["2000"] * 6,
        "day": [pandas.Timestamp(2020, 1, day + 1) for day in range(12)],
        "cost": [number + 0.5 for number in range(12)],
        "ill": ["flu", "a <b>", 'x"y', "=1"] * 3,
        "visits": [1.0, None] * 6,
        "note": ["x", "x", None] * 4,
    }
)
POLICY = ix.Policy(
    columns={name: ix.quasi(ix.suppress()) for name in ("age", "zip")}
    | {name: ix.other() for name in ("day", "cost", "ill", "visits", "note")},
    privacy=[ix.KAnonymity(3)],
)


@pytest.fixture(scope="module")
def releases(tmp_path_factory):
    """Return a release of each format, made once."""
    folder = tmp_path_factory.mktemp("formats")
    FRAME.assign(ill=FRAME["ill"].replace("=1", "1")).to_excel(folder / "t.xlsx", index=False)
    pyreadstat.write_dta(FRAME, str(folder / "t.dta"))
    pyreadstat.write_sav(FRAME, str(folder / "t.sav"))
    table = pa.Table.from_pandas(FRAME, preserve_index=False).replace_schema_metadata(None)
    with pa.ipc.new_file(str(folder / "t.arrow"), table.schema) as file:
        file.write_table(table)
    FRAME.to_csv(folder / "t.csv", index=False)
    FRAME.astype({"day": str}).to_json(folder / "t.jsonl", orient="records", lines=True)
    parquet.write_table(table, folder / "t.parquet")
    kinds = ("xlsx", "dta", "sav", "arrow", "csv", "jsonl", "parquet")
    return {kind: ix.anonymize(folder / f"t.{kind}", POLICY).write(folder / kind) for kind in kinds}


def book(change: Callable[[Any], object]) -> Callable[[Path], None]:
    """Return what changes a workbook."""

    def do(path: Path) -> None:
        found = openpyxl.load_workbook(path)
        change(found)
        found.save(path)

    return do


def part(name: str, *change: bytes) -> Callable[[Path], None]:
    """Return what puts a part into a workbook, or replaces bytes of one."""

    def do(path: Path) -> None:
        with zipfile.ZipFile(path) as file:
            parts = {one: file.read(one) for one in file.namelist()}
        parts[name] = parts[name].replace(*change) if len(change) == 2 else change[0]
        with zipfile.ZipFile(path, "w") as file:
            for one, content in parts.items():
                file.writestr(one, content)

    return do


def arrow(write: Callable[[Any, Any], None], **options: Any) -> Callable[[Path], None]:
    """Return what writes an Arrow file anew."""

    def do(path: Path) -> None:
        with pa.OSFile(str(path)) as source:
            table = pa.ipc.open_file(source).read_all()
        with pa.ipc.new_file(str(path), table.schema, **options) as file:
            write(file, table)

    return do


def batches(file: Any, table: Any) -> None:
    for batch in table.to_batches():
        file.write_batch(batch, custom_metadata={"note": "Ann"})


def dta(**more: Any) -> Callable[[Path], None]:
    return lambda path: pyreadstat.write_dta(pyreadstat.read_dta(str(path))[0], str(path), **more)


def sav(**more: Any) -> Callable[[Path], None]:
    return lambda path: pyreadstat.write_sav(pyreadstat.read_sav(str(path))[0], str(path), **more)


def text(*change: bytes) -> Callable[[Path], None]:
    """Return what puts bytes in the place of others, once, or around them where there is one alone."""

    def do(path: Path) -> None:
        content = path.read_bytes()
        path.write_bytes(content.replace(*change, 1) if len(change) == 2 else content + change[0])

    return do


def lines(change: Callable[[bytes], bytes]) -> Callable[[Path], object]:
    return lambda path: path.write_bytes(change(path.read_bytes()))


def second_of(keys: Callable[[dict[str, Any]], dict[str, Any]]) -> Callable[[Path], None]:
    """Return what changes the object on the second line of JSON lines."""

    def do(path: Path) -> None:
        first, second, *others = path.read_text("utf-8").splitlines(keepends=True)
        second = json.dumps(keys(json.loads(second)), separators=(",", ":")) + "\n"
        path.write_text("".join([first, second, *others]), "utf-8")

    return do


def columnar(change: Callable[[Any], Any] = lambda table: table, **options: Any) -> Callable[[Path], None]:
    """Return what writes a Parquet file anew."""

    def do(path: Path) -> None:
        parquet.write_table(change(parquet.read_table(path)), path, **({"store_schema": False} | options))

    return do


def with_column(name: str, made: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return what exchanges a column of a table."""
    return lambda table: table.set_column(table.column_names.index(name), name, made(table[name].combine_chunks()))


def with_unused_value(column: Any) -> Any:
    coded = column.dictionary_encode()
    return pa.DictionaryArray.from_arrays(coded.indices, pa.array([*coded.dictionary.to_pylist(), "Ann"]))


def with_text_behind_nulls(column: Any) -> Any:
    texts = pa.array(["Ann" if cell is None else cell for cell in column.to_pylist()]).buffers()
    return pa.Array.from_buffers(pa.string(), len(column), [column.buffers()[0], *texts[1:]])


def with_numbers_behind_nulls(column: Any) -> Any:
    numbers = pa.array([float(place) for place in range(len(column))]).buffers()[1]
    return pa.Array.from_buffers(column.type, len(column), [column.buffers()[0], numbers])


def before_footer(path: Path) -> None:
    content = path.read_bytes()
    footer = 8 + int.from_bytes(content[-8:-4], "little")
    path.write_bytes(content[:-footer] + b"Ann" + content[-footer:])


def in_footer(path: Path) -> None:
    content = path.read_bytes()
    footer = 8 + int.from_bytes(content[-8:-4], "little")
    path.write_bytes(content[:-footer] + content[-footer:].replace(b'x"y', b"Ann"))


SHEET = "xl/worksheets/sheet1.xml"
NAMED = b'<definedNames><definedName name="a">"Ann"</definedName></definedNames>'
STAR = b'<c r="B2" t="inlineStr"><is><t>*</t></is></c>'
ATTACKS = {
    "a hidden sheet": ("xlsx", book(lambda b: setattr(b.create_sheet("h"), "sheet_state", "veryHidden"))),
    "a comment": ("xlsx", book(lambda b: setattr(b.active["A1"], "comment", openpyxl.comments.Comment("Ann", "x")))),
    "a property": ("xlsx", book(lambda b: setattr(b.properties, "title", "Ann"))),
    "a header of the page": ("xlsx", book(lambda b: setattr(b.active.oddHeader.center, "text", "Ann"))),
    "custom XML": ("xlsx", part("customXml/item1.xml", b"<a>Ann</a>")),
    "a remark in XML": ("xlsx", part("xl/workbook.xml", b"<sheets>", b"<!--Ann--><sheets>")),
    "a defined name": ("xlsx", part("xl/workbook.xml", b"<definedNames />", NAMED)),
    "a name of a style": ("xlsx", part("xl/styles.xml", b'name="Normal"', b'name="Ann"')),
    "a cell twice": ("xlsx", part(SHEET, STAR, STAR.replace(b"*", b"Ann") + STAR)),
    "a value beside a text": ("xlsx", part(SHEET, STAR, STAR.replace(b"</is>", b"</is><v>Ann</v>"))),
    "blanks kept where there are none": (
        "xlsx",
        part(SHEET, STAR, STAR.replace(b"<t>", b'<t xml:space="preserve">')),
    ),
    "a hidden row": ("xlsx", part(SHEET, b'<row r="2"', b'<row r="2" hidden="1"')),
    "a label of a Stata file": ("dta", dta(file_label="Ann")),
    "labels of Stata columns": ("dta", dta(column_labels={"ill": "Ann"})),
    "value labels of Stata": ("dta", dta(variable_value_labels={"cost": {99: "Ann"}})),
    "what follows a Stata file": ("dta", lambda path: path.write_bytes(path.read_bytes() + b"Ann")),
    "a label of an SPSS file": ("sav", sav(file_label="Ann")),
    "a note of SPSS": ("sav", sav(note="Ann")),
    "labels of SPSS columns": ("sav", sav(column_labels={"ill": "Ann"})),
    "value labels of SPSS": ("sav", sav(variable_value_labels={"cost": {99.0: "Ann"}})),
    "values declared missing": ("sav", sav(missing_ranges={"cost": [99.0]})),
    "what stands before a zip": ("xlsx", lines(lambda content: b"Ann" + content)),
    "what follows a zip": ("xlsx", text(b"Ann")),
    "what follows an SPSS file": ("sav", text(b"Ann")),
    "a byte order mark": ("csv", lines(lambda content: b"\xef\xbb\xbf" + content)),
    "other line ends": ("csv", lines(lambda content: content.replace(b"\n", b"\r\n"))),
    "a blank line": ("csv", text(b"\n", b"\n\n")),
    "a blank line before all": ("csv", lines(lambda content: b"\n" + content)),
    "a blank line at the end": ("csv", text(b"\n")),
    "a last line without its end": ("csv", lines(lambda content: content[:-1])),
    "quotation marks": ("csv", text(b"flu", b'"flu"')),
    "a quoted name of a column": ("csv", text(b"age", b'"age"')),
    "a delimiter at the end of a line": ("csv", lines(lambda content: content[:-1] + b",\n")),
    "blanks in JSON": ("jsonl", text(b'"ill":', b'"ill": ')),
    "an escape in JSON": ("jsonl", text(b'"flu"', b'"\\u0066lu"')),
    "an escape in a key": ("jsonl", text(b'"ill"', b'"\\u0069ll"')),
    "digits of a number": ("jsonl", text(b"3.5,", b"3.500000000000000000000000424242,")),
    "another writing of a number": ("jsonl", text(b"3.5,", b"35e-1,")),
    "a number that is too large": ("jsonl", text(b"3.5,", b"3.5e999,")),
    "a blank line in JSON lines": ("jsonl", text(b"\n", b"\n \n")),
    "other line ends in JSON lines": ("jsonl", text(b"\n", b"\r\n")),
    "a mark before JSON lines": ("jsonl", lines(lambda content: b"\xef\xbb\xbf" + content)),
    "JSON without the last line end": ("jsonl", lines(lambda content: content[:-1])),
    "another order of keys": ("jsonl", second_of(lambda cells: dict(sorted(cells.items(), reverse=True)))),
    "a key that is left out": (
        "jsonl",
        second_of(lambda cells: {key: cell for key, cell in cells.items() if cell is not None and key != "visits"}),
    ),
    "a number among texts": ("jsonl", second_of(lambda cells: cells | {"ill": 1})),
    "values that no row of a Parquet file has": ("parquet", columnar(with_column("ill", with_unused_value))),
    "numbers of Parquet columns": (
        "parquet",
        columnar(
            lambda table: table.cast(
                pa.schema([field.with_metadata({b"PARQUET:field_id": b"4242"}) for field in table.schema])
            )
        ),
    ),
    "metadata of a Parquet file": ("parquet", columnar(store_schema=True)),
    "statistics of a Parquet file": ("parquet", in_footer),
    "bytes before a Parquet footer": ("parquet", before_footer),
    "texts behind missing cells": (
        "arrow",
        arrow(lambda file, table: file.write_table(with_column("note", with_text_behind_nulls)(table))),
    ),
    "numbers behind missing cells": (
        "arrow",
        arrow(lambda file, table: file.write_table(with_column("visits", with_numbers_behind_nulls)(table))),
    ),
    "metadata of an Arrow batch": ("arrow", arrow(batches)),
    "metadata of an Arrow footer": ("arrow", arrow(lambda file, table: file.write_table(table), metadata={"n": "Ann"})),
}


@pytest.mark.parametrize("what", ATTACKS)
def test_hidden_content_is_refused_and_not_quoted(releases, tmp_path, what):
    kind, do = ATTACKS[what]
    folder = shutil.copytree(releases[kind], tmp_path / "release")
    table = folder / f"table.{kind}"
    before = table.read_bytes()
    do(table)
    assert table.read_bytes() != before
    said = json.loads((folder / "manifest.json").read_text("utf-8"))
    said["files"] = {table.name: file_digest(table)}
    (folder / "manifest.json").write_text(json.dumps(said), "utf-8")
    verdict = ix.verify(folder, POLICY)
    assert [check.name for check in verdict.checks if not check.passed] == ["file"], verdict
    assert "table" in str(verdict)
    assert "Ann" not in str(verdict)


@pytest.mark.parametrize("kind", ["xlsx", "dta", "sav", "arrow", "csv", "jsonl", "parquet"])
def test_what_is_written_here_has_none(releases, kind):
    assert ix.verify(releases[kind], POLICY).passed


def test_a_workbook_may_have_blanks_at_the_ends_of_names_and_cells(tmp_path):
    pandas.DataFrame({" age": [30] * 4, "ill": [" flu", "gout ", "a\nb ", "flu"]}).to_excel(
        tmp_path / "t.xlsx", index=False
    )
    policy = ix.Policy(columns={" age": ix.quasi(), "ill": ix.other()}, privacy=[ix.KAnonymity(2)])
    with ix.anonymize(tmp_path / "t.xlsx", policy) as release:
        release.write(tmp_path / "release")
    assert ix.verify(tmp_path / "release", policy, original=tmp_path / "t.xlsx").passed


def test_a_damaged_part_of_a_workbook_is_reported_as_such(releases, tmp_path):
    """A part that no reader of cells looks at is not unpacked before."""
    folder = shutil.copytree(releases["xlsx"], tmp_path / "release")
    table = folder / "table.xlsx"
    with zipfile.ZipFile(table) as file:
        place = file.getinfo("docProps/core.xml")
        start = place.header_offset + 30 + len(place.filename)
        size = place.compress_size
    content = bytearray(table.read_bytes())
    content[start : start + size] = b"\xff" * size
    table.write_bytes(content)
    with pytest.raises(ix.TableError, match="is not a whole Excel workbook"):
        ix.verify(folder, POLICY)


def test_a_writer_of_parquet_that_is_no_text_is_reported_as_such(tmp_path: Path) -> None:
    import duckdb

    duckdb.sql(f"COPY (SELECT 1 AS a) TO '{tmp_path / 't.parquet'}'")
    content = (tmp_path / "t.parquet").read_bytes()
    (tmp_path / "t.parquet").write_bytes(content.replace(b"DuckDB version", b"DuckDB \xf1ersion"))
    with pytest.raises(ix.TableError, match="is not a Parquet file"):
        load_format("parquet").hidden_content(tmp_path / "t.parquet", FileReading())


@given(st.text('"\n,a').map(str.encode), st.integers(1, 9))
def test_blocks_of_text_end_where_lines_end_outside_of_quotes(text: bytes, size: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(delimited_text, "BLOCK", size)
        blocks = list(delimited_text._whole_lines(io.BytesIO(text)))
    assert b"".join(blocks) == text
    for block in blocks[:-1]:
        assert block.endswith(b"\n")
        assert block.count(b'"') % 2 == 0
    ends = [place for place in range(len(text)) if text[place] == 10 and text.count(b'"', 0, place) % 2 == 0]
    assert len(blocks) >= len({place // size for place in ends})  # none waits for a later one


@pytest.mark.parametrize("end", [b'",1\n', b""], ids=["closed", "never closed"])
def test_a_cell_of_many_lines_is_looked_at_once(end: bytes) -> None:
    text = b'a,b\n"' + b"one line of many\n" * 400_000 + end  # for ever, if each line were counted from the start
    found = delimited_text.delimited_oddities(io.BytesIO(text), ",")
    assert found == ([] if end else [delimited_text.QUOTATION])
