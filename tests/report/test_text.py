"""The summary of an assessment and of estimates as text."""

import warnings

import numpy as np
import pytest

from riskcore import Reading, assess, estimate_uniques
from riskcore.assessment.cell_risk import PopulationBelowSample
from riskcore.report.summary import summary
from riskcore.report.text import text, uniques_text

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


def test_only_what_was_asked_for():
    figures = summary(assess(DATA, ["sex"], "w"), top=0)
    assert not {"for_rate", "for_unsafe", "households"} & set(figures)
    assert figures["riskiest"] == []
    assert "Riskiest" not in text(figures, "title")
    assert "Households" not in text(figures, "title")


@pytest.mark.parametrize("weight", [1e300, 1e-300, 1e-320])
def test_extreme_weights_can_be_told(weight):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        how = Reading(weight_scale=1)
        data = {"k": [1, 2], "w": [weight] * 2}
        figures = summary(assess(data, ["k"], "w", reading=how))
    assert figures["population"] == 2 * weight
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
    assert summary(tied, rate=1.0)["for_rate"]["threshold"] is None


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
    (said,) = (line for line in lines_of(result) if "(F < f)" in line)
    assert "1 cell with 2 records: their risk is taken as 1/f" in said


def test_table_of_the_riskiest():
    data = {"long name": ["x" * 100, "é", None], "f": [1, 2, 3], "w": [5.0, 9.5, 1e5]}
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
