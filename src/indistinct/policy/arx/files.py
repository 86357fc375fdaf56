"""The files inside a project of ARX, read as one would read what a stranger sent: small, plain and nothing else."""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from xml.etree import ElementTree  # nosec B405 # see where it is parsed

from indistinct.errors import PolicyError

MOST_XML = 16_000_000
MOST_TEXT = 256_000_000
"""Bytes that a file may have when it is unpacked: settings, and hierarchies of millions of values."""
MOST_FILES = 100_000
BROKEN = (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError, NotImplementedError, OSError, ValueError)
"""What reading a file of a broken or encrypted archive raises."""


class ArxFiles:
    """A project file of ARX that is open: its settings as XML, its hierarchies as text. Java objects are not read."""

    def __init__(self, path: Path) -> None:
        """Open a project; raise if it is none."""
        self.file = path.name
        self.notes: list[str] = []
        try:
            self._zip = zipfile.ZipFile(path)
        except OSError as error:
            raise PolicyError(f"cannot read {path}: {error.strerror or error}") from None
        except BROKEN:
            raise PolicyError(f"{self.file}: is no project of ARX, which is a zip file") from None
        self._sizes = {one.filename: one for one in self._zip.infolist()[:MOST_FILES]}
        if "input/definition.xml" not in self._sizes or "input/config.xml" not in self._sizes:
            self._zip.close()
            raise PolicyError(f"{self.file}: is no project of ARX: it has no input/definition.xml or input/config.xml")

    def __enter__(self) -> ArxFiles:
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        self._zip.close()

    @property
    def name(self) -> str:
        """The name of the project, or of its file."""
        return self.xml("project.xml").first("name").strip() or self.file

    def text(self, name: str, most: int = MOST_TEXT) -> str | None:
        """Return a file as text, None if there is none; one that unpacks to too much is refused.

        ARX writes UTF-8; older versions wrote what the machine had, which is then taken for Windows-1252.
        """
        if name not in self._sizes:
            return None
        try:
            with self._zip.open(self._sizes[name]) as file:
                content = file.read(most + 1)
        except BROKEN:
            raise PolicyError(f"{self.file}: {name} cannot be unpacked; the project is broken or encrypted") from None
        if len(content) > most:
            raise PolicyError(f"{self.file}: {name} unpacks to more than {most // 1_000_000} MB; it is not read")
        try:
            return content.decode("utf-8-sig")
        except UnicodeDecodeError:
            note = f"{name} is not UTF-8; it was read as Windows-1252, so look at letters with accents"
            if note not in self.notes:
                self.notes.append(note)
            return content.decode("cp1252", errors="replace")

    def xml(self, name: str) -> Said:
        """Return what a file of settings says; nothing if there is no such file."""
        text = self.text(name, MOST_XML)
        if text is None:
            return Said(None)
        if "<!DOCTYPE" in text or "<!ENTITY" in text:
            raise PolicyError(f"{self.file}: {name} declares a document type, which ARX never does; it is not read")
        try:
            # the text is bounded, and expat refuses entities that grow without bound; none is fetched
            return Said(ElementTree.fromstring(text))  # nosec B314 # as said above
        except (ElementTree.ParseError, ValueError):
            raise PolicyError(f"{self.file}: {name} is not XML") from None


class Said:
    """What a file of settings says, by the names of its elements."""

    def __init__(self, root: ElementTree.Element | None) -> None:
        """Take the outermost element; None says nothing."""
        self._root = root

    def texts(self, name: str) -> list[str]:
        """Return the text of each element of a name."""
        return [(element.text or "").strip() for element in self._all(name)]

    def first(self, name: str) -> str:
        """Return the text of the first element of a name, or nothing; one space is a delimiter and stays."""
        return next((element.text or "" for element in self._all(name)), "")

    def is_said(self, name: str) -> bool:
        """Return whether there is an element of a name."""
        return any(True for _ in self._all(name))

    def groups(self, name: str) -> list[dict[str, str]]:
        """Return what stands directly within each element of a name."""
        return [{inner.tag: inner.text or "" for inner in element} for element in self._all(name)]

    def _all(self, name: str) -> Iterator[ElementTree.Element]:
        return iter(()) if self._root is None else self._root.iter(name)
