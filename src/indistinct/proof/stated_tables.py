"""What a manifest says of each of several tables that belong together, and of the people in them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from indistinct.policy import Policy
from indistinct.proof.checks import Check
from indistinct.proof.stated_search import is_text

COUNTS = ("eligible", "released", "suppressed")


def several_tables_mistakes(manifest: Mapping[str, Any], policy: Policy) -> list[str]:
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
        is_delimited = any(is_text(file) for file in manifest["files"] if Path(file).stem == name)
        if "delimiter" in said and not is_delimited:
            wrong.append("delimiter is said of text alone")
        if "delimiter" not in said and is_delimited:
            wrong.append(f"linked_tables: that of {name!r} lacks its delimiter")
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


def _cell_mistakes(manifest: Mapping[str, Any], policy: Policy) -> list[str]:
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
