"""The lattice as a picture: the solutions among all levels, coloured by what they are worth, and to be clicked."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from nicegui import ui
from nicegui.events import EChartPointClickEventArguments

from indistinct.search import Solution
from indistinct.showing.numbers import figure
from indistinct.showing.words import counted
from indistinct.studio.widgets import controls
from indistinct.studio.widgets.controls import RAMP

FAILING = "#ffffff"
EDGE, INK, QUIET = "#9aa7b3", "#1d2733", "#53606e"
MOST_EDGES = 400
MOST_SOLUTIONS, MOST_BELOW = 60, 240
"""Solutions, and nodes right below them, that a picture of a large lattice has."""
Node = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Outline:
    """The part of a lattice that says where its solutions lie: they, and what stands right below them.

    No column of a solution can stay lower: what stands right below one does not satisfy the policy.
    """

    columns: tuple[str, ...]
    solutions: tuple[Solution, ...]
    """Those that are drawn, in the order of their quality."""
    below: tuple[Node, ...]
    """One level lower in one column: these fail."""
    combinations: tuple[int, ...]
    """Nodes of each height, of the whole lattice."""

    @classmethod
    def of(cls, ordered: Sequence[Solution]) -> Outline:
        """Return the outline around the best solutions; they come in the order of their quality."""
        drawn = tuple(ordered[:MOST_SOLUTIONS])
        tops = tuple(ordered[0].heights.values())
        nodes = {tuple(solution.node.values()) for solution in drawn}
        below = {lower for node in nodes for lower in _one_lower(node)} - nodes
        return cls(
            tuple(ordered[0].node),
            drawn,
            tuple(sorted(below)[:MOST_BELOW]),
            nodes_by_height(tops),
        )


def nodes_by_height(tops: Sequence[int]) -> tuple[int, ...]:
    """Count the nodes of each height of a lattice, given the levels above 0 of its columns.

    >>> nodes_by_height([1, 2])
    (1, 2, 2, 1)
    """
    counts = [1]
    for top in tops:
        counts = [sum(counts[max(0, at - top) : at + 1]) for at in range(len(counts) + top)]
    return tuple(counts)


def _one_lower(node: Node) -> list[Node]:
    return [(*node[:at], level - 1, *node[at + 1 :]) for at, level in enumerate(node) if level > 0]


def draw_outline(
    outline: Outline, now: Mapping[str, int] | None, measure: str, apply: Callable[[dict[str, int]], Any]
) -> None:
    """Draw the solutions and what stands right below them; a solution is released by a click."""
    solved = {tuple(one.node.values()): one for one in outline.solutions}
    released = None if now is None else tuple(now.values())
    nodes = list(dict.fromkeys([*solved, *outline.below, *([] if released is None else [released])]))
    lowest, highest = min(map(sum, nodes)), max(map(sum, nodes))
    places = {node: (x, height - lowest) for node, (x, height) in _places(nodes).items()}
    points = []
    for rank, node in enumerate(nodes):
        levels = ", ".join(f"{name} {level}" for name, level in zip(outline.columns, node, strict=True))
        share, words = None, "the release" if node == released else "does not satisfy the policy"
        if one := solved.get(node):
            share = 1 - rank / max(1, len(solved) - 1)
            words = f"{measure} {figure(one.measures[measure])}, {one.suppressed:,} left out"
        points.append(_point(f"{levels}: {words}", places[node], share, is_released=node == released))

    def heard(event: EChartPointClickEventArguments) -> None:
        node = nodes[event.data_index]
        if event.series_type == "scatter" and node in solved and node != released:
            apply(dict(zip(outline.columns, node, strict=True)))

    bands = [f"{height} steps" for height in range(lowest, highest + 1)]
    chart = ui.echart(_options(points, _edges(nodes, places), bands), on_point_click=heard, renderer="svg")
    chart.style(f"height: {min(640, 70 + 56 * len(bands))}px; width: 100%")
    chart.props["role"], chart.props["aria-label"] = "img", "Solutions among all levels; the list below says the same"
    total, most = sum(outline.combinations), max(outline.combinations)
    heights = sorted({sum(node) for node in solved})
    controls.Words(
        "p",
        f"There are {total:,} combinations of levels, up to {most:,} of one height: only the "
        f"{counted(len(solved), 'best solution')} and what stands right below are drawn, the least general at the "
        f"bottom. Solutions lie between {heights[0]} and {heights[-1]} of {len(outline.combinations) - 1} steps. "
        f"The darker, the better by {measure}; white ones do not satisfy the policy; a diamond is the release. Click a "
        "coloured point to release at its levels.",
        "quiet small",
    )


def _places(nodes: Sequence[Node]) -> dict[Node, tuple[float, int]]:
    """Return each node a place: its height upwards, and those of one height side by side."""
    rows: dict[int, list[Node]] = defaultdict(list)
    for node in nodes:
        rows[sum(node)].append(node)
    return {node: (at - (len(row) - 1) / 2, height) for height, row in rows.items() for at, node in enumerate(row)}


def _edges(nodes: Sequence[Node], places: Mapping[Node, tuple[float, int]]) -> list[Any]:
    """Return the lines from each node to those one level higher, if they are not too many to see anything."""
    lines = []
    for node in nodes:
        for column in range(len(node)):
            above = (*node[:column], node[column] + 1, *node[column + 1 :])
            if above in places:
                lines.append({"coords": [places[node], places[above]]})
    return lines if len(lines) <= MOST_EDGES else []


def _point(name: str, place: tuple[float, int], share: float | None, *, is_released: bool) -> dict[str, Any]:
    """Return a node as the chart takes it; ``share`` is how good it is, None if it does not satisfy the policy."""
    has_ring = share is not None or is_released
    return {
        "name": name,
        "value": place,
        "symbol": "diamond" if is_released else "circle",
        "symbolSize": 20 if is_released else 8 if share is None else 13,
        "itemStyle": {
            "opacity": 1,
            "color": FAILING if share is None else RAMP[min(len(RAMP) - 1, int(share * len(RAMP)))],
            "borderColor": INK if has_ring else EDGE,
            "borderWidth": 2.5 if has_ring else 1,
        },
    }


def _options(points: list[dict[str, Any]], lines: list[Any], bands: list[str]) -> dict[str, Any]:
    hidden = {"show": False}
    axis = {"axisLine": hidden, "axisTick": hidden, "splitLine": hidden}
    named = {"show": True, "color": QUIET, "fontSize": 11.5}
    edges = {"type": "lines", "coordinateSystem": "cartesian2d", "data": lines, "silent": True}
    return {
        "animation": False,
        "grid": {"left": 70, "right": 20, "top": 16, "bottom": 16},
        "tooltip": {"formatter": "{b}", "textStyle": {"color": INK, "fontSize": 12}},
        "xAxis": {**axis, "type": "value", "axisLabel": hidden, "min": "dataMin", "max": "dataMax"},
        "yAxis": {**axis, "type": "category", "data": bands, "axisLabel": named, "splitArea": {"show": True}},
        "series": [
            edges | {"lineStyle": {"color": EDGE, "width": 0.6, "opacity": 0.45}},
            {"type": "scatter", "data": points, "z": 3},
        ],
    }
