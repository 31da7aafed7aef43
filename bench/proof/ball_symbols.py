"""Doubles as polynomials: exact results and rounding errors in symbols.

A computed double is a polynomial in the operands of the run and in one symbol for each
rounding error, so what cancels does. Bounds are polynomials in absolute values, with
the same symbols. What is used of an operation on doubles (U = 2^-53, ETA = 2^-1075):

- the rounding error is at most U |result| and U |exact result|, and ETA more for
  products, quotients and fma; it is at most ETA where a factor is a power of 2;
- two_sum: high + low is the exact sum (Knuth), |low| <= U |high|;
- two_product: high + low is the exact product up to ETA (Dekker), |low| <= U |high|;
- the rest fma(-z, d, n) of a rounded quotient z = n/d is exact up to ETA (1 + |d|), and
  up to ETA |d| for n = 1: only z or the rest among the subnormals makes it inexact;
- sums below 2^-1022 are exact.
"""

from flint import Ordering, fmpq, fmpq_mpoly_ctx

U = fmpq(1, 2**53)
LEAST = fmpq(1, 2**1075)  # ETA as a number
SPACE = fmpq_mpoly_ctx.get([f"x{i}" for i in range(60)], Ordering.lex)
ZERO = SPACE.constant(0)


def rational(x):
    return fmpq(*x.as_integer_ratio())


def require(holds, sentence):
    if not holds:
        raise ValueError(sentence)


# --- polynomials ---------------------------------------------------------------------


def sizes(polynomial):
    """Return the sum of the absolute values of a polynomial's terms."""
    return SPACE.from_dict({k: abs(c) for k, c in polynomial.to_dict().items()})


def split(polynomial, chosen):
    """Return the terms that are chosen by exponents and coefficient, and the others."""
    some = {k: c for k, c in polynomial.to_dict().items() if chosen(k, c)}
    return SPACE.from_dict(some), polynomial - SPACE.from_dict(some)


def put(polynomial, i, bound):
    """Return a polynomial with another one in place of symbol i."""
    total = ZERO
    for powers, c in polynomial.to_dict().items():
        rest = tuple(0 if j == i else n for j, n in enumerate(powers))
        total += SPACE.from_dict({rest: c}) * bound ** powers[i]
    return total


def index(symbol):
    (powers,) = symbol.monoms()
    return powers.index(1)


class Run:
    """The symbols of a run: numbers and, in bounds, their absolute values.

    ``upper`` has bounds of symbols by earlier ones, ``errors`` those of rounding errors
    and of places in a ball; ``relation`` is 0, by the last quotient.
    """

    now = None

    def __init__(self, answer=True):
        Run.now = self
        self.count, self.upper, self.errors, self.quotients = 0, {}, {}, []
        self.lows = []  # of operands
        self.eta, self.inverse = self.symbol(), self.symbol()  # ETA, 1/|y|
        self.share = self.symbol()  # ETA over the divisor
        self.divisor = self.relation = self.ratio = None
        self.answer, self.asked, self.least = answer, False, []

    def symbol(self, upper=None):
        """Return a new symbol; ``upper`` is called for a bound of it."""
        self.count += 1
        if upper is not None:
            self.upper[self.count - 1] = upper
        return SPACE.gen(self.count - 1)

    def error(self, bound):
        """Return the symbol of a number whose bound alone is known."""
        self.errors[self.count] = lambda: bound
        return self.symbol()

    def bound(self, polynomial):
        """Return a bound of a polynomial's absolute value, without errors."""
        return replaced(sizes(polynomial), self.errors)

    def per_divisor(self, bound):
        """Return a bound over |divisor|; ETA over it is a symbol of its own."""
        D = self.divisor.up
        bound = replaced(bound, self.upper)
        few, others = split(bound, lambda k, c: not k[index(D)])
        bound = others + put(few, index(self.eta), self.share * D)
        known = all(k[index(D)] for k in bound.monoms())
        require(known, "a quotient without a known bound")
        return bound / D

    def is_positive(self, difference):
        """Tell whether a difference of bounds is certainly not negative.

        Terms below 0 are replaced by more negative ones, until others outweigh them.
        """
        lows = {i: self.upper[i] for i in self.lows}
        difference = replaced(difference, lows, negative)
        difference = replaced(difference, self.upper, negative)
        if self.ratio:
            D, (radius, ratio, share) = self.divisor.up, self.ratio
            d, eta = index(D), index(self.eta)
            by = {index(radius): lambda: ratio * D}
            difference = replaced(difference, by, negative)
            few, others = split(difference, lambda k, c: c < 0 and k[2] == 1 and k[d])
            difference = others + put(few, 2, self.eta) / D
            few, others = split(difference, lambda k, c: c < 0 and k[eta] and not k[d])
            difference = others + put(few, eta, share * D)
        return all(c >= 0 for c in difference.coeffs())


