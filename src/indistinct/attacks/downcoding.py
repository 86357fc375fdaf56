"""Downcoding: which generalized cells of a release can be sharpened by somebody who sees nothing but the release.

Who has the policy knows what lies below each label, and what the algorithm promises: that labels are no higher than
they must be. So a label that was not lowered tells about the values below it. For every generalized label of every
group this attack bounds the number of rows under each lower label. It concludes nothing that does not follow from the
released cells, the hierarchies, k and what is assumed.

Source: Cohen, Attacks on Deidentification's Defenses, USENIX Security 2022, for the idea and for minimality.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from indistinct.errors import PolicyError
from indistinct.showing.words import counted

if TYPE_CHECKING:
    from indistinct.attacks.deduction import Deduced, Knowledge
    from indistinct.attacks.released import Released
    from indistinct.policy import Policy

Label = str | None
Kind = Literal["certain", "counted", "named", "present", "crowd", "absent", "somewhere"]

KINDS: dict[Kind, str] = {
    "certain": "the lower label of every row is known",
    "counted": "it is known how many rows lie under each lower label",
    "named": "a lower label that is known has fewer than k rows",
    "present": "a lower label is known to occur",
    "crowd": "some lower label has fewer than k rows",
    "absent": "a lower label is known not to occur",
    "somewhere": "some rows of the table have a lower label with fewer than k rows",
}
"""What findings say, worst first."""

ASSUMPTIONS = {
    "lowest-labels": "every group carries the lowest labels that cover its rows",
    "minimal": "no column of a group could have been released one level lower",
    "minimal-rows": "no row could have been released with a lower label",
}
"""What can be assumed about a local release, each with those before it."""

MINIMAL_TABLE = "no column could have been released one level lower"
"""What "minimal" says about a full-domain release, of which nothing else can be assumed."""

PROMISES: dict[str, tuple[str, ...]] = {
    "datafly": (),
    "mu-argus": (),
    "top-down": (),
    "regroup": ("lowest-labels",),
    "k-similar": ("lowest-labels",),
    "mingen-cell": ("minimal-rows",),
}
"""What algorithms promise that do not promise "minimal"; top-down does so only if it tightens its labels."""

NEVER_SUPPRESSES = ("mingen",)
"""Algorithms that are minimal among the releases without suppressed rows, whatever the policy allows."""

ADVICE = (
    "give these columns hierarchies with larger steps, or release them higher than they must be",
    "raise k, so that the crowds that follow are larger",
    "suppress the rows of the worst groups",
    "use an algorithm that is not minimal (datafly), or release two tables, which generalize nothing",
)

SCOPE = (
    "This is what follows for certain from the released cells, the hierarchies and what is assumed. Not shown is what "
    "is merely likely, what follows from sensitive columns or other tables, and not every consequence of minimality: "
    "that nothing is found does not prove that nothing can be found."
)


class Bound(NamedTuple):
    """At least and at most so many rows of a group lie under a lower label."""

    label: Label
    least: int
    most: int


@dataclass(frozen=True, slots=True)
class Finding:
    """What follows about one column of a group; of the whole table, if there is no group."""

    kind: Kind
    column: str
    group: dict[str, Label] | None
    """The released cells of the group."""
    rows: int
    """The rows of the group; for the whole table, those that would stand out one level lower."""
    bounds: tuple[Bound, ...]
    """The lower labels about which something follows."""
    crowd: int
    """Some rows, at least 1 and at most so many, share a lower label that none of the other rows of the group has."""
    assumption: str | None
    """What has to be assumed for it, in words."""

    @property
    def sentence(self) -> str:
        """What follows, and from what, in English."""
        reason = f"if {self.assumption}" if self.assumption else "since the hierarchy has nothing else below its label"
        if self.group is None:
            where = "alone" if self.crowd == 1 else f"in a group of at most {self.crowd}"
            return (
                f"At least {counted(self.rows, 'row')} of the table would stand {where} if {self.column} were one "
                f"level lower, though it does not follow which, {reason}."
            )
        cells = ", ".join(f"{name} {_shown(label)}" for name, label in self.group.items())
        return f"Of the {counted(self.rows, 'row')} with {cells}: {self._what_follows()}, {reason}."

    def _what_follows(self) -> str:
        if self.kind == "certain":
            return f"all have {self.column} {_shown(self.bounds[0].label)}"
        occurring = [f"{_numbered(bound)} {self.column} {_shown(bound.label)}" for bound in self.bounds if bound.least]
        absent = [_shown(bound.label) for bound in self.bounds if not bound.most]
        parts = [_listed(occurring)] if occurring else []
        if self.kind in ("named", "present", "crowd") and self.crowd < self.rows:
            share = "1 row has" if self.crowd == 1 else f"at most {self.crowd} share"
            parts.append(f"{share} a lower label of {self.column} that none of the others has")
        if absent:
            parts.append(f"none has {self.column} {_listed(absent, 'or')}")
        return "; ".join(parts)

    def to_dict(self) -> dict[str, Any]:
        """Give the finding as JSON takes it."""
        return {
            "kind": self.kind,
            "column": self.column,
            "group": self.group,
            "rows": self.rows,
            "bounds": [bound._asdict() for bound in self.bounds],
            "crowd": self.crowd,
            "sentence": self.sentence,
        }


@dataclass(frozen=True, slots=True)
class ColumnExposure:
    """What follows about one column, in numbers."""

    column: str
    generalized_cells: int
    sharpened_cells: int
    generalized_groups: int
    """Groups with a generalized label in this column."""
    groups_with_crowds: int
    """Groups with some rows that are known to share a lower label with fewer than k."""


@dataclass(frozen=True, slots=True)
class DowncodingReport:
    """What follows from a release alone: counts, released labels, and labels of the policy's hierarchies."""

    k: int
    rows: int
    groups: int
    recoding: Literal["full-domain", "local"]
    assumed: dict[str, str]
    """What was assumed, by name and in words."""
    columns: tuple[ColumnExposure, ...]
    smallest_crowd: int
    """The fewest rows of one group that are known to share a released or a lower label, which need not be known."""
    kinds: dict[Kind, int]
    """How many findings there are of each kind, worst first."""
    findings: tuple[Finding, ...]
    """The worst ones, worst first; no more than were asked for."""
    notes: tuple[str, ...]

    @property
    def generalized_cells(self) -> int:
        """Released cells that carry a label above the values."""
        return sum(column.generalized_cells for column in self.columns)

    @property
    def sharpened_cells(self) -> int:
        """Generalized cells whose lower label is known for certain, though not always in which row of the group."""
        return sum(column.sharpened_cells for column in self.columns)

    @property
    def summary(self) -> str:
        """The outcome in one sentence."""
        cells = counted(self.generalized_cells, "generalized cell")
        if not self.generalized_cells:
            return "no cell is generalized, so there is nothing to sharpen"
        if not self.kinds:
            return f"nothing follows about the {cells}"
        return (
            f"{self.sharpened_cells:,} of {cells} can be sharpened; the smallest crowd that follows is "
            f"{counted(self.smallest_crowd, 'row')}, where k is {self.k}"
        )

    def to_dict(self) -> dict[str, Any]:
        """Give the report as JSON takes it."""
        return {
            "k": self.k,
            "rows": self.rows,
            "groups": self.groups,
            "recoding": self.recoding,
            "assumed": self.assumed,
            "generalized_cells": self.generalized_cells,
            "sharpened_cells": self.sharpened_cells,
            "smallest_crowd": self.smallest_crowd,
            "columns": [asdict(column) for column in self.columns],
            "kinds": self.kinds,
            "findings": [finding.to_dict() for finding in self.findings],
            "notes": list(self.notes),
        }

    def __str__(self) -> str:
        lines = [f"downcoding: {self.summary}"]
        lines += [f"assumed: {meaning}" for meaning in self.assumed.values()] or ["assumed: nothing"]
        lines += [f"note: {note}" for note in self.notes]
        if self.kinds:
            lines += ["", *(f"{number:>7,}  {KINDS[kind]}" for kind, number in self.kinds.items())]
            lines += ["", "worst first:", *(f"  - {finding.sentence}" for finding in self.findings)]
            lines += ["", "what to do:", *(f"  - {advice}" for advice in ADVICE)]
        return "\n".join([*lines, "", SCOPE])


