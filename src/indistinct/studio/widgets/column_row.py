"""The row of a column: its role, its values, and what is asked of a quasi column only."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast
from urllib.parse import quote

from nicegui import ui

from indistinct.policy import Role
from indistinct.studio.drafts import KINDS
from indistinct.studio.settings import Choice
from indistinct.studio.widgets import controls
from indistinct.studio.widgets.distributions import Distribution
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
HEADS = ("Chosen", "Column", "Role", "Values", "Distinct", "Missing", "Weight", "Hierarchy", "Why this was suggested")


class Row:
    """The cells of one column; each is changed by itself, so that nobody's next click goes to a cell that was."""

    def __init__(self, work: Work, choice: Choice, told: Callable[[], Any], chosen: Callable[[], Any]) -> None:
        self.work, self.choice, self._told = work, choice, told
        self.is_chosen = False
        self._chosen = chosen
        with controls.box("tr", role="row") as self._line:
            with controls.box("td", role="cell"):
                self._check = controls.check(f"Choose {choice.name}", False, self.choose, bare=True)
            controls.Words("th", choice.name, scope="row", role="rowheader")
            with controls.box("td", role="cell"):
                self._role = controls.choice(
                    f"Role of {choice.name}", list(ROLES), choice.role, self.set_role, bare=True
                )
                self._name = controls.bare_text(
                    f"Name of {choice.name} in the release", choice.rename, self.set_name, placeholder="released as"
                ).style("display: block; width: 114px; margin-top: 5px")
            self._values = controls.box("td", "values", role="cell")
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
