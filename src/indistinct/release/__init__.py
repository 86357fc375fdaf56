"""A release in its maker's hands: its tables, its facts, its verdict, and how it is written."""

from __future__ import annotations

from indistinct.release.release import Release, recoded, refuse_occupied
from indistinct.released.manifest import MANIFEST

__all__ = ["MANIFEST", "Release", "recoded", "refuse_occupied"]
