"""Files are written whole or not at all, and numbers are shown whatever they are."""

from __future__ import annotations

import math
import os
import stat
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import indistinct as ix
from indistinct import atomic_files
from indistinct.atomic_files import EVERYBODY, OWNER_ONLY, write_whole
from indistinct.showing.numbers import figure


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


def test_a_folder_that_is_not_there_is_reported(tmp_path):
    with pytest.raises(ix.OutputError, match="cannot write"):
        write_whole(tmp_path / "no" / "page.html", "text")


def test_a_process_that_writes_for_ever_does_not_note_for_ever(tmp_path, monkeypatch):
    monkeypatch.setattr(atomic_files, "MOST_NAMED", 3)
    for number in range(6):
        write_whole(tmp_path / f"{number}", "text")
    assert atomic_files.whole_places() == [tmp_path / "3", tmp_path / "4", tmp_path / "5"]


posix = pytest.mark.skipif(sys.platform == "win32", reason="file locks of POSIX")


def die(draft: Path) -> None:
    """Let go of a draft as the system does for a process that was killed: it stays where it is."""
    os.close(atomic_files._held.pop(draft))


@posix
@pytest.mark.parametrize("is_folder", [False, True])
def test_the_next_to_write_removes_what_a_dead_process_left(tmp_path, is_folder):
    left = atomic_files.make_draft(tmp_path / "old", is_folder=is_folder)
    (left / "table.csv" if is_folder else left).write_text("half a ro")
    assert stat.S_IMODE(left.stat().st_mode) & 0o077 == 0
    write_whole(tmp_path / "page.html", "text")
    assert left.exists()  # its process lives
    die(left)
    write_whole(tmp_path / "page.html", "text")
    assert [place.name for place in tmp_path.iterdir()] == ["page.html"]


@posix
def test_nothing_but_our_own_drafts_is_removed(tmp_path, monkeypatch):
    draft = atomic_files.make_draft(tmp_path / "a")
    new = draft.rename(draft.with_suffix(".new"))  # killed before it had its name
    die(draft)
    other = tmp_path / ".a.partial"
    other.write_text("somebody's")
    elsewhere = draft.with_name(draft.name.replace(atomic_files._MACHINE, "abcdef"))  # of another machine
    elsewhere.write_text("its own")
    link = tmp_path / f".b.{atomic_files._MACHINE}{'0' * 12}.partial"
    link.symlink_to(other)
    assert atomic_files.remove_forsaken_drafts(tmp_path) == 0
    assert all(place.exists() for place in (new, other, elsewhere, link))
    monkeypatch.setattr(atomic_files, "NEW_FOR", -1.0)
    assert atomic_files.remove_forsaken_drafts(tmp_path) == 1
    assert not new.exists()
    assert atomic_files.remove_forsaken_drafts(tmp_path / "nowhere") == 0


def folder_of(place: Path, text: str) -> Path:
    place.mkdir(exist_ok=True)
    (place / "table.csv").write_text(text)
    return place


@pytest.mark.parametrize("can_exchange", [False, True])
def test_a_folder_takes_the_place_of_another(tmp_path, monkeypatch, can_exchange):
    if not can_exchange:
        monkeypatch.setattr(atomic_files, "_exchange", lambda *_: False)
    goal = folder_of(tmp_path / "out", "before")
    draft = folder_of(atomic_files.make_draft(goal, is_folder=True), "after")
    with pytest.raises(OSError, match="not empty"):
        atomic_files.give_name(draft, goal)
    atomic_files.forget_places()
    atomic_files.give_name(draft, goal, replace=True)
    atomic_files.drop_draft(draft)
    assert (goal / "table.csv").read_text() == "after"
    assert list(tmp_path.iterdir()) == atomic_files.whole_places() == [goal]


@posix
def test_what_stepped_aside_comes_back_if_its_process_died(tmp_path, monkeypatch):
    """Without an exchange of names there is a moment in which nothing has the name."""
    goal = folder_of(tmp_path / "out", "before")
    draft = folder_of(atomic_files.make_draft(goal, is_folder=True), "after")
    aside = atomic_files._beside(goal, "old")
    goal.rename(aside)
    die(draft)
    write_whole(tmp_path / "page.html", "text")
    assert {place.name for place in tmp_path.iterdir()} == {"out", "page.html"}
    assert (goal / "table.csv").read_text() == "before"
    folder_of(aside, "older")  # and it goes if something has the name by now
    write_whole(tmp_path / "page.html", "text")
    assert (goal / "table.csv").read_text() == "before"
    assert not aside.exists()


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
