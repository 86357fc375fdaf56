"""The address of a table in a database: ``postgresql://host/database?table=schema.visits``; what may be shown of it.

A file of SQLite is ``sqlite:///folder/file.db?table=visits``, with four slashes from the root; ``snowflake://`` and
``bigquery://`` are warehouses. Whatever else an address says goes to the driver as it is; PostgreSQL's also looks into
the environment (``PGPASSWORD``), service files and password files. A password is never part of what is shown.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import parse_qsl, quote, unquote, urlencode, urlsplit

from indistinct.errors import TableError

SCHEME = re.compile(r"(postgres(?:ql)?|sqlite|snowflake|bigquery)://", re.IGNORECASE)
FORM = "postgresql://user@host/database?table=schema.name, or sqlite:///file.db?table=name"

SECRETS = ("password", "sslpassword", "passcode", "token", "private_key_file_pwd")
"""What an address may say of a driver that must not be shown."""


@dataclass(frozen=True, slots=True)
class Address:
    """A table of a database."""

    connection: str
    """What libpq connects with, which may hold a password; or the path of a file."""
    table: str
    """The table, as SQL calls it."""
    shown: str
    """The address without its password."""
    has_password: bool
    kind: str = "postgres"
    """The engine that reads it."""

    @property
    def database(self) -> str:
        """The address without its table and its password: where the database is, and who asks."""
        return self.shown.rpartition("table=")[0]

    @property
    def password(self) -> str:
        """The password that stands in the address, if one does."""
        parts = urlsplit(self.connection)
        return unquote(parts.password or "") or dict(parse_qsl(parts.query)).get("password", "")


def is_address(text: str) -> bool:
    """Return whether a text is the address of a table in a database.

    >>> is_address("postgresql://localhost/clinic?table=visits"), is_address("visits.csv")
    (True, False)
    """
    return SCHEME.match(text) is not None


def read_address(text: str) -> Address:
    """Return an address by its parts, or raise if it is none; the error does not quote it.

    >>> found = read_address("postgresql://ann:secret@db:5433/clinic?table=public.visits&connect_timeout=5")
    >>> found.table, found.shown, found.has_password
    ('public.visits', 'postgresql://ann@db:5433/clinic?connect_timeout=5&table=public.visits', True)
    """
    try:
        parts = urlsplit(text)
        given = parse_qsl(parts.query, keep_blank_values=True, strict_parsing=bool(parts.query))
    except ValueError:
        raise TableError(f"the address of the table cannot be read; say {FORM}") from None
    tables = [value for name, value in given if name == "table"]
    if len(tables) != 1 or not tables[0] or "\0" in unquote(text):
        raise TableError(f"the address does not name one table; say {FORM}")
    kind = SCHEME.match(text)
    name = "postgresql" if kind is None or kind[1].lower() == "postgres" else kind[1].lower()
    if name == "sqlite":
        return _file_address(parts.netloc, unquote(parts.path), tables[0], is_alone=len(given) == 1)
    others = [(name, value) for name, value in given if name != "table"]
    open_options = [(name, value) for name, value in others if name not in SECRETS]
    user, at, host = parts.netloc.rpartition("@")
    who, has_password, _ = user.partition(":")
    shown = [*open_options, ("table", tables[0])]
    return Address(
        _url(name, parts.netloc, parts.path, others),
        tables[0],
        _url(name, f"{who}{at}{host}", parts.path, shown),
        bool(has_password) or len(open_options) < len(others),
        "postgres" if name == "postgresql" else name,
    )


def _file_address(host: str, path: str, table: str, *, is_alone: bool) -> Address:
    """Return the address of a table in a file."""
    if host or len(path) < 2 or not is_alone:
        raise TableError(f"the address of the table cannot be read; say {FORM}")
    path = path[1:]
    query = urlencode([("table", table)], quote_via=quote, safe='./"')
    return Address(path, table, f"sqlite:///{quote(path)}?{query}", has_password=False, kind="sqlite")


def _url(scheme: str, place: str, path: str, given: list[tuple[str, str]]) -> str:
    """Return a URL; it has no host where a service file names it."""
    query = urlencode(given, quote_via=quote, safe='./"')
    return f"{scheme}://{place}{path}{'?' if query else ''}{query}"
