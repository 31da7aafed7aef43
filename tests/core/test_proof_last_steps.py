"""The proof of the last steps: does it hold, and does it see mistakes?"""

import inspect
import math
from fractions import Fraction
from importlib import import_module

import numpy as np
import pytest

from riskcore.core.special import fixed_point
from riskcore.core.special.gauss import ball_step
from riskcore.core.special.gauss import fixed_point_step as step

in_words = import_module("bench.proof.in_words")
last_steps = import_module("bench.proof.last_steps")
sides = import_module("bench.proof.sides")
words = import_module("bench.proof.words")


def change(monkeypatch, module, name, old, new):
    """Change the source of a kernel; a constant is given without old."""
    if old is None:
        monkeypatch.setattr(module, name, new)
        return
    text = inspect.getsource(getattr(module, name))
    text = text[text.index("def ") :]
    assert old in text
    scope = {}
    exec(compile(text.replace(old, new), name, "exec"), vars(module), scope)
    monkeypatch.setattr(module, name, scope[name])


# --- r in fixed point ----------------------------------------------------------------

EVERY = 42  # of the cases of contiguity


@pytest.fixture
def few_levels(monkeypatch):
    monkeypatch.setattr(in_words, "LEVELS", 12)
    monkeypatch.setattr(step, "_levels", lambda *_: 12)


def test_the_fraction_is_proved(few_levels):
    assert in_words.check_e() == 16
    assert in_words.check_fractions() == 15


def test_contiguity_is_proved_for_some_cases():
    assert in_words.check_contiguity(EVERY) > 50


@pytest.mark.slow
def test_all_is_proved():
    assert len(last_steps.prove()) == 10


E_MUTANTS = [
    ("k = 1 + (m + 1) // 2", "k = 1 + m // 2"),
    ("set_integer(b, n, m // 2)", "set_integer(b, n, m // 2 + 1)"),
    ("over(x, x, 2, n)", "over(x, x, 3, n)"),
    ("0.5 * (1.0 - p_double)", "0.25 * (1.0 - p_double)"), ("+ 2.0**-40", "- 2.0**-40"),
    ("error(x, n) + half", "half"), ("half / units(n)", "half"),
    ("subtract(x, b, t, n)", "subtract(x, t, b, n)"),
    ("shift(t, t, -s, n)", "shift(t, t, s, n)"),
    ("multiply(b, q, b, n)", "multiply(b, p, b, n)"),
    ("divide(z, x, t, n)", "divide(z, t, x, n)"),
    ("times(t, x, k, n)", "times(t, x, k + 1, n)"),
]  # fmt: skip


@pytest.mark.parametrize(("old", "new"), E_MUTANTS)
def test_another_level_is_seen(monkeypatch, few_levels, old, new):
    change(monkeypatch, step, "_e", old, new)
    with pytest.raises(ValueError, match=r"."):
        in_words.check_e()


FRACTION_MUTANTS = [
    ("_by_fraction", "subtract(z, z, one, n)", "add(z, z, one, n)"),
    ("_by_fraction", "multiply(z, z, q, n)", "multiply(z, z, p, n)"),
    ("_by_fraction", "return p_scale - s", "return p_scale + s"),
    ("_by_fraction", "g, s, p, q, n)", "g, s + 1, p, q, n)"),
    ("_by_fraction", "g, s, p, q, n)", "g, s, q, p, n)"),
    ("_below_one", "return -s", "return s"),
    ("_below_one", "divide(z, z, g, n)", "divide(z, z, g_small, n)"),
    ("_below_one", "add_integer(t, g_small, 1, n)", "add_integer(t, g_small, 2, n)"),
    ("_below_one", "f + 1.0, rounded(p), t", "f + 1.0, rounded(p), g"),
    ("_below_one", "add(z, z, g_small, n)", "subtract(z, z, g_small, n)"),
    ("risk_in_words", "p_scale = s - s_b", "p_scale = s + s_b"),
    ("risk_in_words", "subtract(q, q, p, n)", "subtract(q, p, q, n)"),
    ("risk_in_words", "f < 1.0", "f < 2.0"),
    ("risk_in_words", "f < _F_LEVELS", "f <= 2.0 * _F_LEVELS"),
    ("risk_in_words", "rounded(p) < _P_LEVELS", "rounded(p) < 0.31"),
]


@pytest.mark.parametrize(("name", "old", "new"), FRACTION_MUTANTS)
def test_another_formula_by_the_fraction_is_seen(monkeypatch, name, old, new):
    change(monkeypatch, step, name, old, new)
    with pytest.raises(ValueError, match=r"."):
        in_words.check_fractions()


