"""The dialogue of µ-Argus: what is unsafe, what the holder generalizes, and which cells are blanked in the end."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations as choose

import numpy as np

from indistinct.array_types import BoolArray
from indistinct.counting import FrequencyList, IntArray, Node
from indistinct.errors import PolicyError
from indistinct.policy.algorithms import MuArgusOptions
from indistinct.progress import Watch
from indistinct.recoding import LocalRecoding, Pieces
from indistinct.recoding.recoding import Labels
from indistinct.search.algorithm import Algorithm
from indistinct.search.full_domain.lattice import check_some_node_passes
from indistinct.search.mu_argus.rare_combinations import (
    Combination,
    Greedy,
    LeastLoss,
    Rule,
    TestedCombinations,
    stop_if_late,
)
from indistinct.search.task import Task, with_level

NOT, MOST, MORE, IDENTIFYING = range(4)
"""How identifying a column is: Sweeney 2002, section 4.2."""

MOST_COMBINATIONS = 20_000
TUPLES_AT_ONCE = 50_000


@dataclass(frozen=True, slots=True)
class UnsafeCombination:
    """Columns of which some values together have fewer than k rows."""

    columns: tuple[str, ...]
    values: int
    """How many different values of these columns are unsafe."""
    rows: int


@dataclass(frozen=True, slots=True)
class CombinationValue:
    """One value of a tested combination: a line of the table V in Figure 13."""

    labels: tuple[str | None, ...]
    rows: int
    is_unsafe: bool
    """It has fewer than k rows, and no blank cell."""


@dataclass(frozen=True, slots=True)
class Category:
    """One label of a column: its rows, and the unsafe combinations with it by the number of their columns."""

    label: str | None
    rows: int
    unsafe: Mapping[int, int]


@dataclass(frozen=True, slots=True)
class Unsafe:
    """What the test found, as µ-Argus shows it; false if nothing is unsafe."""

    k: int
    tested: int
    """How many combinations of columns were tested."""
    combinations: tuple[UnsafeCombination, ...]
    columns: Mapping[str, Mapping[int, int]]
    """For each column, the unsafe combinations of values with it by the number of their columns."""
    categories: Mapping[str, tuple[Category, ...]]
    tuples: int
    """How many tuples have an unsafe combination."""
    rows: int

    def __bool__(self) -> bool:
        return bool(self.combinations)


@dataclass(frozen=True, slots=True)
class Outlier:
    """A tuple with its unsafe combinations: a line of Figure 14."""

    labels: tuple[str | None, ...]
    rows: int
    combinations: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class Suppressions:
    """What suppression would blank, and what it would leave unsafe."""

    cells: Mapping[str, int]
    """The cells of each column that become blank, row by row."""
    rows: int
    """How many rows lose a cell."""
    small_groups: int
    """The groups of the release with fewer than k rows: what µ-Argus does not see."""
    small_group_rows: int


class MuArgusDialogue:
    """A dialogue with the holder of a table: steps 3 to 6 of Figure 11.

    See ``unsafe()``, ``generalize()`` a column or ``undo()`` that, look at the ``suppressions()`` and ``finish()``.
    Everything that it shows is for the holder alone.
    """

    def __init__(self, task: Task, options: MuArgus, watch: Watch | None = None) -> None:
        _refuse_unknown(task, options)
        if task.frequencies.rows < task.largest_k():
            raise task.infeasible(task.budget)
        self.task = task
        self.options = options
        self.k = task.largest_k()
        self._watch = watch or Watch()
        self._columns = task.frequencies.columns
        self._kinds = tuple(options.identifying.get(name, MOST) for name in self._columns)
        self._in_tests = [column for column, kind in enumerate(self._kinds) if kind != NOT]
        self._wanted = _not_too_many(self._all_wanted())
        self._nodes = [self._start()]
        self._known: dict[Node, TestedCombinations] = {}
        self._blank: dict[Node, BoolArray] = {}

    @property
    def levels(self) -> dict[str, int]:
        """The level of each column now."""
        return dict(zip(self._columns, self._nodes[-1], strict=True))

    @property
    def heights(self) -> dict[str, int]:
        """The height of each column's hierarchy."""
        return dict(zip(self._columns, self.task.frequencies.heights, strict=True))

    def generalize(self, column: str, level: int | None = None) -> None:
        """Take a column to a higher level, by default the next one (step 4)."""
        if column not in self._columns:
            raise PolicyError(f"{column!r} is not a quasi column; there are {', '.join(self._columns)}")
        now, height = self.levels[column], self.heights[column]
        goal = now + 1 if level is None else level
        if now == height:
            raise PolicyError(f"{column!r} is at the top of its hierarchy already")
        if type(goal) is not int or not now < goal <= height:
            raise PolicyError(f"{column!r} is at level {now} of {height} and can only climb, got {goal!r}")
        self._nodes.append(with_level(self._nodes[-1], self._columns.index(column), goal))

    def undo(self) -> None:
        """Take back the last generalization."""
        if len(self._nodes) == 1:
            raise PolicyError("there is no generalization to take back")
        self._nodes.pop()

    def unsafe(self) -> Unsafe:
        """Return the combinations of values that fewer than k rows have (step 3)."""
        tested = self._tested_combinations()
        has_outliers = tested.bits.any(axis=1)
        return Unsafe(
            self.k,
            len(tested.combinations),
            tuple(
                UnsafeCombination(self._names(columns), values, rows)
                for columns, values, rows in zip(tested.combinations, tested.values, tested.rows, strict=True)
                if values
            ),
            {self._columns[column]: _by_dimension(tested.per_label[column].sum(axis=0)) for column in self._in_tests},
            {self._columns[column]: self._categories(column) for column in self._in_tests},
            int(has_outliers.sum()),
            int(tested.groups.sizes[has_outliers].sum()),
        )

    def values_of(self, columns: Sequence[str]) -> list[CombinationValue]:
        """Return every value of a combination of columns with its rows, most rows first: the table V in Figure 13."""
        unknown = [name for name in columns if name not in self._columns]
        if unknown or not columns or len(set(columns)) < len(columns):
            raise PolicyError(f"columns: name quasi columns, each once; there are {', '.join(self._columns)}")
        places = [self._columns.index(name) for name in columns]
        merged, _ = self._tested_combinations().groups.only(places)
        node, hierarchies = self._nodes[-1], self.task.frequencies.hierarchies
        labels = [
            [hierarchies[place].labels[node[place]][code] for code in merged.label_codes(place).tolist()]
            for place in places
        ]
        found = [
            CombinationValue(cells, rows, rows < self.k and None not in cells)
            for cells, rows in zip(zip(*labels, strict=True), merged.sizes.tolist(), strict=True)
        ]
        return sorted(found, key=lambda one: (-one.rows, [cell or "" for cell in one.labels]))

    def outliers(self) -> list[Outlier]:
        """Return every tuple that has unsafe combinations, with them: freq in Figure 14."""
        tested = self._tested_combinations()
        tuples = np.flatnonzero(tested.bits.any(axis=1))
        labels = [
            [self.task.frequencies.hierarchies[column].labels[level][code] for code in codes.tolist()]
            for column, level in enumerate(tested.groups.node)
            for codes in [tested.groups.label_codes(column)[tuples]]
        ]
        return [
            Outlier(cells, rows, tuple(self._names(tested.combinations[number]) for number in np.flatnonzero(unsafe)))
            for cells, rows, unsafe in zip(
                zip(*labels, strict=True),
                tested.groups.sizes[tuples].tolist(),
                tested.unsafe_combinations(tuples),
                strict=True,
            )
        ]

    def suppressions(self) -> Suppressions:
        """Return what ``finish()`` would blank, without doing it."""
        tested, is_blank = self._tested_combinations(), self._blanks()
        sizes = self._recoding(tested, is_blank).sizes
        return Suppressions(
            {name: int(tested.groups.sizes @ is_blank[column]) for column, name in enumerate(self._columns)},
            int(tested.groups.sizes @ is_blank.any(axis=0)),
            int((sizes < self.k).sum()),
            int(sizes[sizes < self.k].sum()),
        )

    def finish(self) -> LocalRecoding:
        """Return the recoding: every column at its level, and single cells blank (step 6)."""
        return self._recoding(self._tested_combinations(), self._blanks())

    def _names(self, columns: Combination) -> tuple[str, ...]:
        return tuple(self._columns[column] for column in columns)

    def _start(self) -> Node:
        """Return the levels to begin with: the holder's, and with ``automatic`` as far up as step 2 takes them."""
        frequencies = self.task.frequencies
        node = []
        for column, name in enumerate(self._columns):
            level = self.options.recoded.get(name, 0)
            if self.options.automatic and column in self._in_tests:
                while level < frequencies.heights[column] and not self._has_k_each(column, level):
                    level += 1
            node.append(level)
        return tuple(node)

    def _has_k_each(self, column: int, level: int) -> bool:
        """Return whether each label of a column that is not blank has k rows."""
        labels = Labels.at_level(self.task.frequencies, column, level)
        return all(rows >= self.k for text, rows in zip(labels.texts, labels.rows, strict=True) if text is not None)

    def _tested_combinations(self) -> TestedCombinations:
        node = self._nodes[-1]
        if node not in self._known:
            self._known[node] = TestedCombinations.at(
                self.task.frequencies, node, self._combinations(node), self.k, self._watch
            )
        return self._known[node]

    def _combinations(self, node: Node) -> list[Combination]:
        """Return the combinations to test at a node, fewer columns first.

        A column with one label for all tells nobody from anybody, so the test goes on without it.
        """
        hierarchies = self.task.frequencies.hierarchies
        telling = {column for column, level in enumerate(node) if len(hierarchies[column].labels[level]) > 1}
        found = {tuple(column for column in columns if column in telling) for columns in self._wanted} - {()}
        return sorted(found, key=lambda columns: (len(columns), columns))

    def _all_wanted(self) -> Iterator[Combination]:
        """Return the combinations that the options ask for; a quasi-identifier is protected for itself."""
        yield from ((column,) for column in self._in_tests)
        asked = self.options.combinations
        if not isinstance(asked, str):
            yield from (tuple(sorted(self._columns.index(name) for name in names)) for names in asked)
            return
        for requirement in self.task.requirements:
            columns = [column for column in self._in_tests if column in requirement.columns]
            for size in range(2, min(self.options.dimension, len(columns)) + 1):
                for chosen in choose(columns, size):
                    if asked == "all" or _is_tested_type([self._kinds[column] for column in chosen]):
                        yield chosen

    def _categories(self, column: int) -> tuple[Category, ...]:
        tested = self._tested_combinations()
        labels = Labels.at_level(self.task.frequencies, column, tested.groups.node[column])
        return tuple(
            Category(text, rows, _by_dimension(unsafe))
            for text, rows, unsafe in zip(labels.texts, labels.rows.tolist(), tested.per_label[column], strict=True)
        )

    def _blanks(self) -> BoolArray:
        """Return which cells suppression blanks, by column and group."""
        node = self._nodes[-1]
        if node not in self._blank:
            self._blank[node] = self._suppress(self._tested_combinations())
        return self._blank[node]

    def _suppress(self, tested: TestedCombinations) -> BoolArray:
        is_blank = np.zeros((len(self._columns), len(tested.groups)), np.bool_)
        tuples = np.flatnonzero(tested.bits.any(axis=1))
        rule: Rule = (
            Greedy(tested.combinations, len(self._columns))
            if self.options.suppression == "greedy"
            else LeastLoss(tested.combinations, self._losses(tested))
        )
        for start in range(0, len(tuples), TUPLES_AT_ONCE):
            self._watch.report("suppress", start, len(tuples))
            stop_if_late(self._watch)
            part = tuples[start : start + TUPLES_AT_ONCE]
            is_blank[:, part] = rule.blanks(tested.unsafe_combinations(part)).T
        return is_blank

    def _losses(self, tested: TestedCombinations) -> list[float]:
        """Return what it costs to blank a cell of each column."""
        frequencies = self.task.frequencies
        if self.options.suppression == "priorities":
            losses = [self.options.priorities.get(name, 1.0) for name in self._columns]
        else:
            losses = [_entropy(frequencies, column, level) for column, level in enumerate(tested.groups.node)]
        return [loss * weight for loss, weight in zip(losses, frequencies.weights, strict=True)]

    def _recoding(self, tested: TestedCombinations, is_blank: BoolArray) -> LocalRecoding:
        frequencies = self.task.frequencies
        labels, codes = [], []
        for column, level in enumerate(tested.groups.node):
            known = Labels.at_level(frequencies, column, level)
            code = tested.groups.label_codes(column)
            if is_blank[column].any():
                known, place = _with_blank(frequencies, column, known)
                code = np.where(is_blank[column], place, code)
            labels.append(known)
            codes.append(code)
        pieces = Pieces.whole(frequencies, tested.group_of)
        return replace(LocalRecoding.of_labels(frequencies, pieces, tuple(labels), np.stack(codes)), is_safe=False)


