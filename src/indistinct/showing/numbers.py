"""Numbers as people read them, in commands, reports, notebooks and the studio."""

from __future__ import annotations

import math


def figure(value: object, missing: str = "–") -> str:
    """Return a number as people read it, and anything else as it is.

    >>> figure(0.69166667), figure(7220555), figure(2.0), figure("5 groups"), figure(None)
    ('0.6917', '7,220,555', '2', '5 groups', '–')
    >>> figure(0.00001), figure(-0.2)
    ('<0.0001', '-0.2000')
    >>> figure(float("nan")), figure(float("inf")), figure(-float("inf"))
    ('nan', '∞', '-∞')
    """
    if value is None:
        return missing
    if isinstance(value, float):
        if math.isinf(value):
            return "∞" if value > 0 else "-∞"
        if 0 < value < 0.00005:
            return "<0.0001"
        return f"{value:,.0f}" if value.is_integer() else f"{value:,.4f}"
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)


def percent(share: float) -> str:
    """Return a share in per cent.

    >>> percent(0.083333), percent(1.0), percent(0.00004)
    ('8.3\\xa0%', '100\\xa0%', 'below 0.1\\xa0%')
    """
    if 0 < share < 0.001:
        return "below 0.1\N{NO-BREAK SPACE}%"
    return f"{100 * share:.1f}".removesuffix(".0") + "\N{NO-BREAK SPACE}%"
