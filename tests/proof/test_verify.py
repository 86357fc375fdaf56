"""verify(): honest releases pass, and every planted violation is caught."""

from __future__ import annotations

import contextlib
import json
import re
from collections import Counter
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest
from hypothesis import assume, event, given
from hypothesis import strategies as st

import indistinct as ix
from helpers import brute_force as bf
from helpers.papers import HOSPITAL, HOSPITAL_COLUMNS, SWEENEY, table_of
from helpers.profiles import cases, examples
from indistinct.release.manifest import Manifest, who_checks

QUASI = ("Race", "BirthDate", "Gender", "ZIP")
NAMES = [f"person {number}" for number in range(12)]
ALGORITHMS = {
    "lattice": ix.Lattice(),
    "lattice for discernibility": ix.Lattice(measure="discernibility"),
    "samarati": ix.Samarati(),
    "samarati by matrix": ix.Samarati(satisfies="matrix"),
    "samarati with a preference": ix.Samarati(preference="max-distribution"),
    "mingen": ix.MinGen(),
    "datafly": ix.Datafly(),
    "datafly without complement": ix.Datafly(complementary=False),
}


@pytest.fixture(scope="module")
def original():
    """Sweeney's hospital table with a column of names."""
    return table_of(HOSPITAL_COLUMNS, HOSPITAL).append_column("Name", pa.array(NAMES))


def policy(k=2, max_suppression=2, **more):
    columns = {name: ix.quasi(ix.levels(list(SWEENEY[name].values()))) for name in QUASI}
    columns |= {"Problem": ix.sensitive(), "Name": ix.identifier()}
    return ix.Policy(columns=columns, privacy=[ix.KAnonymity(k)], max_suppression=max_suppression, **more)


@pytest.fixture(scope="module")
def released(original):
    """Datafly's release of it: by year, five groups of two, two rows suppressed (Sweeney 2002, Figure 10)."""
    with ix.anonymize(original, policy(), algorithm=ix.Datafly()) as release:
        return release.table


@pytest.fixture(scope="module")
def large_groups(original):
    """A release whose groups are larger than k, so that a group can lose a row and still be safe."""
    with ix.anonymize(original, policy(5), algorithm=ix.Datafly()) as release:
        assert min(Counter(rows_of(release.table.select(list(QUASI)))).values()) > 2
        return release.table


def rows_of(table):
    return list(zip(*(table[name].to_pylist() for name in table.column_names), strict=True))


def with_rows(table, rows):
    return table_of(table.column_names, rows)


def failed(verdict):
    """Return the names of the checks that failed."""
    return {check.id for check in verdict.checks if not check.passed}


@pytest.mark.slow
@pytest.mark.parametrize("name", ALGORITHMS)
@pytest.mark.parametrize("k", cases([2, 3], 2))
def test_honest_releases_pass(name, k, original, tmp_path):
    with ix.anonymize(original, policy(k), algorithm=ALGORITHMS[name]) as release:
        for verdict in (
            release.verify(),
            release.verify(original),
            ix.verify(release.table, policy(k)),
            ix.verify(release.table, policy(k), original=original),
            ix.verify(release.write(tmp_path / "out"), policy(k)),
            ix.verify(tmp_path / "out", policy(k), original=original),
        ):
            assert verdict.passed, str(verdict)
            assert verdict.smallest_group >= k
            assert verdict.rows == 12 - release.suppressed


def test_a_verdict_says_what_was_counted(released):
    verdict = ix.verify(released, policy())
    assert (verdict.rows, verdict.groups, verdict.smallest_group) == (10, 5, 2)
    assert verdict.to_dict()["passed"] is True
    assert str(verdict).startswith("passed: 10 rows, 5 groups, smallest 2")
    verdict.raise_if_failed()


@pytest.mark.slow
def test_a_group_of_k_minus_one_is_caught(released):
    short = with_rows(released, rows_of(released)[1:])
    verdict = ix.verify(short, policy())
    assert failed(verdict) == {"model.k-anonymity"}
    assert verdict.smallest_group == 1
    with pytest.raises(ix.VerificationError, match="1 of 5 groups fail, 1 row in them"):
        verdict.raise_if_failed()


