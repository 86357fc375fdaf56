"""Differential privacy with true rows: what the choice of the levels costs beside the best one, on Adult."""

from __future__ import annotations

import math

import indistinct as ix
from benchmarks import measuring, tables
from benchmarks.data import Counted, policy
from benchmarks.setting import LIMIT, Figures, K, Setting, say
from indistinct.registry import MEASURES
from indistinct.search import Task
from indistinct.search.full_domain import safepub

DELTA = 1e-5
EPSILONS = (0.5, 1.0, 2.0)


def run_private(setting: Setting) -> list[Figures]:
    """Score every node for some ε, and work out what the exponential mechanism is expected to keep."""
    counted = Counted.of(setting.searched)
    plain = counted.task(K, LIMIT)
    best = ix.Lattice().run(plain, ix.Watch())
    found = [
        {
            "epsilon": None,
            "k": K,
            "rows": best.released_rows,
            "expected": MEASURES["precision"]().value(best),
            "best": MEASURES["precision"]().value(best),
        }
    ]
    for epsilon in setting.few(EPSILONS):
        model = ix.DifferentialPrivacy(epsilon, DELTA if not setting.is_quick else 0.1)
        columns = policy(setting.searched, K, LIMIT).columns
        task = Task.of(plain.frequencies, ix.Policy(columns, [model], algorithm="safepub"))
        found.append(_drawn(task, model))
        say(f"  ε = {epsilon:g}: k = {model.k}, {found[-1]['expected']:.4f} expected, {found[-1]['best']:.4f} at best")
    return found


def _drawn(task: Task, model: ix.DifferentialPrivacy) -> Figures:
    """Return what a release is expected to keep of the cells of those who were sampled; a dropped row keeps none."""
    frequencies = task.frequencies
    candidates = safepub.candidate_levels(frequencies)
    (nodes, scores, most), taken = measuring.best_of(
        lambda: safepub.node_scores(Task.of(frequencies.afresh(), task.policy), model, candidates, ix.Watch()),
        fewest=0,
        enough_seconds=0,
    )
    whole = model.share * frequencies.rows * safepub.UNIT * safepub.PARTS
    top = max(scores)
    weights = [math.exp(model.epsilon_of_levels * (score - top) / most) for score in scores]
    recoding = safepub.SafePub().run(task, ix.Watch())
    return {
        **taken.to_dict(),
        "epsilon": model.epsilon,
        "delta": model.delta,
        "sampled": model.share,
        "k": model.k,
        "nodes": len(nodes),
        "rows": recoding.released_rows,
        "expected": sum(w * s for w, s in zip(weights, scores, strict=True)) / sum(weights) / whole,
        "best": top / whole,
    }


def section(figures: list[Figures]) -> str:
    """Return the section of the page."""
    text = f"""Adult, nine quasi columns, δ = {figures[-1]["delta"]:g}, 5 % of ε spent on the levels. *Kept* is the
precision of the sampled rows, where a dropped row counts as 0: expected of the
[mechanism](differential-privacy.md), and of the best node. CPU seconds score every node."""
    heads = ["release", "k", "rows", "kept, expected", "kept at best", "CPU s"]
    rows = [
        [
            "k-anonymity, 2 % suppressed" if one["epsilon"] is None else f"ε = {one['epsilon']:g}",
            one["k"],
            f"{one['rows']:,}",
            f"{one['expected']:.4f}",
            f"{one['best']:.4f}",
            f"{one['cpu_seconds']:.1f}" if "cpu_seconds" in one else "",
        ]
        for one in figures
    ]
    return tables.section("Differential privacy with true rows", "private", text, tables.table(heads, rows))
