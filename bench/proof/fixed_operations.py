"""Prove the bound of the error of each operation in fixed point.

``fixed_point.py`` itself runs on symbols (``symbols.py``), with 7, 12 and 37 words.
For each operation: no integer overflows, words but the first stay in [0, 2^28), what is
dropped is a polynomial in remainders, and the bound of the error, with the roundings of
its doubles, is at least what was dropped and what the operands' errors cause.
Assumed of operands: |x| < 2^27, also of x 2^s for s > 0 and of a quotient, 2^-20 < y <
2^20, s < 28 n, |k| < 2^30, and errors that are 0 or at least one unit, as those of
results are. That numbers keep to this is for those who call to show.

By hand remain
1. X/Y - x/y = ((X - x) - (x/y) (Y - y))/Y.
2. x - float(int(x)) is exact for a double 0 <= x < 2^53, so are products with 2^28.
3. Beyond 28 (n+1) places to the right a shift gives what 28 places less do: 0 or -1.
4. A bound that is infinite or nan decides nothing: comparisons with it are False.
5. Words that are all 0 are the only ones of the number 0.
"""

import math
from fractions import Fraction

from flint import fmpq

from bench.proof.rebind import Copies
from bench.proof.symbols import (
    BASE,
    TINY,
    UNIT,
    Bound,
    Float,
    ImpossibleError,
    Integer,
    Poly,
    Run,
    constant,
    floor,
    rational,
)

FEW, MORE = 7, 12
MASK = BASE - 1
MOST = 2**27  # of a number
INVERSE = Poly({("1/k",): fmpq(1)})
RELATIVE = fmpq(1, 2**50)  # of ``rounded``
ABSOLUTE = {False: fmpq(1, 2**79), True: fmpq(1, 2**79) + fmpq(1, 2**51)}  # negative?


class Row(list):
    """The words of a number and the bound of its error; no word before the first."""

    def __getitem__(self, i):
        if isinstance(i, int) and i < 0:
            raise IndexError("a word before the first")
        return super().__getitem__(i)

    def __setitem__(self, i, value):
        if isinstance(i, int) and i < 0:
            raise IndexError("a word before the first")
        super().__setitem__(i, value)


def row(run, n, name, low=-MOST, high=MOST - 1):
    """Return a number of n words, the first one between two integers, and its error."""
    words = [run.integer(low, high, f"{name}00")]
    words += [run.integer(0, MASK, f"{name}{i:02}") for i in range(1, n)]
    error = Poly({(f"e{name}",): fmpq(1)})
    x = Row([*words, Bound(run, error, error, 1)])
    size = run.symbol(0, MOST, f"|{name}|")
    run.sizes[value(x).name()] = size
    return x


def poly(word):
    return word.poly if isinstance(word, Integer) else constant(word)


def value(x):
    total = Poly()
    for i, word in enumerate(list(x)[:-1]):
        total = total.plus(poly(word), fmpq(1, BASE**i))
    return total


def unit(n):
    return fmpq(1, BASE ** (n - 1))


# --- the doubles ---------------------------------------------------------------------


class Rounded(Bound):
    """|x| of ``rounded``; a quotient of two is kept as what it is near."""

    def __init__(self, run, x):
        words_of("rounded", x, len(x) - 1, 2**50)
        self.value = value(x)
        if self.value.name() not in run.sizes:
            run.sizes[self.value.name()] = run.symbol(0, MOST, f"|{len(run.sizes)}|")
        size = run.sizes[self.value.name()]
        off = constant(ABSOLUTE[not isinstance(x[0], int) and x[0].low < 0])
        low = size.times(1 - RELATIVE).plus(off, -1)
        super().__init__(run, low, size.times(1 + RELATIVE).plus(off))

    def __truediv__(self, other):
        return self.value, other.value


def in_floats(x):
    """Return float(t) of an integer that is a double."""
    if isinstance(x, int):
        return float(x)
    if max(-x.low, x.high) > 2**53:
        raise ValueError("an integer that is not a double")
    return Float(x.run, x.poly, x.low, x.high)


