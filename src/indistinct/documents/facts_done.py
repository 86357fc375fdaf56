"""Facts of what was done: the columns one by one, the techniques in their order, what it cost, how to do it again."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from indistinct.documents.dossier_facts import Fact, FactTable
from indistinct.documents.material import Material
from indistinct.policy import Column, Person, Policy
from indistinct.registry import MEASURES
from indistinct.showing.numbers import figure, percent

SCORE = "k-marginal score: how alike the shares of all pairs of columns are (NIST); 1,000 if they are the same"
GONE = {"identifier": "removed", "drop": "removed", "sensitive": "released as it is", "other": "released as it is"}


def release(known: Material) -> Fact:
    """Say which release it is: when it was made, its rows, and the digests of its files."""
    summary, manifest = known.report["release"], known.manifest
    lines = [
        f"{summary['form']}; {figure(summary['released'])} of {figure(summary['eligible'])} rows released, "
        f"{figure(summary['suppressed'])} left out; {figure(summary['groups'])} {summary['nouns']}.",
        f"Verdict of the recount and the attacks: {known.report['conclusion']['words']}.",
    ]
    rows: tuple[tuple[str, ...], ...] = ()
    if manifest is not None:
        lines.append(f"Made {manifest.made_at} by {manifest.made_by}; policy {manifest.policy_sha256}.")
        rows = tuple((name, digest) for name, digest in manifest.files.items())
    return Fact(
        title="The release",
        said=tuple(lines),
        table=FactTable(heads=("file", "SHA-256"), rows=rows) if rows else None,
        numbers={name: summary[name] for name in ("eligible", "released", "suppressed", "groups", "smallest_group")},
        command=known.commands.line("verify"),
    )


def done_to(known: Material, name: str, column: Column) -> str:
    """Say what was done to a column."""
    if column.role == "quasi":
        found = next((one for one in known.report["columns"] if one["name"] == name), None)
        done = _level_in_words(found) if found is not None else "made coarser"
    elif column.role == "identifier" and (column.pseudonym or _is_linked(known, name)):
        done = "replaced by a keyed pseudonym"
    else:
        done = GONE[column.role]
    if column.recode is not None:
        done = f"recoded by {column.recode.kind} to level {column.recode_level}"
    if column.shift is not None:
        done = f"dates moved by one number of days for each person, {column.shift.days} at most"
    if column.perturbation is not None:
        done = column.perturbation.in_words()
    if column.role != "identifier" and column.rename is not None:
        done += f"; called {column.rename}"
    return done


def _is_linked(known: Material, name: str) -> bool:
    return known.policy.links_rows and name in known.policy.person_columns


def _level_in_words(found: Mapping[str, Any]) -> str:
    names = {one["level"]: one["name"] for one in found["levels"]}
    if found["level"] is not None:
        level = found["level"]
        if not level:
            return "released as it is"
        of = "" if not found["height"] else f", level {level} of {found['height']}"
        return f"generalized to {names.get(level, f'level {level}')}{of}"
    return f"generalized cell by cell, level {figure(found['mean_level'])} of {found['height']} on average"


def columns_of(*roles: str) -> Callable[[Material], Fact]:
    """Return what makes a table of the columns with some roles: what each is, and what was done to it."""

    def make(known: Material) -> Fact:
        chosen = {name: one for name, one in known.policy.columns.items() if one.role in roles}
        rows = tuple((name, one.role, _hierarchy(one), done_to(known, name, one)) for name, one in chosen.items())
        titles = {"identifier": "Direct identifiers", "quasi": "Indirect identifiers"}
        title = titles[roles[0]] if len(roles) == 1 else "Data dictionary"
        if not rows:
            return Fact(title=title, said=("The policy names none.",))
        has_levels = any(one.role == "quasi" for one in chosen.values())
        return Fact(
            title=title,
            said=("Level 0 is a value as it was; the highest level hides it.",) if has_levels else (),
            table=FactTable(heads=("column", "role", "hierarchy", "what was done"), rows=rows),
            command=known.commands.line("report", with_original=False) + " --json",
        )

    return make


def _hierarchy(column: Column) -> str:
    return column.hierarchy.kind if column.role == "quasi" else ""


def models(known: Material) -> Fact:
    """Say what was asked of the release."""
    said = known.report["policy"]
    return Fact(
        title="What was asked of the release",
        said=(*said["requirements"], said["suppression"]),
        command=known.commands.line("verify", with_original=False),
    )


def techniques(known: Material) -> Fact:
    """List what was done to the table, in its order."""
    policy, summary = known.policy, known.report["release"]
    by_role = {role: policy.with_role(role) for role in ("identifier", "drop", "quasi", "sensitive", "other")}
    changed = [name for name in policy.columns if policy.columns[name].recode is not None]
    lost = f"{figure(summary['suppressed'])} of {figure(summary['eligible'])}"
    generalizes = known.manifest is None or known.manifest.shape.generalizes
    steps = [
        ("select eligible rows", f"{len(policy.eligible)} conditions" if policy.eligible else ""),
        ("remove direct identifiers", ", ".join(by_role["identifier"])),
        ("drop columns", ", ".join(by_role["drop"])),
        ("replace by keyed pseudonyms", ", ".join(policy.pseudonym_columns)),
        ("recode", ", ".join(changed)),
        ("move dates", ", ".join(policy.shifted)),
        ("perturb numbers", ", ".join(policy.perturbed)),
        (
            "generalize" if generalizes else "divide into two tables of classes",
            f"{', '.join(by_role['quasi'])}; by {summary['algorithm']}{_options(policy)}",
        ),
        ("suppress rows", lost if summary["suppressed"] else ""),
        ("shuffle the rows", "a fresh random order"),
        ("recount the release", "by code that shares nothing with the search"),
    ]
    kept = [(step, what) for step, what in steps if what]
    rows = tuple((figure(number), step, what) for number, (step, what) in enumerate(kept, 1))
    return Fact(
        title="Techniques in their order",
        said=tuple(known.report["policy"]["requirements"]),
        table=FactTable(heads=("", "step", "on what"), rows=rows),
        command=known.commands.again(known.report["reproduce"]["commands"][0]["command"]),
    )


def _options(policy: Policy) -> str:
    """Say the options of the algorithm, which are part of the technique."""
    said = ", ".join(f"{name} = {value}" for name, value in policy.options.items())
    return f" ({said})" if said else ""


def utility(known: Material) -> Fact:
    """Return what the release lost, by each measure."""
    rows = [
        (f"{name}: {MEASURES[name].title}" if name in MEASURES else name, figure(value))
        for name, value in known.report["measures"].items()
    ]
    lost = known.report["suppression"]
    rows.append(("rows left out", f"{figure(known.report['release']['suppressed'])}, {percent(lost['share'] or 0)}"))
    found = known.report.get("utility")
    rows += [(SCORE, found["score"])] if isinstance(found, Mapping) and found.get("score") else []
    return Fact(
        title="Utility",
        table=FactTable(heads=("measure", "value"), rows=tuple(rows)),
        numbers=dict(known.report["measures"]),
        command=known.commands.line("report") + " --json",
    )


def people(known: Material) -> Fact:
    """Say whether rows or people were counted."""
    person = known.policy.person
    if isinstance(person, Person) or known.policy.tables:
        whose = ", ".join(known.policy.person_columns)
        said = [
            f"Rows that agree in {whose} are one person's, or one household's. Models are asked of these, not of rows."
        ]
        of_people = known.report["release"]["people"]
        said += [f"The smallest group has {figure(of_people['smallest_group'])} people."] if of_people else []
        return Fact(title="People and households", said=tuple(said), command=known.commands.line("verify"))
    return Fact(
        title="People and households",
        said=(
            "Each row counts as somebody else. If rows belong to households, name the household under person in the "
            "policy: groups are then counted in households.",
        ),
        command=known.commands.line("verify"),
    )


def differential_privacy(known: Material) -> Fact:
    """Say unit, ε, δ, mechanism, trust model and hazards; or that none of it is promised."""
    drawn = None if known.manifest is None else known.manifest.drawn
    title = "Differential privacy"
    if drawn is None:
        return Fact(
            title=title, said=("Not promised: the release has no ε. Its protection is that of the models above.",)
        )
    unit = "a person" if known.policy.person_columns else "a row"
    rows = (
        ("unit of privacy", unit),
        ("ε", f"{drawn.epsilon:g}, of which {drawn.epsilon_of_levels:g} on the levels"),
        ("δ", f"{drawn.delta:g}"),
        ("mechanism", f"SafePub: rows drawn with probability {drawn.sampled:g}, groups of at least {drawn.k}"),
        ("trust model", "central: whoever makes the release holds the original"),
        ("hazards", "a policy made from the table, a seed, other releases outside the ledger's budget"),
    )
    return Fact(
        title=title,
        table=FactTable(heads=("", "said"), rows=rows),
        numbers=drawn.to_dict(),
        command=known.commands.line("verify", with_original=False),
    )


def reproduce(known: Material) -> Fact:
    """List the commands that make the release and its proof again."""
    found = known.report["reproduce"]
    rows = tuple((one["does"], known.commands.again(one["command"])) for one in found["commands"])
    libraries = ", ".join(f"{name} {version}" for name, version in found["libraries"].items())
    return Fact(
        title="How to make it again",
        said=(f"{found['made_by']}; {libraries}; policy {found['policy_sha256']}.",),
        table=FactTable(heads=("what it does", "command"), rows=rows),
    )


def register(known: Material) -> Fact:
    """Return the entry of a register: purpose, technique, dates, decisions, digests."""
    about, context, manifest = known.report["about"], known.context, known.manifest
    techniques_used = " ".join(known.report["policy"]["requirements"])
    rows = (
        ("what", about.get("title") or about.get("data") or "…"),
        ("purpose", about.get("purpose") or "…"),
        ("techniques", f"{known.report['release']['algorithm']}: {techniques_used}"),
        ("made", "…" if manifest is None else manifest.made_at),
        ("analysed", known.report["reported_at"]),
        ("decided by", context.decided_by or about.get("decided_by") or "…"),
        ("review", "…" if context.review_by is None else context.review_by.isoformat()),
        ("policy", known.report["reproduce"]["policy_sha256"]),
    )
    return Fact(
        title="Register entry",
        table=FactTable(heads=("item", "entry"), rows=rows),
        command="indistinct review LEDGER --register register.csv",
    )


def inside(known: Material) -> Fact:
    """Say what of all this does not go to recipients."""
    return Fact(
        title="What stays inside",
        said=(
            "This dossier, the internal report, the original, the policy with its reasons, keys and the ledger.",
            "To recipients go the release folder with its manifest, and the public edition of the report.",
        ),
        command=known.commands.line("report", with_original=False) + " --edition public -o for-recipients.html",
    )


DONE: Mapping[str, Callable[[Material], Fact]] = {
    "release": release,
    "identifiers": columns_of("identifier"),
    "quasi": columns_of("quasi"),
    "dictionary": columns_of("identifier", "quasi", "sensitive", "other", "drop"),
    "models": models,
    "techniques": techniques,
    "utility": utility,
    "people": people,
    "differential_privacy": differential_privacy,
    "reproduce": reproduce,
    "register": register,
    "inside": inside,
}
"""The facts of what was done, by name."""
