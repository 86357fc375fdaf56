"""Privacy models at their edges: what each refuses, says of itself and judges where one more row would change it.

Every number here is small enough to be checked by hand; the laws and the definitions are in test_models.py.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import pytest

import indistinct as ix
from indistinct.array_types import BoolArray
from indistinct.counting import FixedPopulationCounts, Groups, Tally
from indistinct.policy import Column
from indistinct.privacy import model as models
from indistinct.privacy.models import sampled_groups
from indistinct.privacy.models.m_invariance import Signed

Counts = Mapping[str | None, int]


def counted(*groups: Counts, column: str = "ill", whole: int = 0, hierarchy: ix.Hierarchy | None = None) -> Groups:
    """Return groups by the counts of their sensitive values; ``whole`` people have them where it is not 0."""
    texts = sorted({value for group in groups for value in group}, key=lambda text: (text is None, text or ""))
    entries = [
        (number, texts.index(value), count) for number, group in enumerate(groups) for value, count in group.items()
    ]
    places, codes, counts = (np.array([entry[at] for entry in entries], np.int64) for at in range(3))
    tally = Tally.of(places, codes, counts, texts, None if hierarchy is None else hierarchy.compile(texts))
    return Groups.of_sizes([sum(group.values()) for group in groups], {column: replace(tally, whole=whole)})


def told(model: ix.PrivacyModel, *groups: Counts, **more: Any) -> list[bool]:
    return [bool(one) for one in model.satisfied(counted(*groups, **more))]


# What is refused


@pytest.mark.parametrize(
    ("check", "good", "bad"),
    [
        (models.check_whole, [1, 2, 10**9], [0, -1, 1.0, 2.5, True, False, "2", None, math.nan]),
        (models.check_share, [1, 1.0, 0.5, 1e-12], [0, 0.0, -0.5, 1.0000001, 2, True, "0.5", None, math.nan]),
        (models.check_positive, [1e-12, 1, 1e300], [0, -1, math.inf, -math.inf, math.nan, True, "1", None]),
    ],
)
def test_parameters_are_refused_at_their_edges(check: Any, good: list[Any], bad: list[Any]) -> None:
    for value in good:
        check("name", value)
    for value in bad:
        with pytest.raises(ix.PolicyError, match="name must"):
            check("name", value)


def test_a_least_number_and_choices_are_said() -> None:
    models.check_whole("m", 2, least=2)
    with pytest.raises(ix.PolicyError, match="m must be a whole number of at least 2, got 1"):
        models.check_whole("m", 1, least=2)
    models.check_choice("kind", "c", ("a", "b", "c"))
    with pytest.raises(ix.PolicyError, match="kind must be 'a', 'b' or 'c', got 'd'"):
        models.check_choice("kind", "d", ("a", "b", "c"))


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: ix.KAnonymity(0), "k must"),
        (lambda: ix.KAnonymity(2, known=0), "known must"),
        (lambda: ix.AlphaK(0.5, 0), "k must"),
        (lambda: ix.AlphaK(0, 2), "alpha must lie"),
        (lambda: ix.AlphaK({}, 2), "alpha must be a share"),
        (lambda: ix.AlphaK({1: 0.5}, 2), "alpha names values by their text"),  # type: ignore[dict-item]
        (lambda: ix.AlphaK({"a": 0.5, "b": 2}, 2), "alpha must lie"),
        (lambda: ix.LDiversity(0), "l must"),
        (lambda: ix.LDiversity(2, "most"), "kind must"),  # type: ignore[arg-type]
        (lambda: ix.LDiversity(2, "recursive"), "c must"),
        (lambda: ix.LDiversity(2, "entropy", 2.0), "c belongs to kind = 'recursive', not to 'entropy'"),
        (lambda: ix.PSensitive(0, 2), "p must"),
        (lambda: ix.PSensitive(2, 0), "k must"),
        (lambda: ix.TCloseness(0), "t must"),
        (lambda: ix.TCloseness(0.5, "near"), "distance must"),  # type: ignore[arg-type]
        (lambda: ix.BetaLikeness(0), "beta must"),
        (lambda: ix.DeltaDisclosure(0), "delta must"),
        (lambda: ix.ProsecutorRisk(0), "at_most must"),
        (lambda: ix.AverageRisk(0), "at_most must"),
        (lambda: ix.MInvariance(1), "m must be a whole number of at least 2"),
        (lambda: ix.KMap(0, "people.csv"), "k must"),
        (lambda: ix.KMap(2, None), "population must"),
        (lambda: ix.KMap(2, ""), "population must"),
        (lambda: ix.KAnonymity.at_level(-0.001, 10), "between 0 and 1"),
        (lambda: ix.KAnonymity.at_level(1.001, 10), "between 0 and 1"),
        (lambda: ix.DifferentialPrivacy(0, 1e-5), "epsilon must be a number above 0"),
        (lambda: ix.DifferentialPrivacy(1, 0), "delta must be a number above 0"),
        (lambda: ix.DifferentialPrivacy(20.001, 1e-5), "epsilon must be at most 20"),
        (lambda: ix.DifferentialPrivacy(1, 0.51), "delta must lie between 1e-30 and 0.5"),
        (lambda: ix.DifferentialPrivacy(1, 9e-31), "delta must lie between"),
        (lambda: ix.DifferentialPrivacy(1, 1e-5, for_levels=1), "for_levels must be"),
        (lambda: ix.DifferentialPrivacy(1, 1e-5, for_levels=-0.01), "for_levels must be"),
        (lambda: ix.DifferentialPrivacy(1, 1e-5, for_levels="0.1"), "for_levels must be"),  # type: ignore[arg-type]
        (lambda: ix.DifferentialPrivacy(1, 1e-5, sampled=0), "sampled must be a number above 0"),
        (lambda: ix.DifferentialPrivacy(1, 1e-5, sampled=0.0009), "sampled must lie between 0.001 and 0.6132"),
        (lambda: ix.DifferentialPrivacy(1, 1e-5, sampled=0.6133), "sampled must lie between 0.001 and 0.6132"),
        (lambda: ix.DifferentialPrivacy(0.001, 1e-5), "epsilon is too small"),
    ],
)
def test_models_are_refused_at_their_edges(make: Any, words: str) -> None:
    with pytest.raises(ix.PolicyError, match=words):
        make()


def test_models_are_made_up_to_their_edges() -> None:
    assert ix.KAnonymity(1, known=1).k == 1
    assert ix.KAnonymity(1).column_sets(["a", "b"]) == [("a", "b")]
    assert ix.KAnonymity.at_level(0, 54_805).k == 1
    assert ix.KAnonymity.at_level(1, 54_805).k == 493
    assert ix.KAnonymity.at_level(1, 1_000_000).k == 9_000
    assert ix.KAnonymity.at_level(0.6, 54_805, "neighbour") == ix.KAnonymity(274, "neighbour")
    assert ix.AlphaK(1, 1).alpha == 1
    assert ix.DifferentialPrivacy(20, 0.5, sampled=0.001).k == 1
    assert ix.DifferentialPrivacy(20, 1e-30).delta == 1e-30
    assert ix.DifferentialPrivacy(1, 1e-5, for_levels=0).epsilon_of_rows == 1
    assert ix.DifferentialPrivacy(1, 1e-5, sampled=0.001).share == 0.001
    assert ix.DifferentialPrivacy(1, 1e-5, sampled=0.6132).share == 0.6132
    assert ix.DifferentialPrivacy(1, 1e-5).share == 0.6132
    assert ix.DifferentialPrivacy(0.00101, 1e-5, for_levels=0).share == 0.001


# What models say of themselves


@dataclass(frozen=True, slots=True)
class Plain(ix.PrivacyModel):
    """A model that says nothing of itself."""

    name: ClassVar[str] = "plain"

    on: str | None = None
    noted: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "noted", 1)

    def satisfied(self, groups: Groups) -> BoolArray:
        return np.ones(len(groups), np.bool_)


def test_a_model_that_says_nothing_promises_nothing() -> None:
    plain = Plain()
    assert plain.floor is None
    assert plain.alone is plain
    assert plain.least_rows == models.least_rows(plain) == 1
    assert plain.column_sets(["a", "b"]) == [("a", "b")]
    assert plain.objection(counted({"a": 1})) is None
    assert plain.objections_to(None) == []
    assert plain.describe() == {"model": "plain"}
    assert plain.holds(counted({"a": 1})).tolist() == [True]
    assert plain.in_words() == "The model plain holds."
    assert Plain("work").in_words() == "The model plain holds (on the quasi-identifier work)."
    assert plain.in_words("people") == "The model plain holds (counted in people)."
    with pytest.raises(LookupError, match="plain asks about no population"):
        _ = plain.population_id


@pytest.mark.parametrize(
    ("model", "rows", "people"),
    [
        (
            ix.KAnonymity(5, "work"),
            "Each person is hidden among at least 5 rows that look alike (on the quasi-identifier work).",
            "Each person is hidden among at least 5 people that look alike (on the quasi-identifier work).",
        ),
        (
            ix.KAnonymity(5, "work", known=1),
            "Whoever knows at most 1 quasi column of a person finds at least 5 rows that look alike in it (on the "
            "quasi-identifier work).",
            "Whoever knows at most 1 quasi column of a person finds at least 5 people that look alike in it (on the "
            "quasi-identifier work).",
        ),
        (
            ix.KAnonymity(5, known=2),
            "Whoever knows at most 2 quasi columns of a person finds at least 5 rows that look alike in these.",
            "Whoever knows at most 2 quasi columns of a person finds at least 5 people that look alike in these.",
        ),
        (
            ix.LDiversity(2, "entropy", column="ill"),
            "Every group has at least 2 sensitive values (kind = entropy, column = ill).",
            "Every group has at least 2 sensitive values (kind = entropy, column = ill, counted in people).",
        ),
        (
            ix.AlphaK({"b": 0.5, "a": 0.25}, 2),
            "Each person is hidden among at least 2 rows that look alike, and none of 2 sensitive values makes up "
            "more than its own share, 0.25 to 0.5, of them.",
            "Each person is hidden among at least 2 people that look alike, and none of 2 sensitive values makes up "
            "more than its own share, 0.25 to 0.5, of them.",
        ),
        (
            ix.KMap(3, "lists/people.csv", on="work"),
            "Each released combination fits at least 3 people of a population (population = people.csv, on the "
            "quasi-identifier work).",
            "Each released combination fits at least 3 people of a population (population = people.csv, on the "
            "quasi-identifier work).",
        ),
    ],
    ids=lambda given: given.name if isinstance(given, ix.PrivacyModel) else "",
)
def test_models_in_words(model: ix.PrivacyModel, rows: str, people: str) -> None:
    assert model.in_words() == rows
    assert model.in_words("people") == people


def test_a_description_has_what_differs_from_the_default() -> None:
    assert ix.LDiversity(2).describe() == {"model": "l-diversity", "l": 2}
    assert ix.LDiversity(2, "recursive", 3.0, "ill", "work").describe() == {
        "model": "l-diversity",
        "l": 2,
        "kind": "recursive",
        "c": 3.0,
        "column": "ill",
        "on": "work",
    }
    limits = ix.AlphaK({"b": 0.5, "a": 0.25}, 2)
    assert limits.describe() == {"model": "alpha-k", "alpha": {"b": 0.5, "a": 0.25}, "k": 2}
    assert type(limits.describe()["alpha"]) is dict
    assert limits.terms() == {"model": "alpha-k", "alpha": [0.25, 0.5], "k": 2}


@pytest.mark.parametrize(
    ("model", "floor", "least"),
    [
        (ix.KAnonymity(3), ix.KAnonymity(3), 3),
        (ix.AlphaK(0.25, 2, on="work"), ix.KAnonymity(4, "work"), 4),
        (ix.AlphaK(0.25, 9), ix.KAnonymity(9), 9),
        (ix.AlphaK(0.3, 1), ix.KAnonymity(4), 4),
        (ix.AlphaK({"a": 0.1}, 2, on="work"), ix.KAnonymity(2, "work"), 2),
        (ix.LDiversity(3), ix.LDiversity(3), 1),
        (ix.LDiversity(3, "entropy", column="ill", on="work"), ix.LDiversity(3, column="ill", on="work"), 1),
        (ix.PSensitive(2, 3), ix.PSensitive(2, 3), 3),
        (ix.MInvariance(3, "ill", "work"), ix.PSensitive(3, 3, "ill", "work"), 3),
        (ix.ProsecutorRisk(0.3), ix.ProsecutorRisk(0.3), 4),
        (ix.ProsecutorRisk(0.25), ix.ProsecutorRisk(0.25), 4),
        (ix.AverageRisk(0.25), None, 1),
        (ix.TCloseness(0.25), None, 1),
        (ix.KMap(3, "people.csv"), ix.KMap(3, "people.csv"), 1),
    ],
    ids=lambda given: repr(given)[:40],
)
def test_the_floor_of_each_model(model: ix.PrivacyModel, floor: ix.PrivacyModel | None, least: int) -> None:
    assert model.floor == floor
    assert models.least_rows(model) == least


def test_average_risk_alone_is_that_of_the_prosecutor() -> None:
    assert ix.AverageRisk(0.25, "work").alone == ix.ProsecutorRisk(0.25, "work")
    assert not ix.LDiversity(2, "entropy").is_monotone
    assert ix.LDiversity(2).is_monotone


def test_a_population_is_known_by_path_link_and_identifier() -> None:
    table = object()
    assert ix.KMap(2, "a.csv").population_id == "a.csv"
    assert ix.KMap(2, "a.csv", {"x": "y"}).population_id == "a.csv by {'x': 'y'}"
    assert ix.KMap(2, table).population_id == f"table {id(table)}"
    assert ix.KMap(2, table).paths is None
    moved = ix.KMap(2, Path("a.csv"), on="work").relative_to(Path("folder"))
    assert moved.paths == (Path("folder/a.csv"),)
    assert moved.population_id == "folder/a.csv"
    assert moved == ix.KMap(2, "folder/a.csv", on="work")
    assert hash(moved) == hash(ix.KMap(2, "folder/a.csv", on="work"))
    assert moved != ix.KMap(2, "folder/a.csv")
    assert moved != ix.KMap(3, "folder/a.csv", on="work")
    assert moved != ix.KMap(2, "folder/b.csv", on="work")
    assert moved != "k-map"
    assert moved.describe() == {"model": "k-map", "k": 2, "population": "a.csv", "on": "work"}
    assert ix.KMap(2, "x/a.csv", {"x": "y"}).describe() == {
        "model": "k-map",
        "k": 2,
        "population": "x/a.csv",
        "link": {"x": "y"},
    }
    assert ix.KMap(2, "x/a.csv").terms() == {"model": "k-map", "k": 2, "population": "a.csv"}
    assert ix.KMap(2, table).describe()["population"] == "a table in memory"
    links = {"x": "y"}
    linked = ix.KMap(2, "a.csv", links)
    links["x"] = "z"
    assert linked.link == {"x": "y"}


def test_k_map_counts_people_and_not_rows() -> None:
    model = ix.KMap(2, "people.csv")
    populations = {model.population_id: FixedPopulationCounts(np.array([1, 2, 3, 0]))}
    groups = Groups.of_sizes([9, 1, 1, 0], populations=populations)
    with pytest.raises(LookupError, match="without the people of its population"):
        model.satisfied(Groups.of_sizes([9]))
    assert model.satisfied(groups).tolist() == [False, True, True, True]
    assert "only 6 people of the population" in str(model.objection(groups))


# Shares


def test_shares_of_rows_and_of_people() -> None:
    """Ten rows in two groups; then the same counts of people, of whom some have both values."""
    groups = counted({"a": 1, "b": 3}, {"a": 6})
    tally = groups.tallies["ill"]
    assert models.shares_of_table(tally).tolist() == [0.7, 0.3]
    assert models.spread_of_table(tally).tolist() == [0.7, 0.3]
    assert models.shares_of_groups(tally, groups).tolist() == [0.25, 0.75, 1.0]
    assert models.spread_of_groups(tally, groups).tolist() == [0.25, 0.75, 1.0]
    assert models.counts_of_groups(tally, groups).tolist() == [4, 6]
    people = replace(groups, sizes=np.array([2, 6]))  # two people of the first group have both
    tally = replace(tally, whole=8)
    assert models.shares_of_table(tally).tolist() == [7 / 8, 3 / 8]
    assert models.spread_of_table(tally).tolist() == [0.7, 0.3]
    assert models.shares_of_groups(tally, people).tolist() == [0.5, 1.5, 1.0]
    assert models.spread_of_groups(tally, people).tolist() == [0.25, 0.75, 1.0]
    assert models.counts_of_groups(tally, people).tolist() == [4, 6]
    nobody = replace(tally, whole=0, totals=np.array([0, 0]))
    assert models.shares_of_table(nobody).tolist() == models.spread_of_table(nobody).tolist() == [0, 0]
    single = replace(tally, whole=0, totals=np.array([1, 0]))
    assert models.shares_of_table(single).tolist() == models.spread_of_table(single).tolist() == [1, 0]


def test_a_model_looks_at_its_own_column_alone() -> None:
    one, other = counted({"a": 2}, {"a": 1, "b": 1}), counted({"x": 1, "y": 1}, {"x": 2}, column="job")
    both = replace(one, tallies={**one.tallies, **other.tallies})
    assert ix.LDiversity(2).satisfied(both).tolist() == [False, False]
    assert ix.LDiversity(2, column="ill").satisfied(both).tolist() == [False, True]
    assert ix.PSensitive(2, 2, column="job").satisfied(both).tolist() == [True, False]
    assert ix.AlphaK(0.5, 2, column="job").satisfied(both).tolist() == [True, False]
    with pytest.raises(LookupError, match="without a tally"):
        ix.LDiversity(2, column="town").satisfied(both)


# Verdicts at their edges


@pytest.mark.parametrize(
    ("model", "groups", "verdict"),
    [
        (ix.KAnonymity(3), [{"a": 2}, {"a": 3}, {}], [0, 1, 1]),
        (ix.AlphaK(0.5, 2), [{"a": 1, "b": 1}, {"a": 2, "b": 1}, {"a": 1}, {}], [1, 0, 0, 1]),
        (ix.AlphaK({"a": 0.5}, 2), [{"a": 1, "b": 1}, {"a": 2, "b": 1}, {"b": 5}, {None: 3}], [1, 0, 1, 1]),
        (ix.PSensitive(2, 3), [{"a": 2, "b": 1}, {"a": 1, "b": 1}, {"a": 3}, {}], [1, 0, 0, 1]),
        (ix.LDiversity(2), [{"a": 1, "b": 1}, {"a": 9}, {}], [1, 0, 1]),
        (ix.LDiversity(2, "entropy"), [{"a": 5, "b": 5}, {"a": 6, "b": 5}, {"a": 9, "b": 9, "c": 1}, {}], [1, 0, 1, 1]),
        # the most frequent against c times all from the second on: 3 < 1.5 · 2 is no, 3 < 1.5 · 3 is yes
        (ix.LDiversity(2, "recursive", 1.5), [{"a": 3, "b": 2}, {"a": 3, "b": 2, "c": 1}, {}], [0, 1, 1]),
        # all from the third on
        (ix.LDiversity(3, "recursive", 3), [{"a": 3, "b": 2, "c": 1}, {"a": 2, "b": 2, "c": 1}, {"b": 3}], [0, 1, 0]),
        (ix.MInvariance(2), [{"a": 1, "b": 1}, {"a": 2, "b": 1}, {"a": 1}, {}], [1, 0, 0, 1]),
        (ix.ProsecutorRisk(0.3), [{"a": 3}, {"a": 4}, {}], [0, 1, 1]),
        (ix.AverageRisk(0.25), [{"a": 1}, {"a": 7}, {}], [1, 1, 1]),
        (ix.AverageRisk(0.25), [{"a": 1}, {"a": 6}], [0, 1]),
        (ix.AverageRisk(0.25), [{"a": 3}, {"a": 3}], [0, 0]),
        (ix.AverageRisk(0.25), [{"a": 2}, {"a": 2}, {"a": 8}, {"a": 8}], [1, 1, 1, 1]),
        (ix.AverageRisk(0.5), [{"a": 1}], [0]),
        (ix.AverageRisk(1.0), [{"a": 1}], [1]),
        # a has 3 of 8 rows of the table; 3/4 is twice that, 1/2 a third more
        (ix.BetaLikeness(1.0), [{"a": 3, "b": 1}, {"b": 4}], [1, 1]),
        (ix.BetaLikeness(0.99), [{"a": 3, "b": 1}, {"b": 4}], [0, 1]),
        # -ln(5/8) is 0.47, less than b's gain of 0.6 in the second
        (ix.BetaLikeness(1.0, enhanced=True), [{"a": 3, "b": 1}, {"b": 4}], [0, 0]),
        # a third more of a is less than -ln(3/8), a fifth more of b less than -ln(5/8)
        (ix.BetaLikeness(1.0, enhanced=True), [{"a": 2, "b": 2}, {"a": 1, "b": 3}], [1, 1]),
        # ln(3/4 / 3/8) is 0.693
        (ix.DeltaDisclosure(0.92), [{"a": 3, "b": 1}, {"b": 4}, {}], [1, 0, 1]),
        (ix.DeltaDisclosure(0.91), [{"a": 3, "b": 1}, {"b": 4}], [0, 0]),
        (ix.DeltaDisclosure(0.69), [{"a": 3, "b": 2}, {"a": 1, "b": 1}], [1, 1]),
        # strictly: a is just twice as frequent in the first
        (ix.DeltaDisclosure(math.log(2)), [{"a": 1, "b": 1}, {"a": 1, "b": 5}], [0, 1]),
        (ix.DeltaDisclosure(5.0), [{"a": 3, "b": 1}, {"a": 1, "b": 3}], [1, 1]),
        # 3/8 more of a
        (ix.TCloseness(0.375), [{"a": 3, "b": 1}, {"b": 4}, {}], [1, 1, 1]),
        (ix.TCloseness(0.374), [{"a": 3, "b": 1}, {"b": 4}, {}], [0, 0, 1]),
    ],
    ids=lambda given: f"{given!r}"[:50],
)
def test_verdicts_where_one_row_decides(model: ix.PrivacyModel, groups: list[Counts], verdict: list[int]) -> None:
    assert told(model, *groups) == [bool(one) for one in verdict]


def test_a_value_that_nobody_of_the_table_has_is_no_gain() -> None:
    groups = counted({"a": 2, "b": 2})
    tally = groups.tallies["ill"]
    lacking = replace(groups, tallies={"ill": replace(tally, totals=np.array([4, 0]))})
    assert ix.BetaLikeness(1.0).satisfied(lacking).tolist() == [False]  # the group has it all the same
    assert ix.BetaLikeness(1.0, enhanced=True).satisfied(lacking).tolist() == [False]
    empty = replace(tally, counts=np.array([4, 0]), totals=np.array([4, 0]))
    assert ix.BetaLikeness(1.0).satisfied(replace(groups, tallies={"ill": empty})).tolist() == [True]
    assert ix.BetaLikeness(1.0, enhanced=True).satisfied(replace(groups, tallies={"ill": empty})).tolist() == [True]


def test_signed_holds_for_every_group() -> None:
    assert Signed("ill").satisfied(counted({"a": 1}, {"b": 2})).tolist() == [True, True]


def distances(model: ix.TCloseness, *groups: Counts, **more: Any) -> list[float]:
    made = counted(*groups, **more)
    return [float(one) for one in model.distances("ill", made.tallies["ill"], made)]


def test_distances_that_can_be_moved_by_hand() -> None:
    equal, ordered = ix.TCloseness(1), ix.TCloseness(1, "ordered")
    assert distances(equal, {"1": 2}, {"2": 1, "3": 1}) == [0.5, 0.5]
    # of the table's 1, 1, 2, 3 the first group has only 1: 1/4 moves one step of two, and 1/4 two
    assert distances(ordered, {"1": 2}, {"2": 1, "3": 1}) == pytest.approx([0.375, 0.375])
    # a missing value is the last: of 1, 1, 2, none the group of none moves 1/2 two steps of two, and 1/4 one
    assert distances(ordered, {"1": 2, "2": 1}, {None: 1}) == pytest.approx([1 / 6 + 1 / 24, 0.625])
    assert distances(ordered, {"1": 3}, {"1": 1}) == [0, 0]
    assert distances(ordered, {"1": 1}, {"2": 1}) == [0.5, 0.5]
    nothing = counted({"1": 1}).without(np.array([True]))
    assert ordered.distances("ill", nothing.tallies["ill"], nothing).tolist() == [0]
    assert distances(ordered, {}) == [0]
    assert distances(ordered, {"1": 1}) == [0]
    days = ix.dates("year", format="%m/%d/%Y")  # as texts 9/1 comes after 10/1
    found = distances(ordered, {"9/1/2001": 1}, {"9/2/2001": 1, "10/1/2001": 1}, hierarchy=days)
    assert found == pytest.approx([0.5, 0.25])
    assert distances(ordered, {"9": 1, "10": 1}, {"9": 1, "10": 1}) == [0, 0]
    with pytest.raises(ix.PolicyError, match="needs numbers, or a hierarchy of dates"):
        distances(ordered, {"1": 1, "x": 1})
    with pytest.raises(ix.PolicyError, match="needs numbers, or a hierarchy of dates"):
        distances(ordered, {"x": 1}, hierarchy=ix.levels([["x", "any"]]))


@pytest.mark.slow
def test_a_table_without_rows_is_reported_as_such() -> None:
    policy = ix.Policy({"q": ix.quasi(ix.suppress()), "n": ix.sensitive()}, [ix.TCloseness(0.5, "ordered")])
    empty = pa.table({name: pa.array([], pa.string()) for name in ("q", "n")})
    assert "0 eligible rows" in str(ix.check(empty, policy))


def test_distances_up_a_hierarchy() -> None:
    tree = ix.tree({"any": {"viral": ["HIV", "flu"], "other": ["fever", "ache"]}})
    model = ix.TCloseness(1, "hierarchical")
    # half of HIV would have to be flu, one level of two
    assert distances(model, {"HIV": 2}, {"flu": 2}, hierarchy=tree) == [0.25, 0.25]
    # half of HIV would have to be fever, two levels of two
    assert distances(model, {"HIV": 2}, {"fever": 2}, hierarchy=tree) == [0.5, 0.5]
    # a quarter moves to flu, and a half across the top
    assert distances(model, {"HIV": 2}, {"flu": 2}, {"fever": 2, "ache": 2}, hierarchy=tree) == [0.625, 0.625, 0.5]
    with pytest.raises(ix.PolicyError, match="needs a hierarchy of this sensitive column"):
        distances(model, {"HIV": 2})


# Why not even one group of all rows will do


@pytest.mark.parametrize(
    ("model", "table", "words"),
    [
        (ix.AlphaK(0.5, 2), {"a": 2, "b": 2}, None),
        (ix.AlphaK(0.5, 2), {"a": 3, "b": 2}, "one value makes up 60 % of the rows, so alpha = 0.5 cannot hold"),
        (ix.AlphaK({"b": 0.3}, 2), {"a": 3, "b": 2}, "one value makes up 40 % of the rows, so alpha = 0.3 cannot"),
        (ix.LDiversity(2), {"a": 2, "b": 1}, None),
        (
            ix.LDiversity(3),
            {"a": 2, "b": 1},
            "has 2 different values in the rows that can be released, fewer than l = 3",
        ),
        (ix.PSensitive(2, 2), {"a": 2, "b": 1}, None),
        (
            ix.PSensitive(3, 2),
            {"a": 2, "b": 1},
            "has 2 different values in the rows that can be released, fewer than p = 3",
        ),
        (ix.LDiversity(2, "entropy"), {"a": 2, "b": 2}, None),
        (ix.LDiversity(2, "entropy"), {"a": 3, "b": 1}, "spread no better than 1.755 equally frequent ones"),
        (ix.LDiversity(2, "recursive", 2), {"a": 3, "b": 2}, None),
        (
            ix.LDiversity(2, "recursive", 1.5),
            {"a": 3, "b": 2},
            "most frequent value occurs 1.5 times as often as the 2-th",
        ),
        (ix.LDiversity(3, "recursive", 9), {"a": 3, "b": 2}, "fewer than l = 3"),
        (ix.MInvariance(2), {"a": 2, "b": 2}, None),
        (ix.MInvariance(2), {"a": 3, "b": 2}, "one value makes up 60 % of the rows, so m = 2 cannot hold"),
        (ix.MInvariance(2), {}, None),
        (ix.AverageRisk(0.2), {"a": 4}, "rows: 4; even as one group they have an average risk of 0.25, above 0.2"),
        (ix.AverageRisk(0.2), {}, "an average risk of 1, above 0.2"),
        (ix.TCloseness(0.2), {"a": 4}, None),
    ],
    ids=lambda given: f"{given!r}"[:50],
)
def test_objections(model: ix.PrivacyModel, table: Counts, words: str | None) -> None:
    said = model.objection(counted(table))
    assert said is None if words is None else words in str(said)
    if model.asks_sensitive and said is not None:
        assert "column 'ill'" in said


def test_a_value_that_no_row_has_any_more_is_none() -> None:
    left = counted({"a": 1, "b": 1}, {"c": 1}).without(np.array([False, True]))
    assert "has 2 different values" in str(ix.LDiversity(3).objection(left))
    assert ix.DeltaDisclosure(5.0).satisfied(left).tolist() == [True, True]
    numbers = counted({"1": 1}, {"2": 1}, {"9": 1}).without(np.array([False, False, True]))
    ordered = ix.TCloseness(1, "ordered").distances("ill", numbers.tallies["ill"], numbers)
    assert ordered.tolist() == [0.5, 0.5, 0]


def test_limits_of_values_stay_as_they_were_given() -> None:
    given = {"a": 0.5}
    model = ix.AlphaK(given, 2)
    given["a"] = 1.0
    assert model.alpha == {"a": 0.5}
    with pytest.raises(TypeError):
        model.alpha["a"] = 1.0  # type: ignore[index]


def test_an_objection_names_the_column_that_fails() -> None:
    fine, bad = counted({"x": 1, "y": 1}, column="job"), counted({"a": 3, "b": 1})
    both = replace(bad, tallies={**fine.tallies, **bad.tallies})
    for model in (ix.AlphaK(0.5, 1), ix.LDiversity(2, "entropy"), ix.LDiversity(2, "recursive", 2), ix.MInvariance(2)):
        assert "column 'ill'" in str(model.objection(both)), model


# Differential privacy: the numbers, and what a policy may not say


def binomial_tail(n: int, beta: Fraction, gamma: Fraction) -> Fraction:
    """P[Bin(n, β) > γn], in fractions."""
    return sum(
        (math.comb(n, j) * beta**j * (1 - beta) ** (n - j) for j in range(n + 1) if j > gamma * n), start=Fraction(0)
    )


@pytest.mark.parametrize("n", [0, 1, 2, 5, 8, 30, 400])
@pytest.mark.parametrize(("beta", "gamma"), [("0.5", "0.75"), ("0.25", "0.8"), ("0.6", "0.61")])
def test_tails_are_rounded_up_and_by_little(n: int, beta: str, gamma: str) -> None:
    exact = binomial_tail(n, Fraction(beta), Fraction(gamma))
    found = Fraction(sampled_groups._tail(n, Decimal(beta), Decimal(gamma)))
    assert exact <= found <= exact * (1 + Fraction(1, 10**40))
    bound = Fraction(sampled_groups._chernoff(n, Decimal(beta), Decimal(gamma)))
    assert exact <= bound
    divergence = float(gamma) * math.log(float(gamma) / float(beta)) + (1 - float(gamma)) * math.log(
        (1 - float(gamma)) / (1 - float(beta))
    )
    assert float(bound) == pytest.approx(math.exp(-n * divergence))


@pytest.mark.parametrize(("share", "k", "at"), [(0.5, 1, 0), (0.5, 4, 2), (0.6, 4, 3), (0.6, 5, 2)])
def test_delta_is_the_worst_over_all_numbers_of_people(share: float, k: int, at: int) -> None:
    """Where more people are worse than the fewest of whom k can be drawn."""
    gamma = Fraction(sampled_groups._gamma(Decimal(1), Decimal(share)))
    first = math.ceil(k / gamma - 1)
    tails = [binomial_tail(n, Fraction(share), gamma) for n in range(first, first + 40)]
    assert tails.index(max(tails)) == at
    assert float(max(tails)) < sampled_groups.delta_of(1.0, k, share) <= float(max(tails)) * (1 + 1e-12)


def test_gamma_and_the_number_of_people_beyond_which_all_is_well() -> None:
    gamma = sampled_groups._gamma(Decimal(1), Decimal("0.5"))
    assert float(gamma) == pytest.approx((math.e - 1 + 0.5) / math.e)
    enough = sampled_groups._beyond(Decimal("1e-3"), Decimal("0.5"), gamma)
    assert sampled_groups._chernoff(enough, Decimal("0.5"), gamma) <= Decimal("1e-3")
    assert sampled_groups._chernoff(enough - 3, Decimal("0.5"), gamma) > Decimal("1e-3")
    with pytest.raises(ix.PolicyError, match="groups of millions"):
        sampled_groups.least_k(1e-6, 1e-9, 1e-7)


def test_shares_are_rounded_down_to_four_places() -> None:
    assert [sampled_groups.largest_share(epsilon) for epsilon in (0.5, 1.0, 2.0, 20.0)] == [
        0.3934,
        0.6321,
        0.8646,
        0.9999,
    ]


def test_expenses_add_up() -> None:
    model = ix.DifferentialPrivacy(2, 1e-4, sampled=0.5, for_levels=0.25)
    assert model.expenses() == {
        "epsilon": 2.0,
        "epsilon_of_levels": 0.5,
        "delta": 1e-4,
        "sampled": 0.5,
        "k": sampled_groups.least_k(1.5, 1e-4, 0.5),
    }
    assert model.epsilon_of_rows == 1.5
    rounded = ix.DifferentialPrivacy(0.39, 1e-5, for_levels=0.21)  # both parts, as they are rounded, are more than 0.39
    assert Fraction(0.39 - rounded.epsilon_of_levels) + Fraction(rounded.epsilon_of_levels) > Fraction(0.39)
    assert Fraction(rounded.epsilon_of_rows) + Fraction(rounded.epsilon_of_levels) <= Fraction(0.39)
    assert rounded.epsilon_of_rows == pytest.approx(0.39 * 0.79)
    assert model.satisfied(Groups.of_sizes([model.k - 1, model.k, 0])).tolist() == [False, True, True]


FIXED = ix.prefix(3)


@pytest.mark.parametrize(
    ("columns", "more", "words"),
    [
        ({"zip": ix.quasi(FIXED)}, {}, []),
        ({"zip": ix.quasi(FIXED), "name": ix.identifier()}, {}, []),
        ({"zip": ix.quasi(FIXED), "job": ix.other()}, {}, ["columns.job: differential-privacy: every released column"]),
        ({"zip": ix.quasi(FIXED), "job": ix.sensitive()}, {}, ["columns.job: differential-privacy: every released"]),
        (
            {"zip": ix.quasi(FIXED), "id": ix.identifier(pseudonym=True)},
            {},
            ["columns.id: differential-privacy: every"],
        ),
        ({"zip": ix.quasi(ix.prefix())}, {}, ["columns.zip: differential-privacy: the number of its levels"]),
        ({"zip": ix.quasi(FIXED)}, {"max_suppression": 0.1}, ["max_suppression: "]),
        ({"zip": ix.quasi(FIXED)}, {"quasi_identifiers": {"all": ["zip"]}}, []),
        (
            {"zip": ix.quasi(FIXED), "age": ix.quasi(FIXED)},
            {"quasi_identifiers": {"one": ["zip"], "two": ["age"]}},
            ["quasi_identifiers: "],
        ),
        ({"zip": ix.quasi(FIXED)}, {"suppressed_rows": "blank"}, ["suppressed_rows: "]),
        ({"zip": ix.quasi(FIXED)}, {"person": "name"}, ["person: "]),
        ({"zip": ix.quasi(FIXED)}, {"beside": [ix.KAnonymity(5)]}, []),
        ({"zip": ix.quasi(FIXED)}, {"beside": [ix.KAnonymity(5, known=1)]}, ["privacy: k-anonymity beside"]),
        ({"zip": ix.quasi(FIXED)}, {"beside": [ix.ProsecutorRisk(0.1)]}, ["privacy: prosecutor-risk beside"]),
    ],
)
def test_what_of_a_policy_would_break_the_promise(
    columns: dict[str, Column], more: dict[str, Any], words: Sequence[str]
) -> None:
    model = ix.DifferentialPrivacy(1, 1e-5)
    plain = ix.Policy(columns, [ix.KAnonymity(1)], **{name: value for name, value in more.items() if name != "beside"})
    policy = replace(plain, privacy=(ix.KAnonymity(1),))
    object.__setattr__(policy, "privacy", (model, *more.get("beside", ())))
    said = model.objections_to(policy)
    assert len(said) == len(words)
    for one, start in zip(said, words, strict=True):
        assert one.startswith(start)


def test_one_row_is_as_far_from_the_table_as_many() -> None:
    assert told(ix.TCloseness(0.1), {"a": 1}, {"a": 1, "b": 2}) == [False, False]
    assert told(ix.TCloseness(0.1), {"a": 1}, {"a": 2}) == [True, True]


# Rules for compiled code


def rule(model: ix.PrivacyModel, texts: Sequence[str | None], hierarchy: ix.Hierarchy | None = None) -> Any:
    return model.value_rule(texts, None if hierarchy is None else hierarchy.compile(list(texts)))


def test_rules_compare_with_the_numbers_of_their_model() -> None:
    ill: Sequence[str | None] = ("a", "b", None)
    found = [
        (made.kind, made.number, made.second)
        for model in (
            ix.LDiversity(3),
            ix.LDiversity(3, "entropy"),
            ix.LDiversity(3, "recursive", c=2.0),
            ix.PSensitive(3, 4),
            ix.BetaLikeness(0.5, enhanced=True),
            ix.BetaLikeness(0.5),
            ix.DeltaDisclosure(0.5),
            ix.TCloseness(0.25),
        )
        for made in [rule(model, ill)]
    ]
    assert found == [
        ("distinct", 3, 0.0),
        ("entropy", math.log(3), 0.0),
        ("recursive", 2.0, 3),
        ("distinct", 3, 0.0),
        ("like", 0.5, 1.0),
        ("like", 0.5, 0.0),
        ("near", 0.5, 0.0),
        ("close", 0.25, 1.0),
    ]
    assert rule(ix.KAnonymity(2), ill) is None
    for model, limits in (
        (ix.AlphaK(0.5, 2), [0.5, 0.5, 0.5]),
        (ix.AlphaK({"b": 0.25}, 2), [1.0, 0.25, 1.0]),
        (ix.MInvariance(4), [0.25] * 3),
    ):
        made = rule(model, ill)
        assert (made.kind, made.number, made.limits.tolist()) == ("shares", 0.0, limits)
        assert made.codes_of(3).tolist() == [[0, 1, 2]]


def test_rules_of_distances_need_an_order_or_a_hierarchy() -> None:
    ordered = ix.TCloseness(0.25, "ordered")
    made = rule(ordered, ("30", "9", None))
    assert (made.kind, made.number, made.codes_of(3).tolist()) == ("ordered", 0.25, [[1, 0, 2]])
    assert rule(ordered, ("30", "old")) is None
    nested = ix.TCloseness(0.25, "hierarchical")
    tree = ix.levels([["a", "x", "*"], ["b", "x", "*"], ["c", "y", "*"]])
    made = rule(nested, ("a", "b", "c"), tree)
    assert (made.kind, made.number, made.second) == ("close", 0.25, 2.0)
    assert made.codes_of(3).tolist() == [[0, 1, 2], [3, 3, 4]]
    assert rule(nested, ("a", "b", "c")) is None
    assert rule(nested, ("a", "b", "c"), ix.keep()) is None
