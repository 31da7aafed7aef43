"""Read and write arrays of unsigned numbers of any size in compiled code.

The codes of a key take one, two, four or eight bytes each. Compiled code gets the
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
    """Write the mixed-radix numbers of the records from ``start`` to ``stop``."""
    combine_codes(
        np.array([column.ctypes.data for column in codes], np.uint64),
        np.array([column.itemsize for column in codes], np.int64),
        np.array(radices, np.uint64),
        len(codes),
        start,
        stop,
        out,
    )


def _loader(bits: int) -> Callable[[int, int], int]:
    """Return the primitive that returns element ``i`` of the numbers at an address."""

    def emit(builder: Any, address: Any, i: Any) -> Any:
        from llvmlite import ir

        number: Any = ir.IntType
        start = builder.inttoptr(address, number(bits).as_pointer())
        return builder.zext(builder.load(builder.gep(start, [i])), number(64))

    @primitive("uint64(uint64, int64)", emit)
    def load_number(address: int, i: int) -> int:
        kind = getattr(ctypes, f"c_uint{bits}")
        return int(kind.from_address(address + bits // 8 * i).value)

    return load_number


load_uint8, load_uint16, load_uint32, load_uint64 = map(_loader, (8, 16, 32, 64))


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


def _storer(bits: int) -> Callable[[int, int, int], int]:
    """Return the primitive that writes element ``i`` at an address and returns it."""

    def emit(builder: Any, address: Any, i: Any, value: Any) -> Any:
        from llvmlite import ir

        number: Any = ir.IntType
        start = builder.inttoptr(address, number(bits).as_pointer())
        builder.store(builder.trunc(value, number(bits)), builder.gep(start, [i]))
        return value

    @primitive("uint64(uint64, int64, uint64)", emit)
    def store_number(address: int, i: int, value: int) -> int:
        kind = getattr(ctypes, f"c_uint{bits}")
        kind.from_address(address + bits // 8 * i).value = int(value)
        return value

    return store_number


store_uint32, store_uint64 = map(_storer, (32, 64))


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
    """Mark the numbers that occur, less ``origin``, in ``seen``."""
    mask = origin_mask(size)
    for i in range(n):
        seen[(load(column, size, i) - origin) & mask] = 1


@native("uint64, int64, uint64, int64, uint32*, uint32*")
def rank_levels(
    column: int, size: int, origin: int, n: int, rank: Any, codes: Any
) -> None:
    """Write the rank of each number; the first rank is that of ``origin``."""
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
