"""Samarati, Protecting Respondents' Identities in Microdata Release, 2001: its figures and examples."""

from __future__ import annotations

import math
from collections.abc import Iterable
from itertools import product
from typing import Any

import pyarrow as pa

from indistinct.attacks import link
from indistinct.hierarchy import levels, prefix, suppress
from indistinct.papers.figure import Differs, Figure, PaperTable
from indistinct.papers.inputs import as_printed, example, hierarchies, policy, table
from indistinct.pipeline import anonymize, datafly_steps, distance_matrix, solutions
from indistinct.pipeline.mu_argus_session import MuArgusSession
from indistinct.policy import Policy, quasi
from indistinct.privacy import KAnonymity
from indistinct.progress import Watch
from indistinct.search import Chosen, Datafly, MuArgus, Samarati, preference_named, strategies

PAPER = "Samarati 2001"
SMALL = ("Race", "ZIP")
QUASI = ("Race", "DOB", "Sex", "ZIP", "MaritalStatus")
NODES = list(product(range(2), range(3)))
LOST = "the drawing is not in the text that we have"


def _medical() -> pa.Table:
    """Return PT of Figure 6, which is the table of Figure 1 without its last column."""
    return example("samarati").drop_columns("HealthProblem").rename_columns(QUASI)


def _vectors(found: list[Any]) -> list[list[int]]:
    return sorted(list(one.vector) for one in found)


def _name_of(node: tuple[int, ...]) -> str:
    """Return a vector as the paper writes it: GT[0,1]."""
    return f"GT[{','.join(map(str, node))}]"


def _at(rows: pa.Table, node: tuple[int, ...], k: int, budget: int = 0) -> tuple[PaperTable, Any]:
    """Return the release of one vector, and what its recount found."""
    columns = tuple(rows.column_names)
    chosen = Chosen(dict(zip(columns, node, strict=True)))
    with anonymize(rows, policy("samarati", columns, k, budget), algorithm=chosen) as release:
        return PaperTable.of_arrow(release.table, columns), release.verdict


def _all_printed(figure: str, nodes: Iterable[tuple[int, ...]]) -> dict[str, PaperTable]:
    return {_name_of(node): as_printed(f"samarati-{figure} {_name_of(node)}") for node in nodes}


def _figure_1() -> dict[str, Any]:
    medical, voters = example("samarati"), example("samarati-voters")
    columns = ("Race", "DOB", "Sex", "ZIP", "MaritalStatus")
    given = policy("samarati", columns, secret=["HealthProblem"])
    renamed = medical.rename_columns([*columns, "HealthProblem"])
    found = link(renamed, voters, given, on=["DOB", "Sex", "ZIP"], show=["Name"], most=100)
    hers = [
        group
        for group in found.worst
        if [one.shown["Name"] for one in group.persons] == ["Sue J. Carlson"] and group.rows == 1
    ]
    rows = medical.to_pylist()
    told = [
        row["HealthProblem"]
        for row in rows
        for group in hers
        if (row["DateOfBirth"], row["Sex"], row["ZIP"]) == tuple(group.labels[name] for name in ("DOB", "Sex", "ZIP"))
    ]
    twice = pa.concat_tables([renamed, renamed.slice(len(rows) - 1)])
    again = link(twice, voters, given, on=["DOB", "Sex", "ZIP"], show=["Name"], most=100)
    two = [one.rows for one in again.worst if one.labels["ZIP"] == "94142"]
    return {
        "rows that fit Sue J. Carlson and nobody else": len(hers),
        "what she has reported": told,
        "rows that fit her if her tuple stood there twice (section 2)": two,
    }


def _figure_2() -> dict[str, Any]:
    known = hierarchies("samarati")
    found: dict[str, Any] = {f"labels of {value}": _path(known["ZIP"], value) for value in ("94138", "94142")}
    values = {"Race": "asian", "Sex": "male", "MaritalStatus": "married", "DOB": "09/27/64"}
    return found | {f"labels of {value}": _path(known[name], value) for name, value in values.items()}


