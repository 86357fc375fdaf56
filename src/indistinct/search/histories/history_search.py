"""search_histories: people's rows by an algorithm for one table, then labels for each event, then dropped ones.

Whoever knows a person's row and some of her events looks for people with the same row and events of the same labels.
So events are counted within groups of equal rows: large groups of people leave more of the events, small ones more of
the rows. Several sizes are tried, and the one that keeps most of all cells is taken.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from indistinct.array_types import IntArray
from indistinct.counting import Node
from indistinct.counting.joined_tables import ABSENT
from indistinct.errors import InfeasibleError, PolicyError
from indistinct.progress import Watch
from indistinct.recoding import SUPPRESSED
from indistinct.recoding.histories import HistoryRecoding, KnownEvents, table_of_entries
from indistinct.recoding.local import LocalRecoding
from indistinct.recoding.recoding import Labels, Pieces, distinct
from indistinct.search.histories.event_numbers import equal_numbers
from indistinct.search.histories.events import Events
from indistinct.search.histories.levels import LabelledEvents, LevelSearch
from indistinct.search.histories.people_rows import PeopleRows, PeopleTable, RecodesTable
from indistinct.search.task import Task

FEW_SETS = 300_000
"""Where people have more sets of events, levels are not searched for each size of groups."""
MANY_SETS = 3_000_000
"""Where they have more than these, labels are found from the top alone, which drops fewest."""
GROWTH = 8
"""Groups of people are tried that are larger by this factor each time."""


@dataclass(frozen=True, slots=True, eq=False)
class LabelledHistories:
    """People's rows and their events with labels, and what all of it keeps."""

    rows: PeopleRows
    events: LabelledEvents

    @property
    def kept(self) -> float:
        """What the released cells of all tables keep."""
        return self.rows.kept + self.events.kept


def search_histories(task: Task, algorithm: RecodesTable, watch: Watch) -> HistoryRecoding:
    """Return a recoding of people and events such that k people share all that may be known of one."""
    events = Events.of(task.frequencies, task.policy, table_of_entries(task.frequencies))
    recoding = _recoding(task, events, label_histories(task, events, algorithm, watch))
    allowed = task.frequencies.rows if task.policy.max_suppression is None else task.budget
    if recoding.suppressed_rows > allowed:
        known = recoding.known
        raise InfeasibleError(
            f"{recoding.suppressed_rows} of {recoding.rows} rows must be suppressed for sets of {known.together} "
            f"events, {known.dropped} of them events of people who stay, but the policy allows {allowed}; allow more, "
            "give codes and dates coarser levels, or let fewer events be known"
        )
    return recoding


def label_histories(task: Task, events: Events, algorithm: RecodesTable, watch: Watch) -> LabelledHistories:
    """Return the rows of people and the labels of their events that keep most.

    Where there are not too many sets, it keeps no less than one level a column with dropping does for the same rows.
    """
    people = PeopleTable.of(task, table_of_entries(task.frequencies))
    best: LabelledHistories | None = None
    start: Node | None = None
    k = task.largest_k()
    sets = events.most_sets()
    for size in reversed(list(_sizes(k, people.people, has_rows=bool(people.positions)))):
        if best is not None and watch.time_is_up():
            best = replace(best, events=replace(best.events, is_cut_short=True))
            break
        try:
            rows = people.recode(size, algorithm, task, watch)
        except InfeasibleError:
            if size > k:
                continue
            if best is None:
                raise
            break
        if events.has_number:
            found = _with_equal_numbers(events, rows, k, watch)
        else:
            search = LevelSearch(events.among(rows.groups >= 0), rows.groups, k, watch)
            found = search.finest(tries_levels=sets <= MANY_SETS)
            if sets <= FEW_SETS:
                levels, start = search.best(start)
                found = search.from_levels(levels, start, found)
        if best is None or rows.kept + found.kept > best.kept:
            best = LabelledHistories(rows, found)
        elif sets > FEW_SETS:
            break
    assert best is not None  # the last size is k, which is searched or raises
    if sets <= MANY_SETS and not events.has_number and not watch.time_is_up():
        groups = best.rows.groups
        search = LevelSearch(events.among(groups >= 0), groups, k, watch)
        best = replace(best, events=search.from_levels(*search.best_of_all(), best.events))
    return best


