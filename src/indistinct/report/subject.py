"""Subject: what a report is about: the released tables, what the release says of itself, and the private counts.

The public edition is made from the first two alone. It never gets to see the private table, so it cannot describe it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from indistinct.counting import FrequencyList, as_declared, encode_eligible
from indistinct.engine import Rows, use_table
from indistinct.errors import PolicyError, TableError
from indistinct.linkage import count_with_population
from indistinct.policy import Policy
from indistinct.privacy.model import least_rows
from indistinct.proof.verdict import Verdict, verify
from indistinct.recoding import Recoding
from indistinct.release.folder import has_manifest
from indistinct.release.forms import Form
from indistinct.release.manifest import Facts, Manifest
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
    source: Rows | None
    """The private table, if it was given for an internal edition."""
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
        """The released table that has the quasi columns."""
        return self.tables[self.form.first]

    def with_column(self, column: str) -> Rows:
        """The released table that has a column."""
        return next(rows for rows in self.tables.values() if column in rows.columns())

    @property
    def node(self) -> Mapping[str, int] | None:
        """The level of each column of a full-domain release."""
        return self.said.node if self.form.generalizes else None

    @property
    def k(self) -> int:
        """The largest k that any model asks for; 1 if none does."""
        return max((least_rows(model) for model in self.policy.privacy), default=1)

    def groupings(self) -> list[tuple[str, tuple[str, ...]]]:
        """Return the columns by which released rows form groups: those of each quasi-identifier, or the class."""
        if not self.form.generalizes:
            return [(self.form.noun, self.form.grouped_by(()))]
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
        source = None
        if original is not None and edition == "internal":
            given = stack.enter_context(use_table(original, **reading))
            source = stack.enter_context(as_declared(given, policy))
        if is_made_here:
            yield _subject_of_release(stack, release, edition, source)
        else:
            yield _subject_of_folder(stack, ReleasedTables.of(release, policy, **reading), policy, edition, source)


def _subject_of_release(stack: ExitStack, release: MadeRelease, edition: Edition, source: Rows | None) -> Subject:
    verdict = release.verdict
    if verdict is None or source is not None:
        verdict = release.verify(original=source)
    before = None
    if edition == "internal":
        before = release.recoding.frequencies
        if any(
            before.base.node
        ):  # counted at a higher node, since the table outgrows a machine: other groups than people form
            before = None if source is None else _count_source(source, release.policy)
    released = release.released_tables()
    tables = stack.enter_context(released.rows())
    return Subject(release.policy, released, tables, verdict, edition, before, source, release.entry)


def _count_source(source: Rows, policy: Policy) -> FrequencyList:
    with encode_eligible(source, policy) as encoded:
        return count_with_population(encoded, policy)


def _subject_of_folder(
    stack: ExitStack, released: ReleasedTables, policy: Policy, edition: Edition, source: Rows | None
) -> Subject:
    verdict = verify(released, policy, original=source)
    tables = stack.enter_context(released.rows())
    present = {column for rows in tables.values() for column in rows.columns()}
    if not present.issuperset(policy.with_role("quasi", "sensitive")):
        verdict.raise_if_failed()  # there is nothing to report about a table without its columns
    before = None if source is None else _count_source(source, policy)
    return Subject(policy, released, tables, verdict, edition, before, source)
