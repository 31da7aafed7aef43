"""Weights: rounded without bias, shared, and raked to totals within bounds."""

import hashlib
import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import optimize, stats

from riskcore.protection.release.secret import secret_of_seed
from riskcore.protection.treatments.apply import treated_columns
from riskcore.protection.treatments.rules import Treatment
from riskcore.protection.treatments.weights import (
    Margin,
    margins_of,
    rake,
    round_weights,
    share_weights,
    weight_classes,
)


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


def test_bases_that_are_refused():
    with pytest.raises(ValueError, match="2 weights below 15 could become 0; the sm"):
        round_weights(np.array([10.0, 12.0, 20.0]), 15.0, numbers(4))
    with pytest.raises(ValueError, match=r"base=0\.0: need a weight > 0"):
        round_weights(WEIGHTS, 0.0, numbers(501))


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
    assert weight_classes(np.ones(4), 3).tolist() == [0] * 4
    with pytest.raises(ValueError, match="classes"):
        weight_classes(WEIGHTS, 0)


# Raking


def file():
    """Return weights, three margins that depend on each other, and true totals."""
    drawn = numbers(3 * 500, b"margins").reshape(3, 500)
    sex = (drawn[0] % 2).astype(np.int64)
    age = (drawn[1] % 4).astype(np.int64)
    region = (age + drawn[2] % 3).astype(np.int64)
    factor = 0.8 + 0.3 * sex + 0.1 * age - 0.05 * region
    codes = {"sex": sex, "age": age, "region": region}
    return {k: Margin(v, np.bincount(v, WEIGHTS * factor)) for k, v in codes.items()}


@pytest.mark.parametrize(
    "bounds", [None, (0.5, 3.0), (0.78, 1.25), (0.0, 1.25), (0.78, np.inf)]
)
def test_raked_weights_reach_the_totals(bounds):
    margins = file()
    found = rake(WEIGHTS, margins, bounds=bounds)
    assert found.converged
    for codes, totals in margins.values():
        sums = np.bincount(codes, found.weights)
        assert sums == pytest.approx(totals, rel=1e-9)
    assert found.weights == pytest.approx(WEIGHTS * found.factors, rel=1e-15)
    low, high = bounds or (0.0, np.inf)
    assert low <= found.factors.min()
    assert found.factors.max() <= high
    told = found.to_dict()
    assert told["smallest_factor"] == found.factors.min()
    assert told["converged"] is True


def test_bounds_are_reached_in_these_cases():
    free = rake(WEIGHTS, file()).factors
    assert free.min() < 0.78 < 1.25 < free.max()
    cut = rake(WEIGHTS, file(), bounds=(0.78, 1.25)).factors
    assert (cut.min(), cut.max()) == (0.78, 1.25)


@pytest.mark.parametrize("bounds", [(1e-6, 1e3), (0.9, 1.3)])
def test_raked_weights_are_the_closest(bounds):
    weights = np.array([10.0, 20.0, 15.0, 30.0, 12.0, 18.0])
    sex, age = np.array([0, 0, 0, 1, 1, 1]), np.array([0, 1, 1, 0, 0, 1])
    margins = {
        "sex": Margin(sex, np.array([50.0, 62.0])),
        "age": Margin(age, np.array([50.0, 62.0])),
    }
    constraints = [
        {"type": "eq", "fun": lambda g, m=m, i=i: (weights * g)[m.codes == i].sum()
         - m.totals[i]}
        for m in margins.values() for i in range(2)
    ]  # fmt: skip
    best = optimize.minimize(
        lambda g: (weights * (g * np.log(g) - g + 1)).sum(), np.ones(6),
        jac=lambda g: weights * np.log(g), bounds=[bounds] * 6,
        constraints=constraints[:3], method="SLSQP", options={"ftol": 1e-15},
    )  # fmt: skip
    found = rake(weights, margins, bounds=bounds)
    assert found.converged
    assert found.factors == pytest.approx(best.x, abs=2e-6)


def test_weights_with_the_totals_stay():
    sex = np.arange(500) % 2
    found = rake(WEIGHTS, {"sex": Margin(sex, np.bincount(sex, WEIGHTS))})
    assert (found.rounds, found.converged) == (0, True)
    assert (found.factors == 1).all()
    assert rake(WEIGHTS, {}).converged