@pytest.mark.slow
def test_a_label_of_another_value_is_caught():
    """One of three x becomes a y: both groups are still large enough, but the row is not true."""
    original = pa.table({"a": ["x1", "x2", "x3", "y1", "y2", "y3"]})
    hierarchy = ix.levels([[cell, cell[0], "*"] for cell in original["a"].to_pylist()])
    policy = ix.Policy(columns={"a": ix.quasi(hierarchy)}, privacy=[ix.KAnonymity(2)])
    assert ix.verify(pa.table({"a": list("xxxyyy")}), policy, original=original).passed
    false = pa.table({"a": list("xxyyyy")})
    assert ix.verify(false, policy).passed
    assert failed(ix.verify(false, policy, original=original)) == {"truth.rows"}


@pytest.mark.slow
def test_a_false_row_is_caught_at_every_level_that_has_the_labels():
    """The labels x and y are on two levels, and at neither of them are four rows a y."""
    original = pa.table({"a": ["x1", "x2", "x3", "z1", "y1", "y2", "y3"]})
    rows = [[cell, cell[0], "y" if cell[0] == "y" else "x", "*"] for cell in original["a"].to_pylist()]
    policy = ix.Policy(columns={"a": ix.quasi(ix.levels(rows))}, privacy=[ix.KAnonymity(2)])
    assert ix.verify(pa.table({"a": list("xxxxyyy")}), policy, original=original, is_local=False).passed
    verdict = ix.verify(pa.table({"a": list("xxyyyy")}), policy, original=original, is_local=False)
    assert failed(verdict) == {"truth.rows"}
    assert "1 released rows generalize no row of the original" in str(verdict)


@pytest.mark.slow
def test_a_label_of_a_wrong_level_is_caught(released, original):
    """A whole group climbs one level further than the others: still 2-anonymous, but of no single node.

    A release that says it generalizes whole columns is false then; one that generalizes cells is not.
    """
    rows = [
        (race, "1960-64" if (race, born) == ("black", "1964") else born, *more)
        for race, born, *more in rows_of(released)
    ]
    false = with_rows(released, rows)
    assert ix.verify(false, policy()).passed
    assert failed(ix.verify(false, policy(), original=original, is_local=False)) == {"truth.rows"}
    assert ix.verify(false, policy(), original=original).passed


@pytest.mark.slow
def test_a_label_that_no_level_has_is_caught(released, original):
    rows = [("purple", *row[1:]) if row[0] == "black" else row for row in rows_of(released)]
    assert failed(ix.verify(with_rows(released, rows), policy(), original=original)) == {"truth.rows"}


@pytest.mark.slow
def test_a_duplicated_row_is_caught(released, original):
    rows = rows_of(released)
    more = with_rows(released, [*rows, rows[0]])
    assert ix.verify(more, policy()).passed
    assert failed(ix.verify(more, policy(), original=original)) == {"truth.rows"}


@pytest.mark.slow
def test_a_row_dropped_from_a_large_group_is_caught(large_groups, original):
    fewer = with_rows(large_groups, rows_of(large_groups)[1:])
    assert ix.verify(fewer, policy(2)).passed
    assert "suppression.least" in failed(ix.verify(fewer, policy(2, 6), original=original))


@pytest.mark.slow
def test_a_dropped_group_is_caught(released, original):
    rows = [row for row in rows_of(released) if row[:2] != ("white", "1967")]
    assert len(rows) == 8
    assert ix.verify(with_rows(released, rows), policy()).passed
    assert failed(ix.verify(with_rows(released, rows), policy(2, 4), original=original)) == {"suppression.least"}
    assert "suppression.limit" in failed(ix.verify(with_rows(released, rows), policy(), original=original))


def test_more_suppression_than_the_release_may_is_caught_without_the_original(released):
    assert failed(ix.verify(released, policy(2, 1), suppressed=2)) == {"suppression.limit"}
    assert ix.verify(released, policy(2, 2), suppressed=2).passed


def test_an_identifier_left_in_is_caught(released, original):
    named = released.append_column("Name", pa.array(NAMES[:10]))
    for verdict in (ix.verify(named, policy()), ix.verify(named, policy(), original=original)):
        assert failed(verdict) == {"cells.columns"}
        with pytest.raises(ix.VerificationError, match="identifier 'Name' is left in"):
            verdict.raise_if_failed()


