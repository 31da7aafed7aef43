"""A population with known cells, from a register or a census."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable
from copy import copy
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from riskcore.common import arguments
from riskcore.common.words import counted
from riskcore.data.cells import tabulate
from riskcore.data.files.reading import Reading
from riskcore.data.source import Source
from riskcore.models.cell_model import CellModel, CellPrior, refuse_windows
from riskcore.models.cell_table import CellTable
from riskcore.models.codes import Ints

Floats = NDArray[np.float64]


@dataclass(frozen=True, init=False, eq=False, repr=False)
class KnownPopulation(CellModel):
    """The true population frequency of each cell.

    Parameters
    ----------
    frame : frame, mapping or path
        The population, as for `riskcore.tabulate`: one row for each person, or one for
        each cell with its count.
    keys : iterable of hashable
        The key variables, coded as in the sample.
    count : hashable, optional
        Name of the column with the number of people of each row, whole numbers above 0.
    lacking : {"refuse", "sample"} or CellModel
        What to do with cells of a sample that are absent in the population or have
        fewer people than records: refuse them; take F = f, the most cautious choice; or
        use the prior of a model of the cells.
    missing : {"refuse", "category"}
        As for `riskcore.tabulate`.

    Attributes
    ----------
    lacking : str or CellModel

    Raises
    ------
    KeyError, OSError, TypeError
        As `riskcore.tabulate`.
    ValueError
        As `riskcore.tabulate`; or if counts are not whole numbers.

    Examples
    --------
    >>> register = {"sex": ["f", "m", "m"], "age": [31, 31, 40], "people": [1, 4, 9]}
    >>> known = KnownPopulation(register, ["sex", "age"], count="people")
    >>> known
    <KnownPopulation: 14 people in 3 cells>
    >>> sample = CellTable.of({"sex": ["f", "m"], "age": [31, 40]}, ["sex", "age"])
    >>> known.unique_probability(sample), known.probability(sample).round(4)
    (array([1., 0.]), array([0.0714, 0.6429]))
    >>> known.tau_interval(sample)
    (1, 1)
    """

    label: ClassVar[str] = "known-population"
    _wrong = _wrong_tau = 0.0

    lacking: str | CellModel = "refuse"

    def __init__(
        self,
        frame: Any,
        keys: Iterable[Hashable],
        count: Hashable | None = None,
        *,
        lacking: str | CellModel = "refuse",
        missing: str = "refuse",
    ) -> None:
        arguments.one_of("missing", missing, ("refuse", "category"))
        if not isinstance(lacking, CellModel):
            arguments.one_of("lacking", lacking, ("refuse", "sample"))
        register = Source.like(frame, Reading(weight_scale=1.0))  # people, not weights
        cells = tabulate(register, keys, count, missing)
        people = cells.weight_sum
        wrong = (people != np.floor(people)) | (people == 0)
        arguments.refuse(f"count {count!r}", wrong, "whole, from 1 on")
        table = CellTable.of(cells).with_records(people.astype(np.int64))
        super().__init__(sample=table)
        object.__setattr__(self, "lacking", lacking)

    def prior(self, cells: Any = None) -> CellPrior:
        """Return F of each cell.

        Parameters
        ----------
        cells : optional
            As in `probability`.

        Returns
        -------
        CellPrior
            With ``population``; where a model replaces it, nan and the model's prior.

        Raises
        ------
        TypeError, ValueError
            As `probability`; or if cells are absent or too small, and ``lacking`` is
            "refuse".
        """
        table = self._table(cells)
        F = self._people(table)
        f = table.records.astype(np.float64)
        bad = np.isnan(F) | ((f > F) & table.certain)
        if not bad.any():
            return CellPrior(f, population=F)
        if isinstance(self.lacking, CellModel):
            prior = self.lacking.prior(table)
            F[bad] = math.nan
            return CellPrior(f, prior.shape, prior.p, prior.q, prior.mu, F)
        if self.lacking == "sample":
            F[bad] = f[bad]
            return CellPrior(f, population=F)
        absent = int(np.count_nonzero(np.isnan(F)))
        raise ValueError(
            f"the population lacks {absent} of {len(table)} cells of the sample, and "
            f"{int(bad.sum()) - absent} have fewer people than records; code the keys "
            "of both in the same way (in Python: or say by KnownPopulation(lacking=...)"
            " what to do with them)"
        )

    def _table(self, cells: Any) -> CellTable:
        if cells is None:
            return self.sample
        table = CellTable.of(cells, any_value=True)
        refuse_windows(table, "KnownPopulation")
        return table

    def _people(self, table: CellTable) -> Floats:
        """Return F of cells; nan if the population lacks them."""
        if table is self.sample:
            return self.sample.records.astype(np.float64)
        people = table.matches_in(self.sample).astype(np.float64)
        people[people == 0.0] = math.nan
        return people

    def _probability(self, table: CellTable) -> Floats:
        return np.nan_to_num(self._people(table), nan=0.0) / self.n

    def _refitted(self, records: Ints) -> Self:
        return self  # nothing was estimated

    def _replicates(self, groups: int) -> list[Self]:
        if not isinstance(self.lacking, CellModel):
            return [self] * groups
        replicates = []
        for model in self.lacking._replicates(groups):
            replicate = copy(self)
            object.__setattr__(replicate, "lacking", model)
            replicates.append(replicate)
        return replicates

    @property
    def fit_in_words(self) -> str:
        """The number of people and of cells."""
        cells = counted(len(self.sample), "cell")
        return f"{counted(self.n, 'person', 'people')} in {cells}"
