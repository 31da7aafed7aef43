"""Size indices: the numbers of cells of a sample with 1, 2, 3, ... records."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from riskcore.common import arguments, html
from riskcore.common.words import counted
from riskcore.core.special.gamma.functions import log_rising_factorial

Ints = NDArray[np.int64]

_SHOWN = 40  # sizes in a drawing
LARGEST = 2**53  # records: every smaller number is a double


class SizeIndices:
    """The size indices of a sample, or frequencies of its cell frequencies.

    s_j cells have j records. This is all that superpopulation models use of a sample.
    An object cannot be changed.

    Parameters
    ----------
    counts : mapping of int to int
        The number of cells s_j of each size j >= 1; sizes with s_j = 0 may be left out.

    Attributes
    ----------
    sizes : int64 ndarray
        The sizes j that occur, rising; read-only.
    counts : int64 ndarray
        The number of cells of each size; read-only.
    n : int
        Number of records, sum j s_j.
    u : int
        Number of occupied cells, sum s_j.

    Raises
    ------
    TypeError
        If sizes or counts are not numbers.
    ValueError
        If sizes are not whole numbers >= 1, counts are not whole numbers >= 0, or the
        number of records is not from 1 to 2^53.

    See Also
    --------
    SizeIndices.from_frequencies : from the records of each cell.

    Examples
    --------
    >>> sizes = SizeIndices({1: 4, 2: 3})
    >>> sizes
    <SizeIndices: 10 records in 7 cells, 4 sample uniques>
    >>> sizes[1], sizes[3], sizes.total([1.0, 0.5])
    (4, 0, 5.5)
    >>> round(sizes.log_arrangements(), 6)
    8.055158
    """

    sizes: Ints
    counts: Ints
    n: int
    u: int

    def __init__(self, counts: Mapping[int, int]) -> None:
        mapping: Any = counts
        if not isinstance(mapping, Mapping):
            raise TypeError(
                "counts: need a mapping of sizes to numbers of cells, got "
                f"{arguments.shown(mapping)}; "
                "SizeIndices.from_frequencies takes the records of each cell"
            )
        sizes = _whole_numbers("sizes", list(counts.keys()), least=1)
        cells = _whole_numbers("counts", list(counts.values()), least=0)
        order = np.argsort(sizes)[cells[np.argsort(sizes)] > 0]
        sizes, cells = sizes[order], cells[order]
        sizes.flags.writeable = cells.flags.writeable = False
        self.__dict__.update(sizes=sizes, counts=cells, u=sum(cells.tolist()))
        self.__dict__["n"] = sum(j * s for j, s in self._pairs())
        if not 0 < self.n <= LARGEST:
            raise ValueError(f"sizes: need 1 to 2^53 records, got {self.n}")

    @classmethod
    def from_frequencies(cls, frequencies: ArrayLike) -> SizeIndices:
        """Return the size indices of cells with these numbers of records.

        Parameters
        ----------
        frequencies : array_like of int, shape (K,)
            Records of each cell, such as ``records`` of `riskcore.tabulate`; cells
            without records do not count.

        Returns
        -------
        SizeIndices

        Raises
        ------
        TypeError, ValueError
            If they are not whole numbers, or there are no records.

        Examples
        --------
        >>> SizeIndices.from_frequencies([3, 1, 0, 1])
        <SizeIndices: 5 records in 3 cells, 2 sample uniques>
        """
        occupied = _whole_numbers("frequencies", frequencies, least=0)
        if not occupied.any():
            raise ValueError("frequencies: no records")
        sizes, counts = np.unique(occupied[occupied > 0], return_counts=True)
        return cls(dict(zip(sizes.tolist(), counts.tolist(), strict=True)))

    __iter__ = None  # sizes[j] is a number for every j: a loop would not end

    def __getitem__(self, size: int) -> int:
        """Return the number of cells with ``size`` records, which may be 0."""
        at = np.searchsorted(self.sizes, size)
        present = at < len(self.sizes) and self.sizes[at] == size
        return int(self.counts[at]) if present else 0

    @property
    def same_cell(self) -> int:
        """Ordered pairs of records in the same cell, sum j (j-1) s_j."""
        return sum(j * (j - 1) * s for j, s in self._pairs())

    def total(self, values: Any) -> float:
        """Return sum s_j x_j, for one value x_j of each size that occurs.

        Parameters
        ----------
        values : array_like
            In the order of ``sizes``.

        Returns
        -------
        float
        """
        return math.fsum((self.counts * values).tolist())

    def log_arrangements(self) -> float:
        """Return the logarithm of the ways to divide n records into such cells.

        It is log[ n!/prod_j (j!^s_j s_j!) ], which all models have in common.

        Returns
        -------
        float
        """
        cells = log_rising_factorial(1.0, self.counts.astype(np.float64))
        records = log_rising_factorial(1.0, self.sizes.astype(np.float64))
        ways = float(log_rising_factorial(1.0, float(self.n)))
        return math.fsum([ways, -self.total(records), *(-cells).tolist()])

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"{name}: size indices cannot be changed")

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, SizeIndices):
            return NotImplemented
        return self._pairs() == other._pairs()

    def __hash__(self) -> int:
        return hash(tuple(self._pairs()))

    def __repr__(self) -> str:
        return (
            f"<SizeIndices: {counted(self.n, 'record')} in {counted(self.u, 'cell')}, "
            f"{counted(self[1], 'sample unique')}>"
        )

    def _repr_html_(self) -> str:
        most = min(int(self.sizes[-1]), _SHOWN)
        cells = [self[j] for j in range(1, most + 1)]
        beyond = self.u - sum(cells)
        scale = f"cells of 1 to {most} records"
        if beyond:
            scale += f"; not shown: {counted(beyond, 'larger cell')}"
        rows = [
            ("records", f"{self.n:,}"),
            ("cells", f"{self.u:,}"),
            ("sample uniques", f"{self[1]:,}"),
            ("largest cell", f"{self.sizes[-1]:,}"),
        ]
        return html.figures("Size indices", "", rows, html.bars(cells, scale))

    def _pairs(self) -> list[tuple[int, int]]:
        return list(zip(self.sizes.tolist(), self.counts.tolist(), strict=True))


def _whole_numbers(name: str, values: ArrayLike, least: int) -> Ints:
    numbers = arguments.numbers(name, values, "whole numbers", dimensions=1)
    # nan is not a whole number by the first test.
    with np.errstate(invalid="ignore"):
        good = (
            (numbers == np.floor(numbers)) & (numbers >= least) & (numbers <= LARGEST)
        )
    bad = len(numbers) - int(np.count_nonzero(good))
    if bad:
        raise ValueError(
            f"{name}: {bad} of {len(numbers)} are not whole numbers "
            f"from {least} to {LARGEST}"
        )
    return numbers.astype(np.int64)
