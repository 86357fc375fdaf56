"""ARX's figures, and the goals: what the table in docs stands beside."""

from __future__ import annotations

NOTE = (
    "ARX 3.9.2, warm JVM, search only, CPU seconds, "
    "measured on a machine of the same kind where the yardstick took 0.33 s"
)
YARDSTICK = 0.33
LOAD_5M, PEAK_5M = 4.8, 1.8e9
"""CPU seconds to load 5 M rows from CSV, and the peak of the heap in bytes."""

ADULT: dict[tuple[str, int, float], float] = {
    ("precision", 5, 0.0): 0.062,
    ("precision", 5, 0.02): 1.24,
    ("precision", 5, 0.05): 1.25,
    ("precision", 5, 1.0): 1.59,
    ("precision", 100, 0.0): 0.017,
    ("precision", 100, 0.02): 0.67,
    ("precision", 100, 0.05): 1.06,
    ("precision", 100, 1.0): 3.9,
    ("loss", 5, 0.0): 0.039,
    ("loss", 5, 0.02): 1.03,
    ("loss", 5, 1.0): 4.0,
    ("discernibility", 5, 0.02): 0.76,
    ("discernibility", 5, 1.0): 5.0,
}
"""By measure, k and share of suppressed rows: 30,162 rows, 9 columns."""

SYNTHETIC: dict[tuple[int, str], float] = {
    (500_000, "precision"): 7.9,
    (1_000_000, "precision"): 3.1,
    (5_000_000, "precision"): 10.6,
    (1_000_000, "loss"): 14.9,
    (1_000_000, "discernibility"): 29.6,
}
"""By rows and measure: k = 5, 2 % suppressed, 9 columns."""

WIDE: dict[int, float] = {11: 20.0, 12: 103.0, 13: 630.0}
"""By columns: precision, k = 5, 2 % suppressed."""


def goal(part: str, max_suppression: float) -> float:
    """Return the share of ARX's time that a job may take."""
    if part == "adult":
        return 1 / 2 if max_suppression == 0 else 1 / 10
    return {"synthetic": 1 / 30, "wide-adult": 1 / 10, "large": 1 / 3}[part]
