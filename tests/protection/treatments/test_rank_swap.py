"""Rank swapping: who may be a partner, and that all are equally likely."""

import numpy as np
import pytest

from riskcore.protection.records.treated import treated_columns
from riskcore.protection.treatments.rules import Treatment
from riskcore.protection.treatments.strata import SmallStrata
from tests.secret_of import secret_of


def treated(words, values, seed=1, **more):
    rule = Treatment.of("x", words)
    found = treated_columns(
        {"x": np.asarray(values, float)},
        {("x",): [rule]},
        secret=secret_of(seed),
        **more,
    )
    return found["x"]


@pytest.mark.parametrize(("n", "share", "reach"), [
    (1000, "5%", 50), (1000, "0.1%", 1), (999, "29%", 289), (100, "29%", 29),
    (7, "99%", 6), (2, "50%", 1), (64, "50%", 32), (65, "10%", 6),
])  # fmt: skip
def test_partners_are_within_reach_and_all_values_stay(n, share, reach):
    farthest = 0
    for seed in range(20):
        order = np.random.default_rng(seed).permutation(n)
        result = treated(f"swap:{share}", order, seed)
        assert np.array_equal(np.sort(result), np.arange(n))
        # Partners exchange: twice gives the identity.
        partner = result[np.argsort(order)].astype(int)
        assert np.array_equal(partner[partner], np.arange(n))
        farthest = max(farthest, np.abs(result - order).max())
    assert farthest <= reach
    assert farthest > 0.7 * reach


def test_few_records_keep_their_value():
    for share, most in (("0.1%", 0), ("1%", 20), ("10%", 200)):
        x = np.arange(10_000)
        assert np.count_nonzero(treated(f"swap:{share}", x) == x) <= most


def test_the_first_partner_is_drawn_uniformly():
    # The lowest of 21 ranks takes one of the next 10.
    partner = [treated("swap:50%", np.arange(21), seed)[0] for seed in range(4000)]
    count = np.bincount(np.array(partner, int), minlength=11)
    assert count[0] == 0
    expected = 400
    chi2 = ((count[1:] - expected) ** 2 / expected).sum()
    assert chi2 < 27.9  # the quantile at 0.999 of 9 degrees of freedom


def test_missing_values_stay_and_have_no_rank():
    x = np.arange(100.0)
    x[::3] = np.nan
    result = treated("swap:10%", x)
    assert np.array_equal(np.isnan(result), np.isnan(x))
    assert np.array_equal(np.sort(result[~np.isnan(x)]), x[~np.isnan(x)])
    rank = np.argsort(np.argsort(result[~np.isnan(x)]))
    assert np.abs(rank - np.arange(len(rank))).max() <= 6
    assert np.isnan(treated("swap:10%", [np.nan] * 3)).all()


def test_equal_values_are_ranked_at_random():
    # Among 50 zeros and 50 ones the same few would be exchanged by position.
    x = np.repeat([0.0, 1.0], 50)
    changed = {
        tuple(np.flatnonzero(treated("swap:5%", x, seed) != x)) for seed in range(9)
    }
    assert len(changed) > 5


def test_values_stay_within_their_stratum():
    rng = np.random.default_rng(2)
    stratum = rng.integers(0, 5, 400)
    x = rng.permutation(400.0 * np.arange(400))
    result = treated("swap:10%:within=S", x, strata={"S": stratum})
    for one in range(5):
        chosen = stratum == one
        assert np.array_equal(np.sort(result[chosen]), np.sort(x[chosen]))


def test_strata_without_anyone_in_reach_are_joined():
    stratum = {"S": np.repeat([1, 2, 3], [6, 6, 88])}
    with pytest.warns(SmallStrata, match="2 strata have fewer than 10 records"):
        result = treated("swap:10%:within=S", np.arange(100), strata=stratum)
    assert (result[:12] != np.arange(12)).any()
    assert set(result[:12]) == set(range(12))


def test_too_few_records_are_refused():
    with pytest.raises(ValueError, match="treat x=swap:10%: needs at least 10 records"):
        treated("swap:10%", np.arange(9))


def test_another_secret_gives_other_partners():
    x = np.arange(1000)
    assert np.array_equal(treated("swap:5%", x, 1), treated("swap:5%", x, 1))
    assert (treated("swap:5%", x, 1) != treated("swap:5%", x, 2)).mean() > 0.9
