"""Policy files: TOML to Policy and back, every mistake at once with its path."""

from __future__ import annotations

import datetime
import difflib
import json
import os
import tomllib
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from pydantic import BaseModel, ValidationError

from indistinct.errors import PolicyError
from indistinct.hierarchy import Hierarchy, from_spec, keep
from indistinct.policy.algorithms import declare
from indistinct.policy.column import Column, read_missing
from indistinct.policy.condition import Condition
from indistinct.policy.context import Context, RecipientTerms
from indistinct.policy.files.policy_entries import (
    VERSION,
    AtLevelEntry,
    ColumnEntry,
    ConditionEntry,
    ContextEntry,
    PersonEntry,
    PolicyEntries,
    RecipientEntry,
    TableEntry,
    keys_at,
    model_entries,
)
from indistinct.policy.files.recipient_profile import for_recipient
from indistinct.policy.knows import Knows
from indistinct.policy.linked_tables import LinkedTable, linked_person
from indistinct.policy.person import Person
from indistinct.policy.policy import ALL_QUASI, Policy, suppression_mistakes
from indistinct.registry import MEASURES, MODELS

if TYPE_CHECKING:
    from indistinct.privacy import PrivacyModel

CHANGES = ("shift", "microaggregate", "noise", "set")
"""What else than a hierarchy may change the cells of a column."""
WITH_HIERARCHY = ("quasi", "sensitive")
"""Quasi columns are generalized along it; of a sensitive one it says which values are close to each other."""


ONE_TABLE_ONLY = {
    "apply": "a recoding has labels for the columns of one table",
    "explore": "its figures count rows of groups, and of several tables people are counted",
    "mu-argus": "the dialogue shows combinations of the columns of one table",
    "risk of a row": "its cells are compared with those of rows of the same table",
    "utility": "its figures compare the columns of one table",
    "workload": "queries are asked of one table",
    "ledger add": "which person stands behind which rows of all tables is known only while a release is made",
}
"""What takes a policy of one table only, with the reason."""


def load_policy(given: Policy | str | os.PathLike[str], to: str | None = None) -> Policy:
    """Return a policy; a path is read. ``to`` names what is done with it, where that takes one table only."""
    if isinstance(given, str | os.PathLike):
        given = read_policy(given)
    if not isinstance(given, Policy):
        raise PolicyError(f"policy: give a Policy, or the path of its file, not {type(given).__name__}")
    if to is not None and given.tables:
        raise PolicyError(
            f"policy: it describes several tables that belong together, and {to} takes one: {ONE_TABLE_ONLY[to]}"
        )
    return given


def read_policy(path: str | os.PathLike[str]) -> Policy:
    """Read a policy file; paths of hierarchies are relative to it.

    Raises one PolicyError that lists every mistake with its path in the file.
    """
    path = Path(path)
    return parse_policy(text_of(path), base=path.parent, name=path.name)


def text_of(path: Path) -> str:
    try:
        return path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise PolicyError(f"cannot read the policy {path}: {error.strerror}") from None
    except ValueError as error:  # a NUL
        if not isinstance(error, UnicodeDecodeError):
            raise PolicyError("cannot read the policy: its path holds a NUL character") from None
        raise PolicyError(f"the policy {path} is not UTF-8 text") from None


def parse_policy(text: str, *, base: Path | None = None, name: str = "policy") -> Policy:
    """Read a policy from the text of a policy file."""
    return policy_of(content_of(text, name), base=base, name=name)


def content_of(text: str, name: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise PolicyError(f"{name} is not TOML: {error}") from None
    except RecursionError:
        raise PolicyError(f"{name} is no policy: lists or tables stand in each other too deep") from None
    except ValueError:
        raise PolicyError(f"{name} is no policy: it holds a number of too many digits") from None


def policy_of(content: Mapping[str, Any], *, base: Path | None = None, name: str = "policy") -> Policy:
    """Make a policy from the content of a policy file, or of a form that asks the same."""
    mistakes, base = Mistakes(), base or Path()
    try:
        entries = PolicyEntries.model_validate(content)
    except ValidationError as error:
        mistakes.add_foreign(error, form=PolicyEntries)
        # what can still be understood is checked too, so that one run shows all there is to mend
        entries = PolicyEntries.model_construct(**{k: v for k, v in content.items() if k in PolicyEntries.model_fields})
    if "columns" not in content and "tables" not in content:
        mistakes.items.insert(0, "columns: is required")
    columns = columns_of(entries, base, mistakes)
    tables = _tables_of(entries, base, mistakes)
    privacy = privacy_of(entries, base, mistakes)
    eligible = eligible_of(entries, mistakes)
    context, recipients = _context_of(entries, mistakes), _recipients_of(entries, mistakes)
    if isinstance(entries.algorithm, str) and isinstance(entries.options, Mapping):
        mistakes.catch("", partial(declare, entries.algorithm, **entries.options))
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
            person=person_of(entries, base),
            one_row_per_person=entries.one_row_per_person,
            about={} if entries.about is None else entries.about.model_dump(exclude_none=True),
            max_unique=entries.max_unique,
            tables=tables,
            context=context,
            recipients=recipients,
            knows=None if entries.knows is None else Knows.of(entries.knows.model_dump()),
        )
        return policy if entries.recipient_profile is None else for_recipient(policy, entries.recipient_profile)
    except PolicyError as error:
        mistakes.items += error.mistakes
        mistakes.raise_if_any(name)
        raise


