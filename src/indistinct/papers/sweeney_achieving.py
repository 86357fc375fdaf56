"""Sweeney, Achieving k-Anonymity Privacy Protection Using Generalization and Suppression, 2002: figures, examples."""

from __future__ import annotations

from collections import Counter
from itertools import combinations_with_replacement
from typing import Any

import pyarrow as pa

from indistinct.attacks import totals
from indistinct.papers.figure import Differs, Figure, PaperTable
from indistinct.papers.inputs import HOSPITAL, as_printed, example, hierarchies, plain_policy, policy, table
from indistinct.pipeline import anonymize, best_tables, datafly_steps, solutions
from indistinct.pipeline.mu_argus_session import MuArgusSession
from indistinct.policy import Policy, quasi
from indistinct.privacy import KAnonymity
from indistinct.proof.verdict import verify
from indistinct.search import (
    Chosen,
    Datafly,
    MinGen,
    MuArgus,
    generalizations_by_attribute,
    generalizations_by_cell,
)

PAPER = "Sweeney 2002, Achieving k-anonymity privacy protection"
ALL = (*HOSPITAL, "Problem")
SMALL = ("Race", "ZIP")
TAGS = {"BirthDate": 1, "Gender": 2, "ZIP": 2, "Race": 3}
KINDS = ("Most", "More", "Identifying")
ALWAYS = (
    "Identifying × Most",
    "Identifying × More",
    "Identifying × More × Most",
    "Identifying × Most × Most",
    "More × Most",
    "Most × Most",
    "Most × Most × Most",
)
SOMETIMES = ("More × More", "More × More × Most", "More × Most × Most")
SMALL_NODES = ((1, 0), (1, 1), (0, 2), (0, 1))


def _hospital(budget: int | None = None) -> Policy:
    return policy("sweeney", HOSPITAL, 2, budget, secret=["Problem"])


def _figure_1() -> dict[str, Any]:
    rows = table("achieving-figure-1")
    columns = ("Race", "Birth", "Gender", "ZIP")
    groups = Counter(zip(*(rows[name].to_pylist() for name in columns), strict=True))
    judged = [verify(rows, plain_policy(rows.column_names, k, ["Problem"])).passed for k in (2, 3)]
    found = {"2-anonymous, 3-anonymous": judged, "tuples that are equal (Example 1)": list(groups.values())}
    return found | {f"|T[{name}]|": dict(sorted(Counter(rows[name].to_pylist()).items())) for name in columns}


def _figures_2_3_6() -> dict[str, Any]:
    known = hierarchies("sweeney")
    values = {"ZIP": "02138", "Race": "black", "Gender": "male", "BirthDate": "9/20/1965"}
    found: dict[str, Any] = {f"|DGH_{name}|": known[name].height for name in ("Race", "ZIP", "Gender", "BirthDate")}
    for name, value in values.items():
        found[f"labels of {value}"] = [known[name].label(value, level) for level in range(known[name].height + 1)]  # type: ignore[operator]
    return found


def _figure_4() -> dict[str, Any]:
    rows = table("achieving-figure-4")
    given = policy("achieving-figure-4", SMALL, 2, 0)
    found: dict[str, Any] = {}
    for node in ((0, 0), *SMALL_NODES, (2, 3)):
        own = policy("achieving-figure-4", SMALL, 1, 0)
        with anonymize(rows, own, algorithm=Chosen(dict(zip(SMALL, node, strict=True)))) as release:
            name = f"GT[{node[0]},{node[1]}]"
            if node in SMALL_NODES:
                found[name] = PaperTable.of_arrow(release.table, SMALL)
                assert release.verdict is not None
                found[f"{name} satisfies k-anonymity up to k ="] = release.verdict.smallest_group
            name = {(0, 0): "PT", (2, 3): "the table with every cell suppressed"}.get(node, name)
            found[f"Prec({name})"] = round(release.measures["precision"], 2)
    found["2-minimal generalizations (Example 4)"] = sorted(list(one.vector) for one in solutions(rows, given))
    with anonymize(rows, given, algorithm=MinGen()) as release:
        found["2-minimal distortion (Definition 6)"] = list((release.node or {}).values())
    return found


def _equations() -> dict[str, Any]:
    return {
        "Equation 1 for Figures 4 and 7": [
            generalizations_by_attribute((2, 3)),
            generalizations_by_attribute((2, 5, 2, 3)),
        ],
        "Equation 2 for Figures 4 and 7": [
            generalizations_by_cell((2, 3), 8),
            generalizations_by_cell((2, 5, 2, 3), 12),
        ],
    }


def _precision(shown: PaperTable) -> float:
    """Return Prec of a printed generalization of the hospital table: each label's level by its column's hierarchy."""
    known = hierarchies("sweeney")
    level_of = {
        name: {
            own.label(value, level): level
            for value in example("hospital")[name].to_pylist()
            for level in range((own.height or 0) + 1)
        }
        for name, own in known.items()
    }
    lost = sum(
        number * level_of[name][cell] / (known[name].height or 1)
        for cells, number in shown.rows
        for name, cell in zip(HOSPITAL, cells, strict=True)
    )
    return round(1 - lost / (12 * len(HOSPITAL)), 4)


