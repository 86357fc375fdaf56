"""The campaign of load: a few releases of each kind leave nothing behind, and what grows is found."""

from __future__ import annotations

import sys
import threading
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).resolve().parents[2]))

from campaigns.running import Options

from campaigns import load

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="counts what /proc tells")


@pytest.mark.slow
def test_releases_of_all_kinds_leave_nothing_behind():
    """That nothing grows is told from noise by hundreds of releases only; the campaign makes them."""
    outcome = load.run(Options("load", seed=2, inputs=7, more={"every": "2"}))
    assert [fault for fault in outcome.faults if "rise" not in fault] == []


@pytest.mark.slow
def test_a_thread_that_each_release_leaves_is_found(monkeypatch):
    kind = "failures"
    monkeypatch.setattr(load, "KINDS", {kind: load.KINDS[kind]})
    goes_on = threading.Event()
    left = []

    def leak():
        left.append(threading.Thread(target=goes_on.wait))
        left[-1].start()

    try:
        outcome = load.run(Options("load", inputs=9, more={"every": "3"}), leak)
    finally:
        goes_on.set()
        for thread in left:
            thread.join()
    assert [fault for fault in outcome.faults if "threads rise by 1.00" in fault]
