"""Policy files: TOML to Policy and back, every mistake at once with its path, and a JSON Schema for editors."""

from __future__ import annotations

import dataclasses
import datetime
import json
import os
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import MISSING
from pathlib import Path
from typing import Annotated, Any, Literal, get_type_hints

from pydantic import BaseModel, ConfigDict, Discriminator, Field, Tag, TypeAdapter, ValidationError, create_model

from indistinct.algorithms import ALGORITHMS, algorithm_named
from indistinct.algorithms.datafly import for_recipient
from indistinct.errors import PolicyError
from indistinct.hierarchy import Hierarchy, from_spec, keep
from indistinct.policy import ALL_QUASI, OPERATORS, Column, Condition, Policy, suppression_mistakes
from indistinct.privacy import MODELS, PrivacyModel
from indistinct.quality import MEASURES

VERSION = 1
WITH_HIERARCHY = ("quasi", "sensitive")
"""Quasi columns are generalized along it; of a sensitive one it says which values are close to each other."""

NumberOrTable = Annotated[
    Annotated[float, Tag("<number>")] | Annotated[dict[str, float], Tag("<table>")],
    Discriminator(lambda written: "<table>" if isinstance(written, Mapping) else "<number>"),
]
"""One number, or one for each of some values; what is wrong is told of the one that was written."""
NUMBER_OR_MAPPING = float | Mapping[str, float]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, arbitrary_types_allowed=True)


class _ColumnEntry(_Strict):
    role: Literal["identifier", "quasi", "sensitive", "other"]
    hierarchy: dict[str, Any] | None = Field(
        None, description="One of levels, tree, intervals, prefix, dates, rounding, top_bottom, suppress, keep."
    )
    weight: float = Field(1.0, gt=0, description="How much distortion of this column counts.")
    missing: Literal["value", "refuse"] = "value"


class _ConditionEntry(_Strict):
    column: str
    op: str = Field(json_schema_extra={"enum": list(OPERATORS)})
    value: Any = None


class _File(_Strict):
    version: int = Field(ge=VERSION, le=VERSION)
    columns: dict[str, _ColumnEntry]
    privacy: list[dict[str, Any]] = Field(min_length=1)
    max_suppression: Any = Field(None, description="A share of the rows (0.02) or a number of rows (3).")
    quasi_identifiers: dict[str, list[str]] | None = None
    eligible: list[_ConditionEntry] = Field(default_factory=list)
    suppressed_rows: Literal["remove", "blank"] = "remove"
    algorithm: str = Field("lattice", json_schema_extra={"enum": list(ALGORITHMS)})
    options: dict[str, Any] = Field(default_factory=dict, description="Options of the algorithm.")
    recipient_profile: dict[str, float] | None = Field(
        None, description="How likely the recipient links by each quasi column, 0 to 1 (Datafly)."
    )


