"""Which tests share a worker: those that share what is expensive to start or make, such as Spark or a browser.

The mark xdist_group would say the same, but pytest-xdist 3.8 hands it on in a way that pytest 9.2 ignores without a
word, and so Spark ran twice. Here the group follows from the name of a test alone.
"""

from __future__ import annotations

import pytest
from xdist.scheduler.loadscope import LoadScopeScheduling

GROUP_OF_FILE = {
    "tests/house/test_benchmarks.py": "benchmarks",
    "tests/whole/test_examples.py": "spark",
    "tests/house/test_house.py": "sources",
    "tests/house/test_imports.py": "sources",
    "tests/engine/test_spark.py": "spark",
    "tests/whole/test_studio.py": "browser",
    "tests/house/test_trust.py": "sources",
}
GROUP_OF_PARAMETER = {"spark": "spark"}
GROUP_OF_FIXTURE = {"spark": "spark", "window": "browser"}


def group_of(nodeid: str) -> str | None:
    """Return the group of a test, or nothing if any worker may run it.

    >>> group_of("tests/engine/test_engine.py::test_rows[12-spark]")
    'spark'
    >>> group_of("tests/whole/test_docs.py::test_a_page[docs/spark.md]")
    """
    file, _, _ = nodeid.partition("::")
    _, _, parameters = nodeid.rstrip("]").partition("[")
    given = (GROUP_OF_PARAMETER[name] for name in parameters.split("-") if name in GROUP_OF_PARAMETER)
    return GROUP_OF_FILE.get(file) or next(given, None)


def check_group(nodeid: str, fixtures: set[str]) -> None:
    """Refuse a test that asks for a shared program, but is not in its group: another worker would start it again."""
    missing = {GROUP_OF_FIXTURE[name] for name in fixtures & set(GROUP_OF_FIXTURE)} - {group_of(nodeid)}
    if missing:
        raise pytest.UsageError(
            f"{nodeid} is not in the group {', '.join(missing)}: name it in tests/helpers/workers.py"
        )


class Groups(LoadScopeScheduling):
    """Each group goes to one worker, the largest first; after them each test goes to whoever is free."""

    def _split_scope(self, nodeid: str) -> str:
        return group_of(nodeid) or nodeid
