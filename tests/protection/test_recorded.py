"""A safe file is checked against the private record of its protection."""

import json
import math
from pathlib import Path

import numpy as np
import pytest

import riskcore
from riskcore import assess, check, protect
from riskcore.data.files import formats
from tests import needs
from tests.accepted import ANY_LEAK

pytestmark = pytest.mark.filterwarnings(
    "ignore::riskcore.protection.records.showing.SuppressedValueShows",
    "ignore::riskcore.protection.protect.HouseholdKeyDiffers",
)
KEYS = ["a", "b"]
RECORD = "safe.csv.private.json"


def survey(n=300):
    random = np.random.default_rng(5)
    data = {
        name: [str(v) for v in np.minimum(random.geometric(0.4, n), 6)] for name in KEYS
    }
    data["b"][3] = None
    data["w"] = np.round(random.uniform(2, 60, n), 2)
    data["hh"] = [str(i // 3) for i in range(n)]
    data["size"] = [str(i // 3 % 4) for i in range(n)]
    data["hhw"] = np.repeat(np.round(random.uniform(2, 60, n // 3), 2), 3)
    return data


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    formats.write("survey.csv", survey())


def written(keys=KEYS, weight="w", household=None, path="safe.csv", **how):
    how = {**ANY_LEAK, **how}
    result = protect("survey.csv", keys, weight, household, **how)
    result.write(path)
    return result


def rules(found):
    return {(one.rule, one.keys): (one.asked, one.passed) for one in found.rules}


def edit(change, path=RECORD):
    record = json.loads(Path(path).read_text())
    change(record)
    Path(path).write_text(json.dumps(record))


def test_a_safe_file_keeps_the_goals_of_its_record():
    sets = [["a"], KEYS]
    written(sets, household="hh", k=3, threshold=0.05, household_rate=0.01)
    found = check("safe.csv", record=RECORD)
    assert found.passed
    assert found.same_file is True
    assert rules(found) == {
        (name, keys): (limit, True)
        for keys in (("a",), ("a", "b"))
        for name, limit in (("k", 3), ("threshold", 0.05), ("max_household_rate", 0.01))
    }
    assert "The file is the one that the record names." in found.verdict
    assert found.to_dict()["same_file"] is True
    # The original file breaks what it was protected from, and is another file.
    found = check("survey.csv", record=RECORD, original="survey.csv")
    assert found.same_file is False
    assert found.state == "not safe"
    assert {name for (name, _), (_, passed) in rules(found).items() if not passed} == {
        "k",
        "threshold",
        "max_household_rate",
    }


def test_a_file_with_the_same_rules_kept_is_still_another_file():
    written(k=2)
    safe = Path("safe.csv").read_text()
    Path("safe.csv").write_text(safe.rstrip("\n"))
    with pytest.warns(match="no line end"):
        found = check("safe.csv", record=RECORD)
    assert not found.broken
    assert not found.passed
    assert found.verdict.startswith("FAILED: 1 of 1 rule kept")
    assert "is NOT the one that the record names" in found.verdict
    # Data in memory have no digest.
    found = check(formats.read("survey.csv", numeric=["w"]), record=RECORD)
    assert found.same_file is None


def test_no_risk_may_reach_the_threshold():
    """A risk equal to the threshold is unsafe in protect, but kept by max_risk."""
    data = survey()
    at = assess(data, KEYS, "w", missing="wildcard").max_risk
    result = protect(data, KEYS, "w", threshold=at, **ANY_LEAK)
    assert sum(result.suppressed.values())
    result.write("safe.csv")
    formats.write("original.csv", data)
    (rule,) = check("original.csv", record=RECORD, original="original.csv").rules
    assert (rule.found, rule.asked, rule.passed) == (at, at, False)
    assert (rule.records, rule.cells) == (1, 1)
    assert check("safe.csv", record=RECORD).passed
    above = {"max_risk": at, "missing": "wildcard", "population": "weights"}
    assert check(data, KEYS, "w", original=data, **above).passed


@pytest.mark.parametrize("missing", ["wildcard", "argus"])
def test_a_blank_of_a_safe_file_matches_any_value(missing):
    """A file that breaks k so counted breaks it among the original's records, too."""
    written(k=3, missing=missing)
    found = check("safe.csv", record=RECORD)
    assert found.passed
    by_hand = check("safe.csv", KEYS, k=3, missing="argus")
    assert found.rules == by_hand.rules


def test_strata_are_the_record_s():
    written(["a"], k=3, strata=["b"])
    found = check("safe.csv", record=RECORD)
    assert found.rules[0].keys == ("a", "b")
    assert found.passed


def test_the_records_of_a_panel_are_counted():
    rng = np.random.default_rng(1)
    panel = {"id": np.repeat(np.arange(80), 2), "year": np.tile([2019, 2021], 80)}
    panel |= {"a": rng.integers(0, 3, 160), "b": rng.integers(0, 2, 160)}
    formats.write("panel.csv", panel)
    how = {"person": "id", "wave": "year", "k": 2, **ANY_LEAK}
    protect("panel.csv", KEYS, **how).write("safe.csv")
    found = check("safe.csv", record=RECORD)
    assert found.passed
    assert found.records == 160
    assert "(160 records checked)" in found.verdict


def test_households_that_nobody_can_tell_are_not_counted_as_none():
    result = written(["size"], "hhw", "hh", level="household", k=2)
    result.write("safe.csv", drop=["hh"], overwrite=True)
    verdict = check("safe.csv", record=RECORD).verdict
    assert verdict.startswith("Passed: 1 of 1 rule kept. The file is the one ")


def test_households_that_count_as_records():
    written(["size"], "hhw", "hh", level="household", threshold=0.0008)
    found = check("safe.csv", record=RECORD)
    assert found.passed
    assert (found.records, found.level) == (100, "household")
    assert "(100 households checked)" in found.verdict
    (rule,) = found.rules
    safe = formats.read("safe.csv", numeric=["hhw"])
    households = assess(
        safe, ["size"], "hhw", "hh", level="household", missing="wildcard"
    )
    assert rule.found == households.max_risk


def test_rules_may_be_added_but_not_contradicted():
    written(rate=0.02)
    found = check("safe.csv", record=RECORD, k=2, max_risk=1)
    assert [one.rule for one in found.rules] == ["k", "max_risk", "max_rate"]
    for given in (
        {"keys": ["a"]},
        {"weight": "hhw"},
        {"household": "hh"},
        {"missing": "argus"},
        {"missing": "wildcard"},
        {"strata": ["size"]},
        {"max_rate": 0.5},
        {"level": "household"},
    ):
        with pytest.raises(ValueError, match=f"states {next(iter(given))}: leave out"):
            check("safe.csv", record=RECORD, **given)


CASES = {
    "k": {"k": 3},
    "sampling fraction": {"weight": None, "sampling_fraction": 0.02, "threshold": 0.01},
    "auto": {"keys": ["a", "b", "c"], "threshold": 0.2, "population": "auto"},
    "a model": {"threshold": 0.1, "population": "latent-class"},
    "strata": {"keys": ["a"], "strata": ["s"], "k": 3, "threshold": 0.05},
    "subsets": {"keys": ["a", "b", "c"], "k": 3, "subsets": 2},
    "sets": {"keys": [["a"], KEYS], "k": {("a",): 5, ("a", "b"): 2}, "threshold": 0.2},
    "households": {"household": "hh", "household_threshold": 0.1, "threshold": 0.05},
    "household rate": {"household": "hh", "household_rate": 0.05},
    "a rate": {"rate": 0.02},
    "households as records": {
        "keys": ["size"],
        "weight": "hhw",
        "household": "hh",
        "level": "household",
        "threshold": 0.0008,
    },
    "l, t and people": {
        "l": 2,
        "t": 0.6,
        "min_population": 60,
        "roles": {"s": "sensitive", **ANY_LEAK["roles"]},
    },
    "people of sets": {
        "keys": [["a"], KEYS],
        "min_population": {("a",): 90, ("a", "b"): 40.5},
    },
    "people of a set": {
        "keys": [["a"], KEYS],
        "k": [5, 2],
        "min_population": [90, None],
    },
    "treated": {"k": 3, "threshold": 0.05, "treat": {"x": "top:5%=mean"}},
    "treated key": {"k": 3, "treat": {"a": "pram:0.9"}},
    "recoded": {"keys": ["a", "c"], "k": 5, "recodings": {"c": "map:1=x,2=x"}},
}


@pytest.mark.parametrize("kind", ["csv", "parquet", "sav"])
@pytest.mark.parametrize("case", CASES)
def test_a_file_that_protect_writes_passes_check_with_its_record(case, kind):
    data = survey()
    random = np.random.default_rng(6)
    data["c"] = [str(v) for v in np.minimum(random.geometric(0.3, 300), 6)]
    data["s"] = [str(v) for v in random.integers(0, 2, 300)]
    data["x"] = np.round(random.lognormal(8, 1, 300))
    if kind == "sav":
        data["b"] = [int(one or 1) for one in data["b"]]
    formats.write(f"given.{kind}", data)
    how = {"keys": KEYS, "weight": "w", "household": None, **ANY_LEAK}
    how |= CASES[case]
    roles = [how.pop(name) for name in ("keys", "weight", "household")]
    result = protect(f"given.{kind}", *roles, **how)
    name = f"safe.{kind}"
    # Without the ids and the weights only the record tells the risks.
    gone = [one for one in ("hh", "w", "hhw") if one in roles]
    result.write(name, drop=gone)
    record = f"{name}.private.json"
    found = check(name, record=record)
    assert found.passed, found.text()
    beside = check(name, record=record, original=f"given.{kind}")
    assert not beside.broken, beside.text()
    assert beside.passed
    sets = json.loads(Path(record).read_text())["sets"]
    for one in beside.rules:
        (held,) = [x["risk"]["protected"] for x in sets if tuple(x["keys"]) == one.keys]
        figure = {"k": "k_anonymity", "threshold": "max_risk"}.get(one.rule)
        if figure is not None:
            assert one.found == pytest.approx(held[figure], rel=1e-12)
    # The figures are those of exactly this file.
    edit(lambda one: one["output"].update(sha256="00"), record)
    other = check(name, record=record)
    assert not other.passed
    assert not any(one.recorded for one in other.rules)


def test_a_key_treated_by_a_secret_needs_the_record():
    how = {"k": 3, "treat": {"a": "pram:0.9"}, **ANY_LEAK}
    rules = riskcore.Release.of("survey.csv", KEYS, "w", output="safe.csv", **how)
    rules.protect().write("safe.csv")
    found = rules.check(original="survey.csv")
    assert [one.rule for one in found.not_judged] == ["k"]
    assert "give the record" in found.text()
    assert check("safe.csv", record=RECORD, original="survey.csv").passed


def test_a_given_population_is_named_by_the_record():
    people = {"a": [str(v) for v in range(1, 7)], "population_frequency": [900.0] * 6}
    result = protect(
        "survey.csv", ["a"], threshold=0.5, k=3, population=people, **ANY_LEAK
    )
    result.write("safe.csv")
    assert check("safe.csv", record=RECORD).passed
    edit(lambda one: one["output"].update(sha256="00"))
    found = check("safe.csv", record=RECORD)
    assert [one.rule for one in found.not_judged] == ["threshold"]
    assert "a record cannot hold the population" in found.text()


@pytest.mark.parametrize("name", ["safe.parquet", "safe.tsv", "safe.csv.gz"])
def test_the_file_is_read_as_it_was_written(name):
    """Encoding, delimiter and decimal mark are in the record; missing is empty."""
    text = ["\xe4;b;w\n"]
    text += [f"{1 + i % 3};{9 if i % 7 else 2};{10 + i},5\n" for i in range(40)]
    Path("given.csv").write_text("".join(text), encoding="cp1252")
    reading = riskcore.Reading(
        encoding="cp1252", delimiter=";", decimal=",", missing_codes={"b": ["9"]}
    )
    keys = ["\xe4", "b"]
    recode = {"b": riskcore.Recoding.mapping({"2": "9"})}
    result = protect(
        "given.csv",
        keys,
        "w",
        reading=reading,
        threshold=0.01,
        recodings=recode,
        **ANY_LEAK,
    )
    result.write(name)
    with_w = {} if name == "safe.parquet" else {"max_rate": 0.01}
    if name == "safe.parquet":
        edit(
            lambda record: record["settings"].update(weight=None),
            f"{name}.private.json",
        )
        edit(
            lambda record: record["settings"].update(k=[2], threshold=None),
            f"{name}.private.json",
        )
    found = check(name, record=f"{name}.private.json", **with_w)
    assert found.same_file
    assert found.passed
    # The new code 9 is a value, although the old one was missing.
    how = {} if name == "safe.parquet" else {"encoding": "cp1252"}
    cells = riskcore.tabulate(
        name, ["b"], missing="wildcard", reading=riskcore.Reading(**how)
    )
    assert cells.categories[0].tolist() == ["9", None]


BROKEN = {
    "no goals": (lambda s: s.update(k=[None], threshold=None), "nothing to protect"),
    "k of one": (lambda s: s.update(k=[1]), "k=1: need"),
    "more k": (lambda s: s.update(k=[2, 2]), "one for each of 1 sets"),
    "text": (lambda s: s.update(keys="ab"), "settings.keys: need a list of lists"),
    "no keys": (lambda s: s.update(keys=[[]], k=[2]), "keys is empty"),
    "a word": (lambda s: s.update(missing="guess"), "missing='guess'"),
    "a risk": (lambda s: s.update(threshold=7), "threshold=7"),
    "lacks": (
        lambda s: s.pop("missing"),
        "not the settings of a protection by this version: missing",
    ),
    "a column": (lambda s: s.update(keys=[["nil"]]), "no column 'nil'"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_records_that_do_not_fit_are_refused(name):
    written(threshold=0.05)
    change, message = BROKEN[name]
    edit(lambda record: change(record["settings"]))
    with pytest.raises((ValueError, KeyError), match=message):
        check("safe.csv", record=RECORD)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[1]", "not a JSON object"),
        ("{}", "format: missing"),
        ('{"format": 99}', "format: 99, but"),
        ('{"public": ""}', "the public record"),
        ("[" * 100_000, "not a record of a protection"),
        ("nan", "not JSON"),
    ],
)
def test_files_that_are_no_records_are_refused(text, message):
    Path("odd.json").write_text(text)
    with pytest.raises(ValueError, match=message):
        check("survey.csv", record="odd.json")
    with pytest.raises(FileNotFoundError):
        check("survey.csv", record="none.json")
    with pytest.raises(TypeError, match="record=3: need the path"):
        check("survey.csv", record=3)


# --- rules on households, without a record


def test_household_rules_at_their_bounds():
    data = survey()
    data["b"][3] = "1"
    found = assess(data, KEYS, "w", "hh", missing="wildcard")
    most = float(found.household_risk.max())
    rate = found.household_reidentification_rate
    how = {"missing": "wildcard"}
    kept = check(
        data, KEYS, "w", "hh", max_household_risk=most, max_household_rate=rate, **how
    )
    assert kept.passed
    assert [one.found for one in kept.rules] == [most, rate]
    below = check(
        data,
        KEYS,
        "w",
        "hh",
        max_household_risk=math.nextafter(most, 0),
        max_household_rate=math.nextafter(rate, 0),
        **how,
    )
    assert [one.passed for one in below.rules] == [False, False]
    assert (below.rules[0].records, below.rules[0].cells) == (3, None)
    assert (below.rules[1].records, below.rules[1].cells) == (None, None)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"max_household_risk": 0.5}, "needs the household column"),
        ({"level": "household", "k": 2}, "level='household' needs the household"),
        ({"household": "hh", "k": 2}, "household='hh': no rule is on households"),
        (
            {"household": "hh", "level": "household", "max_household_rate": 0.1},
            "each household counts as a record",
        ),
        ({"keys": None, "k": 2}, "give keys, or the record"),
    ],
)
def test_rules_on_households_that_are_refused(change, message):
    with pytest.raises(ValueError, match=message):
        check(survey(), **{"keys": ["size"], **change})


@needs.engine("duckdb")
def test_households_are_not_counted_on_an_engine():
    import polars as pl

    frame = pl.DataFrame(survey()).lazy()
    with pytest.raises(TypeError, match="household"):
        check(frame, ["a"], "w", "hh", max_household_risk=0.5)


# --- the command


def test_the_command(run, refused, figures):
    written(k=3, threshold=0.05)
    status, out, err = run(f"check safe.csv --record {RECORD}")
    assert (status, err) == (0, "")
    assert "risk below the threshold" in out
    assert "Passed: 2 of 2 rules kept (300 records checked). The file is the" in out
    told = figures(f"check survey.csv --record {RECORD}", status=1)
    assert (told["same_file"], told["passed"]) == (False, False)
    more = figures(f"check safe.csv --record {RECORD} --max-rate 0", status=1)
    assert len(more["rules"]) == 3
    for options, message in {
        "--keys a": "states keys: leave out",
        "--k 3": "states k: leave out",
        "--missing wildcard": "states missing: leave out",
        "--weight w": "states weight",
    }.items():
        assert message in refused(f"check safe.csv --record {RECORD} {options}")
    assert "give --keys, --record with the record" in refused("check safe.csv --k 3")
    line = "check survey.csv --keys a --weight w --household hh --max-household-risk 0"
    assert run(line)[0] == 1
