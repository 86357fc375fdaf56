"""Ledger: what was released to whom, and whether one more release would undo an earlier one."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from datetime import date
from functools import partial
from typing import Any

from nicegui import ui

from indistinct.errors import IndistinctError, LedgerError
from indistinct.ledger import Linked
from indistinct.ledger.store import add_spending
from indistinct.progress import Watch
from indistinct.showing.words import list_names
from indistinct.studio.widgets import controls
from indistinct.studio.widgets.page_frame import Desk, frame
from indistinct.studio.work import Work

LEAD = (
    "Two releases that are each safe can reveal more together. A ledger remembers what was given to whom, and refuses "
    "what would undo an earlier release."
)
BUDGET = (
    "What all releases of one source may spend together. Such a ledger takes releases under the model "
    "differential-privacy only, and refuses what would spend more."
)
BY_KEYS = "Rows are recognised by the key of their table, or by all their cells where it has none."
NO_KEY = "By all identifiers; if there are none, by the whole row."


def page(work: Work, query: Mapping[str, str]) -> None:
    """Show the page."""
    with frame(work, "/ledger", "What was released before?", LEAD) as desk:
        _which(work, desk)
        if work.ledger_url is not None:
            EntriesCard(work, desk).show()


def _again() -> None:
    ui.navigate.to("/ledger")


def _which(work: Work, desk: Desk) -> None:
    typed = {"url": work.ledger_url or "", "epsilon": "", "delta": ""}

    async def go(is_new: bool) -> None:
        try:
            budget = _budget(typed["epsilon"], typed["delta"]) if is_new else None
            await asyncio.to_thread(work.open_ledger, typed["url"], is_new, budget)
        except IndistinctError as error:
            desk.fail(str(error))
            return
        _again()

    with controls.card(), controls.box("div", "row-line"):
        controls.text(
            "Ledger",
            typed["url"],
            lambda value: typed.update(url=value),
            hint="the path of its file, or postgresql://user@host/database",
            live=True,
            id="ledger-url",
        )
        controls.button("Open", lambda: go(False), "primary", id="open-ledger")
        controls.button("Make a new one", lambda: go(True), id="new-ledger")
        if work.ledger_url is None:
            with controls.box("details"):
                controls.Words("summary", "A new one with a budget of differential privacy")
                controls.Words("p", BUDGET, "quiet small")
                with controls.box("div", "row-line"):
                    for name, letter in (("epsilon", "ε"), ("delta", "δ")):
                        heard = controls.setter_of(typed, name)
                        controls.number(f"{letter} of each source", "", heard, live=True, min="0", step="any", id=name)


def _budget(epsilon: str, delta: str) -> tuple[float, float] | None:
    """Read a budget; None if none was typed."""
    if not epsilon.strip() and not delta.strip():
        return None
    try:
        return float(epsilon), float(delta)
    except ValueError:
        raise LedgerError("a budget needs both numbers: an ε such as 2, and a δ such as 0.00001") from None


class EntriesCard:
    """The entries of a ledger, and a form for the next one."""

    def __init__(self, work: Work, desk: Desk) -> None:
        self.work = work
        self.desk = desk
        self.rows: list[list[Any]] | None = None
        self.typed = {"recipient": "", "purpose": "", "review": ""}
        self.spent: list[str] = []
        self.due: list[int] = []
        self.key: list[str] = []
        self.finding: Linked | None = None

    def show(self) -> None:
        """Show the form and the entries."""
        if self.work.tables and not self.work.mistakes():
            with controls.card("A release to somebody"):
                with controls.box("div", "row-line"):
                    for name, label in (("recipient", "Recipient"), ("purpose", "Purpose"), ("review", "Review on")):
                        kind: dict[str, Any] = {"type": "date"} if name == "review" else {}
                        heard, wide = controls.setter_of(self.typed, name), name == "purpose"
                        controls.text(label, "", heard, live=True, wide=wide, id=name, **kind)
                self._ask_key()
                with controls.box("div", "row-line").style("margin-top: 12px"):
                    controls.button("Check only", self._check, id="check-ledger")
                    controls.button("Release and enter it", self._enter, "primary", id="enter")
                self.result()
        with controls.card("Entries"):
            self.entries()
        ui.timer(0.05, self._load, once=True)

    def _ask_key(self) -> None:
        """Ask by which columns together people are recognised; those of several tables are by their keys."""
        if self.work.links:
            controls.Words("p", BY_KEYS, "quiet small").style("margin: 12px 0 0")
            return
        with controls.box("fieldset", "plain scroll").style("margin-top: 12px; max-height: 220px"):
            controls.Words("legend", "People are recognised by these columns together", "field")
            for name in self.work.columns:
                controls.check(name, False, partial(self._set_key, name))
            self._key_words = controls.Words("p", NO_KEY, "quiet small", aria_live="polite").style("margin: 6px 0 0")

    def _set_key(self, name: str, is_in: bool) -> None:
        chosen = {*self.key, name} if is_in else {*self.key} - {name}
        self.key = [column for column in self.work.columns if column in chosen]
        self._key_words.text = f"By {list_names(self.key)}." if self.key else NO_KEY

    def _check(self) -> None:
        def work(watch: Watch) -> None:
            self.finding = self.work.check_ledger(self.typed["recipient"], self.key or None, watch)

        self.desk.run("Checking", work, self.result.refresh)

    def _enter(self) -> None:
        def work(watch: Watch) -> None:
            said = self.typed
            self.work.enter(said["recipient"], said["purpose"], self.key or None, watch, review=said["review"].strip())

        self.desk.run("Releasing", work, _again)

    @ui.refreshable_method
    def result(self) -> None:
        """Show what a check found."""
        if self.finding is not None:
            reason = self.finding.reason
            with controls.box("div").style("margin-top: 12px"):
                controls.notice("good" if self.finding.passed else "bad", reason[0].upper() + reason[1:] + ".")

    async def _load(self) -> None:
        try:
            found = await asyncio.to_thread(self.work.entries)
        except IndistinctError as error:
            self.desk.fail(str(error))
            found = []
        self.rows = [
            [
                entry.number,
                entry.time[:16].replace("T", " "),
                entry.recipient,
                entry.purpose,
                entry.review or "",
                f"{entry.said.released or 0:,}",
                f"{entry.said.smallest_group or 0:,}",
            ]
            for entry in found
        ]
        budget = self.work.ledger_budget() if found else None
        of = "" if budget is None else f" of {budget}"
        self.spent = [f"Source {name}: {one} spent{of}." for name, one in add_spending(found).items()]
        today = date.today().isoformat()
        self.due = [entry.number for entry in found if entry.review and entry.review <= today]
        self.entries.refresh()

    @ui.refreshable_method
    def entries(self) -> None:
        """Show the entries, the oldest first."""
        if self.rows is None:
            controls.Words("p", "Reading the ledger …", "quiet")
        elif not self.rows:
            controls.Words("p", "Nothing was released yet.", "quiet")
        else:
            heads = ["entry", "when", "recipient", "purpose", "review", "rows", "smallest group"]
            for words in self.spent:
                controls.Words("p", words, "quiet small")
            if self.due:
                numbers = ", ".join(map(str, self.due))
                controls.notice("note", f"To be reviewed: {'entry' if len(self.due) == 1 else 'entries'} {numbers}.")
            controls.table(heads, self.rows, caption="Entries of the ledger", numbers=[0, 5, 6])
