"""Attacks: what somebody could conclude from a release, so that its holder sees it first; one file per attack."""

# Imported here, since modules of the same names would otherwise take the functions' places; they load nothing heavy.
from indistinct.attacks.all_attacks import run
from indistinct.attacks.attack_run import AttackRun
from indistinct.attacks.complementary import complementary
from indistinct.attacks.complementary_report import ComplementaryReport
from indistinct.attacks.definetti import DeFinettiReport, definetti
from indistinct.attacks.dependencies import DependencyReport, dependencies
from indistinct.attacks.downcoding import downcoding
from indistinct.attacks.downcoding_report import DowncodingReport
from indistinct.attacks.homogeneity import HomogeneityReport, homogeneity
from indistinct.attacks.inference import InferenceReport, inference
from indistinct.attacks.link_report import LinkReport
from indistinct.attacks.linking import link
from indistinct.attacks.maps import MapReport, maps
from indistinct.attacks.minimality import MinimalityReport, minimality
from indistinct.attacks.refinement import refinement
from indistinct.attacks.refinement_report import RefinementReport
from indistinct.attacks.singling_out import SinglingOutReport, singling_out
from indistinct.attacks.unsorted import unsorted
from indistinct.attacks.unsorted_report import UnsortedReport

__all__ = [
    "AttackRun",
    "ComplementaryReport",
    "DeFinettiReport",
    "DependencyReport",
    "DowncodingReport",
    "HomogeneityReport",
    "InferenceReport",
    "LinkReport",
    "MapReport",
    "MinimalityReport",
    "RefinementReport",
    "SinglingOutReport",
    "UnsortedReport",
    "complementary",
    "definetti",
    "dependencies",
    "downcoding",
    "homogeneity",
    "inference",
    "link",
    "maps",
    "minimality",
    "refinement",
    "run",
    "singling_out",
    "unsorted",
]