def test_an_undeclared_column_is_caught(released):
    verdict = ix.verify(released.append_column("Phone", pa.array(NAMES[:10])), policy())
    assert failed(verdict) == {"cells.columns"}
    with pytest.raises(ix.VerificationError, match="'Phone' is not in the policy"):
        verdict.raise_if_failed()


@pytest.mark.parametrize("column", ["ZIP", "Problem"])
def test_a_column_left_out_is_caught(released, original, column):
    less = released.drop_columns(column)
    assert "cells.columns" in failed(ix.verify(less, policy()))
    assert "cells.columns" in failed(ix.verify(less, policy(), original=original))


def test_an_empty_table_is_caught(released, original):
    for verdict in (
        ix.verify(released.slice(0, 0), policy()),
        ix.verify(released.slice(0, 0), policy(), original=original),
    ):
        assert not verdict.passed


@pytest.mark.slow
def test_sensitive_cells_exchanged_between_groups_are_caught(released, original):
    rows = rows_of(released)
    first = next(n for n, row in enumerate(rows) if row[4] == "vomiting")
    second = next(n for n, row in enumerate(rows) if row[4] == "wheezing")
    rows[first], rows[second] = (*rows[first][:4], "wheezing"), (*rows[second][:4], "vomiting")
    swapped = with_rows(released, rows)
    assert ix.verify(swapped, policy()).passed
    assert failed(ix.verify(swapped, policy(), original=original)) == {"truth.rows"}


@pytest.mark.slow
def test_sensitive_cells_exchanged_within_a_group_are_no_violation(released, original):
    """The rows of a group differ in nothing else, so the table is the same multiset."""
    rows = rows_of(released)
    vomiting = next(row for row in rows if row[4] == "vomiting")
    back_pain = next(row for row in rows if row[4] == "back pain")
    assert vomiting[:4] == back_pain[:4]
    swapped = with_rows(released, [row for row in rows if row not in (vomiting, back_pain)] + [back_pain, vomiting])
    assert ix.verify(swapped, policy(), original=original).passed


@pytest.mark.slow
def test_a_release_of_ineligible_rows_is_caught(original):
    with ix.anonymize(original, policy(2, 2), algorithm=ix.Datafly()) as release:
        only_black = policy(2, 2, eligible=[ix.where("Race", "==", "black")])
        assert "truth.rows" in failed(ix.verify(release.table, only_black, original=original))


@pytest.fixture
def folder(original, tmp_path):
    """A written release."""
    with ix.anonymize(original, policy(), algorithm=ix.Datafly()) as release:
        return release.write(tmp_path / "out")


def change_manifest(folder, change):
    path = folder / "manifest.json"
    content = json.loads(path.read_text("utf-8"))
    change(content)
    path.write_text(json.dumps(content), "utf-8")


@pytest.mark.slow
def test_a_file_changed_after_writing_is_caught(folder, original):
    """Two rows of one group are the same rows in another order; only the digest can tell."""
    (path,) = (folder / name for name in json.loads((folder / "manifest.json").read_text("utf-8"))["files"])
    table = pyarrow.parquet.read_table(path)
    pyarrow.parquet.write_table(table.take(list(range(table.num_rows))[::-1]), path)
    verdict = ix.verify(folder, policy())
    assert failed(verdict) == {"manifest.files"}
    assert failed(ix.verify(folder, policy(), original=original)) == {"manifest.files"}


@pytest.mark.slow
def test_a_csv_changed_after_writing_is_caught(original, tmp_path):
    pyarrow.csv.write_csv(original, tmp_path / "table.csv")
    with ix.anonymize(tmp_path / "table.csv", policy(), algorithm=ix.Datafly()) as release:
        folder = release.write(tmp_path / "out")
    assert ix.verify(folder, policy()).passed
    with (folder / "table.csv").open("a") as file:
        file.write("\n")
    assert failed(ix.verify(folder, policy())) == {"manifest.files"}


@pytest.mark.slow
@pytest.mark.parametrize(
    "content",
    ["", "{", "[]", "null", "{}", '{"files": {}}', '{"files": {"table.parquet": "x"}}', '{"files": ["table.parquet"]}'],
)
def test_a_broken_manifest_is_an_error(folder, content):
    (folder / "manifest.json").write_text(content, "utf-8")
    with pytest.raises(ix.TableError, match=r"manifest"):
        ix.verify(folder, policy())


