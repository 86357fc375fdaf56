"""What a file of a release holds beside its rows: readers of the format find it, so verify refuses it."""

from __future__ import annotations

import json
import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import indistinct as ix
from indistinct.released.manifest import file_digest

pandas = pytest.importorskip("pandas")
pyreadstat = pytest.importorskip("pyreadstat")
openpyxl = pytest.importorskip("openpyxl")
pa = pytest.importorskip("pyarrow")

FRAME = pandas.DataFrame(
    {
        "age": ["20", "30", "40"] * 4,
        "zip": ["1000"] * 6 + ["2000"] * 6,
        "day": [pandas.Timestamp(2020, 1, day + 1) for day in range(12)],
        "cost": [number + 0.5 for number in range(12)],
        "ill": ["flu", "a <b>", 'x"y', "=1"] * 3,
    }
)
POLICY = ix.Policy(
    columns={name: ix.quasi(ix.suppress()) for name in ("age", "zip")}
    | {name: ix.other() for name in ("day", "cost", "ill")},
    privacy=[ix.KAnonymity(3)],
)


@pytest.fixture(scope="module")
def releases(tmp_path_factory):
    """Give a release of each format, made once."""
    folder = tmp_path_factory.mktemp("formats")
    FRAME.assign(ill=FRAME["ill"].replace("=1", "1")).to_excel(folder / "t.xlsx", index=False)
    pyreadstat.write_dta(FRAME, str(folder / "t.dta"))
    pyreadstat.write_sav(FRAME, str(folder / "t.sav"))
    table = pa.Table.from_pandas(FRAME, preserve_index=False).replace_schema_metadata(None)
    with pa.ipc.new_file(str(folder / "t.arrow"), table.schema) as file:
        file.write_table(table)
    kinds = ("xlsx", "dta", "sav", "arrow")
    return {kind: ix.anonymize(folder / f"t.{kind}", POLICY).write(folder / kind) for kind in kinds}


def book(change: Callable[[Any], object]) -> Callable[[Path], None]:
    """Give what changes a workbook."""

    def do(path: Path) -> None:
        found = openpyxl.load_workbook(path)
        change(found)
        found.save(path)

    return do


def part(name: str, *change: bytes) -> Callable[[Path], None]:
    """Give what puts a part into a workbook, or replaces bytes of one."""

    def do(path: Path) -> None:
        with zipfile.ZipFile(path) as file:
            parts = {one: file.read(one) for one in file.namelist()}
        parts[name] = parts[name].replace(*change) if len(change) == 2 else change[0]
        with zipfile.ZipFile(path, "w") as file:
            for one, content in parts.items():
                file.writestr(one, content)

    return do


def arrow(write: Callable[[Any, Any], None], **options: Any) -> Callable[[Path], None]:
    """Give what writes an Arrow file anew."""

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
    "metadata of an Arrow batch": ("arrow", arrow(batches)),
    "metadata of an Arrow footer": ("arrow", arrow(lambda file, table: file.write_table(table), metadata={"n": "Ann"})),
}


@pytest.mark.parametrize("what", ATTACKS)
def test_a_stowaway_is_refused_and_not_quoted(releases, tmp_path, what):
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


@pytest.mark.parametrize("kind", ["xlsx", "dta", "sav", "arrow"])
def test_what_is_written_here_has_none(releases, kind):
    assert ix.verify(releases[kind], POLICY).passed