def in_bounds(x):
    """Return float(t) of any integer, rounded."""
    return Bound(x.run, x.poly, x.poly)._rounded(x.poly, x.poly, 1)


def copies(source, n, run, names=(), instead=()):
    """Return copies of the source's functions for numbers of n words."""
    given = {
        "bits": lambda x: x,
        "from_bits": lambda x: 0.0 if isinstance(x, int) and x == 0 else x,
        "float": in_floats,
        "int": lambda x: x.truncated(),
        **dict(names),
    }
    return Copies(
        given,
        {
            source.number: lambda _: Row([None] * (n + 1)),
            source.rounded: lambda _, x: Rounded(run, x),
            **dict(instead),
        },
    )


# --- what is proved of an operation --------------------------------------------------


def refuse(unless, what, why):
    if not unless:
        raise ValueError(f"{what}: {why}")


def words_of(what, z, n, most=None):
    """Raise unless the words of a result are in their ranges."""
    refuse(all(word is not None for word in z[:n]), what, "a word is not set")
    for word in z[1:n]:
        low, high = (word, word) if isinstance(word, int) else (word.low, word.high)
        refuse(low >= 0 and high <= MASK, what, "a word is not in [0, 2^28)")
    if most and not isinstance(z[0], int):
        refuse(z[0].low >= -most and z[0].high < most, what, "too large a number")


def charged(what, z, n):
    """Return a lower bound of a result's error, which must be 0 or at least a unit."""
    refuse(z[n] is not None, what, "the error is not set")
    low = z[n].low if isinstance(z[n], Bound) else constant(rational(float(z[n])))
    large = all(c >= 1 and set(key) <= {"ex", "ey", "k"} for key, c in low.items())
    refuse(low.get((), 0) >= 1 or large, what, "a bound between 0 and 1")
    return low


def share_of(what, needed, charge):
    """Raise unless a bound covers each term; return the share of what is dropped."""
    left = min(charge.plus(needed, -1).values(), default=0)
    refuse(left >= 0, what, "the bound of the error is too small")
    return float(needed.get((), 0) / charge[()]) if () in needed else 0.0


def spread(exact, names, n):
    """Return what errors of operands do to a result, in units: by |x| and errors."""
    sizes = [Poly({(f"|{name}|",): fmpq(1)}) for name in names]
    errors = [Poly({(f"e{name}",): unit(n)}) for name in names]
    around = [x.plus(e) for x, e in zip(sizes, errors, strict=True)]
    found = exact(*around).plus(exact(*sizes), -1)
    return Poly({key: abs(c) / unit(n) for key, c in found.items()})


def dropped(run, exact, z, n):
    """Return a bound of the exact value less the result, in units."""
    low, high = run.span(exact.plus(value(z), -1))
    return constant(max(-low, high) / unit(n))


def operation(source, name, n, formula, operands, k=None, rows=row, most=None):
    """Prove an operation for all ways of its numbers to be the same; return a share.

    ``k`` is an integer, or the sign of a symbol and its range.
    """
    shares = []
    for names in {operands, operands[0] * len(operands)}:
        for z in (None, *set(names)):
            run, more, given = Run(), [], []
            if k is not None:
                symbolic = isinstance(k, tuple)
                more = [run.integer(*k[1:], "k") * k[0] if symbolic else k]
                given = [more[0].poly] if symbolic else more
            made = {one: rows(run, n, one) for one in sorted(set(names))}
            exact = formula(*(value(made[one]) for one in names), *given)
            result = made[z] if z else Row([None] * (n + 1))
            work = copies(source, n, run).of(getattr(source, name))
            work(result, *(made[one] for one in names), *more, n)
            words_of(name, result, n, most)
            needed = spread(lambda *x, given=given: formula(*x, *given), names, n)
            needed = needed.plus(dropped(run, exact, result, n))
            shares.append(share_of(name, needed, charged(name, result, n)))
    return max(shares)