def _figure_7() -> dict[str, Any]:
    rows = example("hospital")
    found: dict[str, Any] = {"Prec(GT)": _precision(as_printed("achieving-figure-7 GT"))}
    made = best_tables(rows, _hospital(0))
    try:
        found["tables that MinGen ends with, cell by cell"] = len(made)
        found["their Prec"] = round(made[0].measures["precision"], 4)
        for number, release in enumerate(made, 1):
            found[f"table {number}"] = PaperTable.of_arrow(release.table, HOSPITAL)
        found["GT is one of them"] = as_printed("achieving-figure-7 GT") in [
            PaperTable.of_arrow(release.table, HOSPITAL) for release in made
        ]
    finally:
        for release in made:
            release.close()
    with anonymize(rows, _hospital(0), algorithm=MinGen()) as release:
        by_attribute = [list((release.node or {}).values()), round(release.measures["precision"], 4)]
    return found | {"MinGen by attribute: vector and Prec": by_attribute}


def _frequencies(step: Any) -> PaperTable:
    return PaperTable.of([*HOSPITAL, "#occurs"], [[*cells, rows] for cells, rows in step.tuples])


def _figure_9() -> dict[str, Any]:
    first, *_, last = datafly_steps(example("hospital"), _hospital(), algorithm=Datafly())
    return {
        "A": _frequencies(first),
        "A: distinct values": list(first.distinct.values()),
        "B": _frequencies(last),
        "B: distinct values": list(last.distinct.values()),
    }


def _figure_9_printed() -> dict[str, Any]:
    rows = [[*(row[name] for name in HOSPITAL), 1] for row in example("hospital").to_pylist()]
    return {
        "A": PaperTable.of([*HOSPITAL, "#occurs"], rows),
        "A: distinct values": [2, 12, 2, 3],
        "B": as_printed("achieving-figure-9 B"),
        "B: distinct values": [2, 3, 2, 3],
    }


def _figure_10() -> dict[str, Any]:
    with anonymize(example("hospital"), _hospital(), algorithm=Datafly()) as release:
        return {
            "MGT": PaperTable.of_arrow(release.table, ALL),
            "Prec(MGT)": round(release.measures["precision"], 2),
            "tuples suppressed": release.suppressed,
        }


def _figure_12() -> dict[str, Any]:
    tested: list[str] = []
    never: list[str] = []
    for size in (2, 3):
        for kinds in combinations_with_replacement(range(3), size):
            columns = [f"{KINDS[kind]} {place}" for place, kind in enumerate(kinds)]
            rows = pa.table({name: ["x", "x", "y"] for name in columns})
            given = Policy(columns={name: quasi() for name in columns}, privacy=[KAnonymity(2)])
            tags = {name: kind + 1 for name, kind in zip(columns, kinds, strict=True)}
            algorithm = MuArgus(identifying=tags, automatic=False)
            with MuArgusSession.open(rows, given, algorithm=algorithm) as session:
                is_tested = tuple(columns) in [one.columns for one in session.unsafe().combinations]
            (tested if is_tested else never).append(" × ".join(sorted(KINDS[kind] for kind in kinds)))
    return {"tested": sorted(tested), "never tested": len(never), "these are": sorted(never)}


def _session(**options: Any) -> MuArgusSession:
    return MuArgusSession.open(example("hospital"), _hospital(), algorithm=MuArgus(identifying=TAGS, **options))


def _figure_13() -> dict[str, Any]:
    with _session() as session:
        values = session.values_of(["BirthDate", "ZIP"])
        rows = [[*one.labels, one.rows] for one in values]
        return {
            "V": PaperTable.of(["BirthDate", "ZIP", "occurs"], rows),
            "does not satisfy k": [list(one.labels) for one in values if one.is_unsafe],
        }


def _figure_14() -> dict[str, Any]:
    with _session() as session:
        rows = [
            [*one.labels, "; ".join(sorted(" ".join(names) for names in one.combinations))]
            for one in session.outliers()
        ]
    return {"outliers": PaperTable.of([*HOSPITAL, "outliers"], rows)}


def _figure_15() -> dict[str, Any]:
    found: dict[str, Any] = {}
    pairs = [("Race", "BirthDate"), ("Gender", "BirthDate"), ("ZIP", "BirthDate")]
    for name, options in (("MT", {}), ("MT actual, if only pairs with BirthDate are tested", {"combinations": pairs})):
        with _session(**options) as session, session.release(allow_unsafe=True) as release:
            found[name] = PaperTable.of_arrow(release.table, HOSPITAL)
            assert release.verdict is not None
            found[f"{name}: 2-anonymous"] = release.verdict.passed
            if name == "MT":
                men_and_women = Counter(example("hospital")["Gender"].to_pylist())
                told = totals(release, _hospital(), {"Gender": men_and_women})
                found["blank cells of Gender that the numbers of men and women tell"] = told.inferred
                found["what they are"] = [list(one.values) for one in told.findings]
    shown = dict(as_printed("achieving-figure-15 MT actual").rows)
    return found | {"tuples of MT actual equal to t7": shown["white", "1964", "male", "02138"]}


