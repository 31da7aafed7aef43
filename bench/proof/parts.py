"""Parts of the kernels that are functions by themselves, with bounds of their own.

The logarithm of all regions; for FORWARD_REAL the logarithm of p/q, the exponential,
the sine and the fraction. Each bound holds roundings, by the tape over boxes of one
variable or two, and what the formula leaves out.
"""

import functools
import itertools
import math
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from flint import arb, arb_series, ctx

from bench.proof import exact, fraction, series
from bench.proof import tape as recorded
from bench.proof.bound import NAMES, Runs, copies
from bench.proof.boxes import FIRST, by_binades, ends_of, halves
from bench.proof.models import worst
from bench.proof.rebind import Copies
from bench.proof.series import in_exponent, left_out
from bench.proof.tape import NO_GRID, SCALE, Number, aligned, projective, same
from riskcore.core.special import elementary, near_one
from riskcore.core.special.double_double import quotient_pair
from riskcore.core.special.floats import fast_two_sum, from_bits
from riskcore.core.special.gauss import (
    fast_integer as risk_pairs,
)
from riskcore.core.special.gauss import (
    fast_real as real_pairs,
)


class Part(NamedTuple):
    """Bounds of what a pair is off by, and of its second word relative to the first."""

    error: float
    share: float
    low: float = math.inf  # of the second word itself

    def plus(self, left_out):
        return self._replace(error=self.error + left_out)

    def raised(self):
        """Return slightly larger bounds, which hold for slightly worse kernels too."""
        return Part(*(RAISED * bound for bound in self))


RAISED = 1.0 + 2.0**-10
# NumPy's exp and log are off by a few units of the last place.
SLACK = 2.0**-40
ENOUGH = 2.0**-66  # of a relative error: boxes are cut above it
Y_MOST = 313.0  # |d log v|, |d| <= 1/2, p >= 2^-900


def widened(lower, upper):
    """Return ends that hold what rounded functions gave."""
    return lower - SLACK * np.abs(lower), upper + SLACK * np.abs(upper)


def pair_of(tape, number, share):
    """Return a number as a pair, whose second word is at most a share of the first.

    The first word is off by what the second one tells.
    """
    size = share * number.largest() * (1.0 + share)
    lower, upper = number.ends[0] - size, number.ends[1] + size
    grid = recorded.exponent(smallest(lower, upper)) - 52
    high = Number(
        tape, number.model.wider(size), ((number, same),), np.maximum(grid, -1074),
        size, ends=(lower, upper),
    )  # fmt: skip
    return high, recorded._error_of(high, NO_GRID)


def sum_of(tape, high, low):
    high, low = aligned(tape.constant(high), tape.constant(low))
    parents = (high, same), (low, same)
    return Number(tape, high.model.plus(low.model), parents, NO_GRID, power=high.power)


def measured(program, boxes, variables, degree, scale=SCALE):
    """Return, per box, bounds of a pair's error, its ends, and low/high.

    ``program(tape, boxes)`` returns the pair; the ends are those of high + low.
    """
    error, share = np.zeros(len(boxes)), np.zeros(len(boxes))
    lower, upper = np.full(len(boxes), np.inf), np.full(len(boxes), -np.inf)
    for indices, tape, (high, low) in Runs(program, variables, degree, scale).over(
        boxes
    ):
        total = sum_of(tape, high, low)
        high, low = tape.constant(high), tape.constant(low)
        error[indices] = np.maximum(error[indices], tape.bound(total))
        with np.errstate(all="ignore"):
            ratio = low.largest() / high.smallest()
        share[indices] = np.fmax(share[indices], ratio)
        least, most = total.model.bounds()
        lower[indices] = np.minimum(lower[indices], least)
        upper[indices] = np.maximum(upper[indices], most)
    return error, lower, upper, share


def relative_part(program, boxes, enough):
    """Return the part of a pair of one variable, its error relative to it.

    Boxes are halved while their bound is above ``enough``, nine times at most, and
    while they do not become more.
    """
    largest, shares, most = 0.0, 0.0, len(boxes)
    for depth in range(10):
        error, lower, upper, share = measured(program, boxes, 1, 6)
        relative = error / smallest(lower, upper)
        again = ~(relative <= enough) & (depth < 9)
        if 2 * again.sum() > most:
            again[:] = False
        largest = max(largest, worst(relative[~again]))
        shares = max(shares, worst(share[~again]))
        if not again.any():
            break
        boxes = halves(boxes[again])
    return Part(largest, shares)


def smallest(lower, upper):
    return np.maximum(0.0, np.maximum(lower, -upper))


# --- the logarithm -------------------------------------------------------------------

# The smallest exponent of the regions' p.
LOWEST = -960


