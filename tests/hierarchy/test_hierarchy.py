"""The papers' hierarchies, the compiled form, and what a hierarchy says of itself."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pytest

from indistinct.errors import HierarchyError
from indistinct.hierarchy import (
    CompiledHierarchy,
    Hierarchy,
    UnknownValues,
    dates,
    from_spec,
    intervals,
    keep,
    levels,
    prefix,
    rounding,
    suppress,
    top_bottom,
    tree,
)

RACE = [["asian", "person"], ["black", "person"], ["white", "person"]]
ZIPS = ["02138", "02139", "02141", "02142"]

BUILDERS: list[Hierarchy] = [
    levels(RACE),
    levels(RACE, top="*", names=["race", "person", "nothing"]),
    tree({"*": {"white-collar": ["clerk", "manager"], "blue-collar": ["welder"]}}),
    tree({"person": ["asian", "black"]}, top="*", names=["race", "person", "nothing"]),
    intervals(5, 10, 20),
    intervals(0.1, [0.5, 1.0], origin=0.1, low=-1, high=99.5, top="any"),
    intervals(5.0, 10.0),
    intervals([18, 40, 65], [40], top=None),
    prefix(),
    prefix(5),
    prefix(5, keep=[4, 3], mask="#", top=None),
    dates("month", "year", "5 years", "decade"),
    dates("quarter", format=["%m/%d/%Y", "%d.%m.%Y"], top="any time"),
    dates("year", format="%Y"),
    rounding(10, 100),
    rounding(0.25, 5, top=None),
    top_bottom((20, 80), (30, 70)),
    top_bottom((None, 80), (0.5, 70), top="any"),
    suppress(),
    suppress("not released"),
    keep(),
]


def test_samarati_zip_codes_keep_four_and_then_three_digits() -> None:
    compiled = prefix(5, keep=[4, 3], top=None).compile(["94138", "94139", "94141", "94142"])
    assert compiled.height == 2
    assert compiled.labels[1:] == (("9413*", "9414*"), ("941**",))
    assert not compiled.has_suppressed_top


def test_samarati_marital_status_ends_in_not_released() -> None:
    been, never = "been married", "never married"
    paths = [["divorced", been], ["married", been], ["single", never], ["widow", been]]
    compiled = levels([[*path, "not released"] for path in paths]).compile([path[0] for path in paths])
    assert compiled.height == 2
    assert compiled.labels[1:] == ((been, never), ("not released",))
    assert compiled.maps[1].tolist() == [0, 0, 1, 0]
    assert not compiled.has_suppressed_top


def test_samarati_race_and_sex_have_height_one() -> None:
    assert levels(RACE).height == 1
    assert suppress("not released").compile(["female", "male"]).labels[1] == ("not released",)


def test_samarati_dates_of_birth_climb_to_ten_years() -> None:
    compiled = dates("month", "year", "5 years", "10 years", top=None).compile(
        ["1961-05-08", "1963-03-13", "1964-09-27", "1964-09-30"]
    )
    assert compiled.height == 4
    assert compiled.labels[3:] == (("1960-1964",), ("1960-1969",))


def test_sweeney_counts_the_suppressed_top() -> None:
    race = levels(RACE, top="******").compile(["asian", "black", "white"])
    zip_code = prefix(5, keep=[4, 3], top="*****").compile(ZIPS)
    assert (race.height, zip_code.height) == (2, 3)
    assert zip_code.labels[1:] == (("0213*", "0214*"), ("021**",), ("*****",))
    assert race.has_suppressed_top
    assert zip_code.has_suppressed_top


def test_sweeney_birth_date_has_six_levels() -> None:
    birth = dates("month", "year", "5 years", "10 years", format="%m/%d/%Y", top="********")
    assert birth.level_names == ("value", "month", "year", "5 years", "10 years", "suppressed")
    assert birth.table(["9/20/1965"]) == [
        ["9/20/1965", "1965-09", "1965", "1965-1969", "1960-1969", "********"],
    ]


def test_stars_alone_at_the_top_are_a_suppression() -> None:
    assert levels([["a", "*****"]]).compile(["a"]).has_suppressed_top
    assert prefix(2, keep=[1, 0], top=None).compile(["ab"]).has_suppressed_top
    assert not keep().compile(["*"]).has_suppressed_top


def test_maps_lead_to_labels_in_order_of_appearance() -> None:
    compiled = levels([["a", "x", "*"], ["b", "y", "*"], ["c", "x", "*"]]).compile(["b", "c"])
    assert compiled.labels == (("b", "c"), ("y", "x"), ("*",))
    assert compiled.step(0).tolist() == [0, 1]
    assert compiled.step(1).tolist() == [0, 0]


def test_leaves_count_every_listed_value() -> None:
    compiled = levels([["a", "x", "*"], ["b", "y", "*"], ["c", "x", "*"]]).compile(["b", "c"])
    assert [leaves.tolist() for leaves in compiled.leaves] == [[1, 1], [1, 2], [3]]
    assert compiled.domain_size == 3


def test_leaves_of_a_computed_hierarchy_count_the_values_at_hand() -> None:
    compiled = intervals(10).compile(["3", "4", "12"])
    assert [leaves.tolist() for leaves in compiled.leaves] == [[1, 1, 1], [2, 1], [3]]


def test_an_unlisted_missing_value_at_hand_belongs_to_the_domain() -> None:
    compiled = levels(RACE).compile(["asian", None])
    assert compiled.domain_size == 4
    assert compiled.leaves[1].tolist() == [4]


def test_a_compiled_hierarchy_refuses_a_label_with_two_parents() -> None:
    maps = (np.arange(2), np.array([0, 0]), np.array([0, 1]))
    with pytest.raises(HierarchyError, match="1 labels at level 1 have more than one parent"):
        CompiledHierarchy(("a", "b"), (("a", "b"), ("x",), ("y", "z")), maps, maps, 2, False, ("0", "1", "2"))


def test_compiled_arrays_cannot_be_changed() -> None:
    with pytest.raises(ValueError, match="read-only"):
        suppress().compile(["a"]).maps[0][0] = 1


def test_an_empty_column_compiles() -> None:
    for hierarchy in BUILDERS:
        compiled = hierarchy.compile([])
        assert all(labels == () for labels in compiled.labels)


@pytest.mark.parametrize("hierarchy", BUILDERS, ids=repr)
def test_a_specification_gives_the_same_hierarchy_back(hierarchy: Hierarchy) -> None:
    again = from_spec(hierarchy.spec(), Path())
    assert again == hierarchy
    assert hash(again) == hash(hierarchy)
    assert again.digest() == hierarchy.digest()
    assert again.spec() == hierarchy.spec()


@pytest.mark.parametrize("hierarchy", BUILDERS, ids=repr)
def test_hierarchies_travel_to_other_processes(hierarchy: Hierarchy) -> None:
    assert pickle.loads(pickle.dumps(hierarchy)) == hierarchy


def test_digests_tell_hierarchies_apart() -> None:
    assert len({hierarchy.digest() for hierarchy in BUILDERS}) == len(BUILDERS)


@pytest.mark.parametrize(
    ("hierarchy", "spec"),
    [
        (levels(RACE), {"levels": RACE}),
        (levels([["", "*"], ["a", "*"]]), {"levels": [["", "*"], ["a", "*"]]}),
        (tree({"*": {"x": ["a", "b"]}}), {"tree": {"*": {"x": ["a", "b"]}}}),
        (tree({"x": ["a"]}, top="*"), {"tree": {"nodes": {"x": ["a"]}, "top": "*"}}),
        (intervals(5, [20, 40]), {"intervals": [5, [20, 40]]}),
        (prefix(), {"prefix": True}),
        (prefix(5), {"prefix": 5}),
        (prefix(5, keep=[4, 3], top=None), {"prefix": {"length": 5, "keep": [4, 3], "top": False}}),
        (dates("month", "decade"), {"dates": ["month", "10 years"]}),
        (dates("month", format="%m/%d/%Y"), {"dates": {"levels": ["month"], "format": "%m/%d/%Y"}}),
        (rounding(10, 100), {"rounding": [10, 100]}),
        (top_bottom((20, 80)), {"top_bottom": [[20, 80]]}),
        (top_bottom((None, 80)), {"top_bottom": [[False, 80]]}),
        (suppress(), {"suppress": "*"}),
        (keep(), {"keep": True}),
    ],
    ids=repr,
)
def test_specifications_are_short(hierarchy: Hierarchy, spec: dict[str, object]) -> None:
    assert hierarchy.spec() == spec


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ({}, "a hierarchy is one of levels, tree"),
        ({"prefix": 5, "dates": ["year"]}, "a hierarchy is one of"),
        ({"interval": [5]}, "there is no hierarchy 'interval'; there are levels"),
        ({"prefix": {"size": 5}}, "prefix has no option 'size'; its options: length, keep, mask, top"),
        ({"prefix": "five"}, "length must be a number of characters"),
        ({"prefix": {"keep": 4}}, "keep must be a list"),
        ({"intervals": {"origin": 5}}, "intervals needs the option 'widths'"),
        ({"intervals": [True]}, "a width must be a number, got True"),
        ({"intervals": ["wide"]}, "a width must be a number, got 'wide'"),
        ({"dates": {"levels": ["year"], "format": 5}}, "format must be a format of strptime"),
        ({"levels": 5}, r"levels\(\) takes the path of a CSV file, or rows"),
        ({"levels": {"source": RACE, "names": 5}}, "names must list one name for each level"),
        ({"levels": "nowhere.csv"}, "nowhere.csv: cannot be read: No such file"),
        ({"tree": "x"}, "a tree is a mapping with one root, got a str"),
        ({"keep": 5}, "keep has no options; write keep = true"),
        ({"suppress": 5}, r"the label of suppress\(\) must be some text"),
        ({"top_bottom": [5]}, "bounds come in pairs"),
        ({"rounding": {"units": [5], "top": 5}}, "top must be a label or None, got 5"),
    ],
)
def test_a_wrong_specification_is_refused(spec: dict[str, object], message: str, tmp_path: Path) -> None:
    with pytest.raises(HierarchyError, match=message):
        from_spec(spec, tmp_path)


def test_a_specified_path_starts_from_the_base(tmp_path: Path) -> None:
    (tmp_path / "race.csv").write_text("white;*\nblack;*\n", encoding="utf-8")
    hierarchy = from_spec({"levels": "race.csv"}, tmp_path)
    assert hierarchy.spec() == {"levels": "race.csv"}
    assert hierarchy.digest() == levels([["white", "*"], ["black", "*"]]).digest()
    assert repr(hierarchy) == "levels('race.csv')"


def test_a_description_holds_no_label_of_a_listed_hierarchy() -> None:
    described = str(levels(RACE, top="*").describe())
    assert "'levels': ['value', 'level 1', 'suppressed']" in described
    assert not any(label in described for label in ("asian", "black", "white", "person"))


def test_a_description_leaves_the_height_open_where_values_decide_it() -> None:
    assert prefix().describe()["height"] is None
    assert prefix().compile(ZIPS).level_names == (
        "value",
        "4 characters",
        "3 characters",
        "2 characters",
        "1 character",
        "suppressed",
    )


def test_every_builder_names_its_levels() -> None:
    assert intervals(5, [20, 40]).level_names == ("value", "5 wide", "3 ranges", "suppressed")
    assert rounding(0.5, 10).level_names == ("value", "nearest 0.5", "nearest 10", "suppressed")
    assert top_bottom((20, None), (20, 80), top=None).level_names == ("value", "from 20", "20 to 80")
    assert top_bottom((None, 80)).level_names == ("value", "up to 80", "suppressed")
    assert levels([["a", "x", "*"]]).level_names == ("value", "level 1", "suppressed")
    assert suppress().level_names == ("value", "suppressed")
    assert keep().level_names == ("value",)


def test_representations_are_short() -> None:
    assert [repr(hierarchy) for hierarchy in BUILDERS[:5]] == [
        "levels(<3 values, height 1>)",
        "levels(<3 values, height 2>)",
        "tree(<3 values, height 2>)",
        "tree(<2 values, height 2>)",
        "intervals(5, 10, 20)",
    ]
    assert repr(prefix(5, keep=[4, 3], top=None)) == "prefix(5, keep=[4, 3], top=None)"
    assert repr(top_bottom((None, 80))) == "top_bottom([None, 80])"
    assert repr(keep()) == "keep()"


def test_drawings_cut_long_lists() -> None:
    drawing = suppress().draw([str(number) for number in range(5)] + [None], most=3)
    assert drawing.splitlines() == ["*", "├── 0", "├── 1", "├── 2", "└── … 3 more"]


def test_drawings_show_missing_values_and_several_roots() -> None:
    assert keep().draw(["a", None]).splitlines() == ["a", "(missing)"]


def test_a_computed_hierarchy_needs_values_to_show() -> None:
    with pytest.raises(HierarchyError, match=r"prefix\(\) lists no values of its own; say for which values"):
        prefix().draw()


def test_a_level_that_does_not_exist_is_refused() -> None:
    with pytest.raises(HierarchyError, match="there is no level 2; this hierarchy has levels 0 to 1"):
        suppress().label("a", 2)


@pytest.mark.parametrize(
    "hierarchy", [intervals(5, top=None), rounding(5, top=None), dates("year", top=None), prefix(4, top=None)]
)
def test_a_missing_value_needs_a_top(hierarchy: Hierarchy) -> None:
    with pytest.raises(UnknownValues, match=r"a missing value has no label in .* without a suppressed top") as caught:
        hierarchy.compile(["2001", None])
    assert caught.value.codes == (1,)


@pytest.mark.parametrize("hierarchy", [prefix(5), intervals(5, 10), dates("year"), rounding(10), top_bottom((1, 2))])
def test_a_missing_value_keeps_to_itself_below_the_top(hierarchy: Hierarchy) -> None:
    compiled = hierarchy.compile([None])
    assert compiled.labels == (*[(None,)] * compiled.height, ("*",))


def test_a_missing_value_is_kept() -> None:
    assert keep().compile(["a", None]).labels == (("a", None),)


def test_a_last_level_of_several_labels_is_refused() -> None:
    with pytest.raises(UnknownValues, match="the last level has 2 labels for the values at hand") as caught:
        prefix(5, keep=[4], top=None).compile(ZIPS)
    assert caught.value.codes == ()


@pytest.mark.parametrize(
    ("hierarchy", "codes"),
    [
        (levels(RACE), (0, 1, 2)),
        (tree({"*": ["5"]}), (1, 2)),
        (intervals(5), (1, 2)),
        (rounding(5), (1, 2)),
        (top_bottom((1, 2)), (1, 2)),
        (dates("year"), (0, 1, 2)),
        (dates("year", format="%Y"), (0, 1, 2)),
        (prefix(1), (1, 2)),
    ],
    ids=repr,
)
def test_errors_count_private_values_and_never_quote_them(hierarchy: Hierarchy, codes: tuple[int, ...]) -> None:
    with pytest.raises(UnknownValues, match=f"{len(codes)} values ") as caught:
        hierarchy.compile(["5", "secret-one", "zecret-two"])
    assert caught.value.codes == codes
    assert "ecret" not in str(caught.value)
    assert pickle.loads(pickle.dumps(caught.value)).codes == codes
