"""The catalogue of hierarchies: complete, one label for each code, and recognised from values without coincidences."""

from __future__ import annotations

import re
import string
from importlib.resources import files
from itertools import product
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import indistinct as ix
from helpers import profiles
from indistinct.attacks.complementary.joined_releases import JoinedReleases
from indistinct.attacks.labels.label_reader import Reader
from indistinct.attacks.labels.label_tree import LabelTree
from indistinct.attacks.labels.meanings import DISJOINT, common, holds
from indistinct.hierarchy import CATALOGUED, UnknownValues, from_spec
from indistinct.hierarchy.catalogue import CATALOGUE, recognise
from indistinct.linkage import Coverage

WHOLE_CATALOGUE = [kind.of(kind.all_levels, "*") for kind in CATALOGUE.values()]
TABLES = files("indistinct.hierarchy.catalogue") / "tables"
UN_SUB_REGIONS = {
    "Africa": "Northern Africa, Eastern Africa, Middle Africa, Southern Africa, Western Africa",
    "Americas": "Caribbean, Central America, South America, Northern America",
    "Asia": "Central Asia, Eastern Asia, South-eastern Asia, Southern Asia, Western Asia",
    "Europe": "Eastern Europe, Northern Europe, Southern Europe, Western Europe",
    "Oceania": "Australia and New Zealand, Melanesia, Micronesia, Polynesia",
    "Antarctica": "Antarctica",
}
ALL_STATES = (
    "AL AK AZ AR CA CO CT DE FL GA HI ID IL IN IA KS KY LA ME MD MA MI MN MS MO MT NE NV NH NJ NM NY NC ND OH OK OR PA "
    "RI SC SD TN TX UT VT VA WA WV WI WY"
)
STATES = ALL_STATES.split()
SHAPES = {
    "countries": st.sampled_from(ix.hierarchies.countries()._listed_values()),
    "us_states": st.sampled_from([*STATES, "Texas", "6", "06", "Puerto Rico"]),
    "us_zip": st.from_regex(r"[0-9]{3}|[0-9]{4,5}|[0-9]{5}-[0-9]{4}", fullmatch=True),
    "nuts": st.from_regex(r"(DE|FR|ITC|UK)[0-9A-Z]{0,2}", fullmatch=True),
    "icd10": st.from_regex(r"[A-Z][0-9]{2}(\.?[0-9]{1,2})?", fullmatch=True),
    "icd10_cm": st.from_regex(r"[A-Z][0-9A][0-9AB](\.?[0-9A-Z]{1,4})?", fullmatch=True),
    "icd9": st.from_regex(
        r"[1-9][0-9]{0,2}(\.[0-9]{1,2})?|[1-9][0-9]{3,4}|V[0-9]{2}|E[0-9]{3}(\.[0-9])?", fullmatch=True
    ),
    "isco": st.sampled_from(["2", "25", "251", "2512", "2500", "2000", "0110", "011", "0", "9629", "96"]),
    "nace": st.sampled_from(["C", "10", "C10", "10.1", "10.11", "1011", "C10.11", "1", "1.11", "99", "A", "10.11.2"]),
    "naics": st.sampled_from(["31", "31-33", "311", "3114", "31142", "311421", "541511", "92", "441"]),
    "education": st.sampled_from(["0", "8", "HS-grad", "Masters", "ISCED 3", "ED5", "some college", "Some-college"]),
    "age": st.integers(0, 150).map(str),
}
"""Values of every shape that each kind reads."""


# What each says, checked by hand.


