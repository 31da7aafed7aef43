"""Prove the bound of the double-doubles of the slow steps, by the checker's arithmetic.

    python -m bench.proof.double_doubles

The groups of integers f < 32 in ``double_double_step.py`` are run on boxes by the
arithmetic of ``check.py``, and compared with their formula as polynomials; what the
logarithm leaves out is found by power series. The other groups are proved by hand
(notes/rounding_proof.md, section 10).
"""

import functools
import time
from typing import NamedTuple

from flint import arb

from bench.proof import certificate, check
from bench.proof.check import BITS, Box, Claim, Source, before, ctx

STEP = "gauss.double_double_step."


class Group(NamedTuple):
    """A group's kernel, its boxes, and what its formula leaves out."""

    kernel: object
    claim: Claim


def of_one_cell(source, name):
    """Return (code, f, p) -> high, low, error from the kernel of a block."""
    block, bound = source(STEP + name), source(STEP + "ERROR")

    def kernel(_, f, p):
        high, low = [None], [None]
        block([f], [p], high, low, 1)
        return high[0], low[0], high[0] * bound

    return kernel


class Inverse:
    """2^-k, or its bits; only a second word that is 0 may be multiplied by it."""

    def __lshift__(self, places):
        return self

    def __rmul__(self, other):
        if isinstance(other, check.Number) or other != 0.0:
            raise TypeError("a second word that is not 0")
        return 0.0


def in_numbers(lost):
    """Return the source on numbers, the logarithm off by ``lost`` more."""

    def from_bits(x):
        return x if isinstance(x, Inverse) else check.from_bits(x)

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


def _exact(name, f, p, **names):
    high, low = [None], [None]
    wraps = {key: lambda _, one=one: one for key, one in names.items()}
    check.in_exact(wraps, like=p)(STEP + name)([f], [p], high, low, 1)
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


def _nothing(f, p, most):
    return arb(0)


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
    source = in_numbers(log_left_out())
    contiguity = of_one_cell(source, "_contiguity")
    for n in range(1, 32):
        check_contiguity(n)
        boxes = binades(-401, 0.75 if n <= 4 else 0.5)
        roots = [Box((float(n),) * 2, *box) for box in boxes]
        yield f"integers, f = {n}", Group(contiguity, Claim(0, (n, n), roots, _nothing))


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
