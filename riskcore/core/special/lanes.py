"""Sums and multiples of rows of doubles, in vectors of four on every processor.

LLVM's own vectorizer leaves the rows that occur here, of some ten numbers, to scalar
code. Lengths are multiples of ``LANES``.
"""

from __future__ import annotations

from typing import Any

from riskcore.core.compiled.jit import primitive

LANES = 4


def _emit_type() -> Any:
    """Return the type of four numbers."""
    from llvmlite import ir

    return ir.VectorType(ir.DoubleType(), LANES)


def _emit_loop(builder: Any, n: Any) -> Any:
    """Return a loop over 0, 4, 8, ..., below n."""
    from numba.core import cgutils

    word = n.type
    return cgutils.for_range_slice(builder, word(0), n, word(LANES), word)


def _emit_four(builder: Any, row: Any, first: Any, index: Any) -> Any:
    """Return a pointer to the four numbers of a row from an index on."""
    at = builder.gep(row, [builder.add(first, index)])
    return builder.bitcast(at, _emit_type().as_pointer())


def _emit_product(
    builder: Any, x: Any, x_first: Any, y: Any, y_first: Any, n: Any
) -> Any:
    from llvmlite import ir
    from numba.core import cgutils

    sums = cgutils.alloca_once(builder, _emit_type())
    builder.store(_emit_type()(None), sums)
    with _emit_loop(builder, n) as (index, _):
        one = builder.load(_emit_four(builder, x, x_first, index), align=8)
        other = builder.load(_emit_four(builder, y, y_first, index), align=8)
        builder.store(builder.fadd(builder.load(sums), builder.fmul(one, other)), sums)
    found = builder.load(sums)
    a, b, c, d = (
        builder.extract_element(found, ir.IntType(32)(lane)) for lane in range(LANES)
    )
    return builder.fadd(builder.fadd(a, c), builder.fadd(b, d))


@primitive(
    "float64(CPointer(float64), int64, CPointer(float64), int64, int64)", _emit_product
)
def product(x: Any, x_first: int, y: Any, y_first: int, n: int) -> float:
    """Return the sum of x_i y_i over n numbers of two rows, in four separate sums."""
    sums = [0.0] * LANES
    for i in range(n):
        sums[i % LANES] += x[x_first + i] * y[y_first + i]
    return (sums[0] + sums[2]) + (sums[1] + sums[3])


def _emit_add_multiple(
    builder: Any, factor: Any, x: Any, x_first: Any, y: Any, y_first: Any, n: Any
) -> Any:
    from llvmlite import ir

    lane = ir.IntType(32)
    factors = _emit_type()(ir.Undefined)
    for i in range(LANES):
        factors = builder.insert_element(factors, factor, lane(i))
    with _emit_loop(builder, n) as (index, _):
        one = builder.load(_emit_four(builder, x, x_first, index), align=8)
        at = _emit_four(builder, y, y_first, index)
        moved = builder.fadd(builder.load(at, align=8), builder.fmul(factors, one))
        builder.store(moved, at, align=8)
    return factor


@primitive(
    "float64(float64, CPointer(float64), int64, CPointer(float64), int64, int64)",
    _emit_add_multiple,
)
def add_multiple(
    factor: float, x: Any, x_first: int, y: Any, y_first: int, n: int
) -> float:
    """Add ``factor`` times n numbers of a row to those of another; return it."""
    for i in range(n):
        y[y_first + i] += factor * x[x_first + i]
    return factor


def _emit_multiply(
    builder: Any, x: Any, x_first: Any, y: Any, y_first: Any, n: Any
) -> Any:
    from llvmlite import ir

    with _emit_loop(builder, n) as (index, _):
        one = builder.load(_emit_four(builder, x, x_first, index), align=8)
        at = _emit_four(builder, y, y_first, index)
        builder.store(builder.fmul(builder.load(at, align=8), one), at, align=8)
    return ir.Constant(n.type, 0)


@primitive(
    "int64(CPointer(float64), int64, CPointer(float64), int64, int64)", _emit_multiply
)
def multiply(x: Any, x_first: int, y: Any, y_first: int, n: int) -> int:
    """Multiply n numbers of a row by those of another, the first; return 0."""
    for i in range(n):
        y[y_first + i] *= x[x_first + i]
    return 0
