"""ComplementaryReport: what follows from several releases together, in counts, labels and words."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from indistinct.showing.words import cells_in_words, counted

if TYPE_CHECKING:
    pass

Label = str | None
Kind = Literal["linked", "absent"]

KINDS: dict[Kind, str] = {
    "linked": "fewer than k rows have the labels of all releases together",
    "absent": "fewer than k rows with these labels fit no row of another release",
}
"""What findings say, worst first."""

ADVICE = (
    "base the new release on the earlier ones: no cell more specific than it was released before, new rows apart",
    "or treat everything that was released before as quasi-identifier when you search for the new release",
    "leave out, or generalize, the columns that link the releases",
    "suppress the rows that are named here; then attack the release again, since that shows as well",
)

SCOPE = (
    "Counted is the most people that each combination can have. Not shown is what follows about people who look the "
    "same in every release, what is merely likely, and what other tables tell: that nothing is found does not prove "
    "that nothing can be found."
)


@dataclass(frozen=True, slots=True)
class Source:
    """Rows of one release that a finding comes from."""

    release: str
    labels: dict[str, Label]
    rows: int


@dataclass(frozen=True, slots=True)
class LinkedTuple:
    """Labels that follow from several releases together, and how few rows can have them."""

    kind: Kind
    labels: dict[str, Label]
    rows: int
    """At most so many rows have these labels."""
    k: int
    is_certain: bool
    """Somebody has them, if what is assumed is true; else it may be that nobody has."""
    absent: tuple[str, ...]
    """The releases that these rows are not in."""
    sources: tuple[Source, ...]

    @property
    def sentence(self) -> str:
        """What follows, in English."""
        cells = cells_in_words(self.labels)
        if self.kind == "absent":
            return f"At most {counted(self.rows, 'row')} with {cells} can be missing from {' and '.join(self.absent)}."
        origins = "; ".join(f"{one.release}: {cells_in_words(one.labels)}" for one in self.sources)
        certainty = "" if self.is_certain else ", if any"
        return f"At most {counted(self.rows, 'row has', 'rows have')} {cells}{certainty} ({origins})."

    def to_dict(self) -> dict[str, Any]:
        """Return the finding as JSON takes it."""
        return {**asdict(self), "absent": list(self.absent), "sources": [asdict(one) for one in self.sources]} | {
            "sentence": self.sentence
        }


@dataclass(frozen=True, slots=True)
class Joined:
    """One release in the join: its rows, and how they fit the releases before it."""

    release: str
    rows: int
    pairs: int
    """Pairs of a row with one of the releases before it that agree in what links; 0 for the first release."""
    consistent_pairs: int
    """Those whose labels can stand for the same person."""
    ruled_out_pairs: int
    """Those of them that would leave somebody else without a row."""
    rows_alone: int
    """Rows that fit no row of any other release."""


@dataclass(frozen=True, slots=True)
class ComplementaryReport:
    """What follows from several releases together: counts, and labels that were released or lie below such."""

    advice: ClassVar[tuple[str, ...]] = ADVICE
    """What to do where something was found."""
    scope: ClassVar[str] = SCOPE
    """What was looked for, and what was not."""

    k: int
    on: tuple[str, ...]
    """The columns that were released as they are, by which rows are linked."""
    columns: tuple[str, ...]
    releases: tuple[Joined, ...]
    assumed: tuple[str, ...]
    tuples: int
    """Different combinations of labels that follow for somebody."""
    smallest: int
    """The fewest rows that can have one of them and stand in all releases."""
    kinds: dict[Kind, int]
    """How many findings there are of each kind."""
    certain: int
    """Those that somebody is in, if what is assumed is true."""
    rows_at_risk: int
    """Rows of the last release that belong to a finding, whomever they are linked with."""
    rows_possibly_at_risk: int
    """Rows of the last release that may belong to one."""
    findings: tuple[LinkedTuple, ...]
    """The worst ones, worst first; no more than were asked for."""
    notes: tuple[str, ...]

    @property
    def below_k(self) -> int:
        """Combinations of labels that follow from all releases together and have fewer than k rows."""
        return self.kinds.get("linked", 0)

    @property
    def is_broken(self) -> bool:
        """Somebody is in a crowd of fewer than k, if what is assumed is true."""
        return self.certain > 0

    @property
    def summary(self) -> str:
        """The outcome in one sentence."""
        if not self.kinds:
            return f"nothing with fewer than {counted(self.k, 'row')} follows from the releases together"
        parts = []
        if self.below_k:
            parts.append(
                f"the releases together narrow people down to {counted(self.below_k, 'combination')} of labels that "
                f"fewer than k = {self.k} rows have"
            )
        if absent := self.kinds.get("absent", 0):
            parts.append(
                f"{counted(absent, 'crowd', 'crowds')} of fewer than {self.k} "
                f"{'is' if absent == 1 else 'are'} in some of the releases only"
            )
        return (
            f"{'; '.join(parts)}; {self.certain:,} of them {'is' if self.certain == 1 else 'are'} somebody's for "
            "certain, if what is assumed is true; "
            f"{counted(self.rows_at_risk, 'row')} of {self.releases[-1].release} at risk"
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the report as JSON takes it."""
        return {
            "k": self.k,
            "on": list(self.on),
            "columns": list(self.columns),
            "releases": [asdict(one) for one in self.releases],
            "assumed": list(self.assumed),
            "tuples": self.tuples,
            "smallest": self.smallest,
            "kinds": self.kinds,
            "certain": self.certain,
            "rows_at_risk": self.rows_at_risk,
            "rows_possibly_at_risk": self.rows_possibly_at_risk,
            "findings": [finding.to_dict() for finding in self.findings],
            "notes": list(self.notes),
            "summary": self.summary,
        }

    def __str__(self) -> str:
        lines = [f"complementary: {self.summary}"]
        lines += [f"assumed: {meaning}" for meaning in self.assumed]
        lines += [f"note: {note}" for note in self.notes]
        lines += [
            f"{one.release}: {counted(one.rows, 'row')}"
            + (f", {one.pairs:,} pairs, {one.consistent_pairs:,} consistent" if position else "")
            for position, one in enumerate(self.releases)
        ]
        if self.kinds:
            lines += ["", "worst first:", *(f"  - {finding.sentence}" for finding in self.findings)]
            lines += ["", "what to do:", *(f"  - {advice}" for advice in ADVICE)]
        return "\n".join([*lines, "", SCOPE])
