"""Log-linear models of the cells: main effects and chosen pairs of keys.

    log pi_k = sum_j u_j(k_j) + sum_{pairs (a, b)} u_ab(k_a, k_b)

The model is fitted by iterative proportional fitting: all possible combinations are
scaled to the sample's margin of each term in turn until all margins agree, which
maximizes the likelihood (Bishop, Fienberg and Holland 1975, chapter 3). The result is
kept as a product of one factor for each term, not as a table.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import combinations
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from riskcore.common import arguments
from riskcore.common.words import counted
from riskcore.core.special.gamma.functions import log
from riskcore.models.cell_model import ONE_CELL, CellModel, refuse_windows
from riskcore.models.cell_table import CellTable, occurring
from riskcore.models.codes import Ints, Mask, Pair, as_structural_zeros, refuse_records
from riskcore.models.overdispersion import kind_of

Floats = NDArray[np.float64]
Term = tuple[int, ...]

# Of the full table: a cell takes at most 20 bytes, and one or two for each key.
MOST_CELLS = 2**24
TOLERANCE = 0.01  # records by which a margin may differ from the sample's
_CYCLES = 1000
STEPS = 5  # cycles of a jackknife fit, from the fit to all records


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class LogLinear(CellModel):
    """Log-linear model of the cells' probabilities, with overdispersion.

    Made by `LogLinear.fit`.

    Attributes
    ----------
    terms : tuple of tuple of int
        The fitted margins: pairs of keys, by position, and keys that are in no pair.
    factors : mapping of term to float64 ndarray
        pi is their product.
    tolerance : float
        Records by which a margin may differ from the sample's.
    cells : int
        Number of cells that the model allows.
    iterations : int
        Cycles through all terms.

    Examples
    --------
    >>> sex, age = [0, 0, 1, 1, 1, 0], [0, 1, 2, 2, 1, 0]
    >>> model = LogLinear.fit([sex, age], terms="main", overdispersion=False)
    >>> model
    <LogLinear: 6 records, 2 keys alone, Poisson>
    >>> model.probability().round(4)
    array([0.1667, 0.1667, 0.1667, 0.1667])
    >>> model.cells, model.parameters, round(model.aic, 4)
    (6, 3, 27.5011)
    """

    label: ClassVar[str] = "log-linear"

    terms: tuple[Term, ...]
    factors: Mapping[Term, Floats] = field(default_factory=dict)
    structural_zeros: Mapping[Pair, Mask] = field(default_factory=dict)
    tolerance: float = TOLERANCE
    cells: int = 0
    iterations: int = 0

    @classmethod
    def fit(
        cls,
        data: Any,
        keys: Iterable[Hashable] | None = None,
        terms: str | Iterable[tuple[Hashable, Hashable]] = "main",
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
        structural_zeros: Mapping[Pair, ArrayLike] | None = None,
        tolerance: float = TOLERANCE,
    ) -> Self:
        """Fit the model to a sample.

        Parameters
        ----------
        data, keys, weight, missing, levels, frequency, weight_sum, cluster, strata
            The sample, see `CellTable.of`.
        terms : {"main", "all two-way"} or iterable of pairs of keys
            Pairs of keys with an interaction: no pair, all pairs, or a list of pairs,
            by name or, for codes, by position. Each key has its main effect.
        overdispersion : bool or {"power", "dirichlet-multinomial", "none"}
            The law of the deviations from pi, see `CellModel.with_overdispersion`.
        smooth_weights : bool
            Whether weights are smoothed, see `CellModel.with_smoothed_weights`; False
            takes the mean weight of each cell's own records.
        structural_zeros : mapping from (a, b) to array_like of bool, optional
            For two keys, by position, a mask of impossible pairs of categories, shape
            (levels[a], levels[b]); they get probability 0.
        tolerance : float
            The largest difference of a margin from the sample's, in records. If the
            maximum of the likelihood is on a boundary, as in sparse tables, each
            further digit takes ten times as long.

        Returns
        -------
        LogLinear
            Not converged if the margins are not met after 1000 cycles.

        Raises
        ------
        KeyError, OSError, TypeError, ValueError
            As `CellTable.of`; or if a term is not a pair of keys, records are in
            structural zeros, or there are more than 2^24 combinations of categories.

        Notes
        -----
        A pair of categories without records gets probability 0 if the pair of keys has
        a term, which maximizes its likelihood. Parameters of such pairs and of
        structural zeros are not counted; the count is exact if the occurring pairs
        connect all categories.
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
        refuse_windows(table, "LogLinear")
        kind = kind_of(overdispersion)
        pairs = _pairs(terms, table)
        size = math.prod(table.levels)
        if size > MOST_CELLS:
            raise ValueError(
                f"{size} combinations of categories, more than the {MOST_CELLS} of a "
                "table in memory; use fewer keys or categories, or "
                "LatentClass, which needs no table"
            )
        zeros = as_structural_zeros(structural_zeros or {}, table.levels)
        for (a, b), mask in zeros.items():
            bad = mask[table.codes[a], table.codes[b]]
            refuse_records(int(table.records[bad].sum()), table.n, a, b)
        alone = [(j,) for j in range(len(table.keys)) if j not in {*sum(pairs, ())}]
        model = cls(
            sample=table,
            terms=(*pairs, *alone),
            structural_zeros=zeros,
            tolerance=arguments.number_in("tolerance", tolerance, "(0, inf)"),
        )
        if len(table) == 1:
            return replace(model, converged=False, reason=ONE_CELL)
        fitted_model = model._fitted(table.records, _CYCLES)
        if not fitted_model.converged:
            return fitted_model
        logs = log(fitted_model.probability())
        fitted_model = replace(
            fitted_model,
            log_likelihood=math.fsum((table.records * logs).tolist()),
            parameters=_parameters(table, pairs),
            shares=fitted_model._shares_of(table.records),
        )
        return fitted_model.with_overdispersion(kind).with_smoothed_weights(
            smooth_weights
        )

    def _probability(self, table: CellTable) -> Floats:
        return self._sums(table, 1)

    def _squares(self, table: CellTable) -> Floats:
        return self._sums(table, 2)

    def _sums(self, table: CellTable, power: int) -> Floats:
        """Return the sum of a power of pi over the cells of combinations."""
        pi = np.empty(len(table))
        for keys, cells in table.patterns():
            codes = [column[cells] for column in table.codes]
            if len(keys) == len(codes):
                pi[cells] = self._of_complete(codes) ** power
            elif keys:
                support, every = self._possible
                sizes = [self.sample.levels[key] for key in keys]
                place = self._place(support, keys)
                sums = np.bincount(place, every**power, math.prod(sizes))
                margin = sums.reshape(sizes)
                pi[cells] = margin[tuple(codes[key] for key in keys)]
            else:
                pi[cells] = math.fsum(self._possible[1] ** power)
        return pi

    @cached_property
    def _possible(self) -> tuple[list[NDArray[Any]], Floats]:
        """The codes of the possible combinations, and pi of each."""
        support = self._support(self.factors)
        return support, self._of_complete(support)

    def _of_complete(self, codes: Sequence[NDArray[Any]]) -> Floats:
        """Return pi of combinations of all keys."""
        pi = np.ones(len(codes[0]))
        for term, factor in self.factors.items():
            pi *= factor[tuple(codes[key] for key in term)]
        for (a, b), mask in self.structural_zeros.items():
            pi[mask[codes[a], codes[b]]] = 0.0
        return pi

    def _refitted(self, records: Ints) -> Self:
        model = self._fitted(records, STEPS)
        return self._dispersed_again(replace(self, factors=model.factors), records)

    def _fitted(self, records: Ints, cycles: int) -> Self:
        """Return the model scaled to the margins of some records, from its factors."""
        sample = self.sample
        n = float(records.sum())
        wanted = {term: _margin(sample, term, records) / n for term in self.terms}
        factors = dict(self.factors) or {
            term: np.ones_like(margin) for term, margin in wanted.items()
        }
        support = self._support(wanted)
        pi = np.ones(len(support[0]))
        for term, factor in factors.items():
            pi *= factor.ravel()[self._place(support, term)]
        for cycle in range(1, cycles + 1):  # noqa: B007
            far = 0.0
            for term, margin in wanted.items():
                place = self._place(support, term)
                fitted_margin = np.bincount(place, pi, margin.size).reshape(
                    margin.shape
                )
                far = max(far, float(np.abs(fitted_margin - margin).max()))
                some, none = fitted_margin > 0.0, np.zeros_like(margin)
                ratio = np.divide(margin, fitted_margin, out=none, where=some)
                factors[term] = factors[term] * ratio
                pi *= ratio.ravel()[place]
            if far * n <= self.tolerance:
                break
        converged = far * n <= self.tolerance
        return replace(
            self,
            factors=factors,
            cells=len(pi),
            iterations=cycle,
            converged=converged,
            reason="" if converged else f"margins not met after {cycle} cycles",
        )

    def _support(self, wanted: Mapping[Term, Floats]) -> list[NDArray[Any]]:
        """Return the codes of the combinations that no margin and no zero excludes."""
        levels = self.sample.levels
        possible = np.ones(levels, np.bool_)
        masks = [(term, margin > 0.0) for term, margin in wanted.items()]
        masks += [(pair, ~zeros) for pair, zeros in self.structural_zeros.items()]
        for term, mask in masks:
            others = tuple(j for j in range(len(levels)) if j not in term)
            possible &= np.expand_dims(mask, others)
        flat = np.flatnonzero(possible)
        codes = []
        for size in reversed(levels):
            codes.append((flat % size).astype(np.min_scalar_type(size)))
            flat //= size
        return codes[::-1]

    def _place(self, support: Sequence[NDArray[Any]], term: Term) -> Ints:
        """Return the flat position of each combination in the margin of a term."""
        levels = [self.sample.levels[key] for key in term]
        return np.ravel_multi_index(tuple(support[key] for key in term), levels)

    def _describe(self) -> str:
        pairs = sum(len(term) == 2 for term in self.terms)
        alone = len(self.terms) - pairs
        terms = [counted(pairs, "pair") + " of keys"] if pairs else []
        terms += [counted(alone, "key") + " alone"] if alone else []
        return f"{', '.join(terms)}, {super()._describe()}"


