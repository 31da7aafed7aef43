"""Prove that the slow steps return the double nearest what they enclose, or nan.

Given are a ball that contains r 2^(600 n), its low part at most half an ulp of the high
one, and `risk_in_words` and `side` (`in_words.py`, `sides.py`). `_nearest` runs on a
ball whose high part is a double and whose other parts are symbols: on both answers of
each comparison, which must imply what is returned, in rational numbers. By hand remain:

- the sum of two doubles, rounded, is below a double only if the sum itself is;
- gaps depend on the exponent of a double, and on whether its other bits are 0, alone;
- r 2^-600 > 2^-202 for f < 2^-400, by r >= p/f, and r >= v^f/(2 f) for p <= 1/2;
- in the test of coarse results, high less its rounding to fewer bits is exact;
- a comparison with 0, 1 or infinity has one answer between two of the cells tried.
"""

import math
from fractions import Fraction
from itertools import islice, product

from bench.proof import in_words, sides
from bench.proof.rebind import Copies
from bench.proof.words import Double, UnprovedError, plain
from riskcore.core.special.balls import shift as shift_ball
from riskcore.core.special.gauss import ball_step, enclosure

LARGEST = math.nextafter(math.inf, 0)
SMALLEST = 2.0**-900  # no ball is below


# --- balls ---------------------------------------------------------------------------


class Form:
    """A sum of low, |low|, radius and a double; how many sums of it are rounded."""

    def __init__(self, parts, roundings=0, constant=0.0):
        self.parts, self.roundings, self.constant = parts, roundings, constant

    def __add__(self, other):
        if isinstance(other, Form):
            n = self.roundings + other.roundings + 1
            return Form(self.parts | other.parts, n, self.constant + other.constant)
        if self.constant:
            raise UnprovedError("a sum of two doubles")
        return Form(self.parts, self.roundings + 1, other)

    __radd__ = __add__

    def __neg__(self):
        return Form({f"-{x}" for x in self.parts}, self.roundings, -self.constant)

    def __sub__(self, other):
        return self + -other

    def __abs__(self):
        return Form({f"|{x}|" for x in self.parts})

    def __lt__(self, other):
        return Conditions([(self, other)])

    def __le__(self, other):
        if isinstance(other, Form):
            return Conditions([(self, other)])
        if self.parts != {"radius"}:
            raise UnprovedError("a radius that is not compared")
        Conditions.widest = other
        return Conditions.narrow


class Conditions:
    """What must hold for a branch; ``answer`` says whether it does."""

    answers, asked, widest, narrow = [], [], None, True

    @classmethod
    def answer(cls, conditions):
        cls.asked.append(conditions)
        return cls.answers.pop(0)

    def __init__(self, conditions):
        self.conditions = conditions

    def __and__(self, other):
        return Conditions(self.conditions + other.conditions)

    def __rand__(self, other):
        return other and self

    def __bool__(self):
        return self.answer(self.conditions)


LOW, RADIUS = Form({"low"}), Form({"radius"})


def room(conditions):
    """Return how far above and below high r 2^(600 n) may be, both excluded."""
    above = below = math.inf
    for form, limit in conditions:
        if form.parts == {"low", "radius"} and form.roundings == 1:
            above = min(above, Fraction(limit))
        elif form.parts == {"radius", "-low"} and form.roundings == 1:
            below = min(below, Fraction(limit))
        elif form.parts == {"|low|", "radius"} and form.constant >= 0:
            # Some roundings of numbers >= 0.
            most = Fraction(limit) * (1 + Fraction(2) ** -50) - Fraction(form.constant)
            above, below = min(above, most), min(below, most)
        else:
            raise UnprovedError("a comparison of another kind")
    return above, below


def middle_above(x):
    after = (
        Fraction(2) ** 1024 if x == LARGEST else Fraction(math.nextafter(x, math.inf))
    )
    return (Fraction(x) + after) / 2


def middle_below(x):
    return middle_above(math.nextafter(x, 0))


