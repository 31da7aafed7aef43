"""The gate: each rule at its bound and next to it, and what the command says."""

import json
import math
import os
import stat
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import riskcore
from riskcore import assess, check, protect
from riskcore.data.files import formats
from riskcore.protection.release.goals import AreasUnknown
from riskcore.report.sheet_page import public_rules_page
from tests import needs

KEYS = ["a", "b"]


def survey(n=400, missing=0.0):
    random = np.random.default_rng(2)
    data = {
        name: [str(v) for v in np.minimum(random.geometric(0.35, n), 7)]
        for name in ("a", "b", "c")
    }
    for column in data.values():
        for i in np.flatnonzero(random.random(n) < missing):
            column[i] = None
    data["w"] = np.round(random.uniform(2, 60, n), 2)
    data["county"] = random.choice(["N", "S", "W"], n, p=[0.6, 0.3, 0.1]).tolist()
    return data


def by_rule(found):
    return {(one.rule, one.keys): one for one in found.rules}


def test_k_counts_records_and_cells():
    data = survey()
    result = assess(data, KEYS)
    found = check(data, KEYS, k=5)
    (rule,) = found.rules
    assert (rule.rule, rule.keys, rule.asked) == ("k", ("a", "b"), 5)
    assert rule.found == result.k_anonymity
    below = result.below(5)
    assert (rule.records, rule.cells) == (below.records, below.cells)
    assert not rule.passed
    assert not found.passed
    assert found.broken == (rule,)


@pytest.mark.parametrize(
    ("rule", "figure"),
    [("max_risk", "max_risk"), ("max_rate", "reidentification_rate")],
)
def test_bounds_are_kept_at_the_bound(rule, figure):
    data = survey()
    at = getattr(assess(data, KEYS, "w"), figure)
    assert check(data, KEYS, "w", **{rule: at}).passed
    below = check(data, KEYS, "w", **{rule: math.nextafter(at, 0)})
    assert not below.passed
    assert below.rules[0].found == at
    if rule == "max_risk":
        assert (below.rules[0].records, below.rules[0].cells) == (1, 1)


@pytest.mark.parametrize(("k", "passed"), [(2, True), (3, False)])
def test_k_is_kept_at_the_bound(k, passed):
    assert check({"a": [1, 1, 1, 2, 2]}, ["a"], k=k).passed == passed


def test_every_area_has_its_people():
    data = survey()
    people = {}
    for county, w in zip(data["county"], data["w"], strict=True):
        people[county] = people.get(county, 0) + w
    smallest = min(people.values())
    how = {"min_population": smallest, "area": ["county"]}
    found = check(data, KEYS, "w", **how)
    assert found.passed
    assert found.rules[0].found == pytest.approx(smallest)
    found = check(data, KEYS, "w", min_population=smallest + 1, area=["county"])
    (rule,) = found.rules
    assert (rule.records, rule.cells) == (data["county"].count("W"), 1)
    # Without weights the records are the people; a warning counts unknown areas.
    data["county"][:3] = [None] * 3
    how = {"min_population": 4, "area": ["county"], "missing": "wildcard"}
    with pytest.warns(AreasUnknown, match="area county: missing in 3 of 400 records"):
        found = check(data, KEYS, **how)
    assert found.passed
    data["b"][:399] = [None] * 399
    with pytest.warns(AreasUnknown, match="area county x b: missing in 399 of 400 rec"):
        found = check(data, ["a"], **how | {"area": ["county", "b"]})
    assert not found.passed
    # If no area is known, none is too small: that would pass.
    data["county"] = [None] * 400
    for asked in (["county"], ["county", "c"]):
        with pytest.raises(
            ValueError, match="missing in all 400 records: there are no areas"
        ):
            check(data, ["a"], **how | {"area": asked})
    with pytest.raises(ValueError, match="missing key values: 'county' in 400"):
        check(data, KEYS, min_population=4, area=["county"], missing="refuse")


@pytest.mark.parametrize("kind", ["dict", "frame", "lazy", "csv", "parquet", "sav"])
def test_values_match_their_patterns_as_a_whole(kind, tmp_path):
    data = survey()
    data["year"] = [2019.0, 2020.0, 201.0, 20200.0] * 100
    data["c"][:7] = [None] * 7
    asked = {"year": "[0-9]{4}", "c": "[1-6]"}
    wrong = data["c"].count("7")
    held = {
        "dict": lambda: data,
        "frame": lambda: pl.DataFrame(data),
        "lazy": lambda: pl.DataFrame(data).lazy(),
    }.get(kind, lambda: tmp_path / f"data.{kind}")()
    if isinstance(held, Path):
        formats.write(held, data)
    found = by_rule(check(held, KEYS, values=asked))
    year, c = found["values", ("year",)], found["values", ("c",)]
    assert (year.asked, year.found, year.records, year.cells) == (0, 2, 200, 2)
    assert (c.found, c.records, c.passed) == (1, wrong, False)
    assert check(held, KEYS, values={"c": "[1-7]", "year": r"\d+"}).passed


