"""A release in its maker's hands: its tables, its facts, its verdict, and how it is written."""

from __future__ import annotations

from indistinct.release.release import Release, recoded

__all__ = ["Release", "recoded"]
