"""What a report tells of single records: attacks on the office's and the public one.

The attacker has the page, every number in it, and the formulas. The office's page gives
weights of sample uniques and suppressed values away; the public one must not.
"""

import html
import itertools
import json
import math
import re
import stat
from decimal import Decimal
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from riskcore import Reading, Recoding, assess, individual_risk, protect, simulate
from riskcore.cli import main
from riskcore.protection.release.record import about, coarse
from riskcore.report.page import page, protection_page
from riskcore.report.public import (
    between,
    public_classes,
    public_population,
    threshold_shown,
    two_digits,
    views_of,
)
from riskcore.report.public_page import public_page, public_protection_page
from tests import needs
from tests.report.reading import in_browser, survey, tables_of, write_csv

NUMBER = re.compile(r"\d[\d,]*\.?\d*(?:e[-+]?\d+)?")


# What an attacker reads


def numbers_of(made):
    """Return every number in a page, those of its scripts and drawings too."""
    made = re.sub(r"<style>.*?</style>|sha256-[^']*", "", made, flags=re.S)
    return {
        float(text.replace(",", "")) for text in NUMBER.findall(html.unescape(made))
    }


def classes_of(made):
    """Return the classes of a public page: bounds, and the counts of each column."""
    head, *rows = dict(tables_of(made)).get("Records by class of risk", [[]])
    bounds = [tuple(map(float, row[0].split(" to "))) for row in rows]
    columns = [k for k, name in enumerate(head) if name.startswith(("Indiv", "House"))]
    counts = [[int(row[k].replace(",", "")) for row in rows] for k in columns]
    return bounds, counts


def figures_of(made):
    rows = dict(tables_of(made))["Figures of the file, rounded"]
    return {row[0]: row[1:] for row in rows}


def inverse_risk(values):
    """Return the weights of sample uniques of such risks: r(1, 1/w) falls with w."""
    low, high = np.ones(len(values)), np.full(len(values), 1e15)
    for _ in range(200):
        middle = np.sqrt(low * high)
        above = individual_risk(1.0, 1.0 / middle) > values
        low, high = np.where(above, middle, low), np.where(above, high, middle)
    return np.sqrt(low * high)


def weights_found(made, weights, tolerance=1e-6):
    """Return how many of the weights some number of the page gives."""
    numbers = np.array(sorted(numbers_of(made)))
    fractions = np.concatenate([numbers, numbers / 100, numbers / 1000])
    risks = fractions[(fractions > 0) & (fractions < 1)]
    candidates = np.concatenate([numbers[numbers > 1], inverse_risk(risks)])
    close = np.abs(candidates[:, None] / weights - 1) < tolerance
    return int(np.count_nonzero(close.any(axis=0)))


def unique_weights(result, data):
    cells = result.cells
    alone = cells.records[cells.inverse] == 1
    return np.asarray(data["w"])[alone]


# The inversion


def test_weights_follow_from_the_office_page_and_not_from_the_public_one():
    data = survey()
    result = assess(data, ["age", "region"], "w", "hh")
    weights = unique_weights(result, data)
    assert len(weights) > 100
    office = page({"original": result}, title="T", threshold=0.02)
    assert weights_found(office, weights) == len(weights)
    made = public_page(result, threshold=0.02, household_threshold=0.1)
    assert weights_found(made, weights) == 0


def test_weights_do_not_follow_from_the_public_page_of_a_protection():
    data = survey()
    result = protect(
        data, ["age", "region"], "w", "hh", rate=0.03, population="weights",
        recodings={"age": Recoding.intervals([20, 40])},
    )  # fmt: skip
    before = assess(data, ["age", "region"], "w")
    weights = np.concatenate(
        [unique_weights(before, data), unique_weights(result.recoded, data)]
    )
    assert weights_found(protection_page(result, title="T"), weights) > 100
    made = public_protection_page(result)
    assert weights_found(made, weights) == 0
    # The threshold found from the rate is a figure of the file before.
    assert not {result.sets[0].aim.threshold} & numbers_of(made)
    assert "a re-identification rate of 3 %" in made


