"""Attacks that guess, and how often they are right."""

from indistinct.attacks.guessing.definetti import DeFinetti, DeFinettiReport, definetti
from indistinct.attacks.guessing.guess_report import Guess, GuessReport, points
from indistinct.attacks.guessing.inference import Inference, InferenceReport, inference
from indistinct.attacks.guessing.member_inference import Membership, MembershipReport, membership
from indistinct.attacks.guessing.minimality import Minimality, MinimalityReport, minimality
from indistinct.attacks.guessing.rates import difference, wilson
from indistinct.attacks.guessing.singling_out import SinglingOut, SinglingOutReport, singling_out

__all__ = [
    "DeFinetti",
    "DeFinettiReport",
    "Guess",
    "GuessReport",
    "Inference",
    "InferenceReport",
    "Membership",
    "MembershipReport",
    "Minimality",
    "MinimalityReport",
    "SinglingOut",
    "SinglingOutReport",
    "definetti",
    "difference",
    "inference",
    "membership",
    "minimality",
    "points",
    "singling_out",
    "wilson",
]