class Mistakes:
    """Everything that is wrong with a file so far."""

    def __init__(self) -> None:
        self.items: list[str] = []

    def catch(self, path: str, make: Callable[..., Any], *given: Any, form: type[BaseModel] | None = None) -> Any:
        """Return what is made of what is given, or None after noting mistakes under a path; ``form`` has its keys."""
        try:
            return make(*given)
        except PolicyError as error:
            prefix = f"{path}: " if path else ""
            self.items += [prefix + mistake for mistake in error.mistakes]
        except ValidationError as error:
            self.add_foreign(error, path, form)
        return None

    def add_foreign(self, error: ValidationError, path: str = "", form: type[BaseModel] | None = None) -> None:
        """Note the mistakes that pydantic found, in our words where we have better ones."""
        for item in error.errors(include_url=False):
            place = _place((path, *item["loc"]))
            words = {
                "missing": "is required",
                "extra_forbidden": f"is not known here; {_advice(form, item['loc'])}",
            }.get(item["type"], item["msg"][0].lower() + item["msg"][1:])
            given = item["input"]
            got = f", got {given!r}" if item["type"] not in ("missing", "extra_forbidden") else ""
            self.items.append(f"{place}: {words}{got if len(got) < 60 else ''}")

    def raise_if_any(self, name: str) -> None:
        """Raise one error that lists them all."""
        if self.items:
            unique = list(dict.fromkeys(self.items))
            raise PolicyError([f"{name}: {item}" for item in unique])


def _advice(form: type[BaseModel] | None, place: tuple[int | str, ...]) -> str:
    """Say which key was probably meant by one that is not known."""
    known = () if form is None or not place else keys_at(form, place)
    close = difflib.get_close_matches(str(place[-1]), known, 1) if known else []
    return f"did you mean {close[0]!r}?" if close else "remove it or check its spelling"


def _place(parts: tuple[int | str, ...]) -> str:
    """Write a path as people do: ``privacy[0].k``."""
    text = ""
    for part in parts:
        if part not in ("<number>", "<table>"):
            text += f"[{part}]" if isinstance(part, int) else f".{part}" if text and part else str(part)
    return text or "file"


def columns_of(
    entries: PolicyEntries | TableEntry, base: Path, mistakes: Mistakes, place: str = ""
) -> dict[str, Column]:
    columns = {}
    given = entries.columns if isinstance(getattr(entries, "columns", None), Mapping) else {}
    for name, entry in given.items():
        try:
            entry = ColumnEntry.model_validate(entry)
        except ValidationError:
            continue  # noted already
        hierarchy: Hierarchy | None = keep()
        if entry.hierarchy is not None:
            if entry.role not in WITH_HIERARCHY:
                mistakes.items.append(
                    f"{place}columns.{name}.hierarchy: only a quasi or a sensitive column has one; its role is "
                    f"{entry.role}"
                )
            hierarchy = mistakes.catch(f"{place}columns.{name}.hierarchy", from_spec, entry.hierarchy, base)
        missing = mistakes.catch(f"{place}columns.{name}.missing", read_missing, entry.missing)
        if hierarchy is not None and missing is not None:
            made = entry.model_dump(exclude={"hierarchy", "recode", *CHANGES}) | {"hierarchy": hierarchy}
            changed = {key: getattr(entry, key) for key in CHANGES}
            made |= {key: said.model_dump(exclude_none=True) for key, said in changed.items() if said is not None}
            if entry.recode is not None:
                said = {key: value for key, value in entry.recode.items() if key != "level"}
                made["recode"] = mistakes.catch(f"{place}columns.{name}.recode", from_spec, said, base)
                made["recode_level"] = entry.recode.get("level", 1)
            column = mistakes.catch(f"{place}columns.{name}", partial(Column, **made))
            if column is not None:
                columns[name] = column
    return columns