NUMBERS = (
    ("add", Poly.plus, "xy", None),
    ("subtract", lambda x, y: x.plus(y, -1), "xy", None),
    ("multiply", Poly.times, "xy", None),
    ("negate", lambda x: x.times(-1), "x", None),
    ("add_integer", Poly.plus, "x", (1, -MOST, MOST)),
    ("times", Poly.times, "x", (1, 0, 2**30 - 1)),
    ("times", Poly.times, "x", (-1, 0, 2**30 - 1)),
    ("over", lambda x, k: x.times(INVERSE), "x", (1, 1, 2**30 - 1)),
)


def of_numbers(source, n):
    """Prove sums, products, and products and quotients by integers."""
    run = Run()
    x = row(run, n, "x")
    copies(source, n, run).of(source._add_to_error)(x, n, 2.0)
    needed = Poly({("ex",): fmpq(1), (): fmpq(2)})
    share_of("_add_to_error", needed, charged("_add_to_error", x, n))
    return {name: operation(source, name, n, *more) for name, *more in NUMBERS}


def shifted(s):
    """Yield what makes the words of x, |x| < 2^27 and |x 2^s| < 2^27."""
    words, rest = divmod(s, 28) if s > 0 else (0, 0)
    least = MOST >> rest
    if words == 0:
        yield lambda run, n, name: row(run, n, name, -least, least - 1)
        return
    for sign, low, high in ((0, 0, least - 1), (-1, BASE - least, MASK)):

        def make(run, n, name, sign=sign, low=low, high=high):
            x = row(run, n, name)
            for i in range(words):
                x[i] = x[i].of(sign & MASK if i else sign)
            x[words] = run.integer(low, high, f"{name}{words:02}")
            return x

        yield make


def by_power(x, s):
    return x.times(fmpq(2) ** s)


def shift(source, n, places=None):
    """Prove shifts by all s < 28 n that do not do the same."""
    return max(
        operation(source, "shift", n, by_power, "x", s, rows, MOST)
        for s in places or range(-28 * (n + 1) + 1, 28 * n)
        for rows in shifted(s)
    )


# --- quotients of two numbers --------------------------------------------------------


def nearest(source, most):
    """Return how far ``_nearest`` is from doubles up to a size."""
    found = fmpq(0)
    for low, high in ((TINY, most), (-most, 0)):
        run = Run()
        x = Float(run, run.symbol(low, high, "x"), low, high)
        k = copies(source, 1, run).of(source._nearest)(x)
        low, high = run.span(k.poly.plus(x.poly, -1))
        found = max(found, -low, high)
    return found


def off_quotient(source, size, least):
    """Return how far the integer next to a quotient of doubles is from x/y."""
    of_y = RELATIVE + ABSOLUTE[False] / least
    off = (size * (RELATIVE + of_y) + ABSOLUTE[True] / least) / (1 - of_y)
    return off + UNIT * (size + 1) + nearest(source, size + 1)


class Quotient:
    """The digits of a quotient x/y, and what they leave of x."""

    def __init__(self, source, n, run, x, y):
        self.source, self.n, self.run = source, n, run
        self.y, self.expected, self.size = value(y), value(x), fmpq(MOST)
        self.left = self.off = None

    def digit(self, _, quotient):
        """Return the next digit, an integer near the rest by y."""
        rest, y = quotient
        known = rest == self.expected and y == self.y
        refuse(known, "divide", "not the rest of x, by y")
        self.off = off_quotient(self.source, self.size, fmpq(1, 2**20))
        most = floor(self.size + self.off)
        d = self.run.integer(-most, most)
        self.left = rest.plus(d.poly.times(y), -1)
        ends = self.off * 2**20
        self.run.fact = self.left, -ends, ends
        self.expected, self.size = self.left.times(BASE), self.off * BASE
        return d


