"""RecipientTerms: who gets a release, what they hold already, and on which terms: k, columns, levels, suppression."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from indistinct.errors import PolicyError
from indistinct.policy.context.context import Context


@dataclass(frozen=True, slots=True)
class RecipientTerms:
    """What a policy says of one recipient, or of a class of them; what is not said is as for everybody else.

    ``k`` takes the place of every model's k, ``columns`` are all that is released to them, ``min_level`` the lowest
    level of some columns and ``profile`` how likely they link by each quasi column.

    Source: Samarati 2001, section 7, asks for recipients with their own requirements.
    """

    who: str = ""
    holds: str = ""
    """What they hold, or can lawfully get, that could be linked with the release."""
    means: str = ""
    """What an attempt would cost them, and what would help them."""
    contract: str = ""
    """The agreement that binds them."""
    context: Context | None = None
    k: int | None = None
    columns: Sequence[str] | None = None
    max_suppression: int | float | None = None
    min_level: Mapping[str, int | str] = field(default_factory=dict)
    profile: Mapping[str, float] | None = None

    def __post_init__(self) -> None:
        mistakes = []
        if self.k is not None and (type(self.k) is not int or self.k < 1):
            mistakes.append(f"k: must be a whole number of at least 1, got {self.k!r}")
        if self.columns is not None and (isinstance(self.columns, str) or not self.columns):
            mistakes.append("columns: must list the columns that are released to them")
        if mistakes:
            raise PolicyError(mistakes)

    @property
    def has_own_release(self) -> bool:
        """They get a release that is made otherwise than for everybody else."""
        return any((self.k, self.columns, self.min_level)) or (self.max_suppression, self.profile) != (None, None)

    def describe(self) -> dict[str, Any]:
        """Return the terms as a policy file says them."""
        said = {name: getattr(self, name) for name in ("who", "holds", "means", "contract", "k", "max_suppression")}
        told: dict[str, Any] = {name: value for name, value in said.items() if value not in (None, "")}
        told |= {} if self.columns is None else {"columns": list(self.columns)}
        told |= {"min_level": dict(self.min_level)} if self.min_level else {}
        told |= {} if self.profile is None else {"profile": dict(self.profile)}
        return told | ({} if self.context is None else {"context": self.context.describe()})
