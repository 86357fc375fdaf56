"""The policy as a manifest states it: its shape, how it follows from a policy, and the policy that is made of it.

A recipient has no policy to compare it with. What follows from nothing that she holds can still only be said in the
shape that a policy of ours has: a remark with private cells has no place in it.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple, Self

from pydantic import BaseModel, ConfigDict, Field, JsonValue, StringConstraints, model_validator

from indistinct.engine.plans import OPERATORS
from indistinct.errors import IndistinctError, TableError
from indistinct.policy.cell_rules import DateShift, Microaggregation, Noise
from indistinct.policy.column import Column, Role, Rule
from indistinct.policy.person import Person
from indistinct.policy.policy import Policy
from indistinct.registry import MODELS

if TYPE_CHECKING:
    from indistinct.privacy import PrivacyModel

PLAIN_NAME = re.compile("[a-z][a-z0-9_-]{0,39}")
"""What models, measures, algorithms and their options are called: no place for a sentence."""
PlainName = Annotated[str, StringConstraints(pattern=f"^{PLAIN_NAME.pattern}$")]
Count = Annotated[int, Field(ge=0, lt=1 << 63)]
Digest = Annotated[str, StringConstraints(pattern="^[0-9a-f]{64}$")]
Level = Count | str


class Statement(BaseModel):
    """What a manifest says, in one shape: nothing unknown, no number that is none, and nothing beside it."""

    model_config = ConfigDict(frozen=True, strict=True, extra="forbid", allow_inf_nan=False)

    def to_dict(self) -> dict[str, Any]:
        """Return the statement as JSON takes it; what is not said is left out."""
        return self.model_dump(mode="json", exclude_none=True)

    def is_same(self, other: Statement) -> bool:
        """Return whether both say the same; ``true`` is not taken for 1, nor 1 for 1.0."""
        return as_text(self.to_dict()) == as_text(other.to_dict())


def as_text(said: Any) -> str:
    """Return a value of JSON as one text, whatever the order of its names."""
    return json.dumps(said, sort_keys=True, ensure_ascii=False)


def is_plain(said: Any) -> bool:
    """Return whether something is a name such as those of algorithms, or a key of the kind of options."""
    return isinstance(said, str) and PLAIN_NAME.fullmatch(said) is not None


class StatedHierarchy(Statement):
    """A hierarchy by its kind and digest; its levels may have names of the holder's own."""

    kind: PlainName
    height: Count | None = None
    """The highest level; not said where it follows from the values."""
    levels: tuple[str, ...]
    sha256: Digest

    @model_validator(mode="after")
    def _has_its_levels(self) -> Self:
        if len(self.levels) != (0 if self.height is None else self.height + 1):
            raise ValueError("a hierarchy has as many names of levels as levels")
        return self


class StatedRecoding(StatedHierarchy):
    """The hierarchy by which a column that is not quasi is recoded, and to which level."""

    level: Level


class StatedShift(Statement):
    """By how many days at most the dates of a column move."""

    days: int
    format: str | None = None

    @model_validator(mode="after")
    def _is_one_of_ours(self) -> Self:
        try:
            is_same = DateShift.of(self.to_dict()).describe() == self.to_dict()
        except IndistinctError:
            is_same = False
        if not is_same:
            raise ValueError("dates do not move like that")
        return self


class StatedMeans(Statement):
    """Numbers are released as means of clusters of at least ``k`` rows."""

    k: int


class StatedNoise(Statement):
    """Numbers are released with noise added."""

    scale: int | float
    kind: PlainName


