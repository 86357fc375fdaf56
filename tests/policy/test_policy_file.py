"""Policy files: TOML to Policy and back, every mistake with its path, and a JSON Schema that agrees."""

from __future__ import annotations

import datetime
import inspect
import json
import tomllib

import jsonschema
import pyarrow as pa
import pytest
from hypothesis import event, given
from hypothesis import strategies as st

import indistinct as ix
from helpers.profiles import examples
from indistinct.policy.files.policy_file import policy_of

EXAMPLE = """
version = 1
max_suppression = 0.02
algorithm = "lattice"

[columns]
name = { role = "identifier" }
age  = { role = "quasi", hierarchy = { intervals = [5, 10, 20] }, weight = 2 }
zip  = { role = "quasi", hierarchy = { prefix = 5 } }
race = { role = "quasi", hierarchy = { levels = "race.csv" } }
job  = { role = "quasi", hierarchy = { tree = { "*" = { white-collar = ["clerk", "manager"], blue = ["welder"] } } } }
birth = { role = "quasi", hierarchy = { dates = ["month", "year", "5 years", "10 years"] } }
sex = { role = "quasi", hierarchy = { suppress = true }, missing = "refuse" }
town = { role = "quasi" }
illness = { role = "sensitive" }
cost = { role = "other" }

[[eligible]]
column = "age"
op = ">="
value = 18

[[privacy]]
model = "k-anonymity"
k = 5
"""


def mistakes(text):
    with pytest.raises(ix.PolicyError) as caught:
        ix.parse_policy(text)
    return [mistake.removeprefix("policy: ") for mistake in caught.value.mistakes]


def small(top="", columns="", more=""):
    """A small policy file with something added at the top, among the columns and at the end."""
    privacy = "" if "privacy" in top else '[[privacy]]\nmodel = "k-anonymity"\nk = 2'
    version = "" if "version" in top else "version = 1"
    return f'{version}\n{top}\n[columns]\na = {{ role = "quasi" }}\n{columns}\n{privacy}\n{more}\n'


def test_the_designs_example_is_read(tmp_path):
    (tmp_path / "race.csv").write_text("asian;person;*\nblack;person;*\nwhite;person;*\n")
    (tmp_path / "policy.toml").write_text(EXAMPLE)
    policy = ix.read_policy(tmp_path / "policy.toml")
    assert policy.quasi == ("age", "zip", "race", "job", "birth", "sex", "town")
    assert policy.columns["age"] == ix.quasi(ix.intervals(5, 10, 20), weight=2)
    assert policy.columns["zip"].hierarchy == ix.prefix(5)
    assert policy.columns["race"].hierarchy.height == 2
    assert policy.columns["sex"].missing == "refuse"
    assert policy.columns["town"].hierarchy == ix.keep()
    assert policy.max_suppression == 0.02
    assert policy.privacy == (ix.KAnonymity(5),)
    assert policy.eligible == (ix.where("age", ">=", 18),)


def test_text_stays_text():
    """TOML, because NO must stay Norway and 01234 must stay a ZIP code."""
    policy = ix.parse_policy(
        small(columns='c = { role = "quasi", hierarchy = { levels = [["NO", "*"], ["01234", "*"]] } }')
    )
    assert policy.columns["c"].hierarchy.table() == [["NO", "*"], ["01234", "*"]]


