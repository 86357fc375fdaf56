"""The canonical writing: nothing is in a released file but its rows, since writing them anew gives the same bytes.

A file can say more than its rows: by quotation marks that need not be there, blank lines, how lines end, blanks in
JSON, the order of columns, or what a binary format keeps beside cells. No recount sees that. The order of rows is
random by design, so the rows are written in the order in which they stand.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from indistinct.atomic_files import private_folder
from indistinct.engine import Rows
from indistinct.engine.formats import format_of
from indistinct.policy import Policy
from indistinct.proof.checks import Check
from indistinct.release.manifest import MANIFEST, manifest_text
from indistinct.release.released_tables import ReleasedTables

BLOCK = 1 << 20


def canonical_checks(
    released: ReleasedTables, tables: Mapping[str, Rows], policies: Mapping[str, Policy]
) -> tuple[list[Check], tuple[str, ...]]:
    """Check that each file is the canonical writing of its rows; give in words of which files that cannot be said.

    ``policies`` are those of the tables, by the same names.
    """
    wrong: list[str] = []
    same: list[str] = []
    unsaid: list[str] = []
    for name, rows in tables.items():
        wrong += _order_mistakes(name, rows, policies[name]) if name in policies else []
        source = released.sources[name]
        if not isinstance(source, str | Path) or not Path(source).is_file():
            unsaid.append(f"{name}: only a file has bytes to compare")
            continue
        path = Path(source)
        if not format_of(path).is_canonical:
            unsaid.append(f"{path.name}: such files are written otherwise each time")
        elif is_written_anew(path, released, name):
            same.append(path.name)
        else:
            wrong.append(f"{path.name} holds more than its rows, or was written by another program or version")
    if released.folder is not None:
        (same if _is_plain_manifest(released.folder / MANIFEST) else wrong).append(MANIFEST)
    wrong = [f"{MANIFEST} is written otherwise than by us" if one == MANIFEST else one for one in wrong]
    found = f"{' and '.join(same)}: byte for byte the one writing of what they say" if same else "no file to compare"
    checks = [Check("canonical", not wrong, "; ".join(wrong) or found)]
    words = "whether nothing but rows is in a file, byte for byte"
    return checks, (f"{words} ({'; '.join(unsaid)})",) if unsaid else ()


def is_written_anew(path: Path, released: ReleasedTables, name: str) -> bool:
    """Return whether the rows of a file, under the names that stand in it, are written as the same bytes."""
    with private_folder() as folder, replace(released, renamed={}).rows() as tables:
        again = tables[name].write(folder)
        if again.stat().st_size != path.stat().st_size:
            return False
        with again.open("rb") as mine, path.open("rb") as theirs:
            while block := mine.read(BLOCK):
                if block != theirs.read(BLOCK):
                    return False
    return True


def _order_mistakes(name: str, rows: Rows, policy: Policy) -> list[str]:
    """Compare the order of columns with that of the policy, in which releases have them."""
    declared = policy.with_role("quasi", "sensitive", "other")
    found = [column for column in rows.columns() if column in declared]
    is_same = found == [column for column in declared if column in found]
    return [] if is_same else [f"the columns of {name} stand in another order than in the policy"]


def _is_plain_manifest(path: Path) -> bool:
    """Return whether a manifest is written as JSON is written here: blanks, escapes and forms of numbers."""
    text = path.read_bytes()
    return text == manifest_text(json.loads(text)).encode()
