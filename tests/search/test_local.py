"""Local recodings from pieces to a verified release: labels, measures, the engine's rows, and the proof of truth."""

from __future__ import annotations

import itertools
import json
from collections import Counter
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest
from hypothesis import given
from hypothesis import strategies as st

import indistinct as ix
from helpers.profiles import examples
from indistinct import testing
from indistinct.counting import FrequencyList, encode_eligible
from indistinct.engine import open_table
from indistinct.progress import Watch
from indistinct.recoding import SUPPRESSED, FullDomainRecoding, LocalRecoding, Pieces
from indistinct.recoding.label_texts import range_label, read_label, set_label
from indistinct.recoding.recoding import Labels
from indistinct.registry import MEASURES
from indistinct.search import Task


@dataclass(frozen=True)
class Neighbours:
    """Groups rows in the order of the list, at least k at a time, so that tuples are divided between groups."""

    name: ClassVar[str] = "neighbours"
    labels: str = "hierarchy"
    suppressed: int = 0

    def run(self, task: Task, watch: Watch) -> LocalRecoding:
        base, k = task.frequencies.base, task.largest_k()
        rows = np.repeat(np.arange(len(base)), base.sizes)
        groups = np.minimum(np.arange(len(rows)) // k, max(0, len(rows) // k - 1))
        groups[groups < self.suppressed] = SUPPRESSED
        pieces, counts = np.unique(np.stack([rows, groups]), axis=1, return_counts=True)
        return LocalRecoding.of_pieces(task.frequencies, Pieces(pieces[0], counts, pieces[1]), self.labels)


TABLE = pa.table(
    {
        "age": ["17", "18", "18", "25", "33", "33", "47", None],
        "city": ["Bonn", "Bonn", "Köln", "Köln", "Bonn", "Ulm", "Ulm", "Ulm"],
        "born": [
            "1990-01-05",
            "1990-02-01",
            "1991-07-07",
            "1991-07-07",
            "1985-03-03",
            "1984-01-01",
            None,
            "1970-12-31",
        ],
        "visits": list(range(8)),
    }
)


def policy_for(k=2, **given):
    columns = {
        "age": ix.quasi(ix.intervals(5, 10)),
        "city": ix.quasi(ix.tree({"*": {"Rhein": ["Bonn", "Köln"], "Donau": ["Ulm"]}})),
        "born": ix.quasi(ix.dates("month", "year")),
        "visits": ix.other(),
    }
    return ix.Policy(columns=columns, privacy=[ix.KAnonymity(k)], **given)


def frequencies_of(table, policy):
    with open_table(table) as rows:
        return FrequencyList.count(encode_eligible(rows, policy), policy)


# Labels.


def test_each_group_carries_the_lowest_label_that_covers_it():
    policy = policy_for()
    frequencies = frequencies_of(TABLE, policy)
    ages = [frequencies.hierarchies[0].values[code] for code in frequencies.base.label_codes(0)]
    group_of = np.array([0 if age in ("17", "18") else 1 for age in ages])
    recoding = LocalRecoding.of_pieces(frequencies, Pieces.whole(frequencies, group_of))
    texts = [labels.texts[code] for labels, code in zip(recoding.labels, recoding.codes[:, 0], strict=True)]
    others = [labels.texts[code] for labels, code in zip(recoding.labels, recoding.codes[:, 1], strict=True)]
    assert sorted([texts, others], key=str) == sorted([["15-19", "Rhein", "*"], ["*", "*", "*"]], key=str)


def test_a_recoding_of_which_nothing_is_released_has_no_group():
    frequencies = frequencies_of(TABLE, policy_for())
    nothing = Pieces.whole(frequencies, np.full(len(frequencies.base), SUPPRESSED))
    for kind in ("hierarchy", "ranges"):
        recoding = LocalRecoding.of_pieces(frequencies, nothing, kind)
        assert (recoding.released_groups, recoding.released_rows, recoding.suppressed_rows) == (0, 0, 8)
        assert recoding.node == (0, 0, 0)


def test_a_group_needs_one_label_in_a_column_that_is_never_generalized():
    policy = ix.Policy(columns={"city": ix.quasi()}, privacy=[ix.KAnonymity(2)])
    frequencies = frequencies_of(TABLE.select(["city"]), policy)
    everybody = Pieces.whole(frequencies, np.zeros(len(frequencies.base), np.int64))
    with pytest.raises(ValueError, match="a column that is never generalized"):
        LocalRecoding.of_pieces(frequencies, everybody)


def test_all_suppressed_rows_count_as_one_group():
    with ix.anonymize(TABLE, policy_for(), algorithm=Neighbours(suppressed=2), allow_unsafe=True) as release:
        recoding = release.recoding
    assert (recoding.suppressed_rows, recoding.suppressed_groups) == (4, 1)
    assert ix.Discernibility().suppression_loss(recoding) == (4 * 8 - 4 * 4) / 8**2
    with ix.anonymize(TABLE, policy_for(), algorithm=Neighbours()) as release:
        assert ix.Discernibility().suppression_loss(release.recoding) == 0
        assert release.recoding.suppressed_groups == 0


def test_ranges_and_sets_cover_what_is_there_and_no_more():
    policy = policy_for()
    frequencies = frequencies_of(TABLE, policy)
    ages = [frequencies.hierarchies[0].values[code] for code in frequencies.base.label_codes(0)]
    group_of = np.array([0 if age in ("17", "33") else 1 for age in ages])
    recoding = LocalRecoding.of_pieces(frequencies, Pieces.whole(frequencies, group_of), "ranges")
    released = {
        tuple(labels.texts[code] for labels, code in zip(recoding.labels, codes, strict=True))
        for codes in recoding.codes.T
    }
    assert released == {
        ("[17, 33]", "{Bonn, Ulm}", "[1984-01-01, 1990-01-05]"),
        ("[18, 47] or missing", "*", "*"),  # the whole domain
    }
    ages = dict(zip(recoding.labels[0].texts, recoding.labels[0].leaves, strict=True))
    assert ages == {"[17, 33]": 4, "[18, 47] or missing": 5}


NUMBERS = ["2", "3", "5", "10", "11", "12", None]
ODD_OR_EVEN = [["3", "odd", "*"], ["5", "odd", "*"], ["11", "odd", "*"], ["2", "even", "*"], ["10", "even", "*"]]
ODD_OR_EVEN += [["12", "even", "*"], [None, "unknown", "*"]]
LETTERS = [["a", "vowel", "*"], ["e", "vowel", "*"], ["b", "consonant", "*"], ["c", "consonant", "*"], ["*", "*", "*"]]


def cover_of(values, listed, is_ordered):
    """Return the text of the narrowest label over some values, and the ground values under it, the obvious way."""
    paths = {row[0]: row for row in listed}
    values = sorted(values, key=lambda value: (value is None, int(value) if is_ordered and value else 0, value or ""))
    if len(values) == 1:
        return values[0], 1
    level = next(level for level in (1, 2) if len({paths[value][level] for value in values}) == 1)
    label = paths[values[0]][level]
    under = sum(path[level] == label for path in paths.values())
    if is_ordered:
        present = [value for value in values if value is not None]
        domain = sorted(int(value) for value in paths if value is not None)
        inside = [number for number in domain if int(present[0]) <= number <= int(present[-1])]
        text = range_label(present[0], present[-1], None in values)
        width = len(inside) + (None in values)
    else:
        text, width = set_label(values), len(values)
    return (text, width) if width < under else (label, under)


@pytest.mark.slow
@given(st.data())
@examples(80)
def test_every_range_and_set_is_the_narrowest_there_is(data):
    """Numbers whose labels are no ranges, a missing one, and a value that reads like the label above it."""
    cells = st.tuples(st.sampled_from(NUMBERS), st.sampled_from([row[0] for row in LETTERS]))
    rows = data.draw(st.lists(cells, min_size=1, max_size=8, unique=True))
    columns = {"n": ix.quasi(ix.levels(ODD_OR_EVEN)), "c": ix.quasi(ix.levels(LETTERS))}
    table = pa.table({"n": [row[0] for row in rows], "c": [row[1] for row in rows]})
    frequencies = frequencies_of(table, ix.Policy(columns=columns, privacy=[ix.KAnonymity(1)]))
    group_of = np.array(data.draw(st.lists(st.integers(0, 3), min_size=len(rows), max_size=len(rows))))
    recoding = LocalRecoding.of_pieces(frequencies, Pieces.whole(frequencies, group_of), "ranges")
    carried = [
        [(labels.texts[code], int(labels.leaves[code])) for code in codes]
        for labels, codes in zip(recoding.labels, recoding.codes, strict=True)
    ]
    assert len({tuple(texts) for texts in zip(*carried, strict=True)}) == recoding.released_groups, "each group once"
    listed = (ODD_OR_EVEN, LETTERS)
    wanted = [
        {
            group: cover_of(
                {
                    hierarchy.values[int(code)]
                    for code, own in zip(frequencies.base.label_codes(column), group_of, strict=True)
                    if own == group
                },
                listed[column],
                column == 0,
            )
            for group in set(group_of.tolist())
        }
        for column, hierarchy in enumerate(frequencies.hierarchies)
    ]
    widest = [{text: max(w for t, w in own.values() if t == text) for text, _ in own.values()} for own in wanted]
    for piece, group in zip(recoding.pieces.tuples.tolist(), recoding.pieces.groups.tolist(), strict=True):
        for column in range(2):
            text, _ = wanted[column][int(group_of[piece])]
            assert carried[column][group] == (text, widest[column][text])


@given(st.lists(st.one_of(st.none(), st.text(min_size=1, max_size=5)), min_size=2, max_size=5, unique=True))
def test_a_set_label_is_read_as_it_was_written(values):
    if any(value is not None and ("\r" in value or "\n" in value or "\0" in value) for value in values):
        return
    cover = read_label(set_label(values))
    assert cover.values == tuple(value for value in values if value is not None) or not cover.values
    assert cover.or_missing == (None in values)


@pytest.mark.parametrize("text", ["", "[", "a", "[1, 2", "{a, b]", "17-25", "*", '{"a}', "[1, 2, 3]", "{}"])
def test_other_texts_are_no_ranges_or_sets(text):
    assert read_label(text) is None
    assert read_label(range_label("1", "2")).is_range


# Measures.


@given(testing.frequency_lists())
@examples(60)
def test_a_full_domain_recoding_costs_the_same_when_it_is_written_as_a_local_one(frequencies):
    """And with the lowest labels of its groups it is at least as good."""
    for node in ((0,) * len(frequencies.columns), frequencies.heights):
        groups, group_of = frequencies.roll_up(node)
        full = FullDomainRecoding(frequencies, groups, np.zeros(len(groups), np.bool_))
        labels = [Labels.at_level(frequencies, column, level) for column, level in enumerate(node)]
        codes = np.stack([groups.label_codes(column) for column in range(len(node))])
        local = LocalRecoding.of_labels(frequencies, Pieces.whole(frequencies, group_of), tuple(labels), codes)
        for name, make in MEASURES.items():
            assert make().loss(local) == pytest.approx(make().loss(full)), name
            assert make().value(local) == pytest.approx(make().value(full)), name
        lowest = LocalRecoding.of_pieces(frequencies, Pieces.whole(frequencies, group_of))
        assert ix.Precision().loss(lowest) <= ix.Precision().loss(full) + 1e-9


# The engine.


def every_kind(folder):
    import polars

    path = folder / "table.parquet"
    pyarrow.parquet.write_table(TABLE, path)
    return {"arrow": TABLE, "pandas": TABLE.to_pandas(), "polars": polars.from_arrow(TABLE), "parquet": path}


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["arrow", "pandas", "polars", "parquet"])
@pytest.mark.parametrize("labels", ["hierarchy", "ranges"])
def test_a_local_release_is_verified_against_the_original(tmp_path, kind, labels):
    table = every_kind(tmp_path)[kind]
    with ix.anonymize(table, policy_for(), algorithm=Neighbours(labels)) as release:
        assert release.node is None
        assert release.verdict.passed
        assert release.verify(original=table).passed
        assert type(release.table) is type(TABLE if kind == "parquet" else table)