def test_values_that_are_missing_match_but_their_columns_are_there():
    data = {**survey(), "none": [None] * 400}
    assert check(data, KEYS, values={"none": "nothing"}).passed
    with pytest.raises(KeyError, match="no column 'nil'"):
        check(data, KEYS, values={"nil": "x"})
    with pytest.raises(ValueError, match="values: '\\[' is not a pattern"):
        check(data, KEYS, values={"c": "["})
    with pytest.raises(TypeError, match=r"values=.*: need a mapping"):
        check(data, KEYS, values=["c"])


def test_a_protected_file_passes_what_it_was_protected_for():
    data = survey(missing=0.02)
    how = {"k": 5, "strata": ["county"], "subsets": 2}
    keys = ["a", "b", "c"]
    before = check(data, keys, "w", max_risk=0.05, missing="wildcard", **how)
    assert not before.passed
    assert len(before.rules) == 6
    safe = protect(data, keys, "w", threshold=0.05, **how)
    asked = {"max_risk": 0.05, "missing": "wildcard", **how}
    alone = check(safe.data, keys, "w", **asked)
    # Blanks do not tell who they were: the risk is that among the original's people.
    assert alone.state == "not examined"
    assert {one.rule for one in alone.not_judged} == {"max_risk"}
    assert "Not judged: maximum risk." in alone.verdict
    after = check(safe.data, keys, "w", original=data, **asked)
    assert after.passed
    names = {one.keys for one in after.rules}
    assert ("a", "b", "county") in names


@pytest.mark.parametrize(
    "recoded",
    [
        lambda ages: np.char.add(ages, " years"),  # none fits
        lambda ages: np.where(ages > "2", "3 and more", ages),  # most
        lambda ages: np.where(ages == "7", "6", ages),  # few
    ],
)
def test_the_risk_of_records_that_fit_nobody_is_not_judged(recoded):
    data = survey() | {"a": [str(i % 7 + 1) for i in range(400)]}
    released = data | {"a": recoded(np.array(data["a"])).tolist()}
    asked = {"max_risk": 0.5, "max_rate": 0.1}
    keys = ["a", "b", "c"]
    found = check(released, keys, "w", original=data, **asked)
    assert not found.passed
    assert [rule.passed for rule in found.rules] == [None, None]
    assert "give the record of the protection (--record)" in found.text()
    assert check(data, keys, "w", original=data, **asked).passed


def test_each_set_of_keys_has_its_k():
    data = survey()
    found = by_rule(check(data, [["a"], KEYS], k={("a",): 3, ("b", "a"): 11}))
    assert found["k", ("a",)].asked == 3
    assert found["k", ("a", "b")].asked == 11
    # A set without a k has no rule.
    found = check(data, [["a"], KEYS], k={("a",): 3})
    assert [one.keys for one in found.rules] == [("a",)]


@pytest.mark.parametrize("missing", ["category", "wildcard"])
@needs.engine("duckdb")
def test_on_an_engine(missing):
    import duckdb

    data = survey(missing=0.03)
    how = {
        "k": 5,
        "max_risk": 0.05,
        "max_rate": 0.01,
        "min_population": 3000,
        "area": ["county"],
        "missing": missing,
    }
    here = check(data, KEYS, "w", **how)
    frame = pl.DataFrame(data)
    for held in (frame.lazy(), duckdb.connect().from_arrow(frame.to_arrow())):
        there = check(held, KEYS, "w", **how)
        assert len(there.rules) == len(here.rules) == 4
        for one, other in zip(there.rules, here.rules, strict=True):
            assert one.found == pytest.approx(other.found, rel=1e-12, nan_ok=True)
            assert (one.rule, one.records) == (other.rule, other.records)
            assert one.passed == other.passed
            assert one.cells in (other.cells, None)


