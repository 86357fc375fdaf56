"""The command line as a process: what it imports, where it prints, its exit codes, and how it ends on a signal."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from indistinct.examples import save_examples

HEAVY = ("numpy", "duckdb", "numba", "pyarrow", "pydantic", "pandas", "polars")


def run(*arguments: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "indistinct", *arguments], capture_output=True, text=True, cwd=cwd, check=False
    )


@pytest.fixture
def examples(tmp_path: Path) -> Path:
    save_examples(tmp_path)
    return tmp_path


def test_help_imports_nothing_heavy() -> None:
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "indistinct", "--help"], capture_output=True, text=True, check=True
    )
    imported = {line.rpartition("|")[2].strip().partition(".")[0] for line in done.stderr.splitlines()}
    assert "typer" in imported
    assert [name for name in HEAVY if name in imported] == []


def test_importing_the_package_imports_nothing_heavy() -> None:
    code = f"import indistinct, sys; print([name for name in {HEAVY} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_data_goes_to_stdout_and_words_to_stderr(examples: Path) -> None:
    done = run("init", "hospital.csv", cwd=examples)
    assert done.returncode == 0
    assert done.stdout.startswith("# A first policy for hospital.csv")
    assert "next: indistinct check" in done.stderr
    assert "next:" not in done.stdout


def test_json_is_all_that_is_printed(examples: Path) -> None:
    """Only the first run after installation also says, on stderr, that it compiles."""
    assert run("anonymize", "hospital.toml", "hospital.csv", "-o", "first", "--json", cwd=examples).returncode == 0
    done = run("anonymize", "hospital.toml", "hospital.csv", "-o", "out", "--json", cwd=examples)
    assert done.returncode == 0
    assert done.stderr == ""
    assert json.loads(done.stdout)["released"] == 12


def test_exit_codes_reach_the_shell(examples: Path) -> None:
    (examples / "hard.toml").write_text(
        (examples / "hospital.toml").read_text("utf-8").replace("k = 2", "k = 99"), "utf-8"
    )
    assert run("check", "hospital.toml", "hospital.csv", cwd=examples).returncode == 0
    assert run("check", "hospital.toml", "nobody.csv", cwd=examples).returncode == 2
    assert run("check", "--nonsense", cwd=examples).returncode == 2
    assert run("check", "hard.toml", "hospital.csv", cwd=examples).returncode == 3
    assert run("verify", "hospital.toml", "hospital.csv", cwd=examples).returncode == 4


def test_a_closed_pipe_is_no_error_worth_words(examples: Path) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "w") as closed:
        done = subprocess.run(
            [sys.executable, "-m", "indistinct", "schema"],
            stdout=closed,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert "Traceback" not in done.stderr


INTERRUPTED = """
import os, signal, sys
from pathlib import Path
from indistinct.engine.duckdb import DuckRows

def break_off(self, folder, name="table"):
    (Path(folder) / "table.csv").write_text("half a ro")
    os.kill(os.getpid(), signal.{signal})
    while True:
        pass

DuckRows.write = break_off
sys.argv = ["indistinct", "anonymize", "hospital.toml", "hospital.csv", "-o", "out"]
from indistinct.cli import main
main()
"""


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals")
@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT])
def test_a_signal_in_the_middle_of_writing_leaves_nothing(examples: Path, ending: signal.Signals) -> None:
    temporary = examples / "temporary"
    temporary.mkdir()
    before = sorted(path.name for path in examples.iterdir())
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTED.format(signal=ending.name)],
        capture_output=True,
        text=True,
        cwd=examples,
        env=os.environ | {"TMPDIR": str(temporary)},
        timeout=60,
        check=False,
    )
    assert done.returncode == 128 + ending
    assert "Traceback" not in done.stderr
    assert sorted(path.name for path in examples.iterdir()) == before
    assert list(temporary.iterdir()) == []


LATE = """
import os, signal, sys
import indistinct.release.release as release

def give_name(staging, goal, **more):
    os_replace(staging, goal, **more)
    os.kill(os.getpid(), signal.SIGTERM)

os_replace = release.give_name
release.give_name = give_name
sys.argv = ["indistinct", "anonymize", "hospital.toml", "hospital.csv", "-o", "out", *sys.argv[1:]]
from indistinct.cli import main
main()
"""


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals")
def test_a_signal_after_writing_says_that_the_release_is_whole(examples: Path) -> None:
    for more in ((), ("--replace",)):
        done = subprocess.run(
            [sys.executable, "-c", LATE, *more], capture_output=True, text=True, cwd=examples, timeout=60, check=False
        )
        assert done.returncode == 128 + signal.SIGTERM
        assert "out was written before and is whole" in " ".join(done.stderr.split())
        assert not [path.name for path in examples.iterdir() if path.name.startswith(".out")]
    assert run("verify", "hospital.toml", "out", cwd=examples).returncode == 0


FINALIZED = """
import os, signal, weakref
from indistinct.cli import signals

class Thing:
    pass

signals.listen()
thing = Thing()
weakref.finalize(thing, os.kill, os.getpid(), signal.SIGTERM)
del thing
print(len(signals.received))
"""


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals")
def test_a_signal_while_python_cleans_up_shows_no_traceback() -> None:
    done = subprocess.run([sys.executable, "-c", FINALIZED], capture_output=True, text=True, timeout=60, check=False)
    assert (done.stdout, done.stderr) == ("1\n", "")
