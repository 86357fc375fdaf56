"""Bulk exports of FHIR: each resource a row of a flat table, and a policy for these that needs no mending."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pyarrow.csv
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers.commands import answer, run
from helpers.profiles import examples
from indistinct.pipeline.suggesting.fhir_tables import FlatCell

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "fhir"
ANA = {
    "resourceType": "Patient",
    "id": "ana",
    "gender": "female",
    "birthDate": "1984",
    "address": [{}, {"postalCode": "02138"}],
}
BEN = {"resourceType": "Patient", "id": "ben", "birthDate": "1990-02-03"}


def export(place: Path, *resources: object, name: str = "all.ndjson") -> Path:
    place.mkdir(exist_ok=True)
    text = "".join((one if isinstance(one, str) else json.dumps(one)) + "\n" for one in resources)
    (place / name).write_text(text, "utf-8")
    return place


def event(kind: str, reference: str = "Patient/ana", **more: Any) -> dict[str, Any]:
    return {"resourceType": kind, "subject": {"reference": reference}} | more


def flat(place: Path, *resources: object, **where: str) -> tuple[dict[str, list[dict[str, Any]]], list[str]]:
    """Return the rows of each flat table, and the reasons."""
    folder = export(place / "export", *resources, **where)
    made = answer("init", "--fhir", folder, "--into", place / "flat", "-o", place / "fhir.toml")
    options = pyarrow.csv.ConvertOptions(
        strings_can_be_null=True, column_types=dict.fromkeys(("birth_year",), "string")
    )
    rows = {
        path.stem: pyarrow.csv.read_csv(path, convert_options=options).to_pylist()
        for path in sorted((place / "flat").iterdir())
    }
    return rows, made["reasons"]


def test_each_type_of_resource_becomes_a_table(tmp_path: Path) -> None:
    coded = {"code": {"coding": [{"display": "none"}, {"system": "icd", "code": "E11.9"}], "text": "Diabetes"}}
    rows, reasons = flat(
        tmp_path,
        ANA,
        BEN,
        event("Encounter", **{"class": {"code": "IMP"}, "period": {"start": "2020-05-06T07:08:09+02:00"}}),
        event(
            "Encounter", "urn:uuid:ben", **{"class": [{"coding": [{"code": "AMB"}]}]}, actualPeriod={"start": "2021-05"}
        ),
        event("Condition", "http://here/fhir/Patient/ben/_history/2", **coded, onsetDateTime="2020-01-02"),
        event("Condition", code={"text": "Gout"}, recordedDate="2020-01-03"),
        event("MedicationRequest", medication={"concept": {"coding": [{"code": "A1"}]}}, authoredOn="2022-02-02"),
        event("Procedure", status="entered-in-error"),
        event("Observation", "Group/1"),
        {"resourceType": "Device", "id": "d"},
    )
    assert rows["patient"] == [
        {"patient": "ana", "gender": "female", "birth_year": "1984", "postal_code": 2138},
        {"patient": "ben", "gender": None, "birth_year": "1990", "postal_code": None},
    ]
    assert [tuple(map(str, row.values())) for row in rows["encounter"]] == [
        ("ana", "IMP", "2020-05-06"),
        ("ben", "AMB", "None"),
    ]
    assert [(row["patient"], row["code"]) for row in rows["condition"]] == [("ben", "E11.9"), ("ana", "Gout")]
    assert [row["code"] for row in rows["medication_request"]] == ["A1"]
    assert set(rows) == {"patient", "encounter", "condition", "medication_request"}
    assert sum(reason.startswith("left out: 1 resource ") for reason in reasons) == 3


def test_files_may_be_many_and_packed_and_others_are_named(tmp_path: Path) -> None:
    folder = export(tmp_path / "export", ANA, name="Patient.000.NDJSON")
    (folder / "more.ndjson.gz").write_bytes(gzip.compress(json.dumps(BEN).encode()))
    (folder / "notes.txt").write_text("x", "utf-8")
    made = answer("init", "--fhir", folder, "--into", tmp_path / "flat", "-o", tmp_path / "fhir.toml")
    assert (tmp_path / "flat" / "patient.csv").read_text("utf-8").count("\n") == 3
    assert any(reason.startswith("notes.txt") for reason in made["reasons"])
    private = [tmp_path / "flat", tmp_path / "flat" / "patient.csv", tmp_path / "fhir.toml"]
    assert [path.stat().st_mode & 0o077 for path in private] == [0, 0, 0]


@pytest.mark.parametrize(
    ("lines", "says"),
    [
        ([ANA, '{"resourceType": "Patient", "id": "secret'], "all.ndjson: line 2"),
        ([ANA, "", "[1]"], "all.ndjson: line 3"),
        ([ANA, {"id": "secret"}], "all.ndjson: line 2"),
        ([ANA, {"resourceType": "secret 7"}], "all.ndjson: line 2"),
        ([event("Condition")], "no table patient"),
        ([ANA, event("Condition", "Patient/secret")], "1 person"),
        ([ANA, ANA], "1 row repeats"),
    ],
)
def test_a_broken_export_leaves_nothing_and_quotes_nothing(tmp_path: Path, lines: list[Any], says: str) -> None:
    folder = export(tmp_path / "export", *lines)
    result = run("init", "--fhir", folder, "--into", tmp_path / "flat", "-o", tmp_path / "fhir.toml")
    assert result.exit_code == 2
    assert says in result.stderr
    assert "secret" not in result.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["export"]


def test_a_place_must_be_named_and_new(tmp_path: Path) -> None:
    folder = export(tmp_path / "export", ANA)
    assert run("init", "--fhir", folder).exit_code == 2
    assert run("init", "--fhir", folder, "--into", folder).exit_code == 2
    assert run("init", "--fhir", folder, "--into", tmp_path / "a" / "b").exit_code == 2
    assert run("init", "--fhir", folder, "--into", tmp_path / "flat", "-o", tmp_path / "a" / "b").exit_code == 2
    assert run("init", "--fhir", folder, "--omop", folder).exit_code == 2
    (tmp_path / "empty").mkdir()
    assert run("init", "--fhir", tmp_path / "empty", "--into", tmp_path / "flat").exit_code == 2
    assert not (tmp_path / "flat").exists()


ELEMENTS = st.recursive(
    st.none() | st.booleans() | st.integers(0, 3) | st.sampled_from(["", "a", "b"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("xyz"), inner, max_size=3),
    max_leaves=12,
)


def texts_at(element: Any, path: list[str]) -> list[str]:
    """Return all texts that a path leads to, in order."""
    if isinstance(element, list):
        return [text for one in element for text in texts_at(one, path)]
    if path:
        return texts_at(element[path[0]], path[1:]) if isinstance(element, dict) and path[0] in element else []
    is_text = isinstance(element, str | int) and not isinstance(element, bool) and element != ""
    return [str(element)] if is_text else []


@examples(100)
@given(ELEMENTS, st.lists(st.lists(st.sampled_from("xyz"), min_size=1, max_size=3), min_size=1, max_size=2))
def test_a_cell_is_the_first_text_that_its_paths_lead_to(element: Any, paths: list[list[str]]) -> None:
    found = [text for path in paths for text in texts_at(element, path)]
    assert FlatCell([".".join(path) for path in paths]).of(element) == (found[0] if found else None)


@pytest.mark.slow
def test_the_policy_of_the_example_runs_unmended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    made = answer("init", "--fhir", EXAMPLE, "--into", "flat", "-o", "fhir.toml")
    tables = [f"{name}={path}" for name, path in made["tables"].items()]
    assert list(made["tables"]) == ["patient", "encounter", "condition"]
    answer("anonymize", "fhir.toml", *tables, "-o", "release")
    originals = [word for one in tables for word in ("--original", one)]
    assert run("verify", "fhir.toml", "release", *originals).exit_code == 0
    found = answer("attack", "history", "fhir.toml", "release", *tables)
    assert all(one["fewer_in_release"] == 0 for one in found["findings"])
    assert "Person 1" not in (tmp_path / "release" / "patient.csv").read_text("utf-8")
