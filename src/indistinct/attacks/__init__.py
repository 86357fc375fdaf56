"""Attacks: what somebody could conclude from a release, so that its holder sees it first; one file per attack."""

# Imported here, since modules of the same names would otherwise take the functions' places; they load nothing heavy.
from indistinct.attacks.all_attacks import AttackRun, run
from indistinct.attacks.complementary import ComplementaryReport, complementary
from indistinct.attacks.downcoding import DowncodingReport, downcoding
from indistinct.attacks.homogeneity import HomogeneityReport, homogeneity
from indistinct.attacks.linking import LinkReport, link
from indistinct.attacks.maps import MapReport, maps
from indistinct.attacks.unsorted import UnsortedReport, unsorted

__all__ = [
    "AttackRun",
    "ComplementaryReport",
    "DowncodingReport",
    "HomogeneityReport",
    "LinkReport",
    "MapReport",
    "UnsortedReport",
    "complementary",
    "downcoding",
    "homogeneity",
    "link",
    "maps",
    "run",
    "unsorted",
]
