"""Engines that take expressions: polars, duckdb, ibis and PySpark.

narwhals puts the question to each of them. Its join loses records without a key, for
null is unequal to null there; so each engine joins in its own words.
"""

from __future__ import annotations

import warnings
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial, reduce
from importlib import import_module
from operator import and_
from typing import Any

import numpy as np

from riskcore.engines.counting import (
    Question,
    Weighed,
    count_cells,
    frequencies,
    weigh,
)
from riskcore.engines.door import Compute, Engine, Results
from riskcore.files.arrow import import_pyarrow

# Packages of which something may be lazy; no other data are looked at.
_PACKAGES = {"polars", "duckdb", "_duckdb", "ibis", "pyspark", "narwhals"}


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

    def weigh(self, weight: Hashable | None) -> Weighed:
        """Return what is to be known of the weights."""
        return weigh(self.frame, weight)

    def cells(self, question: Question) -> Any:
        """Return the cells, collected."""
        return self.lazy_cells(question).collect()

    def lazy_cells(self, question: Question) -> Any:
        """Return the cells as the engine will count them."""
        return count_cells(self.frame, question)

    def floats(self, question: Question) -> list[tuple[Any, str, bool]]:
        """Return the keys, their names in the cells, and whether they are floats."""
        return [
            (key, name, self._schema[key].is_float())
            for key, name in zip(question.keys, question.key_columns, strict=True)
        ]


class Polars(Lazy):
    """A lazy frame of polars."""

    name = "polars"

    def joined(self, question: Question, cells: Any, results: Results) -> Any:
        """Return the lazy frame with results added, in its own order."""
        import polars

        table = cells.to_native().with_columns(
            polars.Series(name, values) for name, values in results.items()
        )
        keys = [
            (polars.col(key).fill_nan(None) if real else polars.col(key)).alias(name)
            for key, name, real in self.floats(question)
        ]
        joined = self.native.with_columns(keys).join(
            table.lazy(),
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

    def joined(self, question: Question, cells: Any, results: Results) -> Any:
        """Return a relation with results added, in an order of duckdb's choice."""
        riskcore_cells = _arrow(cells, results)
        on = " AND ".join(
            f"{sql_key(key, real)} IS NOT DISTINCT FROM riskcore_cells.{quoted(name)}"
            for key, name, real in self.floats(question)
        )
        added = ", ".join(f"riskcore_cells.{quoted(name)}" for name in results)
        relation = self.native.query(
            "riskcore_data",
            f"SELECT riskcore_data.*, {added} FROM riskcore_data "
            f"LEFT JOIN riskcore_cells ON {on}",
        )
        del riskcore_cells  # found by its name, by duckdb
        return relation


class Ibis(Lazy):
    """A table of ibis."""

    name = "ibis"
    case_blind = True

    def joined(self, question: Question, cells: Any, results: Results) -> Any:
        """Return a table with results added, in an order of the engine's choice."""
        ibis = import_module("ibis")
        table = ibis.memtable(_arrow(cells, results))
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


class Spark(Lazy):
    """A data frame of Spark."""

    name = "Spark"
    case_blind = True

    def weigh(self, weight: Hashable | None) -> Weighed:
        """Return what is to be known of the weights."""
        if weight is None:
            return super().weigh(None)
        return weigh(self._plain([weight]), "c0")

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

    def joined(self, question: Question, cells: Any, results: Results) -> Any:
        """Return a data frame with results added, in an order of Spark's choice."""
        table = self.native.sparkSession.createDataFrame(_arrow(cells, results))
        return self._joined(question, table, list(results))

    def computed(self, question: Question, compute: Compute) -> Any:
        """Return the same, of which the executors compute the results.

        They count again, in whole numbers, and so get the same bits.
        """
        none = np.zeros(0, np.int64), np.zeros(0)
        types = import_module("pyspark.sql.types")
        kinds = {"i": types.LongType(), "f": types.DoubleType()}
        added = {name: kinds[one.dtype.kind] for name, one in compute(*none).items()}
        cells = self.lazy_cells(question).to_native()
        kept = [cells.schema[name] for name in question.key_columns]
        schema = type(cells.schema)(kept)
        for name, kind in added.items():
            schema = schema.add(name, kind)
        work = partial(_results_in_batches, question, compute)
        with warnings.catch_warnings():
            # Of Spark, on a pandas newer than it knows, which is not used here.
            warnings.simplefilter("ignore", FutureWarning)
            table = cells.mapInArrow(work, schema)
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


def _results_in_batches(
    question: Question, compute: Compute, batches: Iterable[Any]
) -> Iterator[Any]:
    """Yield keys and results of batches of cells; executors run this."""
    import narwhals.stable.v2 as nw

    pyarrow = import_pyarrow()
    for batch in batches:
        table = pyarrow.Table.from_batches([batch])
        f, F = frequencies(nw.from_native(table, eager_only=True), question)
        table = table.select(question.key_columns)
        for name, values in compute(f, F).items():
            table = table.append_column(name, pyarrow.array(values))
        yield from table.to_batches()


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
