"""Controls: labelled native inputs, buttons and tables, which every keyboard and screen reader knows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, MutableMapping, Sequence
from contextlib import nullcontext
from html import escape
from importlib.resources import files
from typing import Any, TypeVar

from nicegui import ui
from nicegui.element import Element
from nicegui.elements.mixins.text_element import TextElement
from nicegui.events import GenericEventArguments

PALETTE = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#5b5b5b")
"""Colours that colour-blind people can tell apart: after Okabe and Ito, Color Universal Design, 2008."""
RAMP = ("#fde8d2", "#f6c89f", "#c9c3d6", "#8fb4d9", "#4f8fc4", "#0b5c99")
"""From much lost to little lost; it grows darker as well, so that no hue is needed to read it."""
CSS = (files(__package__) / "page.css").read_text("utf-8")
"""The look of the studio: one accent, contrast of WCAG AA."""
SCRIPT = (files(__package__) / "page.js").read_text("utf-8")
Value = TypeVar("Value")
OnChange = Callable[[Any], Any]
"""Called with what was chosen or written."""

# When the browser draws an element anew, what was typed meanwhile must stand in its own copy of the element.
KEEP = "(e) => { element.props.value = e.target.value; }"
SAY = "(e) => { element.props.value = e.target.value; emit(e.target.value); }"
SAY_CHECKED = "(e) => { element.props.checked = e.target.checked; emit(e.target.checked); }"


class Words(TextElement):
    """An element of any tag with a text."""

    def __init__(self, tag: str, text: str = "", classes: str = "", **attributes: Any) -> None:
        super().__init__(tag=tag, text=text)
        self.classes(classes)
        _describe(self, attributes)


def box(tag: str = "div", classes: str = "", **attributes: Any) -> Element:
    """An element that others stand in."""
    made = ui.element(tag).classes(classes)
    _describe(made, attributes)
    return made


def _describe(element: Element, attributes: Mapping[str, Any]) -> None:
    """Set attributes; ``aria_label`` is written ``aria-label``, and what is None or False is left out."""
    given = {name.rstrip("_").replace("_", "-"): value for name, value in attributes.items()}
    for name, value in given.items():
        if value is not None and value is not False:
            element.props[name] = value


def card(title: str | None = None, classes: str = "card") -> Element:
    """A section with a heading, on white."""
    made = box("section", classes)
    if title:
        with made:
            Words("h2", title)
    return made


def notice(kind: str, text: str) -> None:
    """A sentence that stands out: ``good``, ``bad`` or ``note``."""
    Words("div", text, f"told {kind}", role="alert" if kind == "bad" else "status")


def button(text: str, on_click: Callable[[], Any], kind: str = "", **attributes: Any) -> Element:
    """A button: ``primary``, ``plain``, ``slim`` or usual."""
    made = Words("button", text, f"button {kind}", type="button", **attributes)
    made.on("click", lambda: on_click(), js_handler="() => emit()")
    return made


def link(text: str, to: str, kind: str = "", **attributes: Any) -> Element:
    """A link that looks like a button."""
    return Words("a", text, f"button {kind}", href=to, **attributes)


def hold(element: Element, name: str, value: Any) -> None:
    """Note what the browser already shows, so that no later change of the element takes it back."""
    with element.props.suspend_updates():
        element.props[name] = value


def put(element: Element, name: str, value: Any) -> None:
    """Show a value in the browser, if it is not shown already."""
    if element.props.get(name) != value:
        element.props[name] = value


def _field(label: str, hint: str, is_wide: bool) -> Element:
    made = box("label", "field wide" if is_wide else "field")
    with made:
        Words("span", label)
        if hint:
            Words("span", hint, "hint")
    return made


def text(
    label: str,
    value: str,
    on_change: OnChange,
    *,
    hint: str = "",
    wide: bool = True,
    live: bool = False,
    bare: bool = False,
    **attributes: Any,
) -> Element:
    """A line of text; ``live`` reports every keystroke. ``bare`` has its label for screen readers only."""
    said = {"type": "text", "autocomplete": "off", **attributes}
    if bare:
        return _input("input", value, on_change, live, {"aria_label": label, **said})
    with _field(label, hint, wide):
        return _input("input", value, on_change, live, said)


def number(label: str, value: float | str, on_change: OnChange, *, bare: bool = False, **more: Any) -> Element:
    """A number; what is reported is a text, since people also clear the field."""
    made = text(label, str(value), on_change, wide=False, bare=bare, **{"type": "number", **more})
    return made.classes("short")


def area(label: str, value: str, on_change: OnChange, *, hint: str = "", **attributes: Any) -> Element:
    """Several lines of text, reported as they are written."""
    with _field(label, hint, True):
        return _input("textarea", value, on_change, True, {"spellcheck": "false", **attributes})


def _input(tag: str, value: str, on_change: OnChange, live: bool, attributes: Mapping[str, Any]) -> Element:
    made = box(tag, "control", value=value, **attributes)
    if live:
        made.on("input", _hearing(made, on_change), js_handler=SAY)
    else:
        made.on("input", js_handler=KEEP)
        made.on("change", _hearing(made, on_change), js_handler=SAY)
    return made


def _hearing(element: Element, on_change: OnChange, name: str = "value") -> Callable[[GenericEventArguments], Any]:
    """Return what hears of a change, and notes that the browser shows it already."""

    def heard(event: GenericEventArguments) -> Any:
        hold(element, name, event.args)
        return on_change(event.args)

    return heard


def setter_of(said: MutableMapping[str, Value], name: str) -> Callable[[Value], None]:
    """Return what notes a change under a name."""
    return lambda value: said.update({name: value})


def choice(
    label: str, options: Mapping[str, str] | Sequence[str], value: str, on_change: OnChange, *, bare: bool = False
) -> Element:
    """One of several options; ``bare`` has its label for screen readers only, as in a table."""
    named = options if isinstance(options, Mapping) else {option: option for option in options}
    with nullcontext() if bare else _field(label, "", False):
        made = box("select", "control", value=value, aria_label=label if bare else None)
    with made:
        for option, name in named.items():
            Words("option", name, value=option)
    made.on("change", _hearing(made, on_change), js_handler=SAY)
    return made


def check(label: str, value: bool, on_change: OnChange, *, bare: bool = False) -> Element:
    """Something that is so or not; ``bare`` has its label for screen readers only, as in a table."""
    with box("label", "check"):
        made = box("input", type="checkbox")
        made.props["checked"] = value
        Words("span", label, "visually-hidden" if bare else "")
    made.on("change", _hearing(made, on_change, "checked"), js_handler=SAY_CHECKED)
    return made


def radio(label: str, group: str, value: str, on_change: OnChange, *, is_on: bool = False) -> Element:
    """One way of several to answer a question; the browser knows which of the group is chosen."""
    with box("label", "check"):
        made = box("input", type="radio", name=group, value=value, checked=is_on or None)
        Words("span", label)
    made.on("change", lambda event: on_change(event.args), js_handler="(e) => emit(e.target.value)")
    return made


def slider(label: str, most: int, value: int, on_change: OnChange) -> Element:
    """A position from 0 to ``most``, told while it is dragged."""
    with _field(label, "", True):
        made = box("input", type="range", min="0", max=str(most), step="1", value=str(value))
    made.on("input", lambda event: on_change(int(event.args)), js_handler=SAY, throttle=0.1)
    return made


def drop_place(label: str, take: Callable[[str], Any], fail: Callable[[str], object], **attributes: Any) -> None:
    """A place to drop a file, or to choose one; ``take`` gets its path in the private folder, ``fail`` why not."""
    send = "(file) => studioUpload(file, emit)"

    def hear(event: GenericEventArguments) -> Any:
        error = event.args.get("error")
        return take(str(event.args["path"])) if error is None else fail(str(error))

    with box("label", "drop") as place:
        Words("span", label)
        chosen = box("input", type="file", aria_label=label, **attributes)
    place.on("dragover", js_handler="(e) => e.preventDefault()")
    place.on(
        "drop",
        hear,
        js_handler=f"(e) => {{ e.preventDefault(); ({send})(e.dataTransfer.files[0]); }}",
    )
    chosen.on("change", hear, js_handler=f"(e) => ({send})(e.target.files[0])")


def table(
    head: Sequence[str],
    rows: Iterable[Sequence[object]],
    *,
    caption: str,
    numbers: Sequence[int] = (),
    marked: Mapping[tuple[int, int], str] | None = None,
    tall: bool = False,
) -> None:
    """A table of texts; every cell is escaped. ``marked`` gives cells a class, ``numbers`` are columns to align."""
    aligned = ["number" if place in numbers else "" for place in range(len(head))]
    lines = ["".join(f'<th scope="col" class="{a}">{escape(h)}</th>' for h, a in zip(head, aligned, strict=True))]
    for at, row in enumerate(rows):
        cells = []
        for place, cell in enumerate(row):
            extra = (marked or {}).get((at, place), "")
            cells.append(f'<td class="cell {aligned[place]} {extra}">{escape(str(cell))}</td>')
        lines.append("".join(cells))
    body = "".join(f"<tr>{line}</tr>" for line in lines[1:])
    html = (
        f'<table class="grid"><caption class="visually-hidden">{escape(caption)}</caption>'
        f"<thead><tr>{lines[0]}</tr></thead><tbody>{body}</tbody></table>"
    )
    made = ui.html(html, sanitize=False).classes("scroll tall" if tall else "scroll")
    _describe(made, {"tabindex": "0", "role": "region", "aria_label": caption})


def figures(facts: Mapping[str, object]) -> None:
    """Some numbers, large, with what they are below."""
    with box("div", "figures"):
        for name, value in facts.items():
            with box("div", "figure"):
                Words("b", str(value))
                Words("span", name)


def code(text: str, label: str) -> None:
    """Text to copy."""
    Words("pre", text, "code", tabindex="0", aria_label=label)