def test_sensitive_variables():
    data = survey(missing=0.02)
    both = {"missing": "wildcard", "missing_sensitive": "ignore"}
    found = riskcore.diversity(data, KEYS, ["c"], **both)["c"]
    how = {"sensitive": ["c"], "l": 3, "t": 0.4, **both}
    rules = by_rule(check(data, KEYS, **how))
    of_l, of_t = rules["l", ("a", "b")], rules["t", ("a", "b")]
    assert of_l.sensitive == of_t.sensitive == "c"
    assert of_l.found == found.distinct_l.min()
    assert of_l.cells == np.count_nonzero(found.distinct_l < 3) > 0
    assert of_l.records == found.cells.records[found.distinct_l < 3].sum()
    assert not of_l.passed
    assert of_t.found == np.nanmax(found.closeness)
    assert of_t.cells == np.count_nonzero(~(found.closeness <= 0.4)) > 0
    # At the bound, and by another definition.
    t = float(np.nanmax(found.closeness))
    ends = {**how, "l": 1, "t": 1, "missing_sensitive": "category"}
    assert check(data, ["a"], **ends).passed
    assert rules.keys() == {("l", ("a", "b")), ("t", ("a", "b"))}
    assert not check(data, KEYS, **{**how, "t": t, "l": "entropy:1.5"}).passed
    at = by_rule(check(data, KEYS, **{**how, "t": t}))["t", ("a", "b")]
    assert at.cells == np.count_nonzero(found.empty)
    text = check(data, KEYS, **how).text()
    assert "l-diversity  c in a x b" in text


def test_a_cell_of_no_known_value_has_no_l():
    data = {"a": [1, 1, 2, 2], "s": ["x", "y", None, None]}
    found = check(data, ["a"], sensitive=["s"], l=1, missing_sensitive="ignore")
    (rule,) = found.rules
    assert (rule.found, rule.records, rule.cells, rule.passed) == (0, 2, 1, False)


def test_what_is_said_is_plain_data():
    found = check(survey(), KEYS, "w", k=5, max_rate=0.5)
    plain = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert plain["passed"] is False
    assert [one["rule"] for one in plain["rules"]] == ["k", "max_rate"]
    assert plain["rules"][0]["keys"] == KEYS
    assert plain["rules"][1]["records"] is None
    assert repr(found) == "<Checked: 400 records, 1 of 2 rules broken>"
    assert "FAILED" in found._repr_html_()
    good = check(survey(), ["a"], k=2)
    assert good.verdict == "Passed: 1 of 1 rule kept (400 records checked)."


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"k": None}, ValueError, "no rule: give a limit"),
        ({"max_risk": 2}, ValueError, "max_risk=2: need a risk in"),
        ({"max_rate": math.nan}, ValueError, "max_rate=nan"),
        ({"max_rate": "1%"}, TypeError, "max_rate='1%'"),
        ({"min_population": 5}, ValueError, "min_population and area: give both"),
        ({"area": ["county"]}, ValueError, "min_population and area: give both"),
        ({"min_population": 0, "area": ["county"]}, ValueError, "min_population=0"),
        ({"min_population": 5, "area": "county"}, TypeError, "area"),
        ({"min_population": 5, "area": []}, ValueError, "area"),
        ({"l": 3}, ValueError, "sensitive and l or t: give both"),
        ({"sensitive": ["c"]}, ValueError, "sensitive and l or t: give both"),
        ({"sensitive": ["c"], "l": 0}, ValueError, "l=0"),
        ({"sensitive": ["a"], "l": 2}, ValueError, "'a' is both a key and the sens"),
    ],
)
def test_refusals(change, error, message):
    with pytest.raises(error, match=message):
        check(survey(), **{"keys": KEYS, "k": 3, **change})


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    formats.write("survey.csv", survey())
    return tmp_path


CHECK = "check survey.csv --keys a b"


@pytest.mark.usefixtures("folder")
def test_the_command(run, figures):
    status, out, err = run(f"{CHECK} --k 2 --max-rate 100%")
    assert (status, err) == (1, "")
    assert out.startswith(f"riskcore {riskcore.__version__}: survey.csv\n")
    assert "k-anonymity" in out
    assert "FAILED: 1 of 2 rules broken (400 records checked)." in out
    assert figures(f"{CHECK} --max-rate 100%")["passed"] is True
    area = "--weight w --area county --min-population 1000000"
    assert figures(f"{CHECK} {area}", status=1)["rules"][0]["cells"] == 3


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("", "no rule: give"),
        ("--k 1", "--k 1: need a whole number from 2"),
        ("--k 2 3", "--k: 2 numbers for 1 set"),
        ("--max-risk 3", "is not in [0, 1]"),
        ("--k 2 --area county", "give both"),
        ("--k 2 --strata nil", "no column 'nil'"),
    ],
)
def test_errors_are_not_failures_of_the_gate(refused, options, message):
    assert message in refused(f"{CHECK} {options}")


