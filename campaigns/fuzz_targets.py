"""What a fuzz campaign attacks: each target draws one damaged input and hands it to the package.

A target is a function of the world and dice that notes what it passes in, by the names of files. Errors of the
package's own tree are answers; anything else that comes out of a target is a fault, which ``fuzz.py`` judges.
"""

from __future__ import annotations

import functools
import hashlib
import io
import json
import random
import re
import sqlite3
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest import mock

import typer.main
import typer.testing

import indistinct as ix
from campaigns.fuzz_seeds import HIERARCHIES, MARKS, MORE_KEYS, VALUES, World
from campaigns.mutations import ODD, damage, disturb, toml
from indistinct.hierarchy import from_spec, read_levels
from indistinct.policy.files.policy_file import policy_of, policy_toml
from indistinct.release.manifest import read_manifest
from indistinct.studio.guard import Guard

Given = dict[str, bytes | str]
Target = Callable[[World, random.Random, Given], str]
"""Draws an input, notes it, passes it to the package, and gives every text that came out, for canaries."""


class Misbehaved(Exception):
    """The package gave no exception of a foreign kind, but something else that it must not."""


def policy_files(world: World, dice: random.Random, given: Given) -> str:
    """Read a damaged policy; one that is read must be written and read again as the same."""
    content = dict(world.policy)
    for key in MORE_KEYS:
        if dice.random() < 0.1:
            content[key] = MORE_KEYS[key]
    if dice.random() < 0.5:
        column = dice.choice(["age", "code", "born", "ill"])
        content["columns"] = content["columns"] | {column: {"role": "quasi", "hierarchy": dice.choice(HIERARCHIES)}}
    text = toml(disturb(dice, content)) if dice.random() < 0.7 else toml(content)
    if dice.random() < 0.4:
        text = damage(dice, text.encode()).decode("utf-8", "replace")
    given["policy.toml"] = text
    policy = ix.parse_policy(text, base=world.work)
    written = ix.policy_toml(policy)
    if ix.policy_toml(ix.parse_policy(written, base=world.work)) != written:
        raise Misbehaved("a policy that was written and read again is another one")
    return ""


def tables_policies(world: World, dice: random.Random, given: Given) -> str:
    """Read a damaged policy of several tables."""
    columns: dict[str, Any] = {"id": {"role": "identifier"}, "age": {"role": "quasi", "hierarchy": {"intervals": [5]}}}
    visits: dict[str, Any] = {
        "columns": {"day": {"role": "other", "shift": {"days": 30}}, "of": {"role": "identifier"}},
        "key": "day",
        "references": {"of": "people"},
    }
    content = {
        "version": 1,
        "person": "id",
        "tables": {"people": {"columns": columns, "key": "id"}, "visits": visits | {"person": "of"}},
        "privacy": [{"model": "k-anonymity", "k": 2}],
        "max_suppression": 0.2,
        "algorithm": "lattice",
    }
    made = disturb(dice, content)
    given["policy.toml"] = toml(made)
    if isinstance(made, dict) and isinstance(made.get("tables"), dict):
        policy_toml(policy_of(made, base=world.work))
    return ""


def hierarchy_specs(world: World, dice: random.Random, given: Given) -> str:
    """Make a hierarchy from a damaged description, and ask it about cells."""
    spec = disturb(dice, dice.choice(HIERARCHIES), 2) if dice.random() < 0.9 else dice.choice(HIERARCHIES)
    values = dice.sample(VALUES, dice.randint(1, 6))
    given["hierarchy.json"] = json.dumps([spec, values], default=str)
    made = from_spec(spec, world.work)
    made.compile(values)
    made.spec()
    return ""


def hierarchy_files(world: World, dice: random.Random, given: Given) -> str:
    """Read a damaged hierarchy file; now and then it is the private table, damaged or not."""
    is_table = dice.random() < 0.3
    data = world.tables["table.csv"] if is_table else world.levels
    data = damage(dice, data) if dice.random() < 0.95 else data
    given["levels.csv"] = data
    path = world.work / "levels.csv"
    path.write_bytes(data)
    try:
        read_levels(path, path.name, **({"top": "*"} if dice.random() < 0.5 else {}))
    finally:
        path.unlink()
    return ""


