"""Prove that `side` has the sign of r - B, or is 0, if `risk_in_words` is r.

B is a double or the middle of two, for all patterns of bits. If B is a limit of r,
products decide, which are exact; else r in fixed point (`in_words.py`). By hand remains
that p/f < r < 1/f for p < 1, and r < p/(f-1) for f > 1.
"""

from fractions import Fraction
from itertools import product

from bench.proof import in_words
from bench.proof.check import same
from bench.proof.rebind import Copies
from bench.proof.words import ONE, SYMBOL, UnprovedError, plain
from riskcore.core.special import fixed_point
from riskcore.core.special.gauss import fixed_point_step as step

FEW, MORE, WORDS = 7, 12, fixed_point.WORDS
EXACT = (
    "number mantissa set_double set_integer multiply subtract shift times rounded "
    "is_zero"
)


# --- boundaries ----------------------------------------------------------------------


class Whole:
    """c + k j for all whole j between two; and bits of it."""

    def __init__(self, c, k, ends):
        self.c, self.k, self.ends = c, k, ends

    def range(self):
        return [self.c + self.k * j for j in self.ends]

    def __mul__(self, factor):
        return Whole(self.c * factor, self.k * factor, self.ends)

    def __add__(self, other):
        return Whole(self.c + other, self.k, self.ends)

    __rmul__ = __mul__

    def __lt__(self, other):
        low, high = self.range()
        if (low < other) != (high < other):
            raise UnprovedError("numbers that a comparison divides")
        return low < other

    def __rshift__(self, places):
        return "above", self, places

    def __and__(self, mask):
        return Below(self, mask)


class Below:
    def __init__(self, whole, mask):
        self.whole, self.mask = whole, mask

    def __lshift__(self, places):
        return "below", self.whole, self.mask, places


class Pattern:
    """The bits of all doubles of one exponent."""

    def __init__(self, exponent, ends):
        self.exponent, self.ends = exponent, ends

    def __rshift__(self, places):
        if places != 52:
            raise UnprovedError("an exponent that is elsewhere")
        return self.exponent

    def __and__(self, mask):
        if mask != 2**52 - 1:
            raise UnprovedError("a mantissa that is elsewhere")
        return Whole(0, 1, self.ends)


def boundary(exponent, ends, middle):
    """Return the boundary that the source makes of doubles: N and k, N 2^k."""
    z = {}
    whole = {fixed_point.set_integer: lambda z, n, k: z.update({0: k})}
    copies = Copies({"bits": lambda x: x}, plain(whole))
    s = copies.of(step._boundary)(z, Pattern(exponent, ends), middle, FEW)
    _, whole, places = z[1]
    below = "below", whole, 2**places - 1, fixed_point.WORD - places
    if z[0] != 0 or set(z) != {0, 1, 2} or z[2][:1] + z[2][2:] != below[:1] + below[2:]:
        raise UnprovedError("words that are not those of one number")
    low, high = whole.range()
    if z[2][1] is not whole or not 2**53 <= low <= high < 2**54:
        raise UnprovedError("a boundary that is not between 1/2 and 1")
    if places != 26:
        raise UnprovedError("words that are too long")
    return whole, s - fixed_point.WORD - places


def check_boundary():
    """Raise unless `_boundary` is the double or the middle; return the cases."""
    first = [(0, (2**i, 2 ** (i + 1) - 1)) for i in range(52)]
    rest = [(e, (0, 2**52 - 1)) for e in range(1, 2047)]
    count = 0
    for (e, ends), middle in product([(0, (0, 0)), *first, *rest], (False, True)):
        if ends == (0, 0) and not middle:
            continue  # `side` does not ask for 0
        whole, k = boundary(e, ends, middle)
        gap = max(e, 1) - 1075
        c = (2**53 if e else 0) + (1 if middle else 0)
        unit = Fraction(2) ** (k - gap + 1)
        if (whole.c * unit, whole.k * unit) != (c, 2):
            raise UnprovedError("a boundary that is neither the double nor the middle")
        count += 1
    return count


# --- limits --------------------------------------------------------------------------


class Power:
    """A sum of exponents where a limit is tried: it is then between -6 and 6."""

    def __init__(self, value):
        self.value = value  # 2^self

    def __add__(self, other):
        return Power(self.value * other.value)

    def __sub__(self, other):
        by = other.value if isinstance(other, Power) else 2**other
        return Power(self.value / by)

    def __neg__(self):
        return Power(ONE / self.value)

    def __gt__(self, other):
        return other == -6

    def __lt__(self, other):
        return other == 6

    def __le__(self, other):
        return other == 54


