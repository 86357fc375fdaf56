"""profile(): what each column of a table looks like, which role and hierarchy that suggests, and why."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from indistinct.engine import Encoded, Rows, use_table
from indistinct.errors import TableError
from indistinct.hierarchy import Hierarchy, suppress
from indistinct.hierarchy.exact_numbers import read_number
from indistinct.policy import Column, Policy, Role, quasi
from indistinct.policy.column_names import PERSON_WORDS, is_one_of, names_people, number_people, words_of
from indistinct.privacy import KAnonymity
from indistinct.study.column_shapes import MANY, MOST_DISTINCT, suggest_hierarchy
from indistinct.study.risk.combinations import Combination, Counted, minimal_combinations
from indistinct.study.risk.safe_harbor import SafeHarbor, identifiers_like
from indistinct.watch import Watch

IDENTIFIER_WORDS = (
    "name surname forename firstname lastname vorname nachname nom prenom nombre apellido apellidos cognome "
    "id uuid guid ssn mrn iban passport passeport email mail phone telephone telefon telefono mobile fax "
    "address adresse direccion indirizzo street strasse rue account card licence license username login url ip"
)
QUASI_WORDS = (
    "birth birthdate birthday born dob date geburt geburtsdatum geburtstag naissance nacimiento nascita "
    "age alter edad eta year jahr zip zipcode postal postcode postleitzahl plz city town ort ville ciudad "
    "state region county canton kanton bundesland province country land pays nation nationality citizenship "
    "sex gender geschlecht sexe sexo race ethnicity ethnic marital married familienstand education school "
    "occupation profession job beruf workclass employer"
)
SENSITIVE_WORDS = (
    "diagnosis diagnose diagnostic illness disease krankheit maladie enfermedad problem symptom medication drug "
    "treatment procedure salary income wage gehalt salaire earnings religion faith party vote hiv disability"
)
YIELDING_WORDS = "name id date"
"""Words that say little beside another: a country's name is a country, a disease's id a disease."""
NEARLY_UNIQUE = 0.9
LONG_TEXT = 40
MOST_ROWS = 0.8
"""Columns by which such a share of the rows stands alone are said to identify."""
MOST_WORK = 50_000_000
"""So many distinct rows are counted to find them, for all sets of columns of one size together."""
MOST_NODES = 2_000_000
"""A policy with more combinations of levels is suggested with Datafly, which does not search them all."""


@dataclass(frozen=True, slots=True)
class ColumnProfile:
    """What a column looks like, and the role and the hierarchy that this suggests."""

    name: str
    role: Role
    hierarchy: Hierarchy | None
    reason: str
    distinct: int
    missing: int
    safe_harbor: tuple[SafeHarbor, ...] = ()
    """The identifiers of HIPAA Safe Harbor that it looks like."""

    def to_dict(self) -> dict[str, Any]:
        """Give the column as JSON takes it."""
        return {
            "name": self.name,
            "role": self.role,
            "hierarchy": None if self.hierarchy is None else self.hierarchy.spec(),
            "reason": self.reason,
            "distinct": self.distinct,
            "missing": self.missing,
            "safe_harbor": [one.letter for one in self.safe_harbor],
        }


@dataclass(frozen=True, slots=True)
class Profile:
    """What a table looks like, column by column. No cell is quoted."""

    rows: int
    columns: tuple[ColumnProfile, ...]
    identifying: tuple[Combination, ...] = ()
    """The smallest sets of up to three quasi columns by which most rows stand alone."""
    person: str | None = None
    """The column that names the people of several rows each, if there seems to be one."""

    @property
    def nodes(self) -> int:
        """How many combinations of levels the suggested hierarchies span."""
        return math.prod((column.hierarchy.height or 0) + 1 for column in self.columns if column.hierarchy is not None)

    def to_dict(self) -> dict[str, Any]:
        """Give the profile as JSON takes it."""
        identifying = [{"columns": list(one.columns), "share": one.share} for one in self.identifying]
        return {
            "rows": self.rows,
            "columns": [column.to_dict() for column in self.columns],
            "identifying": identifying,
            "person": self.person,
        }

    def __str__(self) -> str:
        lines = [f"{column.name}: {column.role}, because {column.reason}" for column in self.columns]
        return "\n".join([f"{self.rows} rows", *lines])


def profile(table: Any, *, watch: Watch | None = None, **reading: Any) -> Profile:
    """Look at every column of a table and suggest what it is to a release.

    A column that nothing is known about becomes quasi: to protect too much is mended sooner than to protect too
    little. ``reading`` goes to the engine: memory_limit, threads, delimiter, encoding.

    >>> import pyarrow as pa
    >>> print(profile(pa.table({"zip": ["02138", "02139"], "illness": ["flu", "cough"]})))
    2 rows
    zip: quasi, because its name says that others may know it; codes of 5 digits; HIPAA (B)
    illness: sensitive, because its name says that nobody should learn it
    """
    with use_table(table, **reading) as rows:
        count = rows.count()
        if count == 0:
            raise TableError(f"{rows.name}: has a header but no rows; there is nothing to look at")
        looks = _looks(rows, count, watch or Watch())
        person = _person(looks)
        columns = _with_some_quasi([_judge(name, look) for name, look in looks.items() if name != person])
        columns = [*([] if person is None else [_person_profile(person, looks[person])]), *columns]
        identifying = _identifying(rows, [column.name for column in columns if column.role == "quasi"], count)
    order = list(looks)
    described = sorted(
        (_with_company(column, identifying) for column in columns), key=lambda one: order.index(one.name)
    )
    return Profile(count, tuple(described), identifying, person)


def suggested_policy(profile: Profile, k: int = 5, max_suppression: int | float | None = 0.02) -> Policy:
    """Give the policy that a profile suggests; it fits the table that was looked at."""
    columns = {
        column.name: quasi(column.hierarchy) if column.role == "quasi" else Column(column.role)
        for column in profile.columns
    }
    algorithm = "lattice" if profile.nodes <= MOST_NODES else "datafly"
    return Policy(
        columns=columns,
        privacy=[KAnonymity(k)],
        max_suppression=max_suppression,
        algorithm=algorithm,
        person=profile.person,
    )


def comments(profile: Profile) -> dict[str, str]:
    """Give the reason for each column, as ``policy_toml`` puts it beside the column."""
    return {column.name: column.reason for column in profile.columns}


@dataclass(frozen=True, slots=True)
class _Look:
    """What a column's cells are: their numbers, and their distinct values unless there are too many."""

    rows: int
    distinct: int
    missing: int
    values: tuple[str, ...] | None

    @property
    def is_nearly_unique(self) -> bool:
        return self.distinct >= MANY and self.distinct >= NEARLY_UNIQUE * (self.rows - self.missing)


