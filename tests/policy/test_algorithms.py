"""What algorithms declare: once, beside what their classes do."""

from __future__ import annotations

import dataclasses

import pytest

from indistinct.errors import PolicyError
from indistinct.policy.algorithms import DECLARATIONS, choices_that, declare, declared_class, options_said
from indistinct.registry import ALGORITHMS, DEFAULT_ALGORITHM


def test_every_algorithm_is_its_declaration_with_a_run():
    assert list(DECLARATIONS) == list(ALGORITHMS.own)
    assert DEFAULT_ALGORITHM in DECLARATIONS
    for name, declaration in DECLARATIONS.items():
        made = ALGORITHMS[name]
        assert issubclass(made, declaration)
        assert made.name == name
        assert [field.name for field in dataclasses.fields(made)] == [f.name for f in dataclasses.fields(declaration)]
        own = {thing for thing in vars(made) if not thing.startswith("_")}
        assert not own & set(dir(declaration)) - {"run"}, "what is declared is said once"


@pytest.mark.parametrize("name", DECLARATIONS)
def test_options_mean_the_same_to_a_declaration_and_its_algorithm(name):
    assert options_said(declare(name)) == options_said(ALGORITHMS.make(name)) == {}
    with pytest.raises(PolicyError, match="has no such option"):
        declare(name, colour="blue")


def test_the_old_name_of_an_option_is_refused_with_a_hint():
    with pytest.raises(PolicyError, match=r"options\.doubt: .* random_raise"):
        declare("regroup", doubt=0.1)


def test_messages_list_what_can():
    assert choices_that("draws_rows") == "safepub"
    assert choices_that("links_rows") == "lattice, samarati, mingen, datafly, regroup or mondrian"
    assert declared_class("none of these") is None
