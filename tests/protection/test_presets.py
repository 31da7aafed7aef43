"""The rules of offices: for each a file that passes, and one that fails each check."""

import re
import tomllib
from collections import Counter

import pytest

from riskcore import Release, check
from riskcore.common.toml_text import RulesError, toml_of
from riskcore.protection import presets
from riskcore.protection.settings.rules_table import fault_of

HEAD = 'format = 1\npreset = "{}"\n[accept]\n"(order)" = "no matter here"\n'
RULES = {
    "netherlands-research": """
        columns.weight = "W"
        [classes]
        identifier = ["ID"]
        region = ["REGION"]
        visible = ["SEX"]
        identifying = ["AGE", "JOB"]
    """,
    "netherlands-public": """
        columns = { weight = "W", household = "HH" }
        [classes]
        identifier = ["ID"]
        withheld = ["BORN"]
        sensitive = ["INCOME"]
        area = ["SIZE"]
        identifying = ["SEX", "AGE"]
        household = ["MEMBERS"]
    """,
    "eurostat-research-like": """
        columns.household = "HH"
        [classes]
        identifier = ["ID"]
        region = ["REGION"]
        age = ["AGE"]
        personal = ["SEX"]
        household = ["MEMBERS"]
    """,
    "hipaa-safe-harbor": """
        [classes]
        identifier = ["ID"]
        zip = ["ZIP"]
        date = ["ADMITTED"]
        age = ["AGE"]
    """,
    **dict.fromkeys(
        ["health-k3", "health-k5", "health-k11"],
        """
        [classes]
        identifier = ["ID"]
        identifying = ["SEX", "AGE"]
        """,
    ),
}


def rules_of(name, more=""):
    """Return the rules of a preset, with classes of the columns of `survey`."""
    text = RULES[name].replace(
        "[classes]", "".join([more, "\n[classes]"]) if more else "[classes]"
    )
    return Release.parse(HEAD.format(name).replace("[accept]", f"{text}[accept]"))


