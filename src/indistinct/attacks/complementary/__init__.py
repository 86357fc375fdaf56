"""Joining several releases of the same people."""

from indistinct.attacks.complementary.chains import ReleaseEntries, all_consistent_pairs
from indistinct.attacks.complementary.complementary_report import ComplementaryReport
from indistinct.attacks.complementary.join import Complementary, complementary
from indistinct.attacks.complementary.joined_releases import JoinedReleases, rows_in_order

__all__ = [
    "Complementary",
    "ComplementaryReport",
    "JoinedReleases",
    "ReleaseEntries",
    "all_consistent_pairs",
    "complementary",
    "rows_in_order",
]
