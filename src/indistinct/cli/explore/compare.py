"""``indistinct compare``: every algorithm on one table and policy, side by side; nothing is written but a chart."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from indistinct.atomic_files import write_whole
from indistinct.cli import show
from indistinct.cli.options import AsJson, PolicyPath, Reading, option, without_none
from indistinct.cli.paths import Tables, refuse_place, tables_given
from indistinct.errors import (
    InfeasibleError,
    InterruptedSearchError,
    PolicyError,
    VerificationError,
)
from indistinct.showing.numbers import figure
from indistinct.showing.words import counted

if TYPE_CHECKING:
    import rich.table
    from rich.text import Text

    from indistinct.pipeline.trials import Comparison, Trial
    from indistinct.policy import Policy

OTHERS = ("precision", "loss", "entropy", "discernibility", "average-group-size", "ncp", "accuracy", "completeness")
"""The measures that stand beside the one that counts, as far as there is room; ``--json`` has all."""
DIGITS = 12
"""Digits to which equal figures agree."""
EXIT_CODES = {
    "interrupted": InterruptedSearchError.exit_code,
    "refused": PolicyError.exit_code,
    "infeasible": InfeasibleError.exit_code,
    "unsafe": VerificationError.exit_code,
}
"""How the command ends if no release verifies: with the largest of these."""


def compare(
    policy_path: PolicyPath,
    tables: Tables,
    algorithm: Annotated[
        list[str] | None, option("An algorithm to compare; may be repeated. Else all.", metavar="NAME")
    ] = None,
    measure: Annotated[
        str | None,
        option(
            "What counts, such as precision, loss or discernibility; query-error if there are queries. Else the "
            "policy's measure.",
            metavar="NAME",
        ),
    ] = None,
    queries: Annotated[
        bool, option("Also ask every release COUNT(*) queries, and show how far they go wrong.", "--queries")
    ] = False,
    number: Annotated[int | None, option("How many queries. Else 1000.", min=1)] = None,
    dimensions: Annotated[
        int | None, option("How many quasi columns a query asks about. Else 4, or all.", min=1)
    ] = None,
    selectivity: Annotated[
        float | None, option("The share of the rows that a query is to match, about. Else 0.05.")
    ] = None,
    sensitive: Annotated[
        str | None, option("The sensitive column of the queries, if there are several.", metavar="COLUMN")
    ] = None,
    seed: Annotated[int | None, option("Draws other queries. Else 0.", min=0)] = None,
    utility: Annotated[
        str | None,
        option(
            "Also map what each release is worth beside its risk: by k-marginal, by a regression such as 'stay ~ age "
            "+ sex', or by a model, target=COLUMN.",
            metavar="WHAT",
        ),
    ] = None,
    k: Annotated[
        list[int] | None, option("Let every algorithm release with this k; may be repeated.", "--k", min=2)
    ] = None,
    chart: Annotated[
        Path | None, option("Write a chart of losses and times there, or the map of --utility (.svg).", metavar="FILE")
    ] = None,
    replace: Annotated[bool, option("Replace the chart if it exists.", "--replace")] = False,
    *,
    reading: Reading,
    time_limit: Annotated[
        float | None,
        option("Seconds that the search of each algorithm may take. Else those that take long end.", min=0),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Show what every algorithm makes of the table, and what it costs.

    Each release is made, recounted and thrown away: nothing is written but the chart. What is said about queries asks
    for them, too.
    """
    from indistinct.data_utility.workload import queries as drawn
    from indistinct.pipeline import comparison
    from indistinct.pipeline.stages import open_tables
    from indistinct.pipeline.trials import QUERY_ERROR, SHOWN_MEASURES
    from indistinct.policy.files.policy_file import read_policy

    if chart is not None:
        refuse_place(chart, "a chart", [".svg"], replace=replace)
    policy = read_policy(policy_path)
    said = {"number": number, "dimensions": dimensions, "selectivity": selectivity}
    options: dict[str, Any] = without_none(**said, sensitive=sensitive, seed=seed)
    has_queries = queries or bool(options)
    ranked_by = _measure(policy, measure, has_queries)
    optimized = None if measure is None or ranked_by == QUERY_ERROR else ranked_by
    with (
        show.progress(time_limit) as given,
        open_tables(tables_given(policy, tables), policy, **reading.arguments()) as opened,
    ):
        rows = policy.form.as_given(opened)
        workload = drawn(rows, policy, **options) if has_queries else None
        watch = given.ending_after(comparison.ENDS_AFTER)
        found = comparison.compare(
            rows,
            policy,
            algorithms=algorithm or None,
            measure=optimized,
            workload=workload,
            utility=utility,
            ks=k,
            watch=watch,
        )
    best = found.best(ranked_by)
    if chart is not None:
        shown = list(dict.fromkeys([ranked_by, *SHOWN_MEASURES]))[: len(SHOWN_MEASURES)]
        write_whole(chart, found.svg(shown) if utility is None else found.map_svg())
    if as_json:
        about = {"measure": ranked_by, "best": None if best is None else best.label}
        show.document(about | found.to_dict() | {"written": None if chart is None else str(chart)})
    else:
        _show(found, ranked_by)
        _summarize(found, ranked_by, best)
        if found.utility is not None:
            _show_map(found)
        if watch.ends_after is not None and any(trial.seconds >= watch.ends_after for trial in found.trials):
            show.say(f"searches end after {watch.ends_after:g} s each; --time-limit gives them more", "yellow")
        if chart is not None:
            show.say(f"written to {chart}", show.GOOD)
        if best is not None and k is None:
            named = _options_of_best(policy, found, ranked_by, optimized)
            show.next_steps(["anonymize", policy_path, *tables, "-o", "release", *named, *reading.as_typed()])
    if best is None:
        raise typer.Exit(max(EXIT_CODES[trial.ending] for trial in found.trials))


