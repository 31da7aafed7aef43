"""Singling out and linkability, against all queries and all pairs."""

import math
from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import hypergeom

from riskcore.disclosure import known_attacks
from riskcore.disclosure.known_attacks import (
    alone_in_sample,
    linkability,
    singling_out,
)
from riskcore.disclosure.mixed_records import MixedRecords
from tests.thin import examples

LEVELS = [3, 2, 3, 2]
records = st.tuples(*(st.integers(0, k - 1) for k in LEVELS))
files = st.lists(records, min_size=1, max_size=14)


def codes(rows):
    """Return the columns of records given as tuples."""
    return [np.array(column, np.uint8) for column in zip(*rows, strict=True)]


def of_keys(rows):
    """Return records given as tuples, without numbers."""
    return MixedRecords.of_categories(codes(rows))


def true_of(query, file):
    """Return how many records a query of (key, value, is or is not) is true of."""
    return sum(all((r[key] == v) == agree for key, v, agree in query) for r in file)


def queries(released, size):
    """Return all queries that single out in a release."""
    stated = {
        tuple((key, record[key], True) for key in chosen)
        for chosen in combinations(range(len(LEVELS)), size)
        for record in released
    }
    return [query for query in stated if true_of(query, released) == 1]


@examples(40)
@given(files, files, st.integers(1, 4))
def test_queries_are_all_that_single_out(released, original, size):
    found = singling_out(of_keys(released), of_keys(original), LEVELS, size)
    asked = queries(released, size)
    assert found.queries == len(asked)
    assert found.successes == sum(true_of(query, original) == 1 for query in asked)
    assert found.right == found.successes
    assert math.isnan(found.control)


@examples(20)
@given(files, files)
def test_random_queries_are_all_equally_probable(released, original):
    found = singling_out(of_keys(released), of_keys(original), LEVELS, 2)
    rates = []
    for chosen in combinations(range(len(LEVELS)), 2):
        values = [sorted({r[key] for r in released}) for key in chosen]
        asked = [
            true_of([*zip(chosen, stated, agree, strict=True)], original)
            for stated in product(*values)
            for agree in product([True, False], repeat=2)
        ]
        rates.append(np.mean(np.array(asked) == 1))
    assert found.baseline == pytest.approx(np.mean(rates), rel=1e-13)


@examples(20)
@given(files, files, files)
def test_a_control_is_compared_in_samples_of_equal_size(released, original, control):
    files = map(of_keys, (released, original, control))
    released_one, original_one, control_one = files
    found = singling_out(released_one, original_one, LEVELS, 2, control_one)
    least = min(len(original), len(control))
    for file, number in ((original, found.right), (control, found.control)):
        wanted = sum(
            hypergeom(len(file), true_of(query, file), least).pmf(1)
            for query in queries(released, 2)
        )
        assert number == pytest.approx(wanted, rel=1e-11, abs=1e-12)


def test_many_values_are_counted_without_a_table(monkeypatch):
    rng = np.random.default_rng(1)
    released, original = (
        MixedRecords.of_categories(
            [rng.integers(0, k, 200).astype(np.uint8) for k in (40, 30, 50)]
        )
        for _ in range(2)
    )
    found = singling_out(released, original, [40, 30, 50], 2)
    monkeypatch.setattr(known_attacks, "_MOST_COUNTERS", 10)
    again = singling_out(released, original, [40, 30, 50], 2)
    assert again[:3] == found[:3]
    assert found.successes > 0
    assert math.isnan(again.baseline)


def test_one_key():
    released, original = (
        MixedRecords.of_categories([np.array(one, np.uint8)])
        for one in ([0, 1, 1, 2], [0, 0, 1, 2, 2, 2])
    )
    found = singling_out(released, original, [3])
    assert (found.queries, found.successes) == (2, 0)
    # "is 1", and "is not" is true of four, five or three.
    assert found.baseline == 1 / 6


def test_columns_that_are_not_contiguous():
    rng = np.random.default_rng(2)
    table = rng.integers(0, 3, (50, 3)).astype(np.uint8)
    slices = MixedRecords.of_categories([table[:, j] for j in range(3)])
    columns = [np.ascontiguousarray(column) for column in slices.codes]
    whole = MixedRecords.of_categories(columns)
    assert singling_out(slices, slices, [3] * 3)[:4] == pytest.approx(
        singling_out(whole, whole, [3] * 3)[:4], nan_ok=True
    )


def mixed(rows, keys):
    """Return records given as tuples of keys and then numbers."""
    table = np.array(rows, float)
    return MixedRecords([*table[:, :keys].T.astype(np.uint8)], table[:, keys:])


