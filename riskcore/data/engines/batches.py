"""Records that come in batches of Arrow, counted as runs of numbers, which are merged.

Sums are whole numbers, so they depend neither on the number of the batches nor on their
order.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from riskcore.data.engines.base import (
    Compute,
    Engine,
    Numbers,
    Results,
    changed_meanwhile,
)
from riskcore.data.engines.counting import (
    LARGEST_SQUARED,
    RECORDS,
    Question,
    Weights,
    doubles,
    keys_of,
    weigh,
)
from riskcore.data.engines.runs import Runs
from riskcore.data.engines.sums import ExactSum
from riskcore.data.files.arrow import import_pyarrow


class Batches(Engine):
    """Records that can be read several times, batch by batch."""

    def __init__(self) -> None:
        self._labels: dict[Hashable, Any] = {}

    @property
    @abstractmethod
    def arrow_schema(self) -> Any:
        """The schema of Arrow with all columns."""

    @abstractmethod
    def read_batches(self, names: Sequence[Hashable] | None = None) -> Iterator[Any]:
        """Yield the records in batches of Arrow with the columns named, or all."""

    @abstractmethod
    def count_rows(self) -> int:
        """Return the number of records."""

    @cached_property
    def schema(self) -> Mapping[str, Any]:
        """The types of the columns."""
        import narwhals.stable.v2 as nw

        empty = self.arrow_schema.empty_table()
        return dict(nw.from_native(empty, eager_only=True).schema)

    def weigh(self, weight: Hashable | None, keys: Sequence[Hashable] = ()) -> Weights:
        """Return the facts about the weights, and how many records lack each key."""
        names = Question(keys, weight).columns
        if not names:
            return Weights(self.count_rows())
        new, squares = _Labels(keys), ExactSum()

        def weigh_batch(frame: Any) -> Weights:
            new.add(frame)
            found = weigh(frame, weight, keys)
            if weight is not None and not any(found.faults.values()):
                w = np.minimum(frame.get_column(weight).to_numpy(), LARGEST_SQUARED)
                squares.add(w * w)
            return found

        found = Weights.of_parts(map(weigh_batch, self._frames(names, weight)))
        self._labels.update(new.labels)
        return replace(found, squares=squares.rounded())

    def cells(self, question: Question) -> Any:
        """Return the cells of all batches together."""
        import narwhals.stable.v2 as nw

        parts = list(self.batches(question))
        return parts[0] if len(parts) == 1 else nw.concat(parts)

    def batches(self, question: Question) -> Iterator[Any]:
        """Yield the cells in eager frames, in the order of their codes."""
        import narwhals.stable.v2 as nw

        labels = self._labels_of(question.keys)
        runs = self.runs(question, labels)
        pyarrow = import_pyarrow()
        for codes, rows in runs.finished():
            pairs = zip(labels, runs.places(codes), strict=True)
            columns = [each.take(pyarrow.array(places)) for each, places in pairs]
            columns += [pyarrow.array(column) for column in rows.T.copy()]
            names = [*question.key_columns, RECORDS, *question.sum_columns]
            table = pyarrow.Table.from_arrays(columns, names)
            yield nw.from_native(table, eager_only=True)

    def numbers(self, question: Question) -> Iterator[Numbers]:
        """Yield records and sums of weights of the cells."""
        runs = self.runs(question, self._labels_of(question.keys))
        for _, rows in runs.finished():
            yield _numbers_of(rows, question)

    def compute_results(self, question: Question, compute: Compute) -> Any:
        """Return a reader of batches, which counts when the first batch is read."""
        table = _CellTable(self, question, self._labels_of(question.keys))
        none = compute(np.zeros(0, np.int64), np.zeros(0))
        return self._reader(question, lambda keys: compute(*table.numbers(keys)), none)

    def join_results(self, question: Question, cells: Any, results: Results) -> Any:
        """Return a reader of the batches in their order, with results added."""
        labels = self._labels_of(question.keys)
        runs = Runs([len(each) for each in labels], 0)
        codes = runs.code(_places_of(cells, labels))
        order = np.argsort(codes)
        codes = codes[order]

        def results_of(keys: Any) -> Results:
            row = order[_rows(codes, runs.code(_places_of(keys, labels)))]
            return {name: values[row] for name, values in results.items()}

        none = {name: values[:0] for name, values in results.items()}
        return self._reader(question, results_of, none)

    def runs(self, question: Question, labels: Sequence[Any]) -> Runs:
        """Return the cells as runs of codes."""
        levels = [len(each) for each in labels]
        assert Runs.fits(levels)
        runs = Runs(levels, len(question.sum_columns))
        for frame in self._frames(question.columns, question.weight):
            keys = frame.select(*keys_of(frame, question.keys))
            runs.add(_places_of(keys, labels), _cut(frame, question))
        return runs

    def _labels_of(self, keys: Sequence[Hashable]) -> list[Any]:
        """Return the values of each key, null among them, as arrays of Arrow."""
        unknown = [key for key in keys if key not in self._labels]
        if unknown:
            new = _Labels(unknown)
            for frame in self._frames(unknown):
                new.add(frame)
            self._labels.update(new.labels)
        return [self._labels[key] for key in keys]

    def _reader(
        self, question: Question, results_of: Callable[[Any], Results], none: Results
    ) -> Any:
        """Return a reader of batches with the results that ``results_of`` gives."""
        pyarrow = import_pyarrow()
        schema = self.arrow_schema
        for name, values in none.items():
            schema = schema.append(pyarrow.field(name, pyarrow.array(values).type))

        def batches() -> Iterator[Any]:
            for batch in self.read_batches():
                table = pyarrow.Table.from_batches([batch])
                frame = _frame_of(table.select(list(question.keys)))
                results = results_of(frame.select(*keys_of(frame, question.keys)))
                arrays = [*batch.columns, *map(pyarrow.array, results.values())]
                yield pyarrow.RecordBatch.from_arrays(arrays, schema=schema)

        return pyarrow.RecordBatchReader.from_batches(schema, batches())

    def _frames(
        self, names: Sequence[Hashable], weight: Hashable | None = None
    ) -> Iterator[Any]:
        """Yield batches of some columns as narwhals frames, weights as doubles."""
        import narwhals.stable.v2 as nw

        pyarrow = import_pyarrow()
        names = list(dict.fromkeys(names))
        for batch in self.read_batches(names):
            if not batch.num_rows:
                continue
            table = pyarrow.Table.from_batches([batch])
            if weight is not None:
                i = table.schema.get_field_index(weight)
                series = nw.from_native(table.column(i), series_only=True)
                table = table.set_column(i, weight, [pyarrow.array(doubles(series))])
            yield _frame_of(table)
        pyarrow.default_memory_pool().release_unused()


class _Labels:
    """The values of keys, gathered batch by batch."""

    def __init__(self, keys: Sequence[Hashable]) -> None:
        self.keys = keys
        self.labels: dict[Hashable, Any] = {}

    def add(self, frame: Any) -> None:
        """Add the values of a batch."""
        pyarrow, pc = import_pyarrow(), import_pyarrow("compute")
        columns = frame.select(*keys_of(frame, self.keys)).iter_columns()
        for i, column in enumerate(columns):
            found = pc.unique(_whole_array(column))
            known = self.labels.get(self.keys[i])
            if known is not None:
                new = pc.is_in(found, value_set=known)
                found = pyarrow.concat_arrays([known, found.filter(pc.invert(new))])
            self.labels[self.keys[i]] = found


class _CellTable:
    """The records and sums of weights of all cells, counted when first asked."""

    def __init__(
        self, engine: Batches, question: Question, labels: Sequence[Any]
    ) -> None:
        self.engine, self.question, self.labels = engine, question, labels

    @cached_property
    def runs(self) -> Runs:
        """The cells, emptied into ``columns``."""
        return self.engine.runs(self.question, self.labels)

    @cached_property
    def columns(self) -> tuple[NDArray[Any], ...]:
        """Codes of the cells in ascending order, their records and sums of weights."""
        cells = self.runs.merged()
        columns = np.empty(cells, np.uint64), np.empty(cells, np.int64), np.empty(cells)
        start = 0
        for codes, rows in self.runs.finished():
            parts = (codes, *_numbers_of(rows, self.question))
            for column, part in zip(columns, parts, strict=True):
                column[start : start + len(codes)] = part
            start += len(codes)
        return columns

    def numbers(self, keys: Any) -> Numbers:
        """Return the numbers of the cells of records, given a frame of their keys."""
        codes, f, F = self.columns
        code = self.runs.code(_places_of(keys, self.labels))
        # In ascending order, neighbors are looked up in the same place.
        order = np.argsort(code)
        code = code[order]
        row = _rows(codes, code)
        found = np.empty(len(row), np.int64), np.empty(len(row))
        for each, of_cells in zip(found, (f, F), strict=True):
            each[order] = of_cells[row]
        return found


def _rows(codes: NDArray[np.uint64], code: NDArray[np.uint64]) -> NDArray[np.int64]:
    """Return the place of each code among codes in ascending order."""
    row: NDArray[np.int64] = np.searchsorted(codes, code)
    if (row == len(codes)).any() or (codes[row] != code).any():
        raise changed_meanwhile()
    return row


def _places_of(keys: Any, labels: Sequence[Any]) -> list[NDArray[np.int64]]:
    """Return the place of each value of a frame of keys among the labels."""
    compute, found = import_pyarrow("compute"), []
    for column, known in zip(keys.iter_columns(), labels, strict=True):
        places = compute.index_in(_whole_array(column), value_set=known).fill_null(-1)
        found.append(places.to_numpy(zero_copy_only=False).astype(np.int64))
        if (found[-1] < 0).any():
            raise changed_meanwhile()
    return found


def _cut(frame: Any, question: Question) -> list[NDArray[np.int64]]:
    """Return the pieces of the weights of a frame."""
    if question.weight is None:
        return []
    assert question.sums is not None
    name: Any = question.weight
    w = frame.get_column(name).to_numpy()
    return [piece.astype(np.int64) for piece in question.sums.cut(w)]


def _numbers_of(rows: NDArray[np.int64], question: Question) -> Numbers:
    """Return the records and sums of weights of cells, given their counters."""
    records = rows[:, 0].copy()
    if question.sums is None:
        return records, records.astype(np.float64)
    return records, question.sums.join(list(rows.T[1:]))


def _frame_of(table: Any) -> Any:
    """Return a table as a narwhals frame, its dictionaries decoded."""
    import narwhals.stable.v2 as nw

    for i, field in enumerate(table.schema):
        if import_pyarrow().types.is_dictionary(field.type):
            values = table.column(i).cast(field.type.value_type)
            table = table.set_column(i, field.name, values)
    return nw.from_native(table, eager_only=True)


def _whole_array(column: Any) -> Any:
    """Return a column of narwhals as one array of Arrow."""
    array = column.to_native()
    return array.combine_chunks() if hasattr(array, "combine_chunks") else array
