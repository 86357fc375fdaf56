"""Every privacy model as its paper defines it, over plain lists and dicts; nothing of the package is imported.

A group is a list of members ``(person, row)``. A row of a table without people is a person of its own, so that one
definition serves both ways of counting.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Any

Row = dict[str, str]
Member = tuple[Any, Row]
Group = Sequence[Member]
NEAR = 1e-9
"""Shares that differ by less are equal, as the documentation says."""


def people(group: Group) -> int:
    """Count the different people of a group."""
    return len({person for person, _ in group})


def having(group: Group, column: str) -> dict[str, int]:
    """Count, for each sensitive value, the people who have it; a missing one is a value like any other."""
    found: dict[str, set[Any]] = defaultdict(set)
    for person, row in group:
        found[row[column]].add(person)
    return {value: len(who) for value, who in found.items()}


def k_anonymity(group: Group, table: Group, model: dict[str, Any], column: str) -> bool:
    """Samarati 2001, Definition 2.2."""
    return people(group) >= model["k"]


def prosecutor_risk(group: Group, table: Group, model: dict[str, Any], column: str) -> bool:
    """El Emam and Dankar 2008."""
    return bool(1 / people(group) <= model["at_most"] + NEAR)


def alpha_k(group: Group, table: Group, model: dict[str, Any], column: str) -> bool:
    """Wong et al. 2006, Definition 2; a table of shares limits only the values that it names."""
    limits, size = model["alpha"], people(group)
    if size < model["k"]:
        return False
    for value, number in having(group, column).items():
        limit = limits.get(value, 1.0) if isinstance(limits, dict) else limits
        if number / size > limit + NEAR:
            return False
    return True


def l_diversity(group: Group, table: Group, model: dict[str, Any], column: str) -> bool:
    """Machanavajjhala et al. 2007, Definitions 4.1 and 4.2."""
    counts = sorted(having(group, column).values(), reverse=True)
    kind, least = model.get("kind", "distinct"), model["l"]
    if kind == "distinct":
        return len(counts) >= least
    if kind == "entropy":
        whole = sum(counts)
        return -sum(number / whole * math.log(number / whole) for number in counts) >= math.log(least) - NEAR
    return counts[0] < model["c"] * sum(counts[least - 1 :])


def p_sensitive(group: Group, table: Group, model: dict[str, Any], column: str) -> bool:
    """Truta and Vinay 2006."""
    return people(group) >= model["k"] and len(having(group, column)) >= model["p"]


def m_invariance(group: Group, table: Group, model: dict[str, Any], column: str) -> bool:
    """Xiao and Tao 2007, Definition 3, as far as one release shows it: no value above a share of 1/m."""
    return max(having(group, column).values()) * model["m"] <= people(group)


def beta_likeness(group: Group, table: Group, model: dict[str, Any], column: str) -> bool:
    """Cao and Karras 2012, Definitions 2 and 3."""
    whole = having(table, column)
    for value, number in having(group, column).items():
        before, after = whole[value] / people(table), number / people(group)
        limit = min(model["beta"], -math.log(before)) if model.get("enhanced") else model["beta"]
        if (after - before) / before > limit + NEAR:
            return False
    return True


def delta_disclosure(group: Group, table: Group, model: dict[str, Any], column: str) -> bool:
    """Brickell and Shmatikov 2008, Definition 1: for every value of the table, strictly."""
    here = having(group, column)
    for value, number in having(table, column).items():
        if value not in here:
            return False
        change = math.log(here[value] / people(group)) - math.log(number / people(table))
        if abs(change) > model["delta"] - 1e-12:
            return False
    return True


def t_closeness(group: Group, table: Group, model: dict[str, Any], column: str) -> bool:
    """Li, Li and Venkatasubramanian 2007, sections 4.1 and 4.2: the earth mover's distance."""
    whole, here = _spread(having(table, column)), _spread(having(group, column))
    kind = model.get("distance", "equal")
    if kind == "equal":
        work = sum(abs(here.get(value, 0.0) - share) for value, share in whole.items()) / 2
    elif kind == "ordered":
        work = _ordered(whole, here)
    else:
        work = _hierarchical(whole, here, model["chains"])
    return work <= model["t"] + NEAR


def _spread(counts: dict[str, int]) -> dict[str, float]:
    whole = sum(counts.values())
    return {value: number / whole for value, number in counts.items()}


def _ordered(whole: dict[str, float], here: dict[str, float]) -> float:
    """Numbers as far apart as their ranks, a missing one last."""
    work = carried = 0.0
    for value in sorted(whole, key=lambda text: (text == "", float(text or 0))):
        carried += here.get(value, 0.0) - whole[value]
        work += abs(carried)
    return work / max(1, len(whole) - 1)


def _hierarchical(whole: dict[str, float], here: dict[str, float], chains: dict[str, list[str]]) -> float:
    """Under each label move what its children have too much to those with too little; it costs level over height."""
    height = len(next(iter(chains.values()))) - 1
    work, below = 0.0, {(value,): here.get(value, 0.0) - whole[value] for value in whole}
    of = {
        (value,): tuple(chains[value]) if value else ("",) * height + (next(iter(chains.values()))[-1],)
        for value in whole
    }
    for level in range(1, height + 1):
        children: dict[tuple[str, ...], list[float]] = defaultdict(list)
        rest: dict[tuple[str, ...], tuple[str, ...]] = {}
        for key, extra in below.items():
            name = (of[key][level],)
            children[name].append(extra)
            rest[name] = of[key]
        for extras in children.values():
            too_much = sum(extra for extra in extras if extra > 0)
            too_little = -sum(extra for extra in extras if extra < 0)
            work += level / height * min(too_much, too_little)
        below, of = {name: sum(extras) for name, extras in children.items()}, rest
    return work


ASKS_NOTHING: dict[str, Callable[[Group, Group, dict[str, Any], str], bool]] = {
    "k-anonymity": k_anonymity,
    "prosecutor-risk": prosecutor_risk,
}
ASKS_VALUES: dict[str, Callable[[Group, Group, dict[str, Any], str], bool]] = {
    "alpha-k": alpha_k,
    "l-diversity": l_diversity,
    "p-sensitive": p_sensitive,
    "m-invariance": m_invariance,
    "beta-likeness": beta_likeness,
    "delta-disclosure": delta_disclosure,
    "t-closeness": t_closeness,
}


def failing(groups: Sequence[Group], model: dict[str, Any], sensitive: Sequence[str]) -> int:
    """Count the groups that fail a model; all of them, where the average over the release is too high."""
    table = [member for group in groups for member in group]
    if model["model"] == "average-risk":
        together = sum(people(group) for group in groups)
        return 0 if len(groups) <= model["at_most"] * together * (1 + NEAR) + NEAR else len(groups)
    if model["model"] in ASKS_NOTHING:
        return sum(not ASKS_NOTHING[model["model"]](group, table, model, "") for group in groups)
    holds = ASKS_VALUES[model["model"]]
    asked = [model["column"]] if model.get("column") else sensitive
    return sum(not all(holds(group, table, model, column) for column in asked) for group in groups)
