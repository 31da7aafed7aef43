"""Ordered keys of a latent class model: numbers in bands, and windows of them.

Neighboring numbers whose records hardly differ in the other keys make a band. A class
has a share of each band, and within a band all classes have the numbers in the same
proportions, which are those of the sample:

    theta_c(v) = phi_c(b) m(v)/M_b,

with m(v) the share of the number v in the sample and M_b the sum of m over its band b.
So theta is smooth along the order as far as the sample cannot tell otherwise, and the
probability of a window is a sum over bands. Bands are merged while Akaike's criterion
falls: two neighbors become one if that costs less log-likelihood, in the tables of this
key by each other key, than it saves parameters. The place of a border counts as three,
because it is the best of many (Ninomiya 2015).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self

import numpy as np
from numpy.typing import NDArray

from riskcore.common.threads import over
from riskcore.core.special.gamma.functions import log
from riskcore.data.count import count
from riskcore.models.band_kernels import write_windows
from riskcore.models.cell_table import CellTable
from riskcore.models.clusters import Clusters
from riskcore.models.codes import Ints
from riskcore.models.mixture import Mixture
from riskcore.models.shares import units_of
from riskcore.models.window_margins import Margin, margin_of

Floats = NDArray[np.float64]

_FIRST = 128  # bands of equally many records from which merging starts
_BORDER = 3.0  # parameters that the place of a border counts as
_OTHER = 8  # bands in which the other ordered keys are taken meanwhile


@dataclass(frozen=True, eq=False)
class Bands:
    """The bands of the ordered keys of a sample."""

    sample: CellTable  # with the windows of its tolerance
    band: tuple[Ints | None, ...]  # by key of each code; None for keys without an order
    table: CellTable  # the cells of the sample with bands in place of numbers
    place: Ints  # the cell of ``table`` of each cell of the sample, shape (K,)
    counts: tuple[Ints, ...]  # by key the records of each code

    @classmethod
    def of(cls, sample: CellTable) -> Self:
        """Return the bands that a sample with a tolerance is best described by."""
        assert sample.matching is not None
        ordered = sample.matching.windows.key
        counts = _counts(sample, sample.records)
        rough = [
            equal_bands(counts[key], _OTHER)[column] if key in ordered else column
            for key, column in enumerate(sample.codes)
        ]
        band: list[Ints | None] = [None] * len(sample.codes)
        for key in ordered:
            others = [rough[other] for other in range(len(rough)) if other != key]
            band[key] = _merged(sample, key, counts[key], others)
        table, place = in_bands(sample, band)
        return cls(sample, tuple(band), table, place, counts)

    def with_records(self, records: Ints) -> Self:
        """Return the same bands with other numbers of records of the sample's cells."""
        table = self.table.with_records(self.gathered(records))
        return replace(self, counts=_counts(self.sample, records), table=table)

    def gathered(self, records: Ints) -> Ints:
        """Return the records of each cell of bands, given the sample's."""
        totals = np.bincount(self.place, records, len(self.table))
        return np.rint(totals).astype(np.int64)

    def clusters(self, clusters: Clusters) -> Clusters:
        """Return the clusters of the sample's cells as those of cells of bands."""
        return replace(clusters, cell=self.place[clusters.cell])

    def windows_as_bands(self, table: CellTable) -> CellTable:
        """Return the windows of cells, coded as the sample, by their bands."""
        codes = _codes_of(table, self.band)
        return replace(
            table,
            codes=codes,
            levels=self.table.levels,
            records=table.frequency,
            weight_sum=table.frequency_weight,
            categories=None,
            clusters=None,
            rows=None,
            matching=None,
        )

    @cached_property
    def log_margin(self) -> float:
        """The sum of log(m/M) over the records: what bands leave out of log pi."""
        total = 0.0
        for band, n in zip(self.band, self.counts, strict=True):
            if band is not None:
                some = n > 0
                share = n[some] / np.bincount(band, n)[band[some]]
                total += float((n[some] * log(share)).sum())
        return total

    @cached_property
    def errors(self) -> tuple[Floats, ...]:
        """Return by key and category, or window, the relative variance of its share."""
        # Clusters raise that of a window as they raise that of the band in its middle.
        table, n = self.table, float(self.table.n)
        if self.sample.clusters is not None:
            table = replace(table, clusters=self.clusters(self.sample.clusters))
        variances = [1.0 / np.maximum(units, 1.0) for units in units_of(table)]
        for key, (window, band) in enumerate(
            zip(self._windows, self.band, strict=True)
        ):
            if window is None or band is None:
                continue
            size = np.bincount(table.codes[key], table.records, table.levels[key])
            alone = (1.0 - size / n) / size
            more = np.divide(
                variances[key], alone, out=np.ones(len(size)), where=alone > 0.0
            )
            error = 1.0 / np.maximum(window.records, 1.0)
            if (margin := self._margins[key]) is not None:
                error[: len(margin.error)] = margin.error
            variances[key] = more[band] * (1.0 - window.records / n) * error
        return tuple(variances)

    def window_mixture(self, mixture: Mixture) -> Mixture:
        """Return a mixture with a row for each category, or window, of the sample."""
        share, theta = mixture
        profiles = np.split(theta, self.table.starts[1:-1])
        pairs = zip(profiles, self._windows, strict=True)
        rows = [of if window is None else window.sums(of) for of, window in pairs]
        return Mixture(share, np.vstack(rows))

    def probability_without_own(
        self, mixture: Mixture, cells: Ints, part: Floats, n: int, pseudo: float
    ) -> Floats:
        """Return pi of the windows of cells without ``part`` of one own record."""
        # The record's class and band take it off as far as the window has its band, its
        # number takes off the rest. ``n`` are the records of the fit, ``pseudo`` those
        # of the prior in each class.
        share, theta = (np.ascontiguousarray(array) for array in mixture)
        window = np.ascontiguousarray(self.window_mixture(mixture)[1])
        at, of = self.sample.positions[cells], self.table.positions[self.place[cells]]
        at, of = np.ascontiguousarray(at), np.ascontiguousarray(of)
        inside, least, smooth = self._inside, self._least, self._smooth
        records = np.maximum(self.table.counts, 1.0)
        keys, classes, probability = len(self.band), len(share), np.empty(len(cells))

        def write(start: int, stop: int) -> None:
            write_windows(
                at, of, part, start, stop, keys, classes, share, theta, window, inside,
                records, least, smooth, float(n), pseudo, probability,
            )  # fmt: skip

        over(len(cells), write)
        return probability

    @cached_property
    def _windows(self) -> tuple[BandWindows | None, ...]:
        assert self.sample.matching is not None
        windows = self.sample.matching.windows
        band_windows: list[BandWindows | None] = [None] * len(self.band)
        for key, low, high in zip(windows.key, windows.low, windows.high, strict=True):
            band = self.band[key]
            assert band is not None
            band_windows[key] = BandWindows.of(band, self.counts[key], low, high)
        return tuple(band_windows)

    @cached_property
    def _inside(self) -> Floats:
        """Return the share of its own band that each window has; 1 for other keys."""
        pairs = zip(self._windows, self.sample.levels, strict=True)
        return np.concatenate([np.ones(n) if w is None else w.own for w, n in pairs])

    @cached_property
    def _margins(self) -> tuple[Margin | None, ...]:
        """Return what the windows of each key expect besides their own record."""
        assert self.sample.matching is not None
        windows = self.sample.matching.windows
        margins: list[Margin | None] = [None] * len(self.band)
        for key, values in zip(windows.key, windows.values, strict=True):
            if len(values) > 1:
                reach = windows.tolerance[self.sample.keys[key]].reach(values)
                margins[key] = margin_of(values, reach, self.counts[key][: len(values)])
        return tuple(margins)

    @cached_property
    def _smooth(self) -> Floats:
        """Return the factors that smooth windows, 1 where nothing is to smooth."""
        # They replace the records inside as far as a window is not the whole band.
        factors = np.ones(self.sample.starts[-1])
        places = zip(self._margins, self._windows, self.sample.starts, strict=False)
        for margin, window, start in places:
            if margin is not None and window is not None:
                size = len(margin.others)
                count = np.maximum(window.records[:size] - 0.5, 0.5)
                smooth = (margin.others + 0.5 * margin.own) / count - 1.0
                rest = 1.0 - window.own[:size]
                factors[start : start + size] += rest * smooth
        return factors

    @cached_property
    def _least(self) -> Floats:
        """Return the share of the sample in each category or window."""
        sample, n = self.sample, float(self.table.n)
        counts = np.split(sample.counts, sample.starts[1:-1])
        pairs = zip(self._windows, counts, strict=True)
        rows = [of if window is None else window.records for window, of in pairs]
        return np.concatenate(rows) / n

    @property
    def in_words(self) -> str:
        """The number of bands of each key: ``age in 12 bands``."""
        return ", ".join(
            f"{name} in {size} band{'s' if size > 1 else ''}"
            for name, size, band in zip(
                self.sample.keys, self.table.levels, self.band, strict=True
            )
            if band is not None
        )


