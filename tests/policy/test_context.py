"""The context of a policy, its recipients, and R = R_data x R_context, worked out anew by other code."""

from __future__ import annotations

import datetime
import json
from collections import Counter
from fractions import Fraction

import jsonschema
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import indistinct as ix
from helpers.commands import run
from helpers.profiles import examples
from indistinct.policy import Person
from indistinct.policy.context import CONTROLS, LIMITS, Context, Likelihood
from indistinct.regimes import regimes, unsaid

POLICY = """
version = 1

[about]
data = "visits"
purpose = "a study"

[context]
sharing = "agreement"
deliberate = { controls = "medium", motives = "low", why = "a university under contract" }
inadvertent = { prevalence = 0.001, why = "one in a thousand has it" }
breach = { value = 0.25, why = "of such places, in a year" }
threshold = "ema-0070"
why = "clinical data"
decided_by = "the board"
review_by = 2027-05-30

[recipients.university]
who = "University"
holds = "its own patients"
contract = "of May"
k = 2
columns = ["age", "ill"]

[recipients.press]
who = "Everybody"
context = { sharing = "public" }
k = 4
min_level = { age = 1 }

[columns]
name = { role = "identifier" }
age = { role = "quasi", hierarchy = { intervals = [10, 100] } }
zip = { role = "quasi", hierarchy = { prefix = 2 } }
ill = { role = "sensitive" }

[[privacy]]
model = "k-anonymity"
k = 3
"""


def table(rows=24):
    """Rows of people with few ages and towns."""
    return pa.table(
        {
            "name": [f"n{row}" for row in range(rows)],
            "age": [20 + row % 6 for row in range(rows)],
            "zip": [f"{row % 3}{row % 2}" for row in range(rows)],
            "ill": ["ab"[row % 2] for row in range(rows)],
        }
    )


def enforced(text=POLICY, threshold="0.05"):
    """The policy with a threshold that is enforced."""
    return text.replace('"ema-0070"', f"{threshold}\nenforce = true")


def mistakes(text):
    with pytest.raises(ix.PolicyError) as caught:
        ix.parse_policy(text)
    return [mistake.removeprefix("policy: ").split(":")[0] for mistake in caught.value.mistakes]


def test_a_context_is_read_written_and_read_again():
    policy = ix.parse_policy(POLICY)
    context = policy.context
    assert context.likelihood == 0.25
    assert context.deliberate.probability == 0.2
    assert context.inadvertent.probability == pytest.approx(1 - 0.999**150)
    assert (context.limit.value, context.which, context.cutoff) == (0.09, "average", 1 / 3)
    assert context.review_by == datetime.date(2027, 5, 30)
    assert ix.parse_policy(ix.policy_toml(policy)) == policy


def test_the_schema_takes_what_the_file_may_say():
    import tomllib

    schema = ix.policy_schema()
    said = json.loads(json.dumps(tomllib.loads(POLICY), default=str))
    jsonschema.validate(said, schema)
    for key, value in (("sharing", "everybody"), ("threshold", 2), ("threshold", "theirs"), ("who", "x")):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(said | {"context": said["context"] | {key: value}}, schema)


@pytest.mark.parametrize(
    ("was", "becomes", "place"),
    [
        (', why = "a university under contract"', "", "context.deliberate.why"),
        ('motives = "low", ', "", "context"),
        ("value = 0.25", "value = 1.5", "context.breach.value"),
        ('sharing = "agreement"', 'sharing = "public"', "context"),
        ('"ema-0070"', '"mine"', "context"),
        ('why = "clinical data"\n', "", "context"),
        ("2027-05-30", '"tomorrow"', "context"),
        ('threshold = "ema-0070"\n', "enforce = true\n", "context"),
        ("k = 2\n", "k = 0\n", "recipients.university.k"),
        ('who = "University"', 'whom = "University"', "recipients.university.whom"),
    ],
)
def test_every_mistake_names_its_place(was, becomes, place):
    assert was in POLICY
    assert place in mistakes(POLICY.replace(was, becomes, 1))


def test_the_table_of_the_guideline():
    """Ontario's guidelines of 2016, step 5, attack 1."""
    rows = {"high": (0.05, 0.1, 0.2), "medium": (0.2, 0.3, 0.4), "low": (0.4, 0.5, 0.6)}
    assert {
        (c, m): v for c, row in rows.items() for m, v in zip(("low", "medium", "high"), row, strict=True)
    } == CONTROLS
    assert [one.value for one in LIMITS.values()] == [0.1, 0.075, 0.05, 0.09]


