"""Prove r rounded down and up, given pairs, balls and `side`.

`rounded_down` runs on both answers of its comparisons. `sides_slow` runs, as `_nearest`
does in `last_steps.py`, on a ball whose high part is a double: each comparison is
answered both ways, and in rational numbers the answers must imply that r lies between
what is returned, or strictly if these are neighbors. By hand remain:

- high + low = s + t, s the rounded sum, is exact for |low| < high, so |t| is at most
  half the gap to the next double there; that gap is above 2^-53 s, and a bound of the
  error below 2^-56 high (`prover.bounds`, `reflection.bounds`) less than its half;
- p/f <= r <= 1/f and, for f >= 1, r <= p/(f-1+p); p/f < r for p < 1;
- x y - z rounded once has the sign of x y - z, as that is 0 or above 2^-107 z, and z is
  above 2^-900; or z is below r f.
"""

import itertools
import math
from fractions import Fraction
from itertools import islice

from bench.proof.last_steps import LOW, RADIUS, SMALLEST, Conditions, highs, scales
from bench.proof.rebind import Copies
from bench.proof.words import ONE, SYMBOL, Double, UnprovedError, plain
from riskcore.core.special.gauss import ball_step, rounding_test

# --- the test of a pair --------------------------------------------------------------


class Part:
    """The second word t of a sum, or its size: comparisons have answers given."""

    def __init__(self, answers, size=False):
        self.answers, self.size = answers, size

    def __abs__(self):
        return Part(self.answers, size=True)

    def __lt__(self, other):
        if self.size or other != 0.0:
            raise UnprovedError("another comparison of the second word")
        return self.answers[0]

    def __gt__(self, other):
        if not self.size or other != "error":
            raise UnprovedError("another test of the second word")
        return self.answers[1]


class Pattern(str):
    """The bits of a double; the double below has one less."""

    def __sub__(self, other):
        return "below" if other == 1 and self == "s" else None


def check_test():
    """Raise unless a pair decides the double below r where |t| > error, nowhere else.

    So r is not s and on t's side, and nearer to s than the next double there.
    """
    for answers in itertools.product((True, False), repeat=2):
        words = "s", Part(answers)
        names = {
            "fast_two_sum": lambda a, b, words=words: (
                words if (a, b) == ("high", "low") else None
            ),
            "bits": Pattern,
            "from_bits": lambda x: x,
        }
        kernel = Copies(names).of(rounding_test.rounded_down)
        found = kernel("high", "low", "error")
        negative, decided = answers
        wanted = "below" if negative else "s"
        if not (found == wanted if decided else found != found):
            raise UnprovedError("a double that is not the one below r")
    return 4


# --- the slow steps ------------------------------------------------------------------


