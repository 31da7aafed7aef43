"""Pages and pictures of comparisons and of trials."""

import re

import numpy as np
import pytest

import riskcore
from riskcore import chart
from riskcore.page import comparison_page, trials_page
from riskcore.report.spots import nice, spots
from riskcore.report.utility_page import MOST_CATEGORIES

HOSTILE = '<img src=x onerror=alert(1)> & "q" \x1b[31m $x$ \u202e'


def files(name="sex", code="f"):
    original = {name: [code, "m", "m", code], "age": [1, 1, 2, 2], "x": [1.0, 2, 3, 4]}
    return original, {**original, name: [code, None, "m", code]}


def found(**options):
    return riskcore.compare(
        *files(), ["sex", "age"], columns=["x"], strata=["age"], **options
    )


def test_the_page_has_every_part():
    page = comparison_page(found(), title="Utility")
    for part in (
        "For internal use", "Tables before and after", "Two-way tables",
        "Columns of numbers", "Suppressed values by stratum", "Propensity score",
        "(missing)",
    ):  # fmt: skip
        assert part in page
    assert comparison_page(found(), title="Utility") == page
    # Of sex: f 50 and 50 %, m 50 and 25 %, missing 0 and 25 %.
    widths = re.findall(r'class="(?:before|after)"[^>]*? width="([\d.]+)%"', page)
    assert widths[:6] == ["100.00", "100.00", "100.00", "50.00", "0.00", "50.00"]


def test_text_of_files_is_escaped():
    original, safe = files(HOSTILE, HOSTILE)
    one = riskcore.compare(original, safe, [HOSTILE, "age"], strata=[HOSTILE])
    page = comparison_page(one, title=HOSTILE)
    tried = riskcore.try_out(original, [HOSTILE], {HOSTILE: {"threshold": 0.6}})
    for text in (page, trials_page(tried, title=HOSTILE)):
        assert "<img" not in text
        assert "\x1b" not in text
        assert "\u202e" not in text
        assert "&lt;img" in text
    chart.comparison_figure(one).canvas.draw()
    chart.risk_utility_figure(tried).canvas.draw()


def test_of_many_categories_those_that_have_changed_most():
    rng = np.random.default_rng(1)
    original = {"code": rng.integers(0, 200, 5000)}
    safe = {"code": np.ma.MaskedArray(original["code"], original["code"] < 3)}
    one = riskcore.compare(original, safe, ["code"])
    page = comparison_page(one, title="Many")
    assert f"The {MOST_CATEGORIES} categories that have changed most, of 201" in page
    title = chart.comparison_figure(one).axes[0].get_title(loc="left")
    assert "25 most changed of 201" in title


def test_keys_that_cannot_be_compared():
    original, safe = files()
    safe["sex"] = ["x", "y", "z", "x"]
    one = riskcore.compare(original, safe, ["sex"])
    page = comparison_page(one, title="Other")
    assert "3 categories of the safe file are not in the original" in page
    assert "Tables before and after" not in page
    with pytest.raises(ValueError, match="give the recodings"):
        chart.comparison_figure(one)


def tried(**candidates):
    data = {"sex": list("ffmff"), "age": [15, 16, 31, 32, 33]}
    return riskcore.try_out(data, ["sex", "age"], candidates)


def test_the_page_of_trials():
    page = trials_page(tried(a={"threshold": 0.6}, b={}), title="Tried")
    assert page.count("<circle") == 1
    assert "no threshold" in page
    nothing = trials_page(tried(b={}), title="Tried")
    assert "<circle" not in nothing
    with pytest.raises(ValueError, match="nothing to draw"):
        chart.risk_utility_figure(tried(b={}))


def test_spots_stand_where_their_figures_are():
    drawn = spots([(5.0, 0.25, "1", True), (10.0, 0.5, "2", False)], "id")
    places = re.findall(r'class="(\w+)" cx="([\d.]+)%" cy="([\d.]+)"', drawn)
    assert places == [("best", "50.000", "120.00"), ("one", "100.000", "0.00")]


@pytest.mark.parametrize("most", [1e-9, 0.1, 0.2, 0.99, 1.0, 3.0, 99.0, 1e5])
def test_axes_end_at_round_numbers(most):
    assert most <= nice(most) <= 2.5 * most