def read_policy(path: str | os.PathLike[str]) -> Policy:
    """Read a policy file; paths of hierarchies are relative to it.

    Raises one PolicyError that lists every mistake with its path in the file.
    """
    path = Path(path)
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise PolicyError(f"cannot read the policy {path}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise PolicyError(f"the policy {path} is not UTF-8 text") from None
    return parse_policy(text, base=path.parent, name=path.name)


def parse_policy(text: str, *, base: Path | None = None, name: str = "policy") -> Policy:
    """Read a policy from the text of a policy file."""
    try:
        content = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise PolicyError(f"{name} is not TOML: {error}") from None
    return policy_of(content, base=base, name=name)


def policy_of(content: Mapping[str, Any], *, base: Path | None = None, name: str = "policy") -> Policy:
    """Make a policy from the content of a policy file, or of a form that asks the same."""
    mistakes = _Mistakes()
    try:
        entries = _File.model_validate(content)
    except ValidationError as error:
        mistakes.add_foreign(error)
        # what can still be understood is checked too, so that one run shows all there is to mend
        entries = _File.model_construct(**{k: v for k, v in content.items() if k in _File.model_fields})
    columns = _columns(entries, base or Path(), mistakes)
    privacy = _privacy(entries, base or Path(), mistakes)
    eligible = _eligible(entries, mistakes)
    if isinstance(entries.algorithm, str) and isinstance(entries.options, Mapping):
        mistakes.catch("", lambda: algorithm_named(entries.algorithm, **entries.options))
    mistakes.items += suppression_mistakes(entries.max_suppression)
    mistakes.raise_if_any(name)
    try:
        policy = Policy(
            columns=columns,
            privacy=privacy,
            max_suppression=entries.max_suppression,
            quasi_identifiers=entries.quasi_identifiers,
            eligible=eligible,
            suppressed_rows=entries.suppressed_rows,
            algorithm=entries.algorithm,
            options=entries.options,
        )
        return policy if entries.recipient_profile is None else for_recipient(policy, entries.recipient_profile)
    except PolicyError as error:
        mistakes.items += error.mistakes
        mistakes.raise_if_any(name)
        raise


class _Mistakes:
    """Everything that is wrong with a file so far."""

    def __init__(self) -> None:
        self.items: list[str] = []

    def catch(self, path: str, make: Callable[[], Any]) -> Any:
        """Give what ``make`` gives, or None after noting its mistakes under a path."""
        try:
            return make()
        except PolicyError as error:
            prefix = f"{path}: " if path else ""
            self.items += [prefix + mistake for mistake in error.mistakes]
        except ValidationError as error:
            self.add_foreign(error, path)
        return None

    def add_foreign(self, error: ValidationError, path: str = "") -> None:
        """Note the mistakes that pydantic found, in our words where we have better ones."""
        for item in error.errors(include_url=False):
            place = _place((path, *item["loc"]))
            words = {
                "missing": "is required",
                "extra_forbidden": "is not known here; remove it or check its spelling",
            }.get(item["type"], item["msg"][0].lower() + item["msg"][1:])
            given = item["input"]
            got = f", got {given!r}" if item["type"] not in ("missing", "extra_forbidden") else ""
            self.items.append(f"{place}: {words}{got if len(got) < 60 else ''}")

    def raise_if_any(self, name: str) -> None:
        """Raise one error that lists them all."""
        if self.items:
            unique = list(dict.fromkeys(self.items))
            raise PolicyError([f"{name}: {item}" for item in unique])


def _place(parts: tuple[int | str, ...]) -> str:
    """Write a path as people do: ``privacy[0].k``."""
    text = ""
    for part in parts:
        if part not in ("<number>", "<table>"):
            text += f"[{part}]" if isinstance(part, int) else f".{part}" if text and part else str(part)
    return text or "file"


def _columns(entries: _File, base: Path, mistakes: _Mistakes) -> dict[str, Column]:
    columns = {}
    given = entries.columns if isinstance(getattr(entries, "columns", None), Mapping) else {}
    for name, entry in given.items():
        try:
            entry = _ColumnEntry.model_validate(entry)
        except ValidationError:
            continue  # noted already
        hierarchy: Hierarchy | None = keep()
        if entry.hierarchy is not None:
            if entry.role not in WITH_HIERARCHY:
                mistakes.items.append(
                    f"columns.{name}.hierarchy: only a quasi or a sensitive column has one; its role is {entry.role}"
                )
            spec = entry.hierarchy
            hierarchy = mistakes.catch(f"columns.{name}.hierarchy", lambda spec=spec: from_spec(spec, base))  # type: ignore[misc]
        if hierarchy is not None:
            made = (entry.role, hierarchy, entry.weight, entry.missing)
            column = mistakes.catch(f"columns.{name}", lambda made=made: Column(*made))  # type: ignore[misc]
            if column is not None:
                columns[name] = column
    return columns


def _privacy(entries: _File, base: Path, mistakes: _Mistakes) -> list[PrivacyModel]:
    models = []
    given = entries.privacy if isinstance(getattr(entries, "privacy", None), list) else []
    for position, entry in enumerate(given):
        if not isinstance(entry, Mapping):
            continue  # noted already
        place = f"privacy[{position}]"
        fields = dict(entry)
        name = fields.pop("model", None)
        if not isinstance(name, str) or name not in MODELS:
            mistakes.items.append(f"{place}.model: must be one of {', '.join(MODELS)}; got {name!r}")
            continue
        model = mistakes.catch(place, lambda name=name, fields=fields: _model(name, fields))  # type: ignore[misc]
        if model is not None:
            models.append(model.relative_to(base) if model.asks_population else model)
    return models


def _model(name: str, fields: dict[str, Any]) -> PrivacyModel:
    """Make a model from its entry; ``at_level = {level, population}`` computes k as Datafly does."""
    kind = MODELS[name]
    if "at_level" in fields and hasattr(kind, "at_level"):
        if "k" in fields:
            raise PolicyError("give k or at_level, not both")
        level = _AtLevel.model_validate(fields.pop("at_level"))
        fields["k"] = kind.at_level(level.level, level.population).k
    entry = _entry_of(kind).model_validate(fields)
    return kind(**{field: getattr(entry, field) for field in entry.model_fields_set})


def _entry_of(kind: type[PrivacyModel]) -> type[BaseModel]:
    """Give the form of a model's entry: the fields of its dataclass."""
    hints = {name: NumberOrTable if hint == NUMBER_OR_MAPPING else hint for name, hint in get_type_hints(kind).items()}
    hints |= getattr(kind, "written", {})
    fields: dict[str, Any] = {
        field.name: (hints[field.name], ... if field.default is MISSING else field.default)
        for field in dataclasses.fields(kind)  # type: ignore[arg-type]
        if field.init
    }
    return create_model(kind.__name__, __base__=_Strict, **fields)


class _AtLevel(_Strict):
    level: float = Field(ge=0, le=1)
    population: int = Field(ge=1)


def _eligible(entries: _File, mistakes: _Mistakes) -> list[Condition]:
    conditions = []
    given = entries.eligible if isinstance(entries.eligible, list) else []
    for position, entry in enumerate(given):
        if isinstance(entry, _ConditionEntry):
            made = mistakes.catch(
                f"eligible[{position}]",
                lambda entry=entry: Condition(entry.column, entry.op, entry.value),  # type: ignore[misc]
            )
            if made is not None:
                conditions.append(made)
    return conditions


def policy_schema() -> dict[str, Any]:
    """Give the JSON Schema of policy files, for editors that complete and check them."""
    schema = TypeAdapter(_File).json_schema()
    variants = []
    for name, kind in MODELS.items():
        variant = _entry_of(kind).model_json_schema()
        variant["title"] = name
        variant["properties"] = {"model": {"const": name}} | variant["properties"]
        variant["required"] = ["model", *variant.get("required", [])]
        variant["additionalProperties"] = False
        variants.append(variant)
        if hasattr(kind, "at_level"):
            computed = {**variant["properties"], "at_level": TypeAdapter(_AtLevel).json_schema()}
            del computed["k"]
            variants.append(variant | {"properties": computed, "required": ["model", "at_level"]})
    schema["properties"]["privacy"]["items"] = {"anyOf": variants}
    schema["properties"]["max_suppression"]["anyOf"] = [
        {"type": "number", "minimum": 0, "maximum": 1},
        {"type": "integer", "minimum": 0},
    ]
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema, "title": "indistinct policy"}


