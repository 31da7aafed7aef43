"""Arithmetic of pairs of doubles as one number each, with bounds by theorems.

A pair high + low stands for a true number. Over each box it has the ends of the true
number, a bound of |high + low - true|, and one of |low|. An operation on pairs is one
step, whose own error is bounded by a theorem (notes/correct_rounding.md, section 22),
however wide the box: magnitudes alone count. What each operation must do for its
theorem to hold is in `THEOREMS`. U = 2^-53; FAR is more than products of ten factors
1 + U, and bounds are infinite where a box is too wide for a theorem.
"""

import numpy as np

U = 2.0**-53
FAR = 1.0 + 2.0**-40
LEAST = 2.0**-1073  # what two products may lose by underflow

THEOREMS = {
    "dd_add": """
def dd_add(a, a_low, b, b_low):
    high, low = two_sum(a, b)
    rest, rest_low = two_sum(a_low, b_low)
    high, low = fast_two_sum(high, low + rest)
    return fast_two_sum(high, low + rest_low)
""",
    "dd_multiply_double": """
def dd_multiply_double(a, a_low, b):
    high, low = two_product(a, b)
    return fast_two_sum(high, fma(a_low, b, low))
""",
    "product_pair": """
def product_pair(a, a_low, b, b_low):
    high = a * b
    return high, fma(a, b, -high) + fma(a, b_low, a_low * b)
""",
    "sum_pair": """
def sum_pair(a, a_low, b, b_low):
    high, low = fast_two_sum(a, b)
    return high, low + (a_low + b_low)
""",
    "_division": """
def _division(a, a_low, b, b_low):
    reciprocal = 1.0 / b
    r = a * reciprocal
    return r, fma(-r, b_low, fma(-r, b, a) + a_low), reciprocal
""",
    "quotient_pair": """
def quotient_pair(a, a_low, b, b_low):
    r, rest, reciprocal = _division(a, a_low, b, b_low)
    return r, rest * reciprocal
""",
}
INVERSE = {
    "inverse_pair": """
def inverse_pair(g):
    inverse = 1.0 / g
    return inverse, fma(-inverse, g, 1.0) * inverse
""",
}


class Pair:
    """The first word of a pair; the pair as a number.

    Per box it has the ends of the true number, a bound of the pair's ``error`` and of
    its second word, ``low``. In a ``normal`` pair the second word is at most U times
    the first, at every point.
    """

    def __init__(self, lower, upper, error=0.0, low=0.0, normal=False):
        lower, upper, self.error, self.low = np.broadcast_arrays(
            np.asarray(lower, float), np.asarray(upper, float), error, low
        )
        slack = 2.0**-40
        self.lower, self.upper = lower - slack * abs(lower), upper + slack * abs(upper)
        self.normal = normal
        self.second = Second(self)
        self.negated = None

    @classmethod
    def double(cls, lower, upper):
        """Return an exact double: its second word is 0."""
        return cls(lower, upper, normal=True)

    def largest(self):
        """Return a bound of the first word."""
        most = np.maximum(np.abs(self.lower), np.abs(self.upper))
        return (most + self.error + self.low) * FAR

    def smallest(self):
        """Return a lower bound of the first word's absolute value."""
        least = np.maximum(self.lower, -self.upper)
        return np.maximum(0.0, least - (self.error + self.low) * FAR)

    def __neg__(self):
        if self.negated is None:
            self.negated = Pair(
                -self.upper, -self.lower, self.error, self.low, self.normal
            )
            self.negated.negated = self
        return self.negated

    def __add__(self, number):
        """Return an exact sum: of what is a double with a whole number."""
        if np.any(self.low):
            raise TypeError("a sum outside pairs")
        return Pair.double(self.lower + number, self.upper + number)

    def __rmul__(self, factor):
        return Multiple(factor, self)


class Second:
    """The second word of a pair."""

    def __init__(self, pair):
        self.pair = pair

    def __neg__(self):
        return (-self.pair).second


class Multiple:
    """A number times the first word of a pair."""

    def __init__(self, factor, pair):
        self.factor, self.pair = factor, pair


def joined(high, low):
    """Return the pair of two words."""
    if not isinstance(high, Pair):
        high = Pair.double(high, high)
    if isinstance(low, Second):
        if low.pair is not high:
            raise TypeError("words of two pairs")
    elif low != 0.0 or np.any(high.low):
        raise TypeError("a second word that is not the pair's")
    return high


def words(lower, upper, error, low, normal=False):
    pair = Pair(lower, upper, error * FAR, low * FAR, normal)
    return pair, pair.second


def _magnitude(lower, upper, error):
    return np.maximum(np.abs(lower), np.abs(upper)) + error


def _hull(*every):
    return np.minimum.reduce(every), np.maximum.reduce(every)


def _products(a, b):
    return _hull(
        a.lower * b.lower, a.lower * b.upper, a.upper * b.lower, a.upper * b.upper
    )


