"""Prove that the balls of E = X_1/(f + X_1) hold what their levels lose.

The source of ``e_by_p`` and ``e_by_f`` runs on words: polynomials in its arguments and
in the errors of all roundings. A level starts from fresh words x and y. The errors of
what it returns, p b y + k x and b y + k x, are a share of each of their terms, and all
terms are positive: so the largest share bounds the relative error. The next level
shrinks it as section 11 of notes/correct_rounding.md says.
"""

import itertools
import math
import sys

from flint import Ordering, arb, ctx, fmpq, fmpq_mpoly_ctx

from bench.proof import rebind
from bench.proof.rebind import Copies
from riskcore.core.special import balls, floats
from riskcore.core.special.gauss import enclosure

U = fmpq(1, 2**53)
LOST = fmpq(1, 2**1074)  # more than a product loses by underflow
SAFE = fmpq(1, 2**900)
SUBNORMAL = fmpq(1, 2**1024)
ONE = ()  # the monomial 1
MOST = fmpq(2) ** 900
BITS = 200


# --- words ---------------------------------------------------------------------------


def rational(x):
    return x if isinstance(x, fmpq) else fmpq(*x.as_integer_ratio())


def joined(one, two):
    """Return the product of two monomials."""
    if not one or not two:
        return one or two
    powers = dict(one)
    for symbol, power in two:
        powers[symbol] = powers.get(symbol, 0) + power
    return tuple(sorted((s, k) for s, k in powers.items() if k))


def plus(a, b, factor=1):
    """Return the polynomial a + factor b, without the terms that vanish."""
    found = dict(a)
    for monomial, c in b.items():
        found[monomial] = found.get(monomial, 0) + factor * c
    return {monomial: c for monomial, c in found.items() if c}


def times(a, b):
    found = {}
    for one, c in a.items():
        for two, d in b.items():
            key = joined(one, two)
            found[key] = found.get(key, 0) + c * d
    return {monomial: c for monomial, c in found.items() if c}


class Words:
    """The symbols of a run: positive numbers between ``ends``, and small ones.

    ``sizes`` has a bound of each small one, a polynomial in the positive ones.
    """

    now = None

    def __init__(self, **ends):
        Words.now, self.ends, self.sizes = self, ends, {}

    def small(self, size, name=None):
        name = name or f"e{len(self.sizes)}"
        self.sizes[name] = size
        return {((name, 1),): fmpq(1)}

    def pair(self, name):
        """Return a positive number as a double and the error of its rounding."""
        high = {((name, 1),): fmpq(1)}
        low = self.small(times(high, {ONE: U}), name + "_low")
        return Word(high), Word(low)


def size(polynomial):
    """Return a bound of the absolute value: all coefficients are positive."""
    found, sizes = {}, Words.now.sizes
    for monomial, c in polynomial.items():
        term = {tuple(p for p in monomial if p[0] not in sizes): abs(c)}
        for symbol, power in monomial:
            for _ in range(power if symbol in sizes else 0):
                term = times(term, sizes[symbol])
        found = plus(found, term)
    return found


def least(polynomial):
    """Return a lower bound: what is positive less the size of the rest."""
    sizes = Words.now.sizes
    main = {m: c for m, c in polynomial.items() if not any(s in sizes for s, _ in m)}
    return plus(main, size(plus(polynomial, main, -1)), -1)


def value(polynomial, upper):
    """Return a bound of a polynomial in positive numbers, from their ends."""
    total = fmpq(0)
    for monomial, c in polynomial.items():
        for symbol, power in monomial:
            c *= Words.now.ends[symbol][(upper == (c > 0)) == (power > 0)] ** power
        total += c
    return total


class Word:
    """A double as a polynomial; ``error``: that of the rounding that made it."""

    def __init__(self, polynomial, error=None):
        self.polynomial, self.error = polynomial, error

    @classmethod
    def of(cls, x):
        return x if isinstance(x, Word) else cls({ONE: rational(x)} if x else {})

    def __add__(self, other):
        return rounded(plus(self.polynomial, Word.of(other).polynomial))

    __radd__ = __add__

    def __neg__(self):
        return Word(plus({}, self.polynomial, -1))

    def __sub__(self, other):
        return self + -Word.of(other)

    def __mul__(self, other):
        return product(times(self.polynomial, Word.of(other).polynomial))

    __rmul__ = __mul__

    def __truediv__(self, other):
        ((monomial, c),) = other.polynomial.items()
        inverse = {tuple((symbol, -power) for symbol, power in monomial): 1 / c}
        return product(times(self.polynomial, inverse))

    def __rtruediv__(self, other):
        return Word.of(other) / self

    def __ge__(self, other):
        ((((symbol, _),), _),) = self.polynomial.items()
        answers = {end >= rational(other) for end in Words.now.ends[symbol]}
        if len(answers) > 1:
            raise ValueError("a comparison with both answers")
        return answers.pop()


