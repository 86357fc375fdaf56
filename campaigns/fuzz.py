"""Fuzz: damaged inputs of every kind; no crash, no hang, no private cell in what comes out, nothing left behind."""

from __future__ import annotations

import random
import signal
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import indistinct as ix
from campaigns.fuzz_seeds import MARKS, World, clear, make_world
from campaigns.fuzz_targets import TARGETS, Given, shows_a_cell_as_name
from campaigns.guided import run_guided
from campaigns.running import Options, Outcome

LONGEST = 10.0
"""Seconds of processor time that one input may take."""


class Hung(BaseException):
    """An input took too long."""


def run(options: Options) -> Outcome:
    """Attack one input after the other; ``--set target=NAME`` attacks one target alone.

    ``--set guided=NAME`` has Atheris choose the inputs of a parser, by the branches that they reach.
    """
    if "guided" in options.more:
        return run_guided(options)
    outcome = Outcome(options)
    only = options.more.get("target")
    names = [name for name in TARGETS if only in (None, name)]
    weights = [TARGETS[name][1] for name in names]
    slowest = Counter[str]()
    with worlds(random.Random(f"world {options.seed}")) as world:
        for number in options.cases():
            dice = options.dice(number)
            (name,) = dice.choices(names, weights)
            given: Given = {}
            started = time.process_time()
            fault, ending = attack(world, name, dice, given)
            slowest[name] = max(slowest[name], round(1000 * (time.process_time() - started)))
            outcome.cases += 1
            outcome.figures[name] += 1
            outcome.figures[ending] += 1
            if fault:
                outcome.add(number, f"{name}: {fault}", given)
    order = [*names, "taken", "refused"]
    outcome.figures = Counter({name: outcome.figures[name] for name in order if outcome.figures[name]})
    name, longest = max(slowest.items(), key=lambda one: one[1], default=("", 0))
    outcome.notes["slowest input"] = f"{longest} ms of processor time ({name})"
    return outcome


@contextmanager
def worlds(dice: random.Random) -> Iterator[World]:
    """Return a world in a folder of its own; the package's temporary files go to another, which must stay empty."""
    before = tempfile.tempdir
    with tempfile.TemporaryDirectory(prefix="campaign-") as folder:
        (Path(folder) / "temporary").mkdir()
        tempfile.tempdir = str(Path(folder) / "temporary")
        try:
            yield make_world(Path(folder) / "work", dice)
        finally:
            tempfile.tempdir = before


def attack(world: World, name: str, dice: random.Random, given: Given) -> tuple[str, str]:
    """Hand one damaged input to the package; give what went wrong, and whether the input was taken."""
    target, _ = TARGETS[name]
    fault, ending, text = "", "taken", ""
    try:
        with no_longer_than(LONGEST):
            text = target(world, dice, given)
    except ix.IndistinctError as error:
        ending, text = "refused", what_is_shown(error)
    except Hung:
        fault = f"took more than {LONGEST:g} s of processor time"
    except Exception as error:
        fault = f"{type(error).__name__}: {str(error)[:300]} at {_place(error)}"
    quoted = [mark for mark in MARKS if mark in text]
    if quoted and not fault and not _is_named(given):
        fault = f"a private cell is quoted ({quoted[0]}…): {text[max(0, text.index(quoted[0]) - 200) :][:260]!r}"
    left = [path.name for path in Path(tempfile.gettempdir()).iterdir()]
    left += [path.name for path in world.work.iterdir() if path.name.endswith((".partial", ".old", ".tmp"))]
    if left and not fault:
        fault = f"left behind: {left}"
    if any(world.work.iterdir()):
        clear(world.work)
    return fault, ending


def _is_named(given: Given) -> bool:
    """Return whether the damage put cells where names of columns stand, which errors may quote."""
    return any(
        name.startswith("table.") and shows_a_cell_as_name(name, data)
        for name, data in given.items()
        if isinstance(data, bytes)
    )


def what_is_shown(error: BaseException) -> str:
    """Return every message that a traceback would show: of the error, and of those that it does not hide."""
    shown, seen = "", set()
    one: Any = error
    while one is not None and id(one) not in seen:
        seen.add(id(one))
        shown += f"{one}\n" + "".join(getattr(one, "__notes__", []))
        one = one.__cause__ or (None if one.__suppress_context__ else one.__context__)
    return shown


def _place(error: BaseException) -> str:
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return "nowhere" if trace is None else f"{Path(trace.tb_frame.f_code.co_filename).name}:{trace.tb_lineno}"


@contextmanager
def no_longer_than(seconds: float) -> Iterator[None]:
    """Raise Hung in the block once it has taken so much processor time."""

    def ring(number: int, frame: FrameType | None) -> None:
        raise Hung

    before = signal.signal(signal.SIGPROF, ring)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)
