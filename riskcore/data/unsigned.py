"""Arrays of unsigned numbers of any size, in compiled code.

The codes of a key take one, two, four or eight bytes each. Compiled code is told the
address and the size, so that one function serves all.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from riskcore.core.compiled.jit import kernel, native, primitive
from riskcore.core.special.floats import BLOCK

Codes = NDArray[np.unsignedinteger[Any]]


def combine(
    codes: Sequence[Codes],
    radices: Sequence[int],
    start: int,
    stop: int,
    out: NDArray[np.uint64],
) -> None:
    """Write the mixed-radix number of each record from ``start`` to ``stop``."""
    combine_codes(
        np.array([column.ctypes.data for column in codes], np.uint64),
        np.array([column.itemsize for column in codes], np.int64),
        np.array(radices, np.uint64),
        len(codes),
        start,
        stop,
        out,
    )


def _emit_load(bits: int) -> Callable[..., Any]:
    def emit(builder: Any, address: Any, i: Any) -> Any:
        from llvmlite import ir

        number: Any = ir.IntType
        start = builder.inttoptr(address, number(bits).as_pointer())
        return builder.zext(builder.load(builder.gep(start, [i])), number(64))

    return emit


@primitive("uint64(uint64, int64)", _emit_load(8))
def load_uint8(address: int, i: int) -> int:
    """Return element ``i`` of the bytes at ``address``."""
    return ctypes.c_uint8.from_address(address + i).value


@primitive("uint64(uint64, int64)", _emit_load(16))
def load_uint16(address: int, i: int) -> int:
    """Return element ``i`` of the 16-bit numbers at ``address``."""
    return ctypes.c_uint16.from_address(address + 2 * i).value


@primitive("uint64(uint64, int64)", _emit_load(32))
def load_uint32(address: int, i: int) -> int:
    """Return element ``i`` of the 32-bit numbers at ``address``."""
    return ctypes.c_uint32.from_address(address + 4 * i).value


@primitive("uint64(uint64, int64)", _emit_load(64))
def load_uint64(address: int, i: int) -> int:
    """Return element ``i`` of the 64-bit numbers at ``address``."""
    return ctypes.c_uint64.from_address(address + 8 * i).value


@kernel
def load(address: int, size: int, i: int) -> int:
    """Return element ``i`` of the unsigned numbers of ``size`` bytes at ``address``."""
    if size == 1:
        return load_uint8(address, i)
    if size == 2:
        return load_uint16(address, i)
    if size == 4:
        return load_uint32(address, i)
    return load_uint64(address, i)


def _emit_store(bits: int) -> Callable[..., Any]:
    def emit(builder: Any, address: Any, i: Any, value: Any) -> Any:
        from llvmlite import ir

        number: Any = ir.IntType
        start = builder.inttoptr(address, number(bits).as_pointer())
        builder.store(builder.trunc(value, number(bits)), builder.gep(start, [i]))
        return value

    return emit


@primitive("uint64(uint64, int64, uint64)", _emit_store(32))
def store_uint32(address: int, i: int, value: int) -> int:
    """Write element ``i`` of the 32-bit numbers at ``address``; return it."""
    ctypes.c_uint32.from_address(address + 4 * i).value = int(value)
    return value


@primitive("uint64(uint64, int64, uint64)", _emit_store(64))
def store_uint64(address: int, i: int, value: int) -> int:
    """Write element ``i`` of the 64-bit numbers at ``address``; return it."""
    ctypes.c_uint64.from_address(address + 8 * i).value = int(value)
    return value


@kernel
def store(address: int, size: int, i: int, value: Any) -> Any:
    """Write element ``i`` of the numbers of four or eight bytes at ``address``."""
    if size == 4:
        return store_uint32(address, i, value)
    return store_uint64(address, i, value)


@primitive("uint64(uint64)", lambda builder, word: builder.ctpop(word))
def count_bits(word: int) -> int:
    """Return how many bits of a word are 1."""
    return int(word).bit_count()


@native("uint64, int64, uint64, int64, uint8*")
def mark_levels(column: int, size: int, origin: int, n: int, seen: Any) -> None:
    """Mark the numbers that occur, counted from ``origin``."""
    mask = origin_mask(size)
    for i in range(n):
        seen[(load(column, size, i) - origin) & mask] = 1


@native("uint64, int64, uint64, int64, uint32*, uint32*")
def rank_levels(
    column: int, size: int, origin: int, n: int, rank: Any, codes: Any
) -> None:
    """Write the rank of each number, given by number from ``origin`` on."""
    mask = origin_mask(size)
    for i in range(n):
        codes[i] = rank[(load(column, size, i) - origin) & mask]


@kernel
def origin_mask(size: int) -> Any:
    """Return the largest unsigned number of ``size`` bytes."""
    return np.uint64(0xFFFFFFFFFFFFFFFF) >> np.uint64(64 - 8 * size)


@native("uint64*, int64*, uint64*, int64, int64, int64, uint64*")
def combine_codes(
    address: Any, size: Any, radix: Any, keys: int, start: int, stop: int, code: Any
) -> None:
    """Write the mixed-radix number of the keys' codes of each record."""
    for first in range(start, stop, BLOCK):
        last = first + BLOCK if first + BLOCK < stop else stop
        for i in range(first, last):
            code[i - start] = 0
        for key in range(keys):
            column = address[key]
            bytes_each = size[key]
            r = radix[key]
            for i in range(first, last):
                code[i - start] = code[i - start] * r + load(column, bytes_each, i)
