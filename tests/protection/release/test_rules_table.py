"""The tables of a file of rules, its schema, and faults that both see."""

import copy
from collections import Counter

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench.release_rules import PAGE, SCHEMA, schema_text, tables_text
from riskcore.assessment.assess_settings import CheckSettings
from riskcore.common.settings import ReportSettings, settings_of
from riskcore.data.files.read_settings import ReadSettings
from riskcore.protection.settings.best_settings import BestSettings
from riskcore.protection.settings.rules_table import LEFT_OUT, entries, fault_of, schema
from riskcore.protection.settings.settings_table import ProtectSettings, WriteSettings

RULES = {
    "format": 1,
    "preset": "health-k3",
    "classes": {"identifier": [], "identifying": ["SEX", "AGE"]},
    "data": {"file": "s.csv", "missing_codes": {"*": ["NA"], "AGE": ["99"]}},
    "columns": {"keys": [["SEX", "AGE"], ["SEX", "JOB"]], "weight": "W"},
    "safe": {"k": [3, 5], "rate": "0.1%",
        "l": "entropy:2", "min_population": [100, 1]},
    "roles": {"NAME": "identifier", "PAY": "sensitive:ordered"},
    "recodings": {"AGE": "from:15,30"},
    "treat": {"PAY": ["top:1%", "round:10"], "A+B": "microaggregate:3"},
    "suppress": {
        "cost": {"SEX": "never", "AGE": 2, "JOB": {"1": 5.5}},
        "related": {"JOB": ["ISCO"]},
    },
    "accept": {"*": "the data stay here"},
    "output": {"file": "safe.csv", "shuffle": True, "renumber": []},
    "check": {"max_rate": 0.01, "area": ["SEX"]},
    "ladder": {"AGE": ["round:5", "map:*=all"], "JOB": "jobs.csv"},
    "best": {"loss": "entropy", "price": 2, "importance": {"AGE": 3}, "time": 60},
}  # fmt: skip
VALID = jsonschema.Draft7Validator(schema())


def test_every_setting_has_one_place():
    names = {place[-1] for place in entries()}
    tables = ProtectSettings, ReadSettings, ReportSettings, CheckSettings, BestSettings
    for table in tables:
        assert settings_of(table).keys() <= names
    assert settings_of(WriteSettings).keys() - set(LEFT_OUT) <= names
    assert not names & set(LEFT_OUT)
    others = {"file", "keys", "weight", "household", "household_id", "ladder"}
    known = {n for t in (*tables, WriteSettings) for n in settings_of(t)}
    assert names <= known | others
    # A file to read and one to write; goals among the people of the original, and
    # limits of the safe file alone.
    twice = Counter(place[-1] for place in entries()) - Counter(names)
    assert {*twice} == {"file", "l", "t", "min_population"}
    assert all(setting.shape for setting in entries().values())


def test_the_published_schema_and_the_page_are_those_of_the_settings():
    assert SCHEMA.read_text() == schema_text()
    assert f"<!-- rules -->\n{tables_text()}\n<!-- /rules -->" in PAGE.read_text()
    jsonschema.Draft7Validator.check_schema(schema())


def test_rules_without_a_fault():
    assert fault_of(RULES) is None
    assert VALID.is_valid(RULES)


def places(value, place=()):
    """Yield the place of every value."""
    pairs = ()
    if isinstance(value, dict):
        pairs = value.items()
    elif isinstance(value, list):
        pairs = enumerate(value)
    for name, one in pairs:
        yield (*place, name)
        yield from places(one, (*place, name))


PLACES = list(places(RULES))
# JSON takes 3.0 for a whole number; a file of rules does not.
FLOATS = st.floats(-2, 1e9).filter(lambda number: not number.is_integer())
SIMPLE = st.sampled_from(
    ["", "x", "3%", "0.1%", "-1%", "never", "derived", "fewest", "exact", "sensitive"]
)
VALUES = st.recursive(
    SIMPLE | st.booleans() | st.integers(-2, 400) | FLOATS,
    lambda inner: (
        st.lists(inner, max_size=2) | st.dictionaries(SIMPLE, inner, max_size=2)
    ),
    max_leaves=4,
)


@given(st.lists(st.tuples(st.sampled_from(PLACES), VALUES), max_size=2), VALUES)
def test_faults_are_those_of_the_schema(changes, more):
    rules = copy.deepcopy(RULES)
    for (*way, name), value in changes:
        inside = rules
        for step in way:
            try:
                inside = inside[step]
            except (IndexError, KeyError, TypeError):
                break
        else:
            if isinstance(inside, dict) or (
                isinstance(inside, list)
                and isinstance(name, int)
                and name < len(inside)
            ):
                inside[name] = value
    found = fault_of(rules)
    assert (found is None) == VALID.is_valid(rules), (rules, found)
    if found is not None:
        place, message = found
        assert message
        assert not place or place in set(places(rules))


@pytest.mark.parametrize(
    ("rules", "place", "message"),
    [
        ({}, (), "begin the file with format = 1"),
        ({"format": 2}, ("format",), "2, but this version reads format = 1"),
        ({"format": True}, ("format",), "True, but"),
        ({"saef": {}}, ("saef",), "no table of this name; did you mean 'safe'?"),
        ({"k": 3}, ("k",), "it belongs into [safe]"),
        ({"safe": 3}, ("safe",), "write [safe] on a line of its own"),
        ({"safe": {"recodings": {}}}, ("safe", "recodings"), "into [recodings]"),
        ({"safe": {"l": "entropy"}}, ("safe", "l"), "such as 'entropy:3'"),
        ({"safe": {"zzz": 1}}, ("safe", "zzz"), "known: k, subsets, strata"),
        ({"safe": {"threshold": float("nan")}}, ("safe", "threshold"), "in (0, 1]"),
        ({"safe": {"threshold": 0}}, ("safe", "threshold"), "in (0, 1]"),
        ({"safe": {"k": True}}, ("safe", "k"), "not true"),
        ({"safe": {"method": "fast"}}, ("safe", "method"), "one of 'exact', 'series7'"),
        ({"suppress": {"cost": "dear"}}, ("suppress", "cost"), "'fewest', 'equal'"),
        (
            {"suppress": {"cost": {"A": {"b": -1}}}},
            ("suppress", "cost", "A", "b"),
            "-1",
        ),
        ({"treat": {"A": [1]}}, ("treat", "A", 0), "need text, not 1"),
        ({"roles": {"A": "key"}}, ("roles", "A"), "'identifier'"),
        ({"columns": {"keys": [["A"], "B"]}}, ("columns", "keys"), "need"),
        ({"safe": {"min_population": 0}}, ("safe", "min_population"), "(0, inf)"),
    ],
)
def test_faults(rules, place, message):
    found = fault_of({"format": 1, **rules} if rules else rules)
    assert found is not None
    if message != "need":
        assert found[0] == place
    assert message in found[1]
