"""Histories: made-up claims of people, released so that any few events fit k people, beside three plainer ways."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

import indistinct as ix
from benchmarks import tables as shown
from benchmarks.setting import Figures, K, Setting, say
from indistinct.pipeline.stages import count, open_tables
from indistinct.progress import Watch
from indistinct.recoding.histories import table_of_entries
from indistinct.recoding.label_texts import read_label
from indistinct.search.algorithm import algorithm_of, as_algorithm
from indistinct.search.histories.events import EventColumn, Events, dense
from indistinct.search.histories.history_search import label_histories
from indistinct.search.histories.levels import LevelSearch

KNOWN = {"1": ix.Knows(1), "1+1": ix.Knows(dated=1, undated=1), "2": ix.Knows(2), "3": ix.Knows(3)}
"""What others know of a person's events; 1+1 is one dated and one undated."""
JOBS = (
    *((1_000, known, 5 if known in "12" else 1) for known in KNOWN),
    *((10_000, known, 5 if known in "2" else 1) for known in KNOWN),
    (100_000, "2", 1),
)
"""People, events that others know, and how many tables are drawn."""
COMPARED = 10_000
"""With more people the plainer ways are not run."""
EVENTS_EACH = 12
QUICK_PEOPLE = 40
CODES_A_CHAPTER, DAYS = 40, 1_826
SEED = 35


def claims(people: int, seed: int = SEED) -> dict[str, pa.Table]:
    """Draw people with a year of birth and a sex, and claims with a code of a tree like ICD and a day of five years.

    Codes follow power laws at each level of the tree; half of a person's claims repeat an earlier code of hers.
    """
    rng = np.random.default_rng(seed)
    chapters, kinds, details = 26, CODES_A_CHAPTER, 4
    often = rng.permutation(1 / np.arange(1, chapters + 1) ** 0.7)[:, None, None]
    often = often * np.stack([rng.permutation(1 / np.arange(1, kinds + 1) ** 1.1) for _ in range(chapters)])[:, :, None]
    often = (often / np.arange(1, details + 1)).ravel()
    names = [f"{chr(65 + c)}{k:02d}{d}" for c in range(chapters) for k in range(kinds) for d in range(details)]
    numbers = rng.negative_binomial(1.5, 1.5 / (1.5 + EVENTS_EACH), people)
    owner = np.repeat(np.arange(people), numbers)
    first = np.repeat(np.cumsum(numbers) - numbers, numbers)
    place = np.arange(len(owner)) - first
    code = rng.choice(len(often), len(owner), p=often / often.sum())
    again = np.flatnonzero((rng.random(len(owner)) < 0.5) & (place > 0))
    for row, earlier in zip(again.tolist(), (first + rng.random(len(owner)) * place).astype(int)[again], strict=True):
        code[row] = code[earlier]
    day = np.datetime64("2019-01-01") + rng.integers(0, DAYS, len(owner))
    born, sex = rng.integers(1930, 2005, people), rng.choice(["f", "m"], people)
    return {
        "people": pa.table({"person": np.arange(people), "born": born, "sex": sex}),
        "claims": pa.table({"person": owner, "code": np.array(names)[code], "day": day.astype(str)}),
    }


def policy(known: ix.Knows) -> ix.Policy:
    """Return a policy of claims of which others know some."""
    return ix.Policy(
        tables={
            "people": ix.LinkedTable(
                {"born": ix.quasi(ix.intervals(10, 20, 40)), "sex": ix.quasi(ix.suppress())}, key="person"
            ),
            "claims": ix.LinkedTable(
                {
                    "code": ix.quasi(ix.prefix(4, keep=[3, 1])),
                    "day": ix.quasi(ix.dates("month", "quarter", "year")),
                },
                references={"person": "people"},
            ),
        },
        privacy=[ix.KAnonymity(K)],
        person="person",
        knows=known,
    )


def run_histories(setting: Setting) -> list[Figures]:
    """Release each set of claims, and compare with plainer ways where people are few."""
    found: list[Figures] = []
    for people, known, seeds in setting.few(JOBS, 2):
        for seed in range(SEED, SEED + (1 if setting.is_quick else seeds)):
            tables = claims(QUICK_PEOPLE if setting.is_quick else people, seed)
            one = {"people": people, "known": known, "seed": seed}
            start = time.process_time()
            with ix.anonymize(tables, policy(KNOWN[known])) as release:
                seconds = time.process_time() - start
                said = release.facts.tables["claims"]
                kept = said.released / max(1, said.eligible or 1)
                found.append(one | {"way": "indistinct", "kept": kept, "cpu_seconds": seconds})
                found[-1]["ncp"] = _loss_of(release, tables, KNOWN[known])
            say(f"  {people} people, {known} known: {kept:.4f} kept, {seconds:.1f} s CPU")
            if people <= COMPARED:
                found += [one | figures for figures in _plainer_ways(tables, KNOWN[known])]
    return found


