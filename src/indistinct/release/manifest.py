"""The manifest: what a release says about itself and its policy, without a cell of the private table.

Every statement is a field with its shape, who can check it, and since which format it is made. The names that a
manifest has as JSON stand here alone: everybody else reads fields. A folder that has one is a release, and is not
overwritten unless that is asked for.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    JsonValue,
    StringConstraints,
    ValidationError,
    field_validator,
    model_validator,
)

import indistinct
from indistinct.errors import LedgerError, OutputError, TableError
from indistinct.policy import Policy
from indistinct.policy.about import ABOUT
from indistinct.policy.stated_policy import (
    Count,
    Digest,
    PlainName,
    StatedMeans,
    StatedNoise,
    StatedPolicy,
    Statement,
    as_text,
)
from indistinct.recoding.classes import LINK
from indistinct.release.alone import VERIFIER as VERIFIER
from indistinct.release.alone import verifier_text as verifier_text
from indistinct.release.forms import FORMS, ONE_TABLE, Form, FormName

MANIFEST = "manifest.json"
"""The file in which a release folder says what it is."""
FORMAT = 3
"""The form of manifests that are written and read."""
Number = Annotated[float, Field(ge=0)]
Share = Annotated[float, Field(ge=0, le=1)]
Version = Annotated[
    str,
    StringConstraints(
        pattern=r"^indistinct \d{1,4}(\.\d{1,4}){0,3}((a|b|rc)\d{1,3})?(\.(post|dev)\d{1,4}){0,2}"
        r"(\+[a-z0-9.]{1,20})?$"
    ),
]
Salt = Annotated[str, StringConstraints(pattern="^[0-9a-f]{32}$")]
Reader = Literal["recipient", "policy", "original", "nobody"]


@dataclass(frozen=True, slots=True)
class CheckedBy:
    """Who can check a statement: every recipient, who also has the policy or the original, or nobody."""

    by: Reader
    unchecked: str = ""
    """What is said of whom it cannot be checked by, in words that follow "what the manifest says of"."""
    since: int = FORMAT


class StatedPeople(Statement):
    """How many people a release is about, and how many of them it leaves out, wholly or in part."""

    eligible: Count
    released: Count
    lost_rows: Count
    lost_all_rows: Count
    smallest_group: Count
    smallest_profile: Count | None = None


class StatedRows(Statement):
    """The columns of a released table, how it is written, and of several tables the rows of each."""

    columns: tuple[str, ...]
    delimiter: Annotated[str, StringConstraints(min_length=1, max_length=1)] | None = None
    eligible: Count | None = None
    released: Count | None = None
    suppressed: Count | None = None


class StatedSearch(Statement):
    """Whether the search saw sensitive values, and whether chance decided on its answer."""

    blind: bool
    randomised: bool


class StatedLimits(Statement):
    """The limits of the run."""

    max_tuples: Count | None = None
    time_limit: int | float | None = None

    @model_validator(mode="after")
    def _is_one(self) -> Self:
        if self.max_tuples is None and not (self.time_limit is not None and self.time_limit >= 0):
            raise ValueError("there is no limit")
        return self


@dataclass(frozen=True, slots=True)
class MadeWith:
    """The algorithm with its options, what its search was, and the limits of the run."""

    algorithm: str
    options: Mapping[str, Any]
    search: StatedSearch
    limits: StatedLimits | None = None
    based: Literal[True] | None = None
    """Measures begin at the labels of the release that this one is based on."""


class StatedDraws(Statement):
    """How rows were drawn at random: both parts of ε, δ, the probability of being drawn, k and the candidates."""

    epsilon: Number
    epsilon_of_levels: Number
    delta: Number
    sampled: Number
    k: Count
    candidates: Count


class StatedHistories(Statement):
    """How many events of a person may be known together, how many there were, and how many of people who stay are
    dropped.
    """

    together: Count
    dropped: Count
    events: Count


class StatedShifts(Statement):
    """By how many days at most dates moved."""

    days: Count


class StatedPerturbation(Statement):
    """How the numbers of a column were perturbed."""

    microaggregate: StatedMeans | None = None
    noise: StatedNoise | None = None


class StatedCheck(Statement):
    """A check as the maker's recount made it: its sentence is made when it is shown."""

    id: Annotated[str, StringConstraints(pattern=r"^[a-z_]+(\.[a-z0-9_-]+){1,2}$")]
    passed: bool
    numbers: dict[str, JsonValue]


