"""Floating-point primitives: fused multiply-add, bit access, exact sums, the stack.

Interpreted, each function is exact Python; compiled, it is one or a few machine
instructions. Both give the same bits.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable
from fractions import Fraction
from typing import Any

from riskcore.core.compiled.jit import kernel, primitive

# Cells in one pass of a block loop: the five buffers in use stay in a 32 KiB L1 cache.
BLOCK = 512


def _emit_fma(builder: Any, a: Any, b: Any, c: Any) -> Any:
    return builder.fma(a, b, c)


@primitive("float64(float64, float64, float64)", _emit_fma)
def fma(a: float, b: float, c: float) -> float:
    """Return ``a*b + c`` rounded once."""
    if not (math.isfinite(a) and math.isfinite(b) and math.isfinite(c)):
        return a * b + c
    exact = Fraction(a) * Fraction(b) + Fraction(c)
    if exact == 0:
        return a * b + c  # the sign of zero
    try:
        return float(exact)
    except OverflowError:
        return math.inf if exact > 0 else -math.inf


def _emit_bits(builder: Any, x: Any) -> Any:
    from llvmlite import ir

    return builder.bitcast(x, ir.IntType(64))


@primitive("int64(float64)", _emit_bits)
def bits(x: float) -> int:
    """Return the IEEE representation of ``x`` as a signed 64-bit integer."""
    number: int = struct.unpack("<q", struct.pack("<d", x))[0]
    return number


def _emit_from_bits(builder: Any, number: Any) -> Any:
    from llvmlite import ir

    return builder.bitcast(number, ir.DoubleType())


@primitive("float64(int64)", _emit_from_bits)
def from_bits(number: int) -> float:
    """Return the double whose IEEE representation is ``number``."""
    x: float = struct.unpack("<d", struct.pack("<q", number))[0]
    return x


def _emit_stack(builder: Any) -> Any:
    from llvmlite import ir
    from numba.core import cgutils

    room = cgutils.alloca_once(builder, ir.DoubleType(), size=BLOCK)
    room.align = 64  # a cache line, and the widest vector
    return room


@primitive("CPointer(float64)()", _emit_stack)
def stack() -> Any:
    """Return room for ``BLOCK`` doubles that lives as long as the caller."""
    return [math.nan] * BLOCK


def _emit_integer_stack(builder: Any) -> Any:
    from llvmlite import ir
    from numba.core import cgutils

    return cgutils.alloca_once(builder, ir.IntType(64), size=BLOCK + 1)


@primitive("CPointer(int64)()", _emit_integer_stack)
def integer_stack() -> Any:
    """Return room for ``BLOCK + 1`` integers that lives as long as the caller."""
    return [0] * (BLOCK + 1)


def _emit_offset(builder: Any, pointer: Any, count: Any) -> Any:
    return builder.gep(pointer, [count])


@primitive("CPointer(float64)(CPointer(float64), int64)", _emit_offset)
def offset(pointer: Any, count: int) -> Any:
    """Return a pointer to the element ``count``; interpreted, a slice of an array."""
    return pointer[count:]


@kernel
def two_sum(a: float, b: float) -> tuple[float, float]:
    """Return ``a + b`` rounded and its rounding error (Knuth)."""
    s = a + b
    t = s - a
    return s, (a - (s - t)) + (b - t)


@kernel
def fast_two_sum(a: float, b: float) -> tuple[float, float]:
    """Return ``a + b`` rounded and its rounding error, for ``|a| >= |b|`` (Dekker)."""
    s = a + b
    return s, b - (s - a)


@kernel
def two_product(a: float, b: float) -> tuple[float, float]:
    """Return ``a * b`` rounded and its rounding error."""
    s = a * b
    return s, fma(a, b, -s)


def from_hex(text: str) -> tuple[float, ...]:
    """Return the doubles of a text of hexadecimal numbers."""
    return tuple(map(float.fromhex, text.split()))


def table_of(name: str, values: tuple[float, ...]) -> Callable[[int], float]:
    """Make the function i -> values[i], in compiled code a table of constants."""

    def emit_look_up(builder: Any, index: Any) -> Any:
        from llvmlite import ir

        module = builder.module
        if name not in module.globals:
            kind = ir.ArrayType(ir.DoubleType(), len(values))
            table = ir.GlobalVariable(module, kind, name)
            table.linkage = "internal"
            table.global_constant = True
            table.initializer = ir.Constant(kind, values)
        first = ir.Constant(ir.IntType(64), 0)
        return builder.load(builder.gep(module.globals[name], [first, index]))

    def look_up(index: int) -> float:
        return values[index]

    look_up.__name__ = name
    return primitive("float64(int64)", emit_look_up)(look_up)
