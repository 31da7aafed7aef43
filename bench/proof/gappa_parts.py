"""The parts of the kernels that Gappa and Sollya prove once more, case by case."""

import math
import subprocess
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from bench.proof import gappa, graph, pair_rules
from bench.proof.gappa import (
    OF,
    Script,
    inputs,
    literal,
    plus,
    prove,
    times,
    variable,
)
from riskcore.core.special import double_double, elementary
from riskcore.core.special.gauss import fast_integer, fast_real

U = 2.0**-53
ONE = {(): Fraction(1)}


class Row(NamedTuple):
    """A part: where, what is claimed, what Gappa and Sollya found.

    ``figure`` is the largest bound of the tape, where the source claims nothing.
    """

    part: str
    where: str
    claimed: float | None
    rounding: float | None = None
    left_out: float | None = None
    figure: float | None = None

    def holds(self):
        """Return whether what was found is within the claim, if there is one."""
        return self.claimed is None or self.found() <= self.claimed

    def found(self):
        """Return the bound of both."""
        return (self.rounding or 0.0) + (self.left_out or 0.0)


# --- pairs

A, B = plus(variable("a"), variable("al")), plus(variable("b"), variable("bl"))
# Words of two pairs: a second word is at most half an ulp of the first.
IN_PAIRS = ["a in [1,2]", "b in [0.5,0.75]", "|al| <= 1b-53", "|bl| <= 1b-54"]
WHERE = "1 <= a <= 2, 1/2 <= b <= 3/4"
OPERATIONS = {
    "product_pair": ("a al b bl", "(a + al) * (b + bl)", times(A, B)),
    "dd_multiply": ("a al b bl", "(a + al) * (b + bl)", times(A, B)),
    "dd_multiply_positive": ("a al b bl", "(a + al) * (b + bl)", times(A, B)),
    "dd_multiply_double": ("a al b", "(a + al) * b", times(A, variable("b"))),
    "sum_pair": ("a al b bl", "(a + al) + (b + bl)", plus(A, B)),
    "dd_add": ("a al b bl", "(a + al) + (b + bl)", plus(A, B)),
    "dd_add_positive": ("a al b bl", "(a + al) + (b + bl)", plus(A, B)),
}
# What docstrings claim, relative to the result; other claims are the command's rules.
STATED = {"dd_multiply_positive": 8.0 * U**2, "dd_add_positive": 4.0 * U**2}


def claimed_by_rule(name):
    """Return the bound of the command's rule for pairs in these ranges."""
    a = pair_rules.Pair(np.array([1.0]), np.array([2.0]), low=np.array([U]))
    b = pair_rules.Pair(np.array([0.5]), np.array([0.75]), low=np.array([U / 2.0]))
    if name == "dd_multiply_double":
        b = pair_rules.Pair.double(np.array([0.5]), np.array([0.75]))
        return float(pair_rules.dd_multiply_double(a, a.second, b)[0].error[0])
    return float(getattr(pair_rules, name)(a, a.second, b, b.second)[0].error[0])


def two(script, pair):
    """Return the sum of a result's two words as an expression and as a polynomial."""
    high, low = pair
    text = f"{script.name(high)} + {script.name(low)}"
    return text, plus(script.polynomial(high), script.polynomial(low))


def operation(name):
    """Let Gappa bound the error of an operation on pairs."""
    names, exact, polynomial = OPERATIONS[name]
    script = Script(second=("al", "bl"))
    text, total = two(script, OF(getattr(double_double, name))(*inputs(names)))
    goal = f"({text}) - ({exact})"
    hint = f"{goal} -> {script.terms(plus(total, polynomial, -1))};"
    ranges = IN_PAIRS[:3] if "bl" not in names else IN_PAIRS
    if hasattr(pair_rules, name):
        found = prove(script.lines, ranges, goal, [hint])
        return Row(f"`{name}`", f"{WHERE}, absolute", claimed_by_rule(name), found)
    cut = "$ a in 16, b in 16;"
    found = prove(script.lines, ranges, f"({goal}) / ({exact})", [hint, cut])
    return Row(f"`{name}`", f"{WHERE}, relative", STATED.get(name), found)


def quotient():
    """Let Gappa bound the error of a quotient of pairs."""
    script = Script(second=("al", "bl"))
    pair = OF(double_double.quotient_pair)(*inputs("a al b bl"))
    text, total = two(script, pair)
    numerator = script.small(plus(times(total, B), A, -1))
    goal = f"({text}) - (a + al) / (b + bl)"
    hint = f"{goal} -> ({script.terms(numerator)}) / (b + bl) {{ (b + bl) <> 0 }};"
    found = prove(script.lines, IN_PAIRS, goal, [hint, *script.hints()])
    claim = claimed_by_rule("quotient_pair")
    return Row("`quotient_pair`", f"{WHERE}, absolute", claim, found)


