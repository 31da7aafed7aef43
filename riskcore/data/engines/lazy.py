"""Engines that take expressions: polars, duckdb, ibis and PySpark.

narwhals puts the question to each of them. Its join loses records without a key, for
null is unequal to null there; so each engine joins in its own words.
"""

from __future__ import annotations

import hashlib
import pickle
import secrets
import warnings
from abc import abstractmethod
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import replace
from functools import partial, reduce
from importlib import import_module
from inspect import Parameter, Signature
from operator import and_
from typing import Any

import numpy as np

from riskcore.data.engines.base import (
    Compute,
    Engine,
    Numbers,
    Results,
    changed_meanwhile,
    refuse_twice,
)
from riskcore.data.engines.counting import (
    RECORDS,
    Question,
    Weighed,
    count_cells,
    frequencies,
    weigh,
)
from riskcore.data.files.arrow import import_pyarrow

# Packages of which something may be lazy; no other data are looked at.
_PACKAGES = {"polars", "duckdb", "_duckdb", "ibis", "pyspark"}
# Cells in a batch of Arrow.
BATCH = 1 << 18
# Records of which all cells are counted in one pass, by engines without a limit of
# memory. Of more the cells of one remainder of a hash are counted after another.
PART = 1 << 25
_PRIME = 65521
# Types beside integers of which equal values have one hash.
_HASHED = {"Boolean", "String", "Date"}
# Frequencies and sums of no cells: what is computed of them has the results' types.
_NONE = np.zeros(0, np.int64), np.zeros(0)
# Types of duckdb whose values are equal by one rule to it and by another in Arrow.
_MIXED_UP = {
    "TIME WITH TIME ZONE": "which differ to duckdb by an offset that Arrow leaves out",
    "INTERVAL": "of which a month equals 30 days to duckdb, and nowhere else",
    "UHUGEINT": "the largest of which come as other numbers",
    "BIGNUM": "which come as bytes",
}
# Texts that some collations take for one.
_ALIKE = [("A", "a"), ("\u00e9", "e")]
# What Spark compares texts by if nothing else is said: letter by letter.
_BINARY = "UTF8_BINARY"


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
    if name != "polars":  # which has no two columns of one name
        refuse_twice(frame.to_native().columns)
    return kinds[name](frame)