@pytest.mark.parametrize(
    ("kind", "value", "labels"),
    [
        ("countries", "ch", ["Western Europe", "Europe", "*"]),
        ("countries", "756", ["Western Europe", "Europe", "*"]),
        ("countries", "Türkiye", ["Western Asia", "Asia", "*"]),
        ("countries", "United-States", ["Northern America", "Americas", "*"]),
        ("countries", "Kosovo", ["Southern Europe", "Europe", "*"]),
        ("us_states", "DC", ["South Atlantic", "South", "*"]),
        ("us_states", "new mexico", ["Mountain", "West", "*"]),
        ("us_states", "PR", ["Outside the states", "Outside the states", "*"]),
        ("us_zip", "2138", ["021**", "0****", "*"]),
        ("us_zip", "82190-0001", ["000", "000", "*"]),
        ("us_zip", "036", ["000", "000", "*"]),
        ("nuts", "EL301", ["EL30", "EL3", "EL", "*"]),
        ("nuts", "UKI", ["UKI", "UKI", "UK", "*"]),
        ("icd10", "C50.9", ["C50", "C50", "II Neoplasms", "*"]),
        (
            "icd10",
            "D50",
            [
                "D50",
                "D50-D53",
                "III Diseases of the blood and blood-forming organs and certain "
                "disorders involving the immune mechanism",
                "*",
            ],
        ),
        ("icd10", "Y05.1", ["Y05", "X85-Y09", "XX External causes of morbidity and mortality", "*"]),
        ("icd10", "U07.1", ["U07", "U00-U49", "XXII Codes for special purposes", "*"]),
        ("icd10_cm", "C4A.9", ["C4A", "C43-C44", "2 Neoplasms", "*"]),
        ("icd10_cm", "C7A.8", ["C7A", "C7A", "2 Neoplasms", "*"]),
        (
            "icd10_cm",
            "S72001A",
            ["S72", "S70-S79", "19 Injury, poisoning and certain other consequences of external causes", "*"],
        ),
        ("icd9", "038.9", ["038", "030-041", "1 Infectious and parasitic diseases", "*"]),
        (
            "icd9",
            "V58.67",
            [
                "V58",
                "V50-V59",
                "V Supplementary classification of factors influencing health status and contact with health services",
                "*",
            ],
        ),
        ("isco", "2211", ["221", "22", "2 Professionals", "*"]),
        ("isco", "0310", ["031", "03", "0 Armed forces occupations", "*"]),
        ("nace", "62.01", ["62.0", "62", "J Information and communication", "*"]),
        ("naics", "722511", ["7225", "722", "72 Accommodation and Food Services", "*"]),
        ("education", "Some-college", ["4 Post-secondary non-tertiary", "Medium (ISCED 3-4)", "*"]),
        ("education", "Prof-school", ["7 Master's or equivalent", "High (ISCED 5-8)", "*"]),
        ("age", "89", ["89", "85-89", "80-89", "80-89", "*"]),
        ("age", "90", [">=90", ">=90", ">=90", ">=90", "*"]),
    ],
)
def test_codes_have_the_labels_that_the_classification_gives(kind: str, value: str, labels: list[str]) -> None:
    assert getattr(ix.hierarchies, kind)().table([value]) == [[value, *labels]]


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("countries", "Atlantis"), ("us_states", "XX"), ("us_zip", "0213"[:2]), ("us_zip", "021-3801"),
        ("us_zip", "０２１３８"), ("nuts", "US123"), ("icd10", "E1"), ("icd10", "250.1"), ("icd9", "0"),
        ("icd9", "E11.9.1"),
        ("isco", "9999"), ("isco", "110"), ("nace", "34.1"), ("nace", "A10"), ("naics", "999999"), ("naics", "4"),
        ("education", "9"), ("age", "-1"), ("age", "12.5"), ("age", "999"), ("age", "unknown"),
    ],
)  # fmt: skip
def test_what_is_no_code_is_refused_and_not_quoted(kind: str, value: str) -> None:
    with pytest.raises(UnknownValues) as refusal:
        getattr(ix.hierarchies, kind)().compile([value])
    assert refusal.value.codes == (0,)
    assert len(value) < 3 or value not in str(refusal.value)


# Complete.


