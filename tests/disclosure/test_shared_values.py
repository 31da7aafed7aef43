"""Whose values a released file tells: by hand, by counting pairs, and by chance."""

import math

import numpy as np
import pytest

from riskcore.disclosure.shared_values import in_bands, shared_values

LEVEL = math.log(1e-3)


def cells_of(rng, n, size):
    """Return one key whose cells have some size on average, and no blanks."""
    codes = rng.integers(0, max(n // size, 1), (n, 1))
    return codes, np.zeros(codes.shape, bool)


def told_by_hand(codes, blanked, values, width):
    """Return of whom the fitting rows, or the people who fit the own row, agree."""
    agree = ((codes[:, None] == codes) | blanked[:, None]).all(axis=2)  # row, person

    def narrow(some):
        return np.ptp(some[~np.isnan(some)]) <= width

    return [
        not np.isnan(value) and (narrow(values[fit]) or narrow(values[agree[i]]))
        for i, (value, fit) in enumerate(zip(values, agree.T, strict=True))
    ]


@pytest.mark.parametrize("seed", range(20))
def test_pairs_of_records_and_people(seed):
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, [3, 4, 2], (60, 3))
    blanked = rng.random(codes.shape) < 0.02 * (seed % 5)
    values = rng.integers(0, 4, 60).astype(float)
    values[rng.random(60) < 0.05] = np.nan
    width = [0.0, 1.0][seed % 2]
    found = shared_values(codes, blanked, values, width)
    assert found.told.tolist() == told_by_hand(codes, blanked, values, width)


def test_a_record_that_fits_everybody_hides_nothing():
    codes = np.repeat(np.arange(5), 4)[:, None]
    values = np.repeat([0.0, 1.0, 2.0, 3.0, 4.0], 4)
    blanked = np.zeros(codes.shape, bool)
    blanked[0] = True
    assert shared_values(codes, blanked, values).people == 20


def test_cells_of_one_value_are_found_among_many():
    """68 of 3,000 records: too few to be seen in any share."""
    rng = np.random.default_rng(1)
    codes, blanked = cells_of(rng, 3000, 12)
    values = rng.integers(0, 5, 3000).astype(float)
    before = shared_values(codes, blanked, values)
    some = np.isin(codes[:, 0], np.arange(6))
    values[some] = codes[some, 0] % 2
    found = shared_values(codes, blanked, values)
    assert found.people >= before.people + np.count_nonzero(some) * 0.9
    assert found.beyond_chance > 3
    assert before.log_chance > LEVEL > found.log_chance


@pytest.mark.parametrize("share", [0.5, 0.9, 0.99, 1.0])
@pytest.mark.parametrize("size", [1, 2, 5])
def test_values_at_random_are_no_finding(share, size):
    """Whatever the share of a value, and for records that are alone."""
    beyond = []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        codes, blanked = cells_of(rng, 2000, size)
        found = shared_values(codes, blanked, (rng.random(2000) > share).astype(float))
        assert found.log_chance > LEVEL
        beyond.append(found.beyond_chance)
    error = np.std(beyond) / math.sqrt(len(beyond))
    assert abs(np.mean(beyond)) <= 4 * error + 1


def test_numbers_in_a_narrow_band():
    rng = np.random.default_rng(2)
    codes, blanked = cells_of(rng, 4000, 8)
    values = rng.normal(50_000, 10_000, 4000)
    before = shared_values(codes, blanked, *in_bands(values))
    assert before.log_chance > LEVEL
    some = codes[:, 0] < 5
    values[some] = 41_000 + 300 * rng.random(np.count_nonzero(some))
    found = shared_values(codes, blanked, *in_bands(values))
    assert np.all(found.told[some])
    assert found.log_chance < LEVEL
    assert not np.any(shared_values(codes, blanked, values).told & some)


def test_the_chance_of_a_band_is_that_of_draws():
    rng = np.random.default_rng(3)
    values = np.concatenate([rng.normal(0, 1, 300), np.zeros(30)])
    found = shared_values(*cells_of(rng, 330, 4), values, 0.4)
    codes = np.zeros((330, 1), np.int64)
    codes[:, 0] = np.arange(330) // 3
    threes = shared_values(codes, np.zeros(codes.shape, bool), values, 0.4)
    drawn = np.ptp(rng.choice(values, (200_000, 3)), axis=1) <= 0.4
    assert threes.by_chance / 330 == pytest.approx(drawn.mean(), abs=0.005)
    assert found.width == 0.4


@pytest.mark.parametrize(
    "values", [[1.0, 2, 3, 4, math.nan], [0.0] * 90 + [*range(25)]]
)
def test_a_column_of_few_values_has_no_band(values):
    values = np.array(values * 10)
    assert in_bands(values)[1] == 0.0
    assert np.array_equal(in_bands(values)[0], values, equal_nan=True)


def test_a_band_is_a_share_of_the_spread_and_in_a_tail_of_the_distance():
    values = np.concatenate([np.linspace(0, 100, 1001), [1e6, 1.04e6, 1.06e6]])
    scale, width = in_bands(values)
    low, high = np.quantile(values, [0.25, 0.75])
    middle = np.interp(50 + (high - low) * np.array([0, 0.049, 0.051]), values, scale)
    assert middle[1] - middle[0] < width < middle[2] - middle[0]
    assert scale[-2] - scale[-3] < width < scale[-1] - scale[-3]


def test_wealth_that_a_cell_shares_is_told():
    """Far out in a tail no band of the middle is as wide as what tells the value."""
    rng = np.random.default_rng(5)
    codes, blanked = cells_of(rng, 4000, 8)
    values = np.exp(rng.normal(11, 1, 4000))
    some = codes[:, 0] < 5
    values[some] = 5e6 * (1 + 0.002 * rng.random(np.count_nonzero(some)))
    found = shared_values(codes, blanked, *in_bands(values))
    assert np.all(found.told[some])
    assert found.log_chance < LEVEL


def test_how_often_the_others_of_a_cell_are_right():
    """Of five people each the others of the cell tell; one of them is different."""
    codes = np.repeat([0, 1, 2], 5)[:, None]
    values = np.array([1.0] * 5 + [1, 1, 1, 1, 2] + [1, 1, 2, 2, 3])
    found = shared_values(codes, np.zeros(codes.shape, bool), values)
    assert found.people == 5
    assert found.right_of_others == pytest.approx(5 / 6)
    alone = shared_values(np.arange(3)[:, None], np.zeros((3, 1), bool), values[:3])
    assert math.isnan(alone.right_of_others)


def test_missing_values_tell_nothing_and_hide_nothing():
    codes = np.zeros((4, 1), np.int64)
    blanked = np.zeros(codes.shape, bool)
    assert shared_values(codes, blanked, np.ones(4)).people == 4
    values = np.array([1.0, 1, 1, math.nan])
    assert shared_values(codes, blanked, values).told.tolist() == [True] * 3 + [False]
    assert shared_values(codes, blanked, np.full(4, math.nan)).people == 0


@pytest.mark.parametrize("missing", [0.05, 0.3, 0.6])
def test_what_cells_share_is_told_whatever_is_missing(missing):
    rng = np.random.default_rng(6)
    codes, blanked = cells_of(rng, 4000, 10)
    values = rng.integers(0, 9, 4000).astype(float)
    some = codes[:, 0] < 60
    values[some] = codes[some, 0] % 9
    known = rng.random(4000) > missing
    values[~known] = math.nan
    found = shared_values(codes, blanked, values)
    assert np.all(found.told[some & known])
    assert not found.told[~known].any()
    assert found.log_chance < LEVEL
    values[some & known] = rng.integers(0, 9, np.count_nonzero(some & known))
    assert shared_values(codes, blanked, values).log_chance > LEVEL


def test_what_a_guess_by_shares_finds():
    codes = np.repeat([0, 1], 4)[:, None]
    values = np.array([1.0] * 4 + [1.0, 1.0, 2.0, 2.0])
    found = shared_values(codes, np.zeros(codes.shape, bool), values)
    assert found.people == 4
    assert found.guessed == pytest.approx(4 * 6 / 8)
