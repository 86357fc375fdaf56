"""Faults: commands that are ended anywhere, on full disks, without memory, two at once, under clocks that jump.

    python -m campaigns faults --inputs 1000 --seed 0
    python -m campaigns faults --inputs 60 --set how=events            without strace: at Python's own file operations
    python -m campaigns faults --inputs 20 --set kinds=kill --set "scenes=a report"
    python -m campaigns faults --inputs 50 --set kinds=kill --set "scenes=a release with a ledger in PostgreSQL"
    python -m campaigns faults --inputs 50 --set "kinds=the database server ends"
    python -m campaigns faults --inputs 20 --set "kinds=Spark ends"       half a minute of processor time for each case

``--set wall=30`` ends it after so many minutes on the wall: the forks' processor time is not that of ``--minutes``.

After each fault: the target holds nothing, what it held before, or a whole new release; the ledger holds what it held,
or one entry more, and verifies; the next run succeeds, and leaves nothing of the dead one, least of all a private copy.
"""

from __future__ import annotations

import contextlib
import os
import random
import shutil
import signal
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from campaigns import fault_lost_spark, fault_postgres, fault_scenes, fault_server
from campaigns.fault_limits import LIMITS, Case, wrong_ending
from campaigns.fault_lost_database import lost_database
from campaigns.fault_scenes import CANARY, IN_POSTGRES, SCENES, Scene
from campaigns.fault_server import Moment, Setup
from campaigns.running import Options, Outcome

if TYPE_CHECKING:
    from helpers.postgres import Server

LOST_DATABASE, LOST_SPARK = "the database server ends", "Spark ends"
OTHERS: dict[str, Case] = LIMITS | {LOST_DATABASE: lost_database, LOST_SPARK: fault_lost_spark.lost_spark}
"""What is no signal to the command."""
KINDS = {"kill": 17, **dict.fromkeys(OTHERS, 1)}
"""What a case may be, and how often."""
USUAL_KINDS = ["kill", *LIMITS]
"""Those that need no other program."""
WEIGHTS = {
    "a new release": 4,
    "a release replaced": 5,
    "a release with the ledger": 5,
    "a ledger made": 2,
    "a release exported": 2,
    "a report": 1,
    IN_POSTGRES: 5,
}
USUAL = [name for name in WEIGHTS if name != IN_POSTGRES]
"""The scenes that need no server."""
ENDINGS = [signal.SIGKILL] * 6 + [signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGQUIT]


@dataclass
class Stage:
    """What the cases of a run share: the template, how moments are chosen, and the moments of each scene."""

    folder: Path
    template: Path
    how: str
    setup: Setup | None = None
    """A fault that is planted in every command, to see that it is found."""
    scenes: list[str] = field(default_factory=lambda: list(USUAL))
    database: Server | None = None
    """The server of PostgreSQL, if a scene needs it."""
    moments: dict[str, list[Moment]] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)
    """What else a clean run tells, by its name."""

    def case(self, number: int) -> Path:
        """Begin a case with a copy of the template."""
        self.begin_database(f"case-{number}")
        return fault_scenes.copy_of(self.template, self.folder / f"case-{number}")

    def begin_database(self, name: str) -> None:
        """Begin with a copy of the template's database as well, if there is one."""
        if self.database is not None:
            fault_postgres.begin(name)

    def moments_of(self, scene: Scene) -> list[Moment]:
        """Return the moments of a scene; a clean run tells them."""
        if scene.name not in self.moments:
            of_case = os.environ.get("PGDATABASE")
            place = fault_scenes.copy_of(self.template, self.folder / f"clean-{len(self.moments)}")
            self.begin_database(place.name)
            count = fault_server.count_calls if self.how == "strace" else fault_server.count_events
            self.moments[scene.name] = count(scene.command, place, self.setup)
            shutil.rmtree(place)
            os.environ |= {} if of_case is None else {"PGDATABASE": of_case}
        return self.moments[scene.name]


