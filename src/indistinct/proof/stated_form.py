"""What a manifest says because of the form of its release: one table, two, or several that belong together."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from indistinct.engine.formats import format_of
from indistinct.policy import TablesPolicy
from indistinct.proof.checks import Check
from indistinct.recoding.classes import TWO_TABLES
from indistinct.released.manifest import LINKED_TABLES

OF_FORMS = {TWO_TABLES: {"link", "not_protected", "tables"}, LINKED_TABLES: {"linked_tables"}}
"""What only a release of this form says."""
NOT_OF_SEVERAL = {"about", "based", "bound", "delimiter", "drawn", "ledger_head", "perturbations"}
"""What no release of several tables says."""
TEXT = "csv"
"""The kind of files that state a delimiter."""
COUNTS = ("eligible", "released", "suppressed")


def form_mistakes(manifest: Mapping[str, Any]) -> list[str]:
    """Say what a manifest says that no release of its form says, so that nobody would compare it with anything."""
    form, stated = manifest.get("form"), set(manifest)
    strange = stated & set().union(*(names for other, names in OF_FORMS.items() if other != form))
    strange |= stated & NOT_OF_SEVERAL if form == LINKED_TABLES else set()
    wrong = [f"{name} is not said of such a release" for name in sorted(strange)]
    if "based" in manifest and "ledger_head" not in manifest:
        wrong.append("based is said of releases with a ledger alone")
    if "bound" in manifest and manifest["node"] is not None:
        wrong.append("bound is said of releases alone whose cells climb one by one")
    if "delimiter" in manifest and not any(map(_is_text, manifest.get("files", {}))):
        wrong.append("delimiter is said of text alone")
    return wrong


def proof_mistakes(manifest: Mapping[str, Any]) -> list[str]:
    """Say whether what is proven has a gap, or what is not proven has none."""
    is_possible = "is_proven" not in manifest or manifest["is_proven"] is (manifest.get("gap") == 0)
    return [] if is_possible else ["is_proven and gap do not go together"]


def several_tables_mistakes(manifest: Mapping[str, Any], policy: TablesPolicy) -> list[str]:
    """Compare what is said of each of several tables with the policy, and numbers with each other."""
    tables = manifest.get("linked_tables", {})
    if tables.keys() != policy.parts.keys():
        return ["linked_tables are not those of the policy"]
    wrong = []
    for name, said in tables.items():
        own = policy.parts[name].policy
        old = {new: column for column, new in own.renamed.items()}
        if sorted(old.get(column, column) for column in said.get("columns", ())) != sorted(own.released_columns):
            wrong.append(f"linked_tables: the columns of {name!r} are others")
        if not said.keys() >= set(COUNTS) or said["eligible"] != said["released"] + said["suppressed"]:
            wrong.append(f"linked_tables: the numbers of {name!r} do not go together")
        if "delimiter" in said and not any(_is_text(file) for file in manifest["files"] if Path(file).stem == name):
            wrong.append("delimiter is said of text alone")
    if wrong:
        return wrong
    wrong = [
        f"{count} is not that of all tables together"
        for count in COUNTS
        if manifest.get(count) != sum(said[count] for said in tables.values())
    ]
    return [*wrong, *_people_mistakes(manifest), *_cell_mistakes(manifest, policy)]


def stated_rows_checks(said: Mapping[str, Any], rows: Mapping[str, int], people: int) -> list[Check]:
    """Compare the rows of each of several originals, and the people in them, with what is stated; shown if they differ.

    ``rows`` and ``people`` are those that are eligible.
    """
    tables, in_people = said.get("linked_tables", {}), said.get("people", {})
    wrong = [
        f"{name} has {number:,} eligible rows, not what is stated"
        for name, number in rows.items()
        if name in tables and tables[name].get("eligible") != number
    ]
    wrong += (
        [f"{people:,} people are eligible, not what is stated"] if in_people.get("eligible", people) != people else []
    )
    return [Check("stated rows", False, "; ".join(wrong))] if wrong else []


def _people_mistakes(manifest: Mapping[str, Any]) -> list[str]:
    """Say whether numbers of people are impossible; groups of several tables are profiles, counted in people."""
    people = manifest.get("people", {})
    names = {"eligible", "released", "lost_rows", "lost_all_rows", "smallest_group", "smallest_profile"}
    if people.keys() != names:
        return ["people: a number is missing"]
    lost = people["eligible"] - people["released"]
    is_possible = (
        0 <= lost == people["lost_all_rows"] <= people["lost_rows"] <= min(people["eligible"], manifest["suppressed"])
        and people["smallest_profile"] == manifest["smallest_group"] <= people["smallest_group"] <= people["released"]
    )
    return [] if is_possible else ["people: the numbers do not go together"]


def _cell_mistakes(manifest: Mapping[str, Any], policy: TablesPolicy) -> list[str]:
    """Say what is said of dates that moved, or of cells that could not be read, that the policy does not declare."""
    parts = {name: part.policy for name, part in policy.parts.items()}
    days = [shift.days for part in parts.values() for shift in part.shifted.values()]
    read = {
        f"{name}.{column}"
        for name, part in parts.items()
        for column, one in part.columns.items()
        if one.unreadable != "refuse"
    }
    moved = manifest.get("dates_moved")
    wrong = (
        []
        if moved is None or moved in [{"days": day} for day in days]
        else ["dates_moved is not what the policy declares"]
    )
    is_read = manifest.get("unreadable", {}).keys() <= read
    return wrong + ([] if is_read else ["unreadable names a column that the policy does not let be unreadable"])


def _is_text(name: str) -> bool:
    """Tell whether a file is delimited text, by its name."""
    return format_of(Path(name)).kind == TEXT