class Sides:
    """`sides_slow` for a ball whose high part is a double, its others are symbols."""

    def __init__(self):
        stubs = {
            ball_step.risk_ball: lambda f, p: ((self.high, LOW, RADIUS), self.n),
            ball_step._not_below: lambda *_: self.ask("not below", *_),
            ball_step._not_above: lambda *_: self.ask("not above", *_),
            ball_step.side: self.side,
        }
        self.kernel = Copies({}, plain(stubs)).of(ball_step.sides_slow)

    def ask(self, what, *arguments):
        if arguments and arguments != ("f", self, self.high, self.n):
            raise UnprovedError("a limit of something else")
        if what not in self.answers:
            first, *others = (1, 0, -1) if what == "side" else (True, False)
            self.waiting += [{**self.answers, what: other} for other in others]
            self.answers[what] = first
        return self.answers[what]

    def __lt__(self, other):
        if other != 1.0:
            raise UnprovedError("p is compared with another number")
        return self.ask("p")

    def side(self, f, a, b, x, middle):
        exact = Fraction(x) * self.scale == self.high
        if (f, a, b, middle) != ("f", self, 1.0, False) or not exact:
            raise UnprovedError("the side of something else")
        return self.ask("side")

    def answer(self, conditions):
        """Answer what `Conditions` are asked: of low and radius, in either order."""
        ((one, other),) = conditions
        if one.parts == {"|low|"}:
            return other == self.high and self.ask("normal")
        for what, (a, b) in (("low", (LOW, RADIUS)), ("-low", (-RADIUS, LOW))):
            if one.parts == a.parts and other.parts == b.parts:
                return self.ask(what)
        raise UnprovedError("a comparison of another kind")

    def check(self, high, n):
        """Raise unless the doubles are right for all r that the answers leave."""
        self.high, self.n, self.scale = high, n, Fraction(2) ** (600 * n)
        self.ends = math.nextafter(high, 0), math.nextafter(high, math.inf)
        reach = Fraction(high * ball_step._WIDEST)
        for end in self.ends:
            if not abs(Fraction(end) - Fraction(high)) / 2 > reach:
                raise UnprovedError("a radius as wide as half a gap")
        self.waiting = [{}]
        while self.waiting:
            found = self.run(self.waiting.pop())
            if not self.answers["normal"]:
                self.check_nothing(found)
            else:
                self.check_result(*found)

    def run(self, answers):
        self.answers, Conditions.answer = answers, self.answer
        return self.kernel("f", self)

    @staticmethod
    def check_nothing(found):
        if not all(map(math.isnan, found)):
            raise UnprovedError("bounds that nothing shows")

    def check_result(self, lower, upper):
        """Raise unless r is between; strictly if the two are neighbors."""
        said = self.answers.get
        high = Fraction(self.high)
        above = said("low") is False or said("side", 0) > 0
        below = said("-low") is False or said("side", 0) < 0
        least = high if above or said("not below") else Fraction(self.ends[0])
        most = high if below or said("not above") else Fraction(self.ends[1])
        if least > most or (least == most and (above or below)):
            return  # no r is there
        after = math.nextafter(lower, math.inf)
        apart, neighbors = upper > after, upper == after
        lower, upper = (x if x == math.inf else Fraction(x) for x in (lower, upper))
        if not lower * self.scale <= least <= most <= upper * self.scale:
            raise UnprovedError(f"r may be outside: {self.high.hex()}, {self.n}")
        # At high, a limit, r is the other limit as well: p = 1.
        strict = lower * self.scale < least or above or least != high or high < most
        strict &= upper * self.scale > most or below or most != high or least < high
        if neighbors and not strict:
            raise UnprovedError(f"r may be a neighbor: {self.high.hex()}, {self.n}")
        if apart and said("side", 1) != 0 and said("p") is not False:
            raise UnprovedError(f"two doubles apart: {self.high.hex()}, {self.n}")


def check_sides(every=1):
    """Raise unless `sides_slow` is right for all balls; return the number of highs."""
    sides, count = Sides(), 0
    Conditions.narrow = False
    sides.high, sides.n = 1.0, 0
    sides.check_nothing(sides.run({"normal": True}))
    Conditions.narrow = True
    for n in (-1, 0, 1, 2):
        for high in islice(highs(n), 0, None, every):
            if high >= SMALLEST:
                sides.check(high, n)
                count += 1
    for f, p in ((-1.0, 0.5), (2.0, 1.5), (0.0, 0.5), (2.0, 0.0), (math.inf, 0.5)):
        sides.check_nothing(ball_step.sides_slow(f, p))
    return count


# --- the limits of r -----------------------------------------------------------------


class Limit:
    """An exact number that is compared with 0, or a double that has one symbol."""

    def __init__(self, exact):
        self.exact = exact

    def __neg__(self):
        return Limit(-self.exact)

    def __add__(self, other):
        return Limit(self.exact + other.exact)

    def _compared(self, sign, other):
        if other != 0.0:
            raise UnprovedError("a comparison with another number")
        LIMITS.append((sign, self.exact))
        return len(LIMITS) != FALSE[0]

    def __le__(self, other):
        return self._compared(-1, other)

    def __ge__(self, other):
        return self._compared(1, other)