@pytest.mark.slow
@pytest.mark.parametrize("name", ["../other.parquet", "/etc/passwd", "absent.parquet"])
def test_a_manifest_that_names_a_file_elsewhere_is_an_error(folder, name):
    (folder.parent / "other.parquet").write_bytes(next(folder.glob("table.*")).read_bytes())
    change_manifest(folder, lambda m: m.update(files={name: next(iter(m["files"].values()))}))
    with pytest.raises(ix.TableError, match="is not there"):
        ix.verify(folder, policy())


@pytest.mark.slow
def test_a_manifest_that_is_not_utf_8_is_an_error(folder):
    (folder / "manifest.json").write_bytes(b"\xff\xfe{}")
    with pytest.raises(ix.TableError, match="manifest"):
        ix.verify(folder, policy())


@pytest.mark.slow
def test_a_manifest_of_another_policy_is_caught(folder):
    assert failed(ix.verify(folder, policy(2, 3))) == {"manifest.policy"}
    change_manifest(folder, lambda m: m.update(policy_sha256="0" * 64))
    assert failed(ix.verify(folder, policy())) == {"manifest.policy"}
    change_manifest(folder, lambda m: m.pop("policy_sha256"))
    with pytest.raises(ix.TableError, match="policy_sha256"):
        ix.verify(folder, policy())


@pytest.mark.slow
@pytest.mark.parametrize(("fact", "lie"), [("released", 11), ("groups", 9), ("smallest_group", 5)])
def test_a_manifest_whose_counts_are_not_the_tables_is_caught(folder, fact, lie):
    """A folder is compared with its manifest: what it says of itself must be what is counted."""
    change_manifest(folder, lambda m: m.update({fact: lie}))
    assert not ix.verify(folder, policy()).passed


@pytest.mark.slow
@pytest.mark.parametrize("lie", [0, 1, 3])
def test_a_manifest_that_lies_about_suppressed_rows_is_caught_with_the_original(folder, original, lie):
    """Law 2: suppressed rows are counted and said."""
    change_manifest(folder, lambda m: m.update(suppressed=lie))
    assert not ix.verify(folder, policy(), original=original).passed


@pytest.mark.slow
@pytest.mark.parametrize("node", [[0, 0, 0, 0], "x", {"Race": "two"}, {"Race": 99, "Age": 1}, {}, None])
def test_a_manifests_node_is_only_a_hint(folder, original, node):
    """Nonsense there may be refused as a broken manifest, but it never crashes and never makes a release false."""
    change_manifest(folder, lambda m: m.update(node=node))
    with contextlib.suppress(ix.TableError):
        assert "truth.rows" not in failed(ix.verify(folder, policy(), original=original))


def lie(path, value):
    """Return what makes a manifest say something else at a path such as policy.privacy.0.k."""

    def change(said):
        *way, last = path.split(".")
        for step in way:
            said = said[int(step) if isinstance(said, list) else step]
        said[int(last) if isinstance(said, list) else last] = value

    return change


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("policy.privacy.0.k", 50),
        ("policy.columns.Problem.role", "quasi"),
        ("policy.max_suppression", 0.5),
        ("verdict.passed", False),
        ("verdict.smallest_group", 50),
        ("verdict.rows", 11),
        ("verdict.checks.0.passed", False),
        ("verdict.checks.1.numbers.smallest", 50),
        ("verdict.checks.0.id", "Ann is row 3"),
        ("verdict.checks.0.id", "cells.ann"),
        ("verdict.checks.2.numbers.note", "Ann is row 3"),
        ("verdict.note", "Ann is row 3"),
        ("algorithm", "Ann is row 3"),
        ("policy.algorithm", "Ann is row 3"),
        ("policy.columns.ZIP.weight", True),
        ("options", {"note": "Ann is row 3"}),
        ("options", {"Ann is row 3": 1}),
        ("limits", {"ann": 3}),
        ("about", {"note": "Ann is row 3"}),
        ("drawn", {"Ann is row 3": 1}),
        ("tables", {"quasi": ["Ann"]}),
        ("unreadable", {"Ann": 1}),
        ("measures", {"Ann is row 3": 1}),
        ("measures.precision", float("nan")),
        ("made_at", "2026-11-17T10:00:00.123456+00:00"),
        ("node.Race", 99),
        ("node.Race", -1),
        ("heights.ZIP", 50),
        ("level_names.ZIP", "as it is"),
        ("eligible", 1_000_000),
        ("suppressed", -5),
        ("unsafe", True),
        ("unsafe", False),
        ("note", "Ann is row 3"),
        ("measures.precision", -1.0),
        ("measures.precision", "Ann"),
        ("made_at", "yesterday"),
        ("made_by", "Ann"),
        ("is_cut_short", False),
        ("people", {"released": 50}),
        ("people", {"eligible": 12, "released": 10, "lost_rows": 5, "lost_all_rows": 9, "smallest_group": 2}),
        ("pseudonym_salt", "Ann"),
        ("pseudonym_salt", b"Ann is row 3".hex()),
        ("files", {"table.parquet": "Ann"}),
    ],
)
def test_what_a_manifest_says_falsely_is_caught(folder, path, value):
    """Alone, without the original: no statement passes that nobody looks at, and none is quoted."""
    change_manifest(folder, lie(path, value))
    try:
        verdict = ix.verify(folder, policy())
        assert failed(verdict) & {"manifest.statements", "manifest.files"}
        found = str(verdict)
    except ix.TableError as error:
        found = str(error)
    assert "Ann" not in found.replace(str(folder), "")


