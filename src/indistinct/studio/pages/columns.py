"""Columns: what each column is to the release, suggested with a reason, and changed at will."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
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
WHOSE_LEAD = (
    "If somebody may have several rows, say by which identifiers people are told apart. They are never released as "
    "they are, and models count people instead of rows."
)
NO_IDENTIFIER = (
    "Every row is taken for somebody else. If somebody may have several rows, make the column that names people an "
    "identifier, and choose it here."
)
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
        whose.refresh()
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

    @ui.refreshable
    def whose() -> None:
        _whose_rows(work, redraw)

    mistakes()
    with controls.card():
        with controls.box("dl", "legend"):
            for role, meaning in ROLES.items():
                with controls.box("div"):
                    controls.Words("dt", role)
                    controls.Words("dd", meaning)
        rows()
    with controls.card("Whose row is it?"):
        whose()
    next_step("Accept and continue", "/hierarchies").props("id=accept")


def _whose_rows(work: Work, changed: Callable[[], Any]) -> None:
    """Ask which identifiers tell people apart, where somebody may have several rows."""

    def set_person(name: str, is_person: bool) -> None:
        work.set_person(name, is_person)
        changed()

    def say_one_row(is_so: bool) -> None:
        work.say_one_row_per_person(is_so)
        changed()

    names = [name for name, choice in work.columns.items() if choice.role == "identifier"]
    controls.Words("p", WHOSE_LEAD if names else NO_IDENTIFIER, "quiet small").style("margin: 0 0 8px")
    for name in names:
        controls.check(f"{name} says whose row it is", name in work.person, partial(set_person, name))
    if names:
        controls.check("Every row is somebody else's, also where these are equal", work.one_row_per_person, say_one_row)
    if work.person:
        controls.tell("note", "People are counted: a group must have enough different people, not only enough rows.")


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
