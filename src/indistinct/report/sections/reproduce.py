"""Reproduce: what made the release, and the commands that make, prove and report it again."""

from __future__ import annotations

import platform
import shlex
from collections.abc import Mapping
from importlib.metadata import version
from typing import Any

import indistinct
from indistinct.errors import PolicyError
from indistinct.policy import Policy
from indistinct.policy.algorithms import declare, declared_class, options_of, options_said, usual_value
from indistinct.policy.files.policy_file import policy_toml, toml
from indistinct.report.subject import Subject

LONGEST_POLICY = 30_000
"""Letters of a policy file that a page has room for."""
LIBRARIES = ("duckdb", "numpy", "numba", "pyarrow")


def reproduce(subject: Subject, ledger: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Return versions, digests and commands; an internal edition also has the policy, whose hierarchies list values."""
    is_public = subject.edition == "public"
    said, manifest = subject.said, subject.manifest
    return {
        "made_by": f"indistinct {indistinct.__version__}" if manifest is None else manifest.made_by,
        "made_at": None if manifest is None else manifest.made_at,
        "algorithm": said.algorithm,
        "options": dict(said.options),
        "search": said.search.to_dict(),
        "limits": {} if said.limits is None else said.limits.to_dict(),
        "is_proven": said.is_proven,
        "bound": dict(said.bound or {}),
        "gap": said.gap,
        "is_cut_short": bool(said.is_cut_short),
        "policy_sha256": said.policy_sha256,
        "files": {} if manifest is None else dict(manifest.files),
        "libraries": {} if is_public else {"Python": platform.python_version(), **{n: version(n) for n in LIBRARIES}},
        "commands": _commands(subject, ledger),
        "policy": None if is_public else _policy_file(subject.policy),
    }


def _policy_file(policy: Policy) -> str | None:
    """Return the policy as a file says it; None where no file can, or where it is too long to read."""
    try:
        text = policy_toml(policy)
    except PolicyError:  # a population that is a table in memory
        return None
    return text if len(text) <= LONGEST_POLICY else None


def _commands(subject: Subject, ledger: Mapping[str, Any] | None) -> list[dict[str, str]]:
    if subject.edition == "public":
        return [
            {"does": "recounts the release by its manifest", "command": "indistinct verify release"},
            {"does": "also compares it with the policy", "command": "indistinct verify policy.toml release"},
        ]
    options, lines = _said_of_algorithm(subject)
    options += _said_of_run(subject) + _said_of_ledger(ledger)
    tables = subject.form.arguments(subject.policy.parts)
    originals = " ".join(f"--original {table}" for table in tables)
    command = shlex.join(["indistinct", "anonymize", "policy.toml", *tables, "-o", "release", *options])
    return [
        {"does": f"makes the release{f', with {lines} in the policy' if lines else ''}", "command": command},
        {"does": "proves it", "command": f"indistinct verify policy.toml release {originals}"},
        {"does": "makes this page", "command": f"indistinct report policy.toml release {originals} -o report.html"},
    ]


def _said_of_algorithm(subject: Subject) -> tuple[list[str], str]:
    """Return the options of the command that name the algorithm as it ran, or the lines of a policy where none can."""
    name, policy = subject.said.algorithm, subject.policy
    own = options_said(declare(policy.algorithm, **policy.options)) if name == policy.algorithm else {}
    ran = dict(subject.said.options)
    named = [] if name == policy.algorithm else ["--algorithm", name]
    said = dict.fromkeys(("measure", "random_raise"))
    if {**ran, **said} != {**own, **said}:
        return [], f"algorithm = {toml(name)} and options = {toml(ran)}"
    declared = declared_class(name)
    usual = {option: usual_value(declared, option) for option in said if option in options_of(declared)}
    for option in said:
        if ran.get(option) != own.get(option):
            named += [f"--{option.replace('_', '-')}", str(ran.get(option, usual.get(option, 0)))]
    return named, ""


def _said_of_run(subject: Subject) -> list[str]:
    """Return the options of the command that set limits to the run, or lifted one."""
    limits = {} if subject.said.limits is None else subject.said.limits.to_dict()
    said = [text for name, limit in limits.items() for text in (f"--{name.replace('_', '-')}", str(limit))]
    said += ["--engine", "spark"] if next(iter(subject.tables.values())).kind == "spark" else []
    is_unsafe = subject.manifest is not None and bool(subject.manifest.unsafe)
    return said + (["--allow-unsafe"] if is_unsafe else [])


def _said_of_ledger(ledger: Mapping[str, Any] | None) -> list[str]:
    """Return the options of the command that entered the release, if it stands in the ledger."""
    entry = (ledger or {}).get("entry")
    if not entry:
        return []
    given = {"recipient": entry["recipient"], "purpose": entry["purpose"], "source": entry["source"]}
    given |= {"again": entry["again"]}
    return ["--ledger", "LEDGER", *(text for name, value in given.items() if value for text in (f"--{name}", value))]
