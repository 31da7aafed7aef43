import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from riskcore.data.entropy import entropy

SHARES = st.lists(st.integers(0, 50), min_size=2, max_size=8).filter(any)


def test_entropy_by_hand():
    assert entropy(np.array([3.0, 3.0, 3.0, 3.0])) == 2.0
    assert entropy(np.array([2.0, 0.0, 1.0, 1.0])) == 1.5
    assert entropy(np.array([7.0])) == entropy(np.array([])) == 0.0


@given(SHARES)
def test_entropy_is_that_of_scipy(counts):
    expected = stats.entropy(counts, base=2)
    assert entropy(np.array(counts, float)) == pytest.approx(expected, abs=1e-13)
