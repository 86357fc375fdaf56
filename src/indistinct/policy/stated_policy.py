"""The policy that a manifest states: what a recipient can check with nothing but what she was given."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from indistinct.errors import IndistinctError, TableError
from indistinct.policy.column import Column
from indistinct.policy.policy import Policy
from indistinct.policy.stated_shapes import is_stated_policy
from indistinct.registry import MODELS

if TYPE_CHECKING:
    from indistinct.privacy import PrivacyModel

ALWAYS = (
    "that this is the policy that was agreed on: with the policy file, verify POLICY RELEASE compares it",
    "that released cells are true, and that no more rows were left out than must be: only who has the private table "
    "can prove that",
)


def stated_policy(said: Mapping[str, Any] | None) -> tuple[Policy, tuple[str, ...]]:
    """Give the policy of a manifest as far as it can be checked, and what of it cannot be checked, in words.

    Hierarchies are stated by their digests, so columns have none here: nothing of a recount needs them. Raises a
    TableError if there is no manifest, or none that states a policy.
    """
    if said is None:
        raise TableError(
            "without a policy file only a release folder with its manifest.json can be verified; say verify POLICY "
            "RELEASE, or give the folder"
        )
    try:
        stated = said["policy"]
        if not is_stated_policy(stated):
            raise TableError("the manifest says of its policy what none of ours says")
        models, unchecked = _models(stated)
        columns = {
            name: Column(
                column["role"],
                pseudonym=column.get("pseudonym", False),
                microaggregate=column.get("microaggregate"),
                noise=column.get("noise"),
                rename=column.get("rename"),
                weight=column.get("weight", 1.0),
            )
            for name, column in stated["columns"].items()
        }
        policy = Policy(
            columns,
            models or [MODELS.make("k-anonymity", k=1)],  # a policy asks for something
            stated["max_suppression"],
            stated["quasi_identifiers"],
            suppressed_rows=stated["suppressed_rows"],
            person=stated.get("person"),
            one_row_per_person=stated.get("one_row_per_person", False),
        )
    except (KeyError, TypeError, AttributeError, ValueError, IndistinctError):
        raise TableError("the manifest states no policy that can be read; give the policy file as well") from None
    return policy, (*unchecked, *ALWAYS)


def _models(stated: Mapping[str, Any]) -> tuple[list[PrivacyModel], list[str]]:
    """Make the models that can be judged from the released cells, and say why others cannot."""
    made: list[PrivacyModel] = []
    unchecked = []
    for terms in stated["privacy"]:
        fields = dict(terms)
        name = fields.pop("model")
        if name not in MODELS:
            unchecked.append(f"{name}: a model that is not installed here")
        elif MODELS[name].asks_population:
            unchecked.append(f"{name}: needs the population table")
        elif any(isinstance(value, list) for value in fields.values()):
            unchecked.append(f"{name}: has a limit for each of some values, which the manifest does not name")
            made.append(_without_limits(fields))
        elif fields.get("distance") == "hierarchical":
            unchecked.append(f"{name}: needs the hierarchy of the sensitive column")
            made.append(_without_limits(fields))
        else:
            made.append(MODELS.make(name, **fields))
    return made, unchecked


def _without_limits(fields: Mapping[str, Any]) -> PrivacyModel:
    """Give a model that asks about the same values, of the same groups, and sets no limit to their shares."""
    return MODELS.make("alpha-k", alpha=1.0, k=fields.get("k", 1), column=fields.get("column"), on=fields.get("on"))