@needs.posix
@pytest.mark.usefixtures("folder")
def test_reports(run, figures, monkeypatch):
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "0")
    line = f"{CHECK} --weight w --k 2 --max-risk 0.0123456 --max-rate 100%"
    found = figures(f"{line} --report c.html --report-public p.html", status=1)
    found = found["rules"]
    page = Path("c.html").read_text()
    assert stat.S_IMODE(os.stat("c.html").st_mode) == 0o600
    assert "survey.csv: check" in page
    assert f"{found[1]['found']:.6g}" in page
    public = Path("p.html").read_text()
    assert stat.S_IMODE(os.stat("p.html").st_mode) & 0o044 == 0o044
    assert "For publication" in public
    assert public.count("BROKEN") == 2
    assert "0.013" in public
    numbers = [f"{one['found']:.3g}" for one in found[1:]]
    for text in ("survey", "1970", "0.0123", *numbers):
        assert text not in public
    out = run(f"{line} --report c.html --report-public q.html --overwrite")[1]
    assert "  The report is in c.html." in out
    assert "  The report for publication is in q.html." in out
    assert Path("q.html").read_text() == public


def test_a_page_to_hand_out_is_the_same_for_all_files_that_keep_the_rules():
    """Nothing that was found is in it: two files of one size have one page."""
    pages = set()
    for largest in (40.0, 41.5, 1000.0):
        data = survey()
        data["w"][data["w"] == data["w"].max()] = largest
        found = check(data, KEYS, "w", k=2, max_risk=0.9, max_rate=0.5)
        pages.add(public_rules_page(found, title="Rules"))
    assert len(pages) == 1


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("--report survey.csv --overwrite", "survey.csv"),
        ("--report-public survey.csv --overwrite", "survey.csv"),
        ("--overwrite", "--overwrite needs --report-public or --report"),
        ("--report old.html", "exists"),
    ],
)
def test_reports_are_refused_before_the_work(refused, monkeypatch, options, message):
    def work(*_, **__):
        raise AssertionError

    Path("old.html").write_text("old")
    monkeypatch.setattr("riskcore.protection.check.check", work)
    assert message in refused(f"{CHECK} --k 2 {options}")
    assert Path("old.html").read_text() == "old"


@needs.engine("duckdb")
def test_records_with_missing_keys_are_counted():
    import duckdb

    data = survey(missing=0.03)
    some = [a is None or b is None for a, b in zip(data["a"], data["b"], strict=True)]
    note = f"{sum(some)} records have missing keys; they match any value."
    frame = pl.DataFrame(data)
    held = duckdb.connect().from_arrow(frame.to_arrow())
    for given in (data, frame.lazy(), held):
        found = check(given, KEYS, "w", k=3)
        assert found.notes == (note,)
        assert found.to_dict()["notes"] == [note]
        assert f"  {note}\n  " in found.text()
        assert note in found._repr_html_()
        by_risk = check(given, KEYS, "w", max_risk=0.5)
        assert by_risk.notes[0] == note
        assert "give the original" in by_risk.notes[1]
    by_set = check(data, [["a"], KEYS], k=3).notes
    assert by_set[0].endswith("have missing keys of a; they match any value.")
    assert by_set[1] == note.replace("keys;", "keys of a x b;")
    assert not check(data, KEYS, k=3, missing="category").notes
    assert not check(survey(), KEYS, k=3).notes


@pytest.mark.parametrize(
    "goals",
    [
        "min_population = 5",
        "l = 2",
        "t = 0.9",
        "household_threshold = 0.9",
        "threshold = 0.9",
    ],
)
def test_a_file_of_which_no_record_fits_the_original_does_not_pass(goals):
    data = {
        "a": [*"ppqqq"] * 4,
        "b": [*"xyxyx"] * 4,
        "ill": [*"yn"] * 10,
        "w": [50.0] * 20,
        "hh": list(range(20)),
    }
    rules = riskcore.Release.parse(
        "format = 1\ncolumns = {keys = ['a', 'b'], weight = 'w', household = 'hh'}\n"
        "roles.ill = 'sensitive'\naccept.'*' = 'a test'\n[safe]\n" + goals
    )
    found = rules.check({**data, "a": ["other"] * 20}, original=data)
    name = goals.split()[0]
    assert [rule.rule for rule in found.not_judged] == [name]
    assert not found.passed
