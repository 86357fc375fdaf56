"""Maps: how released rows map to the people of a population: to nobody, to k of them, or to the wrong ones.

k-map can be asked for in a policy. The two others can only be verified: a truthful release of people who are in the
population is neither a null-map nor a wrong-map, because each row fits at least the person whom it is about.

Source: Sweeney 2001 (null-map, k-map and wrong-map).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from indistinct.attacks.attack import POPULATION, Attack, OtherTable, option
from indistinct.attacks.attack_report import AttackReport, Severity
from indistinct.attacks.linking.link import join_option, pairs_option, people_tables, read_pairs
from indistinct.attacks.target import OnePolicy, Target, people_notes
from indistinct.counting import linked_as_declared
from indistinct.engine import Counts
from indistinct.errors import PolicyError
from indistinct.linkage import (
    UNKNOWN,
    Coverage,
    EqualPairs,
    column_pairs,
    count_candidates,
    hierarchy_of,
    use_people,
)
from indistinct.release.forms import ONE_TABLE, TWO_TABLES, Form

WRONG = (
    "rows that fit somebody, but not the person whom they are about, are not true: wrong-map gives up truth, and "
    "whoever uses such a release must know it"
)


@dataclass(frozen=True, slots=True)
class MapReport(AttackReport):
    """How many released rows map to nobody, to how few people, and to the wrong ones."""

    attack: ClassVar[str] = "maps"
    also: ClassVar[tuple[str, ...]] = ("wrong_rows", "is_null_map", "is_wrong_map")
    scope: ClassVar[str] = (
        "Counted is who could be meant by a row. Who is in the population need not be in the release."
    )

    rows: int
    people: int
    null_rows: int
    """Rows that fit nobody of the population."""
    k: int
    """Every row surely fits at least this number of people: the k of the k-map that holds."""
    right_rows: int | None
    """Rows that fit the person whom they are about; None if no key says who that is."""
    notes: tuple[str, ...]

    @property
    def wrong_rows(self) -> int | None:
        """Rows that fit somebody, but not the person whom they are about."""
        return None if self.right_rows is None else self.rows - self.null_rows - self.right_rows

    @property
    def is_null_map(self) -> bool:
        """No row fits anybody."""
        return self.null_rows == self.rows

    @property
    def is_wrong_map(self) -> bool | None:
        """Every row fits somebody, and none the person whom it is about."""
        return None if self.wrong_rows is None else self.wrong_rows == self.rows

    @property
    def severity(self) -> Severity:
        """Something, if a row may fit one person alone."""
        return "something" if self.k < 2 else "nothing"

    @property
    def summary(self) -> str:
        """The outcome in one sentence."""
        names = {"null-map": self.is_null_map, "wrong-map": self.is_wrong_map}
        held = [name for name, holds in names.items() if holds]
        return f"the release is a {' and a '.join(held or [f'{self.k}-map'])}"

    @property
    def figures(self) -> Mapping[str, float]:
        """How many rows fit whom."""
        figures: dict[str, float] = {
            "rows": self.rows,
            "people": self.people,
            "people whom every row surely fits at least": self.k,
            "rows that fit nobody": self.null_rows,
        }
        if self.right_rows is not None and self.wrong_rows is not None:
            figures["rows that fit their own person"] = self.right_rows
            figures["rows that fit others only"] = self.wrong_rows
        return figures


@dataclass(frozen=True, slots=True)
class Maps(Attack):
    """Show how many people of a population each row fits: nobody, at least k, or only the wrong ones."""

    name: ClassVar[str] = "maps"
    title: ClassVar[str] = "Mapping to a population"
    meaning: ClassVar[str] = "some row fits one person of the population only, or nobody"
    held: ClassVar[tuple[str, ...]] = ("the release", "a table of the population", "the policy's hierarchies")
    asks: ClassVar[tuple[OtherTable, ...]] = (POPULATION,)
    forms: ClassVar[tuple[Form, ...]] = (ONE_TABLE, TWO_TABLES)
    is_in_all: ClassVar[bool] = False

    on: Mapping[str, str] | Iterable[str] | None = pairs_option(
        "A column to compare; after = its name in the population. Else all quasi columns of the same name."
    )
    key: str | tuple[str, str] | None = option(
        None,
        "The column of a draft that says whom a row is about; after = its name in the population.",
        metavar="COLUMN[=COLUMN]",
        read=lambda typed: next(iter(read_pairs([typed]).items())),
    )
    join: Sequence[Any] = join_option()

    def attack(self, target: Target) -> MapReport:
        """Count whom each row fits."""
        policy = target.policy
        with (
            target.release.quasi_rows() as released,
            use_people(people_tables(target.external, self.join), **target.reading) as other,
        ):
            pairs = column_pairs(self.on, released.columns(), other.columns(), policy)
            keys = _keys(self.key, released.columns(), other.columns())
            ours, theirs = [*pairs, *keys[:1]], [*pairs.values(), *keys[1:]]
            with (
                linked_as_declared(other, pairs, policy) as read,
                released.encode(ours) as mine,
                read.encode(theirs) as known,
            ):
                labels, groups = mine.values, mine.count_by(ours)
                values, people = known.values, known.count_by(theirs)
        number = len(pairs)
        coverages, sure = (
            [
                Coverage.of(hierarchy_of(policy, name), labels[name], values[external], missing_fits=is_enough)
                for name, external in pairs.items()
            ]
            for is_enough in (True, False)
        )
        rows, persons = _only(groups, number), _only(people, number)
        fitting = count_candidates(rows, persons, coverages).people
        surely = count_candidates(rows, persons, sure).people
        right = None
        if keys:
            is_right = _fits_own(groups, people, labels[keys[0]], values[keys[1]], coverages)
            right = int(groups.counts[is_right].sum())
        null = int(groups.counts[fitting == 0].sum())
        total = int(groups.counts.sum())
        has_wrong = right is not None and total - null - right > 0
        return MapReport(
            rows=total,
            people=int(people.counts.sum()),
            null_rows=null,
            k=int(surely.min()) if len(surely) else 0,
            right_rows=right,
            notes=(*people_notes(policy), *((WRONG,) if has_wrong else ())),
        )


def maps(
    release: Any,
    population: Any,
    policy: OnePolicy,
    *,
    on: Mapping[str, str] | Iterable[str] | None = None,
    key: str | tuple[str, str] | None = None,
    **reading: Any,
) -> MapReport:
    """Return how the rows of a release map to the people of a population.

    ``release`` and ``on`` are as for ``link``. ``key`` names a column of both tables, or one of each, that says whom a
    row is about: it belongs to a draft that never leaves the house, and without it nobody can tell a wrong-map.

    >>> import pyarrow as pa
    >>> from indistinct import KAnonymity, Policy, prefix, quasi
    >>> policy = Policy(columns={"zip": quasi(prefix(5))}, privacy=[KAnonymity(1)])
    >>> voters = pa.table({"id": ["1", "2", "3"], "zip": ["02138", "02139", "94138"]})
    >>> draft = pa.table({"id": ["1", "3"], "zip": ["0213*", "0213*"]})
    >>> found = maps(draft, voters, policy, key="id")
    >>> found.k, found.null_rows, found.right_rows, found.wrong_rows
    (2, 0, 1, 1)
    """
    return Maps(on, key).attack(Maps.target_of(release, policy, external=population, **reading))


def _keys(key: str | tuple[str, str] | None, ours: Sequence[str], theirs: Sequence[str]) -> tuple[str, ...]:
    """Return the columns that say whom a row is about, the release's first."""
    if key is None:
        return ()
    pair = (key, key) if isinstance(key, str) else tuple(key)
    mistakes = [f"key: the release has no column {pair[0]!r}"] * (pair[0] not in ours)
    mistakes += [f"key: the population has no column {pair[1]!r}"] * (pair[1] not in theirs)
    if mistakes:
        raise PolicyError(mistakes)
    return pair


