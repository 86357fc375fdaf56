"""Every check has a sentence, made from its id and numbers; nothing else is asked of the words."""

from __future__ import annotations

from typing import Any

import pytest

from indistinct.proof.checks import Check, NotChecked
from indistinct.proof.sentences import NEVER, NOT_CHECKED, WORDS

ON: dict[str, Any] = {"terms": {"k": 2}, "on": "all", "noun": "group", "unit": "row", "groups": 5}
SETS = {
    "terms": {"k": 2, "known": 1},
    "on": "all",
    "unit": "person",
    "known": 1,
    "columns": 3,
    "sets": 3,
    "smallest": 2,
}
COLUMNS = {
    "identifiers": ["id"],
    "to_rename": {"sex": "gender"},
    "unknown": ["x"],
    "elsewhere": ["y"],
    "missing": ["z"],
}
FILES = {"tables": 1, "changed": False, "strange": []}
MEANS = {"column": "pay", "how": "means", "numbers": 9, "k": 3}
NOISE = {"column": "pay", "how": "noise", "kind": "uniform", "scale": 2.0}
EXAMPLES = [
    Check("model.k-anonymity", True, ON | {"smallest": 2}),
    Check("model.k-anonymity", False, ON | {"failing": 1, "inside": 3}),
    Check("people.model.k-anonymity", True, ON | {"noun": "profile", "unit": "person", "smallest": 2}),
    Check("people.model.k-anonymity", True, SETS),
    Check("people.model.k-anonymity", False, SETS | {"failing_sets": 1, "failing": 2, "where": ["a"]}),
    Check("model.l-diversity", False, {"on": "all", "why": "no sensitive column"}),
    Check("model.k-map", False, {"why": "exact quasi cells"}),
    Check("model.k-anonymity", False, {"why": "exact known columns"}),
    Check("people.model.l-diversity", False, {"on": "all", "why": "partly released", "tuples": 2}),
    Check("manifest.files", True, FILES),
    Check("manifest.files", True, FILES | {"tables": 2}),
    Check("manifest.files", False, FILES | {"changed": True, "strange": ["a file"]}),
    Check("manifest.policy", True),
    Check("manifest.policy", False),
    Check("manifest.signature", True, {"key": "ab", "wrong": None}),
    Check("manifest.signature", False, {"key": "ab", "wrong": "it is another"}),
    Check("manifest.statements", True),
    Check("manifest.statements", False, {"wrong": ["groups"]}),
    Check("manifest.search", True, {"blind": True, "randomised": False}),
    Check("manifest.search", False, {"wrong": ["blind", "not blind", "randomised", "not randomised"]}),
    Check("manifest.measures", True, {"checked": 11, "bounded": ["loss"]}),
    Check("manifest.measures", True, {"checked": 1, "bounded": []}),
    Check("manifest.measures", False, {"wrong": ["loss"]}),
    Check("manifest.people", False, {"eligible": 5}),
    Check("manifest.rows", False, {"stays": 5, "people": 3}),
    Check("manifest.unsafe", False),
    Check("files.canonical", True, {"same": ["table.csv"], "order": [], "differing": []}),
    Check("files.canonical", True, {"same": [], "order": [], "differing": []}),
    Check("files.canonical", False, {"same": [], "order": ["table"], "differing": ["table.csv"]}),
    Check("files.readers", False, {"strange": ["a file"]}),
    Check("cells.missing", False, {"columns": ["age"]}),
    Check("cells.columns", True, {"table": "quasi", "columns": 3}),
    Check("cells.columns", False, COLUMNS | {"renamed": {"z": "new"}}),
    Check("cells.rows", False),
    Check("cells.pseudonyms", True, {"column": "id", "wrong": 0}),
    Check("cells.pseudonyms", False, {"column": "id", "wrong": 2}),
    Check("cells.codes", True, {"column": "age", "cells": 0}),
    Check("cells.codes", False, {"column": "age", "cells": 1}),
    Check("cells.level", True, {"column": "age", "level": 1, "finer": 0}),
    Check("cells.level", False, {"column": "age", "level": "year", "finer": 2}),
    Check("cells.perturbed", True, {"column": "pay", "noise": "released with noise"}),
    Check("cells.perturbed", True, {"column": "pay", "k": 3, "means": 2}),
    Check("cells.perturbed", False, {"column": "pay", "k": 3, "alone": 2}),
    Check("cells.perturbed", False, {"column": "pay", "no_numbers": 2}),
    Check("classes.sizes", True, {"classes": 3}),
    Check("classes.sizes", False, {"classes": 3, "differing": 1, "digits": 2}),
    Check("classes.sizes", False, {"classes": 3, "differing": 0, "digits": 2}),
    Check("classes.order", False, {"told": ["both", "quasi", "sensitive"]}),
    Check("classes.sensitive", False),
    Check("classes.join", True, {"k": 2, "linked": None}),
    Check("classes.join", False, {"k": 2, "linked": 1}),
    Check("tables.names", True, {"tables": 2}),
    Check("tables.names", False, {"missing": ["a"], "unknown": ["b"]}),
    Check("histories.sets", True, {"known": 2, "k": 5, "sets": 94, "smallest": 5}),
    Check("histories.sets", True, {"known": 1, "k": 5, "sets": 0, "smallest": 0}),
    Check("histories.sets", False, {"known": 2, "k": 5, "sets": 94, "smallest": 1, "failing": 3}),
    Check("histories.values", True, {"known": 2, "sure": 0}),
    Check("histories.values", False, {"known": 2, "sure": 4}),
    Check("truth.histories", True, {"pseudonyms": 300}),
    Check("truth.histories", False, {"pseudonyms": 300, "wrong": 2}),
    Check("tables.references", True),
    Check(
        "tables.references",
        False,
        {"wrong": {"a": dict.fromkeys(["dangling", "strangers", "repeated", "unlisted"], 1)}},
    ),
    Check("people.uncounted", True),
    Check("people.stated", True),
    Check("people.stated", False, {"released": 3}),
    Check("people.groups", True, {"groups": 3, "smallest": 2}),
    Check("people.groups", False, {"groups": 3, "failing": 1, "least": 2}),
    Check("suppression.limit", True, {"suppressed": 1, "rows": 10, "allowed": 2}),
    Check("suppression.limit", False, {"suppressed": 3, "rows": 10, "allowed": 2}),
    Check("suppression.stated", False, {"stated": 1, "suppressed": 2}),
    *(
        Check("suppression.least", True, {"how": how, "suppressed": 1, "required": 1})
        for how in ("exact", "at least", "with the smallest group")
    ),
    Check("suppression.least", True, {"how": "not proved", "suppressed": 1, "eligible": 9, "allowed": 2}),
    Check("suppression.least", True, {"how": "not proved", "suppressed": 1, "eligible": 9, "allowed": None}),
    Check("suppression.least", False, {"how": "exact", "suppressed": 2, "required": 1}),
    Check("truth.rows", True, {"rows": 9, "cell_by_cell": True, "perturbed": ["pay"]}),
    Check("truth.rows", True),
    Check("truth.rows", False, {"rows": 2}),
    Check("truth.rows", False, {"columns": ["age"]}),
    Check("truth.rows", False, {"blank": 2}),
    Check("truth.rows", False, {"quasi": 1, "sensitive": 1, "classes": 1}),
    Check("truth.rows", False, {"quasi": 1, "sensitive": 0, "classes": 0}),
    Check("truth.levels", False),
    Check("truth.unreadable", True, {"found": {"age": 1}}),
    Check("truth.unreadable", False, {"found": {}, "stated": {"age": 1}}),
    *(Check("truth.linked_rows", True, {"why": why}) for why in ("engines", "single rows", "cell by cell")),
    Check("truth.linked_rows", True),
    Check("truth.linked_rows", False, {"wrong": 2, "unit": "row"}),
    Check("truth.linked_rows", False, {"wrong": 2, "unit": "pseudonym"}),
    Check("truth.dates", True, {"days": 9}),
    Check("truth.dates", False, {"days": 9, "pseudonyms": 2, "how": "distances"}),
    Check("truth.dates", False, {"days": 9, "pseudonyms": 2, "how": "too far"}),
    Check("truth.perturbed", True, {"column": "pay", "how": "unknown"}),
    Check("truth.perturbed", True, MEANS | {"wrong": 0}),
    Check("truth.perturbed", True, NOISE | {"wrong": 0}),
    Check("truth.perturbed", True, NOISE | {"kind": "laplace"}),
    Check("truth.perturbed", False, MEANS | {"wrong": 1}),
    Check("truth.perturbed", False, NOISE | {"wrong": 1}),
    Check("truth.perturbed", False, MEANS | {"how": "no cluster"}),
    *(
        Check("truth.perturbed", False, {"column": "pay", "how": how, "no_numbers": 1})
        for how in ("no number", "no number in original", "missing")
    ),
]


