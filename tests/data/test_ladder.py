"""Ladders: rungs that join, hierarchies, and what the values of a column suggest."""

import datetime

import numpy as np
import pytest

from riskcore.data.columns import Records, code_column
from riskcore.data.ladder import ALL, Ladder, Rungs
from riskcore.data.proposed_ladder import proposed_ladder


def column(values):
    """Return a column as codes."""
    return code_column(Records.of({"x": values}), "x")


def test_rungs_join_what_is_below():
    rungs = Rungs.of(column([1, 2, 3, 4, None]), Ladder.of(["from:3", ALL]))
    assert [group.tolist() for group in rungs.groups] == [
        [0, 1, 2, 3, 4], [0, 0, 1, 1, 2], [0, 0, 0, 0, 1],
    ]  # fmt: skip
    assert [size.tolist() for size in rungs.sizes] == [[1] * 4, [2] * 4, [4] * 4]
    assert (len(rungs), rungs.domain, rungs.rule(0), rungs.rule(2)) == (3, 4, None, ALL)


@pytest.mark.parametrize("numbers", [False, True])
def test_a_hierarchy_has_values_that_a_file_has_not(tmp_path, numbers):
    path = tmp_path / "towns.csv"
    path.write_text("1;low;all\n2;low;all\n3;high;all\n4;high;all\n")
    values = [1, 2, 4] if numbers else ["1", "2", "4"]
    rungs = Rungs.of(column(values), Ladder.of(path))
    assert rungs.domain == 4
    assert [size.tolist() for size in rungs.sizes] == [[1] * 3, [2] * 3, [4] * 3]


@pytest.mark.parametrize(
    ("rules", "error", "message"),
    [
        ([], ValueError, "needs rules"),
        ([5], TypeError, "not a rule in words"),
        (["age"], TypeError, "not a rule in words"),
        (["round:4", "from:2"], ValueError, "'x': from:2 separates values"),
    ],
)
def test_what_is_no_ladder(rules, error, message):
    with pytest.raises(error, match=message):
        Rungs.of(column([*range(8)]), Ladder.of(rules))


def proposed(values):
    """Return the proposed rules of a column, and its number of groups by rung."""
    coded = column(values)
    ladder = proposed_ladder(coded)
    rungs = Rungs.of(coded, ladder)  # which refuses rungs that separate
    return ladder.rules, [len(np.unique(group)) - 1 for group in rungs.groups]


def test_bands_of_ages():
    rules, groups = proposed([*range(100)] * 3)
    assert rules[0].startswith("from:5,10,15,20")
    assert rules[1].startswith("from:10,20,30")
    assert rules[-1] == ALL
    assert groups == sorted(groups, reverse=True)


def test_bands_of_amounts_end_at_round_limits():
    amounts = np.random.default_rng(1).lognormal(9, 1, 3000).round(2)
    rules, groups = proposed(amounts)
    limits = [float(x) for x in rules[0].removeprefix("from:").split(",")]
    assert len(limits) <= 41
    step = limits[1] - limits[0]
    assert step in (500.0, 1000.0, 5000.0)
    assert all(x % step == 0 for x in limits)
    assert groups == sorted(groups, reverse=True)
    assert len(rules) > 2


def test_codes_lose_their_last_letters():
    codes = [f"{a}{b}{c}" for a in "AB" for b in "123" for c in "xyzw"]
    rules, groups = proposed(codes)
    assert rules == ("truncate:1", "truncate:2", ALL)
    assert groups == [24, 6, 2, 1]
    assert proposed([f"{x:03d}" for x in range(100)])[0][0] == "truncate:1"


def test_dates_become_months_and_years():
    days = [datetime.date(2020, 1, 1) + datetime.timedelta(9 * x) for x in range(99)]
    assert proposed(days)[0] == ("month", "quarter", "year", ALL)


def test_rare_categories_are_merged():
    values = [*"a" * 600, *"b" * 300, *"c" * 60, *"d" * 30, *"e" * 5, *"f" * 5]
    rules, groups = proposed(values)
    assert rules[0] == "map:e=other,f=other"
    assert rules[1] == "map:d=other,e=other,f=other"
    assert groups == sorted(groups, reverse=True)
    assert proposed(["m", "f"])[0] == (ALL,)
