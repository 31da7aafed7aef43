import math
import os
from collections import defaultdict
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from riskcore.data import count as module
from riskcore.data.count import count, count_dense, count_partitioned


def brute_force(codes, weight):
    """Cells in order: codes, frequency, correctly rounded sum, and the inverse."""
    members = defaultdict(list)
    rows = zip(*(c.tolist() for c in codes), strict=True)
    for record, combination in enumerate(rows):
        members[combination].append(record)
    cells = sorted(members)
    inverse = np.empty(len(codes[0]), int)
    for k, cell in enumerate(cells):
        inverse[members[cell]] = k
    frequency = [len(members[cell]) for cell in cells]
    if weight is None:
        return cells, frequency, frequency, inverse
    return cells, frequency, [math.fsum(weight[members[c]]) for c in cells], inverse


def assert_cells(counts, codes, weight):
    cells, frequency, sums, inverse = brute_force(codes, weight)
    assert list(zip(*(c.tolist() for c in counts.codes), strict=True)) == cells
    assert [c.dtype for c in counts.codes] == [c.dtype for c in codes]
    assert counts.frequency.dtype == np.int64
    assert counts.frequency.tolist() == frequency
    assert counts.inverse.dtype == np.int32
    assert counts.inverse.tolist() == inverse.tolist()
    assert counts.weight_sum.dtype == np.float64
    np.testing.assert_array_max_ulp(counts.weight_sum, np.array(sums, float), 1)


def assert_same_bits(one, other):
    assert one.frequency.tobytes() == other.frequency.tobytes()
    assert one.weight_sum.tobytes() == other.weight_sum.tobytes()
    assert one.inverse.tobytes() == other.inverse.tobytes()
    for a, b in zip(one.codes, other.codes, strict=True):
        assert a.tobytes() == b.tobytes()


@st.composite
def files(draw):
    levels = draw(st.lists(st.integers(1, 6), min_size=1, max_size=5))
    n = draw(st.integers(1, 40))
    codes = [
        np.array(
            draw(st.lists(st.integers(0, k - 1), min_size=n, max_size=n)),
            draw(st.sampled_from([np.uint8, np.uint16, np.uint32])),
        )
        for k in levels
    ]
    weight = draw(
        st.none()
        | st.lists(st.floats(1e-300, 1e300), min_size=n, max_size=n).map(np.array)
    )
    return codes, levels, weight


@settings(deadline=None)
@given(files())
def test_both_ways_are_the_brute_force(file):
    codes, levels, weight = file
    dense = count_dense(codes, levels, weight, 1)
    assert_cells(dense, codes, weight)
    assert_same_bits(dense, count_partitioned(codes, levels, weight, 1))
    assert_same_bits(dense, count(codes, levels, weight))


@settings(deadline=None)
@given(files(), st.integers(12, 20))
def test_keys_taken_in_steps_are_the_same_cells(file, code_bits):
    codes, levels, weight = file
    assert_same_bits(
        count_partitioned(codes, levels, weight, 1),
        count_partitioned(codes, levels, weight, 1, code_bits),
    )


@settings(deadline=None, max_examples=20)
@given(files(), st.integers(2, 5))
def test_threads_do_not_show_in_small_files(file, threads):
    codes, levels, weight = file
    for way in (count_dense, count_partitioned):
        assert_same_bits(
            way(codes, levels, weight, 1), way(codes, levels, weight, threads)
        )


@pytest.fixture(scope="module")
def large():
    """Skewed levels, weights over 20 decades, several blocks and parts."""
    rng = np.random.default_rng(11)
    levels = [14, 300, 5, 7]
    codes = [
        np.minimum(rng.zipf(1.5, 300_000) - 1, k - 1).astype(np.min_scalar_type(k - 1))
        for k in levels
    ]
    return codes, levels, 10 ** rng.uniform(-10, 10, 300_000)