def test_levels_that_a_manifest_states_falsely_are_caught_with_the_original(folder, original):
    said = json.loads((folder / "manifest.json").read_text("utf-8"))["node"]
    name = max(said, key=said.get)
    hierarchy = policy().columns[name].hierarchy
    change_manifest(folder, lie(f"node.{name}", said[name] - 1))
    change_manifest(folder, lie(f"level_names.{name}", hierarchy.level_names[said[name] - 1]))
    assert failed(ix.verify(folder, policy())) == {"manifest.statements"}  # the measures say something else
    assert failed(ix.verify(folder, policy(), original=original)) == {"manifest.statements", "truth.levels"}


def test_levels_that_read_the_same_do_not_hide_a_false_level():
    """Level 1 and level 2 have the same labels, of other values each: only one of them is true."""
    hierarchy = ix.levels([["a", "x", "y", "*"], ["b", "x", "y", "*"], ["c", "y", "x", "*"]])
    table = pa.table({"q": list("aabbcc")})
    made = ix.Policy(columns={"q": ix.quasi(hierarchy)}, privacy=[ix.KAnonymity(2)])
    released = pa.table({"q": list("yyyyxx")})
    assert ix.verify(released, made, original=table, node={"q": 2}).passed
    assert failed(ix.verify(released, made, original=table, node={"q": 1})) == {"truth.levels"}


def test_what_a_recipient_without_the_policy_is_reported_of_it_has_no_remarks(folder):
    assert ix.verify(folder).passed
    for path in ("policy.note", "policy.columns.ZIP.note"):
        change_manifest(folder, lie(path, "Ann is row 3"))
        with pytest.raises(ix.TableError, match=r"no manifest of a release \(policy\)"):
            ix.verify(folder)
        change_manifest(folder, lambda m: [m["policy"].pop("note", ""), m["policy"]["columns"]["ZIP"].pop("note", "")])


def test_a_file_under_another_name_is_refused(folder):
    """A name could tell something, too."""
    (name,) = json.loads((folder / "manifest.json").read_text("utf-8"))["files"]
    (folder / name).rename(folder / f"Ann{Path(name).suffix}")
    change_manifest(folder, lambda m: m.update(files={f"Ann{Path(name).suffix}": m["files"][name]}))
    verdict = ix.verify(folder, policy())
    assert failed(verdict) == {"manifest.files"}
    assert "1 table under a name that none of ours has" in str(verdict)


@pytest.mark.slow
def test_stated_people_are_compared_with_the_original(tmp_path):
    table = pa.table({"who": list("aabbccdd"), "q": list("xxxxyyyy")})
    linked = {"column": "who", "release": "pseudonym"}
    for person in ("who", linked):
        made = ix.Policy(columns={"q": ix.quasi(ix.suppress())}, privacy=[ix.KAnonymity(2)], person=person)
        with ix.anonymize(table, made) as release:
            out = release.write(tmp_path / str(person is linked))
        assert ix.verify(out, made, original=table).passed
        if person is linked:
            for name in ("smallest_group", "smallest_profile"):
                change_manifest(out, lie(f"people.{name}", 1))
                assert failed(ix.verify(out, made)) == {"manifest.people"}  # pseudonyms tell it, also to recipients
                change_manifest(out, lie(f"people.{name}", 2))
        change_manifest(out, lambda m: m.update(people=m["people"] | {"eligible": 3, "released": 3}))
        assert "manifest.people" in failed(ix.verify(out, made, original=table))


