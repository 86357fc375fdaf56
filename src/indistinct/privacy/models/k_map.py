"""k-map: every released tuple fits at least k people of a population, however few of them are in the release."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
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
    """Each released tuple fits at least ``k`` people of a ``population``: a path, a table of any kind, or several.

    Several tables are joined to one, by all columns that two of them share (Samarati 2001, footnote 3).
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
    written: ClassVar[Mapping[str, Any]] = {"population": str | list[str]}

    k: int
    population: Any
    link: Mapping[str, str] | None = None
    on: str | None = None
    _base: Path | None = field(default=None, init=False, repr=False)

    def __post_init__(self) -> None:
        check_whole("k", self.k)
        if self.population is None or (isinstance(self.population, str) and not self.population):
            raise PolicyError("population must be a table, or the path of one")
        if isinstance(self.population, list | tuple):
            if not self.population:
                raise PolicyError("population: an empty list of tables names nobody")
            object.__setattr__(self, "population", tuple(self.population))
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
        paths = self.paths
        table = f"table {id(self.population)}" if paths is None else ", ".join(map(str, paths))
        return f"{table} by {dict(self.link)}" if self.link is not None else table

    @property
    def paths(self) -> tuple[Path, ...] | None:
        """The paths of the population, if all its tables are files; relative ones are relative to the policy file."""
        tables = self.population if isinstance(self.population, tuple) else (self.population,)
        if not all(isinstance(table, str | os.PathLike) for table in tables):
            return None
        return tuple((self._base or Path()) / Path(table) for table in tables)

    @property
    def source(self) -> Any:
        """What the people are read from: one table, or a list of several."""
        if self.paths is None:
            return self.population
        return list(self.paths) if isinstance(self.population, tuple) else self.paths[0]

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
        said: dict[str, Any] = {"model": self.name, "k": self.k, "population": self._name_population(os.fspath)}
        said |= {} if self.link is None else {"link": dict(self.link)}
        return said | ({} if self.on is None else {"on": self.on})

    def terms(self) -> dict[str, Any]:
        """Return the model as a public manifest may state it: the population by the name of its file alone."""
        return self.describe() | {"population": self._name_population(lambda path: Path(path).name)}

    def _name_population(self, name: Callable[[Any], str]) -> str | list[str]:
        """Return what the population is called; a table in memory has no name."""
        if self.paths is None:
            return "a table in memory"
        return [name(path) for path in self.population] if isinstance(self.population, tuple) else name(self.population)
