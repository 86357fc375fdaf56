"""Projects and hierarchy files of ARX are read as they are, and as what a stranger sent."""

from __future__ import annotations

import contextlib
import math
import struct
import zipfile
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

import indistinct as ix
from helpers import profiles
from indistinct.cli import app
from indistinct.policy.arx import model_named

AGES = "34;<50;*\n45;<50;*\n66;>=50;*\n70;>=50;*\n"
ZIPS = "81667;8166*;816**;81***;*\n81675;8167*;816**;81***;*\n81925;8192*;819**;81***;*\n81931;8193*;819**;81***;*\n"
COLUMNS: list[dict[str, str]] = [
    {"name": "id", "type": "IDENTIFYING_ATTRIBUTE", "datatype": "Integer"},
    {"name": "age", "type": "QUASI_IDENTIFYING_ATTRIBUTE", "ref": "hierarchies/age.csv", "min": "All", "max": "All"},
    {"name": "zip", "type": "QUASI_IDENTIFYING_ATTRIBUTE", "ref": "hierarchies/zip.csv", "min": "0", "max": "4"},
    {"name": "illness", "type": "SENSITIVE_ATTRIBUTE", "datatype": "String"},
    {"name": "note", "type": "INSENSITIVE_ATTRIBUTE", "datatype": "String"},
]
TABLE = """id;age;zip;illness;note
1;34;81667;flu;a
2;45;81675;gout;b
3;66;81925;flu;c
4;70;81931;mumps;d
5;34;81675;mumps;e
6;70;81925;gout;f
"""


def element(name: str, content: str | list[str]) -> str:
    inner = content if isinstance(content, str) else "\n" + "".join(content)
    return f"<{name}>{inner}</{name}>\n"


def said(fields: dict[str, str]) -> list[str]:
    return [element(name, escape(value)) for name, value in fields.items()]


def project(path: Path, **changed: Any) -> Path:
    """Save a project in the shape that ARX saves: settings as XML, lists as CSV, and Java objects beside them."""
    given: dict[str, Any] = {"columns": COLUMNS, "criteria": ["2-anonymity"], "limit": "0.1", "metric": "Loss"}
    given |= {"weights": {}, "lists": {}, "separator": ";", "encoding": "utf-8", "files": {}} | changed
    weights = [
        element("attributeWeight", said({"attribute": name, "weight": weight}))
        for name, weight in given["weights"].items()
    ]
    config = [
        element("suppressTuplesInNonAnonymousOutput", "true"),
        element("practicalMonotonicity", "false"),
        element("relativeMaxOutliers", given["limit"]),
        element("metric", given["metric"]),
        element("attributeWeights", weights),
        element("criteria", [element("criterion", escape(text)) for text in given["criteria"]]),
    ]
    definition = [element("assigment", said(column)) for column in given["columns"]]
    lists = {"age": AGES, "zip": ZIPS} | given["lists"]
    files: dict[str, str | bytes] = {
        "metadata.xml": element("metadata", said({"version": "3.9.1", "vocabulary": "2.0"})),
        "project.dat": b"\xac\xed\x00\x05not to be read",
        "project.xml": element("project", said({"name": "A & B", "separator": given["separator"], "quote": '"'})),
        "data/input.csv": TABLE,
        "input/config.dat": b"\xac\xed\x00\x05not to be read",
        "input/config.xml": element("config", config),
        "input/definition.xml": element("definition", definition),
        **{f"input/hierarchies/{name}.csv": text for name, text in lists.items()},
        **given["files"],
    }
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            if content != "":
                archive.writestr(name, content if isinstance(content, bytes) else content.encode(given["encoding"]))
    return path


def test_a_project_becomes_a_policy_that_its_table_satisfies(tmp_path: Path) -> None:
    made = ix.read_arx(project(tmp_path / "a.deid"))
    policy = made.policy
    assert {name: column.role for name, column in policy.columns.items()} == {
        "id": "identifier",
        "age": "quasi",
        "zip": "quasi",
        "illness": "sensitive",
        "note": "other",
    }
    assert policy.privacy == (ix.KAnonymity(2),)
    assert policy.max_suppression == 0.1
    assert policy.options == {"measure": "loss"}
    assert policy.columns["zip"].hierarchy.label("81925", 2) == "819**"
    assert made.notes == ("the quality model 'Loss' is taken for loss, as an average over cells",)
    (tmp_path / "table.csv").write_text(TABLE, "utf-8")
    release = ix.anonymize(tmp_path / "table.csv", policy)
    assert ix.verify(release, policy, original=tmp_path / "table.csv").passed


