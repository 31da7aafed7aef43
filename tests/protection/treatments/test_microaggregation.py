"""Microaggregation: optimal groups by brute force, MDAV by a full search."""

import math
from itertools import combinations

import numpy as np
import pyarrow
import pytest

import riskcore
from riskcore.protection.records.treated import treated_columns
from riskcore.protection.treatments.microaggregation import (
    MeansRounded,
    groups_of,
    mdav,
    univariate_groups,
)
from riskcore.protection.treatments.rules import Treatment
from riskcore.protection.treatments.strata import SmallStrata


def treated(words, *columns, **more):
    names = tuple("abc"[: len(columns)])
    columns = dict(zip(names, (np.asarray(x, float) for x in columns), strict=True))
    rule = Treatment.of("x", words)
    return list(treated_columns(columns, {names: [rule]}, **more).values())


def sse(x, group):
    return sum(((x[group == g] - x[group == g].mean(0)) ** 2).sum() for g in set(group))


def partitions(items, k):
    """Yield all partitions into groups of at least k, contiguous or not."""
    if not items:
        yield []
    first, rest = items[:1], items[1:]
    for size in range(k, len(items) + 1):
        for others in combinations(rest, size - 1):
            left = [one for one in rest if one not in others]
            if not left or len(left) >= k:
                for more in partitions(left, k):
                    yield [first + list(others), *more]


def least_sse(x, k):
    """Return the least sum of squares within of all partitions."""
    found = math.inf
    for groups in partitions(list(range(len(x))), k):
        found = min(found, sum(((x[g] - x[g].mean()) ** 2).sum() for g in groups))
    return found


@pytest.mark.parametrize("k", [2, 3, 4])
def test_groups_of_a_column_are_optimal_among_all_partitions(k):
    rng = np.random.default_rng(k)
    for n in range(k, 10):
        for draw in (rng.normal, rng.standard_cauchy, rng.exponential):
            x = draw(size=n).round(1)
            group = univariate_groups(x, k)
            assert np.bincount(group).min() >= k
            assert sse(x, group) == pytest.approx(least_sse(x, k), rel=1e-12, abs=1e-12)


def test_a_column_is_grouped_better_than_by_groups_of_fixed_size():
    # Groups of three from the smallest value on would have 4, 100, 101 and 102.
    (result,) = treated("microaggregate:3", [1.25, 2, 3, 4, 100, 101, 102])
    assert result.tolist() == [2.56] * 4 + [101.0] * 3


def test_large_values_do_not_spoil_the_sums_of_squares():
    x = np.array([0.0, 1, 2, 10, 11, 12, 20, 21, 22])
    (result,) = treated("microaggregate:3", x + 2.0**40)
    assert (result - 2.0**40).tolist() == [1, 1, 1, 11, 11, 11, 21, 21, 21]


def mdav_by_full_search(x, k):
    """Make the groups of Domingo-Ferrer and Torra (2005) word for word."""
    group = np.full(len(x), -1)
    left = list(range(len(x)))

    def squares(center):
        total = np.zeros(len(left))
        for j, value in enumerate(center):
            total += (x[left, j] - value) ** 2
        return total

    def make(center, number):
        nearest = np.lexsort((left, squares(center)))[:k]
        members = [left[i] for i in nearest]
        group[members] = number
        for one in members:
            left.remove(one)

    number = 0
    while len(left) >= 2 * k:
        pair = len(left) >= 3 * k
        average = [math.fsum(x[left, j]) / len(left) for j in range(x.shape[1])]
        center = x[left[int(np.argmax(squares(average)))]]
        make(center, number)
        number += 1
        if pair:
            center = x[left[int(np.argmax(squares(center)))]]
            make(center, number)
            number += 1
    group[left] = number
    return group


@pytest.mark.parametrize("n", [3, 5, 6, 8, 9, 11, 12, 100, 500])
@pytest.mark.parametrize("p", [2, 3, 7])
@pytest.mark.parametrize("k", [2, 3, 5])
def test_the_tree_finds_what_a_full_search_finds(n, p, k):
    if n < k:
        return
    rng = np.random.default_rng(100 * n + 10 * p + k)
    for x in (
        rng.normal(size=(n, p)),
        np.exp(2 * rng.normal(size=(n, p))),
        rng.integers(0, 4, (n, p)).astype(float),  # many ties
        np.zeros((n, p)),
    ):
        found = mdav(x, k)
        assert np.array_equal(found, mdav_by_full_search(x, k))
        size = np.bincount(found)
        assert size.min() >= k
        assert size.max() < 2 * k