class Limits:
    """`_at_a_limit` on exact numbers: what they are, and how many bits they take."""

    def __init__(self, above_one, hit, doublings):
        self.hit, self.doublings, self.asked = hit, doublings, []
        self.above_one = above_one
        names = {getattr(fixed_point, x): getattr(self, x) for x in EXACT.split()}
        self.parts = {"f": ("M", "F"), "a": ("A", "P"), "b": ("B", "Q")}
        B = {"exact": SYMBOL["X"], "bits": 54}
        copies = Copies({}, plain(names))
        run = copies.of(step._at_a_limit)
        self.sign = run(self, "a", "b", B, Power(SYMBOL["K"]), FEW)

    def __gt__(self, other):
        if other != 1.0:
            raise UnprovedError("another limit of f - 1")
        return self.above_one

    def number(self):
        return {}

    def mantissa(self, x):
        mantissa, power = self.parts["f" if x is self else x]
        return SYMBOL[mantissa], Power(SYMBOL[power])

    def put(self, z, exact, bits):
        if bits > fixed_point.WORD * (FEW - 1):
            raise UnprovedError("a product that is rounded")
        z.update(exact=exact, bits=bits)

    def set_double(self, z, n, x):
        self.put(z, x, 53)

    def set_integer(self, z, n, k):
        self.put(z, ONE * k, 0)

    def multiply(self, z, x, y, n):
        self.put(z, x["exact"] * y["exact"], x["bits"] + y["bits"])

    def times(self, z, x, k, n):
        self.put(z, x["exact"] * k, x["bits"])

    def subtract(self, z, x, y, n):
        self.put(z, x["exact"] - y["exact"], max(x["bits"], y["bits"]))

    def shift(self, z, x, s, n):
        more = 54 if s.value.above == 1 and s.value.below == SYMBOL["F"].above else 5
        self.put(z, x["exact"] * s.value, x["bits"] + more)

    def rounded(self, x):
        self.doublings -= 1
        return 0.25 if self.doublings >= 0 else 0.5

    def is_zero(self, x, n):
        self.asked.append(x["exact"])
        return len(self.asked) == self.hit


def check_limits():
    """Raise unless the sign is that of r - B for B = p/f, 1/f, p/(f-1), 0 otherwise."""
    f, a = SYMBOL["M"] * SYMBOL["F"], SYMBOL["A"] * SYMBOL["P"]
    b, B = SYMBOL["B"] * SYMBOL["Q"], SYMBOL["X"] * SYMBOL["K"]
    limits = [(B * f * b - a, 1), (B * f - 1, -1), (B * (f - 1) * b - a, -1)]
    count = 0
    for above_one, hit, doublings in product((False, True), range(4), range(56)):
        run = Limits(above_one, hit, doublings)
        tried = limits if above_one else limits[:2]
        if len(run.asked) != (hit or len(tried)) and hit <= len(tried):
            raise UnprovedError("a limit that is not tried")
        for (limit, _), asked in zip(tried, run.asked, strict=False):
            same(asked * (ONE if limit is limits[1][0] else SYMBOL["P"]), limit)
        if run.sign != (tried[hit - 1][1] if 0 < hit <= len(tried) else 0):
            raise UnprovedError("a limit on the other side of r")
        count += 1
    for s in (-1000, -7, -6, 6, 7, 1000):
        if step._equal(fixed_point.number(), s, fixed_point.number(), FEW):
            raise UnprovedError("numbers of other sizes that are equal")
    return count


# --- the side ------------------------------------------------------------------------


def check_side():
    """Raise unless `side` has the sign of r - B, or of what all bits leave; 0 else."""
    count = 0
    for d in (-1000, *range(-70, 40), 1000):
        every = ((1,), (-1,), (0, 1), (0, -1), (0, 0, 1), (0, 0, -1), (0, 0, 0))
        for answers, middle in product(every, (False, True)):
            result, asked, left = one_side(d, 0, answers, middle)
            if result not in (-1, 0, 1):
                raise UnprovedError("a sign that is not -1, 0 or 1")
            if not asked:
                known = 2.0 ** (d - 1) >= in_words.RISK_MOST if result < 0 else (
                    result > 0 and 2.0**d <= in_words.RISK_LEAST)  # fmt: skip
            else:
                words = [FEW, MORE, WORDS][: len(answers)]
                known = result == answers[-1] and not left and d <= 26
                known &= asked == [("z", ("B", d), n) for n in words]
            if not known:
                raise UnprovedError("a side that is not known")
            count += 1
    for sign in (-1, 1):
        if one_side(0, sign, (), True)[0] != sign:
            raise UnprovedError("a limit that is not taken")
    if step.side(2.0, 0.5, 1.0, 0.0, False) != 1:
        raise UnprovedError("r that is not above 0")
    return count + 3


def one_side(d, limit, answers, between):
    """Return what `side` says if B 2^d and r 2^-s are compared, and what it asked."""
    asked, left = [], list(answers)

    def got(*given, right):
        if given != right:
            raise UnprovedError("other arguments than those of `side`")

    def boundary(z, x, middle, n):
        got(x, middle, right=(0.5, between))
        z.update(is_="B", n=n)
        return 7

    def risk(z, f, a, b, n):
        got(f, a, b, right=("f", "a", "b"))
        z.update(is_="z", n=n)
        return 7 - d

    def at_a_limit(f, a, b, z, s, n):
        got(f, a, b, z, s, n, right=("f", "a", "b", {"is_": "B", "n": FEW}, 7, FEW))
        return limit

    def shift(z, x, s, n):
        z.update(is_=(x["is_"], s), n=n if x["n"] == n else None)

    def subtract(z, x, y, n):
        z.update(is_=(x["is_"], y["is_"]), n=n if x["n"] == y["n"] == n else None)

    def sign(z, n):
        asked.append((*z["is_"], n if z["n"] == n else None))
        return left.pop(0)

    names = {step._boundary: boundary, step.risk_in_words: risk,
             fixed_point.number: dict, fixed_point.shift: shift,
             fixed_point.subtract: subtract, fixed_point.sign: sign,
             step._at_a_limit: at_a_limit}  # fmt: skip
    found = Copies({}, plain(names)).of(step.side)("f", "a", "b", 0.5, between)
    return found, asked, left


def prove():
    """Raise unless `side` is right; return rows of what was run."""
    return [
        ["doubles and middles as boundaries", f"{check_boundary()} exponents", "exact"],
        ["limits of r", f"{check_limits()} cases", "exact"],
        ["the side of a boundary", f"{check_side()} cases", ""],
    ]