CONTIGUITY_MUTANTS = [
    ("_by_contiguity", "- 1 if f > 0.5", "if f > 0.5"),
    ("_by_contiguity", "f - steps - 1.0", "f - steps - 0.5"),
    ("_by_contiguity", "steps + 1):", "steps):"),
    ("_by_contiguity", "over(z, z, 2, n)", "over(z, z, 3, n)"),
    ("_by_contiguity", "0.5 / units(n)", "0.25 / units(n)"),
    ("_by_contiguity", "e + step)", "e + step + 1)"),
    ("_by_contiguity", "subtract(z, u, z, n)", "subtract(z, z, u, n)"),
    ("_by_contiguity", "z, p_scale + scaled_by, n", "z, p_scale, n"),
    ("_by_contiguity", "return p_scale + scaled_by", "return scaled_by"),
    ("_by_contiguity", "negate(z, z, n)", "pass"),
    ("_by_contiguity", "steps < 0, p_scale", "False, p_scale"),
    ("_reflected", "negate(u, u, n)", "pass"),
    ("_reflected", "negate(t, t, n)", "pass"),
    ("_reflected", "negate(z, z, n)", "pass"),
    ("_reflected", "log(u, v, p_scale, n)", "log(u, p, 0, n)"),
    ("_reflected", "sinc(u, t, n)", "sinc(u, size_e, n)"),
    ("_reflected", "k if k > 0 or itself else 0", "k if itself else 0"),
    ("_reflected", "k if k > 0 or itself else 0", "0"),
    ("_reflected", "return scaled_by - s", "return scaled_by"),
    ("_reflected", "shift(z, z, -s, n)", "shift(z, z, s, n)"),
    ("_reflected", "shift(u, u, -scaled_by, n)", "pass"),
    ("_reflected", "u, 0, q, p, n)", "u, 0, p, q, n)"),
    ("_reflected", "add(u, u, q, n)", "add(u, u, p, n)"),
    ("_reflected", "divide(z, z, u, n)", "multiply(z, z, u, n)"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "old", "new"), CONTIGUITY_MUTANTS)
def test_another_formula_by_contiguity_is_seen(monkeypatch, name, old, new):
    change(monkeypatch, step, name, old, new)
    with pytest.raises((ValueError, TypeError, AttributeError)):
        in_words.check_contiguity(EVERY)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("f - steps - 1.0", "f + 7.0 - steps - 8.0"),
        ("first >= 2", "first >= 1"),
        ("first + 1 if", "first if"),
    ],
)
def test_steps_that_are_rounded_or_start_too_early_are_seen(monkeypatch, old, new):
    change(monkeypatch, step, "_by_contiguity", old, new)
    with pytest.raises(ValueError, match=r"."):
        in_words.check_steps()


# --- sides ---------------------------------------------------------------------------


def test_sides_are_proved():
    assert len(sides.prove()) == 3


SIDE_MUTANTS = [
    ("_boundary", "1075 + 54", "1075 + 53"), ("_boundary", "e -= 1", "e -= 2"),
    ("_boundary", "s -= 1", "s += 1"), ("_boundary", "<< 2", "<< 3"),
    ("_boundary", "2 * (pattern", "4 * (pattern"),
    ("_boundary", "(1 if middle else 0)", "1"),
    ("_boundary", "number_of_units < _TOP", "number_of_units < _FIRST_MANTISSA"),
    ("_equal", "subtract(t, t, y, n)", "subtract(t, t, t, n)"),
    ("_equal", "number(), False", "number(), True"),
    ("_equal", "shift(t, x, s, n)", "shift(t, x, -s, n)"),
    ("_at_a_limit", "return 1", "return -1"), ("_at_a_limit", "return -1", "return 1"),
    ("_at_a_limit", "f > 1.0", "f > 0.5"), ("_at_a_limit", "s_f <= 54", "s_f <= 60"),
    ("_at_a_limit", "s_f -= 1", "pass"), ("_at_a_limit", "s_f - s_a", "s_f + s_a"),
    ("_at_a_limit", "multiply(t, t, B, n)", "multiply(t, t, t, n)"),
    ("_at_a_limit", "times(t, t, 2, n)", "multiply(t, t, t, n)"),
    ("side", "> 26", "> 27"), ("side", "> 26", "> 25"), ("side", "< -60", "< -59"),
    ("side", "s - size, n", "size - s, n"),
    ("side", "subtract(z, z, B, n)", "subtract(z, B, z, n)"),
    ("side", "risk_in_words(z, f, a, b, n)", "risk_in_words(z, f, b, a, n)"),
    ("side", "_boundary(B, x, middle, n)\n        shift", "shift"),
    ("side", "found != 0 or n", "n"), ("side", "return at", "return -at"),
    ("side", "_MORE_WORDS if n < _MORE_WORDS else WORDS", "WORDS"),
    ("side", "x == 0.0 and not middle", "x == 0.5"),
    ("side", "x == 0.0 and not middle", "x == 0.0 or not middle"),
    ("side", "return 1", "return 2"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "old", "new"), SIDE_MUTANTS)
def test_another_side_is_seen(monkeypatch, name, old, new):
    change(monkeypatch, step, name, old, new)
    with pytest.raises((ValueError, IndexError, TypeError)):
        sides.prove()


def test_limits_that_take_too_many_bits_are_seen(monkeypatch):
    monkeypatch.setattr(sides, "FEW", 6)
    with pytest.raises(ValueError, match="rounded"):
        sides.check_limits()


# --- balls ---------------------------------------------------------------------------

SOME = 3  # of the balls


