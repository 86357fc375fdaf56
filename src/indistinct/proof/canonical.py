"""The canonical writing: nothing is in a released file but its rows, since writing them anew gives the same bytes.

A file can say more than its rows: by quotation marks that need not be there, blank lines, how lines end, blanks in
JSON, the order of columns, or what a binary format keeps beside cells. No recount sees that. The order of rows is
random by design, so the rows are written in the order in which they stand.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from indistinct.atomic_files import private_folder
from indistinct.engine import Rows
from indistinct.engine.formats import format_of
from indistinct.policy import Policy
from indistinct.proof.checks import Check, NotChecked
from indistinct.release.manifest import MANIFEST
from indistinct.release.released_tables import ReleasedTables

BLOCK = 1 << 20


def canonical_checks(
    released: ReleasedTables, tables: Mapping[str, Rows], policies: Mapping[str, Policy]
) -> tuple[list[Check], list[NotChecked]]:
    """Check that each file is the canonical writing of its rows, and return of which files that cannot be said.

    ``policies`` are those of the tables, by the same names.
    """
    order: list[str] = []
    differing: list[str] = []
    same: list[str] = []
    no_files: list[str] = []
    not_canonical: list[str] = []
    for name, rows in tables.items():
        if name in policies and not _has_order(rows, policies[name]):
            order.append(name)
        source = released.sources[name]
        if not isinstance(source, str | Path) or not Path(source).is_file():
            no_files.append(name)
            continue
        path = Path(source)
        if not format_of(path).is_canonical:
            not_canonical.append(path.name)
        else:
            (same if is_written_anew(path, released, name) else differing).append(path.name)
    if released.folder is not None:
        assert released.manifest is not None  # a folder has one
        is_plain = (released.folder / MANIFEST).read_bytes() == released.manifest.text.encode()
        (same if is_plain else differing).append(MANIFEST)
    numbers = {"same": same, "order": order, "differing": differing}
    checks = [Check("files.canonical", not order and not differing, numbers)]
    if not no_files and not not_canonical:
        return checks, []
    return checks, [NotChecked("files.canonical", {"no_files": no_files, "not_canonical": not_canonical})]


def is_written_anew(path: Path, released: ReleasedTables, name: str) -> bool:
    """Return whether the rows of a file, under the names that stand in it, are written as the same bytes."""
    if not path.stat().st_size:  # JSON lines without a row
        return True
    with private_folder() as folder, replace(released, renamed={}).rows() as tables:
        again = tables[name].write(folder)
        if again.stat().st_size != path.stat().st_size:
            return False
        with again.open("rb") as mine, path.open("rb") as theirs:
            while block := mine.read(BLOCK):
                if block != theirs.read(BLOCK):
                    return False
    return True


def _has_order(rows: Rows, policy: Policy) -> bool:
    """Return whether columns stand in the order of the policy, in which releases have them."""
    declared = policy.with_role("quasi", "sensitive", "other")
    found = [column for column in rows.columns() if column in declared]
    return found == [column for column in declared if column in found]
