"""The policy that somebody gave: as it is, or as the path of its file. Every public function takes both."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from indistinct.errors import PolicyError

if TYPE_CHECKING:
    from indistinct.policy.policy import Policy
    from indistinct.policy.tables_policy import TablesPolicy


def one_policy(given: Policy | str | os.PathLike[str]) -> Policy:
    """Return a policy of one table; a path is read, and what describes several tables is refused."""
    from indistinct.policy.policy import Policy

    if isinstance(given, str | os.PathLike):
        from indistinct.policy.files.policy_file import read_policy

        return read_policy(given)
    from indistinct.policy.tables_policy import TablesPolicy

    if isinstance(given, TablesPolicy):
        raise PolicyError("policy: it describes several tables that belong together, and one table is looked at here")
    if not isinstance(given, Policy):
        raise PolicyError(f"policy: give a Policy of one table, or the path of its file, not {type(given).__name__}")
    return given


def any_policy(given: Policy | TablesPolicy | str | os.PathLike[str]) -> Policy | TablesPolicy:
    """Return a policy of one table or of several; a path is read."""
    from indistinct.policy.tables_policy import TablesPolicy

    if isinstance(given, str | os.PathLike):
        from indistinct.policy.files.tables_file import read_any_policy

        return read_any_policy(given)
    return given if isinstance(given, TablesPolicy) else one_policy(given)
