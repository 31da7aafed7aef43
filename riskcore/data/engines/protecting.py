"""Columns recoded and blanked where the data are.

What is changed comes as lookups: tables of key values and of what goes with them, such
as which keys of a cell are blanked, or the new value of an old one. Each engine joins
them to the records in its own words, null to null, and gives back its own type, with
the columns and, where it has one, the order of before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from importlib import import_module
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from riskcore.data.engines import lazy
from riskcore.data.engines.batches import BATCH, Numbering, frame_of, whole_array
from riskcore.data.engines.counting import Question, key_column, keys_of
from riskcore.data.engines.dask import Dask, plain_pandas
from riskcore.data.engines.dataset import ArrowDataset
from riskcore.data.engines.door import Engine, changed_meanwhile
from riskcore.data.engines.lazy import quoted, ticked
from riskcore.data.files.arrow import import_pyarrow

# Sets values of a frame in memory to missing, by a mask for each column.
Blank = Callable[[Any, Mapping[Any, Any]], Any]


@dataclass(frozen=True, slots=True)
class Lookup:
    """What goes with values of keys.

    Attributes
    ----------
    keys : tuple of column names
    table : narwhals DataFrame
        The keys, called as in a table of cells, and columns that the data do not have.
    whole : bool
        Whether it has the keys of every record.
    """

    keys: tuple[Any, ...]
    table: Any
    whole: bool = False

    @property
    def question(self) -> Question:
        """The keys, and what they are called."""
        return Question(self.keys)

    @property
    def added(self) -> list[str]:
        """Names of the columns that are added to the records."""
        added: list[str] = self.table.columns[len(self.keys) :]
        return added


@dataclass(frozen=True, slots=True)
class Change:
    """What becomes of a column.

    Attributes
    ----------
    recoded : str or None
        The column of a lookup that takes its place.
    blanked : str or None
        The column of a lookup that tells where it is blanked.
    left : list or None
        The categories that are left, in their order, if it has a list of them.
    """

    recoded: str | None = None
    blanked: str | None = None
    left: list[Any] | None = None


Changes = Mapping[Any, Change]


def changed(
    engine: Engine, lookups: Sequence[Lookup], changes: Changes, blank: Blank
) -> Callable[[], Any]:
    """Return what gives the data with columns recoded and blanked.

    Parameters
    ----------
    engine : Engine
        What holds the data.
    lookups : sequence of Lookup
    changes : mapping of column names to Change
    blank : callable
        As `riskcore.data.blank.blank`; for engines that work in pieces.

    Returns
    -------
    callable
        Gives a lazy frame, relation or table, always the same; of a dataset a reader
        of its batches, a new one each time, for it can be read once.
    """
    if isinstance(engine, ArrowDataset):
        return partial(_dataset, engine, lookups, changes, blank)
    if isinstance(engine, Dask):
        found = _dask(engine, lookups, changes, blank) if changes else engine.data
        return partial(_same, found)
    assert isinstance(engine, lazy.Lazy)
    kinds: dict[type[Engine], Callable[..., Any]] = {
        lazy.Polars: _polars,
        lazy.DuckDB: _duckdb,
        lazy.Ibis: _ibis,
        lazy.Spark: _spark,
    }
    found = engine.native
    for lookup in lookups:
        table = engine.sent(lookup.table)
        found = engine.beside(
            found, lookup.question, table, lookup.added, whole=lookup.whole
        )
    if changes:
        found = kinds[type(engine)](engine, found, changes, blank)
    return partial(_same, found)


def _same(found: Any) -> Any:
    """Return what was found: a function that can be pickled."""
    return found


# --- polars ---


def _polars(engine: lazy.Polars, frame: Any, changes: Changes, blank: Blank) -> Any:
    import polars

    schema = frame.collect_schema()
    columns = []
    for name in engine.schema:
        change = changes.get(name, Change())
        source = change.recoded or name
        column = lazy.exact(source)
        dtype = schema[source]
        if change.blanked is not None:
            if change.left is not None and isinstance(dtype, polars.Enum):
                dtype = polars.Enum(change.left)
            # Under null, too, the value must be gone; so not polars.when().
            both = column.alias("value"), lazy.exact(change.blanked).alias("flag")
            column = polars.struct(*both).map_batches(
                _Blanking(dtype, blank), return_dtype=dtype, is_elementwise=True
            )
        columns.append(column.alias(name))
    return frame.select(columns)


@dataclass(frozen=True, slots=True)
class _Blanking:
    """Blanks a column of polars where a flag says so; both come as a struct."""

    dtype: Any
    blank: Blank

    def __call__(self, both: Any) -> Any:
        frame = both.struct.unnest()
        if not len(frame):
            return frame["value"].cast(self.dtype)
        mask = frame["flag"].fill_null(value=False).to_numpy()
        blanked = self.blank(frame.select("value"), {"value": mask})
        return blanked["value"].cast(self.dtype)


# --- duckdb ---


def _duckdb(engine: lazy.DuckDB, relation: Any, changes: Changes, blank: Blank) -> Any:
    columns = (
        f"{_sql(name, changes[name])} AS {quoted(name)}"
        if name in changes
        else quoted(name)
        for name in engine.schema
    )
    return relation.project(", ".join(columns))


def _sql(name: Any, change: Change) -> str:
    """Return what becomes of a column, in SQL."""
    found = quoted(change.recoded or name)
    if change.blanked is None:
        return found
    found = f"CASE WHEN {quoted(change.blanked)} THEN NULL ELSE {found} END"
    if change.left is None:
        return found
    # A type of its own: the list of categories must not tell what was blanked.
    texts = ", ".join("'" + str(one).replace("'", "''") + "'" for one in change.left)
    found = f"CAST({found} AS VARCHAR)"
    return f"CAST({found} AS ENUM ({texts}))" if texts else found


# --- ibis ---


def _ibis(engine: lazy.Ibis, data: Any, changes: Changes, blank: Blank) -> Any:
    ibis = import_module("ibis")
    columns = {}
    for name in engine.schema:
        change = changes.get(name, Change())
        column = data[change.recoded or name]
        if change.blanked is not None:
            column = ibis.ifelse(data[change.blanked], ibis.null(), column)
        columns[name] = column
    return data.select(**columns)


# --- Spark ---


def _spark(engine: lazy.Spark, data: Any, changes: Changes, blank: Blank) -> Any:
    functions = import_module("pyspark.sql.functions")
    columns = []
    for name in engine.schema:
        change = changes.get(name, Change())
        column = data[ticked(change.recoded or name)]
        if change.blanked is not None:
            flag = functions.coalesce(data[change.blanked], functions.lit(False))
            column = functions.when(~flag, column)
        columns.append(column.alias(name))
    return data.select(*columns)


# --- dask ---


def _dask(
    engine: Dask, lookups: Sequence[Lookup], changes: Changes, blank: Blank
) -> Any:
    data = engine.data
    work = _PandasWork(
        tuple((one.keys, one.table.to_native(), one.whole) for one in lookups),
        dict(changes),
        blank,
    )
    meta = work.changed(data._meta_nonempty, trial=True).iloc[:0]
    return data.map_partitions(work, meta, meta=meta)


@dataclass(frozen=True, slots=True)
class _PandasWork:
    """Changes partitions; workers of dask run this."""

    # dask prints the function of a query, and these are what was blanked.
    lookups: tuple[tuple[tuple[Any, ...], Any, bool], ...] = field(repr=False)
    changes: dict[Any, Change]
    blank: Blank

    def __call__(self, part: Any, meta: Any) -> Any:
        return self.changed(part) if len(part) else meta

    def changed(self, part: Any, *, trial: bool = False) -> Any:
        """Return a partition with columns recoded and blanked.

        ``trial``: values that no lookup has will do, for the types are asked for.
        """
        found: dict[str, Any] = {}
        for keys, table, whole in self.lookups:
            rows = _rows_of_pandas(part, keys, table)
            if whole and not trial and (rows < 0).any():
                raise changed_meanwhile()
            for name in table.columns[len(keys) :]:
                found[name] = table[name].take(np.maximum(rows, 0)), rows >= 0
        part = part.copy(deep=False)
        masks = {}
        for name, change in self.changes.items():
            if change.recoded is not None:
                part[name] = found[change.recoded][0].set_axis(part.index)
            if change.blanked is not None:
                flags, known = found[change.blanked]
                masks[name] = flags.to_numpy(bool) & known
        # Notes are left out also where nothing is blanked.
        part = self.blank(part, masks)
        for name, change in self.changes.items():
            if change.left is not None and part[name].dtype.name == "category":
                part[name] = part[name].cat.set_categories(change.left)
        return part


def _rows_of_pandas(part: Any, keys: tuple[Any, ...], table: Any) -> Any:
    """Return the row of a table for each record, -1 for none; null matches null."""
    import narwhals.stable.v2 as nw

    question = Question(keys)
    plain = plain_pandas(part[list(keys)])
    frame = nw.from_native(plain, eager_only=True)
    own = frame.select(*keys_of(frame, keys)).to_native()
    theirs = table[question.key_columns].assign(riskcore_row=np.arange(len(table)))
    found = own.merge(theirs, how="left", on=question.key_columns)
    return found["riskcore_row"].fillna(-1).to_numpy(np.int64)


# --- datasets of pyarrow ---


def _dataset(
    engine: ArrowDataset,
    lookups: Sequence[Lookup],
    changes: Changes,
    blank: Blank,
) -> Any:
    pyarrow = import_pyarrow()
    batches = _changed_batches(engine, lookups, changes, blank)
    first = next(batches)
    whole = chain([first], batches)
    records = (one for table in whole for one in table.to_batches())
    return pyarrow.RecordBatchReader.from_batches(first.schema, records)


class _Finding(Numbering):
    """The row of each combination of keys in a table that may lack some."""

    def of(self, columns: Iterable[Any]) -> NDArray[np.int64]:
        """Return the row of each record, -1 where there is none."""
        index_in = import_pyarrow("compute").index_in
        number: Any = 0
        known: Any = True
        for column, labels, pairs in zip(columns, self.labels, self.pairs, strict=True):
            place = index_in(whole_array(column), value_set=labels).fill_null(-1)
            place = place.to_numpy(zero_copy_only=False).astype(np.int64)
            pair = number * len(labels) + place
            number = np.minimum(np.searchsorted(pairs, pair), len(pairs) - 1)
            known &= (place >= 0) & (pairs[number] == pair)
        return np.where(known, self.rows[number], -1)


def _changed_batches(
    engine: ArrowDataset,
    lookups: Sequence[Lookup],
    changes: Changes,
    blank: Blank,
) -> Iterator[Any]:
    """Yield the batches, each as a table, with columns recoded and blanked."""
    pyarrow = import_pyarrow()
    numberings = [
        _Finding([one.table.get_column(name) for name in one.question.key_columns])
        for one in lookups
    ]
    columns = [
        {name: whole_array(one.table.get_column(name)) for name in one.added}
        for one in lookups
    ]
    for batch in engine.data.to_batches(batch_size=BATCH):
        if not batch.num_rows:
            continue
        table = pyarrow.Table.from_batches([batch])
        found: dict[str, Any] = {}
        for lookup, numbering, added in zip(lookups, numberings, columns, strict=True):
            frame = frame_of(table.select(list(lookup.keys)))
            keys = frame.select(*keys_of(frame, lookup.keys))
            rows = numbering.of(map(keys.get_column, lookup.question.key_columns))
            if lookup.whole and (rows < 0).any():
                raise changed_meanwhile()
            at = pyarrow.array(rows, mask=rows < 0)
            found |= {name: values.take(at) for name, values in added.items()}
        yield _changed_table(table, found, changes, blank)


def _changed_table(
    table: Any, found: Mapping[str, Any], changes: Changes, blank: Blank
) -> Any:
    """Return a table with columns recoded and blanked, without notes."""
    pyarrow, compute = import_pyarrow(), import_pyarrow("compute")
    masks = {}
    listed = {}
    for i, column in enumerate(table.schema):
        change = changes.get(column.name, Change())
        if change.recoded is not None:
            table = table.set_column(i, column.name, found[change.recoded])
        if change.blanked is not None:
            flags = found[change.blanked].fill_null(False)
            masks[column.name] = flags.to_numpy(zero_copy_only=False)
            if change.left is not None:
                listed[column.name] = column.type
                plain = table.column(i).cast(column.type.value_type)
                table = table.set_column(i, column.name, plain)
    types = {column.name: column.type for column in table.schema}
    table = blank(table, masks)  # notes are left out also where nothing is
    for name, change in changes.items():
        i = table.schema.get_field_index(name)
        values = table.column(i).cast(types[name]).combine_chunks()
        if change.left is not None:
            # One list of categories for all batches.
            left = pyarrow.array(change.left, types[name])
            places = compute.index_in(values, value_set=left)
            values = pyarrow.DictionaryArray.from_arrays(
                places.cast(listed[name].index_type), left, ordered=listed[name].ordered
            )
        table = table.set_column(i, name, values)
    return table


def table_of(columns: Mapping[str, Any]) -> Any:
    """Return the table of a lookup from narwhals series of one holder.

    Parameters
    ----------
    columns : mapping of str to narwhals Series
        The keys, then what goes with them.
    """
    import narwhals.stable.v2 as nw

    series = [one.alias(name) for name, one in columns.items()]
    return nw.concat([one.to_frame() for one in series], how="horizontal")


__all__ = ["Change", "Lookup", "changed", "key_column", "table_of"]
