"""Terms: for whom a release is and of whom it is about, what she may hold already, and what it keeps to.

Also for which columns policies promise m-invariance over several releases, and what that lets them show.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from typing import Any, Literal

from indistinct.errors import LedgerError, PolicyError
from indistinct.hierarchy import Levels
from indistinct.ledger.store.entry import Entry
from indistinct.policy import Column, Person, Policy, sensitive_columns
from indistinct.policy.column import STABLE
from indistinct.policy.files.policy_file import parse_policy, policy_toml
from indistinct.policy.stated_policy import StatedPolicy, as_text
from indistinct.privacy import MInvariance

PUBLIC = "public"
"""The recipient of what everybody may have."""

Again = Literal["consistent", "based"]
"""How a search keeps to earlier releases: no history is split too finely, or nothing becomes more specific either."""
Colluding = Literal["all", "none"] | Sequence[str]
"""Who might put releases together with the recipient: everybody, nobody, or these recipients."""


def _review_date(given: date | str) -> date:
    """Read the day of a review."""
    try:
        return date.fromisoformat(str(given))
    except ValueError:
        raise LedgerError("review: must be a day, such as 2027-05-30") from None


@dataclass(frozen=True, slots=True)
class Terms:
    """What a release is made under; nonsense is refused when they are made."""

    policy: Policy
    recipient: str
    source: str = "main"
    purpose: str = ""
    named_key: Sequence[str] | str | None = None
    """The columns by which people are recognised; by default the policy's identifiers, or else the whole row.

    Where the policy says whose row it is, people are recognised by that, and these tell the rows of a person apart.
    """
    colluding: Colluding = "all"
    again: Again | None = None
    review: date | str | None = None
    """When the release is to be looked at again: a day, or its ISO text."""
    key: tuple[str, ...] = field(init=False)
    """The columns by which people are recognised."""
    is_numbered: bool = field(init=False)
    """Equal keys are numbered: the key is the whole row, which nothing else names."""
    policy_kept: str = field(init=False)
    """The policy as the ledger keeps it."""

    def __post_init__(self) -> None:
        if self.review is not None:
            object.__setattr__(self, "review", _review_date(self.review))
        if self.again not in (None, "consistent", "based"):
            raise LedgerError(f"again must be 'consistent' or 'based', got {self.again!r}")
        if isinstance(self.colluding, str) and self.colluding not in ("all", "none"):
            raise LedgerError(f"colluding must be 'all', 'none' or a list of recipients, got {self.colluding!r}")
        if self.again is not None and self.policy.suppressed_rows == "blank":
            raise LedgerError(
                "a release that keeps to earlier ones removes suppressed rows: say suppressed_rows = 'remove'"
            )
        if self.again is not None and self.policy.is_drawn:
            raise LedgerError("rows that are drawn at random keep to no earlier release: leave 'again' (--again) out")
        if self.policy.shifted:
            raise LedgerError(
                "shift: the ledger does not know what dates that move reveal from one release to the next; release "
                "them without it"
            )
        if self.policy.knows is not None:
            raise LedgerError(
                "knows: the ledger does not count what events of two releases tell together; release histories "
                "without it, and once"
            )
        if self.policy.perturbed:
            raise LedgerError(
                "microaggregate and noise: the ledger does not know what perturbed numbers reveal from one release to "
                "the next; release them without it"
            )
        if self.person:
            self._refuse_what_needs_one_row()
        for column in promised_columns(self.policy):
            refuse_linkable(self.policy, column)
        named = self._key_columns()
        for name in named if not self.policy.tables else ():
            if name not in self.policy.columns:
                raise LedgerError(f"the key names {name!r}, which is no column of the policy")
            if self.policy.columns[name].recode is not None:
                raise LedgerError(f"the key names {name!r}, which is recoded and tells people apart no longer")
        object.__setattr__(self, "key", named or tuple(self.policy.columns))
        object.__setattr__(self, "is_numbered", not named)
        object.__setattr__(self, "policy_kept", _readable_text(self.policy))
        self._refuse_links_between_people()

    def _key_columns(self) -> tuple[str, ...]:
        """Return the columns that are named as the key; several tables name theirs themselves."""
        named = (self.named_key,) if isinstance(self.named_key, str) else tuple(self.named_key or ())
        if self.policy.tables:
            if named:
                raise LedgerError("the key of several tables is what each says as its own (key); leave it out here")
            return tuple(f"{name}.{column}" for name, part in self.policy.parts.items() for column in part.identity)
        named = tuple(dict.fromkeys((*self.person, *named)))
        return named or self.policy.with_role("identifier")

    @property
    def person(self) -> tuple[str, ...]:
        """The columns that say whose row it is, where a person may have several."""
        person = self.policy.person
        return person.columns if isinstance(person, Person) else ()

    @property
    def names_rows(self) -> bool:
        """The key tells the rows of a person apart, so that each is recognised by itself."""
        return bool(self.person) and self.key != self.person

    @property
    def details(self) -> dict[str, Any]:
        """How people were recognised and what was counted, as an entry states it."""
        key = "whole row" if self.is_numbered else list(self.key)
        kinds = {
            name: "stable" if name in self.policy.stable_pseudonyms else "fresh"
            for name in self.policy.pseudonym_columns
        }
        return (
            {"key": key}
            | ({"person": list(self.person)} if self.person else {})
            | ({"pseudonyms": kinds} if kinds else {})
            | ({"review": str(self.review)} if self.review is not None else {})
        )

    def entries_held(self, entries: Sequence[Entry]) -> list[Entry]:
        """Return those of a source's entries that the recipient, and who might collude with her, hold; oldest first."""
        if self.colluding != "all" and self.recipient != PUBLIC:
            others = () if self.colluding == "none" else self.colluding
            entries = [entry for entry in entries if entry.recipient in (self.recipient, PUBLIC, *others)]
        for entry in entries:
            self._refuse_other_key(entry)
        return list(entries)

    def _refuse_other_key(self, entry: Entry) -> None:
        """Raise if an earlier release recognised people by other columns, so that nobody would be recognised.

        Where it counted rows and this one counts people, or the other way round, that is the same only if the key of
        its rows was the person: then everybody had one row.
        """
        known: Any = entry.details.get("key")
        if known != self.details["key"]:
            before = known if isinstance(known, str) else ", ".join(map(repr, known or []))
            raise LedgerError(
                f"entry {entry.number} recognises people by {before}; give the same key, or name another source if "
                "these are other people"
            )
        if "person" in entry.details:
            self._refuse_what_needs_one_row()
        if entry.details.get("person", known) != self.details.get("person", known):
            person: Any = entry.details.get("person")
            counted = "rows" if person is None else f"people by {', '.join(map(repr, person))}"
            raise LedgerError(
                f"entry {entry.number} counted {counted}, which cannot be put together with what this policy counts; "
                "say the same person, or name another source if these are other people"
            )

    def _refuse_links_between_people(self) -> None:
        """Raise if an identifier's stable pseudonym might follow anything but the people that the key recognises."""
        for name in self.policy.pseudonymous:
            if self.policy.columns[name].pseudonym == STABLE and self.key != (name,):
                raise LedgerError(
                    f"columns.{name}: a stable pseudonym of an identifier may follow people only as the key does, and "
                    f"the key is not {name!r} alone; name it as the key (--key), let the pseudonym be new in each "
                    "release (pseudonym = true), or have that of the person be stable (person.stable)"
                )

    def _refuse_what_needs_one_row(self) -> None:
        """Raise if something is asked for that the ledger can do only where each person has one row."""
        if self.again is not None:
            raise LedgerError(
                "person: a search keeps to earlier releases only where each person has one row; release without again "
                "(--again), and the ledger checks what comes out"
            )
        if promised_columns(self.policy):
            raise LedgerError(
                "person: m-invariance over several releases is promised only where each person has one row; ask for "
                "another model"
            )


