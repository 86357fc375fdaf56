"""Context: who gets the release, how likely somebody tries to find people there, and which risk is accepted."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from nicegui import ui

from indistinct.policy.context import CONTROLS_SOURCE, KNOWN_SOURCE, LIMITS, SHARING
from indistinct.regimes import HINTS, regimes, unsaid
from indistinct.showing.numbers import figure, percent
from indistinct.studio.pages.privacy import read_number
from indistinct.studio.settings import choose_sharing, choose_way, part, say, say_recipient, way_of
from indistinct.studio.widgets import controls
from indistinct.studio.widgets.page_frame import Desk, frame, needs_table, next_step
from indistinct.studio.work import Work

LEAD = "What no program can know. It goes into the policy, changes no cell, and fills the documents that people sign."
NOT_SAID = {"": "not said yet"}
ABOUT = {
    "title": ("What is the release called?", ""),
    "data": ("What does the table hold?", "of whom, from when and where"),
    "purpose": ("What is the release for?", ""),
}
THREATS = {
    "deliberate": "How likely does a recipient try to find people?",
    "inadvertent": "How likely does a recipient recognise somebody by chance?",
    "breach": "How likely is the release lost or stolen, within the time that it is used?",
}
WAYS = {
    "deliberate": {
        "value": "I say the probability",
        "controls": "By the recipient's controls, motives and capacity (Ontario 2016)",
    },
    "inadvertent": {
        "value": "I say the probability",
        "prevalence": "By how many people have what the table is about (Ontario 2016)",
    },
    "breach": {"value": "I say the probability"},
}
GRADES = ("low", "medium", "high")
TERMS = {
    "who": "Who are they?",
    "holds": "What do they hold, or can lawfully get, that could be linked?",
    "means": "What would an attempt cost them, and what would help them?",
    "contract": "Which agreement binds them?",
}
Heard = Callable[[], Any]


def page(work: Work, query: Mapping[str, str]) -> None:
    """Show the page."""
    with frame(work, "/context", "For whom, and at what risk?", LEAD) as desk:
        if needs_table(work):
            return

        @ui.refreshable
        def findings() -> None:
            _show_findings(work)

        findings()
        with controls.box("div", "halves"):
            with controls.box("div"):
                with controls.card("The release"):
                    for name, (question, hint) in ABOUT.items():
                        _text(work, ("about", name), question, findings.refresh, hint)
                with controls.card("How is it shared?"):
                    _likelihoods(work, findings.refresh)
            with controls.box("div"):
                with controls.card("Which risk is accepted?"):
                    _threshold(work, findings.refresh)
                with controls.card("Who gets it?"):
                    _recipients(work, desk, findings.refresh)
        next_step("Next: release", "/release")


def _show_findings(work: Work) -> None:
    """Say what is wrong, what follows from the answers, and which documents lack some."""
    mistakes = work.mistakes()
    for mistake in mistakes:
        controls.notice("bad", mistake)
    if mistakes:
        return
    policy = work.policy()
    context = policy.context
    if context is not None:
        said = [f"The probability of an attempt, R_context, is {figure(context.likelihood)}."]
        if context.limit is not None and context.record_limit is not None:
            said.append(
                f"R is held against {figure(context.limit.value)}, so a record counts as above it if its own chance is "
                f"above {percent(context.record_limit)}."
            )
        risk = work.overall_risk()
        said += [] if risk is None else [f"This release: {risk.sentence}."]
        kind = "note" if risk is None or risk.is_above is None else "bad" if risk.is_above else "good"
        controls.notice(kind, " ".join(said))
    lacks = unsaid(policy)
    with controls.box("details"):
        controls.Words("summary", f"{len(regimes()) - len(lacks)} of {len(regimes())} documents have all answers")
        rows = [[regimes()[name].title, "; ".join(HINTS[one] for one in missing)] for name, missing in lacks.items()]
        controls.table(("document", "what is not said"), rows, caption="What documents lack")


def _text(work: Work, path: tuple[str, ...], question: str, changed: Heard, hint: str = "", **more: Any) -> None:
    """Ask for a text at a place of the policy."""

    def heard(text: str) -> None:
        say(work.more, path, text.strip())
        changed()

    given = part(work.more, *path[:-1]).get(path[-1], "")
    controls.text(question, str(given), heard, hint=hint, id="-".join(path), **more)


def _number(work: Work, path: tuple[str, ...], question: str, changed: Heard, hint: str = "", **more: Any) -> None:
    """Ask for a number at a place of the policy."""

    def heard(text: str) -> None:
        say(work.more, path, read_number(text) if text.strip() else "")
        changed()

    given = part(work.more, *path[:-1]).get(path[-1], "")
    controls.number(question, given, heard, hint=hint, id="-".join(path), **{"min": "0", "step": "any"} | more)


def _likelihoods(work: Work, changed: Heard) -> None:
    """Ask how the release is shared and, unless it is public, for the three likelihoods."""

    @ui.refreshable
    def fields() -> None:
        sharing = part(work.more, "context").get("sharing", "")
        options = NOT_SAID | {name: f"{name}: {means}" for name, means in SHARING.items()}
        controls.choice("Who can get it?", options, sharing, choose)
        if sharing == "public":
            controls.Words("p", "Of a public release an attempt is taken to be certain: R_context = 1.", "quiet small")
            return
        for threat in THREATS:
            _likelihood(work, threat, changed, fields.refresh)

    def choose(sharing: str) -> None:
        choose_sharing(work.more, sharing)
        fields.refresh()
        changed()

    fields()


def _likelihood(work: Work, threat: str, changed: Heard, redraw: Heard) -> None:
    """Ask for one of the three likelihoods, in one of several ways."""
    path, said = ("context", threat), part(work.more, "context", threat)
    way = way_of(said)

    def choose(chosen: str) -> None:
        choose_way(work.more, threat, chosen)  # type: ignore[arg-type]  # an option of the choice
        redraw()
        changed()

    def remember(name: str) -> Callable[[str], None]:
        def heard(grade: str) -> None:
            say(work.more, (*path, name), grade)
            changed()

        return heard

    controls.Words("h3", THREATS[threat])
    with controls.box("div", "row-line"):
        controls.choice("Answer", NOT_SAID | WAYS[threat], way, choose)
        if way == "value":
            _number(work, (*path, "value"), "Probability", changed, max="1")
        elif way == "controls":
            controls.choice("Privacy controls", GRADES, str(said.get("controls", "")), remember("controls"))
            controls.choice("Motives and capacity", GRADES, str(said.get("motives", "")), remember("motives"))
        elif way == "prevalence":
            _number(work, (*path, "prevalence"), "Share of people who have it", changed, max="1")
    if way:
        source = {"controls": CONTROLS_SOURCE, "prevalence": KNOWN_SOURCE}.get(way, "")
        _text(work, (*path, "why"), "Why?", changed, f"the figure: {source}" if source else "")


def _threshold(work: Work, changed: Heard) -> None:
    """Ask for the threshold, its reason, who decided, until when, and what happens above it."""
    said = part(work.more, "context")

    @ui.refreshable
    def fields() -> None:
        given = part(work.more, "context").get("threshold", "")
        chosen = given if given in LIMITS or given == "" else "own"
        options = NOT_SAID | {name: f"{figure(one.value)}: {one.source}" for name, one in LIMITS.items()}
        controls.choice("Threshold of R", options | {"own": "another number"}, str(chosen), choose)
        if chosen == "own":
            _number(work, ("context", "threshold"), "The number", changed, max="1")

    def choose(name: str) -> None:
        say(work.more, ("context", "threshold"), 0.05 if name == "own" else name)
        fields.refresh()
        changed()

    def enforce(is_so: bool) -> None:
        say(work.more, ("context", "enforce"), is_so or None)
        changed()

    fields()
    _text(work, ("context", "why"), "Why this one?", changed)
    _text(work, ("context", "decided_by"), "Who decided?", changed)
    with controls.box("div", "row-line"):
        _text(
            work, ("context", "review_by"), "Until when does it hold?", changed, "a day, such as 2027-05-30", wide=False
        )
    with controls.box("div").style("margin-top: 12px"):
        controls.check("Refuse a release above the threshold", bool(said.get("enforce")), enforce)


def _recipients(work: Work, desk: Desk, changed: Heard) -> None:
    """Ask who gets the release, and what each of them holds."""

    @ui.refreshable
    def fields() -> None:
        for name in part(work.more, "recipients"):
            _recipient(work, name, changed, remove)
        with controls.box("div", "row-line"):
            controls.text("Name of a recipient", "", lambda text: new.update(name=text), live=True, id="new-recipient")
            controls.button("Add", add, id="add-recipient")

    new = {"name": ""}

    def add() -> None:
        name = new["name"].strip()
        if not name or name in part(work.more, "recipients"):
            desk.fail("give a name that no other recipient has")
            return
        say_recipient(work.more, name, {})
        new["name"] = ""
        fields.refresh()
        changed()

    def remove(name: str) -> None:
        say_recipient(work.more, name, None)
        fields.refresh()
        changed()

    fields()


def _recipient(work: Work, name: str, changed: Heard, remove: Callable[[str], Any]) -> None:
    """Ask for the terms of one recipient; what the page does not ask for stays as the policy file said it."""
    terms = dict(part(work.more, "recipients", name))

    def heard(key: str, value: Any) -> None:
        say(terms, (key,), value.strip() if isinstance(value, str) else value)
        say_recipient(work.more, name, terms)
        changed()

    with controls.box("div").style("border-bottom: 1px solid var(--line); padding-bottom: 12px; margin-bottom: 14px"):
        with controls.box("div", "spread"):
            controls.Words("h3", name).style("margin: 0")
            controls.button("Remove", lambda: remove(name), "plain slim", aria_label=f"Remove {name}")
        for key, question in TERMS.items():
            controls.text(question, str(terms.get(key, "")), partial(heard, key))
        controls.number(
            "k for them",
            terms.get("k", ""),
            lambda text: heard("k", read_number(text) if text.strip() else ""),
            hint="as for all, if empty; anonymize --recipient makes their release",
            min="1",
            step="1",
        )