FIGURES = (
    Figure(
        "achieving-figure-1",
        "Figure 1, Examples 1 and 2",
        "a table that adheres to 2-anonymity",
        _figure_1,
        lambda: {
            "2-anonymous, 3-anonymous": [True, False],
            "tuples that are equal (Example 1)": [2, 2, 3],
            "|T[Race]|": {"Black": 4, "White": 3},
            "|T[Birth]|": {"1964": 5, "1965": 2},
            "|T[Gender]|": {"f": 2, "m": 5},
            "|T[ZIP]|": {"02138": 5, "02141": 2},
        },
    ),
    Figure(
        "achieving-figures-2-3-6",
        "Figures 2, 3 and 6",
        "hierarchies with a suppressed top",
        _figures_2_3_6,
        lambda: {"|DGH_Race|": 2, "|DGH_ZIP|": 3},
        note="the drawings are not in the text that we have; the heights of Race and ZIP stand in Example 6",
    ),
    Figure(
        "achieving-figure-4",
        "Figure 4, Examples 3 to 6, Definition 6",
        "generalized tables, their k and their precision",
        _figure_4,
        lambda: {
            **{f"GT[{a},{b}]": as_printed(f"achieving-figure-4 GT[{a},{b}]") for a, b in SMALL_NODES},
            **{
                f"GT[{a},{b}] satisfies k-anonymity up to k =": k
                for (a, b), k in zip(SMALL_NODES, (2, 4, 4, 2), strict=True)
            },
            "Prec(PT)": 1,
            "Prec(GT[1,0])": 0.75,
            "Prec(GT[1,1])": 0.58,
            "Prec(GT[0,2])": 0.67,
            "Prec(GT[0,1])": 0.83,
            "Prec(the table with every cell suppressed)": 0,
            "2-minimal generalizations (Example 4)": [[0, 1], [1, 0]],
            "2-minimal distortion (Definition 6)": [0, 1],
        },
    ),
    Figure(
        "achieving-equations",
        "Equations 1 and 2",
        "how many generalizations there are",
        _equations,
        dict,
        note="the paper prints the formulas, and no number",
    ),
    Figure(
        "achieving-figure-7",
        "Figures 5 and 7, Example 7",
        "MinGen, cell by cell and by attribute",
        _figure_7,
        lambda: {
            "Prec(GT)": Differs(0.90, round(79 / 96, 4), "by Definition 5 it is 79/96"),
            "tables that MinGen ends with, cell by cell": Differs(1, 3, "three tables tie"),
            "their Prec": Differs(0.90, round(611 / 720, 4), "no 2-anonymous table has more than 611/720"),
            "GT is one of them": Differs(True, False, "79/96 is less than 611/720"),
        },
    ),
    Figure("achieving-figure-9", "Figures 8 and 9", "Datafly step by step", _figure_9, _figure_9_printed),
    Figure(
        "achieving-figure-10",
        "Figures 8 and 10, section 4.1",
        "the table that Datafly ends with",
        _figure_10,
        lambda: {"MGT": as_printed("achieving-figure-10 MGT"), "Prec(MGT)": 0.75, "tuples suppressed": 2},
    ),
    Figure(
        "achieving-figure-12",
        "Figure 12, section 4.2",
        "combinations that µ-Argus tests",
        _figure_12,
        lambda: {"tested": sorted((*ALWAYS, *SOMETIMES)), "never tested": 6},
        note="three are printed as tested only if |Identifying| > 1; her own Figure 14 uses them with one, as we do",
    ),
    Figure(
        "achieving-figure-13",
        "Figures 11 and 13",
        "the test of Most × More",
        _figure_13,
        lambda: {"V": as_printed("achieving-figure-13 V"), "does not satisfy k": [["1965", "02139"]]},
        note="sid, the tuples of each value, is left out: a session knows rows by their labels alone",
    ),
    Figure(
        "achieving-figure-14",
        "Figure 14",
        "outliers before suppression",
        _figure_14,
        lambda: {"outliers": as_printed("achieving-figure-14 outliers")},
    ),
    Figure(
        "achieving-figure-15",
        "Figure 15",
        "what µ-Argus releases",
        _figure_15,
        lambda: {
            "MT": as_printed("achieving-figure-15 MT"),
            "MT: 2-anonymous": False,
            "blank cells of Gender that the numbers of men and women tell": 1,
            "MT actual, if only pairs with BirthDate are tested": as_printed("achieving-figure-15 MT actual"),
            "MT actual, if only pairs with BirthDate are tested: 2-anonymous": False,
            "tuples of MT actual equal to t7": 1,
        },
        note="MT actual does not follow from Figure 12, but from pairs with the most identifying attribute alone",
    ),
)
