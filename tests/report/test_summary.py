"""The summary of an assessment as plain values."""

import datetime
import json

import numpy as np
import pytest

from riskcore import assess
from riskcore.assessment.unit_risk import THRESHOLDS
from riskcore.report.summary import stage_figures, summary

DATA = {
    "sex": ["f", "m", "f", "m"],
    "w": [10.0, 20.0, 15.0, 25.0],
    "hh": [1, 1, 2, 3],
}


@pytest.fixture(scope="module")
def result():
    return assess(DATA, ["sex"], "w", "hh")


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
        THRESHOLDS
    )
    assert {row["records"] for row in figures["unsafe_households"]} == {2, 3, 4}


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


def test_thresholds_that_no_record_reaches_are_none():
    figures = strict(summary(assess({"k": [1, 2]}, ["k"]), unsafe=1))
    assert figures["for_unsafe"] == {"unsafe": 1, "threshold": None, "records": 0}
    assert figures["max_risk"] == 1.0


def test_a_summary_changes_no_figures_of_the_file(result):
    before = strict(result.figures)
    summary(result, rate=0.01)["households"].clear()
    assert strict(result.figures) == before
    assert set(before) - {"households"} <= set(summary(result))


def test_figures_of_a_stage_are_what_holds_at_its_thresholds(result):
    assert stage_figures(result, None, None, None) == result.figures
    told = stage_figures(result, 0.05, 0.1, 7)
    assert told["unsafe_records"] == 7
    assert told["at_risk_threshold"] == result.unsafe_count(0.05)
    assert told["capped_rate"] == result.distribution.capped_rate(0.05)
    assert told["unsafe_households"] == result.unsafe_household_count(0.1)
    members = np.count_nonzero(result.unsafe_households(0.1))
    assert told["records_in_unsafe_households"] == members
