"""Excel, Stata, SPSS, SAS and JSON lines: in, out, and in again as the same cells; broken files are never quoted."""

from __future__ import annotations

import datetime
import gzip
import json
import sys
import zipfile
from pathlib import Path
from typing import Any

import openpyxl
import pandas as pd
import pyreadstat
import pytest
from typer.testing import CliRunner

import indistinct as ix
from indistinct.cli import app
from indistinct.engine import open_table
from indistinct.engine.formats import excel
from indistinct.engine.formats.typed_columns import arrow_column
from indistinct.errors import MissingExtraError, OutputError, TableError

AGES = [21, 22, 23, 41, 42, 43]
FRAME = pd.DataFrame({"age": AGES, "sex": [1, 2, 1, 2, 1, 2], "ill": ["flu", "SECRET", "flu", "gout", "=1+1", "flu"]})
LABELS = {"sex": {1: "male", 2: "female"}}
POLICY = ix.Policy(
    {"age": ix.quasi(ix.intervals(5, 20)), "sex": ix.quasi(ix.suppress()), "ill": ix.other()}, [ix.KAnonymity(3)]
)


def write(folder: Path, kind: str) -> Path:
    path = folder / f"people.{kind}"
    writers: dict[str, Any] = {
        "jsonl": lambda: FRAME.to_json(path, orient="records", lines=True),
        "xlsx": lambda: FRAME.assign(ill=FRAME["ill"].replace("=1+1", "1+1")).to_excel(path, index=False),
        "dta": lambda: pyreadstat.write_dta(FRAME, str(path), variable_value_labels=LABELS),
        "sav": lambda: pyreadstat.write_sav(FRAME, str(path), variable_value_labels=LABELS),
        "xpt": lambda: pyreadstat.write_xport(FRAME, str(path), file_format_version=8),
    }
    writers[kind]()
    return path


@pytest.mark.parametrize(
    ("kind", "released"), [("jsonl", "jsonl"), ("xlsx", "xlsx"), ("dta", "dta"), ("sav", "sav"), ("xpt", "csv")]
)
def test_a_file_goes_in_and_comes_out_verified(tmp_path: Path, kind: str, released: str) -> None:
    table = write(tmp_path, kind)
    with open_table(table) as rows:
        assert rows.count() == 6
        assert sorted(rows.encode(["age"]).values["age"]) == [str(age) for age in AGES]
        sexes = {"male", "female"} if kind in ("dta", "sav") else {"1", "2"}
        assert set(rows.encode(["sex"]).values["sex"]) == sexes
    with ix.anonymize(table, POLICY) as release:
        release.write(tmp_path / "release")
    assert (tmp_path / "release" / f"table.{released}").is_file()
    assert ix.verify(tmp_path / "release", POLICY, original=table).passed
    with open_table(tmp_path / "release" / f"table.{released}") as rows:
        assert rows.count() == 6
        cells = rows.encode(["age", "ill"]).values
    assert set(cells["age"]) <= {"*", "20-24", "40-44", "20-39", "40-59"}
    with open_table(table) as rows:
        assert set(cells["ill"]) == set(rows.encode(["ill"]).values["ill"])


@pytest.mark.parametrize("kind", ["dta", "sav"])
def test_codes_are_read_where_they_are_asked_for_and_it_is_said(tmp_path: Path, kind: str) -> None:
    table = write(tmp_path, kind)
    with open_table(table) as labels, open_table(table, codes=True) as codes:
        assert codes.encode(["sex"]).values["sex"] == ("1", "2")
        assert "value labels instead of codes: sex" in labels.notes[0]
        assert "read as codes" in codes.notes[0]
    (tmp_path / "policy.toml").write_text(ix.policy_toml(POLICY), "utf-8")
    said = CliRunner().invoke(
        app, ["anonymize", str(tmp_path / "policy.toml"), str(table), "-o", str(tmp_path / "out"), "--codes"]
    )
    assert said.exit_code == 0, said.output
    assert "read as codes" in said.stderr


