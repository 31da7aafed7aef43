"""Blanking: values of single records set to missing, as local suppression does."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from riskcore.data.columns import Records, is_dataset, with_columns

Array = NDArray[Any]
Mask = NDArray[np.bool_]


def blank(data: Any, masks: Mapping[Any, Mask]) -> Any:
    """Return the data with masked values set to what their holder calls missing."""
    records = Records.of(data)
    data = records.data
    columns: dict[Any, Any] = {}
    for name, mask in masks.items():
        column = records.column(name)
        container = data[name] if isinstance(data, Mapping) else None
        if isinstance(container, list | tuple | range):
            pairs = zip(container, mask, strict=True)
            values = [None if blanked else value for value, blanked in pairs]
            columns[name] = tuple(values) if isinstance(container, tuple) else values
        elif isinstance(column, np.ndarray):
            columns[name] = _of_array(column, mask)
        else:
            columns[name] = _of_series(column, mask, name)
    return without_notes(with_columns(data, columns))


def without_notes(data: Any) -> Any:
    """Return data without notes, which may list values; some lose theirs in place."""
    if getattr(data, "attrs", None):
        data.attrs = {}
    if is_dataset(data):
        for name in data.variables:
            data[name].attrs, data[name].encoding = {}, {}
    if hasattr(data, "replace_schema_metadata"):
        schema = data.schema.remove_metadata()
        for i, field in enumerate(schema):
            schema = schema.set(i, field.remove_metadata())
        return data.from_arrays(data.columns, schema=schema)
    return data


def _of_array(values: Array, mask: Mask) -> Array:
    empty: dict[str, Any] = {"f": np.nan, "m": "NaT", "M": "NaT", "O": None}
    kind = values.dtype.kind
    masked = isinstance(values, np.ma.MaskedArray)
    blanked = np.array(np.ma.getdata(values))
    # The value must be gone even under a mask.
    blanked[mask] = empty.get(kind, blanked.dtype.type())
    if masked or kind not in empty:
        return np.ma.MaskedArray(blanked, np.ma.getmaskarray(values) | mask)
    return blanked


def _of_series(series: Any, mask: Mask, name: Hashable) -> Any:
    """Return the native series with values blanked, also under a mask of its holder."""
    import narwhals.stable.v2 as nw

    holder = series.implementation
    native = series.to_native()
    others = np.flatnonzero(~mask)
    rows = np.where(mask, others[0] if len(others) else 0, np.arange(len(mask)))
    if holder.is_pandas_like():
        return _of_pandas(native, mask, rows)
    if holder.is_polars() and not len(others):
        return native.clear(len(mask))
    if holder.is_polars():
        # Polars looks a series up by its name, and reads ``^a$`` as a pattern.
        native = native.alias("value")
    buffered = series.dtype in (nw.String, nw.Binary, nw.Object)
    if holder.is_polars() and (buffered or series.dtype.is_nested()):
        # Copies share the buffers that hold the text.
        pairs = zip(series.to_list(), mask, strict=True)
        values = [None if blanked else value for value, blanked in pairs]
        return type(native)(str(name), values, native.dtype)
    if holder.is_polars():
        series = nw.from_native(native.gather(rows), series_only=True)
    kept = nw.new_series("kept", ~mask, backend=holder)
    frame = series.alias("value").to_frame().with_columns(kept)
    values = frame.select(nw.when(nw.col("kept")).then(nw.col("value")))
    blanked = values.get_column("value").alias(str(name))
    if series.dtype == nw.Enum:
        present = set(blanked.unique().to_list())
        left = [category for category in series.dtype.categories if category in present]
        blanked = blanked.cast(nw.Enum(left))
    return blanked.to_native()


def _of_pandas(native: Any, mask: Mask, rows: Any) -> Any:
    """Return a pandas series with values blanked, those of ``rows`` under the mask."""
    if native.dtype.kind in "iub" and not hasattr(native.dtype, "na_value"):
        kind = native.dtype.name.replace("bool", "boolean")
        kind = kind.replace("uint", "UInt").replace("int", "Int", kind[0] == "i")
        native = native.astype(kind)  # of pandas' own, which have a missing value
    dtype = native.dtype
    dictionary = dtype.name.startswith("dictionary")
    if dictionary:  # pandas masks the wrong value if one is missing already
        native = native.astype(type(dtype)(dtype.pyarrow_dtype.value_type))
    if mask.all():
        blanked = native.iloc[:0].reindex(range(len(mask))).set_axis(native.index)
    else:
        blanked = native.iloc[rows].set_axis(native.index).mask(mask)
    blanked.attrs = {}
    # The list of categories must not show what was blanked.
    if native.dtype.name == "category":
        return blanked.cat.remove_unused_categories()
    return blanked.astype(dtype) if dictionary else blanked
