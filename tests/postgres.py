"""A real PostgreSQL server for tests: its own data folder, port and user, gone when the tests are over."""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

SUPERUSER = "keeper"
DEBIAN = Path("/usr/lib/postgresql")


def programs() -> Path | None:
    """Give the folder of initdb and pg_ctl, or None if PostgreSQL's server is not installed."""
    if found := shutil.which("initdb"):
        return Path(found).resolve().parent
    versions = [path for path in DEBIAN.glob("*/bin") if (path / "initdb").exists()]
    return max(versions, key=lambda path: int(path.parent.name), default=None)


@contextlib.contextmanager
def server() -> Iterator[str]:
    """Give the URL of a server that runs until the block ends, without the name of a database."""
    folder = Path(tempfile.mkdtemp(prefix="pg-"))
    user = _unprivileged(folder)
    data, port = folder / "data", free_port()
    bin_folder = programs()
    assert bin_folder is not None

    def run(program: str, *arguments: object) -> None:
        command = [str(bin_folder / program), *map(str, arguments)]
        done = subprocess.run(
            command,
            user=user,
            cwd=folder,
            capture_output=True,
            text=True,
            env={**os.environ, "LC_ALL": "C"},
            check=False,
        )
        assert done.returncode == 0, f"{program}: {done.stdout}{done.stderr}"

    try:
        run("initdb", "-D", data, "-U", SUPERUSER, "-A", "trust", "-E", "UTF8", "--no-sync")
        # the server itself is never killed here, so it need not wait for the disk
        options = f"-p {port} -c listen_addresses=127.0.0.1 -k {folder} -c fsync=off -c max_connections=50"
        run("pg_ctl", "-D", data, "-l", folder / "log", "-o", options, "-w", "start")
        try:
            yield f"postgresql://{SUPERUSER}@127.0.0.1:{port}"
        finally:
            run("pg_ctl", "-D", data, "-m", "immediate", "-w", "stop")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _unprivileged(folder: Path) -> str | None:
    """Give the folder to a user under whom the server may run: PostgreSQL refuses to be run by root."""
    if os.geteuid() != 0:
        return None
    for name in ("postgres", "nobody"):
        with contextlib.suppress(LookupError):
            shutil.chown(folder, name)
            return name
    raise AssertionError("PostgreSQL does not run as root, and there is neither a user postgres nor nobody")


def free_port() -> int:
    """Give a port of this machine that nobody listens at."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port: int = taken.getsockname()[1]
        return port
