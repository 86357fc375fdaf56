"""How many random examples a law gets: a profile for each purpose, and numbers in tests that follow it.

quick     what scripts/check.py runs without --all: few examples, the same each time
ci        the same examples each time: an eighth of what tests say, and a twentieth where each opens tables
local     as many, but others each time; the default
thorough  twenty times what tests say, for a campaign: HYPOTHESIS_PROFILE=thorough python -m pytest tests/privacy
"""

from __future__ import annotations

import itertools
import math
import os
from collections.abc import Iterable
from typing import Any, TypeVar

from hypothesis import HealthCheck, settings

Case = TypeVar("Case")

SHARES = {"quick": 0.1, "ci": 0.125, "local": 0.125, "thorough": 20.0}
"""How much of the examples that a test asks for each profile draws."""
OF_TABLES = {"ci": 0.4, "local": 0.4}
"""How much of that where each example opens tables: the processor takes 30 ms or more for each."""
EXAMPLES = 50
"""What a law gets that asks for no number of its own."""
FEWEST = 2

PROFILE = os.environ.get("HYPOTHESIS_PROFILE") or ("ci" if os.environ.get("CI") == "true" else "local")


def scaled(number: int, *, opens_tables: bool = False) -> int:
    """Return how many of so many random examples, histories or moments the chosen profile takes."""
    share = SHARES[PROFILE] * (OF_TABLES.get(PROFILE, 1.0) if opens_tables else 1.0)
    return max(min(number, FEWEST), math.ceil(number * share))


def examples(number: int, *, opens_tables: bool = False, **more: Any) -> settings:
    """Return the settings of a law that asks for so many examples: fewer if each is expensive, more if each is
    cheap.
    """
    return settings(max_examples=scaled(number, opens_tables=opens_tables), **more)


def cases(everything: Iterable[Case], *some: Case) -> list[Case]:
    """Return some of the cases of a test that are expensive and much alike; all of them in a thorough run.

    >>> cases(["a", "b", "c"], "b")
    ['b']
    """
    known = list(everything)
    strange = [one for one in some if one not in known]
    assert not strange, f"{strange} is none of the cases"
    return known if PROFILE == "thorough" else list(some)


def in_turn(first: Iterable[Any], *others: Iterable[Any]) -> list[tuple[Any, ...]]:
    """Return each of some with one of the others, which take turns; every combination in a thorough run.

    >>> in_turn("abc", [1, 2])
    [('a', 1), ('b', 2), ('c', 1)]
    """
    parts = [list(first), *map(list, others)]
    together = zip(*map(itertools.cycle, parts), strict=False)
    return cases(itertools.product(*parts), *itertools.islice(together, max(map(len, parts))))


def load() -> None:
    """Make the profiles known to hypothesis, and load the one that the environment names."""
    shared: dict[str, Any] = {
        "deadline": None,
        "suppress_health_check": [HealthCheck.too_slow, HealthCheck.data_too_large],
    }
    steady: dict[str, Any] = {"derandomize": True, "database": None, "print_blob": True}
    for name, share in SHARES.items():
        own = steady if name in ("quick", "ci") else {}
        settings.register_profile(name, max_examples=math.ceil(EXAMPLES * share), **shared, **own)
    settings.load_profile(PROFILE)