def _only(counts: Counts, number: int) -> Counts:
    """The same tuples, of which only the first columns count."""
    return Counts(counts.codes[:number], counts.counts)


def _fits_own(
    groups: Counts,
    people: Counts,
    our_keys: Sequence[str | None],
    their_keys: Sequence[str | None],
    coverages: Sequence[Coverage],
) -> NDArray[np.bool_]:
    """Return which released tuples fit one of the people with their own key."""
    code_of = {text: code for code, text in enumerate(their_keys) if text is not None}
    wanted = np.array([code_of.get(text, -1) if text is not None else -1 for text in our_keys], np.int64)
    wanted = wanted[np.asarray(groups.codes[-1], np.int64)]
    group, person = EqualPairs.of(wanted, np.asarray(people.codes[-1], np.int64)).between(0, len(wanted))
    fits = np.ones(len(group), np.bool_)
    for coverage, own, external in zip(coverages, groups.codes, people.codes, strict=False):
        both = np.stack([np.asarray(own, np.int64)[group], coverage.ranks[external][person]], axis=1)
        distinct, which = np.unique(both, axis=0, return_inverse=True)
        is_covered = [rank == UNKNOWN or rank in coverage.covered[label] for label, rank in distinct.tolist()]
        fits &= np.array(is_covered, np.bool_)[which.ravel()]
    found = np.zeros(len(wanted), np.bool_)
    found[group[fits]] = True
    return found