def _path(hierarchy: Any, value: str) -> list[str]:
    return [hierarchy.label(value, level) for level in range(hierarchy.height + 1)]


def _figure_3() -> dict[str, Any]:
    found = strategies((1, 2))
    return {
        "strategies of Race and ZIP": len(found),
        "by the formula of section 5": math.factorial(1 + 2) // (math.factorial(1) * math.factorial(2)),
        "the strategies": [[list(node) for node in path] for path in found],
    }


def _figure_4() -> dict[str, Any]:
    rows = table("samarati-figure-4")
    found: dict[str, Any] = {}
    for node in NODES[1:]:
        made, verdict = _at(rows, node, 1)
        found |= {_name_of(node): made, f"{_name_of(node)} satisfies k-anonymity up to k =": verdict.smallest_group}
    for k in (2, 3):
        found[f"{k}-minimal (Example 3.5)"] = _vectors(solutions(rows, policy("samarati", SMALL, k, 0)))
    return found


def _figure_5() -> dict[str, Any]:
    return {"vectors by height": [[list(node) for node in NODES if sum(node) == height] for height in range(4)]}


def _figure_6() -> dict[str, Any]:
    rows = _medical()
    found: dict[str, Any] = {"2-minimal generalizations": _vectors(solutions(rows, policy("samarati", QUASI, 2, 0)))}
    return found | {_name_of(node): _at(rows, node, 2)[0] for node in ((0, 2, 1, 2, 2), (1, 3, 0, 1, 1))}


def _figure_7() -> dict[str, Any]:
    rows = _medical()
    first = rows.slice(0, 10)
    with anonymize(rows, policy("samarati", QUASI, 2, 1), algorithm=Samarati()) as release:
        suppressed = PaperTable.of_arrow(release.table, QUASI)
    alone = distance_matrix(rows, policy("samarati", QUASI, 2, 0)).required_suppression((0,) * 5)
    return {
        "2-minimal generalizations without the last tuple": _vectors(solutions(first, policy("samarati", QUASI, 2, 0))),
        "GT[0,1,0,0,0]": _at(first, (0, 1, 0, 0, 0), 2)[0],
        "Figure 6 with the last tuple suppressed": suppressed,
        "tuples that suppression alone would remove (section 4)": alone,
    }


def _figure_8() -> dict[str, Any]:
    rows = table("samarati-figure-8")
    return {_name_of(node): _at(rows, node, 1)[0] for node in NODES[1:]}


def _figure_9() -> dict[str, Any]:
    rows = table("samarati-figure-8")
    found: dict[str, Any] = {_name_of(node): _at(rows, node, 2, 4)[0] for node in NODES}
    matrix = distance_matrix(rows, policy("samarati", SMALL, 2))
    return found | {
        "tuples to suppress (Example 4.1)": {_name_of(node): matrix.required_suppression(node) for node in NODES}
    }


def _example_4_2() -> dict[str, Any]:
    rows = table("samarati-figure-8")
    found: dict[str, Any] = {
        f"MaxSup = {budget}": _vectors(solutions(rows, policy("samarati", SMALL, 2, budget))) for budget in range(5)
    }
    matrix = distance_matrix(rows, policy("samarati", SMALL, 2))
    second = strategies((1, 2))[1]
    found["locally minimal on the second strategy, MaxSup = 1"] = list(
        next(node for node in second if matrix.required_suppression(node) <= 1)
    )
    return found


def _figure_10() -> dict[str, Any]:
    rows = table("samarati-figure-8")
    found: dict[str, Any] = {}
    for budget in range(5):
        heights: list[int] = []

        def report(stage: str, done: int | None, total: int | None, heights: list[int] = heights) -> None:
            if stage == "height" and done is not None:
                heights.append(done)

        given = policy("samarati", SMALL, 2, budget)
        with anonymize(rows, given, algorithm=Samarati(), watch=Watch(progress=report)) as release:
            vector = list((release.node or {}).values())
        minimal = _vectors(solutions(rows, given))
        is_lowest = vector in minimal and sum(vector) == min(map(sum, minimal))
        found[f"MaxSup = {budget}: a k-minimal vector of least height"] = is_lowest
        found[f"MaxSup = {budget}: heights tried, vector found"] = [heights, vector]
    return found


