"""Faults that are no signal: full disks, little memory, a target that is read-only, two writers, jumping clocks."""

from __future__ import annotations

import contextlib
import os
import random
import resource
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from campaigns import fault_scenes, fault_server
from campaigns.fault_scenes import LEDGER, RELEASE, SCENES
from campaigns.fault_server import Ended, limited

if TYPE_CHECKING:
    from campaigns.faults import Stage

NEW, WITH_LEDGER = SCENES["a new release"], SCENES["a release with the ledger"]
Case = Callable[["Stage", Path, random.Random], list[str]]


def clear(ended: Ended, *, may_pass: bool = True) -> list[str]:
    """Find what is wrong with how a command failed: it must say why, in its own words, and leave with its own code."""
    if ended.code == 0:
        return [] if may_pass else ["it says that it succeeded"]
    if ended.hung or ended.code < 0 or ended.code == 99:
        return [f"it ended with {ended.code}{', as it hung' if ended.hung else ''}: {ended.said[-300:]}"]
    if "please report it" in ended.said or "Traceback" in ended.said or "error" not in ended.said:
        return [f"left with {ended.code}, and says: {ended.said[-400:]}"]
    return []


def wrong_ending(ended: Ended, ending: int) -> list[str]:
    """Find what is wrong with the way a command ended: it hangs, says of an error of ours, or a code of its own."""
    found = ["it hangs"] if ended.hung else []
    if "please report it" in ended.said or "Traceback" in ended.said or "outside of the command" in ended.said:
        found.append(f"it says: {ended.said[-600:]}")
    if ended.code not in (0, -ending, 128 + ending):
        found.append(f"an exit code of its own; it says: {ended.said[-300:]}")
    if "nothing was written" in ended.said and ended.code == 0:
        found.append("it says that nothing was written, and left with 0")
    return found


def full_disk(stage: Stage, place: Path, dice: random.Random) -> list[str]:
    """Write to a disk that has no room: a small one of memory if we may mount it, else files may not grow."""
    scene = dice.choice([NEW, SCENES["a release replaced"], WITH_LEDGER, SCENES["a release exported"]])
    with small_disk(place / "work", dice.randrange(1, 24) * 4096) as is_mounted:
        setup = None if is_mounted else limited(resource.RLIMIT_FSIZE, dice.randrange(0, 3000))
        ended = fault_server.run(scene.command, place, setup=setup)
        found = clear(ended) + scene.check(scene, stage.template, place)
        if ended.code:
            found += left(stage, place, scene.goal)
    return found


