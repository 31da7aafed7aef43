"""Numbers in fixed point as rational functions and ranges, to run kernels on.

A number has what it is, a quotient of polynomials in symbols, and a range that holds
its words and its true value, up to ``SLACK`` for what an operation drops. An operation
that would leave its domain raises. Exponents are sums of named ones; doubles are
intervals, with what they are as long as no operation rounds.
"""

import math
import operator

from flint import arb, ctx

from bench.proof.check import generators, same
from bench.proof.rebind import Copies
from riskcore.core.special import fixed_point
from riskcore.core.special.gauss import fixed_point_step as step

# f = M F, a = A P, b = B Q, e = G H with powers of two F, P, Q, H; E and X of the
# fraction; L, S, W = v^e by functions, K a power of two; T of contiguity; R an error,
# U a unit.
NAMES = tuple("MFAPBQEXWKSLTGHpUR")
SYMBOL = dict(zip(NAMES, generators(*NAMES), strict=True))
ONE = SYMBOL["M"].made(1)
OPERATIONS = (
    "number mantissa rounded error units set_error set_integer set_double add subtract "
    "negate add_integer times over multiply divide shift log exp sinc"
)
LARGEST, LEAST, MOST = 2.0**27, 2.0**-20, 2.0**20
SLACK = 2.0**-150
ARGUMENT_OFF = 2.0**-20  # what arguments of functions may be off by
LOG_MORE = 64.0  # above 1/x and what the logarithm's own bound adds to it
MOST_PLACES = 28 * 7
OUTWARD = 2.0**-40  # ends of ranges are rounded outwards
ctx.prec = 128


def plain(names):
    """Return functions for kernels, which are not to get the kernel itself."""
    return {key: lambda _, *args, one=one: one(*args) for key, one in names.items()}


class UnprovedError(ValueError):
    """What is not proved."""


class Range:
    """All numbers between two doubles; ends are rounded outwards."""

    def __init__(self, low, high):
        self.low, self.high = float(low), float(high)

    @staticmethod
    def of(values):
        values = list(values)
        if any(x != x for x in values):
            raise UnprovedError("a range without ends")
        return Range(
            math.nextafter(min(values), -math.inf),
            math.nextafter(max(values), math.inf),
        )

    @staticmethod
    def ends(x):
        return (x.low, x.high) if isinstance(x, Range) else (float(x), float(x))

    def _with(self, operation, other):
        return self.of(
            operation(a, b) for a in self.ends(self) for b in self.ends(other)
        )

    def __add__(self, other):
        return self._with(operator.add, other)

    def __sub__(self, other):
        return self._with(operator.sub, other)

    def __rsub__(self, other):
        return -self + other

    def __neg__(self):
        return Range(-self.high, -self.low)

    def __mul__(self, other):
        return self._with(operator.mul, other)

    def __truediv__(self, other):
        if not self.ends(other)[0] > 0:
            raise UnprovedError("a divisor that may be 0")
        return self._with(operator.truediv, other)

    def through(self, function):
        """Return what a monotonic function of Arb makes of it."""
        one, two = (function(arb(x)) for x in self.ends(self))
        both = one.union(two)
        return self.of((float(both.lower()), float(both.upper())))

    def narrowed(self, other):
        low, high = max(self.low, other.low), min(self.high, other.high)
        if low > high:
            raise UnprovedError("a range that contradicts what is known")
        return Range(low, high)

    def size(self):
        return max(abs(self.low), abs(self.high))

    def inside(self, low, high):
        return low <= self.low and self.high <= high


LOG2 = Range(2.0, 2.0).through(arb.log)


def power_of_two(k):
    return math.ldexp(1.0, k) if k < 1024 else math.inf


class AbsentError(Exception):
    """A case that does not occur."""


