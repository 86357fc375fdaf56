"""Private folders: gone with their process, also if it was killed; nobody else's are touched."""

from __future__ import annotations

import os
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
from pathlib import Path

import pyarrow as pa
import pytest

from indistinct.atomic_files import (
    OWNER,
    make_private_folder,
    private_folder,
    remove_forsaken,
    remove_private_folder,
)
from indistinct.engine import open_table

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="file locks of POSIX")

KILLED = """
import os, signal
from indistinct.atomic_files import make_private_folder
(make_private_folder() / "text.csv").write_text("name\\nAnn")
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def test_a_folder_is_private_and_goes_with_the_block(temporary: Path) -> None:
    with private_folder() as folder:
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        assert [place.name for place in temporary.iterdir()] == [folder.name]
    assert list(temporary.iterdir()) == []
    remove_private_folder(folder)  # twice is harmless


def test_the_next_process_removes_what_a_killed_one_left(temporary: Path) -> None:
    done = subprocess.run([sys.executable, "-c", KILLED], env=os.environ | {"TMPDIR": str(temporary)}, check=False)
    assert done.returncode == -signal.SIGKILL
    (left,) = temporary.iterdir()
    assert (left / "text.csv").exists()
    with private_folder() as folder:  # the first of this process in this place
        assert list(temporary.iterdir()) == [folder]


def test_a_signal_while_a_folder_is_removed_leaves_nothing(temporary: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = make_private_folder()
    (folder / "text.csv").write_text("name\nAnn")
    honest = shutil.rmtree

    def interrupted(*_: object, **__: object) -> None:
        monkeypatch.setattr(shutil, "rmtree", honest)
        raise KeyboardInterrupt

    monkeypatch.setattr(shutil, "rmtree", interrupted)
    with pytest.raises(KeyboardInterrupt):
        remove_private_folder(folder)
    assert list(temporary.iterdir()) == []


def test_a_signal_while_a_folder_is_made_leaves_nothing(temporary: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "rename", interrupted)
    with pytest.raises(KeyboardInterrupt):
        make_private_folder()
    assert list(temporary.iterdir()) == []


def test_what_somebody_uses_or_made_otherwise_stays(temporary: Path) -> None:
    own = make_private_folder()
    (temporary / "indistinct-diary").mkdir()
    (temporary / "indistinct-diary" / "mine.txt").write_text("mine")
    (temporary / "indistinct-link").symlink_to(own)
    assert remove_forsaken(temporary) == 0
    assert (own / OWNER).exists()
    assert (temporary / "indistinct-diary" / "mine.txt").exists()
    remove_private_folder(own)
    (temporary / "indistinct-diary" / OWNER).touch()  # nobody holds it
    assert remove_forsaken(temporary) == 1


def test_a_copy_of_a_private_table_is_for_its_owner_only(temporary: Path, tmp_path: Path) -> None:
    (temporary / "people.csv").write_bytes("name\nMüller\n".encode("latin-1"))
    with open_table(temporary / "people.csv", encoding="latin-1"):
        (copy,) = temporary.glob("indistinct-*/text.csv")
        assert stat.S_IMODE(copy.stat().st_mode) == 0o600
    assert list(temporary.glob("indistinct-*")) == []


def test_a_small_table_in_memory_makes_no_folder_of_its_own(temporary: Path) -> None:
    with open_table(pa.table({"a": [1]})) as rows:
        assert rows.count() == 1
        assert len(list(temporary.glob("indistinct-*"))) <= 1  # that of the engine
