"""The papers' own tables with a policy file and a voter list each, to try, to copy and to learn from."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.resources import as_file, files
from pathlib import Path

from indistinct.errors import OutputError


@dataclass(frozen=True, slots=True)
class Example:
    """A table of a paper and the policy that it is released under: ``name.csv`` and ``name.toml``.

    ``name-voters.csv`` is a list of voters to link releases with. Its people are made up, save Sue J. Carlson, who
    stands in Samarati's Figure 1.
    """

    name: str
    title: str
    source: str

    @property
    def file_names(self) -> tuple[str, str, str]:
        """The names of its files: the table, the policy and the voter list."""
        return f"{self.name}.csv", f"{self.name}.toml", f"{self.name}-voters.csv"

    @contextmanager
    def paths(self) -> Iterator[tuple[Path, Path]]:
        """Return the paths of the table and of the policy file, for the time of the block.

        >>> with EXAMPLES[0].paths() as (table, policy):
        ...     table.read_text().splitlines()[0]
        'Race,BirthDate,Gender,ZIP,Problem'
        """
        table, policy = (files(__name__) / name for name in self.file_names[:2])
        with as_file(table) as table_path, as_file(policy) as policy_path:
            yield table_path, policy_path


EXAMPLES = (
    Example("hospital", "Sweeney's hospital table", "Sweeney 2002, Figure 7"),
    Example("samarati", "Samarati's medical table", "Samarati 2001, Figures 1, 6 and 7"),
)


FIGURE_FILES = ("wong.csv", "wong.toml", "gt1.csv", "gt3.csv", "gt.toml")
"""What else the figures of the papers need: Table 1 of Wong et al. 2007 with its policy; and two releases of the
hospital table that undo each other, GT1 and GT3 of Sweeney's k-anonymity paper, with a policy in the labels of that."""


def save_examples(folder: Path, examples: Sequence[Example] | None = None) -> list[Path]:
    """Copy the files of examples into a folder, all or none; no file that is there already is changed.

    Without ``examples`` these are all files that the package ships, also those of the papers' other figures.
    """
    names = [name for example in (EXAMPLES if examples is None else examples) for name in example.file_names]
    goals = [folder / name for name in (*names, *(FIGURE_FILES if examples is None else ()))]
    occupied = [goal.name for goal in goals if goal.exists()]
    if occupied:
        raise OutputError(f"{folder} already holds {', '.join(occupied)}; name another folder")
    written: list[Path] = []
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for goal in goals:
            written.append(goal)
            goal.write_bytes((files(__name__) / goal.name).read_bytes())
    except OSError as error:
        for goal in written:
            goal.unlink(missing_ok=True)
        raise OutputError(f"cannot write to {folder}: {error.strerror or error}; name another folder") from None
    return goals
