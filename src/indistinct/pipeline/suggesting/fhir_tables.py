"""flatten_fhir(): the resources of a bulk export of FHIR as flat tables, as ``fhir.toml`` says."""

from __future__ import annotations

import csv
import json
import re
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal

from indistinct.atomic_files import OWNER_ONLY
from indistinct.engine.formats import COMPRESSED, open_packed
from indistinct.errors import TableError
from indistinct.showing.words import counted

PATIENT = "patient"
SUFFIXES = (".ndjson", ".jsonl")
TYPE = re.compile("[A-Z][A-Za-z]{1,40}")
"""A type of resource, which may be named."""
OF_PATIENT = re.compile(r"(?:.*/)?Patient/([A-Za-z0-9.-]{1,64})(?:/_history/.*)?|urn:(?:uuid|oid):(.+)")
DATE = re.compile(r"(\d{4})(-\d\d-\d\d)?.*", re.DOTALL)
WITHDRAWN = "entered-in-error"


@dataclass(frozen=True, slots=True)
class FlatCell:
    """Where a cell stands in a resource, and what of it is kept."""

    paths: Sequence[str]
    keeps: Literal["all", "day", "year", "patient"] = "all"

    def of(self, resource: Mapping[str, Any]) -> str | None:
        """Return the cell of a resource.

        >>> FlatCell(["period.start"], "day").of({"period": {"start": "2020-01-02T03:04:05Z"}})
        '2020-01-02'
        >>> FlatCell(["subject.reference"], "patient").of({"subject": {"reference": "Patient/7"}})
        '7'
        """
        texts = (_text_at(resource, path.split(".")) for path in self.paths)
        text = next((one for one in texts if one is not None), None)
        if text is None or self.keeps == "all":
            return text
        if self.keeps == "patient":
            found = OF_PATIENT.fullmatch(text)
            return None if found is None else found[1] or found[2]
        date = DATE.fullmatch(text)
        if date is None:
            return None
        return date[1] if self.keeps == "year" else date[2] and date[1] + date[2]


def _text_at(element: Any, path: Sequence[str]) -> str | None:
    """Return the first text or number that a path leads to."""
    if isinstance(element, list):
        return next((found for one in element if (found := _text_at(one, path)) is not None), None)
    if path:
        return _text_at(element.get(path[0]), path[1:]) if isinstance(element, dict) else None
    if isinstance(element, bool) or not isinstance(element, str | int | float):
        return None
    return str(element) or None


@cache
def flat_tables() -> dict[str, tuple[str, dict[str, FlatCell]]]:
    """Return, for each type of resource, the name of its table and its cells."""
    content = tomllib.loads(Path(__file__).with_name("fhir.toml").read_text("utf-8"))
    return {
        table["resource"]: (name, {column: FlatCell(**said) for column, said in table["cells"].items()})
        for name, table in content["tables"].items()
    }


def flatten_fhir(folder: Path, goal: Path) -> list[str]:
    """Write the flat tables of an export to a folder that exists, and return what was left out, in words.

    Resources are told apart by what they say they are; files may be called anything that ends as JSON lines do.
    """
    if not folder.is_dir():
        raise TableError(f"{folder}: is no folder; name the one that holds the files of the export")
    files = [path for path in sorted(folder.iterdir()) if _is_export(path)]
    if not files:
        raise TableError(f"{folder.name or folder}: holds no file of an export, such as Patient.ndjson")
    others: Counter[str] = Counter()
    with ExitStack() as stack:
        writers: dict[str, Any] = {}
        for place, number, resource in _resources(files):
            kind = resource.get("resourceType")
            if not isinstance(kind, str) or not TYPE.fullmatch(kind):
                raise TableError(f"{place}: line {number} is no resource of FHIR: it lacks its resourceType")
            if kind not in flat_tables():
                others[f"of type {kind}, of which no table is known"] += 1
                continue
            name, cells = flat_tables()[kind]
            row = [cell.of(resource) for cell in cells.values()]
            if _is_withdrawn(resource):
                others[f"of type {kind} that were entered in error"] += 1
            elif row[0] is None:
                others[f"of type {kind} that name no patient"] += 1
            else:
                if name not in writers:
                    path = goal / f"{name}.csv"
                    path.touch(OWNER_ONLY)
                    file = stack.enter_context(open(path, "w", encoding="utf-8", newline=""))
                    writers[name] = csv.writer(file, lineterminator="\n")
                    writers[name].writerow(cells)
                writers[name].writerow(row)
    unread = [path.name for path in sorted(folder.iterdir()) if path not in files and not path.name.startswith(".")]
    return [
        *(f"left out: {counted(number, 'resource', 'resources')} {what}" for what, number in sorted(others.items())),
        *(f"{name}: left out, since it is no file of an export" for name in unread),
    ]


def _is_export(path: Path) -> bool:
    plain = path.with_suffix("") if path.suffix.lower() in COMPRESSED else path
    return path.is_file() and plain.suffix.lower() in SUFFIXES


def _is_withdrawn(resource: Mapping[str, Any]) -> bool:
    """Return whether a resource says that it should not be there."""
    said = (_text_at(resource, ["status"]), _text_at(resource, ["verificationStatus", "coding", "code"]))
    return WITHDRAWN in said


def _resources(files: Sequence[Path]) -> Iterator[tuple[str, int, dict[str, Any]]]:
    """Yield each resource with the file and the line where it stands; what is wrong is named by its line alone."""
    for path in files:
        try:
            with open_packed(path) if path.suffix.lower() in COMPRESSED else path.open("rb") as file:
                for number, line in enumerate(file, start=1):
                    if line.strip():
                        yield path.name, number, _resource_of(line, path.name, number)
        except OSError as error:
            raise TableError(f"{path.name}: cannot be read ({type(error).__name__})") from None


def _resource_of(line: bytes, place: str, number: int) -> dict[str, Any]:
    try:
        resource = json.loads(line.decode("utf-8-sig"))
    except (ValueError, RecursionError):
        raise TableError(f"{place}: line {number} is not JSON; a line is cut off, or holds no whole resource") from None
    if not isinstance(resource, dict):
        raise TableError(f"{place}: line {number} is no resource of FHIR, which is an object")
    return resource
