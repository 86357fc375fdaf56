"""Risk before and after: how large the groups are, and what chance that leaves to whoever looks for a person."""

from __future__ import annotations

from typing import Any

import numpy as np

from indistinct.counting import Groups, IntArray
from indistinct.disclosure_risk import ALMOST, NEARLY, THRESHOLD, UNICITY_COLUMNS, Exposed, count_unicity, risk
from indistinct.engine import PROFILE, Rows
from indistinct.errors import PolicyError
from indistinct.policy import PSEUDONYM
from indistinct.profiling import DistinctRows, minimal_combinations
from indistinct.proof.judges.several_tables import profile_sizes
from indistinct.report.subject import Subject

STEPS = (1, 2, 3, 5, 10, 20, 50, 100, 1000)
"""Where the bars of the distribution of group sizes begin."""
MOST_COLUMNS = 3
"""Columns of a set, at most, that identify together."""
MOST_TUPLES = 2_000_000
"""In larger lists they are not looked for: it would take longer than all the rest."""
MOST_SETS = 8

Columns = tuple[str, ...]


def risks(subject: Subject, population: Any = None, **reading: Any) -> list[dict[str, Any]]:
    """Return the risk by each quasi-identifier, before the release where that is known, and after.

    ``population`` is the number of people that the table was drawn from, or a table of them. Figures count rows; where
    the policy says whose row it is, ``people`` has those that are known in people. A release without a row has no risk
    to measure.
    """
    if not any(rows.count() for rows in subject.tables.values()):
        return []
    is_asked = population is not None and subject.form.generalizes and subject.form.units == "rows"
    whole = None if subject.policy.eligible else subject.original
    return [
        {
            "name": name,
            "units": subject.form.units,
            "columns": list(columns),
            "before": _with(
                figures(_sizes_before(subject, columns), subject.threshold),
                _journalist(whole, columns, subject, population, reading) if is_asked else None,
                _people_before(subject, columns),
            ),
            "after": _after(subject, columns, population if is_asked else None, reading),
            "identifying": _identifying(subject, columns),
        }
        for name, columns in subject.groupings()
    ]


def _after(subject: Subject, columns: Columns, population: Any, reading: Any) -> dict[str, Any] | None:
    """Return the figures of the release."""
    people = _people_after(subject, columns)
    if population is None:
        journalist = None
    elif subject.policy.person_columns:
        journalist = _journalist_of_people(subject, people, population)
    else:
        journalist = _journalist(subject.released, columns, subject, population, reading)
    return _with(figures(_sizes_after(subject, columns), subject.threshold), journalist, people)


def release_unicity(subject: Subject) -> dict[str, Any]:
    """Return how many released rows stand alone to whoever knows any few cells, whatever their columns."""
    if subject.form.no_unicity:
        return {"left_out": subject.form.no_unicity}
    hidden = subject.policy.pseudonym_columns
    names = [name for name in subject.released.columns() if name not in hidden]
    if len(names) > UNICITY_COLUMNS:
        return {"left_out": f"it is not counted for more than {UNICITY_COLUMNS} columns at once"}
    try:
        return count_unicity(subject.released, names).to_dict()
    except PolicyError as error:
        return {"left_out": str(error)}


def figures(sizes: IntArray | None, threshold: float = THRESHOLD) -> dict[str, Any] | None:
    """Return the risk figures of groups of these sizes.

    Prosecutor: somebody knows that a person is in the table and looks for the row; one over the group's size.
    Marketer: somebody links all rows and is glad of every right one; the average over rows, groups over rows.

    >>> found = figures(np.array([1, 4, 5]))
    >>> found["highest"], found["average"], found["at_risk"], found["sizes"]
    (1.0, 0.3, 5, {'1': 1, '3-4': 4, '5-9': 5})
    """
    if sizes is None or not len(sizes):
        return None
    rows = int(sizes.sum())
    return {
        "rows": rows,
        "groups": len(sizes),
        "smallest": int(sizes.min()),
        "largest": int(sizes.max()),
        "alone": int((sizes == 1).sum()),
        "highest": 1 / int(sizes.min()),
        "average": len(sizes) / rows,
        "at_risk": int(sizes[1 / sizes > threshold * ALMOST].sum()),
        "sizes": _rows_by_size(sizes),
    }


def _with(
    found: dict[str, Any] | None, journalist: float | None, people: dict[str, Any] | None
) -> dict[str, Any] | None:
    return None if found is None else found | {"journalist": journalist, "people": people}


