"""Release: the search is run, what it found is shown and proved, and another solution can be picked."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from nicegui import ui

from indistinct.registry import MEASURES
from indistinct.release.manifest import Facts
from indistinct.search import Solution
from indistinct.showing.numbers import figure
from indistinct.showing.words import counted, term_words
from indistinct.studio.widgets import controls, lattice_chart
from indistinct.studio.widgets.controls import RAMP
from indistinct.studio.widgets.page_frame import Desk, frame, needs_table, next_step, show_verdict
from indistinct.studio.widgets.utility_card import utility_card
from indistinct.studio.work import Work

LEAD = "The search finds a release that satisfies the policy; then the release is counted again, by other code."
MOST_SOLUTIONS = 200
FIRST_ROWS = 12
STATES = {"broken": "fail", "something": "some", "nothing": "pass"}
HIGHER_IS_BETTER = ("precision", "accuracy", "completeness", "distinct-tuples")


def page(work: Work, query: Mapping[str, str]) -> None:
    """Show the page."""
    with frame(work, "/release", "Make a release", LEAD) as desk:
        if needs_table(work):
            return
        mistakes = work.mistakes()
        for mistake in mistakes:
            controls.notice("bad", mistake)
        with controls.card(), controls.box("div", "spread"):
            with controls.box("div"):
                controls.Words("h2", in_words(work)).style("margin: 0")
                controls.Words("p", f"{counted(work.rows, 'row')} of {work.name}", "quiet small").style("margin: 0")
            controls.button(
                "Run" if work.release is None else "Run again",
                lambda: desk.run("Making a release", work.run, _again),
                "primary",
                id="run",
                disabled=bool(mistakes),
            )
        if work.release is not None:
            if not work.is_current:
                controls.notice("note", "Something was changed since this release was made. Run again to follow it.")
            _summary(work, desk)
            _before_and_after(work)
            utility_card(work, desk, "/release")
        if not mistakes:
            _solutions(work, desk, query)


def _again() -> None:
    ui.navigate.to("/release")


def in_words(work: Work) -> str:
    """Say what is asked of the search."""
    models = ", ".join(_model(model) for model in work.models)
    limit = work.max_suppression
    rows = f"{100 * limit:.3g} % of the rows" if isinstance(limit, float) else counted(limit or 0, "row")
    return f"{work.algorithm}: {models}; at most {rows} left out"


def _model(model: Mapping[str, Any]) -> str:
    numbers = [f"{key.replace('_', ' ')} = {term_words(value)}" for key, value in model.items() if key != "model"]
    return f"{model['model']} ({', '.join(numbers)})"


def _summary(work: Work, desk: Desk) -> None:
    release = work.release
    assert release is not None
    facts, verdict = release.facts, release.verdict
    assert verdict is not None
    with controls.card():
        with controls.box("div", "spread"):
            controls.Words("h2", "The release").style("margin: 0")
            if work.attacked is None:
                controls.button(
                    "Next: try all attacks",
                    lambda: desk.run("Attacking", work.attack, _again),
                    "primary",
                    id="attack-now",
                )
            elif work.is_held_back:
                next_step("Next: see who is found", "/attack")
            else:
                next_step("Next: download", "/download")
        show_verdict(work)
        controls.figures(
            {
                "rows released": f"{facts.released:,}",
                "rows left out": f"{facts.suppressed:,}",
                release.form.nouns: f"{facts.groups:,}",
                "smallest group": f"{facts.smallest_group:,}",
                **_people(facts),
                "precision": f"{release.measures['precision']:.3f}",
            }
        )
        with controls.box("div", "halves"):
            with controls.box("div"):
                if work.attacked is not None:
                    controls.Words("h3", "What attacks found")
                    with controls.box("ul", "checks"):
                        for one in work.attacked.outcomes:
                            controls.Words("li", f"{one.title}: {one.summary}", STATES[one.severity])
                with controls.box("details", open_=not verdict.passed or None).style("margin-top: 12px"):
                    controls.Words("summary", f"What the recount found: {counted(len(verdict.checks), 'check')}")
                    with controls.box("ul", "checks"):
                        for check in verdict.checks:
                            state = "pass" if check.passed else "fail"
                            controls.Words("li", f"{check.name}: {check.detail}", state)
            with controls.box("div"):
                controls.Words("h3", "Levels")
                _levels(facts)
                controls.Words("h3", "Measures")
                controls.table(
                    ["measure", "figure"],
                    [[name, figure(value)] for name, value in release.measures.items()],
                    caption="Measures of the release",
                    numbers=[1],
                )


def _people(facts: Facts) -> dict[str, str]:
    """Return what the release says of its people, where those have several rows."""
    people = facts.people
    if people is None:
        return {}
    profile = people.smallest_profile
    linked = {} if profile is None else {"people with one profile, at least": f"{profile:,}"}
    return linked | {
        "people released": f"{people.released:,}",
        "people who lost rows": f"{people.lost_rows:,}",
        "people in the smallest group": f"{people.smallest_group:,}",
    }


def _levels(facts: Facts) -> None:
    heights, names = facts.heights, facts.level_names or {}
    if facts.not_protected is not None:
        controls.notice("note", facts.not_protected)
    elif facts.node is None:
        rows = [[name, f"{level:.2f} of {heights[name]}"] for name, level in facts.levels.items()]
        controls.table(["column", "average level"], rows, caption="Average level of each column", numbers=[1])
    else:
        rows = [[name, f"{level} of {heights[name]}", names[name]] for name, level in facts.node.items()]
        controls.table(["column", "level", "which is"], rows, caption="Level of each column")


def _before_and_after(work: Work) -> None:
    with controls.card("Before and after"):
        controls.Words(
            "p",
            "The first rows of each. A release has its rows in a new random order, so rows side by side are not the "
            "same people.",
            "quiet small",
        )
        with controls.box("div", "halves"):
            with controls.box("div"):
                for name, (head, rows) in work.heads.items():
                    controls.Words("h3", f"Before: {Path(work.tables[name]).name}")
                    controls.table(head, rows[:FIRST_ROWS], caption=f"The private table {name}", tall=True)
            with controls.box("div"):
                for name, (columns, all_cells) in work.released_heads.items():
                    cells = all_cells[:FIRST_ROWS]
                    controls.Words("h3", "After" if name == "table" else f"After: {name}")
                    marked = {
                        (at, place): "changed"
                        for at in range(len(cells))
                        for place, column in enumerate(columns)
                        if _is_generalized(work, work.form.full_name(name, column))
                    }
                    controls.table(columns, cells, caption=f"The released table {name}", marked=marked, tall=True)


def _is_generalized(work: Work, column: str) -> bool:
    """Return whether a released column shows labels in place of its values."""
    if work.release is None or column not in work.release.policy.quasi:
        return False
    node = work.release.node
    return node is None or node.get(column, 0) > 0


def _solutions(work: Work, desk: Desk, query: Mapping[str, str]) -> None:
    measure = query.get("measure", "precision")
    if measure not in MEASURES:
        measure = "precision"
    with controls.card("Other solutions"):
        controls.Words(
            "p",
            "Every combination of levels that satisfies the policy and of which no column can stay lower. Pick the one "
            "that keeps what your recipients need.",
            "quiet",
        )
        with controls.box("div", "row-line"):
            controls.button(
                "Find all solutions", lambda: desk.run("Finding all solutions", work.explore, _again), id="explore"
            )
            if work.solutions:
                controls.choice(
                    "Coloured by",
                    list(MEASURES),
                    measure,
                    lambda name: ui.navigate.to(f"/release?measure={name}#solutions"),
                )
        if work.solutions:
            if not work.is_explored("solutions"):
                controls.notice("note", "The columns or models have changed since; find them again.")
            _draw_lattice(work, desk, measure)
            _list(work, desk, measure)


def _draw_lattice(work: Work, desk: Desk, measure: str) -> None:
    if not work.is_explored("solutions"):
        return

    def apply(node: dict[str, int]) -> None:
        desk.run("Applying a solution", lambda watch: work.apply(node, watch), _again)

    now = work.release.node if work.release is not None else None
    outline = lattice_chart.Outline.of(_sort_solutions(work, measure))
    lattice_chart.draw_outline(outline, now, measure, apply)


def _sort_solutions(work: Work, measure: str) -> list[Solution]:
    """Return the solutions, the best by a measure first."""
    return sorted(work.solutions, key=lambda one: one.measures[measure], reverse=measure in HIGHER_IS_BETTER)


def _list(work: Work, desk: Desk, measure: str) -> None:
    ordered = _sort_solutions(work, measure)
    figures = [one.measures[measure] for one in ordered]
    now = dict(work.release.node) if work.release is not None and work.release.node is not None else None
    names = list(ordered[0].node)
    with controls.box("div", "scroll tall", id="solutions").style("margin-top: 12px"), controls.box("table", "grid"):
        controls.Words("caption", "Solutions", "visually-hidden")
        with controls.box("thead"), controls.box("tr"):
            for name in (*names, "left out", "groups", measure, ""):
                controls.Words("th", name, scope="col")
        with controls.box("tbody"):
            for solution in ordered[:MOST_SOLUTIONS]:
                node = dict(solution.node)
                with controls.box("tr", "chosen" if node == now else ""):
                    for name in names:
                        controls.Words("td", f"{node[name]} of {solution.heights[name]}", "cell")
                    controls.Words("td", f"{solution.suppressed:,}")
                    controls.Words("td", f"{solution.groups:,}")
                    _quality_bar(solution.measures[measure], figures)
                    with controls.box("td"):
                        if node == now:
                            controls.Words("span", "released", "quiet")
                        else:
                            _pick(work, desk, node)
    if len(ordered) > MOST_SOLUTIONS:
        controls.Words("p", f"The best {MOST_SOLUTIONS} of {len(ordered):,} are shown.", "quiet small")


def _pick(work: Work, desk: Desk, node: dict[str, int]) -> None:
    levels = ", ".join(f"{name} {level}" for name, level in node.items())
    controls.button(
        "Apply",
        lambda: desk.run("Applying a solution", lambda watch: work.apply(node, watch), _again),
        "slim apply",
        aria_label=f"Apply the solution with levels {levels}",
    )


def _quality_bar(value: float, figures: list[float]) -> None:
    """A bar whose length and colour tell how good a solution is among all."""
    best, worst = figures[0], figures[-1]
    share = 1.0 if best == worst else (value - worst) / (best - worst)
    colour = RAMP[min(len(RAMP) - 1, int(share * len(RAMP)))]
    with controls.box("td", "cell"):
        controls.box("span", "bar", aria_hidden="true").style(f"width: {20 + 80 * share:.0f}px; background: {colour}")
        controls.Words("span", figure(value))
