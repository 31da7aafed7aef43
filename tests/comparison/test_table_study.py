"""Tables of users before and after protection."""

import math
from dataclasses import replace

import pytest

from riskcore import compare
from riskcore.comparison.analyses import TableCell, TableComparison, Z
from tests.comparison.survey import blanked, survey


def test_shares_of_a_table_and_their_margins():
    before = {"a": list("xxxyyyyyyy"), "b": [1, 1, 2, 1, 1, 1, 2, 2, 2, 2]}
    after = {**before, "a": [None, *before["a"][1:]]}
    (table,) = compare(before, after, ["a", "b"], tables=["a x b"]).tables
    assert (table.records_before, table.records_after) == (10, 9)
    assert (table.incomplete_before, table.incomplete_after) == (0, 1)
    cells = {one.categories: one for one in table.cells}
    assert list(cells) == [("x", 1), ("x", 2), ("y", 1), ("y", 2)]
    first = cells["x", 1]
    assert first.share_before == pytest.approx(0.2)
    assert first.share_after == pytest.approx(1 / 9)
    assert first.margin == pytest.approx(Z * math.sqrt(0.2 * 0.8 / 9))
    assert table.largest is first
    assert table.total_variation == pytest.approx(0.2 - 1 / 9)
    assert "points, at a = x, b = 1: 20 % before, 11.1 % after" in table.verdict
    assert table.verdict.startswith("conclusions unchanged: all 4 shares stay")


def test_weighted_margins_are_those_of_a_sample_with_replacement():
    data = survey()
    (table,) = compare(data, data, ["sex"], "w", tables=[("roof",)]).tables
    w = data["w"]
    for cell in table.cells:
        d = data["roof"] == cell.categories[0]
        p = (w * d).sum() / w.sum()
        variance = (w**2 * (d - p) ** 2).sum() / w.sum() ** 2 * 1000 / 999
        assert cell.share_before == pytest.approx(p, rel=1e-12)
        assert cell.margin == pytest.approx(Z * math.sqrt(variance), rel=1e-10)


def test_shares_that_leave_their_intervals():
    data = survey()
    safe = blanked(data, "roof", {i for i in range(1000) if data["roof"][i] == 9})
    (table,) = compare(data, safe, ["roof"], tables=["roof x sex"]).tables
    assert table.status == "changed"
    assert len(table.cells) == 8
    assert all(one.outside for one in table.cells if one.categories[0] == 9)
    n = len(table.outside)
    assert table.verdict.startswith(f"{n} of 8 shares leave their 95 % interval; the ")
    one = TableCell(("x",), 0.5, 0.75, 0.1)
    found = TableComparison(("a",), 9, 9, 0, 0, 0.25, (one, replace(one, margin=1)), "")
    assert found.verdict.startswith("1 of 2 shares leaves its 95 % interval; the large")
    other = {**data, "roof": list("abcde") * 200}
    (table,) = compare(data, other, ["sex"], tables=["roof"]).tables
    assert (table.status, table.cells) == ("no verdict", ())
    assert table.verdict.startswith("no verdict: 'roof': its categories are text only")
    nothing = {**data, "roof": [None] * 1000}
    (table,) = compare(data, nothing, ["sex"], tables=["roof"]).tables
    assert table.verdict == (
        "no verdict: after protection no record has a value in each column"
    )
