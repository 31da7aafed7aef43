"""The summary of an assessment, as plain values and as text."""

import datetime
import json
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from riskcore import assess, estimate_uniques
from riskcore.assessment import PopulationBelowSample
from riskcore.report.text import (
    DEFAULT_THRESHOLDS,
    printable,
    summary,
    text,
    uniques_text,
)

DATA = {
    "sex": ["f", "m", "f", "m"],
    "w": [10.0, 20.0, 15.0, 25.0],
    "hh": [1, 1, 2, 3],
}


@pytest.fixture(scope="module")
def result():
    return assess(DATA, ["sex"], "w", "hh")


def lines_of(assessment, **options):
    return text(summary(assessment, **options), "title").splitlines()


def refuse(constant):
    raise AssertionError(f"{constant} is not JSON")


def strict(figures):
    """Return what a strict reader of JSON gets."""
    return json.loads(json.dumps(figures, allow_nan=False), parse_constant=refuse)


def test_figures_are_those_of_the_assessment(result):
    figures = strict(summary(result, rate=0.01, unsafe=2, thresholds=[0.05, 0.0]))
    assert figures["records"] == 4
    assert figures["cells"] == 2
    assert figures["sample_uniques"] == 0
    assert figures["keys"] == ["sex"]
    assert figures["weighted"] is True
    assert figures["population"] == 70.0
    assert figures["method"] == "exact"
    # To the last bit.
    assert figures["reidentification_rate"] == result.reidentification_rate
    assert figures["expected_reidentifications"] == result.expected_reidentifications
    assert figures["max_risk"] == result.max_risk
    assert figures["unsafe_records"] == [
        {"threshold": 0.05, "records": 2},
        {"threshold": 0.0, "records": 4},
    ]
    threshold = result.risk_threshold(rate=0.01)
    assert figures["for_rate"] == {"rate": 0.01, "threshold": threshold, "records": 4}
    threshold = result.risk_threshold(unsafe=2)
    assert figures["for_unsafe"] == {"unsafe": 2, "threshold": threshold, "records": 2}
    assert [row["sex"] for row in figures["riskiest"]] == ["f", "m"]
    assert figures["riskiest"][0]["individual_risk"] == result.max_risk


def test_household_figures(result):
    figures = strict(summary(result, rate=0.01))["households"]
    assert figures["households"] == 3
    rate = result.household_reidentification_rate
    assert figures["reidentification_rate"] == rate
    assert figures["max_risk"] == result.household_risk.max()
    assert figures["for_rate"]["threshold"] == result.household_threshold(rate=0.01)
    for row in figures["unsafe_households"]:
        t = row["threshold"]
        assert row["households"] == result.unsafe_household_count(t)
        assert row["records"] == np.count_nonzero(result.unsafe_households(t))
    assert [row["threshold"] for row in figures["unsafe_households"]] == list(
        DEFAULT_THRESHOLDS
    )
    assert {row["records"] for row in figures["unsafe_households"]} == {2, 3, 4}


def test_only_what_was_asked_for():
    figures = summary(assess(DATA, ["sex"], "w"), top=0)
    assert not {"for_rate", "for_unsafe", "households"} & set(figures)
    assert figures["riskiest"] == []
    assert "Riskiest" not in text(figures, "title")
    assert "Households" not in text(figures, "title")


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        ([1, 2], {1, 2}),
        ([True, False], {True, False}),
        ([0.1, 1 / 3], {0.1, 1 / 3}),
        ([np.inf, -np.inf], {"inf", "-inf"}),
        (
            [datetime.date(2020, 1, 2), datetime.date(1999, 1, 1)],
            {"2020-01-02", "1999-01-01"},
        ),
        ([b"a", b"\xff"], {"b'a'", "b'\\xff'"}),
        (["é", "\x1b[31m"], {"é", "\x1b[31m"}),
        (["x", None], {"x", None}),
    ],
)
def test_labels_survive_strict_json(labels, expected):
    figures = strict(summary(assess({"k": labels}, ["k"], missing="category")))
    assert {row["k"] for row in figures["riskiest"]} == expected


def test_names_that_are_no_text():
    data = {0: [1, 1], ("a", 1): [1, 2]}
    figures = strict(summary(assess(data, [0, ("a", 1)])))
    assert figures["keys"] == [0, "('a', 1)"]
    assert set(figures["riskiest"][0]) >= {"0", "('a', 1)"}


@pytest.mark.parametrize("weight", [1e300, 1e-300, 1e-320])
def test_extreme_weights_can_be_told(weight):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        figures = summary(assess({"k": [1, 2], "w": [weight] * 2}, ["k"], "w"))
    assert strict(figures)["population"] == 2 * weight
    assert max(map(len, text(figures, "title").splitlines())) < 110


