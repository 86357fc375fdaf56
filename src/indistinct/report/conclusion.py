"""The conclusion: one verdict from the recount and the attacks together, which stands on top of a report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

CONCLUSIONS = {
    "failed": (
        "✗ not verified",
        "Do not hand this release out. Its recount failed: it does not hold what the policy asks for.",
    ),
    "broken": (
        "✗ people exposed",
        "Do not hand this release out. It holds what the policy asks for, but an attack exposes people all the same.",
    ),
    "something": (
        "! verified, with findings",
        "The release holds what the policy asks for, but something follows from it that it does not say. Decide "
        "whether that matters before it leaves.",
    ),
    "nothing": (
        "✓ verified",
        "The release holds what the policy asks for, and no attack that was tried found anything.",
    ),
}
"""What is concluded, worst first: in a few words, and in full, to whoever decides about a release."""
TO_RECIPIENTS = {
    "failed": "Do not use this release, and tell whoever gave it to you: it does not hold what its policy asks for.",
    "broken": (
        "Do not pass this release on, and tell whoever gave it to you: it holds what its policy asks for, but an "
        "attack exposes people all the same."
    ),
    "something": (
        "The release holds what its policy asks for. From it follows something that it does not say: keep it among "
        "those that it was given to, and look for nobody in it."
    ),
    "nothing": "The release holds what its policy asks for, and no attack that was tried on it alone found anything.",
}
"""The same to whoever got the release, who decides nothing about it."""


def conclude(passed: bool, attacks: Sequence[Mapping[str, Any]], *, is_public: bool = False) -> dict[str, Any]:
    """Return the one verdict on a release, and the attacks that it comes from; ``passed`` is what the recount found.

    >>> found = {"title": "Linking", "severity": "broken", "summary": "3 people are found"}
    >>> conclude(True, [found])["outcome"], conclude(False, [found])["outcome"], conclude(True, [])["outcome"]
    ('broken', 'failed', 'nothing')
    """
    severities = {one["severity"] for one in attacks}
    found = next((name for name in ("broken", "something") if name in severities), "nothing")
    outcome = found if passed else "failed"
    words, text = CONCLUSIONS[outcome]
    text = TO_RECIPIENTS[outcome] if is_public else text
    because = [
        {"title": one["title"], "severity": one["severity"], "summary": one["summary"]}
        for one in attacks
        if one["severity"] in ("broken", "something")
    ]
    return {"outcome": outcome, "words": words, "text": text, "attacks": because}
