"""The spread of cell frequencies around what their probabilities let expect.

Given pi, the frequency of a cell is Poisson with mean n pi G, where G is gamma with
mean 1 and a shape t_k of the cell. Two laws of the shape are fitted:

- power: t_k = a (n pi_k)^b with 0 <= b <= 1.
- Dirichlet-multinomial: b = 1, so t_k = A pi_k, where rare cells are the most uneven.

A cell is seen because a record is in it. Given that record, G has the shape t + 1 and
the mean (t+1)/t, and the f - 1 other records of the cell are, with x = m/t,

    P(f - 1) = (t+1)_{f-1}/(f-1)! (x/(1+x))^(f-1) (1+x)^-(t+1),

where m is the number of other records that pi lets expect, by what the other records of
the sample tell. Of a sample of clusters, each cluster counts as one record in a cell.
The likeliest law maximizes the product over all records, a composite likelihood
(Lindsay 1988): records of a cell are not independent, which costs precision and makes
no bias. Unseen cells, too many to visit, do not matter. The sample decides on b
(notes/cell_models.md).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from riskcore.common import arguments
from riskcore.core.special.gamma.functions import exp, log
from riskcore.models.clusters import groups_of
from riskcore.models.codes import Ints
from riskcore.models.solve import EXACT, positive_root

Floats = NDArray[np.float64]

KINDS = ("power", "dirichlet-multinomial", "none")
POISSON = "boundary A = infinity: no overdispersion"
ALONE = f"{POISSON}: no cell has two records"
EXPONENTS = (0.0, 0.25, 0.5, 0.75, 1.0)
MOST_CELLS = 2**15  # a random part of all cells, enough for two parameters
# Many rows are joined within such parts of an octave, larger ones for rough fits.
_PER_OCTAVE, _ROUGHLY = 32, 8
_LIKE = 10  # parts of the records, by the probability of their cells
SMALL = 5  # records of a cell
# Scales that are taken as 0 and as infinite.
_SMALLEST, _LARGEST = 2.0**-20, 2.0**60
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
    >>> uneven.in_records(0.25)
    <Overdispersion: shape 1 (n pi)^0.5>
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
        return self.scale * _power(expected, self.exponent)

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

    def in_records(self, share: float) -> Self:
        """Return the law for all records, of a law for a share of the records.

        Parameters
        ----------
        share : float
            Such as the clusters of a cell for each of its records.

        Returns
        -------
        Overdispersion
        """
        scale = self.scale * float(_power(np.array([share]), self.exponent)[0])
        return replace(self, scale=scale)

    def __repr__(self) -> str:
        if math.isnan(self.scale):
            return f"<Overdispersion: no estimate, {self.reason}>"
        if self.poisson:
            return "<Overdispersion: none, Poisson>"
        return f"<Overdispersion: shape {self.scale:.5g} (n pi)^{self.exponent:g}>"


def part_of(records: Ints) -> Ints:
    """Return the positions of the cells to which a law is fitted, of all cells."""
    seen = records > 0
    if len(records) > MOST_CELLS:
        seen &= _in_part(len(records))
    return np.flatnonzero(seen)


@lru_cache(maxsize=2)
def _in_part(cells: int) -> NDArray[np.bool_]:
    """Return a mask of a random part of the cells, by their places alone."""
    _, place = groups_of(np.ones(cells, np.int64), cells)
    return place < MOST_CELLS


class Seen(NamedTuple):
    """What records see around them in their cells, or windows; of like ones one row.

    Only records in small cells count, given that they are in one: a few large cells
    would drown what the small ones say, which matter for the risk.
    """

    expected: Floats  # other records that pi lets expect
    records: Ints  # found there, and the record itself
    weight: Floats  # how many records see this
    most: int  # records of a small cell

    @classmethod
    def of(cls, expected: Floats, records: Ints, weight: Ints) -> Self:
        """Return what is seen, without records that cannot have others."""
        some = (expected > _NONE) & (weight > 0)
        most = max(int(np.median(records[some])) if some.any() else 0, SMALL)
        some &= records <= most
        return cls(expected[some], records[some], weight[some].astype(np.float64), most)

    @classmethod
    def of_clusters(
        cls, expected: Floats, records: Ints, clusters: Ints, weight: Ints
    ) -> tuple[Self, float]:
        """Return what is seen, each cluster as one record, and clusters per record."""
        # As many are expected as the clusters per record in ten parts of the records,
        # by pi: common cells have several records of a cluster by chance, rare ones
        # hardly.
        order = np.argsort(expected, kind="stable")
        many, few = weight * records, weight * clusters
        part = np.empty(len(order), np.int64)
        before = np.cumsum(many[order]) - many[order]
        part[order] = np.minimum(_LIKE * before // many.sum(), _LIKE - 1)
        of_few, of_many = (np.bincount(part, one, _LIKE) for one in (few, many))
        ratio = np.divide(of_few, of_many, out=np.ones(_LIKE), where=of_many > 0.0)
        share = float(few.sum() / many.sum())
        return cls.of(expected * ratio[part], clusters, weight), share

    def joined(self, per_octave: int = _PER_OCTAVE) -> Self:
        """Return few rows: of as many records and nearly as many expected ones."""
        if len(self.expected) <= 64 * per_octave:
            return self
        octave = np.floor(per_octave / math.log(2.0) * log(self.expected))
        order = np.lexsort((octave, self.records))
        both = np.stack([octave, self.records])[:, order]
        first = np.flatnonzero(
            np.append(True, (both[:, 1:] != both[:, :-1]).any(axis=0))
        )
        weight = np.add.reduceat(self.weight[order], first)
        expected = np.add.reduceat((self.weight * self.expected)[order], first)
        records = both[1, first].astype(np.int64)
        return type(self)(expected / weight, records, weight, self.most)

    def height(self, t: Floats | None = None) -> float:
        """Return the sum of the log-chances for shapes t, by default Poisson."""
        logs, total = self._logs(t)
        own = logs[self.records - 1, np.arange(len(self.records))]
        return math.fsum((self.weight * (own - total)).tolist())

    def slope(self, t: Floats) -> float:
        """Return the derivative of `height` by the logarithm of all shapes."""
        j, m = np.arange(1.0, self.most)[:, np.newaxis], self.expected
        rise = np.zeros((self.most, len(m)))
        np.cumsum(t * (m - j) / ((t + j) * (t + m)), axis=0, out=rise[1:])
        logs, total = self._logs(t)
        own = rise[self.records - 1, np.arange(len(m))]
        mean = (exp(logs - total) * rise).sum(axis=0)
        return math.fsum((self.weight * (own - mean)).tolist())

    def _logs(self, t: Floats | None) -> tuple[Floats, Floats]:
        """Return log-chances of 0, 1, ... others, and of all, up to a constant."""
        j, m = np.arange(1.0, self.most)[:, np.newaxis], self.expected
        ratio = m / j if t is None else (t + j) / j * (m / (t + m))
        logs = np.zeros((self.most, len(m)))
        np.cumsum(log(ratio), axis=0, out=logs[1:])
        top = logs.max(axis=0)
        return logs, top + log(exp(logs - top).sum(axis=0))


def fit_overdispersion(
    seen: Seen,
    kind: str = "power",
    exponents: tuple[float, ...] = EXPONENTS,
    start: float = 1.0,
    tolerance: float = EXACT,
) -> Overdispersion:
    """Return the most likely law of the shape, from what records see."""
    kind = kind_of(kind)
    if kind == "none":
        return Overdispersion()
    if not (seen.records > 1).any():
        return Overdispersion(kind=kind, reason=ALONE)
    seen = seen.joined(_PER_OCTAVE if tolerance == EXACT else _ROUGHLY)
    exponents = exponents if kind == "power" else (1.0,)
    (scale, exponent), highest = (math.inf, 1.0), seen.height() + _BEFORE
    for b in exponents:
        powers = _power(seen.expected, b)

        def score(a: float, powers: Floats = powers) -> float:
            return seen.slope(a * powers)

        if not score(_LARGEST) < 0.0:
            continue  # it rises to the Poisson law
        a = _SMALLEST
        if score(_SMALLEST) > 0.0:
            a = positive_root(score, start, tolerance)
        if math.isnan(a):
            continue
        height = seen.height(a * powers) + _BEFORE * b
        if height > highest:
            scale, exponent, highest = a, b, height
    return Overdispersion(scale, exponent, kind, POISSON if math.isinf(scale) else "")


def likely_laws(seen: Seen, kind: str) -> list[tuple[Overdispersion, float]]:
    """Return laws that records allow, with chances; 1/(1 + a) is uniform before."""
    seen, laws, heights = seen.joined(), [], []
    before = log(_SCALES / (1.0 + _SCALES) ** 2)
    for exponent in (1.0,) if kind == "dirichlet-multinomial" else _COARSE:
        powers = _power(seen.expected, exponent)
        for a, prior in zip(_SCALES.tolist(), before.tolist(), strict=True):
            laws.append(Overdispersion(a, exponent, kind))
            heights.append(seen.height(a * powers) + _BEFORE * exponent + prior)
    chance = exp(np.array(heights) - max(heights))
    chance /= math.fsum(chance.tolist())
    pairs = zip(laws, chance.tolist(), strict=True)
    kept = [(law, p) for law, p in pairs if p > _UNLIKELY]
    total = math.fsum(p for _, p in kept)
    return [(law, p / total) for law, p in kept]


def kind_of(overdispersion: str | bool) -> str:
    """Return the kind that an argument means: True is "power", False "none"."""
    if isinstance(overdispersion, bool):
        return "power" if overdispersion else "none"
    arguments.one_of("overdispersion", overdispersion, KINDS)
    return overdispersion


def _power(x: Floats, exponent: float) -> Floats:
    """Return x^b for x >= 0, the same bits on every processor."""
    if exponent in (0.0, 1.0):
        return np.ones_like(x) if exponent == 0.0 else x
    powers = np.zeros_like(x)
    some = x > 0.0
    powers[some] = exp(exponent * log(x[some]))
    return powers
