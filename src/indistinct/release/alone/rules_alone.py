"""What ``verify.py`` holds a manifest to, statement by statement, with nothing but Python: a part of that program.

It is written independently of ``proof``, and stricter: whatever ``indistinct verify`` refuses without policy and
original is refused here, or said to be undecided. A campaign plants changes in every statement and compares the two.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from datetime import datetime
from itertools import chain
from typing import Any

NEAR = 1e-9  # shares that differ by less are equal: they differ by rounding only
ALL = ("precision", "loss", "ncp", "entropy", "discernibility", "average-group-size", "distinct-tuples")
MEASURES = (*ALL, "accuracy", "completeness", "absolute-distance", "relative-distance")
OF_DRAWN = ("precision", "discernibility", "average-group-size", "distinct-tuples")
KINDS = dict.fromkeys(("lattice", "samarati", "mingen", "datafly", "safepub", "chosen"), "full-domain")
KINDS.update(dict.fromkeys(("mingen-cell", "regroup", "mondrian", "k-similar", "mu-argus", "top-down"), "local"))
KINDS.update({"lossy-join": "two-table", "anatomy": "two-table"})
EXACT = ("lattice", "samarati", "mingen", "mingen-cell")
ABOUT = ("title", "data", "purpose", "recipient", "decided_by", "creator", "license")
OPERATORS = ("==", "!=", "<", "<=", ">", ">=", "in", "not in", "present", "missing")
NOT_PROTECTED = (
    "The quasi-identifiers are published as they are: whoever knows them learns who is in the table. Hidden is only "
    "which sensitive value of a class belongs to whom. Rows of the two tables correspond one to one within a class."
)
Test = Callable[[Any], bool]


# Shapes of values. JSON knows one kind of number; here 10 is no 10.0, and true no 1.


def is_count(said: Any, least: int = 0) -> bool:
    return type(said) is int and least <= said < 1 << 63


def is_float(said: Any) -> bool:
    return type(said) is float and 0 <= said < math.inf


def is_number(said: Any) -> bool:
    return type(said) in (int, float) and math.isfinite(said)


def is_share(said: Any) -> bool:
    return is_number(said) and 0 < said <= 1


def matches(pattern: str) -> Test:
    return lambda said: isinstance(said, str) and re.fullmatch(pattern, said) is not None


def is_list(each: Test) -> Test:
    return lambda said: isinstance(said, list) and all(map(each, said))


def is_dict(each: Test, name: Test | None = None) -> Test:
    return lambda said: isinstance(said, dict) and all(map(each, said.values())) and all(map(name or is_text, said))


def one_of(*words: Any) -> Test:
    return lambda said: any(type(said) is type(word) and said == word for word in words)


def has(needed: dict[str, Test], **optional: Test) -> Test:
    """Return whether something has these names, maybe some of the others, and nothing else."""
    tests = {**needed, **optional}
    return lambda said: (
        isinstance(said, dict) and set(needed) <= set(said) <= set(tests) and all(tests[n](said[n]) for n in said)
    )


def is_text(said: Any) -> bool:
    return isinstance(said, str)


def is_moment(said: Any) -> bool:
    try:
        is_same = said == datetime.fromisoformat(said).isoformat(timespec="seconds")
        return bool(is_same and said.endswith("+00:00"))
    except (TypeError, ValueError):
        return False


def is_flag(said: Any) -> bool:
    return isinstance(said, bool)


PLAIN, DIGEST = matches("[a-z][a-z0-9_-]{0,39}"), matches("[0-9a-f]{64}")
VERSION = matches(r"indistinct \d{1,4}(\.\d{1,4}){0,3}((a|b|rc)\d{1,3})?(\.(post|dev)\d{1,4}){0,2}(\+[a-z0-9.]{1,20})?")
LEVEL: Test = lambda said: is_count(said) or is_text(said)  # noqa: E731
HIERARCHY = {"kind": PLAIN, "levels": is_list(is_text), "sha256": DIGEST}
COLUMN = has(
    {"role": one_of("identifier", "quasi", "sensitive", "other", "drop")},
    rename=is_text,
    hierarchy=has(HIERARCHY, height=is_count),
    weight=lambda said: is_number(said) and 0 < said < 1e9,
    missing=one_of("value", "refuse"),
    min_level=LEVEL,
    max_level=LEVEL,
    recode=has({**HIERARCHY, "level": LEVEL}, height=is_count),
    missing_codes=lambda said: type(said) is int and said > 0,
    unreadable=one_of("missing", "suppress"),
)
POSITIVE: Test = lambda said: is_number(said) and said > 0  # noqa: E731
WHOLE: Test = lambda said: type(said) is int and said >= 1  # noqa: E731
PLACE = {"on": is_text, "column": is_text}
SHARES = is_list(is_share)
MODELS: dict[str, Test] = {
    "k-anonymity": has({"k": WHOLE}, on=is_text, known=WHOLE),
    "alpha-k": has({"alpha": lambda said: is_share(said) or (SHARES(said) and bool(said)), "k": WHOLE}, **PLACE),
    "l-diversity": has({"l": WHOLE}, kind=one_of("entropy", "recursive"), c=POSITIVE, **PLACE),
    "t-closeness": has({"t": is_share}, distance=one_of("ordered", "hierarchical"), **PLACE),
    "beta-likeness": has({"beta": POSITIVE}, enhanced=is_flag, **PLACE),
    "delta-disclosure": has({"delta": POSITIVE}, **PLACE),
    "p-sensitive": has({"p": WHOLE, "k": WHOLE}, **PLACE),
    "m-invariance": has({"m": lambda said: type(said) is int and said >= 2}, **PLACE),
    "prosecutor-risk": has({"at_most": is_share}, on=is_text),
    "average-risk": has({"at_most": is_share}, on=is_text),
}
ASK_VALUES = tuple(name for name in MODELS if name not in ("k-anonymity", "prosecutor-risk", "average-risk"))
CELLS = ("ncp", "loss", "precision", "entropy")
RAISE: Test = lambda said: is_number(said) and 0 <= said <= 0.5  # noqa: E731
OPTIONS: dict[str, dict[str, Test]] = {  # those that are simple; a release with others is undecided
    "lattice": {"measure": one_of(*MEASURES)},
    "regroup": {"measure": one_of(*CELLS), "random_raise": RAISE, "effort": is_count},
    "mondrian": {"random_raise": RAISE, "strict": is_flag, "choose": one_of("loss", "widest")},
    "k-similar": {"random_raise": RAISE, "measure": one_of(*CELLS), "program_size": is_count},
    "top-down": {"tighten": is_flag},
    "chosen": {"node": is_dict(is_count)},
    "applied": {"recoding": PLAIN},
}
COUNTS, NUMBERS = is_dict(is_count), is_dict(is_float)
STATEMENTS = has(
    {
        "format": one_of(3),
        "made_by": VERSION,
        "made_at": is_moment,
        "form": one_of("one table", "two tables"),
        **dict.fromkeys(("eligible", "released", "suppressed", "groups", "smallest_group"), is_count),
        "tables": is_dict(has({"columns": is_list(is_text)}, delimiter=lambda said: is_text(said) and len(said) == 1)),
        "heights": COUNTS,
        "measures": is_dict(is_float, PLAIN),
        "algorithm": PLAIN,
        "options": lambda said: isinstance(said, dict),
        "search": has({"blind": is_flag, "randomised": is_flag}),
        "policy_sha256": DIGEST,
        "policy": has(
            {
                "columns": is_dict(COLUMN),
                "quasi_identifiers": is_dict(is_list(is_text)),
                "privacy": is_list(lambda said: isinstance(said, dict)),
                "suppressed_rows": one_of("remove", "blank"),
                "eligible": is_list(has({"column": is_text, "op": one_of(*OPERATORS)})),
                "algorithm": PLAIN,
            },
            max_suppression=lambda said: is_count(said) or (is_float(said) and said <= 1),
            one_row_per_person=one_of(True),
        ),
        "verdict": has(
            {
                "passed": one_of(True),
                **dict.fromkeys(("rows", "groups", "smallest_group"), is_count),
                "checks": is_list(has({"id": is_text, "passed": one_of(True), "numbers": is_dict(lambda _: True)})),
            },
            known=is_list(lambda said: isinstance(said, dict)),
        ),
        "files": is_dict(DIGEST),
    },
    about=lambda said: is_dict(is_text, one_of(*ABOUT))(said) and bool(said),
    link=one_of("class_id"),
    not_protected=is_text,
    node=COUNTS,
    level_names=is_dict(is_text),
    mean_levels=NUMBERS,
    start_node=COUNTS,
    unreadable=COUNTS,
    is_proven=is_flag,
    gap=lambda said: is_float(said) and said <= 1,
    bound=lambda said: is_dict(lambda one: is_float(one) and one <= 1, PLAIN)(said) and len(said) == 1,
    is_cut_short=one_of(True),
    limits=lambda said: has({}, max_tuples=is_count, time_limit=lambda s: is_number(s) and s >= 0)(said) and bool(said),
    ledger_head=DIGEST,
    based=one_of(True),
    verifier=DIGEST,
)
BEYOND = ("person", "tables")  # of a policy: whose rows they are, and several tables
CHANGED = ("pseudonym", "shift", "microaggregate", "noise")  # of a column


def read_manifest(text: str) -> Any:
    """Read a manifest; a name that stands there twice, or a number that is none, means two things to two readers."""

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        if len(dict(pairs)) < len(pairs):
            raise ValueError("a name occurs twice")
        return dict(pairs)

    def finite(number: str) -> float:
        if not math.isfinite(float(number)):
            raise ValueError("a number is none")
        return float(number)

    def none(_: str) -> float:
        raise ValueError("a number is none")

    return json.loads(text, object_pairs_hook=once, parse_float=finite, parse_constant=none)


def why_undecided(said: dict[str, Any]) -> str | None:
    """Return what of a manifest is beyond this program, if anything; its cells are recounted all the same."""
    policy = said["policy"]
    columns = policy.get("columns") or {}
    if any(name in policy for name in BEYOND) or "people" in said or "pseudonym_salt" in said:
        return "whose rows they are"
    if any(name in one for one in columns.values() for name in CHANGED) or "dates_moved" in said:
        return "cells that moved or were perturbed"
    if "drawn" in said or any(terms["model"] not in MODELS for terms in policy["privacy"]):
        return "a model that needs more than its cells"
    if said["algorithm"] not in KINDS or not set(said["options"]) <= set(OPTIONS.get(said["algorithm"], ())):
        return "its algorithm, or options of it"
    return None


def wrong_statements(said: dict[str, Any], found: dict[str, Any]) -> list[str]:
    """Return which statements cannot stand beside what was counted and the other statements."""
    if not STATEMENTS(said):
        return ["its shape"]
    policy = said["policy"]
    if not is_policy(policy):
        return ["policy"]
    columns, apart = policy["columns"], said["form"] == "two tables"
    quasi = {name: one for name, one in columns.items() if one["role"] == "quasi"}
    blank = said["suppressed"] if policy["suppressed_rows"] == "blank" and not apart else 0
    sizes = sorted(found["sizes"])
    if blank and blank in sizes:
        sizes.remove(blank)
    levels, raised = said.get("node", said.get("mean_levels")), bool(said["options"].get("random_raise"))

    def fits(stated: Any) -> bool:
        return set(stated) == set(quasi) == set(said["heights"]) and all(
            stated[name] <= said["heights"][name] for name in stated
        )

    known = [terms for terms in policy["privacy"] if terms["model"] in ASK_VALUES]
    kind = KINDS[said["algorithm"]]
    draws = said["algorithm"] == "anatomy" or raised
    wrong = {
        "eligible": said["eligible"] != said["released"] + said["suppressed"],
        "released": said["released"] != found["rows"] - blank,
        "groups": said["groups"] != len(sizes),
        "smallest_group": said["smallest_group"] != min(sizes, default=found["rows"]),
        "tables": not are_tables(said, columns, apart),
        "link": ("link" in said) != apart,
        "not_protected": said.get("not_protected") != (not_protected(columns, known) if apart else None),
        "heights": set(said["heights"]) != set(quasi)
        or any(highest(one) not in (None, said["heights"].get(name)) for name, one in quasi.items()),
        "levels": ("node" in said) == ("mean_levels" in said) or not fits(levels),
        "start_node": "start_node" in said
        and not (
            "max_tuples" in said.get("limits", {}) and any(said["start_node"].values()) and fits(said["start_node"])
        ),
        "unreadable": "unreadable" in said
        and not (said["unreadable"] and all("unreadable" in columns.get(name, {}) for name in said["unreadable"])),
        "is_proven": "is_proven" not in said and said["algorithm"] in EXACT,
        "gap": not is_gap(said, raised),
        "is_cut_short": "is_cut_short" in said and ("is_proven" in said or raised),
        "algorithm": (kind == "two-table" and not apart)
        or (kind == "full-domain" and (apart or not ("node" in said or "ledger_head" in said)))
        or (kind == "local" and not apart and "node" in said),
        "options": not all(OPTIONS[said["algorithm"]][name](one) for name, one in said["options"].items()),
        "based": "based" in said and "ledger_head" not in said,
        "search": (said["search"]["blind"] == bool(known) and (bool(known) or "ledger_head" not in said))
        or said["search"]["randomised"] != draws,
    }
    named = [name for name, is_wrong in wrong.items() if is_wrong]
    if named:
        return named
    if said["algorithm"] == "chosen" and any(
        said["options"].get("node", {}).get(name, level) != level for name, level in said.get("node", {}).items()
    ):
        named.append("options")
    if not are_called(said, quasi, apart):
        named.append("level_names")
    if not are_measures(said, quasi, levels, sizes, raised):
        named.append("measures")
    if not is_verdict(said, found):
        named.append("verdict")
    return named


def is_policy(policy: dict[str, Any]) -> bool:
    """Return whether columns, quasi-identifiers, filters and models of a policy go together."""
    columns, sets = policy["columns"], policy["quasi_identifiers"]
    quasi = [name for name, one in columns.items() if one["role"] == "quasi"]
    lower = [name.lower() for name, one in columns.items() if one["role"] != "drop"]
    new = [one["rename"] for one in columns.values() if "rename" in one]
    for name, one in columns.items():
        own = [part for part in (one.get("hierarchy"), one.get("recode")) if part is not None]
        if any(len(part["levels"]) != (part["height"] + 1 if "height" in part else 0) for part in own):
            return False
        if name in quasi and not all(part in one for part in ("hierarchy", "weight", "missing")):
            return False
        if "rename" in one and one["role"] not in ("quasi", "sensitive", "other"):
            return False
    for name in new:
        if not name.strip() or name != name.strip() or not name.isprintable() or name[0] in "._":
            return False
        if name.lower() in (*lower, "pseudonym", "class_id") or [one.lower() for one in new].count(name.lower()) > 1:
            return False
    named = list(chain.from_iterable(sets.values()))
    if not sets or set(named) != set(quasi) or any(not one or len(set(one)) < len(one) for one in sets.values()):
        return False
    if not policy["privacy"] or any(one["column"] not in columns for one in policy["eligible"]):
        return False
    for terms in policy["privacy"]:
        rest = {name: value for name, value in terms.items() if name != "model"}
        is_asked = terms["model"] not in ASK_VALUES or any(one["role"] == "sensitive" for one in columns.values())
        if not MODELS[terms["model"]](rest) or not is_asked or ("c" in rest) != (rest.get("kind") == "recursive"):
            return False
        column = columns.get(rest["column"], {}) if "column" in rest else {"role": "sensitive"}
        if column.get("role") != "sensitive" or rest.get("on", next(iter(sets))) not in sets:
            return False
    return True


def are_tables(said: dict[str, Any], columns: dict[str, Any], apart: bool) -> bool:
    new = {name: one.get("rename", name) for name, one in columns.items()}
    roles = {role: [new[n] for n, one in columns.items() if one["role"] == role] for role in ROLES_OF_CELLS}
    expected = {"table": list(chain.from_iterable(roles.values()))}
    if apart:
        expected = {"quasi": ["class_id", *roles["quasi"], *roles["other"]]}
        expected["sensitive"] = ["class_id", *roles["sensitive"]]
    files = {name.rpartition(".")[0]: name.rpartition(".")[2] for name in said["files"]}
    is_text = {name: suffix in ("csv", "tsv", "txt") for name, suffix in files.items()}
    return (
        set(files) == set(expected) == set(said["tables"])
        and len(files) == len(said["files"])
        and all(
            sorted(one["columns"]) == sorted(expected[name]) and ("delimiter" in one) == is_text[name]
            for name, one in said["tables"].items()
        )
    )


ROLES_OF_CELLS = ("quasi", "sensitive", "other")


def asked_columns(columns: dict[str, Any], known: list[dict[str, Any]]) -> list[str]:
    sensitive = [name for name, one in columns.items() if one["role"] == "sensitive"]
    asked = {name for terms in known for name in ([terms["column"]] if "column" in terms else sensitive)}
    return [name for name in sensitive if name in asked]


def not_protected(columns: dict[str, Any], known: list[dict[str, Any]]) -> str:
    asked = asked_columns(columns, known)
    rest = [name for name, one in columns.items() if one["role"] == "sensitive" and name not in asked]
    names = ", ".join(map(repr, rest))
    more = f" No model asks about {names}: all people of a class may have the same value there."
    return NOT_PROTECTED + (more if rest else "")


def highest(column: dict[str, Any]) -> int | None:
    """Return the level at which a column ends; None if that follows from its values, -1 if it has no such level."""
    hierarchy = column["hierarchy"]
    if "height" not in hierarchy:
        return None
    end = column.get("max_level", hierarchy["height"])
    if end in hierarchy["levels"]:
        return int(hierarchy["levels"].index(end))
    return end if type(end) is int and end < len(hierarchy["levels"]) else -1


def is_gap(said: dict[str, Any], raised: bool) -> bool:
    gap, bound = said.get("gap"), said.get("bound")
    if "is_proven" in said:
        fits = bool(said["is_proven"] == (gap == 0))
    else:
        fits = bound is None if gap is None else bound is not None and not raised
    if bound is None or not fits:
        return fits
    ((name, least),) = bound.items()
    if "node" in said or raised:
        return False
    if name not in CELLS or name not in said["measures"]:
        return True
    loss = 1.0 - said["measures"][name] if name == "precision" else said["measures"][name]
    return gap is not None and abs(max(0.0, loss - least) - gap) <= NEAR and least <= loss + NEAR


def are_called(said: dict[str, Any], quasi: dict[str, Any], apart: bool) -> bool:
    """Return whether levels have the names of their hierarchies."""
    if apart or "node" not in said:
        return "level_names" not in said
    names = said.get("level_names", {})
    if set(names) != set(quasi):
        return False
    for name, one in quasi.items():
        level, called, hierarchy = said["node"][name], names[name], one["hierarchy"]
        if "height" in hierarchy:
            if level >= len(hierarchy["levels"]) or called != hierarchy["levels"][level]:
                return False
        elif hierarchy["kind"] == "prefix":
            left = said["heights"][name] - level
            lengths = [f"{kept:,} character{'s' * (kept != 1)}" for kept in (left, left + 1) if kept]
            if level == 0 or "max_level" in one:
                pattern = "value" if level == 0 else r"[\d,]+ characters?|suppressed"
                if not re.fullmatch(pattern, called):
                    return False
            elif called not in lengths and not (called == "suppressed" and not left):
                return False
    return True


def are_measures(said: dict[str, Any], quasi: dict[str, Any], levels: Any, sizes: list[int], raised: bool) -> bool:
    """Return whether all measures are stated that must be, and those are right that follow from other statements."""
    stated, rows, released = said["measures"], said["released"] + said["suppressed"], sum(sizes)
    if {name for name in stated if name in MEASURES} != set(OF_DRAWN if raised else MEASURES):
        return False
    if any(stated.get(name, 0) > 1 for name in ("accuracy", "completeness", *CELLS)):
        return False
    heights, weights = said["heights"], {name: one["weight"] for name, one in quasi.items()}
    kept = math.fsum(weights[n] * released * (1.0 - min(levels[n] / max(1, heights[n]), 1.0)) for n in quasi)
    whole = math.fsum(weights[name] * float(rows) for name in quasi)
    total = math.fsum(weights.values())
    relative = math.fsum(weights[n] / (total or 1.0) / heights[n] * levels[n] for n in quasi if heights[n])
    climbed = math.fsum(levels[n] for n in quasi if heights[n]) / max(1, sum(heights.values()))

    def clip(share: float) -> float:
        return min(1.0, max(0.0, share))

    figures = {
        "precision": 1.0 - clip(1.0 - kept / whole) if whole > 0 else 1.0,
        "discernibility": float(sum(size * size for size in sizes)) + float(rows - released) * rows,
        "average-group-size": released / max(1, len(sizes)),
        "distinct-tuples": float(len(sizes)),
        "completeness": released / max(1, rows),
        "absolute-distance": math.fsum(levels.values()),
        "accuracy": 1.0 - clip(climbed),
        "relative-distance": clip(relative) * total,
    }
    return all(
        abs(stated[name] - figure) <= NEAR * max(1.0, abs(figure)) for name, figure in figures.items() if name in stated
    )


def as_text(said: Any) -> str:
    return json.dumps(said, sort_keys=True)


def is_verdict(said: dict[str, Any], found: dict[str, Any]) -> bool:
    """Return whether the verdict has exactly the checks that a recount makes, with their numbers, in their order."""
    policy, verdict = said["policy"], said["verdict"]
    columns, apart = policy["columns"], said["form"] == "two tables"
    numbers: list[tuple[str, dict[str, Any]]] = []
    if apart:
        for name in sorted(said["tables"]):
            numbers.append(("cells.columns", {"table": name, "columns": len(said["tables"][name]["columns"])}))
        numbers.append(("classes.sizes", {"classes": len(found["sizes"])}))
        new = {one.get("rename", name): name for name, one in columns.items()}
        names = [new.get(name, name) for table in sorted(said["tables"]) for name in said["tables"][table]["columns"]]
        coded = [name for name in names if columns.get(name, {}).get("missing_codes")]
    else:
        numbers.append(("cells.columns", {"columns": len(said["tables"]["table"]["columns"])}))
        for name, one in columns.items():
            level = one["recode"]["level"] if "recode" in one else one.get("min_level")
            if level is not None:
                numbers.append(("cells.level", {"column": name, "level": level, "finer": 0}))
        free = [name for role in ("sensitive", "other") for name, one in columns.items() if one["role"] == role]
        coded = [name for name in columns if name in free and columns[name].get("missing_codes")]
    numbers += [("cells.codes", {"column": name, "cells": 0}) for name in coded]
    places = {"the classes": []} if apart else policy["quasi_identifiers"]
    for where, quasi in places.items():
        for terms in policy["privacy"]:
            own = {name: value for name, value in terms.items() if name not in ("model", "on")}
            least = own.get("known", len(quasi))
            told: dict[str, Any] = {"terms": own, "on": where}
            if not apart and terms.get("on") not in (None, where):
                continue
            if least < len(quasi):
                told.update(found["known"](quasi, least), unit="row")
            else:
                sizes = found["sizes"] if apart else found["by"](quasi)
                told.update(groups=len(sizes), noun="class" if apart else "group", unit="row", smallest=min(sizes))
            numbers.append((f"model.{terms['model']}", told))
    if apart and found["k"] > 1:
        numbers.append(("classes.join", {"k": found["k"], "linked": found["linked"]}))
    removed = apart or policy["suppressed_rows"] == "remove"
    limit, rows = policy.get("max_suppression"), found["rows"] + said["suppressed"] * removed
    if limit is not None:
        allowed = int(limit * rows + NEAR) if isinstance(limit, float) else min(limit, rows)
        numbers.append(("suppression.limit", {"suppressed": said["suppressed"], "rows": rows, "allowed": allowed}))
    known = [{n: one[n] for n in ("on", "known", "columns", "sets", "smallest")} for _, one in numbers if "sets" in one]
    counted = (found["rows"], len(found["sizes"]), min(found["sizes"], default=found["rows"]))
    return (
        (verdict["rows"], verdict["groups"], verdict["smallest_group"]) == counted
        and as_text(verdict.get("known", [])) == as_text(known)
        and verdict.get("known") != []
        and as_text(verdict["checks"]) == as_text([{"id": i, "passed": True, "numbers": own} for i, own in numbers])
    )
