"""Work: what the steward has opened, decided and made so far, and everything that can be done with it; no page here."""

from __future__ import annotations

import math
import shutil
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import indistinct as ix
from indistinct.engine import open_table
from indistinct.errors import ExposedError, PolicyError, TableError
from indistinct.examples import EXAMPLES
from indistinct.pipeline.held_out import algorithm_that_made
from indistinct.pipeline.suggesting import suggestion
from indistinct.progress import Watch
from indistinct.registry import DEFAULT_ALGORITHM
from indistinct.report import LabelCounts, count_released, three_questions, write_report
from indistinct.studio.context_said import DOCUMENTED, part
from indistinct.studio.jobs import Job
from indistinct.studio.opened import Opened
from indistinct.studio.settings import Choice
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
    from indistinct.profiling import Profile
    from indistinct.release import Release
    from indistinct.search import Frontier, Solution

SHOWN_ROWS = 20
MOST_DRAWN = 1500
"""Combinations of levels that a picture can hold."""
FEW_ROWS = 50
"""Smaller tables start with k = 2: with 5, hardly anything of an example would be left."""
FEW_QUASI = 4
"""Of no more quasi columns all solutions can be seen, and one of them picked."""
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
    lattice: Frontier | None = None
    """What every combination of levels costs at the policy's k, to be drawn; None where it cannot be."""
    frontier: Frontier | None = None
    comparison: Comparison | None = None
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
    released_head: list[tuple[str, tuple[str, ...], list[list[str]]]] = field(default_factory=list)
    """The first rows of each released table: its name, its columns and its cells."""
    job: Job | None = None
    _counted_after: dict[str, LabelCounts] | None = None
    _released_text: str = ""
    _made_by: str = ""
    """What the cells of the release follow from."""
    _using: threading.RLock = field(default_factory=threading.RLock)
    """Held while a thread reads the release: its engine serves one at a time."""
    _explored_text: dict[str, str] = field(default_factory=dict)

    def open(self, path: str | Path, watch: Watch | None = None) -> None:
        """Open a table and take over what its columns look like."""
        watch = watch or Watch()
        text = str(path).strip()
        if not text:
            raise TableError("give the path of a table, such as /data/patients.csv")
        text = str(Path(text).expanduser())
        watch.report("open")
        with open_table(text) as rows:
            profile = ix.profile(rows, watch=watch)
            first = rows.head(SHOWN_ROWS)
        self._forget()
        self._remove_upload(self.table)
        policy, profile = self._suggest(profile, watch)
        self.table, self.rows = text, profile.rows
        self.head = tuple(first.column_names), text_cells(first)
        self.columns = {
            one.name: Choice(
                one.name,
                one.role,
                None if one.hierarchy is None else one.hierarchy.spec(),
                1.0,
                one.reason,
                one.distinct,
                one.missing,
            )
            for one in profile.columns
        }
        self.more, self.person_said = {}, None
        self.take_policy(ix.policy_toml(policy))

    def _suggest(self, profile: Profile, watch: Watch) -> tuple[Policy, Profile]:
        """Return the policy that ``init`` writes; of a table as small as those of the papers the one that they ask."""
        if profile.rows >= FEW_ROWS:
            made = suggestion(profile, watch=watch)
            return made.policy, made.profile
        small = ix.suggested_policy(profile, 2, 1, diverse=False)
        few = small if len(small.quasi) > FEW_QUASI else replace(small, algorithm=DEFAULT_ALGORITHM, options={})
        return few, profile

    def open_example(self, name: str, watch: Watch | None = None) -> None:
        """Open one of the papers' tables."""
        example = next(one for one in EXAMPLES if one.name == name)
        self.open(self.example_files(name)[0], watch)
        assert example.name == name

    def _forget(self) -> None:
        """Let go of everything that belongs to the table that was open."""
        with self._using:
            if self.release is not None:
                self.release.close()
            self.release, self.released_head = None, []
        self.frontier, self.lattice, self.comparison, self.solutions = None, None, None, []
        self.linked, self.attacked, self.risks, self.is_accepted = None, None, None, False
        self.utility, self.model = None, None
        self._values, self._explored_text = {}, {}
        self.counted_before, self._counted_after = {}, None

    def start(self, title: str, work: Callable[[Watch], Any]) -> Job:
        """Run something long beside the pages; one at a time."""
        if self.job is not None and self.job.is_running:
            raise PolicyError(f"{self.job.title} is still running; wait, or cancel it")
        self.job = Job(title, work).start()
        return self.job

    def anonymize(self, watch: Watch | None = None) -> None:
        """Make a release of the table by the policy, and prove it against the original."""
        policy, made_by = self.policy(), (self.policy_text(), self._cells_by())
        release = ix.anonymize(self.table, policy, watch=watch)
        try:
            (watch or Watch()).report("verify")
            release.verify(self.table).raise_if_failed()
        except BaseException:
            release.close()
            raise
        self._take(release, *made_by)

    def _take(self, release: Release, text: str, cells_by: str) -> None:
        head = [
            (name, tuple(first.column_names), text_cells(first)) for name, first in release.head(SHOWN_ROWS).items()
        ]
        with self._using:
            if self.release is not None:
                self.release.close()
            self.release, self._released_text, self.released_head = release, text, head
            self._made_by = cells_by
            self._counted_after = None
        self.linked, self.attacked, self.risks, self.is_accepted = None, None, None, False
        self.utility, self.model = None, None

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
        found = ix.solutions(self.table, policy, watch=watch)
        heights = found[0].heights.values()
        is_small = math.prod(height + 1 for height in heights) <= MOST_DRAWN
        self.solutions, self.lattice = found, self._lattice(policy, watch) if is_small else None
        self._explored_text["solutions"] = text

    def _lattice(self, policy: Policy, watch: Watch | None) -> Frontier | None:
        """Return what every combination of levels costs, if k-anonymity is all that is asked."""
        ks = [model.k for model in policy.privacy if isinstance(model, ix.KAnonymity)]
        if len(ks) < len(policy.privacy) or len(policy.quasi_identifiers or ()) > 1:
            return None
        return ix.frontier(self.table, policy, ks=[max(ks)], watch=watch)

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
        """Work out what every k and every suppression limit would cost."""
        text = self._question()
        self.frontier = ix.frontier(self.table, self.policy(), watch=watch)
        self._explored_text["frontier"] = text

    def compare(self, algorithms: Sequence[str], watch: Watch | None = None) -> None:
        """Run several algorithms on the table."""
        text = self._question()
        self.comparison = ix.compare(self.table, self.policy(), algorithms=list(algorithms), watch=watch)
        self._explored_text["comparison"] = text

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
        """Open another table that names people."""
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
            self.attacked = ix.attacks.run(release, release.policy, original=self.table, watch=watch)
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
            released = release.tables.get("table", release.tables.get("quasi"))
            before = ix.risk(self.table, policy.quasi, person=policy.person_columns or None, most=2, watch=watch)
            after = ix.risk(released, policy.quasi, policy=policy, most=1, watch=watch)
        self.risks = before, after

    def measure_utility(self, formulas: Sequence[str], target: str | None, watch: Watch | None = None) -> None:
        """Compare analyses of the release with those of the private table; with a target also train models of it."""
        with self._use_release() as release:
            found = ix.utility(release, self.table, regressions=formulas, watch=watch)
            policy, made_by = release.policy, algorithm_that_made(release.facts)
        model = None
        if target is not None:
            model = ix.model_utility(self.table, policy, target, algorithm=made_by, watch=watch)
        self.utility, self.model = found, model

    def released_columns(self) -> list[str]:
        """Return the columns of the release that stand in the private table as well."""
        names = [name for _, columns, _ in self.released_head for name in columns]
        return [name for name in names if name in self.columns]

    def explain_row(self, row: int) -> RowRisk:
        """Return why a row of the private table is at risk under the policy, and what would help."""
        return ix.explain_row(self.table, self.policy(), row)

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
                self.table, policy, recipient=recipient, purpose=purpose, key=key, watch=watch, review=review or None
            )
        self._take(release, *made_by)

    def check_ledger(self, recipient: str, key: Sequence[str] | None = None, watch: Watch | None = None) -> Linked:
        """Return what a release would reveal together with earlier ones."""
        if self.ledger_url is None:
            raise PolicyError("open a ledger first")
        with ix.Ledger(self.ledger_url) as ledger:
            return ledger.check(self.table, self.policy(), recipient=recipient, key=key, watch=watch)

    def write(self, folder: str, replace: bool = False) -> Path:
        """Write the release as a folder on this machine."""
        self._refuse_held_back()
        if not folder.strip():
            raise PolicyError("give the path of a folder for the release")
        with self._use_release() as release:
            return release.write(Path(folder.strip()).expanduser(), replace=replace)

    def archive(self) -> Path:
        """Return the release folder as one ZIP file."""
        self._refuse_held_back()
        with self._use_release() as release:
            place = self.folder / "download"
            shutil.rmtree(place, ignore_errors=True)
            release.write(place / "release")
            return Path(shutil.make_archive(str(place / "release"), "zip", place / "release"))

    def _refuse_held_back(self) -> None:
        """Raise if attacks expose people of the release and nobody decided that it leaves."""
        if self.is_held_back and self.attacked is not None:
            raise ExposedError(f"{self.attacked.summary}; mend the policy, or decide on Download that it leaves")

    def report(self, edition: Literal["internal", "public"] = "internal") -> Path:
        """Return the report of the release as one HTML file; the public edition does not look at the private table."""
        with self._use_release() as release:
            place = self.folder / "report"
            shutil.rmtree(place, ignore_errors=True)
            place.mkdir(mode=0o700)
            goal, policy = place / "report.html", self._said_now()
            if edition == "public":
                return write_report(goal, release, policy, edition="public")
            return write_report(goal, release, policy, original=self.table, external=self._linked_with)

    @property
    def _linked_with(self) -> str | None:
        """The table that names people, if the release was linked with it."""
        return None if self.external is None or self.linked is None else self.external.path

    def dossier(self) -> Path:
        """Return the documents that people sign as one ZIP file."""
        from indistinct.documents import dossier

        with self._use_release() as release:
            place = self.folder / "documents"
            shutil.rmtree(place, ignore_errors=True)
            place.mkdir(mode=0o700)
            found = dossier(release, self._said_now(), original=self.table, external=self._linked_with)
            found.write(place / "dossier")
            return Path(shutil.make_archive(str(place / "dossier"), "zip", place / "dossier"))

    def close(self) -> None:
        """Cancel what runs, and let go of the release."""
        if self.job is not None:
            self.job.cancel()
            self.job.wait(5)
        self._forget()


def pair_by_meaning(ours: Iterable[str], theirs: Sequence[str]) -> dict[str, str]:
    """Return the column of another table that seems to say the same as each of ours, the first of several.

    >>> pair_by_meaning(["DOB", "job"], ["name", "DateOfBirth"])
    {'DOB': 'DateOfBirth'}
    """
    by_meaning = {_meaning(name): name for name in reversed(theirs)}
    return {name: by_meaning[_meaning(name)] for name in ours if _meaning(name) in by_meaning}


def _meaning(name: str) -> str:
    """Return what a column's name says, whatever its spelling.

    >>> _meaning("DateOfBirth") == _meaning("DOB"), _meaning("Party")
    (True, 'party')
    """
    plain = "".join(letter for letter in name.casefold() if letter.isalnum())
    return next((names[0] for names in SAME_MEANING if plain in names), plain)