def run(options: Options, setup: Setup | None = None) -> Outcome:
    """Run cases one after the other, each in a fork of this process."""
    outcome = Outcome(options)
    kinds = options.more["kinds"].split(",") if "kinds" in options.more else USUAL_KINDS
    parent = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    folder = Path(tempfile.mkdtemp(prefix="faults-", dir=parent))
    how = options.more.get("how") or ("strace" if fault_server.has_strace() else "events")
    outcome.notes["moments"] = "system calls, by strace" if how == "strace" else "file operations of Python"
    scenes = options.more["scenes"].split(",") if "scenes" in options.more else list(USUAL)
    with contextlib.ExitStack() as stack:
        stack.callback(shutil.rmtree, folder, ignore_errors=True)
        if LOST_DATABASE in kinds and IN_POSTGRES not in scenes:
            scenes.append(IN_POSTGRES)
        database = stack.enter_context(fault_postgres.server()) if IN_POSTGRES in scenes else None
        stage = Stage(folder, fault_scenes.make_template(folder, scenes), how, setup, scenes, database)
        if LOST_SPARK in kinds:
            fault_lost_spark.prepare(folder)
        until = time.monotonic() + 60 * float(options.more.get("wall", 1e6))
        for case in options.cases():
            if time.monotonic() > until:
                break
            dice = options.dice(case)
            kind = dice.choices(kinds, [KINDS[kind] for kind in kinds])[0]
            place = stage.case(case)
            found = killed(stage, place, dice, outcome) if kind == "kill" else OTHERS[kind](stage, place, dice)
            if kind != "kill":
                outcome.figures[kind] += 1
            outcome.cases += 1
            for what in found:
                outcome.add(case, f"{kind}: {what}")
            shutil.rmtree(place, ignore_errors=True)
    return outcome


def killed(stage: Stage, place: Path, dice: random.Random, outcome: Outcome) -> list[str]:
    """Send a command a signal at a random moment, and find what is wrong afterwards."""
    scene = SCENES[dice.choices(stage.scenes, [WEIGHTS[name] for name in stage.scenes])[0]]
    moment, ending = dice.choice(stage.moments_of(scene)), dice.choice(ENDINGS)
    ended = fault_server.kill(scene.command, place, moment, ending, setup=stage.setup)
    outcome.figures[f"ended by {ending.name}"] += 1
    outcome.figures[f"ended in {scene.name}"] += 1
    where = f"{scene.name}, {ending.name} at {moment.call or 'event'} {moment.number}, left with {ended.code}"
    found = wrong_ending(ended, ending) + scene.check(scene, stage.template, place)
    if ended.code >= 0:  # it could clean up
        found += left_behind(stage, scene, place, "after the signal")
    if ending == signal.SIGKILL or dice.random() < 0.25:
        found += wrong_next_run(stage, scene, place)
    return [f"{where}: {what}" for what in found]


def wrong_next_run(stage: Stage, scene: Scene, place: Path) -> list[str]:
    """Run the command once more, and find what is wrong then: it must succeed, and sweep what the dead one left."""
    ended = fault_server.run(scene.again, place, setup=stage.setup)
    if ended.code:
        return [f"the next run left with {ended.code}: {ended.said[-300:]}"]
    found = scene.check(scene, stage.template, place) if scene.repeat is None else []
    found += left_behind(stage, scene, place, "after the next run")
    if scene.goal == "sent":
        found += wrong_store(place)
    elif scene.name == IN_POSTGRES:
        found += fault_postgres.wrong_store(place)
    return found


def left_behind(stage: Stage, scene: Scene, place: Path, when: str) -> list[str]:
    """Find drafts, private copies and folders that nobody asked for."""
    known = {path.name for path in (stage.template / "work").iterdir()}
    known |= {scene.goal, "given", "given2", "new.db", "new.db.store", "newer.db", "newer.db.store"}
    extra = [path for path in (place / "work").iterdir() if path.name not in known]
    found = [f"{when} {path.name} is left" for path in extra if not _is_empty_draft(path)]
    for path in (place / "tmp").rglob("*"):
        if path.is_file() and CANARY.encode("utf-8") in path.read_bytes().decode("latin-1").encode("utf-8"):
            found.append(f"{when} a private copy is left: {path.relative_to(place)}")
        elif path.parent == place / "tmp" and any(path.iterdir()) and not (path / ".owner.new").exists():
            found.append(f"{when} {path.name} is left in the temporary folder")
    return found


def _is_empty_draft(path: Path) -> bool:
    """Return whether something was made and has got nothing yet: it is swept when it is an hour old."""
    return path.suffix == ".new" and (not any(path.iterdir()) if path.is_dir() else path.stat().st_size == 0)


def wrong_store(place: Path) -> list[str]:
    """Find what is wrong with the ledger and its files: verified by a command, swept at once in a fork."""
    ended = fault_server.run(["ledger", "verify", "-l", "kept.db"], place)
    found = [f"ledger verify left with {ended.code}: {ended.said[-300:]}"] if ended.code else []
    entries = fault_scenes.entries(place / "work" / "kept.db")

    def no_hour() -> None:
        import time

        real = time.time
        time.time = lambda: real() + 7200

    swept = fault_server.run(["ledger", "sweep", "-l", "kept.db"], place, setup=no_hour)
    found += [f"ledger sweep left with {swept.code}: {swept.said[-300:]}"] if swept.code else []
    kept = len(list((place / "work" / "kept.db.store").iterdir()))
    return found + ([f"the store holds {kept} folders for {entries} entries"] if kept != entries else [])
