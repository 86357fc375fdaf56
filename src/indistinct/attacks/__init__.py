"""Attacks: what somebody could conclude from a release, so that its holder sees it first; one file per attack."""

# Imported here, since the module of the same name would otherwise take the function's place; it loads nothing heavy.
from indistinct.attacks.downcoding import DowncodingReport, downcoding

__all__ = ["DowncodingReport", "downcoding"]
