"""What categories lose by suppression: by hand, and in the text of a comparison."""

import json

import pytest

import riskcore
from riskcore.comparison.losses import CategoryLoss, losses_of
from riskcore.report.utility_text import comparison_text

BEFORE = {
    "job": list("aaaabbbbcc"),
    "sex": list("fmfmfmfmfm"),
    "w": [1.0] * 8 + [5.0] * 2,
}
AFTER = {**BEFORE, "job": [*"aaa", None, *"bbbb", None, "c"]}


def compared(after=AFTER):
    return riskcore.compare(BEFORE, after, ["sex", "job"], "w")


def test_losses_by_hand():
    found = compared()
    c, a, *others = found.losses
    assert c == found.largest_loss
    assert (c.key, c.category, c.records_before, c.records_after) == ("job", "c", 2, 1)
    assert c.lost == 0.5
    assert (c.known_before, c.known_after) == (10 / 18, 5 / 12)
    assert (a.category, a.lost) == ("a", 0.25)
    assert (a.known_before, a.known_after) == (4 / 18, 3 / 12)
    assert [one.lost for one in others] == [0, 0, 0]
    assert [one.key for one in others] == ["sex", "sex", "job"]
    assert found.largest_change == c
    assert c.change == pytest.approx(5 / 12 - 10 / 18)
    # half of the sum of the changes of a, b and c, and nothing for sex
    moved = (3 / 12 - 4 / 18) + (4 / 12 - 4 / 18)
    assert found.mean_total_variation_of_values == pytest.approx(moved / 2)


def test_equal_files_lose_nothing():
    found = compared(BEFORE)
    assert found.largest_loss is None
    assert found.mean_total_variation_of_values == 0
    assert found.to_dict()["losses"]["categories"] == []
    assert "Categories that lost most" not in comparison_text(found.to_dict(), "title")


def test_a_key_that_loses_all_its_values():
    found = compared({**BEFORE, "job": [None] * 10})
    assert found.largest_loss.lost == 1
    assert found.largest_loss.known_after == 0


def test_categories_are_those_after_recoding():
    groups = {"job": riskcore.Recoding.mapping({"a": "ab", "b": "ab"})}
    after = {**BEFORE, "job": [*["ab"] * 7, None, "c", "c"]}
    found = riskcore.compare(BEFORE, after, ["job"], "w", recodings=groups)
    assert found.largest_loss.category == "ab"
    assert found.largest_loss.lost == 1 / 8


def test_files_of_other_sizes_have_no_losses():
    fewer = {name: column[:9] for name, column in AFTER.items()}
    found = compared(fewer)
    assert found.losses == ()
    assert found.largest_change is None
    plain = found.to_dict()["losses"]
    assert (plain["largest_change"], plain["categories"]) == (None, [])
    comparison_text(found.to_dict(), "title")


def test_a_category_that_only_the_safe_file_has_lost_nothing():
    rows = riskcore.compare({"a": ["x"] * 3}, {"a": ["x", "x", "y"]}, ["a"]).keys[0]
    assert rows.table == ()
    found = list(losses_of("a", compared().key("job").table))
    assert [type(one) for one in found] == [CategoryLoss] * 3


def test_text_and_json_list_what_lost_most():
    figures = compared().to_dict()
    plain = figures["losses"]
    assert [one["category"] for one in plain["categories"]] == ["c", "a"]
    assert plain["largest_change"]["key"] == "job"
    assert json.loads(json.dumps(figures, allow_nan=False)) == figures
    lines = comparison_text(figures, "title").splitlines()
    first = next(i for i, line in enumerate(lines) if "Categories that lost" in line)
    assert lines[first + 2].split() == (
        ["job", "c", "2", "1", "50", "%", "55.6", "%", "41.7", "%"]
    )
    assert "the share of job=c changed most, from 55.6 % to 41.7 %" in lines[first + 4]
