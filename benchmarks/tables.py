"""What the sections of docs/benchmarks.md are made of: a heading, the command, a few sentences and a table."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from textwrap import fill

CLOSE = 0.15
"""A goal met or missed by less than this is not safely either."""


def section(title: str, parts: str, text: str, *tables: str) -> str:
    """Return a section of the page: what was measured, by which parts of the command, and the figures."""
    command = " ".join(f"`{part}`" for part in parts.split())
    said = filled(f"{command}: {text}")
    return "\n\n".join([f"## {title}", said, *(one for one in tables if one)]) + "\n"


def filled(text: str) -> str:
    """Return a paragraph in lines of at most 118 characters."""
    return fill(" ".join(text.split()), 118, break_on_hyphens=False, break_long_words=False)


def table(heads: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return a table in Markdown.

    >>> print(table(["k", "loss"], [[2, "0.1"]]))
    | k | loss |
    | --- | --- |
    | 2 | 0.1 |
    """
    lines = [heads, ["---"] * len(heads), *rows]
    return "\n".join(f"| {' | '.join(str(cell) for cell in line)} |" for line in lines)


def seconds(value: float) -> str:
    """Return seconds with as many digits as count.

    >>> seconds(0.0514), seconds(2.7), seconds(138.4)
    ('0.051', '2.70', '138')
    """
    return (
        f"{value:.3f}"
        if value < 1
        else f"{value:.2f}"
        if value < 10
        else f"{value:.1f}"
        if value < 100
        else f"{value:,.0f}"
    )


def fraction(share: float) -> str:
    """Return a share of another's time as people say it.

    >>> fraction(0.054), fraction(2.26)
    ('1/18.5', '2.3×')
    """
    return f"{share:.1f}×" if share > 1 else f"1/{1 / share:.3g}"


def mark(share_of_goal: float) -> str:
    """Return the mark of a goal: none where it is met; what lies close to it is neither met nor missed.

    >>> mark(0.5), mark(1.1), mark(2.0)
    ('', ' ≈', ' ✗')
    """
    return " ≈" if abs(share_of_goal - 1) < CLOSE else "" if share_of_goal < 1 else " ✗"
