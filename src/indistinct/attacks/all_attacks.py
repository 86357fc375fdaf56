"""All attacks: every attack that applies to a release and what it finds, for whoever answers for the data.

For each attack it says what somebody was assumed to know, what was found, how bad that is, and what to do.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from indistinct.attacks.attack_run import GUESSES, SEVERITIES, TITLES, AttackRun, Outcome, Severity
from indistinct.errors import PolicyError

if TYPE_CHECKING:
    import os

    from indistinct.attacks.complementary.complementary_report import ComplementaryReport
    from indistinct.attacks.dependencies import DependencyReport
    from indistinct.attacks.guessing.guess_report import GuessReport
    from indistinct.attacks.homogeneity import HomogeneityReport
    from indistinct.attacks.linking.link_report import LinkReport
    from indistinct.attacks.order.unsorted_report import UnsortedReport
    from indistinct.attacks.release_names import OnePolicy
    from indistinct.attacks.sharpening.downcoding_report import DowncodingReport
    from indistinct.policy import Policy
    from indistinct.release.released_tables import ReleasedTables

KNOWN = {
    "linking": ("the release", "a table that names people, such as a voter list", "the policy's hierarchies"),
    "complementary": ("the release", "every earlier release of the same source", "the policies' hierarchies"),
    "unsorted": ("the release in the order in which it is handed out", "the other table in its order"),
    "homogeneity": ("the release", "somebody's quasi-identifier, and that they are in the release"),
    "dependencies": ("the release", "what tells what: a map or a code book, or the rows that kept a value"),
    "downcoding": ("the release", "the policy: its hierarchies, k and algorithm"),
    "refinement": ("the release", "the policy: its hierarchies, k and algorithm"),
    **dict.fromkeys(GUESSES, ("the release",)),
}
"""What somebody is assumed to hold."""

REFINING = 20.0
"""Seconds that programs may take to sharpen labels; what is found by then is true."""

TWO_TABLES = "a release of two tables generalizes nothing, and links by classes only"


def run(
    release: Any,
    policy: Policy | str | os.PathLike[str],
    *,
    earlier: Sequence[Any] | Mapping[str, Any] = (),
    earlier_policies: OnePolicy | Sequence[OnePolicy] | None = None,
    external: Any = None,
    original: Any = None,
    most: int = 5,
    **reading: Any,
) -> AttackRun:
    """Run every attack that applies to a release, and give what a recipient could conclude.

    ``earlier`` are the earlier releases of the same source, earliest first, ``earlier_policies`` their policies if
    they had others. ``external`` is a table that names people. ``original`` is the private table: the order of its rows
    is compared, what tells what is learned from it, and it says whether guesses are right. ``most`` findings of each
    attack are described. ``reading`` goes to the engine.

    >>> import pyarrow as pa
    >>> from indistinct import KAnonymity, Policy, quasi, sensitive
    >>> policy = Policy(columns={"sex": quasi(), "ill": sensitive()}, privacy=[KAnonymity(2)])
    >>> found = run(pa.table({"sex": ["f", "f", "m", "m"], "ill": ["flu", "flu", "flu", "gout"]}), policy)
    >>> found.severity, [outcome.attack for outcome in found.outcomes]
    ('broken', ['homogeneity', 'dependencies', 'downcoding'])
    """
    from indistinct.attacks.complementary.join import complementary
    from indistinct.attacks.dependencies import dependencies
    from indistinct.attacks.homogeneity import homogeneity
    from indistinct.attacks.order.unsorted import unsorted
    from indistinct.attacks.release_names import policy_of_each, releases_by_name
    from indistinct.attacks.sharpening.downcoding import downcoding
    from indistinct.attacks.sharpening.refinement import refinement
    from indistinct.policy.load import load_policy
    from indistinct.release.released_tables import ReleasedTables

    policy = load_policy(policy, to="attack")
    before = releases_by_name(earlier)
    policies = policy_of_each(policy if earlier_policies is None else earlier_policies, len(before))
    name = Path(release).name if isinstance(release, str | Path) else "the release"
    if name in before:
        raise PolicyError(f"earlier: {name} is the release itself; give the releases before it")
    tried = _Tried(most)
    tables = ReleasedTables.of(release, policy, **reading)
    if external is None:
        tried.not_run["linking"] = "no table that names people was given"
    else:
        from indistinct.attacks.linking.link import link

        tried.add_linking(link(tables, external, policy, most=most, **reading))
    if not tables.form.generalizes:
        tried.not_run |= dict.fromkeys(
            ("complementary", "unsorted", "homogeneity", "dependencies", "downcoding", "refinement"), TWO_TABLES
        )
    else:
        if before:
            both = {**before, name: tables}
            with tried.unless_too_large("complementary"):
                tried.add_complementary(complementary(both, [*policies, policy], most=most, **reading))
        else:
            tried.not_run["complementary"] = "no earlier release was given"
        for (other, table), own in zip(before.items(), policies, strict=True):
            with tried.unless_too_large("unsorted"):
                tried.add_unsorted(other, unsorted(tables, table, policy, earlier_policy=own, **reading))
        if original is not None:
            with tried.unless_too_large("unsorted"):
                tried.add_unsorted("the original", unsorted(tables, original, policy, **reading))
        elif not before:
            tried.not_run["unsorted"] = "neither the original nor an earlier release was given"
        if policy.with_role("sensitive"):
            tried.add_homogeneity(homogeneity(tables, policy, most=most, **reading))
        else:
            tried.not_run["homogeneity"] = "the policy has no sensitive column"
        if policy.with_role("sensitive", "other"):
            tried.add_dependencies(dependencies(tables, policy, original=original, **reading))
        else:
            tried.not_run["dependencies"] = "no column is released as it is"
        tried.add_sharpening(downcoding(tables, policy, most=most, **reading))
        refined = refinement(tables, policy, most=most, time_limit=REFINING, **reading)
        if refined.programs:
            tried.add_sharpening(refined)
        else:
            tried.not_run["refinement"] = "its groups together tell no more than each by itself, which downcoding shows"
    tried.guess(tables, policy, original, **reading)
    order = list(SEVERITIES)
    outcomes = sorted(tried.outcomes, key=lambda one: (order.index(one.severity), list(TITLES).index(one.attack)))
    return AttackRun(name, tuple(outcomes), tried.not_run)


class _Tried:
    """Collects the outcomes of attacks, and why others did not apply."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.outcomes: list[Outcome] = []
        self.not_run: dict[str, str] = {}

    @contextmanager
    def unless_too_large(self, attack: str) -> Iterator[None]:
        """Note that an attack did not run, if its tables have too many pairs of rows; the others go on."""
        from indistinct.attacks.complementary.chains import TooManyPairsError

        try:
            yield
        except TooManyPairsError as error:
            self.not_run[attack] = str(error)

    def guess(self, tables: ReleasedTables, policy: Policy, original: Any, **reading: Any) -> None:
        """Try every attack that guesses; the original says who is right."""
        from indistinct.attacks.guessing.definetti import definetti
        from indistinct.attacks.guessing.inference import inference
        from indistinct.attacks.guessing.minimality import minimality
        from indistinct.attacks.guessing.singling_out import singling_out

        attacks: dict[str, Callable[..., GuessReport]] = {
            "inference": inference,
            "minimality": minimality,
            "definetti": definetti,
            "singling_out": singling_out,
        }
        if not policy.with_role("sensitive"):
            attacks = {"singling_out": singling_out}
            self.not_run |= {name: "the policy has no sensitive column" for name in GUESSES if name not in attacks}
        for name, attack in attacks.items():
            try:
                if original is None:
                    raise PolicyError("the original was not given, which says whether guesses are right")
                if not tables.form.generalizes and name == "minimality":
                    raise PolicyError(TWO_TABLES)
                self.add_guess(attack(tables, policy, original, **reading))
            except PolicyError as error:
                self.not_run[name] = str(error)

    def add_guess(self, report: GuessReport) -> None:
        """Add how often guesses are right."""
        figures: dict[str, float] = {}
        for guess in report.guesses:
            figures |= {
                f"{guess.what}: guesses": guess.people,
                f"{guess.what}: right": guess.right,
                f"{guess.what}: right by the control": guess.control_right,
            }
        found = _severity(False, bool(report.found))
        self._add(report.attack, report, found, figures, report.sentences[: self.most], assumed=report.assumed)

    def add_homogeneity(self, report: HomogeneityReport) -> None:
        """Add what groups tell about sensitive values."""
        from indistinct.attacks.homogeneity import PLURALS

        figures: dict[str, float] = {"groups": report.groups}
        many = PLURALS[report.unit]
        for column in report.columns:
            figures[f"{many} that share their {column.column} with their whole group"] = column.same_rows
            figures[f"{many} of groups that nearly all share one {column.column}"] = column.alike_rows
        is_some = any(column.alike_rows for column in report.columns)
        self._add(
            "homogeneity",
            report,
            _severity(report.is_broken, is_some),
            figures,
            [finding.sentence for finding in report.findings],
        )

    def add_dependencies(self, report: DependencyReport) -> None:
        """Add what columns that are released as they are tell about generalized ones."""
        figures = {
            "columns that tell others": len(report.columns),
            "rows that stand alone by them": report.alone,
            "rows among fewer than k by them": report.below_k,
        }
        sentences = [one.sentence for one in report.columns]
        self._add("dependencies", report, _severity(report.is_broken, report.below_k > 0), figures, sentences)

    def add_sharpening(self, report: DowncodingReport) -> None:
        """Add what labels tell about what lies below them, each by itself or all together."""
        figures = {
            "generalized cells": report.generalized_cells,
            "cells whose lower label is known": report.sharpened_cells,
            "smallest crowd that follows": report.smallest_crowd,
            "k": report.k,
        }
        self._add(
            report.name,
            report,
            _severity(False, bool(report.kinds) and (report.sharpened_cells > 0 or report.smallest_crowd < report.k)),
            figures,
            [finding.sentence for finding in report.findings],
            assumed=tuple(report.assumed.values()),
        )

    def add_complementary(self, report: ComplementaryReport) -> None:
        """Add what follows from several releases."""
        figures = {
            "releases": len(report.releases),
            "k": report.k,
            "combinations of labels that fewer than k rows have": report.below_k,
            "crowds of fewer than k that are in some of the releases only": report.kinds.get("absent", 0),
            "of these that are somebody's, if what is assumed is true": report.certain,
            "rows at risk": report.rows_at_risk,
            "rows that may be at risk": report.rows_possibly_at_risk,
        }
        self._add(
            "complementary",
            report,
            _severity(report.is_broken, bool(report.kinds)),
            figures,
            [finding.sentence for finding in report.findings],
            assumed=report.assumed,
        )

    def add_unsorted(self, against: str, report: UnsortedReport) -> None:
        """Add what order tells."""
        figures = {
            "rows": report.rows,
            "positions that agree": report.agreeing,
            "positions that agree in random order": round(report.expected, 1),
            "rows disclosed": report.disclosed,
        }
        self._add(
            "unsorted",
            report,
            _severity(report.disclosed > 0, report.is_telling),
            figures,
            [f"{signal.what}, by chance {_seldom(signal.chance)}" for signal in report.signals if signal.is_telling],
            against=against,
        )

    def add_linking(self, report: LinkReport) -> None:
        """Add who of another table fits whom."""
        from indistinct.attacks.linking.link_report import sentence

        figures = {
            f"released {report.unit}s": report.rows,
            "people of the other table": report.people,
            f"{report.unit}s that fit one person who fits no other {report.unit}": report.one_to_one,
            f"{report.unit}s that fit one person only": report.unique_rows,
            "expected right guesses": round(report.expected_matches, 2),
        }
        self._add(
            "linking",
            report,
            _severity(report.one_to_one > 0, report.unique_rows > 0 or report.unique_people > 0),
            figures,
            [sentence(group, report.unit) for group in report.worst],
        )

    def _add(
        self,
        attack: str,
        report: Any,
        severity: Severity,
        figures: Mapping[str, float],
        findings: Sequence[str],
        against: str | None = None,
        assumed: tuple[str, ...] = (),
    ) -> None:
        known = (*KNOWN[attack], *(f"assumed: {one}" for one in assumed))
        self.outcomes.append(
            Outcome(
                attack,
                against,
                severity,
                report.summary,
                known,
                figures,
                tuple(findings),
                report.advice,
                report.scope,
                report,
            )
        )


def _severity(is_broken: bool, is_some: bool) -> Severity:
    return "broken" if is_broken else "something" if is_some else "nothing"


def _seldom(chance: float) -> str:
    """Say how seldom something comes by chance.

    >>> _seldom(0.002), _seldom(1e-20)
    ('once in 500 tables', 'less than once in a million tables')
    """
    return f"once in {1 / chance:,.0f} tables" if chance >= 1e-6 else "less than once in a million tables"
