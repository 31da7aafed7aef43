"""Data frames of dask and datasets of pyarrow, handed over to polars or duckdb.

A dataset is read by polars, or by duckdb if polars is not installed; a data frame of
dask by polars, one partition at a time. Results are frames of these engines.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from typing import Any

from riskcore.data.engines.base import refuse_twice
from riskcore.data.files.arrow import import_pyarrow, in_plain_layouts

_INSTALL = 'pip install "riskcore[engines]"'
# The defaults read more of a dataset ahead than its cells take.
_AHEAD = {"batch_size": 1 << 17, "batch_readahead": 2, "fragment_readahead": 1}


def hand_over(data: Any) -> Any:
    """Return a dataset or dask frame as a lazy frame or relation; others as given."""
    # Data can only come from modules that have been imported.
    datasets = sys.modules.get("pyarrow.dataset")
    if datasets is not None and isinstance(data, datasets.Dataset):
        return _of_dataset(data)
    frames = sys.modules.get("dask.dataframe")
    if frames is not None and isinstance(data, frames.DataFrame):
        return _of_dask(data)
    return data


def _of_dataset(dataset: Any) -> Any:
    """Return a lazy frame of polars that reads a dataset, else a relation of duckdb."""
    names = dataset.schema.names
    refuse_twice(names)
    try:
        polars = import_module("polars")
    except ImportError:
        try:
            duckdb = import_module("duckdb")
        except ImportError as error:
            raise ImportError(
                "a pyarrow dataset needs polars or duckdb, and neither is installed: "
                f"{_INSTALL}"
            ) from error
        refuse_twice(name.lower() for name in names)  # one name to duckdb
        return duckdb.from_arrow(dataset)
    pyarrow = import_pyarrow()

    def tables(schema: Any) -> Iterator[Any]:
        for batch in dataset.to_batches(columns=schema.names, **_AHEAD):
            table = in_plain_layouts(pyarrow.Table.from_batches([batch]))
            yield table.cast(schema)

    schema = in_plain_layouts(dataset.schema.empty_table()).schema
    return _scan(polars, _plain(schema), tables)


def _of_dask(frame: Any) -> Any:
    """Return a lazy frame of polars that computes the partitions in turn, no index."""
    names = list(frame.columns)
    refuse_twice(names)
    odd = [name for name in names if not isinstance(name, str)]
    if odd:
        raise TypeError(f"column {odd[0]!r} of a dask DataFrame: a name must be text")
    try:
        polars = import_module("polars")
    except ImportError as error:
        raise ImportError(
            f"a dask DataFrame needs polars, which is not installed: {_INSTALL}"
        ) from error
    pyarrow = import_pyarrow()
    fields = []
    for name, kind in frame.dtypes.items():
        try:
            empty = frame._meta[[name]]
            fields += pyarrow.Schema.from_pandas(empty, preserve_index=False)
        except (pyarrow.ArrowException, TypeError) as error:
            raise TypeError(
                f"column {name!r} of a dask DataFrame, {kind}: {error}"
            ) from error

    def tables(schema: Any) -> Iterator[Any]:
        for part in frame[schema.names].to_delayed():
            found = part.compute()
            try:
                table = pyarrow.Table.from_pandas(found, schema, preserve_index=False)
            except (pyarrow.ArrowInvalid, pyarrow.ArrowTypeError) as error:
                raise TypeError(
                    "a dask DataFrame: the values of a partition do not have the type "
                    f"that the frame declares: {error}; set the type by .astype, or "
                    "write the data to Parquet and give the folder to polars"
                ) from error
            yield table

    return _scan(polars, _plain(pyarrow.schema(fields)), tables)


def _plain(schema: Any) -> Any:
    """Return a schema of Arrow with dictionaries decoded, columns of nulls as text.

    Each piece of the data may have a dictionary of its own.
    """
    pyarrow = import_pyarrow()
    types = pyarrow.types
    fields = []
    for field in schema:
        kind = field.type
        if types.is_dictionary(kind):
            kind = kind.value_type
        if types.is_null(kind):
            kind = pyarrow.large_string()
        if types.is_decimal256(kind) or types.is_interval(kind):
            raise TypeError(
                f"column {field.name!r}: polars does not read values of type {kind}; "
                "cast them, or give the data without the column"
            )
        fields.append(pyarrow.field(field.name, kind))
    return pyarrow.schema(fields)


def _scan(polars: Any, schema: Any, tables: Callable[[Any], Iterator[Any]]) -> Any:
    """Return a lazy frame of tables of Arrow, which are read with some columns."""

    def read(
        wanted: Sequence[str] | None, predicate: Any, n_rows: int | None, _size: Any
    ) -> Iterator[Any]:
        # Without a column, only the number of records is asked for.
        some = list(schema.names if wanted is None else wanted) or schema.names[:1]
        for table in tables(import_pyarrow().schema(map(schema.field, some))):
            found = polars.from_arrow(table)
            if n_rows is not None:
                found = found.head(n_rows)
                n_rows -= len(found)
            yield found if predicate is None else found.filter(predicate)
            if n_rows == 0:
                return

    types = polars.from_arrow(schema.empty_table()).schema
    register = import_module("polars.io.plugins").register_io_source
    return register(read, schema=types, validate_schema=True)
