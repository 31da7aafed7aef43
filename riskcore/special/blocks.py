"""Blocks of cells: every loop over many cells runs one region's method, unbranched.

The method of a block's commonest region runs over all its cells in place; then the
cells of each other region are picked out, evaluated and put back. A value does not
depend on its neighbours.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from riskcore._jit import kernel, primitive
from riskcore.special.elementary import log_words
from riskcore.special.floats import BLOCK, integer_stack, stack
from riskcore.special.hyp2f1 import (
    FORWARD_15,
    LEVELS_15,
    LEVELS_29,
    ONE,
    OTHER,
    REGIONS,
    SMALL,
    region,
)

# (f, p, excess) -> value; where log p is needed it comes in two words.
Value = Callable[[float, float, float], float]
ValueByLogarithm = Callable[[float, float, float, float, float], float]
Block = Callable[[Any, Any, Any, Any, int], None]

_WORD = 64  # cells that one mask holds; a divisor of BLOCK
_VECTOR = 8  # cells that a loop takes at once, at most; a divisor of BLOCK


def _emit_code_stack(builder: Any) -> Any:
    from llvmlite import ir
    from numba.core import cgutils

    return cgutils.alloca_once(builder, ir.IntType(8), size=BLOCK)


@primitive("CPointer(uint8)()", _emit_code_stack)
def code_stack() -> Any:
    """Return room for ``BLOCK`` small numbers that lives as long as the caller."""
    return [REGIONS] * BLOCK


def _emit_matching(builder: Any, codes: Any, first: Any, code: Any) -> Any:
    from llvmlite import ir

    vector = ir.VectorType(ir.IntType(8), _WORD)
    place = builder.bitcast(builder.gep(codes, [first]), vector.as_pointer())
    found = builder.load(place)
    found.align = 1
    one = builder.insert_element(
        ir.Constant(vector, ir.Undefined),
        builder.trunc(code, ir.IntType(8)),
        ir.Constant(ir.IntType(32), 0),
    )
    lanes = ir.Constant(ir.VectorType(ir.IntType(32), _WORD), [0] * _WORD)
    all_equal = builder.shuffle_vector(one, ir.Constant(vector, ir.Undefined), lanes)
    return builder.bitcast(
        builder.icmp_unsigned("==", found, all_equal), ir.IntType(_WORD)
    )


@primitive("int64(CPointer(uint8), int64, int64)", _emit_matching)
def matching(codes: Any, first: int, code: int) -> int:
    """Return a mask of 64 bits, bit i set where ``codes[first + i] == code``."""
    return sum((codes[first + i] == code) << i for i in range(_WORD))


def _emit_lowest(builder: Any, mask: Any) -> Any:
    from llvmlite import ir

    return builder.cttz(mask, ir.Constant(ir.IntType(1), 1))


@primitive("int64(int64)", _emit_lowest)
def lowest(mask: int) -> int:
    """Return the position of the lowest bit set of a mask that is not 0."""
    return (mask & -mask).bit_length() - 1


def _emit_size(builder: Any, mask: Any) -> Any:
    return builder.ctpop(mask)


@primitive("int64(int64)", _emit_size)
def size(mask: int) -> int:
    """Return how many bits of a mask are set."""
    return mask.bit_count()


@kernel
def _classify(f: Any, p: Any, codes: Any, n: int) -> int:
    """Fill the codes of n cells, and of none up to whole masks; return their number."""
    words = (n + _WORD - 1) // _WORD
    for i in range(n):
        codes[i] = region(f[i], p[i])
    for i in range(n, words * _WORD):
        codes[i] = REGIONS
    return words


@kernel
def _pick(codes: Any, words: int, code: int, picked: Any) -> int:
    """List the cells that have a code; return how many."""
    m = 0
    for j in range(words):
        mask = matching(codes, j * _WORD, code)
        while mask != 0:
            picked[m] = j * _WORD + lowest(mask)
            mask &= mask - 1
            m += 1
    return m


@kernel
def _gather(source: Any, picked: Any, target: Any, n: int) -> None:
    for j in range(n):
        target[j] = source[picked[j]]


@kernel
def _count(codes: Any, words: int, code: int) -> int:
    """Return how many cells have a code."""
    cells = 0
    for j in range(words):
        cells += size(matching(codes, j * _WORD, code))
    return cells


@kernel
def _commonest(codes: Any, words: int) -> tuple[int, bool]:
    """Return the method for most cells, and whether it is also that of f = 1."""
    ones, small = _count(codes, words, ONE), _count(codes, words, SMALL)
    commonest, most = SMALL if small > 0 else ONE, ones + small
    for w in range(FORWARD_15, OTHER):
        cells = _count(codes, words, w)
        commonest = w if cells > most else commonest
        most = max(most, cells)
    return commonest, commonest <= SMALL


def by_region(
    one: ValueByLogarithm,
    small: ValueByLogarithm,
    forward_15: Value,
    levels_29: Value,
    levels_15: Value,
    other: Value,
) -> tuple[Value, Block]:
    """Make the kernels of one cell and of a block from those of each region.

    Parameters
    ----------
    one, small, forward_15, levels_29, levels_15, other : kernel
        (f, p, excess) -> value at the fraction p (1 + excess), |excess| <= 2^-53,
        for cells of the region; ``one`` and ``small`` take two more arguments, log p
        in two words. ``small`` gives the same as ``one`` where f = 1; ``other`` gives
        nan outside the domain.

    Returns
    -------
    scalar : kernel
        (f, p, excess) -> value, nan outside the domain.
    block : kernel
        (f, p, excess, out, n) fills ``out`` with the values of n <= BLOCK cells, bit
        for bit those of ``scalar``; ``out`` must not overlap the others.
    """

    @kernel
    def scalar(f: float, p: float, excess: float) -> float:
        where = region(f, p)
        if where <= SMALL:
            high, low = log_words(p, 0.0)
            if where == ONE:
                return one(f, p, excess, high, low)
            return small(f, p, excess, high, low)
        if where == FORWARD_15:
            return forward_15(f, p, excess)
        if where == LEVELS_29:
            return levels_29(f, p, excess)
        if where == LEVELS_15:
            return levels_15(f, p, excess)
        return other(f, p, excess)

    @kernel
    def fill(w: int, f: Any, p: Any, excess: Any, out: Any, n: int) -> None:
        if w <= SMALL:
            # Two loops: the processor overlaps more of two short chains.
            high, low = stack(), stack()
            for i in range(n):
                high[i], low[i] = log_words(p[i], 0.0)
            if w == ONE:
                for i in range(n):
                    out[i] = one(f[i], p[i], excess[i], high[i], low[i])
            else:
                for i in range(n):
                    out[i] = small(f[i], p[i], excess[i], high[i], low[i])
        elif w == FORWARD_15:
            for i in range(n):
                out[i] = forward_15(f[i], p[i], excess[i])
        elif w == LEVELS_29:
            for i in range(n):
                out[i] = levels_29(f[i], p[i], excess[i])
        elif w == LEVELS_15:
            for i in range(n):
                out[i] = levels_15(f[i], p[i], excess[i])
        else:
            for i in range(n):
                out[i] = other(f[i], p[i], excess[i])

    @kernel
    def block(f: Any, p: Any, excess: Any, out: Any, n: int) -> None:
        codes, picked = code_stack(), integer_stack()
        f_picked, p_picked = stack(), stack()
        excess_picked, out_picked = stack(), stack()
        words = _classify(f, p, codes, n)
        commonest, done_with_one = _commonest(codes, words)
        for turn in range(REGIONS):
            w = (commonest + turn) % REGIONS
            in_place = turn == 0
            if w == ONE and done_with_one and not in_place:
                continue
            m = n if in_place else _pick(codes, words, w, picked)
            full = m
            if not in_place:
                if w < OTHER:
                    # Whole vectors: the rest of a loop would run cell by cell.
                    full = (m + _VECTOR - 1) // _VECTOR * _VECTOR
                    for j in range(m, full):
                        picked[j] = picked[0]
                _gather(f, picked, f_picked, full)
                _gather(p, picked, p_picked, full)
                _gather(excess, picked, excess_picked, full)
            if m > 0:
                fill(
                    w,
                    f if in_place else f_picked,
                    p if in_place else p_picked,
                    excess if in_place else excess_picked,
                    out if in_place else out_picked,
                    full,
                )
            if not in_place:
                for j in range(m):
                    out[picked[j]] = out_picked[j]

    return scalar, block
