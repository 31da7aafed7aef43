"""Lancaster's additive model as a model of cells."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from riskcore.common import arguments
from riskcore.core.special.gamma.functions import log
from riskcore.models.cell_model import CellModel, refuse_windows
from riskcore.models.cell_table import ANY, CellTable, occurring
from riskcore.models.codes import Ints, Pair
from riskcore.models.lancaster import Lancaster
from riskcore.models.overdispersion import kind_of

Floats = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class LancasterCells(CellModel):
    """Lancaster's model of the cells' probabilities, renormalized, with overdispersion.

    Made by `LancasterCells.fit`.

    Attributes
    ----------
    model : Lancaster
    shrinkage : float
        lambda: 0 is independence, 1 keeps the margins of all pairs of keys.
    normalizer : float
        c(lambda), the sum of the positive probabilities, by which they are divided.

    Examples
    --------
    >>> codes = [[0, 0, 1, 1, 1], [0, 1, 1, 1, 0]]
    >>> model = LancasterCells.fit(codes, shrinkage=1.0, overdispersion=False)
    >>> model
    <LancasterCells: 5 records, lambda 1, Poisson>
    >>> model.probability()
    array([0.2, 0.2, 0.2, 0.4])
    """

    label: ClassVar[str] = "lancaster-cells"

    model: Lancaster
    shrinkage: float
    normalizer: float = math.nan

    @classmethod
    def fit(
        cls,
        data: Any,
        keys: Iterable[Hashable] | None = None,
        shrinkage: float = 0.5,
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
    ) -> Self:
        """Fit the model to a sample.

        Parameters
        ----------
        data, keys, weight, missing, levels, frequency, weight_sum, cluster, strata
            The sample, see `CellTable.of`.
        shrinkage : float
            lambda in [0, 1]; the sample cannot tell the right value.
        overdispersion : bool or {"power", "dirichlet-multinomial", "none"}
            The law of the deviations from pi, see `CellModel.with_overdispersion`.
        smooth_weights : bool
            Whether weights are smoothed, see `CellModel.with_smoothed_weights`; False
            takes the mean weight of each cell's own records.
        structural_zeros : mapping from (a, b) to array_like of bool, optional
            As for `Lancaster.fit`.

        Returns
        -------
        LancasterCells
            Cells with a negative estimate have probability 0, so the log-likelihood is
            -infinity if the sample has any.

        Raises
        ------
        KeyError, OSError, TypeError, ValueError
            As `CellTable.of` and `Lancaster.fit`; or if lambda is not in [0, 1], or
            there are more than 1e12 cells.
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
        refuse_windows(table, "LancasterCells")
        kind = kind_of(overdispersion)
        shrinkage = arguments.number_in("shrinkage", shrinkage, "[0, 1]")
        fitted = Lancaster.fit(
            table.codes, table.levels, table.records, structural_zeros
        )
        model = cls(
            sample=table,
            model=fitted,
            shrinkage=shrinkage,
            normalizer=float(fitted.normalizer(shrinkage)),
            parameters=_parameters(table, shrinkage),
        )
        pi = model._probability(table)
        likelihood = -math.inf
        if (pi > 0.0).all():
            likelihood = math.fsum((table.records * log(pi)).tolist())
        model = replace(model, log_likelihood=likelihood)
        return model.with_overdispersion(kind).with_smoothed_weights(smooth_weights)

    def _probability(self, table: CellTable) -> Floats:
        if any((column == ANY).any() for column in table.codes):
            raise ValueError(
                "cells: Lancaster's model cannot sum over all values of a key; use "
                "LatentClass or LogLinear"
            )
        p = self.model.probability(table.codes, self.shrinkage)
        pi: Floats = np.clip(p / self.normalizer, 0.0, 1.0)
        return pi

    def _refitted(self, records: Ints) -> Self:
        # c(lambda) is kept: it takes long, and changes less than the cells.
        zeros: dict[Pair, ArrayLike] = {**self.model.structural_zeros}
        fitted = Lancaster.fit(self.sample.codes, self.sample.levels, records, zeros)
        return replace(self, model=fitted)._dispersed_again(records)

    def _describe(self) -> str:
        return f"lambda {self.shrinkage:g}, {super()._describe()}"


def _parameters(table: CellTable, shrinkage: float) -> int:
    """Return the number of free parameters of the model's margins."""
    free = [size - 1 for size in occurring(table)]
    pairs = sum(a * b for a, b in combinations(free, 2)) if shrinkage > 0.0 else 0
    return sum(free) + pairs
