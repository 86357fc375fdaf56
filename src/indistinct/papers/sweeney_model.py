"""Sweeney, k-anonymity: a Model for Protecting Privacy, 2002: its figures and examples."""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

import numpy as np
import pyarrow as pa

from indistinct.attacks import complementary, joined_values, unsorted
from indistinct.papers.figure import Differs, Figure, PaperTable
from indistinct.papers.inputs import HOSPITAL, as_printed, example, hierarchies, plain_policy, policy, table
from indistinct.pipeline import anonymize
from indistinct.proof.verdict import verify
from indistinct.search import Chosen

PAPER = "Sweeney 2002, k-anonymity: a model for protecting privacy"
ALL = (*HOSPITAL, "Problem")
UNIQUE = [["white", "1964", "male", "02138"], ["white", "1965", "female", "02139"]]
ZIPS, PEOPLE, SEED = 29_000, 248_000_000, 1990
BIRTHS = 365 * 100
"""The days on which somebody who lives may be born."""
NOT_PUBLIC = "the voter list of Cambridge and the data of the Group Insurance Commission are not public"


def _census() -> dict[str, Any]:
    """Count who stands alone by ZIP code, gender and day of birth, in made-up ZIP codes of as many people."""
    sizes = np.random.default_rng(SEED).lognormal(0, 1.5, ZIPS)
    people = np.maximum(1, np.rint(sizes * (PEOPLE / sizes.sum())))
    combinations = 2 * BIRTHS
    alone = people * np.exp((people - 1) * math.log1p(-1 / combinations))
    share = float(alone.sum() / people.sum())
    return {
        "216 of 248 million people": round(216 / 248, 2),
        "share alone by ZIP code, gender and date of birth": round(share, 2),
        "people with Governor Weld's birth date, of them men, of them in his ZIP code": None,
        "note": (
            f"the census counts are not at hand: {ZIPS:,} ZIP codes with {PEOPLE:,} people were made up (log-normal "
            f"sizes, sigma 1.5, seed {SEED}), each person with one of {combinations:,} combinations, all as likely"
        ),
    }


def _section_2_4() -> dict[str, Any]:
    """Join two made-up lists of physicians."""
    seen = pa.table({"physician": ["A", "A", "B"], "patient": ["Ann", "Bea", "Cleo"]})
    prescribed = pa.table({"physician": ["A", "A", "B", "B"], "medication": ["x", "x", "x", "y"]})
    first, second = plain_policy(seen.column_names, 1), plain_policy(prescribed.column_names, 1, ["medication"])
    (found,) = joined_values(seen, prescribed, first, second).columns
    return {"patients of three whose medication follows": found.known_rows}


def _figure_2() -> dict[str, Any]:
    rows = table("model-figure-2")
    columns = ("Race", "Birth", "Gender", "ZIP")
    verdict = verify(rows, plain_policy(rows.column_names, 2, ["Problem"]))
    three = verify(rows, plain_policy(rows.column_names, 3, ["Problem"]))
    groups = Counter(zip(*(rows[name].to_pylist() for name in columns), strict=True))
    found = {
        "2-anonymous, 3-anonymous": [verdict.passed, three.passed],
        "tuples that are equal (Example 3)": list(groups.values()),
    }
    return found | {f"|T[{name}]|": dict(sorted(Counter(rows[name].to_pylist()).items())) for name in columns}


def _figure_3() -> dict[str, Any]:
    rows, names = table("model-figure-3"), ("Race", "ZIP")
    given = policy("model-figure-3", names, 2, 0)
    made, found = {}, {}
    known = hierarchies("model-figure-3")
    for name, node in (("GT1", (1, 0)), ("GT2", (0, 1))):
        with anonymize(rows, given, algorithm=Chosen(dict(zip(names, node, strict=True)))) as release:
            found[name] = PaperTable.of_arrow(release.table, names)
        cells = [
            [known[name].label(cell, level) for cell in rows[name].to_pylist()]
            for name, level in zip(names, node, strict=True)
        ]
        made[name] = pa.table(dict(zip(names, cells, strict=True)))
    mixed = made["GT2"].take(pa.array(np.random.default_rng(0).permutation(len(rows))))
    return found | {
        "rows disclosed where positions correspond (Example 5)": unsorted(made["GT2"], made["GT1"], given).disclosed,
        "rows disclosed where they are random": unsorted(mixed, made["GT1"], given).disclosed,
    }


def _join_releases(first: pa.Table, second: pa.Table) -> list[list[str]]:
    """Join two releases on Problem, and keep the lower of two labels where one lies above the other."""
    known = {
        name: [
            [own.label(value, level) for level in range((own.height or 0) + 1)]
            for value in example("hospital")[name].to_pylist()
        ]
        for name, own in hierarchies("sweeney").items()
    }

    def lower(name: str, one: str, other: str) -> str | None:
        for path in known[name]:
            if one in path and other in path:
                return path[min(path.index(one), path.index(other))]
        return None

    found = []
    for one in first.to_pylist():
        for other in (row for row in second.to_pylist() if row["Problem"] == one["Problem"]):
            cells = [lower(name, one[name], other[name]) for name in HOSPITAL]
            if None not in cells:
                found.append([*(cell for cell in cells if cell is not None), one["Problem"]])
    return found


