"""Doubt: chance raises labels, so that every group of a release may be any k rows below its labels.

The law is tried as it is proved: take a release, give all rows of each group one tuple below its labels, whichever,
and find the draws by which the same algorithm makes the same release of that table.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from dataclasses import dataclass, replace
from itertools import combinations_with_replacement, product
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.typing import NDArray

import indistinct as ix
from brute_force import Case, Column, cases, task_of
from indistinct.algorithms import Task
from indistinct.algorithms import doubt as raising
from indistinct.algorithms.doubt import raise_labels
from indistinct.counting import FrequencyList
from indistinct.draws import Draws
from indistinct.recoding import LocalRecoding
from profiles import examples

DOUBT = 0.5
ALGORITHMS = (ix.Regroup(), ix.Mondrian(), ix.Mondrian(strict=False), ix.KSimilar())
Labels = tuple[str | None, ...]


def groups_of(recoding: LocalRecoding) -> Counter[Labels]:
    """Give the released groups as everybody sees them: labels, and the rows that have them."""
    texts = [
        [labels.texts[code] for code in codes] for labels, codes in zip(recoding.labels, recoding.codes, strict=True)
    ]
    found: Counter[Labels] = Counter()
    for labels, size in zip(zip(*texts, strict=True), recoding.sizes.tolist(), strict=True):
        found[labels] += size
    return found


@dataclass(frozen=True)
class Scripted(Draws):
    """Draws what it is told, by the name of the part."""

    said: Any = None
    name: str = ""

    def part(self, name: str) -> Draws:
        return Scripted(said=self.said, name=name)

    def keys(self, number: int) -> NDArray[np.uint64]:
        return self.said[self.name](number)


def parts_of(rows: int, k: int) -> list[int]:
    """Divide rows into parts of k to 2k - 1."""
    return [k] * (rows // k - 1) + [k + rows % k]


def level_of(column: Column, value: str | None, label: str | None) -> int:
    """Give a level on which a value has a label that covers more than the one below; 0 if it is the value."""
    paths = [column.path(other) for other in column.domain([None])]
    path = column.path(value)

    def covers(level: int) -> int:
        return sum(other[level] == path[level] for other in paths)

    levels = [level for level, own in enumerate(path) if own == label]
    return 0 if 0 in levels else next(level for level in levels if covers(level) > covers(level - 1))


def script(recoding: LocalRecoding, wanted: dict[int, list[tuple[int, Labels]]], case: Case) -> Scripted:
    """Give the draws that divide the tuples of a table and raise the parts to the labels that are wanted.

    ``wanted`` has for each tuple, which is a group of its own, how many of its rows are to have which labels.
    """
    pieces, k = recoding.pieces, case.k
    sizes, fates = [], []
    undivided = [piece for piece in range(len(pieces.rows)) if pieces.rows[piece] < 2 * k]
    undivided.sort(key=lambda piece: int(pieces.groups[piece]))
    for piece in undivided:
        ((_, labels),) = wanted[int(pieces.tuples[piece])]
        fates.append((int(pieces.tuples[piece]), labels))
    for piece in range(len(pieces.rows)):
        if pieces.rows[piece] >= 2 * k:
            own = [(part, labels) for rows, labels in wanted[int(pieces.tuples[piece])] for part in parts_of(rows, k)]
            sizes += [part - k for part, _ in own] + [0] * (int(pieces.rows[piece]) // k - len(own))
            fates += [(int(pieces.tuples[piece]), labels) for _, labels in own]
    frequencies = recoding.frequencies
    levels = np.zeros((len(case.columns), len(fates)))
    for place, (number, labels) in enumerate(fates):
        for at, column in enumerate(case.columns):
            value = frequencies.hierarchies[at].values[frequencies.entry_codes(at)[number]]
            levels[at, place] = level_of(column, value, labels[at])
    # in such a table no label is generalized, so each level has the chance of those that nobody needs
    fate = np.where(levels > 0, (levels - 0.5) * DOUBT * raising.SELDOM, 0.99)
    keys = (fate.ravel() * 2.0**64).astype(np.uint64)

    def raise_parts(number: int) -> NDArray[np.uint64]:
        assert number == keys.size
        return keys

    return Scripted(said={"divided tuples": lambda number: np.array(sizes, np.uint64), "raised labels": raise_parts})


def below(case: Case, labels: Labels) -> st.SearchStrategy[Labels]:
    """Draw a tuple below the labels of a group; where a name stands on two levels it is on the lower one."""
    columns = zip(case.columns, labels, strict=True)
    values = [
        [value for value in (*column.domain([]), None) if label in column.path(value)] for column, label in columns
    ]
    return st.tuples(*map(st.sampled_from, values))


def number_tuples(recoding: LocalRecoding) -> dict[Labels, int]:
    """Give the number of each tuple of a table."""
    frequencies = recoding.frequencies
    columns = [
        [hierarchy.values[code] for code in frequencies.entry_codes(column).tolist()]
        for column, hierarchy in enumerate(frequencies.hierarchies)
    ]
    return {row: number for number, row in enumerate(zip(*columns, strict=True))}


@examples(50)
@given(cases(most_rows=20, most_columns=2), st.sampled_from(ALGORITHMS), st.data())
def test_every_group_of_a_release_may_be_any_one_tuple_below_its_labels(
    case: Case, algorithm: Any, data: st.DataObject
) -> None:
    assume(len(case.rows) >= case.k and all(column.listed for column in case.columns) and case.k > 1)
    task = replace(task_of(case), draws=Draws.of_seed(data.draw(st.integers(0, 999)), b"test"))
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(raising, "SELDOM", 0.2)
        found = raise_labels(task, algorithm.run(task, ix.Watch()), DOUBT)
        released = groups_of(found)
        chosen = {labels: data.draw(below(case, labels)) for labels in released}
        other = replace(case, rows=tuple(chosen[labels] for labels, size in released.items() for _ in range(size)))
        again = task_of(other)
        plain = algorithm.run(again, ix.Watch())
        assert groups_of(plain) == Counter(other.rows)  # it is k-anonymous, and so left as it is
        number_of = number_tuples(plain)
        wanted: defaultdict[int, list[tuple[int, Labels]]] = defaultdict(list)
        for labels, size in released.items():
            wanted[number_of[chosen[labels]]].append((size, labels))
        drawn = replace(again, draws=script(plain, wanted, other))
        assert groups_of(raise_labels(drawn, plain, DOUBT)) == released


@examples(30)
@given(cases(most_rows=24, most_columns=3), st.sampled_from(ALGORITHMS), st.integers(0, 2**32))
def test_labels_are_only_raised_and_groups_never_fall_below_k(case: Case, algorithm: Any, seed: int) -> None:
    assume(len(case.rows) >= case.k)
    task = replace(task_of(case), draws=Draws.of_seed(seed, b"test"))
    try:
        plain = algorithm.run(task, ix.Watch())
    except (ix.InfeasibleError, ix.PolicyError):
        assume(False)
    found = raise_labels(task, plain, DOUBT)
    assert min(groups_of(found).values()) >= case.k
    assert found.suppressed_rows == plain.suppressed_rows
    assert found.pieces.rows.sum() == plain.pieces.rows.sum()
    for column in range(len(case.columns)):
        lowest = LocalRecoding.of_pieces(task.frequencies, found.pieces)
        assert lowest.mean_levels[column] <= found.mean_levels[column] + 1e-9
    assert groups_of(raise_labels(task, plain, DOUBT)) == groups_of(found)  # a seed draws the same again


def test_no_table_of_equal_groups_is_ruled_out_by_trying_all_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is scripted here: all tables of four rows are released again and again, by the secure generator."""
    monkeypatch.setattr(raising, "SELDOM", 0.8)
    column = ix.quasi(ix.levels([[value, "*"] for value in "abc"]), missing="refuse")
    policy = ix.Policy({"q": column}, [ix.KAnonymity(2)], algorithm="mondrian")
    frequencies = {
        rows: FrequencyList.of_codes(
            ["q"], [column.compile(list("abc"))], [np.array(sorted(set(rows)))], np.unique(rows, return_counts=True)[1]
        )
        for rows in combinations_with_replacement(range(3), 4)
    }
    tasks = {rows: Task.of(one, policy) for rows, one in frequencies.items()}
    plain = {rows: ix.Mondrian().run(task, ix.Watch()) for rows, task in tasks.items()}

    def ruled_out(doubt: float, draws: int) -> int:
        seen = {rows: {released(rows, doubt) for _ in range(10 if doubt else 1)} for rows in tasks}
        found = 0
        for groups in set().union(*seen.values()):
            below = [range(3) if labels == ("*",) else ["abc".index(str(labels[0]))] for labels, _ in groups]
            for values in product(*below):
                rows = tuple(
                    sorted(value for value, (_, size) in zip(values, groups, strict=True) for _ in range(size))
                )
                found += groups not in seen[rows] and all(released(rows, doubt) != groups for _ in range(draws))
        return found

    def released(rows: tuple[int, ...], doubt: float) -> tuple[tuple[Labels, int], ...]:
        return tuple(sorted(groups_of(raise_labels(tasks[rows], plain[rows], doubt)).items()))

    assert ruled_out(0.0, 1) > 0
    assert ruled_out(DOUBT, 3000) == 0


