"""Projects of ARX (.deid): their columns, hierarchies, models and limits as a policy, and what has no counterpart."""

from __future__ import annotations

import csv
import io
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from indistinct.atomic_files import OWNER_ONLY, drop_draft, flush_all, give_name, make_draft, write_whole
from indistinct.errors import HierarchyError, OutputError, PolicyError
from indistinct.hierarchy import Hierarchy, Levels, keep, levels
from indistinct.policy.arx.files import ArxFiles
from indistinct.policy.arx.models import ArxModel, measure_named, model_named
from indistinct.policy.column import Column, Role
from indistinct.policy.files.policy_file import policy_toml
from indistinct.policy.policy import Policy
from indistinct.registry import MODELS

ROLES: dict[str, Role] = {
    "IDENTIFYING_ATTRIBUTE": "identifier",
    "QUASI_IDENTIFYING_ATTRIBUTE": "quasi",
    "SENSITIVE_ATTRIBUTE": "sensitive",
    "INSENSITIVE_ATTRIBUTE": "other",
}
ALL = "All"
"""What stands for no limit of a column's levels."""


@dataclass(frozen=True, slots=True)
class ArxProject:
    """What a project of ARX says, as a policy, and what it says that the policy cannot."""

    policy: Policy
    notes: tuple[str, ...]
    """Each thing that has no counterpart, or another meaning, one sentence each."""
    name: str
    """The name of the project."""

    def write(self, folder: str | os.PathLike[str]) -> Path:
        """Write ``policy.toml`` and a CSV file for each hierarchy to a new folder, and return the policy's path.

        The lists name the values of the private table, so only their owner can read them.
        """
        goal = Path(folder)
        if goal.exists():
            raise OutputError(f"{goal} exists already; name another folder")
        if not goal.absolute().parent.is_dir():
            raise OutputError(f"{goal.absolute().parent} is no folder; make it first")
        staged: Path | None = None
        try:
            staged = make_draft(goal, is_folder=True)
            for column in self.policy.columns.values():
                if isinstance(column.hierarchy, Levels) and column.hierarchy.source is not None:
                    listed = column.hierarchy
                    write_whole(staged / str(listed.source), _writer_of(listed), mode=OWNER_ONLY)
            head = [f"# From the ARX project {self.name!r}. Read what could not be taken over:"]
            head += [f"# - {note}" for note in self.notes] or ["# nothing was left out"]
            write_whole(staged / "policy.toml", "\n".join(head) + "\n\n" + policy_toml(self.policy))
            flush_all(staged)
            give_name(staged, goal)
        except OSError as error:
            raise OutputError(f"cannot write {goal}: {error.strerror or error}; nothing was written") from None
        finally:
            if staged is not None:
                drop_draft(staged)
        return goal / "policy.toml"


def read_arx(path: str | os.PathLike[str], *, k: int = 5) -> ArxProject:
    """Return what a project file of ARX says as a policy, with the list of what has no counterpart.

    ``k`` is taken for k-anonymity where none of the project's privacy models has a counterpart. Only the settings are
    read: the table in the project, its results and its Java objects are left alone.
    """
    with ArxFiles(Path(path)) as project:
        notes: list[str] = []
        delimiter = _delimiter(project)
        config = project.xml("input/config.xml")
        columns = _columns(project, delimiter, _weights(config, notes), notes)
        models = _models(config, columns, notes, k)
        options = _options(config, notes)
        if config.is_said("suppressionString"):
            notes.append("suppressed rows are left out, where ARX keeps them with their cells replaced")
        policy = Policy(columns, models, _suppression(config, notes), options=options)
        return ArxProject(policy, tuple(map(_on_one_line, (*project.notes, *notes))), _on_one_line(project.name))


@dataclass(frozen=True, slots=True)
class _DefinedColumn:
    """What the definition of a project says of one column."""

    name: str
    role: Role
    reference: str
    said: Mapping[str, str]


def _assignments(project: ArxFiles) -> list[_DefinedColumn]:
    found = []
    for said in project.xml("input/definition.xml").groups("assigment"):  # spelled so in every version
        name, role = said.get("name", ""), ROLES.get(said.get("type", ""))
        if not name or role is None:
            raise PolicyError(f"{project.file}: a column of its definition has no name or no known type")
        found.append(_DefinedColumn(name, role, said.get("ref", ""), said))
    if not found:
        raise PolicyError(f"{project.file}: its definition has no columns; load a table in ARX and save the project")
    names = [one.name for one in found]
    if len(set(names)) < len(names):
        raise PolicyError(f"{project.file}: its definition has a column twice")
    return found


def _columns(project: ArxFiles, delimiter: str, weights: Mapping[str, float], notes: list[str]) -> dict[str, Column]:
    columns: dict[str, Column] = {}
    files: set[str] = set()
    for one in _assignments(project):
        hierarchy: Hierarchy = keep()
        if one.role in ("quasi", "sensitive"):
            hierarchy = _hierarchy(project, one, delimiter, _file_name(one.name, files), notes)
        weight = weights.get(one.name, 1.0) if one.role == "quasi" else 1.0
        limits = _limits(one, hierarchy) if one.role == "quasi" else {}
        columns[one.name] = Column(one.role, hierarchy, weight, **limits)
        if one.role == "quasi":
            notes += _left_out(one)
    return columns


