"""Work: what the steward has opened, decided and made so far, and everything that can be done with it; no page here."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import indistinct as ix
from indistinct.engine import open_table
from indistinct.errors import ExposedError, InterruptedSearchError, OutputError, PolicyError
from indistinct.pipeline.comparison import ENDS_AFTER
from indistinct.pipeline.held_out import algorithm_that_made
from indistinct.progress import Watch
from indistinct.report import LabelCounts, count_released, three_questions, write_report
from indistinct.studio.jobs import Job
from indistinct.studio.opened import SHOWN_ROWS, Head, Opened
from indistinct.studio.settings import DOCUMENTED, part
from indistinct.studio.widgets.previews import text_cells

if TYPE_CHECKING:
    from indistinct.attacks import AttackRun, LinkReport
    from indistinct.data_utility import Utility
    from indistinct.disclosure_risk import OverallRisk, Risk, RowRisk
    from indistinct.ledger import Entry, Linked
    from indistinct.ledger.store import Spending
    from indistinct.pipeline.held_out import ModelUtility
    from indistinct.pipeline.trials import Comparison
    from indistinct.policy import Policy
    from indistinct.release import Release
    from indistinct.search import Frontier, Solution

NO_MAP = {"utility": "", "formula": "", "ks": ""}
SAME_MEANING = (
    ("birth", "dob", "birthdate", "birthday", "dateofbirth", "born", "geburtsdatum"),
    ("sex", "gender", "geschlecht"),
    ("zip", "zipcode", "postcode", "postalcode", "plz"),
    ("race", "ethnicity"),
)
"""Names of columns that say the same, so that columns of two tables find each other."""


@dataclass(slots=True)
class External:
    """Another table, to link a release with."""

    path: str
    columns: tuple[str, ...]
    rows: int


@dataclass(slots=True, kw_only=True)
class Work(Opened):
    """One steward's work. Long methods take a Watch and run in a Job; a method that fails leaves all as it was."""

    ledger_url: str | None = None
    release: Release | None = None
    solutions: list[Solution] = field(default_factory=list)
    frontier: Frontier | None = None
    comparison: Comparison | None = None
    map_asked: dict[str, str] = field(default_factory=lambda: dict(NO_MAP))
    """What is asked of a map of risk and utility, as it was typed."""
    external: External | None = None
    linked: LinkReport | None = None
    attacked: AttackRun | None = None
    is_accepted: bool = False
    """Somebody decided that the release leaves although attacks expose people."""
    risks: tuple[Risk, Risk] | None = None
    """Before and after."""
    utility: Utility | None = None
    model: ModelUtility | None = None
    """A learner trained on releases like this one."""
    released_heads: dict[str, Head] = field(default_factory=dict)
    made: dict[str, Path] = field(default_factory=dict)
    """What was made of the release to be taken home, by its name."""
    job: Job | None = None
    _counted_after: dict[str, LabelCounts] | None = None
    _released_text: str = ""
    _made_by: str = ""
    """What the cells of the release follow from."""
    _using: threading.RLock = field(default_factory=threading.RLock)
    """Held while a thread reads the release: its engine serves one at a time."""
    _explored_text: dict[str, str] = field(default_factory=dict)

    def open(self, given: str | Path | Mapping[str, str], watch: Watch | None = None, *, text: str = "") -> None:
        """Open a table, or several that belong together, by a policy file or by what their columns look like."""
        self.open_files(given, text, watch or Watch())
        self._forget()

    def open_example(self, name: str, watch: Watch | None = None) -> None:
        """Open one of the papers' tables, by the policy of the paper."""
        table, policy, _ = self.example_files(name)
        self.open(table, watch, text=policy.read_text("utf-8"))

    def _forget(self) -> None:
        """Let go of everything that belongs to the tables that were open."""
        with self._using:
            if self.release is not None:
                self.release.close()
            self.release, self.released_heads, self._released_text, self._made_by = None, {}, "", ""
        self.frontier, self.comparison, self.solutions = None, None, []
        self._explored_text, self.map_asked = {}, dict(NO_MAP)
        self._forget_findings()

    def _forget_findings(self) -> None:
        """Let go of everything that belongs to the release that was made."""
        self.linked, self.attacked, self.risks, self.is_accepted = None, None, None, False
        self.utility, self.model, self.made, self._counted_after = None, None, {}, None

    def start(self, title: str, work: Callable[[Watch], Any]) -> Job:
        """Run something long beside the pages; one at a time."""
        if self.job is not None and self.job.is_running:
            raise PolicyError(f"{self.job.title} is still running; wait, or cancel it")
        self.job = Job(title, work).start()
        return self.job

    def run(self, watch: Watch | None = None) -> None:
        """Make a release, prove it and try every attack on it; a release stands if only the attacks are cancelled."""
        self.anonymize(watch)
        try:
            self.attack(watch)
        except InterruptedSearchError:
            return

    def anonymize(self, watch: Watch | None = None) -> None:
        """Make a release by the policy, and prove it against the original."""
        policy, made_by = self.policy(), (self.policy_text(), self._cells_by())
        release = ix.anonymize(self.original, policy, watch=watch)
        try:
            (watch or Watch()).report("verify")
            release.verify(self.original).raise_if_failed()
        except BaseException:
            release.close()
            raise
        self._take(release, *made_by)

    def _take(self, release: Release, text: str, cells_by: str) -> None:
        first = release.head(SHOWN_ROWS)
        heads = {name: (tuple(rows.column_names), text_cells(rows)) for name, rows in first.items()}
        with self._using:
            if self.release is not None:
                self.release.close()
            self.release, self._released_text, self.released_heads = release, text, heads
            self._made_by = cells_by
            self._forget_findings()

    def count_released(self) -> dict[str, LabelCounts]:
        """Count the rows of each label of the released quasi and sensitive columns; they are counted once."""
        with self._using:
            if self._counted_after is None and self.release is not None:
                with self.release.released_tables().rows() as tables:
                    self._counted_after = count_released(tables, self.release.policy)
            return self._counted_after or {}

    @contextmanager
    def _use_release(self) -> Iterator[Release]:
        """Return the release to one thread at a time."""
        with self._using:
            if self.release is None:
                raise PolicyError("make a release first")
            yield self.release

    @property
    def is_current(self) -> bool:
        """Return whether the release is what the policy now says."""
        try:
            return self.release is not None and self._made_by == self._cells_by()
        except PolicyError:
            return False

    def _said_now(self) -> Policy:
        """Return the policy of the release with what is said now of its context, which changes no cell of it."""
        assert self.release is not None  # asked while it is used
        made = self.release.policy
        if self.mistakes():
            return made
        now = self.policy()
        return replace(made, about=now.about, context=now.context, recipients=now.recipients)

    def overall_risk(self) -> OverallRisk | None:
        """Return R of the release in the context that is said now; None without a release."""
        if self.release is None:
            return None
        with self._use_release() as release:
            return ix.overall_risk(release, self._said_now())

    @property
    def released_policy_text(self) -> str:
        """The policy file that the release was made by, with what is said now of its context."""
        return self.policy_text() if self.is_current else self._released_text

    def explore(self, watch: Watch | None = None) -> None:
        """Find every k-minimal generalization."""
        text, policy = self._question(), self.policy()
        self.solutions = ix.solutions(self.original, policy, watch=watch)
        self._explored_text["solutions"] = text

    def apply(self, node: Mapping[str, int], watch: Watch | None = None) -> None:
        """Release at the levels of a solution; the policy then names them, so that every later run does the same."""
        before = self.algorithm, self.options
        self.algorithm, self.options = "chosen", {"node": dict(node)}
        try:
            self.anonymize(watch)
        except BaseException:
            self.algorithm, self.options = before
            raise

    def sweep(self, watch: Watch | None = None) -> None:
        """Work out what every k and every suppression limit would cost, of k-anonymity alone."""
        text, policy = self._question(), self.policy()
        self.frontier = ix.frontier(self.original, replace(policy, privacy=[ix.KAnonymity(2)]), watch=watch)
        self._explored_text["frontier"] = text

    def compare(
        self,
        algorithms: Sequence[str],
        watch: Watch | None = None,
        *,
        utility: str | None = None,
        ks: Sequence[int] | None = None,
    ) -> None:
        """Run several algorithms on what is open; with a utility also map what each release is worth."""
        text, outer = self._question(), watch or Watch()
        begun: dict[str, None] = {}

        def report(stage: str, done: int | None, total: int | None) -> None:
            begun.setdefault(stage.partition(": ")[0])
            outer.report(stage, len(begun), max(len(begun), len(algorithms) * len(ks or [0]) + 1))

        ending = replace(outer, progress=report).ending_after(ENDS_AFTER)
        self.comparison = ix.compare(
            self.original, self.policy(), algorithms=list(algorithms), utility=utility, ks=ks, watch=ending
        )
        self._explored_text["comparison"] = text

    def choose_k(self, k: int) -> None:
        """Decide how many people hide each other, where k-anonymity is asked."""
        self.models = [{**model, "k": k} if model["model"] == "k-anonymity" else model for model in self.models]

    def is_explored(self, what: Literal["solutions", "frontier", "comparison"]) -> bool:
        """Return whether what was explored belongs to the columns and models as they are now."""
        return self._explored_text.get(what) == self._question()

    def _question(self) -> str:
        """Return what a search is about, whichever algorithm searches."""
        said = self.content
        return repr({part: said[part] for part in said if part not in ("algorithm", "options", *DOCUMENTED)})

    def _cells_by(self) -> str:
        """Return what the cells of a release follow from; with a threshold that is enforced also its context."""
        said = self.content
        is_enforced = bool(part(said, "context").get("enforce"))
        return repr({name: said[name] for name in said if name not in DOCUMENTED or is_enforced})

    def open_external(self, path: str | Path, watch: Watch | None = None) -> None:
        """Open a table that names people, beside those that are released."""
        text = str(Path(str(path).strip()).expanduser())
        with open_table(text) as rows:
            found = External(text, rows.columns(), rows.count())
        if self.external is not None and self.external.path != text:
            self._remove_upload(self.external.path)
        self.external, self.linked = found, None

    def suggested_pairs(self) -> dict[str, str]:
        """Return the columns of the other table that seem to say the same as quasi columns of the release."""
        if self.external is None or self.release is None:
            return {}
        return pair_by_meaning(self.release.policy.quasi, self.external.columns)

    def link(self, on: Mapping[str, str], show: Sequence[str] = (), watch: Watch | None = None) -> None:
        """Link the release with the other table."""
        if self.external is None:
            raise PolicyError("open another table first")
        if not on:
            raise PolicyError("choose at least one column to link by")
        with self._use_release() as release:
            self.linked = ix.attacks.link(release, self.external.path, release.policy, on=on, show=list(show))

    @staticmethod
    def attack_titles() -> list[str]:
        """Return what all attacks together try, in words."""
        from indistinct.registry import ATTACKS

        return [kind.title for kind in ATTACKS.values() if kind.is_in_all]

    def attack(self, watch: Watch | None = None) -> None:
        """Try every attack that needs no other table: what groups, labels and the order of rows tell."""
        with self._use_release() as release:
            self.attacked = ix.attacks.run(release, release.policy, original=self.original, watch=watch)
            self.is_accepted = False

    @property
    def is_held_back(self) -> bool:
        """Attacks expose people of the release, and nobody has decided that it leaves all the same."""
        return self.attacked is not None and self.attacked.is_broken and not self.is_accepted

    def accept(self) -> None:
        """Let the release leave although attacks expose people of it."""
        self.is_accepted = True

    def measure_risk(self, watch: Watch | None = None) -> None:
        """Measure how exposed people are by the quasi columns, before and after."""
        with self._use_release() as release:
            policy = release.policy
            released = release.form.as_given(release.tables)
            after = ix.risk(released, policy=policy, most=1, watch=watch)
        before = ix.risk(self.original, policy=policy, most=2, watch=watch)
        self.risks = before, after

    def measure_utility(self, formulas: Sequence[str], target: str | None, watch: Watch | None = None) -> None:
        """Compare analyses of the release with those of the private table; with a target also train models of it."""
        with self._use_release() as release:
            found = ix.utility(release, self.original, regressions=formulas, watch=watch)
            policy, made_by = release.policy, algorithm_that_made(release.facts)
        model = None
        if target is not None:
            model = ix.model_utility(self.original, policy, target, algorithm=made_by, watch=watch)
        self.utility, self.model = found, model

    def released_columns(self) -> list[str]:
        """Return the columns of the release that stand in the private table as well."""
        names = [name for columns, _ in self.released_heads.values() for name in columns]
        return [name for name in names if name in self.columns]

    def explain_row(self, row: int) -> RowRisk:
        """Return why a row of the private table is at risk under the policy, and what would help."""
        return ix.explain_row(self.original, self.policy(), row)

    def questions(self) -> list[dict[str, Any]]:
        """Return the three questions of regulators as the report has them; nothing before risks and attacks are
        known.
        """
        if self.attacked is None or self.risks is None or self.release is None:
            return []
        after = self.risks[1]
        attacks = [
            {
                "attack": one.attack,
                "summary": one.summary,
                "guesses": [guess.to_dict() for guess in getattr(one.report, "guesses", ())],
            }
            for one in self.attacked.outcomes
        ]
        attacks += [{"attack": name, "summary": why, "guesses": []} for name, why in self.attacked.not_run.items()]
        risk = [{"after": {"average": after.prosecutor.average, "highest": after.prosecutor.highest}}]
        unicity = {} if after.unicity is None else after.unicity.to_dict()
        return three_questions(attacks, risk, unicity, self.release.facts.released, is_public=False)

    def open_ledger(self, url: str, is_new: bool = False, budget: tuple[float, float] | None = None) -> None:
        """Open a ledger, or make a new one; ``budget`` is what each source may spend, an epsilon and a delta."""
        text = url.strip()
        epsilon, delta = budget or (None, None)
        (ix.Ledger.create(text, epsilon=epsilon, delta=delta) if is_new else ix.Ledger(text)).close()
        self.ledger_url = text

    def ledger_budget(self) -> Spending | None:
        """Return what each source of the ledger may spend; None without a ledger or a budget."""
        if self.ledger_url is None:
            return None
        with ix.Ledger(self.ledger_url) as ledger:
            return ledger.store.budget

    def entries(self) -> list[Entry]:
        """Return what was released before, the oldest first."""
        if self.ledger_url is None:
            return []
        with ix.Ledger(self.ledger_url) as ledger:
            return ledger.entries

    def enter(
        self,
        recipient: str,
        purpose: str,
        key: Sequence[str] | None = None,
        watch: Watch | None = None,
        *,
        review: str | None = None,
    ) -> None:
        """Make the release once more, checked against earlier ones, and enter it in the ledger.

        People are recognised by the columns of ``key`` together, or else by all identifiers. ``review`` is the day when
        the release is to be looked at again.
        """
        if self.ledger_url is None:
            raise PolicyError("open a ledger first")
        policy, made_by = self.policy(), (self.policy_text(), self._cells_by())
        with ix.Ledger(self.ledger_url) as ledger:
            release = ledger.anonymize(
                self.original, policy, recipient=recipient, purpose=purpose, key=key, watch=watch, review=review or None
            )
        self._take(release, *made_by)

    def check_ledger(self, recipient: str, key: Sequence[str] | None = None, watch: Watch | None = None) -> Linked:
        """Return what a release would reveal together with earlier ones."""
        if self.ledger_url is None:
            raise PolicyError("open a ledger first")
        with ix.Ledger(self.ledger_url) as ledger:
            return ledger.check(self.original, self.policy(), recipient=recipient, key=key, watch=watch)

    def write(self, folder: str, replace: bool = False) -> Path:
        """Write the release as a folder on this machine."""
        self._refuse_held_back()
        if not folder.strip():
            raise PolicyError("give the path of a folder for the release")
        with self._use_release() as release:
            return release.write(Path(folder.strip()).expanduser(), replace=replace)

    def make(self, name: str, watch: Watch | None = None) -> None:
        """Make something to take home, by the name of its file."""
        makers: dict[str, Callable[[Path, Release, Watch], Path]] = {
            "release.zip": self._archive,
            "dossier.zip": self._dossier,
            "report.html": self._report,
            "report-public.html": self._public_report,
        }
        if name == "release.zip":
            self._refuse_held_back()
        with self._use_release() as release:
            place = self.folder / "made" / name
            shutil.rmtree(place, ignore_errors=True)
            place.mkdir(mode=0o700, parents=True)
            self.made[name] = makers[name](place, release, watch or Watch())

    def made_file(self, name: str) -> Path:
        """Return what was made to be taken home; raise if it was not, or may not leave any more."""
        if name == "release.zip":
            self._refuse_held_back()
        if name not in self.made:
            raise OutputError(f"{name} is not made yet; make it on Download")
        return self.made[name]

    def _archive(self, place: Path, release: Release, watch: Watch) -> Path:
        """Write the release folder as one ZIP file."""
        watch.report("write")
        release.write(place / "release")
        return Path(shutil.make_archive(str(place / "release"), "zip", place / "release"))

    def _report(self, place: Path, release: Release, watch: Watch) -> Path:
        """Write the report, which describes the private tables too."""
        policy = self._said_now()
        return write_report(
            place / "report.html", release, policy, original=self.original, external=self._linked_with, watch=watch
        )

    def _public_report(self, place: Path, release: Release, watch: Watch) -> Path:
        """Write the report for recipients, which does not look at the private tables."""
        return write_report(place / "report.html", release, self._said_now(), edition="public", watch=watch)

    def _dossier(self, place: Path, release: Release, watch: Watch) -> Path:
        """Write the documents that people sign as one ZIP file."""
        from indistinct.documents import dossier

        policy = self._said_now()
        found = dossier(release, policy, original=self.original, external=self._linked_with, watch=watch)
        found.write(place / "dossier")
        return Path(shutil.make_archive(str(place / "dossier"), "zip", place / "dossier"))

    def _refuse_held_back(self) -> None:
        """Raise if attacks expose people of the release and nobody decided that it leaves."""
        if self.is_held_back and self.attacked is not None:
            raise ExposedError(f"{self.attacked.summary}; mend the policy, or decide on Download that it leaves")

    @property
    def _linked_with(self) -> str | None:
        """The table that names people, if the release was linked with it."""
        return None if self.external is None or self.linked is None else self.external.path

    def close(self) -> None:
        """Cancel what runs, and let go of the release."""
        if self.job is not None:
            self.job.cancel()
            self.job.wait(5)
        self._forget()


def pair_by_meaning(ours: Iterable[str], theirs: Sequence[str]) -> dict[str, str]:
    """Return the column of another table that seems to say the same as each of ours, the first of several.

    >>> pair_by_meaning(["DOB", "people.dob", "job"], ["name", "DateOfBirth"])
    {'DOB': 'DateOfBirth', 'people.dob': 'DateOfBirth'}
    """
    by_meaning = {_meaning(name): name for name in reversed(theirs)}
    meanings = {name: _meaning(name.rpartition(".")[2]) for name in ours}
    return {name: by_meaning[meaning] for name, meaning in meanings.items() if meaning in by_meaning}


def _meaning(name: str) -> str:
    """Return what a column's name says, whatever its spelling.

    >>> _meaning("DateOfBirth") == _meaning("DOB"), _meaning("Party")
    (True, 'party')
    """
    plain = "".join(letter for letter in name.casefold() if letter.isalnum())
    return next((names[0] for names in SAME_MEANING if plain in names), plain)