class StatedColumn(Statement):
    """What a policy says of a column; anything else could be a remark with private cells."""

    role: Role
    pseudonym: Literal[True, "stable"] | None = None
    rename: str | None = None
    shift: StatedShift | None = None
    microaggregate: StatedMeans | None = None
    noise: StatedNoise | None = None
    hierarchy: StatedHierarchy | None = None
    weight: int | float | None = None
    missing: Rule | None = None
    min_level: Level | None = None
    max_level: Level | None = None
    recode: StatedRecoding | None = None
    missing_codes: Annotated[int, Field(gt=0)] | None = None
    unreadable: Literal["missing", "suppress"] | None = None

    @model_validator(mode="after")
    def _is_whole(self) -> Self:
        if self.role == "quasi" and (self.hierarchy is None or self.weight is None or self.missing is None):
            raise ValueError("a quasi column has a hierarchy, a weight and a rule for missing cells")
        return self

    @property
    def demanded_level(self) -> Level | None:
        """The lowest level at which cells may be released."""
        return self.min_level if self.recode is None else self.recode.level

    @classmethod
    def of(cls, column: Column) -> StatedColumn:
        """Return what a manifest says of a column: hierarchies by kind, levels and digest, codes by their number."""
        said: dict[str, Any] = {"role": column.role, "rename": column.rename, **column.describe_perturbation()}
        said |= column.describe_levels()
        said["pseudonym"] = column.pseudonym or None
        said["shift"] = None if column.shift is None else column.shift.describe()
        said["missing_codes"] = len(column.missing_codes) or None
        said["unreadable"] = None if column.unreadable == "refuse" else column.unreadable
        if column.role == "quasi":
            said |= {"weight": column.weight, "missing": column.missing}
        if column.role == "quasi" or (column.role == "sensitive" and not column.hierarchy.is_never_generalized):
            said["hierarchy"] = _hierarchy_fields(column.hierarchy.describe())
        if column.recode is not None:
            said["recode"] = _hierarchy_fields(column.recode.describe() | {"level": column.recode_level})
        return cls(**said)


def _hierarchy_fields(hierarchy: Mapping[str, Any]) -> dict[str, Any]:
    return {**hierarchy, "levels": tuple(hierarchy["levels"])}


class StatedCondition(Statement):
    """A filter by its column; the value that it compares with could be a cell."""

    column: str
    op: str

    @model_validator(mode="after")
    def _is_known(self) -> Self:
        if self.op not in OPERATORS:
            raise ValueError("no filter compares like that")
        return self


class StatedPerson(Statement):
    """Whose rows they are, where pseudonyms link the rows of a person."""

    column: str | None = None
    columns: tuple[str, ...] | None = None
    release: PlainName
    suppress: PlainName | None = None
    stable: Literal[True] | None = None


class StatedTable(Statement):
    """What a policy says of one of several tables."""

    columns: dict[str, StatedColumn]
    person: str | tuple[str, ...] | None = None
    key: str | None = None
    references: dict[str, str] | None = None
    eligible: tuple[StatedCondition, ...]

    @model_validator(mode="after")
    def _filters_its_columns(self) -> Self:
        _check_conditions(self.eligible, self.columns)
        return self


class StatedKnows(Statement):
    """How many of a person's events others know, in all tables or in each."""

    events: Annotated[int, Field(ge=1)] | dict[str, Count] | None = None
    dated: Annotated[int, Field(ge=1)] | dict[str, Count] | None = None
    undated: Annotated[int, Field(ge=1)] | dict[str, Count] | None = None
    time: tuple[str, ...] | None = None
    number: Literal[True] | None = None
    labels: Literal["hierarchy"] | None = None