def _figure_11() -> dict[str, Any]:
    rows = _medical()
    matrix = distance_matrix(rows, policy("samarati", QUASI, 2, 0))
    names = [f"t{number}" for number in range(1, 12)]
    vectors = [["".join(map(str, vector)) for vector in row] for row in matrix.vectors.tolist()]
    bound = list(matrix.upper_bound())
    last = [list(vector) for vector in matrix.minimal_vectors(10)]
    pair = pa.table({"Race": ["asian", "black"], "ZIP": ["94139", "94139"]})
    return {
        "vectors": PaperTable.of(["", *names], [[name, *row] for name, row in zip(names, vectors, strict=True)]),
        "<asian,94139> and <black,94139>": distance_matrix(pair, policy("samarati", SMALL, 2)).vectors[0, 1].tolist(),
        "what a solution with t11 dominates (Example 5.1)": sorted(last),
        "least height of a solution with t11": min(map(sum, last)),
        "least upper bound": bound,
        "its level": sum(bound),
    }


def _example_6_1() -> dict[str, Any]:
    rows = table("samarati-figure-8")
    found = {}
    for budget in (1, 2):
        known = solutions(rows, policy("samarati", SMALL, 2, budget))
        for name in ("min-absolute", "min-relative", "max-distribution", "min-suppression"):
            ranks = [preference_named(name)(one) for one in known]
            best = [one for one, rank in zip(known, ranks, strict=True) if rank == min(ranks)]
            found[f"MaxSup = {budget}, {name}"] = _vectors(best)
    return found


def _figure_12() -> dict[str, Any]:
    rows = table("samarati-figure-12")
    columns = rows.column_names
    dates = levels([[day, f"{day[:2]}/{day[6:]}", f"19{day[6:]}", "*"] for day in rows["DOB"].to_pylist()])
    ladders = {"SSN": suppress(), "Race": suppress(), "DOB": dates, "Sex": suppress(), "ZIP": prefix(5, keep=[4, 3])}
    given = Policy(columns={name: quasi(ladders[name]) for name in columns}, privacy=[KAnonymity(2)])
    tags = {"SSN": 1, "DOB": 2, "Sex": 2, "ZIP": 2, "Race": 3}
    with MuArgusSession.open(rows, given, algorithm=MuArgus(identifying=tags)) as session:
        blanked = {name: number for name, number in session.suppressions().cells.items() if number}
        reached = session.levels
        with session.release(allow_unsafe=True) as release:
            made = release.table.to_pylist()
    lowered = [{**row, "SSN": None} for row in made]  # its only label above the values says nothing: a blank cell
    stay = [(row["Race"], row["DOB"], row["Sex"], row["ZIP"]) for row in lowered]
    return {
        "released": PaperTable.of(columns, [[row[name] for name in columns] for row in lowered]),
        "levels": reached,
        "blank cells of t8": blanked,
        "tuples <white, 1964, male, 94138>": stay.count(("white", "1964", "male", "94138")),
    }


def _figure_12_printed() -> dict[str, Any]:
    shown = as_printed("samarati-figure-12 released")
    rows = [list(cells) for cells, number in shown.rows for _ in range(number)]
    for row in rows:
        if row[3:] == ["female", "94139"]:
            row[:] = ["", "", "1965", "female", ""]
    why = (
        "that t8 loses Race and DOB does not follow from the tags: the ten types take Race and ZIP. It follows from "
        "the pairs alone if DOB is most identifying, as in Sweeney's paper"
    )
    return {
        "released": Differs(shown, PaperTable.of(shown.columns, rows), why),
        "blank cells of t8": Differs({"Race": 1, "DOB": 1}, {"Race": 1, "ZIP": 1}, why),
        "tuples <white, 1964, male, 94138>": 1,
    }


