"""Small bars: a distribution at a glance, as high as a line of text, drawn as SVG."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from indistinct.showing.chart import PALETTE

WIDTH, HEIGHT = 132, 28
WIDEST = 22
"""Pixels of a bar where there are few."""
GAP = 1.5


def small_bars(numbers: Sequence[int], words: str, colour: str = PALETTE[0], *, width: int = WIDTH) -> str:
    """Draw some numbers as bars from left to right; ``words`` say the same to who cannot see them.

    A number above 0 is at least a pixel high, so that the rare can be told from the absent.

    >>> small_bars([4, 0], "4 of a, none of b").count("<rect")
    1
    """
    most = max(numbers, default=0)
    step = min((width + GAP) / max(1, len(numbers)), WIDEST + GAP)
    drawn = []
    for place, number in enumerate(numbers):
        if number > 0:
            high = max(1.0, number / most * HEIGHT)
            drawn.append(
                f'<rect x="{place * step:.1f}" y="{HEIGHT - high:.1f}" width="{step - GAP:.1f}" height="{high:.1f}"/>'
            )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{HEIGHT + 1}" '
        f'viewBox="0 0 {width} {HEIGHT + 1}" role="img" aria-label="{escape(words)}"><title>{escape(words)}</title>'
        f'<path d="M0 {HEIGHT + 0.5}H{width}" stroke="#9aa7b3" stroke-width="1"/>'
        f'<g fill="{colour}">{"".join(drawn)}</g></svg>'
    )
