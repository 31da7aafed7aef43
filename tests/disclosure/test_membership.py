"""Membership against all pairs compared in plain Python."""

import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from riskcore.disclosure.gower import nearest_of_all
from riskcore.disclosure.membership import Membership, membership
from riskcore.disclosure.shared_columns import SharedColumn
from tests.thin import examples


def columns(files, keys):
    """Return keys and numbers of files of rows; None is missing."""
    shared, numbers = [], []
    for j in range(len(files[0][0])):
        values = [[row[j] for row in rows] for rows in files]
        if j < keys:
            most = 1 + max(
                (x for one in values for x in one if x is not None), default=0
            )
            codes = [[most if x is None else x for x in one] for one in values]
            codes = tuple(np.array(one, np.uint32) for one in codes)
            shared.append(SharedColumn(codes, most + 1))
        else:
            numbers.append(tuple(np.array(one, float) for one in values))
    return shared, numbers


def perturbed(rng, n=90, missing=0.1, others=0):
    """Return an original, a release with swapped values and noise, and a holdout."""

    def some(n):
        kind = rng.integers(0, 3, n)
        a, b, c = (rng.integers(0, k, n) // (1 + kind) for k in (5, 9, 4))
        income = np.round(4 * rng.lognormal(kind)) / 4
        return [
            [*map(int, row[:3]), float(row[3])]
            for row in zip(a, b, c, income, strict=True)
        ]

    original = some(n)
    released = [[*row] for row in original]
    for row in released:
        for j in range(3):
            if rng.random() < 0.15:
                row[j] = original[rng.integers(n)][j]
            if rng.random() < missing:
                row[j] = None
        if rng.random() < 0.5:
            row[3] += float(rng.integers(-4, 5)) / 4
    return [original, released, *([some(others)] if others else [])]


def distance(one, other, keys, ranges):
    """Return Gower's distance of two rows; missing is a value of its own."""
    total = 0.0
    for j, (x, y) in enumerate(zip(one, other, strict=True)):
        if j < keys or x is None or y is None:
            total += x != y
        elif ranges[j]:
            total += abs(x - y) * (1 / ranges[j])
    return total


def area_of(original, holdout):
    """Return the area and its deviation by DeLong et al., from all pairs."""
    wins = [[(d < h) + (d == h) / 2 for h in holdout] for d in original]
    rows = [math.fsum(row) / len(holdout) for row in wins]
    turned = [math.fsum(column) / len(original) for column in zip(*wins, strict=True)]
    area = math.fsum(rows) / len(rows)
    parts = [
        sum((x - area) ** 2 for x in one) / (len(one) - 1) / len(one)
        if len(one) > 1
        else math.nan
        for one in (rows, turned)
    ]
    return area, math.sqrt(sum(parts))


@st.composite
def three_files(draw):
    keys, numbers = draw(st.sampled_from([(1, 1), (2, 0), (0, 1), (2, 2)]))
    key = st.one_of(st.none(), st.integers(0, 2))
    number = st.one_of(st.none(), st.integers(0, 8).map(float))
    row = st.tuples(*[key] * keys, *[number] * numbers)
    return [draw(st.lists(row, min_size=1, max_size=9)) for _ in range(3)], keys


@examples(60, 400)
@given(three_files())
def test_small_files_by_all_pairs(drawn):
    files, keys = drawn
    original, released, holdout = files
    ranges = []
    for j in range(len(original[0])):
        there = [row[j] for rows in files for row in rows if row[j] is not None]
        ranges.append(max(there) - min(there) if there else 0)
    found = membership(*columns(files, keys))
    nearest = [
        [min(distance(one, b, keys, ranges) for b in released) for one in rows]
        for rows in (original, holdout)
    ]
    area, error = area_of(*nearest)
    assert found.people == found.files == (len(original), len(holdout))
    assert found.area == pytest.approx(area, rel=1e-12)
    assert found.error == pytest.approx(error, rel=1e-12, nan_ok=True)


def test_distances_are_those_of_all_pairs():
    files = perturbed(np.random.default_rng(1), n=700, missing=0.0, others=500)
    shared, numbers = columns(files, 3)
    whole = np.concatenate(numbers[0])
    levels = [c.levels for c in shared]
    codes = [[c.codes[i] for c in shared] for i in range(3)]
    y = [one[:, None] for one in numbers[0]]
    scale = np.array([1 / np.ptp(whole)])
    nearest = [
        nearest_of_all(codes[i], codes[1], levels, (y[i], y[1]), scale).first
        for i in (0, 2)
    ]
    found = membership(shared, numbers)
    wanted = Membership.of(*nearest)
    assert found.area == pytest.approx(wanted.area, abs=1e-3)
    assert found.error == pytest.approx(wanted.error, rel=1e-6)
    low, high = found.interval()
    assert 0.5 < low < found.area < high


def test_copies_of_everybody_are_recognized():
    rng = np.random.default_rng(2)
    original, holdout = rng.normal(size=(2, 300))
    found = membership([], [(original, original.copy(), holdout)])
    assert found.area == 1.0


def test_missing_numbers_are_as_far_as_any_other():
    # The original lacks the number as the release does, the holdout has the least one.
    files = [[[0, None]], [[0, None], [1, 5.0]], [[0, 0.0], [0, 5.0]]]
    assert membership(*columns(files, 1)).area == 1.0


def test_a_selection_of_people_is_asked():
    files = perturbed(np.random.default_rng(3), n=600, others=300)
    shared, numbers = columns(files, 3)
    found = membership(shared, numbers, pairs=2 * 600 * 200)
    assert found.people == (200, 200)
    assert found.files == (600, 300)
    assert found == membership(shared, numbers, pairs=2 * 600 * 200)
    low, high = found.interval(0.999)
    assert low < membership(shared, numbers).area < high


def test_what_is_needed():
    shared, _ = columns([[[1]], [[1]]], 1)
    with pytest.raises(ValueError, match="needs a holdout"):
        membership(shared, [])
    with pytest.raises(ValueError, match="without keys and numbers"):
        membership([], [])
    shared, _ = columns([[[1]], [[1]], [[1]]], 1)
    none = [one._replace(codes=(*one.codes[:2], one.codes[2][:0])) for one in shared]
    with pytest.raises(ValueError, match="the holdout has no records"):
        membership(none, [])


def test_what_is_said():
    one = membership(*columns([[[1]], [[1]], [[0]]], 1))
    assert one.to_dict()["area_interval"] is None
    files = perturbed(np.random.default_rng(3), n=60, others=30)
    found = membership(*columns(files, 3))
    json.dumps(found.to_dict(), allow_nan=False)
    (part,) = found._parts()
    assert "60 of 60 people" in "\n".join(part.lines())