class Exponent:
    """A sum of named exponents, each that of a symbol's power of two."""

    def __init__(self, names, low, high):
        self.names, self.low, self.high = names, low, high

    @staticmethod
    def of(x):
        return x if isinstance(x, Exponent) else Exponent({"": x}, x, x)

    def __add__(self, other):
        other = self.of(other)
        keys = {*self.names, *other.names}
        names = {k: self.names.get(k, 0) + other.names.get(k, 0) for k in keys}
        if not any(names.values()):
            return Exponent({}, 0, 0)
        return Exponent(names, self.low + other.low, self.high + other.high)

    def __neg__(self):
        return Exponent({k: -c for k, c in self.names.items()}, -self.high, -self.low)

    def __sub__(self, other):
        return self + -self.of(other)

    def __rsub__(self, other):
        return self.of(other) - self

    __radd__ = __add__

    def __gt__(self, other):
        if self.low <= other < self.high:
            raise UnprovedError(f"an exponent that may be {other} or more")
        return self.low > other

    def power(self):
        """Return 2^self as a rational function."""
        above = below = ONE
        for name, times in self.names.items():
            base = SYMBOL[name] if name else ONE * 2
            for _ in range(times):
                above *= base
            for _ in range(-times):
                below *= base
        return above / below

    def range(self):
        return Range(power_of_two(self.low), power_of_two(self.high))


class Double:
    """All doubles between two; with what they are, if that is exact, on a grid."""

    def __init__(self, low, high, exact=None, grid=None):
        self.low, self.high, self.exact = low, high, exact
        self.grid = math.frexp(low)[1] - 53 if grid is None else grid

    def _moved(self, by):
        grid = min(self.grid, math.frexp(by)[1] - 53 if by % 0.5 else -1)
        low, high = self.low + by, self.high + by
        fits = max(abs(low), abs(high)) <= 2.0 ** (grid + 53)
        exact = self.exact + by if fits and self.exact is not None else None
        return Double(low, high, exact, grid)

    def __add__(self, other):
        return self._moved(float(other))

    def __sub__(self, other):
        return self._moved(-float(other))

    def __neg__(self):
        return Double(-self.high, -self.low, -self.exact, self.grid)

    def __rsub__(self, other):
        return -self + other

    def _one(self, low, high):
        if low != high:
            raise UnprovedError("doubles that a comparison divides")
        return low

    def __lt__(self, other):
        return self._one(self.low < other, self.high < other)

    def __gt__(self, other):
        return self._one(self.low > other, self.high > other)

    def __le__(self, other):
        return self._one(self.low <= other, self.high <= other)

    def __ge__(self, other):
        return self._one(self.low >= other, self.high >= other)

    def __eq__(self, other):
        return self._one(self.low <= other <= self.high, self.low == self.high == other)

    __hash__ = None

    def floor(self):
        return self._one(int(self.low), int(self.high))


class Number:
    """A number in fixed point: what it is, a range of it, a bound of its error."""

    def __init__(self, exact=None, range_=None, off=0.0):
        self.exact, self.range, self.off = exact, range_, off


