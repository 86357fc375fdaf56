"""Wong et al., (α, k)-anonymity Based Privacy Preservation by Lossy Join, 2007: its tables and figures."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from indistinct.data_utility.workload import predicate_size, queries
from indistinct.engine import open_table
from indistinct.errors import TableError
from indistinct.hierarchy import Hierarchy, intervals
from indistinct.papers.figure import Figure, PaperTable
from indistinct.papers.inputs import adult_hierarchy, as_printed, example, hierarchies, policy
from indistinct.pipeline import anonymize, solutions
from indistinct.policy import Policy, quasi, sensitive
from indistinct.privacy import AlphaK, LDiversity, PrivacyModel
from indistinct.proof.verdict import verify
from indistinct.search import Anatomy, Chosen, LossyJoin, TopDown

PAPER = "Wong et al. 2007"
QUASI = ("Job", "Birth", "Postcode")
ALL = (*QUASI, "Illness")
MODEL = AlphaK(0.5, 2)

ADULT = ("age", "workclass", "education", "marital-status", "race", "sex", "native-country", "salary-class")
OCCUPATION = "occupation"
ALPHA, K, L = 0.33, 2, 3
AXES: dict[str, tuple[float, ...]] = {
    "d": (4, 6, 8),
    "qd": (1, 4, 8),
    "s": (0.01, 0.05, 0.15),
    "n": (0.1, 0.5, 1.0),
}
"""The four factors that the figures vary; n as a share of the rows."""
MADE_UP_ROWS, QUERIES = 3_000, 200
PLACES = {
    "age": 0,
    "workclass": 1,
    "education": 3,
    "marital-status": 5,
    "occupation": 6,
    "race": 8,
    "sex": 9,
    "native-country": 13,
    "salary-class": 14,
}
"""Where the columns stand in the files of UCI Adult, which have no head."""
TABLE_8 = {
    "Age": 74,
    "Work Class": 7,
    "Education": 16,
    "Martial Status": 7,
    "Race": 5,
    "Sex": 2,
    "Native Country": 41,
    "Salary Class": 2,
    "Occupation": 14,
}


def _policy_of(k: int = 2, alpha: float = 0.5) -> Policy:
    return policy("wong", QUASI, max_suppression=0, secret=["Illness"], models=[AlphaK(alpha, k)])


def _figure_1() -> dict[str, Any]:
    known = hierarchies("wong")["Job"]
    jobs = ("clerk", "manager", "factory worker", "technical supporter")
    return {f"labels of {job}": [known.label(job, level) for level in range(3)] for job in jobs}


def _table_1() -> dict[str, Any]:
    return {"(0.5, 2)-anonymous": verify(example("wong"), _policy_of()).passed}


def _sizes(rows: PaperTable) -> list[int]:
    counts: Counter[tuple[str, ...]] = Counter()
    for cells, number in rows.rows:
        counts[cells[:3]] += number
    return sorted(counts.values())


def _table_2() -> dict[str, Any]:
    rows, given = example("wong"), _policy_of()
    vectors = [list(one.vector) for one in solutions(rows, given)]
    chosen = Chosen(dict(zip(QUASI, vectors[0], strict=True)))
    with anonymize(rows, given, algorithm=chosen) as release:
        made = PaperTable.of_arrow(release.table, ALL)
    return {"minimal full-domain generalizations": vectors, "Table 2": made, "sizes of QID-EC's": _sizes(made)}


def _table_3() -> dict[str, Any]:
    with anonymize(example("wong"), _policy_of(), algorithm=TopDown()) as release:
        made = PaperTable.of_arrow(release.table, ALL)
        held = [
            verify(release.table, _policy_of(k, alpha), is_local=True).passed
            for k, alpha in ((2, 0.5), (3, 0.5), (2, 0.49))
        ]
    return {"Table 3": made, "(0.5, 2)-, (0.5, 3)- and (0.49, 2)-anonymous": held}


def _lossy_join() -> dict[str, PaperTable]:
    """Return Tables 4 to 7, with classes numbered by the first of their rows in Table 1 as the paper does."""
    raw = [tuple(row[name] for name in ALL) for row in example("wong").to_pylist()]
    with anonymize(example("wong"), _policy_of(), algorithm=LossyJoin()) as release:
        tables = {name: rows.to_pylist() for name, rows in release.tables.items()}
        join = release.join().to_pylist()
    class_of = {tuple(row[name] for name in QUASI): str(row["class_id"]) for row in tables["quasi"]}
    number = {own: place for place, own in enumerate(dict.fromkeys(class_of[row[:3]] for row in raw), 1)}
    return {
        "4": PaperTable.of([*ALL, "ClassID"], [[*row, number[class_of[row[:3]]]] for row in raw]),
        "5": PaperTable.of(
            [*QUASI, "ClassID"],
            [[*(row[name] for name in QUASI), number[str(row["class_id"])]] for row in tables["quasi"]],
        ),
        "6": PaperTable.of(
            ["ClassID", "Illness"], [[number[str(row["class_id"])], row["Illness"]] for row in tables["sensitive"]]
        ),
        "7": PaperTable.of(
            [*ALL, "ClassID"], [[*(row[name] for name in ALL), number[str(row["class_id"])]] for row in join]
        ),
    }


def _one_of(number: str) -> Figure:
    titles = {
        "4": ("section 3, section 6 step 2", "the Temp table"),
        "5": ("section 3, section 6 step 3", "the NSS table"),
        "6": ("section 3, section 6 step 4", "the SS table"),
        "7": ("section 3", "the result of joining the two tables"),
    }
    where, title = titles[number]

    def compute() -> dict[str, Any]:
        return {f"Table {number}": _lossy_join()[number]}

    note = "classes are numbered at random in a release, and here by the first of their rows in Table 1"
    shown = f"wong-table-{number}"
    return Figure(
        shown, f"Table {number}, {where}", title, compute, lambda: {f"Table {number}": as_printed(shown)}, note=note
    )


def _theorem_1() -> dict[str, Any]:
    join = _lossy_join()["7"]
    rows = [cells for cells, number in join.rows for _ in range(number)]
    sizes = Counter(cells[-1] for cells in rows)
    bags = {cells[:3]: frozenset(other[3] for other in rows if other[:3] == cells[:3]) for cells in rows}
    shares = [
        count / sum(one[:3] == person for one in rows)
        for person in bags
        for count in Counter(one[3] for one in rows if one[:3] == person).values()
    ]
    return {
        "rows of each class in the join, of a = 2 rows": sorted(sizes.values()),
        "fewest individuals linked to one bag": min(Counter(bags.values()).values()),
        "largest share of a value in a bag": max(shares),
        "bag of (clerk, 1975, 4350)": sorted(bags["clerk", "1975", "4350"]),
        "bag of (manager, 1955, 4350)": sorted(bags["manager", "1955", "4350"]),
    }


def adult_columns(column: str) -> Hierarchy:
    """Return the hierarchy of a column of Adult, of the height in Table 8."""
    return intervals(5, 10, 20) if column == "age" else adult_hierarchy(column)


def _table_8(adult: str | None = None) -> dict[str, Any]:
    names = dict(zip(TABLE_8, (*ADULT, OCCUPATION), strict=True))
    found: dict[str, Any] = {
        "heights": {name: adult_columns(column).height for name, column in names.items()},
        "b by default (s = 0.05, qd = 4)": {name: predicate_size(number, 5, 0.05) for name, number in TABLE_8.items()},
    }
    rows = None if adult is None else read_adult(adult)
    found["rows"] = None if rows is None else len(rows)
    found["distinct values"] = (
        None if rows is None else {name: len(rows[column].unique()) for name, column in names.items()}
    )
    return found


def _table_8_printed() -> dict[str, Any]:
    shown = as_printed("wong-table-8")
    heights = {name: int(height) for (name, _, height), _ in shown.rows}
    return {"heights": {name: heights[name] for name in TABLE_8}, "rows": 45_222, "distinct values": TABLE_8}


def read_adult(place: str) -> pa.Table:
    """Return the rows of UCI Adult without unknown values, from the folder of its two files or from a table."""
    if os.path.isdir(place):
        rows = []
        for name in ("adult.data", "adult.test"):
            path = Path(place) / name
            if not path.is_file():
                raise TableError(
                    f"{place}: there is no {name}; give the folder of UCI Adult, or a table of its columns"
                )
            for line in path.read_text("utf-8").splitlines():
                *cells, salary = (cell.strip() for cell in line.split(","))
                cells.append(salary.removesuffix(".").upper())  # one of the files writes <=50K. or <=50k
                if len(cells) == 15:
                    rows.append([cells[place] for place in PLACES.values()])
        read = pa.table(dict(zip(PLACES, map(list, zip(*rows, strict=True)), strict=True)))
    else:
        with open_table(place) as table:
            missing = [name for name in (*ADULT, OCCUPATION) if name not in table.columns()]
            if missing:
                raise TableError(f"{place}: the table has no column {', '.join(map(repr, missing))}")
            read = table.texts([*ADULT, OCCUPATION]).read_all()
    kept = [
        row
        for row in read.select([*ADULT, OCCUPATION]).to_pylist()
        if None not in row.values() and "?" not in row.values()
    ]
    return pa.Table.from_pylist(kept)


def made_up_adult(rows: int) -> pa.Table:
    """Return people with the values of Adult, of which each column is drawn by itself and some values are rare."""
    draw = np.random.default_rng(2007)
    made = {}
    for name in (*ADULT, OCCUPATION):
        ages = [str(age) for age in range(17, 91)]
        values = np.array(ages if name == "age" else [row[0] for row in adult_columns(name).table()], str)
        shares = 1 / (1 + np.arange(len(values)))
        made[name] = draw.choice(values, rows, p=shares / shares.sum())
    return pa.table(made)


def _releases(rows: pa.Table, columns: Sequence[str]) -> dict[str, Any]:
    """Return the releases of the three algorithms that the figures compare."""
    models: dict[str, tuple[Any, PrivacyModel]] = {
        "Alpha": (TopDown(), AlphaK(ALPHA, K)),
        "Alpha(Lossy)": (LossyJoin(TopDown()), AlphaK(ALPHA, K)),
        "Anatomy": (Anatomy(l=L), LDiversity(L)),
    }
    roles = {name: quasi(adult_columns(name)) for name in columns} | {OCCUPATION: sensitive()}
    chosen = rows.select([*columns, OCCUPATION])
    return {
        name: anonymize(chosen, Policy(columns=roles, privacy=[model]), algorithm=algorithm)
        for name, (algorithm, model) in models.items()
    }


def _curve(factor: str, errors: dict[float, dict[str, dict[str, float]]]) -> PaperTable:
    """Return the errors at each value of a factor, a column for each algorithm and way to answer."""
    first = next(iter(errors.values()))
    heads = [f"{name}, {estimator}" for name, own in first.items() for estimator in own]
    rows = [[value, *(error for own in at.values() for error in own.values())] for value, at in errors.items()]
    return PaperTable.of([factor, *heads], rows)


def _figures_2_to_5(adult: str | None = None) -> dict[str, Any]:
    """Measure the average relative error of COUNT queries, one factor at a time."""
    whole = made_up_adult(MADE_UP_ROWS) if adult is None else read_adult(adult)
    mixed = whole.take(pa.array(np.random.default_rng(0).permutation(len(whole))))
    errors: dict[str, dict[float, dict[str, dict[str, float]]]] = {}
    default: dict[str, float] = {"d": 8, "qd": 4, "s": 0.05, "n": 1.0}
    made: dict[tuple[int, float], dict[str, Any]] = {}
    for factor, values in AXES.items():
        errors[factor] = {}
        for value in values:
            at = default | {factor: value}
            columns, share = ADULT[: int(at["d"])], at["n"]
            rows = mixed.slice(0, int(len(mixed) * share))
            key = (len(columns), share)
            made.setdefault(key, _releases(rows, columns)) if key not in made else None
            asked = queries(
                rows.select([*columns, OCCUPATION]),
                made[key]["Alpha"].policy,
                dimensions=int(at["qd"]),
                selectivity=at["s"],
                number=QUERIES if adult is None else 1000,
            )
            found = {name: asked.errors(one, literal=name == "Alpha").average for name, one in made[key].items()}
            errors[factor][value] = {
                name: {estimator: round(error, 4) for estimator, error in own.items()} for name, own in found.items()
            }
    for releases in made.values():
        for release in releases.values():
            release.close()
    even = {"Alpha": "uniform", "Alpha(Lossy)": "proportional", "Anatomy": "proportional"}
    cases = [
        {name: case[name][estimator] for name, estimator in even.items()}
        for own in errors.values()
        for case in own.values()
    ]
    held = sum(case["Alpha(Lossy)"] < case["Anatomy"] < case["Alpha"] for case in cases)
    figures = {f"Figure {number} ({factor})": _curve(factor, errors[factor]) for number, factor in enumerate(AXES, 2)}
    claim = {"Alpha(Lossy) < Anatomy < Alpha, cases, spread evenly": [held, len(cases)]}
    source = (
        "UCI Adult" if adult is not None else f"a made-up table of {MADE_UP_ROWS:,} rows: give UCI Adult by --adult"
    )
    return {**figures, **claim, "note": f"errors on {source}; the curves are not in the text that we have"}


FIGURES = (
    Figure(
        "wong-figure-1",
        "Figure 1",
        "the hierarchy of jobs",
        _figure_1,
        dict,
        note="the drawing is not in the text that we have: Table 3 forces the tree",
    ),
    Figure("wong-table-1", "Table 1", "the raw table", _table_1, lambda: {"(0.5, 2)-anonymous": False}),
    Figure(
        "wong-table-2",
        "Table 2, section 1",
        "full-domain generalization",
        _table_2,
        lambda: {"Table 2": as_printed("wong-table-2"), "sizes of QID-EC's": [2, 4]},
    ),
    Figure(
        "wong-table-3",
        "Table 3, section 2, Algorithm 1",
        "local recoding",
        _table_3,
        lambda: {
            "Table 3": as_printed("wong-table-3"),
            "(0.5, 2)-, (0.5, 3)- and (0.49, 2)-anonymous": [True, False, False],
        },
    ),
    *map(_one_of, "4567"),
    Figure(
        "wong-theorem-1",
        "section 3, section 5, Theorem 1",
        "what the join tells",
        _theorem_1,
        lambda: {
            "rows of each class in the join, of a = 2 rows": [4, 4, 4],
            "fewest individuals linked to one bag": 2,
            "largest share of a value in a bag": 0.5,
            "bag of (clerk, 1975, 4350)": ["HIV", "flu"],
            "bag of (manager, 1955, 4350)": ["HIV", "flu"],
        },
    ),
    Figure(
        "wong-table-8",
        "Table 8, section 7",
        "the columns of Adult",
        _table_8,
        _table_8_printed,
        note="rows and distinct values are counted if UCI Adult is given by --adult; b follows from its formula",
        takes_adult=True,
    ),
    Figure(
        "wong-figures-2-5",
        "Figures 2 to 5, section 7",
        "average relative error of COUNT queries",
        _figures_2_to_5,
        dict,
        takes_adult=True,
        is_large=True,
    ),
)
