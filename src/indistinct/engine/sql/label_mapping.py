"""A recoding as other systems read it: SQL with CASE, or CSV."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

Label = str | None
NUMBER = re.compile(r"[+-]?\d+(\.\d+)?", re.ASCII)
"""Ends of a range that every system reads as the same number."""


@dataclass(frozen=True, slots=True)
class Covered:
    """The values that a label covers, and the ends of the range that it is, if it is one."""

    values: tuple[str, ...]
    ends: tuple[str, ...] = ()
    has_missing: bool = False
    is_all: bool = False
    """It covers whatever the column holds."""


@dataclass(frozen=True, slots=True)
class LabelMapping:
    """What each label of some columns covers, and the labels of each group, the first that fits being a row's."""

    covered: Mapping[str, Mapping[Label, Covered]]
    groups: Sequence[tuple[Label, ...]] | None = None
    """None where a value has one label, whatever the other columns say."""
    names: tuple[str, ...] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "names", tuple(self.covered))

    def csv(self) -> str:
        """Return the labels of each value, or, where there are groups, of each group."""
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        if self.groups is not None:
            writer.writerow(self.names)
            writer.writerows(["" if label is None else label for label in group] for group in self.groups)
            return text.getvalue()
        writer.writerow(("column", "value", "label"))
        for name, labels in self.covered.items():
            for label, own in labels.items():
                cells = [*own.values, *([""] if own.has_missing else [])]
                writer.writerows((name, value, "" if label is None else label) for value in cells)
        return text.getvalue()

    def sql(self, table: str) -> str:
        """Return a query that adds the labels to the rows of a table; standard SQL, read by most systems.

        Where there are groups, rows that none covers are not in its answer.
        """
        if self.groups is None:
            cases = ",\n".join(_labels_sql(name, own) for name, own in self.covered.items())
            return f"SELECT source.*,\n{cases}\nFROM {quote(table)} AS source;\n"
        whens = "\n".join(
            f"    WHEN {self._group_sql(group)} THEN {int(number)}" for number, group in enumerate(self.groups)
        )
        cases = ",\n".join(self._label_sql(at) for at in range(len(self.names)))
        return (
            f"WITH grouped AS (\n  SELECT source.*, CASE\n{whens}\n    END AS recoding_group\n"
            f"  FROM {quote(table)} AS source\n)\n"
            f"SELECT grouped.*,\n{cases}\nFROM grouped\nWHERE recoding_group IS NOT NULL;\n"
        )

    def _group_sql(self, group: Sequence[Label]) -> str:
        """Return when a row is covered by the labels of a group."""
        covers = [(name, self.covered[name][label]) for name, label in zip(self.names, group, strict=True)]
        return " AND ".join(_cover_sql(name, own) for name, own in covers if not own.is_all) or "TRUE"

    def _label_sql(self, at: int) -> str:
        """Return the label of a row in a column, by its group."""
        whens = "\n".join(
            f"    WHEN {int(number)} THEN {literal(group[at])}" for number, group in enumerate(self.groups or ())
        )
        return f"  CASE recoding_group\n{whens}\n  END AS {quote(self.names[at] + '_label')}"


def _labels_sql(name: str, labels: Mapping[Label, Covered]) -> str:
    """Return the label of a row in a column, by its value."""
    whens = "\n".join(f"    WHEN {_cover_sql(name, own)} THEN {literal(label)}" for label, own in labels.items())
    return f"  CASE\n{whens}\n  END AS {quote(name + '_label')}"


def _cover_sql(name: str, own: Covered) -> str:
    """Return when the cell of a column is covered by a label."""
    if own.is_all:
        return "TRUE"
    cell, parts = f"source.{quote(name)}", []
    if own.ends and all(map(NUMBER.fullmatch, own.ends)):
        low, high = sorted((own.ends[0], own.ends[-1]), key=float)
        parts.append(f"{_number_sql(cell)} BETWEEN {_number_sql(literal(low))} AND {_number_sql(literal(high))}")
    elif own.values:
        parts.append(f"CAST({cell} AS VARCHAR) IN ({', '.join(map(literal, own.values))})")
    if own.has_missing:
        parts.append(f"{cell} IS NULL")
    return parts[0] if len(parts) == 1 else f"({' OR '.join(parts) or 'FALSE'})"


def _number_sql(cell: str) -> str:
    return f"CAST({cell} AS DOUBLE PRECISION)"


def quote(identifier: str) -> str:
    """Return an identifier as SQL."""
    return '"' + identifier.replace('"', '""') + '"'


def literal(value: Label) -> str:
    """Return a text as SQL, or NULL."""
    return "NULL" if value is None else "'" + value.replace("'", "''") + "'"
