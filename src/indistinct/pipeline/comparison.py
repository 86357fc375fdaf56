"""compare(): every algorithm on one table and policy, each answer released, recounted and measured."""

from __future__ import annotations

import dataclasses
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from indistinct.algorithms import Algorithm, Task, algorithm_named, algorithm_of
from indistinct.algorithms.search import DIGITS
from indistinct.engine import Rows, open_table
from indistinct.errors import (
    IndistinctError,
    InfeasibleError,
    InterruptedSearchError,
    MissingExtraError,
    PolicyError,
)
from indistinct.pipeline import release_of, task_for
from indistinct.policy import Policy
from indistinct.quality import QualityMeasure, measure_named
from indistinct.recoding import Recoding
from indistinct.registry import ALGORITHMS, MEASURES
from indistinct.showing.words import counted
from indistinct.study.workload import Workload
from indistinct.watch import Watch

Ending = Literal["released", "unsafe", "infeasible", "refused", "interrupted"]
"""How a trial ended: with a release that verifies, with one that does not, or with none."""

SHOWN_MEASURES = ("precision", "loss", "discernibility")
QUERY_ERROR = "query-error"
"""What ranks trials by the queries of a workload, as the name of a measure does by that measure."""
SUBTITLE = "A loss of 0 leaves the table as it is, one of 1 tells nothing. Less is better everywhere."
APART = " Two tables have no generalized cells."
REPEATED_BELOW = 10.0
"""Seconds: a shorter run that had to load or compile code is repeated, so that its time is that of the search alone."""
LONGEST_OPTION = 24
"""Letters: the value of a longer option is left out of a label."""
EXACT = {"lattice": "measure", "mingen": "precision", "mingen-cell": "precision"}
"""The algorithms that can prove an optimum, each with its option that says of which measure."""


@dataclass(frozen=True, slots=True)
class Trial:
    """What one algorithm made of the table, and what it took; without a release there are no figures."""

    label: str
    """The algorithm's name; with the options that tell it from another trial of the same algorithm."""
    algorithm: str
    ending: Ending
    reason: str | None
    """Why there is no release, or why it does not verify."""
    seconds: float
    """Wall time of the search alone: counting before and recounting after it are much the same for all."""
    cpu_seconds: float
    is_warm: bool
    """The times hold no loading or compiling of code; if not, they are upper bounds."""
    suppressed: int | None = None
    groups: int | None = None
    smallest_group: int | None = None
    node: dict[str, int] | None = None
    """The level of each column; None for a local recoding, where each group has its own."""
    is_proven: bool | None = None
    """The search was not cut short: no other recoding that the algorithm considers is better."""
    gap: float | None = None
    """How much lower the loss of the optimum can still be, if it is not proven."""
    optimum_of: str | None = None
    """The measure of which this is the proven optimum among all that the algorithm considers."""
    measures: dict[str, float] = field(default_factory=dict)
    """Every measure's figure, as people quote it."""
    losses: dict[str, float] = field(default_factory=dict)
    """Every measure's loss, from 0 to 1: these can be compared."""
    has_two_tables: bool = False
    """Quasi and sensitive cells are released apart and none is generalized: only queries compare it with one table."""
    query_errors: dict[str, float] = field(default_factory=dict)
    """The average relative error of a workload's queries by estimator, the one to use first."""
    median_query_errors: dict[str, float] = field(default_factory=dict)

    def loss_by(self, measure: str) -> float:
        """Give the loss by a measure, or the average error of the queries: less is better."""
        return self.losses[measure] if measure != QUERY_ERROR else next(iter(self.query_errors.values()))

    def figure_by(self, measure: str) -> float:
        """Give what people quote of a measure, or the average error of the queries."""
        return self.measures[measure] if measure != QUERY_ERROR else self.loss_by(measure)

    @property
    def is_feasible(self) -> bool:
        """The algorithm gave a release, whether it verifies or not."""
        return self.ending in ("released", "unsafe")

    @property
    def verified(self) -> bool | None:
        """What the recount of the release found; None without a release."""
        return self.ending == "released" if self.is_feasible else None

    def to_dict(self) -> dict[str, Any]:
        """Give the trial as JSON takes it."""
        return dataclasses.asdict(self) | {"is_feasible": self.is_feasible, "verified": self.verified}