@pytest.mark.parametrize("way", [count_dense, count_partitioned])
def test_neither_threads_nor_order_show_in_large_files(way, large):
    codes, levels, weight = large
    two = way(codes, levels, weight, 2)
    assert_same_bits(way(codes, levels, weight, 1), two)
    assert_cells(two, codes, weight)
    order = np.random.default_rng(3).permutation(len(weight))
    shuffled = way([code[order] for code in codes], levels, weight[order], 2)
    assert shuffled.frequency.tobytes() == two.frequency.tobytes()
    assert shuffled.inverse.tobytes() == two.inverse[order].tobytes()
    np.testing.assert_array_max_ulp(shuffled.weight_sum, two.weight_sum, 1)


def test_threads_are_used_where_they_pay(large, monkeypatch):
    codes, levels, weight = large
    used = []
    dense = count_dense
    monkeypatch.setattr(
        module, "count_dense", lambda *a: used.append(a[-1]) or dense(*a)
    )
    monkeypatch.setattr(os, "cpu_count", lambda: 8)
    count(codes[:1], levels[:1], weight)
    count([codes[0][:10]], levels[:1], weight[:10])
    assert used == [2, 1]


def test_codes_that_would_be_misread_are_refused():
    codes = np.array([0, 3], np.uint8)
    with pytest.raises(ValueError, match="not below the cardinality"):
        count([codes], [3])
    with pytest.raises(ValueError, match="differ in length"):
        count([codes, codes[:1]], [4, 4])


def test_strided_codes():
    codes = np.array([0, 9, 1, 9, 0], np.uint8)[::2]
    assert count([codes], [2]).inverse.tolist() == [0, 1, 0]


def test_more_keys_than_numpy_has_dimensions():
    codes = [np.array([0, 0, 0], np.uint8)] * 69 + [np.array([1, 0, 1], np.uint8)]
    assert_cells(count_dense(codes, [1] * 69 + [2], None, 1), codes, None)


@pytest.mark.parametrize("way", [count_dense, count_partitioned])
def test_one_cell_of_a_million_records(way):
    n = 1_000_000
    weight = np.random.default_rng(5).uniform(1e-8, 1.0, n)
    weight[0] = 1e8
    cells = way([np.zeros(n, np.uint8)], [1], weight, 2)
    assert cells.frequency.tolist() == [n]
    assert cells.weight_sum.tolist() == [math.fsum(weight)]
    assert not cells.inverse.any()


def test_plain_summation_would_fail_here():
    weight = np.array([1.0] + [2.0**-53] * 1000)
    assert np.cumsum(weight)[-1] == 1.0
    codes = [np.zeros(len(weight), np.uint8)]
    exact = float(sum(map(Fraction, weight)))
    for way in (count_dense, count_partitioned):
        assert way(codes, [1], weight, 1).weight_sum.tolist() == [exact]


def test_keys_beyond_64_bits():
    """Seventy keys: the last alone tells many records apart."""
    rng = np.random.default_rng(8)
    codes = [rng.integers(0, 2, 500).astype(np.uint8) for _ in range(69)]
    codes = [np.sort(code)[::-1].copy() for code in codes]
    codes.append(rng.integers(0, 90, 500).astype(np.uint8))
    assert_cells(count(codes, [2] * 69 + [90]), codes, None)


def test_wide_keys_of_32_bits():
    rng = np.random.default_rng(9)
    codes = [rng.choice([0, 1, 2**32 - 1], 400).astype(np.uint32) for _ in range(5)]
    weight = rng.uniform(1, 2, 400)
    assert_cells(count(codes, [2**32] * 5, weight), codes, weight)


def test_overflow_of_a_sum_is_not_finite():
    weight = np.array([1e308, 1e308])
    for way in (count_dense, count_partitioned):
        total = way([np.zeros(2, np.uint8)], [1], weight, 1).weight_sum
        assert not np.isfinite(total).any()


def test_too_many_records_are_refused():
    endless = np.broadcast_to(np.uint8(0), (1 << 31,))
    with pytest.raises(ValueError, match="2147483648 records"):
        count([endless], [1])
