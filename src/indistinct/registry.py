"""The models, measures, algorithms and attacks by their names: one line for each, loaded when it is asked for.

A package of one's own adds to them by an entry point, and a program by ``register``:

    [project.entry-points."indistinct.models"]
    my-model = "my_package.my_model:MyModel"
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Set
from functools import cache, cached_property
from importlib import import_module
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from indistinct.errors import PolicyError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

    from indistinct.attacks import Attack
    from indistinct.privacy import PrivacyModel
    from indistinct.quality import QualityMeasure
    from indistinct.search import Algorithm

Kind = TypeVar("Kind")
Class = TypeVar("Class", bound=type)


class Registry(Mapping[str, type[Kind]], Generic[Kind]):
    """Classes by name: those of the package, those that a program registered, those of entry points.

    The first of these that knows a name gives its class, so nothing can take the place of what the package has.
    """

    def __init__(self, kind: str, method: str, homes: Mapping[str, str]) -> None:
        self.kind = kind
        """What the classes are, in one word."""
        self.method = method
        """The method that every one of them has."""
        self.group = f"indistinct.{kind}s"
        """The group of entry points that adds to them."""
        self._homes = dict(homes)
        self._registered: dict[str, type[Kind]] = {}

    def __getitem__(self, name: str) -> type[Kind]:
        if name in self._homes:
            module, _, attribute = self._homes[name].partition(":")
            found: type[Kind] = getattr(import_module(f"indistinct.{module}"), attribute)
            return found
        if name in self._registered:
            return self._registered[name]
        return self._load(self._entry_points[name])

    def __iter__(self) -> Iterator[str]:
        return iter(dict.fromkeys([*self._homes, *self._registered, *self._entry_points]))

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __contains__(self, name: object) -> bool:
        return name in self._homes or name in self._registered or name in self._entry_points

    def add(self, added: type[Kind]) -> None:
        """Let policy files name a class by its ``name``; a class that was defined anew takes its own place."""
        name = self._name_of(added)
        known = self._registered.get(name)
        is_new = known is None or (known.__module__, known.__qualname__) != (added.__module__, added.__qualname__)
        if name in self and is_new:
            raise PolicyError(f"{self.kind}: there is a {name!r} already; give {added.__qualname__} another name")
        self._registered[name] = added

    def make(self, name: str, /, **options: Any) -> Kind:
        """Make the one of this name with these options."""
        if name not in self:
            raise PolicyError(f"{self.kind}: there is no {name!r}; {self.choices}")
        return make_with(self[name], name, options)

    @property
    def own(self) -> Set[str]:
        """The names that the package has itself."""
        return self._homes.keys()

    @property
    def choices(self) -> str:
        """What may be named, and how to add to it, for errors."""
        return (
            f"choose one of {', '.join(self)}; one of your own needs @indistinct.register above its class, "
            f"or an entry point in {self.group!r}"
        )

    @cached_property
    def _entry_points(self) -> dict[str, EntryPoint]:
        return {point.name: point for point in _all_entry_points().select(group=self.group)}

    def _load(self, point: EntryPoint) -> type[Kind]:
        """Load what an entry point names, and see that it is what it should be."""
        package = point.dist.name if point.dist is not None else point.module
        place = f"the entry point {point.name!r} of {package} in {self.group!r}"
        try:
            found: type[Kind] = point.load()
        except Exception as error:  # whatever a foreign module does when it is imported
            raise PolicyError(f"{place} cannot be loaded: {type(error).__name__}: {error}") from error
        if self._name_of(found) != point.name:
            raise PolicyError(f"{place} gives {found.__qualname__}, whose name is {self._name_of(found)!r}")
        return found

    def _name_of(self, added: type[Kind]) -> str:
        """Return the name of a class, which says it itself."""
        name = getattr(added, "name", None)
        if not isinstance(added, type) or not isinstance(name, str) or not callable(getattr(added, self.method, None)):
            raise PolicyError(f"{self.kind}: {added!r} is no class with a name and a method {self.method}()")
        return name


RENAMED = {"doubt": "random_raise"}
"""Options by the name that they had."""


def make_with(make: type[Kind], name: str, options: Mapping[str, Any]) -> Kind:
    """Make one of a class with these options, or raise if it has no such option."""
    known = [field.name for field in dataclasses.fields(make) if field.init] if dataclasses.is_dataclass(make) else []
    unknown = [option for option in options if option not in known]
    if unknown:
        hints = [
            f"it is called {RENAMED[one]}" if one in RENAMED else f"delete it; it has {', '.join(known)}"
            for one in unknown
        ]
        said = zip(unknown, hints, strict=True)
        raise PolicyError([f"options.{option}: {name} has no such option; {hint}" for option, hint in said])
    return make(**options)


@cache
def _all_entry_points() -> Any:
    """Return what all packages offer: to look through them takes a while, so it is done once, and where it matters."""
    from importlib.metadata import entry_points

    return entry_points()


MODELS: Registry[PrivacyModel] = Registry(
    "model",
    "satisfied",
    {
        "k-anonymity": "privacy.models.k_anonymity:KAnonymity",
        "k-map": "privacy.models.k_map:KMap",
        "alpha-k": "privacy.models.alpha_k:AlphaK",
        "l-diversity": "privacy.models.l_diversity:LDiversity",
        "t-closeness": "privacy.models.t_closeness:TCloseness",
        "beta-likeness": "privacy.models.beta_likeness:BetaLikeness",
        "delta-disclosure": "privacy.models.delta_disclosure:DeltaDisclosure",
        "differential-privacy": "privacy.models.differential_privacy:DifferentialPrivacy",
        "p-sensitive": "privacy.models.p_sensitive:PSensitive",
        "m-invariance": "privacy.models.m_invariance:MInvariance",
        "prosecutor-risk": "privacy.models.risk_thresholds:ProsecutorRisk",
        "average-risk": "privacy.models.risk_thresholds:AverageRisk",
    },
)
"""Every privacy model by its name."""

MEASURES: Registry[QualityMeasure] = Registry(
    "measure",
    "loss",
    {
        "precision": "quality.measures:Precision",
        "loss": "quality.measures:Loss",
        "ncp": "quality.measures:NCP",
        "entropy": "quality.measures:NonUniformEntropy",
        "discernibility": "quality.measures:Discernibility",
        "average-group-size": "quality.measures:AverageGroupSize",
        "distinct-tuples": "quality.measures:DistinctTuples",
        "accuracy": "quality.measures:Accuracy",
        "completeness": "quality.measures:Completeness",
        "absolute-distance": "quality.measures:AbsoluteDistance",
        "relative-distance": "quality.measures:RelativeDistance",
    },
)
"""Every quality measure by its name."""

ALGORITHMS: Registry[Algorithm] = Registry(
    "algorithm",
    "run",
    {
        "lattice": "search.full_domain.lattice:Lattice",
        "samarati": "search.full_domain.samarati:Samarati",
        "mingen": "search.full_domain.mingen:MinGen",
        "mingen-cell": "search.local.mingen_cell:MinGenCell",
        "datafly": "search.full_domain.datafly:Datafly",
        "regroup": "search.local.regroup:Regroup",
        "mondrian": "search.local.mondrian:Mondrian",
        "k-similar": "search.local.k_similar:KSimilar",
        "mu-argus": "search.mu_argus.dialogue:MuArgus",
        "top-down": "search.local.top_down:TopDown",
        "lossy-join": "search.two_tables.lossy_join:LossyJoin",
        "anatomy": "search.two_tables.anatomy:Anatomy",
        "m-invariance": "search.m_invariance.m_invariant:MInvariant",
        "safepub": "search.full_domain.safepub:SafePub",
        "chosen": "search.full_domain.chosen:Chosen",
        "applied": "search.local.applied:Applied",
    },
)
"""Every algorithm by its name; ``policy/algorithms.py`` has what each declares."""
DEFAULT_ALGORITHM = "lattice"
"""The algorithm of a policy that names none."""

ATTACKS: Registry[Attack] = Registry(
    "attack",
    "attack",
    {
        "link": "attacks.linking.link:Link",
        "complementary": "attacks.complementary.join:Complementary",
        "unsorted": "attacks.order.unsorted:Unsorted",
        "homogeneity": "attacks.homogeneity:Homogeneity",
        "uniqueness": "attacks.uniqueness:Uniqueness",
        "dependencies": "attacks.dependencies:Dependencies",
        "downcoding": "attacks.sharpening.downcoding:Downcoding",
        "refinement": "attacks.sharpening.refinement:Refinement",
        "inference": "attacks.guessing.inference:Inference",
        "minimality": "attacks.guessing.minimality:Minimality",
        "definetti": "attacks.guessing.definetti:DeFinetti",
        "singling_out": "attacks.guessing.singling_out:SinglingOut",
        "membership": "attacks.guessing.member_inference:Membership",
        "maps": "attacks.linking.maps:Maps",
        "totals": "attacks.known_totals:KnownTotals",
        "joined_values": "attacks.other_columns:JoinedValues",
        "history": "attacks.few_events:FindByEvents",
    },
)
"""Every attack by its name, in the order in which they are run."""


def register(added: Class) -> Class:
    """Let policy files, the schema and every command of this process name a class of one's own.

    Write it above the class. What it is follows from its methods: a model has ``satisfied``, a measure ``loss``, an
    algorithm ``run``, an attack ``attack``. A package that is installed needs no call: its entry points say the same.
    """
    fitting = [registry for registry in (MODELS, MEASURES, ALGORITHMS, ATTACKS) if hasattr(added, registry.method)]
    if len(fitting) != 1:
        raise PolicyError(f"{added!r} must be a privacy model, a quality measure, an algorithm or an attack")
    fitting[0].add(added)
    return added