def test_mdav_gives_the_means_that_sdcmicro_gives():
    # mdav(data.frame(a, b), K = 3) of sdcMicro 5.8.1; its last group has four records.
    a = np.array([1, 2, 4, 7, 11, 16, 22, 29, 37, 46]) + 1e-9
    b = np.array([9, 3, 5, 1, 8, 2, 6, 4, 7, 0]) + 1e-9
    first, second = treated("microaggregate:3", a, b)
    groups = [0, 1, 0, 1, 0, 2, 1, 2, 1, 2]
    assert first == pytest.approx([(16 / 3, 17.0, 91 / 3)[g] for g in groups])
    assert second == pytest.approx([(22 / 3, 17 / 4, 2.0)[g] for g in groups])


@pytest.mark.parametrize("k", [2, 3, 10])
@pytest.mark.parametrize("columns", [1, 2, 3])
def test_every_value_stands_for_at_least_k_records(k, columns):
    rng = np.random.default_rng(k)
    values = [np.exp(rng.normal(size=500)) for _ in range(columns)]
    for one in values:
        one[rng.random(500) < 0.1] = np.nan
    weights = rng.uniform(1, 50, 500)
    stratum = rng.integers(0, 9, 500)
    result = treated(
        f"microaggregate:{k}:within=S", *values, weights=weights, strata={"S": stratum}
    )
    for old, new in zip(values, result, strict=True):
        assert np.array_equal(np.isnan(old), np.isnan(new))
        present = ~np.isnan(new)
        cells = np.stack([stratum[present], new[present]], axis=1)
        assert np.unique(cells, axis=0, return_counts=True)[1].min() >= k
        assert new[present] @ weights[present] == pytest.approx(
            old[present] @ weights[present], rel=1e-12
        )


def test_means_without_weights_are_plain_ones():
    (result,) = treated("microaggregate:2", [0.5, 1.5, 10.25, 20.75])
    assert result.tolist() == [1.0, 1.0, 15.5, 15.5]
    weighted = treated("microaggregate:2", [0.5, 1.5, 3.0, 4.0], weights=np.zeros(4))
    assert weighted[0].tolist() == [1.0, 1.0, 3.5, 3.5]


def test_equal_values_stay_to_the_bit():
    value = 0.1 + 0.2
    (result,) = treated("microaggregate:3", [value] * 5, weights=np.arange(5.0) / 7)
    assert result.tolist() == [value] * 5


def test_an_incomplete_record_joins_the_nearest_group():
    a = [0.5, 1.5, 2.5, 90, 91, 92, 1.0, np.nan, np.nan]
    b = [0.5, 1.5, 2.5, 90, 91, 92, np.nan, 89, np.nan]
    first, second = treated("microaggregate:3", a, b)
    assert first[0] == first[1] == first[2] == first[6] == round(5.5 / 4, 1)
    assert second[3] == second[4] == second[5] == second[7] == 90.5
    assert np.isnan([first[7], first[8], second[6], second[8]]).all()


def test_columns_are_standardized_before_they_are_grouped():
    rng = np.random.default_rng(4)
    x = rng.normal(size=(60, 2))
    scaled = x * [1000.0, 0.0625] + [5.0, -7.0]
    assert np.array_equal(groups_of(x, 3), groups_of(scaled, 3))


def test_a_constant_column_does_not_matter():
    x = np.random.default_rng(5).normal(size=60)
    with_constant = np.stack([x, np.full(60, 3.0)], axis=1)
    alone = np.stack([x, np.zeros(60)], axis=1)
    assert np.array_equal(groups_of(with_constant, 3), groups_of(alone, 3))


def test_small_strata_are_grouped_together_and_said():
    stratum = {"S": np.array([1, 1, 1, 2, 3, 3])}
    with pytest.warns(SmallStrata, match="treat a=microaggregate:3:within=S: 2 strata"):
        (result,) = treated(
            "microaggregate:3:within=S", [1, 2, 3, 7, 8, 9], strata=stratum
        )
    assert result.tolist() == [2, 2, 2, 8, 8, 8]


