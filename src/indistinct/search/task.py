"""Task: what an algorithm is given, a frequency list and the policy that a recoding of it must satisfy."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from indistinct.array_types import BoolArray
from indistinct.counting import FixedPopulationCounts, FrequencyList, Groups, IntArray, Node
from indistinct.counting.membership import NOWHERE, People
from indistinct.errors import InfeasibleError
from indistinct.policy import Person, Policy
from indistinct.privacy import KAnonymity, PrivacyModel
from indistinct.privacy.model import least_rows
from indistinct.randomness import SECURE, Draws
from indistinct.recoding import FullDomainRecoding, LinkedRecoding
from indistinct.search.set_counts import SetCounts


@dataclass(frozen=True, slots=True)
class Requirement:
    """The models that one quasi-identifier, a set of columns, must satisfy."""

    columns: tuple[int, ...]
    models: tuple[PrivacyModel, ...]

    def satisfied(self, groups: Groups, *, alone: bool = False) -> BoolArray:
        """Return which groups of this quasi-identifier satisfy all its models, or those that judge groups alone."""
        verdict = np.ones(len(groups), np.bool_)
        for model in self.models:
            if not (alone and model.asks_whole_table):
                verdict &= model.holds(groups)
        return verdict


@dataclass(frozen=True, slots=True)
class Task:
    """A frequency list, and the policy that a recoding of it must satisfy."""

    frequencies: FrequencyList
    policy: Policy
    requirements: tuple[Requirement, ...]
    totals: Mapping[str, IntArray] | None = None
    """The rows of each sensitive value that will be released, if some rows surely will not be."""
    people_totals: Mapping[str, tuple[IntArray, int]] | None = None
    """The same in people, and the number of all of them, where people have several rows."""
    secret: tuple[str, ...] = ()
    """Columns that only the search knows of, such as what was released before: no message may name them."""
    draws: Draws = SECURE
    """What an algorithm draws from, if it makes random choices that nobody may guess."""

    @classmethod
    def of(cls, frequencies: FrequencyList, policy: Policy) -> Task:
        """Bring the policy's requirements into the terms of the list's columns."""
        by_columns: dict[tuple[int, ...], list[PrivacyModel]] = {}
        for columns, model in policy.judged_sets():
            positions = tuple(sorted(frequencies.columns.index(column) for column in columns))
            by_columns.setdefault(positions, []).append(model)
        return cls(frequencies, policy, tuple(Requirement(c, tuple(m)) for c, m in by_columns.items()))

    @property
    def budget(self) -> int:
        """The rows that the policy lets an algorithm suppress."""
        return self.policy.allowed_suppression(self.frequencies.rows)

    @property
    def is_blind(self) -> bool:
        """Whoever works on this task sees no sensitive value: nothing follows about them from what it finds.

        Sensitive columns are counted only where models ask about them. What was released before may hold them, too.
        """
        return not self.frequencies.sensitive and not self.secret

    @property
    def models(self) -> tuple[PrivacyModel, ...]:
        """All models, each once."""
        return tuple({id(model): model for one in self.requirements for model in one.models}.values())

    @property
    def is_monotone(self) -> bool:
        """What holds at a node holds above it, with no more rows suppressed."""
        return all(model.is_monotone for model in self.models) and not self.policy.suppresses_single_rows

    @property
    def is_monotone_unsuppressed(self) -> bool:
        """What holds at a node without suppression holds above it.

        Somebody who stands in two groups counts once when they are merged, so where people have several rows a share
        that both groups keep can be passed in the merged one; what survives any merging survives that as well.
        """
        if self.frequencies.base.people is not None:
            return all(model.is_monotone for model in self.models)
        return all(model.is_monotone_unsuppressed for model in self.models)

    def is_monotone_within(self, budget: int) -> bool:
        """What passes with at most so many rows suppressed passes above, with no more rows suppressed."""
        return self.is_monotone or (budget == 0 and self.is_monotone_unsuppressed)

    @property
    def counts_people(self) -> bool:
        """People have several rows, and models count them."""
        return self.frequencies.base.people is not None

    @property
    def floor(self) -> Task:
        """A monotone task that this one implies: at every node it suppresses no more rows.

        Rows that are linked stand in groups of k people, whichever of them are suppressed.
        """
        requirements = tuple(
            Requirement(requirement.columns, tuple(m.floor for m in requirement.models if m.floor is not None))
            for requirement in self.requirements
        )
        apart = Person(self.policy.person_columns) if self.policy.suppresses_single_rows else self.policy.person
        return replace(self, requirements=requirements, policy=replace(self.policy, person=apart))

    @property
    def asks_rows_only(self) -> bool:
        """Nothing is asked but k-anonymity, counted in rows, by whichever sets of columns."""
        return not self.counts_people and bool(self.models) and all(isinstance(m, KAnonymity) for m in self.models)

    def with_k(self, k: int) -> Task:
        """The same task for k-anonymity with another k."""
        changed = {id(model): replace(model, k=k) for model in self.models if isinstance(model, KAnonymity)}
        asked = [(one.columns, tuple(changed[id(model)] for model in one.models)) for one in self.requirements]
        return replace(self, requirements=tuple(Requirement(*one) for one in asked))

    def ks_by_columns(self) -> dict[tuple[int, ...], int]:
        """Return the rows that a group by each set of columns must have."""
        return {one.columns: max(map(least_rows, one.models)) for one in self.requirements if one.models}

    def number_of_people(self) -> int:
        """The people in the table: one for each row, unless it is said whose rows they are."""
        people = self.frequencies.base.people
        return self.frequencies.rows if people is None else int(people.persons.max(initial=-1)) + 1

    def largest_k(self) -> int:
        """The largest k that any model asks for; 1 if none does."""
        return max((least_rows(model) for model in self.models), default=1)

    def unsafe(self, groups: Groups, at_most: int | None = None) -> BoolArray:
        """Return which groups must be suppressed, and no more than that.

        With one quasi-identifier these are the groups that fail (Samarati 2001, Lemma 4.1). With several, a row that
        one of them suppresses is also missing from the groups of the others, so the failing ones are taken out until
        none is left. For monotone models what remains is the largest set of rows that satisfies all: the union of two
        sets that satisfy all satisfies all. Models that ask about the whole table come last, since what is suppressed
        changes the table that they compare with.

        Where more than ``at_most`` rows must go, some groups that have more than that are told, not all of them.
        """
        is_one = len(self.requirements) == 1 and len(self.requirements[0].columns) == len(self.frequencies.columns)
        if is_one and not any(model.asks_whole_table for model in self.models):
            return ~self.requirements[0].satisfied(groups)
        if self.asks_rows_only and groups.people is None:
            sets = SetCounts.of_groups(groups, self.ks_by_columns())
            gone, _ = sets.taken_out([0] * len(self.frequencies.columns), groups.rows if at_most is None else at_most)
            return np.isin(np.arange(len(groups)), gone)
        is_suppressed = np.zeros(len(groups), np.bool_)
        for alone in (True, False):
            before = -1
            while int(is_suppressed.sum()) > before:
                before = int(is_suppressed.sum())
                for requirement in self.requirements:
                    left = groups.without(is_suppressed) if is_suppressed.any() else groups
                    merged, group_of = (left, np.arange(len(left))) if is_one else left.only(requirement.columns)
                    is_suppressed |= ~requirement.satisfied(merged, alone=alone)[group_of]
                if at_most is not None and int(groups.sizes[is_suppressed].sum()) > at_most:
                    return is_suppressed
        return is_suppressed

    def unsafe_people(self, groups: Groups, is_gone: BoolArray | None = None) -> BoolArray:
        """Return who must be suppressed where the rows of a person are linked, and nobody else.

        What must be shared is the profile, as many rows in the same groups. Whoever fails is taken out with all her
        rows, until nobody fails. Equal profiles stay equal above, so on the way up no more people are suppressed.
        Entries that are gone already belong to no profile.
        """
        assert groups.people is not None  # rows are linked
        everybody = groups.people
        if is_gone is not None:
            everybody = replace(everybody, groups=np.where(is_gone, NOWHERE, everybody.groups))
        is_out = np.zeros(self.number_of_people(), np.bool_)
        for alone in (True, False):
            before = -1
            while int(is_out.sum()) > before:
                before = int(is_out.sum())
                for requirement in self.requirements:
                    is_all = len(requirement.columns) == len(self.frequencies.columns)
                    people = everybody if is_all else everybody.merge(groups.only(requirement.columns)[1])
                    left = replace(people, groups=np.where(is_out[people.persons], NOWHERE, people.groups))
                    by_class, class_of = left.by_profile()
                    classes = _classes(groups, by_class, int(class_of.max(initial=-1)) + 1)
                    fails = ~requirement.satisfied(classes, alone=alone)
                    is_out |= (class_of >= 0) & np.append(fails, False)[class_of]
        return is_out

    def _unsafe_entries(self, groups: Groups) -> BoolArray:
        """Return which entries go where the rows of a person are linked: all of unsafe people, or as few as will do.

        If single rows may go, whoever fails loses her rows in the group that fewest people stand in, and is looked at
        anew; those who do not fail keep what they have. That is quick, and not always the least.
        """
        people = groups.people
        assert people is not None  # rows are linked
        if not self.policy.suppresses_single_rows:
            return self.unsafe_people(groups)[people.persons]
        is_gone = np.zeros(len(people.persons), np.bool_)
        while True:
            fails = self.unsafe_people(groups, is_gone)[people.persons] & ~is_gone
            if not fails.any():
                return is_gone
            left = replace(people, groups=np.where(is_gone, NOWHERE, people.groups))
            crowds = left.sizes(len(groups))
            failing = np.flatnonzero(fails)
            order = failing[
                np.lexsort((people.groups[failing], crowds[people.groups[failing]], people.persons[failing]))
            ]
            is_first = np.append(True, people.persons[order][1:] != people.persons[order][:-1])
            rarest = np.full(self.number_of_people(), NOWHERE)
            rarest[people.persons[order[is_first]]] = people.groups[order[is_first]]
            is_gone |= fails & (people.groups == rarest[people.persons])

    def safe_parts(self, tuples: IntArray, rows: IntArray, parts: IntArray, number: int) -> BoolArray:
        """Return which parts, each made of so many rows of some tuples, satisfy every model as one group.

        That is what local algorithms demand: a group over all quasi columns is also safe over any of them.
        """
        sizes = np.bincount(parts, rows, number).astype(np.int64)
        if self.counts_people:  # values are counted in people, and only their texts are asked of these
            tallies = self.frequencies.base.tallies
        else:
            tallies = self.frequencies.tallies_of(tuples, rows, parts, self.totals)
        groups = Groups.of_sizes(sizes, tallies, self.frequencies.populations_of(tuples, parts, number))
        there = np.where(rows > 0, parts, NOWHERE) if self.counts_people else parts
        groups = replace(groups, people=self.frequencies.people_of(tuples, there, self.people_totals)).in_people()
        verdict = sizes > 0
        for model in self.models:
            verdict &= model.alone.holds(groups)
        return verdict

    def without(self, is_suppressed: BoolArray) -> Task:
        """The same task without some entries, for grouping what is left: models then see a table without them."""
        entries, sensitive = self.frequencies.entries, self.frequencies.sensitive
        if not sensitive or not is_suppressed.any():
            return self
        left = entries.counts * ~is_suppressed
        totals = {
            name: np.bincount(entries.codes[name], left, len(column.values)).astype(np.int64)
            for name, column in sensitive.items()
        }
        people_totals = self.frequencies.people_totals(~is_suppressed) if self.counts_people else None
        return replace(self, totals=totals, people_totals=people_totals)

    def _all_rows(self) -> tuple[IntArray, IntArray, IntArray]:
        """Return all entries and their rows as one part."""
        entries = self.frequencies.entries
        return np.arange(len(entries)), entries.counts, np.zeros(len(entries), np.int64)

    def recoding(self, groups: Groups, at_most: int | None = None) -> FullDomainRecoding:
        """Return the recoding to a node, with the least suppression that satisfies the policy.

        If that is more than ``at_most`` rows, nothing but that need be right about it.
        """
        if self.policy.links_rows:
            return LinkedRecoding.of(self.frequencies, groups, self._unsafe_entries(groups))
        return FullDomainRecoding(self.frequencies, groups, self.unsafe(groups, at_most))

    def names_of(self, columns: Iterable[int]) -> list[str]:
        """Return the names of some columns as people know them; those that only the search knows of have none."""
        names = [self.frequencies.columns[column] for column in columns]
        return [name for name in names if name not in self.secret]

    def infeasible(self, budget: int) -> InfeasibleError:
        """Say why no node satisfies the policy within this budget."""
        rows, top = self.frequencies.rows, self.frequencies.heights
        k = self.largest_k()
        if self.number_of_people() < k:
            what = f"the rows of {self.number_of_people()} people" if self.counts_people else f"{rows} eligible rows"
            hint = ", or name in person what says whose row each is" if self.counts_people else ""
            return InfeasibleError(
                f"the table has {what}, fewer than k = {k}: nobody in it can be hidden among {k}; "
                f"lower k or release more rows together{hint}"
            )
        groups, _ = self.frequencies.roll_up(top)
        populations = {
            name: FixedPopulationCounts(counts.of(groups).sum(keepdims=True))
            for name, counts in groups.populations.items()
        }
        people = self.frequencies.people_of(*self._all_rows()[::2])
        everything = Groups.of_sizes([rows], self.frequencies.tallies_of(*self._all_rows()), populations)
        everything = replace(everything, people=people).in_people()
        for model in self.models:
            if not model.holds(everything).all() and (reason := model.objection(everything)) is not None:
                return InfeasibleError(reason)
        left = self.recoding(groups).suppressed_rows
        fixed = self.names_of([column for column, height in enumerate(top) if height == 0])
        hint = f", or give {_list_names(fixed)} a hierarchy" if fixed else ""
        cut = [name for name in self.policy.quasi if self.policy.columns[name].max_level is not None]
        hint += f", or raise max_level of {_list_names(cut)}" if cut else ""
        return InfeasibleError(
            f"even with every column at the top of its hierarchy {left} of {rows} rows must be suppressed, "
            f"but the policy allows {budget}; allow more suppression{hint}"
        )


def _classes(groups: Groups, people: People, number: int) -> Groups:
    """Return the classes of people who share a profile as groups; how many rows they have does not matter any more."""
    return replace(Groups.of_sizes(np.zeros(number, np.int64), groups.tallies), people=people)


def height(node: Node) -> int:
    """The height of a node in the lattice: the sum of its levels (Samarati 2001, section 5)."""
    return sum(node)


def with_level(node: Node, column: int, level: int) -> Node:
    """The node with one column at another level.

    >>> with_level((0, 0, 0), 1, 2)
    (0, 2, 0)
    """
    return (*node[:column], level, *node[column + 1 :])


def _list_names(names: Sequence[str]) -> str:
    return ", ".join(repr(name) for name in names[:5]) + (" …" if len(names) > 5 else "")
