"""Broken, odd and hostile inputs: bytes that were damaged, and documents with some part exchanged."""

from __future__ import annotations

import copy
import datetime
import json
import math
import random
import re
from typing import Any

PIECES = [
    *(bytes([number]) for number in (0, 9, 10, 13, 27, 34, 39, 44, 59, 92, 127, 128, 194, 239, 255)),
    *(b"\r\n", b'""', b"\xef\xbb\xbf", b"\xff\xfe", b"PAR1", b"ARROW1", b"PK\x03\x04", b"SQLite format 3\x00"),
    *(
        b"-1",
        b"0",
        b"NaN",
        b"1e999",
        b"9" * 40,
        b"null",
        b"[[[[",
        b"{}",
        b"=",
        b"#",
        b"'''",
        b"\\u0000",
        b"\xf0\x9f\x98\x80",
    ),
]
"""What is put between other bytes: ends of lines, quotes, marks of formats, numbers that are none."""

ODD: list[Any] = [
    *(0, -1, 1, 2**31, 2**63, 10**40, -(10**19), 0.5, -0.0, 1e308, float("nan"), float("inf"), True, False),
    *(
        "",
        " ",
        "*",
        "\x00",
        "a\nb",
        "é" * 20,
        "x" * 5000,
        "../../etc/passwd",
        "/dev/null",
        "NaN",
        "1e5",
        "２",
        "\u202e",
    ),
    *([], [[]], {}, {"": ""}, [1, "a", None], ["a"] * 50, {"x": {"y": [1]}}, datetime.date(1, 1, 1), datetime.date.max),
    *("quasi", "k-anonymity", "lattice", "a.csv", "{0}", "%s", "$HOME", "<script>", "' OR 1=1 --", "\ud7ff", "\ufeff"),
]
"""What takes the place of a part of a document."""


def damage(dice: random.Random, data: bytes, most: int = 4) -> bytes:
    """Return bytes with one to ``most`` mutations: cut, doubled, flipped, exchanged, something put in between."""
    found = bytearray(data)
    for _ in range(dice.randint(1, most)):
        place = dice.randrange(len(found) + 1)
        length = min(dice.choice([1, 1, 2, 8, 40, 400]), len(found) - place)
        match dice.randrange(7):
            case 0:
                del found[place : place + length]
            case 1:
                found[place:place] = found[place : place + length]
            case 2 if found:
                found[place % len(found)] ^= 1 << dice.randrange(8)
            case 3:
                found[place:place] = dice.choice(PIECES)
            case 4:
                found[place : place + length] = dice.randbytes(length)
            case 5:
                del found[place:]
            case _:
                other = dice.randrange(len(found) + 1)
                found[other:other] = found[place : place + length]
    return bytes(found[: 2 * len(data) + 2000])


def disturb(dice: random.Random, content: Any, most: int = 3) -> Any:
    """Return a document of dicts and lists with one to ``most`` parts exchanged, removed, doubled or renamed."""
    made = copy.deepcopy(content)
    for _ in range(dice.randint(1, most)):
        holder: Any = made
        while True:
            inner = [part for part in _parts(holder) if isinstance(part, dict | list) and part]
            if not inner or dice.random() < 0.35:
                break
            holder = dice.choice(inner)
        if not isinstance(holder, dict | list) or not holder:
            return dice.choice(ODD) if holder is made else made
        key = dice.choice(list(holder)) if isinstance(holder, dict) else dice.randrange(len(holder))
        match dice.randrange(5):
            case 0:
                del holder[key]
            case 1 if isinstance(holder, dict):
                holder[str(dice.choice(ODD))] = holder.pop(key)
            case 2:
                holder[key] = copy.deepcopy(dice.choice(list(_parts(holder))))
            case _:
                holder[key] = copy.deepcopy(dice.choice(ODD))
    return made


def _parts(holder: Any) -> list[Any]:
    if isinstance(holder, dict | list):
        return list(holder.values() if isinstance(holder, dict) else holder)
    return []


def toml(content: Any) -> str:
    """Write a document as TOML, whatever it holds; what TOML has no word for becomes a text."""
    if not isinstance(content, dict):
        return f"x = {_inline(content)}\n"
    return "".join(f"{_key(name)} = {_inline(value)}\n" for name, value in content.items())


def _inline(value: Any) -> str:
    match value:
        case bool():
            return str(value).lower()
        case int() | datetime.date():
            return str(value)
        case float():
            return repr(value) if math.isfinite(value) else str(value)
        case list() | tuple():
            return "[" + ", ".join(_inline(one) for one in value) + "]"
        case dict():
            return "{ " + ", ".join(f"{_key(name)} = {_inline(one)}" for name, one in value.items()) + " }"
        case _:
            return json.dumps(str(value))


def _key(name: object) -> str:
    text = str(name)
    return text if re.fullmatch(r"[A-Za-z0-9_-]+", text) else json.dumps(text)
