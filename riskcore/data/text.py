"""Code text of Arrow, polars and pandas as numbers.

A key has few values, mostly short. Arrow can give text as views: 16 bytes that hold the
length, and up to twelve bytes of the text itself. Compiled code looks views up in a
table of those met so far, which stays in the cache. Household ids have about as many
values as records: their bytes are read as integers, and these are coded.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from riskcore.data.files.arrow import import_pyarrow, is_text
from riskcore.data.integers import code_words
from riskcore.data.views import IN_VIEW, LENGTH, MOST, PLACE_BITS, look_up_views

_BATCH = 1 << 18  # records coded at a time: Ctrl-C acts between two batches
_SHORT = 32  # the longest ids, in bytes, that are read as integers

Codes = NDArray[np.integer[Any]]
Labels = Callable[[], list[Any]]


def text_dictionary(series: Any) -> tuple[Codes, Labels]:
    """Return positions in a list of labels, -1 for missing, and a maker of the list.

    The labels are distinct and none is missing; some may not occur.
    """
    if series.implementation.is_pandas_like():
        values = series.to_pandas()
        if getattr(values.dtype, "storage", "") == "pyarrow":
            array = series.to_arrow()
            if is_text(array.type):
                return _of_arrow(import_pyarrow().chunked_array([array]))
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
        try:
            column = series.to_arrow(compat_level=polars.CompatLevel.newest())
            coding = codes_of_views(column)
        except ImportError:  # pyarrow is not installed
            coding = None
        if coding is not None:
            return coding
    labels = series.unique().drop_nulls().cast(polars.String)
    codes = series.cast(polars.Enum(labels)).to_physical().cast(polars.Int64)
    return codes.fill_null(-1).to_numpy(), labels.to_list


def _of_arrow(column: Any) -> tuple[Codes, Labels]:
    """Code text of Arrow that is not a dictionary."""
    coding = codes_of_views(column)
    return _in_batches(column) if coding is None else coding


def codes_of_views(column: Any) -> tuple[Codes, Labels] | None:
    """Code text of Arrow by its views; None if there are too many values, or no views.

    ``label_views`` holds addresses in the batches, so those with labels are kept.
    """
    codes = np.empty(len(column), np.int32)
    table, label_count = np.zeros(1 << PLACE_BITS, np.int32), np.zeros(1, np.int64)
    label_views = np.empty(2 * MOST, np.uint64)
    labels: list[str] = []
    kept = []
    begin = 0
    for batch in _batches_of_views(column):
        if batch is None:
            return None
        _, views, *letters = batch.buffers()
        view = np.frombuffer(views, np.uint64)[2 * batch.offset :][: 2 * len(batch)]
        valid = None
        if batch.null_count:  # the view of a missing value may be anything
            valid = batch.is_valid().to_numpy(zero_copy_only=False)
            view = np.where(np.repeat(valid, 2), view, np.uint64(0))
        addresses = [0 if part is None else part.address for part in letters]
        place = codes[begin : begin + len(batch)]
        look_up_views(
            view,
            np.array([*addresses, 0], np.uint64),
            len(batch),
            table,
            label_views,
            label_count,
            place,
        )
        if label_count[0] < 0:
            return None
        if valid is not None:
            place[~valid] = -1
        if label_count[0] > len(labels):
            kept.append(batch)
            labels += map(
                _letters,
                label_views[: 2 * label_count[0]].reshape(-1, 2)[len(labels) :],
            )
        begin += len(batch)
    return codes, lambda: labels


def _batches_of_views(column: Any) -> Iterator[Any]:
    """Yield a column in batches of views; None if pyarrow cannot make them."""
    pyarrow = import_pyarrow()
    for chunk in getattr(column, "chunks", [column]):
        for begin in range(0, len(chunk), _BATCH):
            batch = chunk.slice(begin, _BATCH)
            if not pyarrow.types.is_string_view(batch.type):
                try:
                    batch = batch.cast(pyarrow.string_view())
                except (AttributeError, pyarrow.ArrowException):  # an old pyarrow
                    yield None
                    return
            yield batch


def _letters(view: NDArray[np.uint64]) -> str:
    """Return the text of a view whose second word, for long text, is an address."""
    length = int(view[0]) & LENGTH
    if length <= IN_VIEW:
        return view.tobytes()[4 : 4 + length].decode()
    return ctypes.string_at(int(view[1]), length).decode()


def short_text_codes(series: Any) -> NDArray[np.int64] | None:
    """Return codes of Arrow's text, equal for equal text and -1 for missing.

    The bytes are read as 64-bit integers, which for many ids is faster than a
    dictionary. None if the text is not short, or has zero bytes, which pad it.
    """
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
    masked_codes: NDArray[np.int64] = np.where(valid, codes, -1)
    return masked_codes


def _in_batches(column: Any) -> tuple[NDArray[np.int64], Callable[[], list[Any]]]:
    """Return positions of Arrow's text in a list of labels, and a maker of the list.

    Arrow codes each batch and the labels of all are merged here, in linear time.
    """
    positions: dict[str, int] = {}
    codes = np.empty(len(column), np.int64)
    for begin in range(0, len(column), _BATCH):
        batch = column.slice(begin, _BATCH).combine_chunks().dictionary_encode()
        labels = batch.dictionary.to_pylist()
        ranks = np.full(len(labels) + 1, -1, np.int64)
        ranks[:-1] = [positions.setdefault(label, len(positions)) for label in labels]
        places = batch.indices.fill_null(len(labels)).to_numpy()
        codes[begin : begin + len(batch)] = ranks[places]
    return codes, lambda: [*positions]