def manifests(world: World, dice: random.Random, given: Given) -> str:
    """Read a damaged manifest; sometimes verify the whole release, which must not pass if a statement was changed."""
    said = disturb(dice, world.manifest)
    text = json.dumps(said, default=str)
    if dice.random() < 0.3:
        text = damage(dice, text.encode()).decode("utf-8", "replace")
    given["manifest.json"] = text
    (world.work / "manifest.json").write_text(text, "utf-8")
    if dice.random() < 0.99:
        read_manifest(world.work)
        return ""
    for name, data in world.release.items():
        if name != "manifest.json":
            (world.work / name).write_bytes(data)
    policy = ix.parse_policy(toml(world.policy))
    return str(ix.verify(world.work, policy if dice.random() < 0.7 else None))


def tables(world: World, dice: random.Random, given: Given) -> str:
    """Open a damaged table of any kind, and check a policy on it."""
    name = dice.choice(sorted(world.tables))
    data = world.tables[name]
    if name == "table.csv" and dice.random() < 0.6:
        head, _, body = data.partition(b"\n")
        data = head + b"\n" + damage(dice, body)
    else:
        data = damage(dice, data)
    given[name] = data
    path = world.work / name
    path.write_bytes(data)
    found = ix.check(path, ix.parse_policy(toml(world.policy)))
    return "" if shows_a_cell_as_name(name, data) else str(found)


def arx_projects(world: World, dice: random.Random, given: Given) -> str:
    """Read a project of ARX of which one file is damaged, or the whole of it."""
    held = io.BytesIO()
    which = dice.choice(sorted(world.project))
    with zipfile.ZipFile(held, "w") as file:
        for name, data in world.project.items():
            file.writestr(name, damage(dice, data) if name == which else data)
    content = held.getvalue() if dice.random() < 0.8 else damage(dice, held.getvalue())
    given["a.deid"] = content
    (world.work / "a.deid").write_bytes(content)
    ix.policy_toml(ix.read_arx(world.work / "a.deid").policy)
    return ""


def released_files(world: World, dice: random.Random, given: Given) -> str:
    """Verify a release whose table is damaged, and whose manifest states the digest of what it is now."""
    name = dice.choice(sorted(world.tables))
    files = dict(world.released(name))
    table = next(one for one in files if one != "manifest.json")
    files[table] = damage(dice, files[table])
    said = json.loads(files["manifest.json"])
    said["files"] = {table: hashlib.sha256(files[table]).hexdigest()}
    files["manifest.json"] = json.dumps(said).encode()
    given |= {f"released-{file}": data for file, data in files.items()}
    for file, data in files.items():
        (world.work / file).write_bytes(data)
    ix.verify(world.work, ix.parse_policy(toml(world.policy)) if dice.random() < 0.5 else None)
    return ""


def command_lines(world: World, dice: random.Random, given: Given) -> str:
    """Run a whole command in this process on inputs of which one is damaged, with odd options."""
    name = dice.choice(sorted(world.tables))
    files: dict[str, bytes] = {name: world.tables[name], "policy.toml": toml(world.policy).encode()}
    which = dice.choice([name, name, "policy.toml", ""])
    if which:
        files[which] = damage(dice, files[which], 2)
    given |= files
    for file, data in files.items():
        (world.work / file).write_bytes(data)
    odd = dice.choice([[], [], ["--threads", "1"], ["--delimiter", ";"], ["--encoding", "utf-16"], ["--memory", "1GB"]])
    table, policy = str(world.work / name), str(world.work / "policy.toml")
    goal = ["-o", str(world.work / "out")]
    words = dice.choice(
        [
            ["check", policy, table],
            ["anonymize", policy, table, *goal],
            ["anonymize", policy, table, *goal, "--algorithm", dice.choice(["regroup", "datafly", "nonsense", ""])],
            ["verify", policy, table],
            ["risk", table, "--policy", policy],
            ["solutions", policy, table],
        ]
    )
    given["command.txt"] = " ".join([*words, *odd])
    shown = run_command([*words, *odd, *(["--json"] if dice.random() < 0.3 else [])])
    manifest = world.work / "out" / "manifest.json"
    if manifest.exists():
        shown += manifest.read_text("utf-8")
    for path in (world.work / "out").glob("table*"):
        shown += _hidden_of(path, world)
    return "" if shows_a_cell_as_name(name, files[name]) else shown


