"""Data frames of Spark: executors count the cells and compute the results."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Sequence
from functools import partial, reduce
from importlib import import_module
from operator import and_
from typing import Any

from riskcore.data.engines import base
from riskcore.data.engines.base import Compute, changed_meanwhile
from riskcore.data.engines.counting import Question, frequencies
from riskcore.data.engines.protecting import Blank, Change, Changes, Lookup
from riskcore.data.files.arrow import import_pyarrow

# What Spark compares texts by if nothing else is said: letter by letter.
_BINARY = "UTF8_BINARY"


class Spark(base.Engine):
    """A data frame of Spark."""

    name = "Spark"
    packages = ("pyspark",)
    case_blind = True

    def select(self, names: Sequence[Any]) -> Any:
        """Return columns under the names c0, c1, ..."""
        columns = (
            self.column(self.native, name).alias(f"c{i}")
            for i, name in enumerate(names)
        )
        return self.native.select(*columns)

    def hashed(self, data: Any, keys: Sequence[Any]) -> Any:
        """Return rows with a number of their keys added."""
        functions = import_module("pyspark.sql.functions")
        number = functions.pmod(functions.xxhash64(*keys), functions.lit(base.PRIME))
        return data.withColumn(base.HASH, number)

    def column(self, data: Any, name: Any) -> Any:
        """Return a column; text is compared by its bytes, not its collation."""
        column = data[_ticked(name)]
        kind = self.native.schema[name].dataType
        if getattr(kind, "collation", _BINARY) == _BINARY:
            return column
        return import_module("pyspark.sql.functions").collate(column, _BINARY)

    def send(self, table: Any) -> Any:
        """Return an eager narwhals frame as a data frame of the same session."""
        return self.native.sparkSession.createDataFrame(table.to_arrow())

    def shuffled(self, data: Any) -> Any:
        """Return records in an order that is random, and new each time."""
        return data.orderBy(import_module("pyspark.sql.functions").rand())

    def join(self, data: Any, lookup: Lookup) -> Any:
        """Return records with the columns added to them, in an order of Spark's."""
        functions = import_module("pyspark.sql.functions")
        table = lookup.table
        if lookup.whole:
            table = table.withColumn("riskcore_known", functions.lit(True))
        on = []
        for key, name in zip(lookup.keys, lookup.key_columns, strict=True):
            column = self.column(data, key)
            if self.is_float(key):
                column = functions.when(~functions.isnan(column), column)
            on.append(column.eqNullSafe(table[name]))
        added_columns = [table[name] for name in lookup.added]
        if lookup.whole:
            error = functions.raise_error(functions.lit(str(changed_meanwhile())))
            missing = table["riskcore_known"].isNull()
            added_columns = [
                functions.when(missing, error).otherwise(column).alias(name)
                for column, name in zip(added_columns, lookup.added, strict=True)
            ]
        return data.join(table, reduce(and_, on), "left").select(
            *(data[_ticked(name)] for name in data.columns), *added_columns
        )

    def collect(self, asked: Any) -> Iterator[Any]:
        """Yield the rows in eager frames, which the executors send packed."""
        packed = _in_arrow(asked.to_native(), _packed, "rows binary")
        # One partition is computed while the driver takes the one before.
        for row in packed.toLocalIterator(prefetchPartitions=True):
            yield from base.frames_of(import_module("pyarrow.ipc").open_stream(row[0]))

    def compute_results(self, question: Question, compute: Compute) -> Any:
        """Return the data with results, which executors compute to the same bits."""
        types = import_module("pyspark.sql.types")
        kinds = {"i": types.LongType(), "f": types.DoubleType()}
        added = base.result_types(compute, kinds)
        cells = self.lazy_cells(question).to_native()
        schema = type(cells.schema)(
            [cells.schema[name] for name in question.key_columns]
        )
        for name, kind in added.items():
            schema = schema.add(name, kind)
        table = _in_arrow(cells, partial(_results, question, compute), schema)
        lookup = Lookup(question.keys, table, list(added), whole=True)
        return self.join(self.native, lookup)

    def rewrite(self, data: Any, changes: Changes, blank: Blank) -> Any:
        """Return data with columns recoded and blanked; the lookups are dropped."""
        functions = import_module("pyspark.sql.functions")
        columns = []
        for name in self.schema:
            change = changes.get(name, Change())
            column = data[_ticked(change.recoded or name)]
            if change.blanked is not None:
                flag = functions.coalesce(data[change.blanked], functions.lit(False))
                column = functions.when(~flag, column)
            columns.append(column.alias(name))
        return data.select(*columns)


def _ticked(name: Any) -> str:
    """Return a name as Spark writes it; a name with a dot is not read as a path."""
    return "`" + str(name).replace("`", "``") + "`"


def _in_arrow(data: Any, work: Any, schema: Any) -> Any:
    """Return the data frame that executors make of batches of another."""
    with warnings.catch_warnings():
        # Spark warns of a pandas newer than it knows, which is not used here.
        warnings.simplefilter("ignore", FutureWarning)
        return data.mapInArrow(work, schema)


def _packed(batches: Iterable[Any]) -> Iterator[Any]:
    """Yield many rows as one row of bytes; executors run this."""
    pyarrow = import_pyarrow()
    waiting: list[Any] = []

    def row() -> Any:
        sink = pyarrow.BufferOutputStream()
        table = pyarrow.Table.from_batches(waiting).combine_chunks()
        with pyarrow.ipc.new_stream(sink, table.schema) as stream:
            stream.write_table(table)
        column = pyarrow.array([sink.getvalue().to_pybytes()], pyarrow.binary())
        return pyarrow.RecordBatch.from_arrays([column], ["rows"])

    for batch in batches:
        waiting.append(batch)
        if sum(map(len, waiting)) >= base.BATCH:
            yield row()
            waiting.clear()
    if waiting:
        yield row()


def _results(
    question: Question, compute: Compute, batches: Iterable[Any]
) -> Iterator[Any]:
    """Yield keys and results of batches of cells; executors run this."""
    pyarrow = import_pyarrow()
    for cells in base.frames_of(batches):
        results = compute(*frequencies(cells, question))
        table = cells.to_native().select(question.key_columns)
        for name, values in results.items():
            table = table.append_column(name, pyarrow.array(values))
        yield from table.to_batches()