class Ball:
    """`_nearest` for a ball whose high part is a double, its others are symbols."""

    def __init__(self):
        self.sides, self.seen = [], []
        copies = Copies({}, plain({ball_step.side: self.side}))
        self.nearest = copies.of(ball_step._nearest)

    def side(self, f, a, b, x, middle):
        if (f, a, b, middle) != ("f", "a", "b", True):
            raise UnprovedError("the side of something else")
        self.seen.append(x)
        return self.sides.pop(0)

    def run(self, answers, sides=()):
        Conditions.answers, Conditions.asked = list(answers), []
        self.sides, self.seen = list(sides), []
        ball = self.high, LOW, RADIUS
        return self.nearest("f", "a", "b", ball, self.n)

    def check(self, high, n):
        """Raise unless what is returned is the double nearest r, or nan."""
        self.high, self.n, self.scale = high, n, Fraction(2) ** (600 * n)
        Conditions.narrow = False
        if not math.isnan(self.run([])):
            raise UnprovedError("a wide ball is used")
        Conditions.narrow = True
        result = self.run([True])
        self.check_result(result, *room(Conditions.asked[0]))
        for is_below in (True, False):
            for said in (-1, 0, 1):
                found = self.run([False, is_below], [said])
                if Conditions.asked[1] and not self.compared(Conditions.asked[1]):
                    raise UnprovedError("low is not compared with 0")
                self.check_choice(found, said, is_below)

    @staticmethod
    def compared(conditions):
        ((form, other),) = conditions
        return form is LOW and other == 0.0

    def check_result(self, result, above, below):
        high = Fraction(self.high)
        if result != math.inf and high + above > middle_above(result) * self.scale:
            raise UnprovedError(
                f"r may be above the middle: {self.high.hex()}, {self.n}"
            )
        if result != 0.0 and high - below < self.below(result):
            raise UnprovedError(
                f"r may be below the middle: {self.high.hex()}, {self.n}"
            )

    def below(self, x):
        return middle_below(x) * self.scale

    def check_choice(self, found, said, is_below):
        """Raise unless r is nearest to x or the next double, as the side says."""
        x = self.seen[0] if self.seen else math.inf
        least = Fraction(self.high) - Fraction(Conditions.widest)
        most = Fraction(self.high) + Fraction(Conditions.widest)
        half = Fraction(math.ulp(self.high)) / 2
        least, most = (least - half, most) if is_below else (least, most + half)
        if not (x == 0.0 or least > self.below(x)):
            raise UnprovedError(f"x is too high: {self.high.hex()}, {self.n}")
        above = x if x == math.inf else math.nextafter(x, math.inf)
        if above != math.inf and not most < middle_above(above) * self.scale:
            raise UnprovedError(f"x is too low: {self.high.hex()}, {self.n}")
        right = x if said < 0 or x == math.inf else above if said > 0 else math.nan
        if not (found == right or (found != found and right != right)):
            raise UnprovedError("another double than the one that is found")