TREES = {
    "job": {"*": {"office": ["clerk", "judge"], "care": ["nurse"]}},
    "home": {"*": {"north": ["n1", "n2"], "south": ["s1", "s2"]}},
    "sex": {"*": ["f", "m"]},
}
VALUES = {"job": ["clerk", "judge", "nurse"], "home": ["n1", "n2", "s1", "s2"], "sex": ["f", "m"]}


def asked_of(**options: Any) -> ix.Policy:
    columns = {name: ix.quasi(ix.tree(nodes), missing="refuse") for name, nodes in TREES.items()}
    columns |= {f"true {name}": ix.other() for name in TREES}
    return ix.Policy(columns=columns, privacy=[ix.KAnonymity(3)], algorithm="regroup", options=options)


def people(rows: int = 45) -> pa.Table:
    dice = np.random.default_rng(1)
    cells = {name: dice.choice(values, rows) for name, values in VALUES.items()}
    return pa.table(cells | {f"true {name}": values for name, values in cells.items()})


@pytest.mark.parametrize("name", ["regroup", "mondrian", "k-similar"])
def test_neither_attack_sharpens_a_cell_or_leaves_a_crowd_below_k(name: str) -> None:
    for doubt, is_sharpened in ((0.0, True), (0.1, False)):
        asked = replace(asked_of(doubt=doubt), algorithm=name)
        with ix.anonymize(people(), asked, seed=5) as release:
            assert release.made_with["options"].get("doubt", 0.0) == doubt
            for attack in (ix.attacks.downcoding, ix.attacks.refinement):
                report = attack(release, asked)
                assert report.generalized_cells >= 20
                assert (report.sharpened_cells > 0) is is_sharpened
                assert (report.smallest_crowd < 3) is is_sharpened