@dataclass(frozen=True, slots=True)
class Comparison:
    """The trials of several algorithms on one table and policy, in the order in which they were asked for."""

    rows: int
    """The rows that were eligible for release."""
    tuples: int
    """The distinct tuples among them."""
    trials: tuple[Trial, ...]
    workload: dict[str, Any] | None = None
    """How the queries were drawn that every release was asked, if there were any."""

    @property
    def title(self) -> str:
        """What is compared, in words."""
        asked = f", {counted(self.workload['queries'], 'query', 'queries')}" if self.workload else ""
        return f"{counted(len(self.trials), 'algorithm')} on {counted(self.rows, 'row')}{asked}"

    def best(self, measure: str = "precision") -> Trial | None:
        """Give the trial of least loss by a measure among those that verify; None if there is none.

        With a workload ``query-error`` is a measure, too. Of equal ones it is the one with fewest suppressed rows,
        then the first.
        """
        first = next(iter(self.ranked(measure)), None)
        return first if first is not None and first.verified else None

    def ranked(self, measure: str = "precision") -> tuple[Trial, ...]:
        """Give all trials, the best by a measure first: those that verify, those that do not, those without a release.

        Releases of two tables come after those of one, unless queries are what counts: no measure of cells tells what
        they hide. Equal ones come by fewest suppressed rows, then in their own order.
        """
        self._check_measure(measure)

        def rank(trial: Trial) -> tuple[int, float, int]:
            if not trial.is_feasible:
                return 3, 0.0, 0
            is_apart = trial.has_two_tables and measure != QUERY_ERROR
            order = int(is_apart) if trial.verified else 2
            return order, round(trial.loss_by(measure), DIGITS), trial.suppressed or 0

        return tuple(sorted(self.trials, key=rank))

    def _check_measure(self, measure: str) -> None:
        if measure != QUERY_ERROR:
            measure_named(measure)
        elif self.workload is None:
            raise PolicyError(f"measure: {QUERY_ERROR} needs queries; compare with workload=queries(table, policy)")

    def to_dict(self) -> dict[str, Any]:
        """Give the comparison as JSON takes it."""
        return {
            "rows": self.rows,
            "tuples": self.tuples,
            **({"workload": self.workload} if self.workload else {}),
            "trials": [trial.to_dict() for trial in self.trials],
        }

    def svg(self, measures: Sequence[str] = SHOWN_MEASURES, *, title: str | None = None, width: int = 1060) -> str:
        """Give a chart as an SVG document: the loss by each measure, the rows suppressed and the time of each trial.

        With a workload the average error of its queries stands beside them. The trial that is best by the first
        measure stands on top.
        """
        from indistinct.showing.bars import Bars, Panel

        if isinstance(measures, str) or not measures:
            raise PolicyError(f"measures: must be a list of names, such as ['precision'], got {measures!r}")
        if self.workload is not None and QUERY_ERROR not in measures:
            measures = [*measures, QUERY_ERROR]
        for measure in measures:
            self._check_measure(measure)
        trials = self.ranked(measures[0])
        panels = [
            Panel(
                _panel_title(measure),
                tuple(_drawn_loss(trial, measure) for trial in trials),
            )
            for measure in measures
        ]
        panels.append(Panel("rows suppressed", tuple(trial.suppressed for trial in trials)))
        seconds = tuple(trial.seconds if trial.is_feasible else None for trial in trials)
        panels.append(Panel("seconds", seconds, is_log=True))
        return Bars(
            title or self.title,
            tuple(trial.label for trial in trials),
            tuple(panels),
            subtitle=SUBTITLE + (APART if any(trial.has_two_tables for trial in trials) else ""),
            notes=tuple("" if trial.is_feasible else f"no release: {trial.ending}" for trial in trials),
            doubtful=frozenset(place for place, trial in enumerate(trials) if trial.ending == "unsafe"),
            doubt="does not verify",
        ).svg(width)

    def __str__(self) -> str:
        measures = (*SHOWN_MEASURES, *([QUERY_ERROR] if self.workload else []))
        head = ("algorithm", *measures, "suppressed", "groups", "smallest", "seconds", "")
        lines = [head, *(_line(trial, measures) for trial in self.trials)]
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        return "\n".join(
            "  ".join(
                cell.ljust(width) if place in (0, len(head) - 1) else cell.rjust(width)
                for place, (cell, width) in enumerate(zip(line, widths, strict=True))
            ).rstrip()
            for line in lines
        )


