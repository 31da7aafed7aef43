"""The closest of all references, against all pairs."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from riskcore.disclosure import gower
from riskcore.disclosure.gower import affordable, linked_by_halves, nearest_of_all
from tests.thin import examples

LEVELS = [3, 300, 4]
# Codes above 255, so that a byte would not hold them.
CODES = [[0, 1, 2], [0, 1, 257], [0, 3]]
keys = [st.sampled_from(one) for one in CODES]
value = st.one_of(st.integers(0, 3).map(float), st.floats(-2, 2))
rows = st.lists(st.tuples(*keys, value, value), min_size=1, max_size=20)


def columns(file):
    *codes, x, y = zip(*file, strict=True)
    return [np.array(one, np.uint32) for one in codes], np.array([x, y]).T


@examples(100)
@given(rows, rows, st.booleans())
def test_the_nearest_are_those_of_all_pairs(query, reference, with_numbers):
    ranges = [0.0, 3.0] if with_numbers else []
    (codes, x), (known, y) = columns(query), columns(reference)
    scale = np.array([math.inf, 1 / 3.0]) if with_numbers else None
    numbers = (x, y) if with_numbers else None
    found = nearest_of_all(codes, known, LEVELS, numbers, scale)
    for i, one in enumerate(query):
        apart = []
        for other in reference:
            total = float(sum(a != b for a, b in zip(one[:3], other, strict=False)))
            for j, width in enumerate(ranges):
                gap = abs(one[3 + j] - other[3 + j])
                total += min(gap * scale[j], 1.0) if gap else 0.0
                assert width or gap == 0 or gap * scale[j] > 1
            apart.append(total)
        assert found.first[i] == min(apart)
        assert found.second[i] == sorted([*apart, math.inf])[1]
        assert found.records[i] == apart.count(min(apart))


@examples(60)
@given(rows, rows)
def test_the_closest_by_both_halves_are_counted(query, reference):
    (codes, _), (known, _) = columns(query), columns(reference)
    found = linked_by_halves(codes, known, LEVELS, 1)
    for i, one in enumerate(query):
        closest = []
        for keys in ((0,), (1, 2)):
            apart = [sum(one[k] != r[k] for k in keys) for r in reference]
            closest.append({j for j, x in enumerate(apart) if x == min(apart)})
        numbers = [*map(len, closest), len(set.intersection(*closest))]
        assert [part[i] for part in found] == numbers


def test_references_in_several_blocks(monkeypatch):
    rng = np.random.default_rng(3)
    files = [
        ([rng.integers(0, k, n).astype(np.uint8) for k in (3, 4)],
         rng.normal(size=(n, 1)))
        for n in (200, 5000)
    ]  # fmt: skip
    (own, x), (known, y) = files
    assert len(y) > 2 * gower.BLOCK
    apart = sum((a[:, None] != b[None, :]).astype(float)
                for a, b in zip(own, known, strict=True))  # fmt: skip
    gaps = np.minimum(np.abs(x - y.T) * 0.25, 1.0)
    found = nearest_of_all(own, known, [3, 4], (x, y), np.array([0.25]))
    two = np.sort(apart + gaps, axis=1)
    assert np.array_equal(found.first, two[:, 0])
    assert np.array_equal(found.second, two[:, 1])
    least = apart.min(axis=1)
    found = nearest_of_all(own, known, [3, 4])
    assert np.array_equal(found.records, (apart == least[:, None]).sum(axis=1))
    linked = linked_by_halves(own, known, [3, 4], 1)
    for part, column in zip(linked, (0, 1), strict=False):
        same = own[column][:, None] == known[column][None, :]
        assert np.array_equal(part, same.sum(axis=1))
    assert np.array_equal(linked[2], (apart == 0).sum(axis=1))


def test_a_later_block_has_closer_references():
    far = [np.zeros(2500, np.uint8), np.zeros(2500, np.uint8)]
    far[0][-1] = far[1][-2] = 1
    query = [np.ones(1, np.uint8), np.ones(1, np.uint8)]
    assert [x.tolist() for x in linked_by_halves(query, far, [2, 2], 1)] == [
        [1],
        [1],
        [0],
    ]
    far[1][-1] = 1
    assert [x.tolist() for x in linked_by_halves(query, far, [2, 2], 1)] == [
        [1],
        [2],
        [1],
    ]


def test_a_selection_is_the_same_in_every_run():
    assert affordable(10, 100, 1, 1000).tolist() == list(range(10))
    some = affordable(1000, 100, 7, 1000)
    assert len(set(some.tolist())) == 10
    assert some.tolist() == sorted(some.tolist())
    assert np.array_equal(some, affordable(1000, 100, 10, 1000))
    # With five times the columns a fifth of the records.
    assert len(affordable(1000, 100, 50, 1000)) == 2
    assert len(affordable(5, 10**12, 1)) == 1
    many = affordable(400_000, 2, 1)
    assert len(many) == gower.MOST
    # From everywhere in the file.
    assert np.histogram(many, 10)[0] == pytest.approx(6500, rel=0.05)
