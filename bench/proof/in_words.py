"""Prove that `risk_in_words` is r, given that operations in fixed point hold their bounds.

The source runs on numbers that are a rational function and a range. The function is
exact: in f = M F, p = A P/(B Q) with powers of two F, P, Q, and in E, X, v^e, its power
of two K, sinc e, log and T; it must be the formula for r. The range holds the words, up
to ``SLACK`` an operation: no operation may leave its domain. The error is the operations'
own, so nothing is to be proved of it but the start of `_e`.

By hand remain: a loop of n passes does what the first n passes of a longer one do.
"""

import math
import operator

from flint import arb, ctx

from bench.proof.check import generators, same
from bench.proof.rebind import Copies
from riskcore.core.special import fixed_point
from riskcore.core.special.gauss import fixed_point_step as step

NAMES = "M F A P B Q E X W K S L T G H p U R".split()
SYMBOL = dict(zip(NAMES, generators(*NAMES), strict=True))
ONE = SYMBOL["M"].made(1)
OPERATIONS = (
    "number mantissa rounded error units set_error set_integer set_double add subtract "
    "negate add_integer times over multiply divide shift log exp sinc"
)
LARGEST, LEAST, MOST = 2.0**27, 2.0**-20, 2.0**20
SLACK = 2.0**-200  # what an operation drops, and more
DELTA = 2.0**-100
OUTWARD = 2.0**-40  # ends of ranges are rounded outwards
T_MOST = 2.0**16
EXPONENTS = -2098, 2098
LEVELS, STEPS = 4000, 1023
# What a shift to the far side of a boundary may take for granted of r 2^-s.
RISK_LEAST, RISK_MOST = 2.0**-61, 2.0**26
ctx.prec = 128


class Refused(ValueError):
    """What is not proved."""


class Range:
    """All numbers between two doubles; ends are rounded outwards."""

    def __init__(self, low, high):
        self.low, self.high = float(low), float(high)

    @staticmethod
    def of(values):
        values = list(values)
        if any(x != x for x in values):
            raise Refused("a range without ends")
        return Range(
            math.nextafter(min(values), -math.inf), math.nextafter(max(values), math.inf)
        )

    @staticmethod
    def ends(x):
        return (x.low, x.high) if isinstance(x, Range) else (float(x), float(x))

    def _with(self, operation, other):
        return self.of(operation(a, b) for a in self.ends(self) for b in self.ends(other))

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
            raise Refused("a divisor that may be 0")
        return self._with(operator.truediv, other)

    def through(self, function):
        """Return what a monotonic function of Arb makes of it."""
        one, two = (function(arb(x)) for x in self.ends(self))
        both = one.union(two)
        return self.of((float(both.lower()), float(both.upper())))

    def narrowed(self, other):
        low, high = max(self.low, other.low), min(self.high, other.high)
        if low > high:
            raise Refused("a range that contradicts what is known")
        return Range(low, high)

    def inside(self, low, high):
        return low <= self.low and self.high <= high


LOG2 = Range(2.0, 2.0).through(arb.log)


def power_of_two(k):
    return math.ldexp(1.0, k) if k < 1024 else math.inf



class Never(Exception):
    """A case that does not occur."""


class Exponent:
    """A sum of named exponents, each of which is that of a symbol's power of two."""

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
            raise Refused(f"an exponent that may be {other} or more")
        return self.low > other

    def power(self):
        """Return 2^self as a rational function."""
        above = below = ONE
        for name, times in self.names.items():
            base = SYMBOL[name] if name else ONE * 2
            for _ in range(abs(times)):
                above, below = (above * base, below) if times > 0 else (above, below * base)
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
        return Double(low, high, self.exact + by if fits and self.exact is not None else None, grid)

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
            raise Refused("doubles that a comparison divides")
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
    """A number in fixed point: what it is, and where its words are."""

    def __init__(self, exact=None, range_=None):
        self.exact, self.range = exact, range_