def test_every_mistake_is_reported_at_once_with_its_path():
    text = """
version = 1
max_suppression = 1.5
algorithm = "magic"
colour = "blue"
[columns]
a = { role = "quasy" }
b = { role = "quasi", hierarchy = { intervals = [10, 5] }, weight = 0 }
c = { role = "quasi", hierarchy = { spiral = 3 } }
d = { role = "other", hierarchy = { suppress = true } }
e = { role = "quasi", heirarchy = { suppress = true } }
[[privacy]]
model = "k-anonymity"
k = 0
[[privacy]]
model = "l-diversities"
l = 2
[[privacy]]
model = "k-anonymity"
k = "five"
[[privacy]]
model = "k-anonymity"
kay = 5
[[eligible]]
column = "a"
op = "like"
value = "x"
"""
    found = mistakes(text)
    for path in (
        "max_suppression",
        "algorithm",
        "colour",
        "columns.a.role",
        "columns.b.weight",
        "columns.c.hierarchy",
        "columns.d.hierarchy",
        "columns.e.heirarchy",
        "privacy[0]",
        "privacy[1].model",
        "privacy[2].k",
        "privacy[3]",
    ):
        assert any(mistake.startswith(path) for mistake in found), (path, found)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "version"),
        ("version = 2", "version"),
        ("version = 1", "columns"),
        ("version = ", "is not TOML"),
        (small(top="privacy = []"), "privacy"),
        (small(top='privacy = "k"'), "privacy"),
        (small(top="privacy = [3]"), "privacy[0]"),
        (small(top="version = '1'"), "version"),
        (small(top="version = true"), "version"),
        (small(top="eligible = 3"), "eligible"),
        (small(top="eligible = [3]"), "eligible[0]"),
        (small(top="options = 3"), "options"),
        (small(top="options = { speed = 3 }"), "options.speed"),
        (small(top="options = { measure = 'beauty' }"), "measure"),
        (small(top="options = { measure = ['precision'] }"), "measure"),
        (small(top="algorithm = 3"), "algorithm"),
        (small(top="algorithm = 'datafly'\noptions = { likelihood = 3 }"), "likelihood"),
        (small(top="algorithm = 'datafly'\noptions = { likelihood = { a = 3 } }"), "likelihood.a"),
        (small(top="algorithm = 'mingen'\noptions = { precision = 'x' }"), "precision"),
        (small(top="algorithm = 'samarati'\noptions = { preference = ['x'] }"), "preference"),
        (small(top="suppressed_rows = 'hide'"), "suppressed_rows"),
        (small(top="max_suppression = '2 %'"), "max_suppression"),
        (small(top="max_suppression = true"), "max_suppression"),
        (small(top="max_suppression = -1"), "max_suppression"),
        (small(top="quasi_identifiers = { x = ['b'] }"), "quasi_identifiers"),
        (small(top="quasi_identifiers = { x = 'a' }"), "quasi_identifiers.x"),
        (small(top="quasi_identifiers = { x = [] }"), "quasi_identifiers"),
        (small(columns="b = 3"), "columns.b"),
        (small(columns="b = {}"), "columns.b.role"),
        (small(columns='b = { role = "quasi", hierarchy = 3 }'), "columns.b.hierarchy"),
        (small(columns='b = { role = "quasi", hierarchy = {} }'), "columns.b.hierarchy"),
        (small(columns='b = { role = "quasi", hierarchy = { levels = "absent.csv" } }'), "columns.b.hierarchy"),
        (small(columns='b = { role = "quasi", hierarchy = { intervals = "x" } }'), "columns.b.hierarchy"),
        (small(columns='b = { role = "quasi", hierarchy = { intervals = [0] } }'), "columns.b.hierarchy"),
        (small(columns='b = { role = "quasi", hierarchy = { dates = [] } }'), "columns.b.hierarchy"),
        (small(columns='b = { role = "quasi", hierarchy = { dates = [5] } }'), "columns.b.hierarchy"),
        (small(columns='b = { role = "quasi", hierarchy = { prefix = "5" } }'), "columns.b.hierarchy"),
        (small(columns='b = { role = "quasi", hierarchy = { levels = [] } }'), "columns.b.hierarchy"),
        (small(columns='b = { role = "quasi", hierarchy = { levels = [5] } }'), "columns.b.hierarchy"),
        (small(columns='b = { role = "quasi", hierarchy = { levels = { names = 3 } } }'), "columns.b.hierarchy"),
        (small(columns='b = { role = "quasi", hierarchy = { tree = ["a"] } }'), "columns.b.hierarchy"),
        (small(columns='b = { role = "quasi", hierarchy = { top_bottom = 3 } }'), "columns.b.hierarchy"),
        (small(columns='b = { role = "quasi", hierarchy = { rounding = ["x"] } }'), "columns.b.hierarchy"),
        (small(columns='b = { role = "quasi", weight = -1 }'), "columns.b.weight"),
        (small(columns='b = { role = "quasi", weight = "2" }'), "columns.b.weight"),
        (small(columns='b = { role = "quasi", weight = inf }'), "columns.b"),
        (small(columns='b = { role = "quasi", weight = nan }'), "columns.b"),
        (small(columns='b = { role = "quasi", missing = "drop" }'), "columns.b.missing"),
        (small(more="[recipient_profile]\nb = 1"), "profile"),
        (small(more="[recipient_profile]\na = 'much'"), "recipient_profile.a"),
        (small(more="[[eligible]]\ncolumn = 'z'\nop = 'present'"), "'z' is not declared"),
        (small(more="[[eligible]]\ncolumn = 'a'\nop = 'in'\nvalue = 'x'"), "eligible[0]"),
        (small(more="[[privacy]]\nk = 3"), "privacy[1].model"),
        (small(more="[[privacy]]\nmodel = ['k']"), "privacy[1].model"),
        (small(more="[[privacy]]\nmodel = 'k-anonymity'"), "privacy[1].k"),
        (small(more="[[privacy]]\nmodel = 'k-anonymity'\nk = 2.5"), "privacy[1].k"),
        (small(more="[[privacy]]\nmodel = 'k-anonymity'\nk = true"), "privacy[1]"),
        (small(more="[[privacy]]\nmodel = 'k-anonymity'\nk = -1"), "privacy[1]"),
        (small(more="[[privacy]]\nmodel = 'k-anonymity'\nk = 2\non = 'x'"), "'x'"),
        (small(more="[[privacy]]\nmodel = 'k-anonymity'\nat_level = 3"), "privacy[1]"),
        (small(more="[[privacy]]\nmodel = 'k-anonymity'\nat_level = { level = 2, population = 9 }"), "privacy[1]"),
        (
            small(more="[[privacy]]\nmodel = 'k-anonymity'\nk = 2\nat_level = { level = 0.5, population = 900 }"),
            "privacy[1]",
        ),
    ],
)
def test_each_mistake_is_a_policy_error_that_says_where(text, words):
    assert any(words in mistake for mistake in mistakes(text)), mistakes(text)


