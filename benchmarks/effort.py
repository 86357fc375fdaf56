"""What more work gains: Regroup by its effort, with the bound that its releases state."""

from __future__ import annotations

import time

import indistinct as ix
from benchmarks.data import Counted
from benchmarks.setting import Figures, K, Setting, say
from benchmarks.wide import CpuWatch
from indistinct.algorithms.bounds import cell_bound
from indistinct.algorithms.stated_bound import state_bound
from indistinct.recoding import LocalRecoding

EFFORTS = (0, 10, 40)
LIMITS = (10.0, 60.0)
"""Time limits, in CPU seconds."""


def run_effort(setting: Setting) -> list[Figures]:
    """Regroup on Adult, k = 5, with more and more tries, beside a loss that no release of such groups gets below."""
    counted = Counted.of(setting.adult)
    ix.Regroup(effort=1).run(counted.task(K, 0.0), ix.Watch())  # compiles
    started = time.process_time()
    bound = cell_bound(counted.frequencies, ix.NCP(), K, ix.Watch(0.5 if setting.is_quick else None))
    bound_seconds = time.process_time() - started
    asked = [(f"effort {effort}", effort, None) for effort in EFFORTS]
    asked += [(f"{seconds:g} s", 0, seconds) for seconds in LIMITS]
    found = []
    for name, effort, seconds in asked[:2] if setting.is_quick else asked:
        watch, task = CpuWatch(seconds), counted.task(K, 0.0)
        watch.start()
        started = time.process_time()
        algorithm = ix.Regroup(effort=effort)
        recoding = algorithm.run(task, watch)
        one = {"asked": name, "cpu_seconds": time.process_time() - started, "ncp": ix.NCP().loss(recoding)}
        stated = state_bound(task, recoding, algorithm, watch)
        assert isinstance(stated, LocalRecoding)
        assert stated.bound is not None  # k-anonymity alone is asked for
        one |= {"stated": stated.bound["ncp"], "whole_cpu_seconds": time.process_time() - started}
        found.append(one | {"bound": bound, "bound_cpu_seconds": bound_seconds})
        say(
            f"  {name}: ncp {one['ncp']:.4f}, {one['cpu_seconds']:.2f} CPU s, states {one['stated']:.4f} of {bound:.4f}"
        )
    return found


def section(figures: list[Figures]) -> str:
    """Give the chapter of the page."""
    if not figures:
        return ""
    lines = [
        "## More effort cell by cell",
        "`python -m benchmarks effort`: `Regroup(effort=…)`, and Regroup with a time limit in CPU seconds, on Adult,",
        "nine columns, k = 5, one thread. No release in groups of k rows with labels of the hierarchies has an NCP",
        f"below {figures[0]['bound']:.2%} ({figures[0]['bound_cpu_seconds']:.0f} CPU s to say so); *above* is what a",
        "release has more, as a share of that. *Stated* is the bound that the release itself states, which takes the",
        "rest of the time limit; the next column says what the release has more.",
        "",
        "| asked for | NCP | above | stated | above it | CPU s | with its bound |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    for one in figures:
        above, stated = (one["ncp"] / one[bound] - 1 if one[bound] else 0.0 for bound in ("bound", "stated"))
        lines.append(
            f"| {one['asked']} | {one['ncp']:.2%} | {above:.1%} | {one['stated']:.2%} | {stated:.1%} "
            f"| {one['cpu_seconds']:.1f} | {one['whole_cpu_seconds']:.1f} |"
        )
    return "\n".join([*lines, ""])
