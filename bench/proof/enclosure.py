"""Prove that the ball of ``risk_ball`` contains r(f, p) 2^(600 n), for all doubles.

Given: operations and functions of ``balls.py`` contain their exact results, if none
overflows and their arguments are in the ranges checked here. The source of
``risk_ball`` runs on rectangles that hold all doubles. A ball is one real number there:
a quotient of polynomials, and the ends between which it lies. The quotient that comes
out is compared with r. What the source computes in doubles must be exact. E is a
symbol; ``enclosure_levels`` proves that its balls contain it.

These arguments are left to people:

1. r(g+1) = v (1/g - r(g)) for g > 0, r(1) = -v log p, v = p/q.
2. r(g, p) + v r(1-g, q) = v^g pi/sin(pi g) for 0 < g < 1.
3. r = p/(f - 1 + p + q E), E = X_1/(f + X_1), X_n = (p b + k X_n+1)/(b + k X_n+1), k =
   1 + ceil(n/2), b = f + floor(n/2), and all X_n are in [p, 1] (section 4 of
   notes/correct_rounding.md).
4. The mean value theorem; the slopes are bounded as polynomials.
5. The error of a sum is a double (Knuth, Dekker); sums of doubles below 2^-1021 are
   exact.
6. If the middle of a ball of E is below 2^-20, which E is not, 4 u of its own radius
   are more than what is to be added (``e_by_p``).
"""

import itertools
import math
import sys

from flint import Ordering, arb, ctx, fmpq, fmpq_mpoly_ctx

from bench.proof import enclosure_levels
from bench.proof.rebind import Copies
from riskcore.core.special import balls
from riskcore.core.special.gauss import enclosure

BITS = 64
SMALLEST, LARGEST = 2.0**-1074, sys.float_info.max
# Of log p or log v, v^e, pi e/sin(pi e) and E nothing is known but ends.
NAMES = "f", "p", "log", "power", "sine", "E"
F, P, LOG, POWER, SINE, E = fmpq_mpoly_ctx.get(NAMES, Ordering.lex).gens()
ONE = F * 0 + 1


# --- real numbers --------------------------------------------------------------------


class Real:
    """A quotient of polynomials, and ends of its value."""

    def __init__(self, above, below=ONE, lower=None, upper=None):
        self.above, self.below = above, below
        self.lower, self.upper = lower, upper

    @classmethod
    def of(cls, x):
        """Return a number: a real one, a double, or a ball whose radius is 0."""
        if isinstance(x, Real):
            return x
        if isinstance(x, tuple):
            high, low, radius = x
            if radius != 0.0:
                raise ValueError("a ball with a radius")
            return joined(high, low)
        if isinstance(x, Double):
            return x.exact()
        return cls(ONE * fmpq(*x.as_integer_ratio()), ONE, arb(x), arb(x))

    def _between(self, other, operation):
        ends = [
            operation(x, y)
            for x in (self.lower, self.upper)
            for y in (other.lower, other.upper)
        ]
        lower, upper = ends[0].lower(), ends[0].upper()
        for end in ends[1:]:
            lower, upper = lower.min(end.lower()), upper.max(end.upper())
        return lower.lower(), upper.upper()

    def __add__(self, other):
        ends = self._between(other, lambda x, y: x + y)
        if self.below == other.below:
            return Real(self.above + other.above, self.below, *ends)
        above = self.above * other.below + other.above * self.below
        return Real(above, self.below * other.below, *ends)

    def __neg__(self):
        return Real(-self.above, self.below, -self.upper, -self.lower)

    def __sub__(self, other):
        return self + -other

    def __mul__(self, other):
        ends = self._between(other, lambda x, y: x * y)
        return Real(self.above * other.above, self.below * other.below, *ends)

    def __truediv__(self, other):
        if not (other.lower > 0 or other.upper < 0):
            raise ValueError("a quotient by what may be 0")
        ends = self._between(other, lambda x, y: x / y)
        return Real(self.above * other.below, self.below * other.above, *ends)

    def is_(self, other):
        """Return whether two numbers are one function of the symbols."""
        other = Real.of(other)
        return self.above * other.below == other.above * self.below

    def within(self, lower, upper):
        return bool(self.lower >= lower and self.upper <= upper)


