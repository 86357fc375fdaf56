"""Scenes of the faults campaign: a command on files of its own, and what must be true after it was ended anywhere."""

from __future__ import annotations

import hashlib
import json
import shutil
import sqlite3
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from campaigns import fault_postgres, fault_server

CANARY = "Zäzilie"
"""A name that every private copy holds."""
POLICY = """
version = 1
[columns]
name = { role = "identifier" }
age = { role = "quasi", hierarchy = { intervals = [10, 50] } }
zip = { role = "quasi", hierarchy = { prefix = { length = 5, keep = [3, 1] } } }
ill = { role = "sensitive" }
[[privacy]]
model = "k-anonymity"
k = 3
"""
RELEASE = ["anonymize", "policy.toml", "people.csv", "--encoding", "latin-1", "--threads", "1"]
IN_POSTGRES = "a release with a ledger in PostgreSQL"
"""The one scene that needs a server."""
POSTED = [*RELEASE, *fault_postgres.LEDGER, *fault_postgres.TERMS, "-o", "posted"]
LEDGER = ["--ledger", "kept.db", "--recipient", "R", "--again", "consistent", "--key", "name"]


@dataclass(frozen=True)
class Scene:
    """A command, the place that it writes, and what is true of that place afterwards."""

    name: str
    command: list[str]
    goal: str
    check: Callable[[Scene, Path, Path], list[str]]
    """Finds what is wrong below the second folder, given how it was below the first."""
    repeat: list[str] | None = None
    """The next run, if it is not the same command."""

    @property
    def again(self) -> list[str]:
        """Return the next run."""
        return self.repeat or self.command


def make_template(folder: Path, scenes: list[str]) -> Path:
    """Make a table, a policy, a release of it and a ledger with an entry; every case begins with a copy."""
    template = empty_case(folder / "template")
    work = template / "work"
    rows = [
        f"{CANARY} {n},{20 + n * 7 % 60},{10000 + n * 37 % 90:05d},{('flu', 'gout', 'cold')[n % 3]}" for n in range(48)
    ]
    (work / "people.csv").write_text("\n".join(["name,age,zip,ill", *rows]) + "\n", "latin-1")
    (work / "policy.toml").write_text(POLICY, "utf-8")
    made = [[*RELEASE, "-o", "old"], ["ledger", "init", "kept.db"], [*RELEASE, *LEDGER, "-o", "entered"]]
    if IN_POSTGRES in scenes:
        made.append(["ledger", "init", fault_postgres.URL, "--store", str(folder / "posted.store")])
        made.append([*POSTED[:-1], "entered too"])
    fault_server.warm(made, work)
    shutil.copytree(work, folder / "warm")
    if IN_POSTGRES in scenes:
        fault_postgres.begin("warm")
    fault_server.warm([SCENES[name].command for name in scenes], folder / "warm")
    return template


def empty_case(folder: Path) -> Path:
    """Make the folders of a case."""
    for name in ("work", "tmp"):
        (folder / name).mkdir(parents=True)
    return folder


def copy_of(template: Path, folder: Path) -> Path:
    """Begin a case with a copy of the template."""
    shutil.copytree(template, folder)
    return folder


def wrong_release(scene: Scene, before: Path, after: Path) -> list[str]:
    """Find what is wrong with a target: it holds nothing, what it held before, or a whole new release."""
    goal, old = after / "work" / scene.goal, before / "work" / scene.goal
    if not goal.exists():
        return [f"{scene.goal}, which was there, is gone"] if old.exists() else []
    if old.exists() and contents(goal) == contents(old):
        return []
    try:
        stated = json.loads((goal / "manifest.json").read_text("utf-8"))
        files = stated["files"]
    except (OSError, ValueError, KeyError) as error:
        return [f"{scene.goal} has no whole manifest ({type(error).__name__})"]
    wrong = [name for name, digest in files.items() if digest_of(goal / name) != digest]
    extra = {path.name for path in goal.iterdir()} - {*files, "manifest.json"}
    return [f"{scene.goal}/{name} is not what its manifest states" for name in wrong] + [
        f"{name} is too many" for name in extra
    ]


