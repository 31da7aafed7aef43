"""The latent class model: within each class the keys are independent.

    pi_k = sum_c nu_c prod_j theta_cj(k_j),

where nu_c is the share of class c, and theta_cj(a) the share of category a of key j in
class c. One class is independence. The fit is by the EM algorithm on the occupied
cells, with squared extrapolation (SQUAREM, Varadhan and Roland 2008): an extrapolated
step is kept only if the likelihood has not fallen, else the EM step is kept. A cell is
a pair of combinations, each of half of the keys, whose products are computed once.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from riskcore.common import arguments
from riskcore.common.scatter import scattered
from riskcore.common.threads import in_threads, over, parts_of, usual_threads
from riskcore.core.special.gamma.functions import log
from riskcore.core.special.lanes import LANES
from riskcore.data.count import count
from riskcore.models.bands import Bands
from riskcore.models.cell_model import ONE_CELL, CellModel, Figure
from riskcore.models.cell_table import CellTable, Positions, occurring
from riskcore.models.clusters import Clusters, groups_of
from riskcore.models.codes import Ints
from riskcore.models.mixture import (
    MOST_CLASSES,
    ROW_LOG_SCALE,
    Mixture,
    add_expectations,
    add_rows,
    write_probabilities,
    write_rows,
    write_without,
)
from riskcore.models.overdispersion import Seen, kind_of
from riskcore.models.own_cluster_kernels import write_without_cluster
from riskcore.models.shares import Shares, mean_in_cells, telling_keys, without_clusters
from riskcore.models.smoothed_weights import SmoothedWeights
from riskcore.models.tied_keys import NO_SUMS, CodedCells, TiedKeys
from riskcore.models.window_overdispersion import seen_in_windows

Floats = NDArray[np.float64]

CLASSES = 30  # largest number that is tried
SELECTION = 50_000  # records on which the number of classes is chosen
PATIENCE = 3  # the path ends after this many steps without a better one
LEFT_OUT = 5  # one of so many records tells which number of classes is best
STARTS, FEWER, MANY = 4, 2, 6_000  # usual starts, and for more than so many records
STEPS = 8  # EM steps of a jackknife fit, from the fit to all records
PSEUDO = 1.0  # records of the prior in each class
OWN = 0.5  # of its own record a cell's prior leaves out; notes/cell_models.md
TOLERANCE = 1e-5  # gain of the log-likelihood by a cycle, per record
_CYCLES = 2000
_FIRST, _ON_PATH = 8, 60  # cycles of each start, and of the best start on the path
_PARTS, _PER_PART = 8, 2**14  # of cells, whose sums are added in order
_KEPT = 0.1  # least share of the EM parameter after an extrapolation
_ROUNDING = 2.0**-40


@dataclass(frozen=True, slots=True)
class Step:
    """The fit of one number of classes, on the records by which it is chosen."""

    classes: int
    log_likelihood: float
    parameters: int  # classes - 1 + classes * sum of (categories - 1) over the keys
    held_out: float  # the log-likelihood of the fifth of the records left out
    iterations: int  # passes over the cells, of all starts together
    converged: bool  # whether the last cycle gained less than the tolerance


class Ascent(NamedTuple):
    """The result of a maximization; ``log_likelihood`` is without the prior."""

    mixture: Mixture
    log_likelihood: float
    heights: tuple[float, ...]
    iterations: int
    converged: bool


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class LatentClass(CellModel):
    """Latent class model of the cells' probabilities, with overdispersion.

    Made by `LatentClass.fit`.

    Attributes
    ----------
    mixture : Mixture
        Shares of the classes, and of the categories of all keys in each class.
    path : tuple of Step
        The numbers of classes that were tried, rising.
    iterations : int
        Passes over the cells of the last fit.
    selected_on : int
        Number of records on which the number of classes was chosen; 0 if it was given.
    left_out : int64 ndarray, shape (K,), or None
        In the fits of the jackknife, the number of records left out of each cell.
    tied : TiedKeys or None
        The keys that follow from others, which are taken as one key with them.
    bands : Bands or None
        The bands of keys whose numbers have an order, if the sample has a tolerance.

    Notes
    -----
    Keys with a tolerance are taken in their order: neighboring numbers whose records
    hardly differ in the other keys make a band, within which all classes have them in
    the same proportions. The pi of a cell is then that of its window.

    In `prior`, the pi of a cell comes from the fit without half of one of its own
    records, as far as the classes adapt to it: a record makes its own cell look less
    rare than it is. So do the other records of its cluster: in a sample of clusters
    (m + 7)/(m + 15) of the own cluster's m records are left out. The shares of
    categories have laws.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(1)
    >>> group = rng.integers(0, 2, 2000)
    >>> keys = [(rng.random(2000) < 0.2 + 0.6 * group).astype(int) for _ in range(5)]
    >>> model = LatentClass.fit(keys)
    >>> model
    <LatentClass: 2,000 records, 2 classes, overdispersion of shape 18.293 (n pi)^1>
    >>> [step.classes for step in model.path]
    [1, 2, 3, 4, 5]
    >>> float(model.probability().sum().round(6))
    1.0
    """

    label: ClassVar[str] = "latent-class"

    mixture: Mixture
    path: tuple[Step, ...] = ()
    iterations: int = 0
    selected_on: int = 0
    left_out: Ints | None = None
    bands: Bands | None = None
    tied: TiedKeys | None = None

    @classmethod
    def fit(
        cls,
        data: Any,
        keys: Iterable[Hashable] | None = None,
        classes: int | None = None,
        overdispersion: str | bool = True,
        *,
        weight: Hashable | None = None,
        missing: str = "refuse",
        levels: Sequence[int] | None = None,
        frequency: ArrayLike | None = None,
        weight_sum: ArrayLike | None = None,
        cluster: Any = None,
        strata: Any = None,
        smooth_weights: bool = True,
        most_classes: int = CLASSES,
        selection: int = SELECTION,
        starts: int | None = None,
        threads: int | None = None,
    ) -> Self:
        """Fit the model to a sample.

        Parameters
        ----------
        data, keys, weight, missing, levels, frequency, weight_sum, cluster, strata
            The sample, see `CellTable.of`.
        classes : int, optional
            Number of classes; by default the one that foretells other records best.
        overdispersion : bool or {"power", "dirichlet-multinomial", "none"}
            The law of the deviations from pi, see `CellModel.with_overdispersion`.
        smooth_weights : bool
            Whether weights are smoothed, see `CellModel.with_smoothed_weights`; False
            takes the mean weight of each cell's own records.
        most_classes : int
            The largest number of classes to try.
        selection : int
            The number of classes is chosen on a random part of at most this many
            records, the same part in every run.
        starts : int, optional
            Number of starts for each number of classes, by default 4, and 2 if there
            are more than 6,000 records. One start adds a class to the previous fit; in
            the others every class begins near a record.
        threads : int, optional
            Largest number of threads; by default two, if the machine has them.

        Returns
        -------
        LatentClass
            The same bits for any ``threads``.

        Raises
        ------
        KeyError, OSError, TypeError, ValueError
            As `CellTable.of`; or if a number is out of range.

        Notes
        -----
        Every theta_cj has a prior of one record, spread over the categories as in the
        whole sample; each step raises the likelihood times this prior. So no theta is 0
        if the category occurs, and no cell of such categories is impossible: there are
        no structural zeros. The number of classes is the one whose fit to four fifths
        of the records gives the last fifth the largest likelihood. The path ends after
        three numbers of classes in turn without a larger one.
        """
        table = CellTable.of(
            data,
            keys,
            weight=weight,
            missing=missing,
            levels=levels,
            frequency=frequency,
            weight_sum=weight_sum,
            cluster=cluster,
            strata=strata,
        )
        kind = kind_of(overdispersion)
        if classes is not None:
            arguments.whole_from("classes", classes, 1, MOST_CLASSES)
        arguments.whole_from("most_classes", most_classes, 1, MOST_CLASSES)
        arguments.whole_from("selection", selection, 2, 2**53)
        if starts is not None:
            arguments.whole_from("starts", starts, 1, 2**10)
        threads = usual_threads() if threads is None else threads
        if len(table) == 1:
            none = Mixture(np.zeros(0), np.zeros((table.starts[-1], 0)))
            return cls(sample=table, mixture=none, converged=False, reason=ONE_CELL)
        bands = None if table.matching is None else Bands.of(table)
        tied = None
        if bands is None:
            tied = TiedKeys.of(table, some_records(table, selection))
        coarser = bands or tied
        fitted = table if coarser is None else coarser.table
        whole = Sample.of(fitted, threads).with_records(fitted.fitted)
        path: tuple[Step, ...] = ()
        selected_on = 0
        if classes is None:
            part = some_records(fitted, selection)
            selected_on = part.n
            path, begin, size = _path(part, threads, most_classes, starts)
            begin = _widened(whole, begin, size)
        else:
            begin = _best_of(whole, classes, starts, None)[0].mixture
        ascent = ascend(whole, begin, _CYCLES)
        model = cls(
            sample=table,
            mixture=ascent.mixture,
            path=path,
            iterations=ascent.iterations,
            selected_on=selected_on,
            bands=bands,
            tied=tied,
            log_likelihood=ascent.log_likelihood
            + (0.0 if bands is None else bands.log_margin),
            parameters=parameters(fitted, len(ascent.mixture.share)),
            left_out=None if table.drawn is None else table.records - table.fitted,
            converged=ascent.converged,
            reason="" if ascent.converged else _unfinished(ascent),
        )
        model = replace(model, shares=model._shares_of(table.fitted))
        return model.with_overdispersion(kind).with_smoothed_weights(smooth_weights)

    @property
    def classes(self) -> int:
        """Number of classes."""
        return len(self.mixture.share)

    @property
    def profiles(self) -> tuple[Floats, ...]:
        """Shares of categories, or bands, in the classes: for each key (levels, C)."""
        starts = self._fitted_cells.starts[1:-1]
        return tuple(np.split(self.mixture.theta, starts))

    @property
    def _fitted_cells(self) -> CellTable:
        """The cells of the sample as the mixture knows them."""
        return self._weighed if self.tied is None else self.tied.table

    def _coded(self, table: CellTable) -> CodedCells:
        """Return cells as the mixture knows them."""
        if self.tied is None or table is self.sample:
            own = table if self.tied is None else self.tied.table
            return CodedCells(own, [NO_SUMS] * len(own.levels))
        return self.tied.coded(table)

    @property
    def _weighed(self) -> CellTable:
        return self.sample if self.bands is None else self.bands.table

    def _smoothed_without(
        self, smoothing: SmoothedWeights, records: Ints
    ) -> SmoothedWeights:
        if self.bands is None:
            return super()._smoothed_without(smoothing, records)
        return smoothing.without(self.bands.table, self.bands.gathered(records))

    def _mean_weight(self, table: CellTable) -> Floats:
        if self.bands is None or self.smoothing is None:
            return super()._mean_weight(table)
        return self.smoothing.mean_weight(
            self.bands.windows_as_bands(table), self.bands.table
        )

    def _probability(self, table: CellTable) -> Floats:
        share, theta = self.mixture
        if self.bands is not None:
            return probability(table, self.bands.window_mixture(self.mixture))
        cells = self._coded(table)
        return probability(cells.table, Mixture(share, cells.rows(theta, OWN / self.n)))

    def _squares(self, table: CellTable) -> Floats:
        """Return the sum of pi^2 over cells: a mixture of the pairs of classes."""
        if self.bands is not None:
            return super()._squares(table)
        (share, theta), squares = self.mixture, np.zeros(len(table))
        coded = self._coded(table)
        table = coded.table
        a, b = np.triu_indices(len(share))
        both = share[a] * share[b] * np.where(a == b, 1.0, 2.0)
        for first in range(0, len(both), MOST_CLASSES):
            part = slice(first, first + MOST_CLASSES)
            of_pairs = theta[:, a[part]] * theta[:, b[part]]
            of_keys = np.split(of_pairs, self._fitted_cells.starts[1:-1])
            of_pairs = coded.rows(of_pairs, 0.0)
            for keys, cells in table.patterns():
                weight = both[part].copy()
                for key in {*range(len(of_keys))} - {*keys}:
                    weight *= of_keys[key].sum(axis=0)
                pairs = Mixture(weight, of_pairs)
                squares[cells] += probability(table.some(cells), pairs)
        return squares

    def _prior_probability(self, table: CellTable) -> Floats:
        sample = self.sample
        if table is sample:
            return self._prior_probability_of(np.arange(len(sample)))
        place = table.places_in(sample)
        pi = self._probability(table)
        sampled_cells = np.flatnonzero(place >= 0)
        pi[sampled_cells] = self._prior_probability_of(place[sampled_cells])
        return pi

    def _prior_probability_of(self, cells: Ints) -> Floats:
        sample = self.sample
        if self.bands is not None:
            return self._window_prior_of(self.bands, cells)
        fitted = self._fitted_cells
        # The shares of categories have laws; so what is left is what classes adapt to.
        if sample.clusters is not None:
            pi = self._without_cluster(sample.clusters)
            left = without_clusters(fitted, sample.clusters, PSEUDO * self.classes)
            pi = (pi / mean_in_cells(sample.clusters, left, len(sample)))[cells]
            lost = np.isnan(pi)
            pi[lost] = probability(fitted.some(cells[lost]), self.mixture)
            return pi
        gone, own = self._own_part(cells)
        pi = self._without_own(fitted, cells, own, sample.n - gone)
        out = 0 if self.left_out is None else self.left_out
        counts = np.maximum(fitted.with_records(sample.records - out).counts, 1.0)
        n, total = sample.n - gone, sample.n - gone + PSEUDO * self.classes
        for start, code in zip(fitted.starts, fitted.codes, strict=False):
            of_category = own * n / (total * counts[start + code[cells]])
            pi *= (1.0 - own / total) / (1.0 - of_category)
        return pi

    def _own_part(self, cells: Ints) -> tuple[int, Floats]:
        """Return the records that the fit lacks, and the part that cells leave out."""
        gone, own = 0, np.full(len(cells), OWN)
        if self.left_out is not None:
            gone = self.sample.n - int((self.sample.records - self.left_out).sum())
            # Some cells have no record in the fit.
            own[self.sample.records[cells] <= self.left_out[cells]] = 0.0
        return gone, own

    def _without_own(
        self, sample: CellTable, cells: Ints, own: Floats, n: int
    ) -> Floats:
        """Return pi of some cells of a sample without a part of one record of each."""
        positions, keys = sample.positions[cells], len(sample.levels)
        share, theta = (np.ascontiguousarray(array) for array in self.mixture)
        prior, pi = _prior(sample), np.empty(len(cells))

        def write(start: int, stop: int) -> None:
            write_without(
                positions, own, start, stop, keys, len(share), share, theta, float(n),
                PSEUDO, prior, pi,
            )  # fmt: skip

        over(len(cells), write)
        return pi

    def _window_prior_of(self, bands: Bands, cells: Ints) -> Floats:
        """Return pi of windows without half of an own record, or of the own cluster."""
        gone, own = self._own_part(cells)
        n, clusters = self.sample.n - gone, self.sample.clusters
        if clusters is not None:
            own[:] = clusters.own_parts[clusters.kept].mean()
        pi = bands.probability_without_own(self.mixture, cells, own, n, PSEUDO)
        if clusters is None:
            return pi
        place = bands.place[cells]
        alone = self._without_own(bands.table, place, own, n)
        others = self._without_cluster(bands.clusters(clusters))[place] / alone
        return pi * np.where(np.isnan(others), 1.0, others)

    def _seen(self, records: Ints) -> tuple[Seen, float]:
        near = self.sample.matching
        if near is None or not near.windows.wide:
            return super()._seen(records)
        return seen_in_windows(self.sample, self._prior_probability_of)

    def _shares_of(self, records: Ints, whole: bool = True) -> Shares:
        if self.bands is not None:
            return Shares.as_in_sample(self.bands.errors)
        return super()._shares_of(records, whole)

    def _laws_of(self, table: CellTable) -> tuple[CellTable, Shares | None]:
        if self.tied is None or self.shares is None:
            return super()._laws_of(table)
        coded = self._coded(table)
        return coded.table, self.shares.of_sums(coded, self.tied.table.counts)

    def _without_cluster(self, clusters: Clusters) -> Floats:
        """Return pi of the sample's cells without a part of their own cluster."""
        # People of a cluster share values of the keys, so they make each other's cells
        # look less rare. A cell of several clusters gets the mean over its records, one
        # without records of a kept cluster nan.
        fitted = self._fitted_cells
        positions, prior = fitted.positions, _prior(fitted)
        share, theta = (np.ascontiguousarray(part) for part in self.mixture)
        records = clusters.records.astype(np.float64)
        kept, cells = clusters.kept.astype(np.int32), len(positions)
        n = float(clusters.records_in_cells(cells).sum())
        without = np.zeros(len(records))
        parts = clusters.own_parts

        def write(start: int, stop: int) -> None:
            sums = np.zeros((len(theta) + 1, len(share)))
            write_without_cluster(
                positions, clusters.cell, records, clusters.starts, kept, start, stop,
                positions.shape[1], len(share), len(theta), share, theta, n, parts,
                PSEUDO, prior, sums, without,
            )  # fmt: skip

        half = int(np.searchsorted(clusters.starts, len(records) // 2))
        in_threads(usual_threads(), write, [(0, half), (half, len(clusters))])
        return mean_in_cells(clusters, without, cells)

    def _rule_error(self, figure: Figure) -> float:
        """Return a standard deviation for clusters that were drawn in part."""
        if self.sample.clusters is None:
            return 0.0
        at = figure(self)
        error = abs(at - figure(replace(self, nearby=self.fellows))) / 2.0
        if self.bands is None and telling_keys(self._fitted_cells):
            part = replace(self, shares=self._shares_of(self.sample.records, False))
            error = math.hypot(error, (figure(part) - at) / 2.0)
        return error

    def _refitted(self, records: Ints) -> Self:
        bands, left = self.bands, records
        if bands is not None:
            bands, left = bands.with_records(records), bands.gathered(records)
        sample = self._alone.with_records(left)
        mixture = self.mixture
        for _ in range(STEPS):
            mixture = em_step(sample, mixture)[0]
        out = self.sample.records - records
        refit = replace(self, mixture=mixture, left_out=out, bands=bands)
        return self._dispersed_again(refit, records)

    @cached_property
    def _alone(self) -> Sample:
        """The sample, for fits that run on several threads at once."""
        return Sample.of(self._fitted_cells, 1)

    def _describe(self) -> str:
        classes = f"{self.classes} class{'es' if self.classes > 1 else ''}"
        bands = "" if self.bands is None else f"{self.bands.in_words}, "
        return f"{classes}, {bands}{super()._describe()}"


# --- the ascent --------------------------------------------------------------------


class Half(NamedTuple):
    """The distinct combinations of half of the keys, and that of each cell."""

    positions: Positions
    place: Positions


@dataclass(frozen=True, slots=True, eq=False)
class Sample:
    """Cells as pairs of combinations of half of the keys, which are far fewer.

    Cells are sorted by their first combination; ``begins`` has the first cell of each,
    ``order`` the place of each cell in the table. ``prior`` has the records of the
    prior in each category. ``parts`` are ranges of first combinations that are summed
    separately, which depend on the cells alone.
    """

    table: CellTable
    records: Floats
    first: Half
    second: Half
    order: Ints
    begins: Ints
    prior: Floats
    occurs: NDArray[np.bool_]
    parts: list[tuple[int, int]]
    threads: int

    @classmethod
    def of(cls, table: CellTable, threads: int) -> Sample:
        """Return the cells of a table."""
        mine, others = halves_of_keys(table.levels)
        first = _half(table, mine)
        order = np.argsort(first.place, kind="stable")
        first = first._replace(place=first.place[order])
        second = _half(table, others)
        begins = np.searchsorted(first.place, np.arange(len(first.positions) + 1))
        parts = min(max(len(table) // _PER_PART, 1), _PARTS)
        stops = [stop for _, stop in parts_of(len(table), parts)]
        cuts = np.searchsorted(begins, stops)
        return cls(
            table,
            table.records[order].astype(np.float64),
            first,
            second._replace(place=second.place[order]),
            order,
            begins,
            _prior(table),
            table.counts > 0.0,
            list(pairwise([0, *cuts.tolist()])),
            threads,
        )

    def with_records(self, records: Ints) -> Sample:
        """Return the sample with other numbers of records of its cells."""
        return replace(self, records=records[self.order].astype(np.float64))


def halves_of_keys(levels: Sequence[int]) -> tuple[list[int], list[int]]:
    """Split the keys into halves with about equally many combinations."""
    halves: tuple[list[int], list[int]] = [], []
    sizes = [1.0, 1.0]
    for key in sorted(range(len(levels)), key=lambda key: -levels[key]):
        smaller = int(sizes[1] < sizes[0])
        halves[smaller].append(key)
        sizes[smaller] *= levels[key]
    return halves


def _half(table: CellTable, keys: list[int]) -> Half:
    """Return the combinations of some keys."""
    if not keys:
        return Half(np.zeros((1, 0), np.int32), np.zeros(len(table), np.int32))
    codes = [table.codes[key].astype(np.uint32) for key in keys]
    cells = count(codes, [table.levels[key] for key in keys])
    columns = [
        np.asarray(code).astype(np.int32) + table.starts[key]
        for code, key in zip(cells.codes, keys, strict=True)
    ]
    positions = np.stack(columns, axis=1).astype(np.int32)
    return Half(positions, cells.inverse.astype(np.int32))


def _prior(table: CellTable) -> Floats:
    """Return the records of the prior in each category."""
    return PSEUDO * table.counts / float(table.stands_for.sum())


def ascend(sample: Sample, mixture: Mixture, cycles: int) -> Ascent:
    """Raise the penalized likelihood until a cycle gains less than the tolerance."""
    # A cycle is two steps of EM and one from where they point to, unless it is lower.
    least = TOLERANCE * sample.records.sum()
    heights: list[float] = []
    iterations, converged = 0, False
    for _ in range(cycles):
        first, _, height = em_step(sample, mixture)
        second, _, higher = em_step(sample, first)
        iterations += 2
        heights.append(height)
        if not higher >= height - _ROUNDING * abs(height):
            break  # the likelihood fell or is nan: no fit
        further = _extrapolated(sample, mixture, first, second)
        if further is None:
            converged = higher - height < least
            mixture = second
        else:
            third, _, highest = em_step(sample, further)
            iterations += 1
            better = highest >= higher
            converged = (highest if better else higher) - height < least
            mixture = third if better else second
        if converged:
            break
    _, likelihood, height = em_step(sample, mixture)
    return Ascent(mixture, likelihood, (*heights, height), iterations + 1, converged)


def em_step(sample: Sample, mixture: Mixture) -> tuple[Mixture, float, float]:
    """Return the mixture after a step of EM, and the heights without and with prior."""
    table, classes = sample.table, len(mixture.share)
    share, theta = _padded(mixture)
    wide = len(share)
    first, second = sample.first, sample.second
    rows, keys = second.positions.shape
    products, scaled = np.empty((rows, wide)), np.empty(rows)
    write_rows(second.positions, rows, keys, wide, theta, products, scaled)

    def expect(start: int, stop: int) -> tuple[Floats, Floats, Floats]:
        sums, second_sums = np.zeros(theta.shape), np.zeros((rows, wide))
        likelihood = np.zeros(4)
        add_expectations(
            first.positions, sample.begins, first.positions.shape[1], second.place,
            sample.records, start, stop, wide, share, theta, products, sums,
            second_sums, likelihood,
        )  # fmt: skip
        return sums, second_sums, likelihood

    sums, second_sums, likelihood = _added(
        in_threads(sample.threads, expect, sample.parts)
    )
    add_rows(second.positions, rows, keys, wide, second_sums * products, sums)
    if scaled.any():
        likelihood[3] += float((sample.records * scaled[second.place]).sum())
    sums = sums[:, :classes]
    impossible = likelihood[2] > 0.0
    height = -math.inf if impossible else float(likelihood[0] + likelihood[1])
    height -= ROW_LOG_SCALE * float(likelihood[3])
    in_class = sums[: table.levels[0]].sum(axis=0)
    logs = _logs(theta[sample.occurs], classes)
    prior = float((sample.prior[sample.occurs] * logs).sum())
    moved = (sums + sample.prior[:, np.newaxis]) / (in_class + PSEUDO)
    return Mixture(in_class / in_class.sum(), moved), height, height + prior


def _padded(mixture: Mixture) -> tuple[Floats, Floats]:
    """Return shares and thetas with classes of no records, to whole vectors."""
    classes = len(mixture.share)
    wide = -(-classes // LANES) * LANES
    share, theta = np.zeros(wide), np.zeros((len(mixture.theta), wide))
    share[:classes], theta[:, :classes] = mixture
    return share, theta


def _logs(theta: Floats, classes: int) -> Floats:
    """Return the sum of the logarithms of each row, of products of four."""
    theta[:, classes:] = 1.0
    products = theta[:, 0::LANES] * theta[:, 1::LANES]
    products *= theta[:, 2::LANES] * theta[:, 3::LANES]
    logs: Floats = log(products).sum(axis=1)
    return logs


def _added(parts: Sequence[tuple[Floats, ...]]) -> tuple[Floats, ...]:
    """Add arrays in the order of the parts, to those of the first."""
    for more in parts[1:]:
        for total, part in zip(parts[0], more, strict=True):
            total += part
    return parts[0]


def _extrapolated(
    sample: Sample, begin: Mixture, first: Mixture, second: Mixture
) -> Mixture | None:
    """Return where two EM steps point to; None if no farther than they lead."""
    moved = [b - a for a, b in zip(begin, first, strict=True)]
    bent = [c - b - step for b, c, step in zip(first, second, moved, strict=True)]
    length = sum(float((step * step).sum()) for step in moved)
    bend = sum(float((step * step).sum()) for step in bent)
    if not bend > 0.0 or length <= bend:
        return None
    reach = math.sqrt(length / bend)
    share, theta = (
        np.maximum(a + 2.0 * reach * step + reach * reach * turn, _KEPT * c)
        for a, step, turn, c in zip(begin, moved, bent, second, strict=True)
    )
    for start, stop in pairwise(sample.table.starts):
        theta[start:stop] /= theta[start:stop].sum(axis=0)
    return Mixture(share / share.sum(), theta)


def probability(table: CellTable, mixture: Mixture) -> Floats:
    """Return pi of cells that are coded as the rows of a mixture."""
    pi = np.empty(len(table))
    share, theta = (np.ascontiguousarray(array) for array in mixture)
    theta = np.vstack([theta, np.ones(len(share))])
    positions, keys = table.positions, len(table.levels)

    def write(start: int, stop: int) -> None:
        write_probabilities(positions, start, stop, keys, len(share), share, theta, pi)

    over(len(table), write)
    return pi


def parameters(table: CellTable, classes: int) -> int:
    """Return the number of free parameters, for the categories that occur."""
    return classes - 1 + classes * sum(size - 1 for size in occurring(table))


def _unfinished(ascent: Ascent) -> str:
    if len(ascent.heights) > _CYCLES:
        return f"no convergence within {ascent.iterations} passes over the cells"
    return "the likelihood fell"


# --- the number of classes ---------------------------------------------------------


def some_records(table: CellTable, number: int) -> CellTable:
    """Return a random part of the records, the same in every run."""
    if table.drawn is not None:
        table = table.with_records(table.fitted).some(table.fitted > 0)
    if table.n <= number:
        return table
    cell, group = groups_of(table.records, table.n)  # groups of one: a permutation
    records = np.bincount(cell[group < number], minlength=len(table))
    return table.with_records(records).some(records > 0)


def _path(
    table: CellTable, threads: int, most: int, starts: int | None
) -> tuple[tuple[Step, ...], Mixture, int]:
    """Fit 1, 2, 3, ... classes; return the path, the best fit, and its records."""
    out = _left_out(table)
    sample = Sample.of(table.with_records(table.records - out), threads)
    path: list[Step] = []
    best = before = None
    for classes in range(1, most + 1):
        ascent, iterations = _best_of(sample, classes, starts, before)
        before, likelihood = ascent.mixture, ascent.log_likelihood
        free = parameters(sample.table, classes)
        pi = probability(table, before)
        judges = (out > 0) & (pi > 0.0)  # others have categories that no fit knows
        held_out = math.fsum((out[judges] * log(pi[judges])).tolist())
        step = Step(classes, likelihood, free, held_out, iterations, ascent.converged)
        path.append(step)
        highest = max(path, key=lambda step: step.held_out)
        if highest is step:
            best = before
        if classes - highest.classes >= PATIENCE:
            break
    assert best is not None
    return tuple(path), best, sample.table.n


def _left_out(table: CellTable) -> Ints:
    """Return the records by cell that judge the fits, those of whole clusters."""
    clusters = table.clusters
    if clusters is not None and len(clusters) >= LEFT_OUT:
        left = clusters.without(0, LEFT_OUT)
        return table.records - left.records_in_cells(len(table))
    # By the categories of each record, whatever the order of the keys.
    marks = np.zeros(len(table), np.uint64)
    for code, size in zip(table.codes, table.levels, strict=True):
        marks += scattered(code.astype(np.uint64) + np.uint64(size << 32))
    cell = np.repeat(np.arange(len(table)), table.records)
    first = np.cumsum(table.records) - table.records
    number = (np.arange(len(cell)) - first[cell]).astype(np.uint64)
    order = np.argsort(scattered(marks[cell] + number), kind="stable")
    return np.bincount(cell[order[: table.n // LEFT_OUT]], minlength=len(table))


def _widened(sample: Sample, mixture: Mixture, n: int) -> Mixture:
    """Return a start for all records from a fit to n of them: no category is lost."""
    in_class = n * mixture.share
    theta = mixture.theta * in_class + sample.prior[:, np.newaxis]
    return Mixture(mixture.share, theta / (in_class + PSEUDO))


def _best_of(
    sample: Sample, classes: int, starts: int | None, before: Mixture | None
) -> tuple[Ascent, int]:
    """Climb a little from each start, then on from the best; return also all passes."""
    if starts is None:
        starts = STARTS if sample.table.n <= MANY else FEWER
    alone = replace(sample, threads=1)

    def climb(begin: Mixture) -> Ascent:
        return ascend(alone, begin, _FIRST)

    begins = starting_mixtures(sample, classes, starts, before)
    tries = in_threads(sample.threads, climb, [(begin,) for begin in begins])
    best = max(tries, key=lambda attempt: attempt.heights[-1])
    ascent = ascend(sample, best.mixture, _ON_PATH)
    return ascent, ascent.iterations + sum(attempt.iterations for attempt in tries)


def starting_mixtures(
    sample: Sample, classes: int, number: int, before: Mixture | None
) -> list[Mixture]:
    """Return starts: the previous fit plus one class, and classes near records."""
    table = sample.table
    margin = sample.prior[:, np.newaxis] / PSEUDO
    if classes == 1:
        return [Mixture(np.ones(1), margin.copy())]
    found = []
    if before is not None:
        # The new class takes the records that the others do not explain.
        left = np.maximum(sample.records - table.n * probability(table, before), 0.0)
        pairs = zip(table.codes, table.levels, strict=True)
        over = np.concatenate([np.bincount(code, left, size) for code, size in pairs])
        theta = (over[:, np.newaxis] + margin) / (left.sum() + 1.0)
        share = np.append(before.share * (1.0 - 1.0 / classes), 1.0 / classes)
        found.append(Mixture(share, np.hstack([before.theta, theta])))
    upto = np.cumsum(table.records)
    for start in range(number - len(found)):
        chance = np.random.default_rng([classes, start]).random(classes)
        cells = np.searchsorted(upto, np.floor(chance * table.n), side="right")
        theta = np.repeat(0.6 * margin, classes, axis=1)
        for c, cell in enumerate(cells):
            theta[table.positions[cell], c] += 0.4
        found.append(Mixture(np.full(classes, 1.0 / classes), theta))
    return found