def negative(_, c):
    return c < 0


def replaced(polynomial, by, chosen=lambda k, c: True):
    """Return a polynomial, symbols in chosen terms replaced by bounds, last first."""
    for i in sorted(by, reverse=True):
        terms, others = split(polynomial, lambda k, c, i=i: k[i] and chosen(k, c))
        if terms:
            polynomial = others + put(terms, i, by[i]())
    return polynomial


# --- doubles and radii as polynomials ------------------------------------------------


class Double:
    """A computed double as a polynomial, and bounds of its absolute value.

    Known of some: the ``opposite``, numerator and divisor of a quotient (``parts``),
    the sum or product whose error it is (``error_of``), that it ``is_power`` of 2.
    """

    opposite = parts = error_of = None
    is_power = False

    def __init__(self, exact, low, up, **known):
        self.exact, self.low, self.up = exact, low, up
        vars(self).update(known)

    @classmethod
    def symbol(cls, upper=None, **known):
        x = Run.now.symbol(upper)
        return cls(x, x, x, **known)

    def __neg__(self):
        return Double(-self.exact, self.low, self.up, opposite=self)

    def __abs__(self):
        total = self.up if self.up in SPACE.gens() else None
        return Radius(self.low, self.up, total)

    def __add__(self, other):
        other = as_double(other)
        return rounded(self.exact + other.exact, self.up + other.up)

    def __sub__(self, other):
        return self + -as_double(other)

    def __mul__(self, other):
        other, eta = as_double(other), Run.now.eta
        exact, up = self.exact * other.exact, self.up * other.up
        low = (1 - U) * product(self.low, other.low) - eta
        if other.is_power:
            return Double(exact + Run.now.error(eta), low, up + eta)
        result = rounded(exact, up, U, eta)
        return Double(result.exact, low, (1 + U) * up + eta)

    def __truediv__(self, other):
        run = Run.now
        run.divisor = run.divisor or other
        require(other is run.divisor, "quotients have several divisors")
        quotient = Double.symbol(parts=(self, other))
        run.quotients.append(index(quotient.exact))
        error = run.error(U * quotient.up + run.eta)
        run.relation = self.exact - (quotient.exact - error) * other.exact
        if len(run.quotients) > 1:
            bound = run.per_divisor(self.up)
            run.upper[run.quotients[-1]] = lambda: (1 + U) * bound + run.eta
        elif self.up in SPACE.gens():  # |n| = |z - error| |d|
            most = ((1 + U) * quotient.up + run.eta) * other.up
            run.upper[index(self.up)] = lambda: most
        return quotient

    def __rtruediv__(self, other):
        return as_double(other) / self


def product(a, b):
    """Return a lower bound of a product, from those of two numbers >= 0."""
    require(min(*a.coeffs(), 0) == 0 or min(*b.coeffs(), 0) == 0, "two losses")
    return a * b


def as_double(x):
    """Return a number as it is in a run; tiny ones are multiples of ETA."""
    if isinstance(x, Double):
        return x
    require(isinstance(x, float), "a radius among numbers with a sign")
    tiny = 0.0 < abs(x) < 2.0**-1000
    value = Run.now.eta * (rational(x) / LEAST) if tiny else ZERO + rational(x)
    return Double(value, sizes(value), sizes(value))


def rounded(exact, up, unit=U, eta=ZERO):
    """Return the double nearest to an exact number that is at most ``up``."""
    size = Run.now.symbol(lambda: (1 + U) * up + eta)
    return Double(exact + Run.now.error(unit * size + eta), size, size)


def fma(a, b, c):
    """Return a b + c rounded once; it is exact for the rest of a quotient."""
    a, b, c = map(as_double, (a, b, c))
    exact, eta, z = a.exact * b.exact + c.exact, Run.now.eta, a.opposite
    if z is None or z.parts is None or [x.exact for x in z.parts] != [c.exact, b.exact]:
        return rounded(exact, a.up * b.up + c.up, U, eta)
    lost = eta * b.up + (0 if c.exact == 1 else eta)
    return rounded(exact, (U * z.up + eta) * b.up + lost, ZERO, lost)


