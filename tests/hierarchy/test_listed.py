"""Listed hierarchies: what files and trees may say, and every way in which they may not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from indistinct.errors import HierarchyError
from indistinct.hierarchy import UnknownValues, levels, tree

JOBS = {"*": {"white-collar": ["clerk", "manager"], "blue-collar": ["welder"]}}


def written(folder: Path, text: str, encoding: str = "utf-8") -> Path:
    path = folder / "race.csv"
    path.write_bytes(text.encode(encoding))
    return path


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("white;person;*\nblack;person;*\n", (("white", "person", "*"), ("black", "person", "*"))),
        ("white,person\r\nblack,person\r\n", (("white", "person"), ("black", "person"))),
        (
            "Congo, Republic;Africa\nChad, Republic;Africa\n",
            (("Congo, Republic", "Africa"), ("Chad, Republic", "Africa")),
        ),
        ('"Congo, Republic",Africa\nChad,Africa\n', (("Congo, Republic", "Africa"), ("Chad", "Africa"))),
        ('"a;b";*\n"say ""c""";*\n', (("a;b", "*"), ('say "c"', "*"))),
        ("a;*\n\nb;*\n\n", (("a", "*"), ("b", "*"))),
        (";unknown;*\na;letter;*", ((None, "unknown", "*"), ("a", "letter", "*"))),
        (";;*\na;letter;*", ((None, None, "*"), ("a", "letter", "*"))),
        ("alone", (("alone",),)),
    ],
)
def test_files_are_read_with_either_delimiter(text: str, rows: tuple[object, ...], tmp_path: Path) -> None:
    assert levels(written(tmp_path, text)).rows == rows


def test_a_byte_order_mark_is_no_part_of_a_value(tmp_path: Path) -> None:
    assert levels(written(tmp_path, "white;*", "utf-8-sig")).rows == (("white", "*"),)


def test_another_delimiter_is_used_when_given(tmp_path: Path) -> None:
    hierarchy = levels(written(tmp_path, "a;b\t*\nc\t*\n"), delimiter="\t")
    assert hierarchy.rows == (("a;b", "*"), ("c", "*"))
    assert hierarchy.options()["delimiter"] == "\t"


def test_a_file_is_read_once(tmp_path: Path) -> None:
    path = written(tmp_path, "white;*")
    hierarchy = levels(path)
    path.unlink()
    assert hierarchy.compile(["white"]).labels == (("white",), ("*",))


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([], "levels: is empty; list at least one value"),
        ([["a", "*"], ["b", "*"], ["a", "*"]], r"levels: row 3: 'a' is listed again \(first: row 1\); keep one"),
        ([["", "*"], [None, "*"]], r"row 2: the missing value is listed again \(first: row 1\)"),
        (
            [["a", "x", "y", "*"], ["b", "x", "z", "*"]],
            r"row 2: 'x' at level 1 goes to 'z', but to 'y' before \(row 1\); a label has one parent: rename",
        ),
        ([["a", "x", "*"], ["b", "", "*"]], "row 2: the cell at level 1 is empty; fill it"),
        ([["a", "x", "*"], ["", "x", ""]], "row 2: the cell at level 2 is empty"),
        ([["a", "x", "*"], ["b", "*"], ["c", "x", "*"]], "row 2: has 2 cells where the others have 3; give every"),
        ([["a", "x"], ["b", "y"]], "the last level has 2 labels, 'x' and 'y' among them; end every row with the same"),
        ([["a"], ["b"]], "the last level has 2 labels"),
        ([["a", 5]], "row 1: the cell at level 1 is a int, not text; write it in quotes"),
        (["ab"], "row 1: a row is a list of labels, not a str"),
        ([[""]], "row 1: the cell at level 0 is empty"),
    ],
)
def test_rows_that_are_no_hierarchy_are_refused(rows: list[Any], message: str) -> None:
    with pytest.raises(HierarchyError, match=message):
        levels(rows)


def test_all_mistakes_of_a_file_are_reported_by_line(tmp_path: Path) -> None:
    path = written(tmp_path, "a;x;*\nb;;*\n\na;x;*\nc;x;+\nd\n")
    with pytest.raises(HierarchyError) as caught:
        levels(path)
    lines = str(caught.value).splitlines()
    assert lines[0] == "race.csv: 5 mistakes"
    assert [line.split(":")[0].strip() for line in lines[1:]] == [
        "line 2",
        "line 6",
        "line 4",
        "line 5",
        lines[5].strip(),
    ]
    assert "the last level has 2 labels" in lines[5]


def test_long_lists_of_mistakes_are_cut() -> None:
    with pytest.raises(HierarchyError, match=r"levels: 30 mistakes(\n.*){20}\n  and 10 more$"):
        levels([["a", "*"]] * 31)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "race.csv: is empty"),
        (b"\xff\xfe", "race.csv: is not UTF-8"),
        (b'"a"b;*\n', "race.csv: is not a CSV file; check its quotes"),
    ],
)
def test_unreadable_files_are_refused(content: bytes, message: str, tmp_path: Path) -> None:
    path = tmp_path / "race.csv"
    path.write_bytes(content)
    with pytest.raises(HierarchyError, match=message):
        levels(path)


