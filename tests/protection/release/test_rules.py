"""Files of rules in Python: read, changed, written, and used."""

import builtins
import contextlib
import io
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import riskcore
from riskcore import Recoding, Release, models, simulate
from riskcore.common.toml_text import RulesError
from riskcore.data.files import formats
from tests.accepted import ANY_LEAK

TEXT = """\
# Agreed with the law department.
format = 1

[data]
file = "in/survey.csv"
missing_codes = { "*" = ["NA"], SEX = ["3"] }

[columns]
keys = [["REGION", "AGE"], ["SEX", "AGE"]]  # neighbors, colleagues
weight = "WEIGHT"

[safe]
k = [3, 1]
threshold = "5%"

[recodings]
AGE = "hierarchy:ages.csv:1"   # classes of the register
REGION = "truncate:2"

[suppress]
cost = { SEX = "never", AGE = 2 }

[roles]
"*" = "harmless:a test"

[accept]
"*" = "stays in the office"

[output]
file = "out/safe.csv"
drop = ["HOUSEHOLD"]

[check]
max_rate = 0.5
"""
KEYS = ["REGION", "AGE"]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Work beside a folder with a survey, a hierarchy and rules."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a" / "in").mkdir(parents=True)
    (tmp_path / "a" / "out").mkdir()
    data = simulate.microdata(400, np.random.default_rng(5))
    data["SEX"][:5] = 3
    formats.write("a/in/survey.csv", data)
    lines = [f"{age};{age // 30};all\n" for age in range(120)]
    Path("a/ages.csv").write_text("".join(lines))
    Path("a/release.toml").write_text(TEXT)
    return tmp_path


def test_rules_are_the_arguments_of_protect(folder):
    rules = Release.read("a/release.toml")
    found = rules.protect()
    other = riskcore.protect(
        "a/in/survey.csv", [KEYS, ["SEX", "AGE"]], "WEIGHT",
        reading=riskcore.Reading(missing_codes={"": ["NA"], "SEX": ["3"]}),
        k={("REGION", "AGE"): 3}, threshold=0.05,
        recodings={"AGE": "hierarchy:a/ages.csv:1", "REGION": "truncate:2"},
        cost={"SEX": float("inf"), "AGE": 2}, **ANY_LEAK,
    )  # fmt: skip
    assert found.settings.to_dict() == other.settings.to_dict() | {
        "accept": {"*": "stays in the office"}
    }
    assert found.data == other.data
    assert rules.file("output") == Path("a/out/safe.csv")
    assert rules.output() == {
        "file": Path("a/out/safe.csv"), "drop": ["HOUSEHOLD"],
    }  # fmt: skip


def test_a_gate_by_rules(folder):
    rules = Release.read("a/release.toml")
    rules.protect().write(rules.file("output"), drop=["HOUSEHOLD"])
    assert rules.check().state == "not examined"
    found = rules.check(original="a/in/survey.csv")
    assert found.passed
    assert found.same_file is None
    assert found.recorded_state is None
    named = [(one.rule, one.keys) for one in found.rules]
    assert named == [
        ("k", ("REGION", "AGE")), ("threshold", ("REGION", "AGE")),
        ("max_rate", ("REGION", "AGE")), ("threshold", ("SEX", "AGE")),
        ("max_rate", ("SEX", "AGE")),
    ]  # fmt: skip
    assert not rules.check("a/in/survey.csv").passed
    assert not rules.check(t=0.01, sensitive=["EDUCATION"]).passed
    with pytest.raises(RulesError, match=r"release.toml:34:1: check.max_rate: stated"):
        rules.check(max_rate=0.1)
    with pytest.raises(
        ValueError, match=r"rules: a/release.toml states missing: leave"
    ):
        rules.check(missing="argus")