@pytest.mark.parametrize("bounds", [(0.78, 1.25), (0.82, 1.25), (0.99, 1.01)])
def test_it_converges_if_and_only_if_the_totals_can_be_reached(bounds):
    margins = file()
    rows = [
        WEIGHTS * (m.codes == i) for m in margins.values() for i in range(len(m[1]))
    ]
    totals = np.concatenate([m.totals for m in margins.values()])
    possible = optimize.linprog(np.zeros(500), A_eq=rows, b_eq=totals, bounds=bounds)
    found = rake(WEIGHTS, margins, bounds=bounds)
    assert found.converged == possible.success == (bounds[0] == 0.78)
    assert (found.largest_error > 1e-3) == (not found.converged)


def test_totals_that_no_weights_have():
    margins = file()
    # Both variables are the same, their totals are not.
    same = np.array([0, 1])
    apart = {
        "a": Margin(same, np.array([10.0, 20.0])),
        "b": Margin(same, np.array([20.0, 10.0])),
    }
    assert not rake(np.array([10.0, 10.0]), apart, rounds=50).converged
    assert rake(WEIGHTS, margins, rounds=2).rounds == 2
    assert not rake(WEIGHTS, margins, rounds=2).converged


@pytest.mark.parametrize("bounds", [(1.1, 2.0), (-0.1, 2.0), (0.5, 1.0), (0.5, np.nan)])
def test_bounds_that_are_refused(bounds):
    with pytest.raises(ValueError, match="need two numbers, the first in"):
        rake(WEIGHTS, {}, bounds=bounds)


SEX = (np.array([0, 1, 1]), np.array(["f", "m"]))
AREA = (np.array([0, 0, 1]), np.array([7, 9]))


def test_margins():
    columns = {"sex": SEX, "area": AREA}
    totals = {"area": {9: 30, 7: 70}, "sex": {"f": 60, "m": 40}}
    found = margins_of(columns, totals)
    assert found["area"].totals.tolist() == [70.0, 30.0]
    assert list(found) == ["area", "sex"]


@pytest.mark.parametrize(
    ("totals", "message"),
    [
        ({"sex": {"f": 60}}, "margin 'sex': no total is given for 'm'"),
        ({"sex": {"f": 1, "m": 2, "x": 3}}, "margin 'sex': no record has 'x'"),
        ({"sex": {"f": 0, "m": 2}}, "a total is positive and finite"),
        ({"sex": {"f": math.inf, "m": 2}}, "a total is positive and finite"),
        (
            {"sex": {"f": 60, "m": 40}, "area": {7: 50, 9: 51}},
            "different populations, 'sex' to 100, 'area' to 101",
        ),
    ],
)
def test_margins_that_are_refused(totals, message):
    with pytest.raises(ValueError, match=message):
        margins_of({"sex": SEX, "area": AREA}, totals)


def test_missing_categories():
    missing = (np.array([0, 1, 2]), np.array(["f", "m"]))
    with pytest.raises(ValueError, match="'sex': missing in 1 record"):
        margins_of({"sex": missing}, {"sex": {"f": 1, "m": 2}})


# Words


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("round-weights:10", "rounded to multiples of 10, keeping the sum"),
        (
            "round-weights:0.5:within=A+B",
            "rounded to multiples of 0.5, keeping the sum",
        ),
        ("share-weights:5", "replaced by the means of 5 classes"),
        ("share-weights:1:within=A", "replaced by the mean within A"),
    ],
)
def test_words(words, told):
    rule = Treatment.of("w", words)
    assert str(rule) == words
    assert Treatment.from_dict(rule.to_dict()) == rule
    assert rule.describe(public=True) == rule.describe(public=False) == told
    assert rule.random == rule.alters == words.startswith("round")


@pytest.mark.parametrize(
    "words", ["round-weights:0", "round-weights", "share-weights:0", "share-weights:a"]
)
def test_words_that_are_refused(words):
    with pytest.raises(ValueError, match=r"treat w=.*(need|is not)"):
        Treatment.of("w", words)


def treat(words, weights, **more):
    rule = Treatment.of("w", words)
    columns = {"w": weights}
    return treated_columns(
        columns, {("w",): rule}, secret=secret_of_seed(5), **more
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
