"""The verdict that a manifest states, compared with the recount: its counts, and each check by its id and numbers.

It has exactly the checks that the recount makes, in their order. Without the policy some checks cannot be repeated;
without the original no check of people can. Of those it is known that they were made, and which numbers are possible.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from indistinct.policy import Policy
from indistinct.policy.stated_policy import StatedPolicy, as_text
from indistinct.privacy import KAnonymity
from indistinct.proof.checks import CLASSES, Check, Recount, implied_of_rows, model_numbers
from indistinct.registry import MODELS
from indistinct.release.manifest import Manifest, StatedCheck

HEAD = ("cells.columns", "cells.rows", "cells.pseudonyms", "classes.sizes")
"""Checks that come before those of single cells."""
Terms = Mapping[str, Any]
Numbers = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Possible:
    """A check that cannot be made here: what tells it apart from others, and whether its other numbers are possible."""

    id: str
    numbers: Numbers
    allows: Callable[[bool, Numbers], bool]

    def is_said_by(self, stated: StatedCheck) -> bool:
        """Return whether a stated check says what it may say."""
        own = {name: value for name, value in stated.numbers.items() if name in self.numbers}
        rest = {name: value for name, value in stated.numbers.items() if name not in self.numbers}
        is_same = stated.id == self.id and as_text(own) == as_text(dict(self.numbers))
        return is_same and self.allows(stated.passed, rest)


Expected = list[Check | Possible]
"""The checks that a verdict must have, in their order."""


def states_recount(
    stated: Manifest, policy: Policy, found: Recount, recount: Sequence[Check] | None, *, is_stated: bool
) -> bool:
    """Return whether a manifest states the verdict that the recount finds; None if that was made under another policy.

    ``is_stated`` says that there is no policy but the one that the manifest states: some checks cannot be made then.
    """
    said = stated.verdict
    known = [one.to_dict() for one in found.known]
    is_counted = (
        (said.rows, said.groups, said.smallest_group) == (found.rows, len(found.sizes), found.smallest)
        and as_text([one.to_dict() for one in said.known or ()]) == as_text(known)
        and said.known != ()
        and said.passed is all(check.passed for check in said.checks)
    )
    if recount is None or not is_counted:
        return is_counted
    expected = _expected_checks(stated, policy, recount, stated.policy if is_stated else None)
    return len(expected) == len(said.checks) and all(
        own.is_said_by(check) if isinstance(own, Possible) else as_text(own.to_dict()) == as_text(check.to_dict())
        for own, check in zip(expected, said.checks, strict=True)
    )


def _expected_checks(
    stated: Manifest, policy: Policy, recount: Sequence[Check], described: StatedPolicy | None
) -> Expected:
    """Return the checks that whoever made the release made of it without the original, in their order."""
    own: Expected = list(recount)
    terms = [model.terms() for model in policy.privacy]
    asked = terms if described is None else list(described.privacy)
    if described is not None:
        own = _with_those_of_policy(own, stated, policy, described)
    if not policy.person_columns or not stated.shape.blanks:
        return own
    if not policy.links_rows:  # else pseudonyms show them, and they were counted
        own += [_in_people(one, where, own, stated, policy) for one, where in _asked_terms(asked, policy)]
    if policy.suppressed_rows == "remove" or not stated.suppressed:
        own.append(Possible("people.stated", {}, lambda passed, rest: passed and not rest))
    return own


def _key(check: Check | Possible) -> str:
    """Return what tells the checks of models apart: the model, its terms and its quasi-identifier."""
    return as_text([check.id, check.numbers.get("terms"), check.numbers.get("on")])


def _model_key(terms: Terms, where: str, kind: str = "model") -> str:
    numbers = model_numbers(terms, where)
    return as_text([f"{kind}.{terms['model']}", numbers["terms"], where])


def _in_people(terms: Terms, where: str, own: Expected, stated: Manifest, policy: Policy) -> Possible:
    """Return the check of a model in people: as many groups as that of rows has, of no more people than rows."""
    numbers = model_numbers(terms, where)
    key = _model_key(terms, where)
    alike = [check for check in own if _key(check) == key] + [c for c in own if c.numbers.get("on") == where]
    rows = next((check.numbers for check in alike if isinstance(check, Check) and check.passed), {})
    fixed = {name: rows[name] for name in ("groups", "noun", "known", "columns", "sets") if name in rows}
    model = MODELS.get(terms["model"])
    exact = None
    if "sets" not in rows and not (model is not None and model.asks_population):
        exact = _people_of_smallest_group(where, stated, policy)

    def allows(passed: bool, rest: Numbers) -> bool:
        smallest, least = rest.get("smallest"), 1 if exact is None else exact
        most = rows.get("smallest", stated.released) if exact is None else exact
        names = {"smallest"} if rows else {"smallest", "groups", "noun"}
        return passed and rest.keys() == names and type(smallest) is int and least <= smallest <= most

    return Possible(f"people.model.{terms['model']}", {**numbers, **fixed, "unit": "person"}, allows)


def _people_of_smallest_group(where: str, stated: Manifest, policy: Policy) -> int | None:
    """Return the people of the smallest group by a quasi-identifier, if it has all quasi columns and that is stated."""
    has_all = set((policy.quasi_identifiers or {}).get(where, ())) == set(policy.quasi)
    is_whole = policy.suppressed_rows == "remove" or not stated.suppressed  # no blank rows are a group as well
    return stated.people.smallest_group if has_all and is_whole and stated.people is not None else None


def _with_those_of_policy(own: Expected, stated: Manifest, policy: Policy, described: StatedPolicy) -> Expected:
    """Put the checks that only who has the policy can make among those that were made without it.

    They ask for hierarchies, for codes that mean a missing cell, for a population or for limits of single values. What
    stood in for a model that cannot be made here is taken out.
    """
    head = next((place for place, check in enumerate(own) if check.id not in HEAD), len(own))
    columns = described.columns or {}
    made, asked = [model.terms() for model in policy.privacy], described.privacy
    if not stated.shape.generalizes:
        new = {one: name for name, one in policy.renamed.items()}
        names = [new.get(name, name) for table in sorted(stated.tables) for name in stated.tables[table].columns]
        cells: Expected = [_codes(name) for name in names if name in columns and columns[name].missing_codes]
        return _exchange(
            [*own[:head], *cells, *own[head:]],
            [_model_key(terms, CLASSES) for terms in made],
            [_unmade(terms, CLASSES, "class", own) for terms in asked],
        )
    free = [name for name in policy.compared_columns if name not in policy.quasi]
    cells = [_level(name, one.demanded_level) for name, one in columns.items() if one.demanded_level is not None]
    cells += [_codes(name) for name in free if columns[name].missing_codes and columns[name].shift is None]
    own = [*own[:head], *cells, *own[head:]]
    if policy.links_rows:
        own = _exchange(
            own,
            [_model_key(*one, kind="people.model") for one in _asked_terms(made, policy)],
            [_unmade(*one, "profile", own, in_people=True) for one in _asked_terms(asked, policy)],
        )
    return _exchange(
        own,
        [_model_key(*one) for one in _terms_on_rows(made, policy)],
        [_unmade(*one, "group", own) for one in _terms_on_rows(asked, policy)],
    )


def _exchange(own: Expected, made: Sequence[str], asked: Sequence[Possible]) -> Expected:
    """Put the checks that were asked for in the place of those that were made; what was made stays as it is."""
    first = next((place for place, check in enumerate(own) if _key(check) in made), len(own))
    known = {_key(check): check for check in own}
    rest = [check for check in own[first:] if _key(check) not in made]
    return [*own[:first], *(known.get(_key(one), one) for one in asked), *rest]


def _unmade(terms: Terms, where: str, noun: str, own: Expected, *, in_people: bool = False) -> Possible:
    """Return the check of a model that was not made: where it holds, its groups are those of others on the same
    columns.
    """
    kind, unit = ("people.model", "person") if in_people else ("model", "row")
    alike = [
        check.numbers
        for check in own
        if isinstance(check, Check)
        and check.passed
        and check.numbers.get("on") == where
        and check.numbers.get("unit") == unit
        and "sets" not in check.numbers
    ]
    found = {name: alike[0][name] for name in ("groups", "smallest")} if alike else None

    def allows(passed: bool, rest: Numbers) -> bool:
        if passed:
            is_counted = rest.keys() == {"groups", "smallest"} and _are_counts(rest)
            return is_counted and (found is None or as_text(dict(rest)) == as_text(found))
        return (
            rest.keys() == {"groups", "failing", "inside"} and _are_counts(rest) and rest["failing"] <= rest["groups"]
        )

    return Possible(f"{kind}.{terms['model']}", model_numbers(terms, where) | {"noun": noun, "unit": unit}, allows)


def _are_counts(numbers: Numbers) -> bool:
    return all(type(number) is int and number > 0 for number in numbers.values())


def _level(name: str, level: int | str) -> Possible:
    return Possible("cells.level", {"column": name, "level": level}, _counts_wrong("finer"))


def _codes(name: str) -> Possible:
    return Possible("cells.codes", {"column": name}, _counts_wrong("cells"))


def _counts_wrong(what: str) -> Callable[[bool, Numbers], bool]:
    """Return the rule of checks that count what is wrong: none where they hold."""

    def allows(passed: bool, rest: Numbers) -> bool:
        number = rest.get(what)
        return rest.keys() == {what} and type(number) is int and (number == 0 if passed else number > 0)

    return allows


def _asked_terms(terms: Sequence[Terms], policy: Policy) -> list[tuple[Terms, str]]:
    """Return the terms of every model with every quasi-identifier that it is asked of, in the order of a recount."""
    assert policy.quasi_identifiers is not None  # set when the policy was made
    return [(one, where) for where in policy.quasi_identifiers for one in terms if one.get("on") in (None, where)]


def _terms_on_rows(terms: Sequence[Terms], policy: Policy) -> list[tuple[Terms, str]]:
    """Return the models that are asked of rows; where people are counted, what each model implies about their rows."""
    asked = _asked_terms(terms, policy)
    if not policy.person_columns:
        return asked
    implied = [(implied_terms(one, links_rows=policy.links_rows), where) for one, where in asked]
    return [(one, where) for one, where in implied if one is not None]


def implied_terms(terms: Terms, *, links_rows: bool = False) -> Terms | None:
    """Return the terms of what a model of people implies about their rows; None if that is nothing."""
    given = {name: value for name, value in terms.items() if name != "model"}
    if terms["model"] not in MODELS or MODELS[terms["model"]].asks_population:
        return terms
    if any(isinstance(value, list) for value in given.values()):  # limits of single values, which are not named
        return KAnonymity(given["k"], given.get("on")).terms()
    implied = implied_of_rows(MODELS.make(terms["model"], **given), links_rows=links_rows)
    return None if implied is None else implied.terms()
