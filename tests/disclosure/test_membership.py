"""Membership against all pairs compared in plain Python."""

import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import riskcore
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


def scores_of(files, keys):
    """Return log d - 0.7 log e, to the release and to other people of the own file."""
    original, released, holdout = files
    ranges = []
    for j in range(len(original[0])):
        there = [row[j] for rows in files for row in rows if row[j] is not None]
        ranges.append(max(there) - min(there) if there else 0)
    scores = []
    for file in (original, holdout):
        scores.append([])
        for i, row in enumerate(file):
            first = min(distance(row, other, keys, ranges) for other in released)
            others = file[:i] + file[i + 1 :]
            near = [distance(row, other, keys, ranges) for other in others]
            score = math.log(first + 2**-30)
            scores[-1].append(
                score - 0.7 * math.log(min(near, default=65_000) + 2**-30)
            )
    return scores


def area_of(original, holdout):
    """Return the area and its deviation by DeLong et al., with two people more."""
    wins = [[(s < h) + (s == h) / 2 for h in holdout] for s in original]
    rows = [math.fsum(row) / len(holdout) for row in wins]
    turned = [math.fsum(column) / len(original) for column in zip(*wins, strict=True)]
    area = math.fsum(rows) / len(rows)
    parts = [np.var([0.0, *one, 1.0], ddof=1) / len(one) for one in (rows, turned)]
    return area, math.sqrt(sum(parts))


@st.composite
def three_files(draw):
    keys, numbers = draw(st.sampled_from([(1, 1), (2, 0), (0, 1), (2, 2)]))
    key = st.one_of(st.none(), st.integers(0, 2))
    number = st.one_of(st.none(), st.integers(0, 8).map(float))
    row = st.tuples(*[key] * keys, *[number] * numbers)
    n = draw(st.integers(1, 9))
    sizes = (n, n), (1, 9), (n, n)
    return [
        draw(st.lists(row, min_size=least, max_size=most)) for least, most in sizes
    ], keys


@examples(60, 400)
@given(three_files())
def test_small_files_by_all_pairs(drawn):
    files, keys = drawn
    found = membership(*columns(files, keys))
    area, error = area_of(*scores_of(files, keys))
    assert found.people == found.files == (len(files[0]), len(files[2]))
    assert found.area == pytest.approx(area, rel=1e-12)
    assert found.error == pytest.approx(error, rel=1e-12)


def test_scores_are_those_of_all_pairs():
    files = perturbed(np.random.default_rng(1), n=150, others=150)
    found = membership(*columns(files, 3))
    area, error = area_of(*scores_of(files, 3))
    assert found.area == pytest.approx(area, rel=1e-12)
    assert found.error == pytest.approx(error, rel=1e-12)
    low, high = found.interval()
    assert 0.5 < low < found.area < high


def test_few_people_are_not_told_by_chance():
    rng = np.random.default_rng(0)
    # Of six scores the three lowest are those of the original in one of 20 orders.
    scores = [np.split(rng.random(6), 2) for _ in range(200)]
    assert not any(Membership.of(*pair).interval()[0] > 0.5 for pair in scores)


def test_a_holdout_of_one_person_tells_too_little():
    rng = np.random.default_rng(1)
    first, released = ({"a": rng.integers(0, 2000, 400)} for _ in range(2))
    found = riskcore.audit(
        first, released, ["a"], holdout={"a": [7]}, sampling_fraction=0.1,
    )  # fmt: skip
    assert found.expected_right_claims > 4
    assert found.more_than_others == ()


def groups(rng, n):
    """Return numbers of groups, some dense and others wide."""
    group = rng.integers(0, 8, n)
    width = np.exp(np.linspace(-3.0, 0.5, 8))[group]
    centers = np.random.default_rng(0).normal(0, 3, (8, 3))
    return (centers[group] + rng.normal(size=(n, 3)) * width[:, None]).T


def by_kernels(original, released, holdout):
    """Return the area of DOMIAS: the ratio of two densities by Gaussian kernels."""
    areas = []
    for i in (0, 1):
        law, beside = stats.gaussian_kde(released), stats.gaussian_kde(holdout[:, i::2])
        scores = [
            law.logpdf(x) - beside.logpdf(x) for x in (original, holdout[:, 1 - i :: 2])
        ]
        wins = stats.mannwhitneyu(*scores).statistic
        areas.append(wins / len(scores[0]) / len(scores[1]))
    return sum(areas) / 2


@pytest.mark.parametrize("seed", range(3))
def test_membership_beside_the_attack_by_kernels(seed):
    """Between neighbors of the original, as SMOTE, and by itself from the people."""
    rng = np.random.default_rng(seed)
    original, holdout, fresh = (groups(rng, 400) for _ in range(3))
    gaps = np.abs(original[:, :, None] - original[:, None]).sum(axis=0)
    other = np.argsort(gaps, axis=1)[np.arange(400), rng.integers(1, 4, 400)]
    released = original + rng.random(400) * (original[:, other] - original)
    numbers = [*zip(original, released, holdout, strict=True)]
    found = membership([], numbers)
    nearest = [
        np.abs(x[:, :, None] - released[:, None]).sum(axis=0).min(axis=1)
        for x in (original, holdout)
    ]
    by_distance = 1.0 - stats.mannwhitneyu(*nearest).statistic / 400**2
    assert found.area > by_kernels(original, released, holdout)
    assert found.area > by_distance + 0.05
    found = membership([], [*zip(original, fresh, holdout, strict=True)])
    low, high = found.interval(0.99)
    assert low < 0.5 < high


def test_households_do_not_look_like_members():
    """People of a household have one income; the release is another sample."""
    rng = np.random.default_rng(5)
    incomes, sizes = rng.lognormal(0, 1, (3, 400)), rng.integers(1, 6, (3, 400))
    persons = [np.repeat(x, k)[:1000] for x, k in zip(incomes, sizes, strict=True)]
    found = membership([], [tuple(persons)])
    assert abs(found.area - 0.5) < 0.05


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
    found = membership(shared, numbers, pairs=2 * 900 * 200)
    assert found.people == (200, 200)
    assert found.files == (600, 300)
    assert found == membership(shared, numbers, pairs=2 * 900 * 200)
    low, high = found.interval(0.999)
    whole = membership(shared, numbers)
    assert whole.people == (300, 300)  # as many of either file
    assert low < whole.area < high


def test_what_is_said():
    one = membership(*columns([[[1]], [[1]], [[0]]], 1))
    assert one.to_dict()["area_interval"] == [0.0, 1.0]
    files = perturbed(np.random.default_rng(3), n=60, others=30)
    found = membership(*columns(files, 3))
    json.dumps(found.to_dict(), allow_nan=False)
    (part,) = found._parts()
    assert "30 of 60 people" in "\n".join(part.lines())
