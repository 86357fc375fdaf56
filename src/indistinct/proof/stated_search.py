"""What a manifest says of its search and options, and what its format, its form and its policy give cause to say.

What is left out misleads a reader as a false word does, so a format has a fixed set of statements for each form of
release and each policy. Format 1 is what 0.1.0 wrote. To call a manifest older than it is gains nothing: what 0.1.0 did
not know may not be stated there, neither by the manifest nor by its policy, and what it always stated has to be.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from indistinct.engine.formats import format_of
from indistinct.errors import IndistinctError
from indistinct.policy import Policy
from indistinct.policy.algorithms import DECLARATIONS, declare, declared_class, options_of
from indistinct.policy.stated_policy import is_plain
from indistinct.privacy import DifferentialPrivacy
from indistinct.proof.checks import Check
from indistinct.proof.stated_measures import OF_ALL_RELEASES, OF_ORIGINAL, TOLD_OF_DRAWN
from indistinct.recoding.classes import LINK
from indistinct.registry import ALGORITHMS
from indistinct.release.forms import LINKED_TABLES, TWO_TABLES
from indistinct.release.manifest import FORMAT

OF_FORMS: dict[Any, set[str]] = {
    TWO_TABLES.stated: {"link", "not_protected", "tables"},
    LINKED_TABLES.stated: {"linked_tables"},
}
"""What only a release of this form says."""
NOT_OF_SEVERAL = {"about", "based", "bound", "drawn", "ledger_head", "perturbations"}
"""What no release of several tables says."""
TEXT = "csv"
"""The kind of files that state a delimiter."""
CHOSEN = "chosen"
"""The algorithm that is told the levels."""

ALWAYS = (
    *("format", "made_by", "made_at", "eligible", "released", "suppressed", "groups", "smallest_group", "node"),
    *("heights", "measures", "algorithm", "policy", "policy_sha256", "verdict", "files"),
)
"""What every manifest says."""
ALWAYS_IN = {1: (*ALWAYS, "is_proven", "gap"), 2: (*ALWAYS, "options", "search")}
"""What every manifest of a format says."""
OF_TWO_TABLES = ("link", "tables", "not_protected")
FIRST_VERSION = "indistinct 0.1.0"
"""Who wrote manifests of format 1."""
IN_FORMAT_1 = frozenset(
    [*ALWAYS_IN[1], *OF_TWO_TABLES, "form", "level_names", "mean_levels", "bottom", "delimiter", "unsafe"]
)
"""What manifests of format 1 may say."""
OF_POLICY_1 = frozenset(
    ["columns", "quasi_identifiers", "privacy", "max_suppression", "suppressed_rows", "eligible", "algorithm"]
)
OF_COLUMN_1 = frozenset(["role", "hierarchy", "weight", "missing"])
ROLES_1 = frozenset(["identifier", "quasi", "sensitive", "other"])
NOT_SAID_IN_1 = "how it was searched for and with which options, which manifests of format 1 do not say"


def is_search(said: Any) -> bool:
    """Return whether this is what a manifest may say of a search."""
    return (
        isinstance(said, dict)
        and set(said) == {"blind", "randomised"}
        and all(type(one) is bool for one in said.values())
    )


def form_mistakes(manifest: Mapping[str, Any]) -> list[str]:
    """Say what a manifest says that no release of its form says, so that nobody would compare it with anything."""
    form, stated = manifest.get("form"), set(manifest)
    strange = stated & set().union(*(names for other, names in OF_FORMS.items() if other != form))
    strange |= stated & NOT_OF_SEVERAL if form == LINKED_TABLES.stated else set()
    wrong = [f"{name} is not said of such a release" for name in sorted(strange)]
    if "based" in manifest and "ledger_head" not in manifest:
        wrong.append("based is said of releases with a ledger alone")
    if "bound" in manifest and manifest["node"] is not None:
        wrong.append("bound is said of releases alone whose cells climb one by one")
    if "delimiter" in manifest and not any(map(is_text, manifest.get("files", {}))):
        wrong.append("delimiter is said of text alone")
    return wrong


def proof_mistakes(manifest: Mapping[str, Any]) -> list[str]:
    """Say whether what is proven has a gap, or what is not proven has none."""
    is_possible = "is_proven" not in manifest or manifest["is_proven"] is (manifest.get("gap") == 0)
    return [] if is_possible else ["is_proven and gap do not go together"]


def is_text(name: str) -> bool:
    """Return whether a file is delimited text, by its name."""
    return format_of(Path(name)).kind == TEXT


def option_mistakes(manifest: Mapping[str, Any], policy: Policy) -> list[str]:
    """Say whether options are stated that their algorithm does not have, or texts in them that name no column."""

    def has_text(said: Any) -> bool:
        if isinstance(said, dict | list):
            return any(map(has_text, [*said, *said.values()] if isinstance(said, dict) else said))
        return isinstance(said, str) and said not in policy.columns and not is_plain(said)

    options, algorithm = manifest.get("options", {}), declared_class(str(manifest.get("algorithm")))
    known = set(options) if algorithm is None else set(options_of(algorithm))  # None: of another package
    is_possible = options.keys() <= known and not has_text(options) and _can_be_made(manifest, options)
    return [] if is_possible else ["options are not those of its algorithm"]


def _can_be_made(manifest: Mapping[str, Any], options: Mapping[str, Any]) -> bool:
    """Return whether its algorithm takes these options; one that was told the levels gives those, and else the
    lowest.
    """
    name = str(manifest.get("algorithm"))
    if name not in ALGORITHMS:
        return True
    try:
        made = declare(name, **options)
    except (IndistinctError, TypeError, ValueError, AttributeError):
        return False
    if name != CHOSEN or manifest.get("node") is None:
        return True
    told = getattr(made, "node", {})
    return all(told.get(column, level) == level for column, level in manifest["node"].items())


def search_checks(manifest: Mapping[str, Any], policy: Policy) -> list[Check]:
    """Check what a manifest says of its search against the policy, and against what its algorithm can be.

    A search sees sensitive values only where models ask about them; one with a ledger is told of earlier releases as
    well. An algorithm always draws, never, or with the option ``random_raise``.
    """
    said = manifest.get("search")
    if not is_search(said):
        return []
    assert isinstance(said, dict)  # else it would be none
    asked = policy.asked_sensitive
    wrong = ["blind, though models ask about sensitive values"] if said["blind"] and asked else []
    if not (said["blind"] or asked or "ledger_head" in manifest):
        wrong.append("not blind, though no model asks about sensitive values")
    draws = _draws(manifest)
    if said["randomised"] and draws is False:
        wrong.append("randomised, though its algorithm draws nothing")
    if not said["randomised"] and draws:
        wrong.append("not randomised, though its algorithm draws")
    if wrong:
        return [Check("search", False, f"the manifest calls it {' and '.join(wrong)}")]
    found = "blind: it saw no sensitive value" if said["blind"] else "not blind: it saw sensitive values"
    return [Check("search", True, f"{found}; {'' if said['randomised'] else 'not '}randomised")]


def _draws(manifest: Mapping[str, Any]) -> bool | None:
    """Return whether the algorithm draws with the options that are stated; None if it is unknown."""
    name, options = str(manifest.get("algorithm")), manifest.get("options")
    if name not in ALGORITHMS:
        return None
    try:
        return declare(name, **(options if isinstance(options, dict) else {})).is_randomised
    except (IndistinctError, TypeError, ValueError, AttributeError):
        return None  # its options are refused for themselves


def drawn_mistakes(manifest: Mapping[str, Any], policy: Policy) -> list[str]:
    """Compare what a manifest says of how rows were drawn with the policy: of drawn rows less is told and compared."""
    said, asked = manifest.get("drawn"), _drawn_by(policy)
    if said is None and not asked:
        return []
    if said is None or not asked or _as_text(said, without="candidates") != _as_text(asked):
        return ["drawn is not what the policy asks for"]
    nodes = math.prod(height + 1 for height in manifest.get("heights", {}).values())
    candidates = said.get("candidates")
    is_possible = type(candidates) is int and 0 < candidates <= nodes
    wrong = [] if is_possible else ["drawn: there are not so many candidates"]
    is_told = set(manifest.get("measures", {})) <= set(TOLD_OF_DRAWN)
    return wrong + ([] if is_told else ["measures are stated that compare with rows that were not drawn"])


def _drawn_by(policy: Policy) -> dict[str, Any]:
    """Return what a policy makes a manifest say of how rows were drawn, but for the number of candidates."""
    k = max(model.least_rows for model in policy.privacy)
    found = [model.expenses() for model in policy.privacy if isinstance(model, DifferentialPrivacy)]
    return {**found[0], "k": k} if found else {}


def _as_text(said: Mapping[str, Any], without: str = "") -> str:
    """Return numbers as one text: 21.0 is not taken for 21."""
    return json.dumps({name: number for name, number in said.items() if name != without}, sort_keys=True)


def policy_mistakes(manifest: Mapping[str, Any], policy: Policy) -> list[str]:
    """Say what a manifest says that the policy leaves no room for; its statements have the shapes of ours."""
    return [
        *_perturbation_mistakes(manifest, policy),
        *_shift_mistakes(manifest, policy),
        *_name_mistakes(manifest, policy),
        *_needless_statements(manifest, policy),
    ]


def _perturbation_mistakes(manifest: Mapping[str, Any], policy: Policy) -> list[str]:
    """Compare what a manifest says of perturbed numbers with what the policy declares."""
    is_same = manifest.get("perturbations", {}) == policy.describe_perturbations()
    return [] if is_same else ["perturbations are not those that the policy declares"]


def _shift_mistakes(manifest: Mapping[str, Any], policy: Policy) -> list[str]:
    """Compare by how many days dates may have moved, as a manifest says, with what the policy declares."""
    days = {shift.days for shift in policy.shifted.values()} | _stated_days(manifest)
    stated = manifest.get("dates_moved")
    is_same = stated is None or (set(stated) == {"days"} and stated["days"] in days)
    return [] if is_same else ["dates_moved is not what the policy declares"]


def _stated_days(manifest: Mapping[str, Any]) -> set[Any]:
    """Return the days of the policy that the manifest states, of which the policy may be made that has no such
    rules.
    """
    columns = manifest.get("policy", {}).get("columns")
    shifts = (
        [said.get("shift") for said in columns.values() if isinstance(said, dict)] if isinstance(columns, dict) else []
    )
    return {shift["days"] for shift in shifts if isinstance(shift, dict) and type(shift.get("days")) is int}


def _name_mistakes(manifest: Mapping[str, Any], policy: Policy) -> list[str]:
    """Say whether columns are named that the policy does not have, or others than those of two tables."""
    described = manifest.get("policy", {}).get("columns")  # the policy may be made of it, and have no such rules
    read = {name for name, column in policy.columns.items() if column.unreadable != "refuse"}
    if isinstance(described, dict):
        read |= {name for name, said in described.items() if isinstance(said, dict) and "unreadable" in said}
    is_read = manifest.get("unreadable", {}).keys() <= read
    wrong = [] if is_read else ["unreadable names a column that the policy does not let be unreadable"]
    if "tables" not in manifest:
        return wrong
    own = {new: name for name, new in policy.renamed.items()}
    stated = {table: sorted(own.get(name, name) for name in its) for table, its in manifest["tables"].items()}
    names = {"quasi": policy.with_role("quasi", "other"), "sensitive": policy.with_role("sensitive")}
    asked = {table: sorted([LINK, *its]) for table, its in names.items()}
    return wrong + ([] if stated == asked else ["tables does not name the columns of the two tables"])


def _needless_statements(manifest: Mapping[str, Any], policy: Policy) -> list[str]:
    """Say what is stated that such a policy gives no cause to state: nobody could compare it with anything."""
    wrong = []
    if "people" in manifest and not policy.person_columns:
        wrong.append("people are stated, but the policy does not say whose rows they are")
    if "pseudonym_salt" in manifest and not policy.pseudonym_columns:
        wrong.append("a salt is stated, but the policy has no pseudonyms")
    if "bottom" in manifest and not any(manifest["bottom"].values()):
        wrong.append("bottom is stated, but it is that of all tables")
    if "is_cut_short" in manifest and "is_proven" in manifest:
        wrong.append("is_cut_short and is_proven are not said of one algorithm")
    return wrong


def format_mistakes(manifest: Mapping[str, Any], policy: Policy) -> list[str]:
    """Say what a manifest lacks that every one of its format and form says, and what none of its format says.

    ``policy`` is the one that the release is judged by; its statements have the shapes of ours. A description without
    a format is judged by nothing.
    """
    number = manifest.get("format")
    if number not in ALWAYS_IN:
        return []
    lacking = [name for name in _needed_statements(manifest, policy) if name not in manifest]
    if lacking:
        return [f"lacks {', '.join(lacking)}"]
    wrong = _kind_mistakes(manifest) + _measure_mistakes(manifest)
    is_linked = policy.links_rows or manifest.get("form") == LINKED_TABLES.stated
    if manifest["format"] == FORMAT and ("smallest_profile" in manifest.get("people", {})) is not is_linked:
        wrong.append("people: smallest_profile is said of linked rows, and of them alone")
    return wrong + (_mistakes_of_format_1(manifest) if number < FORMAT else _mistakes_of_limits(manifest))


def _needed_statements(manifest: Mapping[str, Any], policy: Policy) -> list[str]:
    """Name every statement that a release like this one makes."""
    form, number = manifest.get("form"), manifest["format"]
    needed = list(ALWAYS_IN[number])
    needed += OF_TWO_TABLES if form == TWO_TABLES.stated else ["linked_tables"] if form == LINKED_TABLES.stated else []
    if form != TWO_TABLES.stated:
        needed.append("mean_levels" if manifest.get("node") is None else "level_names")
    if form != LINKED_TABLES.stated and any(map(is_text, manifest.get("files", ()))):
        needed.append("delimiter")
    if number == FORMAT:
        needed += ["people"] if policy.person_columns or form == LINKED_TABLES.stated else []
        needed += ["dates_moved"] if _moves_dates(manifest, policy) else []
        needed += ["is_proven", "gap"] if _own_algorithm(manifest, "is_exact") else []
    return needed


def _moves_dates(manifest: Mapping[str, Any], policy: Policy) -> bool:
    """Return whether dates move, by the policy or by the one that the manifest states."""
    stated = manifest.get("policy", {})
    tables = [stated, *(stated["tables"].values() if isinstance(stated.get("tables"), dict) else [])]
    columns = [one for table in tables if isinstance(table, dict) for one in _columns_of(table)]
    return bool(policy.shifted) or any("shift" in column for column in columns)


def _columns_of(stated: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    columns = stated.get("columns")
    return [one for one in columns.values() if isinstance(one, dict)] if isinstance(columns, dict) else []


def _own_algorithm(manifest: Mapping[str, Any], what: str) -> Any:
    """Return what an algorithm of this package says of itself; None for those of others, which may say less."""
    return getattr(DECLARATIONS.get(str(manifest.get("algorithm"))), what, None)


def _kind_mistakes(manifest: Mapping[str, Any]) -> list[str]:
    """Say whether an algorithm is named that makes no releases of this form."""
    kind, form = _own_algorithm(manifest, "kind"), manifest.get("form")
    was_fitted = "ledger_head" in manifest or manifest["format"] < FORMAT  # to earlier releases, so that levels differ
    is_possible = {
        None: True,
        "full-domain": form != TWO_TABLES.stated and (manifest["node"] is not None or was_fitted),
        "local": form == TWO_TABLES.stated or manifest["node"] is None,
        "two-table": form == TWO_TABLES.stated,
    }[kind]
    return [] if is_possible else ["algorithm is none that makes such releases"]


def _measure_mistakes(manifest: Mapping[str, Any]) -> list[str]:
    """Say which figures are missing: each release has all of them, or those alone that tell nothing of its draws."""
    is_raised = bool(manifest.get("options", {}).get("random_raise"))
    needed = TOLD_OF_DRAWN if "drawn" in manifest or is_raised else (*OF_ALL_RELEASES, *OF_ORIGINAL)
    lacking = [name for name in needed if name not in manifest["measures"]]
    if lacking:
        return [f"measures lack {', '.join(lacking)}"]
    told = [name for name in (*OF_ALL_RELEASES, *OF_ORIGINAL) if name in manifest["measures"]]
    is_told = set(told) == set(needed) and not (is_raised and {"bound", "gap", "is_cut_short"} & manifest.keys())
    return [] if is_told else ["what is stated would tell which labels or rows were drawn"]


def _mistakes_of_limits(manifest: Mapping[str, Any]) -> list[str]:
    """Say whether a table was counted above its values though nothing limited its tuples."""
    is_possible = "bottom" not in manifest or "max_tuples" in manifest.get("limits", {})
    return [] if is_possible else ["bottom is stated, but no limit of tuples"]


def _mistakes_of_format_1(manifest: Mapping[str, Any]) -> list[str]:
    """Say what 0.1.0 did not know, so that no manifest of format 1 states it."""
    later = [name for name in manifest if name not in IN_FORMAT_1]
    wrong = [f"{name} is not said in manifests of format 1" for name in later]
    if manifest["made_by"] != FIRST_VERSION:
        wrong.append("made_by is not the version that wrote manifests of format 1")
    return wrong if _is_policy_of_format_1(manifest["policy"]) else [*wrong, "policy says what 0.1.0 did not know"]


def _is_policy_of_format_1(stated: Mapping[str, Any]) -> bool:
    try:
        return (
            stated.keys() <= OF_POLICY_1
            and all(one.keys() <= OF_COLUMN_1 and one["role"] in ROLES_1 for one in stated["columns"].values())
            and all("known" not in one and one["model"] != "differential-privacy" for one in stated["privacy"])
        )
    except (KeyError, TypeError, AttributeError):
        return False
