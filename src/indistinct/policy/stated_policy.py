"""The policy that a manifest states: what a recipient can check with nothing but what she was given, and its shapes.

She has no policy to compare it with. What follows from nothing that she holds can still only be said in the words that
a policy of ours has: a remark with private cells has no place in them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, get_args

from indistinct.engine.plans import OPERATORS
from indistinct.errors import IndistinctError, TableError
from indistinct.policy.column import UNREADABLE, Column, Role, Rule
from indistinct.policy.date_shift import DateShift
from indistinct.policy.policy import Policy
from indistinct.registry import MODELS

if TYPE_CHECKING:
    from indistinct.privacy import PrivacyModel

PLAIN_NAME = re.compile("[a-z][a-z0-9_-]{0,39}")
"""What models, measures, algorithms and their options are called: no place for a sentence."""
ALWAYS = (
    "that this is the policy that was agreed on: with the policy file, verify POLICY RELEASE compares it",
    "that released cells are true, and that no more rows were left out than must be: only who has the private table "
    "can prove that",
)


def stated_policy(said: Mapping[str, Any] | None) -> tuple[Policy, tuple[str, ...]]:
    """Return the policy of a manifest as far as it can be checked, and what of it cannot be checked, in words.

    Hierarchies are stated by their digests, so columns have none here: nothing of a recount needs them. Raises a
    TableError if there is no manifest, or none that states a policy.
    """
    if said is None:
        raise TableError(
            "without a policy file only a release folder with its manifest.json can be verified; say verify POLICY "
            "RELEASE, or give the folder"
        )
    try:
        stated = said["policy"]
        if not is_stated_policy(stated):
            raise TableError("the manifest says of its policy what none of ours says")
        models, unchecked = _models(stated)
        columns = {
            name: Column(
                column["role"],
                pseudonym=column.get("pseudonym", False),
                microaggregate=column.get("microaggregate"),
                noise=column.get("noise"),
                rename=column.get("rename"),
                weight=column.get("weight", 1.0),
            )
            for name, column in stated["columns"].items()
        }
        policy = Policy(
            columns,
            models or [MODELS.make("k-anonymity", k=1)],  # a policy asks for something
            stated["max_suppression"],
            stated["quasi_identifiers"],
            suppressed_rows=stated["suppressed_rows"],
            person=stated.get("person"),
            one_row_per_person=stated.get("one_row_per_person", False),
        )
    except (KeyError, TypeError, AttributeError, ValueError, IndistinctError):
        raise TableError("the manifest states no policy that can be read; give the policy file as well") from None
    return policy, (*unchecked, *_unchecked_cells(stated["columns"]), *ALWAYS)


def _models(stated: Mapping[str, Any]) -> tuple[list[PrivacyModel], list[str]]:
    """Make the models that can be judged from the released cells, and say why others cannot."""
    made: list[PrivacyModel] = []
    unchecked = []
    for terms in stated["privacy"]:
        fields = dict(terms)
        name = fields.pop("model")
        if name not in MODELS:
            unchecked.append(f"{name}: a model that is not installed here")
        elif MODELS[name].asks_population:
            unchecked.append(f"{name}: needs the population table")
        elif any(isinstance(value, list) for value in fields.values()):
            unchecked.append(f"{name}: has a limit for each of some values, which the manifest does not name")
            made.append(_without_limits(fields))
        elif fields.get("distance") == "hierarchical":
            unchecked.append(f"{name}: needs the hierarchy of the sensitive column")
            made.append(_without_limits(fields))
        else:
            made.append(MODELS.make(name, **fields))
    return made, unchecked


def _unchecked_cells(columns: Mapping[str, Any]) -> list[str]:
    """Say of which columns only who has the policy can tell whether cells are as it demands."""
    demanded = [name for name, said in columns.items() if "min_level" in said or "recode" in said]
    coded = [name for name, said in columns.items() if "missing_codes" in said]
    words = [f"that no label of {', '.join(demanded)} is finer than stated: needs the hierarchies"] if demanded else []
    return words + ([f"that {', '.join(coded)} show no code that means missing: needs the codes"] if coded else [])


def _without_limits(fields: Mapping[str, Any]) -> PrivacyModel:
    """Return a model that asks about the same values, of the same groups, and sets no limit to their shares."""
    return MODELS.make("alpha-k", alpha=1.0, k=fields.get("k", 1), column=fields.get("column"), on=fields.get("on"))


Shape = Callable[[Any], bool]


def is_plain(said: Any) -> bool:
    """Return whether something is a name such as those of algorithms, or a key of the kind of options."""
    return isinstance(said, str) and PLAIN_NAME.fullmatch(said) is not None


def is_stated_policy(stated: Mapping[str, Any]) -> bool:
    """Return whether a policy is stated as ours are; what no recount needs is looked at here alone."""
    columns = stated["columns"]
    return (
        stated.keys() <= STATED
        and all(_is_column(column) for column in columns.values())
        and _are_quasi_identifiers(stated["quasi_identifiers"], columns)
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


def _are_quasi_identifiers(said: Any, columns: Mapping[str, Any]) -> bool:
    """Return whether sets of quasi columns are named, each with every column once; a policy of ours has one at
    least.
    """
    quasi = {name for name, column in columns.items() if column["role"] == "quasi"}
    return (
        isinstance(said, dict)
        and bool(said)
        and all(isinstance(names, list) and 0 < len(names) == len(set(names)) for names in said.values())
        and all(quasi.issuperset(names) for names in said.values())
    )


def _is_column(said: Mapping[str, Any]) -> bool:
    is_whole = said["role"] != "quasi" or {"hierarchy", "weight", "missing"} <= said.keys()
    return is_whole and all(name in OF_COLUMN and OF_COLUMN[name](value) for name, value in said.items())


def _is_hierarchy(said: Any) -> bool:
    """Return whether this is how a hierarchy is described; its levels may have names of the holder's own."""
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
    """Return whether a model is stated with numbers, words and names of columns alone."""

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
