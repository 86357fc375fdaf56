"""profile(): what each column of a table looks like, which role and hierarchy that suggests, and why."""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from typing import Any

from indistinct.engine import Rows, open_table
from indistinct.errors import HierarchyError, TableError
from indistinct.hierarchy import Hierarchy, dates, intervals, prefix, suppress
from indistinct.hierarchy.exact import read_number
from indistinct.policy import Column, Policy, Role, quasi
from indistinct.privacy import KAnonymity
from indistinct.watch import Watch

IDENTIFIER_WORDS = (
    "name surname forename firstname lastname vorname nachname nom prenom nombre apellido apellidos cognome "
    "id uuid guid ssn mrn iban passport passeport email mail phone telephone telefon telefono mobile fax "
    "address adresse direccion indirizzo street strasse rue calle account card licence license plate "
    "username login url ip"
)
QUASI_WORDS = (
    "birth birthdate birthday born dob date geburt geburtsdatum geburtstag naissance nacimiento nascita "
    "age alter edad eta year jahr zip zipcode postal postcode postleitzahl plz cap city town ort ville ciudad "
    "state region county canton kanton bundesland province country land pays nation nationality citizenship "
    "sex gender geschlecht sexe sexo race ethnicity ethnic marital married familienstand education school "
    "occupation profession job beruf workclass employer"
)
SENSITIVE_WORDS = (
    "diagnosis diagnose diagnostic illness disease krankheit maladie enfermedad problem symptom medication drug "
    "treatment procedure salary income wage gehalt salaire earnings religion faith party vote hiv disability"
)
POSTAL_WORDS = "zip zipcode postal postcode postleitzahl plz cap"
YIELDING_WORDS = "name id date"
"""Words that say little beside another: a country's name is a country, a disease's id a disease."""

DATE_FORMATS = {
    "%Y-%m-%d": None,
    "%Y/%m/%d": None,
    "%Y%m%d": None,
    "%d.%m.%Y": None,
    "%m/%d/%Y": "%d/%m/%Y",
    "%d/%m/%Y": "%m/%d/%Y",
    "%d-%m-%Y": "%m-%d-%Y",
    "%m-%d-%Y": "%d-%m-%Y",
    "%d.%m.%y": None,
    "%m/%d/%y": "%d/%m/%y",
    "%d/%m/%y": "%m/%d/%y",
}
"""The formats of dates that are tried, each with its twin that swaps day and month."""

MOST_DISTINCT = 1_000_000
"""Columns with more distinct values are judged by their name and their count alone."""
MANY = 20
"""Below so many distinct values nothing is concluded from nearly all being different."""
NEARLY_UNIQUE = 0.9
LONG_TEXT = 40
INTERVALS_ACROSS = 20
MOST_PREFIX_LEVELS = 8
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

    def to_dict(self) -> dict[str, Any]:
        """Give the column as JSON takes it."""
        return {
            "name": self.name,
            "role": self.role,
            "hierarchy": None if self.hierarchy is None else self.hierarchy.spec(),
            "reason": self.reason,
            "distinct": self.distinct,
            "missing": self.missing,
        }


