"""The texts of catalogues' records that follow from a manifest, with nothing but Python: a part of ``verify.py``, too.

Sources: Croissant 1.0, mlcommons.org/croissant/1.0; RO-Crate 1.1, w3id.org/ro/crate/1.1.
"""

from __future__ import annotations

import json
from collections.abc import Collection
from pathlib import Path
from typing import Any

CROISSANT, RO_CRATE = "croissant.json", "ro-crate-metadata.json"
MANIFEST, VERIFIER = "manifest.json", "verify.py"
NOUNS = {"one table": "groups", "two tables": "classes", "linked tables": "profiles"}
MEDIA_TYPES = {
    ".csv": "text/csv",
    ".tsv": "text/tab-separated-values",
    ".parquet": "application/x-parquet",
    ".jsonl": "application/jsonlines",
    ".arrow": "application/vnd.apache.arrow.file",
    ".xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    ".dta": "application/x-stata-dta",
    ".sav": "application/x-spss-sav",
}
JSON = "application/json"
OTHER_MEDIA = "application/octet-stream"
MEANINGS = {
    "identifier": "a pseudonym in place of an identifier",
    "quasi": "quasi-identifier: others may know it, so it is generalized as far as the policy demands",
    "sensitive": "sensitive: what nobody should learn of a person",
    "other": "neither quasi-identifier nor sensitive",
}
OURS = "made by the release itself, so that rows can be told to belong together"
"""Of columns that no private table has: pseudonyms of people, and the classes of two tables."""

CROISSANT_CONTEXT: dict[str, Any] = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    **{
        name: f"cr:{name}"
        for name in (
            *("citeAs", "column", "equivalentProperty", "extract", "field", "fileObject", "fileProperty", "fileSet"),
            *("format", "includes", "isLiveDataset", "jsonPath", "key", "md5", "parentField", "path", "recordSet"),
            *("references", "regex", "repeated", "replace", "samplingRate", "separator", "source", "subField"),
            "transform",
        )
    },
    "conformsTo": "dct:conformsTo",
    "cr": "http://mlcommons.org/croissant/",
    "rai": "http://mlcommons.org/croissant/RAI/",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "dct": "http://purl.org/dc/terms/",
    "examples": {"@id": "cr:examples", "@type": "@json"},
    "sc": "https://schema.org/",
}
"""The names that Croissant 1.0 gives its terms."""


def records_of(said: dict[str, Any], folders: Collection[str] = ()) -> dict[str, str]:
    """Return the texts of ``croissant.json`` and ``ro-crate-metadata.json`` that follow from a manifest as JSON has it.

    ``folders`` are the tables that are folders of Parquet files.
    """
    found = {CROISSANT: _croissant(said, folders), RO_CRATE: _ro_crate(said, folders)}
    return {name: json.dumps(record, indent=2, ensure_ascii=False) + "\n" for name, record in found.items()}


def _croissant(said: dict[str, Any], folders: Collection[str]) -> dict[str, Any]:
    return {
        "@context": CROISSANT_CONTEXT,
        "@type": "sc:Dataset",
        "conformsTo": "http://mlcommons.org/croissant/1.0",
        **_dataset(said),
        "distribution": [_distribution(name, digest, folders) for name, digest in said["files"].items()],
        "recordSet": [_record_set(said, name, columns, folders) for name, columns in _columns(said).items()],
    }


def _dataset(said: dict[str, Any]) -> dict[str, Any]:
    """Return what both say of the release as a whole."""
    about = said.get("about", {})
    creator = {"creator": {"@type": "Organization", "name": about["creator"]}} if "creator" in about else {}
    return {
        "name": about.get("title", f"Release {said['policy_sha256'][:12]} of {said['made_at'][:10]}"),
        "description": _description(said),
        **({"license": about["license"]} if "license" in about else {}),
        **creator,
        "dateCreated": said["made_at"],
        "datePublished": said["made_at"][:10],
    }


def _description(said: dict[str, Any]) -> str:
    """Say what the release is, in the words of its holder and of its recount."""
    about, verdict = said.get("about", {}), said["verdict"]
    nouns = NOUNS[said["form"]]
    own = [f"{about['data'].rstrip('.')}."] if "data" in about else []
    own += [f"Purpose: {about['purpose'].rstrip('.')}."] if "purpose" in about else []
    own.append(
        f"Person-level table made anonymous by {said['made_by']}: {said['released']} rows in {said['groups']} {nouns}, "
        f"the smallest of {said['smallest_group']}."
    )
    names = "; ".join(dict.fromkeys(check["id"] for check in verdict["checks"] if check["passed"]))
    if verdict["passed"] and "unsafe" not in said:
        return " ".join([*own, f"Recounted from its cells, what held: {names}."])
    return " ".join([*own, "UNSAFE: it failed its recount and must not be handed out."])


