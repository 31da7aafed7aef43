"""Which cells of a block are evaluated in place."""

import pytest

from riskcore.core.special.floats import BLOCK
from riskcore.core.special.gauss import risk_blocks
from riskcore.core.special.gauss.blocks import NOTHING, code_stack
from riskcore.core.special.gauss.fast_integer import (
    FORWARD_15,
    FROM_32,
    NEAR_ONE,
    ONE,
    REGIONS,
    SMALL,
    region,
)


def test_codes_past_the_cells_are_of_no_region():
    codes = code_stack()
    words = risk_blocks.classify_cells([1.0] * 70, [0.1] * 70, codes, 70)
    assert words == 2
    assert codes[:70] == [ONE] * 70
    assert codes[70:128] == [NOTHING] * 58


ONES, SMALLS, LARGE = ([f] * 64 for f in (1.0, 2.0, 100.0))
COMMON = [0.1] * 64


@pytest.mark.parametrize(
    ("f", "expected"),
    [
        (ONES, ONE),
        (SMALLS, SMALL),
        (ONES[:40] + SMALLS[:2], SMALL),
        (ONES[:33] + LARGE[:31], ONE),
        (LARGE[:33] + ONES[:31], FROM_32),
        (LARGE[:32] + ONES[:32], REGIONS),
        ([9.0] * 64, FORWARD_15),
        ([20.0] * 64, REGIONS),
        ([1.0], ONE),
    ],
)
def test_prevailing_region(f, expected):
    assert risk_blocks.prevailing(f, COMMON, code_stack(), len(f)) == expected


def test_the_region_near_one_prevails():
    assert risk_blocks.prevailing(ONES, [0.9] * 64, code_stack(), 64) == NEAR_ONE


@pytest.mark.parametrize("w", [ONE, SMALL, FORWARD_15, NEAR_ONE, FROM_32])
def test_cells_set_apart(w, cells):
    f, p = (column.tolist() for column in cells(BLOCK - 5))
    rest = [-1] * BLOCK
    left = risk_blocks.set_apart(w, f, p, code_stack(), len(f), rest)
    served = {SMALL: (ONE, SMALL)}.get(w, (w,))
    places = [region(x, y) for x, y in zip(f, p, strict=True)]
    assert rest[:left] == [i for i, place in enumerate(places) if place not in served]
    assert 0 < left < len(f)
