import numpy as np
import pytest

from riskcore.special import blocks
from riskcore.special.floats import BLOCK

CODES = np.random.default_rng(2).integers(0, 6, BLOCK).tolist()


def test_masks():
    for first in range(0, BLOCK, 64):
        for code in range(6):
            mask = blocks.matching(CODES, first, code)
            bits = [(mask >> i) & 1 for i in range(64)]
            assert bits == [int(c == code) for c in CODES[first : first + 64]]
            assert blocks.size(mask) == sum(bits)
            if mask:
                assert blocks.lowest(mask) == bits.index(1)


@pytest.mark.parametrize("code", range(6))
def test_pick_lists_every_cell_of_a_code(code):
    picked = [-1] * BLOCK
    m = blocks._pick(CODES, BLOCK // 64, code, picked)
    assert picked[:m] == [i for i, c in enumerate(CODES) if c == code]


def test_codes_past_the_cells_are_of_no_region():
    codes = blocks.code_stack()
    words = blocks._classify([1.0] * 70, [0.1] * 70, codes, 70)
    assert words == 2
    assert codes[:70] == [blocks.ONE] * 70
    assert codes[70:128] == [blocks.REGIONS] * 58


def test_commonest_region():
    codes = [blocks.ONE] * 20 + [blocks.LEVELS_15] * 30 + [blocks.SMALL] * 14
    assert blocks._commonest(codes, 1) == (blocks.SMALL, True)
    codes[32:64] = [blocks.OTHER] * 32
    assert blocks._commonest(codes, 1) == (blocks.ONE, True)
    codes[0:20] = [blocks.OTHER] * 20
    assert blocks._commonest(codes, 1) == (blocks.LEVELS_15, False)
