"""The path from a private table to a verified release, in stages, and what else is composed of them."""

from __future__ import annotations

from indistinct.pipeline.exploring import best_tables, distance_matrix, frontier, solutions
from indistinct.pipeline.pipeline import anonymize
from indistinct.pipeline.stages import Counted, choose_algorithm, count, recode, recount, refuse_nothing, search

__all__ = [
    "Counted",
    "anonymize",
    "best_tables",
    "choose_algorithm",
    "count",
    "distance_matrix",
    "frontier",
    "recode",
    "recount",
    "refuse_nothing",
    "search",
    "solutions",
]
