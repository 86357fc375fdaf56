"""A real PostgreSQL server for tests: its own data folder, port and user, gone when the tests are over."""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

SUPERUSER = "keeper"
DEBIAN = Path("/usr/lib/postgresql")


def programs() -> Path | None:
    """Return the folder of initdb and pg_ctl, or None if PostgreSQL's server is not installed."""
    if found := shutil.which("initdb"):
        return Path(found).resolve().parent
    versions = [path for path in DEBIAN.glob("*/bin") if (path / "initdb").exists()]
    return max(versions, key=lambda path: int(path.parent.name), default=None)


@dataclass(frozen=True)
class Server:
    """A server in a folder of its own, at a port of its own; it may be started again after it has ended."""

    folder: Path
    port: int
    user: str | None
    """The user of the system whose processes it runs as, if it is not ours."""

    @property
    def url(self) -> str:
        """The URL of the server, without the name of a database."""
        return f"postgresql://{SUPERUSER}@127.0.0.1:{self.port}"

    @property
    def process(self) -> int:
        """The id of its first process."""
        return int((self.folder / "data" / "postmaster.pid").read_text("ascii").split()[0])

    def make(self) -> None:
        """Make its data."""
        self._run("initdb", "-D", self.folder / "data", "-U", SUPERUSER, "-A", "trust", "-E", "UTF8", "--no-sync")

    def start(self) -> None:
        """Start it and wait until it answers."""
        # the machine never goes down while it runs, so it need not wait for the disk
        options = f"-p {self.port} -c listen_addresses=127.0.0.1 -k {self.folder} -c fsync=off -c max_connections=50"
        self._run("pg_ctl", "-D", self.folder / "data", "-l", self.folder / "log", "-o", options, "-w", "start")

    def start_again(self) -> None:
        """Start it if it has ended, when the last of its processes is gone, and wait until it answers."""
        for _ in range(200):
            if _answers(self.url):
                return
            with contextlib.suppress(AssertionError):  # some process of the one before still ends
                self.start()
            time.sleep(0.05)
        raise AssertionError(f"the server does not start again: {(self.folder / 'log').read_text('utf-8')[-1000:]}")

    def stop(self) -> None:
        """Stop it at once."""
        self._run("pg_ctl", "-D", self.folder / "data", "-m", "immediate", "-w", "stop")

    def _run(self, program: str, *arguments: object) -> None:
        bin_folder = programs()
        assert bin_folder is not None
        done = subprocess.run(
            [str(bin_folder / program), *map(str, arguments)],
            user=self.user,
            cwd=self.folder,
            capture_output=True,
            text=True,
            env={**os.environ, "LC_ALL": "C"},
            check=False,
        )
        assert done.returncode == 0, f"{program}: {done.stdout}{done.stderr}"


@contextlib.contextmanager
def server() -> Iterator[Server]:
    """Return a server that runs until the block ends."""
    folder = Path(tempfile.mkdtemp(prefix="pg-"))
    try:
        made = Server(folder, free_port(), _unprivileged(folder))
        made.make()
        made.start()
        try:
            yield made
        finally:
            made.stop()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


TYPES = (
    (pa.types.is_boolean, "boolean"),
    (pa.types.is_integer, "bigint"),
    (pa.types.is_float32, "real"),
    (pa.types.is_floating, "double precision"),
    (pa.types.is_date, "date"),
)


def save(url: str, table: pa.Table, name: str = "people") -> str:
    """Store a table in a schema of its own, and return its address."""
    import psycopg
    from psycopg import sql

    schema = f"of_{secrets.token_hex(8)}"
    place = sql.Identifier(schema, name)
    columns = [sql.SQL("{} {}").format(sql.Identifier(own.name), sql.SQL(_type_of(own.type))) for own in table.schema]
    with psycopg.connect(f"{url}/postgres") as connection:
        connection.execute(sql.SQL("CREATE SCHEMA {}").format(sql.Identifier(schema)))
        connection.execute(sql.SQL("CREATE TABLE {} ({})").format(place, sql.SQL(", ").join(columns)))
        with connection.cursor().copy(sql.SQL("COPY {} FROM STDIN").format(place)) as copy:
            for row in zip(*(column.to_pylist() for column in table.columns), strict=True):
                copy.write_row(row)
    return f"{url}/postgres?table={schema}.{name}"


def run(url: str, *statements: str) -> list[tuple[Any, ...]]:
    """Run statements, and return the rows of the last one that gave some."""
    import psycopg

    rows: list[tuple[Any, ...]] = []
    with psycopg.connect(f"{url}/postgres", autocommit=True) as connection:
        for statement in statements:
            cursor = connection.execute(statement.encode())
            rows = cursor.fetchall() if cursor.description else rows
    return rows


def _type_of(kind: pa.DataType) -> str:
    if pa.types.is_decimal(kind):
        return f"numeric({kind.precision},{kind.scale})"
    if pa.types.is_timestamp(kind):
        return "timestamp" if kind.tz is None else "timestamptz"
    return next((name for is_kind, name in TYPES if is_kind(kind)), "text")


def _answers(url: str) -> bool:
    """Return whether a server answers."""
    import psycopg

    try:
        with psycopg.connect(f"{url}/postgres", connect_timeout=5) as connection:
            return connection.execute("SELECT 1").fetchone() == (1,)
    except psycopg.Error:
        return False


def _unprivileged(folder: Path) -> str | None:
    """Return the folder to a user under whom the server may run: PostgreSQL refuses to be run by root."""
    if os.geteuid() != 0:
        return None
    for name in ("postgres", "nobody"):
        with contextlib.suppress(LookupError):
            shutil.chown(folder, name)
            return name
    raise AssertionError("PostgreSQL does not run as root, and there is neither a user postgres nor nobody")


def free_port() -> int:
    """Return a port of this machine that nobody listens at."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port: int = taken.getsockname()[1]
        return port
