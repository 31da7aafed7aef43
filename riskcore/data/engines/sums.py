"""Sums of weights as whole numbers: the same bits in any order, on any engine.

A sum of doubles depends on the order of the additions, which differs from run to run on
engines of several threads or machines. A sum of integers does not. So a weight is cut
into pieces of a few bits, each a whole number of its own unit; the engine adds these,
and their sums are put together once, at the end.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from riskcore.core.special.floats import two_sum

BLOCK = 1 << 14  # sums put together at once
_BITS = 62  # of a signed integer, which must hold a sum of n pieces
_MOST = 4  # with more pieces it is cheaper that the engine adds doubles
_DOUBLE = 53
_LARGEST_POWER = 1000  # larger powers of two may not be doubles
_SAME = 2.0**-48  # relative variances of weights that are rounding errors


@dataclass(frozen=True, slots=True)
class WholeSums:
    """How positive doubles are cut into pieces, whole numbers of some bits each.

    The first piece counts units of 2**(power - bits), the next of 2**(power - 2 bits),
    and so on.
    """

    bits: int
    power: int
    pieces: int

    @classmethod
    def of(cls, n: int, low: float, high: float, whole: bool) -> WholeSums | None:
        """Return how to cut n weights without losing a bit; None if it is too dear."""
        bits = _BITS - n.bit_length()
        power = math.frexp(high)[1]
        last = 0 if whole else math.frexp(low)[1] - _DOUBLE
        pieces = -(-(power - last) // bits) if bits > 0 else _MOST + 1
        if pieces > _MOST or max(abs(bits - power), abs(last)) > _LARGEST_POWER:
            return None
        return cls(bits, power, max(pieces, 1))

    def cut(self, weight: Any) -> list[Any]:
        """Return the exact pieces of a weight, an array or an expression."""
        cut = []
        rest = weight * 2.0 ** (self.bits - self.power)
        for _ in range(self.pieces):
            piece = np.floor(rest) if isinstance(rest, np.ndarray) else rest.floor()
            cut.append(piece)
            rest = (rest - piece) * 2.0**self.bits
        return cut

    def join(self, sums: Sequence[NDArray[np.int64]]) -> NDArray[np.float64]:
        """Return the sums of the weights, from the sums of their pieces."""
        totals = np.empty(len(sums[0]))
        for start in range(0, len(totals), BLOCK):
            part = slice(start, start + BLOCK)
            self._join_block([piece_sums[part] for piece_sums in sums], totals[part])
        return totals

    def _join_block(
        self, sums: Sequence[NDArray[np.int64]], out: NDArray[np.float64]
    ) -> None:
        """Write the sums of the weights of a block, which stays in the cache."""
        high: Any = np.zeros(len(out))
        low = np.zeros(len(out))
        with np.errstate(over="ignore", invalid="ignore"):
            for i, total in enumerate(sums, 1):
                unit = self.power - i * self.bits
                # In two halves: a double has 53 bits.
                for half, shift in ((total >> 32, 32), (total & 0xFFFFFFFF, 0)):
                    number: Any = half.astype(np.float64)
                    # ldexp, since the power itself may not be a double.
                    number = np.ldexp(number, unit + shift)
                    high, lost = two_sum(high, number)
                    low += lost
            np.add(high, low, out=out)
        out[np.isnan(out)] = np.inf


@dataclass(frozen=True, slots=True)
class Squares:
    """How squares of weights are rounded to doubles and cut, and their sums by row."""

    unit: float  # the power of two that weights are divided by
    whole: WholeSums
    parts: Sequence[NDArray[np.int64]] = ()  # the sums of each piece, shape (rows,)

    @classmethod
    def of(cls, n: int, low: float, high: float, whole: bool) -> Squares:
        """Return how to cut the squares of n weights; of tiny ones bits may be lost."""
        bits, power = _BITS - n.bit_length(), math.frexp(high)[1]
        unit = min(max(power, -_LARGEST_POWER), _LARGEST_POWER)
        last = 2 * (math.frexp(low)[1] - power) - _DOUBLE - 1
        last = max(last, -2 * power) if whole else last
        pieces = min(max(-(last // bits), 1), _MOST)
        return cls(2.0**unit, WholeSums(bits, 2 * (power - unit), pieces))

    @classmethod
    def of_rows(cls, weight: NDArray[Any], records: NDArray[Any] | int) -> Squares:
        """Return the squares of weights in memory, and how many records have each."""
        n = int(np.broadcast_to(records, weight.shape).sum())
        low = weight.min(initial=np.inf, where=weight > 0.0)
        whole = not np.fmod(weight, 1.0).any()
        squares = cls.of(n, float(low), float(weight.max()), whole)
        parts = [part.astype(np.int64) * records for part in squares.cut(weight)]
        return replace(squares, parts=parts)

    def cut(self, weight: Any) -> list[Any]:
        """Return the pieces of the square of a weight, an array or an expression."""
        share = weight * (1.0 / self.unit)
        return self.whole.cut(share * share)

    def spread(
        self, cell: NDArray[Any], records: NDArray[Any], weight_sum: NDArray[Any]
    ) -> NDArray[np.float64]:
        """Return the sum of (w f/W - 1)^2 over the records of each cell.

        It is f (f S/W^2 - 1), within f 2^-49. Rows of the cell -1 do not count.
        """
        sums = [added(part, cell, len(records) + 1)[:-1] for part in self.parts]
        share = weight_sum / self.unit
        with np.errstate(divide="ignore", invalid="ignore"):  # a cell without weights
            variance = records * self.whole.join(sums) / (share * share) - 1.0
        return np.where(variance > _SAME, records * variance, 0.0)


def added(part: NDArray[Any], group: NDArray[Any], groups: int) -> NDArray[Any]:
    """Return the sums of numbers over groups, given the group of each row."""
    total = np.zeros(groups, part.dtype)
    with np.errstate(over="ignore"):  # refused where the sum is looked at
        np.add.at(total, group, part)
    return total