class Lazy(Engine):
    """A lazy frame, as narwhals wraps it."""

    def __init__(self, frame: Any) -> None:
        self.frame = frame
        self.native = frame.to_native()
        self._schema = dict(frame.collect_schema())
        self._n = 0

    @property
    def schema(self) -> Mapping[str, Any]:
        """The types of the columns."""
        return self._schema

    @abstractmethod
    def plain(self, names: Sequence[Any]) -> Any:
        """Return some columns, called c0, c1, ...; each is taken by its exact name.

        Asked for by its name, polars reads ``^a$`` as a pattern, duckdb ``*`` as all
        columns and Spark ``a.b`` as a path. Texts are one if they are so letter by
        letter, whatever the engine compares them by.
        """

    @abstractmethod
    def sent(self, table: Any) -> Any:
        """Return an eager narwhals frame as a table of the engine."""

    @abstractmethod
    def beside(
        self,
        data: Any,
        question: Question,
        table: Any,
        added: Sequence[str],
        whole: bool = False,
    ) -> Any:
        """Return records with what goes with their keys."""

    def weigh(self, weight: Hashable | None, keys: Sequence[Hashable] = ()) -> Weighed:
        """Return what is to be known of the weights, and how many lack which key."""
        names = [*keys, *([] if weight is None else [weight])]
        if names:
            plain = _plain_names(names)
            last = None if weight is None else plain[-1]
            found = weigh(self._plain(names), last, plain[: len(keys)])
        else:
            found = weigh(self.frame, None)
        self._n = found.n
        return found

    def cells(self, question: Question) -> Any:
        """Return the cells, collected."""
        return self.lazy_cells(question).collect()

    def lazy_cells(self, question: Question, part: int = 0, parts: int = 1) -> Any:
        """Return the cells as the engine will count them; some of them if parts."""
        import narwhals.stable.v2 as nw

        plain = _plain_names(question.columns)
        keys = plain[: len(question.keys)]
        weight = None if question.weight is None else plain[-1]
        data = self.plain(question.columns)
        if parts > 1:
            data = self.remainder(data, keys, part, parts)
        return count_cells(
            nw.from_native(data), replace(question, keys=keys, weight=weight)
        )

    def passes(self, question: Question) -> int:
        """Return in how many passes cells are counted, some in each."""
        return 1

    def remainder(self, data: Any, keys: Sequence[str], part: int, parts: int) -> Any:
        """Return the records of which the hash of the keys has one remainder."""
        raise NotImplementedError

    def _passes(self, question: Question) -> int:
        """Return one pass for so many records, if equal keys have equal hashes."""
        kinds = [self._schema[key] for key in question.keys]
        if all(kind.is_integer() or str(kind) in _HASHED for kind in kinds):
            return -(-self._n // PART) or 1
        return 1

    def collected(self, asked: Any) -> Iterator[Any]:
        """Yield what a lazy narwhals frame gives, in eager frames."""
        yield asked.collect()

    def batches(self, question: Question) -> Iterator[Any]:
        """Yield the cells in eager frames."""
        return self.collected(self.lazy_cells(question))

    def numbers(self, question: Question) -> Iterator[Numbers]:
        """Yield records and sums of weights of the cells; the keys stay."""
        parts = self.passes(question)
        for part in range(parts):
            cells = self.lazy_cells(question, part, parts)
            for batch in self.collected(cells.select(RECORDS, *question.sum_columns)):
                yield frequencies(batch, question)

    def joined(self, question: Question, cells: Any, results: Results) -> Any:
        """Return the data with results of the cells added to their records."""
        table = self.sent(_with_results(cells, results))
        return self.beside(self.native, question, table, list(results), whole=True)

    def is_float(self, key: Any) -> bool:
        """Tell whether a key is a float: its NaN is missing."""
        found: bool = self._schema[key].is_float()
        return found

    def _plain(self, names: Sequence[Any]) -> Any:
        import narwhals.stable.v2 as nw

        return nw.from_native(self.plain(names))


def _plain_names(names: Sequence[Any]) -> list[str]:
    return [f"c{i}" for i in range(len(names))]


class Polars(Lazy):
    """A lazy frame of polars."""

    name = "polars"

    def passes(self, question: Question) -> int:
        """Return in how many passes cells are counted."""
        return self._passes(question)

    def remainder(self, data: Any, keys: Sequence[str], part: int, parts: int) -> Any:
        """Return the records of which the hash of the keys has one remainder."""
        import polars

        hashes = [polars.col(key).hash(seed) % _PRIME for seed, key in enumerate(keys)]
        return data.filter(polars.sum_horizontal(hashes) % parts == part)

    def collected(self, asked: Any) -> Iterator[Any]:
        """Yield what the streaming engine gives, in batches: few cells wait here."""
        import narwhals.stable.v2 as nw

        frame = asked.to_native()
        if not hasattr(frame, "collect_batches"):  # polars before 1.34
            whole = asked.collect(engine="streaming")
            for start in range(0, max(len(whole), 1), BATCH):
                yield whole[start : start + BATCH]
            return
        for batch in frame.collect_batches(
            chunk_size=BATCH, maintain_order=False, engine="streaming"
        ):
            yield nw.from_native(batch, eager_only=True)

    def plain(self, names: Sequence[Any]) -> Any:
        """Return some columns, called c0, c1, ..."""
        return self.native.select(
            exact(name).alias(f"c{i}") for i, name in enumerate(names)
        )

    def sent(self, table: Any) -> Any:
        """Return an eager narwhals frame as a lazy one of polars."""
        return table.to_native().lazy()

    def beside(
        self,
        data: Any,
        question: Question,
        table: Any,
        added: Sequence[str],
        whole: bool = False,
    ) -> Any:
        """Return records with what goes with their keys, in their order."""
        import polars

        ours = {name: f"{self.prefix}{name}" for name in question.key_columns}
        keys = [
            (exact(key).fill_nan(None) if self.is_float(key) else exact(key)).alias(
                name
            )
            for key, name in zip(question.keys, ours.values(), strict=True)
        ]
        known = f"{self.prefix}known"
        table = table.rename(ours)
        joined = data.with_columns(keys).join(
            table.with_columns(polars.lit(value=True).alias(known)) if whole else table,
            on=list(ours.values()),
            how="left",
            nulls_equal=True,
            maintain_order="left",
        )
        if whole:
            types = table.collect_schema()
            joined = joined.with_columns(
                polars.struct(exact(name), known)
                .map_batches(_known, return_dtype=types[name], is_elementwise=True)
                .alias(name)
                for name in added
            ).drop(known)
        return joined.drop(list(ours.values()))

    def check(self, names: Sequence[Hashable]) -> None:
        """Refuse columns as other engines do, and objects of Python."""
        super().check(names)
        import narwhals.stable.v2 as nw

        for name in names:
            if self._schema[name] == nw.Object:
                raise TypeError(
                    f"column {name!r}: a lazy frame of polars cannot join values of "
                    "type Object; cast them to text or numbers, or collect the columns"
                )

    def categories(self, name: Hashable) -> list[Any] | None:
        """Return the list of a column's categories; plain ones have no order."""
        categories = getattr(self._schema[name], "categories", None)
        return None if categories is None else list(categories)

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
        table = table.unnest("results")
        return self.beside(self.native, question, table, list(added), whole=True)


def _known(both: Any) -> Any:
    """Return the first field of structs, of which the second is true or null."""
    values, known = both.struct.unnest().get_columns()
    if known.null_count():
        raise changed_meanwhile()
    return values


def exact(name: Any) -> Any:
    """Return a column of polars by its exact name; ``polars.col`` reads patterns."""
    by_name = import_module("polars.selectors").by_name
    return by_name(name).as_expr()


class DuckDB(Lazy):
    """A relation of duckdb."""

    name = "duckdb"
    case_blind = True

    def __init__(self, frame: Any) -> None:
        super().__init__(frame)
        types = map(str, self.native.types)
        self.types = dict(zip(self.native.columns, types, strict=True))

    def check(self, names: Sequence[Hashable]) -> None:
        """Refuse columns as other engines do, and types that mix values up."""
        super().check(names)
        for name in names:
            kind = self.types[name]
            if kind in _MIXED_UP:
                raise TypeError(
                    f"column {name!r}: values of type {kind}, {_MIXED_UP[kind]}; give "
                    "it as text, cast to VARCHAR"
                )

    def collected(self, asked: Any) -> Iterator[Any]:
        """Yield what a lazy frame gives in batches, which duckdb does not keep."""
        # An open reader keeps the connection from other queries.
        with closing(asked.to_native().to_arrow_reader(BATCH)) as reader:
            yield from _of_batches(reader)

    def plain(self, names: Sequence[Any]) -> Any:
        """Return some columns, called c0, c1, ..."""
        columns = (f"{self.column(name)} AS c{i}" for i, name in enumerate(names))
        return self.native.project(", ".join(columns))

    def column(self, name: Any, table: str = "") -> str:
        """Return a column in SQL; a text has no collation, by which others equal it."""
        column = table + quoted(name)
        return f"{column} COLLATE C" if self.types[name] == "VARCHAR" else column

    def sent(self, table: Any) -> Any:
        """Return an eager narwhals frame as a relation of the same connection."""
        return self.native._con.from_arrow(table.to_arrow())

    def beside(
        self,
        data: Any,
        question: Question,
        table: Any,
        added: Sequence[str],
        whole: bool = False,
    ) -> Any:
        """Return records with what goes with their keys, in an order of duckdb's.

        No table is called by a name, which users may have given to one of theirs.
        """
        on = []
        for key, name in zip(question.keys, question.key_columns, strict=True):
            column = self.column(key, "riskcore_data.")
            if self.is_float(key):
                column = f"CASE WHEN NOT isnan({column}) THEN {column} END"
            on.append(f"{column} IS NOT DISTINCT FROM riskcore_cells.{quoted(name)}")
        found = "riskcore_cells.{0}"
        if whole:
            table = table.project("*, TRUE AS riskcore_known")
            said = str(changed_meanwhile())
            found = (
                "CASE WHEN riskcore_cells.riskcore_known IS NULL "
                f"THEN error('{said}') ELSE riskcore_cells.{{0}} END AS {{0}}"
            )
        joined = data.set_alias("riskcore_data").join(
            table.set_alias("riskcore_cells"), " AND ".join(on), how="left"
        )
        return joined.project(
            ", ".join(
                [
                    *(f"riskcore_data.{quoted(name)}" for name in data.columns),
                    *(found.format(quoted(name)) for name in added),
                ]
            )
        )

    def folded(self, name: str) -> str:
        """Return what is the same of names to duckdb, which knows the case of ASCII."""
        return "".join(each.lower() if each.isascii() else each for each in name)

    def categories(self, name: Hashable) -> list[Any] | None:
        """Return the values of an ENUM, in their order."""
        kinds = dict(zip(self.native.columns, self.native.types, strict=True))
        kind: Any = kinds[name]
        return list(dict(kind.children)["values"]) if kind.id == "enum" else None

    def computed(self, question: Question, compute: Compute) -> Any:
        """Return the same, of which duckdb counts the cells again, within its limit.

        The results are those of a function that its connection learns for it.
        """
        added = {
            name: {"i": "BIGINT", "f": "DOUBLE"}[one.dtype.kind]
            for name, one in compute(*_NONE).items()
        }
        keys = ", ".join(question.key_columns)
        counted = ", ".join([RECORDS, *question.sum_columns])
        cells = self.lazy_cells(question).to_native()
        # One column of structs: as several, the function is called for each of them.
        for function in _functions_of_duckdb(
            self.native._con, question, compute, added
        ):
            with suppress(import_module("duckdb").CatalogException):
                call = f"{function}({counted}) AS riskcore_results"
                cells = cells.project(f"{keys}, {call}")
                break
        fields = (f"riskcore_results.{name} AS {name}" for name in added)
        cells = cells.project(", ".join([keys, *fields]))
        return self.beside(self.native, question, cells, list(added), whole=True)


class Ibis(Lazy):
    """A table of ibis."""

    name = "ibis"
    case_blind = True

    def check(self, names: Sequence[Hashable]) -> None:
        """Refuse columns as other engines do, and those that mix values up."""
        super().check(names)
        kinds = self.native.schema()
        for name in names:
            if kinds[name].is_interval():
                raise TypeError(
                    f"column {name!r}: values of type {kinds[name]}, which backends "
                    "compare in their own ways; give it as text or a number"
                )
        texts = [name for name in names if kinds[name].is_string()]
        alike = self._alike(texts)
        for name, (one, other) in alike.items():
            raise TypeError(
                f"column {name!r}: the database compares its texts by a collation that "
                f"takes {one!r} for {other!r}; give it with one that keeps texts apart"
            )

    def _alike(self, names: Sequence[Any]) -> dict[Any, tuple[str, str]]:
        """Return which columns of text take which texts for one.

        Two texts are compared by the column's collation in one record: a choice
        between the first and the column itself has it.
        """
        if not names:
            return {}
        ibis = import_module("ibis")
        record = self.native.limit(1)
        asked = {}
        for i, name in enumerate(names):
            column = record[name]
            always = column.isnull() | column.notnull()
            for j, (one, other) in enumerate(_ALIKE):
                chosen = ibis.ifelse(always, ibis.literal(one), column)
                asked[f"c{i}_{j}"] = chosen == other
        return {
            names[int(key[1 : key.index("_")])]: _ALIKE[int(key[key.index("_") + 1 :])]
            for row in record.select(**asked).to_pyarrow().to_pylist()
            for key, same in row.items()
            if same
        }

    def weigh(self, weight: Hashable | None, keys: Sequence[Hashable] = ()) -> Weighed:
        """Return what is to be known of the weights, and how many lack which key."""
        with self._told():
            return super().weigh(weight, keys)

    def cells(self, question: Question) -> Any:
        """Return the cells, collected."""
        with self._told():
            return super().cells(question)

    def collected(self, asked: Any) -> Iterator[Any]:
        """Yield what a lazy frame gives, in eager frames."""
        with self._told():
            if self._backend == "polars":  # which holds all of it first, anyway
                yield from super().collected(asked)
                return
            native = asked.to_native()
            # ibis 12 asks duckdb 2 for batches by a name that it no longer has.
            relation = getattr(native.get_backend(), "_to_duckdb_relation", None)
            if relation is None:
                yield from _of_batches(native.to_pyarrow_batches(chunk_size=BATCH))
                return
            with closing(relation(native).to_arrow_reader(BATCH)) as reader:
                yield from _of_batches(reader)

    @contextmanager
    def _told(self) -> Iterator[None]:
        """Tell what to do where a backend lacks what is asked of it."""
        missing = import_module("ibis.common.exceptions").OperationNotDefinedError
        try:
            yield
        except missing as error:
            raise TypeError(
                f"ibis on {self._backend}: {error}, which weights and keys that are "
                "floats need; give them as whole numbers or text, or have another "
                "backend read the data, such as duckdb"
            ) from None

    @property
    def _backend(self) -> str:
        return str(self.native.get_backend().name)

    def passes(self, question: Question) -> int:
        """Return in how many passes cells are counted."""
        return self._passes(question) if self._backend == "duckdb" else 1

    def remainder(self, data: Any, keys: Sequence[str], part: int, parts: int) -> Any:
        """Return the records of which the hash of the keys has one remainder."""
        ibis = import_module("ibis")
        mixed = ibis.struct({key: data[key] for key in keys}).hash()
        return data.filter((mixed % _PRIME).abs() % parts == part)

    def plain(self, names: Sequence[Any]) -> Any:
        """Return some columns, called c0, c1, ..."""
        columns = {f"c{i}": self.native[name] for i, name in enumerate(names)}
        return self.native.select(**columns)

    def sent(self, table: Any) -> Any:
        """Return an eager narwhals frame as a table in memory, of which nobody prints.

        ibis prints a query with the first and last rows of its tables in memory.
        """
        given = import_module("ibis").memtable(table.to_arrow())
        node = given.op()
        kind = type(node.data)
        silent = type(kind.__name__, (kind,), {"__repr__": lambda _: "cells"})
        return node.copy(data=silent(node.data.obj)).to_expr()

    def beside(
        self,
        data: Any,
        question: Question,
        table: Any,
        added: Sequence[str],
        whole: bool = False,
    ) -> Any:
        """Return records with what goes with their keys, in the engine's order."""
        if self._backend == "polars":
            raise TypeError(
                "ibis on polars joins no table in memory by null, so the records "
                "cannot be given back: give the lazy frame of polars itself"
            )
        ibis = import_module("ibis")
        ours = {f"{self.prefix}{name}": name for name in question.key_columns}
        table = table.rename(ours)
        on = []
        for key, name in zip(question.keys, ours, strict=True):
            column = data[key]
            if self.is_float(key):
                column = ibis.ifelse(column.isnan(), ibis.null(), column)
            on.append(column.identical_to(table[name]))
        return data.left_join(table, on).select(
            *(data[name] for name in data.columns), *(table[name] for name in added)
        )


class Spark(Lazy):
    """A data frame of Spark."""

    name = "Spark"
    case_blind = True

    def plain(self, names: Sequence[Any]) -> Any:
        """Return some columns, called c0, c1, ..."""
        columns = (
            self.column(self.native, name).alias(f"c{i}")
            for i, name in enumerate(names)
        )
        return self.native.select(*columns)

    def column(self, data: Any, name: Any) -> Any:
        """Return a column; a text has no collation, by which others equal it."""
        column = data[ticked(name)]
        kind = self.native.schema[name].dataType
        if getattr(kind, "collation", _BINARY) == _BINARY:
            return column
        return import_module("pyspark.sql.functions").collate(column, _BINARY)

    def sent(self, table: Any) -> Any:
        """Return an eager narwhals frame as a data frame of the same session."""
        return self.native.sparkSession.createDataFrame(table.to_arrow())

    def beside(
        self,
        data: Any,
        question: Question,
        table: Any,
        added: Sequence[str],
        whole: bool = False,
    ) -> Any:
        """Return records with what goes with their keys, in an order of Spark's."""
        functions = import_module("pyspark.sql.functions")
        if whole:
            table = table.withColumn("riskcore_known", functions.lit(True))
        on = []
        for key, name in zip(question.keys, question.key_columns, strict=True):
            column = self.column(data, key)
            if self.is_float(key):
                column = functions.when(~functions.isnan(column), column)
            on.append(column.eqNullSafe(table[name]))
        found = [table[name] for name in added]
        if whole:
            said = functions.lit(str(changed_meanwhile()))
            missing = table["riskcore_known"].isNull()
            found = [
                functions.when(missing, functions.raise_error(said))
                .otherwise(column)
                .alias(name)
                for column, name in zip(found, added, strict=True)
            ]
        return data.join(table, reduce(and_, on), "left").select(
            *(data[ticked(name)] for name in data.columns), *found
        )

    def numbers(self, question: Question) -> Iterator[Numbers]:
        """Yield records and sums of weights, which the executors send packed."""
        asked = self.lazy_cells(question).select(RECORDS, *question.sum_columns)
        packed = _in_arrow(
            asked.to_native(), partial(_packed, question), "f binary, sums binary"
        )
        # One partition is computed while the driver takes the one before.
        for row in packed.toLocalIterator(prefetchPartitions=True):
            yield np.frombuffer(row[0], np.int64), np.frombuffer(row[1], np.float64)

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
        return self.beside(self.native, question, table, list(added), whole=True)


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


def _functions_of_duckdb(
    connection: Any, question: Question, compute: Compute, added: Mapping[str, str]
) -> Iterator[str]:
    """Yield names of functions of what was counted, which a connection is given.

    The first name tells what is computed and for which connection, so that a function
    that is there is taken again. All connections of a database share the names; and
    one that a connection believes to have is gone if its transaction was rolled back.
    For these there is another name.
    """
    duckdb = import_module("duckdb")

    pyarrow = import_pyarrow()
    about = pickle.dumps((question.weight is None, question.sums, compute))
    digest = hashlib.sha256(about).hexdigest()[:16]
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
    given = ["BIGINT"] * len(counted), f"STRUCT({fields})"
    name = f"riskcore_results_{digest}_{id(connection):x}"
    with suppress(duckdb.CatalogException):  # of a connection that is closed
        with suppress(duckdb.NotImplementedException):  # of this one, perhaps
            connection.create_function(name, results, *given, type="arrow")
        yield name
    name = f"riskcore_results_{digest}_{secrets.token_hex(8)}"
    connection.create_function(name, results, *given, type="arrow")
    yield name


def _with_results(cells: Any, results: Results) -> Any:
    """Return keys and results of the cells as an eager narwhals frame."""
    import narwhals.stable.v2 as nw

    return cells.with_columns(
        nw.new_series(name, values, backend=cells.implementation)
        for name, values in results.items()
    )


def quoted(name: Any) -> str:
    """Return a name as SQL writes it."""
    return '"' + str(name).replace('"', '""') + '"'


def ticked(name: Any) -> str:
    """Return a name as Spark writes it: one with a point is not a path."""
    return "`" + str(name).replace("`", "``") + "`"
