"""k-map: every released tuple fits at least k people of a population, however few of them are in the release."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar

from indistinct.array_types import BoolArray
from indistinct.counting import Groups
from indistinct.errors import PolicyError
from indistinct.privacy.model import PrivacyModel, check_whole


@dataclass(frozen=True, slots=True, eq=False)
class KMap(PrivacyModel):
    """Each released tuple fits at least ``k`` people of a ``population``: a path, or a table of any kind.

    ``link`` maps quasi columns to the population's columns; without it, those of the same name are linked. A quasi
    column that the population does not have tells nothing about its people. A person counts for a group if its labels
    cover all that is linked; somebody of whom a value is missing counts only where a label covers everything.

    It promises less than k-anonymity: it protects as long as nobody knows who is in the release, and as the
    population table has everybody who could be meant.

    Merging groups only adds people, and suppressing rows takes none away.

    Source: Sweeney 2001 (k-map); facts about it: desfontain.es/privacy/k-map.
    """

    name: ClassVar[str] = "k-map"
    title: ClassVar[str] = "Each group fits at least k people of a population"
    sentence: ClassVar[str] = "Each released combination fits at least {k} people of a population."
    usual: ClassVar[Mapping[str, float]] = {"k": 5}
    is_monotone: ClassVar[bool] = True
    is_monotone_unsuppressed: ClassVar[bool] = True
    asks_population: ClassVar[bool] = True
    written: ClassVar[Mapping[str, Any]] = {"population": str}

    k: int
    population: Any
    link: Mapping[str, str] | None = None
    on: str | None = None
    _base: Path | None = field(default=None, init=False, repr=False)

    def __post_init__(self) -> None:
        check_whole("k", self.k)
        if self.population is None or (isinstance(self.population, str) and not self.population):
            raise PolicyError("population must be a table, or the path of one")
        if isinstance(self.link, Mapping):
            object.__setattr__(self, "link", MappingProxyType(dict(self.link)))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, KMap) and self._content() == other._content()

    def __hash__(self) -> int:
        return hash((self.k, self.population_id, self.on))

    def _content(self) -> tuple[Any, ...]:
        return self.k, self.population_id, self.on

    @property
    def population_id(self) -> str:
        """What the people of this population are called among those that groups are asked about."""
        path = self.path
        table = f"table {id(self.population)}" if path is None else str(path)
        return f"{table} by {dict(self.link)}" if self.link is not None else table

    @property
    def path(self) -> Path | None:
        """The path of the population, if it is a file; relative ones are relative to the policy file."""
        if not isinstance(self.population, str | os.PathLike):
            return None
        return (self._base or Path()) / Path(self.population)

    @property
    def least_rows(self) -> int:
        """The release itself may have one row of a group."""
        return 1

    def relative_to(self, base: Path) -> KMap:
        """The same model, whose path is relative to a folder."""
        made = replace(self)
        object.__setattr__(made, "_base", base)
        return made

    def satisfied(self, groups: Groups) -> BoolArray:
        """Return which groups fit at least ``k`` people of the population.

        >>> from indistinct.counting import FixedPopulationCounts
        >>> import numpy as np
        >>> model = KMap(2, "voters.csv")
        >>> groups = Groups.of_sizes([1, 1], populations={model.population_id: FixedPopulationCounts(np.array([1, 5]))})
        >>> model.satisfied(groups)
        array([False,  True])
        """
        if self.population_id not in groups.populations:
            raise LookupError(f"{self.name} was asked about groups without the people of its population")
        verdict: BoolArray = (groups.populations[self.population_id].of(groups) >= self.k) | (groups.sizes == 0)
        return verdict

    def objection(self, groups: Groups) -> str | None:
        people = int(groups.populations[self.population_id].of(groups).sum())
        return (
            f"only {people:,} people of the population fit the table even at the top of every hierarchy, fewer than "
            f"k = {self.k}; lower k, or give a population that covers the people of the table"
        )

    def describe(self) -> dict[str, Any]:
        """Return the model as it stands in a policy file and a manifest; a table in memory has no name."""
        path = self.population if isinstance(self.population, str | os.PathLike) else None
        said: dict[str, Any] = {
            "model": self.name,
            "k": self.k,
            "population": "a table in memory" if path is None else os.fspath(path),
        }
        said |= {} if self.link is None else {"link": dict(self.link)}
        return said | ({} if self.on is None else {"on": self.on})

    def terms(self) -> dict[str, Any]:
        """Return the model as a public manifest may state it: the population by the name of its file alone."""
        said = self.describe()
        return said | {"population": Path(said["population"]).name}