def policy_toml(policy: Policy, comments: Mapping[str, str] | None = None) -> str:
    """Write a policy as the text of a policy file; ``comments`` are put beside the columns they name."""
    lines = [f"version = {VERSION}"]
    if policy.max_suppression is not None:
        lines.append(f"max_suppression = {_toml(policy.max_suppression)}")
    if policy.suppressed_rows != "remove":
        lines.append(f"suppressed_rows = {_toml(policy.suppressed_rows)}")
    lines.append(f"algorithm = {_toml(policy.algorithm)}")
    if policy.options:
        lines.append(f"options = {_toml(policy.options)}")
    lines += ["", "[columns]"]
    for name, column in policy.columns.items():
        entry: dict[str, Any] = {"role": column.role}
        if column.role in WITH_HIERARCHY:
            spec = column.hierarchy.spec()
            entry |= {} if "keep" in spec else {"hierarchy": spec}
            entry |= {} if column.weight == 1 else {"weight": column.weight}
            entry |= {} if column.missing == "value" else {"missing": column.missing}
        if comments and name in comments:
            lines.append(f"# {' '.join(f'{_key(name)}: {comments[name]}'.split())}")
        lines.append(f"{_key(name)} = {_toml(entry)}")
    assert policy.quasi_identifiers is not None  # set when the policy was made
    if dict(policy.quasi_identifiers) != {ALL_QUASI: policy.quasi}:
        lines += ["", "[quasi_identifiers]"]
        lines += [f"{_key(name)} = {_toml(list(names))}" for name, names in policy.quasi_identifiers.items()]
    for condition in policy.eligible:
        lines += ["", "[[eligible]]", f"column = {_toml(condition.column)}", f"op = {_toml(condition.op)}"]
        if condition.value is not None:
            lines.append(f"value = {_toml(condition.value)}")
    for model in policy.privacy:
        if model.asks_population and getattr(model, "path", None) is None:
            raise PolicyError(
                f"privacy: the population of {model.name} is a table in memory, which a policy file cannot name; "
                "save it, and give its path"
            )
        lines += ["", "[[privacy]]", *(f"{_key(key)} = {_toml(value)}" for key, value in model.describe().items())]
    return "\n".join(lines) + "\n"


def _key(name: str) -> str:
    is_bare = name.isascii() and name and all(c.isalnum() or c in "-_" for c in name)
    return name if is_bare else _toml(name)


def _toml(value: Any) -> str:
    """Write a value as TOML on one line."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, datetime.date | datetime.datetime):
        return value.isoformat()
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{_key(str(k))} = {_toml(v)}" for k, v in value.items()) + " }" if value else "{}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(_toml(item) for item in value) + "]"
    for name, measure in MEASURES.items():
        if value == measure():
            return _toml(name)
    raise PolicyError(f"a {type(value).__name__} cannot be written in a policy file")