@dataclass(frozen=True)
class _Opened:
    """Events of people in groups of equal rows, as a release has them."""

    events: Events
    search: LevelSearch

    @property
    def whole(self) -> float:
        """What all cells of events keep as they are."""
        return float(len(self.events) * len(self.events.columns))

    def figures(self, way: str, kept: float, left: float, start: float) -> Figures:
        """Return what is known of one way."""
        return {
            "way": way,
            "kept": left,
            "ncp": 1 - kept / max(1.0, self.whole),
            "cpu_seconds": time.process_time() - start,
        }


def _loss_of(release: ix.Release, tables: dict[str, pa.Table], known: ix.Knows) -> float:
    """Return the NCP of the claims of a release, where a claim that was dropped loses everything."""
    asked = policy(known)
    with open_tables(tables, asked) as opened, count(opened, asked, Watch()) as counted:
        events = Events.of(counted.task.frequencies, asked, table_of_entries(counted.task.frequencies))
    kept = 0.0
    for column, name in zip(events.columns, ("code", "day"), strict=True):
        of_text = dict(zip(column.labels.texts, column.kept.tolist(), strict=True))
        for text in map(str, release.tables["claims"][name].to_pylist()):
            kept += of_text[text] if text in of_text else _kept_in_range(column, text)
    return 1 - kept / max(1, len(events) * len(events.columns))


def _kept_in_range(column: EventColumn, text: str) -> float:
    """Return what a cell keeps under a range of what occurs."""
    cover = read_label(text)
    assert column.ranged is not None
    assert cover is not None
    values = column.ranged.own.hierarchies[0].values
    low, high = (column.ranged.ranks[[values.index(end)]] for end in (cover.values[0], cover.values[-1]))
    return float(column.ranged.share_kept(low, high)[0])


def _plainer_ways(tables: dict[str, pa.Table], known: ix.Knows) -> list[Figures]:
    """Return one level a column with dropping, dropping alone, Apriori anonymisation, and a bound on all."""
    asked, watch = policy(known), Watch()
    with open_tables(tables, asked) as each, count(each, asked, watch) as counted:
        task = counted.task
        events = Events.of(task.frequencies, asked, table_of_entries(task.frequencies))
        rows = label_histories(task, events, as_algorithm(algorithm_of(asked)), watch).rows
    opened = _Opened(events, LevelSearch(events, rows.groups, K, watch))
    found = []
    start = time.process_time()
    best, _ = opened.search.best_of_all()
    found.append(opened.figures("levels, dropping", best.kept, float(best.is_left.mean()), start))
    start = time.process_time()
    alone = opened.search.at((0,) * len(opened.events.columns))
    found.append(opened.figures("dropping alone", alone.kept, float(alone.is_left.mean()), start))
    if known.events is not None and known.together <= 2:
        start = time.process_time()
        kept = _apriori(opened, known.together)
        found.append(opened.figures("Apriori anonymisation", kept, float(opened.search.is_there.mean()), start))
    start = time.process_time()
    return [*found, opened.figures("at least", _most_kept(opened), 1.0, start)]


def _most_kept(opened: _Opened) -> float:
    """Return a bound: each claim has the finest code that k people of its group have, and the least days of k such."""
    events, search = opened.events, opened.search
    (code, day), most = events.columns, np.zeros(len(events))
    there = np.flatnonzero(search.is_there)
    assert day.ranged is not None
    ranks = day.ranged.ranks[events.values[1]]
    for level in range(len(code.places)):
        codes = events.codes_at((level, len(day.places) - 1))
        labels = events.numbers(codes, search.groups)[0][there]
        held = np.unique(np.stack([labels, events.persons[there]]), axis=1)[0]
        is_shared = np.bincount(held, minlength=int(labels.max(initial=0)) + 1)[labels] >= K
        order = np.lexsort((ranks[there], labels))
        own, group = ranks[there][order], labels[order]
        width = np.full(len(own), day.ranged.domain)
        for start in range(max(0, len(own) - K + 1)):
            if group[start] == group[start + K - 1]:
                mine = slice(start, start + K)
                width[mine] = np.minimum(width[mine], own[start + K - 1] - own[start] + 1)
        kept = day.ranged.share_kept(np.ones(len(own), np.int64), width) + code.kept[codes[0][there][order]]
        most[there[order]] = np.maximum(most[there[order]], kept * is_shared[order])
    return float(most.sum())


