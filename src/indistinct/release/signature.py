"""Signatures of releases: who vouches for one, by an Ed25519 key pair, and the files that keys stand in.

A signature covers the very bytes of a manifest. The manifest states the digest of every other file of its folder, so
whoever changes one byte of any of them needs the private key to hide it. A signature is its 64 bytes and nothing else,
and keys are PEM files, so that OpenSSL checks them as well. Keys of OpenSSH are read, too.
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from indistinct.atomic_files import OWNER_ONLY, flush, flush_name
from indistinct.errors import KeyFileError, MissingExtraError
from indistinct.release.manifest import MANIFEST, SIGNATURE, SIGNATURE_BYTES

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

KEY_VARIABLE = "INDISTINCT_KEY_PASSWORD"
"""The environment variable with the password of private keys; without it they are kept, and read, without one."""
OTHERS = 0o077
"""What others than its owner may do with a file."""


class KeyPair(NamedTuple):
    """The files of a new key pair, and the fingerprint by which people can tell it over the telephone."""

    private: Path
    public: Path
    fingerprint: str


def new_keys(name: str | os.PathLike[str]) -> KeyPair:
    """Make a key pair in the files ``NAME.key``, for its owner alone, and ``NAME.pub``, for everybody.

    Neither file may be there: a private key that is overwritten is lost. Where the environment variable
    ``INDISTINCT_KEY_PASSWORD`` is set, the private key is encrypted under it.
    """
    _need_cryptography()
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    private, public = (Path(f"{os.fspath(name)}{ending}") for ending in (".key", ".pub"))
    for place in (private, public):
        if os.path.lexists(place):
            raise KeyFileError(f"{place} is there already, and a key is never overwritten; give another name")
    key, password = Ed25519PrivateKey.generate(), os.environ.get(KEY_VARIABLE)
    protection = serialization.BestAvailableEncryption(password.encode()) if password else serialization.NoEncryption()
    secret = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, protection)
    shown = key.public_key().public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    _write_new(private, secret, OWNER_ONLY)
    try:
        _write_new(public, shown, 0o644)
    except KeyFileError:
        private.unlink()
        raise
    flush_name(private)
    return KeyPair(private, public, fingerprint(key.public_key()))


def private_key(given: Any) -> Ed25519PrivateKey:
    """Return a private key, or the one that a file holds, which nobody but its owner may be able to read."""
    _need_cryptography()
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    found = _read_private(Path(given)) if isinstance(given, str | os.PathLike) else given
    if not isinstance(found, Ed25519PrivateKey):
        raise _of_another_kind(given)
    return found


def public_key(given: Any) -> Ed25519PublicKey:
    """Return a public key, or the one that a file holds."""
    _need_cryptography()
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    found = _read_public(Path(given)) if isinstance(given, str | os.PathLike) else given
    if not isinstance(found, Ed25519PublicKey):
        raise _of_another_kind(given)
    return found


def fingerprint(key: Ed25519PublicKey) -> str:
    """Return the fingerprint of a public key as OpenSSH writes it."""
    from cryptography.hazmat.primitives import serialization

    line = key.public_bytes(serialization.Encoding.OpenSSH, serialization.PublicFormat.OpenSSH)
    digest = hashlib.sha256(base64.b64decode(line.split()[1])).digest()
    return f"SHA256:{base64.b64encode(digest).decode().rstrip('=')}"


def sign_manifest(folder: Path, key: Ed25519PrivateKey) -> str:
    """Sign the manifest of a folder that is being written; give the fingerprint of the key."""
    (folder / SIGNATURE).write_bytes(key.sign((folder / MANIFEST).read_bytes()))
    return fingerprint(key.public_key())


def signature_mistake(folder: Path, key: Ed25519PublicKey) -> str | None:
    """Say why the signature of a release folder is none by this key over this manifest; None if it is."""
    from cryptography.exceptions import InvalidSignature

    try:
        signature = (folder / SIGNATURE).read_bytes()
    except OSError:
        return f"the release has no signature that can be read: ask who made it for {SIGNATURE}"
    if len(signature) != SIGNATURE_BYTES:
        return f"{SIGNATURE} is no signature: it has not {SIGNATURE_BYTES} bytes"
    try:
        key.verify(signature, (folder / MANIFEST).read_bytes())
    except InvalidSignature:
        return (
            f"{SIGNATURE} is not by the key {fingerprint(key)} over this manifest: the key is another's, "
            "or the manifest or its signature were changed"
        )
    return None


def _write_new(path: Path, content: bytes, mode: int) -> None:
    """Write a file that is not there; nothing is left of a failure."""
    try:
        with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb") as file:
            file.write(content)
        flush(path)
    except FileExistsError:
        raise KeyFileError(f"{path} is there already, and a key is never overwritten; give another name") from None
    except OSError as error:
        with contextlib.suppress(OSError):
            path.unlink()
        raise KeyFileError(f"cannot write {path}: {error.strerror or error}; no key was made") from None


def _read_private(path: Path) -> Any:
    from cryptography.hazmat.primitives import serialization

    content = _content(path)
    if b"PRIVATE KEY" not in content:
        raise KeyFileError(f"{path} is no private key; to sign, give the file that 'indistinct keys new' called .key")
    if os.name == "posix" and path.stat().st_mode & OTHERS:
        raise KeyFileError(f"{path} can be read or changed by others than its owner; say chmod 600 {path.name}")
    read = serialization.load_ssh_private_key if b"OPENSSH" in content else serialization.load_pem_private_key
    try:
        return _read_locked(read, content)
    except LookupError:
        raise KeyFileError(f"{path} is encrypted; set {KEY_VARIABLE} to its password") from None
    except Exception:
        raise KeyFileError(f"{path} cannot be read as a private key, or {KEY_VARIABLE} is not its password") from None


def _read_locked(read: Callable[[bytes, bytes | None], Any], content: bytes) -> Any:
    """Read a key, with the password if it has one; raise a LookupError if nobody says which."""
    try:
        return read(content, None)
    except TypeError:  # it is encrypted
        return read(content, os.environ[KEY_VARIABLE].encode())


def _read_public(path: Path) -> Any:
    from cryptography.hazmat.primitives import serialization

    content = _content(path)
    if b"PRIVATE KEY" in content:
        raise KeyFileError(f"{path} is a private key; to verify, give the public one (.pub), and keep this one secret")
    read = serialization.load_ssh_public_key if content.startswith(b"ssh-") else serialization.load_pem_public_key
    try:
        return read(content)
    except Exception:
        raise KeyFileError(f"{path} cannot be read as a public key, in PEM or as OpenSSH writes them") from None


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise KeyFileError(f"the key {path} cannot be read: {error.strerror or error}") from None


def _of_another_kind(given: Any) -> KeyFileError:
    name = given if isinstance(given, str | os.PathLike) else "the key"
    return KeyFileError(f"{name}: releases are signed with Ed25519 keys; 'indistinct keys new NAME' makes a pair")


def _need_cryptography() -> None:
    try:
        import cryptography  # noqa: F401
    except ImportError:
        raise MissingExtraError('signatures need cryptography: pip install "indistinct[sign]"') from None
