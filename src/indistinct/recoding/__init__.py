"""An algorithm's answer: which group each tuple goes to, what labels it carries, and what is suppressed."""

from __future__ import annotations

from indistinct.recoding.classes import Classes
from indistinct.recoding.full_domain import FullDomainRecoding
from indistinct.recoding.linked import LinkedRecoding
from indistinct.recoding.local import LocalRecoding
from indistinct.recoding.recoding import SUPPRESSED, LabelValues, Outcome, Pieces, Recoding

__all__ = [
    "SUPPRESSED",
    "Classes",
    "FullDomainRecoding",
    "LabelValues",
    "LinkedRecoding",
    "LocalRecoding",
    "Outcome",
    "Pieces",
    "Recoding",
]
