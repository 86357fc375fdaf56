"""Attacks: what somebody could conclude from a release, so that its holder sees it first; one file per attack."""

# Imported here, since modules of the same names would otherwise take the functions' places; they load nothing heavy.
from indistinct.attacks.downcoding import DowncodingReport, downcoding
from indistinct.attacks.linking import LinkReport, link

__all__ = ["DowncodingReport", "LinkReport", "downcoding", "link"]
