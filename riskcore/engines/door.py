"""The one door: which engine holds the data, what it counts, what it gives back."""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from riskcore.common.missing_column import no_such_column
from riskcore.engines.counting import (
    Question,
    Weighed,
    frequencies,
    weight_type,
)
from riskcore.engines.sums import WholeSums

Results = Mapping[str, NDArray[Any]]
Compute = Callable[[NDArray[np.int64], NDArray[np.float64]], Results]


class Engine(ABC):
    """Data that an engine holds.

    Attributes
    ----------
    name : str
        What messages call the engine.
    case_blind : bool
        Whether names of columns that differ by case are one name to it.
    """

    name: str
    case_blind = False

    @property
    @abstractmethod
    def schema(self) -> Mapping[str, Any]:
        """The types of the columns, those of narwhals, by name."""

    @abstractmethod
    def weigh(self, weight: Hashable | None) -> Weighed:
        """Return what is to be known of the weights."""

    @abstractmethod
    def cells(self, question: Question) -> Any:
        """Return the cells as an eager narwhals frame."""

    @abstractmethod
    def joined(self, question: Question, cells: Any, results: Results) -> Any:
        """Return the data with results of the cells added to their records."""

    def computed(self, question: Question, compute: Compute) -> Any:
        """Return the same, computed where the data are; None if they stay in one place.

        Parameters
        ----------
        question : Question
        compute : callable
            Gives the results from frequencies and sums of weights; can be pickled.
        """
        return None

    def refuse_single(self, what: str) -> TypeError:
        """Make the error for what needs single records."""
        return TypeError(
            f"{what}: single records are needed here, but {self.name} holds them and "
            "gives the cells alone: collect the columns first. What assess returns has "
            ".records, which stays with the engine"
        )

    def check(self, names: Sequence[Hashable]) -> None:
        """Refuse columns that there are not, or that the engine cannot tell apart.

        Raises
        ------
        KeyError
            If there is no column of a name.
        ValueError
            If names differ by case alone, which the engine ignores.
        """
        columns = list(self.schema)
        for name in names:
            if name not in columns:
                raise no_such_column([name], columns)
        if self.case_blind:
            for name in names:
                alike = [
                    one for one in columns if one.casefold() == str(name).casefold()
                ]
                if len(alike) > 1:
                    raise ValueError(
                        f"columns {', '.join(map(repr, alike))} differ by case alone, "
                        f"which {self.name} ignores: rename one of them"
                    )

    def count(self, keys: Sequence[Hashable], weight: Hashable | None) -> Counted:
        """Return the cells of the data, counted by the engine.

        Parameters
        ----------
        keys : sequence of hashable
            Names of the key variables.
        weight : hashable, optional
            Name of the column of weights.

        Returns
        -------
        Counted

        Raises
        ------
        KeyError
            If there is no column of a name.
        TypeError
            If the weights are not real numbers.
        ValueError
            If there are no records, weights are missing, infinite, zero or negative,
            or the data have changed while they were counted.
        """
        self.check([*keys, *([] if weight is None else [weight])])
        if weight is not None:
            wrong = weight_type(self.schema, weight)
            if wrong is not None:
                raise TypeError(
                    f"weight {weight!r}: values of type {wrong}, not real numbers"
                )
        weighed = self.weigh(weight)
        if not weighed.n:
            raise ValueError("the data hold no records")
        faults = [f"{k:,} {fault}" for fault, k in weighed.faults.items() if k]
        if faults:
            raise ValueError(
                f"weight {weight!r}: {', '.join(faults)} in {weighed.n:,} records; a "
                "weight is positive and finite"
            )
        sums = None
        if weight is not None:
            whole = not weighed.broken
            sums = WholeSums.of(weighed.n, weighed.low, weighed.high, whole)
        question = Question(tuple(keys), weight, sums)
        cells = self.cells(question)
        records, weight_sum = frequencies(cells, question)
        if int(records.sum()) != weighed.n:
            raise ValueError(
                f"the cells have {int(records.sum()):,} records, the data "
                f"{weighed.n:,}: they changed while they were counted"
            )
        return Counted(self, question, cells, records, weight_sum)


@dataclass(frozen=True, slots=True, eq=False)
class Counted:
    """What an engine has counted: one row for each cell, in no particular order.

    Attributes
    ----------
    engine : Engine
    question : Question
    cells : narwhals DataFrame
        The keys of each row, and what was counted.
    records : int64 ndarray, shape (K,)
        Number of records of each row.
    weight_sum : float64 ndarray, shape (K,)
        Sum of their weights; their number if there are none.
    """

    engine: Engine
    question: Question
    cells: Any
    records: NDArray[np.int64]
    weight_sum: NDArray[np.float64]

    @property
    def n(self) -> int:
        """Number of records."""
        return int(self.records.sum())

    @property
    def keys(self) -> dict[Hashable, Any]:
        """The column of each key, a row for each cell."""
        columns = zip(self.question.keys, self.question.key_columns, strict=True)
        return {key: self.cells.get_column(name) for key, name in columns}

    def records_with(self, results: Results, compute: Compute | None = None) -> Any:
        """Return the data, with results of the cells added to their records.

        Parameters
        ----------
        results : mapping of column names to ndarray, each shape (K,)
            In the order of the rows.
        compute : callable, optional
            What gives the same results from the frequency and the sum of the weights
            of each cell, if they depend on nothing else; it can be pickled.

        Returns
        -------
        lazy frame, relation, table or reader
            Of the type of the data; a dataset gives a reader of its batches.
        """
        question = self.question
        # Sums of doubles would be others when the engine adds them again.
        repeats = question.weight is None or question.sums is not None
        if compute is not None and repeats:
            found = self.engine.computed(question, compute)
            if found is not None:
                return found
        return self.engine.joined(
            self.question, self.cells.select(*self.question.key_columns), results
        )

    def refuse_single(self, what: str) -> TypeError:
        """Make the error for what needs single records."""
        return self.engine.refuse_single(what)


def engine_of(data: Any) -> Engine | None:
    """Return the engine that holds the data; None if they are in memory.

    Parameters
    ----------
    data : any object

    Returns
    -------
    Engine or None

    Examples
    --------
    >>> import polars
    >>> engine_of(polars.LazyFrame({"sex": ["f", "m"]})).name
    'polars'
    >>> engine_of({"sex": ["f", "m"]})
    """
    from riskcore.engines import lazy, pieces

    # Only what has been imported can be given.
    dask = sys.modules.get("dask.dataframe")
    if dask is not None and isinstance(data, dask.DataFrame):
        return pieces.Dask(data)
    dataset = sys.modules.get("pyarrow.dataset")
    if dataset is not None and isinstance(data, dataset.Dataset):
        return pieces.ArrowDataset(data)
    return lazy.engine_of(data)
