"""Diversity of cells against its definitions, in fractions."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from riskcore.assessment.distributions import distributions
from riskcore.assessment.diversity_of_cells import (
    diverse,
    equal_distance,
    ordered_distance,
)
from riskcore.data.cells import tabulate
from riskcore.data.coded import CodedRecords


def of_counts(*cells):
    """Return the distributions of cells, given how often each value occurs."""
    rows = [(k, v) for k, cell in enumerate(cells) for v, n in enumerate(cell)
            for _ in range(n)]  # fmt: skip
    keys, values = (list(column) for column in zip(*rows, strict=True))
    codes = np.array(values, np.uint8)
    levels = max(map(len, cells))
    return distributions(tabulate({"k": keys}, ["k"]), codes, levels)


def largest_l(counts, c):
    """Return the largest l of recursive diversity by its definition."""
    r = sorted((n for n in counts if n), reverse=True)
    return max(
        (k for k in range(1, len(r) + 1) if r[0] < c * sum(r[k - 1 :])), default=0
    )


cells_of_counts = st.integers(1, 6).flatmap(
    lambda m: st.lists(
        st.lists(st.integers(0, 9), min_size=m, max_size=m).filter(any),
        min_size=1, max_size=5,
    )
)  # fmt: skip
constants = st.fractions(Fraction(1, 10), 12, max_denominator=20)


@given(cells_of_counts, constants)
def test_definitions(cells, c):
    m = len(cells[0])
    total = [sum(cell[v] for cell in cells) for v in range(m)]
    N = sum(total)
    found = of_counts(*cells)
    l = diverse(found, c)  # noqa: E741
    equal, ordered = equal_distance(found), ordered_distance(found)
    for k, cell in enumerate(cells):
        n = sum(cell)
        shares = [Fraction(x, n) for x in cell if x]
        assert l.distinct[k] == len(shares)
        H = -math.fsum(float(p) * math.log(p) for p in shares)
        assert l.entropy[k] == pytest.approx(math.exp(H), rel=1e-13)
        assert l.recursive[k] == largest_l(cell, c)
        gaps = [
            Fraction(x, n) - Fraction(y, N) for x, y in zip(cell, total, strict=True)
        ]
        # Whole numbers below 2**53: the fraction is rounded once.
        assert equal[k] == float(sum(map(abs, gaps)) / 2)
        crossing = [abs(sum(gaps[: i + 1])) for i in range(m)]
        assert ordered[k] == (float(sum(crossing) / (m - 1)) if m > 1 else 0.0)


def test_entropy_of_equal_shares_is_a_whole_number():
    found = of_counts(*[[1] * m + [0] * (30 - m) for m in range(1, 31)])
    assert diverse(found, Fraction(1)).entropy.tolist() == list(range(1, 31))
    # (1/2, 1/8, 1/8, 1/8, 1/8) has the entropy log 4.
    assert diverse(of_counts([4, 1, 1, 1, 1]), Fraction(1)).entropy.tolist() == [4.0]


def test_entropy_next_to_a_whole_number_is_not_rounded():
    # Shares of 1/2 +- d, d = 1/8002: 2 - 4 d^2.
    close = diverse(of_counts([2000, 2001]), Fraction(1)).entropy[0]
    assert 2 - 1e-7 < close < 2


def test_recursive_diversity_is_strict_and_exact():
    # r_1 = 3 and c (r_2 + ...) = 0.1 * 30 = 3: not smaller.
    found = of_counts([3] + [3] * 10)
    assert diverse(found, Fraction("0.1")).recursive.tolist() == [1]
    assert diverse(found, Fraction("0.11")).recursive.tolist() == [2]
    # Numerators of 50 bits: the products are not doubles.
    c = Fraction(2**50 + 1, 2**50)
    assert diverse(of_counts([1, 1]), c).recursive.tolist() == [2]
    assert diverse(of_counts([1, 1]), Fraction(1)).recursive.tolist() == [1]


def test_large_cells():
    rng = np.random.default_rng(3)
    cells = [rng.geometric(0.01, 200).tolist(), rng.integers(0, 3, 200).tolist()]
    got = diverse(of_counts(*cells), Fraction(3))
    for k, cell in enumerate(cells):
        assert got.recursive[k] == largest_l(cell, 3)


# --- missing keys ---

rows = st.integers(1, 4).flatmap(
    lambda d: st.lists(
        st.tuples(
            st.tuples(*[st.none() | st.integers(0, 1)] * d), st.integers(0, 3)
        ),
        min_size=1, max_size=12,
    )
)  # fmt: skip


def counts_for(row, other, alpha, rule):
    """Return what the other record counts for this one (notes/files.md)."""
    if row == other or all(value is None for value in row):
        return 1
    pairs = zip(row, other, strict=True)
    if any(None not in (x, y) and x != y for x, y in pairs):
        return 0
    if None not in other:
        return 1
    unmatched = rule == "wildcard" and len(row) > 1 and None not in row
    if unmatched and all(value is None for value in other):
        return 0
    return alpha


@given(rows, st.sampled_from([0.0, 0.5, 1.0]), st.sampled_from(["wildcard", "argus"]),
       st.integers(3, 4))  # fmt: skip
@pytest.mark.parametrize("chunk", [1, 1 << 17])
def test_missing_keys_match_any_value(chunk, rows, alpha, rule, levels):
    alpha = 1.0 if rule == "argus" else alpha
    keys = [row for row, _ in rows]
    data = {j: list(column) for j, column in enumerate(zip(*keys, strict=True))}
    cells = tabulate(data, list(data), missing=rule, alpha=alpha)
    codes = np.array([value for _, value in rows], np.uint8)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("riskcore.assessment.distributions._CHUNK", chunk)
        found = distributions(cells, codes, levels)
    for i, row in enumerate(keys):
        expected = dict.fromkeys(range(levels), 0.0)
        for other, value in rows:
            if value < levels:
                expected[value] += counts_for(row, other, alpha, rule)
        cell = int(cells.inverse[i])
        at = slice(found.begin[cell], found.begin[cell + 1])
        got = dict(
            zip(found.value[at].tolist(), found.number[at].tolist(), strict=True)
        )
        assert got == {value: n for value, n in expected.items() if n}
    assert found.total.tolist() == [
        sum(value == v for _, value in rows) for v in range(levels)
    ]


@pytest.mark.parametrize("chunk", [7, 1 << 17])
def test_many_values_and_missing_keys(chunk, monkeypatch):
    # What cells of few records have in common with others is more than their own.
    monkeypatch.setattr("riskcore.assessment.distributions._CHUNK", chunk)
    rng = np.random.default_rng(6)
    keys = [tuple(None if rng.random() < 0.4 else int(x) for x in rng.integers(0, 3, 4))
            for _ in range(300)]  # fmt: skip
    values = rng.integers(0, 60, 300).astype(np.uint8)
    data = {j: list(column) for j, column in enumerate(zip(*keys, strict=True))}
    cells = tabulate(data, list(data), missing="wildcard", alpha=0.5)
    found = distributions(cells, values, 60)
    for i, row in enumerate(keys):
        expected = np.zeros(60)
        for other, value in zip(keys, values.tolist(), strict=True):
            expected[value] += counts_for(row, other, 0.5, "wildcard")
        cell = int(cells.inverse[i])
        at = slice(found.begin[cell], found.begin[cell + 1])
        got = np.zeros(60)
        got[found.value[at]] = found.number[at]
        assert got.tolist() == expected.tolist()
        assert (np.diff(found.value[at]) > 0).all()
    assert len(found.value) > 4 * len(cells) + 60


def test_frequencies_are_those_of_the_cells():
    rng = np.random.default_rng(8)
    data = {
        key: [None if rng.random() < 0.2 else int(x) for x in rng.integers(0, 4, 500)]
        for key in "abc"
    }
    data["s"] = rng.integers(0, 5, 500)
    cells = tabulate(data, list("abc"), missing="wildcard", alpha=0.25)
    column = CodedRecords.of(data, ["s"]).columns["s"]
    found = distributions(cells, column.codes, column.levels)
    sums = np.add.reduceat(found.number, found.begin[:-1])
    assert sums.tolist() == cells.sample_frequency.tolist()
