"""The campaign of mutants: each is one mistake, the process has it, and one that no test sees is a fault."""

from __future__ import annotations

import ast
import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT))

from campaigns.mutant_runs import KILLED, SURVIVED, Fate  # noqa: E402
from campaigns.mutating import live_functions, mutants_of, plant  # noqa: E402
from campaigns.running import Options, Outcome  # noqa: E402

from campaigns import mutants  # noqa: E402

SOURCE = """
def safe(sizes, k=2):
    'Tell whether all are large enough.'
    if not sizes:
        return False
    return all(size >= k and size > 0 for size in sizes)
"""


def test_every_change_is_one_mistake_and_the_process_has_it(tmp_path):
    path = tmp_path / "made.py"
    path.write_text(SOURCE, "utf-8")
    found = {mutant.what: mutant for mutant in mutants_of(path, tmp_path)}
    assert set(found) == {
        "condition not sizes is True",
        "condition not sizes is False",
        "without the sign of not sizes",
        "True for False in return False",
        "returns None",
        "returns None (2)",
        "Gt in size >= k",
        "Lt in size >= k",
        "GtE in size > 0",
        "LtE in size > 0",
        "or in size >= k and size > 0",
        "without size >= k in size >= k and size > 0",
        "without size > 0 in size >= k and size > 0",
        "1 for 0 in return all((size >= k and size > 0 for size in sizes))",
    }
    tree = ast.parse(SOURCE)
    assert len({ast.dump(mutant.as_source(tree)) for mutant in found.values()} - {ast.dump(tree)}) == len(found)
    spec = importlib.util.spec_from_file_location("made", path)
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    assert made.safe([2, 3])
    assert plant(found["Gt in size >= k"], tmp_path, live_functions(tmp_path))
    assert not made.safe([2, 3])
    assert made.safe([3])


def test_what_stands_above_a_method_can_be_left_out(tmp_path):
    path = tmp_path / "heirs.py"
    source = "class Heir(dict):\n    def clear(self):\n        super().clear()\n        self['cleared'] = True\n"
    path.write_text(source, "utf-8")
    spec = importlib.util.spec_from_file_location("heirs", path)
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    (mutant,) = [one for one in mutants_of(path, tmp_path) if one.what == "left out: super().clear()"]
    assert plant(mutant, tmp_path, live_functions(tmp_path))
    heir = made.Heir(a=1)
    heir.clear()
    assert heir == {"a": 1, "cleared": True}


def test_too_few_that_are_caught_are_a_fault(tmp_path):
    path = tmp_path / "proof" / "made.py"
    path.parent.mkdir()
    path.write_text(SOURCE, "utf-8")
    planted = mutants_of(path, tmp_path)
    fates = [Fate(mutant, KILLED, "a test") for mutant in planted[1:]] + [Fate(planted[0], SURVIVED)]
    outcome = Outcome(Options("mutants"))
    mutants.judge(outcome, fates, len(planted), {})
    assert outcome.faults == ["case 0: tests caught 13 of 14 mutants, less than 95%"]
    outcome = Outcome(Options("mutants"))
    mutants.judge(outcome, fates, len(planted), {planted[0].key: "nobody can tell"})
    assert outcome.faults == []
    assert outcome.figures["not caught, and equivalent"] == 1


def test_parts_of_a_campaign_know_each_other_until_a_function_changes(tmp_path):
    path, kept = tmp_path / "made.py", tmp_path / "fates"
    path.write_text(f"{SOURCE}\n\ndef zero():\n    return 0 or 0\n", "utf-8")
    planted = mutants_of(path, tmp_path)
    names = [mutant.key for mutant in planted]
    assert len(set(names)) == len(names)
    assert "made.py zero: 1 for 0 in return 0 or 0 (2)" in names
    assert mutants.earlier_fates(kept, planted) == {}
    for mutant in planted:
        mutants.keep(kept, Fate(mutant, SURVIVED))
        mutants.keep(kept, Fate(mutant, KILLED, "a test"))
    path.write_text(f"\n# moved{path.read_text('utf-8').replace('0 or 0', '0 or 1')}", "utf-8")
    found = mutants.earlier_fates(kept, mutants_of(path, tmp_path))
    assert set(found) == {name for name in names if " safe: " in name}
    assert {(fate.fate, fate.test) for fate in found.values()} == {(KILLED, "a test")}


def test_each_mutant_that_is_listed_has_a_reason_and_most_are_there():
    """Whoever changes a function makes those of it stale, which only means that they are met again."""
    package = ROOT / "src" / "indistinct"
    equivalent, survivors = mutants.reasons(mutants.EQUIVALENT), mutants.reasons(mutants.SURVIVORS)
    assert not equivalent.keys() & survivors.keys()
    known = equivalent | survivors
    files = {name for key in known if (package / (name := key.split(" ")[0])).exists()}
    there = {mutant.key for name in files for mutant in mutants_of(package / name, package)}
    assert len(set(known) & there) > 0.8 * len(known)
    assert all(len(reason) > 20 for reason in known.values())


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="forks")
def test_tests_catch_what_they_reach_and_nothing_else(tmp_path):
    """The examples of one module: they catch what is wrong with k, and see nothing of what it refuses."""
    module = "privacy/models/k_anonymity.py"
    command = [sys.executable, "-m", "campaigns", "mutants", "--inputs", "40", "--out", str(tmp_path / "out.json")]
    command += ["--set", f"rooms={module}", "--set", f"tests={ROOT / 'src' / 'indistinct' / module}"]
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path])},
        timeout=300,
        check=False,
    )
    assert done.returncode == 1, done.stdout + done.stderr
    figures = json.loads((tmp_path / "out.json").read_text("utf-8"))["mutants"]["figures"]
    assert figures["caught by a test"] >= 5
    assert "unreached" in done.stdout or "survived" in done.stdout
    assert "KAnonymity.satisfied: returns None" not in done.stdout
    assert "KAnonymity.__post_init__: left out: check_whole" in done.stdout
