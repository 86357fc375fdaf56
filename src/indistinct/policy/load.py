"""The policy that somebody gave: as it is, or as the path of its file. Every public function takes both."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from indistinct.errors import PolicyError

if TYPE_CHECKING:
    from indistinct.policy.policy import Policy

ONE_TABLE_ONLY = {
    "apply": "a recoding has labels for the columns of one table",
    "explore": "its figures count rows of groups, and of several tables people are counted",
    "mu-argus": "the dialogue shows combinations of the columns of one table",
    "risk of a row": "its cells are compared with those of rows of the same table",
    "utility": "its figures compare the columns of one table",
    "workload": "queries are asked of one table",
    "studio": "its pages ask about the columns of one table",
    "ledger add": "which person stands behind which rows of all tables is known only while a release is made",
}
"""What takes a policy of one table only, with the reason."""


def load_policy(given: Policy | str | os.PathLike[str], to: str | None = None) -> Policy:
    """Return a policy; a path is read. ``to`` names what is done with it, where that takes one table only."""
    from indistinct.policy.policy import Policy

    if isinstance(given, str | os.PathLike):
        from indistinct.policy.files.policy_file import read_policy

        given = read_policy(given)
    if not isinstance(given, Policy):
        raise PolicyError(f"policy: give a Policy, or the path of its file, not {type(given).__name__}")
    if to is not None and given.tables:
        raise PolicyError(
            f"policy: it describes several tables that belong together, and {to} takes one: {ONE_TABLE_ONLY[to]}"
        )
    return given
