"""Conformance checks for models, measures and algorithms of your own, and hypothesis strategies for what they work on.

Call a check in a test; it raises an AssertionError with a small counterexample if a promise does not hold:

    from indistinct.testing import check_measure

    def test_my_measure_keeps_its_promises():
        check_measure(MyMeasure())

hypothesis is needed: ``pip install "indistinct[test]"``.
"""

from __future__ import annotations

from indistinct.testing.author_checks import check_algorithm, check_measure, check_model
from indistinct.testing.random_tables import frequency_lists, hierarchies, policies, tasks

__all__ = [
    "check_algorithm",
    "check_measure",
    "check_model",
    "frequency_lists",
    "hierarchies",
    "policies",
    "tasks",
]
