"""Nothing of the studio is served without its token, to a foreign page, or under a foreign name."""

from __future__ import annotations

import asyncio
import html
import http.client
import importlib.util
import json
import os
import re
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest

from helpers.browser import studio
from helpers.optional_modules import leave_out
from helpers.profiles import cases
from indistinct.errors import MissingExtraError, OutputError
from indistinct.studio import guard as guarding
from indistinct.studio.guard import Guard, is_peer_ours
from indistinct.studio.server import SECONDS_FOR_BROWSER

PORT = 8765
OURS = f"127.0.0.1:{PORT}"


async def inner(scope, receive, send):
    """An application that says it was reached, and how long the body was."""
    if scope["type"] == "websocket":
        await receive()
        await send({"type": "websocket.accept"})
        return
    length, message = 0, await receive()
    while message["type"] == "http.request":
        length += len(message.get("body", b""))
        if not message.get("more_body"):
            break
        message = await receive()
    body = b"hung up" if message["type"] == "http.disconnect" else f"reached {length}".encode()
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"text/plain")]})
    await send({"type": "http.response.body", "body": body})


def ask(guard, path="/", *, method="GET", query="", headers=None, body=(b"",), kind="http"):
    """Send one request through a guard; give the status or close code, the headers and the body."""
    given = {"host": OURS, **(headers or {})}
    scope = {
        "type": kind,
        "method": method,
        "path": path,
        "query_string": query.encode(),
        "client": ("127.0.0.1", 40000),
        "headers": [(name.encode(), value.encode()) for name, value in given.items() if value is not None],
    }
    pieces, sent = list(body), []

    async def receive():
        if kind == "websocket":
            return {"type": "websocket.connect"}
        piece = pieces.pop(0)
        return {"type": "http.request", "body": piece, "more_body": bool(pieces)}

    async def send(message):
        sent.append(message)

    asyncio.run(guard(scope, receive, send))
    if kind == "websocket":
        return sent[0]["type"], {}, b""
    found = {name.decode().lower(): value.decode() for name, value in sent[0]["headers"]}
    return sent[0]["status"], found, b"".join(message.get("body", b"") for message in sent[1:])


@pytest.fixture(autouse=True)
def _ours(monkeypatch):
    """Requests that are made up here have no connection whose user could be looked up."""
    monkeypatch.setattr(guarding, "is_peer_ours", lambda *asked: True)


@pytest.fixture
def guard():
    return Guard(inner, port=PORT, largest_body=1000)


@pytest.fixture
def cookie(guard):
    """Return the secret that the token is exchanged for."""
    token = guard.issue_token()
    status, headers, body = ask(guard, query=f"token={token}")
    assert (status, place_of(body)) == (200, "/")
    pair, *attributes = headers["set-cookie"].split("; ")
    assert {"HttpOnly", "SameSite=Strict", "Path=/"} <= set(attributes)
    assert token not in pair
    return pair


def place_of(body):
    """Return where a page leads on to."""
    return html.unescape(re.search(rb'content="0;url=([^"]*)"', body)[1].decode())


@pytest.mark.parametrize(
    "path", ["/", "/columns", "/take/release.zip", "/_nicegui/3.18.0/static/vue.js", "/favicon.ico"]
)
@pytest.mark.parametrize("query", ["", "token=", "token=wrong", f"token={32 * 'A'}"])
def test_without_the_token_nothing_is_served(guard, path, query):
    guard.issue_token()
    status, _, body = ask(guard, path, query=query)
    assert status == 403
    assert b"reached" not in body


def test_a_token_opens_the_studio_once(guard, cookie):
    assert ask(guard, headers={"cookie": cookie})[2] == b"reached 0"
    token = guard.issue_token()
    assert ask(guard, query=f"token={token[:-1]}")[0] == 403
    assert ask(guard, query=f"token={token}")[0] == 200
    assert ask(guard, query=f"token={token}")[0] == 403
    # whoever has the secret already may follow the old address again
    assert ask(guard, query=f"token={token}", headers={"cookie": cookie})[0] == 200