def _options_of_best(policy: Policy, found: Comparison, ranked_by: str, optimized: str | None) -> list[str]:
    """Return the options of anonymize that make the best release; the policy's own algorithm need not be named."""
    from indistinct.policy.algorithms import declared_class, options_of

    best = found.best(ranked_by)
    assert best is not None  # asked before
    is_own = policy.algorithm in [trial.algorithm for trial in _equals(found, ranked_by, best)]
    named = [] if is_own else ["--algorithm", best.algorithm]
    chosen = policy.algorithm if is_own else best.algorithm
    takes_measure = optimized is not None and "measure" in options_of(declared_class(chosen))
    return [*named, "--measure", str(optimized)] if takes_measure else named


def _measure(policy: Policy, asked: str | None, has_queries: bool) -> str:
    """Return the measure that was asked for, else the policy's own, else precision."""
    from indistinct.pipeline.trials import QUERY_ERROR
    from indistinct.policy.algorithms import exact_measure_of
    from indistinct.quality import measure_named

    if asked == QUERY_ERROR:
        if not has_queries:
            raise PolicyError(f"measure: {QUERY_ERROR} needs queries; say --queries")
        return QUERY_ERROR
    return measure_named(asked or exact_measure_of(policy) or "precision").name


@dataclass(frozen=True, slots=True)
class _Figure:
    """A column of the table: its heading, how a trial's figure is written, and by what the best one is known."""

    heading: str
    text: Callable[[Trial], str]
    rank: Callable[[Trial], float] | None = None
    """The least is the best; None if that cannot be said."""
    is_of_cells: bool = False
    """It is about generalized cells, which a release of two tables does not have."""

    def best(self, trials: Sequence[Trial]) -> float | None:
        """Return the least rank among the trials that verify; None if it tells none of them from the others."""
        if self.rank is None:
            return None
        ranks = {round(self.rank(trial), DIGITS) for trial in trials if self._counts(trial)}
        return min(ranks) if len(ranks) > 1 else None

    def _counts(self, trial: Trial) -> bool:
        return bool(trial.verified) and not (self.is_of_cells and trial.has_two_tables)

    def cell(self, trial: Trial, best: float | None) -> Text:
        """Return a trial's figure; the best one stands out."""
        from rich.text import Text

        if not trial.is_feasible:
            return Text("–", show.QUIET)
        is_best = self._counts(trial) and self.rank is not None and round(self.rank(trial), DIGITS) == best
        return Text(self.text(trial), f"bold {show.GOOD}" if is_best else "")


def _figures(measures: Sequence[str], has_cpu: bool, smallest: str) -> list[_Figure]:
    """Return the columns of figures for some measures."""
    from indistinct.pipeline.trials import time_text

    def measure_figure(name: str) -> _Figure:
        return _Figure(name, lambda trial: figure(trial.measures[name]), lambda trial: trial.losses[name], True)

    def time_figure(heading: str, seconds: Callable[[Trial], float]) -> _Figure:
        return _Figure(heading, lambda trial: time_text(seconds(trial), trial.is_warm), seconds)

    figures = [
        *map(measure_figure, measures),
        _Figure("suppressed", lambda trial: figure(trial.suppressed), lambda trial: trial.suppressed or 0),
        _Figure("groups", lambda trial: figure(trial.groups)),
        _Figure(smallest, lambda trial: figure(trial.smallest_crowd)),
        time_figure("seconds", lambda trial: trial.seconds),
    ]
    if has_cpu:
        figures.append(time_figure("CPU", lambda trial: trial.cpu_seconds))
    return figures


def _show(found: Comparison, measure: str) -> None:
    """Print all trials, the best first, with as many measures as there is room for, and why some fail."""
    from rich.measure import Measurement

    from indistinct.pipeline.trials import QUERY_ERROR

    console = show.out()
    unlimited = console.options.update(max_width=1000)
    trials = found.ranked(measure)
    own = [measure] if measure != QUERY_ERROR else []  # which has a table of its own
    others = [name for name in OTHERS if name != measure]
    least = found.smallest_title
    choices = [_figures([*own, *others[:count]], True, least) for count in range(len(others), -1, -1)]
    for figures in [*choices, _figures(own, False, least)]:
        made = _table(found.title, trials, figures)
        if Measurement.get(console, unlimited, made).maximum <= console.width:
            break
    console.print(made)
    if found.workload is not None:
        asked = counted(found.workload["queries"], "query", "queries")
        console.print(_query_table(f"Relative error of {asked}", trials))
    reasons = [trial for trial in trials if not trial.verified]
    if reasons:
        why = show.table("Without a release that verifies", "algorithm", "", "reason")
        for trial in reasons:
            why.add_row(trial.label, trial.ending, trial.reason or "")
        console.print(why)


