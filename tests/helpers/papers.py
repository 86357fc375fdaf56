"""The tables and hierarchies of Samarati 2001 and Sweeney 2002 as plain Python, and policies made of them.

Figures 2 and 3 of Samarati and Figure 6 of Sweeney are drawings; their trees are read off the tables that use them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

import indistinct as ix

Paths = dict[str, list[str]]
Row = tuple[str, ...]


def paths(*rows: Sequence[str]) -> Paths:
    """Return the labels of each value, level by level, by the value."""
    return {row[0]: list(row) for row in rows}


# Samarati 2001, Figure 2: no suppressed top.
SAMARATI: dict[str, Paths] = {
    "Race": paths(("asian", "person"), ("black", "person"), ("white", "person")),
    "ZIP": paths(
        ("94138", "9413*", "941**"),
        ("94139", "9413*", "941**"),
        ("94141", "9414*", "941**"),
        ("94142", "9414*", "941**"),
    ),
    "Sex": paths(("male", "not released"), ("female", "not released")),
    "MaritalStatus": paths(
        ("married", "been married", "not released"),
        ("divorced", "been married", "not released"),
        ("widow", "been married", "not released"),
        ("single", "never married", "not released"),
    ),
    # The paper goes on above ten years; no result that it states depends on that.
    "DOB": paths(
        ("09/27/64", "09/64", "64", "[60-64]", "[60-69]"),
        ("09/30/64", "09/64", "64", "[60-64]", "[60-69]"),
        ("04/18/64", "04/64", "64", "[60-64]", "[60-69]"),
        ("04/15/64", "04/64", "64", "[60-64]", "[60-69]"),
        ("03/13/63", "03/63", "63", "[60-64]", "[60-69]"),
        ("03/18/63", "03/63", "63", "[60-64]", "[60-69]"),
        ("09/13/64", "09/64", "64", "[60-64]", "[60-69]"),
        ("09/07/64", "09/64", "64", "[60-64]", "[60-69]"),
        ("05/14/61", "05/61", "61", "[60-64]", "[60-69]"),
        ("05/08/61", "05/61", "61", "[60-64]", "[60-69]"),
        ("09/15/61", "09/61", "61", "[60-64]", "[60-69]"),
    ),
}

# Figure 4: every race with every ZIP code.
FIGURE_4 = [(race, code) for race in ("asian", "black", "white") for code in ("94138", "94139", "94141", "94142")]

# Figure 6.
FIGURE_6_COLUMNS = ("Race", "DOB", "Sex", "ZIP", "MaritalStatus")
FIGURE_6 = [
    ("asian", "09/27/64", "female", "94139", "divorced"),
    ("asian", "09/30/64", "female", "94139", "divorced"),
    ("asian", "04/18/64", "male", "94139", "married"),
    ("asian", "04/15/64", "male", "94139", "married"),
    ("black", "03/13/63", "male", "94138", "married"),
    ("black", "03/18/63", "male", "94138", "married"),
    ("black", "09/13/64", "female", "94141", "married"),
    ("black", "09/07/64", "female", "94141", "married"),
    ("white", "05/14/61", "male", "94138", "single"),
    ("white", "05/08/61", "male", "94138", "single"),
    ("white", "09/15/61", "female", "94142", "widow"),
]

# Figure 8, the private table.
FIGURE_8 = [
    ("asian", "94138"),
    ("asian", "94138"),
    ("asian", "94142"),
    ("asian", "94142"),
    ("black", "94138"),
    ("black", "94141"),
    ("black", "94142"),
    ("white", "94138"),
]

# Sweeney 2002, Figures 2, 3 and 6: with a suppressed top. The tree of Gender is lost; "human" is her word in
# "k-anonymity: a model for protecting privacy", Figure 5.
SWEENEY: dict[str, Paths] = {
    "Race": paths(("asian", "person", "******"), ("black", "person", "******"), ("white", "person", "******")),
    "Gender": paths(("male", "human", "******"), ("female", "human", "******")),
    "ZIP": paths(
        ("02138", "0213*", "021**", "*****"),
        ("02139", "0213*", "021**", "*****"),
        ("02141", "0214*", "021**", "*****"),
        ("02142", "0214*", "021**", "*****"),
    ),
    "BirthDate": paths(
        ("9/20/1965", "9/1965", "1965", "1965-69", "1960-69", "********"),
        ("2/14/1965", "2/1965", "1965", "1965-69", "1960-69", "********"),
        ("10/23/1965", "10/1965", "1965", "1965-69", "1960-69", "********"),
        ("8/24/1965", "8/1965", "1965", "1965-69", "1960-69", "********"),
        ("11/7/1964", "11/1964", "1964", "1960-64", "1960-69", "********"),
        ("12/1/1964", "12/1964", "1964", "1960-64", "1960-69", "********"),
        ("10/23/1964", "10/1964", "1964", "1960-64", "1960-69", "********"),
        ("3/15/1965", "3/1965", "1965", "1965-69", "1960-69", "********"),
        ("8/13/1964", "8/1964", "1964", "1960-64", "1960-69", "********"),
        ("5/5/1964", "5/1964", "1964", "1960-64", "1960-69", "********"),
        ("2/13/1967", "2/1967", "1967", "1965-69", "1960-69", "********"),
        ("3/21/1967", "3/1967", "1967", "1965-69", "1960-69", "********"),
    ),
}

# Sweeney, Figure 1: already 2-anonymous.
SWEENEY_FIGURE_1 = [
    ("Black", "1965", "m", "02141", "short breath"),
    ("Black", "1965", "m", "02141", "chest pain"),
    ("Black", "1964", "f", "02138", "obesity"),
    ("Black", "1964", "f", "02138", "chest pain"),
    ("White", "1964", "m", "02138", "chest pain"),
    ("White", "1964", "m", "02138", "obesity"),
    ("White", "1964", "m", "02138", "short breath"),
]

# Sweeney, "k-anonymity: a model for protecting privacy", Figure 2: already 2-anonymous.
MODEL_FIGURE_2 = [
    ("Black", "1965", "m", "0214*", "short breath"),
    ("Black", "1965", "m", "0214*", "chest pain"),
    ("Black", "1965", "f", "0213*", "hypertension"),
    ("Black", "1965", "f", "0213*", "hypertension"),
    ("Black", "1964", "f", "0213*", "obesity"),
    ("Black", "1964", "f", "0213*", "chest pain"),
    ("White", "1964", "m", "0213*", "chest pain"),
    ("White", "1964", "m", "0213*", "obesity"),
    ("White", "1964", "m", "0213*", "short breath"),
    ("White", "1967", "m", "0213*", "chest pain"),
    ("White", "1967", "m", "0213*", "chest pain"),
]

# Sweeney, Figure 4, the private table.
SWEENEY_FIGURE_4 = [(race, code) for race in ("black", "white") for code in ("02138", "02139", "02141", "02142")]

# Sweeney, Figure 7, the private table (t1 to t12).
HOSPITAL_COLUMNS = ("Race", "BirthDate", "Gender", "ZIP", "Problem")
HOSPITAL = [
    ("black", "9/20/1965", "male", "02141", "short of breath"),
    ("black", "2/14/1965", "male", "02141", "chest pain"),
    ("black", "10/23/1965", "female", "02138", "painful eye"),
    ("black", "8/24/1965", "female", "02138", "wheezing"),
    ("black", "11/7/1964", "female", "02138", "obesity"),
    ("black", "12/1/1964", "female", "02138", "chest pain"),
    ("white", "10/23/1964", "male", "02138", "short of breath"),
    ("white", "3/15/1965", "female", "02139", "hypertension"),
    ("white", "8/13/1964", "male", "02139", "obesity"),
    ("white", "5/5/1964", "male", "02139", "fever"),
    ("white", "2/13/1967", "male", "02138", "vomiting"),
    ("white", "3/21/1967", "male", "02138", "back pain"),
]


def table_of(columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> pa.Table:
    """Return rows as an Arrow table of text."""
    return pa.table({name: pa.array([row[i] for row in rows], pa.string()) for i, name in enumerate(columns)})


def policy_of(
    hierarchies: Mapping[str, Paths],
    columns: Sequence[str],
    k: int,
    max_suppression: int | float | None = None,
    *,
    sensitive: Sequence[str] = (),
    **more: Any,
) -> ix.Policy:
    """Return a policy that protects columns with these hierarchies by k-anonymity."""
    roles = {name: ix.quasi(ix.levels(list(hierarchies[name].values()))) for name in columns}
    return ix.Policy(
        columns=roles | {name: ix.sensitive() for name in sensitive},
        privacy=[ix.KAnonymity(k)],
        max_suppression=max_suppression,
        **more,
    )


def cells(table: Any) -> Counter[tuple[Any, ...]]:
    """Return the rows of a released Arrow table as a multiset: released rows stand in random order."""
    return Counter(zip(*(table[name].to_pylist() for name in table.column_names), strict=True))


def at(rows: Sequence[Sequence[str]], columns: Sequence[str], hierarchies: Mapping[str, Paths], node: Sequence[int]):
    """Generalize rows by hand: each cell becomes its label at its column's level, other columns stay."""
    width = len(columns)
    return [
        tuple(hierarchies[name][cell][level] for name, cell, level in zip(columns, row[:width], node, strict=True))
        + tuple(row[width:])
        for row in rows
    ]


