"""Opened: the table that the steward works on, where it lies, and what its columns hold."""

from __future__ import annotations

import shutil
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

from indistinct.engine import open_table
from indistinct.errors import TableError
from indistinct.examples import EXAMPLES, save_examples
from indistinct.hierarchy import from_spec
from indistinct.profiling import MOST_DISTINCT
from indistinct.report import LabelCounts
from indistinct.studio.settings import Settings, Spec
from indistinct.studio.widgets.previews import Preview

LONGEST_STEM = 100
"""Bytes of a file's name before its ending; file systems take 255 with both."""
LONGEST_ENDING = 20


@dataclass(slots=True, kw_only=True)
class Opened(Settings):
    """A table beside what was decided about it; its values are read when somebody asks for them."""

    folder: Path
    """Private and temporary: uploads and downloads lie here."""
    table: str | None = None
    head: tuple[tuple[str, ...], list[list[str]]] = ((), [])
    rows: int = 0
    counted_before: dict[str, LabelCounts] = field(default_factory=dict)
    """The rows of each value, of the columns that were asked for."""
    _values: dict[str, tuple[str | None, ...]] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """What to call the table."""
        return Path(self.table).name if self.table else ""

    def example_files(self, name: str) -> list[Path]:
        """Return the files of an example, copied into the private folder: the table, the policy and the voter list."""
        example = next(one for one in EXAMPLES if one.name == name)
        place = self.folder / "examples" / name
        if not place.exists():
            save_examples(place, [example])
        return [place / file for file in example.file_names]

    @property
    def example(self) -> str | None:
        """The name of the example that is open, if one is."""
        place = Path(self.table or "").parent
        return place.name if place.parent == self.folder / "examples" else None

    def keep_upload(self, name: str) -> Path:
        """Return the private path that an uploaded file is saved at, in a folder of its own."""
        place = self.folder / "uploads"
        place.mkdir(exist_ok=True, mode=0o700)
        return Path(tempfile.mkdtemp(dir=place)) / file_name(name)

    def _remove_upload(self, path: str | None) -> None:
        """Remove an uploaded file that is not needed any more."""
        if path is not None and Path(path).parent.parent == self.folder / "uploads":
            shutil.rmtree(Path(path).parent, ignore_errors=True)

    def values(self, name: str) -> tuple[str | None, ...]:
        """Return the distinct values of a column, missing last; they are read once."""
        if name not in self._values:
            if self.columns[name].distinct > MOST_DISTINCT:
                raise TableError(f"{name}: has more than {MOST_DISTINCT:,} distinct values, too many to show")
            assert self.table is not None
            with open_table(self.table) as rows, rows.encode([name]) as encoded:
                values, found = encoded.values[name], encoded.count_by([name])
                codes = found.codes[0].tolist()
                self.counted_before[name] = dict(
                    zip([values[code] for code in codes], found.counts.tolist(), strict=True)
                )
                self._values[name] = values
        return self._values[name]

    def preview(self, name: str, spec: Spec) -> Preview:
        """Climb the values of a column by a hierarchy; raise if they do not fit it."""
        self.values(name)  # counted then
        hierarchy = from_spec(spec, Path())
        counts = self.columns[name].read(hierarchy, self.counted_before[name])
        return Preview.of(hierarchy, sorted(counts, key=lambda value: (value is None, value or "")), counts)


def file_name(name: str) -> str:
    """Return a name that every file system takes, with the ending of the one that a browser gave.

    >>> file_name("../patients.csv"), file_name("C:\\\\data\\\\a.parquet"), file_name("..")
    ('patients.csv', 'a.parquet', 'table.csv')
    >>> len(file_name(1000 * "x" + ".csv")), file_name("a\\0b.csv")
    (104, 'ab.csv')
    """
    last = name.replace("\\", "/").rpartition("/")[2]
    plain = "".join(letter for letter in last if letter.isprintable()).lstrip(". ")
    path = Path(plain or "table.csv")
    ending = path.suffix if len(path.suffix) <= LONGEST_ENDING else ""
    stem = path.name.removesuffix(ending).encode("utf-8", "ignore")[:LONGEST_STEM].decode("utf-8", "ignore")
    return (stem + ending.encode("utf-8", "ignore").decode()) or "table.csv"
