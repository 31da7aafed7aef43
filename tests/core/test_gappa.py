"""Does Gappa prove what is claimed of parts of the kernels, and nothing more?"""

import inspect
from importlib import import_module

import pytest

from tests import needs

gappa = import_module("bench.proof.gappa")
gappa_parts = import_module("bench.proof.gappa_parts")
gappa_kernels = import_module("bench.proof.gappa_kernels")

pytestmark = needs.gappa


@pytest.mark.parametrize("name", gappa_parts.OPERATIONS)
def test_operations_on_pairs(name):
    row = gappa_parts.operation(name)
    assert row.holds()
    assert 0.0 < row.rounding < 2.0**-100


def test_quotients():
    assert gappa_parts.quotient().holds()


def test_what_does_not_hold_is_not_proved():
    lines = ["x = float<ieee_64,ne>(y);"]
    assert gappa.prove(lines, ["y in [1,2]"], "x - y", []) == 2.0**-53
    assert gappa.prove(lines, ["y in [1,2]"], "x - y", [], "1b-53")
    with pytest.raises(ValueError, match="does not prove"):
        gappa.prove(lines, ["y in [1,2]"], "x - y", [], "1b-54")


def test_a_wrong_hint_is_refused():
    hint = ["x * x - y * y -> (x - y) * (x + 2 * y);"]
    with pytest.raises(ValueError, match="not what it replaces"):
        gappa.prove([], ["x in [1,2]", "y in [1,2]"], "x * x - y * y", hint)


def test_suprema():
    found = gappa_parts.sollya("1 + x", "exp(x)", "[0;1b-4]")
    assert 2.0**-9 < found < 2.0**-8.9


def mutant(kernel, old, new):
    """Return a kernel with a changed line."""
    source = inspect.getsource(kernel)
    assert source.count(old) == 1
    scope = dict(kernel.__globals__)
    exec(source.replace(old, new), scope)
    return scope[kernel.__name__]


def test_subnormal_bounds_are_not_rounded_to_zero():
    assert gappa.read("1b-1100") > 0.0
    assert gappa.read("3b-54") == 3.0 * 2.0**-54


@pytest.mark.parametrize("k", [-60, -1, 1, 60])
def test_the_exponential_is_scaled_in_pairs(k):
    scale = max(1.0, 2.0**k)
    assert max(gappa_kernels.scaled(k, 2.0**-55)) < 2.0**-105 * scale


@pytest.mark.slow
def test_logarithm():
    row = gappa_kernels.logarithm(0, 0.75, 11 / 16, 13 / 16, None)
    assert row.found() < 2.0**-70


LOSES = {
    "near_one": [
        ("m_low = ((1.0 - m) - z) - z_low", "m_low = ((1.0 - m) - z) + z_low"),
        ("fma(w, _T1, _T0)", "fma(w, _T1, 1.00000001 * _T0)"),
    ],
    "series": [
        ("(rest + t_low)", "rest"),
        ("fma(tail, t, 1.0 / 40320.0)", "fma(tail, t, 1.0 / 40320.0000001)"),
    ],
    "argument": [
        ("t_low + (x_low - shift_low)", "t_low + (x_low + shift_low)"),
        ("shift, shift_low = two_product(k, LN2_LOW)",
         "shift, shift_low = two_product(k, 1.0000000001 * LN2_LOW)"),
    ],
}  # fmt: skip


@pytest.mark.slow
def test_near_one(monkeypatch):
    assert gappa_kernels.near(3.0, 0.22, 0.25).holds()
    for change in LOSES["near_one"]:
        changed = mutant(gappa_kernels.fast_integer.near_one, *change)
        with monkeypatch.context() as patch:
            patch.setattr(gappa_kernels.fast_integer, "near_one", changed)
            assert not gappa_kernels.near(3.0, 0.22, 0.25).holds()


@pytest.mark.parametrize("sign", [1, -1])
def test_argument_of_the_exponential(sign, monkeypatch):
    assert gappa_kernels.argument(sign).found() < 2.0**-91
    for change in LOSES["argument"]:
        changed = mutant(gappa_kernels.KERNEL, *change)
        with monkeypatch.context() as patch:
            patch.setattr(gappa_kernels, "KERNEL", changed)
            assert gappa_kernels.argument(sign).found() > 2.0**-89


def of_series():
    ends = 0.25, gappa_kernels.T_MOST
    polynomial = gappa_kernels.series(*ends).polynomial()
    left = gappa_parts.sollya(polynomial, "expm1(x)", "[0.25;0.3467]", "relative")
    return gappa_kernels.near_zero(*ends, left)


@pytest.mark.slow
def test_series_of_the_exponential(monkeypatch):
    assert of_series().holds()
    for change in LOSES["series"]:
        changed = mutant(gappa_kernels.KERNEL, *change)
        with monkeypatch.context() as patch:
            patch.setattr(gappa_kernels, "KERNEL", changed)
            assert not of_series().holds()