class StatedPolicy(Statement):
    """A policy as a public manifest may state it, of one table or of several.

    Ground values that a hierarchy lists, values that a filter compares with, and codes that mean missing could be cells
    of the private table, so they are left out.
    """

    columns: dict[str, StatedColumn] | None = None
    tables: dict[str, StatedTable] | None = None
    quasi_identifiers: dict[str, tuple[str, ...]] | None = None
    privacy: tuple[dict[str, JsonValue], ...]
    max_suppression: int | float | None = None
    suppressed_rows: Literal["remove", "blank"] | None = None
    eligible: tuple[StatedCondition, ...] | None = None
    algorithm: PlainName
    person: str | tuple[str, ...] | StatedPerson | None = None
    one_row_per_person: Literal[True] | None = None
    knows: StatedKnows | None = None

    @classmethod
    def of(cls, policy: Policy) -> StatedPolicy:
        """Return what a manifest says of a policy."""
        person = policy.person.terms() if isinstance(policy.person, Person) else None
        said: dict[str, Any] = {
            "privacy": tuple(json.loads(json.dumps(model.terms(), default=str)) for model in policy.privacy),
            "max_suppression": policy.max_suppression,
            "algorithm": policy.algorithm,
            "person": _as_tuples(person),
            "knows": None
            if policy.knows is None
            else StatedKnows(**{key: _as_tuples(said) for key, said in policy.knows.describe().items()}),
        }
        if policy.tables:
            said["tables"] = {
                name: StatedTable(
                    columns=_columns(part.policy),
                    eligible=_conditions(part.policy),
                    **{key: _as_tuples(value) for key, value in policy.tables[name].describe().items()},
                )
                for name, part in policy.parts.items()
            }
            return cls(**said)
        assert policy.quasi_identifiers is not None  # set when the policy was made
        return cls(
            **said,
            columns=_columns(policy),
            quasi_identifiers={name: tuple(names) for name, names in policy.quasi_identifiers.items()},
            suppressed_rows=policy.suppressed_rows,
            eligible=_conditions(policy),
            one_row_per_person=policy.one_row_per_person or None,
        )

    @model_validator(mode="after")
    def _is_one_of_ours(self) -> Self:
        """Refuse what no policy of ours says; what no recount needs is looked at here alone."""
        if self.tables is not None:
            alone = (self.columns, self.quasi_identifiers, self.suppressed_rows, self.eligible, self.one_row_per_person)
            names = {name for table in self.tables.values() for name in table.columns} | set(self.all_columns)
            is_sound = all(one is None for one in alone)
        else:
            columns, sets = self.columns or {}, self.quasi_identifiers or {}
            quasi = {name for name, column in columns.items() if column.role == "quasi"}
            names = {*columns, *sets}
            is_sound = bool(sets) and all(0 < len(one) == len(set(one)) and quasi >= set(one) for one in sets.values())
            is_sound = is_sound and self.suppressed_rows is not None and self.eligible is not None
            _check_conditions(self.eligible or (), columns)
        if not is_sound or not all(_is_model(terms, names) for terms in self.privacy):
            raise ValueError("no policy of ours says this")
        return self

    @property
    def all_columns(self) -> dict[str, StatedColumn]:
        """The columns of all tables; those of several under the names of their tables as well."""
        if self.tables is None:
            return self.columns or {}
        return {f"{name}.{column}": one for name, table in self.tables.items() for column, one in table.columns.items()}

    def renamed_in(self, table: str) -> dict[str, str]:
        """Return the new names of columns of a table."""
        columns = self.columns or {}
        if self.tables is not None:
            columns = self.tables[table].columns if table in self.tables else {}
        return {name: one.rename for name, one in columns.items() if one.rename is not None}

    def without_algorithm(self) -> StatedPolicy:
        """Return everything that it requires of a release: the algorithm is not part of it."""
        return self.model_copy(update={"algorithm": "any"})


class Unjudged(NamedTuple):
    """A model that a recipient cannot judge, and why."""

    model: str
    why: Literal["not installed", "population", "limits", "hierarchy"]


def _as_tuples(said: Any) -> Any:
    if isinstance(said, Mapping):
        return StatedPerson(**{name: _as_tuples(value) for name, value in said.items()}) if "release" in said else said
    return tuple(said) if isinstance(said, list) else said


def _columns(policy: Policy) -> dict[str, StatedColumn]:
    return {name: StatedColumn.of(column) for name, column in policy.columns.items()}


def _conditions(policy: Policy) -> tuple[StatedCondition, ...]:
    return tuple(StatedCondition(column=condition.column, op=condition.op) for condition in policy.eligible)


def _check_conditions(conditions: tuple[StatedCondition, ...], columns: Mapping[str, StatedColumn]) -> None:
    if any(condition.column not in columns for condition in conditions):
        raise ValueError("a filter names no column")


def _is_model(terms: Mapping[str, Any], names: set[str]) -> bool:
    """Return whether a model is stated with numbers, words and names of columns alone."""

    def is_term(value: Any) -> bool:
        if isinstance(value, list | dict):
            return all(is_term(one) for one in (value if isinstance(value, list) else [*value, *value.values()]))
        return value is None or isinstance(value, bool | int | float) or value in names or is_plain(value)

    if not is_plain(terms.get("model")):
        return False
    known = MODELS.get(terms["model"])
    of_population = ("population", "link") if known is not None and known.asks_population else ()
    given = {name: value for name, value in terms.items() if name not in of_population}  # a file, and its columns
    return all(map(is_plain, given)) and all(map(is_term, given.values()))


