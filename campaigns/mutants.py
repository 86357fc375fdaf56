"""Mutants: mistakes planted in the code that every promise rests on; the tests must catch at least 95 % of them.

    python -m campaigns mutants --minutes 25 --seed 0          a random sample of all mutants, as far as time allows
    python -m campaigns mutants --inputs 1000000               all of them
    python -m campaigns mutants --inputs 50 --set rooms=privacy --set tests=tests/privacy/test_models.py
    python -m campaigns mutants --set only=campaigns/survivors.json     those that no test caught before

``--set slow=no`` leaves out the slow tests, ``--set servers=yes`` takes those that need a PostgreSQL server, ``--set
wall=30`` ends it after so many minutes on the wall, and ``--set survivors=FILE`` writes those that no test caught.
``--set fates=FILE`` runs it in parts: each fate is kept there, what was caught is not met again as long as its
function stays as it was, and all of them are counted. Mutants that change nothing anybody could notice stand in
equivalent_mutants.json with the reason, and are counted apart. Those that somebody could notice and no test catches
stand in survivors.json, each with what would show it.
"""

from __future__ import annotations

import json
import math
import os
import resource
import time
import warnings
from collections import Counter
from pathlib import Path

from campaigns import mutant_runs
from campaigns.mutant_runs import HUNG, KILLED, SURVIVED, UNPLANTED, UNREACHED, Fate, MutantRuns
from campaigns.mutating import Mutant, mutants_of
from campaigns.running import Options, Outcome

ROOT = Path(__file__).resolve().parent.parent
EQUIVALENT = Path(__file__).with_name("equivalent_mutants.json")
SURVIVORS = Path(__file__).with_name("survivors.json")
ROOMS = ("proof", "privacy", "recoding", "ledger", "release", "studio/guard.py")
CAUGHT = (KILLED, HUNG)
ENOUGH = 0.95
"""The share of mutants that tests must catch."""
TESTS = (
    *("laws", "ledger", "package", "privacy", "proof", "recoding", "release", "search/test_anatomy.py"),
    *("search/test_local.py", "search/test_lossy_join.py", "search/test_m_invariance.py", "whole/test_studio_guard.py"),
)
"""The tests that are about these rooms; more of them could only catch more."""
SECONDS = 10.0
"""How much processor time of tests one mutant is worth."""


def run(options: Options) -> Outcome:
    """Plant mutants, one after the other, and count what became of them."""
    import indistinct

    package = Path(indistinct.__file__).resolve().parent
    os.environ.setdefault("HYPOTHESIS_PROFILE", "quick")
    rooms = [package / room for room in options.more.get("rooms", ",".join(ROOMS)).split(",")]
    tests = options.more["tests"].split(",") if "tests" in options.more else usual_tests(package)
    every = [mutant for room in rooms for path in _modules(room) for mutant in mutants_of(path, package)]
    options.dice(0).shuffle(every)
    if "only" in options.more:
        named = reasons(Path(options.more["only"]))
        every = [mutant for mutant in every if mutant.key in named]
    if options.case is not None:
        every = every[options.case : options.case + 1]
    equivalent, survivors = reasons(EQUIVALENT), reasons(SURVIVORS)
    kept = Path(options.more["fates"]) if "fates" in options.more else None
    before = {} if kept is None else earlier_fates(kept, every)
    waiting = [mutant for mutant in every if mutant.key not in before or before[mutant.key].fate not in CAUGHT]
    waiting.sort(key=lambda mutant: mutant.key in before)
    outcome, fates = Outcome(options), []
    until = time.monotonic() + 60 * float(options.more.get("wall", 1e6))

    def campaign(runs: MutantRuns) -> None:
        print(
            f"{len(runs.items)} tests, {len(runs.left_out)} left out, {len(waiting)} of {len(every)} mutants",
            flush=True,
        )
        for case, mutant in enumerate(waiting[: options.inputs]):
            is_over = options.minutes is not None and processor_minutes() > options.minutes
            if is_over or time.monotonic() > until:
                break
            fates.append(runs.fate_of(mutant, float(options.more.get("seconds", SECONDS))))
            if kept is not None:
                keep(kept, fates[-1])
            if fates[-1].fate in (SURVIVED, UNREACHED):
                known = " (equivalent)" if mutant.key in equivalent else " (listed)" if mutant.key in survivors else ""
                print(f"{case}: {fates[-1].fate}{known}: {mutant.name}", flush=True)
        if runs.left_out:
            outcome.notes["tests that did not do"] = ", ".join(runs.left_out)
        slow = "" if runs.with_slow else ", without the slow ones"
        outcome.notes["tests"] = f"{len(runs.items)} in the profile {os.environ['HYPOTHESIS_PROFILE']}{slow}"

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of forks beside threads: each fork starts its own
        with_slow = options.more.get("slow") != "no"
        with_servers = options.more.get("servers") == "yes"
        runs = MutantRuns(package, rooms, campaign, with_slow=with_slow, with_servers=with_servers)
        mutant_runs.run_tests(runs, tests, ROOT)
    if kept is not None:
        outcome.notes["run in parts"] = f"{len(fates):,} mutants in the last, {len(before):,} before"
        fates = list((before | {fate.mutant.key: fate for fate in fates}).values())
    judge(outcome, fates, len(every), equivalent)
    if "survivors" in options.more:
        alive = {fate.mutant.key for fate in fates if fate.fate in (SURVIVED, UNREACHED)} - equivalent.keys()
        listed = {key: survivors.get(key, "") for key in sorted(alive)}
        Path(options.more["survivors"]).write_text(json.dumps(listed, indent=1, ensure_ascii=False) + "\n", "utf-8")
    return outcome


