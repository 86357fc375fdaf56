"""The lattice as a picture: every combination of levels, or those around the solutions, coloured and to be clicked."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from nicegui import ui
from nicegui.events import EChartPointClickEventArguments

from indistinct.search import Frontier, Solution
from indistinct.showing.numbers import figure
from indistinct.showing.words import counted
from indistinct.studio.widgets import controls
from indistinct.studio.widgets.style import RAMP

FAILING = "#ffffff"
EDGE, INK, QUIET = "#9aa7b3", "#1d2733", "#53606e"
MOST_EDGES = 400
MOST_SOLUTIONS, MOST_BELOW = 60, 240
"""Solutions, and nodes right below them, that a picture of a large lattice has."""
Node = tuple[int, ...]


def picture(
    lattice: Frontier,
    solutions: Sequence[Solution],
    now: Mapping[str, int] | None,
    most: int,
    measure: str,
    apply: Callable[[dict[str, int]], Any],
) -> None:
    """Draw all combinations, the lowest at the bottom; those that suppress at most ``most`` rows can be clicked."""
    measure = measure if measure in lattice.losses else next(iter(lattice.losses))
    nodes = [tuple(int(level) for level in node) for node in lattice.nodes]
    places = _places(nodes)
    minimal = {tuple(solution.node.values()) for solution in solutions}
    released = None if now is None else tuple(now.values())
    losses, suppressed = lattice.losses[measure][:, 0], lattice.suppressed[:, 0]
    passing = [loss for loss, rows in zip(losses, suppressed, strict=True) if rows <= most]
    best, worst = min(passing, default=0.0), max(passing, default=1.0)
    points = []
    for node, loss, rows in zip(nodes, losses, suppressed, strict=True):
        is_safe = int(rows) <= most
        share = 1 - (float(loss) - best) / (worst - best) if worst > best else 1.0
        colour = RAMP[max(0, min(len(RAMP) - 1, int(share * len(RAMP))))] if is_safe else FAILING
        ring = INK if node in minimal or node == released else EDGE
        levels = ", ".join(f"{name} {level}" for name, level in zip(lattice.columns, node, strict=True))
        cost = f"loss {loss:.3f}, {rows:,} left out" if is_safe else f"too many left out: {rows:,}"
        points.append(_point(f"{levels}: {cost}", places[node], colour, ring, node == released, is_safe))

    def apply_point(event: EChartPointClickEventArguments) -> None:
        place = event.data_index
        if event.series_type == "scatter" and int(suppressed[place]) <= most and nodes[place] != released:
            apply(dict(zip(lattice.columns, nodes[place], strict=True)))

    _chart(_options(points, _edges(nodes, places)), apply_point, 340, "All combinations of levels")
    controls.Words(
        "p",
        f"Each point is a combination of levels, the least general at the bottom. The darker, the less is lost by "
        f"{measure}; white ones leave out too many rows; a ring marks the solutions below, a diamond the release. "
        "Click a coloured point to release at its levels.",
        "quiet small",
    )


@dataclass(frozen=True, slots=True)
class Outline:
    """The part of a large lattice that says where its solutions lie: they, and what stands right below them.

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


def outline_picture(
    outline: Outline, now: Mapping[str, int] | None, measure: str, apply: Callable[[dict[str, int]], Any]
) -> None:
    """Draw the outline of a lattice with too many nodes to draw all; a solution is released by a click."""
    solved = {tuple(solution.node.values()): solution for solution in outline.solutions}
    released = None if now is None else tuple(now.values())
    nodes = list(dict.fromkeys([*solved, *outline.below, *([] if released is None else [released])]))
    lowest, highest = min(map(sum, nodes)), max(map(sum, nodes))
    places = {node: (x, height - lowest) for node, (x, height) in _places(nodes).items()}
    rank = {node: at for at, node in enumerate(solved)}
    points = []
    for node in nodes:
        levels = ", ".join(f"{name} {level}" for name, level in zip(outline.columns, node, strict=True))
        if node in solved:
            share = 1 - rank[node] / max(1, len(solved) - 1)
            colour = RAMP[min(len(RAMP) - 1, int(share * len(RAMP)))]
            told = f"{measure} {figure(solved[node].measures[measure])}, {solved[node].suppressed:,} left out"
        else:
            colour, told = FAILING, "the release" if node == released else "does not satisfy the policy"
        ring = INK if node in solved or node == released else EDGE
        points.append(_point(f"{levels}: {told}", places[node], colour, ring, node == released, node in solved))

    def apply_point(event: EChartPointClickEventArguments) -> None:
        node = nodes[event.data_index]
        if event.series_type == "scatter" and node in solved and node != released:
            apply(dict(zip(outline.columns, node, strict=True)))

    options = _options(points, _edges(nodes, places))
    bands = [f"{height} steps" for height in range(lowest, highest + 1)]
    named = {"show": True, "color": QUIET, "fontSize": 11.5}
    options["grid"]["left"] = 70
    options["yAxis"] |= {"type": "category", "data": bands, "axisLabel": named, "splitArea": {"show": True}}
    _chart(options, apply_point, min(640, 70 + 56 * len(bands)), "The solutions in the lattice of all levels")
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


def _point(
    name: str, place: tuple[float, int], colour: str, ring: str, is_released: bool, is_large: bool
) -> dict[str, Any]:
    """Return a node as the chart takes it."""
    return {
        "name": name,
        "value": place,
        "symbol": "diamond" if is_released else "circle",
        "symbolSize": 20 if is_released else 13 if is_large else 8,
        "itemStyle": {
            "opacity": 1,
            "color": colour,
            "borderColor": ring,
            "borderWidth": 2.5 if ring == INK else 1,
        },
    }


def _chart(
    options: dict[str, Any], heard: Callable[[EChartPointClickEventArguments], Any], height: int, words: str
) -> None:
    chart = ui.echart(options, on_point_click=heard, renderer="svg").style(f"height: {height}px; width: 100%")
    chart.props["role"], chart.props["aria-label"] = "img", f"{words}; the list below says the same"


def _options(points: list[dict[str, Any]], lines: list[Any]) -> dict[str, Any]:
    hidden = {"show": False}
    axis = {"type": "value", "axisLine": hidden, "axisTick": hidden, "axisLabel": hidden, "splitLine": hidden}
    return {
        "animation": False,
        "grid": {"left": 20, "right": 20, "top": 16, "bottom": 16},
        "tooltip": {"formatter": "{b}", "textStyle": {"color": INK, "fontSize": 12}},
        "xAxis": {**axis, "min": "dataMin", "max": "dataMax"},
        "yAxis": axis,
        "series": [
            {
                "type": "lines",
                "coordinateSystem": "cartesian2d",
                "data": lines,
                "silent": True,
                "lineStyle": {"color": EDGE, "width": 0.6, "opacity": 0.45},
            },
            {"type": "scatter", "data": points, "z": 3},
        ],
    }