def test_a_policy_that_cannot_be_read_is_a_policy_error(tmp_path):
    with pytest.raises(ix.PolicyError, match="cannot read the policy"):
        ix.read_policy(tmp_path / "absent.toml")
    with pytest.raises(ix.PolicyError, match="cannot read the policy"):
        ix.read_policy(tmp_path)
    (tmp_path / "latin.toml").write_bytes("# caf\xe9".encode("latin-1"))
    with pytest.raises(ix.PolicyError, match="not UTF-8"):
        ix.read_policy(tmp_path / "latin.toml")


def test_a_byte_order_mark_is_no_mistake(tmp_path):
    (tmp_path / "policy.toml").write_bytes(b"\xef\xbb\xbf" + small().encode())
    assert ix.read_policy(tmp_path / "policy.toml").quasi == ("a",)


def test_an_anonymity_level_computes_to_k():
    text = small(top="privacy = [{ model = 'k-anonymity', at_level = { level = 0.5, population = 54805 } }]")
    assert ix.parse_policy(text).privacy == (ix.KAnonymity(219),)


def test_a_recipient_profile_is_applied():
    policy = ix.parse_policy(small(columns='b = { role = "quasi" }', more="[recipient_profile]\na = 1\nb = 0.5"))
    assert policy.requirements() == [
        ("combination", ("a",), ix.KAnonymity(2, on="combination")),
        ("b", ("b",), ix.KAnonymity(1, on="b")),
    ]


# There and back.

names = st.text(min_size=1, max_size=6).filter(lambda text: "\0" not in text) | st.sampled_from(
    ["age", "ZIP code", "a.b", '"quoted"', "größe", "", "new\nline", "tab\t", "\x7f", "\\", "'", "#"]
)
texts = st.text(min_size=1, max_size=5)
numbers = st.integers(-(2**40), 2**40) | st.floats(allow_nan=False, allow_infinity=False)