def total(words):
    """Return the exact sum of words."""
    found = {}
    for one in words:
        found = plus(found, Word.of(one).polynomial)
    return found


def rounded(exact, lost=0):
    """Return a rounded result, which is off by U of it and by ``lost``."""
    if not exact:
        return Word({})
    bound = plus(times(size(exact), {ONE: U}), {ONE: lost} if lost else {})
    error = Words.now.small(bound)
    return Word(plus(exact, error), error)


def product(exact):
    """Return a rounded product, which may underflow."""
    safe = exact and value(least(exact), False) >= SAFE
    return rounded(exact, 0 if safe else LOST)


def fma(a, b, c):
    a, b, c = (Word.of(x).polynomial for x in (a, b, c))
    return product(plus(times(a, b), c))


def two_sum(a, b):
    """Rule: the second word is minus the error of the first (Knuth)."""
    s = Word.of(a) + b
    return s, Word(plus({}, s.error or {}, -1))


def two_product(a, b):
    """Rule: the second word is minus the error of the first, up to underflow."""
    s = a * b
    safe = value(least(s.polynomial), False) >= SAFE
    lost = {} if safe else Words.now.small({ONE: LOST})
    return s, Word(plus(lost, s.error, -1))


def fast_two_sum(a, b):
    """Rule: as two_sum if |a| >= |b| (Dekker).

    The first must have twice the terms of the second, except some whose sum is below
    2^-1024. So where |a| < |b| both are below 2^-1021: sums of such doubles are exact.
    """
    above, below = least(Word.of(a).polynomial), size(Word.of(b).polynomial)
    tiny = {m: -c for m, c in above.items() if c < 0}
    few = {m: c for m, c in below.items() if above.get(m, 0) < 2 * c}
    if value(plus(tiny, few), True) > SUBNORMAL:
        raise ValueError("a fast_two_sum that is not in order")
    return two_sum(a, b)


def share(error, whole, floor):
    """Return a bound of an error relative to a number, which is at least ``floor``.

    It is the largest share of a term; terms that the number has not are over the floor.
    """
    rest = {m: c for m, c in error.items() if m not in whole}
    shares = [c / whole[m] for m, c in error.items() if m in whole]
    return max(shares, default=0) + value(rest, True) / floor


# --- levels --------------------------------------------------------------------------


def without_p(polynomial):
    """Return a polynomial of positive terms at p = 1."""
    found = {}
    for monomial, c in polynomial.items():
        found = plus(found, {tuple(x for x in monomial if x[0] != "p"): c})
    return found