shares = st.integers(0, 100).map(lambda percent: percent / 100)


@given(
    st.sampled_from(["public", "agreement", "controlled", None]), st.lists(st.none() | shares, min_size=3, max_size=3)
)
@examples(200)
def test_the_likelihood_is_the_greatest_and_certain_where_one_is_not_said(sharing, values):
    if sharing == "public":
        values = [None] * 3
    context = Context(sharing, *(None if one is None else Likelihood(one, why="said") for one in values))
    certain = sharing in (None, "public") or None in values
    assert context.likelihood == (1 if certain else max(values))


rows = st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from("xy")), min_size=1, max_size=30)


@given(rows, shares, st.sampled_from(["maximum", "average"]), st.integers(1, 100))
@examples(60, opens_tables=True)
def test_the_risk_agrees_with_fractions_counted_by_hand(cells, likely, measure, threshold):
    said = Likelihood(likely, why="said")
    context = Context("agreement", said, said, said, threshold / 100, measure, why="said")
    policy = ix.Policy({"a": ix.quasi(), "b": ix.quasi()}, [ix.KAnonymity(1)], context=context)
    found = ix.overall_risk(pa.table({"a": [a for a, _ in cells], "b": [b for _, b in cells]}), policy)
    sizes = Counter(cells)
    highest = Fraction(1, min(sizes.values()))
    average = sum(Fraction(1, sizes[one]) for one in cells) / len(cells)
    risk = (highest if measure == "maximum" else average) * Fraction(likely).limit_denominator(100)
    assert found.data.maximum == pytest.approx(float(highest))
    assert found.data.average == pytest.approx(float(average))
    assert found.value == pytest.approx(float(risk))
    beyond = measure == "average" and highest > Fraction(1, 3)
    assert found.is_above == (risk > Fraction(threshold, 100) or beyond)
    own = sum(
        1
        for one in cells
        if Fraction(1, sizes[one]) * Fraction(likely).limit_denominator(100) > Fraction(threshold, 100)
    )
    assert found.data.above == own


@given(st.lists(st.tuples(st.sampled_from("pqrstu"), st.sampled_from("abc"), st.sampled_from("xy")), min_size=4))
@examples(40, opens_tables=True)
def test_the_risk_of_several_quasi_identifiers_and_of_people_is_that_counted_by_hand(cells):
    names = [f"{who}{number % 3}" for number, (who, _, _) in enumerate(cells)]
    table = pa.table({"who": names, "a": [a for _, a, _ in cells], "b": [b for _, _, b in cells]})
    columns = {"a": ix.quasi(), "b": ix.quasi()}
    said = Likelihood(0.5, why="said")
    context = Context("agreement", said, said, said, 0.1, why="said")
    sets = {"first": ["a"], "second": ["b"]}
    several = ix.Policy(columns, [ix.KAnonymity(1)], quasi_identifiers=sets, context=context)
    found = ix.overall_risk(table, several)
    sizes = [Counter(a for _, a, _ in cells), Counter(b for _, _, b in cells)]
    assert found.data.maximum == pytest.approx(max(1 / min(one.values()) for one in sizes))
    assert found.value == pytest.approx(0.5 * max(len(one) for one in sizes) / len(cells))
    of_person: dict[str, list] = {}
    for name, (_, a, b) in zip(names, cells, strict=True):
        of_person.setdefault(name, []).append((a, b))
    alike = Counter(tuple(sorted(rows)) for rows in of_person.values())
    linked = ix.Policy(
        {"who": ix.identifier(), **columns},
        [ix.KAnonymity(1)],
        person=Person(("who",), "pseudonym"),
        context=context,
    )
    with ix.anonymize(table, linked) as release:
        found = ix.overall_risk(release, linked)
    assert (found.data.units, found.data.records) == ("people", len(of_person))
    assert found.data.maximum == pytest.approx(1 / min(alike.values()))
    assert found.data.average == pytest.approx(len(alike) / len(of_person))
    in_rows = ix.Policy({"who": ix.identifier(), **columns}, [ix.KAnonymity(1)], person="who", context=context)
    with ix.anonymize(table, in_rows) as release:
        found = ix.overall_risk(release, in_rows)
    groups: dict[tuple, set] = {}
    for name, (_, a, b) in zip(names, cells, strict=True):
        groups.setdefault((a, b), set()).add(name)
    assert found.data.maximum == found.data.average == pytest.approx(1 / min(map(len, groups.values())))
    assert found.data.is_average_known is False