class Double:
    """All doubles between ends, multiples of 2^grid; ``value`` unless it is rounded."""

    def __init__(self, lower, upper, grid, value):
        self.lower, self.upper, self.grid, self.value = lower, upper, grid, value

    def exact(self):
        if self.value is None:
            raise ValueError("a rounded number where an exact one is meant")
        return Real(*self.value, arb(self.lower), arb(self.upper))

    def __add__(self, c):
        """Return the sum with one number: exact if its multiples of 2^grid fit."""
        lower, upper, grid = self.lower + c, self.upper + c, min(self.grid, grid_of(c))
        most, value = max(abs(lower), abs(upper)), None
        if not most <= LARGEST:
            raise ValueError("a double that may overflow")
        if self.value and grid >= -1074 and most <= 2.0 ** (grid + 53):
            total = self.exact() + Real.of(c)
            value = total.above, total.below
        return Double(lower, upper, grid, value)

    def __sub__(self, c):
        return self + -c

    def __mul__(self, c):
        """Return the product with a power of two, which must be exact."""
        factor, x = power_of_two(c), self.exact()
        lower, upper, grid = self.lower * c, self.upper * c, self.grid + grid_of(c)
        if grid < -1074 or not max(abs(lower), abs(upper)) <= LARGEST:
            raise ValueError("a product with a power of two that is rounded")
        return Double(lower, upper, grid, (x.above * factor.above, x.below))

    def __neg__(self):
        x = -self.exact()
        return Double(-self.upper, -self.lower, self.grid, (x.above, x.below))

    def _is(self, holds):
        answers = {holds(self.lower), holds(self.upper)}
        if len(answers) > 1:
            raise ValueError("a comparison with both answers")
        return answers.pop()

    def __lt__(self, c):
        return self._is(lambda x: x < c)

    def __le__(self, c):
        return self._is(lambda x: x <= c)

    def __gt__(self, c):
        return self._is(lambda x: x > c)

    def __ge__(self, c):
        return self._is(lambda x: x >= c)

    def __eq__(self, c):
        if self.lower < c < self.upper:
            raise ValueError("a comparison with both answers")
        return self._is(lambda x: x == c)

    __hash__ = object.__hash__


ONE_REAL = Real.of(1)


def grid_of(c):
    """Return a g such that a number is a multiple of 2^g."""
    above, below = c.as_integer_ratio()
    return (above & -above).bit_length() - below.bit_length() if above else 1024


def whole(x):
    """Return the integer part that all doubles between ends have."""
    first, last = int(x.lower), int(x.upper)
    if first != last:
        raise ValueError("integer parts that differ")
    return first


class Rest:
    """The error of a rounded sum; ``value``: what it and the sum, ``head``, sum to."""

    def __init__(self, head, value):
        self.head, self.value = head, value


def two_sum(a, b):
    """Rule: a rounded sum and its error are the sum (Knuth)."""
    x, c = (a, b) if isinstance(a, Double) else (b, a)
    head = Double(x.lower + c, x.upper + c, -1074, None)
    return head, Rest(head, Real.of(a) + Real.of(b))


def joined(high, low):
    """Return the sum of two words."""
    if isinstance(low, Rest) and low.head is high:
        return low.value
    if isinstance(low, Rest) or low != 0.0:
        raise ValueError("words of two numbers")
    return Real.of(high)


def power_of_two(x):
    if not isinstance(x, float) or math.frexp(x)[0] != 0.5:
        raise ValueError("a product with what is not a power of two")
    return Real.of(x)


# --- operations on balls -------------------------------------------------------------

MOST = arb(2) ** 900  # of products and quotients
# A sum below the largest double, 2^1024 - 2^971, and half its ulp does not overflow.
MOST_OF_SUMS = arb(2**1024 - 2**971 + 2**969)
LIMITS = arb(2) ** -1000, arb(2) ** 1000  # of the logarithm


def nearest(f):
    """Return the integer next to f, 0 up to 1/2."""
    return 0 if f.upper <= 0.5 else math.floor(f.lower + 0.5)