class Levels:
    """What the levels so far are off by: log X, and X itself.

    They are n = N to 1: k = 1 + ceil(n/2), b = f + floor(n/2), from the tail X = p.
    """

    def __init__(self, f, p):
        f, p = (tuple(map(rational, ends)) for ends in (f, p))
        self.words = Words(f=f, p=p)
        self.f, self.p = map(self.words.pair, "fp")
        self.n = None
        least_p = arb(p[0] * (1 - U))
        root = least_p.sqrt()  # c falls with p
        self.shrink = (1 - root) / (1 + root)
        # The true tail is between p and 1.
        self.log, self.off = -least_p.log() + arb(2 * U), arb(1)
        self.largest = self.count = 0
        self.ball = None  # of E, without what the levels lose
        self._begin()

    def _renew(self, x, y):
        """Take fresh symbols for x and y, between ends."""
        self.count += 1
        names = f"x{self.count}", f"y{self.count}"
        self.words.ends.update(zip(names, (x, y), strict=True))
        self.x, self.y = map(self.words.pair, names)

    def _begin(self):
        """Take symbols for X <= 2 and 1."""
        self._renew((fmpq(0), fmpq(2)), (fmpq(1), fmpq(1)))

    def doubles(self, copy, k, b, p, x, y):
        """Run a level in doubles, and return fresh words."""
        if self.n is None and x is p and y == 1.0:
            x, y = self.x[0], self.y[0]
        self._enter(k, p is self.p[0] and x is self.x[0] and y is self.y[0])
        above, below = copy(k, b, p, x, y)
        self._leave(k, (x,), (y,), (above,), (below,))
        return self.x[0], self.y[0]

    def pairs(self, copy, k, b, p, x, y):
        """Run a level in pairs, and return fresh ones."""
        if x is not self.x:
            self._from_quotient(x, y)
            x, y = self.x, self.y
        self._enter(k, p == self.p and x is self.x and y is self.y)
        above, below = copy(k, b, p, x, y)
        for high, low in (above, below):
            if low.polynomial != plus({}, high.error, -1):
                raise ValueError("a second word that is not the error of the first")
        self._leave(k, x, y, above, below)
        return self.x, self.y

    def _from_quotient(self, x, y):
        """Take the quotient of the words of the levels in doubles, rounded, over 1."""
        (high, low), symbols = x, (f"x{self.count}", f"y{self.count}")
        ratio = {tuple(zip(symbols, (1, -1), strict=True)): fmpq(1)}
        exact = plus(high.polynomial, high.error or {}, -1)
        if low != 0.0 or y != (1.0, 0.0) or exact != ratio:
            raise ValueError("levels in pairs that start from another number")
        lost = share(size(high.error), ratio, self.words.ends["p"][0] / 2)
        self.log += lost_log(lost)
        self.off += arb(U + LOST)
        self._begin()

    def _enter(self, k, known):
        if self.n is None:
            self.n = 2 * (int(k) - 1)
        if not known or k != 1 + (self.n + 1) // 2:
            raise ValueError("a level of another number, or in another order")

    def _leave(self, k, x, y, above, below):
        """Add what this level loses to what it leaves of the levels before."""
        heads = above[0].polynomial, below[0].polynomial
        x, y, above, below, f, p = map(total, (x, y, above, below, self.f, self.p))
        b = plus(f, {ONE: fmpq(self.n // 2)} if self.n > 1 else {})
        u, t = times({ONE: rational(k)}, x), times(b, y)
        wanted = plus(times(p, t), u), plus(t, u)
        lost = [
            size(plus(a, c, -1)) for a, c in zip((above, below), wanted, strict=True)
        ]
        floors = [value(least(one), False) for one in wanted]
        of_log = [
            share(one, least(whole), floor)
            for one, whole, floor in zip(lost, wanted, floors, strict=True)
        ]
        # Above is at most below: p <= 1.
        of_x = [share(without_p(one), least(wanted[1]), floors[1]) for one in lost]
        self.log = self.shrink * self.log + sum(map(lost_log, of_log))
        slope = arb(rational(k) / value(least(b), False))
        lost = arb(sum(of_x) / (1 - of_x[1]) if of_x[1] < 1 else math.inf)
        self.off = slope * self.off + lost
        self.largest = max(self.largest, value(size(below), True))
        ends = value(least(heads[1]), False), value(size(heads[1]), True)
        self._renew((fmpq(0), value(size(heads[0]), True)), ends)
        self.n -= 1


def lost_log(share):
    """Return |log (1 + t)| at most, |t| <= share < 1; infinite for another share."""
    return -(-arb(share)).log1p() if share < 1 else arb("inf")


def in_balls(levels):
    """Return operations on balls as exact ones, for the last steps of E."""

    def whole(x):
        high, low, radius = x
        if radius != 0.0:
            raise ValueError("a ball with a radius")
        return total((high, low))

    def as_ball(polynomial):
        return Word(polynomial), 0.0, 0.0

    def divide(copy, a, b):
        x, y, f = map(total, (levels.x, levels.y, levels.f))
        if levels.n != 0 or whole(a) != x or whole(b) != plus(times(f, y), x):
            raise ValueError("not X/(f + X) after the last level")
        levels.largest = max(levels.largest, value(size(whole(b)), True))
        levels.words.ends.update(E=(fmpq(1, 2**20), fmpq(1)), own=(0, MOST))
        levels.ball = [Word({((x, 1),): fmpq(1)}) for x in ("E", "low", "own")]
        return tuple(levels.ball)

    return {
        balls.multiply: lambda copy, a, b: as_ball(times(whole(a), whole(b))),
        balls.add: lambda copy, a, b: as_ball(plus(whole(a), whole(b))),
        balls.divide: divide,
    }


def run(name, f, p, pairs):
    """Return the levels of a kernel over all f and p between ends, and its ball."""
    levels = Levels(f, p)
    words = {"fma": fma, "two_sum": two_sum, "fast_two_sum": fast_two_sum}
    kernel = Copies(
        {**words, "two_product": two_product},
        {
            **in_balls(levels),
            enclosure.level: levels.pairs,
            enclosure.level_in_doubles: levels.doubles,
        },
    ).of(getattr(enclosure, name))
    arguments = levels.f, levels.p
    if not pairs:
        arguments = levels.f[0], levels.p[0]
        levels.f, levels.p = ((x, 0.0) for x in arguments)
    ball = kernel(*arguments)
    if levels.ball and not (ball[0] is levels.ball[0] and ball[1] is levels.ball[1]):
        raise ValueError("a ball around another number")
    if levels.largest >= MOST:
        raise ValueError("levels that may overflow")
    return levels, ball


def before(x):
    return rational(x) - fmpq(1, 2**1080)


def e_by_p():
    """Raise unless balls of ``e_by_p`` contain E; yield f, p and the share of a radius.

    E' = X'/(f + X'), X' the computed X_1, is in the ball around E0 with its own radius,
    and log E is off by at most what log X_1 is: so |E - E'| <= d E' <= d (E0 (1 + U) +
    own).
    """
    cuts = [*enclosure.LEVELS_BY_P, 1.0]
    for low, high in itertools.pairwise(cuts):
        p = low, high if high == 1.0 else before(high)
        levels, (_, _, radius) = run("e_by_p", F_OF_P, p, pairs=True)
        bound, off = least(radius.polynomial), levels.log.exp() - 1
        own, of_e = (arb(bound.get(((x, 1),), 0)) for x in ("own", "E"))
        needed = off * (1 + arb(U))
        if not (own >= 1 + off and of_e >= needed):
            raise ValueError(f"E by p >= {low}: off by {float(off):.3g} of itself")
        yield F_OF_P, p, float(needed / of_e)


F_OF_P = 0.49, 33.0


def e_by_f():
    """Raise unless balls of ``e_by_f`` contain E; yield f, p and the share of a radius.

    E is off by at most 1/f times what X_1 is; for huge f it is between 0 and 1/f.
    """
    cuts, every_p = [*enclosure.LEVELS_BY_F, enclosure.F_HUGE], (2.0**-1074, 1.0)
    for low, high in itertools.pairwise(cuts):
        f = low, before(high)
        levels, (_, _, radius) = run("e_by_f", f, every_p, pairs=False)
        bound = least(radius.polynomial)
        own, of_f = (bound.get(((x, k),), 0) for x, k in (("own", 1), ("f", -1)))
        of_f = arb(of_f + bound.get(ONE, 0) * rational(high))
        if not (own >= 1 and of_f >= levels.off):
            raise ValueError(f"E by f >= {low}: off by {float(levels.off):.3g} of 1/f")
        yield f, every_p, float(levels.off / of_f)
    f = enclosure.F_HUGE, sys.float_info.max
    _, (half, low, radius) = run("e_by_f", f, every_p, pairs=False)
    half, radius, inverse = half.polynomial, radius.polynomial, {(("f", -1),): 1}
    ends = plus(radius, half, -1), plus(plus(radius, half), inverse, -1)
    if low != 0.0 or any(c < 0 for end in ends for c in least(end).values()):
        raise ValueError("E of huge f: not between 0 and 1/f")
    yield f, every_p, 1.0


def slopes():
    """Raise unless a level shrinks differences as the bounds say.

    X -> (p b + k X)/(b + k X) has the slope q k b/(b + k X)^2, which is at most k/b.
    That of log X by log X, q k b X/((p b + k X) (b + k X)), is at most (1 - s)/(1 + s),
    p = s^2. E = X/(f + X) has the slope f/(f + X)^2 <= 1/f, log E by log X one below 1.
    """
    b, k, s, x = fmpq_mpoly_ctx.get(("b", "k", "s", "X"), Ordering.lex).gens()
    p, below = s * s, b + k * x
    above, q = p * b + k * x, 1 - s * s
    slope = above.derivative("X") * below - above * below.derivative("X")
    square = below * below - q * b * b  # b^2 p + ...: no term is negative
    if (
        slope != q * k * b
        or any(c < 0 for c in square.coeffs())
        # q is (1 - s) (1 + s), and a square is not negative
        or above * below - (1 + s) ** 2 * k * b * x != (s * b - k * x) ** 2
    ):
        raise ValueError("a level that shrinks differences less")


def prove():
    """Raise unless both balls of E contain it; yield a name, f, p and a share."""
    precision, ctx.prec = ctx.prec, BITS
    try:
        rebind.check(floats, rebind.THEOREMS)
        slopes()
        for name, places in (("e_by_p", e_by_p()), ("e_by_f", e_by_f())):
            for place in places:
                yield name, *place
    finally:
        ctx.prec = precision
