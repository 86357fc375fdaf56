"""What releases reveal together: cells of people, their value sets, and who must be left out."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import pytest

import indistinct as ix
from indistinct.counting import Groups
from indistinct.engine import ABSENT, HISTORY, KEY, PERSON, ROW, STATE, RowHistories, ValueCounts, open_table
from indistinct.engine.plans import PlacedRows
from indistinct.errors import InfeasibleError, LedgerError, RefusedError
from indistinct.ledger import again, offer
from indistinct.ledger.again import History, with_internal_columns
from indistinct.ledger.earlier_value_sets import UNKNOWN, EarlierValueSets
from indistinct.ledger.history import Failure, Linked, judge_together
from indistinct.ledger.ledger import _refuse_undoing
from indistinct.ledger.terms import Terms, others_shown, promised_columns, refuse_linkable, shows, signed_column
from indistinct.policy import Policy
from indistinct.progress import Watch
from indistinct.release.forms import ONE_TABLE, TWO_TABLES

PLAIN = Policy({"name": ix.identifier(), "age": ix.quasi(ix.suppress()), "ill": ix.sensitive()}, [ix.KAnonymity(2)])


PEOPLE = replace(PLAIN, person="id")


@dataclass(frozen=True, slots=True)
class Everywhere(ix.PrivacyModel):
    """A model of elsewhere, which cannot be asked of one quasi-identifier."""

    name: ClassVar[str] = "everywhere"
    is_monotone: ClassVar[bool] = True

    def satisfied(self, groups: Groups) -> Any:
        return np.ones(len(groups), np.bool_)


def promised_still(policy: Policy, earlier: Sequence[Policy]) -> list[ix.PrivacyModel]:
    """Return the models that a search is asked for beside those of the policy."""
    return list(History(tuple(earlier)).policy(policy).privacy)[len(policy.privacy) :]


def test_models_of_earlier_policies_are_kept_once() -> None:
    earlier = [
        replace(PLAIN, privacy=[ix.KAnonymity(3), ix.LDiversity(2)]),
        replace(
            PLAIN,
            quasi_identifiers={"work": ["age"]},
            privacy=[ix.KAnonymity(3, on="work"), ix.LDiversity(2, column="ill")],
        ),
    ]
    assert promised_still(PLAIN, earlier) == [ix.KAnonymity(3), ix.LDiversity(2), ix.LDiversity(2, column="ill")]
    no_values = replace(PLAIN, columns={"age": ix.quasi(ix.suppress())})
    assert promised_still(no_values, earlier) == [ix.KAnonymity(3)]
    assert promised_still(replace(PLAIN, privacy=[ix.KAnonymity(3)]), earlier[:1]) == [ix.LDiversity(2)]
    paid = replace(PLAIN, columns={**PLAIN.columns, "pay": ix.sensitive()}, privacy=[ix.LDiversity(2, column="pay")])
    assert promised_still(PLAIN, [paid]) == []  # this release has no such column
    assert promised_still(PLAIN, [replace(PLAIN, privacy=[Everywhere()])]) == [Everywhere()]


def test_the_policy_of_a_search_that_keeps_to_earlier_releases() -> None:
    plain = History().policy(PLAIN)
    assert {name: column.role for name, column in plain.columns.items() if name not in PLAIN.columns} == {
        KEY: "identifier",
        STATE: "identifier",
        HISTORY: "identifier",
    }
    told = History((replace(PLAIN, privacy=[ix.KAnonymity(3)]),)).policy(PLAIN)
    assert told.columns[HISTORY].role == "quasi"
    assert told.quasi_identifiers is not None
    assert list(told.quasi_identifiers.values()) == [("age", HISTORY)]
    assert list(told.privacy) == [ix.KAnonymity(2), ix.KAnonymity(3)]
    signed = History((replace(PLAIN, privacy=[ix.LDiversity(2)]),), signed="ill").policy(PLAIN)
    assert signed.columns[HISTORY].role == "sensitive"
    assert [model.describe() for model in signed.privacy] == [
        {"model": "k-anonymity", "k": 2},
        {"model": "l-diversity", "l": 2, "column": "ill"},
        {"model": "signed", "column": HISTORY},
    ]
    paid = replace(PLAIN, columns={**PLAIN.columns, "pay": ix.sensitive()}, privacy=[ix.LDiversity(2, column="pay")])
    assert History((PLAIN,), signed="ill").policy(paid).privacy[0] == ix.LDiversity(2, column="pay")
    based = History((PLAIN,), based={"age": ix.keep()}).policy(PLAIN)
    assert based.columns["age"].hierarchy == ix.keep()
    assert set(with_internal_columns(PEOPLE).columns) - set(PEOPLE.columns) == {KEY, STATE, PERSON, ROW, HISTORY}
    assert with_internal_columns(replace(PLAIN, eligible=[])).eligible == ()
    with pytest.raises(LedgerError, match="has a name that the ledger needs for itself"):
        with_internal_columns(replace(PLAIN, columns={**PLAIN.columns, KEY.upper(): ix.other()}))


def test_signatures_must_stay_the_same() -> None:
    """Three cells, two releases; signatures 0 of a and b, 1 of a, b and c."""
    found = EarlierValueSets(
        np.array([[0, 0], [0, 1], [ABSENT, 1]]), np.ones((3, 2), np.bool_), [frozenset("ab"), frozenset("abc")]
    )
    assert found.failing(0, 2).tolist() == [False, True, False]
    assert found.failing(1, 3).tolist() == [True, True, False]
    assert found.failing(1, 4).tolist() == [True, True, True]
    uneven = replace(found, is_even=np.array([[True, True], [True, True], [True, False]]))
    assert uneven.failing(1, 3).tolist() == [True, True, True]
    assert found.values_left(np.array([True, False, True])) == 2
    assert found.values_left(np.array([False, False, True])) == 3
    hidden = replace(found, numbers=np.array([[0, UNKNOWN], [0, 1], [ABSENT, 1]]))
    assert hidden.failing(0, 2).tolist() == [True, True, False]
    assert hidden.values_left(np.array([True, False, False])) == 1
    apart = replace(found, values=[frozenset("ab"), frozenset("bc")])
    assert apart.values_left(np.array([False, True, False])) == 1


def test_what_m_invariance_can_bear() -> None:
    invariant = replace(PLAIN, privacy=[ix.MInvariance(2), ix.MInvariance(3, "ill")])
    assert promised_columns(invariant) == {"ill": 3}
    assert promised_columns(PLAIN) == promised_columns(replace(PLAIN, privacy=[ix.LDiversity(2)])) == {}
    with pytest.raises(LedgerError, match="leave out 'town'"):
        signed_column(replace(PLAIN, columns={**PLAIN.columns, "town": ix.other()}), [invariant])
    assert shows(PLAIN, "ill")
    assert not shows(PLAIN, "name")
    assert not shows(PLAIN, "town")
    assert others_shown(PLAIN, "ill") == []
    more = replace(PLAIN, columns={**PLAIN.columns, "town": ix.other(), "pay": ix.sensitive()})
    assert others_shown(more, "ill") == ["town", "pay"]
    assert others_shown(PLAIN, "age") == ["age"]
    refuse_linkable(PLAIN, "ill")
    with pytest.raises(LedgerError, match="leave out 'town', 'pay'"):
        refuse_linkable(more, "ill")
    assert signed_column(PLAIN, [invariant]) == "ill"
    assert signed_column(PLAIN, [PLAIN]) is None
    assert signed_column(replace(PLAIN, columns={"age": ix.quasi(ix.suppress())}), [invariant]) is None


class Cells:
    """Histories of people by hand: the group of each cell in each release, and its people."""

    def __init__(
        self, groups: Sequence[Sequence[int]], sizes: Sequence[int], values: Any = None, signed: Any = None
    ) -> None:
        self.groups, self.sizes, self.values, self.signed = np.array(groups), np.array(sizes), values, signed

    def cells(self) -> tuple[Any, Any]:
        return self.groups, self.sizes

    def people_in(self, is_chosen: Any) -> int:
        return int(self.sizes[is_chosen].sum())

    def values_by_cell(self, release: int, name: str) -> ValueCounts:
        assert name == "ill"
        rows = [(cell, value, count) for cell, own in enumerate(self.values[release]) for value, count in own.items()]
        texts = tuple(sorted({value for _, value, _ in rows}))
        groups, codes, counts = (
            np.array(part) for part in zip(*((c, texts.index(v), n) for c, v, n in rows), strict=True)
        )
        return ValueCounts(groups, codes, counts, texts)

    def signatures(self, release: int, column: str) -> tuple[list[str], Any]:
        assert column == "ill"
        texts, even = self.signed[release]
        return texts, np.array(even)


def judged(cells: Cells, *models: Sequence[ix.PrivacyModel]) -> Linked:
    policies = [replace(PLAIN, privacy=own) for own in models]
    return judge_together(cells, list(range(len(policies))), policies)  # type: ignore[arg-type]


GROUPS = [[0, 0], [0, 1], [0, ABSENT], [ABSENT, 1]]


def test_cells_must_satisfy_every_policy_of_their_releases() -> None:
    found = judged(Cells(GROUPS, [3, 1, 2, 4]), [ix.KAnonymity(2)], [ix.KAnonymity(4)])
    assert (found.entries, found.people, found.cells, found.smallest, found.at_risk) == ((1,), 10, 4, 1, 4)
    assert found.unrecognised == 0
    assert found.failures == (
        Failure("k-anonymity (k = 4)", 1, (0, 1), (), 4, 2, 1),
        Failure("k-anonymity (k = 2)", 0, (0, 1), (), 1, 1, 1),
    )
    safe = judged(Cells(GROUPS, [3, 1, 2, 4]), [ix.KAnonymity(1)], [ix.KAnonymity(1)])
    assert (safe.passed, safe.failures) == (True, ())
    apart = judged(Cells(GROUPS, [5, 5, 1, 2]), [ix.KAnonymity(2)], [ix.KAnonymity(3)])
    assert apart.failures == (
        Failure("k-anonymity (k = 2)", 0, (0,), (1,), 1, 1, 1),
        Failure("k-anonymity (k = 3)", 1, (1,), (0,), 2, 1, 2),
    )
    assert apart.at_risk == 3
    with pytest.raises(ix.PolicyError, match="k-anonymity with known"):
        judged(Cells(GROUPS, [1, 1, 1, 1]), [ix.KAnonymity(2, known=1)])
    with pytest.raises(ix.PolicyError, match="mean for k-map, since"):
        judged(Cells(GROUPS, [1, 1, 1, 1]), [ix.KMap(2, "people.csv")])
    many = judged(Cells([[n] for n in range(30)], [1] * 30), [ix.KAnonymity(2 + n) for n in range(25)])
    assert len(many.failures) == 20


def test_cells_are_judged_by_their_values() -> None:
    values = [[{"a": 2, "b": 1}, {"a": 1}, {"a": 2}, {}], [{"a": 3}, {"b": 1}, {}, {"a": 2, "b": 2}]]
    found = judged(Cells(GROUPS, [3, 1, 2, 4], values), [ix.LDiversity(2)], [ix.KAnonymity(1)])
    assert found.at_risk == 3
    assert [failure.cells for failure in found.failures] == [1, 1]
    with pytest.raises(ix.PolicyError, match="needs a hierarchy"):
        judged(Cells(GROUPS, [3, 1, 2, 4], values), [ix.TCloseness(1, "hierarchical")], [ix.KAnonymity(1)])
    tree = replace(PLAIN, columns={**PLAIN.columns, "ill": ix.sensitive(ix.levels([["a", "*"], ["b", "*"]]))})
    asked = replace(tree, privacy=[ix.TCloseness(1, "hierarchical")])
    assert judge_together(Cells([[0], [1]], [1, 1], [[{"a": 1}, {"b": 1}]]), [0], [asked]).passed  # type: ignore[arg-type]
    several = judged(Cells([[0]], [3], [[{"a": 1, "b": 1, "c": 1}]]), [ix.LDiversity(2)])
    assert several.passed  # three values in one cell, and not a value in three cells


class CellsOfRows(RowHistories):
    """Two cells by hand: one of three rows of two people, one of two rows of a person who cannot be recognised."""

    def __init__(self) -> None:
        """Nothing is opened."""

    def cells(self) -> tuple[Any, Any]:
        return np.array([[0], [1]]), np.array([2, 1])

    def rows_in(self, release: int, columns: Sequence[str]) -> Any:
        texts = dict.fromkeys(columns, ("x", "y", "z"))
        values = {name: np.array([0, 1, 1, 2, 2]) for name in columns}
        return PlacedRows(np.array([0, 1, 1, 2, 2]), np.array([0, 0, 0, 1, 1]), values, texts)

    def persons_in(self, is_chosen: Any) -> Any:
        return np.concatenate([own for own, chosen in zip(([0, 1], [2]), is_chosen, strict=True) if chosen] or [[]])

    def people_in(self, is_chosen: Any) -> int:
        return len(self.persons_in(is_chosen))

    def unrecognised_people(self) -> Any:
        return np.array([2])


def test_cells_of_rows_are_judged_in_people() -> None:
    tree = replace(PLAIN, columns={**PLAIN.columns, "ill": ix.sensitive(ix.levels([[name, "*"] for name in "xyz"]))})
    for model, at_risk in ((ix.KAnonymity(1), 1), (ix.LDiversity(2), 1), (ix.KAnonymity(3), 3)):
        for policy in (PLAIN, tree):
            found = judge_together(CellsOfRows(), [0], [replace(policy, privacy=[model])])
            assert (found.people, found.unrecognised, found.at_risk) == (3, 1, at_risk)
            assert [failure.people for failure in found.failures] == ([] if model == ix.KAnonymity(1) else [at_risk])
    far = ix.TCloseness(0.4, "hierarchical")
    assert judge_together(CellsOfRows(), [0], [replace(tree, privacy=[far])]).failures != ()


def test_cells_keep_their_signatures() -> None:
    signed = [(['["a", "b"]', '["a", "b", "c"]'], [True, True]), (['["a", "b"]', '["b", "c"]'], [True, True])]
    cells = Cells([[0, 0], [0, 1], [1, ABSENT]], [1, 1, 1], signed=signed)
    found = judged(cells, [ix.MInvariance(2)], [ix.MInvariance(2)])
    assert found.at_risk == 1
    assert [(failure.promised_by, failure.values) for failure in found.failures] == [(0, 1), (1, 1)]
    uneven = [(signed[0][0], [True, False]), signed[1]]
    assert judged(Cells(cells.groups, [1, 1, 1], signed=uneven), [ix.MInvariance(2)], [ix.MInvariance(2)]).at_risk == 2
    other = replace(PLAIN, columns={"age": ix.quasi(ix.suppress())})
    invariant = replace(PLAIN, privacy=[ix.MInvariance(2)])
    hidden = EarlierValueSets.of(cells, cells.groups, [invariant, other], "ill")  # type: ignore[arg-type]
    assert hidden.numbers.tolist() == [[0, ABSENT], [0, ABSENT], [1, ABSENT]]
    later = EarlierValueSets.of(cells, cells.groups, [other, invariant], "ill")  # type: ignore[arg-type]
    assert later.numbers.tolist() == [[ABSENT, 0], [ABSENT, 1], [ABSENT, ABSENT]]
    both = judged(cells, [ix.MInvariance(2), ix.KAnonymity(2)], [ix.MInvariance(2)])
    assert both.at_risk == 3  # beside the signatures, nobody is hidden among two
    more = replace(PLAIN, columns={**PLAIN.columns, "town": ix.other()})
    linkable = EarlierValueSets.of(cells, cells.groups, [more, invariant], "ill")  # type: ignore[arg-type]
    assert linkable.numbers.tolist() == [[UNKNOWN, 0], [UNKNOWN, 1], [UNKNOWN, ABSENT]]
    assert linkable.values == [frozenset("ab"), frozenset("bc")]


FAILURE = Failure("k-anonymity (k = 2)", 0, (0, 1), (2,), 3, 2, 1)


FOUND = Linked((1, 2), 9, 4, 1, 3, (FAILURE,))


def test_findings_as_numbers() -> None:
    assert (FOUND.passed, replace(FOUND, at_risk=0, failures=()).passed) == (False, True)
    said = FOUND.to_dict()
    assert (said["entries"], said["smallest_cell"], said["people_at_risk"]) == ([1, 2], 1, 3)
    assert "people_unrecognised" not in said
    assert replace(FOUND, unrecognised=2).to_dict()["people_unrecognised"] == 2
    assert said["failures"] == [
        {
            "model": "k-anonymity (k = 2)",
            "promised_by": "this policy",
            "present_in": ["this release", 1],
            "absent_from": [2],
            "people": 3,
            "cells": 2,
            "smallest_cell": 1,
        }
    ]
    values = replace(FOUND, entries=(), failures=(replace(FAILURE, promised_by=1, values=1, present=(1,), absent=()),))
    assert (values.to_dict()["failures"][0]["values_left"], values.to_dict()["failures"][0]["promised_by"]) == (1, 1)


POLICY = Policy({"age": ix.quasi(ix.suppress()), "ill": ix.sensitive()}, [ix.KAnonymity(3)])


class Made:
    """A recoding as far as it is asked who is in which group: pieces of tuples, each of one history."""

    form = ONE_TABLE
    number_of_groups = 6
    groups = (0, 1, 1, 2, 3, -1, 4, 5)
    tuples = (0, 1, 1, 2, 3, 4, 5, 6)
    rows_of = (5, 1, 3, 1, 2, 2, 1, 4)
    values = ("0", "1", "2", "2", "3", "4", None)
    """The history of each tuple: None is of people who are new."""

    def __init__(self, suppressed: int = 2, rows: int = 19) -> None:
        self.suppressed_rows, self.rows, self.left_out = suppressed, rows, []
        self.released_rows = rows - suppressed
        self.frequencies = SimpleNamespace(
            columns=["age", HISTORY],
            hierarchies=[None, SimpleNamespace(values=self.values)],
            entry_codes=lambda column: np.arange(len(self.values)),
        )

    def as_pieces(self) -> Any:
        return SimpleNamespace(
            groups=np.array(self.groups), tuples=np.array(self.tuples), rows=np.array(self.rows_of), count=8
        )

    def without_groups(self, more: Any) -> Any:
        self.left_out = np.flatnonzero(more).tolist()
        return self


def left_out(k: int, *sizes: int) -> list[int]:
    made = Made()
    assert again.leave_out_enough(made, np.array(sizes), k) is made  # type: ignore[arg-type]
    return made.left_out


def test_nobody_is_missed_in_too_small_a_group() -> None:
    # released: 5 of history 0, 4 of 1, 3 of 2 in the groups 2 and 3, none of 3, 1 of 4, and 4 new people
    assert left_out(3, 5, 4, 3, 2, 1) == []
    assert left_out(3, 6, 4, 3, 2, 1) == [0]
    assert left_out(3, 5, 4, 4, 2, 1) == [2, 3]  # one is gone: the smaller group first, and that is not enough
    assert left_out(2, 5, 4, 4, 2, 1) == [2]
    assert left_out(3, 5, 4, 6, 2, 1) == []  # three are gone
    assert left_out(3, 5, 4, 3, 2, 2) == [4]
    assert left_out(3, 6, 5, 3, 2, 1) == [0, 1]


def search(monkeypatch: pytest.MonkeyPatch, made: Any, told: History, budget: int = 5) -> Any:
    def find(*_: object) -> Any:
        if isinstance(made, Exception):
            raise made
        return made

    monkeypatch.setattr(again, "search", find)
    counted = SimpleNamespace(task=SimpleNamespace(budget=budget), policy=POLICY)
    return again.search_again(counted, SimpleNamespace(name="x"), told, Watch())  # type: ignore[arg-type]


def test_a_search_keeps_to_earlier_releases_or_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = np.array([5, 4, 3, 2, 1])
    made = Made()
    assert search(monkeypatch, made, History()) is made
    assert search(monkeypatch, made, History((POLICY,))) is made
    with monkeypatch.context() as broken:
        broken.setattr(again, "leave_out_enough", lambda *_: pytest.fail("nothing is known of people"))
        assert search(broken, made, History((POLICY,))) is made
    assert search(monkeypatch, made, History((POLICY,), None, sizes)) is made
    with pytest.raises(InfeasibleError, match=r"^none$"):
        search(monkeypatch, InfeasibleError("none"), History())
    with pytest.raises(RefusedError, match=r"keeps to the earlier ones: none$"):
        search(monkeypatch, InfeasibleError("none"), History((POLICY,)))
    with pytest.raises(RefusedError, match=r"keeps to the earlier ones: none\. New people must be as many"):
        search(monkeypatch, InfeasibleError("none"), History((POLICY,), None, sizes))
    divided = Made()
    divided.form = TWO_TABLES
    with pytest.raises(RefusedError, match="two tables cannot be made to keep"):
        search(monkeypatch, divided, History((POLICY,), None, sizes))
    assert search(monkeypatch, divided, History((POLICY,))) is divided


@pytest.mark.parametrize(("suppressed", "released", "budget", "passes"), [(5, 1, 5, 1), (6, 1, 5, 0), (5, 0, 5, 0)])
def test_only_so_many_may_be_left_out(
    monkeypatch: pytest.MonkeyPatch, suppressed: int, released: int, budget: int, passes: int
) -> None:
    asked = []

    def leave_out(recoding: Any, sizes: Any, k: int) -> Any:
        asked.append(k)
        return Made(suppressed, suppressed + released)

    monkeypatch.setattr(again, "leave_out_enough", leave_out)
    stricter = replace(POLICY, privacy=[ix.KAnonymity(7)])
    told = History((POLICY, stricter), None, np.array([1]))
    if passes:
        assert search(monkeypatch, Made(0, 9), told, budget).released_rows == 1
    else:
        with pytest.raises(RefusedError, match=f"{suppressed} of {suppressed + released} rows must be suppressed"):
            search(monkeypatch, Made(0, 9), told, budget)
    assert asked == [7]


class Kept:
    """Histories that were opened, and what was asked of them."""

    def __init__(self, *given: Any, **limits: Any) -> None:
        self.given, self.limits = given, limits

    def __enter__(self) -> Kept:
        return self

    def __exit__(self, *_: object) -> None:
        """Nothing was opened."""

    def write(self, path: Path, columns: tuple[str, ...]) -> None:
        self.columns = columns

    def cells(self) -> tuple[None, Any]:
        return None, np.array([2])


def test_a_history_says_what_labels_to_begin_at(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    entry = SimpleNamespace(said=SimpleNamespace(shape=ONE_TABLE), number=1)
    earlier: Any = SimpleNamespace(entries=[entry], policies=[POLICY], histories=Kept)
    algorithm: Any = SimpleNamespace(name="lattice")

    def history_of(how: str | None, policy: Policy = POLICY) -> History:
        terms: Any = SimpleNamespace(policy=policy, again=how)
        with open_table(pa.table({"age": ["1", "2"], "ill": ["x", "y"]})) as rows:
            return again.write_history(rows, terms, algorithm, earlier, tmp_path)

    plain = history_of("consistent")
    assert (plain.based, plain.sizes.tolist()) == ({}, [2])  # type: ignore[union-attr]
    assert set(history_of("based").based) == {"age"}
    monkeypatch.setattr(again, "_columns_shown_last", lambda *_: ())
    assert history_of("based").based == {}


def test_signatures_of_those_who_have_none() -> None:
    two, one = frozenset("ab"), frozenset("b")
    signed = EarlierValueSets(
        np.array([[0, 0], [0, ABSENT], [0, 1], [UNKNOWN, 0]]), np.ones((4, 2), np.bool_), [two, one]
    )
    assert signed.failing(0, 2).tolist() == [False, False, True, True]
    assert signed.failing(1, 2).tolist() == [False, False, True, True]
    unknown = replace(signed, numbers=np.full((1, 2), UNKNOWN), is_even=np.ones((1, 2), np.bool_))
    assert unknown.failing(0, 1).tolist() == [True]  # values that stand beside others tell more than a signature
    everyone, first, second = np.ones(4, np.bool_), np.array([1, 0, 0, 0], bool), np.array([0, 1, 0, 0], bool)
    assert [signed.values_left(asked) for asked in (everyone, first, second)] == [1, 2, 2]
    assert signed.values_left(np.array([0, 0, 1, 0], bool)) == 1


def test_signatures_are_written_where_values_were_shown(tmp_path: Path) -> None:
    invariant = replace(POLICY, privacy=[ix.MInvariance(2)])
    hidden = replace(POLICY, columns={**POLICY.columns, "ill": ix.identifier()})
    written: list[Any] = []
    kept = SimpleNamespace(write_signatures=lambda *given: written.append(given))

    def history_of(*earlier: Policy, algorithm: str = "m-invariance", again_: str = "consistent") -> History:
        terms: Any = SimpleNamespace(policy=invariant, again=again_)
        held: Any = SimpleNamespace(
            entries=[SimpleNamespace(said=SimpleNamespace(shape=ONE_TABLE))] * len(earlier),
            policies=list(earlier),
            histories=lambda: contextlib.nullcontext(kept),
        )
        return again.write_history(None, terms, SimpleNamespace(name=algorithm), held, tmp_path)  # type: ignore[arg-type]

    assert history_of() == History()
    found = history_of(hidden, invariant, hidden, POLICY)
    assert written == [(tmp_path / "history.parquet", [1, 3], "ill")]
    assert (found.path, found.signed, found.sizes) == (tmp_path / "history.parquet", "ill", None)
    assert found.policies == [hidden, invariant, hidden, POLICY]
    assert history_of(hidden).path is None
    assert history_of(hidden).signed == "ill"
    assert len(written) == 1
    with pytest.raises(LedgerError, match="by the algorithm 'm-invariance' alone"):
        history_of(hidden, algorithm="lattice")
    with pytest.raises(LedgerError, match="cannot be based on an earlier"):
        history_of(hidden, again_="based")


@pytest.mark.parametrize(
    ("rows", "present", "distinct", "repeated"), [(5, 5, 5, 0), (5, 4, 4, 0), (5, 3, 3, 1), (5, 5, 3, 2), (6, 4, 3, 2)]
)
def test_pseudonyms_may_not_link_rows(rows: int, present: int, distinct: int, repeated: int) -> None:
    numbered = replace(POLICY, columns={**POLICY.columns, "no": ix.identifier(pseudonym=True)})
    asked: list[Any] = []

    def repeats_of(names: list[str]) -> tuple[int, int]:
        asked.append(names)
        return present, distinct

    table: Any = SimpleNamespace(repeats_of=repeats_of, count=lambda: rows)
    if repeated:
        with pytest.raises(LedgerError, match=f"columns.no: {repeated} rows repeat"):
            offer.refuse_repeated_pseudonyms(table, numbered.parts["table"])
    else:
        offer.refuse_repeated_pseudonyms(table, numbered.parts["table"])
    assert asked == [["no"]]
    offer.refuse_repeated_pseudonyms(None, POLICY.parts["table"])  # type: ignore[arg-type]  # has none, so nothing is asked


@pytest.mark.parametrize("again_", [None, "based"])
@pytest.mark.parametrize(
    "found", [FOUND, replace(FOUND, unrecognised=1), replace(FOUND, failures=(replace(FAILURE, values=1),))]
)
def test_what_would_undo_earlier_releases_is_refused(found: Linked, again_: Any) -> None:
    for policy in (PLAIN,) if again_ else (PLAIN, PEOPLE):
        terms = Terms(policy, "ward", again=again_)
        with pytest.raises(RefusedError):
            _refuse_undoing(found, terms)
        _refuse_undoing(replace(found, at_risk=0, unrecognised=0), terms)
