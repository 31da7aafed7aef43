"""Data in pieces: partitions of dask, batches of a dataset of pyarrow.

Each piece is counted by itself and the cells of the pieces are put together. Sums are
whole numbers, so that neither the number nor the order of the pieces shows in them.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from riskcore.engines.counting import (
    Question,
    Weighed,
    count_cells,
    keys_of,
    merge_cells,
    weigh,
)
from riskcore.engines.door import Engine, Results
from riskcore.files.arrow import import_pyarrow

# Tables of cells that are put together at once.
_FAN_IN = 8
# Records in a batch of a dataset: what is kept of them is small beside the cells.
BATCH = 1 << 19


class Dask(Engine):
    """A data frame of dask."""

    name = "dask"

    def __init__(self, data: Any) -> None:
        self.data = data

    @cached_property
    def schema(self) -> Mapping[str, Any]:
        """The types of the columns."""
        import narwhals.stable.v2 as nw

        return dict(nw.from_native(self.data._meta, eager_only=True).schema)

    def weigh(self, weight: Hashable | None, keys: Sequence[Hashable] = ()) -> Weighed:
        """Return what is to be known of the weights, and how many lack which key."""
        names = [*keys, *([] if weight is None else [weight])]
        parts = [
            _dask().delayed(_weigh_pandas)(part, weight, keys)
            for part in self._columns(names)
        ]
        return Weighed.joined(_dask().compute(*parts))

    def cells(self, question: Question) -> Any:
        """Return the cells, counted where the partitions are."""
        import narwhals.stable.v2 as nw

        tables = [
            _dask().delayed(_count_pandas)(part, question)
            for part in self._columns(question.columns)
        ]
        while len(tables) > 1:
            tables = [
                _dask().delayed(_merge_pandas)(tables[i : i + _FAN_IN], question)
                for i in range(0, len(tables), _FAN_IN)
            ]
        (table,) = _dask().compute(*tables)
        return nw.from_native(table, eager_only=True)

    def joined(self, question: Question, cells: Any, results: Results) -> Any:
        """Return a data frame with results added, in its own order."""
        table = cells.to_native().assign(**results)
        meta = _join_pandas(self.data._meta, question, table.iloc[:0], list(results))
        return self.data.map_partitions(
            _join_pandas, question, table, list(results), meta=meta
        )

    def _columns(self, names: Sequence[Hashable]) -> list[Any]:
        """Return the partitions with some columns alone; with any one for none."""
        names = list(dict.fromkeys(names)) or list(self.schema)[:1]
        parts: list[Any] = self.data[names].to_delayed()
        return parts


def _dask() -> Any:
    return import_module("dask")


def _weigh_pandas(
    part: Any, weight: Hashable | None, keys: Sequence[Hashable]
) -> Weighed:
    import narwhals.stable.v2 as nw

    return weigh(nw.from_native(plain_pandas(part), eager_only=True), weight, keys)


def _count_pandas(part: Any, question: Question) -> Any:
    import narwhals.stable.v2 as nw

    frame = nw.from_native(plain_pandas(part), eager_only=True)
    with np.errstate(over="ignore"):  # found out when all are added
        return count_cells(frame, question).to_native()


def _merge_pandas(tables: Sequence[Any], question: Question) -> Any:
    import narwhals.stable.v2 as nw

    filled = [table for table in tables if len(table)] or list(tables[:1])
    frames = [nw.from_native(table, eager_only=True) for table in filled]
    with np.errstate(over="ignore"):
        return merge_cells(frames, question).to_native()


def _join_pandas(
    part: Any, question: Question, table: Any, results: Sequence[str]
) -> Any:
    """Add results to a partition: pandas lets null match null."""
    import narwhals.stable.v2 as nw

    frame = nw.from_native(plain_pandas(part[list(question.keys)]), eager_only=True)
    keys = frame.select(*keys_of(frame, question.keys)).to_native()
    found = keys.merge(table, how="left", on=question.key_columns)
    # In the order of the partition: in its index values may occur twice.
    added = found[list(results)].set_index(part.index)
    return import_module("pandas").concat([part, added], axis=1)


def plain_pandas(part: Any) -> Any:
    """Return a partition with categories as the values they stand for.

    Those of another partition may be others, or in another order.
    """
    categories = {
        name: kind.categories.dtype
        for name, kind in part.dtypes.items()
        if kind.name == "category"
    }
    return part.astype(categories) if categories else part


class ArrowDataset(Engine):
    """A dataset of pyarrow: files, or tables in memory."""

    name = "a dataset of pyarrow"

    def __init__(self, data: Any) -> None:
        self.data = data

    @cached_property
    def schema(self) -> Mapping[str, Any]:
        """The types of the columns."""
        import narwhals.stable.v2 as nw

        empty = self.data.schema.empty_table()
        return dict(nw.from_native(empty, eager_only=True).schema)

    def weigh(self, weight: Hashable | None, keys: Sequence[Hashable] = ()) -> Weighed:
        """Return what is to be known of the weights, and how many lack which key."""
        names = [*keys, *([] if weight is None else [weight])]
        if not names:
            return Weighed(self.data.count_rows())
        frames = self._frames(names)
        return Weighed.joined(weigh(frame, weight, keys) for frame in frames)

    def cells(self, question: Question) -> Any:
        """Return the cells: those of a batch are added to those before it."""
        tables: list[Any] = []
        for frame in self._frames(question.columns):
            tables.append(count_cells(frame, question))
            if len(tables) > 1 and sum(map(len, tables[1:])) > len(tables[0]):
                tables = [merge_cells(tables, question)]
        return merge_cells(tables, question)

    def joined(self, question: Question, cells: Any, results: Results) -> Any:
        """Return a reader of batches with results added, in the dataset's order."""
        pyarrow = import_pyarrow()
        numbering = Numbering([cells.get_column(name) for name in question.key_columns])
        columns = {name: pyarrow.array(values) for name, values in results.items()}
        schema = self.data.schema
        for name, values in columns.items():
            schema = schema.append(pyarrow.field(name, values.type))

        def batches() -> Iterator[Any]:
            for batch in self.data.to_batches(batch_size=BATCH):
                table = pyarrow.Table.from_batches([batch])
                frame = frame_of(table.select(list(question.keys)))
                keys = frame.select(*keys_of(frame, question.keys))
                rows = numbering.of(map(keys.get_column, question.key_columns))
                if (rows < 0).any():
                    raise ValueError("the dataset has changed since it was counted")
                at = pyarrow.array(rows)
                arrays = [*batch.columns, *(one.take(at) for one in columns.values())]
                yield pyarrow.RecordBatch.from_arrays(arrays, schema=schema)

        return pyarrow.RecordBatchReader.from_batches(schema, batches())

    def _frames(self, names: Sequence[Hashable]) -> Iterator[Any]:
        """Yield the batches with some columns, at least one, as narwhals frames."""
        pyarrow = import_pyarrow()
        names = list(dict.fromkeys(names))
        scanner = self.data.scanner(columns=names, batch_size=BATCH)
        for batch in scanner.to_batches():
            if batch.num_rows:
                yield frame_of(pyarrow.Table.from_batches([batch]))