def _same_sign(x):
    return (x.lower >= 0.0) | (x.upper <= 0.0)


def unless(holds, error):
    """Return an error where a condition holds, else an infinite one."""
    return np.where(holds, error, np.inf)


def fast_two_sum(a, b):
    """Rule of the sum of two doubles, exact, and of a pair that is made normal."""
    if isinstance(b, Second):
        pair = joined(a, b)
        error = unless(pair.low <= pair.smallest(), pair.error)
        low = U * pair.largest()
        return words(pair.lower, pair.upper, error, low, normal=True)
    a, b = joined(a, 0.0), joined(b, 0.0)
    error = unless(a.smallest() >= b.largest(), 0.0)
    lower, upper = a.lower + b.lower, a.upper + b.upper
    return words(lower, upper, error, U * _magnitude(lower, upper, 0.0), normal=True)


def dd_add(a, a_low, b, b_low):
    """Rule: |error| <= 10 U c, c a bound of all second words.

    The words of a sum: the rounding error of high, those of a and b. Each of two sums
    of them is rounded, and each fast_two_sum, exact for |a| >= |b|, loses at most 2 U
    of its second summand otherwise.
    """
    a, b = joined(a, a_low), joined(b, b_low)
    lower, upper = a.lower + b.lower, a.upper + b.upper
    error = a.error + b.error
    c = U * (a.largest() + b.largest()) + a.low + b.low
    most = _magnitude(lower, upper, error + 10.0 * U * c)
    return words(lower, upper, error + 10.0 * U * c, U * most + 4.0 * U * c)


def dd_multiply_double(a, a_low, b):
    """Rule: |error| <= 3 U c, c a bound of what is added to the first product."""
    a, b = joined(a, a_low), joined(b, 0.0)
    lower, upper = _products(a, b)
    c = b.largest() * (a.low + U * a.largest())
    error = a.error * b.largest() + 3.0 * U * c + LEAST
    # c is smaller than the product wherever a's second word is smaller than its first.
    normal = bool(np.all(a.low <= 0.25 * a.smallest()))
    low = U * _magnitude(lower, upper, error) + (0.0 if normal else c)
    return words(lower, upper, error, low + LEAST, normal)


def product_pair(a, a_low, b, b_low):
    """Rule: |error| <= |a_low b_low| + 5 U (the second word)."""
    a, b = joined(a, a_low), joined(b, b_low)
    lower, upper = _products(a, b)
    x, y = a.largest(), b.largest()
    low = U * x * y + x * b.low + a.low * y
    error = a.error * (y + b.low + b.error) + b.error * (x + a.low)
    error = error + a.low * b.low + 5.0 * U * low + LEAST
    return words(lower, upper, error, low + LEAST)


def sum_pair(a, a_low, b, b_low):
    """Rule: |error| <= 3 U c, c a bound of all second words.

    fast_two_sum is exact for |a| >= |b|; and for a and b of two signs with |b| <= 2
    |a|, by Sterbenz.
    """
    a, b = joined(a, a_low), joined(b, b_low)
    opposite = (a.lower >= 0.0) & (b.upper <= 0.0) | (a.upper <= 0.0) & (b.lower >= 0.0)
    ordered = b.largest() <= np.where(opposite, 2.0, 1.0) * a.smallest()
    lower, upper = a.lower + b.lower, a.upper + b.upper
    c = U * (a.largest() + b.largest()) + a.low + b.low
    lost = np.where(ordered, 0.0, 2.0 * U * b.largest())
    error = a.error + b.error + 3.0 * U * c + lost
    return words(lower, upper, error, c + lost)


@np.errstate(all="ignore")
def quotient_pair(a, a_low, b, b_low):
    """Rule: |error| <= (6 U + 2 |b_low/b|) s, s a bound of the second word.

    r = a (1/b) is off by 2 U and a little; so s = (3 U |a| + |a_low| + |r b_low|)/|b|.
    """
    a, b = joined(a, a_low), joined(b, b_low)
    least = b.smallest()
    lower, upper = _products(a, Pair(1.0 / b.upper, 1.0 / b.lower))
    r = a.largest() / least
    low = (3.0 * U * a.largest() + a.low + r * b.low + LEAST) / least
    error = (a.error + (r + a.low / least) * b.error) / (least - b.low - b.error)
    error = error + (6.0 * U + 2.0 * b.low / least) * low + LEAST / least
    error = unless(_same_sign(b) & (least > b.low + b.error), error)
    return words(lower, upper, error, low)


@np.errstate(all="ignore")
def inverse(g):
    """Rule: |error| <= 3 U^2/g."""
    g = joined(g, 0.0)
    least = g.smallest()
    error = unless(_same_sign(g) & (least > 0.0), 3.0 * U * U / least)
    return words(1.0 / g.upper, 1.0 / g.lower, error, U / least)