def _apriori(opened: _Opened, known: int) -> float:
    """Return what Apriori anonymisation keeps: values climb until no set of up to so many is rare; nothing is dropped.

    A value is a code with a day; it climbs to longer times first, and then to coarser codes, with all that lie under
    the same label (Terrovitis, Mamoulis and Kalnis 2008, smaller sets first). Of each rare set that label climbs which
    fewest people hold.
    """
    events = opened.events
    heights = [len(column.places) - 1 for column in events.columns]
    chain = [(0, day) for day in range(heights[1] + 1)] + [(code, heights[1]) for code in range(1, heights[0] + 1)]
    there = np.flatnonzero(opened.search.is_there)
    groups = opened.search.groups[events.persons]
    labels = np.stack([dense(_pairs(events, node) * (int(groups.max(initial=0)) + 2) + groups) for node in chain])
    labels, persons = labels[:, there], events.persons[there]
    step = np.zeros(len(there), np.int64)
    everyone = np.arange(len(there))
    for size in range(1, known + 1):
        while True:
            own = dense(labels[step, everyone] * len(chain) + step)
            rare = _labels_of_rare_sets(persons, own, size)
            if not len(rare):
                break
            climbs = np.isin(own, rare) & (step < len(chain) - 1)
            if not climbs.any():
                break
            goals = step[climbs] + 1
            for goal in np.unique(goals).tolist():
                above = np.unique(labels[goal][climbs & (step == goal - 1)])
                step = np.where(np.isin(labels[goal], above), np.maximum(step, goal), step)
    kept = 0.0
    for number, node in enumerate(chain):
        mine = there[step == number]
        kept += float(events.sum_kept(events.codes_at(node))[mine].sum())
    return kept


def _pairs(events: Events, node: tuple[int, ...]) -> np.ndarray:
    """Return the label of each event at a node as one number."""
    codes = events.codes_at(node)
    return codes[0] * (int(codes[1].max(initial=0)) + 1) + codes[1]


def _labels_of_rare_sets(persons: np.ndarray, labels: np.ndarray, size: int) -> np.ndarray:
    """Return of each set of different labels that fewer than k people have the label that fewest hold."""
    held = np.unique(np.stack([persons, labels]), axis=1)
    holders = np.bincount(held[1])
    if size == 1:
        return np.flatnonzero((holders > 0) & (holders < K))
    starts = np.flatnonzero(np.diff(held[0], prepend=-1))
    sets = []
    for own in np.split(held[1], starts[1:]):
        first, second = np.triu_indices(len(own), 1)
        sets.append(np.stack([own[first], own[second]]))
    pairs, times = np.unique(np.concatenate(sets, axis=1), axis=1, return_counts=True)
    rare = pairs[:, times < K]
    return np.unique(np.where(holders[rare[0]] <= holders[rare[1]], rare[0], rare[1]))


def section(figures: list[Figures]) -> str:
    """Return the section of the page."""
    others = {"indistinct", "dropping alone", "at least"}
    ways = ["indistinct", *(way for way in dict.fromkeys(one["way"] for one in figures) if way not in others)]
    rows, best = [], []
    for job in dict.fromkeys((one["people"], one["known"]) for one in figures):
        mine = [one for one in figures if (one["people"], one["known"]) == job]
        cells = [_cell([one for one in mine if one["way"] == way]) for way in ways]
        bound = _mean(mine, "at least", "ncp")
        best += _is_best(mine)
        rows.append([f"{job[0]:,}", job[1], *cells, "" if bound is None else f"{bound:.3f}"])
    heads = ["people", "known", *ways, "bound"]
    text = f"""made-up claims, {EVENTS_EACH} a person, with a code of a tree like ICD and a day of five years; k = {K}.
Whoever knows so many claims of a person (1+1: one dated, one undated), beside her birth and sex, finds k people.
Each cell is the share of claims released, their NCP and CPU seconds, on average. Plainer ways have the same people's
rows; dropping alone keeps nothing; Apriori anonymisation heeds no claim that a person has twice. In {sum(best)} of
{len(best)} tables no plainer way has less NCP. *Bound*: each claim has the finest code that k people have,
and the least days of k such claims."""
    return shown.section("Histories", "histories", text, shown.table(heads, rows))


def _is_best(figures: list[Figures]) -> list[bool]:
    """Return of each table that was compared whether nothing plainer loses less."""
    ncp = {(one["seed"], one["way"]): one["ncp"] for one in figures if one["way"] != "at least"}
    return [
        min(loss for (own, _), loss in ncp.items() if own == seed) >= ncp[seed, "indistinct"]
        for seed in dict.fromkeys(one["seed"] for one in figures)
        if (seed, "levels, dropping") in ncp
    ]


def _mean(figures: list[Figures], way: str, what: str) -> float | None:
    own = [one[what] for one in figures if one["way"] == way]
    return sum(own) / len(own) if own else None


def _cell(figures: list[Figures]) -> str:
    """Return the claims that are kept, the NCP and the CPU seconds of one way."""
    if not figures:
        return ""
    kept, ncp, seconds = (sum(one[what] for one in figures) / len(figures) for what in ("kept", "ncp", "cpu_seconds"))
    return f"{kept:.1%}/{ncp:.3f}/{shown.seconds(seconds)}"
