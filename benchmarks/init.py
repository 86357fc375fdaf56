"""Whether the release of an unmended policy is safe, and what it loses: on public tables, half of them never looked at.

Each table goes through ``init`` and ``anonymize`` with nothing mended between them. Then its release is recounted by
code of its own (``init_recount``), against the people that whoever published the table names, and attacked by all
attacks. Tables are divided once, by a hash of their names (``init_tables``): rules may be made from one half, and the
page shows the other alone. Where a short policy by hand is given, its loss stands beside.
"""

from __future__ import annotations

import time

import pyarrow as pa

import indistinct as ix
from benchmarks import tables
from benchmarks.guessed_roles import roles_of_known_tables
from benchmarks.init_recount import Released, attacked, recount, release
from benchmarks.init_tables import TRIED, Tried
from benchmarks.made_tables import MADE
from benchmarks.setting import Figures, K, Setting, say

ROWS = 1_000
"""So many rows of each table, blocks of them spread evenly, so that all of them take minutes."""
QUICK, QUICK_ROWS = "crash records", 300
ALLOWED = 0.15
"""What an unmended policy may lose beyond one by hand."""
OPEN = ("person:",)
"""How the refusal begins that names a decision which only a person can take."""

BY_HAND: dict[str, tuple[str, ...]] = {
    "uci/adult": ("age", "workclass", "education", "marital-status", "occupation", "race", "sex", "native-country"),
    "kdd/cup": ("ZIP", "AGE", "GENDER", "INCOME", "STATE"),
    "nist/national2019": ("AGEP", "SEX", "MSP", "RAC1P", "HOUSING_TYPE", "OWN_RENT", "EDU", "DVET", "DEYE", "PUMA"),
    "AER/NMES1988": ("age", "afam", "gender", "married", "school", "employed", "region"),
    "AER/CPSSW8": ("gender", "age", "region", "education"),
    "AER/SwissLabor": ("age", "education", "youngkids", "oldkids", "foreign"),
    "AER/Fertility2": ("gender1", "gender2", "age", "afam", "hispanic", "other", "work"),
    "MASS/Aids2": ("state", "sex", "age", "T.categ"),
    "carData/SLID": ("education", "age", "sex", "language"),
    "carData/Salaries": ("rank", "discipline", "yrs.since.phd", "yrs.service", "sex"),
    "mosaicData/Whickham": ("age",),
    "survival/pbc": ("age", "sex"),
    "survival/retinopathy": ("age", "type", "laser", "eye"),
    "wooldridge/recid": ("black", "married", "educ", "age", "workprg"),
    "modeldata/mlc_churn": ("state", "area_code", "account_length", "international_plan", "voice_mail_plan"),
    "nlme/MathAchieve": ("School", "Minority", "Sex"),
}
"""The quasi columns of a short policy by hand, of k-anonymity alone; what ``init`` left out or counts by stays so."""


def run(setting: Setting) -> list[Figures]:
    """Release every table by the policy that nobody mended; one made-up table alone in a quick run."""
    if setting.is_quick:
        return [figures_of(Tried(QUICK, ""), MADE[QUICK](QUICK_ROWS))]
    found = []
    for tried in TRIED:
        table = tried.sample(setting.folder, ROWS)
        if table is None:
            say(f"  {tried.name}: its file is not there")
            continue
        found.append(figures_of(tried, table))
        say(f"  {tried.name}: {'seen' if tried.is_seen else 'unseen'}, {outcome(found[-1])}")
    found.append({"roles": roles_of_known_tables(setting.folder)})
    return found


def figures_of(tried: Tried, table: pa.Table) -> Figures:
    """Guess a policy, release by it, recount, and attack; or say which decision was left open."""
    known: Figures = {"table": tried.name, "is_seen": tried.is_seen, "rows": table.num_rows}
    known |= {"columns": table.num_columns, "has_people": bool(tried.person), "lost_by_hand": None}
    start = time.process_time()
    try:
        policy = ix.suggested_policy(ix.profile(table, K), K)
        made = release(table, policy, tried.person)
    except ix.IndistinctError as error:
        is_open = any(opening in str(error) for opening in OPEN)
        return known | {"outcome": "open" if is_open else "refused", "why": str(error)}
    known |= {"cpu_seconds": time.process_time() - start, "loss": made.loss, "suppressed": made.suppressed}
    known |= recount(made, K) | attacked(made) | {"lost_by_hand": _lost_by_hand(table, tried.name, made)}
    return known | {"outcome": "unsafe" if is_unsafe(known) else "safe"}


