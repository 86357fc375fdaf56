"""Changed statements: every manifest that differs from a given one in one place."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from typing import Any

Place = tuple[str | int, ...]
WORDS = ("", "Ann has it", "lattice", "quasi", "value")


def places(said: Any, at: Place = ()) -> Iterator[tuple[Place, Any]]:
    """Return every place of a manifest and what stands there."""
    yield at, said
    for name, value in said.items() if isinstance(said, dict) else enumerate(said) if isinstance(said, list) else ():
        yield from places(value, (*at, name))


def others(value: Any) -> Iterator[Any]:
    """Return what might stand in the place of a value."""
    if isinstance(value, bool):
        yield from (not value, int(value), None)
    elif isinstance(value, int | float):
        yield from (value + 1, value - 1, -1, 10**30, True, float(value) + 0.5, str(value), None)
    elif isinstance(value, str):
        yield from (word for word in (*WORDS, value[:-1], f"{value} x", None, 0) if word != value)
    elif isinstance(value, list):
        yield from ([], None, value[:-1], [*value, *value[-1:]], [*value, "Ann"]) if value else (None, ["Ann"])
        yield from (value[::-1],) if value != value[::-1] else ()
    elif isinstance(value, dict):
        yield from ({}, None, []) if value else (None, [])
        yield from (value | {"remark": "Ann has it"}, value | {"remark": 1})


def forged(said: dict[str, Any]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Return what was done, where, and the manifest that came out: each statement changed or left out."""
    for at, value in places(said):
        changes: list[tuple[str, Callable[[Any], object]]] = []
        if at:
            changes.append(("drop", lambda holder, name=at[-1]: holder.pop(name)))  # type: ignore[misc]
            changes += [
                (f"{other!r:.60}", lambda holder, name=at[-1], other=other: holder.__setitem__(name, other))  # type: ignore[misc]
                for other in others(value)
            ]
        else:
            changes.append(("add", lambda holder: holder.update(remark="Ann has it")))
        for what, change in changes:
            made: Any = copy.deepcopy(said)
            holder = made
            for name in at[:-1]:
                holder = holder[name]
            change(holder)
            yield what, ".".join(map(str, at)), made