def test_a_token_is_good_for_its_seconds_only(guard, monkeypatch):
    clock = [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: clock[0])
    first, second = guard.issue_token(10.0), guard.issue_token(10.0)
    clock[0] = 110.0
    assert ask(guard, query=f"token={first}")[0] == 200
    clock[0] = 110.1
    assert ask(guard, query=f"token={second}")[0] == 403
    clock[0] = 100.0
    assert ask(guard, query=f"token={second}")[0] == 403  # it was used up by the late try


def test_a_token_is_taken_by_a_plain_visit_only(guard):
    token = guard.issue_token()
    assert ask(guard, query=f"token={token}", method="POST")[0] == 403
    assert ask(guard, query=f"token={token}", headers={"origin": "http://evil.example"})[0] == 403
    # the private file that the browser was opened with is another site to it
    assert ask(guard, query=f"token={token}", headers={"sec-fetch-site": "cross-site"})[0] == 200


@pytest.mark.parametrize("kind", ["http", "websocket"])
def test_another_user_of_the_machine_is_refused_even_with_the_secret(guard, cookie, monkeypatch, kind):
    monkeypatch.setattr(guarding, "is_peer_ours", lambda *asked: asked != ("127.0.0.1", 40000, PORT))
    headers = {"cookie": cookie, "origin": f"http://{OURS}"}
    assert ask(guard, kind=kind, headers=headers)[0] in (403, "websocket.close")
    assert ask(guard, query=f"token={guard.issue_token()}")[0] == 403


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux says whose a connection is")
def test_the_system_says_whose_a_connection_is():
    with socket.create_server(("127.0.0.1", 0)) as server, socket.create_connection(server.getsockname()) as line:
        (address, port), own = line.getsockname(), server.getsockname()[1]
        assert is_peer_ours(address, port, own)
        assert not is_peer_ours("127.0.0.1", 1, own)  # nobody holds such an end
        line.close()
        assert not is_peer_ours(address, port, own)  # what is closed belongs to root, as the kernel says it


def test_the_tables_of_connections_are_read_as_the_kernel_writes_them(tmp_path, monkeypatch):
    table = tmp_path / "tcp6"
    host = "".join(f"{word:08X}" for word in struct.unpack("=4I", bytes(10) + b"\xff\xff" + bytes([127, 0, 0, 1])))
    lines = [
        f"{place}: {host}:{port:X} {host}:{PORT:X} 01 0:0 00:0 0 {user} 0 {inode} 1 0 20 4 30 10 -1"
        for place, (port, user, inode) in enumerate([(1, 1234, 77), (2, 1235, 77), (3, 1234, 0)])
    ]
    table.write_text("\n".join(["  sl  local_address … inode".replace("…", "remote_address"), *lines]) + "\n")
    monkeypatch.setattr(guarding, "TABLES", (tmp_path / "absent", table))
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setattr(os, "getuid", lambda: 1234)
    assert [is_peer_ours("127.0.0.1", port, PORT) for port in (1, 2, 3, 4)] == [True, False, False, False]
    assert is_peer_ours("192.0.2.7", 4, PORT)  # it is on another machine, as of a container
    monkeypatch.setattr(guarding, "TABLES", (tmp_path / "absent",))
    assert is_peer_ours("127.0.0.1", 4, PORT)  # a system that hides it
    monkeypatch.setattr(sys, "platform", "darwin")
    assert is_peer_ours("127.0.0.1", 2, PORT)


@pytest.mark.parametrize("secret", ["", "x", "{name}=", "{name}=wrong", "other=1; {name}=wrong"])
def test_a_wrong_secret_opens_nothing(guard, secret):
    assert ask(guard, headers={"cookie": secret.format(name=guard.cookie)})[0] == 403


