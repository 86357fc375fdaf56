"""What catalogues read of a release: it follows from the manifest, or verify refuses it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from typer.testing import CliRunner

import indistinct as ix
from helpers.verify_program import verify_program
from indistinct.cli.commands import app
from indistinct.errors import TableError
from indistinct.examples import save_examples
from indistinct.release.catalogue_records import catalogue_records
from indistinct.release.manifest import Manifest

CROISSANT, RO_CRATE = "croissant.json", "ro-crate-metadata.json"
ABOUT = {"title": "Visits", "data": "Six visits.", "creator": "St. Mary", "license": "https://example.org/licence"}
LEVELS = {"kind": "intervals", "height": 1, "levels": ["value", "10 years"], "sha256": "ef" * 32}
AGE = {"role": "quasi", "rename": "years", "hierarchy": LEVELS, "weight": 1.0, "missing": "value"}
SAID: dict[str, Any] = {
    "format": 3,
    "form": "one table",
    "eligible": 6,
    "suppressed": 0,
    "tables": {"table": {"columns": ["years", "ill"], "delimiter": ","}},
    "node": {"age": 1},
    "heights": {"age": 1},
    "measures": {},
    "algorithm": "lattice",
    "options": {},
    "search": {"blind": True, "randomised": False},
    "made_by": "indistinct 0.1.0",
    "made_at": "2026-01-02T03:04:05+00:00",
    "about": ABOUT,
    "released": 6,
    "groups": 2,
    "smallest_group": 3,
    "level_names": {"age": "10 years"},
    "policy": {
        "columns": {"age": AGE, "ill": {"role": "sensitive"}},
        "quasi_identifiers": {"all": ["age"]},
        "privacy": [{"model": "k-anonymity", "k": 3}],
        "max_suppression": 0,
        "suppressed_rows": "remove",
        "eligible": [],
        "algorithm": "lattice",
    },
    "policy_sha256": "ab" * 32,
    "verdict": {
        "passed": True,
        "rows": 6,
        "groups": 2,
        "smallest_group": 3,
        "checks": [{"id": "model.k-anonymity", "passed": True, "numbers": {}}],
    },
    "files": {"table.csv": "cd" * 32},
}


def records(folders: Collection[str] = (), **changed: Any) -> dict[str, str]:
    """Return the records of a manifest with some statements changed."""
    return catalogue_records(Manifest.model_validate_json(json.dumps(SAID | changed)), folders)


def people() -> pa.Table:
    return pa.table({"name": list("abcdef"), "age": ["1", "1", "2"] * 2, "ill": ["flu", "gout"] * 3})


def policy(**more: Any) -> ix.Policy:
    columns = {"name": ix.identifier(), "age": ix.quasi(ix.suppress(), rename="years"), "ill": ix.sensitive()}
    return ix.Policy(columns, [ix.KAnonymity(2)], **more)


def entities(folder: Path) -> dict[str, Any]:
    return {one["@id"]: one for one in json.loads((folder / RO_CRATE).read_text("utf-8"))["@graph"]}


@pytest.fixture
def release(tmp_path: Path) -> Path:
    with ix.anonymize(people(), policy(about=ABOUT)) as made:
        return made.write(tmp_path / "out", metadata=True, verifier=True)


def test_both_say_what_the_manifest_says_and_nothing_of_identifiers(release: Path) -> None:
    said = json.loads((release / "manifest.json").read_text("utf-8"))
    found = json.loads((release / CROISSANT).read_text("utf-8"))
    assert (found["name"], found["license"], found["creator"]["name"]) == ("Visits", ABOUT["license"], "St. Mary")
    (file,) = found["distribution"]
    assert (file["contentUrl"], file["sha256"]) == ("table.parquet", said["files"]["table.parquet"])
    assert [field["name"] for field in found["recordSet"][0]["field"]] == ["years", "ill"]
    crate = entities(release)
    assert {part["@id"] for part in crate["./"]["hasPart"]} == {p.name for p in release.iterdir()} - {RO_CRATE}
    assert crate["verify.py"]["sha256"] == said["verifier"]
    assert crate["#indistinct"]["version"] == ix.__version__
    assert ix.verify(release, policy(about=ABOUT)).passed


def test_a_word_more_in_one_of_them_is_refused_and_not_quoted(release: Path) -> None:
    for name in (CROISSANT, RO_CRATE):
        text = (release / name).read_text("utf-8")
        (release / name).write_text(text.replace("Six visits", "Six visits of Ann"), "utf-8")
        verdict = ix.verify(release)
        assert f"{name} does not follow from the manifest" in str(verdict)
        assert (verdict.passed, "Ann" in str(verdict)) == (False, False)
        (release / name).write_text(text, "utf-8")
    assert ix.verify(release).passed


def test_a_link_or_a_folder_in_their_place_is_refused(release: Path) -> None:
    (release / CROISSANT).rename(release.parent / "elsewhere")
    (release / CROISSANT).symlink_to(release.parent / "elsewhere")
    assert "croissant.json is a link to another place" in str(ix.verify(release))
    (release / CROISSANT).unlink()
    (release / CROISSANT).mkdir()
    assert not ix.verify(release).passed


def test_the_program_for_recipients_compares_them(release: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert verify_program().main([str(release)]) == 3  # it does not read the table
    assert "ok     croissant.json follows from the manifest" in capsys.readouterr().out
    (release / CROISSANT).write_text("{}", "utf-8")
    assert verify_program().main([str(release)]) == 1


def test_an_unsafe_release_says_so_to_catalogues() -> None:
    for change in ({"unsafe": True}, {"verdict": SAID["verdict"] | {"passed": False}}):
        for text in records(**change).values():
            assert "UNSAFE: it failed its recount" in text


def test_two_tables_and_folders_are_described(tmp_path: Path) -> None:
    columns = {"age": ix.quasi(ix.keep()), "ill": ix.sensitive()}
    asked = ix.Policy(columns, [ix.LDiversity(2)], algorithm="anatomy")
    with ix.anonymize(people().drop_columns("name"), asked) as made:
        folder = made.write(tmp_path / "two", metadata=True)
    assert ix.verify(folder, asked).passed
    found = json.loads((folder / CROISSANT).read_text("utf-8"))
    assert {one["name"]: [f["name"] for f in one["field"]] for one in found["recordSet"]} == {
        "quasi": ["class_id", "age"],
        "sensitive": ["class_id", "ill"],
    }
    parted = json.loads(records({"table.csv"})[CROISSANT])
    assert parted["distribution"][0]["includes"] == "table.csv/*"
    assert parted["recordSet"][0]["field"][0]["source"]["fileSet"] == {"@id": "table.csv"}


def test_a_column_may_take_the_name_of_one_that_is_dropped() -> None:
    columns = {**SAID["policy"]["columns"], "years": {"role": "drop"}}
    fields = json.loads(records(policy=SAID["policy"] | {"columns": columns})[CROISSANT])["recordSet"][0]["field"]
    plain = json.loads(records()[CROISSANT])["recordSet"][0]["field"]
    assert fields == plain


@pytest.mark.slow
def test_the_command_writes_them_also_beside_what_a_ledger_keeps(tmp_path: Path) -> None:
    save_examples(tmp_path)
    ix.Ledger.create(tmp_path / "ledger.db").close()
    out = tmp_path / "out"
    arguments = ["anonymize", str(tmp_path / "hospital.toml"), str(tmp_path / "hospital.csv"), "-o", str(out)]
    more = ["--with-metadata", "--ledger", str(tmp_path / "ledger.db"), "--recipient", "public"]
    made = CliRunner().invoke(app, [*arguments, *more])
    assert made.exit_code == 0, made.output
    assert {CROISSANT, RO_CRATE} < {path.name for path in out.iterdir()}
    assert ix.verify(out, tmp_path / "hospital.toml").passed
    with ix.Ledger(tmp_path / "ledger.db") as ledger:
        ledger.verify()
    again = CliRunner().invoke(app, [*arguments, "--replace"])
    assert again.exit_code == 0, again.output
    assert not (out / CROISSANT).exists()
    assert [path.name for path in ix.write_metadata(out)] == [CROISSANT, RO_CRATE]
    assert ix.verify(out, tmp_path / "hospital.toml").passed


def test_a_manifest_that_says_too_little_is_refused(release: Path) -> None:
    said = json.loads((release / "manifest.json").read_text("utf-8"))
    del said["made_at"]
    (release / "manifest.json").write_text(json.dumps(said), "utf-8")
    with pytest.raises(TableError, match="made_at"):
        ix.write_metadata(release)


def test_they_look_as_they_always_did() -> None:
    """Releases are verified years later: what is changed here must go on giving old manifests their old records."""
    digests = [hashlib.sha256(text.encode()).hexdigest()[:16] for text in records().values()]
    assert digests == ["34d3159358378ab1", "fa23782163edf13f"]
