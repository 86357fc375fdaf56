"""Models on sensitive values cell by cell: what Regroup and Mondrian lose on Adult and CUP."""

from __future__ import annotations

import time
from collections.abc import Iterator

import indistinct as ix
from benchmarks import adult, tables
from benchmarks.setting import Figures, K, Setting, say
from indistinct.engine import open_table
from indistinct.pipeline.stages import count
from indistinct.recoding import LocalRecoding
from indistinct.search import Algorithm, Task

LOCAL: dict[str, Algorithm] = {
    "mondrian": ix.Mondrian(),
    "relaxed": ix.Mondrian(strict=False),
    "regroup": ix.Regroup(),
}
CUP_MODELS: dict[str, ix.PrivacyModel] = {
    "distinct 3-diversity": ix.LDiversity(3),
    "entropy 3-diversity": ix.LDiversity(3, "entropy"),
    "recursive (4,3)-diversity": ix.LDiversity(3, "recursive", 4.0),
    "0.3-closeness, equal": ix.TCloseness(0.3),
    "0.3-closeness, ordered": ix.TCloseness(0.3, "ordered"),
    "2-likeness": ix.BetaLikeness(2.0),
    "2-disclosure": ix.DeltaDisclosure(2.0),
    "(0.5, 5)-anonymity": ix.AlphaK(0.5, K),
}
"""Models on INCOME, which has seven values."""


def compile_local(task: Task) -> None:
    """Run the local algorithms once, so that what is measured later needs no compiler."""
    for algorithm in LOCAL.values():
        algorithm.run(task, ix.Watch())


def compare_local(name: str, column: str, table: str, task: Task) -> Figures:
    """Run the local algorithms on a task, and judge all their groups anew."""
    one: Figures = {"table": table, "model": name, "column": column, "rows": task.frequencies.rows}
    for algorithm_name, algorithm in LOCAL.items():
        started = time.process_time()
        recoding = algorithm.run(Task.of(task.frequencies.afresh(), task.policy), ix.Watch())
        one[f"{algorithm_name}_cpu_seconds"] = time.process_time() - started
        assert isinstance(recoding, LocalRecoding)
        pieces = recoding.pieces
        stays = pieces.groups >= 0
        judged = task.safe_parts(
            pieces.tuples[stays], pieces.rows[stays], pieces.groups[stays], recoding.number_of_groups
        )
        if not judged.all():
            raise AssertionError(f"{table}, {name}: {algorithm_name} left {int((~judged).sum())} groups that fail")
        one[algorithm_name] = ix.NCP().loss(recoding)
        one[f"{algorithm_name}_groups"] = recoding.released_groups
    losses = ", ".join(f"{own} {one[own]:.4f} in {one[f'{own}_cpu_seconds']:.1f} CPU s" for own in LOCAL)
    say(f"  {table}, {name}: {losses}")
    return one


def cup_tasks(setting: Setting) -> Iterator[tuple[str, Task]]:
    """Return CUP with INCOME sensitive, once for each model, if it is at hand."""
    found = adult.cup()
    if setting.is_quick or found is None:
        say("  CUP is left out: put it below $INDISTINCT_DATA to measure it")
        return
    place, names = found
    columns = {name: ix.quasi(ix.levels(place / f"cup_hierarchy_{name}.csv")) for name in names}
    columns["INCOME"] = ix.sensitive(ix.levels(place / "cup_hierarchy_INCOME.csv"))
    for name, model in CUP_MODELS.items():
        policy = ix.Policy(columns=columns, privacy=[ix.KAnonymity(K), model])
        with (
            open_table(place / "cup.csv", delimiter=";") as rows,
            count({"table": rows}, policy, ix.Watch()) as counted,
        ):
            yield name, counted.task


def text(figures: list[Figures]) -> str:
    """Return what the table shows."""
    slowest = max(one["regroup_cpu_seconds"] for one in figures)
    return f"NCP cell by cell, nothing suppressed, all groups judged anew. Regroup took at most {slowest:.1f} CPU s."


def table(figures: list[Figures]) -> str:
    """Return the table of the section."""
    names = list(dict.fromkeys(one["table"] for one in figures))
    cells = {
        (one["table"], one["model"]): ", ".join(f"{one[name]:.4f}" for name in ("mondrian", "regroup"))
        for one in figures
    }
    models = dict.fromkeys(one["model"] for one in figures)
    rows = [[model, *(cells.get((name, model), "") for name in names)] for model in models]
    return tables.table(["model", *(f"{name}: Mondrian, Regroup" for name in names)], rows)
