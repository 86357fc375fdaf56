"""The verdict that a manifest states, compared with the recount: its counts, and each check in its very words.

It has exactly the checks that the recount makes, in their order. Who has no policy cannot make some of them, and who
has no original none of people: of those stands there that they were made, and what they may say.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from indistinct.policy import Policy
from indistinct.privacy import KAnonymity
from indistinct.proof.checks import CLASSES, Check, Recount, stated_words
from indistinct.registry import MODELS
from indistinct.release.forms import TWO_TABLES

IN_PEOPLE = "people: "
HEAD = ("columns", "rows", "classes", "pseudonyms in ")
"""How checks begin that come before those of cells."""


class Words(NamedTuple):
    """What a check that cannot be made here says where it holds, and where it fails."""

    holds: re.Pattern[str]
    fails: re.Pattern[str] | None = None
    least: range | None = None
    """How many people there can be at the least, where the words that hold name their number."""

    def allow(self, said: Mapping[str, Any]) -> bool:
        """Return whether a stated check says what it may say."""
        words = self.holds if said["passed"] else self.fails
        found = None if words is None else words.fullmatch(said["detail"])
        if found is None or self.least is None:
            return found is not None
        return int(found["least"].replace(",", "")) in self.least


Expected = list[tuple[str, Check | Words]]
"""The checks that a verdict must have: what they are called, and what each says."""

PEOPLE_WORDS = Words(
    re.compile(
        r"[\d,]+ (groups?|profiles?), the smallest of [\d,]+ (person|people)|"
        r"any (one|\d+) of \d+ quasi columns? (is|together are) shared by at least [\d,]+ (person|people); "
        r"\d+ sets? of columns counted"
    )
)
"""What a check of people says; the release does not tell whose its rows are, so only words are compared."""
ROWS = re.compile(r"([\d,]+) rows?")
MANIFEST_WORDS = Words(re.compile("the rows have the people of the manifest"))
MODEL_WORDS = Words(
    re.compile(r"[\d,]+ (groups?|class(es)?), the smallest of [\d,]+ rows?"),
    re.compile(r"[\d,]+ of [\d,]+ (groups|classes) fail, [\d,]+ rows? in them"),
)
CODE_WORDS = Words(
    re.compile("no cell shows a code that means missing"),
    re.compile(r"[\d,]+ cells? shows? a code that means missing, instead of none"),
)


def verdict_mistakes(
    manifest: Mapping[str, Any],
    policy: Policy,
    found: Recount,
    recount: Sequence[Check] | None,
    *,
    described: Mapping[str, Any] | None = None,
) -> list[str]:
    """Compare the verdict that a manifest states with the recount; None if that was made under another policy.

    The words of checks are those of every version so far: else a manifest that names another one could say anything.
    ``described`` is the policy as the manifest states it, if there is no other: some of its checks cannot be made
    then.
    """
    stated = manifest.get("verdict")
    if stated is None:
        return []
    counts = {"rows": found.rows, "groups": len(found.sizes), "smallest_group": found.smallest}
    checks = stated.get("checks")
    if set(stated) - {"passed", "checks", "known", *counts} or not isinstance(checks, list):
        return ["verdict says what no verdict says"]
    if not all(_is_check(said) for said in checks):
        return ["verdict has a check that is none"]
    wrong = [
        f"verdict.{name} is {count}, as is counted, not what it says"
        for name, count in counts.items()
        if type(stated.get(name)) is not int or stated[name] != count
    ]
    known = [one.to_dict() for one in found.known]
    if json.dumps(stated.get("known", []), sort_keys=True) != json.dumps(known, sort_keys=True):  # True is not 1
        wrong.append("verdict.known is not what is counted")
    if recount is not None:
        wrong += _check_mistakes(checks, _expected_checks(manifest, policy, recount, described))
    has_passed = all(said["passed"] for said in checks)
    if stated.get("passed") is not has_passed or (manifest.get("unsafe") is True) is has_passed:
        wrong.append("verdict, its checks and unsafe do not say the same")
    return wrong


def _is_check(said: Any) -> bool:
    if not isinstance(said, dict) or set(said) != {"name", "passed", "detail"}:
        return False
    return isinstance(said["name"], str) and isinstance(said["detail"], str) and type(said["passed"]) is bool


def _check_mistakes(checks: Sequence[Mapping[str, Any]], expected: Expected) -> list[str]:
    """Say whether checks are missing, too many or in another order, or come out otherwise than here."""
    if [said["name"] for said in checks] != [name for name, _ in expected]:
        return ["verdict does not list the checks that the recount makes"]
    is_same = all(
        own.allow(said) if isinstance(own, Words) else (said["passed"], said["detail"]) == (own.passed, own.detail)
        for said, (_, own) in zip(checks, expected, strict=True)
    )
    return [] if is_same else ["verdict has a check that comes out otherwise"]


def _expected_checks(
    manifest: Mapping[str, Any], policy: Policy, recount: Sequence[Check], described: Mapping[str, Any] | None
) -> Expected:
    """Return the checks that whoever made the release made of it without the original, in their order."""
    own: Expected = [(check.name, check) for check in recount]
    if described is not None:
        own = _with_those_of_policy(own, manifest, policy, described)
    if not policy.person_columns or "form" in manifest:
        return own
    if not policy.links_rows:  # else pseudonyms tell them, and they were counted
        terms = described["privacy"] if described is not None else _terms(policy)
        own += [
            _in_people(one, where, own, _least_people(manifest, policy)) for one, where in _asked_terms(terms, policy)
        ]
    if policy.suppressed_rows == "remove" or not manifest["suppressed"]:
        own.append((f"{IN_PEOPLE}manifest", MANIFEST_WORDS))
    return own


def _least_people(manifest: Mapping[str, Any], policy: Policy) -> tuple[set[str], int | None]:
    """Return the names of all quasi columns together, and the people of the smallest group by them, if that is told."""
    is_whole = policy.suppressed_rows == "remove" or not manifest["suppressed"]  # no blank rows are a group as well
    names = {name for name, columns in (policy.quasi_identifiers or {}).items() if set(columns) == set(policy.quasi)}
    return names, manifest.get("people", {}).get("smallest_group") if is_whole else None


def _in_people(
    terms: Mapping[str, Any], where: str, own: Expected, smallest: tuple[set[str], int | None]
) -> tuple[str, Words]:
    """Return what a check of people is called, and what it says: what that of rows does, of no more people than
    rows.
    """
    name = stated_words(terms, where)
    alike = [check for other, check in own if other == name] + _made_on(where, own)
    rows = next((check.detail for check in alike if isinstance(check, Check) and check.passed), "")
    found = ROWS.search(rows)
    if found is None:
        return f"{IN_PEOPLE}{name}", PEOPLE_WORDS
    before, after = re.escape(rows[: found.start()]), re.escape(rows[found.end() :])
    least = range(1, int(found[1].replace(",", "")) + 1)
    names, people = smallest
    model = MODELS.get(terms["model"])
    if where in names and people is not None and not after and not (model is not None and model.asks_population):
        least = range(people, people + 1)
    return f"{IN_PEOPLE}{name}", Words(re.compile(rf"{before}(?P<least>[\d,]+) (person|people){after}"), least=least)


def _made_on(where: str, own: Expected) -> list[Check]:
    """Return the checks of groups that were made on the same columns: they have as many groups, and the same
    smallest.
    """
    return [check for name, check in own if name.endswith(f" on {where}") and isinstance(check, Check)]


def _with_those_of_policy(
    own: Expected, manifest: Mapping[str, Any], policy: Policy, described: Mapping[str, Any]
) -> Expected:
    """Put the checks that only who has the policy can make among those that were made without it.

    They ask for hierarchies, for codes that mean a missing cell, for a population or for limits of single values. What
    stood in for a model that cannot be made here is taken out.
    """
    head = next((place for place, (name, _) in enumerate(own) if not name.startswith(HEAD)), len(own))
    if manifest.get("form") == TWO_TABLES.stated:
        cells = _codes(described, _columns_of_two(manifest, policy))
        made, asked = (
            [stated_words(one, CLASSES) for one in terms] for terms in (_terms(policy), described["privacy"])
        )
    else:
        free = [name for name in policy.compared_columns if name not in policy.quasi]
        cells = _levels(described) + _codes(described, [n for n in free if "shift" not in described["columns"][n]])
        made, asked = (_names_on_rows(terms, policy) for terms in (_terms(policy), described["privacy"]))
    own = [*own[:head], *cells, *own[head:]]
    if policy.links_rows:
        counted, told = (
            [f"{IN_PEOPLE}{stated_words(*one)}" for one in _asked_terms(terms, policy)]
            for terms in (_terms(policy), described["privacy"])
        )
        own = _exchange_checks(own, counted, told, PEOPLE_WORDS)
    return _exchange_checks(own, made, asked, MODEL_WORDS)


def _exchange_checks(own: Expected, made: Sequence[str], asked: Sequence[str], words: Words) -> Expected:
    """Put the checks that were asked for in the place of those that were made; what was not made has its words."""
    first = next((place for place, (name, _) in enumerate(own) if name in made), len(own))
    known, rest = dict(own), [(name, check) for name, check in own[first:] if name not in made]
    return [*own[:first], *((name, known.get(name) or _words_of(name, own, words)) for name in asked), *rest]


def _words_of(name: str, own: Expected, words: Words) -> Words:
    """Return what a check of groups says that was not made: where it holds, what others say of the same groups."""
    where = name.partition(") on ")[2]
    found = {check.detail for check in _made_on(where, own) if check.passed and words.holds.fullmatch(check.detail)}
    return Words(re.compile("|".join(map(re.escape, found))), words.fails) if found else words


def _terms(policy: Policy) -> list[dict[str, Any]]:
    return [model.terms() for model in policy.privacy]


def _asked_terms(terms: Sequence[Mapping[str, Any]], policy: Policy) -> list[tuple[Mapping[str, Any], str]]:
    """Return the terms of every model with every quasi-identifier that it is asked of, in the order of a recount."""
    assert policy.quasi_identifiers is not None  # set when the policy was made
    return [(one, where) for where in policy.quasi_identifiers for one in terms if one.get("on") in (None, where)]


def _names_on_rows(terms: Sequence[Mapping[str, Any]], policy: Policy) -> list[str]:
    """Name the checks of models on rows; where people are counted, of what each model implies about their rows."""
    if not policy.person_columns:
        return [stated_words(*one) for one in _asked_terms(terms, policy)]
    implied = [(_implied_terms(one), where) for one, where in _asked_terms(terms, policy)]
    return [stated_words(one, where) for one, where in implied if one is not None]


def _implied_terms(terms: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return the terms of what a model of people implies about their rows; None if that is nothing."""
    fields = {name: value for name, value in terms.items() if name != "model"}
    name = terms["model"]
    if name not in MODELS or MODELS[name].asks_population or "known" in fields:
        return terms
    if any(isinstance(value, list) for value in fields.values()):  # limits of single values, which are not named
        return KAnonymity(fields["k"], fields.get("on")).terms()
    floor = MODELS.make(name, **fields).floor
    return None if floor is None else floor.terms()


