"""Attacks: what somebody could conclude from a release, so that its holder sees it first; one file per attack."""

# Imported here, since modules of the same names would otherwise take the functions' places.
from indistinct.attacks.attack import ORIGINAL, Attack, Option, OtherTable
from indistinct.attacks.attack_report import AttackReport
from indistinct.attacks.complementary import ComplementaryReport, complementary
from indistinct.attacks.dependencies import DependencyReport, dependencies
from indistinct.attacks.few_events import HistoryReport, history
from indistinct.attacks.guessing import (
    DeFinettiReport,
    InferenceReport,
    MembershipReport,
    MinimalityReport,
    SinglingOutReport,
    definetti,
    inference,
    membership,
    minimality,
    singling_out,
)
from indistinct.attacks.homogeneity import HomogeneityReport, homogeneity
from indistinct.attacks.known_totals import TotalsReport, totals
from indistinct.attacks.linking import LinkReport, MapReport, link, maps
from indistinct.attacks.order import UnsortedReport, unsorted
from indistinct.attacks.other_columns import JoinedReport, joined_values
from indistinct.attacks.run import AttackRun, run
from indistinct.attacks.sharpening import DowncodingReport, RefinementReport, downcoding, refinement
from indistinct.attacks.uniqueness import UniquenessReport, uniqueness

__all__ = [
    "ORIGINAL",
    "Attack",
    "AttackReport",
    "AttackRun",
    "ComplementaryReport",
    "DeFinettiReport",
    "DependencyReport",
    "DowncodingReport",
    "HistoryReport",
    "HomogeneityReport",
    "InferenceReport",
    "JoinedReport",
    "LinkReport",
    "MapReport",
    "MembershipReport",
    "MinimalityReport",
    "Option",
    "OtherTable",
    "RefinementReport",
    "SinglingOutReport",
    "TotalsReport",
    "UniquenessReport",
    "UnsortedReport",
    "complementary",
    "definetti",
    "dependencies",
    "downcoding",
    "history",
    "homogeneity",
    "inference",
    "joined_values",
    "link",
    "maps",
    "membership",
    "minimality",
    "refinement",
    "run",
    "singling_out",
    "totals",
    "uniqueness",
    "unsorted",
]
