"""The path from a private table to a verified release, in stages, and what else is composed of them."""

from __future__ import annotations

from indistinct.pipeline.pipeline import (
    anonymize,
    best_tables,
    chosen_algorithm,
    distance_matrix,
    encode_checked,
    frontier,
    release_of,
    solutions,
    task_for,
)

__all__ = [
    "anonymize",
    "best_tables",
    "chosen_algorithm",
    "distance_matrix",
    "encode_checked",
    "frontier",
    "release_of",
    "solutions",
    "task_for",
]
