"""Delimited text is read exactly as it stands, or refused with a line number and without a cell."""

from __future__ import annotations

import bz2
import codecs
import csv
import gzip
import lzma
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers.profiles import examples
from indistinct.engine import Plan, open_table
from indistinct.engine.formats.delimited_text import CELL as CELL_SHAPE
from indistinct.errors import TableError


def read(path: Path, **options: str) -> dict[str, list[str | None]]:
    with open_table(path, **options) as rows:
        table: Any = rows.to_native()
        return table.to_pydict()


def put(path: Path, content: bytes) -> Path:
    path.write_bytes(content)
    return path


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("tail", ["", "END", "ENDENDEND"])
@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_delimiters_and_line_ends_are_found_out(tmp_path: Path, end: str, tail: str, delimiter: str) -> None:
    text = 'zip,"a ""b""",n\n01234,NO,1e5\n"x,y;z|t\tu",NA," s "'.replace(",", delimiter) + tail.replace("END", "\n")
    inside = f"x{delimiter}y;z|t\tu"
    path = put(tmp_path / "t.csv", text.replace("\n", end).encode())
    assert read(path) == {"zip": ["01234", inside], 'a "b"': ["NO", "NA"], "n": ["1e5", " s "]}


@pytest.mark.slow
def test_quoted_line_ends_survive_even_in_a_parallel_scan(tmp_path: Path) -> None:
    cell = 'first\nsecond, "third"\r\nfourth'
    with (tmp_path / "t.csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([("n", "text"), *((number, cell * 20) for number in range(100_000))])
    assert (tmp_path / "t.csv").stat().st_size > 60_000_000
    with open_table(tmp_path / "t.csv", threads=4) as rows:
        assert rows.encode(["text"]).values == {"text": (cell * 20,)}
        assert rows.count() == 100_000
        assert rows.sizes_by(["n"]).max() == 1


@pytest.mark.slow
def test_large_cells_are_read_and_larger_ones_refused(tmp_path: Path) -> None:
    path = put(tmp_path / "t.csv", b'a,b\n1,"' + b"x\n" * 3_000_000 + b'"\n')
    assert len(str(read(path)["b"][0])) == 6_000_000
    for content in (b"x" * 10_000_000, b"x" * 20_000_000, b"x" * 20_000_000 + b"\n3,4\n"):
        path = put(tmp_path / "t.csv", b"a,b\n1," + content + b"\n")
        with pytest.raises(TableError, match="longer than 8 MB"):
            read(path)


@pytest.mark.slow
def test_encodings_by_mark_and_by_name(tmp_path: Path) -> None:
    text = "größe,n\nÄ €,1\n"
    expected = {"größe": ["Ä €"], "n": ["1"]}
    assert read(put(tmp_path / "a.csv", codecs.BOM_UTF8 + text.encode())) == expected
    assert read(put(tmp_path / "b.csv", text.encode("utf-16"))) == expected
    assert read(put(tmp_path / "c.csv", codecs.BOM_UTF16_BE + text.encode("utf-16-be"))) == expected
    assert read(put(tmp_path / "d.csv", text.encode("cp1252")), encoding="cp1252") == expected
    assert read(put(tmp_path / "e.csv", text.encode("utf-16-le")), encoding="utf-16-le") == expected
    assert read(put(tmp_path / "f.csv", text.encode()), encoding="UTF8") == expected
    assert read(put(tmp_path / "g.csv.gz", gzip.compress(text.encode()))) == expected
    assert read(put(tmp_path / "h.csv.gz", gzip.compress(text.encode("cp1252"))), encoding="windows-1252") == expected


PACKED = {
    "gz": gzip.compress,
    "bz2": bz2.compress,
    "xz": lzma.compress,
    "zst": lambda data: pa.compress(data, "zstd", asbytes=True),
}


@pytest.mark.parametrize("suffix", PACKED)
def test_compressed_text_is_read_by_its_name(tmp_path: Path, suffix: str) -> None:
    pack = PACKED[suffix]
    assert read(put(tmp_path / f"t.csv.{suffix}", pack("größe;n\nÄ;1\n".encode()))) == {"größe": ["Ä"], "n": ["1"]}
    assert read(put(tmp_path / f"t.jsonl.{suffix}", pack(b'{"a": "x"}\n{"a": "y"}\n'))) == {"a": ["x", "y"]}


@pytest.mark.parametrize("suffix", PACKED)
@pytest.mark.parametrize("text", ["csv", "jsonl"])
def test_damaged_compressed_text_is_reported_without_its_cells(tmp_path: Path, suffix: str, text: str) -> None:
    lines = [f'{{"a": "SECRET{number * 7919 % 10007}"}}' for number in range(3000)]
    whole = PACKED[suffix]("\n".join(["a", *lines] if text == "csv" else lines).encode())
    middle = len(whole) // 2
    spoilt = whole[:middle] + bytes(255 - byte for byte in whole[middle : middle + 40]) + whole[middle + 40 :]
    for damaged in (whole[:-9], spoilt, b"no such file"):
        with pytest.raises(TableError, match=r"cannot be read|is not|holds") as caught:
            read(put(tmp_path / f"t.{text}.{suffix}", damaged))
        assert "SECRET" not in str(caught.value)


def test_a_lone_column_keeps_its_missing_cells(tmp_path: Path) -> None:
    with open_table(pa.table({"only": ["x", None, "y, z"]})) as frame:
        assert frame.encode(["only"]).values["only"] == ("x", "y, z", None)
    path = put(tmp_path / "t.csv", b'only\nx\n""\n"y, z"\n')
    with open_table(path) as rows:
        assert rows.encode(["only"]).values["only"] == ("x", "y, z", None)
        written = rows.write(tmp_path)
        assert written.read_bytes() == b'only\nx\n""\n"y, z"\n'
        with open_table(written, **rows.format()) as again:
            assert again.difference(rows, ["only"]) == rows.difference(again, ["only"]) == 0


def test_a_lone_column_may_hold_delimiters(tmp_path: Path) -> None:
    assert read(put(tmp_path / "t.csv", b"name\nSmith, John\nDoe\n")) == {"name": ["Smith, John", "Doe"]}


def test_line_breaks_in_column_names_never_lose_rows(tmp_path: Path) -> None:
    for content in (b'a,"b\r"\n1,2\n3,4\n', b'a,"b\n"\r1,2\r3,4\r', b'a,"b\r\n"\n1,2\n3,4\n'):
        assert list(read(put(tmp_path / "t.csv", content)).values()) == [["1", "3"], ["2", "4"]]
    with pytest.raises(TableError, match="a column name holds a line break"):
        read(put(tmp_path / "t.csv", b'a,"b\n"\r\n1,2\r\n3,4\r\n'))


def test_blank_lines_around_the_table_are_skipped(tmp_path: Path) -> None:
    text = b"\n\na,b\n1,2\n\n3,\n\n\n"
    for content in (text, text.replace(b"\n", b"\r\n")):
        assert read(put(tmp_path / "t.csv", content)) == {"a": ["1", "3"], "b": ["2", None]}


def test_a_header_alone_is_a_table_without_rows(tmp_path: Path) -> None:
    for content in (b"a,b", b"a,b\n", b"a;b\r\n"):
        with open_table(put(tmp_path / "t.csv", content)) as rows:
            assert rows.columns() == ("a", "b")
            assert rows.count() == 0


def test_the_delimiter_may_be_said(tmp_path: Path) -> None:
    path = put(tmp_path / "t.csv", b"a;b,c\n1;2,3\n")
    assert list(read(path, delimiter=",")) == ["a;b", "c"]
    assert list(read(path, delimiter=";")) == ["a", "b,c"]
    assert list(read(put(tmp_path / "t.tsv", b"a\tb\n1\t2\n"), delimiter="tab")) == ["a", "b"]
    with pytest.raises(TableError, match="must be one character"):
        read(path, delimiter=";;")
    with pytest.raises(TableError, match="seem to be separated by ';', not by ','"):
        read(put(tmp_path / "t.csv", b"a;b\nSECRET;2\n"), delimiter=",")


PROBLEMS = {
    "empty": (b"", "t.csv: is empty"),
    "blank": (b"\n \n", "t.csv: is empty"),
    "too many cells": (b"a,b\n1,2\nSECRET,3,4\n", "line 3 has 3 cells, but the header has 2"),
    "too few cells": (b"a,b\n1,2\nSECRET\n", "line 3 has 1 cells, but the header has 2"),
    "not UTF-8": (b"a,b\n1,2\nSECRET,\xff\n", "line 3 is not UTF-8; say encoding='latin-1' or --encoding latin-1"),
    "not UTF-8 far down": (b"a,b\n" + b"1,2\n" * 100_000 + b"SECRET,\xff\n", "line 100002 is not UTF-8"),
    "quote not closed": (b'a,b\n1,2\n"SECRET,3\n4,5\n', "line 3 has a quotation mark that is not closed"),
    "text after quote": (b'a,b\n1,2\n"SECRET"x,3\n', "line 3 has a quotation mark"),
    "NUL bytes": (b"PK\x03\x04\0\0SECRET", "holds NUL bytes"),
    "mixed line ends": (b"a,b\r\n1,2\nSECRET,4\r\n", "line ends or quotation marks are not consistent"),
    "another line end after a quote": (b'a,b\n1,"2"\n3,"SECRET"\r\n', "line 3 ends like no line before it"),
    "another line end after two quotes": (b'a,b\r\n1,2\r\n"SECRET","4"\n5,6\r\n', "line 3 ends like no line before"),
    "an old line end after a quote": (b'a,b\n1,"SECRET"\r3,"4"\n', "line 2 ends like no line before it"),
    "quote not closed before others": (b'a,b\n1,"SECRET\n3,"4"\n', "line 2 has a quotation mark that is not closed"),
    "a million columns": (b",".join(b"c%d" % n for n in range(10**6)) + b"\n", "the first line goes on after 262,144"),
    "a header of megabytes": (b"SECRET" * 10**6 + b",b\n1,2\n", "the first line goes on after 262,144"),
    "a quoted header of megabytes": (b'"' + b"SECRET" * 10**6 + b'",b\n1,2\n', "the first line goes on after 262,144"),
    "a long name": (b'"' + b"SECRET" * 30_000 + b'",b\n1,2\n', "a column is longer than 131,072 characters"),
    "text after a quoted name": (b'"SECRET"x,b\n1,2\n', "the first line cannot be read: a quotation mark"),
}


@pytest.mark.parametrize("problem", PROBLEMS)
def test_problems_are_reported_by_line_and_never_by_cell(tmp_path: Path, problem: str) -> None:
    content, message = PROBLEMS[problem]
    with pytest.raises(TableError) as caught:
        read(put(tmp_path / "t.csv", content))
    assert message in str(caught.value)
    assert str(caught.value).startswith("t.csv: ")
    assert "SECRET" not in str(caught.value)
    assert caught.value.__suppress_context__ or caught.value.__context__ is None


def test_wrong_encodings_are_reported(tmp_path: Path) -> None:
    path = put(tmp_path / "t.csv", b"a,b\nSECRET,\x81\n")
    with pytest.raises(TableError, match="no encoding is called 'klingon'"):
        read(path, encoding="klingon")
    with pytest.raises(TableError, match=r"t\.csv: is not cp1252 text") as caught:
        read(path, encoding="cp1252")
    assert "SECRET" not in str(caught.value)
    with pytest.raises(TableError, match="cannot be read"):
        read(put(tmp_path / "t.csv.gz", b"no gzip"))


def test_a_file_that_may_not_be_read_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    path = put(tmp_path / "t.csv", b"a\n1\n")
    monkeypatch.setattr("indistinct.engine.formats.delimited_text.open", refuse, raising=False)
    monkeypatch.setattr(Path, "open", refuse)  # the superuser may read everything
    with pytest.raises(TableError, match=r"t\.csv: cannot be read \(PermissionError\)"):
        read(path)


CELL = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=6)
NAME = st.text(st.characters(exclude_characters="\0\ufeff", exclude_categories=["Cs"]), min_size=1, max_size=5)