class StatedKnown(Statement):
    """What whoever knows ``known`` columns finds, over all sets of that size."""

    on: str
    known: Count
    columns: Count
    sets: Count
    smallest: Count


class StatedVerdict(Statement):
    """What the maker's recount found."""

    passed: bool
    rows: Count
    groups: Count
    smallest_group: Count
    known: tuple[StatedKnown, ...] | None = None
    checks: tuple[StatedCheck, ...]


Levels = dict[str, Count]


class Facts(Statement):
    """What a release says of itself, also before it is written."""

    form: Annotated[FormName, CheckedBy("recipient")]
    eligible: Annotated[Count, CheckedBy("original")]
    released: Annotated[Count, CheckedBy("recipient")]
    suppressed: Annotated[Count, CheckedBy("original", "how many rows were suppressed")]
    groups: Annotated[Count, CheckedBy("recipient")]
    smallest_group: Annotated[Count, CheckedBy("recipient")]
    people: Annotated[StatedPeople | None, CheckedBy("nobody", "how many people it is about")] = None
    tables: Annotated[dict[str, StatedRows], CheckedBy("recipient")]
    link: Annotated[str | None, CheckedBy("recipient")] = None
    not_protected: Annotated[str | None, CheckedBy("recipient")] = None
    node: Annotated[Levels | None, CheckedBy("original", "the level of each column")] = None
    level_names: Annotated[dict[str, str] | None, CheckedBy("recipient")] = None
    mean_levels: Annotated[
        dict[str, Number] | None, CheckedBy("original", "how far columns were generalized on average")
    ] = None
    heights: Annotated[Levels, CheckedBy("recipient")]
    start_node: Annotated[Levels | None, CheckedBy("nobody", "at which levels it was counted")] = None
    unreadable: Annotated[Levels | None, CheckedBy("original", "how many cells could not be read")] = None
    perturbations: Annotated[dict[str, StatedPerturbation] | None, CheckedBy("recipient")] = None
    dates_moved: Annotated[StatedShifts | None, CheckedBy("recipient")] = None
    drawn: Annotated[
        StatedDraws | None,
        CheckedBy("nobody", "how its rows were drawn, but for the numbers that follow from the policy"),
    ] = None
    histories: Annotated[
        StatedHistories | None, CheckedBy("nobody", "how many events of people who stay were dropped")
    ] = None
    measures: Annotated[dict[PlainName, Number], CheckedBy("original")]
    is_proven: Annotated[bool | None, CheckedBy("nobody", "whether that proved it to be the best")] = None
    gap: Annotated[Share | None, CheckedBy("nobody", "how far it can be from the best")] = None
    bound: Annotated[
        dict[PlainName, Share] | None,
        CheckedBy("nobody", "what no release of its kind could lose less than, but that it does not lose less itself"),
    ] = None
    is_cut_short: Annotated[Literal[True] | None, CheckedBy("nobody", "whether a limit ended the search")] = None
    algorithm: Annotated[PlainName, CheckedBy("nobody", "by which algorithm")]
    options: Annotated[dict[PlainName, JsonValue], CheckedBy("nobody", "with which options")]
    search: Annotated[StatedSearch, CheckedBy("recipient")]
    limits: Annotated[StatedLimits | None, CheckedBy("nobody", "within which limits")] = None
    pseudonym_salt: Annotated[Salt | None, CheckedBy("nobody", "the salt of its pseudonyms")] = None
    ledger_head: Annotated[Digest | None, CheckedBy("nobody", "where its ledger ended before it")] = None
    based: Annotated[
        Literal[True] | None,
        CheckedBy("nobody", "its measures, which begin at the labels of the release that it is based on"),
    ] = None
    policy_sha256: Annotated[Digest, CheckedBy("policy")]

    @property
    def shape(self) -> Form:
        """Which tables the release has, and everything that follows from it."""
        return FORMS[self.form]

    @property
    def levels(self) -> Mapping[str, float]:
        """The level of each quasi column, on average where cells climb one by one."""
        return self.node if self.node is not None else self.mean_levels or {}

    @field_validator("bound")
    @classmethod
    def _is_by_one_measure(cls, bound: dict[str, float] | None) -> dict[str, float] | None:
        if bound is not None and len(bound) != 1:
            raise ValueError("a bound is by one measure")
        return bound

    @field_validator("link")
    @classmethod
    def _is_the_link(cls, link: str | None) -> str | None:
        if link not in (None, LINK):
            raise ValueError("two tables are linked by another column")
        return link