def test_comments_and_order_stay_where_rules_change(folder):
    rules = Release.read("a/release.toml")
    changed = rules.with_rules(
        safe={"k": [4, 2]}, recodings={"SEX": "map:3=2", "REGION": None},
        roles={"INCOME": "numeric"},
    )  # fmt: skip
    text = changed.to_toml()
    kept = [line for line in text.splitlines() if line and line in TEXT]
    gone = [line for line in TEXT.splitlines() if line not in text.splitlines()]
    assert gone == ["k = [3, 1]", 'REGION = "truncate:2"']
    assert kept == [one for one in TEXT.splitlines() if one and one not in gone]
    assert changed.tables["safe"]["k"] == [4, 2]
    assert changed.tables["roles"] == {"*": "harmless:a test", "INCOME": "numeric"}
    assert rules.tables["safe"]["k"] == [3, 1]
    with pytest.raises(RulesError, match=r"release.toml:\d+:1: safe.kk: there is no"):
        rules.with_rules(safe={"kk": 1})
    again = changed.write("a/release.toml", overwrite=True)
    assert Release.read("a/release.toml") == again


def test_rules_that_name_files_stay_in_their_folder(folder):
    rules = Release.read("a/release.toml")
    with pytest.raises(ValueError, match="write them there"):
        rules.write("b.toml")
    with pytest.raises(FileExistsError):
        rules.write("a/release.toml")
    assert rules.write("a/b.toml").to_toml() == TEXT == Path("a/b.toml").read_text()
    plain = Release.parse("format = 1\n[safe]\nk = 3\n", "a/x.toml")
    assert plain.write("c.toml").path == Path("c.toml")


def test_reading_rules_opens_nothing_else(folder, monkeypatch):
    opened = []
    true_open = builtins.open

    def watched(path, *args, **options):
        opened.append(Path(path).name)
        return true_open(path, *args, **options)

    monkeypatch.setattr(io, "open", watched)  # that of Path.open
    monkeypatch.setattr(builtins, "open", watched)
    Release.read("a/release.toml")
    assert opened == ["release.toml"]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (
            {"recodings": {"AGE": Recoding.top_bottom(top=85)}},
            "recodings.AGE=a Recoding: a file of rules holds words",
        ),
        ({"population": models.LatentClass}, "safe.population="),
        ({"nothing": 1}, "nothing: not a rule"),
        ({"output": {"secret": "x"}}, "output.secret: not a rule"),
        ({"output": {"overwrite": True}}, "output.overwrite: not a rule"),
        ({"check": {"k": 3}}, "check.k: not a rule"),
    ],
)
def test_what_is_no_rule(settings, message):
    with pytest.raises(TypeError, match=message):
        Release.of("s.csv", ["AGE"], **settings)


