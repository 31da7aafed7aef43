import math
import pickle

import numpy as np
import pytest

from riskcore.models import SizeIndices


def test_from_a_table_or_from_cells():
    sizes = SizeIndices({7: 2, 1: 4, 3: 0, 2: 1})
    assert sizes.sizes.tolist() == [1, 2, 7]
    assert sizes.counts.tolist() == [4, 1, 2]
    assert (sizes.n, sizes.u) == (20, 7)
    assert [sizes[j] for j in (0, 1, 2, 3, 7, 8)] == [0, 4, 1, 0, 2, 0]
    assert sizes.same_cell == 1 * 2 + 2 * 42
    frequencies = [1, 7, 0, 1, 1, 2, 7, 1]
    for given in (
        frequencies,
        np.array(frequencies, np.uint8),
        np.array(frequencies) / 1.0,
    ):
        assert SizeIndices.from_frequencies(given) == sizes
        assert hash(SizeIndices.from_frequencies(given)) == hash(sizes)
    assert sizes != SizeIndices({1: 4, 2: 1, 7: 1})
    assert sizes != "sizes"
    with pytest.raises(TypeError, match="not iterable"):
        list(sizes)


def test_they_do_not_change():
    sizes = SizeIndices({1: 4})
    with pytest.raises(ValueError, match="read-only"):
        sizes.sizes[0] = 2
    with pytest.raises(ValueError, match="read-only"):
        sizes.counts[0] = 2
    with pytest.raises(AttributeError, match="n: size indices cannot be changed"):
        sizes.n = 5
    assert pickle.loads(pickle.dumps(sizes)) == sizes


def test_large_numbers_are_exact():
    sizes = SizeIndices({10**9: 10**6, 3: 1})
    assert sizes.n == 10**15 + 3
    assert sizes.same_cell == 10**6 * 10**9 * (10**9 - 1) + 6


def test_as_many_records_as_doubles_can_count():
    assert SizeIndices({2**53: 1}).n == 2**53
    assert SizeIndices({1: 2**53}).n == 2**53
    with pytest.raises(ValueError, match="sizes: 1 of 1 are not whole"):
        SizeIndices({2**53 + 1: 1})
    with pytest.raises(ValueError, match="counts: 1 of 1 are not whole"):
        SizeIndices({1: 2**53 + 1})


def test_frequencies_are_not_taken_for_size_indices():
    for given in ([3, 1, 1], np.array([3, 1, 1])):
        with pytest.raises(TypeError, match=r"counts: need a mapping .* of each cell"):
            SizeIndices(given)


def test_arrangements_are_counted():
    # 5 records in cells of 1, 1 and 3: 5!/(1! 1! 3!) ways, over the order of the two.
    assert SizeIndices({1: 2, 3: 1}).log_arrangements() == pytest.approx(math.log(10))
    assert SizeIndices({1: 1}).log_arrangements() == 0.0
