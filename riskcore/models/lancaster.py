"""Lancaster's additive model of cell probabilities, shrunk towards independence.

A cell x of a table with m keys has the probability (Takemura, equations 1, 2 and 4)

    p(lambda) = w (1 + lambda S),   w = prod_l p_l(x_l),   S = sum_{a<b} u_ab(x_a, x_b),

where p_l = n_l/n are the margins of single keys and u_ab = n n_ab/(n_a n_b) - 1 is the
excess of a pair over independence. A negative estimate is taken as 0 and, on request,
the others are divided by their sum c(lambda) (equation 5), which needs a visit of every
cell of the cross product:

    c(lambda) = 1 + lambda sum w max(-1/lambda - S, 0).

The outer keys are nested loops with running sums of excesses; the inner keys, including
the largest, are one vector. A vector without a cell below -1/lambda adds 0.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import combinations
from operator import index
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from riskcore.common import arguments
from riskcore.common.progress import Parts
from riskcore.common.words import counted
from riskcore.core.compiled.jit import kernel, native, primitive
from riskcore.core.special.floats import fma, two_sum
from riskcore.models.codes import (
    MOST_PAIRS,
    Ints,
    Mask,
    Pair,
    as_codes,
    as_frequency,
    as_structural_zeros,
    refuse_records,
)

Floats = NDArray[np.float64]

LARGEST_TABLE = 10**12  # cells of one pass: about 10 minutes
_INNER = 256  # inner cells: their sums for some lambdas stay in the L1 cache
_LANES = 8  # doubles in a cache line and in the widest vector
# Pairs of rows of inner cells added before rounding errors are kept; cells in a call.
_PAIRS_OF_ROWS = 128
_CALL = 2**27
_TINY = 2.0**-1000  # a smaller lambda counts as 0: 1/lambda must be a double


@dataclass(frozen=True, slots=True, eq=False)
class Lancaster:
    """Lancaster's additive model with all interactions of two keys, fitted.

    Made by `Lancaster.fit`. The estimate has a closed form and exists for every sample.

    Attributes
    ----------
    n : int
        Records in the sample.
    levels : tuple of int
        Number of categories of each key, including those that do not occur.
    margins : tuple of float64 ndarray, each shape (levels[l],)
        Share p_l of the records in each category of each key.
    excess : mapping from (a, b) with a < b to float64 ndarray
        u_ab of each pair of categories, shape (levels[a], levels[b]): -1 if both occur
        but not together, 0 if one of them does not occur.
    structural_zeros : mapping from (a, b) with a < b to bool ndarray
        Impossible pairs of categories, for the keys that have any.

    Notes
    -----
    Takemura, "Evaluation of per-record identification risk by additive modeling of
    interaction for contingency table cell probabilities". Over all cells p(lambda) sums
    to 1 for every lambda; at lambda = 1 it has the sample's margins of all pairs of
    keys. It is never negative with two keys and never above 1 with three; with four
    keys it can exceed 1: 6 x^3 - 5 x^4 for four equal keys with a share x of the
    records in one category. Some cell of the sample has a positive p, as the mean of S
    over records is not negative.

    Read ``n_i. n_.j n_..k/n`` of equation 4 as the product of three margins.
    "No renormalization" still takes negative p as 0, or (1-p)^(N-n) would exceed 1.
    With structural zeros the model is an approximation: impossible cells get 0, the
    others keep their p, and c(lambda) is the sum over the others.

    Examples
    --------
    >>> import numpy as np
    >>> a = np.array([0, 0, 0, 1, 1, 1, 1, 0], np.uint8)
    >>> b = np.array([0, 0, 1, 1, 1, 1, 1, 0], np.uint8)
    >>> c = np.array([0, 0, 0, 1, 1, 1, 0, 1], np.uint8)
    >>> model = Lancaster.fit([a, b, c])
    >>> model.normalizer([0.0, 0.5, 1.0]).round(4)
    array([1.    , 1.    , 1.0156])
    >>> uniques = [a[-2:], b[-2:], c[-2:]]
    >>> model.uniqueness(uniques, 20, 0.5).round(4)
    array([0.1454, 0.2766])
    >>> float(model.tau(uniques, 20, 0.5).round(4)), float(model.negative_sum(0.5))
    (0.422, 0.0)
    >>> model = Lancaster.fit([[0, 0, 1, 1], [0, 1, 1, 1]])
    >>> model.probability([[0, 1], [0, 1]], 1.0)
    array([0.25, 0.5 ])
    >>> model.corrected_probability([[0, 1], [0, 1]], 0.0)
    array([0.125, 0.375])
    """

    n: int
    levels: tuple[int, ...]
    margins: tuple[Floats, ...]
    excess: Mapping[Pair, Floats]
    structural_zeros: Mapping[Pair, Mask]

    @classmethod
    def fit(
        cls,
        codes: Sequence[ArrayLike],
        levels: Sequence[int] | None = None,
        frequency: ArrayLike | None = None,
        structural_zeros: Mapping[Pair, ArrayLike] | None = None,
    ) -> Lancaster:
        """Estimate the model by moments: the margins of the sample.

        Parameters
        ----------
        codes : sequence of array_like of int, each shape (K,)
            One array per key, of the records or of the cells: codes from 0 on.
        levels : sequence of int, optional
            For each key a number above all its codes; by default the smallest.
        frequency : array_like of int, shape (K,), optional
            Records of each cell; by default 1.
        structural_zeros : mapping from (a, b) to array_like of bool, optional
            For two keys, by position, a mask of impossible pairs of categories, shape
            (levels[a], levels[b]).

        Returns
        -------
        Lancaster

        Raises
        ------
        TypeError
            If codes or frequencies are not integers, or structural zeros not bool.
        ValueError
            If there are no keys or no records, arrays differ in length, codes or
            frequencies are out of range, records are in structural zeros, or there are
            more than 3 037 000 499 records or 2^27 pairs of categories. The message
            names the key and the count.
        """
        columns = as_codes(codes, levels)
        if levels is None:
            levels = [int(column.max(initial=0)) + 1 for column in columns]
        sizes = tuple(index(size) for size in levels)
        pairs = sum(a * b for a, b in combinations(sizes, 2))
        if pairs > MOST_PAIRS:
            raise ValueError(
                f"codes: {pairs} pairs of categories, more than {MOST_PAIRS}"
            )
        records = as_frequency(frequency, len(columns[0]))
        n = int(records.sum())
        counts = [
            _margin(column, size, records)
            for column, size in zip(columns, sizes, strict=True)
        ]
        zeros = as_structural_zeros(structural_zeros or {}, sizes)
        excess = {}
        for a, b in combinations(range(len(sizes)), 2):
            joint = _margin(
                columns[a] * sizes[b] + columns[b], sizes[a] * sizes[b], records
            ).reshape(sizes[a], sizes[b])
            if (a, b) in zeros:
                refuse_records(int(joint[zeros[a, b]].sum()), n, a, b)
            independent = np.multiply.outer(counts[a], counts[b])
            # Both integers exact: rounded once each, and their quotient.
            difference = n * joint - independent
            excess[a, b] = difference / np.maximum(independent, 1)
        margins = tuple(count / n for count in counts)
        return cls(n, sizes, margins, excess, zeros)

    @property
    def cells(self) -> int:
        """Number of cells of the cross product of the categories that occur."""
        return math.prod(int(np.count_nonzero(margin)) for margin in self.margins)

    def probability(self, codes: Sequence[ArrayLike], shrinkage: ArrayLike) -> Floats:
        """Return p(lambda) of given cells, which may be negative.

        Parameters
        ----------
        codes : sequence of array_like of int, each shape (K,)
            The cells: one array per key.
        shrinkage : float or array_like, shape (L,)
            lambda in [0, 1]: 0 is independence, 1 keeps the margins of all pairs.

        Returns
        -------
        ndarray of float64, shape (K,) or (L, K)
            0 for a category that does not occur in the sample, and at structural zeros.
            With m keys and P = m(m-1)/2 pairs the error is below (P + 2m + 4) 2^-53 w
            (1 + lambda sum abs(u_ab)): p has few digits only where its terms cancel.

        Raises
        ------
        TypeError
            If codes are not integers.
        ValueError
            If ``shrinkage`` or codes are out of range.
        """
        columns = as_codes(codes, self.levels)
        degree = _as_shrinkage(shrinkage)
        weight, total = np.ones(len(columns[0])), np.zeros(len(columns[0]))
        for column, margin in zip(columns, self.margins, strict=True):
            weight *= margin[column]
        for (a, b), table in self.excess.items():
            total += table[columns[a], columns[b]]
        for (a, b), zeros in self.structural_zeros.items():
            weight[zeros[columns[a], columns[b]]] = 0.0
        return weight * (1.0 + degree[..., np.newaxis] * total)

    def corrected_probability(
        self,
        codes: Sequence[ArrayLike],
        shrinkage: ArrayLike,
        *,
        renormalize: bool = True,
        progress: Parts | None = None,
    ) -> Floats:
        """Return p*(lambda) = max(p(lambda), 0)/c(lambda) of given cells.

        Parameters
        ----------
        codes, shrinkage
            As in `probability`.
        renormalize : bool
            Whether to divide by c(lambda). If not, negative probabilities still become
            0, and those above 1, which exist with four keys or more, become 1.
        progress : callable, optional
            As in `normalizer`.

        Returns
        -------
        ndarray of float64, shape (K,) or (L, K)
            In [0, 1].

        Raises
        ------
        TypeError, ValueError
            As `probability`, and as `normalizer` if renormalized.
        """
        p = self.probability(codes, shrinkage)
        if renormalize:
            p /= np.asarray(self.normalizer(shrinkage, progress=progress))[..., None]
        return np.clip(p, 0.0, 1.0)

    def normalizer(
        self, shrinkage: ArrayLike, *, progress: Parts | None = None
    ) -> Floats:
        """Return c(lambda), the sum of all positive p(lambda).

        Parameters
        ----------
        shrinkage : float or array_like, shape (L,)
            lambda in [0, 1]; several are found in one pass over the cells.
        progress : callable, optional
            Called with the cells done and their total, about ten times a second.

        Returns
        -------
        float64 or ndarray of float64, shape (L,)
            Positive; without structural zeros it is 1 - `negative_sum` and at least
            1. With P pairs of keys the error is below P^2 2^-51 + 2^-44 c.

        Raises
        ------
        ValueError
            If ``shrinkage`` is out of range, or there are more than 1e12 cells.
        """
        if not self.structural_zeros:
            return 1.0 - self.negative_sum(shrinkage, progress=progress)
        degree = _as_shrinkage(shrinkage)
        flat = degree.reshape(-1)
        c = np.empty_like(flat)
        independent = flat < _TINY
        if independent.any():
            # p = w for the possible cells: S does not matter, the zeros do.
            table = self._cross_product(0.0)
            c[independent] = shortfalls(table, np.ones(1), progress)
        if not independent.all():
            # p = lambda w (1/lambda + S): how far -S falls short of 1/lambda.
            some = flat[~independent]
            table = self._cross_product(-1.0)
            c[~independent] = some * shortfalls(table, 1.0 / some, progress)
        return _like(degree, c)

    def negative_sum(
        self, shrinkage: ArrayLike, *, progress: Parts | None = None
    ) -> Floats:
        """Return the sum of all negative p(lambda): 0 where the model fits.

        Errors raised and accuracy are as in `normalizer`; structural zeros do not
        count.

        Parameters
        ----------
        shrinkage, progress
            As in `normalizer`.

        Returns
        -------
        float64 or ndarray of float64, shape (L,)
            At most 0, and 0 only if no cell is found negative.
        """
        degree = _as_shrinkage(shrinkage)
        flat = degree.reshape(-1)
        total = np.zeros_like(flat)
        # S >= -(number of pairs), also in rounded sums: no smaller lambda has p < 0.
        some = flat > 1.0 / max(len(self.excess), 1)
        if some.any():
            table = self._cross_product(1.0)
            thresholds = -1.0 / flat[some]
            total[some] -= flat[some] * shortfalls(table, thresholds, progress)
        return _like(degree, total)

    def uniqueness(
        self,
        codes: Sequence[ArrayLike],
        N: float,
        shrinkage: ArrayLike,
        *,
        renormalize: bool = True,
        progress: Parts | None = None,
    ) -> Floats:
        """Return P(F = 1 | f = 1) = (1 - p*(lambda))^(N-n) of sample uniques.

        Parameters
        ----------
        codes : sequence of array_like of int, each shape (K,)
            The cells of the sample uniques: one array per key.
        N : float
            Size of the population, at least n.
        shrinkage, renormalize, progress
            As in `corrected_probability`. A cell with a negative p counts as unique
            in the population, 1.

        Returns
        -------
        ndarray of float64, shape (K,) or (L, K)

        Raises
        ------
        TypeError, ValueError
            As `corrected_probability`, and if ``N`` is below n or not finite.

        Notes
        -----
        Takemura, equation 3. An error of p counts N - n times.
        """
        others = float(N) - self.n
        if not 0.0 <= others < math.inf:
            raise ValueError(f"N: need a number of at least n = {self.n}, got {N}")
        p = self.corrected_probability(
            codes, shrinkage, renormalize=renormalize, progress=progress
        )
        if others == 0.0:
            return np.ones_like(p)
        with np.errstate(divide="ignore"):  # p = 1 is not a unique: exp(-inf) = 0
            return np.exp(others * np.log1p(-p))

    def tau(
        self,
        codes: Sequence[ArrayLike],
        N: float,
        shrinkage: ArrayLike,
        *,
        renormalize: bool = True,
        progress: Parts | None = None,
    ) -> Floats:
        """Return the expected number of sample uniques that are population uniques.

        It is the sum of `uniqueness` over the sample uniques, correctly rounded; errors
        are raised as there.

        Parameters
        ----------
        codes, N, shrinkage, renormalize, progress
            As in `uniqueness`.

        Returns
        -------
        float64 or ndarray of float64, shape (L,)
        """
        unique = self.uniqueness(
            codes, N, shrinkage, renormalize=renormalize, progress=progress
        )
        sums = [math.fsum(row) for row in np.atleast_2d(unique).tolist()]
        return _like(_as_shrinkage(shrinkage), np.array(sums))

    def __repr__(self) -> str:
        return (
            f"<Lancaster: {counted(self.n, 'record')}, "
            f"{counted(len(self.levels), 'key')}, {counted(self.cells, 'cell')}>"
        )

    def _cross_product(self, sign: float) -> CrossProduct:
        """Return the cells for a pass over ``sign`` S, infinite at structural zeros."""
        if self.cells > LARGEST_TABLE:
            raise ValueError(
                f"{Decimal(self.cells):.3g} cells are more than {LARGEST_TABLE:.0e}, "
                "the most to sum: combine categories, or use renormalize=False"
            )
        occurs = [np.flatnonzero(margin) for margin in self.margins]

        def pair(a: int, b: int) -> Floats:
            if a > b:
                return pair(b, a).T
            table = sign * self.excess[a, b]
            if (a, b) in self.structural_zeros:
                table[self.structural_zeros[a, b]] = math.inf
            return table[np.ix_(occurs[a], occurs[b])]

        shares = [m[at] for m, at in zip(self.margins, occurs, strict=True)]
        return _arrange(shares, pair)


def _margin(codes: Ints, size: int, frequency: Ints) -> Ints:
    """Return the records of each code; the sums of doubles are exact integers."""
    return np.bincount(codes, frequency, size).astype(np.int64)


def _as_shrinkage(values: ArrayLike) -> Floats:
    """Return the checked lambda."""
    degree = np.asarray(values, np.float64)
    if degree.ndim > 1:
        raise ValueError(f"shrinkage: need one dimension, got shape {degree.shape}")
    arguments.refuse("shrinkage", ~((degree >= 0.0) & (degree <= 1.0)), "in [0, 1]")
    return degree


def _like(degree: Floats, values: Floats) -> Floats:
    """Return one value for each lambda; a scalar for a scalar."""
    return values.reshape(degree.shape)[()]


# --- the pass over all cells -------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class CrossProduct:
    """All cells: nested outer keys, and the inner keys as one of J categories."""

    begin: Ints  # (D + 1,): where the categories of each outer key begin, and the end
    share: Floats  # (begin[D],): margins of these categories
    excess: Floats  # (begin[D], R + J): added to S by later categories and inner cells
    base: Floats  # (R + J,): R zeros, then S of the inner cells, infinite if filled up
    inner_share: Floats  # (J,): products of the margins of the inner keys
    cells: int


def _arrange(
    shares: Sequence[Floats], pair: Callable[[int, int], Floats]
) -> CrossProduct:
    """Return the cells, with the largest key as an inner key and some outer key."""
    order = sorted(range(len(shares)), key=lambda key: -len(shares[key]))
    inner, size = [order[0]], len(shares[order[0]])
    for key in order[1:]:
        if size * len(shares[key]) <= _INNER and len(inner) < len(shares) - 1:
            inner.append(key)
            size *= len(shares[key])
    # The largest comes last: the sums before it are renewed least often.
    outer = [key for key in reversed(order) if key not in inner]
    codes = [np.arange(len(shares[key])) for key in inner]
    at = [grid.ravel() for grid in np.meshgrid(*codes, indexing="ij")]
    begin = np.cumsum([0, *[len(shares[key]) for key in outer]])
    first = filled_width(int(begin[-1]))
    width = first + filled_width(size)
    excess, base = aligned(int(begin[-1]), width), np.zeros(width)
    for i, a in enumerate(outer):
        rows = excess[begin[i] : begin[i + 1]]
        for j, b in enumerate(outer[i + 1 :], i + 1):
            rows[:, begin[j] : begin[j + 1]] = pair(a, b)
        for b, cell in zip(inner, at, strict=True):
            rows[:, first : first + size] += pair(a, b)[:, cell]
    for i, j in combinations(range(len(inner)), 2):
        base[first : first + size] += pair(inner[i], inner[j])[at[i], at[j]]
    base[first + size :] = math.inf
    inner_share = np.zeros(width - first)
    inner_share[:size] = math.prod(
        shares[key][cell] for key, cell in zip(inner, at, strict=True)
    )
    share = np.concatenate([shares[key] for key in outer])
    cells = math.prod(map(len, shares))
    return CrossProduct(begin, share, excess, base, inner_share, cells)


def filled_width(length: int) -> int:
    """Return a length filled up to whole vectors."""
    return -(-length // _LANES) * _LANES


def aligned(rows: int, columns: int) -> Floats:
    """Return zeros that begin at the start of a cache line."""
    room = np.zeros(rows * columns + _LANES)
    first = -(room.ctypes.data // room.itemsize) % _LANES
    return room[first : first + rows * columns].reshape(rows, columns)


def shortfalls(
    table: CrossProduct, thresholds: Floats, progress: Parts | None
) -> Floats:
    """Return the sum of w max(t - S, 0) over all cells for each threshold t."""
    # Falling, so that a threshold that no cell of a row is below ends the row.
    order = np.argsort(-thresholds)
    outer, inner = len(table.begin) - 1, len(table.inner_share)
    sizes = np.diff(table.begin)
    groups = math.prod(sizes[:-1].tolist())
    begin = np.concatenate([table.begin, np.zeros(outer, np.int64)])
    path = aligned(1, outer * len(table.base) + 2 * outer)[0]
    path[: len(table.base)] = table.base
    inside = aligned(1, 2 * inner)[0]
    sums = aligned(3, len(thresholds) * inner)
    each = max(1, _CALL * groups // table.cells)
    for start in range(0, groups, each):
        stop = min(start + each, groups)
        add_shortfalls(
            begin, outer, inner, table.share, table.excess.ravel(), start, stop,
            thresholds[order], len(thresholds), path, inside, sums.ravel(),
        )  # fmt: skip
        if progress is not None:
            progress(stop * (table.cells // groups), table.cells)
    found = np.empty(len(thresholds))
    for k, high, low in zip(order, *sums[1:].reshape(2, -1, inner), strict=True):
        terms = np.concatenate([table.inner_share * high, table.inner_share * low])
        found[k] = math.fsum(terms.tolist())
    return found


def _emit_smaller(builder: Any, a: Any, b: Any) -> Any:
    from llvmlite import ir

    # Without nan, and up to the sign of zero, the order of minima does not matter.
    kind = ir.FunctionType(a.type, [a.type, b.type])
    minimum = builder.module.declare_intrinsic("llvm.minnum", [a.type], kind)
    return builder.call(minimum, [a, b], fastmath=("nnan", "nsz"))


@primitive("float64(float64, float64)", _emit_smaller)
def smaller(a: float, b: float) -> float:
    """Return the smaller of two numbers; the compiler may reorder minima."""
    return min(a, b)


@kernel
def _extend(
    row: int, d: int, width: int, level: int, share: Any, excess: Any, path: Any
) -> None:
    """Write the sums of one more outer key, for one of its categories."""
    at = level + 2 * d
    path[at + 2] = path[at] + path[d * width + row]
    path[at + 3] = path[at + 1] * share[row]
    for j in range(width):
        path[(d + 1) * width + j] = path[d * width + j] + excess[row * width + j]


@kernel
def _keep(sums: Any, n: int) -> None:
    """Move sums into the double-doubles behind them."""
    for i in range(n):
        sums[n + i], error = two_sum(sums[n + i], sums[i])
        sums[2 * n + i] += error
        sums[i] = 0.0


@native(
    "int64*, int64, int64, float64*, float64*, int64, int64, float64*, int64, "
    "float64*, float64*, float64*"
)
def add_shortfalls(
    begin: Any, outer: int, inner: int, share: Any, excess: Any, start: int, stop: int,
    threshold: Any, thresholds: int, path: Any, inside: Any, sums: Any,
) -> None:  # fmt: skip
    """Add w max(t - S, 0) for each falling threshold t and inner cell."""
    # The groups of cells from ``start`` to ``stop`` differ in outer keys before the
    # last. ``begin`` ends with room for the category of each key, ``path`` with room
    # for S and w after each key.
    skipped = (begin[outer] + _LANES - 1) // _LANES * _LANES
    width = skipped + inner
    last = outer - 1
    digit, level = outer + 1, outer * width
    rest = start
    for d in range(last - 1, -1, -1):
        size = begin[d + 1] - begin[d]
        begin[digit + d] = rest % size
        rest //= size
    path[level] = 0.0
    path[level + 1] = 1.0
    begins, ends = begin[last], begin[outer]
    pairs = start * ((ends - begins + 1) // 2)
    changed = 0
    for _ in range(start, stop):
        for d in range(changed, last):
            row = begin[d] + begin[digit + d]
            _extend(row, d, width, level, share, excess, path)
        here, w = path[level + 2 * last], path[level + 2 * last + 1]
        at = last * width
        # Two rows at a time, for one load and store of each sum; an odd last row is
        # paired with itself at weight 0.
        for row in range(begins, ends, 2):
            other = min(row + 1, ends - 1)
            weight = w * share[row]
            other_weight = w * share[other] if other > row else 0.0
            from_row, from_other = row * width + skipped, other * width + skipped
            row_sum, other_sum = here + path[at + row], here + path[at + other]
            least = math.inf
            for j in range(inner):
                so_far = path[at + skipped + j]
                inside[j] = row_sum + (so_far + excess[from_row + j])
                inside[inner + j] = other_sum + (so_far + excess[from_other + j])
                least = smaller(least, smaller(inside[j], inside[inner + j]))
            k = 0
            while k < thresholds and threshold[k] > least:
                t = threshold[k]
                for j in range(inner):
                    short = max(t - inside[j], 0.0)
                    other_short = max(t - inside[inner + j], 0.0)
                    total = fma(weight, short, sums[k * inner + j])
                    sums[k * inner + j] = fma(other_weight, other_short, total)
                k += 1
            pairs += 1
            if pairs % _PAIRS_OF_ROWS == 0:
                _keep(sums, thresholds * inner)
        changed = last - 1
        while (
            changed > 0
            and begin[digit + changed] == begin[changed + 1] - begin[changed] - 1
        ):
            begin[digit + changed] = 0
            changed -= 1
        if changed >= 0:
            begin[digit + changed] += 1
    _keep(sums, thresholds * inner)