# --- polynomials


def without_errors(script, polynomial):
    return {
        names: number
        for names, number in polynomial.items()
        if not any(name in script.rounding for name in names)
    }


def by_powers(polynomial, name):
    """Return the coefficients of a polynomial of one variable."""
    degree = max(map(len, polynomial))
    assert all(set(names) <= {name} for names in polynomial)
    return [polynomial.get((name,) * power, Fraction(0)) for power in range(degree + 1)]


def horner(coefficients, variable):
    """Return a polynomial as an expression of Gappa and Sollya."""
    text = f"({literal(coefficients[-1])})"
    for number in reversed(coefficients[:-1]):
        text = f"({text} * {variable} + ({literal(number)}))"
    return text


def of_one(kernel, name, where):
    """Return Gappa's bound of what a kernel of one variable loses; its polynomial."""
    script = Script()
    result = OF(kernel)(*inputs(name))
    pair = result if isinstance(result, tuple) else (result, graph.node(0.0))
    text, total = two(script, pair)
    exact = without_errors(script, total)
    goal = f"({text}) - ({script.terms(exact)})"
    hint = f"{goal} -> {script.terms(plus(total, exact, -1))};"
    found = prove(script.lines, [where], goal, [hint])
    return found, by_powers(exact, name)


def sollya(polynomial, function, interval, kind="absolute"):
    """Return a certified bound of polynomial - function, by Sollya's supnorm."""
    text = (
        "prec = 400!;\n"
        f"s = supnorm({polynomial}, {function}, {interval}, {kind}, 2^(-20));\n"
        "display = dyadic!;\nsup(s);\nquit;\n"
    )
    done = subprocess.run(
        ["sollya", "--flush"], input=text, capture_output=True, text=True, check=False
    )
    last = done.stdout.split()[-1] if done.stdout.split() else ""
    try:
        return gappa.read(last)
    except ValueError:
        raise ValueError(f"Sollya finds no bound: {done.stdout[-500:]}") from None


def polynomials():
    """Prove what the polynomials of the source leave of their functions, relative.

    Next to 0 the functions are not examined.
    """
    found, series = of_one(elementary.atanh_series, "w", "w in [0,0.0295]")
    yield Row("`atanh_series`", "0 <= w <= 0.0295, absolute", None, found)
    odd = [Fraction(0), Fraction(2), Fraction(0)]
    for number in series:
        odd += [number, Fraction(0)]
    left = sollya(horner(odd, "x"), "log((1+x)/(1-x))", "[1b-10;0.17175]", "relative")
    where = "2^-10 <= s <= 0.17175, relative to log z"
    yield Row("polynomial of `log_high_low`", where, 2.0**-60, None, left)
    for part, numbers, degree, function, ends, stated in (
        (
            "t of `log_pair`",
            [getattr(elementary, f"_P{i}") for i in range(6)],
            5,
            "log((1+x)/(1-x)) - 2*x - 2*x^3/3",
            "[1b-5;1/13]",
            2.0**-53,
        ),
        (
            "t of `near_one`",
            [getattr(fast_integer, f"_T{i}") for i in range(7)],
            7,
            "log((1+x)/(1-x))/2 - x - x^3/3 - x^5/5",
            "[1b-4;1/7]",
            2.0**-52,
        ),
    ):
        every = [x for number in numbers for x in (Fraction(number), Fraction(0))]
        every = [Fraction(0)] * degree + every
        left = sollya(horner(every, "x"), function, ends, "relative")
        yield Row(part, f"{ends.replace('1b', '2^')}, relative", stated, None, left)


# Ends of d: pieces in which the function and what is lost do not differ much.
SINES = (
    2.0**-6,
    2.0**-5,
    2.0**-4,
    2.0**-3,
    0.25,
    0.375,
    0.4375,
    0.46875,
    0.484375,
    0.4921875,
    0.498046875,
    0.5,
)


def sine(lower, upper, claim):
    """Prove (1 - sin(pi d)/(pi d))/d^2 for d between two ends, relative to it."""
    ends = f"[{literal(lower)},{literal(upper)}]"
    found, coefficients = of_one(fast_real.sine_deficit, "d", f"d in {ends}")
    of = horner([Fraction(1), Fraction(0), *(-x for x in coefficients)], "x")
    most = sollya(of, "sin(pi * x)/(pi * x)", ends.replace(",", ";"))
    # The function falls; NumPy's and Python's sine are right to 2^-40.
    least = (1.0 - math.sin(math.pi * upper) / (math.pi * upper)) / upper**2
    least *= 1.0 - 2.0**-40
    where = f"{lower:g} <= d <= {upper:g}, relative"
    return Row("`sine_deficit`", where, claim, found / least, most / lower**2 / least)
