"""The pages of a review: one that says what holds, what fell, whom to notify and what is due; and the register."""

from __future__ import annotations

import csv
import html
import io
from collections.abc import Iterable, Sequence
from pathlib import Path

from indistinct.atomic_files import OWNER_ONLY, write_whole
from indistinct.documents import page_style
from indistinct.errors import OutputError
from indistinct.ledger_review.review_findings import FALLEN, EntryReview, LedgerReview, Notice
from indistinct.showing.numbers import figure

REGISTER = (
    "entry",
    "entered",
    "source",
    "title",
    "purpose",
    "recipient",
    "technique",
    "decided by",
    "review by",
    "state",
)
"""The heads of a register."""


def register_rows(review: LedgerReview) -> list[tuple[str, ...]]:
    """Return the register: a row for each release, with purpose, technique, dates, decisions and how it stands."""
    lost = {
        number: ", ".join(FALLEN[one.kind] for one in review.notices if number in one.entries)
        for number in review.fallen
    }
    return [_register_row(one, lost.get(one.number), one.is_due(review.day)) for one in review.entries]


def _register_row(one: EntryReview, lost: str | None, is_due: bool) -> tuple[str, ...]:
    state = lost or ("holds" if one.is_reviewed else "not looked at")
    state += "; review is due" if is_due else ""
    named = (one.source, one.title, one.purpose, one.recipient, one.technique, one.decided_by)
    return (str(one.number), one.time, *named, one.review or "", state)


def write_register(review: LedgerReview, path: str | Path) -> Path:
    """Write the register of all releases as CSV or HTML, whole or not at all; only its owner may read it."""
    goal = Path(path)
    if goal.suffix.lower() not in (".csv", ".html"):
        raise OutputError(f"{goal.name}: a register is written as .csv or .html")
    rows = register_rows(review)
    if goal.suffix.lower() == ".html":
        text = _page("Register of releases", review, [("Releases", _table(REGISTER, rows))])
    else:
        written = io.StringIO()
        csv.writer(written, lineterminator="\n").writerows([REGISTER, *(map(_no_formula, row) for row in rows)])
        text = written.getvalue()
    write_whole(goal, text, mode=OWNER_ONLY)
    return goal


def _no_formula(cell: str) -> str:
    """Return a cell that no spreadsheet takes for a formula."""
    return f"'{cell}" if cell.startswith(("=", "+", "-", "@", "\t", "\r")) else cell


def review_page(review: LedgerReview) -> str:
    """Return the one page of a review, which loads nothing and runs nothing."""
    reviewed = [one for one in review.entries if one.is_reviewed]
    sections = [
        ("What fell", _table(("entries", "what", "why"), [_notice_row(one) for one in review.notices])),
        (
            "Whom to notify",
            _table(("recipient", "entries"), [(name, ", ".join(map(str, n))) for name, n in review.to_notify.items()]),
        ),
        ("What is due", _table(("entry", "recipient", "review by"), [_due_row(one) for one in review.due])),
        ("What will be due", _table(("entry", "recipient", "review by"), [_due_row(one) for one in review.coming])),
        (
            "What still holds",
            f"<p>{figure(len(review.holding))} of {figure(len(reviewed))} releases that were looked at: "
            f"{html.escape(_runs(review.holding)) or 'none'}.</p>",
        ),
        ("Findings that expose nobody", _list(f"entry {e.number}: {n}" for e in reviewed for n in e.notes)),
        ("What could not be judged", _list(review.notes)),
    ]
    return _page("Review of a ledger", review, sections)


def _notice_row(one: Notice) -> tuple[str, ...]:
    return ", ".join(map(str, one.entries)), FALLEN[one.kind], one.why


def _due_row(one: EntryReview) -> tuple[str, ...]:
    return str(one.number), one.recipient, one.review or ""


def _runs(numbers: Sequence[int]) -> str:
    """Return numbers with those that follow each other as from-to.

    >>> _runs((1, 2, 3, 5))
    '1-3, 5'
    """
    runs: list[list[int]] = []
    for number in numbers:
        if runs and runs[-1][-1] == number - 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return ", ".join(str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs)


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    if not rows:
        return "<p>Nothing.</p>"
    head = "".join(f'<th scope="col">{html.escape(one)}</th>' for one in heads)
    body = "".join(
        f'<tr><th scope="row">{html.escape(row[0])}</th>'
        + "".join(f"<td>{html.escape(cell)}</td>" for cell in row[1:])
        + "</tr>"
        for row in rows
    )
    return f'<div class="wide"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'


def _list(items: Iterable[str]) -> str:
    lines = "".join(f"<li>{html.escape(one)}</li>" for one in items)
    return f"<ul>{lines}</ul>" if lines else "<p>Nothing.</p>"


def _page(title: str, review: LedgerReview, sections: Sequence[tuple[str, str]]) -> str:
    body = "".join(f"<section><h2>{html.escape(head)}</h2>{content}</section>" for head, content in sections)
    said = f"{html.escape(review.ledger)} · {review.made_by} · {review.day.isoformat()}"
    lost = f"{figure(len(review.fallen))} of {figure(len(review.entries))} releases fell"
    lost += f"; {figure(len(review.due))} are due"
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">"
        f"<title>{title}</title><style>{page_style()}</style></head><body><main><h1>{title}</h1>"
        f'<p class="lead">{said}</p><div class="decision"><p>{lost}.</p></div>'
        "<p><strong>Confidential.</strong> It says where releases are weak: keep it as you keep the ledger.</p>"
        f"{body}</main></body></html>\n"
    )
