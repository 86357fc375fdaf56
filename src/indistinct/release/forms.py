"""Form: which tables a release has, and everything that follows from it: their names, what groups are called, and more.

A release is one table, two tables that keep sensitive values apart, or several tables that belong together. Everybody
else asks a form what follows from that, and never which one it is.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeVar

from indistinct.engine.plans import CLASS, ELSEWHERE
from indistinct.errors import TableError

if TYPE_CHECKING:
    from indistinct.policy import Policy

T = TypeVar("T")
FormName = Literal["one table", "two tables", "linked tables"]


class Form(ABC):
    """Which tables a release has."""

    title: ClassVar[FormName] = "one table"
    """What it is called, also in manifests."""
    noun: ClassVar[str] = "group"
    nouns: ClassVar[str] = "groups"
    """What those are called who look alike."""
    unit: ClassVar[str] = "row"
    units: ClassVar[Literal["rows", "people"]] = "rows"
    """What they are counted in, one and several."""
    rows: ClassVar[str] = "rows"
    """What the rows of all tables are called."""
    tables: ClassVar[str] = "the table"
    generalizes: ClassVar[bool] = True
    """Quasi cells are released as labels; else as they are, apart from sensitive values."""
    shows_recoding: ClassVar[bool] = True
    """Whoever has the release reads in its one table how each value was recoded."""
    no_unicity: ClassVar[str] = ""
    """Why it is not counted how many released rows any few cells single out; empty if it is."""
    is_joined: ClassVar[bool] = False
    """Columns are named ``table.column``, since each table has its own."""
    judged_in: ClassVar[str] = "judge"
    """The module of ``proof/judges`` that has its judge."""
    is_measured_anew: ClassVar[bool] = True
    """Its measures can be worked out anew from what it states and shows."""
    first: str
    """The table that has the quasi columns; asked of several tables it raises a TableError."""
    last: str
    """The table that has the sensitive columns; asked of several tables it raises a TableError."""
    blanks: ClassVar[bool] = True
    """Suppressed rows may stay with blank cells."""

    @abstractmethod
    def takes(self, names: Collection[str]) -> bool:
        """Return whether tables of these names are a release of this form."""

    def of_files(self, files: Sequence[str]) -> dict[str, str]:
        """Return the file of each table by the name of the table; raise a ValueError if they are not of this form."""
        found = {PurePath(name).stem: name for name in files}
        if len(found) < len(files) or not self.takes(found):
            raise ValueError("the files are not those of a release of this form")
        return found

    def made_of(self, made: Form) -> Form:
        """Return the form of what is made of tables of this form, where it may be another one."""
        return made

    def place(self, table: str) -> str:
        """Return what a message about one of the tables begins with."""
        return f"tables.{table}: " if self.is_joined else ""

    def full_name(self, table: str, column: str) -> str:
        """Return what a column of one of the tables is called beside those of others."""
        return f"{table}.{column}" if self.is_joined else column

    def own_name(self, name: str) -> str:
        """Return what a column is called in its own table, which beside those of others has this name.

        >>> LINKED_TABLES.own_name("visits.ward"), ONE_TABLE.own_name("visits.ward")
        ('ward', 'visits.ward')
        """
        return name.partition(".")[2] if self.is_joined else name

    def arguments(self, names: Iterable[str]) -> list[str]:
        """Return how the tables of a policy are named in a command."""
        return [f"{name}=TABLE" for name in names] if self.is_joined else ["TABLE"]

    def by_name(self, given: Any, names: Collection[str], what: str = "") -> Mapping[str, Any]:
        """Return each table of a policy that somebody gave; several are given by name, or a TableError says it.

        ``what`` they are is said if all of them are needed here.
        """
        return dict.fromkeys(names, given)

    def as_given(self, tables: Mapping[str, T]) -> T | Mapping[str, T] | None:
        """Return tables as whoever takes a policy takes them: one by itself, several by name; None where none is."""
        return next(iter(tables.values()), None)

    def released_as(self, table: str, made: Form) -> str:
        """Return the name of the released table that one of a policy's becomes, where a release of a form is made."""
        return made.first

    def of_tables(self, names: Collection[str]) -> Form:
        """Return the form of tables of these names, where their policy has this form."""
        return form_of(names)

    def refuse_tables_of(self, released: Form) -> None:
        """Raise a TableError if tables of a form cannot be those of a policy of this one."""
        if released.is_joined:
            raise TableError("the release holds several tables that belong together; give the policy of all of them")

    def columns_of(self, policy: Policy) -> dict[str, tuple[str, ...]]:
        """Return the columns that a policy releases in each table, by their own names."""
        return {name: part.policy.released_columns for name, part in policy.parts.items()}

    def refuse_engines(self, kinds: Mapping[str, str]) -> None:
        """Raise a TableError if tables cannot be where they are; ``kinds`` has the engine of each."""
        return

    def only_table(self, names: Iterable[str]) -> str:
        """Return the name of the only table; raise a TableError that names all of them if there are several."""
        listed = " and ".join(f'release.tables["{name}"]' for name in names)
        raise TableError(f"this release has several tables: {listed}")

    def grouped_by(self, columns: Sequence[str]) -> tuple[str, ...]:
        """Return the columns whose cells are the same in a group, where these columns are the quasi-identifier."""
        return tuple(columns)


