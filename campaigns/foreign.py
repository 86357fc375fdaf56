"""The recount of a release from its text, by code that imports nothing of the package: csv, dicts and the papers.

A claim is a plain dict that says what the release should satisfy:

    quasi       column -> {"kind": "listed" | "prefix" | "intervals" | "suppress" | "keep", "chains": …, "least": level}
    sensitive   names of columns; so are ``other`` and ``hidden`` (identifiers and dropped ones)
    sets        the quasi-identifiers: name -> columns
    models      each a dict with "model", its parameters, and perhaps "on" and "column"
    eligible    (column, op, value) …; "codes": column -> texts that mean missing
    limit       rows that may be suppressed, None if the algorithm sets it
    person      the column that says whose row it is, and "row", an other column that tells rows apart
    blanks      cells may be blanked one by one, or whole rows: an empty label then covers every value
    k           of two tables: people who must share each bag of values
"""

from __future__ import annotations

import csv
import io
import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from typing import Any

from campaigns.foreign_models import Group, Row, failing

Claim = dict[str, Any]


def read(text: str, delimiter: str = ",") -> list[Row]:
    """Return the rows of a CSV text; a missing cell is empty."""
    return [dict(row) for row in csv.DictReader(io.StringIO(text, newline=""), delimiter=delimiter)]


def eligible_rows(original: Sequence[Row], claim: Claim) -> list[Row]:
    """Return the rows that may be released at all, with codes that mean missing as empty cells."""
    codes = claim.get("codes", {})
    rows = [{name: "" if cell in codes.get(name, ()) else cell for name, cell in row.items()} for row in original]
    return [row for row in rows if all(_passes(row[column], op, value) for column, op, value in claim["eligible"])]


def _passes(cell: str, op: str, value: Any) -> bool:
    if op in ("present", "missing"):
        return (cell != "") == (op == "present")
    compared: Any = cell
    if isinstance(value, int | float):
        try:
            compared = float(cell)
        except ValueError:
            return False
    if cell == "":
        return False
    tests: dict[str, Callable[[], bool]] = {
        "==": lambda: compared == value,
        "!=": lambda: compared != value,
        "<": lambda: compared < value,
        "<=": lambda: compared <= value,
        ">": lambda: compared > value,
        ">=": lambda: compared >= value,
        "in": lambda: compared in value,
        "not in": lambda: compared not in value,
    }
    return tests[op]()


def covers(label: str, value: str, hierarchy: dict[str, Any], blanks: bool = False) -> bool:
    """Return whether a released label can stand for a value of the table."""
    if label.endswith(" or missing"):
        return value == "" or covers(label.removesuffix(" or missing"), value, hierarchy)
    if label == "":
        return blanks or value == ""
    kind = hierarchy["kind"]
    if kind == "listed":
        top = next(iter(hierarchy["chains"].values()))[-1]
        chain = hierarchy["chains"][value] if value else ["", top]
        if label in chain[hierarchy.get("least", 0) :]:
            return True
    elif label == "*" and kind != "keep":
        return True
    if value == "":
        return False
    if label == value:
        return hierarchy.get("least", 0) == 0
    if label[0] in "[{":
        return _in_range(label, value)
    if kind == "prefix":
        return len(label) == len(value) and all(shown in ("*", true) for shown, true in zip(label, value, strict=True))
    if kind == "intervals" and "-" in label:
        low, high = label.split("-")
        return float(low) <= float(value) <= float(high)
    return False


def _in_range(label: str, value: str) -> bool:
    """Return whether a range of numbers or texts such as [17, 25], or a set such as {a, b}, has a value."""
    ends = label[1:-1].split(", ")
    if label[0] == "{":
        return value in ends
    try:
        return float(ends[0]) <= float(value) <= float(ends[-1])
    except ValueError:
        return ends[0] <= value <= ends[-1]


def judge_one(released: Sequence[Row], original: Sequence[Row], claim: Claim) -> list[str]:
    """Tell everything that is wrong with a release of one table."""
    eligible = eligible_rows(original, claim)
    wanted = {*claim["quasi"], *claim["sensitive"], *claim["other"]}
    if claim.get("pseudonym"):
        wanted.add("pseudonym")
    if not released:
        return ["nothing was released"]
    if set(released[0]) != wanted:
        return [f"columns {sorted(released[0])} instead of {sorted(wanted)}"]
    faults = _count_faults(len(eligible), len(released), claim)
    whose = _people(released, eligible, claim)
    for model in claim["models"]:
        for name, columns in claim["sets"].items():
            if model.get("on") in (None, name):
                groups = _grouped(released, columns, whose, claim)
                if model["model"] == "k-map":
                    number = sum(_fitting(group[0][1], columns, claim) < model["k"] for group in groups)
                else:
                    number = failing(groups, model, claim["sensitive"])
                if number:
                    faults.append(f"{model} fails on {name} in {number} of {len(groups)} groups")
    untrue = len(released) - matched_rows(released, eligible, lambda row, own: _can_be(row, own, claim))
    if untrue:
        faults.append(f"{untrue} released rows generalize no row of their own")
    return faults


def _count_faults(eligible: int, released: int, claim: Claim) -> list[str]:
    faults = []
    if released > eligible:
        faults.append(f"{released} rows of {eligible}")
    if claim["limit"] is not None and eligible - released > claim["limit"]:
        faults.append(f"{eligible - released} rows suppressed, {claim['limit']} allowed")
    return faults


def _people(released: Sequence[Row], eligible: Sequence[Row], claim: Claim) -> list[Any]:
    """Return whose row each released one is; every row is somebody else's if nobody was named."""
    if claim.get("pseudonym"):
        return [row["pseudonym"] for row in released]
    if not claim.get("person"):
        return list(range(len(released)))
    owner = {row[claim["row"]]: row[claim["person"]] for row in eligible}
    return [owner[row[claim["row"]]] for row in released]


