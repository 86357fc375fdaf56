"""Complementary and temporal releases: what follows about people who stand in several releases of one source.

Somebody who holds them joins the releases on everything that was released as it is, keeps the pairs whose labels can
stand for the same person, and lays their labels on top of each other. Each release may hide everybody among k, and the
labels together nobody. Rows that were added or removed in between show as well: they fit no row of the other release.

Source: Sweeney, k-anonymity: a model for protecting privacy, 2002, sections 4.2 and 4.3.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from indistinct.errors import PolicyError

if TYPE_CHECKING:
    from indistinct.attacks.complementary.chains import BoolArray, IntArray
    from indistinct.attacks.complementary.complementary_report import ComplementaryReport
    from indistinct.attacks.complementary.joined_releases import JoinedReleases
    from indistinct.attacks.release_names import OnePolicy

MOST_MATCHED = 3_000_000
"""Up to so many pairs of entries of two releases are matched one to one."""


def complementary(
    releases: Sequence[Any] | Mapping[str, Any],
    policies: OnePolicy | Sequence[OnePolicy],
    *,
    on: Sequence[str] | None = None,
    k: int | None = None,
    one_to_one: bool = True,
    most: int = 20,
    **reading: Any,
) -> ComplementaryReport:
    """Link releases of one source with each other, as somebody could who holds them, and give who is left in no crowd.

    ``releases`` are Releases, release folders or released tables of any kind, earliest first, or a mapping that names
    them. ``policies`` is the policy of all, or one for each. Rows are linked by ``on``, else by all columns that are
    quasi in no policy and are in every release. ``k`` is that of the policies unless it is given. If the counts allow
    that everybody in one release is in another, ``one_to_one`` assumes so, and pairs that would leave somebody without
    a row are ruled out. ``most`` findings are described, all are counted. ``reading`` goes to the engine:
    memory_limit, threads, delimiter and encoding.

    >>> import pyarrow as pa
    >>> from indistinct import KAnonymity, Policy, levels, quasi, sensitive
    >>> sex, home = (quasi(levels([[f"{n}1", n], [f"{n}2", n]])) for n in "sh")
    >>> policy = Policy(columns={"sex": sex, "home": home, "ill": sensitive()}, privacy=[KAnonymity(2)])
    >>> first = pa.table({"sex": ["s1", "s1", "s2", "s2"], "home": ["h"] * 4, "ill": list("abcd")})
    >>> second = pa.table({"sex": ["s"] * 4, "home": ["h1", "h2", "h1", "h2"], "ill": list("abcd")})
    >>> report = complementary([first, second], policy)
    >>> report.below_k, report.findings[0].labels
    (4, {'sex': 's1', 'home': 'h1'})
    """
    from indistinct.attacks.complementary.joined_releases import JoinedReleases
    from indistinct.attacks.release_names import policy_of_each, releases_by_name

    given = releases_by_name(releases)
    if len(given) < 2:
        raise PolicyError("releases: give at least two releases of the same source, earliest first")
    if k is not None and k < 1:
        raise PolicyError(f"k: must be at least 1, got {k}")
    joined = JoinedReleases.read(given, policy_of_each(policies, len(given)), on, **reading)
    return _attack(joined, k, one_to_one, most)


def _attack(joined: JoinedReleases, k: int | None, is_one_to_one: bool, most: int) -> ComplementaryReport:
    """Join all releases and count who is left with whom."""
    from indistinct.attacks.complementary.chains import Step, extend, start
    from indistinct.attacks.complementary.crowds import JoinedCrowds

    barred, is_in, notes = _rule_out(joined, is_one_to_one)
    chains, steps = start(joined.entries[0]), [Step(0, 0, 0)]
    for position in range(1, len(joined.entries)):
        blocks = [vocabulary.components() for vocabulary in joined.vocabularies]
        ruled_out = [barred.get((earlier, position)) for earlier in range(position)]
        chains, step = extend(chains, joined.entries, joined.vocabularies, blocks, ruled_out)
        steps.append(step)
    return JoinedCrowds(joined, chains, is_in).report(joined.requirements(k), steps, [*joined.notes, *notes], most)


def _rule_out(joined: JoinedReleases, is_asked: bool) -> tuple[dict[tuple[int, int], IntArray], BoolArray, list[str]]:
    """Return pairs that are ruled out for each two releases, and whether all people of one are in another."""
    import numpy as np

    from indistinct.attacks.complementary.chains import pair_numbers
    from indistinct.attacks.complementary.one_to_one import one_to_one as pair_off

    number = len(joined.entries)
    barred: dict[tuple[int, int], IntArray] = {}
    is_in = np.eye(number, dtype=np.bool_)
    notes = []
    blocks = [vocabulary.components() for vocabulary in joined.vocabularies]
    for later in range(1, number if is_asked else 0):
        for earlier in range(later):
            pairs = _pairs(joined, earlier, later, blocks)
            if pairs is None:
                notes.append(
                    f"{joined.names[earlier]} and {joined.names[later]} have too many pairs to be matched one to one, "
                    "so none is ruled out"
                )
                continue
            left, right = pairs
            counts = joined.entries[earlier].counts, joined.entries[later].counts
            found = pair_off(left, right, counts)
            is_in[earlier, later], is_in[later, earlier] = (alone == 0 for alone in found.alone)
            if 0 in found.alone:
                ruled_out = ~found.is_possible
                barred[earlier, later] = np.sort(
                    pair_numbers(left[ruled_out], right[ruled_out], len(joined.entries[later].counts))
                )
    return barred, is_in, notes


def _pairs(
    joined: JoinedReleases, earlier: int, later: int, blocks: Sequence[IntArray]
) -> tuple[IntArray, IntArray] | None:
    """Return the consistent pairs of entries of two releases; None if they are too many to match."""
    import numpy as np

    from indistinct.attacks.complementary.chains import consistent_pairs

    one, other = joined.entries[earlier], joined.entries[later]
    lefts, rights, number = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)], 0
    for left, right, _ in consistent_pairs(one.labels, one.values, other, joined.vocabularies, blocks):
        lefts.append(left)
        rights.append(right)
        number += len(left)
        if number > MOST_MATCHED:
            return None
    return np.concatenate(lefts), np.concatenate(rights)
