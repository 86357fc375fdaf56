"""Columns: what each column is to the release, suggested with a reason, and changed at will.

A change is shown in the cells that it concerns and nowhere else: whoever goes on choosing meanwhile loses nothing.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, cast

from nicegui import ui
from nicegui.element import Element

from indistinct.errors import IndistinctError
from indistinct.policy import Role
from indistinct.showing.words import counted
from indistinct.studio.widgets import bulk, controls
from indistinct.studio.widgets.column_row import HEADS, ROLES, Row, read_weight
from indistinct.studio.widgets.distributions import distributions
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


def _columns(work: Work, desk: Desk) -> None:
    @ui.refreshable
    def mistakes() -> None:
        for mistake in work.mistakes():
            controls.notice("bad", mistake)

    def show_change() -> None:
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
        whose = WhoseRows(work, mistakes.refresh)
    with controls.box("div", "at-bottom"):  # below the rows: above them it would move what is about to be clicked
        mistakes()
        next_step("Accept and continue", "/hierarchies").props("id=accept")


class Grid:
    """All columns, each in its row, and above them what can be decided about several at once."""

    def __init__(self, work: Work, desk: Desk, told: Callable[[], Any]) -> None:
        self.work, self.desk, self._told = work, desk, told
        self._wanted = {"role": "", "hierarchy": "", "weight": ""}
        self._together()
        with controls.box("div", "scroll"), controls.box("table", "grid narrow", role="table"):
            controls.Words("caption", "The columns and their roles", "visually-hidden")
            with controls.box("thead"), controls.box("tr"):
                with controls.box("th", scope="col"):
                    self._all = controls.check("Choose all columns", False, self.choose_all, bare=True)
                for name in HEADS[1:]:
                    controls.Words("th", name, "number" if name in ("Distinct", "Missing") else "", scope="col")
            with controls.box("tbody"):
                self.rows = {name: Row(work, choice, told, self._count) for name, choice in work.columns.items()}
        self._count()
        ui.timer(0.05, self._draw_values, once=True)

    def _together(self) -> None:
        """Ask what several columns are to have in common."""

        def hear(what: str) -> controls.OnChange:
            return lambda value: self._wanted.update({what: value})

        with controls.box("div", "together", role="group", aria_label="Change several columns"):
            self._number = controls.Words("span", "", "small", aria_live="polite")
            with controls.box("div", "row-line"):
                controls.button("Choose all", lambda: self.choose_all(True), "slim", id="choose-all")
                controls.button("None", lambda: self.choose_all(False), "slim plain", aria_label="Choose none")
                roles = {"": "as they are", **{role: role for role in ROLES}}
                controls.choice("Role", roles, "", hear("role")).props("id=all-role")
                kinds = {"": "as they are", **bulk.hierarchy_choices(self.work)}
                controls.choice("Hierarchy", kinds, "", hear("hierarchy")).props("id=all-hierarchy")
                controls.text("Weight", "", hear("weight"), wide=False, live=True, id="all-weight", size=6)
                self._apply = controls.button("Change them", self.change, "primary", id="change-all")

    def choose_all(self, is_so: bool) -> None:
        """Choose every column, or none."""
        for row in self.rows.values():
            if row.is_chosen != is_so:
                row.choose(is_so)
        controls.put(self._all, "checked", is_so)

    def _count(self) -> None:
        number = sum(row.is_chosen for row in self.rows.values())
        self._number.text = (
            f"{counted(number, 'column')} chosen; change them together:"
            if number
            else "Choose columns to change several together."
        )
        controls.put(self._apply, "disabled", not number)

    async def change(self) -> None:
        """Decide the same about all columns that are chosen."""
        names = [name for name, row in self.rows.items() if row.is_chosen]
        role, weight = self._wanted["role"], self._wanted["weight"].strip()
        wanted = bulk.Change(
            cast("Role", role) if role else None, self._wanted["hierarchy"], read_weight(weight) if weight else None
        )
        refused = await asyncio.to_thread(bulk.change_columns, self.work, names, wanted)
        for name in names:
            self.rows[name].show()
        self._told()
        if refused:
            self.desk.fail("\n".join(refused))
        else:
            self.desk.clear()

    async def _draw_values(self) -> None:
        """Draw how the values of each column are distributed, once they are counted."""
        try:
            found = await asyncio.to_thread(distributions, self.work, list(self.rows))
        except IndistinctError as error:
            self.desk.fail(str(error))
            return
        for name, distribution in found.items():
            self.rows[name].show_values(distribution)


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