def test_what_is_written_is_the_same_policy(tmp_path: Path) -> None:
    made = ix.read_arx(project(tmp_path / "a.deid", weights={"age": "0.9", "zip": "0.5"}))
    written = made.write(tmp_path / "mine")
    again = ix.read_policy(written)
    assert {name: column.hierarchy.digest() for name, column in again.columns.items()} == {
        name: column.hierarchy.digest() for name, column in made.policy.columns.items()
    }
    assert (again.privacy, again.max_suppression, again.options) == (made.policy.privacy, 0.1, {"measure": "loss"})
    assert again.columns["age"].weight == 0.9
    assert "'A & B'" in written.read_text("utf-8")
    assert (tmp_path / "mine" / "age.csv").stat().st_mode & 0o077 == 0
    with pytest.raises(ix.OutputError, match="exists already"):
        made.write(tmp_path / "mine")
    with pytest.raises(ix.OutputError, match="no folder"):
        made.write(tmp_path / "none" / "mine")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.deid", "mine"]


@pytest.mark.parametrize(
    ("text", "name", "options"),
    [
        ("5-anonymity", "k-anonymity", {"k": 5}),
        ("distinct-3-diversity for attribute 'illness'", "l-diversity", {"l": 3, "kind": "distinct"}),
        ("entropy-2.5-diversity for attribute 'illness'", "l-diversity", {"l": 3, "kind": "entropy"}),
        ("shannon-entropy-2.0-diversity for attribute 'illness'", "l-diversity", {"l": 2, "kind": "entropy"}),
        ("recursive-(4.0,3)-diversity for attribute 'illness'", "l-diversity", {"l": 3, "kind": "recursive", "c": 4.0}),
        ("0.2-closeness with equal distance for attribute 'illness'", "t-closeness", {"t": 0.2, "distance": "equal"}),
        (
            "0.2-closeness with ordered distance for attribute 'illness'",
            "t-closeness",
            {"t": 0.2, "distance": "ordered"},
        ),
        ("1.0-disclosure privacy for attribute 'illness'", "delta-disclosure", {"delta": round(math.log(2), 12)}),
        ("enhanced-1.5-likeness for attribute 'illness'", "beta-likeness", {"beta": 1.5, "enhanced": True}),
        (
            "0.2-closeness with equal ground-distance for attribute 'illness'",  # as 3.6 and later write it
            "t-closeness",
            {"t": 0.2, "distance": "equal"},
        ),
        (
            "0.2-closeness with hierarchical ground-distance for attribute 'illness'",
            "t-closeness",
            {"t": 0.2, "distance": "hierarchical"},
        ),
        ("(0.05)-avg-reidentification-risk", "average-risk", {"at_most": 0.05}),
        ("(<0.05)-avg-reidentification-risk", "average-risk", {"at_most": 0.05}),  # as 3.0 wrote it
        ("(0.05, 0.2, 0.1)-avg-reidentification-risk", "average-risk", {"at_most": 0.05}),
        ("(5)-map estimated as (3)-anonymity (Poisson)", "k-anonymity", {"k": 3}),
        ("(5)-map estimated as (unknown)-anonymity (Poisson)", "k-anonymity", {"k": 5}),
        ("(5)-map", "k-anonymity", {"k": 5}),
        ("(0.1)-sample-uniqueness", None, {}),
        ("(0.0,0.5)-presence", None, {}),
        ("(1.0, 1.0E-5)-differential privacy", None, {}),
        ("999999999999-closeness", None, {}),
    ],
)
def test_models_of_arx_have_their_counterpart_or_a_note(text: str, name: str | None, options: dict[str, Any]) -> None:
    read = model_named(text)
    assert (read.name, {key: value for key, value in read.options.items() if key != "column"}) == (name, options)
    assert read.notes or name is not None
    assert read.options.get("column") in (None, "illness")