class Run:
    """The source with fixed point replaced; what it asks of functions is kept."""

    def __init__(self, known=(), instead=(), large=False):
        self.known, self.large, self.asked, self.T = known, large, {}, None
        operations = {
            getattr(fixed_point, name): getattr(self, name)
            for name in OPERATIONS.split()
        }
        operations[step._e] = self.e
        for name, one in dict(instead).items():
            operations[getattr(step, name)] = one
        operations = {
            key: lambda _, *args, one=one: one(*args) for key, one in operations.items()
        }
        self.copies = Copies({"int": self.integer}, operations)

    def __call__(self, name, *args):
        return self.copies.of(getattr(step, name))(*args)

    @staticmethod
    def integer(x):
        return x.floor() if isinstance(x, Double) else int(x)

    def put(self, z, exact, range_):
        for one, narrower in self.known:
            if one.above * exact.below == exact.above * one.below:
                range_ = range_.narrowed(narrower)
        if not range_.inside(-LARGEST, LARGEST):
            raise Refused(f"a number as large as {range_.high}")
        z.exact, z.range = exact, range_ + Range(-SLACK, SLACK)

    # The operations of fixed point, by their names there.

    def error(self, *_):
        raise Refused("a bound of an error that the source makes itself")

    units = set_error = error

    def number(self):
        return Number()

    def mantissa(self, x):
        self.asked["double"] = x
        for exact, mantissa, range_, exponent in self.asked["mantissas"]:
            if exact is x.exact or not (exact - x.exact).above:
                return Number(mantissa, range_), exponent
        raise Refused("the mantissa of an unknown number")

    def rounded(self, x):
        return x

    def set_integer(self, z, n, k):
        self.put(z, ONE * k, Range(k, k))

    def set_double(self, z, n, x):
        if isinstance(x, Double):
            if x.exact is None:
                raise Refused("a double that is rounded")
            self.asked["g"] = x.exact
            x = Number(x.exact, Range(x.low, x.high))
        if not x.range.inside(0.0, LARGEST):
            raise Refused("a double below 0")
        self.put(z, x.exact, x.range)

    def add(self, z, x, y, n):
        self.put(z, x.exact + y.exact, x.range + y.range)

    def subtract(self, z, x, y, n):
        self.put(z, x.exact - y.exact, x.range - y.range)
        self.subtracted(z)

    def subtracted(self, z):
        """Take what a pass of the loop of contiguity gives for the next T."""
        if "g" in self.asked:
            v, g = self.asked["v"], self.asked.pop("g")
            same(z.exact, ONE / g - v * self.T)
            self.asked["last"], self.T, z.exact = g + 1, SYMBOL["T"], SYMBOL["T"]
            if not z.range.inside(-T_MOST, T_MOST):
                raise Refused("T is too large for the next pass")

    def negate(self, z, x, n):
        self.put(z, -x.exact, -x.range)

    def add_integer(self, z, x, k, n):
        self.put(z, x.exact + k, x.range + k)

    def times(self, z, x, k, n):
        self.put(z, x.exact * k, x.range * k)

    def over(self, z, x, k, n):
        self.put(z, x.exact / k, x.range / k)

    def multiply(self, z, x, y, n):
        self.put(z, x.exact * y.exact, x.range * y.range)

    def divide(self, z, x, y, n):
        if not y.range.inside(LEAST, MOST):
            raise Refused(f"a divisor from {y.range.low} to {y.range.high}")
        self.put(z, x.exact / y.exact, x.range / y.range)

    def shift(self, z, x, s, n):
        s = Exponent.of(s)
        self.put(z, x.exact * s.power(), x.range * s.range())

    def log(self, z, x, exponent, n):
        if not x.range.inside(0.25, 4.0) or max(-exponent.low, exponent.high) >= 2**12:
            raise Refused("an argument of the logarithm")
        self.asked["log"] = x.exact * exponent.power()
        more = Range(exponent.low, exponent.high) * LOG2
        self.put(z, SYMBOL["L"], x.range.through(arb.log) + more)

    def exp(self, z, x, n):
        if not x.range.inside(-2048.0, 2048.0):
            raise Refused("an argument of the exponential")
        self.asked["exp"] = x.exact
        by_2 = x.range / LOG2
        low, high = math.ceil(by_2.low - 0.52), math.floor(by_2.high + 0.52)
        low, high = (max(low, 1), high) if self.large else (low, min(high, 0))
        if low > high:
            raise Never
        rest = Range(-0.36, 0.36)
        rest = x.range.narrowed(rest) if low == high == 0 else rest
        self.asked["K"] = rest.through(arb.exp)
        self.put(z, SYMBOL["W"] / SYMBOL["K"], self.asked["K"])
        return Exponent({"K": 1}, low, high)

    def sinc(self, z, x, n):
        if not x.range.inside(-0.5 - OUTWARD, 0.5 + OUTWARD):
            raise Refused("an argument of the sine")
        self.asked["sinc"] = x.exact
        most = max(map(abs, x.range.ends(x.range)))
        self.put(z, SYMBOL["S"], Range(float(arb(most).sinc_pi().lower()), 1.0))

    def e(self, z, f, p_double, g, s, p, q, n):
        """Let z be E 2^s, as `check_e` proves of `_e`: X/(g + X 2^-s), X in [p, 1]."""
        same(q.exact, ONE - p.exact)
        same(p_double.exact, p.exact)
        s = Exponent.of(s)
        if not g.range.low > 0.25:
            raise Refused("a fraction for f below 1/4 2^s")
        self.asked["f"], self.asked["p"] = g.exact * s.power(), p.exact
        most = 1.0 / (g.range.low + power_of_two(-s.high)) * (1.0 + 2.0**-50)
        self.put(z, SYMBOL["E"] * s.power(), Range(0.0, most))


