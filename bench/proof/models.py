"""Taylor models: polynomials in the place within a box, with a bound of the rest.

A model stands for all functions g of t in [-1, 1]^n with |g(t) - P(t)| <= rest, P its
polynomial; arrays hold one model per box. Two models of one quantity know that they are
one: their difference is a rest alone, however wide the box. Every operation charges the
rounding of its own coefficients to the rest (notes/correct_rounding.md, section 20).
"""

import numpy as np
from numba import njit

UNIT = 2.0**-53
# Makes a sum of some hundred rounded terms >= 0 an upper bound.
OUTWARD = 1.0 + 2.0**-40
# More than the products of one operation lose by underflow, 2^-1075 each.
UNDERFLOW = 2.0**-1060


def worst(bounds):
    """Return the largest of some bounds, infinite where one is nan."""
    return float(np.max(np.where(np.isnan(bounds), np.inf, bounds), initial=0.0))


@njit(cache=True)
def _multiply(a, a_rest, b, b_rest, target, charge, out, out_rest):
    boxes, size = a.shape
    for box in range(boxes):
        lost = a_norm = b_norm = 0.0
        for i in range(size):
            a_norm += abs(a[box, i])
            b_norm += abs(b[box, i])
        for i in range(size):
            x = a[box, i]
            if x == 0.0:
                continue
            for j in range(size):
                product = x * b[box, j]
                k = target[i, j]
                if k < 0:
                    lost += abs(product)
                else:
                    out[box, k] += product
        rest = a_norm * b_rest[box] + (b_norm + b_rest[box]) * a_rest[box]
        rest += lost + charge * a_norm * b_norm
        out_rest[box] = rest * OUTWARD + UNDERFLOW


class Space:
    """Polynomials of some variables up to a degree: which product goes where."""

    def __init__(self, variables, degree):
        self.variables, self.degree = variables, degree
        powers = [()]
        for _ in range(variables):
            powers = [(*p, k) for p in powers for k in range(degree + 1 - sum(p))]
        self.powers = sorted(powers, key=lambda p: (sum(p), p))
        place = {power: i for i, power in enumerate(self.powers)}
        self.size = len(place)
        self.target = np.array(
            [
                [place.get(tuple(map(sum, zip(a, b, strict=True))), -1) for b in place]
                for a in place
            ],
            dtype=np.int64,
        )
        # A coefficient is a sum of at most ``size`` rounded products.
        self.charge = (self.size + 2) * UNIT

    def constant(self, value, boxes):
        coefficients = np.zeros((boxes, self.size))
        coefficients[:, 0] = value
        return Model(self, coefficients, np.zeros(boxes))

    def between(self, lower, upper, variable):
        """Return the model of a variable that runs from lower to upper."""
        middle = 0.5 * lower + 0.5 * upper
        radius = np.nextafter(np.maximum(upper - middle, middle - lower), np.inf)
        coefficients = np.zeros((len(middle), self.size))
        coefficients[:, 0] = middle
        unit = tuple(int(i == variable) for i in range(self.variables))
        coefficients[:, self.powers.index(unit)] = np.where(upper > lower, radius, 0.0)
        return Model(self, coefficients, np.zeros(len(middle)))


class Model:
    """A polynomial per box, and the largest distance from it."""

    __slots__ = ("coefficients", "rest", "space")

    def __init__(self, space, coefficients, rest):
        self.space, self.coefficients, self.rest = space, coefficients, rest

    def spread(self):
        """Return how far the model may be from its constant coefficient."""
        return (np.abs(self.coefficients[:, 1:]).sum(1) + self.rest) * OUTWARD

    def bounds(self):
        middle, spread = self.coefficients[:, 0], self.spread()
        slack = UNIT * (np.abs(middle) + spread)
        return middle - spread - slack, middle + spread + slack

    def largest(self):
        lower, upper = self.bounds()
        return np.maximum(np.abs(lower), np.abs(upper))

    def smallest(self):
        """Return a lower bound of the absolute value."""
        lower, upper = self.bounds()
        return np.maximum(0.0, np.maximum(lower, -upper))

    def wider(self, by):
        return Model(self.space, self.coefficients, (self.rest + by) * OUTWARD)

    def negative(self):
        return Model(self.space, -self.coefficients, self.rest)

    def plus(self, other):
        total = self.coefficients + other.coefficients
        lost = UNIT * np.abs(total).sum(1)
        return Model(self.space, total, (self.rest + other.rest + lost) * OUTWARD)

    def minus(self, other):
        return self.plus(other.negative())

    def times(self, other):
        space = self.space
        out, rest = np.zeros_like(self.coefficients), np.empty_like(self.rest)
        _multiply(
            self.coefficients, self.rest, other.coefficients, other.rest,
            space.target, space.charge, out, rest,
        )  # fmt: skip
        return Model(space, out, rest)

    def scaled(self, factor):
        """Return the product with a power of two."""
        return Model(
            self.space,
            self.coefficients * np.reshape(factor, (-1, 1)),
            self.rest * np.abs(factor) * OUTWARD + UNDERFLOW,
        )

    def reciprocal(self):
        """Return 1/self; an infinite rest where self may be 0.

        With self = c (1 + v), |v| <= e < 1: sum_k (-v)^k, and e^(d+1)/(1-e) more.
        """
        c = self.coefficients[:, 0]
        with np.errstate(all="ignore"):
            inverse = 1.0 / c
            # v is formed with c times a rounded inverse, 1 + g: the model of self/c
            # less one, all in models.
            exact = Model(self.space, self.coefficients, self.rest)
            one = self.space.constant(1.0, len(c))
            scale = self.space.constant(inverse, len(c))
            v = exact.times(scale).minus(one).negative()
            e = v.largest()
            total = one
            for _ in range(self.space.degree):
                total = v.times(total).plus(one)
            rest = e ** (self.space.degree + 1) / (1.0 - e) * OUTWARD
            bad = ~(e < 0.99) | ~np.isfinite(inverse)
            result = total.wider(np.where(bad, np.inf, rest)).times(scale)
        result.rest = np.where(bad, np.inf, result.rest)
        return result