def _is_tested_type(kinds: Sequence[int]) -> bool:
    """Return whether combinations of columns of these kinds are tested: one of the ten types of Figure 12.

    Statistics Netherlands' rule for files under contract: a most identifying column, a second that is more identifying
    or most, and any third; and whatever remains of such a combination without one of its columns.
    """
    first, second, *third = sorted(kinds)
    return (first <= MOST and second <= MORE) if third else first <= MORE


def _entropy(frequencies: FrequencyList, column: int, level: int) -> float:
    """Return the entropy of a column's labels in bits."""
    rows = Labels.at_level(frequencies, column, level).rows
    shares = rows[rows > 0] / frequencies.rows
    return float(-(shares * np.log2(shares)).sum())


def _with_blank(frequencies: FrequencyList, column: int, labels: Labels) -> tuple[Labels, int]:
    """Add the label of a suppressed cell and give its place; a missing cell looks the same and so becomes one, too."""
    hierarchy = frequencies.hierarchies[column]
    place = labels.texts.index(None) if None in labels.texts else len(labels.texts)

    def put(numbers: IntArray, number: int) -> IntArray:
        return np.concatenate([numbers[:place], [number], numbers[place + 1 :]])

    blank = Labels(
        (*labels.texts[:place], None, *labels.texts[place + 1 :]),
        put(labels.levels, max(1, hierarchy.height)),  # all is lost, also where no level lies above the value
        put(labels.leaves, hierarchy.domain_size),
        put(labels.rows, frequencies.rows),
    )
    return blank, place


