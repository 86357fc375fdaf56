"""Table: a private table is opened by its path, dropped in, or taken from the papers."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path

from nicegui import ui

from indistinct.engine.formats import name_formats
from indistinct.examples import EXAMPLES
from indistinct.showing.words import counted
from indistinct.studio.widgets import controls
from indistinct.studio.widgets.page_frame import Desk, frame, next_step
from indistinct.studio.work import Work

LEAD = "Everything stays on this machine: the table is read where it lies, and nothing is sent anywhere."


def page(work: Work, query: Mapping[str, str]) -> None:
    """Show the page."""
    with frame(work, "/", "Open a table", LEAD) as desk:
        with controls.box("div", "cards"):
            _by_path(work, desk)
            _by_upload(work, desk)
            _by_example(work, desk)
        if work.table is not None:
            _show_table(work)
            _earlier_policy(work, desk)


def _by_path(work: Work, desk: Desk) -> None:
    typed = {"path": "" if work.example else work.table or ""}

    def go() -> None:
        desk.run("Opening the table", lambda watch: work.open(typed["path"], watch), _reload)

    with controls.card("By its path"):
        controls.Words("p", f"{name_formats()}. Best for large files.", "quiet small")
        field = controls.text(
            "Path on this machine", typed["path"], lambda value: typed.update(path=value), live=True, id="path"
        )
        field.on("keydown.enter", go, args=[])
        ui.element("div").style("height: 10px")
        controls.button("Open", go, "primary", id="open")


def _by_upload(work: Work, desk: Desk) -> None:
    def take(path: str) -> None:
        desk.run("Opening the table", lambda watch: work.open(path, watch), _reload)

    with controls.card("From this computer"):
        controls.drop_place("Drop a file here, or choose one", take, desk.fail)
        controls.Words(
            "p", "A copy of up to 1 GB lies in a private folder until the studio ends.", "quiet small"
        ).style("margin: 8px 0 0")


def _by_example(work: Work, desk: Desk) -> None:
    with controls.card("An example"):
        for example in EXAMPLES:
            name = example.name

            def go(name: str = name) -> None:
                desk.run("Opening the table", lambda watch: work.open_example(name, watch), _reload)

            with controls.box("div").style("margin-bottom: 10px"):
                controls.button(example.title, go, id=f"example-{name}")
                controls.Words("div", example.source, "quiet small")


def _earlier_policy(work: Work, desk: Desk) -> None:
    async def take(path: str) -> None:
        try:
            text = (await asyncio.to_thread(Path(path).read_bytes)).decode("utf-8-sig")
        except UnicodeDecodeError:
            desk.fail("the policy is not UTF-8 text")
            return
        if desk.do(lambda: work.take_policy(text)):
            ui.navigate.to("/columns")

    with controls.card("Continue where a policy file ends"):
        controls.drop_place("Drop a policy file for this table here, or choose one", take, desk.fail)


def _reload() -> None:
    ui.navigate.to("/")


def _show_table(work: Work) -> None:
    head, rows = work.head
    with controls.card():
        with controls.box("div", "spread"):
            with controls.box("div"):
                controls.Words("h2", work.name)
                controls.Words("p", work.table or "", "quiet small").style("margin: 0")
            next_step("Next: columns", "/columns")
        controls.figures({"rows": f"{work.rows:,}", "columns": len(work.columns)})
        controls.Words("h3", f"The first {counted(len(rows), 'row')}")
        controls.table(head, rows, caption=f"The first rows of {work.name}", tall=True)
