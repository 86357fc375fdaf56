"""Utility: how alike the columns and pairs of a release and of the private table are."""

from __future__ import annotations

from typing import Any

from indistinct.data_utility import DecodedPair, compare_decoded
from indistinct.errors import PolicyError
from indistinct.progress import Watch
from indistinct.report.subject import Subject

MOST_CELLS = 5_000_000
"""Of larger tables a report leaves it to ``indistinct utility``."""
SHOWN_PAIRS = 8
"""Pairs of columns that are listed, those that moved most."""


def release_utility(subject: Subject, watch: Watch) -> dict[str, Any]:
    """Return the figures of ``indistinct utility``, with the pairs that moved most first; or why there are none."""
    reason = _why_not(subject)
    if reason is not None:
        return {"left_out": reason}
    try:
        pair = DecodedPair.of(subject.released_tables, subject.original, subject.policy)
    except PolicyError as error:
        return {"left_out": str(error)}
    found = compare_decoded(pair, watch=watch)
    pairs = sorted(found.marginals.pairs, key=lambda one: (-one.total_variation, one.columns))
    worst = [list(one.columns) for one in pairs[:SHOWN_PAIRS]]
    return found.to_dict() | {"score": found.marginals.score_in_words, "worst_pairs": worst}


def _why_not(subject: Subject) -> str | None:
    """Say why the release is not compared with its original, if that is so."""
    if subject.edition == "public":
        return "it would describe the private table, so it stands in the internal edition only"
    if not subject.sources:
        return "it is compared with the private table, which was not given"
    if not subject.form.shows_recoding:
        return "it is computed of releases of one table"
    if subject.released.count() * len(subject.released.columns()) > MOST_CELLS:
        return "the table is large; indistinct utility computes it"
    return None