class Run:
    """One rectangle; its log p or log v, v^e, pi e/sin(pi e) and E, once computed.

    ``log_of`` is "p" or "v"; e = f - n; ``E_of`` has the arguments of E.
    """

    def __init__(self, f, p):
        self.f, self.p, self.n = f, p, nearest(f)
        self.q = ONE_REAL - p.exact()
        self.e = f.exact() - Real.of(self.n)
        self.log_of = self.log_value = self.power = self.sine = self.E_of = None

    def moderate(self, x, most=MOST):
        """Return a number; raise if it may overflow."""
        if not x.within(-most, most):
            raise ValueError("a ball that may overflow")
        return x

    def sum(self, a, b):
        a, b = (self.moderate(Real.of(x), MOST_OF_SUMS) for x in (a, b))
        return self.moderate(a + b, MOST_OF_SUMS)

    def product(self, a, b):
        a, b = (self.moderate(Real.of(x)) for x in (a, b))
        return self.moderate(a * b)

    def quotient(self, a, b):
        a, b = (self.moderate(Real.of(x)) for x in (a, b))
        if not (b.lower >= 1 / MOST or b.upper <= -1 / MOST):
            raise ValueError("a ball that is divided by what may be 0")
        return self.moderate(a / b)

    def shift(self, a, power):
        return self.moderate(Real.of(a) * power_of_two(power), MOST_OF_SUMS)

    def log(self, a, exponent):
        """Return the logarithm of a 2^exponent, which must be v or p."""
        a = Real.of(a)
        if exponent != int(exponent):
            raise ValueError("a logarithm of what is not scaled by a power of two")
        power = arb(2) ** int(exponent)
        x = a * Real(ONE * fmpq(2) ** int(exponent), ONE, power, power)
        p = self.p.exact()
        names = {name: x.is_(y) for name, y in (("v", p / self.q), ("p", p))}
        if self.log_of or not any(names.values()) or not a.within(*LIMITS):
            raise ValueError("a logarithm of another number")
        self.log_of = max(names, key=names.get)
        ends = x.lower.log().lower(), x.upper.log().upper()
        self.log_value = Real(LOG, ONE, *ends)
        return self.log_value

    def scaled_exp(self, x):
        """Return v^e in two parts: x must be e log v, |x| <= 600."""
        x = Real.of(x)
        if self.log_of != "v" or not x.is_(self.e * self.log_value):
            raise ValueError("an exponential of another number")
        if not x.within(-600, 600):
            raise ValueError("an exponential outside its range")
        ends = x.lower.exp().lower(), x.upper.exp().upper()
        self.power = Real(POWER, ONE, *ends)
        return "power", "m"

    def exp(self, power, m):
        if (power, m) != ("power", "m"):
            raise ValueError("an exponential of other parts")
        return self.power

    def sine_excess(self, e):
        """Return pi e/sin(pi e) - 1, |e| <= 0.51."""
        e = Real.of(e)
        if not e.is_(self.e) or not e.within(-0.51, 0.51):
            raise ValueError("a sine of another number, or outside its range")
        self.sine = Real(SINE, ONE, arb(1), arb(2))  # 1.61 at the ends
        return self.sine - ONE_REAL

    def by_p(self, f, p):
        """Return E(f, p) where ``e_by_p`` is proved."""
        if not (p[0] >= min(enclosure.LEVELS_BY_P) and p[0] <= 1.0):
            raise ValueError("E by p below the smallest p")
        f, p = joined(*f), joined(*p)
        if not f.within(*enclosure_levels.F_OF_P):
            raise ValueError("E by p for f outside those proved")
        return self.fraction(f, p)

    def by_f(self, f, p):
        """Return E(f, p) where ``e_by_f`` is proved."""
        if not f >= min(enclosure.LEVELS_BY_F):
            raise ValueError("E by f below the smallest f")
        return self.fraction(f.exact(), p.exact())

    def fraction(self, f, p):
        if self.E_of:
            raise ValueError("E of two arguments")
        self.E_of = f, p
        self.E = Real(E, ONE, arb(0), (1 / f.lower).upper())  # X/(f + X), X <= 1
        return self.E

    def is_of(self, f, p):
        """Return whether E is E(f, p)."""
        return bool(self.E_of) and self.E_of[0].is_(f) and self.E_of[1].is_(p)

    def instead(self):
        meanings = {
            balls.add: self.sum, balls.add_double: self.sum,
            balls.subtract: lambda a, b: self.sum(a, -Real.of(b)),
            balls.negate: lambda a: -Real.of(a), balls.multiply: self.product,
            balls.multiply_double: self.product, balls.divide: self.quotient,
            balls.reciprocal: lambda b: self.quotient(1.0, b), balls.shift: self.shift,
            balls.log: self.log, balls.scaled_exp: self.scaled_exp, balls.exp: self.exp,
            balls.expm1: lambda power, m: self.exp(power, m) - ONE_REAL,
            balls.sine_excess: self.sine_excess, enclosure.e_by_p: self.by_p,
            enclosure.e_by_f: self.by_f,
        }  # fmt: skip
        return {
            name: lambda copy, *args, meaning=meaning: meaning(*args)
            for name, meaning in meanings.items()
        }


