"""Draws: random numbers that nobody can guess, or those that follow from a secret seed, for runs that must repeat."""

from __future__ import annotations

import hashlib
import hmac
import os
from dataclasses import dataclass, field

from indistinct.array_types import UIntArray, np
from indistinct.errors import PolicyError

Seed = int | str
COST = 2**14
"""What scrypt is asked to do: a guess of the seed takes so much longer, and nobody notices it once a run."""


@dataclass(frozen=True, slots=True)
class Draws:
    """Where everything random of a release comes from: the system's secure generator, unless there is a seed.

    What is drawn for one purpose has nothing to do with what is drawn for another, in whatever order they draw.

    >>> Draws.of_seed(7, b"a table").part("rows").keys(1) == Draws.of_seed("7", b"a table").part("rows").keys(1)
    array([ True])
    >>> SECURE.keys(1) == SECURE.keys(1)
    array([False])
    """

    _key: bytes | None = field(default=None, repr=False)

    @classmethod
    def of_seed(cls, seed: Seed, purpose: bytes) -> Draws:
        """Return draws that are the same for the same seed and purpose; a number and its digits are one seed.

        The purpose says what is released, so that one seed draws differently for two tables.
        """
        if isinstance(seed, bool) or not isinstance(seed, int | str) or not str(seed).strip():
            raise PolicyError("seed: must be a whole number or a text that is not empty")
        salt = hashlib.sha256(purpose).digest()
        return cls(hashlib.scrypt(str(seed).strip().encode(), salt=salt, n=COST, r=8, p=1, dklen=32))

    @property
    def repeats(self) -> bool:
        """Whether there is a seed, so that the same is drawn again."""
        return self._key is not None

    def part(self, name: str) -> Draws:
        """Return the draws for one purpose."""
        return self if self._key is None else Draws(hmac.digest(self._key, name.encode(), hashlib.sha256))

    def keys(self, number: int) -> UIntArray:
        """Draw so many uniform 64-bit keys; with a seed each call gives the same ones."""
        drawn = os.urandom(8 * number) if self._key is None else hashlib.shake_256(self._key).digest(8 * number)
        return np.frombuffer(drawn, "<u8")

    def salt(self, key: bytes) -> str:
        """Draw a salt that a manifest may state; with a seed it is hidden by a key, so that nobody can try seeds."""
        drawn = os.urandom(16) if self._key is None else hmac.digest(key, self._key, hashlib.sha256)[:16]
        return drawn.hex()


SECURE = Draws()
"""Nobody can guess what it draws, or draw it again."""