def downcoding(
    release: Any,
    policy: Policy,
    *,
    assume: Collection[str] | None = None,
    recoding: Literal["full-domain", "local"] | None = None,
    suppressed: int | None = None,
    most: int = 20,
    **reading: Any,
) -> DowncodingReport:
    """Give what follows about generalized cells from a release, the policy's hierarchies and k alone.

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
    from indistinct.attacks.deduction import Knowledge
    from indistinct.attacks.label_tree import LabelTree
    from indistinct.attacks.released import Released

    _check(assume, recoding)
    released = Released.read(release, policy, **reading)
    if suppressed is not None:
        released = replace(released, suppressed=suppressed)
    if recoding is not None:
        released = replace(released, is_local=recoding == "local")
    k = max((model.least_rows for model in policy.privacy), default=1)
    known = Knowledge.of(released, [LabelTree(policy.columns[name]) for name in released.columns], k)
    names = list(ASSUMPTIONS) if known.is_local else ["minimal"]
    wanted = _promised(released, policy) if assume is None else assume
    strength = max((place for place, name in enumerate(names, 1) if name in wanted), default=0)
    notes = _notes(known)
    reason = _why_not_minimal(known, policy)
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
    return _report(known, [one for one in deduced if one is not None], assumed, most, notes)


def _check(assume: Collection[str] | None, recoding: object) -> None:
    if isinstance(assume, str) or not set(assume or ()) <= set(ASSUMPTIONS):
        raise PolicyError(f"assume: must be some of {', '.join(ASSUMPTIONS)}, got {assume!r}")
    if recoding not in (None, "full-domain", "local"):
        raise PolicyError(f"recoding: must be 'full-domain' or 'local', got {recoding!r}")


def _promised(released: Released, policy: Policy) -> Collection[str]:
    """Give what the algorithm of a release promises; that it is minimal, if nothing else is known."""
    algorithm = released.algorithm or ""
    options = policy.options if algorithm == policy.algorithm else {}
    promised = PROMISES.get(algorithm, ("minimal",))
    if algorithm == "lattice" and policy.allowed_suppression(released.rows):
        promised = ()  # it may climb higher than it must, to suppress fewer rows
    if algorithm == "top-down" and options.get("tighten"):
        promised = ("minimal",)
    is_less = not released.is_proven or options.get("labels") == "ranges"
    return ("lowest-labels",) if promised and is_less else promised


def _why_not_minimal(known: Knowledge, policy: Policy) -> str | None:
    """Say why minimality would tell nothing about k and the hierarchies, if that is so."""
    from indistinct.privacy import KAnonymity

    for _, columns, model in policy.requirements():
        if not isinstance(model, KAnonymity) or set(columns) != set(policy.quasi):
            return (
                "with other models than k-anonymity, or several quasi-identifiers, "
                "it need not be k that kept a label from being lower"
            )
    if any(split is not None and split.is_cover for splits in known.splits for split in splits.values()):
        return "ranges and sets are not cut along the hierarchies"
    if min(known.released.sizes, default=known.k) < known.k:
        return f"the release has groups of fewer than k = {known.k} rows, so verify it first"
    if _standing_out(known.released, policy) < 1:
        return "more rows are suppressed than the policy allows"
    return None


def _standing_out(released: Released, policy: Policy) -> int:
    """Give how many released rows would stand out at least, were a column of a full-domain release one level lower.

    Suppressed rows would stand out there, too, and all together would be more than the policy allows.
    """
    if released.suppressed is None or released.algorithm in NEVER_SUPPRESSES:
        return 1
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


def _report(
    known: Knowledge, deduced: Sequence[Deduced], assumed: dict[str, str], most: int, notes: Sequence[str]
) -> DowncodingReport:
    """Count what was deduced, and describe the worst of it."""
    released, severity = known.released, list(KINDS)
    meanings = [None, *assumed.values()]
    counts = Counter(one.kind for one in deduced)
    ranked = sorted(
        deduced, key=lambda one: (severity.index(one.kind), one.crowd, one.rows, one.column, one.group or 0)
    )
    return DowncodingReport(
        k=known.k,
        rows=released.rows,
        groups=len(released.groups),
        recoding="local" if known.is_local else "full-domain",
        assumed=assumed,
        columns=tuple(_exposure(known, column, deduced) for column in range(len(released.columns))),
        smallest_crowd=min([*released.sizes, *(one.crowd for one in deduced if one.group is not None)], default=0),
        kinds={kind: counts[kind] for kind in severity if counts[kind]},
        findings=tuple(
            Finding(
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
        notes=tuple(notes),
    )


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


def _shown(label: Label) -> str:
    return "missing" if label is None else label


def _numbered(bound: Bound) -> str:
    """Say how many rows have a lower label.

    >>> _numbered(Bound("clerk", 1, 1)), _numbered(Bound("clerk", 1, 4))
    ('exactly 1 has', 'between 1 and 4 have')
    """
    if bound.least < bound.most:
        return f"between {bound.least} and {bound.most} have"
    return f"exactly {bound.least} {'has' if bound.least == 1 else 'have'}"


def _listed(parts: Sequence[str], word: str = "and", most: int = 6) -> str:
    """Join parts as a sentence does.

    >>> _listed(["a", "b", "c"]), _listed(["a", "b"], "or")
    ('a, b and c', 'a or b')
    """
    if len(parts) > most:
        return f"{', '.join(parts[:most])} {word} {len(parts) - most} more"
    return f" {word} ".join([", ".join(parts[:-1]), parts[-1]] if len(parts) > 1 else parts)
