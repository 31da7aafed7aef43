import datetime
import math
from collections import defaultdict
from fractions import Fraction

import mpmath
import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from riskcore.core.risk.household import household_risk, households

risks = st.one_of(
    st.floats(0.0, 1.0),
    st.floats(0.0, 300.0).map(lambda e: 10.0**-e),
    st.sampled_from([0.0, 0.5, 1.0, 2.0**-53, 1 - 2.0**-53, 2.0**-54, 5e-324]),
)
files = st.lists(st.tuples(risks, st.integers(-3, 3)), min_size=1, max_size=30)


def product_risk(members):
    """1 - prod(1 - r), at 50 digits beyond the smallest term."""
    smallest = min((r for r in members if r), default=1.0)
    with mpmath.workdps(50 - 2 * math.floor(math.log10(smallest))):
        product = mpmath.mpf(1)
        for r in members:
            product *= 1 - mpmath.mpf(r)
        return float(1 - product)


def want(risk, household):
    members = defaultdict(list)
    for r, g in zip(risk, household, strict=True):
        members[g].append(r)
    found = {g: product_risk(rs) for g, rs in members.items()}
    return [found[g] for g in household]


@settings(deadline=None)
@given(files)
def test_agrees_with_the_product(file):
    risk, household = map(list, zip(*file, strict=True))
    assert household_risk(risk, household).tolist() == want(risk, household)


@settings(deadline=None)
@given(files, st.randoms(use_true_random=False))
def test_order_of_records_does_not_change_a_bit(file, random):
    risk, household = map(list, zip(*file, strict=True))
    before = dict(zip(household, household_risk(risk, household), strict=True))
    random.shuffle(file)
    risk, household = map(list, zip(*file, strict=True))
    assert dict(zip(household, household_risk(risk, household), strict=True)) == before


@settings(deadline=None)
@given(files)
def test_lies_between_the_largest_and_the_sum(file):
    risk, household = map(np.array, zip(*file, strict=True))
    found = households(risk, household)
    for g, h in zip(found.ids, found.risk, strict=True):
        members = risk[household == g]
        assert members.max() <= h <= math.fsum(members)


@pytest.mark.parametrize(
    ("members", "result"),
    [
        ([1e-300] * 3, 3e-300),
        ([1e-17, 1e-17], 2e-17),
        ([1.0, 0.3], 1.0),
        ([0.3], 0.3),
        ([0.0, 0.3, -0.0], 0.3),
        ([0.0, 0.0], 0.0),
        ([0.5] * 200, 1.0),
        # Half-way between two doubles: to even, then up by a third member.
        ([0.5, 2.0**-53], 0.5),
        ([0.5, 2.0**-53, 1e-200], 0.5 + 2.0**-53),
        ([2.0**-53, 1e-200, 0.5], 0.5 + 2.0**-53),
        ([0.5] * 54, 1.0),
        # Half-way less 2^-158, more than two doubles can tell.
        ([2.0**-53 + 2.0**-105, 0.5 + 2.0**-53], 0.5 + 2.0**-53),
        ([5e-324] * 4, 4 * 5e-324),
    ],
)
def test_hard_households(members, result):
    assert households(members, [1] * len(members)).risk.tolist() == [result]


def test_many_members():
    risk = np.random.default_rng(1).random(5000) ** 30 / 100
    parts = [(1 - Fraction(r)).as_integer_ratio() for r in risk.tolist()]
    kept, whole = (math.prod(column) for column in zip(*parts, strict=True))
    exact = (whole - kept) / whole  # of integers, rounded once
    assert households(risk, np.zeros(5000, int)).risk[0] == exact


def test_an_undecided_household_among_others():
    risk = np.array([0.2, 0.5, 0.1, 2.0**-53, 0.2, 1e-200, 0.5, 2.0**-53])
    household = np.array([1, 2, 1, 2, 3, 2, 4, 4])
    assert household_risk(risk, household).tolist() == want(
        risk.tolist(), household.tolist()
    )


def test_nan_stays_in_its_household():
    found = households([0.5, math.nan, 0.1, 0.5], [1, 1, 2, 3])
    assert np.array_equal(found.risk, [math.nan, 0.1, 0.5], equal_nan=True)
    with pytest.raises(ValueError, match="1 of 3 are nan"):
        found.unsafe(0.2)
    with pytest.raises(ValueError, match="1 of 3 values are nan"):
        found.reidentification_rate  # noqa: B018


DAY = datetime.date(2001, 1, 1)
RISK = [0.5, 0.25, 0.5, 0.125]
RESULT = [0.75, 0.25, 0.75, 0.125]