@st.composite
def listed(draw):
    """Draw the rows of a hierarchy: each group of values has one parent."""
    values = draw(st.lists(texts, min_size=1, max_size=4, unique=True))
    groups = [draw(st.integers(0, 2)) for _ in values]
    rows = [[value, f"group {group}", "all"] for value, group in zip(values, groups, strict=True)]
    return ix.levels(rows, top=draw(st.none() | st.sampled_from(["*", "any one"])))


hierarchies = st.one_of(
    st.just(ix.keep()),
    st.builds(ix.suppress, st.sampled_from(["*", "not released", "\u2588"])),
    st.sampled_from(
        [
            ix.intervals(5, 10, 20),
            ix.intervals(5, top=None, low=0, high=100),
            ix.intervals(2.5, 5, origin=0.5),
            ix.rounding(10, 100),
            ix.rounding(0.1),
            ix.top_bottom((20, 80)),
            ix.top_bottom((20, None)),
            ix.prefix(),
            ix.prefix(5),
            ix.prefix(5, keep=[3, 1], mask="x", top="nowhere"),
            ix.prefix(5, keep=[4, 0], top=None),
            ix.dates("month", "year"),
            ix.dates("quarter", "10 years", format=["%d.%m.%Y", "%Y/%m/%d"], top="some day"),
            ix.tree({"*": {"white-collar": ["clerk", "manager"], "blue-collar": ["welder"]}}),
            ix.tree({"any": ["a", "b"]}, top="*", names=["job", "all jobs", "nothing"]),
        ]
    ),
    listed(),
)
columns = st.one_of(
    st.just(ix.identifier()),
    st.just(ix.sensitive()),
    st.just(ix.other()),
    st.builds(
        ix.quasi,
        hierarchies,
        weight=st.sampled_from([1, 2, 0.5, 1e-3, 1e8, 3.0]),
        missing=st.sampled_from(["value", "refuse"]),
    ),
)
scalars = texts | numbers | st.booleans() | st.dates(datetime.date(1, 1, 1)) | st.datetimes(datetime.datetime(1, 1, 1))


@st.composite
def conditions(draw, column):
    op = draw(st.sampled_from(["==", "!=", "<", "<=", ">", ">=", "in", "not in", "present", "missing"]))
    if op in ("present", "missing"):
        return ix.where(column, op)
    if op in ("in", "not in"):
        return ix.where(column, op, draw(st.lists(scalars, min_size=1, max_size=3)))
    return ix.where(column, op, draw(scalars))


@st.composite
def policies(draw):
    """Draw a policy with anything that a policy file can say."""
    drawn = draw(st.dictionaries(names, columns, max_size=4))
    drawn["the quasi"] = draw(st.builds(ix.quasi, hierarchies))
    quasi = [name for name, column in drawn.items() if column.role == "quasi"]
    quasi_identifiers = None
    named = st.none()
    if draw(st.booleans()):
        first = draw(st.lists(st.sampled_from(quasi), min_size=1, unique=True))
        rest = [name for name in quasi if name not in first]
        quasi_identifiers = {draw(names): first} | ({"the rest": rest} if rest else {})
        named = st.none() | st.sampled_from(list(quasi_identifiers))
    algorithm, options = draw(
        st.sampled_from(
            [
                ("lattice", {}),
                ("lattice", {"measure": "discernibility"}),
                ("samarati", {"preference": "min-suppression"}),
                ("samarati", {"satisfies": "matrix"}),
                ("mingen", {}),
                ("datafly", {"suppression": 0.05, "complementary": False}),
                ("datafly", {"likelihood": {"a b": 0.5}, "preference": {"c": 0}}),
            ]
        )
    )
    return ix.Policy(
        columns=drawn,
        privacy=draw(st.lists(st.builds(ix.KAnonymity, st.integers(1, 2**62), on=named), min_size=1, max_size=3)),
        max_suppression=draw(st.none() | st.integers(0, 2**62) | st.floats(0, 1)),
        quasi_identifiers=quasi_identifiers,
        eligible=[draw(conditions(draw(st.sampled_from(list(drawn))))) for _ in range(draw(st.integers(0, 2)))],
        suppressed_rows=draw(st.sampled_from(["remove", "blank"])),
        algorithm=algorithm,
        options=options,
    )