def _hierarchy(project: ArxFiles, one: _DefinedColumn, delimiter: str, file: str, notes: list[str]) -> Hierarchy:
    """Read the hierarchy of a column, if the project holds one; several labels at the top get one above them."""
    text = project.text(f"input/{one.reference}") if one.reference else None
    if text is None:
        if one.role == "quasi":
            notes.append(f"column {one.name!r}: has no hierarchy in the project, so it is never generalized")
        return keep()
    try:
        rows = [row for row in csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True) if row]
    except csv.Error:
        raise PolicyError(f"{project.file}: the hierarchy of column {one.name!r} is not CSV") from None
    if not rows or len(rows[0]) == 1:
        return keep()
    has_top = len({row[-1] for row in rows}) == 1
    if not has_top:
        notes.append(f"column {one.name!r}: its hierarchy ends in several labels; a level with * was added above")
    try:
        made = levels(rows, top=None if has_top else "*")
    except HierarchyError as error:
        raise HierarchyError(f"{project.file}: the hierarchy of column {one.name!r} cannot be used: {error}") from None
    return Levels(made.rows, made.top, made.names, file)


def _limits(one: _DefinedColumn, hierarchy: Hierarchy) -> dict[str, Any]:
    """Return the lowest and highest level that the definition of a quasi column allows, if it leaves any out."""
    lowest, highest = (_level(one.said.get(key, ALL), hierarchy) for key in ("min", "max"))
    found: dict[str, Any] = {} if not lowest else {"min_level": lowest}
    if highest is not None and highest < (hierarchy.height or 0):
        found["max_level"] = highest
    if lowest is not None and highest is not None and lowest > highest:
        raise PolicyError(f"column {one.name!r}: its lowest level, {lowest}, lies above its highest, {highest}")
    return found


def _level(said: str, hierarchy: Hierarchy) -> int | None:
    """Return a level that a definition says, None for no limit; one beyond the hierarchy is its last."""
    return min(int(said), hierarchy.height or 0) if re.fullmatch(r"[0-9]{1,4}", said.strip(), re.ASCII) else None


def _left_out(one: _DefinedColumn) -> list[str]:
    """Say what the definition of a quasi column asks for that a policy cannot."""
    found = []
    if one.said.get("microAggregationFunction"):
        function = one.said["microAggregationFunction"]
        found.append(f"column {one.name!r}: micro-aggregation ({function}) was left out; it is generalized instead")
    if one.said.get("responseVariable") == "true":
        found.append(f"column {one.name!r}: is a response variable in ARX, which a policy does not say")
    return found


def _weights(config: Any, notes: list[str]) -> dict[str, float]:
    """Read the weights of columns; where all are equal there is nothing to say."""
    found = {said.get("attribute", ""): _number(said.get("weight", "")) for said in config.groups("attributeWeight")}
    given = {name: weight for name, weight in found.items() if weight is not None}
    for name, weight in given.items():
        if weight <= 0:
            notes.append(f"column {name!r}: has weight 0 in ARX; a policy has positive ones, so 0.001 was taken")
    if len(set(given.values())) <= 1:
        return {}
    return {name: max(weight, 0.001) for name, weight in given.items()}


def _models(config: Any, columns: Mapping[str, Column], notes: list[str], k: int) -> list[Any]:
    models: list[Any] = []
    known: Mapping[str, Any] = MODELS
    for text in config.texts("criterion"):
        read: ArxModel = model_named(text)
        notes += [f"{text}: {note}" for note in read.notes]
        if read.name is None:
            continue
        column = read.options.get("column")
        if column is not None and (column not in columns or columns[column].role != "sensitive"):
            notes.append(f"{text}: its column is not sensitive in the project; it was left out")
            continue
        try:
            models.append(known[read.name](**read.options))
        except PolicyError as error:
            notes.append(f"{text}: was left out, because {error}")
    if not models:
        notes.append(f"none of its privacy models could be taken over, so k-anonymity with k = {k} was put there")
        models.append(known["k-anonymity"](k=k))
    return models


def _options(config: Any, notes: list[str]) -> dict[str, Any]:
    """Return the measure that stands for ARX's quality model."""
    said = config.first("metric").strip()
    measure = measure_named(said)
    if said and measure is None:
        notes.append(f"the quality model {said!r} has no counterpart; precision is optimized")
    elif said:
        notes.append(f"the quality model {said!r} is taken for {measure}, as an average over cells")
    return {} if measure in (None, "precision") else {"measure": measure}


def _suppression(config: Any, notes: list[str]) -> float:
    limit = _number(config.first("relativeMaxOutliers"))
    if limit is None or not 0 <= limit <= 1:
        notes.append("no suppression limit could be read, so no row may be suppressed")
        return 0.0
    return limit


def _delimiter(project: ArxFiles) -> str:
    said = project.xml("project.xml").first("separator") or ";"
    if len(said) != 1 or said in '"\r\n':
        raise PolicyError(f"{project.file}: its separator of CSV files is not one character")
    return said


def _number(text: str) -> float | None:
    try:
        found = float(text)
    except ValueError:
        return None
    return found if abs(found) < 1e9 else None


def _on_one_line(text: str) -> str:
    """Return a text of the project as it may stand in a comment, whatever signs it has."""
    return "".join(sign if sign.isprintable() else " " for sign in text)


def _file_name(column: str, taken: set[str]) -> str:
    """Return a name of a file for a column that no path can hide in, another one for each."""
    plain = re.sub(r"[^A-Za-z0-9_-]+", "_", column).strip("_")[:60] or "column"
    name, number = f"{plain}.csv", 2
    while name.lower() in taken:
        name, number = f"{plain}_{number}.csv", number + 1
    taken.add(name.lower())
    return name


def _writer_of(listed: Levels) -> Callable[[Path], object]:
    """Return what writes the rows of a hierarchy, without a top that an option of the policy adds."""
    bare = Levels(listed.rows, None, None)
    return lambda path: bare.write_csv(path)