def _section_7() -> dict[str, Any]:
    rows = table("samarati-figure-4")
    given = policy("samarati", SMALL, 3, 0)
    steps = datafly_steps(rows, given, algorithm=Datafly())
    return {
        "distinct values of Race and ZIP at first": list(steps[0].distinct.values()),
        "Datafly's way": [list(one.node.values()) for one in steps],
        "3-minimal generalizations": _vectors(solutions(rows, given)),
    }


def _footnote_3() -> dict[str, Any]:
    """Link by a made-up voter list, then by it and a made-up register of births."""
    given = policy("samarati", QUASI)
    voters = pa.table({"Name": ["Ann", "Bea"], "ZIP": ["94139", "94139"], "Sex": ["female", "female"]})
    register = pa.table({"Name": ["Ann", "Bea"], "DOB": ["09/27/64", "09/30/64"]})
    apart = link(_medical(), voters, given, on=["ZIP", "Sex"])
    together = link(_medical(), [voters, register], given, on=["ZIP", "Sex", "DOB"])
    return {"found by the voter list alone": apart.one_to_one, "found by both joined": together.one_to_one}


FIGURES = (
    Figure(
        "samarati-figure-1",
        "Figure 1, sections 1 and 2",
        "re-identifying anonymous data by linking",
        _figure_1,
        lambda: {
            "rows that fit Sue J. Carlson and nobody else": 1,
            "what she has reported": ["shortness of breath"],
            "rows that fit her if her tuple stood there twice (section 2)": [2],
        },
        note="the other people of the voter list are made up: the paper leaves them out",
    ),
    Figure(
        "samarati-footnote-3",
        "section 2, footnote 3",
        "a universal relation combining external tables",
        _footnote_3,
        dict,
        note="the paper gives no example: both tables are made up",
    ),
    Figure(
        "samarati-figure-2",
        "Figure 2, Example 3.1",
        "domain and value generalization hierarchies",
        _figure_2,
        lambda: {
            "labels of 94138": ["94138", "9413*", "941**"],
            "labels of 94142": ["94142", "9414*", "941**"],
        },
        note=f"{LOST}: the trees are read off Figures 4 to 8",
    ),
    Figure(
        "samarati-figure-3",
        "Figure 3, Example 3.2, section 5",
        "generalization strategies of Race and ZIP",
        _figure_3,
        lambda: {"strategies of Race and ZIP": 3, "by the formula of section 5": 3},
        note=LOST,
    ),
    Figure(
        "samarati-figure-4",
        "Figure 4, Examples 3.3 to 3.5",
        "all generalizations of a table, and the minimal ones",
        _figure_4,
        lambda: {
            **_all_printed("figure-4", NODES[1:]),
            **{
                f"{_name_of(node)} satisfies k-anonymity up to k =": k
                for node, k in zip(NODES[1:], (2, 4, 3, 6, 12), strict=True)
            },
            "2-minimal (Example 3.5)": [[0, 1], [1, 0]],
            "3-minimal (Example 3.5)": [[0, 2], [1, 0]],
        },
    ),
    Figure("samarati-figure-5", "Figure 5, section 3.2", "the lattice of distance vectors", _figure_5, dict, note=LOST),
    Figure(
        "samarati-figure-6",
        "Figure 6, section 4",
        "a table and its minimal generalizations",
        _figure_6,
        lambda: {
            "2-minimal generalizations": [[0, 2, 1, 2, 2], [1, 3, 0, 1, 1]],
            **_all_printed("figure-6", [(0, 2, 1, 2, 2), (1, 3, 0, 1, 1)]),
        },
    ),
    Figure(
        "samarati-figure-7",
        "Figure 7, section 4",
        "the same table without its last tuple",
        _figure_7,
        lambda: {
            "2-minimal generalizations without the last tuple": [[0, 1, 0, 0, 0]],
            "GT[0,1,0,0,0]": as_printed("samarati-figure-7 GT[0,1,0,0,0]"),
            "Figure 6 with the last tuple suppressed": as_printed("samarati-figure-7 GT[0,1,0,0,0]"),
            "tuples that suppression alone would remove (section 4)": 11,
        },
    ),
    Figure(
        "samarati-figure-8",
        "Figure 8, section 4",
        "a table and its generalizations",
        _figure_8,
        lambda: _all_printed("figure-8", NODES[1:]),
    ),
    Figure(
        "samarati-figure-9",
        "Figure 9, Example 4.1",
        "the same, with minimal required suppression",
        _figure_9,
        lambda: {
            **_all_printed("figure-9", NODES),
            "tuples to suppress (Example 4.1)": dict(zip(map(_name_of, NODES), (4, 2, 1, 1, 0, 0), strict=True)),
        },
    ),
    Figure(
        "samarati-example-4-2",
        "Example 4.2, section 5",
        "minimal generalizations by MaxSup; locally minimal ones",
        _example_4_2,
        lambda: {
            "MaxSup = 0": [[1, 1]],
            "MaxSup = 1": [[0, 2], [1, 0]],
            "MaxSup = 2": [[0, 1], [1, 0]],
            "MaxSup = 3": [[0, 1], [1, 0]],
            "MaxSup = 4": [[0, 0]],
            "locally minimal on the second strategy, MaxSup = 1": [1, 1],
        },
    ),
    Figure(
        "samarati-figure-10",
        "Figure 10, Theorem 5.3",
        "Find_vector on the table of Figure 8",
        _figure_10,
        lambda: {f"MaxSup = {budget}: a k-minimal vector of least height": True for budget in range(5)},
        note="the paper shows no run; which of several lowest vectors is found is ours",
    ),
    Figure(
        "samarati-figure-11",
        "Figure 11, Example 5.1",
        "distance vectors between tuples",
        _figure_11,
        lambda: {
            "vectors": as_printed("samarati-figure-11 vectors"),
            "<asian,94139> and <black,94139>": [1, 0],
            "what a solution with t11 dominates (Example 5.1)": [[0, 2, 1, 2, 2], [1, 3, 0, 1, 1]],
            "least height of a solution with t11": 6,
            "least upper bound": Differs(
                [1, 3, 2, 2, 2], [1, 3, 1, 2, 2], "Sex has one step, and no entry of Figure 11 has more"
            ),
            "its level": Differs(10, 9, "it follows from the bound"),
        },
    ),
    Figure(
        "samarati-example-6-1",
        "Example 6.1",
        "preferred generalizations",
        _example_6_1,
        lambda: {
            "MaxSup = 1, min-absolute": [[1, 0]],
            "MaxSup = 1, min-relative": [[0, 2], [1, 0]],
            "MaxSup = 1, max-distribution": [[0, 2], [1, 0]],
            "MaxSup = 1, min-suppression": [[0, 2], [1, 0]],
            "MaxSup = 2, min-absolute": [[0, 1], [1, 0]],
            "MaxSup = 2, min-relative": [[0, 1]],
            "MaxSup = 2, max-distribution": [[0, 1]],
            "MaxSup = 2, min-suppression": [[1, 0]],
        },
    ),
    Figure(
        "samarati-figure-12",
        "Figure 12, section 7",
        "µ-Argus on a table with social security numbers",
        _figure_12,
        _figure_12_printed,
    ),
    Figure(
        "samarati-section-7",
        "section 7",
        "Datafly generalizes more than is needed",
        _section_7,
        lambda: {
            "distinct values of Race and ZIP at first": [3, 4],
            "Datafly's way": [[0, 0], [0, 1], [1, 1]],
            "3-minimal generalizations": [[0, 2], [1, 0]],
        },
    ),
)