def _hidden_of(path: Path, world: World) -> str:
    """Return the names and notes of people that a released file holds; other cells it may hold."""
    data = path.read_bytes()
    return "".join(row[column] for row in world.rows for column in ("name", "note") if row[column].encode() in data)


def run_command(words: list[str]) -> str:
    """Run a command in this process; give what it printed, or raise if it says that the mistake is its own."""
    with mock.patch.object(typer.testing, "_get_command", return_value=_built_command()):  # else for each call anew
        result = _runner().invoke(_application(), words)
    shown = result.stdout + result.stderr
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    if result.exit_code not in (0, 2, 3, 4, 5, 6) or "please report it" in shown:
        raise Misbehaved(f"exit code {result.exit_code}: {shown[-400:]}")
    return shown


@functools.cache
def _runner() -> Any:
    from typer.testing import CliRunner

    return CliRunner()


def _application() -> Any:
    from indistinct.cli import app

    return app


@functools.cache
def _built_command() -> Any:
    return typer.main.get_command(_application())


def ledgers(world: World, dice: random.Random, given: Given) -> str:
    """Open a ledger whose bytes or rows were changed; read, verify and check it."""
    path = world.work / "ledger.db"
    data = damage(dice, world.ledger, 6) if dice.random() < 0.4 else world.ledger
    path.write_bytes(data)
    if data == world.ledger:
        given["rows.txt"] = _change_rows(path, dice)
    given["ledger.db"] = path.read_bytes()
    try:
        with ix.Ledger(path, folder=world.store) as ledger:
            found = str(ledger.verify())
            found += str([entry.to_dict() for entry in ledger.entries])
            table = world.work / "table.csv"
            table.write_bytes(world.tables["table.csv"])
            policy = ix.parse_policy(toml(world.policy))
            return found + str(ledger.check(table, policy, recipient="public", key=["name"]))
    finally:
        for rest in world.work.glob("ledger.db*"):
            rest.unlink()