def is_name(text: str) -> bool:
    return bool(text.strip()) and not CELL_SHAPE.fullmatch(text)


@pytest.mark.slow
@examples(50, opens_tables=True)
@given(data=st.data())
def test_any_text_survives_being_written_and_read(
    data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    names = data.draw(st.lists(NAME.filter(is_name), min_size=1, max_size=3, unique_by=str.lower))
    delimiter = data.draw(st.sampled_from([",", ";", "\t", "|"]))
    table = data.draw(st.lists(st.tuples(*[CELL for _ in names]), min_size=1, max_size=5))
    has_breaks = any(letter in name for name in names for letter in "\r\n")
    line_end = "\n" if has_breaks else data.draw(st.sampled_from(["\n", "\r\n"]))
    folder = tmp_path_factory.mktemp("round")
    with (folder / "source.csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file, delimiter=delimiter, quoting=csv.QUOTE_ALL, lineterminator=line_end).writerows([names, *table])
    with open_table(folder / "source.csv", delimiter=delimiter) as rows:
        assert rows.columns() == tuple(names)
        encoded = rows.encode(names)
        values = encoded.values
        expected = [tuple(cell or None for cell in row) for row in table]
        for position, name in enumerate(names):
            present = sorted({row[position] for row in expected} - {None})
            assert values[name] == (*present, *([None] if any(row[position] is None for row in expected) else []))
        maps = {name: np.arange(len(values[name])) for name in names}
        released = encoded.recode(Plan(tuple(names), maps, values))
        path = released.write(folder)
        with open_table(path, **released.format()) as again:
            found = again.to_native()
            columns = [[cell or None for cell in found[name].to_pylist()] for name in names]
            assert sorted(zip(*columns, strict=True), key=repr) == sorted(expected, key=repr)


@pytest.mark.parametrize(
    "header", ["Ann,1973-03-15,02138", "ann@example.org", "1,1", "12.5,x", "3,5,9", "02138", "15.03.1973,f,1.80"]
)
def test_a_first_line_of_cells_is_suspected_and_not_quoted(tmp_path: Path, header: str) -> None:
    path = tmp_path / "people.csv"
    path.write_text(f"{header}\n{header}\n")
    with pytest.raises(TableError, match="first line seems to be a row") as caught:
        open_table(path)
    assert not any(cell in str(caught.value) for cell in header.split(",") if len(cell) > 1)


@pytest.mark.parametrize(
    "header", ["name,born,zip", "1,2,3,4", "2019,2020,2021", "id,1,2", "a,b,1973", "x1,x2", "1st,2nd"]
)
def test_names_of_columns_may_be_numbers(tmp_path: Path, header: str) -> None:
    path = tmp_path / "people.csv"
    path.write_text(f"{header}\n{header}\n")
    with open_table(path) as rows:
        assert rows.columns() == tuple(header.split(","))