def with_error(exact, up, eta=ZERO):
    """Return a rounded number and its error, together exact up to ``eta``."""
    high = rounded(exact, up, ZERO, eta)
    low = Double.symbol(lambda: U * high.up, error_of=high)
    high.exact -= low.exact
    return high, low


def two_sum(a, b):
    a, b = as_double(a), as_double(b)
    return with_error(a.exact + b.exact, a.up + b.up)


def two_product(a, b):
    a, b = as_double(a), as_double(b)
    return with_error(a.exact * b.exact, a.up * b.up, Run.now.eta)


class Radius:
    """A computed number >= 0: bounds of it, polynomials in absolute values.

    ``total`` is its exact value, if it is a rounded sum of doubles.
    """

    is_outward = False

    def __init__(self, low, up, total=None):
        self.low, self.up, self.total = low, up, total

    @classmethod
    def of(cls, x):
        if isinstance(x, Radius):
            return x
        require(isinstance(x, float) or x.is_power, "a radius of a number's sign")
        require(not isinstance(x, float) or x >= 0.0, "a negative number in a radius")
        size = as_double(x).up
        result = cls(size, size)
        result.is_outward = isinstance(x, float) and 1.0 <= x < 2.0
        return result

    def __add__(self, other):
        other = Radius.of(other)
        low, up = (1 - U) * (self.low + other.low), (1 + U) * (self.up + other.up)
        sums = self.total is not None and other.total is not None
        return Radius(low, up, self.total + other.total if sums else None)

    def __sub__(self, other):
        other = Radius.of(other)
        most = self.up + other.up
        return Radius(self.low - other.up - U * most, (1 + U) * self.up - other.low)

    def __mul__(self, other):
        other, eta = Radius.of(other), Run.now.eta
        low = (1 - U) * product(self.low, other.low) - eta
        if self.total is not None and other.is_outward:
            # A sum below 2^-1022 is exact, and the rounded product is not below it.
            least = min((low + eta - self.total).coeffs())
            low = self.total if least >= 0 else low
        return Radius(low, (1 + U) * self.up * other.up + eta)

    def __truediv__(self, other):
        Run.now.least.append(other)
        low = (1 - U) * self.low * Run.now.inverse - Run.now.eta
        return Radius(low, Run.now.symbol())  # of the upper bound nothing is known

    def __le__(self, other):
        """Answer, and note what follows: self >= c radius + d ETA, so other too."""
        run = Run.now
        run.asked = True
        if run.answer:
            terms = self.low.to_dict()
            eta = run.eta.monoms()[0]
            (radius,) = [k for k in terms if k != eta]
            require(other.up == run.divisor.up, "a comparison not with the divisor")
            require(min(terms.values()) > 0, "a comparison that tells nothing")
            ratio, share = 1 / terms[radius], 1 / terms[eta]
            run.ratio = SPACE.from_dict({radius: 1}), ratio, share
        return run.answer

    __radd__, __rmul__ = __add__, __mul__


# Exact results of operations on balls: numerator and divisor, if there is one.
OPERATIONS = {
    "add": lambda x, y: (x + y, None), "add_double": lambda x, y: (x + y, None),
    "negate": lambda x: (-x, None), "subtract": lambda x, y: (x - y, None),
    "multiply": lambda x, y: (x * y, None),
    "multiply_double": lambda x, y: (x * y, None), "shift": lambda x, y: (x * y, None),
    "divide": lambda x, y: (x, y), "reciprocal": lambda y: (ZERO + 1, y),
}  # fmt: skip
NAMES = {"two_sum": two_sum, "two_product": two_product, "fma": fma}


# --- operands ------------------------------------------------------------------------


def new_ball(_):
    """Return a ball, a member of it, and a lower bound of its absolute value."""
    high = Double.symbol()
    low = Double.symbol(lambda: U * high.up, error_of=high)
    Run.now.lows.append(index(low.up))
    radius = Run.now.symbol()
    member = high.exact + low.exact + Run.now.error(radius)
    ball = high, low, Radius(radius, radius, radius)
    return ball, member, high.up - low.up - radius


def new_double(name):
    """Return a double, itself as a polynomial, and its absolute value."""
    x = Double.symbol(is_power=name == "power")
    return x, x.exact, x.up


def is_normal(high, low):
    """Tell whether it is certain that |low| <= U |high|."""
    if high.opposite and low.opposite:
        high, low = high.opposite, low.opposite
    return low.error_of is high
