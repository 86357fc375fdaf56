"""What a manifest states, field by field: equal to what its reader computes, possible by a rule, or not checked.

A manifest is read by whoever gets the release, so it may say nothing that nobody looks at. Its shape is refused when it
is read; here each statement is held against the tables, the policy and the other statements. What is left out misleads
as a false word does: each rule also says when a statement must stand there, and when it may not.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from indistinct.counting import IntArray
from indistinct.engine.formats import format_of
from indistinct.errors import IndistinctError
from indistinct.policy import Policy
from indistinct.policy.algorithms import DECLARATIONS, Declaration, declare, declared_class, options_of
from indistinct.policy.stated_policy import StatedColumn, StatedPolicy, as_text, is_plain, policy_digest
from indistinct.privacy import DifferentialPrivacy
from indistinct.proof.checks import Check, NotChecked, Recount
from indistinct.proof.stated_measures import (
    FROM_ORIGINAL,
    FROM_STATEMENTS,
    SHARES,
    STATED_OF_DRAWN,
    bound_fits,
    measures_from_statements,
    mistaken_measures,
    without_blank,
)
from indistinct.proof.stated_verdict import states_recount
from indistinct.recoding.classes import not_protected
from indistinct.release.manifest import Facts, Manifest, StatedPeople, who_checks
from indistinct.showing.words import counted

CHARACTERS = re.compile(r"[\d,]+ characters?|suppressed")
"""What levels of leading characters are called."""
TEXT = "csv"
"""The kind of files that state a delimiter."""
CHOSEN, APPLIED = "chosen", "applied"
"""The algorithms that are given the levels, and the groups of an earlier release, which may have had a target."""
RANDOM_RAISE, TARGET = "random_raise", "target"
"""The options with which an algorithm raises labels by chance, and with which it looks at a sensitive column."""


@dataclass(frozen=True, slots=True, eq=False)
class AtHand:
    """What the reader of a manifest knows beside it."""

    policy: Policy
    found: Recount
    checks: Sequence[Check]
    """The recount of the released cells, as whoever made the release made it."""
    is_stated: bool
    """The policy is no other than the one that the manifest states."""
    is_of_policy: bool
    """The release was made for the policy, as it says."""

    @property
    def compares_policy(self) -> bool:
        """What follows from a policy may be compared: it is the one that the release was made for."""
        return self.is_stated or self.is_of_policy

    def sizes(self, stated: Manifest) -> IntArray:
        """Return the sizes of the released groups; suppressed rows that were left blank are none."""
        return without_blank(self.found.sizes, self.blank_rows(stated))

    def blank_rows(self, stated: Manifest) -> int:
        """Return how many rows were suppressed and left blank."""
        is_blank = stated.shape.blanks and self.policy.suppressed_rows == "blank"
        return stated.suppressed if is_blank else 0

    def columns(self, stated: Manifest) -> Mapping[str, StatedColumn]:
        """Return the columns as a manifest states them: those of the policy, or its own where there is no other."""
        return stated.policy.all_columns if self.is_stated else StatedPolicy.of(self.policy).all_columns


def manifest_check(
    stated: Manifest, policy: Policy, found: Recount, checks: Sequence[Check], *, is_stated: bool = False
) -> Check:
    """Check every statement of a manifest against the tables, the policy, and the recount of its cells.

    ``is_stated`` says that the policy is no other than the one that the manifest states.
    """
    known = AtHand(policy, found, checks, is_stated, stated.policy_sha256 == policy_digest(policy))
    wrong = [name for name, rule in RULES.items() if not rule(stated, known)]
    return Check("manifest.statements", not wrong, {"wrong": wrong} if wrong else {})


def unchecked_statements(stated: Manifest, *, has_original: bool, is_measured: bool) -> list[NotChecked]:
    """Return what a manifest states that was not checked; ``is_measured`` if measures were compared with cells."""
    measured = (*FROM_STATEMENTS, *(FROM_ORIGINAL if is_measured else ())) if stated.shape.is_measured_anew else ()
    checked = {"suppressed", "node", "unreadable"} if has_original else set()
    checked |= {"mean_levels"} if is_measured else set()
    names = [
        name
        for name in Manifest.model_fields
        if who_checks(name).unchecked and getattr(stated, name) is not None and name not in checked
    ]
    figures = [name for name in stated.measures if name not in measured]
    own = [name for name in figures if name in (*FROM_STATEMENTS, *FROM_ORIGINAL)]
    numbers = {"statements": names, "measures": own, "other_measures": len(figures) - len(own)}
    return [NotChecked("manifest.statements", numbers)] if names or figures else []


# The rules, one for each statement: whether it can stand there beside what is known.


def _released_rows(stated: Manifest, known: AtHand) -> bool:
    return stated.released == known.found.rows - known.blank_rows(stated)


def _smallest_group(stated: Manifest, known: AtHand) -> bool:
    most = known.found.rows if known.found.people is None else known.found.people
    return stated.smallest_group == int(known.sizes(stated).min(initial=most))


def _people(stated: Manifest, known: AtHand) -> bool:
    people = stated.people
    if people is None or not known.policy.person_columns:
        return people is None and not known.policy.person_columns
    if (people.smallest_profile is not None) is not known.policy.links_rows:
        return False
    lost = people.eligible - people.released
    if not 0 <= lost == people.lost_all_rows <= people.lost_rows <= min(people.eligible, stated.suppressed):
        return False
    return _linked_people(stated, people, known) if known.found.people is not None else _people_of_rows(stated, people)


def _people_of_rows(stated: Manifest, people: StatedPeople) -> bool:
    return (
        people.released <= stated.released
        and 0 < people.smallest_group <= min(stated.smallest_group, people.released)
        and (people.smallest_profile is None or 0 < people.smallest_profile <= people.released)
    )


def _linked_people(stated: Manifest, people: StatedPeople, known: AtHand) -> bool:
    """Groups of several tables are profiles, counted in people."""
    is_counted = people.released == known.found.people
    return is_counted and people.smallest_profile == stated.smallest_group <= people.smallest_group <= people.released


def _tables(stated: Manifest, known: AtHand) -> bool:
    """The tables have the columns of the policy, a delimiter if they are text, and if linked, numbers that add up."""
    is_text = {Path(name).stem: format_of(Path(name)).kind == TEXT for name in stated.files}
    if not stated.shape.takes(is_text):
        is_text = {stated.shape.first: any(is_text.values())}  # one table, under a name that another check refuses
    if stated.tables.keys() != is_text.keys():
        return False
    if any((one.delimiter is not None) is not is_text[name] for name, one in stated.tables.items()):
        return False
    counts = [(one.eligible, one.released, one.suppressed) for one in stated.tables.values()]
    if known.found.rows_of is None:
        has_rows = all(count == (None, None, None) for count in counts)
    else:
        whole = (stated.eligible, stated.released, stated.suppressed)
        told = [(e, r, s) for e, r, s in counts if e is not None and r is not None and s is not None and e == r + s]
        has_rows = len(told) == len(counts) and tuple(map(sum, zip(*told, strict=True))) == whole
        has_rows = has_rows and {name: one.released for name, one in stated.tables.items()} == known.found.rows_of
    return has_rows and (not known.compares_policy or _has_columns(stated, known.policy))


def _has_columns(stated: Manifest, policy: Policy) -> bool:
    """Return whether the columns of each table are those that the policy releases there, under their new names."""
    expected = stated.shape.columns_of(policy)
    return stated.tables.keys() == expected.keys() and all(
        sorted(policy.renamed_in(table).get(name, name) for name in expected[table]) == sorted(one.columns)
        for table, one in stated.tables.items()
    )


def _not_protected(stated: Manifest, known: AtHand) -> bool:
    if stated.shape.generalizes or not known.compares_policy:
        return (stated.not_protected is None) is stated.shape.generalizes
    return stated.not_protected == not_protected(known.policy)


def _is_of_columns(levels: Mapping[str, float], stated: Manifest, known: AtHand) -> bool:
    """Return whether levels are stated of just the quasi columns, none beyond its height."""
    names = set(known.policy.quasi)
    is_whole = levels.keys() == names == stated.heights.keys()
    return is_whole and all(level <= stated.heights[name] for name, level in levels.items())


def _node(stated: Manifest, known: AtHand) -> bool:
    return stated.node is None or _is_of_columns(stated.node, stated, known)


def _mean_levels(stated: Manifest, known: AtHand) -> bool:
    if stated.mean_levels is None or stated.node is not None:
        return (stated.mean_levels is None) is (stated.node is not None)
    return _is_of_columns(stated.mean_levels, stated, known)


def _start_node(stated: Manifest, known: AtHand) -> bool:
    """A table is counted above its values only where a limit of tuples demands it."""
    if stated.start_node is None:
        return True
    has_limit = stated.limits is not None and stated.limits.max_tuples is not None
    return has_limit and any(stated.start_node.values()) and _is_of_columns(stated.start_node, stated, known)


def _heights(stated: Manifest, known: AtHand) -> bool:
    if stated.heights.keys() != set(known.policy.quasi):
        return False
    if not known.compares_policy:
        return True
    columns = known.columns(stated)
    ends = {name: highest_level(columns[name]) for name in known.policy.quasi}
    return all(end == FROM_VALUES or stated.heights[name] == end for name, end in ends.items())


FROM_VALUES = "from values"
"""The height of a hierarchy that follows from the values."""


def highest_level(column: StatedColumn) -> int | str | None:
    """Return the number of the level at which a column ends; None if it names one that its hierarchy does not have."""
    hierarchy = column.hierarchy
    assert hierarchy is not None  # quasi columns have one
    if hierarchy.height is None:
        return FROM_VALUES
    highest = hierarchy.height if column.max_level is None else column.max_level
    if highest in hierarchy.levels:
        return hierarchy.levels.index(str(highest))
    return highest if highest in range(len(hierarchy.levels)) else None


def _level_names(stated: Manifest, known: AtHand) -> bool:
    is_needed = stated.shape.generalizes and stated.node is not None
    if stated.level_names is None or not is_needed:
        return stated.level_names is None and not is_needed
    if stated.level_names.keys() != set(known.policy.quasi) or not _node(stated, known):
        return False
    if not known.compares_policy:
        return True
    columns = known.columns(stated)
    return all(is_level_called(stated, name, columns[name]) for name in known.policy.quasi)


def is_level_called(stated: Facts, name: str, column: StatedColumn) -> bool:
    """Return whether the level of a column has the name that its hierarchy gives it.

    Where levels keep leading characters, the longest value has one for each level; the last level may be no top.
    """
    assert stated.level_names is not None
    assert stated.node is not None
    assert column.hierarchy is not None
    called, level = stated.level_names[name], stated.node[name]
    if column.hierarchy.height is not None:
        return level < len(column.hierarchy.levels) and called == column.hierarchy.levels[level]
    if column.hierarchy.kind != "prefix":
        return True
    if level == 0 or column.max_level is not None:  # where levels end earlier, nothing says how long values are
        return called == "value" if level == 0 else CHARACTERS.fullmatch(called) is not None
    left = stated.heights[name] - level
    return called in [counted(kept, "character") for kept in (left, left + 1) if kept] or (
        called == "suppressed" and not left
    )


def _unreadable(stated: Manifest, known: AtHand) -> bool:
    if stated.unreadable is None:
        return True
    allowed = {name for name, column in known.policy.columns.items() if column.unreadable != "refuse"}
    allowed |= {name for name, column in stated.policy.all_columns.items() if column.unreadable is not None}
    return bool(stated.unreadable) and stated.unreadable.keys() <= allowed


def _perturbations(stated: Manifest, known: AtHand) -> bool:
    said = {name: one.to_dict() for name, one in (stated.perturbations or {}).items()}
    return stated.perturbations != {} and as_text(said) == as_text(known.policy.describe_perturbations())


def _dates_moved(stated: Manifest, known: AtHand) -> bool:
    """Dates move by what the policy declares, or the one that the manifest states, of which a policy has no shifts."""
    days = {shift.days for shift in known.policy.shifted.values()}
    days |= {column.shift.days for column in stated.policy.all_columns.values() if column.shift is not None}
    return not days if stated.dates_moved is None else stated.dates_moved.days in days


def _drawn_rows(stated: Manifest, known: AtHand) -> bool:
    """Rows are drawn if the policy asks for it, as it says, among as many candidates as there can be."""
    if not known.compares_policy:
        return True
    k = max(model.least_rows for model in known.policy.privacy)
    asked = [model.expenses() | {"k": k} for model in known.policy.privacy if isinstance(model, DifferentialPrivacy)]
    if stated.drawn is None or not asked:
        return stated.drawn is None and not asked
    nodes = math.prod(height + 1 for height in stated.heights.values())
    own = asked[0] | {"candidates": stated.drawn.candidates}
    return as_text(stated.drawn.to_dict()) == as_text(own) and 0 < stated.drawn.candidates <= nodes


def _histories(stated: Manifest, known: AtHand) -> bool:
    """Events are dropped if the policy says that others know some, no more of them than rows are suppressed."""
    said, knows = stated.histories, known.policy.knows
    if said is None or knows is None:
        return said is None and (knows is None or not known.compares_policy)
    return said.together == knows.together and said.dropped <= min(said.events, stated.suppressed)


def _is_raised(stated: Facts) -> bool:
    """Return whether the options say that labels are raised by chance."""
    return bool(stated.options.get(RANDOM_RAISE))


def _measures(stated: Manifest, known: AtHand) -> bool:
    """Each release states all measures of ours, or those alone that say nothing of its draws; none is impossible."""
    own = {name for name in (*FROM_STATEMENTS, *FROM_ORIGINAL) if name in stated.measures}
    is_drawn = stated.drawn is not None or _is_raised(stated)
    needed = set(STATED_OF_DRAWN if is_drawn else (*FROM_STATEMENTS, *FROM_ORIGINAL))
    if own != needed or any(stated.measures.get(name, 0) > 1 for name in SHARES):
        return False
    is_followed = known.compares_policy and stated.shape.is_measured_anew
    if not is_followed or not (_heights(stated, known) and _node(stated, known) and _mean_levels(stated, known)):
        return True  # the levels are said to be wrong already
    return not mistaken_measures(stated.measures, measures_from_statements(stated, known.policy, known.found.sizes))


def _is_proven(stated: Manifest, _: AtHand) -> bool:
    """An algorithm of ours that promises an optimum says whether it found one."""
    if stated.histories is not None:
        return stated.is_proven is None
    return stated.is_proven is not None or not _own_declaration(stated, "is_exact")


def _gap(stated: Manifest, _: AtHand) -> bool:
    """What is proven has no gap; and what chance raised says nothing of one."""
    if stated.is_proven is not None:
        return stated.is_proven is (stated.gap == 0)
    return stated.bound is None if stated.gap is None else stated.bound is not None and not _is_raised(stated)


def _lower_bound(stated: Manifest, _: AtHand) -> bool:
    """Only cells that climb one by one have a bound; the loss that is stated lies above it by the gap."""
    if stated.bound is None:
        return True
    return stated.node is None and stated.shape.is_measured_anew and not _is_raised(stated) and bound_fits(stated)


def _is_cut_short(stated: Manifest, _: AtHand) -> bool:
    return stated.is_cut_short is None or (stated.is_proven is None and not _is_raised(stated))


def _algorithm(stated: Manifest, _: AtHand) -> bool:
    """An algorithm of ours makes releases of its form; one with a ledger may be fitted to earlier ones."""
    is_apart = not stated.shape.generalizes
    if stated.histories is not None:
        return stated.node is None and _own_declaration(stated, "kind") != "two-table"
    return {
        None: True,
        "full-domain": not is_apart and (stated.node is not None or stated.ledger_head is not None),
        "local": is_apart or stated.node is None,
        "two-table": is_apart,
    }[_own_declaration(stated, "kind")]


def _own_declaration(stated: Facts, what: str) -> Any:
    """Return what an algorithm of this package declares; None for those of others, which may say less."""
    return getattr(DECLARATIONS.get(stated.algorithm), what, None)


def _declaration(stated: Facts) -> Declaration | None:
    """Return what the algorithm declares with the options that are stated; None if it is unknown or refuses them."""
    try:
        return None if declared_class(stated.algorithm) is None else declare(stated.algorithm, **stated.options)
    except (IndistinctError, TypeError, ValueError, AttributeError):
        return None


def _options(stated: Manifest, known: AtHand) -> bool:
    """The algorithm has such options and takes their values; texts in them are plain or name columns."""

    def has_remark(said: Any) -> bool:
        if isinstance(said, dict | list):
            return any(map(has_remark, [*said, *said.values()] if isinstance(said, dict) else said))
        return isinstance(said, str) and said not in known.policy.columns and not is_plain(said)

    algorithm = declared_class(stated.algorithm)
    if has_remark(stated.options) or algorithm is None:  # that of another package
        return not has_remark(stated.options)
    made = _declaration(stated)
    if made is None or not stated.options.keys() <= set(options_of(algorithm)):
        return False
    if stated.algorithm != CHOSEN or stated.node is None:
        return True
    told = getattr(made, "node", {})
    return all(told.get(column, level) == level for column, level in stated.node.items())


def _pseudonym_salt(stated: Manifest, known: AtHand) -> bool:
    return stated.pseudonym_salt is None or bool(known.policy.pseudonym_columns) or known.policy.links_rows


def _based_on(stated: Manifest, _: AtHand) -> bool:
    return stated.based is None or stated.ledger_head is not None


def _policy(stated: Manifest, known: AtHand) -> bool:
    """The policy is stated as it is; the algorithm may be another."""
    if known.is_stated or not known.is_of_policy:
        return True
    return stated.policy.without_algorithm().is_same(StatedPolicy.of(known.policy).without_algorithm())


def _verdict(stated: Manifest, known: AtHand) -> bool:
    return states_recount(
        stated, known.policy, known.found, known.checks if known.compares_policy else None, is_stated=known.is_stated
    )


def _always(_: Manifest, __: AtHand) -> bool:
    """Its shape is all that can be compared, or another check compares it."""
    return True


Rule = Callable[[Manifest, AtHand], bool]
RULES: dict[str, Rule] = {
    "form": _always,
    "eligible": lambda stated, _: stated.eligible == stated.released + stated.suppressed,
    "released": _released_rows,
    "suppressed": _always,
    "groups": lambda stated, known: stated.groups == len(known.sizes(stated)),
    "smallest_group": _smallest_group,
    "people": _people,
    "tables": _tables,
    "link": lambda stated, _: (stated.link is None) is stated.shape.generalizes,
    "not_protected": _not_protected,
    "node": _node,
    "level_names": _level_names,
    "mean_levels": _mean_levels,
    "heights": _heights,
    "start_node": _start_node,
    "unreadable": _unreadable,
    "perturbations": _perturbations,
    "dates_moved": _dates_moved,
    "drawn": _drawn_rows,
    "histories": _histories,
    "measures": _measures,
    "is_proven": _is_proven,
    "gap": _gap,
    "bound": _lower_bound,
    "is_cut_short": _is_cut_short,
    "algorithm": _algorithm,
    "options": _options,
    "search": _always,
    "limits": _always,
    "pseudonym_salt": _pseudonym_salt,
    "ledger_head": _always,
    "based": _based_on,
    "policy_sha256": _always,
    "format": _always,
    "made_by": _always,
    "made_at": _always,
    "about": _always,
    "policy": _policy,
    "verdict": _verdict,
    "unsafe": lambda stated, _: (stated.unsafe is None) is stated.verdict.passed,
    "verifier": _always,
    "files": _always,
}
"""When each statement can stand beside the others."""


def search_check(stated: Facts, policy: Policy) -> Check:
    """Check what a manifest says of its search against the policy, and against what its algorithm can be.

    A search sees sensitive values only where models ask about them or its target is one; one with a ledger is shown
    earlier releases as well. An algorithm always draws, never, or where labels are raised by chance.
    """
    said, asked = stated.search, bool(policy.asked_sensitive) or bool(stated.options.get(TARGET))
    made = _declaration(stated)
    draws = None if made is None else made.is_randomised
    wrong = {
        "blind": said.blind and asked,
        "not blind": not (said.blind or asked or stated.ledger_head is not None or stated.algorithm == APPLIED),
        "randomised": said.randomised and draws is False,
        "not randomised": not said.randomised and draws is True,
    }
    if any(wrong.values()):
        return Check("manifest.search", False, {"wrong": [name for name, is_wrong in wrong.items() if is_wrong]})
    return Check("manifest.search", True, said.to_dict())