def test_every_country_of_iso_has_a_region_of_the_un() -> None:
    rows = [line.split(";") for line in (TABLES / "countries.csv").read_text("utf-8").splitlines()[1:]]
    current = [row for row in rows if row[0]]
    assert len([row for row in current if row[0] != "XK"]) == 249
    assert all(re.fullmatch("[A-Z]{2}", row[0]) and re.fullmatch("[A-Z]{3}", row[1]) for row in current)
    assert {(row[4], row[5]) for row in rows} == {
        (sub, region) for region, subs in UN_SUB_REGIONS.items() for sub in subs.split(", ")
    }
    for place in (0, 1, 2):
        codes = [row[place] for row in rows if row[place]]
        assert len(codes) == len(set(codes))


def test_no_name_or_code_means_two_countries_or_two_states() -> None:
    for name, codes in (("countries.csv", 3), ("us_states.csv", 2)):
        meant: dict[str, str] = {}
        for line in (TABLES / name).read_text("utf-8").splitlines()[1:]:
            row = line.split(";")
            for text in (*row[:codes], *row[codes].split("|")):
                if text:
                    assert meant.setdefault(text.casefold(), line) == line, text


def test_states_are_fifty_with_the_district_and_nine_divisions() -> None:
    states = ix.hierarchies.us_states()
    assert len(STATES) == 50
    divisions = {states.label(state, 1) for state in [*STATES, "DC"]}
    assert len(divisions) == 9
    assert {states.label(state, 2) for state in STATES} == {"Northeast", "Midwest", "South", "West"}
    assert {states.label(code, 1) for code in ("AS", "GU", "MP", "PR", "VI")} == {"Outside the states"}
    sizes = {"New England": 6, "Middle Atlantic": 3, "East North Central": 5, "West North Central": 7, "Mountain": 8}
    sizes |= {"South Atlantic": 9, "East South Central": 4, "West South Central": 4, "Pacific": 5}
    assert sizes == {name: sum(states.label(one, 1) == name for one in [*STATES, "DC"]) for name in sizes}


@pytest.mark.parametrize(("kind", "chapters"), [("icd10", 22), ("icd10_cm", 22)])
def test_every_shape_of_an_icd10_category_is_in_one_chapter(kind: str, chapters: int) -> None:
    hierarchy = getattr(ix.hierarchies, kind)()
    shapes = [f"{letter}{number:02}" for letter, number in product(string.ascii_uppercase, range(100))]
    table = hierarchy.table(shapes)
    assert len({row[3] for row in table}) == chapters
    for _, category, block, _ in (row[:4] for row in table):
        first, _, last = block.partition("-")
        assert first <= category <= (last or first)


@pytest.mark.parametrize("name", ["icd10.csv", "icd10_cm.csv", "icd9_cm.csv"])
def test_blocks_do_not_overlap_and_lie_within_their_chapter(name: str) -> None:
    """By the file alone: ranges in order, none into the next, none beyond where the next chapter begins."""
    rows = [line.split(";") for line in (TABLES / name).read_text("utf-8").splitlines()[1:]]
    starts = sorted(row[1] for row in rows)
    for _, start, _, blocks in rows:
        after = min((other for other in starts if other > start), default="~")
        covered: list[str] = []
        for block in blocks.split():
            first, _, last = block.split("+")[0].partition("-")
            assert start <= first <= (last or first) < after
            if re.fullmatch(r"[A-Z]?\d+", first):
                assert not covered or covered[-1] < first
                covered.append(last or first)


def test_classifications_have_as_many_groups_as_published() -> None:
    nace, isco, naics = (ix.hierarchies.nace(), ix.hierarchies.isco(), ix.hierarchies.naics())
    divisions = [row for row in nace.table() if len(row[0]) == 2]
    assert (len(divisions), len({row[3] for row in divisions})) == (88, 21)
    minor = isco.table()
    assert (len(minor), len({row[2] for row in minor}), len({row[3] for row in minor})) == (130, 43, 10)
    assert len({row[3] for row in naics.table()}) == 20
    assert [row[0] for row in ix.hierarchies.education().table()] == list("012345678")


