"""What is claimed of every fast path, as the source states it, and where.

A claim is a kernel that gives a result as a pair of doubles with a bound of its error,
and the boxes that cover its region. Its proof has three parts: the roundings over boxes
(``tape.py``), what the formula leaves out (``series.py``, ``fraction.py``), and that
the kernel computes the formula (``exact.py``).
"""

import functools
from collections.abc import Callable
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from flint import arb, arb_series

from bench.proof import exact, fraction, prover, reflection
from bench.proof.bound import copies
from bench.proof.boxes import (
    before,
    by_binades,
    down_to,
    even,
    geometric,
    near_one_boxes,
    whole,
    with_f,
)
from bench.proof.parts import log_left_out
from bench.proof.series import left_out
from bench.proof.tape import Number, projective, same
from riskcore.core.special import elementary
from riskcore.core.special.gauss import (
    fast_integer as risk_pairs,
)
from riskcore.core.special.gauss import (
    fast_real as real_pairs,
)
from riskcore.core.special.gauss import (
    risk_blocks,
)


class Claim(NamedTuple):
    """A kernel, where it is used, and what else its error has than roundings."""

    region: str
    where: str
    boxes: np.ndarray  # rows (f from, f to, p from, p to)
    bounds: Callable[..., Any]  # (boxes) -> shares, relative bounds, see prover.py
    left: Callable[..., Any]  # (boxes) -> what the formula leaves out, relative to r
    formula: Callable[[], int]  # proves that the kernel is it; returns points tried


# --- the logarithm -------------------------------------------------------------------


def charged(number, error):
    """Return a number with one more part in its distance from what it stands for."""
    error = np.broadcast_to(np.asarray(error, float), (number.tape.boxes,))
    return Number(
        number.tape, number.model.wider(error), ((number, same),), number.grid, error,
        ends=number.ends, power=number.power,
    )  # fmt: skip


def log_with_error(copy, x):
    """Run log_pair, and charge what its formula leaves out."""
    high, low = copy(x.lowered() if x.power else x)
    return high, charged(low, log_left_out(elementary.log_pair))


# --- the way of a cell ---------------------------------------------------------------

# All kernels of levels are made of the code of these two.
LEVELS = risk_pairs._downwards(1, 1).__code__, real_pairs.positive(1, 1).__code__


def way(make, region, instead):
    """Return (f, p) -> (high, low, error), the copy of what cells of a region take."""
    kernel = make(instead).of(risk_blocks.pair_of_region)
    return lambda f, p: kernel(region, f, p)


def program_of(region, of_f=False):
    """Return the program of a region: (tape, boxes) -> (high, low, error).

    ``of_f``: r is known relative to 1/f, not to p.
    """
    instead = dict.fromkeys(LEVELS, projective)
    instead[elementary.log_pair] = log_with_error
    kernel = way(copies, region, instead)

    def program(tape, boxes):
        f_low, f_high, p_low, p_high = boxes.T
        if np.all(f_low == f_high):
            f = tape.constant(f_low)
        else:
            f = tape.input(f_low, f_high, 1)
        p = tape.input(p_low, p_high, 0)
        return kernel(tape.relative(f), p) if of_f else kernel(f, tape.relative(p))

    return program


# --- formulas ------------------------------------------------------------------------


def _none(boxes):
    return np.zeros(len(boxes))


def contiguity(n, p, log):
    """Return r(n, p) from log p: r(1) = -v log p, r(m+1) = v (1/m - r(m))."""
    v = p / (1 - p)
    r = -(v * log)
    for m in range(1, n):
        r = v * (Fraction(1, m) - r)
    return r


