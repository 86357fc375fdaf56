"""The generic tests of examples/dbt: their SQL, made as dbt makes it, finds what is wrong and selects no cell."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import duckdb
import jinja2
import pytest

GENERIC = Path(__file__).resolve().parents[2] / "examples" / "dbt" / "tests" / "generic"
ROWS = [
    ("f", "02138", "flu"),
    ("f", "02138", "gout"),
    ("m", "02139", "flu"),
    ("m", "02139", "flu"),
    ("m", "02141", "flu"),
]


def failures(name: str, rows: list[tuple[str, ...]], **arguments: Any) -> list[tuple[Any, ...]]:
    """Return what a generic test selects: a dbt test passes if that is nothing."""
    text = (GENERIC / f"{name}.sql").read_text("utf-8")
    declared, body = re.search(r"{% test \w+\(model, (.*?)\) %}(.*){% endtest %}", text, re.DOTALL).groups()
    assert declared.split(", ") == list(arguments)
    sql = jinja2.Environment(autoescape=False).from_string(body).render(model="released", **arguments)
    with duckdb.connect() as connection:
        connection.execute('CREATE TABLE released ("Sex" VARCHAR, zip VARCHAR, ill VARCHAR)')
        connection.executemany("INSERT INTO released VALUES (?, ?, ?)", rows)
        return connection.execute(sql).fetchall()


@pytest.mark.parametrize(("k", "failing"), [(1, []), (2, [(1,)]), (3, [(1,), (2,), (2,)])])
def test_small_groups_are_found_by_their_sizes_alone(k: int, failing: list[tuple[int]]) -> None:
    assert sorted(failures("k_anonymous", ROWS, columns=["Sex", "zip"], k=k)) == failing


def test_groups_of_one_value_are_found() -> None:
    asked = {"columns": ["Sex", "zip"], "sensitive": "ill"}
    assert sorted(failures("l_diverse", ROWS, **asked, l=2)) == [(1, 1), (2, 1)]
    assert failures("l_diverse", ROWS[:2], **asked, l=2) == []


def test_identifiers_that_are_left_are_found() -> None:
    assert failures("lacks_columns", ROWS, columns=["name", "sex"]) == [("Sex",)]
    assert failures("lacks_columns", ROWS, columns=["name"]) == []