def test_the_lists_of_small_zip_areas_are_those_of_both_censuses() -> None:
    """HHS guidance of 2012 lists 17 areas by the census of 2000; by that of 2010 there are 14."""
    of_2000 = "036 059 063 102 203 556 692 790 821 823 830 831 878 879 884 890 893"
    of_2010 = "036 059 102 203 205 369 556 692 821 823 878 879 884 893"
    hidden = [
        code
        for code in (f"{number:03}" for number in range(1, 1000))
        if ix.hierarchies.us_zip().label(f"{code}01", 1) == "000"
    ]
    assert hidden == sorted({*of_2000.split(), *of_2010.split()})
    own = ix.hierarchies.us_zip(small=["021"])
    assert own.table(["02138", "03601"]) == [["02138", "000", "000", "*"], ["03601", "036**", "0****", "*"]]


def test_the_tables_are_small() -> None:
    assert sum(len(path.read_bytes()) for path in TABLES.iterdir()) < 100_000


# Laws.


@st.composite
def columns(draw: st.DrawFn) -> tuple[str, list[str | None]]:
    name = draw(st.sampled_from(sorted(SHAPES)))
    values: list[str | None] = sorted(draw(st.sets(SHAPES[name], min_size=1, max_size=15)))
    return name, [value for value in values if CATALOGUE[name].of((), "*").path(value) is not None] + [None] * draw(
        st.integers(0, 1)
    )


@given(columns())
@profiles.examples(150)
def test_every_label_has_one_parent_and_covers_its_values(column: tuple[str, list[str | None]]) -> None:
    name, values = column
    hierarchy = CATALOGUE[name].of(CATALOGUE[name].all_levels, "*")
    compiled = hierarchy.compile(values)  # it checks that a label has one parent
    assert compiled.height == hierarchy.height
    assert compiled.has_suppressed_top
    for level in range(compiled.height + 1):
        for code, label in enumerate(compiled.labels[level]):
            held = [value for value, own in zip(values, compiled.maps[level], strict=True) if own == code]
            assert compiled.leaves[level][code] >= len(held), label
    if values:
        assert compiled.leaves[-1].tolist() == [compiled.domain_size]


@given(columns())
@profiles.examples(150)
def test_a_value_and_its_one_spelling_mean_the_same(column: tuple[str, list[str | None]]) -> None:
    name, values = column
    hierarchy = CATALOGUE[name].of((), "*")
    for value in values:
        if value is not None:
            spelled = hierarchy.one_spelling(value)
            assert spelled is not None
            assert hierarchy.path(spelled) == hierarchy.path(value)
            assert hierarchy.one_spelling(spelled) == spelled
            for place, label in enumerate(hierarchy.path(value) or ()):
                assert hierarchy.path(hierarchy.standing(label)[place])[place] == label


@given(columns(), st.data())
@profiles.examples(100)
def test_what_attackers_read_is_what_labels_cover(column: tuple[str, list[str | None]], data: st.DataObject) -> None:
    """What two labels have in common holds just the values that both of them hold, of the values at hand."""
    name, values = column
    texts = [value for value in values if value is not None]
    hierarchy = CATALOGUE[name].of(CATALOGUE[name].all_levels, "*")
    if not texts:
        return
    levels = [data.draw(st.integers(0, hierarchy.height)) for _ in range(2)]
    chosen = [data.draw(st.sampled_from(texts)) for _ in range(2)]
    labels = [hierarchy.label(text, level) for text, level in zip(chosen, levels, strict=True)]
    meanings = [
        Reader(ix.quasi(hierarchy), False, level).read(label) for label, level in zip(labels, levels, strict=True)
    ]
    both = common(*meanings)
    for text in texts:
        row = hierarchy.table([text])[0]
        held = all(row[level] == label for label, level in zip(labels, levels, strict=True))
        assert held == (both is not None and both.body is not None and holds(both.body, text, lambda _: None))
    for label, level in zip(labels, levels, strict=True):
        assert level in LabelTree(ix.quasi(hierarchy)).levels_of(label)