@pytest.mark.parametrize("weight", [2.0, 7.3, 118.25])
def test_a_dominant_record_does_not_show_in_sums(weight):
    """One record of large risk or large weight among many of small ones."""
    n = 200
    data = {
        "k": np.where(np.arange(n) < n - 1, np.arange(n) // 10, 25),
        "w": np.where(np.arange(n) < n - 1, 1e5, weight),
    }
    result = assess(data, ["k"], "w")
    assert result.max_risk > 0.9 * result.expected_reidentifications
    figures = figures_of(public_page(result))
    assert figures["Re-identification rate"] == ["not shown"]
    assert figures["Expected re-identifications"] == ["not shown"]
    data["w"] = np.where(np.arange(n) < n - 1, 10.0, 1e6)
    assert public_population(assess(data, ["k"], "w")) is None


# What a page leaves open


def intervals(made, limit):
    """Return for each column what classes and rate leave for the risk of one record.

    The sum of the risks is known but for rounding. A single risk is at its largest
    where all others are at the lower bounds of their classes.
    """
    bounds, columns = classes_of(made)
    bounds = [(low, min(high, limit)) for low, high in bounds]
    figures = figures_of(made)
    n = int(figures["Records"][0].replace(",", ""))
    names = ["Re-identification rate", "Household re-identification rate"]
    for name, counts in zip(names, columns, strict=False):
        (text,) = figures[name]
        if text == "not shown":
            continue
        lowest_rate, highest_rate = rate_shown(text)
        least, most = n * lowest_rate, n * highest_rate
        lowest = sum(c * low for c, (low, _) in zip(counts, bounds, strict=True))
        highest = sum(c * high for c, (_, high) in zip(counts, bounds, strict=True))
        for count, (low, high) in zip(counts, bounds, strict=True):
            if count:
                yield (
                    (low, high),
                    (
                        max(low, least - (highest - high)),
                        min(high, most - (lowest - low)),
                    ),
                )


def rate_shown(text):
    """Return the least and the largest rate that a figure stands for.

    After protection it is the next of the steps 1, 2, 5, else it has two digits.
    """
    rate = float(re.search(r"[\d.e-]+", text)[0]) / 100
    if text.startswith("at most"):
        return rate / {"1": 2, "2": 2, "5": 2.5}[f"{rate:e}"[0]], rate * (1 + 1e-9)
    slack = 0.5 * 10 ** (math.floor(math.log10(rate)) - 1)
    return rate - slack, rate + slack


def check_public(made, *, households, limit=math.inf):
    """Check the rules of a public page on the page alone."""
    bounds, columns = classes_of(made)
    n = int(figures_of(made)["Records"][0].replace(",", ""))
    for low, high in bounds:
        assert high >= 2 * low
        assert {f"{low:e}"[0], f"{high:e}"[0]} <= set("125")
    for (_, high), (low, _) in itertools.pairwise(bounds):
        assert high == low
    for counts in columns:
        assert not {1, 2} & set(counts)
        assert sum(counts) == n
    # Differences between columns, of the numbers at or above each bound.
    above = [np.cumsum(counts[::-1]) for counts in columns]
    for one, other in itertools.combinations(above, 2):
        assert not {1, 2} & set(np.abs(one - other).tolist())
    for name, values in figures_of(made).items():
        for text in values:
            if name in ("Records", "") or "at or above" in name:
                continue
            assert re.fullmatch(
                r"not shown|0|fewer than 10|(about|at most) [\d.,e-]+|"
                r"(at most )?[\d.e-]+ %|\S+ to \S+",
                text,
            ), (name, text)
            if text.startswith(("about", "at most")) or text.endswith("%"):
                (number,) = re.findall(r"\d[\d.,e-]*", text)
                value = Decimal(number.replace(",", ""))
                assert len(value.normalize().as_tuple().digits) <= 2
            counted = name in ("Cells", "Sample uniques", "Households")
            if (counted or " with f below " in name) and "about" in text:
                assert value % 10 == 0
    for (low, high), (least, most) in intervals(made, limit):
        assert least <= low * (1 + 1e-9)
        assert most >= high * (1 - 1e-9)
    assert len(columns) <= (2 if households else 1)
    # Nothing but what is shown: no data for a script.
    assert "application/json" not in made
    assert 'type="range"' not in made


weight = st.one_of(
    st.floats(1.0, 1e6),
    # At bounds of classes, where a sum could tell most.
    st.sampled_from([1.0, 2.0, 10.0, 100.0, 100.0 * (1 + 1e-12)]),
    st.sampled_from(inverse_risk(np.array([0.5, 0.2, 0.1, 0.05, 0.01])).tolist()),
)
records = st.lists(
    st.tuples(st.integers(0, 30), weight, st.integers(0, 25)), min_size=1, max_size=60
)


def table(rows):
    keys, weights, households = zip(*rows, strict=True)
    return {"k": list(keys), "w": list(weights), "hh": list(households)}


@settings(max_examples=150)
@given(records, st.booleans(), st.sampled_from([None, 0.01, 0.05, 0.1, 0.0123456]))
@pytest.mark.filterwarnings(
    "ignore::riskcore.assessment.cell_risk.PopulationBelowSample"
)
def test_every_public_page_keeps_the_rules(rows, of_households, threshold):
    data = table(rows)
    how = Reading(weight_scale=1)
    result = assess(data, ["k"], "w", "hh" if of_households else None, reading=how)
    made = public_page(result, threshold=threshold)
    check_public(made, households=of_households)
    check_truth(made, result, threshold)


def check_truth(made, result, threshold):
    """Check what a public page says against the file."""
    bounds, columns = classes_of(made)
    views = views_of(result)
    assert len(columns) in (0, len(views))
    cells, groups = result.cells, result.households
    for counts, view in zip(columns, views, strict=False):
        for count, (low, high) in zip(counts, bounds, strict=True):
            inside = (view.risk >= low) & ((view.risk < high) | (high == 1.0))
            assert np.count_nonzero(inside) == count
            if count:
                assert len(np.unique(cells.inverse[inside])) >= 3
                if groups is not None:
                    assert len(np.unique(groups.inverse[inside])) >= 3
    figures = figures_of(made)
    if columns and threshold is not None:
        (name,) = [one for one in figures if one.startswith("Records at or above")]
        shown = float(name.split()[-1])
        assert threshold <= shown <= 1.1 * threshold
        ends = [int(one.replace(",", "")) for one in NUMBER.findall(figures[name][0])]
        least = 0 if "at most" in figures[name][0] else ends[0]
        assert least <= result.unsafe_count(shown) <= ends[-1]
    if columns and figures["Re-identification rate"] != ["not shown"]:
        least, most = rate_shown(figures["Re-identification rate"][0])
        assert least * 0.999 < result.reidentification_rate < most * 1.001


@settings(max_examples=40, deadline=None)
@given(records, st.sampled_from([0.003, 0.05, 0.3]))
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_every_public_page_of_a_protection_keeps_the_rules(rows, threshold):
    data = table(rows)
    data["k2"] = [key // 10 for key in data["k"]]
    result = protect(data, ["k", "k2"], "w", threshold=threshold)
    made = public_protection_page(result)
    limit = threshold if result.goals_met else math.inf
    check_public(made, households=False, limit=limit)
    check_truth(made, result.protected, None)
    bounds, _ = classes_of(made)
    if result.goals_met and bounds:
        # Known to be below the threshold, risks still have a class of a factor 2.
        assert min(bounds[-1][1], threshold) >= 2 * bounds[-1][0]
    elif bounds:
        assert bounds[-1][1] >= min(2 * threshold, 1.0)


def of_uniques(risks, **columns):
    """Return a file of sample uniques of given risks."""
    weights = inverse_risk(np.array(risks)).tolist()
    return {"k": list(range(len(risks))), "w": weights, **columns}


def test_a_threshold_that_is_kept_cuts_no_narrow_class():
    risks = [0.051, 0.052, 0.053, 0.054, *np.linspace(0.011, 0.048, 20)]
    data = of_uniques(risks)
    without = public_classes(views_of(assess(data, ["k"], "w")))
    assert 0.05 in without.edges
    result = protect(data, ["k"], "w", threshold=0.055, population="weights")
    assert result.goals_met
    bounds, _ = classes_of(public_protection_page(result))
    assert bounds[-1] == (0.02, 0.1)


def test_a_threshold_that_is_not_kept_is_no_bound_of_the_largest_risk():
    data = of_uniques([0.195, *np.linspace(0.01, 0.18, 20)])
    goal = {"threshold": 0.19, "population": "weights"}
    result = protect(data, ["k"], "w", cost={"k": math.inf}, **goal)
    assert not result.goals_met
    bounds, _ = classes_of(public_protection_page(result))
    assert bounds[-1][1] == 0.5
    assert "NOT SAFE: the goals are not met." in public_protection_page(result)


def test_a_rate_close_to_what_a_kept_threshold_allows_is_not_shown():
    result = assess(of_uniques([0.40] * 5 + [0.39]), ["k"], "w")
    (open_rate,) = public_classes(views_of(result)).rates()
    assert open_rate == result.reidentification_rate
    found = public_classes(views_of(result, limit=0.41))
    assert found.edges.tolist() == [0.2, 0.5]
    assert found.rates() == [None]


def test_a_rate_that_tells_the_risk_of_a_household_is_not_shown():
    # Of six members with one weight; all others are at the lower bound.
    risks = [0.35] * 6 + [0.2001] * 8
    result = assess(of_uniques(risks), ["k"], "w")
    assert public_classes(views_of(result)).rates() == [result.reidentification_rate]
    data = of_uniques(risks, hh=[0] * 6 + list(range(1, 9)))
    result = assess(data, ["k"], "w", "hh")
    classes = public_classes(views_of(result))
    assert classes.edges.tolist() == [0.2, 1.0]
    assert classes.rates()[0] is None


def test_records_that_are_certain_reach_a_threshold_of_one():
    result = assess({"k": list(range(5))}, ["k"])
    classes = public_classes(views_of(result))
    assert classes.edges.tolist() == [0.5, 1.0]
    assert classes.reaching(0, 1.0) == (0, 5)
    assert classes.reaching(0, 0.5) == (5, 5)
    assert classes.reaching(0, 0.1) == (5, 5)
    assert classes.reaching(0, 1.5) == (0, 0)


# Differences


def test_records_and_households_are_not_told_apart_by_one():
    """One household of two among single ones moves few records between the tables."""
    rng = np.random.default_rng(1)
    hit = 0
    for _ in range(60):
        n = 40
        data = {
            "k": np.arange(n),
            "w": rng.uniform(2, 60, n),
            "hh": np.r_[np.arange(n - 1), rng.integers(0, n - 1)],
        }
        result = assess(data, ["k"], "w", "hh")
        own, joint = (views_of(result)[k].risk for k in (0, 1))
        grid = [0.02, 0.05, 0.1, 0.2, 0.5]
        apart = [
            np.count_nonzero(joint >= t) - np.count_nonzero(own >= t) for t in grid
        ]
        hit += bool({1, 2} & set(apart))
        made = public_page(result)
        check_public(made, households=True)
        # The difference of the rates would be that household's.
        assert figures_of(made)["Household re-identification rate"] == ["not shown"]
    assert hit > 20  # tables on the fixed grid would have told


def test_several_sets_of_keys_are_not_told_apart_by_one():
    n = 300
    data = {"age": np.arange(n) // 10, "w": np.linspace(50, 300, n)}
    data["flag"] = np.r_[np.zeros(n - 2, int), 1, 2]  # splits two records off
    data["age"][-1] = 0
    sets = [["age"], ["age", "flag"]]
    result = protect(data, sets, "w", threshold=0.9)
    made = public_protection_page(result)
    bounds, columns = classes_of(made)
    assert len(columns) == 2
    assert bounds
    above = np.array([np.cumsum(counts[::-1]) for counts in columns])
    assert not {1, 2} & set(np.abs(above[0] - above[1]).tolist())
    rates = figures_of(made)["Re-identification rate"]
    assert rates[1] == "not shown"
    assert rates[0].endswith("%")


def test_a_threshold_in_a_class_says_no_more_than_the_classes():
    result = assess(survey(), ["age", "region"], "w")
    pages = [public_page(result, threshold=t) for t in (0.011, 0.013, 0.0130001, 0.019)]
    counts = set()
    for made in pages:
        ((_, (text,)),) = [
            (name, values)
            for name, values in figures_of(made).items()
            if "above" in name
        ]
        counts.add(text)
    assert len(counts) == 1


@pytest.mark.parametrize(
    ("asked", "shown"),
    [(0.00125, 0.00125), (0.0012345, 0.0013), (0.5, 0.5), (0.9999, 1.0), (0.0, 0.0)],
)
def test_a_threshold_of_many_digits_is_rounded_up(asked, shown):
    assert threshold_shown(asked) == shown


# Suppressed values


def candidates():
    """Return files that differ in the region of one household, where one is at risk."""
    rng = np.random.default_rng(4)
    k = [code for code in "abcde" for _ in range(16)]
    w = np.round(rng.uniform(20, 30, 80), 1).tolist()
    return [
        {
            "k": [*k, code, code],
            "g": [*("xy" * 40), "x", "z"],
            "w": [*w, 25.0, 27.0],
            "hh": [*range(80), 80, 80],
        }
        for code in "abcde"
    ]


def protected_alike(**goal):
    """Return protections of these files, of which the safe files are equal."""
    results = [
        protect(
            rows, ["k", "g"], "w", "hh", household_keys=["k"],
            cost={"k": 1, "g": math.inf}, **goal,
        )
        for rows in candidates()
    ]  # fmt: skip
    assert all(one.data == results[0].data for one in results)
    assert results[0].data["k"][-2:] == [None, None]
    return results


def test_candidates_for_a_suppressed_value_cannot_be_told_apart():
    results = protected_alike(threshold=0.01)
    made = [numbers_of(protection_page(one, title="T")) for one in results]
    # Who tries the candidates finds the office's page again for the true one alone,
    for truth in made:
        assert sum(numbers == truth for numbers in made) == 1
    # and the public page for all.
    assert len({public_protection_page(one) for one in results}) == 1


def test_candidates_cannot_be_told_by_the_threshold_of_a_rate():
    results = protected_alike(rate=0.006)
    assert len({one.sets[0].aim.threshold for one in results}) == len(results)
    assert len({public_protection_page(one) for one in results}) == 1


def test_codes_of_the_data_are_not_in_the_page():
    data = survey()
    data["region"] = np.array([f"Zyx{one}" for one in data["region"]])
    recoding = Recoding.mapping({"Zyx1": "Qwv", "Zyx2": "Qwv"})
    result = protect(
        data, ["age", "region"], "w", threshold=0.05,
        recodings={"region": recoding, "age": Recoding.intervals([17.37, 43.91])},
    )  # fmt: skip
    made = public_protection_page(result)
    assert not re.search(r"Zyx|Qwv|17\.37|43\.91", made)
    assert "single codes replaced" in made
    assert "ranges of codes taken together" in made


# Small files


SMALL = {
    "one record": ({"k": ["a"], "w": [7.5]}, False),
    "two records": ({"k": ["a", "b"], "w": [7.5, 9.1]}, False),
    "three alike": ({"k": ["a", "b", "c"], "w": [7.5] * 3}, True),
    "one cell": ({"k": ["a"] * 9, "w": [20.0] * 9}, False),
    "one class": ({"k": list("abcdefghi"), "w": [20.0] * 9}, True),
    "two cells": ({"k": ["a"] * 9 + ["b"] * 9, "w": [20.0] * 18}, False),
    "tiny risks": ({"k": [1, 2, 3, 4], "w": [1e300, 1e9, 2.0, 3.0]}, True),
    "the population": ({"k": [1, 2, 3, 4], "w": [1.0] * 4}, True),
}


@pytest.mark.parametrize("name", SMALL)
def test_small_files(name):
    data, classes = SMALL[name]
    result = assess(data, ["k"], "w", reading=Reading(weight_scale=1))
    made = public_page(result, threshold=0.05)
    check_public(made, households=False)
    assert bool(classes_of(made)[0]) == classes
    assert ("too small" in made) != classes
    if not classes:
        names = {"Records", "Cells", "Sample uniques", ""} | {
            f"{units} with f below {k}"
            for units in ("Records", "Cells")
            for k in (3, 5)
        }
        assert figures_of(made).keys() - names <= {"Population, the sum of the weights"}


def test_a_file_without_weights_has_no_population():
    result = assess({"k": [1, 1, 2, 2, 3, 4]}, ["k"])
    assert not any("opulation, the" in name for name in figures_of(public_page(result)))


def test_records_in_small_cells_are_counted_about():
    ages = [age for age in range(40) for _ in range(1 + age % 5)]
    found = figures_of(public_page(assess({"age": ages}, ["age"])))
    counts = {name: value for name, (value,) in found.items() if "f below" in name}
    assert counts == {
        "Records with f below 3": "about 20", "Cells with f below 3": "about 20",
        "Records with f below 5": "about 80", "Cells with f below 5": "about 30",
    }  # fmt: skip
    found = figures_of(public_page(assess({"age": [1, 1, 2, 2, 2]}, ["age"])))
    assert found["Records with f below 3"] == ["fewer than 10"]


def test_no_small_cells_say_that_no_risk_is_large():
    """No f below 3: no risk above 1/3, so that a bound at 0.2 would be too near."""
    of_size = {3: 20, 4: 20, 10: 9}
    sizes = [size for size, cells in of_size.items() for _ in range(cells)]
    ages = [age for age, size in enumerate(sizes) for _ in range(size)]
    made = public_page(assess({"age": ages}, ["age"]))
    bounds, _ = classes_of(made)
    assert 0.2 not in {low for low, _ in bounds}
    check_public(made, households=False, limit=math.nextafter(1 / 3, 1))
    made = public_page(assess({"age": [*ages, -1, -2, -3]}, ["age"]))
    assert 0.2 in {low for low, _ in classes_of(made)[0]}


def test_one_large_household_is_no_class():
    data = {"k": list(range(12)), "w": [9.0] * 12, "hh": [1] * 10 + [2, 3]}
    views = views_of(assess(data, ["k"], "w", "hh"))
    found = public_classes(views)
    assert len(found.edges) == 2
    assert public_classes(views[:1]).counts[0].tolist() == [12]


# Numbers in words


def test_counts_are_rounded():
    assert [about(count) for count in (0, 1, 2, 9)] == ["0"] + ["fewer than 10"] * 3
    for count in range(10, 5000):
        unit = max(10, 10 ** (len(str(count)) - 2))
        assert abs(coarse(count) - count) <= unit / 2
        assert coarse(count) % unit == 0
    assert two_digits(0.00999) == "0.01"
    assert two_digits(995.0) == "1,000"
    found = [between(*ends) for ends in ((7, 7), (3, 1200), (0, 12))]
    assert found == ["7", "3 to 1,200", "at most 12"]


# Files and commands


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    data = simulate.microdata(900, np.random.default_rng(2))
    names = ["REGION", "SEX", "AGE", "WEIGHT", "HOUSEHOLD"]
    write_csv(Path("secret-survey.csv"), {name: data[name] for name in names})
    return tmp_path


def run(*words):
    return main([*map(str, words), "--quiet"])


def mode(path):
    return stat.S_IMODE(Path(path).stat().st_mode)


KEYS = ["--keys", "REGION", "SEX", "AGE", "--weight", "WEIGHT"]


@pytest.mark.parametrize("command", ["assess", "protect", "protect without output"])
def test_commands_write_both_reports(folder, capsys, command):
    name, *_ = command.split()
    words = [name, "secret-survey.csv", *KEYS, "--threshold", "0.02"]
    if command == "protect":
        words += ["--output", "safe.csv", "--allow-unsafe"]
    words += ["--report", "office.html", "--report-public", "public.html"]
    run(*words)
    office, made = (Path(f"{one}.html").read_text() for one in ("office", "public"))
    assert "<b>For internal use:</b>" in office
    assert "<b>For publication:</b>" in made
    assert "secret-survey" in office
    assert "secret" not in made
    assert str(folder) not in made
    check_public(made, households=False)
    assert mode("office.html") == 0o600
    assert mode("public.html") == mode("secret-survey.csv")
    assert "The report for publication is in public.html" in capsys.readouterr().out
    assert run(*words) == 2
    run(*words, "--overwrite")
    assert mode("office.html") == 0o600


def test_several_sets_of_keys_have_one_public_page(folder):
    run(
        "protect", "secret-survey.csv", *KEYS, "--keys", "SEX", "AGE",
        "--household", "HOUSEHOLD", "--threshold", "2%", "--allow-unsafe",
        "--output", "safe.csv", "--report", "r.html", "--report-public", "p.html",
    )  # fmt: skip
    assert {one.name for one in folder.glob("*.html")} == {
        "r.html",
        "r-2.html",
        "p.html",
    }
    _, columns = classes_of(Path("p.html").read_text())
    assert len(columns) == 4


def test_the_public_report_never_lists_combinations(folder, capsys):
    words = ["assess", "secret-survey.csv", *KEYS, "--report-top", "3"]
    for more, message in (
        (["--report-public", "p.html"], "never lists combinations"),
        ([], "--report-top needs --report"),
    ):
        assert main([*words, *more]) == 2
        assert message in capsys.readouterr().err


@pytest.mark.parametrize("command", ["assess", "protect"])
@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--report-public", "secret-survey.csv", "--overwrite"], "an input file"),
        (["--report-public", "x.html", "--report", "x.html"], "x.html"),
        (["--report-public", "no/x.html"], "no"),
    ],
)
def test_options_that_do_not_go_together(folder, capsys, command, words, message):
    assert run(command, "secret-survey.csv", *KEYS, "--threshold", "0.1", *words) == 2
    assert message in capsys.readouterr().err
    assert not list(folder.glob("*.html"))


def test_household_thresholds_need_households():
    result = assess(survey(), ["age"], "w")
    with pytest.raises(ValueError, match="no households"):
        public_page(result, household_threshold=0.1)
    with pytest.raises(ValueError, match="threshold"):
        public_page(result, threshold=-0.1)


# In a browser


@needs.chromium
def test_the_public_page_runs_and_turns_dark(tmp_path):
    made = public_page(assess(survey(), ["age", "region"], "w", "hh"))
    shown, _ = in_browser(made, tmp_path)
    assert re.search(r'<button type="button" id="theme">(Dark|Light)</button>', shown)
    assert shown.count("<figure>") == 2


def test_the_page_is_the_same_each_time_and_loads_nothing():
    result = assess(survey(), ["age", "region"], "w", "hh")
    made = public_page(result, title="</script><script>alert(1)</script>")
    assert made == public_page(result, title="</script><script>alert(1)</script>")
    assert made.count("<script") == 1
    assert "http:" not in made
    assert not re.search(r'\s(src|href|style|on\w+)="', made)
    policy = re.search(r'content="(default-src[^"]*)"', made)[1]
    assert policy.count("sha256-") == 2
    assert json.dumps(made)
