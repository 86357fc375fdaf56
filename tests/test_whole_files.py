"""Files are written whole or not at all, and numbers are shown whatever they are."""

from __future__ import annotations

import math
import os
import stat

import pytest
from hypothesis import given
from hypothesis import strategies as st

import indistinct as ix
from indistinct.showing.numbers import figure
from indistinct.whole_files import EVERYBODY, OWNER_ONLY, write_whole


@pytest.mark.parametrize("mode", [EVERYBODY, OWNER_ONLY])
def test_a_file_is_written_with_its_permissions_and_nothing_beside_it(tmp_path, mode):
    goal = tmp_path / "page.html"
    write_whole(goal, "a\r\nü\n", mode=mode)
    assert goal.read_bytes() == "a\r\nü\n".encode()
    assert stat.S_IMODE(goal.stat().st_mode) == mode
    write_whole(goal, lambda partial: partial.write_bytes(b"other"), mode=mode)
    assert goal.read_bytes() == b"other"
    assert list(tmp_path.iterdir()) == [goal]


@pytest.mark.parametrize("step", ["fsync", "replace", "write"])
def test_a_failure_leaves_what_was_there(tmp_path, monkeypatch, step):
    goal = tmp_path / "page.html"
    goal.write_text("before")

    def fail(*_):
        raise OSError(28, "No space left on device")

    if step != "write":
        monkeypatch.setattr(os, step, fail)
    with pytest.raises(ix.OutputError, match=r"cannot write .*page\.html: No space left .*; nothing was written"):
        write_whole(goal, fail if step == "write" else "after")
    assert goal.read_text() == "before"
    assert list(tmp_path.iterdir()) == [goal]


def test_an_interruption_leaves_nothing_behind(tmp_path):
    def interrupt(partial):
        partial.write_text("half")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_whole(tmp_path / "page.html", interrupt)
    assert list(tmp_path.iterdir()) == []


def test_what_is_written_is_on_the_disk_before_it_has_its_name(tmp_path, monkeypatch):
    done = []
    fsync, replace = os.fsync, os.replace

    def note_fsync(handle):
        done.append("fsync")
        fsync(handle)

    def note_replace(*names):
        done.append("replace")
        replace(*names)

    monkeypatch.setattr(os, "fsync", note_fsync)
    monkeypatch.setattr(os, "replace", note_replace)
    write_whole(tmp_path / "page.html", "text")
    assert done == ["fsync", "replace", "fsync"]


def test_a_folder_that_is_not_there_is_told(tmp_path):
    with pytest.raises(ix.OutputError, match="cannot write"):
        write_whole(tmp_path / "no" / "page.html", "text")


@given(st.floats() | st.integers() | st.none() | st.text() | st.booleans())
def test_every_number_can_be_shown(value):
    shown = figure(value, "(missing)")
    if value is None:
        assert shown == "(missing)"
    elif isinstance(value, float) and 0 < value < 5e-5:
        assert shown == "<0.0001"
    elif isinstance(value, float) and math.isfinite(value):
        assert float(shown.replace(",", "")) == pytest.approx(value, abs=5.001e-5)
    elif isinstance(value, int) and not isinstance(value, bool):
        assert int(shown.replace(",", "")) == value
    elif isinstance(value, float):
        assert shown in ("nan", "∞", "-∞")
    else:
        assert shown == str(value)
