"""The proof of the balls: does it hold, and does it see mistakes?"""

import math
import random
import types
from fractions import Fraction
from importlib import import_module

import pytest

from riskcore.core.special import balls as source
from riskcore.core.special.floats import fma, two_product
from tests.core.changed_source import changed

functions = import_module("bench.proof.ball_functions")
proof = import_module("bench.proof.balls")
symbols = import_module("bench.proof.ball_symbols")


UNIT, ETA = Fraction(1, 2**53), Fraction(1, 2**1075)


def test_every_operation_and_function_is_proved():
    rows = proof.prove()
    assert [row[0] for row in rows[:9]] == list(proof.OPERATIONS)
    assert [row[0] for row in rows[9:]] == [
        "k log 2", "log x", "exp x, exp x - 1", "pi e/sin(pi e) - 1",
    ]  # fmt: skip


def test_no_operation_on_balls_is_left_out():
    kernels = {
        name
        for name, one in vars(source).items()
        if isinstance(one, types.FunctionType) and one.__module__ == source.__name__
    }
    series = {"polynomial", "tail", "ln2_times", "log", "scaled_exp", "exp", "expm1"}
    series |= {f"{one}_{end}" for one in functions.SERIES for end in ("first", "last")}
    of_constants = {"dd_constant", "_short", "_rest"}
    assert kernels == {*proof.OPERATIONS, *series, "sine_excess", *of_constants}


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("OUTWARD = 1.0 + 2.0**-48", "OUTWARD = 1.0 + 2.0**-51"),
        ("UNDERFLOW = 2.0**-1060", "UNDERFLOW = 2.0**-1074"),
        ("b_radius + abs(c_lost) + abs(w_lost)", "b_radius + abs(c_lost)"),
        ("(a_radius + abs(c_lost))", "(a_radius + c_lost)"),
        ("return -high, -low, radius", "return -high, low, radius"),
        ("return add(a, negate(b))", "return add(a, b)"),
        ("m = fma(a_high, b_low, t)", "m = fma(a_high, b_high, t)"),
        ("c = rest + m\n", "c = rest - m\n"),
        (" + abs(a_low * b_low)", ""),
        ("+ b_radius) * a_radius", ") * a_radius"),
        ("lost = UNIT * (abs(t) +", "lost = 0.5 * UNIT * (abs(t) +"),
        ("c = fma(a_low, b, rest)", "c = fma(a_low, rest, b)"),
        ("two_sum(a_high * power, a_low * power)", "a_high * power, a_low * power"),
        ("abs(z) * (1.0 + 4.0 * UNIT) * b_radius", "0.9 * abs(z) * b_radius"),
        ("(abs(further) + abs(left)) + UNDERFLOW", "abs(further) + UNDERFLOW"),
        ("+ abs(low_lost) + 3.0", "+ 3.0"),
        ("+ 3.0 * UNIT * abs(z_last)\n", "+ UNIT * abs(z_last)\n"),
        ("* (1.0 - 4.0 * UNIT) - b_radius", "* (1.0 - UNIT) - b_radius"),
        ("narrow = 4.0 * b_radius +", "narrow = 0.9 * b_radius +"),
        ("b_radius + _SMALLEST <=", "b_radius <="),
        ("if narrow else math.inf", "if narrow else 0.0"),
        ("high, low = two_sum(high, low)", "low = low"),
        ("z_last = left / b_high", "z_last = left / a_high"),
        ("fma(-z, b, 1.0) / b", "fma(-z, b, z) / b"),
        ("(1.1 * UNIT * UNIT)", "(0.1 * UNIT * UNIT)"),
        ("TAIL = 2.0**-49", "TAIL = 2.0**-51"),
        ("slope = 1.4 *", "slope = 1.05 *"),
        ("TAIL * abs(total) + slope", "TAIL * abs(total) - slope"),
        ("_NARROW = 2.0**-50", "_NARROW = 2.0**50"),
        ("radius <= _NARROW * high else math.inf", "radius < math.inf else math.inf"),
        ("_SQRT_HALF_BITS = 0x3FE6A0", "_SQRT_HALF_BITS = 0x3FE000"),
        ("s = multiply_double(s, 2.0)", "s = multiply_double(s, 1.0)"),
        ("ln2_times(float(k) + exponent)", "ln2_times(float(k) - exponent)"),
        ("for j in range(10)])", "for j in range(9)])"),
        ("for j in range(10, 20)])", "for j in range(10, 19)])"),
        ("abs(k) * 2.0**-135", "0.0"),
        ("radius <= _SHORT else", "radius <= 2.0 * _SHORT else"),
        ("for j in range(14, 24)])", "for j in range(14, 19)])"),
        ("(0.5 if high > 0.0", "(0.55 if high > 0.0"),
        ("from_bits((k + 1023) << 52)", "from_bits((k + 1022) << 52)"),
        ("two_sum(power, -1.0)", "two_sum(power, 1.0)"),
        ("232121458176568", "232121458176569"),
        ("3.14159265358979323846", "3.14159265358979323847"),
        ("w = (square, square_low, UNDERFLOW)", "w = (square, 0.0, UNDERFLOW)"),
        ("add_double(negate(deficit), 1.0)", "add_double(deficit, 1.0)"),
    ],
)
def test_a_changed_kernel_is_not_proved(before, after):
    with pytest.raises(ValueError):  # noqa: PT011
        proof.prove(changed(source, before, after))


