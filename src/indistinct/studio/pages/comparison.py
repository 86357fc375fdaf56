"""Compare: what every algorithm makes of the table, and what it costs."""

from __future__ import annotations

from collections.abc import Mapping

from nicegui import ui

from indistinct.pipeline.trials import SHOWN_MEASURES, Comparison, time_text
from indistinct.policy.algorithms import declared_class
from indistinct.registry import ALGORITHMS
from indistinct.showing.numbers import figure
from indistinct.studio.widgets import controls
from indistinct.studio.widgets.page_frame import Desk, frame, needs_table
from indistinct.studio.work import Work

LEAD = "Several algorithms run on the same table and policy; what each would release is counted again and measured."
USUAL = ("lattice", "samarati", "datafly", "regroup", "mondrian", "top-down")


def page(work: Work, query: Mapping[str, str]) -> None:
    """Show the page."""
    with frame(work, "/compare", "Which algorithm?", LEAD) as desk:
        if needs_table(work):
            return
        _choose(work, desk)
        if work.comparison is not None:
            if not work.is_explored("comparison"):
                controls.notice("note", "The columns or models have changed since; compare again.")
            _show_trials(work, work.comparison)


def _choose(work: Work, desk: Desk) -> None:
    chosen = dict.fromkeys((name for name in USUAL if name in ALGORITHMS), True)

    def go() -> None:
        names = [name for name, is_on in chosen.items() if is_on]
        desk.run("Comparing", lambda watch: work.compare(names, watch), lambda: ui.navigate.to("/compare"))

    with controls.card():
        with controls.box("fieldset").style("border: 0; padding: 0; margin: 0 0 12px"):
            controls.Words("legend", "Algorithms", "field")
            for name in ALGORITHMS:
                if declared_class(name).is_search:
                    controls.check(name, name in chosen, _switch_of(chosen, name))
        controls.button("Compare", go, "primary", id="compare")


def _switch_of(chosen: dict[str, bool], name: str) -> controls.OnChange:
    return lambda is_on: chosen.update({name: is_on})


def _show_trials(work: Work, comparison: Comparison) -> None:
    with controls.card():
        for width, where in ((1000, "if-wide"), (360, "if-narrow")):
            ui.html(comparison.svg(width=width), sanitize=False).classes(f"picture {where}")
        heads = [
            "algorithm",
            *SHOWN_MEASURES,
            "left out",
            "groups",
            comparison.smallest_title,
            "seconds",
            "outcome",
            "",
        ]
        with controls.box("div", "scroll").style("margin-top: 14px"), controls.box("table", "grid"):
            controls.Words("caption", "All algorithms", "visually-hidden")
            with controls.box("thead"), controls.box("tr"):
                for name in heads:
                    controls.Words("th", name, scope="col")
            with controls.box("tbody"):
                for trial in comparison.ranked(SHOWN_MEASURES[0]):
                    cells = ["–"] * (len(SHOWN_MEASURES) + 3)
                    if trial.is_feasible:
                        counts = (trial.suppressed, trial.groups, trial.smallest_crowd)
                        cells = [figure(trial.figure_by(name)) for name in SHOWN_MEASURES]
                        cells += [f"{count:,}" for count in counts if count is not None]
                    outcome = "verified" if trial.verified else trial.reason or trial.ending
                    with controls.box("tr"):
                        controls.Words("th", trial.label, scope="row")
                        for cell in cells:
                            controls.Words("td", cell)
                        controls.Words("td", time_text(trial.seconds, trial.is_warm))
                        controls.Words("td", outcome, "quiet small")
                        with controls.box("td"):
                            if trial.verified:
                                _use(work, trial.algorithm)


def _use(work: Work, name: str) -> None:
    def use() -> None:
        work.choose_algorithm(name)
        ui.navigate.to("/release")

    controls.button("Use", use, "slim", aria_label=f"Use {name}")