# The kernels of the logarithm: their further arguments, and pieces of their mantissas.
SCALED_BY = {elementary.log_pair: (), elementary.log_high_low: (0.0,)}
HALF = from_bits(elementary._SQRT_HALF_BITS)
MANTISSAS = {
    elementary.log_pair: [*FIRST, 2.0 * FIRST[0]],
    elementary.log_high_low: [*np.linspace(HALF, 2.0 * HALF, 5)],
}


def _log(kernel):
    def run(copier, z):
        high, low = copier.of(kernel)(z, *SCALED_BY[kernel])
        return low + high

    return run


@functools.cache
def log_left_out(kernel, pieces=8):
    """Return a bound of |kernel - log x|, exact arithmetic, for x >= 2^LOWEST.

    It is taken at the first and the last exponent: the kernel is linear in it.
    """
    worst = 0.0
    for low, high in itertools.pairwise(MANTISSAS[kernel]):
        for lower, upper in ends_of(np.linspace(low, high, pieces + 1)):
            for k in (0, LOWEST):

                def truth(z, k=k):
                    return z.log() + k * arb.const_log2()

                worst = max(worst, left_out(_log(kernel), truth, lower, upper, k))
            linear_in_exponent(kernel, lower, upper)
    return worst


def linear_in_exponent(kernel, lower, upper):
    """Raise unless a kernel of the logarithm is linear in the exponent."""
    found = in_exponent(_log(kernel), lower, upper)
    if any(coefficient != 0 for coefficient in found):
        raise ValueError(f"{kernel.__name__} is not linear in the exponent")


def next_to_one(first, last):
    """Return boxes of x with 2^-last <= |x - 1| <= 2^-first, four to a binade."""
    binades = [np.linspace(2.0**-k, 2.0 ** -(k + 1), 5) for k in range(first, last)]
    off = np.concatenate([np.stack([one[1:], one[:-1]], axis=1) for one in binades])
    return np.concatenate([1.0 - off[:, ::-1], 1.0 + off])


@functools.cache
def of_logarithm(kernel, closest):
    """Return the bounds of log x, 2^-960 <= x <= 2^960, relative to it.

    x is no nearer to 1 than 2^-closest. ``kernel`` is `log_pair` or `log_high_low`.
    """

    def program(tape, boxes):
        x = tape.input(boxes[:, 2], boxes[:, 3], 0)
        return copies().of(kernel)(x, *SCALED_BY[kernel])

    near = next_to_one(3, closest)
    far = np.concatenate([by_binades(2.0**LOWEST, 0.5, 4), by_binades(0.5, 2.0, 16)])
    far = np.concatenate([far, by_binades(2.0, 2.0**-LOWEST, 4)])
    far = far[(far[:, 1] <= 0.875) | (far[:, 0] >= 1.125)]
    found = relative_part(program, one_variable(np.concatenate([near, far])), ENOUGH)
    left = log_left_out(kernel) / math.log(1.125)
    for lower, upper in near.tolist():
        off = left_out(_log(kernel), arb_series.log, lower, upper)
        left = max(left, off / min(abs(math.log(lower)), abs(math.log(upper))))
    return found.plus(left * (1.0 + SLACK))


def one_variable(boxes):
    """Return boxes of one variable as the second of two, the first being 1."""
    boxes = np.asarray(boxes, float)
    return np.hstack([np.ones_like(boxes), boxes])


def log_of_odds(copier, p):
    """Return log p/q as FORWARD_REAL does it."""
    q, q_low = copier.of(fast_two_sum)(1.0, -p)
    v, v_low = copier.of(quotient_pair)(p, 0.0, q, q_low)
    return copier.of(real_pairs.log_of_odds)(v, v_low)


@functools.cache
def of_log_of_odds():
    """Return the bounds of log p/q, p < 0.3: the error is absolute."""

    def program(tape, boxes):
        return log_of_odds(copies(), tape.input(boxes[:, 2], boxes[:, 3], 0))

    boxes = one_variable(by_binades(risk_pairs.RARE, risk_pairs.P_FORWARD, 4))
    error, lower, upper, share = measured(program, boxes, 1, 6, 1.0)
    low = share * np.maximum(np.abs(lower), np.abs(upper)) * (1.0 + SLACK)
    found = Part(worst(error), worst(share), worst(low))
    return found.plus(log_left_out(elementary.log_pair))


# --- the exponential -----------------------------------------------------------------


# What |t| = |x - k log 2| is in no box above.
T_MOST = 0.4


def _of_exponent(k):
    """Return what names mean to a kernel that finds the exponent k."""
    names = series._names(0)
    return {
        **names, "int": lambda _: k, "float": arb, "from_bits": _power_of_bits,
    }  # fmt: skip


