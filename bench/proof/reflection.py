"""FORWARD_REAL: r by reflection and contiguity, in the arithmetic of `pair_rules`.

The logarithm, the exponential, the sine and the fraction come with the bounds that
`parts` proves; here they are functions that may be off by these. Boxes of f = n + d and
p may be wide, for only magnitudes count.
"""

import functools
from fractions import Fraction

import numpy as np

from bench.proof import exact, pair_rules, parts, rebind
from bench.proof.boxes import before, ends_of, ends_through, with_f
from bench.proof.pair_rules import Multiple, Pair, joined, words
from bench.proof.prover import tested, usable
from bench.proof.rebind import Copies
from riskcore.core.special import double_double, floats, near_one
from riskcore.core.special.gauss import (
    fast_integer as risk_pairs,
)
from riskcore.core.special.gauss import (
    fast_real as real_pairs,
)

CHUNK = 100_000  # boxes at once
# f - n is exact, n being the nearest whole number.
FORWARD = {
    "forward_real": """
def forward_real(f, p):
    n = (f + _TWO_52) - _TWO_52
    return by_reflection(n, f - n, p)
"""
}


def check_theorems():
    """Raise unless exact sums and products, and operations on pairs, are the proved."""
    rebind.check(floats, rebind.THEOREMS)
    rebind.check(double_double, pair_rules.THEOREMS)
    rebind.check(real_pairs, pair_rules.INVERSE)
    rebind.check(real_pairs, FORWARD)
    if real_pairs._TWO_52 != 2.0**52:
        raise ValueError("a number that is added to round, and does not")


# --- the parts -----------------------------------------------------------------------


def logarithm(copy, v, v_low):
    """Return log p/q, v the pair that quotient_pair made of p and q."""
    v, part = joined(v, v_low), parts.of_log_of_odds().raised()
    lower, upper = parts.widened(np.log(v.lower), np.log(v.upper))
    largest = np.maximum(np.abs(lower), np.abs(upper))
    low = np.minimum(part.share * largest, part.low)
    return words(lower, upper, part.error, low)


def exponentials(copy, y, y_low):
    """Return exp y and exp y - 1."""
    y = joined(y, y_low)
    if not y.normal or np.any(y.largest() > parts.Y_MOST):
        raise ValueError("an exponential of what no bound is known of")
    found = []
    off = y.error * np.exp(y.upper + y.error) * (1.0 + parts.SLACK)
    for part, function in zip(parts.of_exponential(), (np.exp, np.expm1), strict=True):
        lower, upper = parts.widened(function(y.lower), function(y.upper))
        largest = np.maximum(np.abs(lower), np.abs(upper)) + off
        part = part.raised()
        error = off + part.error * largest
        found += words(lower, upper, error, part.share * (largest + error))
    return tuple(found)


def sine_deficit(copy, d):
    """Return (1 - s)/d^2, which falls with |d|."""
    d, part = joined(d, 0.0), parts.of_sine().raised()
    # Between 1.45 at |d| = 1/2 and pi^2/6; pi^2/6 - 0.82 d^2 and more.
    far = np.maximum(np.abs(d.lower), np.abs(d.upper))
    upper = np.full_like(far, np.pi**2 / 6.0 * (1.0 + parts.SLACK))
    lower = np.pi**2 / 6.0 - 0.82 * far * far
    return words(lower, upper, part.error * upper, part.share * upper)


def reflected_fraction(copy, d, p, q, q_low):
    """Return S = p/D(1-d, q)."""
    d, p, part = joined(d, 0.0), joined(p, 0.0), parts.of_fraction().raised()
    joined(q, q_low)
    lower, upper = parts.ends_of_fraction(d.lower, d.upper, p.lower, p.upper)
    lower, upper = lower * p.lower, upper * p.upper
    return words(lower, upper, part.error * upper, part.share * upper)


INSTEAD = {
    real_pairs.log_of_odds: logarithm,
    near_one.exponentials: exponentials,
    real_pairs.sine_deficit: sine_deficit,
    real_pairs.reflected_fraction: reflected_fraction,
    real_pairs.inverse_pair: lambda copy, g: pair_rules.inverse(g),
    **{
        getattr(double_double, name): lambda copy, *words, name=name: getattr(
            pair_rules, name
        )(*words)
        for name in (
            "dd_add", "dd_multiply_double", "product_pair", "sum_pair", "quotient_pair",
        )
    },
}  # fmt: skip


# --- boxes and their bounds ----------------------------------------------------------


