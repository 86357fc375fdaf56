"""Columns: what each column is to the release, suggested with a reason, and changed at will."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, cast
from urllib.parse import quote

from nicegui import ui

from indistinct.policy import Role
from indistinct.studio import controls
from indistinct.studio.drafts import KINDS
from indistinct.studio.page_frame import frame, needs_table, next_step
from indistinct.studio.settings import Choice
from indistinct.studio.work import Work

LEAD = (
    "Say what each column is. The suggestions come from names and values; a column that nothing is known about is "
    "treated as if others could link by it."
)
ROLES = {
    "identifier": "names people; never released",
    "quasi": "others may know it; generalized",
    "sensitive": "nobody should learn it; released as it is",
    "other": "neither; released as it is",
}
"""What each role means."""
HEADS = ("Column", "Role", "Distinct", "Missing", "Weight", "Hierarchy", "Why this was suggested")


def page(work: Work, query: Mapping[str, str]) -> None:
    """Show the page."""
    with frame(work, "/columns", "What is each column?", LEAD):
        if not needs_table(work):
            _grid(work)


def _grid(work: Work) -> None:
    @ui.refreshable
    def mistakes() -> None:
        for mistake in work.mistakes():
            controls.tell("bad", mistake)

    def redraw() -> None:
        rows.refresh()
        mistakes.refresh()

    @ui.refreshable
    def rows() -> None:
        with controls.box("div", "scroll"), controls.box("table", "grid"):
            controls.Words("caption", "The columns and their roles", "visually-hidden")
            with controls.box("thead"), controls.box("tr"):
                for name in HEADS:
                    controls.Words("th", name, "number" if name in ("Distinct", "Missing") else "", scope="col")
            with controls.box("tbody"):
                for choice in work.columns.values():
                    _row(work, choice, redraw)

    mistakes()
    with controls.card():
        with controls.box("dl", "legend"):
            for role, meaning in ROLES.items():
                with controls.box("div"):
                    controls.Words("dt", role)
                    controls.Words("dd", meaning)
        rows()
    next_step("Accept and continue", "/hierarchies").props("id=accept")


def _row(work: Work, choice: Choice, changed: Callable[[], Any]) -> None:
    def set_role(role: str) -> None:
        work.set_role(choice.name, cast("Role", role))
        changed()

    def set_weight(text: str) -> None:
        choice.weight = float(text) if _is_number(text) else 0.0
        changed()

    with controls.box("tr"):
        controls.Words("th", choice.name, scope="row")
        with controls.box("td"):
            controls.choice(f"Role of {choice.name}", list(ROLES), choice.role, set_role, bare=True)
        controls.Words("td", f"{choice.distinct:,}", "number")
        controls.Words("td", f"{choice.missing:,}", "number")
        with controls.box("td"):
            if choice.role == "quasi":
                weight = controls.box(
                    "input",
                    "control short",
                    type="number",
                    min="0",
                    step="any",
                    value=f"{choice.weight:g}",
                    aria_label=f"Weight of {choice.name}",
                ).style("width: 64px")
                weight.on("change", lambda event: set_weight(event.args), js_handler=controls.SAY)
        with controls.box("td", "cell"):
            if choice.role == "quasi":
                kind = next(iter(choice.hierarchy or {"keep": True}))
                controls.Words("a", KINDS.get(kind, kind), "link", href=f"/hierarchies?column={quote(choice.name)}")
        controls.Words("td", choice.reason, "quiet")


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