def _looks(rows: Rows, count: int, watch: Watch) -> dict[str, _Look]:
    """Count the distinct values of every column, and fetch those of the columns that have not too many."""
    names = rows.columns()
    distinct = {}
    for done, name in enumerate(names):
        watch.report("profile", done, len(names))
        distinct[name] = len(rows.sizes_by([name]))
    with rows.encode([name for name in names if distinct[name] <= MOST_DISTINCT]) as encoded:
        values = encoded.values
        missing = {name: _missing(encoded, name) for name in values}
    looks = {}
    for name in names:
        if name in values:
            present = tuple(value for value in values[name] if value is not None)
            looks[name] = _Look(count, len(present), missing[name], present)
        else:
            with rows.encode([name], [(name, "missing", None)]) as only_missing:
                absent = only_missing.rows
            looks[name] = _Look(count, distinct[name] - bool(absent), absent, None)
    return looks


def _missing(encoded: Encoded, name: str) -> int:
    """Give the number of missing cells of an encoded column; missing is the last of its values."""
    values = encoded.values[name]
    if not values or values[-1] is not None:
        return 0
    counted = encoded.count_by([name])
    return int(counted.counts[counted.codes[0] == len(values) - 1].sum())


def _person(looks: Mapping[str, _Look]) -> str | None:
    """Give the column that numbers the people of the rows, where some have several: of equal ones that of most."""
    found = [
        (not any(is_one_of(word, PERSON_WORDS) for word in words_of(name)), -look.distinct, name)
        for name, look in looks.items()
        if names_people(name) == "number" and number_people(look.rows - look.missing, look.distinct)
    ]
    return min(found)[2] if found else None


def _person_profile(name: str, look: _Look) -> ColumnProfile:
    """Describe the column that says whose row it is."""
    listed = tuple(identifiers_like(name, look.values))
    reason = f"it names the same people in several rows ({look.distinct} different in {look.rows} rows)"
    return ColumnProfile(name, "identifier", None, reason, look.distinct, look.missing, listed)