@dataclass(frozen=True, slots=True)
class Profile:
    """What a table looks like, column by column. No cell is quoted."""

    rows: int
    columns: tuple[ColumnProfile, ...]
    nodes: int
    """How many combinations of levels the suggested hierarchies span."""

    def to_dict(self) -> dict[str, Any]:
        """Give the profile as JSON takes it."""
        return {"rows": self.rows, "columns": [column.to_dict() for column in self.columns]}

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
    zip: quasi, because its name says that others may know it; codes of 5 digits
    illness: sensitive, because its name says that nobody should learn it
    """
    watch = watch or Watch()
    rows = open_table(table, **reading)
    try:
        count = rows.count()
        if count == 0:
            raise TableError(f"{rows.name}: has a header but no rows; there is nothing to look at")
        names = rows.columns()
        sizes = {}
        for done, name in enumerate(names):
            watch.report("profile", done, len(names))
            sizes[name] = len(rows.sizes_by([name]))
        values = _values(rows, [name for name in names if sizes[name] <= MOST_DISTINCT])
        looks = {name: _look(rows, name, count, sizes[name], values.get(name)) for name in names}
    finally:
        if rows is not table:
            rows.close()
    columns = _with_some_quasi([_judge(name, look) for name, look in looks.items()])
    nodes = math.prod(
        _height(column.hierarchy, values.get(column.name, ())) + 1 for column in columns if column.role == "quasi"
    )
    return Profile(count, tuple(columns), nodes)


def suggested_policy(profile: Profile, k: int = 5, max_suppression: int | float | None = 0.02) -> Policy:
    """Give the policy that a profile suggests; it fits the table that was looked at."""
    columns = {
        column.name: quasi(column.hierarchy) if column.role == "quasi" else Column(column.role)
        for column in profile.columns
    }
    algorithm = "lattice" if profile.nodes <= MOST_NODES else "datafly"
    return Policy(columns=columns, privacy=[KAnonymity(k)], max_suppression=max_suppression, algorithm=algorithm)


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


def _values(rows: Rows, names: Sequence[str]) -> Mapping[str, tuple[str | None, ...]]:
    return rows.encode(names) if names else {}


def _look(rows: Rows, name: str, count: int, groups: int, values: tuple[str | None, ...] | None) -> _Look:
    if values is None:
        return _Look(count, groups, 0, None)
    counted = rows.count_by([name])
    missing = 0
    if values and values[-1] is None:
        missing = int(counted.counts[counted.codes[0] == len(values) - 1].sum())
    present = tuple(value for value in values if value is not None)
    return _Look(count, len(present), missing, present)


def _judge(name: str, look: _Look) -> ColumnProfile:
    """Give the role of a column by its name first, then by its values."""

    def made(role: Role, reason: str, hierarchy: Hierarchy | None = None) -> ColumnProfile:
        return ColumnProfile(name, role, hierarchy, reason, look.distinct, look.missing)

    says = _said_by(name)
    if says == "identifier":
        return made("identifier", "its name says that it names people")
    if look.distinct == 0:
        return made("other", "every cell is missing")
    if says == "sensitive":
        hint = "; nearly every value is different: make it quasi if others may know it" * look.is_nearly_unique
        return made("sensitive", f"its name says that nobody should learn it{hint}")
    if look.distinct == 1 and not look.missing:
        return made("other", "one value for all rows tells nobody apart")
    hierarchy, shape = _hierarchy(name, look)
    if says == "quasi":
        return made("quasi", f"its name says that others may know it; {shape}", hierarchy)
    telling = _telling(look, hierarchy)
    if telling:
        return made("identifier", telling)
    return made(
        "quasi", f"others may know it for all we know; {shape}; if nobody can link by it, make it other", hierarchy
    )


def _telling(look: _Look, hierarchy: Hierarchy) -> str:
    """Say why the values of a column alone name people, or nothing if they do not."""
    if not look.is_nearly_unique or hierarchy.kind == "dates":
        return ""
    if look.values is None:
        return "nearly every row has a value of its own"
    if hierarchy.kind == "intervals":
        is_count = look.distinct == look.rows and all(isinstance(read_number(v), int) for v in look.values)
        return "every row has a whole number of its own" if is_count else ""
    if sum(map(len, look.values)) > LONG_TEXT * len(look.values):
        return "long texts, nearly all different, may name people"
    return "nearly every row has a text of its own"


def _said_by(name: str) -> Role | None:
    """Give the role that a column's name tells, if any; a word that says little yields to another."""
    found = _words(name)
    for yielding in (False, True):
        told = [word for word in found if (word in YIELDING_WORDS.split()) == yielding]
        roles: tuple[tuple[Role, str], ...] = (
            ("identifier", IDENTIFIER_WORDS),
            ("sensitive", SENSITIVE_WORDS),
            ("quasi", QUASI_WORDS),
        )
        for role, known in roles:
            if any(word in known.split() for word in told):
                return role
    return None


