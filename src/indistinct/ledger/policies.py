"""The policy of a release as the ledger keeps it: one text that needs no other file."""

from __future__ import annotations

import json
from dataclasses import replace

from indistinct.errors import PolicyError
from indistinct.hierarchy.listed import Levels
from indistinct.policy import Column, Policy
from indistinct.policy.policy_file import policy_toml
from indistinct.policy.statement import policy_described


def policy_text(policy: Policy) -> str:
    """Give a policy as the text of a policy file, with the rows of every hierarchy that was read from a file.

    A policy that no file can hold, because one of its models, measures or options was made elsewhere, is described in
    JSON as a manifest does.
    """
    columns = {name: _without_file(column) for name, column in policy.columns.items()}
    try:
        return policy_toml(replace(policy, columns=columns))
    except PolicyError:
        return json.dumps(policy_described(policy), sort_keys=True, default=str)


def _without_file(column: Column) -> Column:
    if isinstance(column.hierarchy, Levels) and column.hierarchy.source is not None:
        return replace(column, hierarchy=replace(column.hierarchy, source=None, delimiter=None))
    return column