# --- the fraction's levels -----------------------------------------------------------


class Bound:
    """A bound of an error, as a rational function; ``off`` is what was rounded."""

    def __init__(self, exact, off=0.0):
        self.exact, self.off = exact, off

    def _made(self, exact, off):
        return Bound(exact, off + 2.0**-52)

    def __rsub__(self, other):
        return self._made(-self.exact + other, self.off)

    def __rmul__(self, other):
        return self._made(self.exact * other, self.off * other)

    def __add__(self, other):
        if isinstance(other, Bound):
            return self._made(self.exact + other.exact, max(self.off, other.off))
        return self._made(self.exact + other, self.off)

    def __truediv__(self, other):
        return Bound(self.exact / other.exact, self.off)


class Levels(Run):
    """`_e`: each level gets X in [p, 1], up to ``DELTA``, and must return such a one."""

    def __init__(self, f_least, p_range):
        super().__init__(instead={"_levels": lambda *_: LEVELS})
        self.f_least, self.p_range, self.m, self.worst = f_least, p_range, LEVELS, 0.0
        del self.copies.instead[step._e]

    def error(self, x, n):
        return Bound(SYMBOL["R"])

    def units(self, n):
        return Bound(SYMBOL["U"])

    def set_error(self, x, n, bound):
        """Take any tail for the start, if the bound holds all of [p, 1]."""
        p = SYMBOL["p"]
        same(x.exact, (p + 1) / 2)
        same(bound.exact, SYMBOL["R"] + ((-p + 1) / 2 + 2.0**-40) / SYMBOL["U"])
        # p is rounded to 2^-50 of itself, and off by some units.
        if not bound.off + 2.0**-48 < 2.0**-40:
            raise Refused("the start of the fraction does not hold all tails")
        self.x = x
        self.renew()

    def renew(self):
        least = max(self.p_range.low, 0.0) - DELTA
        self.x.exact, self.x.range = SYMBOL["X"], Range(least, 1 + DELTA)

    def subtracted(self, z):
        """Take X again, if a level is (p b + k X)/(b + k X): a mean of p and 1.

        For X >= 0; below 0 it is off by k/b of that.
        """
        m, X, p = self.m, SYMBOL["X"], SYMBOL["p"]
        k, b = 1 + (m + 1) // 2, SYMBOL["M"] * SYMBOL["F"] + m // 2
        same(z.exact, (p * b + X * k) / (b + X * k))
        share = k / (self.f_least + m // 2)
        if not (self.p_range.low > 0.25 or share < 0.9):
            raise Refused("X may leave [p, 1]")
        self.m, self.x = m - 1, z
        self.renew()


def check_e():
    """Raise unless `_e` is X_1/(f + X_1), its levels from any tail; yield rows."""
    far, near = Range(0.29, 1), Range(0, 0.31)
    ways = [(s, s, 2.0 ** (s - 1), far) for s in range(1, 12)]
    ways += [(12, 1024, 2048.0, far), (11, 11, 1024.0, near), (12, 1024, 2048.0, near)]
    cases = [(Exponent({"F": 1}, a, b), Range(0.5, 1), *rest) for a, b, *rest in ways]
    cases += [(0, Range(1, 2), 1.0, far), (0, Range(0.499, 1.501), 0.499, far)]
    for s, g_range, f_least, p_range in cases:
        run, z, p = Levels(f_least, p_range), Number(), SYMBOL["p"]
        one = Exponent.of(s).power()
        f = SYMBOL["M"] * SYMBOL["F"]
        g = Number(f / one, g_range)
        words = Number(p, p_range), Number(-p + 1, -p_range + 1.0)
        rounded = Bound(p)
        run("_e", z, None, rounded, g, s, *words, 12)
        X = SYMBOL["X"]
        same(z.exact, X / (f + X) * one)
        if run.m != 0:
            raise Refused("levels that were not run")
        yield len(cases)


# --- the branches --------------------------------------------------------------------

class Branch(Run):
    """`risk_in_words` for some f and p; all that it takes of `_e` is what it must be."""

    def __init__(self, p_box, small, f, mantissas=(), known=(), **options):
        (low, high), self.small = p_box, small
        p = Range(power_of_two(low - 1), power_of_two(high + 1))
        edge = Range(0, P_LEVELS + 2.0**-40) if small else Range(P_LEVELS - 2.0**-40, 1)
        p = p.narrowed(edge)
        ratio = Range(0.5, 2)
        if low == high:
            ratio = ratio.narrowed(p / power_of_two(low))
        A, B = SYMBOL["A"], SYMBOL["B"]
        self.p_scale = Exponent({"P": 1, "Q": -1}, low, high)
        self.p = A * SYMBOL["P"] / (B * SYMBOL["Q"])
        self.q = -self.p + 1
        of_p = [(self.p, p), (self.q, -p + 1.0), (A / B, ratio)]
        super().__init__([*of_p, *known], **options)
        half = Range(0.5, 1)
        a = Double(0.5, 1.0, A * SYMBOL["P"])
        b = Double(0.5, 1.0, B * SYMBOL["Q"])
        self.asked["mantissas"] = [
            (a.exact, A, half, Exponent({"P": 1}, low, high)),
            (b.exact, B, half, Exponent({"Q": 1}, 0, 0)),
            *mantissas,
        ]
        self.f, self.z = f, Number()
        self.asked["v"] = self.p / self.q
        self.prepare()
        self.size = Exponent.of(self("risk_in_words", self.z, f, a, b, 12))

    def prepare(self):
        """Set what is known before the run."""

    def rounded(self, x):
        """Return p as a double, which has been compared with 0.3; or q."""
        if x.exact.above * self.p.below == self.p.above * x.exact.below:
            ends = (0.0, math.nextafter(P_LEVELS, 0)) if self.small else (P_LEVELS, 1.0)
        else:
            ends = 0.69, 1.0
        return Double(*ends, x.exact)

    def returned(self):
        """Return what z 2^s is."""
        return self.z.exact * self.size.power()

    def check(self, r, f, p, least):
        """Raise unless the result is r by E(f, p), r 2^-s neither small nor large."""
        same(self.returned(), r)
        if f is not None:
            same(self.asked["f"], f)
            same(self.asked["p"], p)
        if not (least > RISK_LEAST and self.z.range.high < RISK_MOST):
            raise Refused(f"r 2^-s, {least} or {self.z.range.high}, is not fit for `side`")


P_LEVELS = 0.3  # compared with the source's by `Double`: another one divides a case
LARGE_P = (-2, 0)
SMALL_P = [(-1, -1), (-2, -2)]
while SMALL_P[-1][0] > EXPONENTS[0]:
    high = SMALL_P[-1][0] - 1
    SMALL_P.append((max(EXPONENTS[0], high * 3 // 2), high))


def f_of(low, high):
    """Return f = M F from 2^(low - 1) to below 2^high, and its mantissa."""
    f = SYMBOL["M"] * SYMBOL["F"]
    exponent = Exponent({"F": 1}, low, high)
    largest = math.nextafter(math.ldexp(1.0, high), 0) if high < 1024 else 1.7976931348623157e308
    ends = math.ldexp(1.0, low - 1), largest
    return Double(*ends, f), [(f, SYMBOL["M"], Range(0.5, 1), exponent)]


def check_fractions():
    """Raise unless `_by_fraction` and `_below_one` are r; return the number of runs."""
    E, count = SYMBOL["E"], 0
    whole = [(s, s) for s in range(1, 12)] + [(12, 1024)]
    cases = [(box, LARGE_P, False) for box in [(-1073, 0), *whole]]
    cases += [(box, EXPONENTS, True) for box in whole[-2:]]
    for box, p_box, small in cases:
        f, mantissas = f_of(*box)
        if small:
            p_box = EXPONENTS[0], -1
        known = [(f.exact, Range(0, 1))] if box[1] < 1 else []
        run = Branch(p_box, small, f, mantissas, known)
        p, w = run.p, run.p + run.q * E
        if box[1] < 1:
            r, f_e = (p * f.exact + w) / (f.exact * (f.exact + w)), f.exact + 1
        else:
            r, f_e = p / (f.exact - 1 + w), f.exact
        run.check(r, f_e, p, run.z.range.low)
        count += 1
    return count


# --- contiguity ----------------------------------------------------------------------


class Contiguity(Branch):
    """f = n + e; T before the loop is known, or, if ``passed``, any."""

    def __init__(self, p_box, n, e, f, exponent, known, large, passed=False):
        self.n, self.e_, self.passed = n, e, passed
        mantissa = [] if e is None else [(e, SYMBOL["G"], Range(0.5, 1), exponent)]
        size = SYMBOL["G"] * SYMBOL["H"]
        mantissas = [(size, SYMBOL["G"], Range(0.5, 1), exponent)] if mantissa else []
        mantissas.append((f.exact, None, None, None))
        instead = {"_reflected": self.any_of} if passed else {}
        super().__init__(p_box, True, f, mantissas, known, instead=instead, large=large)

    def any_of(self, z, *_):
        """Let z be any T that a pass of the loop may start from."""
        self.put(z, SYMBOL["T"], Range(-T_MOST, T_MOST))
        return 0

    def prepare(self):
        L, E, e = SYMBOL["L"], SYMBOL["E"], self.e_
        if e is None:
            self.T = -L
        elif self.passed:
            self.T = SYMBOL["T"]
        else:
            D = self.q - e + self.p * E
            self.times_e = SYMBOL["W"] / SYMBOL["S"] - e * self.p / D
            self.T = (-self.times_e + 1) / e

    def checked(self):
        """Raise unless it is r, and functions got the arguments that they must have."""
        e, v = self.e_, self.asked["v"]
        if e is None or not self.passed:
            same(self.asked["log"], self.p if e is None else v)
        if e is not None and not self.passed:
            same(self.asked["exp"], e * SYMBOL["L"])
            sinc = self.asked["sinc"]
            same(sinc * sinc, e * e)
            if not -0.5 <= self.asked["double"].low <= self.asked["double"].high <= 0.5:
                raise Refused("f is not next to the integer of its steps")
        r = self.times_e / e if self.n == 0 else v * self.T
        if self.n > 1:
            same(self.asked["last"], self.f.exact)
        reflected = e is not None and not self.passed
        self.check(r, -e + 1 if reflected else None, self.q, self.least())

    def least(self):
        """Return a lower bound of r 2^-s, by r >= p/f and, p < 1/2, r >= v^f/(2f)."""
        own = self.size - self.p_scale
        names = {k: c for k, c in own.names.items() if c}
        if not names or names == {"": 0}:
            return 0.5 / self.f.high
        more = self.asked["K"].low / (2 * self.f.high)
        if names == {"K": 1} and self.n == 1:
            return 0.5 * more  # v 2^-p_scale is above 1/2
        names = {k: c for k, c in self.size.names.items() if c}
        if names == {"K": 1, "H": -1} and self.n == 0:
            return self.asked["K"].low / 2  # 2 e 2^-s_e is below 2
        raise Refused("a result with an unknown power of two")


def near(n, sign, k):
    """Return f = n + e, e between 2^(k-1) and 2^k of a sign, or None if no double is."""
    a, b = n + sign * 2.0 ** (k - 1), n + sign * 2.0**k
    if k == 0:
        b = a  # -1/2 alone
    low, high = (a, math.nextafter(b, 0)) if sign > 0 else (math.nextafter(b, 9999), a)
    low, high = (low, high) if k < 0 else (a, a)
    low = max(low, ABOVE_HALF)
    if low > high or low <= n <= high:
        return None
    e = SYMBOL["G"] * SYMBOL["H"] * sign
    return Double(low, high, e + n), e


def contiguities():
    """Yield the cases of `_by_contiguity`: p, n, e, f, e's exponent, |e|, passed."""
    size = SYMBOL["G"] * SYMBOL["H"]
    for p_box in SMALL_P:
        f = Double(5e-324, 0.5, size)
        known = [(size, Range(0, 0.5))]
        yield p_box, 0, size, f, Exponent({"H": 1}, -1073, 0), known, False
        for n in (1, 2, STEPS):
            yield p_box, n, None, Double(n, n, ONE * n), None, [], False
        for n in (1, 2):
            for sign in (-1, 1):
                for k in range(-52, 1 if sign < 0 else 0):
                    found = near(n, sign, k)
                    if found:
                        f, e = found
                        known = [(size, Range(2.0 ** (k - 1), min(2.0**k, 0.5)))]
                        yield p_box, n, e, f, Exponent({"H": 1}, k, k), known, False
        for n, sign, ends in ((1024, -1, (1023.5, BEFORE)), (1023, 1, (AFTER, math.nextafter(1023.5, 0)))):
            f = Double(*ends, size * sign + n)
            known = [(size, Range(2.0**-53, 0.5))]
            yield p_box, n, size * sign, f, Exponent({"H": 1}, -52, 0), known, True


ABOVE_HALF = math.nextafter(0.5, 1)
BEFORE, AFTER = math.nextafter(1024.0, 0), math.nextafter(1023.0, 9999)


def check_contiguity():
    """Raise unless `_by_contiguity` is r; return the number of runs."""
    count = 0
    for *case, passed in contiguities():
        for large in (False, True):
            try:
                Contiguity(*case, large, passed).checked()
                count += 1
            except Never:
                pass
    return count


def check_steps():
    """Raise unless e and e + step are exact, |e| <= 1/2, for all f < 1024."""
    found = []

    def set_double(_, z, n, x):
        found.append(x)
        if x.exact is None:
            raise Refused("a double that is rounded")

    nothing = dict.fromkeys(OPERATIONS.split(), lambda *_: None)
    instead = {getattr(fixed_point, name): one for name, one in nothing.items()}
    instead |= {fixed_point.set_double: set_double, step._reflected: lambda *_: 0}
    copies = Copies({"int": Run.integer}, instead)
    for n in range(1, STEPS + 2):
        below = Double(max(n - 0.5, ABOVE_HALF), math.nextafter(n, 0), 0.0)
        above = Double(math.nextafter(n, 9999), math.nextafter(n + 0.5, 0), 0.0)
        for f in (below, above):
            found.clear()
            copies.of(step._by_contiguity)(None, f, None, 0, None, None, None, 12)
            if len(found) != n - 1 or not all(
                i - 0.5 <= x.low <= x.high <= i + 0.5 for i, x in enumerate(found, 1)
            ):
                raise Refused("steps that do not lead to f")


def prove():
    """Raise unless `risk_in_words` is r; return rows of what was run."""
    return [
        ["levels of E", f"{len(list(check_e()))} boxes, {LEVELS} levels"],
        ["r by the fraction", f"{check_fractions()} boxes"],
        ["r by contiguity and reflection", f"{check_contiguity()} boxes"],
    ]


if __name__ == "__main__":
    print(prove())