def test_rows_keep_their_other_cells():
    table = TABLE.append_column("secret", pa.array([f"s{n}" for n in range(8)]))
    policy = policy_for()
    policy = ix.Policy(columns={**policy.columns, "secret": ix.sensitive()}, privacy=policy.privacy)
    with ix.anonymize(table, policy, algorithm=Neighbours()) as release:
        released = release.table.to_pylist()
    assert sorted((row["visits"], row["secret"]) for row in released) == [(n, f"s{n}") for n in range(8)]


@pytest.mark.slow
def test_which_rows_of_a_divided_tuple_go_where_is_drawn_at_random():
    table = pa.table({"a": ["x"] * 8 + ["y"] * 2, "n": list(range(10))})
    policy = ix.Policy(columns={"a": ix.quasi(ix.suppress()), "n": ix.other()}, privacy=[ix.KAnonymity(4)])
    seen = set()
    for _ in range(30):
        with ix.anonymize(table, policy, algorithm=Neighbours()) as release:
            rows = release.table.to_pylist()
        assert Counter(row["a"] for row in rows) == {"x": 4, "*": 6}
        seen.add(frozenset(row["n"] for row in rows if row["a"] == "x"))
    assert len(seen) > 5


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["remove", "blank"])
def test_suppressed_rows_are_left_out_or_blank(mode):
    policy = policy_for(max_suppression=4, suppressed_rows=mode)
    with ix.anonymize(TABLE, policy, algorithm=Neighbours(suppressed=2)) as release:
        assert release.suppressed == 4
        rows = release.table.to_pylist()
        blank = [row for row in rows if row["age"] is None and row["city"] is None and row["born"] is None]
        assert (len(rows), len(blank)) == ((4, 0) if mode == "remove" else (8, 4))
        assert release.verify(original=TABLE).passed