@pytest.mark.parametrize("kind", ["xlsx", "dta", "sav", "xpt", "jsonl"])
def test_a_file_that_is_cut_off_is_refused_without_a_cell(tmp_path: Path, kind: str) -> None:
    table = write(tmp_path, kind)
    whole = table.read_bytes()
    table.write_bytes(whole[: len(whole) // 2 + 3])
    with pytest.raises(TableError, match=table.name) as caught:
        open_table(table)
    assert "SECRET" not in str(caught.value)


def test_workbooks_say_what_is_wrong_with_them(tmp_path: Path) -> None:
    path = tmp_path / "book.xlsx"
    book = openpyxl.Workbook()
    book.active.append(["age", "ill"])
    book.active.append([21, "SECRET"])
    second = book.create_sheet("other")
    second.append(["a"])
    book.save(path)
    with pytest.raises(TableError, match=r"say which sheet, with --sheet NAME.*'Sheet', 'other'"):
        open_table(path)
    with pytest.raises(TableError, match="no sheet is called 'third'"):
        open_table(path, sheet="third")
    with open_table(path, sheet="Sheet") as rows:
        assert rows.columns() == ("age", "ill")
    del book["other"]
    book.active.merge_cells("A1:B1")
    book.save(path)
    with pytest.raises(TableError, match=r"column 2 has no name in the first row; where cells of a header are merged"):
        open_table(path)
    book.active.unmerge_cells("A1:B1")
    book.active["B1"] = "ill"
    book.active["B2"] = "=A2*2"
    book.save(path)
    with pytest.raises(TableError, match="1 formula has no result"):
        open_table(path)
    path.write_bytes(b"\xd0\xcf\x11\xe0 SECRET")
    with pytest.raises(TableError, match="protected by a password"):
        open_table(path)
    path.write_bytes(b"PK\x03\x04 SECRET")
    with pytest.raises(TableError, match="not a whole Excel workbook"):
        open_table(path)


def test_text_that_looks_like_a_formula_leaves_as_text(tmp_path: Path) -> None:
    with open_table(write(tmp_path, "jsonl")) as rows:
        rows._origin = rows._origin.__class__("excel")  # type: ignore[attr-defined]
        rows.write(tmp_path)
    cells = [row[2] for row in openpyxl.load_workbook(tmp_path / "table.xlsx").active.iter_rows()]
    assert [(cell.value, cell.data_type) for cell in cells][5] == ("=1+1", "s")
    with open_table(tmp_path / "table.xlsx") as rows:
        assert "=1+1" in rows.encode(["ill"]).values["ill"]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('{"a": 1}\n{"a": SECRET}\n', "line 2 is not JSON"),
        ('{"a": 1}\n["SECRET"]\n', "line 2 is not an object"),
        ('{"a": {"b": "SECRET"}}\n', "'a' holds nested cells"),
        ('{"a": 1, "a": "SECRET"}\n', "gives a key twice"),
        ('{"a": NaN}\n', "line 1 is not JSON"),
        ("\n", "holds no JSON object"),
    ],
)
def test_lines_that_are_no_rows_are_named(tmp_path: Path, text: str, says: str) -> None:
    path = tmp_path / "t.jsonl"
    path.write_text(text, "utf-8")
    with pytest.raises(TableError, match=says) as caught:
        open_table(path)
    assert "SECRET" not in str(caught.value)


