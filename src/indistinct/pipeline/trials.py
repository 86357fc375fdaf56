"""Trials: what several algorithms made of one table and policy, ranked, as text and as a chart."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from indistinct.errors import PolicyError
from indistinct.quality import measure_named
from indistinct.search import DIGITS
from indistinct.showing.numbers import figure
from indistinct.showing.words import counted

Ending = Literal["released", "unsafe", "infeasible", "refused", "interrupted"]
"""How a trial ended: with a release that verifies, with one that does not, or with none."""

SHOWN_MEASURES = ("precision", "loss", "discernibility")
QUERY_ERROR = "query-error"
"""What ranks trials by the queries of a workload, as the name of a measure does by that measure."""
SUBTITLE = "A loss of 0 leaves the table as it is, one of 1 tells nothing. Less is better everywhere."
APART = " Two tables have no generalized cells."


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
    """The rows of the released group that has fewest."""
    people: dict[str, int] | None = None
    """The people whom it releases, who lost rows, and how few share a group or a profile; None where rows count."""
    node: dict[str, int] | None = None
    """The level of each column; None for a local recoding, where each group has its own."""
    is_proven: bool | None = None
    """The search was not cut short: no other recoding that the algorithm considers is better."""
    gap: float | None = None
    """How much lower the loss of the optimum can still be, if it is not proven."""
    bound: dict[str, float] | None = None
    """By a measure, the loss that no release of this kind gets below; None where nothing is known."""
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
    k: int | None = None
    """The k that it was asked for, where several are compared."""
    utility: float | None = None
    """What the release is worth by the utility that was asked for: more is better."""
    risk: dict[str, float] = field(default_factory=dict)
    """How surely somebody is found in it: the highest chance and the average, where a utility was asked for."""

    def loss_by(self, measure: str) -> float:
        """Return the loss by a measure, or the average error of the queries: less is better."""
        return self.losses[measure] if measure != QUERY_ERROR else next(iter(self.query_errors.values()))

    def figure_by(self, measure: str) -> float:
        """Return what people quote of a measure, or the average error of the queries."""
        return self.measures[measure] if measure != QUERY_ERROR else self.loss_by(measure)

    @property
    def smallest_crowd(self) -> int | None:
        """Return what hides somebody who is hidden least: the people of a group or with one profile, or else rows."""
        if self.people is None:
            return self.smallest_group
        return self.people.get("smallest_profile", self.people["smallest_group"])

    @property
    def is_feasible(self) -> bool:
        """The algorithm gave a release, whether it verifies or not."""
        return self.ending in ("released", "unsafe")

    @property
    def verified(self) -> bool | None:
        """What the recount of the release found; None without a release."""
        return self.ending == "released" if self.is_feasible else None

    def to_dict(self) -> dict[str, Any]:
        """Return the trial as JSON takes it."""
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
    people: int | None = None
    """The people whose rows they are; None where each row is of somebody else."""
    utility: str | None = None
    """By what utility the releases were judged, if by any."""

    @property
    def title(self) -> str:
        """What is compared, in words."""
        asked = f", {counted(self.workload['queries'], 'query', 'queries')}" if self.workload else ""
        whose = "" if self.people is None else f" of {counted(self.people, 'person', 'people')}"
        what = "release" if any(trial.k is not None for trial in self.trials) else "algorithm"
        return f"{counted(len(self.trials), what)} on {counted(self.rows, 'row')}{whose}{asked}"

    @property
    def smallest_title(self) -> str:
        """What the column of the smallest group counts."""
        return "smallest" if self.people is None else "fewest people"

    def best(self, measure: str = "precision") -> Trial | None:
        """Return the trial of least loss by a measure among those that verify; None if there is none.

        With a workload ``query-error`` is a measure, too. Of equal ones it is the one with fewest suppressed rows,
        then the first.
        """
        first = next(iter(self.ranked(measure)), None)
        return first if first is not None and first.verified else None

    def ranked(self, measure: str = "precision") -> tuple[Trial, ...]:
        """Return all trials, the best by a measure first: those that verify, those that do not, those without a
        release.

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

    def list_undominated(self, risk: str = "highest") -> tuple[Trial, ...]:
        """Return the releases than which none is both safer and more useful, the safest first.

        A release that is as good by both and comes later is left out. ``risk`` is ``average`` or ``highest``.
        """
        placed = [trial for trial in self.trials if trial.verified and trial.utility is not None and trial.risk]
        found: list[Trial] = []
        for trial in sorted(placed, key=lambda one: (round(one.risk[risk], DIGITS), -(one.utility or 0.0))):
            if not found or (trial.utility or 0.0) > (found[-1].utility or 0.0):
                found.append(trial)
        return tuple(found)

    def map_svg(self, risk: str = "highest", *, width: int = 1060) -> str:
        """Return the map as an SVG document: each release by its risk and its utility, a line for each algorithm."""
        from indistinct.showing.chart import Chart, Line

        placed = [trial for trial in self.trials if trial.utility is not None and trial.risk]
        points: dict[str, list[tuple[float, float]]] = {}
        for trial in sorted(placed, key=lambda one: one.risk[risk]):
            name = trial.label.removesuffix(f", k = {trial.k}")
            points.setdefault(name, []).append((trial.risk[risk], trial.utility or 0.0))
        lines = tuple(Line(name, tuple(own)) for name, own in points.items())
        return Chart(
            counted(len(placed), "release"),
            f"{risk} risk",
            self.utility or "",
            lines,
            is_log_x=True,
            legend="algorithm",
        ).svg(width)

    def _check_measure(self, measure: str) -> None:
        if measure != QUERY_ERROR:
            measure_named(measure)
        elif self.workload is None:
            raise PolicyError(f"measure: {QUERY_ERROR} needs queries; compare with workload=queries(table, policy)")

    def to_dict(self) -> dict[str, Any]:
        """Return the comparison as JSON takes it."""
        return {
            "rows": self.rows,
            "tuples": self.tuples,
            **({} if self.people is None else {"people": self.people}),
            **({"workload": self.workload} if self.workload else {}),
            **({"utility": self.utility} if self.utility else {}),
            **({"undominated": [trial.label for trial in self.list_undominated()]} if self.utility else {}),
            "trials": [trial.to_dict() for trial in self.trials],
        }

    def svg(self, measures: Sequence[str] = SHOWN_MEASURES, *, title: str | None = None, width: int = 1060) -> str:
        """Return a chart as an SVG document: the loss by each measure, the rows suppressed and the time of each trial.

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
        head = ("algorithm", *measures, "suppressed", "groups", self.smallest_title, "seconds", "")
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
    """Return seconds as people read them; those that hold the loading of code are an upper bound.

    >>> time_text(0.0171), time_text(0.0004), time_text(75.26), time_text(31.6, is_warm=False)
    ('0.017', '<0.001', '75.3', '≤31.6')
    """
    if not is_warm:
        return f"≤{time_text(seconds)}"
    if seconds < 0.0005:
        return "<0.001"
    return f"{seconds:.3f}" if seconds < 10 else f"{seconds:,.1f}"


def _drawn_loss(trial: Trial, measure: str) -> float | None:
    """Return the loss that a chart shows; the cells of two tables have none that could be compared."""
    if not trial.is_feasible or (trial.has_two_tables and measure != QUERY_ERROR):
        return None
    return trial.loss_by(measure)


def _panel_title(measure: str) -> str:
    return {"loss": "loss", QUERY_ERROR: "query error"}.get(measure, f"loss by {measure}")


def _line(trial: Trial, measures: Sequence[str]) -> tuple[str, ...]:
    """Return one line of the comparison as text."""
    times = time_text(trial.seconds, trial.is_warm)
    if not trial.is_feasible:
        return (trial.label, *["–"] * (len(measures) + 3), times, trial.ending)
    figures = [figure(trial.figure_by(measure)) for measure in measures]
    counts = [f"{count:,}" for count in (trial.suppressed, trial.groups, trial.smallest_crowd)]
    return (trial.label, *figures, *counts, times, "✓" if trial.verified else "✗")
