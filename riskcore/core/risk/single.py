"""float32 in, float32 out: one loop for all ufuncs that rounds what their loops give.

It widens a block of arguments, lets the loop of doubles evaluate them, and rounds each
result as its ufunc says. A double nearest the exact value may be rounded again unless
it is the middle of two float32 numbers: then the slow steps say on which side of it the
exact value lies (notes/correct_rounding.md, section 7). Results are positive or nan,
where they are not just rounded to nearest.
"""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable
from functools import cache
from typing import Any

from riskcore.core.compiled.jit import Native, kernel, primitive
from riskcore.core.compiled.signals import run, words
from riskcore.core.compiled.ufunc_maker import _emit_address, address, clear_flags
from riskcore.core.special.floats import BLOCK, bits, fma, from_bits, stack
from riskcore.core.special.gauss.fixed_point_step import side

# How a result is rounded: to nearest, of the double nearest r(f, p) or r(f, f/F) so
# that the float32 is nearest, too; down; up.
NEAREST, OF_FRACTION, OF_FREQUENCIES, DOWN, UP = range(5)
_LOOP, _INPUTS, _OUTPUTS, _WAYS = range(4)  # what a plan holds
_MOST = 4  # arguments and results of a ufunc
_NORMAL, _SMALLEST, _OVER = 2.0**-126, 2.0**-149, 2.0**128
_UNIT = 1 << 29  # last place of a float32 in the bits of a double
_TO_INTEGER = 1.5 * 2.0**52


@primitive("int64(CPointer(float32))", _emit_address)
def _address(pointer: Any) -> int:
    """Return where a pointer points."""
    return id(pointer)


@kernel
def is_middle(x: float) -> bool:
    """Return whether a double x > 0 is the middle of two float32, of 2^128 too."""
    halves = x * (2.0 / _SMALLEST)
    is_whole = (halves + _TO_INTEGER) - _TO_INTEGER == halves
    is_even = (0.5 * halves + _TO_INTEGER) - _TO_INTEGER == 0.5 * halves
    normal = bits(x) & (_UNIT - 1) == _UNIT >> 1
    return bool(normal if x >= _NORMAL else is_whole & (not is_even))


@kernel
def _beside(f: float, second: float, x: float, way: int) -> float:
    """Return the double next to a middle x on the side of the exact value."""
    a, b = (second, 1.0) if way == OF_FRACTION else (f, second)
    if a == b:  # 1/f
        product = fma(-x, f, 1.0)
        return from_bits(bits(x) + (product > 0.0) - (product < 0.0))
    where = side(f, a, b, x, False)
    return from_bits(bits(x) + where) if where != 0 else math.nan


@kernel
def _settle(f: Any, second: Any, out: Any, way: int, n: int) -> None:
    """Replace middles of float32 by doubles that round as the exact values do."""
    count = 0
    for i in range(n):
        count += is_middle(out[i])
    if count > 0:
        for i in range(n):
            if is_middle(out[i]):
                out[i] = _beside(f[i], second[i], out[i], way)


@kernel
def below(y: float) -> float:
    """Return the float32 below another, y > 0; infinity counts as 2^128."""
    y = min(y, _OVER)
    return from_bits(bits(y) - _UNIT) if y > _NORMAL else y - _SMALLEST


@kernel
def above(y: float) -> float:
    """Return the float32 above another, y >= 0, or 2^128."""
    return from_bits(bits(y) + _UNIT) if y >= _NORMAL else y + _SMALLEST


@kernel
def _column_of(a: Any, b: Any, c: Any, d: Any, k: int) -> Any:
    return (a if k == 0 else b) if k < 2 else (c if k == 2 else d)


@kernel
def _run_on(loop: int, a: Any, b: Any, c: Any, d: Any, n: int) -> None:
    """Run the loop of doubles at an address on n cells."""
    places, eights, size = words(), words(), words()
    for k in range(_MOST):
        places[k], eights[k] = address(_column_of(a, b, c, d, k)), 8
    size[0] = n
    run(loop, places, size, eights, 0)


def loop_of_singles(args: Any, sizes: Any, steps: Any, plan: Any) -> None:
    """Evaluate cells as NumPy's loop, with a plan as its data."""
    a, b, c, d, inputs = stack(), stack(), stack(), stack(), plan[_INPUTS]
    # One by one if a result is the next argument, as in ``reduce`` and ``accumulate``.
    gap = _address(args[inputs]) - _address(args[0])
    serial = (steps[inputs] == 0) | (gap == steps[inputs])
    first, ahead = 0, 1 if serial else BLOCK
    while first < sizes[0]:
        n = min(ahead, sizes[0] - first)
        for k in range(inputs):
            room = _column_of(a, b, c, d, k)
            for i in range(n):
                room[i] = args[k][(first + i) * (steps[k] >> 2)]
        _run_on(plan[_LOOP], a, b, c, d, n)
        for k in range(plan[_OUTPUTS]):
            way, values = plan[_WAYS + k], _column_of(a, b, c, d, inputs + k)
            if (way == OF_FRACTION) | (way == OF_FREQUENCIES):
                _settle(a, b, values, way, n)
            for i in range(n):
                x, j = values[i], (first + i) * (steps[inputs + k] >> 2)
                args[inputs + k][j] = x
                y = 1.0 * args[inputs + k][j]
                if (way == DOWN) & (y > x):
                    args[inputs + k][j] = below(y)
                if (way == UP) & (y < x):
                    args[inputs + k][j] = above(y)
        first += n
    clear_flags()


@cache
def code() -> Native:
    """Return the entry point that is the loop of every ufunc."""
    return Native(loop_of_singles, "float32**, int64*, int64*, int64*")


def rounded_to_single(*ways: int) -> Callable[[int, int], tuple[int, Any]]:
    """Return `UfuncSource.single` for results rounded in the ways of this module."""

    def with_plan(loop: int, inputs: int) -> tuple[int, Any]:
        plan = (ctypes.c_int64 * (_WAYS + len(ways)))(loop, inputs, len(ways), *ways)
        return code().address(), plan

    return with_plan
