"""Projects of ARX (.deid): their columns, hierarchies, models and limits as a policy, and what has no counterpart."""

from __future__ import annotations

import csv
import io
import math
import os
import re
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any
from xml.etree import ElementTree  # nosec B405 # see where it is parsed

from indistinct.atomic_files import OWNER_ONLY, whole_folder, write_whole
from indistinct.errors import HierarchyError, OutputError, PolicyError
from indistinct.hierarchy import Hierarchy, Levels, keep, levels
from indistinct.policy.column import Column, Role
from indistinct.policy.files.policy_file import policy_toml
from indistinct.policy.policy import Policy
from indistinct.registry import MODELS

NUMBER = r"([0-9]+(?:\.[0-9]+)?(?:E-?[0-9]+)?)"
OF_COLUMN = r" for attribute '(.*)'"
SOURCE_OF_TABLE = "ARX compares with the whole table, and here the table is what is released"


@dataclass(frozen=True, slots=True)
class ArxModel:
    """The model that a text of ARX means, if there is one, with its options, and what is to be known of it."""

    name: str | None
    options: Mapping[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


def model_named(text: str) -> ArxModel:
    """Return the model that ARX's description of a privacy model means.

    >>> model_named("5-anonymity")
    ArxModel(name='k-anonymity', options={'k': 5}, notes=())
    >>> model_named("recursive-(4.0,3)-diversity for attribute 'illness'").options
    {'l': 3, 'kind': 'recursive', 'c': 4.0, 'column': 'illness'}
    >>> model_named("(2.0E-1,1.0E-5)-differential privacy").name is None
    True
    """
    for pattern, make in FORMS.items():
        found = re.fullmatch(pattern, text, re.DOTALL)
        if found:
            return make(found)
    return ArxModel(None, {}, ("has no counterpart and was left out",))


def measure_named(text: str) -> str | None:
    """Return the measure that ARX's description of a quality model means, if there is one.

    >>> measure_named("Loss (geometric mean)"), measure_named("Non-Uniform entropy"), measure_named("Ambiguity")
    ('loss', 'entropy', None)
    """
    plain = " ".join(text.lower().replace("-", " ").split())
    return next((measure for word, measure in MEASURES_BY_WORD.items() if word in plain), None)


MEASURES_BY_WORD = {
    "non uniform entropy": "entropy",
    "discernab": "discernibility",
    "average equivalence class": "average-group-size",
    "equivalence class size": "average-group-size",
    "precision": "precision",
    "loss": "loss",
    "height": "absolute-distance",
}


def _k_anonymity(found: re.Match[str]) -> ArxModel:
    return ArxModel("k-anonymity", {"k": int(found[1])})


def _k_map(found: re.Match[str]) -> ArxModel:
    if found[2] in (None, "unknown"):
        note = f"k-map counts people of a population, so k-anonymity with k = {found[1]} was taken, which asks for more"
        return ArxModel("k-anonymity", {"k": int(found[1])}, (note,))
    note = f"k-map with k = {found[1]} is estimated there from a model of the population, here as k-anonymity"
    return ArxModel("k-anonymity", {"k": int(found[2])}, (note,))


def _distinct(found: re.Match[str]) -> ArxModel:
    return ArxModel("l-diversity", {"l": int(found[1]), "kind": "distinct", "column": found[2]})


def _entropy(found: re.Match[str]) -> ArxModel:
    diversity = math.ceil(float(found[2]))
    notes = [] if diversity == float(found[2]) else [f"l is a whole number here, so {diversity} was taken"]
    if found[1] == "grassberger-":
        notes.append("the entropy is computed as Shannon's, and not estimated as Grassberger does")
    return ArxModel("l-diversity", {"l": diversity, "kind": "entropy", "column": found[3]}, tuple(notes))


def _recursive(found: re.Match[str]) -> ArxModel:
    options = {"l": int(float(found[2])), "kind": "recursive", "c": float(found[1]), "column": found[3]}
    return ArxModel("l-diversity", options)


def _closeness(found: re.Match[str]) -> ArxModel:
    options = {"t": float(found[1]), "distance": found[2], "column": found[3]}
    return ArxModel("t-closeness", options, (SOURCE_OF_TABLE,))


def _disclosure(found: re.Match[str]) -> ArxModel:
    delta = round(float(found[1]) * math.log(2), 12)
    notes = ("delta is in natural logarithms here, and a value that a group lacks counts as disclosed", SOURCE_OF_TABLE)
    return ArxModel("delta-disclosure", {"delta": delta, "column": found[2]}, notes)


def _likeness(found: re.Match[str]) -> ArxModel:
    options: dict[str, Any] = {"beta": float(found[2]), "column": found[3]}
    options |= {"enhanced": True} if found[1] == "enhanced-" else {}
    return ArxModel("beta-likeness", options, (SOURCE_OF_TABLE,))


def _average_risk(found: re.Match[str]) -> ArxModel:
    notes: tuple[str, ...] = ()
    if found[2]:
        notes = ("only the average risk was taken over, and not the highest risk with the share that may exceed it",)
    return ArxModel("average-risk", {"at_most": float(found[1])}, notes)


FORMS: dict[str, Callable[[re.Match[str]], ArxModel]] = {
    r"\(?([0-9]+)\)?-anonymity": _k_anonymity,
    r"\(([0-9]+)\)-map(?: estimated as \(([0-9]+|unknown)\)-anonymity.*)?": _k_map,
    rf"distinct-([0-9]+)-diversity{OF_COLUMN}": _distinct,
    rf"(shannon-|grassberger-)?entropy-{NUMBER}-diversity{OF_COLUMN}": _entropy,
    rf"recursive-\({NUMBER}, ?{NUMBER}\)-diversity{OF_COLUMN}": _recursive,
    rf"{NUMBER}-closeness with (equal|ordered|hierarchical) (?:ground-)?distance{OF_COLUMN}": _closeness,
    rf"{NUMBER}-disclosure privacy{OF_COLUMN}": _disclosure,
    rf"(basic-|enhanced-)?{NUMBER}-likeness{OF_COLUMN}": _likeness,
    rf"\(<?{NUMBER}(, .*)?\)-avg-reidentification-risk": _average_risk,
}
"""Texts of ARX, and how each is read."""


MOST_XML = 16_000_000
MOST_TEXT = 256_000_000
"""Bytes that a file may have when it is unpacked: settings, and hierarchies of millions of values."""
MOST_FILES = 100_000
BROKEN = (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError, NotImplementedError, OSError, ValueError)
"""What reading a file of a broken or encrypted archive raises."""


class ArxFiles:
    """A project file of ARX that is open: its settings as XML, its hierarchies as text. Java objects are not read."""

    def __init__(self, path: Path) -> None:
        """Open a project; raise if it is none."""
        self.file = path.name
        self.notes: list[str] = []
        try:
            self._zip = zipfile.ZipFile(path)
        except OSError as error:
            raise PolicyError(f"cannot read {path}: {error.strerror or error}") from None
        except BROKEN:
            raise PolicyError(f"{self.file}: is no project of ARX, which is a zip file") from None
        self._sizes = {one.filename: one for one in self._zip.infolist()[:MOST_FILES]}
        if "input/definition.xml" not in self._sizes or "input/config.xml" not in self._sizes:
            self._zip.close()
            raise PolicyError(f"{self.file}: is no project of ARX: it has no input/definition.xml or input/config.xml")

    def __enter__(self) -> ArxFiles:
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        self._zip.close()

    @property
    def name(self) -> str:
        """The name of the project, or of its file."""
        return self.xml("project.xml").first("name").strip() or self.file

    def text(self, name: str, most: int = MOST_TEXT) -> str | None:
        """Return a file as text, None if there is none; one that unpacks to too much is refused.

        ARX writes UTF-8; older versions wrote what the machine had, which is then taken for Windows-1252.
        """
        if name not in self._sizes:
            return None
        try:
            with self._zip.open(self._sizes[name]) as file:
                content = file.read(most + 1)
        except BROKEN:
            raise PolicyError(f"{self.file}: {name} cannot be unpacked; the project is broken or encrypted") from None
        if len(content) > most:
            raise PolicyError(f"{self.file}: {name} unpacks to more than {most // 1_000_000} MB; it is not read")
        try:
            return content.decode("utf-8-sig")
        except UnicodeDecodeError:
            note = f"{name} is not UTF-8; it was read as Windows-1252, so look at letters with accents"
            if note not in self.notes:
                self.notes.append(note)
            return content.decode("cp1252", errors="replace")

    def xml(self, name: str) -> Said:
        """Return what a file of settings says; nothing if there is no such file."""
        text = self.text(name, MOST_XML)
        if text is None:
            return Said(None)
        if "<!DOCTYPE" in text or "<!ENTITY" in text:
            raise PolicyError(f"{self.file}: {name} declares a document type, which ARX never does; it is not read")
        try:
            # the text is bounded, and expat refuses entities that grow without bound; none is fetched
            return Said(ElementTree.fromstring(text))  # nosec B314 # as said above
        except (ElementTree.ParseError, ValueError):
            raise PolicyError(f"{self.file}: {name} is not XML") from None


class Said:
    """What a file of settings says, by the names of its elements."""

    def __init__(self, root: ElementTree.Element | None) -> None:
        """Take the outermost element; None says nothing."""
        self._root = root

    def texts(self, name: str) -> list[str]:
        """Return the text of each element of a name."""
        return [(element.text or "").strip() for element in self._all(name)]

    def first(self, name: str) -> str:
        """Return the text of the first element of a name, or nothing; one space is a delimiter and stays."""
        return next((element.text or "" for element in self._all(name)), "")

    def is_said(self, name: str) -> bool:
        """Return whether there is an element of a name."""
        return any(True for _ in self._all(name))

    def groups(self, name: str) -> list[dict[str, str]]:
        """Return what stands directly within each element of a name."""
        return [{inner.tag: inner.text or "" for inner in element} for element in self._all(name)]

    def _all(self, name: str) -> Iterator[ElementTree.Element]:
        return iter(()) if self._root is None else self._root.iter(name)


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
        with whole_folder(goal) as staged:
            for column in self.policy.columns.values():
                if isinstance(column.hierarchy, Levels) and column.hierarchy.source is not None:
                    listed = column.hierarchy
                    write_whole(staged / str(listed.source), _writer_of(listed), mode=OWNER_ONLY)
            head = [f"# From the ARX project {self.name!r}. Read what could not be taken over:"]
            head += [f"# - {note}" for note in self.notes] or ["# nothing was left out"]
            write_whole(staged / "policy.toml", "\n".join(head) + "\n\n" + policy_toml(self.policy))
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
