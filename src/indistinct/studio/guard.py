"""Guard: what stands before the studio, so that nobody but the person who started it is served.

It is a plain ASGI application around another one and sees every request and every socket. A request must name this
machine as its host, which no other name that was made to point here does (DNS rebinding); it must not come from
another user of the machine, where the system says whose it is, nor from another site; and it must carry the secret of
the session. The secret is a cookie, given in exchange for a token. A token is good for one exchange and for a time:
the one that a browser is opened with for seconds, the one that is printed for minutes.
"""

from __future__ import annotations

import html
import os
import secrets
import socket
import struct
import sys
import time
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, quote

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]
Headers = list[tuple[bytes, bytes]]

HOSTS = ("127.0.0.1", "localhost")
LARGEST_BODY = 1 << 30
"""Bytes that a request may bring: an upload of 1 GiB. Larger tables are opened by their path."""
POLICY_VIOLATION = 1008
TABLES = (Path("/proc/net/tcp"), Path("/proc/net/tcp6"))
"""Every connection of the machine with the number of the user whose socket it is."""
LOCAL, REMOTE, USER, INODE = 1, 2, 7, 9
"""The columns that are read of these tables."""
CLOSED = "0"
"""The inode of an end that no program holds any more."""

# The pages compile their templates in the browser and carry their elements inline: hence the two unsafe words.
CONTENT_SECURITY = (
    "default-src 'self'; script-src 'self' 'unsafe-inline' 'unsafe-eval'; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data:; font-src 'self' data:; connect-src 'self' {sockets}; object-src 'none'; base-uri 'none'; "
    "form-action 'self'; frame-src 'none'; frame-ancestors 'none'"
)
REFUSAL = (
    '<!doctype html><html lang="en"><meta charset="utf-8"><title>Not served</title>'
    '<body style="font:16px/1.5 system-ui,sans-serif;max-width:34rem;margin:4rem auto;color:#1d2733">'
    "<h1>Not served</h1><p>{reason}</p><p>Open the address that <code>indistinct studio</code> printed, in one "
    "browser. Each address works once; start the studio anew for another.</p></body></html>"
)


WELCOME = (
    '<!doctype html><html lang="en"><meta charset="utf-8"><title>indistinct</title>'
    '<meta http-equiv="refresh" content="0;url={place}"><body><a href="{place}">Go on</a></body></html>'
)
"""The answer to a token: a page of our own leads on, since browsers send the cookie to no other site's redirect."""
SECONDS_PRINTED = 600.0
"""How long a token is good that a person must copy."""


class Guard:
    """Serves an application to the one browser that holds the session's secret, and nothing to anybody else."""

    def __init__(self, app: Application, *, port: int, largest_body: int = LARGEST_BODY) -> None:
        self.app = app
        self.port = port
        self.hosts = {f"{host}:{port}" for host in HOSTS}
        self.origins = {f"http://{host}" for host in self.hosts}
        self.cookie = f"indistinct-studio-{port}"  # browsers share cookies between the ports of a machine
        self.largest_body = largest_body
        self._tokens: dict[str, float] = {}
        """Until when each token is good."""
        self._secret = secrets.token_urlsafe(32)
        sockets = " ".join(sorted(f"ws://{host}" for host in self.hosts))
        self._own_headers: Headers = [
            (b"content-security-policy", CONTENT_SECURITY.format(sockets=sockets).encode()),
            (b"x-content-type-options", b"nosniff"),
            (b"referrer-policy", b"no-referrer"),
            (b"cross-origin-opener-policy", b"same-origin"),
            (b"cross-origin-resource-policy", b"same-origin"),
            (b"x-frame-options", b"DENY"),
        ]

    def issue_token(self, seconds: float = SECONDS_PRINTED) -> str:
        """Return a new token, which is good once and for these seconds."""
        token = secrets.token_urlsafe(24)
        self._tokens[token] = time.monotonic() + seconds
        return token

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve, exchange the token, or refuse."""
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
        elif scope["type"] == "websocket":
            await self._socket(scope, receive, send)
        elif scope["type"] == "http":
            await self._request(scope, receive, send)

    async def _socket(self, scope: Scope, receive: Receive, send: Send) -> None:
        is_ours = _header(scope, b"origin") in self.origins
        if self._why_elsewhere(scope) or self._why_foreign(scope) or not is_ours or not self._has_secret(scope):
            await receive()
            await send({"type": "websocket.close", "code": POLICY_VIOLATION})
            return
        await self.app(scope, receive, send)

    async def _request(self, scope: Scope, receive: Receive, send: Send) -> None:
        if reason := self._why_elsewhere(scope):
            await self._answer(send, 403, reason)
        elif self._is_exchange(scope):
            await self._welcome(send, scope["path"])
        elif reason := self._why_foreign(scope):
            await self._answer(send, 403, reason)
        elif not self._has_secret(scope):
            await self._answer(send, 403, "This address lacks the token of the session, or it is used or too old.")
        elif self._is_too_large(scope):
            await self._answer(send, 413, "The file is too large to upload; open it by its path instead.")
        else:
            without = [(name, value) for name, value in scope["headers"] if not name.startswith(b"x-forwarded-")]
            limited = _limit_body(receive, self.largest_body)
            await self.app({**scope, "headers": without}, limited, self._with_headers(send))

    def _why_elsewhere(self, scope: Scope) -> str:
        """Say why a request does not come from the user who started the studio, or nothing if it may."""
        if _header(scope, b"host") not in self.hosts:
            return "The studio answers to its own address on this machine only."
        client = scope.get("client")
        if client and not is_peer_ours(client[0], client[1], self.port):
            return "The request comes from another user of this machine."
        return ""

    def _why_foreign(self, scope: Scope) -> str:
        """Say why a request is not one of this studio's own pages, or nothing if it may be."""
        origin = _header(scope, b"origin")
        site = _header(scope, b"sec-fetch-site")
        if (origin and origin not in self.origins) or site in ("cross-site", "same-site"):
            return "The request comes from another site."
        return ""

    def _is_exchange(self, scope: Scope) -> bool:
        """Return whether a request brings a token, which is then used up, or brings a used one with the secret.

        It may come from the private file that the browser was opened with, which is another site to it.
        """
        origin = _header(scope, b"origin")
        if scope["method"] != "GET" or (origin and origin != "null" and origin not in self.origins):
            return False
        given = parse_qs(scope["query_string"].decode("latin-1")).get("token", [""])[0]
        if not given:
            return False
        for token, until in list(self._tokens.items()):
            if secrets.compare_digest(given.encode(), token.encode()):
                del self._tokens[token]
                return time.monotonic() <= until
        return self._has_secret(scope) and not self._why_foreign(scope)

    def _has_secret(self, scope: Scope) -> bool:
        pairs = [pair.strip().partition("=") for pair in _header(scope, b"cookie").split(";")]
        given = next((value for name, _, value in pairs if name == self.cookie), "")
        return secrets.compare_digest(given.encode(), self._secret.encode())

    def _is_too_large(self, scope: Scope) -> bool:
        length = _header(scope, b"content-length")
        return length.isdecimal() and int(length) > self.largest_body

    async def _welcome(self, send: Send, path: str) -> None:
        """Return the secret, and lead the browser to the address without the token."""
        cookie = f"{self.cookie}={self._secret}; Path=/; HttpOnly; SameSite=Strict"
        headers: Headers = [(b"content-type", b"text/html; charset=utf-8"), (b"set-cookie", cookie.encode())]
        page = WELCOME.format(place=html.escape(_own_place(path)))
        await _respond(send, 200, page.encode(), [*headers, *self._own_headers])

    async def _answer(self, send: Send, status: int, reason: str) -> None:
        kind: Headers = [(b"content-type", b"text/html; charset=utf-8")]
        await _respond(send, status, REFUSAL.format(reason=reason).encode(), [*kind, *self._own_headers])

    def _with_headers(self, send: Send) -> Send:
        """Add the headers that keep a browser from doing with a page what was not meant."""

        async def sending(message: Message) -> None:
            if message["type"] == "http.response.start":
                message = {**message, "headers": [*message.get("headers", []), *self._own_headers]}
            await send(message)

        return sending


