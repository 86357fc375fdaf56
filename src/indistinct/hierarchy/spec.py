"""Hierarchies out of the form that a policy file writes: one builder's name and its options."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from indistinct.errors import HierarchyError
from indistinct.hierarchy.hierarchy import Hierarchy, without_false
from indistinct.hierarchy.kinds.dates import dates
from indistinct.hierarchy.kinds.listed import levels, read_levels, tree
from indistinct.hierarchy.kinds.number_labels import intervals, rounding, top_bottom
from indistinct.hierarchy.kinds.text_labels import keep, prefix, suppress


def from_spec(spec: Mapping[str, Any], base: Path) -> Hierarchy:
    """Return the hierarchy that a policy file describes; ``base`` is the folder that relative paths start from.

    The inverse of ``Hierarchy.spec``. ``top = false`` leaves out the suppressed top.

    >>> from_spec({"intervals": [5, 10, 20]}, Path())
    intervals(5, 10, 20)
    >>> from_spec({"prefix": {"length": 5, "keep": [4, 3], "top": False}}, Path())
    prefix(5, keep=[4, 3], top=None)
    """
    if not isinstance(spec, Mapping) or len(spec) != 1:
        raise HierarchyError(f"a hierarchy is one of {', '.join(FORMS)}, such as {{ intervals = [5, 10] }}")
    ((kind, body),) = spec.items()
    if kind not in FORMS:
        raise HierarchyError(f"there is no hierarchy {kind!r}; there are {', '.join(FORMS)}")
    form = FORMS[kind]
    options = _options(kind, form, body)
    source = options.get("source")
    if kind == "levels" and isinstance(source, str):
        return read_levels(base / source, **options)
    return form.build(options)


@dataclass(frozen=True, slots=True)
class WrittenForm:
    """How a kind of hierarchy is written: its options, the one that may stand alone first, and how it is built."""

    option_names: tuple[str, ...]
    build: Callable[[dict[str, Any]], Hierarchy]
    needs_first: bool = True


def _spread_option(builder: Callable[..., Hierarchy], name: str) -> Callable[[dict[str, Any]], Hierarchy]:
    """Return a builder that takes one of its options as positional arguments."""

    def build(options: dict[str, Any]) -> Hierarchy:
        items = options.pop(name, [])
        return builder(*(items if isinstance(items, (list, tuple)) else [items]), **options)

    return build


def _build_catalogued(kind: str) -> Callable[[dict[str, Any]], Hierarchy]:
    """Return the builder of a kind of the catalogue, which is loaded when one is built."""

    def build(options: dict[str, Any]) -> Hierarchy:
        from indistinct.hierarchy.catalogue import known_codes as catalogue

        return _spread_option(getattr(catalogue, kind), "levels")(options)

    return build


CODES = ("icd10", "icd10_cm", "icd9", "isco", "nace", "naics")
CATALOGUED = ("countries", "us_states", "us_zip", "nuts", *CODES, "education", "age")
"""The kinds of the catalogue, in its order."""
FORMS = {
    "levels": WrittenForm(("source", "top", "names", "delimiter"), lambda options: levels(**options)),
    "tree": WrittenForm(("nodes", "top", "names"), lambda options: tree(**options)),
    "intervals": WrittenForm(("widths", "origin", "low", "high", "top"), _spread_option(intervals, "widths")),
    "prefix": WrittenForm(("length", "keep", "mask", "top"), lambda options: prefix(**options), needs_first=False),
    "dates": WrittenForm(("levels", "format", "latest", "top"), _spread_option(dates, "levels")),
    "rounding": WrittenForm(("units", "top"), _spread_option(rounding, "units")),
    "top_bottom": WrittenForm(("bounds", "top"), _spread_option(top_bottom, "bounds")),
    "suppress": WrittenForm(("label",), lambda options: suppress(**options), needs_first=False),
    "keep": WrittenForm((), lambda options: keep(), needs_first=False),
    **{
        kind: WrittenForm(
            ("levels", *(["small"] if kind == "us_zip" else []), "top"),
            _build_catalogued(kind),
            needs_first=False,
        )
        for kind in CATALOGUED
    },
}


def _options(kind: str, form: WrittenForm, body: Any) -> dict[str, Any]:
    """Return the options of a specification by name, with None for False."""
    # A tree has one root, so a mapping with one key is the tree itself.
    is_long = isinstance(body, Mapping) and not (kind == "tree" and len(body) == 1)
    if body is True and not form.needs_first:
        return {}
    if not is_long and not form.option_names:
        raise HierarchyError(f"{kind} has no options; write {kind} = true")
    options = dict(body) if is_long else {form.option_names[0]: body}
    strange = [str(name) for name in options if name not in form.option_names]
    if strange:
        known = ", ".join(form.option_names) or "none"
        raise HierarchyError(f"{kind} has no option {', '.join(map(repr, strange))}; its options: {known}")
    if form.needs_first and form.option_names[0] not in options:
        raise HierarchyError(f"{kind} needs the option {form.option_names[0]!r}")
    return {name: without_false(value) for name, value in options.items()}
