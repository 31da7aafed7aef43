"""Code text of Arrow, polars and pandas as numbers.

Household ids have about as many values as records: their bytes are read as integers,
and these are coded.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from riskcore.data.files.arrow import import_pyarrow, in_plain_layout, is_text
from riskcore.data.integers import code_words

_BATCH = 1 << 18  # records coded at a time: Ctrl-C acts between two batches
_SHORT = 32  # the longest ids, in bytes, that are read as integers

Codes = NDArray[np.integer[Any]]
Labels = Callable[[], list[Any]]


def text_dictionary(series: Any) -> tuple[Codes, Labels]:
    """Return positions in a list of distinct labels, -1 for missing, and its maker."""
    if series.implementation.is_pandas_like():
        values = series.to_pandas()
        if getattr(values.dtype, "storage", "") == "pyarrow":
            array = series.to_arrow()
            if is_text(array.type):
                return _of_arrow(array)
        codes, labels = values.factorize()
        if labels.hasnans or not labels.is_unique:  # dictionaries of Arrow
            codes, labels = values.astype(object).factorize()
        return codes, labels.tolist
    if series.implementation.is_polars():
        return _of_polars(series.to_native())
    pyarrow, column = import_pyarrow(), series.to_native()
    if not pyarrow.types.is_dictionary(column.type):
        return _of_arrow(column)
    if sum(len(chunk.dictionary) for chunk in column.chunks) > len(column):
        # The time to unify large dictionaries grows with the square of their number.
        return _of_arrow(column.cast(column.type.value_type))
    column = column.unify_dictionaries().combine_chunks()
    labels = column.dictionary
    if labels.null_count or len(labels.unique()) < len(labels):
        column = column.cast(labels.type).dictionary_encode()
        labels = column.dictionary
    codes = column.indices.cast(pyarrow.int64()).fill_null(-1).to_numpy()
    return codes, labels.to_pylist


def _of_polars(series: Any) -> tuple[Codes, Labels]:
    """Code a series of polars."""
    import polars

    if series.dtype == polars.String:
        with suppress(ImportError):  # pyarrow may not be installed
            return _of_arrow(series.to_arrow())
    labels = series.unique().drop_nulls().cast(polars.String)
    codes = series.cast(polars.Enum(labels)).to_physical().cast(polars.Int64)
    return codes.fill_null(-1).to_numpy(), labels.to_list


def _of_arrow(column: Any) -> tuple[Codes, Labels]:
    """Code text of Arrow that is not a dictionary; all chunks get the same one."""
    pyarrow = import_pyarrow()
    encoded = in_plain_layout(column).dictionary_encode()
    chunks = getattr(encoded, "chunks", [encoded])
    indices = pyarrow.chunked_array([c.indices for c in chunks], pyarrow.int32())
    labels = chunks[0].dictionary if chunks else encoded.unique()
    return indices.fill_null(-1).to_numpy(), labels.to_pylist


def short_text_codes(series: Any) -> NDArray[np.int64] | None:
    """Return codes of Arrow's text, -1 for missing; None if it is not short."""
    # Read as 64-bit integers, many ids are faster than as a dictionary.
    if not series.implementation.is_pyarrow():
        return None
    pyarrow, compute = import_pyarrow(), import_pyarrow("compute")
    column = series.to_native()
    if not is_text(column.type):
        return None
    width = compute.max(compute.binary_length(column)).as_py() or 0
    if not 0 < width <= _SHORT:
        return None
    letters = np.zeros((len(column), -(-width // 8) * 8), np.uint8)
    valid = np.ones(len(column), bool)
    for begin in range(0, len(column), _BATCH):
        batch = column.slice(begin, _BATCH).combine_chunks()
        end = begin + len(batch)
        valid[begin:end] = batch.is_valid().to_numpy(zero_copy_only=False)
        batch = batch.fill_null("").cast(pyarrow.large_string())
        ends = np.frombuffer(batch.buffers()[1], np.int64)[batch.offset :]
        ends = ends[: len(batch) + 1]
        data = np.frombuffer(batch.buffers()[2] or b"", np.uint8)[ends[0] : ends[-1]]
        if not data.all():
            return None
        filled = np.arange(width) < np.diff(ends)[:, None]
        letters[begin:end, :width][filled] = data
    codes = code_words(letters.view(np.uint64).T, len(column)).astype(np.int64)
    return np.where(valid, codes, -1)