def test_arguments_become_rules():
    rules = Release.of(
        None, [["A", "B"], ["B", "C"]], "W",
        k={("C", "B"): 5}, treat={("X", "Y"): "microaggregate:3", "Z": ["round:5"]},
        cost={"A": float("inf"), "B": np.float64(2.5)}, strata=("R",),
        ties="rule", household_keys=(), output="o.csv",
        check={"max_risk": 0.1},
    )  # fmt: skip
    assert rules.tables == {
        "format": 1,
        "columns": {"keys": [["A", "B"], ["B", "C"]], "weight": "W"},
        "safe": {"k": [1, 5], "strata": ["R"]},
        "treat": {"X+Y": "microaggregate:3", "Z": ["round:5"]},
        "suppress": {
            "cost": {"A": "never", "B": 2.5},
            "household_keys": [],
        },
        "output": {"file": "o.csv"},
        "check": {"max_risk": 0.1},
    }  # fmt: skip
    assert rules.arguments()["k"] == [None, 5]
    assert rules.arguments()["cost"] == {"A": float("inf"), "B": 2.5}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "rules: the version is missing"),
        ("[safe]\nk = 3", "r.toml: the version is missing"),
        ("format = 1\n[safe]\nk = [3]\n[columns]\nkeys = [['A'], ['X']]",
         "r.toml:3:1: safe.k: k: 1 number for 2 sets of keys"),
        ("format = 1\n[safe]\nrate = '200%'\n[columns]\nkeys = ['A']",
         "r.toml:3:1: safe.rate: 200% is not in"),
        ("format = 1\n[safe]\nk = 2\n[columns]\nkeys = ['A', 'A']",
         "r.toml:5:1: columns.keys: .* more than once"),
        ("format = 1\n[safe]\nk = 2\n", r"r.toml:1:1: columns.keys: missing"),
        ("format = 1\n[columns]\nkeys = ['A', 'b']\n[safe]\nk = 2",
         "r.toml:3:14: columns.keys: .*: no column 'b'"),
        ("format = 1\n[columns]\nkeys = ['A']\n[suppress]\nrelated = {A = ['b']}\n"
         "[safe]\nk = 2",
         "r.toml:5:17: suppress.related.A: .*: no column 'b'"),
        ("format = 1\n[columns]\nkeys = ['A']\n[treat]\n'A+b' = 'microaggregate:3'\n"
         "[safe]\nk = 2",
         r"r.toml:5:1: treat.A\+b: .*: no column 'b'"),
        ("format = 1\n[columns]\nkeys = ['A']\n[treat]\nA = 'round:'\n[safe]\nk=2",
         r"r.toml:5:1: treat"),
        ("format = 1\n[columns]\nkeys = ['A']\nhousehold = 'A'\n[safe]\nk=2",
         r"r.toml:\d:1: "),
        ("format = 1\n[data]\nencoding = 'klingon'\n[columns]\nkeys = ['A']\n"
         "[safe]\nk=2", r"r.toml:3:1: data.encoding"),
        ("format = 1\n[columns]\nkeys = ['A']\n[treat]\nX = ['round:5', "
         "'swap:5%:within=A+b']\n[safe]\nk = 2",
         r"r.toml:5:17: treat.X: .*: no column 'b'"),
        ("format = 1\n[columns]\nkeys = ['A']\n[safe]\nk = 2\nstrata = ['A']",
         "r.toml:6:1: safe.strata: .*both a key and a stratum"),
        ("format = 1\n[columns]\nkeys = ['A']\n[safe]\nk = 2\n[suppress]\n"
         "cost = {A = 1, X = 2}", "r.toml:7:16: suppress.cost.X: .*not a key"),
    ],
)  # fmt: skip
def test_errors_have_the_place_of_their_rule(text, message, tmp_path):
    path = formats.write(tmp_path / "s.csv", {"A": [1, 1, 2], "X": [1, 2, 3]})
    with pytest.raises(RulesError, match=message):
        Release.parse(text, "r.toml" if text else None).protect(path)


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        ("frm:1,2", "neither a file nor a rule; rules are year, "),
        ("hierarchy:x.csv:1", "No such file or directory"),
    ],
)
def test_a_file_that_is_not_there_has_the_place_of_its_rule(rule, said, tmp_path):
    path = formats.write(tmp_path / "s.csv", {"A": [1, 1, 2]})
    text = f"format = 1\n[columns]\nkeys = ['A']\n[recodings]\nA = '{rule}'"
    with pytest.raises(FileNotFoundError, match=r"r.toml:5:1: recodings.A") as error:
        Release.parse(text, "r.toml").protect(path)
    assert said in str(error.value)


# Tables as people write them: with headers, on one line, with points, in any order.
WRITTEN = {
    "headers": "[suppress]\nsuppression = 'argus'\n[suppress.cost]\nA = 3\n"
    "[safe]\nk = 3\n",
    "without": "[suppress.cost.A]\n1 = 3\n[suppress.related]\nA = ['B']\n[safe]\nk=3\n",
    "apart": "[suppress.cost]\nA = 3\n[safe]\nk = 3\n[suppress.related]\nA = ['B']\n"
    "[suppress]\nsuppression = 'argus'\n",
    "one line": "suppress = {cost = {A = 3}, suppression = 'argus'}\nsafe = {k = 3}\n",
    "points": "suppress.cost.A = 3\nsafe.k = 3\nsuppress.cost.B = 4\n"
    "roles.X = 'sensitive'\noutput.drop = ['Y']\n",
    "points inside": "[suppress]\ncost.A = 3\nrelated.A = ['B']\n[safe]\nk = 3\n",
}
CHANGES = [
    ("suppress", {"cost": {"A": 4, "B": "never"}}),
    ("suppress", {"cost": {"A": {"1": 2.5, "a 'b\"": "never"}}}),
    ("suppress", {"cost": None, "suppression": "exact"}),
    ("suppress", {"related": {"B": ["X"]}}),
    ("safe", {"k": None, "threshold": 0.1}),
    ("data", {"missing_codes": {"A": ["9"]}}),
    ("roles", {"X": "harmless", "n.m": "numeric"}),
    ("output", {"drop": ["Y", "Z"]}),
]