def divide(source, n):
    """Prove the quotient of two numbers; return the share of its bound."""
    shares = []
    for place in (None, "x", "y"):
        run = Run()
        x, y = row(run, n, "x"), row(run, n, "y", 0, 2**20 - 1)
        z = {None: Row([None] * (n + 1)), "x": x, "y": y}[place]
        state = Quotient(source, n, run, x, y)
        before = value(x), value(y)
        instead = {source._nearest: state.digit}
        run.answers = [True]
        copies(source, n, run, instead=instead).of(source.divide)(z, x, y, n)
        words_of("divide", z, n)
        left = before[0].plus(before[1].times(value(z)), -1)
        refuse(left == state.left.times(unit(n)), "divide", "not x - y z")
        lower_bound(run.divisor, n)
        size = run.sizes.get(value(z).name(), run.symbol(0, MOST, "|z|"))
        size = size.plus(constant(state.off * unit(n)))
        needed = Poly({("ex",): fmpq(1)}).plus(size.times(Poly({("ey",): fmpq(1)})))
        needed = needed.times(INVERSE).plus(constant(state.off))
        shares.append(share_of("divide", needed, charged("divide", z, n)))
        run.answers = [False]
        x, y = row(run, n, "x"), row(run, n, "y", 0, 2**20 - 1)
        state.expected = before[0]
        state.size = fmpq(MOST)
        z = Row([None] * (n + 1))
        copies(source, n, run, instead=instead).of(source.divide)(z, x, y, n)
        refuse(z[n] == math.inf, "divide", "a bound by a divisor that may be 0")
    return max(shares)


def lower_bound(least, n):
    """Raise unless a double is at most y less its error, if that is above 0."""
    y, error = ("|y|",), ("ey",)
    left = Poly({y: fmpq(1), error: -unit(n)}).plus(least, -1)
    known = set(left) <= {y, error, ()} and {y, error} <= set(least)
    refuse(known, "divide", "not a bound of the divisor")
    # least > 0, so its error is below y (1 + 2^-30) units; and y > 2^-20.
    a, b, c = (left.get(key, fmpq(0)) for key in (y, error, ()))
    most = (1 + fmpq(1, 2**30)) / unit(n)
    near = least[y] + least.get((), 0) * 2**20 <= -least[error] * most
    below = a + min(b, 0) * most + min(c, 0) * 2**20 >= 0
    refuse(near and below, "divide", "not below the divisor")


# --- conversions and comparisons -----------------------------------------------------


def conversions(source, n):
    """Prove what is made of integers and doubles; return the share of its bound."""
    run = Run()
    z, k = Row([None] * (n + 1)), run.integer(1 - MOST, MOST - 1)
    copies(source, n, run).of(source.set_integer)(z, n, k)
    words_of("set_integer", z, n)
    refuse(value(z) == k.poly and z[n] == 0, "set_integer", "not the integer")
    shares = []
    for more in (True, False):
        run = Run([more])
        x = Float(run, run.symbol(0, MOST), 0, MOST * (1 - UNIT), exact=True)
        z = Row([None] * (n + 1))
        copies(source, n, run).of(source.set_double)(z, n, x)
        words_of("set_double", z, n, MOST)
        left = x.poly.plus(value(z), -1)
        if not more:  # the rest is at most what it is compared with
            ((last,),) = left
            rest, most = run.compared
            same = rest.poly == Poly({(last,): fmpq(BASE)})
            refuse(same, "set_double", "not the rest")
            run.ranges[last] = fmpq(0), most / BASE
        low, high = run.span(left)
        needed = constant(max(-low, high) / unit(n))
        shares.append(share_of("set_double", needed, charged("set_double", z, n)))
    return max(shares)


def sign(source, n):
    """Prove the sign of a number for every number of words that it looks at."""
    for words in range(1, n + 1):
        for plus in (1, -1):
            # The last question is whether |x| is above its error; 0 is below.
            last = {1: "above", -1: "under"} if words < n else {1: "plus", -1: "minus"}
            run = Run(["below"] * (words - 1) + [last[plus], True])
            x = row(run, n, "x")
            try:
                work = copies(source, n, run, {"float": in_bounds})
                found = work.of(source.sign)(x, n)
            except ImpossibleError:
                continue
            refuse(found == plus and not run.answers, "sign", "the wrong sign")
            _size_is_larger(run, x, n, words, plus)
    zero = Row([0] * n + [0])
    refuse(Copies({}).of(source.sign)(zero, n) == 0, "sign", "0 has a sign")


