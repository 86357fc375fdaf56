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
    builder: Callable[..., Hierarchy]
    needs_first: bool = True
    spread: str = ""
    """The option that the builder takes as positional arguments, if there is one."""

    def build(self, options: Mapping[str, Any]) -> Hierarchy:
        """Build a hierarchy with these options."""
        rest = dict(options)
        items = rest.pop(self.spread, [])
        return self.builder(*(items if isinstance(items, (list, tuple)) else [items]), **rest)


def _catalogue_builder(kind: str) -> Callable[..., Hierarchy]:
    """Return the builder of a kind of the catalogue, which is loaded when one is built."""

    def build(*levels: str, **options: Any) -> Hierarchy:
        from indistinct.hierarchy.catalogue import known_codes as catalogue

        made: Hierarchy = getattr(catalogue, kind)(*levels, **options)
        return made

    return build


CODES = ("icd10", "icd10_cm", "icd9", "isco", "nace", "naics")
CATALOGUED = ("countries", "us_states", "us_zip", "nuts", *CODES, "education", "age")
"""The kinds of the catalogue, in its order."""
FORMS = {
    "levels": WrittenForm(("source", "top", "names", "delimiter"), levels),
    "tree": WrittenForm(("nodes", "top", "names"), tree),
    "intervals": WrittenForm(("widths", "origin", "low", "high", "top"), intervals, spread="widths"),
    "prefix": WrittenForm(("length", "keep", "mask", "top"), prefix, needs_first=False),
    "dates": WrittenForm(("levels", "format", "latest", "top"), dates, spread="levels"),
    "rounding": WrittenForm(("units", "top"), rounding, spread="units"),
    "top_bottom": WrittenForm(("bounds", "top"), top_bottom, spread="bounds"),
    "suppress": WrittenForm(("label",), suppress, needs_first=False),
    "keep": WrittenForm((), keep, needs_first=False),
    **{
        kind: WrittenForm(
            ("levels", *(["small"] if kind == "us_zip" else []), "top"),
            _catalogue_builder(kind),
            needs_first=False,
            spread="levels",
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
