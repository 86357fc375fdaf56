"""Columns: what each column is to the release, suggested with a reason, and changed at will.

A change is shown in the cells that it concerns and nowhere else: whoever goes on choosing meanwhile loses nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from nicegui import ui
from nicegui.element import Element

from indistinct.studio.widgets import controls
from indistinct.studio.widgets.column_grid import ROLES, Grid
from indistinct.studio.widgets.page_frame import Desk, frame, needs_table, next_step
from indistinct.studio.work import Work

LEAD = (
    "Say what each column is. The suggestions come from names and values; a column that nothing is known about is "
    "treated as if others could link by it."
)
WHOSE_LEAD = (
    "If somebody may have several rows, say by which identifiers people are told apart. They are never released as "
    "they are, and models count people instead of rows."
)
NO_IDENTIFIER = (
    "Every row is taken for somebody else. If somebody may have several rows, make the column that names people an "
    "identifier, and choose it here."
)
LINKED_LEAD = (
    "Keys and references stay identifiers, and leave as pseudonyms that join the released tables. To say otherwise, "
    "mend the policy file and hand it in on Table."
)
PEOPLE_COUNTED = "People are counted: a group must have enough different people, not only enough rows."

RELEASED_OF_PEOPLE = {
    "nothing": "nothing: rows of a person cannot be told from others",
    "pseudonym": "a pseudonym: her rows can be followed, and enough people share all of theirs together",
}
"""What a recipient learns of whose row it is."""


def page(work: Work, query: Mapping[str, str]) -> None:
    """Show the page."""
    with frame(work, "/columns", "What is each column?", LEAD) as desk:
        if not needs_table(work):
            _columns(work, desk)


def _links(work: Work) -> None:
    """Show what ties several tables together."""
    controls.Words("p", LINKED_LEAD, "quiet small")
    rows = []
    for name, said in work.links.items():
        goals = [f"{column} → {table}" for column, table in said.get("references", {}).items()]
        person = said.get("person", "")
        rows.append(
            [name, said.get("key", ""), "; ".join(goals), person if isinstance(person, str) else ", ".join(person)]
        )
    heads = ["table", "each row once by", "belongs to a row of", "whose rows, if said here"]
    controls.table(heads, rows, caption="What ties the tables together")


def _columns(work: Work, desk: Desk) -> None:
    @ui.refreshable
    def mistakes() -> None:
        for mistake in work.mistakes():
            controls.notice("bad", mistake)

    def show_change() -> None:
        if not work.links:
            whose.show_change()
        mistakes.refresh()

    with controls.card():
        with controls.box("dl", "legend"):
            for role, meaning in ROLES.items():
                with controls.box("div"):
                    controls.Words("dt", role, f"role-{role}")
                    controls.Words("dd", meaning)
        Grid(work, desk, show_change)
    with controls.card("Whose row is it?"):
        if work.links:
            _links(work)
        else:
            whose = WhoseRows(work, mistakes.refresh)
    with controls.box("div", "at-bottom"):  # below the rows: above them it would move what is about to be clicked
        mistakes()
        next_step("Accept and continue", "/hierarchies").props("id=accept")


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
            controls.notice("note", PEOPLE_COUNTED)
            chosen = "pseudonym" if work.links_rows else "nothing"
            self._release = controls.choice("What is released of it", RELEASED_OF_PEOPLE, chosen, self.set_release)
            self._release.props("id=released-of-people")
        self.show_change()

    def set_person(self, name: str, is_person: bool) -> None:
        """Decide whether a column says whose row it is."""
        self.work.set_person(name, is_person)
        self.show_change()
        self._changed()

    def set_release(self, what: str) -> None:
        """Decide whether the rows of a person are released under her pseudonym."""
        self.work.links_rows = what == "pseudonym"
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
        controls.put(self._release, "value", "pseudonym" if work.links_rows else "nothing")