def _by_dimension(counts: IntArray) -> dict[int, int]:
    """Return counts by number of columns, without those that are 0."""
    return {dimension: int(counts[dimension]) for dimension in np.flatnonzero(counts).tolist()}


def _refuse_unknown(task: Task, options: MuArgus) -> None:
    """Raise if the options name columns or levels that the task does not have."""
    columns = task.frequencies.columns
    listed = () if isinstance(options.combinations, str) else options.combinations
    named = [*options.identifying, *options.recoded, *options.priorities, *(name for names in listed for name in names)]
    mistakes = [f"mu-argus: {name!r} is not a quasi column" for name in dict.fromkeys(named) if name not in columns]
    heights = dict(zip(columns, task.frequencies.heights, strict=True))
    mistakes += [
        f"mu-argus: recoded.{name}: there is no level {level}; its hierarchy has levels 0 to {heights[name]}"
        for name, level in options.recoded.items()
        if level > heights.get(name, level)
    ]
    mistakes += [
        f"mu-argus: combinations: {name!r} is not identifying (0), so it is in no combination"
        for name in dict.fromkeys(name for names in listed for name in names)
        if options.identifying.get(name) == NOT
    ]
    if mistakes:
        raise PolicyError(mistakes)


def _not_too_many(wanted: Iterator[Combination]) -> set[Combination]:
    """Return each combination once; raise if they are more than can be tested."""
    found = set()
    for columns in wanted:
        found.add(columns)
        if len(found) > MOST_COMBINATIONS:
            raise PolicyError(
                f"mu-argus: more than {MOST_COMBINATIONS:,} combinations are to be tested; lower dimension, say with "
                f"identifying which columns matter less (2, 3) or not at all (0), or list the combinations"
            )
    return found


