"""Engines that take expressions: polars, duckdb, ibis and PySpark.

narwhals puts the question to each of them. Its join loses records without a key, for
null is unequal to null there; so each engine joins in its own words.
"""

from __future__ import annotations

import hashlib
import pickle
import warnings
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial, reduce
from importlib import import_module
from inspect import Parameter, Signature
from operator import and_
from typing import Any

import numpy as np

from riskcore.engines.counting import (
    RECORDS,
    Question,
    Weighed,
    count_cells,
    frequencies,
    weigh,
)
from riskcore.engines.door import Compute, Engine, Numbers, Results
from riskcore.files.arrow import import_pyarrow

# Packages of which something may be lazy; no other data are looked at.
_PACKAGES = {"polars", "duckdb", "_duckdb", "ibis", "pyspark", "narwhals"}
# Cells in a batch of Arrow.
BATCH = 1 << 18
# Frequencies and sums of no cells: what is computed of them has the results' types.
_NONE = np.zeros(0, np.int64), np.zeros(0)


def engine_of(data: Any) -> Engine | None:
    """Return the engine of a lazy frame; None for anything else."""
    if type(data).__module__.partition(".")[0] not in _PACKAGES:
        return None
    import narwhals.stable.v2 as nw

    frame = nw.from_native(data, pass_through=True)
    if not isinstance(frame, nw.LazyFrame):
        return None
    kinds: dict[str, type[Lazy]] = {
        "polars": Polars,
        "duckdb": DuckDB,
        "ibis": Ibis,
        "pyspark": Spark,
        "pyspark_connect": Spark,
    }
    name = frame.implementation.name.lower()
    if name not in kinds:
        raise TypeError(f"the data are a lazy frame of {name}: collect it first")
    return kinds[name](frame)


class Lazy(Engine):
    """A lazy frame, as narwhals wraps it."""

    def __init__(self, frame: Any) -> None:
        self.frame = frame
        self.native = frame.to_native()
        self._schema = dict(frame.collect_schema())

    @property
    def schema(self) -> Mapping[str, Any]:
        """The types of the columns."""
        return self._schema

    def weigh(self, weight: Hashable | None, keys: Sequence[Hashable] = ()) -> Weighed:
        """Return what is to be known of the weights, and how many lack which key."""
        return weigh(self.frame, weight, keys)

    def cells(self, question: Question) -> Any:
        """Return the cells, collected."""
        return self.lazy_cells(question).collect()

    def lazy_cells(self, question: Question) -> Any:
        """Return the cells as the engine will count them."""
        return count_cells(self.frame, question)

    def collected(self, asked: Any) -> Iterator[Any]:
        """Yield what a lazy narwhals frame gives, in eager frames."""
        yield asked.collect()

    def batches(self, question: Question) -> Iterator[Any]:
        """Yield the cells in eager frames."""
        return self.collected(self.lazy_cells(question))

    def numbers(self, question: Question) -> Iterator[Numbers]:
        """Yield records and sums of weights of the cells; the keys stay."""
        asked = self.lazy_cells(question).select(RECORDS, *question.sum_columns)
        for batch in self.collected(asked):
            yield frequencies(batch, question)

    def floats(self, question: Question) -> list[tuple[Any, str, bool]]:
        """Return the keys, their names in the cells, and whether they are floats."""
        return [
            (key, name, self._schema[key].is_float())
            for key, name in zip(question.keys, question.key_columns, strict=True)
        ]


