"""Charts on the pages of diversity and SUDA show the numbers of the results."""

import re

import numpy as np

from riskcore import check, describe, diversity, suda
from riskcore.report.page_charts import bar_top
from riskcore.report.sheet_page import (
    MOST_VALUES,
    part_charts,
    records_by_values,
    sheet_page,
)


def test_columns_are_the_records_by_distinct_values():
    data = {"zip": [1, 1, 2, 2, 2, 3], "illness": list("aaabbc")}
    (chart,) = part_charts(diversity(data, ["zip"], "illness"))
    titles = re.findall("<title>(.*?)</title>", chart.drawing)
    assert titles == ["0: 0 records", "1: 3 records", "2: 3 records"]
    marked = re.findall('<g class="(marked|bars)">', chart.drawing)
    assert marked == ["marked", "marked", "bars"]
    heights = re.findall(r'height="([\d.]+)"><title>', chart.drawing)
    assert heights[1] == heights[2] != heights[0]


def test_many_values_share_a_column():
    many = MOST_VALUES + 5
    data = {"k": ["a"] * many + ["b"], "x": [*range(many), 0]}
    (one,) = diversity(data, ["k"], "x").variables
    labels, records = records_by_values(one)
    assert labels[-1] == f"{MOST_VALUES} or more"
    assert (records[1], records[-1]) == (1, many)


def test_contributions_are_bars_from_0_to_100():
    random = np.random.default_rng(1)
    data = {name: random.integers(0, 4, 40) for name in ("a", "b", "c", "d")}
    found = suda(data, list(data))
    none, chart = part_charts(found)
    assert none is None
    widths = re.findall(r'<rect width="([\d.]+)%"', chart.drawing)
    assert widths == [f"{100 * x:.3f}" for x in found.contributions()["share"]]
    assert chart.drawing.count('<rect class="whole" width="100%"') == 4
    page = sheet_page(found._sheet(), title="T", charts=part_charts(found))
    assert chart.drawing in page
    assert page.index("What contributes to the scores") < page.index(chart.drawing)


def test_without_scores_no_share_is_drawn():
    _, chart = part_charts(suda({"a": [1, 1], "b": [2, 2]}, ["a", "b"]))
    assert re.findall(r'<rect width="([\d.]+)%"', chart.drawing) == ["0.000"] * 2


def test_other_results_have_no_chart():
    assert part_charts(check({"a": [1, 1]}, ["a"], k=2)) == []


def test_names_are_cut_in_the_terminal_but_not_on_the_page():
    name = "occupation_of_the_reference_person"
    found = describe({name: [1, 2, 2]})
    page = sheet_page(found._sheet(), title="T")
    assert f"<bdi>{name}</bdi>" in page
    assert f"{name[:23]}…" in found.text()
    assert name not in found.text()


def test_small_shares_keep_a_scale_that_says_so():
    assert [bar_top([x]) for x in (0, 0.00035, 0.01, 0.011, 0.1, 0.2, 1)] == [
        0.01, 0.01, 0.01, 0.1, 0.1, 1.0, 1.0,
    ]  # fmt: skip
    assert bar_top([]) == 0.01