def _size_is_larger(run, x, n, words, plus):
    """Raise unless a sign means that |x| is larger than its error."""
    least, error = run.compared
    rest = BASE ** (n - words)
    first = Poly()
    for i in range(words):
        first = first.plus(x[i].poly, fmpq(BASE ** (words - 1 - i)))
    below = first.times(plus).plus(constant(-1))  # |first words| - 1, of their unit
    size = value(x).times(plus / unit(n)).plus(below, -rest).plus(constant(-1))
    refuse(run.span(size)[0] >= 0, "sign", "words after the first ones")
    factor = least.high[("x00",)] / below[("x00",)]
    more = least.high.plus(below, -factor)
    c, d = error.low[("ex",)], -error.low.get((), fmpq(0))
    below = set(more) <= {()} and 0 < factor <= c * rest
    below = below and more.get((), 0) + d <= c
    refuse(below, "sign", "not a comparison with the error")


def is_zero(source, n):
    """Prove the test of all words."""
    for nonzero in (None, *range(n)):
        run = Run([i != nonzero for i in range(n)])
        found = copies(source, n, run).of(source.is_zero)(row(run, n, "x"), n)
        refuse(found == (nonzero is None), "is_zero", "not all words")


def rounded(source):
    """Prove the number as a double: to 2^-50 of itself and an absolute error."""
    worst = 0.0
    cases = [(2**k, 2 ** (k + 1), 0, MASK) for k in range(50)]
    cases += [(-(2 ** (k + 1)), -(2**k), 0, MASK) for k in range(50)]
    cases += [(0, 0, 2**k, 2 ** (k + 1)) for k in range(28)] + [(0, 0, 0, 0)]
    for low, high, first, last in cases:
        run = Run()
        x = row(run, 5, "x", low, high)
        x[1] = run.integer(first, last, "x01")
        x[4] = run.integer(0, BASE, "x04")  # and all words after it
        work = copies(source, 5, run)
        work.instead.pop(source.rounded)
        double, exact = work.of(source.rounded)(x), value(x)
        left = run.span(exact.plus(double.poly, -1))
        off = max(-left[0], left[1]) + double.error
        ends = run.span(exact)
        size = max(ends[0], -ends[1], fmpq(0))
        bound = size * RELATIVE + ABSOLUTE[low < 0]
        refuse(off <= bound, "rounded", "a larger error")
        worst = max(worst, float(off / bound))
    return worst


class Double:
    """A double of one exponent by its bits; subnormal, it is known by x 2^54."""

    def __init__(self, pattern, subnormal=False):
        self.pattern, self.subnormal = pattern, subnormal

    def __lt__(self, other):
        refuse(other == 2.0**-1022, "mantissa", "not the smallest normal number")
        return self.subnormal

    def __mul__(self, other):
        refuse(other == 2.0**54, "mantissa", "not 2^54")
        return self


def mantissa(source):
    """Prove mantissa and exponent of all doubles, exponent by exponent."""
    normal = [(e, False) for e in range(1, 2047)]
    for e, subnormal in normal + [(e, True) for e in range(3, 55)]:
        run = Run()
        pattern = run.integer(e << 52, (e + 1 << 52) - 1)
        names = {"bits": lambda x: x.pattern, "from_bits": lambda x: x}
        work = copies(source, 1, run, names).of(source.mantissa)
        m, found = work(Double(pattern, subnormal))
        same = m.poly == pattern.poly.plus(constant(-(e - 1022 << 52)))
        right = found == e - 1022 - (54 if subnormal else 0)
        refuse(same and right, "mantissa", "not x = m 2^e")


def units(source, n):
    """Prove the room and the weight of the last word, whose inverse is a double."""
    refuse(len(source.number()) > source.WORDS, "number", "no room for all words")
    for words in range(1, source.WORDS + 1):
        right = source.units(words) == Fraction(1, BASE ** (words - 1))
        refuse(right and 1.0 / source.units(words) < math.inf, "units", "not a double")


def prove_for(source, n):
    """Prove all operations for n words; return the share of what each charges."""
    for one in (units, sign, is_zero):
        one(source, n)
    shares = {"set_double": conversions(source, n), **of_numbers(source, n)}
    return shares | {"shift": shift(source, n), "divide": divide(source, n)}
