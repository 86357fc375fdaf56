"""RandomRaise: what releases look like of which chance raised some labels; tests/laws has the law."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.typing import NDArray

import indistinct as ix
from helpers.brute_force import Case, Column, cases, task_of
from helpers.profiles import examples
from indistinct.counting import Groups
from indistinct.randomness import Draws
from indistinct.recoding import LocalRecoding
from indistinct.search.local.groups.random_raise import raise_labels


@dataclass(frozen=True)
class Odd(ix.PrivacyModel):
    """Two groups of an odd number of rows are no such group."""

    name: ClassVar[str] = "odd"

    def satisfied(self, groups: Groups) -> NDArray[np.bool_]:
        return groups.sizes % 2 == 1


RANDOM_RAISE = 0.5
ALGORITHMS = (ix.Regroup(), ix.Mondrian(), ix.Mondrian(strict=False), ix.KSimilar())
Labels = tuple[str | None, ...]


def groups_of(recoding: LocalRecoding) -> Counter[Labels]:
    """Return the released groups as everybody sees them: labels, and the rows that have them."""
    texts = [
        [labels.texts[code] for code in codes] for labels, codes in zip(recoding.labels, recoding.codes, strict=True)
    ]
    found: Counter[Labels] = Counter()
    for labels, size in zip(zip(*texts, strict=True), recoding.sizes.tolist(), strict=True):
        found[labels] += size
    return found


@pytest.mark.slow
@examples(30)
@given(cases(most_rows=24, most_columns=3), st.sampled_from(ALGORITHMS), st.integers(0, 2**32))
def test_labels_are_only_raised_and_groups_never_fall_below_k(case: Case, algorithm: Any, seed: int) -> None:
    assume(len(case.rows) >= case.k)
    task = replace(task_of(case), draws=Draws.of_seed(seed, b"test"))
    try:
        plain = algorithm.run(task, ix.Watch())
    except (ix.InfeasibleError, ix.PolicyError):
        assume(False)
    found = raise_labels(task, plain, RANDOM_RAISE)
    assert min(groups_of(found).values()) >= case.k
    assert found.suppressed_rows == plain.suppressed_rows
    assert found.pieces.rows.sum() == plain.pieces.rows.sum()
    for column in range(len(case.columns)):
        lowest = LocalRecoding.of_pieces(task.frequencies, found.pieces)
        assert lowest.mean_levels[column] <= found.mean_levels[column] + 1e-9
    assert groups_of(raise_labels(task, plain, RANDOM_RAISE)) == groups_of(found)  # a seed draws the same again


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


@pytest.mark.slow
@pytest.mark.parametrize("name", ["regroup", "mondrian", "k-similar"])
def test_neither_attack_sharpens_a_cell_or_leaves_a_crowd_below_k(name: str) -> None:
    for random_raise, is_sharpened in ((0.0, True), (0.1, False)):
        asked = replace(asked_of(random_raise=random_raise), algorithm=name)
        with ix.anonymize(people(), asked, seed=5) as release:
            assert release.made_with.options.get("random_raise", 0.0) == random_raise
            for attack in (ix.attacks.downcoding, ix.attacks.refinement):
                report = attack(release, asked)
                assert report.generalized_cells >= 20
                assert (report.sharpened_cells > 0) is is_sharpened
                assert (report.smallest_crowd < 3) is is_sharpened


@pytest.mark.parametrize(("random_raise", "is_sharpened"), [(0.0, True), (0.1, False)])
def test_a_table_without_a_manifest_is_attacked_as_its_policy_says(random_raise: float, is_sharpened: bool) -> None:
    asked = asked_of(random_raise=random_raise)
    with ix.anonymize(people(), asked, seed=5) as release:
        report = ix.attacks.downcoding(release.table, asked)
        assert (report.sharpened_cells > 0) is is_sharpened
        assert ix.attacks.downcoding(release.table, asked, assume=["lowest-labels"]).sharpened_cells > 0


@pytest.mark.slow
@pytest.mark.parametrize("person", [None, "person"], ids=["rows", "people"])
def test_nor_does_one_where_values_and_people_are_asked_about(person: str | None) -> None:
    dice = np.random.default_rng(2)
    table = people(90).append_column("ill", pa.array(dice.choice(["flu", "gout", "HIV"], 90)))
    table = table.append_column("person", pa.array(dice.integers(0, 60, 90)))
    plain = asked_of()
    columns = {**plain.columns, "ill": ix.sensitive(), "person": ix.identifier()}
    privacy = [ix.KAnonymity(3), ix.LDiversity(2)]
    for random_raise, is_sharpened in ((0.0, True), (0.1, False)):
        asked = replace(plain, columns=columns, privacy=privacy, person=person, options={"random_raise": random_raise})
        with ix.anonymize(table, replace(asked, one_row_per_person=person is None), seed=5) as release:
            for attack in (ix.attacks.downcoding, ix.attacks.refinement):
                report = attack(release, release.policy)
                assert (report.sharpened_cells > 0) is is_sharpened
                assert (report.smallest_crowd < 3) is is_sharpened


def test_options_of_the_run_count_where_the_policy_says_otherwise(tmp_path: Path) -> None:
    with ix.anonymize(people(), asked_of(), algorithm=ix.Regroup(random_raise=0.1)) as release:
        folder = release.write(tmp_path / "out")
    assert ix.verify(folder, asked_of()).passed
    assert ix.attacks.downcoding(folder, asked_of()).assumed == {}


def test_who_assumes_lowest_labels_all_the_same_is_sometimes_wrong() -> None:
    """Chance raises some groups of equal rows: it is not true of them that two lower labels occur."""
    asked, behind = asked_of(random_raise=0.5), defaultdict[tuple[str, Labels], set[str]](set)
    with ix.anonymize(people(90), asked, seed=5) as release:
        report = ix.attacks.downcoding(release, asked, assume=["lowest-labels"], most=1_000)
        for row in release.table.to_pylist():
            for name in TREES:
                behind[name, tuple(row[other] for other in TREES)].add(row[f"true {name}"])
    claims = [(one.column, tuple(one.group.values())) for one in report.findings if one.group is not None]
    assert 0 < sum(len(behind[claim]) == 1 for claim in claims) < len(claims)


@pytest.mark.slow
def test_a_label_with_one_value_below_it_is_never_raised_to() -> None:
    for seed in range(5):
        with ix.anonymize(people(), asked_of(random_raise=0.5), seed=seed) as release:
            assert "care" not in release.table["job"].to_pylist()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["regroup", "k-similar"])
def test_a_release_tells_nothing_that_compares_with_what_lies_below(name: str, tmp_path: Path) -> None:
    with ix.anonymize(people(), replace(asked_of(random_raise=0.1), algorithm=name)) as release:
        folder = release.write(tmp_path / "out")
    said = json.loads((folder / "manifest.json").read_text("utf-8"))
    assert set(said["measures"]) == {"precision", "discernibility", "average-group-size", "distinct-tuples"}
    assert not {"gap", "bound", "is_proven"} & set(said)


def test_a_release_does_not_tell_that_time_was_up() -> None:
    """It never is for a table that is left as it is, so it would tell that this one was not."""
    for random_raise in (0.0, 0.1):
        with ix.anonymize(
            people(), asked_of(), algorithm=ix.Mondrian(random_raise=random_raise), watch=ix.Watch(time_limit=1e-9)
        ) as release:
            assert release.recoding.is_cut_short
            assert (release.facts.is_cut_short is not None) is (random_raise == 0.0)


@pytest.mark.slow
def test_a_report_draws_what_the_release_tells(tmp_path: Path) -> None:
    asked = replace(asked_of(), algorithm="lattice", options={"measure": "loss"})
    with ix.anonymize(people(), asked, algorithm=ix.Regroup(random_raise=0.1)) as release:
        release.report(tmp_path / "report.html", original=people())
    assert "Best precision by k" in (tmp_path / "report.html").read_text("utf-8")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"random_raise": 0.9}, "random_raise: must be a number from 0 to 0.5, got 0.9"),
        ({"random_raise": "much"}, "random_raise: must be a number from 0 to 0.5"),
        ({"random_raise": 0.1, "labels": "ranges"}, "random_raise: needs labels = 'hierarchy'"),
    ],
)
def test_what_cannot_be_raised_is_refused(options: dict[str, Any], message: str) -> None:
    for algorithm in (ix.Regroup, ix.Mondrian):
        with pytest.raises(ix.PolicyError, match=message):
            algorithm(**options)


def test_few_known_columns_and_random_raise_do_not_go_together() -> None:
    asked = replace(asked_of(random_raise=0.1), privacy=[ix.KAnonymity(3, known=1)])
    with pytest.raises(ix.PolicyError, match="random_raise: where few columns are known"):
        ix.anonymize(people(), asked)


@pytest.mark.parametrize(
    ("model", "person", "message"),
    [
        (ix.LDiversity(2, "entropy"), "person", "so many people or values where people have several rows; leave"),
        (Odd(), None, "could spoil a model that asks for more than so many people or values; leave random_raise out"),
    ],
)
def test_models_that_becoming_one_could_spoil_are_refused(
    model: ix.PrivacyModel, person: str | None, message: str
) -> None:
    case = Case(
        (Column("q", (("a", "*"), ("b", "*"))),),
        (("a",), ("a",), ("b",)),
        1,
        persons=("p", "q", "r") if person else None,
    )
    plain = task_of(case)
    asked = tuple(replace(one, models=(model,)) for one in plain.requirements)
    with pytest.raises(ix.PolicyError, match=message):
        ix.Mondrian(random_raise=0.1).run(replace(plain, requirements=asked), ix.Watch())
