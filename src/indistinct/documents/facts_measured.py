"""Facts that were measured: risk before and after, R, the questions that attacks answer, and the attacks themselves."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pydantic import JsonValue

from indistinct.disclosure_risk import NEARLY, OverallRisk
from indistinct.documents.dossier_facts import Fact, FactTable
from indistinct.documents.material import Material
from indistinct.report import MOST_COLUMNS
from indistinct.showing.numbers import figure, percent
from indistinct.showing.words import counted

FIGURES = (
    ("prosecutor risk, highest", "highest", percent),
    ("marketer risk, the average", "average", percent),
    ("{units} above the threshold", "at_risk", figure),
    ("{units} alone", "alone", figure),
    ("{units} in the smallest group", "smallest", figure),
    ("groups", "groups", figure),
)
"""The figures of a table of risks: in words, as the report names them, and how they are shown."""
PEOPLE = (
    ("prosecutor risk in people, highest", "highest", percent),
    ("people alone", "alone", figure),
    ("people in the smallest group", "smallest", figure),
)
"""The same where people have several rows, of those figures that are known."""
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
    rows: list[tuple[str, ...]] = []
    for one in found:
        where = (one["name"],) if len(found) > 1 else ()
        rows += [(*where, *line) for line in _figures(one[when], one["units"])]
    heads = (*(["quasi-identifier"] if len(found) > 1 else []), "figure", "value")
    command = known.commands.line("report", with_original=when == "before") + " --json"
    said = [limit_in_words(known), *_people_in_words(known, when, any(one[when].get("people") for one in found))]
    numbers: dict[str, JsonValue] = {one["name"]: dict(one[when]) for one in found}
    return Fact(
        title=title, said=tuple(said), table=FactTable(heads=heads, rows=tuple(rows)), numbers=numbers, command=command
    )


def _figures(found: Mapping[str, Any], units: str) -> list[tuple[str, str]]:
    """Return the lines of a table of risks; the journalist has at most the prosecutor's chance."""
    people = found.get("people") or {}
    lines = [(words.format(units=units), shown(found[name])) for words, name, shown in FIGURES]
    lines += [(words, shown(people[name])) for words, name, shown in PEOPLE if people.get(name) is not None]
    journalist = found.get("journalist")
    most = percent(people.get("highest", found["highest"]))
    said = f"at most {most}: the population was not counted" if journalist is None else percent(journalist)
    return [*lines[:2], ("journalist risk, highest", said), *lines[2:]]


def limit_in_words(known: Material) -> str:
    """Say from which chance a record counts as above the threshold, and how that follows."""
    limit, context = known.report["threshold"], known.context
    said = f"A record counts as above the threshold if its own chance is above {percent(limit['value'])}"
    if not limit["is_chosen"] or context.limit is None:
        return f"{said}: a common choice and nobody's decision; say a threshold in the policy's [context]."
    return f"{said}: the threshold {figure(context.limit.value)} divided by R_context = {figure(context.likelihood)}."


def _people_in_words(known: Material, when: str, has_people: bool) -> list[str]:
    """Say which figures count rows, where people may have several."""
    if not has_people:
        return []
    said = ["Figures that do not name people count rows."]
    if when == "after" and not known.policy.links_rows:
        said.append("Whose the released rows are is not in the release: people were counted when it was made.")
    return said


def risk_above(known: Material) -> Fact:
    """Return how many records are above the threshold, before and after."""
    rows = tuple(
        (
            ", ".join(one["columns"]),
            one["units"],
            *("–" if one[when] is None else figure(one[when]["at_risk"]) for when in ("before", "after")),
        )
        for one in known.report["risk"]
    )
    if not rows:
        return Fact(title="Records above the threshold")
    return Fact(
        title="Records above the threshold",
        said=(limit_in_words(known),),
        table=FactTable(heads=("by the columns", "counted", "before", "after"), rows=rows),
        numbers={"limit": known.report["threshold"]["value"]},
        command=known.commands.line("report") + " --json",
    )


def overall(known: Material, found: OverallRisk, recipient: str | None = None) -> Fact:
    """Return R with its parts; in the context of a recipient, if one is named."""
    said = [f"{found.sentence}."]
    missing = [name for name, one in found.context.threats.items() if one is None]
    if found.context.sharing != "public" and missing:
        said.append(f"R_context is taken to be 1, since {', '.join(missing)} was not said.")
    data = found.data
    said.append(
        f"Of {figure(data.records)} {data.units} the highest chance is {figure(data.maximum)}, {_average(found)}."
    )
    said += [] if recipient is None else other_terms(known, recipient)
    return Fact(
        title="R = R_data × R_context",
        said=tuple(said),
        numbers=found.to_dict(),
        command=known.commands.risk_line(recipient, is_own=recipient is None or not other_terms(known, recipient)),
    )


def _average(found: OverallRisk) -> str:
    if found.data.is_average_known:
        return f"the average {figure(found.data.average)}"
    return "which stands for the average too: of each group only the fewest people of any are known"


def other_terms(known: Material, recipient: str) -> list[str]:
    """Say that a recipient is to get a release on terms that this one was not made on."""
    if known.commands.recipient is not None or not known.recipients[recipient].has_own_release:
        return []
    return [
        f"This release was not made on the terms of {recipient}, who is to get one with k, columns, levels or limits "
        f"of its own: make that one with --recipient {recipient}, and its dossier as well."
    ]


def holder(known: Material) -> Fact:
    """Say what the release is to whoever holds the original."""
    found = known.risks[""]
    said = (
        "Whoever holds the original can tell which group each of its people is in, whatever the release hides.",
        f"Without regard to how likely an attempt is, the highest chance to find a record is "
        f"{figure(found.data.maximum)}, {_average(found)}.",
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
    remains = (
        "labels cover the cells that they were made of, so the first rate is high of any release that leaves out few; "
        "what counts is how often it is said of others, and of people who are not in the table the control would differ"
    )
    names = ("rate", "rate_interval", "control", "control_interval", "difference", "interval")
    return {"attack": "membership", "measured": measured, "remains": remains, **{name: guess[name] for name in names}}


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
        f"{what[:1].upper()}{what[1:]}: {'given' if known.given[name] else 'not given'}."
        for what, name in given.items()
    ]
    if known.has_original:
        said.append("The private table was given, which this recipient does not hold: rates were measured against it.")
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
    noun = "people" if known.policy.person_columns else "rows"
    rows = [
        ("private table", ", ".join(found["columns"]), f"{figure(found['alone'])} {noun}, {percent(found['share'])}")
        for one in known.report["risk"]
        for found in one["identifying"] or ()
    ]
    if not rows and any(one["identifying"] == [] for one in known.report["risk"]):
        rows.append(("private table", f"no {MOST_COLUMNS} columns or fewer", f"for {percent(NEARLY)} of the {noun}"))
    cells = known.report["unicity"].get("known", ())
    rows += [
        (
            "release",
            f"any {counted(one['cells'], 'cell')}, by the worst columns",
            f"{percent(one['worst'])} of the rows",
        )
        for one in cells[:3]
    ]
    return Fact(
        title="Alone by few columns",
        said=("SUDA scores are not computed; the sets of columns by which nearly all stand alone are.",),
        table=FactTable(heads=("where", "columns", "alone"), rows=tuple(rows)) if rows else None,
        command=known.commands.line("report") + " --json",
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
