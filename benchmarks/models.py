"""Models on sensitive values: the exact search on Adult beside ARX's times, and what local algorithms lose."""

from __future__ import annotations

import statistics
from dataclasses import dataclass

import pyarrow as pa

import indistinct as ix
from benchmarks import adult, local_models, measuring, tables
from benchmarks.adult import Rows
from benchmarks.data import Counted, hierarchy_of
from benchmarks.setting import Figures, K, Setting, say
from indistinct.engine import open_table
from indistinct.pipeline.stages import count
from indistinct.quality import QualityMeasure
from indistinct.search import Task
from indistinct.search.full_domain.lattice import Search

LIMITS = (0.0, 0.02, 0.05, 1.0)
GOAL = 1 / 5
"""The share of ARX's time that a search may take."""


@dataclass(frozen=True)
class Job:
    """A model on a sensitive column, and ARX's CPU seconds for it at each limit."""

    name: str
    column: str
    model: ix.PrivacyModel
    arx: tuple[float, ...] = ()


JOBS = (
    Job("distinct 3-diversity", "occupation", ix.LDiversity(3), (0.15, 1.46, 0.61, 0.42)),
    Job("entropy 3-diversity", "occupation", ix.LDiversity(3, "entropy"), (0.15, 1.24, 0.80, 0.73)),
    Job("recursive (4,3)-diversity", "occupation", ix.LDiversity(3, "recursive", 4.0), (0.08, 1.34, 0.60, 0.55)),
    Job("0.2-closeness, equal", "occupation", ix.TCloseness(0.2), (0.03, 1.30, 1.45, 2.8)),
    Job("0.2-closeness, hierarchical", "occupation", ix.TCloseness(0.2, "hierarchical"), (0.06, 1.4, 2.3, 3.6)),
    Job("2-likeness", "occupation", ix.BetaLikeness(2.0), (0.03, 1.6, 2.1, 2.0)),
    Job("2-likeness, enhanced", "occupation", ix.BetaLikeness(2.0, enhanced=True), (0.03, 1.3, 2.2, 3.1)),
    Job("1-disclosure", "salary-class", ix.DeltaDisclosure(1.0), (0.13, 1.2, 2.4, 5.4)),
)
"""ARX 3.9.2, side by side with ours in one run of November 2026."""
LOCAL_JOBS = (
    Job("0.3-closeness, equal", "occupation", ix.TCloseness(0.3)),
    Job("(0.5, 5)-anonymity", "occupation", ix.AlphaK(0.5, K)),
)
"""Only cell by cell."""

COMMON: tuple[tuple[QualityMeasure, float, float], ...] = (
    (ix.Loss(), 0.05, 0.082),
    (ix.Loss(), 1.0, 0.090),
    (ix.Discernibility(), 0.02, 0.082),
    (ix.Discernibility(), 1.0, 0.074),
)
"""k-anonymity with nine columns: measure, limit, and our CPU seconds in that run."""


def run_models(setting: Setting) -> list[Figures]:
    """Every model at every limit; first the common task, which tells how ARX's seconds read here."""
    rows = setting.adult if setting.is_quick or adult.folder() else adult.made_up(adult.ROWS)
    setting.source = setting.source or "made-up rows, seed 0"
    counted = Counted.of(rows)
    shares = []
    for measure, limit, seconds in setting.few(COMMON):

        def work(measure: QualityMeasure = measure, limit: float = limit) -> object:
            return Search(counted.task(K, limit), ix.Watch()).optimum(measure)

        shares.append(measuring.best_of(work, most=5)[1].cpu / seconds)
    scale = statistics.median(shares)
    say(f"  the common task takes {scale:.2f} times as long as beside ARX ({', '.join(f'{s:.2f}' for s in shares)})")
    found = []
    for job in JOBS:
        task = _task(rows, job)
        for limit, arx_seconds in setting.few(zip(LIMITS, job.arx, strict=True), 2):
            one = _measured(task, limit) | {"model": job.name, "column": job.column, "arx_seconds": arx_seconds}
            one |= {"scale": scale, "arx_here": arx_seconds * scale}
            found.append(one)
            say(f"  {job.name}, {limit:.0%}: {one['cpu_seconds']:.3f} CPU s, ARX {one['arx_here']:.3f}")
    return [*found, *run_local(setting, rows)]