class MuArgus(MuArgusOptions, Algorithm):
    """µ-Argus: rare combinations of two and three columns lose cells. It does not promise k-anonymity.

    ``identifying`` says how identifying a column is: 0 not at all (it is left out of every test), 1 most, 2 more, 3
    identifying. A column that is not named is taken as most identifying, so that without any name all combinations
    of up to three columns are tested.

    The steps are those of Figure 11:

    1. Tuples are counted.
    2. Every column starts at its level in ``recoded``, or at 0. With ``automatic``, each climbs until every value
       alone has k rows; else the holder does that, in a session.
    3. ``combinations`` are tested: "types" are the ten types of Figure 12, "all" those of up to ``dimension``
       columns, and a list of lists of columns just these. Single columns are always tested.
    4. The holder may generalize a column, in a session alone.
    5. Then 3 and 4 are repeated, until the holder is content.
    6. In every tuple the cells of unsafe combinations are blanked, until none is left whole. "greedy" takes the cell
       that is in most of them, of equal ones the first in the policy's order; "entropy" and "priorities"
       take the cells of least loss, exactly: the entropy of their columns, or the number in ``priorities`` (1 where
       it names none), both times the column's weight. Of equal ones the fewest cells go, then the first columns.

    A missing cell is as blank as a suppressed one: combinations with it are not tested. Combinations of more columns
    are not tested, and those with blank cells are not tested again; so the recount may well find that a release of
    µ-Argus fails.

    Source: Sweeney 2002, Figures 11 to 15; the rule behind Figure 12, entropy and priorities from the manual of
    µ-Argus 5.1.3, sections 4.1.1 and 5.5.1.
    """

    __slots__ = ()

    def session(self, task: Task, watch: Watch | None = None) -> MuArgusDialogue:
        """Begin the dialogue about a table that was counted; ``MuArgusSession`` also opens and releases it."""
        return MuArgusDialogue(task, self, watch or Watch())

    def check_feasible(self, task: Task, watch: Watch) -> None:
        check_some_node_passes(task, watch, task.budget)

    def run(self, task: Task, watch: Watch) -> LocalRecoding:
        """Return the recoding without a dialogue: what the options say, then suppression."""
        return self.session(task, watch).finish()
