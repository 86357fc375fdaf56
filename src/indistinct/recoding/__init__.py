"""An algorithm's answer: which group each tuple goes to, what labels it carries, and what is suppressed."""

from __future__ import annotations

from indistinct.recoding.recoding import (
    SUPPRESSED,
    AnyRecoding,
    Classes,
    LabelValues,
    LocalRecoding,
    Outcome,
    Pieces,
    Recoding,
)

__all__ = ["SUPPRESSED", "AnyRecoding", "Classes", "LabelValues", "LocalRecoding", "Outcome", "Pieces", "Recoding"]