def _tables_of(entries: PolicyEntries, base: Path, mistakes: Mistakes) -> dict[str, LinkedTable]:
    tables = {}
    given = entries.tables if isinstance(entries.tables, Mapping) else {}
    for name, entry in given.items():
        try:
            entry = TableEntry.model_validate(entry)
        except ValidationError:
            continue  # noted already
        place = f"tables.{name}."
        columns, eligible = columns_of(entry, base, mistakes, place), eligible_of(entry, mistakes, place)
        made = (columns, entry.person, entry.key, entry.references, eligible)
        tables[name] = mistakes.catch(place[:-1], LinkedTable, *made)
    return tables


def _context_of(entries: PolicyEntries, mistakes: Mistakes) -> Context | None:
    """Return the context of all releases, if the file says one; what is wrong with its form is noted already."""
    given = getattr(entries, "context", None)
    return mistakes.catch("context", given.value_of) if isinstance(given, ContextEntry) else None


def _recipients_of(entries: PolicyEntries, mistakes: Mistakes) -> dict[str, RecipientTerms]:
    """Return the terms of each recipient that the file names."""
    found = {}
    given = entries.recipients if isinstance(getattr(entries, "recipients", None), Mapping) else {}
    for name, entry in given.items():
        try:
            entry = RecipientEntry.model_validate(entry)
        except ValidationError:
            continue  # noted already
        terms = mistakes.catch(f"recipients.{name}", entry.value_of)
        if terms is not None:
            found[name] = terms
    return found


def privacy_of(entries: PolicyEntries, base: Path, mistakes: Mistakes) -> list[PrivacyModel]:
    models = []
    given = entries.privacy if isinstance(getattr(entries, "privacy", None), list) else []
    for position, entry in enumerate(given):
        if not isinstance(entry, Mapping):
            continue  # noted already
        place = f"privacy[{position}]"
        fields = dict(entry)
        name = fields.pop("model", None)
        if not isinstance(name, str) or name not in MODELS:
            mistakes.items.append(f"{place}.model: got {name!r}; {MODELS.choices}")
            continue
        form = model_entries(MODELS[name])
        model = mistakes.catch(place, _model, name, fields, form=form)
        if model is not None:
            models.append(model.relative_to(base) if model.asks_population else model)
    return models


def _model(name: str, said: Mapping[str, Any]) -> PrivacyModel:
    """Make a model from its entry; ``at_level = {level, population}`` computes k as Datafly does."""
    kind, fields = cast("Any", MODELS[name]), dict(said)
    if "at_level" in fields and hasattr(kind, "at_level"):
        if "k" in fields:
            raise PolicyError("give k or at_level, not both")
        level = AtLevelEntry.model_validate(fields.pop("at_level"))
        fields["k"] = kind.at_level(level.level, level.population).k
    entry = model_entries(kind).model_validate(fields)
    made: PrivacyModel = kind(**{field: getattr(entry, field) for field in entry.model_fields_set})
    return made


def person_of(entries: PolicyEntries, base: Path) -> Person | None:
    """Return whose rows they are, as the file says it."""
    given = entries.person
    if given is None:
        return None
    said = given.model_dump(exclude_none=True) if isinstance(given, PersonEntry) else given
    return (linked_person(said) if entries.tables else Person.of(said)).relative_to(base)


def eligible_of(entries: PolicyEntries | TableEntry, mistakes: Mistakes, place: str = "") -> list[Condition]:
    conditions = []
    given = entries.eligible if isinstance(entries.eligible, list) else []
    for position, entry in enumerate(given):
        if isinstance(entry, ConditionEntry):
            made = mistakes.catch(f"{place}eligible[{position}]", Condition, entry.column, entry.op, entry.value)
            if made is not None:
                conditions.append(made)
    return conditions


