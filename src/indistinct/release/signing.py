"""sign(): signs a release that was written before, after it has been verified."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from indistinct.atomic_files import write_whole
from indistinct.errors import OutputError, TableError, VerificationError
from indistinct.policy import Policy
from indistinct.proof.verdict import verify
from indistinct.release.manifest import MANIFEST, SIGNATURE, has_manifest
from indistinct.release.signature import fingerprint, private_key


def sign(
    release: str | os.PathLike[str],
    policy: Policy | str | os.PathLike[str] | None = None,
    *,
    key: Any,
    replace: bool = False,
    **reading: Any,
) -> str:
    """Sign a release folder with a private key, or its file, and give the fingerprint of the key.

    Only a release that verifies is signed: by ``policy``, or else by the one that its manifest states; several tables
    that belong together need theirs. A signature that is there stays, unless ``replace`` is given. ``reading`` goes to
    the engine.
    """
    folder = Path(release)
    if not has_manifest(folder):
        raise TableError(f"{folder} is no release folder: it has no {MANIFEST} that could be signed")
    if (folder / SIGNATURE).exists() and not replace:
        raise OutputError(f"{folder} is signed already; say replace (--replace) to put another signature in its place")
    signing = private_key(key)
    content = (folder / MANIFEST).read_bytes()
    verify(folder, policy, **reading).raise_if_failed()
    if (folder / MANIFEST).read_bytes() != content:
        raise VerificationError(f"{folder / MANIFEST} changed while it was verified; nothing was signed")
    signature = signing.sign(content)
    write_whole(folder / SIGNATURE, lambda draft: draft.write_bytes(signature))
    return fingerprint(signing.public_key())