class Polars(Lazy):
    """A lazy frame of polars."""

    name = "polars"

    def collected(self, asked: Any) -> Iterator[Any]:
        """Yield what a lazy frame gives; its streaming engine needs less memory."""
        yield asked.collect(engine="streaming")

    def computed(self, question: Question, compute: Compute) -> Any:
        """Return the same, lazy: the cells are counted again with the records."""
        import polars

        kinds = {"i": polars.Int64, "f": polars.Float64}
        added = {name: kinds[one.dtype.kind] for name, one in compute(*_NONE).items()}
        counted = [RECORDS, *question.sum_columns]
        table = self.lazy_cells(question).to_native()
        results = polars.struct(counted).map_batches(
            partial(_results_of_polars, question, compute),
            return_dtype=polars.Struct(added),
        )
        table = table.select(*question.key_columns, results.alias("results"))
        return self._joined(question, table.unnest("results"), list(added))

    def joined(self, question: Question, cells: Any, results: Results) -> Any:
        """Return the lazy frame with results added, in its own order."""
        import polars

        table = cells.to_native().with_columns(
            polars.Series(name, values) for name, values in results.items()
        )
        return self._joined(question, table.lazy(), list(results))

    def _joined(self, question: Question, table: Any, results: list[str]) -> Any:
        """Join a lazy frame of cells to the records."""
        import polars

        keys = [
            (polars.col(key).fill_nan(None) if real else polars.col(key)).alias(name)
            for key, name, real in self.floats(question)
        ]
        joined = self.native.with_columns(keys).join(
            table,
            on=question.key_columns,
            how="left",
            nulls_equal=True,
            maintain_order="left",
        )
        return joined.select(*self.schema, *results)


class DuckDB(Lazy):
    """A relation of duckdb."""

    name = "duckdb"
    case_blind = True

    def collected(self, asked: Any) -> Iterator[Any]:
        """Yield what a lazy frame gives in batches, which duckdb does not keep."""
        reader = asked.to_native().to_arrow_reader(BATCH)
        try:
            yield from _of_batches(reader)
        finally:
            reader.close()  # or the connection takes no other query

    def computed(self, question: Question, compute: Compute) -> Any:
        """Return the same, of which duckdb counts the cells again, within its limit.

        The results are those of a function that its connection learns for it. None if
        the relation does not tell its connection.
        """
        connection = getattr(self.native, "_con", None)
        if connection is None:
            return None
        added = {
            name: {"i": "BIGINT", "f": "DOUBLE"}[one.dtype.kind]
            for name, one in compute(*_NONE).items()
        }
        function = _function_of_duckdb(connection, question, compute, added)
        counted = ", ".join([RECORDS, *question.sum_columns])
        keys = ", ".join(question.key_columns)
        # One column of structs: as several, the function is called for each of them.
        riskcore_cells = (
            self.lazy_cells(question)
            .to_native()
            .query(
                "riskcore_counted",
                f"SELECT {keys}, {function}({counted}) AS riskcore_results "
                "FROM riskcore_counted",
            )
        )
        fields = [f"riskcore_results.{name} AS {name}" for name in added]
        return self._joined(question, riskcore_cells, fields)

    def joined(self, question: Question, cells: Any, results: Results) -> Any:
        """Return a relation with results added, in an order of duckdb's choice."""
        return self._joined(
            question, _arrow(cells, results), [quoted(name) for name in results]
        )

    def _joined(
        self, question: Question, riskcore_cells: Any, results: list[str]
    ) -> Any:
        """Join a table of cells to the records; duckdb finds it by its name."""
        on = " AND ".join(
            f"{sql_key(key, real)} IS NOT DISTINCT FROM riskcore_cells.{quoted(name)}"
            for key, name, real in self.floats(question)
        )
        added = ", ".join(f"riskcore_cells.{result}" for result in results)
        relation = self.native.query(
            "riskcore_data",
            f"SELECT riskcore_data.*, {added} FROM riskcore_data "
            f"LEFT JOIN riskcore_cells ON {on}",
        )
        del riskcore_cells
        return relation


class Ibis(Lazy):
    """A table of ibis."""

    name = "ibis"
    case_blind = True

    def joined(self, question: Question, cells: Any, results: Results) -> Any:
        """Return a table with results added, in an order of the engine's choice."""
        ibis = import_module("ibis")
        table = quiet_table(_arrow(cells, results))
        data = self.native

        def key(name: Any, real: bool) -> Any:
            column = data[name]
            return ibis.ifelse(column.isnan(), ibis.null(), column) if real else column

        on = [
            key(name, real).identical_to(table[other])
            for name, other, real in self.floats(question)
        ]
        return data.left_join(table, on).select(
            *(data[name] for name in self.schema), *(table[name] for name in results)
        )


