"""What every hierarchy can do: its labels, its integer form for the search, and itself drawn as a tree."""

from __future__ import annotations

import csv
import hashlib
import json
import os
import re
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import Any, ClassVar, TypeVar

from indistinct.array_types import IntArray, np
from indistinct.errors import HierarchyError

Texts = Sequence[str | None]
"""Values or labels as text; None is the missing one."""
NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
MOST_DIGITS = 400
MOST_SHOWN = 10
"""Values that a notebook shows."""

Key = TypeVar("Key", bound=Hashable)
Found = TypeVar("Found")


class UnknownValues(HierarchyError):
    """The values at hand do not fit a hierarchy; ``codes`` are the positions of those that have no label.

    The text says how many they are and never quotes one: they come from the private table.
    """

    def __init__(self, message: str, codes: Sequence[int] = ()) -> None:
        super().__init__(message)
        self.codes = tuple(codes)


@dataclass(frozen=True, slots=True, eq=False)
class CompiledHierarchy:
    """A hierarchy as integer maps, for the distinct values of one column.

    ``labels[level][code]`` is a label, ``maps[level][value code]`` the code of a value's label, and
    ``leaves[level][label code]`` the number of ground values of the domain under a label. Making one checks that
    every label has exactly one parent, as a domain generalization hierarchy demands.

    Source: Samarati 2001, Section 2.2; Sweeney 2002, Section 2.
    """

    values: tuple[str | None, ...]
    labels: tuple[tuple[str | None, ...], ...]
    maps: tuple[IntArray, ...]
    leaves: tuple[IntArray, ...]
    domain_size: int
    has_suppressed_top: bool
    level_names: tuple[str, ...]
    lowest: int = 0
    """The lowest level that may be released; levels below it are there to count from."""
    find_positions: Callable[[], IntArray | None] = field(default=lambda: None, repr=False)
    """Gives where each value stands among those of the domain in the order of numbers or dates, a missing one last;
    None if they have no such order. It is asked only by who releases ranges."""
    sort_keys: Callable[[Texts], list[Any] | None] = field(default=lambda values: None, repr=False)
    """Gives what to sort any values by: numbers or dates, None for a missing one; None if they have no such order."""
    digest: Callable[[], str] = field(default=lambda: "", repr=False)
    """Gives the digest of the hierarchy that was compiled."""
    _steps: tuple[IntArray, ...] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        steps = tuple(self._parents(level) for level in range(self.height))
        object.__setattr__(self, "_steps", steps)
        for array in (*self.maps, *self.leaves, *steps):
            array.setflags(write=False)

    @property
    def height(self) -> int:
        """The number of steps from a ground value to the top."""
        return len(self.labels) - 1

    def between(self, lowest: int, highest: int) -> CompiledHierarchy:
        """Return the hierarchy cut off above ``highest``, of which no level below ``lowest`` may be released."""
        end = highest + 1
        return replace(
            self,
            labels=self.labels[:end],
            maps=self.maps[:end],
            leaves=self.leaves[:end],
            level_names=self.level_names[:end],
            has_suppressed_top=self.has_suppressed_top and highest == self.height,
            lowest=lowest,
        )

    def step(self, level: int) -> IntArray:
        """Return the code at ``level + 1`` of the parent of each label at ``level``.

        >>> from indistinct.hierarchy import prefix
        >>> prefix(5, keep=[4, 3]).compile(["94138", "94139", "94141"]).step(0)
        array([0, 0, 1])
        """
        return self._steps[level]

    def _parents(self, level: int) -> IntArray:
        below, above = self.maps[level], self.maps[level + 1]
        parents = np.zeros(len(self.labels[level]), dtype=np.int64)
        parents[below] = above
        torn = len(np.unique(below[parents[below] != above]))
        if torn:
            raise HierarchyError(f"{torn} labels at level {level} have more than one parent; a label has exactly one")
        return parents