def _power_of_bits(pattern):
    return arb(2) ** ((pattern >> 52) - 1023)


def exponential_left_out():
    """Return what both functions leave out in exact arithmetic, relative to them.

    For exponent 0 exp x - 1 is t (1 + t c), and c is compared term by term; for others
    both are away from 0, and it is the error of the power series that counts.
    """
    ctx.prec, ctx.cap = series.BITS, 40
    kernel = Copies(_of_exponent(0)).of(near_one.exponentials)
    x = series.Series(arb_series([0, 1]), (0.1, T_MOST))
    _, _, less, less_low = kernel(x, 0.0)
    found = (less + less_low).series
    if found[0] != 0 or found[1] != 1:
        raise ValueError("the exponential's first terms are others")
    lost, t, factorial = arb(0), arb(T_MOST), arb(1)
    for j in range(2, 40):
        factorial *= j
        lost += abs(found[j] - 1 / factorial) * t ** (j - 1)
    lost += 2 * t**39 / (factorial * 40)
    # |exp t - 1| >= |t| exp -t / ... >= 0.8 |t|
    of_less = float((lost / 0.8).upper())
    # P(t) = exp t - 1 + d with |d| <= lost |t|; log 2 is missing something, k times.
    log_2 = arb(elementary.LN2_HIGH) + arb(elementary.LN2_LOW)
    missing = abs(log_2 - arb.const_log2()) * (Y_MOST / math.log(2.0) + 1.0)
    _linear_in_exponent()
    total = float((lost * t * t.exp() + 2 * missing).upper())
    # exp x - 1 is -0.25 at k = -1, t = 0.35 at the least, exp x is 2^k exp t.
    return max(of_less, total * 2.0 / 0.25), 2.0 * total


def _linear_in_exponent():
    """Raise unless exp x is 2^k (1 + P(x - k log 2)) for every exponent.

    P is exp x - 1 for exponent 0, and exp x - 1 is to be this less 1.
    """
    ctx.prec, ctx.cap = 1200, 24
    x = arb_series([arb(1) / 8, 1])
    log_2 = arb(elementary.LN2_HIGH) + arb(elementary.LN2_LOW)

    def found(k, x):
        kernel = Copies(_of_exponent(k)).of(near_one.exponentials)
        ends = 0.1, T_MOST
        parts = kernel(series.Series(x, ends), 0.0)
        return [series.Series(arb_series([0])).of(part) for part in parts]

    whole = 1 + sum(found(0, x)[2:])
    most = int(Y_MOST / math.log(2.0)) + 1
    for k in range(-most, most + 1):
        power, power_low, less, less_low = found(k, x + k * log_2)
        scale = arb(2) ** k
        for got, wanted in (
            (power + power_low, scale * whole),
            (less + less_low, scale * whole - 1),
        ):
            difference = got - wanted
            if not all(
                abs(difference[j]) < (scale + 1) * 2.0**-1000 for j in range(24)
            ):
                raise ValueError("the exponential depends on k in another way")


def _nearest_exponent(x):
    """Return int() of the kernel, whose argument must be x/log 2 moved by a half.

    The number itself is then within 0.57 of x/log 2, and |x - k log 2| < T_MOST.
    """

    def whole(y):
        moved = (np.array(y.ends) - np.array(x.ends) / math.log(2.0)) * np.sign(x.ends)
        if np.any(np.abs(moved - 0.5) > 0.07):
            raise ValueError("an exponent that is not the nearest")
        return recorded.whole(y)

    return lambda y: whole(y) if y.value is None else recorded.whole(y)


def exponent_boxes():
    """Return boxes of x: those for which k = 0, and the others."""
    border = 0.5 * math.log(2.0)  # they overlap there
    wide = np.linspace(border + 1e-9, Y_MOST, 2049)
    near = np.append(2.0 ** np.arange(-905, -2), np.linspace(0.25, border + 2e-9, 5))
    return [
        one_variable(np.concatenate([boxes, -boxes[:, ::-1]]))
        for boxes in (np.stack([x[:-1], x[1:]], axis=1) for x in (near, wide))
    ]


@functools.cache
def of_exponential():
    """Return the bounds of exp x and of exp x - 1, |x| <= Y_MOST, relative to them.

    x is a pair whose second word is at most half an ulp of the first.
    """

    def program(tape, boxes):
        x, x_low = pair_of(tape, tape.input(boxes[:, 2], boxes[:, 3], 0), 2.0**-52)
        names = {**NAMES, "int": _nearest_exponent(x)}
        return Copies(names).of(near_one.exponentials)(x, x_low)

    found = []
    for first, lost in zip((0, 2), exponential_left_out()[::-1], strict=True):

        def of_one(tape, boxes, first=first):
            return program(tape, boxes)[first : first + 2]

        every = [relative_part(of_one, boxes, ENOUGH) for boxes in exponent_boxes()]
        found.append(Part(*map(max, zip(*every, strict=True))).plus(lost))
    return found