def judge(outcome: Outcome, fates: list[Fate], of: int, equivalent: dict[str, str]) -> None:
    """Count what became of mutants; a fault if too few were caught of those that make a difference."""
    counts = Counter(fate.fate for fate in fates)
    alive = [fate.mutant for fate in fates if fate.fate in (SURVIVED, UNREACHED)]
    same = [mutant for mutant in alive if mutant.key in equivalent]
    caught = counts[KILLED] + counts[HUNG]
    asked = caught + len(alive) - len(same)
    outcome.cases = len(fates)
    outcome.figures.update({"mutants there are": of, "mutants planted": len(fates) - counts[UNPLANTED]})
    outcome.figures.update({"caught by a test": counts[KILLED], "caught as they hang": counts[HUNG]})
    outcome.figures.update({"not caught, and equivalent": len(same), "not caught": len(alive) - len(same)})
    outcome.figures["not caught, since no test reaches them"] = counts[UNREACHED]
    if counts[UNPLANTED] > len(fates) / 20:
        outcome.add(0, f"{counts[UNPLANTED]} of {len(fates)} mutants could not be planted")
    if not asked:
        return
    low, high = interval(caught, asked)
    outcome.notes["caught, of those that make a difference"] = (
        f"{caught / asked:.1%}, with 95 % certainty {low:.1%} to {high:.1%}"
    )
    for room in sorted({room_of(fate.mutant) for fate in fates}):
        mine = [fate for fate in fates if room_of(fate.mutant) == room and fate.fate != UNPLANTED]
        lost = [fate for fate in mine if fate.mutant in alive and fate.mutant not in same]
        outcome.notes[f"caught in {room}"] = f"{len(mine) - len(lost)} of {len(mine)}"
    if caught / asked < ENOUGH:
        outcome.add(0, f"tests caught {caught} of {asked} mutants, less than {ENOUGH:.0%}")


def interval(caught: int, asked: int, z: float = 1.96) -> tuple[float, float]:
    """Return Wilson's interval of a share: where it lies in all of them with 95 % certainty.

    >>> [round(bound, 3) for bound in interval(95, 100)]
    [0.888, 0.978]
    """
    share, spread = caught / asked, z * z / asked
    middle = (share + spread / 2) / (1 + spread)
    half = z * math.sqrt(share * (1 - share) / asked + spread / asked / 4) / (1 + spread)
    return middle - half, middle + half


def usual_tests(package: Path) -> list[str]:
    """Return the tests that meet mutants: those of the rooms, and the examples that stand in them."""
    return [*(str(ROOT / "tests" / place) for place in TESTS), *(str(package / room) for room in ROOMS)]


def earlier_fates(kept: Path, mutants: list[Mutant]) -> dict[str, Fate]:
    """Return the last fate of each mutant that an earlier part met, unless its function has changed since."""
    lines = kept.read_text("utf-8").splitlines() if kept.exists() else []
    told = {(line["mutant"], line["digest"]): line for line in map(json.loads, lines)}
    found = ((mutant, told.get((mutant.key, mutant.digest))) for mutant in mutants)
    return {mutant.key: Fate(mutant, line["fate"], line["test"]) for mutant, line in found if line is not None}


def keep(kept: Path, fate: Fate) -> None:
    """Add a fate to those of earlier parts."""
    line = {"mutant": fate.mutant.key, "digest": fate.mutant.digest, "fate": fate.fate, "test": fate.test}
    with kept.open("a", encoding="utf-8") as file:
        file.write(json.dumps(line, ensure_ascii=False) + "\n")


def reasons(listed: Path) -> dict[str, str]:
    """Return the mutants of a list, each with the reason why it stands there."""
    found: dict[str, str] = json.loads(listed.read_text("utf-8"))
    return found


def room_of(mutant: Mutant) -> str:
    """Return the room of a mutant."""
    first = mutant.file.split("/")[0]
    return mutant.file if first == "studio" else first


def processor_minutes() -> float:
    """Return the processor time of this process and of its forks that ended."""
    used = [resource.getrusage(whose) for whose in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used) / 60


def _modules(room: Path) -> list[Path]:
    return sorted(room.rglob("*.py")) if room.is_dir() else [room]
