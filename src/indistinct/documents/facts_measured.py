"""Facts that were measured: risk before and after, R, the questions that attacks answer, and the attacks themselves."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pydantic import JsonValue

from indistinct.disclosure_risk import OverallRisk
from indistinct.documents.dossier_facts import Fact, FactTable
from indistinct.documents.material import Material
from indistinct.showing.numbers import figure, percent

FIGURES = (
    ("prosecutor risk, highest", "highest", percent),
    ("marketer risk, the average", "average", percent),
    ("journalist risk, highest", "journalist", percent),
    ("records above the threshold", "at_risk", figure),
    ("records alone", "alone", figure),
    ("smallest group", "smallest", figure),
    ("groups", "groups", figure),
)
"""The figures of a table of risks: in words, as the report names them, and how they are shown."""
ADVERSARIES = (
    ("prosecutor", "knows that a certain person is in the release, and her quasi cells", "1 / rows of her group"),
    ("journalist", "looks for anybody, and does not know who is in it", "1 / people of the population who fit"),
    ("marketer", "wants to name as many as possible", "the average over all records"),
    ("acquaintance", "recognises somebody by a few cells of any columns", "rows alone by few cells"),
    ("holder of other releases", "has earlier releases of the same people", "attacks, and the ledger"),
)


def risk_table(known: Material, when: str) -> Fact:
    """Return the risk by each quasi-identifier, before the release or after."""
    title = "Risk before, in the private table" if when == "before" else "Risk after, in the release"
    found: Sequence[Mapping[str, Any]] = [one for one in known.report["risk"] if one[when] is not None]
    if not found:
        return Fact(title=title)
    limit = known.report["threshold"]
    what = "the policy's threshold by the probability of an attempt" if limit["is_chosen"] else "a common choice"
    rows = []
    for one in found:
        where = [one["name"]] if len(found) > 1 else []
        for words, name, shown in FIGURES:
            if one[when].get(name) is not None:
                rows.append((*where, words, shown(one[when][name])))
        if one[when].get("people"):
            rows.append((*where, "highest, in people", percent(one[when]["people"]["highest"])))
    heads = (*(["quasi-identifier"] if len(found) > 1 else []), "figure", "value")
    command = known.commands.line("report", with_original=when == "before") + " --json"
    said = (f"A record counts as above the threshold from a chance of {percent(limit['value'])} on: {what}.",)
    numbers: dict[str, JsonValue] = {one["name"]: dict(one[when]) for one in found}
    return Fact(
        title=title, said=said, table=FactTable(heads=heads, rows=tuple(rows)), numbers=numbers, command=command
    )


def risk_above(known: Material) -> Fact:
    """Return how many records are above the threshold, before and after."""
    rows = tuple(
        (one["name"], *("–" if one[when] is None else figure(one[when]["at_risk"]) for when in ("before", "after")))
        for one in known.report["risk"]
    )
    if not rows:
        return Fact(title="Records above the threshold")
    limit = known.report["threshold"]["value"]
    return Fact(
        title="Records above the threshold",
        said=(f"Records whose own chance is above {percent(limit)}.",),
        table=FactTable(heads=("quasi-identifier", "before", "after"), rows=rows),
        numbers={"limit": limit},
        command=known.commands.line("report") + " --json",
    )


def overall(known: Material, found: OverallRisk) -> Fact:
    """Return R with its parts."""
    said = [f"{found.sentence}."]
    missing = [name for name, one in found.context.threats.items() if one is None]
    if found.context.sharing != "public" and missing:
        said.append(f"R_context is taken to be 1, since {', '.join(missing)} was not said.")
    data = found.data
    said.append(
        f"Of {figure(data.records)} {data.units} the highest chance is {figure(data.maximum)}, the average "
        f"{figure(data.average)}."
    )
    return Fact(
        title="R = R_data × R_context",
        said=tuple(said),
        numbers=found.to_dict(),
        command=known.commands.line("report", with_original=False) + " --json",
    )


def holder(known: Material) -> Fact:
    """Say what the release is to whoever holds the original."""
    found = known.risks[""]
    said = (
        "Whoever holds the original can tell which group each of its people is in, whatever the release hides.",
        f"Without regard to how likely an attempt is, the highest chance to find a record is "
        f"{figure(found.data.maximum)}, the average {figure(found.data.average)}.",
        "So for the holder the release stays data about people who can be found, as long as the original is kept.",
    )
    return Fact(
        title="Result for the holder of the original",
        said=said,
        numbers={"maximum": found.data.maximum, "average": found.data.average},
        command=known.commands.line("verify"),
    )


def question(name: str, title: str) -> Callable[[Material], Fact]:
    """Return what makes the fact of one of the questions: rate, control, difference and their intervals."""

    def make(known: Material) -> Fact:
        row = next((one for one in known.report["questions"] if one["question"] == name.replace("_", " ")), None)
        row = _membership(known) if row is None and name == "membership" else row
        if row is None or row.get("rate") is None:
            return Fact(title=title)
        rows = (
            ("with the release", percent(row["rate"]), _interval(row["rate_interval"])),
            ("control, without it", percent(row["control"]), _interval(row["control_interval"])),
            ("difference", percent(row["difference"]), _interval(row["interval"])),
        )
        said = [f"Measured: {row['measured']}."] + ([f"What remains: {row['remains']}."] if row["remains"] else [])
        numbers = {key: row[key] for key in ("rate", "rate_interval", "control", "control_interval", "interval")}
        attack = str(row["attack"]).replace("_", "-")
        command = known.commands.line("report") + " --json"
        if attack != "link":  # the chance of a link follows from the groups of the release
            command = f"{known.commands.line('attack', attack, with_original=False)} {known.commands.original}"
        return Fact(
            title=title,
            said=tuple(said),
            table=FactTable(heads=("", "rate", "95 % interval"), rows=rows),
            numbers=numbers,
            command=command,
        )

    return make


def _membership(known: Material) -> Mapping[str, Any] | None:
    """Return the row of the fourth question, if an attack asked it."""
    guess = known.membership
    if guess is None:
        return None
    measured = (
        "how often it is said of people of the release, by whoever knows all their released cells, that they are in "
        "it; the control is how often that is said of others, made up of cells of different people"
    )
    names = ("rate", "rate_interval", "control", "control_interval", "difference", "interval")
    return {"attack": "membership", "measured": measured, "remains": "", **{name: guess[name] for name in names}}


def _interval(bounds: Sequence[float]) -> str:
    return f"{percent(bounds[0])} to {percent(bounds[1])}"


def attacks(known: Material) -> Fact:
    """List the attacks that were tried, and why others were not."""
    rows = tuple((one["title"], one["severity"], one["summary"]) for one in known.report["attacks"])
    return Fact(
        title="Attacks",
        said=("Each was run by a program that holds the release, and beside it what the attack asks for.",),
        table=FactTable(heads=("attack", "outcome", "what was found"), rows=rows),
        command=known.commands.line("attack", "all", with_more=True),
    )


def attacks_of_recipient(known: Material) -> Fact:
    """List the attacks by what a recipient may hold: the release, a list of names, earlier releases."""
    given = {"a table that names people": "external", "earlier releases": "earlier", "a population": "population"}
    said = [
        f"{what[:1].upper()}{what[1:]}: {'given to the attacks' if known.given[name] else 'not given'}."
        for what, name in given.items()
    ]
    own = [one for one in known.report["attacks"] if one["severity"] != "not tried"]
    rows = tuple((one["title"], one["severity"], one["summary"]) for one in own)
    return Fact(
        title="Attacks with what this recipient holds",
        said=tuple(said),
        table=FactTable(heads=("attack", "outcome", "what was found"), rows=rows),
        command=known.commands.line("attack", "all", with_more=True),
    )


def adversaries(known: Material) -> Fact:
    """List who may look for people, and which chance is theirs."""
    del known
    return Fact(
        title="Adversaries",
        table=FactTable(heads=("adversary", "knows or wants", "finds a record with"), rows=ADVERSARIES),
    )


def special_uniques(known: Material) -> Fact:
    """Return the smallest sets of columns by which nearly all rows are alone, and who is alone by few cells."""
    rows = []
    for one in known.report["risk"]:
        rows += [
            ("private table", ", ".join(found["columns"]), f"{figure(found['alone'])} rows, {percent(found['share'])}")
            for found in one["identifying"]
        ]
    cells = known.report["unicity"].get("known", ())
    rows += [
        ("release", f"any {one['cells']} cells, by the worst set", f"{percent(one['worst'])} of the rows alone")
        for one in cells[:3]
    ]
    return Fact(
        title="Rows alone by few columns",
        said=("SUDA scores are not computed; the sets by which nearly all rows stand alone are.",),
        table=FactTable(heads=("where", "columns", "alone"), rows=tuple(rows)) if rows else None,
        command=f"indistinct risk {known.commands.original} --policy {known.commands.policy}",
    )


MEASURED: Mapping[str, Callable[[Material], Fact]] = {
    "risk.before": lambda known: risk_table(known, "before"),
    "risk.after": lambda known: risk_table(known, "after"),
    "risk.above": risk_above,
    "risk.overall": lambda known: overall(known, known.risks[""]),
    "risk.holder": holder,
    "question.singling_out": question("singling_out", "Singling out"),
    "question.linking": question("linking", "Linking records"),
    "question.inference": question("inference", "Inference"),
    "question.membership": question("membership", "Membership"),
    "attacks": attacks,
    "attacks.recipient": attacks_of_recipient,
    "adversaries": adversaries,
    "special_uniques": special_uniques,
}
"""The facts that were measured, by name."""
