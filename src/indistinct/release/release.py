"""Release: the table that may leave the house, what is known about it, and how it is written."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from dataclasses import replace as replace_fields
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Unpack

from indistinct.atomic_files import flush_all, whole_folder
from indistinct.engine import Rows
from indistinct.policy import Policy
from indistinct.policy.stated_policy import policy_digest
from indistinct.proof.checks import Check
from indistinct.proof.verdict import Verdict, verify
from indistinct.quality import all_measures
from indistinct.recoding import Recoding
from indistinct.recoding.classes import LINK, not_protected
from indistinct.release.forms import Form
from indistinct.release.manifest import (
    MANIFEST,
    VERIFIER,
    Facts,
    MadeWith,
    Manifest,
    StatedDraws,
    StatedHistories,
    StatedPeople,
    StatedPerturbation,
    StatedRows,
    StatedShifts,
    file_digest,
    refuse_occupied,
    verifier_text,
)
from indistinct.release.object_store import is_store, send_release
from indistinct.release.on_server import publish_parts
from indistinct.release.released_tables import Claims, ReleasedTables
from indistinct.release.signature import private_key, sign_manifest

if TYPE_CHECKING:
    import pyarrow as pa

    from indistinct.report import ReportOptions


class Release:
    """A generalized table in fresh random order, with the facts that its recipients may know.

    ``table`` is of the kind that came in. ``verdict`` is what the last recount found. ``node`` gives the level of each
    column, or is None where an algorithm generalizes cell by cell. ``entry`` is its number in a ledger, if it has one.
    """

    def __init__(
        self,
        parts: Mapping[str, Rows],
        recoding: Recoding,
        policy: Policy,
        made_with: MadeWith,
        people: Sequence[Check] = (),
        salt: str | None = None,
    ) -> None:
        """Take the released rows; ``people`` is what was counted on them while they said whose they are.

        ``made_with`` is what decided on it beside the policy. ``salt`` is what the holder needs, beside the key that
        she keeps, to make the pseudonyms anew.
        """
        self.policy = policy
        self.recoding = recoding
        self.form: Form = policy.form.made_of(recoding.form)
        self.algorithm = made_with.algorithm
        self.made_with = made_with
        self.verdict: Verdict | None = None
        self._recount: Verdict | None = None
        """What the last recount without the original found: all that a recipient can find as well."""
        self.entry: int | None = None
        self.signed_by: str | None = None
        """The fingerprint of the key that the release was signed with when it was written."""
        self.ledger_head: str | None = None
        """The head of the ledger that the release is entered in, before its entry; its manifest states it."""
        self.node: Mapping[str, int] | None = recoding.levels
        self.suppressed: int = recoding.suppressed_rows
        self._held = tuple(parts.values())
        self._parts = {name: self._under_new_names(name, rows) for name, rows in parts.items()}
        self._people = tuple(people)
        self._salt = salt
        self._tables: dict[str, Any] = {}

    def _under_new_names(self, table: str, rows: Rows) -> Rows:
        """Return the rows of a table as they leave the house, with the names that the policy gives their columns."""
        new = self.policy.renamed_in(table)
        return rows.with_names({name: new[name] for name in rows.columns() if name in new}) if new else rows

    @property
    def table(self) -> Any:
        """The released table, of the kind that came in (an Arrow table for a file)."""
        return self.tables[self.form.only_table(self._parts)]

    @property
    def tables(self) -> Mapping[str, Any]:
        """The released tables by name: ``table``, ``quasi`` and ``sensitive``, or those that the policy names."""
        for name, rows in self._parts.items():
            if name not in self._tables:
                self._tables[name] = rows.to_native()
        return self._tables

    @property
    def parts(self) -> Mapping[str, Rows]:
        """The released rows by the table's name, for whoever counts them where they are."""
        return self._parts

    def head(self, rows: int) -> dict[str, Any]:
        """Return the first rows of each released table as an Arrow table, without fetching the others."""
        return {name: part.head(rows) for name, part in self._parts.items()}

    @cached_property
    def measures(self) -> Mapping[str, float]:
        """The figure of every measure that the release may state; measured when they are asked for."""
        figures = all_measures(self.recoding)
        return {name: float(value) for name, value in figures.items() if self.recoding.tells_measure(name)}

    @property
    def facts(self) -> Facts:
        """What the release says about itself: counts, levels and measures; no cell of the private table."""
        recoding, policy, made_with = self.recoding, self.policy, self.made_with
        frequencies, people, is_apart = recoding.frequencies, recoding.people_facts(policy), not self.form.generalizes
        perturbed, shifts = policy.describe_perturbations(), list(policy.shifted.values())
        sizes = recoding.stated_sizes
        return Facts(
            form=self.form.title,
            eligible=recoding.rows,
            released=recoding.released_rows,
            suppressed=recoding.suppressed_rows,
            groups=len(sizes),
            smallest_group=int(sizes.min(initial=recoding.rows)),
            people=None if people is None else StatedPeople(**asdict(people)),
            tables=self._stated_tables(),
            link=LINK if is_apart else None,
            not_protected=not_protected(policy) if is_apart else None,
            node=None if recoding.levels is None else {name: int(level) for name, level in recoding.levels.items()},
            level_names=recoding.level_names,
            mean_levels=recoding.average_levels,
            heights=self._by_column(frequencies.heights),
            start_node=self._by_column(frequencies.lowest) if any(frequencies.lowest) else None,
            unreadable=dict(frequencies.unreadable or {}) or None,
            perturbations={name: StatedPerturbation(**one) for name, one in perturbed.items()} or None,
            dates_moved=StatedShifts(days=shifts[0].days) if shifts else None,
            drawn=None if recoding.draws is None else StatedDraws(**recoding.draws),
            histories=None if recoding.known_events is None else StatedHistories(**recoding.known_events),
            measures=dict(self.measures),
            is_proven=recoding.is_proven,
            gap=None if recoding.is_proven is None and recoding.bound is None else recoding.gap,
            bound=None if recoding.bound is None else dict(recoding.bound),
            is_cut_short=True if recoding.states_cut_short else None,
            algorithm=made_with.algorithm,
            options=dict(made_with.options),
            search=made_with.search,
            limits=made_with.limits,
            based=made_with.based,
            pseudonym_salt=self._salt,
            ledger_head=self.ledger_head,
            policy_sha256=policy_digest(policy),
        )

    def _by_column(self, levels: Sequence[int]) -> dict[str, int]:
        return {name: int(level) for name, level in zip(self.recoding.frequencies.columns, levels, strict=True)}

    def _stated_tables(self) -> dict[str, StatedRows]:
        """Return the columns of each table, how it is written, and of several tables the rows of each."""
        rows_of = self.recoding.rows_by_table(list(self.policy.parts))
        return {
            name: StatedRows(
                columns=tuple(rows.columns()), delimiter=held.format().get("delimiter"), **rows_of.get(name, {})
            )
            for (name, rows), held in zip(self._parts.items(), self._held, strict=True)
        }

    def join(self) -> pa.Table:
        """Return the join of both tables, as a recipient makes it: each person beside each value of the class.

        Only a release of two tables has one. Source: Wong et al. 2007, Table 7.
        """
        return self.released_tables().join()

    def released_tables(self) -> ReleasedTables:
        """Return the released rows where they are, with what the release says of itself, to whoever judges it."""
        recoding, is_drawn = self.recoding, self.recoding.draws is not None
        claims = Claims(
            None if is_drawn else recoding.suppressed_rows,
            recoding.levels,
            recoding.levels is None,
            None if is_drawn else dict(recoding.frequencies.unreadable or {}),
            policy_digest(self.policy),
        )
        return ReleasedTables(
            self._parts,
            claims,
            saying=lambda: self.facts,
            form=self.form,
            renamed={name: self.policy.renamed_in(name) for name in self._parts},
            is_release=True,
        )

    def verify(self, original: Any = None, **reading: Any) -> Verdict:
        """Recount the released cells; with the original also prove that they are true."""
        verdict = verify(self.released_tables(), self.policy, original=original, **reading)
        self.verdict = verdict.with_people(self._people)
        if original is None:
            self._recount = self.verdict
        return self.verdict

    def write(
        self,
        folder: str | os.PathLike[str],
        *,
        replace: bool = False,
        allow_unsafe: bool = False,
        verifier: bool = False,
        sign: Any = None,
        metadata: bool = False,
        spreadsheet_safe: bool = False,
        before_naming: Callable[[Path], None] | None = None,
    ) -> Path:
        """Write the table and its manifest as a folder, whole or not at all.

        What was written is read again and recounted before it gets its name, so a folder under that name is always a
        verified release. A folder that holds something already is refused, unless ``replace`` is given. A release that
        failed its recount is written only if ``allow_unsafe`` is given, and its manifest says that it is unsafe.
        With ``verifier`` the folder also holds ``verify.py``, which recounts it without this package; with ``metadata``
        what catalogues of data read, ``croissant.json`` and ``ro-crate-metadata.json``; with ``sign``, a private key or
        its file, ``manifest.json.sig``, which tells who made it. What is unsafe is never signed. With
        ``spreadsheet_safe`` what came as text (CSV) leaves as an Excel workbook in which every text is a text: a cell
        that begins with ``=`` is then no formula to whoever opens it, and no cell was changed for that.
        ``before_naming`` is called with the finished folder before that gets its name; if it raises, nothing is left.
        """
        goal = Path(folder)
        refuse_occupied(goal, replace)
        key = None if sign is None else private_key(sign)
        self._recount_once()
        assert self.verdict is not None  # that sets both
        assert self._recount is not None
        is_unsafe = not self.verdict.passed
        if not allow_unsafe or key is not None:
            self.verdict.raise_if_failed()
        made = _missing_parents(goal)
        try:
            with whole_folder(goal, replace=replace) as staging:
                written = [
                    rows.write(staging, name, "excel" if spreadsheet_safe and rows.kind == "csv" else None)
                    for name, rows in self._parts.items()
                ]
                files = {path.name: file_digest(path) for path in written}
                if verifier:
                    (staging / VERIFIER).write_text(verifier_text(), "utf-8", newline="")
                content = Manifest.of(
                    _in_workbooks(self.facts) if spreadsheet_safe else self.facts,
                    self.policy,
                    verdict=(self.verdict if is_unsafe else self._recount).to_statement(),
                    files=files,
                    verifier=file_digest(staging / VERIFIER) if verifier else None,
                    is_unsafe=is_unsafe,
                )
                (staging / MANIFEST).write_text(content.text, "utf-8", newline="")
                self.signed_by = None if key is None else sign_manifest(staging, key)
                if metadata:
                    from indistinct.release.catalogue_records import write_metadata

                    write_metadata(staging)
                again = verify(staging, self.policy, **self._reading())  # the very bytes that will leave the house
                if not is_unsafe or _what_failed(again) != _what_failed(self.verdict):
                    again.raise_if_failed()
                flush_all(staging)  # before anything is entered elsewhere
                refuse_occupied(goal, replace)  # somebody else may have written there in the meantime
                if before_naming is not None:
                    before_naming(staging)
                staging.chmod(0o755)
        finally:
            if not goal.exists():
                _remove_empty(made)
        return goal

    def publish(self, table: str, *, replace: bool = False) -> str:
        """Write the release to a table of the database where its rows are, or to an object store, and return its name.

        ``s3://bucket/place`` and what else Arrow writes to get the files of ``write``, the manifest last.

        ``table`` is ``schema.name``, or an address in the same database. The table is made under another name and
        recounted there, its manifest is kept with it (its comment), and it gets its name in the same transaction: it
        appears whole and verified, or not at all. A table that is there is replaced only if ``replace`` is given, and
        only if it is a release. Of two tables each has its name behind that one.
        """
        if is_store(table):
            return send_release(self.write, table, replace=replace)
        self._recount_once()
        assert self.verdict is not None  # that sets both
        assert self._recount is not None
        self.verdict.raise_if_failed()
        stated = self._recount.to_statement()

        def recount(parts: Mapping[str, Rows]) -> Manifest:
            verify(replace_fields(self.released_tables(), sources=parts), self.policy).raise_if_failed()
            return Manifest.of(self.facts, self.policy, verdict=stated, files={})

        self._parts, written = publish_parts(self._parts, table, replace=replace, recount=recount)
        return written

    def _recount_once(self) -> None:
        """Recount the released cells if nobody did, and keep a verdict that knows more."""
        if self.verdict is None or self._recount is None:
            proved = self.verdict
            recounted = self.verify()
            self.verdict = recounted if proved is None else proved

    def report(
        self,
        path: str | os.PathLike[str],
        *,
        edition: Literal["internal", "public"] = "internal",
        title: str = "Release report",
        **options: Unpack[ReportOptions],
    ) -> Path:
        """Write what is known about the release as one page of HTML that needs nothing else and runs nothing.

        The internal edition describes the private table, with ``original`` also its sensitive columns, and proves the
        release against it. The public edition is made from the release alone. ``external`` is a table that names
        people, to link with; ``earlier`` are earlier releases of the same source; ``population`` is the number of
        people that the table was drawn from, or a table of them; ``ledger`` is a Ledger or its path, whose entries
        the internal edition lists; ``about`` says of the ``data``, the ``purpose``, the ``recipient`` and who decided
        (``decided_by``) what the policy does not. Other options go to the engine: memory_limit, threads and the like.
        """
        from indistinct.report import write_report

        return write_report(path, self, self.policy, edition=edition, title=title, **options)

    def _reading(self) -> dict[str, Any]:
        """Return the options with which files are read where the rows of this release are."""
        return next(iter(self._parts.values())).reading()

    def close(self) -> None:
        """Let go of the engine and its temporary files."""
        for rows in (*self._parts.values(), *self._held):
            rows.close()

    def __enter__(self) -> Release:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        facts = self.facts
        state = "unverified" if self.verdict is None else "verified" if self.verdict.passed else "FAILED"
        rows, least = self.form.rows, f"{facts.smallest_group}"
        others = "drawn at random" if facts.drawn is not None else f"{self.suppressed} suppressed"
        if people := facts.people:
            rows, least = f"{rows} of {people.released} people", f"{people.smallest_group} people"
            least += "" if people.smallest_profile is None else f" and {people.smallest_profile} with all their rows"
        if self.form.units == "people":
            rows, least = f"{rows} in {len(self._parts)} tables", f"{facts.smallest_group} people"
        known = f"{self.verdict.known_in_words}, " if self.verdict is not None and self.verdict.known else ""
        return (
            f"Release({facts.released} {rows}, {facts.groups} {self.form.nouns} of at least {least}, {known}"
            f"{others}, precision {self.measures['precision']:.4f}, {state})"
        )

    def _repr_html_(self) -> str:
        """Return the release as a notebook shows it: what it says of itself, and no cell."""
        from indistinct.showing.notebook import card, table

        facts = self.facts
        mark = "not verified yet" if self.verdict is None else "✓ verified" if self.verdict.passed else "✗ FAILED"
        figures: dict[str, Any] = {
            "rows released": facts.released,
            "left out": "a secret" if facts.drawn is not None else facts.suppressed,
            self.form.nouns: facts.groups,
            "in the smallest": facts.smallest_group,
            "precision": facts.measures["precision"],
        }
        if people := facts.people:
            figures |= {
                "people released": people.released,
                "lost rows": people.lost_rows,
                "people in the smallest": people.smallest_group,
            }
            if people.smallest_profile is not None:
                figures["people with one profile"] = people.smallest_profile
        names = facts.level_names or {}
        rows = [
            [name, round(level, 2), facts.heights[name], names.get(name, "") if level else "as it is"]
            for name, level in facts.levels.items()
        ]
        titles = ["column", "level" if facts.node else "level on average", "of", "released as"]
        return card("Release", f"{mark} · {self.algorithm}", figures, table(titles, rows))


def _in_workbooks(facts: Facts) -> Facts:
    """Return what a release states when its tables are written as workbooks, where cells have no delimiter."""
    tables = {name: table.model_copy(update={"delimiter": None}) for name, table in facts.tables.items()}
    return facts.model_copy(update={"tables": tables})


def _what_failed(verdict: Verdict) -> set[str]:
    return {check.name for check in verdict.checks if not check.passed}


def _missing_parents(goal: Path) -> list[Path]:
    """Return the folders above the goal that do not exist yet, innermost first."""
    return [place for place in goal.absolute().parents if not place.exists()]


def _remove_empty(folders: list[Path]) -> None:
    """Remove folders that were made for a release which was not written."""
    for folder in folders:
        with contextlib.suppress(OSError):
            folder.rmdir()
