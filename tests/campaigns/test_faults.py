"""The campaign of faults: a few kills of each kind, and planted faults that it must find."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT))

from campaigns.fault_limits import wrong_ending  # noqa: E402
from campaigns.fault_lost_database import ENDINGS, Loss  # noqa: E402
from campaigns.fault_scenes import IN_POSTGRES, SCENES, wrong_release  # noqa: E402
from campaigns.fault_server import Ended  # noqa: E402
from campaigns.faults import USUAL  # noqa: E402

from campaigns import fault_postgres  # noqa: E402

RUN = """
import json, sys
from campaigns import faults
from campaigns.running import Options

def unswept():
    from indistinct import atomic_files
    atomic_files.remove_forsaken = atomic_files.remove_forsaken_drafts = lambda place: 0

def run(inputs, setup=None, **more):
    options = Options("faults", seed=3, inputs=inputs, more={"how": "events", **more})
    return faults.run(options, setup).faults

some = {"scenes": "a release replaced,a ledger made"}
print(json.dumps([run(5, **some), run(2, unswept, kinds="kill", scenes="a release replaced")]), file=sys.stderr)
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="forks that are killed, and their limits")
def test_what_is_killed_anywhere_leaves_what_was_there_or_a_whole_release():
    """The second run cannot sweep, and must be found out."""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path])}
    done = subprocess.run(
        [sys.executable, "-c", RUN],
        capture_output=True,
        text=True,
        env=environment,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    clean, planted = json.loads(done.stderr.splitlines()[-1])
    assert clean == []
    assert [what for what in planted if "after the next run" in what]


def test_a_release_that_is_not_whole_is_found(tmp_path):
    scene = SCENES["a new release"]
    before, goal = tmp_path / "before", tmp_path / "after" / "work" / scene.goal
    goal.mkdir(parents=True)
    assert wrong_release(scene, before, tmp_path / "after") == ["out has no whole manifest (FileNotFoundError)"]
    (goal / "manifest.json").write_text(json.dumps({"files": {"table.csv": "0" * 64}}))
    (goal / "table.csv").write_text("half a ro")
    (goal / "notes").write_text("private")
    found = wrong_release(scene, before, tmp_path / "after")
    assert found == ["out/table.csv is not what its manifest states", "notes is too many"]


def test_a_ledger_in_postgresql_has_what_it_had_or_one_entry_more(tmp_path, monkeypatch):
    scene = SCENES[IN_POSTGRES]
    assert IN_POSTGRES not in USUAL
    for folder in ("before", "after"):
        (tmp_path / folder / "work").mkdir(parents=True)

    def wrong(entries: int) -> list[str]:
        monkeypatch.setattr(fault_postgres, "entries", lambda: entries)
        return scene.check(scene, tmp_path / "before", tmp_path / "after")

    assert wrong(1) == wrong(2) == []
    assert wrong(0) == ["the ledger had 1 entry and has 0"]
    assert wrong(3) == ["the ledger had 1 entry and has 3"]
    release = tmp_path / "after" / "work" / scene.goal
    release.mkdir()
    (release / "manifest.json").write_text('{"files": {}}')
    assert wrong(2) == []
    assert wrong(1) == ["a release stands without its entry"]


def test_a_loss_ends_the_backend_or_the_server(monkeypatch):
    sent = []
    monkeypatch.setattr(os, "kill", lambda process, number: sent.append((process, number)))
    server = SimpleNamespace(process=1)
    for ending in ENDINGS:
        Loss(ending, 1, "before", 0.0).strike(server, 7)
        Loss(ending, 1, "before", 0.0).strike(server, None)
    backend, whole = [(7, signal.SIGKILL), (7, signal.SIGTERM)], [(1, signal.SIGQUIT)] * 2 + [(1, signal.SIGKILL)] * 2
    assert sent == backend + whole


def test_how_a_command_may_end():
    assert wrong_ending(Ended(-9, ""), 9) == wrong_ending(Ended(143, "interrupted; nothing was written"), 15) == []
    assert wrong_ending(Ended(1, "unexpected KeyError; please report it"), 15) != []
    assert wrong_ending(Ended(-9, "", hung=True), 9) == ["it hangs"]
