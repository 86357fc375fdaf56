"""Tables and files that a command is given: one table, or each of several as NAME=TABLE; and what it may write."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from indistinct.atomic_files import refuse_unwritable
from indistinct.cli.options import FORMATS, SERVER_TABLES, BesideOptions, argument
from indistinct.errors import OutputError, PolicyError, TableError

if TYPE_CHECKING:
    from indistinct.policy import Policy

Tables = Annotated[
    list[str],
    argument(
        "TABLE...",
        f"The private table: {FORMATS}, or {SERVER_TABLES}. Of a policy of several tables each, as NAME=TABLE.",
    ),
]


def on_terms_of(policy: Policy, recipient: str | None) -> Policy:
    """Return a policy on the terms of a recipient whom it names; one that names none leaves the name to the ledger."""
    from indistinct.policy.files.recipient_profile import for_recipient

    return policy if recipient is None or not policy.recipients else for_recipient(policy, recipient)


def policy_of_recipient(path: Path, recipient: str | None) -> Policy:
    """Return the policy of a file, on the terms of a recipient whom it must name, if one is given."""
    from indistinct.policy.files.policy_file import read_policy
    from indistinct.policy.files.recipient_profile import for_recipient

    policy = read_policy(path)
    return policy if recipient is None else for_recipient(policy, recipient)


def only_table(given: Sequence[str], what: str = "TABLE") -> str:
    """Return the one table that was given, where no policy describes several."""
    if len(given) != 1:
        raise PolicyError(
            f"{what}: one table is asked for, but {len(given)} are given; only a policy can describe several"
        )
    return given[0]


def tables_given(policy: Policy, given: Sequence[str], what: str = "TABLE") -> str | dict[str, str]:
    """Return the one table that a policy describes, or each of several by its name."""
    if not policy.tables:
        return only_table(given, what)
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


def arguments_beside(given: BesideOptions, policy: Policy) -> dict[str, Any]:
    """Return what stands beside a release, as a report takes it; the tables are those that the policy describes."""
    is_number = given.population is not None and given.population.isdecimal()
    return {
        "original": tables_given(policy, given.original, "--original") if given.original else None,
        "external": given.external,
        "earlier": given.earlier or (),
        "population": int(given.population or 0) if is_number else given.population,
        "ledger": given.ledger,
    }


def named_tables(given: Sequence[str]) -> dict[str, str]:
    """Return the tables that belong together, by name; none if one table is given."""
    from indistinct.engine import is_address

    named = [one.partition("=") for one in given]
    if len(given) == 1 and (not named[0][1] or is_address(given[0]) or Path(given[0]).exists()):
        return {}
    if not all(name and path for name, _, path in named):
        raise PolicyError("TABLE: several tables belong together; give each as NAME=TABLE")
    if len({name for name, _, _ in named}) < len(named):
        raise PolicyError("TABLE: two tables have one name; give each another")
    return {name: path for name, _, path in named}


def refuse_passwords(given: Iterable[object]) -> None:
    """Raise if an argument is the address of a table with a password: who lists the processes of a machine sees it."""
    for one in given:
        if isinstance(one, list | tuple):
            refuse_passwords(one)
        if not isinstance(one, str) or "://" not in one or "table=" not in one:
            continue
        from indistinct.engine import is_address, read_address

        text = one if is_address(one) else one.partition("=")[2]  # of several tables NAME=TABLE
        if is_address(text) and read_address(text).has_password:
            raise TableError(
                "the address of a table holds a password, which everybody sees who lists the processes of this "
                "machine; take it out, and give it in PGPASSWORD, in a password file (~/.pgpass) or in a service file, "
                "or to Snowflake by a connection_name"
            )


def refuse_place(path: Path, what: str, kinds: Sequence[str], *, replace: bool) -> None:
    """Raise if nothing can be written at this place; asked before the work begins."""
    if path.suffix not in kinds:
        listed = f"{', '.join(kinds[:-1])} or {kinds[-1]}" if len(kinds) > 1 else kinds[0]
        raise OutputError(f"{path.name}: {what} is written as {listed}")
    if path.is_dir():
        raise OutputError(f"{path} is a folder; name a file")
    if path.exists() and not replace:
        raise OutputError(f"{path} exists already; name another file, or say --replace")
    refuse_unwritable(path)
