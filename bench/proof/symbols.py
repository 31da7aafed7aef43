"""Integers, doubles and error bounds as polynomials in symbols, each with its range.

The numbers on which ``fixed_point.py`` runs in its proof. An `Integer` is a polynomial
that is checked to fit 64 bits: t & (2^28 - 1) is a new symbol r, t >> 28 is (t - r)
2^-28, and t // k is t/k less a new symbol. A `Float` is a double, a polynomial up to an
error. A `Bound` is a double between two polynomials in what is not negative.
"""

from flint import fmpq

BITS, BASE = 28, 2**28
UNIT = fmpq(1, 2**53)  # of rounding
TINY = fmpq(1, 2**1075)  # what an underflow loses
NORMAL = fmpq(1, 2**1022)
FULL = 2**63


class Poly(dict):
    """A polynomial: sorted tuples of symbols -> coefficients. k times 1/k is 1."""

    def plus(self, other, times=1):
        total = Poly(self)
        for key, c in other.items():
            c = total.get(key, 0) + c * times
            if c == 0:
                total.pop(key, None)
            else:
                total[key] = c
        return total

    def times(self, other):
        if not isinstance(other, Poly):
            return Poly({k: c * other for k, c in self.items() if other})
        total = Poly()
        for one, c in self.items():
            part = Poly({_monomial(one, two): d for two, d in other.items()})
            total = total.plus(part, c)
        return total

    def name(self):
        """Return what a dictionary can be asked by."""
        return frozenset(self.items())


def _monomial(one, two):
    key = sorted((*one, *two))
    while "k" in key and "1/k" in key:
        key.remove("k")
        key.remove("1/k")
    return tuple(key)


def constant(c):
    return Poly({(): fmpq(c)} if c else {})


def rational(x):
    """Return a number of Python as it is."""
    return x if isinstance(x, fmpq) else fmpq(*x.as_integer_ratio())


