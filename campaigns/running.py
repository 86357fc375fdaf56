"""What every campaign is given and gives back: options, cases that can be run again alone, and an outcome.

A campaign is a module with ``run(options) -> Outcome``. It draws every case from ``options.dice(case)``, asks
``options.cases()`` for the numbers of its cases, and hands each fault to ``Outcome.add``, which says at once how
to run that case again alone.
"""

from __future__ import annotations

import json
import random
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

_asked_to_stop: list[int] = []
"""The signals that asked a campaign to end after the case at hand."""


def stop(number: int, frame: object) -> None:
    """End the campaign after the case at hand, so that its outcome is told; a second signal ends it at once."""
    if _asked_to_stop:
        raise KeyboardInterrupt
    _asked_to_stop.append(number)


@dataclass(frozen=True)
class Options:
    """What a campaign is asked: from which seed, for how long or how many cases, or which case alone."""

    name: str
    seed: int = 0
    minutes: float | None = None
    """Processor time, not time on the wall."""
    inputs: int | None = None
    case: int | None = None
    failures: Path | None = None
    """The folder for inputs that made a fault; nothing is kept without one."""
    more: dict[str, Any] = field(default_factory=dict)
    """Options that one campaign has alone."""

    def dice(self, case: int) -> random.Random:
        """Return the random numbers of a case: the same for the same seed, whatever was run before."""
        return random.Random(f"{self.name} {self.seed} {case}")

    def cases(self) -> Iterator[int]:
        """Return the numbers of cases until the time is over or there are enough; the one alone that was named."""
        if self.case is not None:
            yield self.case
            return
        started, case = time.process_time(), 0
        while not _asked_to_stop and (self.inputs is None or case < self.inputs):
            if self.minutes is not None and time.process_time() - started >= 60 * self.minutes:
                return
            yield case
            case += 1


def add_up(files: Sequence[Path]) -> dict[str, Any]:
    """Return the outcomes of files of results together: of each campaign all seeds, each once, and what they
    counted.
    """
    total: dict[str, Any] = {}
    for path in files:
        for name, piece in json.loads(path.read_text("utf-8")).items():
            before = total.setdefault(name, piece | {"seed": []})
            if before["seed"] and set(_seeds(before)) & set(_seeds(piece)):
                raise ValueError(f"{path.name}: the cases of {name} with this seed are counted already")
            if before["seed"]:
                figures = Counter(before["figures"])
                figures.update(piece["figures"])
                sums = {key: round(before[key] + piece[key], 1) for key in ("cpu_seconds", "wall_seconds", "cases")}
                notes = before["notes"] | piece["notes"]
                together = {"figures": dict(figures), "notes": notes, "faults": before["faults"] + piece["faults"]}
                total[name] = before | sums | together | {"date": max(before["date"], piece["date"])}
            total[name]["seed"] = [*_seeds(before), *_seeds(piece)]
    for result in total.values():
        result["seed"] = result["seed"][0] if len(result["seed"]) == 1 else result["seed"]
    return total


def _seeds(result: dict[str, Any]) -> list[int]:
    seed = result["seed"]
    return list(seed) if isinstance(seed, list) else [seed]


@dataclass
class Outcome:
    """What a campaign found: how many cases, which faults, and figures for the page."""

    options: Options
    cases: int = 0
    faults: list[str] = field(default_factory=list)
    figures: Counter[str] = field(default_factory=Counter)
    """Numbers by what they count, in the order in which they were first counted."""
    notes: dict[str, str] = field(default_factory=dict)
    """What is no number: a setting, or why something was left out."""

    def add(self, case: int, what: str, content: dict[str, bytes | str] | None = None) -> None:
        """Note a fault, say how to run its case again, and keep the inputs that made it."""
        again = f"python -m campaigns {self.options.name} --seed {self.options.seed} --case {case}"
        again += "".join(f" --set {name}={value!r}" for name, value in self.options.more.items())
        self.faults.append(f"case {case}: {what}")
        print(f"FAULT in case {case}: {what}\n  again: {again}", flush=True)
        if self.options.failures is not None and content:
            folder = self.options.failures / f"{self.options.name}-{self.options.seed}-{case}"
            folder.mkdir(parents=True, exist_ok=True)
            for name, data in content.items():
                (folder / name).write_bytes(data if isinstance(data, bytes) else data.encode("utf-8", "replace"))
            print(f"  kept: {folder}", flush=True)

    def to_dict(self) -> dict[str, Any]:
        """Return what stands in results.json."""
        return {
            "seed": self.options.seed,
            "cases": self.cases,
            "faults": self.faults,
            "figures": dict(self.figures),
            "notes": self.notes,
        }
