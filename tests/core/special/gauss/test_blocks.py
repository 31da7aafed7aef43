import numpy as np
import pytest

from riskcore.core.special.floats import BLOCK
from riskcore.core.special.gauss import blocks

REGIONS = 9  # any number of them
CODES = np.random.default_rng(2).integers(0, REGIONS, BLOCK).tolist()


def test_masks():
    for first in range(0, BLOCK, 64):
        for code in range(REGIONS):
            mask = blocks.matching(CODES, first, code)
            bits = [(mask >> i) & 1 for i in range(64)]
            assert bits == [int(c == code) for c in CODES[first : first + 64]]
            assert blocks.size(mask) == sum(bits)
            if mask:
                assert blocks.lowest(mask) == bits.index(1)


@pytest.mark.parametrize("code", range(REGIONS))
def test_pick_lists_every_cell_of_a_code(code):
    picked = [-1] * BLOCK
    m = blocks.pick(CODES, BLOCK // 64, code, picked)
    assert picked[:m] == [i for i, c in enumerate(CODES) if c == code]


@pytest.mark.parametrize("m", [0, 1, 7, 8, 9, 64])
def test_lists_are_filled_up_to_whole_vectors(m):
    picked = list(range(5, 5 + m)) + [-1] * 8
    full = blocks.filled_up(picked, m)
    assert 0 <= full - m < 8
    assert full % 8 == 0
    assert picked[m:full] == [5] * (full - m)