@dataclass(frozen=True, slots=True, eq=False)
class BandWindows:
    """Windows of one key: the share of each band that they have, shape (levels,) each.

    A window has ``first_part`` of its first band, ``last_part`` of its last one, 0 if
    that is the first, and all bands between.
    """

    first: Ints
    last: Ints
    first_part: Floats
    last_part: Floats
    own: Floats
    records: Floats

    @classmethod
    def of(cls, band: Ints, n: Ints, low: Ints, high: Ints) -> Self:
        """Return the windows from ``low`` to ``high``; ``n`` are records of codes."""
        upto = np.append(0, np.cumsum(n))
        total = np.maximum(np.bincount(band, n), 1.0)
        begin = np.searchsorted(band, np.arange(len(total)))
        end = np.append(begin[1:], len(band)) - 1

        def part(of: Ints) -> Floats:
            start, stop = np.maximum(low, begin[of]), np.minimum(high, end[of])
            inside: Floats = (upto[stop + 1] - upto[start]) / total[of]
            return inside

        first, last = band[low], band[high]
        last_part = np.where(first < last, part(last), 0.0)
        records = (upto[high + 1] - upto[low]).astype(np.float64)
        return cls(first, last, part(first), last_part, part(band), records)

    def sums(self, theta: Floats) -> Floats:
        """Return the share of each window in each class, given theta of the bands."""
        upto = np.vstack([np.zeros(theta.shape[1]), np.cumsum(theta, axis=0)])
        between = upto[np.maximum(self.last, self.first + 1)] - upto[self.first + 1]
        shares: Floats = theta[self.first] * self.first_part[:, np.newaxis]
        shares += between + theta[self.last] * self.last_part[:, np.newaxis]
        return shares


