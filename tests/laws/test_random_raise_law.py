"""The law of raised labels: every group of a release may be any one tuple below its labels, and no attack can exclude
it.

The law is tried as it is proved: take a release, give all rows of each group one tuple below its labels, whichever,
with the sensitive values and the people that they have, and find the draws by which the same algorithm makes the same
release of that table. Then nothing is scripted: all small tables are released again and again.

The proof.

(1) The same rows are suppressed. Local algorithms suppress rows only where a column may not be generalized further:
rows that differ there share no group, and all that agree there go together if they fail as one. A tuple below a label
agrees with it there, so these sets have the same rows as before. What is released has the same sensitive values, so
models that compare with the whole table compare with the same.

(2) The table is left as it is. A tuple has the rows of all groups that it was given to. Each of them satisfies all
models, and so does their union.

(3) It may be divided into the same groups. Every order of the rows has a chance above 0, also one in which the groups
stand one after the other. A group has k rows or more, which is a sum of parts of k to 2k - 1; these may be drawn, and
joined to that group and no further. Each satisfies all models, so nothing else is joined.

(4) Each may be raised to its labels. Each label of a group is a label of its tuple, on some level. If that is not the
lowest that may be released it covers more than the label below; otherwise the release would not have it. So it may be
raised to, in all columns, with a chance above 0.

(5) Groups with the same labels become one: the release. Which of equal rows go to which group is drawn, so their
other cells may be the same.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations_with_replacement, product
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.typing import NDArray

import indistinct as ix
from helpers.brute_force import Case, Column, cases, hierarchy_of
from helpers.profiles import examples
from indistinct.counting import FrequencyList, Sensitive
from indistinct.randomness import Draws
from indistinct.recoding import LocalRecoding, Pieces
from indistinct.search import Task
from indistinct.search.local.groups import random_raise as raising
from indistinct.search.local.groups.random_raise import as_it_is
from privacy.test_models import satisfied as by_definition

RANDOM_RAISE = 0.5
ALGORITHMS = (
    ix.Regroup(random_raise=RANDOM_RAISE),
    ix.Mondrian(random_raise=RANDOM_RAISE),
    ix.Mondrian(strict=False, random_raise=RANDOM_RAISE),
    ix.KSimilar(random_raise=RANDOM_RAISE),
)
Labels = tuple[str | None, ...]
Rest = tuple[str, ...]
"""What a row has beside its quasi cells: a sensitive value and a person, where the table has them."""
Content = dict[Labels, Counter[Rest]]
ILLNESSES = "uvw"

OF_ROWS: tuple[Callable[[int], list[ix.PrivacyModel]], ...] = (
    lambda k: [ix.KAnonymity(k)],
    lambda k: [ix.KAnonymity(k), ix.LDiversity(2)],
    lambda k: [ix.LDiversity(2)],
    lambda k: [ix.PSensitive(2, k)],
    lambda k: [ix.KAnonymity(k), ix.LDiversity(2, "entropy")],
    lambda k: [ix.KAnonymity(k), ix.LDiversity(2, "recursive", c=2.0)],
    lambda k: [ix.AlphaK(0.6, k)],
    lambda k: [ix.AlphaK({"u": 0.5, "w": 0.7}, k)],
    lambda k: [ix.KAnonymity(k), ix.TCloseness(0.4)],
    lambda k: [ix.KAnonymity(k), ix.BetaLikeness(1.5), ix.DeltaDisclosure(2.0)],
    lambda k: [ix.AverageRisk(1 / k), ix.MInvariance(2)],
)
OF_PEOPLE = OF_ROWS[:4]
"""Somebody who stands in two groups counts once when they become one, which could spoil the others."""


@dataclass(frozen=True)
class Table:
    """The rows of a case with what else they have, and the models that are asked for."""

    case: Case
    rest: tuple[Rest, ...]
    models: tuple[ix.PrivacyModel, ...]
    lowest: tuple[int, ...]
    """The level below which no label of each column may be."""

    def task(self, draws: Draws | None = None) -> Task:
        """Return it to an algorithm, counted here and not by an engine."""
        case = self.case
        columns: dict[str, Any] = {
            column.name: ix.quasi(hierarchy_of(column), weight=column.weight, min_level=lowest or None)
            for column, lowest in zip(case.columns, self.lowest, strict=True)
        }
        names = [column.name for column in case.columns]
        has_people = case.persons is not None
        policy = ix.Policy(
            columns={**columns, "illness": ix.sensitive()},
            privacy=self.models,
            max_suppression=case.budget,
            person="person" if has_people else None,
        )
        counted = Counter(zip(case.rows, self.rest, strict=True))
        cells = [
            sorted({row[p] for row in case.rows}, key=lambda cell: (cell is None, cell)) for p in range(len(names))
        ]
        codes = [np.array([own.index(row[p]) for row, _ in counted], np.uint64) for p, own in enumerate(cells)]
        found = [[rest[place] for _, rest in counted] for place in range(1 + has_people)]
        values = [sorted(set(own)) for own in found]
        apart = [np.array([own.index(text) for text in texts]) for own, texts in zip(values, found, strict=True)]
        further: dict[str, Any] = {}
        if any(model.asks_sensitive for model in self.models):
            further["illness"] = (Sensitive(tuple(values[0]), None), apart[0])
        if has_people:
            further["person"] = (None, apart[1])
        listed = FrequencyList.of_codes(
            names,
            [columns[name].compile(own) for name, own in zip(names, cells, strict=True)],
            codes,
            np.array(list(counted.values()), np.int64),
            [column.weight for column in case.columns],
            further,
        )
        task = Task.of(listed, policy)
        return task if draws is None else replace(task, draws=draws)


@st.composite
def tables(draw: st.DrawFn) -> Table:
    case = replace(draw(cases(most_rows=18, most_columns=2, people=None)), k=draw(st.sampled_from([2, 2, 3])))
    assume(all(column.listed for column in case.columns[:-1]))
    ill = draw(st.lists(st.sampled_from(ILLNESSES), min_size=len(case.rows), max_size=len(case.rows)))
    rest = [(own,) if case.persons is None else (own, case.persons[place]) for place, own in enumerate(ill)]
    asked = draw(st.sampled_from(OF_ROWS if case.persons is None else OF_PEOPLE))
    lowest = [draw(st.sampled_from([0, 0, min(1, column.height)])) for column in case.columns]
    return Table(case, tuple(rest), tuple(asked(case.k)), tuple(lowest))


def content_of(recoding: LocalRecoding) -> Content:
    """Return the released groups as everybody sees them: labels, and what else the rows have that carry them."""
    frequencies, pieces = recoding.frequencies, recoding.pieces
    texts = [
        [labels.texts[code] for code in codes] for labels, codes in zip(recoding.labels, recoding.codes, strict=True)
    ]
    apart = [codes.tolist() for codes in frequencies.entries.codes.values()]
    found: Content = defaultdict(Counter)
    for entry, rows, group in zip(pieces.tuples.tolist(), pieces.rows.tolist(), pieces.groups.tolist(), strict=True):
        if group >= 0:
            found[tuple(own[group] for own in texts)][tuple(str(codes[entry]) for codes in apart)] += rows
    return dict(found)


def suppressed_of(recoding: LocalRecoding) -> Counter[int]:
    is_lost = ~recoding.pieces.is_released
    return Counter(np.repeat(recoding.pieces.tuples[is_lost], recoding.pieces.rows[is_lost]).tolist())


def tuples_of(frequencies: FrequencyList) -> list[Labels]:
    """Return the tuple of each entry."""
    columns = [
        [hierarchy.values[code] for code in frequencies.entry_codes(column).tolist()]
        for column, hierarchy in enumerate(frequencies.hierarchies)
    ]
    return list(zip(*columns, strict=True))


@dataclass(frozen=True)
class Scripted(Draws):
    """Draws what it is told, by the name of the part."""

    said: Any = None
    name: str = ""

    def part(self, name: str) -> Draws:
        return Scripted(said=self.said, name=name)

    def keys(self, number: int) -> NDArray[np.uint64]:
        said = np.array(self.said[self.name], np.uint64)
        assert len(said) == number, self.name
        return said


def parts_of(rows: int, k: int) -> list[int]:
    """Divide rows into parts of k to 2k - 1."""
    return [k] * (rows // k - 1) + [k + rows % k]


def level_of(column: Column, lowest: int, value: str | None, label: str | None) -> int:
    """Return a level on which a value has a label that covers more than the one below; 0 if it is the lowest one."""
    paths = [column.path(other) for other in column.domain([None])]
    path = column.path(value)

    def covers(level: int) -> int:
        return sum(other[level] == path[level] for other in paths)

    levels = [level for level, own in enumerate(path) if own == label]
    return 0 if lowest in levels else next(level for level in levels if covers(level) > covers(level - 1))


def script(recoding: LocalRecoding, wanted: dict[int, list[tuple[Labels, Counter[Rest]]]], table: Table) -> Scripted:
    """Return the draws that divide the groups of a table and raise the parts to the labels that are wanted.

    ``wanted`` has for each group which of its rows are to have which labels.
    """
    k = table.task().largest_k()
    sizes: list[int] = []
    joined: list[int] = []
    fates: list[tuple[int, Labels]] = []
    goals: dict[tuple[int, Rest], list[int]] = defaultdict(list)
    groups = range(recoding.number_of_groups)
    for group in groups:
        if recoding.sizes[group] < 2 * k:
            ((labels, _),) = wanted[group]
            fates.append((group, labels))
    for group in groups:
        if recoding.sizes[group] >= 2 * k:
            drawn = []
            for place, (labels, rows) in enumerate(wanted[group]):
                own = parts_of(rows.total(), k)
                drawn += [part - k for part in own]
                joined += [1] + [0] * (len(own) - 1)
                fates.append((group, labels))
                for rest, number in rows.items():
                    goals[group, rest] += [place] * number
            sizes += drawn + [0] * (int(recoding.sizes[group]) // k - len(drawn))
    return Scripted(
        said={
            "sizes": sizes,
            "joined": joined,
            "order": _order(recoding, goals, k),
            "raised labels": _raised(recoding, fates, table),
        }
    )


def _order(recoding: LocalRecoding, goals: dict[tuple[int, Rest], list[int]], k: int) -> list[int]:
    """Return a key to each row that is lined up: the part that it goes to. A group of one piece is lined up as one."""
    pieces = recoding.pieces
    apart = [codes.tolist() for codes in recoding.frequencies.entries.codes.values()]
    number = Counter(pieces.groups.tolist())
    keys = []
    for entry, rows, group in zip(pieces.tuples.tolist(), pieces.rows.tolist(), pieces.groups.tolist(), strict=True):
        if group >= 0 and recoding.sizes[group] >= 2 * k:
            if number[group] == 1:
                keys.append(0)
                continue
            rest = tuple(str(codes[entry]) for codes in apart)
            goes, goals[group, rest] = goals[group, rest][:rows], goals[group, rest][rows:]
            keys += goes
    return keys


def _raised(recoding: LocalRecoding, fates: list[tuple[int, Labels]], table: Table) -> NDArray[np.uint64]:
    """Return the draws that raise parts of groups to labels."""
    frequencies, pieces = recoding.frequencies, recoding.pieces
    tuples = tuples_of(frequencies)
    example = {
        group: tuples[entry] for entry, group in zip(pieces.tuples.tolist(), pieces.groups.tolist(), strict=True)
    }
    levels = np.zeros((len(frequencies.columns), len(fates)))
    for place, (group, labels) in enumerate(fates):
        for at, column in enumerate(table.case.columns):
            levels[at, place] = level_of(column, table.lowest[at], example[group][at], labels[at])
    shares = [
        np.bincount(own.levels[codes], recoding.sizes, hierarchy.height + 1) / max(1, recoding.released_rows)
        for own, codes, hierarchy in zip(recoding.labels, recoding.codes, frequencies.hierarchies, strict=True)
    ]
    keys = np.zeros(levels.shape, np.uint64)
    for at, share in enumerate(shares):
        chances = RANDOM_RAISE * np.maximum(share, raising.SELDOM)
        ends = np.append(0.0, np.cumsum(chances[1:]))
        own = levels[at].astype(int)
        fate = np.where(own > 0, (ends[np.maximum(own - 1, 0)] + ends[own]) / 2, 0.999)
        assert ends[-1] < 0.99
        keys[at] = (fate * 2.0**64).astype(np.uint64)
    return keys.ravel()


def below(table: Table, labels: Labels) -> list[Labels]:
    """Return the tuples below the labels of a group."""
    columns = zip(table.case.columns, labels, strict=True)
    values = [
        [label]
        if column.listed is None
        else [value for value in (*column.domain([]), None) if label in column.path(value)[lowest:]]
        for (column, label), lowest in zip(columns, table.lowest, strict=True)
    ]
    return list(product(*values))


def other_table(table: Table, found: LocalRecoding, chosen: dict[Labels, Labels]) -> Table:
    """Return the table in which all rows of a group have the tuple that was chosen for it; suppressed rows stay."""
    tuples, apart = tuples_of(found.frequencies), found.frequencies.entries.codes
    texts = [[labels.texts[code] for code in codes] for labels, codes in zip(found.labels, found.codes, strict=True)]
    rows: list[Labels] = []
    rest: list[Rest] = []
    pieces, illnesses = found.pieces, sorted({own[0] for own in table.rest})
    for entry, number, group in zip(pieces.tuples.tolist(), pieces.rows.tolist(), pieces.groups.tolist(), strict=True):
        own = {name: f"{codes[entry]:03}" for name, codes in apart.items()}
        rows += [tuples[entry] if group < 0 else chosen[tuple(one[group] for one in texts)]] * number
        ill = illnesses[int(own["illness"])] if "illness" in own else "u"
        rest += [(ill, *([own["person"]] if "person" in own else []))] * number
    persons = None if table.case.persons is None else tuple(one[1] for one in rest)
    return replace(table, case=replace(table.case, rows=tuple(rows), persons=persons), rest=tuple(rest))


def keeps_every_model(table: Table, released: Content) -> bool:
    """Return by the definitions whether each released group has what the models ask for."""
    groups = list(released.values())
    if table.case.persons is not None:
        people = [{rest[-1] for rest in group} for group in groups]
        ill = [{rest[0] for rest in group} for group in groups]
        ks = [getattr(model, "k", 1) for model in table.models]
        ls = [getattr(model, "l", getattr(model, "p", 1)) for model in table.models]
        return min(map(len, people)) >= max(ks) and (max(ls) == 1 or min(map(len, ill)) >= max(ls))
    rows = [[((), rest) for rest in group.elements()] for group in groups]
    for model in table.models:
        if isinstance(model, ix.MInvariance):
            holds = [model.m * max(group.values()) <= group.total() for group in groups]
        else:
            holds = by_definition(model, rows)
        if not all(holds):
            return False
    return True


@pytest.mark.slow
@examples(100)
@given(tables(), st.sampled_from(ALGORITHMS), st.data())
def test_every_group_of_a_release_may_be_any_one_tuple_below_its_labels(
    table: Table, algorithm: Any, data: st.DataObject
) -> None:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(raising, "SELDOM", 0.2)
        try:
            found = algorithm.run(table.task(Draws.of_seed(data.draw(st.integers(0, 999)), b"test")), ix.Watch())
        except ix.InfeasibleError:
            assume(False)
        released = content_of(found)
        assert keeps_every_model(table, released)
        chosen: dict[Labels, Labels] = {}
        for labels in released:
            possible = below(table, labels)
            shared = sorted({row for row in chosen.values() if row in possible}, key=str)
            chosen[labels] = data.draw(st.sampled_from(shared * 4 + possible))
        other = other_table(table, found, chosen)
        plain = as_it_is(other.task())
        assert plain is not None  # every tuple is a union of released groups, so it satisfies all models
        tuples = tuples_of(plain.frequencies)
        group_of = dict(zip(map(tuples.__getitem__, plain.pieces.tuples.tolist()), plain.pieces.groups, strict=True))
        wanted: defaultdict[int, list[tuple[Labels, Counter[Rest]]]] = defaultdict(list)
        for labels, rows in released.items():
            wanted[int(group_of[chosen[labels]])].append((labels, rows))
        again = algorithm.run(other.task(script(plain, wanted, other)), ix.Watch())
        assert content_of(again) == released
        assert again.suppressed_rows == found.suppressed_rows


# Nothing is scripted here: small tables are released again and again, by the secure generator.

SMALL = {"a": ("a", "*"), "b": ("b", "*")}
Row = tuple[str, Rest]
Release = frozenset[tuple[str, tuple[tuple[Rest, int], ...]]]


@dataclass(frozen=True)
class World:
    """All tables of so many rows with one quasi column, an illness or a person each, and what is asked of them."""

    models: tuple[ix.PrivacyModel, ...]
    rows: int
    rest: tuple[Rest, ...]
    is_of_people: bool = False

    def tables(self) -> list[tuple[Row, ...]]:
        return list(combinations_with_replacement(sorted(product(SMALL, self.rest)), self.rows))

    def task(self, rows: Sequence[Row]) -> Task:
        column = Column("q", tuple(SMALL.values()))
        persons = tuple(rest[1] for _, rest in rows) if self.is_of_people else None
        case = Case((column,), tuple((value,) for value, _ in rows), 2, persons=persons)
        return Table(case, tuple(rest for _, rest in rows), self.models, (0,)).task()


def ruled_out(world: World, algorithm: Any, draws: int) -> Iterator[tuple[Release, tuple[Row, ...]]]:
    """Return releases with a table of equal groups that each excludes: it was never seen to give that release."""
    tasks = {rows: world.task(rows) for rows in world.tables()}

    def release(rows: tuple[Row, ...]) -> Release | None:
        task = tasks[rows]
        texts = [sorted({rest[place] for _, rest in rows}) for place in range(1 + world.is_of_people)]
        try:
            found = content_of(algorithm.run(task, ix.Watch()))
        except ix.InfeasibleError:
            return None
        names = list(task.frequencies.entries.codes)
        said = {}
        for (label,), counts in found.items():
            own = {
                tuple(
                    texts[("illness", "person").index(name)][int(code)] for name, code in zip(names, rest, strict=True)
                ): n
                for rest, n in counts.items()
            }
            said[str(label)] = tuple(sorted(own.items()))
        return frozenset(said.items())

    few = 10 if algorithm.random_raise else 1
    seen = {rows: {one for one in (release(rows) for _ in range(few)) if one is not None} for rows in tasks}
    names = next(iter(tasks.values())).frequencies.entries.codes
    for groups in set().union(*seen.values()):
        below = [list(SMALL) if label == "*" else [label] for label, _ in groups]
        for values in product(*below):
            rows = tuple(
                sorted(
                    (value, rest if len(names) == len(world.rest[0]) else ("u", *rest))
                    for value, (_, own) in zip(values, groups, strict=True)
                    for rest, number in own
                    for _ in range(number)
                )
            )
            if groups not in seen[rows] and all(release(rows) != groups for _ in range(draws)):
                yield groups, rows


ROWS = World((ix.KAnonymity(2),), 4, (("u",),))
ILL = World((ix.KAnonymity(2), ix.LDiversity(2)), 4, (("u",), ("v",)))
EVENLY = World((ix.AlphaK(0.5, 2),), 4, (("u",), ("v",)))
PEOPLE = World((ix.KAnonymity(2),), 4, (("u", "p"), ("u", "q"), ("u", "r")), is_of_people=True)
WORLDS = pytest.mark.parametrize("world", [ROWS, ILL, EVENLY, PEOPLE], ids=["rows", "ill", "evenly", "people"])


@pytest.mark.slow
@WORLDS
def test_no_table_of_equal_groups_is_ruled_out_by_trying_all_tables(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(raising, "SELDOM", 0.8)
    assert next(ruled_out(world, ix.Mondrian(), 1), None) is not None
    assert not list(ruled_out(world, ix.Mondrian(random_raise=RANDOM_RAISE), 4000))


@pytest.mark.slow
@WORLDS
def test_without_division_tables_are_ruled_out(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    def undivided(task: Task, recoding: LocalRecoding) -> tuple[Pieces, NDArray[np.int64]]:
        return recoding.pieces, np.arange(recoding.number_of_groups)

    monkeypatch.setattr(raising, "SELDOM", 0.8)
    monkeypatch.setattr(raising, "divide_tuples", undivided)
    assert next(ruled_out(world, ix.Mondrian(random_raise=RANDOM_RAISE), 300), None) is not None
