"""Histories: recodings of people and their events, row by row, and how tables follow from them."""

from __future__ import annotations

from indistinct.recoding.histories.history_plans import history_plans
from indistinct.recoding.histories.history_rows import HistoryRecoding, KnownEvents, table_of_entries

__all__ = ["HistoryRecoding", "KnownEvents", "history_plans", "table_of_entries"]
