"""The proof of fixed point: does it hold, and does it see mistakes?"""

import functools
from importlib import import_module

import pytest

from riskcore.core.special import fixed_point
from tests.core.changed_source import changed

operations = import_module("bench.proof.fixed_operations")
functions = import_module("bench.proof.fixed_point")


def few(prove):
    """Return a proof for the smaller number of words."""
    return lambda source: prove(source, operations.FEW)


PROOFS = {
    "rounded": operations.rounded,
    "mantissa": operations.mantissa,
    **{
        name: few(getattr(operations, name))
        for name in ("units", "sign", "is_zero", "conversions", "of_numbers", "divide")
    },
    "shift": few(lambda source, n: operations.shift(source, n, range(-60, 60))),
    **{
        name: few(functools.partial(functions.prove_for, getattr(functions, name)))
        for name in ("constants", "log", "exp", "sinc")
    },
}


@pytest.mark.parametrize("name", PROOFS)
def test_the_source_is_proved(name):
    PROOFS[name](fixed_point)


def test_no_share_is_larger_than_1():
    shares = operations.prove_for(fixed_point, operations.FEW)
    assert all(0.0 <= share <= 1.0 for share in shares.values())


MUTANTS = [
    ("rounded", "float(x[3]) * _UNIT", "float(x[3])"),
    ("rounded", "+ low * _UNIT", "- low * _UNIT"),
    ("mantissa", "- 1022\n", "- 1021\n"),
    ("mantissa", "e - 54 if", "e - 53 if"),
    ("units", "unit *= _UNIT", "unit *= 0.5 * _UNIT"),
    ("units", "WORDS = 37", "WORDS = 39"),
    ("units", "_ROOM = WORDS + 1", "_ROOM = WORDS"),
    ("conversions", "set_error(z, n, 1.0 if", "set_error(z, n, 0.5 if"),
    ("conversions", "1.0 if rest > 0.0", "1.0 if rest > 1.0"),
    ("conversions", "z[0] = k\n", "z[0] = k + 1\n"),
    ("of_numbers", "x[i] + y[i] + carry", "x[i] + y[i] - carry"),
    ("of_numbers", "x[i] + y[i] + carry", "x[i] + y[i]"),
    ("of_numbers", "x[i] - y[i] + carry", "y[i] - x[i] + carry"),
    ("of_numbers", "z[0] = x[0] - y[0] + carry", "z[0] = x[0] - y[0]"),
    ("of_numbers", "lost = error(x, n) + error(y, n)", "lost = error(x, n)"),
    ("of_numbers", "lost = error(x, n) + error(y, n)", "lost = error(x, n)", 1),
    ("of_numbers", "n + 1):\n        z[i] = x[i]", "n):\n        z[i] = x[i]"),
    ("of_numbers", "t = carry - x[i]", "t = carry + x[i]"),
    ("of_numbers", "error(x, n) * abs(k)", "error(x, n) * k"),
    ("of_numbers", "error(x, n) * abs(k)", "error(x, n)"),
    ("of_numbers", "t = x[i] * k + carry", "t = x[i] * (k + carry)"),
    ("of_numbers", "error(x, n) / k + 1.0", "error(x, n) / k + 0.99"),
    ("of_numbers", "error(x, n) / k + 1.0", "error(x, n) / 2 + 1.0"),
    ("of_numbers", "rest = t - whole * k", "rest = t - whole"),
    ("of_numbers", "+ x_lost * (y_lost * units(n))", ""),
    ("of_numbers", "_size(x) * y_lost + _size(y)", "_size(x) * y_lost + _size(x)"),
    ("of_numbers", "units(n)) + 1.0\n    room", "units(n)) + 0.5\n    room"),
    ("of_numbers", "+ 2.0**-50", "+ 2.0**-70"),
    ("of_numbers", "_OUTWARD = 1.0 + 2.0**-40", "_OUTWARD = 1.0"),
    ("of_numbers", "max(0, k - n + 1)", "max(0, k - n + 2)"),
    ("of_numbers", "range(2 * n - 2, 0, -1)", "range(n + 1, 0, -1)"),
    ("of_numbers", "if k < n:", "if k < n - 1:"),
    ("of_numbers", "error(z, n) + more", "error(z, n)"),
    ("shift", "lost *= BASE", "lost *= 2"),
    ("shift", "lost *= _UNIT", "lost *= 0.5 * _UNIT"),
    ("shift", "lost + 1.0 if words > 0", "lost + 1.0 if words > 1"),
    ("shift", "z[i] = x[i - words]", "z[i] = x[i - words + 1]"),
    ("shift", "(top if i == words else top >> WORD)", "top"),
    ("shift", "over(z, z, 1 << rest, n)", "over(z, z, 2 << rest, n)"),
    ("shift", "z[i] = x[i + words] if i + words < n else 0", "z[i] = x[i]"),
    ("divide", "_nearest(rounded(rest) / divisor)", "_nearest(divisor / divisor)"),
    ("divide", "0.5 if x > 0.0 else -0.5", "0.5"),
    ("divide", "rest[j] - digit * y[j] + carry", "rest[j] - digit * y[j]"),
    ("divide", "top * BASE + rest[1]", "top * BASE"),
    ("divide", "rest[n - 1] = 0", "rest[n - 1] = 1"),
    ("divide", "/ least + 2.0", "/ least + 0.5"),
    ("divide", "/ least + 2.0", "/ divisor + 2.0"),
    ("divide", "1.0 - 2.0**-40) - y_lost", "1.0 + 2.0**-40) - y_lost"),
    ("divide", "- y_lost * units(n)", ""),
    ("divide", "(x_lost + _size(z) * y_lost)", "(x_lost + y_lost)"),
    ("divide", "else math.inf", "else 2.0**1000"),
    ("divide", "u = digits[i] + carry", "u = digits[i]"),
    ("sign", "float(abs(total) - 1)", "float(abs(total) + 1)"),
    ("sign", "least *= BASE", "least *= 2 * BASE"),
    ("sign", "least > error(x, n) * _OUTWARD", "least > 0.5 * error(x, n)"),
    ("sign", "1 if total > 0 else -1", "1"),
    ("sign", "_MANY = 1 << 30", "_MANY = 1 << 40"),
    ("sign", "while words < n", "while words <= n"),
    ("sign", "total * BASE + x[words]", "total * BASE - x[words]"),
    ("is_zero", "nothing &= x[i] == 0", "nothing = x[i] == 0"),
    ("is_zero", "nothing &= x[i] == 0", "nothing &= x[i] == 1"),
    ("constants", '"b17217f7d1cf79a', '"b17217f7d1cf79b'),
    ("constants", "int(_PI[i])", "int(_PI[i]) + 1"),
    ("constants", "set_error(z, n, 1.0)", "set_error(z, n, 0.01)"),
    ("log", "_SQRT_HALF = 0.70703125", "_SQRT_HALF = 0.640625"),
    ("log", "k -= 1", "k += 1"),
    ("log", "range(WORD * n // 5 + 2)", "range(WORD * n // 8)"),
    ("log", "over(term, s, 2 * j + 1, n)", "over(term, s, 2 * j + 2, n)"),
    ("log", "times(s, s, 2, n)", "times(s, s, 3, n)"),
    ("exp", "over(term, term, j, n)", "over(term, term, j + 1, n)"),
    ("exp", "while small < WORD * n + 2", "while small < WORD * n // 2"),
    ("exp", "times(t, t, k, n)", "times(t, t, 1, n)"),
    ("sinc", "2 * j * (2 * j + 1), n)", "2 * j * (2 * j - 1), n)"),
    ("sinc", "/ 2.5)", "/ 0.01)"),
    ("sinc", "multiply(w, w, x, n)", "multiply(w, x, x, n)"),
]  # fmt: skip


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda one: f"{one[0]}: {one[2]}")
def test_a_mutant_fails(mutant):
    name, *change = mutant
    # Answers to questions of the source are by what it asks, by name.
    with pytest.raises((ValueError, TypeError, KeyError)):
        PROOFS[name](changed(fixed_point, *change))