def test_balls_are_proved_for_some_high_parts():
    assert last_steps.check_balls(SOME) > 500
    assert last_steps.check_cells() == 338
    assert last_steps.check_scale() == 18


BALL_MUTANTS = [
    ("_is_nearest", "low + radius < up", "low < up"),
    ("_is_nearest", "low + radius < up", "low + radius <= up"),
    ("_is_nearest", "radius - low < down", "low + radius < down"),
    ("_is_nearest", "0.5 * (double_above", "0.51 * (double_above"),
    ("_is_nearest", "0.5 * (high - double_below", "1.0 * (high - double_below"),
    ("_is_nearest", "double_above(high) - high)", "double_above(high) - high + high)"),
    ("_is_nearest", "double_below(high)", "double_below(double_below(high))"),
    ("_is_nearest", "abs(high - back) + ", ""),
    ("_is_nearest", "half = 0.5", "half = 0.6"),
    ("_is_nearest", "coarse if result < _COARSE else fine", "fine"),
    ("_NEARLY_ALL", None, 1.0 + 2.0**-40), ("_COARSE", None, 2.0**-1040),
    ("_WIDEST", None, 2.0**-50),
    ("_towards_zero", "double_below(y) if", "y if"),
    ("_towards_zero", "scaled(y, step) > x", "scaled(y, step) < x"),
    ("_towards_zero", "abs(n)", "1"), ("_nearest", "low < 0.0", "low > 0.0"),
    ("_nearest", "double_below(high) if low < 0.0 else high", "high"),
    ("_nearest", "double_below(high) if low", "double_above(high) if low"),
    ("_nearest", "side(f, a, b, x, True)", "side(f, a, b, x, False)"),
    ("_nearest", "x if where < 0 else", "x if where <= 0 else"),
    ("_nearest", "double_above(x) if where > 0", "x if where > 0"),
    ("_nearest", "        return math.nan\n", "        pass\n"),
    ("_nearest", "not (radius <=", "not (low <="),
    ("_nearest", "high < math.inf", "high <= math.inf"),
    ("_nearest", "else double_above(x)", "else 2.0 * x"),
    ("_nearest", "scaled(high, -n)", "scaled(high, n)"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "old", "new"), BALL_MUTANTS)
def test_another_test_of_balls_is_seen(monkeypatch, name, old, new):
    change(monkeypatch, ball_step, name, old, new)
    with pytest.raises((ValueError, IndexError, TypeError, AttributeError)):
        last_steps.check_balls(SOME)


CELL_MUTANTS = [
    ("_inside", "f > 0.0", "f >= 0.0"),
    ("_inside", "f < math.inf", "f <= math.inf"),
    ("_inside", "a > 0.0", "a >= 0.0"),
    ("_inside", "a <= b", "a < b"),
    ("nearest_slow", "p == 1.0", "p == 0.5"),
    ("nearest_slow", "1.0 / f", "1.0 - f"),
    ("nearest_slow", "_inside(f, p, 1.0)", "_inside(f, p, 1.0000001)"),
    ("nearest_slow", "_nearest(f, p, 1.0, ball, n)", "_nearest(f, 1.0, p, ball, n)"),
]


@pytest.mark.parametrize(("name", "old", "new"), CELL_MUTANTS)
def test_other_cells_are_seen(monkeypatch, name, old, new):
    change(monkeypatch, ball_step, name, old, new)
    with pytest.raises(ValueError, match="f ="):
        last_steps.check_cells()


# --- the meanings of numbers ---------------------------------------------------------


def test_ranges_hold_what_doubles_do():
    rng = np.random.default_rng(3)
    for _ in range(300):
        a, b, c, d = np.sort(rng.normal(size=4)) * 2.0 ** rng.integers(-5, 5)
        x, y = words.Range(a, b), words.Range(c, d)
        s, t = rng.uniform(a, b), rng.uniform(c, d)
        for found, true in (
            (x + y, Fraction(s) + Fraction(t)),
            (x - y, Fraction(s) - Fraction(t)),
            (x * y, Fraction(s) * Fraction(t)),
        ):
            assert found.low <= true <= found.high
        if c > 0:
            quotient = x / y
            assert quotient.low <= Fraction(s) / Fraction(t) <= quotient.high
    with pytest.raises(ValueError, match="may be 0"):
        words.Range(1.0, 2.0) / words.Range(-1.0, 1.0)


def test_ranges_and_formulas_hold_real_runs():
    """The words that compiled code has lie where the proof says, for real cells."""
    rng = np.random.default_rng(4)
    for _ in range(40):
        f = float(
            rng.choice([rng.uniform(0, 3), rng.integers(1, 40), rng.uniform(1e3, 1e5)])
        )
        p = float(2.0 ** -rng.uniform(0, 100))
        z = fixed_point.number()
        s = step.risk_in_words(z, f, p, 1.0, 12)
        value = sum(math.ldexp(z[i], -28 * i) for i in range(4))
        assert in_words.RISK_LEAST < value < in_words.RISK_MOST
        r = value * 2.0**s
        assert p / f * (1 - 1e-12) <= r <= 1 / f * (1 + 1e-12)