LIMITS, FALSE = [], [0]  # what was compared with 0: its sign, and the number; not so


def limit(x):
    return x if isinstance(x, Limit) else Limit(
        x.exact if isinstance(x, Double) else ONE * x)  # fmt: skip


def two_sum(a, b):
    """Rule: a rounded sum and its error are the sum (Knuth)."""
    total = limit(a).exact + limit(b).exact
    head = Limit(SYMBOL["X" if isinstance(a, Double) else "E"])
    return head, Limit(total - head.exact)


def implied(kernel, f, p, n):
    """Return the signs and numbers that a kernel compares with 0."""
    names = {
        "fma": lambda a, b, c: Limit(limit(a).exact * limit(b).exact + limit(c).exact),
        "two_sum": two_sum,
    }
    scaled = {
        ball_step.scaled: lambda x, m: Limit(limit(x).exact * Fraction(2) ** (600 * m))
    }
    copy = Copies(names, plain(scaled)).of(kernel)
    for FALSE[0] in (2, 1, 0):  # it holds if all do, and not if one does not
        LIMITS.clear()
        told = copy(f, p, Limit(SYMBOL["B"]), n)
        if bool(told) == (0 < FALSE[0] <= len(LIMITS)):
            raise UnprovedError("a limit that is not told")
    return list(LIMITS)


def check_limits():
    """Raise unless `_not_below` and `_not_above` follow from the limits of r.

    x f <= p 2^(600 n), x f >= 2^(600 n) for f < 1, and x (f - 1 + p) >= p 2^(600 n):
    what is compared with 0 is a difference of both sides times 2^(600 k), and in the
    last case a positive multiple of another such number more.
    """
    x, count = SYMBOL["B"], 0
    for f_ends, p_ends, n in scales():
        f, p = Double(*f_ends, SYMBOL["M"]), Double(*p_ends, SYMBOL["P"])
        k = ball_step.scaling(f)
        if n + k not in (0, ball_step.scaling(p)):
            raise UnprovedError("a product with a power of two that is rounded")
        scale, to = ONE * Fraction(2) ** (600 * n), Fraction(2) ** (600 * k)
        ((sign, exact),) = implied(ball_step._not_below, f, p, n)
        if sign != -1 or (exact - (x * f.exact - p.exact * scale) * to).above:
            raise UnprovedError("not what r >= p/f says")
        (sign, exact), *rest = implied(ball_step._not_above, f, p, n)
        for other, more in rest:
            sign, exact = min(sign, other), exact + x * more * to
        divisor, above = (f.exact, ONE) if f < 1.0 else (
            f.exact - 1 + p.exact, p.exact)  # fmt: skip
        if sign != 1 or (exact - (x * divisor - above * scale) * to).above:
            raise UnprovedError("not what r <= 1/f or r <= p/(f-1+p) says")
        count += 1
    # At p = 1, where r = 1/f is a double for powers of two alone, both tell it.
    for e in range(-1074, 1024):
        f, n = 2.0**e, -ball_step.scaling(2.0**e)
        high = math.ldexp(1.0, 600 * n - e)
        if not (
            ball_step._not_below(f, 1.0, high, n)
            and ball_step._not_above(f, 1.0, high, n)
        ):
            raise UnprovedError("r = 1/f that is not told")
    return count


def prove():
    """Raise unless the directed results are right; return rows of what was run."""
    return [
        ["the test of a pair, down", f"{check_test()} answers", ""],
        ["the doubles around a ball", f"{check_sides()} high parts and scales", ""],
        ["limits of r beside a double", f"{check_limits()} boxes", "exact"],
    ]


if __name__ == "__main__":
    for row in prove():
        print(" | ".join(row))