def test_keys_that_a_line_lacks_are_missing_cells(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.write_text('{"a": 1}\n\n{"b": "x", "a": 2.5}\n{"b": true}\n', "utf-8")
    with open_table(path) as rows:
        given: Any = rows.to_native()
        assert given.to_pylist() == [
            {"a": 1.0, "b": None},
            {"a": 2.5, "b": "x"},
            {"a": None, "b": "true"},
        ]
        rows.write(tmp_path)
    lines = [json.loads(line) for line in (tmp_path / "table.jsonl").read_text("utf-8").splitlines()]
    assert lines[1] == {"a": 2.5, "b": "x"}


def test_cells_have_one_type_or_are_text() -> None:
    day, moment = datetime.date(2020, 1, 2), datetime.datetime(2020, 1, 2, 3)
    assert arrow_column([day, None]).to_pylist() == [day, None]
    assert arrow_column([day, moment]).to_pylist() == [datetime.datetime(2020, 1, 2), moment]
    assert arrow_column([2**60, 1.5]).to_pylist() == [str(2**60), "1.5"]
    assert arrow_column([2**60]).to_pylist() == [2**60]
    assert arrow_column([1.0, float("nan"), ""]).to_pylist() == [1, None, None]
    hour = datetime.time(13, 5)
    assert arrow_column([hour, None]).to_pylist() == ["13:05:00", None]
    assert arrow_column([hour, day]).to_pylist() == ["13:05:00", "2020-01-02"]


def test_times_of_day_are_texts(tmp_path: Path) -> None:
    frame = pd.DataFrame({"at": [datetime.time(8, 30), datetime.time(17, 0)], "who": ["a", "b"]})
    frame.to_excel(tmp_path / "times.xlsx", index=False)
    pyreadstat.write_sav(frame, str(tmp_path / "times.sav"))
    for name in ("times.xlsx", "times.sav"):
        with open_table(tmp_path / name) as rows:
            assert rows.texts(["at"]).read_all()["at"].to_pylist() == ["08:30:00", "17:00:00"]


@pytest.mark.parametrize(
    "numbers", [["0.30000000000000004", "0.1"], ["1E+16", "2"], ["123456789.12345679", "2"], ["5E-324"]]
)
def test_numbers_of_a_workbook_are_released_with_all_their_digits(tmp_path: Path, numbers: list[str]) -> None:
    """Excel writes seventeen digits; a release of fewer was called false by its own proof."""
    FRAME.head(4).assign(cost=range(1000, 1004))[["age", "cost"]].assign(age=1).to_excel(
        tmp_path / "p.xlsx", index=False
    )
    with zipfile.ZipFile(tmp_path / "p.xlsx") as plain, zipfile.ZipFile(tmp_path / "t.xlsx", "w") as made:
        for name in plain.namelist():
            content = plain.read(name)
            for place in range(4):
                content = content.replace(
                    b"<v>%d</v>" % (1000 + place), f"<v>{numbers[place % len(numbers)]}</v>".encode()
                )
            made.writestr(name, content)
    policy = ix.Policy(columns={"cost": ix.other(), "age": ix.quasi()}, privacy=[ix.KAnonymity(2)])
    with ix.anonymize(tmp_path / "t.xlsx", policy) as release:
        release.write(tmp_path / "out")
    assert ix.verify(tmp_path / "out", policy, original=tmp_path / "t.xlsx").passed
    with open_table(tmp_path / "out" / "table.xlsx") as table:
        assert {float(row["cost"]) for row in table.head(9).to_pylist()} == {float(number) for number in numbers}


def test_a_label_that_excel_would_cut_off_is_refused(tmp_path: Path) -> None:
    sheet = openpyxl.Workbook(write_only=True).create_sheet()
    with pytest.raises(TableError, match="longer than the 32,767 characters"):
        excel._text_cell(openpyxl, sheet, "x" * 32_768)


def test_a_date_that_excel_cannot_keep_is_not_quoted(tmp_path: Path, recwarn: pytest.WarningsRecorder) -> None:
    book = openpyxl.Workbook()
    book.active.append(["day"])
    book.active.append([2994626])
    book.active["A2"].number_format = "yyyy-mm-dd"
    book.save(tmp_path / "days.xlsx")
    with pytest.raises(TableError, match="1 cell is an error") as caught:
        open_table(tmp_path / "days.xlsx")
    assert "2994626" not in str(caught.value)
    assert not recwarn.list


def test_the_only_sheet_with_cells_is_taken(tmp_path: Path) -> None:
    book = openpyxl.Workbook()
    book.create_sheet("Sheet2")
    book.create_sheet("Sheet3").append(["", None])
    book.active.append(["age", "ill"])
    book.active.append([21, "flu"])
    book.save(tmp_path / "three.xlsx")
    with open_table(tmp_path / "three.xlsx") as rows:
        assert (rows.columns(), rows.count()) == (("age", "ill"), 1)


def test_portable_files_of_spss_are_read(tmp_path: Path) -> None:
    pyreadstat.write_por(FRAME, str(tmp_path / "people.por"))
    with open_table(tmp_path / "people.por") as rows:
        assert [name.lower() for name in rows.columns()] == ["age", "sex", "ill"]
        assert rows.texts([rows.columns()[0]]).read_all().column(0).to_pylist() == [str(age) for age in AGES]


@pytest.mark.parametrize(
    ("name", "says"),
    [("a.xls", "save it as .xlsx"), ("a.sas7bcat", "has no rows"), ("a.RDS", "file of R"), ("a.x", "NUL")],
)
def test_files_of_other_programs_say_what_to_do(tmp_path: Path, name: str, says: str) -> None:
    (tmp_path / name).write_bytes(b"\xd0\xcf\x11\xe0\0\0SECRET")
    with pytest.raises(TableError, match=says) as caught:
        open_table(tmp_path / name)
    assert "SECRET" not in str(caught.value)
    (tmp_path / name).write_text("age;ill\n21;flu\n", "utf-8")  # many programs write text under such a name
    with open_table(tmp_path / name) as rows:
        assert rows.count() == 1


@pytest.mark.parametrize(
    ("kind", "library", "extra"), [("xlsx", "openpyxl", "excel"), ("sav", "pyreadstat", "statistics")]
)
def test_without_its_library_a_format_says_how_to_install_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, library: str, extra: str
) -> None:
    table = write(tmp_path, kind)
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(MissingExtraError, match=rf'pip install "indistinct\[{extra}\]"'):
        open_table(table)