def policy_toml(policy: Policy, comments: Mapping[str, str] | None = None) -> str:
    """Write a policy as the text of a policy file; ``comments`` are put beside the columns they name."""
    lines = [f"version = {VERSION}"]
    if policy.max_suppression is not None:
        lines.append(f"max_suppression = {toml(policy.max_suppression)}")
    if policy.suppressed_rows != "remove":
        lines.append(f"suppressed_rows = {toml(policy.suppressed_rows)}")
    lines.append(f"algorithm = {toml(policy.algorithm)}")
    if policy.options:
        lines.append(f"options = {toml(policy.options)}")
    if isinstance(policy.person, Person):
        lines.append(f"person = {toml(policy.person.describe())}")
    if policy.one_row_per_person:
        lines.append("one_row_per_person = true")
    if policy.max_unique != PolicyEntries.model_fields["max_unique"].default:
        lines.append(f"max_unique = {toml(policy.max_unique)}")
    if policy.knows is not None:
        lines.append(f"knows = {toml(policy.knows.describe())}")
    if policy.about:
        lines += ["", "[about]", *(f"{name} = {toml(text)}" for name, text in policy.about.items())]
    if policy.context is not None:
        lines += ["", "[context]", *(f"{key} = {toml(value)}" for key, value in policy.context.describe().items())]
    for name, terms in policy.recipients.items():
        told = terms.describe().items()
        lines += ["", f"[recipients.{_key(name)}]", *(f"{key} = {toml(value)}" for key, value in told)]
    for name, table in policy.tables.items():
        lines += ["", f"[tables.{name}]", *(f"{key} = {toml(value)}" for key, value in table.describe().items())]
        lines += ["", f"[tables.{name}.columns]", *column_lines(table.columns, comments or {})]
        lines += condition_lines(table.eligible, f"tables.{name}.eligible")
    if not policy.tables:
        lines += ["", "[columns]", *column_lines(policy.columns, comments or {})]
    assert policy.quasi_identifiers is not None  # set when the policy was made
    if dict(policy.quasi_identifiers) != {ALL_QUASI: policy.quasi}:
        lines += ["", "[quasi_identifiers]"]
        lines += [f"{_key(name)} = {toml(list(names))}" for name, names in policy.quasi_identifiers.items()]
    return "\n".join([*lines, *condition_lines(policy.eligible, "eligible"), *model_lines(policy.privacy)]) + "\n"


def column_lines(columns: Mapping[str, Column], comments: Mapping[str, str]) -> list[str]:
    """Write the columns of a table, a line each."""
    lines = []
    for name, column in columns.items():
        entry: dict[str, Any] = {"role": column.role}
        if column.role in WITH_HIERARCHY:
            spec = column.hierarchy.spec()
            entry |= {} if "keep" in spec else {"hierarchy": spec}
            entry |= {} if column.weight == 1 else {"weight": column.weight}
        entry |= column.describe_levels() | column.describe_missing()
        entry |= column.describe_recoding() | ({"pseudonym": column.pseudonym} if column.pseudonym else {})
        entry |= {} if column.shift is None else {"shift": column.shift.describe()}
        entry |= column.describe_perturbation()
        entry |= {} if column.rename is None else {"rename": column.rename}
        entry |= {} if column.set is None else {"set": column.set.describe()}
        if name in comments:
            lines.append(f"# {' '.join(f'{_key(name)}: {comments[name]}'.split())}")
        lines.append(f"{_key(name)} = {toml(entry)}")
    return lines


def condition_lines(conditions: Sequence[Condition], place: str) -> list[str]:
    """Write the conditions on eligible rows."""
    lines = []
    for condition in conditions:
        lines += ["", f"[[{place}]]", f"column = {toml(condition.column)}", f"op = {toml(condition.op)}"]
        if condition.value is not None:
            lines.append(f"value = {toml(condition.value)}")
    return lines


def model_lines(models: Sequence[PrivacyModel]) -> list[str]:
    """Write the privacy models."""
    lines: list[str] = []
    for model in models:
        if model.asks_population and getattr(model, "paths", None) is None:
            raise PolicyError(
                f"privacy: the population of {model.name} is a table in memory, which a policy file cannot name; "
                "save it, and give its path"
            )
        lines += ["", "[[privacy]]", *(f"{_key(key)} = {toml(value)}" for key, value in model.describe().items())]
    return lines


def _key(name: str) -> str:
    is_bare = name.isascii() and name and all(c.isalnum() or c in "-_" for c in name)
    return name if is_bare else toml(name)


def toml(value: Any) -> str:
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
        return "{ " + ", ".join(f"{_key(str(k))} = {toml(v)}" for k, v in value.items()) + " }" if value else "{}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(toml(item) for item in value) + "]"
    name = getattr(value, "name", None)
    if isinstance(name, str) and name in MEASURES and value == MEASURES[name]():
        return toml(name)
    raise PolicyError(f"a {type(value).__name__} cannot be written in a policy file")