def _pairs(
    terms: str | Iterable[tuple[Hashable, Hashable]], table: CellTable
) -> list[Pair]:
    """Return the pairs of keys with an interaction, by position."""
    keys = table.keys
    if isinstance(terms, str):
        arguments.one_of("terms", terms, ("main", "all two-way"))
        return list(combinations(range(len(keys)), 2)) if terms != "main" else []
    pairs = set()
    for term in terms:
        pair = tuple(keys.index(key) for key in term if key in keys)
        if isinstance(term, str) or len(tuple(term)) != 2 or len(set(pair)) != 2:
            raise ValueError(f"terms: {term!r} is not a pair of the keys {list(keys)}")
        pairs.add((min(pair), max(pair)))
    return sorted(pairs)


def _margin(table: CellTable, term: Term, records: Ints) -> Floats:
    """Return the records of each combination of the keys of a term."""
    margin = np.zeros([table.levels[key] for key in term])
    np.add.at(margin, tuple(table.codes[key] for key in term), records)
    return margin


def _parameters(table: CellTable, pairs: Iterable[Pair]) -> int:
    """Return the number of free parameters of the margins that occur."""
    occurs = occurring(table)
    free = sum(size - 1 for size in occurs)
    for a, b in pairs:
        joint = int(np.count_nonzero(_margin(table, (a, b), table.records)))
        free += joint - occurs[a] - occurs[b] + 1
    return free