def stated_policy(stated: StatedPolicy) -> tuple[Policy, tuple[Unjudged, ...]]:
    """Return the policy of a manifest as far as a recipient can check it, and the models that she cannot judge.

    Hierarchies are stated by their digests, so columns have none here: nothing of a recount needs them. Raises a
    TableError if no policy can be made of what is stated.
    """
    try:
        models, unjudged = _models(stated)
        columns = {
            name: Column(
                column.role,
                pseudonym=column.pseudonym or False,
                microaggregate=None
                if column.microaggregate is None
                else Microaggregation(**dict(column.microaggregate)),
                noise=None if column.noise is None else Noise(**dict(column.noise)),
                rename=column.rename,
                weight=1.0 if column.weight is None else column.weight,
            )
            for name, column in (stated.columns or {}).items()
        }
        person = stated.person
        policy = Policy(
            columns,
            models or [MODELS.make("k-anonymity", k=1)],  # a policy asks for something
            stated.max_suppression,
            {name: list(names) for name, names in (stated.quasi_identifiers or {}).items()},
            suppressed_rows=stated.suppressed_rows or "remove",
            person=Person.of(person.to_dict()) if isinstance(person, StatedPerson) else person,
            one_row_per_person=stated.one_row_per_person or False,
        )
    except (KeyError, TypeError, AttributeError, ValueError, IndistinctError):
        raise TableError("the manifest states no policy that can be read; give the policy file as well") from None
    return policy, tuple(unjudged)


def _models(stated: StatedPolicy) -> tuple[list[PrivacyModel], list[Unjudged]]:
    """Make the models that can be judged from the released cells, and say why others cannot."""
    made: list[PrivacyModel] = []
    unjudged = []
    for terms in stated.privacy:
        fields: dict[str, Any] = dict(terms)
        name = fields.pop("model")
        if name not in MODELS:
            unjudged.append(Unjudged(name, "not installed"))
        elif MODELS[name].asks_population:
            unjudged.append(Unjudged(name, "population"))
        elif any(isinstance(value, list) for value in fields.values()):
            unjudged.append(Unjudged(name, "limits"))
            made.append(_without_limits(fields))
        elif fields.get("distance") == "hierarchical":
            unjudged.append(Unjudged(name, "hierarchy"))
            made.append(_without_limits(fields))
        else:
            made.append(MODELS.make(name, **fields))
    return made, unjudged


def _without_limits(fields: Mapping[str, Any]) -> PrivacyModel:
    """Return a model that asks about the same values, of the same groups, and sets no limit to their shares."""
    return MODELS.make("alpha-k", alpha=1.0, k=fields.get("k", 1), column=fields.get("column"), on=fields.get("on"))


def policy_digest(policy: Policy, *, with_names: bool = True) -> str:
    """Return the SHA-256 of everything that a policy requires of a release; the algorithm is not part of it.

    Without ``with_names`` neither is what columns are called in the release.
    """
    left_out: Any = {"algorithm": True, "privacy": True}
    if not with_names:
        names = {"__all__": {"rename"}}
        left_out |= {"columns": names, "tables": {"__all__": {"columns": names}}}
    stated = StatedPolicy.of(policy).model_dump(mode="json", exclude_none=True, exclude=left_out)
    private = {
        name: {
            "eligible": [[condition.column, condition.op, str(condition.value)] for condition in part.policy.eligible],
            "codes": {own: sorted(one.missing_codes) for own, one in part.policy.columns.items() if one.missing_codes},
            "sets": {own: one.set.describe() for own, one in part.policy.columns.items() if one.set is not None},
        }
        for name, part in policy.parts.items()
    }
    models = [model.describe() for model in policy.privacy]
    return hashlib.sha256(json.dumps([stated, private, models], sort_keys=True, default=str).encode()).hexdigest()