@pytest.mark.parametrize(
    "household",
    [
        [7, -2, 7, 9],
        [10**17, 3, 10**17, 4],
        [10**30, 3, 10**30, 4],
        [2**63, -1, 2**63, 2**63 + 1],
        [(1, 2), (2, 1), (1, 2), (2, 2)],
        [1, "1", 1, 2],
        np.array([2**64 - 1, 0, 2**64 - 1, 5], np.uint64),
        np.array([2**64 - 1, 2**64 - 3, 2**64 - 1, 2**64 - 2], np.uint64),
        np.array([127, -128, 127, 0], np.int8),
        np.array([-(2**63), 2**63 - 1, -(2**63), 0]),
        ["b", "", "b", "c\0"],
        np.array(["b", 1, "b", (1, 2)], dtype=object),
        [1.5, math.inf, 1.5, -math.inf],
        [DAY, DAY.replace(year=2), DAY, DAY.replace(year=3)],
        np.array(["2001-01-01", "2002-01-01", "2001-01-01", "1999-01-01"], "M8[D]"),
        pd.Series(["b", "a", "b", "c"], index=[3, 2, 1, 0]),
        pd.Series([2, 1, 2, 5], dtype="Int64"),
        pd.Series(["b", "a", "b", "c"], dtype="category"),
        pl.Series(["b", "a", "b", "c"]),
        pl.Series([2, 1, 2, 5]),
        np.ma.array([2, 1, 2, 5]),
    ],
    ids=lambda ids: f"{type(ids).__name__}-{getattr(ids, 'dtype', '')}-{ids[0]!r}",
)
def test_identifiers_of_any_type(household):
    assert household_risk(RISK, household).tolist() == RESULT
    found = households(RISK, household)
    assert sorted(found.size.tolist()) == [1, 1, 2]
    assert [found.ids[g] for g in found.inverse] == list(household)


@pytest.mark.parametrize(
    "household",
    [
        [1, None, None, 2],
        [1.0, math.nan, math.nan, 2.0],
        ["a", None, math.nan, "b"],
        ["a", math.nan, math.nan, "b"],
        np.array(["2001-01-01", "NaT", "NaT", "2002-01-01"], "M8[D]"),
        pd.Series([1, None, None, 2], dtype="Int64"),
        pd.Series(["a", None, None, "b"]),
        pd.Series(["a", None, None, "b"], dtype="category"),
        pl.Series([1, None, None, 2]),
        pl.Series(["a", None, None, "b"]),
        np.ma.array([1, 2, 3, 4], mask=[0, 1, 1, 0]),
    ],
    ids=lambda ids: f"{type(ids).__name__}-{getattr(ids, 'dtype', '')}-{ids[0]!r}",
)
def test_missing_identifiers_are_refused(household):
    with pytest.raises(ValueError, match="household: 2 of 4 identifiers are missing"):
        household_risk(RISK, household)


def test_grouping_of_many_identifiers():
    rng = np.random.default_rng(3)
    risk = rng.random(20_000) / 10
    household = rng.integers(0, 9000, 20_000)
    result = household_risk(risk, household)
    ordered = np.argsort(household, kind="stable")
    for renamed, order in (
        (household * 10**12, slice(None)),
        (household.astype(str), slice(None)),
        (household.astype(object), slice(None)),
        (household, ordered),
        (household - 5000, rng.permutation(20_000)),
    ):
        again = household_risk(risk[order], renamed[order])
        assert np.array_equal(again, result[order])
    found = households(risk, household)
    assert np.array_equal(found.ids, np.unique(household))
    assert np.array_equal(found.ids[found.inverse], household)


def test_no_records():
    assert household_risk(np.zeros(0), np.zeros(0, int)).shape == (0,)
    assert len(households(np.zeros(0), [])) == 0


def test_the_file_as_a_whole():
    found = households([0.5, 0.25, 0.5, 0.125], ["x", "y", "x", "z"])
    assert found.reidentification_rate == (2 * 0.75 + 0.25 + 0.125) / 4
    assert found.unsafe(0.25).tolist() == [True, True, False]
    assert found.member_threshold(0.3).tolist() == [0.15, 0.3, 0.3]
    assert found.distribution.unsafe_count(0.25) == 3
    t = found.threshold_for_rate(0.25)
    assert found.distribution.capped_rate(t) == 0.25
    assert found.threshold_for_rate(0.9) == math.inf


@settings(deadline=None)
@given(files, st.floats(1e-6, 1.0))
def test_members_below_their_threshold_make_a_safe_household(file, threshold):
    risk, household = map(np.array, zip(*file, strict=True))
    found = households(risk, household)
    # A hair below: member_threshold and the sum of risks are rounded.
    delta = found.member_threshold(threshold * (1 - 1e-14))[found.inverse]
    capped = np.where(risk < delta, risk, 0.0)
    assert not households(capped, household).unsafe(threshold).any()
