"""Privacy: the models that a release must satisfy, the rows that may be left out, and the algorithm that searches."""

from __future__ import annotations

from collections.abc import Callable, Mapping, MutableMapping
from typing import Any

from nicegui import ui

from indistinct.policy.algorithms import declared_class, options_of, usual_value
from indistinct.registry import ALGORITHMS, MEASURES, MODELS
from indistinct.showing.words import term_words
from indistinct.studio.widgets import controls
from indistinct.studio.widgets.page_frame import frame, needs_table, next_step
from indistinct.studio.work import Work

LEAD = "What must hold for every group of people in the release, and what may be given up for it."


def page(work: Work, query: Mapping[str, str]) -> None:
    """Show the page."""
    with frame(work, "/privacy", "How much protection, at what price?", LEAD):
        if needs_table(work):
            return

        @ui.refreshable
        def mistakes() -> None:
            for mistake in work.mistakes():
                controls.notice("bad", mistake)

        mistakes()
        with controls.box("div", "halves"):
            with controls.card("Privacy models"):
                if work.person:
                    told = f"Counted in people: rows that agree in {' and '.join(work.person)} are one person's."
                    controls.Words("p", told, "quiet small").style("margin: 0 0 8px")
                _models(work, mistakes.refresh)
                if work.links:
                    _knows(work, mistakes.refresh)
            with controls.box("div"):
                with controls.card("Rows that may be left out"):
                    _budget(work, mistakes.refresh)
                with controls.card("Search"):
                    _algorithm(work, mistakes.refresh)
        next_step("Next: context", "/context")


def _models(work: Work, changed: Callable[[], Any]) -> None:
    @ui.refreshable
    def model_list() -> None:
        for place, model in enumerate(work.models):
            _model(work, place, model, changed, model_list.refresh)
        with controls.box("div", "row-line"):
            new = {"name": "l-diversity"}
            controls.choice("Add a model", list(MODELS), new["name"], lambda name: new.update(name=name))
            controls.button("Add", lambda: add(new["name"]))

    def add(name: str) -> None:
        added: dict[str, Any] = {"model": name} | dict(MODELS[name].usual)
        work.models.append(added | ({"population": ""} if MODELS[name].asks_population else {}))
        model_list.refresh()
        changed()

    model_list()


def _knows(work: Work, changed: Callable[[], Any]) -> None:
    """Ask how many events of a person others know; what a policy file says in more detail stays."""
    said = work.more.get("knows", {})
    events = said.get("events") if isinstance(said, Mapping) else None
    controls.Words("h3", "What others know of a person's events")
    if said and not isinstance(events, int):
        controls.Words("p", f"As the policy file says it: knows = {said}.", "quiet small")
        return

    def heard(text: str) -> None:
        work.more.pop("knows", None)
        if text.strip():
            work.more["knows"] = {**said, "events": read_number(text)}
        changed()

    shown: dict[str, Any] = {"step": "1", "min": "1", "placeholder": "all", "id": "knows-events"}
    hint = "k people then share any so many; empty: k people share all of her rows"
    controls.number(
        "So many events, beside her row", "" if events is None else events, heard, hint=hint, live=True, **shown
    )


def _model(
    work: Work, place: int, model: dict[str, Any], changed: Callable[[], Any], redraw: Callable[[], Any]
) -> None:
    known = MODELS[model["model"]]

    def remove() -> None:
        work.models.pop(place)
        redraw()
        changed()

    with controls.box("div").style("border-bottom: 1px solid var(--line); padding-bottom: 12px; margin-bottom: 14px"):
        with controls.box("div", "spread"):
            controls.Words("h3", model["model"]).style("margin: 0")
            controls.button("Remove", remove, "plain slim", aria_label=f"Remove {model['model']}")
        controls.Words("p", known.title, "quiet small").style("margin: 0 0 8px")
        with controls.box("div", "row-line"):
            for key, usual in known.usual.items():
                _number(model, key, key.replace("_", " "), isinstance(usual, int), changed)
            for key, meaning in known.optional.items():
                heard = _setter_or_none(model, key, read_number, changed)
                shown: dict[str, Any] = {"step": "1", "min": "1", "placeholder": "all", "id": f"{model['model']}-{key}"}
                controls.number(meaning, model.get(key, ""), heard, live=True, **shown)
            if "population" in model:
                _population(model, changed)
            if known.asks_sensitive:
                names = [name for name, choice in work.columns.items() if choice.role == "sensitive"]
                options = {"": "every sensitive column", **{name: name for name in names}}
                heard = _setter_or_none(model, "column", str, changed)
                controls.choice("Asks about", options, model.get("column", ""), heard)


