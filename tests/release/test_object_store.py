"""A release in an object store has its manifest when all other files are there, and not before."""

from __future__ import annotations

import io
from pathlib import Path

import pyarrow as pa
import pytest

import indistinct as ix
from indistinct.release import object_store

POLICY = ix.Policy({"a": ix.quasi(ix.suppress()), "b": ix.other()}, [ix.KAnonymity(2)])
TABLE = pa.table({"a": ["x", "x"], "b": [1, 2]})
FILES = ["manifest.json", "table.parquet"]


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir()) if folder.exists() else []


def test_a_release_is_sent_verified_and_replaced(tmp_path: Path) -> None:
    place = tmp_path / "bucket" / "place"
    with ix.anonymize(TABLE, POLICY) as release:
        assert release.publish(place.as_uri()) == place.as_uri()
        assert names(place) == FILES
        assert ix.verify(place, POLICY, original=TABLE).passed
        with pytest.raises(ix.OutputError, match="not empty"):
            release.publish(place.as_uri())
        (place / "stale.parquet").write_bytes(b"")
        release.publish(place.as_uri(), replace=True)
        assert names(place) == FILES
        (place / "manifest.json").unlink()
        with pytest.raises(ix.OutputError, match="not empty"):
            release.publish(place.as_uri(), replace=True)


@pytest.mark.parametrize("fails", [1, 2])
def test_a_store_that_fails_holds_no_release(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fails: int) -> None:
    sent: list[str] = []
    own = object_store._send

    def send(store: object, path: Path, goal: str) -> None:
        sent.append(path.name)
        assert (path.name == "manifest.json") == (len(sent) == 2)
        own(store, path, goal)
        if len(sent) == fails:
            raise OSError("a private cell")

    monkeypatch.setattr(object_store, "_send", send)
    with ix.anonymize(TABLE, POLICY) as release, pytest.raises(ix.OutputError, match="cannot be written") as caught:
        release.publish((tmp_path / "place").as_uri())
    assert "private" not in str(caught.value)
    assert names(tmp_path / "place") == []


class Forgetful(io.BytesIO):
    """A store that gives back what it was made with, whatever was sent."""

    def open_output_stream(self, goal: str) -> io.BytesIO:
        return io.BytesIO()

    def open_input_stream(self, goal: str) -> io.BytesIO:
        return io.BytesIO(self.getvalue())

    def create_dir(self, goal: str, *, recursive: bool) -> None:
        raise NotImplementedError


@pytest.mark.parametrize(("kept", "is_same"), [(b"abc", True), (b"ab", False), (b"abcd", False), (b"abd", False)])
def test_bytes_that_come_back_otherwise_are_refused(tmp_path: Path, kept: bytes, is_same: bool) -> None:
    (tmp_path / "file").write_bytes(b"abc")
    if is_same:
        object_store._send(Forgetful(kept), tmp_path / "file", "place/file")
    else:
        with pytest.raises(OSError, match="bytes came back"):
            object_store._send(Forgetful(kept), tmp_path / "file", "place/file")


def test_keys_of_an_address_are_not_shown() -> None:
    with ix.anonymize(TABLE, POLICY) as release, pytest.raises(ix.OutputError) as caught:
        release.publish("s3://id:hush@bucket/place?endpoint_override=127.0.0.1:9&scheme=http&unknown_option=1")
    assert str(caught.value).startswith("s3://bucket/place: cannot")
    assert "hush" not in str(caught.value)