def test_larger_radii_are_proved():
    proof.prove(changed(source, "OUTWARD = 1.0 + 2.0**-48", "OUTWARD = 1.0 + 2.0**-40"))


def test_an_overflow_that_the_radius_hides_is_seen():
    proof.check_overflow(source, "multiply_double")
    hidden = changed(source, "c = fma(a_low, b, rest)", "c = 1.0 / fma(a_low, b, rest)")
    with pytest.raises(ValueError, match="not seen"):
        proof.check_overflow(hidden, "multiply_double")


# --- the theorems taken --------------------------------------------------------------


def doubles(rng, n):
    """Return doubles of all sizes, of short and long mantissas."""
    for _ in range(n):
        long = rng.choice([1.0, 1.5, 2.0 - 2.0**-52, 1.0 + rng.random()])
        yield rng.choice([-1.0, 1.0]) * math.ldexp(long, rng.randint(-1080, 600))


def test_the_rest_of_a_quotient_is_exact_up_to_underflow():
    rng = random.Random(5)
    for n, d in zip(doubles(rng, 4000), doubles(rng, 4000), strict=True):
        if d == 0.0 or not abs(Fraction(n) / Fraction(d)) < 2**1000:
            continue
        z = n / d
        off = abs(Fraction(fma(-z, d, n)) - (Fraction(n) - Fraction(z) * Fraction(d)))
        assert off <= ETA * (1 + abs(Fraction(d)))
        z = 1.0 / d if abs(d) > 2.0**-1000 else 0.0
        off = abs(Fraction(fma(-z, d, 1.0)) - (1 - Fraction(z) * Fraction(d)))
        assert off <= ETA * abs(Fraction(d))


def test_a_product_and_its_rest_are_exact_up_to_underflow():
    rng = random.Random(6)
    for a, b in zip(doubles(rng, 4000), doubles(rng, 4000), strict=True):
        if abs(Fraction(a) * Fraction(b)) < 2**1000:
            high, low = map(Fraction, two_product(a, b))
            assert abs(Fraction(a) * Fraction(b) - high - low) <= ETA
            assert abs(low) <= UNIT * abs(high)


def test_bounds_are_not_positive_where_they_are_not():
    run = symbols.Run()
    x, y = run.symbol(), run.symbol()
    assert run.is_positive(x * x + y)
    assert not run.is_positive(x - y)
    small = run.symbol(lambda: symbols.U * x)
    assert run.is_positive(x - small)
    assert not run.is_positive(symbols.U * x / 2 - small)
