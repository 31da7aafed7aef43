"""Companions: nothing is told by elimination any more, at a small price."""

import numpy as np
import pytest

from riskcore.disclosure.elimination import eliminate
from riskcore.protection.suppression.suppress import companions

TEN = np.array([[0, 0]] * 4 + [[0, 1]] * 5 + [[0, 2]])


def test_one_blank_gets_one_companion():
    blanked = np.zeros(TEN.shape, bool)
    blanked[9, 1] = True
    more = companions(TEN, blanked, np.ones(2))
    assert more.sum() == 1
    assert not more[9].any()
    found = eliminate(TEN, blanked | more)
    assert found.people == 0
    assert found.candidates[9] > 1


def test_the_cheapest_companion_is_blanked():
    blanked = np.zeros(TEN.shape, bool)
    blanked[9, 1] = True
    costs = np.full(TEN.shape, 5.0)
    costs[6, 1] = 1.0
    assert np.argwhere(companions(TEN, blanked, costs)).tolist() == [[6, 1]]


def test_a_key_that_is_never_blanked_stays():
    blanked = np.zeros(TEN.shape, bool)
    blanked[9, 1] = True
    assert not companions(TEN, blanked, np.array([1.0, np.inf])).any()


@pytest.mark.parametrize("seed", range(30))
def test_nothing_is_told_with_companions(seed):
    rng = np.random.default_rng(seed)
    codes = np.stack([rng.geometric(0.3, 400), rng.integers(0, 6, 400),
                      rng.integers(0, 3, 400)], axis=1)  # fmt: skip
    codes[rng.random(codes.shape) < 0.01 * (seed % 3)] = -1
    blanked = np.zeros(codes.shape, bool)
    for key in (0, 1):  # until three people or more fit, where two keys suffice
        blanked[eliminate(codes, blanked).fits < 3, key] = True
    told = eliminate(codes, blanked).records_told
    more = companions(codes, blanked, np.ones(3))
    found = eliminate(codes, blanked | more)
    assert (found.people, found.records_told) == (0, 0)
    assert min(told, 1) <= more.sum() <= 2 * told
    assert not np.any(more & blanked)


def test_nothing_is_blanked_where_nobody_is_named():
    codes = np.repeat(np.arange(5), 4)[:, None]
    assert not companions(codes, np.zeros(codes.shape, bool), np.ones(1)).any()
