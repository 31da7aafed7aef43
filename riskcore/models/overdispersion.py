"""The spread of cell frequencies around what their probabilities let expect.

Given pi, the frequency of a cell is Poisson with mean n pi G, where G is gamma with
mean 1 and a shape t_k of the cell. Two laws of the shape are fitted:

- Dirichlet-multinomial: t_k = A pi_k. Its likelihood covers all cells, because unseen
  cells cancel: with rising factorials (x)_m

      l(A) = sum_k log (A pi_k)_{f_k} - log (A)_n.

- power: t_k = a (n pi_k)^b with 0 <= b <= 1. Unseen cells would matter but are too many
  to visit; so the likelihood is for the frequencies of the seen cells given that they
  are seen, a zero-truncated negative binomial law.

b = 1 is the first law, where rare cells are the most uneven; b = 0 is one shape for all
cells. The sample decides on b (notes/cell_models.md).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from riskcore.common import arguments
from riskcore.core.special.gamma.functions import (
    digamma_deficit,
    exp,
    expm1,
    log,
    log_rising_excess,
)
from riskcore.models.clusters import groups_of
from riskcore.models.codes import Ints
from riskcore.models.overdispersion_kernels import MANY, add_heights, add_slopes
from riskcore.models.solve import EXACT, positive_root

Floats = NDArray[np.float64]

KINDS = ("power", "dirichlet-multinomial", "none")
POISSON = "boundary A = infinity: no overdispersion"
ALONE = f"{POISSON}: no cell has two records"
NEXT_TO_NONE = "all records are in cells of practically no probability"
EXPONENTS = (0.0, 0.25, 0.5, 0.75, 1.0)
MOST_CELLS = 2**15  # a random part of all cells, enough for two parameters
_LIKE = 10  # parts of the records, by the probability of their cells
_LARGEST = 2.0**60  # a larger shape leaves the domain of the Gamma functions
_NONE = 2.0**-100  # practically no probability, for at most 2^53 records
# Before the sample the exponent b has the chance e^(2b): rare cells are more uneven.
_BEFORE = 2.0
# Laws whose chances are computed, and the smallest chance that counts.
_SCALES, _COARSE, _UNLIKELY = 2.0 ** np.arange(-4.0, 13.0), (0.0, 0.5, 1.0), 0.01


@dataclass(frozen=True, slots=True)
class Overdispersion:
    """The law of the shape of the cells, a (n pi)^b.

    Attributes
    ----------
    scale : float
        a, the shape of a cell with one expected record in the sample; infinite if
        frequencies are Poisson; nan if there is no estimate.
    exponent : float
        b, in [0, 1].
    kind : {"power", "dirichlet-multinomial", "none"}
        The family of laws that was fitted.
    reason : str
        Which boundary, or why an estimate is missing; else empty.

    Examples
    --------
    >>> uneven = Overdispersion(2.0, 0.5)
    >>> uneven.shape(np.array([1.0, 0.25, 0.0]))
    array([2., 1., 0.])
    >>> uneven
    <Overdispersion: shape 2 (n pi)^0.5>
    >>> uneven.evenness(np.array([1.0, 0.25]))
    array([2., 4.])
    """

    scale: float = math.inf
    exponent: float = 1.0
    kind: str = "none"
    reason: str = ""

    @property
    def poisson(self) -> bool:
        """Whether frequencies are Poisson, without overdispersion."""
        return math.isinf(self.scale)

    def shape(self, expected: Floats) -> Floats:
        """Return the shape of cells.

        Parameters
        ----------
        expected : float64 ndarray
            n pi_k, the records expected in the sample.

        Returns
        -------
        float64 ndarray
        """
        shape: Floats = self.scale * _power(expected, self.exponent)
        return shape

    def evenness(self, expected: Floats) -> Floats:
        """Return the shape of cells divided by their expected records, a (n pi)^(b-1).

        Parameters
        ----------
        expected : float64 ndarray
            n pi_k.

        Returns
        -------
        float64 ndarray
            Infinite where nothing is expected, unless b = 1.
        """
        if self.exponent == 1.0:
            return np.full(len(expected), self.scale)
        with np.errstate(divide="ignore"):
            return self.scale / _power(expected, 1.0 - self.exponent)

    def __repr__(self) -> str:
        if math.isnan(self.scale):
            return f"<Overdispersion: no estimate, {self.reason}>"
        if self.poisson:
            return "<Overdispersion: none, Poisson>"
        return f"<Overdispersion: shape {self.scale:.5g} (n pi)^{self.exponent:g}>"


def part_of(records: Ints, kind: str) -> Ints:
    """Return the positions of the cells to which a law is fitted, of all cells."""
    seen = (records > 0) & (kind != "none")
    if kind == "power" and len(records) > MOST_CELLS:
        seen &= _in_part(len(records))
    return np.flatnonzero(seen)


@lru_cache(maxsize=2)
def _in_part(cells: int) -> NDArray[np.bool_]:
    """Return a mask of a random part of the cells, by their places alone."""
    _, place = groups_of(np.ones(cells, np.int64), cells)
    return place < MOST_CELLS


def fit_overdispersion(
    probability: Floats,
    records: Ints,
    kind: str = "power",
    exponents: tuple[float, ...] = EXPONENTS,
    start: float = 1.0,
    tolerance: float = EXACT,
    n: int | None = None,
) -> Overdispersion:
    """Return the most likely law of the shape, from cells of a sample of n records."""
    kind = kind_of(kind)
    n = int(records.sum()) if n is None else n
    seen = records > 0
    pi = np.maximum(probability[seen], _NONE)
    f = records[seen].astype(np.float64)
    if kind == "none":
        return Overdispersion()
    if not (f > 1.0).any():
        return Overdispersion(kind=kind, reason=ALONE)
    if kind == "dirichlet-multinomial":
        scale, exponent = _dirichlet_multinomial(pi, f, n, tolerance), 1.0
    else:
        m = n * pi
        lowest = math.fsum(poisson_height(m, f).tolist())
        scale, exponent = likeliest(Cells(m, f), m, exponents, lowest, start, tolerance)
    reason = POISSON if math.isinf(scale) else NEXT_TO_NONE if math.isnan(scale) else ""
    return Overdispersion(scale, exponent, kind, reason)


def fit_between_clusters(
    probability: Floats,
    records: Ints,
    clusters: Ints,
    kind: str = "power",
    start: float = 1.0,
    tolerance: float = EXACT,
) -> Overdispersion:
    """Return the most likely law of the shape, each cluster as one record of a cell."""
    share, expected = _between(probability, records, clusters)
    cells = part_of(clusters, kind)
    law = fit_overdispersion(
        expected[cells],
        clusters[cells],
        kind,
        start=start,
        tolerance=tolerance,
        n=int(clusters.sum()),
    )
    between = " of different clusters" if law.reason == ALONE else ""
    return replace(by_record(law, share), reason=law.reason + between)


def likely_laws(
    probability: Floats, records: Ints, kind: str, n: int
) -> list[tuple[Overdispersion, float]]:
    """Return laws that n records allow, with chances; 1/(1 + a) is uniform before."""
    seen = records > 0
    m, f = n * np.maximum(probability[seen], _NONE), records[seen].astype(np.float64)
    cells = Cells(m, f)
    laws, heights = [], []
    before = log(_SCALES / (1.0 + _SCALES) ** 2)
    for exponent in (1.0,) if kind == "dirichlet-multinomial" else _COARSE:
        powers = _power(m, exponent)
        for a, prior in zip(_SCALES.tolist(), before.tolist(), strict=True):
            laws.append(Overdispersion(a, exponent, kind))
            heights.append(cells.height(a, powers) + _BEFORE * exponent + prior)
    chance = exp(np.array(heights) - max(heights))
    chance /= math.fsum(chance.tolist())
    kept = [(law, p) for law, p in zip(laws, chance.tolist(), strict=True)]
    kept = [(law, p) for law, p in kept if p > _UNLIKELY]
    total = math.fsum(p for _, p in kept)
    return [(law, p / total) for law, p in kept]


def likely_between_clusters(
    probability: Floats, records: Ints, clusters: Ints, kind: str
) -> list[tuple[Overdispersion, float]]:
    """Return the laws that records of different clusters allow, and their chances."""
    share, expected = _between(probability, records, clusters)
    laws = likely_laws(expected, clusters, kind, int(clusters.sum()))
    return [(by_record(law, share), p) for law, p in laws]


def _between(
    probability: Floats, records: Ints, clusters: Ints
) -> tuple[float, Floats]:
    """Return the clusters per record, and pi of cells among those of clusters."""
    expected = probability * clusters_per_record(probability, records, clusters)
    share = float(clusters.sum() / records.sum())
    return share, expected / share


def by_record(law: Overdispersion, share: float) -> Overdispersion:
    """Return a law of the cells of clusters in terms of records."""
    scale = law.scale * float(_power(np.array([share]), law.exponent)[0])
    return replace(law, scale=scale)


def clusters_per_record(probability: Floats, records: Ints, clusters: Ints) -> Floats:
    """Return clusters per record in cells of like probability: least in common ones."""
    order = np.argsort(probability, kind="stable")
    before = np.cumsum(records[order]) - records[order]
    part = np.empty(len(order), np.int64)
    part[order] = _LIKE * before // records.sum()
    part = np.minimum(part, _LIKE - 1)
    many, few = (np.bincount(part, counts, _LIKE) for counts in (records, clusters))
    return np.divide(few, many, out=np.ones(_LIKE), where=many > 0.0)[part]


def kind_of(overdispersion: str | bool) -> str:
    """Return the kind that an argument means: True is "power", False "none"."""
    if isinstance(overdispersion, bool):
        return "power" if overdispersion else "none"
    arguments.one_of("overdispersion", overdispersion, KINDS)
    return overdispersion


def _dirichlet_multinomial(pi: Floats, f: Floats, n: int, tolerance: float) -> float:
    """Return the most likely a = A/n, from all cells; nan if it falls to 0."""
    shared = f > 1.0
    f, pi = f[shared], pi[shared]
    if not math.fsum((f * (f - 1.0) / pi).tolist()) > n * (n - 1.0):
        return math.inf

    def score(A: float) -> float:
        cells = pi * digamma_deficit(A * pi, f)
        return A * (float(digamma_deficit(A, float(n))) - math.fsum(cells.tolist()))

    return positive_root(score, float(n), tolerance) / n


class Likelihood(Protocol):
    """The log-likelihood of frequencies, for shapes a times ``powers``."""

    def height(self, a: float, powers: Floats) -> float:
        """Return it, up to a constant."""

    def slope(self, a: float, powers: Floats) -> float:
        """Return a times its derivative by a."""


def likeliest(
    cells: Likelihood,
    m: Floats,
    exponents: tuple[float, ...],
    lowest: float,
    start: float = 1.0,
    tolerance: float = EXACT,
) -> tuple[float, float]:
    """Return the most likely a and b; a is infinite if nothing beats the Poisson law.

    ``m`` are the means, ``lowest`` the height of the Poisson law. What is known before
    the sample adds to the heights.
    """
    best, highest = (math.inf, 1.0), lowest + _BEFORE
    for exponent in exponents:
        powers = _power(m, exponent)

        def score(a: float, powers: Floats = powers) -> float:
            return cells.slope(a, powers)

        if not score(_LARGEST) < 0.0:
            continue  # it rises to the Poisson law
        a = positive_root(score, start, tolerance)
        if math.isnan(a):
            continue
        height = cells.height(a, powers) + _BEFORE * exponent
        if height > highest:
            best, highest = (a, exponent), height
    return best


class Cells:
    """Likelihood of seen cells: negative binomial, mean m, shape a times ``powers``."""

    def __init__(self, m: Floats, f: Floats) -> None:
        self.m, self.f, self.log_m = m, f, log(m)
        self.large = np.flatnonzero(f > MANY)

    def height(self, a: float, each: Floats) -> float:
        """Return the sum of log P(f | f > 0) + log f!."""
        sums = np.zeros(2)
        add_heights(self.m, self.log_m, self.f, each, a, len(self.m), sums)
        more = log_rising_excess(a * each[self.large], self.f[self.large])
        return math.fsum([*sums.tolist(), *more.tolist()])

    def slope(self, a: float, each: Floats) -> float:
        """Return a times the derivative of `height` by a; no term cancels."""
        sums = np.zeros(2)
        add_slopes(self.m, self.f, each, a, len(self.m), sums)
        t = a * each[self.large]
        more = -t * digamma_deficit(t, self.f[self.large])
        return math.fsum([*sums.tolist(), *more.tolist()])


def _power(x: Floats, exponent: float) -> Floats:
    """Return x^b for x >= 0, the same bits on every processor."""
    if exponent in (0.0, 1.0):
        return np.ones_like(x) if exponent == 0.0 else x
    powers = np.zeros_like(x)
    some = x > 0.0
    powers[some] = exp(exponent * log(x[some]))
    return powers


def poisson_height(m: Floats, f: Floats) -> Floats:
    """Return log P(f | f > 0) + log f! of a Poisson law."""
    height: Floats = f * log(m) - m - log(-expm1(-m))
    return height