class Manifest(Facts):
    """What the folder of a release says: its facts, its policy, its recount and its files."""

    format: Annotated[Literal[3], CheckedBy("recipient")] = 3
    made_by: Annotated[Version, CheckedBy("nobody", "by which version")]
    made_at: Annotated[str, CheckedBy("nobody", "when it was made")]
    about: Annotated[dict[str, str] | None, CheckedBy("nobody", "its purpose and who decided on it")] = None
    policy: Annotated[StatedPolicy, CheckedBy("policy")]
    verdict: Annotated[StatedVerdict, CheckedBy("recipient")]
    unsafe: Annotated[Literal[True] | None, CheckedBy("recipient")] = None
    verifier: Annotated[Digest | None, CheckedBy("recipient")] = None
    files: Annotated[dict[str, Digest], CheckedBy("recipient")]

    @classmethod
    def of(
        cls,
        facts: Facts,
        policy: Policy,
        *,
        verdict: StatedVerdict,
        files: Mapping[str, str],
        verifier: str | None = None,
        is_unsafe: bool = False,
    ) -> Manifest:
        """Return the manifest of a release that is written now."""
        return cls(
            **dict(facts),
            made_by=f"indistinct {indistinct.__version__}",
            made_at=datetime.now(UTC).isoformat(timespec="seconds"),
            about=dict(policy.about) or None,
            policy=StatedPolicy.of(policy),
            verdict=verdict,
            unsafe=True if is_unsafe else None,
            verifier=verifier,
            files=dict(files),
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the manifest as JSON takes it, what it is first; what is not said is left out."""
        said = Facts.to_dict(self)
        first = ("format", "made_by", "made_at", "about")
        return {name: said[name] for name in first if name in said} | said

    @property
    def text(self) -> str:
        """The one text of the manifest."""
        return json.dumps(self.to_dict(), indent=2, ensure_ascii=False) + "\n"

    @field_validator("made_at")
    @classmethod
    def _is_moment(cls, said: str) -> str:
        moment = datetime.fromisoformat(said)
        if moment.utcoffset() != timedelta(0) or moment.isoformat(timespec="seconds") != said:
            raise ValueError("a manifest is made at whole seconds of UTC")
        return said

    @field_validator("about")
    @classmethod
    def _is_about(cls, said: dict[str, str] | None) -> dict[str, str] | None:
        if said is not None and not (said and said.keys() <= ABOUT.keys()):
            raise ValueError("nothing else is said of a release")
        return said

    def table_files(self, folder: Path) -> dict[str, Path]:
        """Return the paths of the tables by name; raise a ValueError if they are not of this form."""
        return {table: folder / file for table, file in self.shape.of_files(list(self.files)).items()}


class RememberedDraws(BaseModel):
    """What a release of drawn rows spent."""

    epsilon: float
    delta: float


class RememberedManifest(BaseModel):
    """What a ledger reads of the manifests that it keeps; what an entry does not say is None."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    form: FormName | None = None
    algorithm: str | None = None
    released: int | None = None
    suppressed: int | None = None
    smallest_group: int | None = None
    drawn: RememberedDraws | None = None
    ledger_head: str | None = None
    files: dict[str, str] | None = None

    @property
    def shape(self) -> Form:
        """Which tables the release had; one, where nothing says it."""
        return FORMS[self.form] if self.form is not None else ONE_TABLE

    @classmethod
    def of(cls, document: Mapping[str, Any]) -> RememberedManifest:
        """Read a stored manifest; raise a LedgerError if it is none."""
        try:
            return cls.model_validate(document)
        except ValidationError:
            raise LedgerError("an entry holds what is no manifest; see ledger verify") from None


def who_checks(name: str) -> CheckedBy:
    """Return who can check a statement."""
    return next(one for one in Manifest.model_fields[name].metadata if isinstance(one, CheckedBy))


def read_manifest(folder: Path) -> Manifest:
    """Read the manifest of a release folder; raise a TableError if it does not say what one must say, as it says it."""
    path = folder / MANIFEST
    wrong: list[str] = []
    try:
        text = path.read_text("utf-8")
        said = json.loads(text, object_pairs_hook=_once_each, parse_constant=_refuse, parse_float=_finite)
        if isinstance(said, dict) and "format" in said and as_text(said["format"]) != as_text(FORMAT):
            raise TableError(f"{path} is of a format that this version does not know; use the one that made it")
        found = Manifest.model_validate_json(text)
        found.table_files(folder)
        if as_text(said) == as_text(found.to_dict()):
            return found
    except ValidationError as error:
        named = {str(one["loc"][0]) for one in error.errors(include_input=False, include_url=False) if one["loc"]}
        wrong = sorted(named & Manifest.model_fields.keys())
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        pass
    told = f" ({', '.join(wrong)})" if wrong else ""
    raise TableError(f"{path} is no manifest of a release{told}; give the table file itself instead")


def _once_each(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Take the statements of a manifest; of two of one name, readers believe different ones."""
    said = dict(pairs)
    if len(said) < len(pairs):
        raise ValueError("a name occurs twice")
    return said


def _refuse(_: str) -> Any:
    raise ValueError("not a number")


def _finite(text: str) -> float:
    number = float(text)
    return number if math.isfinite(number) else _refuse(text)


SIGNATURE = "manifest.json.sig"
"""The Ed25519 signature over the bytes of the manifest, if whoever made a release signed it."""
SIGNATURE_BYTES = 64
CROISSANT, RO_CRATE = "croissant.json", "ro-crate-metadata.json"
"""What catalogues of data read of a release; a folder may hold both."""


def has_manifest(place: object) -> bool:
    """Return whether this is the path of a release folder."""
    return isinstance(place, str | Path) and (Path(place) / MANIFEST).is_file()


def file_digest(path: Path) -> str:
    """Return the SHA-256 of a file as a manifest states it; of a folder, that of the names and digests of its files."""
    if path.is_dir():
        parts = [(place.relative_to(path).as_posix(), place) for place in path.rglob("*") if place.is_file()]
        listed = "".join(f"{file_digest(place)}  {name}\n" for name, place in sorted(parts))
        return hashlib.sha256(listed.encode()).hexdigest()
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def is_known_verifier(digest: str) -> bool:
    """Return whether a program with this digest is the one of this version."""
    return digest == hashlib.sha256(verifier_text().encode()).hexdigest()


def refuse_occupied(folder: Path, replace: bool = False) -> None:
    """Raise an OutputError if a release cannot be written at this place; cheap, so it can be asked beforehand."""
    if len(folder.parts) > 1 and len(folder.parts[0]) > 2 and folder.parts[0].endswith(":"):
        raise OutputError(
            f"{folder.parts[0]}// is no folder here; write to storage that is mounted as a folder, or in Python by "
            "release.publish, or write release.table with Spark and verify what it wrote"
        )
    if folder.exists() and not folder.is_dir():
        raise OutputError(f"{folder} is a file; name a folder for the release")
    if folder.is_dir() and any(folder.iterdir()):
        if not (folder / MANIFEST).is_file():
            raise OutputError(f"{folder} is not empty; name a new folder for the release")
        if not replace:
            raise OutputError(f"{folder} already holds a release; name another folder, or say replace (--replace)")
        if beside := sorted(_names_in(folder) - _names_of_release(folder)):
            raise OutputError(
                f"{folder} also holds {beside[0]!r}, which replacing the release would remove; move it elsewhere first"
            )
    parent = next(place for place in (folder.absolute().parent, *folder.absolute().parents) if place.exists())
    if not parent.is_dir() or not os.access(parent, os.W_OK | os.X_OK):
        raise OutputError(f"{parent} cannot be written to; name a folder elsewhere")


def _names_in(folder: Path) -> set[str]:
    return {place.name for place in folder.iterdir()}


def _names_of_release(folder: Path) -> set[str]:
    """Return the names of the files that belong to the release in a folder."""
    try:
        said = read_manifest(folder)
        own = {MANIFEST, SIGNATURE, CROISSANT, RO_CRATE, *said.files}
        return own | (set() if said.verifier is None else {VERIFIER})
    except TableError:
        return {MANIFEST, SIGNATURE}