@pytest.mark.slow
def test_a_local_release_is_written_read_and_verified(tmp_path):
    with ix.anonymize(TABLE, policy_for(), algorithm=Neighbours()) as release:
        release.write(tmp_path / "out")
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    assert "node" not in manifest
    assert set(manifest["mean_levels"]) == {"age", "city", "born"}
    assert ix.verify(tmp_path / "out", policy_for(), original=TABLE).passed


def test_columns_that_keep_their_values_keep_their_type():
    table = pa.table({"b": ["x", "y", "x", "x"], "a": [1, 1, 2, 2]})
    policy = ix.Policy(
        columns={"b": ix.quasi(ix.suppress()), "a": ix.quasi(ix.intervals(5))}, privacy=[ix.KAnonymity(2)]
    )
    with ix.anonymize(table, policy, algorithm=Neighbours()) as release:
        assert release.table.schema.field("a").type == pa.int64()
        assert Counter(release.table["b"].to_pylist()) == {"*": 2, "x": 2}


# An unsafe release.


@dataclass(frozen=True)
class Careless:
    """Releases every tuple as it is."""

    name: ClassVar[str] = "careless"

    def run(self, task: Task, watch: Watch) -> LocalRecoding:
        frequencies = task.frequencies
        return LocalRecoding.of_pieces(frequencies, Pieces.whole(frequencies, np.arange(len(frequencies.base))))