# --- the sine ------------------------------------------------------------------------


@functools.cache
def of_sine():
    """Return a relative bound of (1 - s)/d^2, |d| <= 1/2, and of low/high."""
    cuts = np.concatenate([[2.0**-905, 2.0**-100], 2.0 ** np.arange(-30, -4)])
    cuts = np.concatenate([cuts, np.linspace(2.0**-4, 0.5, 65)])
    cuts = np.unique(cuts)

    def program(tape, boxes):
        d = tape.input(boxes[:, 2], boxes[:, 3], 0)
        return copies().of(real_pairs.sine_deficit)(d)

    boxes = one_variable(np.stack([cuts[:-1], cuts[1:]], axis=1))
    error, lower, upper, share = measured(program, boxes, 1, 6)
    ctx.prec, ctx.cap = series.BITS, 60
    kernel = Copies(series._names(0)).of(real_pairs.sine_deficit)
    high, low = kernel(series.Series(arb_series([0, 1]), (0.1, 0.5)))
    found = (high + low).series
    lost, term = arb(0), arb.pi() ** 2 / 6
    for j in range(29):
        lost += abs(found[2 * j] - term) * arb(0.25) ** j + abs(found[2 * j + 1])
        term *= -(arb.pi() ** 2) / ((2 * j + 4) * (2 * j + 5))
    lost += 2 * abs(term) * arb(0.25) ** 29
    least = smallest(lower, upper)
    relative = worst(error / least) + float(lost.upper()) / least.min()
    return Part(relative, worst(share))


# --- the fraction --------------------------------------------------------------------

LEVELS = real_pairs.positive(1, 1).__code__


def fraction_program(sign):
    """Return the program of S over boxes of (|d|, p): relative to p."""
    kernel = copies({LEVELS: projective}).of(real_pairs.reflected_fraction)

    def program(tape, boxes):
        d_low, d_high, p_low, p_high = boxes.T
        d = tape.input(d_low, d_high, 0) * sign
        p = tape.relative(tape.input(p_low, p_high, 1))
        q = 1.0 - p
        return kernel(d, p, q, (1.0 - q) - p)

    return program


def ends_of_fraction(d_low, d_high, p_low, p_high):
    """Return the ends of S/p = 1/(q - d + p E), q/(g+q) <= E <= 1/(g+1)."""
    g_low, g_high = 1.0 - d_high, 1.0 - d_low
    q_low, q_high = 1.0 - p_high, 1.0 - p_low
    least = q_low - d_high + p_low * q_low / (g_high + q_low)
    most = q_high - d_low + p_high / (g_low + 1.0)
    return widened(1.0 / most, 1.0 / least)


def fraction_boxes():
    d = np.unique(np.concatenate([[2.0**-905], np.linspace(2.0**-6, 0.5, 32)]))
    p = np.concatenate([[risk_pairs.RARE], 2.0 ** np.arange(-10, -5)])
    p = np.unique(np.concatenate([p, np.linspace(2.0**-6, risk_pairs.P_FORWARD, 20)]))
    d, p = (np.stack([x[:-1], x[1:]], axis=1) for x in (d, p))
    return np.hstack([np.repeat(d, len(p), axis=0), np.tile(p, (len(d), 1))])


@functools.cache
def of_fraction():
    """Return a relative bound of S, and of low/high."""
    boxes, largest, shares = fraction_boxes(), 0.0, 0.0
    for sign in (1.0, -1.0):
        error, lower, upper, share = measured(fraction_program(sign), boxes, 2, 8)
        ends = np.sort(sign * boxes[:, :2], axis=1).T
        q = 1.0 - boxes[:, 3], 1.0 - boxes[:, 2]
        cut = fraction.cut_of_first((1.0 - ends[1], 1.0 - ends[0]), q, 21)
        # p E counts at most by its share of D, which is below 1.
        largest = max(largest, worst(error / smallest(lower, upper) + cut))
        shares = max(shares, worst(share))
    return Part(largest, shares)


def fraction_formula():
    """Prove that S is p/D(1-d, q) with 20 levels of the fraction."""
    kernel = exact.copies().of(real_pairs.reflected_fraction)

    def run(d, p):
        s, s_low = kernel(d, p, 1 - p, p * 0)
        return s + s_low

    def reference(d, p):
        g, q = 1 - d, 1 - p
        x = fraction.positive_levels(g, q, 21)
        return p / (q - d + p * (x / (g + x)))

    points = lambda i: Fraction(1, i + 3), lambda i: Fraction(1, i + 4)
    return exact.same_function(run, reference, points)
