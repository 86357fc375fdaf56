"""What more work gains: Regroup by its effort, with the bound that its releases state."""

from __future__ import annotations

import os
import time

import indistinct as ix
from benchmarks.data import Counted
from benchmarks.setting import Figures, K, Setting, say
from indistinct.recoding import LocalRecoding
from indistinct.search.bounds.bounds import cell_bound
from indistinct.search.bounds.stated_bound import state_bound

EFFORTS = (0, 10, 40)
LIMITS = (10.0, 60.0)
"""Time limits, in seconds that pass: with a time limit alone several threads work at once."""


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
        watch, task = ix.Watch(seconds), counted.task(K, 0.0)
        watch.start()
        started, begun = time.process_time(), time.monotonic()
        algorithm = ix.Regroup(effort=effort)
        recoding = algorithm.run(task, watch)
        one = {"asked": name, "cpu_seconds": time.process_time() - started, "ncp": ix.NCP().loss(recoding)}
        stated = state_bound(task, recoding, algorithm, watch)
        assert isinstance(stated, LocalRecoding)
        assert stated.bound is not None  # k-anonymity alone is asked for
        one |= {"stated": stated.bound["ncp"], "whole_cpu_seconds": time.process_time() - started}
        one |= {"whole_seconds": time.monotonic() - begun, "cores": os.cpu_count() or 1}
        found.append(one | {"bound": bound, "bound_cpu_seconds": bound_seconds})
        say(
            f"  {name}: ncp {one['ncp']:.4f}, {one['cpu_seconds']:.2f} CPU s, {one['whole_seconds']:.2f} s with its "
            f"bound, states {one['stated']:.4f} of {bound:.4f}"
        )
    return found


def section(figures: list[Figures]) -> str:
    """Return the chapter of the page."""
    if not figures:
        return ""
    lines = [
        "## More effort cell by cell",
        "`python -m benchmarks effort`: `Regroup(effort=…)` in one thread, and Regroup with a time limit, in as many",
        f"threads as there are cores ({figures[0].get('cores', 1)}, at most four), on Adult, nine columns, k = 5. The",
        "limit is one of time that passes, on a machine with nothing else to do; CPU seconds are those of all threads.",
        "No release in groups of k rows with labels of the hierarchies has an NCP",
        f"below {figures[0]['bound']:.2%} ({figures[0]['bound_cpu_seconds']:.0f} CPU s to say so); *above* is what a",
        "release has more, as a share of that. *Stated* is the bound that the release itself states, which takes the",
        "rest of the time limit; the next column says what the release has more.",
        "",
        "| asked for | NCP | above | stated | above it | CPU s | with its bound | seconds in all |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    for one in figures:
        above, stated = (one["ncp"] / one[bound] - 1 if one[bound] else 0.0 for bound in ("bound", "stated"))
        lines.append(
            f"| {one['asked']} | {one['ncp']:.2%} | {above:.1%} | {one['stated']:.2%} | {stated:.1%} "
            f"| {one['cpu_seconds']:.1f} | {one['whole_cpu_seconds']:.1f} "
            f"| {format(one['whole_seconds'], '.1f') if 'whole_seconds' in one else ''} |"
        )
    return "\n".join([*lines, ""])
