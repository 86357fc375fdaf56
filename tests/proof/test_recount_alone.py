"""verify.py, which a release may carry: it needs nothing but Python, and finds what ``indistinct verify`` finds."""

from __future__ import annotations

import ast
import hashlib
import json
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest
from typer.testing import CliRunner

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT))

from campaigns.running import Options  # noqa: E402

import indistinct as ix  # noqa: E402
from campaigns import alone  # noqa: E402
from helpers.profiles import scaled  # noqa: E402
from helpers.verify_program import verify_program  # noqa: E402
from indistinct.cli.commands import app  # noqa: E402
from indistinct.examples import save_examples  # noqa: E402
from indistinct.release.alone import recount_alone  # noqa: E402
from indistinct.release.manifest import verifier_text  # noqa: E402

LONGEST = 1150
"""Lines that somebody reads before she believes a program."""


def people() -> pa.Table:
    return pa.table({"name": list("abcdef"), "age": ["1", "1", "2"] * 2, "ill": ["flu", "gout"] * 3})


def policy(**more: object) -> ix.Policy:
    columns = {"name": ix.identifier(), "age": ix.quasi(ix.suppress()), "ill": ix.sensitive()}
    return ix.Policy(columns, [ix.KAnonymity(2)], **more)


def test_it_is_short_and_imports_the_standard_library_alone() -> None:
    text = verifier_text()
    assert len(text.splitlines()) <= LONGEST
    tree = ast.parse(text, feature_version=(3, 10))
    found = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    found |= {str(node.module) for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert {name.partition(".")[0] for name in found} <= set(sys.stdlib_module_names)


def test_a_release_carries_it_and_it_runs_without_the_package(tmp_path: Path) -> None:
    save_examples(tmp_path)
    out = tmp_path / "out"
    arguments = ["anonymize", str(tmp_path / "hospital.toml"), str(tmp_path / "hospital.csv"), "-o", str(out)]
    made = CliRunner().invoke(app, [*arguments, "--with-verifier"])
    assert made.exit_code == 0, made.output
    assert (out / "verify.py").read_bytes() == verifier_text().encode()
    alone = [sys.executable, "-I", "-S", str(out / "verify.py")]  # without packages
    done = subprocess.run(alone, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert "ok     k-anonymity (k = 2) on quasi-identifier: 0 groups fail" in done.stdout
    verdict = ix.verify(out, tmp_path / "hospital.toml")
    assert verdict.passed
    assert "verify.py" not in str(verdict)  # it is the one of this version, so nothing is left to say
    again = CliRunner().invoke(app, [*arguments, "--replace"])
    assert again.exit_code == 0, again.output
    assert not (out / "verify.py").exists()


def test_another_program_under_its_name_is_noticed(tmp_path: Path) -> None:
    with ix.anonymize(people(), policy()) as release:
        release.write(tmp_path / "out", verifier=True)
    program, manifest = tmp_path / "out" / "verify.py", tmp_path / "out" / "manifest.json"
    program.write_text("print('ok')\n", "utf-8")
    found = ix.verify(tmp_path / "out", policy())
    (failed,) = (check for check in found.checks if not check.passed)
    assert (failed.id, failed.numbers["changed"], len(failed.numbers["strange"])) == ("manifest.files", False, 1)
    said = json.loads(manifest.read_text("utf-8"))
    said["verifier"] = hashlib.sha256(program.read_bytes()).hexdigest()
    manifest.write_text(json.dumps(said), "utf-8")
    found = ix.verify(tmp_path / "out", policy())
    assert not found.passed  # it could hold anything: rows in a remark, for example
    assert "verify.py is not the program of this version" in str(found)
    program.unlink()
    assert not ix.verify(tmp_path / "out", policy()).passed


def test_a_ledger_keeps_no_programs(tmp_path: Path) -> None:
    save_examples(tmp_path)
    ix.Ledger.create(tmp_path / "ledger.db").close()
    arguments = [
        "anonymize",
        str(tmp_path / "hospital.toml"),
        str(tmp_path / "hospital.csv"),
        "-o",
        str(tmp_path / "o"),
    ]
    made = CliRunner().invoke(
        app, [*arguments, "--with-verifier", "--ledger", str(tmp_path / "ledger.db"), "--recipient", "R"]
    )
    assert (made.exit_code, "a ledger keeps no programs" in made.output) == (2, True), made.output
    assert not (tmp_path / "o").exists()


def test_what_it_cannot_read_it_says(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with ix.anonymize(people(), policy()) as release:  # an Arrow table, which is written as Parquet or Arrow
        release.write(tmp_path / "out", verifier=True)
    assert verify_program().main([str(tmp_path / "out")]) == 3
    assert "only 'indistinct verify' can tell: its cells" in capsys.readouterr().out
    assert verify_program().main([str(tmp_path)]) == 2
    (tmp_path / "out" / "manifest.json").write_text("[]", "utf-8")
    assert verify_program().main([str(tmp_path / "out")]) == 2


def test_a_manifest_that_names_no_file_is_no_release(tmp_path: Path) -> None:
    with ix.anonymize(people(), policy()) as release:
        release.write(tmp_path / "out", metadata=True)
    manifest = tmp_path / "out" / "manifest.json"
    manifest.write_text(json.dumps(json.loads(manifest.read_text("utf-8")) | {"files": {}}), "utf-8")
    assert recount_alone.main([str(tmp_path / "out")]) == 2
    assert verify_program().main([str(tmp_path / "out")]) == 2


def test_json_lines_and_new_names_are_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [{"years": 30 + number % 2, "ill": None if number else "flu"} for number in range(6)]
    (tmp_path / "t.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows), "utf-8")
    columns = {"years": ix.quasi(ix.suppress(), rename="age"), "ill": ix.sensitive()}
    asked = ix.Policy(columns, [ix.KAnonymity(2, known=1), ix.LDiversity(1)])
    ix.anonymize(tmp_path / "t.jsonl", asked).write(tmp_path / "out")
    assert verify_program().main([str(tmp_path / "out")]) == 0
    assert "ok     l-diversity (l = 1)" in capsys.readouterr().out


def test_the_k_of_a_model_is_counted_whose_limits_are_not_stated(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A manifest does not tell limits of single values, which could be cells; found by the campaign."""
    (tmp_path / "t.csv").write_text("age,ill\n" + "1,flu\n1,gout\n" * 2, "utf-8")
    columns = {"age": ix.quasi(ix.suppress()), "ill": ix.sensitive()}
    ix.anonymize(tmp_path / "t.csv", ix.Policy(columns, [ix.AlphaK({"flu": 0.5}, 4)])).write(tmp_path / "out")
    assert verify_program().main([str(tmp_path / "out")]) == 0
    said = json.loads((tmp_path / "out" / "manifest.json").read_text("utf-8"))
    said["policy"]["privacy"][0]["k"] = 5
    (tmp_path / "out" / "manifest.json").write_text(json.dumps(said), "utf-8")
    assert not ix.verify(tmp_path / "out").passed
    assert verify_program().main([str(tmp_path / "out")]) == 1
    assert "FAILED what can be told of alpha-k" in capsys.readouterr().out


@pytest.mark.slow
def test_both_find_the_same_in_sound_and_in_broken_releases() -> None:
    found = alone.run(Options("alone", seed=0, inputs=scaled(150, opens_tables=True)))
    assert found.faults == []
    assert found.figures["found by both"] > found.cases // 3


@pytest.mark.slow
def test_a_blind_verifier_is_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recount_alone, "failing_groups", lambda *_: 0)
    monkeypatch.setattr(recount_alone, "judge_counts", lambda *_: None)
    monkeypatch.setattr(recount_alone, "wrong_statements", lambda *_: [])
    assert alone.run(Options("alone", seed=0, inputs=15)).faults


@pytest.mark.parametrize(
    ("terms", "groups", "fail"),
    [
        ({"model": "alpha-k", "alpha": 0.5, "k": 2}, ["aab", "ab", "a"], 2),
        ({"model": "l-diversity", "l": 2}, ["aa", "ab"], 1),
        ({"model": "l-diversity", "l": 2, "kind": "entropy"}, ["aab", "ab"], 1),
        ({"model": "l-diversity", "l": 2, "kind": "recursive", "c": 2.0}, ["aab", "aaab", "ab"], 2),
        ({"model": "p-sensitive", "p": 2, "k": 3}, ["aab", "ab", "aaa"], 2),
        ({"model": "m-invariance", "m": 2}, ["aab", "aabb"], 1),
        ({"model": "beta-likeness", "beta": 0.5}, ["ab", "aa"], 1),
        ({"model": "beta-likeness", "beta": 0.4}, ["ab", "ab", "bb"], 3),
        ({"model": "delta-disclosure", "delta": 1.0}, ["ab", "aab"], 0),
        ({"model": "delta-disclosure", "delta": 9.0}, ["ab", "aa"], 1),
        ({"model": "t-closeness", "t": 0.25}, ["aabb", "aaaa", "bbbb"], 2),
        ({"model": "t-closeness", "t": 0.5, "distance": "ordered"}, ["13", "11", "33"], 0),
        ({"model": "t-closeness", "t": 0.4, "distance": "ordered"}, ["13", "11", "33"], 2),
        ({"model": "prosecutor-risk", "at_most": 1 / 3}, ["aab", "ab"], 1),
        ({"model": "average-risk", "at_most": 0.39}, ["aab", "ab"], 2),
    ],
)
def test_models_by_hand(terms: dict[str, object], groups: list[str], fail: int) -> None:
    made = [[(object(), {"s": value}) for value in group] for group in groups]
    assert recount_alone.failing_groups(made, terms, ["s"]) == fail
