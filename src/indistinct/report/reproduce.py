"""Reproduce: what made the release, and the commands that make, prove and report it again."""

from __future__ import annotations

import platform
from importlib.metadata import version
from typing import Any

import indistinct
from indistinct.errors import PolicyError
from indistinct.policy import Policy
from indistinct.policy.policy_file import policy_toml
from indistinct.report.subject import Subject

LONGEST_POLICY = 30_000
"""Letters of a policy file that a page has room for."""
LIBRARIES = ("duckdb", "numpy", "numba", "pyarrow")


def reproduce(subject: Subject) -> dict[str, Any]:
    """Give versions, digests and commands; an internal edition also has the policy, whose hierarchies list values."""
    is_public = subject.edition == "public"
    said = subject.said
    return {
        "made_by": said.get("made_by", f"indistinct {indistinct.__version__}"),
        "made_at": said.get("made_at"),
        "algorithm": said["algorithm"],
        "is_proven": said.get("is_proven"),
        "is_cut_short": said.get("is_cut_short", False),
        "policy_sha256": said["policy_sha256"],
        "files": dict(said.get("files", {})),
        "libraries": {} if is_public else {"Python": platform.python_version(), **{n: version(n) for n in LIBRARIES}},
        "commands": _commands(subject),
        "policy": None if is_public else _policy_file(subject.policy),
    }


def _policy_file(policy: Policy) -> str | None:
    """Give the policy as a file says it; None where no file can, or where it is too long to read."""
    try:
        text = policy_toml(policy)
    except PolicyError:  # a population that is a table in memory
        return None
    return text if len(text) <= LONGEST_POLICY else None


def _commands(subject: Subject) -> list[dict[str, str]]:
    if subject.edition == "public":
        return [{"does": "recounts the release", "command": "indistinct verify policy.toml release"}]
    named = "" if subject.said["algorithm"] == subject.policy.algorithm else f" --algorithm {subject.said['algorithm']}"
    return [
        {"does": "makes the release", "command": f"indistinct anonymize policy.toml TABLE -o release{named}"},
        {"does": "proves it", "command": "indistinct verify policy.toml release --original TABLE"},
        {"does": "makes this page", "command": "indistinct report policy.toml release --original TABLE -o report.html"},
    ]
