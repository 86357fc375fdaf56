"""A release in its maker's hands: its tables, its facts, its verdict, and how it is written."""

from __future__ import annotations

from indistinct.release.release import Release, recode_rows

__all__ = ["Release", "recode_rows"]