def test_other_cookies_of_the_machine_do_no_harm(guard, cookie):
    assert ask(guard, headers={"cookie": f'odd="a b; {{json: 1}}; {cookie}; more=1'})[0] == 200


@pytest.mark.parametrize(
    "host", ["evil.example", f"evil.example:{PORT}", "127.0.0.1", "127.0.0.1:1", "", None, "[::1]:8765"]
)
def test_a_foreign_name_is_refused_even_with_the_secret(guard, cookie, host):
    assert ask(guard, headers={"cookie": cookie, "host": host})[0] == 403


def test_what_is_neither_page_nor_socket_reaches_the_application_only_when_it_starts(guard):
    """A server announces its start and its end, which asks for nothing; of other kinds nothing is known."""
    reached, sent = [], []

    async def note(scope, receive, send):
        reached.append(scope["type"])

    async def receive():
        return {"type": "lifespan.startup"}

    async def send(message):
        sent.append(message)

    watched = Guard(note, port=PORT)
    for kind in ("lifespan", "telepathy"):
        scope = {"type": kind, "method": "GET", "path": "/", "query_string": b"", "headers": [(b"host", OURS.encode())]}
        asyncio.run(watched(scope, receive, send))
    assert reached == ["lifespan"]
    assert sent == []


def test_only_the_start_of_an_answer_has_headers(guard, cookie):
    sent = []

    async def receive():
        return {"type": "http.request", "body": b""}

    async def send(message):
        sent.append(message)

    headers = [(b"host", OURS.encode()), (b"cookie", cookie.encode())]
    scope = {"type": "http", "method": "GET", "path": "/", "query_string": b"", "headers": headers}
    asyncio.run(guard(scope, receive, send))
    assert [sorted(message) for message in sent] == [["headers", "status", "type"], ["body", "type"]]


def test_both_names_of_the_machine_are_served(guard, cookie):
    for host in (f"127.0.0.1:{PORT}", f"localhost:{PORT}"):
        assert ask(guard, headers={"cookie": cookie, "host": host, "origin": f"http://{host}"})[0] == 200


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "http://evil.example"},
        {"origin": "null"},
        {"origin": f"https://127.0.0.1:{PORT}"},
        {"origin": "http://127.0.0.1:1"},
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},  # another port of this machine
    ],
)
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_a_foreign_page_is_refused_even_with_the_secret(guard, cookie, headers, method):
    assert ask(guard, method=method, headers={"cookie": cookie, **headers})[0] == 403


@pytest.mark.parametrize(
    ("headers", "is_served"),
    [
        ({"origin": f"http://{OURS}"}, True),
        ({"origin": f"http://{OURS}", "cookie": ""}, False),
        ({"origin": "http://evil.example"}, False),
        ({}, False),  # browsers always say where a socket is opened from
        ({"origin": f"http://{OURS}", "host": "evil.example:8765"}, False),
    ],
)
def test_sockets_are_guarded_as_pages_are(guard, cookie, headers, is_served):
    kind, _, _ = ask(guard, kind="websocket", headers={"cookie": cookie, **headers})
    assert kind == ("websocket.accept" if is_served else "websocket.close")


def test_a_body_that_is_too_large_is_refused(guard, cookie):
    own = {"cookie": cookie}
    assert ask(guard, method="POST", headers={**own, "content-length": "1001"})[0] == 413
    assert ask(guard, method="POST", headers={**own, "content-length": "1000"})[0] == 200
    assert ask(guard, method="POST", headers={**own, "content-length": "many"})[0] == 200
    assert ask(guard, method="POST", headers=own, body=[b"x" * 1000])[2] == b"reached 1000"
    assert ask(guard, method="POST", headers=own, body=[b"x" * 600, b"x" * 600])[2] == b"hung up"