def test_what_has_no_counterpart_is_listed(tmp_path: Path) -> None:
    columns = [dict(column) for column in COLUMNS]
    columns[1] |= {"microAggregationFunction": "Arithmetic mean"}
    columns.append({"name": "job", "type": "QUASI_IDENTIFYING_ATTRIBUTE"})
    criteria = ["(0.1)-sample-uniqueness", "distinct-2-diversity for attribute 'note'", "0-anonymity"]
    lists = {"zip": "81667;8166*\n81675;8167*\n81925;8192*\n81931;8193*\n"}
    path = project(
        tmp_path / "a.deid", columns=columns, criteria=criteria, limit="many", lists=lists, metric="Ambiguity"
    )
    made = ix.read_arx(path, k=7)
    told = "\n".join(made.notes)
    for word in (
        "micro-aggregation (Arithmetic mean)",
        "'job': has no",
    ):
        assert word in told
    for word in ("sample-uniqueness: has no counterpart", "not sensitive", "0-anonymity: was left out", "k = 7"):
        assert word in told
    for word in ("no suppression limit", "'Ambiguity' has no counterpart", "'zip': its hierarchy ends in several"):
        assert word in told
    assert made.policy.privacy == (ix.KAnonymity(7),)
    assert made.policy.max_suppression == 0
    assert made.policy.columns["zip"].hierarchy.label("81667", 2) == "*"
    assert ix.read_policy(made.write(tmp_path / "mine")).columns["zip"].hierarchy.height == 2


def test_levels_that_arx_allows_are_demanded(tmp_path: Path) -> None:
    columns = [dict(column) for column in COLUMNS]
    columns[1] |= {"min": "1", "max": "All"}
    columns[2] |= {"min": "2", "max": "3"}
    made = ix.read_arx(project(tmp_path / "a.deid", columns=columns))
    again = ix.read_policy(made.write(tmp_path / "mine"))
    for policy in (made.policy, again):
        assert (policy.columns["age"].min_level, policy.columns["age"].max_level) == (1, None)
        assert (policy.columns["zip"].min_level, policy.columns["zip"].max_level) == (2, 3)
    columns[2] |= {"min": "99", "max": "2"}
    with pytest.raises(ix.PolicyError, match="lies above its highest"):
        ix.read_arx(project(tmp_path / "b.deid", columns=columns))


def test_equal_weights_say_nothing_and_zero_is_not_allowed(tmp_path: Path) -> None:
    equal = ix.read_arx(project(tmp_path / "a.deid", weights={"age": "0.5", "zip": "0.5"}))
    assert equal.policy.columns["age"].weight == 1
    none = ix.read_arx(project(tmp_path / "b.deid", weights={"age": "0.0", "zip": "0.5"}))
    assert none.policy.columns["age"].weight == 0.001
    assert "weight 0" in "".join(none.notes)


def test_old_projects_in_the_letters_of_the_machine_are_read_with_a_note(tmp_path: Path) -> None:
    lists = {"age": AGES.replace("<50", "jünger")}
    made = ix.read_arx(project(tmp_path / "a.deid", encoding="cp1252", lists=lists))
    assert made.policy.columns["age"].hierarchy.label("34", 1) == "jünger"
    assert "not UTF-8" in made.notes[0]


def test_delimiters_of_the_project_are_heeded(tmp_path: Path) -> None:
    for separator in (",", "\t", "|", " "):
        lists = {"age": AGES.replace(";", separator), "zip": ZIPS.replace(";", separator)}
        made = ix.read_arx(project(tmp_path / "a.deid", separator=separator, lists=lists))
        assert made.policy.columns["age"].hierarchy.label("66", 1) == ">=50"


def test_hierarchy_files_of_arx_are_read_as_they_are(tmp_path: Path) -> None:
    """Semicolons, no header, any line ends, quotes where a cell has a semicolon."""
    for ends in ("\n", "\r\n"):
        path = tmp_path / "age.csv"
        path.write_bytes((AGES + '"a;b";other;*\n').replace("\n", ends).encode("utf-8"))
        read = ix.levels(path)
        assert (read.label("45", 1), read.label("a;b", 1), read.height) == ("<50", "other", 2)


def test_names_of_columns_are_no_paths(tmp_path: Path) -> None:
    columns = [*COLUMNS, *({"name": name, "type": "QUASI_IDENTIFYING_ATTRIBUTE", "ref": "hierarchies/age.csv"}
                           for name in ("../../evil", "/etc/evil", "évil?", "Age", "../age"))]  # fmt: skip
    made = ix.read_arx(project(tmp_path / "a.deid", columns=columns))
    made.write(tmp_path / "mine")
    names = sorted(path.name for path in (tmp_path / "mine").iterdir())
    assert names == sorted(
        ["policy.toml", "age.csv", "zip.csv", "evil.csv", "etc_evil.csv", "vil.csv", "Age_2.csv", "age_3.csv"]
    )
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.deid", "mine"]
    assert ix.read_policy(tmp_path / "mine" / "policy.toml").columns["../../evil"].hierarchy.height == 2