def _people_before(subject: Subject, columns: Columns) -> dict[str, Any] | None:
    """Return what the groups of the private table are in people; None where nobody has several rows."""
    groups = _groups_before(subject, columns)
    if groups is None or groups.people is None or subject.form.units == "people":
        return None
    exposed = Exposed(groups.sizes_in_people(), groups.people)
    smallest = int(exposed.sizes.min(initial=exposed.records))
    return {"smallest": smallest, "highest": 1 / max(1, smallest), "alone": exposed.alone}


def _people_after(subject: Subject, columns: Columns) -> dict[str, Any] | None:
    """Return what hides people after the release: by pseudonyms it is counted, else the release says how few they are.

    Linked rows are found together, so what people share is all of them.
    """
    if subject.form.units == "people":
        return None  # all figures count people
    if subject.policy.links_rows and PSEUDONYM in subject.released.columns():
        with subject.released.with_profiles(columns, (PSEUDONYM,), PROFILE) as profiled:
            found = figures(profiled.sizes_by((PROFILE,), (PSEUDONYM,)))
        return None if found is None else {name: found[name] for name in ("smallest", "highest", "alone")}
    said = subject.said.people
    if said is None or set(columns) != set(subject.policy.quasi):
        return None
    smallest = said.smallest_group
    return {"smallest": smallest, "highest": 1 / max(1, smallest), "alone": 0 if smallest > 1 else None}


def _journalist(rows: Rows | None, columns: Columns, subject: Subject, population: Any, reading: Any) -> float | None:
    """Return the highest chance of somebody who does not know whether a person is in the table."""
    if rows is None:
        return None
    found = risk(rows, columns, policy=subject.policy, population=population, most=0, **reading).journalist
    return None if found is None else found.highest


def _journalist_of_people(subject: Subject, people: dict[str, Any] | None, population: Any) -> float | None:
    """Return the highest chance of the journalist from the fewest people of a group, which is all that is known.

    Of a population whose size is given the chance falls with the people of a group, so that the smallest group has the
    highest one. Of a table of the population nothing can be said: which rows of the release are of one person is not
    in it.
    """
    said = subject.said.people
    if people is None or said is None or not isinstance(population, int) or population < said.released:
        return None
    sizes = np.array([people["smallest"]])
    fitting = sizes * (population / max(1, said.released))
    found = Exposed(sizes, None, fitting, population, is_estimated=True).journalist(subject.threshold)
    return None if found is None else found.highest


def _sizes_before(subject: Subject, columns: Columns) -> IntArray | None:
    groups = _groups_before(subject, columns)
    if groups is None or subject.form.units == "rows":
        return None if groups is None else groups.sizes
    assert groups.people is not None  # tables are joined by whose rows they are
    _, profile_of = groups.people.by_profile()
    return np.bincount(profile_of).astype(np.int64)


def _sizes_after(subject: Subject, columns: Columns) -> IntArray:
    """Return the sizes of the released groups: in rows, or of profiles in people where there are several tables."""
    if subject.form.units == "people":
        return profile_sizes(subject.tables, subject.policy)
    return subject.released.sizes_by(columns)


def _groups_before(subject: Subject, columns: Columns) -> Groups | None:
    if subject.before is None:
        return None
    wanted = columns if subject.form.generalizes else subject.policy.quasi
    return subject.before.base.only([subject.before.columns.index(name) for name in wanted])[0]


def _identifying(subject: Subject, columns: Columns) -> list[dict[str, Any]] | None:
    """Return the smallest sets of columns by which nearly all rows, or people, of the private table stand alone.

    None where they are not looked for.
    """
    before = subject.before
    if before is None or before.has_absent or len(before.base) > MOST_TUPLES:
        return None
    counted = DistinctRows(before.columns, tuple(len(h.values) for h in before.hierarchies), before.base)
    found = minimal_combinations(counted, NEARLY, MOST_COLUMNS)
    mine = [one for one in found if not subject.form.generalizes or set(one.columns) <= set(columns)]
    return [{"columns": list(one.columns), "alone": one.alone, "share": one.share} for one in mine[:MOST_SETS]]


def _rows_by_size(sizes: IntArray) -> dict[str, int]:
    """Return how many rows stand in groups of each size, in steps that grow."""
    places = np.searchsorted(STEPS, sizes, side="right") - 1
    rows = np.bincount(places, sizes, len(STEPS)).astype(int).tolist()
    return {name: number for name, number in zip(step_names(), rows, strict=True) if number}


def step_names() -> list[str]:
    """Return the names of all bars, smallest groups first."""
    ends = [*STEPS[1:], None]
    return [
        f"{start} or more" if end is None else str(start) if end == start + 1 else f"{start}-{end - 1}"
        for start, end in zip(STEPS, ends, strict=True)
    ]