@pytest.mark.parametrize("number", [0, 2, 99, "3", None, True, 3.0])
def test_a_manifest_of_an_unknown_format_is_an_error(folder, number):
    change_manifest(folder, lambda m: m.update(format=number))
    with pytest.raises(ix.TableError, match="format that this version does not know"):
        ix.verify(folder, policy())


def test_a_manifest_that_says_something_twice_is_an_error(folder):
    """Readers believe different ones."""
    path = folder / "manifest.json"
    path.write_text(path.read_text("utf-8").replace('"format"', '"released": 50, "format"', 1), "utf-8")
    with pytest.raises(ix.TableError, match="no manifest"):
        ix.verify(folder, policy())


def test_what_follows_from_nothing_at_hand_is_named(folder, original):
    (alone,) = ix.verify(folder, policy()).not_checked
    assert {"algorithm", "node"} <= set(alone.numbers["statements"])
    assert alone.numbers["measures"] == ["loss", "ncp", "entropy"]
    (proved,) = ix.verify(folder, policy(), original=original).not_checked
    assert "node" not in proved.numbers["statements"]


@pytest.mark.slow
@pytest.mark.parametrize("suppressed", ["2", 2.5, None, [2], True])
def test_a_manifest_with_counts_of_a_wrong_type_is_an_error_or_fails(folder, suppressed):
    change_manifest(folder, lambda m: m.update(suppressed=suppressed))
    with contextlib.suppress(ix.TableError):
        assert not ix.verify(folder, policy()).passed


# Suppressed rows that are released with blank quasi-identifiers.


def blank_policy(max_suppression, k=2):
    columns = {"a": ix.quasi(), "b": ix.quasi(), "ill": ix.sensitive()}
    return ix.Policy(
        columns=columns, privacy=[ix.KAnonymity(k)], max_suppression=max_suppression, suppressed_rows="blank"
    )


BLANKED = pa.table(
    {
        "a": ["x", "x", "y", "z", None, None],
        "b": ["p", "p", "q", "r", None, None],
        "ill": ["flu", "cold", "flu", "gout", "gout", "flu"],
    }
)


def test_rows_that_are_blank_by_nature_cannot_be_told_from_suppressed_ones():
    """Two rows must be suppressed, and two more have no quasi-identifier to begin with."""
    with pytest.raises(ix.InfeasibleError, match="blank"):
        ix.anonymize(BLANKED, blank_policy(2))


@pytest.mark.slow
def test_a_false_row_cannot_hide_behind_rows_that_are_blank_by_nature():
    """The rows' illnesses are those of the original, and every group is large enough; but x, p has no gout."""
    rows = [("x", "p", "gout"), ("x", "p", "cold"), *[(None, None, ill) for ill in ("flu", "flu", "flu", "gout")]]
    assert Counter(row[2] for row in rows) == Counter(BLANKED["ill"].to_pylist())
    assert not ix.verify(with_rows(BLANKED, rows), blank_policy(2), original=BLANKED).passed


@pytest.mark.slow
def test_honest_blank_rows_pass():
    table = BLANKED.slice(0, 4)
    with ix.anonymize(table, blank_policy(2)) as release:
        assert release.suppressed == 2
        assert Counter(rows_of(release.table)) == Counter(
            [("x", "p", "flu"), ("x", "p", "cold"), (None, None, "flu"), (None, None, "gout")]
        )
        assert release.verify(table).passed, str(release.verdict)
        assert ix.verify(release.table, blank_policy(2), original=table).passed


@pytest.mark.slow
def test_blanking_rows_that_need_not_be_suppressed_is_caught():
    table = pa.table({"a": ["x"] * 4 + ["y"] * 2, "b": ["p"] * 6, "ill": ["flu"] * 6})
    rows = [("x", "p", "flu")] * 4 + [(None, None, "flu")] * 2
    assert failed(ix.verify(with_rows(table, rows), blank_policy(2), original=table)) == {"suppression.least"}


