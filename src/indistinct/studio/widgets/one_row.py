"""One row: why it is at risk, by which columns, and what would help; shown to the holder of the table only."""

from __future__ import annotations

from nicegui import ui

from indistinct.disclosure_risk import RowRisk, in_words
from indistinct.hierarchy import label_text
from indistinct.progress import Watch
from indistinct.showing.words import list_names
from indistinct.studio.widgets import controls
from indistinct.studio.widgets.page_frame import Desk
from indistinct.studio.work import Work


class OneRow:
    """Asks for the number of a row, and explains it."""

    def __init__(self, work: Work, desk: Desk) -> None:
        self.work, self.desk = work, desk
        self.number = "1"
        self.found: RowRisk | None = None

    def show(self) -> None:
        """Show the form, and what was found."""
        with controls.card("Why is this row at risk?"):
            controls.Words(
                "p",
                "By the policy as it stands: who shares its cells in the private table, which columns single it out, "
                "and which level of which column would help.",
                "quiet small",
            )
            with controls.box("div", "row-line"):
                controls.number(
                    "Row, from 1", self.number, self._set_number, live=True, min="1", max=str(self.work.rows), id="row"
                )
                controls.button("Explain", self.explain, id="explain")
            self.answer()

    def _set_number(self, text: str) -> None:
        self.number = text

    def explain(self) -> None:
        """Work it out beside the page."""
        text = self.number.strip()
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