@pytest.mark.slow
def test_an_unsafe_release_is_refused_unless_the_holder_insists(tmp_path):
    with pytest.raises(ix.VerificationError):
        ix.anonymize(TABLE, policy_for(), algorithm=Careless())
    with ix.anonymize(TABLE, policy_for(), algorithm=Careless(), allow_unsafe=True) as release:
        assert not release.verdict.passed
        with pytest.raises(ix.VerificationError):
            release.write(tmp_path / "out")
        assert not (tmp_path / "out").exists()
        release.write(tmp_path / "out", allow_unsafe=True)
    assert json.loads((tmp_path / "out" / "manifest.json").read_text())["unsafe"] is True
    assert not ix.verify(tmp_path / "out", policy_for()).passed


# The proof of truth.


def fits(hierarchy, label, value):
    """Brute force: a label covers a value if it is its label at some level, or says so in words."""
    if label is None:
        return True
    if label in [hierarchy.label(value, level) for level in range((hierarchy.height or 0) + 1)]:
        return True
    if label.startswith("{"):
        inside = label.removesuffix(" or missing")[1:-1].split(", ")
        return value in inside or (value is None and label.endswith("missing"))
    if label.startswith("["):
        ends = [int(end) for end in label.removesuffix(" or missing")[1:-1].split(", ")]
        return label.endswith("missing") if value is None else ends[0] <= int(value) <= ends[-1]
    return False