def test_each_recipient_gets_a_release_on_their_own_terms():
    policy = ix.parse_policy(POLICY)
    university, press = (ix.for_recipient(policy, name) for name in ("university", "press"))
    assert university.quasi == ("age",)
    assert university.columns["zip"].role == "drop"
    assert (university.privacy, press.privacy) == ((ix.KAnonymity(2),), (ix.KAnonymity(4),))
    assert (university.context.likelihood, press.context.likelihood) == (0.25, 1.0)
    assert (university.about["recipient"], press.columns["age"].min_level) == ("University", 1)
    with ix.anonymize(table(), university) as release:
        assert set(release.table.column_names) == {"age", "ill"}
    with ix.anonymize(table(), press) as release:
        assert min(Counter(zip(*(release.table[n].to_pylist() for n in ("age", "zip")), strict=True)).values()) >= 4


@pytest.mark.parametrize(
    ("name", "terms"),
    [("nobody", {}), ("r", {"columns": ["x"]}), ("r", {"min_level": {"ill": 1}}), ("r", {"max_suppression": 7.0})],
)
def test_terms_that_do_not_fit_are_refused(name, terms):
    policy = ix.parse_policy(POLICY)
    given_to = ix.Policy(policy.columns, policy.privacy, recipients={"r": ix.RecipientTerms(**terms)})
    with pytest.raises(ix.PolicyError):
        ix.for_recipient(given_to, name)


def test_a_release_above_an_enforced_threshold_is_refused_and_one_below_is_made():
    with pytest.raises(ix.VerificationError, match=r"k = 5 is enough"):
        ix.anonymize(table(), ix.parse_policy(enforced()))
    with ix.anonymize(table(), ix.parse_policy(enforced(threshold="0.1"))) as release:
        assert ix.overall_risk(release, release.policy).is_above is False


def test_anonymize_check_and_gate_heed_the_context(tmp_path):
    import pyarrow.csv

    pyarrow.csv.write_csv(table(), tmp_path / "people.csv")
    (tmp_path / "free.toml").write_text(POLICY)
    (tmp_path / "strict.toml").write_text(enforced())
    (tmp_path / "other.toml").write_text(enforced().replace("k = 3", "k = 3 # three"))
    free, strict, people = (str(tmp_path / name) for name in ("free.toml", "strict.toml", "people.csv"))
    assert run("anonymize", strict, people, "-o", str(tmp_path / "no")).exit_code == 4
    assert not (tmp_path / "no").exists()
    assert run("anonymize", free, people, "-o", str(tmp_path / "all")).exit_code == 0
    assert run("gate", str(tmp_path / "all"), "--policy", free).exit_code == 0
    assert run("gate", str(tmp_path / "all"), "--policy", strict).exit_code == 4
    named = ("--recipient", "university")
    assert run("anonymize", free, people, "-o", str(tmp_path / "own"), *named).exit_code == 0
    assert run("verify", free, str(tmp_path / "own"), "--original", people, *named).exit_code == 0
    assert run("verify", free, str(tmp_path / "own")).exit_code == 4
    assert run("anonymize", free, people, "-o", str(tmp_path / "x"), "--recipient", "nobody").exit_code == 2
    found = json.loads(run("check", free, people, "--json").stdout)
    assert found["unsaid"]["gdpr"] == ["recipient.holds", "recipient.means", "recipient.contract"]
    assert "iso-27559" not in found["unsaid"]
    told = run("check", free, people, *named)
    assert "--recipient university" in told.stderr
    assert json.loads(run("check", free, people, "--json", *named).stdout)["unsaid"]["gdpr"] == ["recipient.means"]


def test_nine_regimes_ask_for_what_a_policy_without_context_does_not_say():
    policy = ix.Policy({"a": ix.quasi()}, [ix.KAnonymity(2)])
    assert len(regimes()) == 9
    assert set(unsaid(policy)) <= set(regimes())
    assert unsaid(policy)["hipaa"] == ("about.data", "context.threshold", "recipients", "context.review_by")