def run_local(setting: Setting, rows: Rows) -> list[Figures]:
    """Every model cell by cell, on Adult and CUP."""
    jobs = setting.few((*JOBS, *LOCAL_JOBS))
    if not setting.is_quick:
        local_models.compile_local(_task(rows, jobs[0]))
    found = [local_models.compare_local(job.name, job.column, "Adult", _task(rows, job)) for job in jobs]
    return found + [
        local_models.compare_local(name, "INCOME", "CUP", task) for name, task in local_models.cup_tasks(setting)
    ]


def _task(rows: Rows, job: Job) -> Task:
    """Count the table for a model."""
    columns = {
        name: ix.sensitive(hierarchy_of(like)) if name == job.column else ix.quasi(hierarchy_of(like))
        for name, like in zip(rows.columns, rows.like, strict=True)
    }
    policy = ix.Policy(columns, [ix.KAnonymity(K), job.model], 0.0)
    cells = {
        name: pa.DictionaryArray.from_arrays(pa.array(codes), pa.array(rows.values(column))).dictionary_decode()
        for column, (name, codes) in enumerate(zip(rows.columns, rows.codes, strict=True))
    }
    with count({"table": open_table(pa.table(cells))}, policy, ix.Watch()) as counted:
        return counted.task


def _measured(task: Task, limit: float) -> Figures:
    """Search for the most precise release, afresh each time."""
    policy = ix.Policy(task.policy.columns, task.policy.privacy, limit)

    def work() -> tuple[Search, object]:
        search = Search(Task.of(task.frequencies.afresh(), policy), ix.Watch())
        return search, search.optimum(ix.Precision())

    if not measuring.Repeating.is_off:
        work()  # compiles what has not been compiled
    (search, optimum), time = measuring.best_of(work, fewest=2, most=5, enough_seconds=1.0)
    figures: Figures = {"max_suppression": limit, "checks": search.checks} | time.to_dict()
    recoding = getattr(optimum, "recoding", None)
    if recoding is None:
        return figures | {"precision": None, "suppressed": None, "node": None}
    assert (
        Search(Task.of(task.frequencies, policy), ix.Watch()).recoding(recoding.node).suppressed_rows <= search.budget
    )
    return figures | {
        "precision": ix.Precision().value(recoding),
        "suppressed": recoding.suppressed_rows,
        "node": list(recoding.node),
    }


def section(figures: list[Figures]) -> str:
    """Return the section of the page: one line per model, one column per limit, and what local algorithms lose."""
    local = [one for one in figures if "table" in one]
    by_model: dict[str, dict[float, Figures]] = {}
    for one in figures:
        if "table" not in one:
            by_model.setdefault(one["model"], {})[one["max_suppression"]] = one
    limits = sorted({limit for own in by_model.values() for limit in own if limit != 0.05})
    rows = [
        [name, *(_beside(own[limit]) if limit in own else "" for limit in limits)] for name, own in by_model.items()
    ]
    scale = next(one["scale"] for one in figures if "scale" in one)
    text = f"""Adult, k = 5 and one model more, one sensitive column and eight quasi ones, the most precise release.
CPU seconds of our search, its share of ARX's and whether it is a fifth. ARX ran beside us in November 2026; its
times are multiplied by {scale:.2f}, by which our search has changed since. ARX compares groups with the table that
came in, we with [what is released](models.md#values-in-a-group-against-the-whole-table): at 0 %
both are the same for t and β. δ is another model in ARX."""
    heads = ["model", *(f"{limit:.0%}" for limit in limits)]
    after = [local_models.text(local), local_models.table(local)] if local else []
    return tables.section("Models on sensitive values", "models", text, tables.table(heads, rows), *after)


def _beside(one: Figures) -> str:
    share = one["cpu_seconds"] / one["arx_here"]
    return f"{tables.seconds(one['cpu_seconds'])} ({tables.fraction(share)}{tables.mark(share / GOAL)})"
