"""Privacy and quality models as ARX writes them in its settings, and the models and measures that mean the same."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

NUMBER = r"([0-9]+(?:\.[0-9]+)?(?:E-?[0-9]+)?)"
OF_COLUMN = r" for attribute '(.*)'"
SOURCE_OF_TABLE = "ARX compares with the whole table, and here the table is what is released"


@dataclass(frozen=True, slots=True)
class ArxModel:
    """The model that a text of ARX means, if there is one, with its options, and what is to be known of it."""

    name: str | None
    options: Mapping[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


def model_named(text: str) -> ArxModel:
    """Return the model that ARX's description of a privacy model means.

    >>> model_named("5-anonymity")
    ArxModel(name='k-anonymity', options={'k': 5}, notes=())
    >>> model_named("recursive-(4.0,3)-diversity for attribute 'illness'").options
    {'l': 3, 'kind': 'recursive', 'c': 4.0, 'column': 'illness'}
    >>> model_named("(2.0E-1,1.0E-5)-differential privacy").name is None
    True
    """
    for pattern, make in FORMS.items():
        found = re.fullmatch(pattern, text, re.DOTALL)
        if found:
            return make(found)
    return ArxModel(None, {}, ("has no counterpart and was left out",))


def measure_named(text: str) -> str | None:
    """Return the measure that ARX's description of a quality model means, if there is one.

    >>> measure_named("Loss (geometric mean)"), measure_named("Non-Uniform entropy"), measure_named("Ambiguity")
    ('loss', 'entropy', None)
    """
    plain = " ".join(text.lower().replace("-", " ").split())
    return next((measure for word, measure in MEASURES_BY_WORD.items() if word in plain), None)


MEASURES_BY_WORD = {
    "non uniform entropy": "entropy",
    "discernab": "discernibility",
    "average equivalence class": "average-group-size",
    "equivalence class size": "average-group-size",
    "precision": "precision",
    "loss": "loss",
    "height": "absolute-distance",
}


def _k_anonymity(found: re.Match[str]) -> ArxModel:
    return ArxModel("k-anonymity", {"k": int(found[1])})


def _k_map(found: re.Match[str]) -> ArxModel:
    if found[2] in (None, "unknown"):
        note = f"k-map counts people of a population, so k-anonymity with k = {found[1]} was taken, which asks for more"
        return ArxModel("k-anonymity", {"k": int(found[1])}, (note,))
    note = f"k-map with k = {found[1]} is estimated there from a model of the population, here as k-anonymity"
    return ArxModel("k-anonymity", {"k": int(found[2])}, (note,))


def _distinct(found: re.Match[str]) -> ArxModel:
    return ArxModel("l-diversity", {"l": int(found[1]), "kind": "distinct", "column": found[2]})


def _entropy(found: re.Match[str]) -> ArxModel:
    diversity = math.ceil(float(found[2]))
    notes = [] if diversity == float(found[2]) else [f"l is a whole number here, so {diversity} was taken"]
    if found[1] == "grassberger-":
        notes.append("the entropy is computed as Shannon's, and not estimated as Grassberger does")
    return ArxModel("l-diversity", {"l": diversity, "kind": "entropy", "column": found[3]}, tuple(notes))


def _recursive(found: re.Match[str]) -> ArxModel:
    options = {"l": int(float(found[2])), "kind": "recursive", "c": float(found[1]), "column": found[3]}
    return ArxModel("l-diversity", options)


def _closeness(found: re.Match[str]) -> ArxModel:
    options = {"t": float(found[1]), "distance": found[2], "column": found[3]}
    return ArxModel("t-closeness", options, (SOURCE_OF_TABLE,))


def _disclosure(found: re.Match[str]) -> ArxModel:
    delta = round(float(found[1]) * math.log(2), 12)
    notes = ("delta is in natural logarithms here, and a value that a group lacks counts as disclosed", SOURCE_OF_TABLE)
    return ArxModel("delta-disclosure", {"delta": delta, "column": found[2]}, notes)


def _likeness(found: re.Match[str]) -> ArxModel:
    options: dict[str, Any] = {"beta": float(found[2]), "column": found[3]}
    options |= {"enhanced": True} if found[1] == "enhanced-" else {}
    return ArxModel("beta-likeness", options, (SOURCE_OF_TABLE,))


def _average_risk(found: re.Match[str]) -> ArxModel:
    notes: tuple[str, ...] = ()
    if found[2]:
        notes = ("only the average risk was taken over, and not the highest risk with the share that may exceed it",)
    return ArxModel("average-risk", {"at_most": float(found[1])}, notes)


FORMS: dict[str, Callable[[re.Match[str]], ArxModel]] = {
    r"\(?([0-9]+)\)?-anonymity": _k_anonymity,
    r"\(([0-9]+)\)-map(?: estimated as \(([0-9]+|unknown)\)-anonymity.*)?": _k_map,
    rf"distinct-([0-9]+)-diversity{OF_COLUMN}": _distinct,
    rf"(shannon-|grassberger-)?entropy-{NUMBER}-diversity{OF_COLUMN}": _entropy,
    rf"recursive-\({NUMBER}, ?{NUMBER}\)-diversity{OF_COLUMN}": _recursive,
    rf"{NUMBER}-closeness with (equal|ordered|hierarchical) (?:ground-)?distance{OF_COLUMN}": _closeness,
    rf"{NUMBER}-disclosure privacy{OF_COLUMN}": _disclosure,
    rf"(basic-|enhanced-)?{NUMBER}-likeness{OF_COLUMN}": _likeness,
    rf"\(<?{NUMBER}(, .*)?\)-avg-reidentification-risk": _average_risk,
}
"""Texts of ARX, and how each is read."""
