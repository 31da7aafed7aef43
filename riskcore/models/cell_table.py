"""The cells of a sample, as models of cell probabilities take them."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from riskcore.common import arguments
from riskcore.common.scatter import scattered
from riskcore.common.words import counted
from riskcore.data.cells import STRATA_ALONE, Cells, tabulate_design
from riskcore.data.columns import BY_DESIGN, comparable_beside
from riskcore.data.count import count
from riskcore.data.engines.sums import Squares
from riskcore.data.sample_design import SampleDesign
from riskcore.data.wildcard import WILDCARDS
from riskcore.data.windows import Windows
from riskcore.models.clusters import Clusters
from riskcore.models.codes import Ints, as_codes, as_frequency

Floats = NDArray[np.float64]
Positions = NDArray[np.int32]

# The codes of any value, and of an unknown value.
ANY, _UNKNOWN = -1, -2
SAME = 2.0**-40  # relative differences of mean weights that are rounding errors


class Rows(NamedTuple):
    """The rows that were counted: their cells, and weights or squares, if known."""

    cell: NDArray[Any]  # -1 of those that are in none
    weight: Floats | None  # of a record
    records: Ints | int = 1
    squares: Squares | None = None
    scale: float = 1.0  # what the weights were multiplied by

    @classmethod
    def of(cls, cells: Cells, cell: NDArray[Any]) -> Self:
        """Return the rows of a tabulation."""
        squares = None if cells.counted is None else cells.counted.squares
        return cls(cell, cells.record_weights, squares=squares)


class Matching(NamedTuple):
    """The records within the tolerance of each cell: f and W of its window."""

    windows: Windows
    records: Ints
    weight_sum: Floats


class Drawn(NamedTuple):
    """What cells that were drawn stand for, as large cells are drawn more often."""

    n: int  # records of the file
    stands_for: Ints  # records of the file that each cell stands for
    records: Ints  # of a simple random sample of the records, in each cell
    even: NDArray[np.bool_]  # mask of a simple random sample of the cells

    @classmethod
    def of(cls, records: Ints, n: int, large: int, small: int) -> Self:
        """Return this of cells that had the chance max(f/large, 1/small)."""
        stands_for = np.maximum(records, np.minimum(large, small * records))
        chance = scattered(np.arange(2 * len(records), dtype=np.uint64)) / 2.0**64
        thin = np.floor(stands_for / large + chance[::2]).astype(np.int64)
        even = chance[1::2] * small * records < stands_for
        # The file has n records, so what the cells stand for is made to add to n.
        drawn = stands_for > records
        ends = np.append(0, np.cumsum(stands_for[drawn]))
        share = (n - records[~drawn].sum()) / max(ends[-1], 1)
        scaled = np.diff(np.rint(ends * share)).astype(np.int64)
        stands_for[drawn] = np.maximum(scaled, records[drawn])
        return cls(n, stands_for, thin, even)


@dataclass(frozen=True, eq=False, repr=False)
class CellTable:
    """The occupied cells of a sample: codes of the keys, records, sums of weights.

    Cells are distinct and in lexicographic order of their codes, first key slowest;
    cells of `riskcore.tabulate` keep their order.

    Attributes
    ----------
    codes : tuple of int64 ndarray, each shape (K,)
        For each key the code of each cell; -1 stands for any value, in tables that are
        given to a fitted model.
    levels : tuple of int
        Number of categories of each key, including those that do not occur.
    records : int64 ndarray, shape (K,)
        f_k, at least 1; float64 where missing values count in part.
    weight_sum : float64 ndarray, shape (K,)
        W_k, the sum of the weights of the cell's records.
    keys : tuple of hashable
        Names of the keys; their positions if there are no names.
    categories : tuple of ndarray or None
        For each key the values that its codes stand for.
    certain : bool
        Whether each record is certainly in the cell that counts it; False if some lack
        keys.
    clusters : Clusters or None
        The clusters of the sample; None if records were drawn one by one, and for a
        part of the cells.
    rows : Rows or None
        The rows that were counted, with the weights of their records or the squares.
    matching : Matching or None
        The records that match each cell, where numbers match within a tolerance.
    drawn : Drawn or None
        What the cells stand for, if they were drawn from those of a larger file.

    Examples
    --------
    >>> table = CellTable.of([[0, 1, 0, 0], [2, 0, 2, 1]])
    >>> table
    <CellTable: 4 records in 3 cells of 2 keys, 2 sample unique>
    >>> table.records, table.levels
    (array([1, 2, 1]), (2, 3))
    >>> len(table.some(table.unique)), table.with_records(table.records * 2).n
    (2, 8)
    >>> other = CellTable.of([[0, 1], [2, 1]], levels=(2, 3))
    >>> other.coded_as(table).matches_in(table)
    array([2, 0])
    >>> other.known_in(table)
    array([ True,  True])
    >>> table.some(table.codes[0] == 0).places_in(table)
    array([0, 1])
    >>> other.means_in(table, np.array([3.0, 5.0, 4.0])), table.scaled(2.0).weight_sum
    (array([ 5., nan]), array([2., 4., 2.]))
    >>> table.range_in(table, np.array([3, 5, 4]))
    (array([3, 5, 4]), array([3, 5, 4]))
    >>> [(keys, len(cells)) for keys, cells in table.patterns()]
    [((0, 1), 3)]
    >>> from riskcore import tabulate
    >>> cells = tabulate({"a": [1, 1, 2], "b": [5, 6, 5]}, ["a", "b"])
    >>> of_a = np.array([0, 1])
    >>> CellTable.of_margins(cells, [of_a, None], of_a + 1, of_a + 1.0).codes
    (array([0, 1]), array([-1, -1]))
    >>> drawn = SampleDesign.of_arrays(["a", "a", "b", "b"], None, 4)
    >>> table.clustered(np.array([1, 2, 1, 0]), drawn).clusters
    <Clusters: 2 clusters>
    >>> ages = CellTable.of({"age": [30, 31, 40]}, ["age"], tolerance={"age": 2})
    >>> ages.frequency, ages.frequency_weight, ages.unique
    (array([2, 2, 1]), array([2., 2., 1.]), array([False, False,  True]))
    """

    codes: tuple[Ints, ...]
    levels: tuple[int, ...]
    records: Ints
    weight_sum: Floats
    keys: tuple[Hashable, ...]
    categories: tuple[NDArray[Any], ...] | None = None
    certain: bool = True
    clusters: Clusters | None = None
    rows: Rows | None = None
    matching: Matching | None = None
    drawn: Drawn | None = None

    @classmethod
    def of(
        cls,
        data: Any,
        keys: Iterable[Hashable] | None = None,
        *,
        weight: Hashable | None = None,
        missing: str = "refuse",
        levels: Sequence[int] | None = None,
        frequency: ArrayLike | None = None,
        weight_sum: ArrayLike | None = None,
        any_value: bool = False,
        cluster: Any = None,
        strata: Any = None,
        tolerance: Mapping[Hashable, float | str] | None = None,
    ) -> CellTable:
        """Return the cells of records, of a tabulation, or of codes.

        Parameters
        ----------
        data : CellTable, Cells, table or sequence of array_like of int
            A table, which is returned; a result of `riskcore.tabulate`; with ``keys``
            anything that `riskcore.tabulate` takes; or one array of codes from 0 on for
            each key, of the records or of the cells.
        keys : iterable of hashable, optional
            The key variables, for data to be tabulated.
        weight, missing
            As for `riskcore.tabulate`, for data to be tabulated; ``missing`` is
            "refuse" or "category".
        levels : sequence of int, optional
            With codes, for each key a number above all its codes; by default the
            smallest.
        frequency : array_like of int, optional
            With codes, the number of records of each row; by default 1.
        weight_sum : array_like, optional
            With codes, the sum of the weights of each row's records; by default
            ``frequency``. The records of a row are taken to have one weight.
        any_value : bool
            Whether missing keys of a tabulation may match any value. Such cells can be
            given to a fitted model; a model cannot be fitted to them.
        cluster : hashable or array_like, optional
            The primary sampling unit, household or other group that the records were
            drawn in. With ``keys`` the name of a column; with codes, or a result of
            `riskcore.tabulate`, an array with the cluster of each row.
        strata : iterable of hashable, or array_like, optional
            The strata in which clusters were drawn: names of columns, or an array.
        tolerance : mapping of key to float or str, optional
            As for `riskcore.tabulate`, for data to be tabulated.

        Returns
        -------
        CellTable

        Raises
        ------
        KeyError, OSError
            As `riskcore.tabulate`.
        TypeError
            As `riskcore.tabulate`; or if codes or frequencies are not integers.
        ValueError
            As `riskcore.tabulate`; or if missing values match any value, codes are out
            of range or differ in length, there are no records, or sums of weights are
            negative, infinite or all 0. If clusters or strata are missing for some
            records, all records are in one cluster, a cluster has records in several
            strata, or strata are given without clusters or clusters with a `CellTable`.
            If a tolerance is given for cells that are counted.
        """
        if cluster is None and strata is not None:
            raise ValueError(STRATA_ALONE)
        if tolerance is not None and keys is None:
            raise ValueError(
                "tolerance: it is of named keys; give keys and the records, or a "
                "tabulation with a tolerance"
            )
        if isinstance(data, cls):
            if cluster is not None:
                raise ValueError("cluster: the cells are counted; give the records")
            return data
        if isinstance(data, Cells):
            table = cls._of_cells(data, any_value=any_value)
            if cluster is None:
                return table
            rows = data.inverse
            return table.clustered(
                rows, SampleDesign.of_arrays(cluster, strata, len(rows))
            )
        if keys is not None:
            arguments.one_of("missing", missing, ("refuse", "category"))
            cells, design = tabulate_design(
                data,
                keys,
                weight,
                missing,
                cluster=cluster,
                strata=strata,
                tolerance=tolerance,
            )
            table = cls._of_cells(cells)
            return table if design is None else table.clustered(cells.inverse, design)
        if not isinstance(data, Sequence) or isinstance(data, str | bytes):
            raise TypeError(
                "keys: name the key variables; without keys, data must be the cells of "
                f"riskcore.tabulate or arrays of codes, not {arguments.shown(data)}"
            )
        design = None
        if cluster is not None:
            n = len(np.asarray(data[0]))
            design = SampleDesign.of_arrays(cluster, strata, n)
        return cls._of_codes(data, levels, frequency, weight_sum, design)

    @classmethod
    def _of_cells(cls, cells: Cells, *, any_value: bool = False) -> CellTable:
        codes = [np.asarray(column) for column in cells.codes]
        if cells.windows is None and cells.shared and not any_value:
            raise ValueError(
                f"missing={cells.missing!r}: a model needs each record in one cell; "
                "give missing='category', or leave out records "
                "with missing keys"
            )
        if cells.missing not in WILDCARDS or cells.windows is not None:
            table = cls._of_values(
                codes, cells.categories, cells.records, cells.weight_sum, cells.keys
            )
        else:
            table = cls.of_margins(
                cells, codes, cells.sample_frequency, cells.population_frequency
            )
        single = cells.windows is not None or not cells.shared
        rows = Rows.of(cells, cells.rows) if single else None
        matching = None
        if cells.windows is not None:
            f, F = cells.sample_frequency, cells.population_frequency
            matching = Matching(cells.windows, f.astype(np.int64), F)
        return replace(table, rows=rows, matching=matching)

    @classmethod
    def of_complete(cls, cells: Cells, design: SampleDesign | None = None) -> CellTable:
        """Return the cells of the records that have all keys, counted by themselves.

        Parameters
        ----------
        cells : Cells
            A tabulation in which missing keys match any value.
        design : SampleDesign, optional
            The clusters and strata of all records.

        Returns
        -------
        CellTable

        Raises
        ------
        ValueError
            If no record has all keys.

        Examples
        --------
        >>> from riskcore import tabulate
        >>> cells = tabulate({"a": [1, 1, None], "b": [2, 2, 2]}, ["a", "b"])
        >>> CellTable.of_complete(cells).records
        array([2])
        """
        table = cls.of_margins(cells, cells.codes, cells.records, cells.weight_sum)
        whole = table.complete
        if not whole.any():
            raise ValueError("no record has all keys")
        place = np.full(len(cells), -1)
        place[whole] = np.arange(np.count_nonzero(whole))
        of = place[cells.rows]
        complete_cells = replace(table.some(whole), rows=Rows.of(cells, of))
        if design is None:
            return complete_cells
        complete = np.flatnonzero(of >= 0)
        return complete_cells.clustered(of[complete], design.some(complete))

    @classmethod
    def of_margins(
        cls,
        cells: Cells,
        codes: Sequence[NDArray[Any] | None],
        frequency: NDArray[Any],
        weight_sum: Floats,
    ) -> CellTable:
        """Return combinations of some of the keys of a tabulation.

        Parameters
        ----------
        cells : Cells
            The tabulation.
        codes : sequence of ndarray or None
            For each key the codes of the combinations, each shape (K,), as in
            ``cells.codes``; None stands for any value, as do missing values that match
            any value.
        frequency : ndarray, shape (K,)
            f of each combination.
        weight_sum : float64 ndarray, shape (K,)
            F of each combination.

        Returns
        -------
        CellTable
        """
        columns, categories = [], []
        for column, labels in zip(codes, cells.categories, strict=True):
            code = np.full(len(frequency), ANY) if column is None else column
            code = code.astype(np.int64)
            if cells.missing in WILDCARDS and labels[-1] is None:
                labels = labels[:-1]
                code[code == len(labels)] = ANY
            columns.append(code)
            categories.append(labels)
        table = cls._of_values(columns, categories, frequency, weight_sum, cells.keys)
        certain = cells.missing not in WILDCARDS or not any(cells.missing_values)
        return replace(table, certain=certain)

    @classmethod
    def _of_values(
        cls,
        codes: Sequence[NDArray[Any]],
        categories: Sequence[NDArray[Any]],
        records: NDArray[Any],
        weight_sum: Floats,
        keys: tuple[Hashable, ...],
    ) -> CellTable:
        return cls(
            tuple(column.astype(np.int64) for column in codes),
            tuple(len(labels) for labels in categories),
            records,
            weight_sum,
            keys,
            tuple(categories),
        )

    @classmethod
    def _of_codes(
        cls,
        codes: Sequence[ArrayLike],
        levels: Sequence[int] | None,
        frequency: ArrayLike | None,
        weight_sum: ArrayLike | None,
        design: SampleDesign | None,
    ) -> CellTable:
        columns = as_codes(codes, levels)
        records = as_frequency(frequency, len(columns[0]))
        weights = np.asarray(records if weight_sum is None else weight_sum, np.float64)
        if weights.shape != records.shape:
            raise ValueError(
                f"weight_sum: shape {weights.shape}, but {len(records)} cells"
            )
        seen = records > 0
        columns, records = [column[seen] for column in columns], records[seen]
        weights = weights[seen]
        bad = ~((weights >= 0.0) & (weights < math.inf)) | (not weights.any())
        arguments.refuse("weight_sum", bad, "finite, from 0 on and some above")
        if levels is None:
            levels = [int(column.max()) + 1 for column in columns]
        counts = count(
            [column.astype(np.uint32) for column in columns], levels, weights
        )
        table = cls(
            tuple(np.asarray(column).astype(np.int64) for column in counts.codes),
            tuple(map(int, levels)),
            counts.of_groups(records).frequency,
            counts.weight_sum,
            tuple(range(len(columns))),
            rows=Rows(counts.inverse, weights / records, records),
        )
        if design is None:
            return table
        return table.clustered(counts.inverse, design.some(seen), records)

    def __len__(self) -> int:
        """Return the number of cells, K."""
        return len(self.records)

    @cached_property
    def n(self) -> int:
        """Number of records, of the file if cells were drawn."""
        return int(self.records.sum()) if self.drawn is None else self.drawn.n

    @property
    def stands_for(self) -> Ints:
        """Records of the file that each cell stands for, its own if all are here."""
        return self.records if self.drawn is None else self.drawn.stands_for

    @property
    def fitted(self) -> Ints:
        """Records of each cell by which probabilities are estimated, shape (K,)."""
        return self.records if self.drawn is None else self.drawn.records

    @property
    def people(self) -> float:
        """The sum of all weights."""
        weights = self.weight_sum
        if self.drawn is not None:
            weights = weights / self.records * self.stands_for
        return math.fsum(weights.tolist())

    @property
    def frequency(self) -> Ints:
        """Records that match each cell, shape (K,); without a tolerance its own."""
        return self.records if self.matching is None else self.matching.records

    @property
    def frequency_weight(self) -> Floats:
        """The sum of the weights of the records that match each cell, shape (K,)."""
        return self.weight_sum if self.matching is None else self.matching.weight_sum

    @cached_property
    def unique(self) -> NDArray[np.bool_]:
        """Mask of the sample uniques, shape (K,)."""
        return np.equal(self.frequency, 1)

    @property
    def complete(self) -> NDArray[np.bool_]:
        """Mask of the cells that have a value of every key, shape (K,)."""
        mask: NDArray[np.bool_] = np.all([x != ANY for x in self.codes], axis=0)
        return mask

    @cached_property
    def starts(self) -> tuple[int, ...]:
        """Start of each key's categories in one row of all categories, and the end."""
        return tuple(np.cumsum([0, *self.levels]).tolist())

    @cached_property
    def positions(self) -> Positions:
        """Positions in one row of all categories, (K, keys); its end is any value."""
        columns = zip(self.codes, self.starts[:-1], strict=True)
        moved = [
            np.where(column == ANY, self.starts[-1], column + start).astype(np.int32)
            for column, start in columns
        ]
        return np.ascontiguousarray(np.stack(moved, axis=1))

    @cached_property
    def counts(self) -> Floats:
        """Records of each category of each key, in one row, shape (starts[-1],)."""
        pairs = zip(self.codes, self.levels, strict=True)
        counts_by_key = [
            np.bincount(column, self.stands_for, size) for column, size in pairs
        ]
        return np.concatenate(counts_by_key)

    @cached_property
    def weight_spread(self) -> Floats | None:
        """The sum of (w f/W - 1)^2 over the records of each cell, in any order.

        None if neither the weights w of records nor their squares are known.
        """
        if self.rows is None:
            return None
        cell, weight, records, squares, scale = self.rows
        if weight is not None:
            squares = Squares.of_rows(weight, records)
        if squares is None:
            return None
        return squares.spread(cell, self.records, self.weight_sum / scale)

    def scaled(self, factor: float) -> CellTable:
        """Return the same cells with all weights multiplied.

        Parameters
        ----------
        factor : float

        Returns
        -------
        CellTable
        """
        rows, near = self.rows, self.matching
        rows = rows and rows._replace(scale=rows.scale * factor)
        near = near and near._replace(weight_sum=near.weight_sum * factor)
        weight_sum = self.weight_sum * factor
        return replace(self, weight_sum=weight_sum, rows=rows, matching=near)

    def with_records(self, records: Ints) -> CellTable:
        """Return the same cells with other numbers of records, which may be 0.

        Parameters
        ----------
        records : int64 ndarray, shape (K,)

        Returns
        -------
        CellTable
        """
        return replace(
            self, records=records, clusters=None, rows=None, matching=None, drawn=None
        )

    def clustered(
        self, cell: NDArray[Any], design: SampleDesign, records: Ints | None = None
    ) -> CellTable:
        """Return the same cells with the clusters that their records were drawn in.

        Parameters
        ----------
        cell : integer ndarray, shape (n,)
            The cell of each row.
        design : SampleDesign
            The cluster and the stratum of each row.
        records : int64 ndarray, shape (n,), optional
            The number of records of each row; by default 1.

        Returns
        -------
        CellTable
        """
        row_records = np.ones(len(cell), np.int64) if records is None else records
        return replace(self, clusters=Clusters.of(cell, row_records, design))

    def some(self, mask: NDArray[Any]) -> CellTable:
        """Return some of the cells.

        Parameters
        ----------
        mask : ndarray of bool, shape (K,), or of positions

        Returns
        -------
        CellTable
        """
        if (near := self.matching) is not None:
            near = Matching(near.windows, near.records[mask], near.weight_sum[mask])
        return replace(
            self,
            codes=tuple(column[mask] for column in self.codes),
            records=self.records[mask],
            weight_sum=self.weight_sum[mask],
            clusters=None,
            rows=None,
            matching=near,
            drawn=None,
        )

    def coded_as(self, other: CellTable, *, any_value: bool = False) -> CellTable:
        """Return the cells with the codes of another table's categories.

        Parameters
        ----------
        other : CellTable
            The sample of a model.
        any_value : bool
            Whether a category that does not occur in the other table becomes any value;
            otherwise it is refused.

        Returns
        -------
        CellTable

        Raises
        ------
        ValueError
            If the keys differ, or a category does not occur in the other table.
        """
        columns = self._columns_of(other)
        if any_value:
            columns = tuple(np.maximum(column, ANY) for column in columns)
        for key, column in zip(self.keys, columns, strict=True):
            bad = int(np.count_nonzero(column == _UNKNOWN))
            if bad:
                raise ValueError(
                    f"key {key!r}: {bad} of {len(self)} cells have categories that do "
                    "not occur in the sample of the model; fit it to data that have "
                    "them, or recode"
                )
        levels, categories = other.levels, other.categories
        return replace(self, codes=columns, levels=levels, categories=categories)

    def matches_in(self, other: CellTable) -> Ints:
        """Return the number of records of another table that match each cell.

        Parameters
        ----------
        other : CellTable

        Returns
        -------
        int64 ndarray, shape (K,)
            A cell with any value of a key, in either table, matches those that agree in
            the other keys.

        Raises
        ------
        ValueError
            If the keys differ.
        """
        matches: Ints = self._sums_in(other, other.records)[0].astype(np.int64)
        return matches

    def means_in(self, other: CellTable, values: Floats) -> Floats:
        """Return the mean of a value over the matching records of another table.

        Parameters
        ----------
        other : CellTable
        values : float64 ndarray, shape of ``other``
            The value of the records of each cell.

        Returns
        -------
        float64 ndarray, shape (K,)
            nan where no record matches.

        Raises
        ------
        ValueError
            If the keys differ.
        """
        records = other.records
        matches, sums = self._sums_in(other, records, records * values)
        mean: Floats = np.full(len(self), math.nan)
        np.divide(sums, matches, out=mean, where=matches > 0)
        return mean

    def _sums_in(self, other: CellTable, *values: NDArray[Any]) -> Floats:
        """Return the sums of values over the matching cells of another table."""
        sums = np.zeros((len(values), len(self)))
        for cells, there, theirs, mine in self._matching(other):
            size = int(max(theirs.max(initial=0), mine.max(initial=0))) + 1
            for total, value in zip(sums, values, strict=True):
                total[cells] += np.bincount(theirs, value[there], size)[mine]
        return sums

    def range_in(self, other: CellTable, values: Ints) -> tuple[Ints, Ints]:
        """Return the least and largest value of the matching cells of another table.

        Parameters
        ----------
        other : CellTable
        values : int64 ndarray, shape of ``other``

        Returns
        -------
        least, most : int64 ndarray, each shape (K,)
            The least is above the largest where no cell matches.

        Raises
        ------
        ValueError
            If the keys differ.
        """
        kind = np.iinfo(np.int64)
        least = np.full(len(self), kind.max)
        most = np.full(len(self), kind.min)
        for cells, there, theirs, mine in self._matching(other):
            size = int(max(theirs.max(initial=0), mine.max(initial=0))) + 1
            low, high = np.full(size, kind.max), np.full(size, kind.min)
            np.minimum.at(low, theirs, values[there])
            np.maximum.at(high, theirs, values[there])
            least[cells] = np.minimum(least[cells], low[mine])
            most[cells] = np.maximum(most[cells], high[mine])
        return least, most

    def _matching(self, other: CellTable) -> Iterator[tuple[Any, Any, Any, Any]]:
        """Yield matching cells here and there, and their numbers, there and here."""
        # Cells match where the numbers agree in all keys that both have a value of.
        columns = self._columns_of(other)
        pairs = product(self.patterns(), [*other.patterns()])
        for (mine_known, cells), (known_there, there) in pairs:
            keys = [key for key in mine_known if key in known_there]
            if not keys:
                yield cells, there, np.zeros_like(there), np.zeros_like(cells)
                continue
            mine = [columns[key][cells] for key in keys]
            mask = np.logical_and.reduce([column >= 0 for column in mine])
            alike = zip(keys, mine, strict=True)
            codes = [(other.codes[key][there], column[mask]) for key, column in alike]
            both = [np.concatenate(pair).astype(np.uint32) for pair in codes]
            cell = count(both, [other.levels[key] for key in keys]).inverse
            yield cells[mask], there, cell[: len(there)], cell[len(there) :]

    def known_in(self, other: CellTable) -> NDArray[np.bool_]:
        """Return whether another table has all categories of each cell.

        Parameters
        ----------
        other : CellTable

        Returns
        -------
        ndarray of bool, shape (K,)

        Raises
        ------
        ValueError
            If the keys differ.
        """
        columns = self._columns_of(other)
        mask: NDArray[np.bool_] = np.logical_and.reduce(
            [column != _UNKNOWN for column in columns]
        )
        return mask

    def places_in(self, other: CellTable) -> Ints:
        """Return the position of each cell in another table.

        Parameters
        ----------
        other : CellTable

        Returns
        -------
        int64 ndarray, shape (K,)
            -1 for cells that are not in the other table or match any value of a key.

        Raises
        ------
        ValueError
            If the keys differ.
        """
        columns = self._columns_of(other)
        places = np.full(len(self), -1)
        whole = np.logical_and.reduce([column >= 0 for column in columns])
        if not whole.any():
            return places
        there = np.flatnonzero(other.complete)
        both = [
            np.concatenate([theirs[there], mine[whole]]).astype(np.uint32)
            for theirs, mine in zip(other.codes, columns, strict=True)
        ]
        cell = count(both, other.levels).inverse
        place = np.full(int(cell.max()) + 1, -1)
        place[cell[: len(there)]] = there
        places[whole] = place[cell[len(there) :]]
        return places

    def _columns_of(self, other: CellTable) -> tuple[Ints, ...]:
        """Return the codes of another table for the same values."""
        if self.keys != other.keys or (self.categories is None) != (
            other.categories is None
        ):
            raise ValueError(
                f"cells: the model has the keys {_listed(other.keys)}, the cells have "
                f"{_listed(self.keys)}"
            )
        if self.categories is None or other.categories is None:
            pairs = zip(self.codes, other.levels, strict=True)
            return tuple(np.where(code < size, code, _UNKNOWN) for code, size in pairs)
        columns = []
        for codes, mine, theirs in zip(
            self.codes, self.categories, other.categories, strict=True
        ):
            if mine is theirs or np.array_equal(mine, theirs):
                columns.append(codes)
                continue
            place: dict[Any, int] = {BY_DESIGN: ANY}
            others = comparable_beside(theirs, mine)
            place |= {value: code for code, value in enumerate(others)}
            own = comparable_beside(mine, theirs)
            values = [place.get(value, _UNKNOWN) for value in own]
            columns.append(np.array([*values, ANY])[codes])
        return tuple(columns)

    def patterns(self) -> Iterator[tuple[tuple[int, ...], NDArray[np.intp]]]:
        """Yield the sets of keys that have values, and the positions of their cells.

        Yields
        ------
        keys : tuple of int
            Positions of the keys, in rising order.
        cells : ndarray of intp
        """
        if not len(self):
            return
        indicators = [(column != ANY).view(np.uint8) for column in self.codes]
        kinds = count(indicators, [2] * len(indicators))
        for kind in range(len(kinds.frequency)):
            keys = [key for key, column in enumerate(kinds.codes) if column[kind]]
            yield tuple(keys), np.flatnonzero(kinds.inverse == kind)

    def __repr__(self) -> str:
        return (
            f"<CellTable: {counted(self.n, 'record')} in "
            f"{counted(len(self), 'cell')} of {counted(len(self.keys), 'key')}, "
            f"{int(self.unique.sum())} sample unique>"
        )


def error_of_draw(table: CellTable, values: Floats) -> float:
    """Return the standard error of a sum over records, as cells were drawn."""
    at = table.unique if len(values) < len(table) else slice(None)
    stands_for, own = table.stands_for[at], table.records[at]
    squares = stands_for * (stands_for - own) * values * values
    return math.sqrt(math.fsum(squares.tolist()))


def occurring(table: CellTable) -> list[int]:
    """Return the number of categories of each key that occur."""
    counts_by_key = np.split(table.counts, table.starts[1:-1])
    return [int(np.count_nonzero(counts)) for counts in counts_by_key]


def _listed(keys: Iterable[Hashable]) -> str:
    return ", ".join(map(str, keys))