@pytest.mark.slow
@given(policies())
@examples(150)
def test_a_policy_written_and_read_is_the_same(policy):
    text = ix.policy_toml(policy)
    again = ix.parse_policy(text)
    assert again == policy
    assert list(again.columns) == list(policy.columns)
    assert again.requirements() == policy.requirements()
    assert ix.policy_toml(ix.parse_policy(ix.policy_toml(again))) == ix.policy_toml(again)
    with_comments = ix.policy_toml(policy, comments=dict.fromkeys(policy.columns, "looks like a # date"))
    assert ix.parse_policy(with_comments) == policy


def test_a_comment_of_several_lines_stays_a_comment():
    policy = ix.Policy(columns={"a": ix.quasi()}, privacy=[ix.KAnonymity(2)])
    text = ix.policy_toml(policy, comments={"a": 'first\nb = { role = "other" }\rc = 3'})
    assert ix.parse_policy(text) == policy


def test_a_recipients_policy_can_be_written_and_read():
    policy = ix.Policy(columns={"a": ix.quasi(), "b": ix.quasi()}, privacy=[ix.KAnonymity(4)])
    for profile in ({"a": 1, "b": 1}, {"a": 1, "b": 0.5}, {"a": 0.5, "b": 0}):
        for_them = ix.for_recipient(policy, profile)
        assert ix.parse_policy(ix.policy_toml(for_them)) == for_them


def test_a_measure_with_settings_of_its_own_is_not_written_as_another():
    """A file can only name measures; one that is not the named one must be refused, not changed silently."""
    columns, privacy = {"a": ix.quasi()}, [ix.KAnonymity(2)]
    plain = ix.Policy(columns=columns, privacy=privacy, options={"measure": ix.Precision()})
    assert ix.parse_policy(ix.policy_toml(plain)).options == {"measure": "precision"}
    special = ix.Policy(columns=columns, privacy=privacy, options={"measure": ix.Precision(count_suppressed_top=False)})
    with pytest.raises(ix.PolicyError):
        ix.policy_toml(special)


def test_a_function_cannot_be_written():
    policy = ix.Policy(
        columns={"a": ix.quasi()},
        privacy=[ix.KAnonymity(2)],
        algorithm="samarati",
        options={"preference": lambda solution: 0},
    )
    with pytest.raises(ix.PolicyError, match="cannot be written"):
        ix.policy_toml(policy)


# The schema.


@pytest.fixture(scope="module")
def schema():
    made = ix.policy_schema()
    jsonschema.Draft202012Validator.check_schema(made)
    json.dumps(made)
    return jsonschema.Draft202012Validator(made)


def as_json(text):
    """Return a TOML document as JSON has it; dates become text."""
    return json.loads(json.dumps(tomllib.loads(text), default=lambda value: value.isoformat()))


@pytest.mark.slow
@given(policies())
def test_the_schema_accepts_every_policy_that_can_be_written(policy):
    validator = jsonschema.Draft202012Validator(ix.policy_schema())
    assert not list(validator.iter_errors(as_json(ix.policy_toml(policy))))


@pytest.mark.parametrize(
    "text",
    [
        EXAMPLE,
        small(),
        small(top="max_suppression = 3"),
        small(more="[recipient_profile]\na = 1"),
        small(more="[quasi_identifiers]\npeople = ['a']"),
        small(top="privacy = [{ model = 'k-anonymity', at_level = { level = 0.5, population = 54805 } }]"),
        small(top="privacy = [{ model = 'k-anonymity', k = 2 }, { model = 'k-anonymity', k = 3 }]"),
        small(more="[[eligible]]\ncolumn = 'a'\nop = 'present'"),
        small(more="[[eligible]]\ncolumn = 'a'\nop = 'in'\nvalue = [1, 'x', 2020-01-01]"),
    ],
)
def test_the_schema_accepts_what_the_reader_accepts(schema, text, tmp_path):
    (tmp_path / "race.csv").write_text("asian;*\n")
    ix.parse_policy(text, base=tmp_path)
    errors = [error.message for error in schema.iter_errors(as_json(text))]
    assert not errors