def _words(name: str) -> list[str]:
    """Give the words of a column's name, in small letters without accents.

    >>> _words("DateOfBirth"), _words("prénom_2"), _words("SSN")
    (['date', 'of', 'birth'], ['prenom'], ['ssn'])
    """
    plain = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode()
    return [word.lower() for word in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+", plain)]


def _hierarchy(name: str, look: _Look) -> tuple[Hierarchy, str]:
    """Give a hierarchy that all values of a column climb, and their shape in words."""
    if look.values is None:
        return suppress(), f"more than {MOST_DISTINCT:,} distinct values, too many to look at"
    candidate = _dates(look.values) or _codes(name, look.values) or _numbers(look.values)
    if candidate is not None and candidate[0] is not None:
        try:
            candidate[0].compile(look.values)
        except HierarchyError:
            candidate = None
    if candidate is not None:
        return candidate[0] or suppress(), candidate[1]
    few = look.distinct <= MANY
    return suppress(), f"{look.distinct:,} categories" if few else "texts of no shape; list their labels with levels"


def _dates(values: Sequence[str]) -> tuple[Hierarchy | None, str] | None:
    """Recognize dates by the first format that reads every value."""
    for form, twin in DATE_FORMATS.items():
        days = _read_days(values, form)
        if days is None:
            continue
        if "%y" in form and max(days) > date.today():
            return None, "dates whose two-digit years are read as future ones; write years with four digits"
        steps = ["month", "year", "5 years", "10 years"]
        hierarchy = dates(*steps) if form == "%Y-%m-%d" else dates(*steps, format=form)
        unsure = f"; day and month cannot be told apart: if the day comes first, the format is {twin}"
        is_ambiguous = twin is not None and form < twin and _read_days(values, twin) is not None
        return hierarchy, f"dates{unsure if is_ambiguous else ''}"
    return None


def _read_days(values: Sequence[str], form: str) -> list[date] | None:
    days = []
    for value in values:
        try:
            days.append(datetime.strptime(value.strip(), form).date())
        except ValueError:
            return None
    return days


def _codes(name: str, values: Sequence[str]) -> tuple[Hierarchy, str] | None:
    """Recognize codes that are generalized by their leading characters: postal codes, and digits with leading zeros."""
    length = max(map(len, values))
    is_postal = any(word in POSTAL_WORDS.split() for word in _words(name))
    is_digits = all(len(value) == length and value.isdecimal() for value in values)
    has_zeros = is_digits and any(value.startswith("0") for value in values)
    if length < 3 or length > 12 or not (is_postal or has_zeros):
        return None
    shape = f"codes of {length} digits" if is_digits else f"codes of up to {length} characters"
    if length <= MOST_PREFIX_LEVELS:
        return prefix(length), shape
    return prefix(length, keep=list(range(MOST_PREFIX_LEVELS - 1, 0, -1))), shape


def _numbers(values: Sequence[str]) -> tuple[Hierarchy, str] | None:
    """Recognize numbers, and size intervals by their range: about twenty narrow ones, then ever wider."""
    numbers = [read_number(value) for value in values]
    if len(numbers) < 3 or any(number is None for number in numbers):
        return None
    known = [number for number in numbers if number is not None]
    reach = float(max(known) - min(known))
    is_whole = all(number == int(number) for number in known)
    width = _nice(reach / INTERVALS_ACROSS)
    if is_whole:
        width = max(2, int(width))
    widths = [width * factor for factor in (1, 2, 4, 8) if factor == 1 or width * factor < reach]
    return intervals(*widths), f"{'whole ' if is_whole else ''}numbers"


def _nice(number: float) -> float:
    """Give the smallest of 1, 2 and 5, times a power of ten, that is at least a number.

    >>> _nice(3.65), _nice(0.013), _nice(5000)
    (5.0, 0.02, 5000.0)
    """
    power = math.floor(math.log10(number))
    return min(
        step
        for exponent in (power, power + 1)
        for factor in (1, 2, 5)
        if (step := float(f"{factor}e{exponent}")) >= number
    )


def _with_some_quasi(columns: list[ColumnProfile]) -> list[ColumnProfile]:
    """Make the harmless column quasi where none is, since a policy protects at least one."""
    if any(column.role == "quasi" for column in columns):
        return columns
    order: tuple[Role, ...] = ("other", "sensitive", "identifier")
    chosen = min(columns, key=lambda column: (order.index(column.role), column.distinct))
    reason = f"a policy needs a quasi column; else it were {chosen.role}, because {chosen.reason}"
    promoted = replace(chosen, role="quasi", hierarchy=suppress(), reason=reason)
    return [promoted if column is chosen else column for column in columns]


def _height(hierarchy: Hierarchy | None, values: Sequence[str | None]) -> int:
    if hierarchy is None:
        return 0
    return hierarchy.height if hierarchy.height is not None else hierarchy.compile(values).height
