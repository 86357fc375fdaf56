"""Opened: the tables that the steward works on, where they lie, and what their columns hold."""

from __future__ import annotations

import re
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import indistinct as ix
from indistinct.engine import open_table
from indistinct.errors import PolicyError, TableError
from indistinct.examples import EXAMPLES, save_examples
from indistinct.hierarchy import from_spec
from indistinct.pipeline.suggesting import Answers, Decision, five_decisions, linked_suggestion, policy_by, reasons
from indistinct.pipeline.suggesting import suggestion as suggest
from indistinct.policy.linked_tables import TABLE
from indistinct.profiling import MOST_DISTINCT, Profile, comments
from indistinct.progress import Watch
from indistinct.report import LabelCounts, count_labels
from indistinct.studio.settings import Choice, Settings, Spec
from indistinct.studio.widgets.previews import Preview, text_cells

LONGEST_STEM = 100
"""Bytes of a file's name before its ending; file systems take 255 with both."""
LONGEST_ENDING = 20
SHOWN_ROWS = 20
TIED = "ties the tables together: a pseudonym is released in its place, if any"
Head = tuple[tuple[str, ...], list[list[str]]]
"""The columns of a table and its first rows."""


@dataclass(slots=True, kw_only=True)
class Opened(Settings):
    """Tables beside what was decided about them; their values are read when somebody asks for them."""

    folder: Path
    """Private and temporary: uploads and downloads lie here."""
    tables: dict[str, str] = field(default_factory=dict)
    """Where each table lies, by its name in the policy."""
    heads: dict[str, Head] = field(default_factory=dict)
    sizes: dict[str, int] = field(default_factory=dict)
    """The rows of each table."""
    awaited: str = ""
    """A policy file whose tables are not all open yet."""
    decisions: tuple[Decision, ...] = ()
    """The questions that matter most, each with what its answers cost; asked for on the first page."""
    counted_before: dict[str, LabelCounts] = field(default_factory=dict)
    """The rows of each value, of the columns that were asked for."""
    _profile: Profile | None = None

    @property
    def original(self) -> Any:
        """What is open, as everything takes it: the path of one table, or that of each by name."""
        return self.form.as_given(self.tables)

    @property
    def rows(self) -> int:
        """The rows of all tables."""
        return sum(self.sizes.values())

    @property
    def name(self) -> str:
        """What to call what is open."""
        return ", ".join(Path(path).name for path in self.tables.values())

    def open_files(self, given: str | Path | Mapping[str, str], text: str, watch: Watch) -> None:
        """Read tables, and take over the policy of a file, or what they look like if there is none."""
        named = {TABLE: str(given)} if isinstance(given, str | Path) else dict(given)
        if not named or not all(path.strip() for path in named.values()):
            raise TableError("give the path of a table, such as /data/patients.csv")
        paths = {name: str(Path(path.strip()).expanduser()) for name, path in named.items()}
        watch.report("open")
        heads: dict[str, Head] = {}
        sizes: dict[str, int] = {}
        profiles: dict[str, Profile] = {}
        with ExitStack() as stack:
            for name, path in paths.items():
                rows = stack.enter_context(open_table(path))
                first = rows.head(SHOWN_ROWS)
                heads[name], sizes[name] = (tuple(first.column_names), text_cells(first)), rows.count()
                if text or TABLE in paths:
                    profiles[name] = ix.profile(rows, watch=watch)
        said: tuple[str, ...] = ()
        if not text and TABLE in paths:
            made = suggest(profiles[TABLE], watch=watch)
            profiles, said = {TABLE: made.profile}, tuple(reasons(made.profile, made.policy, made.weighed))
            text = ix.policy_toml(made.policy)
        elif not text:
            linked = linked_suggestion(paths, watch=watch)
            profiles, said, text = dict(linked.profiles), linked.reasons, ix.policy_toml(linked.policy)
        fresh = Settings(columns=_choices(heads, profiles))
        fresh.take_policy(text)
        for path in set(self.tables.values()) - set(paths.values()):
            self._remove_upload(path)
        self.tables, self.heads, self.sizes, self.awaited = paths, heads, sizes, ""
        self.decisions, self.counted_before, self._profile = (), {}, profiles.get(TABLE)
        self.columns = fresh.columns
        self.take_policy(text)
        self.reasons = said

    def take_or_await(self, text: str) -> None:
        """Take over a policy file that fits the open tables; of other tables remember which it asks for."""
        policy = ix.parse_policy(text)
        if set(policy.parts) == set(self.tables):
            self.take_policy(text)
        elif policy.tables:
            self.awaited = text
        else:
            raise PolicyError("the policy describes one table; open that one first")

    @property
    def awaited_tables(self) -> dict[str, str]:
        """The tables that a policy file asks for, each with its path if it is open."""
        return (
            {}
            if not self.awaited
            else {name: self.tables.get(name, "") for name in ix.parse_policy(self.awaited).parts}
        )

    def with_another(self, path: str) -> dict[str, str]:
        """Return the open tables and one more, each by a name that a policy can call it."""
        found = {name: one for name, one in self.tables.items() if name != TABLE}
        for one in (*(self.tables[name] for name in self.tables if name == TABLE), path):
            stem = re.sub("[^A-Za-z0-9_-]+", "_", Path(one.strip()).name.partition(".")[0]) or "other"
            names = (stem, *(f"{stem}_{number}" for number in range(2, len(found) + 3)))
            found[next(name for name in names if name not in found and name != TABLE)] = one
        return found

    def ask(self, watch: Watch | None = None) -> None:
        """Work out the questions that matter most, and what each answer costs on a sample."""
        if self._profile is None:
            raise PolicyError("open one table first")
        found = []
        for decision in five_decisions(self._profile, watch=watch):
            found.append(decision)
            (watch or Watch()).report("questions", len(found), 5)
        self.decisions = tuple(found)

    def answer(self, texts: Mapping[str, str], watch: Watch | None = None, *, k: str = "") -> None:
        """Take over the policy that follows from answers; what is not answered is left as it was guessed.

        A text is the number of a way, or names columns; ``k`` is a size that none of the ways has.
        """
        answers = Answers()
        for decision in self.decisions:
            way = decision.read(texts.get(decision.asked, ""))
            if decision.asked == "k" and k.strip():
                way = decision.read_size(k)
            answers = answers.with_one(decision, way)
        made = policy_by(self.original, answers, watch=watch)
        fresh = _choices(self.heads, {TABLE: made.profile})
        self.columns, self._profile, self.decisions = fresh, made.profile, ()
        self.take_policy(ix.policy_toml(made.policy))
        self.reasons = (*answers.said, *reasons(made.profile, made.policy, made.weighed))

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
        place = Path(self.tables.get(TABLE, "")).parent
        return place.name if place.parent == self.folder / "examples" else None

    def keep_upload(self, name: str) -> Path:
        """Return the private path that an uploaded file is saved at, in a folder of its own."""
        place = self.folder / "uploads"
        place.mkdir(exist_ok=True, mode=0o700)
        return Path(tempfile.mkdtemp(dir=place)) / file_name(name)

    def _remove_upload(self, path: str) -> None:
        """Remove an uploaded file that is not needed any more."""
        if Path(path).parent.parent == self.folder / "uploads":
            shutil.rmtree(Path(path).parent, ignore_errors=True)

    def count_values(self, names: Sequence[str]) -> dict[str, LabelCounts]:
        """Return the rows of each value of some columns; those with too many are left out, and each is read once."""
        known = self.counted_before
        asked = [
            self.columns[name] for name in names if name not in known and self.columns[name].distinct <= MOST_DISTINCT
        ]
        for table in dict.fromkeys(choice.table for choice in asked):
            own = {choice.own: choice.name for choice in asked if choice.table == table}
            with open_table(self.tables[table]) as rows:
                known |= {own[name]: counts for name, counts in count_labels(rows, list(own)).items()}
        return {name: known[name] for name in names if name in known}

    def preview(self, name: str, spec: Spec) -> Preview:
        """Climb the values of a column by a hierarchy; raise if they do not fit it."""
        hierarchy = from_spec(spec, Path())
        counts = self.columns[name].read(hierarchy, self.values(name))
        return Preview.of(hierarchy, list(counts), counts)

    def values(self, name: str) -> LabelCounts:
        """Return the rows of each distinct value of a column; raise if they are too many."""
        found = self.count_values([name])
        if name not in found:
            raise TableError(f"{name}: has more than {MOST_DISTINCT:,} distinct values, too many to show")
        return dict(sorted(found[name].items(), key=lambda one: (one[0] is None, one[0] or "")))


def _choices(heads: Mapping[str, Head], profiles: Mapping[str, Profile]) -> dict[str, Choice]:
    """Return what profiles suggest for each column of each table, by the names of their policy."""
    found = {}
    for table, (names, _) in heads.items():
        profile = profiles.get(table)
        known = {} if profile is None else {one.name: one for one in profile.columns}
        why = {} if profile is None else comments(profile)
        for own in names:
            name = own if TABLE in heads else f"{table}.{own}"
            choice = Choice(name, "identifier", reason=TIED, table=table, own=own)
            if (one := known.get(own)) is not None:
                spec = None if one.hierarchy is None else one.hierarchy.spec()
                choice = replace(
                    choice, role=one.role, hierarchy=spec, reason=why[own], distinct=one.distinct, missing=one.missing
                )
            found[name] = choice
    return found


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
