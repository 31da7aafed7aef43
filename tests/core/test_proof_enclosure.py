"""The proof that the enclosure contains r: is it right, and does it see mistakes?"""

import itertools
import random
from fractions import Fraction
from importlib import import_module

import pytest
from flint import arb, ctx

from riskcore.core.special.floats import two_sum
from riskcore.core.special.gauss import enclosure
from tests.core.changed_source import changed

proof = import_module("bench.proof.enclosure")
levels = import_module("bench.proof.enclosure_levels")

U = Fraction(1, 2**53)


def some():
    """Return the rectangles that are not like their neighbors."""
    return [(f, p) for f, p in proof.rectangles() if f[1] < 3.2 or f[0] > 31.4]


def change(monkeypatch, before, after):
    mutant = vars(changed(enclosure, before, after))
    for name in vars(enclosure).keys() & mutant.keys():
        if not name.startswith("__"):
            monkeypatch.setattr(enclosure, name, mutant[name])


def test_the_balls_of_e_contain_it():
    places = list(levels.prove())
    assert [place[0] for place in places] == ["e_by_p"] * 2 + ["e_by_f"] * 4
    assert all(0.3 < place[-1] <= 1.0 for place in places)


def test_the_ball_contains_r():
    proof.check(some())


@pytest.mark.slow
def test_the_ball_contains_r_for_all_f():
    assert proof.prove()[-1][1] == f"{3 * (4 + 3 * 31 + 1)} rectangles"


# --- is it right? --------------------------------------------------------------------


def risk(f, p):
    """Return r(f, p) = (p/f) 2F1(1, 1; f+1; q)."""
    return p / f * (1 - p).hypgeom_2f1(1, 1, f + 1)


def value(polynomial, at):
    total = arb(0)
    for powers, c in polynomial.to_dict().items():
        term = arb(int(c.p)) / int(c.q)
        for x, k in zip(at, powers, strict=True):
            term *= x**k
        total += term
    return total


@pytest.mark.parametrize(
    ("f", "p"),
    [
        ((1.0, 1.0), (0.25, 0.28)),
        ((7.0, 7.0), (0.25, 0.28)),
        ((0.125, 0.25), (0.01, 0.25)),
        ((0.125, 0.25), (0.4, 0.9)),
        ((0.75, 0.9), (0.01, 0.25)),
        ((0.75, 0.9), (0.4, 0.9)),
        ((1.25, 1.4), (0.01, 0.25)),
        ((1.625, 1.8), (0.01, 0.25)),
        ((5.25, 5.4), (0.01, 0.25)),
        ((5.75, 5.9), (0.01, 0.25)),
        ((5.75, 5.9), (0.4, 0.9)),
        ((40.0, 50.0), (0.01, 0.25)),
    ],
)
def test_what_is_compared_with_is_the_risk(f, p):
    # The facts that are used, number by number.
    run = proof.Run(proof.argument(*f, proof.F), proof.argument(*p, proof.P))
    kernel = proof.Copies({"two_sum": proof.two_sum, "int": proof.whole}, run.instead())
    kernel.of(enclosure.risk_ball)(run.f, run.p)
    wanted, n = proof.truth(run), run.n
    rng = random.Random(3)
    for _ in range(3):
        ctx.prec = 400
        x, z = arb(rng.uniform(*f)), arb(rng.uniform(*p))
        q, e = 1 - z, x - n
        log = z.log() if run.log_of == "p" else (z / q).log()
        sine = arb(1) if e == 0 else arb.pi() * e / (arb.pi() * e).sin()
        E = arb(0)
        if run.E_of:
            g, low = (value(one.above, (x, z, 0, 0, 0, 0)) for one in run.E_of)
            E = (low / risk(g, low) - (g - 1) - low) / (1 - low)
        at = x, z, log, (e * log).exp(), sine, E
        found = value(wanted.above, at) / value(wanted.below, at)
        off = abs(found - risk(x, z))
        ctx.prec = 53
        assert off < 2.0**-300


def run_level(kind):
    """Return the levels after one of a kind, from X known exactly."""
    ctx.prec = levels.BITS
    found = levels.Levels((2.0, 3.0), (0.3, 1.0))
    found.log, found.n = arb(0), 8
    copies = levels.Copies(
        {
            name: getattr(levels, name)
            for name in ("fma", "two_sum", "two_product", "fast_two_sum")
        },
        {
            enclosure.level: found.pairs,
            enclosure.level_in_doubles: found.doubles,
        },
    )
    if kind == "pairs":
        b = copies.of(enclosure.plus)(found.f, 4.0)
        copies.of(enclosure.level)(5.0, b, found.p, found.x, found.y)
    else:
        x, y = found.x[0], found.y[0]
        b = found.f[0] + 4.0
        copies.of(enclosure.level_in_doubles)(5.0, b, found.p[0], x, y)
    lost = float(found.log)
    ctx.prec = 53
    return lost


