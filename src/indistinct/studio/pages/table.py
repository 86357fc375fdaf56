"""Table: private tables are opened by their paths, dropped in, or taken from the papers; then init's questions."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from nicegui import ui

from indistinct.engine.formats import name_formats
from indistinct.examples import EXAMPLES
from indistinct.showing.words import counted
from indistinct.studio.widgets import controls
from indistinct.studio.widgets.page_frame import Desk, frame, next_step
from indistinct.studio.work import Work

if TYPE_CHECKING:
    from indistinct.pipeline.suggesting import Decision

LEAD = "Everything stays on this machine: the table is read where it lies, and nothing is sent anywhere."
ANOTHER = (
    "Visits beside patients, drugs beside visits: columns that hold keys of another table are found. All are then "
    "released together, and people share all that the tables say of them."
)
QUESTIONS = (
    "Whose row is each, what do others know, what is secret, what must be kept, how small may a group be. Each answer "
    "says what it costs, tried on some rows. What you leave is as it was guessed."
)
OPENING = "Opening the table"


def page(work: Work, query: Mapping[str, str]) -> None:
    """Show the page."""
    with frame(work, "/", "Open a table", LEAD) as desk:
        if work.tables:
            _show_tables(work)
            _questions(work, desk)
            with controls.box("div", "halves"):
                _from_computer(work, desk, "Another table that belongs to it", ANOTHER, "another")
                _policy_file(work, desk)
        with controls.box("div", "cards"):
            title = "Instead: another table" if work.tables else "A table of yours"
            _from_computer(work, desk, title, f"{name_formats()}. By its path it is read where it lies.", "path")
            _by_example(work, desk)
        if not work.tables:
            _policy_file(work, desk)


def _reload() -> None:
    ui.navigate.to("/")


def _from_computer(work: Work, desk: Desk, title: str, words: str, what: str) -> None:
    """Ask for a table by its path or as a file; ``what`` says whether it comes beside those that are open."""
    typed = {"path": ""}

    def take(path: str) -> None:
        given = work.with_another(path) if what == "another" else path
        desk.run(OPENING, lambda watch: work.open(given, watch), _reload)

    def go() -> None:
        take(typed["path"])

    with controls.card(title):
        controls.Words("p", words, "quiet small")
        with controls.box("div", "row-line").style("margin-bottom: 12px"):
            field = controls.text(
                "Path on this machine", "", lambda value: typed.update(path=value), live=True, id=what
            )
            field.on("keydown.enter", go, args=[])
            controls.button("Open", go, "" if work.tables else "primary", id="open" if what == "path" else "add")
        controls.drop_place("Or drop a file of up to 1 GB here, or choose one", take, desk.fail, id=f"{what}-file")


def _by_example(work: Work, desk: Desk) -> None:
    with controls.card("An example"):
        for example in EXAMPLES:
            name = example.name

            def go(name: str = name) -> None:
                desk.run(OPENING, lambda watch: work.open_example(name, watch), _reload)

            with controls.box("div").style("margin-bottom: 10px"):
                controls.button(example.title, go, id=f"example-{name}")
                controls.Words("div", example.source, "quiet small")


def _policy_file(work: Work, desk: Desk) -> None:
    """Take a policy file; of one that describes tables which are not open ask for each of them."""

    async def take(path: str) -> None:
        try:
            text = (await asyncio.to_thread(Path(path).read_bytes)).decode("utf-8-sig")
        except UnicodeDecodeError:
            desk.fail("the policy is not UTF-8 text")
            return
        if desk.do(lambda: work.take_or_await(text)):
            ui.navigate.to("/" if work.awaited else "/columns")

    paths = work.awaited_tables

    def go() -> None:
        desk.run(OPENING, lambda watch: work.open(paths, watch, text=work.awaited), _reload)

    with controls.card("Continue where a policy file ends"):
        if not paths:
            controls.drop_place("Drop a policy file here, or choose one", take, desk.fail, id="policy-file")
            return
        controls.Words("p", f"It describes {counted(len(paths), 'table')}. Where does each of them lie?", "quiet small")
        for name, path in paths.items():
            controls.text(name, path, controls.setter_of(paths, name), live=True, id=f"table-{name}")
        controls.button("Open them", go, "primary", id="open-all")


def _show_tables(work: Work) -> None:
    for place, (name, (head, rows)) in enumerate(work.heads.items()):
        path = work.tables[name]
        with controls.card():
            with controls.box("div", "spread"):
                with controls.box("div"):
                    controls.Words("h2", Path(path).name).style("margin: 0")
                    size = f"{counted(work.sizes[name], 'row')}, {counted(len(head), 'column')}; {path}"
                    controls.Words("p", size, "quiet small").style("margin: 0")
                if not place:
                    next_step("Next: columns", "/columns")
            with controls.box("details", open_=place < 2):
                controls.Words("summary", f"The first {counted(len(rows), 'row')}")
                controls.table(head, rows, caption=f"The first rows of {Path(path).name}", tall=True)


def _questions(work: Work, desk: Desk) -> None:
    """Ask what matters most, as ``init --ask`` does, and say why the policy is as it is."""
    if work.links and not work.reasons:
        return
    with controls.card("Five questions that decide most"):
        if work.reasons:
            with controls.box("details", open_=bool(work.links) or work.reasons[0].startswith("asked")):
                controls.Words("summary", "How the policy came about that was guessed")
                with controls.box("ul", "said"):
                    for reason in work.reasons:
                        controls.Words("li", f"{reason[:1].upper()}{reason[1:]}.", "small")
        if work.links:
            controls.Words("p", "They are asked of one table. Of several look at each column.", "quiet small")
            return
        controls.Words("p", QUESTIONS, "quiet small")
        if not work.decisions:
            title = "Trying what answers cost"
            controls.button("Ask me", lambda: desk.run(title, work.ask, _reload), "primary", id="ask")
            return
        chosen: dict[str, str] = {}
        typed: dict[str, str] = {}
        for decision in work.decisions:
            _question(decision, chosen, typed)

        def go() -> None:
            given = chosen | {asked: text for asked, text in typed.items() if text.strip() and asked != "k"}
            desk.run("Guessing anew", lambda watch: work.answer(given, watch, k=typed.get("k", "")), _reload)

        controls.button("Use these answers", go, "primary", id="answer")


def _question(decision: Decision, chosen: dict[str, str], typed: dict[str, str]) -> None:
    """Ask one question: its ways, each with what it costs, or columns of one's own."""
    options = {
        str(place): way.words + ("" if way.loss is None else f": loses about {100 * way.loss:.0f} %")
        for place, way in enumerate(decision.ways, 1)
    }
    with controls.box("fieldset", "plain question"):
        controls.Words("legend", decision.question)
        for value, words in options.items():
            controls.radio(words, decision.asked, value, controls.setter_of(chosen, decision.asked), is_on=value == "1")
        hint = "another number" if decision.asked == "k" else "or columns, with commas between"
        controls.text(
            hint, "", controls.setter_of(typed, decision.asked), live=True, wide=False, id=f"answer-{decision.asked}"
        )
