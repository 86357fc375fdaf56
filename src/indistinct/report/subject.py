"""Subject: what a report is about: the released tables, what the release says of itself, and the private counts.

The public edition is made from the first two alone. It never gets to see the private table, so it cannot tell of it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from indistinct.counting import FrequencyList
from indistinct.engine import Rows, open_table
from indistinct.errors import PolicyError, TableError
from indistinct.linkage.population import count_with_population
from indistinct.policy import Policy
from indistinct.policy.statement import policy_digest
from indistinct.privacy.model import least_rows
from indistinct.proof.verdict import Verdict, verify
from indistinct.recoding.link_column import LINK, TWO_TABLES
from indistinct.release import MANIFEST, Release

Edition = Literal["internal", "public"]
EDITIONS = ("internal", "public")


@dataclass(frozen=True, slots=True)
class Subject:
    """A release, opened to be counted."""

    policy: Policy
    tables: Mapping[str, Rows]
    said: Mapping[str, Any]
    """What the release says of itself, as its manifest does."""
    verdict: Verdict
    edition: Edition
    before: FrequencyList | None
    """The counts of the private table; None in a public edition, and where nobody gave the table."""
    source: Rows | None
    """The private table, if it was given for an internal edition."""

    @property
    def is_apart(self) -> bool:
        """Sensitive values stand in a table of their own."""
        return self.said.get("form") == TWO_TABLES

    @property
    def released(self) -> Rows:
        """The released table that has the quasi columns."""
        return self.tables["quasi"] if self.is_apart else self.tables["table"]

    def with_column(self, column: str) -> Rows:
        """The released table that has a column."""
        return next(rows for rows in self.tables.values() if column in rows.columns())

    @property
    def node(self) -> Mapping[str, int] | None:
        """The level of each column of a full-domain release."""
        return None if self.is_apart else self.said["node"]

    @property
    def k(self) -> int:
        """The largest k that any model asks for; 1 if none does."""
        return max((least_rows(model) for model in self.policy.privacy), default=1)

    def groupings(self) -> list[tuple[str, tuple[str, ...]]]:
        """Give the columns by which released rows form groups: those of each quasi-identifier, or the class."""
        if self.is_apart:
            return [("class", (LINK,))]
        assert self.policy.quasi_identifiers is not None  # set when the policy was made
        return [(name, tuple(columns)) for name, columns in self.policy.quasi_identifiers.items()]


@contextmanager
def opened(release: Any, policy: Policy, edition: Edition, original: Any = None, **reading: Any) -> Iterator[Subject]:
    """Open a Release or a release folder for the time of the block, and recount it.

    ``reading`` goes to the engine: memory_limit and threads for all tables, delimiter and encoding for the original.
    """
    if edition not in EDITIONS:
        raise PolicyError(f"edition: must be 'internal' or 'public', got {edition!r}")
    with ExitStack() as stack:
        source = None
        if original is not None and edition == "internal":
            source = _opened(stack, original, reading)
        if isinstance(release, Release):
            yield _of_release(release, edition, source)
        else:
            yield _of_folder(stack, release, policy, edition, source, reading)


def _of_release(release: Release, edition: Edition, source: Rows | None) -> Subject:
    verdict = release.verdict
    if verdict is None or source is not None:
        verdict = release.verify(original=source)
    said = {**release.facts, "algorithm": release.algorithm, "policy_sha256": policy_digest(release.policy)}
    counted = release.recoding.frequencies
    is_whole = not any(counted.base.node)  # tables that outgrow a machine are counted at a higher node
    before = counted if edition == "internal" and is_whole else None
    return Subject(release.policy, release.parts, said, verdict, edition, before, source)


def _of_folder(
    stack: ExitStack, folder: Any, policy: Policy, edition: Edition, source: Rows | None, reading: Mapping[str, Any]
) -> Subject:
    if not isinstance(folder, str | Path) or not (Path(folder) / MANIFEST).is_file():
        raise TableError("a report is made of a Release, or of a folder that anonymize wrote, with its manifest.json")
    verdict = verify(folder, policy, original=source, **reading)
    said = json.loads((Path(folder) / MANIFEST).read_text("utf-8"))  # verify has read it, so it is one
    limits = {name: value for name, value in reading.items() if name in ("memory_limit", "threads")}
    own = limits | ({"delimiter": said["delimiter"]} if said.get("delimiter") else {})
    tables = {Path(name).stem: _opened(stack, Path(folder) / name, own) for name in said["files"]}
    if said.get("form") != TWO_TABLES:
        tables = {"table": next(iter(tables.values()))}
    present = {column for rows in tables.values() for column in rows.columns()}
    if not present.issuperset(policy.with_role("quasi", "sensitive")):
        verdict.raise_if_failed()  # there is nothing to report about a table without its columns
    before = None if source is None else count_with_population(source, policy)
    return Subject(policy, tables, said, verdict, edition, before, source)


def _opened(stack: ExitStack, table: Any, reading: Mapping[str, Any]) -> Rows:
    """Open a table that the stack closes, unless it is open already."""
    rows = open_table(table, **reading)
    if rows is not table:
        stack.enter_context(rows)
    return rows