# --- what r is -----------------------------------------------------------------------


def upwards(g, r, p):
    """Return r(g+1) from r(g): contiguity."""
    return p / (ONE_REAL - p) * (ONE_REAL / g - r)


def downwards(g, r, p):
    """Return r(g) from r(g+1): contiguity."""
    return ONE_REAL / g - (ONE_REAL - p) / p * r


def resolvent(g, p, E):
    """Return r(g, p) from E(g, p)."""
    return p / (g - ONE_REAL + p + (ONE_REAL - p) * E)


def reflected(run, p):
    """Return r(e), or for n > 0 r(1 + e), by reflection at e or 1 + e; |e| <= 1/2."""
    e, q, v = run.e, run.q, p / run.q
    if not run.is_of(ONE_REAL - e, q):
        raise ValueError("E of another argument")
    other = resolvent(ONE_REAL - e, q, run.E)  # r(1 - e, q)
    first = run.power * run.sine / e
    if run.n == 0 or e.lower > 0:
        r = first - v * other
        return upwards(e, r, p) if run.n else r
    # v^(1+e) pi/sin(pi (1 + e)) = -v first, less v r(-e, q).
    return -(v * first) - v * downwards(-e, other, q)


def truth(run):
    """Return r by the facts of the module's docstring."""
    f, p = run.f.exact(), run.p.exact()
    if run.is_of(f, p):
        return resolvent(f, p, run.E)
    if run.is_of(f + ONE_REAL, p):
        return downwards(f, resolvent(f + ONE_REAL, p, run.E), p)
    r = -(p / run.q * run.log_value) if run.log_of == "p" else reflected(run, p)
    for m in range(1, run.n):
        r = upwards(run.e + Real.of(m), r, p)
    return r


# --- rectangles ----------------------------------------------------------------------


def after(x):
    return math.nextafter(x, math.inf)


def spans(*cuts):
    """Return the doubles between cuts, a cut in the span that it begins."""
    ends = [math.nextafter(x, -math.inf) for x in cuts[1:]]
    return [*zip(cuts, [*ends, LARGEST], strict=True)]


def rectangles():
    """Return rectangles that hold all doubles f > 0 and 0 < p <= 1."""
    numbers = range(1, int(enclosure.F_LEVELS))
    by_half = [x for n in numbers for x in (float(n), after(n), n + 0.5)]
    f = spans(
        SMALLEST, enclosure._TINY, after(0.5), *by_half,
        enclosure.F_LEVELS, after(enclosure._HUGE),
    )  # fmt: skip
    p = spans(SMALLEST, enclosure._TINY, enclosure.P_LEVELS, after(1.0))[:-1]
    return itertools.product(f, p)


def argument(lower, upper, symbol):
    """Return a double between ends."""
    if lower == upper:
        value = ONE * fmpq(*lower.as_integer_ratio()), ONE
        return Double(lower, upper, grid_of(lower), value)
    grid = max(math.frexp(lower)[1] - 53, -1074)
    return Double(lower, upper, grid, (symbol, ONE))


def check_rectangle(f, p):
    """Raise unless the ball is one of r 2^(600 n) in a rectangle."""
    run = Run(argument(*f, F), argument(*p, P))
    kernel = Copies({"two_sum": two_sum, "int": whole}, run.instead())
    found, n = kernel.of(enclosure.risk_ball)(run.f, run.p)
    scale = Real(ONE * fmpq(2) ** (600 * n), ONE, arb(0), arb(1))
    if not found.is_(truth(run) * scale):
        raise ValueError(f"not r(f, p) 2^(600 n) for f in {f}, p in {p}")


def check(places):
    """Raise unless the ball contains r in each rectangle."""
    precision, ctx.prec = ctx.prec, BITS
    try:
        for f, p in places:
            check_rectangle(f, p)
    finally:
        ctx.prec = precision


def prove():
    """Raise unless the ball contains r; return rows: what, where, share of a radius."""
    rows = [
        [f"E by `{name}`", text(f, p), f"{share:.2f}"]
        for name, f, p, share in enclosure_levels.prove()
    ]
    every = list(rectangles())
    check(every)
    return [*rows, ["`risk_ball` is r", f"{len(every)} rectangles", ""]]


def text(f, p):
    """Return ends of f and p as a text."""
    return ", ".join(
        f"{float(low):.4g} <= {name} <= {float(high):.4g}"
        for name, (low, high) in (("f", f), ("p", p))
    )