def _counts(table: CellTable, records: Ints) -> tuple[Ints, ...]:
    """Return by key the records of each code, given those of the cells."""
    pairs = zip(table.codes, table.levels, strict=True)
    return tuple(np.bincount(x, records, n).astype(np.int64) for x, n in pairs)


def _codes_of(table: CellTable, band: Sequence[Ints | None]) -> tuple[Ints, ...]:
    """Return the codes of cells, with bands in place of numbers."""
    pairs = zip(table.codes, band, strict=True)
    return tuple(code if of is None else of[code] for code, of in pairs)


def in_bands(sample: CellTable, band: Sequence[Ints | None]) -> tuple[CellTable, Ints]:
    """Return the cells of bands, and which of them each cell of a sample is in."""
    codes = _codes_of(sample, band)
    levels = [
        size if of is None else int(of.max()) + 1
        for size, of in zip(sample.levels, band, strict=True)
    ]
    found = count([code.astype(np.uint32) for code in codes], levels, sample.weight_sum)
    place = found.inverse.astype(np.int64)
    records = np.bincount(place, sample.records, len(found.frequency))
    rows = sample.rows
    rows = rows and rows._replace(cell=np.append(place, -1)[rows.cell])
    table = CellTable(
        tuple(np.asarray(code).astype(np.int64) for code in found.codes),
        tuple(levels),
        np.rint(records).astype(np.int64),
        found.weight_sum,
        sample.keys,
        rows=rows,
    )
    return table, place


def equal_bands(n: Ints, bands: int) -> Ints:
    """Return bands of about equally many records, by the records of each code."""
    if len(n) <= bands:
        return np.arange(len(n))
    middle = (2 * np.cumsum(n) - n) * bands // (2 * n.sum())
    return np.unique(middle, return_inverse=True)[1].astype(np.int64)


def _merged(sample: CellTable, key: int, n: Ints, others: Sequence[Ints]) -> Ints:
    """Return the band of each code of a key, by the tables with the other keys."""
    missing = sample.categories is not None and sample.categories[key][-1] is None
    category_count = len(n) - missing
    band = equal_bands(n[:category_count], _FIRST)
    code = np.append(band, band.max(initial=-1) + 1)[
        np.minimum(sample.codes[key], category_count)
    ]
    size = int(band.max(initial=-1)) + 1
    inside = code < size  # missing is a band by itself
    tables = [np.zeros((size, int(other.max()) + 1)) for other in others]
    for table, other in zip(tables, others, strict=True):
        np.add.at(table, (code[inside], other[inside]), sample.records[inside])
    free = sum(int((table.sum(axis=0) > 0.0).sum()) - 1 for table in tables)
    size_of = np.bincount(band, n[:category_count]).astype(np.float64)
    groups = merge_bands(size_of, tables, free + _BORDER)
    return np.append(groups[band], groups.max(initial=-1) + 1)[: len(n)]


def merge_bands(n: Floats, tables: Sequence[Floats], free: float) -> Ints:
    """Merge neighbors that lose least log-likelihood, up to ``free``; return groups."""
    rows = [*np.hstack([*tables, n[:, np.newaxis]])]
    heights = [_height(row, len(tables)) for row in rows]
    begins = list(range(len(rows)))

    def loss(i: int) -> float:
        return heights[i] + heights[i + 1] - _height(rows[i] + rows[i + 1], len(tables))

    losses = [loss(i) for i in range(len(rows) - 1)]
    while losses and min(losses) <= free:
        i = losses.index(min(losses))
        rows[i] = rows[i] + rows[i + 1]
        heights[i] = _height(rows[i], len(tables))
        del rows[i + 1], heights[i + 1], begins[i + 1], losses[i]
        for near in (i - 1, i):
            if 0 <= near < len(losses):
                losses[near] = loss(near)
    return np.searchsorted(begins, np.arange(len(n)), "right") - 1


def _height(row: Floats, tables: int) -> float:
    """Return the log-likelihood of the other keys' categories, given the band."""
    counts, total = row[:-1], row[-1]
    some = counts[counts > 0.0]
    if not len(some):
        return 0.0
    own = float((some * log(some)).sum())
    return own - tables * float(total * log(np.array([total]))[0])