def test_what_a_format_cannot_keep_is_said_before_anything_is_there(tmp_path: Path) -> None:
    book = openpyxl.Workbook()
    book.active.append(["age", "a name with blanks"])
    book.active.append([1, "x"])
    book.save(tmp_path / "t.xlsx")
    path = tmp_path / "t.jsonl"
    path.write_text('{"a name with blanks": 1}\n', "utf-8")
    with open_table(path) as rows:
        rows._origin = rows._origin.__class__("stata")  # type: ignore[attr-defined]
        with pytest.raises(OutputError, match="Stata cannot keep a name"):
            rows.write(tmp_path)


def test_a_policy_may_be_given_by_its_path(tmp_path: Path) -> None:
    (tmp_path / "policy.toml").write_text(ix.policy_toml(POLICY), "utf-8")
    for path in (tmp_path / "policy.toml", str(tmp_path / "policy.toml")):
        with ix.anonymize(FRAME, path) as release:
            assert release.policy == POLICY


def sas_files(folder: Path, catalogue: str) -> Path:
    """Write a table of SAS and its catalogue; both were made by ReadStat's writer, from cells that are made up."""
    for kind, name in {"sas7bdat": "people.sas7bdat", "sas7bcat": catalogue}.items():
        packed = Path(__file__).with_name("sas") / f"people.{kind}.gz"
        (folder / name).write_bytes(gzip.decompress(packed.read_bytes()))
    return folder / "people.sas7bdat"


@pytest.mark.parametrize("catalogue", ["people.sas7bcat", "FORMATS.SAS7BCAT"])
def test_sas_cells_are_read_by_the_labels_of_the_catalogue_beside_the_file(tmp_path: Path, catalogue: str) -> None:
    table = sas_files(tmp_path, catalogue)
    with open_table(table) as rows:
        encoded = rows.encode(["sex", "age"])
        assert encoded.values["sex"] == ("9", "female", "male")
        assert encoded.values["age"] == ("30", "31", "40", "41", "52", "53")
        assert any("read by their value labels instead of codes: sex" in note for note in rows.notes)
    with open_table(table, codes=True) as rows:
        assert rows.encode(["sex"]).values["sex"] == ("1", "2", "9")


def test_a_catalogue_of_another_file_is_left_alone(tmp_path: Path) -> None:
    with open_table(sas_files(tmp_path, "others.sas7bcat")) as rows:
        assert rows.encode(["sex"]).values["sex"] == ("1", "2", "9")


def test_a_damaged_catalogue_is_named_and_codes_can_be_read(tmp_path: Path) -> None:
    table = sas_files(tmp_path, "people.sas7bcat")
    (tmp_path / "people.sas7bcat").write_bytes(b"SECRET" * 200)
    with pytest.raises(TableError, match=r"people\.sas7bcat: is not a whole catalogue .*--codes") as refused:
        open_table(table)
    assert "SECRET" not in str(refused.value)
    with open_table(table, codes=True) as rows:
        assert rows.count() == 6
