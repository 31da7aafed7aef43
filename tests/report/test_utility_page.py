"""Pages and pictures of comparisons and of trials."""

import re

import numpy as np
import pytest

import riskcore
from riskcore.report import utility_text, utility_view
from riskcore.report.page import protection_page
from riskcore.report.page_charts import nice, spots
from riskcore.report.public_page import public_protection_page
from riskcore.report.utility_view import comparison_page, trials_page, utility_of
from tests import needs
from tests.accepted import ANY_LEAK
from tests.report.reading import table_of

PAIRS = "Pairs of keys, the most changed first"
STRATA = "Values missing that were not before, and their share"
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
        "Numeric columns", "Suppressed values by stratum", "Propensity score",
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
    settings = {"threshold": 0.6, **ANY_LEAK}
    tried = riskcore.try_out(original, [HOSTILE], {HOSTILE: settings})
    for text in (page, trials_page(tried, title=HOSTILE)):
        assert "<img" not in text
        assert "\x1b" not in text
        assert "\u202e" not in text
        assert "&lt;img" in text


def test_verdicts_stand_first():
    original, safe = files()
    studies = {"models": ["x ~ sex", "sex ~ number(age)"], "tables": ["sex x age"]}
    one = riskcore.compare(original, safe, ["sex", "age"], **studies)
    page = comparison_page(one, title="T")
    titles = re.findall(r"<h2[^>]*>(?:Table )?(?:<bdi>)?(.*?)<", page)
    assert titles[:5] == [
        "Verdicts", "x ~ sex", "sex ~ number(age)", "sex x age", "Keys"
    ]  # fmt: skip
    assert page.count('class="study kept"') + page.count('class="study changed"') == 3
    for verdict in one.verdicts:
        assert verdict.split(": ", 1)[1][1:40] in page
    rows = table_of(page, "Coefficients, with 95 % intervals")
    assert rows[0] == ["", "before", "after", "overlap", "difference"]
    # Of x: f 1 and 4, m 2 and 3 before, with squared residuals of 5 in all.
    assert [row[0] for row in rows[1:]] == [
        "(intercept)significance changes", "sex = m"
    ]  # fmt: skip
    assert [row[1].split("-")[0] for row in rows[1:]] == ["2.50.309 to 4.69", "0"]
    shares = table_of(page, "Share of the weight in each cell")
    assert shares[0][:3] == ["", "before", "after"]
    assert shares[1][:3] == ["f x 1", "25 %", "33.3 %"]
    assert "Verdicts" not in comparison_page(found(), title="T")


def test_many_cells_of_a_table_are_those_that_changed_most():
    code = np.arange(5000) % (utility_view.MOST_CELLS + 20)
    original = {"code": code}
    safe = {"code": np.ma.MaskedArray(code, code < 3)}
    one = riskcore.compare(original, safe, ["code"], tables=["code"])
    page = comparison_page(one, title="Many")
    assert f"The {utility_view.MOST_CELLS} of 60 cells that changed most" in page
    text = utility_text.comparison_text(one.to_dict(), "T")
    assert f"and {60 - utility_text.CELLS} shares that changed less" in text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "-"), (0.0, "0"), (1234.6, "1,235"), (-0.12345, "-0.123"),
        (0.000123456, "0.000123"), (-0.0000123456, "-1.23e-5"), (2e-300, "2e-300"),
    ],
)  # fmt: skip
def test_figures_have_three_digits(value, text):
    assert utility_text.number(value) == text


def test_a_propensity_score_is_explained():
    def lines(**options):
        return " ".join(utility_text.propensity_lines(found(**options).to_dict()))

    assert "It would be 0 if the score could not tell the safe file from" in lines()
    ratio = found().propensity.ratio
    assert f"this is {utility_text.number(ratio)} times as much, so the" in lines()
    original, _ = files()
    copy = riskcore.compare(original, original, ["sex"]).to_dict()
    (line,) = utility_text.propensity_lines(copy)
    assert line.endswith("the safe file from the original, and it cannot.")


def test_of_many_categories_those_that_have_changed_most():
    rng = np.random.default_rng(1)
    original = {"code": rng.integers(0, 200, 5000)}
    safe = {"code": np.ma.MaskedArray(original["code"], original["code"] < 3)}
    one = riskcore.compare(original, safe, ["code"])
    page = comparison_page(one, title="Many")
    assert (
        f"The {utility_view.MOST_CATEGORIES} of 201 categories that changed most"
        in page
    )


def test_keys_that_cannot_be_compared():
    original, safe = files()
    safe["sex"] = ["x", "y", "z", "x"]
    one = riskcore.compare(original, safe, ["sex"])
    page = comparison_page(one, title="Other")
    assert "3 categories of the safe file are not in the original" in page
    assert "Tables before and after" not in page


def tried(**candidates):
    data = {"sex": list("ffmff"), "age": [15, 16, 31, 32, 33]}
    return riskcore.try_out(data, ["sex", "age"], candidates)


