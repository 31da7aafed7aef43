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
    assert (len(rungs), rungs.domain, rungs.ladder.rules[1]) == (3, 4, ALL)


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


def test_bands_that_join_nothing_are_left_out():
    rules, groups = proposed([x * 100 + y for x in range(1, 13) for y in range(9)] * 3)
    assert rules[0].startswith("from:150,200,250")
    assert rules[1] == "from:500,1000"  # bands of 100 would join nothing
    assert groups == [108, 12, 3, 1]


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


def isco():
    """Return codes like those of ISCO-08, four digits, each of ten people."""
    majors = [
        (a, b, c, d) for a in "1234567" for b in "123" for c in "12" for d in "12"
    ]
    return ["".join(digits) for digits in majors] * 10


@pytest.mark.parametrize(
    ("values", "rules", "groups"),
    [
        # NACE: classes, with the point, and a file with several levels.
        (
            [f"{x}.{y}" for x in ("A01", "A02", "C25", "C26", "G47") for y in "123"],
            ("truncate:2", "truncate:4", ALL),
            [15, 5, 3, 1],
        ),
        (
            [*"ABD", "C25", "C25.6", "C25.61", "C25.62", "C26.1", "C26.11", "C26.12",
             "C27.2", "C27.21", "G47.1"],
            (
                "map:C25.61=C25.6,C25.62=C25.6,C26.11=C26.1,C26.12=C26.1,C27.21=C27.2",
                "map:C25.6=C25,C25.61=C25,C25.62=C25,C26.1=C26,C26.11=C26,C26.12=C26,"
                "C27.2=C27,C27.21=C27,G47.1=G47",
                "map:C25=C,C25.6=C,C25.61=C,C25.62=C,C26.1=C,C26.11=C,C26.12=C,"
                "C27.2=C,C27.21=C,G47.1=G",
                ALL,
            ),
            [13, 8, 7, 5, 1],
        ),
        # NUTS.
        (
            [x + y for x in ("AT13", "AT21", "DE2A", "DE22", "DE3B") for y in "125"],
            ("truncate:1", "truncate:2", "truncate:3", ALL),
            [15, 5, 4, 2, 1],
        ),
        # ISCO, as text and as numbers.
        (isco(), ("truncate:1", "truncate:2", "truncate:3", ALL), [84, 42, 21, 7, 1]),
        (
            [*map(int, isco())],
            (
                f"from:{','.join(sorted({x[:3] + '0' for x in isco()})[1:])}",
                f"from:{','.join(sorted({x[:2] + '00' for x in isco()})[1:])}",
                "from:2000,3000,4000,5000,6000,7000",
                ALL,
            ),
            [84, 42, 21, 7, 1],
        ),
        (["011", "012", "021", *(f"{x}" for x in range(111, 123))], None, None),
    ],
    ids=["nace", "nace levels", "nuts", "isco", "isco numbers", "leading zeros"],
)  # fmt: skip
def test_codes_of_a_classification_lose_a_level_at_a_time(values, rules, groups):
    found, kinds = proposed(values)
    assert rules or found[0] == "truncate:1"
    assert rules is None or (found, kinds) == (rules, groups)


@pytest.mark.parametrize(
    "values",
    [
        [*range(1930, 2010)] * 3,  # years
        [*range(10, 96)] * 3,  # ages
        [*range(140, 205)] * 3,  # heights
        [*range(1100, 9000, 50)] * 3,  # pay
        [*range(5000)],  # ids, and any number of digits
        [*range(1001, 9999, 7)],  # of single people
        [*range(1007, 9999, 700)] * 9,  # few
        [x + 0.5 for x in range(1001, 9999, 77)] * 9,
    ],
)
def test_other_numbers_are_no_codes(values):
    *bands, last = proposed(values)[0]
    limits = [[*map(float, x.removeprefix("from:").split(","))] for x in bands]
    steps = [np.diff(x) for x in limits]
    assert (last, len(steps) > 0) == (ALL, True)
    assert all(np.ptp(step) == 0 and len(step) <= 41 for step in steps)


@pytest.mark.parametrize(
    "values",
    [
        [f"R{x}" for x in range(1, 41)],  # numbered, R1 is not above R10
        ["teacher", "nurse", "baker", *(f"clerk {x}" for x in range(20))],
        ["AUT", "BEL", "BGR", "CHE", "CYP", "CZE", "DEU", "DNK", "ESP", "EST", "FIN",
         "FRA", "GBR", "GRC"],
        ["0-4", "5-9", *(f"{x}-{x + 4}" for x in range(10, 80, 5))],
    ],
)  # fmt: skip
def test_other_text_is_no_code_of_a_classification(values):
    assert proposed([*values, *values[:2] * 9])[0][0].startswith("map:")


def test_codes_that_no_rule_can_name_are_not_merged():
    values = [*"a" * 600, *"b" * 300, "x,y", "u=v", "*", " w", "", *"cd"]
    values += ["two\nlines", "\u202enirts"]  # neither on a line of text
    assert proposed(values)[0][0] == "map:c=other,d=other"


def test_dates_in_text_get_a_ladder_of_dates():
    days = [f"2020-{month:02}-{day:02}" for month in (1, 2, 7) for day in (1, 2, 3)]
    assert proposed_ladder(column(days)).rules == ("month", "quarter", "year", ALL)
