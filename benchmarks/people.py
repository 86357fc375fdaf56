"""Counting people instead of rows: what it costs on hospital visits, and how many groups hide too few people else."""

from __future__ import annotations

from collections import Counter
from itertools import product
from typing import Any

import pyarrow as pa

import indistinct as ix
from benchmarks import measuring, tables, visits
from benchmarks.setting import Figures, K, Setting, say
from indistinct.counting import FrequencyList, encode_eligible
from indistinct.engine import use_table
from indistinct.registry import MEASURES
from indistinct.search import Algorithm, Task

ALGORITHMS: dict[str, Algorithm] = {
    "lattice": ix.Lattice(),
    "datafly": ix.Datafly(),
    "samarati": ix.Samarati(),
    "mondrian": ix.Mondrian(),
    "regroup": ix.Regroup(),
    "top-down": ix.TopDown(),
}
LINKING = ("lattice", "samarati", "datafly", "mondrian", "regroup")
LINKED_SUPPRESSION = 0.5
"""The share of rows that may be suppressed where k people must share all rows of a person together."""
GOALS = {"lattice": 2.0, "mondrian": 3.0, "regroup": 3.0}
"""How many times the CPU of counting rows counting people may take."""
LINKED_GOAL = 60.0
"""The seconds that a release with linked rows may take."""
CLOSE = 0.15
"""A goal met or missed by less than this is not safely either."""


