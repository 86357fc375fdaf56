"""Random tables with a policy and the claim that a foreign recount holds the release to; nothing of ours is imported.

Cells are texts, an empty one is missing. Domains are small, so that rows meet; hierarchies are listed, prefixes,
intervals, one step to the top, or none.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import Any

from campaigns.foreign_models import Row

CLIMB = ["lattice", "samarati", "mingen", "datafly"]
LINK_ROWS = [*CLIMB, "regroup", "mondrian"]
KEEP_LEVELS = LINK_ROWS
COUNT_PEOPLE = [*LINK_ROWS, "mingen-cell", "k-similar", "top-down", "chosen"]
ONE_TABLE = [*COUNT_PEOPLE, "mu-argus", "m-invariance"]
TWO_TABLES = ["lossy-join", "anatomy"]
NO_RECOUNT = {"differential-privacy": "safepub"}
"""A model, and its algorithm, that promise something of how releases are drawn: the text of one cannot show it."""
PREFERENCES = [None, "min-suppression", "min-absolute", "max-distribution", "fewest-attributes", "most-attributes"]
LARGEST = 36
"""Rows of a table at most."""


@dataclass
class Case:
    """A table, what is asked of its release, and by which algorithm it is made."""

    rows: list[Row]
    claim: dict[str, Any]
    algorithm: str
    options: dict[str, Any] = field(default_factory=dict)
    max_suppression: Any = None
    suppressed_rows: str = "remove"
    kind: str = "csv"
    seed: int | None = None


def draw_case(dice: random.Random) -> Case:
    """Draw a case: a table, hierarchies, models, an algorithm with options, limits and filters."""
    algorithm = dice.choice(ONE_TABLE * 2 + TWO_TABLES * 2)
    number = dice.choice([1, 2, 2, 3, 3, 4])
    quasi = {f"q{place}": _hierarchy(dice) for place in range(number)}
    sensitive = {f"s{place}": _sensitive(dice) for place in range(dice.choice([0, 1, 1, 2]))}
    if algorithm in (*TWO_TABLES, "m-invariance") and not sensitive:
        sensitive["s0"] = _sensitive(dice)
    missing = dice.choice([0.0, 0.0, 0.05, 0.2])
    person = algorithm in COUNT_PEOPLE and dice.random() < 0.2
    other = ["row"] if person or dice.random() < 0.3 else dice.choice([[], ["o"]])
    claim: dict[str, Any] = {
        "quasi": quasi,
        "sensitive": list(sensitive),
        "chains": {name: one["chains"] for name, one in sensitive.items()},
        "other": other,
        "sets": {"quasi-identifier": list(quasi)},
        "blanks": algorithm == "mu-argus",
        "k": 1,
    }
    rows = _rows(dice, claim, sensitive, missing)
    if person:
        claim |= {"person": "name", "row": "row"}
        claim["pseudonym"] = algorithm in LINK_ROWS and dice.random() < 0.5
    if number > 1 and algorithm not in TWO_TABLES and not claim.get("pseudonym") and dice.random() < 0.25:
        names = list(quasi)
        cut = dice.randint(1, number - 1)
        claim["sets"] = {"one": names[:cut], "two": [*names[cut:], dice.choice(names[:cut])]}
    claim["models"] = _models(dice, claim, sensitive, algorithm)
    if any(model["model"] == "k-map" for model in claim["models"]):
        for row in rows:
            row |= {name: row[name] or dice.choice(quasi[name]["values"]) for name in quasi}
        claim["population"] = [
            {name: dice.choice(one["values"]) for name, one in quasi.items()} for _ in range(dice.randint(20, 60))
        ] + [{name: row[name] for name in quasi} for row in rows]
    claim["eligible"] = _filters(dice, claim)
    claim["codes"] = {name: ["?"] for name in quasi if dice.random() < 0.1 and quasi[name]["kind"] != "keep"}
    for name in claim["codes"]:
        for row in rows:
            if "population" not in claim and dice.random() < 0.1:
                row[name] = "?"
    for name, one in quasi.items():
        if one["kind"] == "listed" and algorithm in KEEP_LEVELS and dice.random() < 0.1:
            quasi[name]["least"] = 1
    case = Case(rows, claim, algorithm)
    case.options = _options(dice, case)
    case.max_suppression = dice.choice([None, 0, 0.1, 0.3, 0.3, 0.6, 1.0, 3])
    if case.max_suppression is not None and not person and algorithm in ONE_TABLE and dice.random() < 0.05:
        case.suppressed_rows = "blank"
        claim["blanks"] = True
    case.kind = dice.choice(["csv", "csv", "csv", "arrow", "typed", "pandas", "parquet"])
    case.seed = dice.randrange(10**6) if dice.random() < 0.1 and not claim.get("pseudonym") else None
    return case


def _hierarchy(dice: random.Random) -> dict[str, Any]:
    """Draw values and what they climb to."""
    kind = dice.choice(["listed", "listed", "prefix", "intervals", "suppress", "keep"])
    if kind == "prefix":
        length = dice.choice([2, 3])
        values = sorted({"".join(dice.choice("12") for _ in range(length)) for _ in range(8)})
        return {"kind": kind, "values": values, "length": length}
    if kind == "intervals":
        return {"kind": kind, "values": [str(dice.randint(0, 60)) for _ in range(8)], "widths": [5, 10, 20]}
    values = [f"v{n}" for n in range(dice.randint(1, 2 if kind == "keep" else 5))]
    if kind != "listed":
        return {"kind": kind, "values": values}
    return {"kind": kind, "values": values, "chains": _chains(dice, values, dice.randint(0, 2))}


def _chains(dice: random.Random, values: list[str], between: int) -> dict[str, list[str]]:
    """Draw the labels of each value from level 0 to a single top; labels of different levels differ."""
    chains = {value: [value] for value in values}
    for level in range(1, between + 1):
        names: dict[str, str] = {}
        for chain in chains.values():
            chain.append(names.setdefault(chain[-1], f"l{level}.{dice.randint(0, 1)}"))
    top = dice.choice(["*", "any"])
    return {value: [*chain, top] for value, chain in chains.items()}


def _sensitive(dice: random.Random) -> dict[str, Any]:
    """Draw sensitive values, numbers so that they have an order, under a hierarchy."""
    values = [str(7000 + 10 * n) for n in range(dice.randint(2, 4))]
    return {"values": values, "chains": _chains(dice, values, 1)}


def _rows(dice: random.Random, claim: dict[str, Any], sensitive: dict[str, Any], missing: float) -> list[Row]:
    domains = {name: one["values"] for name, one in (claim["quasi"] | sensitive).items()}
    people = dice.randint(3, LARGEST)
    rows = []
    for number in range(dice.randint(4, LARGEST)):
        row = {name: "" if dice.random() < missing else dice.choice(domain) for name, domain in domains.items()}
        row["name"] = f"person {dice.randrange(people)}"
        row |= {name: f"r{number}" if name == "row" else dice.choice("xyz") for name in claim["other"]}
        rows.append(row)
    if dice.random() < 0.5:  # rows that are alike, so that fine groups exist
        rows += [
            dict(dice.choice(rows)) | ({"row": f"c{n}"} if "row" in claim["other"] else {}) for n in range(len(rows))
        ]
    return rows


def _models(dice: random.Random, claim: dict[str, Any], sensitive: dict[str, Any], algorithm: str) -> list[Any]:
    """Draw one model or two that fit the table and the algorithm."""
    k = dice.choice([2, 2, 3, 4])
    of_rows: list[dict[str, Any]] = [
        {"model": "k-anonymity", "k": k},
        {"model": "k-anonymity", "k": k},
        {"model": "prosecutor-risk", "at_most": dice.choice([0.5, 0.34, 0.25])},
        {"model": "average-risk", "at_most": dice.choice([0.5, 0.4, 0.25])},
    ]
    if algorithm in ONE_TABLE and len(claim["sets"]) == 1 and not claim.get("person"):
        of_rows.append({"model": "k-map", "k": k})
    if claim.get("pseudonym"):
        return [{"model": "k-anonymity", "k": 2}]
    if algorithm == "m-invariance":
        return [{"model": "m-invariance", "m": 2, "column": "s0"}]
    if algorithm == "mu-argus":
        return [{"model": "k-anonymity", "k": 2}]
    chosen = [] if algorithm in TWO_TABLES else [dice.choice(of_rows)]
    if sensitive and (not chosen or dice.random() < 0.7):
        chosen.append(_model_of_values(dice, claim, sensitive, k))
        if algorithm in TWO_TABLES and dice.random() < 0.3:
            chosen.append({"model": "k-anonymity", "k": k})
    if len(claim["sets"]) > 1 and dice.random() < 0.4:
        chosen[0]["on"] = dice.choice(list(claim["sets"]))
    if algorithm in TWO_TABLES:
        claim["k"] = max(model.get("k", 1) for model in chosen)
    return chosen


def _model_of_values(dice: random.Random, claim: dict[str, Any], sensitive: dict[str, Any], k: int) -> dict[str, Any]:
    column = dice.choice(list(sensitive))
    few = {sensitive[column]["values"][0]: 0.5}
    models: list[dict[str, Any]] = [
        {"model": "alpha-k", "alpha": dice.choice([0.5, 0.6, 0.75, 1 / 3, few]), "k": k},
        {"model": "l-diversity", "l": 2},
        {"model": "l-diversity", "l": dice.choice([2, 3]), "kind": "entropy"},
        {"model": "l-diversity", "l": 2, "kind": "recursive", "c": dice.choice([1.5, 2.0, 3.0])},
        {"model": "p-sensitive", "p": 2, "k": k},
        {"model": "m-invariance", "m": 2},
        {"model": "beta-likeness", "beta": dice.choice([0.5, 1.0, 2.0]), "enhanced": dice.random() < 0.5},
        {"model": "delta-disclosure", "delta": dice.choice([0.7, 1.0, 1.5])},
        {"model": "t-closeness", "t": dice.choice([0.1, 0.2, 0.3, 0.5])},
        {"model": "t-closeness", "t": dice.choice([0.1, 0.2, 0.3]), "distance": "ordered"},
        {"model": "t-closeness", "t": dice.choice([0.1, 0.2, 0.3]), "distance": "hierarchical"},
    ]
    chosen = dice.choice(models)
    is_hierarchical = chosen.get("distance") == "hierarchical"
    if is_hierarchical or isinstance(chosen.get("alpha"), dict) or dice.random() < 0.6:
        chosen["column"] = column
    if is_hierarchical:
        chosen["chains"] = sensitive[column]["chains"]
    return chosen


def _filters(dice: random.Random, claim: dict[str, Any]) -> list[tuple[str, str, Any]]:
    """Draw conditions on eligible rows, sometimes."""
    found: list[tuple[str, str, Any]] = []
    while dice.random() < 0.15:
        column = dice.choice([*claim["quasi"], *claim["sensitive"]])
        if column in claim["sensitive"]:
            found.append((column, dice.choice(["<", "<=", ">", ">=", "!=", "=="]), dice.choice([7000, 7010, 7020])))
        else:
            values = claim["quasi"][column]["values"]
            found.append(
                dice.choice(
                    [
                        (column, "present", None),
                        (column, "!=", dice.choice(values)),
                        (column, "not in", tuple(dice.sample(values, 1))),
                        (column, "in", tuple(values[1:] or values)),
                    ]
                )
            )
    return found


def _options(dice: random.Random, case: Case) -> dict[str, Any]:
    """Draw options of the algorithm."""
    measure = dice.choice(["precision", "loss", "discernibility", "entropy"])
    labels = dice.choice(["hierarchy", "hierarchy", "ranges"])
    if any(one.get("least") for one in case.claim["quasi"].values()) or "population" in case.claim:
        labels = "hierarchy"
    drawn: dict[str, dict[str, Any]] = {
        "lattice": {"measure": measure},
        "samarati": {"preference": dice.choice(PREFERENCES)},
        "mingen": {},
        "datafly": {"complementary": dice.random() < 0.7},
        "regroup": {"labels": labels, "measure": dice.choice(["ncp", "loss", "precision", "entropy"])},
        "mondrian": {"labels": labels, "strict": dice.random() < 0.6, "choose": dice.choice(["loss", "widest"])},
        "top-down": {"tighten": dice.random() < 0.5},
        "lossy-join": {"grouping": dice.choice(["top-down", "lattice", "mondrian", "regroup"])},
        "chosen": {"node": {name: 1 for name, one in case.claim["quasi"].items() if one["kind"] != "keep"}},
    }
    return {name: value for name, value in drawn.get(case.algorithm, {}).items() if value is not None}
