"""Numbers as people read them, in commands, reports, notebooks and the studio."""

from __future__ import annotations

import math


def figure(value: object, missing: str = "–") -> str:
    """Give a number as people read it, and anything else as it is.

    >>> figure(0.69166667), figure(7220555), figure(2.0), figure("5 groups"), figure(None)
    ('0.6917', '7,220,555', '2', '5 groups', '–')
    >>> figure(float("nan")), figure(float("inf")), figure(-float("inf"))
    ('nan', '∞', '-∞')
    """
    if value is None:
        return missing
    if isinstance(value, float):
        if math.isinf(value):
            return "∞" if value > 0 else "-∞"
        return f"{value:,.0f}" if value.is_integer() else f"{value:,.4f}"
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)
