"""l-diversity of the values of each cell, and distances of cells from the file.

Numbers of records are whole, so a measure that is a fraction of them is rounded only
once, and measures that are equal by definition are equal here.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from riskcore.assessment.distributions import Distributions
from riskcore.common.threads import over
from riskcore.core.compiled.jit import kernel, native
from riskcore.core.special.elementary import exp, log
from riskcore.core.special.floats import two_product

Reals = NDArray[np.float64]
Numbers = NDArray[np.int64]

# exp of an entropy this near to a whole number, relatively, is that number: what sums
# of logarithms lose is far below.
_WHOLE = 2.0**-44


class Diverse(NamedTuple):
    """The l-diversity of each cell, each shape (K,)."""

    distinct: Numbers  # number of values
    entropy: Reals  # exp of the entropy; nan for a cell without values
    recursive: Numbers  # the largest l with r_1 < c (r_l + ... + r_m), or 0


def diverse(distributions: Distributions, c: Fraction) -> Diverse:
    """Return the l-diversity of each cell: distinct, entropy and recursive."""
    K = len(distributions.begin) - 1
    entropy, recursive = np.empty(K), np.empty(K, np.int64)
    distinct = np.diff(distributions.begin)
    most = int(distinct.max())

    def measure(start: int, stop: int) -> None:
        measure_cells(
            distributions.begin,
            distributions.number,
            start,
            stop,
            float(c.numerator),
            float(c.denominator),
            np.empty(max(most, 1)),
            entropy,
            recursive,
        )

    over(K, measure)
    return Diverse(distinct, entropy, recursive)


def equal_distance(distributions: Distributions) -> Reals:
    """Return the total variation distance of each cell from the file."""
    # It is the earth mover's distance if any two values have the distance 1.
    K, number = len(distributions.begin) - 1, distributions.number
    cell = np.repeat(np.arange(K), np.diff(distributions.begin))
    n, N = np.bincount(cell, number, K), float(distributions.total.sum())
    above = number * N - distributions.total[distributions.value] * n[cell]
    with np.errstate(invalid="ignore"):  # nan for a cell without values
        return np.asarray(np.bincount(cell, np.maximum(above, 0.0), K) / (n * N))


def ordered_distance(distributions: Distributions) -> Reals:
    """Return each cell's earth mover's distance from the file, by ranks of values."""
    distance = np.empty(len(distributions.begin) - 1)
    up_to = np.cumsum(distributions.total)
    sums = np.concatenate([[0.0], np.cumsum(up_to)])

    def measure(start: int, stop: int) -> None:
        ordered_distances(
            distributions.begin,
            distributions.value,
            distributions.number,
            start,
            stop,
            up_to,
            sums,
            len(up_to),
            distance,
        )

    over(len(distance), measure)
    return distance


@kernel
def sort_down(number: Any, n: int) -> None:
    """Sort the first numbers of an array, the largest first (Shell 1959)."""
    gap = 1
    while gap < n // 3:
        gap = 3 * gap + 1
    while gap > 0:
        for i in range(gap, n):
            moved = number[i]
            j = i
            while j >= gap and number[j - gap] < moved:
                number[j] = number[j - gap]
                j -= gap
            number[j] = moved
        gap //= 3


@kernel
def less_products(a: float, b: float, c: float, d: float) -> bool:
    """Return whether a b < c d, exactly."""
    product, one_low = two_product(a, b)
    other, other_low = two_product(c, d)
    return product < other or (product == other and one_low < other_low)


@native("int64*, float64*, int64, int64, float64, float64, float64*, float64*, int64*")
def measure_cells(
    begin: Any,
    number: Any,
    start: int,
    stop: int,
    numerator: float,
    denominator: float,
    sorted_number: Any,
    entropy: Any,
    recursive: Any,
) -> None:
    """Write exp of the entropy, and the largest l of recursive diversity."""
    for cell in range(start, stop):
        m = begin[cell + 1] - begin[cell]
        n = 0.0
        for i in range(m):
            sorted_number[i] = number[begin[cell] + i]
            n += sorted_number[i]
        H = 0.0
        for i in range(m):
            H += sorted_number[i] / n * log(n / sorted_number[i])
        value = exp(H)
        nearest = float(int(value + 0.5))
        close = abs(value - nearest) <= _WHOLE * nearest
        entropy[cell] = (nearest if close else value) if m > 0 else np.nan
        sort_down(sorted_number, m)
        rest = 0.0
        l_largest = 0
        for left in range(m):
            l = m - left  # noqa: E741
            rest += sorted_number[l - 1]
            if less_products(sorted_number[0], denominator, numerator, rest):
                l_largest = l
                break
        recursive[cell] = l_largest


@native("int64*, int64*, float64*, int64, int64, float64*, float64*, int64, float64*")
def ordered_distances(
    begin: Any,
    value: Any,
    number: Any,
    start: int,
    stop: int,
    up_to: Any,
    sums: Any,
    m: int,
    distance: Any,
) -> None:
    """Write the mean, over the m - 1 gaps between values, of the mass that crosses."""
    # Between two values of the cell, its cumulated share is constant, while the
    # cumulated share of the file rises: the cell's is larger before the two meet, the
    # file's after.
    N = up_to[m - 1]
    for cell in range(start, stop):
        n = 0.0
        for i in range(begin[cell], begin[cell + 1]):
            n += number[i]
        moved = 0.0
        inside = 0.0
        low = 0
        for i in range(begin[cell], begin[cell + 1] + 1):
            high = value[i] if i < begin[cell + 1] else m
            first = low
            last = high
            while first < last:
                middle = (first + last) // 2
                if up_to[middle] * n < inside * N:
                    first = middle + 1
                else:
                    last = middle
            moved += (first - low) * (inside * N) - n * (sums[first] - sums[low])
            moved += n * (sums[high] - sums[first]) - (high - first) * (inside * N)
            if i < begin[cell + 1]:
                inside += number[i]
            low = high
        if n == 0.0:
            distance[cell] = np.nan
        elif m == 1:
            distance[cell] = 0.0
        else:
            distance[cell] = moved / (n * N * (m - 1))