def test_options_of_the_run_count_where_the_policy_says_otherwise(tmp_path: Path) -> None:
    with ix.anonymize(people(), asked_of(), algorithm=ix.Regroup(doubt=0.1)) as release:
        folder = release.write(tmp_path / "out")
    assert ix.verify(folder, asked_of()).passed
    assert ix.attacks.downcoding(folder, asked_of()).assumed == {}


def test_who_assumes_lowest_labels_all_the_same_is_sometimes_wrong() -> None:
    """Chance raises some groups of equal rows: it is not true of them that two lower labels occur."""
    asked, behind = asked_of(doubt=0.5), defaultdict[tuple[str, Labels], set[str]](set)
    with ix.anonymize(people(90), asked, seed=3) as release:
        report = ix.attacks.downcoding(release, asked, assume=["lowest-labels"], most=1_000)
        for row in release.table.to_pylist():
            for name in TREES:
                behind[name, tuple(row[other] for other in TREES)].add(row[f"true {name}"])
    claims = [(one.column, tuple(one.group.values())) for one in report.findings if one.group is not None]
    assert 0 < sum(len(behind[claim]) == 1 for claim in claims) < len(claims)


def test_a_label_with_one_value_below_it_is_never_raised_to() -> None:
    for seed in range(5):
        with ix.anonymize(people(), asked_of(doubt=0.5), seed=seed) as release:
            assert "care" not in release.table["job"].to_pylist()


@pytest.mark.parametrize("name", ["regroup", "k-similar"])
def test_a_release_tells_nothing_that_compares_with_what_lies_below(name: str, tmp_path: Path) -> None:
    with ix.anonymize(people(), replace(asked_of(doubt=0.1), algorithm=name)) as release:
        folder = release.write(tmp_path / "out")
    said = json.loads((folder / "manifest.json").read_text("utf-8"))
    assert set(said["measures"]) == {"precision", "discernibility", "average-group-size", "distinct-tuples"}
    assert not {"gap", "bound", "is_proven"} & set(said)


def test_a_report_draws_what_the_release_tells(tmp_path: Path) -> None:
    asked = replace(asked_of(), algorithm="lattice", options={"measure": "loss"})
    with ix.anonymize(people(), asked, algorithm=ix.Regroup(doubt=0.1)) as release:
        release.report(tmp_path / "report.html", original=people())
    assert "Best precision by k" in (tmp_path / "report.html").read_text("utf-8")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"doubt": 0.9}, "doubt: must be a number from 0 to 0.5, got 0.9"),
        ({"doubt": "much"}, "doubt: must be a number from 0 to 0.5"),
        ({"doubt": 0.1, "labels": "ranges"}, "doubt: needs labels = 'hierarchy'"),
    ],
)
def test_what_cannot_be_doubted_is_refused(options: dict[str, Any], message: str) -> None:
    for algorithm in (ix.Regroup, ix.Mondrian):
        with pytest.raises(ix.PolicyError, match=message):
            algorithm(**options)


def test_few_known_columns_and_doubt_do_not_go_together() -> None:
    asked = replace(asked_of(doubt=0.1), privacy=[ix.KAnonymity(3, known=1)])
    with pytest.raises(ix.PolicyError, match="doubt: where few columns are known"):
        ix.anonymize(people(), asked)
