"""Prove the bound of the double-doubles of the slow steps, by the checker's arithmetic.

    python -m bench.proof.double_doubles

Each group of ``double_double_step.py`` but one is run on boxes (``check.py``), compared
with its formula as polynomials, and what its formula leaves out is added: of the
logarithm by power series, of the fraction by its own bounds. The group of other f < 32
at small p is not here: it is proved by hand (notes/rounding_proof.md, section 10).
"""

import functools
import math
import time
from typing import NamedTuple

from flint import arb

from bench.proof import certificate, check
from bench.proof.check import BITS, Box, Claim, Source, after, before, ctx

STEP = "gauss.double_double_step."


class Group(NamedTuple):
    """A group's kernel, its boxes, and what its formula leaves out."""

    kernel: object
    claim: Claim


def of_one_cell(source, name, *sizes):
    """Return (code, f, p) -> high, low, error from the kernel of a block."""
    block, bound = source(STEP + name), source(STEP + "ERROR")

    def kernel(_, f, p):
        high, low = [None], [None]
        block(*sizes, [f], [p], high, low, 1)
        return high[0], low[0], high[0] * bound

    return kernel


class Inverse:
    """The bits of 2^-k; only a second word that is 0 may be multiplied by it."""

    def __lshift__(self, places):
        return self


def in_numbers(lost):
    """Return the source on numbers, the logarithm off by ``lost`` more."""

    def from_bits(x):
        return check.from_bits(x) if not isinstance(x, Inverse) else math.nan

    def logarithm(kernel):
        def minus_log(p, p_low):
            high, low = kernel(p, p_low)
            return high, check.charged(low, lost)

        return minus_log

    check.Pattern.__rsub__ = lambda self, other: Inverse()
    return Source({**check.NAMES, "from_bits": from_bits}, {"_minus_log": logarithm})


@functools.cache
def log_left_out():
    """Return what the logarithm leaves out; it is linear in the exponent."""
    check.Power.__rsub__ = lambda self, other: self
    first, found = check.from_bits(check.in_exact()(STEP + "_SQRT_HALF_BITS")), arb(0)
    kernels = {k: check.in_exact(k=arb(k))(STEP + "_minus_log") for k in (0, -400)}
    for lower, upper in check.pieces(first, 2 * first, n=64):
        for k, kernel in kernels.items():
            found = found.max(
                check.left_out(
                    lambda x, kernel=kernel: sum(kernel(x, 0.0), 0.0),
                    lambda x, k=k: -x.log() - k * arb.const_log2(),
                    lower,
                    before(upper),
                )
            )
    return found


# --- formulas ------------------------------------------------------------------------


def _exact(name, f, p, *sizes, **names):
    high, low = [None], [None]
    wraps = {key: lambda _, one=one: one for key, one in names.items()}
    check.in_exact(wraps, like=p)(STEP + name)(*sizes, [f], [p], high, low, 1)
    return high[0] + low[0]


def check_contiguity(n):
    """Raise unless r(1) = -v log p and r(m+1) = v (1/m - r(m)) give the group's r."""
    p, log = check.generators("p", "log")
    found = _exact("_contiguity", float(n), p, _minus_log=lambda p, low: (log, 0.0))
    v = p / (1.0 - p)
    r = v * log
    for m in range(1, n):
        r = v * (1.0 / p.made(float(m)) - r)
    check.same(found, r)


def check_fraction(levels, in_pairs, below_one=False):
    """Raise unless r = p/(f - 1 + p + q E), or below 1 (p f + w)/(f (f + w))."""
    f, p = check.generators("f", "p")
    g = f + 1.0 if below_one else f
    sizes = () if below_one else (levels, in_pairs)
    found = _exact("_below_one" if below_one else "_fraction", f, p, *sizes)
    _, (x, y) = check.fraction(g, p, levels + 1, p, p.made(1.0))
    below = g * y + x
    w = p * below + (1.0 - p) * x
    wanted = p * below / ((f - 1.0) * below + w)
    if below_one:
        wanted = (p * f * below + w) / (f * (f * below + w))
    check.same(found, wanted)


def _nothing(f, p, most):
    return arb(0)


