"""The sentences of checks: what each is called and what it found, made from its id and numbers when it is shown.

Nothing compares these words, so they may change at any time. Ids and numbers may not: manifests state them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from indistinct.showing.words import counted, term_words

Numbers = Mapping[str, Any]
PLURALS = {"group": "groups", "class": "classes", "row": "rows", "person": "people", "profile": "profiles"}


class Wording(NamedTuple):
    """What a check is called, and what it says where it holds and where it fails."""

    name: str
    holds: Callable[[Numbers], str]
    fails: Callable[[Numbers], str]


def check_name(check_id: str, numbers: Numbers) -> str:
    """Return what a check is called: a model with its terms, else the words of its id and what it is about."""
    table = f"{numbers['table']}: " if "table" in numbers else ""
    if check_id not in WORDS:
        counted_in = "people: " if check_id.startswith("people.") else ""
        return f"{table}{counted_in}{model_name(check_id.rpartition('.')[2], numbers)}"
    column = f" {numbers['column']}" if "column" in numbers else ""
    return f"{table}{WORDS[check_id].name}{column}"


def check_detail(check_id: str, passed: bool, numbers: Numbers) -> str:
    """Return what a check found."""
    if check_id not in WORDS:
        return _model_detail(passed, numbers)
    words = WORDS[check_id]
    return (words.holds if passed else words.fails)(numbers)


def model_name(model: str, numbers: Numbers) -> str:
    """Return what the check of a model is called: its terms, and the quasi-identifier that it is asked of."""
    if "terms" not in numbers:
        return f"{model} on {numbers['on']}" if "on" in numbers else model
    terms = ", ".join(f"{name} = {term_words(value)}" for name, value in numbers["terms"].items())
    return f"{model} ({terms}) on {numbers['on']}"


def count_words(number: int, unit: str) -> str:
    """Return a number with its unit: rows, people, groups, classes or profiles."""
    return counted(number, unit, PLURALS[unit])


def known_columns_words(numbers: Numbers) -> str:
    """Return what holds for whoever knows some of the quasi columns."""
    known, unit = numbers["known"], numbers["unit"]
    which = "any one" if known == 1 else f"any {known}"
    shared = "is shared" if known == 1 else "together are shared"
    columns = counted(numbers["columns"], "quasi column")
    return f"{which} of {columns} {shared} by at least {count_words(numbers['smallest'], unit)}"


def _model_detail(passed: bool, numbers: Numbers) -> str:
    """Return what a model was found to do on groups, on sets of columns, or why it could not be asked."""
    if "why" in numbers:
        return WHY_NOT_ASKED[numbers["why"]].format(**numbers)
    if "sets" in numbers:
        return _sets_detail(passed, numbers)
    noun, unit = numbers["noun"], numbers["unit"]
    if passed:
        return f"{count_words(numbers['groups'], noun)}, the smallest of {count_words(numbers['smallest'], unit)}"
    inside = count_words(numbers["inside"], unit)
    return f"{numbers['failing']:,} of {numbers['groups']:,} {PLURALS[noun]} fail, {inside} in them"


def _sets_detail(passed: bool, numbers: Numbers) -> str:
    sets = counted(numbers["sets"], "set")
    if passed:
        return f"{known_columns_words(numbers)}; {sets} of columns counted"
    return (
        f"{numbers['failing_sets']} of {sets} of {counted(numbers['known'], 'column')} fail, in "
        f"{counted(numbers['failing'], 'group')}; the smallest has "
        f"{count_words(numbers['smallest'], numbers['unit'])}, by {', '.join(numbers['where'])}"
    )


WHY_NOT_ASKED = {
    "no sensitive column": "a sensitive column is missing",
    "exact quasi cells": "the quasi-identifiers stand there as they are, so nobody is hidden in a population",
    "exact known columns": "the quasi-identifiers stand there as they are, so a few columns can tell people apart",
    "partly released": "tuples released in part, {tuples:,} in number: nobody can tell whose rows these are",
}
"""Why a model could not be judged, and fails."""


def _columns_fail(numbers: Numbers) -> str:
    found = [f"identifier {name!r} is left in" for name in numbers["identifiers"]]
    found += [f"{name!r} should be called {new!r}" for name, new in numbers["to_rename"].items()]
    found += [f"{name!r} is not in the policy" for name in numbers["unknown"]]
    found += [f"{name!r} is not released here" for name in numbers["elsewhere"]]
    new = numbers["renamed"]
    missing = [
        f"{new[name]!r}, which is {name!r} of the policy," if name in new else repr(name) for name in numbers["missing"]
    ]
    return "; ".join(found + [f"{name} is missing" for name in missing])


def _unreadable_cells(cells: Mapping[str, int] | None) -> str:
    return ", ".join(f"{rows:,} in {name!r}" for name, rows in (cells or {}).items()) or "none"


def _files(numbers: Numbers) -> str:
    several = numbers["tables"] > 1
    if numbers["changed"]:
        said = f"{'a' if several else 'the'} table was changed after the manifest"
    else:
        said = f"the {'tables are those' if several else 'table is the one'} of the manifest"
    strange = numbers["strange"]
    return said + (f"; the folder holds what no release has: {'; '.join(strange)}" if strange else "")


def _search(numbers: Numbers) -> str:
    found = "blind: it saw no sensitive value" if numbers["blind"] else "not blind: it saw sensitive values"
    return f"{found}; {'' if numbers['randomised'] else 'not '}randomised"


SEARCH_MISTAKES = {
    "blind": "blind, though models ask about sensitive values",
    "not blind": "not blind, though no model asks about sensitive values",
    "randomised": "randomised, though its algorithm draws nothing",
    "not randomised": "not randomised, though its algorithm draws",
}


def _measures(numbers: Numbers) -> str:
    said = f"{counted(numbers['checked'], 'figure is', 'figures are')} what the table and the original give"
    bounded = numbers["bounded"]
    if not bounded:
        return said
    return f"{said}; labels of several levels read the same, so {', '.join(bounded)} can only be bounded"


def _classes_fail(numbers: Numbers) -> str:
    if not numbers["differing"]:
        return f"they must be numbers of at most {numbers['digits']} digits; other names could tell something"
    words = counted(numbers["differing"], "class has another number", "classes have other numbers")
    return f"{counted(numbers['classes'], 'class', 'classes')}; {words} of rows in the sensitive table"


def _history_sets_hold(numbers: Numbers) -> str:
    sets = counted(numbers["sets"], "set")
    known = counted(numbers["known"], "event")
    if not numbers["sets"]:
        return f"nobody has events of which {known} could be known"
    shared = counted(numbers["smallest"], "person", "people")
    return f"{sets} of up to {known} beside a person's row, the rarest shared by {shared}"


def _history_sets_fail(numbers: Numbers) -> str:
    return (
        f"{numbers['failing']:,} of {counted(numbers['sets'], 'set')} of up to {counted(numbers['known'], 'event')} "
        f"are shared by fewer than {numbers['k']} people, the rarest by {numbers['smallest']}"
    )


def _references_fail(numbers: Numbers) -> str:
    found = []
    for table, wrong in numbers["wrong"].items():
        found += [f"{counted(rows, 'row')} of {table} {REFERENCES[what]}" for what, rows in wrong.items()]
    return "; ".join(found)


REFERENCES = {
    "dangling": "lead nowhere",
    "strangers": "lead to a row of somebody else",
    "repeated": "have a key that another row has",
    "unlisted": "are of people who are not in the table that lists them",
}


def _truth_fails(numbers: Numbers) -> str:
    if "columns" in numbers:
        names = ", ".join(map(repr, numbers["columns"]))
        return f"{names}: labels that no single level has, of those that may be released"
    if "rows" in numbers:
        return f"{numbers['rows']:,} released rows generalize no row of the original, one to one"
    if "classes" in numbers:
        return "; ".join(
            [
                *(
                    f"{numbers[table]:,} rows of the {table} table are not in the original"
                    for table in ("quasi", "sensitive")
                    if numbers[table]
                ),
                *(
                    [
                        f"{numbers['classes']:,} classes have sensitive values that cannot be those of their "
                        "quasi-identifiers"
                    ]
                    if numbers["classes"]
                    else []
                ),
            ]
        )
    return "rows whose quasi cells are all missing cannot be told from suppressed rows that were left blank"


def _truth_holds(numbers: Numbers) -> str:
    if "rows" not in numbers:
        return "each class has quasi-identifiers of the original, and sensitive values that can be theirs"
    how = ", cell by cell" if numbers["cell_by_cell"] else ""
    but = f", but for what is perturbed: {', '.join(numbers['perturbed'])}" if numbers["perturbed"] else ""
    return f"each of {numbers['rows']:,} rows generalizes a row of its own of the original{how}{but}"


def _least_suppression(numbers: Numbers) -> str:
    how = numbers["how"]
    if how == "not proved":
        allowed = numbers["allowed"]
        bound = "the policy sets no limit" if allowed is None else f"the policy allows {allowed:,}"
        missing = f"{numbers['suppressed']:,} of {counted(numbers['eligible'], 'row')} missing"
        return f"not proved cell by cell: {missing}, and {bound}"
    required, rows = numbers["required"], counted(numbers["suppressed"], "row")
    if how == "exact":
        return f"{rows} suppressed, as many as must be at this generalization"
    if how == "at least":
        return f"{rows} suppressed; at least {required:,} must be here"
    return f"{counted(required, 'row')} must be suppressed, and the smallest group to hide them among"


def _linked_rows(numbers: Numbers) -> str:
    if "why" in numbers:
        return f"not compared: {NOT_COMPARED[numbers['why']]}"
    return "the rows of each pseudonym are all rows of a person of her own"


NOT_COMPARED = {
    "engines": "the release and the original are in different engines",
    "single rows": "people may have lost single rows, and nothing tells which",
    "cell by cell": "cell by cell nothing tells which rows of the original a pseudonym has",
}


def _dates_fail(numbers: Numbers) -> str:
    torn = f"the dates of {numbers['pseudonyms']:,} pseudonyms"
    if numbers["how"] == "distances":
        return f"{torn} have other distances than any such person's"
    return f"{torn} have moved by more than {numbers['days']} days"


def _perturbed_cells(numbers: Numbers) -> str:
    if "noise" in numbers:
        return f"declared: {numbers['noise']}, so no cell need be true"
    return f"declared: {counted(numbers['means'], 'mean')} of clusters, each in at least {numbers['k']} rows"


def _perturbed_fails(numbers: Numbers) -> str:
    if "no_numbers" in numbers:
        return f"{counted(numbers['no_numbers'], 'cell is', 'cells are')} no number"
    alone, k = counted(numbers["alone"], "number stands", "numbers stand"), numbers["k"]
    return f"{alone} in fewer than {k} rows, as no mean of {k} does"


def _perturbation(numbers: Numbers) -> str:
    how = numbers["how"]
    if how == "unknown":
        detail = "not compared: of rows that are alike some left and some did not, and nothing tells which"
        return f"{detail}; no more cells are missing, or present, than in the original"
    if how == "means":
        rows, k = numbers["numbers"], numbers["k"]
        return f"all {rows:,} numbers are the means of their clusters of at least {k} rows, worked out anew (MDAV)"
    said = f"declared: {numbers['kind']} noise of scale {numbers['scale']:g}; cells are not compared one by one"
    bounded = "none lies farther from an original than it may"
    return f"{said}; {bounded if numbers['kind'] == 'uniform' else 'missing cells are those of the original'}"


def _perturbation_fails(numbers: Numbers) -> str:
    how = numbers["how"]
    if how == "no number":
        return f"{counted(numbers['no_numbers'], 'cell is', 'cells are')} no number"
    if how == "no number in original":
        return "the original holds what is no number"
    if how == "missing":
        return "cells are missing that are not in the original, or the other way round"
    if how == "no cluster":
        return f"{numbers['numbers']:,} numbers make no cluster of {numbers['k']}"
    if how == "means":
        return f"{numbers['wrong']:,} numbers are not the means of their clusters"
    wrong = counted(numbers["wrong"], "number lies", "numbers lie")
    return f"{wrong} farther from any original than {numbers['scale']:g}"


def _canonical(numbers: Numbers) -> str:
    same = numbers["same"]
    return f"{' and '.join(same)}: byte for byte the one writing of what they say" if same else "no file to compare"


def _canonical_fails(numbers: Numbers) -> str:
    found = [f"the columns of {name} stand in another order than in the policy" for name in numbers["order"]]
    found += [
        f"{name} holds more than its rows, or was written by another program or version"
        for name in numbers["differing"]
    ]
    return "; ".join(found)


def _statements_fail(numbers: Numbers) -> str:
    return f"what it states of {', '.join(numbers['wrong'])} is not what the tables, the policy and the rest allow"


def _order_fails(numbers: Numbers) -> str:
    words = {
        "both": "both tables have rows of a class at the same places",
        "quasi": "the quasi table has rows of a class together",
        "sensitive": "the sensitive table has rows of a class together",
    }
    told = " and ".join(words[one] for one in numbers["told"])
    return f"{told}, so the order of rows tells who has which value; shuffle each by itself"


def _join(numbers: Numbers) -> str:
    if numbers["linked"] is None:
        return f"at least {numbers['k']} people share each bag of sensitive values that somebody is linked to"
    words = counted(numbers["linked"], "person is", "people are")
    return f"{words} linked to a bag of sensitive values that fewer than {numbers['k']} share"


def _differing(what: str) -> Callable[[Numbers], str]:
    """Return the sentence that lists what was counted where a manifest states another number."""
    return lambda numbers: "; ".join(
        f"{name} is {number:,}, not {what}" for name, number in numbers.items() if name != "table"
    )


def _always(words: str) -> Callable[[Numbers], str]:
    """Return a sentence with the numbers in their places."""
    return lambda numbers: words.format(**numbers)


def _tables_fail(numbers: Numbers) -> str:
    found = [f"{name!r} is missing" for name in numbers["missing"]]
    return "; ".join(found + [f"{name!r} is not in the policy" for name in numbers["unknown"]])


def _names(names: Sequence[str]) -> str:
    return ", ".join(map(repr, names))


UNJUDGED = {
    "not installed": "a model that is not installed here",
    "population": "needs the population table",
    "limits": "has a limit for each of some values, which the manifest does not name",
    "hierarchy": "needs the hierarchy of the sensitive column",
}
"""Why a recipient cannot judge a model."""


def _unchecked_statements(numbers: Numbers) -> str:
    from indistinct.release.manifest import who_checks

    said = [who_checks(name).unchecked for name in numbers["statements"]]
    others = [f"{numbers['other_measures']} of others"] if numbers["other_measures"] else []
    if figures := [*numbers["measures"], *others]:
        said.append(f"the measures {', '.join(figures)}")
    return f"what the manifest says of {', '.join(said)}"


NOT_CHECKED: dict[str, Callable[[Numbers], str]] = {
    "model": lambda numbers: f"{numbers['model']}: {UNJUDGED[numbers['why']]}",
    "cells.level": lambda numbers: (
        f"that no label of {', '.join(numbers['columns'])} is finer than stated: needs the hierarchies"
    ),
    "cells.codes": lambda numbers: (
        f"that {', '.join(numbers['columns'])} show no code that means missing: needs the codes"
    ),
    "policy": lambda _: (
        "that this is the policy that was agreed on: with the policy file, verify POLICY RELEASE compares it"
    ),
    "truth": lambda _: (
        "that released cells are true, and that no more rows were left out than must be: only who has the private "
        "table can prove that"
    ),
    "manifest.statements": _unchecked_statements,
    "manifest.signature": lambda _: "who signed it: that needs her public key (--key)",
    "files.canonical": lambda numbers: (
        "whether nothing but rows is in a file, byte for byte ("
        + "; ".join(
            [
                *(f"{name}: only a file has bytes to compare" for name in numbers["no_files"]),
                *(f"{name}: such files are written otherwise each time" for name in numbers["not_canonical"]),
            ]
        )
        + ")"
    ),
}
"""What could not be checked."""


def not_checked_words(what: str, numbers: Numbers) -> str:
    """Return what could not be checked, in words."""
    return NOT_CHECKED[what](numbers)


NEVER = _always("")
"""Of checks that are shown only where they fail, or never fail."""
WORDS: dict[str, Wording] = {
    "manifest.files": Wording("file", _files, _files),
    "manifest.policy": Wording(
        "policy",
        _always("the release was made for this policy"),
        _always("the release was made for another policy"),
    ),
    "manifest.signature": Wording("signature", _always("the manifest is signed by the key {key}"), _always("{wrong}")),
    "manifest.statements": Wording("manifest", _always("the tables have the counts of the manifest"), _statements_fail),
    "manifest.search": Wording(
        "search",
        _search,
        lambda numbers: f"the manifest calls it {' and '.join(SEARCH_MISTAKES[one] for one in numbers['wrong'])}",
    ),
    "manifest.measures": Wording(
        "measures",
        _measures,
        lambda numbers: f"{', '.join(numbers['wrong'])}: not what the table and the original give",
    ),
    "manifest.people": Wording("stated people", NEVER, _differing("what is stated")),
    "manifest.rows": Wording("stated rows", NEVER, _differing("what is stated")),
    "manifest.unsafe": Wording(
        "unsafe",
        NEVER,
        _always("its maker found that it fails, as the manifest says, in what cannot be checked here"),
    ),
    "files.canonical": Wording("canonical", _canonical, _canonical_fails),
    "files.readers": Wording(
        "file", NEVER, lambda numbers: f"readers do not agree on its rows: {'; '.join(numbers['strange'])}"
    ),
    "cells.missing": Wording(
        "missing cells",
        NEVER,
        lambda numbers: (
            f"{_names(numbers['columns'])}: null beside empty text or no number; here they are one value, to other "
            "readers several"
        ),
    ),
    "cells.columns": Wording("columns", _always("{columns} columns, no identifier"), _columns_fail),
    "cells.rows": Wording("rows", NEVER, _always("a table has no rows")),
    "cells.pseudonyms": Wording(
        "pseudonyms in", _always("32 hexadecimal digits in every row"), _always("{wrong:,} values are none")
    ),
    "cells.codes": Wording(
        "missing cells in",
        _always("no cell shows a code that means missing"),
        lambda numbers: (
            f"{counted(numbers['cells'], 'cell shows', 'cells show')} a code that means missing, instead of none"
        ),
    ),
    "cells.level": Wording(
        "level of",
        _always("no value of the table is shown below level {level}"),
        lambda numbers: (
            f"{counted(numbers['finer'], 'label is', 'labels are')} finer than {numbers['level']!r}, which the policy "
            "demands"
        ),
    ),
    "cells.perturbed": Wording("perturbed", _perturbed_cells, _perturbed_fails),
    "classes.sizes": Wording(
        "classes",
        lambda numbers: f"{counted(numbers['classes'], 'class', 'classes')}; each has as many rows in both tables",
        _classes_fail,
    ),
    "classes.order": Wording("order", NEVER, _order_fails),
    "classes.sensitive": Wording(
        "sensitive values", NEVER, _always("a release of two tables needs a model that asks about sensitive values")
    ),
    "classes.join": Wording("join", _join, _join),
    "tables.names": Wording("tables", lambda numbers: counted(numbers["tables"], "table"), _tables_fail),
    "histories.sets": Wording("known events", _history_sets_hold, _history_sets_fail),
    "histories.values": Wording(
        "private values of known events",
        lambda numbers: f"those who share up to {counted(numbers['known'], 'event')} tell no more than models allow",
        lambda numbers: f"{counted(numbers['sure'], 'set')} of events tell more of a private value than models allow",
    ),
    "truth.histories": Wording(
        "truth of histories",
        lambda numbers: (
            f"each of {numbers['pseudonyms']:,} pseudonyms stands for a person of its own, whose row and events its "
            "labels cover"
        ),
        lambda numbers: (
            f"{numbers['wrong']:,} of {numbers['pseudonyms']:,} pseudonyms stand for nobody's row and events"
        ),
    ),
    "tables.references": Wording(
        "references", _always("every reference leads to a row of the same person"), _references_fail
    ),
    "people.uncounted": Wording(
        "people",
        _always(
            "not counted here: rows were recounted, and whose they are is not in the release; with the original "
            "people are counted as well"
        ),
        NEVER,
    ),
    "people.stated": Wording(
        "people: manifest", _always("the rows have the people of the manifest"), _differing("what is stated")
    ),
    "people.groups": Wording(
        "people",
        _always("each of {groups:,} groups fits the rows of at least {smallest:,} people"),
        _always("{failing:,} of {groups:,} groups fit the rows of fewer than {least:,} people"),
    ),
    "suppression.limit": Wording(
        "suppression limit",
        _always("{suppressed:,} of {rows:,} rows suppressed, {allowed:,} allowed"),
        _always("{suppressed:,} of {rows:,} rows suppressed, {allowed:,} allowed"),
    ),
    "suppression.stated": Wording(
        "suppressed rows", NEVER, _always("the release says {stated:,}, but {suppressed:,} rows are missing from it")
    ),
    "suppression.least": Wording(
        "least suppression",
        _least_suppression,
        lambda numbers: (
            f"{counted(numbers['suppressed'], 'row')} suppressed, but {numbers['required']:,} must be at this "
            "generalization"
        ),
    ),
    "truth.rows": Wording("truthful", _truth_holds, _truth_fails),
    "truth.levels": Wording("levels", NEVER, _always("the release states levels that its labels do not have")),
    "truth.unreadable": Wording(
        "unreadable cells",
        lambda numbers: f"{_unreadable_cells(numbers['found'])}, dealt with as the policy says",
        lambda numbers: (
            f"the release says {_unreadable_cells(numbers['stated'])}, but there are "
            f"{_unreadable_cells(numbers['found'])}"
        ),
    ),
    "truth.linked_rows": Wording(
        "linked rows",
        _linked_rows,
        lambda numbers: (
            f"{counted(numbers['wrong'], numbers['unit'], PLURALS.get(numbers['unit']))} linked that are not one "
            "person's"
        ),
    ),
    "truth.dates": Wording(
        "distances of dates",
        _always("all dates of a person have moved by one number of days, {days} at most"),
        _dates_fail,
    ),
    "truth.perturbed": Wording("perturbation of", _perturbation, _perturbation_fails),
}
"""Every check but those of models, which are named by the model and its terms."""
