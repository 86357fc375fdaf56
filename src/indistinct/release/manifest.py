"""The manifest: what a release says about itself and its policy, without a cell of the private table.

A folder that has one is a release, so who writes one asks here whether it may stand at a place.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import indistinct
from indistinct.errors import OutputError, TableError
from indistinct.policy import Person, Policy
from indistinct.release.forms import FORMS

MANIFEST = "manifest.json"
"""The file in which a release folder says what it is."""
VERIFIER = "verify.py"
"""What the program is called that a release may carry, so that a recipient can recount it without this package."""
EARLIER_VERIFIERS: frozenset[str] = frozenset()
"""The SHA-256 of each such program that published versions gave to releases before it changed; none has changed yet."""
SIGNATURE = "manifest.json.sig"
"""The Ed25519 signature over the bytes of the manifest, if whoever made a release signed it."""
SIGNATURE_BYTES = 64
CROISSANT, RO_CRATE = "croissant.json", "ro-crate-metadata.json"
"""What catalogues of data read of a release; a folder may hold both."""
FORMAT = 2
"""The form of manifests that are written."""
FORMATS = (1, FORMAT)
"""The forms that are read: 1 is that of 0.1.0, which said less."""


def manifest(
    policy: Policy,
    *,
    facts: Mapping[str, Any],
    verdict: Mapping[str, Any],
    files: Mapping[str, str],
) -> dict[str, Any]:
    """Return the manifest of a release as JSON takes it; ``verdict`` is what the recount found, as JSON takes it."""
    return {
        "format": FORMAT,
        "made_by": f"indistinct {indistinct.__version__}",
        "made_at": datetime.now(UTC).isoformat(timespec="seconds"),
        **({"about": dict(policy.about)} if policy.about else {}),
        **facts,
        "policy": policy_described(policy),
        "policy_sha256": policy_digest(policy),
        "verdict": dict(verdict),
        "files": dict(files),
    }


def manifest_text(content: Mapping[str, Any]) -> str:
    """Return the one text of a manifest."""
    return json.dumps(content, indent=2, ensure_ascii=False) + "\n"


def has_manifest(place: object) -> bool:
    """Return whether this is the path of a release folder."""
    return isinstance(place, str | Path) and (Path(place) / MANIFEST).is_file()


def read_manifest(folder: Path) -> dict[str, Any]:
    """Read the manifest of a release folder; raise a TableError if it does not say what one must say."""
    try:
        said: dict[str, Any] = json.loads((folder / MANIFEST).read_text("utf-8"), object_pairs_hook=_once_each)
        table_files(folder, said)
        numbers = [said[key] for key in ("released", "suppressed", "groups", "smallest_group")]
        levels = [] if said["node"] is None else said["node"].values()
        is_sound = all(type(number) is int for number in (*numbers, *levels)) and type(said.get("delimiter", "")) is str
    except (OSError, ValueError, KeyError, AttributeError, TypeError, RecursionError):
        is_sound = False
    if not is_sound:
        raise TableError(f"{folder / MANIFEST} is no manifest of a release; give the table file itself instead")
    if type(said.get("format")) is not int or said["format"] not in FORMATS:
        raise TableError(
            f"{folder / MANIFEST} is of a format that this version does not know; use the one that made it"
        )
    return said


def _once_each(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Take the statements of a manifest; of two of one name, readers believe different ones."""
    said = dict(pairs)
    if len(said) < len(pairs):
        raise ValueError("a name occurs twice")
    return said


def table_files(folder: Path, said: Mapping[str, Any]) -> dict[str, Path]:
    """Return the paths of the tables that a manifest lists: ``table``, or ``quasi`` and ``sensitive``."""
    files = FORMS[said.get("form")].of_files(list(said["files"]))
    return {table: folder / file for table, file in files.items()}


def file_digest(path: Path) -> str:
    """Return the SHA-256 of a file as a manifest states it; of a folder, that of the names and digests of its files."""
    if path.is_dir():
        parts = [(place.relative_to(path).as_posix(), place) for place in path.rglob("*") if place.is_file()]
        listed = "".join(f"{file_digest(place)}  {name}\n" for name, place in sorted(parts))
        return hashlib.sha256(listed.encode()).hexdigest()
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def verifier_text() -> str:
    """Return the program that recounts a release without this package, which a release may carry as ``verify.py``."""
    return Path(__file__).with_name("recount_alone.py").read_text("utf-8")


def is_known_verifier(digest: str) -> bool:
    """Return whether a program with this digest is the one of this version, or of an earlier one."""
    return digest in EARLIER_VERIFIERS or digest == hashlib.sha256(verifier_text().encode()).hexdigest()


def refuse_occupied(folder: Path, replace: bool = False) -> None:
    """Raise an OutputError if a release cannot be written at this place; cheap, so it can be asked beforehand."""
    if len(folder.parts) > 1 and len(folder.parts[0]) > 2 and folder.parts[0].endswith(":"):
        raise OutputError(
            f"{folder.parts[0]}// is no folder here; write to storage that is mounted as a folder, "
            "or write release.table with Spark and verify what it wrote"
        )
    if folder.exists() and not folder.is_dir():
        raise OutputError(f"{folder} is a file; name a folder for the release")
    if folder.is_dir() and any(folder.iterdir()):
        if not (folder / MANIFEST).is_file():
            raise OutputError(f"{folder} is not empty; name a new folder for the release")
        if not replace:
            raise OutputError(f"{folder} already holds a release; name another folder, or say replace (--replace)")
        if beside := sorted(_names_in(folder) - _names_of_release(folder)):
            raise OutputError(
                f"{folder} also holds {beside[0]!r}, which replacing the release would remove; move it elsewhere first"
            )
    parent = next(place for place in (folder.absolute().parent, *folder.absolute().parents) if place.exists())
    if not parent.is_dir() or not os.access(parent, os.W_OK | os.X_OK):
        raise OutputError(f"{parent} cannot be written to; name a folder elsewhere")