def _table(title: str, trials: Sequence[Trial], figures: Sequence[_Figure]) -> rich.table.Table:
    """Return the table of all trials with some figures, and whether the recount passed."""
    headings = [figure.heading for figure in figures]
    made = show.table(title, "algorithm", *headings, "", right=headings)
    best = [figure.best(trials) for figure in figures]
    for trial in trials:
        cells = [figure.cell(trial, least) for figure, least in zip(figures, best, strict=True)]
        made.add_row(trial.label, *cells, "–" if trial.verified is None else show.mark(trial.verified))
    return made


def _query_table(title: str, trials: Sequence[Trial]) -> rich.table.Table:
    """Return the table of the errors of queries, by both estimators that the form of a release has."""
    released = [trial for trial in trials if trial.is_feasible]
    figures = [*_errors_by(0), *_errors_by(1)]
    best = [figure.best(released) for figure in figures]
    made = show.table(title, "algorithm", *(figure.heading for figure in figures), right=("average", "median"))
    for trial in released:
        made.add_row(trial.label, *(figure.cell(trial, least) for figure, least in zip(figures, best, strict=True)))
    return made


def _errors_by(place: int) -> list[_Figure]:
    """Return the columns of one estimator: what is spread evenly comes first, then whatever could match."""

    def average(trial: Trial) -> float:
        return list(trial.query_errors.values())[place]

    return [
        _Figure("estimator", lambda trial: list(trial.query_errors)[place]),
        _Figure("average", lambda trial: figure(average(trial)), average),
        _Figure("median", lambda trial: figure(list(trial.median_query_errors.values())[place])),
    ]


def _summarize(found: Comparison, measure: str, best: Trial | None) -> None:
    """Say in words what is best, what is quickest, and what is exact."""
    from indistinct.pipeline.trials import QUERY_ERROR, time_text

    if best is None:
        show.say("no algorithm gave a release that verifies", "yellow")
        return
    equal = [trial.label for trial in _equals(found, measure, best)]
    quickest = min((trial for trial in found.trials if trial.verified), key=lambda trial: trial.seconds)
    show.say(
        f"best by {measure}: {', '.join(equal)} ({figure(best.figure_by(measure))}); "
        f"quickest: {quickest.label} ({time_text(quickest.seconds, quickest.is_warm)} s)",
        show.GOOD,
    )
    exact = [f"{trial.label} (by {trial.optimum_of})" for trial in found.trials if trial.optimum_of]
    if exact:
        show.say(f"proven to be the best of all that the algorithm considers: {', '.join(exact)}", show.QUIET)
    apart = [trial.label for trial in found.trials if trial.has_two_tables]
    if apart and measure != QUERY_ERROR:
        show.say(
            f"{', '.join(apart)}: two tables without generalized cells, of which {measure} says nothing; "
            f"compare by queries (--queries --measure {QUERY_ERROR})",
            show.QUIET,
        )
    for trial in found.trials:
        if trial.is_proven is False and trial.gap:
            show.say(
                f"{trial.label}: not proven; the loss of its best may be lower by up to {figure(trial.gap)}", "yellow"
            )
        elif trial.is_proven is None and trial.bound:
            by, bound = next(iter(trial.bound.items()))
            words = (
                f"no such release has a loss by {by} below {figure(bound)}; this one has {figure(trial.loss_by(by))}"
            )
            show.say(f"{trial.label}: {words}", show.QUIET)


def _show_map(found: Comparison) -> None:
    """Print the risk and the utility of each release, the safest first, and name those that no other beats in both."""
    heads = ("highest risk", "average risk", "utility")
    made = show.table(f"Risk and {found.utility}", "algorithm", *heads, "undominated", right=heads)
    best = found.list_undominated()
    placed = [trial for trial in found.trials if trial.utility is not None and trial.risk]
    for trial in sorted(placed, key=lambda one: (one.risk["highest"], -(one.utility or 0.0))):
        figures = (trial.risk["highest"], trial.risk["average"], trial.utility)
        made.add_row(trial.label, *map(figure, figures), "yes" if trial in best else "")
    show.out().print(made)
    show.say(f"no release is both safer and more useful than {', '.join(trial.label for trial in best) or 'any'}")


def _equals(found: Comparison, measure: str, best: Trial) -> list[Trial]:
    """Return the trials that verify and have the loss of the best."""
    return [
        trial
        for trial in found.ranked(measure)
        if trial.verified
        and trial.has_two_tables == best.has_two_tables
        and round(trial.loss_by(measure), DIGITS) == round(best.loss_by(measure), DIGITS)
    ]