def _own_place(path: str) -> str:
    """Return a path as an address of this machine, whatever a browser makes of its signs.

    Browsers read a backslash as a slash and leave out tabs and line ends, so that more than one path leads elsewhere.

    >>> _own_place("/columns"), _own_place("//evil.com"), _own_place("/\\\\evil.com"), _own_place("/\\t/evil.com")
    ('/columns', '/', '/', '/')
    """
    is_plain = path.startswith("/") and path.isprintable() and "\\" not in path and not path.startswith("//")
    return quote(path, errors="replace") if is_plain else "/"


def _limit_body(receive: Receive, largest: int) -> Receive:
    """Return what receives a body, and hangs up when it grows beyond the limit though it had not said so."""
    seen = 0

    async def receiving() -> Message:
        nonlocal seen
        message = await receive()
        seen += len(message.get("body", b""))
        if seen > largest:
            return {"type": "http.disconnect"}
        return message

    return receiving


def _header(scope: Scope, name: bytes) -> str:
    """Return the value of a header, all of them if there are several, or nothing.

    >>> _header({"headers": [(b"host", b"a"), (b"host", b"b")]}, b"host")
    'a, b'
    """
    return ", ".join(value.decode("latin-1") for header, value in scope["headers"] if header.lower() == name)


async def _respond(send: Send, status: int, body: bytes, headers: Iterable[tuple[bytes, bytes]]) -> None:
    given = [*headers, (b"content-length", str(len(body)).encode()), (b"cache-control", b"no-store")]
    await send({"type": "http.response.start", "status": status, "headers": given})
    await send({"type": "http.response.body", "body": body})


def is_peer_ours(address: str, port: int, own_port: int) -> bool:
    """Return whether our own user holds the other end of a connection to one of our ports.

    True where the system does not say whose it is: on other systems than Linux, or if that end is on another machine.
    What another user sent before closing its end is not ours either: a closed end is root's to the kernel, or nobody's.
    """
    if sys.platform != "linux":
        return True
    says_nothing = True
    for table in TABLES:
        try:
            lines = table.read_text("ascii").splitlines()[1:]
        except OSError:  # a system that hides it
            continue
        says_nothing = False
        for cells in map(str.split, lines):
            host, _, number = cells[LOCAL].partition(":")
            goal = int(cells[REMOTE].partition(":")[2], 16)
            if (int(number, 16), goal) == (port, own_port) and _address(host) == address:
                return int(cells[USER]) == os.getuid() and cells[INODE] != CLOSED
    return says_nothing or not address.startswith("127.")


def _address(digits: str) -> str:
    """Return an address as it is written; IPv4 within IPv6 as IPv4.

    The kernel writes each word of four bytes as one number of its own byte order.

    >>> _address("0100007F") if sys.byteorder == "little" else "127.0.0.1"
    '127.0.0.1'
    """
    words = [int(digits[start : start + 8], 16) for start in range(0, len(digits), 8)]
    packed = struct.pack(f"={len(words)}I", *words)
    if len(packed) == 16 and packed[:12] == b"\0" * 10 + b"\xff\xff":
        packed = packed[12:]
    return socket.inet_ntop(socket.AF_INET if len(packed) == 4 else socket.AF_INET6, packed)