def _names_in(folder: Path) -> set[str]:
    return {place.name for place in folder.iterdir()}


def _names_of_release(folder: Path) -> set[str]:
    """Return the names of the files that belong to the release in a folder."""
    try:
        said = json.loads((folder / MANIFEST).read_text("utf-8"))
        own = {MANIFEST, SIGNATURE, CROISSANT, RO_CRATE, *said["files"]}
        return own | ({VERIFIER} if "verifier" in said else set())
    except (OSError, ValueError, KeyError, TypeError):
        return {MANIFEST, SIGNATURE}


def policy_described(policy: Policy) -> dict[str, Any]:
    """Return a policy as a public manifest may state it: hierarchies by kind, levels and digest, filters by column.

    Ground values that a hierarchy lists, values that a filter compares with, and codes that mean missing could be cells
    of the private table, so they are left out.
    """
    if policy.tables:
        return _tables_described(policy)
    assert policy.quasi_identifiers is not None  # set when the policy was made
    said: dict[str, Any] = {"person": policy.person.terms()} if isinstance(policy.person, Person) else {}
    said |= {"one_row_per_person": True} if policy.one_row_per_person else {}
    return {
        "columns": _columns_described(policy),
        "quasi_identifiers": {name: list(names) for name, names in policy.quasi_identifiers.items()},
        "privacy": [model.terms() for model in policy.privacy],
        "max_suppression": policy.max_suppression,
        "suppressed_rows": policy.suppressed_rows,
        "eligible": _conditions_described(policy),
        "algorithm": policy.algorithm,
        **said,
    }


def _tables_described(policy: Policy) -> dict[str, Any]:
    """Return a policy of several tables as a public manifest may state it."""
    assert isinstance(policy.person, Person)  # set when the policy was made
    tables = {
        name: {
            "columns": _columns_described(part.policy),
            **policy.tables[name].describe(),
            "eligible": _conditions_described(part.policy),
        }
        for name, part in policy.parts.items()
    }
    return {
        "tables": tables,
        "privacy": [model.terms() for model in policy.privacy],
        "max_suppression": policy.max_suppression,
        "algorithm": policy.algorithm,
        "person": policy.person.terms(),
    }


def _conditions_described(policy: Policy) -> list[dict[str, str]]:
    return [{"column": condition.column, "op": condition.op} for condition in policy.eligible]


def _columns_described(policy: Policy) -> dict[str, Any]:
    columns: dict[str, Any] = {}
    for name, column in policy.columns.items():
        columns[name] = {"role": column.role} | ({"pseudonym": column.pseudonym} if column.pseudonym else {})
        columns[name] |= {} if column.rename is None else {"rename": column.rename}
        columns[name] |= {} if column.shift is None else {"shift": column.shift.describe()}
        columns[name] |= column.describe_perturbation()
        if column.role == "sensitive" and not column.hierarchy.is_never_generalized:
            columns[name] |= {"hierarchy": column.hierarchy.describe()}
        if column.role == "quasi":
            columns[name] |= {
                "hierarchy": column.hierarchy.describe(),
                "weight": column.weight,
                "missing": column.missing,
            }
        columns[name] |= column.describe_levels()
        if column.recode is not None:
            columns[name] |= {"recode": column.recode.describe() | {"level": column.recode_level}}
        columns[name] |= {"missing_codes": len(column.missing_codes)} if column.missing_codes else {}
        columns[name] |= {} if column.unreadable == "refuse" else {"unreadable": column.unreadable}
    return columns


def policy_digest(policy: Policy, *, heeds_names: bool = True) -> str:
    """Return the SHA-256 of everything that a policy requires of a release; the algorithm is not part of it.

    Without ``heeds_names`` neither is what columns are called in the release.
    """
    described = policy_described(policy)
    del described["algorithm"]
    if policy.tables:
        for name, part in policy.parts.items():
            _tell_all(described["tables"][name], part.policy)
    else:
        _tell_all(described, policy)
    described["privacy"] = [model.describe() for model in policy.privacy]
    if not heeds_names:
        for table in described.get("tables", {"": described}).values():
            table["columns"] = {
                name: {key: value for key, value in column.items() if key != "rename"}
                for name, column in table["columns"].items()
            }
    return hashlib.sha256(json.dumps(described, sort_keys=True, default=str).encode()).hexdigest()


def _tell_all(described: dict[str, Any], policy: Policy) -> None:
    """Add what a public manifest leaves out of a table: values of filters, and codes that mean missing."""
    described["eligible"] = [[c.column, c.op, str(c.value)] for c in policy.eligible]
    for name, column in policy.columns.items():
        if column.missing_codes:
            described["columns"][name]["missing_codes"] = sorted(column.missing_codes)
