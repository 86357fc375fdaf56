"""Histories: people and their events, of which others know some, judged from the released cells.

From the released tables alone: k people share each row of the table of people, and with it every set of events that may
be known. With the originals: each pseudonym stands for a person of its own, whose row and events its labels cover.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack

import numpy as np

from indistinct.array_types import BoolArray, IntArray
from indistinct.counting import Groups, Tally, encode_eligible
from indistinct.engine import Rows
from indistinct.policy import lists_people, sensitive_columns
from indistinct.policy.knows import OF_PEOPLE
from indistinct.privacy import KAnonymity
from indistinct.proof.checks import Check, claim_checks, limit_checks, model_check
from indistinct.proof.history_sets import PrivateColumn, ReleasedEvents, count_sets, count_sure
from indistinct.proof.judges.several_tables import (
    SeveralTablesJudge,
    stated_rows_checks,
)
from indistinct.proof.truth.history_people import pseudonyms_without_person
from indistinct.proof.truth.one_table import as_they_are
from indistinct.proof.truth.person_trees import Held, PersonTrees

PEOPLE_ROWS = "people's rows"
NO_ROW = -1


class _HistoriesJudge(SeveralTablesJudge):
    def people_checks(self) -> tuple[IntArray, list[Check]]:
        """Check the models on people who share a row, and the sets of events that may be known of them."""
        groups = people_groups(self.trees)
        if not len(groups):
            return np.zeros(0, np.int64), [Check("cells.rows", False)]
        sizes = np.bincount(groups).astype(np.int64)
        counted = Groups.of_sizes(sizes)
        floors = dict.fromkeys(KAnonymity(model.least_rows) for model in self.policy.privacy)
        asked = [model_check(model, counted, PEOPLE_ROWS, "profile", "person") for model in floors]
        return sizes, [*(check.in_people() for check in asked), *self._sets_checks(groups)]

    def _private_columns(self) -> list[PrivateColumn]:
        """Return who has which sensitive value that models ask about."""
        found = []
        for name in sorted({name for model in self.policy.privacy for name in sensitive_columns(model, self.policy)}):
            table, _, column = name.partition(".")
            held = self.trees.tables[table]
            texts = self.numbers.texts_of(table, column)
            most = np.ones(len(texts))
            for model in self.policy.privacy:
                rule = model.value_rule(texts) if name in sensitive_columns(model, self.policy) else None
                if rule is not None and rule.limits is not None:
                    most = np.minimum(most, rule.limits)
            pairs = np.unique(np.stack([held.persons, held.cells[column]]), axis=1)
            found.append(PrivateColumn(pairs[0], pairs[1], most, self._refusal(name, texts, pairs[1])))
        return found

    def _refusal(
        self, name: str, texts: Sequence[str | None], released: IntArray
    ) -> Callable[[IntArray, IntArray, IntArray, int], BoolArray]:
        """Return what tells which sets the models refuse that are asked of a column of the table of people."""
        models = [
            model
            for model in self.policy.privacy
            if model.name in OF_PEOPLE and name in sensitive_columns(model, self.policy)
        ]
        compiled = self.policy.columns[name].compile(texts)
        totals = np.bincount(released, minlength=len(texts)).astype(np.int64)

        def fails(sets: IntArray, values: IntArray, people: IntArray, number: int) -> BoolArray:
            tally = Tally.of(sets, values, people, texts, compiled if compiled.height else None, totals)
            groups = Groups.of_sizes(np.bincount(sets, people, number).astype(np.int64), {name: tally})
            wrong = np.zeros(number, np.bool_)
            for model in models:
                wrong |= ~model.satisfied(groups)
            return wrong

        return fails

    def _sets_checks(self, groups: IntArray) -> list[Check]:
        """Check that enough people share each set of events that may be known, and that these tell too little."""
        knows = self.policy.knows
        assert knows is not None
        names = list(self.policy.parts)
        k = max(model.least_rows for model in self.policy.privacy)
        kinds = knows.kinds(names)
        found = [(name, table) for name, table in self.trees.tables.items() if not lists_people(table.part)]
        persons = np.concatenate([table.persons for _, table in found])
        tables = np.concatenate([np.full(len(table.persons), names.index(name)) for name, table in found])
        if knows.number:
            each = [np.bincount(table.persons, minlength=len(groups)) for _, table in found]
            groups = np.unique(np.stack([groups, *each]), axis=1, return_inverse=True)[1].ravel()
        labels, own_kinds = [], []
        for kind, time in ((kinds.in_full, ()), (kinds.without_time, knows.time))[: 1 + bool(kinds.without_time)]:
            own = np.concatenate(
                [
                    _labels(table, [c for c in table.part.policy.quasi if f"{name}.{c}" not in time])
                    for name, table in found
                ]
            )
            labels.append(np.unique(np.stack([groups[persons], tables, own]), axis=1, return_inverse=True)[1].ravel())
            own_kinds.append(np.array(kind, np.int64)[tables])
        private = self._private_columns()
        released = ReleasedEvents(persons, np.stack(own_kinds), np.stack(labels), private)
        counts = count_sets(released, np.array(kinds.limits, np.int64), knows.together, k)
        if knows.number:
            counts = counts.with_groups(np.bincount(groups), k)
        numbers = {"known": knows.together, "k": k, "sets": counts.sets, "smallest": counts.smallest}
        numbers |= {"failing": counts.failing} if counts.failing else {}
        checks = [Check("histories.sets", not counts.failing, numbers)]
        if private:
            sure = counts.sure + count_sure(np.arange(len(groups)), groups, private)
            checks.append(Check("histories.values", not sure, {"known": knows.together, "sure": sure}))
        return checks

    def _prove_opened(self, originals: Mapping[str, Rows], *, is_sound: bool) -> list[Check]:
        """Check that pseudonyms stand for people of the originals, and how many rows are missing."""
        policy, claims = self.policy, self.claims
        with ExitStack() as stack:
            own: dict[str, Rows] = {}
            for name, part in policy.parts.items():
                columns = (*part.policy.quasi, *part.identity)
                encoded = stack.enter_context(encode_eligible(originals[name], part.policy, columns))
                own[name] = stack.enter_context(as_they_are(encoded, part.policy, part.identity))
            theirs = PersonTrees.of(own, policy, self.numbers, is_released=False)
        rows = theirs.rows_by_table()
        eligible = sum(rows.values())
        suppressed = eligible - sum(self.trees.rows_by_table().values())
        wrong = pseudonyms_without_person(self.trees, theirs, policy, self.numbers)
        number = {"pseudonyms": self.trees.number}
        checks = [Check("truth.histories", not wrong, number | ({"wrong": wrong} if wrong else {}))]
        checks += [*claim_checks(claims.suppressed, suppressed), *limit_checks(policy, suppressed, eligible)]
        if self.released.manifest is not None and is_sound:
            checks += stated_rows_checks(self.released.manifest, rows, theirs.number)
        return checks


JUDGE = _HistoriesJudge


def people_groups(trees: PersonTrees) -> IntArray:
    """Return the group of each person: those with equal rows in the table of people are in one."""
    groups = np.zeros(trees.number, np.int64)
    for table in trees.tables.values():
        if lists_people(table.part):
            own = np.full(trees.number, NO_ROW)
            own[table.persons] = _labels(table, table.part.policy.quasi)
            groups = np.unique(np.stack([groups, own]), axis=1, return_inverse=True)[1].ravel()
    return groups


def _labels(table: Held, columns: Sequence[str]) -> IntArray:
    """Number the cells of each row of a table in some columns."""
    cells = [table.cells[column] for column in columns]
    if not cells:
        return np.zeros(len(table.persons), np.int64)
    found: IntArray = np.unique(np.stack(cells), axis=1, return_inverse=True)[1].ravel()
    return found
