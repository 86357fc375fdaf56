"""What released labels stand for, and what lies below them."""

from indistinct.attacks.labels.label_reader import Reader
from indistinct.attacks.labels.label_tree import Label, Labels, LabelTree, interval_edges
from indistinct.attacks.labels.meanings import DISJOINT, EVERYTHING, WHOLE, Beginning, Branch, Span, Texts
from indistinct.attacks.labels.vocabulary import DisjointSets, Vocabulary

__all__ = [
    "DISJOINT",
    "EVERYTHING",
    "WHOLE",
    "Beginning",
    "Branch",
    "DisjointSets",
    "Label",
    "LabelTree",
    "Labels",
    "Reader",
    "Span",
    "Texts",
    "Vocabulary",
    "interval_edges",
]