def time_text(seconds: float, is_warm: bool = True) -> str:
    """Give seconds as people read them; those that hold the loading of code are an upper bound.

    >>> time_text(0.0171), time_text(0.0004), time_text(75.26), time_text(31.6, is_warm=False)
    ('0.017', '<0.001', '75.3', '≤31.6')
    """
    if not is_warm:
        return f"≤{time_text(seconds)}"
    if seconds < 0.0005:
        return "<0.001"
    return f"{seconds:.3f}" if seconds < 10 else f"{seconds:,.1f}"


def compare(
    table: Any,
    policy: Policy,
    *,
    algorithms: Sequence[Algorithm | str] | None = None,
    workload: Workload | None = None,
    watch: Watch | None = None,
    **reading: Any,
) -> Comparison:
    """Run algorithms on one table and policy, recount what each would release, and give all their figures.

    ``algorithms`` are names or algorithms; without them all there are. One that is named has its usual options, or the
    policy's if the policy names it, too. The table is counted once. A time limit of the watch holds for each algorithm
    by itself. An algorithm that finds no release, refuses the policy, runs out of time or gives a release that does
    not verify has a trial that says so; only what concerns all of them is raised. Every release is also asked the
    queries of a ``workload``, as ``queries`` draws it from the same table. Nothing is written.
    """
    watch = watch or Watch()
    if workload is not None and not isinstance(workload, Workload):
        raise PolicyError(f"workload: must be made by queries(table, policy), got {type(workload).__name__}")
    contenders = _contenders(algorithms, policy)
    rows = open_table(table, **reading)
    try:
        task = task_for(rows, policy, watch)
        trials = tuple(_trial(contender, rows, task, workload, watch) for contender in contenders)
    finally:
        if rows is not table:
            rows.close()
    described = None if workload is None else workload.describe()
    return Comparison(task.frequencies.rows, len(task.frequencies.base), trials, described)


@dataclass(frozen=True, slots=True)
class _Contender:
    """An algorithm with the name that the registry has for it, since one class may serve several names."""

    name: str
    algorithm: Algorithm
    label: str = ""


def _contenders(asked: Sequence[Algorithm | str] | None, policy: Policy) -> list[_Contender]:
    """Give the algorithms that were asked for, each with a label of its own; raise every mistake at once."""
    if asked is None:
        asked = [name for name in ALGORITHMS if name != "chosen" or policy.algorithm == name]  # it searches nothing
    elif isinstance(asked, str):
        asked = [asked]
    found: list[_Contender] = []
    mistakes: list[str] = []
    for place, one in enumerate(asked):
        if isinstance(one, str) and one in asked[:place]:
            continue
        try:
            found.append(_contender(one, policy))
        except PolicyError as error:
            mistakes += error.mistakes
    if not asked:
        mistakes.append("algorithms: name at least one, or leave them out for all")
    if mistakes:
        raise PolicyError(mistakes)
    return _labelled(found)


