"""The inputs of the papers' figures: tables, hierarchies and policies made of them, from ``tables.toml``."""

from __future__ import annotations

import csv
import tomllib
from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from typing import Any

import pyarrow as pa

from indistinct import examples
from indistinct.hierarchy import Hierarchy, levels
from indistinct.papers.figure import PaperTable
from indistinct.policy import Policy, quasi, sensitive
from indistinct.privacy import KAnonymity

HOSPITAL = ("Race", "BirthDate", "Gender", "ZIP")
"""The quasi-identifier of Sweeney's hospital table."""


@cache
def _content() -> dict[str, Any]:
    return tomllib.loads((files(__package__) / "tables.toml").read_text("utf-8"))


def _parse(text: str) -> list[list[str]]:
    return list(csv.reader(text.strip().splitlines()))


def example(name: str) -> pa.Table:
    """Return a table that ``indistinct demo`` ships, as text."""
    return _as_table(_parse((files(examples) / f"{name}.csv").read_text("utf-8")))


def table(name: str) -> pa.Table:
    """Return a table of the papers as text."""
    return _as_table(_parse(_content()["tables"][name]))


def _as_table(rows: list[list[str]]) -> pa.Table:
    head, *body = rows
    return pa.table({name: pa.array([row[place] for row in body], pa.string()) for place, name in enumerate(head)})


def as_printed(name: str) -> PaperTable:
    """Return a table as a paper prints it.

    >>> as_printed("achieving-figure-13 V").rows[0]
    (('1964', '02138', '3'), 1)
    """
    head, *body = _content()["printed"][name].strip().splitlines()
    rows = []
    for line in body:
        number, _, cells = line.partition(" ")
        rows += _parse(cells) * int(number)
    return PaperTable.of(_parse(head)[0], rows)


def hierarchies(group: str) -> dict[str, Hierarchy]:
    """Return the hierarchies of a paper by column."""
    return {name: levels(_parse(text)) for name, text in _content()["hierarchies"][group].items()}


def adult_hierarchy(column: str) -> Hierarchy:
    """Return the hierarchy of a column of UCI Adult, of the height that Table 8 of Wong et al. gives it.

    >>> adult_hierarchy("race").height, adult_hierarchy("sex").height
    (2, 1)
    """
    lines = (line.partition(": ") for line in _content()["adult"][column].strip().splitlines())
    return levels(
        [[value, *(_parse(above)[0] if above else []), "*"] for above, _, values in lines for value in values.split()]
    )


def policy(
    group: str,
    columns: Sequence[str],
    k: int = 2,
    max_suppression: int | None = None,
    *,
    secret: Sequence[str] = (),
    models: Sequence[Any] = (),
) -> Policy:
    """Return a policy over some columns with the hierarchies of a paper."""
    known = hierarchies(group)
    return Policy(
        columns={name: quasi(known[name]) for name in columns} | {name: sensitive() for name in secret},
        privacy=models or [KAnonymity(k)],
        max_suppression=max_suppression,
    )


def plain_policy(columns: Sequence[str], k: int, secret: Sequence[str] = ()) -> Policy:
    """Return a policy for a table that is judged as it stands."""
    roles = {name: sensitive() if name in secret else quasi() for name in columns}
    return Policy(columns=roles, privacy=[KAnonymity(k)])
