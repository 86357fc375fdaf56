"""compare(): every algorithm on one table and policy, each answer released, recounted and measured."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from indistinct.data_utility import DecodedPair
from indistinct.data_utility.distributions import k_marginal_score
from indistinct.data_utility.regression import Regression, compare_regression
from indistinct.data_utility.workload import Workload
from indistinct.disclosure_risk import risk
from indistinct.errors import (
    IndistinctError,
    InfeasibleError,
    InterruptedSearchError,
    MissingExtraError,
    PolicyError,
)
from indistinct.kernel import all_kernels
from indistinct.pipeline.held_out import model_utility
from indistinct.pipeline.refusals import refuse_unable
from indistinct.pipeline.stages import Counted, count, open_tables, recode, recount
from indistinct.pipeline.trials import Comparison, Ending, Trial
from indistinct.policy import Policy
from indistinct.policy.algorithms import declared_class, options_of, options_said
from indistinct.policy.files.policy_file import load_policy
from indistinct.privacy import KAnonymity
from indistinct.progress import Watch
from indistinct.quality import QualityMeasure, measure_named
from indistinct.recoding import Recoding
from indistinct.registry import ALGORITHMS, MEASURES
from indistinct.release import Release
from indistinct.release.pseudonyms import with_fresh_pseudonyms
from indistinct.search import Algorithm, Task, algorithm_named, algorithm_of, as_algorithm, find_recoding, state_bound

REPEATED_BELOW = 10.0
"""Seconds: a shorter run that had to load or compile code is repeated, so that its time is that of the search alone."""
ENDS_AFTER = 10.0
"""Seconds after which the command ends each search where no time limit is set: twelve take two minutes at most."""
LONGEST_OPTION = 24
"""Letters: the value of a longer option is left out of a label."""


def compare(
    table: Any,
    policy: Policy | str | os.PathLike[str],
    *,
    algorithms: Sequence[Algorithm | str] | None = None,
    measure: QualityMeasure | str | None = None,
    workload: Workload | None = None,
    utility: str | None = None,
    ks: Sequence[int] | None = None,
    watch: Watch | None = None,
    **reading: Any,
) -> Comparison:
    """Run algorithms on one table and policy, recount what each would release, and give all their figures.

    ``algorithms`` are names or algorithms; without them all there are. One that is named has its usual options, or the
    policy's if the policy names it, too. Those that can optimize a ``measure`` of one's choice optimize the one that is
    given. The table is counted once. A time limit of the watch holds for each algorithm
    by itself. An algorithm that finds no release, refuses the policy, runs out of time or gives a release that does
    not verify has a trial that says so; only what concerns all of them is raised. Every release is also asked the
    queries of a ``workload``, as ``queries`` draws it from the same table. Nothing is written.

    ``utility`` asks for a map: the risk of each release beside what it is worth, by its ``k-marginal`` score, by the
    overlap of a regression (``"stay ~ age"``) or by a model (``"target=ill"``). With ``ks`` each algorithm releases
    once for each k.
    """
    watch = watch or Watch()
    if workload is not None and not isinstance(workload, Workload):
        raise PolicyError(f"workload: must be made by queries(table, policy), got {type(workload).__name__}")
    policy = with_fresh_pseudonyms(load_policy(policy))
    axis = None if utility is None else UtilityAxis.parse(utility)
    contenders = _contenders(algorithms, policy, None if measure is None else measure_named(measure))
    trials: list[Trial] = []
    asked_ks: Sequence[int | None] = list(dict.fromkeys(ks)) if ks else [None]
    with open_tables(table, policy, **reading) as tables:
        for k in asked_ks:
            asked = policy if k is None else with_k(policy, k)
            with count(tables, asked, watch) as counted:
                for contender in contenders:
                    judge = None if axis is None else _MapPoint(axis, policy.form.as_given(tables), contender.algorithm)
                    own = contender if k is None else replace(contender, label=f"{contender.label}, k = {k}")
                    trials.append(replace(_trial(own, counted, workload, watch, judge), k=k))
    described = None if workload is None else workload.describe()
    frequencies = counted.task.frequencies
    people = counted.task.number_of_people() if counted.task.counts_people else None
    title = None if axis is None else axis.title
    return Comparison(frequencies.rows, len(frequencies.base), tuple(trials), described, people, title)


@dataclass(frozen=True, slots=True)
class _MapPoint:
    """Says what a release is worth, and how risky it is."""

    axis: UtilityAxis
    table: Any
    algorithm: Algorithm

    def figures(self, release: Release, watch: Watch) -> tuple[float | None, dict[str, float]]:
        return self.axis.value(release, self.table, self.algorithm, watch), risks(release)


@dataclass(frozen=True, slots=True)
class _Contender:
    """An algorithm with the name that the registry has for it, since one class may serve several names."""

    name: str
    algorithm: Algorithm
    label: str = ""


def _contenders(
    asked: Sequence[Algorithm | str] | None, policy: Policy, measure: QualityMeasure | None
) -> list[_Contender]:
    """Return the algorithms that were asked for, each with a label of its own; raise every mistake at once."""
    if asked is None:
        asked = [name for name in ALGORITHMS if declared_class(name).is_search or policy.algorithm == name]
    elif isinstance(asked, str):
        asked = [asked]
    found: list[_Contender] = []
    mistakes: list[str] = []
    for place, one in enumerate(asked):
        if isinstance(one, str) and one in asked[:place]:
            continue
        try:
            found.append(_contender(one, policy, measure))
        except PolicyError as error:
            mistakes += error.mistakes
    if not asked:
        mistakes.append("algorithms: name at least one, or leave them out for all")
    if mistakes:
        raise PolicyError(mistakes)
    return _with_labels(found)


def _contender(asked: Algorithm | str, policy: Policy, measure: QualityMeasure | None) -> _Contender:
    """Return the algorithm itself, or the one of a name; the policy's options belong to the one that it names."""
    if isinstance(asked, str):
        named = algorithm_of(policy) if asked == policy.algorithm else algorithm_named(asked)
        return _Contender(asked, named if measure is None else _optimizing(named, measure))
    if isinstance(asked, type) or not callable(getattr(asked, "run", None)) or not hasattr(asked, "name"):
        raise PolicyError(f"algorithms: {asked!r} is neither an algorithm, such as Lattice(), nor the name of one")
    return _Contender(asked.name, asked)