def survey(name):
    """Return a file in which all combinations are equally common."""
    n = 1200
    data = {
        "ID": [f"person {i}" for i in range(n)],
        "SEX": ["mf"[i % 2] for i in range(n)],
        "AGE": [30 + 30 * (i // 2 % 3) for i in range(n)],
    }
    if name == "netherlands-research":
        data["REGION"] = ["NS"[i // 6 % 2] for i in range(n)]
        data["JOB"] = ["abcde"[i // 12 % 5] for i in range(n)]
        data["W"] = [100.0] * n
    if name == "netherlands-public":
        data["BORN"] = ["ABC"[i % 3] for i in range(n)]
        data["INCOME"] = [1000 * (i % 7) for i in range(n)]
        data["SIZE"] = ["large", "small"] * (n // 2)
        data["SEX"] = ["mf"[i // 2 % 2] for i in range(n)]
        data["AGE"] = ["abc"[i // 4 % 3] for i in range(n)]
        data["W"] = [1000.0] * n
    if name == "eurostat-research-like":
        data["REGION"] = ["NS"[i // 6 % 2] for i in range(n)]
    if name in ("netherlands-public", "eurostat-research-like"):
        data["HH"] = [f"household {i // 2}" for i in range(n)]
        data["MEMBERS"] = [2] * n
    if name == "hipaa-safe-harbor":
        del data["SEX"]
        data["ZIP"] = [["03755", "10027", "94704"][i // 6 % 3] for i in range(n)]
        data["ADMITTED"] = [f"20{18 + i % 4}-0{1 + i % 9}-15" for i in range(n)]
        data["AGE"] = [(30, 60, 95)[i // 2 % 3] for i in range(n)]
    return data


def broken(checked):
    """Return the rules that are broken, with their columns."""
    return {(rule.rule, *rule.keys) for rule in checked.broken}


def with_values(data, at, **values):
    """Return data in which some records have other values."""
    columns = {name: list(column) for name, column in data.items()}
    for name, value in values.items():
        for i in at:
            columns[name][i] = value
    return columns


def judged(rules, data):
    """Check data that were made elsewhere: they leave out what they have to."""
    left = {name: data[name] for name in data if name not in rules.tables["roles"]}
    if "HH" in left:  # new ids
        new = {old: i * 77 % 601 for i, old in enumerate(dict.fromkeys(data["HH"]))}
        left["HH"] = [new[old] for old in data["HH"]]
    return rules.check(left, original=data)


@pytest.mark.parametrize("name", presets.NAMES)
def test_a_preset_says_what_a_user_has_to_know(name):
    preset = presets.read(name)["about"]
    assert all(preset[part] for part in ("title", "source", "asks", "cannot"))
    shown = presets.shown(name)
    assert tomllib.loads(shown)["preset"] == name
    assert tomllib.loads(shown)["classes"] == {key: [] for key in preset["classes"]}
    words = " ".join(shown.replace("\n#", " ").split())
    for text in (preset["source"], *preset["asks"], *preset["cannot"]):
        assert " ".join(text.split()) in words
    assert fault_of(rules_of(name).tables) is None
    assert RULES.keys() == set(presets.NAMES)


@pytest.mark.parametrize("name", presets.NAMES)
def test_a_file_that_run_makes_passes(name):
    rules, data = rules_of(name), survey(name)
    result = rules.protect(data)
    assert result.safe, result.verdict
    assert sum(result.suppressed.values()) == 0
    checked = rules.check(result.data, original=data)
    assert checked.passed, checked.text()
    said = f"By the preset {name}: {presets.read(name)['about']['title']}. "
    said += f"What it cannot check: riskcore rules show {name}."
    assert said in checked.notes
    # What leaves out no identifier fails, and for nothing else.
    released = {**result.data, "ID": data["ID"]}
    checked = rules.check(released, original=data)
    assert not checked.passed
    assert not checked.broken
    assert [leak.kind for leak in checked.leaks] == ["identifier"]


@pytest.mark.parametrize("name", presets.NAMES)
def test_rules_that_were_expanded_stay_as_they_are(name):
    rules = rules_of(name)
    assert Release.parse(toml_of(rules.tables)).tables == rules.tables


RESEARCH = {
    ("min_population", "REGION", "SEX", "AGE"): ([0], {"AGE": 91, "W": 99.0}),
    ("min_population", "REGION", "SEX", "JOB"): ([0], {"JOB": "x", "W": 99.0}),
    ("min_population", "REGION"): (range(0, 99), {"REGION": "X"}),
}


@pytest.mark.parametrize("rule", RESEARCH)
def test_research_counts_people(rule):
    rules, data = rules_of("netherlands-research"), survey("netherlands-research")
    at, values = RESEARCH[rule]
    bad = with_values(data, at, **values)
    checked = judged(rules, bad)
    assert broken(checked) == {rule}
    assert not any(leak.accepted is None for leak in checked.leaks)
    # At the limit it is kept.
    if "W" in values:
        kept = with_values(bad, at, W=100.0)
    else:
        kept = with_values(bad, [99], REGION="X")
    assert judged(rules, kept).passed
    assert rules.protect(bad).goals_met


PUBLIC = {
    ("min_population", "AGE", "SEX"): ([0], {"AGE": "c", "SEX": "n", "W": 999.0}),
    ("min_population", "AGE"): (range(199), {"AGE": "d"}),
    ("min_population", "SIZE"): (range(199), {"SIZE": "tiny"}),
    ("k", "MEMBERS"): (range(0, 8, 2), {"MEMBERS": 1}),
}


@pytest.mark.parametrize("rule", PUBLIC)
def test_public_files_count_people_and_households(rule):
    rules, data = rules_of("netherlands-public"), survey("netherlands-public")
    at, values = PUBLIC[rule]
    if rule[1:] == ("AGE", "SEX"):  # values that many have, but not together
        data = with_values(data, range(0, 1200, 4), SEX="n", AGE="a")
    if rule[0] == "k":  # the others of their households are gone
        for i in range(0, 10, 2):
            data["HH"][i] = f"single {i}"
    bad = with_values(data, at, **values)
    checked = judged(rules, bad)
    assert broken(checked) == {rule}
    assert not any(leak.accepted is None for leak in checked.leaks)
    if rule[0] == "k":
        kept = with_values(bad, [8], MEMBERS=1)
    else:
        kept = with_values(bad, [at[-1] + 1], **values)
        kept["W"] = data["W"]
    assert judged(rules, kept).passed


@pytest.mark.parametrize(("households", "passed"), [(4, False), (5, True)])
def test_households_are_counted_as_the_preset_says(households, passed):
    data = survey("netherlands-public")
    data = with_values(data, range(2 * households), MEMBERS=3)
    assert judged(rules_of("netherlands-public"), data).passed  # 8 or 10 records
    how = {"household": "HH", "level": "household", "k": 5}
    assert check(data, ["MEMBERS"], **how).passed == passed


@pytest.mark.parametrize("column", ["BORN", "INCOME"])
def test_public_files_leave_out_what_is_withheld_and_sensitive(column):
    rules, data = rules_of("netherlands-public"), survey("netherlands-public")
    safe = rules.protect(data).data
    assert column not in safe
    checked = rules.check({**safe, column: data[column]}, original=data)
    assert not checked.passed
    assert not checked.broken
    assert [leak.of for leak in checked.leaks if leak.accepted is None] == [(column,)]


def test_public_files_have_no_weights_of_single_persons():
    rules, data = rules_of("netherlands-public"), survey("netherlands-public")
    checked = judged(rules, {**data, "W": [1000.0 + i for i in range(1200)]})
    assert not checked.passed
    assert not checked.broken
    assert {leak.of for leak in checked.leaks if leak.accepted is None} == {("W",)}


@pytest.mark.parametrize("name", ["health-k3", "health-k5", "health-k11"])
def test_health_data_count_records(name):
    k = int(name.removeprefix("health-k"))
    rules, data = rules_of(name), survey(name)
    bad = with_values(data, range(0, 2 * k - 2, 2), AGE=31)
    assert broken(judged(rules, bad)) == {("k", "SEX", "AGE")}
    assert judged(rules, with_values(data, range(0, 2 * k, 2), AGE=31)).passed


def test_research_files_of_eurostat_count_records():
    rules = rules_of("eurostat-research-like")
    data = survey("eurostat-research-like")
    safe = rules.protect(with_values(data, [0], AGE=31)).data
    assert safe["AGE"][0] is None  # two are needed to be like it
    bad = with_values(safe, [0, 12], AGE="77")
    assert {rule for rule, *_ in broken(rules.check(bad))} == {"k"}
    kept = with_values(safe, [0, 12, 24], AGE="77")
    assert not rules.check(kept).broken


VALUES = {
    ("eurostat-research-like", "AGE"): (
        ["80+", "80", "0", "79", "[30, 45)", "< 15", ">= 65", "15-19"],
        ["81", "80-84", "[65, 85)", "115", "85+", "81.5"],
    ),
    ("hipaa-safe-harbor", "AGE"): (
        ["90+", "89", "[75, 90)", ">= 85", "0", "1-4"],
        ["91", "90-94", "100", "89-91"],
    ),
    ("hipaa-safe-harbor", "ADMITTED"): (
        ["2019", "2015-2019", "[2000, 2010)", "< 1950"],
        ["2019-01", "2019-01-31", "Jan 2019", "Q1 2019", "1/2019", "19", "20190131"],
    ),
    ("hipaa-safe-harbor", "ZIP"): (
        ["000", "100", "947"],
        ["10027", "036", "893", "10", "100**", "Boston"],
    ),
}


@pytest.mark.parametrize("place", VALUES)
def test_values_are_as_coarse_as_the_preset_asks(place):
    name, column = place
    data = survey(name)
    rules = rules_of(name)
    safe = rules.protect(data).data
    good, bad = VALUES[place]
    for value in good:
        checked = rules.check(with_values(safe, range(9, 1200, 12), **{column: value}))
        assert not checked.broken, value
    for value in bad:
        released = with_values(safe, range(9, 1200, 12), **{column: value})
        checked = rules.check(released)
        assert broken(checked) == {("values", column)}, value
        assert checked.broken[0].records == 100
        assert not checked.passed


def test_a_recoding_of_the_file_may_be_coarser_and_is_checked():
    rules = rules_of("hipaa-safe-harbor", 'recodings.AGE = "from:18,45,90"')
    data = survey("hipaa-safe-harbor")
    assert not rules.check(rules.protect(data).data).broken
    rules = rules_of("hipaa-safe-harbor", 'recodings.AGE = "from:18,45,95"')
    checked = rules.check(rules.protect(data).data)
    assert broken(checked) == {("values", "AGE")}


REFUSED = {
    "a panel with regions": (
        "netherlands-research",
        ("[classes]", 'columns.person = "ID"\n[classes]'),
        "classes.region: 1 column, but the preset allows 0",
    ),
    "too many identifying columns": (
        "netherlands-public",
        ('["SEX", "AGE"]', str([f"C{i}" for i in range(16)])),
        "classes.identifying: 16 columns, but the preset allows 15",
    ),
    "records in their order": (
        "netherlands-public",
        ("[classes]", "output.shuffle = false\n[classes]"),
        "output.shuffle: the preset asks for True",
    ),
    "an identifier that is harmless": (
        "health-k3",
        ("[classes]", 'roles.ID = "harmless"\n[classes]'),
        "roles.ID: the preset asks for 'identifier'",
    ),
    "a smaller k": (
        "health-k5",
        ("[classes]", "safe.k = 3\n[classes]"),
        "safe.k: 3 is less than 5, which the preset asks",
    ),
    "fewer people": (
        "netherlands-research",
        ("[classes]", "safe.min_population = 100\n[classes]"),
        "safe.min_population: 100 is less than 10000",
    ),
    "numbers without sets": (
        "netherlands-research",
        ("[classes]", "safe.min_population = [200, 200]\n[classes]"),
        "safe.min_population: 2 numbers for 0 sets of keys",
    ),
    "another pattern": (
        "hipaa-safe-harbor",
        ("[classes]", "check.values.AGE = '.*'\n[classes]"),
        "check.values.AGE: the preset asks for",
    ),
    "a class that is missing": (
        "health-k3",
        ('identifier = ["ID"]', ""),
        "classes.identifier: missing: direct identifiers such as",
    ),
    "a class of another preset": (
        "health-k3",
        ("[classes]", "[classes]\nregion = []"),
        "classes.region: no class of the preset; it has identifier, identifying",
    ),
    "no preset of this name": (
        "health-k3",
        ("health-k3", "health-k4"),
        "preset: need one of 'eurostat-research-like'",
    ),
    "a column that is not there": (
        "health-k3",
        ('["SEX", "AGE"]', '["SEX", "AGEE"]'),
        "classes.identifying: no column 'AGEE'; did you mean 'AGE'",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_contradicts_a_preset_is_refused_at_its_line(case):
    name, change, message = REFUSED[case]
    text = RULES[name].replace(*change)
    head = HEAD.format(name).replace(*change)
    text = head.replace("[accept]", f"{text}[accept]")
    with pytest.raises(RulesError) as refused:
        Release.parse(text, "my.toml").protect(survey(name))
    assert message in str(refused.value)
    line = int(str(refused.value).split(":")[1])
    said = text.split("\n")[line - 1]
    assert any(word in said for word in [*message.split(":")[0].split("."), "["])


def test_stricter_goals_and_further_sets_are_added():
    more = """
    columns.keys = [["SEX", "AGE"], ["REGION", "AGE", "JOB"]]
    safe = { k = [3, 1], min_population = [1, 500], threshold = 0.1 }
    """
    rules = rules_of("netherlands-research", more)
    sets = rules.tables["columns"]["keys"]
    assert sets[:2] == [["SEX", "AGE"], ["REGION", "AGE", "JOB"]]
    assert sets[2:] == [["REGION", "SEX", "AGE"], ["REGION", "SEX", "JOB"], ["REGION"]]
    assert rules.tables["safe"] == {
        "threshold": 0.1,
        "k": [3, 1, 1, 1, 1],
        "min_population": [1, 500, 100, 100, 10_000],
    }
    with pytest.raises(RulesError, match=r"min_population: 0\.5 is less than 1"):
        rules_of("health-k3", "safe.min_population = 0.5")
    stricter = rules_of("netherlands-research", "safe.min_population = 20_000")
    assert stricter.tables["safe"]["min_population"] == [20_000] * 3
    same = rules_of("health-k3", 'columns.keys = ["AGE", "SEX"]\nsafe.k = 7')
    assert same.tables["columns"]["keys"] == [["SEX", "AGE"]]
    assert same.tables["safe"]["k"] == [7]
    assert same.protect(survey("health-k3")).goals_met


def test_empty_lists_of_the_file_stay_and_empty_classes_ask_nothing():
    text = RULES["netherlands-public"].replace('["MEMBERS"]', "[]")
    text = f'format = 1\npreset = "netherlands-public"\noutput.renumber = []\n{text}'
    rules = Release.parse(text)
    assert rules.tables["output"] == {"renumber": [], "shuffle": True}
    assert "suppress" not in rules.tables


def test_without_a_region_pairs_are_counted():
    text = RULES["netherlands-research"].replace('["REGION"]', "[]")
    rules = Release.parse(f'format = 1\npreset = "netherlands-research"\n{text}')
    assert rules.tables["columns"]["keys"] == [["SEX", "AGE"], ["SEX", "JOB"]]
    assert rules.tables["safe"]["min_population"] == [100, 100]


def test_all_pairs_of_15_columns_are_counted():
    names = [f"C{i}" for i in range(15)]
    text = RULES["netherlands-public"].replace('["SEX", "AGE"]', str(names))
    rules = Release.parse(f'format = 1\npreset = "netherlands-public"\n{text}')
    sizes = Counter(map(len, rules.tables["columns"]["keys"]))
    assert sizes == {2: 15 * 14 // 2 + 15, 1: 15 + 2}
    text = text.replace('["MEMBERS"]', "[]").replace('["SIZE"]', "[]")
    rules = Release.parse(f'format = 1\npreset = "netherlands-public"\n{text}')
    assert "k" not in rules.tables["safe"]
    assert len(rules.tables["safe"]["min_population"]) == 120


def test_a_candidate_may_not_take_away_what_a_preset_asks():
    more = '[try.{}]\nsafe.k = {}\nrecodings.AGE = "from:30"'
    rules = rules_of("health-k5", more.format("more", 7))
    assert rules.candidates()["more"].tables["safe"]["k"] == [7]
    rules = rules_of("health-k5", more.format("none", "false"))
    assert rules.candidates()["none"].tables["safe"]["k"] == [5]
    rules = rules_of("health-k5", more.format("less", 3))
    with pytest.raises(RulesError, match=r"less\.safe\.k: 3 is less than 5"):
        rules.candidates()


def test_best_keeps_the_preset():
    rules = rules_of("health-k5")
    data = {"ID": [*"abcdefgh"], "SEX": [*"mmmmffff"], "AGE": [30] * 8}
    found = rules.best(data)
    again = rules.with_best(found)
    assert again.tables["preset"] == "health-k5"
    assert again.tables["safe"]["k"] == [5]
    assert again.protect(data).goals_met


@pytest.mark.parametrize(
    ("rules", "message"),
    [
        ("safe.subsets = 1", "safe.subsets: the preset states its sets of keys"),
        ('accept."*" = "needed"', r"accept.\*: beside a preset, accept leaks by their"),
    ],
)
def test_what_would_weaken_a_preset_is_refused(rules, message):
    text = f"""
        format = 1
        preset = "health-k3"
        classes.identifier = ["ID"]
        classes.identifying = ["SEX", "AGE"]
        {rules}
    """
    with pytest.raises(ValueError, match=message):
        Release.parse(text)


def test_classes_without_a_preset_are_refused():
    text = "format = 1\nclasses.region = ['R']\ncolumns.keys = ['S']\nsafe.k = 2"
    with pytest.raises(ValueError, match="classes: they are those of a preset"):
        Release.parse(text).arguments()


@pytest.mark.parametrize(
    ("preset", "name", "good", "bad"),
    [
        (
            "hipaa-safe-harbor", "age",
            ["12", "45.95", "90+", "[30, 45)", "80-89", "< 15", "85 and over", "all"],
            ["91", "100", "9.5e1", "5e2", "0x5B", "90.5", "30-95", "[85, 95)"],
        ),
        (
            "eurostat-research-like", "age",
            ["12", "79.5", "80+", "[30, 45)", ">= 80", "all"],
            ["81", "1e2", "80.5", "70-89"],
        ),
        (
            "hipaa-safe-harbor", "date", ["1984", "[1980, 1990)"],
            ["1984-1203", "1984 (1103)", "1231-2010", "1984-12-03", "2010-5"],
        ),
    ],
    ids=["age", "age of Eurostat", "date"],
)  # fmt: skip
def test_the_patterns_of_values(preset, name, good, bad):
    pattern = presets.read(preset)["check"]["values"][name]
    assert all(re.fullmatch(pattern, value) for value in good)
    assert not any(re.fullmatch(pattern, value) for value in bad)