def _contender(asked: Algorithm | str, policy: Policy) -> _Contender:
    """Give the algorithm itself, or the one of a name; the policy's options belong to the one that it names."""
    if isinstance(asked, str):
        return _Contender(asked, algorithm_of(policy) if asked == policy.algorithm else algorithm_named(asked))
    if isinstance(asked, type) or not callable(getattr(asked, "run", None)) or not hasattr(asked, "name"):
        raise PolicyError(f"algorithms: {asked!r} is neither an algorithm, such as Lattice(), nor the name of one")
    return _Contender(asked.name, asked)


def _labelled(found: Sequence[_Contender]) -> list[_Contender]:
    """Label each by its name, and where several have the same also by their options."""
    names = [one.name for one in found]
    labels: list[str] = []
    for one in found:
        label = one.name if names.count(one.name) == 1 else f"{one.name}{_options(one.algorithm)}"
        labels.append(label if label not in labels else f"{label} #{len(labels) + 1}")
    return [replace(one, label=label) for one, label in zip(found, labels, strict=True)]


def _options(algorithm: Algorithm) -> str:
    """Give the options of an algorithm that are not the usual ones, in brackets.

    >>> from indistinct.algorithms import Datafly, Lattice, Samarati
    >>> _options(Lattice("loss")), _options(Samarati(satisfies="matrix")), _options(Lattice())
    (' (measure loss)', ' (satisfies matrix)', '')
    >>> _options(Datafly(likelihood={"zip": 0.5, "age": 0.25, "sex": 0.25}))
    ' (likelihood …)'
    """
    if not dataclasses.is_dataclass(algorithm):
        return ""
    changed = []
    for option in dataclasses.fields(algorithm):
        value = getattr(algorithm, option.name)
        made = option.default_factory
        usual = option.default if made is dataclasses.MISSING else made()
        if value != usual:
            shown = str(getattr(value, "name", None) or getattr(value, "__name__", None) or value)
            changed.append(f"{option.name} {shown if len(shown) <= LONGEST_OPTION else '…'}")
    return f" ({', '.join(changed)})" if changed else ""


@dataclass(frozen=True, slots=True)
class _Run:
    """One timed search: its answer, or the error in place of it."""

    answer: Recoding | IndistinctError
    seconds: float
    cpu_seconds: float
    is_warm: bool


def _trial(contender: _Contender, rows: Rows, task: Task, workload: Workload | None, watch: Watch) -> Trial:
    """Run one algorithm, release what it finds, recount that, and measure it."""

    def progress(stage: str, done: int | None, total: int | None) -> None:
        watch.report(f"{contender.label}: {stage}", done, total)

    own = Watch(watch.time_limit, progress, watch.is_cancelled)
    run = _timed(contender.algorithm, task, own)
    if isinstance(run.answer, IndistinctError):
        return _without_release(contender, run, run.answer)
    recoding = run.answer
    try:
        with release_of(rows, task.policy, recoding, contender.name, allow_unsafe=True, watch=own) as release:
            verdict = release.verdict
            if workload is not None:
                own.report("queries")
            asked = None if workload is None else workload.errors(release)
    except (InfeasibleError, PolicyError) as error:
        return _without_release(contender, run, error)
    assert verdict is not None  # a release was recounted before it is given
    failed = [f"{check.name}: {check.detail}" for check in verdict.checks if not check.passed]
    scales = {measure: make() for measure, make in MEASURES.items()}
    return Trial(
        label=contender.label,
        algorithm=contender.name,
        ending="unsafe" if failed else "released",
        reason="; ".join(failed) or None,
        seconds=run.seconds,
        cpu_seconds=run.cpu_seconds,
        is_warm=run.is_warm,
        suppressed=recoding.suppressed_rows,
        groups=recoding.released_groups,
        smallest_group=int(recoding.released_sizes.min()),
        node=recoding.levels,
        is_proven=recoding.is_proven,
        gap=recoding.gap,
        optimum_of=_optimized(contender) if recoding.is_proven else None,
        measures={measure: float(scale.value(recoding)) for measure, scale in scales.items()},
        losses={measure: float(scale.loss(recoding)) for measure, scale in scales.items()},
        has_two_tables=recoding.is_divided,
        query_errors={} if asked is None else asked.average,
        median_query_errors={} if asked is None else asked.median,
    )