def floor(q):
    return int(q.p // q.q)


class Run:
    """The symbols of one run, their ranges, and the answers to its questions."""

    def __init__(self, answers=()):
        self.ranges, self.known, self.answers = {}, {}, list(answers)
        self.fact = None  # a polynomial and its range, by which a word is narrowed
        self.sizes = {}  # of rows: the symbol of |x|, by x

    def symbol(self, low, high, name=None):
        name = name or f"s{len(self.ranges):06}"
        self.ranges[name] = fmpq(low), fmpq(high)
        return Poly({(name,): fmpq(1)})

    def integer(self, low, high, name=None):
        return Integer(self, self.symbol(low, high, name), low, high)

    def span(self, poly):
        """Return the range of a polynomial, monomial by monomial."""
        low = high = fmpq(0)
        for key, c in poly.items():
            ends = [c]
            for name in key:
                ends = [a * b for a in ends for b in self.ranges[name]]
                ends = [min(ends), max(ends)]
            low, high = low + min(ends), high + max(ends)
        return low, high

    def narrowed(self, t):
        """Return an integer with the range that it has beside fractions in the fact."""
        if self.fact is None:
            return t
        poly, low, high = self.fact
        least, most = self.span(poly.plus(t.poly, -1))
        low, high = max(t.low, floor(low - most)), min(t.high, -floor(least - high))
        return Integer(self, t.poly, low, high)


class Integer:
    """An integer that fits 64 bits. ``under``: (k, m, c), it is at most m k - c."""

    def __init__(self, run, poly, low, high, under=None):
        if len(poly) == 1 and poly.name() in run.known:
            low, high, under = run.known[poly.name()]
        if not -FULL <= low <= high < FULL:
            raise ValueError(f"64 bits do not hold [{float(low):g}, {float(high):g}]")
        self.run, self.poly, self.low, self.high = run, poly, int(low), int(high)
        self.under, self.parts = under, None

    def of(self, other):
        if isinstance(other, Integer):
            return other
        return Integer(self.run, constant(other), other, other)

    def __add__(self, other):
        other = self.of(other)
        under = self.under and (*self.under[:2], self.under[2] - other.high)
        low, high = self.low + other.low, self.high + other.high
        return Integer(self.run, self.poly.plus(other.poly), low, high, under)

    def __neg__(self):
        return self * -1

    def __sub__(self, other):
        other = self.of(other)
        poly = self.poly.plus(other.poly, -1)
        low, high = self.low - other.high, self.high - other.low
        return Integer(self.run, poly, low, high)

    def __rsub__(self, other):
        return self.of(other) - self

    def __mul__(self, other):
        if isinstance(other, Bound):
            return other * self
        one, other = self, self.of(other)
        ends = _products(one, other)
        if max(ends) >= FULL or min(ends) < -FULL:
            one = self.run.narrowed(one)
            ends = _products(one, other)
        under = None
        if self.under and other.poly == constant(BASE):
            under = self.under[0], self.under[1] * BASE, self.under[2] * BASE
        poly = one.poly.times(other.poly)
        return Integer(self.run, poly, min(ends), max(ends), under)

    __radd__, __rmul__ = __add__, __mul__

    def split(self):
        """Return t & (2^28 - 1) and t >> 28."""
        if self.parts is None:
            low, high = self.low >> BITS, self.high >> BITS
            if low == high:
                whole = self.of(low)
            elif self.low >= -1 and self.high <= 0:
                whole = self
            else:
                r = self.run.symbol(0, BASE - 1)
                poly = self.poly.plus(r, -1).times(fmpq(1, BASE))
                whole = Integer(self.run, poly, low, high)
            poly = self.poly.plus(whole.poly, -BASE)
            self.parts = Integer(self.run, poly, 0, BASE - 1), whole
        return self.parts

    def __and__(self, mask):
        if mask != BASE - 1:
            raise ValueError("not the mask of a word")
        return self.split()[0]

    def __rshift__(self, places):
        if self.low >> places == self.high >> places:
            return self.low >> places
        if places != BITS:
            raise ValueError("not the shift of a word")
        return self.split()[1]

    def __floordiv__(self, k):
        symbolic = isinstance(k, Integer)
        inverse = Poly({("1/k",): fmpq(1)}) if symbolic else constant(fmpq(1, k))
        least, most = (k.low, k.high) if symbolic else (k, k)
        if least < 1:
            raise ValueError("a divisor that may be 0")
        part = self.run.symbol(0, 1)
        rest = part.times(k.poly if symbolic else fmpq(k))
        self.run.known[rest.name()] = 0, most - 1, (k, 1, 1) if symbolic else None
        low = min(self.low // least, self.low // most)
        high = max(self.high // least, self.high // most)
        if self.under and self.under[0] is k and self.under[2] >= 1:
            high = min(high, self.under[1] - 1)
        poly = self.poly.times(inverse).plus(part, -1)
        return Integer(self.run, poly, low, high)

    def __abs__(self):
        if self.low >= 0:
            return self
        return -self if self.high <= 0 else Size(self)

    def __gt__(self, other):
        if self.low > other or self.high <= other:
            return self.low > other
        raise ValueError("an integer of both signs is compared")

    def __eq__(self, other):
        return self.run.answers.pop(0)

    __hash__ = object.__hash__


def _products(one, other):
    return [a * b for a in (one.low, one.high) for b in (other.low, other.high)]


class Size:
    """|t| of an integer of both signs; answers say how large it is, and the sign."""

    def __init__(self, t):
        self.t = t

    def __lt__(self, most):
        t, answer = self.t, self.t.run.answers.pop(0)
        if answer == "below":
            t.low, t.high = max(t.low, 1 - most), min(t.high, most - 1)
            return True
        self.signed(answer, most)
        return False

    def __sub__(self, one):
        return self.signed(self.t.run.answers.pop(0), 1) - one

    def signed(self, answer, least):
        """Return |t| >= ``least``, with the sign of an answer."""
        t = self.t
        t.low, t.high = (least, t.high) if answer == "above" else (t.low, -least)
        if t.low > t.high:
            raise ImpossibleError
        return abs(t)


class ImpossibleError(Exception):
    """No number takes this way."""


class Float:
    """A double: a polynomial up to an error. ``exact``: only what does not round."""

    def __init__(self, run, poly, low, high, error=0, exact=False):
        self.run, self.poly, self.error, self.exact = run, poly, fmpq(error), exact
        self.low, self.high = fmpq(low), fmpq(high)

    def of(self, other):
        if isinstance(other, Float):
            return other
        c = rational(other)
        return Float(self.run, constant(c), c, c, 0, self.exact)

    def _rounded(self, poly, low, high, error):
        if self.exact:
            if poly.name() not in self.run.known:
                raise ValueError("a sum of doubles that may round")
            low, high, _ = self.run.known[poly.name()]
            return Float(self.run, poly, low, high, 0, True)
        lost = max(abs(low), abs(high)) * UNIT + TINY
        low, high = low - lost, high + lost
        return Float(self.run, poly, low, high, error + lost)

    def __add__(self, other):
        other = self.of(other)
        low, high = self.low + other.low, self.high + other.high
        poly = self.poly.plus(other.poly)
        return self._rounded(poly, low, high, self.error + other.error)

    def __sub__(self, other):
        return self + other * -1.0

    def __mul__(self, c):
        """Return this times a power of 2, which rounds nothing but an underflow."""
        c = rational(c)
        if abs(int(c.p)).bit_count() != 1:
            raise ValueError("not a power of 2")
        ends = self.low * c, self.high * c
        lost = 0 if self.exact or abs(c) >= 1 else TINY
        poly, error = self.poly.times(c), self.error * abs(c) + lost
        return Float(
            self.run, poly, min(ends) - lost, max(ends) + lost, error, self.exact
        )

    __radd__, __rmul__ = __add__, __mul__

    def __gt__(self, other):
        other = rational(other)
        if self.low > other or self.high <= other:
            return self.low > other
        self.run.compared = self, other
        return self.run.answers.pop(0)

    def truncated(self):
        """Return int(x)."""
        if self.low < 0 < self.high:
            raise ValueError("an integer part of both signs")
        up = 1 if self.low >= 0 else -1
        part, e = self.run.symbol(0, 1), self.run.symbol(-self.error, self.error)
        poly = self.poly.plus(part, -up)
        if self.exact and up == 1:  # a double below 1
            self.run.known[part.name()] = fmpq(0), 1 - UNIT, None
            return Integer(self.run, poly, floor(self.low), floor(self.high))
        poly = poly.plus(e) if self.error else poly
        return Integer(self.run, poly, floor(self.low), -floor(-self.high))


class Bound:
    """A double >= 0 between two polynomials; the upper one may be unknown.

    It is 0 or at least ``least``: errors are 0 or at least one unit.
    """

    def __init__(self, run, low, high, least=0):
        self.run, self.low, self.high, self.least = run, low, high, rational(least)

    def of(self, other):
        if isinstance(other, Bound):
            return other
        if isinstance(other, Integer):
            return Bound(self.run, other.poly, other.poly, 1)
        c = rational(other)
        return Bound(self.run, constant(c), constant(c), c)

    def _rounded(self, low, high, least):
        lost = constant(0 if least >= NORMAL else TINY)
        low = low.times(1 - UNIT).plus(lost, -1)
        return Bound(self.run, low, high and high.times(1 + UNIT).plus(lost), least)

    def __add__(self, other):
        other = self.of(other)
        high = self.high and other.high and self.high.plus(other.high)
        known = [x.least for x in (self, other) if x.low == x.high == constant(x.least)]
        least = max(known, default=min(self.least, other.least))
        low = self.low.plus(other.low).times(1 - UNIT)
        return Bound(self.run, low, high and high.times(1 + UNIT), least)

    def __sub__(self, other):
        """Return a difference, known to be positive where it is used."""
        other = self.of(other)
        low, high = self.low.plus(other.high, -1), self.high.plus(other.low, -1)
        return Bound(self.run, low.times(1 - UNIT), high.times(1 + UNIT))

    def __mul__(self, other):
        other = self.of(other)
        for one, two in ((self, other), (other, self)):
            if min(one.low.values(), default=0) < 0 and two.low != two.high:
                raise ValueError("a product of bounds of unknown sign")
        high = self.high and other.high and self.high.times(other.high)
        return self._rounded(self.low.times(other.low), high, self.least * other.least)

    def __truediv__(self, other):
        """Return a quotient by k, or by what is at most 1/(1/k)."""
        if isinstance(other, int):
            return self * fmpq(1, other)
        if isinstance(other, Bound):
            self.run.divisor, least = other.high, fmpq(0)
        elif other.poly == Poly({("k",): fmpq(1)}):
            least = self.least / other.high
        else:
            raise ValueError("a quotient by another integer than k")
        return self._rounded(self.low.times(Poly({("1/k",): fmpq(1)})), None, least)

    def __abs__(self):
        return self

    def __gt__(self, other):
        other = self.of(other)
        self.run.compared = self, other
        return self.run.answers.pop(0)

    __radd__, __rmul__ = __add__, __mul__
