"""What more work gains: Regroup by its effort, with the bound that its releases state."""

from __future__ import annotations

import os
import time

import indistinct as ix
from benchmarks import tables
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
    """Return the section of the page."""
    one = figures[0]
    text = f"""`Regroup(effort=…)` in one thread, and Regroup with a time limit in {one.get("cores", 1)} threads, on
Adult, nine columns, k = 5. No release in groups of k rows has an NCP below {one["bound"]:.2%}. *Above* is the
excess as a share of that. *Stated* is the bound that the release itself states."""
    heads = ["asked for", "NCP", "above", "stated", "CPU s"]
    rows = [
        [
            one["asked"],
            f"{one['ncp']:.2%}",
            f"{one['ncp'] / one['bound'] - 1:.1%}" if one["bound"] else "",
            f"{one['stated']:.2%}",
            f"{one['whole_cpu_seconds']:.1f}",
        ]
        for one in figures
    ]
    return tables.section("More effort cell by cell", "effort", text, tables.table(heads, rows))