def _timed(algorithm: Algorithm, task: Task, watch: Watch) -> _Run:
    """Run a search in a process that has its code at hand, on a list that remembers nothing of other searches."""
    run = _once(algorithm, task, watch)
    if not run.is_warm and run.seconds < REPEATED_BELOW:
        run = _once(algorithm, task, watch)
    return run


def _once(algorithm: Algorithm, task: Task, watch: Watch) -> _Run:
    known = task.frequencies
    # what one search has worked out and kept would be a present to the next
    forgetful = replace(known, _memory={})
    answer: Recoding | IndistinctError
    code = _loaded_code()
    watch.start()
    watch.report("search")
    wall, cpu = time.perf_counter(), time.process_time()
    try:
        answer = algorithm.run(replace(task, frequencies=forgetful), watch)
    except InterruptedSearchError as error:
        if watch.is_cancelled is not None and watch.is_cancelled():
            raise
        answer = error
    except (InfeasibleError, PolicyError, MissingExtraError) as error:
        answer = error
    seconds, cpu_seconds = time.perf_counter() - wall, time.process_time() - cpu
    return _Run(answer, seconds, cpu_seconds, code == _loaded_code())


def _loaded_code() -> tuple[int, int]:
    """Give the numbers of imported modules and of kernels that are compiled or loaded: they grow while code loads."""
    kernels = [module for name, module in list(sys.modules.items()) if name.startswith("indistinct.kernels.")]
    return len(sys.modules), sum(len(getattr(thing, "signatures", ())) for k in kernels for thing in vars(k).values())


def _without_release(contender: _Contender, run: _Run, error: IndistinctError) -> Trial:
    ending: Ending = "refused"
    if isinstance(error, InterruptedSearchError):
        ending = "interrupted"
    elif isinstance(error, InfeasibleError):
        ending = "infeasible"
    return Trial(contender.label, contender.name, ending, str(error), run.seconds, run.cpu_seconds, run.is_warm)


def _optimized(contender: _Contender) -> str | None:
    """Give the measure of which an algorithm proves the optimum, if that is among those compared here."""
    measure = getattr(contender.algorithm, EXACT.get(contender.name, ""), None)
    if isinstance(measure, QualityMeasure) and measure.name in MEASURES and MEASURES[measure.name]() == measure:
        return measure.name
    return None


def _drawn_loss(trial: Trial, measure: str) -> float | None:
    """Give the loss that a chart shows; the cells of two tables have none that could be compared."""
    if not trial.is_feasible or (trial.has_two_tables and measure != QUERY_ERROR):
        return None
    return trial.loss_by(measure)


def _panel_title(measure: str) -> str:
    return {"loss": "loss", QUERY_ERROR: "query error"}.get(measure, f"loss by {measure}")


def _line(trial: Trial, measures: Sequence[str]) -> tuple[str, ...]:
    """Give one line of the comparison as text."""
    times = time_text(trial.seconds, trial.is_warm)
    if not trial.is_feasible:
        return (trial.label, *["–"] * (len(measures) + 3), times, trial.ending)
    figures = [_figure(trial.figure_by(measure)) for measure in measures]
    counts = [f"{count:,}" for count in (trial.suppressed, trial.groups, trial.smallest_group)]
    return (trial.label, *figures, *counts, times, "✓" if trial.verified else "✗")


def _figure(value: float) -> str:
    return f"{value:,.0f}" if value == int(value) else f"{value:,.4f}"
