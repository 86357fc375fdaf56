"""Distributions: how the values of each column are spread, in the private table and in the release."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from indistinct.errors import IndistinctError
from indistinct.hierarchy import Hierarchy, from_spec, keep
from indistinct.report import LabelCounts, bars, labels_after, values_before
from indistinct.showing.small_bars import small_bars
from indistinct.showing.words import counted, shorten
from indistinct.studio.settings import Choice
from indistinct.studio.work import Work

BEFORE_COLOUR, AFTER_COLOUR = "#6b7782", "#0b5c99"
NAMED = 3
"""Labels that the words beside a small picture say."""


@dataclass(frozen=True, slots=True)
class Distribution:
    """The values of a column in the private table and, if it is released, its labels there; None if too many."""

    before: dict[str, Any] | None
    after: dict[str, Any] | None

    def small(self) -> list[tuple[str, str]]:
        """Return a small picture of each, with what it is of."""
        made = []
        if self.before is not None:
            made.append(("before", _small(self.before, "before", BEFORE_COLOUR)))
        if self.after is not None:
            made.append(("after", _small(self.after, "after", AFTER_COLOUR)))
        return made

    def large(self) -> list[str]:
        """Return a picture of each with every name and number."""
        made = [] if self.before is None else [values_before({"before": self.before})]
        return made if self.after is None else [*made, labels_after({"after": self.after, "role": "quasi"})]


def distributions(work: Work, names: Iterable[str]) -> dict[str, Distribution]:
    """Return the distributions of some columns; each is counted once for a table and once for a release.

    Identifiers, and columns with too many values, are left out.
    """
    asked = [name for name in names if name in work.columns]
    known = work.count_values([name for name in asked if work.columns[name].role not in ("identifier", "drop")])
    after = work.count_released()
    found = {}
    for name in asked:
        choice = work.columns[name]
        values = choice.read(_hierarchy(choice), known[name]) if name in known else {}
        before = bars(values, order=_order(choice, values)) if name in known else None
        released = bars(after[name]) if name in after else None
        if before is not None or released is not None:
            found[name] = Distribution(before, released)
    return found


def _hierarchy(choice: Choice) -> Hierarchy:
    """Return the hierarchy of a column, as far as it is one."""
    try:
        return from_spec(choice.hierarchy or {"keep": True}, Path())
    except IndistinctError:
        return keep()


def _order(choice: Choice, values: LabelCounts) -> Mapping[str | None, Any] | None:
    """Return the number or date that each value says, if all say one."""
    try:
        compiled = _hierarchy(choice).compile(list(values))
    except IndistinctError:
        compiled = keep().compile(list(values))
    keys = compiled.sort_keys(compiled.values)
    return None if keys is None else dict(zip(compiled.values, keys, strict=True))


def _small(facts: Mapping[str, Any], when: str, colour: str) -> str:
    drawn = facts["bars"]
    most = sorted(drawn, key=lambda bar: -bar["rows"])[:NAMED]
    named = ", ".join(f"{shorten(bar['label'], 24)} {bar['rows']:,}" for bar in most)
    words = f"{when}: {counted(facts['distinct'], 'value')}; most frequent: {named}"
    return small_bars([bar["rows"] for bar in drawn], words, colour)
