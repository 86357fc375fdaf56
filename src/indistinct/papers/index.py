"""paper(): the figures of all papers by their names."""

from __future__ import annotations

from indistinct.errors import PolicyError
from indistinct.papers import samarati_2001, sweeney_achieving, sweeney_model, wong_2007
from indistinct.papers.figure import Figure, Reproduction

FIGURES: dict[str, tuple[str, Figure]] = {
    figure.name: (module.PAPER, figure)
    for module in (samarati_2001, sweeney_model, sweeney_achieving, wong_2007)
    for figure in module.FIGURES
}
"""Every figure by its name, with its paper."""


def paper(name: str, *, adult: str | None = None) -> Reproduction:
    """Compute a table, figure or example of a paper anew, and return it beside what the paper prints.

    ``adult`` is the folder of UCI Adult, or a table with its columns, for Table 8 and Figures 2 to 5 of Wong et al.

    >>> paper("achieving-figure-10").agrees
    True
    """
    if name not in FIGURES:
        raise PolicyError(f"paper: there is no {name!r}; choose one of {', '.join(FIGURES)}")
    of, figure = FIGURES[name]
    return figure.reproduce(of, adult)
