"""Downcoding: which generalized cells of a release can be sharpened by somebody who sees nothing but the release.

Who has the policy knows what lies below each label, and what the algorithm promises: that labels are no higher than
they must be. So a label that was not lowered tells about the values below it. For every generalized label of every
group this attack bounds the number of rows under each lower label. It concludes nothing that does not follow from the
released cells, the hierarchies, k and what is assumed.

Source: Cohen, Attacks on Deidentification's Defenses, USENIX Security 2022, for the idea and for minimality.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, NamedTuple

from indistinct.attacks.attack import Attack, most_option, option
from indistinct.attacks.labels import LabelTree
from indistinct.attacks.sharpening.deduction import Deduced, Knowledge, ReleasedGroups
from indistinct.attacks.sharpening.downcoding_report import KINDS, ColumnExposure, DowncodingReport, SharpenedGroup
from indistinct.attacks.target import OnePolicy, Target, people_notes
from indistinct.errors import PolicyError
from indistinct.policy import Policy
from indistinct.policy.algorithms import declared_by
from indistinct.privacy import KAnonymity
from indistinct.showing.words import counted

RecodingKind = Literal["full-domain", "local"]
KNOWN = ("the release", "the policy: its hierarchies, k and algorithm")
MEANING = (
    "every group still has its k rows, and no row is told whose it is; but who knows the hierarchies, and that labels "
    "are as low as they can be, can tell that some rows of a group lie in one part of a label and some in another: the "
    "crowd that hides a person may then be smaller than k"
)

ASSUMPTIONS = {
    "lowest-labels": "every group carries the lowest labels that cover its rows",
    "minimal": "no column of a group could have been released one level lower",
    "minimal-rows": "no row could have been released with a lower label",
}
"""What can be assumed about a local release, each with those before it."""

MINIMAL_TABLE = "no column could have been released one level lower"
"""What "minimal" says about a full-domain release, of which nothing else can be assumed."""


RECODING_HELP = "What a table without a manifest is: full-domain or local. Else found out."


def assume_option(help: str) -> Any:
    """Return the field that says what an algorithm is believed to promise; on the command line it may be nothing."""

    def read(typed: Iterable[str]) -> list[str]:
        return [name for name in typed if name != "nothing"]

    return option(None, f"What the release is believed to promise: {help}", is_several=True, read=read)


def check_sharpening(assume: Collection[str] | None, known: Collection[str], recoding: str | None) -> None:
    """Refuse assumptions that an attack does not know, and kinds of recoding that there are not."""
    if isinstance(assume, str) or not set(assume or ()) <= set(known):
        raise PolicyError(f"assume: must be some of {', '.join(known)}, got {assume!r}")
    if recoding not in (None, "full-domain", "local"):
        raise PolicyError(f"recoding: must be 'full-domain' or 'local', got {recoding!r}")


@dataclass(frozen=True, slots=True)
class Downcoding(Attack):
    """Show which generalized cells somebody can sharpen who sees the release and its policy only.

    A label that is no higher than it must be tells about the values below it.
    """

    name: ClassVar[str] = "downcoding"
    title: ClassVar[str] = "Sharpening labels of the release alone"
    meaning: ClassVar[str] = MEANING
    held: ClassVar[tuple[str, ...]] = KNOWN

    assume: Collection[str] | None = assume_option(
        "lowest-labels, minimal, minimal-rows, or nothing. Else what its algorithm promises."
    )
    recoding: str | None = option(None, RECODING_HELP)
    suppressed: int | None = option(
        None, "How many rows were suppressed, if there is no manifest that says so.", int, least=0
    )
    most: int = most_option()

    def __post_init__(self) -> None:
        check_sharpening(self.assume, ASSUMPTIONS, self.recoding)

    def attack(self, target: Target) -> DowncodingReport:
        """Conclude what follows about each label of each group by itself."""
        looked = look_at(target, self.assume, self.recoding, self.suppressed)
        return DowncodingReport(**report_facts(looked, looked.deduced, looked.assumed, self.most, looked.notes))


def downcoding(
    release: Any,
    policy: OnePolicy,
    *,
    assume: Collection[str] | None = None,
    recoding: RecodingKind | None = None,
    suppressed: int | None = None,
    most: int = 20,
    **reading: Any,
) -> DowncodingReport:
    """Return what follows about generalized cells from a release, the policy's hierarchies and k alone.

    ``release`` is a Release, a release folder or a released table of any kind. ``assume`` says what its algorithm is
    believed to promise: ``"lowest-labels"`` of a local release, ``"minimal"`` of a full-domain release or of each
    group of a local one, ``"minimal-rows"`` of each row of a local one, which is Cohen's minimality. Without it, this
    is what the release's own algorithm promises, or ``"minimal"`` where that is not known. What the release itself
    contradicts is not assumed. ``recoding`` and ``suppressed`` (rows) are for a table that comes without a manifest;
    it is taken as full-domain if every column has labels of one level. ``most`` findings are described, all are
    counted. ``reading`` goes to the engine: memory_limit, threads, delimiter and encoding.

    >>> import pyarrow as pa
    >>> from indistinct import KAnonymity, Policy, quasi, tree
    >>> job = quasi(tree({"*": {"office": ["clerk", "judge"], "care": ["nurse"]}}), missing="refuse")
    >>> table = pa.table({"job": ["office", "office", "office", "care", "care"]})
    >>> report = downcoding(table, Policy(columns={"job": job}, privacy=[KAnonymity(2)]))
    >>> report.sharpened_cells, report.smallest_crowd
    (4, 1)
    >>> [bound for finding in report.findings for bound in finding.bounds if bound.label != "nurse"]
    [Bound(label='clerk', least=1, most=2), Bound(label='judge', least=1, most=2)]
    """
    return Downcoding(assume, recoding, suppressed, most).attack(Downcoding.target_of(release, policy, **reading))


class Looked(NamedTuple):
    """What a release says, what was assumed of it that it does not contradict, and what follows label by label."""

    known: Knowledge
    promised: Collection[str]
    """What its algorithm promises, or what it was asked to assume."""
    strength: int
    assumed: dict[str, str]
    deduced: list[Deduced]
    notes: list[str]


def look_at(
    target: Target, assume: Collection[str] | None, recoding: str | None, suppressed: int | None = None
) -> Looked:
    """Read a release, and conclude what follows about each label of each group by itself."""
    policy, released = target.policy, ReleasedGroups.read(target.release, target.policy)
    if suppressed is not None:
        released = replace(released, suppressed=suppressed)
    if recoding is not None:
        released = replace(released, is_local=recoding == "local")
    k = max((model.least_rows for model in policy.models_of_groups), default=1)
    known = Knowledge.of(released, [LabelTree(policy.columns[name]) for name in released.columns], k)
    names = list(ASSUMPTIONS) if known.is_local else ["minimal"]
    wanted = _promises(released, policy) if assume is None else assume
    strength = max((place for place, name in enumerate(names, 1) if name in wanted), default=0)
    notes = [*people_notes(policy), *_notes(known)]
    if assume is None and _is_raised_by_policy(released, policy):
        notes.append("the table does not say how it was made: chance raised some labels, as the policy says")
    reason = why_not_minimal(known, policy)
    if reason and "minimal" in names[:strength]:
        strength = names.index("minimal")
        notes.append(f"minimality is not assumed: {reason}")
    standing_out = _standing_out(released, policy)
    while None in (deduced := list(known.deduce(strength, standing_out))):
        strength -= 1
        notes.append(
            f"{counted(deduced.count(None), 'generalized label contradicts', 'generalized labels contradict')} that "
            f"{_meaning(names[strength], known)}: the release was not made so, and nothing is concluded from it"
        )
    assumed = {name: _meaning(name, known) for name in names[:strength]}
    return Looked(known, wanted, strength, assumed, [one for one in deduced if one is not None], notes)


def _promises(released: ReleasedGroups, policy: Policy) -> Collection[str]:
    """Return what the algorithm of a release promises; that it is minimal, if nothing else is known."""
    if policy.models_of_groups != tuple(policy.privacy):
        return ()  # where few columns are known, a label may be higher than its own rows ask for
    made_by = policy.algorithm if _is_raised_by_policy(released, policy) else released.algorithm
    algorithm = declared_by(made_by, policy, released.options)
    may_suppress = policy.allowed_suppression(released.rows) > 0
    promised = ("minimal",) if algorithm is None else algorithm.promises(may_suppress=may_suppress)
    return promised if released.is_proven or not promised else ("lowest-labels",)


def _is_raised_by_policy(released: ReleasedGroups, policy: Policy) -> bool:
    """Return whether a release that does not say how it was made is one of a policy by which chance raises labels."""
    return released.algorithm is None and bool(policy.options.get("random_raise"))


def why_not_minimal(known: Knowledge, policy: Policy) -> str | None:
    """Say why minimality would tell nothing about k and the hierarchies, if that is so."""
    if policy.person_columns:
        return "people were counted, and the release tells only rows"
    for columns, model in policy.judged_sets():
        if not isinstance(model, KAnonymity) or set(columns) != set(policy.quasi):
            return (
                "with other models than k-anonymity, several quasi-identifiers, or few known columns, "
                "it need not be k that kept a label from being lower"
            )
    if any(split is not None and split.is_cover for splits in known.splits for split in splits.values()):
        return "ranges and sets are not cut along the hierarchies"
    if min(known.released.sizes, default=known.k) < known.k:
        return f"the release has groups of fewer than k = {known.k} rows, so verify it first"
    if _standing_out(known.released, policy) < 1:
        return "more rows are suppressed than the policy allows"
    return None


def _standing_out(released: ReleasedGroups, policy: Policy) -> int:
    """Return how many released rows would stand out at least, were a column of a full-domain release one level lower.

    Suppressed rows would stand out there, too, and all together would be more than the policy allows.
    """
    algorithm = declared_by(released.algorithm, policy, released.options)
    if released.suppressed is None or (algorithm is not None and not algorithm.suppresses):
        return 1  # minimal among the releases without suppressed rows, whatever the policy allows
    rows = released.rows + released.suppressed
    allowed = min(policy.allowed_suppression(rows), rows - 1)  # a release of nothing is none
    return allowed - released.suppressed + 1


def _notes(known: Knowledge) -> list[str]:
    """Say what limits the attack."""
    notes = []
    if not known.released.is_of_policy:
        notes.append("the release was made for another policy; what follows holds only if its hierarchies are the same")
    for name, splits in zip(known.released.columns, known.splits, strict=True):
        unlisted = sum(split is not None and split.labels is None for split in splits.values())
        if unlisted:
            notes.append(
                f"column {name!r}: the policy does not list what lies below {counted(unlisted, 'released label')}, "
                "so no lower label is named there"
            )
    return notes


def _meaning(name: str, known: Knowledge) -> str:
    return ASSUMPTIONS[name] if known.is_local else MINIMAL_TABLE


def report_facts(
    looked: Looked, deduced: Sequence[Deduced], assumed: dict[str, str], most: int, notes: Sequence[str]
) -> dict[str, Any]:
    """Count what was deduced, and describe the worst of it."""
    known = looked.known
    released, severity = known.released, list(KINDS)
    meanings = [None, *assumed.values(), ", and ".join(assumed.values())]
    counts = Counter(one.kind for one in deduced)
    ranked = sorted(
        deduced, key=lambda one: (severity.index(one.kind), one.crowd, one.rows, one.column, one.group or 0)
    )
    return {
        "k": known.k,
        "rows": released.rows,
        "groups": len(released.groups),
        "recoding": "local" if known.is_local else "full-domain",
        "assumed": assumed,
        "columns": tuple(_exposure(known, column, deduced) for column in range(len(released.columns))),
        "smallest_crowd": min([*released.sizes, *(one.crowd for one in deduced if one.group is not None)], default=0),
        "kinds": {kind: counts[kind] for kind in severity if counts[kind]},
        "findings": tuple(
            SharpenedGroup(
                one.kind,
                released.columns[one.column],
                None if one.group is None else dict(zip(released.columns, released.groups[one.group], strict=True)),
                one.rows,
                one.bounds,
                one.crowd,
                meanings[one.strength],
            )
            for one in ranked[:most]
        ),
        "notes": tuple(notes),
    }


def _exposure(known: Knowledge, column: int, deduced: Sequence[Deduced]) -> ColumnExposure:
    rows = [cell.rows for cell in known.cells(column)]
    own = [one for one in deduced if one.column == column and one.group is not None]
    return ColumnExposure(
        column=known.released.columns[column],
        generalized_cells=sum(rows),
        sharpened_cells=sum(bound.least for one in own for bound in one.bounds),
        generalized_groups=len(rows),
        groups_with_crowds=sum(one.crowd < known.k for one in own),
    )
