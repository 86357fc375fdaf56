"""A warm process that forks one command of the package per case, and ends it at a moment of the campaign's choice.

The moment is a system call, if strace is at hand: a clean run is written down first, and one of its calls that touch
files is chosen. Without strace it is the n-th time that Python opens, renames, makes or removes a file; calls
inside DuckDB and SQLite are then not met.
"""

from __future__ import annotations

import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import weakref
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

FILE_CALLS = (
    "openat,write,pwrite64,rename,renameat2,mkdir,unlink,unlinkat,rmdir,fsync,fdatasync,ftruncate,link,chmod,fchmod,"
    "flock,utimensat,close,getdents64,sendto,recvfrom"
)
"""Calls that touch files, or a database server."""
EVENTS = ("open", "os.rename", "os.mkdir", "os.remove", "os.rmdir", "os.chmod", "os.utime", "os.link", "os.scandir")
EVENTS += ("shutil.rmtree", "shutil.copyfile", "sqlite3.connect", "os.listdir")
LONGEST = 120.0
"""Seconds on the wall after which a command hangs."""
_CALL = re.compile(r"^(\d+)\s+(\w+)\(")


@dataclass(frozen=True)
class Moment:
    """The n-th call of one name in the main thread, or the n-th event of Python (then the name is empty)."""

    call: str
    number: int


@dataclass(frozen=True)
class Ended:
    """How a command ended: its exit code, or minus the signal; what it said; whether it had to be stopped."""

    code: int
    said: str
    hung: bool = False


Setup = Callable[[], None]
"""What a fork does to itself before the command runs: limits, clocks."""


def has_strace() -> bool:
    """Return whether system calls can be chosen: strace is there, and this process may trace."""
    program = shutil.which("strace")
    if program is None:
        return False
    tried = subprocess.run([program, "-qq", "-e", "trace=none", "true"], capture_output=True, check=False)
    return tried.returncode == 0


def warm(commands: list[list[str]], folder: Path) -> None:
    """Run commands in this process, so that forks have loaded and compiled what they need."""
    from typer.testing import CliRunner

    from indistinct.cli import app

    home = os.getcwd()
    os.chdir(folder)
    try:
        for command in commands:
            done = CliRunner().invoke(app, command)
            if done.exit_code:
                raise RuntimeError(f"{command} left with {done.exit_code}: {done.output}")
    finally:
        os.chdir(home)


def run(arguments: list[str], folder: Path, *, setup: Setup | None = None, longest: float = LONGEST) -> Ended:
    """Run a command to its end, in a fork."""
    return wait_for(start(arguments, folder, setup=setup), folder, longest)


def start(arguments: list[str], folder: Path, *, setup: Setup | None = None) -> int:
    """Start a command in a fork and give its id."""
    return _forked(arguments, folder, setup, None)[0]


def count_calls(arguments: list[str], folder: Path, setup: Setup | None = None) -> list[Moment]:
    """Run a command to its end and give the moments at which it touched files."""
    log = folder / "calls.log"
    child, gate = _forked(arguments, folder, setup, "traced")
    tracer = _trace(child, ["-e", f"trace={FILE_CALLS}", "-o", str(log)])
    os.write(gate, b"g")
    os.close(gate)
    ended = wait_for(child, folder)
    tracer.wait()
    if ended.code:
        raise RuntimeError(f"{arguments} left with {ended.code}: {ended.said}")
    seen: Counter[str] = Counter()
    moments = []
    for line in log.read_text("utf-8", "replace").splitlines():
        found = _CALL.match(line)
        if found and int(found[1]) == child:
            seen[found[2]] += 1
            moments.append(Moment(found[2], seen[found[2]]))
    log.unlink()
    return moments


def count_events(arguments: list[str], folder: Path, setup: Setup | None = None) -> list[Moment]:
    """Run a command to its end and give the events at which Python touched files."""
    log = folder / "events.log"

    def note() -> None:
        if setup is not None:
            setup()
        handle = os.open(log, os.O_CREAT | os.O_WRONLY | os.O_APPEND)
        sys.addaudithook(lambda event, _: os.write(handle, b".") and None if event in EVENTS else None)

    ended = run(arguments, folder, setup=note)
    if ended.code:
        raise RuntimeError(f"{arguments} left with {ended.code}: {ended.said}")
    number = log.stat().st_size
    log.unlink()
    return [Moment("", place) for place in range(1, number + 1)]