def exact_log_error(kind, rng):
    """Return how far a level is from its exact result, at random words."""
    f, p, x, y = (
        two_sum(rng.uniform(*ends), rng.uniform(-1, 1) * 2.0**-54 * ends[0])
        for ends in ((2.0, 3.0), (0.3, 1.0), (0.3, 1.0), (1.0, 2.0))
    )
    if kind == "pairs":
        above, below = enclosure.level(5.0, enclosure.plus(f, 4.0), p, x, y)
    else:
        x, y = (x[0], 0.0), (y[0], 0.0)
        above, below = enclosure.level_in_doubles(5.0, f[0] + 4.0, p[0], x[0], y[0])
        above, below = (above, 0.0), (below, 0.0)
    f, p, x, y, above, below = (
        sum(map(Fraction, w)) for w in (f, p, x, y, above, below)
    )
    exact = (p * (f + 4) * y + 5 * x) / ((f + 4) * y + 5 * x)
    return abs(float(above / below / exact - 1))


@pytest.mark.parametrize(("kind", "most"), [("doubles", 9 * U), ("pairs", 36 * U**2)])
def test_a_level_loses_less_than_is_charged(kind, most):
    charged = run_level(kind)
    # notes/correct_rounding.md, section 12, has these by hand.
    assert charged <= float(most) * (1 + 1e-12)
    rng = random.Random(4)
    lost = max(exact_log_error(kind, rng) for _ in range(3000))
    assert charged / 20 < lost < charged


# --- does it see mistakes? -----------------------------------------------------------

IN_LEVELS = [
    ("E_RELATIVE = 2.0**-100", "E_RELATIVE = 2.0**-101"),
    ("E_ABSOLUTE = 2.0**-100", "E_ABSOLUTE = 2.0**-102"),
    ("P_LEVELS: (62, 32)", "P_LEVELS: (54, 32)"),
    ("P_LEVELS: (62, 32)", "P_LEVELS: (62, 28)"),
    ("P_SHORT: (32, 18)", "P_SHORT: (26, 18)"),
    ("128.0: (24, 12)", "128.0: (22, 12)"),
    ("1000.0: (14, 8)", "1000.0: (12, 8)"),
    ("P_LEVELS = 0.3", "P_LEVELS = 0.25"),
    ("P_SHORT = 0.7 ", "P_SHORT = 0.6 "),
    ("f >= 1000.0", "f >= 900.0"),
    ("F_HUGE = 2.0**60", "F_HUGE = 2.0**120"),
    ("k = m + 1.0", "k = m + 2.0"),
    ("plus(f, k - 2.0)", "plus(f, k - 1.0)"),
    ("f_high + (m - 1.0)", "f_high + m"),
    ("return fma(p, t, u), t + u", "return fma(p, t, u), t"),
    ("return fma(p, t, u), t + u", "return fma(p, t, x), t + u"),
    ("dd_add_positive(*t, *u)", "dd_add_positive(*t, u[0], 0.0)"),
    ("dd_multiply_positive(*b, *y)", "dd_multiply_positive(*b, y[0], 0.0)"),
    ("dd_multiply_double(*x, k)", "dd_multiply_double(x[0], 0.0, k)"),
    ("return fast_two_sum(s, s_low + f_low)", "return fast_two_sum(s, s_low)"),
    ("range(middle, 0, -1)", "range(middle, 1, -1)"),
    ("range(deepest, middle, -1)", "range(deepest, middle + 1, -1)"),
    ("(x / y, 0.0), (1.0, 0.0)", "(x, 0.0), (1.0, 0.0)"),
    ("X = (x, x_low, 0.0)", "X = (x, 0.0, 0.0)"),
    ("multiply((f_high, f_low, 0.0)", "multiply((f_high, 0.0, 0.0)"),
    ("(1.0 + 4.0 * UNIT) * (own", "(1.0 + UNIT) * (own"),
    ("(own + radius)", "radius"),
    ("return high, low, (1.0 + 4.0", "return low, high, (1.0 + 4.0"),
    ("half * (1.0 + 8.0 * UNIT) + UNDERFLOW", "half * (1.0 + 8.0 * UNIT)"),
    ("half * (1.0 + 8.0 * UNIT) + UNDERFLOW", "half + UNDERFLOW"),
    ("E_ABSOLUTE / f", "0.25 * E_ABSOLUTE / f"),
    (
        "above, below = level(k, plus(f, k - 2.0)",
        "above, _ = level(k, plus(f, k - 2.0)",
    ),
    ("x, y = level_in_doubles(k, f_high + (", "x, _ = level_in_doubles(k, f_high + ("),
]