def logarithm_formula(region, n):
    """Prove that a region computes r(n, p) from log p, in two parts, by contiguity."""

    def formula():
        def run(p, high, low):
            f = n if isinstance(p, exact.Exact) else p.of(n)
            log = {elementary.log_pair: lambda copy, x: (high, low)}
            kernel = way(exact.copies, region, log)
            r, r_low, _ = kernel(exact.Exact(f) if f is n else f, p)
            return r + r_low

        def reference(p, high, low):
            return contiguity(n, p, high + low)

        points = (
            lambda i: Fraction(1, i + 3),
            lambda i: Fraction(-i - 1, 7),
            lambda i: Fraction(i - 1, 11),
        )
        return exact.same_function(run, reference, points)

    return formula


@functools.cache
def fraction_formula(region, levels):
    """Prove that a region computes p/D with the fraction of the given levels."""

    @functools.cache
    def formula():
        kernel = way(exact.copies, region, {})

        def run(f, p):
            r, r_low, _ = kernel(f, p)
            return r + r_low

        def reference(f, p):
            return p / fraction.denominator(f, p, levels)

        points = (lambda i: Fraction(2 * i + 37, 2), lambda i: Fraction(1, i + 2))
        return exact.same_function(run, reference, points)

    return formula


def fraction_left(levels):
    def left(boxes):
        f_low, f_high, p_low, p_high = boxes.T
        cut = fraction.cut((f_low, f_high), (p_low, p_high), levels)
        # Past exact.LIMIT kernels take E of a smaller f: both lie in [0, 1/LIMIT].
        return cut + np.where(f_high > exact.LIMIT, exact.LIMIT**-2, 0.0)

    return left


# --- f = 1, 2, 3, p near 1 -----------------------------------------------------------


def near_one_truth(n):
    """Return r(n, p) as a power series in p near 1 (individual_risk.md, section 8)."""

    def truth(p):
        one = arb_series([1])
        z = (one - p) / (one + p)
        w = z * z
        terms = 90  # what follows is below w^terms/(1 - w), w <= 1/49: see BEYOND
        a = arb_series([0])
        for j in range(terms, -1, -1):
            a = a * w + arb(1) / (2 * j + 3)
        m = one - z
        if n == 1:
            return m * (one + w * a)
        if n == 2:
            return m / 2 * (one - z * m * a)
        return m / 4 * (one + m * m * a)

    return truth


# More than the terms after the first 90 make of r.
BEYOND = 2.0**-300


def near_one_left(boxes):
    found = []
    for f, _, lower, upper in boxes:

        def run(copier, p, f=f):
            kernel = copier.of(risk_blocks.pair_of_region)
            high, low, _ = kernel(risk_pairs.NEAR_ONE, f, p)
            return high + low

        least = lower / f  # r >= p/f
        found.append(left_out(run, near_one_truth(int(f)), lower, upper) / least)
    return np.array(found) * (1.0 + 1e-9) + BEYOND


@functools.cache
def backward_formula(below_one):
    """Prove that BACKWARD_REAL computes its formula with the fraction of 39 levels."""

    @functools.cache
    def formula():
        kernel = way(exact.copies, risk_pairs.BACKWARD_REAL, {})
        sample = Fraction(1, 3) if below_one else Fraction(7, 3)

        def run(f, p):
            if isinstance(f, exact.Degrees):
                f.sample = sample
            r, r_low, _ = kernel(f, p)
            return r + r_low

        def reference(f, p):
            g = f + 1 if below_one else f
            x = fraction.positive_levels(g, p, 39)
            w = p + (1 - p) * x / (g + x)
            if below_one:
                return (p * f + w) / (f * (f + w))
            return p / (f - 1 + w)

        first = 0 if below_one else 1
        points = (
            lambda i: first + Fraction(1, i + 2) + (0 if below_one else i),
            lambda i: Fraction(1, i + 2),
        )
        return exact.same_function(run, reference, points)

    return formula


def backward_left(boxes):
    f_low, f_high, p_low, p_high = boxes.T
    up = np.where(f_high < 1.0, 1.0, 0.0)
    return fraction.cut_of_first((f_low + up, f_high + up), (p_low, p_high), 39)


def no_formula():
    return 0


# --- the claims ----------------------------------------------------------------------