def _optimizing(algorithm: Algorithm, measure: QualityMeasure) -> Algorithm:
    """Return the algorithm with this measure to optimize, if it takes one and can work with this one."""
    if as_algorithm(algorithm).optimizes is None or "measure" not in options_of(type(algorithm)):
        return algorithm
    try:
        return replace(algorithm, measure=measure)  # type: ignore[type-var]  # what has options is a dataclass
    except PolicyError:
        return algorithm


def _with_labels(found: Sequence[_Contender]) -> list[_Contender]:
    """Label each by its name, and where several have the same also by their options."""
    names = [one.name for one in found]
    labels: list[str] = []
    for one in found:
        label = one.name if names.count(one.name) == 1 else f"{one.name}{_options(one.algorithm)}"
        labels.append(label if label not in labels else f"{label} #{len(labels) + 1}")
    return [replace(one, label=label) for one, label in zip(found, labels, strict=True)]


def _options(algorithm: Algorithm) -> str:
    """Return the options of an algorithm that are not the usual ones, in brackets.

    >>> from indistinct.search import Datafly, Lattice, Samarati
    >>> _options(Lattice("loss")), _options(Samarati(satisfies="matrix")), _options(Lattice())
    (' (measure loss)', ' (satisfies matrix)', '')
    >>> _options(Datafly(likelihood={"zip": 0.5, "age": 0.25, "sex": 0.25}))
    ' (likelihood …)'
    """
    said = {name: str(value) for name, value in options_said(algorithm).items()}
    changed = [f"{name} {shown if len(shown) <= LONGEST_OPTION else '…'}" for name, shown in said.items()]
    return f" ({', '.join(changed)})" if changed else ""


@dataclass(frozen=True, slots=True)
class _Run:
    """One timed search: its answer, or the error in place of it."""

    answer: Recoding | IndistinctError
    seconds: float
    cpu_seconds: float
    is_warm: bool


def _trial(
    contender: _Contender, counted: Counted, workload: Workload | None, watch: Watch, judge: _MapPoint | None = None
) -> Trial:
    """Run one algorithm, release what it finds, recount that, and measure it."""

    def progress(stage: str, done: int | None, total: int | None) -> None:
        watch.report(f"{contender.label}: {stage}", done, total)

    own = Watch(watch.time_limit, progress, watch.is_cancelled, watch.ends_after)
    run = _time_search(contender.algorithm, counted.task, own)
    if isinstance(run.answer, IndistinctError):
        return _without_release(contender, run, run.answer)
    recoding = run.answer
    try:
        if recoding.takes_bound:
            recoding = state_bound(counted.task, recoding, contender.algorithm, own)
        with recount(recode(counted, recoding, contender.algorithm, own), own, allow_unsafe=True) as release:
            verdict = release.verdict
            if workload is not None:
                own.report("queries")
            asked = None if workload is None else workload.errors(release)
            utility, risk = (None, {}) if judge is None else judge.figures(release, own)
    except (InfeasibleError, PolicyError) as error:
        return _without_release(contender, run, error)
    assert verdict is not None  # a release was recounted before it is given
    failed = [f"{check.name}: {check.detail}" for check in verdict.checks if not check.passed]
    people = recoding.people_facts(counted.policy)
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
        smallest_group=int(recoding.released_sizes.min(initial=recoding.rows)),
        people=None if people is None else people.to_dict(),
        node=recoding.levels,
        is_proven=recoding.is_proven,
        gap=recoding.gap,
        bound=None if recoding.bound is None else dict(recoding.bound),
        optimum_of=_proven_measure(contender) if recoding.is_proven else None,
        measures={measure: float(scale.value(recoding)) for measure, scale in scales.items()},
        losses={measure: float(scale.loss(recoding)) for measure, scale in scales.items()},
        has_two_tables=not recoding.form.generalizes,
        query_errors={} if asked is None else asked.average,
        median_query_errors={} if asked is None else asked.median,
        utility=utility,
        risk=risk,
    )


