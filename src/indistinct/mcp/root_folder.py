"""RootFolder: the one folder that an assistant may name files in, and the policies that its holder put there."""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from pathlib import Path

from indistinct.errors import IndistinctError, OutputError
from indistinct.policy import Policy
from indistinct.policy.files.policy_file import read_policy
from indistinct.policy.stated_policy import policy_digest
from indistinct.release.manifest import MANIFEST

LINKED = "links are not followed, also those in a folder; name the file itself"


class ShownError(IndistinctError):
    """An error whose words are for an assistant: they quote nothing, so they may be passed on."""


@dataclass(frozen=True, slots=True)
class RootFolder:
    """A folder, and what its policies were when the server started.

    A policy can ask about single people: with a condition, or a hierarchy that lists one value, every count is an
    answer. So a policy that was written or changed since then is refused until its holder has read it.
    """

    place: Path
    policies: frozenset[str]
    """The digests of the policies that were there, each with all that it requires and what its hierarchies say."""

    @classmethod
    def open(cls, place: str | os.PathLike[str]) -> RootFolder:
        """Take a folder and look at its policies; raise an OutputError if it is none."""
        root = Path(place).resolve()
        if not root.is_dir():
            raise OutputError(f"{place} is no folder; name the one that holds your tables and releases")
        found = set()
        for path in sorted(root.rglob("*.toml")):
            if path.is_file() and not path.is_symlink():
                found.add(_digest(path))
        return cls(root, frozenset(found))

    def existing(self, name: str) -> Path:
        """Return the path of a file or folder that is there; a link, or a place outside, is refused."""
        place = self._inside(name)
        if not place.is_file() and not place.is_dir():
            raise ShownError("there is no such file or folder in the root folder")
        if any(path.is_symlink() for path in place.rglob("*")):
            raise ShownError(LINKED)
        return place

    def new_file(self, name: str, suffix: str) -> Path:
        """Return the path of a file that is still to be written."""
        place = self._inside(name)
        if place.suffix != suffix or place.exists():
            raise ShownError(f"name a file that is not there yet and ends in {suffix}")
        if not place.parent.is_dir():
            raise ShownError("the folder of the file is not there")
        if (place.parent / MANIFEST).exists():
            raise ShownError("that folder is a release; it would not verify with one file more")
        return place

    def policy(self, name: str) -> Policy:
        """Return a policy that its holder had in the folder when the server started."""
        place = self.existing(name)
        if _digest(place) not in self.policies:
            raise ShownError(
                "the policy was written or changed after the server started; its holder reads it and starts the "
                "server anew"
            )
        return read_policy(place)

    def _inside(self, name: str) -> Path:
        """Return the path of a name; no part of it may lead elsewhere."""
        given = Path(name)
        is_plain = bool(given.parts) and not given.is_absolute() and not {"..", "~"} & set(given.parts)
        if not is_plain or "\0" in name or any(sign in name for sign in "*?[]:\\"):
            raise ShownError("name a file below the root folder, relative to it, without .. and without patterns")
        place = self.place
        for part in given.parts:
            place = place / part
            if place.is_symlink():
                raise ShownError(LINKED)
        return place


def _digest(path: Path) -> str:
    """Return the digest of a policy file and of all that it requires, also of hierarchies in files of their own."""
    whole = hashlib.sha256(path.read_bytes())
    try:
        whole.update(policy_digest(read_policy(path)).encode())
    except (IndistinctError, OSError):
        whole.update(b"unreadable")
    return whole.hexdigest()
