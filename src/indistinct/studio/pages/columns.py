"""Columns: what each column is to the release, suggested with a reason, and changed at will.

A change is shown in the cells that it concerns and nowhere else: whoever goes on choosing meanwhile loses nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, cast
from urllib.parse import quote

from nicegui import ui
from nicegui.element import Element

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
PEOPLE_COUNTED = "People are counted: a group must have enough different people, not only enough rows."
HEADS = ("Column", "Role", "Distinct", "Missing", "Weight", "Hierarchy", "Why this was suggested")


def page(work: Work, query: Mapping[str, str]) -> None:
    """Show the page."""
    with frame(work, "/columns", "What is each column?", LEAD):
        if not needs_table(work):
            _columns(work)


def _columns(work: Work) -> None:
    @ui.refreshable
    def mistakes() -> None:
        for mistake in work.mistakes():
            controls.tell("bad", mistake)

    def show_change() -> None:
        whose.show_change()
        mistakes.refresh()

    with controls.card():
        with controls.box("dl", "legend"):
            for role, meaning in ROLES.items():
                with controls.box("div"):
                    controls.Words("dt", role)
                    controls.Words("dd", meaning)
        _grid(work, show_change)
    with controls.card("Whose row is it?"):
        whose = WhoseRows(work, mistakes.refresh)
    with controls.box("div", "at-bottom"):  # below the rows: above them it would move what is about to be clicked
        mistakes()
        next_step("Accept and continue", "/hierarchies").props("id=accept")


def _grid(work: Work, changed: Callable[[], Any]) -> None:
    with controls.box("div", "scroll"), controls.box("table", "grid narrow", role="table"):
        controls.Words("caption", "The columns and their roles", "visually-hidden")
        with controls.box("thead"), controls.box("tr"):
            for name in HEADS:
                controls.Words("th", name, "number" if name in ("Distinct", "Missing") else "", scope="col")
        with controls.box("tbody"):
            for choice in work.columns.values():
                Row(work, choice, changed)


class Row:
    """The row of a column: its role, and what is asked of a quasi column only."""

    def __init__(self, work: Work, choice: Choice, changed: Callable[[], Any]) -> None:
        self.work, self.choice, self._changed = work, choice, changed
        with controls.box("tr", role="row"):
            controls.Words("th", choice.name, scope="row", role="rowheader")
            with controls.box("td", role="cell"):
                controls.choice(f"Role of {choice.name}", list(ROLES), choice.role, self.set_role, bare=True)
            controls.Words("td", f"{choice.distinct:,}", "number", role="cell", data_head="Distinct")
            controls.Words("td", f"{choice.missing:,}", "number", role="cell", data_head="Missing")
            with controls.box("td", role="cell", data_head="Weight") as self._weight_cell:
                self._weight = controls.bare_number(
                    f"Weight of {choice.name}", f"{choice.weight:g}", self.set_weight, min="0", step="any"
                ).style("width: 64px")
            with controls.box("td", "cell", role="cell"):
                place = f"/hierarchies?column={quote(choice.name)}"
                self._hierarchy = controls.Words("a", "", "link", href=place)
            controls.Words("td", choice.reason, "quiet whole", role="cell")
        self._show_role()

    def set_role(self, role: str) -> None:
        """Decide what the column is."""
        self.work.set_role(self.choice.name, cast("Role", role))
        self._show_role()
        self._changed()

    def set_weight(self, text: str) -> None:
        """Decide how much the column matters; what is no number is refused as a weight of 0 is."""
        self.choice.weight = float(text) if _is_number(text) else 0.0
        self._changed()

    def _show_role(self) -> None:
        kind = next(iter(self.choice.hierarchy or {"keep": True}))
        self._hierarchy.text = KINDS.get(kind, kind)
        is_quasi = self.choice.role == "quasi"
        self._weight.visible = self._hierarchy.visible = is_quasi
        self._weight_cell.classes(remove="blank") if is_quasi else self._weight_cell.classes("blank")


class WhoseRows:
    """Asks which identifiers tell people apart, where somebody may have several rows."""

    def __init__(self, work: Work, changed: Callable[[], Any]) -> None:
        self.work, self._changed = work, changed
        self._lead = controls.Words("p", "", "quiet small").style("margin: 0 0 8px")
        self._checks: dict[str, tuple[Element, Element]] = {}
        for name in work.columns:
            with controls.box("div", "inline") as place:
                told = f"{name} says whose row it is"
                check = controls.check(told, name in work.person, partial(self.set_person, name))
            self._checks[name] = place, check
        with controls.box("div", "inline") as self._one_row_place:
            self._one_row = controls.check(
                "Every row is somebody else's, also where these are equal", work.one_row_per_person, self.say_one_row
            )
        with controls.box("div") as self._counted:
            controls.tell("note", PEOPLE_COUNTED)
        self.show_change()

    def set_person(self, name: str, is_person: bool) -> None:
        """Decide whether a column says whose row it is."""
        self.work.set_person(name, is_person)
        self.show_change()
        self._changed()

    def say_one_row(self, is_so: bool) -> None:
        """Decide that every row is somebody else's."""
        self.work.say_one_row_per_person(is_so)
        self.show_change()
        self._changed()

    def show_change(self) -> None:
        """Show what follows from roles and from what was chosen here."""
        work = self.work
        has_identifier = any(choice.role == "identifier" for choice in work.columns.values())
        self._lead.text = WHOSE_LEAD if has_identifier else NO_IDENTIFIER
        for name, (place, check) in self._checks.items():
            place.visible = work.columns[name].role == "identifier"
            controls.put(check, "checked", name in work.person)
        self._one_row_place.visible = has_identifier
        controls.put(self._one_row, "checked", work.one_row_per_person)
        self._counted.visible = bool(work.person)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
