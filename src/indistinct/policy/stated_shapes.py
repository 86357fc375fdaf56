"""The shapes of what a manifest states of its policy: a remark with private cells has no place in them.

A recipient has no policy to compare it with. What follows from nothing that she holds can still only be said in the
words that a policy of ours has.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, get_args

from indistinct.engine.plans import OPERATORS
from indistinct.policy.column import UNREADABLE, Role, Rule
from indistinct.policy.date_shift import DateShift
from indistinct.registry import MODELS

PLAIN_NAME = re.compile("[a-z][a-z0-9_-]{0,39}")
"""What models, measures, algorithms and their options are called: no place for a sentence."""
PREFIX_NAMES = re.compile(r"value|[\d,]+ characters?|suppressed")
"""What levels are called that keep leading characters, where how many there are follows from the values."""

Shape = Callable[[Any], bool]


def is_plain(said: Any) -> bool:
    """Tell whether something is a name such as those of algorithms, or a key of the kind of options."""
    return isinstance(said, str) and PLAIN_NAME.fullmatch(said) is not None


def is_stated_policy(stated: Mapping[str, Any]) -> bool:
    """Tell whether a policy is stated as ours are; what no recount needs is looked at here alone."""
    columns = stated["columns"]
    return (
        stated.keys() <= STATED
        and all(_is_column(column) for column in columns.values())
        and all(_is_model(terms, {*columns, *stated["quasi_identifiers"]}) for terms in stated["privacy"])
        and all(_is_condition(condition, columns) for condition in stated["eligible"])
        and is_plain(stated["algorithm"])
    )


STATED = frozenset(
    [
        *("columns", "quasi_identifiers", "privacy", "max_suppression", "suppressed_rows", "eligible", "algorithm"),
        *("person", "one_row_per_person"),
    ]
)
"""What a manifest may say of a policy."""


def _is_column(said: Mapping[str, Any]) -> bool:
    is_whole = said["role"] != "quasi" or {"hierarchy", "weight", "missing"} <= said.keys()
    return is_whole and all(name in OF_COLUMN and OF_COLUMN[name](value) for name, value in said.items())


def _is_hierarchy(said: Any) -> bool:
    """Tell whether this is how a hierarchy is described; its levels may have names of the holder's own."""
    if not isinstance(said, dict) or set(said) != {"kind", "height", "levels", "sha256"}:
        return False
    levels, height = said["levels"], said["height"]
    is_counted = levels == [] if height is None else type(height) is int and len(levels) == height + 1
    is_named = isinstance(levels, list) and all(isinstance(name, str) for name in levels)
    is_digest = isinstance(said["sha256"], str) and re.fullmatch("[0-9a-f]{64}", said["sha256"]) is not None
    return is_named and is_counted and is_digest and is_plain(said["kind"])


def _is_recoding(said: Any) -> bool:
    if not isinstance(said, dict) or "level" not in said:
        return False
    hierarchy = {name: value for name, value in said.items() if name != "level"}
    return _is_hierarchy(hierarchy) and _is_level(said["level"])


def _is_level(said: Any) -> bool:
    return (type(said) is int and said >= 0) or isinstance(said, str)


def _is_shift(said: Any) -> bool:
    return isinstance(said, dict) and DateShift.of(said).describe() == said


def _is_model(terms: Mapping[str, Any], names: set[str]) -> bool:
    """Tell whether a model is stated with numbers, words and names of columns alone."""

    def is_term(value: Any) -> bool:
        if isinstance(value, list | dict):
            return all(is_term(one) for one in (value if isinstance(value, list) else [*value, *value.values()]))
        return value is None or isinstance(value, bool | int | float) or value in names or is_plain(value)

    if not is_plain(terms["model"]):
        return False
    known = MODELS.get(terms["model"])
    of_population = ("population", "link") if known is not None and known.asks_population else ()
    given = {name: value for name, value in terms.items() if name not in of_population}  # a file, and its columns
    return all(map(is_plain, given)) and all(map(is_term, given.values()))


def _is_condition(said: Mapping[str, Any], columns: Mapping[str, Any]) -> bool:
    return set(said) == {"column", "op"} and said["column"] in columns and said["op"] in OPERATORS


OF_COLUMN: dict[str, Shape] = {
    "role": lambda said: said in get_args(Role),
    "pseudonym": lambda said: said is True or said == "stable",
    "rename": lambda said: isinstance(said, str),
    "shift": _is_shift,
    **dict.fromkeys(("microaggregate", "noise"), lambda said: isinstance(said, dict)),  # a column is made of them
    "hierarchy": _is_hierarchy,
    "weight": lambda said: type(said) in (int, float),
    "missing": lambda said: said in get_args(Rule),
    **dict.fromkeys(("min_level", "max_level"), _is_level),
    "recode": _is_recoding,
    "missing_codes": lambda said: type(said) is int and said > 0,
    "unreadable": lambda said: said in UNREADABLE,
}
"""What a manifest may say of a column, and what it looks like; anything else could be a remark with private cells."""