def most_matched(released, originals, covers):
    """Brute force: the size of a largest matching, by trying every assignment of released rows."""
    best = 0
    for chosen in itertools.permutations(range(len(originals)), len(released)):
        best = max(best, sum(covers(released[row], originals[to]) for row, to in enumerate(chosen)))
    return best


VALUES = ["1", "2", "3", "7"]
LABELS = ["1", "2", "3", "7", "0-4", "5-9", "*", "[1, 3]", "[2, 7]", "{1, 7}", None, "9"]


@pytest.mark.slow
@given(
    originals=st.lists(st.tuples(st.sampled_from(VALUES), st.sampled_from("ab")), min_size=1, max_size=6),
    data=st.data(),
)
@examples(50, opens_tables=True)
def test_the_number_of_false_rows_is_that_of_a_largest_matching(originals, data):
    released = data.draw(
        st.lists(st.tuples(st.sampled_from(LABELS), st.sampled_from("ab")), min_size=1, max_size=len(originals))
    )
    hierarchy = ix.intervals(5)
    policy = ix.Policy(columns={"n": ix.quasi(hierarchy), "o": ix.other()}, privacy=[ix.KAnonymity(1)])
    best = most_matched(released, originals, lambda r, o: r[1] == o[1] and fits(hierarchy, r[0], o[0]))
    verdict = ix.verify(
        pa.table({"n": pa.array([r[0] for r in released], pa.string()), "o": [r[1] for r in released]}),
        policy,
        original=pa.table({"n": [o[0] for o in originals], "o": [o[1] for o in originals]}),
        is_local=True,
    )
    truthful = next(check for check in verdict.checks if check.name == "truthful")
    false_rows = len(released) - best
    assert truthful.passed == (false_rows == 0)
    if false_rows:
        assert truthful.detail.startswith(f"{false_rows} released rows")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("column", "label", "true_label"),
    [("city", "[Bonn, Ulm]", "{Bonn, Ulm}"), ("born", "[1984-01-01, soon]", "[1984-01-01, 1991-12-31]")],
    ids=["values without an order", "an end that is no date"],
)
def test_a_range_that_cannot_be_read_covers_nothing(column, label, true_label):
    policy = policy_for(1)
    for said, passed in ((label, False), (true_label, True)):
        cells = TABLE.to_pydict()
        cells[column][0] = said
        verdict = ix.verify(pa.table(cells), policy, original=TABLE, is_local=True)
        truthful = next(check for check in verdict.checks if check.name == "truthful")
        assert truthful.passed == passed
        assert passed or truthful.detail.startswith("1 released rows")


@pytest.mark.slow
@given(st.integers(0, 10_000))
@examples(10)
def test_true_releases_pass_and_one_false_cell_fails(seed):
    rng = np.random.default_rng(seed)
    table = pa.table(
        {
            "age": [str(n) for n in rng.integers(10, 40, 30)],
            "city": rng.choice(["Bonn", "Köln", "Ulm"], 30).tolist(),
            "born": [f"19{n}-01-01" for n in rng.integers(70, 99, 30)],
            "visits": rng.integers(0, 3, 30).tolist(),
        }
    )
    policy = policy_for(3)
    with ix.anonymize(table, policy, algorithm=Neighbours(str(rng.choice(["hierarchy", "ranges"])))) as release:
        assert release.verify(original=table).passed
        released = release.table.to_pydict()
    released["visits"][0] = 99
    verdict = ix.verify(pa.table(released), policy, original=table, is_local=True)
    assert not verdict.passed


@pytest.mark.slow
def test_a_table_of_unknown_make_is_proved_either_way():
    policy = policy_for(1)
    with ix.anonymize(TABLE, policy_for(), algorithm=Neighbours()) as release:
        assert ix.verify(release.table, policy, original=TABLE).passed
    with ix.anonymize(TABLE, policy_for(), algorithm=ix.Samarati()) as release:
        verdict = ix.verify(release.table, policy_for(), original=TABLE)
    assert verdict.passed
    assert any(check.name == "least suppression" for check in verdict.checks)