def test_labels_that_can_be_listed_lie_below_theirs() -> None:
    tree = LabelTree(ix.quasi(ix.hierarchies.countries()))
    assert set(tree.below(2, "Europe")) == {"Eastern Europe", "Northern Europe", "Southern Europe", "Western Europe"}
    assert None in tree.below(3, "*")
    assert tree.below(1, "Western Europe") is None  # nobody knows in which spelling
    assert LabelTree(ix.quasi(ix.hierarchies.icd10())).below(3, "II Neoplasms") is None
    assert tree.levels_of("Atlantis") == frozenset()


def test_another_table_may_spell_codes_otherwise() -> None:
    for hierarchy, labels, values, expected in (
        (ix.hierarchies.countries(), ["DE", "Western Europe"], ["Germany", "FRA", "us", "Atlantis"], [{0}, {0, 1}]),
        (ix.hierarchies.icd9(), ["250.83", "249-259"], ["25083", "250.8", "V45"], [{0}, {0, 1}]),
    ):
        found = Coverage.of(hierarchy, labels, values)
        assert [
            {place for place, rank in enumerate(found.ranks) if rank in set(ranks)} for ranks in found.covered
        ] == expected


def test_two_releases_at_different_levels_are_laid_on_top_of_each_other(tmp_path: Path) -> None:
    """A person in Western Europe and a person from DE may be one; a person from the US is another."""
    policy = ix.Policy({"home": ix.quasi(ix.hierarchies.countries()), "id": ix.other()}, [ix.KAnonymity(1)])
    (tmp_path / "fine.csv").write_text("home,id\nDE,1\nUS,2\nFR,1\n", "utf-8")
    (tmp_path / "coarse.csv").write_text("home,id\nWestern Europe,1\nNorthern America,2\nEurope,1\n", "utf-8")
    releases = {"fine": tmp_path / "fine.csv", "coarse": tmp_path / "coarse.csv"}
    joined = JoinedReleases.read(releases, [policy, policy], None)
    vocabulary = joined.vocabularies[0]
    code = {name: place for place, name in enumerate(vocabulary.names)}
    assert vocabulary.names[vocabulary.meet(code["DE"], code["Western Europe"])] == "DE"
    assert vocabulary.names[vocabulary.meet(code["Europe"], code["Western Europe"])] == "Western Europe"
    assert vocabulary.meet(code["US"], code["Europe"]) == DISJOINT
    assert vocabulary.meet(code["Northern America"], code["Europe"]) == DISJOINT


@given(columns(), st.data())
@profiles.examples(80)
def test_what_is_written_of_it_makes_it_again(column: tuple[str, list[str | None]], data: st.DataObject) -> None:
    name, values = column
    kind = CATALOGUE[name]
    chosen = [level for level in kind.all_levels if data.draw(st.booleans())]
    top = data.draw(st.sampled_from(["*", "any"]))
    made = kind.of(chosen, top)
    again = from_spec(made.spec(), Path())
    assert again == made
    assert again.digest() == made.digest()
    assert again.table(values) == made.table(values)


@pytest.mark.parametrize("hierarchy", WHOLE_CATALOGUE, ids=lambda one: one.kind)
def test_all_that_is_listed_has_labels(hierarchy: ix.Hierarchy, tmp_path: Path) -> None:
    hierarchy.write_csv(tmp_path / "listed.csv")
    assert ix.levels(tmp_path / "listed.csv").table() == hierarchy.table()
    assert "…" in hierarchy.draw(most=1) or len(hierarchy.table()) < 2


def test_a_country_that_is_not_at_hand_counts_as_one_value_of_the_domain() -> None:
    compiled = ix.hierarchies.countries().compile(["AU", "AUS", "NZ"])
    assert compiled.domain_size == 255 + 1  # all that are listed, and one of them in two spellings
    assert compiled.labels[1] == ("Australia and New Zealand",)
    assert compiled.leaves[1].tolist() == [7]  # with CC, CX, HM and NF