def quiet_table(table: Any) -> Any:
    """Return a table of Arrow for ibis of which no printed query shows anything.

    ibis prints a query with the first and last rows of its tables in memory.
    """
    given = import_module("ibis").memtable(table)
    node = given.op()
    kind = type(node.data)
    silent = type(kind.__name__, (kind,), {"__repr__": lambda _: "cells"})
    return node.copy(data=silent(node.data.obj)).to_expr()


class Spark(Lazy):
    """A data frame of Spark."""

    name = "Spark"
    case_blind = True

    def weigh(self, weight: Hashable | None, keys: Sequence[Hashable] = ()) -> Weighed:
        """Return what is to be known of the weights, and how many lack which key."""
        names = [*keys, *([] if weight is None else [weight])]
        if not names:
            return super().weigh(None)
        plain = [f"c{i}" for i in range(len(names))]
        last = None if weight is None else plain[-1]
        return weigh(self._plain(names), last, plain[: len(keys)])

    def lazy_cells(self, question: Question) -> Any:
        """Return the cells as Spark will count them."""
        names = [
            *question.keys,
            *([] if question.weight is None else [question.weight]),
        ]
        plain = [f"c{i}" for i in range(len(names))]
        asked = replace(
            question,
            keys=plain[: len(question.keys)],
            weight=None if question.weight is None else plain[-1],
        )
        return count_cells(self._plain(names), asked)

    def _plain(self, names: Sequence[Any]) -> Any:
        """Return some columns, called c0, c1, ...: Spark reads ``a.b`` as a path."""
        import narwhals.stable.v2 as nw

        columns = (
            self.native[ticked(name)].alias(f"c{i}") for i, name in enumerate(names)
        )
        return nw.from_native(self.native.select(*columns))

    def numbers(self, question: Question) -> Iterator[Numbers]:
        """Yield records and sums of weights, which the executors send packed."""
        asked = self.lazy_cells(question).select(RECORDS, *question.sum_columns)
        packed = _in_arrow(
            asked.to_native(), partial(_packed, question), "f binary, sums binary"
        )
        for row in packed.toLocalIterator():
            yield np.frombuffer(row[0], np.int64), np.frombuffer(row[1], np.float64)

    def joined(self, question: Question, cells: Any, results: Results) -> Any:
        """Return a data frame with results added, in an order of Spark's choice."""
        table = self.native.sparkSession.createDataFrame(_arrow(cells, results))
        return self._joined(question, table, list(results))

    def computed(self, question: Question, compute: Compute) -> Any:
        """Return the same, of which the executors compute the results.

        They count again, in whole numbers, and so get the same bits.
        """
        types = import_module("pyspark.sql.types")
        kinds = {"i": types.LongType(), "f": types.DoubleType()}
        added = {name: kinds[one.dtype.kind] for name, one in compute(*_NONE).items()}
        cells = self.lazy_cells(question).to_native()
        kept = [cells.schema[name] for name in question.key_columns]
        schema = type(cells.schema)(kept)
        for name, kind in added.items():
            schema = schema.add(name, kind)
        work = partial(_results_in_batches, question, compute)
        table = _in_arrow(cells, work, schema)
        return self._joined(question, table, list(added))

    def _joined(self, question: Question, table: Any, results: list[str]) -> Any:
        """Join a data frame of cells to the records."""
        functions = import_module("pyspark.sql.functions")
        data = self.native

        def key(name: str, real: bool) -> Any:
            column = data[ticked(name)]
            return functions.when(~functions.isnan(column), column) if real else column

        on = [
            key(name, real).eqNullSafe(table[other])
            for name, other, real in self.floats(question)
        ]
        return data.join(table, reduce(and_, on), "left").select(
            *(data[ticked(name)] for name in self.schema),
            *(table[name] for name in results),
        )


def _in_arrow(data: Any, work: Any, schema: Any) -> Any:
    """Return a data frame of Spark of what executors make of batches of another."""
    with warnings.catch_warnings():
        # Of Spark, on a pandas newer than it knows, which is not used here.
        warnings.simplefilter("ignore", FutureWarning)
        return data.mapInArrow(work, schema)


