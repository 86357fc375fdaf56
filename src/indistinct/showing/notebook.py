"""HTML for notebooks: small cards and tables with every cell escaped, nothing that runs, and no colour of their own.

Text and lines take the notebook's colour, so that they can be read on light and on dark.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape

from indistinct.showing.numbers import figure

LINE = "1px solid rgba(128,128,128,.35)"
TABLE = "border-collapse:collapse;margin:.6em 0 0;color:inherit;font-size:inherit"
CELL = f"text-align:left;padding:.2em 1.2em .2em 0;border-bottom:{LINE};background:none"
NUMBER = f"text-align:right;padding:.2em 1.2em .2em 0;border-bottom:{LINE};background:none;white-space:nowrap"


def card(title: str, mark: str, figures: Mapping[str, object], *below: str) -> str:
    """Return a titled card: a word on how things stand, some figures in a row, and parts of HTML below.

    >>> "&lt;b&gt;" in card("<b>", "verified", {"rows": 12})
    True
    """
    shown = "".join(
        f'<div style="margin-right:2em"><div style="font-size:1.3em;font-weight:600">{_figure(value)}</div>'
        f'<div style="opacity:.7">{escape(name)}</div></div>'
        for name, value in figures.items()
    )
    return (
        f'<div style="border:{LINE};border-radius:6px;padding:.7em 1em;display:inline-block;max-width:100%">'
        f'<div style="margin-bottom:.4em"><strong>{escape(title)}</strong> '
        f'<span style="opacity:.7">{escape(mark)}</span></div>'
        f'<div style="display:flex;flex-wrap:wrap">{shown}</div>{"".join(below)}</div>'
    )


def table(columns: Sequence[str], rows: Iterable[Sequence[object]], left_out: int = 0) -> str:
    """Return a table; numbers stand to the right, and it says how many rows are not shown.

    >>> "&lt;script&gt;" in table(["a"], [["<script>"]])
    True
    """
    listed = list(rows)
    first = listed[0] if listed else [""] * len(columns)
    head = "".join(
        f'<th scope="col" style="{_style(value)}">{escape(name)}</th>'
        for name, value in zip(columns, first, strict=True)
    )
    body = "".join(f"<tr>{''.join(map(_cell, row))}</tr>" for row in listed)
    more = f'<div style="opacity:.7">… {left_out:,} more</div>' if left_out else ""
    return f'<table style="{TABLE}"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{more}'


def _figure(value: object) -> str:
    return escape(figure(value, missing="(missing)"))


def _cell(value: object) -> str:
    return f'<td style="{_style(value)}">{_figure(value)}</td>'


def _style(value: object) -> str:
    return NUMBER if isinstance(value, int | float) and not isinstance(value, bool) else CELL
