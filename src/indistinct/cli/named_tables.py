"""Tables on the command line: one, or several that belong together, each as NAME=TABLE."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from indistinct.cli.options import FORMATS
from indistinct.errors import PolicyError

if TYPE_CHECKING:
    from indistinct.policy import Policy

Tables = Annotated[
    list[str],
    typer.Argument(
        metavar="TABLE...",
        help=f"The private table: {FORMATS}. Of a policy of several tables each one, as NAME=TABLE.",
        show_default=False,
    ),
]


def tables_given(policy: Policy, given: Sequence[str], what: str = "TABLE") -> str | dict[str, str]:
    """Return the one table that a policy describes, or each of several by its name."""
    if not policy.tables:
        if len(given) != 1:
            raise PolicyError(f"{what}: the policy describes one table, but {len(given)} are given")
        return given[0]
    found: dict[str, str] = {}
    mistakes = []
    for one in given:
        name, is_named, path = one.partition("=")
        if not is_named or not name or not path:
            mistakes.append(
                f"{what}: the policy describes several tables ({', '.join(policy.parts)}); give each as NAME=TABLE"
            )
        elif name in found:
            mistakes.append(f"{what}: {name!r} is given twice")
        found[name] = path
    if mistakes:
        raise PolicyError(list(dict.fromkeys(mistakes)))
    return found
