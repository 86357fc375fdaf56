"""Pseudonyms: the key under which they are made, which the holder keeps, and what a manifest may say of it."""

from __future__ import annotations

import hashlib
import hmac
import os
import secrets
import stat
from dataclasses import dataclass, replace
from pathlib import Path

from indistinct.errors import PolicyError
from indistinct.policy import PSEUDONYM, Person, Policy
from indistinct.randomness import SECURE, Draws

SHORTEST_KEY = 32
"""Bytes of a key: as many as the digest has, so that nobody can try them all."""


@dataclass(frozen=True, slots=True)
class PseudonymKey:
    """The key of one release's pseudonyms, and the salt by which the holder can make it anew from the one she keeps."""

    key: bytes
    salt: str | None
    """None if nobody keeps a key."""
    stable: bytes | None = None
    """The key of pseudonyms that are the same in all releases of a ledger's source; only a ledger has one."""

    @classmethod
    def fresh(cls, person: Person | None = None, stable: bytes | None = None, draws: Draws = SECURE) -> PseudonymKey:
        """Make the key of a new release: pseudonyms of two releases have nothing in common, but for stable ones.

        >>> len(PseudonymKey.fresh(Person("patient", "pseudonym")).key)
        32
        """
        kept = None if person is None else read_key(person)
        if kept is None:
            return cls(secrets.token_bytes(SHORTEST_KEY), None, stable)
        salt = draws.part("pseudonyms").salt(kept)
        return cls(hmac.digest(kept, salt.encode(), hashlib.sha256), salt, stable)

    def for_person(self, policy: Policy) -> bytes:
        """Return the key of the pseudonyms that link the rows of a person."""
        return self._key_of(PSEUDONYM, policy)

    def for_column(self, name: str, policy: Policy) -> bytes:
        """Return a key of its own for an identifier, so that equal cells of two columns have nothing in common."""
        return hmac.digest(self._key_of(name, policy), name.encode(), hashlib.sha256)

    def _key_of(self, name: str, policy: Policy) -> bytes:
        if name not in policy.stable_pseudonyms:
            return self.key
        assert self.stable is not None  # without a ledger such policies are refused
        return self.stable


def stable_key(secret: bytes, source: str) -> bytes:
    """Return the key of stable pseudonyms in all releases that a ledger with this secret has of a source.

    >>> stable_key(bytes(32), "patients") == stable_key(bytes(32), "doctors")
    False
    """
    return hmac.digest(secret, f"pseudonyms of {source}".encode(), hashlib.sha256)


def refuse_unrepeatable(person: object) -> None:
    """Raise if pseudonyms would be others in each run; they never follow from a seed, which somebody may guess."""
    if not isinstance(person, Person) or read_key(person) is None:
        raise PolicyError(
            "seed: pseudonyms are made with a key that nobody keeps, so they cannot be the same again; "
            "say person.key_file or person.key_env, or leave the seed out"
        )


def with_fresh_pseudonyms(policy: Policy) -> Policy:
    """Return a policy for releases that never leave, such as those of a comparison: no pseudonym has to be stable."""
    if not policy.stable_pseudonyms:
        return policy
    person = replace(policy.person, stable=False) if isinstance(policy.person, Person) else policy.person
    columns = {name: replace(column, pseudonym=bool(column.pseudonym)) for name, column in policy.columns.items()}
    return replace(policy, person=person, columns=columns)


def read_key(person: Person) -> bytes | None:
    """Return the key that the holder keeps, or None if the policy names none; refuse one that others could know."""
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