def _change_rows(path: Path, dice: random.Random) -> str:
    """Change cells of the ledger's tables as its owner could, and say how."""
    done = []
    with sqlite3.connect(path) as connection:
        for (trigger,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
            connection.execute(f'DROP TRIGGER "{trigger}"')
        for _ in range(dice.randint(1, 2)):
            table = dice.choice(["indistinct_entries", "indistinct_entries", "indistinct_meta"])
            names = [row[1] for row in connection.execute(f"PRAGMA table_info({table})")]
            column, odd = dice.choice(names), dice.choice(ODD)
            value: Any = odd if isinstance(odd, float | str) or (isinstance(odd, int) and abs(odd) < 2**63) else None
            if isinstance(odd, dict | list):
                value = json.dumps(odd, default=str)
            text = connection.execute(f'SELECT "{column}" FROM {table}').fetchone()
            if dice.random() < 0.4 and text is not None and isinstance(text[0], str):
                try:
                    value = json.dumps(disturb(dice, json.loads(text[0])), default=str)
                except ValueError:
                    value = damage(dice, text[0].encode()).decode("utf-8", "replace")
            try:
                connection.execute(f'UPDATE {table} SET "{column}" = ?', (value,))
                done.append(f"{table}.{column} = {value!r}"[:300])
            except (sqlite3.Error, OverflowError, UnicodeEncodeError):
                done.append("nothing, the database refused")
    connection.close()
    return "\n".join(done)


HOSTS = [b"localhost:8765", b"127.0.0.1:8765", b"evil.com", b"127.0.0.1:8765.evil.com", b""]
HEADER_NAMES = [
    b"origin",
    b"cookie",
    b"sec-fetch-site",
    b"content-length",
    b"host",
    b"x-forwarded-host",
    b"Cookie",
    b"",
]
HEADERS = [b"http://127.0.0.1:8765", b"indistinct-studio-8765=", b"same-origin", b"-1", "²".encode(), b"9" * 5000]
QUERIES = [b"", b"token=", b"token=t0ken2", b"token=%ff", b"a=1&token=x&token=t0ken", b"token=\xff", b"&" * 50]
PATHS = ["/", "/columns", "//evil.com", "/\\evil.com", "/\x00", "/\udcff", "/" + "a" * 2000, ""]


def studio_requests(world: World, dice: random.Random, given: Given) -> str:
    """Send a request without the secret through the studio's guard: it must not be served, whatever it says."""
    inside: list[str] = []
    sent: list[dict[str, Any]] = []

    async def application(scope: Any, receive: Any, send: Any) -> None:
        inside.append(scope["type"])

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": dice.randbytes(8), "more_body": False}

    async def send(message: Any) -> None:
        sent.append(message)

    guard = Guard(application, port=8765)
    token = guard.issue_token().encode()
    headers = [(b"host", dice.choice([*HOSTS, damage(dice, HOSTS[0])]))]
    for _ in range(dice.randint(0, 4)):
        value = dice.choice(HEADERS)
        headers.append((dice.choice(HEADER_NAMES), damage(dice, value) if dice.random() < 0.6 else value))
    query = dice.choice(QUERIES).replace(b"t0ken", token)
    scope = {
        "type": dice.choice(["http", "http", "http", "websocket"]),
        "method": dice.choice(["GET", "POST", "HEAD", "get", "\x00", "OPTIONS"]),
        "path": dice.choice(PATHS),
        "query_string": damage(dice, query) if dice.random() < 0.5 else query,
        "headers": headers,
    }
    given["request.txt"] = repr(scope)
    steps = guard(scope, receive, send)
    try:
        while True:
            steps.send(None)
    except StopIteration:
        pass
    if inside:
        raise Misbehaved("a request without the secret was served")
    if not sent:
        raise Misbehaved("a request got no answer")
    for message in sent:
        if message.get("status", 403) not in (200, 403, 413):
            raise Misbehaved(f"status {message['status']}")
        if message.get("status") == 200 and token not in scope["query_string"]:
            raise Misbehaved("the secret was given for no token")
        place = re.search(rb'url=([^"]*)"', message.get("body", b""))
        if place is not None and not re.fullmatch(rb"/(?![/\\]).*", place[1]):
            raise Misbehaved("the page after the token leads elsewhere")
    return ""


def shows_a_cell_as_name(name: str, data: bytes) -> bool:
    """Return whether damage made cells part of the header, which errors may name; a bare row there is no damage."""
    if name == "table.jsonl":
        return re.search(rb'"[^"]*(Xq7|70707|1707-)[^"]*"\s*:', data) is not None
    if name != "table.csv":
        return False
    head = data.lstrip(b"\xef\xbb\xbf\r\n ").partition(b"\n")[0]
    return b'"' in head or b"\r" in head or any(mark.encode() in head for mark in MARKS)


TARGETS: dict[str, tuple[Target, int]] = {
    "studio requests": (studio_requests, 300),
    "policy files": (policy_files, 200),
    "policies of several tables": (tables_policies, 100),
    "hierarchies of policies": (hierarchy_specs, 200),
    "hierarchy files": (hierarchy_files, 90),
    "manifests": (manifests, 90),
    "ARX projects": (arx_projects, 20),
    "tables": (tables, 12),
    "tables of releases": (released_files, 4),
    "commands": (command_lines, 5),
    "ledgers": (ledgers, 3),
}
"""Each target, and how many of a thousand inputs it gets."""
