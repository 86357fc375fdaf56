"""Compare: what every algorithm makes of the table, what it costs, and each release by its risk and utility."""

from __future__ import annotations

from collections.abc import Mapping

from nicegui import ui

from indistinct.pipeline.comparison import K_MARGINAL
from indistinct.pipeline.trials import SHOWN_MEASURES, Comparison, Trial, time_text
from indistinct.policy.algorithms import declared_class
from indistinct.progress import Watch
from indistinct.registry import ALGORITHMS
from indistinct.showing.numbers import figure
from indistinct.studio.widgets import controls
from indistinct.studio.widgets.page_frame import Desk, frame, needs_table
from indistinct.studio.work import Work

LEAD = "Several algorithms run on the same table and policy; what each would release is counted again and measured."
FORMULA = "formula"
AXES = {K_MARGINAL: "triples of columns are as frequent as before", FORMULA: "a regression gives the same"}
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
            if work.comparison.utility is not None:
                _show_map(work.comparison)
            _show_trials(work, work.comparison)


def _choose(work: Work, desk: Desk) -> None:
    """Ask which algorithms run, and for a map what makes a release useful, and for which k."""
    offered = [name for name in ALGORITHMS if declared_class(name).is_search]
    if work.links:
        offered = [name for name in offered if declared_class(name).links_tables]
    chosen = {name: True for name in USUAL if name in offered}
    said = work.map_asked

    def go() -> None:
        names = [name for name, is_on in chosen.items() if is_on]
        utility = (said["formula"] if said["utility"] == FORMULA else said["utility"]) or None
        try:
            ks = [int(word) for word in said["ks"].replace(",", " ").split()]
        except ValueError:
            desk.fail("k: write whole numbers with commas between them, such as 5, 20, 100")
            return

        def compare(watch: Watch) -> None:
            work.compare(names, watch, utility=utility, ks=ks or None)

        desk.run("Comparing", compare, lambda: ui.navigate.to("/compare"))

    with controls.card():
        with controls.box("fieldset", "plain").style("margin-bottom: 12px"):
            controls.Words("legend", "Algorithms", "field")
            for name in offered:
                controls.check(name, name in chosen, controls.setter_of(chosen, name))
        with controls.box("div", "row-line").style("margin-bottom: 12px"):
            if refusal := work.refusal("utility"):
                controls.Words("p", f"No map of risk and utility. {refusal}", "quiet small")
            else:
                models = {f"target={name}": f"a model of {name} can be trained" for name in _released_columns(work)}
                options = {"": "not asked: no map", **AXES, **models}
                controls.choice(
                    "A release is useful if", options, said["utility"], controls.setter_of(said, "utility")
                ).props("id=axis")
                hint = "if that is it, such as stay ~ age"
                controls.text(
                    "Regression",
                    said["formula"],
                    controls.setter_of(said, "formula"),
                    hint=hint,
                    live=True,
                    id="formula",
                )
            hint = "several with commas between; empty: as the policy says"
            controls.text("k", said["ks"], controls.setter_of(said, "ks"), hint=hint, live=True, id="ks")
        controls.button("Compare", go, "primary", id="compare")


def _released_columns(work: Work) -> list[str]:
    return [name for name, choice in work.columns.items() if choice.is_released]


def _show_map(comparison: Comparison) -> None:
    """Draw each release by its risk and its utility, and name those that no other beats in both."""
    best = comparison.list_undominated()
    with controls.card("Risk and utility"):
        placed = [trial for trial in comparison.trials if trial.utility is not None and trial.risk]
        if not placed:
            controls.Words("p", "No release has both a risk and such a utility.", "quiet")
            return
        for width, where in ((1000, "if-wide"), (360, "if-narrow")):
            ui.html(comparison.map_svg(width=width), sanitize=False).classes(f"picture {where}")
        named = "; ".join(trial.label for trial in best)
        controls.notice("good", f"No release is both safer and more useful than these: {named}.")
        rows = [
            [
                one.label,
                *map(figure, (one.risk["highest"], one.risk["average"], one.utility)),
                "yes" if one in best else "",
            ]
            for one in sorted(placed, key=lambda one: (one.risk["highest"], -(one.utility or 0.0)))
        ]
        heads = ["release", "highest risk", "average risk", comparison.utility or "", "undominated"]
        controls.table(heads, rows, caption="Risk and utility of each release", numbers=[1, 2, 3])


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
                                _use(work, trial)


def _use(work: Work, trial: Trial) -> None:
    def use() -> None:
        work.choose_algorithm(trial.algorithm)
        if trial.k is not None:
            work.choose_k(trial.k)
        ui.navigate.to("/release")

    controls.button("Use", use, "slim", aria_label=f"Use {trial.label}")
