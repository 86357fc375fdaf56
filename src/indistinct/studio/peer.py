"""Who is at the other end of a connection, where the system says it: on Linux, of connections within the machine."""

from __future__ import annotations

import socket
import struct
import sys
from collections.abc import Iterator
from pathlib import Path

TABLES = (Path("/proc/net/tcp"), Path("/proc/net/tcp6"))
"""Every connection of the machine with the number of the user whose socket it is."""
LOCAL, REMOTE, USER = 1, 2, 7
"""The columns that are read of these tables."""


def user_of_peer(address: str, port: int, own_port: int) -> int | None:
    """Return the number of the user who holds the other end of a connection to one of our ports.

    None where the system does not say it: on other systems than Linux, or if the other end is on another machine.
    """
    if sys.platform != "linux":
        return None
    for table in TABLES:
        for peer, peer_port, to_port, user in _connections(table):
            if (peer, peer_port, to_port) == (address, port, own_port):
                return user
    return None


def _connections(table: Path) -> Iterator[tuple[str, int, int, int]]:
    """Return the address and port of each socket, the port that it is connected with, and its user."""
    try:
        lines = table.read_text("ascii").splitlines()[1:]
    except OSError:  # a system that hides it
        return
    for line in lines:
        cells = line.split()
        host, _, port = cells[LOCAL].partition(":")
        yield _address(host), int(port, 16), int(cells[REMOTE].partition(":")[2], 16), int(cells[USER])


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