def test_the_page_of_trials():
    settings = {"threshold": 0.6, **ANY_LEAK}
    page = trials_page(tried(a=settings, b={}), title="Tried")
    assert page.count("<circle") == 1
    assert "nothing to protect against" in page
    nothing = trials_page(tried(b={}), title="Tried")
    assert "<circle" not in nothing


def test_spots_stand_where_their_figures_are():
    drawn = spots([(5.0, 0.25, "1", True), (10.0, 0.5, "2", False)], "id")
    places = re.findall(r'class="(\w+)" cx="([\d.]+)%" cy="([\d.]+)"', drawn)
    assert places == [("best", "50.000", "120.00"), ("one", "100.000", "0.00")]


@pytest.mark.parametrize("most", [1e-9, 0.1, 0.2, 0.99, 1.0, 3.0, 99.0, 1e5])
def test_axes_end_at_round_numbers(most):
    assert most <= nice(most) <= 2.5 * most
    assert (nice(0.0), nice(0.0021), nice(10.0), nice(20)) == (1.0, 0.005, 10.0, 20.0)


# The section of a protection's report


def protected(**options):
    data = {"sex": list("ffmff"), "age": list("11222"), "area": list("aaabb")}
    return riskcore.protect(
        {**data, "w": [30.0] * 5},
        ["sex", "age"],
        "w",
        threshold=0.05,
        **{"strata": ["area"], **options},
    )


def section(page):
    """Return the section on utility, or None."""
    found = re.search(r'<section aria-labelledby="utility-.*?</section>', page, re.S)
    return found and found[0]


def test_the_report_of_a_protection_says_what_it_has_cost():
    result = protected()
    said = []
    found = utility_of(result, said.append)
    assert said[0] == "comparing the file before and after"
    assert "fitting the propensity score" in said
    text = section(protection_page(result, title="T", utility=found))
    rows = table_of(text, "Each key before and after")
    assert rows == utility_text.distance_rows(found.to_dict()["keys"], entropy=True)
    one = found.key("sex")
    numbers = one.original.entropy, one.safe.entropy, one.total_variation
    assert rows[1][:-1] == [
        "sex", str(one.suppressed), *(f"{x:.3g}" for x in numbers),
    ]  # fmt: skip
    assert f"pMSE {found.propensity.pmse:.3g}" in text
    assert f"{found.propensity.ratio:.3g} times" in text
    strata = table_of(text, STRATA)
    assert [row[:2] for row in strata[1:]] == [["a", "3"], ["b", "2"]]
    assert f"<b>{found.newly_missing}</b>" in text
    # As the page of `riskcore compare` says it.
    theirs = comparison_page(found, title="T")
    for caption in (PAIRS, STRATA):
        shown = table_of(text, caption)
        assert len(shown) > 2
        assert shown == table_of(theirs, caption)


def test_names_of_keys_are_whole_in_every_table():
    name = "*a* \u0627\u0644"
    original = {name: ["f", "m", "m"], "b": [1, 1, 2]}
    one = riskcore.compare(original, original, [name, "b"], strata=["b"])
    page = comparison_page(one, title="T")
    for caption in (
        STRATA,
        "Missing values, and distances of the weighted tables",
        "Each key before and after",
    ):
        cells = [cell for row in table_of(page, caption) for cell in row]
        assert name in cells
    assert page.count(f"<bdi>{name}</bdi>") >= 4


def test_of_many_pairs_and_strata_the_report_lists_some():
    rng = np.random.default_rng(2)
    data = {name: rng.integers(0, 3, 400) for name in "abcde"}
    data["area"] = np.arange(400) % 25
    result = riskcore.protect(data, list("abcde"), k=2, strata=["area"])
    page = protection_page(result, title="T", utility=utility_of(result))
    text = section(page)
    assert len(table_of(text, PAIRS)) == 6
    assert "10 pairs changed less" in text
    assert len(table_of(text, STRATA)) == 21
    assert "5 strata more" in text


def test_without_a_comparison_there_is_no_section():
    assert section(protection_page(protected(), title="T")) is None
    assert "Two-way" not in public_protection_page(protected())


def test_a_file_that_is_too_large_is_not_compared(monkeypatch):
    monkeypatch.setattr(utility_view, "MOST_RECORDS", 4)
    said = []
    reason = utility_of(protected(), said.append)
    assert "5 records" in reason
    assert "riskcore compare" in reason
    assert said == []
    text = section(protection_page(protected(), title="T", utility=reason))
    assert reason in text
    assert "<table" not in text
    monkeypatch.setattr(utility_view, "MOST_RECORDS", 5)
    assert isinstance(utility_of(protected()), riskcore.Comparison)


@needs.engine("duckdb")
def test_data_on_an_engine_are_not_compared():
    import duckdb

    table = duckdb.sql("select i % 3 as a, i % 2 as b from range(20) t(i)")
    result = riskcore.protect(table, ["a", "b"], k=2)
    assert "engine" in utility_of(result)