def test_no_text_of_a_project_gets_out_of_the_comments_of_its_policy(tmp_path: Path) -> None:
    criteria = ["2-anonymity", "odd\n[columns]\nid = { role = 'other' }", "\x7f\u2028 \x85odd"]
    columns = [*COLUMNS, {"name": "a\nb", "type": "QUASI_IDENTIFYING_ATTRIBUTE"}]
    made = ix.read_arx(project(tmp_path / "a.deid", criteria=criteria, columns=columns))
    assert all(note.isprintable() for note in made.notes)
    assert ix.read_policy(made.write(tmp_path / "mine")).columns["id"].role == "identifier"


BOMB = '<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;">]><config><criterion>&b;</criterion></config>'
OUTSIDE = '<!DOCTYPE x [<!ENTITY f SYSTEM "file:///etc/passwd">]><config><metric>&f;</metric></config>'


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"files": {"input/config.xml": BOMB}}, "declares a document type"),
        ({"files": {"input/config.xml": OUTSIDE}}, "declares a document type"),
        ({"files": {"input/config.xml": BOMB.encode("utf-16")}}, "is not XML"),
        ({"files": {"input/config.xml": "<config>&f;</config>"}}, "is not XML"),
        ({"files": {"input/config.xml": "<config>"}}, "is not XML"),
        ({"files": {"input/config.xml": ""}}, "no input/definition.xml or input/config.xml"),
        ({"files": {"input/config.xml": " " * 16_000_001}}, "unpacks to more than 16 MB"),
        ({"files": {"input/definition.xml": "<definition/>"}}, "has no columns"),
        ({"columns": [{"name": "age", "type": "STRANGE"}]}, "no known type"),
        ({"columns": [{"type": "INSENSITIVE_ATTRIBUTE"}]}, "no name"),
        ({"columns": [COLUMNS[1], COLUMNS[1]]}, "a column twice"),
        ({"columns": [COLUMNS[0]]}, "no quasi column"),
        ({"lists": {"age": '34;"<50;*\n'}}, "is not CSV"),
        ({"lists": {"age": "34;<50;*\n45;<50\n"}}, "the hierarchy of column 'age' cannot be used"),
        ({"separator": ";;"}, "not one character"),
    ],
)
def test_what_is_no_project_is_refused(tmp_path: Path, changed: dict[str, Any], told: str) -> None:
    with pytest.raises(ix.IndistinctError, match=told) as refusal:
        ix.read_arx(project(tmp_path / "a.deid", **changed))
    assert "root:" not in str(refusal.value)


def test_files_that_are_no_zip_or_are_encrypted_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.deid"
    with pytest.raises(ix.PolicyError, match="cannot read"):
        ix.read_arx(path)
    path.write_text("not a zip", "utf-8")
    with pytest.raises(ix.PolicyError, match="zip file"):
        ix.read_arx(path)
    content = bytearray(project(path).read_bytes())
    for signature, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        place = content.find(signature)
        while place >= 0:
            (flags,) = struct.unpack_from("<H", content, place + offset)
            struct.pack_into("<H", content, place + offset, flags | 1)
            place = content.find(signature, place + 4)
    path.write_bytes(content)
    with pytest.raises(ix.PolicyError, match="broken or encrypted"):
        ix.read_arx(path)


@given(st.data())
@profiles.examples(60)
def test_a_broken_project_never_ends_in_anything_unexpected(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    path = tmp_path_factory.mktemp("arx") / "a.deid"
    content = bytearray(project(path).read_bytes())
    for place in data.draw(st.lists(st.integers(0, len(content) - 1), min_size=1, max_size=8)):
        content[place] = data.draw(st.integers(0, 255))
    path.write_bytes(content[: data.draw(st.integers(len(content) // 2, len(content)))])
    with contextlib.suppress(ix.IndistinctError):
        ix.read_arx(path)


@given(st.text(max_size=60))
@profiles.examples(100)
def test_any_text_of_a_model_is_read_or_noted(text: str) -> None:
    read = model_named(text)
    assert read.name is not None or read.notes


def test_the_command_writes_a_folder_and_lists_what_was_left_out(tmp_path: Path) -> None:
    path = project(tmp_path / "a.deid", criteria=["3-anonymity", "(0.1)-sample-uniqueness"])
    result = CliRunner().invoke(app, ["from-arx", str(path), "-o", str(tmp_path / "mine")])
    assert result.exit_code == 0, result.output
    assert "sample-uniqueness" in result.output
    assert ix.read_policy(tmp_path / "mine" / "policy.toml").privacy == (ix.KAnonymity(3),)
    again = CliRunner().invoke(app, ["from-arx", str(path), "-o", str(tmp_path / "mine"), "--json"])
    assert again.exit_code == 2
    assert "exists already" in again.output