def run_people(setting: Setting) -> list[Figures]:
    """Search for groups of k rows and for groups of k people, then for profiles that k people share."""
    rows = setting.sized(visits.VISITS)
    table = visits.visits(rows * visits.PATIENTS // visits.VISITS, rows)
    lists = {}
    for counts_people in (False, True):
        policy = visits.policy(K, counts_people=counts_people)
        with use_table(table) as opened, encode_eligible(opened, policy) as encoded:
            lists[counts_people] = policy, FrequencyList.count(encoded, policy)
    found = []
    # one after the other for each algorithm: what else the machine does then weighs on both alike
    for (name, algorithm), counts_people in product(setting.few(ALGORITHMS.items(), 2), lists):
        policy, frequencies = lists[counts_people]
        one = _table(table) | {"kind": "groups", "algorithm": name, "counts_people": counts_people}
        one |= _searched(setting, frequencies, policy, algorithm) | _released(table, policy, algorithm)
        if counts_people and one["groups_below_k"]:
            raise AssertionError(f"{name} left {one['groups_below_k']} groups of fewer than {K} people")
        found.append(one)
        say(
            f"  {name}, {'people' if counts_people else 'rows'}: {one['cpu_seconds']:.2f} s CPU, "
            f"ncp {one['ncp']:.4f}, {one['groups_below_k']:,} of {one['groups']:,} groups below {K} people"
        )
    for name in setting.few(LINKING):
        one = _table(table) | {"kind": "profiles", "algorithm": name} | _linked(table, ALGORITHMS[name])
        if one["smallest_profile"] < K:
            raise AssertionError(f"{name} left a profile that {one['smallest_profile']} people share")
        found.append(one)
        say(f"  {name}, profiles: {one['cpu_seconds']:.1f} s CPU, {one['released_people']:,} people released")
    return found


def _table(table: pa.Table) -> Figures:
    visits_of = Counter(table["patient"].to_pylist())
    return {"rows": table.num_rows, "people": len(visits_of), "most_rows": max(visits_of.values()), "k": K}


def _searched(setting: Setting, frequencies: FrequencyList, policy: ix.Policy, algorithm: Algorithm) -> Figures:
    """Measure the search alone, from the counted table."""
    recoding, taken = measuring.best_of(
        lambda: algorithm.run(Task.of(frequencies.afresh(), policy), ix.Watch()),
        fewest=0 if setting.is_quick else 2,
        most=9,
        enough_seconds=0 if setting.is_quick else 2.0,
    )
    return {
        **taken.to_dict(),
        "suppressed": recoding.suppressed_rows,
        **{measure: MEASURES[measure]().value(recoding) for measure in ("precision", "ncp")},
    }


def _released(table: pa.Table, policy: ix.Policy, algorithm: Algorithm) -> Figures:
    """Make the release and count the patients of its groups from its cells; visits tell whose rows they are."""
    patient_of = table["patient"].to_pylist()
    patients: dict[tuple[Any, ...], set[int]] = {}
    with ix.anonymize(table, policy, algorithm=algorithm) as release:
        for quasi, visit in zip(_quasi(release.table), release.table["visit"].to_pylist(), strict=True):
            patients.setdefault(quasi, set()).add(patient_of[visit])
    sizes = [len(group) for group in patients.values()]
    return {
        "groups": len(sizes),
        "groups_below_k": sum(size < K for size in sizes),
        "groups_of_one": sizes.count(1),
        "smallest_in_people": min(sizes),
    }


def _linked(table: pa.Table, algorithm: Algorithm) -> Figures:
    """Release rows under pseudonyms, and count anew who shares a profile: all quasi tuples of a person together."""
    person = {"column": "patient", "release": "pseudonym"}
    policy = visits.policy(K, person=person, max_suppression=LINKED_SUPPRESSION)
    release, taken = measuring.best_of(
        lambda: ix.anonymize(table, policy, algorithm=algorithm), fewest=0, enough_seconds=0
    )
    released = release.table
    rows_of: dict[str, list[tuple[Any, ...]]] = {}
    for pseudonym, quasi in zip(released["pseudonym"].to_pylist(), _quasi(released), strict=True):
        rows_of.setdefault(pseudonym, []).append(quasi)
    patient_of = table["patient"].to_pylist()
    pairs = {
        (p, patient_of[v]) for p, v in zip(*(released[c].to_pylist() for c in ("pseudonym", "visit")), strict=True)
    }
    if not len(pairs) == len(rows_of) == len({patient for _, patient in pairs}):
        raise AssertionError("a pseudonym stands for several people, or somebody has several")
    profiles = Counter(frozenset(Counter(rows).items()) for rows in rows_of.values())
    return {
        **taken.to_dict(),
        "released_rows": released.num_rows,
        "released_people": len(rows_of),
        "profiles": len(profiles),
        "smallest_profile": min(profiles.values()),
        "most_rows_linked": max(len(rows) for rows in rows_of.values()),
        "precision": MEASURES["precision"]().value(release.recoding),
        "node": dict(release.node or {}),
    }


def _quasi(released: pa.Table) -> list[tuple[Any, ...]]:
    return list(zip(*(released[name].to_pylist() for name in visits.QUASI), strict=True))


def section(figures: list[Figures]) -> str:
    """Return the section of the page."""
    one = figures[0]
    by_mode = {(f["algorithm"], f["counts_people"]): f for f in figures if f["kind"] == "groups"}
    lines = [_group_line(name, by_mode[name, False], by_mode[name, True]) for name, people in by_mode if people]
    heads = ["algorithm", "rows: CPU s", "people: CPU s", "ratio", "NCP", "too small"]
    linked_heads = ["algorithm", "CPU s", "people kept", "rows kept", "profiles"]
    text = f"""{one["rows"]:,} made-up visits of {one["people"]:,} patients, at most {one["most_rows"]} each. Eight
quasi columns, k = {one["k"]}, 2 % suppressed. First rows are counted, then people (→). CPU seconds are of the
search. *Too small* are groups with fewer than {one["k"]} patients, counted in plain Python."""
    fewest = min((f["smallest_profile"] for f in figures if f["kind"] == "profiles"), default=one["k"])
    linked = f"""Linked rows: at least {fewest} patients share each profile, all released tuples of a patient under a
pseudonym; at most {100 * LINKED_SUPPRESSION:.0f} % suppressed. CPU seconds are of `ix.anonymize`; the goal is
{LINKED_GOAL:g}."""
    return tables.section(
        "Counting people",
        "people",
        text,
        tables.table(heads, lines),
        tables.filled(linked),
        tables.table(linked_heads, [_linked_line(f) for f in figures if f["kind"] == "profiles"]),
    )


def _group_line(name: str, rows: Figures, people: Figures) -> list[str]:
    ratio = people["cpu_seconds"] / rows["cpu_seconds"]
    goal = tables.mark(ratio / GOALS[name]) if name in GOALS else ""
    cells = [name, f"{rows['cpu_seconds']:.3f}", f"{people['cpu_seconds']:.3f}", f"{ratio:.2f}{goal}"]
    forms = {"ncp": ".4f", "groups_below_k": ","}
    return cells + [f"{rows[figure]:{form}} → {people[figure]:{form}}" for figure, form in forms.items()]


def _linked_line(one: Figures) -> list[str]:
    cells = [one["algorithm"], f"{one['cpu_seconds']:.1f}{tables.mark(one['cpu_seconds'] / LINKED_GOAL)}"]
    return cells + [f"{one[name]:,}" for name in ("released_people", "released_rows", "profiles")]
