"""Prove in exact arithmetic that kernels compute their formulas.

Run on rational numbers, a kernel is a rational function of its arguments: all second
words that hold rounding errors are 0. Two rational functions of known degrees are equal
if they agree on a grid with one point more in each variable than the degree of the
difference's numerator; so a finite number of exact evaluations proves the identity.
"""

from collections import Counter
from fractions import Fraction
from itertools import product

from bench.proof.rebind import Copies


class Exact:
    """A rational number that takes doubles as what they are."""

    def __init__(self, value):
        self.value = value if isinstance(value, Fraction) else Fraction(value)

    @staticmethod
    def of(other):
        return other if isinstance(other, Exact) else Exact(other)

    def __neg__(self):
        return Exact(-self.value)

    def _with(self, other, operation):
        if isinstance(other, Degrees):
            return NotImplemented
        return Exact(operation(self.value, Exact.of(other).value))

    def __add__(self, other):
        return self._with(other, lambda a, b: a + b)

    def __sub__(self, other):
        return self._with(other, lambda a, b: a - b)

    def __rsub__(self, other):
        return self._with(other, lambda a, b: b - a)

    def __mul__(self, other):
        return self._with(other, lambda a, b: a * b)

    def __truediv__(self, other):
        return self._with(other, lambda a, b: a / b)

    def __rtruediv__(self, other):
        return self._with(other, lambda a, b: b / a)

    __radd__, __rmul__ = __add__, __mul__

    def __lt__(self, other):
        return self.value < Exact.of(other).value

    def __le__(self, other):
        return self.value <= Exact.of(other).value

    def __gt__(self, other):
        return self.value > Exact.of(other).value

    def __ge__(self, other):
        return self.value >= Exact.of(other).value

    def __eq__(self, other):
        return self.value == Exact.of(other).value

    def __abs__(self):
        return Exact(abs(self.value))

    __hash__ = object.__hash__


MOST = 16  # terms of a polynomial that is kept as it is