def test_an_absent_file_is_named_without_its_folder(tmp_path: Path) -> None:
    with pytest.raises(HierarchyError, match=r"race\.csv: cannot be read: No such file") as caught:
        levels(tmp_path / "race.csv")
    assert str(tmp_path) not in str(caught.value)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"top": "*"}, r"every row already ends with '\*'; leave top out"),
        ({"top": ""}, "top must be a label or None"),
        ({"names": ["value"]}, "1 names for 2 levels; name every level"),
        ({"names": ["value", ""]}, "names must list one name for each level"),
        ({"delimiter": ";"}, "a delimiter is for files"),
    ],
)
def test_wrong_options_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(HierarchyError, match=message):
        levels([["a", "*"], ["b", "*"]], **options)


def test_a_wrong_delimiter_is_refused(tmp_path: Path) -> None:
    with pytest.raises(HierarchyError, match="delimiter must be one character"):
        levels(written(tmp_path, "a;*"), delimiter=";;")


def test_an_added_top_lets_one_column_be_a_hierarchy() -> None:
    compiled = levels([["a"], ["b"], [""]], top="*").compile(["a", "b", None])
    assert compiled.labels == (("a", "b", None), ("*",))
    assert compiled.has_suppressed_top


def test_names_name_every_level() -> None:
    assert levels([["a", "x"]], top="*", names=["one", "two", "three"]).compile(["a"]).level_names == (
        "one",
        "two",
        "three",
    )


def test_a_missing_value_goes_straight_to_the_top_unless_listed() -> None:
    unlisted = levels([["a", "letter", "*"]]).compile(["a", None])
    assert unlisted.labels == (("a", None), ("letter", None), ("*",))
    listed = levels([["a", "letter", "*"], ["", "unknown", "*"]]).compile(["a", None])
    assert listed.labels == (("a", None), ("letter", "unknown"), ("*",))
    assert listed.domain_size == 2


def test_a_missing_value_has_no_place_beside_a_single_value() -> None:
    with pytest.raises(UnknownValues, match="1 value has no label"):
        levels([["a"]]).compile(["a", None])


def test_unknown_values_are_told_where_to_go(tmp_path: Path) -> None:
    with pytest.raises(
        UnknownValues, match=r"2 values have no label; list every value in race\.csv, or correct the table"
    ):
        levels(written(tmp_path, "white;*")).compile(["black", "green", "white"])
    with pytest.raises(UnknownValues, match="1 value has no label; list every value in the tree"):
        tree(JOBS).compile(["baker"])


def test_a_listed_hierarchy_shows_all_its_values(tmp_path: Path) -> None:
    job = tree(JOBS)
    assert job.table() == [
        ["clerk", "white-collar", "*"],
        ["manager", "white-collar", "*"],
        ["welder", "blue-collar", "*"],
    ]
    assert job.draw().splitlines() == [
        "*",
        "├── white-collar",
        "│   ├── clerk",
        "│   └── manager",
        "└── blue-collar",
        "    └── welder",
    ]
    job.write_csv(tmp_path / "job.csv")
    assert (tmp_path / "job.csv").read_text("utf-8").splitlines()[0] == "clerk;white-collar;*"
    assert levels(tmp_path / "job.csv").rows == job.rows


def test_a_written_file_says_the_same_whatever_its_cells_hold(tmp_path: Path) -> None:
    for rows in ([["a,b"]], [["a;b", "*"], ["c;d", "*"]], [['say "x"', "*"], ["", "*"], ["two\r\nlines", "*"]]):
        for delimiter in ";,":
            levels(rows).write_csv(tmp_path / "rows.csv", delimiter=delimiter)
            assert levels(tmp_path / "rows.csv").rows == levels(rows).rows


def test_leaves_of_a_tree_may_be_written_in_several_ways() -> None:
    rows = tree({"*": {"x": ["a", "b"]}}).rows
    assert tree({"*": {"x": {"a": {}, "b": []}}}).rows == rows
    assert tree({"*": {"x": {"a": None, "b": ()}}}).rows == rows
    assert tree({"alone": []}).rows == (("alone",),)


@pytest.mark.parametrize(
    ("nodes", "message"),
    [
        ({}, "a tree is a mapping with one root, got 0 labels"),
        (
            {"x": ["a"], "y": ["b"]},
            r'a tree is a mapping with one root, got 2 labels; put all under a label such as "\*"',
        ),
        (
            {"*": {"x": ["a"], "b": []}},
            r"tree: '\*' > 'b' is at depth 1 where the deepest value is at 2; "
            r"repeat its label on the way: \{'b': \['b'\]\}",
        ),
        ({"*": {"x": ["a"], "y": ["a"]}}, r"'\*' > 'y' > 'a': 'a' is listed again \(first: '\*' > 'x' > 'a'\)"),
        ({"*": {"p": {"x": ["a"]}, "q": {"x": ["b"]}}}, "'x' at level 1 goes to 'q', but to 'p' before"),
        ({"*": {"x": "a"}}, r"'\*' > 'x': needs a mapping or a list below it, not a str"),
        ({"*": {"x": [["a"]]}}, "a list holds values only"),
        ({"*": {"x": [5]}}, "the cell at level 0 is a int, not text"),
        ({"*": {"": ["a"]}}, "the cell at level 1 is empty"),
    ],
)
def test_a_tree_that_is_no_hierarchy_is_refused(nodes: dict[str, Any], message: str) -> None:
    with pytest.raises(HierarchyError, match=message):
        tree(nodes)