@pytest.mark.parametrize("style", WRITTEN)
@given(st.lists(st.sampled_from(CHANGES), min_size=1, max_size=5))
def test_changes_change_nothing_else(style, changes):
    rules = Release.parse(f"# by law\nformat = 1\n{WRITTEN[style]}")
    for table, change in changes:
        expected = {name: dict(one) for name, one in rules.tables.items()
                    if name != "format"}  # fmt: skip
        of_table = {**expected.get(table, {}), **change}
        kept = {name: one for name, one in of_table.items() if one is not None}
        rules = rules.with_rules(**{table: change})
        assert {**rules.tables, "format": 1} == {**expected, table: kept, "format": 1}
        assert "# by law" in rules.text


@given(st.lists(st.tuples(st.integers(0, len(TEXT)), st.text(max_size=2)), max_size=3))
def test_no_text_makes_another_error(changes):
    text = TEXT
    for at, piece in changes:
        text = text[:at] + piece + text[at + 1 :]
    with contextlib.suppress(RulesError):
        Release.parse(text, "r.toml").arguments()


def test_what_cannot_be_counted_is_not_judged():
    panel = "format = 1\n[columns]\nkeys = ['A']\nperson = 'P'\nwave = 'W'\n[safe]\nk=2"
    found = Release.parse(panel, "r.toml").check({"A": [1]})
    assert [one.rule for one in found.not_judged] == ["k"]
    assert "the file is a panel" in found.text()
    # A model is fitted to a file without blanks, which is the original to it.
    data = {"A": list("aabbc"), "w": [2.0, 2.0, 3.0, 4.0, 9.0]}
    rules = Release.of(None, ["A"], "w", threshold=0.9, population="weights")
    assert [one.passed for one in rules.check(data).rules] == [True]
    data["A"][1] = None
    assert [one.passed for one in rules.check(data).rules] == [None]
    dropped = Release.of(None, ["A"], "w", threshold=0.9, output={"drop": ["w"]})
    found = dropped.check({"A": list("aabbc")})
    assert "the weights 'w' were left out" in found.text()
    gate = dropped.with_rules(check={"min_population": 10, "area": ["A"]})
    found = gate.check({"A": list("aabbc")})
    assert {one.rule for one in found.not_judged} == {"threshold", "min_population"}


def test_names_in_quotes_are_no_settings(tmp_path):
    # The message lists the columns, one of which is called like a rule.
    text = "format = 1\n[safe]\nk = 2\n[columns]\nkeys = ['t']\n[check]\nl = 2\n"
    text += "sensitive = ['l']"
    rules = Release.parse(text, "r.toml")
    with pytest.raises(RulesError, match=r"^r.toml:5:9: columns.keys: no column 't'"):
        rules.check({"k": [1, 1], "l": [1, 1]})
    with pytest.raises(RulesError, match=r"^r.toml:8:14: check.sensitive: no column"):
        rules.check({"t": [1, 1], "k": [1, 1]})


def test_changes_need_tomlkit(monkeypatch):
    monkeypatch.setattr("riskcore.common.needs.find_spec", lambda _: None)
    with pytest.raises(ImportError, match="tomlkit"):
        Release.parse("format = 1").with_rules(safe={"k": 3})


def test_reading_and_writing_need_no_library(monkeypatch):
    monkeypatch.setitem(sys.modules, "tomlkit", None)
    assert Release.parse("format = 1\n").to_toml() == "format = 1\n"
    assert Release({"format": 1}).to_toml() == "format = 1\n"