def is_unsafe(figures: Figures) -> bool:
    """Something that fewer than k people have leaves by itself, or with one or two others, or a group is of fewer."""
    return any(figures[name] for name in ("groups_of_fewer", "columns_with_rare_values", "sets_with_rare_values"))


def outcome(figures: Figures) -> str:
    """Say in a few words what came of a table; nothing of why, which would be to look at it."""
    broken = f", ✗ by {len(figures['broken'])} attacks" if figures.get("broken") else ""
    return figures["outcome"] + broken


def _lost_by_hand(table: pa.Table, name: str, made: Released) -> float | None:
    """Return the loss of a release by a policy with a few quasi columns, and k-anonymity alone."""
    if name not in BY_HAND:
        return None
    found = ix.profile(table, K)
    guessed = {one.name: one for one in found.columns}
    columns = {}
    for one, column in made.policy.columns.items():
        if one in BY_HAND[name]:
            hierarchy = guessed[one].hierarchy or ix.suppress()
            columns[one] = ix.quasi(hierarchy, missing=guessed[one].missing_codes, unreadable=guessed[one].unreadable)
        else:
            columns[one] = ix.identifier() if column.role in ("identifier", "drop") else ix.other()
    policy = ix.Policy(
        columns=columns,
        privacy=[ix.KAnonymity(K)],
        algorithm="regroup",
        options={"measure": "loss"},
        max_suppression=0.02,
        person=made.policy.person,
        one_row_per_person=made.policy.person is None,
    )
    with ix.anonymize(table, policy) as by_hand:
        return float(ix.Loss().loss(by_hand.recoding))


def section(figures: list[Figures]) -> str:
    """Write the section of the page: the half of the tables that nobody looked at."""
    roles = next((one["roles"] for one in figures if "roles" in one), None)
    figures = [one for one in figures if "table" in one]
    unseen = [one for one in figures if not one["is_seen"]] or figures
    compared = [one for one in unseen if one["lost_by_hand"] is not None and "loss" in one]
    near = sum(one["loss"] <= one["lost_by_hand"] + ALLOWED for one in compared)
    text = f"""{len(figures)} public tables of people, at most {ROWS:,} rows of each, go through `init` and `anonymize`
unmended (k = {K}). Half of them, by a hash of their names, were never looked at while rules were made, and are shown
here; one that failed was looked into, and is left out since. The release is recounted by other code, against the
people whom the table's publisher names, and attacked by all attacks. *Unsafe* is what fewer than {K} people have: a
value, up to three values of columns that are neither quasi nor sensitive, or a group."""
    rows = [
        ["tables", len(unseen)],
        ["unsafe releases", sum(one["outcome"] == "unsafe" for one in unseen)],
        ["releases with ✗ by `attack all`", sum(bool(one.get("broken")) for one in unseen)],
        ["stopped at a decision that is open", sum(one["outcome"] == "open" for one in unseen)],
        ["refused for another reason", sum(one["outcome"] == "refused" for one in unseen)],
        [
            "columns dropped",
            f"{sum(one.get('dropped', 0) for one in unseen)} of {sum(one['columns'] for one in unseen)}",
        ],
        ["median loss", f"{_middle([one['loss'] for one in unseen if 'loss' in one]):.2f}"],
        [f"at most {ALLOWED} above a policy by hand", f"{near} of {len(compared)}"],
    ]
    made = [tables.table(["", "unseen half"], rows)]
    if roles is not None:
        made.append(
            tables.filled(
                f"""Roles on the {roles["tables"]} tables from which the lists of words were made
            (`benchmarks/init_answers.csv`): {roles["roles_right"]} of {roles["columns"]} can be defended,
            {roles["roles_right_strictly"]} are the first answer."""
            )
        )
    return tables.section("Releases that nobody mended", "init", text, *made)


def _middle(numbers: list[float]) -> float:
    return sorted(numbers)[len(numbers) // 2] if numbers else 0.0
