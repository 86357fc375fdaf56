"""What rules on the sensitive values of groups ask: numbers that compiled code tells apart."""

from __future__ import annotations

DISTINCT, ENTROPY, RECURSIVE, SHARES, NEAR, LIKE, CLOSE, ORDERED = range(8)
"""The kinds of rules; ``number`` and ``second`` are what each one compares with.

DISTINCT   at least ``number`` values
ENTROPY    the entropy of the values is at least ``number``
RECURSIVE  the most frequent value occurs less than ``number`` times as often as the ``second``-th and all rarer ones
SHARES     no value has more than its limit
NEAR       each value's share is less than e^``number`` times, and more than e^-``number`` times, that in the table
LIKE       no value's share q in the table is exceeded by more than ``number`` times q; or -ln(q), if that is lower and
           ``second`` is 1
CLOSE      the earth mover's distance to the table is at most ``number``; codes are the labels of ``second`` levels
ORDERED    the same; codes are ranks
"""
KINDS = {
    "distinct": DISTINCT,
    "entropy": ENTROPY,
    "recursive": RECURSIVE,
    "shares": SHARES,
    "near": NEAR,
    "like": LIKE,
    "close": CLOSE,
    "ordered": ORDERED,
}
FIRST_OF_TABLE = NEAR
"""Rules from here on compare a group with the table."""
TOLERANCE = 1e-9
"""Shares that differ by less are equal: they differ by rounding only."""