def test_text_names_every_figure(result):
    lines = "\n".join(lines_of(result, rate=0.01, unsafe=2))
    assert lines.startswith("title\n  records ")
    for part in (
        "sex", "70.0, the sum of the weights", "2, of them 0 sample uniques", "exact",
        f"{100 * result.reidentification_rate:.8g} %", f"{result.max_risk:.8g}",
        f"{result.expected_reidentifications:.8g}",
        f"{result.risk_threshold(rate=0.01):.8g}; records at or above it: 4",
        f"{result.risk_threshold(unsafe=2):.8g}; records at or above it: 2",
        f"{result.household_threshold(rate=0.01):.8g}; households at or above it: 3",
        f"{result.household_risk.max():.8g}",
    ):  # fmt: skip
        assert part in lines


def test_text_without_weights():
    lines = lines_of(assess({"k": [1]}, ["k"]))
    assert any(
        "no weights: the file is taken to be the whole" in line for line in lines
    )


def test_text_where_no_threshold_is_found():
    tied = assess({"k": [1, 2]}, ["k"])
    lines = lines_of(tied, rate=1.0, unsafe=1)
    assert any("rate of 100 %: no threshold is needed" in line for line in lines)
    # The records are not safe: both have risk 1.
    assert any("only a risk threshold above the maximum" in line for line in lines)
    assert not any("unsafe records: no threshold is needed" in line for line in lines)
    figures = strict(summary(tied, rate=1.0, unsafe=1))
    assert figures["for_unsafe"] == {"unsafe": 1, "threshold": None, "records": 0}
    assert figures["for_rate"]["threshold"] is None


@pytest.mark.parametrize("method", ["series7", "franconi"])
def test_text_names_another_method(method):
    lines = lines_of(assess(DATA, ["sex"], "w", method=method))
    assert any(f"{method}, the formula of" in line for line in lines)


@pytest.mark.parametrize(
    ("tau", "said"),
    [
        ([1.8e-15, 2.0], "The estimates are between 1.8e-15 and 2"),
        ([0.4, 30.0], "The estimates are between 0.4 and 30"),
        ([0.5, 30.0], "The largest estimate is 60 times the smallest"),
    ],
)
def test_a_ratio_is_told_of_people(tau, said):
    plain = estimate_uniques(
        {"k": list(range(30)) * 2}, ["k"], population=900, cells=50
    ).to_dict()
    plain |= {"disagreement": tau[1] / tau[0], "range": tau}
    assert uniques_text(plain, "T").endswith(f"\n  {said}")


def test_population_below_sample_is_told():
    with pytest.warns(PopulationBelowSample):
        result = assess({"k": [1, 1, 2], "w": [0.5, 0.5, 3.0]}, ["k"], "w")
    figures = strict(summary(result))
    assert (figures["cells_below_sample"], figures["records_below_sample"]) == (1, 2)
    told = [line for line in lines_of(result) if "(F < f)" in line]
    assert len(told) == 1
    assert "1 cell with 2 records: their risk is taken as 1/f" in told[0]


def test_table_of_the_riskiest():
    data = {"long name": ["x" * 100, "é", None], "f": [1, 2, 3], "w": [5.0, 9.0, 1e7]}
    result = assess(data, ["long name", "f"], "w", missing="category")
    lines = lines_of(result)
    header, *rows = lines[lines.index("  Riskiest combinations") + 1 :]
    assert header.split() == ["long", "name", "f", "f", "F", "p", "risk"]
    assert [row.split()[0] for row in rows] == ["x" * 39 + "…", "é", "(missing)"]
    assert len({len(row) for row in (header, *rows)}) == 1
    assert rows[0].split()[2:4] == ["1", "5"]


def test_large_counts_are_not_rounded():
    n = 1_234_567
    figures = summary(assess({"k": np.zeros(n, np.int8)}, ["k"]))
    assert "  1,234,567  1.23457e+06  1  8.10001e-07" in text(figures, "title")


def test_labels_cannot_steer_the_terminal():
    evil = ["\x1b[2J\x1b[31mred", "a\nb\rc", "\u202ereversed", "\x9b31m", "\ud800"]
    data = {"k\x1b]0;title\x07": evil, "w": [2.0] * 5}
    result = assess(data, list(data)[:1], "w")
    shown = text(summary(result), "file\x1b[31m.csv")
    assert all(c.isprintable() for line in shown.split("\n") for c in line)
    assert "\\x1b[31mred" in shown
    assert "a\\nb\\rc" in shown
    assert len(shown.splitlines()) == len(lines_of(assess(DATA, ["sex"], "w"))) + 3


@given(st.text())
def test_printable(label):
    shown = printable(label)
    assert shown.isprintable()
    assert shown == label or not label.isprintable()