@pytest.mark.slow
def test_a_blank_row_with_the_sensitive_cell_of_an_ineligible_row_is_caught():
    table = pa.table({"a": ["x", "x", "y", "z", "w"], "b": ["p"] * 5, "ill": ["flu", "cold", "gout", "flu", "plague"]})
    eligible = ix.Policy(
        columns={"a": ix.quasi(), "b": ix.quasi(), "ill": ix.sensitive()},
        privacy=[ix.KAnonymity(2)],
        max_suppression=2,
        suppressed_rows="blank",
        eligible=[ix.where("ill", "!=", "plague")],
    )
    honest = [("x", "p", "flu"), ("x", "p", "cold"), (None, None, "gout"), (None, None, "flu")]
    false = [*honest[:3], (None, None, "plague")]
    assert ix.verify(with_rows(table, honest), eligible, original=table).passed
    assert not ix.verify(with_rows(table, false), eligible, original=table).passed


# Random corruption, judged by the definition.


def judged(case, rows, notes):
    """Return by definition whether rows (labels and a note each) are an honest release of a case.

    Some node explains every row one to one; every quasi-identifier has k; and no more rows are gone than must be,
    save Datafly's smallest group that hides fewer than k suppressed ones.
    """
    if not rows or bf.failing(case, [row[:-1] for row in rows], range(len(rows))):
        return False
    gone = len(case.rows) - len(rows)
    if case.budget is not None and gone > case.allowed:
        return False
    for node in case.nodes():
        one = bf.outcome(case, node)
        whole = Counter((*labels, note) for labels, note in zip(one.rows, notes, strict=True))
        if Counter(rows) - whole:
            continue
        required = len(one.suppressed)
        safe = Counter(one.released).values()
        if gone == required or (0 < required < case.k and safe and gone == required + min(safe)):
            return True
    return False


@st.composite
def corruptions(draw):
    """Draw a case, the rows of an honest release of it, and the same rows with one thing changed."""
    case = draw(bf.cases(most_columns=3, most_rows=12))
    notes = draw(st.lists(st.sampled_from("uv"), min_size=len(case.rows), max_size=len(case.rows)))
    node = draw(st.sampled_from(list(case.nodes())))
    one = bf.outcome(case, node)
    rows = [(*row, notes[number]) for number, row in enumerate(one.rows) if number not in one.suppressed]
    labels = [
        [*sorted({label for row in case.rows for label in column.path(row[position]) if label is not None}), None]
        for position, column in enumerate(case.columns)
    ] + [["u", "v"]]
    kind = draw(st.sampled_from(["none", "cell", "cell", "cell", "drop", "double", "exchange", "drop group"]))
    if not rows:
        return case, notes, rows, kind
    number = draw(st.integers(0, len(rows) - 1))
    if kind == "cell":
        column = draw(st.integers(0, len(labels) - 1))
        changed = draw(st.sampled_from(labels[column]))
        rows[number] = (*rows[number][:column], changed, *rows[number][column + 1 :])
    elif kind == "drop":
        del rows[number]
    elif kind == "double":
        rows.append(rows[number])
    elif kind == "drop group":
        rows = [row for row in rows if row[:-1] != rows[number][:-1]]
    elif kind == "exchange":
        second = draw(st.integers(0, len(rows) - 1))
        first_note, second_note = rows[number][-1], rows[second][-1]
        rows[number] = (*rows[number][:-1], second_note)
        rows[second] = (*rows[second][:-1], first_note)
    return case, notes, rows, kind


@pytest.mark.slow
@given(corruptions())
@examples(50, opens_tables=True)
def test_verify_passes_exactly_the_releases_that_are_honest_by_definition(drawn):
    case, notes, rows, kind = drawn
    policy = bf.policy_of_case(case, columns={"note": ix.other()})
    names = [*(column.name for column in case.columns), "note"]
    verdict = ix.verify(table_of(names, rows), policy, original=bf.table_of_case(case, note=notes), is_local=False)
    honest = judged(case, rows, notes)
    event(f"{kind}: {'honest' if honest else 'false'}")
    assert verdict.passed == honest, str(verdict)


