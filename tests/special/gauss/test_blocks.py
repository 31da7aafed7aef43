import numpy as np
import pytest

from riskcore.special.floats import BLOCK
from riskcore.special.gauss import blocks
from riskcore.special.gauss.regions import REGIONS, region

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


def test_codes_past_the_cells_are_of_no_region():
    codes = blocks.code_stack()
    words = blocks._classify([1.0] * 70, [0.1] * 70, codes, 70)
    assert words == 2
    assert codes[:70] == [blocks.ONE] * 70
    assert codes[70:128] == [blocks.REGIONS] * 58


ONES, SMALLS, LARGE = ([f] * 64 for f in (1.0, 2.0, 100.0))
COMMON = [0.1] * 64


@pytest.mark.parametrize(
    ("f", "expected"),
    [
        (ONES, blocks.ONE),
        (SMALLS, blocks.SMALL),
        (ONES[:40] + SMALLS[:2], blocks.SMALL),
        (ONES[:33] + LARGE[:31], blocks.ONE),
        (LARGE[:33] + ONES[:31], blocks.LEVELS_15),
        (LARGE[:32] + ONES[:32], blocks.REGIONS),
        ([9.0] * 64, blocks.FORWARD_15),
        ([20.0] * 64, blocks.REGIONS),
        ([1.0], blocks.ONE),
    ],
)
def test_prevailing_region(f, expected):
    assert blocks._prevailing(f, COMMON, blocks.code_stack(), len(f)) == expected


@pytest.mark.parametrize("w", [0, 1, 2, 4])
def test_cells_set_apart(w, cells):
    f, p = (column.tolist() for column in cells(BLOCK - 5))
    rest = [-1] * BLOCK
    left = blocks._set_apart(w, f, p, blocks.code_stack(), len(f), rest)
    served = {blocks.SMALL: (blocks.ONE, blocks.SMALL)}.get(w, (w,))
    places = [region(x, y) for x, y in zip(f, p, strict=True)]
    assert rest[:left] == [i for i, place in enumerate(places) if place not in served]
    assert 0 < left < len(f)


@pytest.mark.parametrize("m", [0, 1, 7, 8, 9, 64])
def test_lists_are_filled_up_to_whole_vectors(m):
    picked = list(range(5, 5 + m)) + [-1] * 8
    full = blocks.filled_up(picked, m)
    assert 0 <= full - m < 8
    assert full % 8 == 0
    assert picked[m:full] == [5] * (full - m)