@pytest.mark.parametrize(("before", "after"), IN_LEVELS)
def test_a_change_of_the_levels_fails_the_proof(monkeypatch, before, after):
    change(monkeypatch, before, after)
    with pytest.raises(ValueError):  # noqa: PT011
        list(levels.prove())


IN_FORMULAS = [
    ("_UP = 2.0**600", "_UP = 2.0**601"),
    ("_DOWN = 2.0**-600", "_DOWN = 2.0**-599"),
    ("_TINY = 2.0**-400", "_TINY = 2.0**-1000"),
    ("_HUGE = 2.0**400", "_HUGE = 2.0**1000"),
    ("F_LEVELS = 32.0", "F_LEVELS = 40.0"),
    ("return -600.0 if", "return -599.0 if"),
    ("return -600.0 if down < 1.0", "return -600.0 if down > 1.0"),
    ("return -600.0 if", "return -600.5 if"),
    ("f <= 0.5)", "f <= 0.75)"),
    ("steps = int(f + 0.5) - 1", "steps = int(f) - 1"),
    ("e = f - steps - 1.0", "e = f - steps"),
    ("if e == 0.0:", "if e != e:"),
    ("e_T, divisor = T, 1.0", "e_T, divisor = T, 2.0"),
    ("multiply_double(e_T, p), multiply_double(q, divisor)",
     "multiply_double(e_T, p), multiply_double(q, 1.0)"),
    ("range(1, steps)", "range(1, steps + 1)"),
    ("reciprocal(e + step)", "reciprocal(e + step + 1.0)"),
    ("shift(multiply(v, T), down))\n", "multiply(v, T))\n"),
    ("shift(multiply(v, T), down), f - 1.0", "shift(multiply(v, T), down), f"),
    ("above, multiply_double(q, f - 1.0)", "above, multiply_double(q, f)"),
    ("multiply(b, excess)", "multiply(b, b)"),
    ("first = add(add(b, excess)", "first = add(subtract(b, excess)"),
    ("multiply(exp(power, m), add_double(excess, 1.0))", "exp(power, m)"),
    ("e_by_p(two_sum(1.0, -e), (q_high", "e_by_p(two_sum(1.0, e), (q_high"),
    ("(q_high, q_low))", "(q_high, 0.0))"),
    ("add_double(q, -e), multiply_double(E", "add_double(q, e), multiply_double(E"),
    ("subtract(first, shift(second, down))", "subtract(first, second)"),
    ("negate(_reflected(e, p, down, True))", "_reflected(e, p, down, True)"),
    ("two_sum(f, 1.0), (p, 0.0)", "(f + 1.0, 0.0), (p, 0.0)"),
    ("w = add_double(multiply(q, E), p)", "w = add_double(multiply(q, E), f)"),
    ("add_double(w, f))", "add_double(w, p))"),
    ("return add_double(negate(part), 1.0)", "return add_double(part, 1.0)"),
    ("two_sum(f, -1.0)", "two_sum(f, 1.0)"),
    ("multiply(_complement(p), E), p)", "multiply(_complement(p), E), 0.5)"),
    ("add((base, base_low, 0.0), lower)", "add((base, 0.0, 0.0), lower)"),
    ("(scaled(f, k), 0.0, 0.0)), -k", "(scaled(f, k), 0.0, 0.0)), k"),
    ("scaled(p, n), scaled(1.0, -n)", "scaled(p, n), scaled(1.0, n)"),
    ("x, down = scaled(p, n), scaled(1.0, -n)", "x, down = p, 1.0"),
    ("shift(D, scaled(1.0, k))", "D"),
    ("return divide(above, below), n - k", "return divide(above, below), n"),
]  # fmt: skip


@pytest.mark.parametrize(("before", "after"), IN_FORMULAS)
def test_a_change_of_the_formulas_fails_the_proof(monkeypatch, before, after):
    change(monkeypatch, before, after)
    with pytest.raises(ValueError):  # noqa: PT011
        proof.check(some())


def test_a_rectangle_with_two_methods_is_refused():
    with pytest.raises(ValueError, match="both answers"):
        proof.check([((40.0, 50.0), (2.0**-500, 0.25))])
    with pytest.raises(ValueError, match="integer parts"):
        proof.check([((5.25, 5.75), (0.1, 0.25))])


def test_rectangles_hold_all_doubles():
    f, p = (sorted(set(ends)) for ends in zip(*proof.rectangles(), strict=True))
    for spans, last in ((f, proof.LARGEST), (p, 1.0)):
        assert spans[0][0] == 2.0**-1074
        assert spans[-1][1] == last
        for one, two in itertools.pairwise(spans):
            assert proof.after(one[1]) == two[0]
    assert len(list(proof.rectangles())) == len(f) * len(p)
