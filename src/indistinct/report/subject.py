"""Subject: what a report is about: the released tables, what the release says of itself, and the private counts.

The public edition is made from the first two alone. It never gets to see the private table, so it cannot describe it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from indistinct.counting import FrequencyList, encode_eligible
from indistinct.disclosure_risk import THRESHOLD
from indistinct.engine import Rows
from indistinct.errors import PolicyError, TableError
from indistinct.linkage import count_encoded, read_once
from indistinct.policy import Policy
from indistinct.privacy.model import least_rows
from indistinct.proof.verdict import Verdict, verify
from indistinct.recoding import Recoding
from indistinct.release.forms import Form
from indistinct.release.manifest import Facts, Manifest, has_manifest
from indistinct.release.released_tables import HoldsReleasedTables, ReleasedTables, holds_released_tables

Edition = Literal["internal", "public"]
EDITIONS = ("internal", "public")


class MadeRelease(HoldsReleasedTables, Protocol):
    """A Release in its maker's hands, who has the counts of the private table as well."""

    policy: Policy
    verdict: Verdict | None
    entry: int | None

    @property
    def recoding(self) -> Recoding:
        """What was done to the private table, with its frequency list."""

    def verify(self, original: Any = None) -> Verdict:
        """Recount the released cells."""


@dataclass(frozen=True, slots=True)
class Subject:
    """A release, opened to be counted."""

    policy: Policy
    released_tables: ReleasedTables
    tables: Mapping[str, Rows]
    """The rows of its tables, by name."""
    verdict: Verdict
    edition: Edition
    before: FrequencyList | None
    """The counts of the private table; None in a public edition, and where nobody gave the table."""
    sources: Mapping[str, Rows]
    """The private table, or each of several by its name, as far as they were given for an internal edition."""
    entry: int | None = None
    """The number of the release in a ledger, if it knows it."""

    @property
    def said(self) -> Facts:
        """What the release says of itself, as its manifest does."""
        said = self.released_tables.said
        assert said is not None  # only releases are reported on
        return said

    @property
    def manifest(self) -> Manifest | None:
        """The manifest of a release that was written."""
        return self.released_tables.manifest

    @property
    def form(self) -> Form:
        """Which tables it has."""
        return self.released_tables.form

    @property
    def released(self) -> Rows:
        """The released table that has the quasi columns; asked of several tables it raises a TableError."""
        return self.tables[self.form.first]

    @property
    def original(self) -> Any:
        """The private table, or several by their names, as other parts of the system take them; None without any."""
        return self.policy.form.as_given(self.sources)

    @property
    def node(self) -> Mapping[str, int] | None:
        """The level of each column of a full-domain release."""
        return self.said.node if self.form.generalizes else None

    @property
    def released_units(self) -> int:
        """The rows of the release, or its people where those are counted."""
        people = self.said.people
        return people.released if self.form.units == "people" and people is not None else self.said.released

    @property
    def k(self) -> int:
        """The largest k that any model asks for; 1 if none does."""
        return max((least_rows(model) for model in self.policy.privacy), default=1)

    @property
    def has_threshold(self) -> bool:
        """The policy says from which chance on a record counts as at risk; a public edition says nothing of that."""
        return self.edition == "internal" and self.policy.context is not None and self.policy.context.limit is not None

    @property
    def threshold(self) -> float:
        """The chance of one record above which it counts as at risk."""
        limit = self.policy.context.record_limit if self.policy.context is not None and self.has_threshold else None
        return THRESHOLD if limit is None else limit

    def groupings(self) -> list[tuple[str, tuple[str, ...]]]:
        """Return the columns by which released rows form groups: those of each quasi-identifier, or the class."""
        if not self.form.generalizes:
            return [(self.form.noun, self.form.grouped_by(()))]
        if self.form.units == "people":
            return [(self.form.noun, self.policy.quasi)]
        assert self.policy.quasi_identifiers is not None  # set when the policy was made
        return [(name, tuple(columns)) for name, columns in self.policy.quasi_identifiers.items()]


@contextmanager
def open_subject(
    release: Any, policy: Policy, edition: Edition, original: Any = None, **reading: Any
) -> Iterator[Subject]:
    """Open a Release or a release folder for the time of the block, and recount it.

    ``reading`` goes to the engine: memory_limit and threads for all tables, delimiter and encoding for the original.
    """
    if edition not in EDITIONS:
        raise PolicyError(f"edition: must be 'internal' or 'public', got {edition!r}")
    is_made_here = holds_released_tables(release)
    if not is_made_here and not has_manifest(release):
        raise TableError("a report is made of a Release, or of a folder that anonymize wrote, with its manifest.json")
    with ExitStack() as stack:
        sources: dict[str, Rows] = {}
        if original is not None and edition == "internal":
            originals = policy.form.by_name(original, policy.parts, "original")
            for name, part in policy.parts.items():
                sources[name] = stack.enter_context(read_once(originals[name], part.policy, **reading))
        if is_made_here:
            yield _subject_of_release(stack, release, edition, sources)
        else:
            yield _subject_of_folder(stack, ReleasedTables.of(release, policy, **reading), policy, edition, sources)


def _subject_of_release(
    stack: ExitStack, release: MadeRelease, edition: Edition, sources: Mapping[str, Rows]
) -> Subject:
    verdict = release.verdict
    if verdict is None or sources:
        verdict = release.verify(original=release.policy.form.as_given(sources))
    before = None
    if edition == "internal":
        before = release.recoding.frequencies
        if any(before.base.node):  # counted at a higher node, where other groups form than in the table
            before = _count_sources(sources, release.policy)
    released = stack.enter_context(release.released_tables().read_once())
    tables = stack.enter_context(released.rows())
    return Subject(release.policy, released, tables, verdict, edition, before, sources, release.entry)


def _count_sources(sources: Mapping[str, Rows], policy: Policy) -> FrequencyList | None:
    """Count the private tables; None if there are none."""
    if not sources:
        return None
    with ExitStack() as stack:
        encoded = {
            name: stack.enter_context(encode_eligible(sources[name], part.policy, policy.counted_columns(name)))
            for name, part in policy.parts.items()
        }
        return count_encoded(encoded, policy)[0]


def _subject_of_folder(
    stack: ExitStack, released: ReleasedTables, policy: Policy, edition: Edition, sources: Mapping[str, Rows]
) -> Subject:
    released = stack.enter_context(released.read_once())
    verdict = verify(released, policy, original=policy.form.as_given(sources))
    tables = stack.enter_context(released.rows())
    found = columns_by_table(tables, policy)
    if {name for columns in found.values() for name in columns} != set(policy.with_role("quasi", "sensitive")):
        verdict.raise_if_failed()  # there is nothing to report about a table without its columns
    return Subject(policy, released, tables, verdict, edition, _count_sources(sources, policy), sources)


def columns_by_table(tables: Mapping[str, Rows], policy: Policy) -> dict[str, dict[str, str]]:
    """Return the quasi and sensitive columns of each table: the name that a policy has for it, and that in the table.

    Both are the same but for several tables, whose policy calls a column ``table.column``.
    """
    asked = policy.with_role("quasi", "sensitive")
    found = {}
    for table, rows in tables.items():
        start = policy.form.full_name(table, "")
        named = {name: name.removeprefix(start) for name in asked if name.startswith(start)}
        found[table] = {name: own for name, own in named.items() if own in rows.columns()}
    return found
