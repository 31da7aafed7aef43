"""Blocks of cells: every loop over many cells runs one region's method, branchless.

If the first cells show that a common region prevails, its method runs over the whole
block in place. The other cells are then picked out, evaluated region by region and put
back. A value does not depend on its neighbors.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from riskcore.core.compiled.jit import kernel, primitive
from riskcore.core.special.floats import BLOCK, integer_stack, stack

# (f, p, excess) -> value
Value = Callable[[float, float, float], float]
Block = Callable[[Any, Any, Any, Any, int], None]
Fill = Callable[[int, Any, Any, Any, Any, int], None]

NOTHING = 255  # no region

_WORD = 64  # cells that one mask holds; a divisor of BLOCK
_VECTOR = 8  # cells that a loop takes at once, at most; a divisor of BLOCK


def _emit_code_stack(builder: Any) -> Any:
    from llvmlite import ir
    from numba.core import cgutils

    return cgutils.alloca_once(builder, ir.IntType(8), size=BLOCK)


@primitive("CPointer(uint8)()", _emit_code_stack)
def code_stack() -> Any:
    """Return room for ``BLOCK`` small numbers that lives as long as the caller."""
    return [NOTHING] * BLOCK


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
    return sum(1 << i for i in range(_WORD) if codes[first + i] == code)


def _emit_lowest(builder: Any, mask: Any) -> Any:
    from llvmlite import ir

    return builder.cttz(mask, ir.Constant(ir.IntType(1), 1))


@primitive("int64(int64)", _emit_lowest)
def lowest(mask: int) -> int:
    """Return the position of the lowest bit set in a mask that is not 0."""
    return (mask & -mask).bit_length() - 1


def _emit_size(builder: Any, mask: Any) -> Any:
    return builder.ctpop(mask)


@primitive("int64(int64)", _emit_size)
def size(mask: int) -> int:
    """Return the number of bits set in a mask."""
    return mask.bit_count()


@kernel
def padded(codes: Any, n: int) -> int:
    """Fill the codes after n up to whole masks; return the number of masks."""
    words = (n + _WORD - 1) // _WORD
    for i in range(n, words * _WORD):
        codes[i] = NOTHING
    return words


def classifier(where: Callable[[float, float], int]) -> Callable[..., int]:
    """Make the kernel that fills the codes of n cells and returns the masks' number."""

    @kernel
    def classify(f: Any, p: Any, codes: Any, n: int) -> int:
        for i in range(n):
            codes[i] = where(f[i], p[i])
        return padded(codes, n)

    return classify


@kernel
def pick(codes: Any, words: int, code: int, picked: Any) -> int:
    """List the cells that have a code; return their number."""
    m = 0
    for j in range(words):
        mask = matching(codes, j * _WORD, code)
        while mask != 0:
            picked[m] = j * _WORD + lowest(mask)
            mask &= mask - 1
            m += 1
    return m


@kernel
def list_of(codes: Any, n: int, code: int, picked: Any) -> int:
    """List the cells among n that have a code; return their number."""
    return pick(codes, padded(codes, n), code, picked)


@kernel
def filled_up(picked: Any, m: int) -> int:
    """Repeat the first cell up to whole vectors; return the new length.

    The rest of a vectorized loop would run cell by cell.
    """
    full = (m + _VECTOR - 1) // _VECTOR * _VECTOR
    for j in range(m, full):
        picked[j] = picked[0]
    return full


@kernel
def gather(
    f: Any, p: Any, excess: Any, picked: Any, to_f: Any, to_p: Any, to_e: Any, n: int
) -> None:
    """Copy the n cells listed."""
    for j in range(n):
        i = picked[j]
        to_f[j], to_p[j], to_e[j] = f[i], p[i], excess[i]


@kernel
def scatter(source: Any, picked: Any, target: Any, n: int) -> None:
    """Copy n values to the cells listed."""
    for j in range(n):
        target[picked[j]] = source[j]


def blockwise(
    fill: Fill,
    where: Callable[[float, float], int],
    prevailing: Callable[[Any, Any, Any, int], int],
    set_apart: Callable[..., int],
    regions: int,
) -> Block:
    """Make the kernel of a block of cells.

    ``fill(region, f, p, excess, out, n)`` evaluates n cells of a region, and ``where(f,
    p)`` is the region. ``prevailing(f, p, codes, n)`` is the region to try on the whole
    block, ``regions`` if none, and ``set_apart(region, f, p, codes, n, rest)`` lists
    the cells of other regions and returns their number. The last region is evaluated
    cell by cell.
    """
    classify = classifier(where)

    @kernel
    def block(f: Any, p: Any, excess: Any, out: Any, n: int) -> None:
        codes, rest, picked = code_stack(), integer_stack(), integer_stack()
        f_rest, p_rest, excess_rest, out_rest = stack(), stack(), stack(), stack()
        f_picked, p_picked = stack(), stack()
        excess_picked, out_picked = stack(), stack()
        alone = n == 1
        first = where(f[0], p[0]) if alone else prevailing(f, p, codes, n)
        in_place = first < regions
        left = 0 if alone else n
        if in_place and not alone:
            left = filled_up(rest, set_apart(first, f, p, codes, n, rest))
            gather(f, p, excess, rest, f_rest, p_rest, excess_rest, left)
        x = f_rest if in_place else f
        y = p_rest if in_place else p
        z = excess_rest if in_place else excess
        value = out_rest if in_place else out
        words = classify(x, y, codes, left)
        # One turn for the cells in place, then one for each region among the rest, in a
        # loop with a single call of ``fill``, which is long.
        for turn in range(1 if left == 0 else regions + 1):
            w, m, full = first, n if in_place else 0, n
            if turn > 0:
                w = turn - 1
                m = pick(codes, words, w, picked)
                full = filled_up(picked, m) if w < regions - 1 else m
                gather(x, y, z, picked, f_picked, p_picked, excess_picked, full)
            if m > 0:
                fill(
                    w,
                    f_picked if turn > 0 else f,
                    p_picked if turn > 0 else p,
                    excess_picked if turn > 0 else excess,
                    out_picked if turn > 0 else out,
                    full,
                )
            if turn > 0:
                scatter(out_picked, picked, value, full)
        if in_place:
            scatter(out_rest, rest, out, left)

    return block
