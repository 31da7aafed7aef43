import math
import struct
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from riskcore.core.compiled.jit import kernel
from riskcore.core.compiled.ufunc_maker import elementwise
from riskcore.core.special import floats

finite = st.floats(allow_nan=False, allow_infinity=False)
moderate = st.floats(-1e100, 1e100).filter(lambda x: x == 0 or abs(x) > 1e-100)


@kernel
def _bits_and_back(x: float, scale: float) -> float:
    return floats.from_bits(floats.bits(x)) * scale


@pytest.fixture(scope="module")
def compiled_fma():
    return elementwise("fma", floats.fma)


@given(a=finite, b=finite, c=finite)
def test_fma_is_rounded_once(a, b, c):
    exact = Fraction(a) * Fraction(b) + Fraction(c)
    try:
        expected = float(exact)
    except OverflowError:
        expected = math.inf if exact > 0 else -math.inf
    assert floats.fma(a, b, c) == expected


@given(a=st.floats(), b=st.floats(), c=st.floats())
def test_fma_compiled_gives_the_same_bits(compiled_fma, a, b, c):
    compiled, interpreted = compiled_fma(a, b, c), floats.fma(a, b, c)
    if math.isnan(interpreted):
        assert math.isnan(compiled)
    else:
        assert struct.pack("<d", compiled) == struct.pack("<d", interpreted)


def test_fma_keeps_what_a_product_loses(compiled_fma):
    a = 1 + 2.0**-30
    assert (
        floats.fma(a, a, -(1 + 2.0**-29))
        == 2.0**-60
        == compiled_fma(a, a, -1 - 2.0**-29)
    )
    assert a * a - (1 + 2.0**-29) == 0


@given(st.floats(allow_nan=False))
def test_bits_and_back(x):
    assert floats.from_bits(floats.bits(x)) == x
    assert floats.bits(x) == np.float64(x).view(np.int64)


def test_bits_compiled():
    x = np.array([0.0, -0.0, 5e-324, 1.5, -math.inf])
    compiled = elementwise("bits_and_back", _bits_and_back)
    assert compiled(x, 1.0).tobytes() == x.tobytes()


@given(moderate, moderate)
def test_sums_and_products_are_exact(a, b):
    s, e = floats.two_sum(a, b)
    assert s == a + b
    assert Fraction(s) + Fraction(e) == Fraction(a) + Fraction(b)
    high, low = sorted([a, b], key=abs, reverse=True)
    assert floats.fast_two_sum(high, low) == (s, e)
    p, e = floats.two_product(a, b)
    assume(p == 0 or abs(p) > 1e-250)
    assert Fraction(p) + Fraction(e) == Fraction(a) * Fraction(b)


def test_stacks_hold_a_block():
    assert len(floats.stack()) >= floats.BLOCK
    assert len(floats.integer_stack()) >= floats.BLOCK