@contextlib.contextmanager
def small_disk(work: Path, free: int) -> Iterator[bool]:
    """Let a folder be a disk with so many free bytes, which holds what the folder held; False if we may not."""
    used = sum(-(-path.stat().st_size // 4096) * 4096 if path.is_file() else 4096 for path in work.rglob("*"))
    aside = work.with_name("aside")
    work.rename(aside)
    work.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={used + free}", "tmpfs", str(work)]
    is_mounted = os.geteuid() == 0 and subprocess.run(mount, capture_output=True, check=False).returncode == 0
    try:
        shutil.copytree(aside, work, dirs_exist_ok=True)
        yield is_mounted
    finally:
        if is_mounted:
            subprocess.run(["umount", str(work)], check=True)


def no_growth(stage: Stage, place: Path, dice: random.Random) -> list[str]:
    """Let no file grow beyond a size, as a quota does; temporary files and databases as well."""
    scene = dice.choice([NEW, SCENES["a release replaced"], WITH_LEDGER, SCENES["a ledger made"]])
    ended = fault_server.run(scene.command, place, setup=limited(resource.RLIMIT_FSIZE, dice.randrange(0, 6000)))
    found = clear(ended) + scene.check(scene, stage.template, place)
    return found + (left(stage, place, scene.goal) if ended.code else [])


def little_memory(stage: Stage, place: Path, dice: random.Random) -> list[str]:
    """Return a command little more memory than it has when it starts."""
    scene = dice.choice([NEW, WITH_LEDGER])
    more = dice.randrange(1 << 20, 200 << 20)

    def starve() -> None:
        pages = int(Path("/proc/self/statm").read_text("ascii").split()[0])
        most = pages * resource.getpagesize() + more
        resource.setrlimit(resource.RLIMIT_AS, (most, most))

    ended = fault_server.run(scene.command, place, setup=starve)
    found = clear(ended) + scene.check(scene, stage.template, place)
    return [f"with {more >> 20} MB: {what}" for what in found]


def read_only(stage: Stage, place: Path, dice: random.Random) -> list[str]:
    """Write where nothing may be written."""
    work = place / "work"
    scene = dice.choice([NEW, SCENES["a release replaced"], WITH_LEDGER, SCENES["a ledger made"]])
    if os.geteuid() == 0:
        if subprocess.run(["mount", "--bind", str(work), str(work)], capture_output=True, check=False).returncode:
            return []
        try:
            subprocess.run(["mount", "-o", "remount,ro,bind", str(work)], check=True)
            ended = fault_server.run(scene.command, place)
        finally:
            subprocess.run(["umount", str(work)], check=True)
    else:
        work.chmod(0o500)
        ended = fault_server.run(scene.command, place)
        work.chmod(0o700)
    return clear(ended, may_pass=False) + scene.check(scene, stage.template, place) + left(stage, place, "")


def two_at_one_target(stage: Stage, place: Path, dice: random.Random) -> list[str]:
    """Let two commands write one release at once: one is whole in the end, and without --replace one is refused."""
    more = dice.choice([[], ["--replace"]])
    command = [*RELEASE, "-o", "out", *more]
    first, second = _both(command, place)
    found = clear(first) + clear(second) + NEW.check(NEW, stage.template, place) + left(stage, place, "out")
    if not (place / "work" / "out").exists():
        found.append("nobody wrote it")
    if not more and first.code == 0 and second.code == 0:
        found.append("both say that they wrote it")
    return found


def two_at_one_ledger(stage: Stage, place: Path, dice: random.Random) -> list[str]:
    """Let two commands enter releases in one ledger at once: both entries stand, one after the other."""
    first, second = _both([*RELEASE, *LEDGER, "-o", "{}"], place)
    had = fault_scenes.entries(stage.template / "work" / "kept.db")
    has = fault_scenes.entries(place / "work" / "kept.db")
    found = clear(first) + clear(second)
    if has - had != (first.code == 0) + (second.code == 0):
        found.append(f"{has - had} entries for codes {first.code} and {second.code}")
    ended = fault_server.run(["ledger", "verify", "-l", "kept.db"], place)
    return found + ([f"ledger verify left with {ended.code}: {ended.said[-300:]}"] if ended.code else [])


def _both(command: list[str], place: Path) -> tuple[Ended, Ended]:
    """Run a command twice at once; ``{}`` in it is the number of each."""
    beside = place.with_name(f"{place.name}-beside")
    fault_scenes.empty_case(beside)
    (beside / "work").rmdir()
    (beside / "work").symlink_to(place / "work")
    commands = [[word.replace("{}", f"sent-{number}") for word in command] for number in (1, 2)]
    try:
        started = fault_server.start(commands[0], place)
        second = fault_server.run(commands[1], beside)
        return fault_server.wait_for(started, place), second
    finally:
        shutil.rmtree(beside, ignore_errors=True)


def jumping_clock(stage: Stage, place: Path, dice: random.Random) -> list[str]:
    """Let the clock jump by days, back and forth, whenever somebody asks it."""
    scene, seed = dice.choice([NEW, SCENES["a release replaced"], WITH_LEDGER]), dice.random()

    def jump() -> None:
        import datetime as dates
        import sys
        import time

        own = random.Random(seed)
        real, steady = time.time, time.monotonic
        time.time = lambda: max(0.0, real() + own.uniform(-9e8, 9e8))
        time.monotonic = lambda: steady() + own.uniform(0, 9e8)

        class Jumping(dates.datetime):
            @classmethod
            def now(cls, tz: dates.tzinfo | None = None) -> Jumping:
                return cls.fromtimestamp(time.time(), tz)

        for name, module in list(sys.modules.items()):
            if name.startswith("indistinct") and vars(module).get("datetime") is dates.datetime:
                vars(module)["datetime"] = Jumping

    ended = fault_server.run(scene.command, place, setup=jump)
    found = [f"left with {ended.code}: {ended.said[-300:]}"] if ended.code else []
    found += scene.check(scene, stage.template, place) + left(stage, place, scene.goal)
    for command in (["verify", "policy.toml", scene.goal], ["ledger", "verify", "-l", "kept.db"]):
        ended = fault_server.run(command, place)
        found += [f"{command[0]} left with {ended.code}: {ended.said[-300:]}"] if ended.code else []
    return found


def left(stage: Stage, place: Path, goal: str) -> list[str]:
    """Find what a command left that failed by itself, which may leave nothing."""
    known = {path.name for path in (stage.template / "work").iterdir()} | {goal}
    extra = [path.name for path in (place / "work").iterdir() if path.name not in known]
    return [f"{name} is left" for name in extra] + [f"{path.name} is left in tmp" for path in (place / "tmp").iterdir()]


LIMITS: dict[str, Case] = {
    "a full disk": full_disk,
    "files that may not grow": no_growth,
    "little memory": little_memory,
    "a target that may not be written": read_only,
    "two writers at one target": two_at_one_target,
    "two writers at one ledger": two_at_one_ledger,
    "a clock that jumps": jumping_clock,
}