@pytest.mark.slow
@given(bf.cases(most_columns=3, most_rows=12, several=True))
@examples(12)
def test_verify_passes_honest_releases_with_several_quasi_identifiers(case):
    policy = bf.policy_of_case(case)
    original = bf.table_of_case(case)
    outcomes = bf.passing(case)
    assume(outcomes)
    names = [column.name for column in case.columns]
    rows = max(outcomes.values(), key=lambda one: len(one.released)).released
    assert ix.verify(table_of(names, rows), policy, original=original).passed
    assert not ix.verify(table_of(names, [*rows, rows[0], *rows]), policy, original=original).passed


@pytest.mark.parametrize("algorithm", ["datafly", "mondrian", "lossy-join"])
def test_a_recount_writes_thousands_with_a_comma(algorithm):
    """As every other number that is shown."""
    table = pa.table({"age": [str(20 + n % 40) for n in range(1200)], "ill": ["flu", "gout", "burn"] * 400})
    policy = ix.Policy(
        {"age": ix.quasi(ix.intervals(5)), "ill": ix.sensitive()},
        [ix.AlphaK(0.9, 2)],
        max_suppression=1100,
        algorithm=algorithm,
    )
    with ix.anonymize(table, policy) as release:
        found = str(release.verify(table))
        short = str(ix.verify(pa.table({"age": ["20-24"] * 1100, "ill": ["flu"] * 1100}), policy, original=table))
    assert "1,200 rows" in found
    assert "1,100 rows" in short
    assert not re.search(r"[0-9]{4}", found + short), found + short


def test_every_statement_of_a_manifest_is_explained():
    """Line by line: what it says, and what verify makes of it."""
    page = (Path(__file__).parents[2] / "docs" / "guarantees.md").read_text("utf-8")
    lines = page.partition("| statement | content |")[2].partition("\n\n")[0].splitlines()[2:]
    explained = {}
    for line in lines:
        names, content, made_of_it = (cell.strip() for cell in line.strip("| ").split(" | "))
        assert content
        explained |= dict.fromkeys(re.findall(r"`(\w+)`", names), made_of_it)
    assert explained.keys() == Manifest.model_fields.keys()
    for name, made_of_it in explained.items():
        assert made_of_it.startswith(f"{who_checks(name).by}: "), name


def test_one_more_row_taken_out_of_a_local_release_is_bounded():
    """It is as true as before: what holds is the number that is missing, and the limit of the policy."""
    table = pa.table({"age": [str(20 + n % 4) for n in range(12)], "ill": ["flu", "gout", "burn"] * 4})
    policy = ix.Policy(
        {"age": ix.quasi(ix.intervals(10)), "ill": ix.sensitive()}, [ix.KAnonymity(2)], max_suppression=1
    )
    with ix.anonymize(table, policy, algorithm="mondrian") as release:
        released = release.table.sort_by("age")  # four groups of three
    left = [released.take([row for row in range(12) if row not in gone]) for gone in ((), (0,), (0, 3))]
    whole, one, two = (ix.verify(rows, policy, original=table, is_local=True) for rows in left)
    found = [{check.id: check.numbers for check in verdict.checks}["suppression.least"] for verdict in (whole, one)]
    limits = {"how": "not proved", "eligible": 12, "allowed": 1}
    assert found == [{**limits, "suppressed": number} for number in range(2)]
    assert [verdict.passed for verdict in (whole, one, two)] == [True, True, False]
    assert failed(two) == {"suppression.limit"}


def letters(text):
    return pa.table({"letter": list(text)})


@pytest.mark.parametrize(
    ("released", "passes"),
    [
        ("aaaabbb", True),  # c must go, and nothing else
        ("aaaa", True),  # and b, the smallest group, to hide it among
        ("bbb", False),  # a is not the smallest
        ("aaa", False),  # not a whole group
    ],
)
def test_no_more_is_suppressed_than_must_be_and_a_smallest_group(released, passes):
    columns = {"letter": ix.quasi(ix.keep())}
    asked = ix.Policy(columns=columns, privacy=[ix.KAnonymity(3)], max_suppression=6)
    verdict = ix.verify(letters(released), asked, original=letters("aaaabbbc"))
    assert [check.passed for check in verdict.checks if check.id == "suppression.least"] == [passes]
    assert verdict.passed is passes