def released_at(table: Any, policy: ix.Policy, node: Sequence[int]) -> ix.Release:
    """Return the release at one node, whatever other nodes there are."""
    release = ix.anonymize(table, policy, algorithm=ix.Chosen(dict(zip(policy.quasi, node, strict=True))))
    assert tuple(release.node.values()) == tuple(node)
    return release


# "k-anonymity: a model for protecting privacy", Figure 3: in the order in which they stand there.
FIGURE_3 = [(race, code) for race in ("Asian", "Black", "White") for code in ("02138", "02139", "02141", "02142")]
FIGURE_3_GT1 = [("Person", code) for _, code in FIGURE_3]
FIGURE_3_GT2 = [(race, f"{code[:4]}0") for race, code in FIGURE_3]
FIGURE_3_HIERARCHIES: dict[str, Paths] = {
    "Race": paths(("Asian", "Person"), ("Black", "Person"), ("White", "Person")),
    "ZIP": paths(*((code, f"{code[:4]}0", "*****") for code in ("02138", "02139", "02141", "02142"))),
}

# Figure 5 and Example 7; the columns and the hierarchies are those of the hospital.
HOSPITAL_GT1 = [
    ("black", "1965", "male", "02141", "short of breath"),
    ("black", "1965", "male", "02141", "chest pain"),
    ("person", "1965", "female", "0213*", "painful eye"),
    ("person", "1965", "female", "0213*", "wheezing"),
    ("black", "1964", "female", "02138", "obesity"),
    ("black", "1964", "female", "02138", "chest pain"),
    ("white", "1964", "male", "0213*", "short of breath"),
    ("person", "1965", "female", "0213*", "hypertension"),
    ("white", "1964", "male", "0213*", "obesity"),
    ("white", "1964", "male", "0213*", "fever"),
    ("white", "1967", "male", "02138", "vomiting"),
    ("white", "1967", "male", "02138", "back pain"),
]
HOSPITAL_GT3 = [
    ("black", "1965", "male", "02141", "short of breath"),
    ("black", "1965", "male", "02141", "chest pain"),
    ("black", "1965", "female", "02138", "painful eye"),
    ("black", "1965", "female", "02138", "wheezing"),
    ("black", "1964", "female", "02138", "obesity"),
    ("black", "1964", "female", "02138", "chest pain"),
    ("white", "1960-69", "male", "02138", "short of breath"),
    ("white", "1960-69", "human", "02139", "hypertension"),
    ("white", "1960-69", "human", "02139", "obesity"),
    ("white", "1960-69", "human", "02139", "fever"),
    ("white", "1960-69", "male", "02138", "vomiting"),
    ("white", "1960-69", "male", "02138", "back pain"),
]
HOSPITAL_ADDED = [("black", "1965", "male", "02139", "headache"), ("black", "1965", "male", "02139", "rash")]
