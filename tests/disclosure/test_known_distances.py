"""Measures by the distance to the closest record, by hand."""

import math

import numpy as np
import pytest

from riskcore.disclosure.all_pairs import Nearest
from riskcore.disclosure.known_distances import (
    closest_record,
    holdout_share,
    overfitting_protection,
    ranges_of,
)


def nearest(first, second):
    """Return distances of queries, whatever the number of references."""
    none = np.zeros(len(first), int)
    return Nearest(np.array(first), np.array(second), none, none)


def test_distances_and_ratios_by_hand():
    two = nearest([0, 0, 1, 2.0], [0, 1, 2, math.inf])
    found = closest_record(two, 4)
    assert found["copies"] == 0.5
    assert found["DCR"] == np.median([0, 0, 0.25, 0.5])
    assert found["DCR, 5th percentile"] == 0
    assert found["NNDR"] == np.median([0, 0, 0.5, 0])
    one = closest_record(nearest([2.0], [4.0]), 8)
    assert one == {
        "DCR": 0.25,
        "DCR, 5th percentile": 0.25,
        "NNDR": 0.5,
        "NNDR, 5th percentile": 0.5,
        "copies": 0,
    }


def test_shares_beside_a_holdout_by_hand():
    near, far = np.array([0, 1, 1, 3.0]), np.array([0, 1, 2, 2.0])
    found = holdout_share(near, far)
    assert found == {"DCR share": 0.5, "closer": 0.25, "as close": 0.5}
    assert overfitting_protection(near, far) == {"DCROverfittingProtection": 1.0}
    score = overfitting_protection(np.array([0, 0, 0, 2.0]), np.ones(4))
    assert score["DCROverfittingProtection"] == pytest.approx(0.5)


def test_ranges_are_of_all_files():
    one, other = np.array([[1.0, 5.0]]), np.array([[4.0, 5.0], [2.0, 5.0]])
    assert ranges_of(one, other).tolist() == [3.0, 0.0]
    assert ranges_of(np.zeros((4, 0))).tolist() == []