def _alone(report: Any) -> list[list[str]]:
    return sorted([one.labels[name] for name in HOSPITAL] for one in report.findings)


def _figures_4_and_5() -> dict[str, Any]:
    given = policy("sweeney", HOSPITAL, 2, 0, secret=["Problem"])
    first, second = example("gt1"), example("gt3")
    report = complementary([first, second], given)
    linked = PaperTable.of(ALL, _join_releases(first, second))
    tuples = Counter(cells[:4] for cells, number in linked.rows for _ in range(number))
    pairs = sum(one == other for one in first["Problem"].to_pylist() for other in second["Problem"].to_pylist())
    return {
        "GT1 and GT3 are 2-anonymous": [verify(one, given).passed for one in (first, second)],
        "pairs with the same Problem": pairs,
        "LT": linked,
        "unique in LT": sorted(list(cells) for cells, number in tuples.items() if number == 1),
        "tuples that the attack finds": _alone(report),
        "GT1 with a release that is based on it": _alone(complementary([first, first], given)),
    }


def _example_7() -> dict[str, Any]:
    given = policy("sweeney", HOSPITAL, 2, 0, secret=["Problem"])
    first, third = example("gt1"), example("gt3")
    added = table("model-example-7-added")
    labels = [
        pa.array([cell if name != "BirthDate" else f"19{cell[-2:]}" for cell in added[name].to_pylist()])
        for name in ALL
    ]
    newcomers = pa.table(dict(zip(ALL, labels, strict=True)))
    later, safe = (pa.concat_tables([one, newcomers]) for one in (third, first))
    return {
        "GTt1 is 2-anonymous": verify(later, given).passed,
        "unique by GT1 and GTt1": _alone(complementary([first, later], given)),
        "GT1 with the new tuples": PaperTable.of_arrow(safe, ALL),
        "it is 2-anonymous": verify(safe, given).passed,
        "unique by GT1 and that": _alone(complementary([first, safe], given)),
    }


FIGURES = (
    Figure(
        "model-example-1",
        "section 1, Example 1",
        "87 % of the United States; Governor Weld",
        _census,
        lambda: {
            "216 of 248 million people": 0.87,
            "share alone by ZIP code, gender and date of birth": Differs(
                0.87, 0.6, "the ZIP codes are made up, and who is counted as likely unique in her study is not said"
            ),
            "people with Governor Weld's birth date, of them men, of them in his ZIP code": Differs(
                [6, 3, 1], None, NOT_PUBLIC
            ),
        },
    ),
    Figure(
        "model-section-2-4",
        "section 2.4",
        "(physician, patient) joined with (physician, medication)",
        _section_2_4,
        dict,
        note="both lists are made up: physician A prescribes one medication, B two",
    ),
    Figure(
        "model-figure-2",
        "Figure 2, Examples 3 and 4",
        "a table that adheres to 2-anonymity",
        _figure_2,
        lambda: {
            "2-anonymous, 3-anonymous": [True, False],
            "tuples that are equal (Example 3)": [2, 2, 2, 3, 2],
            "|T[Race]|": {"Black": 6, "White": 5},
            "|T[Birth]|": {"1964": 5, "1965": 4, "1967": 2},
            "|T[Gender]|": Differs({"f": 5, "m": 6}, {"f": 4, "m": 7}, "Figure 2 has 7 m and 4 f"),
            "|T[ZIP]|": {"0213*": 9, "0214*": 2},
        },
    ),
    Figure(
        "model-figure-3",
        "Figure 3, Example 5",
        "unsorted matching",
        _figure_3,
        lambda: {
            "GT1": as_printed("model-figure-3 GT1"),
            "GT2": as_printed("model-figure-3 GT2"),
            "rows disclosed where positions correspond (Example 5)": 12,
            "rows disclosed where they are random": 0,
        },
        note="the paper says that positions reveal sensitive information, and random ones do not; 12 and 0 are ours",
    ),
    Figure(
        "model-figures-4-5",
        "Figures 4 and 5, Example 6",
        "complementary releases",
        _figures_4_and_5,
        lambda: {
            "GT1 and GT3 are 2-anonymous": [True, True],
            "pairs with the same Problem": Differs(
                12, 18, "three problems occur twice; the twelve rows of LT are the pairs whose labels agree"
            ),
            "LT": as_printed("model-figure-4 LT"),
            "unique in LT": UNIQUE,
            "tuples that the attack finds": UNIQUE,
            "GT1 with a release that is based on it": [],
        },
    ),
    Figure(
        "model-example-7",
        "Example 7",
        "releases over time",
        _example_7,
        lambda: {
            "GTt1 is 2-anonymous": True,
            "unique by GT1 and GTt1": UNIQUE,
            "GT1 with the new tuples": as_printed("model-example-7 safe"),
            "it is 2-anonymous": True,
            "unique by GT1 and that": [],
        },
        note="indistinct anonymize --ledger … --again based makes the safe release from the tables alone",
    ),
)
