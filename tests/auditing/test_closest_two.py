"""The two closest records, against all pairs."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from riskcore.auditing import cell_trees
from riskcore.auditing.cell_trees import MixedRecords
from riskcore.auditing.closest_two import two_closest
from tests.thin import examples


def distance(one, other, categories, ranges):
    """Return the distance of two records by its definition."""
    total = float(sum(a != b for a, b in zip(one[:categories], other, strict=False)))
    gaps = 0.0
    for x, y, width in zip(one[categories:], other[categories:], ranges, strict=True):
        gap = abs(x - y)
        if gap > 0:
            gaps += 1.0 if width == 0 else min(gap / width, 1.0)
    return total + gaps


def records(rows, categories, numbers):
    """Return records given as tuples."""
    table = np.array(rows, float).reshape(len(rows), categories + numbers)
    codes = [table[:, j].astype(np.uint8) for j in range(categories)]
    return MixedRecords(codes, table[:, categories:])


@st.composite
def two_files(draw):
    """Return two files as tuples, and how many categories and numbers they have."""
    categories = draw(st.integers(0, 3))
    numbers = draw(st.integers(0 if categories else 1, 3))
    value = st.one_of(st.integers(0, 3).map(float), st.floats(-2, 2))
    row = st.tuples(*[st.integers(0, 2)] * categories, *[value] * numbers)
    lists = [draw(st.lists(row, min_size=1, max_size=30)) for _ in range(2)]
    return *lists, categories, numbers


@examples(100)
@given(two_files())
def test_distances_are_those_of_all_pairs(drawn):
    query, reference, categories, numbers = drawn
    ranges = np.array([0.0, 3.0, 1.5][:numbers])
    found = two_closest(
        records(query, categories, numbers), records(reference, categories, numbers),
        [3] * categories, ranges,
    )  # fmt: skip
    for i, one in enumerate(query):
        all_of_them = sorted(distance(one, x, categories, ranges) for x in reference)
        assert found.first[i] == pytest.approx(all_of_them[0], abs=1e-15, rel=1e-14)
        second = all_of_them[1] if len(reference) > 1 else math.inf
        assert found.second[i] == pytest.approx(second, abs=1e-15, rel=1e-14)


def test_many_records_by_all_pairs(monkeypatch):
    rng = np.random.default_rng(5)
    files = []
    for n in (700, 900):
        kind = rng.integers(0, 3, n)
        codes = [
            (rng.random(n) ** (1 + kind) * k).astype(np.uint8) for k in (4, 3, 9, 7)
        ]
        files.append(MixedRecords(codes, rng.lognormal(kind[:, None], size=(n, 2))))
    ranges = np.ptp(files[1].numbers, axis=0)
    found = two_closest(*files, [4, 3, 9, 7], ranges)
    pairs = np.zeros((700, 900))
    for one, other in zip(files[0].codes, files[1].codes, strict=True):
        pairs += one[:, None] != other[None, :]
    gap = np.abs(files[0].numbers[:, None, :] - files[1].numbers[None, :, :]) / ranges
    pairs += np.minimum(gap, 1).sum(axis=2)
    pairs.sort(axis=1)
    np.testing.assert_allclose(found.first, pairs[:, 0], rtol=1e-14)
    np.testing.assert_allclose(found.second, pairs[:, 1], rtol=1e-14)
    monkeypatch.setattr(cell_trees, "_FEW", 100)  # in parts, by threads
    again = two_closest(*files, [4, 3, 9, 7], ranges)
    assert np.array_equal(again.first, found.first)
    assert np.array_equal(again.second, found.second)


def test_missing_numbers_are_refused():
    whole, broken = records([(1.0,)], 0, 1), records([(math.nan,)], 0, 1)
    for query, reference in ((whole, broken), (broken, whole)):
        with pytest.raises(ValueError, match="1 of 1 records have missing numbers"):
            two_closest(query, reference, [], np.ones(1))