def test_a_policy_file_names_what_is_in_the_catalogue() -> None:
    text = """
        version = 1
        [columns]
        home = { role = "quasi", hierarchy = { countries = true } }
        zip = { role = "quasi", hierarchy = { us_zip = { levels = ["3 digits"], small = ["036"] } } }
        why = { role = "quasi", hierarchy = { icd10 = ["block", "chapter"] } }
        [[privacy]]
        model = "k-anonymity"
        k = 2
    """
    policy = ix.parse_policy(text)
    assert policy.columns["home"].hierarchy == ix.hierarchies.countries()
    assert policy.columns["zip"].hierarchy == ix.hierarchies.us_zip("3 digits", small=["036"])
    assert ix.parse_policy(ix.policy_toml(policy)) == policy


@pytest.mark.parametrize(
    ("spec", "told"),
    [
        ({"countries": ["continent"]}, "no level 'continent'; there are country, sub-region, region"),
        ({"icd10": ["chapter", "block"]}, "the finest first"),
        ({"countries": {"edition": 3}}, "countries has no option 'edition'"),
        ({"us_zip": {"small": ["36"]}}, "first three digits"),
        ({"us_zip": {"small": "036"}}, "first three digits"),
        ({"countries": 3}, "no level 3"),
    ],
)
def test_a_specification_that_is_none_is_refused(spec: dict[str, object], told: str) -> None:
    with pytest.raises(ix.HierarchyError, match=re.escape(told)):
        from_spec(spec, Path())


@pytest.mark.slow
@pytest.mark.parametrize("algorithm", ["lattice", "regroup"])
def test_releases_by_the_catalogue_are_proved_and_attacked(algorithm: str, tmp_path: Path) -> None:
    """Level 0 of ages and ZIP codes may not leave, and codes in two spellings meet above."""
    codes = ["E11.9", "E1165", "I10", "J45.909", "C4A.9", "E08"]
    homes = ["DE", "DEU", "France", "CH", "AT", "?"]
    lines = [
        f"{homes[n % 6]},{['02138', '2139', '03601', '94110-1234'][n % 4]},{codes[n % 6]},{20 + 5 * (n % 16)}"
        for n in range(48)
    ]
    table = tmp_path / "people.csv"
    table.write_text("\n".join(["home,zip,why,age", *lines]) + "\n", "utf-8")
    policy = ix.parse_policy(
        f"""
        version = 1
        algorithm = "{algorithm}"
        max_suppression = 0.3
        [columns]
        home = {{ role = "quasi", hierarchy = {{ countries = true }}, missing = ["?"] }}
        zip = {{ role = "quasi", hierarchy = {{ us_zip = true }}, min_level = "3 digits" }}
        why = {{ role = "quasi", hierarchy = {{ icd10_cm = true }} }}
        age = {{ role = "quasi", hierarchy = {{ age = true }}, min_level = "year" }}
        [[privacy]]
        model = "k-anonymity"
        k = 3
        """
    )
    release = ix.anonymize(table, policy)
    assert ix.verify(release, policy, original=table).passed
    released = release.table.to_pydict()
    assert not {"90", "95"} & set(released["age"])
    assert not {"02138", "03601", "036**"} & set(released["zip"])
    release.write(tmp_path / "release")
    ix.attacks.run(tmp_path / "release", policy, original=table)


# Recognised.


