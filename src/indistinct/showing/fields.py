"""Fields: what a value holds, as JSON takes it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any


def as_json(value: Any) -> Any:
    """Return a value as JSON takes it: a dataclass as its fields, and what its class names in ``also``.

    >>> from collections import namedtuple
    >>> as_json({"bounds": (namedtuple("Bound", "least most")(1, 2),)})
    {'bounds': [{'least': 1, 'most': 2}]}
    """
    if is_dataclass(value):
        names = [*(own.name for own in fields(value)), *getattr(value, "also", ())]
        return {name: as_json(getattr(value, name)) for name in names}
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        return as_json(value._asdict())
    if isinstance(value, Mapping):
        return {key: as_json(item) for key, item in value.items()}
    return [as_json(item) for item in value] if isinstance(value, list | tuple) else value
