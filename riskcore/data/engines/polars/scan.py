"""Tables of Arrow that come one after the other, as a lazy frame of polars."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from typing import Any

from riskcore.data.files.arrow import import_pyarrow
from riskcore.data.files.base_format import StoredRecords


def scan(schema: Any, tables: Callable[[Any], Iterator[Any]]) -> Any:
    """Return a lazy frame of tables of Arrow, which ``tables`` yields for a schema."""
    polars = import_module("polars")
    schema = _plain_schema(schema)

    def read(
        wanted: Sequence[str] | None, predicate: Any, n_rows: int | None, _size: Any
    ) -> Iterator[Any]:
        # Without a column, only the number of records is asked for.
        some = list(schema.names if wanted is None else wanted) or schema.names[:1]
        for table in tables(import_pyarrow().schema(map(schema.field, some))):
            frame = polars.from_arrow(table)
            if n_rows is not None:
                frame = frame.head(n_rows)
                n_rows -= len(frame)
            yield frame if predicate is None else frame.filter(predicate)
            if n_rows == 0:
                return

    types = polars.from_arrow(schema.empty_table()).schema
    register = import_module("polars.io.plugins").register_io_source
    return register(read, schema=types, validate_schema=True)


def scan_stored(stored: StoredRecords) -> Any:
    """Return a lazy frame of Parquet files, with dictionaries as their values."""
    polars, schema = import_module("polars"), _plain_schema(stored.schema)
    types = polars.from_arrow(schema.empty_table()).schema
    frames = []
    for path, more in stored.files:
        frame = polars.scan_parquet(path, hive_partitioning=False, glob=False)
        more = {x: polars.lit(value, polars.String) for x, value in more.items()}
        by_name = import_module("polars.selectors").by_name
        columns = [by_name(name).as_expr().cast(kind) for name, kind in types.items()]
        frames.append(frame.with_columns(**more).select(columns))
    return polars.concat(frames)


def _plain_schema(schema: Any) -> Any:
    """Return a schema of Arrow with dictionaries decoded, columns of nulls as text."""
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