def _packed(question: Question, batches: Iterable[Any]) -> Iterator[Any]:
    """Yield the numbers of many cells as one row of bytes; executors run this."""
    pyarrow = import_pyarrow()
    waiting: list[Numbers] = []

    def row() -> Any:
        columns = [
            np.concatenate(parts).tobytes() for parts in zip(*waiting, strict=True)
        ]
        arrays = [pyarrow.array([each], pyarrow.binary()) for each in columns]
        return pyarrow.RecordBatch.from_arrays(arrays, ["f", "sums"])

    for frame in _of_batches(batches):
        waiting.append(frequencies(frame, question))
        if sum(len(records) for records, _ in waiting) >= BATCH:
            yield row()
            waiting.clear()
    if waiting:
        yield row()


def _results_in_batches(
    question: Question, compute: Compute, batches: Iterable[Any]
) -> Iterator[Any]:
    """Yield keys and results of batches of cells; executors run this."""
    pyarrow = import_pyarrow()
    for cells in _of_batches(batches):
        results = compute(*frequencies(cells, question))
        table = cells.to_native().select(question.key_columns)
        for name, values in results.items():
            table = table.append_column(name, pyarrow.array(values))
        yield from table.to_batches()


def _of_batches(batches: Iterable[Any]) -> Iterator[Any]:
    """Yield batches of Arrow as narwhals frames."""
    import narwhals.stable.v2 as nw

    pyarrow = import_pyarrow()
    for batch in batches:
        yield nw.from_native(pyarrow.Table.from_batches([batch]), eager_only=True)


def _results_of_polars(question: Question, compute: Compute, counted: Any) -> Any:
    """Return results of cells, for a series of structs of what was counted."""
    import narwhals.stable.v2 as nw
    import polars

    cells = nw.from_native(counted.struct.unnest(), eager_only=True)
    results = compute(*frequencies(cells, question))
    return polars.DataFrame(dict(results)).to_struct(counted.name)


def _function_of_duckdb(
    connection: Any, question: Question, compute: Compute, added: Mapping[str, str]
) -> str:
    """Give a connection a function of what was counted, and return its name.

    The name tells what it computes; so what has the name already is the same.
    """
    duckdb = import_module("duckdb")

    pyarrow = import_pyarrow()
    about = pickle.dumps((question.weight is None, question.sums, compute))
    name = f"riskcore_results_{hashlib.sha256(about).hexdigest()[:16]}"
    counted = [RECORDS, *question.sum_columns]

    def results(*columns: Any) -> Any:
        import narwhals.stable.v2 as nw

        table = pyarrow.table(dict(zip(counted, columns, strict=True)))
        found = compute(*frequencies(nw.from_native(table, eager_only=True), question))
        arrays = [pyarrow.array(values) for values in found.values()]
        return pyarrow.StructArray.from_arrays(arrays, names=list(found))

    # duckdb counts the parameters by it.
    kind_of_parameter = Parameter.POSITIONAL_ONLY
    results.__signature__ = Signature(  # type: ignore[attr-defined]
        [Parameter(each, kind_of_parameter) for each in counted]
    )
    fields = ", ".join(f"{field} {kind}" for field, kind in added.items())
    with suppress(duckdb.NotImplementedException):  # there is one of this name
        connection.create_function(
            name, results, ["BIGINT"] * len(counted), f"STRUCT({fields})", type="arrow"
        )
    return name


def _arrow(cells: Any, results: Results) -> Any:
    """Return keys and results of the cells as a table of Arrow."""
    pyarrow = import_pyarrow()
    table = cells.to_arrow()
    for name, values in results.items():
        table = table.append_column(name, pyarrow.array(values))
    return table


def quoted(name: Any) -> str:
    """Return a name as SQL writes it."""
    return '"' + str(name).replace('"', '""') + '"'


def ticked(name: Any) -> str:
    """Return a name as Spark writes it: one with a point is no path."""
    return "`" + str(name).replace("`", "``") + "`"


def sql_key(key: Any, real: bool) -> str:
    """Return a key in SQL, NaN as null."""
    column = f"riskcore_data.{quoted(key)}"
    return f"CASE WHEN NOT isnan({column}) THEN {column} END" if real else column
