"""The JSON Schema of policy files, with every model and algorithm that is known to the registries."""

from __future__ import annotations

from typing import Any

from pydantic import TypeAdapter

from indistinct.hierarchy import FORMS
from indistinct.policy.files.policy_entries import OF_ONE_TABLE, AtLevelEntry, PolicyEntries, model_entries
from indistinct.registry import ALGORITHMS, MODELS


def policy_schema() -> dict[str, Any]:
    """Return the JSON Schema of policy files, for editors that complete and check them."""
    schema = TypeAdapter(PolicyEntries).json_schema()
    schema["oneOf"] = [
        {"required": ["columns"], "not": {"required": ["tables"]}},
        {"required": ["tables", "person"], "not": {"anyOf": [{"required": [name]} for name in OF_ONE_TABLE]}},
    ]
    variants = []
    for name, kind in MODELS.items():
        variant = model_entries(kind).model_json_schema()
        variant["title"] = name
        variant["properties"] = {"model": {"const": name}} | variant["properties"]
        variant["required"] = ["model", *variant.get("required", [])]
        variant["additionalProperties"] = False
        variants.append(variant)
        if hasattr(kind, "at_level"):
            computed = {**variant["properties"], "at_level": TypeAdapter(AtLevelEntry).json_schema()}
            del computed["k"]
            variants.append(variant | {"properties": computed, "required": ["model", "at_level"]})
    schema["properties"]["privacy"]["items"] = {"anyOf": variants}
    (written, _) = schema["$defs"]["ColumnEntry"]["properties"]["hierarchy"]["anyOf"]
    written |= {"propertyNames": {"enum": list(FORMS)}, "minProperties": 1, "maxProperties": 1}
    schema["properties"]["algorithm"]["enum"] = list(ALGORITHMS)
    schema["properties"]["max_suppression"]["anyOf"] = [
        {"type": "number", "minimum": 0, "maximum": 1},
        {"type": "integer", "minimum": 0},
    ]
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema, "title": "indistinct policy"}
