"""Guessing: how often attacks that guess are right about releases of Adult, beside their controls; docs/guessing.md."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import indistinct as ix
from benchmarks import data, tables
from benchmarks.setting import LIMIT, Figures, K, Setting, say
from indistinct.attacks.guessing import GuessReport

SENSITIVE = "occupation"
RELEASES: dict[str, tuple[str, dict[str, Any], list[Any]]] = {
    f"`lattice`, k = {K}": ("lattice", {}, [ix.KAnonymity(K)]),
    f"`mondrian`, k = {K}": ("mondrian", {}, [ix.KAnonymity(K)]),
    f"`mondrian`, k = {K}, l = 3": ("mondrian", {}, [ix.KAnonymity(K), ix.LDiversity(3)]),
    f"`mondrian`, k = {K}, t = 0.3": ("mondrian", {}, [ix.KAnonymity(K), ix.TCloseness(0.3)]),
    "`anatomy`, l = 3": ("anatomy", {}, [ix.LDiversity(3)]),
}
"""The releases that are attacked: their algorithm, its options and their models."""
ATTACKS: dict[str, Callable[..., GuessReport]] = {
    "inference": ix.attacks.inference,
    "minimality": ix.attacks.minimality,
    "definetti": ix.attacks.definetti,
    "singling_out": ix.attacks.singling_out,
}


def run_guessing(setting: Setting) -> list[Figures]:
    """Make each release, and let every attack guess that applies to it."""
    rows = setting.adult
    path = data.write_csv(rows, setting.folder / "guessing.csv")
    columns = data.policy(rows, K, LIMIT).columns | {SENSITIVE: ix.sensitive()}
    found, plain = [], 0.0
    for name in list(RELEASES)[::2] if setting.is_quick else RELEASES:
        algorithm, options, models = RELEASES[name]
        limit = None if algorithm == "anatomy" else LIMIT
        policy = ix.Policy(columns, models, max_suppression=limit, algorithm=algorithm, options=options)
        one = _attacked(path, policy)
        plain = one["precision"] if models == [ix.KAnonymity(K)] else plain
        one = {"release": name, "cost": one["precision"] - plain if len(models) > 1 else None, **one}
        found.append(one)
        say(f"  {name}: " + ", ".join(f"{attack} {_rates(one[attack])}" for attack in ATTACKS if one[attack]))
    return found


def _attacked(path: Path, policy: ix.Policy) -> Figures:
    """Make a release, and give what it keeps, and how often each attack that applies is right about it."""
    found: Figures = {}
    with ix.anonymize(path, policy) as release:
        facts = release.facts
        found |= {"rows": facts.released, "precision": facts.measures.get("precision", 1.0), "cpu_seconds": {}}
        is_blind = not any(model.asks_sensitive for model in policy.privacy)
        for name, attack in ATTACKS.items():
            cpu = time.process_time()
            try:
                worst = attack(release, policy, path).worst
            except (ix.PolicyError, ix.TableError):
                worst = None
            found[name] = None if worst is None else worst.to_dict()
            found["cpu_seconds"][name] = time.process_time() - cpu
        found["is_blind"] = is_blind
    return found


def _rates(guess: Figures) -> str:
    """Return the rate of an attack beside that of its control.

    >>> _rates({"rate": 0.292, "control": 0.29})
    '29.2/29.0%'
    """
    return f"{100 * guess['rate']:.1f}/{guess['control']:.1%}"


def table(figures: list[Figures]) -> str:
    """Return the releases and what was guessed, as Markdown."""
    heads = ["release", "rows", "precision", "inference", "minimality", "deFinetti", "singling out"]
    rows = [
        [
            one["release"],
            f"{one['rows']:,}",
            f"{one['precision']:.3f}" + ("" if one["cost"] is None else f" ({one['cost']:+.3f})"),
            _cell(one["inference"], None),
            "blind" if one["is_blind"] else _cell(one["minimality"], one["rows"]),
            _cell(one["definetti"], one["rows"]),
            _cell(one["singling_out"], None),
        ]
        for one in figures
    ]
    return tables.table(heads, rows)


def _cell(guess: Figures | None, rows: int | None) -> str:
    """Return rates, with the people that were guessed about where they are not all."""
    if guess is None or not guess["people"]:
        return ""
    some = f" of {guess['people']:,} people" if rows is not None and guess["people"] < rows else ""
    return _rates(guess) + some


def section(figures: list[Figures]) -> str:
    """Return the section of the page."""
    slowest = max(seconds for one in figures for seconds in one["cpu_seconds"].values())
    guesses = [one["inference"] for one in figures if one["inference"] and one["inference"]["baseline"] is not None]
    baseline = f" The most frequent value is right for {100 * guesses[0]['baseline']:.1f} %." if guesses else ""
    text = f"""how often [attacks that guess](guessing.md) are right / their control, on Adult with `{SENSITIVE}`
sensitive and eight quasi columns, at most 2 % suppressed. Behind the precision: what the model costs beside
k-anonymity alone.{baseline} No attack took more than {slowest:.1f} CPU s."""
    return tables.section("Guessing", "guessing", text, table(figures))