def _grouped(released: Sequence[Row], columns: Sequence[str], whose: Sequence[Any], claim: Claim) -> list[Group]:
    """Return the groups: equal labels; of linked rows, people whose rows have the same labels altogether."""
    groups: dict[Any, list[tuple[Any, Row]]] = defaultdict(list)
    if claim.get("pseudonym"):
        rows_of: dict[Any, list[Row]] = defaultdict(list)
        for person, row in zip(whose, released, strict=True):
            rows_of[person].append(row)
        for person, rows in rows_of.items():
            profile = tuple(sorted(tuple(row[column] for column in columns) for row in rows))
            groups[profile] += [(person, row) for row in rows]
    else:
        for person, row in zip(whose, released, strict=True):
            groups[tuple(row[column] for column in columns)].append((person, row))
    return list(groups.values())


def _fitting(row: Row, columns: Sequence[str], claim: Claim) -> int:
    """Count the people of the population whom the labels of a row cover."""
    return sum(
        all(
            covers(row[name], somebody[name], claim["quasi"][name], claim.get("blanks", False))
            for name in columns
            if name in somebody
        )
        for somebody in claim["population"]
    )


def _can_be(row: Row, own: Row, claim: Claim) -> bool:
    """Return whether a released row can be this one of the original."""
    if any(row[name] != own[name] for name in (*claim["sensitive"], *claim["other"])):
        return False
    return all(covers(row[name], own[name], h, claim.get("blanks", False)) for name, h in claim["quasi"].items())


def matched_rows(released: Sequence[Row], original: Sequence[Row], fits: Callable[[Row, Row], bool]) -> int:
    """Return how many released rows can have an original row each, no two the same: augmenting paths."""
    chances = [[place for place, own in enumerate(original) if fits(row, own)] for row in released]
    taken: dict[int, int] = {}

    def place_row(number: int, seen: set[int]) -> bool:
        for place in chances[number]:
            if place not in seen:
                seen.add(place)
                if place not in taken or place_row(taken[place], seen):
                    taken[place] = number
                    return True
        return False

    return sum(place_row(number, set()) for number in range(len(released)))


def judge_two(quasi: Sequence[Row], sensitive: Sequence[Row], original: Sequence[Row], claim: Claim) -> list[str]:
    """Tell everything that is wrong with a release of two tables, joined as an adversary would."""
    eligible = eligible_rows(original, claim)
    if not quasi or not sensitive:
        return ["nothing was released"]
    shown = [*claim["quasi"], *claim["other"]]
    if set(quasi[0]) != {"class_id", *shown} or set(sensitive[0]) != {"class_id", *claim["sensitive"]}:
        return [f"columns {sorted(quasi[0])} and {sorted(sensitive[0])}"]
    faults = _count_faults(len(eligible), len(quasi), claim)
    ours, theirs = _by_class(quasi), _by_class(sensitive)
    if {name: len(rows) for name, rows in ours.items()} != {name: len(rows) for name, rows in theirs.items()}:
        return [*faults, "classes have other numbers of rows in the other table"]
    numbered = [[(f"{name} {place}", row) for place, row in enumerate(rows)] for name, rows in theirs.items()]
    for model in claim["models"]:
        number = failing(numbered, model, claim["sensitive"])
        if number:
            faults.append(f"{model} fails in {number} of {len(numbered)} classes")
    if claim["k"] > 1:
        fewest = _fewest_with_one_bag(quasi, theirs, claim)
        if fewest < claim["k"]:
            faults.append(f"{fewest} people share a bag of values, {claim['k']} should")
    return faults + _untruths(ours, theirs, eligible, shown, claim)


def _by_class(rows: Iterable[Row]) -> dict[str, list[Row]]:
    found: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        found[row["class_id"]].append(row)
    return found


def _fewest_with_one_bag(quasi: Sequence[Row], theirs: dict[str, list[Row]], claim: Claim) -> int:
    """Return the fewest people who are linked to one bag of values: Wong et al. 2007, Definition 1."""
    classes_of: dict[tuple[str, ...], Counter[str]] = defaultdict(Counter)
    for row in quasi:
        classes_of[tuple(row[name] for name in claim["quasi"])][row["class_id"]] += 1
    sharing: Counter[Any] = Counter()
    for classes in classes_of.values():
        bag: Counter[tuple[str, ...]] = Counter()
        for name, times in classes.items():
            for row in theirs[name]:
                bag[tuple(row[column] for column in claim["sensitive"])] += times
        common = math.gcd(*classes.values())
        sharing[frozenset((value, Fraction(rows, common)) for value, rows in bag.items())] += sum(classes.values())
    return min(sharing.values())


def _untruths(ours: Any, theirs: Any, eligible: Sequence[Row], shown: Sequence[str], claim: Claim) -> list[str]:
    """Return whether some class cannot have come from the original, or either table has a row too many."""
    faults = []
    pairs = {(_cells(row, shown), _cells(row, claim["sensitive"])) for row in eligible}
    for name, rows in ours.items():
        found = matched_rows(
            rows, theirs[name], lambda one, two: (_cells(one, shown), _cells(two, claim["sensitive"])) in pairs
        )
        if found < len(rows):
            faults.append(f"class {name}: its values cannot be those of its rows")
    for tables, names in ((ours, shown), (theirs, claim["sensitive"])):
        there = Counter(_cells(row, names) for rows in tables.values() for row in rows)
        if there - Counter(_cells(row, names) for row in eligible):
            faults.append(f"rows over {list(names)} that the original has not")
    return faults


def _cells(row: Row, names: Sequence[str]) -> tuple[str, ...]:
    return tuple(row[name] for name in names)