@pytest.mark.parametrize(
    "text",
    [
        "",
        small(top="version = 2"),
        small(top="colour = 3"),
        small(top="max_suppression = 1.5"),
        small(top="max_suppression = -1"),
        small(top="max_suppression = 'all'"),
        small(top="algorithm = 'magic'"),
        small(top="suppressed_rows = 'hide'"),
        small(top="privacy = []"),
        small(top="privacy = [{ model = 'magic', k = 2 }]"),
        small(top="privacy = [{ model = 'k-anonymity' }]"),
        small(top="privacy = [{ model = 'k-anonymity', k = 'five' }]"),
        small(top="privacy = [{ model = 'k-anonymity', k = 2, l = 2 }]"),
        small(columns='b = { role = "quasy" }'),
        small(columns='b = { role = "quasi", weight = 0 }'),
        small(more="[[eligible]]\ncolumn = 'a'\nop = 'like'"),
    ],
)
def test_the_schema_refuses_what_an_editor_should_mark(schema, text):
    assert list(schema.iter_errors(as_json(text)))


# Whatever a file holds, the answer is a policy or a policy error.

anything = st.recursive(
    st.none().map(lambda _: True)
    | st.integers(-3, 100)
    | st.floats(-2, 2)
    | st.sampled_from(["a", "quasi", "k-anonymity", "*", "precision", "race.csv", ">="])
    | st.dates(),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["a", "role", "k", "levels", "top", "names", "column"]), inner, max_size=3)
    ),
    max_leaves=6,
)


@st.composite
def spoiled(draw):
    """Draw the content of a policy file with one thing replaced, added or taken away."""
    content = tomllib.loads(EXAMPLE)
    content["options"] = {"measure": "precision"}
    quasi = [name for name, column in content["columns"].items() if column["role"] == "quasi"]
    content["quasi_identifiers"] = {"all": quasi}
    place = content
    while True:
        key = draw(st.sampled_from(sorted(place) if isinstance(place, dict) else range(len(place))))
        inner = place[key]
        if isinstance(inner, dict | list) and inner and draw(st.booleans()):
            place = inner
            continue
        break
    how = draw(st.sampled_from(["replace", "remove", "add"]))
    if how == "remove":
        del place[key]
    elif how == "add" and isinstance(place, dict):
        place[draw(st.sampled_from(["more", "k", "role", "top", "names", "keep"]))] = draw(anything)
    else:
        place[key] = draw(anything)
    return content


@pytest.mark.slow
@given(spoiled())
@examples(300)
def test_whatever_a_file_holds_the_answer_is_a_policy_or_a_policy_error(tmp_path_factory, content):
    from indistinct.policy.files.policy_file import toml

    text = "\n".join(f"{key} = {toml(value)}" for key, value in content.items())
    folder = tmp_path_factory.getbasetemp()
    (folder / "race.csv").write_text("asian;person;*\n")
    try:
        policy = ix.parse_policy(text, base=folder)
    except ix.PolicyError:
        event("refused")
        return
    event("accepted")
    schema = jsonschema.Draft202012Validator(ix.policy_schema())
    assert not list(schema.iter_errors(as_json(text)))
    assert ix.parse_policy(ix.policy_toml(policy), base=folder) == policy


TAKE_A_POLICY_ITSELF = {"policy_toml", "for_recipient", "for_levels"}


def test_every_public_function_that_takes_a_policy_takes_its_path():
    public: list[str] = ix.__all__  # type: ignore[attr-defined]
    found = {name: getattr(ix, name) for name in public} | {
        f"attacks.{name}": getattr(ix.attacks, name) for name in ix.attacks.__all__
    }
    functions = {name: value for name, value in found.items() if inspect.isfunction(value)}
    functions |= {f"Ledger.{name}": getattr(ix.Ledger, name) for name in ("anonymize", "check", "add")}
    functions |= {"MuArgusSession.open": ix.MuArgusSession.open}
    taken = {
        name: str(parameter.annotation)
        for name, function in functions.items()
        for parameter in inspect.signature(function).parameters.values()
        if parameter.name in ("policy", "policies", "earlier_policy", "earlier_policies")
    }
    assert len(taken) > 20
    without = {name for name, said in taken.items() if "os.PathLike" not in said and "OnePolicy" not in said}
    assert without == TAKE_A_POLICY_ITSELF