def _of_fraction(levels):
    def left(f, p, most):
        _, error = check.cut(f, p, levels + 1, 1, lambda f, p: p)
        # E is off by error/f, and counts q/D, D >= f - 1 + p.
        return error * (1 - arb(p[0])) / (arb(f[0]) * (arb(f[0]) - 1 + p[0])) * most

    return left


def _of_below_one(levels):
    def left(f, p, most):
        f = f[0] + 1.0, f[1] + 1.0
        x, error = check.cut(f, p, levels + 1, 1, lambda f, p: p)
        return error / x * most

    return left


# --- the groups ----------------------------------------------------------------------


def binades(lowest, upper):
    """Return boxes of z 2^k from the lowest exponent to p = upper."""
    half = check.from_bits(check.in_exact()(STEP + "_SQRT_HALF_BITS"))
    last = 0 if upper > half else -1
    boxes = [((half, before(2 * half)), (lowest, last - 1))]
    return [*boxes, ((half, before(upper * 2.0**-last)), (last, last))]


def groups():
    """Yield name and group; raise unless kernels are their formulas."""
    ctx.prec = BITS
    levels = check.in_exact()(STEP + "LEVELS")
    source = in_numbers(log_left_out())
    contiguity = of_one_cell(source, "_contiguity")
    for n in range(1, 32):
        check_contiguity(n)
        boxes = binades(-401, 0.75 if n <= 4 else 0.5)
        roots = [Box((float(n),) * 2, *box) for box in boxes]
        yield f"integers, f = {n}", Group(contiguity, Claim(0, (n, n), roots, _nothing))
    low = 2.0**-400
    places = (
        (
            0,
            [(1000.0, 1024.0), *((2.0**n, 2.0 ** (n + 1)) for n in range(10, 60))],
            low,
            1,
        ),
        (1, [(128.0, 256.0), (256.0, 512.0), (512.0, 1000.0)], low, 1.0),
        (2, [(1.0, 2.0), (2.0, 4.0), (4.0, 8.0), (8.0, 16.0), (16.0, 32.0)], 0.75, 1.0),
        (2, [(32.0, 64.0), (64.0, 128.0)], 0.75, 1.0),
        (3, [(32.0, 64.0), (64.0, 128.0)], low, 0.75),
        (4, [(1.0, 2.0), (2.0, 4.0), (4.0, 8.0), (8.0, 16.0), (16.0, 32.0)], 0.5, 0.75),
        (5, [(1.0, 2.0), (2.0, 4.0), (4.0, 8.0), (8.0, 16.0), (16.0, 32.0)], 0.3, 0.5),
    )
    for place, spans, least, most in places:
        check_fraction(*levels[place])
        kernel = of_one_cell(source, "_fraction", *levels[place])
        left = _of_fraction(levels[place][0])
        for f in spans:
            p = [(least, before(0.5)), (0.5, most)] if least < 0.5 < most else []
            p = p or [(least, most if most == 1.0 else before(most))]
            roots = [Box((f[0], before(f[1])), one) for one in p]
            claim = Claim(0, f, roots, left)
            yield f"{levels[place]} levels, f from {f[0]:g}", Group(kernel, claim)
    check_fraction(*levels[5], below_one=True)
    kernel = of_one_cell(source, "_below_one")
    left = _of_below_one(levels[5][0])
    for f, of in (((low, 2.0**-10), "f"), ((after(2.0**-10), before(1.0)), "p")):
        roots = [Box(f, (0.3, before(0.5))), Box(f, (0.5, 1.0))]
        yield f"f < 1, from {f[0]:g}", Group(kernel, Claim(0, f, roots, left, of))


def prove(names=None):
    """Return the largest share of ERROR and the number of boxes; raise if above it."""
    boxes, start = 0, time.perf_counter()
    for name, group in groups():
        if names and not name.startswith(tuple(names)):
            continue
        count = sum(
            certificate.grown(group.kernel, group.claim, root)[1]
            for root in group.claim.roots
        )
        boxes += count
        print(f"double-doubles | {name} | {count} boxes", flush=True)
    print(f"double-doubles: {boxes} boxes, {time.perf_counter() - start:.0f} s")
    return boxes


if __name__ == "__main__":
    prove()
