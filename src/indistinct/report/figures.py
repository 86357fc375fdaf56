"""Figures: the pictures of a report, each drawn from the facts that the page also has as numbers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from indistinct.report.pairs import Pairs, visible_names
from indistinct.report.sections.risk_section import step_names
from indistinct.showing.chart import Chart, Line
from indistinct.showing.words import counted

WIDE, NARROW = 900, 460


def group_sizes(risk: Mapping[str, Any]) -> str:
    """Draw how many rows stand in groups of which size, before and after."""
    before, after, units = risk["before"], risk["after"], risk["units"]
    one = {"rows": "row", "people": "person"}[units]
    names = [name for name in step_names() if name in after["sizes"] or (before and name in before["sizes"])]
    return Pairs(
        f"{units.capitalize()} by the size of their {'group' if units == 'rows' else risk['name']}",
        tuple(f"{name} {one if name == '1' else units}" for name in names),
        tuple(after["sizes"].get(name, 0) for name in names),
        None if before is None else tuple(before["sizes"].get(name, 0) for name in names),
        (before["rows"] if before else 0, after["rows"]),
        ("private table", "release"),
    ).svg(WIDE)


def values_before(column: Mapping[str, Any]) -> str:
    """Draw the values of a column in the private table."""
    bars, rows = column["before"]["bars"], column["before"]["rows"]
    title = f"Private table: {counted(column['before']['distinct'], 'value')}"
    names, numbers = visible_names([bar["label"] for bar in bars]), tuple(bar["rows"] for bar in bars)
    return Pairs(title, names, numbers, None, (rows, rows), is_before_alone=True).svg()


def labels_after(column: Mapping[str, Any]) -> str:
    """Draw the labels of a column in the release, beside the rows of the private table that have them, if known."""
    after = column["after"]
    bars = after["bars"]
    has_before = any(bar.get("before", bar["rows"]) != bar["rows"] for bar in bars)  # else both are the same
    is_spread = after.get("is_spread", False)
    noun = "value" if column["role"] == "sensitive" or column.get("level") == 0 else "label"
    return Pairs(
        f"Release: {counted(after['distinct'], noun)}",
        visible_names([bar["label"] for bar in bars]),
        tuple(bar["rows"] for bar in bars),
        tuple(bar["before"] for bar in bars) if has_before else None,
        (sum(bar["before"] for bar in bars) if has_before else 0, after["rows"]),
        ("private table", "release, labels spread over their values")
        if is_spread
        else ("eligible rows with this label", "released"),
    ).svg(WIDE if is_spread else NARROW)


def cost_by_k(tradeoff: Mapping[str, Any]) -> str:
    """Draw the best figure over k, one line for each suppression limit, and the release among them."""
    alike: dict[tuple[tuple[float, float], ...], list[str]] = {}  # limits that cost the same share a line
    for line in tradeoff["lines"]:
        points = tuple((float(k), float(value)) for k, value in line["points"])
        alike.setdefault(points, []).append(limit_in_words(line["limit"]))
    lines = tuple(Line(", ".join(names), points) for points, names in alike.items())
    chosen = tradeoff["chosen"]
    return Chart(
        f"Best {tradeoff['measure']} by k",
        f"k ({tradeoff['counted']} that each person hides among)",
        tradeoff["measure"],
        lines,
        is_log_x=True,
        legend="suppressed up to",
        chosen=(float(chosen["k"]), chosen["value"]),
        chosen_name="this release",
    ).svg(WIDE, 420)


def cost_by_suppression(tradeoff: Mapping[str, Any]) -> str:
    """Draw what leaving out more rows would gain at the release's own k."""
    chosen = tradeoff["chosen"]
    points = tuple((float(point["suppressed"]), point["value"]) for point in tradeoff["curve"])
    return Chart(
        f"What leaving out rows gains, at k = {chosen['k']}",
        "rows left out",
        tradeoff["measure"],
        (Line("best possible", points),),
        chosen=(float(chosen["suppressed"]), chosen["value"]),
        chosen_name="this release",
        is_whole_x=True,
    ).svg(WIDE, 380)


def limit_in_words(limit: float | int) -> str:
    """Return a suppression limit as a reader takes it.

    >>> limit_in_words(0.05), limit_in_words(12), limit_in_words(0.0)
    ('5 %', '12 rows', '0 %')
    """
    return f"{100 * limit:.6g} %" if isinstance(limit, float) else counted(limit, "row")