class Run:
    """The source with fixed point replaced; what it asks of functions is kept."""

    largest = 0.0

    def __init__(self, known=(), instead=(), large=False):
        self.known, self.large, self.asked = known, large, {}
        operations = {
            getattr(fixed_point, x): getattr(self, x) for x in OPERATIONS.split()
        }
        operations[step._e] = self.e
        for name, one in dict(instead).items():
            operations[getattr(step, name)] = one
        self.copies = Copies({"int": self.integer}, plain(operations))

    def __call__(self, name, *args):
        return self.copies.of(getattr(step, name))(*args)

    @staticmethod
    def integer(x):
        return x.floor() if isinstance(x, Double) else int(x)

    def put(self, z, exact, range_, off=0.0):
        for one, narrower in self.known:
            if one.above * exact.below == exact.above * one.below:
                range_ = range_.narrowed(narrower)
        if not range_.inside(-LARGEST, LARGEST):
            raise UnprovedError(f"a number as large as {range_.high}")
        Run.largest = max(Run.largest, range_.size())
        z.exact, z.range = exact, range_ + Range(-SLACK, SLACK)
        z.off = off * (1.0 + OUTWARD) + SLACK

    # The operations of fixed point, by their names there.

    def error(self, *_):
        raise UnprovedError("a bound of an error that the source makes itself")

    units = set_error = error

    def number(self):
        return Number()

    def mantissa(self, x):
        self.asked["double"] = x
        for exact, mantissa, range_, exponent in self.asked["mantissas"]:
            if exact is x.exact or not (exact - x.exact).above:
                return Number(mantissa, range_), exponent
        raise UnprovedError("the mantissa of an unknown number")

    def rounded(self, x):
        return x

    def set_integer(self, z, n, k):
        self.put(z, ONE * k, Range(k, k))

    def set_double(self, z, n, x):
        if isinstance(x, Double):
            if x.exact is None:
                raise UnprovedError("a double that is rounded")
            self.asked["g"] = x.exact
            x = Number(x.exact, Range(x.low, x.high))
        if not x.range.inside(0.0, LARGEST):
            raise UnprovedError("a double below 0")
        self.put(z, x.exact, x.range)

    def add(self, z, x, y, n):
        self.put(z, x.exact + y.exact, x.range + y.range, x.off + y.off)

    def subtract(self, z, x, y, n):
        self.put(z, x.exact - y.exact, x.range - y.range, x.off + y.off)
        self.subtracted(z)

    def subtracted(self, z):
        """Look at a difference, which may be known by another name."""

    def negate(self, z, x, n):
        self.put(z, -x.exact, -x.range, x.off)

    def add_integer(self, z, x, k, n):
        self.put(z, x.exact + k, x.range + k, x.off)

    def times(self, z, x, k, n):
        if not abs(k) < 2**30:
            raise UnprovedError("a large factor")
        self.put(z, x.exact * k, x.range * k, x.off * abs(k))

    def over(self, z, x, k, n):
        self.put(z, x.exact / k, x.range / k, x.off / k)

    def multiply(self, z, x, y, n):
        off = x.range.size() * y.off + y.range.size() * x.off + x.off * y.off
        self.put(z, x.exact * y.exact, x.range * y.range, off)

    def divide(self, z, x, y, n):
        if not y.range.inside(LEAST, MOST):
            raise UnprovedError(f"a divisor from {y.range.low} to {y.range.high}")
        range_, least = x.range / y.range, y.range.low - y.off
        off = (x.off + range_.size() * y.off) / least if least > 0 else math.inf
        self.put(z, x.exact / y.exact, range_, off)

    def shift(self, z, x, s, n):
        s = Exponent.of(s)
        if not s.high < MOST_PLACES:
            raise UnprovedError("a long shift to the left")
        off = x.off * s.range().high
        self.put(z, x.exact * s.power(), x.range * s.range(), off)

    def log(self, z, x, exponent, n):
        exponent = Exponent.of(exponent)
        if max(-exponent.low, exponent.high) >= 2**12:
            raise UnprovedError("an exponent of the logarithm")
        self.check_argument(x, 0.25, 4.0)
        self.asked["log"] = x.exact * exponent.power()
        more = Range(exponent.low, exponent.high) * LOG2
        range_ = x.range.through(arb.log) + more
        self.put(z, SYMBOL["L"], range_, LOG_MORE * x.off)

    def check_argument(self, x, low, high):
        """Raise unless a function is known at x."""
        if not (x.range.inside(low, high) and x.off < ARGUMENT_OFF):
            raise UnprovedError("an argument of a function")

    def exp(self, z, x, n):
        self.check_argument(x, -2048.0, 2048.0)
        self.asked["exp"] = x.exact
        by_2 = x.range / LOG2
        low, high = math.ceil(by_2.low - 0.52), math.floor(by_2.high + 0.52)
        low, high = (max(low, 1), high) if self.large else (low, min(high, 0))
        if low > high:
            raise AbsentError
        rest = Range(-0.36, 0.36)
        rest = x.range.narrowed(rest) if low == high == 0 else rest
        self.asked["K"] = rest.through(arb.exp)
        self.put(z, SYMBOL["W"] / SYMBOL["K"], self.asked["K"], math.inf)
        return Exponent({"K": 1}, low, high)

    def sinc(self, z, x, n):
        self.check_argument(x, -0.5 - OUTWARD, 0.5 + OUTWARD)
        self.asked["sinc"] = x.exact
        most = x.range.size()
        self.put(
            z, SYMBOL["S"], Range(float(arb(most).sinc_pi().lower()), 1.0), math.inf
        )

    def e(self, z, f, p_double, g, s, p, q, n):
        """Let z be E 2^s, as is proved of `_e`: X/(g + X 2^-s), X in [p, 1]."""
        same(q.exact, ONE - p.exact)
        same(p_double.exact, p.exact)
        s = Exponent.of(s)
        if not g.range.low > 0.25:
            raise UnprovedError("a fraction for f below 1/4 2^s")
        self.asked["f"], self.asked["p"] = g.exact * s.power(), p.exact
        most = 1.0 / (g.range.low + power_of_two(-s.high)) * (1.0 + 2.0**-50)
        self.put(z, SYMBOL["E"] * s.power(), Range(0.0, most), math.inf)