class _OneTable(Form):
    """One table with labels in place of quasi cells."""

    first = last = "table"

    def takes(self, names: Collection[str]) -> bool:
        """It is called ``table``."""
        return set(names) == {self.first}

    def of_files(self, files: Sequence[str]) -> dict[str, str]:
        """Return its file, whatever its name."""
        (only,) = files
        return {self.first: only}

    def only_table(self, names: Iterable[str]) -> str:
        """Return its name."""
        return self.first


class _TwoTables(Form):
    """Quasi cells as they are in one table, sensitive ones in another, linked by class."""

    title = "two tables"
    noun, nouns = "class", "classes"
    rows = "rows in two tables"
    tables = "the tables"
    generalizes = shows_recoding = False
    no_unicity = "quasi-identifiers are published as they are, so whoever knows them finds a person's class"
    judged_in = "two_tables"
    first, last = "quasi", "sensitive"
    blanks = False

    def takes(self, names: Collection[str]) -> bool:
        """They are called ``quasi`` and ``sensitive``."""
        return set(names) == {"quasi", "sensitive"}

    def of_files(self, files: Sequence[str]) -> dict[str, str]:
        """Return the files, that with the quasi cells first."""
        return dict(sorted(super().of_files(files).items()))

    def grouped_by(self, columns: Sequence[str]) -> tuple[str, ...]:
        """Return the column that links the two tables."""
        return (CLASS,)

    def columns_of(self, policy: Policy) -> dict[str, tuple[str, ...]]:
        """Return the columns of both: beside the class the quasi and other ones, and the sensitive ones."""
        return {
            self.first: (CLASS, *policy.with_role("quasi", "other")),
            self.last: (CLASS, *policy.with_role("sensitive")),
        }


class _LinkedTables(Form):
    """Several tables that belong together, by the names that their policy gives them."""

    title = "linked tables"
    noun, nouns = "profile", "profiles"
    unit, units = "person", "people"
    tables = "the tables"
    shows_recoding = False
    no_unicity = "its cells stand in several tables, and rows of one person are found together"
    is_joined = True
    judged_in = "several_tables"
    is_measured_anew = False
    blanks = False

    @property
    def first(self) -> str:  # type: ignore[override]
        """Each table has quasi columns of its own."""
        raise TableError("the release holds several tables that belong together; this takes a release of one")

    last = first

    def made_of(self, made: Form) -> Form:
        """Return this form: of several tables several are made."""
        return self

    def by_name(self, given: Any, names: Collection[str], what: str = "") -> Mapping[str, Any]:
        """Return what was given, if it is by name."""
        if isinstance(given, Mapping) and (not what or set(given) == set(names)):
            return given
        place = f"{what}: " if what else ""
        raise TableError(f"{place}the policy describes several tables; give each by its name: {', '.join(names)}")

    def as_given(self, tables: Mapping[str, T]) -> Mapping[str, T] | None:
        """Return them by name."""
        return tables or None

    def released_as(self, table: str, made: Form) -> str:
        """Each keeps its name."""
        return table

    def of_tables(self, names: Collection[str]) -> Form:
        """Return this form: the policy says that they belong together."""
        return self

    def refuse_tables_of(self, released: Form) -> None:
        """Refuse one table, or two."""
        if not released.is_joined:
            raise TableError("the policy describes several tables: give the release folder, or the tables by name")

    def refuse_engines(self, kinds: Mapping[str, str]) -> None:
        """Refuse Spark and PostgreSQL, which do not know whose rows other tables have."""
        for name, kind in kinds.items():
            if kind in ELSEWHERE:
                raise TableError(
                    f"{name}: several tables that belong together are not supported in {ELSEWHERE[kind]}; "
                    "write to Parquet"
                )

    def takes(self, names: Collection[str]) -> bool:
        """Every name may be one of a policy's."""
        return bool(names)


ONE_TABLE, TWO_TABLES, LINKED_TABLES = _OneTable(), _TwoTables(), _LinkedTables()
FORMS: dict[str, Form] = {form.title: form for form in (ONE_TABLE, TWO_TABLES, LINKED_TABLES)}
"""The forms by what a manifest says of them."""


def form_of(names: Collection[str]) -> Form:
    """Return the form of tables of these names that somebody holds, where no policy says that they belong together."""
    for form in (ONE_TABLE, TWO_TABLES):
        if form.takes(names):
            return form
    given = ", ".join(map(repr, names)) or "none"
    raise TableError(
        f"a release is one table, or two; one of two has the tables 'quasi' and 'sensitive'; given: {given}"
    )