def highs(n):
    """Yield all exponents of doubles below 2^1000, each with a few other bits.

    If x 2^(-600 n) has fewer bits, some are next to the middle of two such doubles.
    For n = -1, f < 2^-400, they start below what r 2^-600 may be.
    """
    for e in range(-1022 if n >= 0 else -203, 1000):
        lost = -1022 - (e - 600 * n)
        middle = 2 ** (lost - 1) if 1 <= lost <= 52 else 2**51
        for j in (0, 1, middle - 1, middle, middle + 1, 2**52 - 1):
            yield math.ldexp(2**52 + j, e - 52)
    for e in range(52 if n >= 0 else 0):
        for j in {0, 1, 2**e // 2, 2**e - 1} - {2**e}:
            yield math.ldexp(2**e + j, -1074)


def check_balls(every=1):
    """Raise unless `_nearest` is right for all balls; return the number of highs."""
    ball, count = Ball(), 0
    Conditions.narrow = True
    for ball.high, ball.n in product((math.inf, math.nan), (-1, 0, 1, 2)):
        if not math.isnan(ball.run([])):
            raise UnprovedError("a ball that is not finite is used")
    for n in (-1, 0, 1, 2):
        for high in islice(highs(n), 0, None, every):
            ball.check(high, n)
            count += 1
    return count


# --- cells ---------------------------------------------------------------------------


def check_cells():
    """Raise unless cells outside the domain are nan, p = 1 is 1/f, the rest a ball."""
    some = [math.nan, -math.inf, -1.0, -0.0, 0.0, 5e-324, 0.5, 1.0, 2.0, LARGEST]
    some += [math.inf, math.nextafter(1.0, 0), math.nextafter(1.0, 2)]
    for (f, p), of_f in product(product(some, some), (False, True)):
        ball, kernel = ball_step.risk_ball, ball_step.nearest_slow
        if of_f:  # p is F, r that at f/F
            ball, kernel = ball_step.frequencies_ball, ball_step.nearest_slow_of
        tokens = {
            ball: lambda *x: (("ball", *x), "n"),
            ball_step._nearest: lambda *x: x,
        }
        found = Copies({}, plain(tokens)).of(kernel)(f, p)
        a, b = (f, p) if of_f else (p, 1.0)
        if not (0 < f < math.inf and 0 < a <= b < math.inf):
            right = found != found
        else:
            token = f, a, b, ("ball", f, p), "n"
            right = found == (float(1 / Fraction(f)) if a == b and f > 1e-300 else
                              math.inf if a == b else token)  # fmt: skip
        if not right:
            raise UnprovedError(f"f = {f}, p = {p}")
    return 2 * len(some) ** 2


def scales():
    """Yield boxes of all f and p with the n of their balls."""
    tiny, huge = 2.0**-400, 2.0**400

    def until(x):
        return math.nextafter(x, 0)

    def after(x):
        return math.nextafter(x, math.inf)

    fs = [(5e-324, until(tiny)), (tiny, 0.5), (after(0.5), until(1.0))]
    fs += [(1.0, until(32.0)), (32.0, huge), (after(huge), LARGEST)]
    ps = [(5e-324, until(tiny)), (tiny, until(0.3)), (0.3, 1.0)]
    names = ["_below_one", "_reflected", "_resolvent", "divide", "scaled"]
    stubs = {getattr(enclosure, name): lambda *_: None for name in names}
    stubs |= {enclosure._small: lambda *_: (None, None), shift_ball: lambda *_: None}
    ball = Copies({}, plain(stubs)).of(enclosure.risk_ball)
    for f, p in product(fs, ps):
        yield f, p, ball(Double(*f), Double(*p))[1]


def check_scale():
    """Raise unless n is from -1 to 2, and r 2^(600 n) from 2^-900 to below 2^999."""
    every = list(scales())
    for f, p, n in every:
        scale, most = Fraction(2) ** (600 * n), Fraction(f[1])
        least = Fraction(p[0]) / most
        if f[1] <= 0.5 and p[1] <= 0.5:  # r >= v^f/(2 f)
            least = Fraction(2) ** math.floor(math.log2(p[0]) * f[1]) / (2 * most)
        if not (-1 <= n <= 2 and scale / Fraction(f[0]) < 2**999):
            raise UnprovedError("a ball as large as doubles can be")
        if least * scale < SMALLEST or (n < 0 and not f[1] < 2.0**-400):
            raise UnprovedError("a ball among subnormal numbers")
    return len(every)


def prove():
    """Raise unless the slow steps are right; return rows of what was run."""
    return [
        *in_words.prove(),
        *sides.prove(),
        ["the double nearest a ball", f"{check_balls()} high parts and scales", ""],
        ["cells outside the domain, p = 1", f"{check_cells()} kinds", ""],
        ["n of a ball, and its size", f"{check_scale()} boxes", ""],
    ]


if __name__ == "__main__":
    for row in prove():
        print(" | ".join(row))