def _distribution(name: str, digest: str, folders: Collection[str]) -> dict[str, Any]:
    media = MEDIA_TYPES.get(Path(name).suffix, OTHER_MEDIA)
    if name in folders:
        return {"@type": "cr:FileSet", "@id": name, "name": name, "encodingFormat": media, "includes": f"{name}/*"}
    whole = {"@type": "cr:FileObject", "@id": name, "name": name, "contentUrl": name}
    return {**whole, "encodingFormat": media, "sha256": digest}


def _record_set(said: dict[str, Any], name: str, columns: dict[str, str], folders: Collection[str]) -> dict[str, Any]:
    """Return the fields of one table; every cell can be read as text, and a manifest says no more of its type."""
    kind, table = "fileSet" if name in folders else "fileObject", Path(name).stem
    fields = [
        {
            "@type": "cr:Field",
            "@id": f"{table}/{column}",
            "name": column,
            "description": meaning,
            "dataType": "sc:Text",
            "source": {kind: {"@id": name}, "extract": {"column": column}},
        }
        for column, meaning in columns.items()
    ]
    return {"@type": "cr:RecordSet", "@id": table, "name": table, "field": fields}


def _columns(said: dict[str, Any]) -> dict[str, dict[str, str]]:
    """Return the columns of each file by the names that they have there, and what each of them is."""
    files = {Path(name).stem: name for name in said["files"]}
    if said["form"] == "one table":  # whatever the name of its file
        (name,) = said["files"]
        files = {"table": name}
    return {files[table]: _meanings(said, rows["columns"], table) for table, rows in said["tables"].items()}


def _meanings(said: dict[str, Any], columns: Collection[str], table: str) -> dict[str, str]:
    """Say of columns what role they have and, where all their cells are at one level, at which."""
    stated = said["policy"].get("columns", {})
    if "tables" in said["policy"]:
        stated = said["policy"]["tables"][table]["columns"]
    own = {name: name for name in stated}
    own.update({column["rename"]: name for name, column in stated.items() if "rename" in column})  # maybe left out
    levels = said.get("level_names", {})
    return {
        name: (MEANINGS[stated[own[name]]["role"]] if name in own else OURS)
        + (f"; released as: {levels[own[name]]}" if own.get(name) in levels else "")
        for name in columns
    }


def _ro_crate(said: dict[str, Any], folders: Collection[str]) -> dict[str, Any]:
    tables = [f"{name}/" if name in folders else name for name in said["files"]]
    whole = _dataset(said)
    creator = {"@id": "#creator", **whole.pop("creator", {})}
    root = {"@id": "./", "@type": "Dataset", **whole, **({"creator": {"@id": "#creator"}} if "name" in creator else {})}
    parts = [
        *(_part(place, said["files"][place.rstrip("/")]) for place in tables),
        {"@id": MANIFEST, "@type": "File", "name": "What the release says of itself", "encodingFormat": JSON},
        {"@id": CROISSANT, "@type": "File", "name": "The same for Croissant", "encodingFormat": JSON},
    ]
    if "verifier" in said:
        program = {"@id": VERIFIER, "@type": "File", "name": "Recounts the release with Python alone"}
        parts.append({**program, "encodingFormat": "text/x-python", "sha256": said["verifier"]})
    root["hasPart"] = [{"@id": part["@id"]} for part in parts]
    root["mentions"] = {"@id": "#made"}
    made = {
        "@id": "#made",
        "@type": "CreateAction",
        "name": "Made the release",
        "endTime": said["made_at"],
        "instrument": {"@id": "#indistinct"},
        "result": [{"@id": place} for place in tables],
    }
    version = said["made_by"][len("indistinct ") :]
    program = {"@id": "#indistinct", "@type": "SoftwareApplication", "name": "indistinct", "version": version}
    return {
        "@context": ["https://w3id.org/ro/crate/1.1/context", {"sha256": "https://schema.org/sha256"}],
        "@graph": [
            {
                "@id": RO_CRATE,
                "@type": "CreativeWork",
                "conformsTo": {"@id": "https://w3id.org/ro/crate/1.1"},
                "about": {"@id": "./"},
            },
            root,
            *parts,
            *([creator] if "name" in creator else []),
            made,
            program,
        ],
    }


def _part(place: str, digest: str) -> dict[str, Any]:
    """Return a table as RO-Crate lists it; the digest of a folder is one that only a manifest explains."""
    if place.endswith("/"):
        return {"@id": place, "@type": "Dataset", "name": "Released rows, a folder of Parquet files"}
    media = MEDIA_TYPES.get(Path(place).suffix, OTHER_MEDIA)
    return {"@id": place, "@type": "File", "name": "Released rows", "encodingFormat": media, "sha256": digest}
