"""Maps: how released rows map to the people of a population: to nobody, to k of them, or to the wrong ones.

k-map can be asked for in a policy. The two others can only be verified: a truthful release of people who are in the
population is neither a null-map nor a wrong-map, because each row fits at least the person whom it is about.

Source: Sweeney 2001 (null-map, k-map and wrong-map).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from indistinct.attacks.people_notes import people_notes
from indistinct.errors import PolicyError
from indistinct.showing.words import counted

if TYPE_CHECKING:
    import os

    import numpy as np
    from numpy.typing import NDArray

    from indistinct.engine import Counts
    from indistinct.linkage.coverage import Coverage
    from indistinct.policy import Policy

WRONG = (
    "rows that fit somebody, but not the person whom they are about, are not true: wrong-map gives up truth, and "
    "whoever uses such a release must know it"
)


@dataclass(frozen=True, slots=True)
class MapReport:
    """How many released rows map to nobody, to how few people, and to the wrong ones."""

    rows: int
    people: int
    null_rows: int
    """Rows that fit nobody of the population."""
    k: int
    """Every row surely fits at least so many people: the k of the k-map that holds."""
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

    def to_dict(self) -> dict[str, Any]:
        """Return the report as JSON takes it."""
        return {
            "rows": self.rows,
            "people": self.people,
            "null_rows": self.null_rows,
            "k": self.k,
            "right_rows": self.right_rows,
            "wrong_rows": self.wrong_rows,
            "is_null_map": self.is_null_map,
            "is_wrong_map": self.is_wrong_map,
            "notes": list(self.notes),
        }

    def __str__(self) -> str:
        lines = [
            f"{counted(self.rows, 'row')}, {counted(self.people, 'person', 'people')}: {self.k}-map",
            f"{self.null_rows:,} fit nobody" + (": a null-map" if self.is_null_map else ""),
        ]
        if self.wrong_rows is not None:
            lines.append(f"{self.wrong_rows:,} fit others only" + (": a wrong-map" if self.is_wrong_map else ""))
        return "\n".join([*lines, *(f"note: {note}" for note in self.notes)])


def maps(
    release: Any,
    population: Any,
    policy: Policy | str | os.PathLike[str],
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
    from indistinct.attacks.linking.linked_columns import column_pairs, hierarchy_of
    from indistinct.counting import linked_as_declared
    from indistinct.engine import use_table
    from indistinct.linkage.coverage import Coverage
    from indistinct.linkage.fitting_people import count_candidates
    from indistinct.policy.load import load_policy
    from indistinct.release.released_tables import ReleasedTables

    policy = load_policy(policy, to="attack")
    with (
        ReleasedTables.of(release, policy, **reading).quasi_rows() as released,
        use_table(population, **reading) as other,
    ):
        pairs = column_pairs(on, released.columns(), other.columns(), policy)
        keys = _keys(key, released.columns(), other.columns())
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
    from indistinct.engine import Counts

    return Counts(counts.codes[:number], counts.counts)


def _fits_own(
    groups: Counts,
    people: Counts,
    our_keys: Sequence[str | None],
    their_keys: Sequence[str | None],
    coverages: Sequence[Coverage],
) -> NDArray[np.bool_]:
    """Return which released tuples fit one of the people with their own key."""
    import numpy as np

    from indistinct.linkage.coverage import UNKNOWN

    code_of = {text: code for code, text in enumerate(their_keys) if text is not None}
    wanted = np.array([code_of.get(text, -1) if text is not None else -1 for text in our_keys], np.int64)
    wanted = wanted[np.asarray(groups.codes[-1], np.int64)]
    order = np.argsort(people.codes[-1], kind="stable")
    keys = np.asarray(people.codes[-1], np.int64)[order]
    starts, ends = np.searchsorted(keys, wanted), np.searchsorted(keys, wanted, "right")
    lengths = np.where(wanted < 0, 0, ends - starts)
    group = np.repeat(np.arange(len(wanted)), lengths)
    person = order[
        np.arange(len(group)) - np.repeat(np.cumsum(lengths) - lengths, lengths) + np.repeat(starts, lengths)
    ]
    fits = np.ones(len(group), np.bool_)
    for coverage, own, external in zip(coverages, groups.codes, people.codes, strict=False):
        both = np.stack([np.asarray(own, np.int64)[group], coverage.ranks[external][person]], axis=1)
        distinct, which = np.unique(both, axis=0, return_inverse=True)
        is_covered = [rank == UNKNOWN or rank in coverage.covered[label] for label, rank in distinct.tolist()]
        fits &= np.array(is_covered, np.bool_)[which.ravel()]
    found = np.zeros(len(wanted), np.bool_)
    found[group[fits]] = True
    return found