def _with_equal_numbers(events: Events, rows: PeopleRows, k: int, watch: Watch) -> LabelledEvents:
    """Return the labels of events where people who share what is known have equal numbers of events, too."""
    best: LabelledEvents | None = None
    for own in equal_numbers(events, rows.groups, k):
        search = LevelSearch(events, own.groups, k, watch, own.is_left)
        highest = search.at(search.highest)
        if (highest.is_left != own.is_left).any():
            raise PolicyError(
                "knows.number: people who share their numbers of events must share the labels of all of them, so each "
                "column of events must end in one label, also for missing cells; give it a hierarchy with a top"
            )
        found = search.finest()
        if best is not None and (found.kept <= best.kept or watch.time_is_up()):
            break
        best = found
    assert best is not None  # groups of k people are there always
    return best


def _sizes(k: int, people: int, *, has_rows: bool) -> Iterator[int]:
    """Return the least people of groups to try: k, more each time, and all together."""
    size = k
    while size < people and has_rows:
        yield size
        size *= GROWTH
    yield max(k, people) if has_rows else k


def _recoding(task: Task, events: Events, found: LabelledHistories) -> HistoryRecoding:
    """Return what was found as a recoding of the rows of all tables."""
    frequencies = task.frequencies
    assert frequencies.entries.persons is not None
    tables, groups = table_of_entries(frequencies), found.rows.groups
    entries = np.arange(len(frequencies.entries))
    is_event = np.zeros(len(entries), np.bool_)
    is_event[events.entries] = True
    of_people = np.repeat(entries[~is_event], frequencies.entries.counts[~is_event])
    units = np.concatenate([of_people, events.entries])
    is_left = np.concatenate([groups[frequencies.entries.persons[of_people]] >= 0, found.events.is_left])
    labels, codes = _all_labels(task, events, found, of_people)
    columns = [np.where(is_left, own, 0) for own in codes] or [np.zeros(len(units), np.int64)]
    _, numbers = distinct(*columns, tables[units])
    goals = np.where(is_left, numbers, SUPPRESSED)
    firsts, piece_of = distinct(units, goals)
    rows = np.bincount(piece_of, minlength=len(firsts)).astype(np.int64)
    pieces = Pieces(units[firsts], rows, goals[firsts]).number_groups()[0]
    group_codes = np.zeros((len(codes), int(pieces.groups.max(initial=-1)) + 1), np.int64)
    is_released = pieces.is_released
    for column, own in enumerate(codes):
        group_codes[column, pieces.groups[is_released]] = own[firsts][is_released]
    base = LocalRecoding.of_labels(frequencies, pieces, tuple(labels), group_codes)
    there = groups[events.persons] >= 0
    known = KnownEvents(events.together, int((there & ~found.events.is_left).sum()), len(events))
    recoding = HistoryRecoding.of_rows(frequencies, base, _released_sizes(found, events, of_people, task), known)
    return replace(recoding, is_cut_short=found.events.is_cut_short)


def _released_sizes(found: LabelledHistories, events: Events, of_people: IntArray, task: Task) -> IntArray:
    """Return the people of each group of whom a row is released."""
    persons = task.frequencies.entries.persons
    assert persons is not None
    groups = found.rows.groups
    shown = np.zeros(len(groups), np.bool_)
    shown[persons[of_people]] = True
    shown[events.persons[found.events.is_left]] = True
    sizes = np.bincount(groups[shown & (groups >= 0)])
    return sizes[sizes > 0].astype(np.int64)


def _all_labels(
    task: Task, events: Events, found: LabelledHistories, of_people: IntArray
) -> tuple[list[Labels], list[IntArray]]:
    """Return the labels of each column of all tables, and the one of each row: those of people, then of events."""
    frequencies, groups = task.frequencies, found.rows.groups
    assert frequencies.entries.persons is not None
    labels, codes = [], []
    codes_of_events = events.codes_of(found.events.levels)
    own_places = {column.position: place for place, column in enumerate(events.columns)}
    for position in range(len(frequencies.columns)):
        if position in own_places:
            place = own_places[position]
            ranges = found.events.ranges.get(place)
            own = events.columns[place].labels if ranges is None else ranges.labels
            of_events = codes_of_events[place] if ranges is None else ranges.codes
            absent = own.texts.index(ABSENT)
            labels.append(own)
            codes.append(np.concatenate([np.full(len(of_people), absent), of_events]))
        else:
            own, of_group = found.rows.labels[position]
            group = np.maximum(groups[frequencies.entries.persons[of_people]], 0)
            absent = own.texts.index(ABSENT)
            labels.append(own)
            codes.append(np.concatenate([of_group[group], np.full(len(events), absent)]))
    return labels, codes