@pytest.mark.parametrize(
    ("values", "name"),
    [
        (["DE", "FR", "US", "GB", "IT"], "countries"),
        (["DEU", "FRA", "USA"], "countries"),
        (["Germany", "France"], "countries"),
        (["Germany", "France", "Unknown", "?"], "countries"),
        (["CA", "DE", "IN", "CO", "AL"], "us_states"),
        (["California", "Texas", "Ohio"], "us_states"),
        (["12345-6789", "02138-0001"], "us_zip"),
        (["DE212", "DE21", "AT130"], "nuts"),
        (["E11.9", "I10", "J45.0", "C50.9", "K35.8"], "icd10"),
        (["E11.65", "S72.001A", "I10", "J45.909", "Z3A.01"], "icd10_cm"),
        (["250.83", "276", "V57", "E885", "8", "648"], "icd9"),
        (["C10.11", "G47.1", "J62"], "nace"),
        (["HS-grad", "Bachelors", "11th", "Masters"], "education"),
        ([f"{code}{digit}" for code in (111, 211, 251, 322, 411, 522, 711, 833, 911) for digit in (1, 2)], "isco"),
        (["541511", "311421", "722511", "621111", "236115", "444110", "484110", "524114", "611110", "713940",
          "811111", "921110", "332710", "423110", "561720"], "naics"),
    ],
)  # fmt: skip
def test_columns_are_recognised_by_their_values(values: list[str], name: str) -> None:
    found = recognise([*values, None, ""])
    assert found is not None
    assert (found.name, found.share) == (name, 1.0)
    assert set(found.unfit) == set(values) & {"Unknown", "?"}
    found.hierarchy.compile(sorted(set(values) - set(found.unfit)))


@pytest.mark.parametrize(
    "values",
    [
        ["AM", "PM"], ["SI", "NO"], ["MD", "DO"], ["MA", "MS", "MD"], ["BA", "BS", "MA", "MS", "MD", "PhD"], ["M", "F"],
        ["no", "yes"], ["in", "at", "to", "is", "no", "my"], ["02138", "10001"], ["1", "2", "3"], ["39", "52", "90"],
        ["2001", "2002", "2003"], ["C85", "C123", "E46", "D56", "B96", "A6", "C23 C25 C27"], ["B1", "B2"],
        ["60000", "74999", "52100", "31000"], ["10.1", "11.5", "62.0"], ["primary", "secondary"], ["a"], [], [None],
        ["250", "276", "401"], ["311111", "311112", "321113", "331114", "332115"], [f"C{n}" for n in range(10, 60)],
    ],
)  # fmt: skip
def test_coincidences_are_not_recognised(values: list[str]) -> None:
    assert recognise(values) is None


def test_what_a_name_speaks_of_is_recognised_by_its_share_alone() -> None:
    assert recognise(["02138", "10001"], expected={"us_zip"}).hierarchy == ix.hierarchies.us_zip()
    assert recognise(["US"], expected={"countries"}).name == "countries"
    assert recognise(["CA", "DE", "IN", "CO"], expected={"countries"}).name == "countries"
    assert recognise(["39", "93"], expected={"age"}).name == "age"
    assert recognise(["39", "old"], expected={"age"}) is None
    assert recognise(["39", "old"], expected={"age"}, threshold=0.5).unfit == ("old",)


@given(st.sampled_from(["countries", "us_states"]), st.data())
@profiles.examples(60)
def test_names_of_places_are_known_in_any_case_and_order(name: str, data: st.DataObject) -> None:
    codes = {"countries": 3, "us_states": 2}[name]
    rows = [line.split(";") for line in (TABLES / f"{name}.csv").read_text("utf-8").splitlines()[1:]]
    spelled = [text for row in rows for text in row[codes].split("|") if len(text) > 4]
    drawn = data.draw(st.lists(st.sampled_from(spelled), min_size=6, max_size=12, unique=True))
    found = recognise([text.upper() for text in drawn])
    assert found is not None
    assert found.share == 1.0


def test_dates_stand_among_the_other_hierarchies() -> None:
    assert ix.hierarchies.dates is ix.dates
    assert ix.hierarchies.dates("year").label("1964-09-27", 1) == "1964"


def test_policy_files_can_name_every_kind_of_the_catalogue() -> None:
    assert tuple(CATALOGUE) == CATALOGUED
