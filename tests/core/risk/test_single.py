"""float32 in, float32 out: rounded once, at every kind of cell."""

import ctypes
import math
from decimal import Decimal
from fractions import Fraction
from importlib import import_module

import dask.array as da
import numpy as np
import pandas as pd
import polars as pl
import pytest
import xarray as xr

import riskcore
from riskcore.core.compiled import ufunc_maker
from riskcore.core.risk import single

checked = import_module("bench.single_precision")
NAMES = ["individual_risk", "individual_risk_from_frequencies"]
SMALL = 2.0**-149
f32 = np.float32


def cells(rng, n):
    """Draw float32 cells: frequencies whole and not, fractions down to subnormal."""
    f = np.where(rng.random(n) < 0.6, rng.integers(1, 80, n), rng.gamma(2, 3, n))
    p = np.where(rng.random(n) < 0.2, rng.integers(1, 2**23, n) * SMALL, rng.random(n))
    return f.astype(f32), p.astype(f32)


def directed(x, up):
    """Return the float32 on one side of doubles x > 0."""
    y = x.astype(f32)
    beyond, end = (y < x, np.inf) if up else (y > x, 0)
    return np.where(beyond, np.nextafter(y, f32(end)), y)


def test_the_results_are_those_of_doubles_rounded_once():
    f, p = cells(np.random.default_rng(1), 4000)
    with np.errstate(all="raise"):
        got = riskcore.individual_risk(f, p)
        lower, upper = riskcore.individual_risk_bounds(f, p)
        down, up = (
            riskcore.individual_risk_down(f, p),
            riskcore.individual_risk_up(f, p),
        )
        log, gradient = (
            (function(f, p), function(f.astype(float), p.astype(float)))
            for function in (
                riskcore.log_individual_risk,
                riskcore.individual_risk_gradient,
            )
        )
        strided = riskcore.individual_risk(f[::-3], p[::-3])
    below, above = riskcore.individual_risk_bounds(f.astype(float), p.astype(float))
    assert {x.dtype for x in (got, lower, upper, down, up, log[0])} == {np.dtype("f4")}
    np.testing.assert_array_equal([lower, down], [directed(below, up=False)] * 2)
    np.testing.assert_array_equal([upper, up], [directed(above, up=True)] * 2)
    sure = below.astype(f32) == above.astype(f32)
    np.testing.assert_array_equal(got[sure], below.astype(f32)[sure])
    np.testing.assert_array_equal(strided, got[::-3])
    for narrow, wide in (log, gradient):
        np.testing.assert_array_equal(narrow, wide.astype(f32))
    for i in np.flatnonzero((f >= 1) & (p > 1e-30))[:30]:
        assert got[i] == checked.nearest(float(f[i]), float(p[i]))


@pytest.mark.parametrize(
    ("f", "p", "expected"),
    [
        (3.0, 3 * SMALL, SMALL),  # below the middle: twice rounded, 2^-148
        (3.0, SMALL, 0.0),
        (2.0**60, 5 * 2.0**-90, 3 * SMALL),  # above the middle
        (2.0**-149, 1.0, math.inf),
        (1.0, 1.0, 1.0),
        (1.0, 0.0, math.nan),
    ],
)
def test_at_middles_and_ends(f, p, expected):
    got = riskcore.individual_risk(f32(f), f32(p))
    np.testing.assert_array_equal(got, f32(expected))


@pytest.mark.parametrize(("name", "way"), [*zip(NAMES, (1, 2), strict=True)])
def test_the_exact_value_decides_at_a_middle(name, way):
    rng = np.random.default_rng(2)
    f, p = cells(rng, 400)
    p = np.maximum(p, f32(1e-6))
    second = p if way == single.OF_FRACTION else np.maximum(f / p, f)
    x = getattr(riskcore, name)(f, second)
    beside = np.nextafter(x, np.where(rng.random(400) < 0.5, 0, np.inf).astype(f32))
    middles = (x.astype(float) + beside.astype(float)) / 2
    cells_of = zip(f.tolist(), second.tolist(), strict=True)
    known = dict(zip(cells_of, middles.tolist(), strict=True))

    def loop(args, sizes, steps, _):
        for i in range(sizes[0]):
            args[2][i] = known[args[0][i], args[1][i]]

    words = ctypes.POINTER(ctypes.c_int64)
    arrays = ctypes.POINTER(ctypes.POINTER(ctypes.c_double))
    code = ctypes.CFUNCTYPE(None, arrays, words, words, ctypes.c_void_p)(loop)
    address = ctypes.cast(code, ctypes.c_void_p).value
    both = single.rounded_to_single(way)(address, 2)
    ufunc = ufunc_maker.from_loop(address, "middles", "", (2, 1), both)
    np.testing.assert_array_equal(ufunc(f, second), x)


def test_the_width_is_that_of_numpys_rules():
    narrow, wide, whole = f32([0.5]), np.array([0.5]), np.array([1], np.int8)
    width = [
        riskcore.individual_risk(*pair).dtype.itemsize
        for pair in [
            (narrow, narrow), (1, narrow), (1.5, narrow), (whole, narrow),
            (np.float16([1]), narrow), (np.float16([1]), 0.5),
            (wide, narrow), (np.int64([1]), narrow), (whole, 0.5), (whole, whole),
            (np.uint64([1]), whole), (whole, wide), (1, 0.5),
        ]
    ]  # fmt: skip
    assert width == [4] * 6 + [8] * 7
    assert riskcore.individual_risk(narrow, narrow, dtype=float).dtype == float
    assert riskcore.individual_risk(wide, wide, dtype=f32).dtype == f32
    assert riskcore.individual_risk.accumulate(f32([2, 0.5, 0.5])).dtype == f32


def test_frames_of_float32_keep_their_width():
    f, p = f32([1, 2, 3]), f32([0.01, 0.2, 0.5])
    expected = riskcore.individual_risk(f, p)
    for make in (
        pd.Series, pl.Series, xr.DataArray, np.ma.array,
        lambda array: da.from_array(array, chunks=2),
    ):  # fmt: skip
        got = np.asarray(riskcore.individual_risk(make(f), make(p)))
        assert got.dtype == f32
        np.testing.assert_array_equal(got, expected)


@pytest.mark.parametrize(
    ("wrong", "kind"),
    [
        (np.longdouble(0.5), "longdouble"),
        (np.array([0.5, 1], np.longdouble), "longdouble"),
        (Fraction(1, 2), "Fraction"),
        (Decimal("0.5"), "Decimal"),
        (np.array([0.5, 1.0], object), "objects"),
        ("0.5", "str"),
        (0.5j, "complex"),
    ],
)
def test_other_types_are_refused_with_the_remedy(wrong, kind):
    for f in (1.0, f32(1)):
        with pytest.raises(TypeError, match=rf"{kind}: .*astype\(float\)"):
            riskcore.individual_risk(f, wrong)