def _number(model: dict[str, Any], key: str, label: str, is_whole: bool, changed: Callable[[], Any]) -> None:
    if isinstance(model.get(key), Mapping):  # a limit for each value: a policy file says which
        controls.Words("p", f"{label}: {term_words(model[key])}", "small").style("margin: 0")
        return

    def heard(text: str) -> None:
        model[key] = read_number(text)
        changed()

    step = "1" if is_whole else "any"
    controls.number(label, model.get(key, ""), heard, live=True, step=step, min="0", id=f"{model['model']}-{key}")


def _setter_or_none(
    model: MutableMapping[str, Any], key: str, read: Callable[[str], Any], changed: Callable[[], Any]
) -> Callable[[str], None]:
    """Return what notes a term that may be left out: an empty field takes it out of the model."""

    def heard(text: str) -> None:
        model.pop(key, None)
        if text.strip():
            model[key] = read(text.strip())
        changed()

    return heard


def _population(model: dict[str, Any], changed: Callable[[], Any]) -> None:
    def heard(path: str) -> None:
        model["population"] = path.strip()
        changed()

    controls.text("Table of the population", str(model["population"]), heard, hint="its path", live=True)


def _budget(work: Work, changed: Callable[[], Any]) -> None:
    is_share = not isinstance(work.max_suppression, int)
    form = {"unit": "share" if is_share else "rows"}
    shown = 100 * (work.max_suppression or 0) if is_share else work.max_suppression or 0
    given = {"text": f"{shown:g}"}

    def heard() -> None:
        value = read_number(given["text"])
        if form["unit"] == "share":
            work.max_suppression = value / 100 if isinstance(value, int | float) else value  # type: ignore[assignment]
        else:
            work.max_suppression = value  # type: ignore[assignment]
        changed()

    def set_text(text: str) -> None:
        given["text"] = text
        heard()

    def set_unit(unit: str) -> None:
        form["unit"] = unit
        heard()

    with controls.box("div", "row-line"):
        controls.number("At most", given["text"], set_text, live=True, min="0", step="any", id="max-suppression")
        controls.choice("of", {"share": "percent of the rows", "rows": "rows"}, form["unit"], set_unit)
    controls.Words(
        "p", "Leaving out the few who stand out most keeps everybody else more detailed.", "quiet small"
    ).style("margin: 10px 0 0")


def _algorithm(work: Work, changed: Callable[[], Any]) -> None:
    @ui.refreshable
    def fields() -> None:
        known = {name: declared_class(name) for name in ALGORITHMS}
        offered = {name: one for name, one in known.items() if one.is_search or work.algorithm == name}
        named = {name: f"{name}: {one.title}" if one.title else name for name, one in offered.items()}
        with controls.box("div", "row-line"):
            controls.choice("Algorithm", named, work.algorithm, set_algorithm).style("max-width: 100%")
            options = options_of(known.get(work.algorithm))
            if "measure" in options:
                usual = str(work.options.get("measure", usual_value(known[work.algorithm], "measure")))
                controls.choice("Measure to optimize", list(MEASURES), usual, lambda name: set_option("measure", name))
            if "random_raise" in options:
                hint = "share of labels that chance raises, so that none can be sharpened; 0.1 costs up to 10 %"
                given = str(work.options.get("random_raise", 0))
                controls.number(
                    "Random raise",
                    given,
                    lambda text: set_option("random_raise", read_number(text)),
                    hint=hint,
                    min="0",
                    max="0.5",
                    step="0.05",
                    id="random-raise",
                )

    def set_algorithm(name: str) -> None:
        work.choose_algorithm(name)
        fields.refresh()
        changed()

    def set_option(name: str, value: Any) -> None:
        work.options = {**work.options, name: value}
        changed()

    fields()


def read_number(text: str) -> int | float | str:
    """Return what was written as a number if it is one, else as it is: the policy then says what is wrong.

    >>> read_number("5"), read_number("0.5"), read_number("many")
    (5, 0.5, 'many')
    """
    try:
        return int(text)
    except ValueError:
        pass
    try:
        return float(text)
    except ValueError:
        return text
