"""Trade-off: what every k and every limit of suppression would cost, to be dragged and looked at."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from nicegui import ui

from indistinct.search import Frontier
from indistinct.showing.words import list_names
from indistinct.studio.widgets import controls
from indistinct.studio.widgets.controls import PALETTE
from indistinct.studio.widgets.page_frame import Desk, frame, needs_table
from indistinct.studio.work import Work

LEAD = "One sweep over all combinations of levels answers for every k and every limit at once. It counts k-anonymity."
LIMITS = (0.0, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2)
INK = "#1d2733"
QUIET = "#53606e"


def page(work: Work, query: Mapping[str, str]) -> None:
    """Show the page."""
    with frame(work, "/trade-off", "What would it cost?", LEAD) as desk:
        if needs_table(work):
            return
        if refusal := work.refusal("explore"):
            controls.notice("note", refusal)
            return
        has_it = work.frontier is not None and work.is_explored("frontier")
        if not has_it:
            with controls.card():
                controls.Words("p", "Nothing is released; the table is only counted.", "quiet")
                controls.button(
                    "Work out the trade-off",
                    lambda: desk.run("Working out the trade-off", work.sweep, lambda: ui.navigate.to("/trade-off")),
                    "primary",
                    id="sweep",
                )
        elif work.frontier is not None:
            Explorer(work, desk, work.frontier).show()


class Explorer:
    """Two sliders, k and the limit, and what the best release costs there."""

    def __init__(self, work: Work, desk: Desk, frontier: Frontier) -> None:
        self.work = work
        self.desk = desk
        self.frontier = frontier
        self.measure = next(iter(frontier.losses))
        ks = [model["k"] for model in work.models if isinstance(model.get("k"), int)]
        wanted = max(ks, default=frontier.ks[0])
        self.k = min(range(len(frontier.ks)), key=lambda place: abs(frontier.ks[place] - wanted))
        share = work.max_suppression or 0.0
        share = share / max(1, work.rows) if isinstance(share, int) else share
        self.limit = min(range(len(LIMITS)), key=lambda place: abs(LIMITS[place] - share))

    def show(self) -> None:
        """Show the sliders, the figures and the curves."""
        if others := [model["model"] for model in self.work.models if model["model"] != "k-anonymity"]:
            named = list_names(list(dict.fromkeys(others)))
            controls.notice("note", f"What {named} would cost beside it is not counted here; Compare counts it.")
        with controls.box("div", "two"):
            with controls.card("Choose"):
                controls.choice("Measure", list(self.frontier.losses), self.measure, partial(self._set, "measure"))
                ui.element("div").style("height: 14px")
                controls.slider(
                    "k: people hide among", len(self.frontier.ks) - 1, self.k, partial(self._set, "k")
                ).props("id=k")
                ui.element("div").style("height: 10px")
                controls.slider("Rows that may be left out", len(LIMITS) - 1, self.limit, partial(self._set, "limit"))
                self.cost()
            with controls.card("Loss for every k"):
                self.chart = ui.echart(self._options(), renderer="svg").style("height: 380px; width: 100%")
                self.chart.props["aria-label"] = "Curves of the loss for every k, one for each limit"
                self.chart.props["role"] = "img"

    @ui.refreshable_method
    def cost(self) -> None:
        """Show what the best release costs at the chosen place."""
        k, limit = self.frontier.ks[self.k], LIMITS[self.limit]
        point = self.frontier.best(k, limit, self.measure)
        controls.Words("p", f"k = {k:,}, at most {limit:.1%} left out").style("font-weight: 600; margin: 14px 0 4px")
        if point is None:
            controls.notice("note", "No release is possible here: allow more rows to be left out, or lower k.")
            return
        controls.figures(
            {
                self.measure: f"{point.value:,.4g}",
                "loss": f"{point.loss:.3f}",
                "rows left out": f"{point.suppressed:,}",
            }
        )
        rows = [[name, level] for name, level in point.node.items()]
        controls.table(["column", "level"], rows, caption="Levels of the best release", numbers=[1])
        with controls.box("div").style("margin-top: 12px"):
            controls.button("Use this k and limit", lambda: self._use(k, limit), "primary", id="use")

    def _use(self, k: int, limit: float) -> None:
        self.work.choose_k(k)
        self.work.max_suppression = limit
        ui.navigate.to("/release")

    def _set(self, name: str, value: Any) -> None:
        setattr(self, name, value)
        self._redraw()

    def _redraw(self) -> None:
        self.cost.refresh()
        self.chart.options.clear()
        self.chart.options.update(self._options())
        self.chart.update()

    def _options(self) -> dict[str, Any]:
        """Return the curves: the loss of the best release for every k, a curve for each limit."""
        shown = [0, 2, 3, 4, 5]
        if self.limit not in shown:
            shown = sorted({*shown, self.limit})
        series: list[dict[str, Any]] = []
        for colour, place in zip(PALETTE, shown, strict=False):
            points = [self.frontier.best(k, LIMITS[place], self.measure) for k in self.frontier.ks]
            line = {"width": 4 if place == self.limit else 1.5, "color": colour}
            series.append(
                {
                    "name": f"{LIMITS[place]:.1%} left out",
                    "type": "line",
                    "step": "end",
                    "symbol": ("circle", "rect", "triangle", "diamond", "roundRect", "pin")[len(series) % 6],
                    "symbolSize": 5,
                    "lineStyle": line,
                    "itemStyle": {"color": colour},
                    "animation": False,
                    "data": [
                        [k, round(point.loss, 4)]
                        for k, point in zip(self.frontier.ks, points, strict=True)
                        if point is not None
                    ],
                }
            )
            if place == self.limit:
                series[-1]["markLine"] = {
                    "symbol": "none",
                    "data": [{"xAxis": self.frontier.ks[self.k]}],
                    "lineStyle": {"color": INK, "type": "solid"},
                    "label": {"formatter": f"k = {self.frontier.ks[self.k]}", "color": INK},
                }
        words = {"color": QUIET, "fontSize": 12}
        return {
            "legend": {"bottom": 0, "textStyle": words},
            "grid": {"left": 56, "right": 26, "top": 26, "bottom": 84},
            "tooltip": {"trigger": "axis"},
            "xAxis": {
                "type": "log",
                "name": "k",
                "nameLocation": "middle",
                "nameGap": 26,
                "min": self.frontier.ks[0],
                "max": self.frontier.ks[-1],
                "axisLabel": words,
                "splitLine": {"show": False},
            },
            "yAxis": {"type": "value", "name": f"loss by {self.measure}", "min": 0, "axisLabel": words},
            "series": series,
        }
