"""Answers about a check, a risk, a verdict and a report, made of numbers and of words that are known here.

Nothing is passed on that somebody else wrote: no message, no detail, no label. Every text in an answer is one of this
module, the id of a check, or a column that the policy or the question itself names.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import asdict
from typing import Any

from indistinct.disclosure_risk import Risk
from indistinct.errors import IndistinctError, InfeasibleError, OutputError, PolicyError, TableError
from indistinct.pipeline.policy_check import PolicyCheck
from indistinct.policy import Policy
from indistinct.profiling import Profile
from indistinct.proof.verdict import Verdict

MOST = 20
"""Sets of columns that are listed."""
WORDS: dict[type[IndistinctError], str] = {
    PolicyError: "the policy is wrong in itself, or does not fit the table",
    TableError: "the table or the release cannot be read",
    InfeasibleError: "no release of this table can satisfy the policy",
    OutputError: "it cannot be written there",
}
UNKNOWN = "it could not be done"


def column_names(policy: Policy | None) -> tuple[str, ...]:
    """Return the names of columns that a policy itself has."""
    if policy is None:
        return ()
    return tuple(dict.fromkeys(name for part in policy.parts.values() for name in part.policy.columns))


def answer_error(error: BaseException, known: Iterable[str] = (), command: str = "") -> dict[str, Any]:
    """Say of an error what kind it is, how many mistakes there are, and which known columns they are about.

    Its message may quote what stands in a file, so it is not passed on; the holder sees it with the ``command``.
    """
    kind = next((one for one in type(error).__mro__ if one in WORDS), None)
    texts = error.mistakes if isinstance(error, PolicyError) else (str(error),)
    about = [name for name in known if any(f"columns.{name}" in text or repr(name) in text for text in texts)]
    answer: dict[str, Any] = {
        "error": UNKNOWN if kind is None else WORDS[kind],
        "mistakes": len(texts),
        "columns": about,
    }
    return answer | ({"holder_runs": command} if command else {})


def answer_check(found: PolicyCheck, policy: Policy, command: str) -> dict[str, Any]:
    """Say whether a policy can be met, how anonymous the table is as it is, and which columns determine others."""
    names = column_names(policy)
    determining = [[one.column, one.tells] for one in found.dependencies if one.column in names and one.tells in names]
    answer = {"feasible": found.is_feasible, **_numbers(found.figures), "columns_that_tell_others": determining}
    answer["warnings"] = len(found.notes) + len(found.dependencies)
    return answer if found.error is None else answer | answer_error(found.error, names, command)


def answer_risk(found: Risk, known: Collection[str]) -> dict[str, Any]:
    """Say how exposed the people of a table are; columns by name only if they were asked about."""
    sets = [one for one in (*found.unique, *found.nearly_unique) if set(one.columns) <= set(known)]
    return {
        "rows": found.rows,
        "people": found.people,
        "groups": found.groups,
        "smallest_group": min(found.sizes, default=0),
        "alone": found.uniques,
        "threshold": found.threshold,
        "prosecutor": _numbers(asdict(found.prosecutor)),
        "marketer": found.marketer,
        "columns_that_identify": [
            {"columns": list(one.columns), "alone": one.alone, "share": one.share} for one in sets[:MOST]
        ],
        "safe_harbor": [
            {"column": one.column, "letter": one.letter} for one in found.safe_harbor if one.column in known
        ],
        "other_columns_of_safe_harbor": sum(one.column not in known for one in found.safe_harbor),
    }


def answer_verdict(found: Verdict) -> dict[str, Any]:
    """Say whether a release holds what it promises, and which checks failed."""
    return {
        "passed": found.passed,
        "rows": found.rows,
        "groups": found.groups,
        "smallest_group": found.smallest_group,
        "checks": [{"id": check.id, "passed": check.passed} for check in found.checks],
        "not_checked": len(found.not_checked),
    }


def answer_report(facts: Mapping[str, Any], path: str) -> dict[str, Any]:
    """Say where a report is, and what it concludes."""
    concluded = facts["conclusion"]
    return {
        "written": path,
        "outcome": concluded["outcome"],
        "conclusion": concluded["text"],
        "attacks_that_found_something": len(concluded["attacks"]),
    }


def answer_profile(found: Profile, path: str) -> dict[str, Any]:
    """Say how many columns of each role were guessed; their names stand in the policy that was written."""
    roles = [column.role for column in found.columns]
    return {
        "written": path,
        "rows": found.rows,
        "columns": len(roles),
        "roles": {role: roles.count(role) for role in sorted(set(roles))},
        "next": "the holder reads the policy, mends what is wrong, and starts the server anew: then it can be used",
    }


def _numbers(found: Mapping[str, Any]) -> dict[str, int | float]:
    return {name: number for name, number in found.items() if isinstance(number, int | float)}