def test_the_path_of_a_policy_does_what_the_policy_does(tmp_path):
    table = pa.table({"age": ["31", "34", "52", "58"], "ill": ["flu", "flu", "gout", "burn"]})
    policy = ix.Policy({"age": ix.quasi(ix.intervals(5, 10)), "ill": ix.sensitive()}, [ix.KAnonymity(2)])
    path = tmp_path / "policy.toml"
    path.write_text(ix.policy_toml(policy))
    with ix.anonymize(table, str(path)) as release:
        released = release.table
    earlier = pa.table({"age": ["30-39", "30-39"], "ill": ["flu", "flu"]})
    for how in (policy, path):
        assert ix.check(table, how).is_feasible
        assert ix.verify(released, how, original=table).passed
        assert ix.overall_risk(released, how).value == 0.5
        assert [trial.algorithm for trial in ix.compare(table, how, algorithms=["datafly"]).trials] == ["datafly"]
        assert [one.node for one in ix.solutions(table, how)] == [{"age": 2}]
        assert ix.explain_row(table, how, 1).row == 1
        assert ix.risk(table, policy=how).rows == 4
        assert len(ix.queries(table, how, number=3)) == 3
        assert ix.attacks.homogeneity(released, how).rows == 4
        assert ix.attacks.complementary([earlier, released], [how, how]).to_dict()
        assert ix.attacks.run(released, how, earlier={"before": earlier}, earlier_policies=how).release
    for wrong in (None, {"age": "quasi"}, 7):
        with pytest.raises(ix.PolicyError, match="give a Policy, or the path of its file"):
            ix.solutions(table, wrong)


MISSPELT = {
    "columns.zip.renam": ('zip = { role = "quasi", renam = "x" }', "", "rename"),
    "columns.zip.heirarchy": ('zip = { role = "quasi", heirarchy = { suppress = true } }', "", "hierarchy"),
    "columns.weight.rol": ('zip = { role = "quasi" }\nweight = { role = "other", rol = 1 }', "", "role"),
    "columns.zip.shift.day": ('zip = { role = "quasi", shift = { days = 2, day = 2 } }', "", "days"),
    "privacy[0].colunm": ('zip = { role = "quasi" }', "colunm = 'a'", "column"),
    "privacy[0].xyz": ('zip = { role = "quasi" }', "xyz = 1", None),
}


@pytest.mark.parametrize("place", MISSPELT)
def test_a_key_that_is_not_known_is_reported_with_the_nearest_one(place):
    columns, model, meant = MISSPELT[place]
    text = f"version = 1\n[columns]\n{columns}\n[[privacy]]\nmodel = 'l-diversity'\nl = 2\n{model}\n"
    with pytest.raises(ix.PolicyError) as error:
        ix.parse_policy(text)
    advice = "remove it or check its spelling" if meant is None else f"did you mean {meant!r}?"
    assert f"policy: {place}: is not known here; {advice}" in error.value.mistakes


def test_keys_at_the_top_and_of_several_tables_are_reported_as_well():
    with pytest.raises(ix.PolicyError, match="max_supression: is not known here; did you mean 'max_suppression'"):
        ix.parse_policy("version = 1\nmax_supression = 0.1\ncolumns = { a = { role = 'quasi' } }\nprivacy = []\n")
    text = (
        "version = 1\nperson = { colum = 'p' }\n[tables.visits]\nkeyy = 'p'\n[tables.visits.columns]\n"
        "a = { role = 'quasi', renamed = 'b' }\n[[privacy]]\nmodel = 'k-anonymity'\nk = 2\n"
    )
    with pytest.raises(ix.PolicyError) as error:
        policy_of(tomllib.loads(text))
    told = str(error.value)
    for place, meant in (("visits.keyy", "key"), ("visits.columns.a.renamed", "rename")):
        assert f"tables.{place}: is not known here; did you mean {meant!r}?" in told