def _judge(name: str, look: _Look) -> ColumnProfile:
    """Give the role of a column by its name first, then by its values."""

    listed = tuple(identifiers_like(name, look.values))

    def column_profile(role: Role, reason: str, hierarchy: Hierarchy | None = None) -> ColumnProfile:
        if listed and role != "other":
            reason += f"; HIPAA ({', '.join(one.letter for one in listed)})"
        return ColumnProfile(name, role, hierarchy, reason, look.distinct, look.missing, listed)

    says = _said_by(name)
    if says == "identifier":
        return column_profile("identifier", "its name says that it names people")
    shapes = [one.reason for one in listed if one.by_values and one.letter != "C"]
    if shapes and says != "sensitive":
        return column_profile("identifier", shapes[0])
    if look.distinct == 0:
        return column_profile("other", "every cell is missing")
    hierarchy, shape = suggest_hierarchy(name, look.values)
    if says == "sensitive" and hierarchy.kind == "dates":
        return column_profile("quasi", f"others may know when something happened to a person; {shape}", hierarchy)
    if says == "sensitive":
        hint = "; nearly every value is different: make it quasi if others may know it" * look.is_nearly_unique
        return column_profile("sensitive", f"its name says that nobody should learn it{hint}")
    if look.distinct == 1 and not look.missing:
        return column_profile("other", "one value for all rows tells nobody apart")
    if says == "quasi":
        return column_profile("quasi", f"its name says that others may know it; {shape}", hierarchy)
    telling = _telling(look, hierarchy)
    if telling:
        return column_profile("identifier", telling)
    unknown = "its name says nothing, so others may know it"
    return column_profile("quasi", f"{unknown}; {shape}; if nobody can link by it, make it other", hierarchy)


def _telling(look: _Look, hierarchy: Hierarchy) -> str:
    """Say why the values of a column alone name people, or nothing if they do not."""
    if not look.is_nearly_unique or hierarchy.kind == "dates":
        return ""
    if look.values is None:
        return "nearly every row has a value of its own"
    if hierarchy.kind == "intervals":
        is_numbering = look.distinct == look.rows and all(isinstance(read_number(v), int) for v in look.values)
        return "every row has a whole number of its own" if is_numbering else ""
    if sum(map(len, look.values)) > LONG_TEXT * len(look.values):
        return "long texts, nearly all different, may name people"
    return "nearly every row has a text of its own"


def _said_by(name: str) -> Role | None:
    """Give the role that a column's name tells, if any; a word that says little yields to another."""
    words = words_of(name)
    roles: tuple[tuple[Role, str], ...] = (
        ("identifier", IDENTIFIER_WORDS),
        ("sensitive", SENSITIVE_WORDS),
        ("quasi", QUASI_WORDS),
    )
    for is_yielding in (False, True):
        telling = [word for word in words if (word in YIELDING_WORDS.split()) == is_yielding]
        for role, known in roles:
            if any(is_one_of(word, known) for word in telling):
                return role
    return None


def _identifying(rows: Rows, columns: Sequence[str], count: int) -> tuple[Combination, ...]:
    """Find which few quasi columns tell most rows apart; fewer columns at a time where the table is large."""
    if count < MANY or not columns:
        return ()
    counted = Counted.of(rows, columns)
    sizes = [size for size in (1, 2, 3) if math.comb(len(columns), size) * len(counted.base) <= MOST_WORK]
    return tuple(minimal_combinations(counted, MOST_ROWS, max(sizes, default=0)))


def _with_company(column: ColumnProfile, identifying: Sequence[Combination]) -> ColumnProfile:
    """Add to a column's reason by which other columns it tells rows apart."""
    own = [one for one in identifying if column.name in one.columns]
    if column.role != "quasi" or not own:
        return column
    best = max(own, key=lambda one: one.share)
    others = ", ".join(name for name in best.columns if name != column.name)
    how = f"with {others}" if others else "alone"
    return replace(column, reason=f"{column.reason}; {how} it tells {100 * best.share:.0f} % of the rows apart")


def _with_some_quasi(columns: list[ColumnProfile]) -> list[ColumnProfile]:
    """Make one column quasi where none is, since a policy protects at least one: the one that harms least."""
    if any(column.role == "quasi" for column in columns):
        return columns
    order: tuple[Role, ...] = ("other", "sensitive", "identifier")
    chosen = min(columns, key=lambda column: (order.index(column.role), column.distinct))
    reason = f"a policy needs a quasi column; else it were {chosen.role}: {chosen.reason}"
    promoted = replace(chosen, role="quasi", hierarchy=suppress(), reason=reason)
    return [promoted if column is chosen else column for column in columns]
