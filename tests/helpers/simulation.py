"""Top-down specialisation in plain Python, by the rules that TopDown tells: one column, one class, one step at a time.

It shares no code with the package: rows are numbers, groups are lists of them, and models are functions of bags of
sensitive values.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import ceil, log

import indistinct as ix
from helpers.brute_force import Column

Values = tuple[str, ...]
"""The sensitive values of a row."""


@dataclass(frozen=True)
class Model:
    """A model by its definition: which bags of sensitive values are safe in a table, and the k that this implies."""

    is_safe: Callable[[Sequence[Values], Sequence[Values]], bool]
    k: int = 1
    is_relative: bool = False


def shares(bag: Sequence[Values], column: int) -> dict[str, float]:
    return {value: count / len(bag) for value, count in Counter(row[column] for row in bag).items()}


def of_every_column(holds: Callable[[dict[str, float], dict[str, float]], bool]):
    """A model that each sensitive column must satisfy by itself."""
    return lambda bag, table: all(holds(shares(bag, c), shares(table, c)) for c in range(len(table[0])))


def k_anonymity(k: int) -> Model:
    return Model(lambda bag, table: len(bag) >= k, k)


def alpha_k(alpha: float, k: int) -> Model:
    spread = of_every_column(lambda here, table: max(here.values()) <= alpha + 1e-9)
    return Model(lambda bag, table: len(bag) >= k and spread(bag, table), max(k, ceil(1 / alpha - 1e-9)))


def distinct(l: int) -> Model:  # noqa: E741
    return Model(of_every_column(lambda here, table: len(here) >= l))


def entropy(l: int) -> Model:  # noqa: E741
    return Model(of_every_column(lambda here, table: -sum(p * log(p) for p in here.values()) >= log(l) - 1e-9))


def t_closeness(t: float) -> Model:
    def near(here, table):
        return sum(max(share - table[value], 0.0) for value, share in here.items()) <= t + 1e-9

    return Model(of_every_column(near), is_relative=True)


MODELS = {
    "k-anonymity 2": (k_anonymity(2), ix.KAnonymity(2)),
    "k-anonymity 4": (k_anonymity(4), ix.KAnonymity(4)),
    "(0.5, 2)": (alpha_k(0.5, 2), ix.AlphaK(0.5, 2)),
    "(0.4, 1)": (alpha_k(0.4, 1), ix.AlphaK(0.4, 1)),
    "(0.7, 3)": (alpha_k(0.7, 3), ix.AlphaK(0.7, 3)),
    "distinct 2": (distinct(2), ix.LDiversity(2)),
    "entropy 2": (entropy(2), ix.LDiversity(2, "entropy")),
    "t-closeness 0.3": (t_closeness(0.3), ix.TCloseness(0.3)),
}


@dataclass(frozen=True)
class Table:
    """Rows of quasi values and sensitive values, and the names of the models that they must satisfy."""

    columns: tuple[Column, ...]
    rows: tuple[tuple[str | None, ...], ...]
    sensitive: tuple[Values, ...]
    models: tuple[str, ...]


@dataclass
class Simulation:
    """Specialises a table by the rules that TopDown tells, one column, one class and one row after the other."""

    table: Table
    trace: list[tuple[frozenset[int], str, int]] = field(default_factory=list)
    classes: list[tuple[tuple[str | None, ...], list[int]]] = field(default_factory=list)

    def __post_init__(self) -> None:
        table = self.table
        models = [MODELS[name][0] for name in table.models]
        self.models, self.k = models, max(model.k for model in models)
        self.is_relative = any(model.is_relative for model in models)
        asks = any(not name.startswith("k-anonymity") for name in table.models)
        self.kind = [values if asks else () for values in table.sensitive]
        sizes = Counter(table.rows)
        number = {row: n for n, row in enumerate(sorted(set(table.rows), key=self._place))}
        self.order = [(sizes[row], number[row]) for row in table.rows]

    def _place(self, row):
        """The place of a tuple in the frequency list: by the last column first, a missing value last."""
        return [(cell is None, cell or "") for cell in reversed(row)]

    def label(self, row: int, column: int, level: int) -> str | None:
        return self.table.columns[column].path(self.table.rows[row][column])[level]

    def is_safe(self, rows: Sequence[int]) -> bool:
        bag = [self.table.sensitive[row] for row in rows]
        return bool(rows) and all(model.is_safe(bag, self.table.sensitive) for model in self.models)

    def run(self) -> bool:
        """Specialise everything, and tell whether that can be released."""
        fixed = [c for c, column in enumerate(self.table.columns) if column.height == 0]
        blocks: dict[tuple[str | None, ...], list[int]] = {}
        for row, cells in enumerate(self.table.rows):
            blocks.setdefault(tuple(cells[c] for c in fixed), []).append(row)
        if not all(self.is_safe(rows) for rows in blocks.values()):
            return False
        for rows in blocks.values():
            self.specialise(rows, [column.height for column in self.table.columns])
        return True

    def specialise(self, rows: list[int], levels: list[int]) -> None:
        trials = [(self.tried(rows, column, levels[column] - 1), column) for column in range(len(levels))]
        (children, remainder), column = max(trials, key=lambda trial: self.rank(*trial))
        labels = tuple(self.label(rows[0], c, level) for c, level in enumerate(levels))
        if not children:
            self.classes.append((labels, rows))
            return
        if remainder:
            self.classes.append((labels, remainder))
        self.trace.append((frozenset(rows), self.table.columns[column].name, sum(map(len, children))))
        below = [level - (c == column) for c, level in enumerate(levels)]
        for child in children:
            self.specialise(child, below)

    @staticmethod
    def rank(trial: tuple[list[list[int]], list[int]], column: int) -> tuple[int, int, int]:
        children, _ = trial
        return sum(map(len, children)), -len(children), -column

    def tried(self, rows: list[int], column: int, level: int) -> tuple[list[list[int]], list[int]]:
        """Return the children that stay and the remainder when a column is specialised; no child if it is given up."""
        if level < 0:
            return [], rows
        present = sorted(
            {self.table.rows[row][column] for row in range(len(self.table.rows))}, key=lambda v: (v is None, v or "")
        )
        names = list(dict.fromkeys(self.table.columns[column].path(value)[level] for value in present))
        children = [[row for row in rows if self.label(row, column, level) == name] for name in names]
        remainder = [row for child in children if not self.is_safe(child) for row in child]
        children = [child for child in children if self.is_safe(child)]
        if remainder and not self.is_safe(remainder):
            children, remainder = self.pulled_back(children, remainder)
        return children, remainder

    def pulled_back(self, children: list[list[int]], remainder: list[int]) -> tuple[list[list[int]], list[int]]:
        everyone = [*remainder, *(row for child in children for row in child)]
        offered = len({self.kind[row] for child in children for row in child})
        most = {(c, kind): n for c, child in enumerate(children) for kind, n in self.counted(child).items()}
        while children and not self.is_safe(remainder):
            offers = [
                (self.frequency(kind, remainder), -self.counted(child)[kind], c, kind)
                for c, child in enumerate(children)
                if len(child) > self.k
                for kind in sorted(self.counted(child))
                if most[c, kind] > 0
            ]
            if not offers:
                smallest = min((child for child in children if child), key=len, default=[])
                remainder = remainder + smallest
                children[children.index(smallest)] = []
                if not any(children):
                    return [], everyone
                continue
            rarest, _, c, kind = min(offers)
            amount = int(self.wanted(rarest, kind, offered, remainder, everyone))
            left = self.counted(children[c])[kind]
            amount = min(max(1, amount), left, most[c, kind], len(children[c]) - self.k)
            of_kind = sorted((row for row in children[c] if self.kind[row] == kind), key=self.order.__getitem__)
            stay = [row for row in children[c] if row not in of_kind[:amount]]
            if self.is_safe(stay):
                children[c], remainder = stay, remainder + of_kind[:amount]
            else:
                most[c, kind] = amount // 2
        return [child for child in children if child], remainder

    def counted(self, rows: Sequence[int]) -> Counter[Values]:
        return Counter(self.kind[row] for row in rows)

    def frequency(self, kind: Values, remainder: Sequence[int]) -> float:
        def of_value(column: int, value: str) -> float:
            rows = sum(self.kind[row][column] == value for row in remainder)
            return rows / sum(values[column] == value for values in self.kind) if self.is_relative else rows

        return max((of_value(column, value) for column, value in enumerate(kind)), default=0)

    def wanted(self, rarest: float, kind: Values, offered: int, remainder, everyone) -> float:
        """How many rows a kind is to give: its part of what is missing to k, or of a quarter of the remainder."""
        growth = max(self.k - len(remainder), len(remainder) / 4)
        if self.is_relative:
            return growth * min(shares(self.kind, column)[value] for column, value in enumerate(kind))
        frequencies = [self.frequency(other, remainder) for other in self.counted(everyone)]
        return min([growth / min(offered, 32), *(f - rarest for f in frequencies if f > rarest)])

    def released(self) -> Counter:
        return Counter(
            (labels, self.table.rows[row], self.kind[row]) for labels, members in self.classes for row in members
        )
