"""ComplementaryReport: what follows from several releases together, in counts, labels and words."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal

from indistinct.attacks.attack_report import AttackReport, ReportTable, Severity
from indistinct.showing.words import cells_in_words, counted

Label = str | None
Kind = Literal["linked", "absent"]

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
class LinkedSource:
    """Rows of one release that a finding comes from."""

    release: str
    labels: dict[str, Label]
    rows: int


@dataclass(frozen=True, slots=True)
class LinkedTuple:
    """Labels that follow from several releases together, and how few rows can have them."""

    also: ClassVar[tuple[str, ...]] = ("sentence",)

    kind: Kind
    """"linked": fewer than k rows have the labels of all releases together; "absent": fewer than k rows with these
    labels fit no row of another release."""
    labels: dict[str, Label]
    rows: int
    """The most rows that can have these labels."""
    k: int
    is_certain: bool
    """Somebody has them, if what is assumed is true; else it may be that nobody has."""
    absent: tuple[str, ...]
    """The releases that these rows are not in."""
    sources: tuple[LinkedSource, ...]

    @property
    def sentence(self) -> str:
        """What follows, in English."""
        cells = cells_in_words(self.labels)
        if self.kind == "absent":
            return f"At most {counted(self.rows, 'row')} with {cells} can be missing from {' and '.join(self.absent)}."
        origins = "; ".join(f"{one.release}: {cells_in_words(one.labels)}" for one in self.sources)
        certainty = "" if self.is_certain else ", if any"
        return f"At most {counted(self.rows, 'row has', 'rows have')} {cells}{certainty} ({origins})."


@dataclass(frozen=True, slots=True)
class JoinedRelease:
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
class ComplementaryReport(AttackReport):
    """What follows from several releases together: counts, and labels that were released or lie below such."""

    attack: ClassVar[str] = "complementary"
    also: ClassVar[tuple[str, ...]] = ("below_k",)
    usual_advice: ClassVar[tuple[str, ...]] = ADVICE
    scope: ClassVar[str] = SCOPE

    k: int
    on: tuple[str, ...]
    """The columns that were released as they are, by which rows are linked."""
    columns: tuple[str, ...]
    releases: tuple[JoinedRelease, ...]
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
    def severity(self) -> Severity:
        """Broken if somebody is in a crowd of fewer than k, if what is assumed is true."""
        return "broken" if self.certain else "something" if self.kinds else "nothing"

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What is assumed of people who stand in several releases."""
        return self.assumed

    @property
    def figures(self) -> Mapping[str, float]:
        """How many combinations of labels follow that few rows have, and how many rows that concerns."""
        return {
            "releases": len(self.releases),
            "k": self.k,
            "combinations of labels that fewer than k rows have": self.below_k,
            "crowds of fewer than k that are in some of the releases only": self.kinds.get("absent", 0),
            "of these that are somebody's, if what is assumed is true": self.certain,
            "rows at risk": self.rows_at_risk,
            "rows that may be at risk": self.rows_possibly_at_risk,
        }

    def tables(self) -> list[ReportTable]:
        """Return how the rows of each release fit those before."""
        heads = ("release", "rows", "pairs", "consistent", "ruled out", "in no other release")
        rows = [
            (one.release, one.rows, one.pairs, one.consistent_pairs, one.ruled_out_pairs, one.rows_alone)
            for one in self.releases
        ]
        return [ReportTable(f"Linked on {', '.join(self.on) or 'labels alone'}", heads, rows)]

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
