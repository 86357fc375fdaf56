"""Random hierarchies, frequency lists, policies and tasks, as hypothesis draws them."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from itertools import product
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np

from indistinct.counting import FrequencyList, Node, Sensitive
from indistinct.errors import MissingExtraError
from indistinct.hierarchy import Hierarchy, keep, levels
from indistinct.policy import Policy, quasi, sensitive
from indistinct.privacy import KAnonymity, PrivacyModel
from indistinct.recoding import FullDomainRecoding
from indistinct.search import Task

if TYPE_CHECKING:
    from hypothesis.strategies import DrawFn, SearchStrategy

EXAMPLES = 50
NAMES = "abcd"
SENSITIVE_NAMES = ("illness", "income")
SENSITIVE_NUMBERS = (7001, 7002, 7005, 7010)


def hierarchies(values: Sequence[str], *, most_levels: int = 2) -> SearchStrategy[Hierarchy]:
    """Draw a hierarchy of these values: never generalized, or with random levels and a single top, suppressed or not.

    Missing values go straight to the top.
    """
    st = _strategies()
    listed = _listed_hierarchies(values, most_levels)
    made: SearchStrategy[Hierarchy] = st.integers(0, 5).flatmap(lambda chance: listed if chance else st.just(keep()))
    return made


def _listed_hierarchies(values: Sequence[str], most_levels: int = 2) -> SearchStrategy[Hierarchy]:
    """Draw a hierarchy with random levels and a single top, suppressed or not."""
    return _strategy_of(_draw_hierarchy, values, most_levels)


def _draw_hierarchy(draw: DrawFn, values: Sequence[str], most_levels: int) -> Hierarchy:
    st = _strategies()
    columns: list[list[str]] = [list(values)]
    for level in range(1, 1 + draw(st.integers(0, most_levels - 1))):
        labels = list(dict.fromkeys(columns[-1]))
        parts = _draw_digits(draw, 3, len(labels))
        names = {label: f"{level}.{part}" for label, part in zip(labels, parts, strict=True)}
        columns.append([names[label] for label in columns[-1]])
    columns.append([draw(st.sampled_from(["*", "any"]))] * len(values))
    return levels(list(zip(*columns, strict=True)))


def frequency_lists(
    *, most_columns: int = 3, most_tuples: int = 10, sensitive: Sequence[str] = ()
) -> SearchStrategy[FrequencyList]:
    """Draw a small frequency list: random hierarchies, weights, missing values, and one to four rows per tuple.

    ``sensitive`` names sensitive columns. Their values are numbers and missing ones, under a hierarchy, so that models
    can ask for any order or distance; a tuple occurs with several combinations of them.
    """
    return _strategy_of(_draw_list, most_columns, most_tuples, sensitive)


def _draw_list(draw: DrawFn, most_columns: int, most_tuples: int, sensitive: Sequence[str]) -> FrequencyList:
    st = _strategies()
    number = draw(st.integers(1, most_columns))
    names = [*NAMES[:number], *sensitive]
    sizes = [1 + size for size in _draw_digits(draw, 4, len(names))]
    domains = [[f"{name}{n}" for n in range(size)] for name, size in zip(NAMES[:number], sizes, strict=False)]
    domains += [[f"{n}" for n in SENSITIVE_NUMBERS[:size]] for size in sizes[number:]]
    possible = list(product(*([*domain, None] for domain in domains)))
    most = 2 * most_tuples if sensitive else most_tuples
    numbers = draw(st.lists(st.integers(0, len(possible) - 1), min_size=1, max_size=most, unique=True))
    tuples = [possible[position] for position in numbers]
    counts = np.array([1 + more for more in _draw_digits(draw, 4, len(tuples))], np.int64)
    weights = [(1.0, 1.0, 2.0, 0.5)[chosen] for chosen in _draw_digits(draw, 4, number)]
    compiled, codes = [], []
    for column, domain in enumerate(domains):
        present = {cell[column] for cell in tuples}
        values = sorted(value for value in present if value is not None) + [None] * (None in present)
        hierarchy = draw(hierarchies(domain) if column < number else _listed_hierarchies(domain))
        compiled.append(hierarchy.compile(values))
        codes.append(np.array([values.index(cell[column]) for cell in tuples], np.uint64))
    described = {
        names[column]: (Sensitive(compiled[column].values, compiled[column]), codes[column])
        for column in range(number, len(names))
    }
    return FrequencyList.of_codes(names[:number], compiled[:number], codes[:number], counts, weights, described)


def _draw_digits(draw: DrawFn, base: int, number: int) -> list[int]:
    """Draw ``number`` numbers below a base as one number, since hypothesis takes most of its time for each draw."""
    drawn = draw(_strategies().integers(0, base**number - 1))
    return [drawn // base**place % base for place in range(number)]


def policies(columns: Sequence[str], *, models: Sequence[PrivacyModel] | None = None) -> SearchStrategy[Policy]:
    """Draw a policy for quasi columns of these names: models, a suppression limit, one quasi-identifier or two.

    It has the sensitive columns that the models ask about.
    """
    return _strategy_of(_draw_policy, columns, models)


def _draw_policy(draw: DrawFn, columns: Sequence[str], models: Sequence[PrivacyModel] | None) -> Policy:
    st = _strategies()
    named: dict[str, list[str]] | None = None
    if draw(st.integers(0, 3)) == 0:
        first = draw(st.lists(st.sampled_from(columns), min_size=1, unique=True))
        rest = [column for column in columns if column not in first]
        named = {"patient": first, "doctor": [*rest, draw(st.sampled_from(first))]}
    return Policy(
        columns={column: quasi() for column in columns}
        | {column: sensitive() for column in asked_columns(models or [])},
        privacy=models or [KAnonymity(draw(st.integers(1, 4)))],
        max_suppression=draw(st.none() | st.integers(0, 6) | st.sampled_from([0.0, 0.1, 0.25, 0.5, 1.0])),
        quasi_identifiers=named,
    )


def tasks(*, models: Sequence[PrivacyModel] | None = None) -> SearchStrategy[Task]:
    """Draw what an algorithm is given: a frequency list and a policy for it."""
    return _strategy_of(_draw_task, models)


def _draw_task(draw: DrawFn, models: Sequence[PrivacyModel] | None) -> Task:
    frequencies = draw(frequency_lists(sensitive=asked_columns(models or [])))
    return Task.of(frequencies, draw(policies(frequencies.columns, models=models)))


def asked_columns(models: Sequence[PrivacyModel]) -> tuple[str, ...]:
    """Return the sensitive columns that models ask about: those they name, or two where they ask about all."""
    asked = [getattr(model, "column", None) for model in models if getattr(model, "asks_sensitive", False)]
    named = [column for column in asked if column is not None]
    return tuple(dict.fromkeys([*named, *(SENSITIVE_NAMES if None in asked else ())]))


def lists_with_recodings() -> SearchStrategy[tuple[FrequencyList, list[FullDomainRecoding]]]:
    """Draw a frequency list with a recoding to every node, each with some groups suppressed."""
    return _strategy_of(_draw_recodings)


def _draw_recodings(draw: DrawFn) -> tuple[FrequencyList, list[FullDomainRecoding]]:
    frequencies = draw(frequency_lists())
    recodings = []
    nodes = list(nodes_of(frequencies))
    for node, most in zip(nodes, _draw_digits(draw, 5, len(nodes)), strict=True):
        groups, _ = frequencies.roll_up(node)
        least = 1 + most  # suppress small groups, as every algorithm does
        recodings.append(FullDomainRecoding(frequencies, groups, groups.sizes < least))
    return frequencies, recodings


def nodes_of(frequencies: FrequencyList) -> Iterator[Node]:
    return product(*(range(height + 1) for height in frequencies.heights))


def for_all(check: Callable[[Any], None], strategy: SearchStrategy[Any], examples: int) -> None:
    """Run a check on ``examples`` drawn examples, the same each time."""
    hypothesis = _hypothesis()
    run = hypothesis.settings(
        max_examples=examples,
        deadline=None,
        database=None,
        derandomize=True,
        report_multiple_bugs=False,
        phases=[hypothesis.Phase.generate, hypothesis.Phase.shrink],
        suppress_health_check=list(hypothesis.HealthCheck),
    )(hypothesis.given(strategy)(check))
    run()


def _strategy_of(draw_one: Callable[..., Any], *arguments: object) -> SearchStrategy[Any]:
    """Return the strategy that draws by this function, after ``draw`` with these arguments."""
    _hypothesis()
    made: SearchStrategy[Any] = _composite(draw_one)(*arguments)
    return made


@functools.cache  # hypothesis reads the source of the function, which takes longer than drawing an example
def _composite(draw_one: Callable[..., Any]) -> Callable[..., Any]:
    made: Callable[..., Any] = _strategies().composite(draw_one)
    return made


def _hypothesis() -> ModuleType:
    try:
        import hypothesis
    except ImportError:
        raise MissingExtraError('conformance checks need hypothesis: pip install "indistinct[test]"') from None
    return hypothesis


def _strategies() -> ModuleType:
    _hypothesis()
    from hypothesis import strategies

    return strategies
