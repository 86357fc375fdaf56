"""The grid of columns: each in its row, changed by itself, or with others by one decision about all of them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, cast
from urllib.parse import quote

from nicegui import ui

from indistinct.errors import IndistinctError
from indistinct.policy import Role
from indistinct.showing.words import counted
from indistinct.studio.drafts import KINDS, HierarchyDraft
from indistinct.studio.settings import Choice, Spec
from indistinct.studio.widgets import controls
from indistinct.studio.widgets.distributions import Distribution, distributions
from indistinct.studio.widgets.page_frame import Desk
from indistinct.studio.work import Work

ROLES = {
    "identifier": "names people; never released",
    "quasi": "others may know it; generalized",
    "sensitive": "nobody should learn it; released as it is",
    "other": "neither; released as it is",
    "drop": "not released, though it names nobody",
}
"""What each role means."""
COLOURED = [f"role-{role}" for role in ROLES]
HEADS = ("Chosen", "Column", "Role", "Values", "Distinct", "Missing", "Weight", "Hierarchy")
AS_COLUMN = "as column "
"""Before the name of a column whose hierarchy others take over."""
BY_HAND = ("tree", "levels", "top_bottom")
"""Kinds that need labels or bounds of their own for each column."""


@dataclass(frozen=True, slots=True)
class Change:
    """What is decided about all chosen columns; nothing stays as it is."""

    role: Role | None = None
    hierarchy: str = ""
    """A kind of hierarchy, or the column whose hierarchy is taken over."""
    weight: float | None = None


def hierarchy_choices(work: Work) -> dict[str, str]:
    """Return the hierarchies that can be set for many columns, with what they are called."""
    kinds = {kind: words for kind, words in KINDS.items() if kind not in BY_HAND}
    quasi = [name for name, choice in work.columns.items() if choice.role == "quasi" and choice.hierarchy]
    return kinds | {f"{AS_COLUMN}{name}": f"as {name} has it" for name in quasi}


def change_columns(work: Work, names: Sequence[str], change: Change) -> list[str]:
    """Decide the same about several columns; return what could not be done for some, which stay as they were."""
    refused = []
    for name in names:
        spec: Spec | None = None
        if work.columns[name].is_tie:
            refused.append(f"{name} stays an identifier: it ties the tables together")
            continue
        if change.hierarchy:
            try:
                spec = fitting_spec(work, name, change.hierarchy)
            except IndistinctError as error:
                refused.append(f"{name} keeps its hierarchy: {error}")
        if change.role is not None:
            work.set_role(name, change.role)
        if spec is not None:
            work.columns[name].hierarchy = spec
        if change.weight is not None:
            work.columns[name].weight = change.weight
    return refused


def fitting_spec(work: Work, name: str, wanted: str) -> Spec:
    """Return a hierarchy of a kind, or like that of another column, for the values of a column; raise if none fits."""
    if wanted.startswith(AS_COLUMN):
        spec: Spec = dict(work.columns[wanted.removeprefix(AS_COLUMN)].hierarchy or {"keep": True})
    else:
        draft = HierarchyDraft.of({"keep": True}, tuple(work.values(name)))
        draft.kind = wanted
        spec = draft.spec()
    work.preview(name, spec)
    return spec


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
                kinds = {"": "as they are", **hierarchy_choices(self.work)}
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
        wanted = Change(
            cast("Role", role) if role else None, self._wanted["hierarchy"], read_weight(weight) if weight else None
        )
        refused = await asyncio.to_thread(change_columns, self.work, names, wanted)
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


class Row:
    """The cells of one column; each is changed by itself, so that nobody's next click goes to a cell that was."""

    def __init__(self, work: Work, choice: Choice, told: Callable[[], Any], chosen: Callable[[], Any]) -> None:
        self.work, self.choice, self._told = work, choice, told
        self.is_chosen = False
        self._chosen = chosen
        with controls.box("tr", "has-why", role="row") as self._line:
            with controls.box("td", role="cell"):
                self._check = controls.check(f"Choose {choice.name}", False, self.choose, bare=True)
            controls.Words("th", choice.name, scope="row", role="rowheader")
            with controls.box("td", role="cell"):
                roles = ["identifier"] if choice.is_tie else list(ROLES)
                self._role = controls.choice(f"Role of {choice.name}", roles, choice.role, self.set_role, bare=True)
                self._name = controls.text(
                    f"Name of {choice.name} in the release",
                    choice.rename,
                    self.set_name,
                    bare=True,
                    placeholder="released as",
                ).style("display: block; width: 114px; margin-top: 5px")
            self._values = controls.box("td", "values", role="cell")
            controls.Words(
                "td", f"{choice.distinct:,}" if choice.distinct else "", "number", role="cell", data_head="Distinct"
            )
            controls.Words(
                "td", f"{choice.missing:,}" if choice.distinct else "", "number", role="cell", data_head="Missing"
            )
            with controls.box("td", role="cell", data_head="Weight") as self._weight_cell:
                self._weight = controls.number(
                    f"Weight of {choice.name}", f"{choice.weight:g}", self.set_weight, bare=True, min="0", step="any"
                ).style("width: 64px")
            with controls.box("td", "cell", role="cell"):
                place = f"/hierarchies?column={quote(choice.name)}"
                self._hierarchy = controls.Words("a", "", "link", href=place)
        with controls.box("tr", "why", role="row"):
            controls.Words("td", f"Why: {choice.reason}", "quiet whole", role="cell", colspan=str(len(HEADS)))
        self.show()

    def choose(self, is_chosen: bool) -> None:
        """Take the column among those that are changed together, or out of them."""
        self.is_chosen = is_chosen
        controls.put(self._check, "checked", is_chosen)
        self._chosen()

    def set_role(self, role: str) -> None:
        """Decide what the column is."""
        self.work.set_role(self.choice.name, cast("Role", role))
        self.show()
        self._told()

    def set_weight(self, text: str) -> None:
        """Decide how much the column matters; what is no number is refused as a weight of 0 is."""
        self.choice.weight = read_weight(text)
        self._told()

    def set_name(self, name: str) -> None:
        """Decide what the column is called in the release; nothing written is its own name."""
        self.choice.rename = name.strip()
        self._told()

    def show(self) -> None:
        """Show what was decided, wherever it was."""
        role, is_quasi = self.choice.role, self.choice.role == "quasi"
        kind = next(iter(self.choice.hierarchy or {"keep": True}))
        self._hierarchy.text = KINDS.get(kind, kind)
        controls.put(self._role, "value", role)
        if read_weight(str(self._weight.props.get("value"))) != self.choice.weight:
            controls.put(self._weight, "value", f"{self.choice.weight:g}")
        self._weight.visible = self._hierarchy.visible = is_quasi
        self._weight_cell.classes(remove="blank") if is_quasi else self._weight_cell.classes("blank")
        controls.put(self._name, "value", self.choice.rename)
        # it keeps its place: rows below must not move under somebody's next click
        self._name.style(f"visibility: {'visible' if self.choice.is_released else 'hidden'}")
        for element in (self._line, self._role):
            element.classes(f"role-{role}", remove=" ".join(one for one in COLOURED if one != f"role-{role}"))

    def show_values(self, found: Distribution) -> None:
        """Draw how the values are distributed."""
        with self._values:
            for when, picture in found.small():
                with controls.box("span", "small-picture"):
                    ui.html(picture, sanitize=False, tag="span")
                    if found.after is not None:
                        controls.Words("span", when, "quiet")


def read_weight(text: str) -> float:
    """Return the weight that was written; 0, which a policy refuses, if it is no number.

    >>> read_weight("2.5"), read_weight("much")
    (2.5, 0.0)
    """
    try:
        return float(text)
    except ValueError:
        return 0.0
