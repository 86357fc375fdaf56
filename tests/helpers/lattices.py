"""Thousands of small lattices, and the truth about each of their nodes by an oracle of a few lines."""

from __future__ import annotations

from collections import Counter
from itertools import combinations, product

from helpers import brute_force as bf


def made_case(chance, known=None):
    """Two to seven columns of two or three values, with one or two levels above them, some of weight 2.

    With ``known`` each set of so many columns is a quasi-identifier.
    """
    columns = []
    number = chance.randint(2, 7)
    for name in "abcdefg"[:number]:
        listed = [("0", "*"), ("1", "*")]
        if number < 5 and chance.random() < 0.5:
            listed = [("0", "low", "*"), ("1", "low", "*"), ("2", "high", "*")]
        columns.append(bf.Column(name, tuple(listed), weight=chance.choice([1.0, 1.0, 2.0])))
    likely = [chance.random() for _ in columns]
    rows = [
        tuple(
            column.listed[0 if chance.random() < share else chance.randrange(len(column.listed))][0]
            for column, share in zip(columns, likely, strict=True)
        )
        for _ in range(chance.randint(4, 14))
    ]
    sets = None if known is None else tuple(combinations(range(number), min(known, number)))
    return bf.Case(tuple(columns), tuple(rows), chance.randint(2, 4), chance.choice([None, 1, 2, 0.3, 1.0]), sets)


def truth(case, lost):
    """Return loss and suppressed rows of every node: groups counted in a dictionary, each cell's loss looked up."""
    found = {}
    weights = sum(column.weight for column in case.columns) * len(case.rows)
    tables = [
        [{row[0]: row[level] for row in column.listed} for level in range(column.height + 1)] for column in case.columns
    ]
    for node in product(*(range(column.height + 1) for column in case.columns)):
        maps = [table[level] for table, level in zip(tables, node, strict=True)]
        labels = [tuple([own[cell] for own, cell in zip(maps, row, strict=True)]) for row in case.rows]
        left = rows_left(case, labels)
        cost, gone = 0.0, 0
        for number, row in enumerate(labels):
            is_gone = number not in left
            gone += is_gone
            for column, label, level in zip(case.columns, row, node, strict=True):
                cost += column.weight * (1.0 if is_gone else lost(column, label, level))
        found[node] = (cost / weights, gone)
    return found


def rows_left(case, labels):
    """Return the rows that stand among k by every quasi-identifier, counted among themselves."""
    left = set(range(len(labels)))
    while True:
        small = set()
        for columns in case.quasi_identifiers or (range(len(case.columns)),):
            cells = {number: tuple([labels[number][column] for column in columns]) for number in left}
            sizes = Counter(cells.values())
            small |= {number for number, own in cells.items() if sizes[own] < case.k}
        if not small:
            return left
        left -= small


def lost_steps(column, label, level):
    return level / column.height


def lost_leaves(column, label, level):
    leaves = sum(label == row[level] for row in column.listed)
    return (leaves - 1) / (len(column.listed) - 1)


LOST = {"precision": lost_steps, "loss": lost_leaves}
"""What a cell loses by its label, by measure."""
