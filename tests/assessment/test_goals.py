"""k-anonymity as a goal: by counting all pairs of records; and with thresholds."""

import json
from itertools import combinations

import numpy as np
import polars as pl
import pytest

from riskcore import Recoding, assess, protect
from riskcore.assessment.goals import MOST_SETS, KeyGoals
from riskcore.data.files import formats
from riskcore.protection.result import UnsafeError
from riskcore.report.listed_settings import k_facts
from riskcore.report.page import protection_page
from riskcore.report.public_page import public_protection_page
from tests.fits import fits_of, risks_of
from tests.made_again import made_again

KEYS = ["a", "b", "c"]

pytestmark = pytest.mark.filterwarnings(
    "ignore::riskcore.protection.result.SuppressedValueShows"
)


def survey(n=240, missing=0.0):
    """Make a small file of text keys, in no order."""
    random = np.random.default_rng(1)
    sizes = {"a": 5, "b": 4, "c": 6, "d": 3}
    data = {
        name: [str(v) for v in np.minimum(random.geometric(0.4, n), size)]
        for name, size in sizes.items()
    }
    for column in data.values():
        for i in np.flatnonzero(random.random(n) < missing):
            column[i] = None
    data["w"] = np.round(random.uniform(2, 60, n), 2)
    return {**data, "hh": random.integers(0, n // 3, n)}


def protected(**options):
    """Protect the survey by k = 3, unless the options say otherwise."""
    return protect(survey(), **{"keys": KEYS, "k": 3} | options)


def values(result):
    """Return the number of suppressed values."""
    return sum(result.suppressed.values())


def who_fits(result, keys=KEYS, **data):
    """Return the original records that have the kept keys of each released record."""
    return fits_of(survey() | data, keys, result.masks)[0]


@pytest.mark.parametrize("missing", [0.0, 0.06])
@pytest.mark.parametrize("k", [2, 3, 7])
def test_every_record_shares_its_keys_with_enough_others(k, missing):
    data = survey(missing=missing)
    assert fits_of(data, KEYS)[0].min() < k
    result = protect(data, KEYS, k=k)
    assert result.goals_met
    f = fits_of(data, KEYS, result.masks)[0]
    assert result.protected.k_anonymity == f.min() >= k
    assert values(result) > 0
    rule = f"no record has a frequency f below {k} (a blank stands for any value)"
    assert rule in result.verdict


def test_records_that_had_enough_others_keep_all():
    touched = np.logical_or.reduce(list(protected().masks.values()))
    assert np.array_equal(touched, fits_of(survey(), KEYS)[0] < 3)


@pytest.mark.parametrize("suppression", ["exact", "argus"])
@pytest.mark.parametrize("missing", ["wildcard", "argus", "category"])
def test_without_weights_k_is_a_threshold_between_two_risks(missing, suppression):
    """The risk is 1/f there: f < 3 is a risk of 1/2 or more."""
    # Where missing matches any value f has chances, which do not count for k.
    data = survey(missing=0.03 if missing == "category" else 0.0)
    how = {"missing": missing, "suppression": suppression, "cost": "entropy"}
    by_k = protect(data, KEYS, k=3, **how)
    by_risk = protect(data, KEYS, threshold=0.4, **how)
    for key in KEYS:
        assert by_k.data[key] == by_risk.data[key]
    assert values(by_k) > 0


def test_k_and_a_threshold_hold_both():
    data = survey()
    before = assess(data, KEYS, "w")
    f = before.cells.sample_frequency[before.cells.inverse]
    risk = before.individual_risk
    unsafe = (f < 3) | (risk >= 0.025)
    assert (unsafe & (f >= 3)).any()
    assert (unsafe & (risk < 0.025)).any()
    asked = {"k": 3, "population": "weights"}
    result = protect(data, KEYS, "w", threshold=0.025, **asked)
    touched = np.logical_or.reduce(list(result.masks.values()))
    assert np.array_equal(touched, unsafe)
    whole, _, after = risks_of(data, KEYS, result.masks, data["w"])
    assert whole.min() >= 3
    assert after.max() < 0.025
    assert result.protected.individual_risk == pytest.approx(after, rel=1e-13)
    goals = "frequency f below 3 and no record has a risk of 0.025 or more"
    assert f"no record has a {goals}" in result.verdict
    figures = result.sets[0].comparison()["original"]
    assert figures["unsafe_records"] == np.count_nonzero(unsafe)
    assert figures["below_k"]["records"] == np.count_nonzero(f < 3)
    assert figures["at_risk_threshold"] == np.count_nonzero(risk >= 0.025)
    # With the rate the threshold is found from the file as ever.
    rate = protect(data, KEYS, "w", rate=0.01, **asked)
    assert rate.sets[0].aim.threshold == before.risk_threshold(rate=0.01)


def test_households_and_k():
    data = survey()
    data["a"] = [str(i // 4) for i in data["hh"]]  # a is equal in households
    result = protect(
        data, KEYS, "w", "hh", k=3, household_threshold=0.5, household_keys=["a"]
    )
    assert result.goals_met
    assert who_fits(result, a=data["a"]).min() >= 3
    blanked = result.masks["a"]
    assert blanked.any()
    for one in np.unique(data["hh"]):
        assert len(set(blanked[data["hh"] == one])) == 1


def test_each_set_of_keys_has_its_k():
    sets = [["a", "b"], ["b", "c", "d"]]
    result = protected(keys=sets, k={("b", "a"): 9, ("b", "c", "d"): 2})
    assert [one.aim.k for one in result.sets] == [9, 2]
    assert who_fits(result, sets[0]).min() >= 9
    assert who_fits(result, sets[1]).min() >= 2
    # A set without a k has a threshold.
    result = protected(keys=sets, weight="w", k={("b", "a"): 9}, threshold=0.2)
    assert [one.aim.k for one in result.sets] == [9, None]
    with pytest.raises(ValueError, match="the set of keys b x c x d has no goal"):
        protected(keys=sets, k={("b", "a"): 9})


@pytest.mark.parametrize("m", [1, 2, 3])
def test_all_subsets_of_m_keys(m):
    keys = [*KEYS, "d"]
    result = protected(keys=keys, k=5, subsets=m)
    assert [one.keys for one in result.sets] == list(combinations(keys, m))
    for some in combinations(keys, m):
        assert who_fits(result, some).min() >= 5
    assert result.goals_met


def test_within_strata():
    data = survey()
    result = protected(strata=["d"])
    assert result.data["d"] == data["d"]
    assert result.suppressed["d"] == 0
    assert who_fits(result, [*KEYS, "d"]).min() >= 3
    assert values(result) > values(protected())
    for cost in ("entropy", "equal", {"a": 3.0}):
        result = protected(strata=["d"], cost=cost)
        assert result.goals_met
        assert result.data["d"] == data["d"]
    # A key that would take the stratum along stays, too.
    result = protected(strata=["d"], related={"a": ["d"]})
    assert result.data["a"] == data["a"]


def test_records_that_keep_their_stratum_alone_have_lost_all_keys():
    data = {"a": list("xxxxyz"), "s": list("111111")}
    result = protect(data, ["a"], k=3, strata=["s"])
    assert result.goals_met
    assert result.sets[0].without_keys == 2
    assert "2 records have lost all keys" in result.verdict


def test_recoding_comes_first():
    rule = {"2": "1", "4": "3", "5": "3", "6": "3"}
    result = protected(recodings={"c": Recoding.mapping(rule)})
    recoded = [rule.get(code, code) for code in survey()["c"]]
    assert who_fits(result, c=recoded).min() >= 3
    assert values(result) < values(protected())


def test_the_rules_of_missing_keys_are_not_those_of_blanks():
    data = survey(missing=0.05)
    usual = protect(data, KEYS, k=3)
    result = protect(data, KEYS, k=3, missing="argus")
    assert all(result.data[key] == usual.data[key] for key in KEYS)


def test_what_no_blank_can_mend():
    data = survey(n=40)
    result = protect(data, KEYS, k=41)
    assert not result.goals_met
    assert "40 of 40 records still have a frequency f below 41" in result.verdict
    result = protect(data, KEYS, "w", k=41, threshold=0.5, cost={"a": np.inf})
    both = "a risk at or above their threshold or have a frequency f below 41"
    assert f"still have {both}" in result.verdict
    with pytest.raises(UnsafeError, match="f below 41"):
        result.write("nowhere.csv")


def test_what_is_never_blanked_stays_below_k():
    verdict = protected(cost=dict.fromkeys(KEYS, np.inf)).verdict
    assert "have a frequency f below 3" in verdict
    assert "because no key is left to blank" in verdict


def test_a_population_model_and_k():
    result = protected(weight="w", k=4, threshold=0.2, population="latent-class")
    assert result.goals_met
    assert who_fits(result).min() >= 4


def test_on_an_engine():
    data = survey(missing=0.04)
    frame = pl.DataFrame(data)
    here = protect(data, KEYS, k=4, strata=["d"])
    with pytest.warns(UserWarning, match="not checked"):
        there = protect(frame.lazy(), KEYS, k=4, strata=["d"])
    assert there.goals_met
    assert there.suppressed == here.suppressed
    assert there.data.collect()["a"].to_list() == here.data["a"]


ACCEPT = "--role '*=harmless:a test' --accept '*=a test'"
PROTECT = f"protect survey.csv --keys a b c {ACCEPT}"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Work in a folder that holds one survey."""
    monkeypatch.chdir(tmp_path)
    formats.write("survey.csv", survey())
    return tmp_path


def test_files_records_and_reports_know_k(folder, run):
    status, out, _ = run(
        f"{PROTECT} --k 3 --strata d --output safe.csv --shuffle --record-public "
        "public.json --report r.html --report-public about.html"
    )
    assert status == 0
    assert "  k       3\n  strata  d\n" in out
    assert "      f below k " in out
    data = formats.read("safe.csv").to_pydict()
    own, keys = survey(), [*KEYS, "d"]
    rows = [*zip(*(own[key] for key in keys), strict=True)]
    for kept in zip(*(data[key] for key in keys), strict=True):
        fit = [
            all(x in ("", None, y) for x, y in zip(kept, row, strict=True))
            for row in rows
        ]
        assert sum(fit) >= 3
    record = json.loads((folder / "safe.csv.private.json").read_text())
    assert record["settings"]["k"] == [3]
    assert record["settings"]["strata"] == ["d"]
    assert record["sets"][0]["risk"]["protected"]["k_anonymity"] >= 3
    public = json.loads((folder / "public.json").read_text())
    assert (public["k"], public["strata"]) == ([3], ["d"])
    assert "no record has a frequency f below 3" in public["verdict"]
    office = (folder / "r.html").read_text()
    assert "the <i>k</i> asked for" in office
    assert "strata, never blanked" in office
    about = (folder / "about.html").read_text()
    assert "no record has a frequency f below 3 (a blank" in about
    assert "k-anonymity" in about
    again = made_again("survey.csv", "safe.csv.private.json", "again.csv")
    assert again == (folder / "safe.csv").read_bytes()


@pytest.mark.usefixtures("folder")
def test_a_k_for_each_keys_on_the_command_line(figures, refused):
    line = f"protect survey.csv --keys a b --keys b c {ACCEPT} --k"
    assert [one["k"] for one in figures(f"{line} 5 2")["sets"]] == [5, 2]
    assert "--k: 3 numbers for 2 sets of keys" in refused(f"{line} 5 2 4")
    rule = "--k 1: need a whole number from 2 (every file has k = 1) to 2^40"
    assert rule in refused(f"{line} 1")


def test_a_threshold_nobody_asked_for_makes_no_record_unsafe():
    asked, by_k = (
        protection_page(protected(weight="w", **how), title="T")
        for how in ({"k": None, "threshold": 0.03}, {})
    )
    assert "With the keys a x b x c, no " in by_k
    assert "No risk threshold was asked for." in by_k
    assert "No risk threshold was asked for" not in asked
    for page in (by_k, asked):
        assert "where the slider stands" in page
        assert "records are unsafe" not in page


def test_the_pages_of_several_k():
    result = protected(keys=[["a"], ["b", "c"]], k={("a",): 4, ("b", "c"): 6})
    public = public_protection_page(result)
    for k in (4, 6):
        assert f"no record has a frequency f below {k} (a blank" in public
    assert "k-anonymity by b, c" in public
    assert "<i>k</i> asked for" in protection_page(result, title="T", keys=1)
    without = protected(k=None, threshold=0.9)
    assert "<i>k</i> asked for" not in protection_page(without, title="T")


def test_the_pages_of_several_numbers_of_people():
    title = "least people with the keys of a record"
    how = {"k": None, "weight": "w"}
    goals = {("a",): 40, ("b", "c"): 1_000_000}
    few = protected(keys=[["a"], ["b", "c"]], min_population=goals, **how)
    same = protected(keys=[["a"], ["b", "c"]], min_population=40, **how)
    assert listed(few) == [(f"{title} by a", "40"), (f"{title} by b, c", "1000000")]
    assert listed(same) == [(title, "40")]
    both = protected(keys=[["a"], ["b", "c"]], k=3, min_population=[40, None])
    assert listed(both) == [("k-anonymity", "3"), (f"{title} by a", "40")]
    # Of many sets the numbers are listed, with how many sets have each.
    names = ["a", "b", "c", "d", "w", "hh"]
    sets = [[x, y] for x, y in combinations(names, 2)]
    many = protected(keys=sets, k=[3] * 14 + [2])
    assert listed(many) == [
        ("k-anonymity", "3 for 14 sets of keys"),
        ("k-anonymity", "2 for 1 set of keys"),
    ]
    assert "3 for 14 sets of keys" in public_protection_page(many)
    assert "1000000" in protection_page(few, title="T", keys=1)


def listed(result):
    """Return k and the numbers of people as reports list them."""
    return [(name, str(value)) for name, value in k_facts(result.settings)]


@pytest.mark.usefixtures("folder")
def test_many_sets_make_one_table(run):
    """Of many sets the text has a line each, not a table."""
    out = run("protect survey.csv --keys a b c d w hh --k 3 --subsets 2")[1]
    assert "Keys a x b\n" not in out
    result = protected(subsets=2)
    before = result.sets[0].comparison()["original"]["unsafe_records"]
    lines = [" ".join(line.split()) for line in out.splitlines()]
    assert any(line.startswith(f"a x b 3 {before} 0 ") for line in lines)


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"k": None}, ValueError, "nothing to protect against: give .*, k, l"),
        ({"k": 1}, ValueError, "k=1: need a whole number from 2"),
        ({"k": 2**40 + 1}, ValueError, r"k=1099511627777: need .* to 2\^40 .*more rec"),
        (
            {"k": 10**30},
            ValueError,
            r"k=1000000000.*0: need .* to 2\^40 .*more records",
        ),
        ({"k": 10**5000}, ValueError, r"k=a int: need a whole number from 2"),
        ({"k": 2.5}, TypeError, "k=2.5: need a whole number"),
        ({"k": True}, TypeError, "k=True"),
        (
            {"k": {("a", "d"): 3}},
            ValueError,
            "a x d is not a set of keys; the sets are a x",
        ),
        ({"k": {("a", "b", "c"): 0}}, ValueError, r"k of a x b x c=0"),
        ({"min_population": 0}, ValueError, "min_population=0: need a number of pe"),
        ({"min_population": "5"}, TypeError, "min_population='5': need a number"),
        ({"min_population": [5, 6]}, ValueError, "min_population: 2 numbers for 1 set"),
        (
            {"min_population": {("a", "d"): 3}},
            ValueError,
            "min_population: a x d is not a set of keys",
        ),
        ({"min_population": {"abc": -1}}, ValueError, "min_population of abc=-1"),
        ({"subsets": 0}, ValueError, "subsets=0: need 1 to 3"),
        ({"subsets": 4}, ValueError, "subsets=4: need 1 to 3"),
        ({"subsets": "2"}, TypeError, "subsets='2'"),
        ({"strata": "d"}, TypeError, "strata"),
        ({"strata": ["a"]}, ValueError, "'a' is both a key and a stratum"),
        ({"strata": ["d", "d"]}, ValueError, "appears twice"),
        ({"strata": ["nil"]}, KeyError, "no column 'nil'"),
        ({"strata": ["w"], "weight": "w"}, ValueError, "'w' is both a key and the wei"),
    ],
)
def test_refusals(change, error, message):
    with pytest.raises(error, match=message):
        protected(**change)


def test_too_many_sets_are_refused_with_their_number():
    keys = [tuple(f"k{i}" for i in range(16))]
    with pytest.raises(ValueError, match="12,870 sets of keys"):
        KeyGoals.of(keys, 3, 8, None)
    assert len(KeyGoals.of(keys, 3, 2, None).keys) == 120 <= MOST_SETS
    # Sets that two intruders share count once, with the larger k.
    given = {("a", "b"): 3, ("b", "c"): 5}
    both = KeyGoals.of(list(given), given, 1, None)
    assert both.keys == (("a",), ("b",), ("c",))
    assert both.k == (3, 5, 5)
    people = KeyGoals.of(list(given), given, 1, None, "min_population")
    assert people.k == (3.0, 5.0, 5.0)


def test_records_that_hold_anything(folder, run, refused):
    run(f"{PROTECT} --k 3 --output safe.csv")
    path = folder / "safe.csv.private.json"
    for member, value, message in [
        ("k", [], "need one for each of 1 sets"),
        ("k", [1], "need a whole number from 2"),
        ("k", 3, "need a list of whole numbers"),
        ("k", [None], "give a threshold"),
        ("strata", ["d"], "'d' is not in every set"),
        ("strata", ["a", "b", "c"], "a set of keys holds only strata"),
    ]:
        record = json.loads(path.read_text())
        record["settings"][member] = value
        (folder / "edited.json").write_text(json.dumps(record))
        check = "check safe.csv --record edited.json"
        assert message in refused(check)
