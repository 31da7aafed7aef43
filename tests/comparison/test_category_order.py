"""The order of categories that are made of numbers."""

import random

import pytest

from riskcore import Recoding, compare
from riskcore.comparison.tables import in_order


@pytest.mark.parametrize(
    "ordered",
    [
        ["< 15", "[15, 30)", "[30, 100)", "[100, 200)", ">= 200"],
        ["<= 5", "(5, 10]", "(10, 15]", "> 15"],
        ["0-4", "5-9", "10-14", "100+"],
        ["under 5", "5 to 9", "10 and over"],
        ["1", "2", "10", "10.5"],
        [-3, 2.5, 10],
        ["-10", "-9-5", "-1", "0"],
    ],
)
def test_by_number(ordered):
    mixed = ordered[:]
    for seed in range(5):
        random.Random(seed).shuffle(mixed)
        assert in_order(mixed) == ordered


def test_others_stay_as_they_are():
    for given in (["b", "a"], ["10", "9", "x"], [True, False], [(2,), (1,)], []):
        assert in_order(given) == given


def test_the_tables_of_a_key_are_in_that_order():
    ages = [str(age) for age in (5, 15, 99, 100, 120, 150)]
    groups = {"age": Recoding.intervals([15, 100, 150], closed="left")}
    safe = {"age": ["< 15", "[15, 100)", "[15, 100)", "[100, 150)", None, ">= 150"]}
    (key,) = compare({"age": ages}, safe, ["age"], recodings=groups).keys
    expected = ["< 15", "[15, 100)", "[100, 150)", ">= 150", None]
    assert [row.category for row in key.table] == expected
    (plain,) = compare({"age": ages}, {"age": ages}, ["age"], strata=["age"]).keys
    assert [row.category for row in plain.table] == ages
