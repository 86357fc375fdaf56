"""Attacks: what somebody could conclude from a release, so that its holder sees it first; one file per attack."""

# Imported here, since modules of the same names would otherwise take the functions' places; they load nothing heavy.
from indistinct.attacks.all_attacks import run
from indistinct.attacks.attack_run import AttackRun
from indistinct.attacks.complementary.complementary_report import ComplementaryReport
from indistinct.attacks.complementary.join import complementary
from indistinct.attacks.dependencies import DependencyReport, dependencies
from indistinct.attacks.guessing.definetti import DeFinettiReport, definetti
from indistinct.attacks.guessing.inference import InferenceReport, inference
from indistinct.attacks.guessing.minimality import MinimalityReport, minimality
from indistinct.attacks.guessing.singling_out import SinglingOutReport, singling_out
from indistinct.attacks.homogeneity import HomogeneityReport, homogeneity
from indistinct.attacks.linking.link import link
from indistinct.attacks.linking.link_report import LinkReport
from indistinct.attacks.linking.maps import MapReport, maps
from indistinct.attacks.order.unsorted import unsorted
from indistinct.attacks.order.unsorted_report import UnsortedReport
from indistinct.attacks.sharpening.downcoding import downcoding
from indistinct.attacks.sharpening.downcoding_report import DowncodingReport
from indistinct.attacks.sharpening.refinement import refinement
from indistinct.attacks.sharpening.refinement_report import RefinementReport

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