def test_a_refusal_says_why_and_what_to_do():
    status, headers, body = ask(Guard(inner, port=PORT))
    assert (status, headers["content-length"]) == (403, str(len(body)))
    assert b"lacks the token of the session" in body
    assert b"Open the address that" in body


def test_what_proxies_say_does_not_reach_the_application():
    seen = []

    async def noting(scope, receive, send):
        seen.extend(scope["headers"])
        await inner(scope, receive, send)

    guard = Guard(noting, port=PORT)
    cookie = ask(guard, query=f"token={guard.issue_token()}")[1]["set-cookie"].partition(";")[0]
    given = {"cookie": cookie, "x-forwarded-host": "evil.example", "x-forwarded-for": "10.0.0.1", "accept": "*/*"}
    assert ask(guard, headers=given)[0] == 200
    assert {name for name, _ in seen} == {b"host", b"cookie", b"accept"}


def test_a_socket_is_closed_after_it_was_asked_for(guard):
    """A server may not close what it has not been told of."""
    order = []

    async def receive():
        order.append("connect")
        return {"type": "websocket.connect"}

    async def send(message):
        order.append((message["type"], message["code"]))

    asyncio.run(guard({"type": "websocket", "headers": [(b"host", OURS.encode())]}, receive, send))
    assert order == ["connect", ("websocket.close", 1008)]


def test_pages_may_load_from_this_machine_only(guard, cookie):
    _, headers, _ = ask(guard, headers={"cookie": cookie})
    rules = dict(rule.strip().split(" ", 1) for rule in headers["content-security-policy"].split(";"))
    assert rules["default-src"] == "'self'"
    assert rules["frame-ancestors"] == "'none'"
    assert not [rule for rule in rules.values() if "*" in rule or "https:" in rule]
    assert rules["connect-src"] == f"'self' ws://127.0.0.1:{PORT} ws://localhost:{PORT}"
    assert headers["x-content-type-options"] == "nosniff"


def test_what_follows_the_token_stays_on_this_machine(guard):
    _, headers, body = ask(guard, "//evil.example/", query=f"token={guard.issue_token()}")
    assert place_of(body) == "/"
    own = {"cookie": headers["set-cookie"].partition(";")[0]}  # who has the secret is led on as often as they ask
    for path in (
        "/\\evil.com",
        "\\\\evil.com",
        "/\t/evil.com",
        "/\n/evil.com",
        "evil.com",
        "http://evil.com",
        "/\x7f/e",
    ):
        assert place_of(ask(guard, path, query="token=used", headers=own)[2]) == "/"
    assert place_of(ask(guard, "/hiérarchies", query="token=used", headers=own)[2]) == "/hi%C3%A9rarchies"


def test_the_token_of_the_browser_is_good_for_ten_seconds():
    assert SECONDS_FOR_BROWSER == 10


AS_ANOTHER = r"""
import encodings.idna, os, socket, sys
port, folder = int(sys.argv[1]), sys.argv[2]
os.setgroups([]); os.setgid(65534); os.setuid(65534)

places = [f"/proc/{one}/{name}" for one in os.listdir("/proc") if one.isdecimal() for name in ("cmdline", "environ")]
for place, _, names in os.walk(folder):
    places += [os.path.join(place, name) for name in names]
seen = b""
for place in places:
    try:
        with open(place, "rb") as file:
            seen += file.read()
    except OSError:
        continue

token = sys.stdin.readline().strip()  # as if it had been seen all the same
print(token.encode() in seen, seen.count(b"indistinct") > 0)

def ask():
    line = socket.create_connection(("127.0.0.1", port), 60)
    line.sendall(f"GET /?token={token} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n".encode())
    return line

ask().close()  # whose the end is that was closed, the kernel does not say any more
print(ask().recv(12)[-3:].decode())
"""


