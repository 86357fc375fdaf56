"""The fuzz campaign: nothing of ours breaks on a short run, and what does break, hang or quote is found."""

from __future__ import annotations

import random
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT))

from campaigns.mutations import ODD, damage, disturb, toml  # noqa: E402
from campaigns.running import Options  # noqa: E402

from campaigns import fuzz, fuzz_targets, guided  # noqa: E402
from helpers.profiles import scaled  # noqa: E402
from indistinct.errors import TableError  # noqa: E402
from indistinct.studio.guard import Guard  # noqa: E402

CHEAP = [name for name, (_, weight) in fuzz_targets.TARGETS.items() if weight >= 90]


@pytest.fixture(scope="module")
def world():
    with fuzz.worlds(random.Random(0)) as made:
        yield made


def test_damage_is_the_same_for_the_same_dice_and_of_bounded_size():
    data = b"name,age\nAnn,39\n"
    made = [damage(random.Random(number), data) for number in range(200)]
    assert made == [damage(random.Random(number), data) for number in range(200)]
    assert len(set(made)) > 150
    assert max(map(len, made)) <= 2 * len(data) + 2000
    assert damage(random.Random(1), b"") is not None


def test_documents_are_disturbed_and_still_written_as_toml():
    content = {"columns": {"age": {"role": "quasi", "weight": 2}}, "privacy": [{"k": 2}]}
    made = [disturb(random.Random(number), content) for number in range(200)]
    assert content == {"columns": {"age": {"role": "quasi", "weight": 2}}, "privacy": [{"k": 2}]}
    assert sum(one != content for one in made) > 150
    assert all(isinstance(toml(one), str) for one in [*made, *ODD])


def test_every_target_takes_its_good_input(world):
    """Else a campaign would test no more than refusals."""
    taken = set()
    for number in range(400):
        dice = random.Random(number)
        name = CHEAP[number % len(CHEAP)]
        fault, ending = fuzz.attack(world, name, dice, {})
        assert not fault, (number, name)
        taken |= {name} if ending == "taken" else set()
    assert taken == set(CHEAP)


@pytest.mark.slow
@pytest.mark.parametrize("target", ["tables", "commands", "ledgers", "ARX projects", "tables of releases"])
def test_damaged_files_are_answered(target, world):
    dice = [Options("fuzz", seed=11).dice(number) for number in range(scaled(20))]
    assert [fault for fault, _ in (fuzz.attack(world, target, one, {}) for one in dice) if fault] == []


def test_a_run_counts_its_inputs_by_target():
    outcome = fuzz.run(Options("fuzz", seed=2, inputs=30, more={"target": "hierarchies of policies"}))
    assert outcome.faults == []
    assert outcome.figures["hierarchies of policies"] == outcome.cases == 30
    assert outcome.figures["taken"] + outcome.figures["refused"] == 30


def test_fuzzing_that_follows_coverage_says_what_it_needs(monkeypatch):
    monkeypatch.setattr(guided, "find_spec", lambda name: None)
    with pytest.raises(SystemExit, match="pip install atheris"):
        fuzz.run(Options("fuzz", inputs=1, more={"guided": "policy"}))
    with pytest.raises(SystemExit, match="one of policy, levels, manifest"):
        fuzz.run(Options("fuzz", inputs=1, more={"guided": "all"}))


def planted(monkeypatch, world, broken):
    """Return the fault that an attack finds when a target's part of the package was exchanged."""
    monkeypatch.setattr(fuzz_targets, "read_manifest", broken)
    faults = (fuzz.attack(world, "manifests", random.Random(number), {})[0] for number in range(20))
    return next((fault for fault in faults if fault), "")


def test_a_foreign_exception_is_found(monkeypatch, world):
    def broken(folder):
        raise KeyError("files")

    assert "KeyError" in planted(monkeypatch, world, broken)


def test_a_quoted_cell_is_found_also_in_a_cause(monkeypatch, world):
    def broken(folder):
        try:
            int(world.rows[0]["name"])
        except ValueError as error:
            raise TableError("a cell cannot be read") from error

    assert "a private cell is quoted" in planted(monkeypatch, world, broken)


def test_what_is_left_behind_is_found(monkeypatch, world):
    import tempfile

    left = []

    def broken(folder):
        left.append(Path(tempfile.mkdtemp()))

    assert "left behind" in planted(monkeypatch, world, broken)
    for folder in left:
        folder.rmdir()


def test_a_hang_is_found(monkeypatch, world):
    def broken(folder):
        while True:
            pass

    monkeypatch.setattr(fuzz, "LONGEST", 0.05)
    assert "took more than" in planted(monkeypatch, world, broken)


def test_a_guard_that_serves_everybody_is_found(monkeypatch, world):
    monkeypatch.setattr(Guard, "_has_secret", lambda self, scope: True)
    faults = [fuzz.attack(world, "studio requests", random.Random(number), {})[0] for number in range(60)]
    assert any("without the secret was served" in fault for fault in faults)
