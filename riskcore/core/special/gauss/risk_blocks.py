"""The individual risk in blocks: fast paths, rounding test, and the remaining cells.

As in ``blocks.py`` a loop over many cells runs one region's method, branchless. A cell
that fails its rounding test is nan at first; slower steps evaluate such cells at the
end of the block. A value does not depend on its neighbors.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from riskcore.core.compiled.jit import kernel
from riskcore.core.special.elementary import log_pair
from riskcore.core.special.floats import stack
from riskcore.core.special.gauss.blocks import (
    Block,
    Value,
    blockwise,
    classifier,
    list_of,
    matching,
    size,
)
from riskcore.core.special.gauss.fast_integer import (
    BACKWARD_REAL,
    FORWARD_15,
    FORWARD_REAL,
    FROM_16,
    FROM_32,
    LEVELS,
    LEVELS_REAL,
    NEAR_ONE,
    ONE,
    OTHER,
    REGIONS,
    SMALL,
    Triple,
    by_e_16,
    by_e_32,
    by_levels,
    by_levels_real,
    by_logarithm_4,
    by_logarithm_8,
    by_logarithm_15,
    by_logarithm_one,
    is_from_32,
    is_near_one,
    is_one,
    is_small,
    near_one,
    region,
    tail_17,
    tail_23,
    tail_35,
)
from riskcore.core.special.gauss.fast_real import backward_real, forward_real

# (f, p, excess, high, low, error) -> value, nan if it may be wrong
Finish = Callable[[float, float, float, float, float, float], float]
Complete = Callable[[Any, Any, Any, int], None]

classify_cells = classifier(region)


@kernel
def prevailing(f: Any, p: Any, codes: Any, n: int) -> int:
    """Return the region to try on a whole block; REGIONS if none is common enough."""
    n = min(n, 64)
    classify_cells(f, p, codes, n)
    ones = size(matching(codes, 0, ONE))
    small = size(matching(codes, 0, SMALL))
    if 2 * (ones + small) > n:
        return SMALL if small > 0 else ONE
    for w in (NEAR_ONE, FROM_32, FORWARD_15):
        if 2 * size(matching(codes, 0, w)) > n:
            return w
    return REGIONS


@kernel
def set_apart(w: int, f: Any, p: Any, codes: Any, n: int, rest: Any) -> int:
    """List the cells that the method of region ``w`` does not serve."""
    if w == ONE:
        for i in range(n):
            codes[i] = is_one(f[i], p[i])
    elif w == SMALL:
        for i in range(n):
            codes[i] = is_small(f[i], p[i])
    elif w == NEAR_ONE:
        for i in range(n):
            codes[i] = is_near_one(f[i], p[i])
    elif w == FROM_32:
        for i in range(n):
            codes[i] = is_from_32(f[i], p[i])
    else:
        for i in range(n):
            codes[i] = region(f[i], p[i]) == w
    return list_of(codes, n, 0, rest)


@kernel
def pair_of_region(where: int, f: float, p: float) -> Triple:
    """Return r(f, p) as a pair with its error, for a region below OTHER."""
    if where <= FORWARD_15:
        log, log_low = log_pair(p)
        if where == ONE:
            return by_logarithm_one(p, log, log_low)
        if where == SMALL:
            return by_logarithm_4(f, p, log, log_low)
        v, v_low, r, r_low = by_logarithm_8(f, p, log, log_low)
        return by_logarithm_15(f, v, v_low, r, r_low)
    if where == NEAR_ONE:
        return near_one(f, p)
    if where == LEVELS:
        x, y = tail_23(f, p)
        return by_levels(f, p, x, y)
    if where == FROM_32:
        x, y = tail_17(f, p)
        return by_e_32(f, p, x, y)
    if where == FORWARD_REAL:
        return forward_real(f, p)
    if where == BACKWARD_REAL:
        return backward_real(f, p)
    x, y = tail_35(f, p)
    if where == FROM_16:
        return by_e_16(f, p, x, y)
    return by_levels_real(f, p, x, y)


def by_region(  # noqa: PLR0915
    finish: Finish, finish_16: Finish | None = None, finish_32: Finish | None = None
) -> tuple[Value, Block]:
    """Make the kernels of one cell and of a block from the pairs of each region.

    ``finish(f, p, excess, high, low, error)`` is the value at the fraction p (1 +
    excess), given r(f, p) = high + low within error, or nan where that does not decide
    the value; ``finish_16`` and ``finish_32`` replace it in the regions FROM_16 and
    FROM_32. The first kernel is (f, p, excess) -> value, nan also outside the domain;
    the second fills ``out``, which must not overlap the others, with the same bits for
    n <= BLOCK cells.
    """
    of_16 = finish if finish_16 is None else finish_16
    of_32 = finish if finish_32 is None else finish_32

    @kernel
    def scalar(f: float, p: float, excess: float) -> float:
        where = region(f, p)
        if where == OTHER:
            return math.nan
        high, low, error = pair_of_region(where, f, p)
        if where == FROM_16:
            return of_16(f, p, excess, high, low, error)
        if where == FROM_32:
            return of_32(f, p, excess, high, low, error)
        return finish(f, p, excess, high, low, error)

    @kernel
    def fill(w: int, f: Any, p: Any, excess: Any, out: Any, n: int) -> None:
        # Short loops that pass results on the stack: a processor runs more of their
        # iterations at once than of one long loop.
        a, b = stack(), stack()
        if w <= FORWARD_15:
            for i in range(n):
                a[i], b[i] = log_pair(p[i])
            if w == ONE:
                for i in range(n):
                    high, low, error = by_logarithm_one(p[i], a[i], b[i])
                    out[i] = finish(f[i], p[i], excess[i], high, low, error)
            elif w == SMALL:
                for i in range(n):
                    high, low, error = by_logarithm_4(f[i], p[i], a[i], b[i])
                    out[i] = finish(f[i], p[i], excess[i], high, low, error)
            else:
                v, v_low = stack(), stack()
                for i in range(n):
                    v[i], v_low[i], a[i], b[i] = by_logarithm_8(f[i], p[i], a[i], b[i])
                for i in range(n):
                    high, low, error = by_logarithm_15(f[i], v[i], v_low[i], a[i], b[i])
                    out[i] = finish(f[i], p[i], excess[i], high, low, error)
        elif w == NEAR_ONE:
            for i in range(n):
                high, low, error = near_one(f[i], p[i])
                out[i] = finish(f[i], p[i], excess[i], high, low, error)
        elif w == LEVELS:
            for i in range(n):
                a[i], b[i] = tail_23(f[i], p[i])
            for i in range(n):
                high, low, error = by_levels(f[i], p[i], a[i], b[i])
                out[i] = finish(f[i], p[i], excess[i], high, low, error)
        elif w == FROM_32:
            for i in range(n):
                a[i], b[i] = tail_17(f[i], p[i])
            for i in range(n):
                high, low, error = by_e_32(f[i], p[i], a[i], b[i])
                out[i] = of_32(f[i], p[i], excess[i], high, low, error)
        elif w == FROM_16:
            for i in range(n):
                a[i], b[i] = tail_35(f[i], p[i])
            for i in range(n):
                high, low, error = by_e_16(f[i], p[i], a[i], b[i])
                out[i] = of_16(f[i], p[i], excess[i], high, low, error)
        elif w == LEVELS_REAL:
            for i in range(n):
                a[i], b[i] = tail_35(f[i], p[i])
            for i in range(n):
                high, low, error = by_levels_real(f[i], p[i], a[i], b[i])
                out[i] = finish(f[i], p[i], excess[i], high, low, error)
        elif w == FORWARD_REAL:
            for i in range(n):
                high, low, error = forward_real(f[i], p[i])
                out[i] = finish(f[i], p[i], excess[i], high, low, error)
        elif w == BACKWARD_REAL:
            for i in range(n):
                high, low, error = backward_real(f[i], p[i])
                out[i] = finish(f[i], p[i], excess[i], high, low, error)
        else:
            for i in range(n):
                out[i] = math.nan

    return scalar, blockwise(fill, region, prevailing, set_apart, REGIONS)


@kernel
def missing(out: Any, n: int) -> bool:
    """Return whether one of n values is nan; branchless, as most often none is."""
    count = 0
    for i in range(n):
        count += out[i] != out[i]
    return count > 0


def completion(slow: Callable[[float, float], float]) -> Complete:
    """Make the kernel (f, x, out, n) that replaces every nan in ``out`` by ``slow``.

    ``slow(f, x)`` is nan outside the domain; x is the caller's second argument.
    """

    @kernel
    def complete(f: Any, x: Any, out: Any, n: int) -> None:
        if missing(out, n):
            for i in range(n):
                if out[i] != out[i]:
                    out[i] = slow(f[i], x[i])

    return complete