class Hierarchy(ABC):
    """A value's label at each level: level 0 is the value itself, the last level is one label for all.

    Hierarchies are frozen descriptions. They know no column and no table; ``compile`` turns one into integer maps
    for the values at hand. Make them with ``levels``, ``tree``, ``intervals``, ``rounding``, ``top_bottom``,
    ``prefix``, ``dates``, ``suppress`` and ``keep``.
    """

    __slots__ = ()
    kind: ClassVar[str]
    """The name of the builder, and of the hierarchy in a policy file."""
    main_option: ClassVar[str]
    """The option that a short specification gives alone, as in ``{"intervals": [5, 10]}``."""
    is_never_generalized: ClassVar[bool] = False
    top: str | None
    """The label of the suppressed top that was added, or None."""

    @property
    @abstractmethod
    def level_names(self) -> tuple[str, ...]:
        """A name for each level, level 0 first; empty where the number of levels depends on the values."""

    @abstractmethod
    def options(self) -> dict[str, Any]:
        """Return every option that differs from its default, in a form that TOML can write."""

    @abstractmethod
    def climb(self, values: Texts) -> list[Texts]:
        """Return the labels of the values at each level above 0 and below an added top; None for a missing value."""

    @property
    def height(self) -> int | None:
        """The number of levels above the values, or None where it depends on the values."""
        return len(self.level_names) - 1 if self.level_names else None

    def compile(self, values: Texts) -> CompiledHierarchy:
        """Return the integer maps for the distinct ``values`` of a column, sorted, a missing value (None) last.

        Texts are numbered by first appearance. Errors give counts and never quote a value.

        >>> from indistinct.hierarchy import suppress
        >>> compiled = suppress().compile(["female", "male"])
        >>> compiled.labels, compiled.maps[1]
        ((('female', 'male'), ('*',)), array([0, 0]))
        """
        columns = self._columns(values)
        labels: list[tuple[str | None, ...]] = [tuple(values)]
        maps = [np.arange(len(values), dtype=np.int64)]
        for column in columns[1:]:
            codes = {label: code for code, label in enumerate(dict.fromkeys(column))}
            labels.append(tuple(codes))
            maps.append(np.fromiter(map(codes.__getitem__, column), dtype=np.int64, count=len(column)))
        if len(labels[-1]) > 1 and not self.is_never_generalized:
            raise UnknownValues(
                f"the last level has {len(labels[-1])} labels for the values at hand where a hierarchy ends in one; "
                'add a coarser level, or a suppressed top with top="*"'
            )
        leaves, domain_size = self._leaves(labels, maps)
        return CompiledHierarchy(
            values=labels[0],
            labels=tuple(labels),
            maps=tuple(maps),
            leaves=leaves,
            domain_size=domain_size,
            has_suppressed_top=self.top is not None or (len(labels) > 1 and is_suppression(labels[-1])),
            level_names=self._level_names_for(values),
            find_positions=lambda: self._positions(labels[0]),
            sort_keys=self.sort_keys,
            digest=self.digest,
        )

    def all_labels(self, level: int) -> frozenset[str | None]:
        """Return the labels from a level on, of a hierarchy that lists them; of others none."""
        return frozenset()

    def lists_just(self, values: Texts) -> bool:
        """Return whether these values are listed and no others, as if the list was made from a table."""
        return False

    def unreadable(self, values: Texts) -> tuple[str, ...]:
        """Return those of the values, missing ones apart, that have no label here.

        >>> from indistinct.hierarchy import intervals
        >>> intervals(5, 10).unreadable(["39", "n/a", None])
        ('n/a',)
        """
        left = [value for value in values if value is not None]
        found: list[str] = []
        while left:
            try:
                self.climb(left)
                break
            except UnknownValues as error:
                if not error.codes:
                    break
                codes = set(error.codes)
                found += [left[code] for code in error.codes]
                left = [value for code, value in enumerate(left) if code not in codes]
        return tuple(found)

    def label(self, value: str | None, level: int) -> str | None:
        """Return the label of one value at a level.

        >>> from indistinct.hierarchy import intervals
        >>> intervals(5, 10).label("39", 2)
        '30-39'
        """
        columns = self._columns([value])
        if not 0 <= level < len(columns):
            raise HierarchyError(f"there is no level {level}; this hierarchy has levels 0 to {len(columns) - 1}")
        return columns[level][0]

    def table(self, values: Texts | None = None) -> list[list[str | None]]:
        """Return one row per value: the value, then its label at each level, the top last.

        A listed hierarchy gives all its values unless ``values`` names some; the others need ``values``.

        >>> from indistinct.hierarchy import prefix
        >>> prefix(3).table(["021", "022"])
        [['021', '02*', '0**', '*'], ['022', '02*', '0**', '*']]
        """
        if values is None:
            values = self._listed_values()
        return [list(row) for row in zip(*self._columns(values), strict=True)]

    def write_csv(self, path: str | os.PathLike[str], values: Texts | None = None, delimiter: str = ";") -> None:
        """Write ``table(values)`` as a file that ``levels`` reads; a missing value is an empty cell."""
        rows = [["" if cell is None else cell for cell in row] for row in self.table(values)]
        # A comma or semicolon inside cells could mislead a reader that has to guess the delimiter.
        has_marks = any(mark in cell for row in rows for cell in row for mark in ",;")
        with open(path, "w", encoding="utf-8", newline="") as file:
            csv.writer(
                file,
                delimiter=delimiter,
                lineterminator="\n",
                quoting=csv.QUOTE_ALL if has_marks else csv.QUOTE_MINIMAL,
            ).writerows(rows)

    def draw(self, values: Texts | None = None, *, most: int = 20) -> str:
        """Return the hierarchy as a tree of text, top first, with at most ``most`` children of a label shown.

        >>> from indistinct.hierarchy import prefix
        >>> print(prefix(3, keep=[2]).draw(["021", "022", "031"]))
        *
        ├── 02*
        │   ├── 021
        │   └── 022
        └── 03*
            └── 031
        """
        nodes = nest(row[::-1] for row in self.table(values))
        return "\n".join(
            line for label, below in nodes.items() for line in [label_text(label), *_branch_lines(below, most)]
        )

    def spec(self) -> dict[str, Any]:
        """Return the hierarchy as a policy file writes it; ``from_spec`` is the inverse.

        >>> from indistinct.hierarchy import intervals, prefix
        >>> intervals(5, 10, 20).spec()
        {'intervals': [5, 10, 20]}
        >>> prefix(5, keep=[4, 3], top=None).spec()
        {'prefix': {'length': 5, 'keep': [4, 3], 'top': False}}
        """
        options = self.options()
        if not options:
            return {self.kind: True}
        if list(options) == [self.main_option]:
            return {self.kind: options[self.main_option]}
        return {self.kind: options}

    def digest(self) -> str:
        """Return the SHA-256 of everything that decides the labels, the content of listed files included."""
        text = json.dumps([self.kind, self._content()], sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()

    def describe(self) -> dict[str, Any]:
        """Return what a public manifest may say: no ground value, and no label of a listed hierarchy.

        >>> from indistinct.hierarchy import suppress
        >>> {key: value for key, value in suppress().describe().items() if key != "sha256"}
        {'kind': 'suppress', 'height': 1, 'levels': ['value', 'suppressed']}
        """
        return {
            "kind": self.kind,
            "height": self.height,
            "levels": list(self.level_names),
            "sha256": self.digest(),
        }

    def __repr__(self) -> str:
        options = without_false(self.options())
        main = options.pop(self.main_option, [])
        parts = [repr(item) for item in (main if isinstance(main, list) else [main])]
        parts += [f"{name}={value!r}" for name, value in options.items()]
        return f"{self.kind}({', '.join(parts)})"

    def _repr_html_(self) -> str:
        """Return the hierarchy as a notebook shows it: its levels, and the first of the values that it lists."""
        from indistinct.showing.notebook import card, table

        try:
            rows = self.table()
        except HierarchyError:  # it lists none
            rows = []
        levels = list(self.level_names) or ["value", "…"]
        figures = {"levels above the values": "by the values" if self.height is None else self.height}
        if not rows:
            return card(self.kind, " → ".join(levels), figures)
        listed = table(levels, rows[:MOST_SHOWN], max(0, len(rows) - MOST_SHOWN))
        return card(self.kind, " → ".join(levels), figures | {"values": len(rows)}, listed)

    def _columns(self, values: Texts) -> list[Texts]:
        """Return the labels of the values at every level, level 0 and an added top included."""
        columns = [values, *self.climb(values)]
        if self.top is not None:
            columns.append([self.top] * len(values))
        return columns

    def _level_names_for(self, values: Texts) -> tuple[str, ...]:
        return self.level_names

    def _listed_values(self) -> Texts:
        raise HierarchyError(f"{self.kind}() lists no values of its own; say for which values")

    def _content(self) -> Any:
        return self.options()

    def _domain(self, values: Texts) -> Texts:
        """Return the ground values of the domain; here those at hand."""
        return values

    def sort_keys(self, values: Texts) -> list[Any] | None:
        """Return what to sort the values by, None for a missing one; None if they are not all numbers."""
        numbers = [None if value is None else read_number(value) for value in values]
        is_read = all(number is not None or value is None for number, value in zip(numbers, values, strict=True))
        return numbers if is_read and any(number is not None for number in numbers) else None

    def _positions(self, values: Texts) -> IntArray | None:
        """Return where each value stands among those of the domain; equal numbers stand in the order of their text."""
        domain = self._domain(values)
        keys = self.sort_keys(domain)
        if keys is None:
            return None
        present = sorted((key, value) for key, value in zip(keys, domain, strict=True) if key is not None)
        places = {value: place for place, (_, value) in enumerate(present)}
        return np.array([places.get(value, len(present)) for value in values], np.int64)

    def _leaves(
        self, labels: Sequence[tuple[str | None, ...]], maps: Sequence[IntArray]
    ) -> tuple[tuple[IntArray, ...], int]:
        """Return the number of ground values of the domain under each label, and of all."""
        domain = self._domain(labels[0])
        if len(domain) == len(labels[0]):
            counts = (np.bincount(codes, minlength=len(names)) for codes, names in zip(maps, labels, strict=True))
            return tuple(count.astype(np.int64) for count in counts), len(domain)
        columns = self._columns(domain)
        return tuple(count_leaves(column, names) for column, names in zip(columns, labels, strict=True)), len(domain)


class Computed(Hierarchy):
    """A hierarchy that computes its labels: a missing value climbs no further than the top that was added."""

    __slots__ = ()

    def _columns(self, values: Texts) -> list[Texts]:
        if self.top is None and not self.is_never_generalized and None in values:
            missing = [code for code, value in enumerate(values) if value is None]
            raise UnknownValues(
                f"a missing value has no label in {self.kind}() without a suppressed top; "
                'give it one with top="*", or fill the missing values',
                missing,
            )
        return super()._columns(values)


def count_leaves(domain: Texts, names: Texts) -> IntArray:
    """Return how often each name occurs among the labels of a domain."""
    counts = Counter(domain)
    return np.fromiter((counts[name] for name in names), dtype=np.int64, count=len(names))


def each_once(function: Callable[[Key], Found], keys: Sequence[Key | None]) -> list[Found | None]:
    """Return ``function(key)`` for every key, computed once per distinct key; None stays None.

    >>> each_once(str.upper, ["a", None, "a"])
    ['A', None, 'A']
    """
    found: dict[Key | None, Found | None] = {key: function(key) for key in set(keys) if key is not None}
    found[None] = None
    return [found[key] for key in keys]


def is_suppression(labels: Texts) -> bool:
    """Return whether there is a single label and it tells nothing: it consists of stars.

    >>> is_suppression(["*****"]), is_suppression(["person"])
    (True, False)
    """
    return len(labels) == 1 and bool(labels[0]) and set(labels[0] or "") == {"*"}


def checked_top(top: object) -> str | None:
    """Return the label of a suppressed top, or None, and refuse anything else."""
    if top is not None and not (isinstance(top, str) and top):
        raise HierarchyError(f"top must be a label or None, got {top!r}")
    return top


def top_option(top: str | None) -> dict[str, Any]:
    """Return the option that a specification needs for a top other than ``*``; False leaves the top out.

    >>> top_option("*"), top_option("any"), top_option(None)
    ({}, {'top': 'any'}, {'top': False})
    """
    return {} if top == "*" else {"top": top or False}


def top_name(top: str | None) -> tuple[str, ...]:
    """Return the name of the level that an added top makes, if it was added."""
    return () if top is None else ("suppressed",)


def without_false(written: Any) -> Any:
    """Return what a specification says with None for False, which stands for it because TOML has no None.

    >>> without_false({"bounds": [[20, False]], "top": False})
    {'bounds': [[20, None]], 'top': None}
    """
    if isinstance(written, dict):
        return {name: without_false(value) for name, value in written.items()}
    if isinstance(written, list):
        return [without_false(item) for item in written]
    return None if written is False else written


def nest(paths: Iterable[Iterable[str | None]]) -> dict[str | None, Any]:
    """Return paths that start at the root as nested dictionaries.

    >>> nest([["*", "person", "white"], ["*", "person", "black"]])
    {'*': {'person': {'white': {}, 'black': {}}}}
    """
    root: dict[str | None, Any] = {}
    for path in paths:
        node = root
        for label in path:
            node = node.setdefault(label, {})
    return root


def label_text(label: str | None) -> str:
    """Return a label for reading; a missing value has a word of its own."""
    return "(missing)" if label is None else label


def _branch_lines(nodes: dict[str | None, Any], most: int) -> list[str]:
    """Return the lines that draw what is below a label, with at most ``most`` children of each."""
    lines = []
    hidden = max(0, len(nodes) - most)
    visible = list(nodes.items())[: len(nodes) - hidden]
    for position, (label, below) in enumerate(visible, start=1):
        is_last = position == len(visible) and not hidden
        lines.append(f"{'└' if is_last else '├'}── {label_text(label)}")
        lines += [f"{' ' if is_last else '│'}   {line}" for line in _branch_lines(below, most)]
    return lines + [f"└── … {hidden} more"] * bool(hidden)


def read_number(text: str) -> Decimal | int | None:
    """Return the number that a text says, or None; spaces around it do not matter.

    >>> read_number(" 39"), read_number("39.0"), read_number("1e3"), read_number("abc")
    (39, Decimal('39.0'), Decimal('1E+3'), None)
    """
    text = text.strip()
    if len(text) > MOST_DIGITS or not text.isascii():
        return None
    if text.removeprefix("-").isdecimal():
        return int(text)
    if not NUMBER.fullmatch(text):
        return None
    number = Decimal(text)
    return number if -MOST_DIGITS < number.adjusted() < MOST_DIGITS else None