def test_fewer_records_than_k_are_refused():
    with pytest.raises(ValueError, match="treat a=microaggregate:3: needs at least 3"):
        treated("microaggregate:3", [1, 2, np.nan])
    with pytest.raises(
        ValueError, match="treat a\\+b=microaggregate:3: needs at least 3"
    ):
        treated("microaggregate:3", [1, 2, 3, np.nan], [1, 2, np.nan, 4])


def test_a_column_without_values_stays():
    assert np.isnan(treated("microaggregate:3", [np.nan] * 4)).all()


def test_the_order_of_the_records_does_not_matter_without_ties():
    rng = np.random.default_rng(6)
    x = rng.normal(size=(200, 3))
    order = rng.permutation(200)
    before = np.stack(treated("microaggregate:3", *x.T))
    after = np.stack(treated("microaggregate:3", *x[order].T))
    assert np.allclose(before[:, order], after, rtol=1e-13)


def test_gower_is_found_by_a_full_search():
    draw = np.random.default_rng(3)
    x, c = draw.lognormal(8, 1, 50).round(), draw.integers(0, 4, 50)
    group = groups_of(np.column_stack([x, c]), 4, [False, True])

    def distances(point, shares):
        gaps = abs(x - point) / np.ptp(x)
        return gaps + np.array(
            [0.5 * abs(np.eye(4)[code] - shares).sum() for code in c]
        )

    left, number, expected = np.arange(50), 0, np.full(50, -1)
    while len(left) >= 8:
        center = x[left].mean(), np.eye(4)[c[left]].mean(axis=0)
        for _ in range(2 if len(left) >= 12 else 1):
            far = left[np.argmax(distances(*center)[left])]
            center = x[far], np.eye(4)[c[far]]
            near = left[np.argsort(distances(*center)[left], kind="stable")[:4]]
            expected[near], number = number, number + 1
            left = np.setdiff1d(left, near)
    expected[left] = number
    assert (group == expected).all()


def test_categories_become_the_most_frequent_of_the_group():
    x, d = [1.0, 2.0, 3.0, 51.0, 52.0, 53.0, 2.0], [2, 1, 2, 3, 3, 3, None]
    data = {"K": [1] * 7, "X": x, "C": list("aabccba"), "D": d}
    treat = {"X+C+D": "microaggregate:3:median:categories=C+D"}
    safe = riskcore.protect(data, ["K"], threshold=1.0, treat=treat).data
    assert list(safe["X"]) == [2.0] * 3 + [52.0] * 3 + [2.0]
    assert list(safe["C"]) == list("aaaccca")
    assert list(safe["D"]) == [2, 2, 2, 3, 3, 3, None]
    treat = {"X": "microaggregate:3:categories=K"}
    with pytest.raises(ValueError, match="'K' is not treated here"):
        riskcore.protect(data, ["K"], threshold=1.0, treat=treat)


@pytest.mark.parametrize("k", range(2, 7))
def test_medians_are_those_of_the_groups(k):
    x = np.random.default_rng(k).normal(size=40)
    (new,) = treated(f"microaggregate:{k}:median:decimals", x)
    group = univariate_groups(x, k)
    assert all((new[group == g] == np.median(x[group == g])).all() for g in set(group))


def test_means_of_whole_numbers_are_rounded_with_a_word():
    x = [20.0, 21.0, 21.0]
    with pytest.warns(MeansRounded, match="the column has whole numbers"):
        assert list(treated("microaggregate:3", x)[0]) == [21.0] * 3
    assert list(treated("microaggregate:3:decimals", x)[0]) == [62 / 3] * 3
    data = pyarrow.table({"K": [1] * 3, "X": [20, 21, 21]})
    treat = {"X": "microaggregate:3:decimals"}
    safe = riskcore.protect(data, ["K"], threshold=1.0, treat=treat).data
    assert safe["X"].to_pylist() == [62 / 3] * 3


def test_long_work_tells_how_far_it_is_and_can_be_ended():
    class EndedError(Exception):
        pass

    said = []

    def say(line):
        said.append(line)
        if len(said) == 3:
            raise EndedError

    points = np.random.default_rng(1).normal(size=(40_000, 2))
    with pytest.raises(EndedError):
        groups_of(points, 3, say=say)
    assert said == [
        f"grouping similar records: {share}" for share in ("0%", "30%", "60%")
    ]
