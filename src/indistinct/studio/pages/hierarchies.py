"""Hierarchies: how each quasi column may be generalized, built in a form, with every level shown as it is built."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote

from nicegui import ui

from indistinct.errors import HierarchyError, IndistinctError
from indistinct.showing.words import counted
from indistinct.studio import drafts
from indistinct.studio.drafts import DATE_FORMATS, DATE_LEVELS, KINDS, HierarchyDraft
from indistinct.studio.widgets import controls
from indistinct.studio.widgets.distributions import distributions
from indistinct.studio.widgets.page_frame import Desk, frame, needs_table, next_step
from indistinct.studio.widgets.previews import Preview
from indistinct.studio.work import Work

LEAD = (
    "A hierarchy says what a value is called at each level of generality. The search picks one level for each column, "
    "or labels cell by cell."
)
MOST_TWIGS = 200
"""Trees with more labels are edited as text only."""


def page(work: Work, query: Mapping[str, str]) -> None:
    """Show the page of one column."""
    with frame(work, "/hierarchies", "How may each column be generalized?", LEAD) as desk:
        if needs_table(work):
            return
        names = [name for name, choice in work.columns.items() if choice.role == "quasi"]
        if not names:
            controls.notice("note", "No column is quasi: say under Columns which ones others could know.")
            return
        chosen = query.get("column", names[0])
        column = chosen if chosen in names else names[0]
        with controls.box("nav", "tabs", aria_label="Quasi columns"):
            for name in names:
                current = "page" if name == column else None
                controls.Words("a", name, href=f"/hierarchies?column={quote(name)}", aria_current=current)
        Builder(work, desk, column).show()
        _distribution(work, desk, column)
        following = names[names.index(column) + 1 :]
        with controls.box("div", "row-line"):
            if following:
                controls.link(f"Next column: {following[0]}", f"/hierarchies?column={quote(following[0])}")
            next_step("Next: privacy", "/privacy")


def _distribution(work: Work, desk: Desk, column: str) -> None:
    """Draw how the values of a column are distributed before and, if there is a release, after."""

    async def draw() -> None:
        try:
            found = (await asyncio.to_thread(distributions, work, [column])).get(column)
        except IndistinctError as error:
            desk.fail(str(error))
            return
        with place:
            if found is None:
                controls.Words("p", "It has too many values to be drawn.", "quiet")
            for picture in () if found is None else found.large():
                ui.html(picture, sanitize=False).classes("picture")

    with controls.card("How its values are distributed"):
        place = controls.box("div", "halves")
    ui.timer(0.05, draw, once=True)


class Builder:
    """The form of one column's hierarchy and, beside it, what it makes of the column's values."""

    def __init__(self, work: Work, desk: Desk, column: str) -> None:
        self.work = work
        self.desk = desk
        self.column = column
        self.draft = HierarchyDraft("suppress")
        self.preview: Preview | None = None
        self.mistake = ""
        self._turn = 0
        self._is_loaded = False
        self._known: frozenset[str | None] = frozenset()

    def show(self) -> None:
        """Show the form, and load the values beside it."""
        with controls.box("div", "two"):
            with controls.card(f"Hierarchy of {self.column}"):
                self.form()
            with controls.card("Every level, for the values at hand"):
                self.levels()
        ui.timer(0.05, self._load, once=True)

    async def _load(self) -> None:
        """Read the values; what was decided before fills the form."""
        spec = dict(self.work.columns[self.column].hierarchy or {"keep": True})
        try:
            values = tuple(await asyncio.to_thread(self.work.values, self.column))
        except IndistinctError as error:
            self.desk.fail(str(error))
            values = ()
        self.draft, self._is_loaded = HierarchyDraft.of(spec, values), True
        self._known = frozenset(values)
        self.form.refresh()
        await self.climb_again()

    async def climb_again(self) -> None:
        """Climb the values again; a hierarchy that fits them is taken over at once."""
        self._turn += 1
        turn = self._turn
        try:
            spec = self.draft.spec()
            found: Preview | None = await asyncio.to_thread(self.work.preview, self.column, spec)
            mistake = ""
        except IndistinctError as error:
            found, mistake, spec = None, str(error), {}
        if turn != self._turn:
            return  # something else was written meanwhile
        if found is not None:
            self.work.columns[self.column].hierarchy = spec
        self.preview, self.mistake = found or self.preview, mistake
        self.levels.refresh()

    @ui.refreshable_method
    def form(self) -> None:
        """Show the fields of the kind that is chosen."""
        if not self._is_loaded:
            controls.Words("p", "Reading the values …", "quiet")
            return

        async def set_kind(kind: str) -> None:
            self.draft.kind, self.draft.more = kind, {}
            self.form.refresh()
            await self.climb_again()

        kind = self.draft.kind
        controls.choice("Kind", KINDS if kind in KINDS else {**KINDS, kind: kind}, kind, set_kind)
        with controls.box("div").style("margin-top: 14px"):
            fields: dict[str, Callable[[], None]] = {
                "intervals": self._intervals,
                "top_bottom": self._top_bottom,
                "rounding": lambda: self._numbers("Units to round to"),
                "prefix": self._prefix,
                "dates": self._dates,
                "tree": self._tree,
                "levels": self._csv,
                "suppress": self._suppress,
            }
            fields.get(kind, lambda: None)()

    def _setter_of(self, name: str) -> Callable[[Any], Any]:
        async def heard(value: Any) -> None:
            setattr(self.draft, name, value)
            await self.climb_again()

        return heard

    def _top(self) -> None:
        controls.check("End in a level where everything is *", self.draft.has_top, self._setter_of("has_top"))

    def _numbers(self, label: str, hint: str = "such as 5, 10, 20") -> None:
        controls.text(label, self.draft.numbers, self._setter_of("numbers"), hint=hint, live=True)
        self._top()

    def _intervals(self) -> None:
        self._bounds(
            "Low: values below are one interval",
            "High: values from here on are one interval",
            "such as 18",
            "such as 90",
        )
        self._numbers(
            "Widths, each a multiple of the one before", "such as 5, 10, 20; or cut points: [18, 40, 65], [40]"
        )

    def _top_bottom(self) -> None:
        hint = "one for each level, such as {}; - for none"
        self._bounds(
            "Lowest value that is shown", "Highest value that is shown", hint.format("18, 25"), hint.format("90, 80")
        )
        self._top()

    def _bounds(self, low: str, high: str, low_hint: str, high_hint: str) -> None:
        with controls.box("div", "row-line").style("margin-bottom: 12px"):
            controls.text(low, self.draft.low, self._setter_of("low"), hint=low_hint, live=True, id="low")
            controls.text(high, self.draft.high, self._setter_of("high"), hint=high_hint, live=True, id="high")

    def _prefix(self) -> None:
        with controls.box("div", "row-line"):
            controls.number("Length of a code", self.draft.length, self._setter_of("length"), live=True, min="1")
            controls.text(
                "Characters kept at each level",
                self.draft.kept,
                self._setter_of("kept"),
                hint="such as 4, 3; empty for one fewer each",
                live=True,
                id="prefix-keep",
            )
        self._top()

    def _dates(self) -> None:
        controls.choice(
            "Written as",
            DATE_FORMATS
            | {self.draft.format: DATE_FORMATS.get(self.draft.format, "") or self.draft.format or DATE_FORMATS[""]},
            self.draft.format,
            self._setter_of("format"),
        )
        with controls.box("fieldset").style("border: 0; padding: 0; margin: 12px 0"):
            controls.Words("legend", "Levels", "field")
            for level in DATE_LEVELS:
                controls.check(level, level in self.draft.levels, self._switch_of(level))
        self._top()

    def _switch_of(self, level: str) -> Callable[[bool], Any]:
        async def heard(is_on: bool) -> None:
            others = [one for one in self.draft.levels if one != level]
            self.draft.levels = [*others, level] if is_on else others
            await self.climb_again()

        return heard

    def _suppress(self) -> None:
        controls.text("Label of a suppressed cell", self.draft.label, self._setter_of("label"), live=True)

    def _csv(self) -> None:
        async def take_file(path: str) -> None:
            raw = await asyncio.to_thread(Path(path).read_bytes)
            try:
                self.draft.rows = raw.decode("utf-8-sig")
            except UnicodeDecodeError:
                self.desk.fail("the file is not UTF-8 text")
                return
            self.form.refresh()
            await self.climb_again()

        controls.drop_place("Drop a CSV file here, or choose one", take_file, self.desk.fail)
        ui.element("div").style("height: 12px")
        controls.area(
            "Lines",
            self.draft.rows,
            self._setter_of("rows"),
            hint="a value, then its label at each level; the top last",
        )

    def _tree(self) -> None:
        if len(drafts.paths(self.draft.tree)) <= MOST_TWIGS:
            self.twigs()
        with controls.box("details", open_=len(drafts.paths(self.draft.tree)) > MOST_TWIGS).style("margin-top: 14px"):
            controls.Words("summary", "Edit as text")

            async def take_text(text: str) -> None:
                self.draft.tree = text
                self.twigs.refresh()
                await self.climb_again()

            self.tree_text = controls.area(
                "Labels, each indented below its parent", self.draft.tree, take_text, id="tree-text"
            )

    @ui.refreshable_method
    def twigs(self) -> None:
        """Show the tree, to be dragged about."""
        new = {"label": ""}

        async def add() -> None:
            top = drafts.paths(self.draft.tree)[:1]
            if top:
                await self._replace_tree(drafts.with_label(self.draft.tree, top[0], new["label"]))

        controls.Words(
            "p",
            "Drag a label onto the one that it belongs under; or choose its parent from the list beside it.",
            "quiet small",
        )
        with controls.box("div", "row-line").style("margin-bottom: 12px"):
            field = controls.text(
                "New label, below the top", "", lambda value: new.update(label=value), live=True, id="new-label"
            )
            field.on("keydown.enter", add, args=[])
            controls.button("Add", add, id="add-label")
        try:
            nodes = drafts.read_tree(self.draft.tree)
        except HierarchyError as error:
            controls.notice("bad", str(error))
            return
        ((top, below),) = nodes.items()
        dragged: dict[str, tuple[str, ...]] = {}
        with controls.box("div", "scroll tall"):
            self._branch({top: below}, (), dragged, is_root=True)

    def _branch(self, below: Any, path: tuple[str, ...], dragged: dict[str, tuple[str, ...]], is_root: bool) -> None:
        with controls.box("ul", "tree root" if is_root else "tree"):
            for label in below:
                further = below[label] if isinstance(below, Mapping) else []
                with controls.box("li"):
                    self._twig((*path, label), bool(further) or label not in self._known, dragged)
                    if further:
                        self._branch(further, (*path, label), dragged, is_root=False)

    def _twig(self, path: tuple[str, ...], is_label: bool, dragged: dict[str, tuple[str, ...]]) -> None:
        def lift() -> None:
            dragged["path"] = path

        async def drop() -> None:
            if "path" in dragged:
                await self._replace_tree(drafts.move_label(self.draft.tree, dragged.pop("path"), path))

        async def choose(goal: str) -> None:
            parents = drafts.paths(self.draft.tree)
            await self._replace_tree(drafts.move_label(self.draft.tree, path, parents[int(goal)]))

        twig = controls.box("span", "twig label" if is_label else "twig", draggable="true", data_label=path[-1])
        with twig:
            controls.Words("span", path[-1])
        twig.on("dragstart", lift, js_handler="(e) => { e.dataTransfer.setData('text/plain', ''); emit(); }")
        twig.on("dragover", js_handler="(e) => { e.preventDefault(); e.currentTarget.classList.add('over'); }")
        twig.on("dragleave", js_handler="(e) => e.currentTarget.classList.remove('over')")
        twig.on(
            "drop", drop, js_handler="(e) => { e.preventDefault(); e.currentTarget.classList.remove('over'); emit(); }"
        )
        if len(path) > 1:
            self._parents(path, choose)
        if is_label and len(path) > 1:

            async def remove() -> None:
                await self._replace_tree(drafts.without_label(self.draft.tree, path))

            controls.button("Remove", remove, "plain slim", aria_label=f"Remove {path[-1]}")

    def _parents(self, path: tuple[str, ...], choose: Callable[[str], Any]) -> None:
        """Offer the labels that something can stand under."""
        lines = drafts.paths(self.draft.tree)
        offered = {
            str(place): "under " + line[-1]
            for place, line in enumerate(lines)
            if (line[-1] not in self._known or len(line) == 1) and line[: len(path)] != path
        }
        if len(offered) > 1:
            now = str(lines.index(path[:-1]))
            made = controls.choice(f"Parent of {path[-1]}", offered, now, choose, bare=True)
            made.style("margin-left: 8px; min-height: 26px; padding: 0 6px; font-size: 12.5px")

    async def _replace_tree(self, text: str) -> None:
        if text == self.draft.tree:
            return
        self.draft.tree = text
        self.tree_text.props["value"] = text
        self.tree_text.update()
        self.twigs.refresh()
        await self.climb_again()

    @ui.refreshable_method
    def levels(self) -> None:
        """Show some values at every level."""
        if self.mistake:
            controls.notice("bad", f"Not taken over yet: {self.mistake}")
        preview = self.preview
        if preview is None:
            if not self.mistake:
                controls.Words("p", "Reading the values …", "quiet")
            return
        heads = ["shown as", *(f"{place}: {name}" for place, name in enumerate(preview.level_names))]
        cells = [["(missing)" if cell is None else cell for cell in row] for row in preview.rows]
        rows = [[reason, *row] for reason, row in zip(preview.reasons, cells, strict=True)]
        changed = {
            (at, place + 1): "changed"
            for at, row in enumerate(cells)
            for place in range(1, len(row))
            if row[place] != row[place - 1]
        } | {(at, 0): "quiet" for at in range(len(rows))}
        controls.table(heads, rows, caption=f"Values of {self.column} at every level", marked=changed)
        counts = " → ".join(f"{count:,}" for count in preview.labels)
        controls.Words("p", f"Labels at each level: {counts}", "quiet small").style("margin: 10px 0 0")
        if len(rows) < preview.values:
            controls.Words("p", f"{len(rows)} of {counted(preview.values, 'distinct value')} shown.", "quiet small")