@pytest.mark.slow
@pytest.mark.skipif(
    sys.platform != "linux" or os.getuid() != 0, reason="only root can try it as another user, on Linux"
)
def test_another_user_neither_reads_the_token_nor_uses_it():
    """Command lines and files are searched as another user; the token, had it leaked, would not be used up by her."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)  # so that only what the studio makes in it is private
        seen, program = Path(folder, "seen"), Path(folder, "browser")
        program.write_text(f'#!/bin/sh\nprintf "%s" "$1" > {seen}.part; mv {seen}.part {seen}; sleep 20\n')
        program.chmod(0o755)
        command = [sys.executable, "-m", "indistinct", "studio", "--json"]
        environment = os.environ | {"BROWSER": str(program), "TMPDIR": folder}
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as server:
            try:
                end = time.monotonic() + 60
                while not seen.exists() and time.monotonic() < end:
                    time.sleep(0.05)
                given = urlsplit(seen.read_text())
                assert (given.scheme, given.query) == ("file", "")
                file = Path(given.path)
                assert (file.stat().st_mode & 0o777, file.parent.stat().st_mode & 0o777) == (0o600, 0o700)
                place = urlsplit(place_of(file.read_bytes()))
                (token,) = parse_qs(place.query)["token"]
                thief = subprocess.run(
                    [sys.executable, "-I", "-c", AS_ANOTHER, str(place.port), folder],
                    input=token, capture_output=True, text=True, check=False,
                )  # fmt: skip
                assert thief.returncode == 0, thief.stderr
                assert thief.stdout.split() == ["False", "True", "403"]
                assert fetch(place, f"/?{place.query}", {"Sec-Fetch-Site": "cross-site"})[0] == 200
                assert fetch(place, f"/?{place.query}")[0] == 403
            finally:
                server.terminate()


ENDINGS = [signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT]


@pytest.fixture(scope="module")
def address():
    """Return the address of a studio that runs."""
    if importlib.util.find_spec("nicegui") is None:
        reason = 'NOT CHECKED: the studio\'s server. Install it: pip install "indistinct[studio]"'
        leave_out(reason)
    with studio() as found:
        yield urlsplit(found)


def fetch(address, path, headers=None, method="GET", body=None):
    connection = http.client.HTTPConnection("127.0.0.1", address.port, timeout=60)
    connection.request(method, path, body, headers or {})
    answer = connection.getresponse()
    found = answer.status, dict(answer.getheaders()), answer.read()
    connection.close()
    return found


def test_the_server_itself_serves_nothing_without_the_token(address):
    version = importlib.util.find_spec("nicegui") and __import__("nicegui").__version__
    for path in ("/", "/columns", "/take/policy.toml", "/_nicegui_ws/socket.io/?EIO=4&transport=polling"):
        assert fetch(address, path)[0] == 403
    assert fetch(address, f"/_nicegui/{version}/static/nicegui.js")[0] == 403
    assert fetch(address, "/upload?name=a.csv", method="POST")[0] == 403
    assert fetch(address, "/", {"Host": "evil.example"})[0] == 403


@pytest.mark.slow
def test_the_server_refuses_a_socket_without_the_secret(address):
    hello = (
        "GET /_nicegui_ws/socket.io/?EIO=4&transport=websocket HTTP/1.1\r\n"
        f"Host: 127.0.0.1:{address.port}\r\nOrigin: http://127.0.0.1:{address.port}\r\nUpgrade: websocket\r\n"
        "Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
    )
    with socket.create_connection(("127.0.0.1", address.port), 60) as line:
        line.sendall(hello.encode())
        assert line.recv(64).startswith(b"HTTP/1.1 403")


def test_the_server_listens_on_this_machine_only(address):
    with pytest.raises(OSError, match=r"refused|unreachable"):
        socket.create_connection(("127.0.0.2", address.port), 10)  # also this machine, by another address


def test_the_server_gives_its_pages_to_who_brings_the_token(address):
    status, headers, _ = fetch(address, f"/?{address.query}")
    assert status == 200
    own = {"Cookie": headers["set-cookie"].partition(";")[0]}
    status, headers, body = fetch(address, "/", own)
    assert status == 200
    assert b"indistinct studio" in body
    assert "content-security-policy" in headers
    assert fetch(address, "/", {**own, "Origin": "http://evil.example"})[0] == 403
    assert fetch(address, "/take/release.zip", own)[0] == 409


@pytest.mark.slow
@pytest.mark.parametrize("ending", cases(ENDINGS, signal.SIGHUP))
def test_uploads_lie_in_a_private_folder_that_is_removed(tmp_path, ending, address):
    with studio(temporary=tmp_path, ending=ending) as found:
        place = urlsplit(found)
        own = {"Cookie": fetch(place, f"/?{place.query}")[1]["set-cookie"].partition(";")[0]}
        status, _, answer = fetch(place, "/upload?name=../a.csv", own, "POST", b"zip\n02138\n")
        assert status == 200
        saved = Path(json.loads(answer)["path"])
        assert saved.read_bytes() == b"zip\n02138\n"
        (private,) = tmp_path.iterdir()
        assert saved.is_relative_to(private)
        assert private.stat().st_mode & 0o077 == 0
        for name in ("a%00b.csv", 1000 * "x" + ".csv", "%2e%2e", 400 * "%F0%9F%98%80", "%ED%A0%80", "x." + 300 * "y"):
            status, _, answer = fetch(place, f"/upload?name={name}", own, "POST", b"zip\n")
            assert (status, Path(json.loads(answer)["path"]).is_relative_to(private)) == (200, True)
        assert fetch(place, "/upload?name=b.csv", own | {"Content-Length": str(2 << 30)}, "POST")[0] == 413
    assert list(tmp_path.iterdir()) == []


ENDED_EARLY = """
import os, signal
from indistinct.cli import signals
from indistinct.studio.server import serve

