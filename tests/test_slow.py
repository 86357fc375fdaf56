"""The list of slow tests is honest: it names tests that are there, and leaves the quick check most of them."""

from __future__ import annotations

import re
from pathlib import Path

TESTS = Path(__file__).parent
SLOW = (TESTS / "slow.txt").read_text("utf-8").split()


def test_every_slow_test_is_there() -> None:
    """After a test was renamed: rename it in slow.txt as well, or run ``pytest -n auto --record-slow``."""
    assert sorted(set(SLOW) - functions()) == []


def test_slow_tests_are_listed_once_and_in_order() -> None:
    assert sorted(set(SLOW)) == SLOW


def test_most_tests_are_quick() -> None:
    assert len(SLOW) < len(functions()) / 2


def functions() -> set[str]:
    """Give file and name of every test function."""
    return {
        f"tests/{path.name}::{name}"
        for path in TESTS.glob("test_*.py")
        for name in re.findall(r"^(?:async )?def (test_\w+)", path.read_text("utf-8"), re.MULTILINE)
    }
