"""The histories campaign: its adversary counts worlds as brute force does, finds what a broken ledger lets through."""

from __future__ import annotations

import random
import sys
from fractions import Fraction
from itertools import permutations
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT))

from campaigns.possible_worlds import Held, chances, matching_shares  # noqa: E402
from campaigns.running import Options, Outcome  # noqa: E402

from campaigns import histories  # noqa: E402
from helpers.profiles import examples, scaled  # noqa: E402
from indistinct.ledger import ledger as ledger_module  # noqa: E402


@examples(60)
@given(
    st.integers(1, 5).flatmap(
        lambda n: st.lists(st.lists(st.booleans(), min_size=n, max_size=n), min_size=n, max_size=n)
    )
)
def test_worlds_are_counted_as_trying_all_of_them_does(fits):
    worlds = [
        world for world in permutations(range(len(fits))) if all(fits[row][world[row]] for row in range(len(fits)))
    ]
    if not worlds:
        with pytest.raises(ValueError, match="untrue"):
            matching_shares(fits)
        return
    for row, shares in enumerate(matching_shares(fits)):
        for place, share in enumerate(shares):
            assert share == Fraction(sum(world[row] == place for world in worlds), len(worlds))


def held(**labels):
    """Return a release of people of age 1, 2, 3 …, by their marks, under these labels."""
    rows = {mark: {"age": label, "town": "ab", "ill": "flu"} for mark, label in labels.items()}
    return Held(rows, {mark: {"age": mark[1], "town": "ab"} for mark in labels})


def test_the_adversary_joins_releases_as_sweeney_does():
    """Each is 2-anonymous; a split at 2 and one at 3 together leave everybody alone. Worked out by hand."""
    first, second = held(m1="12", m2="12", m3="34", m4="34"), held(m1="*", m2="*", m3="3", m4="4")
    alone = chances([first], ["age", "town"], histories.covers)
    assert alone["m1"] == {"m1": Fraction(1, 2), "m2": Fraction(1, 2)}
    both = chances([first, second], ["age", "town"], histories.covers)
    assert both["m3"] == {"m3": 1}
    assert both["m1"] == {"m1": Fraction(1, 2), "m2": Fraction(1, 2)}


def test_who_is_gone_is_known_by_that():
    first, second = held(m1="*", m2="*", m3="*"), held(m1="*", m2="*")
    assert chances([first, second], ["age", "town"], histories.covers)["m3"] == {"m3": 1}


def test_coalitions_hold_what_is_public_and_what_was_said():
    history = histories.History(random.Random(0), has_visits=False)
    for recipient in ("Ann's clinic", "university", "public"):
        history.entered.append(histories.Entered(recipient, Held({}, {}), 2, None, 1))
    names = [one.recipient for one in histories.held_by(history, "university", "none")]
    assert names == ["university", "public"]
    assert len(histories.held_by(history, "university", ["Ann's clinic"])) == 3
    assert len(histories.held_by(history, "public", "none")) == 3


@pytest.mark.slow
def test_what_the_ledger_lets_through_tells_a_coalition_nothing_more():
    outcome = histories.run(Options("histories", seed=5, inputs=scaled(5)))
    assert outcome.faults == []
    assert outcome.figures["releases let through"] >= outcome.cases


@pytest.mark.slow
def test_a_ledger_that_refuses_nothing_is_found(monkeypatch):
    """Within ten histories, if the check against earlier releases is switched off."""
    monkeypatch.setattr(ledger_module, "_refuse_undoing", lambda found, terms: None)
    options = Options("histories", seed=0)
    for number in range(10):
        outcome = histories.run(Options("histories", seed=options.seed, case=number))
        if outcome.faults:
            break
    assert "promised" in outcome.faults[0]


def test_a_share_that_is_too_sure_is_found():
    rows = {mark: {"age": "*", "town": "*", "ill": "flu"} for mark in ("m1", "m2")}
    history = histories.History(random.Random(0), has_visits=False)
    known = {mark: {"age": "1", "town": "ab"} for mark in rows}
    history.entered.append(histories.Entered("public", Held(rows, known), 2, Fraction(3, 4), 1))
    assert "chance of 1" in histories.broken_promise(history, "public", "all")
    history.entered = [histories.Entered("public", Held(rows, known), 2, None, 2)]
    assert "one of 1 values" in histories.broken_promise(history, "public", "all")
    history.entered = [histories.Entered("public", Held(rows, known), 3, None, 1)]
    assert "k = 3 was promised" in histories.broken_promise(history, "public", "all")
    assert isinstance(Outcome(Options("histories")).to_dict(), dict)
