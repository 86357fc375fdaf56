"""Histories: releases of people and their events in which whoever knows some of these still finds k people."""

from __future__ import annotations

from indistinct.search.histories.history_search import search_histories

__all__ = ["search_histories"]