@pytest.mark.parametrize("check", EXAMPLES, ids=lambda check: f"{check.id} {check.passed}")
def test_every_check_has_a_sentence_that_takes_its_numbers(check: Check) -> None:
    assert check.name
    assert check.detail
    assert "{" not in check.name + check.detail


def test_every_id_has_an_example_of_each_outcome() -> None:
    shown = {(check.id, check.passed) for check in EXAMPLES}
    for name, words in WORDS.items():
        assert words.holds is NEVER or (name, True) in shown, name
        assert words.fails is NEVER or (name, False) in shown, name


@pytest.mark.parametrize(
    ("what", "numbers"),
    [
        *(("model", {"model": "k-map", "why": why}) for why in ("not installed", "population", "limits", "hierarchy")),
        ("cells.level", {"columns": ["age"]}),
        ("cells.codes", {"columns": ["age"]}),
        ("policy", {}),
        ("truth", {}),
        ("manifest.signature", {}),
        ("manifest.statements", {"statements": ["made_at"], "measures": ["loss"], "other_measures": 1}),
        ("files.canonical", {"no_files": ["table"], "not_canonical": ["table.xlsx"]}),
    ],
)
def test_what_was_not_checked_has_a_sentence(what: str, numbers: dict[str, Any]) -> None:
    assert what in NOT_CHECKED
    assert str(NotChecked(what, numbers))