def _readable_text(policy: Policy) -> str:
    """Return a policy as a text by which later releases can be held to it."""
    text = policy_text(policy)
    try:
        parse_policy(text)
    except PolicyError:
        raise LedgerError(
            "a model or hierarchy of the policy cannot be written in a policy file, so the ledger could not hold later "
            "releases to it; use the models and hierarchies of indistinct"
        ) from None
    return text


def policy_text(policy: Policy) -> str:
    """Return a policy as the text of a policy file, with the rows of every hierarchy that was read from a file.

    A policy that no file can hold, because one of its models, measures or options was made elsewhere, is described in
    JSON as a manifest does.
    """
    columns = {name: _without_file(column) for name, column in policy.columns.items()}
    try:
        changed = policy.with_columns(columns) if policy.tables else replace(policy, columns=columns)
        return policy_toml(changed)
    except PolicyError:
        return as_text(StatedPolicy.of(policy).to_dict())


def _without_file(column: Column) -> Column:
    if isinstance(column.hierarchy, Levels):
        return replace(column, hierarchy=replace(column.hierarchy, source=None, delimiter=None))
    return column


def shows(policy: Policy, column: str) -> bool:
    """Return whether a release under this policy shows a column."""
    return column in policy.columns and policy.columns[column].role not in ("identifier", "drop")


def others_shown(policy: Policy, column: str) -> list[str]:
    """Return what else a release shows of a person, beside the labels of her group, by which her rows could be
    linked.
    """
    if policy.columns[column].role != "sensitive":
        return [column]
    return [*(name for name in policy.with_role("sensitive", "other") if name != column), *policy.pseudonym_columns]


def promised_columns(policy: Policy) -> dict[str, int]:
    """Return the columns for which a policy promises m-invariance, each with its m."""
    found: dict[str, int] = {}
    for model in policy.privacy:
        if isinstance(model, MInvariance):
            for column in sensitive_columns(model, policy):
                found[column] = max(model.m, found.get(column, 0))
    return found


def signed_column(policy: Policy, earlier: Sequence[Policy]) -> str | None:
    """Return the column whose values must stay the same in people's groups, if m-invariance was promised for one."""
    columns = {column for one in (policy, *earlier) for column in promised_columns(one) if shows(policy, column)}
    for column in columns:
        refuse_linkable(policy, column)
    return columns.pop() if columns else None


def refuse_linkable(policy: Policy, column: str) -> None:
    """Raise if a release under this policy shows more of a person than m-invariance can bear."""
    others = others_shown(policy, column)
    if others:
        raise LedgerError(
            f"m-invariance of {column!r} holds over several releases only if nothing else is released by which the "
            f"rows of a person could be linked: leave out {', '.join(map(repr, others))} (role = 'identifier'), or "
            "make it a quasi column"
        )
