"""Attack: the release is linked with another table, and sharpened by reasoning, before somebody else does it."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

from nicegui import ui

from indistinct.attacks import AttackRun, LinkReport
from indistinct.attacks.guessing import points
from indistinct.disclosure_risk import RowRisk, Unicity, in_words
from indistinct.errors import IndistinctError
from indistinct.hierarchy import label_text
from indistinct.progress import Watch
from indistinct.showing.words import counted, list_names
from indistinct.studio.widgets import controls
from indistinct.studio.widgets.page_frame import Desk, frame, needs_release
from indistinct.studio.work import External, Work

LEAD = "Try what a recipient could try: drop in a table that names people, such as a voter list, and see who is found."

QUESTIONS = "What regulators ask: can somebody be singled out, linked, or inferred about? The report names the clauses."

KINDS = {"broken": "bad", "something": "note", "nothing": "good"}


def page(work: Work, query: Mapping[str, str]) -> None:
    """Show the page."""
    with frame(work, "/attack", "Could somebody be found?", LEAD) as desk:
        if not needs_release(work):
            _about_release(work, desk)
        if work.tables and not work.mistakes():
            OneRow(work, desk).show()


def _about_release(work: Work, desk: Desk) -> None:
    if work.attacked is not None:
        _outcomes(work.attacked)
    if questions := work.questions():
        _questions(questions)
    with controls.box("div", "halves"):
        _other_table(work, desk)
        with controls.box("div"):
            _risk(work, desk)
            if work.attacked is None:
                _attacks(work, desk)
    if work.external is not None:
        _pairs(work, desk, work.external)
    if work.linked is not None:
        _show_links(work.linked)


def _again() -> None:
    ui.navigate.to("/attack")


def _other_table(work: Work, desk: Desk) -> None:
    typed = {"path": ""}

    async def open_path(path: str) -> None:
        try:
            await asyncio.to_thread(work.open_external, path)
        except IndistinctError as error:
            desk.fail(str(error))
            return
        _again()

    with controls.card("Link with another table"):
        controls.drop_place("Drop a table that names people", open_path, desk.fail)
        with controls.box("div", "row-line").style("margin-top: 12px"):
            controls.text("or its path", "", lambda value: typed.update(path=value), live=True, id="external-path")
            controls.button("Open", lambda: open_path(typed["path"]), id="open-external")
        if work.example is not None:
            voters = work.example_files(work.example)[2]
            with controls.box("div").style("margin-top: 10px"):
                controls.button("Use the example's voter list", lambda: open_path(str(voters)), "slim", id="voters")


def _risk(work: Work, desk: Desk) -> None:
    with controls.card("Risk before and after"):
        if work.risks is None:
            controls.Words("p", "How many people stand alone, and how surely somebody guesses right.", "quiet small")
            controls.button("Measure", lambda: desk.run("Measuring risk", work.measure_risk, _again), id="measure")
            return
        before, after = work.risks
        controls.table(
            ["by the quasi columns", "before", "after"],
            [
                ["people who stand alone", f"{before.uniques:,}", f"{after.uniques:,}"],
                ["highest risk", f"{before.prosecutor.highest:.1%}", f"{after.prosecutor.highest:.1%}"],
                ["average risk", f"{before.prosecutor.average:.1%}", f"{after.prosecutor.average:.1%}"],
            ],
            caption="Risk before and after",
            numbers=[1, 2],
        )
        for one in (*before.unique, *before.nearly_unique)[:3]:
            told = f"Before, {one.share:.0%} of the {before.noun} stand alone by {' and '.join(one.columns)}."
            controls.Words("p", told, "quiet small").style("margin: 8px 0 0")
        for note in after.notes:
            controls.Words("p", f"After: {note}.", "quiet small").style("margin: 8px 0 0")
        if after.unicity is not None:
            _unicity(after.unicity)


def _unicity(found: Unicity) -> None:
    """Show how many released rows stand alone by any few of their cells."""
    controls.Words("h3", "Whoever knows a few released cells")
    controls.table(
        ["cells known", "rows alone", "by the worst columns"],
        [[str(one.cells), f"{one.mean:.1%}", f"{one.worst:.1%}"] for one in found.known],
        caption="Rows that stand alone by any few of the cells that are released, sensitive and other columns included",
        numbers=[0, 1, 2],
    )


def _questions(rows: Sequence[Mapping[str, Any]]) -> None:
    """Show the three questions of regulators, as the report has them."""
    with controls.card("Three questions"):
        controls.Words("p", QUESTIONS, "quiet small", id="questions")
        for one in rows:
            controls.Words("h3", f"{one['question'][0].upper()}{one['question'][1:]}")
            if "rate" in one:
                low, high = one["interval"]
                told = f"{one['rate']:.1%}, its control {one['control']:.1%}; difference {points(one['difference'])} "
                controls.Words("p", f"{told}({points(low)} to {points(high)}) points").style("margin: 0")
            remains = f" What remains: {one['remains']}." if one["remains"] else ""
            measured = f"{one['measured'][0].upper()}{one['measured'][1:]}."
            controls.Words("p", f"{measured}{remains}", "quiet small").style("margin: 4px 0 0")


def _attacks(work: Work, desk: Desk) -> None:
    with controls.card("What the release tells by itself"):
        controls.Words("p", f"{'; '.join(work.attack_titles())}.", "quiet small")
        controls.button("Try all attacks", lambda: desk.run("Attacking", work.attack, _again), id="attack")


def _outcomes(found: AttackRun) -> None:
    with controls.card("What the release tells by itself"):
        for outcome in found.outcomes:
            controls.Words("h3", outcome.title)
            controls.notice(KINDS[outcome.severity], outcome.summary[0].upper() + outcome.summary[1:] + ".")
            if outcome.findings or outcome.meaning:
                with controls.box("details"):
                    controls.Words("summary", "What was found, and what helps")
                    meaning = [outcome.meaning[0].upper() + outcome.meaning[1:] + "."] if outcome.meaning else []
                    for words in (*outcome.findings[:5], *meaning, *outcome.advice):
                        controls.Words("p", words, "small").style("margin: 6px 0 0")
        for left_out in found.left_out:
            controls.Words("p", f"Not run: {left_out}.", "quiet small").style("margin: 6px 0 0")


def _pairs(work: Work, desk: Desk, external: External) -> None:
    assert work.release is not None
    suggested = work.suggested_pairs()
    pairs = {name: suggested.get(name, "") for name in work.release.policy.quasi}
    shown = {"column": next((name for name in external.columns if "name" in name.casefold()), "")}

    def go() -> None:
        on = {ours: theirs for ours, theirs in pairs.items() if theirs}
        show = [shown["column"]] if shown["column"] else []
        desk.run("Linking", lambda watch: work.link(on, show, watch), _again)

    rows = counted(external.rows, "person", "people")
    with controls.card(f"{rows} in {external.path.rpartition('/')[2]}"):
        controls.Words("p", "Which columns say the same?", "quiet small")
        with controls.box("div", "row-line"):
            options = {"": "not there", **{name: name for name in external.columns}}
            for ours in pairs:
                controls.choice(ours, options, pairs[ours], controls.setter_of(pairs, ours))
            controls.choice(
                "Show of the people found",
                {"": "only the row's number", **{name: name for name in external.columns}},
                shown["column"],
                lambda name: shown.update(column=name),
            )
            controls.button("Link", go, "primary", id="link")


def _show_links(report: LinkReport) -> None:
    with controls.card("What the linking found"):
        controls.notice(KINDS[report.severity], report.summary[0].upper() + report.summary[1:] + ".")
        controls.figures(
            {
                f"{report.unit}s linked to one person": f"{report.one_to_one:,}",
                f"{report.unit}s that fit one person": f"{report.unique_rows:,}",
                f"people who fit one {report.unit}": f"{report.unique_people:,}",
                "right guesses expected": f"{report.expected_matches:.3g}",
            }
        )
        with controls.box("div", "halves"):
            with controls.box("div"):
                controls.Words("h3", "How many fit")
                fit = report.distributions()
                controls.table(
                    list(fit.heads),
                    [list(row) for row in fit.rows],
                    caption="How many candidates rows and people have",
                    numbers=[1, 2],
                )
            with controls.box("div"):
                controls.Words("h3", "Worst first")
                for said in report.sentences[:6]:
                    controls.Words("p", said, "small").style("margin: 0 0 6px")
        controls.Words("p", report.scope, "quiet small").style("margin: 12px 0 0")


class OneRow:
    """Asks for the number of a row, and explains it."""

    def __init__(self, work: Work, desk: Desk) -> None:
        self.work, self.desk = work, desk
        self.typed = {"row": "1"}
        self.found: RowRisk | None = None

    def show(self) -> None:
        """Show the form, and what was found."""
        with controls.card("Why is this row at risk?"):
            if refusal := self.work.refusal("risk of a row"):
                controls.Words("p", refusal, "quiet")
                return
            controls.Words(
                "p",
                "By the policy as it stands: who shares its cells in the private table, which columns single it out, "
                "and which level of which column would help.",
                "quiet small",
            )
            with controls.box("div", "row-line"):
                controls.number(
                    "Row, from 1",
                    "1",
                    controls.setter_of(self.typed, "row"),
                    live=True,
                    min="1",
                    max=str(self.work.rows),
                    id="row",
                )
                controls.button("Explain", self.explain, id="explain")
            self.answer()

    def explain(self) -> None:
        """Work it out beside the page."""
        text = self.typed["row"].strip()
        if not text.isdecimal():
            self.desk.fail("write the number of a row, from 1")
            return

        def work(watch: Watch) -> None:
            self.found = self.work.explain_row(int(text))

        self.desk.run("Explaining the row", work, self.answer.refresh)

    @ui.refreshable_method
    def answer(self) -> None:
        """Show why, and what would help."""
        found = self.found
        if found is None:
            return
        first, *_ = in_words(found)
        with controls.box("div").style("margin-top: 14px"):
            controls.notice("bad" if found.is_at_risk else "good", first[0].upper() + first[1:] + ".")
        shared = f"{found.noun} that share it"
        with controls.box("div", "halves"):
            with controls.box("div"):
                controls.Words("h3", "Its cells")
                cells = [[name, label_text(cell), f"{found.shares[name]:,}"] for name, cell in found.cells.items()]
                controls.table(["column", "cell", shared], cells, caption="The cells of the row", numbers=[2])
            if found.singled_out_by:
                with controls.box("div"):
                    controls.Words("h3", "What singles it out")
                    sets = [[list_names(one.columns), f"{one.size:,}"] for one in found.singled_out_by]
                    controls.table(["columns", shared], sets, caption="Smallest sets of columns", numbers=[1])
        if found.steps or found.remedies:
            controls.Words("h3", "What would help")
            steps = [
                [f"{step.column}", f"{step.level}: {step.level_name}", label_text(step.label), f"{step.size:,}"]
                for step in found.steps
            ]
            steps += [
                [
                    list_names([step.column for step in remedy.steps]),
                    list_names([f"{step.level}: {step.level_name}" for step in remedy.steps]),
                    list_names([label_text(step.label) for step in remedy.steps]),
                    f"{remedy.size:,}",
                ]
                for remedy in found.remedies
                if len(remedy.steps) > 1
            ]
            controls.table(["column", "at level", "the cell becomes", shared], steps, caption="Remedies", numbers=[3])
        for note in found.notes:
            controls.notice("note", note[0].upper() + note[1:] + ".")
