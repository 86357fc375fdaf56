"""profile(): what each column of a table looks like, which role and hierarchy that suggests, and why."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from decimal import Decimal
from typing import Any

from indistinct.engine import Encoded, Rows, use_table
from indistinct.errors import HierarchyError, TableError
from indistinct.hierarchy import Hierarchy, dates, intervals, prefix, suppress
from indistinct.hierarchy.exact_numbers import read_number
from indistinct.policy import Column, Policy, Role, quasi
from indistinct.privacy import KAnonymity
from indistinct.study.column_names import is_one_of, words_of
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
POSTAL_WORDS = "zip zipcode postal postcode postleitzahl plz"

ISO = "ISO"
DATE_FORMATS = {
    ISO: None,
    "%Y/%m/%d": None,
    "%d.%m.%Y": None,
    "%m/%d/%Y": "%d/%m/%Y",
    "%d/%m/%Y": None,
    "%d-%m-%Y": "%m-%d-%Y",
    "%m-%d-%Y": None,
    "%d.%m.%y": None,
    "%m/%d/%y": "%d/%m/%y",
    "%d/%m/%y": None,
}
"""The formats of dates in the order in which they are tried, each with the twin that it may be mistaken for."""
DATE_LEVELS = ("month", "year", "5 years", "10 years")

MOST_DISTINCT = 200_000
"""Columns with more distinct values are judged by their name and their counts alone."""
MANY = 20
"""With fewer distinct values nothing is concluded from nearly all being different."""
NEARLY_UNIQUE = 0.9
LONG_TEXT = 40
MOST_ROWS = 0.8
"""Columns by which such a share of the rows stands alone are said to identify."""
MOST_WORK = 50_000_000
"""So many distinct rows are counted to find them, for all sets of columns of one size together."""
INTERVALS_ACROSS = 20
SHORTEST_CODE, LONGEST_CODE, MOST_CODE_LEVELS = 3, 12, 8
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
        columns = _with_some_quasi([_judge(name, look) for name, look in looks.items()])
        identifying = _identifying(rows, [column.name for column in columns if column.role == "quasi"], count)
    return Profile(count, tuple(_with_company(column, identifying) for column in columns), identifying)


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
    hierarchy, shape = _hierarchy(name, look)
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


def _hierarchy(name: str, look: _Look) -> tuple[Hierarchy, str]:
    """Give a hierarchy that all values of a column climb, and their shape in words."""
    if look.values is None:
        return suppress(), f"more than {MOST_DISTINCT:,} distinct values, too many to look at"
    found = _dates(look.values) or _codes(name, look.values) or _numbers(look.values)
    if found is not None:
        try:
            found[0].compile(look.values)
            return found
        except HierarchyError:
            pass  # a value that the shape does not cover: nothing but suppression is safe to suggest
    if look.distinct <= MANY:
        return suppress(), f"{look.distinct} categories"
    return suppress(), "texts without a common shape; to keep more of them list their labels with levels"


def _dates(values: Sequence[str]) -> tuple[Hierarchy, str] | None:
    """Recognize dates by the first format that reads every value."""
    for form, twin in DATE_FORMATS.items():
        days = _days(values, form)
        if days is None:
            continue
        latest = date.today().year if "%y" in form else None
        hierarchy = dates(*DATE_LEVELS) if form == ISO else dates(*DATE_LEVELS, format=form, latest=latest)
        if twin is not None and _days(values, twin) is not None:
            return hierarchy, f"dates; day and month cannot be told apart: if {form} is wrong, the format is {twin}"
        return hierarchy, "dates"
    return None


def _days(values: Sequence[str], form: str) -> list[date] | None:
    """Give the day of every value, or None if a value is not a date of this format."""
    if form == ISO and not all("-" in value for value in values):
        return None  # eight digits are rather a number than a date without separators
    try:
        if form == ISO:
            return [datetime.fromisoformat(value.strip()).date() for value in values]
        return [datetime.strptime(value.strip(), form).date() for value in values]
    except ValueError:
        return None


def _codes(name: str, values: Sequence[str]) -> tuple[Hierarchy, str] | None:
    """Recognize codes whose leading characters mean most: postal codes, and digits with leading zeros."""
    length = max(map(len, values))
    is_postal = any(is_one_of(word, POSTAL_WORDS) for word in words_of(name))
    is_digits = all(len(value) == length and value.isdecimal() for value in values)
    has_zeros = is_digits and any(value.startswith("0") for value in values)
    if not SHORTEST_CODE <= length <= LONGEST_CODE or not (is_postal or has_zeros):
        return None
    shape = f"codes of {length} digits" if is_digits else f"codes of up to {length} characters"
    if length <= MOST_CODE_LEVELS:
        return prefix(length), shape
    return prefix(length, keep=list(range(MOST_CODE_LEVELS - 1, 0, -1))), shape


def _numbers(values: Sequence[str]) -> tuple[Hierarchy, str] | None:
    """Recognize numbers, and size intervals by their range: about twenty narrow ones, then ever wider."""
    numbers = [Decimal(number) for number in map(read_number, values) if number is not None]
    if len(numbers) < max(3, len(values)):
        return None
    reach = max(numbers) - min(numbers)
    if reach == 0:
        return None
    is_whole = all(number == number.to_integral_value() for number in numbers)
    width = _nice(reach / INTERVALS_ACROSS)
    narrowest = max(2, int(width)) if is_whole else width
    widths = [narrowest * factor for factor in (1, 2, 4, 8) if factor == 1 or narrowest * factor < reach]
    return intervals(*widths), f"{'whole ' if is_whole else ''}numbers"


def _nice(number: Decimal) -> Decimal:
    """Give the smallest of 1, 2 and 5, times a power of ten, that is at least a number.

    >>> _nice(Decimal("3.65")), _nice(Decimal("0.013"))
    (Decimal('5'), Decimal('0.02'))
    """
    power = Decimal(1).scaleb(number.adjusted())
    return next(factor * power for factor in (1, 2, 5, 10) if factor * power >= number)


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
