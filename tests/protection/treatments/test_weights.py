"""Weights: rounded without bias, shared by classes; their sums stay."""

import hashlib
import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from riskcore.protection.records.treated import treated_columns
from riskcore.protection.treatments.rules import Treatment
from riskcore.protection.treatments.weights import (
    round_weights,
    share_weights,
    weight_classes,
)
from tests.secret_of import secret_of


def numbers(n, label=b"weights"):
    """Return fixed random numbers, the same on every machine."""
    return np.frombuffer(hashlib.shake_256(label).digest(8 * n), "<u8")


WEIGHTS = 10 + 90 * (numbers(500, b"w") / 2.0**64)


# Rounding


@pytest.mark.parametrize("base", [1.0, 0.1, 2.5, 10.0])
def test_rounded_weights_are_next_to_the_old_and_keep_the_sum(base):
    found = round_weights(WEIGHTS, base, numbers(501))
    assert (abs(found - WEIGHTS) < base * (1 + 1e-9)).all()
    multiples = found / base
    assert multiples == pytest.approx(np.rint(multiples), rel=1e-12)
    assert abs(math.fsum(found) - math.fsum(WEIGHTS)) < base


def test_strata_keep_their_sums():
    strata = np.arange(500) % 7
    found = round_weights(WEIGHTS, 5.0, numbers(501), strata)
    for one in range(7):
        apart = math.fsum(found[strata == one]) - math.fsum(WEIGHTS[strata == one])
        assert abs(apart) < 5.0


def test_rounding_has_no_bias():
    weights = np.array([10.0, 11.0, 13.0, 17.5, 19.9, 28.6])
    draws = numbers(7 * 4000).reshape(4000, 7)
    up = sum(round_weights(weights, 10.0, each) > weights for each in draws)
    for count, share in zip(up[1:], [0.1, 0.3, 0.75, 0.99, 0.86], strict=True):
        assert stats.binomtest(int(count), 4000, share).pvalue > 0.001
    assert up[0] == 0


def test_multiples_stay():
    weights = np.array([0.1, 0.2, 0.3, 0.7, 1.1, 12.3])
    for i in range(50):
        drawn = numbers(7, b"%d" % i)
        assert round_weights(weights, 0.1, drawn).tolist() == weights.tolist()
    assert round_weights(np.array([0.34]), 0.1, numbers(2))[0] in (0.3, 0.4)


def test_the_ends_of_a_draw():
    # A draw of 0 rounds down all that can be; the largest draw rounds up.
    lowest, highest = np.zeros(2, np.uint64), np.full(2, 2**64 - 1, np.uint64)
    assert round_weights(np.array([19.9]), 10.0, lowest).tolist() == [10.0]
    assert round_weights(np.array([10.1]), 10.0, highest).tolist() == [20.0]
    for drawn in (lowest, highest):  # 0.3 is not three times the double 0.1
        assert round_weights(np.array([0.3]), 0.1, drawn).tolist() == [0.3]


def test_a_base_above_a_weight_is_refused():
    with pytest.raises(ValueError, match="2 weights below 15 could become 0; the sm"):
        round_weights(np.array([10.0, 12.0, 20.0]), 15.0, numbers(4))


# Sharing


def test_records_of_a_group_share_their_mean():
    groups = np.arange(500) % 3
    found = share_weights(WEIGHTS, groups)
    for one in range(3):
        mean = sum(map(Fraction, WEIGHTS[groups == one])) / sum(groups == one)
        assert found[groups == one] == pytest.approx(float(mean), rel=1e-14)
    assert math.fsum(found) == pytest.approx(math.fsum(WEIGHTS), rel=1e-14)


def test_classes_of_weights():
    found = weight_classes(WEIGHTS, 5)
    assert np.bincount(found).tolist() == [100] * 5
    ends = [(WEIGHTS[found == i].min(), WEIGHTS[found == i].max()) for i in range(5)]
    assert all(ends[i][1] < ends[i + 1][0] for i in range(4))
    # Equal weights are never divided.
    assert weight_classes(np.array([1.0, 1, 1, 1, 2]), 2).tolist() == [0, 0, 0, 0, 1]
    assert weight_classes(np.array([1.0, 2, 2, 2]), 2).tolist() == [0, 1, 1, 1]
    assert weight_classes(np.ones(4), 3).tolist() == [0] * 4


# Rules


def treat(words, weights, **more):
    rule = Treatment.of("w", words)
    columns = {"w": weights}
    return treated_columns(
        columns, {("w",): [rule]}, secret=secret_of(5), **more
    )["w"]  # fmt: skip


def test_columns_of_weights():
    area = np.arange(500) % 4
    rounded = treat("round-weights:5:within=A", WEIGHTS, strata={"A": area})
    shared = treat("share-weights:1:within=A", WEIGHTS, strata={"A": area})
    told = []
    classes = treat(
        "share-weights:3:within=A", WEIGHTS, strata={"A": area},
        tell=lambda _, effects: told.append(effects),
    )  # fmt: skip
    for one in range(4):
        sums = [math.fsum(w[area == one]) for w in (WEIGHTS, rounded, shared, classes)]
        assert abs(sums[1] - sums[0]) < 5
        assert sums[2:] == pytest.approx([sums[0]] * 2, rel=1e-14)
        assert len(set(shared[area == one])) == 1
        assert len(set(classes[area == one])) == 3
    assert told == [{"groups": 12, "smallest_group": 41}]


def test_missing_weights():
    for words in ("round-weights:1", "share-weights:2"):
        with pytest.raises(ValueError, match="1 weight missing"):
            treat(words, np.array([2.0, np.nan]))