def boxes_of(n, sign):
    """Return the boxes (f from, f to, p from, p to), f = n + d, d of one sign.

    There are none below f = 0 and above 16.
    """
    if n + sign in (-1.0, 17.0):
        return np.empty((0, 4))
    # d log p is large where both are. The doubles next to n >= 1 are 2^-53 off.
    d = np.append(2.0 ** np.arange(-53, -8), np.linspace(2.0**-8, 0.5, 128))
    f = np.unique(n + sign * d)
    f = ends_through(f[f != n])
    most = risk_pairs.P_FORWARD
    p = np.append(2.0 ** np.arange(-900, -8), np.geomspace(2.0**-8, most, 41)[:-1])
    p = ends_of(np.append(p, most))
    if n == 0:
        # p^f is nearly 1.
        tiny = ends_of(2.0 ** np.arange(-900, -52))
        every = [(risk_pairs.RARE, before(most))]
        return np.concatenate([with_f(tiny, every), with_f(f, p)])
    if n == 1:
        return with_f(f, p)
    # For small p, v T is negligible against 1/(f - 1).
    nearest = f[0, 0] if sign > 0 else f[-1, 1]
    few = ends_through([nearest, *(n + sign * x for x in (2.0**-30, 2.0**-8, 0.5))])
    small = p[:, 0] < 2.0**-64
    return np.concatenate([with_f(few, p[small]), with_f(f, p[~small])])


@np.errstate(all="ignore")  # boxes too wide have no bound
def _run(n, d, p):
    """Return r as a pair, and what is claimed of its error."""
    kernel = Copies({"fast_two_sum": pair_rules.fast_two_sum}, INSTEAD)
    high, low, error = kernel.of(real_pairs.by_reflection)(float(n), d, p)
    pair = joined(high, low)
    if not isinstance(error, Multiple) or error.pair is not pair:
        raise TypeError("an error that is not a multiple of the result")
    return pair, error.factor


def bounds(n, boxes):
    """Return bound/claimed and bound/result, and result/claimed, per box."""
    found = []
    for first in range(0, len(boxes), CHUNK):
        f_low, f_high, p_low, p_high = boxes[first : first + CHUNK].T
        # f - n is exact.
        d, p = Pair.double(f_low - n, f_high - n), Pair.double(p_low, p_high)
        r, factor = _run(n, d, p)
        with np.errstate(all="ignore"):
            claimed = factor * r.smallest()
            lost = tested(r.error, r.low, factor * r.largest())
            words = r.smallest(), r.low, claimed
            of_claim = usable(lost / claimed, boxes[first : first + CHUNK], *words)
            rows = [of_claim, lost / r.smallest(), r.largest() / claimed]
        found.append([np.where(np.isnan(row), np.inf, row) for row in rows])
    return tuple(np.concatenate(rows) for rows in zip(*found, strict=True))


# --- the formula ---------------------------------------------------------------------


def _names(log, deficit, fraction):
    """Return what the parts are in exact arithmetic: free, with all that they are of.

    exp y is y: so its argument is seen; those of the others are factors.
    """
    return {
        real_pairs.log_of_odds: lambda copy, v, v_low: (log * v, v * 0),
        near_one.exponentials: lambda copy, y, y_low: (y, y * 0, y - 1, y * 0),
        real_pairs.sine_deficit: lambda copy, d: (deficit * d, d * 0),
        real_pairs.reflected_fraction: lambda copy, d, p, q, q_low: (
            fraction * (d + 2 * p + 3 * q),
            d * 0,
        ),
    }


@functools.cache
def formula(n):
    """Prove that the kernel is its formula, the parts being any numbers."""
    parts.fraction_formula()

    def run(d, p, log, deficit, fraction):
        kernel = exact.copies(_names(log, deficit, fraction))
        whole = exact.Exact(n) if isinstance(d, exact.Exact) else d.of(n)
        r, r_low, _ = kernel.of(real_pairs.by_reflection)(whole, d, p)
        return r + r_low

    def reference(d, p, log, deficit, fraction):
        v = p / (1 - p)
        power, s = d * (log * v), 1 - d * d * (deficit * d)
        tail = fraction * (d + 2 * p + 3 * (1 - p))
        # d r(d) = power/s - d S, and r(1 + d) from it.
        least = power / s - d * tail
        if n == 0:
            return least / d
        found = (1 - least) / d
        for m in range(1, n):
            found = 1 / (d + m) - v * found
        return v * found

    points = [
        lambda i: Fraction(1, i + 3),
        lambda i: Fraction(2, i + 7),
        lambda i: Fraction(i - 1, 5),
        lambda i: Fraction(i + 1, 11),
        lambda i: Fraction(i - 2, 13),
    ]
    return exact.same_function(run, reference, points)