def wrong_page(scene: Scene, before: Path, after: Path) -> list[str]:
    """Find what is wrong with a page: there is none, or it is whole."""
    page = after / "work" / scene.goal
    return [] if not page.exists() or page.read_text("utf-8").rstrip().endswith("</html>") else ["the page is cut off"]


def wrong_ledger(scene: Scene, before: Path, after: Path) -> list[str]:
    """Find what is wrong with a ledger and its release: an entry less, two more, a release without its entry."""
    had, has = entries(before / "work" / "kept.db"), entries(after / "work" / "kept.db")
    found = wrong_release(scene, before, after)
    if has not in (had, had + 1):
        found.append(f"the ledger had {had} entries and has {has}")
    if (after / "work" / scene.goal).exists() and has == had:
        found.append("a release stands without its entry")
    return found


def wrong_posted(scene: Scene, before: Path, after: Path) -> list[str]:
    """Find the same of a ledger in PostgreSQL, which had one entry."""
    has, found = fault_postgres.entries(), wrong_release(scene, before, after)
    if has not in (1, 2):
        found.append(f"the ledger had 1 entry and has {has}")
    if (after / "work" / scene.goal).exists() and has == 1:
        found.append("a release stands without its entry")
    return found


def wrong_new_ledger(scene: Scene, before: Path, after: Path) -> list[str]:
    """Find what is wrong with a ledger that was to be made: it is there and empty, or not there."""
    path = after / "work" / scene.goal
    return [] if not path.exists() or entries(path) == 0 else ["a new ledger is not empty"]


def entries(database: Path) -> int:
    """Count the entries of a ledger by SQL of our own; a broken database raises."""
    copy = database.parent.parent / "copy.db"  # not on a disk that may be full
    shutil.copyfile(database, copy)
    journal = database.with_name(f"{database.name}-journal")
    if journal.exists():  # a hot journal is part of the database
        shutil.copyfile(journal, copy.with_name("copy.db-journal"))
    connection = sqlite3.connect(copy)
    try:
        number: int = connection.execute("SELECT count(*) FROM indistinct_entries").fetchone()[0]
        return number
    finally:
        connection.close()
        copy.unlink()


def contents(folder: Path) -> dict[str, bytes]:
    """Return the files of a folder."""
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def digest_of(path: Path) -> str:
    """Return the SHA-256 of a file, or nothing if it is not there."""
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.exists() else ""


SCENES = {
    scene.name: scene
    for scene in (
        Scene("a new release", [*RELEASE, "-o", "out"], "out", wrong_release, [*RELEASE, "-o", "out", "--replace"]),
        Scene("a release replaced", [*RELEASE, "-o", "old", "--replace"], "old", wrong_release),
        Scene(
            "a release with the ledger",
            [*RELEASE, *LEDGER, "-o", "sent"],
            "sent",
            wrong_ledger,
            [*RELEASE, *LEDGER, "-o", "sent", "--replace"],
        ),
        Scene(IN_POSTGRES, POSTED, "posted", wrong_posted, [*POSTED, "--replace"]),
        Scene(
            "a ledger made", ["ledger", "init", "new.db"], "new.db", wrong_new_ledger, ["ledger", "init", "newer.db"]
        ),
        Scene(
            "a release exported",
            ["ledger", "export", "1", "-l", "kept.db", "-o", "given"],
            "given",
            wrong_release,
            ["ledger", "export", "1", "-l", "kept.db", "-o", "given2"],
        ),
        Scene(
            "a report",
            ["report", "policy.toml", "old", "-o", "page.html", "--original", "people.csv", "--encoding", "latin-1"],
            "page.html",
            wrong_page,
            [
                *["report", "policy.toml", "old", "-o", "page.html", "--replace"],
                *["--original", "people.csv", "--encoding", "latin-1"],
            ],
        ),
    )
}
