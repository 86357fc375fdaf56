"""Checks of the parameters that models have in common."""

from __future__ import annotations

import math

from indistinct.errors import PolicyError


def check_whole(name: str, value: object, least: int = 1) -> None:
    """Refuse a parameter that is no whole number of at least so much."""
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise PolicyError(f"{name} must be a whole number of at least {least}, got {value!r}")


def check_share(name: str, value: object) -> None:
    """Refuse a parameter that is no number above 0 and at most 1."""
    if not _is_number(value) or not 0 < value <= 1:  # type: ignore[operator]
        raise PolicyError(f"{name} must lie above 0 and be at most 1, got {value!r}")


def check_positive(name: str, value: object) -> None:
    """Refuse a parameter that is no finite number above 0."""
    if not _is_number(value) or not 0 < value < math.inf:  # type: ignore[operator]
        raise PolicyError(f"{name} must be a number above 0, got {value!r}")


def check_choice(name: str, value: object, choices: tuple[str, ...]) -> None:
    """Refuse a parameter that is none of some words."""
    if value not in choices:
        raise PolicyError(f"{name} must be {', '.join(map(repr, choices[:-1]))} or {choices[-1]!r}, got {value!r}")


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