def of_risk():
    """Return the claims of the pairs of ``individual_risk``."""
    r = risk_pairs
    claims = []

    def add(name, where, boxes, left, formula, of_f=False, degree=6):
        program = program_of(getattr(r, name), of_f)
        bounds = functools.partial(prover.bounds, program, degree=degree)
        claims.append(Claim(name, where, boxes, bounds, left, formula))

    for name, numbers, upper in (
        ("ONE", [1], r.P_NEAR_ONE),
        ("SMALL", [1, 2, 3, 4], r.P_NEAR_ONE),
        ("FORWARD_15", range(5, 16), r.P_HALF),
    ):
        p = by_binades(r.RARE, upper, 4)
        for n in numbers:
            formula = logarithm_formula(getattr(r, name), n)
            add(name, f"f = {n}, p < {upper:g}", whole([n], p), _none, formula)
    p = near_one_boxes(r.P_NEAR_ONE, 8)
    for n in (1, 2, 3):
        where = f"f = {n}, p >= {r.P_NEAR_ONE:g}"
        add("NEAR_ONE", where, whole([n], p), near_one_left, no_formula)
    formula = fraction_formula(r.LEVELS, 23)
    for n in range(4, 16):
        lower = r.P_NEAR_ONE if n == 4 else r.P_HALF
        boxes = whole([n], even(lower, 1.0, 16))
        add("LEVELS", f"f = {n}, p >= {lower:g}", boxes, fraction_left(23), formula)
    for name, levels, f in (
        ("FROM_16", 35, geometric(16.0, 32.0, 1.04)),
        ("FROM_32", 17, geometric(32.0, r.F_HUGE, 1.04)),
    ):
        if f[-1, 1] == before(r.F_HUGE):
            f[-1, 1] = r.F_HUGE
        boxes = with_f(f, down_to(r.RARE, 16))
        where = f"{f[0, 0]:g} <= f < {f[-1, 1]:g}"
        formula = fraction_formula(getattr(r, name), levels)
        add(name, where, boxes, fraction_left(levels), formula, degree=4)
    formula = fraction_formula(r.LEVELS_REAL, 35)
    for f, p in (
        (geometric(r.F_BACKWARD, 16.0, 1.02), even(r.P_FORWARD, 1.0, 32)),
        (geometric(2.0, r.F_BACKWARD, 1.02), even(r.P_HALF, 1.0, 24)),
    ):
        where = f"{f[0, 0]:g} <= f < {f[-1, 1]:g}, p >= {p[0][0]:g}"
        boxes = with_f(f, p)
        add("LEVELS_REAL", where, boxes, fraction_left(35), formula)
    p = even(r.P_FORWARD, 1.0, 32)
    for f, below_one in (
        (np.array([(r.RARE, before(2.0**-10))]), True),
        (
            np.concatenate([geometric(2.0**-10, 0.5, 1.1), geometric(0.5, 1.0, 1.04)]),
            True,
        ),
        (geometric(1.0, r.F_BACKWARD, 1.02), False),
    ):
        where = f"{f[0, 0]:g} <= f < {f[-1, 1]:g}, p >= {p[0][0]:g}"
        formula = backward_formula(below_one)
        of_f = len(f) == 1
        add("BACKWARD_REAL", where, with_f(f, p), backward_left, formula, of_f)
    return claims + of_reflection()


def of_reflection():
    """Return the claims of FORWARD_REAL, one for each n and sign of f - n."""
    claims = []
    for n in range(17):
        for sign in (1.0, -1.0):
            boxes = reflection.boxes_of(n, sign)
            if not len(boxes):
                continue
            least, most = boxes[:, :2].min(), boxes[:, :2].max()
            where = f"{least:.4g} <= f <= {most:.4g}, p < {risk_pairs.P_FORWARD:g}"
            bounds = functools.partial(reflection.bounds, n)
            formula = functools.partial(reflection.formula, n)
            claims.append(Claim("FORWARD_REAL", where, boxes, bounds, _none, formula))
    return claims