class Freed:
    def __del__(self):  # what is raised here is lost
        os.kill(os.getpid(), signal.{signal})

signals.listen()
try:
    serve(opens_browser=False, on_ready=lambda address: Freed() and None)
except KeyboardInterrupt:
    print("ended")
"""


@pytest.mark.slow
@pytest.mark.parametrize("ending", cases(["SIGTERM", "SIGINT", "SIGHUP"], "SIGTERM"))
def test_a_signal_ends_the_studio_also_while_it_starts(ending, tmp_path):
    code = ENDED_EARLY.format(signal=ending)
    environment = os.environ | {"TMPDIR": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, timeout=120, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "ended\n", "")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_a_port_that_is_taken_is_refused_with_advice(address):
    from indistinct.studio.server import serve

    with pytest.raises(OutputError, match="--port"):
        serve(port=address.port, opens_browser=False)


@pytest.mark.slow
@pytest.mark.parametrize("listen", [None, "127.0.0.2"])
def test_it_listens_on_this_machine_alone_unless_a_container_is_asked(monkeypatch, listen):
    """Whatever it listens on, the guard answers only who calls it by this machine's own name."""
    from indistinct.studio import server

    found = []
    monkeypatch.setattr(server, "_serve", lambda work, listening, *more: found.append(listening.getsockname()[0]))
    server.serve(opens_browser=False, **({} if listen is None else {"listen": listen}))
    assert found == [listen or "127.0.0.1"]
    with pytest.raises(OutputError, match="cannot be used"):
        server.serve(listen="192.0.2.1", opens_browser=False)


@pytest.mark.slow
def test_without_the_extra_the_command_that_installs_it_is_named(monkeypatch):
    from indistinct.studio.server import serve

    for name in [name for name in sys.modules if name.startswith("indistinct.studio.app")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "nicegui", None)
    with pytest.raises(MissingExtraError, match=r"indistinct\[studio\]"):
        serve(opens_browser=False)
