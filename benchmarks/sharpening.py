"""Sharpening: what attacks find out about the cells of local releases, and what it costs to leave them in doubt."""

from __future__ import annotations

import csv
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import indistinct as ix
from benchmarks import adult, data
from benchmarks.setting import Figures, K, Setting, say
from indistinct.algorithms import Task
from indistinct.engine import open_table
from indistinct.pipeline.stages import count

DOUBT = 0.1
KS = (2, 5, 10)
RUNS = 3
"""Chance raises labels, so with doubt the NCP is the mean of so many runs."""
ALGORITHMS: dict[str, Any] = {
    "regroup": lambda doubt: ix.Regroup(doubt=doubt),
    "mondrian": lambda doubt: ix.Mondrian(doubt=doubt),
}
ATTACKS = {"downcoding": ix.attacks.downcoding, "refinement": ix.attacks.refinement}


def run_sharpening(setting: Setting) -> list[Figures]:
    """Measure the NCP of local releases with and without doubt, and attack those of k = 5."""
    found = []
    for table, path, columns, reading in _tables(setting):
        policy = ix.Policy(columns=columns, privacy=[ix.KAnonymity(K)])
        with open_table(path, **reading) as rows, count(rows, policy, ix.Watch()) as counted:
            for name, make in ALGORITHMS.items():
                for k in KS[1:2] if setting.is_quick else KS:
                    asked = replace(policy, privacy=[ix.KAnonymity(k)], algorithm=name)
                    plain = 0.0
                    for doubt in (0.0, DOUBT):
                        one = _measured(counted.task.frequencies, asked, make(doubt), RUNS if doubt else 1)
                        plain = plain or one["ncp"]
                        one = {"table": table, "algorithm": name, "k": k, "doubt": doubt} | one
                        one["cost"] = one["ncp"] / plain - 1 if plain else 0.0
                        if k == K:
                            one["attacks"] = _attacked(path, replace(asked, options={"doubt": doubt}), reading)
                        found.append(one)
                        say(f"  {table}, {name}, k = {k}, doubt {doubt}: ncp {one['ncp']:.4f}, {one['cost']:+.1%}")
    return found


def _tables(setting: Setting) -> Iterator[tuple[str, Path, dict[str, Any], dict[str, Any]]]:
    """Give Adult's nine columns, and CUP if it is at hand; no cell of theirs is missing."""
    rows = setting.adult
    columns = {name: replace(one, missing="refuse") for name, one in data.policy(rows, K, 0.0).columns.items()}
    yield "Adult", data.write_csv(rows, setting.folder / "sharpening.csv"), columns, {}
    folder = adult.folder()
    if setting.is_quick or folder is None or not (folder.parent / "cup" / "cup.csv").is_file():
        say("  CUP is left out: put it below $INDISTINCT_DATA to measure it")
        return
    place = folder.parent / "cup"
    with open(place / "cup.csv", encoding="utf-8", newline="") as file:
        names = next(csv.reader(file, delimiter=";"))
    listed = {name: ix.quasi(ix.levels(place / f"cup_hierarchy_{name}.csv"), missing="refuse") for name in names}
    yield "CUP", place / "cup.csv", listed, {"delimiter": ";"}


def _measured(frequencies: Any, policy: ix.Policy, algorithm: Any, runs: int) -> Figures:
    """Run an algorithm, once more to compile, and give what its labels lose."""
    losses, seconds = [], []
    algorithm.run(Task.of(frequencies.afresh(), policy), ix.Watch(time_limit=0.5))
    for _ in range(runs):
        cpu = time.process_time()
        recoding = algorithm.run(Task.of(frequencies.afresh(), policy), ix.Watch())
        seconds.append(time.process_time() - cpu)
        losses.append(ix.NCP().loss(recoding))
    return {"ncp": sum(losses) / runs, "groups": recoding.released_groups, "cpu_seconds": min(seconds)}


def _attacked(path: Path, policy: ix.Policy, reading: dict[str, Any]) -> Figures:
    """Make a release and try both attacks on it."""
    found = {}
    with ix.anonymize(path, policy, **reading) as release:
        for name, attack in ATTACKS.items():
            cpu = time.process_time()
            report = attack(release, policy, most=0)
            found[name] = {
                "generalized": report.generalized_cells,
                "sharpened": report.sharpened_cells,
                "smallest_crowd": report.smallest_crowd,
                "unsolved": getattr(report, "unsolved", 0),
                "cpu_seconds": time.process_time() - cpu,
            }
    return found


def section(figures: list[Figures]) -> str:
    """Give the chapter of the page."""
    if not figures:
        return ""
    lines = [
        "## Sharpening",
        "`python -m benchmarks sharpening`: which generalized cells of local releases both",
        "[attacks](attacks.md#what-makes-a-cell-sharpenable) sharpen at k = 5, and the smallest crowd that follows,",
        "with and without [doubt](attacks.md#labels-that-cannot-be-sharpened). CPU seconds are those of the attack.",
        "",
        "| table | algorithm | doubt | attack | generalized cells | sharpened | smallest crowd | CPU s |",
        "| --- | --- | ---: | --- | ---: | ---: | ---: | ---: |",
    ]
    for one in figures:
        for attack, found in one.get("attacks", {}).items():
            lines.append(
                f"| {one['table']} | {one['algorithm']} | {one['doubt']:g} | {attack} | {found['generalized']:,} "
                f"| {found['sharpened']:,} | {found['smallest_crowd']} | {found['cpu_seconds']:.1f} |"
            )
    lines += [
        "",
        "What it costs: the NCP of the released cells, with doubt the mean of three runs; CPU seconds to make them.",
        "",
        "| table | algorithm | k | NCP | NCP with doubt | costs | CPU s | with doubt |",
        "| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    plain = {(one["table"], one["algorithm"], one["k"]): one for one in figures if not one["doubt"]}
    for one in figures:
        if one["doubt"]:
            before = plain[one["table"], one["algorithm"], one["k"]]
            lines.append(
                f"| {one['table']} | {one['algorithm']} | {one['k']} | {before['ncp']:.4f} | {one['ncp']:.4f} "
                f"| {one['cost']:+.1%} | {before['cpu_seconds']:.2f} | {one['cpu_seconds']:.2f} |"
            )
    return "\n".join([*lines, ""])