def _time_search(algorithm: Algorithm, task: Task, watch: Watch) -> _Run:
    """Run a search in a process that has its code at hand, on a list that remembers nothing of other searches."""
    run = _run_once(algorithm, task, watch)
    if not run.is_warm and run.seconds < REPEATED_BELOW:
        run = _run_once(algorithm, task, watch)
    return run


def _run_once(algorithm: Algorithm, task: Task, watch: Watch) -> _Run:
    known = task.frequencies
    # what one search has worked out and kept would be a present to the next
    forgetful = replace(known, _memory={})
    answer: Recoding | IndistinctError
    code = _loaded_code()
    watch.start()
    watch.report("search")
    wall, cpu = time.perf_counter(), time.process_time()
    try:
        refuse_unable(task.policy, algorithm)
        answer = find_recoding(replace(task, frequencies=forgetful), algorithm, watch)
    except InterruptedSearchError as error:
        if watch.is_cancelled is not None and watch.is_cancelled():
            raise
        answer = error
    except (InfeasibleError, PolicyError, MissingExtraError) as error:
        answer = error
    seconds, cpu_seconds = time.perf_counter() - wall, time.process_time() - cpu
    return _Run(answer, seconds, cpu_seconds, code == _loaded_code())


def _loaded_code() -> tuple[int, int]:
    """Return the numbers of imported modules and of kernels that are compiled or loaded: they grow while code loads."""
    return len(sys.modules), sum(len(one.signatures) for one in all_kernels())


def _without_release(contender: _Contender, run: _Run, error: IndistinctError) -> Trial:
    ending: Ending = "refused"
    if isinstance(error, InterruptedSearchError):
        ending = "interrupted"
    elif isinstance(error, InfeasibleError):
        ending = "infeasible"
    return Trial(contender.label, contender.name, ending, str(error), run.seconds, run.cpu_seconds, run.is_warm)


def _proven_measure(contender: _Contender) -> str | None:
    """Return the measure of which an algorithm proves the optimum, if that is among those compared here."""
    algorithm = as_algorithm(contender.algorithm)
    measure = algorithm.optimizes if algorithm.is_exact else None
    if measure is not None and measure.name in MEASURES and MEASURES[measure.name]() == measure:
        return measure.name
    return None


K_MARGINAL = "k-marginal"
TARGET = "target="
SPLITS = 2
"""How often rows are held out to score a model; a map has many releases."""


@dataclass(frozen=True, slots=True)
class UtilityAxis:
    """What makes a release useful to somebody: more is better."""

    name: str
    """As it was asked for."""
    regression: Regression | None = None
    target: str | None = None

    @classmethod
    def parse(cls, text: str) -> UtilityAxis:
        """Return the utility that a text names: ``k-marginal``, the formula of a regression, or ``target=COLUMN``.

        >>> UtilityAxis.parse("stay ~ age").title, UtilityAxis.parse("target=ill").title
        ('overlap of stay ~ age', 'score of a model of ill')
        """
        if text == K_MARGINAL:
            return cls(text)
        if text.startswith(TARGET) and len(text) > len(TARGET):
            return cls(text, target=text[len(TARGET) :])
        if "~" in text:
            return cls(text, regression=Regression.parse(text))
        raise PolicyError(f"utility: must be {K_MARGINAL}, a formula such as 'stay ~ age', or {TARGET}COLUMN")

    @property
    def title(self) -> str:
        """What the axis shows."""
        if self.target is not None:
            return f"score of a model of {self.target}"
        return "k-marginal score" if self.regression is None else f"overlap of {self.regression}"

    def value(self, release: Release, table: Any, algorithm: Algorithm, watch: Watch) -> float | None:
        """Return the utility of a release; None where its form cannot be decoded."""
        if not release.form.shows_recoding:
            return None
        watch.report("utility")
        if self.target is not None:
            found = model_utility(table, release.policy, self.target, algorithm=algorithm, splits=SPLITS, watch=watch)
            return found.means["release"]
        pair = DecodedPair.of(release, table, release.policy)
        if self.regression is not None:
            return compare_regression(pair, self.regression).overlap
        return k_marginal_score(pair, watch=watch)


def risks(release: Release) -> dict[str, float]:
    """Return how surely somebody is found who is known to be in the release: the highest chance, and the average."""
    if not release.form.shows_recoding:
        return {}
    policy = release.policy
    found = risk(release.tables["table"], policy.quasi, policy=policy, most=1).prosecutor
    return {"highest": found.highest, "average": found.average}


def with_k(policy: Policy, k: int) -> Policy:
    """Return a policy whose k-anonymity asks for another k; one without gets that model as well."""
    if not any(isinstance(model, KAnonymity) for model in policy.privacy):
        return replace(policy, privacy=(*policy.privacy, KAnonymity(k)))
    models = tuple(replace(model, k=k) if isinstance(model, KAnonymity) else model for model in policy.privacy)
    return replace(policy, privacy=models)
