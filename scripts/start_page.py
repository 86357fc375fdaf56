"""Run every command of the start pages as it is printed, in a new virtual environment with nothing but a built wheel.

    python -m build && python scripts/start_page.py dist/*.whl
    python scripts/start_page.py dist/*.tar.gz --page docs/installing.md --python python3.13

The README, the site's start page and the page about installing are run unless ``--page`` names others. Lines after
``$`` in ``console`` blocks run in a shell, each page in a folder of its own with the tables of the demo; each must end
with 0, or with the exit code that a comment behind it says, and print the lines that are shown below it. With
``--with`` further packages are installed, and a page's Python runs as well.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BLOCK = re.compile(r"^```(?P<kind>\w+)\n(?P<body>.*?)^```$", re.MULTILINE | re.DOTALL)
EXIT_CODE = re.compile(r"\s+# exit code (\d+)$")
START_PAGES = ("README.md", "docs/index.md", "docs/installing.md")


def commands_of(page: str) -> Iterator[tuple[str, int, list[str]]]:
    """Return each command of a page, the exit code that it is to have, and the lines that it is to print."""
    for block in BLOCK.finditer(page):
        if block["kind"] != "console":
            continue
        for part in re.split(r"^\$ ", block["body"], flags=re.MULTILINE)[1:]:
            command, _, shown = part.partition("\n")
            asked = EXIT_CODE.search(command)
            lines = [plain(line) for line in shown.splitlines()]
            wanted = [line for line in lines if line not in ("", "…")]
            yield EXIT_CODE.sub("", command), int(asked[1]) if asked else 0, wanted


def plain(line: str) -> str:
    """Return a line without what depends on widths alone: runs of spaces and of rules."""
    return re.sub("─+", "─", " ".join(line.split()))


def mistake_of(code: int, printed: str, wanted: int, shown: list[str]) -> str | None:
    """Say what a command did otherwise than the page says."""
    if code != wanted:
        return f"exit code {code} instead of {wanted}"
    lines = iter([plain(line) for line in printed.splitlines()])
    missing = next((line for line in shown if line not in lines), None)
    return None if missing is None else f"it does not print {missing!r}"


def new_environment(folder: Path, wheel: Path, python: str, more: list[str]) -> Path:
    """Make a virtual environment with a wheel and what it needs; give the folder of its programs."""
    subprocess.run([python, "-m", "venv", str(folder / "env")], check=True)
    programs = folder / "env" / ("Scripts" if os.name == "nt" else "bin")
    pip = [str(programs / "python"), "-m", "pip", "install", "-q", str(wheel.resolve()), *more]
    subprocess.run(pip, check=True)
    return programs


def run_page(page: Path, programs: Path, place: Path, *, runs_python: bool) -> Iterator[tuple[str, str | None]]:
    """Run what a page shows; give each command with what went wrong."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "VIRTUAL"))}
    environment |= {"PATH": f"{programs}{os.pathsep}{os.environ['PATH']}", "COLUMNS": "120"}
    settings = {"cwd": place, "env": environment, "text": True, "encoding": "utf-8", "check": False}
    subprocess.run([str(programs / "indistinct"), "demo", "--save", ".", "-q"], **settings)  # type: ignore[call-overload]
    text = page.read_text("utf-8")
    for command, wanted, shown in commands_of(text):
        both = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
        done = subprocess.run(command, shell=True, **settings, **both)  # type: ignore[call-overload]
        yield command, mistake_of(done.returncode, done.stdout, wanted, shown)
    if runs_python:
        blocks = [found["body"] for found in BLOCK.finditer(text) if found["kind"] == "python"]
        done = subprocess.run([str(programs / "python"), "-c", "\n".join(blocks)], **settings)  # type: ignore[call-overload]
        yield f"{len(blocks)} blocks of Python", mistake_of(done.returncode, "", 0, [])


def main(arguments: list[str]) -> int:
    """Return 1 if a command of the page does not do what is shown."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("wheel", type=Path)
    parser.add_argument("--page", dest="pages", type=Path, action="append", help="another page; may be said again")
    parser.add_argument("--python", default=sys.executable, help="the Python of the new environment")
    parser.add_argument("--with", dest="more", action="append", default=[], metavar="PACKAGE", help="install it, too")
    asked = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="start-page-") as name:
        folder = Path(name)
        programs = new_environment(folder, asked.wheel, asked.python, asked.more)
        failed = 0
        for number, page in enumerate(asked.pages or [ROOT / name for name in START_PAGES]):
            place = folder / f"page-{number}"
            place.mkdir()
            sys.stdout.write(f"{page.name}\n")
            for command, mistake in run_page(page, programs, place, runs_python=bool(asked.more)):
                sys.stdout.write(f"{'FAILED' if mistake else 'ok    '} {command}{f': {mistake}' if mistake else ''}\n")
                failed += mistake is not None
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