class Degrees:
    """Bounds of the degrees of a rational function: of its numerator, per variable.

    Its denominator is a product of factors, the numerators of what was divided by. A
    polynomial of few terms is kept with its coefficients, so that one that vanishes is
    known to be 0, and the same operation on the same numbers is the same number: x - x
    and a - (a/b) b are 0.
    """

    def __init__(self, above, below=(), polynomial=None):
        self.above = tuple(above)
        self.below = Counter(dict(below))  # (number of factor, degrees) -> times
        self.polynomial = polynomial  # exponents -> coefficient
        self.made = {}  # what was made of this number, by operation and other number
        self.negated = None
        self.quotient = None  # (a, b) for a/b
        self.sample = None  # a value of a variable, by which comparisons are answered

    @property
    def known(self):
        """The number that this is, or None."""
        zero = (0,) * len(self.above)
        if self.polynomial is None or set(self.polynomial) - {zero}:
            return None
        return self.polynomial.get(zero, Fraction(0))

    def of(self, other):
        if isinstance(other, Degrees):
            return other
        value = other.value if isinstance(other, Exact) else Fraction(other)
        return self.by_polynomial({(0,) * len(self.above): value})

    def by_polynomial(self, terms):
        terms = {power: c for power, c in terms.items() if c != 0}
        if len(terms) > MOST:
            return None
        n = len(self.above)
        above = [max((power[i] for power in terms), default=0) for i in range(n)]
        return Degrees(above, (), terms)

    def over(self, common):
        """Return the degrees of the numerator over a common denominator."""
        more = common - self.below
        return [
            degree + sum(factor[1][i] * times for factor, times in more.items())
            for i, degree in enumerate(self.above)
        ]

    def _once(self, operation, other, make):
        key = operation, id(other)
        if key not in self.made:
            self.made[key] = make(), other  # kept: its id is not another's
        return self.made[key][0]

    def __neg__(self):
        if self.negated is None:
            terms = self.polynomial
            terms = None if terms is None else {k: -c for k, c in terms.items()}
            self.negated = Degrees(self.above, self.below, terms)
            self.negated.negated = self
            if self.quotient:
                self.negated.quotient = -self.quotient[0], self.quotient[1]
        return self.negated

    def __add__(self, other):
        other = self.of(other)
        if other.known == 0:
            return self
        if self.known == 0:
            return other
        if self.negated is other:
            return self.of(0)
        return self._once("+", other, lambda: self._sum(other))

    def _sum(self, other):
        if self.polynomial is not None and other.polynomial is not None:
            terms = Counter(self.polynomial)
            for power, c in other.polynomial.items():
                terms[power] += c
            found = self.by_polynomial(terms)
            if found is not None:
                return found
        common = self.below | other.below
        above = map(max, zip(self.over(common), other.over(common), strict=True))
        return Degrees(above, common)

    def __sub__(self, other):
        return self + (-self.of(other))

    def __rsub__(self, other):
        return self.of(other) + (-self)

    def __mul__(self, other):
        other = self.of(other)
        if self.known == 0 or other.known == 0:
            return self.of(0)
        for one, two in ((self, other), (other, self)):
            if one.quotient is not None and one.quotient[1] is two:
                return one.quotient[0]
        return self._once("*", other, lambda: self._product(other))

    def _product(self, other):
        before = self.negated
        known = None if before is None else before.made.get(("*", id(other)))
        if known:
            return -known[0]
        result = self._plain_product(other)
        for one, two in ((self, other), (other, self)):
            if two.quotient is not None and two.quotient[0].known == 1:
                result.quotient = one, two.quotient[1]
        return result

    def _plain_product(self, other):
        if self.polynomial is not None and other.polynomial is not None:
            terms = Counter()
            for one, c in self.polynomial.items():
                for two, d in other.polynomial.items():
                    terms[tuple(map(sum, zip(one, two, strict=True)))] += c * d
            found = self.by_polynomial(terms)
            if found is not None:
                return found
        above = [a + b for a, b in zip(self.above, other.above, strict=True)]
        return Degrees(above, self.below + other.below)

    def __truediv__(self, other):
        other = self.of(other)
        return self._once("/", other, lambda: self._quotient(other))

    def _quotient(self, other):
        if other.known is not None:
            return self * (1 / other.known)
        # a/A over b/B is a B over A b; the numerator b is a factor of its own.
        bottom = Counter({(id(other), other.above): 1})
        up = other.below - (self.below & other.below)
        above = [
            degree + sum(factor[1][i] * times for factor, times in up.items())
            for i, degree in enumerate(self.above)
        ]
        result = Degrees(above, (self.below - other.below) + bottom)
        result.quotient = self, other
        return result

    def __rtruediv__(self, other):
        return self.of(other) / self

    __radd__, __rmul__ = __add__, __mul__

    def _compared(self, other):
        one, two = self.known, self.of(other).known
        one = self.sample if one is None else one
        if one is None or two is None:
            raise TypeError("a comparison of numbers that are not constants")
        return one, two

    def __lt__(self, other):
        a, b = self._compared(other)
        return a < b

    def __gt__(self, other):
        a, b = self._compared(other)
        return a > b

    def __le__(self, other):
        return not self > other

    def __ge__(self, other):
        return not self < other

    def __eq__(self, other):
        a, b = self._compared(other)
        return a == b

    __hash__ = object.__hash__


def _zero(a, b):
    return a + b, a * 0.0


# Kernels keep E from overflowing by taking it at no f above a limit.
LIMIT = 2.0**52


def smaller(a, b):
    """min(f, limit) of kernels for f up to the limit, which must be no smaller."""
    if not b >= LIMIT:
        raise ValueError(f"a limit of f below {LIMIT:g}")
    return a


NAMES = {
    "fma": lambda a, b, c: a * b + c, "two_sum": _zero, "fast_two_sum": _zero,
    "two_product": lambda a, b: (a * b, a * 0.0),
    "float": lambda x: x if isinstance(x, Exact | Degrees) else Exact(x),
    "min": smaller, "abs": abs,
}  # fmt: skip


def copies(instead=None):
    return Copies(NAMES, instead)


def same_function(kernel, reference, variables, constants=()):
    """Raise unless a kernel is a reference formula; return the number of points.

    Both take ``constants`` and then ``variables``, as `Exact` or `Degrees`, and return
    one number. A variable is a callable from i to its i-th point, all different, where
    both are finite.
    """
    n = len(variables)
    powers = [tuple(int(i == j) for j in range(n)) for i in range(n)]
    units = [Degrees(power, (), {power: Fraction(1)}) for power in powers]
    fixed = [units[0].of(c) for c in constants]
    difference = kernel(*fixed, *units) - reference(*fixed, *units)
    degrees = difference.over(difference.below)
    grids = [
        [Exact(point(i)) for i in range(degree + 1)]
        for point, degree in zip(variables, degrees, strict=True)
    ]
    exact = [Exact(Fraction(c)) for c in constants]
    count = 0
    for place in product(*grids):
        count += 1
        if kernel(*exact, *place) != reference(*exact, *place):
            where = ", ".join(str(x.value) for x in (*exact, *place))
            raise ValueError(f"not the formula: at {where}")
    return count