def kill(arguments: list[str], folder: Path, moment: Moment, ending: int, *, setup: Setup | None = None) -> Ended:
    """Run a command and send it a signal at a moment."""
    if not moment.call:
        return run(arguments, folder, setup=_ended_by_itself(moment.number, ending, setup))
    child, gate = _forked(arguments, folder, setup, "traced")
    name = signal.Signals(ending).name.removeprefix("SIG")
    tracer = _trace(
        child,
        [
            "-e",
            f"trace={moment.call}",
            "-e",
            f"inject={moment.call}:signal={name}:when={moment.number}",
            "-o",
            "/dev/null",
        ],
    )
    os.write(gate, b"g")
    os.close(gate)
    ended = wait_for(child, folder)
    tracer.wait()
    return ended


def _ended_by_itself(number: int, ending: int, setup: Setup | None) -> Setup:
    """Return a setup that sends this process a signal at the n-th event."""

    def watch() -> None:
        if setup is not None:
            setup()
        left = [number]

        def count(event: str, _: object) -> None:
            if event in EVENTS:
                left[0] -= 1
                if left[0] == 0:
                    os.kill(os.getpid(), ending)

        sys.addaudithook(count)

    return watch


def _forked(arguments: list[str], folder: Path, setup: Setup | None, gate: str | None) -> tuple[int, int]:
    """Start a command in a fork; with a gate it waits there until a byte comes. Give its id and the gate."""
    reading, writing = os.pipe()
    child = os.fork()
    if child:
        os.close(reading)
        if gate is None:
            os.close(writing)
            return child, -1
        return child, writing
    try:
        os.close(writing)
        os.setsid()
        _become_the_command(folder)
        if gate is not None:
            os.read(reading, 1)
        os.close(reading)
        if setup is not None:
            setup()
        code = _command(arguments)
    except BaseException as error:
        os.write(2, f"outside of the command: {type(error).__name__}: {error}\n".encode())
        code = 99
    os._exit(code)


def _become_the_command(folder: Path) -> None:
    """Turn what is printed to a file, and let temporary files lie in the case's own folder."""
    said = os.open(folder / "said.txt", os.O_CREAT | os.O_WRONLY | os.O_TRUNC | os.O_APPEND, 0o600)
    for stream in (1, 2):
        os.dup2(said, stream)
    os.close(said)
    sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    os.chdir(folder / "work")
    os.environ["TMPDIR"] = tempfile.tempdir = str(folder / "tmp")


def _command(arguments: list[str]) -> int:
    """Run the command line as its own process does, and give the exit code."""
    import atexit

    from indistinct.cli import main

    sys.argv = ["indistinct", *arguments]
    vars(weakref.finalize)["_registry"].clear()  # what the parent has open is not ours to close
    code = 0
    try:
        main()
    except SystemExit as left:
        code = left.code if isinstance(left.code, int) else 1
    except KeyboardInterrupt:
        code = 130
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    return code


def _trace(child: int, options: list[str]) -> subprocess.Popen[bytes]:
    """Have strace follow a fork, and wait until it does."""
    tracer = subprocess.Popen(
        ["strace", "-qq", "-f", "-p", str(child), *options],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    status = Path(f"/proc/{child}/status")
    while "TracerPid:\t0\n" in status.read_text("ascii"):
        if tracer.poll() is not None:
            raise RuntimeError("strace cannot follow the processes of this campaign")
        time.sleep(0.002)
    return tracer


def wait_for(child: int, folder: Path, longest: float = LONGEST) -> Ended:
    """Wait for a fork; one that hangs is stopped."""
    until = time.monotonic() + longest
    hung = False
    while True:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            break
        if time.monotonic() > until and not hung:
            os.kill(child, signal.SIGKILL)
            hung = True
        time.sleep(0.003)
    said = (folder / "said.txt").read_text("utf-8", "replace") if (folder / "said.txt").exists() else ""
    return Ended(os.waitstatus_to_exitcode(status), said, hung)


def limited(what: int, amount: int) -> Setup:
    """Return a setup that limits a resource of the process."""
    return lambda: resource.setrlimit(what, (amount, amount))
