"""Pseudonyms: the key under which they are made, which the holder keeps, and what a manifest may say of it."""

from __future__ import annotations

import hashlib
import hmac
import os
import secrets
import stat
from dataclasses import dataclass
from pathlib import Path

from indistinct.errors import PolicyError
from indistinct.policy import Person

SHORTEST_KEY = 32
"""Bytes of a key: as many as the digest has, so that nobody can try them all."""


@dataclass(frozen=True, slots=True)
class PseudonymKey:
    """The key of one release's pseudonyms, and the salt by which the holder can make it anew from the one she keeps."""

    key: bytes
    salt: str | None
    """None if nobody keeps a key."""

    @classmethod
    def fresh(cls, person: Person | None = None) -> PseudonymKey:
        """Make the key of a new release: pseudonyms of two releases have nothing in common.

        >>> len(PseudonymKey.fresh(Person("patient", "pseudonym")).key)
        32
        """
        kept = None if person is None else read_key(person)
        if kept is None:
            return cls(secrets.token_bytes(SHORTEST_KEY), None)
        salt = secrets.token_hex(16)
        return cls(hmac.digest(kept, salt.encode(), hashlib.sha256), salt)

    def for_column(self, name: str) -> bytes:
        """Give a key of its own for an identifier, so that equal cells of two columns have nothing in common."""
        return hmac.digest(self.key, name.encode(), hashlib.sha256)


def read_key(person: Person) -> bytes | None:
    """Give the key that the holder keeps, or None if the policy names none; refuse one that others could know."""
    if person.key_file is not None:
        return _long_enough(_read_private(Path(person.key_file)), f"person.key_file: {person.key_file}")
    if person.key_env is not None:
        given = os.environ.get(person.key_env)
        if given is None:
            raise PolicyError(f"person.key_env: the environment has no variable {person.key_env}")
        return _long_enough(given.encode(), f"person.key_env: {person.key_env}")
    return None


def _read_private(path: Path) -> bytes:
    """Read a file that nobody but its owner may read."""
    try:
        mode = path.stat().st_mode
        content = path.read_bytes()
    except OSError as error:
        raise PolicyError(f"person.key_file: cannot read {path}: {error.strerror}") from None
    if os.name == "posix" and mode & (stat.S_IRWXG | stat.S_IRWXO):
        raise PolicyError(f"person.key_file: others can read {path}; make it private: chmod 600 {path}")
    return content.strip()


def _long_enough(key: bytes, where: str) -> bytes:
    if len(key) < SHORTEST_KEY:
        raise PolicyError(
            f"{where} holds {len(key)} bytes; a key needs at least {SHORTEST_KEY} that nobody can guess, such as "
            "python -c 'import secrets; print(secrets.token_hex(32))' prints"
        )
    return key
