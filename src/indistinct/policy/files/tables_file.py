"""Policy files of several tables: TOML to TablesPolicy and back, every mistake at once with its path."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from indistinct.errors import PolicyError
from indistinct.policy.files.policy_entries import VERSION, TableEntry, TablesEntries
from indistinct.policy.files.policy_file import (
    Mistakes,
    column_lines,
    columns_of,
    condition_lines,
    content_of,
    eligible_of,
    model_lines,
    person_of,
    policy_of,
    privacy_of,
    text_of,
    toml,
)
from indistinct.policy.person import Person
from indistinct.policy.policy import Policy
from indistinct.policy.tables_policy import LinkedTable, TablesPolicy
from indistinct.registry import ALGORITHMS


def read_tables_policy(path: str | os.PathLike[str]) -> TablesPolicy:
    """Read a policy file that describes several tables that belong together, under ``tables``."""
    found = read_any_policy(path)
    if isinstance(found, Policy):
        raise PolicyError(f"{Path(path).name}: describes one table; several stand under tables")
    return found


def read_any_policy(path: str | os.PathLike[str]) -> Policy | TablesPolicy:
    """Read a policy file, of one table or of several."""
    path = Path(path)
    content = content_of(text_of(path), path.name)
    make = tables_policy_of if "tables" in content else policy_of
    return make(content, base=path.parent, name=path.name)


def tables_policy_of(content: Mapping[str, Any], *, base: Path | None = None, name: str = "policy") -> TablesPolicy:
    """Make a policy of several tables from the content of a policy file."""
    mistakes, base = Mistakes(), base or Path()
    try:
        entries = TablesEntries.model_validate(content)
    except ValidationError as error:
        mistakes.add_foreign(error, form=TablesEntries)
        entries = TablesEntries.model_construct(**{k: v for k, v in content.items() if k in TablesEntries.model_fields})
    tables = {}
    given = entries.tables if isinstance(entries.tables, Mapping) else {}
    for table, entry in given.items():
        try:
            entry = TableEntry.model_validate(entry)
        except ValidationError:
            continue  # noted already
        place = f"tables.{table}."
        columns, eligible = columns_of(entry, base, mistakes, place), eligible_of(entry, mistakes, place)
        made = (columns, entry.person, entry.key, entry.references, eligible)
        tables[table] = mistakes.catch(place[:-1], lambda made=made: LinkedTable(*made))  # type: ignore[misc]
    privacy = privacy_of(entries, base, mistakes)
    if isinstance(entries.algorithm, str) and isinstance(entries.options, Mapping):
        mistakes.catch("", lambda: ALGORITHMS.make(entries.algorithm, **entries.options))
    mistakes.raise_if_any(name)
    try:
        person = person_of(entries, base, TablesPolicy.person_released)
        assert person is not None  # it is required
        return TablesPolicy(tables, privacy, person, entries.max_suppression, entries.algorithm, entries.options)
    except PolicyError as error:
        mistakes.items += error.mistakes
        mistakes.raise_if_any(name)
        raise


def tables_policy_toml(policy: TablesPolicy) -> str:
    """Write a policy of several tables as the text of a policy file."""
    lines = [f"version = {VERSION}"]
    if policy.max_suppression is not None:
        lines.append(f"max_suppression = {toml(policy.max_suppression)}")
    lines.append(f"algorithm = {toml(policy.algorithm)}")
    if policy.options:
        lines.append(f"options = {toml(policy.options)}")
    assert isinstance(policy.person, Person)  # set when the policy was made
    lines.append(f"person = {toml(policy.person.describe())}")
    for name, table in policy.tables.items():
        lines += ["", f"[tables.{name}]", *(f"{key} = {toml(value)}" for key, value in table.describe().items())]
        lines += ["", f"[tables.{name}.columns]", *column_lines(table.columns, {})]
        lines += condition_lines(table.eligible, f"tables.{name}.eligible")
    return "\n".join([*lines, *model_lines(policy.privacy)]) + "\n"
