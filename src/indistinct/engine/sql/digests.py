"""Digests as SQL: pseudonyms, profiles of people, and the keys by which people are recognised."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from indistinct.engine.sql.dialect import Dialect

DIGITS = 32
"""Hexadecimal digits of a digest: 128 bits, so that no two of a billion people share one by chance."""


def with_lengths(dialect: Dialect, texts: Iterable[str]) -> str:
    """Return the SQL of several cells one after the other; their lengths keep them apart."""
    return dialect.concat(_parts(texts))


def keyed_digest(dialect: Dialect, texts: Iterable[str], secret: str) -> str:
    """Return the SQL of a digest of several cells that nobody can compute who does not know the secret."""
    content = dialect.concat([dialect.text(secret + "|"), *_parts(texts)])
    return f"substr({dialect.sha256(content)}, 1, {DIGITS})"


def name_digest(dialect: Dialect, texts: Sequence[str], secret: str) -> str:
    """Return the SQL of a keyed digest of cells that name somebody; null where there is nothing in any of them."""
    empty = " AND ".join(f"{text} = ''" for text in texts)
    return f"CASE WHEN {empty} THEN NULL ELSE {keyed_digest(dialect, texts, secret)} END"


def pseudonym(dialect: Dialect, person: Iterable[str], key: bytes) -> str:
    """Return the SQL of a pseudonym: HMAC-SHA-256 of the texts of some columns under a key, its first 128 bits."""
    block = key.ljust(64, b"\0")
    inner, outer = (dialect.unhex(f"'{bytes(byte ^ pad for byte in block).hex()}'") for pad in (0x36, 0x5C))
    hashed = dialect.sha256_of_bytes(dialect.joined_bytes(inner, dialect.utf8(with_lengths(dialect, person))))
    again = dialect.sha256_of_bytes(dialect.joined_bytes(outer, dialect.unhex(hashed)))
    return f"substr({again}, 1, {DIGITS})"


def profiles(dialect: Dialect, columns: Iterable[str], person: Sequence[str], relation: str) -> str:
    """Return the SQL of each person, by the text p0, p1, … of some columns, with a digest of all her rows."""
    whose = [f"{text} AS p{number}" for number, text in enumerate(person)]
    names = ", ".join(f"p{number}" for number in range(len(whose)))
    digest = dialect.sha256(dialect.concat(["count(*)", "'|'", dialect.joined_in_order("one")]))
    cells = f"SELECT {', '.join(whose)}, {with_lengths(dialect, columns)} AS cells FROM {relation}"
    rows = f"SELECT {names}, {with_lengths(dialect, ['cells'])} AS one FROM ({cells}) AS cells_of"
    return f"SELECT {names}, {digest} AS digest FROM ({rows}) AS rows_of GROUP BY {names}"


def _parts(texts: Iterable[str]) -> list[str]:
    return [part for text in texts for part in (f"length({text})", "':'", text)]