@examples(40)
@given(
    st.lists(st.tuples(*[st.integers(0, 2)] * 2, *[st.integers(0, 4)] * 2), min_size=2),
    st.lists(st.tuples(*[st.integers(0, 2)] * 2, *[st.integers(0, 4)] * 2), min_size=2),
    st.lists(st.tuples(*[st.integers(0, 2)] * 2, *[st.integers(0, 4)] * 2), min_size=2),
    st.integers(1, 4),
)
def test_queries_of_numbers_ask_for_extremes(released, original, control, size):
    middle = np.median(np.array(released, float), axis=0)

    def true(query, r):
        return all(
            r[key] == v
            if key < 2
            else (r[key] >= v if v > middle[key] else r[key] <= v)
            for key, v in query
        )

    asked = [
        [(key, record[key]) for key in chosen]
        for chosen in combinations(range(4), size)
        for record in released
    ]
    asked = [q for q in asked if sum(true(q, r) for r in released) == 1]
    files = mixed(released, 2), mixed(original, 2), [3, 3], size, mixed(control, 2)
    found = singling_out(*files)
    assert found.queries == len(asked)
    of = [[sum(true(q, r) for r in f) for q in asked] for f in (original, control)]
    assert found.successes == of[0].count(1)
    least = min(len(original), len(control))
    for file, counts, number in zip(
        (original, control), of, (found.right, found.control), strict=True
    ):
        wanted = sum(hypergeom(len(file), c, least).pmf(1) for c in counts)
        assert number == pytest.approx(wanted, rel=1e-11, abs=1e-12)
    assert math.isnan(found.baseline)


def random_file(n, seed):
    """Return n records of three keys and two numbers."""
    rng = np.random.default_rng(seed)
    codes = [rng.integers(0, k, n).astype(np.uint8) for k in (4, 5, 6)]
    return MixedRecords(codes, rng.normal(size=(n, 2)))


def test_the_estimates_of_parts_are_on_average_the_figures_of_all(monkeypatch):
    released, original, control = (random_file(n, n) for n in (400, 300, 350))
    files = released, original, [4, 5, 6], 3, control
    whole = singling_out(*files)
    assert whole.asked == 400
    found = []
    for part in range(4):

        def some(n, references, pairs, part=part):
            rows = np.arange(n)
            return rows if n == 10 else rows[part::4]  # 10 sets of columns

        monkeypatch.setattr(known_attacks, "selected", some)
        found.append(singling_out(*files))
    assert [one.asked for one in found] == [100] * 4
    assert len({one.queries for one in found}) > 1
    assert np.mean(found, axis=0)[:4] == pytest.approx(whole[:4], rel=1e-12)


def test_few_pairs_are_looked_at_in_a_large_file(monkeypatch):
    files = random_file(400, 1), random_file(400, 2), [4, 5, 6]
    # 9 of the 10 sets have numbers; 8 times as many pairs as in other measures.
    monkeypatch.setattr(known_attacks, "PAIRS", 100 * 9 * 400 // 8)
    assert singling_out(*files).asked == 100
    by_keys = (MixedRecords.of_categories(one.codes) for one in files[:2])
    assert singling_out(*by_keys, files[2]).asked == 400


def test_some_sets_of_columns(monkeypatch):
    released, original = random_file(300, 1), random_file(300, 2)
    whole = singling_out(released, original, [4, 5, 6])
    monkeypatch.setattr(known_attacks, "_MOST_SETS", 4)
    some = singling_out(released, original, [4, 5, 6])
    assert 0 < some.queries < whole.queries


def test_alone_in_a_sample_of_a_large_file():
    records = np.array([0, 1, 2, 3, 50, 1000, 1000, 999_000])
    wanted = hypergeom(1_000_000, records, 400_000).pmf(1).sum()
    found = alone_in_sample(records, 1_000_000, 400_000)
    assert found == pytest.approx(wanted, rel=1e-8)
    assert alone_in_sample(np.zeros(0, int), 5, 3) == 0
    assert alone_in_sample(np.zeros(3, int), 5, 3) == 0


@examples(60)
@given(files, files, st.sampled_from([([0], [1]), ([0, 1], [2]), ([3, 0], [2, 1])]))
def test_links_are_those_of_all_pairs(original, released, sides):
    def closest(record, side):
        apart = [sum(record[key] != r[key] for key in side) for r in released]
        return {j for j, x in enumerate(apart) if x == min(apart)}

    wanted = 0.0
    for record in original:
        one, two = (closest(record, side) for side in sides)
        wanted += len(one & two) / len(one) / len(two)
    found = linkability(codes(original), codes(released), LEVELS, *sides)
    assert found.persons == pytest.approx(wanted, rel=1e-13)
    assert found.share * len(original) == pytest.approx(wanted, rel=1e-13)
    assert found.asked == len(original)


def test_halves_share_no_key():
    file = codes([(0, 0, 0, 0)])
    for sides in (([0], [0, 1]), ([], [1])):
        with pytest.raises(ValueError, match="disjoint"):
            linkability(file, file, LEVELS, *sides)
