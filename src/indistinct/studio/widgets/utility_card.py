"""Whether analyses of the release give what they give of the private table, asked and shown."""

from __future__ import annotations

from nicegui import ui

from indistinct.data_utility import Utility
from indistinct.data_utility.distributions import Marginals
from indistinct.data_utility.regression import ComparedRegression
from indistinct.pipeline.held_out import ModelUtility
from indistinct.showing.bars import Bars, Panel
from indistinct.showing.numbers import figure
from indistinct.studio.widgets import controls
from indistinct.studio.widgets.page_frame import Desk
from indistinct.studio.work import Work

LEAD = "Columns, pairs of columns and your own regression, beside the private table. It describes that table: keep it."
NO_LABELS = "Two tables have no labels to be decoded; compare by queries on the command line."
SHOWN_PAIRS = 10
"""Pairs of columns that are drawn, those that moved most."""


def utility_card(work: Work, desk: Desk, address: str) -> None:
    """Ask for a regression and a column to predict, and show what the release is worth for them."""
    typed = {"formula": "", "target": ""}

    def measure() -> None:
        formulas, target = [typed["formula"]] if typed["formula"].strip() else [], typed["target"] or None
        desk.run(
            "Measuring utility",
            lambda watch: work.measure_utility(formulas, target, watch),
            lambda: ui.navigate.to(address),
        )

    with controls.card("Does an analysis still hold?"):
        release = work.release
        if refusal := work.refusal("utility") or ("" if release and release.form.shows_recoding else NO_LABELS):
            controls.Words("p", refusal, "quiet")
            return
        controls.Words("p", LEAD, "quiet small")
        with controls.box("div", "row-line"):
            heard = controls.setter_of(typed, "formula")
            controls.text("A regression, such as stay ~ age + sex", "", heard, live=True, id="formula")
            columns = {"": "no model", **{name: name for name in work.released_columns()}}
            controls.choice("Train a model of", columns, "", controls.setter_of(typed, "target"))
            controls.button("Measure", measure, id="utility")
        if work.utility is not None:
            _show_utility(work.utility)
        if work.model is not None:
            _show_model(work.model)


def _show_utility(found: Utility) -> None:
    facts = {"pMSE ratio: 0 the same, 1 as new rows": figure(found.propensity.ratio)}
    if found.marginals.k_marginal is not None:
        alone = figure(found.marginals.k_marginal_of_marginals)
        facts = {f"k-marginal of 1,000; marginals alone {alone}": f"{found.marginals.k_marginal:.0f}"} | facts
    controls.figures(facts)
    for width, where in ((1000, "if-wide"), (360, "if-narrow")):
        ui.html(distances(found.marginals).svg(width), sanitize=False).classes(f"picture {where}")
        if found.marginals.pairs:
            ui.html(pair_distances(found.marginals).svg(width), sanitize=False).classes(f"picture {where}")
    for one in found.regressions:
        _show_regression(one)
    for note in found.notes:
        controls.notice("note", f"{note[0].upper()}{note[1:]}.")


def distances(found: Marginals) -> Bars:
    """Return a picture of how far each column moved, and of how many of its cells say nothing."""
    panels = (
        Panel("total variation", tuple(one.total_variation for one in found.columns)),
        Panel("share suppressed", tuple(one.suppressed for one in found.columns)),
    )
    return Bars("How far columns moved", tuple(one.column for one in found.columns), panels)


def pair_distances(found: Marginals) -> Bars:
    """Return a picture of the pairs of columns that moved most."""
    worst = sorted(found.pairs, key=lambda one: (-one.total_variation, one.columns))[:SHOWN_PAIRS]
    panel = Panel("total variation", tuple(one.total_variation for one in worst))
    return Bars("Pairs that moved most", tuple(" × ".join(one.columns) for one in worst), (panel,))


def _show_regression(found: ComparedRegression) -> None:
    controls.Words("h3", str(found.regression))
    controls.Words("p", f"{found.in_words[0].upper()}{found.in_words[1:]}.", "small")
    controls.table(
        ["term", "before", "error", "after", "error", "overlap"],
        [
            [one.term, *map(figure, (one.before, one.error_before, one.after, one.error_after, one.overlap))]
            for one in found.coefficients
        ],
        caption=f"Coefficients of {found.regression}",
        numbers=[1, 2, 3, 4, 5],
    )
    for note in found.notes:
        controls.notice("note", f"{note[0].upper()}{note[1:]}.")


def _show_model(found: ModelUtility) -> None:
    controls.Words("h3", f"{found.learner} predicts {found.target}")
    controls.table(
        ["trained on", found.metric, "spread"],
        [[name, figure(mean), figure(found.spreads[name])] for name, mean in found.means.items()],
        caption=f"Scores of models of {found.target}, judged by rows held out before",
        numbers=[1, 2],
    )
