"""The lattice as a picture: every combination of levels, coloured by what it costs, to be clicked."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from nicegui import ui
from nicegui.events import EChartPointClickEventArguments

from indistinct.algorithms.frontier import Frontier
from indistinct.algorithms.solutions import Solution
from indistinct.studio import controls
from indistinct.studio.style import RAMP

FAILING = "#ffffff"
EDGE, INK = "#9aa7b3", "#1d2733"
MOST_EDGES = 400
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
        points.append(
            {
                "name": f"{levels}: {cost}",
                "value": places[node],
                "symbol": "diamond" if node == released else "circle",
                "symbolSize": 20 if node == released else 13 if is_safe else 8,
                "itemStyle": {
                    "opacity": 1,
                    "color": colour,
                    "borderColor": ring,
                    "borderWidth": 2.5 if ring == INK else 1,
                },
            }
        )

    def apply_point(event: EChartPointClickEventArguments) -> None:
        place = event.data_index
        if event.series_type == "scatter" and int(suppressed[place]) <= most and nodes[place] != released:
            apply(dict(zip(lattice.columns, nodes[place], strict=True)))

    chart = ui.echart(_options(points, _edges(nodes, places)), on_point_click=apply_point, renderer="svg")
    chart.style("height: 340px; width: 100%")
    chart.props["role"], chart.props["aria-label"] = "img", "All combinations of levels; the list below says the same"
    controls.Words(
        "p",
        f"Each point is a combination of levels, the least general at the bottom. The darker, the less is lost by "
        f"{measure}; white ones leave out too many rows; a ring marks the solutions below, a diamond the release. "
        "Click a coloured point to release at its levels.",
        "quiet small",
    )


def _places(nodes: Sequence[Node]) -> dict[Node, tuple[float, int]]:
    """Give each node a place: its height upwards, and those of one height side by side."""
    rows: dict[int, list[Node]] = defaultdict(list)
    for node in nodes:
        rows[sum(node)].append(node)
    return {node: (at - (len(row) - 1) / 2, height) for height, row in rows.items() for at, node in enumerate(row)}


def _edges(nodes: Sequence[Node], places: Mapping[Node, tuple[float, int]]) -> list[Any]:
    """Give the lines from each node to those one level higher, if they are not too many to see anything."""
    lines = []
    for node in nodes:
        for column in range(len(node)):
            above = (*node[:column], node[column] + 1, *node[column + 1 :])
            if above in places:
                lines.append({"coords": [places[node], places[above]]})
    return lines if len(lines) <= MOST_EDGES else []


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
