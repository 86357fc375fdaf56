"""Three questions: can somebody be singled out, linked, or inferred about, each measured beside a control.

Regulators ask the same three. The clauses say to which of them a figure speaks; whether the law is met is not said.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from indistinct.attacks import ORIGINAL
from indistinct.attacks.guessing import difference, wilson

CLAUSES = {
    "singling out": (
        "WP29 opinion 05/2014 (WP216): singling out",
        "Québec, A-2.1, r. 0.1: individualization",
        "ISO/IEC 27559:2022, 7.3 and 8.2",
        "UK ICO 2025: singling out",
    ),
    "linking": (
        "WP29 opinion 05/2014 (WP216): linkability",
        "Québec, A-2.1, r. 0.1: correlation",
        "ISO/IEC 27559:2022, 7.3 and 8.2",
        "UK ICO 2025: linkability",
        "HIPAA, 45 CFR 164.514(b)",
    ),
    "inference": (
        "WP29 opinion 05/2014 (WP216): inference",
        "Québec, A-2.1, r. 0.1: inference",
        "ISO/IEC 27559:2022, 7.3 and 8.2",
        "UK ICO 2025: inferences",
    ),
}
"""What each figure speaks to."""
NOT_HERE = "not measured: it takes the private table, which this edition does not look at"
NOT_GIVEN = "not measured: give the private table"


def three_questions(
    attacks: Sequence[Mapping[str, Any]],
    risk: Sequence[Mapping[str, Any]],
    unicity: Mapping[str, Any],
    rows: int,
    *,
    is_public: bool,
) -> list[dict[str, Any]]:
    """Return a row for each question: what was measured, both rates with intervals, what remains, and the clauses."""
    missing = NOT_HERE if is_public else NOT_GIVEN
    found = [_singling_out(attacks, unicity, missing), _linking(risk, rows), _inference(attacks, missing)]
    return [{**one, "clauses": list(CLAUSES[one["question"]])} for one in found]


def _guess(attacks: Sequence[Mapping[str, Any]], name: str) -> Mapping[str, Any] | None:
    """Return the guess of an attack that is the most above its control."""
    guesses = [guess for one in attacks if one["attack"] == name for guess in one.get("guesses", ())]
    return max(guesses, key=lambda guess: guess["interval"][0], default=None)


def _rates(guess: Mapping[str, Any]) -> dict[str, Any]:
    names = ("rate", "rate_interval", "control", "control_interval", "difference", "interval")
    return {name: guess[name] for name in names}


def _singling_out(attacks: Sequence[Mapping[str, Any]], unicity: Mapping[str, Any], missing: str) -> dict[str, Any]:
    guess = _guess(attacks, "singling_out")
    alone = next((one for one in unicity.get("known", ()) if one["cells"] == 3), None)
    remains = "" if alone is None else f"{alone['mean']:.1%} of released rows stand alone by any 3 of their cells"
    row: dict[str, Any] = {"question": "singling out", "attack": "singling_out", "remains": remains}
    if guess is None:
        return {**row, "measured": missing}
    measured = (
        f"how often {guess['what']} of a released row, drawn at random, fit one person of the private table; the "
        "control takes each cell from another row"
    )
    return {**row, "measured": measured, **_rates(guess)}


def _linking(risk: Sequence[Mapping[str, Any]], rows: int) -> dict[str, Any]:
    """Return how often whoever has everybody's quasi cells links a row right, and by chance."""
    if not risk:
        return {"question": "linking", "attack": "link", "measured": "not measured: no row was released", "remains": ""}
    after = max((one["after"] for one in risk), key=lambda after: after["average"])
    right = round(after["average"] * rows)
    low, high = difference(right, rows, min(1, rows), rows)
    return {
        "question": "linking",
        "attack": "link",
        "measured": (
            "how often somebody who has the quasi cells of everybody gives a row to the right person, drawing among "
            "those who fit; the control draws among all"
        ),
        "rate": after["average"],
        "rate_interval": list(wilson(right, rows)),
        "control": 1 / max(1, rows),
        "control_interval": list(wilson(min(1, rows), rows)),
        "difference": after["average"] - 1 / max(1, rows),
        "interval": [low, high],
        "remains": f"at most {after['highest']:.1%} for anybody, and more for who knows more columns",
    }


def _inference(attacks: Sequence[Mapping[str, Any]], missing: str) -> dict[str, Any]:
    guess = _guess(attacks, "inference")
    row: dict[str, Any] = {"question": "inference", "attack": "inference"}
    if guess is None:
        why = next((one["summary"] for one in attacks if one["attack"] == "inference"), missing)
        return {
            **row,
            "measured": missing if why in (missing, ORIGINAL.missing) else f"not measured: {why}",
            "remains": "",
        }
    baseline = "" if guess["baseline"] is None else f"; the most frequent value is right for {guess['baseline']:.1%}"
    return {
        **row,
        "measured": (
            f"how often a learner that was trained on the release guesses {guess['what']} right; the control was "
            "trained on other people"
        ),
        "remains": f"what holds for people in general can be guessed all the same{baseline}",
        **_rates(guess),
    }
