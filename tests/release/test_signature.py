"""Signatures: whoever changes a byte of a signed release, of whatever form, is found out by the public key."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from pyarrow import csv
from typer.testing import CliRunner

import indistinct as ix
from helpers.verify_program import verify_program
from indistinct.cli.commands import app
from indistinct.examples import save_examples
from indistinct.proof.checks import explain_bad_signature, signature_check
from indistinct.release.manifest import MANIFEST, SIGNATURE, VERIFIER, file_digest
from indistinct.release.released_tables import ReleasedTables
from indistinct.release.signature import fingerprint, private_key, public_key

FORMS = ("one table", "two tables", "linked tables")


@pytest.fixture(scope="module")
def keys(tmp_path_factory: pytest.TempPathFactory) -> ix.KeyPair:
    return ix.new_keys(tmp_path_factory.mktemp("keys") / "steward")


def linked_policy() -> ix.Policy:
    visits = ix.LinkedTable({"ward": ix.quasi(ix.suppress())}, references={"patient": "patients"})
    patients = ix.LinkedTable({"age": ix.quasi(ix.suppress())}, key="patient")
    return ix.Policy(tables={"patients": patients, "visits": visits}, privacy=[ix.KAnonymity(2)], person="patient")


def in_files(tables: dict[str, pa.Table], folder: Path) -> dict[str, Path]:
    """Write tables as CSV, so that their releases are CSV as well."""
    for name, table in tables.items():
        csv.write_csv(table, folder / f"{name}.csv")
    return {name: folder / f"{name}.csv" for name in tables}


def table_and_policy(form: str) -> tuple[Any, Any]:
    if form == "linked tables":
        patients = pa.table({"patient": list("abcd"), "age": ["1", "1", "2", "2"]})
        return {"patients": patients, "visits": pa.table({"patient": list("abcd"), "ward": ["x"] * 4})}, linked_policy()
    columns = {"name": ix.identifier(), "age": ix.quasi(ix.suppress()), "ill": ix.sensitive()}
    algorithm = "anatomy" if form == "two tables" else "lattice"
    privacy = [ix.LDiversity(2) if form == "two tables" else ix.KAnonymity(2)]
    table = pa.table({"name": list("abcdef"), "age": ["1", "1", "2"] * 2, "ill": ["flu", "gout"] * 3})
    return table, ix.Policy(columns, privacy, algorithm=algorithm)


@pytest.fixture(scope="module", params=FORMS)
def signed(request: pytest.FixtureRequest, keys: ix.KeyPair, tmp_path_factory: pytest.TempPathFactory) -> Path:
    given, policy = table_and_policy(request.param)
    is_linked = isinstance(given, dict)
    files = in_files(given if is_linked else {"table": given}, tmp_path_factory.mktemp("private"))
    with ix.anonymize(files if is_linked else files["table"], policy) as release:
        folder = release.write(tmp_path_factory.mktemp("signed") / "out", verifier=True, sign=keys.private)
        assert release.signed_by == keys.fingerprint
    return folder


@pytest.fixture
def copy(signed: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(signed, tmp_path / "copy"))


def policy_of(folder: Path) -> ix.Policy | None:
    """Return the policy of linked tables; others are judged by their manifest."""
    return linked_policy() if (folder / "patients.csv").exists() else None


def judge(folder: Path, key: object = None) -> ix.Verdict:
    return ix.verify(folder, policy_of(folder), key=key)


def refusal(folder: Path, key: object) -> str | None:
    """Say by what a release is refused: a verdict that fails, or an error where it cannot even be read."""
    try:
        return None if judge(folder, key).passed else "verdict"
    except ix.IndistinctError as error:
        return type(error).__name__


def failed(folder: Path, key: object = None) -> dict[str, str]:
    return {check.name: check.detail for check in judge(folder, key).checks if not check.passed}


def test_a_signed_release_verifies_by_the_public_key(signed: Path, keys: ix.KeyPair) -> None:
    verdict = judge(signed, keys.public)
    assert verdict.passed
    assert verdict.checks[0].name == "signature"
    assert keys.fingerprint in verdict.checks[0].detail
    assert not any(one.id == "manifest.signature" for one in verdict.not_checked)


def test_without_the_key_the_signature_is_said_to_be_unchecked(signed: Path) -> None:
    verdict = judge(signed)
    assert verdict.passed
    assert any(one.id == "manifest.signature" for one in verdict.not_checked)


def test_a_release_that_nobody_signed_is_refused_where_a_key_is_given(copy: Path, keys: ix.KeyPair) -> None:
    (copy / SIGNATURE).unlink()
    assert "no signature" in failed(copy, keys.public)["signature"]
    assert judge(copy).passed
    assert not any(one.id == "manifest.signature" for one in judge(copy).not_checked)


def test_a_table_that_cannot_be_opened_is_no_forgery(tmp_path: Path, keys: ix.KeyPair) -> None:
    policy = ix.Policy({"age": ix.quasi(ix.suppress())}, [ix.KAnonymity(2)])
    with pytest.raises(ix.TableError):
        ix.verify(tmp_path / "gone.csv", policy, key=keys.public)
    with pytest.raises(ix.TableError, match="no folder"), explain_bad_signature(pa.table({}), keys.public):
        raise ix.TableError("no folder")


def test_another_key_is_refused(signed: Path, tmp_path: Path) -> None:
    other = ix.new_keys(tmp_path / "other")
    assert set(failed(signed, other.public)) == {"signature"}
    assert other.fingerprint in failed(signed, other.public)["signature"]


def test_the_signature_of_another_release_is_refused(copy: Path, keys: ix.KeyPair, tmp_path: Path) -> None:
    table, policy = table_and_policy("one table")
    with ix.anonymize(table, policy) as release:
        other = release.write(tmp_path / "other", sign=keys.private)
    shutil.copyfile(other / SIGNATURE, copy / SIGNATURE)
    assert set(failed(copy, keys.public)) == {"signature"}


@pytest.mark.slow
def test_a_changed_byte_of_any_file_is_refused(copy: Path, keys: ix.KeyPair) -> None:
    """The manifest is signed, and states the digest of every other file."""
    names = sorted(place.name for place in copy.iterdir())
    said = json.loads((copy / MANIFEST).read_text("utf-8"))
    assert set(names) == {MANIFEST, SIGNATURE, VERIFIER, *said["files"]}
    refusals = {MANIFEST: ("verdict", "VerificationError"), SIGNATURE: ("verdict",), VERIFIER: ("verdict",)}
    for name in names:
        whole = (copy / name).read_bytes()
        for place in {0, len(whole) // 2, len(whole) - 1}:
            (copy / name).write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
            assert refusal(copy, keys.public) in refusals.get(name, ("verdict", "TableError")), (name, place)
        (copy / name).write_bytes(whole)
    assert judge(copy, keys.public).passed


def test_a_manifest_that_cannot_be_read_is_reported_as_forged_only_if_it_is(copy: Path, keys: ix.KeyPair) -> None:
    (copy / MANIFEST).write_bytes(b"{}")
    with pytest.raises(ix.TableError):
        judge(copy)
    with pytest.raises(ix.VerificationError, match="signature"):
        judge(copy, keys.public)
    (copy / SIGNATURE).write_bytes(private_key(keys.private).sign(b"{}"))
    with pytest.raises(ix.TableError, match="no manifest of a release"):
        judge(copy, keys.public)


def test_a_table_that_was_exchanged_with_its_digest_is_refused(copy: Path, keys: ix.KeyPair) -> None:
    """Without the key such a release passes, as long as its new cells do; that is what signatures are for."""
    said = json.loads((copy / MANIFEST).read_text("utf-8"))
    for name in said["files"]:
        lines = (copy / name).read_text("utf-8").splitlines(keepends=True)
        (copy / name).write_text("".join([lines[0], *reversed(lines[1:])]), "utf-8", newline="")
        said["files"][name] = file_digest(copy / name)
    (copy / MANIFEST).write_text(json.dumps(said), "utf-8")
    assert set(failed(copy, keys.public)) == {"signature"} | set(failed(copy))
    assert "file" not in failed(copy)


@pytest.mark.parametrize("content", [b"", b"x" * 63, b"x" * 65, b"people"])
def test_what_is_no_signature_is_refused_also_without_a_key(copy: Path, keys: ix.KeyPair, content: bytes) -> None:
    (copy / SIGNATURE).write_bytes(content)
    assert "is no signature" in failed(copy)["file"]
    assert "64 bytes" in failed(copy, keys.public)["signature"]


def test_a_signature_that_is_a_link_or_a_folder_is_refused(copy: Path, tmp_path: Path, keys: ix.KeyPair) -> None:
    shutil.move(copy / SIGNATURE, tmp_path / "elsewhere")
    (copy / SIGNATURE).symlink_to(tmp_path / "elsewhere")
    assert "is a link" in failed(copy, keys.public)["file"]
    (copy / SIGNATURE).unlink()
    (copy / SIGNATURE).mkdir()
    assert set(failed(copy, keys.public)) == {"file", "signature"}


def test_a_key_needs_a_manifest(keys: ix.KeyPair) -> None:
    table, policy = table_and_policy("one table")
    released = table.select(["age", "ill"])
    with pytest.raises(ix.TableError, match="release folder"):
        ix.verify(released, policy, key=keys.public)


def test_the_program_for_recipients_takes_no_offence_at_a_signature(signed: Path) -> None:
    lines = verify_program().verify(signed).lines
    assert not [line for line in lines if line.startswith("FAILED")]
    assert any("not checked: who signed it" in line for line in lines)


# What was written before is signed later, if it verifies.


@pytest.mark.slow
def test_sign_takes_a_release_that_verifies(copy: Path, keys: ix.KeyPair) -> None:
    policy = policy_of(copy)
    with pytest.raises(ix.OutputError, match="signed already"):
        ix.sign(copy, policy, key=keys.private)
    (copy / SIGNATURE).unlink()
    assert ix.sign(copy, policy, key=keys.private) == keys.fingerprint
    assert judge(copy, keys.public).passed
    other = Ed25519PrivateKey.generate()
    ix.sign(copy, policy, key=other, replace=True)
    assert judge(copy, other.public_key()).passed
    assert sorted(place.name for place in copy.iterdir() if place.name.startswith(".")) == []


def test_sign_refuses_what_does_not_verify(copy: Path, keys: ix.KeyPair) -> None:
    (copy / SIGNATURE).unlink()
    (copy / "private.csv").write_text("name\nAnn\n", "utf-8")
    with pytest.raises(ix.VerificationError, match="does not verify"):
        ix.sign(copy, policy_of(copy), key=keys.private)
    assert not (copy / SIGNATURE).exists()


def test_sign_refuses_what_is_no_release(tmp_path: Path, keys: ix.KeyPair) -> None:
    with pytest.raises(ix.TableError, match="no release folder"):
        ix.sign(tmp_path, key=keys.private)


def test_what_is_unsafe_is_not_signed(tmp_path: Path, keys: ix.KeyPair) -> None:
    table, policy = table_and_policy("one table")
    with ix.anonymize(table, policy) as release:
        assert release.verdict is not None
        broken = ix.Verdict((ix.verify(table, policy).checks[0],), 6, 2, 1)
        assert not broken.passed
        release.verdict = broken
        with pytest.raises(ix.VerificationError):
            release.write(tmp_path / "out", allow_unsafe=True, sign=keys.private)
    assert not (tmp_path / "out").exists()


def test_a_signed_release_is_replaced_with_its_signature(tmp_path: Path, keys: ix.KeyPair) -> None:
    table, policy = table_and_policy("one table")
    with ix.anonymize(table, policy) as release:
        release.write(tmp_path / "out", sign=keys.private)
        release.write(tmp_path / "out", replace=True)
    assert not (tmp_path / "out" / SIGNATURE).exists()
    assert release.signed_by is None


@pytest.mark.slow
def test_the_ledger_keeps_the_signature_and_gives_it_back(tmp_path: Path, keys: ix.KeyPair) -> None:
    table, policy = table_and_policy("one table")
    with ix.Ledger.create(tmp_path / "ledger.db") as ledger:
        with ledger.anonymize(table, policy, recipient="x", folder=tmp_path / "out", sign=keys.private) as release:
            assert release.signed_by == keys.fingerprint
        with ledger.anonymize(table, policy, recipient="y", again="consistent", sign=keys.private):
            pass
        assert f"release/{SIGNATURE}" in ledger.entries[0].files
        assert ledger.verify().passed
        for number in (1, 2):
            again = ledger.export(number, tmp_path / str(number))
            assert ix.verify(again, policy, key=keys.public).passed
        (tmp_path / "ledger.db.store" / ledger.entries[0].place / "release" / SIGNATURE).unlink()
        assert not ledger.verify().passed


# Keys.


def test_new_keys_are_for_their_owner_and_never_overwritten(tmp_path: Path) -> None:
    made = ix.new_keys(tmp_path / "steward")
    assert (made.private, made.public) == (tmp_path / "steward.key", tmp_path / "steward.pub")
    if os.name == "posix":
        assert made.private.stat().st_mode & 0o777 == 0o600
    before = made.private.read_bytes()
    with pytest.raises(ix.KeyFileError, match="never overwritten"):
        ix.new_keys(tmp_path / "steward")
    made.private.unlink()
    with pytest.raises(ix.KeyFileError, match="never overwritten"):
        ix.new_keys(tmp_path / "steward")
    assert not made.private.exists()
    assert b"PRIVATE KEY" in before


def test_new_keys_are_not_written_through_a_link(tmp_path: Path) -> None:
    (tmp_path / "steward.key").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(ix.KeyFileError, match="is there already"):
        ix.new_keys(tmp_path / "steward")
    with pytest.raises(ix.KeyFileError, match="no key was made"):
        ix.new_keys(tmp_path / "nowhere" / "steward")


def test_a_private_key_may_have_a_password(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("INDISTINCT_KEY_PASSWORD", "open sesame")
    made = ix.new_keys(tmp_path / "steward")
    assert b"ENCRYPTED" in made.private.read_bytes()
    assert fingerprint(private_key(made.private).public_key()) == made.fingerprint
    monkeypatch.setenv("INDISTINCT_KEY_PASSWORD", "wrong")
    with pytest.raises(ix.KeyFileError, match="is not its password"):
        private_key(made.private)
    monkeypatch.delenv("INDISTINCT_KEY_PASSWORD")
    with pytest.raises(ix.KeyFileError, match="is encrypted; set INDISTINCT_KEY_PASSWORD"):
        private_key(made.private)


def test_a_password_does_not_hinder_a_key_without_one(keys: ix.KeyPair, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("INDISTINCT_KEY_PASSWORD", "open sesame")
    assert fingerprint(private_key(keys.private).public_key()) == keys.fingerprint


@pytest.mark.skipif(os.name != "posix", reason="who may read a file is told otherwise there")
def test_a_private_key_that_others_can_read_is_refused(tmp_path: Path) -> None:
    made = ix.new_keys(tmp_path / "steward")
    made.private.chmod(0o640)
    with pytest.raises(ix.KeyFileError, match="chmod 600"):
        private_key(made.private)


def test_the_two_keys_are_not_taken_for_each_other(keys: ix.KeyPair) -> None:
    with pytest.raises(ix.KeyFileError, match="is no private key"):
        private_key(keys.public)
    with pytest.raises(ix.KeyFileError, match="keep this one secret"):
        public_key(keys.private)


def test_keys_of_openssh_are_read(tmp_path: Path) -> None:
    key = Ed25519PrivateKey.generate()
    form, plain = serialization.PrivateFormat.OpenSSH, serialization.NoEncryption()
    (tmp_path / "id").write_bytes(key.private_bytes(serialization.Encoding.PEM, form, plain))
    (tmp_path / "id").chmod(0o600)
    line = key.public_key().public_bytes(serialization.Encoding.OpenSSH, serialization.PublicFormat.OpenSSH)
    (tmp_path / "id.pub").write_bytes(line + b" steward@example\n")
    blob = base64.b64decode(line.split()[1])
    told = "SHA256:" + base64.b64encode(hashlib.sha256(blob).digest()).decode().rstrip("=")
    assert fingerprint(public_key(tmp_path / "id.pub")) == told
    assert fingerprint(private_key(tmp_path / "id").public_key()) == told


def _rsa(path: Path) -> None:
    key = rsa.generate_private_key(65537, 2048).public_key()
    form = serialization.PublicFormat.SubjectPublicKeyInfo
    path.write_bytes(key.public_bytes(serialization.Encoding.PEM, form))


@pytest.mark.parametrize(
    ("write", "told"),
    [
        (_rsa, "Ed25519"),
        (lambda path: path.write_text("no key", "utf-8"), "cannot be read as a public key"),
        (lambda path: path.write_bytes(b"ssh-ed25519 AAAA"), "cannot be read as a public key"),
        (lambda path: None, "cannot be read: No such file"),
    ],
)
def test_other_files_are_no_public_keys(tmp_path: Path, write: Callable[[Path], object], told: str) -> None:
    write(tmp_path / "key")
    with pytest.raises(ix.KeyFileError, match=told):
        public_key(tmp_path / "key")


def test_other_things_are_no_keys(tmp_path: Path) -> None:
    key = Ed25519PrivateKey.generate()
    assert private_key(key) is key
    assert isinstance(public_key(key.public_key()), Ed25519PublicKey)
    for read in (private_key, public_key):
        with pytest.raises(ix.KeyFileError, match="the key: releases are signed"):
            read(b"bytes")
    (tmp_path / "broken").write_text("-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n", "utf-8")
    (tmp_path / "broken").chmod(0o600)
    with pytest.raises(ix.KeyFileError, match="cannot be read as a private key"):
        private_key(tmp_path / "broken")


def test_without_the_extra_the_error_names_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cryptography", None)
    for call in (private_key, public_key, ix.new_keys):
        with pytest.raises(ix.MissingExtraError, match=r"indistinct\[sign\]"):
            call("steward")


# The command line.


def run(*arguments: object) -> tuple[int, str, str]:
    result = CliRunner().invoke(app, [str(one) for one in arguments])
    return result.exit_code, result.stdout, result.stderr


@pytest.mark.slow
def test_the_commands_make_keys_sign_and_verify(tmp_path: Path) -> None:
    save_examples(tmp_path)
    policy, table, out, name = (tmp_path / part for part in ("hospital.toml", "hospital.csv", "out", "steward"))
    code, text, _ = run("keys", "new", name, "--json")
    made = json.loads(text)
    assert (code, made["private"]) == (0, f"{name}.key")
    assert run("keys", "new", name)[0] == 2
    assert run("keys", "show", f"{name}.pub")[1].strip() == made["fingerprint"]
    assert json.loads(run("keys", "show", f"{name}.pub", "--json")[1])["fingerprint"] == made["fingerprint"]
    code, text, _ = run("anonymize", policy, table, "-o", out, "--sign", f"{name}.key", "--json")
    assert (code, json.loads(text)["signed_by"]) == (0, made["fingerprint"])
    assert run("verify", out, "--key", f"{name}.pub")[0] == 0
    code, _, told = run("sign", out, "--key", f"{name}.key")
    assert (code, "--replace" in told) == (2, True)
    code, _, told = run("sign", policy, out, "--key", f"{name}.key", "--replace")
    assert (code, made["fingerprint"] in told) == (0, True)
    (out / SIGNATURE).unlink()
    code, text, _ = run("verify", policy, out, "--key", f"{name}.pub", "--json")
    assert (code, json.loads(text)["passed"]) == (4, False)
    assert json.loads(run("sign", out, "--key", f"{name}.key", "--json")[1])["signed_by"] == made["fingerprint"]


def test_a_key_that_cannot_be_read_is_reported_before_the_search(tmp_path: Path) -> None:
    save_examples(tmp_path)
    asked = ("anonymize", tmp_path / "hospital.toml", tmp_path / "hospital.csv", "-o", tmp_path / "out")
    code, _, told = run(*asked, "--sign", tmp_path / "absent.key")
    assert (code, "absent.key cannot be read" in told) == (2, True)
    code, _, told = run(*asked, "--sign", tmp_path / "absent.key", "--allow-unsafe")
    assert (code, "only a release that verifies is signed" in told) == (2, True)
    assert not (tmp_path / "out").exists()


@pytest.mark.skipif(shutil.which("openssl") is None, reason="OpenSSL is not installed")
def test_openssl_checks_a_signature_as_the_page_says(tmp_path: Path, keys: ix.KeyPair) -> None:
    table, policy = table_and_policy("one table")
    with ix.anonymize(table, policy) as release:
        folder = release.write(tmp_path / "out", sign=keys.private)
    check = ["openssl", "pkeyutl", "-verify", "-pubin", "-inkey", str(keys.public), "-rawin"]
    check += ["-in", MANIFEST, "-sigfile", SIGNATURE]
    assert subprocess.run(check, cwd=folder, capture_output=True, check=False).returncode == 0
    with (folder / MANIFEST).open("ab") as file:
        file.write(b" ")
    assert subprocess.run(check, cwd=folder, capture_output=True, check=False).returncode != 0


def test_a_manifest_that_changes_while_it_is_verified_is_not_signed(signed: Path, keys: ix.KeyPair) -> None:
    released = ReleasedTables.of(signed)
    assert signature_check(released, keys.public).passed
    assert released.manifest is not None
    other = replace(released, manifest=released.manifest.model_copy(update={"groups": 99}))
    found = signature_check(other, keys.public)
    assert (found.passed, found.numbers["wrong"]) == (False, "the manifest changed while it was verified")
    strangers = Ed25519PublicKey.from_public_bytes(bytes(32))  # that it is another's signature is said first
    assert signature_check(other, strangers) == signature_check(released, strangers)
