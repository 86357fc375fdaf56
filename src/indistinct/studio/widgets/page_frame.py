"""The frame of every page: the steps on the left, what is running on top, and what went wrong."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from nicegui import ui
from nicegui.element import Element

from indistinct.errors import IndistinctError
from indistinct.progress import Watch
from indistinct.studio.jobs import Job
from indistinct.studio.widgets import controls
from indistinct.studio.widgets.controls import CSS, SCRIPT
from indistinct.studio.work import Work

STEPS = {
    "/": "Table",
    "/columns": "Columns",
    "/hierarchies": "Hierarchies",
    "/privacy": "Privacy",
    "/context": "Context",
    "/release": "Release",
    "/trade-off": "Trade-off",
    "/compare": "Compare",
    "/attack": "Attack",
    "/ledger": "Ledger",
    "/download": "Download",
}
"""The pages by their address, in the order in which a steward goes through them."""


class Desk:
    """A page at work: it runs jobs and shows what is running and what failed."""

    def __init__(self, work: Work) -> None:
        self.work = work
        self._then: Callable[[], Any] | None = None
        self._watched: Job | None = work.job if work.job is not None and work.job.is_running else None
        with controls.box("div", "running", role="status") as self._running:
            self._words = controls.Words("span", "")
            self._bar = controls.box("progress", max="1", aria_label="Progress")
            self._cancel = controls.button("Cancel", self.cancel, "slim")
        self._running.visible = self._watched is not None
        self._error = controls.box("div")
        ui.timer(0.2, self._look)
        if work.job is not None and not work.job.is_running:
            self._tell(work.job)  # it ended before there was a page to see it

    def run(self, title: str, work: Callable[[Watch], Any], then: Callable[[], Any] | None = None) -> None:
        """Start a job; ``then`` is called on this page when it has ended well."""
        try:
            self._watched = self.work.start(title, work)
        except IndistinctError as error:
            self.fail(str(error))
            return
        self._then = then
        self._error.clear()
        self._show()

    def do(self, work: Callable[[], Any]) -> bool:
        """Do something short; show its error, if any, and tell whether it went well."""
        self._error.clear()
        try:
            work()
        except IndistinctError as error:
            self.fail(str(error))
            return False
        return True

    def cancel(self) -> None:
        """Cancel what runs."""
        if self._watched is not None:
            self._watched.cancel()

    def fail(self, message: str) -> None:
        """Show what went wrong; nothing that was decided is lost."""
        self._error.clear()
        with self._error:
            controls.notice("bad", message)

    def clear(self) -> None:
        """Take away what went wrong before."""
        self._error.clear()

    def _tell(self, job: Job) -> None:
        if job.error is not None and not job.is_told:
            self.fail(job.error)
        job.is_told = True

    def _show(self) -> None:
        job = self._watched
        self._running.visible = job is not None
        if job is None:
            return
        self._words.text = "Cancelling …" if job.is_cancelled else f"{job.progress} …"
        if job.share is None:
            self._bar.props.pop("value", None)
        else:
            self._bar.props["value"] = f"{job.share:.3f}"
        self._bar.update()

    def _look(self) -> None:
        """Look how far the job is."""
        job = self._watched
        if job is None:
            return
        if job.is_running:
            self._show()
            return
        self._watched = None
        self._show()
        self._tell(job)
        if job.error is not None:
            return
        if self._then is not None:
            self._then()
        else:
            ui.navigate.reload()  # it was started on another page


@contextmanager
def frame(work: Work, address: str, title: str, lead: str) -> Iterator[Desk]:
    """Lay out a page and give its desk; what is made in the block stands below the title."""
    ui.add_css(CSS)
    ui.add_head_html(f"<script>{SCRIPT}</script>")
    ui.add_body_html('<a class="skip" href="#main">Skip to content</a>')
    ui.page_title(f"{STEPS[address]} · indistinct studio")
    with controls.box("div", "shell"):
        with controls.box("div", "side"):
            _steps(work, address)
        with controls.box("div", "page", id="main", tabindex="-1"):
            controls.Words("h1", title)
            controls.Words("p", lead, "lead")
            yield Desk(work)


def _steps(work: Work, address: str) -> None:
    with controls.Words("div", "indistinct studio", "brand"):
        controls.Words("small", work.name or "no table open")
    done = _steps_done(work)
    with controls.box("nav", aria_label="Steps"), controls.box("ol"):
        for place, (path, name) in enumerate(STEPS.items(), start=1):
            current = "page" if path == address else None
            with controls.box("li"), controls.box("a", href=path, aria_current=current):
                is_done = path in done
                controls.Words("span", "✓" if is_done else str(place), f"mark {'done' if is_done else ''}")
                controls.Words("span", name)


def _steps_done(work: Work) -> set[str]:
    """Return the steps that have a result."""
    found = {
        "/": bool(work.tables),
        "/release": work.is_current,
        "/trade-off": work.frontier is not None and work.is_explored("frontier"),
        "/compare": work.comparison is not None and work.is_explored("comparison"),
        "/attack": work.linked is not None,
    }
    return {path for path, is_done in found.items() if is_done}


def needs_table(work: Work) -> bool:
    """Tell that a table must be opened first, if so."""
    if work.tables:
        return False
    with controls.card():
        controls.Words("p", "Open a table first.")
        controls.link("Go to Table", "/", "primary")
    return True


def needs_release(work: Work) -> bool:
    """Tell that a release must be made first, if so."""
    if needs_table(work):
        return True
    if work.release is not None:
        return False
    with controls.card():
        controls.Words("p", "There is no release yet.")
        controls.link("Go to Release", "/release", "primary")
    return True


def next_step(text: str, address: str) -> Element:
    """A link to what usually comes next."""
    return controls.link(text, address, "primary")


def show_verdict(work: Work) -> None:
    """Say what the recount and the attacks say of the release; what was not tried is said as well."""
    verdict = work.release.verdict if work.release is not None else None
    if verdict is None:
        return
    controls.notice(
        "good" if verdict.passed else "bad",
        "Verified: it was counted again, and every row proved against the original."
        if verdict.passed
        else "It does not verify.",
    )
    if work.attacked is None:
        controls.notice("note", "No attack was tried on it yet: what its groups and labels tell is not known.")
        return
    summary = f"{work.attacked.summary[0].upper()}{work.attacked.summary[1:]}."
    controls.notice({"broken": "bad", "something": "note", "nothing": "good"}[work.attacked.severity], summary)