def _levels(described: Mapping[str, Any]) -> Expected:
    """Return the checks of the levels that a policy demands."""
    columns = described["columns"].items()
    levels = {name: said.get("min_level", said.get("recode", {}).get("level")) for name, said in columns}
    return [(f"level of {name}", _level_words(level)) for name, level in levels.items() if level is not None]


def _level_words(level: int | str) -> Words:
    """Return what the check of a level that a policy demands may say."""
    return Words(
        re.compile(rf"no value of the table is shown below level {re.escape(str(level))}"),
        re.compile(rf"[\d,]+ labels? (is|are) finer than {re.escape(repr(level))}, which the policy demands"),
    )


def _codes(described: Mapping[str, Any], names: Sequence[str]) -> Expected:
    """Return the checks that cells show no code that means missing."""
    columns = described["columns"]
    return [(f"missing cells in {name}", CODE_WORDS) for name in names if "missing_codes" in columns[name]]


def _columns_of_two(manifest: Mapping[str, Any], policy: Policy) -> list[str]:
    """Return the columns of two tables in their order, under the names of the policy."""
    own = {new: name for name, new in policy.renamed.items()}
    stated = [name for table in sorted(manifest["tables"]) for name in manifest["tables"][table]]
    return [own.get(name, name) for name in stated if own.get(name, name) in policy.columns]