def frame_of(table: Any) -> Any:
    """Return a table as a narwhals frame, dictionaries as the values they stand for."""
    import narwhals.stable.v2 as nw

    for i, field in enumerate(table.schema):
        value_type = getattr(field.type, "value_type", None)
        if value_type is not None and hasattr(field.type, "index_type"):
            table = table.set_column(i, field.name, table.column(i).cast(value_type))
    return nw.from_native(table, eager_only=True)


class Numbering:
    """The row of each combination of keys in a table of cells.

    Key by key: the number of the keys before, and the place of this key's value, make
    a number, and those that occur are numbered anew.
    """

    def __init__(self, columns: Sequence[Any]) -> None:
        pc = import_pyarrow("compute")
        self.labels = [pc.unique(whole(column)) for column in columns]
        self.pairs: list[NDArray[np.int64]] = []
        number = np.zeros(len(columns[0]), np.int64)
        for column, labels in zip(columns, self.labels, strict=True):
            pair = number * len(labels) + _places(column, labels)
            distinct, number = np.unique(pair, return_inverse=True)
            self.pairs.append(distinct)
        self.rows = np.empty(len(number), np.int64)
        self.rows[number] = np.arange(len(number))

    def of(self, columns: Iterable[Any]) -> NDArray[np.int64]:
        """Return the row of the cell of each record, -1 where there is none."""
        number: Any = 0
        known: Any = True
        for column, labels, pairs in zip(columns, self.labels, self.pairs, strict=True):
            place = _places(column, labels)
            pair = number * len(labels) + place
            number = np.minimum(np.searchsorted(pairs, pair), len(pairs) - 1)
            known &= (place >= 0) & (pairs[number] == pair)
        rows: NDArray[np.int64] = np.where(known, self.rows[number], -1)
        return rows


def whole(column: Any) -> Any:
    """Return a column of narwhals as one array of Arrow."""
    array = column.to_native()
    return array.combine_chunks() if hasattr(array, "combine_chunks") else array


def _places(column: Any, labels: Any) -> NDArray[np.int64]:
    """Return the place of each value among labels, -1 for none; null may have one."""
    places = (
        import_pyarrow().compute.index_in(whole(column), value_set=labels).fill_null(-1)
    )
    found: NDArray[np.int64] = places.to_numpy(zero_copy_only=False).astype(np.int64)
    return found
